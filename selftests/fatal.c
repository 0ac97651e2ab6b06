// SPDX-License-Identifier: GPL-2.0
/*
 * The device fails for good while a process holds objects of it, and comes back.
 *
 * The driver finds the failure by itself, some seconds later.  The process must
 * be told, get EIO from then on, be able to free all that it holds, and keep
 * nothing from coming back.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/connection.h"
#include "common/dm_ops.h"
#include "common/event.h"
#include "common/page_faults.h"
#include "common/var_ops.h"

#define DM_SIZE	4096

/* What the driver and the device say of a fatal error and of its recovery. */
static const char *const expected[] = {
	"mlx5_vhca: .*: (fatal error, syndrome 0x1: |reset, as )",
	"mlx5_core .*: (poll_health|print_health_info|mlx5_health_try_recover):",
	"mlx5_core .*: (mlx5_handle_bad_state|mlx5_error_sw_reset|mlx5_pci_slot_reset):",
	"mlx5_core .*: (E-Switch|mlx5_pci_slot_reset Device state|wait vital counter value)",
	"mlx5_core .*: (health recovery succeeded|mlx5_cmd_out_err:)",
};

FIXTURE(fatal)
{
	struct bed bed;
};

FIXTURE_SETUP(fatal)
{
	bed_make(_metadata, &self->bed, true);
}

FIXTURE_TEARDOWN(fatal)
{
	bed_unmake(_metadata, &self->bed);
}

static bool health_is(const struct device *dev, const char *condition)
{
	char value[32] = "";
	struct vhca_file file;

	if (vhca_open(dev, "health", &file))
		return false;
	if (file.count)
		vhca_key(file.record[0], "condition", value, sizeof(value));
	vhca_close(&file);
	return !strcmp(value, condition);
}

/* The ib_device of that name is there and can be opened. */
static bool device_is_back(const struct device *dev)
{
	struct ibv_context *ctx;

	if (!health_is(dev, "healthy"))
		return false;
	ctx = device_open(dev);
	return ctx && !ibv_close_device(ctx);
}

/* Up to a minute: the driver looks for the failure every two to three seconds. */
#define WAIT_FOR(condition) \
do { \
	const struct timespec __pause = { .tv_nsec = 50000000 }; \
	int __tries = 0; \
	while (!(condition) && ++__tries < 1200) \
		nanosleep(&__pause, NULL); \
	ASSERT_NE(1200, __tries) \
		TH_LOG("a minute without %s", #condition); \
} while (0)

struct held {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct mlx5dv_var *var;
	uint32_t *map;
	struct ibv_dm *dm;
	struct ibv_mr *dm_mr;
	int fd;
	struct ibv_mr *dmabuf_mr;
	struct ibv_mr *mr;
	struct region on_demand;
	struct end a;
	struct end b;
};

/*
 * ENT, UOBJ, DM: fatal error under a VAR that is mapped, device memory, regions
 * on all kinds of memory and a dma-buf, and a queue pair that waits for a page fault.
 * Operations on device memory are left out: the driver does not know how to give one
 * back to a device that has failed.
 */
TEST_F(fatal, with_live_objects)
{
	static char memory[4096];
	struct held held;
	unsigned int violations, i;
	struct page_faults before;
	struct ibv_send_wr wr;
	int64_t seq;

	page_faults_take(&self->bed.dev, &before);
	violations = vhca_violations(&self->bed.dev);
	held.ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, held.ctx);
	held.pd = ibv_alloc_pd(held.ctx);
	ASSERT_NE(NULL, held.pd);
	var_alloc(held.ctx, 0, &held.var);
	ASSERT_EQ(0, _var_map(held.ctx, held.var, &held.map));
	dm_alloc(held.ctx, DM_SIZE, &held.dm);
	mr_reg_dm(held.pd, held.dm, 0, DM_SIZE, &held.dm_mr);
	dmabuf_export(held.dm, &held.fd);
	mr_reg_dmabuf(held.pd, 0, DM_SIZE, held.fd, &held.dmabuf_mr);
	held.mr = ibv_reg_mr(held.pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, held.mr);
	*held.map = 0x1234;
	held.on_demand = (struct region){ .len = sizeof(memory) };
	held.on_demand.data = mmap(NULL, sizeof(memory), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)held.on_demand.data);
	held.on_demand.mr = ibv_reg_mr(held.pd, held.on_demand.data, sizeof(memory),
				       CONNECTION_ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
	ASSERT_NE(NULL, held.on_demand.mr);
	end_make(held.pd, &connection_defaults, &held.a);
	end_make(held.pd, &connection_defaults, &held.b);
	end_connect(&held.a, &held.b, &connection_defaults);
	end_connect(&held.b, &held.a, &connection_defaults);
	page_faults_hold(&self->bed.dev);
	wr = rdma(IBV_WR_RDMA_WRITE, &held.on_demand);
	post(&held.a, &wr, &held.on_demand);
	page_faults_held(&self->bed.dev, 1);

	for (i = 0; i < ARRAY_SIZE(expected); i++)
		marker_expect(expected[i]);
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "health", "fatal\n"));
	ASSERT_EQ(EBUSY, vhca_write(&self->bed.dev, "health", "fatal\n"));
	/* At once the device has nothing any more, and nobody has leaked it. */
	ASSERT_EQ(0, vhca_find_new(&self->bed.dev, "pd", 0, NULL));
	ASSERT_EQ(0, vhca_find_new(&self->bed.dev, "memic", 0, NULL));
	ASSERT_EQ(0, vhca_find_new(&self->bed.dev, "mkey", 0, NULL));
	ASSERT_PAGE_FAULTS(&self->bed.dev, &before, .raised = 1, .dropped = 1);
	page_faults_tell(&self->bed.dev);
	seq = vhca_seq(&self->bed.dev);

	ASSERT_EQ(IBV_EVENT_DEVICE_FATAL, event_wait(held.ctx));
	WAIT_FOR(device_is_back(&self->bed.dev));

	/* The device of old is gone: no new objects, and a page that leads nowhere. */
	ASSERT_EQ(NULL, ibv_alloc_pd(held.ctx));
	ASSERT_EQ(EIO, errno);
	*held.map = 0x5678;
	var_alloc_err(EIO, held.ctx, 0);
	dm_alloc_err(EIO, held.ctx, DM_SIZE);
	mr_reg_dm_err(EIO, held.pd, held.dm, 0, DM_SIZE);

	/* Nobody was asked for anything on their behalf. */
	ASSERT_LE(seq, vhca_seq(&self->bed.dev));
	end_destroy(&held.a);
	end_destroy(&held.b);
	mr_dereg(held.on_demand.mr);
	ASSERT_EQ(0, munmap(held.on_demand.data, sizeof(memory)));
	mr_dereg(held.mr);
	mr_dereg(held.dmabuf_mr);
	ASSERT_EQ(0, close(held.fd));
	mr_dereg(held.dm_mr);
	dm_free(held.dm);
	ASSERT_EQ(0, munmap(held.map, held.var->length));
	mlx5dv_free_var(held.var);
	ASSERT_EQ(0, ibv_dealloc_pd(held.pd));
	ASSERT_EQ(0, ibv_close_device(held.ctx));
	ASSERT_EQ((int)violations, vhca_violations(&self->bed.dev));

	/* All of it works again. */
	ASSERT_EQ(0, device_warm_up(&self->bed.dev));
}

/* What else is written is refused, and nothing happens. */
TEST_F(fatal, unusable_words)
{
	static const char *const bad[] = {
		"\n", "nonsense", "fatal syndrome=0", "fatal syndrome=256", "fatal syndrome",
		"fatal nonsense=1", "fatalsyndrome=1", "report syndrome=0", "report now",
		"stall syndrome=1", "clear all",
	};
	unsigned int i;

	marker_expect("mlx5_vhca: .*: health: got ");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		ASSERT_EQ(EINVAL, vhca_write(&self->bed.dev, "health", bad[i]));
		ASSERT_TRUE(health_is(&self->bed.dev, "healthy"));
	}
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
