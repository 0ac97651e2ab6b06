/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Run a command while the lifetime events of uobjscope.ko are on, and leave nothing of that
 * behind: an instance of the kernel's tracing, the module's switch, the command itself.
 */
#ifndef UOBJSCOPE_INSTANCE_H
#define UOBJSCOPE_INSTANCE_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * struct instance - buffers of the kernel's tracing that nobody else has
 * @dir: its folder
 * @switch_path: the module's switch
 * @made: the folder is there
 * @switched: it was off before, and is to be off again
 */
struct instance {
	char *dir;
	char *switch_path;
	bool made;
	bool switched;
};

/**
 * instance_begin() - make an instance, and switch the lifetime events on
 * @instance: to be filled
 * @name: who wants it; the folder is called uobjscope-NAME- and the process' number
 * @debugfs: folder of uobjscope.ko
 * @why: set to why there is none, to be freed, where there is none
 *
 * Which events it has is up to instance_set().  Before it comes command_catch_signals(), so
 * that no signal leaves it behind.
 *
 * Return: 0, or -1; then there is nothing to end.
 */
int instance_begin(struct instance *instance, const char *name, const char *debugfs,
		   char **why);

/**
 * instance_set() - write to one of its files
 * @instance: of instance_begin()
 * @file: below its folder
 * @text: what to write
 * @why: set to what went wrong, to be freed, unless there is something already; may be NULL
 *
 * Return: 0, or an errno.
 */
int instance_set(const struct instance *instance, const char *file, const char *text,
		 char **why);

/**
 * instance_is_on() - is the module's switch as instance_begin() has left it?
 * @instance: of instance_begin()
 *
 * Another run, which has found it off, switches it off when it ends.
 *
 * Return: true, or false after a note that says that events are missing.
 */
bool instance_is_on(const struct instance *instance);

/**
 * instance_end() - remove it with its events, and have the switch as it was
 * @instance: of instance_begin(), all of its files closed; or all zero
 *
 * What cannot be done is said in a note.
 */
void instance_end(struct instance *instance);

/**
 * command_catch_signals() - from now on what is to end us is for the command
 *
 * SIGINT, SIGQUIT, SIGTERM and SIGHUP are passed on to it, unless they are ignored, as they
 * then are by the command as well.  What comes before there is one keeps it from being run.
 * SIGPIPE is for nobody.
 */
void command_catch_signals(void);

/** command_release_signals() - they are for us again */
void command_release_signals(void);

/**
 * command_start() - run a command
 * @argv: its words; ends with NULL
 * @to_stderr: what it prints goes to standard error
 *
 * After command_catch_signals().
 *
 * Return: 0; an errno if it cannot be run; or -1 after a line that says that a signal came
 * first.
 */
int command_start(char *const *argv, bool to_stderr);

/**
 * command_wait() - wait until the command of command_start() ends
 * @name: for an error
 * @status: set to its status, as waitpid() has it
 * @meanwhile: called again and again until then, or NULL
 * @data: its argument
 *
 * Return: 0, or -1 after a line that says why it cannot be waited for.
 */
int command_wait(const char *name, int *status, void (*meanwhile)(void *data), void *data);

/**
 * command_reap() - wait until a process ends that somebody else has started
 * @pid: the process
 * @name: for an error
 * @status: set to its status, as waitpid() has it
 *
 * Return: 0, or -1 after a line that says why it cannot be waited for.
 */
int command_reap(pid_t pid, const char *name, int *status);

#endif
