/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel itself shows of dma-bufs, file descriptors and modules.
 */
#ifndef _SELFTESTS_KERNEL_SIGNS_H
#define _SELFTESTS_KERNEL_SIGNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct dmabuf_sign - a dma-buf as the kernel describes it
 * @size: bytes of memory
 * @files: references to its struct file: descriptors, and one per importer
 * @attachments: attached importers
 * @exporter: name of the module that made it
 * @importer: device of the last attachment
 *
 * A line of the debugfs file dma_buf/bufinfo (drivers/dma-buf/dma-buf.c,
 * dma_buf_debug_show()).
 */
struct dmabuf_sign {
	uint64_t size;
	long files;
	int attachments;
	char exporter[32];
	char importer[64];
};

/**
 * dmabuf_inode() - the number that names a dma-buf in bufinfo
 * @fd: descriptor of the dma-buf
 *
 * Return: the inode number, or 0 with errno set.
 */
uint64_t dmabuf_inode(int fd);

/**
 * dmabuf_look() - describe the dma-buf with a given inode number
 * @inode: the number, as the dma-buf may have no descriptor any more
 * @sign: filled in
 *
 * Return: 1 if it is there, 0 if not, -1 with errno set if bufinfo cannot be
 * read.
 */
int dmabuf_look(uint64_t inode, struct dmabuf_sign *sign);

/**
 * kernel_number() - a number of a file of procfs
 * @path: the file: /proc/self/status, /proc/vmstat
 * @name: what stands before the number: "VmPin:", "nr_foll_pin_acquired "
 *
 * Return: the number, or -1 if it is not there.
 */
long kernel_number(const char *path, const char *name);

/**
 * slab_count() - count the objects of a slab cache
 * @cache: its name in /proc/slabinfo
 *
 * Memory that is free but has not been given back yet counts as well.
 *
 * Return: the count, or -1 with errno set, ENOENT if there is no such cache.
 */
long slab_count(const char *cache);

/**
 * slab_shrink() - have the allocator give back the free objects of a slab cache
 * @cache: its name
 *
 * Also those that it keeps at hand, and counts as taken.  A cache that is not there, or cannot
 * be asked, is left as it is; a failure is written as a diagnostic.
 */
void slab_shrink(const char *cache);

/**
 * dmabuf_count() - count the dma-bufs of one exporter
 * @exporter: name of the module that made them
 *
 * Return: the count, or -1 with errno set.
 */
int dmabuf_count(const char *exporter);

/**
 * fdinfo_count() - the file references of a dma-buf, by its descriptor
 * @fd: descriptor of the dma-buf
 *
 * Return: the number in the line "count:" of fdinfo, or -1 if there is none.
 */
long fdinfo_count(int fd);

/**
 * fd_is_cloexec() - does the descriptor close on exec?
 * @fd: the descriptor
 *
 * Return: whether it does.
 */
bool fd_is_cloexec(int fd);

/**
 * kernel_warnings() - how often the kernel has warned since it was booted
 *
 * Of /sys/kernel/warn_count: each WARN() counts, a report of a sanitizer does not.
 *
 * Return: the count, or -1 with errno set.
 */
int kernel_warnings(void);

/**
 * fd_count() - count the open descriptors of the calling process
 *
 * Return: the count, or -1 with errno set.
 */
int fd_count(void);

/**
 * module_refcount() - references to a module
 * @name: the module
 *
 * Return: the count, or -1 if it is not loaded as a module.
 */
int module_refcount(const char *name);

#endif /* _SELFTESTS_KERNEL_SIGNS_H */
