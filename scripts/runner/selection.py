# SPDX-License-Identifier: GPL-2.0
"""Which tests are run: TESTS=, FILTER=, REPEAT=, and those that want their own guest."""

import os
import re
import subprocess

from machine import LabError

# Programs that are run only when asked for by name: benchmarks measure, drgn and pyverbs need
# more than the guest has, and some wait for the driver's own patience to end.
BY_NAME = ("bench_", "drgn_", "pyverbs_", "slow_")

MANY = 200          # of names in one message


class Item:
    """A program of the guest's list, with what it is told, in one round of a run."""

    def __init__(self, program, arguments="", round_=0):
        self.program = program      # COLLECTION:PROGRAM
        self.arguments = arguments
        self.round = round_         # 0: there is one only

    @property
    def label(self):
        """What results call it; the guest puts the same together."""
        return f"{self.program}@{self.round}" if self.round else self.program

    def line(self):
        """As overlay.sh takes it, and run-tests.sh gets it."""
        words = ([f"@{self.round}"] if self.round else []) + self.arguments.split()
        return f"{self.program}={' '.join(words)}" if words else self.program


def short(program):
    return program.split(":", 1)[1]


def is_script(program):
    return program.endswith(".sh")


def choose(available, wanted):
    """[(COLLECTION:PROGRAM, name of one test or None)] of TESTS=."""
    if not wanted:
        return [(a, None) for a in available if not short(a).startswith(BY_NAME)]
    chosen = []
    for want in wanted:
        program, _, name = want.partition(":")
        match = [a for a in available if short(a) in (program, program + ".sh")]
        if not match:
            known = " ".join(short(a) for a in available)
            raise LabError(f"TESTS={want}: no such test program; there are: {known}")
        # The harness' -t wants the test without its fixture, which results have before it.
        chosen.append((match[0], name.rsplit(".", 1)[-1] or None))
    return chosen


class Filter:
    """FILTER=: a regular expression on the names of tests, as results have them.

    Invariants are written DMABUF-05, tests dmabuf_05_...; both forms are looked at,
    and case does not matter.
    """

    def __init__(self, text):
        self.text = text
        try:
            self.expression = re.compile(text, re.IGNORECASE)
        except re.error as error:
            raise LabError(f"FILTER={text}: no regular expression: {error}") from error

    def matches(self, program, test):
        name = f"{short(program)}.{test}" if test else short(program)
        return bool(self.expression.search(name) or
                    self.expression.search(name.replace("_", "-")))


def parse_list(text):
    """The names that a program of kselftest_harness.h, or one with test_lib.sh, prints
    with -l.  The harness has three columns: fixtures, and beside each other the variants
    and the tests of each."""
    if "# FIXTURE" not in text:
        # A script may say more, as diagnostics.
        return [line for line in text.split("\n") if line and not line.startswith("#")]
    names, fixture, variants, tests = [], None, [], []

    def flush():
        for variant in variants or [""]:
            names.extend(".".join(filter(None, (fixture, variant, test))) for test in tests)

    for line in text.split("\n"):
        if not line.strip() or line.startswith(("# FIXTURE", "-----")):
            continue
        first = line.split(" ", 1)[0]
        if first:
            flush()
            fixture, variants, tests = first, [], []
        rest = line[max(20, len(first)) + 1:]
        variant = rest.split(" ", 1)[0]
        test = rest[max(25, len(variant)) + 1:].strip()
        if variant:
            variants.append(variant)
        if test:
            tests.append(test)
    flush()
    return names


def can_list(path):
    """Does a program know -l?  Others must not be started here, whatever they do."""
    with open(path, "rb") as file:
        text = file.read()
    return b"kselftest_harness.h" in text or b"[-h|-l|-d]" in text \
        if text.startswith(b"\x7fELF") else b"/test_lib.sh" in text


def list_tests(lab, install, programs):
    """{program: names of its tests}; None for one that does not know -l.

    They are asked in the lab's root file system, where their libraries are, as nobody.
    """
    listed = dict.fromkeys(programs)
    able = [p for p in programs if can_list(os.path.join(install, p.replace(":", "/", 1)))]
    if not able:
        return listed
    # The harness lists on stderr, scripts on stdout, and may complain of what is not here.
    script = ('cd /install; for p; do echo "@ $p"; f=./$(echo "$p" | sed s,:,/,); '
              'case $f in *.sh) "$f" -l 2>/dev/null ;; *) "$f" -l 2>&1 ;; esac; done')
    command = [os.path.join(lab, "in-rootfs.sh"), "--bind", f"{os.path.abspath(install)}:/install",
               "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
               "sh", "-c", script, "sh", *able]
    done = subprocess.run(command, check=False, text=True, stdout=subprocess.PIPE,
                          stdin=subprocess.DEVNULL)
    for part in ("\n" + done.stdout).split("\n@ ")[1:]:
        program, _, text = part.partition("\n")
        listed[program] = parse_list(text)
    for program in able:
        if not listed[program]:
            raise LabError(f"FILTER=: {short(program)} -l lists no test")
    return listed


def narrow(chosen, listed, wanted):
    """The Items of those programs that have tests a Filter matches."""
    items = []
    for program, _ in chosen:
        names = listed[program]
        if names is None:
            if wanted.matches(program, None):
                items.append(Item(program))
            continue
        matching = [n for n in names if wanted.matches(program, n)]
        if matching:
            some = len(matching) < len(names)
            items.append(Item(program, " ".join(f"-r {n}" for n in matching) if some else ""))
    return items


def merge(chosen):
    """One Item a program, whichever of its tests were asked for: a second one of the same
    name would have its results taken for the first one's."""
    names = {}
    for program, name in chosen:
        names.setdefault(program, []).append(name)
    return [Item(program, "" if None in some else " ".join(f"-t {n}" for n in some))
            for program, some in names.items()]


def select(available, tests, filter_, own_tests, lister):
    """([Item], [OwnTest]) of what was asked for."""
    chosen = choose(available, tests)
    own_tests = [o for o in own_tests if not o.leaves_traces]
    own = [o for program, name in chosen for o in own_tests
           if o.program == program and name in (None, o.name.rsplit(".", 1)[-1])]
    alone = {o.program for o in own_tests}
    shared = [(p, n) for p, n in chosen if p not in alone]
    for program, name in chosen:
        if program in alone and name and not any(o.program == program for o in own):
            raise LabError(f"TESTS={short(program)}:{name}: not in own_guest")
    if not filter_:
        return merge(shared), own
    if any(name for _, name in chosen):
        raise LabError("TESTS=PROGRAM:TEST and FILTER= exclude each other")
    wanted = Filter(filter_)
    listed = lister([p for p, _ in shared])
    items = narrow(shared, listed, wanted)
    own = [o for o in own if wanted.matches(o.program, o.name)]
    if not items and not own:
        names = [n for names in listed.values() for n in names or ()]
        there = " ".join(names) if len(names) <= MANY else f"{len(names)} tests"
        raise LabError(f"FILTER={filter_}: no test of that name in "
                       f"{' '.join(short(p) for p, _ in chosen)} ({there})")
    return items, own


def rounds(items, repeat):
    """The whole selection once after the other, in one list: one boot runs it all."""
    if repeat == 1:
        return items
    return [Item(i.program, i.arguments, n + 1) for n in range(repeat) for i in items]
