# SPDX-License-Identifier: GPL-2.0
"""The guest's console: which test each line belongs to, and what is a report."""

import re

# What the kernel prints when something is wrong, whoever caused it.
REPORTS = [re.compile(p) for p in (
    r"\bWARNING: ",
    r"\bBUG: ",
    r"\bBUG \S+ ?\(.*\): ",             # slab_debug
    r"\bkernel BUG at ",
    r"\bOops: ",
    r"\bUBSAN: ",
    r"\bKCSAN: ",
    r"\brefcount_t: ",
    r"\bgeneral protection fault",
    r"\bunable to handle (page fault|kernel)",
    r"\b(list_add|list_del) corruption",
    r"\bDMA-API: (?!preallocated |debugging enabled )",
    r"\bODEBUG: ",
    r"\bINFO: task .* blocked for more than",
    r"\bINFO: .*(detected stall|self-detected)",
    r"\brcu: INFO: ",
    r"\bwatchdog: BUG: ",
    r"\bpossible (circular locking|recursive locking|irq lock inversion)",
    r"\binconsistent lock state",
    r"\bsuspicious RCU usage",
    r"\bkmemleak: \d+ new suspected",
    r"\bKernel panic - not syncing",
    # The virtual HCA's own findings: the driver did what no driver may do.
    r"\bmlx5_vhca .*\b(violation|left at teardown)\b",
    r"\bUnknown FW command",
)]

# The drivers under test say these when all is well, and nothing else.
DRIVERS = re.compile(
    r"\b(mlx5_core|mlx5_ib|mlx5_vhca|dmabuf_importer|infiniband|ib_uverbs|ib_core)\b")
EXPECTED = [re.compile(p) for p in (
    r"mlx5_core \S+: enabling device",
    r"mlx5_core \S+: firmware version: ",
    r"mlx5_core \S+: Flow counters bulk query buffer size",
    r"mlx5_core \S+: Rate limit: \d+ rates are supported",
    r"mlx5_core \S+: Shutdown was called",
    # Older drivers say so of what few hosts have: a clock in the root port.
    r"mlx5_core \S+: PTM is not supported by PCIe",
    r"\w+: loading out-of-tree module taints kernel",
    r"\w+: module verification failed",
    r"mlx5_vhca: \S+: (virtual HCA 15b3:|removed after )",
    # The body of a report, whose first line is what counts.
    r"^Modules linked in: ",
    r"^ (\? )?[\w.]+\+0x[0-9a-f]+/0x[0-9a-f]+( \[\w+\])?$",
    r"^RIP: ",
    # The device of the KUnit suites, and what they say themselves: kunit.py reads that.
    r"mlx5_vhca: kunit: ",
    r"^ *(KTAP version \d|\d+[.][.]\d|(not )?ok \d+ |# )",
)]

STAMP = re.compile(r"^\[ *\d+[.]\d+\](\[ *[CT]\d+\])? ?")
MARKER = re.compile(r"\buobjscope: (program|program-end|begin|end|expect) (.+)$")
BOOT = ("boot", None)


def text_of(line):
    """A console line without its time stamp."""
    return STAMP.sub("", line)


def is_report(line):
    text = text_of(line)
    if "Command line: " in text or "Kernel command line: " in text:
        return False
    return any(p.search(text) for p in REPORTS)


def is_unexpected(line):
    """Anything that a driver under test says beyond what it says when all is well."""
    text = text_of(line)
    return bool(DRIVERS.search(text)) and not any(p.search(text) for p in EXPECTED) \
        and "Command line: " not in text and not MARKER.search(text) \
        and not text.startswith("usbcore")


class KernelLog:
    """Follows the console; findings is a list of ((program, test), line).

    A program's name has its round behind it where there are several, as in var@2; what
    the program itself writes has not.
    """

    def __init__(self, watcher=None):
        self.watcher = watcher      # of a test with its own guest
        self.where = BOOT
        self.findings = []
        self.expected = []
        self.panicked = False

    def line(self, line):
        marker = MARKER.search(line)
        if marker:
            self.marker(marker[1], marker[2])
            return
        if "Kernel panic - not syncing" in line:
            self.panicked = True
        if self.watcher:
            self.watcher.line(line)
        if (is_report(line) or is_unexpected(line)) and \
                not any(e.search(text_of(line)) for e in self.expected):
            self.findings.append((self.where, text_of(line)))

    def leavings(self):
        """All is done, in a guest of what leaves traces: what its drivers say of them when the
        machine goes is no finding."""
        self.expected = [re.compile(r"^(mlx5_core |mlx5_vhca: |infiniband )")]

    def marker(self, kind, name):
        program = self.where[0]
        bare = program.split("@")[0]
        if kind == "expect":
            # What the running test provokes; the test itself checks that it came.
            try:
                self.expected.append(re.compile(name))
            except re.error:
                # A console can lose characters: then what comes is not expected.
                pass
            return
        self.expected = []
        if kind == "program":
            self.where = (name, None)
        elif kind == "program-end":
            self.where = BOOT
        elif kind == "begin" and name.startswith(bare + "."):
            self.where = (program, name[len(bare) + 1:])
        elif kind == "end":
            self.where = (program, None)
