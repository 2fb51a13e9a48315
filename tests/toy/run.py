#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A PMU design that only tests/toy knows is listed, described, configured, reached by CSR and by window, ticks,
is read for a report and compared.

  run.py TALLY PROGRAM
"""
import json
import os
import subprocess
import sys
import tempfile

TALLY, PROGRAM = sys.argv[1], sys.argv[2]


def tally(*args, status=0):
    run = subprocess.run([TALLY, *args], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60)
    if run.returncode != status:
        sys.exit(f"tally {' '.join(args)}: exit status {run.returncode}, not {status}\n{run.stdout}{run.stderr}")
    return run.stdout + run.stderr


def expect(text, *parts):
    for part in parts:
        if part not in text:
            sys.exit(f"{part!r} is not in\n{text}")


def objects(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


expect(tally("list", "pmus"), "toy:plain", "One counter")
expect(tally("list", "events", "-P", "toy"), "toy_stores")
expect(tally("describe", "pmu", "toy"), "toycount", "toywindow", "COUNT", "hart.insn_store")
expect(tally("describe", "machine", "rocket"), "toy:\n  period: 0\n")
expect(tally("describe", "machine", "rocket", "--set", "toy.period=77"), "toy:\n  period: 77\n")
expect(tally("list", "keys"), "toy.period", "The toy counter stores a record every so many cycles")
expect(tally("stat", "--set", "toy.period=1000001", "--", PROGRAM, status=2), "toy.period", "must be between 0 and 1000000")
expect(tally("stat", "--help"), "Names of --grant:", "  toy      Whether programs may use the toy counter.")
expect(tally("stat", "--grant", "abacus", "--", PROGRAM, status=2), "there are ccache, hpc and toy")
expect(tally("stat", "--grant", "toy", "--", PROGRAM, status=2), "tally: --grant toy: set toy.period")
tally("stat", "--grant", "toy,hpc", "--set", "hpc=timed", "--set", "toy.period=100000", "--", PROGRAM)
expect(tally("compare", "--help"), "  toy      A counter of each hart's stores, in a window.")
expect(tally("suite", "toy", status=2), "there is no suite toy; the suite is dhpc")
expect(tally("stat", "-P", "toy", "--", PROGRAM, status=2), "this machine has no toy; set toy.period")

with tempfile.TemporaryDirectory() as folder:
    machine = os.path.join(folder, "mine.yaml")
    with open(machine, "w", encoding="utf-8") as file:
        file.write("base: rocket\nname: mine\nharts: 2\ntoy:\n  period: 500\n")
    output = os.path.join(folder, "out.json")
    def rows(*args):
        tally("stat", "--machine", machine, *args, "-j", "-o", output, "--", PROGRAM)
        with open(output, encoding="utf-8") as file:
            return [row for row in objects(file.read()) if row["type"] == "event"]

    found, truth = rows("-P", "toy"), rows("-e", "hart.insn_store")
    if len(found) != 1 or len(truth) != 1 or not found[0]["pmu"] == "toy:plain" or found[0]["value"] != truth[0]["value"] or truth[0]["value"] == 0:
        sys.exit(f"the toy counted {found}, the machine {truth}")

# The comparison watches it beside another design, whose row of the same event tells the same stores within the reader's own.
events = tally("compare", "--list-events").splitlines()
if events[0].split() != ["event", "u74", "ccache", "dhpc", "toy"] or not any(line.split()[:5] == ["integer_store", "yes", "-", "yes", "yes"] for line in events):
    sys.exit("\n".join(events[:8]))
expect(tally("compare", "--pmu", "tyo", "--", PROGRAM, status=2), "u74, ccache, dhpc and toy", "did you mean toy")
compared = objects(tally("compare", "--pmu", "dhpc,toy", "-e", "integer_store,cycle", "--no-sweeps", "--insns", "1M", "-j", "--", PROGRAM))
expect(compared[0]["added"], "toy.period=100000")
stores = {row["design"]: row for row in compared if row["type"] == "event" and row["event"] == "integer_store"}
cycles = [row for row in compared if row["type"] == "event" and row["event"] == "cycle" and row["design"] == "toy"]
for design in ("dhpc", "toy"):
    if stores[design]["value"] != stores[design]["truth"] or stores[design]["undisturbed"] == 0 or stores[design]["value"] < stores[design]["undisturbed"]:
        sys.exit(f"{design} counted {stores[design]}")
if stores["toy"]["undisturbed"] != stores["dhpc"]["undisturbed"] or "the toy counts stores" not in cycles[0]["reason"]:
    sys.exit(f"{stores} {cycles}")

# It tells no hardware: that is not the same as none.
toy, dhpc = ([row for row in compared if row["type"] == "design" and row["design"] == design][0] for design in ("toy", "dhpc"))
for member in ("events_at_once", "n_csrs", "address_bytes", "csrs_per_event", "address_bytes_per_event"):
    if toy[member] is not None or dhpc[member] is None:
        sys.exit(f"{member}: {toy[member]} of the toy, {dhpc[member]} of dhpc")
if [row for row in compared if row["type"] == "state" and row["design"] == "toy"]:
    sys.exit("the toy has a row of its hardware")
text = tally("compare", "--pmu", "toy,dhpc", "-e", "integer_store", "--no-sweeps", "--insns", "1M", "--", PROGRAM).splitlines()
for label, n in (("events counted at once", 1), ("control registers that", 1), ("bytes of address space", 1), ("more for one event more", 2)):
    found = [line.split()[-2] for line in text if label in line]
    if found != ["-"] * n:
        sys.exit(f"{label}: {found}")
expect(tally("describe", "pmu", "toy", "--cost", status=2), "--cost", "dhpc")
expect(tally("describe", "pmu", "dhpc", "--cost"), "in the core", "on the bus")
