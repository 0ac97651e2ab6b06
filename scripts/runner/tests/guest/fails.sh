#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# One test that must fail.
echo "TAP version 13"
echo "1..2"
echo "ok 1 bad.before"
echo "# expected 1, saw 2"
echo "not ok 2 bad.expected"
exit 1
