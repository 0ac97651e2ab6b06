// SPDX-License-Identifier: GPL-2.0
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "skip.h"

/* KSFT_SKIP of kselftest.h, whose counters are not for a second file. */
#define STATUS_SKIP	4

static char *test_reason;
static size_t test_reason_size;
static int *test_exit_code;
static pid_t test_pid;
static void (*tell_instead)(const char *reason);

/* One that nothing else here uses. */
#define SIGNAL_SKIP	(SIGRTMAX - 1)

static void skip_with_child(int signal)
{
	(void)signal;
	_exit(STATUS_SKIP);
}

void skip_begin(char *reason, size_t size, int *exit_code)
{
	const struct sigaction action = { .sa_handler = skip_with_child };

	test_pid = getpid();
	sigaction(SIGNAL_SKIP, &action, NULL);
	test_reason = reason;
	test_reason_size = size;
	test_exit_code = exit_code;
}

void skip_instead(void (*tell)(const char *reason))
{
	tell_instead = tell;
}

void skip_test(const char *fmt, ...)
{
	char reason[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
	if (tell_instead) {
		tell_instead(reason);
	} else {
		diag("     SKIP      %s", reason);
		if (test_exit_code) {
			snprintf(test_reason, test_reason_size, "%s", reason);
			*test_exit_code = STATUS_SKIP;
			/* Before it can miss this process. */
			if (test_pid != getpid())
				kill(test_pid, SIGNAL_SKIP);
		}
	}
	fflush(NULL);
	_exit(STATUS_SKIP);
}

bool kernel_is_before(int major, int minor)
{
	struct utsname name;
	int is_major, is_minor;

	if (uname(&name) || sscanf(name.release, "%d.%d", &is_major, &is_minor) != 2)
		return false;
	return is_major < major || (is_major == major && is_minor < minor);
}
