#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh [ARGUMENT...]: the suite in the lab, for a CI: what the other files of this folder
# call.  Arguments go to scripts/runner/run.py, and so do the variables of make run.  What the
# run leaves is copied to the folder that RESULTS names (default: ci-results).
#
# Exit status: 0 all is well, 1 tests failed or the guest's kernel panicked or hung, 75 (a
# failure for the time being, EX_TEMPFAIL) the lab could not be built or booted.  A CI that
# can tell them apart repeats the job on 75, as nothing was learned about the kernel.

cd "$(dirname "$0")/../.." || exit 75
results=${RESULTS:-ci-results}
say() { echo "uobjscope: $*" >&2; }

if [ ! -w /dev/kvm ]; then
	say "no KVM here: the guest is emulated, and takes about four times as long"
fi
if ! scripts/lab/host-packages.sh; then
	say "this machine cannot have the lab"
	exit 75
fi
rm -f results/latest
rc=0
python3 scripts/runner/run.py "$@" || rc=$?
rm -rf "$results"
if [ -d results/latest ]; then
	cp -rL results/latest "$results"
fi
case $rc in
0)
	# Green only with the word of the results themselves.
	grep -q '"failed": 0,' "$results/totals.json" ||
		{ say "no good results in $results/totals.json"; exit 75; }
	;;
1) say "tests failed, see $results/summary.txt" ; exit 1 ;;
2) say "the guest's kernel panicked, see $results/console.log" ; exit 1 ;;
3) say "the guest hung, see $results/console.log" ; exit 1 ;;
*) say "the lab could not be built or booted (status $rc)" ; exit 75 ;;
esac
