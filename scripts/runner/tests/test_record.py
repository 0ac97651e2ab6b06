#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of record.py: which events go with which failed test."""

import base64
import gzip
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import record
from results import FAIL, PASS, Program, Test

TEXT = """\
# tracer: nop
#
# entries-in-buffer/entries-written: 7/{written}   #P:2
#
 var-7 [000] .... 1.0: console: uobjscope: begin var.var.first
 var-7 [000] .... 1.1: ufile_open: ufile=1
 var-7 [000] .... 1.2: console: uobjscope: end var.var.first
 var-7 [000] .... 1.3: console: uobjscope: begin var.var.second
 var-7 [000] .... 1.4: ufile_open: ufile=2
 var-7 [000] .... 1.5: console: uobjscope: begin var.var.third
 var-7 [001] .... 1.6: ufile_open: ufile=3
"""


def program_with(name, **tests):
    program = Program(name)
    program.tests = [Test(f"var.{test}", status) for test, status in tests.items()]
    return program


class RecordTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()     # pylint: disable=consider-using-with
        self.addCleanup(self.folder.cleanup)

    def recordings(self, text, name="uobjscope:var", draw=None, width=60):
        made = record.Recordings(self.folder.name, draw)
        packed = base64.b64encode(gzip.compress(text.encode())).decode()
        for at in range(0, len(packed), width):
            made.add(name, packed[at:at + width])
        return made

    def files(self):
        folder = os.path.join(self.folder.name, record.FOLDER)
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def read(self, name):
        with open(os.path.join(self.folder.name, record.FOLDER, name), encoding="utf-8") as file:
            return file.read()

    def test_a_failed_test_gets_its_own_events(self):
        program = program_with("uobjscope:var", first=FAIL, second=PASS)
        self.recordings(TEXT.format(written=7)).attach([program])
        self.assertEqual(self.files(), ["var.var.first.txt"])
        self.assertEqual(self.read("var.var.first.txt").split("\n"), TEXT.split("\n")[4:7] + [""])
        self.assertEqual(program.tests[0].lines, ["events: events/var.var.first.txt"])
        self.assertEqual(program.tests[1].lines, [])

    def test_a_test_that_came_to_no_end(self):
        program = program_with("uobjscope:var", second=FAIL, third=FAIL)
        self.recordings(TEXT.format(written=7)).attach([program])
        self.assertEqual(self.read("var.var.second.txt").split("\n"), TEXT.split("\n")[7:9] + [""])
        self.assertEqual(self.read("var.var.third.txt").split("\n"), TEXT.split("\n")[9:11] + [""])

    def test_a_test_without_marks_gets_all(self):
        program = program_with("uobjscope:var", fourth=FAIL)
        self.recordings(TEXT.format(written=7)).attach([program])
        self.assertEqual(self.files(), ["var.txt"])
        self.assertEqual(self.read("var.txt"), TEXT.format(written=7))

    def test_what_was_not_kept_is_said(self):
        program = program_with("uobjscope:var", first=FAIL)
        self.recordings(TEXT.format(written=90)).attach([program])
        self.assertIn("83 older ones", program.tests[0].lines[0])

    def test_rounds_are_kept_apart(self):
        program = program_with("uobjscope:var@2", first=FAIL)
        self.recordings(TEXT.format(written=7), "uobjscope:var@2").attach([program])
        self.assertEqual(self.files(), ["var@2.var.first.txt"])

    def test_a_name_is_no_path(self):
        program = program_with("uobjscope:var")
        program.tests = [Test("../../x y", FAIL)]
        recordings = self.recordings(TEXT.format(written=7).replace("var.var.first", "var.../../x"))
        recordings.attach([program])
        self.assertEqual(self.files(), ["var.txt"])
        self.assertEqual(record.file_name("a", "../b c"), "a..._b_c")

    def test_half_of_it_is_said_to_be_none(self):
        program = program_with("uobjscope:var", first=FAIL)
        recordings = self.recordings(TEXT.format(written=7))
        recordings.parts["uobjscope:var"].pop()
        recordings.attach([program])
        self.assertEqual(self.files(), [])
        self.assertEqual(program.tests[0].lines, ["its events did not come whole"])

    def test_what_passes_is_kept_if_it_was_sent(self):
        self.recordings(TEXT.format(written=7)).attach([program_with("uobjscope:var", first=PASS)])
        self.assertEqual(self.files(), ["var.txt"])

    def test_a_second_run_is_said_to_be_one(self):
        program = program_with("uobjscope:var", first=FAIL, second=FAIL)
        made = self.recordings(TEXT.format(written=7), name="uobjscope:var@2")
        made.attach_again("uobjscope:var@2", program, program.tests[1], "passed")
        self.assertEqual(self.files(), ["var.var.second.txt"])
        self.assertIn("ufile=2", self.read("var.var.second.txt"))
        self.assertNotIn("ufile=1", self.read("var.var.second.txt"))
        self.assertEqual(program.tests[1].lines,
                         ["events: events/var.var.second.txt (of a second run, in which it passed)"])
        self.assertEqual(program.tests[0].lines, [])

    def test_a_second_run_that_sent_nothing(self):
        program = program_with("uobjscope:var", first=FAIL)
        made = self.recordings(TEXT.format(written=7))
        made.attach_again("uobjscope:var@1", program, program.tests[0], "failed as well")
        self.assertEqual(self.files(), [])
        self.assertEqual(program.tests[0].lines, ["the events of a second run, in which it "
                                                  "failed as well, did not come whole"])

    def test_a_timeline_is_drawn_where_it_can_be(self):
        def draw(events, path):
            with open(path, "w", encoding="utf-8") as out:
                out.write(os.path.basename(events))
            return True

        program = program_with("uobjscope:var", first=FAIL)
        self.recordings(TEXT.format(written=7), draw=draw).attach([program])
        self.assertEqual(self.files(), ["var.var.first.html", "var.var.first.txt"])
        self.assertEqual(program.tests[0].lines,
                         ["events: events/var.var.first.txt, events/var.var.first.html"])

    def test_no_command_no_timeline(self):
        self.assertIsNone(record.drawer(["loader"], os.path.join(self.folder.name, "none")))

    def test_a_command_that_fails_leaves_no_page(self):
        command = os.path.join(self.folder.name, "command")
        with open(command, "w", encoding="utf-8") as out:
            out.write("#!/bin/sh\necho half\nexit 3\n")
        os.chmod(command, 0o755)
        page = os.path.join(self.folder.name, "page")
        self.assertFalse(record.drawer(["qemu"], command)("events", page))
        self.assertFalse(os.path.exists(page))


if __name__ == "__main__":
    unittest.main()
