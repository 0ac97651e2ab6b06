#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The guest is what machines.sh wanted it to be: a shape that was not taken up would prove
# nothing.  MACHINE= comes from the kernel's command line.

says() { dmesg | grep -qE "$1" || { echo "# no '$1' in the kernel log"; return 1; }; }

iommu() { [ -n "$(ls /sys/class/iommu)" ] || { echo "# no IOMMU"; return 1; }; }

memory_mib() { awk '/^MemTotal:/ { print int($2 / 1024) }' /proc/meminfo; }

is_it()
{
	case $MACHINE in
	one-processor) [ "$(nproc)" = 1 ] ;;
	little-memory) [ "$(nproc)" = 1 ] && [ "$(memory_mib)" -lt 1024 ] ;;
	zen) grep -q '^vendor_id.*AuthenticAMD' /proc/cpuinfo && grep -qE '^cpu family\s*: 23' /proc/cpuinfo ;;
	intel-iommu) iommu && says 'DMAR: Intel.R. Virtualization' && says 'type: Translated' ;;
	intel-iommu-pt) iommu && says 'DMAR: Intel.R. Virtualization' && says 'type: Passthrough' ;;
	amd-iommu) iommu && says 'AMD-Vi' && says 'type: Translated' ;;
	gigabyte-pages) [ "$(awk '/^DirectMap1G:/ { print $2 }' /proc/meminfo)" -gt 0 ] ;;
	stays-offline) grep -qx offline /sys/devices/system/memory/auto_online_blocks ;;
	bounce-buffers) says 'swiotlb=force|software IO TLB' ;;
	*) echo "# MACHINE=$MACHINE is not known"; false ;;
	esac
}

echo "TAP version 13"
echo "1..1"
if is_it; then echo "ok 1 $MACHINE"; else echo "not ok 1 $MACHINE"; exit 1; fi
