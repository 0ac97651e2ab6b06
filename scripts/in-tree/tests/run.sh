#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh: is the suite a good citizen of a kernel tree?  It is installed in a copy of the
# source of kernel $KERNEL, built, packed, run where there is no device, and cleaned; its
# patches are held against what was installed.  A minute or two, no guest.  The tarball
# stays in build/in-tree/, for guest.sh.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../../lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

install=$TOP/scripts/in-tree/install.sh patches=$TOP/scripts/in-tree/patches.sh
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

refuses()	# TEXT ARGUMENT...: one line that has the text, and status 1
{
	local text=$1 rc=0
	shift
	"$install" "$@" > "$w/out" 2> "$w/err" || rc=$?
	[ "$rc" = 1 ] && [ ! -s "$w/out" ] && [ "$(wc -l < "$w/err")" = 1 ] &&
		grep -qF "$text" "$w/err" && return
	echo "$*: status $rc, expected 1 and '$text', seen:"
	cat "$w/out" "$w/err"
	return 1
}

mkdir -p "$w/empty" "$w/foreign/tools/testing/selftests/rdma/uobj_lifetime"
touch "$w/foreign/tools/testing/selftests/"{lib.mk,Makefile,kselftest_harness.h}
mkdir -p "$w/odd/tools/testing/selftests"
touch "$w/odd/tools/testing/selftests/"{lib.mk,Makefile,kselftest_harness.h}
check refuses-nothing refuses 'usage: install.sh'
check refuses-two-trees refuses 'usage: install.sh' "$w" "$w"
check refuses-no-folder refuses "TREE=$w/none: no such folder" "$w/none"
check refuses-no-kernel refuses "TREE=$w/empty: no tools/testing/selftests/lib.mk" "$w/empty"
check refuses-what-is-not-ours refuses 'is not this suite' "$w/foreign"
check refuses-to-remove-what-is-not-there refuses 'is not installed' --remove "$w/odd"
check refuses-a-makefile-it-does-not-know refuses 'neither TARGETS += rdma' "$w/odd"

# As little of the tree as the two commands look at.
small_tree()
{
	local f
	mkdir -p "$1/tools/testing/selftests"
	for f in lib.mk Makefile kselftest_harness.h; do
		cp "$source/tools/testing/selftests/$f" "$1/tools/testing/selftests/"
	done
}

# What the patches make of a tree is what install.sh makes of it, file modes included.
patches_do_the_same()
{
	small_tree "$w/installed"
	small_tree "$w/patched"
	"$install" "$w/installed" && "$patches" "$source" "$w/patches" || return 1
	# Outside any repository git applies to whatever folder it is in.
	(cd "$w/patched" && for p in "$w"/patches/*.patch; do
		GIT_CEILING_DIRECTORIES=$w git apply --whitespace=nowarn "$p" || exit 1
	done) || return 1
	diff -r "$w/installed" "$w/patched" &&
		diff <(cd "$w/installed" && find . -type f -perm -u+x | sort) \
			<(cd "$w/patched" && find . -type f -perm -u+x | sort)
}

# With the exceptions that Documentation/upstreaming.rst states.
exceptions=FILE_PATH_CHANGES,USE_NEGATIVE_ERRNO,PREFER_DEFINED_ATTRIBUTE_MACRO
patches_are_clean()
{
	local p rc=0
	for p in "$w"/patches/*.patch; do
		(cd "$source" && perl scripts/checkpatch.pl --quiet --terse --show-types \
			--showfile --no-signoff --max-line-length=125 \
			--ignore "$exceptions" "$p") || rc=1
	done
	return $rc
}

patches_refuse()	# TEXT ARGUMENT...
{
	local install=$patches
	refuses "$@"
}

out=$TOP/build/in-tree
mkdir -p "$out" "$CACHE/ccache"
source=$("$LAB/kernel.sh" source)
release=$("$LAB/kernel.sh" version)
check patches-do-the-same patches_do_the_same
check patches-are-clean patches_are_clean
check patches-refuse-an-installed-tree patches_refuse 'is installed in it' "$w/installed" "$w/none"
check patches-refuse-a-full-folder patches_refuse 'not empty' "$source" "$w/patches"
before=$failed
while read -r line; do
	case $line in
	'ok '*|'not ok '*)
		echo "$line"
		case $line in not*) failed=$((failed + 1)) ;; *) passed=$((passed + 1)) ;; esac
		;;
	*' passed, '*) ended=y ;;
	*) echo "$line" ;;
	esac
done < <("$LAB/in-rootfs.sh" --bind "$TOP:/src" --bind "$out:/out:rw" --bind "$source:/ksrc:cow" \
	--bind "$CACHE/ccache:/ccache:rw" env KDIR="/usr/src/linux-headers-$release" \
	/src/scripts/in-tree/tests/inside.sh 2>&1)
[ "${ended:-}" = y ] || [ "$failed" -gt "$before" ] || check inside-comes-to-its-end false
tally_end
