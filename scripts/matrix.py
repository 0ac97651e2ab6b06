#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The suite on every kernel that it is for.

For each series the modules are built anew with the additional warnings and sparse, of which
there must be none; a guest with that kernel runs the suite, which must have the passes that
selftests/lanes asks for; and one table says what came of all.  A kernel that is not in the
cache is fetched.

Exit status: 0 all is well, 1 a kernel has warnings or failures, or the suite does not build
for it, 125 a kernel could not be had, or its guest not be booted.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "scripts", "runner"))

from jobs import make_results, print_jobs, read_earlier                 # noqa: E402
from lanes import LANES, SHORT, lane                                    # noqa: E402
from machine import LabError                                            # noqa: E402

# Debian's, the oldest first; the lab knows where they are (scripts/lab/debian-kernel.sh).
SERIES = ("6.12", "7.2", "7.3")
# What a record says of a kernel.
RUN, NOT_BUILT, BROKEN = "run", "does not build", "broken"
# What an earlier run need not be asked again.
FOUND = (RUN, NOT_BUILT)
# Folders whose files make a verdict, and what a build leaves in them.
SUITE = ("kernel", "scripts", "selftests", "user")
BUILT = (".a", ".cmd", ".d", ".ko", ".mod", ".mod.c", ".o", ".order", ".pyc", ".so",
         ".symvers")


def say(text):
    print(text, file=sys.stderr, flush=True)


def suite_digest(top=TOP):
    """Of the suite's sources: verdicts of another suite are none of this one."""
    digest = hashlib.sha256()
    for folder in SUITE:
        for where, folders, files in os.walk(os.path.join(top, folder)):
            folders.sort()
            for name in sorted(files):
                path = os.path.join(where, name)
                with open(path, "rb") as file:
                    data = file.read()
                if name.endswith(BUILT) or data.startswith(b"\x7fELF"):
                    continue
                digest.update(os.path.relpath(path, top).encode() + b"\0")
                digest.update(hashlib.sha256(data).digest())
    return digest.hexdigest()[:12]


class Kernel:
    """One of the matrix, and what came of it."""

    def __init__(self, name):
        self.name = name
        self.lane = lane(name)
        self.state = self.why = self.release = ""
        self.warnings = []
        self.passed = self.failed = self.skipped = 0
        self.known = []
        self.failures = []
        self.seconds = 0.0

    FIELDS = ("state", "why", "release", "warnings", "passed", "failed", "skipped", "known",
              "failures", "seconds")

    def record(self):
        return {"kernel": self.name, **{key: getattr(self, key) for key in self.FIELDS}}

    def take(self, record):
        if record["state"] in FOUND:
            for key in self.FIELDS:
                setattr(self, key, record[key])

    def totals(self):
        """(passed, failed, skipped): a build that fails or warns is one failure."""
        bad = self.failed + bool(self.warnings) + (self.state != RUN)
        return self.passed, bad, self.skipped

    def take_results(self, folder, status):
        """What the runner has left of its run."""
        try:
            with open(os.path.join(folder, "latest", "totals.json"), encoding="utf-8") as text:
                said = json.load(text)
        except OSError:
            said = None
        if status == 125 or said is None:
            self.state, self.why = BROKEN, f"the guest does not boot, see {folder}"
            return
        self.state = RUN
        self.passed, self.failed, self.skipped = said["passed"], said["failed"], said["skipped"]
        self.known, self.failures = said["known"], said["failures"]
        # A run that did not end well is never green, whatever it counted.
        if status and not self.failed:
            self.failed = 1
            self.failures = [{"test": "run.py", "reason": f"exit status {status}"}]


class Matrix:
    """A whole run."""

    def __init__(self, kernels, tests, results=None):
        self.kernels = kernels
        self.tests = tests
        self.results = results or make_results("matrix")
        if results:
            os.makedirs(results)
        self.digest = suite_digest()
        self.began = time.monotonic()

    @staticmethod
    def call(series, *command, out=subprocess.PIPE, **variables):
        return subprocess.run([os.path.join(TOP, command[0]), *command[1:]], check=False,
                              text=True, stdin=subprocess.DEVNULL, stdout=out,
                              env={**os.environ, "KERNEL": series,
                                   "BUILD": os.path.join(TOP, "build", "matrix"), **variables})

    def build(self, kernel):
        """Fetch the kernel, build for it, and look what the compiler said."""
        series = kernel.lane.series
        got = self.call(series, "scripts/lab/kernel.sh", "version")
        if got.returncode:
            kernel.state, kernel.why = BROKEN, f"no kernel {series}"
            return False
        kernel.release = got.stdout.strip()
        folder = os.path.join(TOP, "build", "matrix", series)
        # What is not compiled does not warn.
        shutil.rmtree(folder, ignore_errors=True)
        if self.call(series, "scripts/lab/build.sh", MODULE_FLAGS="C=2").returncode:
            kernel.state, kernel.why = NOT_BUILT, why_not(folder)
            return False
        for what in ("modules", "selftests", "user"):
            log = os.path.join(folder, f"{what}.log")
            said = self.call(series, "scripts/warnings.sh", log)
            kernel.warnings += [f"{what}.log:{line}" for line in said.stdout.splitlines()]
        return True

    def run(self, kernel):
        begun = time.monotonic()
        say(f"[{begun - self.began:5.0f}s] matrix: {kernel.name} ...")
        if self.build(kernel):
            folder = os.path.join(self.results, kernel.name)
            os.makedirs(folder)
            with open(os.path.join(folder, "output.txt"), "w", encoding="utf-8") as out:
                status = self.call(kernel.lane.series, "scripts/runner/run.py", "--kernel",
                                   kernel.name, "--results", folder, *self.tests,
                                   out=out).returncode
            kernel.take_results(folder, status)
        kernel.seconds = round(time.monotonic() - begun, 1)
        self.write()

    def write(self):
        """After each, so that an interrupted run leaves what it knows."""
        with open(os.path.join(self.results, "matrix.json"), "w", encoding="utf-8") as out:
            json.dump({"suite": self.digest, "tests": self.tests,
                       "kernels": [k.record() for k in self.kernels if k.state]}, out, indent=1)
            out.write("\n")

    def remember(self, folder, suite, tests, records):
        """Take over what an earlier run of the same suite left."""
        if suite != self.digest:
            raise LabError(f"RESUME={folder} is of another suite ({suite}, here {self.digest}): "
                           "expected the results of these very sources")
        if tests != self.tests:
            raise LabError(f"RESUME={folder} is of TESTS='{' '.join(tests)}', not of "
                           f"'{' '.join(self.tests)}'")
        for kernel in self.kernels:
            if kernel.name in records:
                kernel.take(records[kernel.name])

    def go(self):
        for kernel in self.kernels:
            if not kernel.state:
                self.run(kernel)
        self.write()
        return self.report()

    def report(self):
        lines = table(self.kernels)
        with open(os.path.join(self.results, "table.txt"), "w", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in lines)
        for line in lines:
            print(line)
        totals = [sum(column) for column in zip(*(k.totals() for k in self.kernels))]
        print(f"results in {os.path.relpath(self.results)}")
        print(f"{totals[0]} passed, {totals[1]} failed, {totals[2]} skipped", flush=True)
        if any(k.state == BROKEN for k in self.kernels):
            return 125
        return 1 if totals[1] else 0


def why_not(folder):
    """What a build that failed said first of what is wrong."""
    for what in ("modules", "selftests", "user"):
        try:
            with open(os.path.join(folder, f"{what}.log"), encoding="utf-8",
                      errors="replace") as log:
                for line in log:
                    if "*** " in line or " error: " in line:
                        return line.strip().rsplit("*** ", 1)[-1]
        except OSError:
            continue
    return "see above"


def table(kernels):
    """The lines of the table, and what there is to say of its numbers."""
    rows = [("series", "release", "built", "passed", "failed", "skipped", "known", "minutes")]
    more = []
    for k in kernels:
        built = {NOT_BUILT: "no", BROKEN: "-"}.get(k.state) or \
            (f"{len(k.warnings)} warnings" if k.warnings else "yes")
        passed, failed, skipped = k.totals()
        rows.append((k.name, k.release or "-", built, str(passed), str(failed), str(skipped),
                     str(len(k.known)), f"{k.seconds / 60:.1f}"))
        more += [f"{k.name}: {k.why}"] if k.why else []
        more += [f"WARNING {k.name} {line}" for line in k.warnings]
        more += [f"FAIL {k.name} {f['test']}: {f['reason']}" for f in k.failures]
        if k.known:
            more.append(f"known faults seen on {k.name}: {' '.join(k.known)}")
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) if n < 3 else cell.rjust(w)
                       for n, (cell, w) in enumerate(zip(row, widths))) for row in rows]
    return [*lines, "", *more]


def recorded(folder):
    """The suite, the tests and, by kernel, the records of an earlier run."""
    earlier, records = read_earlier(folder, "matrix", "kernel", Kernel.FIELDS)
    try:
        return earlier["suite"], list(earlier["tests"]), records
    except (KeyError, TypeError) as error:
        raise LabError(f"RESUME={folder} is not what make matrix writes") from error


def emit(kernels, arguments):
    print_jobs(arguments.list, "matrix", "SERIES", [k.name for k in kernels],
               [("TESTS", " ".join(arguments.tests))])
    return 0


def chosen(arguments):
    """The kernels that are asked for; each lane must have its floor."""
    names = arguments.series.split() if arguments.series else list(SERIES)
    known = (*SERIES, *SHORT, *LANES)
    for name in names:
        if name not in known:
            raise LabError(f"SERIES={name}: no such kernel; there are: {' '.join(known)}")
    kernels = [Kernel(name) for name in dict.fromkeys(names)]
    with open(os.path.join(TOP, "selftests", "lanes"), encoding="utf-8") as lines:
        floors = {line.split()[0] for line in lines if line.strip() and line[0] != "#"}
    for kernel in kernels:
        if kernel.lane.name not in floors:
            raise LabError(f"selftests/lanes has no smallest number of passes for "
                           f"{kernel.lane.name}")
    return kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--series", default=os.environ.get("SERIES"), metavar="KERNELS",
                        help=f"these only, as KERNEL= names them (default: {' '.join(SERIES)})")
    parser.add_argument("--resume", default=os.environ.get("RESUME"), metavar="FOLDERS",
                        help="results of earlier runs, whose verdicts count")
    parser.add_argument("--list", default=os.environ.get("LIST"), metavar="N",
                        help="only print a shell line for each of N jobs")
    parser.add_argument("tests", nargs="*", metavar="PROGRAM[:TEST]",
                        help="of the suite (default: all)")
    try:
        arguments = parser.parse_args()
    except SystemExit as end:
        return 125 if end.code else 0
    try:
        kernels = chosen(arguments)
        if arguments.list:
            return emit(kernels, arguments)
        earlier = [(folder, *recorded(folder)) for folder in (arguments.resume or "").split()]
        matrix = Matrix(kernels, arguments.tests)
        for results in earlier:
            matrix.remember(*results)
        return matrix.go()
    except LabError as error:
        if str(error):
            print(f"uobjscope: {error}", file=sys.stderr)
        return 125
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
