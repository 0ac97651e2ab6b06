#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# readers.sh: print a folder of Python modules of others that read results: python3-tap,
# python3-junitparser and python3-yaml of Debian forky, for PYTHONPATH.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

suite=forky
packages=(python3-tap python3-junitparser python3-yaml)

download()
{
	(cd "$1" && "$LAB/apt.sh" "$2" "$suite" apt-get download "${packages[@]}")
}

build_readers()
{
	local out=$1 apt deb log=$CACHE/log/readers.log
	mkdir "$out/deb" "$out/root"
	apt=$("$LAB/apt-lists.sh" "$suite") || return 1
	if ! quietly "$log" "downloading ${packages[*]}" download "$out/deb" "$apt"; then
		# The lists may be older than the packages.
		apt=$("$LAB/apt-lists.sh" "$suite" new) || return 1
		quietly "$log" "downloading them once more" download "$out/deb" "$apt" || return 1
	fi
	for deb in "$out"/deb/*.deb; do
		dpkg-deb -x "$deb" "$out/root"
	done
	rm -r "$out/deb"
	(cd "$out" && find root -name '*.py') > "$out/.key-files"
}

entry=$(cache_entry "readers-$suite-$(cache_key "@$0")" 20 build_readers)
echo "$entry/root/usr/lib/python3/dist-packages"
