// SPDX-License-Identifier: GPL-2.0
#include <rdma/ib_user_ioctl_cmds.h>

#include "raw_context.h"
#include "uverbs_ioctl.h"

int raw_context_get(int fd, uint32_t registers, struct mlx5_ib_alloc_ucontext_resp *answer)
{
	const struct mlx5_ib_alloc_ucontext_req_v2 request = {
		.total_num_bfregs = registers,
		.flags = MLX5_IB_ALLOC_UCTX_DEVX,
		.max_cqe_version = 1,
		.lib_caps = MLX5_LIB_CAP_4K_UAR,
	};
	uint32_t vectors, support[2];
	struct ib_uverbs_attr attr[] = {
		uverbs_out(UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, &vectors, sizeof(vectors)),
		uverbs_out(UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, support, sizeof(support)),
		uverbs_in(UVERBS_ATTR_UHW_IN, &request, sizeof(request)),
		uverbs_out(UVERBS_ATTR_UHW_OUT, answer, sizeof(*answer)),
	};

	return uverbs_ioctl(fd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT, attr, 4);
}
