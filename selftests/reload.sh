#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The virtual HCA comes and goes: under the unmodified drivers, with and without
# objects alive, and refuses what it cannot be.  After each round the device's own
# ledger says whether the driver gave everything back.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

MODULE=${MLX5_VHCA_KO:-/uobjscope/modules/mlx5_vhca.ko}
PARAMETERS=/sys/module/mlx5_vhca/parameters
ROUNDS=3

# The driver has let go: no object, no page, and nothing that no driver may do.
device_at_rest()
{
	if grep -q '^object ' "$VHCA_DEBUGFS/$pci/ledger"; then
		echo "the device still holds:"
		grep '^object ' "$VHCA_DEBUGFS/$pci/ledger"
		return 1
	fi
	grep -q '^pages held=0' "$VHCA_DEBUGFS/$pci/ledger" || {
		echo "firmware pages: expected held=0, seen $(grep '^pages ' "$VHCA_DEBUGFS/$pci/ledger")"
		return 1
	}
	no_violation
}

no_violation()
{
	if grep '^violation ' "$VHCA_DEBUGFS/$pci/violations"; then
		return 1
	fi
}

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
	no_violation
}

provider_goes_and_comes()
{
	for _ in $(seq $ROUNDS); do
		modprobe -r mlx5_ib || return 1
		wait_for "end of the ib_device" ibdev_gone || return 1
		modprobe mlx5_ib || return 1
		wait_for "ib_device" ibdev_there || return 1
	done
	no_violation
}

drivers_unload()
{
	modprobe -r mlx5_ib && modprobe -r mlx5_core || return 1
	device_at_rest || return 1
	modprobe mlx5_ib || return 1
	wait_for "ib_device" ibdev_there && no_violation
}

remove_and_insert()
{
	for _ in $(seq $ROUNDS); do
		rmmod mlx5_vhca || return 1
		[ ! -e "/sys/bus/pci/devices/$pci" ] || { echo "the function is still there"; return 1; }
		[ ! -e $VHCA_DEBUGFS ] || { echo "$VHCA_DEBUGFS is still there"; return 1; }
		insert || return 1
		wait_for "ib_device" ibdev_there || return 1
	done
	no_violation
}

insert()	# PARAMETER=VALUE...: with what it had, and these
{
	# shellcheck disable=SC2086
	insmod "$MODULE" $had "$@"
}

open_file_keeps_the_module()
{
	exec 8< "$VHCA_DEBUGFS/$pci/ledger"
	if rmmod mlx5_vhca 2>/dev/null; then
		echo "the module went while its ledger was open"
		exec 8<&-
		insert
		return 1
	fi
	exec 8<&-
	rmmod mlx5_vhca && insert && wait_for "ib_device" ibdev_there
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
	wait_for "ib_device" ibdev_there && no_violation
}

remove_with_objects()
{
	with_objects rmmod mlx5_vhca || { insert; return 1; }
	insert && wait_for "ib_device" ibdev_there && no_violation
}

# refuse PARAMETER=VALUE: not loaded, and one line in the kernel log names the parameter.
refuse()
{
	before=$(dmesg | grep -c 'mlx5_vhca: ')
	if insert "$1" 2>/dev/null; then
		echo "loaded with $1"
		rmmod mlx5_vhca
		return 1
	fi
	said=$(dmesg | grep 'mlx5_vhca: ' | tail -n +$((before + 1)))
	if [ "$(echo "$said" | wc -l)" != 1 ] || ! echo "$said" | grep -q "${1%%=*}"; then
		echo "$1: expected one line that names ${1%%=*}, seen: $said"
		return 1
	fi
}

wrong_parameters()
{
	rmmod mlx5_vhca || return 1
	expect 'mlx5_vhca: parameter [a-z_]+: got '
	expect 'mlx5_vhca: .* is System RAM: boot with memmap='
	bad=0
	for p in bar_phys=0x12345000 bar_phys=0x10000000 bar_size=1000 domain=0 domain=65536 \
		 device_id=65536 log_var_count=20 log_var_stride=11 memic_size=4097 \
		 memic_size=2097152 msix_vectors=1 msix_vectors=100000; do
		case $p in
		# A free address that is memory of the kernel's: the window is named, not the parameter.
		bar_phys=0x10000000) refuse_memory "$p" || bad=1 ;;
		*) refuse "$p" || bad=1 ;;
		esac
	done
	insert && wait_for "ib_device" ibdev_there && return $bad
}

refuse_memory()
{
	if insert "$1" 2>/dev/null; then
		echo "loaded over the kernel's memory, $1"
		return 1
	fi
	dmesg | tail -n 3 | grep -q 'System RAM: boot with memmap=' || {
		echo "expected a line that names memmap=, seen:"
		dmesg | tail -n 3
		return 1
	}
}

# The parameters reach the device: a table of one VAR, one page of device memory.
small_device()
{
	rmmod mlx5_vhca || return 1
	bad=0
	insert log_var_count=0 memic_size=4096 || return 1
	wait_for "ib_device" ibdev_there || bad=1
	grep -q '^var .*count=1 ' "$VHCA_DEBUGFS/$pci/info" || { grep '^var ' "$VHCA_DEBUGFS/$pci/info"; bad=1; }
	grep -q '^memic .*size=4096 ' "$VHCA_DEBUGFS/$pci/info" || { grep '^memic ' "$VHCA_DEBUGFS/$pci/info"; bad=1; }
	with_objects true || bad=1
	rmmod mlx5_vhca && insert && wait_for "ib_device" ibdev_there && return $bad
}

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
[ "$(find /sys/class/infiniband -mindepth 1 | wc -l)" = 1 ] ||
	skip_all "other RDMA devices are here: this test unloads their drivers"

tests="devinfo every_command_is_known unbind_and_bind provider_goes_and_comes drivers_unload unbind_with_objects"
needing_module="remove_and_insert open_file_keeps_the_module remove_with_objects wrong_parameters small_device"
had=
for p in "$PARAMETERS"/*; do
	had="$had $(basename "$p")=$(cat "$p")"
done

ktap_print_header
ktap_set_plan "$(echo "$tests $needing_module" | wc -w)"
for t in $tests; do
	run "$t"
done
for t in $needing_module; do
	run_with "$MODULE" "set MLX5_VHCA_KO to mlx5_vhca.ko" "$t"
done
ktap_finished
