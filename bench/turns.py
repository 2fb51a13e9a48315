#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints how long turns of harts are, and what a hand-over between threads of this host costs: the arithmetic about --jobs in docs/engine.md.

  bench/turns.py [--build FOLDER] [--workloads FOLDER] [--large FOLDER] [NAME...]

A turn is what one hart runs before another one does. A request is one of the L2 (l2.read). "private" is the share of cycles in turns without a
request; what other turns run before their first request is not in it. Counts are exact and repeat; they come from a copy of tally that turns.c is linked into, so no build pays for them. Then:

  ns a turn   of the host, at the speed of this run
  one ahead   bound of the speed on two host cores, where one turn is tried ahead of its time: 1 + private
  all ahead   the same, where every hart is tried ahead: 1 / (1 - private)
  in order    the bound that requests set, which are replayed in order at 40 ns each: time of a turn / (time of its requests), at most 2
  paying      `one ahead` and `all ahead` less a copy of state of 3 us for each turn and two hand-overs

Without bench/workloads/large.sh the row of esbuild is left out.
"""
import argparse
import os
import shlex
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
REQUEST_NS, COPY_NS = 40, 3000  # one request in order; 75 KiB of state, copied


def build(args, folder):
    """The command line tool with turns.c in it, and the program that hands over."""
    link = shlex.split(subprocess.run(["ninja", "-C", args.build, "-t", "commands", "tally"], check=True, capture_output=True, text=True)
                       .stdout.splitlines()[-1])
    tool, handover, counter = (os.path.join(folder, name) for name in ("tally", "handover", "turns.o"))
    include = [f"-I{os.path.join(TOP, 'src')}", f"-I{os.path.join(TOP, 'include')}", f"-I{os.path.join(args.build, 'src')}"]
    subprocess.run([link[0], "-O2", "-std=gnu17", *include, "-c", os.path.join(HERE, "turns.c"), "-o", counter], check=True)
    link[link.index("-o") + 1] = tool
    subprocess.run([*link, counter, "-Wl,--wrap=tl_blocks_run"], check=True, cwd=args.build)
    subprocess.run([link[0], "-O2", "-pthread", os.path.join(HERE, "handover.c"), "-o", handover], check=True)
    return tool, handover


def rows(args):
    """{name: (harts, command, folder to run in)}"""
    riscv = os.path.join(args.workloads, "riscv64")
    copies, sharing = os.path.join(riscv, "copies"), os.path.join(args.build, "guest", "sharing")
    lua = [os.path.join(riscv, "lua"), os.path.join(HERE, "workloads", "work.lua"), "1"]
    found = {}
    for n in (2, 4):
        found[f"{n} copies of lua"] = (n, [copies, str(n), *lua])
        found[f"{n} copies of sieve"] = (n, [copies, str(n), os.path.join(riscv, "sieve"), "6"])
        found[f"{n} copies of mergesort"] = (n, [copies, str(n), os.path.join(riscv, "mergesort"), "4"])
        found[f"{n} threads, nothing shared"] = (n, [sharing, "padded", str(n), "20000"])
    found["4 copies of matrix"] = (4, [copies, "4", os.path.join(riscv, "matrix"), "60"])
    work = os.path.join(args.large, "debian", "root", "work")
    if os.path.exists(os.path.join(work, "esbuild")):
        found["esbuild, 4 harts"] = (4, [f"{work}/esbuild", f"{work}/three/src/Three.js", "--bundle", "--minify", "--format=esm"])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(TOP, "build"))
    parser.add_argument("--workloads", default=os.path.join(HERE, "out"), help="where bench/workloads/build.sh put things")
    parser.add_argument("--large", default=os.path.join(HERE, "out", "large"), help="where bench/workloads/large.sh put things")
    parser.add_argument("names", nargs="*", metavar="NAME")
    args = parser.parse_args()
    args.large = os.path.abspath(args.large)
    args.build, args.workloads = os.path.abspath(args.build), os.path.abspath(args.workloads)
    with tempfile.TemporaryDirectory() as folder:
        tool, handover = build(args, folder)
        handover_ns = float(subprocess.run([handover], check=True, capture_output=True, text=True).stdout)
        print(f"a hand-over between two threads of this host: {handover_ns:.0f} ns\n")
        print("| program | instructions a turn | requests a turn | private | ns a turn | one ahead | all ahead | in order | paying |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
        for name, (harts, command) in rows(args).items():
            if args.names and name not in args.names:
                continue
            out = os.path.join(folder, "out")
            start = time.process_time_ns(), os.times()
            subprocess.run([tool, "stat", "-q", "-o", os.devnull, "--set", f"harts={harts}", "--", *command], cwd=folder, check=True,
                           env={**os.environ, "TURNS_OUT": out}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            end = os.times()
            ns = (end.children_user - start[1].children_user + end.children_system - start[1].children_system) * 1e9
            with open(out, encoding="ascii") as text:
                turns, insns, cycles, requests, _, private_cycles = map(int, text.read().split())
            turn_ns, private = ns / turns, private_cycles / cycles
            lost = (COPY_NS + 2 * handover_ns) / turn_ns
            one, every = 1 + private, min(harts, 2, 1 / (1 - private) if private < 1 else 2)
            order = min(2, turn_ns / (requests / turns * REQUEST_NS) if requests else 2)
            print(f"| {name} | {insns / turns:,.0f} | {requests / turns:.2f} | {100 * private:.0f} % | {turn_ns:,.0f} | {one:.2f} | {every:.2f} | "
                  f"{order:.2f} | {one / (1 + lost):.2f}, {every / (1 + lost):.2f} |")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
