#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# lava-send.sh: give LAVA the results on standard input, "NAME pass|fail|skip" each.  Fails if
# one of them did, or if there is none.

status=1
failed=0
while read -r name result; do
	status=0
	[ "$result" != fail ] || failed=1
	if command -v lava-test-case > /dev/null; then
		lava-test-case "$name" --result "$result"
	else
		echo "<TEST_CASE_ID=$name RESULT=$result>"
	fi
done
[ $status = 0 ] && [ $failed = 0 ]
