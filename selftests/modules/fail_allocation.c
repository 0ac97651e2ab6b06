// SPDX-License-Identifier: GPL-2.0
/*
 * One allocation of a task that finds no memory, on kernels without failslab.
 *
 * As with /proc/PID/fail-nth it is the n-th one from when the number is written, here of
 * the calls of some functions that return what kfree() takes, by one task.  The memory is
 * allocated and freed again, and the function returns NULL: what its caller sees is what
 * it would see on a machine without memory.  Allocations in interrupts do not count, nor
 * those that must not fail.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

#define FUNCTIONS	16
#define DEPTH		32
/* Of the probe itself, up to the call of its handler. */
#define SKIP		4

static char *function[FUNCTIONS];
static int functions;
module_param_array(function, charp, &functions, 0444);
MODULE_PARM_DESC(function, "the functions that allocate; none is those of the slab allocator");

static int pid;
module_param(pid, int, 0644);
MODULE_PARM_DESC(pid, "the task; 0 is the one that writes nth, -1 is all");

static int times = 1;
module_param(times, int, 0644);
MODULE_PARM_DESC(times, "how many fail, from the nth on; counts down");

static ulong within_start;
module_param(within_start, ulong, 0644);
MODULE_PARM_DESC(within_start, "where a function begins that must be among the callers, 0 is any");

static ulong within_end;
module_param(within_end, ulong, 0644);
MODULE_PARM_DESC(within_end, "where it ends");

static int left;
module_param(left, int, 0444);
MODULE_PARM_DESC(left, "what nth was when it was last written over (read only)");

static int nth;
static int task;

static unsigned long stack[DEPTH];
static unsigned int depth;

/* What is written counts from the end of the call. */
static int nth_set(const char *text, const struct kernel_param *kp)
{
	int value, err = kstrtoint(text, 0, &value);

	if (err)
		return err;
	left = nth;
	WRITE_ONCE(nth, 0);
	WRITE_ONCE(task, pid ?: task_pid_nr(current));
	WRITE_ONCE(nth, value);
	return 0;
}

static const struct kernel_param_ops nth_ops = {
	.set = nth_set,
	.get = param_get_int,
};

module_param_cb(nth, &nth_ops, &nth, 0644);
MODULE_PARM_DESC(nth, "which of its calls is to fail, from 1; counts down to 0, which is none");

/* Names only, and no modules' behind them. */
static int site_get(char *text, const struct kernel_param *kp)
{
	char name[KSYM_SYMBOL_LEN];
	unsigned int i;
	int length = 0;

	for (i = 0; i < depth; i++) {
		sprint_symbol_no_offset(name, stack[i]);
		name[strcspn(name, " ")] = '\0';
		length += scnprintf(text + length, PAGE_SIZE - length, "%s ", name);
	}
	return length + scnprintf(text + length, PAGE_SIZE - length, "\n");
}

static const struct kernel_param_ops site_ops = {
	.get = site_get,
};

module_param_cb(site, &site_ops, NULL, 0444);
MODULE_PARM_DESC(site, "who called what failed last, the innermost first (read only)");

/**
 * struct allocator - a function of the slab allocator
 * @name: its name
 * @flags: which of its arguments are the gfp flags
 */
static const struct allocator {
	const char *name;
	unsigned int flags;
} allocators[] = {
	{ "__kmalloc_cache_noprof", 1 },
	{ "__kmalloc_noprof", 1 },
	{ "kmem_cache_alloc_noprof", 1 },
	{ "kmem_cache_alloc_lru_noprof", 2 },
	{ "kmem_cache_alloc_node_noprof", 1 },
	{ "__kmalloc_node_noprof", IS_ENABLED(CONFIG_SLAB_BUCKETS) ? 2 : 1 },
};

static struct kretprobe probes[FUNCTIONS], *list[FUNCTIONS];

static bool may_fail(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	const struct kretprobe *probe = get_kretprobe(instance);
	gfp_t flags;

	if (functions)
		return true;
	flags = (__force gfp_t)regs_get_kernel_argument(regs, allocators[probe - probes].flags);
	return !(flags & __GFP_NOFAIL);
}

/* Whether the call is from where one shall fail; its stack is left for who asks. */
static bool is_within(void)
{
	unsigned long callers[DEPTH];
	unsigned int i, count = stack_trace_save(callers, ARRAY_SIZE(callers), SKIP);
	bool is = !within_start;

	for (i = 0; i < count && !is; i++)
		is = callers[i] >= within_start && callers[i] < within_end;
	if (is) {
		memcpy(stack, callers, sizeof(stack));
		depth = count;
	}
	return is;
}

/* A probe that is a breakpoint is in an NMI itself, each of which counts as a hardirq too. */
static bool in_interrupt_of_task(void)
{
	return hardirq_count() / HARDIRQ_OFFSET > nmi_count() / NMI_OFFSET ||
	       in_serving_softirq();
}

/* Nothing is kept of a call that does not fail.  Who counts is one task at a time. */
static int fail_entry(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	const int who = READ_ONCE(task);

	if (READ_ONCE(nth) <= 0 || (who != -1 && task_pid_nr(current) != who) ||
	    in_interrupt_of_task() || !may_fail(instance, regs) || !is_within())
		return 1;
	if (nth > 1) {
		nth--;
		return 1;
	}
	if (--times <= 0)
		nth = 0;
	return 0;
}

static int fail_return(struct kretprobe_instance *instance, struct pt_regs *regs)
{
	kfree((void *)regs_return_value(regs));
	regs_set_return_value(regs, 0);
	return 0;
}

static int __init fail_init(void)
{
	const int count = functions ?: ARRAY_SIZE(allocators);
	int i, err;

	for (i = 0; i < count; i++) {
		probes[i].kp.symbol_name = functions ? function[i] : allocators[i].name;
		probes[i].entry_handler = fail_entry;
		probes[i].handler = fail_return;
		list[i] = &probes[i];
	}
	err = register_kretprobes(list, count);
	if (err)
		pr_err("cannot probe what allocates: error %pe, expected functions of the kernel\n",
		       ERR_PTR(err));
	return err;
}

static void __exit fail_exit(void)
{
	unregister_kretprobes(list, functions ?: ARRAY_SIZE(allocators));
}

module_init(fail_init);
module_exit(fail_exit);
MODULE_DESCRIPTION("An allocation that finds no memory, for tests");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
