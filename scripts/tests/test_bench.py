#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of the benchmarks' table: which lines are figures, and what is printed of them."""

import os
import sys
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts"))

from bench import figure, figures_in, table                             # noqa: E402


class Figures(unittest.TestCase):
    def test_with_a_peer(self):
        self.assertEqual(figures_in("# # figure a-read value=12.5 unit=us ratio=0.25 "
                                    "peer=rdma resource show mr, a process\n"),
                         [figure("a-read", 12.5, "us", 0.25,
                                 "rdma resource show mr, a process")])

    def test_without_one(self):
        self.assertEqual(figures_in("# figure held value=700 unit=ns"),
                         [figure("held", 700.0, "ns")])

    def test_what_is_none(self):
        for line in ("# rate 12", "# figure x value= unit=us", "# figure x value=a unit=us",
                     "# figure x value=1 unit=us ratio=2", "# figure value=1 unit=us"):
            with self.subTest(line=line):
                self.assertEqual(figures_in(line), [])

    def test_all_of_a_text_in_its_order(self):
        text = "TAP version 13\n# figure b value=1 unit=s\nok 1 x\n# figure a value=2 unit=s\n"
        self.assertEqual([f["name"] for f in figures_in(text)], ["b", "a"])


class Table(unittest.TestCase):
    def test_columns_stand_below_each_other(self):
        lines = table([figure("short", 123456.0, "a-second", 0.01234567, "that"),
                       figure("a-longer-name", 0.5, "us")])
        self.assertEqual(lines, [
            "figure          value  unit        ratio  to",
            "short          123456  a second  0.01235  that",
            "a-longer-name     0.5  us",
        ])


if __name__ == "__main__":
    unittest.main()
