#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The programs of perftest and of rdmacm-utils, which nobody has written for this device:
# between two of them, and from one to itself.  Afterwards nothing of theirs may be left.
# Only run when it is asked for by name; needs perftest, see make perftest.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

PORT=18515
NAMESPACE=uobjscope-perftest
inside="ip netns exec $NAMESPACE"
ADDRESS=192.0.2.1
OTHER_ADDRESS=192.0.2.2
GROUP=239.1.2.3
programs="ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw ib_write_lat ib_read_lat ib_send_lat
ib_atomic_lat"

# A line for the one size, of so many rounds or, of several queue pairs, more.  How long they
# took is no verdict: where the processor's clock is not steady the program knows no time, and
# says 0.
told()		# FILE ROUNDS
{
	[ "$(awk -v rounds="$2" '$1 ~ /^[0-9]+$/ && $2 >= rounds { n++ } END { print n + 0 }' "$1")" = 1 ] ||
		{ cat "$1"; echo "expected one line of $2 rounds or more"; return 1; }
}

# pair LISTENS SERVER CLIENT: two commands, the second one when the first listens; and the end
# of all that they had.
pair()
{
	vhca_objects > "$w/before"
	# shellcheck disable=SC2086
	timeout 300 $2 > "$w/server" 2>&1 &
	pid=$!
	wait_for "listening server" "$1" || { kill $pid; cat "$w/server"; return 1; }
	# shellcheck disable=SC2086
	timeout 200 $3 > "$w/client" 2>&1 || {
		status=$?
		kill $pid
		cat "$w/server" "$w/client"
		echo "$3: status $status"
		return 1
	}
	wait $pid || { status=$?; cat "$w/server"; echo "$2: status $status"; return 1; }
	vhca_ends_as "$w/before" || return 1
	[ "$(grep -c '^ufile ' $SCOPE_DEBUGFS/snapshot)" = 0 ] ||
		{ echo "expected no ufile in the snapshot"; return 1; }
	vhca_no_violation
}

listens() { grep -q ":$(printf %04X $PORT) 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; }

# between SERVER CLIENT ROUNDS PROGRAM OPTION...
between()
{
	server=$1 client=$2 rounds=$3
	shift 3
	command="$* -F -p $PORT -n $rounds"
	pair listens "$command -d $server" "$command -d $client 127.0.0.1" && told "$w/client" "$rounds"
}

# From the second device to the first.
apart() { between mlx5_0 mlx5_1 200 "$@"; }

unreliable() { apart ib_send_lat -c UD; }
to_itself() { between mlx5_0 mlx5_0 200 ib_write_bw; }
many_queue_pairs() { apart ib_write_bw -q 8; }
events() { apart ib_send_bw -e; }
both_ways() { apart ib_send_bw -b; }
large() { between mlx5_0 mlx5_1 20 ib_read_bw -s 4194304; }

# The connection manager wants an address on each port, which IPoIB gives.  Two interfaces of
# one machine talk to each other by loopback only, so the first is in a namespace of its own.
interface() { ls "/sys/class/infiniband/$1/device/net" 2> /dev/null; }
has_interfaces() { [ -n "$(interface mlx5_0)" ] && [ -n "$(interface mlx5_1)" ]; }
are_up() { $inside ip link show up type ipoib | grep -q LOWER_UP && [ "$(cat "/sys/class/net/$2/operstate")" = up ]; }

network()
{
	[ ! -e "$w/network" ] || return 0
	modprobe -a -q ib_ipoib rdma_ucm || {
		echo "no ib_ipoib or no rdma_ucm: build the kernel with both"
		exit "$KSFT_SKIP"
	}
	wait_for "network interfaces" has_interfaces || return 1
	set -- "$(interface mlx5_0)" "$(interface mlx5_1)"
	ip netns add $NAMESPACE && ip link set "$1" netns $NAMESPACE && $inside ip link set lo up &&
		$inside ip link set "$1" up && $inside ip addr add $ADDRESS/24 dev "$1" &&
		ip link set "$2" up && ip addr add $OTHER_ADDRESS/24 dev "$2" &&
		wait_for "interfaces that are up" are_up "$1" "$2" &&
		ping -c 1 -w 30 -q $ADDRESS > /dev/null && touch "$w/network"
}

no_network()
{
	[ -n "$listing" ] || [ ! -e "$w/network" ] || { rmmod ib_ipoib; ip netns del $NAMESPACE; }
	rm -rf "$w"
}

manager_listens() { rdma resource show cm_id | grep -q LISTEN; }

# managed SERVER CLIENT: from the second device to the first, by the connection manager
managed() { network && pair manager_listens "$inside $1" "$2"; }

# said FILE NUMBER TEXT: in so many lines
said()
{
	[ "$(grep -c "$3" "$1")" = "$2" ] || { cat "$1"; echo "expected $2 lines of '$3'"; return 1; }
}

rping()
{
	managed "rping -s -a $ADDRESS -C 20 -V" "rping -c -a $ADDRESS -C 20 -V -v" &&
		said "$w/client" 20 'ping data: '
}

managed_program()	# PROGRAM
{
	command="$1 -R -F -p $PORT -n 200"
	managed "$command" "$command $ADDRESS" && told "$w/client" 200
}

datagrams()
{
	managed "udaddy -b $ADDRESS -C 20" "udaddy -b $OTHER_ADDRESS -s $ADDRESS -C 20" &&
		said "$w/client" 1 'return status 0' && said "$w/server" 1 'return status 0'
}

sockets()
{
	managed "rstream -S 65536 -I 2 -C 10 -T v" \
		"rstream -s $ADDRESS -S 65536 -I 2 -C 10 -T v" && said "$w/client" 1 '^custom  *64k '
}

members() { grep -c ' kind=qp .* groups='; }
has_member() { [ "$(vhca_objects | members)" -gt "$(members < "$w/before")" ]; }

multicast()
{
	network && pair has_member "$inside mckey -b $ADDRESS -m $GROUP -C 20" \
		"mckey -b $OTHER_ADDRESS -m $GROUP -s -C 20" && said "$w/server" 1 'return status 0'
}

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
command -v ib_write_bw > /dev/null || skip_all "no ib_write_bw: install perftest, or run make perftest"
[ "$(find $VHCA_DEBUGFS -mindepth 1 -maxdepth 1 | wc -l)" = 2 ] ||
	skip_all "not two virtual HCAs: load mlx5_vhca.ko with hcas=2, or run make perftest"
ip link set lo up
w=$(mktemp -d)
trap no_network EXIT
# The driver makes a queue pair for itself when it first registers memory.
[ -n "$listing" ] || apart ib_write_bw > /dev/null 2>&1

ktap_print_header
others="unreliable to_itself many_queue_pairs events both_ways large"
managed_programs="ib_write_bw ib_send_lat"
managed_others="rping datagrams sockets multicast"
plan "$(echo "$programs" "$others" "$managed_programs" "$managed_others" | wc -w)"
for t in $programs; do
	run_as "$t" apart "$t"
done
for t in $others; do
	run "$t"
done
for t in $managed_programs; do
	run_as "managed_$t" managed_program "$t"
done
for t in $managed_others; do
	run "$t"
done
ktap_finished
