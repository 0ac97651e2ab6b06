#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [PROGRAM:TEST]...: rdma-core's own Python tests in the guest, against two virtual
# HCAs.  Where the tests or Python are not to be had, the lane is skipped, with the reason.
#
# A table by family goes before the last line, and pyverbs.json into the results folder.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

lane=$KERNEL
# A lane of that kernel, see scripts/runner/run.py.
[ "$KERNEL" != slab ] || KERNEL=7.2
[ "$KERNEL" != debug ] || KERNEL=7.2-debug

w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

# Without these nothing can be learned at all.
"$LAB/rootfs.sh" > /dev/null
"$LAB/kernel.sh" > /dev/null

# What it says is for the person who waits, and its last line is the reason.
if ! "$LAB/pyverbs.sh" 2>&1 > "$w/path" | tee "$w/said" >&2; then
	reason=$(sed -n 's/^uobjscope: //p' "$w/said" | head -n 1)
	skip pyverbs "${reason:-pyverbs.sh failed}; needed is a Debian mirror that has the source of rdma-core (MIRROR=)"
	tally_end
	exit
fi

status=0
[ $# -gt 0 ] || set -- pyverbs_check
VHCA="hcas=2 blueflame=Y ${VHCA:-}" python3 "$TOP/scripts/runner/run.py" --kernel "$lane" \
	--layer "$(cat "$w/path")" ${RESULTS:+--results "$RESULTS"} "$@" > "$w/out" || status=$?
sed '$d' "$w/out"
results=$(sed -n 's/^lane .*; results in //p' "$w/out" | tail -n 1)
if [ -n "$results" ] && [ -r "$results/totals.json" ]; then
	python3 "$TOP/scripts/pyverbs/table.py" "$results" || status=$?
fi
tail -n 1 "$w/out"
exit "$status"
