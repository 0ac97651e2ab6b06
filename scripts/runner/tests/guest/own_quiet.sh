#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# All is well, where own_guest expects a report.
echo "TAP version 13"
echo "1..1"
echo "ok 1 own_quiet.sh"
