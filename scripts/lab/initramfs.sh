#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# initramfs.sh: print the path of the guest's base initramfs for kernel $KERNEL:
# busybox, kmod, rdma-core's libraries and commands, and the drivers under test
# with all that they need, unmodified.  What is being tested comes in a second
# archive, see overlay.sh.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

if [ "${1:-}" = --inside ]; then
	# In the root file system; busybox has all the commands that coreutils lack.
	release=$2
	drivers=(ib_uverbs mlx5_core mlx5_ib)
	# Which a kernel may have or not.
	optional=(kunit ib_ipoib rdma_ucm)
	programs=(bash busybox kmod perl strace stdbuf timeout ibv_devinfo ibv_devices rdma ip trace-cmd)
	w=/tmp/initramfs
	mkdir -p "$w"/{dev,etc/libibverbs.d,proc,root,run,sys,tmp,usr/bin,usr/lib,usr/lib64,usr/sbin}
	for d in bin lib lib64 sbin; do ln -s "usr/$d" "$w/$d"; done

	with_libraries()
	{
		local f
		for f; do
			cp -L --parents "$f" "$w"
			{ ldd "$f" 2>/dev/null || :; } | grep -oE '/[^ ]+' | while read -r l; do
				l=$(realpath -s "$l")
				[ -e "$w$l" ] || cp -L --parents "$l" "$w"
			done
		done
	}
	for p in "${programs[@]}"; do
		path=$(command -v "$p") || { echo "$p is missing in the root file system"; exit 1; }
		with_libraries "$(realpath -s "$path")"
	done
	with_libraries /usr/lib/x86_64-linux-gnu/libmlx5.so.1 \
		/usr/lib/x86_64-linux-gnu/libibverbs/libmlx5*.so /usr/libexec/coreutils/libstdbuf.so \
		/usr/lib/x86_64-linux-gnu/libjson-c.so.5 /usr/lib/x86_64-linux-gnu/libtracefs.so.1
	# libmlx5's provider is found through this file, and its name in the verbs folder.
	cp /etc/libibverbs.d/mlx5.driver "$w/etc/libibverbs.d/"
	# kselftest's prefix.pl streams a test's output line by line; sed would hold it back.
	cp -r --parents /usr/lib/x86_64-linux-gnu/perl-base "$w"
	rm -r "$w"/usr/lib/x86_64-linux-gnu/perl-base/unicore
	for a in $(busybox --list); do
		[ -e "$w/usr/bin/$a" ] || [ -e "$w/usr/sbin/$a" ] || ln -s busybox "$w/usr/bin/$a"
	done
	for a in modprobe insmod rmmod lsmod modinfo; do
		rm -f "$w/usr/bin/$a"
		ln -sf ../bin/kmod "$w/usr/sbin/$a"
	done
	echo 'root:x:0:0:root:/root:/bin/sh' > "$w/etc/passwd"
	printf 'nobody:x:65534:65534:nobody:/:/bin/sh\n' >> "$w/etc/passwd"

	# Emulated, xz is slow: unpack the modules here, and only those.
	modules=/usr/lib/modules/$release
	# The packages were unpacked, not installed: nobody has run depmod yet.
	mkdir -p "/tmp/depmod/lib/modules/$release"
	ln -s "$modules"/{kernel,modules.order,modules.builtin,modules.builtin.modinfo} \
		"/tmp/depmod/lib/modules/$release/"
	depmod -b /tmp/depmod "$release"
	modprobe -d /tmp/depmod -S "$release" --show-depends -a "${drivers[@]}" > /tmp/needed ||
		{ echo "kernel $release lacks one of ${drivers[*]}"; exit 1; }
	for d in "${optional[@]}"; do
		modprobe -d /tmp/depmod -S "$release" --show-depends "$d" >> /tmp/needed 2> /dev/null || :
	done
	awk '$1 == "insmod" { print $2 }' /tmp/needed | sort -u | while read -r ko; do
		ko=$modules/${ko#*"/modules/$release/"}
		mkdir -p "$w${ko%/*}"
		case $ko in
		*.xz) xz -dc "$ko" > "$w${ko%.xz}" ;;
		*.zst) zstd -dcq "$ko" > "$w${ko%.zst}" ;;
		*) cp "$ko" "$w$ko" ;;
		esac
	done
	cp "$modules"/modules.{order,builtin,builtin.modinfo} "$w$modules/"
	depmod -b "$w" "$release"
	cd "$w"
	find . | busybox cpio -o -H newc > /out/base.cpio 2>/dev/null
	exit
fi

build_initramfs()
{
	quietly "$CACHE/log/initramfs-$KERNEL.log" "making the base initramfs for $release" \
		"$LAB/in-rootfs.sh" --bind "$LAB:/lab" --bind "$1:/out:rw" \
		/lab/initramfs.sh --inside "$release" || return 1
	echo base.cpio > "$1/.key-files"
}

release=$("$LAB/kernel.sh" version)
kernel=$("$LAB/kernel.sh")
# A developer's own kernel changes in its place.
contents=$(cat "$kernel/contents" 2> /dev/null) || :
entry=$(cache_entry "initramfs-$release-$(cache_key "$("$LAB/rootfs.sh")" "$kernel" "$contents" \
	"@$0")" 200 build_initramfs)
echo "$entry/base.cpio"
