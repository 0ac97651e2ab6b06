// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit suite of the command queue: its registers, when an entry is executed,
 * and how messages are gathered from mailboxes and scattered to them.
 *
 * The queue and the mailboxes are memory of the test, which is RAM as the
 * driver's is.  The command is one that no card has, so that nothing but the
 * delivery can fail, or ALLOC_PD where it has to do something.
 */
#include <linux/io.h>
#include <linux/jiffies.h>
#include <linux/mlx5/driver.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "device_kunit.h"

#define BLOCK		MLX5_CMD_DATA_BLOCK_SIZE
#define INLINE_IN	sizeof_field(struct mlx5_cmd_layout, in)
#define INLINE_OUT	sizeof_field(struct mlx5_cmd_layout, out)
#define TOKEN		0x5a
#define UNKNOWN_OPCODE	0xfff

/* Delivery status as mlx5_core names it, in bits 1 to 7 of status_own. */
#define OK		0x0
#define TOKEN_ERR	0x2
#define BLOCK_ERR	0x3
#define OUT_PTR_ERR	0x4
#define IN_PTR_ERR	0x5
#define FW_ERR		0x6
#define IN_LEN_ERR	0x7
#define OUT_LEN_ERR	0x8
#define DESCR_ERR	0x10

/* The queue's sizes in the low byte of its register: 2 entries of 64 bytes. */
#define SIZES		0x16

/**
 * struct bed - a device with a queue
 * @v: the device
 * @queue: the queue's entries
 * @nr: mailbox blocks of a chain
 * @blocks: the blocks
 */
struct bed {
	struct vhca			*v;
	struct mlx5_cmd_layout		*queue;
	unsigned int			nr;
	struct mlx5_cmd_prot_block	*blocks[4];
};

static void free_messages(void *device)
{
	struct vhca *v = device;

	vfree(v->in);
	vfree(v->out);
}

static void iseg_write(struct vhca *v, size_t offset, u32 value)
{
	iowrite32be(value, v->init_segment + offset);
}

static u32 iseg_read(struct vhca *v, size_t offset)
{
	return ioread32be(v->init_segment + offset);
}

#define ISEG_WRITE(_v, _field, _value) \
	iseg_write(_v, offsetof(struct mlx5_init_seg, _field), _value)
#define ISEG_READ(_v, _field) \
	iseg_read(_v, offsetof(struct mlx5_init_seg, _field))

/* Whole pages, as they come from the driver. */
static void *page(struct kunit *test)
{
	void *memory = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	KUNIT_ASSERT_TRUE(test, PAGE_ALIGNED(memory));
	return memory;
}

static struct bed *bed(struct kunit *test)
{
	struct bed *b = kunit_kzalloc(test, sizeof(*b), GFP_KERNEL);
	struct vhca *v = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, b);
	b->v = v;
	v->in = vzalloc(VHCA_MAX_MESSAGE);
	v->out = vzalloc(VHCA_MAX_MESSAGE);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, free_messages, v), 0);
	KUNIT_ASSERT_TRUE(test, v->in && v->out);
	b->queue = page(test);
	vhca_cmdq_reset(v);
	ISEG_WRITE(v, cmdq_addr_h, upper_32_bits(virt_to_phys(b->queue)));
	ISEG_WRITE(v, cmdq_addr_l_sz, lower_32_bits(virt_to_phys(b->queue)));
	KUNIT_ASSERT_EQ(test, vhca_cmdq_request(v), VHCA_REQUEST_ENABLE);
	KUNIT_ASSERT_EQ(test, v->cmdq_dma, virt_to_phys(b->queue));
	return b;
}

/* Fill an entry; its messages begin in the entry itself. */
static struct mlx5_cmd_layout *prepare(struct bed *b, unsigned int i, u16 opcode,
				       u32 in_len, u32 out_len)
{
	struct mlx5_cmd_layout *layout = &b->queue[i];

	*layout = (struct mlx5_cmd_layout) {
		.type		= MLX5_PCI_CMD_XPORT,
		.inlen		= cpu_to_be32(in_len),
		.outlen		= cpu_to_be32(out_len),
		.token		= TOKEN,
		.status_own	= CMD_OWNER_HW,
	};
	layout->in[0] = cpu_to_be32((u32)opcode << 16);
	return layout;
}

/* A chain of blocks, filled with their number; returns where it begins. */
static __be64 chain(struct kunit *test, struct bed *b, unsigned int nr)
{
	unsigned int i;

	KUNIT_ASSERT_LE(test, nr, ARRAY_SIZE(b->blocks));
	b->nr = nr;
	for (i = 0; i < nr; i++) {
		b->blocks[i] = page(test);
		memset(b->blocks[i]->data, 0x10 + i, BLOCK);
		b->blocks[i]->block_num = cpu_to_be32(i);
		b->blocks[i]->token = TOKEN;
		if (i)
			b->blocks[i - 1]->next =
				cpu_to_be64(virt_to_phys(b->blocks[i]));
	}
	return cpu_to_be64(virt_to_phys(b->blocks[0]));
}

static void ring(struct bed *b, u32 entries)
{
	ISEG_WRITE(b->v, cmd_dbell, entries);
}

static bool poll(struct bed *b)
{
	bool did;

	mutex_lock(&b->v->lock);
	did = vhca_cmdq_poll(b->v);
	mutex_unlock(&b->v->lock);
	return did;
}

/* Ring the first entry and have it executed; returns its delivery status. */
static u8 deliver(struct kunit *test, struct bed *b)
{
	ring(b, BIT(0));
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_FALSE(test, b->queue[0].status_own & CMD_OWNER_HW);
	KUNIT_EXPECT_EQ(test, ISEG_READ(b->v, cmd_dbell), 0);
	return b->queue[0].status_own >> 1;
}

static void cmdq_reset_shows_sizes(struct kunit *test)
{
	struct vhca *v = test->priv;

	ISEG_WRITE(v, cmdq_addr_h, 0x1234);
	ISEG_WRITE(v, cmd_dbell, 3);
	v->cmdq_dma = 0x5000;
	v->cmdq_hidden = 3;
	v->cmdq_delayed = 3;
	vhca_cmdq_reset(v);
	KUNIT_EXPECT_EQ(test, ISEG_READ(v, cmdq_addr_l_sz), SIZES);
	KUNIT_EXPECT_EQ(test, ISEG_READ(v, cmdq_addr_h), 0);
	KUNIT_EXPECT_EQ(test, ISEG_READ(v, cmd_dbell), 0);
	KUNIT_EXPECT_EQ(test, v->cmdq_dma, 0);
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_waits(v));
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_rung(v));
	KUNIT_EXPECT_EQ(test, vhca_cmdq_request(v), VHCA_REQUEST_NONE);
}

/* One register is the sizes, the address, and the interface's state. */
static void cmdq_request_reads_register(struct kunit *test)
{
	struct vhca *v = test->priv;

	vhca_cmdq_reset(v);
	ISEG_WRITE(v, cmdq_addr_h, 0x12);
	ISEG_WRITE(v, cmdq_addr_l_sz, 0x34567000);
	KUNIT_EXPECT_TRUE(test, vhca_cmdq_rung(v));
	KUNIT_EXPECT_EQ(test, vhca_cmdq_request(v), VHCA_REQUEST_ENABLE);
	KUNIT_EXPECT_EQ(test, v->cmdq_dma, 0x1234567000ULL);
	/* The next probe finds the sizes, and what was taken is not taken again. */
	KUNIT_EXPECT_EQ(test, ISEG_READ(v, cmdq_addr_l_sz), 0x34567000 | SIZES);
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_rung(v));
	KUNIT_EXPECT_EQ(test, vhca_cmdq_request(v), VHCA_REQUEST_NONE);

	ISEG_WRITE(v, cmdq_addr_l_sz,
		   MLX5_INITIAL_SEG_NIC_INTERFACE_SW_RESET << MLX5_NIC_IFC_OFFSET);
	KUNIT_EXPECT_EQ(test, vhca_cmdq_request(v), VHCA_REQUEST_RESET);
	KUNIT_EXPECT_EQ(test, v->cmdq_dma, 0x1234567000ULL);
	ISEG_WRITE(v, cmdq_addr_l_sz,
		   MLX5_INITIAL_SEG_NIC_INTERFACE_NO_DRAM_NIC << MLX5_NIC_IFC_OFFSET);
	KUNIT_EXPECT_EQ(test, vhca_cmdq_request(v), VHCA_REQUEST_NONE);
	KUNIT_EXPECT_EQ(test, ISEG_READ(v, cmdq_addr_l_sz) & 0xff, SIZES);

	vhca_cmdq_disable(v);
	KUNIT_EXPECT_EQ(test, ISEG_READ(v, cmdq_addr_l_sz), SIZES |
			MLX5_INITIAL_SEG_NIC_INTERFACE_DISABLED <<
			MLX5_NIC_IFC_OFFSET);
	KUNIT_EXPECT_EQ(test, vhca_cmdq_request(v), VHCA_REQUEST_NONE);
}

static void cmdq_executes_inline(struct kunit *test)
{
	struct bed *b = bed(test);
	struct mlx5_cmd_layout *layout = prepare(b, 0, MLX5_CMD_OP_ALLOC_PD,
						 INLINE_IN, INLINE_OUT);

	/* No pointer is looked at when all fits into the entry. */
	layout->in_ptr = cpu_to_be64(1);
	layout->out_ptr = cpu_to_be64(1);
	KUNIT_EXPECT_EQ(test, deliver(test, b), OK);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(layout->out[0]), 0);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(layout->out[2]), 1);
	KUNIT_EXPECT_EQ(test, b->v->ledger.counts[VHCA_PD], 1);
	KUNIT_EXPECT_EQ(test, b->v->recorder.seq, 1);
	/* Nothing is left to do. */
	KUNIT_EXPECT_FALSE(test, poll(b));
	KUNIT_EXPECT_EQ(test, b->v->recorder.seq, 1);
}

/* An entry that the device does not own is not touched, however it is rung. */
static void cmdq_leaves_what_it_does_not_own(struct kunit *test)
{
	struct bed *b = bed(test);
	struct mlx5_cmd_layout *layout = prepare(b, 0, MLX5_CMD_OP_ALLOC_PD,
						 INLINE_IN, INLINE_OUT);
	struct mlx5_cmd_layout before;

	layout->status_own = 0;
	before = *layout;
	ring(b, ~0U);
	poll(b);
	KUNIT_EXPECT_MEMEQ(test, layout, &before, sizeof(before));
	KUNIT_EXPECT_EQ(test, b->v->recorder.seq, 0);
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_waits(b->v));
}

/* One that is owned and was not rung is not executed yet. */
static void cmdq_waits_for_ring(struct kunit *test)
{
	struct bed *b = bed(test);

	prepare(b, 0, MLX5_CMD_OP_ALLOC_PD, INLINE_IN, INLINE_OUT);
	KUNIT_EXPECT_FALSE(test, poll(b));
	KUNIT_EXPECT_EQ(test, b->v->recorder.seq, 0);
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, CMD_OWNER_HW);
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_waits(b->v));
}

/* The ring of one may have hidden the other's; that is taken after some time. */
static void cmdq_takes_hidden_after_grace(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca *v = b->v;

	prepare(b, 0, MLX5_CMD_OP_ALLOC_PD, INLINE_IN, INLINE_OUT);
	prepare(b, 1, MLX5_CMD_OP_ALLOC_XRCD, INLINE_IN, INLINE_OUT);
	ring(b, BIT(1));
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, v->recorder.seq, 1);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_XRCD], 1);
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, CMD_OWNER_HW);
	KUNIT_EXPECT_TRUE(test, vhca_cmdq_waits(v));
	/* Before its time nothing happens, after it the command does. */
	v->cmdq_hidden_since = jiffies + HZ;
	KUNIT_EXPECT_FALSE(test, poll(b));
	KUNIT_EXPECT_EQ(test, v->recorder.seq, 1);
	v->cmdq_hidden_since = jiffies - HZ;
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, v->recorder.seq, 2);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 1);
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_waits(v));
}

/* One that the driver has taken back meanwhile is forgotten. */
static void cmdq_forgets_hidden_taken_back(struct kunit *test)
{
	struct bed *b = bed(test);

	prepare(b, 0, MLX5_CMD_OP_ALLOC_PD, INLINE_IN, INLINE_OUT);
	ring(b, BIT(1));
	poll(b);
	KUNIT_EXPECT_TRUE(test, vhca_cmdq_waits(b->v));
	b->queue[0].status_own = 0;
	poll(b);
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_waits(b->v));
	KUNIT_EXPECT_EQ(test, b->v->recorder.seq, 0);
}

static void cmdq_delays_as_fault_wants(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca *v = b->v;
	char rule[] = "opcode=ALLOC_PD delay_ms=600000 status=limits_exceeded";

	KUNIT_ASSERT_EQ(test, vhca_fault_write(v, rule), 0);
	prepare(b, 0, MLX5_CMD_OP_ALLOC_PD, INLINE_IN, INLINE_OUT);
	ring(b, BIT(0));
	poll(b);
	KUNIT_EXPECT_EQ(test, v->recorder.seq, 0);
	KUNIT_EXPECT_TRUE(test, vhca_cmdq_waits(v));
	KUNIT_EXPECT_EQ(test, v->cmdq_entries[0].due_ns - v->cmdq_entries[0].taken_ns,
			600000ULL * NSEC_PER_MSEC);
	/* The other entry does not wait for it. */
	prepare(b, 1, MLX5_CMD_OP_ALLOC_XRCD, INLINE_IN, INLINE_OUT);
	ring(b, BIT(1));
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, v->recorder.seq, 1);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_XRCD], 1);
	/* A second ring of it is not a second command. */
	ring(b, BIT(0));
	poll(b);
	KUNIT_EXPECT_EQ(test, v->recorder.seq, 1);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].seen, 1);

	vhca_cmdq_hurry(v);
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, v->recorder.seq, 2);
	/* The fault is as it was when it was rung. */
	KUNIT_EXPECT_EQ(test, be32_to_cpu(b->queue[0].out[0]) >> 24,
			MLX5_CMD_STAT_LIM_ERR);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 0);
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_waits(v));
}

static void write_rule(struct kunit *test, const char *text)
{
	char *copy = kunit_kstrdup(test, text, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, copy);
	KUNIT_ASSERT_EQ(test, vhca_fault_write(test->priv, copy), 0);
}

/* What is held is not executed before it is released, and then once. */
static void cmdq_holds_until_release(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca *v = b->v;

	write_rule(test, "opcode=ALLOC_PD hold");
	prepare(b, 0, MLX5_CMD_OP_ALLOC_PD, INLINE_IN, INLINE_OUT);
	ring(b, BIT(0));
	poll(b);
	KUNIT_EXPECT_FALSE(test, poll(b));
	KUNIT_EXPECT_EQ(test, v->recorder.seq, 0);
	KUNIT_EXPECT_EQ(test, vhca_cmdq_held(v), 1);
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, CMD_OWNER_HW);
	/* Page commands go on. */
	prepare(b, 1, MLX5_CMD_OP_ALLOC_XRCD, INLINE_IN, INLINE_OUT);
	ring(b, BIT(1));
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_XRCD], 1);
	write_rule(test, "release");
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, 0);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 1);
	KUNIT_EXPECT_EQ(test, vhca_cmdq_held(v), 0);
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_waits(v));
	KUNIT_EXPECT_FALSE(test, poll(b));
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 1);
}

/* Executed at once and answered only when the rules go; a release is not enough. */
static void cmdq_does_not_answer(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca *v = b->v;

	write_rule(test, "opcode=ALLOC_PD no_answer");
	prepare(b, 0, MLX5_CMD_OP_ALLOC_PD, INLINE_IN, INLINE_OUT);
	ring(b, BIT(0));
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 1);
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, CMD_OWNER_HW);
	KUNIT_EXPECT_FALSE(test, poll(b));
	write_rule(test, "release");
	KUNIT_EXPECT_FALSE(test, poll(b));
	/* A second ring of it is not a second command. */
	ring(b, BIT(0));
	poll(b);
	KUNIT_EXPECT_EQ(test, v->recorder.seq, 1);
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, CMD_OWNER_HW);
	write_rule(test, "clear");
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, 0);
	KUNIT_EXPECT_EQ(test, v->recorder.seq, 1);
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_waits(v));
}

/* With a status it is not executed either, and after a reset forgotten. */
static void cmdq_forgets_unanswered(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca *v = b->v;

	write_rule(test, "opcode=ALLOC_PD no_answer status=limits_exceeded");
	prepare(b, 0, MLX5_CMD_OP_ALLOC_PD, INLINE_IN, INLINE_OUT);
	ring(b, BIT(0));
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 0);
	KUNIT_EXPECT_TRUE(test, vhca_cmdq_waits(v));
	vhca_cmdq_reset(v);
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_waits(v));
	write_rule(test, "clear");
	KUNIT_EXPECT_FALSE(test, poll(b));
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, CMD_OWNER_HW);
}

/* The driver has freed the messages of a command that it has given up. */
static void cmdq_does_not_execute_given_up(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca *v = b->v;

	v->params.cmd_timeout_ms = 1000;
	write_rule(test, "opcode=ALLOC_PD hold count=2");
	prepare(b, 0, MLX5_CMD_OP_ALLOC_PD, INLINE_IN + BLOCK, INLINE_OUT);
	b->queue[0].in_ptr = chain(test, b, 1);
	ring(b, BIT(0));
	poll(b);
	v->cmdq_entries[0].taken_ns -= NSEC_PER_SEC;
	write_rule(test, "release");
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, FW_ERR << 1);
	KUNIT_EXPECT_EQ(test, v->recorder.seq, 0);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 0);
	/* One that it still waits for is executed. */
	prepare(b, 0, MLX5_CMD_OP_ALLOC_PD, INLINE_IN, INLINE_OUT);
	ring(b, BIT(0));
	poll(b);
	v->cmdq_entries[0].taken_ns -= NSEC_PER_SEC / 2;
	v->params.cmd_timeout_ms = 60000;
	write_rule(test, "release");
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, 0);
	KUNIT_EXPECT_EQ(test, v->ledger.counts[VHCA_PD], 1);
}

/* Rules see the modifier, and the object also where it is in a mailbox. */
static void cmdq_shows_rules_the_command(struct kunit *test)
{
	struct bed *b = bed(test);
	struct vhca *v = b->v;
	__be64 address = cpu_to_be64(0x2003000);

	write_rule(test, "opcode=MODIFY_MEMIC op_mod=1 object=0x2003000 status=limits_exceeded");
	prepare(b, 0, MLX5_CMD_OP_MODIFY_MEMIC, 64, INLINE_OUT);
	b->queue[0].in[1] = cpu_to_be32(1);
	b->queue[0].in_ptr = chain(test, b, 1);
	memcpy(b->blocks[0]->data, &address, sizeof(address));
	deliver(test, b);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].hits, 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(b->queue[0].out[0]) >> 24,
			MLX5_CMD_STAT_LIM_ERR);

	write_rule(test, "clear\nopcode=any op_mod=7 object=9 status=1 syndrome=0x1234");
	prepare(b, 0, MLX5_CMD_OP_DEALLOC_PD, INLINE_IN, INLINE_OUT);
	b->queue[0].in[1] = cpu_to_be32(7);
	b->queue[0].in[2] = cpu_to_be32(9);
	deliver(test, b);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].hits, 1);
	KUNIT_EXPECT_EQ(test, be32_to_cpu(b->queue[0].out[1]), 0x1234);

	/* A chain that leads nowhere names nothing, and is refused as ever. */
	write_rule(test, "clear\nopcode=MODIFY_MEMIC status=limits_exceeded");
	prepare(b, 0, MLX5_CMD_OP_MODIFY_MEMIC, 64, INLINE_OUT);
	b->queue[0].in_ptr = cpu_to_be64(BIT_ULL(51));
	KUNIT_EXPECT_EQ(test, deliver(test, b), IN_PTR_ERR);
	KUNIT_EXPECT_EQ(test, v->faults.rules[0].hits, 1);
}

static void cmdq_without_queue_does_nothing(struct kunit *test)
{
	struct bed *b = bed(test);

	prepare(b, 0, MLX5_CMD_OP_ALLOC_PD, INLINE_IN, INLINE_OUT);
	vhca_cmdq_reset(b->v);
	ring(b, BIT(0));
	KUNIT_EXPECT_FALSE(test, poll(b));
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, CMD_OWNER_HW);
	KUNIT_EXPECT_EQ(test, b->v->recorder.seq, 0);
	/* Nor with one that is no RAM. */
	b->v->cmdq_dma = BIT_ULL(51);
	b->v->cmdq_hidden = 3;
	ring(b, BIT(0));
	KUNIT_EXPECT_FALSE(test, poll(b));
	KUNIT_EXPECT_FALSE(test, vhca_cmdq_waits(b->v));
}

/* DISABLE_HCA takes the queue away under the entry behind it. */
static void cmdq_ends_with_disable(struct kunit *test)
{
	struct bed *b = bed(test);

	prepare(b, 0, MLX5_CMD_OP_DISABLE_HCA,
		vhca_command_find(MLX5_CMD_OP_DISABLE_HCA)->in_size,
		vhca_command_find(MLX5_CMD_OP_DISABLE_HCA)->out_size);
	prepare(b, 1, MLX5_CMD_OP_ALLOC_PD, INLINE_IN, INLINE_OUT);
	ring(b, 3);
	KUNIT_EXPECT_TRUE(test, poll(b));
	KUNIT_EXPECT_EQ(test, b->queue[0].status_own, 0);
	KUNIT_EXPECT_EQ(test, b->queue[1].status_own, CMD_OWNER_HW);
	KUNIT_EXPECT_EQ(test, b->v->recorder.seq, 1);
	KUNIT_EXPECT_EQ(test, b->v->cmdq_dma, 0);
}

static void cmdq_refuses_descriptor(struct kunit *test)
{
	struct bed *b = bed(test);
	static const struct { u32 in, out; u8 status; } lengths[] = {
		{ 0, INLINE_OUT, IN_LEN_ERR },
		{ INLINE_IN - 1, INLINE_OUT, IN_LEN_ERR },
		{ VHCA_MAX_MESSAGE + 1, INLINE_OUT, IN_LEN_ERR },
		{ U32_MAX, INLINE_OUT, IN_LEN_ERR },
		{ INLINE_IN, 0, OUT_LEN_ERR },
		{ INLINE_IN, 7, OUT_LEN_ERR },
		{ INLINE_IN, 8, OK },
		{ INLINE_IN, VHCA_MAX_MESSAGE + 1, OUT_LEN_ERR },
		{ INLINE_IN, U32_MAX, OUT_LEN_ERR },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		prepare(b, 0, UNKNOWN_OPCODE, lengths[i].in, lengths[i].out);
		KUNIT_EXPECT_EQ_MSG(test, deliver(test, b), lengths[i].status,
				    "in %u, out %u", lengths[i].in, lengths[i].out);
	}
	prepare(b, 0, UNKNOWN_OPCODE, INLINE_IN, INLINE_OUT)->type = 0;
	KUNIT_EXPECT_EQ(test, deliver(test, b), DESCR_ERR);
	/* What is refused here is no command; one was taken. */
	KUNIT_EXPECT_EQ(test, b->v->recorder.seq, 1);
}

/* Lengths about the borders of the entry and of each block. */
static void cmdq_gathers_input(struct kunit *test)
{
	static const u32 lengths[] = {
		INLINE_IN, INLINE_IN + 1, INLINE_IN + BLOCK - 1, INLINE_IN + BLOCK,
		INLINE_IN + BLOCK + 1, INLINE_IN + 2 * BLOCK,
		INLINE_IN + 2 * BLOCK + 7,
	};
	struct bed *b = bed(test);
	__be64 begin = chain(test, b, 3);
	u8 *in = b->v->in;
	unsigned int i, at;
	u8 wrong;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(in, 0xee, SZ_4K);
		prepare(b, 0, UNKNOWN_OPCODE, lengths[i], 8)->in_ptr = begin;
		KUNIT_ASSERT_EQ_MSG(test, deliver(test, b), OK, "length %u",
				    lengths[i]);
		KUNIT_EXPECT_MEMEQ(test, in, b->queue[0].in, INLINE_IN);
		wrong = 0;
		for (at = INLINE_IN; at < lengths[i]; at++)
			wrong |= in[at] ^ (0x10 + (at - INLINE_IN) / BLOCK);
		KUNIT_EXPECT_EQ_MSG(test, wrong, 0, "length %u", lengths[i]);
		KUNIT_EXPECT_EQ_MSG(test, in[lengths[i]], 0xee, "length %u",
				    lengths[i]);
	}
}

/* A chain that is longer than the message is not followed to its end. */
static void cmdq_gathers_no_further(struct kunit *test)
{
	struct bed *b = bed(test);
	__be64 begin = chain(test, b, 2);

	b->blocks[1]->token = ~TOKEN;
	prepare(b, 0, UNKNOWN_OPCODE, INLINE_IN + BLOCK, 8)->in_ptr = begin;
	KUNIT_EXPECT_EQ(test, deliver(test, b), OK);
	prepare(b, 0, UNKNOWN_OPCODE, INLINE_IN + BLOCK + 1, 8)->in_ptr = begin;
	KUNIT_EXPECT_EQ(test, deliver(test, b), TOKEN_ERR);
}

static void cmdq_gather_refuses_chain(struct kunit *test)
{
	struct bed *b = bed(test);
	__be64 begin = chain(test, b, 2);
	const u32 length = INLINE_IN + 2 * BLOCK;

	prepare(b, 0, UNKNOWN_OPCODE, length, 8);
	KUNIT_EXPECT_EQ(test, deliver(test, b), IN_PTR_ERR);
	/* The chain ends too early. */
	prepare(b, 0, UNKNOWN_OPCODE, length + 1, 8)->in_ptr = begin;
	KUNIT_EXPECT_EQ(test, deliver(test, b), IN_PTR_ERR);
	/* It leads back to its begin. */
	b->blocks[1]->next = begin;
	prepare(b, 0, UNKNOWN_OPCODE, length + 1, 8)->in_ptr = begin;
	KUNIT_EXPECT_EQ(test, deliver(test, b), BLOCK_ERR);
	b->blocks[1]->next = 0;
	/* Another command's block. */
	b->blocks[1]->token = TOKEN + 1;
	prepare(b, 0, UNKNOWN_OPCODE, length, 8)->in_ptr = begin;
	KUNIT_EXPECT_EQ(test, deliver(test, b), TOKEN_ERR);
	b->blocks[1]->token = TOKEN;
	/* Two blocks in the wrong order. */
	b->blocks[1]->block_num = cpu_to_be32(0);
	prepare(b, 0, UNKNOWN_OPCODE, length, 8)->in_ptr = begin;
	KUNIT_EXPECT_EQ(test, deliver(test, b), BLOCK_ERR);
	/* None of them was a command; with a good chain it is one. */
	KUNIT_EXPECT_EQ(test, b->v->recorder.seq, 0);
	b->blocks[1]->block_num = cpu_to_be32(1);
	prepare(b, 0, UNKNOWN_OPCODE, length, 8)->in_ptr = begin;
	KUNIT_EXPECT_EQ(test, deliver(test, b), OK);
	KUNIT_EXPECT_EQ(test, b->v->recorder.seq, 1);
}

/* The answer is in the entry, then in the blocks, and not behind its end. */
static void cmdq_scatters_output(struct kunit *test)
{
	static const u32 lengths[] = {
		8, INLINE_OUT - 1, INLINE_OUT, INLINE_OUT + 1,
		INLINE_OUT + BLOCK - 1, INLINE_OUT + BLOCK, INLINE_OUT + BLOCK + 1,
		INLINE_OUT + 2 * BLOCK, INLINE_OUT + 2 * BLOCK + 7,
	};
	struct bed *b = bed(test);
	__be64 begin = chain(test, b, 3);
	unsigned int i, n, used;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct mlx5_cmd_layout *layout;
		u32 left = lengths[i];

		for (n = 0; n < b->nr; n++) {
			memset(b->blocks[n]->data, 0xee, BLOCK);
			b->blocks[n]->token = ~TOKEN;
		}
		/* What an earlier command has left is not answered. */
		memset(b->v->out, 0xdd, SZ_4K);
		layout = prepare(b, 0, UNKNOWN_OPCODE, INLINE_IN, lengths[i]);
		memset(layout->out, 0xee, INLINE_OUT);
		layout->out_ptr = begin;
		KUNIT_ASSERT_EQ_MSG(test, deliver(test, b), OK, "length %u",
				    lengths[i]);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(layout->out[0]) >> 24,
				MLX5_CMD_STAT_BAD_OP_ERR);
		KUNIT_EXPECT_EQ(test, be32_to_cpu(layout->out[1]),
				VHCA_SYNDROME | UNKNOWN_OPCODE);
		used = min_t(u32, left, INLINE_OUT);
		KUNIT_EXPECT_NULL(test, memchr_inv((u8 *)layout->out + 8, 0, used - 8));
		KUNIT_EXPECT_NULL(test, memchr_inv((u8 *)layout->out + used, 0xee,
						   INLINE_OUT - used));
		left -= used;
		for (n = 0; n < b->nr; n++) {
			used = min_t(u32, left, BLOCK);
			KUNIT_EXPECT_NULL_MSG(test, memchr_inv(b->blocks[n]->data, 0,
							       used),
					      "length %u, block %u", lengths[i], n);
			KUNIT_EXPECT_NULL_MSG(test,
					      memchr_inv(b->blocks[n]->data + used,
							 0xee, BLOCK - used),
					      "length %u, block %u", lengths[i], n);
			KUNIT_EXPECT_EQ_MSG(test, b->blocks[n]->token,
					    used ? TOKEN : (u8)~TOKEN,
					    "length %u, block %u", lengths[i], n);
			left -= used;
		}
	}
}

static void cmdq_scatter_refuses_chain(struct kunit *test)
{
	struct bed *b = bed(test);
	__be64 begin = chain(test, b, 1);

	prepare(b, 0, UNKNOWN_OPCODE, INLINE_IN, INLINE_OUT + 1);
	KUNIT_EXPECT_EQ(test, deliver(test, b), OUT_PTR_ERR);
	prepare(b, 0, UNKNOWN_OPCODE, INLINE_IN, INLINE_OUT + BLOCK + 1)->out_ptr = begin;
	KUNIT_EXPECT_EQ(test, deliver(test, b), OUT_PTR_ERR);
	/* The command was executed all the same. */
	KUNIT_EXPECT_EQ(test, b->v->recorder.seq, 2);
}

/* The longest messages that there are, in a chain that is one block. */
static void cmdq_longest_messages_are_bounded(struct kunit *test)
{
	struct bed *b = bed(test);
	__be64 begin = chain(test, b, 1);
	struct mlx5_cmd_layout *layout;

	b->blocks[0]->next = begin;
	layout = prepare(b, 0, UNKNOWN_OPCODE, VHCA_MAX_MESSAGE, 8);
	layout->in_ptr = begin;
	KUNIT_EXPECT_EQ(test, deliver(test, b), BLOCK_ERR);
	/* Nobody counts the output's blocks: the length alone ends the walk. */
	layout = prepare(b, 0, UNKNOWN_OPCODE, INLINE_IN, VHCA_MAX_MESSAGE);
	layout->out_ptr = begin;
	KUNIT_EXPECT_EQ(test, deliver(test, b), OK);
}

static struct kunit_case vhca_cmdq_cases[] = {
	KUNIT_CASE(cmdq_reset_shows_sizes),
	KUNIT_CASE(cmdq_request_reads_register),
	KUNIT_CASE(cmdq_executes_inline),
	KUNIT_CASE(cmdq_leaves_what_it_does_not_own),
	KUNIT_CASE(cmdq_waits_for_ring),
	KUNIT_CASE(cmdq_takes_hidden_after_grace),
	KUNIT_CASE(cmdq_forgets_hidden_taken_back),
	KUNIT_CASE(cmdq_delays_as_fault_wants),
	KUNIT_CASE(cmdq_holds_until_release),
	KUNIT_CASE(cmdq_does_not_answer),
	KUNIT_CASE(cmdq_forgets_unanswered),
	KUNIT_CASE(cmdq_does_not_execute_given_up),
	KUNIT_CASE(cmdq_shows_rules_the_command),
	KUNIT_CASE(cmdq_without_queue_does_nothing),
	KUNIT_CASE(cmdq_ends_with_disable),
	KUNIT_CASE(cmdq_refuses_descriptor),
	KUNIT_CASE(cmdq_gathers_input),
	KUNIT_CASE(cmdq_gathers_no_further),
	KUNIT_CASE(cmdq_gather_refuses_chain),
	KUNIT_CASE(cmdq_scatters_output),
	KUNIT_CASE(cmdq_scatter_refuses_chain),
	KUNIT_CASE(cmdq_longest_messages_are_bounded),
	{}
};

static struct kunit_suite vhca_cmdq_suite = {
	.name		= "mlx5_vhca_cmdq",
	.init		= vhca_kunit_init,
	.test_cases	= vhca_cmdq_cases,
};

kunit_test_suite(vhca_cmdq_suite);
