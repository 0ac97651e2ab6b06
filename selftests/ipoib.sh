#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# IPoIB over the virtual HCA: a client of the driver's that lives in the kernel, with the
# subnet manager that answers it.  A second interface of the same port, in a network namespace
# of its own, is who it talks to.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

NAMESPACE=uobjscope-ipoib
MODULE=ib_ipoib

interface() { find "/sys/bus/pci/devices/$pci/net" -mindepth 1 -maxdepth 1 2> /dev/null | head -n 1; }
has_interface() { [ -n "$(interface)" ]; }
is_up() { [ "$(cat "$(interface)/operstate")" = up ]; }
in_groups() { grep -q ' kind=qp .* groups=' "$VHCA_DEBUGFS/$pci/ledger"; }
in_no_group() { ! in_groups; }

load()
{
	modprobe $MODULE && wait_for "network interface" has_interface || return 1
	name=$(basename "$(interface)")
}

unload() { rmmod $MODULE; }

up() { ip link set "$name" up && wait_for "interface that is up" is_up; }

# It is up when it has joined the broadcast group, which the subnet manager has to answer.
joins()
{
	load || return 1
	bad=0
	in_no_group || { echo "expected no queue pair in a group"; bad=1; }
	up || bad=1
	in_groups || { echo "expected a queue pair in a group"; bad=1; }
	ip link set "$name" down || bad=1
	wait_for "leaving all groups" in_no_group || bad=1
	unload || bad=1
	vhca_ends_as "$w/before" || bad=1
	vhca_no_violation && return $bad
}

peer()		# ip netns exec
{
	ip netns add $NAMESPACE && ip link add link "$name" name "$name.1" type ipoib &&
		ip link set "$name.1" netns $NAMESPACE &&
		ip netns exec $NAMESPACE ip link set "$name.1" up &&
		ip netns exec $NAMESPACE ip addr add 192.0.2.2/24 dev "$name.1" &&
		ip addr add 192.0.2.1/24 dev "$name"
}

# A broadcast asks where the other one is, the subnet manager where its port is.
talks()
{
	load || return 1
	bad=0
	up && peer && ping -c 3 -w 30 -q 192.0.2.2 && ping -c 1 -w 30 -q -s 3000 192.0.2.2 || bad=1
	ip netns del $NAMESPACE
	unload || bad=1
	vhca_ends_as "$w/before" || bad=1
	vhca_no_violation && return $bad
}

# The device goes under it while it is in its groups, and comes back.
unbound()
{
	load || return 1
	bad=0
	up || bad=1
	unbind || bad=1
	grep '^object ' "$VHCA_DEBUGFS/$pci/ledger" && { echo "expected an empty ledger"; bad=1; }
	bind && wait_for "network interface" has_interface && up || bad=1
	unload || bad=1
	vhca_no_violation && return $bad
}

need_the_only_device
[ ! -d /sys/module/$MODULE ] || skip_all "$MODULE is in use: unload it"
[ -n "$listing" ] || modprobe -n -q $MODULE ||
	skip_all "no $MODULE: build the kernel with CONFIG_INFINIBAND_IPOIB"
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
# What loads with it, and stays, has its own objects.
[ -n "$listing" ] || { load && unload && vhca_objects > "$w/before"; }

run_all "joins talks unbound" ""
