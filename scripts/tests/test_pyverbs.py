#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of what runs rdma-core's own tests, and of the table that is made of their results."""

import contextlib
import io
import os
import signal
import sys
import tempfile
import time
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, "selftests"), os.path.join(TOP, "scripts", "pyverbs")]

# pylint: disable=wrong-import-position
import pyverbs_check
import table
from pyverbs_families import NEVER_SKIPPED, PATTERNS, family_of


class Subject(unittest.TestCase):
    """Tests of all outcomes, to be run by what is tested."""

    def passes(self):
        pass

    def fails(self):
        self.assertEqual(1, 2, "what was seen")

    def skips(self):
        self.skipTest("what is missing")

    def ends(self):
        os._exit(3)

    def is_killed(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def hangs(self):
        time.sleep(60)

    def leaves_a_child(self):
        if not os.fork():
            time.sleep(60)
            os._exit(0)


class RunTest(unittest.TestCase):
    """One test in a process of its own."""

    def outcome(self, name, seconds=20):
        return pyverbs_check.run(Subject(name), seconds)

    def test_outcomes(self):
        self.assertEqual(self.outcome("passes"), ["pass", ""])
        self.assertEqual(self.outcome("skips"), ["skip", "what is missing"])
        outcome, said = self.outcome("fails")
        self.assertEqual(outcome, "fail")
        self.assertIn("what was seen", said)

    def test_process_that_ends(self):
        outcome, said = self.outcome("ends")
        self.assertEqual(outcome, "fail")
        self.assertIn("status 0x300", said)
        outcome, said = self.outcome("is_killed")
        self.assertEqual(outcome, "fail")
        self.assertIn("status 0x9", said)

    def test_hang_costs_itself(self):
        began = time.monotonic()
        self.assertEqual(self.outcome("hangs", 1)[0], "hung")
        self.assertEqual(self.outcome("passes")[0], "pass")
        self.assertLess(time.monotonic() - began, 15)

    def test_children_go_as_well(self):
        began = time.monotonic()
        # It keeps the answer open, so the end is not seen.
        self.assertEqual(self.outcome("leaves_a_child", 2)[0], "hung")
        self.assertLess(time.monotonic() - began, 15)


class JudgeTest(unittest.TestCase):
    """What an outcome means, with the list and without."""

    def verdict(self, name, outcome, listed=None):
        return pyverbs_check.judge(name, outcome, "the last line", listed)[0]

    def test_unlisted(self):
        name = "test_qp.QPTest.test_x"
        self.assertEqual(self.verdict(name, "pass"), "pass")
        self.assertEqual(self.verdict(name, "skip"), "skip")
        self.assertEqual(self.verdict(name, "fail"), "fail")
        self.assertEqual(self.verdict(name, "hung"), "fail")

    def test_never_skipped(self):
        for name in ("test_mlx5_var.Mlx5VarTestCase.test_x", "test_mr.DmaBufMRTest.test_x",
                     "test_mlx5_uar.Mlx5UarTestCase.test_x", "test_mr.DeviceMemoryTest.test_x"):
            self.assertIn(family_of(name), NEVER_SKIPPED)
            self.assertEqual(self.verdict(name, "skip"), "fail")
            self.assertEqual(self.verdict(name, "skip", ("skip", "why")), "skip")

    def test_listed(self):
        name = "test_qp.QPTest.test_x"
        for outcome in ("fail", "hung"):
            self.assertEqual(self.verdict(name, outcome, (outcome, "why")), "xfail")
        for listed in ("fail", "hung", "skip"):
            for outcome in ("pass", "fail", "hung", "skip"):
                if outcome != listed:
                    self.assertEqual(self.verdict(name, outcome, (listed, "why")), "fail")

    def test_list(self):
        with tempfile.NamedTemporaryFile("w", suffix="_exceptions") as file:
            file.write("# comment\n\nm.C.a fail the reason\nm.C.* skip another\n"
                       "m.* says a .* line\n")
            file.flush()
            exceptions = pyverbs_check.Exceptions(file.name)
        self.assertEqual(exceptions.find("m.C.a"), ("fail", "the reason"))
        self.assertEqual(exceptions.find("m.C.b"), ("skip", "another"))
        self.assertIsNone(exceptions.find("m.D.b"))
        self.assertEqual(exceptions.expected_lines("m.D.b"), ["a .* line"])

    def test_bad_list(self):
        for line in ("m.C.a fail", "m.C.a passes why", "m.C.a"):
            with tempfile.NamedTemporaryFile("w") as file:
                file.write("\n" + line + "\n")
                file.flush()
                with self.assertRaises(SystemExit) as stopped:
                    pyverbs_check.Exceptions(file.name)
                self.assertIn(f"{file.name}:2: expected TEST", str(stopped.exception))
                self.assertIn(line, str(stopped.exception))

    def test_the_list_is_good(self):
        pyverbs_check.Exceptions(os.path.join(TOP, "selftests", "pyverbs_exceptions"))

    def test_report(self):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            pyverbs_check.report(3, "m.C.a", "skip", "no #2 here", "")
            pyverbs_check.report(4, "m.C.b", "fail", "the reason", "one\ntwo")
        self.assertEqual(said.getvalue(), "ok 3 m.C.a # SKIP no %2 here\n"
                         "# one\n# two\n# the reason\nnot ok 4 m.C.b\n")


class TableTest(unittest.TestCase):
    """Results by family."""

    def test_counts(self):
        def result(name, status, reason=""):
            return {"test": "pyverbs_check.sh." + name, "status": status, "reason": reason}

        counts = table.by_family([
            result("test_mlx5_var.V.test_a", "pass"), result("test_mlx5_var.V.test_b", "pass"),
            result("test_qp.Q.test_a", "fail", "hung: no end within 60 s"),
            result("test_qp.Q.test_b", "fail", "said that it hung: no"),
            result("test_qp.Q.test_c", "xfail"), result("test_new.N.test_a", "skip"),
            {"test": "guest:boot.probe", "status": "pass", "reason": ""}])
        self.assertEqual(list(counts), ["VAR", "queue pairs", "other"])
        self.assertEqual(counts["VAR"], {"passed": 2, "failed": 0, "skipped": 0, "hung": 0,
                                         "known": 0})
        self.assertEqual(counts["queue pairs"], {"passed": 0, "failed": 1, "skipped": 0,
                                                 "hung": 1, "known": 1})
        self.assertEqual(list(table.table(counts))[-1].split(),
                         ["all", "2", "1", "1", "1", "1"])

    def test_families(self):
        for family in NEVER_SKIPPED:
            self.assertIn(family, [f for f, _ in PATTERNS])
        self.assertEqual(family_of("test_mr.DeviceMemoryAPITest.test_dm_export_dmabuf_fd"),
                         "DMABUF")
        self.assertEqual(family_of("test_mr.MRTest.test_reg_mr"), "memory regions")


if __name__ == "__main__":
    unittest.main()
