#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Print the path of the root file system: Debian forky with a compiler, rdma-core
# and QEMU.  Modules and programs are built in it, the guest's programs are taken
# from it, and its newer QEMU runs the guest, so that the host need not be new.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

suite=forky
packages=(
	# build: kernel modules, programs, static checks
	gcc make libc6-dev libelf1t64 pahole sparse rsync pkgconf libjson-c-dev
	# build: whole kernels
	bc bison ccache flex libelf-dev libssl-dev cpio
	# the subject
	rdma-core ibverbs-providers libibverbs-dev ibverbs-utils python3-pyverbs
	# in the guest
	busybox bash kmod iproute2 strace perl-base xz-utils
	# reads the kernel's events, in the tests and beside them
	libtracefs-dev libtraceevent-dev trace-cmd
	# runs the guest
	qemu-system-x86
)

bootstrap()	# TARGET OPTION...
{
	local target=$1
	shift

	# mmdebstrap makes its own name space where it is not root.
	mmdebstrap --mode="$([ "$(id -u)" = 0 ] && echo root || echo unshare)" \
		--variant=minbase --architectures=amd64 \
		--include="$(IFS=,; echo "${packages[*]}")" \
		--aptopt='Acquire::Retries "3"' \
		--aptopt='Acquire::Languages "none"' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-include=/usr/share/doc/*/copyright' \
		--skip=cleanup/reproducible \
		"$@" "$suite" "$target" "$mirror"
}

build_rootfs()
{
	local out=$1 log=$CACHE/log/rootfs.log

	# In the cache folder, which a user name space's root may not enter, a
	# world-executable path is needed only without root; then it is the user's own.
	if ! QUIETLY_TAIL=6 quietly "$log" "making the root file system ($suite, ${#packages[@]} packages and what they need)" \
		bootstrap "$out/root"; then
		grep -q 'Valid-Until\|is expired\|not valid anymore' "$log" || return 1
		say "NOTICE: the Release file of $suite on this mirror is past its Valid-Until date;"
		say "NOTICE: using it all the same (its signature is checked)"
		remove_tree "$out/root"
		quietly "$log" "making the root file system again" bootstrap "$out/root" \
			--aptopt='Acquire::Check-Valid-Until "false"' || return 1
	fi
	printf 'root/usr/%s\n' bin/busybox lib/x86_64-linux-gnu/libmlx5.so.1 \
		bin/qemu-system-x86_64 > "$out/.key-files"
}

command -v mmdebstrap > /dev/null || die "mmdebstrap is not installed: run scripts/lab/host-packages.sh"
mirror=$("$LAB/mirror.sh")
entry=$(cache_entry "rootfs-$suite-$(cache_key "$mirror" "@$0")" 3000 build_rootfs)
echo "$entry/root"
