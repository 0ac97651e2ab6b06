/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Proof that a function enters the kernel not once.
 */
#ifndef _SELFTESTS_NO_SYSCALL_H
#define _SELFTESTS_NO_SYSCALL_H

/**
 * _no_syscall() - run a function where every system call kills
 * @fn: the function; it is called twice with the same argument
 * @arg: its argument
 *
 * A child calls the function once, so that the allocator has memory and all
 * symbols are bound, then installs a seccomp filter that allows nothing but
 * to exit, and calls it again.
 *
 * Return: 0 if there was no system call, EPERM if there was one, or another
 * errno if the child could not be run.
 */
int _no_syscall(void (*fn)(void *arg), void *arg);

#define no_syscall(fn, arg) \
	ASSERT_EQ(0, _no_syscall(fn, arg))
#define no_syscall_err(err, fn, arg) \
	ASSERT_EQ(err, _no_syscall(fn, arg))

#endif /* _SELFTESTS_NO_SYSCALL_H */
