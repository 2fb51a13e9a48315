#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the operand vectors of vectors.h under qemu-riscv64 and through our instruction bodies; the output must be equal.

  vectors_qemu.py HOST_PROGRAM GUEST_PROGRAM CASES

CASES is the number of operand combinations for each instruction and rounding mode. Of an instruction that differs, the first case is
shown. Exits 77 (skipped) where qemu-riscv64 is missing.
"""
import shutil
import subprocess
import sys

QEMU = "qemu-riscv64"


def lines_of(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {run.returncode}: {run.stdout[-400:]}")
    return run.stdout.splitlines()


def main():
    host, guest, cases = sys.argv[1:]
    if not shutil.which(QEMU):
        print(f"skipped: no {QEMU}")
        return 77
    theirs, ours = lines_of([QEMU, guest, cases]), lines_of([host, cases])
    if len(theirs) != len(ours):
        sys.exit(f"{len(theirs)} lines under {QEMU}, {len(ours)} here: were both built from the same rows?")
    wrong = [(a, b) for a, b in zip(theirs, ours) if a != b]
    n_cases = sum(int(line.split()[1]) for line in theirs)
    instructions = {line.split()[0].split(".")[0] for line in theirs}
    for a, b in wrong[:10]:
        name = a.split()[0]
        print(f"{QEMU} says {a}\nwe say {b}")
        pairs = zip(lines_of([QEMU, guest, cases, name]), lines_of([host, cases, name]))
        for theirs_case, our_case in pairs:
            if theirs_case != our_case:
                print(f"{QEMU} says {theirs_case}\nwe say {our_case}")
                break
    print(f"{len(instructions)} instructions, {len(theirs)} forms, {n_cases} cases, {len(wrong)} forms differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
