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
#include <unistd.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/dm_ops.h"
#include "common/known.h"
#include "common/marker.h"
#include "common/scope.h"
#include "common/uverbs_ioctl.h"

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
};

FIXTURE_SETUP(known)
{
	bed_make(_metadata, &self->bed, true);
}

/* A fault leaves what it leaves: no test of the state at rest. */
FIXTURE_TEARDOWN(known)
{
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

/* DMABUF-06: kprobes count files that were opened and released. */
TEST_F(known, l01_ufile_leak)
{
	report_reproducer(_metadata, self, "L01", "l01_ufile_leak");
}

/*
 * The same with uobjscope.ko as the witness: a dma-buf closed after its context leaves a
 * ufile that was closed and is held by nobody who is known.
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
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, scope_take(&self->scope));
	seen = scope_count(&self->scope, UOBJSCOPE_UFILE, scope_kv("id=%lu", ufile));
	ASSERT_GE(1, seen);
	if (seen)
		scope_print_differences(&self->scope);
	known_report(_metadata, &self->issue, seen);
}

TEST_F(known, l04_scatterlist_leak)
{
	report_reproducer(_metadata, self, "L04", "l04_scatterlist_leak");
}

TEST_F(known, l06_dm_length)
{
	report_reproducer(_metadata, self, "L06", "l06_dm_length");
}

TEST_F(known, l09_rereg_dmabuf)
{
	report_reproducer(_metadata, self, "L09", "l09_rereg_dmabuf");
}

TEST_F(known, l10_export_after_op)
{
	report_reproducer(_metadata, self, "L10", "l10_export_after_op");
}

TEST_F(known, l11_memcpy_wrap)
{
	report_reproducer(_metadata, self, "L11", "l11_memcpy_wrap");
}

TEST_F(known, l12_free_var_error)
{
	report_reproducer(_metadata, self, "L12", "l12_free_var_error");
}

TEST_F(known, l13_export_sizes)
{
	report_reproducer(_metadata, self, "L13", "l13_export_sizes");
}

TEST_F(known, l14_import_fd)
{
	report_reproducer(_metadata, self, "L14", "l14_import_fd");
}

TEST_F(known, l15_import_mask)
{
	report_reproducer(_metadata, self, "L15", "l15_import_mask");
}

TEST_F(known, l16_uar_dmabuf)
{
	report_reproducer(_metadata, self, "L16", "l16_uar_dmabuf");
}

/* DM-05: the device still has the memory of a DM that is freed and unmapped for all. */
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
 * DM-07: a call for an operation that is mapped sends the device no command.  A second
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

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
