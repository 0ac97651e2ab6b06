#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Does the suite kill the faults that it is for?

Each mutant is a patch that brings one fault back.  It is built into the kernel's own
modules, a guest with these runs the suite, and what the suite says is the verdict.  One
of what is built into the kernel goes into the image of the debug kernel of that series.
Before that a guest with the same modules, unchanged, must be all green, and afterwards
each test that has killed must pass three times without its mutant.  What survives is tried
on the debug kernel, if that is built.

Exit status: 0 all were killed, 1 one survived or a killer fails by itself, 125 the
unchanged modules could not be built or are not green.
"""

import argparse
import functools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from patches import BuiltIn, Refused, Workshop, load, make_tree, modules_in

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "scripts", "runner"))

from jobs import make_results, print_jobs, read_earlier                 # noqa: E402
from lanes import lane                                                  # noqa: E402
from machine import LabError                                            # noqa: E402
from selection import BY_NAME                                           # noqa: E402
from side_by_side import run_all                                        # noqa: E402

KILLED, KERNEL, SURVIVED = "killed", "killed by the kernel's report", "survived"
GONE = "killed by a guest that went, no test before"
UNSOUND = "killer fails without it"
# What an earlier run need not be asked again.
FOUND = (KILLED, KERNEL, SURVIVED)
# What a reason begins with, where no test has asserted it.
REPORT = re.compile(r"kernel log: |Kernel panic|the kernel is tainted|the guest |the kernel panicked"
                    r"|TIMEOUT|no result|not run: ")
# They cost minutes, or guests of their own, or look at the device only, and see nothing of a
# user object that others do not see.
LEFT_OUT = ("idle.sh", "leaks.sh", "observe_events.sh", "window.sh", "known_crash",
            "known_crash_importer", "device_commands", "device_commands.sh", "device_queues",
            "device_ledger", "device_reach", "data_path_errors", "data_path.sh")
# Long for what they find that others have not found, so for every mutant alike after those.
LATE = ("services", "faults", "observe", "known_importer", "observe_holders.sh", "order",
        "observe.sh", "fail_command", "fail_nth", "known")
# These run last, for every mutant alike: they look at the device, or are slow.
LAST = ("storms", "data_path", "fatal", "recover.sh", "presence.sh", "two_hcas.sh", "cycles.sh",
        "reload.sh")
# What the guests of each part are called by.
PARTS = ("", "-late", "-last")
# What a guest has beside what its lane has: a fault that shows in coming and going shows soon.
APPEND = "ROUNDS=5"


def say(text):
    print(text, file=sys.stderr, flush=True)


def lab(script, *arguments, **variables):
    done = subprocess.run([os.path.join(TOP, script), *arguments], check=False, text=True,
                          stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          env={**os.environ, **variables})
    if done.returncode:
        raise LabError("")
    return done.stdout.rstrip("\n").split("\n")[-1]


class Trial:
    """One mutant, or none, and what came of it."""

    # Of its record, beside the name.
    FIELDS = ("patch", "verdict", "reason", "killers", "seconds", "rechecked")

    def __init__(self, mutant):
        self.mutant = mutant
        self.verdict = self.reason = ""
        self.killers = []
        self.seconds = 0.0
        self.rechecked = False

    def record(self):
        return {"mutant": self.mutant.name, "patch": self.mutant.digest,
                "verdict": self.verdict, "reason": self.reason, "killers": self.killers,
                "seconds": round(self.seconds, 1), "rechecked": self.rechecked}

    def take(self, record):
        """What an earlier run found, if it was of this patch and found something: a guest that
        went says as much of the machine as of the mutant."""
        if record["patch"] != self.mutant.digest or record["verdict"] not in FOUND:
            return
        self.verdict, self.reason = record["verdict"], record["reason"]
        self.killers, self.seconds = record["killers"], record["seconds"]
        self.rechecked = record["rechecked"]


class Score:
    """All of a run."""

    def __init__(self, arguments, results=None):
        self.arguments = arguments
        os.environ["KERNEL"] = lane(arguments.kernel).series
        self.built = lab("scripts/lab/build.sh")
        self.source = lab("scripts/lab/kernel.sh", "source")
        self.base = lab("scripts/mutants/base.sh")
        self.results = results or make_results("mutants")
        if results:
            os.makedirs(results)
        with open(os.path.join(self.built, "install", "kselftest-list.txt"),
                  encoding="utf-8") as lines:
            there = [line.split(":", 1)[1] for line in lines.read().split()]
        there = [p for p in there if p not in LEFT_OUT and not p.startswith(BY_NAME)]
        self.parts = [arguments.tests] if arguments.tests else [
            [p for p in there if p not in LATE + LAST],
            [p for p in LATE if p in there],
            [p for p in LAST if p in there]]
        self.lock = threading.Lock()
        self.debug_built = None
        self.began = time.monotonic()
        self.trials = []
        self.known = 0      # of these, from earlier runs
        self.workshops = []

    def boot(self, kernel, tree, name, *arguments):
        """What the runner says of a guest with that tree."""
        results = os.path.join(self.results, name)
        os.makedirs(results, exist_ok=True)
        with open(os.path.join(results, "output.txt"), "w", encoding="utf-8") as out:
            subprocess.run([sys.executable, os.path.join(TOP, "scripts/runner/run.py"),
                            "--kernel", kernel, "--tree", tree, "--results", results,
                            "--seed", str(self.arguments.seed), "--jobs", "1", *arguments],
                           check=False, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                           env={**os.environ, "APPEND": f"{APPEND} {os.environ.get('APPEND', '')}"})
        totals = os.path.join(results, "latest", "totals.json")
        if not os.path.exists(totals):
            return None
        with open(totals, encoding="utf-8") as data:
            return json.load(data)

    def run(self, folder, modules, name, *arguments):
        """What the runner says of a guest with these modules of a folder."""
        with tempfile.TemporaryDirectory(prefix="uobjscope-mutant-") as tree:
            make_tree(self.built, folder, modules, tree)
            return self.boot(self.arguments.kernel, tree, name, *arguments)

    def run_image(self, workshop, files, name, *arguments):
        """The same of a guest whose kernel has these files of the workshop built in."""
        plain = lane(self.arguments.kernel).series.removesuffix("-debug")
        series = f"{plain}-debug"
        with self.lock:
            self.debug_built = self.debug_built or lab("scripts/lab/build.sh", KERNEL=series)
        with tempfile.TemporaryDirectory(prefix="uobjscope-mutant-") as where:
            changed = os.path.join(where, "changed")
            workshop.take_changed(files, changed)
            log = os.path.join(self.results, f"{name}.image")
            with open(log, "w", encoding="utf-8") as out:
                if subprocess.run([os.path.join(TOP, "scripts/mutants/make-image.sh"), where,
                                   changed], check=False, stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=out, env={**os.environ, "KERNEL": series}).returncode:
                    raise Refused("does not build", f"see {log}")
            return self.boot(f"debug-{plain}", self.debug_built, name, "--image",
                             os.path.join(where, "vmlinuz"), *arguments)

    def try_one(self, workshop, trial):
        mutant = trial.mutant
        begun = time.monotonic()
        try:
            try:
                modules = workshop.build(mutant, os.path.join(self.results,
                                                              f"{mutant.name}.build"))
                if self.arguments.build_only:
                    raise Refused("not tried", "built, as asked")
                boot = functools.partial(self.run, workshop.folder, modules)
            except BuiltIn as built_in:
                boot = functools.partial(self.run_image, workshop, built_in.files)
            for part, programs in zip(PARTS, self.parts):
                said = boot(mutant.name + part,
                            *([] if self.arguments.all else ["--fail-fast"]), *programs)
                self.judge(trial, said)
                if trial.verdict != SURVIVED and not self.arguments.all:
                    break
        except Refused as refused:
            trial.verdict, trial.reason = refused.verdict, refused.reason
        finally:
            workshop.restore(mutant)
        trial.seconds = time.monotonic() - begun
        self.tell(trial)

    @staticmethod
    def judge(trial, said):
        if said is None:
            # Not even the drivers came up; nothing was tested by name.
            trial.verdict, trial.reason = GONE, "the guest does not come up"
            return
        # What is found when the guest ends is told of its boot, and came last.
        failures = sorted((f for f in said["failures"] if not f["test"].startswith("complete.")),
                          key=lambda failure: failure["test"].startswith("boot."))
        if trial.killers and not failures:
            return      # with ALL=1, by what ran before
        asserted = [f for f in failures if not REPORT.match(f["reason"])]
        # The first is what counts, and a program's own name is no test.
        if asserted and asserted[0] is failures[0] or len(asserted) > 1:
            first = asserted[0]
            trial.verdict = KILLED
        elif failures:
            first = failures[0]
            trial.verdict = KERNEL if "kernel log" in first["reason"] else GONE
        else:
            trial.verdict = SURVIVED
            return
        if trial.killers:
            trial.killers += [f["test"] for f in (asserted or failures)]
            return
        trial.killers = [f["test"] for f in (asserted or failures)]
        trial.reason = f"{first['test']}: {first['reason']}"

    def tell(self, trial):
        with self.lock:
            done = sum(bool(t.verdict) for t in self.trials)
            each = (time.monotonic() - self.began) / max(done - self.known, 1)
            left = each * (len(self.trials) - done) / 60
            say(f"[{time.monotonic() - self.began:5.0f}s] {done}/{len(self.trials)} "
                f"{trial.mutant.name}: {trial.verdict} in {trial.seconds:.0f} s"
                f"{': ' + trial.reason if trial.reason else ''}; "
                f"some {left:.0f} min left")
            self.write()

    def write(self):
        """After each, so that an interrupted run leaves what it knows."""
        with open(os.path.join(self.results, "mutants.json"), "w", encoding="utf-8") as out:
            json.dump({"kernel": self.arguments.kernel, "seed": self.arguments.seed,
                       "programs": [p for part in self.parts for p in part],
                       "mutants": [t.record() for t in self.trials if t.verdict]}, out, indent=1)
            out.write("\n")

    def remember(self, folder, programs, records):
        """Take over what an earlier run of the same programs left.  Of two that know a
        mutant, the later one that is named counts."""
        ours = [p for part in self.parts for p in part]
        if programs != ours:
            raise LabError(f"RESUME={folder} is of other programs: " +
                           " ".join(sorted(set(programs) ^ set(ours)) or ["another order"]))
        for trial in self.trials:
            if trial.mutant.name in records:
                trial.take(records[trial.mutant.name])

    def run_unchanged(self, name, *arguments):
        """What the runner says without any mutant.  A workshop may have one in its modules
        even when the text is as it was."""
        return self.run(self.base, modules_in(self.base), name, *arguments)

    def baseline(self):
        say("the unchanged modules must be green first")
        for part, programs in zip(PARTS, self.parts):
            name = f"unchanged{part}"
            said = self.run_unchanged(name, *programs)
            if said is None or said["failed"]:
                names = [f"{f['test']}: {f['reason']}" for f in (said or {}).get("failures", [])]
                raise LabError("the suite is not green with the unchanged modules: " +
                               ("; ".join(names) or f"see {self.results}/{name}"))
            say(f"[{time.monotonic() - self.began:5.0f}s] {name}: {said['passed']} passed")

    def recheck(self):
        """Those that killed, three times without any mutant."""
        killers = sorted({t.killers[0] for t in self.trials
                          if t.verdict == KILLED and not t.rechecked})
        if not killers:
            return
        say(f"{len(killers)} tests that killed must pass three times without a mutant")
        expression = "^(" + "|".join(re.escape(k) for k in killers) + ")$"
        said = self.run_unchanged("again", "--filter", expression, "--repeat", "3")
        if said is None:
            raise LabError(f"the tests that killed cannot be run again: see {self.results}/again")
        failed = {re.sub(r"@\d+", "", f["test"]) for f in said["failures"]}
        for trial in self.trials:
            if trial.verdict != KILLED:
                continue
            trial.rechecked = True
            if trial.killers[0] in failed:
                trial.verdict = UNSOUND

    def stage(self, baseline):
        """Try with one kernel all of which nothing is known."""
        left = [t for t in self.trials if not t.verdict]
        if not left:
            self.recheck()
            self.write()
            return
        with tempfile.TemporaryDirectory(prefix="uobjscope-mutants-") as where:
            for n in range(min(self.arguments.jobs, len(left))):
                self.workshops.append(Workshop(
                    self.base, self.source, os.path.join(where, str(n)),
                    os.path.join(TOP, "scripts", "mutants", "make.sh")))
            if baseline:
                self.baseline()
            self.began = time.monotonic()
            free = list(self.workshops)

            def take(trial):
                with self.lock:
                    workshop = free.pop()
                try:
                    self.try_one(workshop, trial)
                finally:
                    free.append(workshop)

            run_all([lambda t=t: take(t) for t in left], len(self.workshops))
            self.recheck()
        self.write()

    def on_debug_kernel(self):
        """What has survived may be for a sanitizer to see.  The tests that kill there are
        tried without a mutant as well, which is all that is asked of that kernel."""
        left = [t for t in self.trials if t.verdict == SURVIVED]
        plain = lane(self.arguments.kernel).series
        if not left or plain.endswith("-debug"):
            return
        names = " ".join(t.mutant.id for t in left)
        there = subprocess.run([os.path.join(TOP, "scripts/lab/kernel.sh"), "is-there"],
                               check=False, stdin=subprocess.DEVNULL,
                               env={**os.environ, "KERNEL": f"{plain}-debug"})
        if there.returncode:
            say(f"not tried on the debug kernel, which is not built (make debug): {names}")
            return
        say(f"on the debug kernel: {names}")
        arguments = argparse.Namespace(**{**vars(self.arguments), "kernel": f"debug-{plain}"})
        debug = Score(arguments, os.path.join(self.results, "debug"))
        debug.trials = [Trial(t.mutant) for t in left]
        debug.stage(baseline=False)
        for trial, again in zip(left, debug.trials):
            trial.seconds += again.seconds
            if again.verdict != SURVIVED:
                trial.verdict, trial.killers = again.verdict, again.killers
                trial.reason = f"on the debug kernel: {again.reason}"
        self.write()

    def go(self, mutants, earlier):
        self.trials = [Trial(m) for m in mutants]
        for folder, programs, records in earlier:
            self.remember(folder, programs, records)
        self.known = sum(bool(t.verdict) for t in self.trials)
        self.stage(baseline=not self.arguments.build_only)
        self.on_debug_kernel()
        return self.report()

    def report(self):
        lines = [f"{t.mutant.name:44} {t.verdict:14} {t.seconds:5.0f} s  {t.reason}"
                 for t in self.trials]
        counts = {}
        for trial in self.trials:
            counts[trial.verdict] = counts.get(trial.verdict, 0) + 1
        tried = [t.seconds for t in self.trials if t.killers]
        lines.append("")
        lines += [f"{count:4} {verdict}" for verdict, count in sorted(counts.items())]
        if tried:
            lines.append(f"median of those killed: {statistics.median(tried):.0f} s")
        with open(os.path.join(self.results, "table.txt"), "w", encoding="utf-8") as out:
            out.writelines(line + "\n" for line in lines)
        for line in lines:
            print(line)
        passed = counts.get(KILLED, 0) + counts.get(KERNEL, 0) + counts.get(GONE, 0)
        failed = counts.get(SURVIVED, 0) + counts.get(UNSOUND, 0)
        print(f"results in {os.path.relpath(self.results)}")
        print(f"{passed} passed, {failed} failed, {len(self.trials) - passed - failed} skipped",
              flush=True)
        return 1 if failed else 0


def recorded(folder, kernel):
    """The programs of an earlier run with that kernel, and its records by mutant."""
    earlier, records = read_earlier(folder, "mutants", "mutant", Trial.FIELDS)
    try:
        theirs, programs = earlier["kernel"], list(earlier["programs"])
    except (KeyError, TypeError) as error:
        raise LabError(f"RESUME={folder} is not what make mutants writes") from error
    if theirs != kernel:
        raise LabError(f"RESUME={folder} is of KERNEL={theirs}, not of {kernel}")
    return programs, records


def emit(mutants, arguments):
    """Each job has its own baseline, so that few are better than many."""
    print_jobs(arguments.list, "mutants", "MUTANT", [m.id for m in mutants],
               (("KERNEL", arguments.kernel), ("MUTANTS_DIR", os.environ.get("MUTANTS_DIR")),
                ("TESTS", " ".join(arguments.tests)), ("ALL", "1" if arguments.all else "")))
    return 0


def chosen(arguments):
    mutants = load(arguments.folder)
    if not mutants:
        raise LabError(f"MUTANTS_DIR={arguments.folder}: no *.patch there")
    if not arguments.mutant:
        return mutants
    found = []
    for name in arguments.mutant.split():
        match = [m for m in mutants if name in (m.id, m.name, m.file)]
        if not match:
            raise LabError(f"MUTANT={name}: no such mutant in {arguments.folder}; there are: "
                           + " ".join(m.id for m in mutants))
        found += match
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kernel", default=os.environ.get("KERNEL") or "7.2")
    parser.add_argument("--folder", default=os.environ.get("MUTANTS_DIR") or
                        os.path.join(TOP, "selftests", "mutants"), help="of the patches")
    parser.add_argument("--mutant", default=os.environ.get("MUTANT"), help="only these")
    parser.add_argument("--all", action="store_true", default=bool(os.environ.get("ALL")),
                        help="do not stop at the first failure")
    parser.add_argument("--build-only", action="store_true", help="run nothing")
    parser.add_argument("--jobs", type=int, default=int(os.environ.get("JOBS") or
                                                       min(2, os.cpu_count() or 1)),
                        help="mutants side by side")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--resume", default=os.environ.get("RESUME"), metavar="FOLDERS",
                        help="results of earlier runs, whose verdicts count")
    parser.add_argument("--list", default=os.environ.get("LIST"), metavar="N",
                        help="only print a shell line for each of N jobs")
    parser.add_argument("tests", nargs="*", metavar="PROGRAM", help="of the suite (default: all)")
    arguments = parser.parse_args()
    try:
        if not os.path.isdir(arguments.folder):
            raise LabError(f"MUTANTS_DIR={arguments.folder}: no such folder")
        # A name that is not there costs no build.
        mutants = chosen(arguments)
        if arguments.list:
            return emit(mutants, arguments)
        earlier = [(folder, *recorded(folder, arguments.kernel))
                   for folder in (arguments.resume or "").split()]
        return Score(arguments).go(mutants, earlier)
    except LabError as error:
        if str(error):
            print(f"uobjscope: {error}", file=sys.stderr)
        return 125
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
