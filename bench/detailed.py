#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how fast detailed cores run, what a second hardware thread costs, and how far sampled runs are from full ones.

  bench/detailed.py [--quick] [--record] [--repeat N] [NAME...]
  bench/detailed.py --instructions [--quick] [--record] [NAME...]
  bench/detailed.py --trends [NAME...]
  bench/detailed.py --check [--machine NAME] [NAME...]

speed     Millions of retired instructions per second on machines ooo and netburst, every signal counted, on one core.
threads   Two copies of a program on the two hardware threads of netburst, and one copy. Work is clocks of hardware threads: a clock in
          which both have something to run is two. The ratio is work per second with two copies, over work per second with one.
sampling  Cycles per instruction of the same instructions, all in detail and estimated by `--sample`.
long      A sampled run of 10^10 instructions.
memory    Peak memory of a program, and of the first quarter of that run.
check     Instead of all of these: whole programs on detailed cores must write what they write on rocket, and retire as many instructions.
          speedtest1 of sqlite reads the clock and prints times, so that neither its times nor its instructions are compared.
instructions  Instead of all of these: host instructions for each retired one, and the ratio of work of two threads by host instructions.
          Cachegrind counts them, so no other load of the host moves them. Runs of two lengths are subtracted, so start-up is not in them.
trends    Instead of all of these: instructions per cycle on ooo when one structure changes, sampled.

Programs come from bench/workloads/build.sh and run with their quick arguments up to a number of instructions. Times are processor time;
of N runs the fastest counts. --record writes the tables to docs/bench.md; those of --instructions have a section of their own there.
"""
import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import run
import section

MACHINES = ("ooo", "netburst")
BARRED = ("bzip2", "lua", "sqlite")
PROGRAMS = BARRED + ("sort", "huffman", "matrix")
TWICE = ("bzip2", "lua", "sqlite")
INSNS = {False: 100_000_000, True: 10_000_000}  # by --quick
SAMPLE = {False: "1000/17k", True: "3000/5003"}  # a prime stretch does not fall in step with loops
LONG = ("lua", ["{here}/work.lua", "200"], "10G", "1000/2M")
LONG_INSNS = 10**10
BAR, GOAL, THREADS_BAR, SAMPLING_BAR, LONG_BAR_S, FLAT_BAR = 2e6, 5e6, 1.5, 0.03, 120, 0.02
VALGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--smc-check=all", "--cachegrind-out-file=/dev/null"]
HOST_INSNS = {False: (4_000_000, 12_000_000), True: (500_000, 1_500_000)}  # lengths of the runs under cachegrind, by --quick
TRENDS = ("--max-insns", "30M", "--sample", "2000/100k")
SETTINGS = [[], ["core.rob=48"], ["core.rob=96"], ["core.rob=256"], ["l1d.size=8KiB"], ["l1d.size=16KiB"], ["l1d.size=64KiB"], ["bp.kind=bht"],
            ["bp.kind=gshare", "bp.history_bits=16"]]


class Bench:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.rows = {row["name"]: row for row in run.read_workloads(os.path.abspath(options.workloads))}

    def guest(self, program):
        return os.path.join(os.path.abspath(self.options.workloads), "riscv64", program)

    def program(self, name):
        return [self.guest(self.rows[name]["program"]), *self.rows[name]["quick"]]

    def once(self, words, program, output=subprocess.DEVNULL, prefix=()):
        """One run of tally: what it counted, processor seconds, and peak memory; under cachegrind, host instructions."""
        counts = os.path.join(self.scratch, "counts.json")
        command = [*prefix, self.options.tally, "stat", "-j", "-o", counts, "-e", "cycles,instructions", *words, "--", *program]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE) as child:
            said = child.stderr.read().decode(errors="replace").strip().splitlines()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            said = [line for line in said if not line.startswith("==")]  # cachegrind's own words
            raise run.Failure(f"{' '.join(command)}: status {child.returncode}: {said[-1] if said else ''}")
        with open(counts, encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines if line.strip()]
        found = {record["event"]: record["value"] for record in records if record["type"] == "event" and record["scope"] == "machine"}
        found["sampling"] = next((record for record in records if record["type"] == "sampling"), None)
        found["seconds"] = usage.ru_utime + usage.ru_stime
        found["peak_bytes"] = usage.ru_maxrss * 1024
        refs = next((re.search(r"I\s+refs:\s+([0-9,]+)", line) for line in said if "refs:" in line), None)
        found["host_insns"] = int(refs[1].replace(",", "")) if refs else None
        return found

    def host(self, machine, program):
        """Cycles, instructions and host instructions between two lengths of a run."""
        runs = [self.once(["-m", machine, "--max-insns", str(n)], program, prefix=VALGRIND) for n in HOST_INSNS[self.options.quick]]
        return {key: runs[1][key] - runs[0][key] for key in ("cycles", "instructions", "host_insns")}

    def instructions(self):
        rows = [["program"] + [f"host instructions for one, {machine}" for machine in MACHINES] + ["two threads, work per host instruction, ratio"]]
        for name in self.options.names:
            runs = [self.host(machine, self.program(name)) for machine in MACHINES]
            row = [name] + [f"{found['host_insns'] / found['instructions']:.0f}" for found in runs]
            if name in TWICE:
                one, two = (self.host("netburst", [self.guest("copies"), str(n), *self.program(name)]) for n in (1, 2))
                row.append(f"{two['cycles'] / two['host_insns'] / (one['cycles'] / one['host_insns']):.2f}")
            else:
                row.append("")
            rows.append(row)
            print("  " + " ".join(row), file=sys.stderr, flush=True)
        return rows

    def best(self, words, program):
        return min((self.once(words, program) for _ in range(self.options.repeat)), key=lambda found: found["seconds"])

    def speed(self):
        """{(program, machine): run} of the first instructions in full detail."""
        runs = {}
        for name in self.options.names:
            for machine in MACHINES:
                runs[name, machine] = self.best(["-m", machine, "--max-insns", str(INSNS[self.options.quick])], self.program(name))
                print(f"  {name} on {machine}: {mips(runs[name, machine])} MIPS", file=sys.stderr, flush=True)
        return runs

    def threads(self):
        """{program: (one copy, two copies)}."""
        words = ["-m", "netburst", "--max-insns", str(INSNS[self.options.quick])]
        return {name: tuple(self.best(words, [self.guest("copies"), str(n), *self.program(name)]) for n in (1, 2))
                for name in TWICE if name in self.options.names}

    def sampled(self, runs):
        words = ["--max-insns", str(INSNS[self.options.quick]), "--sample", SAMPLE[self.options.quick]]
        return {(name, machine): self.once(["-m", machine, *words], self.program(name)) for name, machine in runs}

    def long(self):
        name, arguments, insns, sample = LONG
        words = [word.format(here=os.path.join(run.HERE, "workloads")) for word in arguments]
        return self.once(["-m", "ooo", "--max-insns", insns, "--sample", sample], [self.guest(name), *words])

    def memory(self):
        insns = INSNS[self.options.quick]
        return [self.once(["-m", "ooo", "--max-insns", str(n)], self.program("strings"))["peak_bytes"] for n in (insns // 4, insns)]

    def whole(self, machine, name):
        """(digest of what the program writes, instructions) of a whole run."""
        with tempfile.TemporaryFile(dir=self.scratch) as said:
            found = self.once(["-m", machine], self.program(name), said)
            said.seek(0)
            return hashlib.sha256(without_times(name, said.read())).hexdigest(), found["instructions"]

    def check(self):
        """Returns how many programs differ."""
        n_wrong = 0
        for name in self.options.names:
            expected = self.whole("rocket", name)
            for machine in self.options.machine:
                found = self.whole(machine, name)
                what = [part for part, is_equal in (("output", found[0] == expected[0]),
                                                    ("instructions", found[1] == expected[1] or name == "sqlite")) if not is_equal]
                n_wrong += bool(what)
                print(f"  {name} on {machine}: " + (" and ".join(what) + " differ" if what else f"equal, {found[1]:,} instructions"), flush=True)
        return n_wrong

    def trends(self):
        rows = [["machine"] + self.options.names]
        for settings in SETTINGS:
            row = [", ".join(settings) or "ooo"]
            words = [word for setting in settings for word in ("--set", setting)]
            for name in self.options.names:
                row.append(f"{1 / self.once(['-m', 'ooo', *words, *TRENDS], self.program(name))['sampling']['cpi']:.2f}")
            rows.append(row)
            print("  " + " ".join(row), file=sys.stderr, flush=True)
        return rows


def without_times(name, said):
    """speedtest1 of sqlite prints how long each part took, in machine time."""
    return re.sub(rb" +[0-9]+\.[0-9]+s$", b"", said, flags=re.MULTILINE) if name == "sqlite" else said


def mips(found):
    return f"{found['instructions'] / found['seconds'] / 1e6:.2f}"


def cpi(found):
    return found["cycles"] / found["instructions"]


def error_of(runs, sampled, which):
    return sampled[which]["sampling"]["cpi"] / cpi(runs[which]) - 1


def work_ratio(one, two):
    return two["cycles"] / two["seconds"] / (one["cycles"] / one["seconds"])


def speed_table(runs):
    rows = [["program", "instructions"] + [f"{machine} MIPS" for machine in MACHINES] + [f"{machine} CPI" for machine in MACHINES]]
    for name in dict.fromkeys(name for name, _ in runs):
        of = [runs[name, machine] for machine in MACHINES]
        rows.append([name, f"{of[0]['instructions'] / 1e6:.0f} M"] + [mips(found) for found in of] + [f"{cpi(found):.3f}" for found in of])
    return rows


def threads_table(threads):
    rows = [["program", "CPI, one copy", "CPI, two copies", "MIPS, one", "MIPS, two", "work per second, ratio"]]
    for name, (one, two) in threads.items():
        rows.append([name, f"{cpi(one):.3f}", f"{cpi(two):.3f}", mips(one), mips(two), f"{work_ratio(one, two):.2f}"])
    return rows


def sampling_table(runs, sampled):
    rows = [["program", "machine", "CPI", "sampled", "+-", "error", "windows", "s in detail", "s sampled"]]
    for which, found in sampled.items():
        estimate = found["sampling"]
        rows.append([*which, f"{cpi(runs[which]):.4f}", f"{estimate['cpi']:.4f}", f"{estimate['half_width']:.4f}",
                     f"{100 * error_of(runs, sampled, which):+.2f} %", str(estimate["windows"]), f"{runs[which]['seconds']:.1f}",
                     f"{found['seconds']:.1f}"])
    return rows


def fails(values, is_met):
    short = [f"{name} {value}" for name, value in values.items() if not is_met(value)]
    return not short, (", short are " + ", ".join(short) if short else "")


def targets(runs, threads, sampled, long, memory):
    """What is aimed at, and whether this run is there. Reported, never asserted."""
    lines = []
    speeds = {f"{name} on {machine}": round(found["instructions"] / found["seconds"] / 1e6, 2) for (name, machine), found in runs.items() if name in BARRED}
    for bar, title in ((BAR, "2 million"), (GOAL, "goal: 5 million")):
        is_met, short = fails(speeds, lambda speed, bar=bar: speed * 1e6 >= bar)
        if speeds:
            lines.append(run.verdict(is_met, f"{title} retired instructions per second on {', '.join(BARRED)}; least {min(speeds.values()):.2f}{short}"))
    ratios = {name: round(work_ratio(*pair), 2) for name, pair in threads.items()}
    if ratios:
        is_met, short = fails(ratios, lambda ratio: ratio >= THREADS_BAR)
        lines.append(run.verdict(is_met, f"two busy threads are simulated at {THREADS_BAR} times the clocks of threads per second of one; "
                                 f"least {min(ratios.values()):.2f}{short}"))
    errors = {f"{name} on {machine}": f"{100 * error_of(runs, sampled, (name, machine)):+.1f} %" for name, machine in sampled}
    is_met, short = fails(errors, lambda error: abs(float(error[:-2])) <= 100 * SAMPLING_BAR)
    lines.append(run.verdict(is_met, f"sampled CPI within 3 % of full detail on {len(errors)} runs{short}"))
    estimate = long["sampling"]
    width = estimate["half_width"] / estimate["cpi"]
    lines.append(run.verdict(long["seconds"] <= LONG_BAR_S and width <= SAMPLING_BAR and long["instructions"] == LONG_INSNS,
                             f"{long['instructions']:,} instructions of {LONG[0]} sampled within two minutes at 3 %; {long['seconds']:.1f} s, CPI {estimate['cpi']:.4f} "
                             f"+- {100 * width:.1f} % from {estimate['windows']} windows (`--sample {LONG[3]}`)"))
    lines.append(run.verdict(memory[1] <= memory[0] * (1 + FLAT_BAR), "peak memory is flat; " + f"{memory[0] / 2**20:.1f} MiB after a quarter of the "
                             f"run, {memory[1] / 2**20:.1f} MiB at its end"))
    return lines


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the instructions")
    parser.add_argument("--record", action="store_true", help="write the tables to docs/bench.md")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each")
    parser.add_argument("--trends", action="store_true", help="the table of docs/detailed-core.md, section 9")
    parser.add_argument("--instructions", action="store_true", help="count host instructions under cachegrind")
    parser.add_argument("--check", action="store_true", help="compare what whole programs write with what they write on rocket")
    parser.add_argument("--machine", action="append", choices=MACHINES, help="with --check: only this machine")
    parser.add_argument("--tally", default=os.path.join(run.TOP, "build", "tally"), help="the program under test")
    parser.add_argument("--workloads", default=os.path.join(run.HERE, "out"), help="where bench/workloads/build.sh put things")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these workloads")
    options = parser.parse_args()
    if not os.path.isdir(os.path.join(options.workloads, "riscv64")):
        parser.error(f"{options.workloads} has no workloads; run bench/workloads/build.sh {options.workloads}")
    if options.repeat < 1:
        parser.error(f"--repeat {options.repeat}: at least one run")
    known = [row["name"] for row in run.read_workloads(options.workloads)]
    unknown = sorted(set(options.names) - set(known))
    if unknown:
        parser.error(f"no workload {', '.join(unknown)}; there are {', '.join(known)}")
    if options.record and (options.trends or options.check):
        parser.error("--record writes tables of speed; leave out --trends and --check")
    if options.record and options.names and not options.instructions:
        parser.error("--record writes the tables of all programs; leave out names")
    if options.instructions and not shutil.which("valgrind"):
        parser.error("--instructions needs valgrind; install it")
    options.names = options.names or (known if options.trends or options.check else list(PROGRAMS))
    options.machine = options.machine or list(MACHINES)
    return options


def main():
    options = arguments()
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as scratch:
        bench = Bench(options, scratch)
        if options.check:
            n_wrong = bench.check()
            sys.exit(f"detailed.py: {n_wrong} runs differ" if n_wrong else 0)
        if options.instructions:
            insns = [n // 10**6 if n % 10**6 == 0 else n / 10**6 for n in HOST_INSNS[options.quick]]
            text = "\n".join(["## Detailed cores by host instructions", "", "`bench/detailed.py --instructions` counts by cachegrind, between "
                              f"{insns[0]} and {insns[1]} million instructions of the program. No other load of the host moves these.", "",
                              run.as_text(bench.instructions(), True)])
            print(text)
            if options.record:
                section.record("bench/detailed.py --instructions", text)
            return
        if options.trends:
            print(run.as_text(bench.trends(), True))
            return
        runs, threads = bench.speed(), bench.threads()
        sampled, long, memory = bench.sampled(runs), bench.long(), bench.memory()
    parts = ["## Detailed cores", "", "`bench/detailed.py` (part of `make bench`) says what the columns are. "
             f"Programs run {INSNS[options.quick] // 10**6} million instructions; times are processor time.", ""]
    for table in (speed_table(runs), threads_table(threads), sampling_table(runs, sampled)):
        parts += [run.as_text(table, True)] if len(table) > 1 else []
    parts += [f"- {line}" for line in targets(runs, threads, sampled, long, memory)]
    text = "\n".join(parts)
    print(text)
    if options.record:
        section.record("bench/detailed.py", text)


if __name__ == "__main__":
    try:
        main()
    except run.Failure as failure:
        sys.exit(f"detailed.py: {failure}")
