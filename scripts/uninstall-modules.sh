#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# uninstall-modules.sh KDIR [INSTALL_MOD_PATH]: remove what make modules_install has put
# there for the kernel of the build tree KDIR.

set -euo pipefail

"$(dirname "$0")/check-kdir.sh" "$1"
root=${2:-}
release=$(cat "$1/include/config/kernel.release")
updates=$root/lib/modules/$release/${INSTALL_MOD_DIR:-updates}
[ -d "$updates" ] || exit 0
for name in mlx5_vhca dmabuf_importer uobjscope mlx5_raw_command mlx5_capability late_return \
	fail_allocation slow_function; do
	find "$updates" -name "$name.ko" -o -name "$name.ko.[gxz]*"
done | while read -r file; do
	rm -v "$file"
done
find "$updates" -mindepth 1 -type d -empty -delete
[ -n "$root" ] || depmod "$release"
