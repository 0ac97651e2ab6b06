#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""selftests/invariants against the tests, and Documentation/invariants.rst out of both.

    invariants.py check     exit status 1, with a line for each, if the catalogue, the
                            tests and the document do not agree
    invariants.py write     write the document
    invariants.py missing   ids without a test, and why; always succeeds

The catalogue states its format.  A test's ids stand at the begin of the comment right
above it, before the first colon; in a script, above the function that is the test.
"""

import argparse
import fnmatch
import os
import re
import sys
import textwrap

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TOP, "scripts", "runner"))

import known_issues                                                     # noqa: E402
from machine import LabError                                            # noqa: E402

CATALOGUE, DOCUMENT = "selftests/invariants", "Documentation/invariants.rst"

# First key of a block: (keys that must follow, keys that may).
BLOCKS = {
    "group": ({"title"}, {"about"}),
    "unbound": ({"because"}, set()),
    "id": ({"kernels"}, {"says", "page", "code", "verdict", "see", "library", "waits",
                         "cannot", "further"}),
}
ID = r"(?:[A-Z]+-\d\d[a-z]?|[A-Z]\d+|[A-Z]+-[A-Z]+)"
KERNELS = re.compile(r"\d+[.]\d+(?:[+]| to \d+[.]\d+)$")


class Wrong(Exception):
    """A file is not what it should be; the text names it."""


class Catalogue:
    """What selftests/invariants says."""

    def __init__(self):
        self.groups = []        # [fields, with the list "entries"]
        self.entries = {}       # id -> fields
        self.unbound = {}       # pattern -> because

    def is_unbound(self, program):
        return any(fnmatch.fnmatchcase(program, p) for p in self.unbound)


class Test:
    """One test of a program, as its source has it."""

    def __init__(self, program, name, comment, where):
        self.program = program
        self.name = name
        self.where = where          # FILE:LINE
        self.comment = comment
        self.ids = []
        self.steps = set()          # witnesses that are asked in the test itself
        self.end = set()            # and by its fixture at the end

    @property
    def label(self):
        return f"{self.program}.{self.name}"


# The catalogue.

def blocks(text, name):
    """Lists of (key, value) of a file, lines that go on put together."""
    for block in re.split(r"\n[ \t]*\n", text):
        pairs = []
        for line in block.split("\n"):
            if not line.strip() or line.startswith("#"):
                continue
            if line[0] in " \t":
                if not pairs:
                    raise Wrong(f"{name}: a line that goes on, and none before: '{line}'")
                pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]} {line.strip()}")
                continue
            key, colon, value = line.partition(":")
            if not colon or not value.strip():
                raise Wrong(f"{name}: expected 'key: value', seen '{line}'")
            pairs.append((key, value.strip()))
        if pairs:
            yield pairs


def fields_of(pairs, name):
    """A block as a dict, its keys checked."""
    first, label = pairs[0]
    if first not in BLOCKS:
        raise Wrong(f"{name}: a block begins with {first}, expected {', '.join(BLOCKS)}")
    needed, allowed = BLOCKS[first]
    fields = {}
    for key, value in pairs:
        if key != first and key not in needed | allowed:
            raise Wrong(f"{name}: {label}: unknown key {key}")
        if key in fields:
            raise Wrong(f"{name}: {label}: {key} is there twice")
        fields[key] = value
    for key in sorted(needed - set(fields)):
        raise Wrong(f"{name}: {label}: no {key}")
    return fields


def check_entry(fields, group, name):
    id_ = fields["id"]
    what = f"{name}: {id_}"
    if not re.fullmatch(ID, id_):
        raise Wrong(f"{what}: expected an id like VAR-04, DM-07b, S12 or ERRNO-VAR")
    if not group or not re.match(group["group"] + r"[-\d]", id_):
        raise Wrong(f"{what}: does not belong to group {group['group'] if group else '-'}")
    forms = ({"says"}, {"page"}, {"page", "code", "verdict"})
    if set(fields) & {"says", "page", "code", "verdict"} not in forms:
        raise Wrong(f"{what}: expected says, or page, or page with code and verdict")
    if not KERNELS.match(fields["kernels"]):
        raise Wrong(f"{what}: kernels: expected '7.0+' or '7.0 to 7.2', seen {fields['kernels']}")
    if "library" in fields and not fields["library"].isdigit():
        raise Wrong(f"{what}: library: expected a version of rdma-core, seen {fields['library']}")
    if "waits" in fields and "cannot" in fields:
        raise Wrong(f"{what}: both waits and cannot")


def parse(text, name=CATALOGUE):
    """The Catalogue in a text, or Wrong."""
    catalogue = Catalogue()
    for pairs in blocks(text, name):
        fields = fields_of(pairs, name)
        if "group" in fields:
            if any(g["group"] == fields["group"] for g in catalogue.groups):
                raise Wrong(f"{name}: a second group {fields['group']}")
            catalogue.groups.append({**fields, "entries": []})
        elif "unbound" in fields:
            catalogue.unbound[fields["unbound"]] = fields["because"]
        else:
            group = catalogue.groups[-1] if catalogue.groups else None
            check_entry(fields, group, name)
            if fields["id"] in catalogue.entries:
                raise Wrong(f"{name}: a second entry {fields['id']}")
            catalogue.entries[fields["id"]] = fields
            group["entries"].append(fields)
    return catalogue


# The tests' sources.

def strip_c_comment(lines):
    """The text of a /* */ comment, given as its lines."""
    text = "\n".join(lines)
    text = re.sub(r"^\s*/[*]+|[*]+/\s*$", "", text)
    return " ".join(re.sub(r"^\s*[*]", "", line).strip() for line in text.split("\n")).strip()


def comment_above(lines, at):
    """The C comment that ends in the line before lines[at], or ''."""
    end = at - 1
    if end < 0 or not lines[end].rstrip().endswith("*/"):
        return ""
    begin = end
    while begin > 0 and "/*" not in lines[begin]:
        begin -= 1
    return strip_c_comment(lines[begin:end + 1])


TEST = re.compile(r"(TEST|TEST_SIGNAL|TEST_F|TEST_F_SIGNAL|TEST_F_TIMEOUT)\(([^)]*)\)")


def body_from(lines, at):
    """From lines[at] to the line that is a closing brace and nothing else."""
    body = []
    for line in lines[at:]:
        body.append(line)
        if line.startswith("}"):
            break
    return "\n".join(body)


def c_tests(path, text):
    """[(Test, fixture or None, body)] of a program of kselftest_harness.h."""
    found, lines = [], text.split("\n")
    program = os.path.basename(path)[:-len(".c")]
    for n, line in enumerate(lines):
        match = TEST.match(line)
        if not match:
            continue
        words = [w.strip() for w in match[2].split(",")]
        fixture, name = (words[0], words[1]) if match[1].startswith("TEST_F") else (None, words[0])
        test = Test(program, name, comment_above(lines, n), f"{path}:{n + 1}")
        found.append((test, fixture, body_from(lines, n)))
    return found


FUNCTION = re.compile(r"^(\w+)\(\)")


def shell_functions(lines):
    """{name: (line number, comment, body)} of a script."""
    found = {}
    for n, line in enumerate(lines):
        match = FUNCTION.match(line)
        if not match:
            continue
        begin = n
        while begin > 0 and lines[begin - 1].startswith("#"):
            begin -= 1
        comment = " ".join(c.lstrip("#").strip() for c in lines[begin:n])
        one_line = line.rstrip().endswith("}")
        found[match[1]] = (n + 1, comment, line if one_line else body_from(lines, n))
    return found


def shell_calls(text):
    """[(name of the test, words of its command)] that a script runs by run, run_as, ...

    Names that stand in a variable are those of its list or of the loop over it.
    """
    calls = []
    lists = {}
    for name, quoted, word in re.findall(r"""(\w+)=(?:["']([^"']*)["']|(\w+))""", text):
        lists.setdefault(name, []).extend(re.findall(r"(?<!\$)\b\w+", quoted) or [word])
    loops = {}
    for variable, words in re.findall(r"\bfor (\w+) in ([^;\n]*);", text):
        named = []
        for word in words.split():
            word = word.strip('"')
            named += lists.get(word.strip("${}"), []) if word.startswith("$") else [word]
        loops.setdefault(variable, []).extend(w for w in named if w not in loops.get(variable, []))
    for line in re.sub(r"\\\n", " ", text).split("\n"):
        for command, rest in re.findall(r"(?:^|[;&|]|\bdo|\bthen|\belse)\s*(run|run_here|run_as|run_with|run_all)\s+([^;&|#]+)", line):
            words = re.findall(r'"[^"]*"|\S+', rest)
            words = [w.strip('"') for w in words]
            if command == "run_all":
                calls += [(name, [name]) for w in words for name in lists.get(w.strip("${}"), [])]
                continue
            if command == "run_with":
                words = words[2:]
            if not words:
                continue
            name = words[0]
            variable = re.fullmatch(r"\$\{?(\w+)\}?", name)
            if variable:
                # What the script's own functions are called with is not a name.
                names = loops.get(variable[1], [])
            else:
                names = [re.sub(r"\$\{?\w+\}?", "*", name)]
            for name in names:
                command_words = words[1:] if command == "run_as" else words[1:] or [name]
                calls.append((name, [name if w == words[0] else w for w in command_words]))
    return calls


def shell_tests(path, text):
    """[(Test, None, body)] of a script that sources test_lib.sh."""
    found, seen = [], set()
    functions = shell_functions(text.split("\n"))
    for name, words in shell_calls(text):
        candidates = [w for w in [*words, name] if w in functions]
        if name in seen or not candidates:
            continue
        seen.add(name)
        chosen = next((w for w in candidates if claimed(functions[w][1])), candidates[0])
        line, comment, body = functions[chosen]
        test = Test(os.path.basename(path), name, comment, f"{path}:{line}")
        found.append((test, None, "\n".join([body] + [functions[w][2] for w in candidates])))
    return found


# Ids in comments and names.

def claimed(comment):
    """The words before a comment's first colon if one of them is an id, else []."""
    words = [w.strip() for w in comment.partition(":")[0].split(",")] if ":" in comment else []
    likely = [w for w in words if re.fullmatch(f"{ID}(?: to {ID})?", w)]
    return words if likely else []


def ids_of(comment):
    """(ids, words that are none) at the begin of a comment."""
    ids, odd = [], []
    for word in claimed(comment):
        if re.fullmatch(ID, word):
            ids.append(word)
            continue
        match = re.fullmatch(r"([A-Z]+-)(\d\d) to ([A-Z]+-)(\d\d)", word)
        if match and match[1] == match[3] and int(match[2]) < int(match[4]):
            ids += [f"{match[1]}{n:02}" for n in range(int(match[2]), int(match[4]) + 1)]
        else:
            odd.append(word)
    return ids, odd


def id_of_name(name):
    """The id that a test's name begins with, or None."""
    match = re.match(r"(uobj|ent|var|imp|dm|dmabuf|att|con)_(\d\db?)(?:_|$)", name)
    if match:
        return f"{match[1].upper()}-{match[2]}"
    match = re.match(r"errno_(var|dmabuf|dm|mr)(?:_|$)", name)
    if match:
        return f"ERRNO-{match[1].upper()}"
    match = re.match(r"(?:[a-z]+_)?([sc])(\d{1,2})(?:_|$)", name)
    if match:
        return match[1].upper() + match[2]
    match = re.match(r"l(\d\d)(?:_|$)", name)
    return f"L{match[1]}" if match else None


# Witnesses.

COUNTS, FILES, DEVICE = "counts", "files", "device"
LEAVES = {
    COUNTS: r"scope_(?:check|count|find|value|held_by|unexplained|differences|left)"
            r"|uobjscope_(?:entry_of|get_u64|diff\w*|holders)",
    DEVICE: r"vhca_(?:find|find_new|since|count_since|last_since|other_since|violations"
            r"|violation_at|last_violation|memory|no_violation|is_at_rest)"
            r"|rest_(?:ledger_delta|return|is_same)",
}
LEAVES = {witness: re.compile(rf"(?:{names})$") for witness, names in LEAVES.items()}
# In scripts, and where a helper reads the files itself.
TEXTS = {
    COUNTS: re.compile(r"\buobjscope (?:show|who|diff|tree)\b|SCOPE_DEBUGFS"),
    FILES: re.compile(r"fdinfo|bufinfo|/proc/self/maps|/maps\"|rdma (?:-\w+ )?resource"
                      r"|rdma[.]current|kprobe"),
    DEVICE: re.compile(r"VHCA_DEBUGFS"),
}


def without_comments(text):
    return re.sub(r"/[*].*?[*]/", " ", text, flags=re.DOTALL)


def definitions(text):
    """{name: body} of the functions and the macros with parameters of a C file."""
    found, lines = {}, without_comments(text).split("\n")
    n = 0
    while n < len(lines):
        macro = re.match(r"#define\s+(\w+)\(", lines[n])
        if macro:
            body = [lines[n]]
            while lines[n].endswith("\\") and n + 1 < len(lines):
                n += 1
                body.append(lines[n])
            found[macro[1]] = "\n".join(body)
        elif lines[n] == "{":
            head, begin = "", n - 1
            while begin >= 0 and lines[begin].strip() and not lines[begin].startswith(("}", "#")):
                head = f"{lines[begin]} {head}"
                begin -= 1
            name = re.search(r"(\w+)\s*\(", head)
            body = body_from(lines, n)
            if name:
                key = name[1]
                if key in ("FIXTURE_SETUP", "FIXTURE_TEARDOWN"):
                    key += " " + re.search(r"\((\w+)", head)[1]
                found[key] = body
            n += body.count("\n")
        n += 1
    return found


class Sources:
    """Definitions of the files in common/, by what a program includes."""

    def __init__(self, read):
        self.read = read            # name below selftests/ -> text, or None
        self.cache = {}

    def of(self, name):
        if name not in self.cache:
            text = self.read(name) or ""
            self.cache[name] = (definitions(text), re.findall(r'#include "([^"]+)"', text))
        return self.cache[name]

    def visible(self, text):
        """All definitions that a program of this text is made of."""
        found, todo, seen = {}, re.findall(r'#include "([^"]+)"', text), set()
        while todo:
            name = todo.pop()
            name = name if name.startswith("common/") else f"common/{name}"
            if name in seen:
                continue
            seen.add(name)
            for part in (name, name[:-1] + "c"):
                defined, included = self.of(part)
                found.update(defined)
                # What a .c file of common/ needs by itself its callers do not see as macros,
                # but its functions call it.
                todo += included
        found.update(definitions(text))
        return found


def witnesses(body, defined, seen=None):
    """Which witnesses a piece of code asks, itself or through what it calls."""
    seen = set() if seen is None else seen
    body = without_comments(body)
    found = {w for w, text in TEXTS.items() if text.search(body)}
    for word in set(re.findall(r"\b[A-Za-z_]\w*", body)):
        leaf = next((w for w, names in LEAVES.items() if names.match(word)), None)
        if leaf:
            found.add(leaf)
        elif word in defined and word not in seen:
            seen.add(word)
            found |= witnesses(defined[word], defined, seen)
    return found


# The two together.

def scan(folder):
    """All Tests below selftests/."""
    def read(name):
        try:
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    sources, tests = Sources(read), []
    library = shell_functions((read("test_lib.sh") or "").split("\n"))
    for name in sorted(os.listdir(folder)):
        text = read(name) if name.endswith((".c", ".sh")) and name != "test_lib.sh" else None
        if text is None:
            continue
        path = f"selftests/{name}"
        if name.endswith(".c"):
            if not TEST.search(text):
                continue
            defined, found = sources.visible(text), c_tests(path, text)
        else:
            if "/test_lib.sh" not in text:
                continue
            own = shell_functions(text.split("\n"))
            defined = {f: body for f, (_, _, body) in {**library, **own}.items()}
            found = shell_tests(path, text)
        for test, fixture, body in found:
            test.ids, test.odd = ids_of(test.comment)
            test.steps = witnesses(body, defined)
            if fixture:
                end = defined.get(f"FIXTURE_TEARDOWN {fixture}", "")
                test.end = witnesses(end, defined) - test.steps
            tests.append(test)
    return tests


def complaints(catalogue, tests, issues):
    """What does not fit, in sentences.  issues: {id: entry} of known_issues."""
    said = []
    proved = {id_: [] for id_ in catalogue.entries}
    for test in tests:
        name_id = id_of_name(test.name)
        if name_id and name_id in issues and name_id not in test.ids:
            # Known faults are named by the test's name.
            test.ids.append(name_id)
        for word in test.odd:
            said.append(f"{test.where}: {test.name}: '{word}' is no id")
        for id_ in test.ids:
            if id_ in proved:
                proved[id_].append(test)
            elif id_ not in issues:
                said.append(f"{test.where}: {test.name}: no {id_} in {CATALOGUE}")
        if name_id and name_id not in test.ids:
            said.append(f"{test.where}: {test.name}: its comment does not name {name_id}")
        if not test.ids and not catalogue.is_unbound(test.program):
            said.append(f"{test.where}: {test.name}: its comment names no invariant")
    for id_, entry in catalogue.entries.items():
        if not proved[id_] and not {"waits", "cannot"} & set(entry):
            said.append(f"{CATALOGUE}: {id_}: no test, and neither waits nor cannot")
        for key in ("waits", "cannot"):
            if proved[id_] and key in entry:
                said.append(f"{CATALOGUE}: {id_}: {key}, but {proved[id_][0].label} proves it "
                            "(further: says what a test leaves out)")
        if not proved[id_] and "further" in entry:
            said.append(f"{CATALOGUE}: {id_}: further, but there is no test")
        for other in re.split(r",\s*", entry["see"]) if "see" in entry else ():
            if other not in catalogue.entries and other not in issues:
                said.append(f"{CATALOGUE}: {id_}: see: there is no {other}")
    labels = {t.label for t in tests}
    for id_, issue in issues.items():
        if issue.test != "-" and issue.test not in labels:
            said.append(f"selftests/known_issues: {id_}: there is no test {issue.test}")
    return said


def check_unbound(catalogue, names):
    """names: of all files in selftests/, programs without .c."""
    return [f"{CATALOGUE}: unbound: there is no {p}" for p in catalogue.unbound
            if not fnmatch.filter(names, p)]


# The document.

HEAD = """\
.. SPDX-License-Identifier: GPL-2.0
.. Made by scripts/invariants.py of selftests/invariants and of the tests: edit those.

==========
Invariants
==========

What must hold of the user objects of mlx5_ib, and which tests prove it. The ids are what
names of tests, reports and other documents refer to; ``make run FILTER=VAR-04`` runs the
tests whose names begin with one. *Kernels* are those that were looked at, from 6.12 on.

Each test asks the caller: the results, errno, what a mapping reads. Behind its name
stands whom it asks as well:

counts
    uobjscope.ko: the kernel's reference and use counts, entries, bitmaps, dma-bufs
files
    the kernel's own files: fdinfo, bufinfo, maps, rdma(8), a probe
device
    mlx5_vhca.ko: its ledger, its history, the memory behind its BAR

"At the end" is what the fixture compares with the test's begin, after all was given
back. This is read off the tests' source, so it says who is asked and not how well.
"""


def wrap(text, indent="    "):
    return textwrap.fill(text, 88, initial_indent=indent, subsequent_indent=indent,
                         break_long_words=False, break_on_hyphens=False)


def asked(test):
    order = (COUNTS, FILES, DEVICE)
    words = [w for w in order if w in test.steps]
    end = [w for w in order if w in test.end]
    if end:
        words.append(f"at the end {' and '.join(end)}")
    return f" ({', '.join(words)})" if words else ""


def reference(id_, issues):
    return f"{id_} (:doc:`known-issues`)" if id_ in issues else id_


def text_of(entry, tests, issues):
    """The lines of one entry: a definition-list item."""
    since = [f"kernel {entry['kernels']}"]
    if "library" in entry:
        since.append(f"rdma-core {entry['library']}+")
    lines = [f"``{entry['id']}`` ({', '.join(since)})"]
    if "says" in entry:
        lines.append(wrap(entry["says"]))
    elif "code" in entry:
        lines += [wrap(f"*Page*: {entry['page']}"), "", wrap(f"*Code*: {entry['code']}"), "",
                  wrap(f"*Verdict*: {entry['verdict']}.")]
    else:
        lines.append(wrap(entry["page"]))
    if "see" in entry:
        others = ", ".join(reference(o, issues) for o in re.split(r",\s*", entry["see"]))
        lines += ["", wrap(f"*See* {others}.")]
    if tests:
        lines.append("")
        lines += [f"    * ``{t.label}``{asked(t)}" for t in tests]
    for key, word in (("waits", "Waits for"), ("cannot", "Cannot be tested"),
                      ("further", "Not covered")):
        if key in entry:
            lines += ["", wrap(f"*{word}*: {entry[key]}.")]
    return lines


def render(catalogue, tests, issues):
    """Documentation/invariants.rst."""
    lines = HEAD.split("\n")
    counted = [e for e in catalogue.entries.values()
               if any(e["id"] in t.ids for t in tests)]
    waiting = [e for e in catalogue.entries.values() if e not in counted and "waits" in e]
    never = [e for e in catalogue.entries.values() if e not in counted and "cannot" in e]
    bound = [t for t in tests if any(i in catalogue.entries for i in t.ids)]
    lines += [wrap(f"{len(catalogue.entries)} entries: {len(counted)} have tests "
                   f"({len(bound)} of them), {len(waiting)} wait, {len(never)} cannot be "
                   "tested.", ""), ""]
    for group in catalogue.groups:
        lines += [group["title"], "=" * len(group["title"]), ""]
        if "about" in group:
            lines += [wrap(group["about"], ""), ""]
        for entry in group["entries"]:
            mine = [t for t in tests if entry["id"] in t.ids]
            lines += text_of(entry, mine, issues) + [""]
    title = "Programs that are not bound to invariants"
    lines += [title, "=" * len(title), ""]
    for pattern, because in catalogue.unbound.items():
        lines += [f"``{pattern}``", wrap(because)]
    return "\n".join(lines).rstrip("\n") + "\n"


def missing(catalogue, tests):
    """(id, why) of what has no test."""
    proved = {i for t in tests for i in t.ids}
    for id_, entry in catalogue.entries.items():
        if id_ not in proved:
            yield id_, (f"waits: {entry['waits']}" if "waits" in entry else
                        f"cannot: {entry['cannot']}" if "cannot" in entry else "-")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("what", choices=("check", "write", "missing"))
    arguments.add_argument("--top", default=TOP, help="the tree to look at")
    options = arguments.parse_args()
    folder = os.path.join(options.top, "selftests")
    document = os.path.join(options.top, DOCUMENT)
    try:
        with open(os.path.join(options.top, CATALOGUE), encoding="utf-8") as file:
            catalogue = parse(file.read())
        issues = known_issues.load(os.path.join(folder, "known_issues"))
        tests = scan(folder)
    except (Wrong, LabError, OSError) as error:
        print(f"invariants.py: {error}", file=sys.stderr)
        return 1
    said = complaints(catalogue, tests, issues)
    if options.what == "missing":
        for id_, why in missing(catalogue, tests):
            print(f"{id_}: {why}")
        return 0
    text = render(catalogue, tests, issues)
    if options.what == "write":
        with open(document, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    names = [n[:-2] if n.endswith(".c") else n for n in os.listdir(folder)]
    said += check_unbound(catalogue, names)
    try:
        with open(document, encoding="utf-8") as file:
            same = file.read() == text
    except FileNotFoundError:
        same = False
    if not same:
        said.append(f"{DOCUMENT}: not what the catalogue and the tests say: run "
                    "scripts/invariants.py write")
    for line in said:
        print(line)
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
