#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""What it costs to look, how fast the device is, and how long one waits for a verdict.

The bench_* programs are run in a guest, and print a line for each figure; the lab's own
figures are measured here.  All go into one table and bench.json, each with its ratio to a peer
that was measured in the same run, where there is one.

Exit status: 0 all was measured, 1 something was not, 125 the lab is broken.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "scripts", "runner"))

from jobs import make_results                                           # noqa: E402
from lanes import SHORT, lane                                           # noqa: E402
from machine import LabError                                            # noqa: E402

PROGRAMS = ("bench_observe.sh", "bench_events.sh", "bench_data_path.sh", "bench_commands.sh")
# In a program's output, see figure() in selftests/test_lib.sh.
FIGURE = re.compile(r"figure (\S+) value=([0-9.]+) unit=(\S+)(?: ratio=([0-9.]+) peer=(.+))?$")
# What the lab's own figures are measured with: a program of some seconds, one of its tests,
# and mutants that fall to the programs named.
PROGRAM, TEST = "var", "var:var_01_alloc_takes_a_page"
MUTANTS, MUTANTS_TESTS = ("M01", "M02", "M05", "M06"), ("var", "mmap_entry")


def say(text):
    print(text, file=sys.stderr, flush=True)


def figure(name, value, unit, ratio=None, peer=""):
    return {"name": name, "value": value, "unit": unit, "ratio": ratio, "peer": peer}


def figures_in(text):
    """Those that programs have printed, as they stand in their KTAP."""
    found = []
    for line in text.splitlines():
        match = FIGURE.search(line)
        if match:
            name, value, unit, ratio, peer = match.groups()
            found.append(figure(name, float(value), unit, float(ratio) if ratio else None,
                                peer or ""))
    return found


def table(figures):
    """Lines of a table, with as many digits as tell something."""
    def number(value):
        return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"

    rows = [("figure", "value", "unit", "ratio", "to")]
    rows += [(f["name"], number(f["value"]), f["unit"].replace("-", " "),
              number(f["ratio"]) if f["ratio"] is not None else "", f["peer"]) for f in figures]
    widths = [max(len(row[n]) for row in rows) for n in range(4)]
    return [f"{row[0]:{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:{widths[2]}}  "
            f"{row[3]:>{widths[3]}}  {row[4]}".rstrip() for row in rows]


class Bench:
    """A whole run."""

    def __init__(self, kernel):
        self.kernel = kernel
        self.results = make_results("bench")
        self.figures = []
        self.passed = 0
        self.missing = []

    def call(self, name, *command):
        """Its exit status and how long it took, in seconds."""
        with open(os.path.join(self.results, f"{name}.txt"), "w", encoding="utf-8") as out:
            began = time.monotonic()
            status = subprocess.run([sys.executable, *command], check=False, stdout=out,
                                    stdin=subprocess.DEVNULL, stderr=out).returncode
            took = time.monotonic() - began
        if status == 125:
            raise LabError(f"the lab is broken, see {self.results}/{name}.txt")
        return status, took

    def guest(self, name, *programs):
        folder = os.path.join(self.results, name)
        os.makedirs(folder)
        status, took = self.call(name, os.path.join(TOP, "scripts/runner/run.py"), "--kernel",
                                 self.kernel, "--results", folder, *programs)
        return status, took, os.path.join(folder, "latest")

    def in_guest(self):
        say("in a guest: " + " ".join(PROGRAMS))
        _, _, results = self.guest("guest", *PROGRAMS)
        with open(os.path.join(results, "kselftest.tap"), encoding="utf-8") as text:
            self.figures += figures_in(text.read())
        with open(os.path.join(results, "totals.json"), encoding="utf-8") as text:
            said = json.load(text)
        self.passed += said["passed"]
        self.missing += [f"{f['test']}: {f['reason']}" for f in said["failures"]]

    def count(self, what, good):
        if good:
            self.passed += 1
        else:
            self.missing.append(f"{what}: see {self.results}/{what}.txt")
        return good

    def verdict(self):
        """The modules and programs are built by now; what is left is the guest."""
        say("from a boot to the verdict")
        alone, one, _ = self.guest("one-test", TEST)
        status, took, _ = self.guest("one-program", PROGRAM)
        if self.count("one-test", not alone) and self.count("one-program", not status):
            self.figures.append(figure(f"boot-to-verdict-of-{PROGRAM}", took, "s", took / one,
                                       "one test of it"))

    def mutants(self):
        say("from an edit to the verdict: " + " ".join(MUTANTS))
        script = os.path.join(TOP, "scripts/mutants/mutants.py")
        status, _ = self.call("mutants", script, "--kernel", self.kernel, "--mutant",
                              " ".join(MUTANTS), *MUTANTS_TESTS)
        with open(os.path.join(self.results, "mutants.txt"), encoding="utf-8") as text:
            said = re.search(r"^results in (\S+)$", text.read(), re.M)
        if not self.count("mutants", not status and said):
            return
        with open(os.path.join(said[1], "mutants.json"), encoding="utf-8") as text:
            seconds = [m["seconds"] for m in json.load(text)["mutants"]]
        mean = sum(seconds) / len(seconds)
        jobs = min(2, os.cpu_count() or 1)
        verdict = next((f["value"] for f in self.figures
                        if f["name"].startswith("boot-to-verdict")), None)
        self.figures.append(figure(f"edit-of-a-module-to-verdict-{jobs}-at-a-time", mean, "s",
                                   mean / verdict if verdict else None,
                                   f"boot to verdict of {PROGRAM}" if verdict else ""))
        self.figures.append(figure("mutants-an-hour", jobs * 3600 / mean, "an-hour"))

    def go(self):
        self.in_guest()
        self.verdict()
        self.mutants()
        return self.report()

    def report(self):
        lines = table(self.figures)
        with open(os.path.join(self.results, "table.txt"), "w", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in lines)
        with open(os.path.join(self.results, "bench.json"), "w", encoding="utf-8") as out:
            json.dump({"kernel": self.kernel, "figures": self.figures}, out, indent=1)
            out.write("\n")
        for line in lines:
            print(line)
        for what in self.missing:
            print(f"not measured: {what}")
        print(f"results in {os.path.relpath(self.results)}")
        print(f"{self.passed} passed, {len(self.missing)} failed, 0 skipped", flush=True)
        return 1 if self.missing else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kernel", default=os.environ.get("KERNEL") or "7.2")
    arguments = parser.parse_args()
    try:
        lane(SHORT.get(arguments.kernel, arguments.kernel))
        return Bench(arguments.kernel).go()
    except LabError as error:
        if str(error):
            say(f"uobjscope: {error}")
        return 125


if __name__ == "__main__":
    sys.exit(main())
