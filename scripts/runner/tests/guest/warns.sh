#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# All is well, says the program; the kernel log says otherwise.
echo "TAP version 13"
echo "1..2"
echo "uobjscope: begin warns.sh.warn.quiet" > /dev/kmsg
echo "uobjscope: end warns.sh.warn.quiet" > /dev/kmsg
echo "ok 1 warn.quiet"
echo "uobjscope: begin warns.sh.warn.loud" > /dev/kmsg
echo "WARNING: CPU: 0 PID: 1 at lib/never.c:1 nothing+0x0/0x10" > /dev/kmsg
echo "uobjscope: end warns.sh.warn.loud" > /dev/kmsg
echo "ok 2 warn.loud"
