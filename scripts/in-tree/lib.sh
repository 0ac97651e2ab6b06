# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What install.sh and patches.sh share: where the suite's parts lie in a kernel tree.
#
# Sourced, never run.

set -euo pipefail

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
SELFTESTS=tools/testing/selftests
# The target of make -C tools/testing/selftests TARGETS=...
TARGET=rdma/uobj_lifetime
# In the first lines of the Makefile by which a folder is known to be ours.
# shellcheck disable=SC2034
OURS='Lifetime tests of the mlx5 user objects'

# One line that names the thing and what was expected.
die()
{
	printf 'uobjscope: %s\n' "$*" >&2
	exit 1
}

# The parts: a folder here, and where it lies below the target's.  Every part builds on
# those before it.
# shellcheck disable=SC2034
PARTS=(
	user:user
	kernel/importer:modules/importer
	kernel/uobjscope:modules/uobjscope
	kernel/vhca:modules/vhca
	selftests/modules:modules
	selftests/common:common
	selftests/reproducers:reproducers
	selftests:.
)

# part_files PART: the files of a part, named as from its folder.  What was built there is
# none of it, and neither is what only the lab and its mutants want.
part_files()
{
	local depth=()
	case ${1%%:*} in
	user)
		(cd "$TOP/user" && find lib include cli -type f -name '*.[ch]')
		return
		;;
	selftests) depth=(-maxdepth 1) ;;
	esac
	(cd "$TOP/${1%%:*}" && find . "${depth[@]}" -type f \( -name '*.[ch]' -o -name '*.sh' -o \
		-name '*.py' -o -name '*.mk' -o -name Kbuild -o -name Makefile -o \
		-name .gitignore -o -name .kunitconfig -o -name config -o -name settings -o \
		-name known_issues -o -name own_guest -o -name kmemleak -o -name invariants \) \
		! -name '*.mod.c' | sed 's,^\./,,')
}

# copy_part PART TREE
copy_part()
{
	local from=$TOP/${1%%:*} to=$2/$SELFTESTS/$TARGET/${1#*:} files
	files=$(part_files "$1" | LC_ALL=C sort)
	[ -n "$files" ] || die "$from: none of its files are here"
	mkdir -p "$to"
	tar -C "$from" -c --files-from=- <<< "$files" | tar -C "$to" -x --no-same-owner
}

# add_target TREE: name the target in the Makefile of the selftests, in its place of the
# alphabet.  The file is replaced, not written to: it may be linked to another tree's.
add_target()
{
	local makefile=$1/$SELFTESTS/Makefile
	! grep -qx "TARGETS += $TARGET" "$makefile" || return 0
	awk -v line="TARGETS += $TARGET" '
		!done && (/^TARGETS \+= resctrl$/ || after) { print line; done = 1 }
		{ print; after = $0 == "TARGETS += rdma" }
		END { exit !done }' "$makefile" > "$makefile.new" || {
		rm -f "$makefile.new"
		die "$makefile: neither TARGETS += rdma nor TARGETS += resctrl in it;" \
			"expected the selftests of Linux 5.0 or later"
	}
	chmod --reference="$makefile" "$makefile.new"
	mv "$makefile.new" "$makefile"
}

remove_target()
{
	local makefile=$1/$SELFTESTS/Makefile
	grep -vx "TARGETS += $TARGET" "$makefile" > "$makefile.new"
	chmod --reference="$makefile" "$makefile.new"
	mv "$makefile.new" "$makefile"
}
