// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ifc.h"
#include "real_device.h"
#include "skip.h"
#include "text.h"

/* Of enum mlx5_cap_type in linux/mlx5/device.h. */
#define CAP_DEV_MEM		0x0f
#define CAP_VDPA_EMULATION	0x13
/* HCA_CAP_OPMOD_GET_CUR. */
#define CAP_CURRENT		1
/* The unit of log_doorbell_bar_size, and of MEMIC. */
#define UNIT			4096

struct answer {
	uint32_t out[DEVX_ST_SZ_DW(query_hca_cap_out)];
};

static int query(struct ibv_context *ctx, unsigned int cap, struct answer *answer)
{
	uint32_t in[DEVX_ST_SZ_DW(query_hca_cap_in)] = {};

	memset(answer, 0, sizeof(*answer));
	DEVX_SET(query_hca_cap_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
	DEVX_SET(query_hca_cap_in, in, op_mod, cap << 1 | CAP_CURRENT);
	/* Returns the errno itself. */
	return mlx5dv_devx_general_cmd(ctx, in, sizeof(in), answer->out, sizeof(answer->out));
}

#define CAP(answer, name, field) \
	DEVX_GET(name, DEVX_ADDR_OF(query_hca_cap_out, (answer)->out, capability), field)
#define CAP64(answer, name, field) \
	DEVX_GET64(name, DEVX_ADDR_OF(query_hca_cap_out, (answer)->out, capability), field)

int real_device_info(const struct device *dev, struct vhca_info *info)
{
	struct ibv_context *ctx = device_open(dev);
	struct answer answer;
	int err;

	memset(info, 0, sizeof(*info));
	if (!ctx)
		return errno;
	info->bar = device_bar(dev);
	err = query(ctx, CAP_VDPA_EMULATION, &answer);
	if (!err && CAP(&answer, virtio_emulation_cap, log_doorbell_bar_size)) {
		info->var.offset = CAP64(&answer, virtio_emulation_cap, doorbell_bar_offset);
		info->var.stride = 1U << CAP(&answer, virtio_emulation_cap, log_doorbell_stride);
		info->var.size = (uint64_t)UNIT
				 << CAP(&answer, virtio_emulation_cap, log_doorbell_bar_size);
		info->var.count = info->var.size / info->var.stride;
	}
	/* A device that knows no such capability refuses, and has nothing of the kind. */
	err = query(ctx, CAP_DEV_MEM, &answer);
	if (!err && CAP(&answer, device_mem_cap, memic)) {
		info->memic.offset = CAP64(&answer, device_mem_cap, memic_bar_start_addr);
		info->memic.size = CAP(&answer, device_mem_cap, memic_bar_size);
		info->memic.stride = UNIT;
		info->memic.count = info->memic.size / UNIT;
		info->memic_max_alloc = CAP(&answer, device_mem_cap, max_memic_size);
		info->memic_operations = CAP(&answer, device_mem_cap, memic_operations);
	}
	return ibv_close_device(ctx) ? errno : 0;
}

void real_device_needs_ledger(const struct device *dev)
{
	skip_test("%s is not a virtual HCA, whose ledger this test needs", dev->name);
}

static bool has_word(const char *words, const char *word)
{
	const size_t length = strlen(word);

	for (; words && *words; words += strcspn(words, " "), words += strspn(words, " "))
		if (strcspn(words, " ") == length && !strncmp(words, word, length))
			return true;
	return false;
}

void real_device_must_allow(const struct device *dev, const char *word)
{
	if (!device_has_ledger(dev) && !has_word(getenv("UOBJSCOPE_ALLOW"), word))
		skip_test("%s is not virtual: set UOBJSCOPE_ALLOW=%s where that does no harm",
			  dev->name, word);
}
