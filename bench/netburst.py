#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what the Pentium 4's PMU costs the simulation of machine netburst, by host instructions under cachegrind.

  bench/netburst.py [--quick] [--record] [--tally FILE] [--guests FOLDER] [NAME...]

A row is a program. Each way runs it to two numbers of instructions, and its cost is the difference, so that start-up is in none.
off         the PMU is attached, and no counter runs
one         one counter runs
eighteen    all counters run, each with a threshold
pebs        tally record with a precise sample after 10,000 loads, beside tally record
What pebs adds is measured by the cost of `alone`, too, which is several times less than that of `record`.
No other load of the host moves host instructions. Behind the table stand what is aimed at, met or not.
"""
import argparse
import os
import re
import subprocess
import sys

import section

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VALGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--smc-check=all", "--cachegrind-out-file=/dev/null"]
EIGHTEEN = ("global_power_events:RUNNING:thr=0,bpu_fetch_request:TCMISS:thr=0,itlb_reference:HIT:thr=0,page_walk_type:DTMISS:thr=0,"
            "uop_queue_writes:FROM_TC_BUILD+FROM_TC_DELIVER:thr=0,tc_deliver_mode:DI:thr=0,retired_branch_type:CONDITIONAL:thr=0,"
            "retired_mispred_branch_type:CONDITIONAL:thr=0,scalar_dp_uop:ALL:thr=0,x87_simd_moves_uop:ALLP0:thr=0,load_port_replay:SPLIT_LD:thr=0,"
            "memory_complete:LSC:thr=0,uops_retired:NBOGUS:thr=0,uops_retired:NBOGUS:thr=1,uops_retired:NBOGUS:thr=2,instr_retired:NBOGUSNTAG:thr=0,"
            "instr_retired:NBOGUSNTAG:thr=1,instr_retired:NBOGUSNTAG:thr=2")
WAYS = {"alone": ["stat"], "off": ["stat", "--set", "pentium4=on"], "one": ["stat", "-P", "netburst", "-e", "uops_retired:NBOGUS"],
        "eighteen": ["stat", "-P", "netburst", "-e", EIGHTEEN], "record": ["record", "-q"],
        "pebs": ["record", "-q", "-P", "netburst", "-c", "10000", "-e", "memory_loads:pp"]}
BASES = {"off": "alone", "one": "alone", "eighteen": "alone", "pebs": "record"}
TARGETS = [("off", "alone", 3), ("eighteen", "alone", 30), ("pebs", "record", 5), ("pebs", "alone", 5)]  # percent of which cost a way may add
LENGTHS = {False: (500000, 2000000), True: (100000, 300000)}  # by --quick


def instructions(words):
    done = subprocess.run(VALGRIND + words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    refs = re.search(rb"I\s+refs:\s+([\d,]+)", done.stderr)
    if done.returncode != 0 or not refs:
        sys.exit(f"bench/netburst.py: {' '.join(words)}: {done.stderr.decode(errors='replace')[-300:]}")
    return int(refs[1].replace(b",", b""))


def cost(options, way, program):
    verb, *words = WAYS[way]
    first, last = (instructions([options.tally, verb, "-o", os.devnull if verb == "stat" else options.profile, "-m", "netburst", *words,
                                 "--max-insns", str(n), "--", os.path.join(options.guests, program)]) for n in LENGTHS[options.quick])
    return last - first


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="short runs")
    parser.add_argument("--record", action="store_true", help="write the result into docs/bench.md")
    parser.add_argument("--tally", default=os.path.join(TOP, "build", "tally"))
    parser.add_argument("--guests", default=os.path.join(TOP, "build", "guest"))
    parser.add_argument("--profile", default=os.path.join(TOP, "build", "bench-netburst.profile"))
    parser.add_argument("names", nargs="*", default=None)
    options = parser.parse_args()
    os.makedirs(os.path.dirname(os.path.abspath(options.profile)), exist_ok=True)
    programs = options.names or ["kernel_sort", "kernel_huffman", "kernel_matrix"]
    per_insn = LENGTHS[options.quick][1] - LENGTHS[options.quick][0]
    words = " ".join(["bench/netburst.py"] + ["--quick"] * options.quick + options.names)
    lines = ["## The PMU of the Pentium 4", "", f"Host instructions for each simulated one, under cachegrind, and the part that the PMU adds. `{words}`", "",
             "| program | alone | off | one | eighteen | record | pebs |", "|---|---|---|---|---|---|---|"]
    worst = {target: (0.0, "") for target in TARGETS}
    for program in programs:
        costs = {way: cost(options, way, program) for way in WAYS}
        cells = [program]
        added = {way: costs[way] - costs[base] for way, base in BASES.items()}
        for way in WAYS:
            cells.append(f"{costs[way] / per_insn:.0f}" + (f" (+{100 * added[way] / costs[BASES[way]]:.1f} %)" if way in BASES else ""))
        for target in TARGETS:
            way, of, _ = target
            worst[target] = max(worst[target], (100 * added[way] / costs[of], program))
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    lines.append("")
    for (way, of, limit), (most, program) in worst.items():
        what = way if of == BASES[way] else f"what {way} adds"
        lines.append(f"- {'met' if most <= limit else 'TARGET NOT MET'}: {what} within {limit} % of {of}; most {most:.1f} % on {program}")
        print(lines[-1])
    if options.record:
        section.record("bench/netburst.py", "\n".join(lines))


if __name__ == "__main__":
    main()
