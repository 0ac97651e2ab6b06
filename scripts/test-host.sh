#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests that need no guest: of the lab's scripts and of the runner's parsers.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

out=$(mktemp)
trap 'rm -f "$out" "$out.tally"' EXIT

TALLY=$out.tally "$LAB/tests/run.sh" | sed '$d' || :
read -r p f s < "$out.tally"
passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))

show_and_fail()
{
	cat "$out"
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
grep -q '^Ran [1-9]' "$out" || check runner-unit-tests show_and_fail
tally_end
