#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Perf events by the dice: what perf_random finds and what the machine counts must be the same on every engine.

  tests/guest/perf_engines.py TALLY PERF_RANDOM
"""
import os
import subprocess
import sys
import tempfile

ENGINES = [["step"], ["interp"], ["translate"], ["translate", "--translate-after", "0"]]


def run(tally, program, machine, engine, seed):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "counts")
        words = [tally, "stat", "-q", "-x,", "-o", path, "-e", "*", "--machine", machine, "--engine", *engine]
        done = subprocess.run([*words, "--", program, "2500", str(seed)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        with open(path, encoding="utf-8") as counts:
            return done.returncode, done.stdout, counts.read()


def main():
    tally, program = sys.argv[1:]
    for machine, seed in [("rocket", 1), ("lowrisc2", 2), ("lowrisc2", 3), ("u74", 4)]:
        first = run(tally, program, machine, ENGINES[0], seed)
        if first[0] != 0 or "2500 rounds, sum" not in first[1] or len(first[2].splitlines()) < 100:
            sys.exit(f"{machine}, seed {seed}: exit status {first[0]}: {first[1]}")
        for engine in ENGINES[1:]:
            other = run(tally, program, machine, engine, seed)
            for a, b in zip((str(first[0]), *first[1:]), (str(other[0]), *other[1:])):
                different = [f"{x}   {y}" for x, y in zip(a.splitlines(), b.splitlines()) if x != y]
                if a != b:
                    sys.exit(f"{machine}, seed {seed}: step and {' '.join(engine)} differ:\n" + "\n".join(different[:20]))
    print("4 machines and seeds, 4 engines: all the same")


if __name__ == "__main__":
    main()
