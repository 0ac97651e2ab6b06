#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# debug-kernel-make.sh RELEASE [image]: configure and build the kernel in /ksrc as
# debug-kernel.sh wants it; run in the root file system.  With "image" a tree in which all
# was built before has nothing but its image brought up to date.
#
#   /lab       scripts/lab, with the fragments of the configuration
#   /entry     gets vmlinuz, and the modules in root/
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

finish()
{
	cp "$tree/arch/x86/boot/bzImage" /entry/vmlinuz
}

if [ "${2:-}" = image ]; then
	build bzImage
	finish
	exit
fi

# What stands behind "#? " is wanted where there is an option of that name.
options_that_come_and_go()
{
	sed -n 's/^#? CONFIG_//p' /lab/config/*.config | while read -r option; do
		! grep -rqE "^(menu)?config ${option%%=*}\$" --include='Kconfig*' /ksrc ||
			echo "CONFIG_$option"
	done
}

# SMP kernels of all architectures call themselves so.
{
	cat /lab/config/*.config
	options_that_come_and_go
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
finish
