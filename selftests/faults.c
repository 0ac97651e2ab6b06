// SPDX-License-Identifier: GPL-2.0
/*
 * The virtual HCA's file "faults": commands that fail, that take their time or are not
 * answered, interrupts that are lost, and queue pairs that do not work.
 *
 * These are tests of the device: each rule must do what it says, and no more;
 * and of the driver, which must come through with the right errno and without a
 * leak, as far as what it does is not known to be wrong.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "kselftest_harness.h"

#include "common/bed.h"
#include "common/caller.h"
#include "common/connection.h"
#include "common/dm_ops.h"
#include "common/ifc.h"
#include "common/kernel_signs.h"

#define DM_SIZE	4096

FIXTURE(faults)
{
	struct bed bed;
	struct ibv_context *ctx;
	int64_t seq;
};

#define WRITE(text) \
	ASSERT_EQ(0, vhca_write(&self->bed.dev, "faults", text))
#define WRITE_ERR(err, text) \
	ASSERT_EQ(err, vhca_write(&self->bed.dev, "faults", text))

FIXTURE_SETUP(faults)
{
	struct device dev;

	/* A test that was killed may have left some. */
	if (!device_find(&dev))
		vhca_write(&dev, "faults", "clear\n");
	if (!bed_make(_metadata, &self->bed, true))
		return;
	self->ctx = device_open(&self->bed.dev);
	ASSERT_NE(NULL, self->ctx);
	WRITE("clear\n");
	self->seq = vhca_seq(&self->bed.dev);
	ASSERT_LE(0, self->seq);
}

FIXTURE_TEARDOWN(faults)
{
	EXPECT_EQ(0, vhca_write(&self->bed.dev, "faults", "\n"));
	EXPECT_EQ(0, ibv_close_device(self->ctx));
	bed_unmake(_metadata, &self->bed);
}

/* The rules, without their word and what is counted: "a=b c=d; e=f". */
static const char *rules(const struct device *dev)
{
	static char text[8192];
	struct vhca_file file;
	unsigned int i;
	char *end;

	text[0] = 0;
	if (vhca_open(dev, "faults", &file))
		return "unreadable";
	for (i = 0; i < file.count; i++) {
		end = strstr(file.record[i], " seen=");
		if (end)
			*end = 0;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			 i ? "; " : "", file.record[i] + strlen("rule "));
	}
	vhca_close(&file);
	return text;
}

/* A count of a rule. */
static uint64_t rule_number(const struct device *dev, unsigned int rule, const char *key)
{
	struct vhca_file file;
	uint64_t n = UINT64_MAX;

	if (vhca_open(dev, "faults", &file))
		return n;
	if (rule < file.count)
		n = vhca_number(file.record[rule], key);
	vhca_close(&file);
	return n;
}

/* A count of the whole file. */
static uint64_t faults_number(const struct device *dev, const char *key)
{
	struct vhca_file file;
	uint64_t n = UINT64_MAX;

	if (vhca_open(dev, "faults", &file))
		return n;
	n = vhca_number(file.header, key);
	vhca_close(&file);
	return n;
}

/* A total of the device. */
static uint64_t stats_number(const struct device *dev, const char *key)
{
	struct vhca_file file;
	uint64_t n = UINT64_MAX;
	unsigned int i;

	if (vhca_open(dev, "info", &file))
		return n;
	for (i = 0; i < file.count; i++)
		if (!strncmp(file.record[i], "stats ", 6))
			n = vhca_number(file.record[i], key);
	vhca_close(&file);
	return n;
}

static long seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/*
 * Not for ever: who is ended by the harness leaves his rules to the next test, and what
 * they hold waiting.
 */
#define WAIT_UNTIL(condition) \
do { \
	const long __end = seconds() + 20; \
	while (!(condition)) { \
		ASSERT_GT(__end, seconds()) \
			TH_LOG("20 seconds without %s", #condition); \
		sched_yield(); \
	} \
} while (0)

#define ASSERT_RULES(expected) \
	ASSERT_STREQ(expected, rules(&self->bed.dev))
#define ASSERT_RULE(number, seen_, hits_) \
do { \
	ASSERT_EQ((uint64_t)(seen_), rule_number(&self->bed.dev, number, "seen")); \
	ASSERT_EQ((uint64_t)(hits_), rule_number(&self->bed.dev, number, "hits")); \
} while (0)

/* An errno, or 0 for a protection domain that came and went. */
static int pd_cycle(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	if (!pd)
		return errno;
	return ibv_dealloc_pd(pd);
}

/* What is written can be read, in the same words. */
TEST_F(faults, rules_are_read_back)
{
	char text[512], line[256];

	ASSERT_RULES("");
	WRITE("opcode=ALLOC_MEMIC nth=2 status=0x8\n");
	ASSERT_RULES("opcode=ALLOC_MEMIC nth=2 count=1 status=limits_exceeded");
	WRITE("opcode=0x801  count=all\tdelay_ms=3\n"
	      "status=0x77 opcode=0xfff count=7");
	snprintf(text, sizeof(text), "%s", rules(&self->bed.dev));
	ASSERT_STREQ("opcode=ALLOC_MEMIC nth=2 count=1 status=limits_exceeded; "
		     "opcode=DEALLOC_PD nth=1 count=all delay_ms=3; "
		     "opcode=0xfff nth=1 count=7 status=0x77", text);
	WRITE("\n");
	ASSERT_RULES("");
	/* A line that was read is a line that can be written. */
	snprintf(line, sizeof(line), "%.*s\n", (int)strcspn(text, ";"), text);
	WRITE(line);
	ASSERT_RULES("opcode=ALLOC_MEMIC nth=2 count=1 status=limits_exceeded");
	WRITE("clear\nopcode=ALLOC_PD delay_ms=1\n");
	ASSERT_RULES("opcode=ALLOC_PD nth=1 count=1 delay_ms=1");
	ASSERT_RULE(0, 0, 0);
	WRITE("clear\nhold object=0x10 op_mod=3 opcode=any\n"
	      "no_answer every=2 probability=5 opcode=0xfff\n"
	      "status=0x77 seed=9 probability=9 syndrome=0xbad opcode=0xfff\n"
	      "opcode=0xfff drop_interrupt\n"
	      "stop_work queue=0xffffff\n");
	snprintf(text, sizeof(text), "%s", rules(&self->bed.dev));
	ASSERT_STREQ("opcode=any op_mod=0x3 object=0x10 nth=1 count=1 hold; "
		     "opcode=0xfff nth=1 every=2 count=1 probability=5 seed=0 no_answer; "
		     "opcode=0xfff nth=1 count=1 probability=9 seed=9 status=0x77 syndrome=0xbad; "
		     "opcode=0xfff nth=1 count=1 drop_interrupt; "
		     "queue=0xffffff stop_work", text);
	/* Releasing ends the stop and leaves the others. */
	WRITE("release\n");
	*strstr(text, "; queue") = 0;
	ASSERT_RULES(text);
}

/* A line that is of no use is refused, and the whole write with it. */
TEST_F(faults, unusable_lines_are_refused)
{
	static const char *const bad[] = {
		"opcode=ALLOC_MEMIC", "status=1", "nonsense", "opcode=NONSENSE status=1",
		"opcode= status=1", "opcode=0 status=1", "opcode=65536 status=1",
		"opcode=-1 status=1", "opcode=ALLOC_PD status=0", "opcode=ALLOC_PD status=256",
		"opcode=ALLOC_PD status=nonsense", "opcode=ALLOC_PD status=",
		"opcode=ALLOC_PD delay_ms=0", "opcode=ALLOC_PD delay_ms=600001",
		"opcode=ALLOC_PD delay_ms=1s", "opcode=ALLOC_PD status=1 nth=0",
		"opcode=ALLOC_PD status=1 nth=4294967296", "opcode=ALLOC_PD status=1 count=0",
		"opcode=ALLOC_PD status=1 count=most", "opcode=ALLOC_PD status=1 status=2",
		"opcode=ALLOC_PD status=1 when=now", "opcode=ALLOC_PD status=1 clear",
		"opcode=ALLOC_PD\nstatus=1",
		"opcode=any", "opcode=ALLOC_PD status=1 op_mod=65536",
		"opcode=ALLOC_PD status=1 object=0", "opcode=ALLOC_PD status=1 every=0",
		"opcode=ALLOC_PD status=1 probability=1001",
		"opcode=ALLOC_PD status=1 probability=0", "opcode=ALLOC_PD status=1 seed=1",
		"opcode=ALLOC_PD status=1 syndrome=0", "opcode=ALLOC_PD hold syndrome=1",
		"opcode=ALLOC_PD hold=1", "opcode=ALLOC_PD hold delay_ms=1",
		"opcode=ALLOC_PD hold no_answer", "opcode=ALLOC_PD no_answer drop_interrupt",
		"hold", "no_answer", "stop_work", "queue=any", "queue=0 stop_work",
		"queue=0x1000000 stop_work", "queue=any stop_work nth=2",
		"queue=any stop_work opcode=ALLOC_PD", "queue=any hold", "release now",
	};
	const char *kept = "opcode=ALLOC_PD nth=9 count=1 status=bad_resource";
	char text[256], many[64 * 32];
	unsigned int i;

	marker_expect("mlx5_vhca: .*: faults: got ");
	WRITE("opcode=ALLOC_PD nth=9 status=0x5\n");
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(EINVAL, vhca_write(&self->bed.dev, "faults", bad[i]))
			TH_LOG("written: %s", bad[i]);
		ASSERT_RULES(kept);
		/* Not even what is right before and after it, nor a clearing. */
		snprintf(text, sizeof(text), "clear\nopcode=ALLOC_PD status=1\n%s\n"
			 "opcode=ALLOC_PD status=2\n", bad[i]);
		WRITE_ERR(EINVAL, text);
		ASSERT_RULES(kept);
	}
	many[0] = 0;
	for (i = 0; i < 64; i++)
		strcat(many, "opcode=0xffff status=1\n");
	WRITE_ERR(ENOSPC, many);
	ASSERT_RULES(kept);
	ASSERT_EQ(0, pd_cycle(self->ctx));
}

/* The second command fails and no other; the device does nothing for it. */
TEST_F(faults, nth)
{
	struct ibv_dm *dm[2];

	marker_expect("mlx5_core .*: mlx5_cmd_out_err:.*ALLOC_MEMIC.* status limits exceeded");
	WRITE("opcode=ALLOC_MEMIC nth=2 status=0x8\n");
	dm_alloc(self->ctx, DM_SIZE, &dm[0]);
	dm_alloc_err(ENOMEM, self->ctx, DM_SIZE);
	ASSERT_LEDGER(1, "memic");
	dm_alloc(self->ctx, DM_SIZE, &dm[1]);
	ASSERT_LEDGER(2, "memic");
	ASSERT_RULE(0, 3, 1);
	dm_free(dm[1]);
	dm_free(dm[0]);
}

/* So many in a row. */
TEST_F(faults, count)
{
	int i;

	WRITE("opcode=ALLOC_PD nth=2 count=3 status=limits_exceeded\n");
	for (i = 1; i <= 6; i++)
		ASSERT_EQ(i >= 2 && i <= 4 ? ENOMEM : 0, pd_cycle(self->ctx));
	ASSERT_RULE(0, 6, 3);
	WRITE("clear\nopcode=ALLOC_PD count=all status=limits_exceeded\n");
	for (i = 0; i < 20; i++)
		ASSERT_EQ(ENOMEM, pd_cycle(self->ctx));
	ASSERT_RULE(0, 20, 20);
	WRITE("clear\n");
	ASSERT_EQ(0, pd_cycle(self->ctx));
}

/* Of several rules the first that applies does; the others count all the same. */
TEST_F(faults, first_rule_that_applies)
{
	WRITE("opcode=ALLOC_PD nth=2 status=limits_exceeded\n"
	      "opcode=ALLOC_PD count=2 status=resource_busy\n"
	      "opcode=DEALLOC_PD nth=100 status=resource_busy\n");
	ASSERT_EQ(EBUSY, pd_cycle(self->ctx));
	ASSERT_EQ(ENOMEM, pd_cycle(self->ctx));
	ASSERT_EQ(0, pd_cycle(self->ctx));
	ASSERT_RULE(0, 3, 1);
	ASSERT_RULE(1, 3, 1);
	ASSERT_RULE(2, 1, 0);
}

/* What the driver makes of each status (cmd_status_to_err()). */
TEST_F(faults, every_status)
{
	static const struct {
		const char *status;
		unsigned int number;
		int err;
	} statuses[] = {
		{ "internal_error", 0x1, EIO },
		{ "bad_operation", 0x2, EINVAL },
		{ "bad_parameter", 0x3, EINVAL },
		{ "bad_system_state", 0x4, EIO },
		{ "bad_resource", 0x5, EINVAL },
		{ "resource_busy", 0x6, EBUSY },
		{ "limits_exceeded", 0x8, ENOMEM },
		{ "bad_resource_state", 0x9, EINVAL },
		{ "bad_index", 0xa, EINVAL },
		{ "no_resources", 0xf, EAGAIN },
		{ "bad_input_length", 0x50, EIO },
		{ "bad_output_length", 0x51, EIO },
		{ "bad_QP_state", 0x10, EINVAL },
		{ "bad_packet_(discarded)", 0x30, EINVAL },
		{ "bad_size_too_many_outstanding_CQEs", 0x40, EINVAL },
		{ "FW_not_ready", 0x7, EAGAIN },
		{ "0x77", 0x77, EIO },
	};
	struct vhca_history history;
	unsigned int i, found;
	char text[128];

	for (i = 0; i < ARRAY_SIZE(statuses); i++) {
		const int64_t seq = vhca_seq(&self->bed.dev);

		snprintf(text, sizeof(text), "clear\nopcode=ALLOC_PD status=%s\n",
			 statuses[i].status);
		WRITE(text);
		ASSERT_EQ(statuses[i].err, pd_cycle(self->ctx))
			TH_LOG("status %s", statuses[i].status);
		ASSERT_EQ(0, vhca_since(&self->bed.dev, seq, &history));
		for (found = 0; found < history.count; found++)
			if (history.command[found].opcode == VHCA_ALLOC_PD)
				break;
		ASSERT_LT(found, history.count);
		ASSERT_EQ(statuses[i].number, history.command[found].status);
		vhca_forget(&history);
		ASSERT_LEDGER(0, "pd");
	}
}

/*
 * DM-13: A device without room where the driver thought there was some makes it
 * try the next place, and give up after the last one.
 */
TEST_F(faults, dm_13_no_room_here)
{
	const struct vhca_region *memic = &self->bed.dev.info.memic;
	struct vhca_object object;
	struct ibv_dm *dm, **all;
	unsigned int n;

	marker_expect("mlx5_core .*: mlx5_cmd_out_err:.*ALLOC_MEMIC.* status no resources");
	WRITE("opcode=ALLOC_MEMIC count=3 status=no_resources\n");
	dm_alloc(self->ctx, DM_SIZE, &dm);
	ASSERT_EQ(1, vhca_find_new(&self->bed.dev, "memic", self->seq, &object));
	ASSERT_EQ(memic->offset + 3 * 4096, object.id);
	ASSERT_RULE(0, 4, 3);
	dm_free(dm);
	WRITE("clear\nopcode=ALLOC_MEMIC count=all status=no_resources\n");
	dm_alloc_err(ENOMEM, self->ctx, DM_SIZE);
	WRITE("clear\n");
	/* Each place where it was refused is free for the next one. */
	all = calloc(memic->count, sizeof(*all));
	ASSERT_NE(NULL, all);
	for (n = vhca_find_new(&self->bed.dev, "memic", 0, NULL); n < memic->count; n++)
		dm_alloc(self->ctx, DM_SIZE, &all[n]);
	dm_alloc_err(ENOMEM, self->ctx, DM_SIZE);
	for (n = 0; n < memic->count; n++)
		if (all[n])
			dm_free(all[n]);
	free(all);
}

/* DM-07: The operation fails; the memory does not mind. */
TEST_F(faults, dm_07_operation_refused)
{
	struct ibv_dm *dm;
	void *op;

	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no MEMIC operation 0");
	/* The driver has no name for this command. */
	marker_expect("mlx5_core .*: mlx5_cmd_out_err:.*\\(0x207\\).* status bad resource state");
	dm_alloc(self->ctx, DM_SIZE, &dm);
	WRITE("opcode=MODIFY_MEMIC status=bad_resource_state\n");
	dm_map_op_err(EINVAL, dm, 0);
	ASSERT_LEDGER(0, "memic_operation");
	dm_map_op(dm, 0, &op);
	ASSERT_LEDGER(1, "memic_operation");
	dm_unmap_op(op, DM_SIZE);
	dm_free(dm);
	ASSERT_LEDGER(0, "memic_operation");
	ASSERT_LEDGER(0, "memic");
}

/* The device itself says how long it took; the command is executed. */
TEST_F(faults, delay)
{
	struct vhca_history history;
	unsigned int i, slow = 0, all = 0;

	WRITE("opcode=ALLOC_PD nth=2 delay_ms=40\n");
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pd_cycle(self->ctx));
	ASSERT_RULE(0, 3, 1);
	ASSERT_EQ(0, vhca_since(&self->bed.dev, self->seq, &history));
	for (i = 0; i < history.count; i++) {
		const struct vhca_command *command = &history.command[i];

		if (command->opcode != VHCA_ALLOC_PD)
			continue;
		ASSERT_EQ(0U, command->status);
		all++;
		if (all == 2) {
			ASSERT_LE(40000000UL, command->took_ns);
			slow++;
		}
	}
	ASSERT_EQ(3U, all);
	ASSERT_EQ(1U, slow);
	vhca_forget(&history);
	/* With both, it fails late. */
	WRITE("clear\nopcode=ALLOC_PD delay_ms=20 status=limits_exceeded\n");
	ASSERT_EQ(ENOMEM, pd_cycle(self->ctx));
	ASSERT_LEDGER(0, "pd");
}

/* A modifier selects. */
TEST_F(faults, op_mod)
{
	struct ibv_dm *dm;
	void *op;

	if (!(self->bed.dev.info.memic_operations & 1))
		SKIP(return, "the device has no MEMIC operation 0");
	marker_expect("mlx5_core .*: mlx5_cmd_out_err:.*\\(0x207\\).* status limits exceeded");
	dm_alloc(self->ctx, DM_SIZE, &dm);
	WRITE("opcode=MODIFY_MEMIC op_mod=1 delay_ms=1\n"
	      "opcode=MODIFY_MEMIC op_mod=0 status=limits_exceeded\n");
	dm_map_op_err(ENOMEM, dm, 0);
	ASSERT_LEDGER(0, "memic_operation");
	ASSERT_RULE(0, 0, 0);
	ASSERT_RULE(1, 1, 1);
	dm_map_op(dm, 0, &op);
	ASSERT_RULE(0, 0, 0);
	ASSERT_RULE(1, 2, 1);
	dm_unmap_op(op, DM_SIZE);
	dm_free(dm);
	ASSERT_RULE(0, 1, 1);
	ASSERT_RULE(1, 2, 1);
}

/* For general objects it is their type: SW ICM is 8. */
TEST_F(faults, object_type)
{
	struct ibv_alloc_dm_attr attr = { .length = 1 << 12 };
	struct mlx5dv_alloc_dm_attr dv_attr = { .type = MLX5DV_DM_TYPE_STEERING_SW_ICM };
	struct ibv_dm *dm;

	dm = mlx5dv_alloc_dm(self->ctx, &attr, &dv_attr);
	if (!dm)
		SKIP(return, "the device has no SW ICM for steering: %s", strerror(errno));
	dm_free(dm);
	marker_expect("mlx5_core .*: mlx5_cmd_out_err:.*CREATE_GENERAL_OBJECT");
	WRITE("opcode=CREATE_GENERAL_OBJECT op_mod=9 status=limits_exceeded\n"
	      "opcode=CREATE_GENERAL_OBJECT op_mod=8 nth=2 status=limits_exceeded\n");
	dm = mlx5dv_alloc_dm(self->ctx, &attr, &dv_attr);
	ASSERT_NE(NULL, dm);
	ASSERT_EQ(NULL, mlx5dv_alloc_dm(self->ctx, &attr, &dv_attr));
	ASSERT_EQ(ENOMEM, errno);
	ASSERT_RULE(0, 0, 0);
	ASSERT_RULE(1, 2, 1);
	ASSERT_LEDGER(1, "general_object");
	dm_free(dm);
	ASSERT_LEDGER(0, "general_object");
}

/*
 * Of two objects only the one that is named; by its number, whatever the command is, and
 * memory by its address.  A protection domain that the device keeps can be freed again.
 */
TEST_F(faults, object)
{
	struct vhca_object object;
	struct ibv_pd *pd[2];
	struct ibv_dm *dm[2];
	char text[128];

	pd[0] = ibv_alloc_pd(self->ctx);
	pd[1] = ibv_alloc_pd(self->ctx);
	ASSERT_TRUE(pd[0] && pd[1]);
	ASSERT_EQ(2, vhca_find_new(&self->bed.dev, "pd", self->seq, &object));
	snprintf(text, sizeof(text), "opcode=any object=%lu status=resource_busy\n", object.id);
	WRITE(text);
	ASSERT_EQ(0, ibv_dealloc_pd(pd[0]));
	ASSERT_RULE(0, 0, 0);
	ASSERT_EQ(EBUSY, ibv_dealloc_pd(pd[1]));
	ASSERT_RULE(0, 1, 1);
	ASSERT_LEDGER(1, "pd");
	ASSERT_EQ(0, ibv_dealloc_pd(pd[1]));
	ASSERT_RULE(0, 2, 1);
	ASSERT_LEDGER(0, "pd");

	dm_alloc(self->ctx, DM_SIZE, &dm[0]);
	dm_alloc(self->ctx, DM_SIZE, &dm[1]);
	ASSERT_EQ(2, vhca_find_new(&self->bed.dev, "memic", self->seq, &object));
	snprintf(text, sizeof(text), "clear\nopcode=DEALLOC_MEMIC object=0x%lx delay_ms=1\n",
		 object.id);
	WRITE(text);
	dm_free(dm[0]);
	ASSERT_RULE(0, 0, 0);
	dm_free(dm[1]);
	ASSERT_RULE(0, 1, 1);
}

/* Each third, beginning with the second, three times. */
TEST_F(faults, every)
{
	int i;

	WRITE("opcode=ALLOC_PD nth=2 every=3 count=3 status=limits_exceeded\n");
	for (i = 1; i <= 14; i++)
		ASSERT_EQ(i == 2 || i == 5 || i == 8 ? ENOMEM : 0, pd_cycle(self->ctx))
			TH_LOG("command %d", i);
	ASSERT_RULE(0, 14, 3);
}

/* Which of 64 fail, a bit each. */
static uint64_t pd_draw(struct ibv_context *ctx)
{
	uint64_t failed = 0;
	int i;

	for (i = 0; i < 64; i++)
		failed |= (uint64_t)!!pd_cycle(ctx) << i;
	return failed;
}

/* A seed says which; others are others. */
TEST_F(faults, probability)
{
	uint64_t first, again, other;

	WRITE("opcode=ALLOC_PD count=all probability=300 seed=42 status=limits_exceeded\n");
	first = pd_draw(self->ctx);
	ASSERT_RULE(0, 64, __builtin_popcountll(first));
	WRITE("clear\nopcode=ALLOC_PD count=all probability=300 seed=42 status=limits_exceeded\n");
	again = pd_draw(self->ctx);
	ASSERT_EQ(first, again);
	WRITE("clear\nopcode=ALLOC_PD count=all probability=300 seed=43 status=limits_exceeded\n");
	other = pd_draw(self->ctx);
	ASSERT_NE(first, other);
	/* The sequences are fixed, so this cannot come out otherwise another time. */
	ASSERT_TRUE(first && ~first && other && ~other);
	WRITE("clear\nopcode=ALLOC_PD count=all probability=1000 status=limits_exceeded\n");
	ASSERT_EQ(UINT64_MAX, pd_draw(self->ctx));
}

/* The driver hands the syndrome on to who has sent a command of his own. */
TEST_F(faults, syndrome)
{
	uint32_t in[DEVX_ST_SZ_DW(query_hca_cap_in)] = {};
	uint32_t out[DEVX_ST_SZ_DW(query_hca_cap_out)] = {};

	DEVX_SET(query_hca_cap_in, in, opcode, MLX5_CMD_OP_QUERY_HCA_CAP);
	DEVX_SET(query_hca_cap_in, in, op_mod, 1);
	WRITE("opcode=QUERY_HCA_CAP status=bad_resource syndrome=0x600df00d\n"
	      "opcode=QUERY_HCA_CAP status=bad_resource nth=2\n");
	ASSERT_NE(0, mlx5dv_devx_general_cmd(self->ctx, in, sizeof(in), out, sizeof(out)));
	ASSERT_EQ(0x5U, DEVX_GET(query_hca_cap_out, out, status));
	ASSERT_EQ(0x600df00dU, DEVX_GET(query_hca_cap_out, out, syndrome));
	ASSERT_NE(0, mlx5dv_devx_general_cmd(self->ctx, in, sizeof(in), out, sizeof(out)));
	ASSERT_EQ(0x5cf00100U, DEVX_GET(query_hca_cap_out, out, syndrome));
	ASSERT_EQ(0, mlx5dv_devx_general_cmd(self->ctx, in, sizeof(in), out, sizeof(out)));
}

struct slow_pd {
	struct ibv_context *ctx;
	int result;
	int done;
};

static void *slow_pd(void *arg)
{
	struct slow_pd *slow = arg;

	slow->result = pd_cycle(slow->ctx);
	__atomic_store_n(&slow->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * A command that is delayed does not keep the device from work requests: a region
 * is registered by one.  Clearing the rules ends the delay.
 */
TEST_F(faults, delay_keeps_nothing_else)
{
	const struct timespec pause = { .tv_nsec = 2 * 1000 * 1000 };
	struct slow_pd slow = { .ctx = self->ctx };
	static char memory[4096];
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	pthread_t thread;
	int tries;

	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	/* Leaves a key in the driver's pool, so that the next one needs no command. */
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, mr);
	mr_dereg(mr);

	WRITE("opcode=ALLOC_PD delay_ms=600000\n");
	ASSERT_EQ(0, pthread_create(&thread, NULL, slow_pd, &slow));
	for (tries = 0; tries < 5000 && !rule_number(&self->bed.dev, 0, "hits"); tries++)
		nanosleep(&pause, NULL);
	ASSERT_EQ((uint64_t)1, rule_number(&self->bed.dev, 0, "hits"));
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, mr);
	mr_dereg(mr);
	ASSERT_EQ(0, __atomic_load_n(&slow.done, __ATOMIC_ACQUIRE));

	WRITE("clear\n");
	ASSERT_EQ(0, pthread_join(thread, NULL));
	ASSERT_EQ(0, slow.result);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

#define BEGIN(thread, slow) \
	ASSERT_EQ(0, pthread_create(&(thread), NULL, slow_pd, &(slow)))
#define ASSERT_WAITING(slow) \
	ASSERT_EQ(0, __atomic_load_n(&(slow).done, __ATOMIC_ACQUIRE))
#define JOIN(thread, slow) \
do { \
	WAIT_UNTIL(__atomic_load_n(&(slow).done, __ATOMIC_ACQUIRE)); \
	ASSERT_EQ(0, pthread_join(thread, NULL)); \
} while (0)
#define ASSERT_DONE(thread, slow) \
do { \
	JOIN(thread, slow); \
	ASSERT_EQ(0, (slow).result); \
} while (0)

/*
 * A command that is held is not executed; the device works on.  Releasing it is enough,
 * and so is clearing the rules.
 */
TEST_F(faults, hold)
{
	static const char *const ends[] = { "release\n", "clear\n" };
	static char memory[4096];
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	pthread_t thread;
	unsigned int i;

	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	/* Leaves a key in the driver's pool, so that the next one needs no command. */
	mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	ASSERT_NE(NULL, mr);
	mr_dereg(mr);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		struct slow_pd slow = { .ctx = self->ctx };

		WRITE("clear\nopcode=ALLOC_PD hold\n");
		BEGIN(thread, slow);
		WAIT_UNTIL(faults_number(&self->bed.dev, "held") == 1);
		ASSERT_RULE(0, 1, 1);
		mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
		ASSERT_NE(NULL, mr);
		mr_dereg(mr);
		ASSERT_LEDGER(1, "pd");
		ASSERT_WAITING(slow);
		WRITE(ends[i]);
		ASSERT_DONE(thread, slow);
		ASSERT_EQ(0U, faults_number(&self->bed.dev, "held"));
		ASSERT_LEDGER(1, "pd");
	}
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/* One is released, the next one is held, and so on: a test goes from step to step. */
TEST_F(faults, hold_each)
{
	struct slow_pd slow = { .ctx = self->ctx };
	pthread_t thread;

	/* Both commands of the cycle. */
	WRITE("opcode=ALLOC_PD hold count=all\nopcode=DEALLOC_PD hold count=all\n");
	BEGIN(thread, slow);
	WAIT_UNTIL(rule_number(&self->bed.dev, 0, "hits") == 1);
	ASSERT_LEDGER(0, "pd");
	WRITE("release\n");
	WAIT_UNTIL(rule_number(&self->bed.dev, 1, "hits") == 1);
	ASSERT_LEDGER(1, "pd");
	ASSERT_WAITING(slow);
	WRITE("release\n");
	ASSERT_DONE(thread, slow);
	ASSERT_LEDGER(0, "pd");
}

/*
 * A process that is killed while the device does not answer goes when it does, and what
 * it has got by then goes with it.
 */
TEST_F(faults, hold_killed_process)
{
	int status;
	pid_t child;

	WRITE("opcode=ALLOC_PD hold\n");
	child = fork();
	ASSERT_LE(0, child);
	if (!child) {
		struct ibv_context *ctx = device_open(&self->bed.dev);

		_exit(!ctx || !ibv_alloc_pd(ctx));
	}
	WAIT_UNTIL(faults_number(&self->bed.dev, "held") == 1);
	ASSERT_EQ(0, kill(child, SIGKILL));
	/* The driver waits, killed or not: there is nothing to be undone yet. */
	ASSERT_EQ(0, waitpid(child, &status, WNOHANG));
	ASSERT_LEDGER(0, "pd");
	WRITE("release\n");
	WAIT_UNTIL(waitpid(child, &status, WNOHANG) == child);
	ASSERT_TRUE(WIFSIGNALED(status));
	ASSERT_LEDGER(0, "pd");
	ASSERT_LE(1, vhca_count_since(&self->bed.dev, self->seq, VHCA_DEALLOC_PD, VHCA_ANY));
}

/* Executed, and the driver does not know; it learns of it when the rules are cleared. */
TEST_F(faults, no_answer)
{
	struct slow_pd slow = { .ctx = self->ctx };
	pthread_t thread;

	WRITE("opcode=ALLOC_PD no_answer\n");
	BEGIN(thread, slow);
	WAIT_UNTIL(faults_number(&self->bed.dev, "unanswered") == 1);
	ASSERT_LEDGER(1, "pd");
	/* It is not held. */
	WRITE("release\n");
	ASSERT_EQ(1U, faults_number(&self->bed.dev, "unanswered"));
	ASSERT_WAITING(slow);
	WRITE("clear\n");
	ASSERT_DONE(thread, slow);
	ASSERT_EQ(0U, faults_number(&self->bed.dev, "unanswered"));
	ASSERT_LEDGER(0, "pd");
}

/* Executed and answered, and nothing tells the driver. */
TEST_F(faults, drop_interrupt)
{
	static const char *const ends[] = { "release\n", "clear\n" };
	uint64_t events, interrupts;
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		struct slow_pd slow = { .ctx = self->ctx };

		WRITE("clear\nopcode=ALLOC_PD drop_interrupt\n");
		events = stats_number(&self->bed.dev, "events");
		interrupts = stats_number(&self->bed.dev, "interrupts");
		BEGIN(thread, slow);
		WAIT_UNTIL(rule_number(&self->bed.dev, 0, "hits") == 1);
		ASSERT_LEDGER(1, "pd");
		ASSERT_EQ(events + 1, stats_number(&self->bed.dev, "events"));
		ASSERT_EQ(interrupts, stats_number(&self->bed.dev, "interrupts"));
		ASSERT_EQ(0U, faults_number(&self->bed.dev, "unanswered"));
		ASSERT_WAITING(slow);
		WRITE(ends[i]);
		ASSERT_DONE(thread, slow);
		/* The one that was lost, and that of DEALLOC_PD. */
		ASSERT_EQ(interrupts + 2, stats_number(&self->bed.dev, "interrupts"));
	}
}

struct slow_mr {
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	int done;
};

static void *slow_mr(void *arg)
{
	static char memory[4096];
	struct slow_mr *slow = arg;

	slow->mr = ibv_reg_mr(slow->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	__atomic_store_n(&slow->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * The driver's own queue pair does not work: a region is not there before it does, and
 * commands are not kept from anything.
 */
TEST_F(faults, stop_work)
{
	static const char *const ends[] = { "release\n", "clear\n" };
	struct vhca_object before, after;
	pthread_t thread;
	struct ibv_pd *pd;
	unsigned int i;

	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		struct slow_mr slow = { .pd = pd };

		/* Leaves a key in the driver's pool, so that the next one needs no command. */
		slow_mr(&slow);
		ASSERT_NE(NULL, slow.mr);
		ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", mr_mkey(slow.mr), &before));
		ASSERT_EQ(0U, before.free);
		mr_dereg(slow.mr);
		ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", before.id, &after));
		ASSERT_EQ(1U, after.free);

		slow = (struct slow_mr) { .pd = pd };
		/* One that there is not stops nothing. */
		WRITE("queue=0xffffff stop_work\nqueue=any stop_work\n");
		ASSERT_EQ(0, pthread_create(&thread, NULL, slow_mr, &slow));
		WAIT_UNTIL(rule_number(&self->bed.dev, 1, "hits") == 1);
		ASSERT_RULE(0, 0, 0);
		ASSERT_EQ(0, pd_cycle(self->ctx));
		ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", before.id, &after));
		ASSERT_EQ(1U, after.free);
		ASSERT_WAITING(slow);

		WRITE(ends[i]);
		JOIN(thread, slow);
		ASSERT_NE(NULL, slow.mr);
		ASSERT_EQ(before.id, mr_mkey(slow.mr));
		ASSERT_EQ(1, vhca_find(&self->bed.dev, "mkey", before.id, &after));
		ASSERT_EQ(0U, after.free);
		mr_dereg(slow.mr);
		ASSERT_RULES("");
	}
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/* A user's queue pair sends nothing more; what is sent to it arrives all the same. */
TEST_F(faults, stop_work_of_one)
{
	struct connection_options options = connection_defaults;
	struct region from, to;
	struct end a, b;
	struct ibv_wc wc;
	struct ibv_pd *pd;
	char text[64];

	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	end_make(pd, &options, &a);
	end_make(pd, &options, &b);
	end_connect(&a, &b, &options);
	end_connect(&b, &a, &options);
	region_make(pd, 4096, 0, CONNECTION_ALL_ACCESS, &from);
	region_make(pd, 4096, 0, CONNECTION_ALL_ACCESS, &to);
	region_fill(&from, 1);
	region_fill(&to, 2);
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &to);

	snprintf(text, sizeof(text), "queue=%u stop_work\n", a.qp->qp_num);
	WRITE(text);
	post(&a, &wr, &from);
	WAIT_UNTIL(rule_number(&self->bed.dev, 0, "hits") == 1);
	ASSERT_REGION(&to, 2);
	ASSERT_EQ(0, ibv_poll_cq(a.cq, 1, &wc));
	/* A read by the other side is answered, and counted no further. */
	struct ibv_send_wr back = rdma(IBV_WR_RDMA_READ, &from);

	post(&b, &back, &to);
	end_wait(&b, 1, IBV_WC_SUCCESS, &wc);
	ASSERT_REGION(&to, 1);
	region_fill(&to, 2);
	ASSERT_EQ(0, ibv_poll_cq(a.cq, 1, &wc));
	ASSERT_RULE(0, 1, 1);

	WRITE("release\n");
	end_wait(&a, 1, IBV_WC_SUCCESS, &wc);
	ASSERT_REGION(&to, 1);
	region_destroy(&to);
	region_destroy(&from);
	end_destroy(&b);
	end_destroy(&a);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

static int dereg_mr(void *mr)
{
	return ibv_dereg_mr(mr);
}

/* The driver's own queue, by which it changes keys. */
static int umr_queue(const struct device *dev)
{
	struct vhca_file file;
	int number = -1;
	unsigned int i;

	if (vhca_open(dev, "ledger", &file))
		return -1;
	for (i = 0; i < file.count && number < 0; i++)
		if (strstr(file.record[i], " type=reg_umr "))
			number = vhca_number(file.record[i], "id");
	vhca_close(&file);
	return number;
}

/*
 * UOBJ-02: A region's memory belongs to it until its key is none any more: who has unmapped
 * it meanwhile has not given it back, and what the other side writes goes nowhere else.
 */
TEST_F(faults, uobj_02_memory_until_the_key_is_gone)
{
	const size_t len = 16 * 4096;
	const struct connection_options options = connection_defaults;
	struct region from, to = { .len = len };
	struct caller caller;
	struct end a, b;
	struct ibv_wc wc;
	struct ibv_pd *pd;
	char text[64];
	long pinned;

	pd = ibv_alloc_pd(self->ctx);
	ASSERT_NE(NULL, pd);
	end_make(pd, &options, &a);
	end_make(pd, &options, &b);
	end_connect(&a, &b, &options);
	end_connect(&b, &a, &options);
	region_make(pd, len, 0, CONNECTION_ALL_ACCESS, &from);
	to.data = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)to.data);
	to.mr = ibv_reg_mr(pd, to.data, len, CONNECTION_ALL_ACCESS);
	ASSERT_NE(NULL, to.mr);
	struct ibv_send_wr wr = rdma(IBV_WR_RDMA_WRITE, &to);

	ASSERT_LT(0, umr_queue(&self->bed.dev));
	snprintf(text, sizeof(text), "queue=%d stop_work\n", umr_queue(&self->bed.dev));
	WRITE(text);
	pinned = kernel_number("/proc/self/status", "VmPin:");
	ASSERT_LE((long)(len / 1024), pinned);
	caller_start(&caller, dereg_mr, to.mr);
	caller_waits(&caller, "mlx5r_umr_post_send_wait");
	ASSERT_EQ(pinned, kernel_number("/proc/self/status", "VmPin:"));
	ASSERT_EQ(0, munmap(to.data, len));
	/* The key is as it was, and so is where it leads to. */
	post(&a, &wr, &from);
	end_wait(&a, 1, IBV_WC_SUCCESS, &wc);
	ASSERT_EQ(self->bed.before.violations, vhca_violations(&self->bed.dev));
	WRITE("release\n");
	caller_end(&caller, 0);
	ASSERT_EQ(pinned - (long)(len / 1024), kernel_number("/proc/self/status", "VmPin:"));
	region_destroy(&from);
	end_destroy(&b);
	end_destroy(&a);
	ASSERT_EQ(0, ibv_dealloc_pd(pd));
}

/* Four writers and a reader at once: each file that is read is whole. */
TEST_F(faults, concurrent_writers)
{
	pid_t child[4];
	int i, round, status;

	marker_expect("mlx5_vhca: .*: faults: got more than ");
	for (i = 0; i < 4; i++) {
		child[i] = fork();
		ASSERT_LE(0, child[i]);
		if (!child[i]) {
			char text[128];
			int bad = 0;

			snprintf(text, sizeof(text), "%sopcode=%d status=%d\n",
				 i == 3 ? "clear\n" : "", 60000 + i, i + 1);
			for (round = 0; round < 200; round++) {
				int err = vhca_write(&self->bed.dev, "faults", text);

				bad |= err && err != ENOSPC;
			}
			_exit(bad);
		}
	}
	for (i = 0; i < 50; i++)
		EXPECT_STRNE("unreadable", rules(&self->bed.dev));
	for (i = 0; i < 4; i++) {
		ASSERT_EQ(child[i], waitpid(child[i], &status, 0));
		EXPECT_EQ(0, status);
	}
	WRITE("clear\n");
	ASSERT_RULES("");
}

int main(int argc, char **argv)
{
	return bed_main(argc, argv);
}
