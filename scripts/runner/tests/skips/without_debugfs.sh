#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The suite as root without debugfs: all of it has a witness there, and is skipped.

DIR=$(cd "$(dirname "$0")/../uobjscope" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"
# shellcheck source=scripts/runner/tests/skips/skips_lib.sh
. "$(dirname "$0")/skips_lib.sh"

# The guest's own scripts have nothing of it open.
umounted() { umount /sys/kernel/debug; }
mounted_again() { mount -t debugfs debugfs /sys/kernel/debug && [ -d $VHCA_DEBUGFS ]; }

[ -n "$pci" ] || skip_all "no $VHCA_DEBUGFS: load mlx5_vhca.ko"
begin 2
run umounted
every_program env
run mounted_again
ktap_finished
