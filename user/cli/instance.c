// SPDX-License-Identifier: GPL-2.0
/*
 * Run a command while the lifetime events of uobjscope.ko are on.
 *
 * A signal that is to end us ends the command; we then go on to where the instance is
 * removed and the switch is as it was.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "instance.h"

#define TRACING		"/sys/kernel/tracing"
/* How often to look whether the command has ended, where there is something else to do. */
#define TICK_MS		20

/* ---- the instance ---- */

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

/* Set state to '0' or '1', or return why it is not known. */
static const char *read_switch(const char *path, char *state)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, state, 1);
	const char *why = NULL;

	if (n < 0)
		why = strerror(errno);
	else if (!n)
		why = "it is empty";
	if (fd >= 0)
		close(fd);
	return why;
}

static char *make(struct instance *instance)
{
	const char *unknown;
	char state = 0;
	int err;

	unknown = read_switch(instance->switch_path, &state);
	if (unknown)
		return format("%s: cannot read: %s: expected root, and uobjscope.ko loaded",
			      instance->switch_path, unknown);
	if (access(TRACING "/instances", F_OK))
		return format("no tracefs in " TRACING ": mount -t tracefs none " TRACING);
	if (mkdir(instance->dir, 0700))
		return format("%s: cannot be made: %s", instance->dir, strerror(errno));
	instance->made = true;
	if (state == '1')
		return NULL;
	err = write_text(instance->switch_path, "1");
	if (err)
		return format("%s: cannot be switched on: %s", instance->switch_path,
			      err == EOPNOTSUPP ? "the module has no probes" : strerror(err));
	instance->switched = true;
	return NULL;
}

int instance_begin(struct instance *instance, const char *name, const char *debugfs, char **why)
{
	*instance = (struct instance) {
		.dir = format(TRACING "/instances/uobjscope-%s-%d", name, getpid()),
		.switch_path = format("%s/trace", debugfs),
	};
	*why = make(instance);
	if (!*why)
		return 0;
	instance_end(instance);
	return -1;
}

int instance_set(const struct instance *instance, const char *file, const char *text, char **why)
{
	char *path = format("%s/%s", instance->dir, file);
	int err = write_text(path, text);

	if (err && why && !*why)
		*why = format("%s: cannot write '%s': %s", path, text, strerror(err));
	free(path);
	return err;
}

bool instance_is_on(const struct instance *instance)
{
	char state = 0;

	if (!read_switch(instance->switch_path, &state) && state == '1')
		return true;
	remark("%s: was switched off meanwhile, events are missing", instance->switch_path);
	return false;
}

void instance_end(struct instance *instance)
{
	int err = instance->switched ? write_text(instance->switch_path, "0") : 0;

	if (err)
		remark("%s: cannot be switched off: %s", instance->switch_path, strerror(err));
	if (instance->made && rmdir(instance->dir))
		remark("%s: cannot be removed: %s", instance->dir, strerror(errno));
	free(instance->dir);
	free(instance->switch_path);
	memset(instance, 0, sizeof(*instance));
}

/* ---- the command ---- */

static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
static struct sigaction before[ARRAY_SIZE(signals)];
/* The last one that came, 0 if none has. */
static atomic_int came;
/* 0 before it runs, and once it has ended. */
static atomic_int child;

static void pass_on(int signal, siginfo_t *info, void *context)
{
	/* What is typed on a terminal has come to all of its group, the command among them. */
	const bool typed = info->si_code == SI_KERNEL && (signal == SIGINT || signal == SIGQUIT);
	const int err = errno;

	(void)context;
	/* That nobody reads our notes any more is none of the command's business. */
	if (signal == SIGPIPE)
		return;
	came = signal;
	if (child && !typed)
		kill(child, signal);
	errno = err;
}

void command_catch_signals(void)
{
	const struct sigaction action = {
		.sa_sigaction = pass_on,
		.sa_flags = SA_SIGINFO | SA_RESTART,
	};

	came = 0;
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		sigaction(signals[i], NULL, &before[i]);
		/* What is ignored stays so, for the command as well, which inherits that. */
		if (before[i].sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	}
}

void command_release_signals(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaction(signals[i], &before[i], NULL);
}

/* The signals are blocked: none comes after the look and before the command has its number. */
static int spawn(char *const *argv, const posix_spawn_file_actions_t *actions,
		 const posix_spawnattr_t *attributes)
{
	pid_t pid;
	int err;

	if (came) {
		complain("%s: not run: signal %d came before", argv[0], came);
		return -1;
	}
	err = posix_spawnp(&pid, argv[0], actions, attributes, argv, environ);
	if (!err)
		child = pid;
	return err;
}

int command_start(char *const *argv, bool to_stderr)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t caught, mask;
	int err;

	if (posix_spawnattr_init(&attributes) || posix_spawn_file_actions_init(&actions) ||
	    (to_stderr &&
	     posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO)))
		no_memory();
	sigemptyset(&caught);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&caught, signals[i]);
	sigprocmask(SIG_BLOCK, &caught, &mask);
	posix_spawnattr_setsigmask(&attributes, &mask);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	err = spawn(argv, &actions, &attributes);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return err;
}

/* It is not reaped yet: until then a signal that has its number goes to no other process. */
static bool is_running(int options)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, child, &info, WEXITED | WNOWAIT | options))
		return errno == EINTR;
	return !info.si_pid;
}

int command_wait(const char *name, int *status, void (*meanwhile)(void *data), void *data)
{
	const pid_t pid = child;

	while (is_running(meanwhile ? WNOHANG : 0)) {
		if (!meanwhile)
			continue;
		meanwhile(data);
		poll(NULL, 0, TICK_MS);
	}
	child = 0;
	return command_reap(pid, name, status);
}

int command_reap(pid_t pid, const char *name, int *status)
{
	pid_t ended;

	do
		ended = waitpid(pid, status, 0);
	while (ended < 0 && errno == EINTR);
	if (ended >= 0)
		return 0;
	complain("%s: cannot be waited for: %s", name, strerror(errno));
	return -1;
}
