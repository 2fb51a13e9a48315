#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how each design of counters counts the portable events, and holds the table of docs/portable-events.md.

  run.py --tally build/tally --guests build/guest [--page FILE] [--write] [DESIGN...]

The same programs run on each design, and each count stands beside the truth of the same run. What all counts have in common is the
class: exact, superset (never below the truth), subset (never above it), estimate. A class that `tally list events --portable` states
and that is not the measured one is a failure, and so is an event that no program lets happen.

The page has the measured table between two comments; --write puts it there. Without --write the page must agree but for numbers,
which belong to the compiler of the programs. One line for each failure; standard library only.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

RISCV = [["isa_hello"], ["random_int"], ["kernel_nbody"], ["process_wait"], ["sharing", "ping_pong", "2", "200"]]
IN_ORDER_ONLY = [["isa_amo"]]
ARM = [["arm64/kernel_nbody"], ["arm64/process_wait"], ["arm64/kernel_strings"], ["arm64/sharing", "ping_pong", "2", "20"]]
ROCKET, OOO = ["-m", "rocket", "--harts", "2"], ["-m", "ooo", "--harts", "2"]
PREFETCH = [word for cache in ("l1i", "l1d", "l2") for word in ("--set", cache + ".prefetch=next_line")]
BOTH = [(ROCKET, RISCV + IN_ORDER_ONLY), (ROCKET + PREFETCH, RISCV), (OOO, RISCV)]
WHOLE = ["--set", "smpm.mb_inputs=16", "--set", "smpm.ulc_ctrs=64", "--set", "smpm.ulc_lanes=2"]
DESIGNS = {
    "rvhpm": (["-P", "rvhpm:linux"], BOTH),
    "ccache": (["-P", "ccache"], BOTH),
    "dhpc": (["-P", "dhpc:functional"], BOTH),
    "smpm": (["-P", "smpm:safe", *WHOLE], BOTH),
    "netburst": (["-P", "netburst"], [(["-m", "netburst"], RISCV)]),
    "armv8": (["-P", "armv8:full"], [(["-m", "a53x4"], ARM)]),
}
LEAST = 100  # a relative error of a smaller truth says little
BEGIN, END = "<!-- measured by tests/portable -->", "<!-- end of table -->"


class Stop(Exception):
    pass


def run(command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def rows_of(arguments, design, machine, program, names, folder):
    """{name: (count, truth)}, or None if they do not fit on the counters at once."""
    out = os.path.join(folder, "counts.json")
    if os.path.exists(out):
        os.unlink(out)
    path = os.path.join(arguments.guests, program[0])
    words = [arguments.tally, "stat", "-j", "-o", out, *DESIGNS[design][0], *machine, "-e", ",".join(names), "--", path, *program[1:]]
    result = run(words, timeout=300)
    if not os.path.exists(out):
        if "these fit together" in result.stderr or "name fewer" in result.stderr:
            return None
        raise Stop(f"{' '.join(words)}: {result.stderr.strip()}")
    rows = {}
    with open(out, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row.get("type") != "event" or row["scope"] != "machine":
                continue
            if row["running"] != row["enabled"]:
                return None
            rows[row["event"]] = (row["value"], row["truth"])
    return rows


def measure(arguments, design, names, folder):
    """{name: [(count, truth, place)]}; what fits at once is found with the first program."""
    found = {name: [] for name in names}
    for machine, programs in DESIGNS[design][1]:
        todo = [names]
        batches = []
        while todo:
            batch = todo.pop(0)
            rows = rows_of(arguments, design, machine, programs[0], batch, folder)
            if rows is not None:
                batches.append((batch, rows))
            elif len(batch) == 1:
                raise Stop(f"{design}: {batch[0]} does not count alone")
            else:
                todo = [batch[: len(batch) // 2], batch[len(batch) // 2:]] + todo
        for batch, first in batches:
            for program in programs:
                rows = first if program is programs[0] else rows_of(arguments, design, machine, program, batch, folder)
                for name in batch:
                    count, truth = rows[name]
                    if truth is not None:
                        found[name].append((count, truth, f"{' '.join(machine[1:])}, {' '.join(program)}"))
    return found


def class_of(counts):
    if all(count == truth for count, truth, _ in counts):
        return "exact"
    if all(count >= truth for count, truth, _ in counts):
        return "superset"
    if all(count <= truth for count, truth, _ in counts):
        return "subset"
    return "estimate"


def error_of(counts):
    errors = [(count - truth) * 100 / truth for count, truth, _ in counts if truth >= LEAST]
    if not errors:
        return ""
    low, high = min(errors + [0]), max(errors + [0])
    ends = [f"{end:+.{0 if abs(end) >= 10 else 1}f} %" for end in (low, high) if end != 0]
    return " to ".join(ends)


def table_of(measured, names):
    lines = ["| event | " + " | ".join(measured) + " |", "|---" * (1 + len(measured)) + "|"]
    for name in names:
        cells = []
        for design in measured:
            kind, error = measured[design][name]
            cells.append(f"{kind}, {error}" if error else kind)
        lines.append(f"| `{name}` | " + " | ".join(cells) + " |")
    return lines


def without_numbers(lines):
    return [re.sub(r"[-+]?\d+(\.\d+)? %( to [-+]?\d+(\.\d+)? %)?", "N", line) for line in lines]


def check_page(arguments, lines):
    with open(arguments.page, encoding="utf-8") as page:
        text = page.read().split("\n")
    first, last = text.index(BEGIN), text.index(END)
    if arguments.write:
        text[first + 1:last] = ["", *lines, ""]
        with open(arguments.page, "w", encoding="utf-8") as page:
            page.write("\n".join(text))
        return []
    wanted = [line for line in text[first + 1:last] if line]
    pairs = zip(without_numbers(wanted), without_numbers(lines))
    wrong = [f"{arguments.page}: {theirs}\n  measured: {ours}" for theirs, ours in pairs if theirs != ours]
    if len(wanted) != len(lines):
        wrong.append(f"{arguments.page}: the table has {len(wanted)} lines, {len(lines)} were measured; tests/portable/run.py --write")
    return wrong


def check_region(arguments, folder):
    """Counters that the host reads have counted before a region begins; its counts are the truth of the region alone."""
    counts = os.path.join(folder, "region.json")
    run([arguments.tally, "stat", "-q", "-j", "-o", counts, "--roi", "main", "-P", "ccache", "--", os.path.join(arguments.guests, "kernel_sort")], check=True)
    with open(counts, encoding="utf-8") as lines:
        found = [row for row in map(json.loads, lines) if row.get("type") == "event" and row["scope"] == "machine"]
    return [f"ccache in a region: {row['event']} is {row['value']}, and {row['truth']} in truth" for row in found if row["value"] != row["truth"]] + (
        [] if any(row["value"] for row in found) else ["ccache in a region: nothing was counted"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tally", required=True)
    parser.add_argument("--guests", required=True)
    parser.add_argument("--page")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("designs", nargs="*", metavar="DESIGN")
    arguments = parser.parse_args()
    listed = run([arguments.tally, "list", "events", "--portable", "--json"], check=True).stdout
    stated = {row["name"]: row["designs"] for row in map(json.loads, listed.splitlines())}
    wrong, measured = [], {}
    designs = arguments.designs or list(DESIGNS)
    if not arguments.designs and set(DESIGNS) != set(next(iter(stated.values()))):
        wrong.append(f"designs with maps are {', '.join(sorted(next(iter(stated.values()))))}; this test measures {', '.join(sorted(DESIGNS))}")
    with tempfile.TemporaryDirectory() as folder:
        if "ccache" in designs:
            wrong += check_region(arguments, folder)
        for design in designs:
            possible = [name for name in stated if stated[name][design] != "impossible"]
            found = measure(arguments, design, possible, folder)
            measured[design] = {name: ("impossible", "") for name in stated}
            for name in possible:
                kind = class_of(found[name])
                measured[design][name] = (kind, "" if kind == "exact" else error_of(found[name]))
                if not any(truth for _, truth, _ in found[name]):
                    wrong.append(f"{design}: {name}: no program lets it happen")
                if kind != stated[name][design]:
                    wrong.append(f"{design}: {name} is stated as {stated[name][design]} and measured as {kind}")
                    wrong += [f"    {count} of {truth} ({place})" for count, truth, place in found[name] if count != truth]
            for name in stated:
                if name not in possible and run([arguments.tally, "stat", *DESIGNS[design][0], "-e", name, "--", "/bin/true"]).returncode != 2:
                    wrong.append(f"{design}: {name} is stated as impossible, and tally stat takes it")
    lines = table_of(measured, stated)
    if arguments.page and not arguments.designs:
        wrong += check_page(arguments, lines)
    else:
        print("\n".join(lines))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Stop as stop:
        sys.exit(str(stop))
