#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# How fast data moves through the device, as a ratio to memcpy() of the same bytes.
# It is not run with the other tests; nothing of it fails but what cannot be measured.
#
#   BENCH_MS=2000   how long each rate is measured

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

BENCH_MS=${BENCH_MS:-2000}

measure()	# QUEUE_PAIRS BYTES
{
	said=$("$DIR/data_rate" "$1" "$2" "$BENCH_MS" 2>&1)
	rc=$?
	echo "# RC write to itself: $said"
	echo "$said" | sed -n 's/.* MB_per_s=\([^ ]*\) .* ratio=\([^ ]*\)$/\1 \2/p' |
		while read -r rate ratio; do
			echo "# $(figure "write-$2-bytes-on-$1-queue-pairs" "$rate" MB-a-second \
				"$ratio" "memcpy() of the same bytes")"
		done
	if [ $rc = 0 ]; then
		ktap_test_pass "write_$2_bytes_on_$1_queue_pairs"
	else
		ktap_test_fail "write_$2_bytes_on_$1_queue_pairs"
	fi
}

[ "$(id -u)" = 0 ] || skip_all "not root"
ibdev_there || skip_all "no RDMA device: load mlx5_vhca.ko"

ktap_print_header
plan 4
measure 64 65536
measure 1 65536
measure 64 64
measure 1 64
ktap_finished
