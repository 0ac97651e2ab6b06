#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What the lifetime events cost: the rate of allocating and freeing VARs with their probes
# not registered, registered with the events off, with the events on, and with the stacks of
# births as well, beside dynamic fprobe events on the same functions.  Ratios, which hold for
# a slow machine as for a fast one.
# It is not run with the other tests; nothing of it fails but what cannot be measured.
#
#   BENCH_ROUNDS=5       how often each rate is measured
#   BENCH_ROUND_MS=300   how long each time

DIR=$(cd "$(dirname "$0")" && pwd)
TRACEFS=/sys/kernel/tracing
INSTANCE=$TRACEFS/instances/uobjscope_bench
SWITCH=/sys/kernel/debug/uobjscope/trace

# The births of an allocation, as "uobjscope leaks" wants their stacks.
BIRTHS="uobject_commit mmap_entry_insert"

stacks()	# stacktrace, or !stacktrace
{
	for e in $BIRTHS; do
		echo "$1" > $INSTANCE/events/uobjscope/"$e"/trigger || return 1
	done
}

# The script brings the kernel into a state, for event_rates.
enter()
{
	echo 0 > $INSTANCE/events/uobjscope/enable
	[ ! -e $INSTANCE/events/fprobes ] || echo 0 > $INSTANCE/events/fprobes/enable
	if grep -q '^stacktrace' $INSTANCE/events/uobjscope/uobject_commit/trigger; then
		stacks '!stacktrace' || return 1
	fi
	case $1 in
	unregistered) echo 0 > $SWITCH ;;
	registered) echo 1 > $SWITCH ;;
	on) echo 1 > $SWITCH && echo 1 > $INSTANCE/events/uobjscope/enable ;;
	stacks) enter on && stacks stacktrace ;;
	fprobe-events) echo 0 > $SWITCH && echo 1 > $INSTANCE/events/fprobes/enable ;;
	esac
}

if [ "$1" = --enter ]; then
	enter "$2"
	exit
fi

# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

BENCH_ROUNDS=${BENCH_ROUNDS:-5}
BENCH_ROUND_MS=${BENCH_ROUND_MS:-300}

# As much of the arguments as the events tell: four values.
WORDS="a=\$arg1:x64 b=+8(\$arg1):x64 c=+16(\$arg1):x64 d=+24(\$arg1):x32"

# At which end of which functions an allocation and a free make events of ours; void where
# there is no value to tell at the end.
make_fprobe_events()
{
	while read -r symbol end; do
		case $end in
		begin) event="f:fprobes/$symbol $symbol $WORDS" ;;
		end) event="f:fprobes/${symbol}_end $symbol%return ret=\$retval:x64" ;;
		void) event="f:fprobes/${symbol}_end $symbol%return" ;;
		esac
		if ! echo "$event" >> $TRACEFS/dynamic_events; then
			echo "$event: refused:"
			cat $TRACEFS/error_log
			return 1
		fi
	done << LIST
rdma_alloc_begin_uobject end
rdma_user_mmap_entry_insert_range end
alloc_commit_idr_uobject begin
uverbs_destroy_uobject begin
uverbs_destroy_uobject end
rdma_user_mmap_entry_remove begin
rdma_user_mmap_entry_remove void
rdma_user_mmap_entry_free begin
mlx5_ib_mmap_free void
kvfree_call_rcu begin
LIST
}

states()
{
	set -- "$BENCH_ROUNDS" "$BENCH_ROUND_MS"
	make_fprobe_events || return 1
	for s in unregistered registered on stacks fprobe-events; do
		set -- "$@" $s "$0 --enter $s"
	done
	"$DIR/event_rates" "$@" > "$w/rates" || { cat "$w/rates"; return 1; }
	cat "$w/rates"
}

# All of them are there: as many as VARs were made in a second, or said to be lost.
loss()
{
	enter on
	: > $INSTANCE/trace
	echo 16384 > $INSTANCE/buffer_size_kb
	"$DIR/many" walk 1000 var > "$w/walk" || return 1
	lost=$(sed -n 's/^overrun: //p' $INSTANCE/per_cpu/cpu*/stats | awk '{ n += $1 } END { print n }')
	entries=$(sed -n 's/^entries: //p' $INSTANCE/per_cpu/cpu*/stats | awk '{ n += $1 } END { print n }')
	missed=$(sed -n 's/.*missed=\([0-9]*\).*/\1/p' $SCOPE_DEBUGFS/events | awk '{ n += $1 } END { print n }')
	figure events-kept "$entries" a-second
	figure events-lost-by-the-buffers "$lost" a-second
	figure calls-missed-by-the-probes "$missed" a-second
	[ "$entries" -gt 0 ]
}

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -e $SWITCH ] || skip_all "no $SWITCH: load uobjscope.ko"
[ -d $TRACEFS/instances ] || skip_all "no $TRACEFS: mount -t tracefs none $TRACEFS"
ibdev_there || skip_all "no RDMA device: load mlx5_vhca.ko"
w=$(mktemp -d)
mkdir -p $INSTANCE
had=$(cat $SWITCH)
clean()
{
	enter unregistered
	rmdir $INSTANCE
	sed -n 's,^f[0-9]*:\(fprobes/[^ ]*\).*,-:\1,p' $TRACEFS/dynamic_events > "$w/remove"
	while read -r e; do
		echo "$e" >> $TRACEFS/dynamic_events
	done < "$w/remove"
	echo "$had" > $SWITCH
	rm -rf "$w"
}
trap clean EXIT

ktap_print_header
plan 2
print_all states
print_all loss
ktap_finished
