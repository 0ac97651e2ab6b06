#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# debug-symbols.sh: print the path of a layer for the guest: the debug symbols of those
# modules of kernel $KERNEL that hold user objects, from Debian's own -dbg package.
#
# The package has to be downloaded whole (1.2 GB for 7.2); of what is in it, a hundredth
# is kept.  Each module's symbols describe every structure that the module uses, those of
# the kernel itself included, so vmlinux is not needed.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

modules=(ib_core ib_uverbs ib_uverbs_support mlx5_ib)
# As in kernel.sh.
case $KERNEL in
7.2) suite=forky ;;
7.3) suite=trixie-backports ;;
*) die "KERNEL=$KERNEL: the lab knows 7.2 (forky) and 7.3 (trixie-backports)" ;;
esac

package_size()	# APT-FOLDER: in MiB; nothing if there is no such package
{
	"$LAB/apt.sh" "$1" "$suite" apt-cache show --no-all-versions "$package" 2> /dev/null |
		awk '$1 == "Size:" { print int($2 / 1048576) + 1 }' || :
}

unpack()	# DEB FOLDER
{
	local paths=("${modules[@]/#/*/}")

	# tar fails if one of them is not there.
	dpkg-deb --fsys-tarfile "$1" |
		tar -x --no-same-owner --wildcards -C "$2" "${paths[@]/%/.ko*}"
}

build_symbols()
{
	local out=$1 apt size

	apt=$("$LAB/apt-lists.sh" "$suite") || return 1
	size=$(package_size "$apt")
	if [ -z "$size" ]; then
		# The lists may be older than the kernel.
		apt=$("$LAB/apt-lists.sh" "$suite" new) || return 1
		size=$(package_size "$apt")
	fi
	[ -n "$size" ] ||
		die "$suite on this mirror has no $package: if it has a newer kernel by now, remove $("$LAB/kernel.sh") to get that"
	have_space $((size + 200)) "$out"
	mkdir "$out/deb" "$out/root"
	(cd "$out/deb" && quietly "$CACHE/log/symbols-$KERNEL.log" "downloading $package ($size MiB)" \
		"$LAB/apt.sh" "$apt" "$suite" apt-get download "$package") ||
		die "cannot download $package"
	quietly "$CACHE/log/symbols-$KERNEL.log" "unpacking the symbols of ${modules[*]}" \
		unpack "$out/deb"/*.deb "$out/root" || die "$package is not as expected"
	rm -r "$out/deb"
	(cd "$out" && find root -type f) > "$out/.key-files"
}

release=$("$LAB/kernel.sh" version)
package=linux-image-$release-dbg
entry=$(cache_entry "symbols-$release-$(cache_key "$("$LAB/kernel.sh")" "@$0")" 300 build_symbols)
echo "$entry/root"
