#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# build.sh [modules|user|selftests]...: build them for kernel $KERNEL with the root file
# system's compiler (all of them without an argument); prints the build folder.
#
#   build/KERNEL/modules/     a copy of Kbuild, kernel/ and selftests/modules/, with the
#                             .ko files
#   build/KERNEL/user/        libuobjscope and the uobjscope command
#   build/KERNEL/selftests/   the programs
#   build/KERNEL/install/     the same as kselftest installs them
#
# MODULE_FLAGS= go to the kernel's make (C=2, say).  Its additional warnings are always on:
# another set of them would build all anew.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

[ $# -gt 0 ] || set -- modules user selftests
out=${BUILD:-$TOP/build}/$KERNEL
mkdir -p "$out"
"$LAB/rootfs.sh" > /dev/null
release=$("$LAB/kernel.sh" version)
source=$("$LAB/kernel.sh" source)

# Two trees of a developer may be of one release; make would not see that the headers changed.
case $KERNEL in
own*)
	tree=$("$LAB/kernel.sh" path)
	[ "$(cat "$out/tree" 2> /dev/null)" = "$tree" ] || rm -rf "${out:?}/modules"
	echo "$tree" > "$out/tree"
	;;
esac

# With the compiler's cache: another clone, or another kernel, has most of it compiled.
mkdir -p "$CACHE/ccache"
inside()
{
	"$LAB/in-rootfs.sh" --bind "$TOP:/src" --bind "$out:/out:rw" --bind "$source:/ksrc" \
		--bind "$CACHE/ccache:/ccache:rw" "$@"
}
compile=(env CCACHE_DIR=/ccache CCACHE_MAXSIZE=3G CC='ccache gcc')
# Modules are compiled as their kernel was.
cc=${LLVM:+clang}
compile_modules=("${compile[@]}" CC="ccache ${cc:-gcc}")

run_modules()
{
	# Without this file, which Debian's headers lack, C=2 checks nothing and says nothing.
	local checker=scripts/checker-valid.sh kbuild binds=()
	for kbuild in "$("$LAB/kernel.sh" path)"/root/usr/lib/linux-kbuild-*; do
		# Kernels before it came check everything.
		[ ! -d "$kbuild" ] || [ ! -e "$source/$checker" ] ||
			binds=(--bind "$source/$checker:/usr/lib/${kbuild##*/}/$checker")
	done
	inside ${binds[@]+"${binds[@]}"} "${compile_modules[@]}" sh -ec '
	mkdir -p /out/modules
	# Not deleted: what the patterns leave out, that is, what was built.
	rsync -aR --delete --include="*/" --include="*.[ch]" --include=Kbuild --exclude="*" \
		--prune-empty-dirs /src/./kernel /src/./selftests/modules /src/./Kbuild \
		/out/modules/
	# The compiler is the distribution'\''s own, if not the very same that built the kernel.
	make -j"$(nproc)" -C /usr/src/linux-headers-'"$release"' M=/out/modules CC="$CC" W=1 \
		KSRC=/ksrc '"${MODULE_FLAGS:-}"' modules
	# What looks into private structures must have been built with the right ones.
	ko=/out/modules/kernel/uobjscope/uobjscope.ko
	[ -e $ko ] && [ ! $ko -ot /out/modules/layout-is-good ] || exit 0
	# A kernel that the lab has built itself has the source and no type information.
	[ -e /usr/src/linux-headers-'"$release"'/vmlinux ] || exit 0
	[ ! -e /usr/src/linux-headers-'"$release"'/vmlinux.o ] || exit 0
	for d in core/ib_core core/ib_uverbs hw/mlx5/mlx5_ib; do
		xz -dc /usr/lib/modules/'"$release"'/kernel/drivers/infiniband/$d.ko.xz > /tmp/${d##*/}.ko
	done
	/src/scripts/check-layout.sh $ko /usr/src/linux-headers-'"$release"'/vmlinux \
		/tmp/ib_core.ko /tmp/ib_uverbs.ko /tmp/mlx5_ib.ko
	touch /out/modules/layout-is-good'
}

run_user()
{
	inside "${compile[@]}" make -s -j"$(nproc)" -C /src/user OUTPUT=/out/user all
}

# The source whose kselftest the programs are built with: the kernel's own, or if its harness
# does not tell a test of its variant, that of the lab's first kernel, as those do who run
# the newest tests on an older kernel.
kselftest_source()
{
	local harness=tools/testing/selftests/kselftest_harness.h

	if grep -q 'const void [*]variant;' "$source/$harness"; then
		echo "$source"
	else
		KERNEL=$FIRST_KERNEL "$LAB/kernel.sh" source
	fi
}

run_selftests()
{
	local kselftest
	kselftest=$(kselftest_source) || return 1
	inside --bind "$kselftest:/kselftest" "${compile[@]}" sh -ec '
	ksft=/kselftest/tools/testing/selftests
	mkdir -p /out/selftests
	make -s -j"$(nproc)" -C /src/selftests CC="$CC" KSFT=$ksft OUTPUT=/out/selftests all
	# What the install rule of the kernel'\''s selftests/Makefile does for one target.
	rm -rf /out/install
	mkdir -p /out/install/kselftest /out/install/uobjscope
	cp $ksft/kselftest/*.sh $ksft/kselftest/prefix.pl /out/install/kselftest/
	cp $ksft/run_kselftest.sh /out/install/
	make -s -C /src/selftests KSFT=$ksft OUTPUT=/out/selftests \
		INSTALL_PATH=/out/install/uobjscope install
	make -s -C /src/selftests KSFT=$ksft OUTPUT=/out/selftests \
		COLLECTION=uobjscope emit_tests > /out/install/kselftest-list.txt
	# What is only run when it is asked for by name.
	cd /out/install/uobjscope
	for b in bench_*.sh drgn_*.sh pyverbs_*.sh slow_*.sh; do echo "uobjscope:$b"; done >> /out/install/kselftest-list.txt'
}

for what; do
	case $what in
	modules|user|selftests)
		quietly "$out/$what.log" "building $what for $release" "run_$what" ||
			die "$what do not build for $release (see above)"
		;;
	*) die "build.sh $what: expected modules, user or selftests" ;;
	esac
done
echo "$out"
