# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# What the shell tests have in common; sourced by them, with DIR set.

# A missing file would end this shell with a status that kselftest takes for XFAIL.
[ -r "$DIR/../kselftest/ktap_helpers.sh" ] || { echo "no ktap_helpers.sh"; exit 4; }
# shellcheck source=/dev/null
. "$DIR/../kselftest/ktap_helpers.sh"

# shellcheck disable=SC2034
VHCA_DEBUGFS=/sys/kernel/debug/mlx5_vhca
# shellcheck disable=SC2034
SCOPE_DEBUGFS=/sys/kernel/debug/uobjscope
# The PCI address of the virtual HCA, empty where there is none.
pci=$(find $VHCA_DEBUGFS -mindepth 1 -maxdepth 1 2> /dev/null | head -n 1)
pci=${pci##*/}
driver=/sys/bus/pci/drivers/mlx5_core

mark()		# EDGE NAME: for whoever reads the kernel log by tests
{
	echo "uobjscope: $1 $(basename "$0").$2" > /dev/kmsg 2>/dev/null
}

# expect REGULAR-EXPRESSION: the running test provokes such lines of the kernel log.
expect()
{
	echo "uobjscope: expect $1" > /dev/kmsg 2>/dev/null
}

# run NAME: the function of that name is the test; what it prints is why it failed.
run()
{
	mark begin "$1"
	why=$("$1" 2>&1)
	status=$?
	mark end "$1"
	if [ "$status" = "$KSFT_SKIP" ]; then
		ktap_test_skip "$1 # SKIP $why"
	elif [ "$status" = 0 ]; then
		ktap_test_pass "$1"
	else
		echo "$why" | sed 's/^/# /'
		ktap_test_fail "$1"
	fi
}

run_with()	# FILE REMEDY NAME: a test that needs that file
{
	if [ -r "$1" ]; then
		run "$3"
	else
		ktap_test_skip "$3 # SKIP no $1: $2"
	fi
}

skip_all()
{
	ktap_print_header
	echo "1..0 # SKIP $1"
	exit "$KSFT_SKIP"
}

wait_for()	# WHAT COMMAND...: up to 10 s
{
	what=$1
	shift
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ "$tries" -le 200 ] || { echo "no $what after 10 s"; return 1; }
		sleep 0.05
	done
}

ibdev_there() { [ -n "$(ls /sys/class/infiniband 2>/dev/null)" ] && [ -e /dev/infiniband/uverbs0 ]; }
ibdev_gone() { [ -z "$(ls /sys/class/infiniband 2>/dev/null)" ]; }

# hold_begin COMMAND...: start a process that says ready and ends with its input, $holder.
# What it said is in the file $said.
hold_begin()
{
	fifo=$(mktemp -u) said=$(mktemp)
	mkfifo "$fifo"
	"$@" < "$fifo" > "$said" 2>&1 &
	holder=$!
	exec 9> "$fifo"
	rm "$fifo"
	if ! wait_for "ready from $1" grep -q ready "$said"; then
		cat "$said"
		kill "$holder"
		exec 9>&-
		rm "$said"
		return 1
	fi
}

hold_end()
{
	exec 9>&-
	wait "$holder"
	held=$?
	[ $held = 0 ] || { echo "the process that held objects ended with $held:"; cat "$said"; }
	rm "$said"
	return $held
}

unbind() { echo "$pci" > $driver/unbind && wait_for "end of the ib_device" ibdev_gone; }
bind() { echo "$pci" > $driver/bind && wait_for "ib_device" ibdev_there; }
