#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# As window.sh, what takes longer: waiting for a deadline, for a process, and for memory that
# does not go.  Only run when asked for.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"
# shellcheck source=selftests/window_lib.sh
. "$DIR/window_lib.sh"

all_blocks_are_busy()
{
	refuse || return 1
	rc=0
	refused "cannot take .* \(-E(BUSY|TIMEDOUT), [0-9]+ attempts\).*$other_way" || rc=1
	asked=$(refuse_says asked)
	[ "$asked" -gt 1 ] || complain "expected more than one attempt, seen $asked" || rc=1
	rmmod refuse_offline
	# And what was emptied for it is as good as before.
	probe && rmmod mlx5_vhca && nothing_taken && return $rc
}

# Each attempt takes a second: it is not for the number of blocks to say how long it is.
deadline()
{
	refuse ms=1000 || return 1
	rc=0 began=$(cut -d. -f 1 /proc/uptime)
	refused "cannot take .* \(-ETIMEDOUT, [0-9]+ attempts\).*$other_way" || rc=1
	took=$(($(cut -d. -f 1 /proc/uptime) - began))
	[ $took -le 15 ] ||
		complain "expected an end after 5 s and an attempt, seen it after $took s" || rc=1
	rmmod refuse_offline
	return $rc
}

# All that it has mapped is of one memory type, which the kernel would hand on.
remove_while_device_is_open() { remove_while_mapped open; }

not_there() { [ ! -e $VHCA_DEBUGFS ]; }

# A process that ends within the time that it is given.
remove_waits_for_mapping()
{
	before=$(mem_total)
	probe || return 1
	hold_begin "$DIR/hold" || { rmmod mlx5_vhca; return 1; }
	(sleep 0.2; rmmod mlx5_vhca) 9>&- &
	removing=$!
	rc=0
	wait_for "end of the function" not_there 9>&- || rc=1
	sleep 0.3
	grep -q 'mlx5_vhca memory' /proc/iomem || complain "given back while it is mapped" || rc=1
	hold_end || rc=1
	wait $removing || rc=1
	nothing_taken && expect_total "$before" "unloaded" && return $rc
}

# They may lie in several entries of the resource tree, as one that was away before does.
two_blocks()
{
	probe && rmmod mlx5_vhca || return 1
	before=$(mem_total)
	probe bar_size=$((2 * $(block_kib) * 1024)) || return 1
	[ "$(loan_kib)" = $((2 * $(block_kib))) ] ||
		complain "expected two blocks, seen: $(loan)" || return 1
	rmmod mlx5_vhca && nothing_taken && expect_total "$before" "unloaded" 2
}

# The first of two has gone when the second one refuses.
second_block_is_busy()
{
	before=$(mem_total) blocks=$(online_blocks)
	refuse granted=1 refusals=1 || return 1
	rc=0
	probe bar_size=$((2 * $(block_kib) * 1024)) || rc=1
	asked=$(refuse_says asked)
	rmmod refuse_offline
	[ $rc = 0 ] || return 1
	[ "$asked" = 4 ] || complain "expected to be asked 4 times, seen $asked" || rc=1
	[ "$(online_blocks)" = $((blocks - 2)) ] ||
		complain "expected $((blocks - 2)) blocks, seen $(online_blocks)" || rc=1
	rmmod mlx5_vhca && nothing_taken && expect_total "$before" "unloaded" 4 && return $rc
}

online_blocks() { grep -l online /sys/devices/system/memory/memory*/state | wc -l; }

# Of a small machine all pairs may have something in them that cannot move.
larger=
[ -z "$listing$only" ] && [ "$(mapped_by_gib_kib)" = 0 ] || larger="two_blocks second_block_is_busy"
# shellcheck disable=SC2086
window_tests $larger all_blocks_are_busy deadline remove_while_device_is_open \
	remove_waits_for_mapping
