# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# Checks in shell: one line each, a closing line, and the totals for scripts/test.sh.
# Sourced, never run.

passed=0 failed=0 skipped=0

# check NAME COMMAND...: its output is shown only if it fails.
check()
{
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "ok $name"
		passed=$((passed + 1))
	else
		echo "not ok $name"
		printf '%s\n' "$out" | tail -n 40 | sed 's/^/#   /'
		failed=$((failed + 1))
	fi
}

skip()
{
	echo "ok $1 # SKIP $2"
	skipped=$((skipped + 1))
}

# tally_end: the closing line; to the file $TALLY as well, where that is set.
tally_end()
{
	[ -z "${TALLY:-}" ] || echo "$passed $failed $skipped" > "$TALLY"
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ]
}
