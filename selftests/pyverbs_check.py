#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run rdma-core's own Python tests, each in a process of its own, and report them as KTAP.

The tests are loaded once; each runs in a fork of that process and has some seconds, so
that one that hangs or takes its process along costs itself and no other.

Python 3.14 starts further processes by a fork server, to which some tests give what
cannot be pickled.  They were written for the start method before that, "fork", and get it.

pyverbs_exceptions names what does not pass, with the reason: see there.
"""

import argparse
import fnmatch
import json
import multiprocessing
import os
import select
import signal
import sys
import tempfile
import time
import unittest

from pyverbs_families import NEVER_SKIPPED, family_of

PROGRAM = "pyverbs_check.sh"
PASS, FAIL, SKIP, HUNG = "pass", "fail", "skip", "hung"
# That a test has; where the kernel is slow (run-tests.sh has the factor), as many times more.
SECONDS = 120 * int(os.environ.get("SLOW") or 1)
KSFT_FAIL = 1


class Exceptions:
    """The list of what does not pass.

    A line is TEST OUTCOME REASON; TEST is a name as results have it, or a pattern of the
    shell's; OUTCOME is fail, hung, skip, or says, which is no outcome: REASON is then a
    regular expression of what the kernel log may say while the test runs.
    """

    def __init__(self, path):
        self.entries = []
        self.says = []
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.strip() or line.startswith("#"):
                    continue
                words = line.split(None, 2)
                if len(words) < 3 or words[1] not in (FAIL, HUNG, SKIP, "says"):
                    sys.exit(f"{path}:{number}: expected TEST fail|hung|skip|says REASON, "
                             f"seen '{line.strip()}'")
                entry = (words[0], words[1], words[2].strip())
                (self.says if words[1] == "says" else self.entries).append(entry)

    def find(self, name):
        """(outcome, reason) of the first entry for a test, or None."""
        return next(((outcome, reason) for pattern, outcome, reason in self.entries
                     if fnmatch.fnmatchcase(name, pattern)), None)

    def expected_lines(self, name):
        return [reason for pattern, _, reason in self.says if fnmatch.fnmatchcase(name, pattern)]


def kernel_log(text):
    """Tell whoever reads the kernel log where we are."""
    try:
        with open("/dev/kmsg", "w", encoding="ascii") as log:
            log.write(f"uobjscope: {text}\n")
    except OSError:
        pass


def mend_dmabuf(modules):
    """pyverbs 65's DmaBufMR asks its buffer for a method that Python does not see, and so
    fails with every buffer that it has made or was given.  Give the tests one that has
    it."""
    # pylint: disable=import-error,import-outside-toplevel
    from pyverbs import dmabuf, mr

    class Buffer(dmabuf.DmaBuf):
        """A buffer that is closed by the region that has made it."""

        def add_ref(self, region):
            """The region goes first always."""

    class Region(mr.DmaBufMR):
        """A region on such a buffer, where it would make one."""

        def __init__(self, pd, length, access, dmabuf=None, offset=0, gpu=0, gtt=0):
            self.made = None
            if dmabuf is None:
                dmabuf = self.made = Buffer(length + offset, gpu, gtt)
            super().__init__(pd, length, access, dmabuf, offset)

        def close(self):
            super().close()
            if self.made:
                self.made.close()
                self.made = None

    for module in modules:
        if hasattr(module, "DmaBufMR"):
            module.DmaBufMR = Region


def load(folder, device):
    """{name: test} of all tests, in their own order."""
    # The package is tests, and some of its modules want its folder's as well.
    sys.path[:0] = [os.path.dirname(os.path.abspath(folder)), os.path.abspath(folder)]
    sys.argv[1:] = ["--dev", device]
    # pylint: disable=import-error,import-outside-toplevel
    from args_parser import parser
    parser.parse_args()
    import tests
    found = {}

    def take(suite):
        for test in suite:
            if isinstance(test, unittest.TestSuite):
                take(test)
            else:
                found[test.id().removeprefix("tests.")] = test

    mend_dmabuf(tests.__test_modules__)
    for module in tests.__test_modules__:
        take(unittest.defaultTestLoader.loadTestsFromModule(module))
    return found


def outcome_of(result):
    """(outcome, what was said) of a unittest.TestResult of one test."""
    bad = result.errors + result.failures
    if bad:
        return FAIL, bad[0][1]
    if result.unexpectedSuccesses:
        return FAIL, "passes, which was not expected"
    if result.skipped:
        return SKIP, result.skipped[0][1]
    if not result.testsRun:
        return FAIL, "did not run"
    return PASS, ""


def run_here(test, answer):
    """In the process of the test: run it, and write what became of it."""
    result = unittest.TestResult()
    unittest.TestSuite([test]).run(result)
    with os.fdopen(answer, "w", encoding="utf-8") as out:
        json.dump(outcome_of(result), out)


def wait(pid, seconds):
    """Has a process ended?  Its status, or None."""
    until = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > until:
            return None
        time.sleep(0.02)


def read_all(descriptor, until):
    """All that comes before the other end is closed, or None if that takes too long."""
    data = b""
    while True:
        left = until - time.monotonic()
        if left <= 0 or not select.select([descriptor], [], [], left)[0]:
            return None
        part = os.read(descriptor, 65536)
        if not part:
            return data
        data += part


def run(test, seconds):
    """(outcome, what was said) of a test in a process of its own."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said:
        sys.stdout.flush()
        ours, theirs = os.pipe()
        pid = os.fork()
        if not pid:
            status = KSFT_FAIL
            try:
                os.setsid()
                os.close(ours)
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
                run_here(test, theirs)
                status = 0
            finally:
                os._exit(status)
        os.close(theirs)
        answer = read_all(ours, time.monotonic() + seconds)
        os.close(ours)
        status = None if answer is None else wait(pid, 10)
        # What it has started goes as well.
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if status is None:
            killed = wait(pid, 10) is not None
            return HUNG, f"no end within {seconds} s" + ("" if killed else ", and cannot be killed")
        if answer:
            return json.loads(answer)
        said.seek(0)
        return FAIL, said.read() + f"\nits process ended with status {status:#x}"


def judge(name, outcome, said, listed):
    """(verdict of KTAP, reason) of what became of a test."""
    last = said.strip().split("\n")[-1]
    if listed and listed[0] != outcome:
        return FAIL, f"{outcome}: but pyverbs_exceptions has it as {listed[0]} ({listed[1]})" + \
            (f": {last}" if last else "")
    if listed and outcome != SKIP:
        return "xfail", listed[1]
    if outcome == SKIP and not listed and family_of(name) in NEVER_SKIPPED:
        return FAIL, f"skipped, and pyverbs_exceptions does not say why: {last}"
    if outcome == HUNG:
        return FAIL, f"hung: {last}"
    return outcome, listed[1] if listed else last


def report(number, name, verdict, reason, said):
    reason = reason.replace("#", "%")
    if verdict == FAIL:
        for line in said.strip().split("\n"):
            print(f"# {line}")
        print(f"# {reason}")
        print(f"not ok {number} {name}")
    else:
        directive = {SKIP: f" # SKIP {reason}", "xfail": f" # XFAIL {reason}"}.get(verdict, "")
        print(f"ok {number} {name}{directive}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--device", required=True, help="the ib_device to test")
    parser.add_argument("--exceptions", required=True, help="the list of what does not pass")
    parser.add_argument("--seconds", type=int, default=SECONDS, help="that a test has")
    parser.add_argument("--list", action="store_true", help="only print the tests' names")
    parser.add_argument("folder", help="the folder tests/ of rdma-core's source")
    parser.add_argument("names", nargs="*", help="names of tests, or patterns of the shell's")
    arguments = parser.parse_args()
    exceptions = Exceptions(arguments.exceptions)
    multiprocessing.set_start_method("fork")
    found = load(arguments.folder, arguments.device)
    if arguments.names:
        found = {name: test for name, test in found.items()
                 if any(fnmatch.fnmatchcase(name, f"*{n}") for n in arguments.names)}
    if arguments.list:
        print("\n".join(found))
        return 0
    print("TAP version 13")
    print(f"1..{len(found)}", flush=True)
    failed = 0
    for number, (name, test) in enumerate(found.items(), 1):
        print(f"#  RUN           {name} ...", flush=True)
        kernel_log(f"begin {PROGRAM}.{name}")
        for line in exceptions.expected_lines(name):
            kernel_log(f"expect {line}")
        began = time.monotonic()
        outcome, said = run(test, arguments.seconds)
        kernel_log(f"end {PROGRAM}.{name}")
        print(f"# seconds={time.monotonic() - began:.2f} outcome={outcome}")
        verdict, reason = judge(name, outcome, said, exceptions.find(name))
        report(number, name, verdict, reason, said)
        sys.stdout.flush()
        failed += verdict == FAIL
    return KSFT_FAIL if failed else 0


if __name__ == "__main__":
    sys.exit(main())
