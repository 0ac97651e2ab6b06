#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# drgn.sh: the lane in which drgn and uobjscope.ko look at the same objects.  Where
# drgn or the kernel's debug symbols are not to be had, it is skipped, with the reason.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

lane=$KERNEL
# A lane of that kernel, see scripts/runner/run.py.
[ "$KERNEL" != slab ] || KERNEL=7.2

w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

# Without these nothing can be learned at all.
"$LAB/rootfs.sh" > /dev/null
"$LAB/kernel.sh" > /dev/null

arguments=()
for layer in drgn debug-symbols; do
	# What it says is for the person who waits, and its last line is the reason.
	if ! "$LAB/$layer.sh" 2>&1 > "$w/path" | tee "$w/said" >&2; then
		reason=$(sed -n 's/^uobjscope: //p' "$w/said" | head -n 1)
		skip drgn "${reason:-$layer.sh failed}; needed are a Debian mirror that has it (MIRROR=) and 1.5 GB of disk (CACHE=)"
		tally_end
		exit
	fi
	arguments+=(--layer "$(cat "$w/path")")
done
python3 "$TOP/scripts/runner/run.py" --kernel "$lane" "${arguments[@]}" drgn_check
