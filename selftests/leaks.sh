#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What "uobjscope leaks" says of programs that leave something behind, and of one that does
# not.  That of a correct program on a kernel that leaks is in known.c, with what it leaves.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

TRACEFS=/sys/kernel/tracing

# leaks STATUS WORD...: run it; what it said is in the files out and err of $w.
leaks()
{
	expected=$1
	shift
	# Of a test that has failed: it would hold what this one is told of, and the output.
	release || return 1
	uobjscope leaks "$@" > "$w/out" 2> "$w/err"
	status=$?
	[ $status = "$KSFT_SKIP" ] && [ "$expected" != 4 ] && grep -q 'status 4$' "$w/err" && {
		echo "no dma-bufs of device memory here"
		exit "$KSFT_SKIP"
	}
	[ $status = "$expected" ] && return
	echo "expected status $expected, got $status:"
	cat "$w/err" "$w/out"
	return 1
}

# The process that a story has left does what it has forgotten.
release()
{
	[ -e "$w/pid" ] || return 0
	pid=$(cat "$w/pid")
	rm "$w/pid"
	kill "$pid" && wait_for "end of the process that was left" gone "$pid"
}

gone() { [ ! -e "/proc/$1/fd/0" ]; }

# The page of the device's clock is mapped by every context, and not tracked; without PTP there
# is none.
has_clock_page() { [ -n "$(ls /sys/class/ptp 2> /dev/null)" ]; }

# block TITLE: the lines of the object whose first line has that, an expression.
block() { sed -n "/^$1/,/^\$/p" "$w/out"; }

# says TITLE EXPRESSION...: the object is there, and its lines have each of them.
says()
{
	title=$1
	shift
	[ "$(grep -c "^$title" "$w/out")" = 1 ] || {
		echo "expected one object '$title' in:"
		cat "$w/out"
		return 1
	}
	for s in "$@"; do
		block "$title" | grep -qE -- "$s" && continue
		echo "expected '$s' of '$title' in:"
		block "$title"
		return 1
	done
}

# is_kept_by TITLE EXPRESSION: by that, and by nothing else.
is_kept_by()
{
	says "$1" "^  kept by $2" && [ "$(block "$1" | grep -c '^  kept by')" = 1 ] && return
	echo "expected '$1' to be kept by '$2' alone:"
	block "$1"
	return 1
}

# All that is left has its birth, with the way to it, and no reference is unexplained but the
# context's own to its event file.
all_is_told()
{
	objects=$(grep -c '^[a-z].*, opened by' "$w/out")
	births=$(grep -c "^  born [0-9.]* by [0-9]* ($1), " "$w/out")
	stacks=$(grep -A 1 '^  born' "$w/out" | grep -c '^      [a-z_0-9.]')
	if [ "$objects" = 0 ] || [ "$births" != "$objects" ] || [ "$stacks" != "$objects" ]; then
		echo "$objects objects, of which $births have a birth and $stacks a stack:"
		cat "$w/out"
		return 1
	fi
	if block 'uobject .* type ASYNC_EVENT' | grep -q 'unexplained 1' &&
	   [ "$(grep -c '^    unexplained [1-9]' "$w/out")" = 1 ]; then
		return
	fi
	echo "expected one unexplained reference, to the event file:"
	cat "$w/out"
	return 1
}

nothing_is_left()
{
	leaks 0 -- "$DIR/leaver" nothing || return 1
	grep -qx "nothing is left by $DIR/leaver" "$w/out" && [ ! -s "$w/err" ] && return
	cat "$w/err" "$w/out"
	return 1
}

# A dma-buf, and the memory behind it, are there by one descriptor.
forgotten_dmabuf()
{
	leaks 1 -- "$DIR/leaver" dmabuf "$w/pid" || return 1
	who="pid $(cat "$w/pid") \(leaver\)"
	fd=$(block 'dma-buf ino' | sed -n 's/^    fd .* fd \([0-9]*\)$/\1/p')
	readlink "/proc/$(cat "$w/pid")/fd/$fd" | grep -q dmabuf ||
		{ echo "fd '$fd' is no dma-buf in:"; cat "$w/out"; return 1; }
	is_kept_by 'dma-buf ino' "fd $who fd $fd\$" &&
		is_kept_by 'mmap entry .* kind MEMIC' "fd $who fd $fd\$" &&
		says 'dma-buf ino' '^  file_ref 1$' '^      dmabuf_export [0-9.]* by [0-9]* ' \
			'^      ib_uverbs_ioctl$' &&
		says 'mmap entry .* kind MEMIC' '^    uobject .* type DMABUF' \
			'^      .*UVERBS_METHOD_DM_ALLOC' &&
		says 'ufile' "^  kept by fd $who fd [0-9]+\$" &&
		{ ! has_clock_page || says 'ufile' '^    mapping that the RDMA core'; } &&
		is_kept_by 'uobject .* type PD' "ufile [0-9]+, which is open, of $who" &&
		all_is_told leaver && release
}

# They are there by an MR, which is there until somebody destroys it.
forgotten_mr()
{
	leaks 1 -- "$DIR/leaver" mr "$w/pid" || return 1
	who="pid $(cat "$w/pid") \(leaver\)"
	mrn=$(block 'uobject .* type PD' | sed -n 's/.* type MR .* mrn \([0-9]*\)$/\1/p')
	[ -n "$mrn" ] || { echo "the PD is not held by an MR:"; cat "$w/out"; return 1; }
	mr="attachment .*, MR mrn $mrn lkey 0x[0-9a-f]+ on .* $who\$"
	is_kept_by 'dma-buf ino' "$mr" && is_kept_by 'mmap entry .* kind MEMIC' "$mr" &&
		says 'dma-buf ino' '^      dmabuf_attach [0-9.]* by [0-9]* ' &&
		is_kept_by 'uobject .* type MR' "ufile [0-9]+, which is open, of $who" &&
		says 'uobject .* type MR' '^      ib_uverbs_ioctl$' &&
		all_is_told leaver && release
}

# What others make meanwhile is theirs.
others_are_left_out()
{
	uobjscope leaks -- sh -c ": > '$w/started'; sleep 1.5" > "$w/out" 2> "$w/err" &
	run=$!
	wait_for "the command" test -e "$w/started" || return 1
	hold_begin "$DIR/many" hold var=1 || return 1
	wait $run
	status=$?
	hold_end || return 1
	[ $status = 0 ] && grep -q 'that other processes made meanwhile are left out' "$w/err" &&
		return
	echo "expected status 0 and a note, got $status:"
	cat "$w/err" "$w/out"
	return 1
}

instance_there() { [ -n "$(find $TRACEFS/instances -name 'uobjscope-leaks-*')" ]; }

# Of a task that is called what looks like an event.
json()
{
	cp "$DIR/leaver" "$w/x: vma_open: y"
	leaks 1 -j -- "$w/x: vma_open: y" dmabuf "$w/pid" || return 1
	untracked='"holder": "untracked mapping"'
	has_clock_page || untracked='"holder": "mapping"'
	for s in "$untracked" '"status": 0' '"births_known": true' '"events_lost": 0' '"object": "dmabuf"' \
		'"event": "dmabuf_export"' '"comm": "x: vma_open: y"' '"stack": \[' \
		'"kept_by": \[' '"ib_uverbs_ioctl"'; do
		grep -q "$s" "$w/out" || { echo "no $s in:"; cat "$w/out"; return 1; }
	done
	release
}

statuses()
{
	leaks 4 -- false && grep -q 'note: the command ended with status 1' "$w/err" || return 1
	leaks 3 -- "$w/not-there" && grep -q 'cannot run: No such file' "$w/err" || return 1
	# shellcheck disable=SC2016
	leaks 4 -- sh -c 'kill -9 $$' && grep -q 'ended by signal 9' "$w/err" || return 1
	leaks 2 && grep -q 'leaks: expected a command to run' "$w/err"
}

# Whatever became of them, the tracing is as it was.
nothing_of_itself()
{
	leaks 0 -- true || return 1
	[ "$(cat $SCOPE_DEBUGFS/trace)" = 1 ] || { echo "the events are off"; return 1; }
	echo 0 > $SCOPE_DEBUGFS/trace
	leaks 0 -- true || return 1
	[ "$(cat $SCOPE_DEBUGFS/trace)" = 0 ] || { echo "the events are on"; return 1; }
	! instance_there || { ls $TRACEFS/instances; return 1; }
}

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -e $SCOPE_DEBUGFS/trace ] || skip_all "no $SCOPE_DEBUGFS/trace: load uobjscope.ko"
[ -d $TRACEFS/instances ] || skip_all "no $TRACEFS: mount -t tracefs none $TRACEFS"
command -v uobjscope > /dev/null || skip_all "no uobjscope command: see user/"
ibdev_there || skip_all "no RDMA device: load mlx5_vhca.ko"
if [ -z "$listing" ]; then
	had=$(cat $SCOPE_DEBUGFS/trace)
	# It stays on, which spares each run the registration of the probes.
	echo 1 > $SCOPE_DEBUGFS/trace || skip_all "no lifetime events: see the kernel log"
	w=$(mktemp -d)
	trap 'release; rm -rf "$w"; echo "$had" > $SCOPE_DEBUGFS/trace' EXIT
fi

ktap_print_header
plan 7
run nothing_is_left
run forgotten_dmabuf
run forgotten_mr
run others_are_left_out
run json
run statuses
run nothing_of_itself
ktap_finished
