#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The virtual HCA on a kernel that was booted without anything for it: the kernel hands out
# memory for its window, and gets it back when the module goes.  Runs in a guest of its own
# where nothing is loaded; elsewhere mlx5_vhca.ko must not be.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"
# shellcheck source=selftests/window_lib.sh
. "$DIR/window_lib.sh"

ROUNDS=${ROUNDS:-20}

kernel_hands_out_memory()
{
	before=$(mem_total)
	probe || return 1
	pci=$(basename $VHCA_DEBUGFS/*)
	taken=$(loan_kib)
	[ "$taken" = "$(block_kib)" ] || complain "expected $(block_kib) KiB, seen $taken" || return 1
	expect_total $((before - taken)) "loaded" || return 1
	# shellcheck disable=SC2046
	set -- $(loan)
	grep -q "^bar start=0x0*$(printf '%x' "0x$1") " "$VHCA_DEBUGFS/$pci/info" ||
		{ echo "no BAR at 0x$1:"; grep '^bar ' "$VHCA_DEBUGFS/$pci/info"; return 1; }
	vhca_no_violation
}

# Programs of the suite: $1, and the tests of it.
passes()
{
	program=$1
	shift
	[ -x "$DIR/$program" ] || { echo "no $program"; return "$KSFT_SKIP"; }
	for t in "$@"; do
		set -- "$@" -r "$t"
		shift
	done
	if ! out=$("$DIR/$program" "$@" 2>&1) || echo "$out" | grep -q '# SKIP'; then
		echo "$out" | grep -v '^ok'
		return 1
	fi
}

var_works()
{
	passes var var.var_01_alloc_takes_a_page var.var_02_map_and_unmap var.var_09_exhaustion
}

dm_works()
{
	passes dm dm.dm_01_alloc dm.dm_01_copy dm.dm_13_exhaustion
}

unload_gives_it_back()
{
	taken=$(loan_kib) before=$(mem_total)
	rmmod mlx5_vhca && nothing_taken || return 1
	expect_total $((before + taken)) "unloaded" || return 1
	if grep -l offline /sys/devices/system/memory/memory*/state; then
		echo "blocks that are offline"
		return 1
	fi
}

insert_without_driver()
{
	echo 0 > /sys/bus/pci/drivers_autoprobe
	insert
	set -- $?
	echo 1 > /sys/bus/pci/drivers_autoprobe
	return "$1"
}

# The driver takes part in every fifth, as it needs most of the time.  Each block has its
# page structures counted once, so the sum may grow when another is taken than before.
rounds()
{
	seen='' first=
	for round in $(seq "$ROUNDS"); do
		if [ $((round % 5)) = 1 ]; then
			probe || return 1
		else
			insert_without_driver || return 1
		fi
		at=$(loan)
		rmmod mlx5_vhca && nothing_taken || return 1
		now=$(mem_total)
		case "$seen" in
		*"<$at>"*)
			[ "$now" = "$first" ] || complain \
				"round $round: MemTotal: expected $first kB, seen $now kB" || return 1
			;;
		*)
			[ -z "$first" ] || expect_total "$first" "round $round" || return 1
			seen="$seen<$at>" first=$now
			;;
		esac
	done
}

two_devices()
{
	before=$(mem_total)
	probe hcas=2 || return 1
	wait_for "second device" [ -e /dev/infiniband/uverbs1 ] || return 1
	rmmod mlx5_vhca && nothing_taken && expect_total "$before" "unloaded"
}

more_than_there_is()
{
	refused 'cannot take 65536 MiB .*boot with memmap=' bar_size=$((64 << 30))
}

# The first block that is tried is busy, the next one is not.
busy_block()
{
	before=$(mem_total)
	refuse refusals=1 || return 1
	rc=0
	probe || rc=1
	busy=$(printf '%x' "$(refuse_says refused)") asked=$(refuse_says asked)
	rmmod refuse_offline
	[ $rc = 0 ] || return 1
	[ "$asked" = 2 ] || complain "expected two attempts, seen $asked" || rc=1
	# shellcheck disable=SC2046
	set -- $(loan)
	[ "$((0x$1))" != "$((0x$busy))" ] || complain "took 0x$busy, which is busy" || rc=1
	rmmod mlx5_vhca && nothing_taken && expect_total "$before" "unloaded" && return $rc
}

remove_while_var_is_mapped() { remove_while_mapped all; }

# Memory that the kernel maps with one entry for each GiB: of such an entry no part can go,
# so it was split.
direct_map_is_split()
{
	if [ "$(mapped_by_gib_kib)" = 0 ]; then
		echo "no GiB of this machine is mapped with one entry"
		return "$KSFT_SKIP"
	fi
	gib_before=$(mapped_by_gib_kib) before=$(mem_total)
	probe || return 1
	gib=$(mapped_by_gib_kib)
	rmmod mlx5_vhca && nothing_taken && expect_total "$before" "unloaded" || return 1
	[ "$gib" = $((gib_before - 1048576)) ] ||
		complain "DirectMap1G: expected $((gib_before - 1048576)) kB, seen $gib kB"
}

# The first that takes memory, where there is any that is mapped so.
first=
[ -z "$listing$only" ] && [ "$(mapped_by_gib_kib)" = 0 ] || first=direct_map_is_split
# shellcheck disable=SC2086
window_tests $first kernel_hands_out_memory var_works dm_works unload_gives_it_back rounds \
	two_devices more_than_there_is busy_block remove_while_var_is_mapped
