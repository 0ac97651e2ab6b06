#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Unit tests of scripts/invariants.py: the catalogue, what is read off the tests, and
what of both is wrong."""

import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

SCRIPTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, SCRIPTS)

import invariants as inv                                                # noqa: E402

CATALOGUE = """\
# SPDX-License-Identifier: GPL-2.0

unbound: device
because: the device

group: VAR
title: VARs

id: VAR-01
says: One is
 allocated.
kernels: 6.12+

id: VAR-02
says: One is mapped.
kernels: 7.1+
library: 63
waits: a mapping
"""

PROGRAM = """\
#include "common/bed.h"
#include "common/steps.h"

FIXTURE_TEARDOWN(f)
{
	bed_unmake(_metadata, &self->bed);
}

#define LOOK_AT(x) \\
do { \\
	steps_look(x); \\
} while (0)

/*
 * VAR-01, L01: It is
 * allocated.
 */
TEST_F(f, var_01_alloc)
{
	LOOK_AT(1);
}
"""

BED = """\
#include "rest.h"
static inline void bed_unmake(struct __test_metadata *_metadata, struct bed *bed)
{
	EXPECT_EQ(0, rest_return(&bed->dev, &bed->before, &after));
}
"""

STEPS = """\
/* scope_check() is not called by what a comment says. */
int steps_look(int x)
{
	return file_has("bufinfo", x);
}
"""

KNOWN = """\
id: L01
title: planted
component: kernel
where: -
since: -
fixed: -
commit: -
observable: any
seen: always
class: harmless
test: var.var_01_alloc
"""

SCRIPT = """\
#!/bin/sh
. "$DIR/test_lib.sh"
# VAR-01: Allocated.
alloc() { grep -q x "$VHCA_DEBUGFS/ledger"; }
# Not an id: of this one.
map()
{
	true
}
# VAR-02: Mapped, in two ways.
in_two_ways() { :; }
helper() { :; }
tests="alloc map"
for t in $tests; do
	run "$t"
done
for v in a b; do run_as "way_$v" in_two_ways "$v"; done
"""


class Tree:
    """A tree with just what the checker looks at."""

    def __init__(self, **files):
        self.folder = tempfile.TemporaryDirectory()
        self.top = self.folder.name
        os.mkdir(os.path.join(self.top, "Documentation"))
        self.write("selftests/invariants", CATALOGUE)
        self.write("selftests/known_issues", KNOWN)
        self.write("selftests/var.c", PROGRAM)
        self.write("selftests/device.c", "/* Anything. */\nTEST(any)\n{\n}\n")
        self.write("selftests/common/bed.h", BED)
        self.write("selftests/common/steps.h", "int steps_look(int x);\n")
        self.write("selftests/common/steps.c", STEPS)
        for name, text in files.items():
            self.write(name, text)

    def write(self, name, text):
        path = os.path.join(self.top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def change(self, name, old, new):
        with open(os.path.join(self.top, name), encoding="utf-8") as file:
            text = file.read()
        assert old in text
        self.write(name, text.replace(old, new))

    def run(self, what):
        return subprocess.run([sys.executable, os.path.join(SCRIPTS, "invariants.py"), what,
                               "--top", self.top], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


class Checked(unittest.TestCase):
    """The command, on a tree."""

    def setUp(self):
        self.tree = Tree()
        self.addCleanup(self.tree.folder.cleanup)

    def says(self, *lines):
        """What check has to complain of, besides the document."""
        self.tree.run("write")
        done = self.tree.run("check")
        self.assertEqual(done.returncode, 1 if lines else 0, done.stdout)
        self.assertEqual(done.stdout.splitlines(), list(lines))

    def test_good(self):
        self.says()

    def test_document_must_be_there(self):
        done = self.tree.run("check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Documentation/invariants.rst: not what", done.stdout)

    def test_document_must_be_new(self):
        self.tree.run("write")
        self.tree.change("selftests/invariants", "One is mapped", "One is unmapped")
        done = self.tree.run("check")
        self.assertEqual(done.returncode, 1)
        self.assertIn("run scripts/invariants.py write", done.stdout)

    def test_without_test(self):
        self.tree.change("selftests/invariants", "waits: a mapping\n", "")
        self.says("selftests/invariants: VAR-02: no test, and neither waits nor cannot")

    def test_waits_in_vain(self):
        self.tree.change("selftests/var.c", "VAR-01, L01:", "VAR-01 to VAR-02:")
        self.says("selftests/invariants: VAR-02: waits, but var.var_01_alloc proves it "
                  "(further: says what a test leaves out)")

    def test_cannot_in_vain(self):
        self.tree.change("selftests/invariants", "waits: a mapping", "cannot: it is none")
        self.tree.change("selftests/var.c", "VAR-01, L01:", "VAR-01, VAR-02:")
        self.says("selftests/invariants: VAR-02: cannot, but var.var_01_alloc proves it "
                  "(further: says what a test leaves out)")

    def test_further(self):
        self.tree.change("selftests/invariants", "waits: a mapping", "further: two mappings")
        self.says("selftests/invariants: VAR-02: no test, and neither waits nor cannot",
                  "selftests/invariants: VAR-02: further, but there is no test")
        self.tree.change("selftests/var.c", "VAR-01, L01:", "VAR-01, VAR-02:")
        self.says()

    def test_unknown_id(self):
        self.tree.change("selftests/var.c", "VAR-01, L01:", "VAR-01, VAR-99, L99:")
        self.says("selftests/var.c:18: var_01_alloc: no VAR-99 in selftests/invariants",
                  "selftests/var.c:18: var_01_alloc: no L99 in selftests/invariants")

    def test_no_id_among_ids(self):
        self.tree.change("selftests/var.c", "VAR-01, L01:", "VAR-01, UOBJ:")
        self.says("selftests/var.c:18: var_01_alloc: 'UOBJ' is no id")

    def test_names_none(self):
        self.tree.change("selftests/var.c", "VAR-01, L01: ", "")
        self.tree.change("selftests/var.c", "var_01_alloc", "alloc")
        self.tree.change("selftests/invariants", "kernels: 6.12+", "kernels: 6.12+\ncannot: no")
        self.tree.change("selftests/known_issues", "var.var_01_alloc", "-")
        self.says("selftests/var.c:18: alloc: its comment names no invariant")

    def test_names_another_than_its_name(self):
        self.tree.change("selftests/var.c", "f, var_01_alloc", "f, var_02_alloc")
        self.tree.change("selftests/known_issues", "var.var_01_alloc", "var.var_02_alloc")
        self.says("selftests/var.c:18: var_02_alloc: its comment does not name VAR-02")

    def test_unbound_is_not_there(self):
        self.tree.change("selftests/invariants", "unbound: device", "unbound: dev?")
        self.says("selftests/device.c:2: any: its comment names no invariant",
                  "selftests/invariants: unbound: there is no dev?")

    def test_known_issue_without_its_test(self):
        self.tree.change("selftests/known_issues", "var.var_01_alloc", "var.gone")
        self.says("selftests/known_issues: L01: there is no test var.gone")

    def test_known_fault_is_named_by_the_name(self):
        self.tree.write("selftests/device.c", "TEST(l01_planted)\n{\n}\n")
        self.says()
        self.tree.write("selftests/device.c", "TEST(l02_planted)\n{\n}\n")
        self.says("selftests/device.c:1: l02_planted: its comment does not name L02")

    def test_see(self):
        self.tree.change("selftests/invariants", "library: 63", "see: VAR-01, L01, VAR-03")
        self.says("selftests/invariants: VAR-02: see: there is no VAR-03")

    def test_script(self):
        self.tree.write("selftests/map.sh", SCRIPT)
        self.tree.change("selftests/invariants", "waits: a mapping\n", "")
        self.says("selftests/map.sh:6: map: its comment names no invariant")

    def test_script_alone(self):
        self.tree.write("selftests/map.sh", SCRIPT)
        found = {t.label: t for t in inv.scan(os.path.join(self.tree.top, "selftests"))
                 if t.program == "map.sh"}
        self.assertEqual({k: t.ids for k, t in found.items()},
                         {"map.sh.alloc": ["VAR-01"], "map.sh.map": [],
                          "map.sh.way_*": ["VAR-02"]})
        self.assertEqual(found["map.sh.alloc"].steps, {inv.DEVICE})
        self.assertEqual(found["map.sh.map"].steps, set())

    def test_script_run_all(self):
        text = ('# VAR-01: Taken.\ntaken() { :; }\n# VAR-02: Late.\nlate() { :; }\n'
                'needing="late"\nrun_all "taken" "$needing"\n')
        self.assertEqual([(t.name, t.comment) for t, _, _ in inv.shell_tests("map.sh", text)],
                         [("late", "VAR-02: Late.")])

    def test_witnesses(self):
        test, = (t for t in inv.scan(os.path.join(self.tree.top, "selftests"))
                 if t.program == "var")
        self.assertEqual((test.steps, test.end), ({inv.FILES}, {inv.DEVICE}))

    def test_document(self):
        self.tree.run("write")
        with open(os.path.join(self.tree.top, "Documentation/invariants.rst"),
                  encoding="utf-8") as file:
            text = file.read()
        self.assertIn("2 entries: 1 have tests (1 of them), 1 wait, 0 cannot be tested.", text)
        self.assertIn(textwrap.dedent("""\
            ``VAR-01`` (kernel 6.12+)
                One is allocated.

                * ``var.var_01_alloc`` (files, at the end device)

            ``VAR-02`` (kernel 7.1+, rdma-core 63+)
                One is mapped.

                *Waits for*: a mapping.
            """), text)

    def test_missing(self):
        self.assertEqual(self.tree.run("missing").stdout, "VAR-02: waits: a mapping\n")

    def test_broken_catalogue_is_one_line(self):
        self.tree.write("selftests/invariants", "nonsense\n")
        done = self.tree.run("check")
        self.assertEqual((done.returncode, done.stdout),
                         (1, "invariants.py: selftests/invariants: expected 'key: value', "
                             "seen 'nonsense'\n"))


class Refused(unittest.TestCase):
    """A catalogue that is none, each with what the message has to name."""

    def refuses(self, text, *words):
        with self.assertRaises(inv.Wrong) as caught:
            inv.parse(text, "file")
        for word in words:
            self.assertIn(word, str(caught.exception))

    def entry(self, *lines):
        return "\n".join(["group: VAR", "title: VARs", "", *lines])

    def test_blocks(self):
        self.refuses("what: ever", "what", "group, unbound, id")
        self.refuses("group: VAR", "VAR", "no title")
        self.refuses("unbound: x", "x", "no because")
        self.refuses(" goes on", "none before")
        self.refuses("group: V\ntitle: v\n\ngroup: V\ntitle: v", "second group V")

    def test_entries(self):
        self.refuses(self.entry("id: VAR-01", "says: so"), "VAR-01", "no kernels")
        self.refuses(self.entry("id: VAR-01", "kernels: 7.0+"), "VAR-01", "expected says")
        self.refuses(self.entry("id: VAR-01", "kernels: 7.0+", "says: so", "page: so"), "expected")
        self.refuses(self.entry("id: VAR-01", "kernels: 7.0+", "page: so", "code: so"), "expected")
        self.refuses(self.entry("id: VAR-01", "kernels: new", "says: so"), "new", "7.0 to 7.2")
        self.refuses(self.entry("id: VAR-01", "kernels: 7.0+", "says: so", "says: so"), "twice")
        self.refuses(self.entry("id: VAR-01", "kernels: 7.0+", "says: so", "mood: good"), "mood")
        self.refuses(self.entry("id: VAR-01", "kernels: 7.0+", "says: so", "library: x"), "x")
        self.refuses(self.entry("id: VAR-01", "kernels: 7.0+", "says: so", "waits: a",
                                "cannot: b"), "both")
        self.refuses(self.entry("id: var-1", "kernels: 7.0+", "says: so"), "var-1", "VAR-04")
        self.refuses(self.entry("id: DM-01", "kernels: 7.0+", "says: so"), "DM-01", "VAR")
        one = ("id: VAR-01", "kernels: 7.0 to 7.2", "says: so", "")
        self.refuses(self.entry(*one, *one), "second entry VAR-01")


class Read(unittest.TestCase):
    """Ids in comments and names."""

    def test_comments(self):
        for comment, ids in (("VAR-01: x", ["VAR-01"]), ("DM-07b, S12, C7, ERRNO-VAR: x",
                                                        ["DM-07b", "S12", "C7", "ERRNO-VAR"]),
                             ("VAR-01 to VAR-03: x", ["VAR-01", "VAR-02", "VAR-03"]),
                             ("It is so: VAR-01", []), ("VAR-01 without a colon", []), ("", [])):
            self.assertEqual(inv.ids_of(comment), (ids, []), comment)
        for comment in ("VAR-01, so: x", "VAR-03 to VAR-01: x", "VAR-01 to DM-02: x"):
            self.assertEqual(len(inv.ids_of(comment)[1]), 1, comment)

    def test_names(self):
        for name, id_ in (("var_08_partial", "VAR-08"), ("dm_07b_optional", "DM-07b"),
                          ("dmabuf_s17_zero", "S17"), ("s3_sizes", "S3"), ("c7_free", "C7"),
                          ("errno_dmabuf_all", "ERRNO-DMABUF"), ("l01_leak", "L01"),
                          ("var_many", None), ("con_12", "CON-12"), ("concurrent", None)):
            self.assertEqual(inv.id_of_name(name), id_, name)

    def test_comment_belongs_to_the_next_line_only(self):
        tests = inv.c_tests("selftests/x.c", "/* VAR-01: x */\n\nTEST(a)\n{\n}\n"
                                             "/* VAR-02: y */\nTEST_F_TIMEOUT(f, b, 90)\n{\n}\n")
        self.assertEqual([(t.name, t.comment) for t, _, _ in tests],
                         [("a", ""), ("b", "VAR-02: y")])


if __name__ == "__main__":
    unittest.main()
