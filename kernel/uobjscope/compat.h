/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between kernels.  Found by feature: SCOPE_HAVE_* come from
 * Kbuild, which looks into the kernel's headers.
 *
 * Members that exist in some kernels only need nothing here as long as they are
 * not read: ib_uverbs_dmabuf_file has a dmabuf_release_lock since 7.3 and its
 * dmabuf pointer may then be NULL, but that pointer is never followed without
 * the registry's word that the dma_buf is alive.
 */
#ifndef UOBJSCOPE_COMPAT_H
#define UOBJSCOPE_COMPAT_H

#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fdtable.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/mm_types.h>
#include <linux/module.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

/* Private or public: which of them has a structure is not the same everywhere. */
#include "rdma_core.h"
#include "uverbs.h"
#ifdef SCOPE_HAVE_DMAH
#include "dmah.h"
#endif

#include "object_types.h"

#ifdef SCOPE_NAMESPACE_IS_NO_STRING
#define SCOPE_IMPORT_NS(name)	MODULE_IMPORT_NS(name)
#else
#define SCOPE_IMPORT_NS(name)	MODULE_IMPORT_NS(#name)
#endif

/**
 * scope_mm_pid - process that owns an address space
 * @mm: the address space, kept by the caller
 *
 * Only with memory control groups does a kernel know the owner; without them all processes
 * are asked, which takes a while, and of which another may have the same address space
 * until an execve().
 *
 * Return: process id, 0 if nobody has it
 */
static inline pid_t scope_mm_pid(struct mm_struct *mm)
{
	pid_t pid = 0;
#ifdef CONFIG_MEMCG
	struct task_struct *owner;

	rcu_read_lock();
	owner = rcu_dereference(mm->owner);
	if (owner)
		pid = owner->tgid;
	rcu_read_unlock();
#else
	struct task_struct *process, *thread;
	struct mm_struct *has;

	rcu_read_lock();
	for_each_process(process) {
		/* A kernel thread may have borrowed it. */
		if (process->flags & PF_KTHREAD)
			continue;
		/* All threads have the same one, but for those that have given it back. */
		has = NULL;
		for_each_thread(process, thread) {
			has = READ_ONCE(thread->mm);
			if (has)
				break;
		}
		/* Compared and no more: it may be gone by now. */
		if (has == mm) {
			pid = process->tgid;
			break;
		}
	}
	rcu_read_unlock();
#endif
	return pid;
}

/* What a handler of a fprobe gets of the probed function. */
#ifdef SCOPE_HAVE_FPROBE_FTRACE_REGS
#define scope_regs			ftrace_regs
#define scope_regs_argument(regs, n)	ftrace_regs_get_argument(regs, n)
#define scope_regs_result(regs)		ftrace_regs_get_return_value(regs)
#else
#define scope_regs			pt_regs
#define scope_regs_argument(regs, n)	regs_get_kernel_argument(regs, n)
#define scope_regs_result(regs)		regs_return_value(regs)
#endif

#ifdef CONFIG_FPROBE
#include <linux/fprobe.h>

/**
 * scope_fprobe_make_room - for calls of a probed function that are under way
 * @fprobe: all that is to be set before it is registered has been
 *
 * Where a kernel has room for so many ends of calls at a time and no more, it is for two
 * of each processor, and those that sleep within their function are more than that: the
 * rest is missed, its begin as well.
 */
static inline void scope_fprobe_make_room(struct fprobe *fprobe)
{
#ifdef SCOPE_HAVE_FPROBE_MAXACTIVE
	if (fprobe->exit_handler)
		fprobe->nr_maxactive = 1024;
#endif
}
#endif

/* The next open file of a task from number @n on, with a reference; NULL after the last. */
static inline struct file *scope_next_file(struct task_struct *task, unsigned int *n)
{
#ifdef SCOPE_HAVE_FGET_TASK_NEXT
	return fget_task_next(task, n);
#else
	struct file *file;

	rcu_read_lock();
	file = task_lookup_next_fdget_rcu(task, n);
	rcu_read_unlock();
	return file;
#endif
}

static inline int scope_debugfs_rename(struct dentry *dentry, const char *name)
{
#ifdef SCOPE_HAVE_DEBUGFS_CHANGE_NAME
	return debugfs_change_name(dentry, "%s", name);
#else
	return PTR_ERR_OR_ZERO(debugfs_rename(dentry->d_parent, dentry, dentry->d_parent, name));
#endif
}

/**
 * scope_lock_for_reading - lock a uobject as a command does that only uses it
 * @uobj: the uobject, with a reference
 *
 * Models uverbs_try_lock_object(), which not every kernel exports.
 *
 * Return: 0, or -EBUSY if it is locked for writing
 */
static inline int scope_lock_for_reading(struct ib_uobject *uobj)
{
#ifdef SCOPE_HAVE_TRY_LOCK_OBJECT
	return uverbs_try_lock_object(uobj, UVERBS_LOOKUP_READ);
#else
	return atomic_fetch_add_unless(&uobj->usecnt, 1, -1) == -1 ? -EBUSY : 0;
#endif
}

/* One more reference to a file, if it has one still. */
#ifdef SCOPE_HAVE_FILE_REF
#include <linux/file_ref.h>

static inline bool scope_get_file(struct file *file)
{
	return file_ref_get(&file->f_ref);
}
#else
static inline bool scope_get_file(struct file *file)
{
	return atomic_long_inc_not_zero(&file->f_count);
}
#endif

/* What a function gets that is to say whether a device is the one that is looked for. */
#ifdef SCOPE_HAVE_CONST_MATCH
#define scope_match_data	const void
#else
#define scope_match_data	void
#endif

#endif /* UOBJSCOPE_COMPAT_H */
