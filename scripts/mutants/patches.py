# SPDX-License-Identifier: GPL-2.0
"""Small patches of the kernel's modules, and where they are built: mutants, each of which
brings a fault back, and fixes, each of which mends one."""

import hashlib
import os
import re
import shutil
import subprocess


class Refused(Exception):
    """It cannot be tried: verdict and reason."""

    def __init__(self, verdict, reason):
        super().__init__(reason)
        self.verdict = verdict
        self.reason = reason


class BuiltIn(Refused):
    """What it changes is no module: files, among those of the patch."""

    def __init__(self, files):
        super().__init__("not tried", f"{' '.join(files)} is built into the kernel, of which the "
                         "lab can build only the debug kernels")
        self.files = files


class Mutant:
    """One patch, of either kind.  What stands before the first file is for people."""

    def __init__(self, path):
        self.path = path
        self.file = os.path.basename(path)
        self.name = self.file.removesuffix(".patch")
        with open(path, encoding="utf-8") as patch:
            text = patch.read()
        self.files = re.findall(r"^\+\+\+ b/(\S+)", text, re.M)
        self.digest = hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def id(self):
        return self.name.split("-", 1)[0]


def load(folder):
    """All of a folder, by name; the same order in every run."""
    return [Mutant(os.path.join(folder, name)) for name in sorted(os.listdir(folder))
            if name.endswith(".patch")]


def folder_of(source, file):
    """The folder whose Makefile builds a file, or the nearest one that has a Makefile."""
    nearest = None
    folder = os.path.dirname(file)
    while folder:
        makefile = os.path.join(source, folder, "Makefile")
        if os.path.exists(makefile):
            nearest = nearest or folder
            with open(makefile, encoding="utf-8") as text:
                if os.path.relpath(os.path.splitext(file)[0], folder) + ".o" in text.read():
                    return folder
        folder = os.path.dirname(folder)
    return nearest


def make_tree(built, folder, modules, where):
    """What run.py boots: the suite as it was built, and these modules over the kernel's
    own."""
    for part in ("install", "modules", "user"):
        os.symlink(os.path.join(built, part), os.path.join(where, part))
    for module in modules:
        to = os.path.join(where, module)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        subprocess.run(["strip", "-g", "-o", to, os.path.join(folder, module)], check=True)


def modules_in(folder):
    """All modules that there are, as files below the folder."""
    return sorted(os.path.relpath(os.path.join(here, name), folder)
                  for here, _, names in os.walk(folder)
                  for name in names if name.endswith(".ko"))


class Workshop:
    """A private copy of the base, in which one mutant after the other is built."""

    def __init__(self, base, source, folder, make):
        self.base = base
        self.source = source
        self.folder = folder
        self.make = make
        subprocess.run(["cp", "-a", base, folder], check=True)
        self.extra = []

    def original(self, file):
        """Where the unchanged text of a file is."""
        kept = os.path.join(self.base, file)
        return kept if os.path.exists(kept) else os.path.join(self.source, file)

    def prepare(self, mutant):
        """Have the folders of all of its files here, and in the Kbuild."""
        for file in mutant.files:
            if not os.path.exists(os.path.join(self.source, file)):
                raise Refused("does not apply", f"this kernel has no {file}")
            if os.path.exists(os.path.join(self.folder, file)):
                continue
            folder = folder_of(self.source, file)
            if not folder:
                raise Refused("not tried", f"no Makefile builds {file}")
            shutil.copytree(os.path.join(self.source, folder),
                            os.path.join(self.folder, folder), dirs_exist_ok=True)
            self.bring_headers(folder)
            with open(os.path.join(self.folder, "Kbuild"), "a", encoding="utf-8") as kbuild:
                kbuild.write(f"obj-m += {folder}/\n")
            self.extra.append(folder)

    def bring_headers(self, folder):
        """Those beside a folder, which it includes by a path that begins with ".."."""
        for here, _, names in os.walk(os.path.join(self.source, folder)):
            for name in names:
                if not name.endswith((".c", ".h")):
                    continue
                with open(os.path.join(here, name), encoding="utf-8", errors="replace") as text:
                    paths = re.findall(r'^#include "(\.\./[^"]+)"', text.read(), re.M)
                # Of the file's own folder, or of one that the Makefile names: its own.
                for path in paths:
                    for base in (here, os.path.join(self.source, folder)):
                        header = os.path.relpath(os.path.normpath(os.path.join(base, path)),
                                                 self.source)
                        to = os.path.join(self.folder, header)
                        if os.path.exists(os.path.join(self.source, header)) and \
                                not os.path.exists(to):
                            os.makedirs(os.path.dirname(to), exist_ok=True)
                            shutil.copyfile(os.path.join(self.source, header), to)

    def apply(self, mutant):
        done = subprocess.run(["patch", "-p1", "-s", "-f", "--fuzz=0", "-d", self.folder, "-r", "-",
                               "--no-backup-if-mismatch", "-i", mutant.path],
                              check=False, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode:
            raise Refused("does not apply", done.stdout.strip().split("\n")[-1])

    def restore(self, mutant):
        """The unchanged text again, newer than what was built of the other."""
        for file in mutant.files:
            here = os.path.join(self.folder, file)
            if os.path.exists(here):
                shutil.copyfile(self.original(file), here)

    def modules_with(self, file):
        """The modules that a C file is part of, by the lists that Kbuild has made; for a
        header there is no telling, and those of its folder count."""
        folder = folder_of(self.source, file)
        wanted = f"/{os.path.splitext(file)[0]}.o"
        found = []
        for here, _, names in os.walk(os.path.join(self.folder, folder)):
            for name in names:
                if not name.endswith(".mod"):
                    continue
                with open(os.path.join(here, name), encoding="utf-8") as text:
                    objects = ["/" + line.strip() for line in text]
                if file.endswith(".h") or any(o.endswith(wanted) for o in objects):
                    found.append(os.path.join(here, name[:-4] + ".ko"))
        return found

    def compile(self, log):
        """All that was touched; raises Refused."""
        with open(log, "w", encoding="utf-8") as out:
            failed = subprocess.run([self.make, self.folder], check=False, stdout=out,
                                    stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode
        if failed:
            with open(log, encoding="utf-8") as text:
                errors = [line.strip() for line in text if "error:" in line]
            raise Refused("does not build", errors[0] if errors else f"see {log}")

    def check_modules(self, mutant):
        """Once it was compiled: is all of it in modules?  Raises BuiltIn."""
        built_in = [file for file in mutant.files if not self.modules_with(file)]
        if built_in:
            raise BuiltIn(built_in)

    def take_changed(self, files, where):
        """Copies of files with the patch, at their paths below a folder."""
        for file in files:
            to = os.path.join(where, file)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(os.path.join(self.folder, file), to)

    def build(self, mutant, log):
        """Paths of the modules, relative to the folder; raises Refused."""
        self.prepare(mutant)
        self.apply(mutant)
        self.compile(log)
        self.check_modules(mutant)
        return self.modules()

    def modules(self):
        """All modules that there are, as files below the folder."""
        return modules_in(self.folder)
