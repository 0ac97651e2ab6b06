#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# How much the virtual HCA costs: without work, and for a command.
# It is not run with the other tests; nothing of it fails but what cannot be measured.
#
#   BENCH_COMMANDS=2000   commands of a measurement
#   BENCH_IDLE_S=10       seconds without work

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

BENCH_COMMANDS=${BENCH_COMMANDS:-2000}
BENCH_IDLE_S=${BENCH_IDLE_S:-10}
MODULE=$VHCA_MODULE
PARAMETERS=/sys/module/mlx5_vhca/parameters
REPEAT=3

of_info()	# WORD KEY: its value in the device's info
{
	sed -n "s/^$1 .*\\<$2=\\([0-9]*\\).*/\\1/p" "$VHCA_DEBUGFS/$pci/info"
}

thread_ns()
{
	t=$(grep -lE "^mlx5_vhca/[0-9]+\$" /proc/[0-9]*/comm 2> /dev/null | head -n 1)
	cut -d ' ' -f 1 "${t%/comm}/schedstat"
}

# What all CPUs did in the last $BENCH_IDLE_S seconds but idling, in millionths of one
# CPU.  The kernel counts idle time exactly, in hundredths of a second.
busy_of_machine()
{
	idle=$(awk '/^cpu / { print $5 + $6 }' /proc/stat)
	read -r up _ < /proc/uptime
	sleep "$BENCH_IDLE_S"
	awk -v before="$idle" -v up="$up" -v cpus="$(nproc)" '
		FILENAME == "/proc/uptime" { t = $1 - up }
		/^cpu / { idle = ($5 + $6 - before) / 100 }
		END { printf "%.0f\n", (cpus * t - idle) / t * 1000000 }' /proc/uptime /proc/stat
}

idle_cost()
{
	sleep 5
	ns=$(thread_ns) looks=$(of_info polling looks) look_ns=$(of_info polling look_ns)
	with=$(busy_of_machine)
	with="$with $(busy_of_machine)"
	span=$((2 * BENCH_IDLE_S))
	figure idle-firmware-thread $((($(thread_ns) - ns) / (span * 1000))) millionths-of-a-CPU
	figure idle-timer $((($(of_info polling look_ns) - look_ns) / (span * 1000))) \
		millionths-of-a-CPU
	figure idle-timer-looks $((($(of_info polling looks) - looks) / span)) a-second
	had=
	for p in "$PARAMETERS"/*; do
		had="$had $(basename "$p")=$(cat "$p")"
	done
	if [ ! -r "$MODULE" ]; then
		echo "the whole machine with the device: $with; no $MODULE, so not without it"
		return
	fi
	rmmod mlx5_vhca || return 1
	sleep 5
	without=$(busy_of_machine)
	without="$without $(busy_of_machine)"
	# shellcheck disable=SC2086
	insmod "$MODULE" $had && wait_for "ib_device" ibdev_there || return 1
	echo "the whole machine, measured twice, in millionths of a CPU:" \
		"$with with the device, $without without"
	echo "$with $without" | awk '{
		with = ($1 + $2) / 2
		without = ($3 + $4) / 2
		printf "figure idle-machine value=%.0f unit=millionths-of-a-CPU", with
		if (without > 0)
			printf " ratio=%.3f peer=without the device", with / without
		print ""
	}'
}

first_command()
{
	round_ns=$("$DIR/commands" rate "$BENCH_COMMANDS" | sed 's/median_ns=\([0-9]*\).*/\1/')
	[ "$round_ns" -gt 0 ] || { echo "not measured"; return 1; }
	for ms in 10000 2000 3000 2500; do
		ns=$("$DIR/commands" first $ms) || return 1
		ns=${ns#*=}
		figure "first-command-after-$ms-ms" $((ns / 1000)) us \
			"$(awk -v a="$ns" -v b="$round_ns" 'BEGIN { printf "%.1f", a / b }')" \
			"one of many, one after another"
	done
}

# The device's own time for these commands, in ns.
device_ns()
{
	awk '/ name=(ALLOC|DEALLOC)_PD / {
		for (i = 1; i <= NF; i++)
			if (sub("^total_ns=", "", $i))
				n += $i
	}
	END { printf "%.0f\n", n }' "$VHCA_DEBUGFS/$pci/commands"
}

command_round_trip()
{
	for n in $(seq $REPEAT); do
		ns=$(device_ns)
		said=$("$DIR/commands" rate "$BENCH_COMMANDS") || return 1
		ns=$(($(device_ns) - ns))
		echo "$said" | awk -v again="$n" -v n="$BENCH_COMMANDS" -v device="$ns" '{
			sub("median_ns=", "", $1)
			sub("p99_ns=", "", $2)
			sub("per_second=", "", $3)
			printf "command round trip %d: 99th percentile %.1f us, %d a second;",
				again, $2 / 1000, $3
			print " what the device does not take is the driver, the wait for the thread," \
				" and the call"
			printf "figure command-%d value=%.1f unit=us ratio=%.3f", again, $1 / 1000,
				1e9 / $3 / (device / n)
			print " peer=what the device takes of that"
		}'
	done
}

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
ibdev_there || skip_all "no RDMA device"
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

ktap_print_header
plan 3
print_all idle_cost
print_all first_command
print_all command_round_trip
ktap_finished
