/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The Nth fault point of a task fails: an allocation that finds no memory, or a copy
 * from or to the program's memory that faults.
 *
 * This is /proc/PID/fail-nth of a kernel with fault injection, see
 * Documentation/fault-injection/fault-injection.rst of its source.  It counts the fault
 * points of one task; which kinds of them count is for all tasks and stands in debugfs.
 * A kernel without has a module of the selftests in its place, for one task at a time.
 */
#ifndef _SELFTESTS_FAIL_NTH_H
#define _SELFTESTS_FAIL_NTH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* More fault points than any call has. */
#define FAIL_NTH_NEVER	1000000U

/**
 * enum fail_nth_what - which fault points count
 * @FAIL_NTH_MEMORY: allocations of slab objects and of pages; those of kmemleak for
 *	itself do not, it has a reserve for that
 * @FAIL_NTH_COPY: copies from and to the memory of the program
 */
enum fail_nth_what {
	FAIL_NTH_MEMORY,
	FAIL_NTH_COPY,
};

/**
 * fail_nth_missing() - why nothing can be made to fail here
 * @what: the kind of fault points
 *
 * Where the kernel has no fault injection a module fails allocations of slab objects in
 * the same way, fail_allocation.ko, which is loaded until fail_nth_end().
 *
 * Return: NULL if it can, else the text for a SKIP, with the way out.
 */
const char *fail_nth_missing(enum fail_nth_what what);

/**
 * fail_nth_begin() - say what counts
 * @what: the kind of fault points
 *
 * All settings that are changed are kept as they were found, until fail_nth_end(), for
 * all processes of the program.  The memory of the calling one is made present, so that no
 * page fault of its own has the Nth allocation.
 *
 * Return: 0 or an errno; which setting it was is written as a diagnostic.
 */
int fail_nth_begin(enum fail_nth_what what);

/**
 * fail_nth_only() - have only those fault points count that are made in a function
 * @function: the kernel's name of it; it has to be among the callers
 *
 * Until the next fail_nth_begin(), after which this is called.
 *
 * Return: 0 or an errno, ENOENT if the kernel has no such function.
 */
int fail_nth_only(const char *function);

/**
 * fail_nth_worker() - have allocations of any task fail that are made in a function
 * @function: the kernel's name of it; every allocation on the way of which it is, counts
 * @times: how many of them fail, -1 for all
 *
 * For what is done by a worker, where the number of a task is not known beforehand.
 * Until fail_nth_worker_end(), or another call of this.  No Nth fault point meanwhile.
 *
 * Return: 0 or an errno, ENOENT if the kernel has no such function.
 */
int fail_nth_worker(const char *function, int times);

/**
 * fail_nth_starve() - the same, but of allocations that the calling task makes
 * @function: the kernel's name of it
 * @times: how many of them fail, -1 for all
 *
 * Return: as fail_nth_worker() does.
 */
int fail_nth_starve(const char *function, int times);

/**
 * fail_nth_worker_left() - how many allocations are to fail still
 *
 * Return: what is left of @times, or -1 with errno set.
 */
int fail_nth_worker_left(void);

/**
 * fail_nth_worker_end() - have nothing fail any more because of fail_nth_worker()
 *
 * Or of fail_nth_starve().  Does nothing without one.
 */
void fail_nth_worker_end(void);

/**
 * fail_nth_end() - have nothing fail any more, and all settings as they were found
 *
 * Does nothing if nothing was changed.
 */
void fail_nth_end(void);

/**
 * fail_nth_open() - the file that takes the number for a task
 * @pid: the task, 0 for the calling one
 *
 * Return: a descriptor, or -1 with errno set.
 */
int fail_nth_open(pid_t pid);

/**
 * fail_nth_arm() - have a fault point fail
 * @fd: of fail_nth_open()
 * @nth: which, from 1, counted from the end of this call
 *
 * Return: 0 or an errno.
 */
int fail_nth_arm(int fd, unsigned int nth);

/**
 * fail_nth_left() - how many fault points are to come until one fails
 * @fd: of fail_nth_open()
 * @left: filled in, 0 if one has failed
 *
 * The task may be a process that is dead and was not waited for.
 *
 * Return: 0 or an errno.
 */
int fail_nth_left(int fd, unsigned int *left);

/**
 * fail_nth_disarm() - have no further fault point fail
 * @fd: of fail_nth_open(), of the calling task
 * @left: filled in as fail_nth_left() does, may be NULL
 *
 * Return: 0 or an errno.
 */
int fail_nth_disarm(int fd, unsigned int *left);

/**
 * fail_nth_site() - who called what failed last
 * @site: filled in with names of functions, the innermost first, a space between two
 * @size: bytes there
 *
 * Return: whether it is known; @site is empty otherwise.
 */
bool fail_nth_site(char *site, size_t size);

/**
 * fail_nth_site_has() - is a function among the callers?
 * @site: of fail_nth_site()
 * @function: its name
 *
 * Return: whether it is.
 */
bool fail_nth_site_has(const char *site, const char *function);

#endif /* _SELFTESTS_FAIL_NTH_H */
