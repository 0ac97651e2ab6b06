// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "capability.h"
#include "file_max.h"
#include "real_device.h"
#include "text.h"

#define FILE_MAX	"/proc/sys/fs/file-max"

int file_max_reach(struct file_max *max, const struct device *dev)
{
	char *usual;
	int err;

	real_device_must_allow(dev, "exhaustion");
	usual = text_read(FILE_MAX);
	if (!usual)
		return errno;
	snprintf(max->usual, sizeof(max->usual), "%s", usual);
	free(usual);
	/* Who may administrate the system is let off the limit. */
	err = capability_set(CAP_SYS_ADMIN, false);
	if (err)
		return err;
	err = text_write(FILE_MAX, "1", 0);
	if (err)
		capability_set(CAP_SYS_ADMIN, true);
	return err;
}

int file_max_restore(const struct file_max *max)
{
	/* First, as the file could not be opened else. */
	int err = capability_set(CAP_SYS_ADMIN, true);

	return err ?: text_write(FILE_MAX, max->usual, 0);
}
