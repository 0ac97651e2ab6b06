#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# rdma-core's own Python tests, with this device below them.  Only run when it is asked
# for by name; needs Python, pyverbs (python3-pyverbs) and the tests of rdma-core's source,
# see scripts/pyverbs/run.sh.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

tests=${PYVERBS_TESTS:-/usr/share/rdma-core-tests}
[ "$(id -u)" = 0 ] || skip_all "not root"
command -v python3 > /dev/null || skip_all "no python3: install it, or run make pyverbs"
python3 -c 'import pyverbs.device' 2> /dev/null ||
	skip_all "no pyverbs: install python3-pyverbs, or run make pyverbs"
[ -r "$tests/tests/run_tests.py" ] ||
	skip_all "no $tests/tests/run_tests.py: set PYVERBS_TESTS to rdma-core's source, or run make pyverbs"
device=${UOBJSCOPE_DEVICE:-$(basename "$(find /sys/class/infiniband -mindepth 1 | sort | head -n 1)")}
[ -n "$device" ] || skip_all "no RDMA device: load mlx5_vhca.ko"
# Some tests want huge pages, some a file system for large ones.
pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
[ ! -w $pages ] || [ "$(cat $pages)" != 0 ] || echo 32 > $pages
# The connection manager's tests want an address on the port, which IPoIB gives.
net=/sys/class/infiniband/$device/device/net
if [ -z "$listing" ] && modprobe -a -q ib_ipoib rdma_ucm && wait_for "network interface" [ -d "$net" ]; then
	ip link set lo up
	ip link set "$(ls "$net")" up
	ip addr add 192.0.2.1/24 dev "$(ls "$net")"
fi
# A GPU's buffers are played by the system heap, if there is no GPU.
[ -e /dev/dri/renderD128 ] || export LD_PRELOAD="$DIR/pyverbs_gpu.so"
# shellcheck disable=SC2086
exec python3 "$DIR/pyverbs_check.py" ${listing:+--list} --device "$device" \
	--exceptions "$DIR/pyverbs_exceptions" "$tests/tests" $only
