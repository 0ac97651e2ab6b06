#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Compare uobjscope.ko's snapshot with what drgn reads of the same objects at rest.

drgn_scene brings objects into one state after the other.  In each, a snapshot is
taken before and after drgn reads; where the two are alike, nothing moved meanwhile.
Then there is a test for each state: are all records there, and no others?  And one
for each key: has it the same value wherever it was seen?

Usage: drgn_check.py SCENE-PROGRAM SNAPSHOT
"""

import re
import subprocess
import sys

try:
    from drgn import FaultError
    from drgn_kernel import Kernel, Unreadable
except ImportError as missing:
    # The script that starts this one has seen to it that drgn is there.
    print(f"Bail out! {missing}")
    sys.exit(1)

SKIP = 4
STATES = ("opened", "made", "blocked", "closed", "unbound", "bound", "gone")
# Something may be on its way to its end when a state is reached.
ATTEMPTS = 20

# The keys that are compared and how many different values each must be seen with: a
# count that is the same all the time may come from anywhere.
FIELDS = {
    "device": {
        "name": 1, "uverbs": 1, "pci": 1, "ufiles": 3, "var_used": 3, "var_entries": 1,
        "tlp_var_used": 2, "tlp_var_entries": 1, "memic_pages_used": 2},
    "ufile": {
        "device": 2, "uverbs": 1, "state": 4, "listed": 2, "ref": 3, "uobjects": 3,
        "reserved": 1, "umaps": 3, "ctxn": 3},
    "uobj": {
        "type": 6, "type_id": 6, "class": 2, "handle": 3, "ref": 3, "usecnt": 2, "state": 2,
        "object": 2, "pdn": 2, "users": 2, "cqn": 1, "cqe": 1, "mrn": 4, "lkey": 4, "mrlen": 2,
        "dmabuf_ino": 2, "dm": 1, "length": 1, "dm_users": 1, "dm_type": 1, "dev_addr": 1,
        "dm_size": 1, "dm_ref": 1, "ops": 1, "page_id": 2, "var_bit": 1, "ino": 3,
        "file_ref": 3, "size": 2, "kref": 3, "revoked": 2, "entry": 4},
    "mmap": {
        "pgoff": 5, "npages": 2, "ref": 3, "driver_removed": 2, "kind": 4, "vmas": 3,
        "dmabufs": 2, "addr": 5, "page_id": 3, "var_bit": 1, "op": 2, "length": 2,
        "dev_addr": 2, "dm_size": 2, "dm_ref": 2, "dm_users": 2, "ops": 2},
    "vma": {"pid": 2, "start": 4, "end": 4, "entry": 4},
    "attach": {
        "device": 1, "peer2peer": 1, "invalidate": 1, "importer": 1, "umem": 1, "ibdev": 1,
        "mapped": 2, "pinned": 1, "revoked": 1, "offset": 2, "length": 1, "mrn": 2, "lkey": 2},
}

# What nothing here can make other than 0: the exporter lets nobody pin its dma-bufs, and
# only pinned importers are revoked in this sense.
ALWAYS_ZERO = (("attach", "pinned"), ("attach", "revoked"))


class Stopped(Exception):
    """The scene did not come to be: why."""


class Scene:
    """The program that holds the objects."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, bufsize=1)

    def go(self, state):
        """Into the next state; what the program says instead of ready stops it all."""
        if state == "gone":
            self.process.stdin.close()
            if self.process.wait():
                raise Stopped(f"the scene ended with {self.process.returncode}")
            return
        print(state, file=self.process.stdin)
        said = self.process.stdout.readline().strip()
        if said != "ready":
            raise Stopped(said or "the scene ended")

    def end(self):
        """Whatever it still holds goes."""
        self.process.kill()
        self.process.wait()


def value_of(text):
    """As in the module's text: a number or a word."""
    if re.fullmatch(r"-?[0-9]+|0x[0-9a-f]+", text):
        return int(text, 0) if text.startswith("0x") else int(text)
    return re.sub(r"%([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), text)


# Sixteen digits are no number.
NAMES = ("token", "object", "entry", "dm")


def parse(text):
    """The records of a snapshot by kind; ValueError if it is not whole."""
    lines = text.splitlines()
    if not lines or lines[-1] != f"end records={len(lines) - 2}":
        raise ValueError("the snapshot is cut off")
    found = {kind: [] for kind in FIELDS}
    for line in lines[1:-1]:
        kind, *pairs = line.split(" ")
        record = {}
        for pair in pairs:
            key, _, value = pair.partition("=")
            record[key] = value if key in NAMES else value_of(value)
        # A later version may have more kinds.
        found.setdefault(kind, []).append(record)
    return found


def shown(kind, record):
    """The keys that are compared, without addresses."""
    return " ".join(f"{key}={record[key]}" for key in FIELDS[kind] if key in record)


class Comparison:
    """Of the snapshot's records with drgn's, over all states."""

    def __init__(self, kernel, snapshot):
        self.kernel = kernel
        self.snapshot = snapshot
        self.address = {}       # of each ufile, by its id
        self.seen = {(kind, key): set() for kind, keys in FIELDS.items() for key in keys}
        self.wrong = {field: [] for field in self.seen}
        self.count = dict.fromkeys(self.seen, 0)

    def take(self):
        """A snapshot without its first line, which has the time."""
        with open(self.snapshot, encoding="ascii") as lines:
            header, rest = lines.read().split("\n", 1)
        return header, rest

    def look(self, state):
        """One state; what does not fit as a whole, a list of texts."""
        for _ in range(ATTEMPTS):
            header, before = self.take()
            ours = parse(header + "\n" + before)
            ids = {u["id"] for u in ours["ufile"]}
            # The module's ids say which of those that were seen are still there.
            self.address = {i: a for i, a in self.address.items() if i in ids}
            try:
                theirs, trouble = self.kernel.records(self.address.values()), None
            except (FaultError, LookupError) as error:
                theirs, trouble = None, f"drgn: {error!r}"
            _, after = self.take()
            if before == after and "changed=1" not in before:
                return [trouble] if trouble else self.compare(state, ours, theirs)
        return ["never at rest: two snapshots differ in each of "
                f"{ATTEMPTS} attempts"]

    def compare(self, state, ours, theirs):
        """All records of both."""
        troubles = self.identify(ours["ufile"], theirs["ufile"])
        for kind in FIELDS:
            if kind not in ("device", "ufile"):
                for record in ours[kind]:
                    record["ufile"] = self.address.get(record["ufile"])
        for record in ours["ufile"]:
            record["ufile"] = self.address.get(record["id"])
        self.follow(ours, theirs)
        for kind in FIELDS:
            left = self.by_identity(kind, ours[kind])
            right = self.by_identity(kind, theirs[kind])
            for identity in sorted(left.keys() | right.keys(), key=str):
                if identity not in left:
                    troubles.append(f"only drgn has {kind} {shown(kind, right[identity])}")
                elif identity not in right:
                    troubles.append(
                        f"only the snapshot has {kind} {shown(kind, left[identity])}")
                else:
                    self.fields(state, kind, left[identity], right[identity])
        return troubles

    def identify(self, ours, theirs):
        """Which ufile is which: by the id of its ucontext when it is first seen."""
        troubles = []
        known = set(self.address.values())
        new = {}
        for record in theirs:
            if record["ufile"] not in known:
                new.setdefault(record.get("ctxn"), []).append(record["ufile"])
        for record in ours:
            if record["id"] in self.address:
                continue
            candidates = new.get(record.get("ctxn"), [])
            if len(candidates) != 1:
                troubles.append(f"drgn has {len(candidates)} ufiles for "
                                f"{shown('ufile', record)}")
                continue
            self.address[record["id"]] = candidates.pop()
        return troubles

    @staticmethod
    def follow(ours, theirs):
        """Replace what leads to an mmap entry by what identifies that entry."""
        for found in (ours, theirs):
            offset = {m.get("entry"): m.get("pgoff") for m in found["mmap"]}
            of_dm = {u.get("object"): u["entry"] for u in found["uobj"]
                     if u["type"] == "DM" and "entry" in u}
            for record in found["uobj"] + found["vma"]:
                if found is ours and "dm" in record:
                    record["dm"] = of_dm.get(record["dm"])
                for key in ("entry", "dm"):
                    if key in record:
                        record[key] = offset.get(record[key], "nowhere")
        for record in ours["uobj"]:
            record["object"] = int("object" in record)

    @staticmethod
    def by_identity(kind, records):
        """By what is the same on both sides; numbered where that is not enough."""
        keys = {"device": ("name",), "ufile": ("ufile",), "mmap": ("ufile", "pgoff"),
                "uobj": ("ufile", "type_id", "class", "handle", "ino"),
                "vma": ("ufile", "pid", "start"), "attach": ("ufile", "ino", "lkey")}[kind]
        found = {}
        for record in records:
            identity = tuple(record.get(key) for key in keys)
            number = 0
            while identity + (number,) in found:
                number += 1
            found[identity + (number,)] = record
        return found

    def fields(self, state, kind, ours, theirs):
        """One record: what one of the two does not have is a difference, too."""
        for key in FIELDS[kind]:
            if key not in ours and key not in theirs:
                self.seen[kind, key].add(None)
                continue
            left, right = ours.get(key), theirs.get(key)
            self.seen[kind, key].add(right)
            self.count[kind, key] += 1
            if left != right:
                self.wrong[kind, key].append(f"{state}: the snapshot has {left}, drgn has "
                                             f"{right} in {kind} {shown(kind, theirs)}")

    def verdict(self, kind, key):
        """Of a key over all states: troubles, and a remark."""
        field = kind, key
        troubles = self.wrong[field][:5]
        values = self.seen[field] - {None}
        if len(values) < FIELDS[kind][key]:
            troubles.append(f"seen with {len(values)} different values, "
                            f"{FIELDS[kind][key]} are needed: {sorted(values, key=str)}")
        elif values == {0} and field not in ALWAYS_ZERO:
            troubles.append("never seen with anything but 0")
        return troubles, f"{self.count[field]} times, {len(values)} values"


class Results:
    """KTAP."""

    def __init__(self, plan):
        self.number = 0
        self.failed = 0
        print("TAP version 13")
        print(f"1..{plan}", flush=True)

    def test(self, name, troubles, remark=""):
        self.number += 1
        self.failed += bool(troubles)
        if remark:
            print(f"# {name}: {remark}")
        for trouble in troubles:
            print(f"# {trouble}")
        print(f"{'not ok' if troubles else 'ok'} {self.number} {name}", flush=True)


def mark(edge, name):
    """For whoever reads the kernel log by tests."""
    try:
        with open("/dev/kmsg", "w", encoding="ascii") as log:
            log.write(f"uobjscope: {edge} drgn_check.sh.{name}\n")
    except OSError:
        pass


def skip(reason):
    print("TAP version 13")
    print(f"1..0 # SKIP {reason}")
    return SKIP


def main():
    program, snapshot = sys.argv[1:]
    try:
        comparison = Comparison(Kernel(), snapshot)
    except Unreadable as error:
        return skip(str(error))
    scene = Scene(program)
    results = None
    stopped = None
    for state in STATES:
        mark("begin", state)
        troubles = [stopped] if stopped else []
        if not stopped:
            try:
                scene.go(state)
                troubles = comparison.look(state)
            except Stopped as error:
                if str(error).startswith("skip ") and not results:
                    scene.end()
                    return skip(str(error)[len("skip "):])
                stopped = f"{state}: {error}"
                troubles = [stopped]
        mark("end", state)
        results = results or Results(len(STATES) + len(comparison.seen))
        results.test(state, troubles)
    scene.end()
    for kind, keys in FIELDS.items():
        for key in keys:
            results.test(f"{kind}_{key}", *comparison.verdict(kind, key))
    return 1 if results.failed else 0


if __name__ == "__main__":
    sys.exit(main())
