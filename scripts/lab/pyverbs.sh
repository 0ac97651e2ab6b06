#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# pyverbs.sh: print the path of a layer for the guest: Python, pyverbs, and the Python
# tests of rdma-core's source package, in the version that the root file system has.
#
# Python and pyverbs are the root file system's own.  The tests come from the mirror and
# lie in /usr/share/rdma-core-tests/tests; with them comes scapy, which some tests want.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

suite=forky

if [ "${1:-}" = --inside ]; then
	# In the root file system; /fetched holds the source and scapy, /out is the entry.
	w=/out/root
	python=$(realpath "$(command -v python3)")
	stdlib=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
	packages=/usr/lib/python3/dist-packages
	libraries=/usr/lib/x86_64-linux-gnu
	tests=/usr/share/rdma-core-tests
	mkdir -p "$w/usr/bin" "${w}${stdlib%/*}" "$w$packages" "$w$libraries" "$w$tests"
	cp "$python" "$w/usr/bin/"
	ln -s "${python##*/}" "$w/usr/bin/python3"
	cp -r "$stdlib" "$w$stdlib"
	rm -rf "$w$stdlib"/{test,idlelib,ensurepip,pydoc_data,tkinter,turtledemo,config-*}
	cp -r "$packages/pyverbs" "$w$packages/"
	for deb in /fetched/*.deb; do
		dpkg-deb -x "$deb" /tmp/unpacked
	done
	cp -r /tmp/unpacked/usr/lib/python3/dist-packages/scapy "$w$packages/"
	cp -r /fetched/source/tests "$w$tests/"
	mkdir -p "$w/usr/sbin"
	cp "$(realpath "$(command -v devlink)")" "$w/usr/sbin/"
	# Emulated, Python is slow to compile.  Times of files are not kept on the way to the
	# guest, so nothing is to be concluded from them.
	find "$w" -name __pycache__ -prune -exec rm -r {} +
	python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash -s "$w" "$w"
	{
		echo "$python"
		command -v devlink
		find "$w" -name '*.so' -type f
	} | while read -r f; do
		ldd "$f" 2> /dev/null || :
	done | grep -oE '=> /[^ ]+' | sort -u | while read -r _ l; do
		cp -L "$l" "$w$libraries/"
	done
	exit
fi

fetch()		# FOLDER
{
	local mirror
	mirror=$("$LAB/mirror.sh")
	mkdir -p "$1/apt" "$1/source"
	printf 'deb-src [signed-by=%s] %s %s main\n' \
		/usr/share/keyrings/debian-archive-keyring.gpg "$mirror" "$suite" > "$1/apt/sources.list"
	"$LAB/apt.sh" "$1/apt" "$suite" apt-get update || return 1
	# What Debian adds to the source is not needed, and a mirror may lack it.
	(cd "$1" && "$LAB/apt.sh" "$1/apt" "$suite" apt-get source --download-only rdma-core) || :
	tar -xf "$1/rdma-core_$version.orig.tar.gz" -C "$1/source" --strip-components=1 \
		--wildcards '*/tests' || return 1
	(cd "$1" && "$LAB/apt.sh" "$apt" "$suite" apt-get download python3-scapy)
}

build_pyverbs()
{
	local out=$1 apt

	apt=$("$LAB/apt-lists.sh" "$suite") || return 1
	quietly "$CACHE/log/pyverbs.log" "downloading the source of rdma-core $version" \
		fetch "$out/fetched" || die "cannot download the source package of rdma-core $version"
	quietly "$CACHE/log/pyverbs.log" "making the layer of pyverbs" "$LAB/in-rootfs.sh" \
		--bind "$LAB:/lab" --bind "$out/fetched:/fetched" --bind "$out:/out:rw" \
		/lab/pyverbs.sh --inside || return 1
	rm -r "$out/fetched"
	(cd "$out" && find root -path '*/rdma-core-tests/tests/*.py' -print) > "$out/.key-files"
}

rootfs=$("$LAB/rootfs.sh")
version=$(dpkg-query --admindir="$rootfs/var/lib/dpkg" -W -f '${Version}' libibverbs1:amd64)
version=${version%-*}
entry=$(cache_entry "pyverbs-$version-$(cache_key "$rootfs" "@$0")" 300 build_pyverbs)
echo "$entry/root"
