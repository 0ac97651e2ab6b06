#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of the runner: what it makes of a guest's words and of its kernel log."""

import os
import sys
import tempfile
import threading
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import known_issues                                                     # noqa: E402
import kunit                                                            # noqa: E402
import leaks                                                            # noqa: E402
import own_guest                                                        # noqa: E402
import reports                                                          # noqa: E402
from kernel_log import BOOT, KernelLog, is_report, is_unexpected, text_of   # noqa: E402
from lanes import lane                                                  # noqa: E402
from machine import LabError                                            # noqa: E402
from results import (FAIL, PASS, SKIP, XFAIL, Program, count,           # noqa: E402
                     Test, flaky_tests, notes_of)
from run import Guest, Run                                              # noqa: E402
from selection import Item, parse_list, rounds, select                  # noqa: E402
from side_by_side import run_all                                        # noqa: E402

GOOD = """\
# TAP version 13
# 1..3
# # Starting 3 tests from 1 test cases.
# #  RUN           var.alloc ...
# #            OK  var.alloc
# ok 1 var.alloc
# #  RUN           var.map ...
# ok 2 var.map # SKIP no device: load mlx5_vhca.ko
# ok 3 var.known # XFAIL L01
ok 1 selftests: uobjscope: var
# Totals: pass:1 fail:0 xfail:0 xpass:0 skip:0 error:0
""".splitlines()


def program(lines, trouble=None):
    made = Program("uobjscope:var")
    for line in lines:
        made.line(line)
    made.finish(trouble)
    return made


class Harness(unittest.TestCase):
    def test_good(self):
        made = program(GOOD)
        self.assertEqual([(t.name, t.status) for t in made.tests],
                         [("var.alloc", PASS), ("var.map", SKIP), ("var.known", XFAIL)])
        self.assertEqual(made.tests[1].reason, "no device: load mlx5_vhca.ko")
        self.assertEqual(count([made]), (2, 0, 1))

    def test_cut_anywhere_is_not_green(self):
        last = next(n for n, line in enumerate(GOOD) if line.startswith("ok "))
        for cut in range(last + 1):
            self.assertGreater(count([program(GOOD[:cut])])[1], 0, GOOD[:cut])

    def test_failure_says_why(self):
        made = program(["# 1..1", "# #  RUN           a.b ...",
                        "# # var.c:12:b:Expected 1 (1) == seen (2)",
                        "# # memic: 1 more than before", "# #          FAIL  a.b",
                        "# not ok 1 a.b",
                        "not ok 1 selftests: uobjscope: var # exit=1"])
        self.assertEqual(made.tests[0].reason, "var.c:12:b:Expected 1 (1) == seen (2)")

    def test_program_that_fails_after_good_results(self):
        made = program(["# 1..1", "# ok 1 a.b", "not ok 1 selftests: uobjscope: var # exit=1"])
        self.assertEqual(count([made]), (1, 1, 0))

    def test_missing_results_fail(self):
        made = program(["# 1..4", "# ok 1 a.b", "ok 1 selftests: uobjscope: var"])
        self.assertEqual(count([made]), (1, 3, 0))

    def test_same_name_twice_fails(self):
        made = program(["# 1..2", "# ok 1 a.b", "# ok 2 a.b", "ok 1 selftests: uobjscope: var"])
        self.assertEqual(count([made]), (1, 1, 0))

    def test_skipped_whole(self):
        made = program(["# 1..0 # SKIP not root", "ok 1 selftests: uobjscope: var # SKIP"])
        self.assertEqual([(t.status, t.reason) for t in made.tests], [(SKIP, "not root")])

    def test_plain_program(self):
        self.assertEqual(count([program(["ok 1 selftests: uobjscope: var"])]), (1, 0, 0))
        self.assertEqual(count([program(["not ok 1 selftests: uobjscope: var # exit=2"])]),
                         (0, 1, 0))

    def test_no_test_of_that_name_fails(self):
        made = program(["# TAP version 13", "# 1..0", "ok 1 selftests: uobjscope: var"])
        self.assertEqual(count([made]), (0, 1, 0))

    def test_nothing_at_all_fails(self):
        self.assertEqual(count([program([])]), (0, 1, 0))

    def test_trouble_goes_to_the_running_test(self):
        made = program(["# 1..2", "# ok 1 a.a", "# #  RUN           a.b ..."], "panic")
        self.assertEqual((made.broken.name, made.broken.status, made.broken.reason),
                         ("a.b", FAIL, "panic"))

    def test_what_it_had_found_before_comes_first(self):
        """Of a test that takes the kernel down: its own finding, and then that."""
        begun = ["# 1..2", "# ok 1 a.a", "# #  RUN           a.b ...",
                 "# # a.c:12:b:Expected 1 (1) == pinned (0)"]
        made = program(begun, "Kernel panic - not syncing: Fatal exception")
        self.assertEqual(made.broken.reason, "a.c:12:b:Expected 1 (1) == pinned (0); "
                         "Kernel panic - not syncing: Fatal exception")
        made = Program("uobjscope:a")
        for line in begun:
            made.line(line)
        made.stop("a.b")
        self.assertEqual(made.tests[-1].reason, "a.c:12:b:Expected 1 (1) == pinned (0)")


class Files(unittest.TestCase):
    def test_names_cannot_break_ktap(self):
        made = program(["# 1..1", "# ok 1 a.b # SKIP see # 5", "ok 1 selftests: uobjscope: var"])
        line = [li for li in reports.ktap([made]) if "a.b" in li][0]
        self.assertEqual(line.count("#"), 1)

    def test_junit_is_xml_whatever_a_test_prints(self):
        made = program(["# 1..1", "# # <&\"\x01\x1b[0m]]>", "# not ok 1 a.b",
                        "not ok 1 selftests: uobjscope: var"])
        text = "\n".join(reports.junit([made], "lane"))
        root = xml.etree.ElementTree.fromstring(text.encode())
        self.assertEqual(root.get("failures"), "1")

    def test_a_parent_fails_with_its_child(self):
        made = program(["# 1..1", "# not ok 1 a.b", "not ok 1 selftests: uobjscope: var"])
        self.assertTrue(list(reports.ktap([made]))[-1].startswith("not ok 1 "))
        self.assertTrue(list(reports.kselftest([made]))[-1].startswith("not ok 1 "))


class Log(unittest.TestCase):
    REPORTS = (
        "[    1.0] WARNING: CPU: 0 PID: 7 at drivers/infiniband/core/rdma_core.c:1",
        "[    1.0] WARNING: drivers/infiniband/core/rdma_core.c:1 at uverbs+0x0",
        "[    1.0] BUG: KASAN: slab-use-after-free in uverbs_dmabuf_release",
        "[    1.0] BUG kmalloc-192 (Tainted: G           O ): Poison overwritten",
        "[    1.0] BUG: sleeping function called from invalid context",
        "[    1.0] Oops: general protection fault, probably for non-canonical address",
        "[    1.0] refcount_t: underflow; use-after-free.",
        "[    1.0] WARNING: possible circular locking dependency detected",
        "[    1.0] INFO: task var:77 blocked for more than 30 seconds.",
        "[    1.0] list_del corruption. prev->next should be",
        "[    1.0] UBSAN: shift-out-of-bounds in dm.c:1",
        "[    1.0] kmemleak: 3 new suspected memory leaks",
    )
    QUIET = (
        "[    0.0] Command line: console=ttyS0 oops=panic panic=-1 mlx5_core.x=1",
        "[    1.0] clocksource: Switched to clocksource tsc",
        "[    1.0] mlx5_core 0001:00:00.0: enabling device (0000 -> 0002)",
        "[    1.0] mlx5_core 0001:00:00.0: firmware version: 28.39.1",
        "[    1.0][   T45]     # Subtest: dmabuf_importer",
        "[    1.0]     # module: mlx5_vhca",
        "[    1.0] not ok 1 dmabuf_importer",
        "[    1.0] mlx5_vhca: kunit: violation: destroy_of_unknown pd object 0x1 detail 0x801",
    )

    def test_reports(self):
        for line in self.REPORTS:
            self.assertTrue(is_report(line), line)
        for line in self.QUIET:
            self.assertFalse(is_report(line) or is_unexpected(line), line)

    def test_a_driver_that_complains(self):
        self.assertTrue(is_unexpected("[ 1.0] mlx5_core 0001:00:00.0: cmd_work_handler: failed"))
        self.assertTrue(is_unexpected("[ 1.0] infiniband mlx5_0: something is odd"))
        self.assertTrue(is_unexpected("[ 1.0] mlx5_vhca: 0001:00:00.0: violation: pd object 0x1"))
        self.assertTrue(is_unexpected("[ 1.0] mlx5_core: # Subtest: no suite"))

    def test_body_of_a_report_is_no_finding_of_its_own(self):
        for line in ("Modules linked in: mlx5_vhca(O) mlx5_ib mlx5_core ib_core dimlib",
                     " ib_uverbs_ioctl+0xc0/0x360 [ib_uverbs]",
                     " ? mlx5_cmd_dealloc_memic_op+0x210/0x210 [mlx5_ib]",
                     "RIP: 0010:mlx5_ib_dmabuf_invalidate_cb+0x13d/0x260 [mlx5_ib]"):
            self.assertFalse(is_unexpected("[ 1.0][ T2] " + line), line)

    def test_attribution(self):
        log = KernelLog()
        for line in (self.REPORTS[0], "[ 1.0] uobjscope: program var", self.REPORTS[1],
                     "[ 1.0] uobjscope: begin var.fixture.one", self.REPORTS[2],
                     "[ 1.0] uobjscope: end var.fixture.one",
                     "[ 1.0] uobjscope: program-end var", self.REPORTS[3]):
            log.line(line)
        self.assertEqual([where for where, _ in log.findings],
                         [BOOT, ("var", None), ("var", "fixture.one"), BOOT])

    def test_leavings_are_no_findings(self):
        log = KernelLog()
        left = "[ 1.0] mlx5_vhca: 0001:00:00.0: violation: destroy_of_busy eq object 0x4"
        log.line(left)
        log.leavings()
        log.line(left)
        log.line(self.REPORTS[0])
        self.assertEqual([text for _, text in log.findings],
                         [text_of(left), text_of(self.REPORTS[0])])

    def test_expected_lines_are_no_findings_in_that_test_only(self):
        log = KernelLog()
        refused = "[ 1.0] mlx5_vhca: parameter domain: got 0, expected 1 to 65535"
        for line in ("[ 1.0] uobjscope: program reload.sh",
                     "[ 1.0] uobjscope: begin reload.sh.one",
                     "[ 1.0] uobjscope: expect mlx5_vhca: parameter [a-z]+: got",
                     refused, self.REPORTS[0], "[ 1.0] uobjscope: end reload.sh.one", refused):
            log.line(line)
        self.assertEqual([where for where, _ in log.findings],
                         [("reload.sh", "one"), ("reload.sh", None)])

    def test_an_expectation_that_lost_characters_is_none(self):
        log = KernelLog()
        for line in ("[ 1.0] uobjscope: program var", "[ 1.0] uobjscope: begin var.a",
                     "[ 1.0] uobjscope: expect ^ *(+[+]0x[0-9a-f]+", self.REPORTS[0]):
            log.line(line)
        self.assertEqual([where for where, _ in log.findings], [("var", "a")])

    def test_a_round_is_part_of_the_program_only(self):
        log = KernelLog()
        for line in ("[ 1.0] uobjscope: program var@2", "[ 1.0] uobjscope: begin var.a.b",
                     self.REPORTS[0]):
            log.line(line)
        self.assertEqual([where for where, _ in log.findings], [("var@2", "a.b")])


class Selection(unittest.TestCase):
    AVAILABLE = ["u:var", "u:dm", "u:reload.sh", "u:crash", "u:bench_x.sh"]
    TESTS = {"u:var": ["var.var_04_free", "var.var_05_fork"],
             "u:dm": ["dm.dmabuf_05_close", "dm.dm_01_alloc"], "u:reload.sh": ["unbind"]}

    def select(self, tests=(), filter_=None, listed=None):
        own = [own_guest.OwnTest("u:crash", "crash.l26_short", None, "oops", "x")]
        listed = self.TESTS if listed is None else listed
        items, own = select(self.AVAILABLE, tests, filter_, own,
                            lambda programs: {p: listed.get(p) for p in programs})
        return [i.line() for i in items], [o.name for o in own]

    def refused(self, *arguments):
        with self.assertRaises(LabError) as caught:
            self.select(*arguments)
        return str(caught.exception)

    def test_all_but_benchmarks(self):
        self.assertEqual(self.select(), (["u:var", "u:dm", "u:reload.sh"], ["crash.l26_short"]))

    def test_named(self):
        self.assertEqual(self.select(["reload", "var:var.var_04_free"]),
                         (["u:reload.sh", "u:var=-t var_04_free"], []))
        self.assertEqual(self.select(["crash:l26_short"]), ([], ["crash.l26_short"]))
        self.assertIn("no such test program", self.refused(["nonsense"]))
        self.assertIn("crash:nonsense", self.refused(["crash:nonsense"]))

    def test_filter(self):
        self.assertEqual(self.select((), "DMABUF-05"), (["u:dm=-r dm.dmabuf_05_close"], []))
        self.assertEqual(self.select((), "dmabuf_05"), (["u:dm=-r dm.dmabuf_05_close"], []))
        # All of a program's tests need no names; others are not run at all.
        self.assertEqual(self.select((), "^var"), (["u:var"], []))
        self.assertEqual(self.select(["var"], "fork|alloc"), (["u:var=-r var.var_05_fork"], []))
        self.assertEqual(self.select((), "l26"), ([], ["crash.l26_short"]))

    def test_filter_that_matches_nothing_is_named(self):
        said = self.refused((), "VAR-99")
        self.assertIn("FILTER=VAR-99: no test of that name", said)
        self.assertIn("var.var_04_free", said)
        self.assertIn("FILTER=(: no regular expression", self.refused((), "("))
        self.assertIn("exclude each other", self.refused(["var:x"], "y"))

    def test_program_that_cannot_list_is_one_test(self):
        self.assertEqual(self.select((), "dm", {"u:var": ["var.x"], "u:reload.sh": ["y"]}),
                         (["u:dm"], []))

    def test_list_of_the_harness(self):
        rows = (("# FIXTURE", "VARIANT", "TEST"), ("global", "", "alone"), None,
                ("var", "", "one"), ("", "", "two"), None,
                ("a_fixture_of_a_long_name", "v1", "one"), ("", "v2", ""))
        text = "\n".join("-" * 80 if r is None else "%-20s %-25s %s" % r for r in rows)
        self.assertEqual(parse_list(text), [
            "global.alone", "var.one", "var.two", "a_fixture_of_a_long_name.v1.one",
            "a_fixture_of_a_long_name.v2.one"])
        self.assertEqual(parse_list("# SEED=1\nunbind\nbind\n"), ["unbind", "bind"])

    def test_rounds(self):
        items = [Item("u:var", "-t a"), Item("u:dm")]
        self.assertEqual(rounds(items, 1), items)
        self.assertEqual([i.line() for i in rounds(items, 2)],
                         ["u:var=@1 -t a", "u:dm=@1", "u:var=@2 -t a", "u:dm=@2"])
        self.assertEqual([i.label for i in rounds(items, 2)],
                         ["u:var@1", "u:dm@1", "u:var@2", "u:dm@2"])

    def test_flaky_is_what_fails_in_some_rounds(self):
        made = []
        for number, results in enumerate(("ok ok", "not_ok ok", "ok not_ok"), 1):
            a, b = results.replace("_", "-").split()
            made.append(Program(f"u:var@{number}"))
            for line in ("# 1..3", f"# {a.replace('-', ' ')} 1 v.a",
                         f"# {b.replace('-', ' ')} 2 v.b", "# not ok 3 v.always",
                         "not ok 1 selftests: u: var"):
                made[-1].line(line)
            made[-1].finish()
        self.assertEqual(flaky_tests(made), [("var.v.a", 1, 3), ("var.v.b", 1, 3)])
        self.assertEqual(count(made), (4, 5, 0))


ENTRY = """\
id: L01
title: it leaks
component: kernel
where: a.c, f()
since: 7.0
fixed: 7.3 7.2.15
commit: -
observable: slab_debug|kasan
seen: always
class: real
probe: source a.c good_word
test: -
"""


class Known(unittest.TestCase):
    def issue(self, *changes):
        text = ENTRY
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        return known_issues.parse("# head\n\n" + text, "known_issues")["L01"]

    def test_versions(self):
        for release, has in (("7.3.4+deb13-amd64", True), ("7.3-rc1", True), ("7.10.1", True),
                             ("7.2.12+deb14-amd64", False), ("7.2.15", True), ("7.2.100", True),
                             ("7.1.99", False), ("6.19.1", False), ("8.0", True), ("odd", False)):
            self.assertEqual(known_issues.has_version(release, "7.3 7.2.15"), has, release)
        self.assertFalse(known_issues.has_version("7.3", "-"))

    def test_source_comes_before_the_version(self):
        with tempfile.TemporaryDirectory() as source:
            with open(os.path.join(source, "a.c"), "w", encoding="utf-8") as file:
                file.write("bad_word")
            self.assertEqual(self.issue().state("7.3.4", source), known_issues.LIVE)
            with open(os.path.join(source, "a.c"), "w", encoding="utf-8") as file:
                file.write("good_word")
            self.assertEqual(self.issue().state("7.2.12", source), known_issues.FIXED)
        self.assertEqual(self.issue().state("7.2.12", "/nowhere"), known_issues.LIVE)
        self.assertEqual(self.issue().state("7.3.4", ""), known_issues.FIXED)

    def test_a_fix_that_was_applied_comes_first(self):
        issues = known_issues.parse(ENTRY, "known_issues")
        with tempfile.TemporaryDirectory() as source:
            with open(os.path.join(source, "a.c"), "w", encoding="utf-8") as file:
                file.write("bad_word")
            known_issues.mark_fixed(issues, ["L01"])
            for where in (source, "/nowhere", ""):
                self.assertEqual(issues["L01"].state("7.2.12", where), known_issues.FIXED)
        with self.assertRaisesRegex(LabError, "--fixed L02: no such entry.*L01"):
            known_issues.mark_fixed(issues, ["L02"])

    def test_verdicts(self):
        always, sometimes = self.issue(), self.issue(("seen: always", "seen: sometimes"))
        live, fixed = known_issues.LIVE, known_issues.FIXED
        self.assertEqual(always.verdict(True, live),
                         (XFAIL, "L01 it leaks (kernel; fixed in 7.3 7.2.15)"))
        self.assertEqual(always.verdict(True, fixed)[0], FAIL)
        self.assertEqual(always.verdict(False, fixed), (PASS, ""))
        status, why = always.verdict(False, live)
        self.assertEqual(status, FAIL)
        self.assertIn("revise its entry", why)
        status, why = sometimes.verdict(False, live)
        self.assertEqual(status, PASS)
        self.assertIn("note: ", why)
        self.assertEqual(always.hidden()[0], SKIP)

    def test_observable(self):
        self.assertFalse(self.issue().is_observable(set()))
        self.assertTrue(self.issue().is_observable({"slab_debug"}))
        self.assertTrue(self.issue(("slab_debug|kasan", "any")).is_observable(set()))

    def test_bad_entries_are_named(self):
        for old, new, named in (
                ("title: it leaks\n", "", "no title"), ("class: real", "class: bad", "class: "),
                ("seen: always", "seen always", "'seen always'"), ("7.3 7.2", "soon 7.2", "fixed: "),
                ("where: a.c", "wehre: a.c", "unknown key wehre"), ("|kasan", "|kmsan", "kmsan"),
                ("probe: source a.c", "probe: a.c", "probe: "),
                ("since: 7.0", "since: 7.0\nsince: 7.1", "since is there twice")):
            with self.assertRaises(LabError) as caught:
                self.issue((old, new))
            self.assertIn(named, str(caught.exception))

    def test_the_tree_s_own_files_are_good(self):
        tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "selftests")
        issues = known_issues.load(os.path.join(tests, "known_issues"))
        self.assertIn("L01", issues)
        own = own_guest.load(tests, "u", issues)
        for test in own:
            if not test.leaves_traces:
                program = test.program.split(":", 1)[1]
                self.assertEqual(test.issue.test, test.test if "." in test.test else
                                 f"{program}.{test.test}")
        for issue in issues.values():
            program, _, name = issue.test.rpartition(".")
            script = program.endswith(".sh")
            if program:
                with open(os.path.join(tests, program if script else program + ".c"),
                          encoding="utf-8") as file:
                    self.assertRegex(file.read(), rf"(?m)^{name}\(\)$" if script else
                                     rf"\bTEST_F\w*\(\w+, {name}[,)]")

    def test_notes(self):
        made = program(["# 1..1", "# # known.c:1:x:note: L03 not seen", "# ok 1 a.b",
                        "ok 1 selftests: uobjscope: var"])
        self.assertEqual(notes_of([made]), ["var.a.b: L03 not seen"])


class OwnGuests(unittest.TestCase):
    def watch(self, outcome, *lines):
        own = own_guest.OwnTest("u:crash", "one", None, outcome, "Comm: l26")
        log = KernelLog(own_guest.Watcher(own))
        for line in lines:
            log.line("[ 1.0] " + line)
        return log.watcher

    def test_oops(self):
        oops, comm = "Oops: Oops: 0002 [#1] SMP", "CPU: 1 UID: 0 PID: 2 Comm: l26_devx"
        self.assertTrue(self.watch("oops", oops, comm).seen)
        self.assertFalse(self.watch("oops", oops, comm.replace("l26", "sh")).seen)
        self.assertFalse(self.watch("oops", comm).seen)
        self.assertFalse(self.watch("oops", oops, comm).is_over)

    def test_hang_is_over_when_it_is_seen(self):
        hung = "INFO: task x:7 blocked for more than 30 seconds."
        self.assertTrue(self.watch("hung-task", hung, "Comm: l26").is_over)
        self.assertFalse(self.watch("hung-task", "Oops: 1", "Comm: l26").seen)

    def test_splat_is_any_report(self):
        self.assertTrue(self.watch("splat", "BUG: KASAN: slab-use-after-free", "Comm: l26").seen)

    def test_bad_lines_are_named(self):
        issues = {"L26": None}
        for line, named in (("crash one L26 oops", "expected PROGRAM"),
                            ("crash one L99 oops x", "no entry L99"),
                            ("crash one L26 boom x", "outcome: "),
                            ("crash one - none -", "PROGRAM - - none -"),
                            ("crash one L26 oops (", "own_guest:1: (")):
            with self.assertRaises(LabError) as caught:
                own_guest.parse(line, "own_guest", "u", issues)
            self.assertIn(named, str(caught.exception))

    def test_a_program_that_is_only_kept_from_others(self):
        own = own_guest.parse("known - - none -", "own_guest", "u", {})
        items, alone = select(["u:known", "u:var"], [], None, own, None)
        self.assertEqual(([i.line() for i in items], alone), (["u:known", "u:var"], []))
        self.assertTrue(own[0].leaves_traces)
        self.assertFalse(own[0].is_bare)

    def test_a_program_in_a_bare_guest(self):
        own = own_guest.parse("window.sh - - bare -", "own_guest", "u", {})
        self.assertTrue(own[0].leaves_traces)
        self.assertTrue(own[0].is_bare)
        with self.assertRaises(LabError) as caught:
            own_guest.parse("window.sh one L01 bare x", "own_guest", "u", {})
        self.assertIn("expected PROGRAM - - bare -", str(caught.exception))


class SideBySide(unittest.TestCase):
    def test_two_run_at_once_and_all_run(self):
        both = threading.Barrier(2, timeout=20)
        seen = []

        def task(name):
            both.wait()
            seen.append(name)

        run_all([lambda n=n: task(n) for n in range(4)], 2)
        self.assertEqual(sorted(seen), [0, 1, 2, 3])

    def test_one_at_a_time_keeps_the_order(self):
        seen = []
        run_all([lambda n=n: seen.append(n) for n in range(5)], 1)
        self.assertEqual(seen, [0, 1, 2, 3, 4])

    def test_an_error_is_the_caller_s_and_ends_it(self):
        seen = []

        def breaks():
            raise LabError("broken")

        with self.assertRaises(LabError):
            run_all([breaks, lambda: seen.append(1)], 1)
        self.assertEqual(seen, [])

    def groups(self, jobs, *programs):
        run = Run.__new__(Run)
        run.jobs = jobs
        run.own_tests = own_guest.parse("known - - none -", "own_guest", "u", {})
        return [(name, [i.program for i in items])
                for name, items in run.groups([Item(p) for p in programs])]

    def test_scripts_have_a_guest_for_themselves(self):
        self.assertEqual(self.groups(2, "u:var", "u:reload.sh", "u:known"),
                         [("-scripts", ["u:reload.sh"]), ("", ["u:var"]),
                          ("-known", ["u:known"])])
        self.assertEqual(self.groups(2, "u:reload.sh"), [("", ["u:reload.sh"])])

    def test_many_programs_have_two_guests(self):
        programs = [f"u:p{n}" for n in range(Run.MANY_PROGRAMS)]
        self.assertEqual(self.groups(2, *programs),
                         [("", programs[0::2]), ("-more", programs[1::2])])
        self.assertEqual(self.groups(2, *programs[1:]), [("", programs[1:])])
        self.assertEqual(self.groups(1, *programs), [("", programs)])

    def test_without_others_beside_it_all_share_one(self):
        self.assertEqual(self.groups(1, "u:var", "u:reload.sh", "u:known"),
                         [("", ["u:var", "u:reload.sh"]), ("-known", ["u:known"])])

    def test_results_are_in_the_order_asked_for(self):
        run = Run.__new__(Run)
        run.own_tests = []
        run.programs = [Program(name) for name in ("u:b", "guest:boot", "u:a")]
        run.sort([Item("u:a"), Item("u:b")])
        self.assertEqual([p.name for p in run.programs], ["guest:boot", "u:a", "u:b"])


class SeveralTests(unittest.TestCase):
    def test_of_one_program(self):
        items, _ = select(["uobjscope:var", "uobjscope:dm"], ["var:a", "dm", "var:b"], None, [],
                          None)
        self.assertEqual([(i.program, i.arguments) for i in items],
                         [("uobjscope:var", "-t a -t b"), ("uobjscope:dm", "")])
        items, _ = select(["uobjscope:var"], ["var:a", "var"], None, [], None)
        self.assertEqual(items[0].arguments, "")


class Lanes(unittest.TestCase):
    def test_names(self):
        self.assertEqual(lane("7.2").name, "stock-7.2")
        self.assertEqual(lane("slab").name, "slab-7.2")
        self.assertEqual(lane("debug").series, "7.2-debug")
        self.assertEqual(lane("debug-7.3").series, "7.3-debug")
        # For the lab to refuse.
        self.assertEqual(lane("9.9").series, "9.9")

    def test_what_they_leave_out(self):
        self.assertNotIn("fail_nth", lane("7.3").leaves_out)
        self.assertEqual(set(lane("slab").leaves_out), {"fail_nth", "idle.sh"})
        self.assertNotIn("fail_nth", lane("debug").leaves_out)
        run = Run.__new__(Run)
        run.boots, run.lock, run.programs = lane("slab"), threading.RLock(), []
        items = [Item("uobjscope:var"), Item("uobjscope:fail_nth")]
        self.assertEqual(run.leave_out(items), items[:1])
        self.assertEqual(count(run.programs), (0, 0, 1))

    def test_abilities(self):
        self.assertEqual(lane("7.2").abilities("quiet"), set())
        self.assertEqual(lane("7.2").abilities("slab_debug=FZPU"), {"slab_debug"})
        self.assertEqual(lane("debug").abilities("quiet"),
                         {"kasan", "failslab", "lockdep"})


class LeaksOfGroups(unittest.TestCase):
    def setUp(self):
        self.run_ = Run.__new__(Run)
        self.run_.leak_groups = {}
        self.guest = Guest.__new__(Guest)
        self.guest.run = self.run_
        self.guest.log = KernelLog()

    def test_last_one_answers(self):
        self.guest.leak(["u:var"], "leak of 8 bytes")
        self.guest.leak(["u:dm", "u:dm_share@2"], "leak of 9 bytes")
        self.assertEqual(self.guest.log.findings,
                         [(("var", None), "leak of 8 bytes"),
                          (("dm_share@2", None), "leak of 9 bytes (by one of dm, dm_share@2)")])

    def test_suspects_are_all_of_the_group(self):
        self.run_.programs = [Program(name) for name in ("u:var", "u:dm", "u:a.sh", "u:attach")]
        for program in self.run_.programs:
            program.tests = [Test("good", PASS), Test("bad", FAIL, "it is")]
        var, dm, _, attach = self.run_.programs
        self.assertEqual(self.run_.suspects(var), [(var, "good")])
        self.run_.leak_groups = {"attach": ["u:dm", "u:a.sh", "u:attach"]}
        self.assertEqual(self.run_.suspects(attach), [(dm, "good"), (attach, "good")])


class Leaks(unittest.TestCase):
    LEAK = "1024 kmemleak_alloc __kmalloc_cache_noprof ib_uverbs_open chrdev_open"

    def setUp(self):
        self.issues = {"L01": None, "L04": None}

    def test_unexpected(self):
        allowed = leaks.parse("L01 ib_uverbs_open chrdev_open\n", self.issues)
        self.assertIsNone(leaks.unexpected(self.LEAK, allowed, {"L01"}))
        # All functions must be there, and the fault must be live.
        self.assertEqual(leaks.unexpected(self.LEAK, allowed, {"L04"}),
                         "leak of 1024 bytes, allocated by ib_uverbs_open <- chrdev_open")
        other = leaks.parse("L01 ib_uverbs_open mlx5_ib_alloc_ucontext\n", self.issues)
        self.assertIn("1024", leaks.unexpected(self.LEAK, other, {"L01"}))

    def test_without_a_fault(self):
        allowed = leaks.parse("-\tchrdev_open\t# kept until the module goes\n", self.issues)
        self.assertIsNone(leaks.unexpected(self.LEAK, allowed, set()))
        # A report may lack its stack.
        self.assertEqual(leaks.unexpected("32", allowed, set()),
                         "leak of 32 bytes, allocated by nobody known")

    def test_wrong_lines(self):
        for text, says in (("L01\n", "kmemleak:1: expected ID FUNCTION"),
                           ("# nothing\nL99 kmalloc\n", "kmemleak:2: known_issues has no entry L99"),
                           ("- kmalloc\n", "expected the reason")):
            with self.assertRaisesRegex(LabError, says):
                leaks.parse(text, self.issues)

    def test_the_suites_own_list(self):
        folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../selftests")
        issues = known_issues.load(os.path.join(folder, "known_issues"))
        self.assertTrue(leaks.load(folder, issues))


class Kunit(unittest.TestCase):
    def test_said(self):
        console = ["[    1.0] mlx5_core: hello\n", "[    1.1][   T45] KTAP version 1\n",
                   "[    1.2][   T45] 1..1\n", "[    1.3] uobjscope: program var\n",
                   "[    9.0] KTAP version 1\n"]
        self.assertEqual(kunit.said(console),
                         ["mlx5_core: hello", "KTAP version 1", "1..1"])

    def test_streams(self):
        one = ["KTAP version 1", "1..1", "    KTAP version 1", "    ok 1 a", "ok 1 s"]
        self.assertEqual(kunit.streams(["hello", *one, "hello", *one]), [one + ["hello"], one])
        self.assertEqual(kunit.streams(["hello"]), [])

    def test_reasons(self):
        lines = ["KTAP version 1", "    # Subtest: one", "    # a: EXPECTATION FAILED at f.c:1",
                 "    Expected 1 == 2", "    # a: EXPECTATION FAILED at f.c:2",
                 "    # Subtest: two", "    # a: ASSERTION FAILED at g.c:3", "    # two: pass:0"]
        self.assertEqual(kunit.reasons(lines),
                         {("one", "a"): "EXPECTATION FAILED at f.c:1",
                          ("two", "a"): "ASSERTION FAILED at g.c:3"})

    def test_groups(self):
        group = {"name": "vhca", "test_cases": [{"name": "a", "status": "PASS"},
                                                {"name": "b", "status": "ERROR"}],
                 "sub_groups": [{"name": "wide", "test_cases": [
                     {"name": "one", "status": "SKIP"}]}]}
        self.assertEqual(list(kunit.tests_of(group)),
                         [("a", PASS), ("b", FAIL), ("wide.one", SKIP)])


if __name__ == "__main__":
    unittest.main()
