#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The virtual HCA is taken away while it misbehaves, and misbehaves in other forms than
# the usual one.  Each test begins and ends with the device as it was loaded.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

of_file()	# FILE KEY
{
	tr ' ' '\n' < "$VHCA_DEBUGFS/$pci/$1" | sed -n "s/^$2=//p" | head -n 1
}

insert() { vhca_insert "$@" && wait_for "ib_device" ibdev_there; }

expect_recovery()
{
	expect 'mlx5_vhca: .*: (fatal error, syndrome 0x[0-9a-f]+: |reset, as )'
	expect 'mlx5_core .*: (poll_health|print_health_info|mlx5_health_try_recover):'
	expect 'mlx5_core .*: (mlx5_handle_bad_state|mlx5_error_sw_reset|mlx5_pci_slot_reset):'
	expect 'mlx5_core .*: (reset_fw_if_needed|lock_sem_sw_reset|mlx5_cmd_out_err):'
	expect 'mlx5_core .*: (mlx5_pci_slot_reset Device state|wait vital counter value)'
	expect 'mlx5_core .*: health recovery succeeded'
	expect 'mlx5_core .*: (mlx5_crdump_collect|mlx5_fw_fatal_reporter_dump|mlx5_vsc):'
}

condition_is() { [ "$(of_file health condition)" = "$1" ]; }

recovered()
{
	# The driver looks for the error every two to three seconds.
	for _ in 1 2 3 4 5 6; do
		wait_for "recovery" eval 'condition_is healthy && ibdev_there' > /dev/null && break
	done
	if ! condition_is healthy || ! ibdev_there; then
		echo "not recovered: $(cat "$VHCA_DEBUGFS/$pci/health")"
		return 1
	fi
	"$DIR/commands" rate 10 && vhca_no_violation
}

# mlx5_core recovers by itself only once in half a minute, and unloads else; a new
# binding makes it forget.
fail()		# WORD...: the device fails
{
	expect_recovery
	unbind && bind || return 1
	echo "fatal $*" > "$VHCA_DEBUGFS/$pci/health" || return 1
	[ "$(of_file health condition)" != healthy ]
}

# A virtual function waits for somebody else to reset the device.
twice()
{
	before=$(of_file health failures)
	for syndrome in 1 0x10; do
		fail syndrome=$syndrome && wait_for "reset" condition_is reset && recovered ||
			return 1
	done
	[ "$(of_file health failures)" = $((before + 2)) ]
}

# A physical function's driver asks for the reset, much earlier than the device does it.
physical_function()
{
	expect 'mlx5_core .*: (mlx5_pci_vsc_init|mlx5_hwmon_dev_register|Failed to get valid vendor specific ID)'
	expect 'mlx5_core .*: mlx5_wait_for_pages'
	expect 'mlx5_core .*: [0-9.]+ Gb/s available PCIe bandwidth'
	rmmod mlx5_vhca && insert device_id=0x1021 || return 1
	bad=0
	fail && wait_for "reset" condition_is reset && recovered || bad=1
	dmesg | grep 'mlx5_vhca: ' | tail -n 1 | grep -q 'reset, as the driver asks for it' ||
		{ echo "expected a reset at the driver's request, seen:"; dmesg | tail -n 20; bad=1; }
	rmmod mlx5_vhca && insert && return $bad
}

# By the PCI core, under the driver and with objects alive: nobody tells the driver, which
# finds an interface that is disabled.  What the process has left is freed with its errors.
function_level_reset()
{
	expect_recovery
	expect 'infiniband .*: mlx5r_umr_'
	expect 'mlx5_core .*: (resetting|reset done)'
	grep -qw flr "/sys/bus/pci/devices/$pci/reset_method" ||
		{ echo "expected flr in reset_method: $(cat "/sys/bus/pci/devices/$pci/reset_method")"; return 1; }
	unbind && bind || return 1
	before=$(of_file health failures)
	log_begin
	hold_begin "$DIR/hold" || return 1
	bad=0
	echo 1 > "/sys/bus/pci/devices/$pci/reset" || bad=1
	condition_is reset || { echo "expected condition=reset: $(cat "$VHCA_DEBUGFS/$pci/health")"; bad=1; }
	grep '^object ' "$VHCA_DEBUGFS/$pci/ledger" && { echo "expected that to be forgotten"; bad=1; }
	log_since | grep -q 'mlx5_vhca: .*: reset, as its function is' ||
		{ echo "expected a line that tells of the reset"; bad=1; }
	# The driver loses what it had; the process must be able to end.
	hold_end || bad=1
	recovered || bad=1
	[ "$(of_file health failures)" = "$before" ] || { echo "a reset was counted as a failure"; bad=1; }
	return $bad
}

unbind_after_fatal()
{
	expect 'mlx5_core .*: .*(Health|health|error state)'
	fail && wait_for "reset" condition_is reset && unbind || return 1
	vhca_no_violation && bind && recovered
}

# With rules set, one of which keeps a command for ten minutes: it ends at once.
remove_with_faults()
{
	printf 'opcode=ALLOC_PD nth=3 delay_ms=600000\nopcode=0xffff status=1\n' > "$VHCA_DEBUGFS/$pci/faults" ||
		return 1
	"$DIR/commands" rate 1000 > /dev/null 2>&1 &
	waiting=$!
	wait_for "delayed command" grep -q 'hits=1' "$VHCA_DEBUGFS/$pci/faults" || return 1
	rmmod mlx5_vhca || return 1
	# It loses its device, or not; but it must end.
	wait $waiting
	insert || return 1
	[ "$(grep -c '^rule ' "$VHCA_DEBUGFS/$pci/faults")" = 0 ] && vhca_no_violation
}

# TLP VARs: as many and as far from each other as the parameters say.
tlp_vars()
{
	grep -q '^tlp_var .*count=0 ' "$VHCA_DEBUGFS/$pci/info" &&
		{ echo "this kernel's driver knows no TLP VARs"; return "$KSFT_SKIP"; }
	rmmod mlx5_vhca && insert tlp_var_count=15 log_tlp_var_stride=16 log_var_count=0 || return 1
	bad=0
	grep -q '^tlp_var .*count=15 stride=65536' "$VHCA_DEBUGFS/$pci/info" || { cat "$VHCA_DEBUGFS/$pci/info"; bad=1; }
	[ "$(wc -c < "$VHCA_DEBUGFS/$pci/tlp_var")" = $((15 * 65536)) ] || { echo "wrong size of tlp_var"; bad=1; }
	"$DIR/var" -t var_11_tlp_exhaustion > "$w/out" 2>&1 || { cat "$w/out"; bad=1; }
	rmmod mlx5_vhca && insert && return $bad
}

# Nobody finds in a UAR what its last owner wrote.  A device that was loaded anew hands
# out the same pages again, and its window is the same memory.
uars_are_cleared()
{
	# Its numbers begin anew as well.
	rmmod mlx5_vhca && insert || return 1
	"$DIR/commands" uars 0x5ec2e700 > "$w/first" || { cat "$w/first"; return 1; }
	rmmod mlx5_vhca && insert || return 1
	"$DIR/commands" uars 0 > "$w/second" || { cat "$w/second"; return 1; }
	if grep -v 'seen=0x0$' "$w/second"; then
		return 1
	fi
	again=$(cut -d ' ' -f 1 "$w/first" "$w/second" | sort | uniq -d | wc -l)
	[ "$again" -ge 16 ] || { echo "expected the same pages, seen $again of them again"; return 1; }
}

# An object that names a user context which is gone: the driver takes no notice of a
# UAR that the device does not take back.
user_context_with_objects()
{
	expect 'mlx5_vhca: .*: violation: uctx_destroyed_under_object uar '
	expect 'mlx5_core .*: mlx5_cmd_out_err:.*DEALLOC_UAR'
	expect 'mlx5_vhca: .*, left behind: 1 uar'
	echo 'opcode=DEALLOC_UAR status=bad_resource_state' > "$VHCA_DEBUGFS/$pci/faults" || return 1
	hold_begin "$DIR/hold" && hold_end || return 1
	bad=0
	grep '^violation .*what=uctx_destroyed_under_object .*kind=uar' "$VHCA_DEBUGFS/$pci/violations" ||
		{ echo "expected a violation, seen:"; cat "$VHCA_DEBUGFS/$pci/violations"; bad=1; }
	rmmod mlx5_vhca && insert && return $bad
}

need_the_only_device
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

plain="twice unbind_after_fatal function_level_reset"
needing_module="uars_are_cleared user_context_with_objects physical_function remove_with_faults tlp_vars"
vhca_remember
run_all "$plain" "$needing_module"
