#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Are the pictures of "uobjscope timeline" right?

timeline.py FOLDER: for each FOLDER/NAME-AXIS.html and .svg, made of FOLDER/NAME.txt,
compare what is in it with what the events say, read here anew.
"""

import json
import re
import sys
import xml.etree.ElementTree as tree

LINE = re.compile(r"^.*-(\d+) +\[\d+\] \S+ +([\d.]+): (\w+): (.*)$")
WANTED = re.compile(r"(uobject|ufile|mmap_entry|vma|memic|dmabuf)_|var_free$|command$|console$")
KINDS = {
    "ufile": ("ufile", "ufile_open", "ufile_release"),
    "uobject": ("uobject", "uobject_commit", "uobject_destroyed"),
    "mmap entry": ("entry", "mmap_entry_insert", "mmap_entry_free"),
    "mapping": ("vma", "vma_open", "vma_close"),
    "dma-buf": ("dmabuf", "dmabuf_export", "dmabuf_release"),
    "attachment": ("attachment", "dmabuf_attach", "dmabuf_detach"),
    "dma mapping": ("attachment", "dmabuf_map", "dmabuf_unmap"),
}
EVENT, CUT, LOST, NEVER = range(4)
SVG = "{http://www.w3.org/2000/svg}"
# As timeline_svg.c has them.
LEFT, PLOT, WIDTH, LETTER = 16 + 230, 1130, 230 + 1130 + 32, 6.0


def read_events(path):
    """[(name, {field: value}, microseconds)]"""
    events = []
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            found = LINE.match(line)
            if found and WANTED.match(found[3]):
                fields = dict(re.findall(r"(\w+)=(\S+)", found[4]))
                events.append((found[3], fields, float(found[2]) * 1e6))
    return events


def whole_lives(events):
    """{(kind, index of the birth, index of the death)} of what was born and died."""
    lives = set()
    for kind, (key, birth, death) in KINDS.items():
        born = {}
        for n, (name, fields, _) in enumerate(events):
            if name == birth:
                born[fields[key]] = n
            elif name == death and fields.get("ret", "0") == "0" and fields[key] in born:
                lives.add((kind, born.pop(fields[key]), n))
    return lives


def page_data(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    assert not re.search(r"(src|href)=|url\(|@import|fetch\(|XMLHttp|https?:", text), \
        f"{path} wants something from elsewhere"
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text,
                                re.S)[1])


def check_page(path, events):
    data = page_data(path)
    assert [(e[3], round(e[0])) for e in data["events"]] == \
        [(name, round(us - events[0][2])) for name, _, us in events], f"{path}: other events"
    names = [kind[0] for kind in data["kinds"]]
    bars = [dict(zip(("kind", "name", "row", "head", "birth", "death", "tail", "begins", "ends",
                      "parent"), bar)) for bar in data["bars"]]
    drawn = {(names[b["kind"]], b["birth"], b["death"]) for b in bars
             if b["begins"] == EVENT and b["ends"] == EVENT and names[b["kind"]] != "test"}
    lives = whole_lives(events)
    assert drawn == lives, f"{path}: bars {drawn ^ lives}"
    # What is destroyed twice, by its ufile and by its own file, is one.
    unborn = [b["name"] for b in bars if names[b["kind"]] == "uobject" and b["begins"] == LOST]
    assert not unborn, f"{path}: {unborn}"
    rows = {}
    for bar in bars:
        assert bar["head"] <= bar["birth"] <= bar["death"] <= bar["tail"], bar
        rows.setdefault(bar["row"], []).append((bar["head"], bar["tail"]))
        if bar["parent"] >= 0:
            assert bars[bar["parent"]]["row"] < bar["row"], f"{path}: {bar['name']} is above"
    for row in rows.values():
        row.sort()
        for one, other in zip(row, row[1:]):
            assert one[1] < other[0], f"{path}: {one} and {other} are in one row"
    # Each event is somewhere, in a bar or as a mark.
    seen = {n for b in bars for n in (b["birth"], b["death"])} | {m[0] for m in data["marks"]}
    missing = [n for n in range(len(events)) if n not in seen and events[n][0] != "console"]
    assert not missing, f"{path}: nothing of events {missing[:5]}"
    revokes = sum(name == "dmabuf_revoke" for name, _, _ in events)
    unbinds = sum(name == "ufile_cleanup" and fields["reason"].startswith("driver_")
                  for name, fields, _ in events)
    kinds = [data["line_kinds"][kind][0] for _, kind, _ in data["lines"]]
    assert (kinds.count("revoke"), kinds.count("unbind")) == (revokes, unbinds), kinds
    return data, bars


def text_boxes(root):
    """(left, right, top, text) of what has the fixed font."""
    boxes = []
    for text in root.iter(SVG + "text"):
        if text.get("font-size") == "10":
            left, size = float(text.get("x")), LETTER * len(text.text or "")
            boxes.append((left, left + size, float(text.get("y")), text.text))
    return boxes


def check_picture(path, data, bars, by_order):
    root = tree.parse(path).getroot()
    events = data["events"]
    span = events[-1][0]

    def place(n):
        part = (n + 0.5) / len(events) if by_order else events[n][0] / span
        return LEFT + part * PLOT

    drawn = {int(g.get("data-bar")): g for g in root.iter(SVG + "g") if g.get("data-bar")}
    assert set(drawn) == set(range(len(bars))), f"{path}: not all bars are there"
    for n, group in drawn.items():
        shape = group.find(SVG + "path").get("d")
        numbers = [float(x) for x in re.findall(r"[MLH]([\d.]+)", shape)]
        left, right = min(numbers), max(numbers)
        wanted_left = LEFT if bars[n]["begins"] == CUT else place(bars[n]["birth"])
        wanted_right = LEFT + PLOT if bars[n]["ends"] == CUT else place(bars[n]["death"])
        assert abs(left - wanted_left) < 0.11, f"{path}: {bars[n]['name']} begins at {left}"
        assert abs(right - max(wanted_right, wanted_left + 3)) < 0.2, \
            f"{path}: {bars[n]['name']} ends at {right}, expected {wanted_right}"
    boxes = sorted(text_boxes(root), key=lambda box: (box[2], box[0]))
    for one, other in zip(boxes, boxes[1:]):
        assert one[2] != other[2] or one[1] <= other[0], f"{path}: {one} overlaps {other}"
    for left, right, _, text in boxes:
        assert left >= 16 and right <= WIDTH, f"{path}: {text} is cut off"
    return len(boxes)


def main(folder):
    for name, axis in ((n, a) for n in ("trace", "scene", "many") for a in ("time", "order")):
        events = read_events(f"{folder}/{name}.txt")
        data, bars = check_page(f"{folder}/{name}-{axis}.html", events)
        assert data["axis"] == axis
        texts = check_picture(f"{folder}/{name}-{axis}.svg", data, bars, axis == "order")
        print(f"{name} by {axis}: {len(events)} events, {len(bars)} bars, "
              f"{len(data['rows'])} rows, {texts} words in the picture")


if __name__ == "__main__":
    main(*sys.argv[1:])
