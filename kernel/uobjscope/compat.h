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

#include <linux/mm_types.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

/**
 * scope_mm_pid - process that owns an address space
 * @mm: the address space, kept by the caller
 *
 * Only with memory control groups does a kernel know the owner; without them all tasks
 * are asked, of which another may have the same address space until an execve().
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
	struct task_struct *leader, *task;

	rcu_read_lock();
	for_each_process_thread(leader, task) {
		/* Compared and no more: it may be gone by now. */
		if (READ_ONCE(task->mm) == mm) {
			pid = task->tgid;
			goto found;
		}
	}
found:
	rcu_read_unlock();
#endif
	return pid;
}

#endif /* UOBJSCOPE_COMPAT_H */
