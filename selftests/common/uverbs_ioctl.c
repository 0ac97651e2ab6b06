// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/rdma_user_ioctl.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include "rdma_core.h"
#include "uverbs_ioctl.h"

#define UVERBS_MAX_ATTRS	16

struct ib_uverbs_attr uverbs_in(uint16_t id, const void *value, uint16_t len)
{
	struct ib_uverbs_attr attr = {
		.attr_id = id,
		.len = len,
		.flags = UVERBS_ATTR_F_MANDATORY,
	};

	if (len <= sizeof(attr.data))
		memcpy(&attr.data, value, len);
	else
		attr.data = (uintptr_t)value;
	return attr;
}

struct ib_uverbs_attr uverbs_out(uint16_t id, void *value, uint16_t len)
{
	struct ib_uverbs_attr attr = {
		.attr_id = id,
		.len = len,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = (uintptr_t)value,
	};

	return attr;
}

struct ib_uverbs_attr uverbs_handle(uint16_t id, uint64_t handle)
{
	struct ib_uverbs_attr attr = {
		.attr_id = id,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = handle,
	};

	return attr;
}

int uverbs_ioctl(int fd, uint16_t object, uint16_t method,
		 struct ib_uverbs_attr *attr, unsigned int count)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[UVERBS_MAX_ATTRS];
	} cmd = {};

	if (count > UVERBS_MAX_ATTRS)
		return E2BIG;
	cmd.hdr.length = sizeof(cmd.hdr) + count * sizeof(*attr);
	cmd.hdr.object_id = object;
	cmd.hdr.method_id = method;
	cmd.hdr.num_attrs = count;
	cmd.hdr.driver_id = RDMA_DRIVER_MLX5;
	memcpy(cmd.attr, attr, count * sizeof(*attr));
	if (ioctl(fd, RDMA_VERBS_IOCTL, &cmd)) {
		int err = errno;

		if (object == UVERBS_OBJECT_DMABUF)
			rdma_core_no_dmabuf(err);
		return err;
	}
	memcpy(attr, cmd.attr, count * sizeof(*attr));
	return 0;
}
