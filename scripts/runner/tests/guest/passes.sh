#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Two tests that pass, one that is skipped with a reason.
echo "TAP version 13"
echo "1..3"
echo "# RUN           good.one ..."
echo "ok 1 good.one"
echo "ok 2 good.two"
echo "ok 3 good.three # SKIP nothing to see here"
