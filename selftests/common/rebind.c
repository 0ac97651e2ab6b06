// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "real_device.h"
#include "rebind.h"
#include "text.h"

#define PREFIX	"mlx5_core.rdma."
#define DRIVER	"/sys/bus/auxiliary/drivers/mlx5_ib.rdma/"

int rebind_find(struct rebind *rebind, const struct device *dev)
{
	char path[128];
	struct dirent *entry;
	int err = ENOENT;
	DIR *folder;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", dev->pci);
	/* Whoever asks for it means to take the driver away. */
	real_device_must_allow(dev, "unbind");
	folder = opendir(path);
	if (!folder)
		return errno;
	while (err && (entry = readdir(folder))) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)))
			continue;
		snprintf(rebind->name, sizeof(rebind->name), "%.63s", entry->d_name);
		err = 0;
	}
	closedir(folder);
	return err;
}

int rebind_unbind(const struct rebind *rebind)
{
	return text_write(DRIVER "unbind", rebind->name, 0);
}

int rebind_bind(const struct rebind *rebind)
{
	return text_write(DRIVER "bind", rebind->name, 0);
}
