#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What others' programs read in the runner's files: each must count what the runner counts,
and none may take for good what broke off.

KUNIT_PY is the kernel's kunit.py; python3-tap and python3-junitparser are to be found by
PYTHONPATH (scripts/lab/readers.sh).
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import junitparser
from tap.loader import Loader

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import reports                                                          # noqa: E402
from results import PASS, Program, Test, all_tests, count, failures     # noqa: E402

KUNIT_PY = os.environ["KUNIT_PY"]

# What a guest says of a program, and what ended it if not the guest itself.
GUESTS = {
    "good": ("""\
# TAP version 13
# 1..2
# ok 1 var.alloc
# ok 2 var.map
ok 1 selftests: uobjscope: var
""", None, (2, 0, 0)),
    "skipped": ("""\
# 1..0 # SKIP no mlx5 device: load mlx5_vhca.ko
ok 1 selftests: uobjscope: var # SKIP
""", None, (0, 0, 1)),
    "some-skipped": ("""\
# 1..3
# ok 1 var.alloc
# ok 2 var.map # SKIP not root # really
# ok 3 var.known # XFAIL L01 still there
ok 1 selftests: uobjscope: var
""", None, (2, 0, 1)),
    "all-skipped": ("""\
# 1..2
# ok 1 var.alloc # SKIP no device
# ok 2 var.map # SKIP no device
ok 1 selftests: uobjscope: var # SKIP
""", None, (0, 0, 2)),
    "failed": ("""\
# 1..2
# # var.c:12:alloc:Expected 1 == 2 # <&"\x01\x1b[0m]]>
# not ok 1 var.alloc
# ok 2 var.map
not ok 1 selftests: uobjscope: var # exit=1
""", None, (1, 1, 0)),
    "truncated": ("""\
# 1..4
# ok 1 var.alloc
# ok 2 var.map
""", None, (2, 2, 0)),
    "crashed": ("""\
# 1..3
# ok 1 var.alloc
# #  RUN           var.map ...
""", "Kernel panic - not syncing: Fatal exception", (1, 2, 0)),
    "timed-out": ("""\
# 1..3
# ok 1 var.alloc
# #  RUN           var.map ...
not ok 1 selftests: uobjscope: var # TIMEOUT 600 seconds
""", None, (1, 2, 0)),
    "signalled": ("""\
# 1..1
# ok 1 var.alloc
not ok 1 selftests: uobjscope: var # exit=139
""", None, (1, 1, 0)),
    "silent": ("", None, (0, 1, 0)),
    "plain": ("ok 1 selftests: uobjscope: var\n", None, (1, 0, 0)),
    "plain-failed": ("not ok 1 selftests: uobjscope: var # exit=2\n", None, (0, 1, 0)),
    "plain-skipped": ("# SKIP: nothing to test\nok 1 selftests: uobjscope: var # SKIP\n",
                      None, (0, 0, 1)),
}


def programs_of(text, trouble):
    """The run of one program, with what the runner itself adds before and after."""
    boot, var, lane = Program("guest:boot"), Program("uobjscope:var"), Program("lane:complete")
    boot.tests.append(Test("probe", PASS))
    for line in text.splitlines():
        var.line(line)
    var.finish(trouble)
    lane.tests.append(Test("complete", PASS))
    return [boot, var, lane]


def lines_of(made):
    return [line + "\n" for line in made]


class Reader(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, lines):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as out:
            out.writelines(lines)
        return path

    def kunit(self, lines):
        """((passed, failed, skipped), is it green) as kunit.py says it."""
        done = subprocess.run([sys.executable, KUNIT_PY, "parse", self.file("ktap", lines)],
                              check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        said = re.sub("\x1b[^m]*m", "", done.stdout)
        totals = re.findall(r"Testing complete[.] Ran \d+ tests: (.*)", said)
        numbers = dict(re.findall(r"(\w+): (\d+)", totals[-1] if totals else ""))
        self.assertNotIn("Traceback", said)
        seen = tuple(int(numbers.get(word, 0)) for word in ("passed", "failed", "skipped"))
        return seen, done.returncode == 0 and not numbers.get("errors") and \
            not numbers.get("crashed")

    def tap(self, lines):
        suite = Loader().load_suite_from_file(self.file("tap", lines))
        result = unittest.TestResult()
        suite.run(result)
        bad = len(result.failures) + len(result.errors)
        skipped = len(result.skipped)
        return (result.testsRun - bad - skipped, bad, skipped), bad == 0

    def junit(self, lines):
        try:
            # Not the numbers that stand in it: those of what is there.
            found = junitparser.JUnitXml.fromfile(self.file("junit.xml", lines))
        except (xml.etree.ElementTree.ParseError, SyntaxError):
            return (0, 0, 0), False
        stated = (found.tests, found.failures, found.errors, found.skipped)
        found.update_statistics()
        self.assertEqual(stated, (found.tests, found.failures, found.errors, found.skipped))
        bad = found.failures + found.errors
        return (found.tests - bad - found.skipped, bad, found.skipped), bad == 0

    def runner_nesting(self, lines):
        """As NIPA and the parsers of CI labs do: results behind one number sign."""
        programs, at = [], None
        for line in (text.rstrip("\n") for text in lines):
            begun = re.match(r"# selftests: (\S+): (\S+)$", line)
            if begun:
                at = Program(f"{begun[1]}:{begun[2]}")
                programs.append(at)
            elif at:
                at.line(line)
        for program in programs:
            program.finish()
        plan = re.match(r"1[.][.](\d+)", lines[1]) if len(lines) > 1 else None
        totals = count(programs)
        return totals, bool(plan) and len(programs) == int(plan[1]) and totals[1] == 0

    def forms(self, programs):
        return {"kunit.py": (self.kunit, lines_of(reports.ktap(programs))),
                "python3-tap": (self.tap, lines_of(reports.tap(programs))),
                "junitparser": (self.junit, lines_of(reports.junit(programs, "lane"))),
                "runner nesting": (self.runner_nesting, lines_of(reports.kselftest(programs)))}


class Totals(Reader):
    """A test of each guest is made below."""

    def check(self, text, trouble, expected):
        programs = programs_of(text, trouble)
        expected = (expected[0] + 2, expected[1], expected[2])
        self.assertEqual(count(programs), expected)
        for name, (read, lines) in self.forms(programs).items():
            with self.subTest(reader=name):
                self.assertEqual(read(lines), (expected, expected[1] == 0), "".join(lines))
        stated = json.loads(json.dumps(all_tests(programs)))
        self.assertEqual(len({t["test"] for t in stated}), sum(expected))
        self.assertEqual(len(failures(programs)), expected[1])


def totals_test(guest):
    return lambda self: self.check(*guest)


for named, of_guest in GUESTS.items():
    setattr(Totals, f"test_{named.replace('-', '_')}", totals_test(of_guest))


class Cut(Reader):
    """A file of good results that ends too early is good for nobody."""

    def check(self, name):
        read, lines = self.forms(programs_of(*GUESTS["good"][:2]))[name]
        self.assertTrue(read(lines)[1])
        for cut in range(len(lines)):
            self.assertFalse(read(lines[:cut])[1], "".join(lines[:cut]))

    def test_kunit_py(self):
        self.check("kunit.py")

    def test_python3_tap(self):
        self.check("python3-tap")

    def test_junitparser(self):
        self.check("junitparser")

    def test_runner_nesting(self):
        self.check("runner nesting")


if __name__ == "__main__":
    unittest.main()
