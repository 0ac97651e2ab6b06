# SPDX-License-Identifier: GPL-2.0
"""Tests that want a guest of their own: they take the kernel with them if all goes as is
known, or leave what would disturb others.

selftests/own_guest lists them, one a line:

    PROGRAM TEST ID OUTCOME EXPRESSION

TEST is the test's name as its result has it, FIXTURE.TEST, and "-" if the program is
the test; ID the entry in known_issues that is its pardon; OUTCOME what the kernel log
must say, one of OUTCOMES below; EXPRESSION what must stand in the log beside that, so
that no other oops is taken for this one.  With the outcome "none" TEST, ID and
EXPRESSION are "-": the whole program has one guest, and its results count as they are.
So it is with "bare", whose guest has no memory reserved and no driver loaded.
"""

import os
import re

from kernel_log import is_report, text_of
from machine import LabError

OUTCOMES = {
    "oops": r"\bOops: |\bgeneral protection fault|\bunable to handle (page fault|kernel)"
            r"|\bkernel BUG at |\bBUG: KASAN: ",
    "panic": r"\bKernel panic - not syncing",
    "hung-task": r"\bINFO: task .* blocked for more than",
    "splat": None,              # whatever is a report
    "none": None,
    "bare": None,
}
# Those of whole programs.
WHOLE = ("none", "bare")


class OwnTest:
    """One line of the list."""

    def __init__(self, program, test, issue, outcome, expression):
        self.program = program      # COLLECTION:PROGRAM
        self.test = None if test == "-" else test
        self.issue = issue
        self.outcome = outcome
        self.expression = re.compile(expression)

    @property
    def leaves_traces(self):
        """It is only kept from others."""
        return self.outcome in WHOLE

    @property
    def is_bare(self):
        """It loads the virtual HCA itself, where nothing was prepared for it."""
        return self.outcome == "bare"

    @property
    def name(self):
        return self.test or self.program.split(":", 1)[1]


class Watcher:
    """Follows a guest's console for the outcome of one test."""

    def __init__(self, own):
        self.own = own
        self.outcome = self.named = ""

    def line(self, line):
        text = text_of(line)
        pattern = OUTCOMES[self.own.outcome]
        if re.search(pattern, text) if pattern else is_report(line):
            self.outcome = self.outcome or text
        if self.own.expression.search(text):
            self.named = self.named or text

    @property
    def seen(self):
        return bool(self.outcome and self.named)

    @property
    def is_over(self):
        """Nothing more will come: a task that hangs does so for ever."""
        return self.seen and self.own.outcome == "hung-task"


def parse(text, name, collection, issues):
    """The OwnTests of a list, or LabError naming the line."""
    tests = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 4)
        where = f"{name}:{number}"
        if len(words) < 5:
            raise LabError(f"{where}: expected PROGRAM TEST ID OUTCOME EXPRESSION, seen '{line}'")
        program, test, issue, outcome, expression = words
        if outcome in WHOLE and [test, issue, expression] == ["-"] * 3:
            tests.append(OwnTest(f"{collection}:{program}", test, None, outcome, ""))
            continue
        if outcome in WHOLE:
            raise LabError(f"{where}: expected PROGRAM - - {outcome} -, seen '{line}'")
        if issue not in issues:
            raise LabError(f"{where}: known_issues has no entry {issue}")
        if outcome not in OUTCOMES:
            raise LabError(f"{where}: outcome: expected one of {', '.join(OUTCOMES)}, "
                           f"seen {outcome}")
        try:
            tests.append(OwnTest(f"{collection}:{program}", test, issues[issue], outcome,
                                 expression.strip()))
        except re.error as error:
            raise LabError(f"{where}: {expression}: {error}") from error
    return tests


def load(folder, collection, issues):
    """The OwnTests of one collection of tests; none if it has no list."""
    path = os.path.join(folder, "own_guest")
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read(), "own_guest", collection, issues)
    except FileNotFoundError:
        return []
