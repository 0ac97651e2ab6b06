// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <string.h>

#include <rdma/ib_user_ioctl_cmds.h>

#include "raw_cq.h"

#define OWN	8

int raw_cq_create(int fd, uint32_t entries, const struct mlx5_ib_create_cq *driver,
		  const struct ib_uverbs_attr *more, unsigned int count, uint32_t *handle)
{
	const uint32_t cqe = entries - 1, vector = 0, flags = 0;
	struct mlx5_ib_create_cq_resp answer;
	const uint64_t user = 0;
	uint32_t made;
	struct ib_uverbs_attr attr[OWN + RAW_CQ_MORE] = {
		uverbs_handle(UVERBS_ATTR_CREATE_CQ_HANDLE, 0),
		uverbs_in(UVERBS_ATTR_CREATE_CQ_CQE, &cqe, sizeof(cqe)),
		uverbs_in(UVERBS_ATTR_CREATE_CQ_USER_HANDLE, &user, sizeof(user)),
		uverbs_in(UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, &vector, sizeof(vector)),
		uverbs_in(UVERBS_ATTR_CREATE_CQ_FLAGS, &flags, sizeof(flags)),
		uverbs_out(UVERBS_ATTR_CREATE_CQ_RESP_CQE, &made, sizeof(made)),
		uverbs_in(UVERBS_ATTR_UHW_IN, driver, sizeof(*driver)),
		uverbs_out(UVERBS_ATTR_UHW_OUT, &answer, sizeof(answer)),
	};
	int err;

	if (count > RAW_CQ_MORE)
		return E2BIG;
	if (count)
		memcpy(attr + OWN, more, count * sizeof(*more));
	err = uverbs_ioctl(fd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE, attr, OWN + count);
	*handle = attr[0].data;
	return err;
}

int raw_cq_destroy(int fd, uint32_t handle)
{
	struct ib_uverbs_destroy_cq_resp events;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(UVERBS_ATTR_DESTROY_CQ_HANDLE, handle),
		uverbs_out(UVERBS_ATTR_DESTROY_CQ_RESP, &events, sizeof(events)),
	};

	return uverbs_ioctl(fd, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, attr, 2);
}
