#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run_local.sh, with the virtual HCA as a device that nobody knows to be virtual
# (UOBJSCOPE_NO_LEDGER): what it runs, what it refuses, and that it leaves all as it was.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

# local_run PROGRAM...: its output is in $w/said, its status returned.
local_run()
{
	env UOBJSCOPE_NO_LEDGER=1 "$DIR/run_local.sh" "$@" > "$w/said" 2>&1
}

# refuses TEXT VARIABLE=VALUE... [PROGRAM]: one line that has the text, and nothing is run.
refuses()
{
	r_text=$1
	shift
	env UOBJSCOPE_NO_LEDGER=1 "$@" > "$w/said" 2>&1
	rc=$?
	[ $rc = 2 ] || { echo "exit status $rc, expected 2"; cat "$w/said"; return 1; }
	if [ "$(wc -l < "$w/said")" != 1 ] || ! grep -qF -- "uobjscope: $r_text" "$w/said"; then
		echo "expected one line with '$r_text', seen:"
		cat "$w/said"
		return 1
	fi
}

refuses_bad_words()
{
	refuses "DEVICE=mlx5_9: no RDMA device of mlx5_core; there are: mlx5_" \
		DEVICE=mlx5_9 "$DIR/run_local.sh" &&
	refuses "ALLOW=all: expected unbind or exhaustion" ALLOW=all "$DIR/run_local.sh" &&
	refuses "fatal: it needs the virtual HCA" "$DIR/run_local.sh" fatal &&
	refuses "reload.sh: it needs the virtual HCA" ALLOW=unbind "$DIR/run_local.sh" reload.sh
}

refuses_to_unbind()
{
	refuses "disassociate takes the device from its driver" "$DIR/run_local.sh" disassociate
}

refuses_nobody()
{
	refuses "not root" su -s /bin/sh nobody -c "$DIR/run_local.sh"
}

result() { sed -n "s/^# \(not \)\{0,1\}ok [0-9]* $1\( # \([A-Z]*\)\)\{0,1\}.*/\1\3/p" "$w/said"; }

# expect_result NAME "" | SKIP: what the tests of var have come to.
expect_result()
{
	grep -qE "^# ok [0-9]+ $1( # SKIP.*)?\$" "$w/said" || { grep "$1" "$w/said"; return 1; }
	[ "$(result "$1")" = "$2" ] || { echo "$1: expected '$2'"; grep "$1" "$w/said"; return 1; }
}

# The kernel's own witnesses judge; nobody else's pages are taken.
var_is_tested()
{
	local_run var || { grep -v '^# ok' "$w/said"; return 1; }
	expect_result var.var_01_alloc_takes_a_page "" &&
	expect_result var.var_09_exhaustion SKIP &&
	grep -q 'mlx5_[0-9]* is not virtual: set UOBJSCOPE_ALLOW=exhaustion' "$w/said" &&
	[ "$(tail -n 1 "$w/said" | cut -d ' ' -f 1)" -ge 8 ] && return
	tail -n 3 "$w/said"
	return 1
}

var_may_be_exhausted()
{
	ALLOW=exhaustion local_run var || { grep -v '^# ok' "$w/said"; return 1; }
	expect_result var.var_09_exhaustion ""
}

# What looks into the ledger is skipped, with that reason, and the rest is not.
dm_is_tested()
{
	local_run dm || { grep -v '^# ok' "$w/said"; return 1; }
	grep -q '# SKIP mlx5_[0-9]* is not a virtual HCA, whose ledger this test needs' "$w/said" ||
		{ cat "$w/said"; return 1; }
	[ "$(tail -n 1 "$w/said" | cut -d ' ' -f 1)" -ge 2 ] || { tail -n 3 "$w/said"; return 1; }
}

# The modules that were loaded, and no others, are there afterwards; no mlx5_vhca came.
all_is_as_it_was()
{
	had_scope=$(cut -d ' ' -f 1 /proc/modules | grep -x uobjscope)
	[ -z "$had_scope" ] || rmmod uobjscope || return 1
	cut -d ' ' -f 1 /proc/modules | sort > "$w/modules"
	local_run mmap_entry attach
	rc=$?
	cut -d ' ' -f 1 /proc/modules | sort | diff "$w/modules" - > "$w/diff" ||
		{ cat "$w/diff"; rc=1; }
	grep -qE '^# ok [0-9]+ mmap_entry[^#]*$' "$w/said" ||
		{ echo "no test of mmap_entry passed"; rc=1; }
	[ -z "$had_scope" ] || [ -e $SCOPE_DEBUGFS ] || insmod "$(module_file uobjscope)" || return 1
	[ $rc = 0 ] || tail -n 5 "$w/said"
	return $rc
}

[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
run_all "refuses_bad_words refuses_to_unbind refuses_nobody var_is_tested var_may_be_exhausted
	dm_is_tested all_is_as_it_was" ""
