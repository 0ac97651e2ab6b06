# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the lab's scripts share: messages, exit statuses, the cache.
#
# Sourced, never run.  Every script of the lab prints its answer (a path, a
# version) on stdout and everything meant for a person on stderr.

set -euo pipefail

# git bisect run skips a commit on this status: nothing was learned about it.
# shellcheck disable=SC2034
LAB_BROKEN=125

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LAB=$TOP/scripts/lab
# The kernel series that the lab knows, see kernel.sh.
FIRST_KERNEL=7.2
KERNEL=${KERNEL:-$FIRST_KERNEL}
# Not everything that runs a job sets it.
HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}
CACHE=${CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/uobjscope}
export KERNEL CACHE HOME

say()
{
	printf '[%5ds] %s\n' "$SECONDS" "$*" >&2
}

# One line that names the thing and what was expected; nothing else is printed.
die()
{
	printf 'uobjscope: %s\n' "$*" >&2
	exit "$LAB_BROKEN"
}

# Run a long command with its output in a file; show a line now and then so
# that a person sees it live, and the last lines if it fails.
#   quietly LOG WHAT COMMAND...
quietly()
{
	local log=$1 what=$2 pid rc=0 lines
	shift 2

	say "$what ..."
	mkdir -p "$(dirname "$log")"
	"$@" > "$log" 2>&1 < /dev/null &
	pid=$!
	# shellcheck disable=SC2064
	trap "kill $pid 2>/dev/null; wait $pid 2>/dev/null || :; exit 130" INT TERM
	for ((lines = 1; ; lines++)); do
		kill -0 "$pid" 2>/dev/null || break
		((lines % 150)) || say "  still: $what"
		sleep 0.1
	done
	wait "$pid" || rc=$?
	trap - INT TERM
	if [ "$rc" != 0 ]; then
		say "$what: failed (status $rc); the end of $log:"
		tail -n "${QUIETLY_TAIL:-15}" "$log" >&2
	fi
	return "$rc"
}

# have_space MIB DIR: stop unless DIR's file system has that much left.
have_space()
{
	local free

	mkdir -p "$2" 2>/dev/null || die "cannot create $2: CACHE= must name a folder that can be written"
	free=$(df -Pm "$2" | awk 'NR == 2 { print $4 }')
	[ "$free" -ge "$1" ] ||
		die "$2 has $free MiB left, $1 MiB are needed: free some, or set CACHE= to another disk"
}

# download_missing SUITE LOG DEBS PACKAGE...: these with what they depend on, into the folder
# DEBS.  What the root file system has already is not fetched again.
download_missing()
{
	local suite=$1 log=$2 debs=$3 rootfs apt
	shift 3

	rootfs=$("$LAB/rootfs.sh")
	apt=$("$LAB/apt-lists.sh" "$suite") || return 1
	mkdir -p "$debs/partial"
	quietly "$log" "downloading $*" "$LAB/apt.sh" "$apt" "$suite" \
		apt-get -o Dir::State::status="$rootfs/var/lib/dpkg/status" \
		-o Dir::Cache::archives="$debs" install --yes --download-only --no-install-recommends \
		"$@" || die "cannot download $*"
}

# unpack_missing SUITE LOG OUT PACKAGE...: the same, unpacked in the folder OUT/root.
unpack_missing()
{
	local suite=$1 log=$2 out=$3 deb
	shift 3

	download_missing "$suite" "$log" "$out/debs" "$@" || return 1
	mkdir "$out/root"
	for deb in "$out"/debs/*.deb; do
		dpkg-deb -x "$deb" "$out/root" || return 1
	done
	rm -r "$out/debs"
}

# The short hash that a cache entry's name ends in: of the words given and of
# the contents of the files given as @FILE.
cache_key()
{
	local w

	for w in "$@"; do
		case $w in
		@*) cat "${w#@}" ;;
		*) printf '%s\n' "$w" ;;
		esac
	done | sha256sum | cut -c1-12
}

# The sum over names and sizes of an entry, and over the contents of its key files.
# Without root, a root file system has some folders that find cannot enter: left out.
cache_sum()
{
	local dir=$1 f

	{
		(cd "$dir" && find . -xdev -type f ! -name '.complete*' -printf '%p %s\n' 2>/dev/null | LC_ALL=C sort) || :
		while read -r f; do
			cat "$dir/$f"
		done < "$dir/.key-files"
	} | sha256sum | cut -d' ' -f1
}

cache_is_good()
{
	[ -f "$1/.complete" ] && [ "$(cache_sum "$1")" = "$(cat "$1/.complete")" ]
}

# cache_has NAME: is that entry there?  Whether it is good as well is seen when it is used.
cache_has()
{
	[ -f "$CACHE/$1/.complete" ]
}

# cache_entry NAME MIB BUILDER...: print the path of the entry, built if it is missing.
#
# BUILDER is called with an empty folder and may leave a file .key-files in it:
# names of files whose contents are checked at each use (of all others, names
# and sizes).  The entry appears under its name only when it is complete, so an
# interrupted run leaves nothing that a later run could take for good.
cache_entry()
{
	local name=$1 mib=$2 dir=$CACHE/$1 tmp lock
	shift 2

	mkdir -p "$CACHE" 2>/dev/null || die "cannot create $CACHE: CACHE= must name a folder that can be written"
	[ -w "$CACHE" ] || die "$CACHE cannot be written: CACHE= must name a folder that can be written"
	exec {lock}> "$CACHE/.lock-$name" || die "cannot write $CACHE/.lock-$name"
	# Readers share the lock; whoever builds has it alone.
	if ! flock -n -s "$lock"; then
		say "another run is building $name, waiting for it"
		flock -s "$lock"
	fi
	if cache_is_good "$dir"; then
		echo "$dir"
		exec {lock}>&-
		return
	fi
	flock -u "$lock"
	flock "$lock"
	if [ -d "$dir" ]; then
		if cache_is_good "$dir"; then
			echo "$dir"
			exec {lock}>&-
			return
		fi
		say "cache entry $name is damaged, building it again"
		remove_tree "$dir"
	fi
	for tmp in "$CACHE/.building-$name".*; do
		[ -e "$tmp" ] || continue
		say "removing what an interrupted run left of $name"
		remove_tree "$tmp"
	done
	have_space "$mib" "$CACHE"
	tmp=$CACHE/.building-$name.$$
	mkdir "$tmp"
	: > "$tmp/.key-files"
	# The builder does not inherit the lock: a stray child must not keep it.
	if ! ("$@" "$tmp") {lock}>&- 1>&2; then
		remove_tree "$tmp"
		die "could not build $name (see above)"
	fi
	cache_sum "$tmp" > "$tmp/.complete.new"
	mv "$tmp/.complete.new" "$tmp/.complete"
	mv "$tmp" "$dir"
	echo "$dir"
	exec {lock}>&-
}

# A root file system made without root belongs to other users of our name space.
remove_tree()
{
	rm -rf "$1" 2>/dev/null || "$LAB/as-root.sh" rm -rf "$1" ||
		die "cannot remove $1, left by an earlier run: remove it by hand"
}
