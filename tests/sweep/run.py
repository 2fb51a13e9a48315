#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tally sweep from outside: every cell against tally stat, formats, what is kept and run again, failures, other schedulers.

  run.py --tally build/tally [NAME...]
"""
import argparse
import csv
import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from claims import CROSS, built_guest, contains, equal, new_scratch, read_options, run_tests, test  # noqa: E402
from schemas import violations  # noqa: E402

options = None
scratch = None
SIZES, WAYS = ("8KiB", "16KiB", "32KiB"), ("2", "8")
VARY = ["--vary", "l1d.size=" + ",".join(SIZES), "--vary", "l1d.ways=" + ",".join(WAYS)]
EVENTS = ["-e", "cycles,l1d.load_miss", "-M", "l1d_load_miss_rate"]


def tally(*words, env=None, timeout=120):
    done = subprocess.run([options.tally, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout, check=False,
                          env=env)
    return done.returncode, done.stdout, done.stderr


def sweep(*words, **more):
    return tally("sweep", *words, **more)


def program(*deed):
    return ["--", options.guest, *[str(word) for word in deed]]


def fresh(name):
    path = os.path.join(scratch, name)
    shutil.rmtree(path, ignore_errors=True)
    return path


def reports(folder):
    """Reports in the order of the cells of VARY."""
    found = {}
    for name in os.listdir(folder):
        if name.endswith(".json"):
            with open(os.path.join(folder, name), encoding="utf-8") as text:
                config = json.loads(text.readline())["config"]
            found[SIZES.index(config["l1d.size"]), WAYS.index(config["l1d.ways"]), name] = name
    return [found[key] for key in sorted(found)]


def fails(words, status, *parts, **more):
    got, out, err = sweep(*words, **more)
    contains(err, *parts)
    equal(got, status, " ".join(words))
    equal(out, "", "standard output")
    if not err.startswith("tally: ") or err.count("\n") != 1:
        raise AssertionError(f"not one sentence: {err!r}")


def records(*words):
    status, out, err = sweep("--json", *words)
    return status, [json.loads(line) for line in out.splitlines()], err


@test
def every_cell_has_the_counts_of_tally_stat():
    status, lines, _ = records(*VARY, *EVENTS, *program("spin", 10000))
    equal(status, 0)
    cells = [line for line in lines if line["type"] == "cell"]
    equal([tuple(cell["keys"].values()) for cell in cells], [(size, ways) for size in SIZES for ways in WAYS])
    for cell in cells:
        path = os.path.join(scratch, "stat.json")
        settings = [word for key, value in cell["keys"].items() for word in ("--set", f"{key}={value}")]
        equal(tally("stat", "-j", "-o", path, *settings, *EVENTS, *program("spin", 10000))[0], 0)
        with open(path, encoding="utf-8") as text:
            counted = [json.loads(line) for line in text]
        equal(cell["events"], {r["event"]: r["value"] for r in counted if r["type"] == "event"})
        equal(cell["metrics"], {r["metric"]: r["value"] for r in counted if r["type"] == "metric"})
        equal((cell["state"], cell["status"], cell["reason"]), ("done", 0, None))
    if len({cell["events"]["l1d.load_miss"] for cell in cells}) < 3:
        raise AssertionError("caches of several sizes have equal misses: the keys had no effect")


@test
def formats_agree_and_do_not_depend_on_the_number_of_jobs():
    words = [*VARY, *EVENTS, *program("spin", 1000)]
    _, lines, _ = records(*words)
    cells = [line for line in lines if line["type"] == "cell"]
    for jobs in ("1", "5"):
        equal(sweep("-j", jobs, "--json", *words)[1], "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    rows = list(csv.DictReader(io.StringIO(sweep("--csv", *words)[1])))
    text = [line.split() for line in sweep(*words)[1].splitlines()]
    marks = [[word.strip() for word in line.strip("|").split("|")] for line in sweep("--md", *words)[1].splitlines()]
    equal(text[0], ["#", "guest", "on", "rocket:", "6", "cells"])
    equal(text[2], ["#", "l1d.size", "l1d.ways", "cycles", "l1d.load_miss", "l1d_load_miss_rate"])
    equal(marks[0], ["l1d.size", "l1d.ways", "cycles", "l1d.load_miss", "l1d_load_miss_rate", "remark"])
    for number, cell in enumerate(cells):
        counts = [str(cell["events"][name]) for name in ("cycles", "l1d.load_miss")]
        keys = list(cell["keys"].values())
        row = rows[number]
        equal([row["cell"], row["l1d.size"], row["l1d.ways"], row["cycles"], row["l1d.load_miss"], row["remark"]], [str(number), *keys, *counts, ""])
        equal(float(row["l1d_load_miss_rate"]), cell["metrics"]["l1d_load_miss_rate"])
        for shown in (text[3 + number], marks[2 + number]):
            equal([word.replace(",", "") for word in shown[:4]], keys + counts)


@test
def counts_of_a_pmu_stand_beside_the_truth_as_tally_stat_has_them():
    events = "cycles,instructions,branches,branch-misses,L1-icache-load-misses"
    words = ["-P", "rvhpm:u74", "-e", events, "--vary", "l1d.ways=2,8"]
    kept = ["--cells", fresh("pmu"), *words, *program("spin", 20000000)]
    status, lines, _ = records("-j", "3", *kept)
    equal((status, lines[0]["pmu"]), (0, "rvhpm:u74"))
    shares = set()
    for cell in lines[1:3]:
        path = os.path.join(scratch, "stat.json")
        equal(tally("stat", "-j", "-o", path, "-P", "rvhpm:u74", "-e", events, "--set", "l1d.ways=" + cell["keys"]["l1d.ways"], *program("spin", 20000000))[0], 0)
        with open(path, encoding="utf-8") as text:
            counted = [row for row in map(json.loads, text) if row["type"] == "event"]
        equal(cell["events"], {row["event"]: row["value"] for row in counted})
        equal(cell["pmu"], {row["event"]: {"on_counter": row["running"] / row["enabled"], "truth": row["truth"], "error_vs_truth": row["error_vs_truth"]}
                            for row in counted})
        shares |= {row["on_counter"] for row in cell["pmu"].values()}
    if len(shares) < 3:
        raise AssertionError("no event took turns on the counters")
    # Text, Markdown and CSV have the same numbers, whatever the number of jobs.
    text = sweep("-j", "1", *words, *program("spin", 20000000))[1].splitlines()
    equal(text, sweep(*kept)[1].splitlines())
    equal(text[0], "# guest on rocket, pmu rvhpm:u74: 2 cells")
    names = events.split(",")
    heads = [head for name in names for head in (name, "on_counter", "truth", "error")]
    equal(text[2].split(), ["#", "l1d.ways", *heads])
    marks = [[word.strip() for word in line.strip("|").split("|")] for line in sweep("--md", *kept)[1].splitlines()]
    equal(marks[0], ["l1d.ways", *heads, "remark"])
    rows = list(csv.DictReader(io.StringIO(sweep("--csv", *kept)[1])))
    equal(list(rows[0]), ["cell", "l1d.ways", *[name + end for name in names for end in ("", ".on_counter", ".truth", ".error")], "remark"])
    for number, cell in enumerate(lines[1:3]):
        shown = []
        for name in names:
            of, error = cell["pmu"][name], cell["pmu"][name]["error_vs_truth"]
            equal([float(rows[number][name + end] or "nan") for end in ("", ".on_counter", ".truth", ".error")],
                  [cell["events"][name], of["on_counter"], of["truth"], error])
            shown += [f"{cell['events'][name]:,}", f"{100 * of['on_counter']:.2f} %", f"{of['truth']:,}", f"{100 * error:+.2f} %" if error else "exact"]
        equal(text[3 + number].split(), [word for cells in [cell["keys"]["l1d.ways"], *shown] for word in cells.split()])
        equal(marks[2 + number], [cell["keys"]["l1d.ways"], *shown, ""])


@test
def what_takes_no_turns_has_no_column_for_them():
    words = ["-P", "rvhpm:linux", "--vary", "l1d.ways=2,8", *program("exit")]
    text = sweep(*words)[1].splitlines()
    equal(text[2].split()[:5], ["#", "l1d.ways", "cycles", "truth", "error"])
    contains(sweep("--csv", *words)[1], "cycles,cycles.on_counter,cycles.truth,cycles.error")
    # Units of a design that the host reads have columns of their own.
    _, lines, _ = records("-P", "dhpc", "--vary", "dhpc.t_req=1,10", "-e", "core.instret,mem.read,fabric.requests", *program("exit"))
    equal([list(cell["events"]) for cell in lines[1:3]], 2 * [["hart0.core.instret", "mem0.mem.read", "dhpc.fabric.requests"]])
    equal(lines[1]["pmu"]["hart0.core.instret"]["error_vs_truth"], 0)
    equal(lines[1]["pmu"]["dhpc.fabric.requests"]["truth"], None)


@test
def designs_and_presets_vary():
    # A preset is a value of the machine's key, a design one of option -P.
    _, lines, _ = records("-P", "rvhpm", "--vary", "pmu=linux,u74", "-e", "cycles,branches,instructions,branch-misses,L1-icache-load-misses", *program("spin", 20000000))
    equal((lines[0]["pmu"], [cell["keys"]["pmu"] for cell in lines[1:3]]), ("rvhpm", ["linux", "u74"]))
    equal([cell["pmu"]["branches"]["on_counter"] == 1 for cell in lines[1:3]], [True, False])
    status, lines, _ = records("--vary", "pmu=rvhpm:linux,dhpc,ccache,rvhpm:non", "-e", "l2_misses", *program("exit"))
    equal((status, lines[0]["pmu"]), (1, None))
    first, *others = [cell["events"] for cell in lines[1:4]]
    equal(first, others[1])
    equal(list(first), ["l2_misses"])
    contains(lines[4]["reason"], "rvhpm has no preset non")
    # Without -e the columns are those that the design counts by default.
    equal(list(records("-P", "rvhpm", "--vary", "l1d.ways=2", *program("exit"))[1][1]["events"])[:2], ["cycles", "instructions"])
    # Reports of the truth and of a PMU are different cells.
    folder = fresh("pmus")
    for words in ([], ["-P", "rvhpm"], ["-P", "rvhpm:u74"]):
        equal(sweep("--cells", folder, *words, "--vary", "l1d.ways=2", "-e", "cycles", *program("exit"))[0], 0)
    equal(len(os.listdir(folder)), 3)
    fails(["-P", "rvhpm:u74", "--vary", "pmu=linux,u74", *program("exit")], 2, "'pmu=linux' and 'pmu=u74' are the same machine")
    fails(["--vary", "l1d.size=32KiB,32768", *program("exit")], 2, "'l1d.size=32KiB' and 'l1d.size=32768' are the same machine")
    fails(["-P", "rvhpm", "-M", "cpi", "--vary", "l1d.ways=2,4", *program("exit")], 2, "metrics are formulas over the truth")


@test
def json_follows_its_schema():
    with open(os.path.join(ROOT, "docs", "schema", "sweep-1.json"), encoding="utf-8") as text:
        schema = json.load(text)
    for words in ([*VARY, *EVENTS], ["--vary", "l1d.ways=3,4"], ["--vary", "machine=rocket,u74"], ["-P", "dhpc", "--vary", "dhpc.t_req=1,2"]):
        _, lines, _ = records(*words, *program("exit", 3))
        for line in lines:
            equal(violations(schema, schema, line), None, json.dumps(line))
        equal([line["type"] for line in lines], ["header"] + ["cell"] * (len(lines) - 2) + ["end"])


@test
def results_are_kept_and_only_what_is_missing_runs():
    folder = fresh("kept cells")
    words = ["--cells", folder, *VARY, *EVENTS, *program("spin", 1000)]
    first = sweep(*words)
    equal(first[0], 0)
    names = reports(folder)
    equal(len(names), 6)
    times = {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in names}
    os.remove(os.path.join(folder, names[2]))
    with open(os.path.join(folder, names[4]), "w", encoding="utf-8") as cut:
        cut.write('{"type":"header"')
    equal(sweep(*words), first)
    equal([name for name in names if os.stat(os.path.join(folder, name)).st_mtime_ns != times[name]], [names[2], names[4]])
    # Another argument makes other cells; those of before stay. Fewer values need no run.
    equal(sweep("--cells", folder, *VARY, *EVENTS, *program("spin", 1001))[0], 0)
    equal(len(reports(folder)), 12)
    equal(sweep("--cells", folder, "--vary", "l1d.size=32KiB,8KiB", "--set", "l1d.ways=8", *EVENTS, *program("spin", 1000))[0], 0)
    equal(len(reports(folder)), 12)


@test
def a_temporary_folder_leaves_nothing():
    place = fresh("tmp")
    os.mkdir(place)
    environment = {**os.environ, "TMPDIR": place}
    for deed in (("exit",), ("exit", 3), ("crash",)):
        sweep(*VARY, *program(*deed), env=environment)
        equal(os.listdir(place), [])


@test
def failed_cells_are_named_and_the_others_counted():
    status, out, err = sweep("--vary", "l1d.ways=3,4", *program("exit"))
    equal((status, err), (1, ""))
    contains(out, "2 cells, 1 failed", "failed: l1d.size = 32KiB: must be 3 ways")
    status, lines, _ = records("--vary", "l1d.ways=2,4", *program("signal", 11))
    equal(status, 1)
    for cell in lines[1:3]:
        equal((cell["state"], cell["status"], cell["events"]), ("failed", None, {}))
        contains(cell["reason"], "SIGSEGV")
    equal(lines[3], {"type": "end", "cells": 2, "done": 0, "failed": 2})
    # What tally stat calls a success is one here.
    status, out, _ = sweep("--vary", "l1d.ways=2,4", *program("exit", 3))
    equal((status, out.count("exit status 3"), out.count("failed")), (0, 2, 0))
    status, out, _ = sweep("--timeout", "200ms", "--vary", "l1d.ways=2,4", *program("spin", 10**13))
    equal((status, out.count("failed: ")), (1, 2))
    folder = fresh("timeout")
    equal(sweep("--cells", folder, "--timeout", "200ms", "--vary", "l1d.ways=2,4", *program("spin", 10**13))[0], 1)
    equal(sweep("--cells", folder, "--max-insns", "1000", "--vary", "l1d.ways=2,4", *program("spin", 10**13))[0], 0)


@test
def an_interrupted_sweep_goes_on_where_it_stopped():
    folder = fresh("stopped")
    words = [options.tally, "sweep", "-j", "1", "--cells", folder, "--vary", "l1d.ways=2,4,8"]
    # The first cells are there; the last one never ends.
    equal(subprocess.run([*words[:-1], "l1d.ways=2,4", "--max-insns", "5M", *program("spin", 10**13)], capture_output=True, check=False).returncode, 0)
    for number in (signal.SIGINT, signal.SIGTERM):
        child = subprocess.Popen([*words, *program("spin", 10**13)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 30
        while not any(name.endswith(".err") for name in os.listdir(folder)) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.3)
        child.send_signal(number)
        out, err = child.communicate(timeout=60)
        equal((child.returncode, out), (128 + number, ""))
        contains(err, "tally: stopped; results so far are in", "the same command runs the rest")


@test
def cells_can_be_shared_out():
    folder = fresh("shared")
    words = ["--cells", folder, *VARY, *EVENTS, *program("spin", 100)]
    for part in ("0/4", "1/4", "3/4"):
        equal(sweep("--only", part, *words), (0, "", ""))
    equal(len(reports(folder)), 5)
    equal(sweep("--only", "2", *words), (0, "", ""))
    times = {name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in reports(folder)}
    equal(sweep(*words)[1], sweep(*VARY, *EVENTS, *program("spin", 100))[1])
    equal({name: os.stat(os.path.join(folder, name)).st_mtime_ns for name in reports(folder)}, times)
    fails(["--only", "6", *words], 2, "--only", "cells of this sweep are 0 to 5")


# A stand-in for sbatch: tasks one after another, in another folder's shell. tests/sweep/slurm.py has a real one.
SBATCH = """#!/bin/sh
set -eu
echo "$@" >> {log}
for word do
    case $word in
    --array=*) tasks=${{word#--array=}} ;;
    esac
    script=$word
done
for range in $(echo "${{tasks%%\\%*}}" | tr , ' '); do
    for task in $(seq "${{range%-*}}" "${{range#*-}}"); do
        SLURM_ARRAY_TASK_ID=$task sh "$script"
    done
done
"""


@test
def slurm_gets_an_array_of_what_is_missing():
    bin_folder, folder = fresh("bin"), fresh("it's cells; $HOME")
    os.mkdir(bin_folder)
    log = os.path.join(bin_folder, "log")
    with open(os.path.join(bin_folder, "sbatch"), "w", encoding="utf-8") as text:
        text.write(SBATCH.format(log=shlex.quote(log)))
    os.chmod(os.path.join(bin_folder, "sbatch"), 0o755)
    environment = {**os.environ, "PATH": bin_folder + ":" + os.environ["PATH"]}
    words = [*VARY, *EVENTS, *program("words", "a b", "$HOME", "it's", "*")]
    here = sweep(*words)
    there = sweep("--slurm", "--cells", folder, *words, env=environment)
    equal(there[:2], here[:2])
    names = reports(folder)
    for number in (1, 2, 5):
        os.remove(os.path.join(folder, names[number]))
    equal(sweep("--slurm", "-j", "2", "--cells", folder, *words, env=environment)[:2], here[:2])
    with open(log, encoding="utf-8") as text:
        arrays = [word for line in text for word in line.split() if word.startswith("--array")]
    equal(arrays, ["--array=0-5", "--array=1-2,5%2"])
    with open(os.path.join(bin_folder, "sbatch"), "w", encoding="utf-8") as text:
        text.write("#!/bin/sh\nexit 3\n")
    fails(["--slurm", "--cells", fresh("none"), *words], 125, "sbatch failed, and no cell has run", env=environment)
    fails(["--slurm", *words], 2, "--slurm needs --cells DIR")


@test
def the_picture_is_well_formed_and_has_every_line():
    path = os.path.join(scratch, "p.svg")
    for n_ways, n_panels in ((2, 3), (7, 6)):
        ways = ",".join(str(2 ** n) for n in range(n_ways))
        equal(sweep("--vary", "l1d.size=32KiB,64KiB", "--vary", f"l1d.ways={ways}", *EVENTS, "--plot", path, *program("exit"))[0], 0)
        root = xml.etree.ElementTree.parse(path).getroot()
        names = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        equal(names.count("guest on rocket; lines: l1d.ways"), n_panels)
        equal(sum(1 for _ in root.iter("{http://www.w3.org/2000/svg}polyline")), 3 * n_ways)
        equal(names.count("64KiB"), n_panels)
    # A line for the truth stands beside that of a PMU, and panels have at most six lines.
    equal(sweep("-P", "rvhpm", "-e", "cycles", "--vary", "l1d.size=32KiB,64KiB", "--vary", "l1d.ways=1,2,4,8", "--plot", path, *program("exit"))[0], 0)
    root = xml.etree.ElementTree.parse(path).getroot()
    names = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    equal([name for name in names if "truth" in name or name in ("1", "2", "4", "8")], ["1", "1, truth", "2", "2, truth", "4", "4, truth", "8", "8, truth"])
    equal((names.count("cycles, 1 of 2"), names.count("cycles, 2 of 2")), (1, 1))


@test
def wrong_requests_are_refused_before_anything_runs():
    fails(["--vary", "l1d.ways=2,4"], 2, "no program to run", "tally sweep --vary KEY=VALUE,VALUE -- PROGRAM")
    fails(program("exit"), 2, "nothing varies", "--vary l1d.size=8KiB,16KiB")
    fails(["--vary", "", *program("exit")], 2, "--vary", "KEY=VALUE,VALUE")
    fails(["--vary", "l1d.wyas=2,4", *program("exit")], 2, "l1d.wyas", "l1d.ways")
    fails(["--vary", "l1d.ways=3,5", *program("exit")], 2, "must be 3 ways")
    fails(["--vary", "machine=rockte,u47", *program("exit")], 2, "rockte", "rocket")
    fails(["--vary", "l1d.ways=2,4", "-e", "cycels", *program("exit")], 2, "cycels", "cycles")
    fails(["--vary", "l1d.ways=2,4", "-j", "0", *program("exit")], 2, "-j 0", "1 to 4096")
    fails(["--vary", "l1d.ways=2,4", "--only", "1/0", "--cells", "x", *program("exit")], 2, "--only 1/0", "K/N")
    fails(["--vary", "l1d.ways=2,4", "--only", "1", *program("exit")], 2, "--only needs --cells DIR")
    fails(["--vary", "l1d.ways=2,4", "--csv", "--md", *program("exit")], 2, "give one")
    fails(["--vary", "l1d.ways=2,4", "--", "/nonexistent/prog"], 127, "/nonexistent/prog")
    fails(["--vary", "l1d.ways=2,4", "--cells", "/dev/null", *program("exit")], 125, "--cells /dev/null", "not a folder")
    fails(["--vary", "l1d.ways=2,4", "--cells", "/nonexistent/x", *program("exit")], 125, "--cells /nonexistent/x", "No such file")
    fails(["--vary", "l1d.ways=2,4", "-o", "/nonexistent/x", *program("exit")], 125, "--output", "/nonexistent/x")
    status, out, _ = sweep("--vary", "l1d.ways=2,4", "--", os.path.join(ROOT, "README.md"))
    equal((status, out.count("failed: ")), (1, 2))


def main():
    global options, scratch
    parser = argparse.ArgumentParser()
    options = read_options(parser)
    with new_scratch("sweep-") as scratch:
        options.guest = built_guest(scratch, os.path.join(ROOT, "tests", "cli", "guest.c"))
        return run_tests(options.names, lambda function: None if options.guest else f"no {CROSS} to build the RISC-V program with")


if __name__ == "__main__":
    sys.exit(main())
