# SPDX-License-Identifier: GPL-2.0
"""What the tests said: from the guest's KTAP to one verdict a test."""

import re

PASS, FAIL, SKIP, XFAIL = "pass", "fail", "skip", "xfail"

RESULT = re.compile(r"^(not )?ok\b *(\d+)? *(?:- )?([^#]*?)\s*(?:#\s*(.*))?$")
PLAN = re.compile(r"^1[.][.](\d+)(?:\s*#\s*SKIP\b\s*(.*))?$")
VERDICT = re.compile(r"^(FAIL|OK) +\S+$")
EXPECTATION = re.compile(r"^\S+[.][ch]:\d+:")
RUNNING = re.compile(r"^#\s+RUN\s+(\S+) [.]{3}$")


class Test:
    """One verdict, with what was printed on the way to it."""

    def __init__(self, name, status, reason="", lines=()):
        self.name = name
        self.status = status
        self.reason = reason
        self.lines = list(lines)

    def fail(self, reason):
        self.reason = f"{self.reason}; {reason}" if self.status == FAIL and self.reason else reason
        self.status = FAIL


class Program:
    """A test program as run_kselftest.sh runs it: its tests and its own exit."""

    def __init__(self, name):
        self.name = name            # COLLECTION:PROGRAM
        self.tests = []
        self.plan = None
        self.running = None         # the test that has begun and not ended
        self.broken = None          # the test in which the program or the guest ended
        self.outer = None           # the runner's own result line
        self.outer_reason = ""
        self.pending = []
        self.seconds = 0

    @property
    def short(self):
        return self.name.split(":", 1)[-1]

    def line(self, line):
        """Take one line of the guest's KTAP; return the Test that it completes, or None."""
        if self.outer is not None:
            return None             # the runner's own totals
        if line.startswith("# "):
            return self.inner(line[2:])
        if line == "#":
            return None
        result = RESULT.match(line)
        if result and "selftests: " in line:
            self.outer = not result[1]
            self.outer_reason = (result[4] or "").strip()
        return None

    def inner(self, line):
        plan = PLAN.match(line)
        if plan:
            self.plan = int(plan[1])
            if plan[2] is not None and self.plan == 0:
                return self.add(Test(self.short, SKIP, plan[2] or "no reason given"))
            return None
        running = RUNNING.match(line)
        if running:
            self.running = running[1]
            self.pending = []
            return None
        result = RESULT.match(line)
        if not result:
            self.pending.append(line)
            return None
        directive = (result[4] or "").strip()
        word, _, reason = directive.partition(" ")
        name = result[3].strip() or f"test-{result[2]}"
        if result[1]:
            status = FAIL
            reason = reason or self.why_it_failed()
        elif word.upper() == "SKIP":
            status = SKIP
        elif word.upper() == "XFAIL":
            status = XFAIL
        else:
            status, reason = PASS, ""
        # ktap_helpers.sh puts its own directive behind the reason.
        test = Test(name, status, reason.removesuffix("# SKIP").strip(), self.pending)
        if status == SKIP and not test.reason:
            test.reason = "no reason given"
        if any(t.name == test.name for t in self.tests):
            test.fail("a second test of this name: results would be lost")
        self.running = None
        self.pending = []
        return self.add(test)

    def said(self):
        """What the test in progress has printed."""
        said = [p.lstrip("# ") for p in self.pending]
        return [s for s in said if s and not VERDICT.match(s)]

    def expectation(self):
        """The first failed expectation, as the harness prints it."""
        return next((s for s in self.said() if EXPECTATION.match(s)), "")

    def why_it_failed(self):
        said = self.said()
        return self.expectation() or (said[-1] if said else "")

    def add(self, test):
        self.tests.append(test)
        return test

    def find(self, name):
        return next((t for t in self.tests if t.name == name), None)

    def stop(self, blamed):
        """Nobody wants to know more of it; blamed: the test of a finding, if it runs yet."""
        if blamed and not self.find(blamed):
            self.add(Test(blamed, FAIL, self.expectation(), self.pending))
        self.plan = len(self.tests)
        self.running = None

    def finish(self, trouble=None):
        """No more lines will come.  trouble: why, if the guest did not end it itself."""
        if trouble is None and self.outer is None:
            trouble = "the output ends before the runner's result"
        if trouble is None and "TIMEOUT" in self.outer_reason:
            trouble = self.outer_reason.replace("# ", "")
        missing = (self.plan or 0) - len(self.tests)
        if self.running:
            # What it had found already, before what ended it came of that.
            self.broken = self.add(Test(self.running, FAIL, self.expectation(), self.pending))
            self.broken.fail(trouble or f"no result ({self.outer_reason})")
            missing -= 1
        for number in range(missing):
            self.add(Test(f"not-run-{number + 1}", FAIL,
                          f"not run: {trouble or self.outer_reason or 'no result'}"))
        failed = any(t.status == FAIL for t in self.tests)
        if trouble and not failed:
            self.add(Test(self.short, FAIL, trouble, self.pending))
        elif not trouble and self.plan == 0 and not self.tests:
            self.add(Test(self.short, FAIL, "ran no test: is there one of that name?",
                          self.pending))
        elif not trouble and not self.tests:
            # A program without results of its own is one test.
            skipped = "SKIP" in self.outer_reason.split()
            status = FAIL if not self.outer else SKIP if skipped else PASS
            reason = self.outer_reason
            if status == SKIP:
                reason = next((p.split("SKIP", 1)[-1].strip(" :") for p in self.pending
                               if "SKIP" in p), "no reason given")
            self.add(Test(self.short, status, reason, self.pending))
        elif not trouble and not self.outer and not failed:
            self.add(Test(self.short, FAIL,
                          f"all results are good, yet the program failed ({self.outer_reason})"))


def count(programs):
    """(passed, failed, skipped); a known fault that was seen counts as passed."""
    tests = [t for p in programs for t in p.tests]
    return (sum(t.status in (PASS, XFAIL) for t in tests),
            sum(t.status == FAIL for t in tests),
            sum(t.status == SKIP for t in tests))


def failures(programs):
    return [{"test": f"{p.short}.{t.name}", "reason": t.reason}
            for p in programs for t in p.tests if t.status == FAIL]


def all_tests(programs):
    return [{"test": f"{p.short}.{t.name}", "status": t.status, "reason": t.reason}
            for p in programs for t in p.tests]


def known_faults(programs):
    return [f"{p.short}.{t.name}" for p in programs for t in p.tests if t.status == XFAIL]


def flaky_tests(programs):
    """[(PROGRAM.TEST, rounds in which it failed, rounds)] of those that did not always."""
    rounds = {}
    for program in programs:
        if "@" in program.short:
            for test in program.tests:
                name = f"{program.short.split('@')[0]}.{test.name}"
                rounds.setdefault(name, []).append(test.status == FAIL)
    return [(name, sum(failed), len(failed)) for name, failed in rounds.items()
            if any(failed) and not all(failed)]


def notes_of(programs):
    """What tests that passed want to be known."""
    return [f"{p.short}.{t.name}: {line.split('note: ', 1)[1]}"
            for p in programs for t in p.tests if t.status == PASS
            for line in t.lines if "note: " in line]


def closing_line(passed, failed, skipped):
    return f"{passed} passed, {failed} failed, {skipped} skipped"
