#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests that need no guest: of the lab's scripts, of the runner's parsers, and of
# libuobjscope and the uobjscope command on snapshots that were saved.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

out=$(mktemp)
trap 'rm -f "$out" "$out.tally" "$out.user"' EXIT

TALLY=$out.tally "$LAB/tests/run.sh" | sed '$d' || :
read -r p f s < "$out.tally"
passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))

show_and_fail()	# what grep is to find; without arguments, all
{
	if [ $# -gt 0 ]; then grep "$@"; else cat "$out"; fi
	return 1
}

python3 "$TOP/scripts/runner/tests/test_results.py" -v > "$out" 2>&1 || :
while read -r name _ verdict; do
	if [ "$verdict" = ok ]; then
		check "runner-$name" true
	else
		check "runner-$name" show_and_fail
	fi
done < <(sed -nE 's/^(test_\S+) .*[.]{3} (ok|FAIL|ERROR)$/\1 - \2/p' "$out")
# In the root file system, which has all that they want.
user_tests()
{
	mkdir -p "$TOP/build/host"
	"$LAB/in-rootfs.sh" --bind "$TOP:/src" --bind "$TOP/build/host:/out:rw" \
		make -s -C /src/user OUTPUT=/out/user check
}
user_tests > "$out.user" 2>&1 && status=0 || status=$?
while read -r line; do
	name=user-$(echo "$line" | sed -E 's/^(not )?ok [0-9]+ ([^ ]+).*/\2/')
	case $line in
	*"# SKIP "*) skip "$name" "${line#*# SKIP }" ;;
	ok*) check "$name" true ;;
	*) check "$name" show_and_fail -A 20 -F "$line" "$out.user" ;;
	esac
done < <(grep -E '^(not )?ok [0-9]' "$out.user")
[ "$status" = 0 ] || [ "$failed" -gt 0 ] || check user-tests-end-well show_and_fail '' "$out.user"
grep -q '^Ran [1-9]' "$out" || check runner-unit-tests show_and_fail
tally_end
