#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the bare AArch64 programs of guest/bare/a64/programs.txt and says which ones fail.

  run_a64.py --tally build/tally --guests OUT [NAME...]

Each program runs under `tally stat --bare` with every engine, and under qemu-system-aarch64, where it is installed. All must say PASS, and
their consoles must be the same. The engines must count the same. The exit status is 1 when anything failed. Standard library only.
"""
import argparse
import difflib
import os
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from programs import read_programs, run  # noqa: E402

ENGINES = ["step", "interp"]
COLUMNS = ("name", "sources", "harts", "qemu")
PROGRAMS = os.path.join(ROOT, "guest", "bare", "a64", "programs.txt")
# EL3 exists with secure=on, and RAM reaches 0x80000000 with 2 GiB. The word in RAM tells the program where it runs (is_qemu in a64.h).
QEMU = ("qemu-system-aarch64 -M virt,secure=on -cpu cortex-a53 -m 2G -nic none -display none -monitor none -serial stdio "
        "-device loader,addr=0x801ff000,data=0x756d6571,data-len=4 -kernel").split()


def is_passed(status, console):
    lines = console.splitlines()
    return status == 0 and bool(lines) and lines[-1].startswith("PASS ")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tally", required=True)
    parser.add_argument("--guests", required=True, help="where guest/bare/a64/build.sh put the programs")
    parser.add_argument("--machine", default="a53")
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each run")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    programs = {row["name"]: (row["harts"], row["qemu"] != "no") for row in read_programs(PROGRAMS, COLUMNS)}
    unknown = set(options.names) - set(programs)
    if unknown:
        sys.exit(f"run_a64.py: not in {PROGRAMS}: {' '.join(sorted(unknown))}")
    has_qemu = shutil.which("qemu-system-aarch64") is not None
    if not has_qemu:
        print("no qemu-system-aarch64: install qemu-system-arm to compare with it")
    failed = 0
    for name in options.names or programs:
        harts, has_oracle = programs[name]
        program = os.path.join(options.guests, name + ".elf")
        command = [options.tally, "stat", "--machine", options.machine, "--set", f"harts={harts}"]
        wrong, counts = "", {}
        for engine in ENGINES:
            with tempfile.TemporaryDirectory() as scratch:
                result = os.path.join(scratch, "counts")
                status, console = run([*command, "--csv", "-v", "-o", result, "--engine", engine, "--bare", program], options.timeout)
                if not is_passed(status, console):
                    wrong += f"tally --engine {engine}: status {status}\n{console}"
                elif os.path.exists(result):
                    with open(result, encoding="utf-8") as lines:
                        counts[engine] = (console, lines.read())
        if not wrong and (len(counts) != len(ENGINES) or len(set(counts.values())) != 1):
            wrong += "the engines differ\n"
        if has_qemu and has_oracle:
            status, theirs = run(QEMU + [program], options.timeout)
            if not is_passed(status, theirs):
                wrong += f"qemu: status {status}\n{theirs}"
            elif theirs != console:
                wrong += "".join(difflib.unified_diff(theirs.splitlines(True), console.splitlines(True), "qemu", "tally"))
        print(f"{name}: {'FAILED' if wrong else 'passed'}\n{wrong}", end="")
        failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
