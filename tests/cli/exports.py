#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Exports of profiles, each opened by its real reader: callgrind_annotate, pprof, perf, Prometheus' parser of OpenMetrics.

  exports.py --tally build/tally [NAME...]

Totals that a reader prints are compared with those of tally stat. A reader that is not installed skips its test, with a sentence. The
exit status is 1 when a test failed.
"""
import argparse
import collections
import configparser
import csv
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from claims import Skip, contains, equal, new_scratch, read_options, run_tests, test  # noqa: E402

EVENTS = ("cycles", "instructions", "l1d.load_miss", "l1i.miss", "branch-misses")

options = None
scratch = None
programs = {}  # name: words of its command
totals_of = {}  # name: counts by event


def run(*words, cwd=None):
    done = subprocess.run(words, capture_output=True, cwd=cwd or scratch, stdin=subprocess.DEVNULL, timeout=300, check=False)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def tally(*words):
    return run(options.tally, *words)


def reader(name):
    path = shutil.which(name)
    if not path:
        raise Skip(f"{name} is not installed; run tools/install-deps check")
    return path


def good(*words):
    status, out, err = run(*words)
    equal(status, 0, f"{' '.join(words)}: {err}")
    return out, err


def counted(name, events):
    _, err = good(options.tally, "stat", "-j", "-e", ",".join(events), "--", *programs[name])
    rows = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    return {row["event"]: int(row["value"]) for row in rows if row.get("type") == "event"}


def recorded(name):
    """The profile of a program, and its totals as tally stat counts them."""
    path = os.path.join(scratch, name + ".profile")
    if not os.path.exists(path):
        calls = ["-g"] if name == "calls" else []
        good(options.tally, "record", *calls, "-o", path, "-e", ",".join(EVENTS), "--", *programs[name])
        totals_of[name] = counted(name, EVENTS)
        equal(sorted(totals_of[name]), sorted(EVENTS), "events of tally stat")
    return path, totals_of[name]


def exported(form, name, *words):
    path, totals = recorded(name)
    out = os.path.join(scratch, f"{name}.{form}")
    good(options.tally, "export", form, "-o", out, "-i", path, *words)
    return out, totals


def each_program(check):
    for name in programs:
        check(name)


@test
def callgrind_annotate_prints_the_totals():
    annotate = reader("callgrind_annotate")

    def check(name):
        path, totals = exported("callgrind", name)
        out, err = good(annotate, path)
        equal(err, "", "warnings of callgrind_annotate")
        line = next(row for row in out.splitlines() if "PROGRAM TOTALS" in row)
        equal([int(n.replace(",", "")) for n in re.findall(r"([\d,]+) \(100", line)], [totals[e] for e in EVENTS], name)

    each_program(check)


def lines_of(out):
    """First number and function of each line of callgrind_annotate."""
    found = {}
    for line in out.splitlines():
        row = re.match(r"\s*([\d,]+) \(.*:(\S+) \[", line)
        if row:
            found[row[2]] = int(row[1].replace(",", ""))
    return found


@test
def inclusive_costs_of_callgrind_annotate_are_those_of_contexts():
    annotate = reader("callgrind_annotate")
    path, totals = exported("callgrind", "calls")
    out, err = good(annotate, "--inclusive=yes", "--threshold=100", path)
    equal(err, "", "warnings of callgrind_annotate")
    contains(out, "PROGRAM TOTALS")
    found = lines_of(out)
    equal(found["_start"], totals["cycles"], "_start")
    equal(0.99 * totals["cycles"] < found["main"] < totals["cycles"], True, "main")
    folded, _ = exported("folded", "calls", "-e", "cycles")
    sums = collections.Counter()
    with open(folded, encoding="utf-8") as file:
        for line in file:
            stack, n = line.rstrip("\n").rsplit(" ", 1)
            for frame in set(stack.split(";")):
                sums[frame] += int(n)
    for name in ("main", "strlen", "qsort", "msort_with_tmp.part.0", "__libc_start_main_impl"):  # msort is recursive
        equal(found[name], sums[name], name)


@test
def stacks_of_a_call_graph_reach_every_reader():
    for form, frames in (("folded", r"main;count_word;strncmp \d"), ("perf-script", r"\t *[0-9a-f]+ strncmp \(.*\n\t *[0-9a-f]+ count_word \(.*\n\t *[0-9a-f]+ main \(")):
        path, _ = exported(form, "calls")
        with open(path, encoding="utf-8") as file:
            equal(bool(re.search(frames, file.read())), True, form)
    go = reader("go")
    path, totals = exported("pprof", "calls")
    out, _ = good(go, "tool", "pprof", "-top", "-cum", "-nodefraction=0", "-sample_index=cycles", path)
    row = next(line.split() for line in out.splitlines() if line.endswith(" _start"))
    equal(row[3], f"{totals['cycles']}cycles", "_start")


@test
def costs_by_instruction_and_line_sum_up():
    def check(name):
        path, totals = exported("callgrind", name)
        sums, by_call = [0] * len(EVENTS), False
        with open(path, encoding="utf-8") as file:
            for line in file:
                if line.startswith("calls="):
                    by_call = True
                elif line.startswith("0x"):
                    if not by_call:  # the line behind calls= is an inclusive cost
                        sums = [a + int(b) for a, b in zip(sums, line.split()[2:])]
                    by_call = False
        equal(sums, [totals[e] for e in EVENTS], name)

    each_program(check)


@test
def pprof_prints_the_totals():
    go = reader("go")

    def check(name):
        path, totals = exported("pprof", name)
        for event in EVENTS if name == "arm64" else ("l1d.load_miss",):  # a run of pprof takes its time
            out, _ = good(go, "tool", "pprof", "-top", "-nodefraction=0", "-nodecount=1000000", "-sample_index=" + event, path)
            unit = "cycles" if event == "cycles" else ""  # a count has none
            if totals[event]:
                contains(out, f"accounting for {totals[event]}{unit}, 100% of {totals[event]}{unit} total")

    each_program(check)


@test
def perf_data_names_the_architecture_of_the_program():
    for name, wanted, other in (("riscv64", b"riscv64\0", b"aarch64\0"), ("arm64", b"aarch64\0", b"riscv64\0")):
        path, _ = exported("perfdata", name)
        with open(path, "rb") as f:
            data = f.read()
        equal((wanted in data, other in data), (True, False), name)


@test
def perf_script_prints_samples_that_sum_up():
    perf = reader("perf")

    def check(name):
        path, totals = exported("perfdata", name)
        out, _ = good(perf, "evlist", "-i", path)
        equal(out.split(), list(EVENTS), "events of perf evlist")
        out, _ = good(perf, "script", "-i", path, "-F", "period,event")
        sums = collections.Counter()
        for line in out.splitlines():
            found = re.match(r"\s*(\d+)\s+(\S+?):", line)
            if found:
                sums[found[2]] += int(found[1])
        equal({e: sums[e] for e in EVENTS}, totals, name)
        out, _ = good(perf, "report", "--stdio", "-i", path)
        contains(out, f"Event count (approx.): {totals['cycles']}")

    each_program(check)


@test
def perf_names_functions_of_the_program():
    perf = reader("perf")
    path, _ = exported("perfdata", "riscv64")
    report, _ = good(options.tally, "report", "-i", os.path.join(scratch, "riscv64.profile"), "--sort", "symbol", "--csv")
    hottest = next(row for row in csv.DictReader(report.splitlines()))["symbol"]
    folder = os.path.dirname(programs["riscv64"][0])
    status, out, err = run(perf, "report", "--stdio", "-i", path, cwd=folder)
    equal(status, 0, err)
    first = next(line for line in out.splitlines() if re.match(r"\s+\d+\.\d+%", line))
    contains(first, hottest)


@test
def text_of_perf_script_sums_up():
    def check(name):
        path, totals = exported("perf-script", name)
        sums, n_frames = collections.Counter(), 0
        with open(path, encoding="utf-8") as file:
            for line in file:
                found = re.match(r"\S.* \d+/\d+ \[\d+\] [\d.]+:\s+(\d+) (\S+):$", line)
                if found:
                    sums[found[2]] += int(found[1])
                elif line.strip():
                    n_frames += bool(re.match(r"\t\s*[0-9a-f]+ \S.* \(.*\)$", line)) or equal(line, None, "a line of a frame")
        equal({e: sums[e] for e in EVENTS}, totals, name)
        equal(n_frames > 0, True, "frames")

    each_program(check)


@test
def folded_stacks_sum_up():
    def check(name):
        for event in EVENTS:
            path, totals = exported("folded", name, "-e", event)
            total, seen = 0, set()
            with open(path, encoding="utf-8") as file:
                for line in file:
                    stack, n = line.rstrip("\n").rsplit(" ", 1)
                    equal(stack in seen or "" in stack.split(";"), False, line)
                    seen.add(stack)
                    total += int(n)
            equal(total, totals[event], f"{name}: {event}")

    each_program(check)


@test
def speedscope_profiles_sum_up():
    def check(name):
        path, totals = exported("speedscope", name)
        with open(path, encoding="utf-8") as file:
            scope = json.load(file)
        equal(scope["$schema"], "https://www.speedscope.app/file-format-schema.json", "$schema")
        n_frames, sums = len(scope["shared"]["frames"]), collections.Counter()
        for profile in scope["profiles"]:
            equal((profile["type"], profile["unit"]), ("sampled", "none"), "kind of a profile")
            equal(len(profile["samples"]), len(profile["weights"]), "weights")
            equal(all(0 <= frame < n_frames for sample in profile["samples"] for frame in sample), True, "frames in range")
            equal(profile["endValue"] - profile["startValue"], sum(profile["weights"]), "endValue")
            sums[profile["name"].split(":")[0]] += sum(profile["weights"])
        equal({e: sums[e] for e in EVENTS}, totals, name)

    each_program(check)


def timed():
    """A profile with intervals, several threads and harts, and its totals."""
    path = os.path.join(scratch, "timed.profile")
    guest = os.path.join(os.path.dirname(options.tally), "guest", "threads_sync")
    if not os.path.exists(guest):
        raise Skip("there is no guest program threads_sync")
    if not os.path.exists(path):
        good(options.tally, "record", "-q", "-I", "200kc", "--roi", "main", "--harts", "2", "-o", path, "--", guest)
    with sqlite3.connect(path) as database:
        return path, dict(database.execute("SELECT name, total FROM event WHERE kind = 'signal'"))


@test
def trace_events_are_the_course_of_the_run():
    """The rules are those of the Trace Event Format: slices of a row nest, counters have numbers, asynchronous slices come in pairs."""
    path, totals = timed()
    out = os.path.join(scratch, "trace.json")
    good(options.tally, "export", "trace", "-o", out, "-i", path, "-e", "l1d.load_miss,hart.instret")
    with open(out, encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    by_phase = collections.defaultdict(list)
    for event in events:
        equal({"ph", "name", "pid", "tid"} <= set(event), True, f"members of {event}")
        by_phase[event["ph"]].append(event)
    equal(set(by_phase), set("MXCibe"), "phases")
    slices = collections.defaultdict(list)
    for event in by_phase["X"]:
        slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for row, of_row in slices.items():
        of_row.sort()
        equal(all(a[1] <= b[0] + 1e-6 for a, b in zip(of_row, of_row[1:])), True, f"slices of {row} do not overlap")
    named = {(e["pid"], e["tid"]) for e in by_phase["M"] if e["name"] == "thread_name"}
    equal(set(slices) <= named, True, "every row has a name")
    equal({(0, 0), (0, 1)} <= set(slices), True, "rows of harts")
    with sqlite3.connect(path) as database:
        stints = database.execute("SELECT count(*), sum(begin_cycles > 0) FROM stint").fetchone()
        hz = int(database.execute("SELECT value FROM run WHERE name = 'clock_hz'").fetchone()[0])
        visits = database.execute("SELECT begin_cycles, end_cycles FROM visit").fetchall()
        n_switches = database.execute("SELECT total FROM event WHERE name = 'os.context_switch'").fetchone()[0]
    equal((len(by_phase["X"]), len(by_phase["i"])), (2 * stints[0], stints[1]), "stints")
    equal(0 <= stints[0] - n_switches <= 2, True, "a stint ends with a context switch or with the run")
    equal([(e["ph"], e["name"], round(e["ts"] * hz / 1e6)) for e in by_phase["b"] + by_phase["e"]],
          [("b", "main", visits[0][0]), ("e", "main", visits[0][1])], "visits")
    sums = collections.Counter()
    for event in by_phase["C"]:
        sums[event["name"]] += event["args"]["count"]
    equal(dict(sums), {name: totals[name] for name in ("l1d.load_miss", "hart.instret")}, "counters")
    plain, _ = recorded("riscv64")
    status, _, err = tally("export", "trace", plain)
    equal(status, 2, err)
    contains(err, "record it with tally record -I")


@test
def firefox_profiles_sum_up_and_obey_the_format():
    def columns(table, where):
        length = table["length"]
        for name, column in table.items():
            if isinstance(column, list):
                equal(len(column), length, f"{where}.{name}")
        return length

    for name in (*programs, "timed"):
        if name == "timed":
            path, totals = timed()
            out, events = os.path.join(scratch, "timed.firefox"), ["hart.instret"]
            good(options.tally, "export", "firefox", "-o", out, "-i", path, "-e", "hart.instret")
        else:
            out, totals = exported("firefox", name, "-e", EVENTS[0])
            events = EVENTS[:1]
        with open(out, encoding="utf-8") as file:
            profile = json.load(file)
        shared, meta = profile["shared"], profile["meta"]
        equal((meta["version"], meta["preprocessedProfileVersion"]), (24, 62), "versions")
        tables = {key: columns(table, key) for key, table in shared.items() if isinstance(table, dict)}
        n_strings = len(shared["stringArray"])
        for table, column, limit in (("stackTable", "frame", tables["frameTable"]), ("frameTable", "func", tables["funcTable"]),
                                     ("funcTable", "name", n_strings), ("funcTable", "source", tables["sources"]),
                                     ("funcTable", "resource", tables["resourceTable"]), ("resourceTable", "name", n_strings),
                                     ("resourceTable", "lib", len(profile["libs"])), ("sources", "filename", n_strings)):
            equal(all(x is None or -1 <= x < limit for x in shared[table][column]), True, f"{table}.{column} in range")
        equal(all(p is None or p < i for i, p in enumerate(shared["stackTable"]["prefix"])), True, "a prefix comes before its stack")
        total = 0
        for thread in profile["threads"]:
            n = columns(thread["samples"], "samples")
            columns(thread["markers"], "markers")
            equal(all(s < tables["stackTable"] for s in thread["samples"]["stack"]), True, f"{n} stacks in range")
            total += sum(thread["samples"]["weight"])
        equal(total, totals[events[0]], f"{name}: weights")
        if name == "timed":
            equal([c["name"] for c in profile["counters"]], ["hart.instret"], "counters")
            equal(sum(profile["counters"][0]["samples"]["count"]), totals["hart.instret"], "counter")
            equal(profile["threads"][0]["markers"]["length"], 1, "the visit of main")


@test
def openmetrics_is_read_by_prometheus_parser():
    probe = "import prometheus_client.openmetrics.parser"
    python = next((p for p in (sys.executable, "/usr/bin/python3") if run(p, "-c", probe)[0] == 0), None)
    if not python:
        raise Skip("python3-prometheus-client is not installed; run tools/install-deps check")
    path, totals = exported("openmetrics", "riscv64")
    out, _ = good(python, "-c", "import sys, prometheus_client.openmetrics.parser as p\n"
                  "for f in p.text_string_to_metric_families(open(sys.argv[1]).read()):\n"
                  "    print(*(int(s.value) for s in f.samples))", path)
    equal([int(n) for n in out.split()], [totals[e] for e in EVENTS], "values")


@test
def totals_for_bencher_and_gem5_parsers():
    path, totals = exported("bmf", "riscv64")
    with open(path, encoding="utf-8") as file:
        measures = next(iter(json.load(file).values()))
    equal({name: row["value"] for name, row in measures.items()}, totals, "bmf")
    path, totals = exported("gem5", "riscv64")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    contains(text, "---------- Begin Simulation Statistics ----------")
    found = {m[1]: float(m[2]) for m in re.finditer(r"^(\S+)\s+([\d.]+)\s+# .* \([\w/]+\)$", text, re.M)}
    equal({name: found.pop(name) for name in totals}, totals, "gem5")
    # Statistics by gem5's own names are sums of signals of tally stat.
    of = counted("riscv64", ("hart.cycle", "hart.instret", "bp.cond", "bp.cond_miss", "l1i.access", "l1i.miss", "l1d.load", "l1d.load_miss",
                             "l1d.store", "l1d.store_miss", "l2.read", "l2.readmiss"))
    load, store = of["l1d.load"], of["l1d.store"]
    misses = of["l1d.load_miss"] + of["l1d.store_miss"]
    want = {
        "simSeconds": round(of["hart.cycle"] / 1e9, 9), "simTicks": of["hart.cycle"] * 1000, "simFreq": 1e12, "simInsts": of["hart.instret"],
        "system.cpu.numCycles": of["hart.cycle"], "system.cpu.branchPred.condPredicted": of["bp.cond"],
        "system.cpu.branchPred.condIncorrect": of["bp.cond_miss"],
        "system.cpu.icache.overallHits::total": of["l1i.access"] - of["l1i.miss"], "system.cpu.icache.overallMisses::total": of["l1i.miss"],
        "system.cpu.icache.overallAccesses::total": of["l1i.access"], "system.cpu.dcache.ReadReq.misses::total": of["l1d.load_miss"],
        "system.cpu.dcache.ReadReq.accesses::total": load, "system.cpu.dcache.WriteReq.misses::total": of["l1d.store_miss"],
        "system.cpu.dcache.WriteReq.accesses::total": store, "system.cpu.dcache.overallHits::total": load + store - misses,
        "system.cpu.dcache.overallMisses::total": misses, "system.cpu.dcache.overallAccesses::total": load + store,
        "system.l2.overallHits::total": of["l2.read"] - of["l2.readmiss"], "system.l2.overallMisses::total": of["l2.readmiss"],
        "system.l2.overallAccesses::total": of["l2.read"]}
    # gem5 had other spellings before version 21.
    for name in [name for name in want if not re.search("numCycles|branchPred", name)]:
        camel = re.sub(r"^sim([A-Z])|(?<=overall)([A-Z])", lambda m: ("sim_" + m[1] if m[1] else "_" + m[2]).lower(), name)
        want[re.sub(r"Req\.", "Req_", camel)] = want[name]
    equal(found, want, "statistics of gem5")


def bytes_of(text):
    number, unit = re.fullmatch(r"(\d+)(\D*)", text).groups()
    return int(number) << {"": 0, "KiB": 10, "MiB": 20, "GiB": 30}[unit]


@test
def the_machine_for_readers_of_gem5_config_files():
    # Sections and keys that public readers look up: converters for McPAT read sizes, ways, mshrs, latencies, block_size and clock.
    for machine, name, changes in (("rocket", "riscv64", ["--D1", "16K,4,64", "--set", "l1d.replacement=plru"]), ("tiny", "riscv64", []),
                                   ("u74", "riscv64", ["--set", "mem.channels=2", "--set", "l2.prefetch=next_line"]), ("a53", "arm64", []),
                                   ("ooo", "riscv64", []), ("netburst", "riscv64", [])):
        if name not in programs:
            continue
        folder = os.path.join(scratch, "m5out." + machine)
        os.mkdir(folder)
        path, words = folder + ".profile", ["--max-insns", "20k", "-m", machine, *changes, "--", *programs[name]]
        run(options.tally, "record", "-q", "-o", path, *words)
        good(options.tally, "export", "gem5", "-o", folder, path)
        equal(sorted(os.listdir(folder)), ["config.ini", "stats.txt"], "files")
        header = json.loads(run(options.tally, "stat", "-j", *words)[2].splitlines()[0])
        of = header["config"]
        ini = configparser.ConfigParser()
        ini.optionxform = str
        with open(os.path.join(folder, "config.ini"), encoding="utf-8") as file:
            text = file.read()
        ini.read_string(text)
        equal(good(options.tally, "export", "gem5-config", path)[0], text, "standard output")
        # All sections are named by their parents, and none twice: ConfigParser refuses that.
        children = {"root", "root.system"}
        for section in ini.sections():
            children |= {f"{section}.{child}" for child in ini.get(section, "children", fallback="").split()}
        equal({section if section == "root" else "root." + section for section in ini.sections()} - {"root." + c for c in children} - children, set(), "sections")
        threads = int(of.get("core.threads", 1))
        cpus = header["harts"] // threads
        names = ["system.cpu"] if cpus == 1 else [f"system.cpu{n}" for n in range(cpus)]
        equal([s for s in ini.sections() if re.fullmatch(r"system\.cpu\d*", s)], names, "processors")
        equal(ini.getint("system.cpu_clk_domain", "clock"), round(1e12 / header["clock_hz"]), "clock")
        equal(ini.getint("system.clk_domain", "clock"), round(1e12 / header["clock_hz"]), "clock")
        equal(ini.getint("system", "cache_line_size"), int(of["l1d.line"]), "line")
        equal(ini.get("system", "mem_ranges"), f"0:{bytes_of(of['ram'])}", "memory")
        equal(ini.get("root", "full_system"), "false", "kind")
        detailed = of["core.kind"] == "out_of_order"
        policies = {"lru": "LRURP", "plru": "TreePLRURP", "fifo": "FIFORP", "random": "RandomRP"}
        for cpu in names:
            equal(ini.get(cpu, "type"), "DerivO3CPU" if detailed else "MinorCPU", cpu)
            equal(ini.getint(cpu, "numThreads"), threads, cpu)
            misses = int(of["core.misses"]) if detailed else 1
            for section, key, latency, mshrs in ((cpu + ".dcache", "l1d", of["pipeline.load_use"], misses), (cpu + ".icache", "l1i", 1, 1),
                                                 ("system.l2", "l2", of["mem.l2_hit"], misses if detailed else header["harts"])):
                cache = ini[section]
                equal([int(cache[k]) for k in ("size", "assoc", "mshrs", "hit_latency", "data_latency", "tag_latency", "response_latency")],
                      [bytes_of(of[key + ".size"]), int(of[key + ".ways"]), mshrs, *3 * [int(latency)], 0], section)
                equal([int(ini[cache["tags"]][k]) for k in ("size", "assoc", "block_size")],
                      [bytes_of(of[key + ".size"]), int(of[key + ".ways"]), int(of[key + ".line"])], section)
                equal(ini[cache["replacement_policy"]]["type"], policies[of[key + ".replacement"]], section)
                equal(cache["prefetcher"], "Null" if of[key + ".prefetch"] == "none" else section + ".prefetcher", section)
                equal(cache["prefetcher"] == "Null" or ini.getint(cache["prefetcher"], "degree") == 1, True, section)
            for part, key in (("dtb", "dtlb"), ("itb", "itlb")):
                for place in (cpu, cpu + ".mmu"):
                    equal(ini.getint(f"{place}.{part}", "size"), int(of[key + ".entries"]), place)
            predictor = ini[cpu + ".branchPred"]
            equal([int(predictor[k]) for k in ("BTBEntries", "RASSize")], [int(of["bp.btb_entries"]), int(of["bp.ras_entries"])], cpu)
            kind, size = {"bht": ("LocalBP", "localPredictorSize"), "gshare": ("GshareBP", "globalPredictorSize"), "tage": ("TAGE", None),
                          "btfn": (None, None), "not_taken": (None, None)}[of["bp.kind"]]
            equal((predictor.get("type"), not size or int(predictor[size]) == int(of["bp.counters"])), (kind, True), cpu)
            if detailed:
                pairs = {"fetchWidth": "fetch", "renameWidth": "rename", "issueWidth": "issue", "commitWidth": "retire", "numROBEntries": "rob",
                         "LQEntries": "loads", "SQEntries": "stores"}
                equal({k: int(ini[cpu][k]) for k in pairs}, {k: int(of["core." + v]) for k, v in pairs.items()}, cpu)
                equal(ini.getint(cpu, "numIQEntries"), int(of["core.memory_queue"]) + int(of["core.general_queue"]), cpu)
        channels = int(of["mem.channels"])
        tick = round(1e12 / header["clock_hz"])
        hit, miss, conflict = (int(of["mem.row_" + k]) for k in ("hit", "miss", "conflict"))
        for n in range(channels):
            dram = ini[(f"system.mem_ctrls{n}" if channels > 1 else "system.mem_ctrls") + ".dram"]
            equal([int(dram[k]) for k in ("tCL", "tRCD", "tRP", "tBURST", "banks_per_rank", "device_rowbuffer_size")],
                  [hit * tick, (miss - hit) * tick, (conflict - miss) * tick, int(of["mem.busy"]) * tick, int(of["mem.banks"]),
                   bytes_of(of["mem.row_bytes"])], "memory")
    # Profiles of other programs and earlier versions may lack the machine.
    with sqlite3.connect(path) as database:
        database.execute("DELETE FROM run WHERE name = 'config.l2.ways'")
    status, _, err = run(options.tally, "export", "gem5-config", "-o", folder + "/absent", path)
    equal((status, os.path.exists(folder + "/absent")), (125, False), err)
    contains(err, "does not say l2.ways of its machine", "record it again")


@test
def the_time_of_the_run_for_codspeed():
    # Members and their types are those of WalltimeResults in codspeed-rust 3.0, walltime_results.rs.
    path, _ = exported("codspeed", "riscv64")
    with open(path, encoding="utf-8") as file:
        results = json.load(file)
    equal(sorted(results), ["benchmarks", "creator", "instrument"], "members")
    equal({name: type(value) for name, value in results["creator"].items()}, {"name": str, "version": str, "pid": int}, "creator")
    equal(results["instrument"], {"type": "walltime"}, "instrument")
    one, = results["benchmarks"]
    equal((one["name"], one["uri"]), ("demo", "demo::rocket"), "names")
    equal(one["config"], dict.fromkeys(("warmup_time_ns", "min_round_time_ns", "max_time_ns", "max_rounds")), "config")
    with sqlite3.connect(recorded("riscv64")[0]) as database:
        cycles, = database.execute("SELECT total FROM event WHERE name = 'hart.cycle'").fetchone()
        hertz, = database.execute("SELECT value FROM run WHERE name = 'clock_hz'").fetchone()
    ns = cycles * 1e9 / int(hertz)
    times = dict.fromkeys(("min_ns", "max_ns", "mean_ns", "q1_ns", "median_ns", "q3_ns"), ns)
    counts = {"stdev_ns": 0, "rounds": 1, "iqr_outlier_rounds": 0, "stdev_outlier_rounds": 0, "iter_per_round": 1, "warmup_iters": 0}
    equal({name: round(value, 3) for name, value in one["stats"].items()}, {name: round(value, 3) for name, value in {**times, **counts, "total_time": ns / 1e9}.items()}, "stats")


@test
def one_profile_gives_one_export():
    for form in ("callgrind", "pprof", "speedscope", "perfdata", "firefox"):
        first, _ = exported(form, "riscv64")
        with open(first, "rb") as file:
            before = file.read()
        again, _ = exported(form, "riscv64")
        with open(again, "rb") as file:
            equal(file.read() == before, True, form)


@test
def what_cannot_be_exported_is_said():
    path, _ = recorded("riscv64")
    for words, said in (
        (("export",), "which format?"),
        (("export", "callgrnd", path), "no export format callgrnd"),
        (("export", "folded", "-e", "l1d.load_mis", path), "no event l1d.load_mis"),
        (("export", "folded", "-e", "ipc", path), "ipc does not add up over instructions"),
        (("export", "folded", path, "more"), "more: one word too many"),
        (("export", "folded", "-i", path, path), "named twice"),
    ):
        status, out, err = tally(*words)
        equal((status, out), (2, ""), f"{words}: {err}")
        contains(err, said)
    status, _, err = tally("export", "folded", os.path.join(scratch, "absent"))
    equal(status, 125, err)
    contains(err, "absent")
    for form in ("pprof", "folded", "speedscope", "perfdata"):
        status, _, err = tally("export", form, "-o", "/dev/full", path)
        equal((status, err.count("\n")), (125, 1), f"{form}: {err}")
        contains(err, "/dev/full", "No space left on device")


def main():
    global options, scratch
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options = read_options(parser)
    guests = os.path.join(os.path.dirname(options.tally), "guest")
    for name, place in (("riscv64", "demo"), ("calls", "demo"), ("threads", "threads_basic"), ("arm64", "arm64/threads_basic")):
        program = os.path.join(guests, place)
        if os.path.exists(program):
            programs[name] = [program]
    if "riscv64" not in programs:
        print("skipped: the guest programs are not built; install gcc-riscv64-linux-gnu", file=sys.stderr)
        return 77
    with new_scratch("tally-exports-") as scratch:
        return run_tests(options.names)


if __name__ == "__main__":
    sys.exit(main())
