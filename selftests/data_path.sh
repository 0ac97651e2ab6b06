#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Data from one virtual HCA to another: those tests of data_path that need two, with
# two.  The device that was loaded before is loaded again at the end.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

both_there() { [ "$(find /sys/class/infiniband -mindepth 1 2> /dev/null | wc -l)" = 2 ] && [ -e /dev/infiniband/uverbs1 ]; }

# Below one port, so that one device reaches the other's memory.
load_two()
{
	rmmod mlx5_vhca && vhca_insert hcas=2 topology=port && wait_for "two ib_devices" both_there
}

# All of them and none skipped, unless it cannot be; what a test of data_path says is why it failed.
between_devices()	# VARIANT
{
	"$DIR/data_path" -r "data_path.$1.two_devices" > "$w/said" 2>&1 &&
		grep -q '^ok 1 data_path[.].*two_devices$' "$w/said" && vhca_no_violation && return
	older=$(sed -n 's/^ok 1 .* # SKIP \(.* is older than .*\)/\1/p' "$w/said")
	[ -z "$older" ] || { echo "$older"; return "$KSFT_SKIP"; }
	cat "$w/said"
	return 1
}

as_before() { rmmod mlx5_vhca && vhca_insert && wait_for "ib_device" ibdev_there && vhca_no_violation; }

need_the_only_device
[ -r "$VHCA_MODULE" ] || skip_all "no $VHCA_MODULE: set MLX5_VHCA_KO to mlx5_vhca.ko"
vhca_remember
vhca_has_memory_for_two || skip_all "$why"
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

ktap_print_header
plan 5
run load_two
for v in rc rc_global uc; do run_as "between_devices_$v" between_devices "$v"; done
run as_before
ktap_finished
