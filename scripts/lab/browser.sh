#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Print the path of the root file system with a browser: Debian forky's Chromium, what
# drives it, and a font.  It is another than the lab's, which nothing of this shall make
# any larger.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

suite=forky
packages=(
	chromium chromium-driver python3-selenium fonts-dejavu-core
	# draws pictures that no browser is asked for
	librsvg2-bin
	# what the uobjscope command is linked with
	libjson-c5
)

bootstrap()
{
	mmdebstrap --mode="$([ "$(id -u)" = 0 ] && echo root || echo unshare)" \
		--variant=minbase --architectures=amd64 \
		--include="$(IFS=,; echo "${packages[*]}")" \
		--aptopt='Acquire::Retries "3"' \
		--aptopt='Acquire::Languages "none"' \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--skip=cleanup/reproducible \
		"$suite" "$1" "$mirror"
}

build_browser()
{
	quietly "$CACHE/log/browser.log" "making the root file system with a browser ($suite)" \
		bootstrap "$1/root" || return 1
	printf 'root/usr/%s\n' bin/chromium bin/chromedriver > "$1/.key-files"
}

mirror=$("$LAB/mirror.sh")
entry=$(cache_entry "browser-$suite-$(cache_key "$mirror" "@$0")" 2500 build_browser)
echo "$entry/root"
