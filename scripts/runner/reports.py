# SPDX-License-Identifier: GPL-2.0
"""The files that other programs read: KTAP in both nestings, flat TAP, and JUnit XML."""

from xml.sax.saxutils import escape, quoteattr

from results import FAIL, SKIP, XFAIL, count


def clean(text):
    """A KTAP description ends at a number sign, and a line is a line."""
    return text.replace("#", "%").replace("\n", " ")


def result_line(number, name, test_failed, directive=""):
    return f"{'not ok' if test_failed else 'ok'} {number} {clean(name)}{directive}"


def directive_of(test):
    if test.status == SKIP:
        return f" # SKIP {clean(test.reason)}"
    if test.status == XFAIL:
        # kunit.py knows no XFAIL and takes the line as the pass that it counts as.
        return f" # XFAIL {clean(test.reason)}"
    return ""


def program_failed(program):
    return any(t.status == FAIL for t in program.tests)


def program_skipped(program):
    return bool(program.tests) and all(t.status == SKIP for t in program.tests)


def is_plain(program):
    """One result that has the program's own name needs no nesting."""
    return len(program.tests) == 1 and program.tests[0].name == program.short


def ktap(programs):
    """Two-space nesting, as KTAP defines it and kunit.py reads it."""
    yield "KTAP version 1"
    yield f"1..{len(programs)}"
    for number, program in enumerate(programs, 1):
        if is_plain(program):
            test = program.tests[0]
            if test.status == FAIL:
                yield f"# {clean(test.reason)}"
            yield result_line(number, program.short, test.status == FAIL, directive_of(test))
            continue
        yield "  KTAP version 1"
        yield f"  1..{len(program.tests)}"
        for inner, test in enumerate(program.tests, 1):
            if test.status == FAIL:
                yield f"  # {clean(test.reason)}"
            yield "  " + result_line(inner, test.name, test.status == FAIL, directive_of(test))
        skipped = " # SKIP all of its tests" if program_skipped(program) else ""
        yield result_line(number, program.short, program_failed(program), skipped)


def kselftest(programs):
    """The form of run_kselftest.sh, the nested results behind number signs."""
    yield "TAP version 13"
    yield f"1..{len(programs)}"
    for number, program in enumerate(programs, 1):
        title = f"selftests: {program.name.replace(':', ': ')}"
        yield f"# {title}"
        if not is_plain(program):
            yield "# TAP version 13"
            yield f"# 1..{len(program.tests)}"
        for inner, test in enumerate(program.tests, 1):
            # What a benchmark prints is its result.
            told = test.status == FAIL or program.short.startswith("bench_")
            for line in test.lines if told else ():
                yield f"# # {line.lstrip('# ')}"
            if test.status == FAIL:
                yield f"# # {clean(test.reason)}"
            if not is_plain(program):
                yield "# " + result_line(inner, test.name, test.status == FAIL,
                                         directive_of(test))
        directive = " # SKIP" if program_skipped(program) else ""
        if is_plain(program) and program.tests[0].status == XFAIL:
            directive = directive_of(program.tests[0])
        yield result_line(number, title, program_failed(program), directive)


def tap(programs):
    """A line a test and no nesting, for readers that take a nested result for a comment.
    TAP 12, which has no version line: with that of 13 python3-tap wants a parser of YAML."""
    tests = [(p, t) for p in programs for t in p.tests]
    yield f"1..{len(tests)}"
    for number, (program, test) in enumerate(tests, 1):
        if test.status == FAIL:
            yield f"# {clean(test.reason)}"
        name = program.short if is_plain(program) else f"{program.short}.{test.name}"
        yield result_line(number, name, test.status == FAIL, directive_of(test))


def junit(programs, lane):
    passed, failed, skipped = count(programs)
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield (f'<testsuites name={quoteattr("uobjscope " + lane)} '
           f'tests="{passed + failed + skipped}" failures="{failed}" skipped="{skipped}">')
    for program in programs:
        _, failed, skipped = count([program])
        yield (f'  <testsuite name={quoteattr(program.name)} tests="{len(program.tests)}" '
               f'failures="{failed}" skipped="{skipped}" time="{program.seconds:.1f}">')
        for test in program.tests:
            yield (f'    <testcase classname={quoteattr(program.short)} '
                   f'name={quoteattr(test.name)}>')
            if test.status == FAIL:
                yield (f'      <failure message={quoteattr(xml_text(test.reason))}>'
                       f'{escape(xml_text(chr(10).join(test.lines)))}</failure>')
            elif test.status == SKIP:
                yield f'      <skipped message={quoteattr(xml_text(test.reason))}/>'
            elif test.status == XFAIL:
                yield ('      <properties><property name="known-issue" '
                       f'value={quoteattr(xml_text(test.reason))}/></properties>')
            yield '    </testcase>'
        yield '  </testsuite>'
    yield '</testsuites>'


def xml_text(text):
    """XML has no place for control characters, which a broken test may print."""
    return "".join(c for c in text if c >= " " or c in "\n\t")


def table(programs):
    """A short table for a person: a line a program, then every test that did not pass."""
    width = max([len(p.short) for p in programs] + [7])
    yield f"{'program':<{width}}  passed  failed  skipped  seconds"
    for program in programs:
        passed, failed, skipped = count([program])
        yield (f"{program.short:<{width}}  {passed:>6}  {failed:>6}  {skipped:>7}"
               f"  {program.seconds:>7.1f}")
    for program in programs:
        for test in program.tests:
            if test.status in (FAIL, SKIP):
                yield f"{test.status.upper()} {program.short}.{test.name}: {test.reason}"
