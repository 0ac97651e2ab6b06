#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# debug-kernel.sh [path|version|source|vmlinuz|config]: the kernel that shouts, see
# kernel.sh.  KERNEL=7.2-debug is built from the source of Debian's 7.2, with the fragments
# of scripts/lab/config and nothing else.
#
# The entry's build tree is kept whole, so that a change of one file costs one file
# (scripts/mutants); a tree that was lost is compiled again from ccache, which lives
# beside the entries.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

series=${KERNEL%-debug}
fragments=("$LAB"/config/*.config)

# In the root file system, where the source is /ksrc and the build tree is where headers
# of that name would be.
if [ "${1:-}" = --inside ]; then
	release=$2
	tree=/usr/src/linux-headers-$release
	export CCACHE_DIR=/ccache CCACHE_BASEDIR=/ksrc CCACHE_MAXSIZE=3G
	build()
	{
		make -s -C /ksrc O="$tree" CC='ccache gcc' KBUILD_BUILD_USER=lab \
			KBUILD_BUILD_HOST=uobjscope KBUILD_BUILD_TIMESTAMP=0 -j"$(nproc)" "$@"
	}
	# SMP kernels of all architectures call themselves so.
	{
		cat /lab/config/*.config
		printf 'CONFIG_LOCALVERSION="-debug"\n'
	} > /tmp/wanted
	KCONFIG_ALLCONFIG=/tmp/wanted build allnoconfig
	# What another option forbids is dropped without a word.
	lost=$(grep -hE '^CONFIG_[A-Z0-9_]+=' /tmp/wanted | sort | comm -23 - <(sort "$tree/.config"))
	[ -z "$lost" ] || {
		echo "this kernel's configuration does not take:"
		echo "$lost"
		exit 1
	}
	[ "$(build kernelrelease)" = "$release" ] ||
		{ echo "the release is $(build kernelrelease), expected $release"; exit 1; }
	build bzImage modules
	build INSTALL_MOD_PATH=/entry/root/usr modules_install
	cp "$tree/arch/x86/boot/bzImage" /entry/vmlinuz
	exit
fi

build_kernel()
{
	local entry=$1 tree=root/usr/src/linux-headers-$release
	mkdir -p "$entry/$tree" "$CACHE/ccache"
	# Debian's kernel of the series is below all that is made here, and not used.
	KERNEL=$series quietly "$CACHE/log/debug-kernel-$series.log" \
		"building the debug kernel $release (about half an hour of two processors)" \
		"$LAB/in-rootfs.sh" --bind "$source:/ksrc" --bind "$LAB:/lab" \
		--bind "$entry:/entry:rw" --bind "$entry/$tree:/usr/src/linux-headers-$release:rw" \
		--bind "$CACHE/ccache:/ccache:rw" /lab/debug-kernel.sh --inside "$release" || return 1
	ln -s "$source" "$entry/source"
	echo "$release" > "$entry/version"
	printf '%s\n' version vmlinuz > "$entry/.key-files"
}

debian=$(KERNEL=$series "$LAB/debian-kernel.sh" path)
source=$debian/source
version=$(sed -nE 's/^(VERSION|PATCHLEVEL|SUBLEVEL) = ([0-9]+)$/\2/p' "$source/Makefile" | paste -sd.)
release=$version-debug
entry=$(cache_entry "debug-kernel-$release-$(cache_key "${debian##*/}" "$("$LAB/rootfs.sh")" \
	"@$0" "${fragments[@]/#/@}")" 6000 build_kernel)
case ${1:-path} in
path) echo "$entry" ;;
version) cat "$entry/version" ;;
source) echo "$entry/source" ;;
vmlinuz) echo "$entry/vmlinuz" ;;
config) echo "$entry/root/usr/src/linux-headers-$release/.config" ;;
*) die "debug-kernel.sh $1: expected path, version, source, vmlinuz or config" ;;
esac
