// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper_module.h"
#include "importer.h"
#include "text.h"

#define DMABUF_DEBUGFS	"/sys/kernel/debug/dma_buf"

#define PATIENCE_MS	20000

int _importer_load(const char *parameters)
{
	const char *file = getenv("DMABUF_IMPORTER_KO");
	int fd, err;

	fd = file ? open(file, O_RDONLY | O_CLOEXEC) : helper_open(IMPORTER_MODULE);
	if (fd < 0)
		return errno;
	err = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;
	close(fd);
	return err;
}

int _importer_unload(void)
{
	return syscall(SYS_delete_module, IMPORTER_MODULE, O_NONBLOCK) ? errno : 0;
}

/* What the module says; one that says nothing of it is of a kernel that moves. */
static bool importer_moves(void)
{
	char *text = text_read("/sys/module/" IMPORTER_MODULE "/parameters/moves");
	const bool moves = !text || text[0] != 'N';

	free(text);
	return moves;
}

const char *importer_missing(void)
{
	static const char reason[] = "no " IMPORTER_DEVICE
		": load dmabuf_importer.ko or name it in DMABUF_IMPORTER_KO, be root";

	/* All that import have it for a witness. */
	if (!geteuid() && access(DMABUF_DEBUGFS, F_OK))
		return "no " DMABUF_DEBUGFS ": mount -t debugfs none /sys/kernel/debug";
	if (access(IMPORTER_DEVICE, R_OK | W_OK) && _importer_load("") &&
	    system("modprobe -q " IMPORTER_MODULE " 2> /dev/null"))
		return reason;
	if (access(IMPORTER_DEVICE, R_OK | W_OK))
		return reason;
	/* All that the tests ask of an importer is about mappings that are not pinned. */
	if (importer_moves())
		return NULL;
	return "the kernel pins each dma-buf that is mapped (no CONFIG_DMABUF_MOVE_NOTIFY)";
}

int importer_ioctl(int imp, unsigned long cmd, void *arg)
{
	return ioctl(imp, cmd, arg) ? errno : 0;
}

int _importer_open(int *imp)
{
	struct dmabuf_importer_version version;
	int err;

	*imp = open(IMPORTER_DEVICE, O_RDWR | O_CLOEXEC);
	if (*imp < 0)
		return errno;
	err = importer_ioctl(*imp, DMABUF_IMPORTER_GET_VERSION, &version);
	if (!err && version.version != DMABUF_IMPORTER_VERSION) {
		diag("dmabuf_importer: version %u, expected %u", version.version,
		     DMABUF_IMPORTER_VERSION);
		err = EPROTO;
	}
	if (err) {
		close(*imp);
		*imp = -1;
	}
	return err;
}

int importer_some_pci(char *pci)
{
	DIR *dir = opendir("/sys/bus/pci/devices");
	struct dirent *entry;

	pci[0] = 0;
	while (dir && !pci[0] && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			snprintf(pci, 32, "%.31s", entry->d_name);
	if (dir)
		closedir(dir);
	return pci[0] ? 0 : ENODEV;
}

int _importer_attach(int imp, const char *pci, int dmabuf, uint32_t flags, uint32_t policy,
		     uint32_t *id)
{
	struct dmabuf_importer_attach attach = {
		.fd = dmabuf, .flags = flags, .policy = policy,
	};
	unsigned int domain, bus, device, function;
	int err;

	if (sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return EINVAL;
	attach.domain = domain;
	attach.bus = bus;
	attach.devfn = device << 3 | function;
	err = importer_ioctl(imp, DMABUF_IMPORTER_ATTACH, &attach);
	*id = attach.id;
	return err;
}

/* All commands that have nothing to say but whom they are about. */
static int importer_do(int imp, unsigned long cmd, uint32_t id)
{
	struct dmabuf_importer_id arg = { .id = id };

	return importer_ioctl(imp, cmd, &arg);
}

int _importer_detach(int imp, uint32_t id)
{
	return importer_do(imp, DMABUF_IMPORTER_DETACH, id);
}

int _importer_map(int imp, uint32_t id, uint64_t *length)
{
	struct dmabuf_importer_map map = { .id = id };
	int err = importer_ioctl(imp, DMABUF_IMPORTER_MAP, &map);

	if (length)
		*length = map.length;
	return err;
}

int _importer_unmap(int imp, uint32_t id)
{
	return importer_do(imp, DMABUF_IMPORTER_UNMAP, id);
}

int _importer_entries(int imp, uint32_t id, uint32_t first, struct dmabuf_importer_entry *entry,
		      uint32_t *count)
{
	struct dmabuf_importer_entries entries = {
		.id = id, .first = first, .count = *count, .entries = (uintptr_t)entry,
	};
	int err = importer_ioctl(imp, DMABUF_IMPORTER_ENTRIES, &entries);

	*count = entries.count;
	return err;
}

int _importer_read(int imp, uint32_t id, uint64_t offset, void *buf, uint32_t length)
{
	struct dmabuf_importer_read read = {
		.id = id, .offset = offset, .length = length, .data = (uintptr_t)buf,
	};

	return importer_ioctl(imp, DMABUF_IMPORTER_READ, &read);
}

int _importer_pin(int imp, uint32_t id)
{
	return importer_do(imp, DMABUF_IMPORTER_PIN, id);
}

int _importer_unpin(int imp, uint32_t id)
{
	return importer_do(imp, DMABUF_IMPORTER_UNPIN, id);
}

int _importer_query(int imp, uint32_t id, struct dmabuf_importer_query *query)
{
	*query = (struct dmabuf_importer_query){ .id = id };
	return importer_ioctl(imp, DMABUF_IMPORTER_QUERY, query);
}

int _importer_policy(int imp, uint32_t id, uint32_t policy)
{
	struct dmabuf_importer_set_policy set = { .id = id, .policy = policy };

	return importer_ioctl(imp, DMABUF_IMPORTER_SET_POLICY, &set);
}

int _importer_release(int imp, uint32_t id)
{
	return importer_do(imp, DMABUF_IMPORTER_RELEASE, id);
}

int _importer_stall(int imp, uint32_t id, uint32_t limit_ms)
{
	struct dmabuf_importer_stall stall = { .id = id, .limit_ms = limit_ms };

	return importer_ioctl(imp, DMABUF_IMPORTER_STALL, &stall);
}

int _importer_resume(int imp, uint32_t id)
{
	return importer_do(imp, DMABUF_IMPORTER_RESUME, id);
}

int _importer_hold_fence(int imp, uint32_t id, uint32_t usage, uint32_t limit_ms,
			 uint32_t *fence)
{
	struct dmabuf_importer_fence hold = { .id = id, .usage = usage, .limit_ms = limit_ms };
	int err = importer_ioctl(imp, DMABUF_IMPORTER_HOLD_FENCE, &hold);

	*fence = hold.fence;
	return err;
}

int _importer_signal(int imp, uint32_t fence)
{
	return importer_do(imp, DMABUF_IMPORTER_SIGNAL, fence);
}

int _importer_export(int imp, struct dmabuf_importer_export *export)
{
	return importer_ioctl(imp, DMABUF_IMPORTER_EXPORT, export);
}

int _importer_invalidate(int imp, uint32_t id, uint32_t flags, uint32_t limit_ms,
			 uint32_t *mappings)
{
	struct dmabuf_importer_invalidate how = {
		.id = id, .flags = flags, .limit_ms = limit_ms,
	};
	int err = importer_ioctl(imp, DMABUF_IMPORTER_INVALIDATE, &how);

	*mappings = how.mappings;
	return err;
}

int _importer_export_query(int imp, uint32_t id, struct dmabuf_importer_export_query *query)
{
	*query = (struct dmabuf_importer_export_query){ .id = id };
	return importer_ioctl(imp, DMABUF_IMPORTER_EXPORT_QUERY, query);
}

int _importer_export_resume(int imp, uint32_t id)
{
	return importer_do(imp, DMABUF_IMPORTER_EXPORT_RESUME, id);
}

int _importer_event(int imp, struct dmabuf_importer_event *event)
{
	struct pollfd poller = { .fd = imp, .events = POLLIN };
	int n = poll(&poller, 1, PATIENCE_MS);

	if (n < 0)
		return errno;
	if (!n)
		return ETIMEDOUT;
	n = read(imp, event, sizeof(*event));
	return n < 0 ? errno : n == sizeof(*event) ? 0 : EIO;
}

int importer_has_event(int imp)
{
	struct pollfd poller = { .fd = imp, .events = POLLIN };

	return poll(&poller, 1, 0) == 1;
}
