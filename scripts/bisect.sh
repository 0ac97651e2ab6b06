#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# bisect.sh PROGRAM[:TEST]...: for git bisect run, in a kernel tree that nothing was built in:
# build the commit that is checked out, boot it, and run these tests.
#
# Exit status, as git wants it: 0 good, 1 bad (a test failed, or the guest panicked or hung),
# 125 nothing was learned: the kernel, or the suite for it, does not build or does not boot.
# KERNEL=debug has the debug kernel's checks, KSRC= another tree than the current folder; what
# the runner says is on standard output, and its results are in results/ here.

scripts=$(cd "$(dirname "$0")" && pwd) || exit 125
[ $# -gt 0 ] || { echo "uobjscope: bisect.sh: expected PROGRAM[:TEST]..." >&2; exit 125; }
export KSRC=${KSRC:-$PWD}
lane=${KERNEL:-own}
case $lane in
own|debug) ;;
*) echo "uobjscope: KERNEL=$lane: expected debug, or none" >&2; exit 125 ;;
esac
"$scripts/lab/host-packages.sh" >&2 || exit 125
kernel=$lane
[ "$lane" = own ] || kernel=own-debug
# A signal's status would end the bisection.
KERNEL=$kernel "$scripts/lab/kernel.sh" build > /dev/null || exit 125
python3 "$scripts/runner/run.py" --kernel "$lane" "$@"
case $? in
0) exit 0 ;;
1|2|3) exit 1 ;;
*) exit 125 ;;
esac
