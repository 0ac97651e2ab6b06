// SPDX-License-Identifier: GPL-2.0
/*
 * A task that comes late from a system call, as one that was preempted there.
 *
 * Between the end of a system call and user space a task releases the files that
 * it was the last to put, with all that it gave to kfree_rcu() before still in
 * place, unless it is preempted for long.  Here it waits at that point until all
 * of that is freed: by the tracepoint sys_exit, which may sleep.
 *
 * Nothing but time is added: whatever shows then could show without this module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <asm/syscall.h>
#include <asm/unistd.h>

static char task[TASK_COMM_LEN];
module_param_string(task, task, sizeof(task), 0444);
MODULE_PARM_DESC(task, "name of the tasks that come late");

static int error;
module_param(error, int, 0444);
MODULE_PARM_DESC(error, "errno of the ioctl that they come late from");

static uint late;
module_param(late, uint, 0444);
MODULE_PARM_DESC(late, "how often one did (read only)");

static struct tracepoint *sys_exit;

/* Until all that anybody gave to kfree_rcu() by now is freed. */
static void wait_for_kfree_rcu(void)
{
	typeof(kvfree_rcu_barrier) *wait = symbol_get(kvfree_rcu_barrier);
	struct kmem_cache *cache;

	if (wait) {
		wait();
		symbol_put(kvfree_rcu_barrier);
		return;
	}
	/* Where modules do not have it (7.3), no cache goes without the same wait. */
	cache = kmem_cache_create(KBUILD_MODNAME, 16, 0, SLAB_NO_MERGE, NULL);
	kmem_cache_destroy(cache);
}

static void late_sys_exit(void *data, struct pt_regs *regs, long result)
{
	if (!error || result != -error ||
	    syscall_get_nr(current, regs) != __NR_ioctl ||
	    strncmp(current->comm, task, sizeof(task)))
		return;
	wait_for_kfree_rcu();
	late++;
}

static void late_find(struct tracepoint *tp, void *data)
{
	if (!strcmp(tp->name, "sys_exit"))
		sys_exit = tp;
}

static int __init late_init(void)
{
	if (!task[0] || error <= 0 || error > MAX_ERRNO) {
		pr_err("got task='%s' error=%d, expected the name of a task and an errno\n",
		       task, error);
		return -EINVAL;
	}
	late = 0;
	for_each_kernel_tracepoint(late_find, NULL);
	if (!sys_exit) {
		pr_err("no tracepoint sys_exit, expected CONFIG_FTRACE_SYSCALLS\n");
		return -ENOENT;
	}
	return tracepoint_probe_register(sys_exit, late_sys_exit, NULL);
}

static void __exit late_exit(void)
{
	tracepoint_probe_unregister(sys_exit, late_sys_exit, NULL);
	tracepoint_synchronize_unregister();
}

module_init(late_init);
module_exit(late_exit);
MODULE_DESCRIPTION("Tasks that come late from a system call, for tests");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
