#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what exact profiles cost: tally record and record -g beside tally stat, and beside callgrind on the native build.

  bench/record.py [--quick] [--record] [--repeat N] [--instructions] [--without-callgrind] [--tally FILE] [--workloads FOLDER] [NAME...]
  bench/record.py --memory [--record] [--tally FILE] [--workloads FOLDER]

record and record -g are speeds as a part of tally stat's. The columns of callgrind are millions of instructions per second over
callgrind's, which simulates caches and branches and counts its own instructions, on the native build with the same arguments. The last
column is guest instructions for each of these. record -g books its usual events to calling contexts. Times are processor time, the least
of N runs that take turns (default 3), with start-up and the writing of the file.
--memory measures peak memory instead: of tally record, beyond that of tally stat, at run lengths 1, 4 and 16.
--instructions counts host instructions of tally under cachegrind instead, which no other load of the host moves, and leaves callgrind
out. --without-callgrind leaves it out of full lengths, where it takes most of the time. --record writes the table to docs/bench.md.
"""
import argparse
import os
import re
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import run as bench
import section

# Programs whose length is an argument and whose data stay, and one length of programs with more code.
LENGTHS = (("automaton", 30), ("huffman", 2), ("strings", 3))
LARGER = ("bzip2", "lua", "sqlite")
N_MEMORY = 3  # runs of each; the least counts, because pages of the host come and go
MOST_GROWTH = 1.1  # of record's own memory, from length 1 to 16; allocators round
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
        ratios += [guest / least[way] / (native / least["callgrind"]) for way in WAYS] + [guest / native]
    return least["stat"], ratios


# A process counts the memory of the one that it was before exec, too, so a small one starts the run.
STARTER = """import os, sys
pid = os.fork()
if pid == 0:
    os.dup2(os.open("/dev/null", os.O_RDWR), 1)
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_maxrss)"""


def peak_kib(words):
    """Peak resident memory of a run."""
    said = subprocess.run([sys.executable, "-I", "-S", "-c", STARTER, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    status, kib = map(int, said.split())
    if status != 0:
        raise bench.Failure(f"{' '.join(words)}: status {status}")
    return kib


def own_kib(args, way, program, arguments, folder):
    """Memory of tally record beyond that of tally stat, and the instructions of its profile."""
    least = [min(peak_kib(command(args, of, program, arguments, folder)) for _ in range(N_MEMORY)) for of in (way, "stat")]
    with sqlite3.connect(os.path.join(folder, "record")) as database:
        return least[0] - least[1], database.execute("SELECT count(*) FROM instruction").fetchone()[0]


def measure_memory(args):
    head = ["program", "instructions of code", "record, length 1", "4", "16", "record -g, length 1", "4", "16"]
    lines = ["| " + " | ".join(head) + " |", "|:--|" + "--:|" * (len(head) - 1)]
    print("\n".join(lines), flush=True)
    growth, points = 0, []
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder:
        for name, unit in LENGTHS:
            cells = []
            for way in WAYS[1:]:
                own = [own_kib(args, way, name, [str(unit * n)], folder) for n in (1, 4, 16)]
                growth = max(growth, own[2][0] / own[0][0])
                cells += [f"{kib / 1024:.1f} MiB" for kib, _ in own]
                if way == "record":
                    points.append((own[2][1], own[2][0]))
            lines.append(line(name, [f"{own[2][1]:,}", *cells]))
            print(lines[-1], flush=True)
        for row in bench.read_workloads(os.path.abspath(args.workloads)):
            if row["name"] not in LARGER:
                continue
            cells = []
            for way in WAYS[1:]:
                kib, n = own_kib(args, way, row["program"], row["quick"], folder)
                cells += [f"{kib / 1024:.1f} MiB", "", ""]
                if way == "record":
                    points.append((n, kib))
            lines.append(line(row["name"], [f"{n:,}", *cells]))
            print(lines[-1], flush=True)
    # The line through the programs with least and most code, and how far others are from it.
    points.sort()
    slope = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])
    fixed = points[0][1] - slope * points[0][0]
    off = max(abs(kib / (fixed + slope * n) - 1) for n, kib in points)
    targets = ["- " + bench.verdict(growth <= MOST_GROWTH, f"memory does not follow the length of the run: 16 times the length takes at most {MOST_GROWTH} times the memory; {growth:.2f}"),
               f"- memory follows the code: {fixed / 1024:.1f} MiB and {slope * 1024:.0f} bytes for each instruction that ran; programs are within {100 * off:.0f} % of that line"]
    print("\n".join(["", *targets]))
    if args.record:
        section.record("bench/record.py --memory", "\n".join(["## Memory of profiles", "", "`bench/record.py --memory`: peak resident memory of `tally record` beyond that of `tally stat` on the same run.",
                                                              "", *lines, "", *targets]))


def line(name, cells):
    return f"| {name} | " + " | ".join(cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="runs about ten times shorter")
    parser.add_argument("--record", action="store_true", help="write the table to docs/bench.md")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each")
    parser.add_argument("--instructions", action="store_true", help="count host instructions under cachegrind, one run of each")
    parser.add_argument("--without-callgrind", action="store_true", help="compare with tally stat alone")
    parser.add_argument("--memory", action="store_true", help="measure memory at several run lengths instead")
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
    if args.memory:
        measure_memory(args)
        return
    unit = "10^9 host instructions" if args.instructions else "s"
    head = ["program", f"{unit} of stat", "record / stat", "record -g / stat"]
    if not args.without_callgrind:
        head += ["stat / callgrind", "record / callgrind", "record -g / callgrind", "guest / native instructions"]
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
    goals = [TARGETS["record"], TARGETS["record -g"], None, TARGETS["callgrind"], TARGETS["callgrind"], None]
    aims = [(what, mean, aim) for what, mean, aim in zip(head[2:], means, goals) if aim]
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
