#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures engine interp on AArch64 programs beside the same sources for RISC-V, and beside QEMU's cache plugin.

  bench/arm64.py [--quick] [--no-boots] [--record] [NAME...]

Columns are millions of guest instructions per second of processor time, and seconds of it:
arm64       tally, AArch64 build, everything counted
riscv64     tally, RISC-V build, everything counted
plugin      qemu-aarch64 with QEMU's own cache plugin: caches only
work        seconds of riscv64 by seconds of arm64: how fast the same source runs, whatever its number of instructions
All have the caches of bench/run.py; tally has the TLBs of machine rocket for both. The tools take turns, and the fastest run of each counts.
Behind the table stand what is aimed at, met or not, and boots of both kernels of docs/aarch64.md on machine a53, where they are built.
"""
import argparse
import json
import math
import os
import resource
import shlex
import statistics
import sys
import tempfile

import run as bench
import section

CACHES = [*bench.GEOMETRY, f"--L2={bench.L2[0]},{bench.L2[1]},{bench.L2[2]}"]
# The TLBs of machine rocket, and lru everywhere: the models of both have the same work.
SAME = {**{f"{cache}.replacement": "lru" for cache in ("l1i", "l1d", "l2", "itlb", "dtlb", "l2tlb")}, "itlb.ways": 32, "itlb.entries": 32,
        "dtlb.ways": 32, "dtlb.entries": 32, "l2tlb.entries": 1024, "l2tlb.ways": 4}
SETTINGS = [word for key, value in SAME.items() for word in ("--set", f"{key}={value}")]
TOOLS = ("arm64", "riscv64", "plugin")
OF_RISCV, OF_PLUGIN = 0.9, 3  # reported, never asserted
KERNELS = {"Linux 6.1 of guest/linux": "linux-arm64", "Debian's own": "debian-arm64"}


def command(options, scratch, tool, program, arguments):
    target = "riscv64" if tool == "riscv64" else "arm64"
    guest = os.path.join(os.path.abspath(options.workloads), target, program)
    if tool == "plugin":
        plugin = os.path.join(os.path.abspath(options.workloads), "plugin", "libcache.so")
        return ["qemu-aarch64", "-plugin", f"{plugin},{bench.PLUGIN_OPTIONS}", "-d", "plugin", "-D", os.path.join(scratch, "plugin.log"), guest] + arguments
    return [options.tally, "stat", "-j", "-o", os.path.join(scratch, "tally.json"), "--engine", "interp", *CACHES, *SETTINGS, "--", guest] + arguments


def processor_s(words, paths):
    """Seconds of processor time that a command takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    bench.run(words, *paths)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(options, scratch, tool, program, arguments):
    """Seconds, and instructions where the tool counts them."""
    paths = [os.path.join(scratch, name) for name in ("stdout", "stderr")]
    return processor_s(command(options, scratch, tool, program, arguments), paths), 0 if tool == "plugin" else bench.tally_instructions(os.path.join(scratch, "tally.json")), bench.digest(paths[0])


def boots(options):
    """Seconds and speed up to the first command and off again, as sentences."""
    sentences = []
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tally")
    for name, folder in KERNELS.items():
        images = [os.path.join(cache, folder, file) for file in ("Image", "initramfs.cpio")]
        if not all(map(os.path.exists, images)):
            print(f"not measured: a boot of {name}; {os.path.join(cache, folder)} is not there")
            continue
        with tempfile.TemporaryDirectory() as scratch:
            report = os.path.join(scratch, "tally.json")
            command = [options.tally, "boot", "-j", "-o", report, "--machine", "a53", "--set", "ram=256MiB", "--kernel", images[0], "--initrd", images[1],
                       "--append", 'console=ttyAMA0 quiet panic=-1 tally.run="exit 0"']
            paths = [os.path.join(scratch, file) for file in ("stdout", "stderr")]
            seconds = min(processor_s(command, paths) for _ in range(options.rounds))
            instructions = bench.tally_instructions(report)
        sentences.append(f"boot of {name}: {instructions / 1e6:.1f} million instructions, {seconds:.2f} s, {instructions / seconds / 1e6:.1f} MIPS")
        print(sentences[-1], flush=True)
    return sentences


def record(options, results, works, verdicts):
    """The section of docs/bench.md."""
    rows = ["| program | arm64 MIPS | riscv64 MIPS | plugin MIPS | arm64 / riscv64 | work | arm64 / plugin |",
            "|:--------|-----------:|-------------:|------------:|----------------:|-----:|---------------:|"]
    for name, mips in results.items():
        rows.append(f"| {name:7} | {mips['arm64']:10.0f} | {mips['riscv64']:12.0f} | {mips['plugin']:11.0f} |"
                    f" {mips['arm64'] / mips['riscv64']:15.2f} | {works[name]:4.2f} | {mips['arm64'] / mips['plugin']:14.1f} |")
    about = f"`bench/arm64.py` says what the columns are. {'A tenth of the work; the' if options.quick else 'The'} fastest of {options.rounds}, in processor time."
    section.record("bench/arm64.py", "\n".join(["## AArch64", "", about, "", *rows, "", *(f"- {verdict}" for verdict in verdicts)]))


def rows_of(path, is_quick):
    here = os.path.dirname(os.path.abspath(path))
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) > 3 and not line.startswith("#"):
                yield cells[0], cells[1], cells[2 if is_quick else 3].replace("{here}", here)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the work")
    parser.add_argument("--no-boots", action="store_true", help="leave out the kernels")
    parser.add_argument("--record", action="store_true", help="write the section of docs/bench.md")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tally", default=os.path.join(bench.TOP, "build", "tally"))
    parser.add_argument("--workloads", default=os.path.join(bench.TOP, "bench", "out"))
    parser.add_argument("--json", help="write the numbers there, too")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    results, works = {}, {}
    print(f"{'':10} {'arm64':>7} {'riscv64':>8} {'plugin':>7}   arm64/riscv64   work   arm64/plugin   seconds of arm64, riscv64")
    for name, program, text in rows_of(os.path.join(bench.HERE, "workloads", "workloads.txt"), options.quick):
        if options.names and name not in options.names:
            continue
        arguments = shlex.split(text.replace("{input}", os.path.join(os.path.abspath(options.workloads), "input")))
        best, instructions, outputs = dict.fromkeys(TOOLS, math.inf), {}, set()
        with tempfile.TemporaryDirectory() as scratch:
            for _ in range(options.rounds):
                for tool in TOOLS:
                    seconds, instructions[tool], output = measure(options, scratch, tool, program, arguments)
                    best[tool] = min(best[tool], seconds)
                    outputs.add(output)
        if len(outputs) != 1:
            raise bench.Failure(f"{name} prints different things")
        instructions["plugin"] = instructions["arm64"]
        mips = {tool: instructions[tool] / best[tool] / 1e6 for tool in TOOLS}
        results[name] = mips
        works[name] = best["riscv64"] / best["arm64"]
        print(f"{name:10} {mips['arm64']:7.1f} {mips['riscv64']:8.1f} {mips['plugin']:7.1f} {mips['arm64'] / mips['riscv64']:15.2f} {works[name]:6.2f}"
              f" {mips['arm64'] / mips['plugin']:14.2f}   {best['arm64']:.2f} {best['riscv64']:.2f}", flush=True)
    means = {tool: statistics.geometric_mean([mips[tool] for mips in results.values()]) for tool in TOOLS}
    print(f"{'mean':10} {means['arm64']:7.1f} {means['riscv64']:8.1f} {means['plugin']:7.1f} {means['arm64'] / means['riscv64']:15.2f}"
          f" {statistics.geometric_mean(works.values()):6.2f} {means['arm64'] / means['plugin']:14.2f}")
    verdicts = []
    for other, wanted, name in (("riscv64", OF_RISCV, "RISC-V's interp"), ("plugin", OF_PLUGIN, "QEMU's cache plugin")):
        got = means["arm64"] / means[other]
        verdicts.append(bench.verdict(got >= wanted, f"{wanted} times {name} in geometric mean; {got:.2f}"))
    work = statistics.geometric_mean(works.values())
    verdicts.append(bench.verdict(work >= OF_RISCV, f"{OF_RISCV} times RISC-V's interp in work per second, in geometric mean; {work:.2f}"))
    print("\n".join(verdicts))
    if not options.no_boots:
        verdicts += boots(options)
    if options.record:
        record(options, results, works, verdicts)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"mips": results, "work": works, "mean": means}, out, indent=1)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except bench.Failure as failure:
        sys.exit(f"arm64.py: {failure}")
