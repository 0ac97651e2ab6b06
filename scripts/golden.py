#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The suite's verdict on two kernels of which the difference is known.

In 7.2 a dma-buf that is closed after its context leaks the uverbs file (L01), and the
cleanup of a context uses a dma-buf that was closed meanwhile (L02).  7.3 has neither.  A
suite that sees both on the one and neither on the other, by the same tests, can be
believed; if it sees neither on both, or something on both, it cannot.

What is not seen counts only if the test came to the moment in which it would show: the
guest's kernel log says so.

Exit status: 0 all is as it is known, 1 it is not, 125 the lab could not be built.
"""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# The fault, its test, and on which of the kernels it is.
FAULTS = (
    ("L01", "known.l01_ufile_stays", ("7.2",)),
    ("L02", "known_crash_importer.l02_close_during_cleanup", ("7.2",)),
)
KERNELS = ("7.2", "7.3")
SEEN, ABSENT = "seen", "absent"


def run(lane, folder):
    """Run the tests on a lane; its results folder, or None."""
    tests = [test.replace(".", ":", 1) for _, test, _ in FAULTS]
    command = [sys.executable, os.path.join(TOP, "scripts", "runner", "run.py"),
               "--kernel", lane, "--results", folder, *tests]
    with open(os.path.join(folder, f"{lane}.out"), "w", encoding="utf-8") as out:
        subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=out)
    latest = os.path.join(folder, "latest")
    return os.path.realpath(latest) if os.path.exists(f"{latest}/totals.json") else None


def reached(results, fault):
    """Did the test of a fault come to the moment that it was made for?"""
    said = re.compile(rf"uobjscope: reached {fault}: ")
    for name in glob.glob(os.path.join(glob.escape(results), "console*.log")):
        with open(name, encoding="utf-8", errors="replace") as log:
            if any(said.search(line) for line in log):
                return True
    return False


def witness(results, fault):
    """The first line of a report in the guest of a fault that takes the kernel down."""
    report = re.compile(r"BUG: KASAN: .*|Oops: .*|general protection fault.*")
    for name in sorted(glob.glob(os.path.join(glob.escape(results),
                                              f"console-*{fault.lower()}_*.log"))):
        with open(name, encoding="utf-8", errors="replace") as log:
            for line in log:
                found = report.search(line)
                if found:
                    return found[0].strip()
    return ""


def verdict(results, fault, test):
    """(verdict, why) of one fault in the results of one kernel."""
    with open(os.path.join(results, "totals.json"), encoding="utf-8") as data:
        # Before the test's own name stands that of its program.
        tests = {t["test"].split(".", 1)[1]: t for t in json.load(data)["tests"]}
    found = tests.get(test)
    if found is None:
        return "not run", "no result"
    if found["status"] == "xfail":
        word, why = SEEN, witness(results, fault)
    elif found["status"] == "pass":
        word, why = ABSENT, ""
    elif found["status"] == "skip":
        return "skipped", found["reason"]
    else:
        word, why = "failed", found["reason"]
    if not reached(results, fault):
        return "no verdict", f"the test did not come to its window ({word})"
    return word, why


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="distributions' kernels with "
                        "slab_debug=FZPU, in place of debug kernels that are built for it")
    parser.add_argument("--results", help="where to make the results folder")
    try:
        arguments = parser.parse_args()
    except SystemExit as end:
        return 125 if end.code else 0
    kind = "slab" if arguments.quick else "debug"
    base = arguments.results or os.path.join(TOP, "results")
    os.makedirs(base, exist_ok=True)
    folder = tempfile.mkdtemp(prefix=f"golden-{kind}-", dir=base)
    table, wrong, broken = [], 0, False
    for kernel in KERNELS:
        print(f"golden: {kind}-{kernel} ...", file=sys.stderr, flush=True)
        where = os.path.join(folder, kernel)
        os.makedirs(where)
        results = run(f"{kind}-{kernel}", where)
        for fault, test, live in FAULTS:
            said, why = ("no verdict", "the lab is broken") if results is None else \
                verdict(results, fault, test)
            broken |= results is None
            right = said == (SEEN if kernel in live else ABSENT)
            wrong += not right
            table.append((fault, kernel, said, right, why))
    print(f"{'fault':6} {'kernel':12} {'verdict':11} {'as known':9} witness")
    for fault, kernel, said, right, why in sorted(table):
        print(f"{fault:6} {kind + '-' + kernel:12} {said:11} {'yes' if right else 'NO':9} {why}"
              .rstrip())
    print(f"results in {os.path.relpath(folder)}")
    print(f"{len(table) - wrong} passed, {wrong} failed, 0 skipped")
    return 125 if broken else 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
