#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# host-packages.sh [test]: see to it that the host has what the lab needs; with
# "test", also what the static checks need.  All else is in the root file system.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

# What must be there, and the package that has it.
needed=(mmdebstrap:mmdebstrap dpkg-deb:dpkg cpio:cpio xz:xz-utils python3:python3
	unshare:util-linux flock:util-linux)
[ "$(id -u)" = 0 ] || needed+=(newuidmap:uidmap)
if [ "${1:-}" = test ]; then
	needed+=(shellcheck:shellcheck perl:perl git:git)
fi

missing=()
for n in "${needed[@]}"; do
	command -v "${n%%:*}" > /dev/null || missing+=("${n#*:}")
done
[ -e /usr/share/keyrings/debian-archive-keyring.gpg ] || missing+=(debian-archive-keyring)
[ ${#missing[@]} -gt 0 ] || exit 0

command -v apt-get > /dev/null ||
	die "missing here: ${missing[*]}; install them with this system's package manager"
[ "$(id -u)" = 0 ] ||
	die "missing here: ${missing[*]}; run: sudo apt-get install --no-install-recommends ${missing[*]}"
say "installing on this host: ${missing[*]}"
log=$CACHE/log/host-packages.log
install_missing()
{
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}
quietly "$log" "apt-get install" install_missing && exit
# A fresh machine knows no package until it has fetched the lists.
quietly "$log" "apt-get update" apt-get update || die "apt-get update failed (see above)"
quietly "$log" "apt-get install" install_missing ||
	die "cannot install ${missing[*]} (see above)"
