#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# deb.sh [TARBALL]: make the Debian source package and the packages of it, in a root file
# system that has what they need and from the tarball that dist.sh makes of HEAD, and print
# the folder (build/deb).

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"

out=${BUILD:-$TOP/build}/deb
rm -rf "$out"
mkdir -p "$out"
tarball=${1:-$("$TOP/scripts/packaging/dist.sh" "$out")} || exit "$LAB_BROKEN"
tarball=$(realpath "$tarball")
ROOTFS=$("$TOP/scripts/packaging/rootfs.sh")
export ROOTFS

build_packages()
{
	"$LAB/in-rootfs.sh" --bind "$out:/out:rw" --bind "$tarball:/dist.tar.gz" sh -ec '
	mkdir /tmp/package
	tar xzf /dist.tar.gz -C /tmp/package
	cd /tmp/package/uobjscope-*
	dpkg-buildpackage -us -uc --build=full
	cp ../uobjscope_* ../libuobjscope* ../uobjscope-* /out/ 2>/dev/null || :
	ls /out/*.dsc /out/*.deb'
}

quietly "$out/build.log" "building Debian packages" build_packages ||
	die "the Debian packages do not build (see $out/build.log)"
echo "$out"
