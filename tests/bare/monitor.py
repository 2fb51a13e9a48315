#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tally monitor on guest/bare/a64/monitored.c: every command in JSON, refusals with their statuses, and the program's verdict.

  monitor.py TALLY PROGRAM.elf
"""
import json
import subprocess
import sys

TALLY, PROGRAM = sys.argv[1:]


def run(*words):
    done = subprocess.run([TALLY, "monitor", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def rows(*commands):
    status, out, err = run("-j", PROGRAM, *commands)
    assert status == 0, (status, out, err)
    assert "PASS 2 checks" in out, out
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def fails(status, sentence, *words):
    got, _, err = run(*words)
    assert got == status and sentence in err, (words, got, err)


def main():
    found = rows("hit=probe_point", "regs", "step=3", "mem=n_rounds:8", "status", "stop")
    assert [row["command"] for row in found] == ["hit", "regs", "step", "step", "step", "mem", "status", "stop", "end"], found
    assert found[0]["function"] == "probe_point" and found[0]["pc"] == found[1]["pc"] == found[2]["pc"]
    assert found[2]["instruction"].split() == ["mov", "x1,", "x0"] and found[3]["instruction"] == "ret"
    assert found[4]["pc"] == found[1]["x30"]
    assert found[5]["bytes"] == "0300000000000000"
    assert found[6]["steps"] == 3 and found[8]["status"] == 0
    pages = [row for row in rows("hit=work", "tlb") if row["command"] == "tlb"]
    assert all(row["vaddr"] == row["paddr"] for row in pages if row["kind"] == "page") and len(pages) > 5, pages
    lines = [row for row in rows("hit=work", "l1d", "l1i") if row["command"] in ("l1d", "l1i")]
    assert {row["state"] for row in lines if row["command"] == "l1d"} <= set("MOES"), lines
    assert {row["state"] for row in lines if row["command"] == "l1i"} == {"V"}, lines
    verdict, = [row for row in rows("hit=probe_point", "rsb=probe_return:work") if row["command"] == "rsb"]
    assert verdict["verdict"] == "no", verdict
    fails(125, "0x39 in state listening. The target is not at EL0 of AArch64.", PROGRAM, "halt")
    fails(125, "0x22 in state idle. The function is not allowed", PROGRAM, "regs")
    fails(125, "0x32 in state halted. The target took an exception", PROGRAM, "hit=work", "mem=0x10:8")
    fails(2, "hit=nowhere: not an address, nor a symbol", PROGRAM, "hit=nowhere")
    fails(2, "jump: no such command; commands are hit, halt", PROGRAM, "jump")
    fails(2, "step: write step=N", PROGRAM, "step=0")
    fails(2, "no program; write tally monitor", "-j")
    fails(2, "no command; write tally monitor", PROGRAM)
    fails(2, "machine rocket is not AArch64", "-m", "rocket", PROGRAM, "halt")
    fails(127, "nonexistent.elf: No such file", "nonexistent.elf", "halt")


main()
