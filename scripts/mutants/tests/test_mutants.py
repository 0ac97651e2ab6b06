#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of the mutants' score: what a guest's results say of a mutant, what an earlier
run's results are worth, and how the work is divided."""

import argparse
import contextlib
import io
import json
import os
import shlex
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import mutants as score                                                 # noqa: E402
from mutants import GONE, KERNEL, KILLED, SURVIVED, LabError, Score, Trial  # noqa: E402
from patches import Mutant, load                                        # noqa: E402


class Folder(unittest.TestCase):
    """Three mutants in a folder of their own."""

    def setUp(self):
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        self.folder = where.name
        for name in ("M01-one", "M02-two", "M03-three"):
            self.patch(name, name)
        self.mutants = load(self.folder)

    def patch(self, name, text):
        with open(os.path.join(self.folder, f"{name}.patch"), "w", encoding="utf-8") as out:
            out.write(f"{text}\n--- a/drivers/x.c\n+++ b/drivers/x.c\n")


class Judge(Folder):
    def judged(self, *failures):
        trial = Trial(self.mutants[0])
        Score.judge(trial, {"failures": [{"test": t, "reason": r} for t, r in failures]})
        return trial

    def test_an_assertion_kills(self):
        trial = self.judged(("var.close", "var.c:12: Expected 1 == 2"))
        self.assertEqual((trial.verdict, trial.killers), (KILLED, ["var.close"]))

    def test_a_report_alone_is_the_kernels(self):
        self.assertEqual(self.judged(("var.close", "kernel log: WARNING: x")).verdict, KERNEL)

    def test_an_assertion_before_the_report_kills(self):
        trial = self.judged(("var.a", "var.c:12: Expected 1 == 2"),
                            ("var.b", "kernel log: WARNING: x"))
        self.assertEqual((trial.verdict, trial.killers), (KILLED, ["var.a"]))

    def test_what_the_end_of_the_guest_shows_came_last(self):
        trial = self.judged(("boot.kernel-log", "kernel log: left behind: 1 uar"),
                            ("var.a", "var.c:12: Expected 1 == 2"))
        self.assertEqual((trial.verdict, trial.killers), (KILLED, ["var.a"]))

    def test_a_guest_that_went_is_counted_apart(self):
        self.assertEqual(self.judged(("var.a", "TIMEOUT")).verdict, GONE)
        trial = Trial(self.mutants[0])
        Score.judge(trial, None)
        self.assertEqual(trial.verdict, GONE)

    def test_all_green_is_a_survivor(self):
        self.assertEqual(self.judged().verdict, SURVIVED)

    def test_what_is_not_complete_kills_nothing(self):
        self.assertEqual(self.judged(("complete.var", "no result")).verdict, SURVIVED)


class Resume(Folder):
    def earlier(self, *verdicts, **changes):
        """The folder of a run that found these."""
        where = tempfile.TemporaryDirectory()
        self.addCleanup(where.cleanup)
        records = []
        for mutant, verdict in zip(self.mutants, verdicts):
            trial = Trial(mutant)
            trial.verdict, trial.killers = verdict, ["var.close"]
            records.append(trial.record())
        with open(os.path.join(where.name, "mutants.json"), "w", encoding="utf-8") as out:
            json.dump({"kernel": "7.2", "programs": ["var", "dm"], "mutants": records,
                       **changes}, out)
        return where.name

    def resumed(self, *folders):
        again = Score.__new__(Score)
        again.parts = [["var"], ["dm"]]
        again.trials = [Trial(m) for m in load(self.folder)]
        for folder in folders:
            again.remember(folder, *score.recorded(folder, "7.2"))
        return [t.verdict for t in again.trials]

    def test_what_was_found_counts(self):
        self.assertEqual(self.resumed(self.earlier(KILLED, SURVIVED)), [KILLED, SURVIVED, ""])

    def test_a_guest_that_went_is_tried_again(self):
        self.assertEqual(self.resumed(self.earlier(GONE, KERNEL)), ["", KERNEL, ""])

    def test_the_later_of_two_counts(self):
        self.assertEqual(self.resumed(self.earlier(SURVIVED, SURVIVED), self.earlier(KILLED)),
                         [KILLED, SURVIVED, ""])

    def test_another_patch_of_that_name_is_tried(self):
        folder = self.earlier(KILLED, KILLED)
        self.patch("M01-one", "something else")
        self.assertEqual(self.resumed(folder), ["", KILLED, ""])

    def refused(self, folder, *words):
        with self.assertRaises(LabError) as caught:
            self.resumed(folder)
        for word in (folder, *words):
            self.assertIn(word, str(caught.exception))

    def test_no_such_folder(self):
        self.refused("/nowhere", "mutants.json")

    def test_another_kernel(self):
        self.refused(self.earlier(KILLED, kernel="7.3"), "KERNEL=7.3")

    def test_other_programs(self):
        self.refused(self.earlier(KILLED, programs=["var", "mmap_entry"]), "dm mmap_entry")

    def test_other_bytes(self):
        folder = self.earlier(KILLED)
        for text in ("{", "[]", '{"kernel": "7.2"}', '{"mutants": [1]}'):
            with open(os.path.join(folder, "mutants.json"), "w", encoding="utf-8") as out:
                out.write(text)
            self.refused(folder, "is not what make mutants writes")


class Jobs(Folder):
    def lines(self, number, **given):
        arguments = argparse.Namespace(**{"list": number, "kernel": "7.2", "tests": [],
                                          "all": False, **given})
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            score.emit(self.mutants, arguments)
        return [shlex.split(line) for line in said.getvalue().splitlines()]

    def test_each_mutant_is_in_one_job(self):
        jobs = self.lines("2", tests=["var", "dm"])
        self.assertEqual([j[:3] for j in jobs], [["make", "mutants", "MUTANT=M01 M03"],
                                                 ["make", "mutants", "MUTANT=M02"]])
        self.assertIn("TESTS=var dm", jobs[0])

    def test_no_job_without_a_mutant(self):
        self.assertEqual(len(self.lines("9")), 3)

    def test_a_number_is_expected(self):
        for number in ("0", "-1", "many"):
            with self.assertRaisesRegex(LabError, f"LIST={number}: .*expected"):
                self.lines(number)


class Patches(Folder):
    def test_files_and_id(self):
        mutant = Mutant(os.path.join(self.folder, "M02-two.patch"))
        self.assertEqual((mutant.id, mutant.files), ("M02", ["drivers/x.c"]))


if __name__ == "__main__":
    unittest.main()
