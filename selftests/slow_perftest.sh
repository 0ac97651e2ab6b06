#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The programs of perftest, which nobody has written for this device: between two of them,
# and from one to itself.  Afterwards nothing of theirs may be left.  Only run when it is
# asked for by name; needs perftest, see make perftest.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

PORT=18515
programs="ib_write_bw ib_read_bw ib_send_bw ib_atomic_bw ib_write_lat ib_read_lat ib_send_lat
ib_atomic_lat"

# In the ledgers of both, but for the keys that the driver keeps for the next region.
objects()
{
	cat $VHCA_DEBUGFS/*/ledger | grep '^object ' | grep -v ' kind=mkey .* free=1 ' | sort
}

# A line for the one size, of so many rounds or, of several queue pairs, more.  How long they
# took is no verdict: where the processor's clock is not steady the program knows no time, and
# says 0.
told()		# FILE ROUNDS
{
	[ "$(awk -v rounds="$2" '$1 ~ /^[0-9]+$/ && $2 >= rounds { n++ } END { print n + 0 }' "$1")" = 1 ] ||
		{ cat "$1"; echo "expected one line of $2 rounds or more"; return 1; }
}

# between SERVER CLIENT ROUNDS PROGRAM OPTION...
between()
{
	server=$1 client=$2 rounds=$3 program=$4
	shift 4
	set -- "$program" -F -p $PORT -n "$rounds" "$@"
	objects > "$w/before"
	"$@" -d "$server" > "$w/server" 2>&1 &
	pid=$!
	wait_for "listening server" listens || { kill $pid; cat "$w/server"; return 1; }
	timeout 200 "$@" -d "$client" 127.0.0.1 > "$w/client" 2>&1 || {
		status=$?
		kill $pid
		cat "$w/server" "$w/client"
		echo "$* on $client: status $status"
		return 1
	}
	wait $pid || { status=$?; cat "$w/server"; echo "$* on $server: status $status"; return 1; }
	told "$w/client" "$rounds" || return 1
	wait_for "end of what they had" as_before || { diff "$w/before" "$w/after"; return 1; }
	[ "$(grep -c '^ufile ' $SCOPE_DEBUGFS/snapshot)" = 0 ] ||
		{ echo "expected no ufile in the snapshot"; return 1; }
	vhca_no_violation
}

listens() { grep -q ":$(printf %04X $PORT) 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; }
as_before() { objects > "$w/after"; cmp -s "$w/before" "$w/after"; }

# From the second device to the first.
apart() { between mlx5_0 mlx5_1 200 "$@"; }

unreliable() { apart ib_send_lat -c UD; }
to_itself() { between mlx5_0 mlx5_0 200 ib_write_bw; }
many_queue_pairs() { apart ib_write_bw -q 8; }
events() { apart ib_send_bw -e; }
both_ways() { apart ib_send_bw -b; }
large() { between mlx5_0 mlx5_1 20 ib_read_bw -s 4194304; }

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
command -v ib_write_bw > /dev/null || skip_all "no ib_write_bw: install perftest, or run make perftest"
[ "$(find $VHCA_DEBUGFS -mindepth 1 -maxdepth 1 | wc -l)" = 2 ] ||
	skip_all "not two virtual HCAs: load mlx5_vhca.ko with hcas=2, or run make perftest"
ip link set lo up
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
# The driver makes a queue pair for itself when it first registers memory.
[ -n "$listing" ] || apart ib_write_bw > /dev/null 2>&1

ktap_print_header
others="unreliable to_itself many_queue_pairs events both_ways large"
plan "$(echo "$programs" "$others" | wc -w)"
for t in $programs; do
	run_as "$t" apart "$t"
done
for t in $others; do
	run "$t"
done
ktap_finished
