#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The uobjscope command and uobjscope.ko as a person and a monitoring script use them:
# what they print, what they refuse, and that looking disturbs nobody.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

MODULE=${UOBJSCOPE_KO:-$(module_file uobjscope)}
PDS=300 MRS=450 CQS=50 VARS=200	# a thousand
CHURN_MS=3000
ROUNDS=3

# told STATUS COMMAND...: it ends with that; stdout is in $out, stderr in $err.
told()
{
	expected=$1
	shift
	"$@" > "$w/out" 2> "$w/err"
	seen=$?
	out=$(cat "$w/out") err=$(cat "$w/err")
	[ $seen = "$expected" ] && return
	echo "$*: expected status $expected, seen $seen"
	cat "$w/err"
	head -n 20 "$w/out"
	return 1
}

says()		# REGULAR-EXPRESSION: on stdout
{
	grep -qE "$1" "$w/out" && return
	echo "expected '$1' in:"
	head -n 40 "$w/out"
	return 1
}

# refuses STATUS REGULAR-EXPRESSION COMMAND...: one message, and nothing on stdout.
refuses()
{
	r_status=$1 r_message=$2
	shift 2
	told "$r_status" "$@" || return 1
	[ ! -s "$w/out" ] || { echo "$*: printed, though it failed: $out"; return 1; }
	grep -qE "$r_message" "$w/err" || { echo "$*: expected '$r_message', seen: $err"; return 1; }
}

hold() { hold_begin "$DIR/hold"; }
hold_thousand() { hold_begin "$DIR/many" hold pd=$((PDS - 1)) mr=$MRS cq=$CQS var=$VARS; }

# with HOLDER COMMAND: the command, while the holder's objects are there.
with()
{
	"$1" || return 1
	"$2" 9>&-
	w_done=$?
	hold_end || return 1
	return $w_done
}

tables()
{
	told 0 uobjscope show && says mlx5_0 && says UFILE || return 1
	for what in mmap ufile uobj; do
		told 0 uobjscope show $what && says "(^| )$holder( |\$)" || return 1
	done
	told 0 uobjscope show dmabuf || return 1
	for what in var dm; do
		told 0 uobjscope show $what || return 1
		[ "$(grep -cw "$holder" "$w/out")" = 1 ] || {
			echo "expected one $what of process $holder:"
			cat "$w/out"
			return 1
		}
	done
	told 0 uobjscope tree && says MLX5_VAR && says DM && says MEMIC || return 1
	told 0 uobjscope -n 0.1 --count 2 watch var && says "$holder" || return 1
	told 0 uobjscope -d mlx5_0 show ufile && says "$holder" || return 1
	told 0 uobjscope -h && told 0 uobjscope -V
}
show() { with hold tables; }

# The records of one type, KEY... of each on a line, from JSON with one key a line.
records()	# TYPE KEY...
{
	uobjscope -j show uobj | awk -v type="$1" -v keys="$(shift; echo "$*")" '
	BEGIN { n = split(keys, key, " ") }
	/^ *[{]/ { split("", value) }
	match($0, /"[a-z_0-9]+": */) {
		name = substr($0, RSTART + 1)
		sub(/".*/, "", name)
		text = substr($0, RSTART + RLENGTH)
		gsub(/[",]/, "", text)
		# First comes what the uobject has, then what the mmap entry within has.
		if (!(name in value))
			value[name] = text
	}
	/^ *[}]/ && value["type"] == type {
		line = ""
		for (i = 1; i <= n; i++)
			line = line " " value[key[i]]
		print line
		split("", value)
	}' | sort
}

# The same from rdma(8), whose JSON is one line and has memory keys in hexadecimal.
tracked()	# TYPE KEY...
{
	rdma -jj resource show "$1" | tr '{' '\n' | awk -v keys="$(shift; echo "$*")" '
	function number(text,    i, v)
	{
		if (text !~ /^"/)
			return text
		gsub(/"/, "", text)
		if (text ~ /[^0-9a-f]/)
			return text
		for (i = 1; i <= length(text); i++)
			v = v * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
		return v
	}
	BEGIN { n = split(keys, key, " ") }
	/"pid":/ {
		line = ""
		for (i = 1; i <= n; i++) {
			text = $0
			if (!sub(".*\"" key[i] "\":", "", text))
				text = ""
			sub(/[,}].*/, "", text)
			line = line " " number(text)
		}
		print line
	}' | sort
}

same()		# COUNT UOBJECT-TYPE RESOURCE KEY...: both have so many of $holder, and the same
{
	s_count=$1 s_type=$2 s_resource=$3
	shift 3
	records "$s_type" "$@" > "$w/ours"
	tracked "$s_resource" "$@" > "$w/theirs"
	[ "$(wc -l < "$w/ours")" = "$s_count" ] || {
		echo "$s_type: expected $s_count, seen $(wc -l < "$w/ours")"
		return 1
	}
	diff "$w/theirs" "$w/ours" > "$w/diff" && return
	echo "$s_type, $*: - rdma resource show $s_resource, + uobjscope"
	head -n 20 "$w/diff"
	return 1
}

thousand()
{
	told 0 uobjscope -j show ufile && says '"changed": *(0|false)' || return 1
	if grep -E 'changed=1|dropped=[1-9]|state=(locked|busy|destroying)' $SCOPE_DEBUGFS/snapshot; then
		return 1
	fi
	same $PDS PD pd pdn users pid comm || return 1
	same $MRS MR mr mrn lkey mrlen pdn pid comm || return 1
	same $CQS CQ cq cqn cqe users pid comm || return 1
	records MLX5_VAR page_id ref usecnt var_bit pid > "$w/ours"
	awk '$2 == 2 && $3 == 0 && !seen[$1]++ { n++ } END { print n + 0 }' "$w/ours" > "$w/n"
	[ "$(cat "$w/n")" = $VARS ] || {
		echo "expected $VARS VARs of different pages with ref 2 and usecnt 0, seen $(cat "$w/n"):"
		head -n 5 "$w/ours"
		return 1
	}
	cat $SCOPE_DEBUGFS/snapshot > "$w/out"
	says "^end records=$(($(wc -l < "$w/out") - 2))\$"
}
thousand_objects() { with hold_thousand thousand; }

what_changed()
{
	told 0 uobjscope save "$w/after" || return 1
	told 1 uobjscope diff "$w/before" "$w/after" || return 1
	says '^\+.*MLX5_VAR' && says '^\+.*DM' && says '^\+.*MEMIC' && says '^~.*mlx5_0' || return 1
	if grep '^-' "$w/out"; then
		echo "nothing was freed"
		return 1
	fi
	told 0 uobjscope diff "$w/after" "$w/after" || return 1
	says '^0 added, 0 removed, 0 changed' || return 1
	# A saved one is read like the kernel's own.
	told 0 uobjscope -f "$w/after" show var && says "$holder"
}

save_and_diff()
{
	told 0 uobjscope save "$w/before" || return 1
	with hold what_changed || return 1
	told 0 uobjscope save "$w/later" || return 1
	told 0 uobjscope diff "$w/before" "$w/later" || { echo "not given back:"; cat "$w/out"; return 1; }
}

who_holds()
{
	told 0 uobjscope holders pid:"$holder" && says "$holder" && says 'unexplained' || return 1
	# There may be others: a known fault (L01) leaves ufiles.
	ufile=$(records MLX5_VAR pid ufile | awk -v pid="$holder" '$1 == pid { print $2 }')
	told 0 uobjscope holders "ufile:$ufile/VAR" && says "$holder|handle" || return 1
	told 0 uobjscope -j holders "ufile:$ufile/VAR" && says '"unexplained": *0' || return 1
	told 0 uobjscope holders "ufile:$ufile/DM" && says 'dm_users 1' || return 1
	refuses 1 . uobjscope holders ino:4000000000 || return 1
	refuses 2 . uobjscope holders nonsense
}
holders() { with hold who_holds; }

bad_input()
{
	bad=0
	uobjscope save "$w/good" || return 1
	refuses 3 'mlx5_0' uobjscope -d mlx5_99 show || bad=1
	refuses 2 . uobjscope show nonsense || bad=1
	refuses 2 . uobjscope nonsense || bad=1
	refuses 2 . uobjscope --nonsense show || bad=1
	refuses 3 "$w/none" uobjscope -f "$w/none" show || bad=1
	refuses 3 /etc/passwd uobjscope -f /etc/passwd show || bad=1
	refuses 3 . uobjscope -f /dev/null show || bad=1
	sed '$d' "$w/good" > "$w/bad"
	refuses 3 "$w/bad" uobjscope -f "$w/bad" show || bad=1
	head -c "$(($(wc -c < "$w/good") - 2))" "$w/good" > "$w/bad"
	refuses 3 "$w/bad" uobjscope -f "$w/bad" show || bad=1
	sed '/^device /d' "$w/good" > "$w/bad"
	refuses 3 "$w/bad" uobjscope -f "$w/bad" show || bad=1
	sed 's/^uobjscope v=1/uobjscope v=2/' "$w/good" > "$w/bad"
	refuses 3 'version' uobjscope -f "$w/bad" show || bad=1
	refuses 3 . uobjscope diff "$w/good" "$w/bad" || bad=1
	refuses 3 "$w/none" uobjscope --debugfs "$w/none" show || bad=1
	refuses 3 . uobjscope save "$w/none/file" || bad=1
	return $bad
}

only_for_root()
{
	[ "$(stat -c %a $SCOPE_DEBUGFS)" = 700 ] || { stat -c '%a %n' $SCOPE_DEBUGFS; return 1; }
	for f in snapshot fds layout info mlx5_0/snapshot; do
		[ "$(stat -c %a $SCOPE_DEBUGFS/$f)" = 400 ] || { stat -c '%a %n' $SCOPE_DEBUGFS/$f; return 1; }
	done
	# Kernel addresses are no business of anybody's.
	if grep -E '=0x(ffff|ffff[0-9a-f]{12})' $SCOPE_DEBUGFS/snapshot $SCOPE_DEBUGFS/fds; then
		return 1
	fi
	# In a guest whose / is for root only nobody can run anything.
	if su -s /bin/sh nobody -c true 2> /dev/null; then
		refuses 3 . su -s /bin/sh nobody -c 'uobjscope show'
	fi
}

one_device()
{
	told 0 cat $SCOPE_DEBUGFS/mlx5_0/snapshot && says "pid=$holder" && says '^end records=' &&
		says '^device name=mlx5_0 '
}
device_of_its_own() { with hold one_device; }

file_keeps_the_module()
{
	exec 8< $SCOPE_DEBUGFS/snapshot
	if rmmod uobjscope 2>/dev/null; then
		exec 8<&-
		echo "the module went while its snapshot was open"
		insmod "$MODULE"
		return 1
	fi
	# It is whole still.
	cat <&8 > "$w/out"
	exec 8<&-
	says '^end records=' || return 1
	reload_rounds
}

reload_rounds()
{
	for _ in $(seq $ROUNDS); do
		rmmod uobjscope || return 1
		[ ! -e $SCOPE_DEBUGFS ] || { echo "$SCOPE_DEBUGFS is still there"; return 1; }
		refuses 3 'uobjscope' uobjscope show || return 1
		insmod "$MODULE" || return 1
		[ -r $SCOPE_DEBUGFS/mlx5_0/snapshot ] || { echo "no mlx5_0/snapshot"; return 1; }
	done
}

# What is older than the module is seen as well, to the last key but for its opener.
seen_later()
{
	uobjscope -j show var | grep -vE '"(pid|comm|time_ns|seq|ufile|token|object|entry)"' > "$w/before"
	reload_rounds || return 1
	uobjscope -j show var | grep -vE '"(pid|comm|time_ns|seq|ufile|token|object|entry)"' > "$w/after"
	grep -q page_id "$w/after" && diff "$w/before" "$w/after"
}
older_than_the_module() { with hold seen_later; }

seen_without_probes()
{
	told 0 uobjscope show var && says '(^| )[0-9]+' || return 1
	head -n 1 $SCOPE_DEBUGFS/snapshot | grep -q 'registry=devices' ||
		{ head -n 1 $SCOPE_DEBUGFS/snapshot; return 1; }
	grep -q '^mmap .*ref=2 .*kind=VAR ' $SCOPE_DEBUGFS/snapshot ||
		{ grep '^mmap' $SCOPE_DEBUGFS/snapshot; return 1; }
}

without_probes()
{
	rmmod uobjscope && insmod "$MODULE" fprobe=0 || return 1
	with hold seen_without_probes
	w_rc=$?
	rmmod uobjscope && insmod "$MODULE" && return $w_rc
}

# rename OLD NEW: the device; its directory goes with it.
rename()
{
	rdma dev set "$1" name "$2" || { echo "cannot rename $1 to $2"; return 1; }
}

# Its directory has that name, and no other.
directory_is()
{
	[ "$(cd $SCOPE_DEBUGFS && echo */)" = "$1/" ] &&
		[ -r "$SCOPE_DEBUGFS/$1/snapshot" ] && return
	echo "expected the directory $1, seen:"
	ls -l $SCOPE_DEBUGFS
	return 1
}

log_says()	# REGULAR-EXPRESSION: in a line of the module's
{
	log_since | grep -qE "uobjscope: $1" && return
	echo "expected '$1' in the log:"
	log_since
	return 1
}

# Nor does a device take the place of one of the module's own files.
rename_rounds()
{
	rename mlx5_0 scope_other && directory_is scope_other || return 1
	told 0 cat $SCOPE_DEBUGFS/scope_other/snapshot &&
		says '^device name=scope_other ' || return 1
	log_begin
	rename scope_other info && directory_is scope_other || return 1
	log_says 'info: its directory keeps its old name' || return 1
	told 0 cat $SCOPE_DEBUGFS/info && says '^device name=info ' || return 1
	log_begin
	rmmod uobjscope && insmod "$MODULE" || return 1
	log_says 'info: its directory cannot be made' || return 1
	told 0 cat $SCOPE_DEBUGFS/info && says '^device name=info ' || return 1
	# It gets one with a better name.
	rename info mlx5_0 && directory_is mlx5_0
}

renamed()
{
	command -v rdma > /dev/null || { echo "no rdma: install iproute2"; return "$KSFT_SKIP"; }
	rename_rounds
	r_rc=$?
	[ -e /sys/class/infiniband/mlx5_0 ] || rename "$(ls /sys/class/infiniband)" mlx5_0 || r_rc=1
	return $r_rc
}

# beside COMMAND...: it and two readers at once, all of which must end well.
beside()
{
	b_fifo=$(mktemp -u)
	mkfifo "$b_fifo"
	"$DIR/many" read $SCOPE_DEBUGFS/snapshot < "$b_fifo" > "$w/reader1" 2>&1 &
	reader1=$!
	"$DIR/many" read $SCOPE_DEBUGFS/fds < "$b_fifo" > "$w/reader2" 2>&1 &
	reader2=$!
	exec 7> "$b_fifo"
	rm "$b_fifo"
	"$@" 7>&-
	b_rc=$?
	exec 7>&-
	wait $reader1 || { echo "the reader of snapshot failed:"; cat "$w/reader1"; b_rc=1; }
	wait $reader2 || { echo "the reader of fds failed:"; cat "$w/reader2"; b_rc=1; }
	[ "$(cat "$w/reader1" "$w/reader2" | grep -c 'reads=[1-9]')" = 2 ] ||
		{ echo "nothing was read"; b_rc=1; }
	return $b_rc
}

churn()
{
	c_rc=0 c_pids=
	for kind in var dm mr; do
		"$DIR/many" walk $CHURN_MS $kind > "$w/$kind" 2>&1 &
		c_pids="$c_pids $!"
	done
	for p in $c_pids; do
		wait "$p" || c_rc=1
	done
	for kind in var dm mr; do
		grep -q 'times=[1-9]' "$w/$kind" || { echo "$kind: $(cat "$w/$kind")"; c_rc=1; }
	done
	return $c_rc
}

# No call of the driver fails because somebody looks, and nothing is left in the end.
dying_while_read()
{
	told 0 uobjscope save "$w/before" || return 1
	beside churn || return 1
	told 0 uobjscope save "$w/after" || return 1
	told 0 uobjscope diff "$w/before" "$w/after" || { cat "$w/out"; return 1; }
}

unbind_rounds()
{
	for u_round in $(seq $ROUNDS); do
		unbind || return 1
		[ ! -e $SCOPE_DEBUGFS/mlx5_0 ] || { echo "$SCOPE_DEBUGFS/mlx5_0 is still there"; return 1; }
		if grep '^object ' "$VHCA_DEBUGFS/$pci/ledger"; then
			echo "the device still holds that after unbind $u_round"
			bind
			return 1
		fi
		bind || return 1
		[ -r $SCOPE_DEBUGFS/mlx5_0/snapshot ] || { echo "no mlx5_0/snapshot"; return 1; }
	done
}

unbind_with_objects()
{
	unbind_rounds || return 1
	grep -q "^ufile .*state=disassociated .*pid=$holder" $SCOPE_DEBUGFS/snapshot ||
		{ echo "no disassociated ufile of $holder:"; grep '^ufile' $SCOPE_DEBUGFS/snapshot; return 1; }
}
with_objects() { with hold unbind_with_objects; }
unbind_while_read() { beside with_objects && told 0 uobjscope show; }

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -d $SCOPE_DEBUGFS ] || skip_all "no $SCOPE_DEBUGFS: load uobjscope.ko"
command -v uobjscope > /dev/null || skip_all "no uobjscope command: make -C user install"
[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
[ "$(ls /sys/class/infiniband)" = mlx5_0 ] ||
	skip_all "the virtual HCA is not the only RDMA device, or it is not mlx5_0"
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

tests="show thousand_objects save_and_diff holders bad_input only_for_root device_of_its_own dying_while_read"
needing_module="file_keeps_the_module older_than_the_module without_probes renamed"
last="unbind_while_read"

ktap_print_header
plan "$(echo "$tests $needing_module $last" | wc -w)"
for t in $tests; do
	run "$t"
done
for t in $needing_module; do
	run_with "$MODULE" "set UOBJSCOPE_KO to uobjscope.ko" "$t"
done
for t in $last; do
	run "$t"
done
ktap_finished
