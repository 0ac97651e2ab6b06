# SPDX-License-Identifier: GPL-2.0
"""The events of programs that have failed, as the guest has sent them (scripts/guest/
record.sh): into the results folder, with a timeline, test by test."""

import base64
import gzip
import os
import re
import subprocess
import zlib

from results import FAIL

FOLDER = "events"
MARK = re.compile(r"\bconsole: (?:.* )?uobjscope: (begin|end) (\S+)$")
# The table of "entries-in-buffer/entries-written: 90/120   #P:2".
ENTRIES = re.compile(r"^# entries-in-buffer/entries-written: (\d+)/(\d+)", re.M)


def slice_of(lines, name):
    """Those between the marks that a test has made in the kernel's log, or None."""
    begin = None
    for number, line in enumerate(lines):
        mark = MARK.search(line)
        if not mark:
            continue
        if begin is not None:
            # Its own end, or the begin of the next one if it came to none.
            return lines[begin:number + (mark[1] == "end")]
        if mark[1] == "begin" and mark[2] == name:
            begin = number
    return lines[begin:] if begin is not None else None


def file_name(*parts):
    return re.sub(r"[^\w.@+-]", "_", ".".join(parts))


def say_where(test, made, more):
    """Name the files of a test's events among its lines."""
    test.lines.append("events: " + ", ".join(f"{FOLDER}/{name}" for name in made) + more)


class Recordings:
    """What guests have sent, by program.  draw(text, path): make a timeline of events."""

    def __init__(self, results, draw=None):
        self.folder = os.path.join(results, FOLDER)
        self.draw = draw
        self.parts = {}

    def add(self, program, part):
        self.parts.setdefault(program, []).append(part)

    def text(self, program):
        """The events of a program, "" if they did not come whole."""
        try:
            packed = b"".join(base64.b64decode(part, validate=True)
                              for part in self.parts[program])
            return gzip.decompress(packed).decode("utf-8", "surrogateescape")
        except (KeyError, ValueError, OSError, EOFError, zlib.error):
            return ""

    def write(self, name, lines):
        """One file of events and, if one can be drawn, a timeline; returns their names."""
        os.makedirs(self.folder, exist_ok=True)
        path = os.path.join(self.folder, name + ".txt")
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as out:
            out.writelines(line + "\n" for line in lines)
        made = [name + ".txt"]
        if self.draw and self.draw(path, os.path.join(self.folder, name + ".html")):
            made.append(name + ".html")
        return made

    def attach_again(self, label, program, test, how):
        """Give a failed test the events of its second run, which is recorded under that label
        and had that end."""
        text = self.text(label)
        if not text:
            test.lines.append(f"the events of a second run, in which it {how}, did not come whole")
            return
        lines = text.rstrip("\n").split("\n")
        bare = program.short.split("@")[0]
        made = self.write(file_name(program.short, test.name),
                          slice_of(lines, f"{bare}.{test.name}") or lines)
        say_where(test, made, f" (of a second run, in which it {how})")

    def attach(self, programs):
        """Give each failed test of these its events, and say so among its lines."""
        for program in programs:
            if program.name not in self.parts:
                continue
            failed = [test for test in program.tests if test.status == FAIL]
            text = self.text(program.name)
            if not text:
                for test in failed:
                    test.lines.append("its events did not come whole")
                continue
            if not failed:
                # Asked for by RECORD=all.
                self.write(file_name(program.short), text.rstrip("\n").split("\n"))
            self.attach_to(program, failed, text)

    def attach_to(self, program, failed, text):
        lines = text.rstrip("\n").split("\n")
        entries = ENTRIES.search(text)
        older = int(entries[2]) - int(entries[1]) if entries else 0
        bare = program.short.split("@")[0]
        whole = None
        for test in failed:
            of_test = slice_of(lines, f"{bare}.{test.name}")
            if of_test is not None:
                made = self.write(file_name(program.short, test.name), of_test)
            else:
                # It has made no marks, or they are older than what was kept.
                whole = whole or self.write(file_name(program.short), lines)
                made = whole
            say_where(test, made, f" ({older} older ones of the program were not kept)"
                      if older else "")


def drawer(emulator_command, program):
    """A function that has the uobjscope command of a tree make a timeline, by the root file
    system's own loader; None if there is no such command."""
    if not os.access(program, os.X_OK):
        return None
    # LOADER --library-path FOLDER, as for QEMU; with another QEMU it is the host's.
    loader = emulator_command[:3] if len(emulator_command) > 3 else []

    def draw(events, path):
        with open(path, "wb") as out:
            try:
                done = subprocess.run([*loader, program, "timeline", "--format=html", events],
                                      stdout=out, stderr=subprocess.DEVNULL, timeout=60,
                                      stdin=subprocess.DEVNULL, check=False).returncode == 0
            except (OSError, subprocess.SubprocessError):
                done = False
        if not done:
            os.unlink(path)
        return done
    return draw
