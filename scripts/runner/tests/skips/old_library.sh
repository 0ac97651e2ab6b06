#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Programs that were built with a newer rdma-core than the one that is here: tests of what
# it lacks are skipped, the rest is run.

DIR=$(cd "$(dirname "$0")/../uobjscope" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"
# shellcheck source=scripts/runner/tests/skips/skips_lib.sh
. "$(dirname "$0")/skips_lib.sh"

# Both are there, and no test failed.
some_skipped()
{
	none_failed || return 1
	if ! results | grep -qE '# SKIP .*(rdma-core is older than|newer rdma-core)' ||
	   ! results | grep -qv '# SKIP'; then
		show_answer
		return 1
	fi
}

[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
programs="var_share known"
ktap_print_header
plan "$(echo "$programs" | wc -w)"
for program in $programs; do
	run_as "$program" one_program some_skipped "./$program"
done
ktap_finished
