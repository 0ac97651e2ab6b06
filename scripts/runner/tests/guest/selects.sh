#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Tests that can be chosen; one fails unless SEED and STRESS came as they were given.
DIR=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=selftests/test_lib.sh
. "$DIR/test_lib.sh"

first_good() { :; }
second_bad() { echo "it always fails"; return 1; }
# shellcheck disable=SC2153
environment() { echo "SEED=$SEED STRESS=$STRESS"; [ "$SEED" = 7 ] && [ "$STRESS" = 2 ]; }

tests="first_good second_bad environment"
ktap_print_header
plan "$(echo "$tests" | wc -w)"
for t in $tests; do
	run "$t"
done
ktap_finished
