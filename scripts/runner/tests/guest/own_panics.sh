#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# The kernel goes down as own_guest says.
echo "TAP version 13"
echo "1..1"
echo "#  RUN           own_panics.sh ..."
echo "OWN_GUEST=$OWN_GUEST" > /dev/kmsg
sleep 0.5
echo c > /proc/sysrq-trigger
