#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The results of rdma-core's own Python tests by family, as a table and as JSON.

Usage: table.py RESULTS-FOLDER

Reads totals.json there, writes pyverbs.json beside it, and prints the table.
"""

import json
import os
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(TOP, "selftests"))

# pylint: disable=wrong-import-position
from pyverbs_families import PATTERNS, family_of

PROGRAM = "pyverbs_check.sh."
# In a result, what has hung is a failure, or a known one, that says so.
COLUMNS = ("passed", "failed", "skipped", "hung", "known")


def column_of(test):
    """Which column a test of totals.json counts in."""
    if test["status"] == "xfail":
        return "known"
    if test["status"] == "fail":
        return "hung" if test["reason"].startswith("hung: ") else "failed"
    return {"pass": "passed", "skip": "skipped"}[test["status"]]


def by_family(tests):
    """{family: {column: count}}, in the order of the families."""
    counts = {family: dict.fromkeys(COLUMNS, 0)
              for family in dict.fromkeys([f for f, _ in PATTERNS] + ["other"])}
    for test in tests:
        if test["test"].startswith(PROGRAM):
            name = test["test"][len(PROGRAM):]
            counts[family_of(name)][column_of(test)] += 1
    return {family: c for family, c in counts.items() if any(c.values())}


def table(counts):
    """The lines of the table, the sum last."""
    total = {column: sum(c[column] for c in counts.values()) for column in COLUMNS}
    width = max(len(family) for family in [*counts, "all"])
    yield " ".join(["family".ljust(width), *(c.rjust(7) for c in COLUMNS)])
    for family, of in [*counts.items(), ("all", total)]:
        yield " ".join([family.ljust(width), *(str(of[c]).rjust(7) for c in COLUMNS)])


def main():
    if len(sys.argv) != 2:
        print("usage: table.py RESULTS-FOLDER", file=sys.stderr)
        return 125
    folder = sys.argv[1]
    with open(os.path.join(folder, "totals.json"), encoding="utf-8") as file:
        totals = json.load(file)
    counts = by_family(totals["tests"])
    with open(os.path.join(folder, "pyverbs.json"), "w", encoding="utf-8") as file:
        json.dump({"lane": totals["lane"], "families": counts,
                   "tests": [t for t in totals["tests"] if t["test"].startswith(PROGRAM)]},
                  file, indent=1)
    print("\n".join(table(counts)))
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
