#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Print lifetime events of many objects, as the kernel's file trace has them.

many.py COUNT: at least so many events, the same ones each time, of ten processes that each
have VARs made, mapped, unmapped and freed, some of which live long.
"""

import random
import sys


def var(rng, ufile, number, at):
    """The events of one VAR, [(microseconds, text)]."""
    uobject, entry, vma = (f"{ufile:04x}{kind:04x}{number:08x}" for kind in (1, 2, 3))
    of = f"ufile={ufile} type=MLX5_VAR handle={number} uobject={uobject}"
    page = f"ufile={ufile} entry={entry} pgoff=0x{number + 128:x}0000 npages=1"
    start = 0x7F0000000000 + number * 4096
    area = f"ufile={ufile} vma={vma} entry={entry} start=0x{start:x} end=0x{start + 4096:x}"
    life = rng.choice((80, 200, 900, 20000))
    steps = [("uobject_alloc", f"{of} object=0000000000000000", 3),
             ("mmap_entry_insert", f"{page} ref=1", 1),
             ("uobject_commit", f"{of} object={entry}", 20),
             ("mmap_entry_get", f"{page} ref=2", 2),
             ("vma_open", area, 2),
             ("mmap_entry_put", f"{page} ref=3", life),
             ("vma_close", area, 9),
             ("mmap_entry_put", f"{page} ref=2", 12),
             ("uobject_destroy", f"{of} object={entry} reason=destroy", 2),
             ("mmap_entry_remove", f"{page} ref=1", 2),
             ("mmap_entry_free", f"{page} ref=0", 1),
             ("var_free", f"ufile={ufile} entry={entry} page_id={number % 64} tlp=0", 1),
             ("uobject_destroyed", f"{of} object={entry} reason=destroy ret=0", 1),
             ("uobject_free", f"{of} object={entry}", 1)]
    events = []
    for name, fields, takes in steps:
        events.append((at, f"{name}: {fields}"))
        at += takes * (0.5 + rng.random())
    return events


def main(count):
    rng = random.Random(1)
    events = []
    each = count // 140 + 1
    for ufile in range(1, 11):
        at = rng.random() * 500
        mine = [(at, f"ufile_open: ufile={ufile}")]
        for number in range(each):
            at += rng.random() * 300
            mine += var(rng, ufile, number, at)
        last = max(us for us, _ in mine) + 50
        mine += [(last, f"ufile_cleanup: ufile={ufile} reason=close"),
                 (last + 5, f"ufile_cleaned: ufile={ufile}"),
                 (last + 9, f"ufile_release: ufile={ufile}")]
        events += [(us, ufile, text) for us, text in mine]
    for us, ufile, text in sorted(events):
        print(f"          worker-{1000 + ufile:<6} [{ufile % 4:03d}] .....  "
              f"{10 + us / 1e6:.6f}: {text}")


if __name__ == "__main__":
    main(int(sys.argv[1]))
