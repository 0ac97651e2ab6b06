#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# add-to-image.sh ROOT RELEASE MODULE...: put kernel modules into the root file system of an
# image for syz-manager, mounted at ROOT, and have systemd load them at each boot, before
# ssh comes up: the drivers under test, and mlx5_vhca.ko for them to have a device.  MODULE is
# a .ko file of this project, built for the kernel RELEASE.  The kernel's own modules, where it
# has any, must be there already (make modules_install INSTALL_MOD_PATH=ROOT).

die()
{
	echo "add-to-image.sh: $*" >&2
	exit 1
}

[ $# -ge 3 ] || die "expected a folder, the kernel's release and modules"
root=$1 release=$2
shift 2
[ -d "$root/etc/systemd" ] || die "$root: expected the root file system of an image with systemd"
vhca=
for ko; do
	[ -f "$ko" ] || die "$ko: no such module"
	built_for=$(modinfo -F vermagic "$ko" | cut -d ' ' -f 1)
	[ "$built_for" = "$release" ] || die "$ko was built for $built_for, expected $release"
	[ "${ko##*/}" != mlx5_vhca.ko ] || vhca=y
done
[ -n "$vhca" ] || die "expected mlx5_vhca.ko among the modules: without it there is no device"

to=/usr/lib/uobjscope/$release
mkdir -p "$root$to" "$root/etc/systemd/system/multi-user.target.wants" || exit 1
cp "$@" "$root$to/" || exit 1
cat > "$root/etc/systemd/system/uobjscope.service" << EOF || exit 1
[Unit]
Description=A virtual mlx5 HCA, and what looks at its user objects
Before=ssh.service

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=-/sbin/modprobe -a ib_uverbs mlx5_core mlx5_ib
ExecStart=/sbin/insmod $to/mlx5_vhca.ko
ExecStart=/bin/sh -c 'for i in \$(seq 600); do [ -e /dev/infiniband/uverbs0 ] && exit; sleep 0.1; done; exit 1'
EOF
for ko; do
	[ "${ko##*/}" = mlx5_vhca.ko ] ||
		echo "ExecStart=/sbin/insmod $to/${ko##*/}" >> "$root/etc/systemd/system/uobjscope.service"
done
ln -sf ../uobjscope.service "$root/etc/systemd/system/multi-user.target.wants/uobjscope.service"
