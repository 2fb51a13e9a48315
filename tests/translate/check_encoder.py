#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The emitter of the translator against objdump, instruction by instruction: check_encoder.py ENCODER_FORMS

ENCODER_FORMS is the program built from encoder_forms.c. Exits 77 (skipped) where there is no objdump or the host is not an x86-64.
"""
import os
import subprocess
import sys
import tempfile

import host_code


def main():
    if not host_code.is_there():
        print("skipped: no objdump")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "code")
        run = subprocess.run([sys.argv[1], path], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            print(f"{sys.argv[1]} ended with {run.returncode}")
            return 77 if run.returncode == 77 else 1
        wanted = [(int(at, 16), text) for at, text in (line.split("\t", 1) for line in run.stdout.splitlines())]
        found = host_code.disassemble(path, wanted[0][0])
    wrong = []
    for (at, text), (want_at, want) in zip([(at, text) for at, _, text in found] + [(found[-1][0] + found[-1][1], "end")], wanted):
        if (at, text) != (want_at, want):
            wrong.append(f"{want_at:x}: emitted {want!r}, objdump reads {text!r} at {at:x}")
    if len(found) + 1 != len(wanted):
        wrong.append(f"{len(wanted) - 1} instructions emitted, objdump reads {len(found)}")
    for line in wrong[:40]:
        print(line)
    print(f"{len(wanted) - 1} instructions, {len(wrong)} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
