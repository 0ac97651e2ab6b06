#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# own-kernel-make.sh RELEASE: configure and build the kernel in /ksrc as a developer wants it
# who has changed a line: as small as the suite allows, and without what costs time; run in
# the root file system, in a tree that is built again and again.
#
#   /lab       scripts/lab, with the fragments of the configuration
#   /entry     gets vmlinuz, and the modules in root/
#   /ccache    what was compiled earlier
# LLVM=1 in the environment has clang and lld do it.
# The build tree is where headers of that release would be.

set -eu

release=$1
tree=/usr/src/linux-headers-$release
cc=${LLVM:+clang}
export CCACHE_DIR=/ccache CCACHE_BASEDIR=/ksrc CCACHE_MAXSIZE=3G

build()
{
	# A tree that is under git would add to the release what state it is in.
	make -s -C /ksrc O="$tree" CC="ccache ${cc:-gcc}" KBUILD_BUILD_USER=lab LOCALVERSION= \
		KBUILD_BUILD_HOST=uobjscope KBUILD_BUILD_TIMESTAMP=0 -j"$(nproc)" "$@"
}

{
	cat /lab/config/base.config /lab/config/rdma.config /lab/config/tracing.config
	printf 'CONFIG_LOCALVERSION="-own"\n'
} > /tmp/wanted
# Another configuration would compile all again, and so it is made once; what the source
# has new options of since then, make asks for itself.
if ! cmp -s /tmp/wanted "$tree/.uobjscope-config" || [ ! -e "$tree/.config" ]; then
	KCONFIG_ALLCONFIG=/tmp/wanted build allnoconfig
	# What another option forbids is dropped without a word.
	lost=$(grep -hE '^CONFIG_[A-Z0-9_]+=' /tmp/wanted | sort > /tmp/asked
		sort "$tree/.config" | comm -23 /tmp/asked -)
	[ -z "$lost" ] || {
		echo "this kernel's configuration does not take:"
		echo "$lost"
		exit 1
	}
	cp /tmp/wanted "$tree/.uobjscope-config"
fi
build olddefconfig
[ "$(build kernelrelease)" = "$release" ] ||
	{ echo "the release is $(build kernelrelease), expected $release"; exit 1; }
build bzImage modules
build INSTALL_MOD_PATH=/entry/root/usr modules_install
cp "$tree/arch/x86/boot/bzImage" /entry/vmlinuz
