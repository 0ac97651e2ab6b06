#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Random input of the virtual HCA, for STRESS minutes (2 if that is not said): three quarters
# of them the KUnit suite mlx5_vhca_fuzz, again and again with other seeds from SEED on, and
# then that of a process (fuzz.c).  Only run when asked for; make fuzz does it under KASAN.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

SUITE=/sys/kernel/debug/kunit/mlx5_vhca_fuzz
# A run is one write to a file, and a task that sleeps for 30 seconds is a report.
INPUTS=${FUZZ:-4096}
ROUND=1024
: "${SEED:=1}"
seconds=$((${STRESS:-2} * 60))

now() { cut -d. -f 1 /proc/uptime; }

# of_results CASE KEY: what the suite says of a case that has passed.
of_results() { sed -n "s/.*# $1: .*\\<$2=\\([0-9]*\\).*/\\1/p" $SUITE/results | head -n 1; }

# Each run of the suite has inputs of every kind; the totals are what is printed.
random_input()
{
	expect '^mlx5_vhca: kunit: '
	end=$(($(now) + seconds * 3 / 4)) seed=$((SEED % 1000000000)) runs=0
	driver=0 user=0 lines=0 commands=0 requests=0 packets=0
	echo "$INPUTS" > $VHCA_PARAMETERS/fuzz_inputs || return 1
	while [ "$(now)" -lt $end ]; do
		echo $seed > $VHCA_PARAMETERS/fuzz_seed
		echo run > $SUITE/run || return 1
		if ! grep -q '^ok .*mlx5_vhca_fuzz' $SUITE/results; then
			cat $SUITE/results
			return 1
		fi
		runs=$((runs + 1)) seed=$((seed + (INPUTS + ROUND - 1) / ROUND))
		driver=$((driver + $(of_results fuzz_driver inputs)))
		user=$((user + $(of_results fuzz_user inputs)))
		lines=$((lines + $(of_results fuzz_faults inputs)))
		commands=$((commands + $(of_results fuzz_driver commands) +
			    $(of_results fuzz_user commands)))
		requests=$((requests + $(of_results fuzz_driver work_requests) +
			    $(of_results fuzz_user work_requests)))
		packets=$((packets + $(of_results fuzz_driver packets) +
			   $(of_results fuzz_user packets)))
	done
	echo "$((driver + user + lines)) inputs in $runs runs, SEED=$SEED: $driver of a driver," \
		"$user of a user, $lines lines of text; $commands commands done," \
		"$requests work requests taken, $packets packets executed"
	[ $runs -gt 0 ]
}

of_a_process()
{
	expect 'mlx5_vhca: .* (violation: |not modelled|not RAM, refused)'
	expect '(vhca_violation_add|vhca_dma_pointer): .* suppressed'
	expect 'mlx5_core .*: cq_err_event_notifier:.* CQ error on CQN '
	# Half of it for each of its two tests.
	FUZZ_SEED=$SEED FUZZ_SECONDS=$((seconds / 8)) "$DIR/fuzz"
}

one()	# NAME: a test whose output is the result
{
	wanted "$1" || return 0
	mark begin "$1"
	print_all "$1"
	mark end "$1"
}

[ -d $SUITE ] || skip_all "no $SUITE: load mlx5_vhca.ko on a kernel with CONFIG_KUNIT_DEBUGFS"
export SEED
w=$(mktemp -d)
ktap_print_header
plan 2
one random_input
one of_a_process
rm -r "$w"
ktap_finished
