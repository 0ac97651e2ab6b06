#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# All that continuous integration runs: static checks, tests of the scripts, tests
# of the runner, then the suite on one lane after the other.  Ends with one summary
# over all of them; a part that is not run is named there with the reason.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"
cd "$TOP"

w=$(mktemp -d)
trap 'kill $(jobs -p) 2> /dev/null || :; rm -rf "$w"' EXIT
known=() notes=() rows=()

row()		# NAME PASSED FAILED SKIPPED
{
	rows+=("$(printf '%-12s %7s %7s %8s' "$@")")
	passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
}

# begin NAME COMMAND...: a part that counts with tally.sh, beside what follows.
begin()
{
	local name=$1
	shift
	{
		TALLY=$w/$name.tally "$@" && rc=0 || rc=$?
		echo "$rc" > "$w/$name.status"
	} > "$w/$name.out" 2>&1 < /dev/null &
	begun=$!
}

# end NAME: what a part has said, and its result.
end()
{
	local name=$1 rc
	wait "$begun"
	read -r rc < "$w/$name.status"
	echo "== $name"
	cat "$w/$name.out"
	counted "$name" "$rc"
}

# part NAME COMMAND...: a part by itself, seen while it goes on.
part()
{
	local name=$1 rc=0
	shift
	echo "== $name"
	TALLY=$w/$name.tally "$@" || rc=$?
	counted "$name" "$rc"
}

counted()	# NAME STATUS
{
	local name=$1 rc=$2 p f s
	if read -r p f s 2> /dev/null < "$w/$name.tally"; then
		row "$name" "$p" "$f" "$s"
	else
		notes+=("$name: ended with status $rc and without a result")
		row "$name" 0 1 0
	fi
}

# lane NAME [PROGRAM...]: the suite on that kernel, or those programs of it.
lane()
{
	local name=$1 rc=0 p f s k
	shift
	echo "== lane $name"
	# Not to be taken for this run's, should it end without any.
	rm -f results/latest
	# Of coming and going, of which cycles.sh and observe_events.sh have 20 rounds, fewer,
	# and idle.sh looks for two seconds in place of five: all of this is to end in 20
	# minutes.
	APPEND="ROUNDS=3 RELOADS=5 MEASURE=2 ${APPEND:-}" python3 scripts/runner/run.py --kernel "$name" "$@" || rc=$?
	if [ "$rc" = 125 ] || [ ! -e results/latest/totals.json ]; then
		notes+=("lane $name: the lab could not be built or booted (status $rc)")
		row "lane $name" 0 1 0
	else
		read -r p f s k < <(python3 - results/latest/totals.json <<-'PY'
			import json, sys
			t = json.load(open(sys.argv[1]))
			print(t["passed"], t["failed"], t["skipped"], *t["known"])
			PY
		)
		# A run that did not end well is never green, whatever it counted.
		[ "$rc" = 0 ] || [ "$f" -gt 0 ] || f=1
		row "lane $name" "$p" "$f" "$s"
		for fault in $k; do known+=("$name:$fault"); done
		[ "$rc" != 2 ] || notes+=("lane $name: the guest's kernel panicked")
		[ "$rc" != 3 ] || notes+=("lane $name: the guest hung")
	fi
}

"$LAB/host-packages.sh" test
# What all parts want, made once and seen while it is.
"$LAB/kernel.sh" > /dev/null
"$LAB/initramfs.sh" > /dev/null
# Of other series, which cost a minute each, make matrix has the same.
LINT_SERIES=7.2 part lint scripts/lint.sh
# Half of this one's time goes by in guests that hang.
begin runner scripts/runner/tests/run.sh
part host scripts/test-host.sh
end runner
lane 7.2
# What the allocator's and KASAN's checks are for, first of all; the tests of our own devices
# and observers, which take as long, are run with them by make run.  The last number is of
# passes, so that a lane in which all is skipped is not green.
# Of the known faults the one that shows there and nowhere else.
topics=(var mmap_entry uobject var_share dm sw_icm dm_share dmabuf attach storms
	known:l27_devx_event_read known_crash known_crash_importer)
# Those that the debug lane has, where there is one.
on_debug=(process_death disassociate)
KERNEL=7.2-debug "$LAB/kernel.sh" is-there || topics+=("${on_debug[@]}")
lane slab "${topics[@]}" --at-least 250
notes+=("lane slab: the topics only: make run KERNEL=slab runs all")
# Of the debug lane those in which most ends while something else goes on.
if [ -n "${DEBUG:-}" ]; then
	lane debug
elif KERNEL=7.2-debug "$LAB/kernel.sh" is-there || [ $SECONDS -lt $(((75 - 40) * 60)) ]; then
	lane debug "${on_debug[@]}" --at-least 220
	notes+=("lane debug: some topics only: make run KERNEL=debug, or make test DEBUG=1, runs all")
else
	notes+=("lane debug: not run, its kernel is not built and $SECONDS s have gone by: make debug")
fi
notes+=("lint of 7.3: not run, it takes a minute more: make lint")
notes+=("machines: not run, they take seven minutes more: make test-machines")
notes+=("slow faults: not run, they wait for the driver's patience to end: make test-faults")
notes+=("skips: not run, they take some minutes more: make test-skips")
notes+=("in a kernel tree: not tried, it is built there twice: make in-tree-test")
notes+=("packages: not made, they want a root file system of their own: make package-test")

echo
printf '%-12s %7s %7s %8s\n' part passed failed skipped
printf '%s\n' "${rows[@]}"
printf 'note: %s\n' "${notes[@]}"
[ ${#known[@]} = 0 ] || echo "known faults seen: ${known[*]}"
tally_end
