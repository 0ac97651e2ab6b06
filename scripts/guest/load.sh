# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Load the drivers under test and the virtual HCA, wait for its uverbs device, and load
# what looks at them.
# Sourced by init; $vhca_parameters comes from /uobjscope/config.

uptime_ms()
{
	read -r up _ < /proc/uptime
	echo "${up%.*}${up#*.}0"
}

# load_vhca: 0 when /dev/infiniband/uverbs0 is there.
load_vhca()
{
	modprobe -a ib_uverbs mlx5_core mlx5_ib || return 1
	# Modules that have suites want it, on a kernel with CONFIG_KUNIT; what it does by
	# default is the kernel's choice.
	modprobe -q kunit enable=1 autorun=1 || :
	began=$(uptime_ms)
	# shellcheck disable=SC2086,SC2154
	insmod /uobjscope/modules/mlx5_vhca.ko $vhca_parameters || return 1
	tries=0
	while [ ! -e /dev/infiniband/uverbs0 ]; do
		tries=$((tries + 1))
		[ "$tries" -le 600 ] || return 1
		sleep 0.05
	done
	echo "@loaded $(($(uptime_ms) - began))"
}

load_vhca || echo "@failed loading the drivers and the virtual HCA"
if [ -e /uobjscope/modules/uobjscope.ko ]; then
	insmod /uobjscope/modules/uobjscope.ko || echo "@failed loading uobjscope.ko"
fi
# The tests load this one themselves.  Its suite is run here with those of the others.
if [ -e /sys/module/kunit ] && [ -e /uobjscope/modules/dmabuf_importer.ko ]; then
	insmod /uobjscope/modules/dmabuf_importer.ko && rmmod dmabuf_importer ||
		echo "@failed loading dmabuf_importer.ko"
fi
