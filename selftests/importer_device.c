// SPDX-License-Identifier: GPL-2.0
/*
 * dmabuf_importer.ko while the device that it attaches as loses its driver, or goes.
 *
 * What is imported is an export of the module's own, so that nothing of RDMA holds the
 * device.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/helper_module.h"
#include "common/importer.h"
#include "common/unbind.h"

#define DM_SIZE	8192

#define P2P	DMABUF_IMPORTER_PEER2PEER

/*
 * The importing function loses its driver, or goes altogether, while it is attached
 * and mapped: its struct device and the attachment stay until they are given back.
 */
FIXTURE(importer_device)
{
	struct device dev;
	int imp;
};

FIXTURE_SETUP(importer_device)
{
	const char *missing;

	bed_mark(_metadata, "begin");
	missing = device_find(&self->dev);
	if (!missing)
		missing = importer_missing();
	if (missing) {
		bed_mark(_metadata, "end");
		SKIP(return, "%s", missing);
	}
	importer_open(&self->imp);
}

FIXTURE_TEARDOWN(importer_device)
{
	/* Whatever was seen, others need the device. */
	EXPECT_EQ(0, _unbind_mend());
	EXPECT_EQ(0, close(self->imp));
	bed_mark(_metadata, "end");
}

/* Others want the device after us; the driver loads its part for RDMA later. */
static const char *device_wait(void)
{
	const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
	const char *missing;
	struct device dev;
	int tries;

	for (tries = 0; tries < 1000; tries++) {
		missing = device_find(&dev);
		if (!missing)
			return NULL;
		nanosleep(&pause, NULL);
	}
	return missing;
}

/* The export was attached and mapped so often, and all of it was given back. */
#define ASSERT_GIVEN_BACK(export, times_attached, times_mapped) \
do { \
	struct dmabuf_importer_export_query __query; \
	importer_export_query(self->imp, (export)->id, &__query); \
	ASSERT_EQ(times_attached, __query.attaches); \
	ASSERT_EQ(times_attached, __query.detaches); \
	ASSERT_EQ(times_mapped, __query.maps); \
	ASSERT_EQ(times_mapped, __query.unmaps); \
} while (0)

TEST_F_TIMEOUT(importer_device, unbound, 120)
{
	struct dmabuf_importer_export export = { .size = DM_SIZE };
	uint32_t id, second;

	real_device_must_allow(&self->dev, "unbind");
	importer_export(self->imp, &export);
	importer_attach(self->imp, self->dev.pci, export.fd, P2P, 0, &id);
	importer_map(self->imp, id);
	/* The driver of the device has no part in what is mapped for it. */
	marker_expect("WARNING: .*kernel/dma/debug[.]c:.* at dma_debug_device_change");
	marker_expect("DMA-API: (.*pending DMA allocations while released|Mapped at:)");
	unbind(&self->dev, UNBIND_FUNCTION);
	importer_unmap(self->imp, id);
	importer_map(self->imp, id);
	/* A function without a driver is a device all the same. */
	importer_attach(self->imp, self->dev.pci, export.fd, P2P, 0, &second);
	importer_map(self->imp, second);
	bind_again(&self->dev);
	importer_invalidate(self->imp, export.id, DMABUF_IMPORTER_WAIT_UNMAPPED, 0);
	importer_detach(self->imp, id);
	importer_detach(self->imp, second);
	ASSERT_GIVEN_BACK(&export, 2U, 3U);
	ASSERT_EQ(0, close(export.fd));
}

/* What the virtual HCA was loaded with, for loading it again. */
static int vhca_parameters(char *to, size_t size)
{
	static const char dir[] = "/sys/module/mlx5_vhca/parameters";
	struct dirent *entry;
	char path[300], *value;
	size_t n = 0;
	DIR *d;

	d = opendir(dir);
	if (!d)
		return errno;
	to[0] = 0;
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		value = text_read(path);
		if (!value)
			continue;
		value[strcspn(value, "\n")] = 0;
		n += snprintf(to + n, size - n, "%s=%s ", entry->d_name, value);
		free(value);
		if (n >= size)
			break;
	}
	closedir(d);
	return n < size ? 0 : E2BIG;
}

TEST_F_TIMEOUT(importer_device, removed, 120)
{
	const char *file = getenv("MLX5_VHCA_KO");
	struct dmabuf_importer_export export = { .size = DM_SIZE };
	char parameters[1024];
	uint32_t id;
	int fd, err;

	fd = file ? open(file, O_RDONLY | O_CLOEXEC) : helper_open("mlx5_vhca");
	if (fd < 0 || vhca_parameters(parameters, sizeof(parameters)))
		SKIP(return, "mlx5_vhca.ko cannot be loaded again: name it in MLX5_VHCA_KO");
	importer_export(self->imp, &export);
	importer_attach(self->imp, self->dev.pci, export.fd, P2P, 0, &id);
	importer_map(self->imp, id);
	ASSERT_EQ(0, syscall(SYS_delete_module, "mlx5_vhca", O_NONBLOCK));
	importer_attach_err(ENODEV, self->imp, self->dev.pci, export.fd, P2P, 0);
	importer_unmap(self->imp, id);
	importer_map(self->imp, id);
	err = syscall(SYS_finit_module, fd, parameters, 0) ? errno : 0;
	ASSERT_EQ(0, err);
	/* There is another function of that name now, and this one still is the old one. */
	importer_invalidate(self->imp, export.id, DMABUF_IMPORTER_WAIT_UNMAPPED, 0);
	importer_detach(self->imp, id);
	ASSERT_GIVEN_BACK(&export, 1U, 2U);
	ASSERT_EQ(0, close(export.fd));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(NULL, device_wait());
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
