#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Two tests that have objects of the device; one fails.
open_device()
{
	echo "uobjscope: begin records.sh.$1" > /dev/kmsg
	ibv_devinfo > /tmp/devinfo || cat /tmp/devinfo
	echo "uobjscope: end records.sh.$1" > /dev/kmsg
}

echo "TAP version 13"
echo "1..2"
open_device records.good
echo "ok 1 records.good"
open_device records.bad
echo "not ok 2 records.bad"
exit 1
