// SPDX-License-Identifier: GPL-2.0
/*
 * Record the lifetime events of a command, in a tracefs instance of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "record.h"

#define SWITCH		UOBJSCOPE_DIR "/trace"
#define INSTANCES	"/sys/kernel/tracing/instances"
/* Of each processor; an event takes some 100 bytes. */
#define BUFFER_KB	"8192"

static int write_file(const char *dir, const char *file, const char *text)
{
	char *path = format("%s/%s", dir, file);
	int fd = open(path, O_WRONLY | O_CLOEXEC), err = 0;

	free(path);
	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

/* '0' or '1'; 0 if it cannot be read. */
static char read_switch(void)
{
	int fd = open(SWITCH, O_RDONLY | O_CLOEXEC);
	char state = 0;

	if (fd < 0)
		return 0;
	if (read(fd, &state, 1) != 1)
		state = 0;
	close(fd);
	return state;
}

static int unreadable(const char *what, int err)
{
	complain("%s: %s", what, strerror(err));
	return EXIT_UNREADABLE;
}

/* Everything is set before the first event comes. */
static int begin(const char *dir)
{
	int err;

	err = write_file(dir, "tracing_on", "0");
	if (!err)
		err = write_file(dir, "trace_clock", "mono");
	if (!err)
		err = write_file(dir, "buffer_size_kb", BUFFER_KB);
	if (!err)
		err = write_file(dir, "events/uobjscope/enable", "1");
	if (err)
		return unreadable("the lifetime events cannot be recorded", err);
	/* Only where the device is the virtual one, and where the kernel has that event. */
	write_file(dir, "events/mlx5_vhca/enable", "1");
	write_file(dir, "events/printk/enable", "1");
	return EXIT_FINE;
}

static int run_command(char *const *argv)
{
	posix_spawn_file_actions_t actions;
	int err, status;
	pid_t pid;

	if (posix_spawn_file_actions_init(&actions))
		no_memory();
	/* Standard output is the picture's. */
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	err = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (err) {
		complain("%s: cannot start: %s", argv[0], strerror(err));
		return EXIT_UNREADABLE;
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		remark("%s was ended by signal %d", argv[0], WTERMSIG(status));
	else if (WEXITSTATUS(status))
		remark("%s ended with status %d", argv[0], WEXITSTATUS(status));
	return EXIT_FINE;
}

static int record(char *const *argv, struct trace *trace, const char *dir)
{
	char *path = format("%s/trace", dir);
	int status;

	status = begin(dir);
	if (!status)
		write_file(dir, "tracing_on", "1");
	if (!status)
		status = run_command(argv);
	write_file(dir, "tracing_on", "0");
	write_file(dir, "events/enable", "0");
	if (!status)
		status = trace_read(trace, path);
	free(path);
	return status;
}

/* A handler, as the command would inherit that a signal is ignored. */
static void on_signal(int signal)
{
	(void)signal;
}

int record_command(char *const *argv, struct trace *trace)
{
	/* The command may be interrupted; we then still have to clean up. */
	struct sigaction go_on = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, before;
	char was = read_switch(), *dir;
	int status, err;

	if (!was)
		return unreadable(SWITCH ": expected root, and uobjscope.ko loaded", errno);
	dir = format("%s/uobjscope-timeline-%d", INSTANCES, getpid());
	if (mkdir(dir, 0700)) {
		status = unreadable(dir, errno);
		free(dir);
		return status;
	}
	sigaction(SIGINT, &go_on, &before);
	err = was == '1' ? 0 : write_file(UOBJSCOPE_DIR, "trace", "1");
	if (err)
		status = unreadable(SWITCH ": cannot be switched on", err);
	else
		status = record(argv, trace, dir);
	if (was == '0')
		write_file(UOBJSCOPE_DIR, "trace", "0");
	sigaction(SIGINT, &before, NULL);
	if (rmdir(dir))
		remark("%s: cannot be removed: %s", dir, strerror(errno));
	free(dir);
	return status;
}
