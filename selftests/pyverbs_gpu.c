// SPDX-License-Identifier: GPL-2.0
/*
 * A GPU for those that want nothing of it but buffers: with this library preloaded,
 * /dev/dri/renderD128 is one of Intel's whose buffers are dma-bufs of the system heap.
 *
 * rdma-core's Python tests get their dma-bufs from a GPU alone (pyverbs/dmabuf_alloc.c).
 * What they then do with them, to import and to map them, is done by the kernel, with a
 * dma-buf that the kernel has made.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/drm.h>
#include <drm/i915_drm.h>
#include <linux/dma-heap.h>

#define __alias(name)	__attribute__((alias(#name)))

#define GPU_PATH	"/dev/dri/renderD128"
#define HEAP_PATH	"/dev/dma_heap/system"

/* A buffer's handle is the descriptor of its dma-buf, and its offset has that too. */
#define OFFSET_MARK	0x4000000000000000ULL
#define OFFSET_SHIFT	32

static bool is_gpu(int fd)
{
	char link[32], path[sizeof(HEAP_PATH)] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return readlink(link, path, sizeof(path)) == sizeof(HEAP_PATH) - 1 &&
	       !memcmp(path, HEAP_PATH, sizeof(HEAP_PATH) - 1);
}

static int gpu_version(struct drm_version *version)
{
	static const char name[] = "i915";

	if (version->name_len < sizeof(name))
		return -1;
	memcpy(version->name, name, sizeof(name));
	return 0;
}

static int next_ioctl(int fd, unsigned long request, void *argument)
{
	static int (*next)(int fd, unsigned long request, void *argument);

	if (!next)
		next = dlsym(RTLD_NEXT, "ioctl");
	return next(fd, request, argument);
}

static int gpu_create(int fd, struct drm_i915_gem_create *create)
{
	struct dma_heap_allocation_data data = {
		.len	  = create->size,
		.fd_flags = O_RDWR | O_CLOEXEC,
	};

	if (next_ioctl(fd, DMA_HEAP_IOCTL_ALLOC, &data))
		return -1;
	create->handle = data.fd;
	return 0;
}

static int gpu_export(struct drm_prime_handle *prime)
{
	prime->fd = dup(prime->handle);
	return prime->fd < 0 ? -1 : 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	struct drm_i915_gem_mmap_gtt *map;
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (_IOC_TYPE(request) != DRM_IOCTL_BASE || !is_gpu(fd))
		return next_ioctl(fd, request, argument);
	switch (request) {
	case DRM_IOCTL_VERSION:
		return gpu_version(argument);
	case DRM_IOCTL_I915_GEM_CREATE:
		return gpu_create(fd, argument);
	case DRM_IOCTL_I915_GEM_MMAP_GTT:
		map = argument;
		map->offset = OFFSET_MARK | (uint64_t)map->handle << OFFSET_SHIFT;
		return 0;
	case DRM_IOCTL_PRIME_HANDLE_TO_FD:
		return gpu_export(argument);
	case DRM_IOCTL_GEM_CLOSE:
		return close(((struct drm_gem_close *)argument)->handle);
	}
	return next_ioctl(fd, request, argument);
}

int open(const char *path, int flags, ...)
{
	static int (*next)(const char *path, int flags, mode_t mode);
	va_list arguments;
	mode_t mode;

	va_start(arguments, flags);
	mode = va_arg(arguments, mode_t);
	va_end(arguments);
	if (!next)
		next = dlsym(RTLD_NEXT, "open");
	return next(strcmp(path, GPU_PATH) ? path : HEAP_PATH, flags, mode);
}

/* Both names are in use, and on this machine one thing. */
int open64(const char *path, int flags, ...) __alias(open);

void *mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
	static void *(*next)(void *at, size_t len, int protection, int flags, int fd,
			     off_t offset);

	if (!next)
		next = dlsym(RTLD_NEXT, "mmap");
	if (offset & OFFSET_MARK && is_gpu(fd)) {
		fd = (offset & ~OFFSET_MARK) >> OFFSET_SHIFT;
		offset &= (1ULL << OFFSET_SHIFT) - 1;
	}
	return next(at, len, protection, flags, fd, offset);
}

void *mmap64(void *at, size_t len, int protection, int flags, int fd, off_t offset)
	__alias(mmap);
