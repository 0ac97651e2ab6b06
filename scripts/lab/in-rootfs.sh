#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# in-rootfs.sh [--bind FROM:TO[:rw|:cow]]... COMMAND...: run a command in the root file
# system, with kernel $KERNEL's headers and modules laid over it.
#
# Both are read-only there, and so is what is bound without :rw or :cow; what is written
# to a folder with :cow (copy on write) is in memory and gone afterwards.  /tmp is a tmpfs.
# ROOTFS= names another root file system than the lab's.  With LLVM=1 it has clang and its
# tools, and COMMAND has that variable, which make takes for its own.
# The mounts live in a name space of their own and go when the command ends.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

if [ "${1:-}" = --inside ]; then
	root=$2 rootfs=$3 kernel=$4
	shift 4
	# An empty layer below holds the mount points that the two do not have.
	mount -t tmpfs -o mode=755 lab "$root"
	mkdir "$root/layer" "$root/merged"
	binds=()
	while [ "$1" = --bind ]; do
		IFS=: read -r from to mode <<< "$2"
		if [ -d "$from" ]; then
			mkdir -p "$root/layer/$to"
		else
			mkdir -p "$root/layer/${to%/*}"
			: > "$root/layer/$to"
		fi
		binds+=("$from:$to:$mode")
		shift 2
	done
	mount -t overlay overlay -o "lowerdir=$root/layer:$kernel/root:$rootfs" "$root/merged" ||
		die "cannot mount an overlay over $rootfs: this kernel, or the file system of CACHE=, has no overlayfs support"
	root=$root/merged
	# objtool reads /proc, and the compiler wants /dev/null.
	mount -t proc proc "$root/proc" 2>/dev/null || mount --rbind /proc "$root/proc"
	mount --rbind /dev "$root/dev"
	mount -t tmpfs tmp "$root/tmp"
	for b in ${binds[@]+"${binds[@]}"}; do
		IFS=: read -r from to mode <<< "$b"
		if [ "$mode" = cow ]; then
			cow=$(mktemp -d "${root%/merged}/cow-XXXXXX")
			mkdir "$cow/upper" "$cow/work"
			mount -t overlay overlay "$root/$to" \
				-o "lowerdir=$from,upperdir=$cow/upper,workdir=$cow/work"
			continue
		fi
		mount --bind "$from" "$root/$to"
		[ "$mode" = rw ] || mount -o remount,bind,ro "$root/$to"
	done
	path=/usr/sbin:/usr/bin:/sbin:/bin llvm=()
	[ ! -d "$root/llvm" ] || path=/llvm/usr/bin:$path \
		llvm=(LLVM=1 LD_LIBRARY_PATH=/llvm/usr/lib/x86_64-linux-gnu)
	exec chroot "$root" /usr/bin/env -i PATH="$path" HOME=/tmp LC_ALL=C.UTF-8 \
		TERM="${TERM:-dumb}" ${llvm[@]+"${llvm[@]}"} "$@"
fi

binds=()
while [ "${1:-}" = --bind ]; do
	binds+=(--bind "$2")
	shift 2
done
[ $# -gt 0 ] || die "in-rootfs.sh: no command given"
rootfs=${ROOTFS:-$("$LAB/rootfs.sh")}
[ -z "${LLVM:-}" ] || binds+=(--bind "$("$LAB/llvm.sh"):/llvm")
kernel=$("$LAB/kernel.sh" path)
# The build tree of a developer's own kernel lies elsewhere.
[ ! -e "$kernel/tree" ] || binds+=(--bind \
	"$(realpath "$kernel/tree"):/usr/src/linux-headers-$(cat "$kernel/version")")
root=$(mktemp -d)
trap 'rmdir "$root" 2>/dev/null || :' EXIT
"$LAB/as-root.sh" "$0" --inside "$root" "$rootfs" "$kernel" ${binds[@]+"${binds[@]}"} "$@"
