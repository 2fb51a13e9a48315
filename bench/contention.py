#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds the default turns of harts against turns of one cycle, on nine programs whose threads share memory in nine ways.

  bench/contention.py [--tally FILE] [--guest FILE] [--machine NAME] [--harts N] [--threads N] [--engine NAME] [--against FILE]
                      [--set KEY=VALUE] [--most PERCENT] [KIND...]

Each row: what is counted with interleave_cycles=1, by how much the default differs, and the host's time of both. Counts are exact and
repeat; times do not. --threads: the most that a program is given (default: as many as harts). --set: of both runs. --against: the runs
with interleave_cycles=1 are those of another build. --most: the exit status is 1 when a count differs by more, and times are left out.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
EVENTS = {"cycles": "cycles", "instructions": "instructions", "l1d.probe_invalidate": "invalidations"}
# The least number of threads, and what it must be a multiple of.
KINDS = {"false_sharing": (2, 1), "ping_pong": (2, 1), "spinlock": (2, 1), "ticket_lock": (2, 1), "barrier": (2, 1), "producer_consumer": (2, 2),
         "read_mostly": (2, 1), "work_queue": (2, 1), "padded": (2, 1)}
LEAST = 100  # a difference of fewer invalidations is no difference: threads start and end, too


def count(tally, options, program):
    """({signal: count}, seconds) of one run."""
    with tempfile.TemporaryDirectory() as folder:
        counts = os.path.join(folder, "counts")
        start = time.monotonic()
        subprocess.run([tally, "stat", "-x,", "-e", ",".join(EVENTS), "-o", counts, *options, "--", *program], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        seconds = time.monotonic() - start
        with open(counts, encoding="ascii") as lines:
            found = dict(re.findall(r"^(\d+),[^,]*,([^,]+),", line)[0][::-1] for line in lines)
    return {name: int(found[name]) for name in EVENTS}, seconds


def difference(name, exact, default):
    if name == "l1d.probe_invalidate" and abs(default - exact) < LEAST:
        return 0.0
    return 100.0 * (default - exact) / exact


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tally", default=os.path.join(TOP, "build", "tally"))
    parser.add_argument("--guest", default=os.path.join(TOP, "build", "guest", "sharing"))
    parser.add_argument("--machine", default="rocket")
    parser.add_argument("--harts", type=int, default=4)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--engine", choices=["translate", "interp", "step"])
    parser.add_argument("--against")
    parser.add_argument("--set", action="append", default=[], dest="keys")
    parser.add_argument("--most", type=float)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    args = parser.parse_args()
    options = ["--machine", args.machine, "--set", f"harts={args.harts}"] + (["--engine", args.engine] if args.engine else [])
    for key in args.keys:
        options += ["--set", key]
    print(f"{args.machine}, {args.harts} harts")
    print(f"{'':18}" + "".join(f"{title:>16}{'':>9}" for title in EVENTS.values()) + ("" if args.most else f"{'seconds':>10}"))
    is_close = True
    for kind in args.kinds or KINDS:
        least, step = KINDS[kind]
        n_threads = min(args.threads or args.harts, args.harts)
        n_threads = max(least, n_threads - n_threads % step)
        program = [args.guest, kind, str(n_threads)]
        exact, exact_seconds = count(args.against or args.tally, [*options, "--set", "interleave_cycles=1"], program)
        default, seconds = count(args.tally, options, program)
        row = f"{kind:18}"
        for name in EVENTS:
            apart = difference(name, exact[name], default[name])
            is_close &= args.most is None or abs(apart) <= args.most
            row += f"{exact[name]:16,}{apart:+8.2f}%"
        print(row + ("" if args.most else f"{exact_seconds:10.3f}{seconds:8.3f}"), flush=True)
    if not is_close:
        print(f"The default differs by more than {args.most} % from turns of one cycle.")
        sys.exit(1)


if __name__ == "__main__":
    main()
