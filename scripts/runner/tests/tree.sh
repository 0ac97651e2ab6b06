#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# tree.sh OUT: make of tests/guest a tree as build.sh installs one.

set -eu
here=$(cd "$(dirname "$0")" && pwd)
source=$("$here/../../lab/kernel.sh" source)/tools/testing/selftests
mkdir -p "$1/install/kselftest" "$1/install/runner"
cp "$source"/kselftest/{runner,module,ktap_helpers}.sh "$source/kselftest/prefix.pl" "$1/install/kselftest/"
cp "$source/run_kselftest.sh" "$1/install/"
cp "$here"/guest/* "$here/../../../selftests/test_lib.sh" "$1/install/runner/"
(cd "$here/guest" && ls -- *.sh) | sed 's/^/runner:/' > "$1/install/kselftest-list.txt"
