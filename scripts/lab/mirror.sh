#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Print the Debian mirror that the lab's packages come from: $MIRROR, or the one
# that this machine's own apt uses.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

if [ -n "${MIRROR:-}" ]; then
	echo "$MIRROR"
	exit
fi
# Asking apt takes seconds, and this is asked often: look at its sources first.
uri=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources} 2>/dev/null |
	grep -v '^ *#' | grep -oE 'https?://[^] ]+/debian/?( |$)' | head -n 1) || :
if [ -n "$uri" ]; then
	uri=${uri%% *}
	echo "${uri%/}"
	exit
fi
command -v apt-get > /dev/null || die "no apt-get on this machine: set MIRROR= to a Debian mirror"
uri=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
	grep -E '/debian/?$' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
[ -n "$uri" ] || die "apt has no Debian archive configured: set MIRROR= to a Debian mirror"
echo "${uri%/}"
