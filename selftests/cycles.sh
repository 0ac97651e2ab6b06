#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Devices and drivers come and go in random order, with and without a process that has
# objects on them: nothing may be left of it anywhere.  The order follows from SEED, which
# is printed; set it to repeat one.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

ROUNDS=${ROUNDS:-20}
STEPS=5			# in a round, before everything is taken away
FEW=10			# rounds that say nothing of lost memory
# What the kernel frees late makes the sum of all memory in use go up and down by some
# 20 MiB, but not the least of several rounds; its small objects grow by 1 MiB in 16.
LOST_MAX_KIB=16384
SLAB_MAX_KIB=4096
SEED=${SEED:-$(date +%s)}

random()	# N: a number below that, in $random; the generator of POSIX' rand() example
{
	state=$(((state * 1103515245 + 12345) & 0x7fffffff))
	random=$(((state >> 16) % $1))
}

functions() { find $VHCA_DEBUGFS -mindepth 1 -maxdepth 1 2> /dev/null | sed "s|.*/||" | sort; }
is_bound() { [ -e "/sys/bus/pci/devices/$1/driver" ]; }
ibdev_of() { [ -e "/sys/bus/pci/devices/$1/infiniband_verbs" ]; }

did()		# WORDS: what was done in this round, for whoever has to understand it
{
	echo "$*"
}

step_unbind()	# FUNCTION
{
	did "unbind $1"
	echo "$1" > $driver/unbind && vhca_is_at_rest "$1" && vhca_no_violation
}

step_bind()
{
	did "bind $1"
	echo "$1" > $driver/bind && wait_for "ib_device of $1" ibdev_of "$1" && vhca_no_violation
}

step_remove()
{
	did "rmmod"
	vhca_no_violation && rmmod mlx5_vhca && nothing_left
}

step_insert()
{
	random 3
	case $random in
	0) how="hcas=1" ;;
	1) how="hcas=2 topology=separate" ;;
	2) how="hcas=2 topology=port" ;;
	esac
	did "insmod $how"
	# shellcheck disable=SC2086
	vhca_insert $how || return 1
	for f in $(functions); do
		wait_for "ib_device of $f" ibdev_of "$f" || return 1
	done
}

# Only one process at a time, on the devices that are there now.
step_hold()
{
	did "a process takes objects"
	case $how in
	*separate) expect 'mlx5_core .*: cannot be used for peer-to-peer DMA' ;;
	esac
	hold_begin "$DIR/hold" all && holding=y
}

step_let_go()
{
	did "the process ends"
	holding=
	hold_end
}

step_end_hard()
{
	did "the process is killed"
	holding=
	kill -9 "$holder"
	exec 9>&-
	# The shell says so of a process that was killed.
	wait "$holder" 2> /dev/null
	killed=$?
	[ $killed = 137 ] || { echo "expected status 137, it ended with $killed:"; cat "$said"; }
	rm "$said"
	[ $killed = 137 ]
}

any_bound()
{
	for f in $(functions); do
		! is_bound "$f" || return 0
	done
	return 1
}

# One step that is possible now.
step()
{
	random 8
	if [ ! -e $VHCA_DEBUGFS ]; then
		step_insert
	elif [ -z "$holding" ] && [ $random -lt 3 ] && any_bound; then
		step_hold
	elif [ -n "$holding" ] && [ $random = 0 ]; then
		step_let_go
	elif [ -n "$holding" ] && [ $random = 1 ]; then
		step_end_hard
	elif [ $random = 2 ]; then
		step_remove
	else
		random "$(functions | wc -l)"
		f=$(functions | sed -n "$((random + 1))p")
		if is_bound "$f"; then step_unbind "$f"; else step_bind "$f"; fi
	fi
}

# A round ends with nothing loaded; the process may end before that or after.
round()
{
	for _ in $(seq $STEPS); do
		step || return 1
	done
	random 2
	[ -z "$holding" ] || [ $random = 0 ] || step_let_go || return 1
	[ ! -e $VHCA_DEBUGFS ] || step_remove || return 1
	[ -z "$holding" ] || step_let_go || return 1
}

# In KiB: what the kernel cannot give back (no caches of files), and its small objects.
used_kib() { awk '/^MemTotal:/ { n += $2 } /^MemAvailable:/ { n -= $2 } END { print n }' /proc/meminfo; }
slab_kib() { awk '/^SUnreclaim:/ { print $2 }' /proc/meminfo; }

# After each round: the least of the first and of the second half.
look_at_memory()	# ROUND
{
	used=$(used_kib)
	if [ "$1" -le $((ROUNDS / 2)) ]; then
		[ -n "$early" ] && [ "$early" -le "$used" ] || early=$used
		slab_early=$(slab_kib)
	else
		[ -n "$late" ] && [ "$late" -le "$used" ] || late=$used
		slab_late=$(slab_kib)
	fi
}

# Large allocations by caller, without those that come and go with processes and modules.
# The caller's name is not what it was where code has taken the place of other code.
vmalloc()
{
	sed -E 's/^[^ ]+ +[0-9]+ //; s/[ +].*//' /proc/vmallocinfo |
		grep -vE '^(kernel_clone|fork_idle|execmem_|unpurged|pcpu_|bpf_|n_tty_)' | sort | uniq -c
}

# Small ones of a module that is not loaded: their callers have no names.
slab_of_nobody()
{
	grep -hE '^ *[0-9]+ 0x[0-9a-f]+ ' /sys/kernel/debug/slab/*/alloc_traces
}

# What is counted exactly, and must be as it was before the first round.
exact()
{
	find /sys/bus/pci/devices /sys/kernel/irq -mindepth 1 -maxdepth 1 | sort
	cat /proc/iomem
	cat /proc/[0-9]*/comm 2> /dev/null | grep '^mlx5_vhca'
	vmalloc
}

nothing_left()
{
	[ ! -e $VHCA_DEBUGFS ] || { echo "$VHCA_DEBUGFS is still there"; return 1; }
	exact | diff "$w/before" - || { echo "that is not as it was before"; return 1; }
}

no_slab_left()
{
	if slab_of_nobody; then
		echo "objects of a module that is not loaded"
		return 1
	fi
}

# What the exact counts cannot see: pages, and objects of other modules.
memory_is_back()
{
	bad=0
	[ $((late - early)) -le $LOST_MAX_KIB ] ||
		{ echo "$((late - early)) KiB lost in $ROUNDS rounds, expected $LOST_MAX_KIB at most"; bad=1; }
	[ $((slab_late - slab_early)) -le $SLAB_MAX_KIB ] || {
		echo "$((slab_late - slab_early)) KiB of small objects lost, expected $SLAB_MAX_KIB at most"
		bad=1
	}
	return $bad
}

as_before()
{
	[ -z "$holding" ] || step_let_go
	[ ! -e $VHCA_DEBUGFS ] || rmmod mlx5_vhca
	vhca_insert && wait_for "ib_device" ibdev_there && vhca_no_violation
}

need_the_only_device
[ -r "$VHCA_MODULE" ] || skip_all "no $VHCA_MODULE: set MLX5_VHCA_KO to mlx5_vhca.ko"
vhca_remember
[ "$(cat_parameter bar_phys)" != 0 ] ||
	skip_all "the window is wherever the kernel hands out memory: load mlx5_vhca.ko with bar_phys="
vhca_has_memory_for_two || skip_all "$why"
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

memory=''
[ "$ROUNDS" -lt $FEW ] || memory=memory_is_back
# Only a kernel that was booted with slab_debug=U knows who allocated.
slab=''
! ls /sys/kernel/debug/slab/*/alloc_traces > /dev/null 2>&1 || slab=no_slab_left

ktap_print_header
plan $((ROUNDS + 1 + $(echo "$slab $memory" | wc -w)))
echo "# SEED=$SEED"
state=$SEED holding='' early='' late=''
rmmod mlx5_vhca
exact > "$w/before"
for i in $(seq "$ROUNDS"); do
	run_here "round_$i" round
	look_at_memory "$i"
done
echo "# memory: $((late - early)) KiB more, of small objects $((slab_late - slab_early)) KiB"
for t in $slab $memory; do run "$t"; done
run as_before
[ -z "$only" ] || as_before
ktap_finished
