#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# llvm.sh: print the path of a folder with Debian's clang, lld and LLVM's other tools, and what
# they need beyond the root file system, unpacked: what LLVM=1 builds a kernel with.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

suite=forky

build_llvm()
{
	local out=$1
	unpack_missing "$suite" "$CACHE/log/llvm.log" "$out" clang lld llvm || return 1
	rm -rf "$out/root/usr/share"
	# The others have a version in their names.
	printf 'root/usr/bin/%s\n' clang ld.lld llvm-objcopy > "$out/.key-files"
}

entry=$(cache_entry "llvm-$suite-$(cache_key "$("$LAB/rootfs.sh")" "@$0")" 2500 build_llvm)
echo "$entry/root"
