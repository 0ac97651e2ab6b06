#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Print the path of the root file system in which packages are made and looked at: Debian
# forky with debhelper, dkms, lintian and what the modules and programs are built with.  It
# is another than the lab's, which nothing of this shall make any larger.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"

suite=forky
packages=(
	# modules and programs
	build-essential libelf1t64 pahole rsync pkgconf libjson-c-dev kmod xz-utils
	# packages
	debhelper dh-dkms dkms lintian mandoc
)

bootstrap()
{
	mmdebstrap --mode="$([ "$(id -u)" = 0 ] && echo root || echo unshare)" \
		--variant=minbase --architectures=amd64 \
		--include="$(IFS=,; echo "${packages[*]}")" \
		--aptopt='Acquire::Retries "3"' \
		--aptopt='Acquire::Languages "none"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--skip=cleanup/reproducible \
		"$suite" "$1" "$mirror"
}

build_rootfs()
{
	quietly "$CACHE/log/packaging-rootfs.log" \
		"making the root file system for packages ($suite)" bootstrap "$1/root" || return 1
	printf 'root/usr/%s\n' bin/dh bin/lintian sbin/dkms > "$1/.key-files"
}

mirror=$("$LAB/mirror.sh")
entry=$(cache_entry "packaging-$suite-$(cache_key "$mirror" "@$0")" 2000 build_rootfs)
echo "$entry/root"
