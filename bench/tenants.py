#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what the monitor of VMs and contexts (pmu smpm) costs the host on machine cloud4, in both profiles.

  bench/tenants.py [--quick] [--record] [--repeat N] [--instructions] [--rows N] [--tally FILE] [--guest FOLDER]

Rows: one context in each of four VMs and no switch; two contexts in each that take turns of one million cycles (1 ms); then 2, 8 and 32
contexts of one program, which take turns, too. Each runs without the monitor and with it. Both retire the same instructions, which is
checked. Figures are processor time, the least of N runs that take turns (default 5). --instructions counts host instructions under
cachegrind instead, which no other load of the host moves; start-up is in them, and loading programs costs the monitor 60 million. --rows N
measures the first N rows only. --record writes the table to docs/bench.md.
"""
import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

import section

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
PROGRAMS = {False: [("kernel_sieve", "3"), ("kernel_strings", "12"), ("kernel_sort", "5"), ("kernel_matrix", "40")],  # by --quick
            True: [("kernel_sieve", "1"), ("kernel_strings", "2"), ("kernel_sort", "1"), ("kernel_matrix", "7")]}
QUANTUM_CYCLES = 1_000_000
N_PARTITIONS = 4
TARGETS = {"unread": 1.03, "switching": 1.10, "linear": 1.10}  # reported, never asserted
VALGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--smc-check=all", "--cachegrind-out-file=/dev/null"]


class Failure(Exception):
    pass


def describe(path, guest, profile, n_contexts, quantum, programs):
    """Contexts go to the VMs in turn, one VM to a partition. With a quantum, each VM has two at least."""
    n_vms = min(N_PARTITIONS, n_contexts // 2 if quantum else n_contexts)
    lines = ["machine: cloud4", f"profile: {profile}", "vms:"]
    for vm in range(n_vms):
        lines += [f"  - name: vm{vm}", f"    partition: {vm}", "    contexts:"]
        for context in range(vm, n_contexts, n_vms):
            name, argument = programs[context % len(programs)]
            lines += [f"      - name: c{context}", f"        program: {os.path.join(guest, name)}", f'        args: ["{argument}"]',
                      "        stdout: none"] + ([f"        quantum: {quantum}"] if quantum else [])
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")


def run(command, counts_instructions):
    """What one run costs, and how many instructions its contexts retired."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run((VALGRIND if counts_instructions else []) + command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, encoding="utf-8", check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    device = re.search(r"^device +\S+ +(\S+)", done.stderr, re.M)  # the report goes to standard error
    if done.returncode != 0 or not device:
        raise Failure(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()[-300:]}")
    refs = re.search(r"I\s+refs:\s+([\d,]+)", done.stderr)
    cost = int(refs[1].replace(",", "")) / 1e9 if refs else after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cost, device[1]


def measure(args, path):
    """Least cost without the monitor and with it."""
    least = {"none": float("inf"), "smpm": float("inf")}
    retired = set()
    for _ in range(1 if args.instructions else args.repeat):
        for monitor in least:
            cost, instructions = run([args.tally, "tenants", "--monitor", monitor, path], args.instructions)
            least[monitor] = min(least[monitor], cost)
            retired.add(instructions)
    if len(retired) != 1:
        raise Failure(f"{path}: runs retire {' and '.join(sorted(retired))} instructions; the ratio means nothing")
    return least["none"], least["smpm"]


def verdict(is_met, sentence):
    return f"- {'met' if is_met else 'TARGET NOT MET'}: {sentence}"


def rows_of(args, folder, profile):
    """Lines of the table, and targets."""
    programs, small = PROGRAMS[args.quick], [("kernel_strings", "3")]
    cases = [("4 contexts, no switch", 4, 0, programs), ("8 contexts, 1 ms", 8, QUANTUM_CYCLES, programs)]
    cases += [(f"{n} contexts of one program, 1 ms", n, QUANTUM_CYCLES, small) for n in (2, 8, 32)]
    lines, ratios, each = [], [], []
    for title, n, quantum, of in cases[:args.rows]:
        path = os.path.join(folder, "tenants.yaml")
        describe(path, os.path.abspath(args.guest), profile, n, quantum, of)
        without, with_it = measure(args, path)
        ratios.append(with_it / without)
        each.append(with_it / n)
        lines.append(f"| {profile} | {title} | {without:.3f} | {with_it:.3f} | {ratios[-1]:.3f} | {each[-1]:.4f} |")
        print(lines[-1], flush=True)
    targets = [verdict(ratios[0] <= TARGETS["unread"],
                       f"{profile}: attached and read by nobody within 3 % of detached; {100 * ratios[0] - 100:+.1f} %")]
    if len(ratios) > 1:
        targets.append(verdict(ratios[1] <= TARGETS["switching"],
                               f"{profile}: a quantum of 1 ms, with blocks of contexts at each switch, within 10 %; {100 * ratios[1] - 100:+.1f} %"))
    if len(ratios) == len(cases):
        growth = each[-1] / min(each[2:])
        targets.append(verdict(growth <= TARGETS["linear"],
                               f"{profile}: time grows linearly; a context of 32 takes {growth:.2f} times what one of 2 or 8 takes at least"))
    return lines, targets


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="shorter runs")
    parser.add_argument("--record", action="store_true", help="write the table to docs/bench.md")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each")
    parser.add_argument("--instructions", action="store_true", help="count host instructions under cachegrind, one run of each")
    parser.add_argument("--rows", type=int, default=5, help="the first N rows of each profile")
    parser.add_argument("--profile", choices=["SAFE", "LITERAL"], help="one profile; both otherwise")
    parser.add_argument("--tally", default=os.path.join(TOP, "build", "tally"), help="the program under test")
    parser.add_argument("--guest", default=os.path.join(TOP, "build", "guest"), help="folder of the guests")
    args = parser.parse_args()
    for path in (args.tally, os.path.join(args.guest, "kernel_sort")):
        if not os.access(path, os.X_OK):
            sys.exit(f"bench/tenants.py: {path}: not there; run make first")
    if args.instructions and not shutil.which("valgrind"):
        sys.exit("bench/tenants.py: --instructions needs valgrind; install it, or leave the option out for processor time")
    unit = "10^9 host instructions" if args.instructions else "s"
    head = [f"| profile | contexts | {unit} without the monitor | {unit} with it | ratio | {unit} for a context |", "|:--|:--|--:|--:|--:|--:|"]
    print("\n".join(head), flush=True)
    lines, targets = [], []
    with tempfile.TemporaryDirectory(prefix="tally-bench-") as folder:
        for profile in [args.profile] if args.profile else ["SAFE", "LITERAL"]:
            more = rows_of(args, folder, profile)
            lines += more[0]
            targets += more[1]
    print("\n".join(["", *targets]))
    if args.record:
        about = ("Host instructions under cachegrind, with `--instructions`." if args.instructions
                 else f"Processor time, the least of {args.repeat} runs that take turns.")
        section.record("bench/tenants.py", "\n".join(["## The monitor of tenants", "", f"`bench/tenants.py` (part of `make bench`). {about}", "",
                                                      *head, *lines, "", *targets]))


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"bench/tenants.py: {failure}")
