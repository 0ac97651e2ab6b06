// SPDX-License-Identifier: GPL-2.0
/*
 * Faults of the kernel and of rdma-core that are known.
 *
 * Each test runs the fault's reproducer, and has the entry in known_issues say what it
 * means that the fault has shown, or has not.  Where the kernel or the device know more
 * than the reproducer can see from outside, they are asked as well.
 *
 * Whatever a reproducer holds goes with its process, leaks of the kernel apart.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/fail_nth.h"
#include "common/helper_module.h"
#include "common/known.h"
#include "common/marker.h"
#include "common/raw.h"
#include "common/rebind.h"
#include "common/scope.h"
#include "common/uverbs_ioctl.h"
#include "common/var_ops.h"

#include <rdma/mlx5_user_ioctl_cmds.h>

/* Entries for the rules themselves, in place of the real ones. */
#define ENTRY(id, fixed, observable, seen, more) \
	"id: " id "\ntitle: t\ncomponent: kernel\nfixed: " fixed "\nobservable: " observable \
	"\nseen: " seen "\n" more "\n"

static const char entries[] = "# a comment\n\n"
	ENTRY("T1", "-", "any", "always", "")
	ENTRY("T2", "-", "any", "sometimes", "")
	ENTRY("T3", "1.0", "any", "always", "")
	ENTRY("T4", "-", "nothing_has_it", "always", "")
	ENTRY("T5", "1.0", "any", "always", "probe: btf vmlinux no_such_name_at_all\n")
	ENTRY("T6", "-", "any", "always", "probe: btf vmlinux task_struct\n");

static int verdict_of(const char *id, bool seen)
{
	char reason[KNOWN_REASON];
	struct known_issue issue;

	return known_issue(id, &issue) ? -1 : known_verdict(&issue, seen, reason);
}

TEST(rules_of_known_issues)
{
	char path[] = "/tmp/known-XXXXXX";
	const int fd = mkstemp(path);

	ASSERT_LE(0, fd);
	ASSERT_EQ((ssize_t)strlen(entries), write(fd, entries, strlen(entries)));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, setenv("KNOWN_ISSUES", path, 1));
	ASSERT_EQ(0, setenv("KNOWN_LIVE", "T8", 1));
	ASSERT_EQ(0, setenv("KNOWN_FIXED", "T9", 1));
	EXPECT_EQ(KSFT_XFAIL, verdict_of("T1", true));
	EXPECT_EQ(KSFT_FAIL, verdict_of("T1", false));
	EXPECT_EQ(KSFT_XFAIL, verdict_of("T2", true));
	EXPECT_EQ(KSFT_PASS, verdict_of("T2", false));
	EXPECT_EQ(KSFT_FAIL, verdict_of("T3", true));
	EXPECT_EQ(KSFT_PASS, verdict_of("T3", false));
	EXPECT_EQ(KSFT_SKIP, verdict_of("T4", true));
	EXPECT_EQ(KSFT_SKIP, verdict_of("T4", false));
	/* Type information comes before the version, and the environment before both. */
	if (!access("/sys/kernel/btf/vmlinux", R_OK)) {
		EXPECT_EQ(KSFT_XFAIL, verdict_of("T5", true));
		EXPECT_EQ(KSFT_FAIL, verdict_of("T6", true));
	}
	ASSERT_EQ(0, setenv("KNOWN_FIXED", "T9,T5,T1", 1));
	ASSERT_EQ(0, setenv("KNOWN_LIVE", "T3,T6", 1));
	EXPECT_EQ(KSFT_PASS, verdict_of("T5", false));
	EXPECT_EQ(KSFT_FAIL, verdict_of("T1", true));
	EXPECT_EQ(KSFT_XFAIL, verdict_of("T3", true));
	EXPECT_EQ(KSFT_FAIL, verdict_of("T6", false));
	EXPECT_EQ(-1, verdict_of("T", true));
	EXPECT_EQ(-1, verdict_of("T7", true));
	EXPECT_EQ(0, unlink(path));
	/* One version for each series. */
	EXPECT_TRUE(known_has_version("7.3.4+deb13-amd64", "7.3 7.2.15"));
	EXPECT_TRUE(known_has_version("7.2.15", "7.3 7.2.15"));
	EXPECT_TRUE(known_has_version("8.0.0-rc1", "7.3 7.2.15"));
	EXPECT_FALSE(known_has_version("7.2.12+deb14-amd64", "7.3 7.2.15"));
	EXPECT_FALSE(known_has_version("6.19.3", "7.3 7.2.15"));
	EXPECT_FALSE(known_has_version("7.3.4", "-"));
	EXPECT_FALSE(known_has_version("7.3.4", ""));
}

FIXTURE(known)
{
	struct bed bed;
	struct known_issue issue;
	struct scope scope;
	struct rebind rebind;
};

FIXTURE_SETUP(known)
{
	bed_make(_metadata, &self->bed, true);
}

/* A fault leaves what it leaves: no test of the state at rest. */
FIXTURE_TEARDOWN(known)
{
	/* Of a test that failed: others want the device as it says itself that it is. */
	if (!helper_unload("mlx5_capability")) {
		rebind_unbind(&self->rebind);
		EXPECT_EQ(0, rebind_bind(&self->rebind));
	}
	scope_drop(&self->scope);
	bed_mark(_metadata, "end");
}

/* The test of a fault that its reproducer tells all about. */
static void report_reproducer(struct __test_metadata *_metadata, struct _test_data_known *self,
			      const char *id, const char *program)
{
	int seen;

	if (known_look_up(_metadata, &self->issue, id) &&
	    known_reproduce(_metadata, program, self->bed.dev.name, &seen))
		known_report(_metadata, &self->issue, seen);
}

/* DMABUF-06, L01: kprobes count files that were opened and released. */
TEST_F(known, l01_ufile_leak)
{
	report_reproducer(_metadata, self, "L01", "l01_ufile_leak");
}

/*
 * DMABUF-06, L01: the same with uobjscope.ko as the witness: a dma-buf closed after its
 * context leaves a ufile that was closed and is held by nobody who is known.
 */
TEST_F(known, l01_ufile_stays)
{
	const char *missing = scope_missing();
	struct ibv_context *ctx;
	struct ibv_dm *dm;
	uint64_t ufile;
	int fd, seen;

	if (!known_look_up(_metadata, &self->issue, "L01"))
		return;
	if (missing)
		SKIP(return, "%s", missing);
	ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, ctx);
	dm_alloc(ctx, 4096, &dm);
	fd = ibv_dm_export_dmabuf_fd(dm);
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, scope_take(&self->scope));
	ufile = scope_ufile(&self->scope, getpid(), ctx->cmd_fd);
	ASSERT_NE(0UL, ufile);
	dm_free(dm);
	ASSERT_EQ(0, ibv_close_device(ctx));
	/* The dma-buf alone holds it now, and that is right. */
	ASSERT_EQ(0, scope_take(&self->scope));
	ASSERT_EQ(0, scope_check(&self->scope, UOBJSCOPE_UFILE, scope_kv("id=%lu", ufile),
				 "state=closed file_open=0"));
	marker_reached("L01: a dma-buf alone holds a ufile, and is closed now");
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, scope_take(&self->scope));
	seen = scope_count(&self->scope, UOBJSCOPE_UFILE, scope_kv("id=%lu", ufile));
	ASSERT_GE(1, seen);
	if (seen)
		scope_print_differences(&self->scope);
	known_report(_metadata, &self->issue, seen);
}

/* What a shell command prints, with its errors; its wait status is returned. */
static int output_of(const char *command, char *output, size_t size)
{
	FILE *said = popen(command, "r");
	size_t length;

	if (!said)
		return -1;
	length = fread(output, 1, size - 1, said);
	output[length] = '\0';
	return pclose(said);
}

/*
 * DMABUF-06, L01: "uobjscope leaks" of a program that has closed and freed everything: where
 * the fault is, a ufile that nobody keeps, with the dma-buf's uobject that was never freed.
 */
TEST_F(known, l01_told_by_leaks)
{
	const char *missing = scope_missing();
	char folder[2048], command[8192], output[16384];
	bool left;
	int status;

	if (!known_look_up(_metadata, &self->issue, "L01"))
		return;
	if (missing)
		SKIP(return, "%s", missing);
	if (access("/sys/kernel/tracing/instances", W_OK))
		SKIP(return, "no tracefs: mount -t tracefs none /sys/kernel/tracing");
	ASSERT_EQ(0, path_of_program("", folder, sizeof(folder)));
	snprintf(command, sizeof(command),
		 "PATH=$PATH:'%s' uobjscope leaks -- '%sleaver' order 2>&1", folder, folder);
	status = output_of(command, output, sizeof(output));
	ASSERT_TRUE(WIFEXITED(status));
	if (WEXITSTATUS(status) == 127)
		SKIP(return, "no uobjscope command: see user/");
	if (WEXITSTATUS(status) == 4)
		SKIP(return, "no dma-bufs of device memory here");
	ASSERT_GE(1, WEXITSTATUS(status))
		TH_LOG("%s", output);
	left = WEXITSTATUS(status);
	if (left) {
		EXPECT_NE(NULL, strstr(output, "1 object is left by "));
		EXPECT_NE(NULL, strstr(output, "\n  kept by nobody who is seen: ref of ufile:"));
		EXPECT_NE(NULL, strstr(output, " has 1 unexplained\n"));
		EXPECT_NE(NULL, strstr(output, "\n  never freed: type=DMABUF, born "));
		/* Nobody is accused. */
		EXPECT_EQ(NULL, strstr(output, "kept by fd"));
		EXPECT_EQ(NULL, strstr(output, "kept by mapping"));
		EXPECT_EQ(NULL, strstr(output, "kept by ufile"));
	} else {
		EXPECT_NE(NULL, strstr(output, "nothing is left by "));
	}
	if (_metadata->exit_code != KSFT_PASS)
		TH_LOG("%s", output);
	known_report(_metadata, &self->issue, left);
}

/* L04: each mapping of a dma-buf of device memory gives its memory back. */
TEST_F(known, l04_scatterlist_leak)
{
	report_reproducer(_metadata, self, "L04", "l04_scatterlist_leak");
}

/* L06: a DM length beyond 32 bits is refused. */
TEST_F(known, l06_dm_length)
{
	report_reproducer(_metadata, self, "L06", "l06_dm_length");
}

/*
 * DM-07, ERRNO-DM, L07: each allocation of the call fails once, by failslab or, where the
 * kernel has none, by a module.
 */
TEST_F(known, l07_op_no_memory)
{
	const bool failslab = !access("/proc/self/fail-nth", W_OK);
	int reproduced = 0, err;
	bool can_tell;

	if (!known_look_up(_metadata, &self->issue, "L07"))
		return;
	if (failslab) {
		ASSERT_EQ(NULL, fail_nth_missing(FAIL_NTH_MEMORY));
		ASSERT_EQ(0, fail_nth_begin(FAIL_NTH_MEMORY));
	} else {
		err = helper_load("fail_allocation", "function=__kmalloc_cache_noprof");
		if (err == ENOENT)
			SKIP(return, "neither failslab nor fail_allocation.ko is here");
		ASSERT_EQ(0, err);
	}
	marker_expect("mlx5_core .*: mlx5_alloc_cmd_msg.* failed allocating block");
	can_tell = known_reproduce(_metadata, "l07_op_no_memory", self->bed.dev.name, &reproduced);
	if (failslab)
		fail_nth_end();
	else
		ASSERT_EQ(0, helper_unload("fail_allocation"));
	/* What failed has left nothing with the device. */
	ASSERT_LEDGER(0, "memic_operation");
	ASSERT_LEDGER(0, "memic");
	if (can_tell)
		known_report(_metadata, &self->issue, reproduced);
}

/* What the driver has lost is taken from the device behind its back. */
static int destroy_sw_icm(const struct device *dev, uint32_t id)
{
	uint32_t in[DEVX_ST_SZ_DW(general_obj_in_cmd_hdr)] = {};
	uint32_t out[DEVX_ST_SZ_DW(general_obj_out_cmd_hdr)];

	DEVX_SET(general_obj_in_cmd_hdr, in, opcode, MLX5_CMD_OP_DESTROY_GENERAL_OBJECT);
	DEVX_SET(general_obj_in_cmd_hdr, in, obj_type, MLX5_OBJ_TYPE_SW_ICM);
	DEVX_SET(general_obj_in_cmd_hdr, in, obj_id, id);
	return raw_once(dev, in, sizeof(in), out, sizeof(out));
}

/* DM-11, L08: after a free that succeeded the device has nothing of it any more. */
TEST_F(known, l08_sw_icm_refused)
{
	struct vhca_object object;
	int reproduced, left;

	if (!known_look_up(_metadata, &self->issue, "L08"))
		return;
	marker_expect("command opcode\\(0xa03\\).* failed, status bad resource state");
	/* It is left over when the context goes. */
	if (self->issue.state == KNOWN_LIVE)
		marker_expect("violation: uctx_destroyed_under_object general_object");
	if (!known_reproduce(_metadata, "l08_sw_icm_refused", self->bed.dev.name, &reproduced))
		return;
	left = vhca_find_new(&self->bed.dev, "general_object", self->bed.before.seq, &object);
	/* Both witnesses, or none. */
	ASSERT_EQ(reproduced, left);
	if (left)
		ASSERT_EQ(0, destroy_sw_icm(&self->bed.dev, object.id));
	ASSERT_LEDGER(0, "general_object");
	known_report(_metadata, &self->issue, left);
}

/* L09: a region on a dma-buf cannot be registered anew. */
TEST_F(known, l09_rereg_dmabuf)
{
	report_reproducer(_metadata, self, "L09", "l09_rereg_dmabuf");
}

/* L10: what is exported is the memory, not its operation. */
TEST_F(known, l10_export_after_op)
{
	report_reproducer(_metadata, self, "L10", "l10_export_after_op");
}

/* L11: a copy that wraps is refused. */
TEST_F(known, l11_memcpy_wrap)
{
	report_reproducer(_metadata, self, "L11", "l11_memcpy_wrap");
}

/* L12: a VAR that was not freed is reported. */
TEST_F(known, l12_free_var_error)
{
	report_reproducer(_metadata, self, "L12", "l12_free_var_error");
}

/* L13: no more is written than was asked for. */
TEST_F(known, l13_export_sizes)
{
	report_reproducer(_metadata, self, "L13", "l13_export_sizes");
}

/* L14: whose the descriptor is after a failure. */
TEST_F(known, l14_import_fd)
{
	report_reproducer(_metadata, self, "L14", "l14_import_fd");
}

/* L15: an imported DM says that its handle is valid. */
TEST_F(known, l15_import_mask)
{
	report_reproducer(_metadata, self, "L15", "l15_import_mask");
}

/* L16: a UAR that was freed is out of reach. */
TEST_F(known, l16_uar_dmabuf)
{
	report_reproducer(_metadata, self, "L16", "l16_uar_dmabuf");
}

/* DM-05, L17: the device still has the memory of a DM that is freed and unmapped for all. */
TEST_F(known, l17_free_enoent)
{
	struct ibv_context *ctx, *same;
	struct ibv_dm *dm, *imported;
	int memic, reproduced;

	if (!known_look_up(_metadata, &self->issue, "L17"))
		return;
	if (!known_reproduce(_metadata, "l17_free_enoent", self->bed.dev.name, &reproduced))
		return;
	ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, ctx);
	dm_alloc(ctx, 4096, &dm);
	ASSERT_LEDGER(1, "memic");
	same = ibv_import_device(dup(ctx->cmd_fd));
	ASSERT_NE(NULL, same);
	dm_import(same, dm->handle, &imported);
	dm_free(imported);
	dm_free_err(ENOENT, dm);
	ASSERT_EQ(0, rest_ledger_delta(&self->bed.dev, &self->bed.before, "memic", &memic));
	/* Both witnesses, or none. */
	ASSERT_EQ(reproduced, memic);
	known_report(_metadata, &self->issue, memic);
}

/* DM_MAP_OP_ADDR of operation 0 without the attribute that is optional. */
static int map_op_0(struct ibv_dm *dm)
{
	const uint8_t op = 0;
	uint64_t offset;
	struct ib_uverbs_attr attr[] = {
		uverbs_handle(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_HANDLE, dm->handle),
		uverbs_in(MLX5_IB_ATTR_DM_MAP_OP_ADDR_REQ_OP, &op, sizeof(op)),
		uverbs_out(MLX5_IB_ATTR_DM_MAP_OP_ADDR_RESP_START_OFFSET, &offset,
			   sizeof(offset)),
	};

	return uverbs_ioctl(dm->context->cmd_fd, UVERBS_OBJECT_DM,
			    MLX5_IB_METHOD_DM_MAP_OP_ADDR, attr, 3);
}

/*
 * DM-07b, L24: a call for an operation that is mapped sends the device no command.  A second
 * MODIFY_MEMIC is the fault; what the device says to it the kernel log may have.
 */
TEST_F(known, l24_op_optional)
{
	struct ibv_context *ctx;
	int64_t seq;
	struct ibv_dm *dm;
	int reproduced, commands;
	void *op;

	if (!known_look_up(_metadata, &self->issue, "L24"))
		return;
	if (self->issue.state == KNOWN_LIVE) {
		marker_expect("violation: memic_operation_double_alloc");
		marker_expect("command opcode\\(0x207\\) op_mod\\(0x0\\) failed");
	}
	if (!known_reproduce(_metadata, "l24_op_optional", self->bed.dev.name, &reproduced))
		return;
	ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, ctx);
	dm_alloc(ctx, 4096, &dm);
	dm_map_op(dm, 0, &op);
	seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, seq);
	map_op_0(dm);
	commands = vhca_other_since(&self->bed.dev, seq);
	ASSERT_LE(0, commands);
	/* Both witnesses, or none. */
	ASSERT_EQ(reproduced, !!commands);
	known_report(_metadata, &self->issue, commands);
}

/* L27: what a reader of a DEVX event channel gets while the context is closed. */
TEST_F(known, l27_devx_event_read)
{
	report_reproducer(_metadata, self, "L27", "l27_devx_event_read");
}

/* L28: a DEVX object of one kind gets no events of another. */
TEST_F(known, l28_devx_event_kind)
{
	report_reproducer(_metadata, self, "L28", "l28_devx_event_kind");
}

/* L31: a process whose GET_CONTEXT has failed leaves nothing when it ends. */
TEST_F_TIMEOUT(known, l31_get_context_task, 120)
{
	report_reproducer(_metadata, self, "L31", "l31_get_context_task");
}

/* L32: a UAR that cannot be mapped is destroyed, and no other. */
TEST_F(known, l32_uar_unmapped)
{
	report_reproducer(_metadata, self, "L32", "l32_uar_unmapped");
}

/*
 * VAR-15, L35: what can only be read, and never be made writable, reads as zeroes without its
 * device, and no page is counted that the kernel does not count.
 */
TEST_F(known, l35_zero_page)
{
	int seen;

	if (!known_look_up(_metadata, &self->issue, "L35"))
		return;
	/* What a kernel with CONFIG_DEBUG_VM says of it, at the fault and at the unmapping. */
	if (self->issue.state == KNOWN_LIVE) {
		marker_expect("WARNING: .*rmap[.]h.* at folio_(add|remove)_[a-z_]*rmap_ptes");
		marker_expect("WARNING: .*memory[.]c.* at \\w*vm_normal_page");
	}
	if (!known_reproduce(_metadata, "l35_zero_page", self->bed.dev.name, &seen))
		return;
	ASSERT_EQ(0, device_warm_up(&self->bed.dev));
	known_report(_metadata, &self->issue, seen);
}

/* MLX5_CAP_VDPA_EMULATION of the kernel's enum mlx5_cap_type. */
#define CAP_VDPA_EMULATION	0x13
#define CAP_FIELD(name)		((size_t)__devx_bit_off(virtio_emulation_cap, name))

/* The address of a VAR, as the driver has it: of the first, or of one after it. */
static uint64_t var_address(const struct scope *scope, uint64_t ufile, unsigned int page)
{
	return scope_value(scope->now, UOBJSCOPE_MMAP,
			   scope_kv("ufile=%lu kind=VAR page_id=%u", ufile, page), "addr");
}

/*
 * VAR-02, L22: VARs lie as far from each other as the device says, here 2 GiB, which is more
 * than any device has: the third one begins 4 GiB after the first.  None is mapped.
 */
TEST_F_TIMEOUT(known, l22_var_address, 60)
{
	const char *missing = scope_missing();
	const uint64_t stride = 1ull << 31;
	struct mlx5dv_var *var[3] = {};
	uint64_t ufile, address[3];
	struct ibv_context *ctx;
	char parameters[256];
	int err, i;

	if (!known_look_up(_metadata, &self->issue, "L22"))
		return;
	if (missing)
		SKIP(return, "%s", missing);
	ASSERT_EQ(0, rebind_find(&self->rebind, &self->bed.dev));
	/* Two to the 21st pages of 4 KiB are four VARs. */
	snprintf(parameters, sizeof(parameters),
		 "function=%s group=%u,%u offset=%zu,%zu width=5,5 value=31,21",
		 self->bed.dev.pci, CAP_VDPA_EMULATION, CAP_VDPA_EMULATION,
		 CAP_FIELD(log_doorbell_stride), CAP_FIELD(log_doorbell_bar_size));
	err = helper_load("mlx5_capability", parameters);
	if (err == ENOENT)
		SKIP(return, "no mlx5_capability.ko, and no device has VARs beyond 4 GiB");
	ASSERT_EQ(0, err);
	ASSERT_EQ(0, rebind_unbind(&self->rebind));
	ASSERT_EQ(0, rebind_bind(&self->rebind));
	ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, ctx);
	for (i = 0; i < 3; i++)
		var_alloc(ctx, 0, &var[i]);
	ASSERT_EQ(0, scope_take(&self->scope));
	ufile = scope_ufile(&self->scope, getpid(), ctx->cmd_fd);
	ASSERT_NE(0UL, ufile);
	for (i = 0; i < 3; i++)
		address[i] = var_address(&self->scope, ufile, i);
	for (i = 0; i < 3; i++)
		mlx5dv_free_var(var[i]);
	ASSERT_EQ(0, ibv_close_device(ctx));
	ASSERT_EQ(0, rebind_unbind(&self->rebind));
	ASSERT_EQ(0, helper_unload("mlx5_capability"));
	ASSERT_EQ(0, rebind_bind(&self->rebind));
	ASSERT_EQ(stride, address[1] - address[0]);
	if (address[2] != address[0])
		ASSERT_EQ(2 * stride, address[2] - address[0]);
	known_report(_metadata, &self->issue, address[2] == address[0]);
}

/* What driver and device say of a fatal error and of the recovery. */
static const char * const of_recovery[] = {
	"mlx5_vhca: .*: (fatal error, syndrome 0x1: |reset, as )",
	"mlx5_core .*: (poll_health|print_health_info|mlx5_health_try_recover):",
	"mlx5_core .*: (mlx5_handle_bad_state|mlx5_error_sw_reset|mlx5_pci_slot_reset):",
	"mlx5_core .*: (E-Switch|mlx5_pci_slot_reset Device state|wait vital counter value)",
	"mlx5_core .*: (health recovery succeeded|mlx5_cmd_out_err:)",
};

static bool is_healthy(const struct device *dev)
{
	char condition[32] = "";
	struct vhca_file file;

	if (vhca_open(dev, "health", &file))
		return false;
	if (file.count)
		vhca_key(file.record[0], "condition", condition, sizeof(condition));
	vhca_close(&file);
	return !strcmp(condition, "healthy");
}

/* DM-17, L20: the last test, as the device is another one afterwards. */
TEST_F_TIMEOUT(known, l20_op_in_error_state, 120)
{
	const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };
	struct ibv_context *ctx = NULL;
	int reproduced, tries;
	unsigned int i;

	if (!known_look_up(_metadata, &self->issue, "L20"))
		return;
	for (i = 0; i < ARRAY_SIZE(of_recovery); i++)
		marker_expect(of_recovery[i]);
	if (self->issue.state == KNOWN_LIVE)
		marker_expect("mlx5_core .*Unknown FW command \\(519\\)");
	if (!known_reproduce(_metadata, "l20_op_in_error_state", self->bed.dev.name, &reproduced))
		return;
	/* A minute at most: mlx5_core takes some seconds to see that the device is reset. */
	for (tries = 0; !ctx && tries < 1200; tries++) {
		nanosleep(&pause, NULL);
		if (is_healthy(&self->bed.dev))
			ctx = device_open(&self->bed.dev);
	}
	ASSERT_NE(NULL, ctx);
	ASSERT_EQ(0, ibv_close_device(ctx));
	ASSERT_LEDGER(0, "memic");
	ASSERT_LEDGER(0, "memic_operation");
	ASSERT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev));
	known_report(_metadata, &self->issue, reproduced);
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
