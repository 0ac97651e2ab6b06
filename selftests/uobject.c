// SPDX-License-Identifier: GPL-2.0
/*
 * Lifetime of uobjects and of the ufile that they belong to.
 *
 * Every object of user verbs is an ib_uobject of an ib_uverbs_file, whatever it is:
 * core/rdma_core.c counts who has it, gives it a handle or a file, locks it, and
 * destroys it by a call, by an abort, or with the file.  The counts of the kernel are
 * asked after each step, and next to them the device's history, the control group, and
 * resource tracking.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/mlx5-abi.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <rdma/rdma_user_ioctl.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/caller.h"
#include "common/connection.h"
#include "common/dm_ops.h"
#include "common/entry_ops.h"
#include "common/file_max.h"
#include "common/helper_module.h"
#include "common/kernel_counts.h"
#include "common/kernel_signs.h"
#include "common/raw_context.h"
#include "common/rdma_cgroup.h"
#include "common/rdma_core.h"
#include "common/rdma_show.h"
#include "common/skip.h"
#include "common/text.h"
#include "common/uverbs_ioctl.h"
#include "common/var_ops.h"

#define DM_SIZE	4096

/* Several of them must fit. */
#define DM_NEEDED	(8 * DM_SIZE)

FIXTURE(uobject)
{
	struct bed bed;
	struct kernel_counts counts;
	struct ibv_context *ctx;
	int64_t seq;
	int fd;
	/* Which of a test's cases it is at. */
	const char *at;
	struct rdma_cgroup group;
};

FIXTURE_SETUP(uobject)
{
	/* Of a test that ran out of time. */
	helper_unload("slow_function");
	if (!bed_make(_metadata, &self->bed, true) ||
	    !counts_begin(_metadata, &self->bed, &self->counts))
		return;
	if (self->bed.dev.info.memic.size < DM_NEEDED ||
	    !(self->bed.dev.info.memic_operations & 1)) {
		bed_mark(_metadata, "end");
		SKIP(return, "not enough MEMIC, or no operation 0: load mlx5_vhca with more of it");
	}
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	self->fd = self->ctx->cmd_fd;
	counts_of(_metadata, &self->counts, self->fd);
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
}

FIXTURE_TEARDOWN(uobject)
{
	/* Of a test that failed. */
	helper_unload("slow_function");
	if (self->at && _metadata->exit_code != KSFT_PASS)
		TH_LOG("it was at the case %s", self->at);
	EXPECT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear\n"));
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	if (self->group.path[0]) {
		EXPECT_EQ(0, rdma_cgroup_enter(&self->group, false));
		EXPECT_EQ(0, rdma_cgroup_remove(&self->group));
	}
	counts_end(_metadata, &self->counts);
	bed_unmake(_metadata, &self->bed);
}

/* Commands of a kind take their time from now on, or no command does any more. */
#define DELAY(opcode) \
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", \
				"opcode=" opcode " count=all delay_ms=600000\n"))
#define GO_ON() \
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", "clear\n"))

/* The ufile has so many references and so many uobjects more than at the start. */
#define ASSERT_UFILE(refs, uobjects_) \
	ASSERT_ONE(UFILE, OUR_UFILE, \
		   scope_kv("ref=%d uobjects=%d state=live", refs, \
			    self->counts.uobjects + (uobjects_)))

/* A descriptor of a completion channel that the library knows nothing of. */
static int make_channel(struct ibv_context *ctx, int *fd)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx);

	if (!channel)
		return errno;
	*fd = fcntl(channel->fd, F_DUPFD_CLOEXEC, 0);
	return ibv_destroy_comp_channel(channel) || *fd < 0 ? errno : 0;
}

/* A completion queue whose channel is whatever the descriptor is. */
static int make_cq(struct ibv_context *ctx, struct ibv_comp_channel *channel, int fd,
		   struct ibv_cq **cq)
{
	*channel = (struct ibv_comp_channel){ .context = ctx, .fd = fd };
	*cq = ibv_create_cq(ctx, 15, NULL, channel, 0);
	return *cq ? 0 : errno;
}

#define cq_create(ctx, channel, fd, cq) \
	ASSERT_EQ(0, make_cq(ctx, channel, fd, cq))
#define cq_create_err(err, ctx, fd) \
do { \
	struct ibv_comp_channel __channel; \
	struct ibv_cq *__cq; \
	ASSERT_EQ(err, make_cq(ctx, &__channel, fd, &__cq)); \
} while (0)

/* Ask for a DM, which locks its uobject for reading. */
static int query_dm(int fd, uint32_t handle)
{
	uint64_t start, length;
	uint16_t page;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_QUERY_DM_REQ_HANDLE, handle),
		uverbs_out(MLX5_IB_ATTR_QUERY_DM_RESP_START_OFFSET, &start, sizeof(start)),
		uverbs_out(MLX5_IB_ATTR_QUERY_DM_RESP_PAGE_INDEX, &page, sizeof(page)),
		uverbs_out(MLX5_IB_ATTR_QUERY_DM_RESP_LENGTH, &length, sizeof(length)),
	};

	return uverbs_ioctl(fd, UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_QUERY, attr, 4);
}

/*
 * UOBJ-01: An object with a handle has two references, the list's and the handle's, and
 * takes none of the ufile.  One that is a file has the list's and the file's, and one of
 * the ufile for as long as it is open.  Nobody uses them, so nobody has them locked.
 */
TEST_F(uobject, uobj_01_at_rest)
{
	struct ibv_comp_channel channel;
	int channel_fd, dmabuf;
	struct mlx5dv_var *var;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	const char *idle = "class=idr ref=2 usecnt=0 state=live";

	ASSERT_UFILE(2, 0);
	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	var_alloc(self->ctx, 0, &var);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	mr_reg_dm(pd, dm, 0, DM_SIZE, &mr);
	LOOK();
	ASSERT_UFILE(2, 4);
	ASSERT_ONE(UOBJ, OURS("type=PD"), idle);
	ASSERT_ONE(UOBJ, OURS("type=MLX5_VAR"), idle);
	ASSERT_ONE(UOBJ, OURS("type=DM"), idle);
	ASSERT_ONE(UOBJ, OURS("type=MR"), idle);

	ASSERT_EQ(0, make_channel(self->ctx, &channel_fd));
	LOOK();
	ASSERT_UFILE(3, 5);
	ASSERT_ONE(UOBJ, OURS("type=COMP_CHANNEL"), "class=fd ref=2 usecnt=0 state=live !handle");
	ASSERT_ONE(FD, scope_kv("pid=%d fd=%d", getpid(), channel_fd),
		   OURS("kind=uobj type=COMP_CHANNEL file_ref=1"));
	/* A completion queue has its channel as well, but not the ufile. */
	cq_create(self->ctx, &channel, channel_fd, &cq);
	LOOK();
	ASSERT_UFILE(3, 6);
	ASSERT_ONE(UOBJ, OURS("type=CQ"), idle);
	ASSERT_ONE(UOBJ, OURS("type=COMP_CHANNEL"), "ref=3 usecnt=0 state=live");
	dmabuf_export(dm, &dmabuf);
	LOOK();
	ASSERT_UFILE(4, 7);
	ASSERT_ONE(UOBJ, OURS("type=DMABUF"), "class=fd ref=2 usecnt=0 state=live !handle");

	ASSERT_EQ(0, close(dmabuf));
	LOOK();
	ASSERT_UFILE(3, 6);
	ASSERT_NONE(UOBJ, OURS("type=DMABUF"));
	ASSERT_EQ(0, ibv_destroy_cq(cq));
	LOOK();
	ASSERT_UFILE(3, 5);
	ASSERT_ONE(UOBJ, OURS("type=COMP_CHANNEL"), "ref=2 usecnt=0 state=live");
	ASSERT_EQ(0, close(channel_fd));
	LOOK();
	ASSERT_UFILE(2, 4);
	mr_dereg(mr);
	dm_free(dm);
	mlx5dv_free_var(var);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	LOOK();
	ASSERT_UFILE(2, 0);
	ASSERT_COUNT(self->counts.uobjects, UOBJ, OURS(""));
}

/* A call that a thread makes on a DM. */
struct dm_call {
	int fd;
	uint32_t handle;
};

static int call_free(void *arg)
{
	const struct dm_call *call = arg;

	return _raw_dm_free(call->fd, call->handle);
}

static int call_map_op(void *arg)
{
	const struct dm_call *call = arg;

	return _raw_dm_map_op(call->fd, call->handle, 0, 0);
}

/*
 * UOBJ-02, UOBJ-03: While an object is being destroyed it is locked for writing, and
 * has a reference of who destroys it.  Its handle is still there and leads to EBUSY,
 * not to a second destruction.  Then the handle is gone, and leads to ENOENT.
 */
TEST_F(uobject, uobj_02_destroyed_once)
{
	struct dm_call call = { .fd = self->fd };
	struct caller caller;
	struct raw_dm dm;

	raw_dm_alloc(self->fd, DM_SIZE, &dm);
	call.handle = dm.handle;
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 state=live");
	DELAY("DEALLOC_MEMIC");
	caller_start(&caller, call_free, &call);
	caller_waits(&caller, "uobj_destroy");
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"),
		   scope_kv("ref=3 usecnt=-1 state=locked handle=%u", dm.handle));
	ASSERT_UFILE(2, 1);
	ASSERT_EQ(EBUSY, _raw_dm_free(self->fd, dm.handle));
	ASSERT_EQ(EBUSY, query_dm(self->fd, dm.handle));
	raw_dm_map_op_err(EBUSY, self->fd, dm.handle, 0, 0);
	ASSERT_FALSE(caller_is_done(&caller));
	LOOK();
	ASSERT_UNCHANGED();
	GO_ON();
	caller_end(&caller, 0);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=DM"));
	ASSERT_NONE(MMAP, OURS("kind=MEMIC"));
	ASSERT_UFILE(2, 0);
	ASSERT_EQ(ENOENT, _raw_dm_free(self->fd, dm.handle));
	ASSERT_EQ(ENOENT, query_dm(self->fd, dm.handle));
	raw_dm_map_op_err(ENOENT, self->fd, dm.handle, 0, 0);
	ASSERT_EQ(1, vhca_count_since(&self->bed.dev, self->seq, VHCA_DEALLOC_MEMIC, VHCA_ANY));
	ASSERT_LEDGER(0, "memic");
}

/*
 * UOBJ-02: For each type that a test can make without the library: the first destroy
 * succeeds, takes the uobject off the list and its handle with it, and the second one
 * finds nothing.
 */
TEST_F(uobject, uobj_02_handle_goes)
{
	struct entry entry;
	int kind;

	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		if (!entry_pages(&self->bed.dev, kind, 1))
			continue;
		entry_alloc(self->fd, kind, 1, &entry);
		LOOK();
		ASSERT_UFILE(2, 1);
		ASSERT_ONE(UOBJ, OURS("class=idr handle=%u", entry.handle), "ref=2 usecnt=0");
		entry_free(self->fd, &entry);
		LOOK();
		ASSERT_UFILE(2, 0);
		ASSERT_NONE(UOBJ, OURS("class=idr handle=%u", entry.handle));
		ASSERT_NONE(UFILE, scope_kv("id=%lu reserved=1", self->counts.ufile));
		entry_free_err(ENOENT, self->fd, &entry);
	}
}

/*
 * UOBJ-03: An object that a command uses cannot be destroyed: EBUSY, and nothing has
 * changed.  Another command may use it meanwhile.  When both are done it can.
 */
TEST_F(uobject, uobj_03_in_use)
{
	struct dm_call call = { .fd = self->fd };
	struct caller caller;
	struct raw_dm dm;

	raw_dm_alloc(self->fd, DM_SIZE, &dm);
	call.handle = dm.handle;
	DELAY("MODIFY_MEMIC");
	caller_start(&caller, call_map_op, &call);
	caller_waits(&caller, "mlx5_ib_handler_MLX5_IB_METHOD_DM_MAP_OP_ADDR");
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=3 usecnt=1 state=live");
	ASSERT_EQ(EBUSY, _raw_dm_free(self->fd, dm.handle));
	ASSERT_EQ(0, query_dm(self->fd, dm.handle));
	ASSERT_FALSE(caller_is_done(&caller));
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_LEDGER(1, "memic");
	GO_ON();
	caller_end(&caller, 0);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 state=live ops=1 dm_ref=2");
	ASSERT_LEDGER(1, "memic_operation");
	raw_dm_free(self->fd, dm.handle);
	LOOK();
	ASSERT_UFILE(2, 0);
	ASSERT_LEDGER(0, "memic");
	ASSERT_LEDGER(0, "memic_operation");
}

/*
 * UOBJ-03, DM-03, C15: An object may also be in use by another object, which is for its type to
 * say.  It is then unlocked again, and as before.
 */
TEST_F(uobject, uobj_03_in_use_by_another)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->ctx);
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	int i;

	ASSERT_NE(NULL, pd);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	mr_reg_dm(pd, dm, 0, DM_SIZE, &mr);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 dm_users=1");
	ASSERT_ONE(UOBJ, OURS("type=PD"), "ref=2 usecnt=0 users=1");
	for (i = 0; i < 10; i++) {
		dm_free_err(EBUSY, dm);
		ASSERT_EQ(EBUSY, ibv_dealloc_pd(pd));
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_EQ(0, vhca_count_since(&self->bed.dev, self->seq, VHCA_DEALLOC_MEMIC, VHCA_ANY));
	ASSERT_EQ(0, vhca_count_since(&self->bed.dev, self->seq, VHCA_DEALLOC_PD, VHCA_ANY));
	mr_dereg(mr);
	dm_free(dm);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/*
 * UOBJ-04, ERRNO-VAR: A handle is looked up with its type.  That of an object of
 * another type is EINVAL, one that leads to nothing ENOENT, and a number that cannot be
 * a handle EINVAL.  Nothing happens to the object that was named.
 */
TEST_F(uobject, uobj_04_handle_of_another_type)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->ctx);
	struct ib_uverbs_attr attr;
	struct raw_var var;
	struct ibv_mr *mr;
	static char buf[64];
	struct ibv_cq *cq;
	struct raw_dm dm;
	uint32_t wrong[4];
	unsigned int i;

	ASSERT_NE(NULL, pd);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, mr);
	cq = ibv_create_cq(self->ctx, 15, NULL, NULL, 0);
	ASSERT_NE(NULL, cq);
	raw_var_alloc(self->fd, 0, &var);
	raw_dm_alloc(self->fd, DM_SIZE, &dm);
	LOOK();
	wrong[0] = pd->handle;
	wrong[1] = mr->handle;
	wrong[2] = cq->handle;
	wrong[3] = dm.handle;
	for (i = 0; i < 4; i++)
		raw_var_free_err(EINVAL, self->fd, wrong[i]);
	wrong[3] = var.handle;
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(EINVAL, _raw_dm_free(self->fd, wrong[i]));
		raw_dm_map_op_err(EINVAL, self->fd, wrong[i], 0, 0);
	}
	raw_var_free_err(ENOENT, self->fd, UINT32_MAX);
	attr = uverbs_handle(MLX5_IB_ATTR_VAR_OBJ_DESTROY_HANDLE, UINT64_MAX);
	ASSERT_EQ(EINVAL, uverbs_ioctl(self->fd, MLX5_IB_OBJECT_VAR,
				       MLX5_IB_METHOD_VAR_OBJ_DESTROY, &attr, 1));
	LOOK();
	ASSERT_UNCHANGED();
	/* All of them work. */
	raw_var_free(self->fd, var.handle);
	raw_dm_free(self->fd, dm.handle);
	ASSERT_EQ(0, ibv_destroy_cq(cq));
	ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0));
	mr_dereg(mr);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/*
 * UOBJ-05: The lowest handle that is free is given to the next object, of whatever type,
 * and at once.
 */
TEST_F(uobject, uobj_05_lowest_handle)
{
	struct raw_var var, next;
	struct ibv_pd *pd;
	struct raw_dm dm;

	raw_var_alloc(self->fd, 0, &var);
	raw_dm_alloc(self->fd, DM_SIZE, &dm);
	ASSERT_EQ(var.handle + 1, dm.handle);
	raw_var_free(self->fd, var.handle);
	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	ASSERT_EQ(var.handle, pd->handle);
	raw_var_free_err(EINVAL, self->fd, var.handle);
	raw_dm_free(self->fd, dm.handle);
	raw_var_alloc(self->fd, 0, &next);
	ASSERT_EQ(dm.handle, next.handle);
	ASSERT_EQ(EINVAL, _raw_dm_free(self->fd, dm.handle));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("handle=%u", var.handle), "type=PD ref=2 usecnt=0");
	ASSERT_ONE(UOBJ, OURS("handle=%u", dm.handle), "type=MLX5_VAR ref=2 usecnt=0");
	ASSERT_UFILE(2, 2);
	raw_var_free(self->fd, next.handle);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/* When the device was told to destroy something, by the number of the command. */
#define DESTROYED(opcode, object) \
	vhca_last_since(&self->bed.dev, self->seq, opcode, object)

/*
 * UOBJ-06, DM-19: What is left when the file is closed is destroyed in the reverse order
 * of its making, so that a region goes before the memory that it is on.
 */
TEST_F(uobject, uobj_06_last_in_first_out)
{
	static const char *const kinds[] = { "region", "memory", "domain" };
	static const unsigned int opcodes[] = {
		VHCA_DESTROY_MKEY, VHCA_DEALLOC_MEMIC, VHCA_DEALLOC_PD
	};
	struct vhca_object memic, domain;
	struct ibv_context *other;
	int64_t when, last = 0;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	uint64_t made[2][3];
	int i, kind;

	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	for (i = 0; i < 2; i++) {
		self->seq = vhca_seq(&self->bed.dev);
		pd = ibv_alloc_pd(other);
		ASSERT_NE(NULL, pd);
		dm_alloc(other, DM_SIZE, &dm);
		mr_reg_dm(pd, dm, 0, DM_SIZE, &mr);
		ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->seq, &memic));
		ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "pd", self->seq, &domain));
		made[i][0] = mr_mkey(mr);
		made[i][1] = memic.id;
		made[i][2] = domain.id;
		/* Without the library's mapping, which would keep the file. */
		ibv_unimport_dm(dm);
	}
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_EQ(0, ibv_close_device(other));
	for (i = 2; i--;) {
		for (kind = 0; kind < 3; kind++) {
			when = DESTROYED(opcodes[kind], made[i][kind]);
			ASSERT_LT(last, when)
				TH_LOG("%s %d was destroyed out of order", kinds[kind], i);
			last = when;
		}
	}
	LOOK();
	ASSERT_DEVICE(0, "memic_pages_used");
	ASSERT_LEDGER(0, "memic");
	ASSERT_LEDGER(0, "pd");
}

/*
 * UOBJ-06: What cannot be destroyed yet is left for another pass: a protection domain
 * that an older region was moved to.
 */
TEST_F(uobject, uobj_06_another_pass)
{
	struct vhca_object domain[2];
	struct ibv_context *other;
	struct ibv_pd *pd[2];
	static char buf[64];
	struct ibv_mr *mr = NULL;
	uint64_t ufile;
	int i;

	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	for (i = 0; i < 2; i++) {
		self->seq = vhca_seq(&self->bed.dev);
		pd[i] = ibv_alloc_pd(other);
		ASSERT_NE(NULL, pd[i]);
		ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "pd", self->seq, &domain[i]));
		if (!mr)
			mr = ibv_reg_mr(pd[i], buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
		ASSERT_NE(NULL, mr);
	}
	ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, pd[1], NULL, 0, 0));
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), other->cmd_fd);
	for (i = 0; i < 2; i++) {
		ASSERT_ONE(UOBJ, THEIRS(ufile, "type=PD handle=%u", pd[i]->handle),
			   scope_kv("ref=2 usecnt=0 users=%d", i));
	}
	ASSERT_EQ(0, ibv_close_device(other));
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	/* The first pass gets rid of the older one only, though the newer comes before it. */
	ASSERT_LT(0, DESTROYED(VHCA_DEALLOC_PD, domain[0].id));
	ASSERT_LT(DESTROYED(VHCA_DEALLOC_PD, domain[0].id),
		  DESTROYED(VHCA_DEALLOC_PD, domain[1].id));
	ASSERT_EQ(2, vhca_count_since(&self->bed.dev, self->seq, VHCA_DEALLOC_PD, VHCA_ANY));
	ASSERT_LEDGER(0, "pd");
	ASSERT_LEDGER(0, "mkey");
}

/*
 * One of each kind, with nothing freed; an errno and what failed.  Queues refer to a
 * doorbell page that the library frees before it closes the file.
 */
static int make_all(struct ibv_context *ctx, const struct device *dev, bool queues,
		    const char **what)
{
	static char buf[64];
	struct ibv_comp_channel *channel;
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct entry entry;
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	void *op, *map;
	int kind, err;

	*what = "a protection domain";
	pd = ibv_alloc_pd(ctx);
	if (!pd)
		return errno;
	*what = "a memory region";
	if (!ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE))
		return errno;
	*what = "a shared receive queue";
	if (queues && !ibv_create_srq(pd, &srq))
		return errno;
	*what = "a channel";
	channel = ibv_create_comp_channel(ctx);
	if (!channel)
		return errno;
	*what = "a completion queue";
	if (queues && !ibv_create_cq(ctx, 15, NULL, channel, 0))
		return errno;
	close(channel->fd);
	*what = "device memory";
	err = _dm_alloc(ctx, DM_SIZE, &dm);
	if (err)
		return err;
	*what = "a region on it";
	err = _mr_reg_dm(pd, dm, 0, DM_SIZE, &mr);
	if (err)
		return err;
	*what = "an operation of it";
	err = _dm_map_op(dm, 0, &op);
	if (err)
		return err;
	_dm_unmap_op(op, DM_SIZE);
	ibv_unimport_dm(dm);
	for (kind = 0; kind < ENTRY_KINDS; kind++) {
		if (!entry_pages(dev, kind, 1))
			continue;
		*what = entry_name(kind);
		err = _entry_alloc(ctx->cmd_fd, kind, 1, &entry);
		if (err)
			return err;
		/* That one is only mapped any more. */
		err = _entry_map(ctx->cmd_fd, &entry, &map) ?:
		      _entry_free(ctx->cmd_fd, &entry) ?:
		      _entry_alloc(ctx->cmd_fd, kind, 1, &entry);
		if (err)
			return err;
		if (munmap(map, entry.length))
			return errno;
	}
	return 0;
}

/*
 * UOBJ-07: A file is closed with an object of each kind in it.  All is destroyed: in the
 * device, in the driver, and in the kernel's tables, which would warn.
 */
TEST_F(uobject, uobj_07_close_with_all)
{
	struct ibv_context *other = device_open(&self->bed.dev);
	const char *what = NULL;
	uint64_t ufile;

	ASSERT_NE(NULL, other);
	ASSERT_EQ(0, make_all(other, &self->bed.dev, false, &what))
		TH_LOG("it was making %s", what);
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), other->cmd_fd);
	ASSERT_LE(7, scope_count(&self->counts.scope, UOBJSCOPE_UOBJ,
				 THEIRS(ufile, "state=live class=idr")));
	ASSERT_LE(2, scope_count(&self->counts.scope, UOBJSCOPE_MMAP, THEIRS(ufile, "vmas=0")));
	ASSERT_EQ(0, ibv_close_device(other));
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_NONE(UOBJ, THEIRS(ufile, ""));
	ASSERT_NONE(MMAP, THEIRS(ufile, ""));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_DEVICE(0, "memic_pages_used");
	ASSERT_LEDGER(0, "memic_operation");
	ASSERT_LEDGER(0, "cq");
	ASSERT_LEDGER(1, "uctx");
}

/*
 * UOBJ-07, VAR-14: The same of a process that is killed, and that has queues as well.
 */
TEST_F(uobject, uobj_07_killed_with_all)
{
	struct ibv_context *other;
	const char *what;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		other = device_open(&self->bed.dev);
		if (!other || make_all(other, &self->bed.dev, true, &what))
			_exit(1);
		raise(SIGKILL);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	ASSERT_EQ(SIGKILL, WTERMSIG(status));
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("pid=%d", pid));
	ASSERT_NONE(VMA, scope_kv("pid=%d", pid));
	ASSERT_DEVICE(0, "var_used");
	ASSERT_DEVICE(0, "memic_pages_used");
	ASSERT_LEDGER(0, "memic_operation");
	ASSERT_LEDGER(0, "cq");
	ASSERT_LEDGER(1, "uctx");
}

/* What holds a ufile, and the letters that stand for it. */
enum holder {
	HOLDER_FILE,
	HOLDER_ASYNC,
	HOLDER_CHANNEL,
	HOLDER_MAPPING,
	HOLDERS,
};

struct holders {
	int fd[HOLDER_MAPPING];
	uint32_t *map;
	size_t length;
	bool has[HOLDERS];
};

/* A ufile that nothing but these holds, with a VAR in it. */
static int holders_make(const struct device *dev, struct holders *holders, uint64_t *ufile,
			struct scope *scope)
{
	struct ibv_context *ctx = device_open(dev);
	struct raw_var var;
	int err, i;

	if (!ctx)
		return errno;
	err = _raw_var_alloc(ctx->cmd_fd, 0, 0, &var);
	if (err)
		return err;
	holders->length = var.length;
	err = _map(ctx, var.length, MAP_SHARED, var.mmap_off, &holders->map);
	if (err)
		return err;
	err = make_channel(ctx, &holders->fd[HOLDER_CHANNEL]);
	if (err)
		return err;
	holders->fd[HOLDER_FILE] = fcntl(ctx->cmd_fd, F_DUPFD_CLOEXEC, 0);
	holders->fd[HOLDER_ASYNC] = fcntl(ctx->async_fd, F_DUPFD_CLOEXEC, 0);
	for (i = 0; i < HOLDERS; i++)
		holders->has[i] = true;
	err = scope_take(scope);
	if (err)
		return err;
	*ufile = scope_ufile(scope, getpid(), ctx->cmd_fd);
	return ibv_close_device(ctx) ? errno : 0;
}

static int holders_drop(struct holders *holders, enum holder holder)
{
	holders->has[holder] = false;
	if (holder == HOLDER_MAPPING)
		return _unmap(holders->map, holders->length);
	return close(holders->fd[holder]) ? errno : 0;
}

/*
 * UOBJ-08, UOBJ-01: A ufile is there until the last of all that holds it is gone, in
 * every order: its file, which a mapping keeps open, the async event file, a completion
 * channel.  Its objects live as long as the file is open, and not longer.
 */
TEST_F(uobject, uobj_08_last_of_all)
{
	struct holders holders;
	char order[HOLDERS + 1];
	int n, step, rest, left, ref;
	uint64_t ufile = 0;
	bool open;
	int holder;

	for (n = 0; n < 24; n++) {
		/* The n-th permutation: which of those that are left goes next. */
		const int choice[HOLDERS] = { n / 6, n / 2 % 3, n % 2, 0 };

		ASSERT_EQ(0, holders_make(&self->bed.dev, &holders, &ufile,
					  &self->counts.scope));
		memset(order, 0, sizeof(order));
		self->at = order;
		for (step = 0; step < HOLDERS; step++) {
			rest = choice[step];
			for (holder = 0; !holders.has[holder] || rest--; holder++)
				;
			order[step] = "FACM"[holder];
			ASSERT_EQ(0, holders_drop(&holders, holder));
			LOOK();
			open = holders.has[HOLDER_FILE] || holders.has[HOLDER_MAPPING];
			left = holders.has[HOLDER_ASYNC] + holders.has[HOLDER_CHANNEL];
			ref = open + left;
			ASSERT_DEVICE(open, "var_used");
			if (!ref) {
				ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
				continue;
			}
			ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile),
				   scope_kv("ref=%d file_open=%d listed=%d state=%s", ref, open,
					    open, open ? "live" : "closed"));
			ASSERT_ONE(UOBJ, THEIRS(ufile, "type=MLX5_VAR"),
				   open ? "ref=2 usecnt=0 state=live" : "ref=1 state=dead");
			ASSERT_COUNT(left, FD, THEIRS(ufile, "kind=uobj state=%s",
						      open ? "live" : "dead"));
			ASSERT_UNEXPLAINED(0, scope_kv("ufile:%lu", ufile));
		}
	}
	self->at = NULL;
}

/*
 * UOBJ-08: A dma-buf is such a holder, until it is closed.  (After its file it is not
 * given back by every kernel: known fault L01.)
 */
TEST_F(uobject, uobj_08_dmabuf)
{
	struct ibv_context *other = device_open(&self->bed.dev);
	struct raw_dm dm;
	struct entry entry;
	uint64_t ufile;
	int dmabuf[2], i;

	ASSERT_NE(NULL, other);
	entry_alloc(other->cmd_fd, ENTRY_MEMIC, 1, &entry);
	for (i = 0; i < 2; i++)
		raw_dmabuf_export(other->cmd_fd, entry.off, &dmabuf[i]);
	raw_dm_alloc(other->cmd_fd, DM_SIZE, &dm);
	LOOK();
	ufile = scope_ufile(&self->counts.scope, getpid(), other->cmd_fd);
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=4 state=live");
	ASSERT_EQ(0, close(dmabuf[1]));
	LOOK();
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=3 state=live");
	entry_free(other->cmd_fd, &entry);
	LOOK();
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=3 state=live");
	ASSERT_EQ(0, close(dmabuf[0]));
	LOOK();
	ASSERT_ONE(UFILE, scope_kv("id=%lu", ufile), "ref=2 state=live");
	ASSERT_EQ(0, ibv_close_device(other));
	LOOK();
	ASSERT_NONE(UFILE, scope_kv("id=%lu", ufile));
	ASSERT_LEDGER(0, "memic");
}

/*
 * UOBJ-10, VAR-10, ERRNO-VAR: The object is made but an answer cannot be written.  The
 * call fails with EFAULT and leaves no page, no handle, no entry and no uobject behind:
 * the next allocation gets the same.
 */
TEST_F(uobject, uobj_10_var_answer_cannot_be_written)
{
	static const uint16_t answers[] = {
		MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET,
		MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH,
		MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID,
	};
	struct raw_var var, again;
	unsigned int i;

	raw_var_alloc(self->fd, 0, &var);
	raw_var_free(self->fd, var.handle);
	LOOK();
	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		raw_var_alloc_err(EFAULT, self->fd, 0, answers[i]);
		LOOK();
		ASSERT_UNCHANGED();
		ASSERT_EQ(1, var_page_is_free(self->fd, 0, var.page_id));
		raw_var_alloc(self->fd, 0, &again);
		ASSERT_EQ(var.page_id, again.page_id);
		ASSERT_EQ(var.mmap_off, again.mmap_off);
		ASSERT_EQ(var.handle, again.handle);
		raw_var_free(self->fd, again.handle);
		LOOK();
	}
	if (self->bed.dev.info.tlp_var.count) {
		raw_var_alloc_err(EFAULT, self->fd, MLX5DV_VAR_ALLOC_FLAG_TLP, answers[0]);
		LOOK();
		ASSERT_UNCHANGED();
	}
	ASSERT_DEVICE(0, "var_used");
}

/*
 * UOBJ-10, DM-15: The same of device memory, which the device is told to free, and of an
 * operation, after which the memory has its creator's reference only.
 */
TEST_F(uobject, uobj_10_memory_answer_cannot_be_written)
{
	static const uint16_t answers[] = {
		MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET,
		MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX,
	};
	static const uint16_t op_answers[] = {
		MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET,
		MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_PAGE_INDEX,
	};
	struct raw_dm dm;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(answers); i++) {
		raw_dm_alloc_err(EFAULT, self->fd, DM_SIZE, answers[i]);
		LOOK();
		ASSERT_UNCHANGED();
		ASSERT_EQ((int)i + 1, vhca_count_since(&self->bed.dev, self->seq,
						       VHCA_DEALLOC_MEMIC, VHCA_ANY));
		ASSERT_LEDGER(0, "memic");
	}
	raw_dm_alloc(self->fd, DM_SIZE, &dm);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=DM"), "ref=2 usecnt=0 dm_ref=1 ops=0");
	for (i = 0; i < ARRAY_SIZE(op_answers); i++) {
		raw_dm_map_op_err(EFAULT, self->fd, dm.handle, 0, op_answers[i]);
		LOOK();
		ASSERT_UNCHANGED();
		ASSERT_NONE(MMAP, OURS("kind=MEMIC_OP"));
		ASSERT_LEDGER(0, "memic_operation");
	}
	raw_dm_free(self->fd, dm.handle);
}

/* A method with attributes of which each one is mandatory, and no answer that stays. */
struct method {
	const char *name;
	uint16_t object;
	uint16_t id;
	unsigned int count;
	struct ib_uverbs_attr attr[5];
};

#define METHOD(object_, id_, ...) \
	((struct method) { \
		.name = #id_, .object = object_, .id = id_, .attr = { __VA_ARGS__ }, \
		.count = sizeof((struct ib_uverbs_attr []) { __VA_ARGS__ }) / \
			 sizeof(struct ib_uverbs_attr), \
	})

static int call_method(int fd, const struct method *method)
{
	struct ib_uverbs_attr attr[ARRAY_SIZE(method->attr) + 1];

	memcpy(attr, method->attr, method->count * sizeof(*attr));
	return uverbs_ioctl(fd, method->object, method->id, attr, method->count);
}

/* Without one of its attributes, or with one of them twice. */
static int call_without(int fd, const struct method *method, unsigned int one)
{
	struct method without = *method;

	without.count--;
	memmove(&without.attr[one], &without.attr[one + 1],
		(without.count - one) * sizeof(*without.attr));
	return call_method(fd, &without);
}

static int call_with_two(int fd, const struct method *method, unsigned int one)
{
	struct ib_uverbs_attr attr[ARRAY_SIZE(method->attr) + 1];

	memcpy(attr, method->attr, method->count * sizeof(*attr));
	attr[method->count] = attr[one];
	return uverbs_ioctl(fd, method->object, method->id, attr, method->count + 1);
}

/*
 * UOBJ-10, VAR-10, DMABUF-10, ERRNO-VAR, ERRNO-DM, ERRNO-DMABUF: A call that lacks an
 * attribute which it must have, or has one twice, is EINVAL: it makes nothing, also where
 * the handle of a new object was taken already, and frees nothing.
 */
TEST_F(uobject, uobj_10_attributes_missing_or_twice)
{
	const uint64_t length = DM_SIZE;
	const uint32_t alignment = 0;
	const uint8_t op = 0;
	uint64_t answer[4];
	struct entry dm;
	struct method method[5];
	unsigned int i, n;

	entry_alloc(self->fd, ENTRY_MEMIC, 1, &dm);
	method[0] = METHOD(MLX5_IB_OBJECT_VAR, MLX5_IB_METHOD_VAR_OBJ_ALLOC,
			   uverbs_handle(MLX5_IB_ATTR_VAR_OBJ_ALLOC_HANDLE, 0),
			   uverbs_out(MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_OFFSET, &answer[0], 8),
			   uverbs_out(MLX5_IB_ATTR_VAR_OBJ_ALLOC_MMAP_LENGTH, &answer[1], 4),
			   uverbs_out(MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID, &answer[2], 4));
	method[1] = METHOD(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_ALLOC,
			   uverbs_handle(UVERBS_ATTR_ALLOC_DM_HANDLE, 0),
			   uverbs_in(UVERBS_ATTR_ALLOC_DM_LENGTH, &length, sizeof(length)),
			   uverbs_in(UVERBS_ATTR_ALLOC_DM_ALIGNMENT, &alignment,
				     sizeof(alignment)),
			   uverbs_out(MLX5_IB_ATTR_ALLOC_DM_RESP_START_OFFSET, &answer[0], 8));
	method[2] = METHOD(UVERBS_OBJECT_DM, MLX5_IB_METHOD_DM_MAP_OP_ADDR,
			   uverbs_handle(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, dm.handle),
			   uverbs_in(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, &op, sizeof(op)),
			   uverbs_out(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET,
				      &answer[0], 8));
	method[3] = METHOD(UVERBS_OBJECT_DMABUF, UVERBS_METHOD_DMABUF_ALLOC,
			   uverbs_handle(UVERBS_ATTR_ALLOC_DMABUF_HANDLE, 0),
			   uverbs_in(UVERBS_ATTR_ALLOC_DMABUF_PGOFF, &dm.off, sizeof(dm.off)));
	method[4] = METHOD(UVERBS_OBJECT_DM, UVERBS_METHOD_DM_FREE,
			   uverbs_handle(UVERBS_ATTR_FREE_DM_HANDLE, dm.handle));
	LOOK();
	for (i = 0; i < ARRAY_SIZE(method); i++) {
		for (n = 0; n < method[i].count; n++) {
			self->at = method[i].name;
			ASSERT_EQ(EINVAL, call_without(self->fd, &method[i], n));
			LOOK();
			ASSERT_UNCHANGED();
			ASSERT_EQ(EINVAL, call_with_two(self->fd, &method[i], n));
			LOOK();
			ASSERT_UNCHANGED();
		}
	}
	ASSERT_LEDGER(1, "memic");
	ASSERT_LEDGER(0, "memic_operation");
	ASSERT_DEVICE(0, "var_used");
	/* It is the number of the attributes that was wrong. */
	ASSERT_EQ(0, call_method(self->fd, &method[4]));
	ASSERT_LEDGER(0, "memic");
}

/* The number that the next descriptor will have. */
static int next_descriptor(void)
{
	const int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

	close(fd);
	return fd;
}

/*
 * UOBJ-10, UOBJ-14, DMABUF-10: A call whose attributes lie in memory that can only be read
 * cannot tell the handle of what it makes.  It is EFAULT and makes nothing: no object, and
 * of one that is a file no descriptor, which nobody would know of.
 */
TEST_F(uobject, uobj_10_handle_cannot_be_written)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attr[2];
	} *cmd;
	const size_t size = sysconf(_SC_PAGESIZE);
	const int next = next_descriptor();
	struct entry dm;
	int i;

	entry_alloc(self->fd, ENTRY_MEMIC, 1, &dm);
	cmd = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, cmd);
	LOOK();
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, mprotect(cmd, size, PROT_READ | PROT_WRITE));
		self->at = i ? "DMABUF" : "ASYNC_EVENT";
		cmd->hdr.object_id = i ? UVERBS_OBJECT_DMABUF : UVERBS_OBJECT_ASYNC_EVENT;
		cmd->hdr.method_id = i ? UVERBS_METHOD_DMABUF_ALLOC :
					 UVERBS_METHOD_ASYNC_EVENT_ALLOC;
		cmd->hdr.num_attrs = 1 + i;
		cmd->hdr.length = sizeof(cmd->hdr) + (1 + i) * sizeof(cmd->attr[0]);
		cmd->hdr.driver_id = RDMA_DRIVER_MLX5;
		cmd->attr[0] = uverbs_handle(i ? UVERBS_ATTR_ALLOC_DMABUF_HANDLE :
						 UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
		cmd->attr[1] = uverbs_in(UVERBS_ATTR_ALLOC_DMABUF_PGOFF, &dm.off, sizeof(dm.off));
		ASSERT_EQ(0, mprotect(cmd, size, PROT_READ));
		errno = 0;
		ASSERT_EQ(-1, ioctl(self->fd, RDMA_VERBS_IOCTL, cmd));
		/* Which dma-bufs of uverbs came with. */
		ASSERT_EQ(i && kernel_is_before(7, 0) ? EPROTONOSUPPORT : EFAULT, errno);
		LOOK();
		ASSERT_UNCHANGED();
		ASSERT_EQ(next, next_descriptor());
	}
	ASSERT_EQ(0, munmap(cmd, size));
	entry_free(self->fd, &dm);
}

/* A uverbs file without a context. */
static int open_file(const struct device *dev)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	char path[128] = "";
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), dev->name))
			snprintf(path, sizeof(path), "/dev/infiniband/%s", list[i]->dev_name);
	if (list)
		ibv_free_device_list(list);
	return path[0] ? open(path, O_RDWR | O_CLOEXEC) : -1;
}

/*
 * UOBJ-10: The answer of a new context cannot be written: there is none, and what the
 * device had made for it, its user context and UARs, is given back.  The file can have its
 * context afterwards.
 */
TEST_F(uobject, uobj_10_context_answer_cannot_be_written)
{
	static const char * const made[] = { "uctx", "uar" };
	struct mlx5_ib_alloc_ucontext_resp resp;
	int fd, delta[ARRAY_SIZE(made)], after;
	unsigned int i, n;

	fd = open_file(&self->bed.dev);
	ASSERT_LE(0, fd);
	for (i = 0; i < ARRAY_SIZE(made); i++)
		ASSERT_EQ(0, rest_ledger_delta(&self->bed.dev, &self->bed.before, made[i],
					       &delta[i]));
	for (n = 0; n < 2; n++) {
		ASSERT_EQ(n ? 0 : EFAULT,
			  raw_context_get(fd, 16, n ? &resp : UVERBS_BAD_POINTER));
		for (i = 0; i < ARRAY_SIZE(made); i++) {
			ASSERT_EQ(0, rest_ledger_delta(&self->bed.dev, &self->bed.before,
						       made[i], &after));
			ASSERT_LE(delta[i], after);
			ASSERT_EQ(!!n, delta[i] < after);
		}
	}
	ASSERT_EQ(0, close(fd));
	for (i = 0; i < ARRAY_SIZE(made); i++)
		ASSERT_LEDGER(delta[i], made[i]);
}

#define PAGES_PINNED 16

/*
 * UOBJ-02: A region on ordinary memory has its pages pinned, in the account of its process
 * as well.  Its end, by a call or with the context, gives back both.
 */
TEST_F(uobject, uobj_02_pinned_memory)
{
	const size_t size = PAGES_PINNED * sysconf(_SC_PAGESIZE);
	const char *status = "/proc/self/status", *vmstat = "/proc/vmstat";
	const long before = kernel_number(status, "VmPin:");
	struct ibv_context *other;
	long pinned, released;
	struct ibv_pd *pd;
	void *memory;
	int i;

	ASSERT_LE(0, before);
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, memory);
	for (i = 0; i < 2; i++) {
		struct ibv_mr *mr;

		other = device_open(&self->bed.dev);
		ASSERT_NE(NULL, other);
		pd = ibv_alloc_pd(other);
		ASSERT_NE(NULL, pd);
		pinned = kernel_number(vmstat, "nr_foll_pin_acquired ");
		released = kernel_number(vmstat, "nr_foll_pin_released ");
		mr = ibv_reg_mr(pd, memory, size, IBV_ACCESS_LOCAL_WRITE);
		ASSERT_NE(NULL, mr);
		ASSERT_EQ(before + (long)(size / 1024), kernel_number(status, "VmPin:"));
		if (!i) {
			mr_dereg(mr);
			ASSERT_EQ(before, kernel_number(status, "VmPin:"));
			ASSERT_EQ(0, ibv_dealloc_pd(pd));
		}
		ASSERT_EQ(0, ibv_close_device(other));
		ASSERT_EQ(before, kernel_number(status, "VmPin:"));
		pinned = kernel_number(vmstat, "nr_foll_pin_acquired ") - pinned;
		released = kernel_number(vmstat, "nr_foll_pin_released ") - released;
		/* The kernel counts for all processes; nobody else registers. */
		ASSERT_LE(PAGES_PINNED, pinned);
		ASSERT_LE(PAGES_PINNED, released);
	}
	ASSERT_EQ(0, munmap(memory, size));
}

/* DEALLOC_PD of the commands that were written to the file before there were ioctls. */
static int dealloc_by_write(int fd, uint32_t handle)
{
	const uint64_t command = IB_USER_VERBS_CMD_DEALLOC_PD;
	const struct ib_uverbs_dealloc_pd core = { .pd_handle = handle };
	struct ib_uverbs_attr attr[] = {
		uverbs_in(UVERBS_ATTR_WRITE_CMD, &command, sizeof(command)),
		uverbs_in(UVERBS_ATTR_CORE_IN, &core, sizeof(core)),
	};

	return uverbs_ioctl(fd, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_INVOKE_WRITE, attr,
			    ARRAY_SIZE(attr));
}

/* UOBJ-02, UOBJ-03, UOBJ-04: A destroy by one of the older commands is one like any other. */
TEST_F(uobject, uobj_02_destroyed_by_an_older_command)
{
	static char buf[64];
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	struct raw_dm dm;

	raw_dm_alloc(self->fd, DM_SIZE, &dm);
	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, mr);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=PD"), "ref=2 usecnt=0 users=1 state=live");
	ASSERT_EQ(EBUSY, dealloc_by_write(self->fd, pd->handle));
	ASSERT_EQ(EINVAL, dealloc_by_write(self->fd, dm.handle));
	LOOK();
	ASSERT_UNCHANGED();
	mr_dereg(mr);
	ASSERT_EQ(0, dealloc_by_write(self->fd, pd->handle));
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=PD"));
	ASSERT_LEDGER(0, "pd");
	ASSERT_EQ(ENOENT, dealloc_by_write(self->fd, pd->handle));
	ASSERT_EQ(ENOENT, ibv_dealloc_pd(pd));
	raw_dm_free(self->fd, dm.handle);
}

/*
 * UOBJ-02, UOBJ-05: A region that is registered anew with more pages than its key has room
 * for becomes another one, with the handle of the first, of which nothing is left: neither
 * its use of the domain nor its pages.
 */
TEST_F(uobject, uobj_02_region_becomes_another)
{
	const size_t page = sysconf(_SC_PAGESIZE), size = 64 * page;
	const char *status = "/proc/self/status";
	const long before = kernel_number(status, "VmPin:");
	uint32_t handle, lkey;
	struct ibv_pd *pd[2];
	struct ibv_mr *mr;
	void *memory;
	int i;

	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, memory);
	for (i = 0; i < 2; i++) {
		pd[i] = ibv_alloc_pd(self->ctx);
		ASSERT_NE(NULL, pd[i]);
	}
	mr = ibv_reg_mr(pd[0], memory, page, IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, mr);
	handle = mr->handle;
	lkey = mr->lkey;
	LOOK();
	ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD,
				  pd[1], memory, size, 0));
	ASSERT_NE(lkey, mr->lkey);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=MR"), scope_kv("handle=%u ref=2 usecnt=0 state=live", handle));
	for (i = 0; i < 2; i++)
		ASSERT_ONE(UOBJ, OURS("type=PD handle=%u", pd[i]->handle),
			   scope_kv("ref=2 usecnt=0 users=%d", i));
	ASSERT_EQ(before + (long)(size / 1024), kernel_number(status, "VmPin:"));
	mr_dereg(mr);
	ASSERT_EQ(before, kernel_number(status, "VmPin:"));
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=MR"));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, ibv_dealloc_pd(pd[i]));
	ASSERT_EQ(0, munmap(memory, size));
}

/*
 * UOBJ-02, ATT-18: A right that cannot be added to a key by a work request makes another
 * region, which takes over the pages of the first: they are neither pinned a second time nor
 * given back with the first.
 */
TEST_F(uobject, uobj_02_pages_are_taken_over)
{
	const size_t size = PAGES_PINNED * sysconf(_SC_PAGESIZE);
	const char *status = "/proc/self/status";
	const long before = kernel_number(status, "VmPin:");
	uint32_t handle, lkey;
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	void *memory;

	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, memory);
	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	mr = ibv_reg_mr(pd, memory, size, IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, mr);
	handle = mr->handle;
	lkey = mr->lkey;
	ASSERT_EQ(before + (long)(size / 1024), kernel_number(status, "VmPin:"));
	ASSERT_EQ(0, ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND));
	ASSERT_NE(lkey, mr->lkey);
	ASSERT_EQ(before + (long)(size / 1024), kernel_number(status, "VmPin:"));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=MR"), scope_kv("handle=%u ref=2 usecnt=0 lkey=%u state=live",
						   handle, mr->lkey));
	ASSERT_ONE(UOBJ, OURS("type=PD handle=%u", pd->handle), "ref=2 usecnt=0 users=1");
	mr_dereg(mr);
	ASSERT_EQ(before, kernel_number(status, "VmPin:"));
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(0, munmap(memory, size));
}

/*
 * UOBJ-02: A completion queue is destroyed while an event of it waits to be read.  Nobody
 * reads that any more, as what it names is gone.
 */
TEST_F(uobject, uobj_02_queue_with_an_event)
{
	struct connection_options options = connection_defaults;
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND };
	struct ibv_pd *pd = ibv_alloc_pd(self->ctx);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(self->ctx);
	struct pollfd waiting = { .events = POLLIN };
	struct end from, to;
	struct ibv_wc wc;

	ASSERT_NE(NULL, pd);
	ASSERT_NE(NULL, channel);
	waiting.fd = channel->fd;
	end_make(pd, &options, &from);
	options.channel = channel;
	end_make(pd, &options, &to);
	end_connect(&from, &to, &options);
	end_connect(&to, &from, &options);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=COMP_CHANNEL"), "ref=3 state=live");
	ASSERT_EQ(0, ibv_req_notify_cq(to.cq, 0));
	post_receive(&to, 2, NULL);
	post(&from, &wr, NULL);
	ASSERT_EQ(1, poll(&waiting, 1, 20000));
	end_wait(&to, 2, IBV_WC_SUCCESS, &wc);
	end_destroy(&to);
	ASSERT_EQ(0, poll(&waiting, 1, 0));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=COMP_CHANNEL"), "ref=2 state=live");
	end_destroy(&from);
	ASSERT_EQ(0, ibv_destroy_comp_channel(channel));
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/* Where the pages of a context are that have no mmap entry, by enum mlx5_ib_mmap_cmd. */
static off_t page_of(enum mlx5_ib_mmap_cmd command, unsigned int index)
{
	return ((off_t)(index & 0xff00) << 8 | command << 8 | (index & 0xff)) << 12;
}

static void *map_page(int fd, int flags, off_t off)
{
	return mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, flags, fd, off);
}

#define map_page_err(err, fd, flags, off) \
do { \
	ASSERT_EQ(MAP_FAILED, map_page(fd, flags, off)); \
	ASSERT_EQ(err, errno); \
} while (0)

/* A context of a program that knows nothing of UAR objects. */
static int open_with_pages(const struct device *dev, uint32_t registers,
			   struct mlx5_ib_alloc_ucontext_resp *answer)
{
	const int fd = open_file(dev);
	int err;

	if (fd < 0)
		return -1;
	err = raw_context_get(fd, registers, answer);
	if (!err)
		return fd;
	close(fd);
	errno = err;
	return -1;
}

/*
 * ENT-04: The pages with the clock, the device's own and that of its driver, are for
 * reading.  A mapping that could be written is refused, and one that is there does not
 * become one.
 */
TEST_F(uobject, ent_04_clock_is_for_reading)
{
	static const enum mlx5_ib_mmap_cmd clocks[] = {
		MLX5_IB_MMAP_CORE_CLOCK, MLX5_IB_MMAP_CLOCK_INFO,
	};
	const size_t page = sysconf(_SC_PAGESIZE);
	struct mlx5_ib_alloc_ucontext_resp answer = {};
	const int fd = open_with_pages(&self->bed.dev, 16, &answer);
	unsigned int i;
	void *map;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, close(fd));
	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		map_page_err(EPERM, self->fd, MAP_SHARED, page_of(clocks[i], 0));
		/* Without PTP clocks the driver keeps none. */
		if (clocks[i] == MLX5_IB_MMAP_CLOCK_INFO && !answer.clock_info_versions) {
			ASSERT_EQ(MAP_FAILED, mmap(NULL, page, PROT_READ, MAP_SHARED, self->fd,
						   page_of(clocks[i], 0)));
			ASSERT_EQ(EOPNOTSUPP, errno);
			continue;
		}
		ASSERT_EQ(MAP_FAILED, mmap(NULL, page, PROT_READ, MAP_PRIVATE, self->fd,
					   page_of(clocks[i], 0)));
		ASSERT_EQ(EINVAL, errno);
		map = mmap(NULL, page, PROT_READ, MAP_SHARED, self->fd, page_of(clocks[i], 0));
		ASSERT_NE(MAP_FAILED, map)
			TH_LOG("command %d: %m", clocks[i]);
		ASSERT_EQ(-1, mprotect(map, page, PROT_READ | PROT_WRITE));
		ASSERT_EQ(EACCES, errno);
		ASSERT_EQ(0, munmap(map, page));
	}
	/* Of another version. */
	map_page_err(EOPNOTSUPP, self->fd, MAP_SHARED, page_of(MLX5_IB_MMAP_CLOCK_INFO, 1));
}

#define REGISTERS	16

/*
 * ENT-04, ENT-06: A context without UAR objects has pages of its own from the start.  No
 * mmap entry is behind them, but their mappings are tracked, and keep the context.
 */
TEST_F(uobject, ent_06_pages_without_an_entry)
{
	static const enum mlx5_ib_mmap_cmd commands[] = {
		MLX5_IB_MMAP_REGULAR_PAGE, MLX5_IB_MMAP_NC_PAGE,
	};
	const size_t page = sysconf(_SC_PAGESIZE);
	struct mlx5_ib_alloc_ucontext_resp answer = {};
	void *map[ARRAY_SIZE(commands)];
	int fd, at_rest, uars;
	unsigned int i, pages;

	marker_expect("infiniband .*: uar_mmap:.*: (invalid uar index|rdma_user_mmap_io failed)");
	ASSERT_EQ(0, rest_ledger_delta(&self->bed.dev, &self->bed.before, "uar", &at_rest));
	fd = open_with_pages(&self->bed.dev, REGISTERS, &answer);
	ASSERT_LE(0, fd)
		TH_LOG("%m");
	counts_of(_metadata, &self->counts, fd);
	/* Of each UAR a program has two registers, and of each page one or more UARs. */
	pages = REGISTERS / 2 / answer.num_uars_per_page;
	ASSERT_EQ(0, rest_ledger_delta(&self->bed.dev, &self->bed.before, "uar", &uars));
	ASSERT_EQ(at_rest + REGISTERS / 2, uars);

	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		map[i] = map_page(fd, MAP_SHARED, page_of(commands[i], i));
		ASSERT_NE(MAP_FAILED, map[i])
			TH_LOG("command %d: %m", commands[i]);
		map_page_err(EINVAL, fd, MAP_SHARED, page_of(commands[i], pages));
		map_page_err(EINVAL, fd, MAP_PRIVATE, page_of(commands[i], i));
		ASSERT_EQ(MAP_FAILED, mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
					   page_of(commands[i], i)));
		ASSERT_EQ(EINVAL, errno);
	}
	/* The library's own contexts have UAR objects in place of them. */
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		map_page_err(EINVAL, self->fd, MAP_SHARED, page_of(commands[i], 0));
	LOOK();
	ASSERT_ONE(UFILE, OUR_UFILE, scope_kv("umaps=%zu", ARRAY_SIZE(map)));
	ASSERT_NONE(MMAP, OURS(""));
	ASSERT_LEDGER(uars, "uar");

	ASSERT_EQ(0, close(fd));
	/* Mappings keep the file. */
	ASSERT_LEDGER(uars, "uar");
	for (i = 0; i < ARRAY_SIZE(map); i++)
		ASSERT_EQ(0, munmap(map[i], page));
	ASSERT_LEDGER(at_rest, "uar");
	LOOK();
	ASSERT_NONE(UFILE, OUR_UFILE);
}

/*
 * UOBJ-10: A context that asks for registers that there are not, or that the device does not
 * give, is none; the user context and the UARs that it had are given back.
 */
TEST_F(uobject, uobj_10_context_refused)
{
	static const char * const made[] = { "uctx", "uar" };
	static const struct {
		uint32_t registers;
		const char *fault;
		int err;
	} refused[] = {
		{ 0, "", EINVAL },
		{ 1 << 16, "", ENOMEM },
		{ REGISTERS, "opcode=ALLOC_UAR nth=3 status=limits_exceeded\n", ENOMEM },
		{ REGISTERS, "opcode=CREATE_UCTX status=limits_exceeded\n", ENOMEM },
	};
	struct mlx5_ib_alloc_ucontext_resp answer;
	int before[ARRAY_SIZE(made)];
	unsigned int i, k;

	marker_expect("mlx5_core .*: mlx5_cmd_out_err:.* status limits exceeded");
	marker_expect("infiniband .*: (allocate_uars|mlx5_ib_alloc_ucontext):");
	for (k = 0; k < ARRAY_SIZE(made); k++)
		ASSERT_EQ(0, rest_ledger_delta(&self->bed.dev, &self->bed.before, made[k],
					       &before[k]));
	for (i = 0; i < ARRAY_SIZE(refused); i++) {
		self->at = refused[i].fault;
		ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", refused[i].fault));
		ASSERT_EQ(-1, open_with_pages(&self->bed.dev, refused[i].registers, &answer));
		ASSERT_EQ(refused[i].err, errno);
		for (k = 0; k < ARRAY_SIZE(made); k++)
			ASSERT_LEDGER(before[k], made[k]);
	}
	LOOK();
	ASSERT_UNCHANGED();
}

/* A command with a queue pair's number, as the library passes it to the device. */
struct queue_command {
	struct ibv_qp *qp;
	uint16_t opcode;
	uint32_t number;
};

static int queue_command(void *arg)
{
	const struct queue_command *command = arg;
	uint32_t in[64] = {}, out[256];

	in[0] = htobe32((uint32_t)command->opcode << 16);
	in[2] = htobe32(command->number);
	return command->opcode == VHCA_QUERY_QP ?
	       mlx5dv_devx_qp_query(command->qp, in, 16, out, sizeof(out)) :
	       mlx5dv_devx_qp_modify(command->qp, in, 16, out, 16);
}

/* While the device has the command, its queue pair is in use and cannot be destroyed. */
#define ASSERT_LOCKED(command, opcode) \
do { \
	struct queue_command *__command = command; \
	struct caller __caller; \
	DELAY(opcode); \
	caller_start(&__caller, queue_command, __command); \
	caller_waits(&__caller, "mlx5_cmd_do"); \
	LOOK(); \
	ASSERT_ONE(UOBJ, OURS("type=QP"), "usecnt=1"); \
	ASSERT_EQ(EBUSY, ibv_destroy_qp(__command->qp)); \
	GO_ON(); \
	caller_end(&__caller, 0); \
} while (0)

/*
 * UOBJ-13, UOBJ-04: A command to the device about an object has it locked for reading, so
 * that it is not destroyed meanwhile.  It can be about no other object than the one that it
 * names, of whatever type that is.
 */
TEST_F(uobject, uobj_13_command_about_a_queue)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->ctx);
	struct queue_command ask, change;
	struct ibv_dm *dm;
	uint32_t handle;
	struct end end;

	ASSERT_NE(NULL, pd);
	end_make(pd, &connection_defaults, &end);
	ask = (struct queue_command){ end.qp, VHCA_QUERY_QP, end.qp->qp_num };
	change = (struct queue_command){ end.qp, VHCA_2RST_QP, end.qp->qp_num };
	ASSERT_EQ(0, queue_command(&ask));
	ASSERT_EQ(0, queue_command(&change));
	ask.number++;
	change.number++;
	ASSERT_EQ(EINVAL, queue_command(&ask));
	ASSERT_EQ(EINVAL, queue_command(&change));
	ask.number--;
	change.number--;

	/* The same by a handle that is another's, and by none. */
	dm_alloc(self->ctx, DM_SIZE, &dm);
	handle = end.qp->handle;
	end.qp->handle = dm->handle;
	ASSERT_EQ(EINVAL, queue_command(&ask));
	ASSERT_EQ(EINVAL, queue_command(&change));
	end.qp->handle = handle + 1000;
	ASSERT_EQ(ENOENT, queue_command(&ask));
	ASSERT_EQ(ENOENT, queue_command(&change));
	end.qp->handle = handle;

	ASSERT_LOCKED(&ask, "QUERY_QP");
	ASSERT_LOCKED(&change, "2RST_QP");
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=QP"), "ref=2 usecnt=0 state=live");
	end_destroy(&end);
	dm_free(dm);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/* What the control group is charged for. */
#define ASSERT_CHARGED(contexts, objects) \
do { \
	ASSERT_EQ(contexts, rdma_cgroup_count(&self->group, self->bed.dev.name, "hca_handle")); \
	ASSERT_EQ(objects, rdma_cgroup_count(&self->group, self->bed.dev.name, "hca_object")); \
} while (0)

/*
 * UOBJ-11, VAR-10, ERRNO-VAR, ERRNO-DM: The control group of who makes an object with a
 * handle is charged for it, until it is destroyed, by whomever: by a call, by the file's
 * end, or because its making failed.  Objects that are files cost nothing.  At the limit
 * nothing more is made, and nothing is left of the attempt.
 */
TEST_F(uobject, uobj_11_control_group)
{
	struct ibv_context *other;
	int channel, dmabuf, fd;
	struct raw_var var;
	const char *reason;
	struct entry dm;
	struct ibv_pd *pd;
	int64_t base;
	int i;

	reason = rdma_cgroup_make(&self->group);
	if (reason) {
		self->group.path[0] = 0;
		SKIP(return, "%s", reason);
	}
	ASSERT_CHARGED(0, 0);
	ASSERT_EQ(0, rdma_cgroup_enter(&self->group, true));
	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	fd = other->cmd_fd;
	base = rdma_cgroup_count(&self->group, self->bed.dev.name, "hca_object");
	ASSERT_CHARGED(1, base);

	raw_var_alloc(fd, 0, &var);
	ASSERT_CHARGED(1, base + 1);
	entry_alloc(fd, ENTRY_MEMIC, 1, &dm);
	ASSERT_CHARGED(1, base + 2);
	raw_dmabuf_export(fd, dm.off, &dmabuf);
	ASSERT_EQ(0, make_channel(other, &channel));
	ASSERT_CHARGED(1, base + 2);
	raw_var_alloc_err(EFAULT, fd, 0, MLX5_IB_ATTR_VAR_OBJ_ALLOC_PAGE_ID);
	raw_dm_alloc_err(EFAULT, fd, DM_SIZE, MLX5_IB_ATTR_ALLOC_DM_RESP_PAGE_INDEX);
	ASSERT_CHARGED(1, base + 2);

	ASSERT_EQ(0, rdma_cgroup_limit(&self->group, self->bed.dev.name, base + 2));
	LOOK();
	for (i = 0; i < 10; i++) {
		raw_var_alloc_err(EAGAIN, fd, 0, 0);
		raw_dm_alloc_err(EAGAIN, fd, DM_SIZE, 0);
		errno = 0;
		ASSERT_EQ(NULL, ibv_alloc_pd(other));
		ASSERT_EQ(EAGAIN, errno);
	}
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_DEVICE(1, "var_used");
	ASSERT_DEVICE(1, "memic_pages_used");
	ASSERT_LEDGER(1, "memic");
	ASSERT_CHARGED(1, base + 2);
	/* One goes, so one may come. */
	raw_var_free(fd, var.handle);
	ASSERT_CHARGED(1, base + 1);
	pd = ibv_alloc_pd(other);
	ASSERT_NE(NULL, pd);
	raw_var_alloc_err(EAGAIN, fd, 0, 0);
	ASSERT_EQ(0, rdma_cgroup_limit(&self->group, self->bed.dev.name, RDMA_CGROUP_MAX));
	raw_var_alloc(fd, 0, &var);
	ASSERT_CHARGED(1, base + 3);

	/* Whoever frees it. */
	ASSERT_EQ(0, rdma_cgroup_enter(&self->group, false));
	raw_var_free(fd, var.handle);
	ASSERT_CHARGED(1, base + 2);
	raw_var_alloc(fd, 0, &var);
	ASSERT_CHARGED(1, base + 2);
	ASSERT_EQ(0, close(dmabuf));
	ASSERT_EQ(0, close(channel));
	ASSERT_EQ(0, ibv_close_device(other));
	ASSERT_CHARGED(0, 0);
}

/* A dma-buf, the async event file, a file of no kind, and nothing. */
enum strange {
	STRANGE_CHANNEL_OF_ANOTHER,
	STRANGE_DMABUF,
	STRANGE_ASYNC_FILE,
	STRANGE_COMMAND_FILE,
	STRANGE_NULL_DEVICE,
	STRANGE_CLOSED,
	STRANGE_FILES,
};

/*
 * UOBJ-12: An object that is a file is looked up through the ufile that it belongs to, and
 * by its type only.  A completion channel of another context, a dma-buf, any other file:
 * EBADF, and none is referred to afterwards.
 */
TEST_F(uobject, uobj_12_files_of_others)
{
	struct ibv_comp_channel channel;
	int file[STRANGE_FILES], own, i;
	struct ibv_context *other;
	struct entry entry;
	struct ibv_cq *cq;

	other = device_open(&self->bed.dev);
	ASSERT_NE(NULL, other);
	ASSERT_EQ(0, make_channel(self->ctx, &own));
	entry_alloc(self->fd, ENTRY_MEMIC, 1, &entry);
	ASSERT_EQ(0, make_channel(other, &file[STRANGE_CHANNEL_OF_ANOTHER]));
	raw_dmabuf_export(self->fd, entry.off, &file[STRANGE_DMABUF]);
	file[STRANGE_ASYNC_FILE] = self->ctx->async_fd;
	file[STRANGE_COMMAND_FILE] = self->fd;
	file[STRANGE_NULL_DEVICE] = open("/dev/null", O_RDWR | O_CLOEXEC);
	file[STRANGE_CLOSED] = fcntl(file[STRANGE_NULL_DEVICE], F_DUPFD_CLOEXEC, 0);
	ASSERT_EQ(0, close(file[STRANGE_CLOSED]));
	LOOK();
	for (i = 0; i < STRANGE_FILES; i++)
		cq_create_err(EBADF, self->ctx, file[i]);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_NONE(UOBJ, OURS("type=CQ"));
	ASSERT_LEDGER(0, "cq");
	ASSERT_EQ(1, fdinfo_count(file[STRANGE_DMABUF]));

	/* Each in its own context is good. */
	cq_create(other, &channel, file[STRANGE_CHANNEL_OF_ANOTHER], &cq);
	ASSERT_EQ(0, ibv_destroy_cq(cq));
	cq_create(self->ctx, &channel, own, &cq);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=COMP_CHANNEL"), "ref=3 usecnt=0");
	ASSERT_EQ(0, ibv_destroy_cq(cq));
	ASSERT_EQ(0, close(own));
	ASSERT_EQ(0, close(file[STRANGE_CHANNEL_OF_ANOTHER]));
	ASSERT_EQ(0, close(file[STRANGE_DMABUF]));
	ASSERT_EQ(0, close(file[STRANGE_NULL_DEVICE]));
	entry_free(self->fd, &entry);
	ASSERT_EQ(0, ibv_close_device(other));
}

/* What a thread makes a completion queue of. */
struct cq_call {
	struct ibv_context *ctx;
	struct ibv_comp_channel channel;
	int fd;
	struct ibv_cq *cq;
};

static int call_make_cq(void *arg)
{
	struct cq_call *call = arg;

	return make_cq(call->ctx, &call->channel, call->fd, &call->cq);
}

/*
 * UOBJ-13: The channel is closed while a command uses it.  It is the command then that has
 * the last reference to its file, so the channel is destroyed when the command is done.
 * The completion queue that was made keeps what is left of it.
 */
TEST_F(uobject, uobj_13_closed_in_use)
{
	struct cq_call call = { .ctx = self->ctx };
	struct caller caller;

	ASSERT_EQ(0, make_channel(self->ctx, &call.fd));
	DELAY("CREATE_CQ");
	caller_start(&caller, call_make_cq, &call);
	caller_waits(&caller, "mlx5_create_cq");
	LOOK();
	/* Locked by the command, and already referred to by what it makes. */
	ASSERT_ONE(UOBJ, OURS("type=COMP_CHANNEL"), "ref=4 usecnt=1 state=live");
	ASSERT_ONE(UFILE, OUR_UFILE, "ref=3 reserved=1");
	ASSERT_EQ(0, close(call.fd));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=COMP_CHANNEL"), "ref=4 usecnt=1 state=live");
	ASSERT_NONE(FD, scope_kv("pid=%d fd=%d", getpid(), call.fd));
	ASSERT_UFILE(3, 1);
	ASSERT_FALSE(caller_is_done(&caller));
	GO_ON();
	caller_end(&caller, 0);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=COMP_CHANNEL"));
	ASSERT_ONE(UOBJ, OURS("type=CQ"), "ref=2 usecnt=0 state=live");
	ASSERT_UFILE(2, 1);
	ASSERT_EQ(0, ibv_destroy_cq(call.cq));
	LOOK();
	ASSERT_UFILE(2, 0);
	ASSERT_LEDGER(0, "cq");
}

/* Both start at once, in each round. */
struct race {
	pthread_barrier_t start;
	int fd[64];
};

static int call_close(void *arg)
{
	struct race *race = arg;
	int i, err = 0;

	for (i = 0; i < (int)ARRAY_SIZE(race->fd); i++) {
		pthread_barrier_wait(&race->start);
		if (close(race->fd[i]) && !err)
			err = errno;
	}
	return err;
}

/*
 * UOBJ-13: The same without knowing who comes first.  The command finds the channel or
 * does not; in either case it is destroyed once.
 */
TEST_F(uobject, uobj_13_close_races_use)
{
	struct ibv_comp_channel channel;
	int i, err, found = 0;
	struct caller caller;
	static struct race race;
	struct ibv_cq *cq;

	for (i = 0; i < (int)ARRAY_SIZE(race.fd); i++)
		ASSERT_EQ(0, make_channel(self->ctx, &race.fd[i]));
	LOOK();
	ASSERT_UFILE(2 + i, i);
	ASSERT_EQ(0, pthread_barrier_init(&race.start, NULL, 2));
	caller_start(&caller, call_close, &race);
	for (i = 0; i < (int)ARRAY_SIZE(race.fd); i++) {
		pthread_barrier_wait(&race.start);
		err = make_cq(self->ctx, &channel, race.fd[i], &cq);
		EXPECT_TRUE(!err || err == EBADF);
		if (!err) {
			found++;
			EXPECT_EQ(0, ibv_destroy_cq(cq));
		}
	}
	caller_end(&caller, 0);
	TH_LOG("note: of %d commands %d found the channel", i, found);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=COMP_CHANNEL"));
	ASSERT_NONE(UOBJ, OURS("type=CQ"));
	ASSERT_UFILE(2, 0);
	ASSERT_LEDGER(0, "cq");
	ASSERT_EQ(0, pthread_barrier_destroy(&race.start));
}

/* A command that finds a channel, by a task that is slow where it lets go of it. */
struct late_put {
	struct ibv_context *ctx;
	struct ibv_comp_channel channel;
	struct ibv_cq *cq;
	int fd;
};

static int call_with_channel(void *arg)
{
	struct late_put *late = arg;

	prctl(PR_SET_NAME, "late_put");
	return make_cq(late->ctx, &late->channel, late->fd, &late->cq);
}

/*
 * UOBJ-13: In the moment in which a command lets go of a channel's file, which may be the
 * last that holds it, the channel is not locked any more.
 */
TEST_F(uobject, uobj_13_unlocked_before_it_is_put)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
	struct late_put late = { .ctx = self->ctx };
	struct caller command;
	int err;

	ASSERT_EQ(0, make_channel(self->ctx, &late.fd));
	err = helper_load("slow_function", "function=lookup_put_fd_uobject task=late_put ms=1000");
	if (err == ENOENT)
		SKIP(return, "no slow_function.ko");
	ASSERT_EQ(0, err);
	caller_start(&command, call_with_channel, &late);
	while (!caller_is_done(&command) && helper_number("slow_function", "entered") < 1)
		nanosleep(&pause, NULL);
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=COMP_CHANNEL"), "usecnt=0 state=live");
	ASSERT_EQ(0, close(late.fd));
	caller_end(&command, 0);
	/* The channel first, and then the file of asynchronous events. */
	ASSERT_LE(1, helper_number("slow_function", "entered"));
	ASSERT_EQ(0, helper_unload("slow_function"));
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=COMP_CHANNEL"));
	ASSERT_EQ(0, ibv_destroy_cq(late.cq));
	LOOK();
	ASSERT_UFILE(2, 0);
}

/*
 * UOBJ-14: There is no file to be had for a completion channel, as the system has too
 * many: ENFILE for who may not exceed that.  The uobject that was made is freed, and the
 * descriptor that was reserved is free again.
 */
TEST_F(uobject, uobj_14_no_file)
{
	int i, fd, wrong = 0;
	struct file_max max;

	LOOK();
	ASSERT_EQ(0, file_max_reach(&max, &self->bed.dev));
	for (i = 0; i < 100; i++)
		wrong += make_channel(self->ctx, &fd) != ENFILE;
	ASSERT_EQ(0, file_max_restore(&max));
	ASSERT_EQ(0, wrong);
	LOOK();
	ASSERT_UNCHANGED();
	ASSERT_EQ(0, make_channel(self->ctx, &fd));
	ASSERT_EQ(0, close(fd));
}

/*
 * UOBJ-14: There is no descriptor to be had: EMFILE, before there is a file.
 */
TEST_F(uobject, uobj_14_no_descriptor)
{
	struct rlimit usual, low;
	int i, fd, wrong = 0;

	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &usual));
	low = usual;
	low.rlim_cur = 3;
	LOOK();
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &low));
	for (i = 0; i < 100; i++)
		wrong += make_channel(self->ctx, &fd) != EMFILE;
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &usual));
	ASSERT_EQ(0, wrong);
	LOOK();
	ASSERT_UNCHANGED();
}

/* How many objects of a type resource tracking has that have this id; -1 without rdma(8). */
static int tracked(const char *type, const char *key, int64_t id)
{
	struct rdma_show show;
	unsigned int i;
	int n = 0;

	if (rdma_show(type, &show))
		return -1;
	for (i = 0; i < show.count; i++)
		n += rdma_number(show.object[i], key) == id;
	rdma_forget(&show);
	return n;
}

static int call_dereg(void *arg)
{
	return ibv_dereg_mr(arg);
}

/*
 * UOBJ-15: A region that is being destroyed cannot be found by resource tracking any more
 * before the driver begins to take it apart.
 */
TEST_F(uobject, uobj_15_untracked_before_destroyed)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->ctx);
	struct caller caller;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	int64_t mrn;
	int n;

	ASSERT_NE(NULL, pd);
	n = tracked("pd", "pdn", -1);
	if (n < 0)
		SKIP(return, "no rdma(8): install iproute2");
	dm_alloc(self->ctx, DM_SIZE, &dm);
	mr_reg_dm(pd, dm, 0, DM_SIZE, &mr);
	LOOK();
	mrn = VALUE(UOBJ, OURS("type=MR"), "mrn");
	ASSERT_NE(SCOPE_NOTHING, mrn);
	ASSERT_EQ(1, tracked("mr", "mrn", mrn));
	DELAY("DESTROY_MKEY");
	caller_start(&caller, call_dereg, mr);
	caller_waits(&caller, "ib_dereg_mr_user");
	/* In the device it is until the driver is told that it is not. */
	ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(mr), NULL));
	ASSERT_EQ(0, tracked("mr", "mrn", mrn));
	LOOK();
	ASSERT_ONE(UOBJ, OURS("type=MR"), "ref=3 usecnt=-1 state=locked");
	ASSERT_FALSE(caller_is_done(&caller));
	GO_ON();
	caller_end(&caller, 0);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=MR"));
	ASSERT_ONE(UOBJ, OURS("type=DM"), "dm_users=0");
	dm_free(dm);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/* Regions that come and go until somebody has seen enough. */
struct churn {
	struct ibv_pd *pd;
	struct ibv_dm *dm;
	int rounds;
	bool enough;
};

static int call_churn(void *arg)
{
	struct churn *churn = arg;
	static char buf[8192];
	struct ibv_mr *mr[2];
	int err;

	while (!__atomic_load_n(&churn->enough, __ATOMIC_RELAXED)) {
		err = _mr_reg_dm(churn->pd, churn->dm, 0, DM_SIZE, &mr[0]);
		if (err)
			return err;
		mr[1] = ibv_reg_mr(churn->pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE);
		if (!mr[1])
			return errno;
		err = ibv_dereg_mr(mr[0]) ?: ibv_dereg_mr(mr[1]);
		if (err)
			return err;
		__atomic_add_fetch(&churn->rounds, 1, __ATOMIC_RELAXED);
	}
	return 0;
}

/*
 * UOBJ-15: Resource tracking is asked while regions come and go.  Each that it knows of
 * their domain is whole: one of the two that are made.
 */
TEST_F(uobject, uobj_15_tracking_beside_destruction)
{
	int64_t pdn, length, seen = 0, strange = 0;
	struct rdma_show show;
	struct caller caller;
	struct churn churn;
	unsigned int i, n;
	int err = 0;

	churn = (struct churn){ .pd = ibv_alloc_pd(self->ctx) };
	ASSERT_NE(NULL, churn.pd);
	dm_alloc(self->ctx, DM_SIZE, &churn.dm);
	LOOK();
	pdn = VALUE(UOBJ, OURS("type=PD"), "pdn");
	caller_start(&caller, call_churn, &churn);
	for (n = 0; (n < 10 || seen < 5) && n < 200 && !err; n++) {
		err = rdma_show("mr", &show);
		for (i = 0; !err && i < show.count; i++) {
			if (rdma_number(show.object[i], "pdn") != pdn)
				continue;
			seen++;
			length = rdma_number(show.object[i], "mrlen");
			strange += length != DM_SIZE && length != 8192;
		}
		if (!err)
			rdma_forget(&show);
	}
	__atomic_store_n(&churn.enough, true, __ATOMIC_RELAXED);
	caller_end(&caller, 0);
	if (err == ENOENT)
		SKIP(return, "no rdma(8): install iproute2");
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, strange);
	ASSERT_LE(5, seen);
	TH_LOG("note: %ld regions seen in %u looks, %d rounds of registration", seen, n,
	       churn.rounds);
	LOOK();
	ASSERT_NONE(UOBJ, OURS("type=MR"));
	dm_free(churn.dm);
	ASSERT_EQ(0, ibv_dealloc_pd(churn.pd));
}

static int call_show(void *arg)
{
	struct rdma_show show;
	int err = rdma_show(arg, &show);

	if (!err)
		rdma_forget(&show);
	return err;
}

/*
 * UOBJ-15: A region goes only when nobody reads of it any more: resource tracking, which has
 * a reference to it and is slow, is waited for.
 */
TEST_F(uobject, uobj_15_reader_is_waited_for)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
	struct ibv_pd *pd = ibv_alloc_pd(self->ctx);
	struct caller reader, destroyer;
	struct ibv_dm *dm;
	struct ibv_mr *mr;
	int err;

	ASSERT_NE(NULL, pd);
	err = helper_load("slow_function", "function=rdma_restrack_put task=rdma ms=1500");
	if (err == ENOENT)
		SKIP(return, "no slow_function.ko");
	ASSERT_EQ(0, err);
	dm_alloc(self->ctx, DM_SIZE, &dm);
	mr_reg_dm(pd, dm, 0, DM_SIZE, &mr);
	caller_start(&reader, call_show, "mr");
	/* It lets go of the region by that function, and there is no other one. */
	while (!caller_is_done(&reader) && helper_number("slow_function", "entered") < 1)
		nanosleep(&pause, NULL);
	if (!caller_is_done(&reader)) {
		caller_start(&destroyer, call_dereg, mr);
		/* Not for a command, which on a busy machine takes long as well. */
		caller_waits(&destroyer, "rdma_restrack_del");
		ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(mr), NULL));
		ASSERT_FALSE(caller_is_done(&reader));
		caller_end(&destroyer, 0);
		caller_end(&reader, 0);
		ASSERT_EQ(1, helper_number("slow_function", "entered"));
		ASSERT_EQ(0, helper_unload("slow_function"));
		dm_free(dm);
		ASSERT_EQ(0, ibv_dealloc_pd(pd));
		return;
	}
	ASSERT_EQ(0, _caller_end(&reader, &err));
	ASSERT_EQ(0, helper_unload("slow_function"));
	mr_dereg(mr);
	dm_free(dm);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
	ASSERT_EQ(ENOENT, err);
	SKIP(return, "no rdma(8): install iproute2");
}

#define CHILDREN	200

/* Children come and go, each with objects of its own if it is to; 0, or what has failed. */
static int make_in_children(struct ibv_context *ctx, bool objects)
{
	static char memory[4096];
	int i, status;
	pid_t pid;

	for (i = 0; i < CHILDREN; i++) {
		pid = fork();
		if (pid < 0)
			return errno;
		if (!pid) {
			struct ibv_pd *pd = objects ? ibv_alloc_pd(ctx) : NULL;
			struct ibv_mr *mr = pd ? ibv_reg_mr(pd, memory, sizeof(memory), 0) : NULL;

			_exit(objects && (!mr || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd)));
		}
		if (waitpid(pid, &status, 0) != pid || status)
			return ECHILD;
	}
	return 0;
}

/* Whether no more than a few tasks are left of so many, after ten seconds at most. */
static bool tasks_are_gone(long before)
{
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	int tries;

	for (tries = 0; tries < 200; tries++) {
		/* What KASAN holds back counts as well, until it is asked for. */
		if (!(tries % 20))
			slab_shrink("task_struct");
		if (slab_count("task_struct") < before + CHILDREN / 4)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

/*
 * UOBJ-15, UOBJ-02: Objects that are gone do not keep the task that has made them, by whose
 * name they were shown.
 */
TEST_F_TIMEOUT(uobject, uobj_15_tasks_are_let_go, 300)
{
	long before = slab_count("task_struct");

	if (before < 0)
		SKIP(return, "/proc/slabinfo has no task_struct that can be read: %m");
	/* What the allocator keeps is there then. */
	ASSERT_EQ(0, make_in_children(self->ctx, false));
	ASSERT_TRUE(tasks_are_gone(before));
	before = slab_count("task_struct");
	ASSERT_EQ(0, make_in_children(self->ctx, true));
	ASSERT_TRUE(tasks_are_gone(before))
		TH_LOG("%ld task_structs before %d children, %ld now", before, CHILDREN,
		       slab_count("task_struct"));
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
