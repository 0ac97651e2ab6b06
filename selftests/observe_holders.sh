#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Whatever keeps a ufile, the uobjscope command names it: process and descriptor,
# mapping, attachment and region, and says how much of each count it cannot name.
# What it prints is compared to the last word, and with /proc and rdma(8) as second
# witnesses of what only they know.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

# begin STATE: a process of its own, $holder, has made that; $ufile is its ufile.
begin()
{
	hold_begin "$DIR/observe_ufile" "$1" || return 1
	uobjscope show ufile > "$w/ufiles"
	# The columns of a table are blanks away from each other, and none is empty.
	ufile=$(awk -v pid="$holder" '$11 == pid { print $1 }' "$w/ufiles")
	[ "$(echo "$ufile" | wc -w)" = 1 ] && return
	echo "expected one ufile of process $holder:"
	cat "$w/ufiles"
	hold_end
	return 1
}

# What the process said of itself.
value() { tr ' ' '\n' < "$said" | sed -n "s/^$1=//p" | tail -n 1; }

next_step()
{
	echo >&9
	wait_for "next step of the process" grep -q '^step 2' "$said" || { cat "$said"; return 1; }
}

# in_state STATE BEGINNING: "begin" must make that, and then the function is the test.
in_state()
{
	begin "$1" || return 1
	who="pid $holder (observe_ufile)"
	"$2"
	i_rc=$?
	hold_end && [ $i_rc = 0 ]
}

state()		# STATE DEVICE: as "show ufile" has it
{
	uobjscope show ufile > "$w/out"
	seen=$(awk -v id="$ufile" '$1 == id { print $4, $2 }' "$w/out")
	[ "$seen" = "$1 $2" ] || { echo "ufile $ufile: expected '$1 $2', seen '$seen'"; return 1; }
}

ask()		# OBJECT: into $w/out
{
	uobjscope holders "$1" > "$w/out" 2> "$w/err" && return
	echo "uobjscope holders $1 failed: $(cat "$w/err")"
	return 1
}

# held OBJECT < EXPECTED: that is said, and not a word more.
held()
{
	cat > "$w/expected"
	ask "$1" || return 1
	same "$1"
}

same()		# OBJECT: $w/out is what is expected
{
	diff -U 20 "$w/expected" "$w/out" > "$w/diff" && return
	echo "uobjscope holders $1: - expected, + seen"
	sed '1,3d' "$w/diff"
	return 1
}

# The ufile is no more, for every command.
gone()
{
	if uobjscope holders "ufile:$ufile" > "$w/out" 2>&1; then
		echo "ufile $ufile is still there:"
		cat "$w/out"
		return 1
	fi
	grep -q "nothing in the snapshot is ufile:$ufile" "$w/out" || { cat "$w/out"; return 1; }
	uobjscope show ufile > "$w/out"
	! awk -v id="$ufile" '$1 == id' "$w/out" | grep .
}

# Mappings of a uverbs file that a process has, by its own account: "0xSTART 0xEND".
maps()
{
	sed -n 's,^\([0-9a-f]*\)-\([0-9a-f]*\) .*/dev/infiniband/uverbs.*,\1 \2,p' \
		"/proc/$holder/maps" | while read -r start end; do
		printf '0x%x 0x%x\n' "0x$start" "0x$end"
	done | sort
}

# Take what $w/out says of mappings away from it; each must be one of the process.
take_mappings()
{
	sed -n "s/^ *mapping *$who start \(0x[0-9a-f]*\) end \(0x[0-9a-f]*\)\$/\1 \2/p" "$w/out" |
		sort > "$w/said-maps"
	sed -i '/^ *mapping /d' "$w/out"
	maps > "$w/maps"
	if grep -vxFf "$w/maps" "$w/said-maps" > "$w/no-maps"; then
		echo "these are no mappings of $who:"
		cat "$w/no-maps"
		return 1
	fi
	named=$(wc -l < "$w/said-maps")
	unnamed=$(($(wc -l < "$w/maps") - named))
	grep -qx "$(value map) $(value end)" "$w/said-maps" ||
		{ echo "the VAR's mapping $(value map) is not named:"; cat "$w/said-maps"; return 1; }
}

# From rdma(8), for the region with the local key that the process has.
mrn()
{
	key=$(value lkey)
	rdma resource show mr | sed -n "s/.* mrn \([0-9]*\) .*lkey 0\{0,1\}x\{0,1\}${key#0x} .*/\1/p"
}

while_open()
{
	state live mlx5_0 || return 1
	ask "ufile:$ufile" && take_mappings || return 1
	cat > "$w/expected" <<-EOF
	ufile $ufile state live device mlx5_0 uverbs uverbs0, opened by $who
	  ref 3
	    file        it is open
	    uobject     ufile $ufile type DMABUF ino $(value ino)
	    uobject     ufile $ufile type ASYNC_EVENT
	    unexplained 0
	  file_ref $((1 + named + unnamed))
	    fd          $who fd $(value cmd)
	    unexplained $unnamed
	EOF
	same "ufile:$ufile" || return 1
	attachment="device $pci importer mlx5_ib_dmabuf_attach_ops mapped 1 pinned 0, MR mrn $(mrn)"
	attachment="$attachment lkey $(value lkey) on mlx5_0 of ufile $ufile $who"
	held "ino:$(value ino)" <<-EOF || return 1
	dma-buf ino $(value ino) size 4096 revoked 0 ufile $ufile, opened by $who
	  file_ref 2
	    fd          $who fd $(value dmabuf)
	    attachment  $attachment
	    unexplained 0
	  kref 2
	    exporter    until it revokes the dma-buf
	    attachment  $attachment
	    unexplained 0
	  ref 2
	    list        the ufile's list of uobjects
	    file        it is open
	    unexplained 0
	EOF
	held "ufile:$ufile/VAR" <<-EOF || return 1
	uobject ufile $ufile type MLX5_VAR handle $(value handle) state live, opened by $who
	  ref 2
	    list        the ufile's list of uobjects
	    handle      the ufile's table of handles
	    unexplained 0
	  entry.ref 2
	    driver      until it removes the entry
	    mapping     $who start $(value map) end $(value end)
	    unexplained 0
	EOF
	held "pid:$holder/fd:$(value async)" <<-EOF
	file of type ASYNC_EVENT ufile $ufile state live
	  file_ref 1
	    fd          $who fd $(value async) type ASYNC_EVENT state live
	    unexplained 0
	EOF
}
open() { in_state open while_open && gone; }

while_nocontext()
{
	state nocontext mlx5_0 && held "ufile:$ufile" <<-EOF
	ufile $ufile state nocontext device mlx5_0 uverbs uverbs0, opened by $who
	  ref 1
	    file        it is open
	    unexplained 0
	  file_ref 1
	    fd          $who fd $(value cmd)
	    unexplained 0
	EOF
}
nocontext() { in_state nocontext while_nocontext && gone; }

while_mapped()
{
	state live mlx5_0 && held "ufile:$ufile" <<-EOF || return 1
	ufile $ufile state live device mlx5_0 uverbs uverbs0, opened by $who
	  ref 1
	    file        it is open
	    unexplained 0
	  file_ref not known
	    mapping     pid $holder start $(value map) end $(value end)
	    unexplained 0
	    note: the count is not known: no process was seen to have the file as an fd
	EOF
	next_step && gone
}
by_a_mapping() { in_state mapping while_mapped; }

while_in_flight()
{
	state live mlx5_0 && held "ufile:$ufile" <<-EOF || return 1
	ufile $ufile state live device mlx5_0 uverbs uverbs0, opened by $who
	  ref 1
	    file        it is open
	    unexplained 0
	  file_ref not known
	    unexplained 1 or more
	    note: the count is not known: no process was seen to have the file as an fd
	EOF
	next_step && state live mlx5_0 && held "ufile:$ufile" <<-EOF
	ufile $ufile state live device mlx5_0 uverbs uverbs0, opened by $who
	  ref 1
	    file        it is open
	    unexplained 0
	  file_ref 1
	    fd          $who fd $(value cmd)
	    unexplained 0
	EOF
}
in_flight() { in_state flight while_in_flight && gone; }

device() { [ "$1" = - ] || echo " device $1"; }

async_expected()	# STATE DEVICE
{
	state "$1" "$2" && held "ufile:$ufile" <<-EOF
	ufile $ufile state $1$(device "$2") uverbs uverbs0, opened by $who
	  ref 1
	    fd          $who fd $(value kept) type ASYNC_EVENT state dead
	    unexplained 0
	EOF
}

while_async() { async_expected closed mlx5_0 && next_step && gone; }
by_the_async_file() { in_state async while_async; }

# It was closed before the device went, and is not said to be disassociated.
while_closed_and_unbound()
{
	unbind && async_expected closed -
	u_rc=$?
	bind && [ $u_rc = 0 ] && async_expected closed - && next_step && gone
}
closed_and_unbound() { in_state async while_closed_and_unbound; }

unbound_expected()
{
	state disassociated - && held "ufile:$ufile" <<-EOF
	ufile $ufile state disassociated uverbs uverbs0, opened by $who
	  ref 2
	    file        it is open
	    fd          $who fd $(value async) type ASYNC_EVENT state dead
	    unexplained 0
	  file_ref $((1 + $(maps | wc -l)))
	    fd          $who fd $(value cmd)
	    unexplained $(maps | wc -l)
	EOF
}

while_unbound()
{
	unbind && unbound_expected
	u_rc=$?
	bind && [ $u_rc = 0 ] && unbound_expected && next_step &&
		async_expected disassociated -
}
disassociated() { in_state leaving while_unbound && gone; }

while_dmabuf()
{
	state closed mlx5_0 && held "ufile:$ufile" <<-EOF || return 1
	ufile $ufile state closed device mlx5_0 uverbs uverbs0, opened by $who
	  ref 1
	    dma-buf     ino $(value ino), its uobject is destroyed
	    unexplained 0
	EOF
	held "ino:$(value ino)" <<-EOF || return 1
	dma-buf ino $(value ino) size 4096 revoked 1 ufile $ufile, opened by $who
	  file_ref 1
	    fd          $who fd $(value dmabuf)
	    unexplained 0
	  kref 0
	    unexplained 0
	  ref 1
	    file        it is open
	    unexplained 0
	EOF
	next_step
}
by_a_dmabuf() { in_state dmabuf while_dmabuf; }

# Kernels before 7.3 never give back what that dma-buf had: the ufile stays for good,
# and nobody has it.
leaked()
{
	by_a_dmabuf || return 1
	if gone > /dev/null; then
		echo "this kernel frees a ufile whose dma-buf is closed last"
		return "$KSFT_SKIP"
	fi
	state closed mlx5_0 && held "ufile:$ufile" <<-EOF
	ufile $ufile state closed device mlx5_0 uverbs uverbs0, opened by $who
	  ref 1
	    unexplained 1
	EOF
}

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -d $SCOPE_DEBUGFS ] || skip_all "no $SCOPE_DEBUGFS: load uobjscope.ko"
command -v uobjscope > /dev/null || skip_all "no uobjscope command: make -C user install"
[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
[ "$(ls /sys/class/infiniband)" = mlx5_0 ] ||
	skip_all "the virtual HCA is not the only RDMA device, or it is not mlx5_0"
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

# The last two leave a ufile behind where the kernel has that fault.
tests="open nocontext by_a_mapping in_flight by_the_async_file closed_and_unbound disassociated
	by_a_dmabuf leaked"

ktap_print_header
plan "$(echo "$tests" | wc -w)"
for t in $tests; do
	run "$t"
done
ktap_finished
