#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Harts that share lines, without a system: counts by default are those of turns of one cycle, and every engine counts alike.

  tests/bare/sharing.py --tally FILE --guests DIR [--machine NAME]

Runs the programs sharing_* of guest/bare/programs.txt: four harts in machine mode, and four and two in supervisor mode behind page
tables. Cycles, instructions and invalidations of the default and of interleave_cycles=1 differ by at most 5 %; every signal of every
hart is the same on the engines translate, interp and step.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

KINDS = ["false_sharing", "padded", "ping_pong", "spinlock", "reservation_lock"]
SUMS = ["cycles", "instructions", "l1d.probe_invalidate"]
# what the name of the program says between sharing_ and the kind: harts, and the mode in which they share
VARIANTS = {"": (4, "m"), "paged4_": (4, "s"), "paged2_": (2, "s")}
ENGINES = ["translate", "interp", "step"]
MOST_PERCENT = 5.0
LEAST_INVALIDATIONS = 100  # a difference of fewer is no difference: harts start and end, too
LEAST_CYCLES = 10000  # of each hart in the mode in which it shares
SHARES = 250  # a program that shares loses at least so many lines for each hart


def count(tally, options, events, program):
    with tempfile.TemporaryDirectory() as folder:
        counts = os.path.join(folder, "counts")
        subprocess.run([tally, "stat", "-x,", "-e", ",".join(events), "-o", counts, *options, "--bare", program], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with open(counts, encoding="ascii") as lines:
            return {name: int(value) for value, name in re.findall(r"^(\d+),[^,]*,([^,]+),", lines.read(), re.M)}


def check(args, name, n_harts, mode):
    """The number of what is wrong, after a line about each."""
    program = os.path.join(args.guests, f"sharing_{name}.elf")
    options = ["--machine", args.machine, "--set", f"harts={n_harts}"]
    wrong = []
    default = count(args.tally, options, SUMS, program)
    exact = count(args.tally, [*options, "--set", "interleave_cycles=1"], SUMS, program)
    apart = {signal: 100.0 * (default[signal] - exact[signal]) / max(exact[signal], 1) for signal in SUMS}
    print(f"{name:25}" + "".join(f"{exact[signal]:12,}{apart[signal]:+8.2f}%" for signal in SUMS))
    if abs(default[SUMS[2]] - exact[SUMS[2]]) < LEAST_INVALIDATIONS:
        apart[SUMS[2]] = 0.0
    if any(abs(percent) > MOST_PERCENT for percent in apart.values()):
        wrong.append(f"the default differs by more than {MOST_PERCENT} % from turns of one cycle")
    if not name.endswith("padded") and exact[SUMS[2]] < SHARES * n_harts:
        wrong.append(f"only {exact[SUMS[2]]} lines were lost, so nothing was shared")
    found = {engine: count(args.tally, [*options, "--engine", engine], ["hart?.*", "l2.*"], program) for engine in ENGINES}
    for hart in range(n_harts):
        n_cycles, n_walks = (found[ENGINES[0]][f"hart{hart}.{signal}"] for signal in ("cycle_" + mode, "ptw.walk_d"))
        if n_cycles < LEAST_CYCLES:
            wrong.append(f"hart {hart} spent only {n_cycles} cycles in mode {mode}")
        if (n_walks > 0) != (mode == "s"):
            wrong.append(f"hart {hart} walked page tables {n_walks} times for data in mode {mode}")
    for engine in ENGINES[1:]:
        for signal, value in found[ENGINES[0]].items():
            if found[engine].get(signal) != value:
                wrong.append(f"{signal} is {value} by {ENGINES[0]}, {found[engine].get(signal)} by {engine}")
    for line in wrong:
        print(f"{name}: {line}")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tally", required=True)
    parser.add_argument("--guests", required=True)
    parser.add_argument("--machine", default="rocket")
    args = parser.parse_args()
    n_wrong = 0
    for variant, (n_harts, mode) in VARIANTS.items():
        for kind in KINDS:
            n_wrong += check(args, variant + kind, n_harts, mode)
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
