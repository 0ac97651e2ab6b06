# SPDX-License-Identifier: GPL-2.0
"""What kmemleak found after a program, and which of it is to be expected.

The guest says one line a leak: its size, and the functions that allocated it, the inner
one first.  selftests/kmemleak lists what is allowed, one a line:

    ID FUNCTION [FUNCTION]... [# why]

ID is an entry of known_issues, which must be live where it is to be a pardon, or "-";
of the functions all must be among those of the leak.
"""

import os

from machine import LabError


class Allowed:
    """One line of the list."""

    def __init__(self, issue, functions):
        self.issue = issue          # id, or None
        self.functions = set(functions)

    def covers(self, functions):
        return self.functions <= set(functions)


def parse(text, issues):
    """The Alloweds of a list, or LabError naming the line."""
    allowed = []
    for number, line in enumerate(text.split("\n"), 1):
        issue, *functions = line.split("#", 1)[0].split() or [None]
        if issue is None:
            continue
        where = f"kmemleak:{number}"
        if not functions:
            raise LabError(f"{where}: expected ID FUNCTION..., seen '{line}'")
        if issue != "-" and issue not in issues:
            raise LabError(f"{where}: known_issues has no entry {issue}")
        if issue == "-" and "#" not in line:
            raise LabError(f"{where}: expected the reason behind a #, seen '{line}'")
        allowed.append(Allowed(None if issue == "-" else issue, functions))
    return allowed


def load(folder, issues):
    """The Alloweds of one collection of tests; none if it has no list."""
    try:
        with open(os.path.join(folder, "kmemleak"), encoding="utf-8") as file:
            return parse(file.read(), issues)
    except FileNotFoundError:
        return []


def sentence(leak):
    """(what to say of a leak, its functions) from "SIZE FUNCTION..."."""
    size, *functions = leak.split(" ")
    shown = " <- ".join(f for f in functions if not f.startswith(("kmemleak_", "__kmalloc",
                                                                  "kmem_cache_alloc")))
    return f"leak of {size} bytes, allocated by {shown or 'nobody known'}", functions


def unexpected(leak, allowed, live):
    """What is to be said of a leak that nothing allows, else None.

    live are the ids of the faults that this kernel has.
    """
    text, functions = sentence(leak)
    if any(a.covers(functions) for a in allowed if a.issue is None or a.issue in live):
        return None
    return text
