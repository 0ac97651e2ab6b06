# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
#
# Load the drivers under test and the virtual HCA, wait for its uverbs device, and load
# what looks at them.
# Sourced by init; $vhca_parameters comes from /uobjscope/config.  With NO_KUNIT=1 the
# modules' KUnit suites, if they have any on this kernel, are not run.

uptime_ms()
{
	read -r up _ < /proc/uptime
	echo "${up%.*}${up#*.}0"
}

# insert FILE PARAMETER...: one line says why not.
insert()
{
	why=$(insmod "$@" 2>&1) && return
	file=${1##*/}
	case $why in
	*"Key was rejected"*|*"Operation not permitted"*|*"Required key not available"*)
		why="this kernel takes only modules that are signed with a key it has"
		why="$why (module.sig_enforce, lockdown): boot without, or sign it" ;;
	*) why=${why##*: } ;;
	esac
	echo "@failed $file cannot be loaded: $why"
	return 1
}

# load_vhca: 0 when /dev/infiniband/uverbs0 is there.
load_vhca()
{
	if ! modprobe -a ib_uverbs mlx5_core mlx5_ib; then
		echo "@failed the kernel's own mlx5 drivers cannot be loaded"
		return 1
	fi
	# Modules that have suites want it, on a kernel with CONFIG_KUNIT; what it does by
	# default is the kernel's choice.
	modprobe -q kunit enable=1 autorun=1 || :
	[ -z "${NO_KUNIT:-}" ] || end_suites
	began=$(uptime_ms)
	# shellcheck disable=SC2086,SC2154
	insert /uobjscope/modules/mlx5_vhca.ko $vhca_parameters || return 1
	tries=0
	while [ ! -e /dev/infiniband/uverbs0 ]; do
		tries=$((tries + 1))
		if [ "$tries" -gt 600 ]; then
			echo "@failed no /dev/infiniband/uverbs0 comes up on mlx5_vhca"
			return 1
		fi
		sleep 0.05
	done
	echo "@loaded $(($(uptime_ms) - began))"
}

# The modules that are loaded from here on run none of their suites.
end_suites()
{
	[ ! -e /sys/module/kunit ] ||
		echo no_suite_has_this_name > /sys/module/kunit/parameters/filter_glob
}

load_vhca || :
if [ -e /uobjscope/modules/uobjscope.ko ]; then
	insert /uobjscope/modules/uobjscope.ko || :
fi
# The tests load this one themselves.  Its suite is run here with those of the others.
if [ -e /sys/module/kunit ] && [ -z "${NO_KUNIT:-}" ] &&
   [ -e /uobjscope/modules/dmabuf_importer.ko ]; then
	insert /uobjscope/modules/dmabuf_importer.ko && rmmod dmabuf_importer
fi
# What tests load again has shown it once.
end_suites
