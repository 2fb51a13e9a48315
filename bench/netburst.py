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
RATIOS = {"off": ("alone", 3), "one": ("alone", None), "eighteen": ("alone", 30), "pebs": ("record", 5)}  # base, percent that are aimed at
PEBS_LIMIT = 5  # percent of alone, too
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
    worst = {way: (0.0, "") for way in RATIOS}
    worst_of_alone = (0.0, "")
    for program in programs:
        costs = {way: cost(options, way, program) for way in WAYS}
        cells = [program]
        for way in WAYS:
            base = RATIOS.get(way, (None,))[0]
            added = 100 * (costs[way] / costs[base] - 1) if base else 0
            cells.append(f"{costs[way] / per_insn:.0f}" + (f" (+{added:.1f} %)" if base else ""))
            if base:
                worst[way] = max(worst[way], (added, program))
        worst_of_alone = max(worst_of_alone, (100 * (costs["pebs"] - costs["record"]) / costs["alone"], program))
        lines.append("| " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    lines.append("")
    for way, (base, limit) in RATIOS.items():
        if limit is not None:
            is_met = worst[way][0] <= limit
            lines.append(f"- {'met' if is_met else 'TARGET NOT MET'}: {way} within {limit} % of {base}; most {worst[way][0]:.1f} % on {worst[way][1]}")
            print(lines[-1])
    lines.append(f"- {'met' if worst_of_alone[0] <= PEBS_LIMIT else 'TARGET NOT MET'}: what pebs adds within {PEBS_LIMIT} % of alone; "
                 f"most {worst_of_alone[0]:.1f} % on {worst_of_alone[1]}")
    print(lines[-1])
    if options.record:
        section.record("bench/netburst.py", "\n".join(lines))


if __name__ == "__main__":
    main()
