#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# drgn.sh: print the path of a layer for the guest: Python and drgn, a debugger that
# reads a live kernel by its debug symbols alone (see debug-symbols.sh).
#
# Python is the root file system's own.  drgn and what only drgn needs are unpacked
# and never installed, so the root file system stays as all others know it.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

suite=forky

if [ "${1:-}" = --inside ]; then
	# In the root file system; /debs holds the packages, /out is the entry.
	w=/out/root
	python=$(realpath "$(command -v python3)")
	stdlib=$(python3 -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
	mkdir -p "$w/usr/bin" "${w}${stdlib%/*}" /tmp/unpacked
	for deb in /debs/*.deb; do
		dpkg-deb -x "$deb" /tmp/unpacked
	done
	cp "$python" "$w/usr/bin/"
	ln -s "${python##*/}" "$w/usr/bin/python3"
	cp -r "$stdlib" "$w$stdlib"
	rm -r "$w$stdlib"/{test,idlelib,ensurepip,config-*} 2> /dev/null || :
	mkdir -p "$w/usr/lib/python3"
	cp -r /tmp/unpacked/usr/lib/python3/dist-packages "$w/usr/lib/python3/"
	# Emulated, Python is slow to compile; nobody has done it for what was only unpacked.
	python3 -m compileall -q -s "$w" "$w/usr/lib/python3/dist-packages"
	libraries=/usr/lib/x86_64-linux-gnu
	mkdir -p "$w$libraries"
	cp -P /tmp/unpacked$libraries/*.so* "$w$libraries/"
	{
		echo "$python"
		find "$w" -name '*.so*' -type f
	} | while read -r f; do
		LD_LIBRARY_PATH=$w$libraries ldd "$f" 2> /dev/null || :
	done | grep -oE '=> /[^ ]+' | sort -u | while read -r _ l; do
		[ -e "$w${l#"$w"}" ] || cp -L "$l" "$w$libraries/"
	done
	exit
fi

build_drgn()
{
	local out=$1 debs=$1/debs
	download_missing "$suite" "$CACHE/log/drgn.log" "$debs" python3-drgn || return 1
	quietly "$CACHE/log/drgn.log" "making the layer of drgn" "$LAB/in-rootfs.sh" \
		--bind "$LAB:/lab" --bind "$debs:/debs" --bind "$out:/out:rw" /lab/drgn.sh --inside || return 1
	rm -r "$debs"
	(cd "$out" && find root -name '_drgn*.so' -print -o -name libdw.so.1 -print) > "$out/.key-files"
}

entry=$(cache_entry "drgn-$suite-$(cache_key "$("$LAB/rootfs.sh")" "@$0")" 200 build_drgn)
echo "$entry/root"
