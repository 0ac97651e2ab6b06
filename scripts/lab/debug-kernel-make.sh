#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# debug-kernel-make.sh RELEASE: configure and build the kernel in /ksrc as debug-kernel.sh
# wants it; run in the root file system.
#
#   /lab       scripts/lab, with the fragments of the configuration
#   /entry     the cache entry: gets vmlinuz, and the modules in root/
#   /ccache    what was compiled earlier
# The build tree is where headers of that release would be.

set -eu

release=$1
tree=/usr/src/linux-headers-$release
export CCACHE_DIR=/ccache CCACHE_BASEDIR=/ksrc CCACHE_MAXSIZE=3G

build()
{
	# A tree that is under git would add to the release what state it is in.
	make -s -C /ksrc O="$tree" CC='ccache gcc' KBUILD_BUILD_USER=lab LOCALVERSION= \
		KBUILD_BUILD_HOST=uobjscope KBUILD_BUILD_TIMESTAMP=0 -j"$(nproc)" "$@"
}

# SMP kernels of all architectures call themselves so.
{
	cat /lab/config/*.config
	printf 'CONFIG_LOCALVERSION="-debug"\n'
} > /tmp/wanted
KCONFIG_ALLCONFIG=/tmp/wanted build allnoconfig
# What another option forbids is dropped without a word.
lost=$(grep -hE '^CONFIG_[A-Z0-9_]+=' /tmp/wanted | sort > /tmp/asked
	sort "$tree/.config" | comm -23 /tmp/asked -)
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
