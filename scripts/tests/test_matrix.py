#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of the matrix: what a kernel's run is worth, what an earlier one is, how the
work is divided, and what counts as a warning."""

import argparse
import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts"))

import matrix                                                           # noqa: E402
from matrix import BROKEN, NOT_BUILT, RUN, Kernel, LabError, Matrix     # noqa: E402


class Folder(unittest.TestCase):
    def setUp(self):
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.folder = where.name

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path


class Results(Folder):
    def taken(self, status, **totals):
        kernel = Kernel("7.2")
        if totals:
            self.write("latest/totals.json", json.dumps(
                {"known": [], "failures": [], "passed": 5, "failed": 0, "skipped": 1,
                 **totals}))
        kernel.take_results(self.folder, status)
        return kernel

    def test_green(self):
        self.assertEqual(self.taken(0, passed=7).totals(), (7, 0, 1))

    def test_a_bad_end_is_a_failure(self):
        for status in (1, 2, 3):
            self.assertEqual(self.taken(status, passed=7).totals(), (7, 1, 1))

    def test_no_results_are_no_run(self):
        for kernel in (self.taken(0), self.taken(125, passed=7)):
            self.assertEqual((kernel.state, kernel.totals()), (BROKEN, (0, 1, 0)))

    def test_warnings_are_one_failure(self):
        kernel = self.taken(0, passed=7)
        kernel.warnings = ["modules.log:1:warning: a", "modules.log:2:warning: b"]
        self.assertEqual(kernel.totals(), (7, 1, 1))

    def test_the_table(self):
        green, bad, old = self.taken(0, passed=700, known=["known.l01"]), Kernel("7.3"), \
            Kernel("6.12")
        bad.state, bad.why = BROKEN, "no kernel 7.3"
        old.state, old.why = NOT_BUILT, "mlx5_vhca.ko needs x"
        lines = matrix.table([old, green, bad])
        self.assertEqual(len({len(line) for line in lines[:4]}), 1)
        self.assertRegex(lines[1], r"^6[.]12 +- +no +0 +1 +0 +0 ")
        self.assertRegex(lines[2], r"^7[.]2 +- +yes +700 +0 +1 +1 ")
        self.assertRegex(lines[3], r"^7[.]3 +- +- +0 +1 +0 +0 ")
        self.assertIn("6.12: mlx5_vhca.ko needs x", lines)
        self.assertIn("7.3: no kernel 7.3", lines)


class Builds(Folder):
    def test_the_first_thing_that_is_wrong(self):
        self.write("modules.log", "  CC x.o\n/out/Kbuild:3: *** mlx5_vhca.ko needs x.  Stop.\n"
                   "make: *** [Makefile:1: all] Error 2\n")
        self.assertEqual(matrix.why_not(self.folder), "mlx5_vhca.ko needs x.  Stop.")
        self.assertEqual(matrix.why_not("/nowhere"), "see above")

    def warnings(self, text):
        done = subprocess.run([os.path.join(TOP, "scripts/warnings.sh"),
                               self.write("a.log", text)], check=False, text=True,
                              stdout=subprocess.PIPE)
        return done.returncode, done.stdout.splitlines()

    def test_warnings(self):
        said = ("x.c:1:2: warning: unused variable", "x.c:3:4: error: not declared",
                "WARNING: modpost: missing MODULE_LICENSE()")
        for line in said:
            self.assertEqual(self.warnings(f"  CC x.o\n{line}\n"), (1, [f"2:{line}"]))

    def test_what_is_none(self):
        text = ("warning: the compiler differs from the one used to build the kernel\n"
                "  The kernel was built by: gcc\n  You are using:           ccache gcc\n"
                "Skipping BTF generation for x.ko due to unavailability of vmlinux\n  CC x.o\n"
                "  CC       error.o\n  LINK     data_path_errors\n  CC [M]  kernel/error.o\n")
        self.assertEqual(self.warnings(text), (0, []))


class Digest(Folder):
    def digest(self):
        return matrix.suite_digest(self.folder)

    def test_sources_count_and_builds_do_not(self):
        self.write("kernel/a.c", "a")
        before = self.digest()
        self.write("kernel/a.o", "a")
        self.write("selftests/var", "\x7fELF")
        self.assertEqual(self.digest(), before)
        self.write("selftests/var.sh", "true")
        self.assertNotEqual(self.digest(), before)
        changed = self.digest()
        self.write("kernel/a.c", "b")
        self.assertNotEqual(self.digest(), changed)


class Resume(Folder):
    def earlier(self, *states, **changes):
        """The results of a run that left the first kernels in these states."""
        kernels = [Kernel(n) for n in ("6.12", "7.2", "7.3")]
        for kernel, state in zip(kernels, states):
            kernel.state = state
        self.write("matrix.json", json.dumps(
            {"suite": "abc", "tests": ["var"], **changes,
             "kernels": [k.record() for k in kernels if k.state]}))
        return self.folder

    def resumed(self, folder):
        again = Matrix.__new__(Matrix)
        again.digest, again.tests = "abc", ["var"]
        again.kernels = [Kernel(n) for n in ("6.12", "7.2", "7.3")]
        again.remember(folder, *matrix.recorded(folder))
        return [k.state for k in again.kernels]

    def test_what_was_found_counts(self):
        self.assertEqual(self.resumed(self.earlier(RUN, NOT_BUILT)), [RUN, NOT_BUILT, ""])

    def test_a_broken_lab_is_tried_again(self):
        self.assertEqual(self.resumed(self.earlier(BROKEN, RUN)), ["", RUN, ""])

    def test_refusals(self):
        for folder, word in ((self.earlier(RUN, suite="abd"), "abd"),
                             ("/nowhere", "No such file")):
            with self.assertRaisesRegex(LabError, word):
                self.resumed(folder)
        with self.assertRaisesRegex(LabError, "TESTS='dm'"):
            self.resumed(self.earlier(RUN, tests=["dm"]))
        for text in ("{", "[]", '{"suite": "abc", "tests": [], "kernels": [{"kernel": 1}]}'):
            self.write("matrix.json", text)
            with self.assertRaisesRegex(LabError, "not what make matrix writes"):
                self.resumed(self.folder)


class Jobs(unittest.TestCase):
    def lines(self, number, series=None, tests=()):
        arguments = argparse.Namespace(list=number, series=series, tests=list(tests))
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            matrix.emit(matrix.chosen(arguments), arguments)
        return [shlex.split(line) for line in said.getvalue().splitlines()]

    def test_each_kernel_is_in_one_job(self):
        self.assertEqual(self.lines("2", tests=["var", "dm"]),
                         [["make", "matrix", "SERIES=6.12 7.3", "TESTS=var dm"],
                          ["make", "matrix", "SERIES=7.2", "TESTS=var dm"]])
        self.assertEqual(len(self.lines("9")), 3)
        self.assertEqual(self.lines("1", "7.2"), [["make", "matrix", "SERIES=7.2"]])

    def test_refusals(self):
        for number in ("0", "many"):
            with self.assertRaisesRegex(LabError, f"LIST={number}: .*expected"):
                self.lines(number)
        with self.assertRaisesRegex(LabError, "SERIES=9.9: no such kernel; there are: 6.12"):
            self.lines("1", "9.9")
        with self.assertRaisesRegex(LabError, "selftests/lanes has no .* debug-own"):
            self.lines("1", "debug-own")


if __name__ == "__main__":
    unittest.main()
