#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# rdma-core.sh LAYER PATCH...: build libmlx5 of the root file system's rdma-core with the
# patches, and lay it into the folder LAYER at its usual place.
#
# Needs cmake and ninja on the host: status 1 if they are not there.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"

layer=$1
shift
lib=usr/lib/x86_64-linux-gnu

for tool in cmake ninja cc; do
	command -v "$tool" > /dev/null || {
		echo "uobjscope: no $tool here: install cmake, ninja-build and gcc for fixes of rdma-core" >&2
		exit 1
	}
done

fetch()
{
	local mirror
	mirror=$("$LAB/mirror.sh")
	mkdir -p "$1/apt" "$1/source"
	printf 'deb-src [signed-by=%s] %s forky main\n' \
		/usr/share/keyrings/debian-archive-keyring.gpg "$mirror" > "$1/apt/sources.list"
	"$LAB/apt.sh" "$1/apt" forky apt-get update || return 1
	# A file that a mirror lacks is no loss, if it is not the source itself.
	(cd "$1" && "$LAB/apt.sh" "$1/apt" forky apt-get source --download-only rdma-core) || :
	tar -xf "$1/rdma-core_$version.orig.tar.gz" -C "$1/source" --strip-components=1 || return 1
	rm -r "$1/apt"
	printf '%s\n' source/CMakeLists.txt > "$1/.key-files"
}

fetch_quietly()
{
	fetch "$1" > "$CACHE/log/rdma-core-source.log" 2>&1
}

rootfs=$("$LAB/rootfs.sh")
version=$(dpkg-query --admindir="$rootfs/var/lib/dpkg" -W -f '${Version}' libibverbs1:amd64)
version=${version%-*}
source=$(cache_entry "rdma-core-source-$version-$(cache_key "@$0")" 50 fetch_quietly)
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
cp -r "$source/source" "$w/source"
for p; do
	patch -p1 -s -f --fuzz=0 -d "$w/source" -r - --no-backup-if-mismatch -i "$p" >&2 ||
		die "${p##*/} does not apply to rdma-core $version"
done

build()
{
	# What is left out is in libibverbs, which is not ours.
	cmake -S "$w/source" -B "$w/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
		-DENABLE_RESOLVE_NEIGH=0 -DNO_PYVERBS=1 -DNO_MAN_PAGES=1 &&
		ninja -C "$w/build" lib/libmlx5.so.1
}

quietly "$CACHE/log/rdma-core-build.log" "building libmlx5 of rdma-core $version" build ||
	die "libmlx5 does not build with these fixes (see above)"
mkdir -p "$layer/$lib/libibverbs"
strip -o "$layer/$lib/libmlx5.so.1" "$w/build/lib/libmlx5.so.1"
plugin=$(basename "$(echo "$rootfs/$lib/libibverbs"/libmlx5-rdmav*.so)")
cp "$layer/$lib/libmlx5.so.1" "$layer/$lib/libibverbs/$plugin"
