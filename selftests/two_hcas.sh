#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Two virtual HCAs at once, each on a host bridge of its own, then both below one root
# port.  What they have to do with each other is in two_hcas_dm.c; here they come and go.
# The device that was loaded before is loaded again at the end.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

# Also what the driver makes of a device whose memory was lent to another.
apart="ledgers_are_apart numbers_are_apart memories_are_apart lend_to_itself lend"
loans="free_what_is_lent owner_is_unbound borrower_is_unbound"
comings="unbind_first_with_objects unbind_second_with_objects remove_with_objects"

both_there() { [ "$(find /sys/class/infiniband -mindepth 1 2> /dev/null | wc -l)" = 2 ] && [ -e /dev/infiniband/uverbs1 ]; }

load()		# two devices, in that $topology
{
	vhca_insert hcas=2 "topology=$topology" && wait_for "two ib_devices" both_there
}

# on TOPOLOGY COMMAND...: with two devices of that topology.
on()
{
	topology=$1
	shift
	if [ ! -e $VHCA_PARAMETERS ]; then
		load || return 1
	elif [ "$(cat_parameter hcas) $(cat_parameter topology)" != "2 $topology" ] || ! both_there; then
		rmmod mlx5_vhca && load || return 1
	fi
	"$@"
}

pci_of()	# NAME of an ib_device
{
	basename "$(readlink -f "/sys/class/infiniband/$1/device")"
}

# One probe each, of its own: names, addresses, GUIDs, LIDs, threads.
probed()	# PCI ADDRESS of the first, of the second
{
	ibv_devinfo > "$w/info" || { echo "ibv_devinfo: status $?"; return 1; }
	[ "$(pci_of mlx5_0) $(pci_of mlx5_1)" = "$1 $2" ] || {
		echo "expected mlx5_0 and mlx5_1 at $1 and $2, seen $(pci_of mlx5_0) and $(pci_of mlx5_1)"
		return 1
	}
	for key in node_guid port_lid; do
		[ "$(grep "$key:" "$w/info" | sort -u | wc -l)" = 2 ] ||
			{ echo "expected two different $key:"; cat "$w/info"; return 1; }
	done
	[ "$(grep -c 'state:.*PORT_ACTIVE' "$w/info")" = 2 ] ||
		{ echo "expected two active ports:"; cat "$w/info"; return 1; }
	[ "$(cat /proc/[0-9]*/comm 2> /dev/null | grep -c '^mlx5_vhca/[01]$')" = 2 ] ||
		{ echo "expected two firmware threads"; return 1; }
	for p in "$1" "$2"; do
		grep -q "device=$p" "$VHCA_DEBUGFS/$p/ledger" || { echo "no ledger of $p"; return 1; }
	done
	vhca_no_violation
}

separate_probed() { probed 0001:00:00.0 0002:00:00.0; }

port_probed()
{
	probed 0001:01:00.0 0001:01:00.1 || return 1
	# The port above them has no service to offer, and no driver complains of that.
	[ "$(cat /sys/bus/pci/devices/0001:00:00.0/class)" = 0x060400 ] || { echo "no port"; return 1; }
	used=$(basename "$(readlink -f /sys/bus/pci/devices/0001:00:00.0/driver)")
	[ "$used" = pcieport ] || { echo "expected the driver pcieport on the port, seen $used"; return 1; }
}

# What the kernel says where it refuses, with the functions' addresses.
may_refuse_loan()
{
	[ "$topology" != separate ] || expect 'mlx5_core .*: cannot be used for peer-to-peer DMA'
}

in_c()		# TEST of two_hcas_dm, both ways
{
	[ "$1" != lend ] || may_refuse_loan
	"$DIR/two_hcas_dm" -t "$1" > "$w/said" 2>&1 && return
	c_status=$?
	cat "$w/said"
	return $c_status
}

# with_objects COMMAND...: while a process has objects on both, each also on the other's
# memory where the kernel allows that; it must then live and end well.
with_objects()
{
	may_refuse_loan
	hold_begin "$DIR/hold" all || return 1
	"$@" 9>&-
	done=$?
	hold_end || return 1
	return $done
}

# The first is on its way out while the other has its memory in use, and the reverse.
unbind_with_objects()	# NAME of the ib_device
{
	gone=$(pci_of "$1")
	with_objects unbind_one || { echo "$gone" > $driver/bind; return 1; }
	echo "$gone" > $driver/bind
	wait_for "two ib_devices" both_there && vhca_no_violation
}

unbind_one() { echo "$gone" > $driver/unbind && vhca_is_at_rest "$gone"; }
unbind_first_with_objects() { unbind_with_objects mlx5_0; }
unbind_second_with_objects() { unbind_with_objects mlx5_1; }

remove_with_objects()
{
	expect_kept
	if ! with_objects rmmod mlx5_vhca; then
		load
		return 1
	fi
	vhca_is_gone && load && vhca_no_violation
}

vhca_is_gone()
{
	[ ! -e $VHCA_DEBUGFS ] || { echo "$VHCA_DEBUGFS is still there"; return 1; }
	if lspci_of_vhca; then
		echo "that function is still there"
		return 1
	fi
	if grep 'mlx5_vhca BAR0' /proc/iomem || grep mlx5_vhca /proc/interrupts; then
		return 1
	fi
}

lspci_of_vhca()
{
	find /sys/bus/pci/devices -name '000[12]:*' | grep .
}

# Both must go, whichever is not bound.
remove_unbound()
{
	for gone in mlx5_0 mlx5_1; do
		pci_of $gone > $driver/unbind || return 1
		rmmod mlx5_vhca && vhca_is_gone && load || return 1
	done
}

# The second has no window: the first is undone, and one line says what to do.
second_has_no_window()
{
	rmmod mlx5_vhca || return 1
	expect 'mlx5_vhca: .* boot with memmap='
	bad=0
	for t in separate port; do
		vhca_refuses "boot with memmap=$both" hcas=2 topology=$t \
			bar_phys=$((bar_phys + bar_size)) || bad=1
		vhca_is_gone || bad=1
	done
	load && return $bad
}

# Below the port, where a scan expects the first function and no other.
second_comes_back()
{
	second=$(pci_of mlx5_1)
	expect_vanishing
	echo unplug > "$VHCA_DEBUGFS/$second/function" || return 1
	[ ! -e "/sys/bus/pci/devices/$second" ] || { echo "expected that $second is gone"; return 1; }
	echo back > "$VHCA_DEBUGFS/$second/function" && wait_for "both ib_devices" both_there || return 1
	[ "$(pci_of mlx5_1)" = "$second" ] && vhca_no_violation
}

# What is loaded at the end is what was at the start.
as_before()
{
	[ ! -e $VHCA_PARAMETERS ] || rmmod mlx5_vhca || return 1
	vhca_insert && wait_for "ib_device" ibdev_there && vhca_no_violation
}

need_the_only_device
[ -r "$VHCA_MODULE" ] || skip_all "no $VHCA_MODULE: set MLX5_VHCA_KO to mlx5_vhca.ko"
vhca_remember
vhca_has_memory_for_two || skip_all "$why"
both=$((2 * bar_size >> 20))M
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

ktap_print_header
plan $((5 + $(echo "$apart $apart $loans $comings $comings remove_unbound second_comes_back second_has_no_window" | wc -w)))
run_as separate_probed on separate separate_probed
for t in $apart; do run_as "separate_$t" on separate in_c "$t"; done
for t in $comings; do run_as "separate_$t" on separate "$t"; done
# The complaint that it provokes stays with the device: it comes behind all that look for one.
run_as separate_free_under_a_foreign_key on separate in_c free_under_a_foreign_key
run_as port_probed on port port_probed
for t in $apart $loans; do run_as "port_$t" on port in_c "$t"; done
for t in $comings; do run_as "port_$t" on port "$t"; done
run_as second_comes_back on port second_comes_back
run_as port_free_under_a_foreign_key on port in_c free_under_a_foreign_key
run_as remove_unbound on port remove_unbound
run_as second_has_no_window on port second_has_no_window
run as_before
[ -z "$only" ] || as_before
ktap_finished
