// SPDX-License-Identifier: GPL-2.0
/*
 * A function that some tasks take long to enter, as if they were interrupted there.
 *
 * Nothing but time is added: whatever shows then could show without this module.  The
 * processor is kept busy meanwhile, as the function may be one that cannot sleep.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/string.h>

/* The kernel complains of a processor that does nothing else for 20 s. */
#define SLOW_MAX_MS	5000

static char *function;
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "the function");

static char task[TASK_COMM_LEN];
module_param_string(task, task, sizeof(task), 0444);
MODULE_PARM_DESC(task, "name of the tasks that take long");

static uint ms;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "how long, in ms, 1 to 5000");

static uint entered;
module_param(entered, uint, 0444);
MODULE_PARM_DESC(entered, "how often one has come there (read only)");

static int slow_enter(struct kprobe *probe, struct pt_regs *regs)
{
	if (strncmp(current->comm, task, sizeof(task)))
		return 0;
	WRITE_ONCE(entered, entered + 1);
	mdelay(ms);
	return 0;
}

static struct kprobe probe = {
	.pre_handler = slow_enter,
};

static int __init slow_init(void)
{
	int err;

	if (!function || !task[0] || !ms || ms > SLOW_MAX_MS) {
		pr_err("got function=%s task=%s ms=%u, expected the names of a function and of tasks, and 1 to %d ms\n",
		       function ?: "", task, ms, SLOW_MAX_MS);
		return -EINVAL;
	}
	probe.symbol_name = function;
	err = register_kprobe(&probe);
	if (err)
		pr_err("cannot probe '%s': error %pe, expected a function of the kernel\n",
		       function, ERR_PTR(err));
	return err;
}

static void __exit slow_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(slow_init);
module_exit(slow_exit);
MODULE_DESCRIPTION("A function that takes long to enter, for tests");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
