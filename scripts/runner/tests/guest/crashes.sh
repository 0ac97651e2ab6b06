#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A program that dies in its second test.
echo "TAP version 13"
echo "1..3"
echo "ok 1 crash.before"
echo "#  RUN           crash.segfault ..."
kill -SEGV $$
