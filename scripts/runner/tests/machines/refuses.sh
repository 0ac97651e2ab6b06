#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The virtual HCA is not loaded here, and says why in one line that has the expression
# REFUSES; that, and BAR_PHYS, come from the kernel's command line.  What it has taken for
# that long is the kernel's again.

DIR=$(cd "$(dirname "$0")/../uobjscope" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

memory() { awk '/^MemTotal:/ { print $2 }' /proc/meminfo; }

refuses()
{
	modprobe -a ib_uverbs mlx5_core mlx5_ib || return 1
	expect 'mlx5_vhca: '
	memory_before=$(memory)
	had="bar_phys=${BAR_PHYS:-0x60000000}"
	vhca_refuses "$REFUSES" hcas=1
}

nothing_is_left()
{
	if grep mlx5_vhca /proc/iomem || lsmod | grep mlx5_vhca; then
		return 1
	fi
	# The page structures of what was away for the first time are counted from then on: a 64th.
	[ $((memory_before - $(memory))) -le 0 ] ||
		{ echo "MemTotal: $memory_before kB before, $(memory) kB now"; return 1; }
	[ ! -e $VHCA_DEBUGFS ] && [ -z "$(find /sys/bus/pci/devices -name '000[1-9]*')" ]
}

ktap_print_header
plan 2
run_here refuses refuses
run nothing_is_left
ktap_finished
