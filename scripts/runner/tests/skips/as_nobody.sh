#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The suite without root: all of it is skipped, and nothing of it has an effect.

DIR=$(cd "$(dirname "$0")/../uobjscope" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"
# shellcheck source=scripts/runner/tests/skips/skips_lib.sh
. "$(dirname "$0")/skips_lib.sh"

[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
begin 0
every_program su -s /bin/sh nobody -c 'exec "$0"'
ktap_finished
