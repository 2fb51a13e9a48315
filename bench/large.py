#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures large programs that others wrote, threads, and system calls: tally stat beside plain qemu-riscv64.

  bench/large.py [--quick] [--record | --targets | --parts | --costs] [--repeat N] [--tally FILE] [--large FOLDER] [--workloads FOLDER] [NAME...]

Speeds are millions of guest instructions per second of processor time, the fastest of N runs that take turns (default 3). Both have
start-up in them. Processor time is that of all host threads: QEMU has one for each thread of the program, tally has one. Programs run on
one hart unless the name says otherwise. Guest instructions are tally's count, for QEMU too: threads that wait for each other make a few
more or less there. QEMU cannot start programs for programs, so it runs no copies. bench/workloads/large.sh fetches the programs; lua is that of bench/workloads/build.sh. --record writes the table to
docs/bench.md and the figure of README.md.

--targets prints what a guest instruction of the large programs may cost, and does: nanoseconds by the shares of tally stat --host-profile.
Its last columns are the speed beside QEMU if a part cost nothing. --parts tells translated code into parts: in a run with --repeat-part each costs
twice. Its last columns are the speed beside QEMU if hit paths of loads, stores, fetches and branches cost nothing, if misses did, and both. --costs runs them once under cachegrind, shorter, with 32 KiB of L1I and L1D and 1 MiB
of L2, and prints host instructions and misses of the host's caches for each guest instruction. What QEMU and tally make themselves is "code".
"""
import argparse
import glob
import json
import os
import re
import resource
import subprocess
import sys
import tempfile

import run as bench
import section

LARGE = ("python", "perl", "cc1", "gofmt", "esbuild")
CACHES = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64", "--LL=1048576,16,64")
MODELS = re.compile(r"tl_(l1|l2|fetch|slot|tlb|translate|walk|server|dram|replacement|cache)|^(reach|ask_for_page|walk|miss)|tl_blocks_reenter|enter_fetched|tl_block_execute")
MAKES_CODE = re.compile(r"tl_(emit|reg|code|blocks_(find|build|validate)|pend)|^(translate|emit|decode|x86)|tcg_|translat|liveness|optimize|disas|decode_insn")
TARGETS = {"mean": 0.5, "least": 0.35, "harts": 0.9}  # reported, never asserted
PARTS = ("data-lookup", "line-use", "page-use", "fetch-lookup", "fetch-use", "prediction", "hit-path")
README_FIGURE = ("<!-- begin of what bench/large.py writes -->", "<!-- end of what bench/large.py writes -->")


def rows(root, guest, workloads, is_quick, is_short):
    """{name: (harts, whether it needs the root folder, command with {work}, expected statuses)}."""
    cc1 = glob.glob(f"{root}/usr/libexec/gcc/*/*/cc1")
    if not cc1:
        raise bench.Failure(f"{root} has no compiler; run bench/workloads/large.sh")
    times = 1 if is_quick else 8
    compile_c = ["/" + os.path.relpath(cc1[0], root), "-quiet", "-O0" if is_short else "-O2", "-march=rv64gc", "-mabi=lp64d", "{work}/picture.i", "-o", "-"]
    bundle = ["{work}/esbuild", "{work}/three/examples/jsm/Addons.js", "--bundle", "--minify", "--format=esm"]
    if is_quick:
        bundle[1] = "{work}/three/src/objects/Mesh.js" if is_short else "{work}/three/src/Three.js"
    lua = [os.path.join(workloads, "lua"), os.path.join(bench.HERE, "workloads", "work.lua"), str(times)]
    sharing = [os.path.join(guest, "sharing"), "false_sharing", "4", str(50000 * times)]
    return {
        "python": (1, True, ["/usr/bin/python3", "-S", "{work}/work.py", str(times)]),
        "perl": (1, True, ["/usr/bin/perl", "{work}/work.pl", str(2 if is_short else 10 * times)]),
        "cc1": (1, True, compile_c),
        "gofmt": (1, False, ["{work}/gofmt", "-l", "{work}/go/cookiejar" if is_quick else "{work}/go"]),
        "esbuild": (1, False, bundle),
        "dd": (1, True, ["/usr/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=1", f"count={50000 * times}", "status=none"]),
        "esbuild, 4 harts": (4, False, bundle),
        "lua": (1, False, lua),
        "4 copies of lua, 4 harts": (4, False, [os.path.join(workloads, "copies"), "4", *lua]),
        "false sharing, 4 harts": (4, False, sharing),
    }


def command(args, tool, row, counts, options=()):
    harts, is_rooted, words = row
    work = os.path.join(args.root, "work")
    if tool == "tally":
        root = ["--root", args.root] if is_rooted else []
        return [args.tally, "stat", "-q", "-j", "-o", counts, *options, "--set", f"harts={harts}", *root, "--",
                *(word.format(work="/work" if is_rooted else work) for word in words)]
    program = args.root + words[0] if is_rooted else words[0]
    return ["qemu-riscv64", "-L", args.root, *(word.format(work=work) for word in [program, *words[1:]])]


def spend(words, output):
    """Processor seconds of a run; its output goes to a file."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(output, "wb") as out:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise bench.Failure(f"{' '.join(words[:8])} ...: status {done.returncode}: {done.stderr.decode(errors='replace').strip()[-300:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tools_of(row):
    return ("tally",) if os.path.basename(row[2][0]) == "copies" else ("tally", "qemu")


def fastest(args, runs, row, folder):
    """{run: processor seconds} of {run: words}, the least of args.repeat rounds in turns."""
    seconds, outputs, output = dict.fromkeys(runs, float("inf")), set(), os.path.join(folder, "output")
    for _ in range(args.repeat):
        for run, words in runs.items():
            seconds[run] = min(seconds[run], spend(words, output))
            outputs.add(bench.digest(output))
    if len(outputs) != 1:
        raise bench.Failure(f"{' '.join(row[2])}: output differs between {' and '.join(runs)}")
    return seconds


def measure(args, row, folder):
    counts = os.path.join(folder, "counts.json")
    tools = tools_of(row)
    seconds = fastest(args, {tool: command(args, tool, row, counts) for tool in tools}, row, folder)
    instructions = bench.tally_instructions(counts)
    return instructions, *(instructions / seconds[tool] / 1e6 if tool in seconds else None for tool in ("tally", "qemu"))


def shares_of(args, row, folder):
    """parts_of a run."""
    profile = os.path.join(folder, "profile.json")
    spend(command(args, "tally", row, os.path.join(folder, "counts.json"), ("--host-profile", profile)), os.devnull)
    with open(profile, encoding="utf-8") as file:
        return bench.parts_of(json.load(file)["shares"])


def print_targets(args, rows_of, folder):
    parts, least, mean = ("translated code", "models", "everything else"), TARGETS["least"], TARGETS["mean"]
    print(f"| program | ns: QEMU | tally | {' | '.join(parts)} | {least} allows | {mean} allows | tally / QEMU | "
          + " | ".join(f"without {part}" for part in parts) + " | with translated code alone |")
    print("|:--|" + "--:|" * 12)
    ratios = []
    for name, row in rows_of.items():
        _, ours, theirs = measure(args, row, folder)
        shares = shares_of(args, row, folder)
        ratios.append([ours / theirs / rest for rest in (1, *(1 - share for share in shares), shares[0])])
        cells = [f"{ns:.2f}" for ns in (1e3 / theirs, 1e3 / ours, *(1e3 / ours * share for share in shares), 1e3 / theirs / least, 1e3 / theirs / mean)]
        print(f"| {name} | {' | '.join(cells)} | {' | '.join(f'{ratio:.2f}' for ratio in ratios[-1])} |", flush=True)
    print(f"| geometric mean |{' |' * 7} {' | '.join(f'{bench.geometric_mean(list(column)):.2f}' for column in zip(*ratios))} |")


def print_parts(args, rows_of, folder):
    """Nanoseconds for each guest instruction. All runs take turns, because the host changes while they run."""
    rest = ("rest of translated code", "misses", "everything else")
    bounds = ("tally / QEMU", "without hit path", "without misses", "without both")
    print(f"| program | QEMU | tally | {' | '.join((*PARTS, *rest, *bounds))} |")
    print("|:--|" + "--:|" * (2 + len(PARTS) + len(rest) + len(bounds)))
    columns = []
    for name, row in rows_of.items():
        counts = os.path.join(folder, "counts.json")
        runs = {"qemu": command(args, "qemu", row, counts), "tally": command(args, "tally", row, counts),
                **{part: command(args, "tally", row, counts, ("--repeat-part", part)) for part in PARTS}}
        seconds = fastest(args, runs, row, folder)
        ns = 1e9 / bench.tally_instructions(counts)
        theirs, ours = seconds["qemu"], seconds["tally"]
        in_code, misses, others = (share * ours for share in shares_of(args, row, folder))
        parts = [max(seconds[part] - ours, 0) for part in PARTS]
        hit_path = parts[-1]
        cells = [theirs, ours, *parts, in_code - hit_path, misses, others]
        columns.append([theirs / left for left in (ours, ours - hit_path, ours - misses, ours - misses - hit_path)])
        if min(columns[-1]) < 0:
            raise bench.Failure(f"{name}: its hit path took longer than all of its run, because the host was busy; repeat more often")
        print(f"| {name} | {' | '.join(f'{cell * ns:.2f}' for cell in cells)} | {' | '.join(f'{ratio:.2f}' for ratio in columns[-1])} |", flush=True)
    means = " | ".join(f"{bench.geometric_mean(list(column)):.2f}" for column in zip(*columns))
    print(f"| geometric mean |{' |' * (2 + len(PARTS) + len(rest))} {means} |")


def functions_of(path):
    """[(function, {event: count})] of a file of cachegrind."""
    found, events, name = {}, [], None
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("events:"):
                events = line.split()[1:]
            elif line.startswith("fn="):
                name = line[3:].strip()
            elif line[0].isdigit():
                counts = found.setdefault(name, [0] * len(events))
                for i, n in enumerate(line.split()[1:]):
                    counts[i] += int(n)
    return [(name, dict(zip(events, counts))) for name, counts in found.items()]


def print_costs(args, rows_of, folder):
    print("| program | | host instructions | code | models | making code | everything else | L1I misses | of L2, instructions | of L1D | of L2, data |")
    print("|:--|:--|" + "--:|" * 9)
    for name, row in rows_of.items():
        for tool in tools_of(row):
            out, counts = os.path.join(folder, "cachegrind"), os.path.join(folder, "counts.json")
            words = ["valgrind", "--tool=cachegrind", "--smc-check=all", *CACHES, f"--cachegrind-out-file={out}", *command(args, tool, row, counts)]
            if tool == "qemu":
                at = words.index("qemu-riscv64") + 1
                words[at:at] = ["-U", "LD_PRELOAD"]
            spend(words, os.devnull)
            n_guest = bench.tally_instructions(counts)
            sums = dict.fromkeys(("Ir", "code", "models", "making", "else", "I1mr", "ILmr", "D1mr", "D1mw", "DLmr", "DLmw"), 0)
            for function, events in functions_of(out):
                is_model = tool == "tally" and MODELS.search(function)
                part = "code" if function.startswith("???") else "models" if is_model else "making" if MAKES_CODE.search(function) else "else"
                sums[part] += events["Ir"]
                for event in events.keys() & sums.keys():
                    sums[event] += events[event]
            costs = [sums["Ir"], sums["code"], sums["models"], sums["making"], sums["else"]]
            misses = [sums["I1mr"], sums["ILmr"], sums["D1mr"] + sums["D1mw"], sums["DLmr"] + sums["DLmw"]]
            print(f"| {name} | {tool} | " + " | ".join([f"{n / n_guest:.1f}" for n in costs] + [f"{n / n_guest:.3f}" for n in misses]) + " |", flush=True)


def targets(found):
    ratios = {name: found[name][1] / found[name][2] for name in LARGE if name in found}
    lines = []
    if ratios:
        mean, least = bench.geometric_mean(list(ratios.values())), min(ratios, key=ratios.get)
        lines += [bench.verdict(mean >= TARGETS["mean"], f"{TARGETS['mean']} of plain qemu-riscv64 in geometric mean of large programs; {mean:.2f}"),
                  bench.verdict(ratios[least] >= TARGETS["least"], f"no large program below {TARGETS['least']}; {least} {ratios[least]:.2f}")]
    one, four = found.get("lua"), found.get("4 copies of lua, 4 harts")
    if one and four:
        lines.append(bench.verdict(four[1] >= TARGETS["harts"] * one[1],
                                   f"four harts {TARGETS['harts']} as fast as one where they share nothing; {four[1] / one[1]:.2f}"))
    lines.append(bench.verdict(False, 'a run on two processors of the host 1.6 times as fast; a run uses one (docs/engine.md, "Both host cores")'))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="runs about ten times shorter")
    parser.add_argument("--record", action="store_true", help="write docs/bench.md and README.md")
    parser.add_argument("--targets", action="store_true", help="print what targets leave for each part of the work")
    parser.add_argument("--parts", action="store_true", help="print what the parts of translated code cost")
    parser.add_argument("--costs", action="store_true", help="print host instructions and misses, under cachegrind")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each")
    parser.add_argument("--tally", default=os.path.join(bench.TOP, "build", "tally"), help="the program under test")
    parser.add_argument("--large", default=os.path.join(bench.HERE, "out", "large"), help="where bench/workloads/large.sh put things")
    parser.add_argument("--workloads", default=os.path.join(bench.HERE, "out"), help="where bench/workloads/build.sh put things")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these programs")
    args = parser.parse_args()
    args.root = os.path.join(os.path.abspath(args.large), "debian", "root")
    guest, workloads = os.path.join(os.path.dirname(os.path.abspath(args.tally)), "guest"), os.path.join(args.workloads, "riscv64")
    table = rows(args.root, guest, os.path.abspath(workloads), args.quick or args.costs, args.costs)
    if args.repeat < 1 or set(args.names) - set(table) or (args.record and args.names):
        parser.error(f"one round at least, names out of {', '.join(table)}, and no names with --record")
    show = print_targets if args.targets else print_parts if args.parts else print_costs if args.costs else None
    if show:
        with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder:
            show(args, {name: table[name] for name in args.names or LARGE}, folder)
        return
    lines = ["| program | instructions | tally MIPS | qemu MIPS | tally / qemu |", "|:--|--:|--:|--:|--:|"]
    print("\n".join(lines), flush=True)
    found = {}
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder:
        for name, row in table.items():
            if args.names and name not in args.names:
                continue
            found[name] = instructions, ours, theirs = measure(args, row, folder)
            lines.append(f"| {name} | {instructions / 1e6:.1f} M | {ours:.0f} | " + (f"{theirs:.0f} | {ours / theirs:.2f} |" if theirs else "| |"))
            print(lines[-1], flush=True)
    aims = targets(found)
    print("\n".join(["", *aims]))
    if args.record:
        about = f"`bench/large.py` (part of `make bench`) says what the columns are. Processor time, the fastest of {args.repeat}."
        section.record("bench/large.py", "\n".join(["## Large programs, threads, system calls", "", about, "", *lines, "", *(f"- {aim}" for aim in aims)]))
        ratios = [ours / theirs for _, ours, theirs in found.values() if theirs]
        readme = os.path.join(bench.TOP, "README.md")
        with open(readme, encoding="utf-8") as old:
            new = bench.replace_region(old.read(), README_FIGURE,
                                       f"Python, Perl, a C compiler, `gofmt`, esbuild, four threads, and a program that only makes system calls run at "
                                       f"{bench.geometric_mean(ratios):.2f} of plain `qemu-riscv64`\n(geometric mean; from {min(ratios):.2f} to {max(ratios):.2f}; "
                                       "`bench/large.py`).")
        if new is None:
            raise bench.Failure(f"{readme} has no place for the figure: the lines {' and '.join(README_FIGURE)}")
        bench.write(readme, new)


if __name__ == "__main__":
    try:
        main()
    except bench.Failure as failure:
        sys.exit(f"bench/large.py: {failure}")
