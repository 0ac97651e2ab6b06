// SPDX-License-Identifier: GPL-2.0
/*
 * Looking at doorbells while the firmware thread sleeps.
 *
 * A thread that wakes up every few milliseconds for nothing costs two
 * percent of a slow CPU, most of it for going to sleep and waking up.  So
 * after a while without work the thread leaves that to a timer: the timer
 * compares the words that a driver or user rings by with what the thread has
 * seen in them, and wakes the thread when one has changed.
 *
 * The words are collected anew each time.  They stay valid for as long as the
 * thread sleeps, because the driver frees a queue only after the command that
 * destroys it, and it is the thread that executes commands.  A driver that has
 * lost its device frees without commands, but takes away bus mastering first
 * or has waited for seconds.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kthread.h>
#include <linux/mlx5/driver.h>

#include "compat.h"
#include "queues.h"
#include "vhca.h"

static bool vhca_watch_rung(struct vhca *v)
{
	struct vhca_watch *w = &v->watch;
	bool bus_master = READ_ONCE(v->bus_master);
	unsigned int i;

	if (bus_master != w->bus_master || vhca_cmdq_rung(v))
		return true;
	if (!bus_master)
		return false;
	for (i = 0; i < w->nr; i++)
		if (vhca_ring_word(w->words[i].word) != w->words[i].seen)
			return true;
	return false;
}

/* The timer runs only while the thread sleeps, so the two never meet. */
static enum hrtimer_restart vhca_watch_expired(struct hrtimer *timer)
{
	struct vhca *v = container_of(timer, struct vhca, watch.timer);
	struct vhca_watch *w = &v->watch;
	u64 began = ktime_get_ns();
	bool rung = vhca_watch_rung(v);

	if (rung)
		vhca_firmware_wake(v);
	else
		vhca_firmware_tick(v);
	hrtimer_forward_now(timer, VHCA_WATCH_PERIOD);
	WRITE_ONCE(w->looks, w->looks + 1);
	WRITE_ONCE(w->look_ns, w->look_ns + ktime_get_ns() - began);
	return rung ? HRTIMER_NORESTART : HRTIMER_RESTART;
}

/**
 * vhca_watch_init - prepare the timer
 * @v: the device
 */
void vhca_watch_init(struct vhca *v)
{
	hrtimer_setup(&v->watch.timer, vhca_watch_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_HARD);
}

/**
 * vhca_watch_word - have a word watched
 * @v: the device
 * @word: the word, valid until a command destroys what it belongs to
 *
 * Context: firmware thread, vhca.lock held, in vhca_watch_collect()
 */
void vhca_watch_word(struct vhca *v, const __be32 *word)
{
	struct vhca_watch *w = &v->watch;

	if (w->nr < VHCA_MAX_WATCHED) {
		w->words[w->nr].word = word;
		w->words[w->nr].seen = vhca_ring_word(word);
		w->nr++;
	} else {
		w->too_many = true;
	}
}

/**
 * vhca_watch_collect - note all words and what is in them
 * @v: the device
 *
 * To be followed by a look for work: what is rung before this is found by
 * that look, what is rung after it by the timer.
 *
 * Context: firmware thread, vhca.lock held
 */
void vhca_watch_collect(struct vhca *v)
{
	struct vhca_watch *w = &v->watch;

	w->nr = 0;
	w->too_many = false;
	w->bus_master = READ_ONCE(v->bus_master);
	if (w->bus_master)
		vhca_workqueue_watch(v);
	/* Pairs with the barriers of those who ring. */
	smp_mb();
}

/**
 * vhca_watch_sleep - sleep until something is rung
 * @v: the device, whose words were just collected, and which has no work
 *
 * Also ends for vhca_firmware_wake() and kthread_stop().
 *
 * Context: firmware thread
 * Return: false if there are too many words for a timer, after no sleep
 */
bool vhca_watch_sleep(struct vhca *v)
{
	struct vhca_watch *w = &v->watch;

	if (w->too_many)
		return false;
	set_current_state(TASK_IDLE);
	if (!READ_ONCE(v->woken) && !kthread_should_stop()) {
		w->sleeps++;
		hrtimer_start(&w->timer, VHCA_WATCH_PERIOD,
			      HRTIMER_MODE_REL_HARD);
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	hrtimer_cancel(&w->timer);
	return true;
}
