#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# virtme-ng.sh: print the path of a folder with Debian's virtme-ng and what it needs beyond
# the root file system, unpacked.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

suite=forky

build_virtme_ng()
{
	unpack_missing "$suite" "$CACHE/log/virtme-ng.log" "$1" virtme-ng || return 1
	printf 'root/usr/%s\n' bin/vng bin/busybox > "$1/.key-files"
}

entry=$(cache_entry "virtme-ng-$suite-$(cache_key "$("$LAB/rootfs.sh")" "@$0")" 50 build_virtme_ng)
echo "$entry/root"
