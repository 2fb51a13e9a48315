#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Calls the Arm board's firmware, and compares its answers with those of QEMU's own PSCI.

  run.py --tally build/tally --guests OUT

OUT is where guest/firmware/build.sh built. psci.elf checks itself on both; the consoles must be the same. Standard library only.
"""
import argparse
import os
import shutil
import subprocess
import sys

# The word in RAM tells the program where it runs.
QEMU = ("qemu-system-aarch64 -M virt,gic-version=2 -cpu cortex-a53 -smp 2 -m 2G -nic none -display none -monitor none -serial stdio "
        "-no-reboot -device loader,addr=0x801ff000,data=0x756d6571,data-len=4 -kernel").split()


def run(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
    return done.returncode, done.stdout.decode("utf-8", "backslashreplace").replace("\r", ""), done.stderr.decode("utf-8", "backslashreplace")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tally", required=True)
    parser.add_argument("--guests", required=True)
    options = parser.parse_args()
    problems = []

    def boot(name, harts, *more):
        program = os.path.join(options.guests, name + ".elf")
        return run([options.tally, "boot", "--machine", "a53", "--harts", str(harts), "--kernel", program, "--timeout", "100", *more])

    def need(condition, sentence):
        if not condition:
            problems.append(sentence)

    status, console, said = boot("psci", 2)
    need(status == 0 and console.splitlines()[-1:] and console.splitlines()[-1].startswith("PASS "), f"psci: status {status}\n{console}{said}")
    status, _, said = boot("psci_reset", 2)
    need(status == 1 and "asked for a restart" in said, f"SYSTEM_RESET: status {status}\n{said}")
    # The firmware as a file is the firmware that is part of the program.
    status, same, said = boot("psci", 2, "--bios", os.path.join(options.guests, "a64.elf"))
    need((status, same) == (0, console), f"--bios a64.elf: status {status}\n{same}{said}")
    if shutil.which(QEMU[0]):
        status, theirs, said = run(QEMU + [os.path.join(options.guests, "psci.elf")])
        verdicts = [text.splitlines()[-1:] for text in (console, theirs)]
        need(status == 0 and all(v and v[0].startswith("PASS ") for v in verdicts), f"QEMU: status {status}\n{theirs}{said}")
        # The numbers of checks differ, because QEMU is not asked for everything.
        need(console.splitlines()[:-1] == theirs.splitlines()[:-1], f"the consoles differ:\n{console}\nQEMU:\n{theirs}")
    else:
        print("no qemu-system-aarch64: install qemu-system-arm to compare with it")
    print("\n".join(problems) or "passed")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
