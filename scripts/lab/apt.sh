#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# apt.sh DIR SUITE apt-get|apt-cache ARGUMENT...: apt with lists and cache of its
# own in DIR, for one suite of the mirror, leaving the machine's own apt alone.
# Signatures are checked with the archive's keyring as everywhere.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

dir=$1 suite=$2 tool=$3
shift 3
mkdir -p "$dir"/lists/partial "$dir"/archives/partial
if [ ! -e "$dir/sources.list" ]; then
	mirror=$("$LAB/mirror.sh")
	printf 'deb [signed-by=%s] %s %s main\n' \
		/usr/share/keyrings/debian-archive-keyring.gpg "$mirror" "$suite" > "$dir/sources.list"
fi
exec "$tool" -q \
	-o Dir::State="$dir" -o Dir::State::lists="$dir/lists" -o Dir::State::status=/dev/null \
	-o Dir::Cache="$dir" -o Dir::Cache::archives="$dir/archives" \
	-o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=/dev/null \
	-o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User=root \
	-o APT::Architecture=amd64 -o APT::Architectures=amd64 \
	-o Acquire::Languages=none -o Acquire::Retries=3 "$@"
