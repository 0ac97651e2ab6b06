// SPDX-License-Identifier: GPL-2.0
/*
 * The firmware: a thread that watches doorbells, because doorbells are memory
 * and nothing tells the device when one is written.
 *
 * The thread must not wait for memory: reclaim can call the MMU notifiers of
 * registered memory, mlx5_ib waits in them for a work request on its UMR queue
 * pair, and the one who would execute that request is this thread.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/mlx5/driver.h>
#include <linux/sched/mm.h>
#include <linux/vmalloc.h>

#include "vhca.h"

#define VHCA_FW_MAJOR		28
#define VHCA_FW_MINOR		39
#define VHCA_FW_SUBMINOR	1
#define VHCA_CMDIF_REV		5	/* the only one that mlx5_core takes */

/* How long the driver is to wait for a device that is initializing, in ms: its own. */
#define VHCA_INIT_TIMEOUT	2000

/* mlx5_core misses the counter only after some seconds. */
#define VHCA_HEALTH_INTERVAL	(HZ / 10)

/*
 * How long to sleep after so much time without work.  A probe or a test is a
 * series of commands, each sent when the one before has completed, so the
 * first step makes those quick.  After the last but one a timer watches, see
 * watch.c; the last is for when it cannot, and bounds the first command's
 * latency then.
 */
static const struct {
	unsigned int	idle_ms;
	unsigned int	min_us;
	unsigned int	max_us;
} vhca_naps[] = {
	{ 50,		20,	60 },
	{ 1000,		500,	1500 },
	{ UINT_MAX,	2000,	4000 },
};

#define VHCA_LAST_NAP	(ARRAY_SIZE(vhca_naps) - 1)

static void __iomem *vhca_iseg(struct vhca *v, size_t offset)
{
	return v->init_segment + offset;
}

/*
 * How long the driver is to wait, in ms (mlx5_tout_query_iseg()).  It takes both words
 * or, if that for the initialization is 0, neither.
 */
static void vhca_timeouts_fill(struct vhca *v)
{
	u32 cmd_ms = v->params.cmd_timeout_ms;

	iowrite32be(cmd_ms, vhca_iseg(v, offsetof(struct mlx5_init_seg,
						  cmd_exec_to)));
	iowrite32be(cmd_ms ? VHCA_INIT_TIMEOUT : 0,
		    vhca_iseg(v, offsetof(struct mlx5_init_seg,
					  cmd_q_init_to)));
}

/**
 * vhca_firmware_power_on - fill in struct mlx5_init_seg as mlx5_core expects it
 *	after a reset
 * @v: the device, whose BAR0 is cleared
 *
 * Context: firmware thread with vhca.lock held, or before it is started
 */
void vhca_firmware_power_on(struct vhca *v)
{
	iowrite32be(VHCA_FW_MINOR << 16 | VHCA_FW_MAJOR,
		    vhca_iseg(v, offsetof(struct mlx5_init_seg, fw_rev)));
	iowrite32be(VHCA_CMDIF_REV << 16 | VHCA_FW_SUBMINOR,
		    vhca_iseg(v, offsetof(struct mlx5_init_seg,
					  cmdif_rev_fw_sub)));
	/* All ones would mean that the device has left the bus. */
	iowrite32be(VHCA_FW_MAJOR << 24 | VHCA_FW_MINOR << 16 |
		    VHCA_FW_SUBMINOR,
		    vhca_iseg(v, offsetof(struct mlx5_init_seg,
					  health.fw_ver)));
	vhca_timeouts_fill(v);
	vhca_health_power_on(v);
	vhca_cmdq_reset(v);
}

/**
 * vhca_firmware_tick - advance the clock and the heartbeat
 * @v: the device
 *
 * The driver also reads the clock without a command, so it is as fresh as the
 * last nap is short.
 *
 * Context: firmware thread, or the timer that watches while that sleeps
 */
void vhca_firmware_tick(struct vhca *v)
{
	u64 cycles = vhca_cycles();

	if (READ_ONCE(v->condition) == VHCA_GONE)
		return;
	iowrite32be(upper_32_bits(cycles),
		    vhca_iseg(v, offsetof(struct mlx5_init_seg,
					  internal_timer_h)));
	iowrite32be(lower_32_bits(cycles),
		    vhca_iseg(v, offsetof(struct mlx5_init_seg,
					  internal_timer_l)));
	if (READ_ONCE(v->condition) == VHCA_FAILED || READ_ONCE(v->stalled) ||
	    time_before(jiffies, v->last_tick + VHCA_HEALTH_INTERVAL))
		return;
	v->last_tick = jiffies;
	v->health = (v->health + 1) & 0xffffff;
	iowrite32be(v->health, vhca_iseg(v, offsetof(struct mlx5_init_seg,
						     health_counter)));
}

/*
 * A function without bus mastering does no DMA.  mlx5_core takes it away at
 * the end of remove, by when everything has been given back; if it has not
 * (the driver was in its error state, where it sends no commands), its memory
 * is about to be freed and must be forgotten at once.
 *
 * Before a reset the PCI core takes memory decoding away as well
 * (pci_dev_save_and_disable()).  The driver is there still, then.
 */
static void vhca_forget_driver(struct vhca *v)
{
	if (!(READ_ONCE(v->config.byte[PCI_COMMAND]) & PCI_COMMAND_MEMORY))
		return;
	if (!v->ledger.count && !v->cmdq_dma && !v->nr_fw_pages)
		return;
	vhca_ledger_reset(v, "the driver left");
	vhca_pages_reset(v, "the driver left");
	vhca_cmdq_reset(v);
	v->hca_enabled = false;
}

static bool vhca_firmware_poll(struct vhca *v, bool watch)
{
	bool busy = false, healthy;

	mutex_lock(&v->lock);
	if (watch)
		vhca_watch_collect(v);
	healthy = vhca_health_poll(v);
	if (healthy && READ_ONCE(v->bus_master)) {
		busy = vhca_cmdq_poll(v);
		busy |= vhca_workqueue_poll(v);
	} else {
		vhca_fabric_poll(v, false);
		if (healthy)
			vhca_forget_driver(v);
	}
	mutex_unlock(&v->lock);
	return busy;
}

/* Is there something to do that no doorbell will tell of? */
static bool vhca_firmware_waits(struct vhca *v)
{
	return v->condition == VHCA_FAILED || v->resume_ns || vhca_cmdq_waits(v);
}

static unsigned int vhca_nap_after(unsigned long last_busy)
{
	unsigned int idle = jiffies_to_msecs(jiffies - last_busy);
	unsigned int i = 0;

	while (i < VHCA_LAST_NAP && idle >= vhca_naps[i].idle_ms)
		i++;
	return i;
}

static void vhca_nap(struct vhca *v, unsigned int i)
{
	ktime_t nap = ns_to_ktime(vhca_naps[i].min_us * NSEC_PER_USEC);

	set_current_state(TASK_IDLE);
	if (!READ_ONCE(v->woken) && !kthread_should_stop())
		schedule_hrtimeout_range(&nap, (vhca_naps[i].max_us -
						vhca_naps[i].min_us) *
					 NSEC_PER_USEC, HRTIMER_MODE_REL);
	__set_current_state(TASK_RUNNING);
}

/**
 * vhca_firmware_wake - end a nap of the firmware thread
 * @v: the device, whose firmware runs
 *
 * For work that comes without a doorbell, from another device for example.
 *
 * Context: any
 */
void vhca_firmware_wake(struct vhca *v)
{
	/* Pairs with set_current_state() in vhca_nap() and vhca_watch_sleep(). */
	smp_store_mb(v->woken, true);
	wake_up_process(v->thread);
}

static int vhca_firmware_thread(void *data)
{
	unsigned int flags = memalloc_noreclaim_save();
	unsigned long last_busy = jiffies;
	struct vhca *v = data;

	while (!kthread_should_stop()) {
		unsigned int nap = vhca_nap_after(last_busy);
		bool watch = nap == VHCA_LAST_NAP && !vhca_firmware_waits(v);
		bool busy;

		/* Before the work is looked for: what comes later wakes. */
		smp_store_mb(v->woken, false);
		busy = vhca_firmware_poll(v, watch);
		vhca_firmware_tick(v);
		if (busy) {
			last_busy = jiffies;
			cond_resched();
		} else if (!watch || vhca_firmware_waits(v) ||
			   !vhca_watch_sleep(v)) {
			vhca_nap(v, nap);
		}
	}
	memalloc_noreclaim_restore(flags);
	return 0;
}

/**
 * vhca_firmware_start - make the device's state and start the thread
 * @v: the device, whose window is mapped
 *
 * Return: 0 or a negative errno, after a line in the log
 */
int vhca_firmware_start(struct vhca *v)
{
	int err = -ENOMEM;

	vhca_ledger_init(v);
	vhca_page_faults_init(v);
	v->in = vzalloc(VHCA_MAX_MESSAGE);
	v->out = vzalloc(VHCA_MAX_MESSAGE);
	if (!v->in || !v->out)
		goto err_messages;
	err = vhca_recorder_init(v);
	if (err)
		goto err_messages;
	err = vhca_caps_init(v);
	if (err)
		goto err_recorder;
	vhca_health_init(v);
	vhca_firmware_power_on(v);
	vhca_watch_init(v);
	v->last_tick = jiffies;
	v->thread = kthread_run(vhca_firmware_thread, v, "mlx5_vhca/%u",
				v->index);
	if (IS_ERR(v->thread)) {
		err = PTR_ERR(v->thread);
		goto err_caps;
	}
	vhca_fabric_join(v);
	return 0;

err_caps:
	vhca_caps_exit(v);
err_recorder:
	vhca_recorder_exit(v);
err_messages:
	vfree(v->out);
	vfree(v->in);
	vhca_err(v, "cannot start the firmware: %d\n", err);
	return err;
}

/**
 * vhca_firmware_stop - stop the thread and free the device's state
 * @v: the device, whose function is gone
 *
 * Context: process context
 */
void vhca_firmware_stop(struct vhca *v)
{
	vhca_fabric_leave(v);
	kthread_stop(v->thread);
	vhca_fabric_exit(v);
	mutex_lock(&v->lock);
	vhca_ledger_reset(v, "the device was removed");
	vhca_pages_reset(v, "the device was removed");
	mutex_unlock(&v->lock);
	vhca_ledger_exit(v);
	vhca_caps_exit(v);
	vhca_recorder_exit(v);
	vfree(v->out);
	vfree(v->in);
}
