#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# debian-kernel.sh [path|version|source|vmlinuz]: Debian's kernel $KERNEL, see kernel.sh.
#
# The cache entry holds, unpacked and never installed:
#   root/         image, modules, headers and kbuild tools, at their usual paths
#   source/       the linux-source package of exactly that version
#   version       the kernel's release, as uname -r prints it
# path prints the entry, the others what stands in it.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

case $KERNEL in
6.12) suite=trixie ;;
7.2) suite=forky ;;
7.3) suite=trixie-backports ;;
*) die "KERNEL=$KERNEL: the lab knows 6.12 (trixie), 7.2 (forky) and 7.3 (trixie-backports), and with -debug behind it a debug kernel of one" ;;
esac

apt=$CACHE/apt-$suite-$(cache_key "$suite" "$("$LAB/mirror.sh")")

update_lists()
{
	quietly "$CACHE/log/apt-$suite.log" "fetching the package lists of $suite" \
		"$LAB/apt.sh" "$apt" "$suite" apt-get update --error-on=any && return
	grep -q 'Valid-Until\|is expired\|not valid anymore' "$CACHE/log/apt-$suite.log" || return 1
	say "NOTICE: the Release file of $suite on this mirror is past its Valid-Until date;"
	say "NOTICE: using it all the same (its signature is checked)"
	quietly "$CACHE/log/apt-$suite.log" "fetching the package lists of $suite again" \
		"$LAB/apt.sh" "$apt" "$suite" apt-get -o Acquire::Check-Valid-Until=false \
		update --error-on=any
}

field()		# FIELD PACKAGE: of the newest version in the suite
{
	"$LAB/apt.sh" "$apt" "$suite" apt-cache show --no-all-versions "$2" |
		sed -n "s/^$1: //p" | head -n 1
}

# check_same IMAGE-VERSION SOURCE-VERSION
check_same()
{
	[ "$1" = "$2" ] ||
		die "kernel $1 and linux-source $2 differ: $suite is being updated, both must be of one version"
}

build_kernel()
{
	local out=$1 release image_version source_version debs list=$1/debs

	update_lists || die "cannot fetch the package lists of $suite (see above)"

	# linux-headers-amd64 depends on the headers of the one kernel it stands for.
	release=$(field Depends linux-headers-amd64 |
		grep -oE "linux-headers-${KERNEL}[.][0-9a-z.+~-]*-amd64" | head -n 1)
	release=${release#linux-headers-}
	[ -n "$release" ] || die "$suite has no linux-headers-amd64 of a $KERNEL kernel"
	image_version=$(field Version "linux-image-$release")
	source_version=$(field Version "linux-source-$KERNEL")
	check_same "$image_version" "$source_version"

	# The image is one package or, of late, an empty one and several with the files.
	mapfile -t debs < <("$LAB/apt.sh" "$apt" "$suite" apt-cache depends --recurse \
		--no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces \
		--no-enhances "linux-image-$release" "linux-headers-$release" |
		grep -E "^linux-(image|binary|modules|base|headers|kbuild)-$KERNEL" | sort -u)
	mkdir "$list" "$out/root"
	(cd "$list" && quietly "$CACHE/log/kernel-$KERNEL.log" \
		"downloading kernel $release and its source" \
		"$LAB/apt.sh" "$apt" "$suite" apt-get download "${debs[@]}" "linux-source-$KERNEL") ||
		die "cannot download kernel $release"
	for deb in "$list"/*.deb; do
		case $deb in
		*/linux-source-*) dpkg-deb -x "$deb" "$out/unpack" ;;
		*) dpkg-deb -x "$deb" "$out/root" ;;
		esac || die "cannot unpack ${deb##*/}"
	done
	rm -r "$list"

	mkdir "$out/source"
	quietly "$CACHE/log/source-$KERNEL.log" "unpacking linux-source $source_version" \
		tar -C "$out/source" --strip-components=1 --no-same-owner \
		-xf "$out/unpack/usr/src/linux-source-$KERNEL.tar.xz" || return 1
	rm -r "$out/unpack"

	for f in "boot/vmlinuz-$release" "usr/lib/modules/$release/vmlinuz"; do
		[ ! -e "$out/root/$f" ] || ln -s "root/$f" "$out/vmlinuz"
	done
	[ -e "$out/vmlinuz" ] || die "no kernel image in the packages of linux-image-$release"
	echo "$release" > "$out/version"
	printf '%s\n' version vmlinuz > "$out/.key-files"
}

entry=$(cache_entry "kernel-$KERNEL-$(cache_key "$suite" "$KERNEL" "@$0")" 4000 build_kernel)
case ${1:-path} in
path) echo "$entry" ;;
version) cat "$entry/version" ;;
source) echo "$entry/source" ;;
vmlinuz) echo "$entry/vmlinuz" ;;
*) die "debian-kernel.sh $1: expected path, version, source or vmlinuz" ;;
esac
