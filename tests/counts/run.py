#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the kernels of guest/counts, whose counts were worked out on paper, and compares every one exactly.

  run.py --tally build/tally --out DIR [--gcc riscv64-linux-gnu-gcc] [--engine "ENGINE [OPTION...]"] [NAME...]

A kernel says in its comments on which machines it runs and what must come out; a `machine:` line begins a run:

  # machine: rocket
  # set: mem.row_hit=50 mem.row_miss=50      keys of the description to override; several lines add up
  # expect: hart0.l1d.load_miss = 9 + 8      a signal and an integer expression; words after two spaces are a remark

hart0.SIGNAL is the count of that hart, SIGNAL alone that of the whole machine. Counting goes from label roi_begin to
roi_end. One line for each failure, then a count; the exit status is 1 when anything failed and 77 (skipped, to meson) without
a compiler. Standard library only.
"""
import argparse
import ast
import json
import operator
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNELS = os.path.join(ROOT, "guest", "counts")
BUILD = ["-march=rv64gc", "-nostdlib", "-static", "-Wl,-Ttext=0x20000", "-Wl,-Tbss=0x1010000", "-Wl,--build-id=none"]
LINE = re.compile(r"^#\s*(machine|set|expect):\s*(.*?)(?:\s{2,}.*)?$")
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul}


def value_of(text):
    def walk(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](walk(node.left), walk(node.right))
        raise ValueError(text)

    return walk(ast.parse(text, mode="eval").body)


def read_runs(path):
    """Yields (machine, overrides, {signal: (value, line number)}) for each `machine:` line."""
    runs = []
    with open(path, encoding="utf-8") as source:
        for number, line in enumerate(source, 1):
            match = LINE.match(line.rstrip())
            if not match:
                continue
            kind, text = match.groups()
            if kind == "machine":
                runs.append((text, [], {}))
            elif not runs:
                sys.exit(f"{path}:{number}: {kind} before the first machine")
            elif kind == "set":
                runs[-1][1].extend(text.split())
            else:
                signal, _, expression = text.partition("=")
                try:
                    runs[-1][2][signal.strip()] = (value_of(expression.strip()), number)
                except (SyntaxError, ValueError):
                    sys.exit(f"{path}:{number}: {expression.strip()!r} is not a sum of integers")
    if not runs or not all(expected for _, _, expected in runs):
        sys.exit(f"{path}: a run without expectations")
    return runs


def build(gcc, source, program):
    newest = max(os.path.getmtime(path) for path in (source, os.path.join(KERNELS, "counts.inc"), os.path.abspath(__file__)))
    if os.path.exists(program) and os.path.getmtime(program) > newest:
        return
    subprocess.run([gcc] + BUILD + ["-I", KERNELS, "-o", program + ".new", "-x", "assembler", source], check=True)
    os.replace(program + ".new", program)


def count(options, program, machine, overrides, report):
    command = [options.tally, "stat", "-j", "--per-unit", "-o", report, "--roi", "roi_begin:roi_end", "--machine", machine]
    for override in overrides:
        command += ["--set", override]
    if options.engine:
        command += ["--engine", *options.engine.split()]
    done = subprocess.run(command + ["--", program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()[-1:] or ["no message"]
        raise RuntimeError(f"status {done.returncode}: {words[0]}")
    counts = {}
    with open(report, encoding="utf-8") as lines:
        for record in map(json.loads, filter(str.strip, lines)):
            if record.get("type") == "event":
                counts[(record["scope"], record["event"])] = record["value"]
    return counts


def look_up(counts, signal):
    """hart0.cycle is hart.cycle of unit hart0; hart0.l1d.load is l1d.load of unit hart0.l1d; without a unit, the machine's sum."""
    unit, _, rest = signal.partition(".")
    if not re.fullmatch(r"hart\d+", unit):
        return counts.get(("machine", signal))
    kind = rest.rpartition(".")[0]
    return counts.get((f"{unit}.{kind}", rest)) if kind else counts.get((unit, "hart." + rest))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tally", default=os.path.join(ROOT, "build", "tally"))
    parser.add_argument("--out", required=True, help="where the kernels are built")
    parser.add_argument("--gcc", default=os.environ.get("CROSS", "riscv64-linux-gnu-") + "gcc")
    parser.add_argument("--engine", help="front-end to use instead of the default")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    if not shutil.which(options.gcc):
        print(f"SKIP: no {options.gcc}")
        return 77
    os.makedirs(options.out, exist_ok=True)
    names = options.names or sorted(name[:-2] for name in os.listdir(KERNELS) if name.endswith((".S", ".c")))
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="counts-") as scratch:
        for name in names:
            source = os.path.join(KERNELS, name + ".S")
            program = os.path.join(options.out, name)
            build(options.gcc, source, program)
            for machine, overrides, expected in read_runs(source):
                try:
                    counts = count(options, program, machine, overrides, os.path.join(scratch, "report"))
                except (RuntimeError, subprocess.TimeoutExpired) as problem:
                    failed += len(expected)
                    print(f"FAIL {name} on {' '.join([machine] + overrides)}: {problem}", flush=True)
                    continue
                for signal, (want, number) in expected.items():
                    got = look_up(counts, signal)
                    if got == want:
                        passed += 1
                        continue
                    failed += 1
                    print(f"FAIL {name}.S:{number}: {signal} is {got}, expected {want} (on {' '.join([machine] + overrides)})", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
