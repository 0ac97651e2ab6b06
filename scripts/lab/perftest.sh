#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# perftest.sh: print the path of a layer for the guest: the programs of Debian's perftest,
# which measure a device's bandwidth and latency, those of rdmacm-utils, which show what
# the connection manager can do, and the libraries that only they want.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

suite=forky

if [ "${1:-}" = --inside ]; then
	# In the root file system; /debs holds the packages, /out is the entry.
	w=/out/root
	libraries=/usr/lib/x86_64-linux-gnu
	mkdir -p "$w/usr/bin" "$w$libraries" /tmp/unpacked
	for deb in /debs/*.deb; do
		dpkg-deb -x "$deb" /tmp/unpacked
	done
	cp /tmp/unpacked/usr/bin/{ib_*,rping,udaddy,mckey,rstream} "$w/usr/bin/"
	for program in "$w"/usr/bin/*; do
		LD_LIBRARY_PATH=/tmp/unpacked$libraries ldd "$program"
	done > /tmp/libraries
	if grep 'not found' /tmp/libraries; then exit 1; fi
	# Which pthread_exit() looks for.
	echo "=> $libraries/libgcc_s.so.1" >> /tmp/libraries
	grep -oE '=> /[^ ]+' /tmp/libraries | sort -u | while read -r _ l; do
		cp -L "$l" "$w$libraries/"
	done
	exit
fi

build_perftest()
{
	local out=$1 debs=$1/debs
	download_missing "$suite" "$CACHE/log/perftest.log" "$debs" perftest rdmacm-utils || return 1
	quietly "$CACHE/log/perftest.log" "making the layer of perftest" "$LAB/in-rootfs.sh" \
		--bind "$LAB:/lab" --bind "$debs:/debs" --bind "$out:/out:rw" /lab/perftest.sh --inside ||
		return 1
	rm -r "$debs"
	(cd "$out" && find root -type f) > "$out/.key-files"
}

entry=$(cache_entry "perftest-$suite-$(cache_key "$("$LAB/rootfs.sh")" "@$0")" 50 build_perftest)
echo "$entry/root"
