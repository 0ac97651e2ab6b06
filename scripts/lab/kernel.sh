#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kernel.sh [path|version|source|vmlinuz]: the kernel $KERNEL as this lab uses it.
#
# 7.2 is Debian's of that series, 7.2-debug the one that debug-kernel.sh builds from its
# source; own-debug and own are those that it builds from the tree that KSRC= names.  The cache
# entry of each holds, unpacked and never installed:
#   root/         modules, headers or build tree, at their usual paths
#   source/       the source of exactly that version
#   vmlinuz       the image
#   version       the kernel's release, as uname -r prints it
# path prints the entry, the others what stands in it.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

case $KERNEL in
own|*-debug) exec "$LAB/debug-kernel.sh" "$@" ;;
*) exec "$LAB/debian-kernel.sh" "$@" ;;
esac
