#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# as-root.sh COMMAND...: run a command as root, or as root of a user name space
# of its own, in a private mount name space either way.

set -eu

if [ "$(id -u)" = 0 ]; then
	exec unshare --mount --propagation private -- "$@"
fi
unshare --map-root-user --map-auto true 2>/dev/null || {
	echo "uobjscope: not root, and this user cannot make a user name space with subordinate ids: run as root, or add the user to /etc/subuid and /etc/subgid (package uidmap)" >&2
	exit 125
}
# A proc of its own can only be mounted with a process name space of its own.
exec unshare --map-root-user --map-auto --mount --propagation private --pid --fork --kill-child -- "$@"
