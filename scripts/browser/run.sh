#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh: the pages of "uobjscope timeline" in a real browser, Debian's Chromium.  Where it
# is not to be had, the lane is skipped, with the reason.  Pictures for a person to look at
# are left in build/browser/.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

# What it says is for the person who waits, and its last line is the reason.
if ! "$LAB/browser.sh" 2>&1 > "$w/path" | tee "$w/said" >&2; then
	reason=$(sed -n 's/^uobjscope: //p' "$w/said" | head -n 1)
	needed="a Debian mirror that has chromium (MIRROR=) and 1.5 GB of disk (CACHE=)"
	skip browser "${reason:-browser.sh failed}; needed are $needed"
	tally_end
	exit
fi
built=$("$LAB/build.sh" user)
pictures=${BUILD:-$TOP/build}/browser
mkdir -p "$pictures"

status=0
ROOTFS=$(cat "$w/path") "$LAB/in-rootfs.sh" --bind "$TOP:/src" --bind "$built/user:/user" \
	--bind "$pictures:/pictures:rw" python3 /src/scripts/browser/test_timeline.py \
	/user/uobjscope /src/user/tests /pictures > "$w/tap" 2>&1 || status=$?

show_and_fail()	# LINE: it, and what is said of it
{
	sed -n "/^$1\$/,/^\\(not \\)\\?ok /p" "$w/tap" | sed '1d;/^ok /d;/^not ok /d'
	return 1
}

while read -r line; do
	name=$(echo "$line" | sed -E 's/^(not )?ok [0-9]+ //')
	case $line in
	ok*) check "$name" true ;;
	*) check "$name" show_and_fail "$line" ;;
	esac
done < <(grep -E '^(not )?ok [0-9]' "$w/tap")
# What was measured.
grep '^# [0-9]* events' "$w/tap" || :
if [ "$status" != 0 ] && [ "$failed" = 0 ]; then
	check browser-ends-well tail -n 20 "$w/tap"
	check browser-status false
fi
say "pictures are in ${pictures#"$TOP/"}"
tally_end
