#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the counters of the second level do to the program that looks at them, measured from outside.

  run.py --tally build/tally --guests build/guest [--engine "E [OPTION...]"]

The program is guest/linux/device_ccache.c; what it finds out by itself is checked there.
"""
import argparse
import json
import os
import subprocess
import sys

BLOCK = ["--set", "l2.counters=6", "--grant", "ccache"]
MMIO_CYCLES = 40  # mem.mmio of machine rocket
N_LOADS = 1000


class Failure(Exception):
    pass


class Runs:
    def __init__(self, options):
        self.tally, self.engine = options.tally, options.engine
        self.program = os.path.join(options.guests, "device_ccache")
        self.bare = os.path.join(options.guests, "bare", "ccache.elf")

    def run(self, options, command):
        """Returns (status, standard output, counts by name)."""
        line = [self.tally, "stat", "-j", "-o", "/dev/fd/2", "--no-progress", "--engine", *self.engine.split()] + options + command
        child = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)
        counts = {}
        for text in child.stderr.splitlines():
            if text.startswith("{"):
                record = json.loads(text)
                if record["type"] == "event" and record["scope"] == "machine":
                    counts[record["event"]] = int(record["value"])
        return child.returncode, child.stdout, counts

    def counts(self, options, *arguments):
        status, output, counts = self.run(options, ["--", self.program] + list(arguments))
        if status != 0:
            raise Failure(f"{' '.join(arguments)}: status {status}\n{output}")
        return output, counts


def equal(what, got, want):
    if got != want:
        raise Failure(f"{what}: {got}, not {want}")


def check_everything_inside(runs):
    runs.counts(BLOCK, "granted")
    for machine in ("u74", "lowrisc2"):  # counts and geometry are other ones there, refusals are not
        status, output, _ = runs.run(["--machine", machine] + BLOCK, ["--", runs.program, "read", "1"])
        equal(f"status on {machine}", status, 0)


def check_who_is_granted(runs):
    runs.counts([], "denied")
    runs.counts(["--set", "l2.counters=6"], "denied")  # the block is there; the kernel keeps it


def check_price_of_a_look(runs):
    """A load of a counter takes the bus its time and leaves the data cache alone; a U74 would count it as a miss all the same."""
    _, none = runs.counts(BLOCK, "read", "0000")  # as many digits to read
    _, many = runs.counts(BLOCK, "read", str(N_LOADS))
    more = {name: many[name] - none[name] for name in none}
    equal("hart.unc_read", more["hart.unc_read"], N_LOADS)
    equal("bus.read", more["bus.read"], N_LOADS)
    equal("hart.cyc_mmio", more["hart.cyc_mmio"], N_LOADS * MMIO_CYCLES)
    for name in ("l1d.load", "l1d.load_miss", "l1d.store_miss", "l1d.evict", "hart.unc_write", "hart.exception"):
        equal(name, more[name], 0)
    equal("misses and uncached accesses", more["l1d.load_miss"] + more["l1d.store_miss"] + more["hart.unc_read"] + more["hart.unc_write"], N_LOADS)
    equal("dtlb.access", more["dtlb.access"], more["hart.insn_load"])


def check_u74_class_2_bit_9(runs):
    u74 = BLOCK + ["--set", "pmu=u74", "-P", "rvhpm:u74", "-e", "r202"]
    values = []
    for n in ("0000", str(N_LOADS)):
        status, output, counts = runs.run(u74, ["--", runs.program, "read", n])
        equal(f"status of -P rvhpm:u74 with {n} loads", status, 0)
        values.append(next(iter(counts.values())))
    equal("data_cache_miss_or_mmio", values[1] - values[0], N_LOADS)


def check_count_is_the_truth(runs):
    output, counts = runs.counts(BLOCK + ["--roi", "work"], "count")
    equal("what the program read", int(output), counts["link.acquire_nb_hit"] + counts["link.acquire_nb_miss"])
    if int(output) < 3 * 64:
        raise Failure(f"the program read {output.strip()}: fewer than the lines it touched")


def check_snooper_sees_all_and_changes_nothing(runs):
    plain_output, plain = runs.counts(BLOCK, "count")
    output, snooped = runs.counts(BLOCK + ["--set", "l2.snooper=500"], "count")
    equal("output under the snooper", output, plain_output)
    seen = {name: snooped.pop(name) for name in ("bus.snooped_beat", "bus.master_read")}
    equal("beats seen", seen["bus.snooped_beat"], plain["bus.read"] + plain["bus.write"])
    if seen["bus.master_read"] == 0:
        raise Failure("the snooper read nothing itself")
    for name in ("bus.snooped_beat", "bus.master_read"):
        equal(f"{name} without a snooper", plain.pop(name), 0)
    equal("all other counts under the snooper", snooped, plain)


def check_same_on_every_engine(runs):
    """Counts do not depend on the engine: this run's against the reference's."""
    if runs.engine == "step":
        return
    reference = Runs(argparse.Namespace(tally=runs.tally, engine="step", guests=os.path.dirname(runs.program)))
    for arguments in (["granted"], ["count"]):
        ours, theirs = runs.counts(BLOCK, *arguments), reference.counts(BLOCK, *arguments)
        equal(f"counts of {' '.join(arguments)}", ours, theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tally", required=True)
    parser.add_argument("--guests", required=True)
    parser.add_argument("--engine", default="interp")
    runs = Runs(parser.parse_args())
    if not os.path.exists(runs.program):
        print("SKIP: device_ccache is not built")
        return 77
    n_failed = 0
    for check in (check_everything_inside, check_who_is_granted, check_price_of_a_look, check_u74_class_2_bit_9, check_count_is_the_truth,
                  check_snooper_sees_all_and_changes_nothing, check_same_on_every_engine):
        try:
            check(runs)
            print(f"ok   {check.__name__}")
        except Failure as failure:
            n_failed += 1
            print(f"FAIL {check.__name__}: {failure}")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
