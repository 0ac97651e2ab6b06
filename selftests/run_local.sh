#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run_local.sh [PROGRAM...]: the tests on a device of this machine, a ConnectX say.
#
#   DEVICE=mlx5_0   which one; without it the only one that mlx5_core drives
#   ALLOW=...       what else may be done to it: "unbind" (it is taken from its driver, and
#                   all who use it lose it) and "exhaustion" (nothing is left of its VARs and
#                   device memory for others, for a moment)
#
# uobjscope.ko and dmabuf_importer.ko, for the running kernel, are looked for in modules/
# beside the programs, if they are not loaded; what needs one that is not there is skipped.
# Neither mlx5_vhca nor a driver is loaded or unloaded; what else is loaded, or mounted, is taken
# back at the end.  Tests that need the virtual HCA's ledger are skipped, with the
# reason.  The results are KTAP on stdout, and one closing line.
#
# Exit status: 0 all is well, 1 tests failed or something could not be taken back, 2 nothing
# was run.

DIR=$(cd "$(dirname "$0")" && pwd)
debugfs=/sys/kernel/debug

# Those whose witnesses are the kernel's own.  What is known to leak or to take the kernel
# down is none of them.
PROGRAMS="var mmap_entry uobject var_share dm sw_icm dm_share dmabuf observe attach refault"
PROGRAMS="$PROGRAMS process_death storms order importer importer_dm"
WITH_UNBIND="disassociate importer_device"

die()
{
	echo "uobjscope: $*" >&2
	exit 2
}

# Functions that mlx5_core has, as RDMA devices.
candidates()
{
	for d in /sys/class/infiniband/*; do
		[ -e "$d/device/driver" ] || continue
		[ "$(basename "$(readlink -f "$d/device/driver")")" != mlx5_core ] || basename "$d"
	done
}

pick_device()
{
	there=$(candidates | tr '\n' ' ')
	there=${there% }
	[ -n "$there" ] || die "no RDMA device of mlx5_core here: load mlx5_ib"
	if [ -n "${DEVICE:-}" ]; then
		case " $there " in
		*" $DEVICE "*) return ;;
		esac
		die "DEVICE=$DEVICE: no RDMA device of mlx5_core; there are: $there"
	fi
	case $there in
	*" "*) die "which device? set DEVICE= to one of: $there" ;;
	esac
	DEVICE=$there
}

check_words()
{
	for word in ${ALLOW:-}; do
		case $word in
		unbind|exhaustion) ;;
		*) die "ALLOW=$word: expected unbind or exhaustion" ;;
		esac
	done
}

allowed() { case " ${ALLOW:-} " in *" $1 "*) true ;; *) false ;; esac; }

# choose PROGRAM...: which are run, of those that may be.
choose()
{
	may=$PROGRAMS
	! allowed unbind || may="$may $WITH_UNBIND"
	# shellcheck disable=SC2086
	[ $# -gt 0 ] || set -- $may
	chosen=$*
	for p; do
		case " $may " in
		*" $p "*) continue ;;
		esac
		case " $WITH_UNBIND " in
		*" $p "*) die "$p takes the device from its driver: set ALLOW=unbind where that does no harm" ;;
		esac
		die "$p: it needs the virtual HCA, or does harm; for a device of this machine there are: $may"
	done
}

loaded() { cut -d ' ' -f 1 /proc/modules; }

# Where it is, and how it is driven: this must be the same at the end.
state()
{
	echo "$DEVICE" "$(readlink -f "/sys/class/infiniband/$DEVICE/device/driver")" \
		"$(find "/sys/class/infiniband/$DEVICE/device/net" -mindepth 1 -maxdepth 1 2> /dev/null | sort)"
}

begin()
{
	loaded > "$w/before"
	state > "$w/state"
	mounted=
	if [ ! -e $debugfs/dma_buf ] && mount -t debugfs none $debugfs; then
		mounted=y
	fi
	scope=$DIR/modules/uobjscope.ko
	[ -r "$scope" ] || scope=/uobjscope/modules/uobjscope.ko
	if [ ! -e $debugfs/uobjscope ] && [ -r "$scope" ]; then
		insmod "$scope" || echo "# uobjscope.ko cannot be loaded: what needs it is skipped"
	fi
}

# Whatever came meanwhile goes, if it is one of ours.
end()
{
	left=0
	for tries in 1 2; do
		for m in $(loaded | grep -vxF -f "$w/before"); do
			case $m in
			dmabuf_importer|uobjscope|late_return|fail_allocation|slow_function) ;;
			*) continue ;;
			esac
			rmmod "$m" 2> "$w/rmmod" || [ "$tries" = 1 ] || { cat "$w/rmmod"; left=1; }
		done
	done
	[ -z "$mounted" ] || umount $debugfs || left=1
	state > "$w/after"
	if [ "$(cat "$w/state")" != "$(cat "$w/after")" ]; then
		echo "# the device was: $(cat "$w/state")"
		echo "# it is now:      $(cat "$w/after")"
		left=1
	fi
	[ $left = 0 ] || echo "# not all is as it was found"
	return $left
}

# run PROGRAM: its results, indented as those of run_kselftest.sh, and one for it all.
run()
{
	number=$((number + 1))
	if [ ! -x "$DIR/$1" ]; then
		echo "ok $number selftests: uobjscope: $1 # SKIP it was not built"
		skipped=$((skipped + 1))
		return
	fi
	echo "# selftests: uobjscope: $1"
	(cd "$DIR" && timeout "$limit" "./$1") > "$w/out" 2>&1
	rc=$?
	sed 's/^/# /' "$w/out"
	p=$(grep -c '^ok [0-9]' "$w/out")
	s=$(grep -c '^ok [0-9].* # SKIP' "$w/out")
	f=$(grep -c '^not ok [0-9]' "$w/out")
	# What was planned and has no result has failed, and so has what ended badly.
	planned=$(sed -n 's/^1[.][.]\([0-9]*\).*/\1/p' "$w/out" | head -n 1)
	[ $((p + f)) -ge "${planned:-1}" ] || [ $rc = 4 ] || f=$((${planned:-1} - p))
	[ $rc = 0 ] || [ $rc = 4 ] || [ "$f" -gt 0 ] || f=1
	[ "$p" -gt 0 ] || [ $rc != 4 ] || { s=1 p=1; }
	passed=$((passed + p - s)) failed=$((failed + f)) skipped=$((skipped + s))
	case $rc in
	0) echo "ok $number selftests: uobjscope: $1" ;;
	4) echo "ok $number selftests: uobjscope: $1 # SKIP" ;;
	124) echo "not ok $number selftests: uobjscope: $1 # TIMEOUT $limit seconds" ;;
	*) echo "not ok $number selftests: uobjscope: $1 # exit=$rc" ;;
	esac
}

[ "$(id -u)" = 0 ] || die "not root: the files in debugfs can only be read by root"
check_words
choose "$@"
pick_device
limit=$(sed -n 's/^timeout=//p' "$DIR/settings" 2> /dev/null)
limit=${limit:-600}
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
trap 'end; exit 130' INT TERM
export UOBJSCOPE_DEVICE="$DEVICE" UOBJSCOPE_ALLOW="${ALLOW:-}"
number=0 passed=0 failed=0 skipped=0
echo "TAP version 13"
# shellcheck disable=SC2086
set -- $chosen
echo "1..$#"
echo "# device $DEVICE; allowed: ${ALLOW:-nothing that others would notice}"
begin
for p; do
	run "$p"
done
end || failed=$((failed + 1))
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
