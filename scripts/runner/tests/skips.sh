#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# skips.sh [NAME...]: the suite where it cannot test, in guests without root, without
# debugfs, with a device of another kind, with an older rdma-core: each test is skipped
# with a reason, or tests what can be tested there; none fails.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../../lab/lib.sh"
# shellcheck source=scripts/tally.sh
. "$TOP/scripts/tally.sh"

[ "$KERNEL" != slab ] || KERNEL=7.2
built=$("$LAB/build.sh")
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT

# What was built, and the programs that run it.
mkdir -p "$w/tree/modules"
cp -r "$built/install" "$w/tree/install"
find "$built/modules" -name '*.ko' -exec cp {} "$w/tree/modules/" \;
mkdir "$w/tree/install/skips"
cp "$TOP"/scripts/runner/tests/skips/*.sh "$w/tree/install/skips/"
echo timeout=300 > "$w/tree/install/skips/settings"
for p in as_nobody without_debugfs only_rxe old_library; do
	echo "skips:$p.sh"
done >> "$w/tree/install/kselftest-list.txt"

# A layer with rdma_rxe, with what it needs and the guest lacks, and its provider.
rxe_layer()
{
	local root rootfs modules release layer=$w/rxe m name
	root=$("$LAB/kernel.sh" path)/root
	release=$("$LAB/kernel.sh" version)
	rootfs=$("$LAB/rootfs.sh")
	modules=$root/usr/lib/modules/$release/kernel
	mkdir -p "$layer/rxe" "$layer/etc/libibverbs.d"
	for m in net/ipv4/udp_tunnel net/ipv6/ip6_udp_tunnel drivers/net/dummy \
		drivers/infiniband/sw/rxe/rdma_rxe; do
		name=${m##*/}.ko
		# Some are built in.
		[ -e "$modules/$m.ko.xz" ] || continue
		xz -dc "$modules/$m.ko.xz" > "$layer/rxe/$name"
		echo "$name"
	done > "$layer/rxe/order"
	cp "$rootfs/etc/libibverbs.d/rxe.driver" "$layer/etc/libibverbs.d/"
	(cd "$rootfs" && cp --parents usr/lib/x86_64-linux-gnu/libibverbs/librxe-*.so "$layer/")
}

# rdma-core 56, of Debian trixie, as a layer over the newer one.
fetch_old_library()
{
	local deb
	mkdir "$1/debs"
	{
		"$LAB/apt.sh" "$1/apt" trixie apt-get update &&
			(cd "$1/debs" &&
				"$LAB/apt.sh" "$1/apt" trixie apt-get download libibverbs1 ibverbs-providers)
	} > "$CACHE/log/rdma-core-trixie.log" 2>&1 || return 1
	for deb in "$1"/debs/*.deb; do
		dpkg-deb -x "$deb" "$1/root" || return 1
	done
	rm -r "$1/debs" "$1/apt"
}

old_library_layer()
{
	local lib=usr/lib/x86_64-linux-gnu layer=$w/old dir
	# That of the distribution, whatever the host's own was.
	dir=$(cache_entry "rdma-core-trixie-$(cache_key "$("$LAB/mirror.sh")" "@$0")" 100 fetch_old_library) ||
		return 1
	mkdir -p "$layer/$lib/libibverbs"
	cp -L "$dir/root/$lib"/lib{ibverbs,mlx5}.so.1 "$layer/$lib/"
	cp -L "$dir/root/$lib"/libibverbs/libmlx5-rdmav*.so "$layer/$lib/libibverbs/"
}

# guest NAME ARGUMENT...: each result of the guest becomes ours.
guest()
{
	local name=$1 rc=0
	shift
	[ ${#wanted[@]} = 0 ] || [[ " ${wanted[*]} " = *" $name "* ]] || return 0
	say "guest $name: $*"
	python3 "$TOP/scripts/runner/run.py" --tree "$w/tree" --kernel "$KERNEL" \
		--results "$w/$name" "$@" > "$w/out" 2>&1 || rc=$?
	check "$name" is_good "$rc"
}

is_good()	# STATUS: of the runner, whose output is there
{
	[ "$1" = 0 ] || { grep -E '^(FAIL|uobjscope:)' "$w/out" || tail -n 30 "$w/out"; return 1; }
	# The programs that look are not to be skipped themselves.
	! grep -E '^SKIP' "$w/out"
}

wanted=("$@")
rxe_layer
guest as-nobody as_nobody
guest without-debugfs without_debugfs
guest only-rxe --no-vhca --layer "$w/rxe" only_rxe
if (old_library_layer); then
	guest old-library --layer "$w/old" old_library
else
	skip old-library "the packages of rdma-core in trixie cannot be fetched"
fi
tally_end
