#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# base.sh [--gcov]: print the folder with the RDMA core and mlx5_ib of kernel $KERNEL,
# built as modules from the matching source without any change; built once.
#
# A mutant is built in a copy of it, where only what its patch touches is compiled.
# With --gcov the modules count what is executed of them, for which the kernel must have
# CONFIG_GCOV_KERNEL as the debug kernels have.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"

folders=(drivers/infiniband/core drivers/infiniband/hw/mlx5)
case "$*" in
'')
	kind=infiniband
	;;
--gcov)
	kind=infiniband-gcov
	;;
*)
	die "base.sh: expected --gcov or nothing, seen: $*"
	;;
esac

build()
{
	local source=$1 out=$2 f
	for f in "${folders[@]}"; do
		mkdir -p "$out/$f"
		cp -r "$source/$f/." "$out/$f/"
		[ $kind = infiniband ] || echo 'GCOV_PROFILE := y' >> "$out/$f/Makefile"
	done
	{
		echo '# SPDX-License-Identifier: GPL-2.0'
		printf 'obj-m += %s/\n' "${folders[@]}"
	} > "$out/Kbuild"
	quietly "$out/build.log" "building the RDMA core and mlx5_ib ($kind) for $KERNEL" \
		"$TOP/scripts/mutants/make.sh" "$out" || return 1
	printf '%s\n' Kbuild > "$out/.key-files"
}

source=$("$LAB/kernel.sh" source)
kernel=$("$LAB/kernel.sh" path)
rootfs=$("$LAB/rootfs.sh")
cache_entry "$kind-$(cache_key "${kernel##*/}" "${rootfs##*/}" \
	"@$TOP/scripts/mutants/base.sh" "@$TOP/scripts/mutants/make.sh")" 1000 build "$source"
