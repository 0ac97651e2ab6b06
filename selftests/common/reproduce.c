// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reproduce.h"
#include "skip.h"
#include "text.h"

/* Not a status that a reproducer has. */
#define NOT_THERE	127

int path_of_program(const char *program, char *path, size_t size)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	if (len < 0)
		return errno;
	path[len] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return ENOENT;
	size -= slash + 1 - path;
	return snprintf(slash + 1, size, "%s", program) < (int)size ? 0 : ENAMETOOLONG;
}

int reproduce(const char *program, const char *device)
{
	int pipe_fd[2], status;
	char path[4096], line[512];
	bool too_old = false;
	FILE *said;
	pid_t pid;

	if (path_of_program(program, path, sizeof(path)) || pipe(pipe_fd))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(pipe_fd[1], STDOUT_FILENO);
		dup2(pipe_fd[1], STDERR_FILENO);
		close(pipe_fd[0]);
		close(pipe_fd[1]);
		execl(path, program, device, NULL);
		_exit(NOT_THERE);
	}
	close(pipe_fd[1]);
	said = fdopen(pipe_fd[0], "r");
	while (said && fgets(line, sizeof(line), said)) {
		diag("%.*s", (int)strcspn(line, "\n"), line);
		/* As the dynamic linker says that the library is an older one. */
		too_old = too_old || strstr(line, "' not found (required by ");
	}
	if (said)
		fclose(said);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	if (too_old)
		skip_test("%s was built with a newer rdma-core than this one", program);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_THERE)
		skip_test("no %s: rdma-core was older than 63 where it was built", program);
	if (WIFEXITED(status) && WEXITSTATUS(status) <= 1)
		return WEXITSTATUS(status);
	if (WIFEXITED(status) && WEXITSTATUS(status) == REPRODUCE_CANNOT_TELL)
		return REPRODUCE_CANNOT_TELL;
	diag("%s ended with wait status %#x", program, status);
	return -1;
}
