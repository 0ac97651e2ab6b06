#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of scripts/coverage/coverage.py: the list, the counts, and the verdicts."""

import os
import sys
import tempfile
import unittest

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(SCRIPTS, "coverage"))

import coverage as cov                                                  # noqa: E402

LIST = """\
# a comment

a/one.c first|second
\tfirst: return -ENOMEM :: no memory
a/two.c .*
"""

CODE = """\
int first(void)
{
	if (x)
		return -ENOMEM;
	return 0;
}
"""


def gcov(function, **lines):
    """What gcov says of a/one.c: l4=0 is line 4, never executed."""
    return {"files": [{"file": "/mutant/a/one.c", "lines": [
        {"line_number": int(name[1:]), "count": count, "function_name": function}
        for name, count in lines.items()]}]}


class TheList(unittest.TestCase):
    def refused(self, text, message):
        with self.assertRaisesRegex(cov.LabError, message):
            cov.parse(text)

    def test_functions_and_reasons(self):
        one, two = cov.parse(LIST)
        self.assertEqual("a/one.c", one.file)
        self.assertTrue(one.function.fullmatch("second"))
        self.assertEqual("no memory", one.reason("first: return -ENOMEM;"))
        self.assertIsNone(one.reason("second: return -ENOMEM;"))
        self.assertEqual([], two.reasons)

    def test_line_of_one_word(self):
        self.refused("a/one.c\n", "coverage:1: expected FILE FUNCTION, seen 'a/one.c'")

    def test_reason_without_function(self):
        self.refused("\tx :: y\n", "coverage:1: expected EXPRESSION :: REASON below")

    def test_reason_that_is_none(self):
        self.refused("a f\n\tx ::\n", "coverage:2: expected EXPRESSION :: REASON below")
        self.refused("a f\n\tx\n", "coverage:2: expected EXPRESSION :: REASON below")

    def test_expression_that_is_none(self):
        self.refused("a f\n\t( :: y\n", r"coverage:2: \(: ")
        self.refused("a (\n", r"coverage:1: \(: ")


class TheVerdict(unittest.TestCase):
    def verdict(self, *counted, text=LIST):
        counts, said = cov.Counts(), []
        for data in counted:
            counts.add(data)
        with tempfile.TemporaryDirectory() as source:
            os.mkdir(os.path.join(source, "a"))
            with open(os.path.join(source, "a", "one.c"), "w", encoding="utf-8") as file:
                file.write(CODE)
            return cov.report(cov.parse(text), counts, source, said.append), said

    def test_all_reached(self):
        result, said = self.verdict(gcov("first", l3=1, l4=2, l5=1), text="a/one.c first\n")
        self.assertEqual((1, 0), result)
        self.assertEqual(["ok   a/one.c first: 3 of 3 lines"], said)

    def test_missed(self):
        result, said = self.verdict(gcov("first", l3=1, l4=0, l5=1), text="a/one.c first\n")
        self.assertEqual((0, 1), result)
        self.assertEqual(["MISS a/one.c first: 2 of 3 lines", "           4 return -ENOMEM;"],
                         said)

    def test_missed_with_reason(self):
        result, said = self.verdict(gcov("first", l3=1, l4=0, l5=1),
                                    text=LIST.replace("a/two.c .*\n", ""))
        self.assertEqual((1, 0), result)
        self.assertIn("return -ENOMEM;    [no memory]", said[1])

    def test_guests_add_up(self):
        result, _ = self.verdict(gcov("first", l3=1, l4=0, l5=1), gcov("first", l3=1, l4=1, l5=0),
                                 text="a/one.c first\n")
        self.assertEqual((1, 0), result)

    def test_function_that_is_not_there(self):
        result, said = self.verdict(gcov("first", l3=1), text="a/one.c first\na/one.c other\n")
        self.assertEqual((1, 1), result)
        self.assertIn("MISS a/one.c other: no such function here", said)

    def test_others_do_not_count(self):
        result, _ = self.verdict(gcov("first", l3=1), gcov("first_too", l5=0),
                                 text="a/one.c first|third\n")
        self.assertEqual((1, 0), result)


JUMPS = """\
int second(void)
{
	if (x) {
		x = longer_than_a_line(y,
				       z);
		goto out;
	}
	if (y)
		goto out;
	switch (z) {
	case 1:
		break;
	}
out:
	return 0;
}
""".split("\n")


class Jumps(unittest.TestCase):
    """A jump without code of its own was reached with the statement before it."""

    def test_behind_a_statement(self):
        self.assertTrue(cov.jumped(JUMPS, 6, {3, 4}))

    def test_behind_one_that_was_not_reached(self):
        self.assertFalse(cov.jumped(JUMPS, 6, {3}))

    def test_behind_a_condition(self):
        self.assertFalse(cov.jumped(JUMPS, 9, {3, 8}))

    def test_behind_a_label(self):
        self.assertFalse(cov.jumped(JUMPS, 12, {10, 11}))

    def test_what_is_no_jump(self):
        self.assertFalse(cov.jumped(JUMPS, 8, {3, 4, 6}))


if __name__ == "__main__":
    unittest.main()
