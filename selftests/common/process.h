/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the kernel shows of another process: where it sleeps, and which signals it has
 * not taken yet.
 */
#ifndef _SELFTESTS_PROCESS_H
#define _SELFTESTS_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct process_look - what was seen of where a process sleeps
 * @switches: how often it had been given the processor
 * @there: it slept in the function
 * @stack: the functions that it was in, NULL if that cannot be read
 */
struct process_look {
	unsigned long long switches;
	bool there;
	char *stack;
};

/**
 * process_look() - look whether a process, or a thread, sleeps in a function of the kernel
 * @pid: its number
 * @function: name of the function, anywhere in the list of callers
 * @look: zeroed before the first look
 *
 * One that was preempted on its way through the function has a stack as well, and so has
 * one that waits a moment for a lock there.  So it must have been there in the look before,
 * and not have run since; some milliseconds should lie between.
 *
 * Return: 1 if it sleeps there, 0 if not, -1 with errno if that cannot be read.
 */
int process_look(pid_t pid, const char *function, struct process_look *look);

/**
 * process_look_end() - free what process_look() keeps
 * @look: the last look
 */
void process_look_end(struct process_look *look);

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
