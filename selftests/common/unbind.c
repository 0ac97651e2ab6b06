// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "real_device.h"
#include "text.h"
#include "unbind.h"
#include "vhca.h"

#define PCI_DEVICES	"/sys/bus/pci/devices"
#define FUNCTION_DRIVER	"/sys/bus/pci/drivers/mlx5_core"
#define RDMA_DRIVER	"/sys/bus/auxiliary/drivers/mlx5_ib.rdma"
/* mlx5_core names it so, with a number. */
#define RDMA_DEVICE	"mlx5_core.rdma."

#define PATIENCE	10	/* seconds */
#define KINDS		48

/**
 * struct unbind_shared - what all processes of a program know
 * @stuck: a removal has not come back
 * @lost: a driver may have no device
 * @dev: which
 * @known: @baseline is
 * @baseline: of unbind_baseline()
 */
struct unbind_shared {
	bool stuck;
	bool lost;
	struct device dev;
	bool known;
	char baseline[512];
};

static struct unbind_shared *shared;

/* Before the harness makes a process for each test. */
static void __attribute__((constructor)) unbind_share(void)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("mmap");
		_exit(1);
	}
}

bool unbind_is_stuck(void)
{
	return __atomic_load_n(&shared->stuck, __ATOMIC_ACQUIRE);
}

/* The auxiliary device below the function, if there is one. */
static int find_rdma(const struct device *dev, char *name, size_t size)
{
	char path[96];
	struct dirent *entry;
	int err = ENODEV;
	DIR *dir;

	snprintf(path, sizeof(path), PCI_DEVICES "/%s", dev->pci);
	dir = opendir(path);
	if (!dir)
		return errno;
	while (err && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, RDMA_DEVICE, strlen(RDMA_DEVICE)))
			continue;
		snprintf(name, size, "%.60s", entry->d_name);
		err = 0;
	}
	closedir(dir);
	return err;
}

static int find(const struct device *dev, enum unbind_from from, struct unbind *unbind)
{
	const char *driver = from == UNBIND_RDMA ? RDMA_DRIVER : FUNCTION_DRIVER;
	int err = 0;

	snprintf(unbind->driver, sizeof(unbind->driver), "%s", driver);
	snprintf(unbind->name, sizeof(unbind->name), "%s", dev->pci);
	snprintf(unbind->text, sizeof(unbind->text), "1");
	if (from == UNBIND_RDMA)
		err = find_rdma(dev, unbind->name, sizeof(unbind->name));
	switch (from) {
	case UNBIND_RDMA:
	case UNBIND_FUNCTION:
		snprintf(unbind->file, sizeof(unbind->file), "%s/unbind", driver);
		snprintf(unbind->text, sizeof(unbind->text), "%s", unbind->name);
		break;
	case UNBIND_UNPLUG:
		if (!device_has_ledger(dev))
			real_device_needs_ledger(dev);
		snprintf(unbind->file, sizeof(unbind->file), "%s/function", dev->vhca);
		snprintf(unbind->text, sizeof(unbind->text), "unplug");
		break;
	case UNBIND_REMOVE:
		snprintf(unbind->file, sizeof(unbind->file), PCI_DEVICES "/%s/remove", dev->pci);
		break;
	}
	return err;
}

static bool is_bound(const struct unbind *unbind)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", unbind->driver, unbind->name);
	return !access(path, F_OK);
}

static int unbind_call(void *arg)
{
	const struct unbind *unbind = arg;

	return text_write(unbind->file, unbind->text, 0);
}

int _unbind_start(struct unbind *unbind, const struct device *dev, enum unbind_from from)
{
	int err;

	real_device_must_allow(dev, "unbind");
	err = find(dev, from, unbind);
	if (err)
		return err;
	if (!is_bound(unbind))
		return ENODEV;
	shared->dev = *dev;
	shared->lost = true;
	return _caller_start(&unbind->caller, unbind_call, unbind);
}

/* What this process has, and who holds each of it. */
static void print_holders(void)
{
	char command[64], *line = NULL;
	size_t size = 0;
	FILE *out;

	snprintf(command, sizeof(command), "uobjscope holders pid:%d 2>&1", getpid());
	out = popen(command, "re");
	while (out && getline(&line, &size, out) > 0)
		diag("%s", line);
	free(line);
	if (out)
		pclose(out);
}

int _unbind_end(struct unbind *unbind)
{
	char path[64], *stack;
	int err, result = 0;

	err = _caller_end(&unbind->caller, &result);
	if (!err)
		return result;
	__atomic_store_n(&shared->stuck, true, __ATOMIC_RELEASE);
	snprintf(path, sizeof(path), "/proc/self/task/%d/stack", unbind->caller.tid);
	stack = text_read(path);
	diag("%s: the removal of %s waits in: %s", unbind->file, unbind->name,
	     stack ? stack : "(nobody knows)");
	print_holders();
	free(stack);
	return err;
}

int _unbind(const struct device *dev, enum unbind_from from)
{
	/* Kept for a thread that does not come back. */
	struct unbind *unbind = malloc(sizeof(*unbind));
	int err;

	if (!unbind)
		return ENOMEM;
	err = _unbind_start(unbind, dev, from);
	if (!err)
		err = _unbind_end(unbind);
	if (!unbind_is_stuck())
		free(unbind);
	return err;
}

static int bind_one(const struct device *dev, enum unbind_from from, bool *did)
{
	struct unbind unbind;
	int err = find(dev, from, &unbind);

	if (err || is_bound(&unbind))
		return err;
	*did = true;
	snprintf(unbind.file, sizeof(unbind.file), "%s/bind", unbind.driver);
	return text_write(unbind.file, unbind.name, 0);
}

/* The function is put in again, and its driver probes it. */
static int come_back(const struct device *dev, bool *did)
{
	char path[96];

	snprintf(path, sizeof(path), PCI_DEVICES "/%s", dev->pci);
	if (!access(path, F_OK))
		return 0;
	*did = true;
	return vhca_write(dev, "function", "back");
}

int _bind_again(const struct device *dev)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	struct ibv_context *ctx;
	bool did = false;
	int err, tries;

	if (unbind_is_stuck())
		return EDEADLK;
	err = come_back(dev, &did);
	if (!err)
		err = bind_one(dev, UNBIND_FUNCTION, &did);
	/* The auxiliary device of a function that was just bound comes with its driver. */
	for (tries = 0; !err && tries < PATIENCE * 50; tries++) {
		err = bind_one(dev, UNBIND_RDMA, &did);
		if (err == ENODEV)
			err = 0;
		if (err || !did)
			return err;
		ctx = device_open(dev);
		if (ctx) {
			ibv_close_device(ctx);
			return device_warm_up(dev);
		}
		nanosleep(&pause, NULL);
	}
	return err ? err : ETIMEDOUT;
}

int _unbind_mend(void)
{
	int err = shared->lost ? _bind_again(&shared->dev) : 0;

	if (!err)
		shared->lost = false;
	return err;
}

int unbind_ledger(const struct device *dev, char *text, size_t size)
{
	struct {
		char kind[32];
		int count;
	} seen[KINDS];
	struct vhca_file file;
	unsigned int i, k, n = 0;
	char kind[32];
	size_t len = 0;
	int err;

	err = vhca_open(dev, "ledger", &file);
	if (err)
		return err;
	for (i = 0; i < file.count && !err; i++) {
		if (!vhca_key(file.record[i], "kind", kind, sizeof(kind)))
			continue;
		for (k = 0; k < n && strcmp(seen[k].kind, kind); k++)
			;
		if (k == KINDS) {
			err = E2BIG;
			break;
		}
		if (k == n) {
			memcpy(seen[n].kind, kind, sizeof(kind));
			seen[n++].count = 0;
		}
		seen[k].count++;
	}
	vhca_close(&file);
	text[0] = 0;
	for (k = 0; k < n && len < size; k++)
		len += snprintf(text + len, size - len, "%s%s=%d", k ? " " : "", seen[k].kind,
				seen[k].count);
	return err;
}

const char *unbind_baseline(const struct device *dev)
{
	int err;

	if (shared->known)
		return shared->baseline;
	err = _unbind(dev, UNBIND_RDMA);
	if (!err) {
		err = unbind_ledger(dev, shared->baseline, sizeof(shared->baseline));
		if (!err)
			err = _bind_again(dev);
	}
	errno = err;
	shared->known = !err;
	return err ? NULL : shared->baseline;
}
