#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# guest.sh [PROGRAM...]: the tarball that run.sh has left in build/in-tree, in a guest: the
# kernel tree's own run_kselftest.sh runs programs of it there.  Of the modules the guest loads
# two; all others, and the uobjscope command, the tests must find in what was unpacked.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../../lab/lib.sh"

tarball=${BUILD:-$TOP/build}/in-tree/kselftest.tar.gz
[ -f "$tarball" ] || die "no $tarball: run scripts/in-tree/tests/run.sh first"
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
mkdir "$w/install" "$w/modules"
tar xf "$tarball" -C "$w/install"
modules=$w/install/rdma/uobj_lifetime/modules
cp "$modules/mlx5_vhca.ko" "$modules/uobjscope.ko" "$w/modules/"
[ $# -gt 0 ] || set -- var importer observe.sh device_commands.sh
python3 "$TOP/scripts/runner/run.py" --kernel "$KERNEL" --tree "$w" --at-least 60 "$@"
