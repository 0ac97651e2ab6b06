#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Known faults that the virtual HCA needs some time to show, see known_issues; in a guest of
# their own, as the driver does not come back.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

TIMEOUT_MS=3000

# So long the driver may take for what takes it ten seconds.
PATIENCE=40

health_is() { grep -q " condition=$1 " "$VHCA_DEBUGFS/$pci/health"; }

recovers()
{
	for _ in $(seq $PATIENCE); do
		health_is healthy && return 0
		sleep 1
	done
	echo "expected a recovery within $PATIENCE s, seen:"
	cat "$VHCA_DEBUGFS/$pci/health"
	return 1
}

# L37: a command that the driver has given up, and then a fatal error of the device: it is
# reset, and recovers.  If it does not, whoever takes the driver away waits for ever.
l37_flush_without_end()
{
	expect 'mlx5_core .*: '
	expect 'mlx5_vhca: .*: (fatal error|reset, as)'
	expect 'infiniband .*: '
	rmmod mlx5_vhca && vhca_insert cmd_timeout_ms=$TIMEOUT_MS && wait_for "ib_device" ibdev_there ||
		return 1
	echo 'opcode=ALLOC_PD no_answer status=internal_error' > "$VHCA_DEBUGFS/$pci/faults" || return 1
	"$DIR/commands" rate 1 && { echo "expected that the command is given up"; return 1; }
	echo fatal > "$VHCA_DEBUGFS/$pci/health" || return 1
	recovers && return 0
	echo "$pci" > "$driver/unbind"
	return 1
}

# L38: a hot-plug slot tells that the device is gone, while a process has a region.  The
# drivers go, the process can end, and the next device is as good.
l38_unplugged_with_region()
{
	expect 'mlx5_core .*: '
	expect 'mlx5_vhca: .*: leaves the bus'
	expect 'infiniband .*: '
	w=$(mktemp -d)
	mkfifo "$w/in" || return 1
	"$DIR/hold" < "$w/in" > "$w/out" &
	exec 3> "$w/in"
	wait_for "region" grep -q ready "$w/out" || return 1
	echo unplug > "$VHCA_DEBUGFS/$pci/function" || return 1
	exec 3>&-
	wait
	rm -rf "$w"
	echo back > "$VHCA_DEBUGFS/$pci/function" && wait_for "ib_device" ibdev_there &&
		"$DIR/commands" rate 10 && vhca_no_violation
}

need_the_only_device
vhca_remember

needing_module="l38_unplugged_with_region l37_flush_without_end"
run_all "" "$needing_module"
