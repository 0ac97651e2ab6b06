#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# overlay.sh OUT MODE TEST...: write the guest's second initramfs, with the modules,
# the installed tests and the guest's scripts, to the file OUT.
#
# MODE is tests or shell.  TEST is COLLECTION:PROGRAM, or COLLECTION:PROGRAM=NAME
# for one test of it.  VHCA= holds the virtual HCA's module parameters (none: the
# drivers are not loaded), TREE= a folder with install/, modules/ and, if it is to
# replace the kernel's own, drivers/ (default: what build.sh made for $KERNEL), LAYERS=
# folders, with a colon between two, whose files the guest is to have as well.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

out=$1 mode=$2
shift 2
tree=${TREE:-${BUILD:-$TOP/build}/$KERNEL}
w=$(mktemp -d)
trap 'rm -rf "$w"' EXIT
# It becomes the guest's root folder, which others than root must be able to enter.
chmod 755 "$w"
mkdir -p "$w/uobjscope/modules"
cp "$TOP"/scripts/guest/{load,record,run-tests}.sh "$w/uobjscope/"
cp "$TOP/scripts/guest/init" "$w/init"
if [ -d "$tree/modules" ]; then
	find "$tree/modules/" -name '*.ko' -exec cp {} "$w/uobjscope/modules/" \;
fi
cp -r "$tree/install/" "$w/uobjscope/install"
if [ -x "$tree/user/uobjscope" ]; then
	mkdir -p "$w/usr/bin"
	cp "$tree/user/uobjscope" "$w/usr/bin/"
fi
if [ -d "$tree/drivers" ]; then
	# Other drivers than the distribution's: later files of an initramfs replace earlier ones.
	release=$("$LAB/kernel.sh" version)
	mkdir -p "$w/usr/lib/modules/$release/kernel"
	cp -r "$tree/drivers" "$w/usr/lib/modules/$release/kernel/"
fi
IFS=: read -ra layers <<< "${LAYERS:-}"
for layer in ${layers[@]+"${layers[@]}"}; do
	cp -r "$layer/." "$w/"
done
printf '%s\n' "$@" | tr '=' ' ' > "$w/uobjscope/tests"
printf '%s=%q\n' mode "$mode" vhca_parameters "${VHCA:-}" > "$w/uobjscope/config"
(cd "$w" && find . | cpio -o -H newc --quiet -R 0:0) > "$out"
