#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# run.sh OUT KERNEL-SOURCE: compile what of uobjscope.ko makes text, with its KUnit
# suite, for the host, and run it with sanitizers; prints TAP.
#
# The kernel's types, hash functions and user space interface are its own, from
# KERNEL-SOURCE; what else its headers give is in include/.  The registry, the layout
# guard and the walks need the kernel itself, and are not here.

set -uo pipefail
[ $# = 2 ] || { echo "usage: run.sh OUT KERNEL-SOURCE" >&2; exit 2; }
out=$1 source=$2
here=$(cd "$(dirname "$0")" && pwd)
user=$(cd "$here/../.." && pwd)
module=$(cd "$user/../kernel/uobjscope" && pwd)
: "${CC:=cc}"
mkdir -p "$out"

sanitizers=address,undefined
flags=(-std=gnu11 -O1 -g -Wall -Wextra -Werror -Wno-sign-compare -D_GNU_SOURCE
	-fno-omit-frame-pointer -fsanitize="$sanitizers" -fno-sanitize-recover=all
	-I"$module" -I"$user/include" -I"$here/include"
	-I"$source/tools/include" -idirafter "$source/include/uapi")
for type in COMP_CNTR DMAH DMABUF; do
	if grep -qsw "UVERBS_OBJECT_$type" "$source/include/uapi/rdma/ib_user_ioctl_cmds.h"; then
		flags+=("-DSCOPE_HAVE_$type")
	fi
done
code=("$module"/{line,report,names,text,vector,map}.c "$here/kunit.c")
export ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
count=0 failed=0

result()	# ok|not ok, NAME
{
	count=$((count + 1))
	[ "$1" = ok ] || failed=$((failed + 1))
	echo "$1 $count $2"
}

# suite NAME SOURCE...: compile it, run it and number its results.
suite()
{
	local name=$1 before line status notes=
	shift
	if ! "$CC" "${flags[@]}" "${code[@]}" "$@" -o "$out/$name" > "$out/$name.log" 2>&1; then
		result "not ok" "$name.compiles"
		sed 's/^/# /' "$out/$name.log" | head -n 30
		return
	fi
	result ok "$name.compiles"
	before=$count
	timeout 120 "$out/$name" > "$out/$name.out" 2> "$out/$name.err"
	status=$?
	while read -r line; do
		case $line in
		"ok "*) result ok "${line#ok }" ;;
		"not ok "*)
			result "not ok" "${line#not ok }"
			printf '%s' "$notes"
			notes=
			;;
		*) notes+=$line$'\n' ;;
		esac
	done < "$out/$name.out"
	[ "$status" = 0 ] && [ "$count" -gt "$before" ] && return
	# Leaks, for example, are found when all tests have passed.
	if [ "$status" != 1 ] || ! grep -q '^not ok' "$out/$name.out"; then
		result "not ok" "$name.ends-well # status $status, $((count - before)) tests"
	fi
	sed 's/^/# /' "$out/$name.err" | head -n 40
}

echo "TAP version 13"
suite text "$module/tests/text_kunit.c"
suite host "$here/host_kunit.c" "$user"/lib/*.c -DUOBJSCOPE_VERSION='"tests"'
echo "1..$count"
[ "$failed" = 0 ]
