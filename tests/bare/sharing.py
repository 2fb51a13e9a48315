#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Harts that share lines, without a system: counts by default are those of turns of one cycle, and every engine counts alike.

  tests/bare/sharing.py --tally FILE --guests DIR [--machine NAME]

Runs the programs sharing_* of guest/bare/programs.txt with 4 harts. Cycles, instructions and invalidations of the default and of
interleave_cycles=1 differ by at most 5 %; every signal of every hart is the same on the engines translate, interp and step.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

KINDS = ["false_sharing", "padded", "ping_pong", "spinlock", "reservation_lock"]
SUMS = ["cycles", "instructions", "l1d.probe_invalidate"]
ENGINES = ["translate", "interp", "step"]
MOST_PERCENT = 5.0
LEAST_INVALIDATIONS = 100  # a difference of fewer is no difference: harts start and end, too
SHARES = 1000  # a program that shares loses at least so many lines


def count(tally, options, events, program):
    with tempfile.TemporaryDirectory() as folder:
        counts = os.path.join(folder, "counts")
        subprocess.run([tally, "stat", "-x,", "-e", ",".join(events), "-o", counts, *options, "--bare", program], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        with open(counts, encoding="ascii") as lines:
            return {name: int(value) for value, name in re.findall(r"^(\d+),[^,]*,([^,]+),", lines.read(), re.M)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tally", required=True)
    parser.add_argument("--guests", required=True)
    parser.add_argument("--machine", default="rocket")
    args = parser.parse_args()
    options = ["--machine", args.machine, "--set", "harts=4"]
    n_wrong = 0
    for kind in KINDS:
        program = os.path.join(args.guests, f"sharing_{kind}.elf")
        default = count(args.tally, options, SUMS, program)
        exact = count(args.tally, [*options, "--set", "interleave_cycles=1"], SUMS, program)
        apart = {name: 100.0 * (default[name] - exact[name]) / max(exact[name], 1) for name in SUMS}
        print(f"{kind:18}" + "".join(f"{exact[name]:12,}{apart[name]:+8.2f}%" for name in SUMS))
        if abs(default[SUMS[2]] - exact[SUMS[2]]) < LEAST_INVALIDATIONS:
            apart[SUMS[2]] = 0.0
        if any(abs(percent) > MOST_PERCENT for percent in apart.values()):
            print(f"{kind}: the default differs by more than {MOST_PERCENT} % from turns of one cycle")
            n_wrong += 1
        if kind != "padded" and exact[SUMS[2]] < SHARES:
            print(f"{kind}: only {exact[SUMS[2]]} lines were lost, so nothing was shared")
            n_wrong += 1
        found = {engine: count(args.tally, [*options, "--engine", engine], ["hart?.*", "l2.*"], program) for engine in ENGINES}
        for engine in ENGINES[1:]:
            for name, value in found[ENGINES[0]].items():
                if found[engine].get(name) != value:
                    print(f"{kind}: {name} is {value} by {ENGINES[0]}, {found[engine].get(name)} by {engine}")
                    n_wrong += 1
    sys.exit(1 if n_wrong else 0)


if __name__ == "__main__":
    main()
