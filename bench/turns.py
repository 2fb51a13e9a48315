#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints what a second core of this host could do for runs of several harts: the arithmetic about --jobs in docs/engine.md.

  bench/turns.py [--build FOLDER] [--workloads FOLDER] [--large FOLDER] [--set KEY=VALUE]... [NAME...]

A turn is what one hart executes before another one does. Its prefix ends with its first request of the L2, its first trap, or an access
that waits. A second thread of the host may execute the prefix of a turn to come, and must undo it when an earlier turn takes a line that it used.
turns.c records all turns of a run, in a copy of tally. Two columns count what repeats exactly, in shares of cycles:

  private     turns that are prefixes as a whole: no request, no trap, and no access that waits
  prefixes    all prefixes
  undone      share of turns whose prefix, tried as early as can be, an earlier turn makes wrong
  changed     lines of the L1D in state M as a turn begins: their bytes are copied, or a log protects them
  stored      those that a prefix stores to: what a log keeps

Times are of this host, medians of turns:

  copy        a copy of state for undoing one prefix, with all changed lines
  turn        a turn, from the times of an instruction and of a request
  free        speed on two host cores where copies, hand-overs and undoing cost nothing
  paying      the same with the measured costs: a copy for each prefix tried ahead, a hand-over wherever the core changes, and for each prefix
              undone a copy back and the prefix once more, because its counts must be known to be taken back
  logging     as `paying`, where a log takes the place of copies of lines: one call of the memory port for each line stored to
  in rounds   the bound of another model, in which a hart sees the L2 as it was when a round of turns began: all work halved, and 40 ns for each
              request to merge it afterwards, in order

Speeds are those of two threads that each have half of the harts, simulated turn by turn.
Runs longer than 500,000 turns are cut there. Without bench/workloads/large.sh the row of esbuild is left out.
"""
import argparse
import collections
import os
import shlex
import statistics
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
LOG_NS = 40  # a call of the memory port that hits, and 64 bytes copied
MERGE_NS = 40  # one request, replayed in order
HEADER, TURN = struct.Struct("5Q"), struct.Struct("8I3H2B")
# turns.c describes the fields. flags: why the prefix ended; 0: the turn did.
Turn = collections.namedtuple("Turn", "insns cycles prefix_cycles requests ticks prefix_ticks copy_ticks undone changed stored calls hart flags")


def build(args, folder):
    """The command line tool with turns.c in it, and the program that hands over."""
    link = shlex.split(subprocess.run(["ninja", "-C", args.build, "-t", "commands", "tally"], check=True, capture_output=True, text=True)
                       .stdout.splitlines()[-1])
    tool, handover, counter = (os.path.join(folder, name) for name in ("tally", "handover", "turns.o"))
    include = [f"-I{os.path.join(TOP, 'src')}", f"-I{os.path.join(TOP, 'include')}", f"-I{os.path.join(args.build, 'src')}"]
    subprocess.run([link[0], "-O2", "-std=gnu17", *include, "-c", os.path.join(HERE, "turns.c"), "-o", counter], check=True)
    link[link.index("-o") + 1] = tool
    subprocess.run([*link, counter, "-Wl,--wrap=tl_blocks_run,--wrap=tl_memory_new"], check=True, cwd=args.build)
    subprocess.run([link[0], "-O2", "-pthread", os.path.join(HERE, "handover.c"), "-o", handover], check=True)
    return tool, handover


def rows(args):
    """{name: (harts, command)}"""
    riscv = os.path.join(args.workloads, "riscv64")
    copies, sharing = os.path.join(riscv, "copies"), os.path.join(args.build, "guest", "sharing")
    programs = {"lua": [os.path.join(HERE, "workloads", "work.lua"), "1"], "sieve": ["6"], "mergesort": ["4"], "matrix": ["60"],
                "nbody": ["100"], "huffman": ["10"], "automaton": ["300"], "picture": ["13"]}
    found = {f"{n} copies of {name}": (n, [copies, str(n), os.path.join(riscv, name), *arguments])
             for name, arguments in programs.items() for n in (2, 4)}
    for n in (2, 4):
        found[f"{n} threads, nothing shared"] = (n, [sharing, "padded", str(n), "2000000"])
    work = os.path.join(args.large, "debian", "root", "work")
    if os.path.exists(os.path.join(work, "esbuild")):
        found["esbuild, 4 harts"] = (4, [f"{work}/esbuild", f"{work}/three/src/Three.js", "--bundle", "--minify", "--format=esm"])
    return found


def record(tool, harts, command, settings, folder, **variables):
    """(header, turns)"""
    out = os.path.join(folder, "out")
    options = [word for setting in (f"harts={harts}", *settings) for word in ("--set", setting)]
    subprocess.run([tool, "stat", "-q", "-o", os.devnull, *options, "--", *command], cwd=folder, check=True,
                   env={**os.environ, "TURNS_OUT": out, **variables}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(out, "rb") as file:
        data = file.read()
    os.unlink(out)
    return HEADER.unpack_from(data), [Turn(*row) for row in TURN.iter_unpack(data[HEADER.size:])]


def medians(turns, tick_ns):
    """Nanoseconds of a cycle without requests, and of a request, as most turns have them. The host does other work meanwhile."""
    private = [t.prefix_ticks * tick_ns / t.prefix_cycles for t in turns if t.prefix_cycles >= 100]
    cycle = statistics.median(private) if private else 0
    asking = [(t.ticks * tick_ns - t.cycles * cycle) / t.requests for t in turns if t.requests]
    return cycle, max(statistics.median(asking), 0) if asking else 0


class Costs:
    def __init__(self, copy=0, log=0, handover=0, undoes=False):
        self.copy, self.log, self.handover, self.undoes = copy, log, handover, undoes


def simulate(turns, cycle, request, n_harts, costs):
    """The time of a run where each of two threads executes its harts: the turn in progress in order, prefixes of turns to come meanwhile."""
    following, last = [None] * len(turns), {}
    for i in range(len(turns) - 1, -1, -1):
        following[i] = last.get(turns[i].hart)
        last[turns[i].hart] = i
    thread_of = [hart * 2 // n_harts for hart in range(n_harts)]
    waiting = {hart: i for hart, i in last.items()}  # the next turn of each hart
    left = [t.prefix_cycles * cycle for t in turns]
    is_tried = bytearray(len(turns))
    undone_by = collections.defaultdict(list)
    for i, t in enumerate(turns):
        if t.undone and costs.undoes:
            undone_by[i - t.undone].append(i)
    time, previous = 0.0, None
    for i, t in enumerate(turns):
        thread = thread_of[t.hart]
        spent = left[i] + (t.cycles - t.prefix_cycles) * cycle + t.requests * request
        if previous is not None and previous != thread:
            spent += costs.handover
        previous = thread
        for other in undone_by.get(i, ()):
            if is_tried[other]:  # the wrong prefix is counted once more, backwards
                spent += costs.copy + turns[other].prefix_cycles * cycle - left[other]
                left[other], is_tried[other] = turns[other].prefix_cycles * cycle, 0
        waiting[t.hart] = following[i]
        time += spent
        for other in sorted(j for hart, j in waiting.items() if j is not None and thread_of[hart] != thread):
            cost = 0 if is_tried[other] else costs.copy + costs.log * turns[other].stored
            if left[other] == 0 or spent <= cost:
                continue
            is_tried[other] = 1
            done = min(left[other], spent - cost)
            left[other] -= done
            spent -= done + cost
    return time


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--workloads", default=os.path.join(HERE, "out"), help="where bench/workloads/build.sh put things")
    parser.add_argument("--large", default=os.path.join(HERE, "out", "large"), help="where bench/workloads/large.sh put things")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of the machine, e.g. interleave_cycles=100")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    args.large = os.path.abspath(args.large)
    args.build, args.workloads = os.path.abspath(args.build), os.path.abspath(args.workloads)
    with tempfile.TemporaryDirectory() as folder:
        tool, handover = build(args, folder)
        handover_ns, line_ns = map(float, subprocess.run([handover], check=True, capture_output=True, text=True).stdout.split())
        print(f"a hand-over between two threads of this host: {handover_ns:.0f} ns, and {line_ns:.1f} ns for each line that both write\n")
        print("| program | instructions a turn | requests | private | prefixes | undone | changed | stored | copy | turn | free | paying | logging | in rounds |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
        for name, (harts, command) in rows(args).items():
            if args.names and name not in args.names:
                continue
            (_, _, tick_ps, _, _), turns = record(tool, harts, command, args.set, folder)
            cycle, request = medians(turns, tick_ps / 1000)
            (_, _, tick_ps, _, _), turns = record(tool, harts, command, args.set, folder, TURNS_COPY="1", TURNS_LOG="1")
            n, cycles = len(turns), sum(t.cycles for t in turns)
            copy = statistics.median(t.copy_ticks for t in turns) * tick_ps / 1000
            changed, stored = sum(t.changed for t in turns) / n, sum(t.stored for t in turns) / n
            requests = sum(t.requests for t in turns)
            alone = cycles * cycle + requests * request
            speeds = [alone / simulate(turns, cycle, request, harts, costs)
                      for costs in (Costs(), Costs(copy, 0, handover_ns, True), Costs(copy / 2, LOG_NS, handover_ns, True))]
            speeds.append(alone / (alone / 2 + requests * MERGE_NS))
            print(f"| {name} | {sum(t.insns for t in turns) / n:,.0f} | {requests / n:.2f} | "
                  f"{100 * sum(t.cycles for t in turns if not t.flags) / cycles:.0f} % | {100 * sum(t.prefix_cycles for t in turns) / cycles:.0f} % | "
                  f"{100 * sum(t.undone != 0 for t in turns) / n:.1f} % | {changed:.0f} | {stored:.0f} | {copy:,.0f} | {alone / n:,.0f} | "
                  + " | ".join(f"{speed:.2f}" for speed in speeds) + " |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
