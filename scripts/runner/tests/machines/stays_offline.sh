#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# On this machine added memory stays offline until somebody wants it, and so does what the
# virtual HCA gives back: it says so, and how to have it again.

DIR=$(cd "$(dirname "$0")/../uobjscope" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

memory() { awk '/^MemTotal:/ { print $2 }' /proc/meminfo; }

says_how()
{
	before=$(memory) had=
	modprobe -a ib_uverbs mlx5_core mlx5_ib && vhca_insert || return 1
	wait_for "ib_device" ibdev_there || return 1
	expect 'mlx5_vhca: .* were given back, and are offline'
	log_begin
	rmmod mlx5_vhca || return 1
	state=$(vhca_lines | sed -n 's/.* write online to //p')
	[ -w "$state" ] || { echo "expected the file to write to, seen: $(vhca_lines)"; return 1; }
	[ "$(cat "$state")" = offline ] || { echo "$state is $(cat "$state")"; return 1; }
	[ "$(memory)" -lt "$before" ] || { echo "MemTotal: $before kB, still $(memory) kB"; return 1; }
	echo online > "$state" || return 1
	[ "$(memory)" -ge "$before" ] || { echo "MemTotal: $before kB, only $(memory) kB"; return 1; }
}

ktap_print_header
plan 1
run says_how
ktap_finished
