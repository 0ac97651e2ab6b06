#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# inside.sh: the tests of run.sh that need a kernel tree: the suite installed in /ksrc, of
# which nothing is kept, built for the headers in $KDIR with and without O=, run as nobody
# and cleaned.  Prints a line a test, and leaves in /out what run.sh looks at or boots.
#
# Run in the lab's root file system, where there is no device: every program must be
# skipped, and as nobody none can load a module into whatever kernel runs here.

# shellcheck source=scripts/in-tree/lib.sh
. /src/scripts/in-tree/lib.sh
# shellcheck source=scripts/tally.sh
. /src/scripts/tally.sh

tree=/ksrc ksft=/ksrc/$SELFTESTS target=/ksrc/$SELFTESTS/$TARGET
programs=$(sed -n 's/^TEST_GEN_PROGS := \(device_.*\)/\1/p' /src/selftests/Makefile)

# targets WHAT [VARIABLE=VALUE]...: as a person calls it, but for the compiler's cache.
targets()
{
	local what=$1
	shift
	make -j"$(nproc)" -C "$ksft" TARGETS="$TARGET" FORCE_TARGETS=1 CC='ccache gcc' "$@" "$what"
}

# as_nobody LOG COMMAND...: through a pipe of nobody's own, which run_kselftest.sh opens again
# by name.
as_nobody()
{
	local log=$1
	shift
	setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/tmp CCACHE_DISABLE=1 bash -c \
		'set -o pipefail; "$@" 2>&1 < /dev/null | cat' bash "$@" > "$log"
}

listing() { (cd "$tree" && find "$SELFTESTS" | LC_ALL=C sort; cat "$ksft/Makefile"); }

same()		# FILE FILE
{
	diff "$1" "$2"
}

installs()
{
	[ "$(/src/scripts/in-tree/install.sh "$tree")" = "$target" ] || return 1
	[ -f "$target/modules/vhca/Kbuild" ] && [ -f "$target/user/lib/load.c" ] &&
		[ -x "$target/observe.sh" ]
}

again_is_the_same()
{
	touch "$target/stale.c"
	/src/scripts/in-tree/install.sh "$tree" && listing > /tmp/again &&
		same /tmp/installed /tmp/again
}

removes()
{
	/src/scripts/in-tree/install.sh --remove "$tree" && listing > /tmp/removed &&
		same /tmp/before /tmp/removed
}

# Every option of the fragment is one that this kernel has, and says what it must be.
config_is_of_this_kernel()
{
	local line option bad=0
	while read -r line; do
		[[ $line =~ ^CONFIG_([A-Z0-9_]+)=[ym]$ ]] ||
			{ echo "config: '$line'"; bad=1; continue; }
		option=${BASH_REMATCH[1]}
		grep -rqsE --include='Kconfig*' "^(menu)?config $option\$" \
			"$tree"/{arch/Kconfig,arch/x86,drivers,init,kernel,lib,mm,net,security} ||
			{ echo "config: no Kconfig has $option"; bad=1; }
	done < "$target/config"
	return $bad
}

builds()	# LOG [O=...]
{
	local log=$1
	shift
	targets all "$@" > "$log" 2>&1 || { cat "$log"; return 1; }
	! grep -nE 'warning|not built' "$log"
}

# complete TARBALL: what is listed is in it, and so is what the programs want beside them.
complete()
{
	local dir=$1.d f bad=0
	rm -rf "$dir"
	mkdir "$dir"
	tar xf "$1" -C "$dir"
	[ "$(wc -l < "$dir/kselftest-list.txt")" -ge 40 ] ||
		{ cat "$dir/kselftest-list.txt"; return 1; }
	for f in $(tr : / < "$dir/kselftest-list.txt") \
		"$TARGET"/{settings,config,known_issues,test_lib.sh,uobjscope,hold,l01_ufile_leak} \
		"$TARGET"/modules/{mlx5_vhca,uobjscope,dmabuf_importer,mlx5_raw_command}.ko \
		kselftest/ktap_helpers.sh run_kselftest.sh; do
		[ -e "$dir/$f" ] || { echo "$1: no $f"; bad=1; }
	done
	for f in $programs; do
		[ -x "$dir/$TARGET/$f" ] || { echo "$1: $f cannot be run"; bad=1; }
	done
	return $bad
}

# skipped LOG NUMBER: so many programs were run, each with its own settings, and all were
# skipped, but for those that say what they test without a device.
skipped()
{
	local seen
	seen=$(grep -cE '^ok [0-9]+ selftests: ' "$1") || :
	[ "$seen" = "$2" ] ||
		{ echo "$seen programs are ok, expected $2"; grep '^not ok' "$1"; return 1; }
	! grep -E '^not ok' "$1" || return 1
	[ "$(grep -c '^# timeout set to 600$' "$1")" = "$2" ] ||
		{ echo "settings was not taken"; grep timeout "$1" | sort | uniq -c; return 1; }
	seen=$(grep -cE '^ok [0-9]+ selftests: .* # SKIP' "$1") || :
	[ "$seen" -ge $(($2 - 3)) ] ||
		{ echo "$seen of $2 programs are skipped"; grep '^ok' "$1"; return 1; }
	# A script that lacks a file of kselftest's is skipped as well.
	! grep 'no ktap_helpers.sh\|No such file\|not found\|is missing' "$1"
}

runs_tests()	# LOG OUTPUT [O=...]
{
	local log=$1
	chown -R 65534:65534 "$target" "$2"
	shift 2
	as_nobody "$log" make -C "$ksft" TARGETS="$TARGET" CC='ccache gcc' KDIR="$KDIR" "$@" \
		run_tests || { tail -n 30 "$log"; return 1; }
	skipped "$log" "$number"
}

# As NIPA runs them, a program at a time.
runs_one_test()	# PROGRAM
{
	as_nobody /tmp/one make -C "$ksft" TARGETS="$TARGET" CC='ccache gcc' KDIR="$KDIR" \
		TEST_PROGS="$1" TEST_GEN_PROGS= run_tests || { tail -n 30 /tmp/one; return 1; }
	skipped /tmp/one 1 && grep "^ok 1 selftests: $TARGET: $1 # SKIP" /tmp/one
}

runs_elsewhere()
{
	local dir=/tmp/elsewhere
	mkdir -p "$dir"
	tar xf "$1" -C "$dir"
	chown -R 65534:65534 "$dir"
	as_nobody /tmp/elsewhere.log "$dir/run_kselftest.sh"
	skipped /tmp/elsewhere.log "$number" || return 1
	as_nobody /tmp/one.log "$dir/run_kselftest.sh" -t "$TARGET:var"
	skipped /tmp/one.log 1
}

nothing_of_programs_in_the_source()
{
	[ ! -e "$target/var" ] && [ ! -e "$target/common/raw.o" ] &&
		[ ! -d "$target/programs" ]
}

cleans()	# [O=...]
{
	targets clean "$@" > /tmp/clean.log 2>&1 || { tail /tmp/clean.log; return 1; }
	listing | grep -vE '^tools/.*/kselftest_install(/|$)' > /tmp/cleaned
	same /tmp/installed /tmp/cleaned || return 1
	[ $# = 0 ] || ! find "${1#O=}/kselftest/$TARGET" -type f -perm -u+x \
		! -name '*.sh' ! -name '*.py' | grep .
}

# Without a kernel to build for, only the modules are missing.
without_kdir()
{
	targets install KDIR=/nonexistent > /tmp/without 2>&1 || { tail /tmp/without; return 1; }
	grep 'are not built: no kernel to build for in /nonexistent, set KDIR=' /tmp/without &&
		[ -x "$ksft/kselftest_install/$TARGET/var" ] &&
		[ ! -e "$ksft/kselftest_install/$TARGET/modules" ]
}

# Of another version than this tree, only what looks into private structures is missing.
other_version()
{
	sed -i 's/^SUBLEVEL = .*/SUBLEVEL = 999/' "$tree/Makefile"
	make -C "$target/modules" KDIR="$KDIR" CC='ccache gcc' > /tmp/other 2>&1 ||
		{ tail /tmp/other; return 1; }
	grep -q 'uobjscope.ko is not built: .*set KSRC=' /tmp/other &&
		[ -e "$target/modules/mlx5_vhca.ko" ] && [ ! -e "$target/modules/uobjscope.ko" ]
}

export KDIR CCACHE_DIR=/ccache
listing > /tmp/before
check installs installs
listing > /tmp/installed
check installs-again again_is_the_same
check config-options config_is_of_this_kernel
check all builds /tmp/all
check gen_tar targets gen_tar
packed=kselftest_install/kselftest-packages/kselftest.tar.gz
tarball=$ksft/$packed
check tarball-is-complete complete "$tarball"
number=$(wc -l < "$ksft/kselftest_install/kselftest-list.txt")
cp "$tarball" /out/
check run_tests runs_tests /tmp/run "$target"
for program in var observe.sh; do
	check "run_tests-of-$program" runs_one_test "$program"
done
check run_kselftest-elsewhere runs_elsewhere "$tarball"
check clean cleans
rm -rf "$ksft/kselftest_install"
check all-O= builds /tmp/all-O O=/tmp/o
check O=-leaves-the-source nothing_of_programs_in_the_source
check gen_tar-O= targets gen_tar O=/tmp/o
check tarball-is-complete-O= complete "/tmp/o/kselftest/$packed"
check run_tests-O= runs_tests /tmp/run-O /tmp/o O=/tmp/o
check clean-O= cleans O=/tmp/o
check without-a-kernel without_kdir
targets clean > /dev/null 2>&1
check other-version other_version
rm -rf "$ksft/kselftest_install"
check removes removes
tally_end
