#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The virtual HCA is there and its driver has it; no interrupt was lost, and no IOMMU
# translates for it.

DIR=$(cd "$(dirname "$0")/../uobjscope" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

probed()
{
	ibv_devinfo | grep -q PORT_ACTIVE || { echo "no active port"; return 1; }
	used=$(basename "$(readlink "/sys/bus/pci/devices/$pci/driver")")
	[ "$used" = mlx5_core ] || { echo "expected the driver mlx5_core, seen $used"; return 1; }
	vhca_no_violation
}

interrupts_come()
{
	grep -q 'VHCA-PCI-MSIX-.*mlx5' /proc/interrupts ||
		{ echo "no interrupt of the virtual HCA:"; cat /proc/interrupts; return 1; }
	# mlx5_core says so where it found a completion without one.
	if dmesg | grep -E 'mlx5.*(timeout|recovered|lost)'; then
		return 1
	fi
}

in_no_iommu_group()
{
	[ ! -e "/sys/bus/pci/devices/$pci/iommu_group" ] || { echo "$pci is in an IOMMU group"; return 1; }
}

ktap_print_header
plan 3
run probed
run interrupts_come
run in_no_iommu_group
ktap_finished
