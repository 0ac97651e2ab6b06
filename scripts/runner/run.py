#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Boot the guest, run the suite in it, and give a verdict.

Exit status: 0 all is well, 1 tests failed, 2 the guest's kernel panicked,
3 the guest hung, 125 the lab could not be built or booted.
"""

import argparse
import base64
import datetime
import functools
import json
import os
import queue
import random
import subprocess
import sys
import threading
import time

import known_issues
import kunit
import leaks
import own_guest
import record
import reports
from kernel_log import BOOT, KernelLog
from lanes import LANES, SHORT, lane
from machine import Emulator, LabError, Machine, Shape
from results import (FAIL, PASS, SKIP, XFAIL, Program, Test, all_tests, closing_line,
                     count, failures, flaky_tests, known_faults, notes_of)
from selection import Item, is_script, list_tests, rounds, select, short
from side_by_side import run_all

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LAB = os.path.join(TOP, "scripts", "lab")

FAILED, PANICKED, HUNG, LAB_BROKEN = 1, 2, 3, 125

# A kernel in which slow is not wrong: what emulation does to time is no finding.
TUNING = ("rcupdate.rcu_cpu_stall_timeout=300 rcutree.rcu_exp_stall_timeout=300000 "
          "watchdog_thresh=60 clocksource.verify_n_cpus=0 tsc=nowatchdog "
          "sysrq_always_enabled mitigations=off no_timer_check")
# As leaks.py says it.
LEAK = "leak of "

TAINTS = {5: "bad page", 7: "died", 9: "warned", 14: "soft lockup"}

# Seconds, before the emulator's scale: until the guest speaks, until the device
# is there, until silence means a hang, and beyond a program's own timeout.
BOOT_DEADLINE, LOAD_DEADLINE, SILENCE, GRACE = 30, 15, 15, 10


class Progress:
    """What a person sees while it goes on; stdout is left to the results."""

    def __init__(self):
        self.began = time.monotonic()

    def say(self, text):
        print(f"[{time.monotonic() - self.began:5.0f}s] {text}", file=sys.stderr, flush=True)


def lab(script, *arguments, **variables):
    """Run one of the lab's scripts; its last line of output is the answer."""
    try:
        done = subprocess.run([os.path.join(LAB, script), *arguments], check=False, text=True,
                              stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              env={**os.environ, **variables})
    except OSError as error:
        raise LabError(f"{script}: {error}") from error
    if done.returncode:
        # The script has said why.
        raise LabError("")
    lines = done.stdout.split("\n")
    return lines[-2] if len(lines) > 1 else ""


def run_is_over(guest):
    """After the first failure, if that is all that is wanted: the rest would cost time."""
    run = guest.run
    if not run.fail_fast:
        return False
    if any(t.status == FAIL for p in guest.programs() for t in p.tests):
        run.stopped = True
    elif guest.log.findings and guest.findings_since is None:
        # The test may yet say what it saw, and the kernel go on with its report.
        guest.findings_since = time.monotonic()
    elif guest.findings_since and time.monotonic() - guest.findings_since > 5:
        run.stopped = True
    return run.stopped


class Guest:
    """One boot: runs the tests it is given until they end or the guest does.

    name tells its logs from those of the guests that run beside it; leaves_traces and bare
    are those of own_guest.
    """

    def __init__(self, run, name, items, watcher=None, leaves_traces=False, bare=False):
        self.run = run
        self.leaves_traces = leaves_traces
        self.memmap = "" if bare else run.shape.memmap()
        self.vhca = "" if bare else run.vhca
        self.name = name
        self.todo = list(items)
        self.watcher = watcher
        self.log = KernelLog(watcher)
        self.program = None
        self.program_began = 0
        self.booted = False
        self.loaded = not self.vhca
        self.done = False
        self.stopped = False        # it was enough
        self.findings_since = None
        self.restart = False
        self.ended = None           # why the guest went before it was done
        self.deadline = None
        self.machine = None

    def within(self, seconds):
        self.deadline = time.monotonic() + seconds * self.run.emulator.scale

    def append(self):
        # The suites of the modules are run once.
        suites = "" if self.name == self.run.suites_in else "NO_KUNIT=1"
        return " ".join(filter(None, (self.run.append, self.memmap, suites)))

    def program_of(self, label):
        return self.run.program(label)

    def programs(self):
        """Those that the kernel log may speak of."""
        return self.run.programs

    def go(self):
        run = self.run
        overlay = os.path.join(run.results, f"overlay{self.name}.cpio")
        lab("overlay.sh", overlay, "tests", *(item.line() for item in self.todo),
            VHCA=self.vhca, TREE=run.tree, LAYERS=":".join(run.layers))
        initrd = os.path.join(run.results, f"initrd{self.name}.cpio")
        with open(initrd, "wb") as out:
            for part in (run.base, overlay):
                with open(part, "rb") as data:
                    out.write(data.read())
        os.unlink(overlay)
        self.machine = Machine(run.emulator, run.shape, run.kernel, initrd, self.append(),
                               run.results, self.name)
        run.machines.add(self.machine)
        self.within(BOOT_DEADLINE)
        try:
            self.follow()
        finally:
            self.machine.stop()
            run.machines.discard(self.machine)
            os.unlink(initrd)
        self.settle()

    def follow(self):
        """Until the serial lines have ended, or a deadline has passed."""
        silent_since = time.monotonic()
        ended = set()
        while len(ended) < len(self.machine.channels):
            try:
                channel, line = self.machine.events.get(timeout=0.5)
            except queue.Empty:
                channel = None
            now = time.monotonic()
            if channel and line is None:
                ended.add(channel)
            elif channel == "console":
                self.log.line(line)
            elif channel == "alive":
                silent_since = now
            elif channel == "tests":
                silent_since = now
                self.said(line)
            if self.machine.process.poll() is not None and channel is None:
                break
            if self.watcher and self.watcher.is_over:
                break
            if run_is_over(self):
                self.stopped = True
                self.ended = "stopped after a failure"
                break
            if self.done or self.log.panicked:
                # It powers off by itself; do not wait long.
                if self.deadline is None:
                    self.deadline = now + 20
            elif self.booted and now - silent_since > SILENCE * self.run.emulator.scale:
                self.hang(f"the guest was silent for {now - silent_since:.0f} s")
            if self.deadline is not None and now > self.deadline and not self.ended:
                if self.done or self.log.panicked:
                    break
                what = "boot" if not self.booted else "load" if not self.loaded else \
                    f"end {self.program.short} (its own timeout did not work)" \
                    if self.program else "go on"
                self.hang(f"the guest did not {what} in time")
            if self.ended:
                break

    def hang(self, why):
        """Let the kernel say which tasks are blocked before the machine goes."""
        self.ended = why
        self.machine.ask_who_is_blocked()
        until = time.monotonic() + 4
        while time.monotonic() < until:
            try:
                channel, line = self.machine.events.get(timeout=0.5)
            except queue.Empty:
                continue
            if channel == "console" and line is not None:
                self.log.line(line)

    def said(self, line):
        if not line.startswith("@"):
            if self.program:
                test = self.program.line(line)
                if test:
                    self.saw(test)
            return
        word, *rest = line[1:].split(" ")
        if word == "boot":
            self.booted = True
            self.run.progress.say(f"booted {rest[0]} in {rest[1]} s")
            self.within(LOAD_DEADLINE)
        elif word == "loaded":
            self.loaded = True
            self.run.load_ms = int(rest[0])
            self.run.progress.say(f"mlx5_vhca loaded, uverbs0 there after {rest[0]} ms")
            self.within(LOAD_DEADLINE)
        elif word == "failed":
            self.log.findings.append((BOOT, "failed: " + " ".join(rest)))
            self.loaded = False
            # The tests would all fail for the same reason.
            self.ended = " ".join(rest)
        elif word == "begin":
            self.program = self.program_of(rest[0])
            self.program_began = time.monotonic()
            self.deadline = self.program_began + int(rest[1]) + GRACE * self.run.emulator.scale
        elif word == "taint":
            bits = int(rest[1]) ^ int(rest[2])
            names = [name for bit, name in TAINTS.items() if bits >> bit & 1]
            if names:
                short = rest[0].split(":", 1)[1]
                self.log.findings.append(((short, None), "the kernel is tainted: " +
                                          ", ".join(names)))
        elif word == "leak":
            text = leaks.unexpected(" ".join(rest[1:]), self.run.allowed_leaks, self.run.live)
            if text:
                self.leak(rest[0].split(","), text)
        elif word == "coverage":
            path = os.path.join(self.run.results, f"coverage{self.name}.tar.gz")
            with open(path, "ab") as out:
                out.write(base64.b64decode(rest[0]))
        elif word == "events":
            self.run.recordings.add(rest[0], "".join(rest[1:]))
        elif word == "locks":
            self.log.findings.append(((rest[0].split(":", 1)[1], None),
                                      "lockdep has turned itself off"))
            self.restart = True
        elif word == "end":
            self.end_program(None)
            self.within(LOAD_DEADLINE)
        elif word == "done":
            self.done = True
            if self.leaves_traces:
                self.log.leavings()
            self.deadline = None

    def leak(self, labels, text):
        """Of one of these programs: the last one answers for all."""
        shorts = [label.split(":", 1)[1] for label in labels]
        if len(labels) > 1:
            text += f" (by one of {', '.join(shorts)})"
        self.run.leak_groups[shorts[-1]] = labels
        self.log.findings.append(((shorts[-1], None), text))

    def saw(self, test):
        """A result has come; it is shown at once."""
        self.run.saw(self.program, test)

    def end_program(self, trouble):
        program = self.program
        program.seconds = time.monotonic() - self.program_began
        where, test = self.log.where
        if self.stopped:
            program.stop(test if any(f[0] == (program.short, test)
                                     for f in self.log.findings) else None)
            self.program = None
            return
        if trouble and not program.running and where == program.short and test and \
                not program.find(test):
            # What the program said last may be lost with the guest; the console is not.
            program.running = test
        program.finish(trouble)
        self.program = None
        self.todo.pop(0)

    def settle(self):
        """The guest is gone: whose fault was it, and what does the log add?"""
        run = self.run
        if self.log.panicked:
            run.status = PANICKED
            panic = next((line for _, line in self.log.findings if "Kernel panic" in line), "")
            self.ended = panic or "the kernel panicked"
        elif not self.done and not self.ended:
            self.ended = "the guest ended by itself: " + (self.machine.what_qemu_said() or
                                                         "QEMU said nothing")
        elif self.ended and run.status == 0 and self.booted and self.loaded and \
                not self.stopped:
            run.status = HUNG
        if self.program:
            self.end_program(self.ended or "the guest ended")
        elif self.ended and self.todo and self.booted and not self.stopped:
            # Between two programs, or while the device was being loaded.
            program = self.program_of(self.todo[0].label)
            program.finish(self.ended)
            self.todo.pop(0)
            if not self.loaded:
                for item in self.todo:
                    self.program_of(item.label).finish(self.ended)
                self.todo = []
        self.check_booted()
        run.apply_findings(self.log.findings, self.programs())

    def check_booted(self):
        # One that another's failure has stopped on its way is no failure of the lab's.
        if not self.booted and not self.stopped:
            tail = ""
            if not self.log.panicked:
                log = os.path.join(self.run.results, f"console{self.name}.log")
                tail = f"; see {log}"
            raise LabError(f"the guest does not boot: {self.ended}{tail}")


class OwnGuest(Guest):
    """The guest of one test that may take it down; its verdict is own_guest's."""

    def __init__(self, run, own, round_, state):
        item = Item(own.program, f"-r {own.test}" if own.test else "", round_)
        super().__init__(run, f"-{own.name}" + (f"@{round_}" if round_ else ""), [item],
                         own_guest.Watcher(own))
        self.own = own
        self.state = state
        self.private = Program(self.todo[0].label)

    def append(self):
        return f"{super().append()} OWN_GUEST=1"

    def program_of(self, label):
        # What other guests have found of the same program is none of this one's.
        return self.private

    def programs(self):
        return [self.private]

    def saw(self, test):
        # What it means is known when the guest has gone.
        pass

    def settle(self):
        """Nothing but the expected outcome counts, if it was seen."""
        if not self.watcher.seen:
            super().settle()
            test = self.private.broken or self.private.tests[-1]
            if all(t.status == PASS for t in self.private.tests):
                test.status, test.reason = self.own.issue.verdict(False, self.state)
                if test.reason.startswith("note: "):
                    test.lines.append(test.reason)
        else:
            self.check_booted()
            # What the guest said last may be lost, so the name is not taken from there.
            status, reason = self.own.issue.verdict(True, self.state)
            self.private.tests = [Test(self.own.name, status, reason,
                                       [self.watcher.outcome, self.watcher.named])]
            if self.program:
                self.private.seconds = time.monotonic() - self.program_began
        self.todo = []


class SecondGuest(Guest):
    """A guest in which tests run again, each by itself; what they say is kept apart from what they
    said before.

    again: pairs of a program and the name of a test.
    """

    def __init__(self, run, name, again):
        super().__init__(run, name, [Item(program.name.split("@")[0], f"-r {test}", number)
                                     for number, (program, test) in enumerate(again, 1)])
        self.of = {item.label: pair for item, pair in zip(self.todo, again)}
        self.made = {}

    def program_of(self, label):
        return self.made.setdefault(label, Program(label))

    def programs(self):
        return list(self.made.values())


class LeakGuest(SecondGuest):
    """The guest in which a program that leaks is run again; kmemleak speaks after each test."""

    def __init__(self, run, program, again):
        super().__init__(run, f"-leaks-{program.short.split('@')[0]}", again)

    def append(self):
        return f"{super().append()} LEAK_SECONDS=0"

    def leaks(self):
        """[(program, name of a test, what was found after it)]."""
        return [(*self.of[label], test.reason) for label, program in self.made.items()
                for test in program.tests if LEAK in test.reason]


class EventGuest(SecondGuest):
    """The guest in which tests that have failed run once more, with their events recorded: what
    they say there is told beside the events, and is no verdict."""

    def append(self):
        return f"{super().append()} RECORD=all"

    def saw(self, test):
        pass

    def settle(self):
        if self.program:
            self.end_program(self.ended or "the guest ended")

    def attach(self):
        """Each failed test gets the events of its second run."""
        for label, (program, name) in self.of.items():
            test = program.find(name)
            again = self.made[label].find(name) if label in self.made else None
            if again is None:
                test.lines.append("no events: in a second run it gave no result")
                continue
            how = "failed as well" if again.status == FAIL else f"had the result {again.status}"
            self.run.recordings.attach_again(label, program, test, how)


class Run:
    """A whole run: one lane, one or more boots."""

    # How many tests that have failed run once more for their events, and how long the program
    # may have taken, in seconds.
    RECORDED_TESTS, RECORDED_SECONDS = 5, 120

    # From how many programs on a guest more is worth the time that it boots.
    MANY_PROGRAMS = 12

    def __init__(self, arguments):
        self.progress = Progress()
        self.status = 0
        self.programs = []
        # Guarded by the lock where guests side by side add to them.
        self.lock = threading.RLock()
        self.machines = set()
        self.load_ms = None
        self.boots = lane(arguments.kernel)
        self.lane = self.boots.name
        os.environ["KERNEL"] = self.boots.series
        self.tree = arguments.tree or os.path.join(
            os.environ.get("BUILD", os.path.join(TOP, "build")), self.boots.series)
        self.shape = Shape(arguments.memory or self.boots.memory_mib, arguments.cpus,
                           arguments.cpu, arguments.device, arguments.object)
        self.vhca = "" if arguments.no_vhca else \
            (f"bar_phys={self.shape.window():#x} " + os.environ.get("VHCA", "")).strip()
        stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
        base = arguments.results or os.path.join(TOP, "results")
        self.suites_in = None   # the name of the guest in which KUnit runs
        self.leak_groups = {}   # last of a group, short: labels of those that leak together
        self.results = os.path.join(base, f"{self.lane}-{stamp}-{os.getpid()}")
        os.makedirs(self.results)
        latest = os.path.join(base, "latest")
        if os.path.islink(latest):
            os.unlink(latest)
        if not os.path.exists(latest):
            os.symlink(os.path.basename(self.results), latest)
        self.at_least = arguments.at_least
        self.floor = None if arguments.tree else os.path.join(TOP, "selftests", "lanes")
        self.wanted = arguments.tests
        self.layers = [os.path.abspath(layer) for layer in arguments.layer]
        self.filter = arguments.filter
        self.repeat = arguments.repeat
        self.stress = arguments.stress
        self.jobs = arguments.jobs
        self.with_fixes = [i for i in arguments.fixed.split(",") if i]
        self.fail_fast = arguments.fail_fast
        self.stopped = False
        self.seed = arguments.seed if arguments.seed is not None else random.randrange(1, 1 << 31)
        if not arguments.tree:
            lab("build.sh")
        self.emulator = Emulator(lab("rootfs.sh"), os.environ.get("QEMU"))
        self.recordings = record.Recordings(self.results, record.drawer(
            self.emulator.command, os.path.join(self.tree, "user", "uobjscope")))
        if arguments.scale:
            self.emulator.scale = arguments.scale
        self.emulator.scale *= self.boots.slowness
        self.kernel = arguments.vmlinuz or arguments.image or lab("kernel.sh", "vmlinuz")
        # Of another kernel neither is known.
        self.release = "" if arguments.vmlinuz else lab("kernel.sh", "version")
        self.source = "" if arguments.vmlinuz else lab("kernel.sh", "source")
        self.base = lab("initramfs.sh")
        self.append = " ".join(filter(None, (
            "console=ttyS0 loglevel=7 panic=-1 oops=panic", TUNING,
            self.emulator.append, self.boots.append,
            os.environ.get("APPEND", ""))))
        self.read_known_issues()
        # What the kernel does not know of its command line is init's environment, and so
        # the tests' own.
        self.append += f" SEED={self.seed}"
        if self.stress:
            self.append += f" STRESS={self.stress}"
        for state in (known_issues.FIXED, known_issues.LIVE):
            ids = [i for i, issue in self.issues.items()
                   if issue.source_says(self.source) == state]
            if ids:
                self.append += f" KNOWN_{state.upper()}={','.join(ids)}"

    def read_known_issues(self):
        """What the installed tests bring with them of known faults."""
        self.issues, self.own_tests, self.allowed_leaks = {}, [], []
        for collection in dict.fromkeys(a.split(":", 1)[0] for a in self.available()):
            folder = os.path.join(self.tree, "install", collection)
            issues = known_issues.load(os.path.join(folder, "known_issues"))
            self.issues.update(issues)
            self.own_tests += own_guest.load(folder, collection, issues)
            self.allowed_leaks += leaks.load(folder, issues)
        known_issues.mark_fixed(self.issues, self.with_fixes)
        self.live = {i for i, issue in self.issues.items()
                     if issue.state(self.release, self.source) == known_issues.LIVE}

    def program(self, name):
        with self.lock:
            for program in self.programs:
                if program.name == name:
                    return program
            program = Program(name)
            self.programs.append(program)
            return program

    def saw(self, program, test):
        word = {PASS: "ok", FAIL: "NOT OK", SKIP: "skip", XFAIL: "known"}[test.status]
        of = f"/{program.plan}" if program.plan else ""
        reason = f" ({test.reason})" if test.reason else ""
        self.progress.say(f"{word:>6} {len(program.tests):>3}{of} {program.short}.{test.name}{reason}")

    def apply_findings(self, findings, programs):
        for (name, test_name), line in findings:
            program = next((p for p in programs if p.short == name), None)
            if program is None:
                program = self.program("guest:boot")
            test = program.find(test_name) if test_name else program.broken
            if test is None:
                test = program.find("kernel-log")
                if test is None:
                    test = Test("kernel-log", FAIL)
                    program.tests.append(test)
            if "kernel log: " not in test.reason and line not in test.reason:
                test.fail(f"kernel log: {line}")
            test.lines.append(line)

    def available(self):
        path = os.path.join(self.tree, "install", "kselftest-list.txt")
        try:
            with open(path, encoding="utf-8") as lines:
                return lines.read().split()
        except OSError as error:
            raise LabError(f"no list of tests: {error}") from error

    def go(self):
        for note in self.emulator.notes:
            self.progress.say("note: " + note)
        self.progress.say(f"SEED={self.seed}" + (f" STRESS={self.stress}" if self.stress else ""))
        items, own = select(
            self.available(), self.wanted, self.filter, self.own_tests,
            lambda programs: list_tests(LAB, os.path.join(self.tree, "install"), programs))
        if not self.wanted and not self.filter:
            items = self.leave_out(items)
        bare = {own.program for own in self.own_tests if own.is_bare}
        loads = self.vhca and any(item.program not in bare for item in items)
        if loads:
            self.programs.append(Program("guest:boot"))
        alone = rounds([Item(o.program, o.name) for o in own], self.repeat)
        groups = list(self.groups(items))
        # KUnit goes with most programs, or where there are none of those with the first.
        self.suites_in = next((n for n, of in sorted(groups, key=lambda g: g[0] != "")
                               if of[0].program not in bare), None)
        try:
            run_all([functools.partial(self.run_group, name, rounds(group, self.repeat))
                     for name, group in groups] +
                    [functools.partial(self.run_alone, next(
                        o for o in own if (o.program, o.name) == (item.program, item.arguments)),
                        item) for item in alone], self.jobs)
            self.narrow_leaks()
            self.record_failures()
        finally:
            for machine in list(self.machines):
                machine.stop()
        self.sort(rounds(items, self.repeat) + alone)
        boot = next((p for p in self.programs if p.name == "guest:boot"), None)
        if boot is not None and loads:
            boot.tests.insert(0, Test("probe", PASS if self.load_ms is not None else FAIL,
                                      "" if self.load_ms is not None else "no uverbs device"))
        console = os.path.join(self.results, f"console{self.suites_in}.log")
        if self.source and self.suites_in is not None and os.path.exists(console):
            at = 1 if boot is not None else 0
            self.programs[at:at] = kunit.programs(console, self.results, self.source)
        self.check_complete()
        return self.report()

    def leave_out(self, items):
        """The items that this lane has any use for; the others are one skip each."""
        for item in items:
            reason = self.boots.leaves_out.get(short(item.program))
            if reason:
                program = self.program(item.label)
                program.tests.append(Test(program.short, SKIP, reason))
        return [i for i in items if short(i.program) not in self.boots.leaves_out]

    def narrow_leaks(self):
        """Whose test was it that leaked?  Asked of one program, or one group of programs after
        which kmemleak spoke, as it takes long."""
        leaky = [p for p in self.programs for t in p.tests
                 if t.name == "kernel-log" and f"kernel log: {LEAK}" in t.reason]
        if not leaky or self.stopped or self.repeat > 1:
            return
        program = leaky[0]
        again = self.suspects(program)
        if not again:
            return
        self.progress.say(f"{program.short} leaks, or what was before it: {len(again)} tests "
                          "again, one by one")
        guest = LeakGuest(self, program, again)
        guest.go()
        for suspect, name, reason in guest.leaks():
            suspect.find(name).fail(reason)
        for other in dict.fromkeys(p.short for p in leaky[1:]):
            self.progress.say(f"{other} leaks as well: make run TESTS={other} tells which test")

    def suspects(self, program):
        """[(program, name of a test)] of all that may have leaked what was found after one."""
        labels = self.leak_groups.get(program.short, [program.name])
        return [(p, t.name) for p in self.programs
                if p.name in labels and not is_script(p.name.split("@")[0])
                for t in p.tests if t.status in (PASS, XFAIL)]

    def record_failures(self):
        """A test that has failed brings its events.  To record costs time, so it is done in a
        second run of these tests, and only of the first few: where many fail, it is for one
        reason."""
        if self.stopped or self.repeat > 1 or "RECORD=" in self.append or not self.vhca or \
                not os.path.exists(os.path.join(self.tree, "modules", "uobjscope.ko")) and \
                not os.path.exists(os.path.join(self.tree, "modules", "kernel", "uobjscope",
                                                "uobjscope.ko")):
            return
        alone = {own.name for own in self.own_tests}
        listed = set(self.available())
        failed = [(program, test.name) for program in self.programs for test in program.tests
                  if test.status == FAIL and program.name in listed and test.name not in alone and
                  test.name not in ("kernel-log", program.short) and
                  program.seconds < self.RECORDED_SECONDS][:self.RECORDED_TESTS]
        if not failed:
            return
        self.progress.say("once more, with events: " +
                          " ".join(f"{p.short}.{name}" for p, name in failed))
        guest = EventGuest(self, "-events", failed)
        try:
            guest.go()
        except LabError as error:
            self.progress.say(f"no events: {error}")
        guest.attach()

    def sort(self, items):
        """As they were asked for, whichever guest was the first to say something."""
        order = {item.label: n for n, item in enumerate(items)}
        self.programs.sort(key=lambda program: order.get(program.name, -1))
        rank = {own.name: n for n, own in enumerate(self.own_tests)}
        for program in self.programs:
            if program.name in {own.program for own in self.own_tests if own.test}:
                program.tests.sort(key=lambda test: rank.get(test.name, -1))

    def groups(self, items):
        """(name, items that share a guest): most of them, then each of those that leave
        traces.  If guests run side by side, the scripts, which have the drivers come and
        go, have one for themselves, and the programs two, where they are many: the second
        begins when any other guest ends, so that nobody waits for the slowest one."""
        alone = {own.program for own in self.own_tests if own.leaves_traces}
        shared = [i for i in items if i.program not in alone]
        scripts = [i for i in shared if is_script(i.program)] if self.jobs > 1 else []
        if len(scripts) == len(shared):
            scripts = []
        if scripts:
            yield "-scripts", scripts
        programs = [i for i in shared if i not in scripts]
        # One after the other in turn: neighbours are alike, and take alike.
        guests = 2 if self.jobs > 1 and len(programs) >= self.MANY_PROGRAMS else 1
        for n, name in enumerate(("", "-more")[:guests]):
            if programs[n::guests]:
                yield name, programs[n::guests]
        for program in dict.fromkeys(i.program for i in items if i.program in alone):
            yield f"-{program.split(':', 1)[1]}", [i for i in items if i.program == program]

    def run_group(self, name, todo):
        alone = {own.program for own in self.own_tests if own.leaves_traces}
        bare = {own.program for own in self.own_tests if own.is_bare}
        while todo and not self.stopped:
            self.progress.say(f"booting {self.lane} with {self.emulator.describe()}")
            guest = Guest(self, name, todo, leaves_traces=todo[0].program in alone,
                          bare=todo[0].program in bare)
            guest.go()
            if guest.todo == todo and not guest.ended:
                raise LabError("the guest ran none of its tests")
            todo = guest.todo
            if todo:
                self.progress.say(f"a fresh guest for the {len(todo)} programs that are left")

    def run_alone(self, own, item):
        """A test with a guest of its own, for about eight seconds of booting."""
        if self.stopped:
            return
        program = self.program(item.label)
        state = own.issue.state(self.release, self.source)
        if state == known_issues.LIVE and not own.issue.is_observable(self.abilities()):
            test = Test(own.name, *own.issue.hidden())
            with self.lock:
                program.tests.append(test)
            self.saw(program, test)
            return
        self.progress.say(f"a guest of its own for {program.short}.{own.name}")
        guest = OwnGuest(self, own, item.round, state)
        guest.go()
        with self.lock:
            program.tests += guest.private.tests
            program.seconds += guest.private.seconds
        for test in guest.private.tests:
            self.saw(program, test)

    def abilities(self):
        """What this lane's kernel shows that others do not."""
        return self.boots.abilities(self.append)

    def check_complete(self):
        """The last result says that all is there: a log cut short lacks it, and a run in
        which all is skipped is never green."""
        program = self.program("lane:complete")
        program.tests.append(Test("complete", PASS))
        passed = count(self.programs)[0]
        if passed < self.at_least:
            program.tests[0].fail(f"{passed} passed, expected at least {self.at_least}")
        if self.wanted or self.filter or self.repeat > 1 or self.stopped or not self.floor:
            return
        with open(self.floor, encoding="utf-8") as lines:
            words = [line.split("#", 1)[0].split() for line in lines]
        floor = {w[0]: int(w[1]) for w in words if w}
        if passed < floor.get(self.lane, 0):
            program.tests[0].fail(f"{passed} tests passed, lane {self.lane} has at least "
                                  f"{floor[self.lane]} (selftests/lanes)")

    def report(self):
        self.recordings.attach(self.programs)
        for name, lines in (("kselftest.tap", reports.kselftest(self.programs)),
                            ("results.ktap", reports.ktap(self.programs)),
                            ("results.tap", reports.tap(self.programs)),
                            ("junit.xml", reports.junit(self.programs, self.lane)),
                            ("summary.txt", reports.table(self.programs))):
            with open(os.path.join(self.results, name), "w", encoding="utf-8") as out:
                out.writelines(line + "\n" for line in lines)
        totals = count(self.programs)
        with open(os.path.join(self.results, "totals.json"), "w", encoding="utf-8") as out:
            json.dump({"lane": self.lane, "passed": totals[0], "failed": totals[1],
                       "skipped": totals[2], "known": known_faults(self.programs),
                       "flaky": [name for name, _, _ in flaky_tests(self.programs)],
                       "failures": failures(self.programs),
                       "tests": all_tests(self.programs),
                       "seed": self.seed, "load_ms": self.load_ms, "status": self.status}, out)
        if totals[1] and not self.status:
            self.status = FAILED
        for line in reports.kselftest(self.programs):
            print(line)
        print()
        for line in reports.table(self.programs):
            print(line)
        print(f"\nlane {self.lane}, {self.emulator.describe()}; results in "
              f"{os.path.relpath(self.results)}")
        if os.path.isdir(self.recordings.folder):
            print("events and timelines: "
                  f"{os.path.relpath(self.recordings.folder)}")
        for note in self.emulator.notes:
            print("note: " + note)
        if self.status == PANICKED:
            print("the guest's kernel panicked")
        elif self.status == HUNG:
            print("the guest hung")
        for note in notes_of(self.programs):
            print("note: " + note)
        for name, failed, of in flaky_tests(self.programs):
            print(f"flaky: {name} failed in {failed} of {of} rounds")
        print(f"SEED={self.seed}")
        known = known_faults(self.programs)
        if known:
            print("known faults seen: " + " ".join(known))
        print(closing_line(*totals), flush=True)
        return self.status


def positive(text):
    """A whole number from 1 to 2^31 - 1, as an option's value."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 0 < number < 1 << 31:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {(1 << 31) - 1}, "
                                         f"seen '{text}'")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kernel", default=os.environ.get("KERNEL") or "7.2",
                        help="7.2, 7.3, or a lane: " + ", ".join([*SHORT, *LANES]))
    parser.add_argument("--results", help="where to make the results folder")
    parser.add_argument("--tree", help="folder with install/ and modules/, instead of building")
    parser.add_argument("--layer", action="append", default=[], metavar="DIR",
                        help="folder whose files the guest has as well (may be repeated)")
    parser.add_argument("--fixed", default="", metavar="ID[,ID...]",
                        help="known faults that this tree or a layer has the fix of")
    parser.add_argument("--at-least", type=int, default=0, metavar="N",
                        help="fail if fewer tests pass")
    parser.add_argument("--vmlinuz", help="the image of another kernel")
    parser.add_argument("--image", help="another image of this kernel")
    parser.add_argument("--memory", type=int, help="MiB of the guest (default: the lane's)")
    parser.add_argument("--cpus", type=int, default=2, help="processors of the guest")
    parser.add_argument("--cpu", help="model of them, as QEMU calls it")
    parser.add_argument("--device", action="append", default=[],
                        help="one more device, as QEMU calls it")
    parser.add_argument("--object", action="append", default=[],
                        help="what such a device refers to, as QEMU calls it")
    parser.add_argument("--no-vhca", action="store_true", help="do not load any driver")
    parser.add_argument("--scale", type=int, help="factor of all deadlines of the guest")
    parser.add_argument("--filter", default=os.environ.get("FILTER"), metavar="REGEX",
                        help="only tests whose name matches, of all programs or of those named")
    parser.add_argument("--repeat", type=positive, default=os.environ.get("REPEAT") or 1,
                        metavar="N", help="run the selection N times, in one boot")
    parser.add_argument("--seed", type=positive, default=os.environ.get("SEED") or None,
                        metavar="N", help="SEED of the guest's programs (default: random)")
    parser.add_argument("--stress", type=positive, default=os.environ.get("STRESS") or None,
                        metavar="MINUTES", help="STRESS of the guest's programs: how long "
                        "those go on that can; all have as much more time")
    parser.add_argument("--fail-fast", action="store_true",
                        help="end the run with the first failure")
    parser.add_argument("--jobs", type=positive, metavar="N",
                        default=os.environ.get("JOBS") or min(2, os.cpu_count() or 1),
                        help="guests side by side (default: 2, on one processor 1)")
    parser.add_argument("tests", nargs="*", metavar="PROGRAM[:TEST]")
    try:
        arguments = parser.parse_args()
    except SystemExit as end:
        # Of its own statuses 2 means another thing here.
        return LAB_BROKEN if end.code else 0
    try:
        return Run(arguments).go()
    except LabError as error:
        if str(error):
            print(f"uobjscope: {error}", file=sys.stderr)
        return LAB_BROKEN
    except KeyboardInterrupt:
        print("uobjscope: interrupted", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
