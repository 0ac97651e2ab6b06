# SPDX-License-Identifier: GPL-2.0
"""selftests/known_issues: what faults are to be expected, and what a sight of one means.

The file states its format and the rules; selftests/common/known_issues.c has them for
the tests.
"""

import os
import re

from machine import LabError
from results import FAIL, PASS, SKIP, XFAIL

LIVE, FIXED = "live", "fixed"
WORDS = {
    "component": {"kernel", "rdma-core"},
    "seen": {"always", "sometimes"},
    "class": {"real", "forced", "unreal", "harmless"},
}
NEEDED = ("title", "component", "where", "since", "fixed", "commit", "observable", "seen",
          "class", "test")
OBSERVABLE = {"any", "slab_debug", "kasan", "failslab", "lockdep"}


class Issue:
    """One entry of the file."""

    def __init__(self, fields, probes):
        self.fields = fields
        self.probes = probes
        # Whether the guest has a fix that neither source nor version know of.
        self.has_fix = False

    def __getattr__(self, name):
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(name) from None

    def source_says(self, source):
        """FIXED or LIVE if a probe of the source, if there is one, can tell, else None."""
        if self.has_fix:
            return FIXED
        if not source:
            return None
        for probe in self.probes:
            kind, _, rest = probe.partition(" ")
            if kind != "source":
                continue
            name, _, expression = rest.partition(" ")
            try:
                with open(os.path.join(source, name), encoding="utf-8", errors="replace") as file:
                    return FIXED if re.search(expression, file.read()) else LIVE
            except OSError:
                continue
        return None

    def state(self, release, source=None):
        """FIXED or LIVE in a kernel of that release, whose source may be at hand."""
        said = self.source_says(source)
        if said:
            return said
        fixed = self.component == "kernel" and has_version(release, self.fixed)
        return FIXED if fixed else LIVE

    def is_observable(self, abilities):
        """abilities: which of slab_debug, kasan, failslab and lockdep the guest has."""
        return self.observable == "any" or bool(set(self.observable.split("|")) & abilities)

    def verdict(self, seen, state):
        """(status, reason) of a test in which the fault was seen or not."""
        name = f"{self.id} {self.title}"
        if seen and state == FIXED:
            return FAIL, f"{name}: seen although it is fixed here"
        if seen:
            fixed = "not fixed" if self.fixed == "-" else f"fixed in {self.fixed}"
            return XFAIL, f"{name} ({self.component}; {fixed})"
        if state == FIXED:
            return PASS, ""
        missing = f"{name}: not seen although it is not fixed here"
        if self.seen == "sometimes":
            return PASS, f"note: {missing}"
        return FAIL, f"{missing}: revise its entry in known_issues"

    def hidden(self):
        return SKIP, f"{self.id} {self.title}: can only be seen with {self.observable}"


def numbers(version):
    found = re.match(r"(\d+)[.](\d+)(?:[.](\d+))?", version)
    return tuple(int(n or 0) for n in found.groups()) if found else None


def has_version(release, versions):
    """Does a release contain what these versions, one a series, were the first to have?"""
    have = numbers(release)
    firsts = [numbers(v) for v in versions.split()]
    if not have or None in firsts:
        return False
    for first in firsts:
        if first[:2] == have[:2]:
            return have >= first
    return bool(firsts) and all(have > first for first in firsts)


def parse(text, name):
    """{id: Issue}, or LabError naming what is wrong."""
    issues = {}
    for block in re.split(r"\n\s*\n", text):
        fields, probes = {}, []
        for line in block.split("\n"):
            if not line or line.startswith("#"):
                continue
            key, colon, value = line.partition(":")
            value = value.strip()
            if not colon or not value:
                raise LabError(f"{name}: expected 'key: value', seen '{line}'")
            if key == "probe":
                probes.append(value)
            elif key in fields:
                raise LabError(f"{name}: {fields.get('id', '?')}: {key} is there twice")
            elif key == "id" or key in NEEDED:
                fields[key] = value
            else:
                raise LabError(f"{name}: {fields.get('id', '?')}: unknown key {key}")
        if not fields and not probes:
            continue
        check(fields, probes, name)
        if fields["id"] in issues:
            raise LabError(f"{name}: a second entry {fields['id']}")
        issues[fields["id"]] = Issue(fields, probes)
    return issues


def check(fields, probes, name):
    what = f"{name}: {fields.get('id', 'an entry without id')}"
    for key in ("id", *NEEDED):
        if key not in fields:
            raise LabError(f"{what}: no {key}")
    for key, words in WORDS.items():
        if fields[key] not in words:
            raise LabError(f"{what}: {key}: expected one of {', '.join(sorted(words))}, "
                           f"seen {fields[key]}")
    if not set(fields["observable"].split("|")) <= OBSERVABLE:
        raise LabError(f"{what}: observable: expected {', '.join(sorted(OBSERVABLE))}, "
                       f"seen {fields['observable']}")
    if fields["fixed"] != "-" and None in [numbers(v) for v in fields["fixed"].split()]:
        raise LabError(f"{what}: fixed: expected versions, seen {fields['fixed']}")
    for probe in probes:
        if not re.match(r"source \S+ \S|btf \S+ \S+$", probe):
            raise LabError(f"{what}: probe: expected 'source FILE EXPRESSION' or "
                           f"'btf MODULE NAME', seen {probe}")


def mark_fixed(issues, ids):
    """Faults whose fix is in what the guest runs, as whoever has built that says."""
    for name in ids:
        if name not in issues:
            raise LabError(f"--fixed {name}: no such entry in known_issues; there are: " +
                           " ".join(issues))
        issues[name].has_fix = True


def load(path):
    """The entries of a file; none if there is no such file."""
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read(), os.path.basename(path))
    except FileNotFoundError:
        return {}
