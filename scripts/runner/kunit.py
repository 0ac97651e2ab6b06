# SPDX-License-Identifier: GPL-2.0
"""What the modules' KUnit suites said in the kernel log when they were loaded.

The kernel's own kunit.py reads it, so that a suite means here what it means everywhere.
"""

import json
import os
import re
import subprocess
import sys

from kernel_log import MARKER, text_of
from machine import LabError
from results import FAIL, PASS, SKIP, Program, Test

HEADER = re.compile(r"^(KTAP|TAP) version \d+$")
SUITE = re.compile(r"^ {4}# Subtest: (\S+)$")
FAILED = re.compile(r"^ *# (\S+): ((?:EXPECTATION|ASSERTION) FAILED at \S+)$")
VERDICTS = {"PASS": PASS, "FAIL": FAIL, "ERROR": FAIL, "MISS": FAIL, "SKIP": SKIP}


def said(console):
    """The lines of a console log that a suite may have written: those of loading, before
    the first program, whose tests load the modules again."""
    lines = []
    for line in console:
        if MARKER.search(line):
            break
        lines.append(text_of(line.rstrip("\n")))
    return lines


def streams(lines):
    """Each module's own: kunit.py reads one, from its header on."""
    starts = [n for n, line in enumerate(lines) if HEADER.match(line)]
    return [lines[begin:end] for begin, end in zip(starts, starts[1:] + [None])]


def reasons(lines):
    """What failed first in each case, by suite and case: kunit.py's JSON does not have it."""
    found, suite = {}, None
    for line in lines:
        if begun := SUITE.match(line):
            suite = begun[1]
        elif failed := FAILED.match(line):
            found.setdefault((suite, failed[1]), failed[2])
    return found


def tests_of(group, prefix=""):
    """(name, verdict) of all cases in and below a group of kunit.py's JSON."""
    for case in group.get("test_cases", ()):
        yield prefix + case["name"], VERDICTS.get(case["status"], FAIL)
    for below in group.get("sub_groups", ()):
        yield from tests_of(below, f"{prefix}{below['name']}.")


def parse(lines, path, source):
    """The groups of one stream, which is written to path.log."""
    with open(f"{path}.log", "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)
    parser = os.path.join(source, "tools", "testing", "kunit", "kunit.py")
    # It fails if a test did; what it has written counts.
    done = subprocess.run([sys.executable, parser, "parse", f"--json={path}.json", f"{path}.log"],
                          check=False, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    try:
        with open(f"{path}.json", encoding="utf-8") as file:
            return json.load(file)["sub_groups"]
    except (OSError, ValueError, KeyError) as error:
        raise LabError(f"{parser} parse {path}.log gives no results: {error}\n"
                       f"{done.stdout}") from error


def programs(console, results, source):
    """A Program for each suite in a console log; what kunit.py makes goes to the folder."""
    with open(console, encoding="utf-8", errors="replace") as log:
        lines = said(log)
    made = []
    for number, stream in enumerate(streams(lines), 1):
        failed = reasons(stream)
        for group in parse(stream, os.path.join(results, f"kunit-{number}"), source):
            suite = Program(f"kunit:{group['name']}")
            suite.tests = [Test(f"{group['name']}.{name}", verdict,
                                failed.get((group["name"], name), ""))
                           for name, verdict in tests_of(group)]
            made.append(suite)
    return made
