#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Which lines of the functions that decide lifetimes has the suite not reached?

The RDMA core and mlx5_ib are built once more, with gcov's counters, for the debug kernel;
the suite runs on them; and what each guest has counted is added up.  selftests/coverage
lists the functions, and the reasons why lines of them cannot be reached.

Exit status: 0 each line was reached or has a reason, 1 not so, 125 the lab is broken.
"""

import argparse
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts", "mutants"))

from mutants import LabError, lab, lane                                 # noqa: E402
from patches import make_tree                                           # noqa: E402

WHERE = "/mutant"           # where scripts/mutants/make.sh has the sources


class Wanted:
    """A line of the list: functions of a file, with the reasons for lines of them."""

    def __init__(self, file, function):
        self.file = file
        self.function = re.compile(function)
        self.seen = False
        self.reasons = []       # (expression, reason)

    def reason(self, text):
        return next((reason for expression, reason in self.reasons
                     if expression.search(text)), None)


def parse(text):
    """The Wanteds of selftests/coverage, or LabError naming the line."""
    wanted = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        where = f"coverage:{number}"
        if not line[0].isspace():
            words = line.split()
            if len(words) != 2:
                raise LabError(f"{where}: expected FILE FUNCTION, seen '{line}'")
            try:
                wanted.append(Wanted(*words))
            except re.error as error:
                raise LabError(f"{where}: {words[1]}: {error}") from error
            continue
        expression, separator, reason = line.strip().partition(" :: ")
        if not wanted or not separator or not reason.strip():
            raise LabError(f"{where}: expected EXPRESSION :: REASON below a function, "
                           f"seen '{line.strip()}'")
        try:
            wanted[-1].reasons.append((re.compile(expression), reason.strip()))
        except re.error as error:
            raise LabError(f"{where}: {expression}: {error}") from error
    return wanted


class Counts:
    """What was executed: {(file, line): count} and {(file, function): its lines}."""

    def __init__(self):
        self.lines = collections.Counter()
        self.functions = {}

    def add(self, data):
        """One file of gcov's JSON."""
        for file in data["files"]:
            name = file["file"].split(f"{WHERE}/", 1)[-1]
            for line in file["lines"]:
                at = (name, line["line_number"])
                self.lines[at] += line["count"]
                function = line.get("function_name")
                if function:
                    self.functions.setdefault((name, function), set()).add(line["line_number"])


def gather(base, results, counts):
    """Add what all guests of a run have counted."""
    archives = glob.glob(os.path.join(glob.escape(results), "coverage*.tar.gz"))
    if not archives:
        raise LabError(f"no guest has left counts in {results}")
    for archive in archives:
        with tempfile.TemporaryDirectory(prefix="uobjscope-coverage-") as folder:
            with tarfile.open(archive) as tar:
                tar.extractall(folder, filter="data") if hasattr(tarfile, "data_filter") \
                    else tar.extractall(folder)
            for path, _, names in os.walk(os.path.join(folder, WHERE.lstrip("/"))):
                notes = os.path.join(base, os.path.relpath(
                    path, os.path.join(folder, WHERE.lstrip("/"))))
                for name in names:
                    shutil.copy(os.path.join(notes, name.removesuffix("gcda") + "gcno"), path)
            script = ("cd /counts && find . -name '*.gcda' | sort | while read -r f; do "
                      "gcov --json-format --stdout \"$f\" || exit 1; done")
            done = subprocess.run([os.path.join(TOP, "scripts/lab/in-rootfs.sh"),
                                   "--bind", f"{base}:{WHERE}", "--bind", f"{folder}:/counts",
                                   "sh", "-c", script], check=False, text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
            if done.returncode:
                raise LabError(f"gcov cannot read {archive}")
            for line in done.stdout.split("\n"):
                if line.strip():
                    counts.add(json.loads(line))


def jumped(code, number, reached):
    """Is the line a jump behind a statement of its block that was reached?  The compiler
    often leaves no code for it, and gcov then has its count as 0."""
    if not re.fullmatch(r"(goto \w+|break);", code[number - 1].strip()):
        return False
    # A statement may have several lines, of which the first one counts.
    for before in range(number - 1, 0, -1):
        text = code[before - 1].strip()
        if not text or text[-1] in "{}:" or (before == number - 1 and text[-1] != ";"):
            return False
        if before in reached:
            return not re.match(r"(if|else|for|while|switch|case|default)\b", text)
    return False


def report(wanted, counts, source, out):
    """(functions that are all right, functions that are not); lines go to out."""
    good = bad = 0
    for (file, function), lines in sorted(counts.functions.items()):
        want = next((w for w in wanted if w.file == file and w.function.fullmatch(function)), None)
        if want is None:
            continue
        want.seen = True
        with open(os.path.join(source, file), encoding="utf-8", errors="replace") as text:
            code = text.read().split("\n")
        reached = {n for n in lines if counts.lines[file, n]}
        missed = [n for n in sorted(lines - reached) if not jumped(code, n, reached)]
        reasons = {n: want.reason(f"{function}: {code[n - 1].strip()}") for n in missed}
        right = all(reasons.values())
        good, bad = good + right, bad + (not right)
        out(f"{'ok  ' if right else 'MISS'} {file} {function}: "
            f"{len(lines) - len(missed)} of {len(lines)} lines")
        for number in missed:
            out(f"       {number:5} {code[number - 1].strip()}" +
                (f"    [{reasons[number]}]" if reasons[number] else ""))
    for want in wanted:
        if not want.seen:
            out(f"MISS {want.file} {want.function.pattern}: no such function here")
            bad += 1
    return good, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kernel", default="debug", help="a lane with gcov")
    parser.add_argument("--results", action="append", help="read the counts of a run that has "
                        "been, and run nothing; of several, if given again")
    parser.add_argument("tests", nargs="*", metavar="PROGRAM", help="only these programs")
    try:
        arguments = parser.parse_args()
    except SystemExit as end:
        return 125 if end.code else 0
    os.environ["KERNEL"] = lane(arguments.kernel).series
    try:
        with open(os.path.join(TOP, "selftests", "coverage"), encoding="utf-8") as text:
            wanted = parse(text.read())
        source = lab("scripts/lab/kernel.sh", "source")
        base = lab("scripts/mutants/base.sh", "--gcov")
        results = arguments.results or [run(arguments, base)]
        counts = Counts()
        for folder in results:
            gather(base, folder, counts)
    except LabError as error:
        if str(error):
            print(f"uobjscope: {error}", file=sys.stderr)
        return 125
    lines = []
    good, bad = report(wanted, counts, source, lines.append)
    with open(os.path.join(results[-1], "coverage.txt"), "w", encoding="utf-8") as out:
        out.writelines(line + "\n" for line in lines)
    print("\n".join(lines))
    print(f"counts of {os.path.relpath(results[-1])}, also in coverage.txt there")
    print(f"{good} passed, {bad} failed, 0 skipped")
    return 1 if bad else 0


def run(arguments, base):
    """Run the suite on the modules that count; the results folder."""
    built = lab("scripts/lab/build.sh")
    with tempfile.TemporaryDirectory(prefix="uobjscope-coverage-") as tree:
        make_tree(built, base, [os.path.relpath(os.path.join(path, name), base)
                                for path, _, names in os.walk(os.path.join(base, "drivers"))
                                for name in names if name.endswith(".ko")], tree)
        folder = os.path.join(TOP, "results")
        append = f"COVERAGE=1 {os.environ.get('APPEND', '')}".strip()
        subprocess.run([sys.executable, os.path.join(TOP, "scripts/runner/run.py"), "--kernel",
                        arguments.kernel, "--tree", tree, "--results", folder,
                        *arguments.tests], check=False, stdin=subprocess.DEVNULL,
                       env={**os.environ, "APPEND": append})
    return os.path.realpath(os.path.join(folder, "latest"))


if __name__ == "__main__":
    sys.exit(main())
