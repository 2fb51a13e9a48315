#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Boots the payloads of guest/sbi/programs.txt through OpenSBI and says which ones fail.

  run.py --tally build/tally --guests OUT [NAME...]   under `tally boot`, with every engine; consoles and counts of all must be equal
  run.py --qemu --guests OUT [NAME...]                under qemu-system-riscv64, the oracle: the same firmware, the same files

A payload ends by writing its verdict to the board's finisher: the run's exit status is 0 or the number of the check that failed first.
What the firmware prints of the harts and their counters is checked, too. The exit status is 1 when anything failed, and 77 (skipped, to
meson) when nothing could be run. Standard library only.
"""
import argparse
import os
import re
import shlex
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from programs import read_programs, run  # noqa: E402

COLUMNS = ("name", "sources", "flags", "harts", "machine", "qemu")
ENGINES = ("translate", "translate --translate-after 0", "interp", "step")
FIRMWARE = "/usr/lib/riscv64-linux-gnu/opensbi/generic/fw_jump.elf"
# The word in RAM tells the program where it runs: see is_qemu in guest/bare/bare.h. With -icount a run repeats; two harts cannot wait for
# each other that way.
QEMU = ("qemu-system-riscv64 -M virt -m 256M -display none -monitor none -serial stdio -no-reboot "
        "-device loader,addr=0x803ff000,data=0x756d6571,data-len=4")
# What the boot hart is, by machine: QEMU's CPU like it, and what OpenSBI finds out by itself.
MACHINES = {
    "rocket": ("rv64,h=false,sstc=false,sscofpmf=true,pmu-num=29", 29, True),
    "u74": ("rv64,h=false,sstc=false,sscofpmf=false,pmu-num=2", 2, False),
}
LCOFI = 1 << 13


def banner_faults(row, console):
    """What the firmware says of the machine, and should not."""
    _cpu, n_counters, has_sscofpmf = MACHINES[row["machine"]]
    shown = dict(re.findall(r"^(\S[^:\n]*?) *: (.*)$", console, re.MULTILINE))
    mideleg = int(shown.get("Boot HART MIDELEG", "0"), 0)
    extensions = shown.get("Boot HART ISA Extensions", "").split(",")
    wanted = (
        ("version", re.search(r"^OpenSBI (\S+)$", console, re.MULTILINE) is not None, True),
        ("Runtime SBI Version", shown.get("Runtime SBI Version"), "1.0"),
        ("Platform HART Count", shown.get("Platform HART Count"), row["harts"]),
        ("Boot HART Priv Version", shown.get("Boot HART Priv Version"), "v1.12"),
        ("Boot HART MHPM Count", shown.get("Boot HART MHPM Count"), str(n_counters)),
        ("sscofpmf among Boot HART ISA Extensions", "sscofpmf" in extensions, has_sscofpmf),
        ("time among Boot HART ISA Extensions", "time" in extensions, True),
        ("overflow interrupt in Boot HART MIDELEG", mideleg & LCOFI, LCOFI if has_sscofpmf else 0),
        ("Domain0 Next Mode", shown.get("Domain0 Next Mode"), "S-mode"),
    )
    return [f"the firmware's {what}: {got}, expected {want}" for what, got, want in wanted if got != want]


def judge(row, status, console):
    """Returns None or what is wrong."""
    if status == "timeout":
        return f"no end in time\n{console}"
    if status != 0:
        return f"status {status}\n{console}"
    if not any(line.startswith("PASS ") for line in console.splitlines()):
        return f"status 0, but it never said PASS\n{console}"
    faults = banner_faults(row, console)
    return "\n".join(faults + [console]) if faults else None


def commands(options, row, program, counts):
    if options.qemu:
        cpu = MACHINES[row["machine"]][0]
        extra = [] if row["qemu"] == "-" else shlex.split(row["qemu"])
        extra += ["-icount", "shift=0"] if row["harts"] == "1" else []
        return {"qemu": shlex.split(QEMU) + ["-bios", FIRMWARE, "-cpu", cpu, "-smp", row["harts"]] + extra + ["-kernel", program]}
    command = shlex.split(options.tally) + ["boot", "--machine", row["machine"], "--harts", row["harts"], "--kernel", program, "-j", "-dd"]
    command += shlex.split(options.tally_options)
    return {engine: command + ["-o", os.path.join(counts, engine), "--engine", *engine.split()] for engine in options.engine or ENGINES}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tally", help="the program under test")
    parser.add_argument("--tally-options", default="", help="further options of `tally boot`")
    parser.add_argument("--engine", action="append", default=[], choices=ENGINES, help="default: every one")
    parser.add_argument("--qemu", action="store_true", help="run the oracle instead")
    parser.add_argument("--guests", required=True, help="where guest/sbi/build.sh put the payloads")
    parser.add_argument("--programs", default=os.path.join(ROOT, "guest", "sbi", "programs.txt"))
    parser.add_argument("--timeout", type=float, default=60, help="seconds for each run")
    parser.add_argument("-v", "--verbose", action="store_true", help="show command and console of every run")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    if not options.qemu and not options.tally:
        parser.error("say --qemu or --tally PROGRAM")
    if not os.path.exists(FIRMWARE):
        print(f"SKIP: no {FIRMWARE}: install the package opensbi to test the counters through firmware")
        return 77
    if options.qemu and not shutil.which("qemu-system-riscv64"):
        print("SKIP: no qemu-system-riscv64: install qemu-system-misc to run the oracle")
        return 77

    rows = list(read_programs(options.programs, COLUMNS))
    unknown = set(options.names) - {row["name"] for row in rows}
    if unknown:
        sys.exit(f"run.py: not in {options.programs}: {' '.join(sorted(unknown))}")
    passed = failed = skipped = 0
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
        with tempfile.TemporaryDirectory() as counts:
            results = {}
            for who, command in commands(options, row, program, counts).items():
                status, console = run(command, options.timeout)
                if options.verbose:
                    print(f"{shlex.join(command)}\n{console}", end="")
                wrong = judge(row, status, console)
                if not options.qemu and not wrong:
                    with open(os.path.join(counts, who), encoding="utf-8") as report:
                        results[who] = (console, report.read())
                    other = next(iter(results))
                    for at, what in enumerate(("console", "counts")):
                        if not wrong and results[who][at] != results[other][at]:
                            wrong = f"its {what} is not that of engine {other}"
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
