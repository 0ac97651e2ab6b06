#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# patches.sh TREE OUT: write what install.sh installs in a kernel tree as a series of patches
# against it to the folder OUT, for git am.  TREE is only read.
#
# Whoever sends them signs them off: git am -s, or git rebase --signoff.

# shellcheck source=scripts/in-tree/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# = 2 ] ||
	die "usage: patches.sh TREE OUT, TREE being a kernel source tree, OUT a folder for patches"
tree=$1 out=$2
[ -f "$tree/$SELFTESTS/Makefile" ] ||
	die "TREE=$tree: no $SELFTESTS/Makefile in it; expected a full kernel source tree"
! grep -qx "TARGETS += $TARGET" "$tree/$SELFTESTS/Makefile" ||
	die "TREE=$tree: the suite is installed in it; remove it first (install.sh --remove)"
mkdir -p "$out"
[ -z "$(ls -A "$out")" ] || die "OUT=$out: not empty; expected a folder for the patches alone"
out=$(cd "$out" && pwd)

# What a part's patch says.
message()
{
	case ${1%%:*} in
	user) cat <<-'M'
		selftests/rdma: add a library that reads snapshots of user objects

		uobjscope.ko shows in one snapshot all that decides when a user object of
		the RDMA core ends: references, locks, handles, mappings, dma-bufs.  The
		library parses it, compares two and finds who holds what; the command
		shows it to a person or a script.  The tests use the library as a witness.
		M
		;;
	kernel/importer) cat <<-'M'
		selftests/rdma: add a dma-buf importer under test control

		What a dma-buf's exporter has to bear cannot be asked of real importers:
		ones that never unmap, that are slow, that attach twice or that look away
		while it is revoked.  This module is all of them, on demand, and exports
		dma-bufs whose behaviour can be chosen as well.
		M
		;;
	kernel/uobjscope) cat <<-'M'
		selftests/rdma: add an observer of user objects

		A test of lifetimes needs a witness that does not take part.  This module
		reads the RDMA core's and mlx5_ib's structures, under their own locks, and
		prints every count that decides a lifetime to debugfs.
		M
		;;
	kernel/vhca) cat <<-'M'
		selftests/rdma: add a virtual mlx5 HCA

		The tests are to run where there is no card.  This module is a PCI
		function whose firmware is kernel code, with as much of an mlx5 device as
		mlx5_core and mlx5_ib ask for, and a ledger of all that the driver holds
		of it.  The drivers probe it as they are.
		M
		;;
	selftests/modules) cat <<-'M'
		selftests/rdma: add the modules that tests load for a moment

		They send a command behind the driver's back, let an allocation fail, make
		a function late or change a capability, and are built with the three
		others by TEST_GEN_MODS_DIR.
		M
		;;
	selftests/common) cat <<-'M'
		selftests/rdma: add what tests of user objects have in common

		Devices and objects of rdma-core, peers in other processes, counts before
		and after a step, and the witnesses that are asked for them.
		M
		;;
	selftests/reproducers) cat <<-'M'
		selftests/rdma: add a program for each known fault

		They call rdma-core and nothing else, so that they can be sent by mail.
		M
		;;
	selftests) cat <<-'M'
		selftests/rdma: add lifetime tests of the mlx5 user objects

		VAR, device memory, DMABUF and what they hold: each test calls rdma-core as
		an application does and asks after each step whether the kernel still
		holds exactly what it should, and nothing else.  Without an mlx5 device,
		or the virtual one, all of them are skipped.
		M
		;;
	*) die "patches.sh has no message for the part $1" ;;
	esac
}

w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
mkdir -p "$w/$SELFTESTS"
cp "$tree/$SELFTESTS/Makefile" "$w/$SELFTESTS/"
# In a repository of its own, whatever is configured for hooks.
git_here() { git -C "$w" -c core.hooksPath=/dev/null -c commit.gpgSign=false "$@"; }
commit() { git_here add -A -f && git_here commit -q -F -; }

git_here init -q
echo 'the tree that the patches are for' | commit
git_here tag base
for part in "${PARTS[@]}"; do
	copy_part "$part" "$w"
	[ "$part" != "${PARTS[-1]}" ] || add_target "$w"
	message "$part" | commit
done
git_here format-patch -q --zero-commit --no-signature -o "$out" base..HEAD
ls "$out"
