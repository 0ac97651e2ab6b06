#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""The pages of "uobjscope timeline" in a real browser: Chromium, without a screen.

test_timeline.py UOBJSCOPE SAMPLES PICTURES: the command, the folder of user/tests, and where
pictures for a person go.  Prints TAP.  What a page must show is read from the events here,
and not from the page's own data.
"""

import os
import subprocess
import sys
import traceback

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

# Milliseconds, with much room: a machine that is busy is no fault of the page.
MOST_LOAD, MOST_DRAW, MOST_SEARCH = 5000, 1000, 1000
GUTTER = 230

# What is drawn of bars, after scrolling through all of it: {number: [left, right, name]}.
COLLECT = """
const box = document.getElementById("scroll"), seen = {}, done = arguments[0];
const step = () => {
	// A page draws what is seen only, and when it comes to it.
	if (timeline.view.top !== box.scrollTop)
		return requestAnimationFrame(step);
	for (const bar of document.querySelectorAll(".bar")) {
		const { left, right } = bar.getBoundingClientRect();
		seen[bar.dataset.bar] = [left, right, bar.textContent];
	}
	if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1)
		return done(seen);
	box.scrollTop += box.clientHeight / 2;
	requestAnimationFrame(step);
};
box.scrollTop = 0;
requestAnimationFrame(step);
"""

# Words that are one over the other, of all that are seen now.
OVERLAPS = """
const words = [...document.querySelectorAll(arguments[0])].filter(e => e.textContent.trim())
	.map(e => {
		const range = document.createRange();
		range.selectNodeContents(e);
		const { left, right, top, bottom } = range.getBoundingClientRect();
		const out = e.closest(".bar, .row") || e, clip = out.getBoundingClientRect();
		return { text: e.textContent, left: Math.max(left, out === e ? left : clip.left),
			right: Math.min(right, out === e ? right : clip.right), top, bottom };
	});
const bad = [];
for (const a of words)
	for (const b of words)
		if (a !== b && a.left < b.right - 1 && b.left < a.right - 1 &&
		    a.top < b.bottom - 2 && b.top < a.bottom - 2)
			bad.push(a.text + " over " + b.text);
return bad;
"""


class Page:
    """A page that was made of some events."""

    def __init__(self, driver, path):
        self.driver = driver
        driver.get("file://" + path)
        self.wait()

    def run(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def wait(self):
        """Until what was asked for is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))")

    def get(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def view(self):
        return self.run("return [timeline.view.from, timeline.view.to]")

    def errors(self):
        return [e["message"] for e in self.driver.get_log("browser") if e["level"] == "SEVERE"]

    def picture(self, path):
        self.driver.save_screenshot(path)


class Tests:
    """Each method that begins with test_ is one."""

    def __init__(self, driver, make, facts, pictures):
        self.driver, self.make, self.facts, self.pictures = driver, make, facts, pictures

    def open(self, name, *options):
        return Page(self.driver, self.make(name, "html", *options))

    def test_renders(self):
        page = self.open("scene")
        assert not page.errors(), page.errors()
        assert page.driver.title.startswith("Lifetimes"), page.driver.title
        page.picture(f"{self.pictures}/scene-time.png")
        page = self.open("scene", "--axis=order")
        page.picture(f"{self.pictures}/scene-order.png")
        shown = page.run("return document.querySelectorAll('.bar').length")
        assert shown > 10, f"{shown} bars"
        assert page.get("#axis").get_attribute("value") == "order"

    def test_wants_nothing_from_elsewhere(self):
        page = self.open("scene")
        asked = page.run("return performance.getEntriesByType('resource').map(e => e.name)")
        assert not asked, asked

    def bars_are_right(self, axis):
        page = self.open("scene", f"--axis={axis}")
        events = self.facts.read_events(self.facts.path("scene"))
        first, span = events[0][2], events[-1][2] - events[0][2]
        left, right = page.run("const r = document.getElementById('plot').getBoundingClientRect();"
                               "return [r.left, r.right]")
        seen = page.driver.execute_async_script(COLLECT)
        begin, end = (-0.01 * span, 1.01 * span) if axis == "time" else \
            (0, len(events))

        def place(n):
            at = events[n][2] - first if axis == "time" else n + 0.5
            return left + (at - begin) / (end - begin) * (right - left)

        drawn = [(round(x1), round(x2)) for x1, x2, _ in seen.values()]
        lives = self.facts.whole_lives(events)
        close = 0
        for kind, birth, death in lives:
            x1, x2 = place(birth), max(place(death), place(birth) + 3)
            if any(abs(a - x1) <= 1 and abs(b - x2) <= 1 for a, b in drawn):
                close += 1
            elif axis == "order" or x2 - x1 > 20:
                raise AssertionError(f"no bar for {kind} from {x1:.0f} to {x2:.0f}")
        # By time many are in one place, and one of these is enough.
        assert close >= len(lives) * (1 if axis == "order" else 0.8), f"{close} of {len(lives)}"
        return page, seen

    def test_bars_by_order_are_right(self):
        page, seen = self.bars_are_right("order")
        assert len(seen) == page.run("return timeline.bars.length"), "some bars are not drawn"

    def test_bars_by_time_are_right(self):
        self.bars_are_right("time")

    def test_words_do_not_overlap(self):
        for options in ((), ("--axis=order",)):
            page = self.open("scene", *options)
            for top in (0, 500, 1000):
                page.run("document.getElementById('scroll').scrollTop = arguments[0]", top)
                page.wait()
                for what in (".bar b, .beside", ".row", ".tick", ".flag"):
                    bad = page.run(OVERLAPS, what)
                    assert not bad, f"{what}: {bad[:3]}"

    def test_hover_tells(self):
        page = self.open("scene", "--axis=order")
        bar = page.run("return timeline.bars.find(b => b.name.startsWith('MLX5_UAR')).n")
        element = page.get(f".bar[data-bar='{bar}']")
        ActionChains(page.driver).move_to_element(element).perform()
        tip = page.get("#tip")
        assert tip.is_displayed()
        assert "MLX5_UAR" in tip.text and "uobject_commit" in tip.text, tip.text
        kin = page.run("return [...document.querySelectorAll('.bar.family')]"
                       ".map(e => e.dataset.bar)")
        # The uobject, its mmap entry and the mapping of it.
        assert len(kin) == 3, kin
        page.picture(f"{self.pictures}/hover.png")
        ActionChains(page.driver).move_to_element(page.get("h1")).perform()
        assert not tip.is_displayed()

    def test_click_lists_events(self):
        page = self.open("scene", "--axis=order")
        events = self.facts.read_events(self.facts.path("scene"))
        token = next(f["uobject"] for n, f, _ in events
                     if n == "uobject_commit" and f["type"] == "MLX5_UAR")
        first = next(n for n, e in enumerate(events) if e[1].get("uobject") == token)
        freed = next(n for n, e in enumerate(events)
                     if e[0] == "uobject_free" and e[1]["uobject"] == token)
        wanted = [e[0] for e in events[first:freed + 1]
                  if e[1].get("uobject") == token and e[0].startswith("uobject_")]
        bar = page.run("return timeline.bars.find(b => b.name.startsWith('MLX5_UAR')).n")
        page.get(f".bar[data-bar='{bar}']").click()
        page.wait()
        listed = page.run("return [...document.querySelectorAll('#details tr')]"
                          ".map(row => row.children[2].textContent)")
        assert listed == wanted, f"{listed}, expected {wanted}"
        page.picture(f"{self.pictures}/details.png")
        page.get("#close").click()
        assert not page.get("#details").is_displayed()

    def test_search(self):
        page = self.open("scene")
        events = self.facts.read_events(self.facts.path("scene"))
        revoked = {f["dmabuf"] for n, f, _ in events if n == "dmabuf_revoke"}
        box = page.get("#search")
        box.send_keys("dmabuf_revoke")
        page.wait()
        assert page.get("#hits").text == f"{len(revoked)} found", page.get("#hits").text
        box.send_keys(Keys.ENTER)
        page.wait()
        assert page.get("#hits").text == f"1 of {len(revoked)}"
        name = page.get(".bar.hit.chosen").get_attribute("data-bar")
        assert "dma-buf" in page.run(f"return timeline.bars[{name}].name")
        page.picture(f"{self.pictures}/search.png")
        box.send_keys(Keys.ESCAPE)
        page.wait()
        assert not page.run("return document.querySelectorAll('.searching').length")
        box.send_keys("no such thing")
        page.wait()
        assert page.get("#hits").text == "0 found"

    def test_zoom_and_move(self):
        page = self.open("scene")
        size = page.get("#scroll").size
        origin = ScrollOrigin.from_element(page.get("#scroll"), size["width"] // 4, 0)
        x = page.get("#scroll").location["x"] + size["width"] / 2 + size["width"] // 4 - GUTTER
        width = page.run("return document.getElementById('scroll').clientWidth") - GUTTER
        before = page.view()
        ActionChains(page.driver).key_down(Keys.CONTROL).scroll_from_origin(origin, 0, -300) \
            .key_up(Keys.CONTROL).perform()
        page.wait()
        after = page.view()
        assert after[1] - after[0] < 0.9 * (before[1] - before[0]), (before, after)
        kept = [a + x / width * (b - a) for a, b in (before, after)]
        assert abs(kept[0] - kept[1]) < 0.01 * (before[1] - before[0]), kept
        ActionChains(page.driver).move_to_element_with_offset(page.get("#scroll"), 100, 0) \
            .click_and_hold().move_by_offset(-60, 0).release().perform()
        page.wait()
        moved = page.view()
        part = (moved[0] - after[0]) / (after[1] - after[0])
        assert abs(part - 60 / width) < 0.02, (after, moved)
        page.get("#fit").click()
        page.wait()
        assert page.view() == before
        ActionChains(page.driver).move_to_element_with_offset(page.get("#ruler"), 0, 0) \
            .click_and_hold().move_by_offset(100, 0).release().perform()
        page.wait()
        ranged = page.view()
        assert abs((ranged[1] - ranged[0]) / (before[1] - before[0]) - 100 / width) < 0.01, ranged
        page.get("body").send_keys("f")
        page.wait()
        assert page.view() == before
        page.get("body").send_keys("w")
        page.wait()
        assert page.view()[1] - page.view()[0] < 0.75 * (before[1] - before[0])

    def test_any_name_is_text(self):
        page = self.open("names")
        assert page.run("return window.hacked === undefined && !document.querySelector('img')")
        words = page.get("#labels").text
        assert "</script><img" in words, words
        assert not page.errors(), page.errors()

    def test_ten_thousand_events(self):
        page = self.open("many")
        count = page.run("return timeline.events.length")
        assert count >= 10000, count
        times = page.run("return timeline.times")
        shown = page.run("return document.getElementById('plot').children.length")
        # The first one, which makes the words that are searched in.
        searched = page.run("timeline.search('mmap_entry_put'); return timeline.times.search")
        page.get("#search").send_keys("handle=60 ")
        page.wait()
        found = page.get("#hits").text
        page.picture(f"{self.pictures}/many.png")
        worst = 0
        for step in range(8):
            page.run("timeline.show(...arguments)", *(n * 1e3 for n in (step, step + 4)))
            page.wait()
            worst = max(worst, page.run("return timeline.times.draw"))
        print(f"# {count} events: loaded and drawn in {times['load']:.0f} ms ({shown} elements), "
              f"drawn anew in {worst:.0f} ms at most, searched in {searched:.0f} ms")
        assert found == "10 found", found
        assert times["load"] < MOST_LOAD and worst < MOST_DRAW and searched < MOST_SEARCH

    def test_picture_has_no_words_over_others(self):
        """The letters of SVG are as wide as the command takes them to be."""
        for axis in ("time", "order"):
            Page.__init__(page := Page.__new__(Page), self.driver,
                          self.make("scene", "svg", f"--axis={axis}"))
            bad = page.run(OVERLAPS.replace(".bar, .row", ".none"), "text")
            assert not bad, bad[:3]
            beyond = page.run(
                "const right = e => e.getBBox().x + e.getBBox().width;"
                "return [...document.querySelectorAll('g.bar')].filter(g => {"
                "const t = g.querySelector('text:not(.beside)');"
                "return t && right(t) > right(g.querySelector('path')) + 1 }).length")
            assert not beyond, f"{beyond} names are longer than their bars"
            page.picture(f"{self.pictures}/picture-{axis}.png")


class Facts:
    """The readers of user/tests/timeline.py, and where its samples are."""

    def __init__(self, folder):
        sys.path.insert(0, folder)
        import timeline     # pylint: disable=import-outside-toplevel
        self.read_events, self.whole_lives = timeline.read_events, timeline.whole_lives
        self.folder = folder

    def path(self, name):
        return f"{self.folder}/samples/{name}.txt"


def maker(command, facts, work):
    """A function that has the command write a page, and gives its path."""
    with open(f"{work}/many.txt", "w", encoding="utf-8") as out:
        subprocess.run([sys.executable, f"{facts.folder}/many.py", "10000"], stdout=out, check=True)
    name = "</script><img src=x onerror=hacked=1>"
    with open(f"{work}/names.txt", "w", encoding="utf-8") as out:
        out.write(f" {name}-7 [000] ..... 1.5: ufile_open: ufile=2\n"
                  f" {name}-7 [000] ..... 1.7: uobject_commit: ufile=2 "
                  "type=<img/src=x/onerror=hacked=1> handle=1 uobject=1 object=2\n")

    def make(what, form, *options):
        events = facts.path(what) if os.path.exists(facts.path(what)) else f"{work}/{what}.txt"
        path = f"{work}/{what}{''.join(options).replace('=', '-')}.{form}"
        with open(path, "wb") as out:
            subprocess.run([command, "timeline", f"--format={form}", *options, events], stdout=out,
                           check=True)
        return path
    return make


def browser(work):
    options = Options()
    # As root Chromium does not start with its sandbox, and it sees our own pages only.
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1400,900",
                 "--no-first-run", "--disable-dev-shm-usage", "--disable-extensions",
                 "--disable-background-networking", f"--user-data-dir={work}/profile"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    driver.set_script_timeout(60)
    return driver


def main(command, folder, pictures):
    work = "/tmp/work"
    os.makedirs(work, exist_ok=True)
    facts = Facts(folder)
    make = maker(command, facts, work)
    driver = browser(work)
    names = [name for name in vars(Tests) if name.startswith("test_")]
    print(f"TAP version 13\n1..{len(names)}", flush=True)
    failed = 0
    for number, name in enumerate(names, 1):
        try:
            getattr(Tests(driver, make, facts, pictures), name)()
            print(f"ok {number} {name[5:]}", flush=True)
        except Exception:       # pylint: disable=broad-except
            failed = 1
            print(f"not ok {number} {name[5:]}")
            for line in traceback.format_exc().strip().split("\n")[-12:]:
                print(f"# {line}", flush=True)
    driver.quit()
    return failed


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
