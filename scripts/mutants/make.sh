#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# make.sh DIR: build the modules of DIR, a Kbuild and folders of the kernel's source in
# their places, against the headers of kernel $KERNEL with the distribution's compiler.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/../lab/lib.sh"

source=$("$LAB/kernel.sh" source)
release=$("$LAB/kernel.sh" version)
# Trace headers and some of the net drivers' own are looked for from the source's top.
"$LAB/in-rootfs.sh" --bind "$1:/mutant:rw" --bind "$source:/ksrc" \
	make -j"$(nproc)" -C "/usr/src/linux-headers-$release" M=/mutant CC=gcc \
	KCFLAGS='-I/ksrc/include/trace -I/ksrc/include' modules
