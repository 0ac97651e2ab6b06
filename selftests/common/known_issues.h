/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Faults of the kernel and of rdma-core that are known: is this one to be expected
 * here, and what does it mean that it was seen, or was not?
 *
 * The entries and the rules are in the file known_issues beside the programs.
 */
#ifndef _SELFTESTS_KNOWN_ISSUES_H
#define _SELFTESTS_KNOWN_ISSUES_H

#include <stdbool.h>
#include <stddef.h>

/* Room for a reason, as large as the harness has for one. */
#define KNOWN_REASON	1024

/**
 * enum known_state - is the fault to be expected on this machine?
 * @KNOWN_LIVE: yes
 * @KNOWN_FIXED: no, kernel or library have the fix
 * @KNOWN_HIDDEN: it is there, but nothing here would show it
 */
enum known_state {
	KNOWN_LIVE,
	KNOWN_FIXED,
	KNOWN_HIDDEN,
};

/**
 * struct known_issue - one entry, and what it means here
 * @id: its name ("L01")
 * @title: what goes wrong
 * @component: "kernel" or "rdma-core"
 * @fixed: first versions that do not have it, "-" if none is known
 * @observable: what the machine must have so that it shows, "any" or a choice
 * @sometimes: it need not show in every run
 * @state: what to expect
 * @why: where @state is known from
 */
struct known_issue {
	char id[16];
	char title[160];
	char component[32];
	char fixed[64];
	char observable[64];
	bool sometimes;
	enum known_state state;
	char why[256];
};

/**
 * known_issue() - look up a fault, and whether it is to be expected here
 * @id: its name
 * @issue: filled in
 *
 * Whether the fix is there is asked of the environment first: KNOWN_FIXED and
 * KNOWN_LIVE list names, separated by commas, that somebody with the kernel's
 * source has found out.  Then of the running kernel's type information, of the
 * version at last.
 *
 * Return: 0, ENOENT if there is no such entry, or another errno with the reason
 * written as a diagnostic.
 */
int known_issue(const char *id, struct known_issue *issue);

/**
 * known_has_version() - does a release contain what some versions brought?
 * @release: as uname -r has it ("7.2.12+deb14-amd64")
 * @versions: the first one of each series that has it ("7.3 7.2.15"), or "-"
 *
 * A release has it if it is not older than the one of its own series, or newer
 * than all of them.
 *
 * Return: whether it does.
 */
bool known_has_version(const char *release, const char *versions);

/**
 * known_verdict() - what a test must report
 * @issue: filled in by known_issue()
 * @seen: whether the fault has shown
 * @reason: KNOWN_REASON bytes for the text that belongs to it, empty for none
 *
 * Return: one of kselftest's exit codes KSFT_PASS, KSFT_FAIL, KSFT_XFAIL, KSFT_SKIP.
 */
int known_verdict(const struct known_issue *issue, bool seen, char *reason);

#endif /* _SELFTESTS_KNOWN_ISSUES_H */
