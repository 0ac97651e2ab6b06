/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel shows of another process: where it sleeps, and which signals it has
 * not taken yet.
 */
#ifndef _SELFTESTS_PROCESS_H
#define _SELFTESTS_PROCESS_H

#include <sys/types.h>

/**
 * _process_waits() - wait until a process sleeps in a function of the kernel
 * @pid: the process, of one thread
 * @function: name of the function, anywhere in the list of callers
 *
 * Return: 0, ETIMEDOUT if it has not been seen there within twenty seconds (what it is
 * in instead is written as a diagnostic), or an errno.
 */
int _process_waits(pid_t pid, const char *function);

/**
 * _process_owes() - wait until a signal waits for a process that does not take it
 * @pid: the process, of one thread
 * @signal: the signal
 *
 * A process that sleeps and cannot be interrupted takes none.
 *
 * Return: 0, ETIMEDOUT if it has not been seen within twenty seconds, or an errno.
 */
int _process_owes(pid_t pid, int signal);

/**
 * _process_sleeps() - wait until a process, or a thread, sleeps beyond all signals
 * @pid: its number
 *
 * One that was only preempted in a function has a stack as well, and does not sleep.
 *
 * Return: 0, ETIMEDOUT if it has not been seen so within twenty seconds, or an errno.
 */
int _process_sleeps(pid_t pid);

#define process_sleeps(pid)		ASSERT_EQ(0, _process_sleeps(pid))
#define process_waits(pid, function)	ASSERT_EQ(0, _process_waits(pid, function))
#define process_owes(pid, signal)	ASSERT_EQ(0, _process_owes(pid, signal))

#endif /* _SELFTESTS_PROCESS_H */
