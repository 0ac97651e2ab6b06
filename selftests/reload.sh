#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The virtual HCA comes and goes: under the unmodified drivers, with and without
# objects alive, and refuses what it cannot be.  After each round the device's own
# ledger says whether the driver gave everything back.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

ROUNDS=3

# The driver has let go: no object, no page, and nothing that no driver may do.
device_at_rest() { vhca_is_at_rest "$pci" && vhca_no_violation; }

devinfo()
{
	out=$(ibv_devinfo -v) || { echo "ibv_devinfo -v: status $?"; return 1; }
	for expected in 'vendor_id:.*0x02c9' 'state:.*PORT_ACTIVE' 'max_mr_size:'; do
		echo "$out" | grep -q "$expected" || { echo "expected $expected in:"; echo "$out"; return 1; }
	done
	used=$(basename "$(readlink "/sys/bus/pci/devices/$pci/driver")")
	[ "$used" = mlx5_core ] || { echo "expected the driver mlx5_core, seen $used"; return 1; }
}

every_command_is_known()
{
	if grep 'known=0' "$VHCA_DEBUGFS/$pci/commands"; then
		return 1
	fi
}

unbind_and_bind()
{
	for _ in $(seq $ROUNDS); do
		echo "$pci" > $driver/unbind || return 1
		wait_for "end of the ib_device" ibdev_gone && device_at_rest || return 1
		echo "$pci" > $driver/bind || return 1
		wait_for "ib_device" ibdev_there || return 1
	done
	vhca_no_violation
}

provider_goes_and_comes()
{
	for _ in $(seq $ROUNDS); do
		modprobe -r mlx5_ib || return 1
		wait_for "end of the ib_device" ibdev_gone || return 1
		modprobe mlx5_ib || return 1
		wait_for "ib_device" ibdev_there || return 1
	done
	vhca_no_violation
}

drivers_unload()
{
	modprobe -r mlx5_ib && modprobe -r mlx5_core || return 1
	device_at_rest || return 1
	modprobe mlx5_ib || return 1
	wait_for "ib_device" ibdev_there && vhca_no_violation
}

remove_and_insert()
{
	for _ in $(seq $ROUNDS); do
		rmmod mlx5_vhca || return 1
		[ ! -e "/sys/bus/pci/devices/$pci" ] || { echo "the function is still there"; return 1; }
		[ ! -e $VHCA_DEBUGFS ] || { echo "$VHCA_DEBUGFS is still there"; return 1; }
		vhca_insert || return 1
		wait_for "ib_device" ibdev_there || return 1
	done
	vhca_no_violation
}

open_file_keeps_the_module()
{
	exec 8< "$VHCA_DEBUGFS/$pci/ledger"
	if rmmod mlx5_vhca 2>/dev/null; then
		echo "the module went while its ledger was open"
		exec 8<&-
		vhca_insert
		return 1
	fi
	exec 8<&-
	rmmod mlx5_vhca && vhca_insert && wait_for "ib_device" ibdev_there
}

# with_objects COMMAND...: what it does must work while a process holds a VAR that is
# mapped, device memory and a region on it; the process must then live and end well.
with_objects()
{
	hold_begin "$DIR/hold" || return 1
	"$@" 9>&-
	done=$?
	hold_end || return 1
	return $done
}

unbind_only()
{
	echo "$pci" > $driver/unbind && device_at_rest
}

unbind_with_objects()
{
	with_objects unbind_only || { echo "$pci" > $driver/bind; return 1; }
	device_at_rest || return 1
	echo "$pci" > $driver/bind
	wait_for "ib_device" ibdev_there && vhca_no_violation
}

remove_with_objects()
{
	expect_kept
	with_objects rmmod mlx5_vhca || { vhca_insert; return 1; }
	vhca_insert && wait_for "ib_device" ibdev_there && vhca_no_violation
}

wrong_parameters()
{
	rmmod mlx5_vhca || return 1
	expect 'mlx5_vhca: parameter [a-z_]+: got '
	bad=0
	for p in bar_phys=0x12345000 bar_size=1000 hcas=0 hcas=3 topology=ring domain=0 domain=65536 \
		 device_id=65536 log_var_count=20 log_var_stride=11 memic_size=4097 \
		 memic_size=2097152 msix_vectors=1 msix_vectors=100000 \
		 cmd_timeout_ms=99 cmd_timeout_ms=600001; do
		vhca_refuses "parameter ${p%%=*}: got " "$p" || bad=1
	done
	# Each is good by itself.
	vhca_refuses 'parameter domain: got ' hcas=2 domain=65535 || bad=1
	vhca_refuses 'parameter bar_phys: got ' bar_size=$((256 << 20)) bar_phys=$((128 << 20)) || bad=1
	vhca_insert && wait_for "ib_device" ibdev_there && return $bad
}

# The line says what to boot with: the kernel's own memory, and what is not memory at all.
wrong_window()
{
	rmmod mlx5_vhca || return 1
	expect 'mlx5_vhca: .* boot with memmap='
	bad=0
	vhca_refuses 'is System RAM: boot with memmap=64M[$]0x10000000' bar_phys=0x10000000 || bad=1
	vhca_refuses 'is System RAM: boot with memmap=128M[$]0x10000000' hcas=2 bar_phys=0x10000000 ||
		bad=1
	vhca_refuses '(is not reserved|is in use .*): boot with memmap=64M' bar_phys=$hole || bad=1
	vhca_insert && wait_for "ib_device" ibdev_there && return $bad
}

# An address far beyond all RAM, where no device is either.
hole=0x8000000000

# The parameters reach the device: a table of one VAR, one page of device memory.
small_device()
{
	rmmod mlx5_vhca || return 1
	bad=0
	vhca_insert log_var_count=0 memic_size=4096 || return 1
	wait_for "ib_device" ibdev_there || bad=1
	grep -q '^var .*count=1 ' "$VHCA_DEBUGFS/$pci/info" || { grep '^var ' "$VHCA_DEBUGFS/$pci/info"; bad=1; }
	grep -q '^memic .*size=4096 ' "$VHCA_DEBUGFS/$pci/info" || { grep '^memic ' "$VHCA_DEBUGFS/$pci/info"; bad=1; }
	with_objects true || bad=1
	rmmod mlx5_vhca && vhca_insert && wait_for "ib_device" ibdev_there && return $bad
}

need_the_only_device

tests="devinfo every_command_is_known unbind_and_bind provider_goes_and_comes drivers_unload unbind_with_objects"
needing_module="remove_and_insert open_file_keeps_the_module remove_with_objects wrong_parameters wrong_window small_device"
vhca_remember

run_all "$tests" "$needing_module"
