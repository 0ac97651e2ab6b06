#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# machines.sh [NAME...]: the virtual HCA in guests of other shapes (one processor, little
# memory, IOMMUs, bounce buffers, no window, memory mapped by the GiB): it works, or refuses
# with one line that says what to do.  Nothing may panic.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../../lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

[ "$KERNEL" != slab ] || KERNEL=7.2
built=$("$LAB/build.sh")
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

# What was built, and the programs that look at the guest.
mkdir -p "$w/tree/modules"
cp -r "$built/install" "$w/tree/install"
find "$built/modules" -name '*.ko' -exec cp {} "$w/tree/modules/" \;
mkdir "$w/tree/install/machines"
cp "$TOP"/scripts/runner/tests/machines/*.sh "$w/tree/install/machines/"
for f in "$w"/tree/install/machines/*.sh; do
	echo "machines:${f##*/}"
done >> "$w/tree/install/kselftest-list.txt"

# guest NAME ARGUMENT...: a guest of that shape; what it boots with is in $append and $vhca.
guest()
{
	local name=$1 rc=0
	shift
	[ ${#wanted[@]} = 0 ] || [[ " ${wanted[*]} " = *" $name "* ]] || return 0
	say "guest $name: $*"
	APPEND="MACHINE=$name $append" VHCA="$vhca" python3 "$TOP/scripts/runner/run.py" \
		--tree "$w/tree" --kernel "$KERNEL" --results "$w/$name" "$@" > "$w/out" 2>&1 || rc=$?
	check "$name" is_good "$rc"
}

is_good()	# STATUS: of the runner, whose output is there
{
	[ "$1" = 0 ] || { grep -E '^(FAIL|uobjscope:)' "$w/out" || tail -n 30 "$w/out"; return 1; }
	# All that is skipped is not good.
	! grep -E '^SKIP' "$w/out"
}

wanted=("$@")
works="is_that_machine works var dm dmabuf"

append='' vhca=''
# shellcheck disable=SC2086
{
	guest one-processor --cpus 1 $works
	guest little-memory --cpus 1 --memory 1024 $works
	guest zen --cpu EPYC is_that_machine two_hcas:separate_lend
	append='intel_iommu=on iommu.strict=1 iommu.passthrough=0'
	guest intel-iommu --device intel-iommu,intremap=on $works
	append='intel_iommu=on iommu=pt'
	guest intel-iommu-pt --device intel-iommu,intremap=on $works
	append='iommu.strict=1 iommu.passthrough=0'
	guest amd-iommu --device amd-iommu,intremap=on $works
	append='swiotlb=force REFUSES=swiotlb=force'
	guest bounce-buffers --no-vhca is_that_machine refuses
	# The same with memory of the kernel's, which goes back to it.
	append='swiotlb=force REFUSES=swiotlb=force BAR_PHYS=0'
	guest bounce-buffers-loan --no-vhca refuses
	# Nobody could tell whether such memory is still mapped.
	append='nopat REFUSES=without.PAT BAR_PHYS=0'
	guest no-pat --no-vhca refuses
	append='memhp_default_state=offline'
	guest stays-offline --no-vhca is_that_machine stays_offline
	append=''
	guest gigabyte-pages --memory 4096 is_that_machine window.sh slow_window.sh
	guest little-memory-loan --cpus 1 --memory 1024 window.sh
	guest ivshmem --no-vhca --object memory-backend-ram,id=window,size=64M,share=on \
		--device ivshmem-plain,memdev=window ivshmem
	# Reserved, but the machine has no memory there.
	append='memmap=64M$0x2000000000 BAR_PHYS=0x2000000000 REFUSES=within.the.machine'
	guest no-memory-there --no-vhca refuses
}

# build_other FLAG: the module, built with that flag of its Kbuild; only what the flag changes
# is built again.
build_other()
{
	mkdir -p "$w/build/$KERNEL"
	[ -e "$w/build/$KERNEL/modules" ] || cp -a "$built/modules" "$w/build/$KERNEL/"
	BUILD=$w/build MODULE_FLAGS="$1=y" "$LAB/build.sh" modules > /dev/null || return 1
	find "$w/build" -name '*.ko' -exec cp {} "$w/tree/modules/" \;
}

# The module as on a kernel without memory hotplug.
no_memory_hotplug()
{
	build_other VHCA_NO_MEMORY_HOTPLUG &&
		! grep -q offline_and_remove_memory "$w/tree/modules/mlx5_vhca.ko"
}
if [ ${#wanted[@]} = 0 ] || [[ " ${wanted[*]} " = *" no-memory-hotplug "* ]]; then
	append='' vhca=''
	check no-memory-hotplug-build no_memory_hotplug
	# Else it would be what was built before.
	[ "$failed" != 0 ] || guest no-memory-hotplug window.sh
fi

# The driver's interrupts with the module's own code in place of the kernel's library.
own_msi_code()
{
	build_other VHCA_NO_MSI_LIB &&
		! grep -q msi_lib_init_dev_msi_info "$w/tree/modules/mlx5_vhca.ko"
}
if [ ${#wanted[@]} = 0 ] || [[ " ${wanted[*]} " = *" no-msi-library "* ]]; then
	append='' vhca=''
	check no-msi-library-build own_msi_code
	# Else it would be what was built before.
	[ "$failed" != 0 ] || guest no-msi-library works var
fi
tally_end
