#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# uobjscope.ko and drgn look at the same objects: do they see the same?  Only run when
# it is asked for by name; drgn (python3-drgn) and the kernel's debug symbols must be
# installed.

DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

[ "$(id -u)" = 0 ] || skip_all "not root"
[ -d $SCOPE_DEBUGFS ] || skip_all "no $SCOPE_DEBUGFS: load uobjscope.ko"
[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
command -v python3 > /dev/null || skip_all "no python3: install it, or run make drgn"
python3 -c 'import drgn' 2> /dev/null || skip_all "no drgn: install python3-drgn, or run make drgn"
exec python3 "$DIR/drgn_check.py" "$DIR/drgn_scene" $SCOPE_DEBUGFS/snapshot
