#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A task hangs, as far as the kernel log says; nothing here ends by itself.
echo "TAP version 13"
echo "1..1"
echo "#  RUN           own_hangs.sh ..."
echo "INFO: task planted:1 blocked for more than 30 seconds." > /dev/kmsg
echo " planted_wait+0x10/0x20" > /dev/kmsg
sleep 1000
