#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The lifetime events of uobjscope.ko as a person uses them: the switch, the list of what
# is on, what a missing driver does to it, and the driver that comes and goes.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

MODULE=${UOBJSCOPE_KO:-/uobjscope/modules/uobjscope.ko}
TRACEFS=/sys/kernel/tracing
INSTANCE=$TRACEFS/instances/uobjscope_events
RELOADS=${RELOADS:-20} RELOADS_WITH_DEVICE=3

switch() { echo "$1" > $SCOPE_DEBUGFS/trace; }

# expect_list COUNT REGULAR-EXPRESSION: so many lines of the file events have it.
expect_list()
{
	seen=$(grep -cE "$2" $SCOPE_DEBUGFS/events)
	[ "$seen" = "$1" ] && return
	echo "expected $1 lines with '$2', seen $seen in:"
	cat $SCOPE_DEBUGFS/events
	return 1
}

clear_trace() { : > $INSTANCE/trace; }

# expect_events COUNT NAME: so many of these have happened.
expect_events()
{
	seen=$(grep -v '^#' $INSTANCE/trace | grep -c " $2: ")
	[ "$seen" = "$1" ] && return
	echo "expected $1 events $2, seen $seen in:"
	grep -v '^#' $INSTANCE/trace | tail -n 60
	return 1
}

# One VAR and one piece of device memory, made and gone.
two_objects() { hold_begin "$DIR/many" hold var=1 dm=1 && hold_end; }

all_functions_are_probed()
{
	expect_list 1 '^events .*on=1' && expect_list 0 'why=(error|switch)' || return 1
	expect_list 0 '^event .*missed=[1-9]' || return 1
	# What tracefs has and what the list has are the same.
	listed=$(sed -n 's/^event name=\([^ ]*\).*/\1/p' $SCOPE_DEBUGFS/events | sort -u)
	there=$(find $TRACEFS/events/uobjscope -mindepth 1 -type d -exec basename {} \; | sort)
	[ "$listed" = "$there" ] || { echo "listed: $listed"; echo "in tracefs: $there"; return 1; }
	[ "$absent" = 0 ] && return
	echo "this kernel does not have $absent of the functions, see $SCOPE_DEBUGFS/events"
	return "$KSFT_SKIP"
}

off_is_silent()
{
	switch 0 || return 1
	expect_list 0 'on=1' && expect_list 0 '^event .*why=(error|no_function)' || return 1
	clear_trace
	two_objects || return 1
	expect_events 0 '.*[a-z]' || return 1
	switch 1 || return 1
	two_objects || return 1
	expect_events 1 var_free
}

switch_refuses_nonsense()
{
	for word in 2 yes-please '' 123456789012345678; do
		log_begin
		if printf '%s\n' "$word" 2> /dev/null > $SCOPE_DEBUGFS/trace; then
			echo "it took '$word'"
			return 1
		fi
		log_since | grep -q 'uobjscope: trace: expected 0 or 1, got ' ||
			{ echo "no word on '$word' in the log"; return 1; }
	done
	[ "$(cat $SCOPE_DEBUGFS/trace)" = 1 ] || { echo "it is off now"; return 1; }
}

# The bars of the file, and all end.
timeline_has_them()
{
	clear_trace
	two_objects || return 1
	uobjscope timeline $INSTANCE/trace > "$w/timeline" || return 1
	for name in 'ufile [0-9]*' 'MLX5_VAR [0-9]*' 'DM [0-9]*'; do
		for phase in b e; do
			grep -q "{\"ph\":\"$phase\",\"name\":\"$name\"" "$w/timeline" && continue
			echo "expected '$phase' of '$name' in:"
			head -c 4000 "$w/timeline"
			return 1
		done
	done
	# Each has its birth and its death.
	if grep -oE '.{200}"event":"(before|still there|lost)"' "$w/timeline"; then
		grep -v '^#' $INSTANCE/trace | head -n 60
		return 1
	fi
	# The clock's page and a doorbell page have no entry.
	births=$(grep -c ' vma_open: .* entry=0000000000000000 ' $INSTANCE/trace)
	deaths=$(grep -c ' vma_close: .* entry=0000000000000000 ' $INSTANCE/trace)
	[ "$births" -ge 2 ] && [ "$births" = "$deaths" ] && return
	echo "expected 2 mappings without an entry or more, made were $births, gone are $deaths:"
	grep -v '^#' $INSTANCE/trace | head -n 60
	return 1
}

# expect_ufile FILE: the device was opened once in it, and closed.
expect_ufile()
{
	for event in ufile_open ufile_release; do
		[ "$(grep -o "\"$event\"" "$1" | wc -l)" = 1 ] && continue
		echo "expected one $event in:"
		head -c 4000 "$1"
		return 1
	done
}

expect_said()	# REGULAR-EXPRESSION: a line of it in what was said
{
	grep -q "$1" "$w/said" && return
	echo "expected '$1' in:"
	cat "$w/said"
	return 1
}

# A command that is run and recorded leaves nothing behind, and the switch as it was.
timeline_of_a_command()
{
	for state in 0 1; do
		switch $state || return 1
		uobjscope timeline -- ibv_devinfo > "$w/timeline" 2> "$w/said"
		expect_said 'transport:' && expect_ufile "$w/timeline" || return 1
		[ "$(cat $SCOPE_DEBUGFS/trace)" = $state ] && continue
		echo "the switch was $state"
		return 1
	done
	! uobjscope timeline -- /no/such/command > "$w/timeline" 2> "$w/said" &&
		expect_said '^uobjscope: /no/such/command: cannot start: ' || return 1
	set -- $TRACEFS/instances/uobjscope-timeline-*
	[ ! -e "$1" ] || { echo "$1 is left"; return 1; }
}

timeline_of_a_trace_dat()
{
	switch 1 || return 1
	trace-cmd record -q -e uobjscope -o "$w/trace.dat" ibv_devinfo > /dev/null 2> "$w/said" ||
		{ cat "$w/said"; return 1; }
	uobjscope timeline "$w/trace.dat" > "$w/timeline" || return 1
	expect_ufile "$w/timeline" || return 1
	truncate -s 3000 "$w/trace.dat"
	! uobjscope timeline "$w/trace.dat" > "$w/timeline" 2> "$w/said" && [ ! -s "$w/timeline" ]
}

# Not by modprobe -r, which takes mlx5_core as well, and with it the device.
reload_provider()
{
	rmmod mlx5_ib || return 1
	expect_list 3 'module=mlx5_ib on=0 why=no_function_or_module error=-2' || return 1
	modprobe mlx5_ib || return 1
	expect_list "$absent" '^event .*on=0'
}

# With no device to drive the driver comes and goes faster, and so more often.
provider_comes_and_goes()
{
	switch 1 || return 1
	unbind || return 1
	for n in $(seq $((RELOADS - RELOADS_WITH_DEVICE))); do
		reload_provider || { echo "in reload $n"; return 1; }
	done
	bind || return 1
	for n in $(seq $RELOADS_WITH_DEVICE); do
		reload_provider || { echo "in reload $n with a device"; return 1; }
		wait_for "ib_device" ibdev_there || return 1
		clear_trace
		two_objects || return 1
		expect_events 1 var_free && expect_events 1 memic_free || return 1
	done
}

# Switched on without the driver, its functions are probed when it comes.
provider_comes_later()
{
	switch 0 && rmmod mlx5_ib && switch 1 || return 1
	expect_list 3 'module=mlx5_ib on=0 why=no_function_or_module' || return 1
	clear_trace
	modprobe mlx5_ib && wait_for "ib_device" ibdev_there && two_objects || return 1
	expect_events 1 var_free
}

# What the removal of the device has destroyed is not destroyed again by the close of its
# file, nor is it of another type then.
destroyed_once()
{
	switch 1 && hold_begin "$DIR/hold" || return 1
	clear_trace
	unbind && hold_end && bind || return 1
	seen=$(grep -c ' uobject_destroy: .* reason=driver_remove' $INSTANCE/trace)
	twice=$(sed -n 's/.* uobject_destroy: .* uobject=\([0-9a-f]*\) .*/\1/p' $INSTANCE/trace |
		sort | uniq -d)
	[ "$seen" -gt 1 ] && [ -z "$twice" ] && return
	echo "$seen were destroyed by the removal, and more than once: $twice"
	grep ' uobject_destroy: ' $INSTANCE/trace
	return 1
}

# While somebody listens to everything the module goes, and its events with it.
module_goes_while_it_is_on()
{
	rmmod uobjscope || return 1
	[ ! -e $TRACEFS/events/uobjscope ] || { echo "the events are still there"; return 1; }
	two_objects || return 1
	insmod "$MODULE" || return 1
	[ "$(cat $SCOPE_DEBUGFS/trace)" = 0 ] || { echo "it is on after loading"; return 1; }
}

# Without probes of the registry's the events would not know whose they are.
without_registry()
{
	rmmod uobjscope && insmod "$MODULE" fprobe=0 || return 1
	log_begin
	if switch 1 2> /dev/null; then
		echo "switched on without a registry"
		return 1
	fi
	log_since | grep -q 'uobjscope: trace: no events without probes' || { log_since; return 1; }
	expect_list 0 'on=1' && rmmod uobjscope && insmod "$MODULE"
}

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -e $SCOPE_DEBUGFS/trace ] || skip_all "no $SCOPE_DEBUGFS/trace: load uobjscope.ko"
[ -d $TRACEFS/instances ] || skip_all "no $TRACEFS: mount -t tracefs none $TRACEFS"
need_the_only_device
if [ -z "$listing" ]; then
	switch 1 || skip_all "the lifetime events cannot be switched on: see the kernel log"
	mkdir -p $INSTANCE
	echo 1 > $INSTANCE/events/uobjscope/enable
	w=$(mktemp -d)
	absent=$(grep -c '^event .*on=0' $SCOPE_DEBUGFS/events)
	trap 'rm -rf "$w"; rmdir $INSTANCE 2> /dev/null; [ ! -e $SCOPE_DEBUGFS/trace ] || switch 0' EXIT
fi

ktap_print_header
plan 11
run all_functions_are_probed
run off_is_silent
run switch_refuses_nonsense
run timeline_has_them
run_with "$(command -v ibv_devinfo || echo ibv_devinfo)" "install ibverbs-utils" \
	timeline_of_a_command
run_with "$(command -v trace-cmd || echo trace-cmd)" "install trace-cmd" timeline_of_a_trace_dat
run provider_comes_and_goes
run provider_comes_later
run destroyed_once
run_with "$MODULE" "set UOBJSCOPE_KO to uobjscope.ko" module_goes_while_it_is_on
run_with "$MODULE" "set UOBJSCOPE_KO to uobjscope.ko" without_registry
ktap_finished
