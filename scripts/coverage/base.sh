#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# base.sh: print the folder with the RDMA core and mlx5_ib of kernel $KERNEL, built as
# modules from the matching source, so that gcov counts what is executed of them.
# $KERNEL has CONFIG_GCOV_KERNEL, which the debug kernels have.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"

folders=(drivers/infiniband/core drivers/infiniband/hw/mlx5)

build()
{
	local source=$1 out=$2 f
	for f in "${folders[@]}"; do
		mkdir -p "$out/$f"
		cp -r "$source/$f/." "$out/$f/"
		echo 'GCOV_PROFILE := y' >> "$out/$f/Makefile"
	done
	{
		echo '# SPDX-License-Identifier: GPL-2.0'
		printf 'obj-m += %s/\n' "${folders[@]}"
	} > "$out/Kbuild"
	quietly "$out/build.log" "building the RDMA core and mlx5_ib to be counted, for $KERNEL" \
		"$TOP/scripts/mutants/make.sh" "$out" || return 1
	printf '%s\n' Kbuild > "$out/.key-files"
}

source=$("$LAB/kernel.sh" source)
kernel=$("$LAB/kernel.sh" path)
cache_entry "coverage-$(cache_key "${kernel##*/}" "@$TOP/scripts/coverage/base.sh" \
	"@$TOP/scripts/mutants/make.sh")" 1000 build "$source"
