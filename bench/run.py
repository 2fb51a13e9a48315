#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures how fast programs run under tally and, side by side, under the tools one would use instead.

  bench/run.py [--quick] [--record] [NAME...]

Columns are millions of instructions per second of wall time:
tally       every signal counted, timing model on, caches as below
qemu        qemu-riscv64, counting nothing
plugin      qemu-riscv64 with QEMU's own cache plugin: caches only, no timing, no TLBs, no branch prediction
cachegrind  valgrind on the native build of the same source, caches and branches; its own instruction count
All models have L1I and L1D of 32 KiB, 8 ways, 64-byte lines, and an L2 of 512 KiB, 8 ways, LRU. The workloads come from
bench/workloads/build.sh. The tools take turns, round after round, and the fastest run of each counts, so that a slow moment of the
host hits all of them.
"""
import argparse
import hashlib
import json
import math
import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import section

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
L1, L2 = (32768, 8, 64), (524288, 8, 64)
MISSING = ("bzip2", "minigzip", "sieve", "straight")  # programs whose speed is that of misses
PLUGIN_OPTIONS = (
    f"dcachesize={L1[0]},dassoc={L1[1]},dblksize={L1[2]},icachesize={L1[0]},iassoc={L1[1]},iblksize={L1[2]},"
    f"l2=on,l2cachesize={L2[0]},l2assoc={L2[1]},l2blksize={L2[2]},evict=lru,limit=0"
)
GEOMETRY = [f"--I1={L1[0]},{L1[1]},{L1[2]}", f"--D1={L1[0]},{L1[1]},{L1[2]}"]
INSTRUCTION_EVENTS = ("instructions", "instret", "hart0.instret")
TOOLS = ("tally", "qemu", "plugin", "cachegrind")
N_STARTS = 20
SHARES = {"translated": "translated code", "models": "models", "interpreted": "interpreted", "translation": "translation", "stepping": "stepping", "system": "system calls"}
LARGE = {  # programs whose code is large and cold: nothing of it runs long
    "lang_go": ("lang_go", []),
    "esbuild --version": ("esbuild", ["--version"]),
    "esbuild bundling": ("esbuild", ["{guest}/foreign/project/main.tsx", "--bundle", "--minify", "--format=esm", "--outdir=out"]),
}
README_PROGRAMS = ("lua", "bzip2", "sqlite", "minigzip")
README_TABLE = ("<!-- begin of what bench/run.py writes -->", "<!-- end of what bench/run.py writes -->")


class Failure(Exception):
    pass


def run(command, stdout_path, stderr_path, cwd=None, statuses=(0,)):
    """Runs a command; returns (wall seconds, peak resident bytes). Raises Failure unless it ends with one of these statuses."""
    with open(stdout_path, "wb") as out, open(stderr_path, "wb") as err:
        start = time.monotonic()
        # An empty environment under QEMU, as a guest of ours has: else counts would depend on the caller's.
        env = {} if "qemu" in command[0] else None
        child = subprocess.Popen([shutil.which(command[0]) or command[0]] + command[1:], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=err)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except BaseException:  # interrupted: nothing stays behind
            child.kill()
            child.wait()
            raise
        wall_s = time.monotonic() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in statuses:
        with open(stderr_path, encoding="utf-8", errors="replace") as err:
            words = err.read().strip().splitlines()[-1:] or [""]
        raise Failure(f"{' '.join(command[:3])} ...: status {child.returncode}: {words[0]}")
    return wall_s, usage.ru_maxrss * 1024


def digest(path):
    """Of a program's output, with the run times that speedtest1 prints taken out."""
    with open(path, "rb") as output:
        return hashlib.sha256(re.sub(rb" *\d+\.\d+s", b"", output.read())).hexdigest()


def number_in(pattern, path):
    with open(path, encoding="utf-8", errors="replace") as text:
        match = re.search(pattern, text.read())
    if not match:
        raise Failure(f"no match for {pattern!r} in the output of {path}")
    return int(match[1].replace(",", ""))


def tally_instructions(path):
    with open(path, encoding="utf-8") as lines:
        events = {record.get("event"): record.get("value") for record in map(json.loads, filter(str.strip, lines))}
    for name in INSTRUCTION_EVENTS:
        if events.get(name) is not None:
            return int(events[name])
    raise Failure(f"tally's output has none of the events {', '.join(INSTRUCTION_EVENTS)}")


class Bench:
    def __init__(self, options, scratch):
        self.options, self.scratch = options, scratch
        self.workloads = os.path.abspath(options.workloads)
        self.tools = [tool for tool in TOOLS if tool in options.tools.split(",")]
        if "tally" in self.tools and not os.path.exists(options.tally):
            print(f"run.py: {options.tally} is not there; its columns are left out", file=sys.stderr)
            self.tools.remove("tally")
        needed = {"qemu": "qemu-riscv64", "plugin": "qemu-riscv64", "cachegrind": "valgrind"}
        for tool in [tool for tool in self.tools if tool in needed and not shutil.which(needed[tool])]:
            raise Failure(f"{needed[tool]} is missing; run tools/install-deps")

    def path(self, name):
        return os.path.join(self.scratch, name)

    def command(self, tool, program, arguments):
        guest, native = (os.path.join(self.workloads, kind, program) for kind in ("riscv64", "native"))
        plugin = os.path.join(self.workloads, "plugin", "libcache.so")
        return {
            "tally": [self.options.tally, "stat", "-j", "-o", self.path("tally.json")] + GEOMETRY
            + [f"--L2={L2[0]},{L2[1]},{L2[2]}"] + shlex.split(self.options.tally_args) + ["--", guest],
            "qemu": ["qemu-riscv64", guest],
            "plugin": ["qemu-riscv64", "-plugin", f"{plugin},{PLUGIN_OPTIONS}", "-d", "plugin", "-D", self.path("plugin.log"), guest],
            "cachegrind": ["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--branch-sim=yes", "--cachegrind-out-file=/dev/null"]
            + GEOMETRY + [f"--LL={L2[0]},{L2[1]},{L2[2]}", native],
        }[tool] + arguments

    def count_instructions(self, program, arguments):
        """QEMU's own count of the guest's instructions: the yardstick, and the check of ours."""
        guest, log = os.path.join(self.workloads, "riscv64", program), self.path("insn.log")
        plugin = os.path.join(self.workloads, "plugin", "libinsn.so")
        run(["qemu-riscv64", "-plugin", f"{plugin},inline=on", "-d", "plugin", "-D", log, guest] + arguments,
            self.path("stdout"), self.path("stderr"))
        return number_in(r"insns: (\d+)", log)

    def measure(self, tool, program, arguments):
        """One run: seconds, peak memory, what was printed, and the tool's own count of instructions."""
        wall_s, peak_bytes = run(self.command(tool, program, arguments), self.path("stdout"), self.path("stderr"))
        run_of = {"wall_s": wall_s, "peak_bytes": peak_bytes, "output": digest(self.path("stdout"))}
        if tool == "cachegrind":
            run_of["instructions"] = number_in(r"I +refs: +([\d,]+)", self.path("stderr"))
        if tool == "tally":
            run_of["instructions"] = tally_instructions(self.path("tally.json"))
        return run_of

    def profile(self, program, arguments):
        """Where the host's time goes under tally: shares, of a run that is not measured."""
        path = self.path("profile.json")
        run([self.options.tally, "stat", "-n", "-q", "--host-profile", path] + self.command("tally", program, arguments)[5:],
            self.path("stdout"), self.path("stderr"))
        with open(path, encoding="utf-8") as text:
            return json.load(text)

    def workload(self, row):
        arguments = row["quick" if self.options.quick else "full"]
        result = {"name": row["name"], "instructions": self.count_instructions(row["program"], arguments)}
        outputs = set()
        for _ in range(self.options.repeat):
            for tool in self.tools:
                run_of = self.measure(tool, row["program"], arguments)
                if tool != "cachegrind":
                    outputs.add(run_of["output"])
                if tool not in result or run_of["wall_s"] < result[tool]["wall_s"]:
                    result[tool] = run_of
        for tool in self.tools:
            instructions = result[tool].get("instructions", result["instructions"])
            result[tool]["mips"] = instructions / result[tool]["wall_s"] / 1e6
        if len(outputs) > 1:
            raise Failure(f"{row['name']}: output differs between tally and qemu-riscv64")
        if "tally" in self.tools:
            result["profile"] = self.profile(row["program"], arguments)
        print(f"  {row['name']}: " + ", ".join(f"{tool} {result[tool]['mips']:.0f}" for tool in self.tools) + " MIPS", file=sys.stderr, flush=True)
        return result

    def startup(self):
        """Median seconds of a hello-world, in turns."""
        walls = {tool: [] for tool in self.tools if tool in ("tally", "qemu")}
        for _ in range(N_STARTS):
            for tool, seen in walls.items():
                seen.append(run(self.command(tool, "hello", []), self.path("stdout"), self.path("stderr"))[0])
        return {tool: statistics.median(seen) for tool, seen in walls.items()}

    def large(self):
        """Cold, large programs: the fastest seconds with each engine, and what of the time was translation."""
        guests = os.path.join(os.path.dirname(os.path.abspath(self.options.tally)), "guest")
        rows = []
        for name, (program, arguments) in LARGE.items():
            path = os.path.join(guests, program)
            if "tally" not in self.tools or not os.path.exists(path):
                continue
            words = [word.format(guest=os.path.join(TOP, "guest")) for word in arguments]
            row = {"name": name}
            for _ in range(self.options.repeat):
                for engine in ("translate", "interp"):
                    profile = self.path("profile.json")
                    run([os.path.abspath(self.options.tally), "stat", "-n", "-q", "--engine", engine, "--host-profile", profile, "--", path, *words],
                        self.path("stdout"), self.path("stderr"), cwd=self.scratch, statuses=(0, 7))  # lang_go ends with 7
                    with open(profile, encoding="utf-8") as text:
                        seen = json.load(text)
                    if engine not in row or seen["host_ns"] < row[engine]["host_ns"]:
                        row[engine] = seen
            rows.append(row)
        return rows

    def growth(self):
        """The same loop once and ten times as long: (seconds, peak bytes) each."""
        if "tally" not in self.tools:
            return None
        short, long = 13, 130
        return [run(self.command("tally", "strings", [str(n)]), self.path("stdout"), self.path("stderr")) for n in (short, long)]


def read_workloads(workloads):
    path = os.path.join(HERE, "workloads", "workloads.txt")
    with open(path, encoding="utf-8") as table:
        for line in table:
            if not line.strip() or line.startswith("#"):
                continue
            name, program, quick, full, about = (cell.strip() for cell in line.split("|"))
            place = {"input": os.path.join(workloads, "input"), "here": os.path.join(HERE, "workloads")}
            yield {"name": name, "program": program, "about": about,
                   "quick": quick.format(**place).split(), "full": full.format(**place).split()}


def parts_of(shares):
    """Shares of host time (--host-profile): translated code, models, everything else."""
    return shares["translated"], shares["models"], max(0, 1 - shares["translated"] - shares["models"])


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def ratio(result, tool):
    return result["tally"]["mips"] / result[tool]["mips"]


def speed_table(results, tools):
    """Rows of cells, header first, geometric mean last."""
    ratios = [tool for tool in TOOLS[1:] if "tally" in tools and tool in tools]
    rows = [["program", "instructions"] + [f"{tool} MIPS" for tool in tools] + [f"tally / {tool}" for tool in ratios]]
    for result in results:
        count = f"{result['instructions'] / 1e6:.1f} M"
        if "tally" in tools and result["tally"]["instructions"] != result["instructions"]:
            count += f" ({result['tally']['instructions'] - result['instructions']:+d} in tally)"
        rows.append([result["name"], count] + [f"{result[tool]['mips']:.0f}" for tool in tools]
                    + [f"{ratio(result, tool):.2f}" if tool == "qemu" else f"{ratio(result, tool):.1f}" for tool in ratios])
    rows.append(["geometric mean", ""] + [f"{geometric_mean([r[tool]['mips'] for r in results]):.0f}" for tool in tools]
                + [f"{geometric_mean([ratio(r, tool) for r in results]):.{2 if tool == 'qemu' else 1}f}" for tool in ratios])
    return rows


def share(profile, name):
    return f"{100 * profile['shares'][name]:.1f} %"


def place_table(results, tools):
    """Where the host's time goes under tally, and memory."""
    rows = [["program"] + list(SHARES.values()) + ["samples"] + [f"{tool} MiB" for tool in tools]]
    for result in results:
        profile = result["profile"]
        rows.append([result["name"]] + [share(profile, name) for name in SHARES] + [str(profile["samples"])]
                    + [f"{result[tool]['peak_bytes'] / 2**20:.0f}" for tool in tools])
    return rows


def large_table(rows):
    cells = [["program", "instructions", "s translate", "s interp", "interp / translate", "translation", "translated code", "models", "system calls"]]
    for row in rows:
        translate, interp = row["translate"], row["interp"]
        cells.append([row["name"], f"{translate['instructions'] / 1e6:.1f} M", f"{translate['host_ns'] / 1e9:.3f}", f"{interp['host_ns'] / 1e9:.3f}",
                      f"{interp['host_ns'] / translate['host_ns']:.2f}"]
                     + [share(translate, name) for name in ("translation", "translated", "models", "system")])
    return cells


def verdict(is_met, sentence):
    return ("met: " if is_met else "TARGET NOT MET: ") + sentence


def targets(results, tools, starts, large):
    """What is aimed at, and whether this run is there. Reported, never asserted."""
    lines = []
    if "tally" in tools and "plugin" in tools:
        short = [f"{r['name']} {ratio(r, 'plugin'):.1f}" for r in results if ratio(r, "plugin") < 12]
        lines.append(verdict(not short, f"12 times the cache plugin on every program; {len(results) - len(short)} of {len(results)}"
                             + (", short are " + ", ".join(short) if short else "")))
        missing = {r["name"]: ratio(r, "plugin") for r in results if r["name"] in MISSING}
        if missing:
            lines.append(verdict(min(missing.values()) >= 12, "12 times the cache plugin where misses count; "
                                 + ", ".join(f"{name} {value:.1f}" for name, value in missing.items())))
        mean = geometric_mean([ratio(r, "plugin") for r in results])
        lines.append(verdict(mean >= 20, f"20 times the cache plugin in geometric mean; {mean:.1f}"))
        lines.append(verdict(mean >= 30, f"30 times the cache plugin in geometric mean; {mean:.1f}"))
    if "tally" in tools and "cachegrind" in tools:
        mean = geometric_mean([ratio(r, "cachegrind") for r in results])
        lines.append(verdict(mean >= 4, f"4 times cachegrind in geometric mean; {mean:.1f}"))
    if "tally" in tools and "qemu" in tools:
        fast = [r["name"] for r in results if ratio(r, "qemu") >= 1]
        lines.append(verdict(2 * len(fast) >= len(results), f"plain qemu-riscv64 on half of the programs; {len(fast)} of {len(results)}"
                             + (" (" + ", ".join(fast) + ")" if fast else "")))
    if "tally" in starts:
        lines.append(verdict(starts["tally"] < 0.02, f"hello world in 20 ms; {starts['tally'] * 1000:.1f} ms"))
    for row in large:
        quotient = row["interp"]["host_ns"] / row["translate"]["host_ns"]
        lines.append(verdict(quotient >= 1, f"{row['name']}, cold and large, not slower than the interpreter; {quotient:.2f} times as fast"))
    if not any("esbuild" in row["name"] for row in large):
        lines.append("not measured: esbuild, cold and large; guest/build.sh --fetch build/guest esbuild brings it")
    return lines


def as_text(rows, markdown):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [[row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])] for row in rows]
    if not markdown:
        return "\n".join("  ".join(line).rstrip() for line in lines) + "\n"
    out = ["| " + " | ".join(line) + " |" for line in lines]
    out.insert(1, "|" + "|".join([":" + "-" * (widths[0] + 1)] + ["-" * (width + 1) + ":" for width in widths[1:]]) + "|")
    return "\n".join(out) + "\n"


def other_figures(starts, grown):
    lines = [f"hello world, median of {N_STARTS}: " + ", ".join(f"{tool} {seconds * 1000:.1f} ms" for tool, seconds in starts.items())]
    if grown:
        (short_s, short_bytes), (long_s, long_bytes) = grown
        lines.append(f"a run ten times longer under tally: {long_s / short_s:.1f} times the time, peak memory {short_bytes / 2**20:.1f} MiB "
                     f"and then {long_bytes / 2**20:.1f} MiB")
    return lines


def machine_line():
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown processor")
    versions = [subprocess.run([tool, "--version"], capture_output=True, text=True, check=False).stdout.splitlines()[0].split("(")[0].strip()
                for tool in ("gcc", "qemu-riscv64", "valgrind")]
    return f"{model}, {os.cpu_count()} processors; {', '.join(versions)}"


def replace_region(text, marks, new):
    """`text` with what stands between two marks replaced; None when they are not there."""
    if marks[0] not in text or marks[1] not in text:
        return None
    return text[:text.index(marks[0])] + f"{marks[0]}\n{new}\n{marks[1]}" + text[text.index(marks[1]) + len(marks[1]):]


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(text)
    os.replace(path + ".new", path)


def record(path, options, tables, others):
    command = 'make bench BENCH="--quick --record"' if options.quick else "make bench BENCH=--record"
    kept = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as old:
            kept = section.kept(old.read())
        kept = f"\n{kept}\n" if kept else ""
    parts = [
        "# How fast it is", "",
        "Written by `bench/run.py --record`; do not edit. To measure your own machine:", "",
        f"    {command}", "",
        *(line.strip() for line in __doc__.split("\n\n")[2].splitlines()), "",
        f"Machine: {machine_line()}; the fastest of {options.repeat}.", "",
    ]
    for title, about, cells in tables:
        parts += [f"## {title}", "", about, "", as_text(cells, True)]
    parts += ["## Targets", "", *(f"- {line}" for line in others)]
    write(path, "\n".join(parts) + "\n" + kept)


def record_readme(path, results, tools, starts, peak_bytes):
    rows = [["millions of instructions per second", "tally", "QEMU + its cache plugin", "cachegrind (native code)", "plain qemu-riscv64"]]
    order = ("tally", "plugin", "cachegrind", "qemu")
    if set(order) - set(tools):
        return
    by_name = {result["name"]: result for result in results}
    rows += [[name] + [f"{by_name[name][tool]['mips']:.0f}" for tool in order] for name in README_PROGRAMS if name in by_name]
    means = [f"{geometric_mean([r[tool]['mips'] for r in results]):.0f}" for tool in order]
    rows.append([f"geometric mean of {len(results)} programs", f"**{means[0]}**"] + means[1:])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|---|--:|--:|--:|--:|")
    limit = -int(-peak_bytes / 2**20 // 10) * 10  # the next ten
    text = "\n".join(lines) + (f"\n\nA hello-world takes {starts['tally'] * 1000:.0f} ms, start to end; memory stays below {limit} MiB "
                               "however long the run.")
    with open(path, encoding="utf-8") as old:
        new = replace_region(old.read(), README_TABLE, text)
    if new is None:
        raise Failure(f"{path} has no place for the table: the lines {' and '.join(README_TABLE)}")
    write(path, new)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="runs about ten times shorter")
    parser.add_argument("--record", action="store_true", help="write docs/bench.md and the table of README.md")
    parser.add_argument("--repeat", type=int, default=3, help="rounds; the fastest run of each tool counts")
    parser.add_argument("--tools", default=",".join(TOOLS), help="columns to measure, of " + ",".join(TOOLS))
    parser.add_argument("--tally", default=os.path.join(TOP, "build", "tally"), help="the program under test")
    parser.add_argument("--tally-args", default="", help="more options for tally stat")
    parser.add_argument("--workloads", default=os.path.join(HERE, "out"), help="where bench/workloads/build.sh put things")
    parser.add_argument("--json", help="also write every measured number to this file")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these workloads")
    options = parser.parse_args()
    rows = list(read_workloads(os.path.abspath(options.workloads)))
    unknown = set(options.names) - {row["name"] for row in rows}
    if unknown:
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(row['name'] for row in rows)}")
    if options.repeat < 1:
        parser.error(f"--repeat {options.repeat}: at least one round")
    if set(options.tools.split(",")) - set(TOOLS):
        parser.error(f"--tools {options.tools}: the tools are {', '.join(TOOLS)}")
    if options.record and (options.names or set(options.tools.split(",")) != set(TOOLS)):
        parser.error("--record writes the whole page; leave out names and --tools")
    if not os.path.isdir(os.path.join(options.workloads, "riscv64")):
        parser.error(f"{options.workloads} has no workloads; run bench/workloads/build.sh {options.workloads}")
    return options, [row for row in rows if not options.names or row["name"] in options.names]


def main():
    options, rows = arguments()
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as scratch:
        bench = Bench(options, scratch)
        results = [bench.workload(row) for row in rows]
        starts, grown, large = bench.startup(), bench.growth(), bench.large()
    if options.record and "tally" not in bench.tools:
        raise Failure("nothing is recorded without tally")
    tables = [("Speed", "Millions of instructions per second, and ratios.", speed_table(results, bench.tools))]
    if "tally" in bench.tools:
        tables.append(("Where the host's time goes", "Under tally, sampled (`tally stat --host-profile`): in translated code, in the models and rarer "
                       "instructions that it calls, in blocks not translated yet, in translation, in steps, in system calls. Then peak memory.",
                       place_table(results, bench.tools)))
    if large:
        tables.append(("Large and cold programs", "Seconds in the run itself, under both engines, and where they go under the first.", large_table(large)))
    others = targets(results, bench.tools, starts, large) + other_figures(starts, grown)
    for title, _, cells in tables:
        print(f"{title}\n\n{as_text(cells, False)}")
    print("\n".join(others))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"workloads": results, "startup_s": starts, "growth": grown, "large": large}, out, indent=1)
    if options.record:
        record(os.path.join(TOP, "docs", "bench.md"), options, tables, others)
        record_readme(os.path.join(TOP, "README.md"), results, bench.tools, starts, max(result["tally"]["peak_bytes"] for result in results))


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"run.py: {failure}")
