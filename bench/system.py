#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what system mode and the counters of the harts cost.

  bench/system.py [--quick] [--record] [--repeat N]

Four tables, of ratios on this machine in this run:
  modes     one inner loop (guest/bare/loop.c) as a Linux program, as a bare program in machine mode, and in user mode behind page tables
  counters  programs on a machine without counters, with the standard PMU attached and unread, with the distributed counters and those of the
            second level as well; and the bare loop with counters that wait for an overflow
  calls     what a system call costs, in host instructions under cachegrind, beside what it cost at commit c0acc651: workloads/calls.c as a program,
            and under Linux when `make check-linux` has built it and not with --quick
  boot      firmware and kernel up to the first process and off again, when `make check-linux` has built them (else left out)
Runs take turns, N of each (default 7). Speeds are of the fastest run; percentages are medians over the rounds. --record writes the tables to docs/bench.md.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import section

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
ROUNDS = {False: 20_000_000, True: 10_000_000}  # by --quick
ARMED = {"cycles": 1, "instructions": 2, "branches": 5, "L1D load misses": 0x10001}  # selectors of rvhpm:linux
TARGETS = {"unread": 3, "armed": 10}  # percent; reported, never asserted
CALLS = {"as a program": 4174, "under Linux": 10087}  # host instructions of one system call at commit c0acc651
CALLS_TARGET, BOOT_TARGET = 3, 1.5  # times as fast as that; of the cost of an instruction on one hart


def build(folder, rounds):
    """The loop three times, long enough to measure, and once for each event that waits for an overflow."""
    cross = os.environ.get("CROSS", "riscv64-linux-gnu-") + "gcc"
    bare = os.path.join(TOP, "guest", "bare")
    common = ["-O2", "-g", "-I", bare, f"-DLOOP_ROUNDS={rounds}"]
    target = ["-march=rv64imafdc_zicsr_zifencei", "-mabi=lp64d", "-mcmodel=medany", "-std=gnu17", "-ffreestanding", "-fno-pic",
              "-fno-tree-loop-distribute-patterns", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments", "-T",
              os.path.join(bare, "bare.ld")]
    runtime = [os.path.join(bare, "crt.S"), os.path.join(bare, "bare.c")]
    source = os.path.join(bare, "loop.c")
    programs = {}
    armed = {name: [cross, *common, *target, f"-DLOOP_ARMED={selector}", *runtime, source, "-lgcc"] for name, selector in ARMED.items()}
    for name, command in {
        **armed,
        "linux": [cross, *common, "-static", "-DLOOP_LINUX", source],
        "machine": [cross, *common, *target, *runtime, source, "-lgcc"],
        "user": [cross, *common, *target, "-DLOOP_USER", *runtime, source, "-lgcc"],
        "calls": [cross, "-O2", "-static", os.path.join(HERE, "workloads", "calls.c")],
    }.items():
        programs[name] = os.path.join(folder, name)
        subprocess.run([*command, "-o", programs[name]], check=True)
    return programs


def measure(command, counts):
    """One run: (instructions, seconds of wall time)."""
    start = time.monotonic()
    done = subprocess.run([*command[:2], "-x,", "-e", "instructions", "-o", counts, *command[2:]], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        sys.exit(f"bench/system.py: {' '.join(command)}: status {done.returncode}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    with open(counts, encoding="utf-8") as lines:
        return max(int(line.split(",")[0]) for line in lines if re.match(r"\d+,", line)), seconds


def fastest(command, counts, repeat):
    return min((measure(command, counts) for _ in range(repeat)), key=lambda pair: pair[1])


def rounds_of(commands, counts, repeat):
    """For each command its runs, one a round: they take turns, each round beginning with another, so that a slow moment of the host hits all."""
    runs = [[] for _ in commands]
    for turn in range(repeat):
        for k in range(len(commands)):
            which = (turn + k) % len(commands)
            runs[which].append(measure(commands[which], counts))
    return runs


def interleaved(commands, counts, repeat):
    """The fastest run of each."""
    return [min(runs, key=lambda pair: pair[1]) for runs in rounds_of(commands, counts, repeat)]


def costs_of(commands, counts, repeat):
    """The seconds of the first command; then those of each other one, and how many percent more, as the median of what the rounds say."""
    first, *others = rounds_of(commands, counts, repeat)
    base = statistics.median(seconds for _, seconds in first)
    return base, [(statistics.median(seconds for _, seconds in runs),
                   statistics.median((run[1] / without[1] - 1) * 100 for run, without in zip(runs, first))) for runs in others]


def modes_table(tally, programs, counts, repeat):
    modes = (("linux", "Linux program", []), ("machine", "bare, machine mode", ["--bare"]), ("user", "bare, user mode, Sv39", ["--bare"]))
    best = interleaved([[tally, "stat", *options, programs[name]] for name, _, options in modes], counts, repeat)
    speeds = [n / seconds / 1e6 for n, seconds in best]
    rows = [f"| {title} | {speed:.0f} | {speed / speeds[0]:.2f} |" for (_, title, _), speed in zip(modes, speeds)]
    return ["| the same loop as | MIPS | of user mode |", "|---|--:|--:|", *rows]


def verdict(values, limit, what):
    mean, (name, worst) = statistics.fmean(values.values()), max(values.items(), key=lambda pair: pair[1])
    return f"- {'met' if mean < limit else 'TARGET NOT MET'}: {what} cost less than {limit} %; {mean:+.1f} % in the mean, {worst:+.1f} % at most ({name})"


def counters_table(tally, programs, folder, counts, repeat):
    """Counters that nobody reads, then counters that wait for an overflow; and what was aimed at."""
    machine = os.path.join(folder, "none.yaml")
    with open(machine, "w", encoding="utf-8") as out:
        out.write("name: none\nbase: rocket\npmu: none\n")
    workloads = {"loop": ([], programs["linux"], []), "loop, bare": (["--bare"], programs["machine"], [])}
    out_folder = os.path.join(HERE, "out", "riscv64")
    for name, argument in (("sort", "20"), ("strings", "13"), ("matrix", "60"), ("huffman", "30")):
        if os.path.exists(os.path.join(out_folder, name)):
            workloads[name] = ([], os.path.join(out_folder, name), [argument])
    rows, unread = [], {}
    all_of_them = ["--set", "hpc=timed", "--set", "l2.counters=6"]
    for title, (options, program, args) in workloads.items():
        machines = (["--machine", machine], [], all_of_them)
        base, others = costs_of([[tally, "stat", *which, *options, program, *args] for which in machines], counts, repeat)
        rows.append(f"| {title} | {base:.3f} | " + " | ".join(f"{seconds:.3f} | {more:+.1f} %" for seconds, more in others) + " |")
        unread.update({f"{title}, {which}": more for which, (_, more) in zip(("rvhpm", "all"), others)})
    base, armed = costs_of([[tally, "stat", "--machine", machine, "--bare", programs["machine"]]]
                           + [[tally, "stat", "--bare", programs[name]] for name in ARMED], counts, repeat)
    costs = {name: more for name, (_, more) in zip(ARMED, armed)}
    waiting = [f"| {name} | {base:.3f} | {seconds:.3f} | {more:+.1f} % |" for name, (seconds, more) in zip(ARMED, armed)]
    return ["| program | s without counters | s with rvhpm, unread | more | s with rvhpm, dhpc and ccache, unread | more |",
            "|---|--:|--:|--:|--:|--:|", *rows, "",
            "The bare loop while a counter of this event waits for an overflow:", "",
            "| event | s without counters | s with the counter armed | more |", "|---|--:|--:|--:|", *waiting, "",
            verdict(unread, TARGETS["unread"], "counters that nobody reads"), verdict(costs, TARGETS["armed"], "counters that wait for an overflow")]


def built_linux():
    """(kernel, initial file system) of make check-linux; None: there are none."""
    built = os.environ.get("TALLY_LINUX") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tally", "linux")
    files = os.path.join(built, "Image"), os.path.join(built, "initramfs.cpio")
    return files if all(map(os.path.exists, files)) else None


def with_program(initrd, program, folder):
    """A copy of an initial file system that has the program as /calls, too. Linux takes archives one behind the other."""
    def entry(name, mode, data):
        fields = 0, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0
        head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)

    path = os.path.join(folder, "initrd")
    with open(initrd, "rb") as old, open(program, "rb") as binary, open(path, "wb") as out:
        start = old.read()
        out.write(start + b"\0" * (-len(start) % 512) + entry("calls", 0o100755, binary.read()) + entry("TRAILER!!!", 0, b""))
    return path


def host_instructions(command):
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--smc-check=all", "--cachegrind-out-file=/dev/null", *command],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return int(re.search(rb"I +refs: +([0-9,]+)", done.stderr)[1].replace(b",", b""))


def calls_table(tally, programs, folder, counts, linux):
    many = 100_000
    commands = {"as a program": lambda n: [tally, "stat", "-o", counts, programs["calls"], str(n)]}
    if linux:
        initrd = with_program(linux[1], programs["calls"], folder)
        commands["under Linux"] = lambda n: [tally, "boot", "-o", counts, "--kernel", linux[0], "--initrd", initrd, "--append",
                                             f'loglevel=3 tally.run="/calls {n}"']
    rows, ratios = [], {}
    for title, command in commands.items():
        cost = (host_instructions(command(many + 1)) - host_instructions(command(1))) / many
        ratios[title] = CALLS[title] / cost
        rows.append(f"| {title} | {CALLS[title]} | {cost:.0f} | {ratios[title]:.2f} |")
    is_met = min(ratios.values()) >= CALLS_TARGET
    return ["| a system call | host instructions at c0acc651 | host instructions | times as cheap |", "|---|--:|--:|--:|", *rows, "",
            f"- {'met' if is_met else 'TARGET NOT MET'}: system calls {CALLS_TARGET} times as cheap as at c0acc651; "
            + ", ".join(f"{title} {ratio:.2f}" for title, ratio in ratios.items())]


def boot_table(tally, linux, counts, repeat):
    rows, costs = [], {}
    for n_harts in (1, 2, 4):
        command = [tally, "boot", "--harts", str(n_harts), "--kernel", linux[0], "--initrd", linux[1], "--append",
                   'loglevel=3 tally.run="ls"']
        n, seconds = fastest(command, counts, min(repeat, 3))
        costs[n_harts] = seconds / n
        rows.append(f"| {n_harts} | {n / 1e6:.0f} | {seconds:.2f} | {n / seconds / 1e6:.0f} |")
    ratio = costs[4] / costs[1]
    return ["| harts | million instructions | seconds | MIPS |", "|--:|--:|--:|--:|", *rows, "",
            f"- {'met' if ratio <= BOOT_TARGET else 'TARGET NOT MET'}: an instruction of a boot on 4 harts costs at most {BOOT_TARGET} times "
            f"one of a boot on 1; {ratio:.2f}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    parser.add_argument("--record", action="store_true", help="write the tables to docs/bench.md")
    parser.add_argument("--repeat", type=int, default=7, help="runs of each")
    parser.add_argument("--tally", default=os.path.join(TOP, "build", "tally"), help="the program under test")
    args = parser.parse_args()
    if not os.access(args.tally, os.X_OK):
        sys.exit(f"bench/system.py: {args.tally}: not there; run make first")
    folder = tempfile.mkdtemp(prefix="tally-bench-")
    try:
        programs = build(folder, ROUNDS[args.quick])
        counts = os.path.join(folder, "counts")
        parts = ["## System mode and counters", "", "`bench/system.py` (part of `make bench`), in turns; speeds of the fastest run, percentages as medians over rounds.", "",
                 *modes_table(args.tally, programs, counts, args.repeat), "",
                 *counters_table(args.tally, programs, folder, counts, args.repeat)]
        linux = built_linux()
        if not linux:
            print("bench/system.py: no kernel: run make check-linux to have the boot measured, too", file=sys.stderr)
        parts += ["", "What a system call costs the host (`bench/workloads/calls.c`), under cachegrind:", "",
                  *calls_table(args.tally, programs, folder, counts, None if args.quick else linux)]
        if linux:
            parts += ["", "Firmware (Debian's OpenSBI) and kernel (Linux 6.1 of `make check-linux`) up to the first process, and off again:", "",
                      *boot_table(args.tally, linux, counts, args.repeat)]
        text = "\n".join(parts)
        print(text)
        if args.record:
            section.record("bench/system.py", text)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
