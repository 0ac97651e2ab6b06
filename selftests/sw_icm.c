// SPDX-License-Identifier: GPL-2.0
/*
 * Device memory that is SW ICM: the memory that software puts flow steering
 * tables into.
 *
 * It has no page of the BAR and so no mapping: the kernel has a uobject of it and no
 * mmap entry, and the device is told to create and destroy a general object.  What is
 * behind that uobject can only be read with it locked, see deref in
 * Documentation/uobjscope.rst.
 */
#include <fcntl.h>
#include <sys/mman.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/mlx5_user_ioctl_verbs.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/capability.h"
#include "common/dm_ops.h"
#include "common/kernel_counts.h"
#include "common/uverbs_ioctl.h"

#define OBJ_TYPE_SW_ICM	0x8
#define BLOCK		4096

FIXTURE(sw_icm)
{
	struct bed bed;
	struct ibv_context *ctx;
	struct kernel_counts counts;
	struct ibv_pd *pd;
	int64_t seq;
};

FIXTURE_VARIANT(sw_icm)
{
	enum mlx5dv_alloc_dm_type type;
	uint64_t kernel_type;
	const char *region;
};

FIXTURE_VARIANT_ADD(sw_icm, steering)
{
	.type = MLX5DV_DM_TYPE_STEERING_SW_ICM,
	.kernel_type = MLX5_IB_UAPI_DM_TYPE_STEERING_SW_ICM,
	.region = "steering",
};

FIXTURE_VARIANT_ADD(sw_icm, header_modify)
{
	.type = MLX5DV_DM_TYPE_HEADER_MODIFY_SW_ICM,
	.kernel_type = MLX5_IB_UAPI_DM_TYPE_HEADER_MODIFY_SW_ICM,
	.region = "header_modify",
};

FIXTURE_VARIANT_ADD(sw_icm, header_modify_pattern)
{
	.type = MLX5DV_DM_TYPE_HEADER_MODIFY_PATTERN_SW_ICM,
	.kernel_type = MLX5_IB_UAPI_DM_TYPE_HEADER_MODIFY_PATTERN_SW_ICM,
	.region = "header_modify_pattern",
};

FIXTURE_VARIANT_ADD(sw_icm, encap)
{
	.type = MLX5DV_DM_TYPE_ENCAP_SW_ICM,
	.kernel_type = MLX5_IB_UAPI_DM_TYPE_ENCAP_SW_ICM,
	.region = "encap",
};

FIXTURE_SETUP(sw_icm)
{
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, self->pd);
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
	counts_of(_metadata, &self->counts, self->ctx->cmd_fd);
}

FIXTURE_TEARDOWN(sw_icm)
{
	EXPECT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear\n"));
	if (self->ctx) {
		EXPECT_EQ(0, ibv_dealloc_pd(self->pd));
		EXPECT_EQ(0, ibv_close_device(self->ctx));
	}
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/* A snapshot for which uobjects are locked to see what is behind them. */
#define LOOK_BEHIND() \
do { \
	ASSERT_EQ(0, scope_deref(true)); \
	EXPECT_EQ(0, scope_take(&self->counts.scope)); \
	ASSERT_EQ(0, scope_deref(false)); \
} while (0)

/* By the last such snapshot the only DM is at rest, with so many regions. */
#define ASSERT_SW_ICM(regions, start, size) \
do { \
	ASSERT_ONE(UOBJ, OURS("type=DM"), \
		   scope_kv("ref=2 usecnt=0 state=live class=idr !entry dm_users=%d", regions)); \
	ASSERT_ONE(UOBJ, OURS("type=DM"), \
		   scope_kv("dm_type=%s_sw_icm dev_addr=%lu dm_size=%lu", variant->region, \
			    start, size)); \
	ASSERT_NONE(MMAP, OURS("kind=MEMIC")); \
	ASSERT_DEVICE(0, "memic_pages_used"); \
	ASSERT_LEDGER(1, "general_object"); \
} while (0)

#define ASSERT_NO_SW_ICM() \
do { \
	ASSERT_NONE(UOBJ, OURS("type=DM")); \
	ASSERT_LEDGER(0, "general_object"); \
} while (0)

static int sw_icm_alloc(struct ibv_context *ctx, enum mlx5dv_alloc_dm_type type, size_t length,
			uint32_t log_align, struct ibv_dm **dm)
{
	struct ibv_alloc_dm_attr attr = { .length = length, .log_align_req = log_align };
	struct mlx5dv_alloc_dm_attr dv_attr = { .type = type };

	*dm = mlx5dv_alloc_dm(ctx, &attr, &dv_attr);
	return *dm ? 0 : errno;
}

#define ALLOC(length, dm) \
	ASSERT_EQ(0, sw_icm_alloc(self->ctx, variant->type, length, 0, dm))
#define ALLOC_ERR(err, length) \
do { \
	struct ibv_dm *__dm; \
	ASSERT_EQ(err, sw_icm_alloc(self->ctx, variant->type, length, 0, &__dm)); \
} while (0)

/* What the ledger says of the object that was made last: 1 if it is one of these. */
static int sw_icm_look(const struct device *dev, int64_t seq, const char *region, uint64_t *start,
		       uint64_t *size)
{
	struct vhca_file file;
	char value[64];
	unsigned int i;
	int found = 0;

	if (vhca_open(dev, "ledger", &file))
		return -1;
	for (i = 0; i < file.count; i++) {
		if (!vhca_key(file.record[i], "kind", value, sizeof(value)) ||
		    strcmp(value, "general_object") ||
		    (int64_t)vhca_number(file.record[i], "born_seq") <= seq ||
		    vhca_number(file.record[i], "obj_type") != OBJ_TYPE_SW_ICM ||
		    !vhca_key(file.record[i], "region", value, sizeof(value)) ||
		    strcmp(value, region))
			continue;
		*start = vhca_number(file.record[i], "sw_icm_addr");
		*size = vhca_number(file.record[i], "size");
		found++;
	}
	vhca_close(&file);
	return found;
}

#define ASSERT_COMMANDS(count, opcode) \
	ASSERT_EQ(count, vhca_count_since(&self->bed.dev, self->seq, opcode, VHCA_ANY))

/*
 * DM-11: The device is told once to create and once to destroy.  The size is a power
 * of two; address and size in the kernel are those that the device has in its book.
 */
TEST_F(sw_icm, dm_11_alloc_and_free)
{
	static const size_t lengths[][2] = {
		{ 1, BLOCK }, { BLOCK, BLOCK }, { BLOCK + 1, 2 * BLOCK }, { 3 * BLOCK, 4 * BLOCK },
	};
	uint64_t start, size;
	struct mlx5dv_obj obj;
	struct mlx5dv_dm dv;
	struct ibv_dm *dm;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		self->seq = vhca_seq(&self->bed.dev);
		ALLOC(lengths[i][0], &dm);
		ASSERT_LEDGER(1, "general_object");
		ASSERT_EQ(1, sw_icm_look(&self->bed.dev, self->seq, variant->region, &start,
					 &size));
		ASSERT_EQ(lengths[i][1], size);
		dv = (struct mlx5dv_dm) { .comp_mask = MLX5DV_DM_MASK_REMOTE_VA };
		obj = (struct mlx5dv_obj) { .dm = { .in = dm, .out = &dv } };
		ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_DM));
		ASSERT_EQ(start, dv.remote_va);
		LOOK_BEHIND();
		ASSERT_SW_ICM(0, start, size);
		ASSERT_ONE(UOBJ, OURS("type=DM handle=%u", dm->handle),
			   scope_kv("length=%lu", lengths[i][0]));
		dm_free(dm);
		LOOK();
		ASSERT_NO_SW_ICM();
		ASSERT_COMMANDS(1, VHCA_CREATE_GENERAL);
		ASSERT_COMMANDS(1, VHCA_DESTROY_GENERAL);
	}
}

/* DM-11: A piece begins where it was asked to. */
TEST_F(sw_icm, dm_11_alignment)
{
	uint64_t start, size;
	struct ibv_dm *dm[2];

	ALLOC(BLOCK, &dm[0]);
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_EQ(0, sw_icm_alloc(self->ctx, variant->type, BLOCK, 14, &dm[1]));
	ASSERT_EQ(1, sw_icm_look(&self->bed.dev, self->seq, variant->region, &start, &size));
	ASSERT_EQ(0UL, start % (1 << 14));
	dm_free(dm[1]);
	dm_free(dm[0]);
}

/* DM-11: All there is, in pieces of a quarter; then no more; then again. */
TEST_F(sw_icm, dm_11_exhaustion)
{
	struct ibv_dm *dm[64];
	uint64_t start, size;
	int n, i, round;

	real_device_must_allow(&self->bed.dev, "exhaustion");
	for (round = 0; round < 2; round++) {
		for (n = 0; n < 64; n++)
			if (sw_icm_alloc(self->ctx, variant->type, 32 * BLOCK, 0, &dm[n]))
				break;
		ASSERT_EQ(ENOMEM, errno);
		ASSERT_LE(1, n);
		ASSERT_GT(64, n);
		ASSERT_LEDGER(n, "general_object");
		LOOK();
		ASSERT_COUNT(n, UOBJ, OURS("type=DM ref=2 usecnt=0 state=live"));
		ALLOC_ERR(ENOMEM, BLOCK);
		LOOK();
		ASSERT_UNCHANGED();
		/* One is free again, and it is that one. */
		self->seq = vhca_seq(&self->bed.dev);
		dm_free(dm[n - 1]);
		ALLOC(32 * BLOCK, &dm[n - 1]);
		ASSERT_EQ(1, sw_icm_look(&self->bed.dev, self->seq, variant->region, &start,
					 &size));
		for (i = 0; i < n; i++)
			dm_free(dm[i]);
		LOOK();
		ASSERT_NO_SW_ICM();
	}
}

/*
 * DM-03, DM-11: A region counts; what it is on cannot go before it, and a free that
 * fails changes nothing.
 */
TEST_F(sw_icm, dm_11_region)
{
	struct vhca_object mkey;
	uint64_t start, size;
	struct ibv_dm *dm;
	struct ibv_mr *mr;

	ALLOC(2 * BLOCK, &dm);
	ASSERT_EQ(1, sw_icm_look(&self->bed.dev, self->seq, variant->region, &start, &size));
	mr_reg_dm(self->pd, dm, BLOCK, BLOCK, &mr);
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(mr), &mkey));
	ASSERT_STREQ("sw_icm", mkey.mode);
	ASSERT_EQ(start + BLOCK, mkey.start);
	LOOK_BEHIND();
	ASSERT_SW_ICM(1, start, size);
	ASSERT_ONE(UOBJ, OURS("type=MR"), scope_kv("ref=2 usecnt=0 lkey=%u", mr->lkey));
	mr_reg_dm_err(EINVAL, self->pd, dm, BLOCK, BLOCK + 1);
	dm_free_err(EBUSY, dm);
	LOOK_BEHIND();
	ASSERT_UNCHANGED();
	ASSERT_SW_ICM(1, start, size);
	mr_dereg(mr);
	LOOK_BEHIND();
	ASSERT_SW_ICM(0, start, size);
	dm_free(dm);
	LOOK();
	ASSERT_NO_SW_ICM();
}

/* DM-12, IMP-13, ERRNO-DM: There is nothing to map, to export or to import. */
TEST_F(sw_icm, dm_12_no_mapping)
{
	struct ibv_dm *dm;
	void *map;

	ALLOC(BLOCK, &dm);
	LOOK();
	dmabuf_export_err(EINVAL, dm);
	/* Where the first device memory of a context is mapped from. */
	map = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_SHARED, self->ctx->cmd_fd,
		   (off_t)MLX5_IB_MMAP_DEVICE_MEM << 8 << 12);
	ASSERT_EQ(MAP_FAILED, map);
	dm_import_err(EOPNOTSUPP, self->ctx, dm->handle);
	raw_dm_query_err(EOPNOTSUPP, self->ctx->cmd_fd, dm->handle, 0);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 state=live");
	dm_free(dm);
}

/*
 * DM-11, ERRNO-DM: It takes two capabilities, and without them the device hears
 * nothing.
 */
TEST_F(sw_icm, dm_11_capabilities)
{
	static const int needed[] = { CAP_NET_RAW, CAP_SYS_RAWIO };
	struct ibv_dm *dm;
	unsigned int i;

	LOOK();
	for (i = 0; i < ARRAY_SIZE(needed); i++) {
		ASSERT_EQ(0, capability_set(needed[i], false));
		EXPECT_EQ(EPERM, sw_icm_alloc(self->ctx, variant->type, BLOCK, 0, &dm));
		ASSERT_EQ(0, capability_set(needed[i], true));
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_COMMANDS(0, VHCA_CREATE_GENERAL);
}

/* DM_ALLOC of a type, with an answer that the kernel cannot write. */
static int alloc_without_answer(int fd, uint64_t type)
{
	const uint64_t length = BLOCK;
	const uint32_t alignment = 0;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(UVERBS_ATTR_ALLOC_DM_HANDLE, 0),
		uverbs_in(UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length)),
		uverbs_in(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &alignment, sizeof(alignment)),
		uverbs_out(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, UVERBS_BAD_POINTER,
			   sizeof(uint64_t)),
		uverbs_in(MLX5_IB_ATTR_ALLOC_DM_REQ_TYPE, &type, sizeof(type)),
	};

	return uverbs_ioctl(fd, UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC, attr, 5);
}

/*
 * DM-11, DM-15, UOBJ-10: The address cannot be told to the caller: the device is told
 * to destroy what it created, and nothing is left in the kernel.
 */
TEST_F(sw_icm, dm_15_answer_cannot_be_written)
{
	LOOK();
	ASSERT_EQ(EFAULT, alloc_without_answer(self->ctx->cmd_fd, variant->kernel_type));
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_COMMANDS(1, VHCA_CREATE_GENERAL);
	ASSERT_COMMANDS(1, VHCA_DESTROY_GENERAL);
	ASSERT_NO_SW_ICM();
}

/*
 * DM-11, DM-16, UOBJ-06: What is left is given back when the context is closed, the
 * region before what it is on.
 */
TEST_F(sw_icm, dm_11_close_with_it)
{
	struct ibv_dm *dm[2];
	struct ibv_mr *mr;
	int64_t mkey;

	ALLOC(BLOCK, &dm[0]);
	ALLOC(2 * BLOCK, &dm[1]);
	mr_reg_dm(self->pd, dm[1], 0, BLOCK, &mr);
	mkey = mr_mkey(mr);
	LOOK_BEHIND();
	ASSERT_ONE(UOBJ, OURS("type=DM handle=%u", dm[0]->handle), "ref=2 dm_users=0");
	ASSERT_ONE(UOBJ, OURS("type=DM handle=%u", dm[1]->handle), "ref=2 dm_users=1");
	ASSERT_LEDGER(2, "general_object");
	ASSERT_EQ(0, ibv_close_device(self->ctx));
	self->ctx = NULL;
	LOOK();
	ASSERT_NONE(UFILE, OUR_UFILE);
	ASSERT_NO_SW_ICM();
	ASSERT_COMMANDS(2, VHCA_DESTROY_GENERAL);
	mkey = vhca_last_since(&self->bed.dev, self->seq, VHCA_DESTROY_MKEY, mkey);
	ASSERT_LT(0, mkey);
	ASSERT_LT(mkey, vhca_last_since(&self->bed.dev, self->seq, VHCA_DESTROY_GENERAL, VHCA_ANY));
}

/* DM-11: The device refuses: so does the call, and nothing is left of it. */
TEST_F(sw_icm, dm_11_refused)
{
	struct ibv_dm *dm;

	LOOK();
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults",
				"opcode=CREATE_GENERAL_OBJECT status=limits_exceeded\n"));
	ALLOC_ERR(ENOMEM, BLOCK);
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear\n"));
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_NO_SW_ICM();
	ALLOC(BLOCK, &dm);
	dm_free(dm);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
