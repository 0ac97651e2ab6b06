#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The window is the memory of QEMU's device ivshmem-plain.  The driver works with it, and it
# is as before when the module has gone.  The BAR of any other device is refused.

DIR=$(cd "$(dirname "$0")/../uobjscope" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

# bar NUMBER FOLDER: where that BAR is.
bar() { sed -n "$(($1 + 1))s/ .*//p" "$2/resource"; }

ivshmem()
{
	for device in /sys/bus/pci/devices/*; do
		[ "$(cat "$device/vendor" "$device/device" | tr -d '\n')" = 0x1af40x1110 ] &&
			echo "$device"
	done
}

is_a_window()
{
	modprobe -a ib_uverbs mlx5_core mlx5_ib || return 1
	map=$(cat /proc/iomem) had=
	vhca_insert bar_phys="$(bar 2 "$(ivshmem)")" && wait_for "ib_device" ibdev_there || return 1
	ibv_devinfo | grep -q PORT_ACTIVE || { echo "no active port"; return 1; }
	hold_begin "$DIR/hold" && hold_end && vhca_no_violation && rmmod mlx5_vhca || return 1
	[ "$map" = "$(cat /proc/iomem)" ] ||
		{ echo "/proc/iomem is another:"; cat /proc/iomem; return 1; }
}

# Larger than the memory.
too_small()
{
	expect 'mlx5_vhca: '
	had=
	vhca_refuses '(is in use .*|is not reserved): boot with memmap=' hcas=2 \
		bar_phys="$(bar 2 "$(ivshmem)")"
}

ktap_print_header
plan 2
run is_a_window
run too_small
ktap_finished
