// SPDX-License-Identifier: GPL-2.0
/*
 * A fatal error of the device, and its recovery.
 *
 * A device that has failed stops at once: it forgets its queues, accesses no
 * memory, answers no command, and its health counter stands still.  The health
 * buffer of the initialization segment says why and asks for a reset.
 * mlx5_core looks at it every two to three seconds (poll_health()), drops what
 * it was doing, and waits for the interface to be disabled, which is what a
 * reset ends with.  The driver of a physical function asks for the reset; that
 * of a virtual function waits for the owner of the physical one to do so, and
 * as there is none here, the device resets itself after a while.
 *
 * After the reset the device is as after power-on, but that the interface
 * shows as disabled until a driver gives it a command queue.  A function level
 * reset ends the same way, without a syndrome: mlx5_core knows nothing of it
 * until it sees that the interface is disabled.
 *
 * A syndrome without asking for a reset, and a counter that stands still, are told by
 * mlx5_core and are nothing else to it: the device works on.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/kern_levels.h>
#include <linux/kstrtox.h>
#include <linux/mlx5/driver.h>
#include <linux/string.h>

#include "vhca.h"

/*
 * When a device that nobody resets does so itself: late enough for the driver
 * to see the syndrome before, which the reset clears.
 */
#define VHCA_RESET_AFTER	(5 * HZ)

#define VHCA_INITIALIZING	BIT(31)
#define VHCA_RESET_SUPPORTED	BIT(MLX5_FW_RESET_SUPPORTED_OFFSET)

/* What LOGLEVEL_* the driver is to use for it, and that this is valid. */
#define VHCA_SEVERITY(_level)	(BIT(3) | (_level))
/* Firmware asks for a reset. */
#define VHCA_RFR_SEVERITY	(BIT(MLX5_RFR_BIT_OFFSET) | VHCA_SEVERITY(2))

#define VHCA_HEALTH(_member)	\
	(v->init_segment + offsetof(struct mlx5_init_seg, health._member))

static void vhca_health_initializing(struct vhca *v, u32 bits)
{
	iowrite32be(bits, v->init_segment +
		    offsetof(struct mlx5_init_seg, initializing));
}

/**
 * vhca_health_init - make a device that can be asked
 * @v: the device
 */
void vhca_health_init(struct vhca *v)
{
	mutex_init(&v->ask_lock);
	init_completion(&v->ask_done);
}

/**
 * vhca_health_power_on - have the initialization segment say that all is well
 * @v: the device
 */
void vhca_health_power_on(struct vhca *v)
{
	vhca_health_initializing(v, VHCA_RESET_SUPPORTED);
}

static void vhca_health_tell(struct vhca *v, u8 syndrome, u8 severity)
{
	iowrite8(severity, VHCA_HEALTH(rfr_severity));
	iowrite8(syndrome, VHCA_HEALTH(synd));
}

static void vhca_forget_all(struct vhca *v)
{
	vhca_ledger_forget(v);
	v->nr_fw_pages = 0;
	v->hca_enabled = false;
	vhca_caps_reset(v);
	vhca_cmdq_reset(v);
}

static void vhca_health_fail_now(struct vhca *v, u8 syndrome)
{
	vhca_info(v, "fatal error, syndrome 0x%x: %u objects and %u pages forgotten, no command is answered\n",
		  syndrome, v->ledger.count, v->nr_fw_pages);
	vhca_forget_all(v);
	WRITE_ONCE(v->condition, VHCA_FAILED);
	v->failures++;
	v->failed_at = jiffies;
	/* A driver that comes now waits for the reset. */
	vhca_health_initializing(v, VHCA_INITIALIZING | VHCA_RESET_SUPPORTED);
	vhca_health_tell(v, syndrome, VHCA_RFR_SEVERITY);
}

/**
 * vhca_health_syndrome - what is in the health buffer
 * @v: the device
 *
 * Context: vhca.lock held
 * Return: the syndrome, 0 if all is well
 */
u8 vhca_health_syndrome(struct vhca *v)
{
	return ioread8(VHCA_HEALTH(synd));
}

static void vhca_health_vanish_now(struct vhca *v)
{
	vhca_info(v, "leaves the bus: %u objects and %u pages forgotten\n",
		  v->ledger.count, v->nr_fw_pages);
	vhca_forget_all(v);
	WRITE_ONCE(v->condition, VHCA_GONE);
	vhca_presence_vanish(v);
}

/* The driver that it had is gone as well, in whatever way. */
static void vhca_health_return_now(struct vhca *v)
{
	vhca_forget_all(v);
	vhca_presence_power_on(v);
	vhca_firmware_power_on(v);
	WRITE_ONCE(v->stalled, false);
	WRITE_ONCE(v->condition, VHCA_HEALTHY);
}

/**
 * vhca_health_ask - have the device fail, leave the bus or come back to it
 * @v: the device, whose firmware runs
 * @ask: which of them
 * @syndrome: MLX5_INITIAL_SEG_HEALTH_SYNDROME_* of a fatal error, not 0
 *
 * What the driver had is forgotten; that is no leak, since no driver could
 * give it back any more.
 *
 * The firmware thread does it, as nobody else may take objects away.
 *
 * Context: process context, waits for the firmware thread
 * Return: 0, or -EBUSY if the device has failed already, or is gone
 */
int vhca_health_ask(struct vhca *v, enum vhca_ask ask, u8 syndrome)
{
	int err;

	mutex_lock(&v->ask_lock);
	reinit_completion(&v->ask_done);
	v->ask_syndrome = syndrome;
	/* Pairs with vhca_health_answer(): a fresh ask_done goes with it. */
	smp_store_release(&v->ask, ask);
	vhca_firmware_wake(v);
	wait_for_completion(&v->ask_done);
	err = v->ask_error;
	mutex_unlock(&v->ask_lock);
	return err;
}

static void vhca_health_answer(struct vhca *v)
{
	/* Pairs with vhca_health_ask(). */
	enum vhca_ask ask = smp_load_acquire(&v->ask);
	int err = 0;

	switch (ask) {
	case VHCA_ASK_NOTHING:
		return;
	case VHCA_ASK_FAIL:
		if (v->condition == VHCA_HEALTHY)
			vhca_health_fail_now(v, v->ask_syndrome);
		else
			err = -EBUSY;
		break;
	case VHCA_ASK_VANISH:
		if (v->condition != VHCA_GONE)
			vhca_health_vanish_now(v);
		else
			err = -EBUSY;
		break;
	case VHCA_ASK_RETURN:
		vhca_health_return_now(v);
		break;
	}
	v->ask_error = err;
	WRITE_ONCE(v->ask, VHCA_ASK_NOTHING);
	complete(&v->ask_done);
}

static int vhca_health_fail(struct vhca *v, u8 syndrome)
{
	return vhca_health_ask(v, VHCA_ASK_FAIL, syndrome);
}

/**
 * vhca_health_reset_function - begin a function level reset
 * @v: the device, whose firmware runs
 *
 * It does no DMA from now on, and config space reads as all ones until the firmware
 * thread has reset it.  The PCI core waits for that (pci_dev_wait()).
 *
 * Context: any; raw spinlock of the PCI core held
 */
void vhca_health_reset_function(struct vhca *v)
{
	WRITE_ONCE(v->bus_master, false);
	/* Pairs with vhca_health_is_resetting(). */
	smp_store_release(&v->resetting, true);
	vhca_firmware_wake(v);
}

/**
 * vhca_health_is_resetting - has a function level reset begun that is not over?
 * @v: the device
 *
 * Context: any
 * Return: whether it has
 */
bool vhca_health_is_resetting(struct vhca *v)
{
	/* What was written to config space before is over, one way and the other. */
	return smp_load_acquire(&v->resetting);
}

static void vhca_health_reset(struct vhca *v, const char *why)
{
	vhca_info(v, "reset, as %s\n", why);
	vhca_forget_all(v);
	vhca_health_tell(v, 0, 0);
	WRITE_ONCE(v->stalled, false);
	WRITE_ONCE(v->condition, VHCA_RESET);
	vhca_cmdq_disable(v);
	vhca_health_initializing(v, VHCA_RESET_SUPPORTED);
}

/* Config space goes back to what it was before any driver, addresses included. */
static void vhca_health_reset_function_now(struct vhca *v)
{
	if (v->condition != VHCA_GONE)
		vhca_health_reset(v, "its function is");
	vhca_config_fill_function(v);
	/* Pairs with vhca_health_is_resetting(). */
	smp_store_release(&v->resetting, false);
}

/**
 * vhca_health_poll - go on with failing and recovering
 * @v: the device
 *
 * Context: firmware thread, vhca.lock held
 * Return: true if the device is healthy
 */
bool vhca_health_poll(struct vhca *v)
{
	vhca_health_answer(v);
	if (vhca_health_is_resetting(v))
		vhca_health_reset_function_now(v);
	/* What would be read of the driver's requests are ones. */
	if (v->condition == VHCA_GONE)
		return false;
	switch (vhca_cmdq_request(v)) {
	case VHCA_REQUEST_RESET:
		if (v->condition != VHCA_RESET)
			vhca_health_reset(v, "the driver asks for it");
		break;
	case VHCA_REQUEST_ENABLE:
		if (v->condition == VHCA_RESET)
			WRITE_ONCE(v->condition, VHCA_HEALTHY);
		break;
	case VHCA_REQUEST_NONE:
		break;
	}
	if (v->condition == VHCA_FAILED &&
	    time_after(jiffies, v->failed_at + VHCA_RESET_AFTER))
		vhca_health_reset(v, "nobody else does it");
	return v->condition == VHCA_HEALTHY;
}

#define VHCA_HEALTH_KEEP	(-1)

/* A device that has failed says nothing else. */
static int vhca_health_change(struct vhca *v, int syndrome, int stalled)
{
	int err = -EBUSY;

	mutex_lock(&v->lock);
	if (v->condition == VHCA_HEALTHY) {
		if (syndrome != VHCA_HEALTH_KEEP)
			vhca_health_tell(v, syndrome, syndrome ?
					 VHCA_SEVERITY(LOGLEVEL_WARNING) : 0);
		if (stalled != VHCA_HEALTH_KEEP)
			WRITE_ONCE(v->stalled, stalled);
		err = 0;
	}
	mutex_unlock(&v->lock);
	return err;
}

static int vhca_health_report(struct vhca *v, u8 syndrome)
{
	return vhca_health_change(v, syndrome, VHCA_HEALTH_KEEP);
}

static int vhca_health_stall(struct vhca *v, u8 syndrome)
{
	return vhca_health_change(v, VHCA_HEALTH_KEEP, true);
}

static int vhca_health_clear(struct vhca *v, u8 syndrome)
{
	return vhca_health_change(v, 0, false);
}

/**
 * struct vhca_health_word - what can be written to the file "health"
 * @name: the word
 * @has_syndrome: syndrome= may follow
 * @act: does it; returns 0 or a negative errno
 */
struct vhca_health_word {
	const char	*name;
	bool		has_syndrome;
	int		(*act)(struct vhca *v, u8 syndrome);
};

static const struct vhca_health_word vhca_health_words[] = {
	{ "fatal",	true,	vhca_health_fail },
	{ "report",	true,	vhca_health_report },
	{ "stall",	false,	vhca_health_stall },
	{ "clear",	false,	vhca_health_clear },
};

static const struct vhca_health_word *vhca_health_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vhca_health_words); i++)
		if (!strcmp(vhca_health_words[i].name, name))
			return &vhca_health_words[i];
	return NULL;
}

static bool vhca_health_parse_syndrome(const char *text, u8 *syndrome)
{
	size_t key = strlen("syndrome=");

	return !strncmp(text, "syndrome=", key) &&
	       !kstrtou8(text + key, 0, syndrome) && *syndrome;
}

/**
 * vhca_health_write - change the health of the device
 * @v: the device, whose firmware runs
 * @text: a word of the table above, and what may follow it; is taken apart
 *
 * Context: process context, takes vhca.lock, may wait for the firmware thread
 * Return: 0, or -EINVAL after a line in the log, or -EBUSY if the device has
 *	failed
 */
int vhca_health_write(struct vhca *v, char *text)
{
	u8 syndrome = MLX5_INITIAL_SEG_HEALTH_SYNDROME_FW_INTERNAL_ERR;
	const struct vhca_health_word *word;
	char *name = strim(text);
	char *rest = strpbrk(name, " \t");

	if (rest) {
		*rest++ = '\0';
		rest = skip_spaces(rest);
	}
	word = vhca_health_find(name);
	if (!word) {
		vhca_warn_ratelimited(v, "health: got '%.64s', expected fatal, report, stall or clear\n",
				      name);
		return -EINVAL;
	}
	if (rest && !word->has_syndrome) {
		vhca_warn_ratelimited(v, "health: got '%.64s' after %s, expected nothing\n",
				      rest, name);
		return -EINVAL;
	}
	if (rest && !vhca_health_parse_syndrome(rest, &syndrome)) {
		vhca_warn_ratelimited(v, "health: got '%.64s', expected syndrome= and a number from 1 to 255\n",
				      rest);
		return -EINVAL;
	}
	return word->act(v, syndrome);
}
