#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# shell.sh: an interactive guest on this terminal, with the virtual HCA loaded.
# Nothing that is done in it is kept.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

append=${APPEND:-}
if [ "$KERNEL" = slab ]; then
	KERNEL=7.2
	append="slab_debug=FZPU $append"
fi
"$LAB/build.sh" > /dev/null
base=$("$LAB/initramfs.sh")
initrd=$(mktemp)
trap 'rm -f "$initrd" "$initrd.overlay"' EXIT
mapfile -t qemu < <(python3 "$TOP/scripts/runner/machine.py" "$("$LAB/rootfs.sh")")
[ ${#qemu[@]} -gt 2 ] || exit "$LAB_BROKEN"
bar_phys=${qemu[-1]} arguments=${qemu[-2]}
unset 'qemu[-1]' 'qemu[-1]'
VHCA="$bar_phys ${VHCA:-}" "$LAB/overlay.sh" "$initrd.overlay" shell
cat "$base" "$initrd.overlay" > "$initrd"
say "booting; leave with exit, or with Ctrl-A X"
"${qemu[@]}" -nodefaults -no-user-config -nographic -no-reboot \
	-nic none -serial mon:stdio -kernel "$("$LAB/kernel.sh" vmlinuz)" -initrd "$initrd" \
	-append "console=ttyS0 quiet loglevel=4 panic=-1 mitigations=off $arguments $append"
