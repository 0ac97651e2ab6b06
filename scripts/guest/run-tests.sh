# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Run the programs that /uobjscope/tests lists, one after the other, through the
# kernel's own run_kselftest.sh.  Sourced by init.
#
# What is said to the runner:
#   @boot RELEASE SECONDS   @loaded MILLISECONDS   @failed WHAT
#   @begin PROGRAM TIMEOUT  @end PROGRAM           @taint PROGRAM OLD NEW
#   @locks PROGRAM          lockdep gave up, the rest needs a fresh guest
# and on a third serial line @alive every few seconds, so that a hang is seen.

# Reports must be as frequent as their causes, and come before the tests' own timeouts.
set_if_there()
{
	[ ! -w "$2" ] || echo "$1" > "$2"
}

fresh_start()
{
	set_if_there 1 /sys/kernel/debug/clear_warn_once
	set_if_there -1 /proc/sys/kernel/hung_task_warnings
	set_if_there 30 /proc/sys/kernel/hung_task_timeout_secs
}

lockdep_is_on()
{
	[ ! -e /proc/lockdep_stats ] || grep -q 'debug_locks: *1' /proc/lockdep_stats
}

timeout_of()	# PROGRAM: what its settings file asks for
{
	t=$(sed -n 's/^timeout=//p' "/uobjscope/install/${1%%:*}/settings" 2>/dev/null)
	echo "${t:-45}"
}

read -r up _ < /proc/uptime
echo "@boot $(uname -r) $up"
# On a line of its own, where it cannot come between two halves of a result.
(while sleep 3; do echo "@alive"; done > /dev/ttyS2) &

# shellcheck source=scripts/guest/load.sh
[ -z "$vhca_parameters" ] || . /uobjscope/load.sh

cd /uobjscope/install || exit
while read -r test only; do
	fresh_start
	read -r old < /proc/sys/kernel/tainted
	echo "@begin $test $(timeout_of "$test")"
	echo "uobjscope: program ${test#*:}" > /dev/kmsg
	if [ -n "$only" ]; then
		variable=KSELFTEST_$(echo "${test#*:}" | tr '[:lower:]' '[:upper:]' | tr -c '[:alnum:]\n' _)_ARGS
		export "$variable=-t $only"
	fi
	# Not straight to the port: the script opens its output again by name.
	./run_kselftest.sh -t "$test" 2>&1 < /dev/null | cat
	[ -z "$only" ] || unset "$variable"
	echo "uobjscope: program-end ${test#*:}" > /dev/kmsg
	read -r new < /proc/sys/kernel/tainted
	[ "$old" = "$new" ] || echo "@taint $test $old $new"
	echo "@end $test"
	if ! lockdep_is_on; then
		echo "@locks $test"
		break
	fi
done < /uobjscope/tests
