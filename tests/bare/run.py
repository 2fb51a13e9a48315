#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the bare programs of guest/bare/programs.txt and says which ones fail.

  run.py --qemu --guests OUT [NAME...]                        under qemu-system-riscv64, the oracle: the same files must pass there
  run.py --tally build/tally --guests OUT [--engine E] [NAME...]   under `tally stat --bare`, with every engine unless one is named

A program ends by writing its verdict to the board's finisher: the run's exit status is 0 or the number of the check that failed first.
The console says more, and is shown for every failure. The exit status is 1 when anything failed, and 77 (skipped, to meson) when
nothing could be run. Standard library only.
"""
import argparse
import os
import shlex
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from programs import read_programs, run  # noqa: E402

COLUMNS = ("name", "sources", "flags", "harts", "qemu", "tags")
TIMEOUTS_S = {"quick": 300, "slow": 600} # a bound for hangs: two contending harts of QEMU took 60 s on a busy host
DETAILED = "its own" # engine of a machine with a detailed core
ENGINES = ("step", "interp", "translate", "translate --translate-after 0")
# With one hart QEMU makes two accesses of an AMO, and reports the faults of a load; so there are always two (the second one parks).
# The word in RAM tells the program where it runs: see is_qemu in guest/bare/bare.h.
QEMU = ("qemu-system-riscv64 -M virt -cpu rv64,h=false,sstc=false,sscofpmf=true,pmu-num=29 -m 256M -bios none -display none "
        "-monitor none -serial stdio -device loader,addr=0x803ff000,data=0x756d6571,data-len=4")


def judge(command, timeout_s, verbose):
    """Returns (None or what is wrong, console)."""
    status, console = run(command, timeout_s)
    wrong = None
    if verbose:
        print(shlex.join(command))
        sys.stdout.write(console)
    if status == "timeout":
        wrong = f"no end after {timeout_s} s\n{console}"
    elif status != 0:
        wrong = f"status {status}\n{console}"
    elif not any(line.startswith("PASS ") for line in console.splitlines()):
        wrong = f"status 0, but it never said PASS\n{console}"
    return wrong, console


def disk_version(row):
    """Of the transport in front of the disk that the program needs; None: it needs no disk."""
    return next((tag[4:] for tag in row["tags"] if tag in ("disk1", "disk2")), None)


def make_disk(folder):
    path = os.path.join(folder, "disk.img")
    with open(path, "wb") as image:
        image.write(b"".join(bytes([sector * 3]) * 512 for sector in range(8)))
    return path


def qemu_command(options, row, program):
    command = shlex.split(QEMU) + ["-smp", str(max(2, int(row["harts"])))]
    version = disk_version(row)
    if version:
        command += ["-global", f"virtio-mmio.force-legacy={'true' if version == '1' else 'false'}", "-snapshot",
                    "-drive", f"file={options.disk},if=none,format=raw,id=disk",
                    "-device", "virtio-blk-device,drive=disk,bus=virtio-mmio-bus.0"]
    return command + ([] if row["qemu"] == "-" else shlex.split(row["qemu"])) + ["-kernel", program]


def tally_command(options, row, program, engine):
    command = shlex.split(options.tally) + ["stat", "-o", os.devnull, "--set", f"harts={row['harts']}"]
    command += [] if engine == DETAILED else ["--engine", *engine.split()]
    if "pmu" in row["tags"]:
        command += ["--set", "pmu=linux"]
    if "hpc" in row["tags"]:
        command += ["--set", "hpc=timed"]
    if "ccache" in row["tags"]:
        command += ["--set", "l2.counters=6"]
    version = disk_version(row)
    if version:
        command += ["--disk", options.disk]
    if version == "1":
        command += ["--set", "board.virtio=1"]
    return command + shlex.split(options.tally_options) + ["--bare", program]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tally", help="the program under test")
    parser.add_argument("--tally-options", default="", help="further options of `tally stat`")
    parser.add_argument("--detailed", action="store_true", help="the machine has a detailed core, which is the only engine")
    parser.add_argument("--engine", action="append", default=[], help="of tally; default: every one")
    parser.add_argument("--qemu", action="store_true", help="run the oracle instead")
    parser.add_argument("--guests", required=True, help="where guest/bare/build.sh put the programs")
    parser.add_argument("--programs", default=os.path.join(ROOT, "guest", "bare", "programs.txt"))
    parser.add_argument("--timeout", type=float, help="seconds for each run")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the console of every run")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    if not options.qemu and not options.tally:
        parser.error("say --qemu or --tally PROGRAM")
    if options.qemu and not shutil.which("qemu-system-riscv64"):
        print("SKIP: no qemu-system-riscv64: install qemu-system-misc to run the oracle")
        return 77

    rows = list(read_programs(options.programs, COLUMNS))
    unknown = set(options.names) - {row["name"] for row in rows}
    if unknown:
        sys.exit(f"run.py: not in {options.programs}: {' '.join(sorted(unknown))}")
    passed = failed = skipped = 0
    scratch = tempfile.TemporaryDirectory(prefix="bare-")
    options.disk = make_disk(scratch.name)
    for row in rows:
        if options.names and row["name"] not in options.names:
            continue
        program = os.path.join(options.guests, row["name"] + ".elf")
        reason = None
        if not os.path.exists(program):
            reason = "not built"
        elif options.qemu and row["qemu"] == "no":
            reason = "QEMU cannot run it right"
        if reason:
            skipped += 1
            print(f"SKIP {row['name']}: {reason}")
            continue
        if options.tally and ("scalar" if options.detailed else "wide") in row["tags"]:
            continue  # for the other kind of core
        timeout_s = options.timeout or TIMEOUTS_S["slow" if "slow" in row["tags"] else "quick"]
        if options.qemu:
            runs = {"qemu": qemu_command(options, row, program)}
        else:
            runs = {engine: tally_command(options, row, program, engine) for engine in ([DETAILED] if options.detailed else options.engine or ENGINES)}
        consoles = {}
        for who, command in runs.items():
            wrong, consoles[who] = judge(command, timeout_s, options.verbose)
            first = next(iter(consoles))
            if not wrong and consoles[who] != consoles[first]:
                wrong = f"it says\n{consoles[who]}but with {first}\n{consoles[first]}"
            if wrong:
                failed += 1
                print(f"FAIL {row['name']} ({who}): {wrong.rstrip()}", flush=True)
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    if failed:
        return 1
    return 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
