#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The suite where the only RDMA device is not of mlx5: a Soft-RoCE one.  What tests mlx5
# is skipped.

DIR=$(cd "$(dirname "$0")/../uobjscope" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"
# shellcheck source=scripts/runner/tests/skips/skips_lib.sh
. "$(dirname "$0")/skips_lib.sh"

# Of the layer that skips.sh makes.
rxe_there()
{
	expect 'rxe0: (set|added) '
	modprobe ib_uverbs || return 1
	while read -r m; do insmod "/rxe/$m" || return 1; done < /rxe/order
	# Where dummy is built in, it is up to whoever wants one.
	ip link show dummy0 > /dev/null 2>&1 || ip link add dummy0 type dummy || return 1
	ip link set dummy0 up || return 1
	rdma link add rxe0 type rxe netdev dummy0 || return 1
	ibv_devices | grep rxe0
}

[ -r /rxe/order ] || skip_all "no /rxe: run skips.sh"
begin 1
run rxe_there
# It needs any PCI function, and no RDMA device at all.
independent=importer
every_program env
ktap_finished
