#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What people open in a browser: the page of tally report --html, and speedscope with our export. Both run in a headless Chromium.

  page.py --tally build/tally [--guests BUILD/guest] [--pictures DIR] [NAME...]

Numbers of a page are compared with those of tally report --csv. --pictures keeps screenshots, for people to look at. The exit status is 1
when a test failed.
"""
import argparse
import base64
import csv
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGES = os.path.join(ROOT, "src", "report", "page", "node_modules")
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from browser import Browser  # noqa: E402
from claims import Skip, contains, equal, new_scratch, read_options, run_tests, test  # noqa: E402

CLEAN = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH") if name in os.environ}
EVENTS = "cycles,instructions,l1d.load_miss"
TABLE = """[...document.querySelectorAll('#functions tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"""
CODE = """[...document.querySelectorAll('#code tbody tr')].map(row => [...row.cells].map(cell => cell.textContent))"""
# The widest frame of a name.
FRAME = """[...document.querySelectorAll('#flame .frame')].filter(g => g.getAttribute('name') === {})
           .sort((a, b) => b.getAttribute('width') - a.getAttribute('width'))[0]"""
options = scratch = None


def tally(*words):
    done = subprocess.run([options.tally, *words], stdin=subprocess.DEVNULL, capture_output=True, env=CLEAN, timeout=300)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def good(*words):
    status, out, err = tally(*words)
    equal(status, 0, f"{words}: {err}")
    return out


def recorded(name, *words):
    """The profile of a guest program that exits with 0."""
    path, program = os.path.join(scratch, name + ".profile"), os.path.join(options.guests, name)
    if not os.path.exists(program):
        raise Skip(f"there is no guest program {name}")
    if not os.path.exists(path):
        good("record", "-q", "-o", path, *(words or ("-g", "-e", EVENTS)), "--", program)
    return path


def page_of(profile, *words):
    path = profile + ".html"
    status, _, stderr = tally("report", "--html", path, *words, profile)
    if status == 2 and "this build has no page" in stderr:
        raise Skip("this build has no page; run tools/install-deps build, and build again")
    equal((status, stderr), (0, ""))
    return path


def opened(path, **words):
    browser = Browser(**words)
    browser.open(path)
    return browser


def keep(browser, name):
    os.makedirs(options.pictures or scratch, exist_ok=True)
    browser.picture(os.path.join(options.pictures or scratch, name + ".png"))


def table(profile, *words):
    return list(csv.DictReader(io.StringIO(good("report", "--csv", "-s", "symbol", "-e", EVENTS, *words, profile))))


def whole(text):
    return int(text.replace(",", ""))


def check_quiet(browser, path):
    """The page fetched nothing, and nothing in it failed."""
    equal(browser.requests, ["file://" + path])
    equal(browser.complaints, [])


@test
def totals_and_functions_are_those_of_tally_report():
    profile = recorded("demo")
    path = page_of(profile)
    heading = good("report", "-e", EVENTS, profile).splitlines()[0]
    totals = [whole(n) for n in re.findall(r" ([\d,]+) [a-z]", heading.split(":", 1)[1])]
    with opened(path) as browser:
        cards = browser.ask("[...document.querySelectorAll('#events b')].map(e => e.textContent)")
        equal([whole(card) for card in cards], totals)
        equal(browser.ask("[...document.querySelectorAll('#events span')].map(e => e.textContent)"), EVENTS.split(","))
        ours = {row["symbol"]: tuple(int(row[event]) for event in EVENTS.split(",")) for row in table(profile)}
        with_callees = {row["symbol"]: int(row["cycles"]) for row in table(profile, "--children")}
        rows = browser.ask(TABLE)
        equal({name: tuple(map(whole, counts)) for _, name, *counts, _, _ in rows}, ours)
        shown = {row[1]: whole(row[5]) for row in rows if row[5] != "-"}
        equal(shown, {name: n for name, n in with_callees.items() if name in ours})
        equal([row[1] for row in rows[:6]], [row["symbol"] for row in table(profile)][:6])
        # A frame is as wide as its part of the cycles.
        width = "{}.querySelector('rect').getBoundingClientRect().width"
        browser.wait_for("document.querySelectorAll('#flame .frame').length > 10 && Number(" + FRAME.format("'demo'") + ".querySelector('rect').getAttribute('width')) > 0")
        share = browser.ask(width.format(FRAME.format("'strcspn'"))) / browser.ask(width.format(FRAME.format("'demo'")))
        expected = with_callees["strcspn"] / totals[0]
        if abs(share - expected) > 0.003:
            raise AssertionError(f"strcspn is {share} of the width, and has {expected} of the cycles")
        keep(browser, "page-light")
        check_quiet(browser, path)


@test
def a_frame_that_is_clicked_shows_its_code():
    profile = recorded("demo")
    path = page_of(profile)
    with opened(path, is_dark=True) as browser:
        browser.wait_for(f"!!{FRAME.format(repr('strlen'))}")
        browser.click(FRAME.format("'strlen'"))
        browser.wait_for("document.getElementById('code-title').textContent === 'strlen'")
        annotated = good("annotate", "-i", profile, "-e", EVENTS, "strlen")
        ours = [(address, n.strip()) for n, address in re.findall(r"^[> ]([ \d,]{12,}) \|  +([0-9a-f]+): ", annotated, re.M)]
        theirs = [(cells[-1].split()[0], " ".join(cells[:-1]).strip()) for cells in browser.ask(CODE)]
        equal([(address, " ".join(n.split())) for address, n in theirs], [(address, " ".join(n.split())) for address, n in ours])
        if len(ours) < 20:
            raise AssertionError(annotated)
        contains(browser.ask("document.getElementById('flame-info').textContent"), "strlen: ", "cycles", "of its own")
        contains(browser.ask("document.getElementById('calls').textContent"), "Called by main ")
        equal(browser.ask("document.documentElement.dataset.theme"), "dark")
        browser.click("[...document.querySelectorAll('#calls button')].find(b => b.textContent === 'main')")
        browser.wait_for("document.getElementById('code-title').textContent === 'main'")
        contains(browser.ask("document.getElementById('code').textContent"), "demo.c:", "int main(int argc, char **argv) {")
        keep(browser, "page-dark")
        check_quiet(browser, path)


@test
def events_sort_and_filters_choose_what_is_shown():
    profile = recorded("demo")
    with opened(page_of(profile, "-e", EVENTS + ",cpi,branch-misses")) as browser:
        browser.click("document.querySelectorAll('#events button')[2]")
        by_misses = sorted(table(profile), key=lambda row: -int(row["l1d.load_miss"]))
        equal([row[1] for row in browser.ask(TABLE)[:4]], [row["symbol"] for row in by_misses[:4]])
        equal(browser.ask("document.querySelector('th[aria-sort]').textContent"), "l1d.load_miss")
        with_callees = {row["symbol"]: int(row["l1d.load_miss"]) for row in table(profile, "--children")}
        shown = {row[1]: whole(row[7]) for row in browser.ask(TABLE) if row[7] != "-"}
        equal(len(shown) > 50 and shown, {name: n for name, n in with_callees.items() if name in shown})
        browser.click("[...document.querySelectorAll('#functions th button')].find(b => b.textContent === 'function')")
        names = [row[1].lower() for row in browser.ask(TABLE)]
        equal(names, sorted(names))
        browser.ask("document.getElementById('filter').value = 'STRCSPN', document.getElementById('filter').dispatchEvent(new Event('input'))")
        equal([row[1] for row in browser.ask(TABLE)], ["strcspn"])
        for card, sentence in ((3, "cpi is a ratio"), (4, "tally record -g -e branch-misses")):
            browser.click(f"document.querySelectorAll('#events button')[{card}]")
            contains(browser.ask("document.getElementById('flame').textContent"), sentence)
        equal(browser.complaints, [])


@test
def a_profile_without_calls_has_a_table_and_code():
    with opened(page_of(recorded("demo", "-g", "-e", EVENTS))) as browser:
        equal(browser.ask("document.querySelectorAll('#flame .frame').length > 3"), True)
    flat = recorded("isa_hello", "-e", "cycles") if os.path.exists(os.path.join(options.guests, "isa_hello")) else None
    if not flat:
        raise Skip("there is no guest program isa_hello")
    with opened(page_of(flat)) as browser:
        contains(browser.ask("document.getElementById('flame').textContent"), "no call graph", "tally record -g")
        equal(len(browser.ask(CODE)) > 2, True)
        equal(browser.complaints, [])


@test
def names_of_a_foreign_profile_are_text():
    """Names that would end an element, open one, or run."""
    profile = os.path.join(scratch, "foreign.profile")
    shutil.copy(recorded("demo"), profile)
    hostile = ["</script><script>document.title='taken'</script>", "<img src=x onerror=\"document.title='taken'\">", "<!--<script>", "]]>&lt;b&gt;\"'`${1}",
               "__proto__", "constructor"]
    with sqlite3.connect(profile) as database:
        for i, name in enumerate(hostile):
            database.execute("UPDATE function SET name = ? WHERE id = (SELECT function FROM instruction JOIN count ON instruction.id = count.instruction "
                             "WHERE function IN (SELECT id FROM function WHERE name NOT IN (%s)) GROUP BY function ORDER BY sum(n) DESC LIMIT 1)"
                             % ",".join("?" * i), [name, *hostile[:i]])
        database.execute("UPDATE run SET value = ? WHERE name IN ('program', 'machine')", [hostile[0] + "!"])
        database.execute("UPDATE thread SET name = ?", [hostile[0]])
        database.execute("UPDATE event SET meaning = ?", [hostile[1]])
        database.execute("UPDATE object SET path = ?", [hostile[0]])
        database.execute("UPDATE instruction SET disassembly = ? WHERE id % 2", [hostile[1]])
        database.execute("UPDATE source SET path = ?", [hostile[0]])
        database.execute("UPDATE run SET value = '[1, {\"a\": \"</script>\"}]' WHERE name = 'argv'")
    path = page_of(profile)
    with open(path, "rb") as text:
        page = text.read()
    equal(page.count(b"<script"), 2, "elements that run")
    with opened(path) as browser:
        contains(browser.ask("document.title"), hostile[0] + "! on ")
        equal(browser.ask("document.querySelectorAll('script').length + document.querySelectorAll('img').length"), 2)
        equal({row[1] for row in browser.ask(TABLE)} >= set(hostile), True)
        browser.wait_for(f"!!{FRAME.format(json.dumps(hostile[0]))}")
        browser.click(FRAME.format(json.dumps(hostile[0])))
        equal(browser.ask("document.getElementById('code-title').textContent"), hostile[0])
        check_quiet(browser, path)


@test
def a_deep_and_wide_call_graph_keeps_its_sums():
    """A chain of 3,000 contexts, and 60,000 small ones below the first: the page draws them together, and loses nothing."""
    profile = os.path.join(scratch, "wide.profile")
    shutil.copy(recorded("demo"), profile)
    with sqlite3.connect(profile) as database:
        (total,) = database.execute("SELECT total FROM event WHERE name = 'hart.cycle'").fetchone()
        (cycle,) = database.execute("SELECT id FROM event WHERE name = 'hart.cycle'").fetchone()
        database.execute("DELETE FROM context_count")
        database.execute("DELETE FROM context")
        names = [row[0] for row in database.execute("SELECT id FROM function ORDER BY id")]
        chain = [(i, 0, i - 1 if i else None, None, names[i % len(names)], 1) for i in range(3000)]
        wide = [(3000 + i, 0, 3000 + i - 1 if i % 2 else 0, None, names[i % len(names)], 2) for i in range(60000)]
        database.executemany("INSERT INTO context VALUES (?, ?, ?, ?, ?, ?)", chain + wide)
        counts = [(i, cycle, 1) for i in range(63000)]
        counts[2999] = (2999, cycle, total - 62999)
        database.executemany("INSERT INTO context_count VALUES (?, ?, ?)", counts)
    path = page_of(profile, "-e", "cycles")
    with open(path, encoding="utf-8") as text:
        data = json.loads(re.search(r'id="profile">(.*?)\s*</script>', text.read(), re.S)[1])
    tree = data["tree"]
    equal(sum(tree["counts"][0]), total)
    equal(len(tree["parent"]) <= 20000 and data["is_shortened"], True)
    with opened(path) as browser:
        browser.wait_for("document.querySelectorAll('#flame .frame').length > 900")
        equal(browser.ask("document.querySelectorAll('#flame .frame').length < 2000"), True)
        browser.ask("document.getElementById('search').value = 'main', document.getElementById('search').dispatchEvent(new Event('input'))")
        contains(browser.ask("document.getElementById('flame-info').textContent"), "100.00 %")
        equal(browser.complaints, [])


@test
def what_is_no_page_is_said():
    profile = recorded("demo")
    page_of(profile)
    for words, part in ((["--csv"], "--html is a page"), (["--children"], "--html is a page"), (["-e", "cycels"], "did you mean cycles")):
        status, out, err = tally("report", "--html", "-", *words, profile)
        equal((status, out, err.count("\n")), (2, "", 1), err)
        contains(err, part)
    status, _, err = tally("report", "--html", "/dev/full", profile)
    equal((status, err.count("\n")), (125, 1), err)
    contains(err, "/dev/full", "No space left on device")
    status, _, err = tally("report", "--no-source", profile)
    equal(status, 2, err)


@test
def speedscope_shows_our_export():
    release = os.path.join(PACKAGES, "speedscope", "dist", "release", "index.html")
    if not os.path.exists(release):
        raise Skip("speedscope is not installed; run tools/install-deps build")
    profile = recorded("demo")
    export = good("export", "speedscope", profile)
    script = os.path.join(scratch, "load.js")  # as speedscope's own command hands a file to the page
    with open(script, "w", encoding="ascii") as text:
        text.write(f"speedscope.loadFileFromBase64('demo.json', '{base64.b64encode(export.encode()).decode('ascii')}')")
    with Browser(width=1400, height=900) as browser:
        browser.open(release, "#localProfilePath=" + script)
        browser.wait_for("document.title === 'demo - speedscope'")
        browser.wait_for("document.body.innerText.includes('cycles (1/3)')")
        keep(browser, "speedscope-time-order")
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="3", code="Digit3", windowsVirtualKeyCode=51, **({"text": "3"} if kind == "keyDown" else {}))
        browser.wait_for("document.body.innerText.includes('Symbol Name')")
        keep(browser, "speedscope-sandwich")
        rows = [line for line in browser.ask("document.body.innerText").split("Symbol Name", 1)[1].splitlines() if line.strip()]
        equal([request for request in browser.requests if not request.startswith("file://")], [])
        equal(browser.complaints, [])
    shown = {name.strip(): (whole(total.split()[0]), whole(own.split()[0])) for total, own, name in zip(rows[0::3], rows[1::3], rows[2::3])}
    ours = {row["symbol"]: (int(row["cycles"]), int(row["self"])) for row in table(profile, "--children")}
    if len(shown) < 15:
        raise AssertionError(shown)
    equal({name: ours[name] for name in shown}, shown)


def main():
    global options, scratch
    parser = argparse.ArgumentParser()
    parser.add_argument("--guests", default="")
    parser.add_argument("--pictures", help="folder for screenshots")
    options = read_options(parser)
    with new_scratch("page-") as scratch:
        return run_tests(options.names)


if __name__ == "__main__":
    sys.exit(main())
