#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# A program that never ends: run_kselftest.sh must end it (see settings).
echo "TAP version 13"
echo "1..1"
echo "#  RUN           hang.forever ..."
sleep 1000
