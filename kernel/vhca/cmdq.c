// SPDX-License-Identifier: GPL-2.0
/*
 * The command queue: doorbell, entries, mailboxes.
 *
 * The doorbell is memory, and each ring overwrites the one before.  An entry
 * must not be executed before it was rung: mlx5_core sets the ownership bit
 * first and only then accounts for the command (cmd_work_handler()), or even
 * decides not to send it.  So the queue has just two entries: a regular one,
 * which is rung again only after it has completed, and the one for page
 * commands.  If the ring of one hid the other's, the owned entry is taken
 * after a grace period.
 *
 * So a regular command that a fault holds back holds all others back as well:
 * the driver sends none before it is answered or given up.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/ktime.h>
#include <linux/mlx5/driver.h>

#include "vhca.h"

#define VHCA_CMDQ_LOG_STRIDE	6	/* one struct mlx5_cmd_layout */
#define VHCA_CMDQ_SIZES		(VHCA_CMDQ_LOG_ENTRIES << 4 | \
				 VHCA_CMDQ_LOG_STRIDE)
#define VHCA_CMDQ_SIZES_MASK	0xff
#define VHCA_CMDQ_ADDRESS_MASK	(~0xfff)
#define VHCA_CMDQ_GRACE		(HZ / 10)

/* Delivery status: what mlx5_core calls MLX5_CMD_DELIVERY_STAT_*. */
enum vhca_delivery {
	VHCA_DELIVERY_OK		= 0x0,
	VHCA_DELIVERY_TOKEN		= 0x2,
	VHCA_DELIVERY_BLOCK_NUMBER	= 0x3,
	VHCA_DELIVERY_OUT_POINTER	= 0x4,
	VHCA_DELIVERY_IN_POINTER	= 0x5,
	VHCA_DELIVERY_FIRMWARE		= 0x6,
	VHCA_DELIVERY_IN_LENGTH		= 0x7,
	VHCA_DELIVERY_OUT_LENGTH	= 0x8,
	VHCA_DELIVERY_DESCRIPTOR	= 0x10,
};

static u32 vhca_iseg_read(struct vhca *v, size_t offset)
{
	return ioread32be(v->init_segment + offset);
}

static void vhca_iseg_write(struct vhca *v, size_t offset, u32 value)
{
	iowrite32be(value, v->init_segment + offset);
}

#define VHCA_CMDQ_LOW	offsetof(struct mlx5_init_seg, cmdq_addr_l_sz)
#define VHCA_CMDQ_HIGH	offsetof(struct mlx5_init_seg, cmdq_addr_h)
#define VHCA_DOORBELL	offsetof(struct mlx5_init_seg, cmd_dbell)

/**
 * vhca_cmdq_reset - forget the command queue
 * @v: the device
 *
 * The driver frees the queue after DISABLE_HCA.
 *
 * Context: vhca.lock held, or before the firmware thread runs
 */
void vhca_cmdq_reset(struct vhca *v)
{
	v->cmdq_dma = 0;
	v->cmdq_hidden = 0;
	v->cmdq_delayed = 0;
	v->cmdq_unanswered = 0;
	bitmap_zero(v->dropped, VHCA_MAX_VECTORS);
	vhca_iseg_write(v, VHCA_CMDQ_HIGH, 0);
	vhca_iseg_write(v, VHCA_CMDQ_LOW, VHCA_CMDQ_SIZES);
	vhca_iseg_write(v, VHCA_DOORBELL, 0);
}

/**
 * vhca_cmdq_disable - show the interface as disabled, which it is after a
 *	reset until a driver gives it a queue
 * @v: the device
 *
 * Context: vhca.lock held
 */
void vhca_cmdq_disable(struct vhca *v)
{
	vhca_iseg_write(v, VHCA_CMDQ_LOW, VHCA_CMDQ_SIZES |
			MLX5_INITIAL_SEG_NIC_INTERFACE_DISABLED <<
			MLX5_NIC_IFC_OFFSET);
}

/**
 * vhca_cmdq_request - see whether the driver has written the queue's register
 * @v: the device
 *
 * One register is read for the queue's sizes and the interface's state, and
 * written with the queue's address (mlx5_cmd_enable()) or another state
 * (mlx5_set_nic_state()).  In memory what is written overwrites the sizes: take
 * it and put the sizes back, or the next probe would not find them.
 *
 * Context: firmware thread, vhca.lock held
 * Return: what the driver wants
 */
enum vhca_request vhca_cmdq_request(struct vhca *v)
{
	u32 low = vhca_iseg_read(v, VHCA_CMDQ_LOW);
	u32 state = low >> MLX5_NIC_IFC_OFFSET & 7;

	if ((low & VHCA_CMDQ_SIZES_MASK) == VHCA_CMDQ_SIZES)
		return VHCA_REQUEST_NONE;
	low &= ~VHCA_CMDQ_SIZES_MASK;
	vhca_iseg_write(v, VHCA_CMDQ_LOW, low | VHCA_CMDQ_SIZES);
	switch (state) {
	case MLX5_INITIAL_SEG_NIC_INTERFACE_FULL_DRIVER:
		v->cmdq_dma = (u64)vhca_iseg_read(v, VHCA_CMDQ_HIGH) << 32 |
			      (low & VHCA_CMDQ_ADDRESS_MASK);
		return VHCA_REQUEST_ENABLE;
	case MLX5_INITIAL_SEG_NIC_INTERFACE_SW_RESET:
		return VHCA_REQUEST_RESET;
	default:
		return VHCA_REQUEST_NONE;
	}
}

/**
 * vhca_cmdq_rung - has the driver written to the registers of the queue?
 * @v: the device
 *
 * Context: any
 * Return: true if vhca_cmdq_poll() would find something new
 */
bool vhca_cmdq_rung(struct vhca *v)
{
	return vhca_iseg_read(v, VHCA_DOORBELL) ||
	       (vhca_iseg_read(v, VHCA_CMDQ_LOW) & VHCA_CMDQ_SIZES_MASK) !=
	       VHCA_CMDQ_SIZES;
}

/**
 * vhca_cmdq_waits - is there a command that is executed later without a ring?
 * @v: the device
 *
 * Context: firmware thread
 * Return: true if vhca_cmdq_poll() is to be called although nothing is rung
 */
bool vhca_cmdq_waits(struct vhca *v)
{
	return v->cmdq_hidden || v->cmdq_delayed || v->cmdq_unanswered;
}

/**
 * vhca_cmdq_held - how many commands wait for being released
 * @v: the device
 *
 * Context: vhca.lock held
 * Return: the count
 */
unsigned int vhca_cmdq_held(struct vhca *v)
{
	unsigned int i, held = 0;

	for_each_set_bit(i, &v->cmdq_delayed, VHCA_CMDQ_ENTRIES)
		held += v->cmdq_entries[i].due_ns == VHCA_NEVER;
	return held;
}

/**
 * vhca_cmdq_release - have the commands executed that are held
 * @v: the device
 *
 * Context: vhca.lock held
 */
void vhca_cmdq_release(struct vhca *v)
{
	unsigned int i;

	for_each_set_bit(i, &v->cmdq_delayed, VHCA_CMDQ_ENTRIES)
		if (v->cmdq_entries[i].due_ns == VHCA_NEVER)
			v->cmdq_entries[i].due_ns = 0;
}

/**
 * vhca_cmdq_hurry - have all commands executed and answered that wait for it
 * @v: the device
 *
 * Context: vhca.lock held
 */
void vhca_cmdq_hurry(struct vhca *v)
{
	unsigned int i;

	for (i = 0; i < VHCA_CMDQ_ENTRIES; i++)
		v->cmdq_entries[i].due_ns = 0;
}

/*
 * Mailboxes are a chain of blocks.  The length bounds the walk, so a loop in
 * the chain does no harm; token and block number catch a wrong chain.
 */
static enum vhca_delivery vhca_gather(struct vhca *v, void *to, u32 len,
				      const struct mlx5_cmd_layout *layout)
{
	u64 next = be64_to_cpu(layout->in_ptr);
	u32 n = min_t(u32, len, sizeof(layout->in));
	u32 number;

	memcpy(to, layout->in, n);
	for (number = 0; len -= n; number++) {
		const struct mlx5_cmd_prot_block *block;

		to += n;
		block = vhca_dma_pointer(v, next, sizeof(*block));
		if (!block)
			return VHCA_DELIVERY_IN_POINTER;
		if (block->token != layout->token)
			return VHCA_DELIVERY_TOKEN;
		if (be32_to_cpu(block->block_num) != number)
			return VHCA_DELIVERY_BLOCK_NUMBER;
		n = min_t(u32, len, MLX5_CMD_DATA_BLOCK_SIZE);
		memcpy(to, block->data, n);
		next = be64_to_cpu(block->next);
	}
	return VHCA_DELIVERY_OK;
}

static enum vhca_delivery vhca_scatter(struct vhca *v, const void *from,
				       u32 len, struct mlx5_cmd_layout *layout)
{
	u64 next = be64_to_cpu(layout->out_ptr);
	u32 n = min_t(u32, len, sizeof(layout->out));

	memcpy(layout->out, from, n);
	while (len -= n) {
		struct mlx5_cmd_prot_block *block;

		from += n;
		block = vhca_dma_pointer(v, next, sizeof(*block));
		if (!block)
			return VHCA_DELIVERY_OUT_POINTER;
		n = min_t(u32, len, MLX5_CMD_DATA_BLOCK_SIZE);
		memcpy(block->data, from, n);
		block->token = layout->token;
		next = be64_to_cpu(block->next);
	}
	return VHCA_DELIVERY_OK;
}

static enum vhca_delivery vhca_cmdq_execute(struct vhca *v,
					    const struct vhca_cmdq_entry *entry,
					    struct mlx5_cmd_layout *layout)
{
	struct vhca_cmd cmd = {
		.ns	 = entry->taken_ns,
		.fault	 = entry->effect,
		.in	 = v->in,
		.in_len	 = be32_to_cpu(layout->inlen),
		.out	 = v->out,
		.out_len = be32_to_cpu(layout->outlen),
	};
	enum vhca_delivery delivery;

	if (layout->type != MLX5_PCI_CMD_XPORT)
		return VHCA_DELIVERY_DESCRIPTOR;
	if (cmd.in_len < sizeof(layout->in) || cmd.in_len > VHCA_MAX_MESSAGE)
		return VHCA_DELIVERY_IN_LENGTH;
	if (cmd.out_len < sizeof(layout->out) / 2 ||
	    cmd.out_len > VHCA_MAX_MESSAGE)
		return VHCA_DELIVERY_OUT_LENGTH;
	delivery = vhca_gather(v, cmd.in, cmd.in_len, layout);
	if (delivery)
		return delivery;
	memset(cmd.out, 0, cmd.out_len);
	vhca_command_execute(v, &cmd);
	return vhca_scatter(v, cmd.out, cmd.out_len, layout);
}

/* Should this entry, which the device owns, be executed now? */
static bool vhca_cmdq_due(struct vhca *v, unsigned int i, u32 rung)
{
	if (rung & BIT(i))
		return true;
	if (!(v->cmdq_hidden & BIT(i))) {
		/* Only the ring of another entry can have hidden its own. */
		if (rung) {
			v->cmdq_hidden |= BIT(i);
			v->cmdq_hidden_since = jiffies;
		}
		return false;
	}
	return time_after(jiffies, v->cmdq_hidden_since + VHCA_CMDQ_GRACE);
}

/* What rules look at.  All commands have their opcode in the first half word. */
static struct vhca_fault_subject
vhca_cmdq_subject(struct vhca *v, const struct mlx5_cmd_layout *layout)
{
	u32 head[VHCA_COMMAND_HEAD / sizeof(u32)] = {};
	u32 len = min_t(u32, be32_to_cpu(layout->inlen), sizeof(head));

	/* One that cannot be delivered names nothing, and fails when executed. */
	if (len < sizeof(layout->in) || vhca_gather(v, head, len, layout))
		memcpy(head, layout->in, sizeof(head[0]));
	return (struct vhca_fault_subject) {
		.opcode	= MLX5_GET(alloc_pd_in, head, opcode),
		.op_mod	= MLX5_GET(alloc_pd_in, head, op_mod),
		.object	= vhca_command_object(head),
	};
}

/*
 * Take an entry that is due, and find out what is to happen to it.  Returns
 * false if it is to be executed later; the other entry, work queues and other
 * devices do not wait for that.
 */
static bool vhca_cmdq_take(struct vhca *v, unsigned int i,
			   const struct mlx5_cmd_layout *layout)
{
	struct vhca_fault_subject subject = vhca_cmdq_subject(v, layout);
	struct vhca_cmdq_entry *entry = &v->cmdq_entries[i];

	entry->effect = vhca_fault_apply(v, &subject);
	entry->taken_ns = ktime_get_ns();
	entry->due_ns = entry->effect.hold ? VHCA_NEVER : entry->taken_ns +
			(u64)entry->effect.delay_ms * NSEC_PER_MSEC;
	v->cmdq_hidden &= ~BIT(i);
	if (entry->due_ns == entry->taken_ns)
		return true;
	v->cmdq_delayed |= BIT(i);
	return false;
}

/*
 * Has the driver given up the command, or is it about to?  It then frees the
 * messages, though the entry remains the device's (cmd_exec()), so they must not
 * be looked at any more.
 */
static bool vhca_cmdq_given_up(struct vhca *v,
			       const struct vhca_cmdq_entry *entry)
{
	u64 timeout_ms = v->params.cmd_timeout_ms ?: VHCA_CMD_TIMEOUT;

	return ktime_get_ns() - entry->taken_ns >=
	       timeout_ms * NSEC_PER_MSEC / 10 * 9;
}

static void vhca_cmdq_answer(struct vhca *v, unsigned int i,
			     struct mlx5_cmd_layout *layout)
{
	struct vhca_cmdq_entry *entry = &v->cmdq_entries[i];

	v->cmdq_unanswered &= ~BIT(i);
	/* The answer is complete before the bit is cleared. */
	smp_wmb();
	WRITE_ONCE(layout->status_own, entry->delivery << 1);
	vhca_eq_post_command(v, i, entry->seq, entry->effect.drop_interrupt);
}

/* An entry whose time has come; its answer is kept back if a fault wants that. */
static void vhca_cmdq_finish(struct vhca *v, unsigned int i,
			     struct mlx5_cmd_layout *layout, bool delayed)
{
	struct vhca_cmdq_entry *entry = &v->cmdq_entries[i];

	v->cmdq_delayed &= ~BIT(i);
	entry->seq = v->recorder.seq + 1;
	entry->delivery = delayed && vhca_cmdq_given_up(v, entry) ?
			  VHCA_DELIVERY_FIRMWARE :
			  vhca_cmdq_execute(v, entry, layout);
	/* DISABLE_HCA takes the queue away; there is no later then. */
	if (!entry->effect.no_answer || !v->cmdq_dma) {
		vhca_cmdq_answer(v, i, layout);
		return;
	}
	entry->due_ns = VHCA_NEVER;
	v->cmdq_unanswered |= BIT(i);
}

/* Returns true if something was done for the entry. */
static bool vhca_cmdq_entry_poll(struct vhca *v, unsigned int i,
				 struct mlx5_cmd_layout *layout, u32 rung)
{
	bool unanswered = v->cmdq_unanswered & BIT(i);
	bool delayed = v->cmdq_delayed & BIT(i);

	if ((delayed || unanswered) &&
	    ktime_get_ns() < v->cmdq_entries[i].due_ns)
		return false;
	if (!(READ_ONCE(layout->status_own) & CMD_OWNER_HW)) {
		v->cmdq_hidden &= ~BIT(i);
		v->cmdq_delayed &= ~BIT(i);
		v->cmdq_unanswered &= ~BIT(i);
		return false;
	}
	/* The entry is complete when its ownership bit is set. */
	smp_rmb();
	if (unanswered) {
		vhca_cmdq_answer(v, i, layout);
		return true;
	}
	if (!delayed && (!vhca_cmdq_due(v, i, rung) ||
			 !vhca_cmdq_take(v, i, layout)))
		return false;
	vhca_cmdq_finish(v, i, layout, delayed);
	return true;
}

/**
 * vhca_cmdq_poll - execute the commands that were rung
 * @v: the device
 *
 * Models what the device does on a write to mlx5_init_seg.cmd_dbell.
 *
 * Context: firmware thread, vhca.lock held, bus mastering allowed
 * Return: true if there was something to do
 */
bool vhca_cmdq_poll(struct vhca *v)
{
	struct mlx5_cmd_layout *queue;
	bool executed = false;
	unsigned int i;
	u32 rung;

	rung = vhca_iseg_read(v, VHCA_DOORBELL);
	if (!rung && !vhca_cmdq_waits(v))
		return false;
	if (rung) {
		vhca_iseg_write(v, VHCA_DOORBELL, 0);
		/* A ring from here on is seen by the next poll. */
		mb();
	}
	queue = v->cmdq_dma ? vhca_dma_pointer(v, v->cmdq_dma,
					       sizeof(*queue) *
					       VHCA_CMDQ_ENTRIES) : NULL;
	if (!queue) {
		v->cmdq_hidden = 0;
		v->cmdq_delayed = 0;
		v->cmdq_unanswered = 0;
		return false;
	}

	for (i = 0; i < VHCA_CMDQ_ENTRIES; i++) {
		executed |= vhca_cmdq_entry_poll(v, i, &queue[i], rung);
		if (!v->cmdq_dma)	/* DISABLE_HCA */
			break;
	}
	return rung || executed;
}
