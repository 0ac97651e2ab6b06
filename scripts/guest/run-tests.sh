# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Run the programs that /uobjscope/tests lists, one after the other, through the
# kernel's own run_kselftest.sh.  Sourced by init.
#
# A line is COLLECTION:PROGRAM, then the round as @N if there are several, then the
# program's arguments.  Results have the name with the round: PROGRAM@N.  STRESS, in
# minutes, is more time for each.
#
# What is said to the runner:
#   @boot RELEASE SECONDS   @loaded MILLISECONDS   @failed WHAT
#   @begin PROGRAM TIMEOUT  @end PROGRAM           @taint PROGRAM OLD NEW
#   @locks PROGRAM          lockdep gave up, the rest needs a fresh guest
#   @leak PROGRAM[,PROGRAM...] SIZE FUNCTION...   kmemleak's finding after these programs,
#                           the inner function first
#   @events PROGRAM BASE64   a part of the gzipped events of a program that has failed
#   @coverage BASE64        a part of an archive of gcov's files (with COVERAGE=1)
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

timeout_of()	# PROGRAM: what its settings file asks for; a kernel may be SLOW times slower
{
	t=$(sed -n 's/^timeout=//p' "/uobjscope/install/${1%%:*}/settings" 2>/dev/null)
	echo $((${t:-45} * ${SLOW:-1} + ${STRESS:-0} * 60))
}

kmemleak=/sys/kernel/debug/kmemleak

# A scan takes as long as many a program: it is done when so many seconds have gone by since
# the last one, and at the end.
leak_seconds=${LEAK_SECONDS:-60}
leak_group='' leak_since=0

uptime_seconds()
{
	read -r up _ < /proc/uptime
	echo "${up%.*}"
}

# What was there before, of others, is none of the next group's.
forget_leaks()
{
	[ -w $kmemleak ] && [ -z "$leak_group" ] || return 0
	echo clear > $kmemleak
	leak_since=$(uptime_seconds)
}

find_leaks()	# PROGRAM, last if it is the last one
{
	[ -w $kmemleak ] || return 0
	leak_group=$leak_group${leak_group:+,}$1
	[ -n "${2:-}" ] || [ $(($(uptime_seconds) - leak_since)) -ge "$leak_seconds" ] || return 0
	# What is younger than five seconds is not looked at; and what waits for a grace
	# period, or for a worker, is not leaked.
	sleep 6
	# The runner judges each by itself.
	echo "uobjscope: expect kmemleak: " > /dev/kmsg
	echo scan > $kmemleak
	awk -v program="$leak_group" '
		/^unreferenced object/ { say(); size = $5; gsub(/[^0-9]/, "", size) }
		/^    \[</ { sub(/.*>\] */, ""); stack = stack " " name() }
		/^    [a-zA-Z_][a-zA-Z0-9_.]*\+0x/ { stack = stack " " name() }
		function name() { sub(/^ */, ""); sub(/[+].*/, ""); return $1 }
		function say() {
			if (size)
				print "@leak " program " " size stack
			size = stack = ""
		}
		END { say() }' $kmemleak
	leak_group=
}

# What gcov has counted, of modules that were unloaded as well.  Its files have no size
# before they are read.
send_coverage()
{
	mkdir -p /tmp/coverage
	find /sys/kernel/debug/gcov -name '*.gcda' | while read -r f; do
		to=/tmp/coverage/${f#/sys/kernel/debug/gcov/}
		mkdir -p "${to%/*}"
		cat "$f" > "$to"
	done
	tar -C /tmp/coverage -c . | gzip | base64 -w 960 | sed 's/^/@coverage /'
}

read -r up _ < /proc/uptime
echo "@boot $(uname -r) $up"
# On a line of its own, where it cannot come between two halves of a result.
(while sleep 3; do echo "@alive"; done > /dev/ttyS2) &

# shellcheck source=scripts/guest/load.sh
[ -z "$vhca_parameters" ] || . /uobjscope/load.sh

# shellcheck source=scripts/guest/record.sh
. /uobjscope/record.sh

cd /uobjscope/install || exit
to_come=$(wc -l < /uobjscope/tests)
while read -r test arguments; do
	to_come=$((to_come - 1))
	fresh_start
	name=$test
	case $arguments in
	@*)
		name=$test${arguments%% *}
		case $arguments in *" "*) arguments=${arguments#* } ;; *) arguments= ;; esac
		;;
	esac
	timeout=$(timeout_of "$test")
	read -r old < /proc/sys/kernel/tainted
	echo "@begin $name $timeout"
	echo "uobjscope: program ${name#*:}" > /dev/kmsg
	if [ -n "$arguments" ]; then
		variable=KSELFTEST_$(echo "${test#*:}" | tr '[:lower:]' '[:upper:]' | tr -c '[:alnum:]\n' _)_ARGS
		export "$variable=$arguments"
	fi
	# Not straight to the port: the script opens its output again by name.
	forget_leaks
	begin_recording "$name"
	./run_kselftest.sh -o "$timeout" -t "$test" 2>&1 < /dev/null | tee /tmp/said
	last=
	# A fresh guest takes the rest if lockdep has given up.
	[ $to_come != 0 ] && lockdep_is_on || last=last
	find_leaks "$name" $last
	[ -z "$arguments" ] || unset "$variable"
	echo "uobjscope: program-end ${name#*:}" > /dev/kmsg
	read -r new < /proc/sys/kernel/tainted
	[ "$old" = "$new" ] || echo "@taint $name $old $new"
	failed=$(grep -m 1 -E '^(# )*not ok' /tmp/said)
	[ "$old" = "$new" ] || failed=tainted
	end_recording "$name" "$failed"
	echo "@end $name"
	if ! lockdep_is_on; then
		echo "@locks $name"
		break
	fi
done < /uobjscope/tests
[ -z "${COVERAGE:-}" ] || send_coverage
