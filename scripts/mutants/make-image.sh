#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make-image.sh OUT CHANGED: the debug kernel $KERNEL as OUT/vmlinuz, with the source files
# in the folder CHANGED in place of its own, which are of what is built into it.  Its
# modules are those of the kernel without them.
#
# Source and build tree are the cache's own, and stay as they are.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"

out=$1 changed=$2
case $KERNEL in
*-debug) ;;
*) die "KERNEL=$KERNEL: expected a debug kernel, of which the lab has the build tree" ;;
esac
kernel=$("$LAB/kernel.sh" path)
release=$("$LAB/kernel.sh" version)
tree=/usr/src/linux-headers-$release
mkdir -p "$out" "$CACHE/ccache"
"$LAB/in-rootfs.sh" --bind "$(realpath "$kernel/source"):/ksrc:cow" \
	--bind "$kernel/root$tree:$tree:cow" --bind "$out:/entry:rw" --bind "$changed:/changed" \
	--bind "$LAB:/lab" --bind "$CACHE/ccache:/ccache:rw" \
	sh -ec 'cp -r /changed/. /ksrc/ && exec /lab/debug-kernel-make.sh "$0" image' "$release"
