#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The lab's scripts on bad input and after bad luck, without a guest or a network.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

# Run a piece of shell with the library and a cache of its own: in_lab 'SCRIPT'
in_lab()
{
	CACHE=$w/cache bash -c ". '$LAB/lib.sh'; $1" 2> "$w/err"
}

# refuses STATUS TEXT COMMAND...: one line on stderr that has TEXT, and the status.
refuses()
{
	local status=$1 text=$2 rc=0
	shift 2
	"$@" > /dev/null 2> "$w/err" || rc=$?
	[ "$rc" = "$status" ] || { echo "exit status $rc, expected $status"; cat "$w/err"; return 1; }
	grep -qF -- "$text" "$w/err" || { echo "no line with: $text"; cat "$w/err"; return 1; }
	[ "$(grep -c '^uobjscope: ' "$w/err")" = 1 ] || { echo "not one line:"; cat "$w/err"; return 1; }
}

builds_once()
{
	local build='b() { echo x >> "$CACHE/../built"; echo data > "$1/file"; }; cache_entry thing 1 b'
	in_lab "$build" > "$w/one" && in_lab "$build" > "$w/two" || return 1
	[ "$(wc -l < "$w/built")" = 1 ] && cmp "$w/one" "$w/two" &&
		[ "$(cat "$(cat "$w/one")/file")" = data ]
}

# Names and sizes are checked of all files, contents of the key files.
notices_damage()	# DAMAGE, done to the entry's folder
{
	local build='b() { echo data > "$1/file"; echo key > "$1/key"; echo key > "$1/.key-files"; }
		cache_entry damaged 1 b'
	rm -rf "$w/cache"
	dir=$(in_lab "$build") || return 1
	(cd "$dir" && eval "$1")
	[ "$(in_lab "$build")" = "$dir" ] || return 1
	grep -q 'damaged, building it again' "$w/err" || { echo "not noticed: $1"; return 1; }
	[ "$(cat "$dir/file" "$dir/key")" = "data
key" ]
}

damage_to_a_size() { notices_damage 'echo more >> file'; }
damage_to_a_key_file() { notices_damage 'echo kex > key'; }
damage_by_removal() { notices_damage 'rm file'; }
damage_to_the_seal() { notices_damage ': > .complete'; }

survives_interruption()
{
	local slow='b() { echo half > "$1/half"; exec sleep 60; }; cache_entry half 1 b' pid
	rm -rf "$w/cache"
	CACHE=$w/cache setsid bash -c ". '$LAB/lib.sh'; $slow" > /dev/null 2>&1 &
	pid=$!
	for _ in {1..50}; do
		ls "$w"/cache/.building-half.*/half > /dev/null 2>&1 && break
		sleep 0.1
	done
	kill -KILL -- "-$pid"
	wait "$pid" 2> /dev/null
	[ ! -e "$w/cache/half" ] || { echo "a half-built entry has its name"; return 1; }
	dir=$(in_lab 'b() { echo whole > "$1/whole"; }; cache_entry half 1 b') || { cat "$w/err"; return 1; }
	grep -q 'removing what an interrupted run left' "$w/err" || { cat "$w/err"; return 1; }
	[ "$(ls "$dir")" = whole ] && ! ls -d "$w"/cache/.building-* 2> /dev/null
}

failed_build_leaves_nothing()
{
	rm -rf "$w/cache"
	! in_lab 'b() { echo half > "$1/half"; return 1; }; cache_entry bad 1 b' || return 1
	! ls -d "$w"/cache/bad "$w"/cache/.building-* 2> /dev/null
}

two_runs_build_once()
{
	local build='b() { echo x >> "$CACHE/../both"; sleep 1; echo y > "$1/y"; }; cache_entry both 1 b'
	rm -rf "$w/cache"
	in_lab "$build" > "$w/one" & in_lab "$build" > "$w/two"
	wait
	[ "$(wc -l < "$w/both")" = 1 ] && cmp "$w/one" "$w/two"
}

no_space() { refuses 125 'MiB are needed' env CACHE="$w/cache" bash -c \
	". '$LAB/lib.sh'; b() { :; }; cache_entry big 999999999 b"; }
cache_is_a_file() { : > "$w/file"; refuses 125 'CACHE= must name a folder' env CACHE="$w/file/x" bash -c \
	". '$LAB/lib.sh'; b() { :; }; cache_entry some 1 b"; }
unknown_kernel() { refuses 125 'KERNEL=9.9: the lab knows 6.12' env KERNEL=9.9 "$LAB/kernel.sh"; }
unknown_answer() { refuses 125 'expected modules, user or selftests' "$LAB/build.sh" nonsense; }
unknown_lane() { refuses 125 'KERNEL=9.9' python3 "$TOP/scripts/runner/run.py" --kernel 9.9 --results "$w/r"; }
no_such_qemu() { refuses 125 'QEMU=/nonexistent: no such program' env QEMU=/nonexistent \
	python3 "$TOP/scripts/runner/machine.py" /; }
mirror_of_a_variable() { [ "$(MIRROR=http://mirror.example/archive "$LAB/mirror.sh")" = http://mirror.example/archive ]; }
versions_differ()
{
	refuses 125 'differ: forky is being updated' bash -c ". '$LAB/lib.sh'; suite=forky
		$(sed -n '/^check_same()/,/^}/p' "$LAB/debian-kernel.sh")
		check_same 7.2.12-1 7.2.13-1" &&
	bash -c ". '$LAB/lib.sh'; $(sed -n '/^check_same()/,/^}/p' "$LAB/debian-kernel.sh")
		check_same 7.2.12-1 7.2.12-1"
}

fake_trees()
{
	mkdir -p "$w/kdir/include/config" "$w/ksrc/drivers/infiniband/core"
	echo 7.2.12+deb14-amd64 > "$w/kdir/include/config/kernel.release"
	: > "$w/kdir/Makefile"
	: > "$w/ksrc/drivers/infiniband/core/uverbs.h"
	printf 'VERSION = 7\nPATCHLEVEL = 2\nSUBLEVEL = %s\n' "$1" > "$w/ksrc/Makefile"
}
source_that_fits() { fake_trees 12; "$TOP/scripts/check-kdir.sh" "$w/kdir" "$w/ksrc"; }
source_that_does_not() { fake_trees 1; refuses 1 'expected the source of that very kernel' \
	"$TOP/scripts/check-kdir.sh" "$w/kdir" "$w/ksrc"; }
source_without_rdma() { fake_trees 12; rm "$w/ksrc/drivers/infiniband/core/uverbs.h"
	refuses 1 'expected a full kernel source' "$TOP/scripts/check-kdir.sh" "$w/kdir" "$w/ksrc"; }
no_kdir() { refuses 1 'KDIR=/nonexistent: no such folder' "$TOP/scripts/check-kdir.sh" /nonexistent; }
kdir_unconfigured() { fake_trees 12; rm "$w/kdir/include/config/kernel.release"
	refuses 1 'not configured' "$TOP/scripts/check-kdir.sh" "$w/kdir"; }
make_modules_without_kdir()
{
	! make -C "$TOP" modules KDIR=/nonexistent > "$w/out" 2>&1 &&
		grep -q 'KDIR=/nonexistent: no such folder' "$w/out"
}

own_kernel() { KERNEL=own-debug KSRC=$1 "$LAB/kernel.sh" "${2:-path}"; }
own_kernel_of_nothing() { refuses 125 'expected KSRC= with a kernel source tree' own_kernel ''; }
own_kernel_of_no_tree() { refuses 125 "KSRC=$w: expected a kernel source tree" own_kernel "$w"; }
own_kernel_of_a_built_tree() { fake_trees 12; : > "$w/ksrc/.config"
	refuses 125 'expected a tree that nothing was built in' own_kernel "$w/ksrc" || return 1
	rm "$w/ksrc/.config"; }
own_kernel_with_another_lane()
{
	! make -C "$TOP" run KERNEL=7.2 KSRC="$w" > "$w/out" 2>&1 &&
		grep -q 'KSRC= goes with KERNEL=debug or without KERNEL=, seen KERNEL=7.2' "$w/out"
}
own_plain() { KERNEL=own KSRC=$1 O=${2:-} "$LAB/kernel.sh" path; }
own_plain_of_nothing() { refuses 125 'expected KSRC= with a kernel source tree' own_plain ''; }
own_plain_over_a_configuration()
{
	fake_trees 12
	mkdir -p "$w/o"
	echo CONFIG_MINE=y > "$w/o/.config"
	printf 'kernelversion:\n\t@echo 7.2.12\n' >> "$w/ksrc/Makefile"
	refuses 125 "O=$w/o: it has a configuration of its own" own_plain "$w/ksrc" "$w/o" &&
		grep -qx CONFIG_MINE=y "$w/o/.config"
}

# bisection BUILD RUN: a bisection's step whose kernel is built with that status, and whose run
# ends with that one.
bisection()
{
	mkdir -p "$w/scripts/lab" "$w/scripts/runner"
	cp "$TOP/scripts/bisect.sh" "$w/scripts/"
	printf '#!/bin/sh\nexit 0\n' > "$w/scripts/lab/host-packages.sh"
	printf '#!/bin/sh\n[ "$KERNEL" = own ] || exit 9\nexit %s\n' "$1" > "$w/scripts/lab/kernel.sh"
	printf 'import sys\nsys.exit(%s if sys.argv[1:] == ["--kernel", "own", "var"] else 9)\n' "$2" \
		> "$w/scripts/runner/run.py"
	chmod +x "$w"/scripts/lab/*.sh
	env -u KERNEL KSRC="$w" "$w/scripts/bisect.sh" var
	echo $?
}

bisection_statuses()
{
	[ "$(bisection 0 0) $(bisection 0 1) $(bisection 0 2) $(bisection 0 3)" = "0 1 1 1" ] &&
		[ "$(bisection 0 125) $(bisection 125 0) $(bisection 1 0)" = "125 125 125" ]
}
bisection_without_tests() { refuses 125 'expected PROGRAM' "$TOP/scripts/bisect.sh"; }
bisection_of_debians_kernel() { refuses 125 'KERNEL=7.2: expected debug, or none' \
	env KERNEL=7.2 "$TOP/scripts/bisect.sh" var; }

for t in builds_once damage_to_a_size damage_to_a_key_file damage_by_removal damage_to_the_seal \
	survives_interruption failed_build_leaves_nothing two_runs_build_once no_space \
	cache_is_a_file unknown_kernel unknown_answer unknown_lane no_such_qemu \
	mirror_of_a_variable versions_differ source_that_fits source_that_does_not \
	source_without_rdma no_kdir kdir_unconfigured make_modules_without_kdir \
	own_kernel_of_nothing own_kernel_of_no_tree own_kernel_of_a_built_tree \
	own_kernel_with_another_lane own_plain_of_nothing own_plain_over_a_configuration \
	bisection_statuses bisection_without_tests bisection_of_debians_kernel; do
	check "lab-${t//_/-}" "$t"
done
tally_end
