// SPDX-License-Identifier: GPL-2.0
/*
 * Known faults that take the kernel with them where it does not have the fix.
 *
 * No test here knows of any pardon: it passes where the fault is fixed.  Where it is
 * not, the kernel log has an oops or a task that hangs, which own_guest beside this
 * program describes; a runner that gives each test a machine of its own, and says so by
 * OWN_GUEST in the environment, looks for that.
 */
#include <stdlib.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/helper_module.h"
#include "common/ifc.h"
#include "common/known.h"
#include "common/marker.h"
#include "common/rebind.h"
#include "common/text.h"

FIXTURE(known_crash)
{
	struct bed bed;
};

FIXTURE_SETUP(known_crash)
{
	if (!getenv("OWN_GUEST")) {
		bed_mark(_metadata, "begin");
		bed_mark(_metadata, "end");
		SKIP(return, "may take the kernel down: set OWN_GUEST=1 where that does no harm");
	}
	bed_make(_metadata, &self->bed, true);
}

FIXTURE_TEARDOWN(known_crash)
{
	bed_unmake(_metadata, &self->bed);
}

/* DM-09, DM-11, L05: an operation on SW ICM is refused, and the device hears nothing of it. */
TEST_F(known_crash, l05_op_on_sw_icm)
{
	struct vhca_history history;
	unsigned int i, dealloc = 0, alloc = 0;
	int seen;

	if (!known_reproduce(_metadata, "l05_op_on_sw_icm", self->bed.dev.name, &seen))
		return;
	ASSERT_EQ(0, seen);
	/* One for the memory that is none, and at its end. */
	ASSERT_EQ(0, vhca_since(&self->bed.dev, self->bed.before.seq, &history));
	for (i = 0; i < history.count; i++) {
		if (history.command[i].opcode != VHCA_MODIFY_MEMIC)
			continue;
		alloc += history.command[i].op_mod == VHCA_MEMIC_OPERATION_ALLOC;
		dealloc += history.command[i].op_mod == VHCA_MEMIC_OPERATION_DEALLOC;
	}
	vhca_forget(&history);
	ASSERT_EQ(1U, alloc);
	ASSERT_EQ(1U, dealloc);
}

/* MLX5_UCTX_CAP_RDMA_CTRL of the kernel's linux/mlx5/mlx5_ifc.h. */
#define UCTX_CAP_RDMA_CTRL	0x8
/* MLX5_CAP_GENERAL of its enum mlx5_cap_type. */
#define CAP_GENERAL		0

/*
 * L23: the driver probes a device with the user context capability RDMA_CTRL and without the
 * type of general object of that name, and has no memory for the bitmap of TLP VARs: then
 * the probe fails, and drops no user capability, as it has taken none.
 */
TEST_F(known_crash, l23_ucaps_unwind)
{
	char parameters[256];
	struct rebind rebind;
	char *site;
	long left;
	int err;

	if (!self->bed.dev.info.tlp_var.count)
		SKIP(return, "no TLP VARs, so no bitmap of them: load mlx5_vhca with some");
	ASSERT_EQ(0, rebind_find(&rebind, &self->bed.dev));
	snprintf(parameters, sizeof(parameters),
		 "function=%s group=%u offset=%zu width=32 value=%u", self->bed.dev.pci,
		 CAP_GENERAL, (size_t)__devx_bit_off(cmd_hca_cap, uctx_cap),
		 UCTX_CAP_RDMA_CTRL);
	err = helper_load("mlx5_capability", parameters);
	if (err == ENOENT)
		SKIP(return, "no mlx5_capability.ko");
	ASSERT_EQ(0, err);
	/* That of VARs comes first. */
	snprintf(parameters, sizeof(parameters), "function=bitmap_zalloc pid=%d nth=2", getpid());
	ASSERT_EQ(0, rebind_unbind(&rebind));
	marker_expect("probe with driver mlx5_ib.* failed with error -12");
	ASSERT_EQ(0, helper_load("fail_allocation", parameters));
	err = rebind_bind(&rebind);
	left = helper_number("fail_allocation", "nth");
	site = text_read("/sys/module/fail_allocation/parameters/site");
	ASSERT_EQ(0, helper_unload("fail_allocation"));
	ASSERT_EQ(0, helper_unload("mlx5_capability"));
	ASSERT_EQ(ENOMEM, err)
		TH_LOG("%ld more allocations until one fails, the last was of: %s", left, site);
	free(site);
	ASSERT_EQ(0, left);
	ASSERT_EQ(0, rebind_bind(&rebind));
	ASSERT_EQ(0, device_warm_up(&self->bed.dev));
}

/* L26: a command that is too short is refused, and nothing beyond it is touched. */
TEST_F(known_crash, l26_devx_short_input)
{
	int seen;

	if (known_reproduce(_metadata, "l26_devx_short_input", self->bed.dev.name, &seen))
		ASSERT_EQ(0, seen);
}

/* L29: a region that wraps is refused, and that is all. */
TEST_F(known_crash, l29_iova_overflow)
{
	int seen;

	if (known_reproduce(_metadata, "l29_iova_overflow", self->bed.dev.name, &seen))
		ASSERT_EQ(0, seen);
	ASSERT_LEDGER(0, "mkey");
}

/*
 * ATT-05, L36: memory is freed while a dma-buf of it is being registered, in every moment of
 * that.
 */
TEST_F_TIMEOUT(known_crash, l36_invalidate_in_attach, 120)
{
	int seen;

	if (known_reproduce(_metadata, "l36_invalidate_in_attach", self->bed.dev.name, &seen))
		ASSERT_EQ(0, seen);
	ASSERT_LEDGER(0, "memic");
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
