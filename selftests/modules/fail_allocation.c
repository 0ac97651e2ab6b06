// SPDX-License-Identifier: GPL-2.0
/*
 * One allocation of a task that finds no memory, on kernels without failslab.
 *
 * As with /proc/PID/fail-nth it is the n-th one from when the number is written,
 * here of the calls of one function that returns what kfree() takes, by one task.
 * The memory is allocated and freed again, and the function returns NULL: what its
 * caller sees is what it would see on a machine without memory.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>

static char *function;
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "the function that allocates");

static int pid;
module_param(pid, int, 0644);
MODULE_PARM_DESC(pid, "the task; no two of them may call the function at once");

static int nth;
module_param(nth, int, 0644);
MODULE_PARM_DESC(nth, "which of its calls is to fail, from 1; counts down to 0, which is none");

static int fail_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	void *memory = (void *)regs_return_value(regs);

	if (task_pid_nr(current) != READ_ONCE(pid) || nth <= 0 || --nth)
		return 0;
	kfree(memory);
	regs_set_return_value(regs, 0);
	return 0;
}

static struct kretprobe probe = {
	.handler = fail_return,
	/* Of all tasks, as the one that counts must not be missed. */
	.maxactive = 256,
};

static int __init fail_init(void)
{
	int err;

	if (!function) {
		pr_err("got no function=, expected the name of one that allocates\n");
		return -EINVAL;
	}
	probe.kp.symbol_name = function;
	err = register_kretprobe(&probe);
	if (err)
		pr_err("cannot probe '%s': error %pe, expected a function of the kernel\n",
		       function, ERR_PTR(err));
	return err;
}

static void __exit fail_exit(void)
{
	unregister_kretprobe(&probe);
}

module_init(fail_init);
module_exit(fail_exit);
MODULE_DESCRIPTION("An allocation that finds no memory, for tests");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
