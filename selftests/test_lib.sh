# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# What the shell tests have in common; sourced by them, with DIR set.

# It is beside the collection, whose name in a kernel tree is one of two folders.
ktap_helpers=$DIR/../kselftest/ktap_helpers.sh
[ -r "$ktap_helpers" ] || ktap_helpers=$DIR/../../kselftest/ktap_helpers.sh
# A missing file would end this shell with a status that kselftest takes for XFAIL.
[ -r "$ktap_helpers" ] || { echo "no ktap_helpers.sh"; exit 4; }
# shellcheck source=/dev/null
. "$ktap_helpers"

# The uobjscope command, where it was built with the tests and not installed.
PATH=$PATH:$DIR

# module_file NAME: where it is, or would be: with the tests, or where the lab has it.
module_file()
{
	if [ -r "$DIR/modules/$1.ko" ]; then
		echo "$DIR/modules/$1.ko"
	else
		echo "/uobjscope/modules/$1.ko"
	fi
}

# shellcheck disable=SC2034
VHCA_DEBUGFS=/sys/kernel/debug/mlx5_vhca
# shellcheck disable=SC2034
SCOPE_DEBUGFS=/sys/kernel/debug/uobjscope
# The PCI address of the virtual HCA, empty where there is none.
pci=$(find $VHCA_DEBUGFS -mindepth 1 -maxdepth 1 2> /dev/null | head -n 1)
pci=${pci##*/}
driver=/sys/bus/pci/drivers/mlx5_core

# -l lists the tests; -r NAME or -t NAME, repeated, runs only those, as in
# kselftest_harness.h.
listing='' only=''
while getopts lr:t: option; do
	case $option in
	l) listing=y ;;
	[rt]) only="$only $OPTARG" ;;
	*) exit "$KSFT_FAIL" ;;
	esac
done
if [ -n "$listing" ]; then
	ktap_print_header() { :; }
	ktap_finished() { exit "$KSFT_SKIP"; }
fi

plan()		# NUMBER of tests, if all are run
{
	[ -z "$listing" ] || return 0
	[ -z "$only" ] || set -- "$(echo "$only" | wc -w)"
	ktap_set_plan "$1"
}

# wanted NAME: is the test to be run?  When they are listed it is not, but named.
wanted()
{
	[ -z "$listing" ] || { echo "$1"; return 1; }
	[ -n "$only" ] || return 0
	case " $only " in *" $1 "*) return 0 ;; esac
	return 1
}

mark()		# EDGE NAME: for whoever reads the kernel log by tests
{
	echo "uobjscope: $1 $(basename "$0").$2" > /dev/kmsg 2>/dev/null
}

# expect REGULAR-EXPRESSION: the running test provokes such lines of the kernel log.
expect()
{
	echo "uobjscope: expect $1" > /dev/kmsg 2>/dev/null
}

# expect_kept: the module goes while a process has the device's memory mapped; if it is the
# kernel's, it cannot be given back then.
expect_kept() { expect 'mlx5_vhca: .* is still mapped, by a process'; }

# run NAME: the function of that name is the test; what it prints is why it failed.
run()
{
	run_as "$1" "$1"
}

# run_as NAME COMMAND...: the same, where one function is several tests.
run_as()
{
	as=$1
	shift
	wanted "$as" || return 0
	mark begin "$as"
	why=$("$@" 2>&1)
	verdict $? "$as"
}

# run_here NAME COMMAND...: the same, in this shell, whose variables it may change.
run_here()
{
	as=$1
	shift
	wanted "$as" || return 0
	why=$(mktemp)
	mark begin "$as"
	"$@" > "$why" 2>&1
	set -- $? "$why"
	why=$(cat "$2")
	rm "$2"
	verdict "$1" "$as"
}

verdict()	# STATUS NAME, with what was said in $why
{
	mark end "$2"
	if [ "$1" = "$KSFT_SKIP" ]; then
		ktap_test_skip "$2 # SKIP $why"
	elif [ "$1" = 0 ]; then
		ktap_test_pass "$2"
	else
		echo "$why" | sed 's/^/# /'
		ktap_test_fail "$2"
	fi
}

# print_all NAME: a measurement, whose output is the result; $w is the caller's folder.
# shellcheck disable=SC2154
print_all()
{
	"$1" > "$w/said" 2>&1
	rc=$?
	sed 's/^/# /' "$w/said"
	if [ $rc = 0 ]; then
		ktap_test_pass "$1"
	else
		ktap_test_fail "$1"
	fi
}

# figure NAME VALUE UNIT [RATIO PEER]: a line of the table that make bench prints; the ratio
# is that to the peer, which was measured in the same run.
figure()
{
	echo "figure $1 value=$2 unit=$3${4:+ ratio=$4 peer=$5}"
}

run_with()	# FILE REMEDY NAME: a test that needs that file
{
	if [ -r "$1" ]; then
		run "$3"
	elif wanted "$3"; then
		ktap_test_skip "$3 # SKIP no $1: $2"
	fi
}

skip_all()
{
	[ -z "$listing" ] || return 0
	ktap_print_header
	echo "1..0 # SKIP $1"
	exit "$KSFT_SKIP"
}

# For those that take the drivers from whatever device is here.
need_the_only_device()
{
	[ "$(id -u)" = 0 ] || skip_all "not root"
	[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
	[ "$(find /sys/class/infiniband -mindepth 1 | wc -l)" = 1 ] ||
		skip_all "other RDMA devices are here: this test unloads their drivers"
}

# run_all NAMES NAMES: a whole script; the second ones load mlx5_vhca.ko anew.
run_all()
{
	ktap_print_header
	plan "$(echo "$1 $2" | wc -w)"
	for t in $1; do
		run "$t"
	done
	for t in $2; do
		run_with "$VHCA_MODULE" "set MLX5_VHCA_KO to mlx5_vhca.ko" "$t"
	done
	ktap_finished
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
# What it said is in the file $said.  Where it skips, so does the test, at once.
hold_begin()
{
	fifo=$(mktemp -u) said=$(mktemp)
	mkfifo "$fifo"
	"$@" < "$fifo" > "$said" 2>&1 &
	holder=$!
	exec 9> "$fifo"
	rm "$fifo"
	if ! hold_late=$(wait_for "ready from $1" grep -q ready "$said"); then
		kill "$holder" 2> /dev/null
		exec 9>&-
		wait "$holder"
		if [ $? = "$KSFT_SKIP" ]; then
			sed -n 's/^#  *SKIP  *//p' "$said"
			rm "$said"
			exit "$KSFT_SKIP"
		fi
		echo "$hold_late"
		cat "$said"
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

VHCA_MODULE=${MLX5_VHCA_KO:-$(module_file mlx5_vhca)}
VHCA_PARAMETERS=/sys/module/mlx5_vhca/parameters

cat_parameter() { cat "$VHCA_PARAMETERS/$1"; }

# vhca_remember: the parameters of the module that is loaded, for vhca_insert.
vhca_remember()
{
	had=
	for p in "$VHCA_PARAMETERS"/*; do
		had="$had $(basename "$p")=$(cat "$p")"
	done
}

vhca_insert()	# PARAMETER=VALUE...: with what it had, and these
{
	# shellcheck disable=SC2086
	insmod "$VHCA_MODULE" $had "$@"
}

# The log is a ring, so old lines cannot be counted: a line of our own says where to begin.
log_begin()
{
	log_begins="uobjscope: log from $(cut -d ' ' -f 1 /proc/uptime)"
	echo "$log_begins" > /dev/kmsg
}

log_since() { dmesg | sed "1,/$log_begins\$/d"; }

# What the module has said since then, and not its loader.
vhca_lines() { log_since | grep 'mlx5_vhca: ' | grep -v 'taint'; }

# vhca_refuses REGULAR-EXPRESSION PARAMETER=VALUE...: it is not loaded with these, and
# says why in one line of the kernel log that has the expression.
vhca_refuses()
{
	r_text=$1
	shift
	log_begin
	if vhca_insert "$@" 2> /dev/null; then
		echo "loaded with $*"
		rmmod mlx5_vhca
		return 1
	fi
	r_said=$(vhca_lines)
	if [ "$(echo "$r_said" | wc -l)" != 1 ] || ! echo "$r_said" | grep -qE "$r_text"; then
		echo "$*: expected one line that has '$r_text', seen: $r_said"
		return 1
	fi
}

# vhca_has_memory_for_two: the device that is loaded and one more; $why if not.  With a
# bar_phys of 0 the kernel hands out as much as is wanted.
vhca_has_memory_for_two()
{
	bar_phys=$(cat_parameter bar_phys) bar_size=$(cat_parameter bar_size)
	[ "$bar_phys" != 0 ] || return 0
	reserved_to $((bar_phys + 2 * bar_size - 1)) && return
	# shellcheck disable=SC2034
	why="no memory for two devices: boot with memmap=$((2 * bar_size >> 20))M\$$(printf '0x%x' "$bar_phys")"
	return 1
}

# reserved_to ADDRESS: the firmware map says of that byte that it is reserved.
reserved_to()
{
	while IFS='- :' read -r from to what; do
		[ "$what" = Reserved ] || continue
		[ $((0x$from)) -le "$1" ] && [ $((0x$to)) -ge "$1" ] && return
	done < /proc/iomem
	return 1
}

# What device and driver say when the function leaves the bus and comes back.
expect_vanishing()
{
	expect 'mlx5_vhca: .*: (leaves the bus|virtual HCA|function: back while)'
	expect 'mlx5_core .*: (poll_health|print_health_info|mlx5_crdump_collect|mlx5_handle_bad_state):'
	expect 'mlx5_core .*: (mlx5_health_try_recover|mlx5_error_sw_reset|mlx5_health_wait_pci_up):'
	expect 'mlx5_core .*: (mlx5_wait_for_pages|mlx5_uninit_one|mlx5_fw_fatal_reporter_dump|mlx5_vsc)'
	expect 'mlx5_core .*: NIC IFC still'
	expect 'infiniband .*: mlx5r_umr_'
}

# vhca_is_at_rest PCI-ADDRESS: it holds nothing that a driver gave it.
vhca_is_at_rest()
{
	if grep -H '^object ' "$VHCA_DEBUGFS/$1/ledger"; then
		echo "that is left at $1"
		return 1
	fi
	grep -q '^pages held=0' "$VHCA_DEBUGFS/$1/ledger" || {
		echo "$1: expected pages held=0, seen $(grep '^pages ' "$VHCA_DEBUGFS/$1/ledger")"
		return 1
	}
}

# vhca_no_violation: by no driver of any device.
vhca_no_violation()
{
	if grep -Hs '^violation ' $VHCA_DEBUGFS/*/violations; then
		return 1
	fi
}

# What the drivers have of all devices, but for the keys that they keep for the next region.
vhca_objects()
{
	cat $VHCA_DEBUGFS/*/ledger | grep '^object ' | grep -v ' kind=mkey .* free=1 ' | sort
}

vhca_has() { vhca_objects | cmp -s - "$1"; }

# vhca_ends_as FILE: what they have is soon what vhca_objects said when it wrote that file.
vhca_ends_as()
{
	wait_for "end of what they had" vhca_has "$1" || { vhca_objects | diff "$1" -; return 1; }
}
