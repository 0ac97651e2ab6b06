#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# dist.sh [FOLDER]: write the sources of HEAD as uobjscope-VERSION.tar.gz to FOLDER (build/)
# and print its path.  The same commit gives the same bytes, whoever calls it and when.

set -euo pipefail

cd "$(dirname "$0")/../.."
die()
{
	echo "uobjscope: $*" >&2
	exit 1
}

version=$(sed -nE 's/^VERSION[ \t]*:= *//p' user/Makefile)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] ||
	die "user/Makefile: VERSION is '$version', expected three numbers"
top=$(git rev-parse --show-toplevel 2>/dev/null) || top=
[ "$top" = "$(pwd -P)" ] ||
	die "make dist: $(pwd) is no git repository; it is made from a commit"
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
	echo "uobjscope: note: what is not committed is not in it" >&2
out=${1:-build}
mkdir -p "$out"
tarball=$out/uobjscope-$version.tar.gz
git -c tar.umask=0022 archive --format=tar --prefix="uobjscope-$version/" HEAD |
	gzip -9n > "$tarball.new"
mv "$tarball.new" "$tarball"
echo "$tarball"
