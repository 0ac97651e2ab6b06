#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The function leaves the bus, told of or not, and comes back: what the file "function" of
# the virtual HCA does, and the driver under it.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

config=/sys/bus/pci/devices/$pci/config

function_is() { [ "$(sed -n 's/^function present=//p' "$VHCA_DEBUGFS/$pci/function")" = "$1" ]; }
tell() { echo "$1" > "$VHCA_DEBUGFS/$pci/function"; }
vendor() { od -An -tx2 -N2 "$config" | tr -d ' '; }
is_gone() { [ ! -e "$config" ]; }
log_has() { log_since | grep -qE "$1"; }
works() { "$DIR/commands" rate 10 > "$w/out" 2>&1 || { cat "$w/out"; return 1; }; }

# refused ERRNO WORD
refused()
{
	said=$(tell "$2" 2>&1) &&
		{ echo "expected '$2' to be refused"; return 1; }
	case $said in *"$1"*) return 0 ;; esac
	echo "expected '$2' to be refused with '$1', seen: $said"
	return 1
}

comes_back()
{
	is_gone || { echo "expected no PCI device"; return 1; }
	tell back && wait_for "ib_device" ibdev_there || return 1
	function_is 1 && works && vhca_no_violation
}

words()
{
	expect 'mlx5_vhca: .*: function: (got|back while)'
	refused 'Invalid argument' '' && refused 'Invalid argument' nonsense &&
		refused 'Invalid argument' 'gone now' && refused 'busy' back || return 1
	function_is 1 && works
}

# Nobody is told: all that is read are ones, until the driver finds out.
gone()
{
	expect_vanishing
	log_begin
	[ "$(vendor)" = 15b3 ] || { echo "expected vendor 15b3, seen $(vendor)"; return 1; }
	tell gone && function_is 0 || return 1
	[ "$(vendor)" = ffff ] || { echo "expected vendor ffff, seen $(vendor)"; return 1; }
	[ "$(od -An -tx4 -N4 "$VHCA_DEBUGFS/$pci/memic" | tr -d ' ')" = ffffffff ] ||
		{ echo "expected device memory of ones"; return 1; }
	grep -q '^object ' "$VHCA_DEBUGFS/$pci/ledger" && { echo "expected an empty ledger"; return 1; }
	refused busy gone && refused busy back || return 1
	echo fatal 2> /dev/null > "$VHCA_DEBUGFS/$pci/health" && { echo "expected that it cannot fail"; return 1; }
	wait_for "health" log_has 'PCI slot is unavailable' || return 1
	echo 1 > "/sys/bus/pci/devices/$pci/remove" || return 1
	comes_back
}

# A slot tells of it: the drivers go, and no command is waited for.
unplugged()
{
	expect_vanishing
	began=$(cut -d . -f 1 /proc/uptime)
	tell unplug && function_is 0 || return 1
	took=$(($(cut -d . -f 1 /proc/uptime) - began))
	[ $took -lt 40 ] || { echo "expected it in less than the minute of a command, took $took s"; return 1; }
	comes_back
}

# In order, while it is there: by a rescan it would not come back.
removed()
{
	expect 'mlx5_vhca: .*: virtual HCA'
	echo 1 > "/sys/bus/pci/devices/$pci/remove" || return 1
	vhca_no_violation && comes_back
}

need_the_only_device
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
run_all "words gone unplugged removed" ""
