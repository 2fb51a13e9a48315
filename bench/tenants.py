#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures what the monitor of VMs and contexts costs the host: processor time of `tally tenants` with it, over the time without it.

  bench/tenants.py [--tally FILE] [--guest FOLDER] [--rounds N] [--profile SAFE|LITERAL]

Rows: one context in each of four VMs and no switch; two contexts in each that take turns of one million cycles (1 ms); then 2, 8 and 32
contexts of one program, which take turns too. Runs take turns, and the least time of each counts. Nothing is asserted.
"""
import argparse
import os
import resource
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(HERE)
PROGRAMS = [("kernel_sieve", "3"), ("kernel_strings", "12"), ("kernel_sort", "5"), ("kernel_matrix", "40")]
QUANTUM_CYCLES = 1_000_000
N_PARTITIONS = 4


def describe(path, guest, profile, n_contexts, quantum, programs):
    """Contexts go to the VMs in turn, one VM to a partition."""
    lines = ["machine: cloud4", f"profile: {profile}", "vms:"]
    for vm in range(min(N_PARTITIONS, n_contexts)):
        lines += [f"  - name: vm{vm}", f"    partition: {vm}", "    contexts:"]
        for context in range(vm, n_contexts, N_PARTITIONS):
            name, argument = programs[context % len(programs)]
            lines += [f"      - name: c{context}", f"        program: {os.path.join(guest, name)}", f'        args: ["{argument}"]',
                      "        stdout: none"] + ([f"        quantum: {quantum}"] if quantum else [])
    with open(path, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")


def seconds(command):
    """Processor time of one run."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tally", default=os.path.join(TOP, "build", "tally"))
    parser.add_argument("--guest", default=os.path.join(TOP, "build", "guest"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", choices=["SAFE", "LITERAL"], default="SAFE")
    args = parser.parse_args()
    rows = [("4 contexts, no switch", 4, 0, PROGRAMS), ("8 contexts, 1 ms", 8, QUANTUM_CYCLES, PROGRAMS)]
    rows += [(f"{n} contexts, 1 ms", n, QUANTUM_CYCLES, [("kernel_strings", "3")]) for n in (2, 8, 32)]
    print(f"{'':24}{'without':>12}{'with':>12}{'ratio':>8}{'a context':>12}")
    with tempfile.TemporaryDirectory() as folder:
        for title, n_contexts, quantum, programs in rows:
            path = os.path.join(folder, "tenants.yaml")
            describe(path, os.path.abspath(args.guest), args.profile, n_contexts, quantum, programs)
            least = {"none": float("inf"), "smpm": float("inf")}
            for _ in range(args.rounds):
                for monitor in least:  # the report goes to standard error
                    least[monitor] = min(least[monitor], seconds([args.tally, "tenants", "--monitor", monitor, path]))
            ratio = least["smpm"] / least["none"]
            print(f"{title:24}{least['none']:10.3f} s{least['smpm']:10.3f} s{ratio:8.2f}{least['smpm'] / n_contexts:10.3f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
