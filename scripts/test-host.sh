#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests that need no guest: of the lab's scripts, of the runner's parsers, of what others
# read in its results, of what checks invariants and coverage, of the examples for a CI, of
# libuobjscope and the uobjscope command on snapshots that were saved, and of what of
# uobjscope.ko makes text, compiled for the host.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

said=$(mktemp)
trap 'rm -f "$said" "$said.tally" "$said.tap"' EXIT

TALLY=$said.tally "$LAB/tests/run.sh" | sed '$d' || :
read -r p f s < "$said.tally"
passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))

show_and_fail()	# what grep is to find; without arguments, all
{
	if [ $# -gt 0 ]; then grep "$@"; else cat "$said"; fi
	return 1
}

# unit_tests PREFIX FILE: its results become ours.
unit_tests()
{
	local prefix=$1 name verdict status=0 before=$failed
	python3 "$2" -v > "$said" 2>&1 || status=$?
	while read -r name verdict; do
		if [ "$verdict" = ok ]; then
			check "$prefix-$name" true
		else
			check "$prefix-$name" show_and_fail
		fi
	# A test that says what it is for has its verdict behind that, on a second line.
	done < <(awk '/^test_[^ ]+ [(]/ { name = $1 }
		name && / [.][.][.] (ok|FAIL|ERROR)$/ { print name, $NF; name = "" }' "$said")
	grep -q '^Ran [1-9]' "$said" || check "$prefix-unit-tests" show_and_fail
	# A part of a test that fails has a line of another form.
	[ "$status" = 0 ] || [ "$failed" -gt "$before" ] ||
		check "$prefix-unit-tests-end-well" show_and_fail
}

unit_tests runner "$TOP/scripts/runner/tests/test_results.py"
unit_tests machine "$TOP/scripts/runner/tests/test_machine.py"
unit_tests record "$TOP/scripts/runner/tests/test_record.py"
source=$("$LAB/kernel.sh" source)
readers=$("$LAB/readers.sh")
KUNIT_PY=$source/tools/testing/kunit/kunit.py PYTHONPATH=$readers unit_tests readers \
	"$TOP/scripts/runner/tests/test_readers.py"
unit_tests invariants "$TOP/scripts/tests/test_invariants.py"
unit_tests coverage "$TOP/scripts/tests/test_coverage.py"
unit_tests mutants "$TOP/scripts/mutants/tests/test_mutants.py"
PYTHONPATH=$readers unit_tests ci "$TOP/scripts/tests/test_ci.py"
unit_tests syzkaller "$TOP/scripts/tests/test_syzkaller.py"
unit_tests pyverbs "$TOP/scripts/tests/test_pyverbs.py"
unit_tests matrix "$TOP/scripts/tests/test_matrix.py"
unit_tests bench "$TOP/scripts/tests/test_bench.py"
unit_tests probes "$TOP/scripts/tests/test_probes.py"

# In the root file system, which has all that they want.
inside()
{
	mkdir -p "$TOP/build/host"
	"$LAB/in-rootfs.sh" --bind "$TOP:/src" --bind "$TOP/build/host:/out:rw" "$@"
}

# take_tap PREFIX COMMAND...: its results become ours; what follows "not ok" is shown.
take_tap()
{
	local prefix=$1 status=0 before=$failed line name
	shift
	"$@" > "$said.tap" 2>&1 || status=$?
	while read -r line; do
		name=$prefix-$(echo "$line" | sed -E 's/^(not )?ok [0-9]+ ([^ ]+).*/\2/')
		case $line in
		*"# SKIP "*) skip "$name" "${line#*# SKIP }" ;;
		ok*) check "$name" true ;;
		*) check "$name" show_and_fail -A 20 -F "$line" "$said.tap" ;;
		esac
	done < <(grep -E '^(not )?ok [0-9]' "$said.tap")
	[ "$status" = 0 ] || [ "$failed" -gt "$before" ] ||
		check "$prefix-tests-end-well" show_and_fail '' "$said.tap"
}

take_tap kernel inside --bind "$source:/ksrc" /src/user/tests/kernel/run.sh /out/kernel /ksrc
take_tap user inside make -s -C /src/user OUTPUT=/out/user check
tally_end
