#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests of the uobjscope command that need no kernel.
#
# cli.sh PROGRAM PLAIN-PROGRAM SCRATCH: PROGRAM is built with sanitizers, the
# plain one is for what these do not bear.  Prints one line for each test.

program=$1
plain=$2
scratch=$3
here=$(cd "$(dirname "$0")" && pwd)
samples=$here/samples
failed=0
export LC_ALL=C.UTF-8
unset COLUMNS

run()		# ARGUMENT...: leaves out, err and status behind
{
	"$program" "$@" > "$scratch/out" 2> "$scratch/err" < "${stdin:-/dev/null}"
	status=$?
	out=$(cat "$scratch/out")
	err=$(cat "$scratch/err")
}

fail()
{
	[ -n "$why" ] || why=$*
}

expect_status()
{
	[ "$status" = "$1" ] || fail "status $status, expected $1: $err"
}

expect_out()
{
	[[ $out == *"$1"* ]] || fail "no '$1' in the output"
}

expect_no_out()
{
	[ ! -s "$scratch/out" ] || fail "output though it failed: ${out:0:60}"
}

# One line that begins with the program's name and says this.
expect_error()
{
	[[ $err == "uobjscope: "* && $(wc -l < "$scratch/err") == 1 ]] ||
		fail "not one line of error: $err"
	[[ $err == *"$1"* ]] || fail "no '$1' in: $err"
}

end()		# NAME
{
	if [ -z "$why" ]; then
		echo "ok cli.$1"
	else
		echo "not ok cli.$1 # ${why//$'\n'/ }"
		failed=1
	fi
	why=
}

skip()		# NAME REASON
{
	echo "ok cli.$1 # SKIP $2"
	why=
}

live=(-f "$samples/live.txt" --fds "$samples/live.fds")
unbound=(-f "$samples/unbound.txt" --fds "$samples/unbound.fds")

# ---- bad input

refuses()	# NAME FILE MESSAGE
{
	local command
	for command in show tree "save $scratch/never" "holders ino:3"; do
		# shellcheck disable=SC2086
		run -f "$2" $command
		expect_status 3
		expect_no_out
		expect_error "$3"
	done
	run diff "$samples/live.txt" "$2"
	expect_status 3
	expect_no_out
	run diff "$2" "$samples/live.txt"
	expect_status 3
	[ ! -e "$scratch/never" ] || fail "save made a file of it"
	end "refuses.$1"
}

printf '' > "$scratch/empty"
refuses empty "$scratch/empty" "empty, expected 'uobjscope v=1'"
refuses foreign "$here/cli.sh" "not a uobjscope snapshot"
refuses binary "$plain" "not a uobjscope snapshot"
refuses old-format "$samples/old-format.txt" "begins with 'scope', expected 'uobjscope v=1'"
refuses other-version "$samples/version-2.txt" "version 2 of the format, expected version 1"
refuses fds-alone "$samples/live.fds" "no 'uobjscope v=1' text"
refuses info "$samples/info.txt" "no 'uobjscope v=1' text"
refuses missing "$scratch/not-there" "cannot open: No such file or directory"
refuses folder "$samples" "cannot read: Is a directory"
sed 's/deref=0/deref=0\r/' "$samples/live.txt" > "$scratch/dos"
refuses carriage-return "$scratch/dos" "byte 0x0d"

run --fds "$samples/live.txt" -f "$samples/live.txt" show
expect_status 3
expect_no_out
end refuses.snapshot-as-fds

stdin=/dev/zero
SECONDS=0
run -f - show
expect_status 3
expect_error "standard input: not a uobjscope snapshot"
[ $SECONDS -lt 10 ] || fail "took $SECONDS s"
stdin=
end refuses.endless-at-once

run "${live[@]}" save "$scratch/saved"
expect_status 0
lines=$(wc -l < "$scratch/saved")
for ((n = 0; n < lines; n++)); do
	head -n "$n" "$scratch/saved" > "$scratch/part"
	run -f "$scratch/part" show
	expect_status 3
	expect_no_out
	sed "$((n + 1))d" "$scratch/saved" > "$scratch/part"
	run -f "$scratch/part" show
	expect_status 3
	expect_no_out
done
[ "$lines" -gt 30 ] || fail "only $lines lines"
end refuses.cut-at-every-line

run "${live[@]}" -d mlx5_7 show
expect_status 3
expect_no_out
expect_error "no RDMA device 'mlx5_7', expected one of: mlx5_0"
run -d mlx5_7 diff "$samples/live.txt" "$samples/freed.txt"
expect_status 3
end unknown-device

# ---- the running kernel

mkdir -p "$scratch/scope/mlx5_0"
cp "$samples/live.txt" "$scratch/scope/snapshot"
cp "$samples/live.txt" "$scratch/scope/mlx5_0/snapshot"
cp "$samples/live.fds" "$scratch/scope/fds"
kernel=(--debugfs "$scratch/scope")

run "${kernel[@]}" holders ino:3
expect_status 0
expect_out "pid 156 (peer) fd 9"
run "${kernel[@]}" -d mlx5_0 show
expect_status 0
run "${kernel[@]}" -d uverbs0 show ufile
expect_status 0
expect_out nocontext
run "${kernel[@]}" -d mlx5_7 show
expect_status 3
expect_error "no RDMA device 'mlx5_7'"
run "${kernel[@]}" -d ../scope/mlx5_0 show
expect_status 3
expect_error "no RDMA device"
end kernel.folder

# Two devices that do not fit: what there is of the others is shown.
cp "$samples/refused.txt" "$scratch/scope/snapshot"
run "${kernel[@]}" show ufile
expect_status 0
expect_out rxe0
expect_error "note: 2 device(s) were refused by the layout guard, nothing of them is here"
run -f "$samples/live.txt" show ufile
[ -z "$err" ] || fail "refused though none is: $err"
end kernel.refused-is-said

cp "$samples/later-keys.txt" "$scratch/scope/snapshot"
run "${kernel[@]}" show ufile
expect_status 0
expect_error "note: 1 ufile(s) changed while they were read"
end kernel.changed-is-said

rm "$scratch/scope/fds"
run "${kernel[@]}" holders pid:5
expect_status 1
[[ $err == *"it has no file descriptors"* ]] || fail "$err"
end kernel.without-fds

run --debugfs "$scratch/nowhere" show
expect_status 3
expect_error "expected the folder of uobjscope.ko"
end kernel.no-folder

rm "$scratch/scope/snapshot"
run "${kernel[@]}" show
expect_status 3
expect_error "$scratch/scope/snapshot: cannot open"
end kernel.no-file

if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null; then
	# The program and the folder above must be reachable, the folder itself must not.
	open=$(mktemp -d /tmp/uobjscope.XXXXXX)
	chmod 755 "$open"
	mkdir -m 700 "$open/debug" "$open/debug/uobjscope"
	cp "$plain" "$open/program"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$open/program" \
		--debugfs "$open/debug/uobjscope" show > "$scratch/out" 2> "$scratch/err"
	status=$?
	err=$(cat "$scratch/err")
	rm -r "$open"
	expect_status 3
	expect_no_out
	expect_error "Permission denied: expected to be run as root"
	end kernel.not-root
else
	skip kernel.not-root "must be root, and have setpriv, to become somebody else"
fi

# In a mount name space of our own /sys/kernel/debug is whatever we want.
mounts()	# COMMAND...
{
	unshare -m sh -c "$* && exec \"\$0\" show" "$program" > "$scratch/out" 2> "$scratch/err"
	status=$?
	err=$(cat "$scratch/err")
}
if unshare -m mount -t tmpfs none /sys/kernel/debug 2> /dev/null; then
	mounts mount -t tmpfs none /sys/kernel/debug
	expect_status 3
	expect_error "debugfs is not mounted, expected: mount -t debugfs"
	end kernel.no-debugfs
else
	skip kernel.no-debugfs "cannot mount anything on /sys/kernel/debug"
fi
if unshare -m mount -t debugfs none /sys/kernel/debug 2> /dev/null &&
   [ ! -e /sys/kernel/debug/uobjscope ]; then
	mounts mount -t debugfs none /sys/kernel/debug
	expect_status 3
	expect_error "uobjscope.ko is not loaded, expected: modprobe uobjscope"
	end kernel.no-module
else
	skip kernel.no-module "cannot mount debugfs, or the module is loaded"
fi

# ---- usage

usage()		# MESSAGE ARGUMENT...
{
	local message=$1
	shift
	run "$@"
	expect_status 2
	expect_no_out
	[[ $err == *"$message"* ]] || fail "no '$message' in: $err"
}

usage "no command"
usage "expected one of show, tree, diff, save, watch, holders, timeline" frobnicate
usage "expected one of var, dm" show frobnicate
usage "expected one of var, dm" show attach
usage "expected at most one of" show var dm
usage "expected no argument" tree var
usage "expected two files" diff "$samples/live.txt"
usage "expected two files" diff a b c
usage "expected two files and no -f" diff -f x a b
usage "expected one file" save
usage "expected one of ino:N" holders
usage "expected at most one file, or -- and a command" timeline a b
usage "leaks: expected a command to run, after --" leaks
usage "leaks: expected a command to run, after --" leaks true
usage "leaks: expected a command to run, after --" leaks ls -j
usage "leaks: expected a command to run, after --" leaks --
usage "leaks: expected a command to run, after --" leaks env -- ls
usage "leaks: expected a command to run, after --" -- leaks ls
usage "leaks: expected no -f and no --fds" -f x leaks -- true
usage "leaks: expected no -f and no --fds" --fds x leaks -- true
usage "expected no -n and no --count" --count 1 leaks -- true
usage "expected a file, and no -d" timeline --json
usage "expected at most one file" timeline a -- b
usage "expected perfetto, svg or html" timeline --format=png "$samples/trace.txt"
usage "expected time or order" timeline --axis=length "$samples/trace.txt"
usage "these are for timeline" show --format=svg
usage "these are for timeline" "${live[@]}" --axis=order tree
usage "expected a file, and no -d" timeline -f "$samples/live.txt"
usage "no -n and no --count" show -n 1
usage "from 0.01 to 86400" watch -n 0
usage "from 0.01 to 86400" watch -n nan
usage "from 1 on" watch --count 0
usage "from 1 on" watch --count -1
usage "either -f or --debugfs" -f x --debugfs y show
usage "names no object, expected ino:N" "${live[@]}" holders 3
usage "read again" watch -f -
usage "read again" watch --fds -
mkfifo "$scratch/once"
usage "once: expected a regular file, which watch can read again" watch -f "$scratch/once"
usage "once: expected a regular file, which watch can read again" \
	-f "$samples/live.txt" watch --fds "$scratch/once"
usage "/dev/null: expected a regular file" watch -f /dev/null
usage "nonsense" --nonsense
end usage

for option in -h --help --usage; do
	run $option
	expect_status 0
	expect_out uobjscope
done
run --version
expect_status 0
[[ $out =~ ^uobjscope\ [0-9]+\.[0-9]+ ]] || fail "$out"
end help-and-version

# ---- what it prints

for what in "" ufile uobj var dm dmabuf mmap; do
	run "${live[@]}" show $what
	expect_status 0
	[ "$(wc -l < "$scratch/out")" -ge 2 ] || fail "show $what prints nothing"
	! grep -q '[[:blank:]]$' "$scratch/out" || fail "blanks at the end of a line"
done
run "${live[@]}" show var
[[ $out =~ UFILE.*ENTRY_REF.*2\ +1\ +VAR\ +0\ +1\ +2\ +0\ +live\ +0x90001\ +2\ +1\ +0\ +0 ]] ||
	fail "$out"
run -f "$samples/freed.txt" show var
[[ $out =~ 2\ +-\ +VAR\ +0\ +1\ +-\ +-\ +-\ +0x90001\ +1\ +1\ +0\ +1 ]] ||
	fail "the entry that outlives its VAR: $out"
run "${live[@]}" show dm
[[ $out =~ memic\ +8192\ +0x62000000\ +2\ +live\ +2\ +1\ +1\ +0x80000\ +4\ +1\ +2 ]] ||
	fail "$out"
end show

for command in show tree "holders ufile:3"; do
	# shellcheck disable=SC2086
	run "${live[@]}" $command
	! LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f\x7f]' "$scratch/out" ||
		fail "$command prints control characters"
done
run "${live[@]}" show ufile
expect_out 'a b=c%25d%0A'
end no-control-characters

COLUMNS=40 run "${live[@]}" show
[ "$(wc -L < "$scratch/out")" -gt 100 ] || fail "cut though it is piped"
[ -z "$err" ] || fail "$err"
end piped-is-not-cut

if command -v script > /dev/null; then
	for columns in 20 60 80 100; do
		for command in show "show var" "show dm" "show mmap" tree; do
			script -qec "stty cols $columns; $plain -f $samples/live.txt --fds $samples/live.fds $command" \
				/dev/null < /dev/null > "$scratch/out" 2>&1
			grep -v 'left out' "$scratch/out" | tr -d '\r' > "$scratch/lines"
			[ "$(wc -l < "$scratch/lines")" -ge 2 ] || fail "$command prints nothing"
			[ "$(wc -L < "$scratch/lines")" -le $columns ] ||
				fail "$command: $(wc -L < "$scratch/lines") columns on a terminal of $columns"
		done
	done
	script -qec "stty cols 200; COLUMNS=70 $plain -f $samples/live.txt show dm" /dev/null \
		< /dev/null | tr -d '\r' > "$scratch/out"
	grep -q 'left out for want of room' "$scratch/out" || fail "does not say what is left out"
	[ "$(grep -v 'left out' "$scratch/out" | wc -L)" -le 70 ] || fail "COLUMNS is not heeded"
	end fits-the-terminal
else
	skip fits-the-terminal "no script(1) to make a terminal"
fi

run "${live[@]}" tree
[ "$(grep -c ' uobj ' "$scratch/out")" = 11 ] || fail "not every uobject once"
[ "$(grep -c ' mmap ' "$scratch/out")" = 4 ] || fail "not every entry once"
[ "$(grep -c ' vma ' "$scratch/out")" = 4 ] || fail "not every mapping once"
[ "$(grep -c ' fd ' "$scratch/out")" = 5 ] || fail "not every fd once"
LC_ALL=C run "${live[@]}" tree
! LC_ALL=C grep -q '[^ -~]' "$scratch/out" || fail "not ASCII in the C locale"
run "${unbound[@]}" tree
[ "$(grep -c 'ufile id=' "$scratch/out")" = 2 ] || fail "ufiles without a device are lost"
[ "$(grep -c 'fd .*pid=' "$scratch/out")" = 5 ] || fail "not every fd once after unbind"
sed '/^ufile id=2/d; s/^end records=23/end records=22/; /^device/s/mlx5_0/mlx5_5/' \
	"$samples/live.txt" > "$scratch/strays"
run -f "$scratch/strays" tree
expect_status 0
[ "$(grep -c 'ufile=2' "$scratch/out")" = 20 ] || fail "strays are lost"
[ "$(grep -c 'ufile id=3' "$scratch/out")" = 1 ] || fail "a ufile of an unlisted device is lost"
end tree

run diff "$samples/live.txt" "$samples/live.txt"
expect_status 0
expect_out "0 added, 0 removed, 0 changed"
run diff "$samples/live.txt" "$samples/freed.txt"
expect_status 1
expect_out "+ uobj ufile=2 type=COMP_CHANNEL"
expect_out "- uobj ufile=2 type=MLX5_VAR type_id=0x1006 class=idr handle=1"
expect_out "~ mmap ufile=2 pgoff=0x90001: ref 2 -> 1, driver_removed 0 -> 1"
expect_out "1 added, 1 removed, 2 changed"
[ -z "$err" ] || fail "$err"
run diff "$samples/freed.txt" "$samples/live.txt"
expect_status 1
expect_error "the first snapshot is the later one"
run diff "$samples/live.txt" "$samples/later-keys.txt"
[[ $err == *"two kernels"* ]] || fail "$err"
end diff

run "${live[@]}" holders ino:3
expect_status 0
expect_out "file_ref 4"
expect_out "fd          pid 155 (m6) fd 5"
expect_out "MR mrn 3 lkey 0x10304 on mlx5_0 of ufile 2 pid 155 (m6)"
expect_out "unexplained 1"
run "${live[@]}" holders ufile:2/DM:2
expect_out "mapping     pid 155 (m6) start 0x7fb642116000"
run "${unbound[@]}" holders ufile:2
expect_out "dma-buf     ino 3, its uobject is destroyed"
# The same where the module still found the uobject by its dma-buf.
sed -e '/^ufile id=7/i uobj ufile=2 type=DMABUF type_id=0x13 class=fd ref=1 usecnt=0 state=dead token=00000000000000aa ino=3 file_ref=1 size=8192 kref=0 revoked=1' \
	-e 's/^end .*/end records=12/' "$samples/unbound.txt" > "$scratch/destroyed"
run -f "$scratch/destroyed" --fds "$samples/unbound.fds" holders ufile:2
expect_status 0
expect_out "dma-buf     ino 3, its uobject is destroyed"
[ "$(grep -c 'ino 3' "$scratch/out")" = 1 ] || fail "one dma-buf is named twice"
run -f "$scratch/destroyed" --fds "$samples/unbound.fds" holders ino:3
expect_out "unexplained 0"
! grep -q 'unexplained [1-9]' "$scratch/out" || fail "the dma-buf has its uobject"
sed 's/ pid=155 start/ start/' "$samples/live.txt" > "$scratch/nopid"
run -f "$scratch/nopid" holders ufile:2/VAR:1
expect_out "mapping     pid not known start 0x7fb642118000"
run "${live[@]}" holders ino:77
expect_status 1
expect_no_out
expect_error "nothing in the snapshot is ino:77"
run "${live[@]}" holders pid:155
expect_status 0
end holders

# ---- JSON

json()		# PYTHON ARGUMENT...: j is what it prints
{
	local code=$1
	shift
	run "$@"
	python3 -m json.tool < "$scratch/out" > /dev/null 2> "$scratch/json" ||
		fail "$*: no JSON: $(cat "$scratch/json")"
	python3 -c "import json, sys
j = json.load(open(sys.argv[1], encoding='utf-8', errors='strict'))
$code" "$scratch/out" 2> "$scratch/json" || fail "$*: $(tail -n 1 "$scratch/json")"
}

for what in "" ufile uobj var dm dmabuf mmap; do
	json 'assert j["snapshot"]["kernel"]' "${live[@]}" -j show $what
done
json 'm = [u for u in j["uobj"] if u.get("mrn") == 3][0]
assert (m["ifname"], m["pid"], m["comm"], m["lkey"], m["mrlen"], m["pdn"]) == ("mlx5_0", 155, "m6", 0x10304, 8192, 5), m
assert [u["users"] for u in j["uobj"] if u["type"] == "PD"] == [3]
assert [u["lqpn"] for u in j["uobj"] if u["type"] == "QP"] == [68]
assert "handle" not in [u for u in j["uobj"] if u["type"] == "DMABUF"][0]' "${live[@]}" -j show uobj
json 'u = j["ufile"]
assert u[0]["ctxn"] == 1 and u[0]["ifname"] == "mlx5_0" and u[0]["ufile"] == 2
assert u[1]["comm"] == "a b=c%d\n" and u[1]["changed"] is False, u[1]' "${live[@]}" -j show ufile
json 'assert j["ufile"][0]["ifname"] is None and j["ufile"][0]["uverbs"] == "uverbs0"' \
	"${unbound[@]}" -j show ufile
json 'v = j["var"][0]; assert v["page_id"] == 0 and v["mmap"]["pgoff"] == 0x90001' "${live[@]}" -j show var
json 'assert j["snapshot"]["refused"] == 2' -f "$samples/refused.txt" -j show ufile
json 'assert j["ufile"][0]["mass"] == "heavy"' -f "$samples/later-keys.txt" -j show ufile
json 'd = j["children"]["device"][0]; u = d["children"]["ufile"]
assert d["ufiles"] == 2 and len(u) == 2 and len(u[0]["children"]["uobj"]) == 9' "${live[@]}" -j tree
json 'assert (j["added"], j["removed"], j["changed"]) == (1, 1, 2)
assert [c["keys"] for c in j["changes"] if c["record"] == "mmap"] == [["ref", "driver_removed"]]' \
	-j diff "$samples/live.txt" "$samples/freed.txt"
expect_status 1
json 'c = j[0]["counts"][0]
assert j[0]["object"] == "dmabuf" and j[0]["ino"] == 3
assert (c["count"], c["value"], c["explained"], c["unexplained"]) == ("file_ref", 4, 3, 1)
assert [h["holder"] for h in c["holders"]] == ["fd", "fd", "attachment"]
assert c["holders"][2]["mr"]["mrn"] == 3 and c["holders"][0]["fd"]["pid"] == 155' "${live[@]}" -j holders ino:3
json 'assert j[0]["counts"][1]["value"] is None and j[0]["counts"][1]["unexplained"] == 1' \
	"${live[@]}" -j holders ufile:3
end json

# ---- leaks

# What cannot be compared is not run, and where there are no events it is told all the same.
run --debugfs "$scratch/nowhere" leaks -- touch "$scratch/was-run"
expect_status 3
expect_no_out
expect_error "$scratch/nowhere"
[ ! -e "$scratch/was-run" ] || fail "the command was run"
end leaks.without-module

mkdir "$scratch/leaks"
cp "$samples/live.txt" "$scratch/leaks/snapshot"
sed '/^fd pid=156 /d; s/^end records=5/end records=4/' "$samples/live.fds" > "$scratch/leaks/fds"
kernel=(--debugfs "$scratch/leaks")
run "${kernel[@]}" leaks -- sh -c 'echo said; exit 3'
expect_status 4
expect_out "nothing is left by sh"
[[ $err == *"births are not known: "* && $err == *"the command ended with status 3"* ]] ||
	fail "notes: $err"
end leaks.without-events

# A descriptor of a dma-buf that was there before.
run "${kernel[@]}" -j leaks -- sh -c "echo said; cp '$samples/live.fds' '$scratch/leaks/fds'"
expect_status 1
[[ $err == *said* ]] || fail "with -j the command's output is not on standard error"
expect_out '"births_known": false'
python3 - "$scratch/out" << 'END' 2> "$scratch/err" || fail "$(tail -n 1 "$scratch/err")"
import json
import sys
with open(sys.argv[1], encoding="utf-8") as file:
    left = json.load(file)["left"]
assert [x["object"] for x in left] == ["dmabuf"] and left[0]["ino"] == 3, left
assert left[0]["birth"] is None, left
keepers = {(k["fd"]["pid"], k["fd"]["fd"]) for k in left[0]["kept_by"] if k["holder"] == "fd"}
assert keepers == {(155, 5), (156, 9)}, keepers
END
end leaks.new-holder

run "${kernel[@]}" leaks -- cp "$samples/live.fds" "$scratch/leaks/fds"
expect_status 0
end leaks.nothing-new

# Who uses an object that was there before is no reference that was left behind.
sed -e '/ type=CQ /s/usecnt=0/usecnt=2/; / type=CQ /s/users=2/users=4/' \
	-e '/ type=DM /s/usecnt=0/usecnt=-1/; / type=PD /s/users=3/users=5/' \
	"$samples/live.txt" > "$scratch/used"
run "${kernel[@]}" leaks -- cp "$scratch/used" "$scratch/leaks/snapshot"
expect_status 0
expect_out "nothing is left by cp"
cp "$samples/live.txt" "$scratch/leaks/snapshot"
sed '/^ufile id=2 /s/ ref=4 / ref=5 /' "$samples/live.txt" > "$scratch/referred"
run "${kernel[@]}" leaks -- cp "$scratch/referred" "$scratch/leaks/snapshot"
expect_status 1
expect_out "1 object is left by cp"
expect_out "kept by nobody who is seen: ref of ufile:2 has 1 unexplained"
cp "$samples/live.txt" "$scratch/leaks/snapshot"
end leaks.users-are-no-references

# ---- leaks, and the signals

# What would end it ends the command, and what that leaves is told all the same.
for signal in INT QUIT TERM HUP; do
	rm -f "$scratch/started"
	# A job of an interactive kind, else the shell has it ignore SIGINT; and whoever started
	# us may have us ignore SIGHUP (nohup).
	set -m
	env --default-signal=$signal "$program" "${kernel[@]}" leaks -- sh -c "trap 'exit 7' $signal; : > '$scratch/started'
		while :; do sleep 0.01; done" > "$scratch/out" 2> "$scratch/err" &
	pid=$!
	for ((n = 0; n < 500; n++)); do
		[ -e "$scratch/started" ] && break
		sleep 0.01
	done
	kill -$signal $pid
	wait $pid
	status=$?
	set +m
	out=$(cat "$scratch/out")
	err=$(cat "$scratch/err")
	expect_status 4
	expect_out "nothing is left by sh"
	[[ $err == *"the command ended with status 7"* ]] || fail "SIG$signal: $err"
done
end leaks.signals-are-passed-on

# What is ignored before is ignored by the command.
for signal in INT QUIT TERM HUP; do
	(trap '' $signal; exec "$program" "${kernel[@]}" leaks -- \
		sh -c "kill -$signal \$\$; exit 5") > "$scratch/out" 2> "$scratch/err"
	status=$?
	err=$(cat "$scratch/err")
	expect_status 4
	[[ $err == *"the command ended with status 5"* ]] || fail "SIG$signal: $err"
done
end leaks.ignored-stays-ignored

# It comes while the second snapshot is read, which is the one from a second pipe.
mkdir "$scratch/slow"
pipe=$scratch/slow/snapshot
mkfifo "$pipe"
"$program" --debugfs "$scratch/slow" leaks -- touch "$scratch/was-run" \
	> "$scratch/out" 2> "$scratch/err" &
pid=$!
exec 8> "$pipe"
rm "$pipe"
mkfifo "$pipe"
cat "$samples/live.txt" >&8
exec 8>&-
exec 9> "$pipe"
kill -TERM $pid
cat "$samples/live.txt" >&9
exec 9>&-
wait $pid
status=$?
err=$(cat "$scratch/err")
expect_status 3
expect_no_out
expect_error "touch: not run: signal 15 came before"
[ ! -e "$scratch/was-run" ] || fail "the command was run"
end leaks.signal-before-the-command

# Who started us may have ignored SIGCHLD, and then nobody's end can be waited for.
ignoring_children()	# PROGRAM ARGUMENT...
{
	python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execv(sys.argv[1], sys.argv[1:])' "$@" > "$scratch/out" 2> "$scratch/err"
	status=$?
	out=$(cat "$scratch/out")
	err=$(cat "$scratch/err")
}

ignoring_children "$program" "${kernel[@]}" leaks -- false
expect_status 4
[[ $err == *"the command ended with status 1"* ]] || fail "$err"
mkdir "$scratch/bin"
printf '\027\010\104tracing6\0' > "$scratch/trace.dat"
printf '#!/bin/sh\ncat %q\n' "$samples/trace.txt" > "$scratch/bin/trace-cmd"
chmod +x "$scratch/bin/trace-cmd"
PATH=$scratch/bin:$PATH ignoring_children "$program" timeline "$scratch/trace.dat"
expect_status 0
expect_out "ufile 7"
printf '#!/bin/sh\nexit 9\n' > "$scratch/bin/trace-cmd"
PATH=$scratch/bin:$PATH ignoring_children "$program" timeline "$scratch/trace.dat"
expect_status 3
expect_no_out
expect_error "expected trace-cmd report to read it: status 9"
end waits-though-children-are-ignored

# Without events, for whatever reason, the switch is as it was, and the reason is the right one.
echo 0 > "$scratch/leaks/trace"
run "${kernel[@]}" leaks -- true
expect_status 0
[ "$(cat "$scratch/leaks/trace")" = 0 ] || fail "the switch is $(cat "$scratch/leaks/trace")"
: > "$scratch/leaks/trace"
run "${kernel[@]}" leaks -- true
expect_status 0
[[ $err == *"trace: cannot read: it is empty: expected root, and uobjscope.ko loaded"* ]] ||
	fail "$err"
rm "$scratch/leaks/trace"
if [ ! -d /sys/kernel/tracing/instances ]; then
	echo 1 > "$scratch/leaks/trace"
	run "${kernel[@]}" leaks -- true
	[[ $err == *"no tracefs in /sys/kernel/tracing: mount -t tracefs none"* ]] || fail "$err"
	rm "$scratch/leaks/trace"
fi
end leaks.switch

# ---- timeline

# Of each bar: kind, name, ufile, begin and end in ms, and the events of these.
json 'e = j["traceEvents"]
begin = {b["id"]: b for b in e if b["ph"] == "b"}
bars = [(b["cat"], b["name"], b["pid"], round(b["ts"] / 1e3), round(d["ts"] / 1e3),
	 b["args"]["event"], d["args"]["event"])
	for d in e if d["ph"] == "e" for b in [begin.pop(d["id"])]]
assert not begin, begin
assert sorted(bars) == [
	("dma-buf", "dma-buf 00000000000000d1", 3, 0, 600, "before", "dmabuf_release"),
	("mapping", "mapping 0x7f0000000000", 7, 200, 400, "vma_open", "vma_close"),
	("mmap entry", "mmap entry 0x10000", 7, 100, 500, "mmap_entry_insert", "mmap_entry_free"),
	("ufile", "ufile 3", 3, 0, 600, "before", "still there"),
	("ufile", "ufile 7", 7, 0, 600, "ufile_open", "still there"),
	("uobject", "MLX5_VAR 2", 7, 100, 500, "uobject_commit", "uobject_destroyed")], bars
marks = [m["name"] for m in e if m["ph"] == "i"]
assert marks == ["uobject_alloc", "command", "uobject_destroy", "uobject_destroyed", "var_free"], marks
assert [m["args"]["pid"] for m in e if m["name"] == "command"] == [77]
assert [m["args"]["name"] for m in e if m["ph"] == "M"] == [
	"ufile 7 of many (231)", "ufile 3 of other (240)"]' \
	timeline "$samples/trace.txt"
stdin=$samples/trace.txt json 'assert len(j["traceEvents"]) == 19' timeline -
stdin=/dev/null
sed 's/^/CPU:1 [LOST 3 EVENTS]\n/' "$samples/trace.txt" > "$scratch/lost"
run timeline "$scratch/lost"
expect_status 0
expect_error "events were lost"
end timeline

# Of a ring that was full the first events are gone, which only its header tells.
json 'assert [(e["cat"], e["ts"]) for e in j["traceEvents"] if e["ph"] == "I"] == [
	("events lost", 0)], j' timeline "$samples/overwritten.txt"
expect_error "events were lost in 1 places"
run timeline "$samples/trace.txt"
expect_status 0
[ -z "$err" ] || fail "$err"
end timeline-overwritten

# What the page and the picture have is judged by a reader of their own.
cp "$samples/trace.txt" "$samples/scene.txt" "$scratch"
python3 "$here/many.py" 1000 > "$scratch/many.txt" || cp "$samples/scene.txt" "$scratch/many.txt"
for what in trace scene many; do
	for axis in time order; do
		run timeline --format=html --axis=$axis "$scratch/$what.txt"
		expect_status 0
		mv "$scratch/out" "$scratch/$what-$axis.html"
		run timeline --format=svg --axis=$axis "$scratch/$what.txt"
		expect_status 0
		mv "$scratch/out" "$scratch/$what-$axis.svg"
	done
done
end timeline-pictures
if command -v python3 > /dev/null; then
	python3 "$here/timeline.py" "$scratch" > "$scratch/judged" 2>&1 ||
		fail "$(tail -n 3 "$scratch/judged")"
	end timeline-pictures-are-right
else
	skip timeline-pictures-are-right "no python3"
fi

# What is seen in all rows.
{
	echo ' a-7 [000] ..... 1.0: ufile_open: ufile=2'
	echo ' a-7 [000] ..... 1.1: command: device=d name=CREATE_MKEY status=0x3 syndrome=0x0'
	echo ' a-7 [000] ..... 1.2: command: device=d name=CREATE_MKEY status=0x0 syndrome=0x0'
	echo 'CPU:1 [LOST 3 EVENTS]'
	echo ' a-7 [000] ..... 1.3: console: WARNING: CPU: 0 at drivers/x.c:7'
	echo ' a-7 [000] ..... 1.4: console: all is well'
	echo ' a-7 [000] ..... 1.5: dmabuf_revoke: ufile=2 dmabuf=00d1'
	echo ' a-7 [000] ..... 1.6: ufile_cleanup: ufile=2 reason=driver_remove'
	echo ' a-7 [000] ..... 1.7: ufile_cleanup: ufile=3 reason=close'
} > "$scratch/lines"
json 'assert [(e["cat"], e["name"]) for e in j["traceEvents"] if e["ph"] == "I"] == [
	("fault", "CREATE_MKEY status 0x3"), ("events lost", "events lost"),
	("fault", "WARNING: CPU: 0 at drivers/x.c:7"), ("revoke", "revoke dma-buf 00d1"),
	("unbind", "unbind, ufile 2")], j' timeline "$scratch/lines"
end timeline-lines

# What the suite writes into the log are its tests; one has no end.
{
	echo ' a-7 [000] ..... 1.0: console: uobjscope: begin var.one'
	echo ' a-7 [000] ..... 1.1: ufile_open: ufile=2'
	echo ' a-7 [000] ..... 1.2: console: uobjscope: begin var.two'
	echo ' a-7 [000] ..... 1.3: console: uobjscope: end var.two'
	echo ' a-7 [000] ..... 1.4: ufile_release: ufile=2'
} > "$scratch/tests"
json 'assert [(e["name"], e["ph"], round(e["ts"] / 1e3), e["args"]["event"])
	for e in j["traceEvents"] if e.get("cat") == "test"] == [
	("var.one", "b", 0, "console"), ("var.one", "e", 100, "lost"),
	("var.two", "b", 200, "console"), ("var.two", "e", 300, "console")], j' \
	timeline "$scratch/tests"
end timeline-tests

# A task may be called anything, and a field have anything in it.
{
	printf ' </script>&"\377]]>-7 [000] ..... 1.5: ufile_open: ufile=2\n'
	printf ' <b-7 [000] ..... 1.6: uobject_commit: ufile=2 type=<i>&PD handle=1 uobject=1\n'
} > "$scratch/names"
run timeline --format=html "$scratch/names"
expect_status 0
[ "$(grep -o '</script>' <<< "$out" | wc -l)" = 2 ] || fail "a name ends the script"
run timeline --format=svg "$scratch/names"
expect_status 0
expect_out '&lt;/script&gt;&amp;&quot;'
expect_out '&lt;i&gt;&amp;PD 1'
[[ $out != *"<i>"* ]] || fail "a name is a tag"
end timeline-any-name

for bad in "$samples/live.txt:no lifetime events" "$scratch/none:cannot open" "$scratch:cannot" \
	"$scratch/dat:expected trace-cmd"; do
	printf '\027\010\104tracing6\0' > "$scratch/dat"
	run timeline "${bad%%:*}"
	expect_status 3
	expect_no_out
	expect_error "${bad#*:}"
done
# As no file would be refused: what is behind -- is a command.
run timeline --format=svg -- no-such-command -x
expect_status 3
expect_no_out
expect_error "expected root, and uobjscope.ko loaded"
run timeline -- "$samples/trace.txt"
expect_status 3
end timeline-refuses

sed 's/comm=m6/comm=%ff%c3%a4%f0%9f%98%80%ed%a0%80%22%5c%1b/' "$samples/live.txt" > "$scratch/utf8"
json 'assert j["ufile"][0]["comm"] == "\ufffd\u00e4\U0001f600\ufffd\ufffd\ufffd\"\\\x1b", j["ufile"][0]["comm"]' \
	-f "$scratch/utf8" -j show ufile
end json-of-any-bytes

# ---- save and watch

run "${live[@]}" save "$scratch/saved"
expect_status 0
expect_no_out
[ "$(stat -c %a "$scratch/saved")" = 600 ] || fail "mode $(stat -c %a "$scratch/saved")"
run diff "$samples/live.txt" "$scratch/saved"
expect_status 0
run -f "$scratch/saved" holders pid:156/fd:9
expect_status 0
run -f "$scratch/saved" save "$scratch/again"
cmp -s "$scratch/saved" "$scratch/again" || fail "saved again it is another one"
run -f "$samples/later-keys.txt" save -
[[ $out == *"quark spin=1/2 charm=0"* && $out == *"weight=12 mass=heavy"* ]] ||
	fail "what is not known is lost"
run -f "$scratch/saved" -d mlx5_0 save "$scratch/again"
expect_status 0
run -f "$scratch/again" show
expect_status 0
end save

# A link stays one, and what it leads to is replaced as without it: by another file.
mkdir "$scratch/elsewhere"
echo old > "$scratch/elsewhere/target"
ln "$scratch/elsewhere/target" "$scratch/elsewhere/same"
ln -s elsewhere/target "$scratch/link-to"
ln -s elsewhere/none-yet "$scratch/link-to-none"
for link in link-to link-to-none; do
	run "${live[@]}" save "$scratch/$link"
	expect_status 0
	[ -L "$scratch/$link" ] || fail "$link is no link any more"
	run diff "$samples/live.txt" "$scratch/$link"
	expect_status 0
done
[ -s "$scratch/elsewhere/none-yet" ] || fail "the target was not made"
[ "$(cat "$scratch/elsewhere/same")" = old ] || fail "the target was overwritten, not replaced"
[ "$(ls "$scratch/elsewhere")" = $'none-yet\nsame\ntarget' ] ||
	fail "left behind: $(ls "$scratch/elsewhere")"
# What is no regular file is written to.
mkfifo "$scratch/save-fifo"
cat "$scratch/save-fifo" > "$scratch/from-fifo" &
pid=$!
run "${live[@]}" save "$scratch/save-fifo"
expect_status 0
wait $pid
[ -p "$scratch/save-fifo" ] || fail "the FIFO was replaced"
run diff "$samples/live.txt" "$scratch/from-fifo"
expect_status 0
end save.links

echo old > "$scratch/kept"
run -f "$samples/version-2.txt" save "$scratch/kept"
[ "$(cat "$scratch/kept")" = old ] || fail "the old file is gone though there is no new one"
# No more than 1024 bytes fit.
(trap '' XFSZ; ulimit -f 1; exec "$plain" "${live[@]}" save "$scratch/kept") 2> "$scratch/err"
status=$?
err=$(cat "$scratch/err")
expect_status 3
expect_error "kept: cannot write: File too large"
[ "$(cat "$scratch/kept")" = old ] || fail "the old file is gone and the new one is cut short"
ln -s kept "$scratch/link"
(trap '' XFSZ; ulimit -f 1; exec "$plain" "${live[@]}" save "$scratch/link") 2> "$scratch/err"
status=$?
err=$(cat "$scratch/err")
expect_status 3
expect_error "link: cannot write: File too large"
[ "$(cat "$scratch/kept")" = old ] || fail "by a link the old file is cut short"
run "${live[@]}" save "$scratch/nowhere/file"
expect_status 3
expect_error "cannot write: No such file or directory"
run "${live[@]}" save /dev/full
expect_status 3
expect_error "/dev/full: cannot write: No space left on device"
ls "$scratch"/*.?????? > /dev/null 2>&1 && fail "temporary files are left"
"$program" "${live[@]}" show > /dev/full 2> "$scratch/err"
[ $? = 3 ] || fail "a full disk is not noticed"
grep -q 'standard output: cannot write: No space left' "$scratch/err" || fail "$(cat "$scratch/err")"
"$program" "${live[@]}" save - > /dev/full 2> "$scratch/err"
[ $? = 3 ] || fail "save: a full disk is not noticed"
end cannot-write

run "${live[@]}" watch -n 0.01 --count 3 ufile
expect_status 0
[ "$(grep -c '^UFILE' "$scratch/out")" = 3 ] || fail "not three tables"
run "${live[@]}" watch -n 0.01 --count 3 ufile --json
[ "$(wc -l < "$scratch/out")" = 3 ] || fail "not three lines"
while read -r line; do
	python3 -m json.tool <<< "$line" > /dev/null 2>&1 || fail "a line is no JSON"
done < "$scratch/out"
run -f "$samples/version-2.txt" watch --count 2
expect_status 3
expect_error "version 2"
# A job of an interactive kind, else the shell has it ignore SIGINT.
set -m
"$program" "${live[@]}" watch -n 100 ufile > "$scratch/out" 2>&1 &
pid=$!
for ((n = 0; n < 500; n++)); do
	[ -s "$scratch/out" ] && break
	sleep 0.01
done
kill -INT $pid
wait $pid
status=$?
set +m
[ $status = 0 ] || fail "status $status after SIGINT"
end watch

# ---- much

awk 'BEGIN {
	print "uobjscope v=1 kernel=k time_ns=1 seq=1 deref=0 registry=fprobe dropped=0"
	print "ufile id=1 device=- uverbs=uverbs0 state=live listed=1 ref=1 pid=5 comm=c"
	for (i = 0; i < 20000; i++)
		printf "uobj ufile=1 type=MR type_id=0x7 class=idr handle=%d ref=2 usecnt=0 state=live token=%016x mrn=%d lkey=0x%x mrlen=4096 pdn=1\n", i, i, i, i
	print "end records=20001"
}' > "$scratch/many"
cp "$scratch/many" "$scratch/many-too"
# The program's own time: what else the machine does is not measured.
TIMEFORMAT='%3U %3S'
for command in "show uobj" "tree" "-j show" "holders ufile:1/MR:77" "save $scratch/again" \
	"diff $scratch/many $scratch/many-too"; do
	[[ $command == diff* ]] || command="-f $scratch/many $command"
	# shellcheck disable=SC2086
	{ time "$plain" $command > "$scratch/out" 2> "$scratch/err"; } 2> "$scratch/time"
	status=$?
	read -r user system < "$scratch/time"
	took=$((10#${user/./} + 10#${system/./}))
	expect_status 0
	[ "$took" -lt 1000 ] || fail "$command: $took ms for 20000 objects"
	echo "$took ms of processor time: uobjscope ${command//"$scratch/"/}"
done
end 20000-objects

for limit in 4000 8000 12000 16000 20000 24000 28000 32000 40000; do
	(ulimit -v $limit; exec "$plain" -f "$scratch/many" -j show) \
		> "$scratch/out" 2> "$scratch/err"
	status=$?
	err=$(cat "$scratch/err")
	if [ $status = 0 ]; then
		tail -n 1 "$scratch/out" | grep -qx '}' || fail "cut short with $limit kB"
	elif [ $status = 3 ]; then
		expect_no_out
		expect_error "out of memory"
		starved=1
	elif [ $status != 127 ]; then	# too little for the loader
		fail "status $status with $limit kB: $err"
	fi
done
[ -n "$starved" ] || fail "never short of memory"
end out-of-memory

exit $failed
