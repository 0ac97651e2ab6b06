#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# How much it costs to look: ratios, which hold for a slow machine as for a fast one.
# It is not run with the other tests; nothing of it fails but what cannot be measured.
#
#   BENCH_COUNTS="100 1000 5000"   how many memory regions
#   BENCH_TIMES=15                 how often each time is measured; the medians count
#   BENCH_MS=100                   how long a file is read for its mean time, each time
#   BENCH_ROUNDS=15                how often each rate is measured
#   BENCH_ROUND_MS=200             how long each time

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

MODULE=${UOBJSCOPE_KO:-$(module_file uobjscope)}
BENCH_COUNTS=${BENCH_COUNTS:-100 1000 5000}
BENCH_TIMES=${BENCH_TIMES:-15}
BENCH_MS=${BENCH_MS:-100}
BENCH_ROUNDS=${BENCH_ROUNDS:-15}
BENCH_ROUND_MS=${BENCH_ROUND_MS:-200}

# A file's mean time to be opened and read, that of a command with its start; in ns.
time_of_file() { "$DIR/many" read "$1" "$BENCH_MS" < /dev/null | sed -n 's/.*ns=//p'; }
time_of() { "$DIR/many" time 1 "$@" | sed -n 's/.*ns=//p'; }

median()	# COLUMN of $w/times
{
	cut -d ' ' -f "$1" "$w/times" | sort -n | sed -n "$(((BENCH_TIMES + 1) / 2))p"
}

# Each in turn, over and over, so that a slow spell of the machine meets all of them.
measure_objects()	# N, 0 for none: medians into $file_ns, $cat_ns, $rdma_ns, $rdma_json_ns
{
	hold_begin "$DIR/many" hold mr="$1" || return 1
	i=0
	while [ $i -lt "$BENCH_TIMES" ]; do
		echo "$(time_of_file $SCOPE_DEBUGFS/snapshot)" \
			"$(time_of cat $SCOPE_DEBUGFS/snapshot)" \
			"$(time_of rdma resource show mr)" \
			"$(time_of rdma -jj resource show mr)"
		i=$((i + 1))
	done > "$w/times"
	file_ns=$(median 1) cat_ns=$(median 2) rdma_ns=$(median 3) rdma_json_ns=$(median 4)
	there=$(rdma resource show mr | grep -c 'mrn ')
	hold_end || return 1
	[ "$(wc -w < "$w/times")" = $((4 * BENCH_TIMES)) ] || { echo "not measured"; return 1; }
	[ "$there" = "$1" ] || { echo "expected $1 regions, rdma resource show mr has $there"; return 1; }
}

# What each costs without objects is the start of a program, and not counted.
objects()
{
	measure_objects 0 || return 1
	file0=$file_ns cat0=$cat_ns rdma0=$rdma_ns json0=$rdma_json_ns
	echo "without objects, us: snapshot $((file0 / 1000)), cat snapshot $((cat0 / 1000))," \
		"rdma resource show mr $((rdma0 / 1000)), rdma -jj $((json0 / 1000))"
	figure snapshot-of-none "$file0" ns \
		"$(awk -v a="$file0" -v b="$rdma0" 'BEGIN { printf "%.4f", a / b }')" \
		"rdma resource show mr, a process"
	for n in $BENCH_COUNTS; do
		if ! measure_objects "$n"; then
			echo "$n objects are too many here"
			continue
		fi
		awk -v n="$n" -v file=$((file_ns - file0)) -v rdma=$((rdma_ns - rdma0)) \
			-v json=$((rdma_json_ns - json0)) -v cat="$cat_ns" -v gross="$rdma_ns" '
		BEGIN {
			printf "objects %d, ns an object: snapshot %.0f, rdma resource show mr %.0f, rdma -jj %.0f\n",
				n, file / n, rdma / n, json / n
			printf "objects %d, ratio with the start of cat and of rdma %.4f\n", n, cat / gross
			printf "figure snapshot-of-%d-objects value=%.0f unit=ns-an-object", n, file / n
			if (rdma > 0)
				printf " ratio=%.4f peer=rdma resource show mr", file / rdma
			print ""
		}'
	done
}

# What the other CPU costs by itself is in the ratios to it; see observe_rates.c.
rates()
{
	"$DIR/observe_rates" "$BENCH_ROUNDS" "$BENCH_ROUND_MS" $SCOPE_DEBUGFS/snapshot \
		$SCOPE_DEBUGFS/fds > "$w/rates" || return 1
	sed '/^figure/!s/^/VARs allocated and freed a second, /' "$w/rates"
	[ "$(grep -c 'rate [1-9]' "$w/rates")" = 5 ] || { echo "not all were measured"; return 1; }
}

holds()
{
	grep '^lock ' $SCOPE_DEBUGFS/info | while read -r _ name held; do
		figure "longest-hold-of-${name#name=}" "${held#max_held_ns=}" ns
	done
	grep -q '^lock .*max_held_ns=[1-9]' $SCOPE_DEBUGFS/info || { echo "no lock was ever held"; return 1; }
}

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -d $SCOPE_DEBUGFS ] || skip_all "no $SCOPE_DEBUGFS: load uobjscope.ko"
ibdev_there || skip_all "no RDMA device: load mlx5_vhca.ko"
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
# So that the longest hold is one of these measurements.
if [ -r "$MODULE" ]; then
	rmmod uobjscope && insmod "$MODULE"
fi

ktap_print_header
plan 3
print_all objects
print_all rates
print_all holds
ktap_finished
