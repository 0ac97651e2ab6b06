/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Record the lifetime events of a command.
 */
#ifndef UOBJSCOPE_CLI_RECORD_H
#define UOBJSCOPE_CLI_RECORD_H

#include "trace.h"

/**
 * record_command() - run a command and read what happened meanwhile
 * @argv:	its words; ends with NULL
 * @trace:	all zero
 *
 * In buffers of the trace's own, which are gone afterwards; the switch of the events is as
 * it was before.  What the command prints goes to standard error.  How it ends is said there
 * if it is not with 0.  Signals are passed on to it, see command_catch_signals().
 *
 * Return: EXIT_FINE, or EXIT_UNREADABLE after a line that says why; give @trace to
 * trace_free() in any case.
 */
int record_command(char *const *argv, struct trace *trace);

#endif
