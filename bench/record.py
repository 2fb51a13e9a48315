#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what exact profiles cost: tally record and record -g beside tally stat, and beside callgrind on the native build.

  bench/record.py [--quick] [--record] [--repeat N] [--instructions] [--without-callgrind] [--tally FILE] [--workloads FOLDER] [NAME...]

record and record -g are speeds as a part of tally stat's. The last two columns are record's and record -g's millions of instructions per
second over callgrind's, which simulates caches and branches and counts its own instructions. record -g books its usual events to calling
contexts. Times are processor time, the least of N runs that take turns (default 3), with start-up and the writing of the file.
--instructions counts host instructions of tally under cachegrind instead, which no other load of the host moves, and leaves callgrind
out. --without-callgrind leaves it out of full lengths, where it takes most of the time. --record writes the table to docs/bench.md.
"""
import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import run as bench
import section

TARGETS = {"record": 0.6, "record -g": 0.3, "callgrind": 8}  # reported, never asserted
VALGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--smc-check=all", "--cachegrind-out-file=/dev/null"]
CALLGRIND = ["valgrind", "--tool=callgrind", "--cache-sim=yes", "--branch-sim=yes", "--callgrind-out-file=/dev/null"]
WAYS = ("stat", "record", "record -g")


def command(args, way, program, arguments, folder):
    if way == "callgrind":
        return CALLGRIND + bench.GEOMETRY + [f"--LL={','.join(map(str, bench.L2))}", os.path.join(args.workloads, "native", program)] + arguments
    words = ["stat", "-j"] if way == "stat" else [*way.split(), "-q"]
    return [args.tally, *words, "-o", os.path.join(folder, way.split()[0]), *bench.GEOMETRY, f"--L2={','.join(map(str, bench.L2))}", "--",
            os.path.join(args.workloads, "riscv64", program)] + arguments


def cost(words, counts_instructions):
    """Processor seconds or 10^9 host instructions of a run, and its standard error."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run((VALGRIND if counts_instructions else []) + words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise bench.Failure(f"{' '.join(words)}: status {done.returncode}: {done.stderr.strip()[-300:]}")
    if counts_instructions:
        return int(re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)[1].replace(",", "")) / 1e9, done.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def measure(args, row, folder):
    """Ratios of one program: record / stat, record -g / stat, and both over callgrind."""
    arguments = row["quick" if args.quick else "full"]
    ways = WAYS if args.without_callgrind else (*WAYS, "callgrind")
    least = dict.fromkeys(ways, float("inf"))
    native = 0
    for _ in range(1 if args.instructions else args.repeat):
        for way in ways:
            spent, said = cost(command(args, way, row["program"], arguments, folder), args.instructions)
            least[way] = min(least[way], spent)
            if way == "callgrind":
                native = int(re.search(r"I +refs: +([\d,]+)", said)[1].replace(",", ""))
    ratios = [least["stat"] / least["record"], least["stat"] / least["record -g"]]
    if native:
        guest = bench.tally_instructions(os.path.join(folder, "stat"))
        ratios += [guest / least[way] / (native / least["callgrind"]) for way in WAYS[1:]]
    return least["stat"], ratios


def line(name, cells):
    return f"| {name} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="runs about ten times shorter")
    parser.add_argument("--record", action="store_true", help="write the table to docs/bench.md")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each")
    parser.add_argument("--instructions", action="store_true", help="count host instructions under cachegrind, one run of each")
    parser.add_argument("--without-callgrind", action="store_true", help="compare with tally stat alone")
    parser.add_argument("--tally", default=os.path.join(bench.TOP, "build", "tally"), help="the program under test")
    parser.add_argument("--workloads", default=os.path.join(bench.HERE, "out"), help="where bench/workloads/build.sh put things")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these workloads")
    args = parser.parse_args()
    rows = [row for row in bench.read_workloads(os.path.abspath(args.workloads)) if not args.names or row["name"] in args.names]
    args.without_callgrind |= args.instructions
    if args.repeat < 1 or len(rows) < len(set(args.names)) or (args.record and args.names):
        parser.error("one round at least, names as in bench/workloads/workloads.txt, and no names with --record")
    if not shutil.which("valgrind"):
        raise bench.Failure("valgrind is missing; run tools/install-deps")
    unit = "10^9 host instructions" if args.instructions else "s"
    head = ["program", f"{unit} of stat", "record / stat", "record -g / stat"]
    if not args.without_callgrind:
        head += ["record / callgrind", "record -g / callgrind"]
    lines = ["| " + " | ".join(head) + " |", "|:--|" + "--:|" * (len(head) - 1)]
    print("\n".join(lines), flush=True)
    columns = []
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder:
        for row in rows:
            base, ratios = measure(args, row, folder)
            columns.append(ratios)
            lines.append(line(row["name"], [f"{base:.3f}"] + [f"{ratio:.2f}" for ratio in ratios]))
            print(lines[-1], flush=True)
    means = [bench.geometric_mean(column) for column in zip(*columns)]
    lines.append(line("geometric mean", [""] + [f"{mean:.2f}" for mean in means]))
    aims = [(head[2 + i], mean, TARGETS[WAYS[1 + i]] if i < 2 else TARGETS["callgrind"]) for i, mean in enumerate(means)]
    targets = ["- " + bench.verdict(mean >= aim, f"{what} at least {aim} in geometric mean; {mean:.2f}") for what, mean, aim in aims]
    print("\n".join([lines[-1], "", *targets]))
    if args.record:
        about = ("Host instructions under cachegrind, with `--instructions`." if args.instructions
                 else f"Processor time, the least of {args.repeat} runs that take turns.")
        if args.quick:
            about += " Runs are the short ones of `--quick`: start-up and the writing of the file are a larger part of them."
        section.record("bench/record.py", "\n".join(["## Exact profiles", "", f"`bench/record.py` (part of `make bench`) says what the columns are. {about}",
                                                     "", *lines, "", *targets]))


if __name__ == "__main__":
    try:
        main()
    except bench.Failure as failure:
        sys.exit(f"bench/record.py: {failure}")
