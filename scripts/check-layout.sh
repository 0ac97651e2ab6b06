#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-layout.sh UOBJSCOPE.KO BASE DRIVER.KO|BTF...: before uobjscope.ko is loaded,
# compare the private structures that it was built with, by its own BTF, with those of
# the kernel that it is to look into.
#
# BASE is the kernel's BTF (/sys/kernel/btf/vmlinux, or the vmlinux in the headers of
# a distribution); a DRIVER is ib_core, ib_uverbs or mlx5_ib, as a module or as
# /sys/kernel/btf/NAME.  Needs pahole.  Exit status 0 if all agree, 1 if one differs,
# 2 if nothing can be compared.

set -u
here=$(cd "$(dirname "$0")" && pwd)
[ $# -ge 3 ] || { echo "usage: check-layout.sh UOBJSCOPE.KO BASE DRIVER..." >&2; exit 2; }
module=$1 base=$2
shift 2

command -v pahole > /dev/null || { echo "uobjscope: pahole is not installed: cannot compare layouts" >&2; exit 2; }
for f in "$module" "$base" "$@"; do
	[ -r "$f" ] || { echo "uobjscope: $f: no such file; expected a module or BTF" >&2; exit 2; }
done

# The structures that layout.c lists, and no others, are looked into.
structs=$(sed -n 's/^\tTYPE(\([a-z0-9_]*\)),$/\1/p' "$here/../kernel/uobjscope/layout.c")
[ -n "$structs" ] || { echo "uobjscope: no structures in kernel/uobjscope/layout.c" >&2; exit 2; }

# Sizes and offsets only: a type's name may be printed in different ways.
layout()	# FILE STRUCT
{
	pahole --btf_base="$base" -C "$2" "$1" 2>/dev/null |
		sed -nE 's|^\t.*[ *]([a-zA-Z0-9_]+)(\[[^]]*\])?(:[0-9]+)?; +/\* +([0-9]+)(: *[0-9]+)? +([0-9]+) \*/.*|\1 \4\5 \6|p
			s|^\t/\* size: ([0-9]+),.*|size \1|p'
}

compared=0 differ=0
for s in $structs; do
	ours=$(layout "$module" "$s")
	[ -n "$ours" ] || continue
	for driver; do
		theirs=$(layout "$driver" "$s")
		[ -n "$theirs" ] || continue
		compared=$((compared + 1))
		if [ "$ours" != "$theirs" ]; then
			echo "uobjscope: struct $s differs between ${module##*/} and ${driver##*/}: build with KSRC= of exactly that kernel" >&2
			diff <(echo "$ours") <(echo "$theirs") | sed -n 's/^[<>]/&/p' | head -n 6 >&2
			differ=1
		fi
	done
done
[ "$compared" -gt 0 ] || { echo "uobjscope: no structure could be compared (no BTF in ${module##*/}?)" >&2; exit 2; }
echo "$compared layouts compared"
exit $differ
