#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Instructions of AArch64 programs without a C library beside those that QEMU executes, one translation block for each.

  count_arm64.py TALLY PROGRAM...

Tally counts retired instructions. QEMU also counts SVC, which traps. The exit status is 1 when a number differs, and 77 (skipped, to
meson) when there is no qemu-aarch64.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile


def count_of_qemu(program):
    with tempfile.TemporaryDirectory() as scratch:
        log = os.path.join(scratch, "log")
        subprocess.run(["qemu-aarch64", "-cpu", "cortex-a53", "-singlestep", "-d", "exec,nochain", "-D", log, program],
                       stdout=subprocess.DEVNULL, check=True, env={})
        with open(log, encoding="utf-8") as lines:
            return sum(line.startswith("Trace ") for line in lines)


def count_of_tally(tally, program):
    with tempfile.TemporaryDirectory() as scratch:
        result = os.path.join(scratch, "result.json")
        subprocess.run([tally, "stat", "-j", "-o", result, "-e", "instructions,syscalls", "--", program], stdout=subprocess.DEVNULL, check=True)
        with open(result, encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
    events = {record["event"]: record["value"] for record in records if record["type"] == "event"}
    return events["instructions"], events["syscalls"]


def main():
    tally, programs = sys.argv[1], sys.argv[2:]
    if not shutil.which("qemu-aarch64"):
        print("no qemu-aarch64; run tools/install-deps check")
        return 77
    failed = 0
    for program in programs:
        wanted = count_of_qemu(program)
        retired, calls = count_of_tally(tally, program)
        is_equal = retired + calls == wanted
        failed += not is_equal
        print(f"{os.path.basename(program)}: {retired} instructions and {calls} calls, QEMU {wanted}{'' if is_equal else ': different'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
