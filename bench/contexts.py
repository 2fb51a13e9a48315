#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times tally report on a profile of many calling contexts.

  bench/contexts.py [--contexts N] [--record] [--tally FILE] [--keep FILE]

Records a small program with -g, and replaces its contexts in the file by a tree of N (default 10,000,000): 2,000 functions, depths up to
40, counts of one event. Then times tally report, plain and with --children, --callers and --html: seconds of processor time, and the
largest memory. Sums of contexts stay the totals, so the profile is one that the reader accepts. --record writes the table to docs/bench.md.
"""
import argparse
import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile

import run as bench
import section

TARGET_SECONDS = 5  # of every table; reported, never asserted


def make(tally, path, n_contexts):
    program = os.path.join(bench.TOP, "build", "guest", "demo")
    subprocess.run([tally, "record", "-q", "-g", "-e", "cycles", "-o", path, "--", program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    chance = random.Random(18)
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = OFF")
        event, total = database.execute("SELECT id, total FROM event WHERE name = 'hart.cycle'").fetchone()
        functions = database.execute("SELECT count(*) FROM function").fetchone()[0]
        database.execute("DELETE FROM context_count")
        database.execute("DELETE FROM context")
        database.executemany("INSERT INTO function VALUES (?, 0, ?, ?, ?, 16, NULL, 0)",
                             [(functions + i, f"function_{i}", f"function_{i}", (1 << 40) + 16 * i) for i in range(2000)])
        database.executemany("INSERT INTO context VALUES (?, 0, ?, NULL, ?, ?)", tree(chance, n_contexts, functions))
        each = total // n_contexts
        rows = ((i, event, each if i else total - each * (n_contexts - 1)) for i in range(n_contexts) if each or not i)
        database.executemany("INSERT INTO context_count VALUES (?, ?, ?)", rows)


def tree(chance, n, functions):
    depths = bytearray(n)
    for i in range(n):
        parent = None
        if i:
            parent = chance.randrange(max(0, i - 5000), i)
            if depths[parent] >= 40:
                parent = chance.randrange(i // 100 + 1)
            depths[i] = min(depths[parent] + 1, 255)
        yield i, parent, functions + chance.randrange(2000), 1 + i % 7


def timed(words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", "import resource, subprocess, sys; done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); "
                           "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(done.returncode)", *words], capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise bench.Failure(f"{' '.join(words)}: {done.stderr.strip()[-300:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, int(done.stdout) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--contexts", type=int, default=10_000_000)
    parser.add_argument("--record", action="store_true", help="write the table to docs/bench.md")
    parser.add_argument("--tally", default=os.path.join(bench.TOP, "build", "tally"), help="the program under test")
    parser.add_argument("--keep", metavar="FILE", help="the profile; made if it is not there, and kept")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder:
        path = args.keep or os.path.join(folder, "tally.profile")
        if not os.path.exists(path):
            make(args.tally, path, args.contexts)
        lines = [f"| {args.contexts:,} contexts, {os.path.getsize(path) / 1e6:.0f} MB | s | MiB |", "|:--|--:|--:|"]
        print("\n".join(lines), flush=True)
        slowest = 0.0
        for words in ([], ["--children"], ["--callers", "function_7"], ["--html", os.path.join(folder, "page.html")]):
            seconds, mib = timed([args.tally, "report", "-e", "cycles", *words, path])
            shown = " ".join(word for word in words if not word.startswith("/"))
            lines.append(f"| tally report {shown}".rstrip() + f" | {seconds:.2f} | {mib:.0f} |")
            print(lines[-1], flush=True)
            slowest = max(slowest, seconds)
    verdict = "- " + bench.verdict(slowest < TARGET_SECONDS, f"every report under {TARGET_SECONDS} s; the slowest {slowest:.2f}")
    print(f"\n{verdict}")
    if args.record:
        section.record("bench/contexts.py", "\n".join(["## Reports of large profiles", "", "`bench/contexts.py` (part of `make bench`) makes a profile of a call "
                                                       "graph of that many contexts, and says what reports take: processor time and memory.", "", *lines, "", verdict]))


if __name__ == "__main__":
    try:
        main()
    except bench.Failure as failure:
        sys.exit(f"bench/contexts.py: {failure}")
