#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The kernel goes down in the second test.
echo "TAP version 13"
echo "1..2"
echo "ok 1 panic.before"
echo "#  RUN           panic.now ..."
echo "uobjscope: begin panics.sh.panic.now" > /dev/kmsg
sleep 0.5
echo c > /proc/sysrq-trigger
