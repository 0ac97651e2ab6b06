# SPDX-License-Identifier: GPL-2.0
"""examples/syzkaller: what syz-manager takes, and what goes into its image."""

import json
import os
import re
import stat
import subprocess
import tempfile
import unittest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(TOP, "examples", "syzkaller")
RELEASE = "7.2.12-syz"


class Configuration(unittest.TestCase):
    def test_what_syz_manager_wants(self):
        with open(os.path.join(HERE, "mlx5.cfg"), encoding="utf-8") as file:
            config = json.load(file)
        self.assertEqual(config["target"], "linux/amd64")
        self.assertEqual(config["type"], "qemu")
        for key in ("http", "workdir", "kernel_obj", "syzkaller", "image", "sshkey"):
            self.assertTrue(config[key], key)
        self.assertIn("kernel", config["vm"])
        # Without the file nothing else can be called.
        self.assertIn("openat$uverbs0", config["enable_syscalls"])
        for call in config["enable_syscalls"]:
            self.assertRegex(call, r"^[a-z_0-9]+(\$[A-Za-z0-9_*]+)?$")

    def test_fragment(self):
        with open(os.path.join(HERE, "kcov.config"), encoding="utf-8") as file:
            lines = [line for line in file.read().splitlines()
                     if not line.startswith("#") or line.endswith(" is not set")]
        self.assertIn("CONFIG_KCOV=y", lines)
        for line in lines:
            self.assertRegex(line, r"^(CONFIG_\w+=y|# CONFIG_\w+ is not set)$")


class Image(unittest.TestCase):
    """add-to-image.sh with a folder for an image, and a modinfo that believes file contents."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.top = folder.name
        self.root = os.path.join(self.top, "root")
        os.makedirs(os.path.join(self.root, "etc/systemd/system"))
        modinfo = os.path.join(self.top, "modinfo")
        with open(modinfo, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\ncat "$3"\n')
        os.chmod(modinfo, stat.S_IRWXU)
        self.vhca = self.module("mlx5_vhca.ko")
        self.scope = self.module("uobjscope.ko")

    def module(self, name, release=RELEASE):
        path = os.path.join(self.top, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{release} SMP preempt mod_unload\n")
        return path

    def add(self, *arguments):
        path = self.top + ":" + os.environ["PATH"]
        return subprocess.run([os.path.join(HERE, "add-to-image.sh"), *arguments],
                              capture_output=True, text=True, check=False,
                              env=dict(os.environ, PATH=path))

    def refused(self, said, *arguments):
        result = self.add(*arguments)
        self.assertEqual(result.returncode, 1, result)
        self.assertIn(said, result.stderr)
        self.assertEqual(os.listdir(os.path.join(self.root, "etc/systemd/system")), [])
        self.assertFalse(os.path.exists(os.path.join(self.root, "usr")))

    def test_loaded_at_boot_before_ssh(self):
        result = self.add(self.root, RELEASE, self.scope, self.vhca)
        self.assertEqual(result.returncode, 0, result)
        wanted = os.path.join(self.root, "etc/systemd/system/multi-user.target.wants",
                              "uobjscope.service")
        with open(wanted, encoding="utf-8") as file:
            unit = file.read()
        self.assertIn("Before=ssh.service", unit)
        loaded = re.findall(r"insmod (\S+)", unit)
        # The device first, and what looks at it when it is there.
        self.assertEqual([os.path.basename(f) for f in loaded], ["mlx5_vhca.ko", "uobjscope.ko"])
        for file in loaded:
            self.assertTrue(os.path.exists(self.root + file), file)

    def test_refusals(self):
        self.refused("expected a folder", self.root, RELEASE)
        self.refused("expected the root file system", self.top, RELEASE, self.vhca)
        self.refused("no such module", self.root, RELEASE, self.vhca, "/nowhere.ko")
        self.refused("mlx5_vhca.ko", self.root, RELEASE, self.scope)
        self.refused("was built for 6.12", self.root, RELEASE, self.vhca,
                     self.module("uobjscope.ko", "6.12"))


if __name__ == "__main__":
    unittest.main()
