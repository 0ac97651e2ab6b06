#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The files of examples/ci: what in them is shell is checked as such, what they call is there,
and run.sh, lava.sh and what they use say what was, whatever that is.

python3-yaml is to be found by PYTHONPATH (scripts/lab/readers.sh).
"""

import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

import yaml

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CI = os.path.join(TOP, "examples", "ci")

GOOD = """\
TAP version 13
1..2
# timeout set to 600
# selftests: rdma/uobj_lifetime: var
# TAP version 13
# 1..3
# #  RUN           var.alloc ...
# ok 1 var.alloc
# ok 2 var.map # SKIP not root
# ok 3 var.known # XFAIL L01
# # Totals: pass:1 fail:0 xfail:1 xpass:0 skip:1 error:0
ok 1 selftests: rdma/uobj_lifetime: var
# selftests: rdma/uobj_lifetime: idle.sh
# 1..0 # SKIP no /sys/kernel/debug/mlx5_vhca: load mlx5_vhca.ko
ok 2 selftests: rdma/uobj_lifetime: idle.sh # SKIP
# Totals: pass:1 fail:0 xfail:0 xpass:0 skip:1 error:0
"""


def load(name):
    with open(os.path.join(CI, name), encoding="utf-8") as text:
        return yaml.safe_load(text)


def run(command, text=None, **variables):
    done = subprocess.run(command, check=False, text=True, input=text, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env={**os.environ, **variables})
    return done.returncode, done.stdout, done.stderr


class Files(unittest.TestCase):
    def shell(self, text):
        # What a CI puts in itself is a word.
        text = re.sub(r"\$\{\{.*?\}\}", "word", text)
        status, _, said = run(["bash", "-n"], text)
        self.assertEqual(status, 0, said)
        if shutil.which("shellcheck"):
            status, said, _ = run(["shellcheck", "--shell=bash", "--exclude=SC2164", "-"], text)
            self.assertEqual(status, 0, said)

    def calls(self, text):
        """The files of this tree that a command names are there, and can be run."""
        found = re.findall(r"(?:examples/ci/|[.]/)[\w./-]+", text)
        self.assertTrue(found, text)
        for name in found:
            if name != "examples/ci/":
                path = os.path.join(CI, os.path.basename(name))
                self.assertTrue(os.access(path, os.X_OK), name)

    def test_github_actions(self):
        workflow = load("github-actions.yml")
        # YAML 1.1 takes the word on for true.
        self.assertEqual(set(workflow[True]), {"push", "pull_request", "schedule"})
        self.assertEqual(set(workflow["jobs"]), {"suite"})
        job = workflow["jobs"]["suite"]
        self.assertEqual(job["strategy"]["matrix"]["kernel"], ["7.2", "7.3"])
        for step in job["steps"]:
            self.assertEqual(len({"uses", "run"} & set(step)), 1, step)
            if "run" in step:
                self.shell(step["run"])
        # sudo keeps no other variables than these.
        command = next(s["run"] for s in job["steps"] if "run.sh" in s.get("run", ""))
        self.calls(command)
        kept = re.search(r"--preserve-env=(\S+)", command)[1].split(",")
        self.assertEqual(set(kept), set(job["env"]))

    def test_gitlab(self):
        job = load("gitlab-ci.yml")["uobjscope"]
        self.assertEqual(job["parallel"]["matrix"], [{"KERNEL": ["7.2", "7.3"]}])
        self.shell("\n".join(job["script"]))
        self.calls(job["script"][-1])
        self.assertEqual(job["retry"]["exit_codes"], 75)
        self.assertEqual(job["artifacts"]["reports"]["junit"], "ci-results/junit.xml")

    def test_lava(self):
        definition = load("lava.yaml")
        self.assertEqual(definition["metadata"]["format"], "Lava-Test Test Definition 1.0")
        steps = definition["run"]["steps"]
        self.shell("".join(f"{p}=''; " for p in definition["params"]) + "\n".join(steps))
        self.calls(steps[-1])
        used = set(re.findall(r"\$(\w+)", " ".join(steps)))
        self.assertEqual(used, set(definition["params"]))

    def test_tmt(self):
        self.assertTrue(os.path.exists(os.path.join(TOP, ".fmf", "version")))
        self.assertEqual(load("plan.fmf")["execute"]["how"], "tmt")
        self.shell(load("suite.fmf")["test"])
        self.calls(load("suite.fmf")["test"])

    def test_each_is_tested(self):
        known = {"github-actions.yml", "gitlab-ci.yml", "lava.yaml", "plan.fmf", "suite.fmf",
                 "run.sh", "lava.sh", "lava-send.sh", "kselftest-results.awk"}
        self.assertEqual({os.path.basename(f) for f in glob.glob(os.path.join(CI, "*"))}, known)


class RunScript(unittest.TestCase):
    """run.sh with a lab that is told how to end."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name
        for name, text in (
                ("scripts/lab/host-packages.sh", "#!/bin/sh\nexit ${HOST:-0}\n"),
                ("scripts/runner/run.py",
                 "import os, sys\n"
                 "os.makedirs('results/lane-1')\n"
                 "if os.environ.get('TOTALS'):\n"
                 "    open('results/lane-1/totals.json', 'w').write(os.environ['TOTALS'])\n"
                 "    os.symlink('lane-1', 'results/latest')\n"
                 "print(' '.join(sys.argv[1:]))\n"
                 "sys.exit(int(os.environ.get('ENDS', 0)))\n")):
            path = os.path.join(self.top, name)
            os.makedirs(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
            os.chmod(path, 0o755)
        os.makedirs(os.path.join(self.top, "examples"))
        shutil.copytree(CI, os.path.join(self.top, "examples", "ci"))

    def ends(self, **variables):
        status, out, said = run([os.path.join(self.top, "examples", "ci", "run.sh"), "var", "dm"],
                                **variables)
        self.out = out
        return status, said

    def test_good(self):
        status, said = self.ends(TOTALS='{"passed": 3, "failed": 0, "skipped": 0}')
        self.assertEqual((status, self.out), (0, "var dm\n"), said)
        self.assertTrue(os.path.exists(os.path.join(self.top, "ci-results", "totals.json")))

    def test_failures(self):
        for ends, word in ((1, "tests failed"), (2, "panicked"), (3, "hung")):
            with self.subTest(ends=ends):
                self.setUp()
                status, said = self.ends(TOTALS='{"failed": 1, }', ENDS=str(ends))
                self.assertEqual(status, 1)
                self.assertIn(word, said)
                self.assertTrue(os.path.exists(os.path.join(self.top, "ci-results")))

    def test_nothing_was_learned(self):
        for variables in ({"ENDS": "125"}, {"ENDS": "130"}, {"HOST": "125"}, {"ENDS": "0"}):
            with self.subTest(**variables):
                self.setUp()
                self.assertEqual(self.ends(**variables)[0], 75)

    def test_results_of_an_earlier_run_are_not_this_one_s(self):
        self.ends(TOTALS='{"passed": 3, "failed": 0, "skipped": 0}')
        shutil.rmtree(os.path.join(self.top, "results", "lane-1"))
        self.assertEqual(self.ends(ENDS="125")[0], 75)
        self.assertFalse(os.path.exists(os.path.join(self.top, "ci-results")))


class Lava(unittest.TestCase):
    def results(self, text):
        status, out, said = run(["awk", "-f", os.path.join(CI, "kselftest-results.awk")], text)
        self.assertEqual((status, said), (0, ""))
        return dict(line.split(" ") for line in out.splitlines())

    def test_results(self):
        self.assertEqual(self.results(GOOD), {
            "var.var.alloc": "pass", "var.var.map": "skip", "var.var.known": "pass",
            "idle.sh": "skip"})

    def test_cut_anywhere_fails(self):
        lines = GOOD.splitlines(keepends=True)
        # The last one has the totals, which nobody counts on.
        for cut in range(len(lines) - 1):
            self.assertIn("fail", self.results("".join(lines[:cut])).values(), lines[:cut])

    def test_failures(self):
        bad = GOOD.replace("# ok 1 var.alloc", "# not ok 1 var.alloc") \
            .replace("ok 1 selftests: rdma/uobj_lifetime: var",
                     "not ok 1 selftests: rdma/uobj_lifetime: var # exit=1")
        self.assertEqual([n for n, r in self.results(bad).items() if r == "fail"],
                         ["var.var.alloc"])
        for end in ("# exit=139", "# TIMEOUT 600 seconds"):
            died = GOOD.replace("ok 1 selftests: rdma/uobj_lifetime: var",
                                f"not ok 1 selftests: rdma/uobj_lifetime: var {end}")
            self.assertEqual(self.results(died)["var"], "fail")
        missing = GOOD.replace("# ok 3 var.known # XFAIL L01\n", "")
        self.assertEqual(self.results(missing)["var.not-run-3"], "fail")

    def sends(self, text):
        return run([os.path.join(CI, "lava-send.sh")], text)

    def test_send(self):
        status, out, _ = self.sends("a pass\nb skip\n")
        self.assertEqual((status, out), (0, "<TEST_CASE_ID=a RESULT=pass>\n"
                                            "<TEST_CASE_ID=b RESULT=skip>\n"))
        self.assertEqual(self.sends("a fail\nb pass\n")[0], 1)
        self.assertEqual(self.sends("")[0], 1)

    def test_whole(self):
        """lava.sh with a tarball whose run_kselftest.sh prints GOOD, and LAVA's own command."""
        with tempfile.TemporaryDirectory() as folder:
            tests = os.path.join(folder, "tests", "rdma", "uobj_lifetime")
            os.makedirs(tests)
            for name, text in ((os.path.join(folder, "tests", "run_kselftest.sh"),
                                f"#!/bin/sh\necho \"$*\" >&2\ncat <<'E'\n{GOOD}E\n"),
                               (os.path.join(folder, "lava-test-case"),
                                f"#!/bin/sh\necho \"$@\" >> {folder}/sent\n")):
                with open(name, "w", encoding="utf-8") as out:
                    out.write(text)
                os.chmod(name, 0o755)
            tarball = os.path.join(folder, "kselftest.tar.gz")
            run(["tar", "czf", tarball, "-C", os.path.join(folder, "tests"), "."])
            path = f"{folder}:{os.environ['PATH']}"
            script = os.path.join(CI, "lava.sh")
            status, out, said = run([script, tarball], PATH=path, TESTS="var dm")
            self.assertEqual(status, 0, said)
            self.assertIn("-t rdma/uobj_lifetime:var -t rdma/uobj_lifetime:dm", out)
            with open(os.path.join(folder, "sent"), encoding="utf-8") as sent:
                self.assertEqual(sent.read().splitlines(), [
                    "var.var.alloc --result pass", "var.var.map --result skip",
                    "var.var.known --result pass", "idle.sh --result skip"])
            status, out, said = run([script, os.path.join(folder, "none.tar")])
            self.assertEqual(status, 1)
            self.assertIn("cannot unpack", said)
            self.assertIn("<TEST_CASE_ID=setup RESULT=fail>", out)


if __name__ == "__main__":
    unittest.main()
