#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# peer32.sh: print the path of a layer for the guest: the tests' peer (selftests/peer.c) as
# a 32-bit program, linked with rdma-core of the i386 architecture and needing nothing else.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

suite=forky
# The compiler is the root file system's, whose version this names.
packages=(libc6-dev libibverbs-dev libgcc-16-dev)
program=usr/bin/uobjscope-peer

unpack()	# TARGET
{
	mmdebstrap --mode="$([ "$(id -u)" = 0 ] && echo root || echo unshare)" \
		--variant=extract --architectures=i386 \
		--include="$(IFS=,; echo "${packages[*]}")" \
		--aptopt='Acquire::Retries "3"' --aptopt='Acquire::Languages "none"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt='path-exclude=/usr/share/*' --skip=cleanup/reproducible \
		"$suite" "$1" "$mirror"
}

build_libraries()
{
	quietly "$CACHE/log/peer32.log" "unpacking rdma-core for i386 ($suite)" unpack "$1/root" ||
		return 1
	printf 'root/usr/lib/i386-linux-gnu/%s\n' libmlx5.a libibverbs.a libc.a > "$1/.key-files"
}

compile()
{
	"$LAB/in-rootfs.sh" --bind "$TOP:/src" --bind "$out:/out:rw" --bind "$source:/kselftest" \
		--bind "$libraries:/i386" sh -ec '
	gcc=/i386/usr/lib/gcc/i686-linux-gnu/16
	make -s -j"$(nproc)" -C /src/selftests KSFT=/kselftest/tools/testing/selftests \
		OUTPUT=/out/selftests CC="gcc -m32 --sysroot=/i386 -B$gcc -L$gcc" \
		LDFLAGS=-static LDLIBS="-lmlx5 -libverbs -lnl-route-3 -lnl-3" \
		USERCFLAGS="-DRDMA_STATIC_PROVIDERS=mlx5 -D_FILE_OFFSET_BITS=64" /out/selftests/peer'
	file=$out/selftests/peer
	install -D "$file" "$out/root/$program"
}

mirror=$("$LAB/mirror.sh")
libraries=$(cache_entry "peer32-$suite-$(cache_key "$mirror" "@$0")" 400 build_libraries)/root
source=$("$LAB/kernel.sh" source)
out=${BUILD:-$TOP/build}/peer32
mkdir -p "$out"
quietly "$out/peer32.log" "building the 32-bit peer" compile || die "the 32-bit peer does not build (see above)"
echo "$out/root"
