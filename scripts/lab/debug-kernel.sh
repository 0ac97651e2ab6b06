#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# debug-kernel.sh [path|version|source|vmlinuz|build|is-there]: the kernel that shouts, see
# kernel.sh, with the fragments of scripts/lab/config and nothing else.  is-there builds
# nothing, and its exit status is whether something would be.
#
# KERNEL=7.2-debug is built from the source of Debian's 7.2.  The entry's build tree is kept
# whole, so that a change of one file costs one file (scripts/mutants); a tree that was
# lost is compiled again from ccache, which lives beside the entries.
#
# KERNEL=own-debug is built from the tree that KSRC= names, in the folder that O= names or
# in the cache.  That tree changes, so it is "build" that brings its kernel up to date; the
# others only see to it that there is one.  KERNEL=own is the same kernel without what shouts:
# see own-kernel-make.sh.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

series=${KERNEL%-debug}

# make_kernel ENTRY TREE DEBIAN: build $source as $release in TREE by $script, and fill ENTRY,
# on top of the root file system with Debian's kernel of that series, which is not used.
script=debug-kernel-make.sh
what="the debug kernel"
how_long="half an hour"
make_kernel()
{
	local entry=$1 tree=$2 debian=$3
	mkdir -p "$entry/root/usr" "$tree" "$CACHE/ccache"
	KERNEL=$debian quietly "$CACHE/log/debug-kernel-$series.log" \
		"building $what $release (up to $how_long of two processors)" \
		"$LAB/in-rootfs.sh" --bind "$source:/ksrc" --bind "$LAB:/lab" \
		--bind "$entry:/entry:rw" --bind "$tree:/usr/src/linux-headers-$release:rw" \
		--bind "$CACHE/ccache:/ccache:rw" "/lab/$script" "$release" || return 1
	ln -sfn "$source" "$entry/source"
	echo "$release" > "$entry/version"
}

build_debian()
{
	make_kernel "$1" "$1/$tree" "$series" || return 1
	printf '%s\n' version vmlinuz > "$1/.key-files"
}

# of_debian WHAT
of_debian()
{
	local debian name fragments=("$LAB"/config/*.config)
	debian=$(KERNEL=$series "$LAB/debian-kernel.sh" path)
	source=$debian/source
	release=$(version_of "$source")-debug
	tree=root/usr/src/linux-headers-$release
	name=debug-kernel-$release-$(cache_key "${debian##*/}" "$("$LAB/rootfs.sh")" \
		"@$LAB/debug-kernel-make.sh" "${fragments[@]/#/@}")
	if [ "$1" = is-there ]; then
		cache_has "$name"
		exit
	fi
	entry=$(cache_entry "$name" 6000 build_debian)
}

# What make was called with is none of the kernel's business.
version_of()
{
	env -u MAKEFLAGS make -s --no-print-directory -C "$1" kernelversion
}

# own WHAT: the kernel of $KSRC, up to date if WHAT is build.
own()
{
	local lock
	[ -n "${KSRC:-}" ] || die "KERNEL=$KERNEL: expected KSRC= with a kernel source tree"
	[ -e "$KSRC/drivers/infiniband" ] ||
		die "KSRC=$KSRC: expected a kernel source tree"
	if [ -e "$KSRC/.config" ] || [ -e "$KSRC/include/generated" ]; then
		die "KSRC=$KSRC: expected a tree that nothing was built in: make mrproper there"
	fi
	source=$(realpath "$KSRC")
	if [ "$KERNEL" = own ]; then
		script=own-kernel-make.sh what="your kernel" how_long="a quarter of an hour"
		release=$(version_of "$source")-own
		entry=$CACHE/own-plain-kernel-$(cache_key "$source" "${O:+$(realpath -m "$O")}" ${LLVM:+llvm})
		if [ -n "${O:-}" ] && [ -e "$O/.config" ] && [ ! -e "$O/.uobjscope-config" ]; then
			die "O=$O: it has a configuration of its own, which would be lost: expected an empty folder, or that of an earlier run"
		fi
	else
		release=$(version_of "$source")-debug
		entry=$CACHE/own-kernel-$(cache_key "$source" "${O:+$(realpath -m "$O")}")
	fi
	have_space 6000 "$CACHE"
	mkdir -p "$entry"
	exec {lock}> "$entry/lock"
	flock "$lock"
	if [ "$1" = is-there ]; then
		[ -e "$entry/contents" ]
		exit
	fi
	if [ "$1" = build ] || [ ! -e "$entry/contents" ]; then
		# What was made of this kernel when it was another.
		find "$CACHE" -maxdepth 1 -name "initramfs-$release-*" -mmin +60 -exec rm -rf {} +
		rm -rf "$entry/contents" "$entry/root"
		tree=${O:-$entry/build}
		make_kernel "$entry" "$tree" 7.2 || exit "$LAB_BROKEN"
		# What is made of this kernel is kept by that (initramfs.sh).
		find -L "$entry/vmlinuz" "$entry/root/usr/lib/modules" -type f -name '*[zo]' \
			-exec sha256sum {} + | sha256sum > "$entry/contents"
		ln -sfn "$(realpath "$tree")" "$entry/tree"
	fi
	exec {lock}>&-
}

[ -z "${LLVM:-}" ] || [ "$LLVM/$KERNEL" = 1/own ] ||
	die "LLVM=$LLVM: expected LLVM=1, with KSRC= and without KERNEL="
case ${1:-path} in
path|version|source|vmlinuz|build|is-there) ;;
*) die "debug-kernel.sh $1: expected path, version, source, vmlinuz, build or is-there" ;;
esac
if [ "$series" = own ]; then
	own "${1:-path}"
else
	of_debian "${1:-path}"
fi
case ${1:-path} in
path|build) echo "$entry" ;;
version) cat "$entry/version" ;;
source) echo "$entry/source" ;;
vmlinuz) echo "$entry/vmlinuz" ;;
esac
