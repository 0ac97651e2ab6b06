#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check-kdir.sh KDIR [KSRC]: is KDIR a kernel build tree, and KSRC the source of that
# very kernel?  One line says what is wrong.

kdir=$1 ksrc=${2:-}

die()
{
	echo "uobjscope: $*" >&2
	exit 1
}

[ -d "$kdir" ] || die "KDIR=$kdir: no such folder; expected a kernel build tree (package linux-headers-$(uname -r), say)"
[ -f "$kdir/Makefile" ] || die "KDIR=$kdir: no Makefile in it; expected a kernel build tree"
release=$(cat "$kdir/include/config/kernel.release" 2>/dev/null) ||
	die "KDIR=$kdir: not configured (no include/config/kernel.release); run make modules_prepare there"
[ -n "$ksrc" ] || exit 0
[ -f "$ksrc/drivers/infiniband/core/uverbs.h" ] ||
	die "KSRC=$ksrc: no drivers/infiniband/core/uverbs.h in it; expected a full kernel source tree"
version=$(awk -F'[ =]+' '/^VERSION/ { v = $2 } /^PATCHLEVEL/ { p = $2 } /^SUBLEVEL/ { s = $2 }
	END { print v "." p "." s }' "$ksrc/Makefile")
case $release in
"$version"|"$version"[+-]*|"${version%.0}"|"${version%.0}"[+-]*) ;;
*) die "KSRC=$ksrc is Linux $version, KDIR=$kdir is $release: expected the source of that very kernel" ;;
esac
