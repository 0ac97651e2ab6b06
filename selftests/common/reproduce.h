/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Running the reproducers of known faults, which are programs beside the tests.
 */
#ifndef _SELFTESTS_REPRODUCE_H
#define _SELFTESTS_REPRODUCE_H

#include <stddef.h>

/* What reproduce() returns where the reproducer lacks something: its exit status. */
#define REPRODUCE_CANNOT_TELL	4

/**
 * reproduce() - run a reproducer
 * @program: its name
 * @device: the device under test, as ibv_devices prints it
 *
 * What it prints is written as diagnostics.  A reproducer that needs a newer rdma-core
 * ends the test as skipped.
 *
 * Return: 0 if it says that all is well, 1 if it says that the fault is there,
 * REPRODUCE_CANNOT_TELL, or -1 if it ended in another way.
 */
int reproduce(const char *program, const char *device);

/**
 * path_of_program() - the path of a program in the folder of the one that runs
 * @program: its name; empty for the folder, with a slash at its end
 * @path: filled in
 * @size: of @path
 *
 * Return: 0 or an errno.
 */
int path_of_program(const char *program, char *path, size_t size);

#endif /* _SELFTESTS_REPRODUCE_H */
