#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints what accesses that miss their slot cost the host, by part of the work: the arithmetic about misses in docs/engine.md.

  bench/misses.py [--tally FILE] [--workloads FOLDER] [--full] [--targets JSON] [NAME...]

Runs programs of bench/run.py (its quick arguments) under callgrind, which counts host instructions exactly. Programs without a name are those
whose speed is that of misses, or all with --targets. Parts are told by the functions of src/mem that are inlined; the sum of all parts is the run.

--targets takes the file that bench/run.py --json wrote, and prints for each guest instruction what it costs and what targets leave for it.
Host instructions are those of callgrind, start-up included. "models" are accesses and fetches that miss their slot, memory and TLBs. Times are
those of the file: wall time of each guest instruction, divided by the shares of --host-profile. "for each miss" is in host instructions, where
models take a fifth of the time: what the target leaves if time goes with host instructions, what models cost, and what the way out of
translated code and back takes with the look-ups in both levels.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict

import run as bench

TOP = bench.TOP
MISS = re.compile(r"(tl_l1d|reach)_(load|store)_(fixed|alone)")
PARTS = (  # (title, pattern of the function called, pattern of the function inlined in it); the first that matches
    ("thunk, page slot, calls", MISS.pattern, r"reach|REACH|find_page|tl_page_slot_of|access_page|tl_mem_of|tl_l1d_(load|store)_(fixed|alone)$"),
    ("tags and victims", MISS.pattern, r"_mm_|tl_cache_|tl_match|tl_equal|tl_replacement|access_data"),
    ("request, directory, counts", MISS.pattern, r"tl_l2_|tl_server|data_miss|ask_for|count_miss|tl_stall|tl_contest"),
    ("line in, victim out", MISS.pattern, r"take_line|evict|hide|release"),
    ("slot shown", MISS.pattern, r"."),
    ("memory", r"tl_l2_fill|tl_server_queue", r"."),
    ("data TLB", r"tl_translate_page|_unseen$", r"."),
    ("fetches that miss", r"tl_fetch|ask_for_page|tl_l1i_replace|tl_blocks_reenter|enter_fetched|tl_slots_forget_fetch|tl_blocks_enter", r"."),
)
REST, CODE = "everything else", "translated code"
MEAN_TARGET, EACH_TARGET = 20, 12  # times the cache plugin
MISSES_MATTER = 0.2  # of the time in models


def functions_of(path):
    """For each line of a source file, the function that it stands in."""
    names, name = [], "?"
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            found = line[:1] not in " #/}\t\n" and re.search(r"(\w+) ?\(", line)
            name = found[1] if found else name
            names.append(name)
    return names


def read(path):
    """{(function, file, line): instructions}, {function: calls}, {(caller, callee): calls} of a file of callgrind."""
    names, own, calls, edges = {}, defaultdict(int), defaultdict(int), defaultdict(int)
    function = callee = source = None
    line, is_call = 0, False

    def name(kind, text):
        number, full = re.match(r"\((\d+)\)(?: (.*))?", text).groups()
        if full is not None:
            names[kind, number] = full
        return names[kind, number]

    with open(path, encoding="utf-8", errors="replace") as rows:
        for row in rows:
            key, _, value = row.rstrip("\n").partition("=")
            if row[0].isdigit() or row[0] in "+-*":
                at, cost = row.split()[:2]
                line = line if at == "*" else line + int(at) if at[0] in "+-" else int(at)
                if not is_call:
                    own[function, source, line] += int(cost)
                is_call = False
            elif key in ("fl", "fi", "fe"):
                source = name("file", value)
            elif key in ("cfi", "cfl"):
                name("file", value)
            elif key == "fn":
                function = name("function", value)
            elif key == "cfn":
                callee = name("function", value)
            elif key == "calls":
                n, is_call = int(value.split()[0]), True
                calls[callee] += n
                edges[function, callee] += n
    return own, calls, edges


def parts_of(path):
    """{part: instructions}, and how many accesses and fetches missed their slot."""
    own, calls, edges = read(path)
    thunks = {caller for caller, callee in edges if caller.startswith("0x") and callee.startswith("reach_")}
    code = {caller for caller, callee in edges if caller.startswith("0x") and callee in thunks}
    sums, sources = defaultdict(int), {}
    for (function, source, line), n in own.items():
        if function in thunks:
            sums[PARTS[0][0]] += n
            continue
        if function in code:
            sums[CODE] += n
            continue
        if source not in sources:
            real = os.path.join(TOP, re.sub(r"^.*?\.\./", "", source)) if "../src/" in source else source
            sources[source] = functions_of(real) if os.path.exists(real) else []
        lines = sources[source]
        inlined = lines[line - 1] if 0 < line <= len(lines) else function
        title = next((title for title, outer, inner in PARTS if re.search(outer, function) and re.search(inner, inlined)), REST)
        sums[title] += n
    misses = sum(n for name, n in calls.items() if re.fullmatch(r"reach_(load|store)(_fixed|_alone)?", name))
    return sums, misses, sum(n for name, n in calls.items() if re.fullmatch(r"tl_fetch_(fixed|alone)", name))


def profile(args, workloads, row):
    """parts_of a run, and its guest instructions."""
    with tempfile.TemporaryDirectory() as folder:
        out, counts = os.path.join(folder, "out"), os.path.join(folder, "counts")
        subprocess.run(["valgrind", "--tool=callgrind", "--smc-check=all", f"--callgrind-out-file={out}", args.tally, "stat", "-j", "-o", counts, *bench.GEOMETRY, f"--L2={bench.L2[0]},{bench.L2[1]},{bench.L2[2]}", "--",
                        os.path.join(workloads, "riscv64", row["program"]), *row["full" if args.full else "quick"]],
                       check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return *parts_of(out), bench.tally_instructions(counts)


def print_targets(args, workloads, rows):
    with open(args.targets, encoding="utf-8") as recorded:
        speeds = {row["name"]: row for row in json.load(recorded)["workloads"]}
    print("| program | host instructions: translated code | models | others | ns: translated code | models | others "
          f"| {EACH_TARGET} times leaves | {MEAN_TARGET} times leaves | for each miss: {EACH_TARGET} times leaves | models | way and look-ups "
          "| times the plugin | with translated code alone |")
    print("|---|" + "--:|" * 13)
    logs = []
    for row in rows:
        sums, misses, fetches, n_guest = profile(args, workloads, row)
        way = sums[PARTS[0][0]] + sums[PARTS[1][0]]
        groups = {CODE: sums.pop(CODE, 0), REST: sums.pop(REST, 0)}
        host = [n / n_guest for n in (groups[CODE], sum(sums.values()), groups[REST])]
        speed = speeds[row["name"]]
        tally, plugin, parts = speed["tally"]["mips"], speed["plugin"]["mips"], bench.parts_of(speed["profile"]["shares"])
        ns = [1000 / tally * part for part in parts]
        now, bound = tally / plugin, tally / plugin / parts[0]
        logs.append((math.log(now), math.log(bound)))
        each = 1000 / plugin / EACH_TARGET
        cells = [f"{n:.2f}" for n in host + ns + [each, 1000 / plugin / MEAN_TARGET]]
        if parts[1] >= MISSES_MATTER:
            n_models = host[1] * n_guest / (misses + fetches)
            left = max(0, each - ns[0] - ns[2]) / ns[1] * n_models
            cells += [f"{left:.0f}", f"{n_models:.0f}", f"{way / misses:.0f}" if misses > fetches else ""]
        else:
            cells += [""] * 3
        cells += [f"{now:.1f}", f"{bound:.1f}"]
        print(f"| {row['name']} | {' | '.join(cells)} |")
        sys.stdout.flush()
    means = [math.exp(sum(log[i] for log in logs) / len(logs)) for i in range(2)] if logs else [0, 0]
    print(f"| geometric mean |{' |' * 11} {means[0]:.1f} | {means[1]:.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tally", default=os.path.join(TOP, "build", "tally"))
    parser.add_argument("--workloads", default=os.path.join(bench.HERE, "out"), help="where bench/workloads/build.sh put things")
    parser.add_argument("--full", action="store_true", help="with the full arguments, which takes ten times as long")
    parser.add_argument("--targets", metavar="JSON", help="prints costs and targets for each guest instruction")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    workloads = os.path.abspath(args.workloads)
    rows = [row for row in bench.read_workloads(workloads) if row["name"] in args.names or not args.names and (args.targets or row["name"] in bench.MISSING)]
    if args.targets:
        print_targets(args, workloads, rows)
        return
    titles = [part[0] for part in PARTS] + [CODE, REST]
    print(f"| program | slots missed, M | fetches | host instructions, M | {' | '.join(titles)} |")
    print("|---|" + "--:|" * (3 + len(titles)))
    for row in rows:
        sums, misses, fetches, _ = profile(args, workloads, row)
        print(f"| {row['name']} | {misses / 1e6:.2f} | {fetches / 1e6:.2f} | {sum(sums.values()) / 1e6:,.0f} | "
              + " | ".join(f"{sums[title] / 1e6:,.0f}" for title in titles) + " |")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
