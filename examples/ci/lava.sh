#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# lava.sh TARBALL: on the machine under test: unpack the tarball of gen_tar, load what the
# tests want, run them, and tell LAVA each result (lava-test-case, or lines on standard output
# where there is none).  TESTS= names the programs, VHCA= has the parameters of mlx5_vhca.ko,
# "none" leaves it out.

collection=rdma/uobj_lifetime
here=$(cd "$(dirname "$0")" && pwd)
tarball=${1:?usage: lava.sh TARBALL}

# die TEXT: a case of its own, so that no result is not taken for a good one.
die()
{
	echo "uobjscope: $*" >&2
	echo "setup fail" | "$here/lava-send.sh"
	exit 1
}

w=$(mktemp -d) || exit 1
trap 'rm -rf "$w"' EXIT
case $tarball in
*://*)
	curl -fsSL -o "$w/kselftest.tar" "$tarball" || die "cannot fetch $tarball"
	tarball=$w/kselftest.tar
	;;
esac
mkdir "$w/tests"
tar xf "$tarball" -C "$w/tests" || die "cannot unpack $tarball; expected what make gen_tar makes"
modules=$w/tests/$collection/modules
[ -d "$w/tests/$collection" ] || die "$tarball has no $collection in it"

if [ "${VHCA:-none}" != none ]; then
	modprobe -a ib_uverbs mlx5_ib || die "this kernel has no mlx5_ib"
	# shellcheck disable=SC2086
	insmod "$modules/mlx5_vhca.ko" $VHCA || die "mlx5_vhca.ko does not load with '$VHCA'"
fi
if [ -e "$modules/uobjscope.ko" ] && [ ! -e /sys/module/uobjscope ]; then
	insmod "$modules/uobjscope.ko" ||
		die "uobjscope.ko does not load: was it built for this kernel?"
fi
set --
for t in ${TESTS:-}; do
	set -- "$@" -t "$collection:$t"
done
[ $# -gt 0 ] || set -- -c "$collection"
# Through a pipe, which run_kselftest.sh opens again by name.  In a guest of virtme-ng that name
# leads to the host instead, past the pipe.
case $(readlink /dev/stdout) in
/dev/virtio-ports/*) ln -sfn /proc/self/fd/1 /dev/stdout ;;
esac
"$w/tests/run_kselftest.sh" "$@" 2>&1 | tee "$w/log"
awk -f "$here/kselftest-results.awk" "$w/log" | "$here/lava-send.sh"
