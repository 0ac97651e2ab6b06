#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# warnings.sh LOG: print the lines of a build's log that complain, each with its number; the
# exit status is 0 if there is none, as with a check.

if [ $# != 1 ] || [ ! -r "$1" ]; then
	echo "uobjscope: warnings.sh ${1:-}: expected the log of a build" >&2
	exit 2
fi

# The compiler says so of itself, and Debian ships no vmlinux for BTF of every kernel.
harmless='warning: (the compiler|pahole version) differs|The kernel was built by|You are using|Skipping BTF'

# A file that is compiled or linked may have such a name: "  CC       error.o".
! grep -niE 'warning|error' "$1" | grep -vE "$harmless|^[0-9]+: +[A-Z]+ (\[M\])? *[^ ]+\$"
