#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# install.sh [--remove] TREE: install the suite in a kernel tree, as its patches would, or
# remove it again.  What an earlier call has installed is replaced.
#
# The tests come as tools/testing/selftests/rdma/uobj_lifetime, with their modules in its
# folder modules/ and libuobjscope and the uobjscope command in user/; in the Makefile of
# the selftests a target is added.  Nothing else of the tree is touched.

# shellcheck source=scripts/in-tree/lib.sh
. "$(dirname "$0")/lib.sh"

usage='usage: install.sh [--remove] TREE, TREE being a kernel source tree'
remove=
[ "${1:-}" != --remove ] || { remove=y; shift; }
if [ $# != 1 ] || [ -z "$1" ]; then die "$usage"; fi
tree=$1
[ -d "$tree" ] || die "TREE=$tree: no such folder; expected a kernel source tree"
for f in lib.mk Makefile kselftest_harness.h; do
	[ -f "$tree/$SELFTESTS/$f" ] ||
		die "TREE=$tree: no $SELFTESTS/$f in it; expected a full kernel source tree"
done
target=$tree/$SELFTESTS/$TARGET
if [ -e "$target" ]; then
	head -n 5 "$target/Makefile" 2>/dev/null | grep -q "$OURS" ||
		die "$target is there and is not this suite; remove it first"
fi
[ -w "$tree/$SELFTESTS" ] || die "$tree/$SELFTESTS cannot be written"

if [ -n "$remove" ]; then
	[ -e "$target" ] || die "TREE=$tree: the suite is not installed in it"
	rm -rf "$target"
	rmdir "${target%/*}" 2>/dev/null || :
	remove_target "$tree"
	exit
fi
# First what may not be possible.
add_target "$tree"
rm -rf "$target"
for part in "${PARTS[@]}"; do
	copy_part "$part" "$tree"
done
echo "$target"
