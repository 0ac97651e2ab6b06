# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# What the tests of the window have in common whose memory the running kernel hands out;
# sourced by them after test_lib.sh.
#
# Parameters of the module are for the functions that have any; $had is test_lib.sh's.
# shellcheck disable=SC2034,SC2119,SC2120

MODULES=$(dirname "$VHCA_MODULE")

mem_total() { awk '/^MemTotal:/ { print $2 }' /proc/meminfo; }

mapped_by_gib_kib() { awk '/^DirectMap1G:/ { print $2 }' /proc/meminfo; }

# The kernel's page structures of a block were not counted at boot, as long as it has not
# been away; then they are: 64 bytes for each page of 4 KiB.
structures_kib() { echo $(($1 / 64)); }

# The usual size, where the kernel knows no blocks.
block_kib()
{
	set -- "$(cat /sys/devices/system/memory/block_size_bytes 2> /dev/null)"
	echo $((0x${1:-8000000} / 1024))
}

# loan: START END, in hexadecimal, of the memory that was taken; nothing if none is.
loan() { sed -n 's/^ *\([0-9a-f]*\)-\([0-9a-f]*\) : mlx5_vhca memory$/\1 \2/p' /proc/iomem; }

loan_kib()
{
	# shellcheck disable=SC2046
	set -- $(loan)
	[ $# = 2 ] || { echo "expected one loan in /proc/iomem, seen: $*" >&2; echo 0; return; }
	echo $(((0x$2 - 0x$1 + 1) / 1024))
}

insert() { insmod "$VHCA_MODULE" "$@"; }

probe() { insert "$@" && wait_for "ib_device" ibdev_there; }

# expect_total KIB WHAT [BLOCKS]: that much memory is there, and the page structures of no
# more than so many blocks (1) that were away for the first time.
expect_total()
{
	now=$(mem_total)
	more=$((now - $1))
	if [ $more -lt 0 ] || [ $((more % $(structures_kib "$(block_kib)"))) != 0 ] ||
	   [ $more -gt $(($(structures_kib "$(block_kib)") * ${3:-1})) ]; then
		echo "$2: MemTotal: expected $1 kB and the page structures of a block, seen $now kB"
		return 1
	fi
}

complain() { echo "$*"; return 1; }

nothing_taken()
{
	if grep mlx5_vhca /proc/iomem; then
		return 1
	fi
}

# refused EXPRESSION PARAMETER=VALUE...: in one line, and nothing has changed by it.
refused()
{
	expect 'mlx5_vhca: '
	before=$(mem_total) had=
	map=$(cat /proc/iomem)
	vhca_refuses "$@" || return 1
	nothing_taken && expect_total "$before" "refused" 0 || return 1
	[ "$map" = "$(cat /proc/iomem)" ] ||
		complain "/proc/iomem is another: $(cat /proc/iomem)" || return 1
	[ ! -e "$VHCA_DEBUGFS" ] || { echo "$VHCA_DEBUGFS is still there"; return 1; }
}

other_way='boot with memmap=64M[$]ADDRESS and give ADDRESS as bar_phys'

refuse() { insmod "$MODULES/refuse_offline.ko" "$@"; }
refuse_says() { cat "/sys/module/refuse_offline/parameters/$1"; }

# remove_while_mapped HOW: a process has that of the device when the module goes; what is
# mapped stays away from the kernel until it is not, and the next load takes it.
remove_while_mapped()
{
	before=$(mem_total)
	probe || return 1
	taken=$(loan_kib) at=$(loan)
	hold_begin "$DIR/hold" "$@" || { rmmod mlx5_vhca; return 1; }
	rc=0
	log_begin
	expect_kept
	rmmod mlx5_vhca 9>&- || rc=1
	vhca_lines | grep -q 'is still mapped, by a process .* is kept' ||
		complain "no word of it: $(vhca_lines)" || rc=1
	[ "$(loan)" = "$at" ] || complain "expected $at to be kept, seen '$(loan)'" || rc=1
	expect_total $((before - taken)) "kept" || rc=1
	# The process has the old pages, the device a new driver.
	probe 9>&- || rc=1
	[ "$(loan)" = "$at" ] || complain "expected $at to be taken again, seen '$(loan)'" || rc=1
	hold_end || rc=1
	vhca_no_violation || rc=1
	rmmod mlx5_vhca && nothing_taken && expect_total "$before" "unloaded" && return $rc
}

# MACHINE is what machines.sh has made of the module.
can_hand_out()
{
	[ "${MACHINE:-}" != no-memory-hotplug ] &&
		grep -q ' offline_and_remove_memory$' /proc/kallsyms &&
		grep -qE ' alloc_contig_frozen_range(_noprof)?$' /proc/kallsyms
}

no_memory_hotplug()
{
	refused "has no memory hotplug to take the window with: $other_way"
}

# window_tests NAME...: these, if the kernel can do that, else it is asked to say so.
window_tests()
{
	[ -n "$listing" ] || can_hand_out || set -- no_memory_hotplug
	if [ -z "$listing" ]; then
		[ "$(id -u)" = 0 ] || skip_all "not root"
		[ -r "$VHCA_MODULE" ] || skip_all "no $VHCA_MODULE: set MLX5_VHCA_KO to mlx5_vhca.ko"
		[ ! -e "$VHCA_PARAMETERS" ] || skip_all "mlx5_vhca is loaded: unload it"
		modprobe -a ib_uverbs mlx5_core mlx5_ib || skip_all "no drivers"
		[ -z "$(ls /sys/class/infiniband)" ] || skip_all "other RDMA devices are here"
		[ -e /sys/module/uobjscope ] || insmod "$MODULES/uobjscope.ko" 2> /dev/null
	fi
	ktap_print_header
	plan $#
	for t in "$@"; do
		run "$t"
	done
	ktap_finished
}
