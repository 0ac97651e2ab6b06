# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Record what happens to user objects while a program runs, so that the events of one that
# has failed are at hand: the lifetime events of uobjscope.ko, the virtual HCA's commands,
# and the kernel's log, in which the tests have put their marks.  Sourced by run-tests.sh.
#
# The buffers are small rings in a tracefs instance of their own: the last events are kept.
# Where there is no uobjscope.ko, or no tracefs, nothing is recorded and nothing is said.
#
# Only where it is asked for, as it costs time: RECORD=1 records, RECORD=all keeps the events
# of what passes as well (the runner asks for that when it has tests that failed run once
# more), and RECORD=odd records the odd ones of several rounds, and so shows the cost.

recorder=/sys/kernel/tracing/instances/recorder
recorder_switch=/sys/kernel/debug/uobjscope/trace
recorder_kb=1024

# A program's own time or memory is measured, or it takes the kernel with it.
is_not_to_be_recorded()	# PROGRAM[@ROUND]
{
	case ${1#*:} in
	bench_*|idle.sh*|fail_nth*) return 0 ;;
	esac
	case ${RECORD:-0} in
	0) return 0 ;;
	odd) case $1 in *@*[13579]) ;; *) return 0 ;; esac ;;
	esac
	[ -n "${OWN_GUEST:-}" ] || [ ! -w $recorder_switch ]
}

# set_recorder FILE TEXT, and nothing is said if the kernel has no such file.
set_recorder()
{
	{ echo "$2" > "$recorder/$1"; } 2> /dev/null
}

stop_recording()
{
	recording=
	[ -d $recorder ] || return 0
	set_recorder tracing_on 0
	set_recorder events/enable 0
	[ ! -w $recorder_switch ] || echo 0 > $recorder_switch
}

begin_recording()	# PROGRAM[@ROUND]
{
	if is_not_to_be_recorded "$1"; then
		[ -z "$recording" ] || stop_recording
		return 0
	fi
	# The program before may have switched it off, or have had the module reloaded.
	read -r is_on < $recorder_switch
	[ "$is_on" = 1 ] || { echo 1 > $recorder_switch; } 2> /dev/null || return 0
	mkdir -p $recorder 2> /dev/null || return 0
	if [ -z "$recording" ]; then
		set_recorder buffer_size_kb $recorder_kb
		# Of all processors one clock, and that of the kernel's other users.
		set_recorder trace_clock mono
	fi
	set_recorder tracing_on 0
	set_recorder trace ""
	set_recorder events/uobjscope/enable 1
	set_recorder events/mlx5_vhca/enable 1
	set_recorder events/printk/enable 1
	set_recorder tracing_on 1
	recording=1
}

end_recording()	# PROGRAM[@ROUND] FAILED, which is empty if it has passed
{
	[ -n "$recording" ] || return 0
	set_recorder tracing_on 0
	[ -n "$2" ] || [ "${RECORD:-}" = all ] || return 0
	gzip < $recorder/trace | base64 -w 960 | sed "s,^,@events $1 ,"
}

recording=
