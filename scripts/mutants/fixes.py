#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Run the suite with candidate fixes of known faults.

Each fix is a patch in selftests/fixes, or one of rdma-core in a folder there.  The kernel's
are built into its own modules, as mutants are, and those of rdma-core into libmlx5.  A guest
with these runs the suite by run.py, which is told what is fixed: a fault that is still seen
is a failure then, and no longer a known one.

Exit status: that of run.py; 125 if the fixes could not be built.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile

from mutants import TOP, LabError, lab, say
from patches import BuiltIn, Refused, Workshop, load, make_tree

from lanes import lane                                                  # noqa: E402

RDMA_CORE = "rdma-core"
HERE = os.path.join(TOP, "scripts", "mutants")


def chosen(folder, words):
    """The patches, and whether each was asked for by name."""
    fixes = load(folder)
    if not fixes:
        raise LabError(f"{folder}: no *.patch there")
    library = os.path.join(folder, RDMA_CORE)
    if os.path.isdir(library):
        fixes += load(library)
    if words == ["1"]:
        return fixes, False
    found = []
    for word in words:
        match = [f for f in fixes if word in (f.id, f.name, f.file)]
        if not match:
            raise LabError(f"FIXES={word}: no such fix in {folder}; expected 1 for all, or some "
                           "of: " + " ".join(f.id for f in fixes))
        found += [f for f in match if f not in found]
    return found, True


def is_of_library(fix):
    return os.path.basename(os.path.dirname(fix.path)) == RDMA_CORE


def key_of(base, fixes):
    """What the build depends on: the unchanged modules, and each patch."""
    digest = hashlib.sha256(base.encode())
    for fix in fixes:
        with open(fix.path, "rb") as text:
            digest.update(text.read())
    return digest.hexdigest()[:12]


class Build:
    """Modules and a library with fixes, in a folder; ids are those that are in them."""

    def __init__(self, fixes, by_name, base, where):
        self.by_name = by_name
        self.ids = []
        self.modules([f for f in fixes if not is_of_library(f)], base, where)
        self.library([f for f in fixes if is_of_library(f)], where)

    def leave_out(self, fix, why):
        """It cannot be in what the guest runs: an error if it was asked for by name."""
        if self.by_name:
            raise LabError(f"FIXES={fix.id}: {why}")
        say(f"{fix.id} is left out: {why}")

    def modules(self, fixes, base, where):
        source = lab("scripts/lab/kernel.sh", "source")
        built = []
        with tempfile.TemporaryDirectory(prefix="uobjscope-fixes-") as scratch:
            workshop = Workshop(base, source, os.path.join(scratch, "workshop"),
                                os.path.join(HERE, "make.sh"))
            for fix in fixes:
                try:
                    workshop.prepare(fix)
                    workshop.apply(fix)
                except Refused as refused:
                    raise LabError(f"{fix.name}: {refused.verdict}: {refused.reason}") \
                        from refused
            if fixes:
                say(f"building modules with {len(fixes)} fixes")
                log = os.path.join(where, "build.log")
                try:
                    workshop.compile(log)
                except Refused as refused:
                    raise LabError(f"the fixes do not build: {refused.reason}; see {log}") \
                        from refused
                built = workshop.modules()
            of_image = []
            for fix in fixes:
                try:
                    workshop.check_modules(fix)
                except BuiltIn as built_in:
                    if not os.environ["KERNEL"].endswith("-debug"):
                        self.leave_out(fix, built_in.reason)
                        continue
                    of_image += built_in.files
                self.ids.append(fix.id)
            make_tree(os.path.dirname(where), workshop.folder, built, where)
            if of_image:
                self.image(workshop, of_image, where)

    def image(self, workshop, files, where):
        """The kernel itself, as vmlinuz in the folder."""
        say(f"building a kernel with {' '.join(files)} changed")
        with tempfile.TemporaryDirectory(prefix="uobjscope-fixes-") as changed:
            workshop.take_changed(files, changed)
            log = os.path.join(where, "image.log")
            with open(log, "w", encoding="utf-8") as out:
                if subprocess.run([os.path.join(HERE, "make-image.sh"), where, changed],
                                  check=False, stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=out).returncode:
                    raise LabError(f"the fixes do not build: see {log}")

    def library(self, fixes, where):
        if not fixes:
            return
        status = subprocess.run([os.path.join(HERE, "rdma-core.sh"),
                                 os.path.join(where, "layer"), *(f.path for f in fixes)],
                                check=False, stdout=sys.stderr).returncode
        if status == 1:
            for fix in fixes:
                self.leave_out(fix, "it is built with cmake and ninja")
        elif status:
            raise LabError("")
        else:
            self.ids += [f.id for f in fixes]


def tree_of(fixes, by_name):
    """The folder for run.py, made once for these fixes, and what is fixed in it."""
    built = lab("scripts/lab/build.sh")
    base = lab("scripts/mutants/base.sh")
    where = os.path.join(built, f"fixes-{key_of(base, fixes)}")
    done = os.path.join(where, "fixed")
    if not os.path.exists(done):
        # What is there is of a build that was interrupted.
        subprocess.run(["rm", "-rf", where], check=True)
        os.makedirs(where)
        ids = Build(fixes, by_name, base, where).ids
        with open(done, "w", encoding="utf-8") as out:
            out.write(" ".join(ids) + "\n")
    with open(done, encoding="utf-8") as text:
        return where, text.read().split()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kernel", default=os.environ.get("KERNEL") or "7.2")
    parser.add_argument("--folder", default=os.path.join(TOP, "selftests", "fixes"),
                        help="of the patches")
    parser.add_argument("--fixes", default=os.environ.get("FIXES") or "1",
                        help="1 for all, or some, by id or name")
    parser.add_argument("--build-only", action="store_true", help="run nothing, print the folder")
    parser.add_argument("tests", nargs="*", metavar="PROGRAM[:TEST]",
                        help="and options of run.py, after --")
    arguments = parser.parse_args()
    try:
        os.environ["KERNEL"] = lane(arguments.kernel).series
        where, ids = tree_of(*chosen(arguments.folder, arguments.fixes.split()))
        say("with the fixes of " + " ".join(ids))
        if arguments.build_only:
            print(where)
            return 0
        layer, image = (os.path.join(where, name) for name in ("layer", "vmlinuz"))
        return subprocess.run([sys.executable, os.path.join(TOP, "scripts", "runner", "run.py"),
                               "--kernel", arguments.kernel, "--tree", where,
                               *(["--layer", layer] if os.path.isdir(layer) else []),
                               *(["--image", image] if os.path.exists(image) else []),
                               "--fixed", ",".join(ids), *arguments.tests],
                              check=False).returncode
    except LabError as error:
        if str(error):
            print(f"uobjscope: {error}", file=sys.stderr)
        return 125
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
