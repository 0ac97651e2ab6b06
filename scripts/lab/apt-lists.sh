#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# apt-lists.sh SUITE [new]: see to it that there are package lists of a suite, with
# "new" of today; print apt's folder, as apt.sh takes it.

# shellcheck source=scripts/lab/lib.sh
. "$(dirname "$0")/lib.sh"

suite=$1
# The folder is the one that kernel.sh has.
apt=$CACHE/apt-$suite-$(cache_key "$suite" "$("$LAB/mirror.sh")")
log=$CACHE/log/apt-$suite.log

update()	# OPTION...
{
	quietly "$log" "fetching the package lists of $suite" \
		"$LAB/apt.sh" "$apt" "$suite" apt-get "$@" update --error-on=any
}

if [ "${2:-}" = new ] || ! compgen -G "$apt/lists/*Packages*" > /dev/null; then
	if ! update; then
		grep -q 'Valid-Until\|is expired\|not valid anymore' "$log" ||
			die "cannot fetch the package lists of $suite (see above)"
		say "NOTICE: the Release file of $suite on this mirror is past its Valid-Until date;"
		say "NOTICE: using it all the same (its signature is checked)"
		update -o Acquire::Check-Valid-Until=false ||
			die "cannot fetch the package lists of $suite (see above)"
	fi
fi
echo "$apt"
