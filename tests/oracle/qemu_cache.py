#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cache misses of single-threaded programs beside those that QEMU's cache plugin counts, with equal geometry and LRU.

  qemu_cache.py [--tally build/tally] [--workloads bench/out] [--target arm64] [--markdown] [NAME...]

Both sides get the same name, arguments, empty environment, and a stack that begins at the same offset in its page (a variable
PAD of the right length sees to that), so that virtual addresses agree in the bits that choose a set of an L1 cache. What still differs,
and why, is in docs/accuracy.md. A line of the table says counter, both numbers and their difference; one that is larger than its
limit is a failure. The exit status is 1 when anything failed and 77 (skipped, to meson) when the plugin or QEMU is not there.
Standard library only.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
L1 = (32768, 8, 64)
# The L2 of a geometry, and by how much counts may differ: percent of QEMU's number, and an absolute part. To the latter come what our own
# counts say of known causes: reads of page tables that missed (each may displace one line) and lines that the inclusive L2 took away.
GEOMETRIES = {
    "large": ((16 << 20, 16, 64), {"l1d": (0.02, 20), "l1i": (0.8, 10), "l2": (0.4, 80)}),
    "rocket": ((512 << 10, 8, 64), {"l1d": (0.02, 20), "l1i": (0.8, 10), "l2": (4.0, 80)}),
}
# Where chance decides: Lua seeds its hash function with the time, which QEMU takes from the host.
RANDOM = {"lua": {"l1d": 5.0, "l2": 5.0}}
# name, program, arguments
PROGRAMS = (
    ("hello", "hello", ""),
    ("matrix", "matrix", "10"),
    ("chase", "chase", "5"),
    ("sort", "sort", "1"),
    ("sieve", "sieve", "1"),
    ("nbody", "nbody", "3"),
    ("strings", "strings", "1"),
    ("automaton", "automaton", "5"),
    ("bzip2", "bzip2", "-c {input}/text-small.txt"),
    ("lua", "lua", "{bench}/work.lua 1"),
    ("sqlite", "speedtest1", "--memdb --size 1"),
)
# Of each instruction set: its tools, a program that says where its stack begins by eight bytes on standard output, and what
# makes both sides alike. QEMU's plugin does not see what DC ZVA stores, so the C library is told to do without.
RISCV_PROBE = """
    .globl _start
_start:
    mv t0, sp
    sd t0, -8(sp)
    li a0, 1
    addi a1, sp, -8
    li a2, 8
    li a7, 64
    ecall
    li a0, 0
    li a7, 93
    ecall
"""
ARM64_PROBE = """
    .globl _start
_start:
    mov x9, sp
    sub x1, x9, 16
    str x9, [x1]
    mov x0, 1
    mov x2, 8
    mov x8, 64
    svc 0
    mov x0, 0
    mov x8, 93
    svc 0
"""
TARGETS = {
    "riscv64": {"qemu": ["qemu-riscv64"], "gcc": "riscv64-linux-gnu-gcc", "probe": RISCV_PROBE, "env": {}, "settings": []},
    "arm64": {
        "qemu": ["qemu-aarch64", "-cpu", "cortex-a53"],
        "gcc": "aarch64-linux-gnu-gcc",
        "probe": ARM64_PROBE,
        "env": {"GLIBC_TUNABLES": "glibc.cpu.name=emag"},
        "settings": [f"--set={unit}.replacement=lru" for unit in ("l1i", "l1d", "l2", "itlb", "dtlb", "l2tlb")],
    },
}


class Skip(Exception):
    pass


def run(command, path):
    done = subprocess.run(command, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=path, timeout=900)
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()[-1:] or [""]
        raise RuntimeError(f"{os.path.basename(command[0])}: status {done.returncode}: {words[0]}")
    return done.stdout


class Sides:
    def __init__(self, options, scratch):
        self.tally, self.scratch = os.path.abspath(options.tally), scratch
        self.plugin = os.path.abspath(os.path.join(options.workloads, "plugin", "libcache.so"))
        self.target = TARGETS[options.target]
        self.qemu_program = shutil.which(self.target["qemu"][0])
        gcc = shutil.which(self.target["gcc"])
        if not os.path.exists(self.plugin):
            raise Skip(f"no {os.path.relpath(self.plugin, ROOT)}; bench/workloads/build.sh bench/out builds it")
        if not self.qemu_program or not gcc:
            raise Skip(f"no {self.target['qemu'][0]} or no {self.target['gcc']}; run tools/install-deps check")
        with open(os.path.join(scratch, "probe.S"), "w", encoding="utf-8") as source:
            source.write(self.target["probe"])
        subprocess.run([gcc, "-nostdlib", "-static", "-o", "probe", "probe.S"], cwd=scratch, check=True)

    # The file is called `guest` on both sides, since its name is on the stack, too. Its last segment is made to end with a page: QEMU begins
    # the heap right behind it, Linux at the next page.
    def place(self, program):
        with open(program, "rb") as file:
            image = bytearray(file.read())
        (table,), (size, count) = struct.unpack_from("<Q", image, 32), struct.unpack_from("<HH", image, 54)
        for header in range(table, table + count * size, size):
            kind, flags = struct.unpack_from("<II", image, header)
            if kind == 1 and flags & 2:  # loaded and writable
                start, memory = struct.unpack_from("<Q", image, header + 16)[0], struct.unpack_from("<Q", image, header + 40)[0]
                struct.pack_into("<Q", image, header + 40, (start + memory + 4095) // 4096 * 4096 - start)
        with open(os.path.join(self.scratch, "guest"), "wb") as file:
            file.write(image)
        os.chmod(os.path.join(self.scratch, "guest"), 0o755)

    def env(self, pad):
        return [*self.target["env"].items(), *([("PAD", "x" * pad)] if pad is not None else [])]

    def qemu(self, arguments, extra=(), pad=None):
        env = [word for name, value in self.env(pad) for word in ("-E", f"{name}={value}")]
        return run([self.qemu_program, *self.target["qemu"][1:], "-0", "./guest"] + env + list(extra) + ["./guest"] + arguments, self.scratch)

    def stat(self, arguments, extra=(), pad=None):
        env = [word for name, value in self.env(pad) for word in ("--env", f"{name}={value}")]
        return run([self.tally, "stat", "-j", "-o", "tally.json", "--argv0", "./guest"] + env + list(extra) + ["--", "./guest"] + arguments,
                   self.scratch)

    def find_pad(self, arguments):
        """The length of our PAD with which our stack begins where QEMU's does with an empty one, in a page."""
        self.place(os.path.join(self.scratch, "probe"))
        offset_of = lambda side, pad: struct.unpack("<Q", side(arguments, pad=pad))[0] % 4096
        wanted = offset_of(self.qemu, 0)
        near = (offset_of(self.stat, 0) - wanted) % 4096  # a stack begins at a multiple of 16, so some length near this one fits
        for pad in range(max(0, near - 16), near + 17):
            if offset_of(self.stat, pad) == wanted:
                return pad
        raise RuntimeError("no length of PAD brings the stacks to the same offset")

    def count_qemu(self, arguments, l2, pad):
        plugin = (
            f"{self.plugin},dcachesize={L1[0]},dassoc={L1[1]},dblksize={L1[2]},icachesize={L1[0]},iassoc={L1[1]},iblksize={L1[2]},"
            f"l2=on,l2cachesize={l2[0]},l2assoc={l2[1]},l2blksize={l2[2]},evict=lru,limit=0"
        )
        self.qemu(arguments, ["-plugin", plugin, "-d", "plugin", "-D", "plugin.log"], pad)
        with open(os.path.join(self.scratch, "plugin.log"), encoding="utf-8") as log:
            numbers = re.search(r"^0 +(\d+) +(\d+) +\S+ +(\d+) +(\d+) +\S+ +(\d+) +(\d+)", log.read(), re.MULTILINE)
        access, l1d, fetched, l1i, _, l2_miss = map(int, numbers.groups())
        return {"instructions": fetched, "accesses": access, "l1d": l1d, "l1i": l1i, "l2": l2_miss}

    def count_tally(self, arguments, l2, pad):
        options = [f"--I1={L1[0]},{L1[1]},{L1[2]}", f"--D1={L1[0]},{L1[1]},{L1[2]}", f"--L2={l2[0]},{l2[1]},{l2[2]}"]
        options += ["--set=l2tlb.entries=8192", "--set=l2tlb.ways=64"]  # every page is walked once
        self.stat(arguments, options + self.target["settings"], pad)
        with open(os.path.join(self.scratch, "tally.json"), encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines if line.strip()]
        c = {record["event"]: record["value"] for record in records if record.get("type") == "event"}
        return {
            "instructions": c["hart.instret"],
            "accesses": c["l1d.load"] - c["l1d.walk"] + c["l1d.store"] - c["ptw.write"],
            "l1d": c["l1d.load_miss"] - c["l1d.walk_miss"] + c["l1d.store_miss"] - c["l1d.upgrade"],
            "l1i": c["l1i.miss"],
            "l2": c["l2.readmiss"],
            "walk misses": c["l1d.walk_miss"],
            "taken": c["l2.back_invalidate"],
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tally", default=os.path.join(ROOT, "build", "tally"))
    parser.add_argument("--workloads", default=os.path.join(ROOT, "bench", "out"), help="what bench/workloads/build.sh has built")
    parser.add_argument("--target", default="riscv64", choices=list(TARGETS))
    parser.add_argument("--geometry", action="append", choices=list(GEOMETRIES), help="only this one (may be repeated)")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/accuracy.md")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    where = {"input": os.path.abspath(os.path.join(options.workloads, "input")), "bench": os.path.join(ROOT, "bench", "workloads")}
    passed = failed = 0
    # The C library allocates the name of the program's folder before anything else. Up to 22 characters take one 32-byte chunk, as
    # the one that tally shows does; a longer one would move the heap by 16 bytes or more.
    with tempfile.TemporaryDirectory(prefix="q-", dir="/tmp") as scratch:
        try:
            sides = Sides(options, scratch)
        except Skip as reason:
            print(f"SKIP: {reason}")
            return 77
        for geometry in options.geometry or GEOMETRIES:
            l2, limits = GEOMETRIES[geometry]
            print(f"\n{geometry}: L1 {L1[0] >> 10} KiB, {L1[1]} ways; L2 {l2[0] >> 10} KiB, {l2[1]} ways\n")
            names = ["program", "instructions", "accesses", "l1d", "l1i", "l2", "walk misses", "taken"]
            if options.markdown:
                print("| " + " | ".join(names) + " |\n" + "| --- " * len(names) + "|")
            for name, program, arguments in PROGRAMS:
                if options.names and name not in options.names:
                    continue
                arguments = shlex.split(arguments.format(**where))
                pad = sides.find_pad(arguments)
                sides.place(os.path.join(options.workloads, options.target, program))
                ours, theirs = sides.count_tally(arguments, l2, pad), sides.count_qemu(arguments, l2, 0)
                cells = [name]
                for key in names[1:6]:
                    difference = ours[key] - theirs[key]
                    percent = 100.0 * difference / theirs[key]
                    cells.append(f"{ours[key]} / {theirs[key]} ({difference:+d}, {percent:+.3f} %)")
                    if key not in limits:
                        continue
                    share, constant = limits[key]
                    share = max(share, RANDOM.get(name, {}).get(key, 0.0))
                    limit = share * theirs[key] / 100 + constant + ours["taken"] + (0 if key == "l1i" else ours["walk misses"])
                    if abs(difference) <= limit:
                        passed += 1
                        continue
                    failed += 1
                    print(f"FAIL {geometry} {name}: {key} is {ours[key]}, QEMU counts {theirs[key]}; the limit is {limit:.0f}")
                cells += [str(ours["walk misses"]), str(ours["taken"])]
                print("| " + " | ".join(cells) + " |" if options.markdown else "  ".join(cells), flush=True)
    print(f"\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
