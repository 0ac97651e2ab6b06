#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# base.sh: print the folder with the RDMA core and mlx5_ib of kernel $KERNEL, built as
# modules from the matching source without any change; built once.
#
# A mutant is built in a copy of it, where only what its patch touches is compiled.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"

folders=(drivers/infiniband/core drivers/infiniband/hw/mlx5)

build()
{
	local source=$1 out=$2
	for f in "${folders[@]}"; do
		mkdir -p "$out/$f"
		cp -r "$source/$f/." "$out/$f/"
	done
	{
		echo '# SPDX-License-Identifier: GPL-2.0'
		printf 'obj-m += %s/\n' "${folders[@]}"
	} > "$out/Kbuild"
	quietly "$out/build.log" "building the RDMA core and mlx5_ib for $KERNEL" \
		"$TOP/scripts/mutants/make.sh" "$out"
	printf '%s\n' Kbuild > "$out/.key-files"
}

source=$("$LAB/kernel.sh" source)
release=$("$LAB/kernel.sh" version)
rootfs=$("$LAB/rootfs.sh")
cache_entry "infiniband-$release-$(cache_key "$release" "${rootfs##*/}" \
	"@$TOP/scripts/mutants/base.sh" "@$TOP/scripts/mutants/make.sh")" 1000 build "$source"
