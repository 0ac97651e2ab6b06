#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of the runner: what it makes of a guest's words and of its kernel log."""

import os
import sys
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import reports                                                          # noqa: E402
from kernel_log import BOOT, KernelLog, is_report, is_unexpected        # noqa: E402
from results import FAIL, PASS, SKIP, XFAIL, Program, count             # noqa: E402

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
    )

    def test_reports(self):
        for line in self.REPORTS:
            self.assertTrue(is_report(line), line)
        for line in self.QUIET:
            self.assertFalse(is_report(line) or is_unexpected(line), line)

    def test_a_driver_that_complains(self):
        self.assertTrue(is_unexpected("[ 1.0] mlx5_core 0001:00:00.0: cmd_work_handler: failed"))
        self.assertTrue(is_unexpected("[ 1.0] infiniband mlx5_0: something is odd"))

    def test_attribution(self):
        log = KernelLog()
        for line in (self.REPORTS[0], "[ 1.0] uobjscope: program var", self.REPORTS[1],
                     "[ 1.0] uobjscope: begin var.fixture.one", self.REPORTS[2],
                     "[ 1.0] uobjscope: end var.fixture.one",
                     "[ 1.0] uobjscope: program-end var", self.REPORTS[3]):
            log.line(line)
        self.assertEqual([where for where, _ in log.findings],
                         [BOOT, ("var", None), ("var", "fixture.one"), BOOT])

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


if __name__ == "__main__":
    unittest.main()
