#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares our disassembly with objdump's, line by line.

  disasm_objdump.py DISASM_LINES libraries        every executable section of the cross C library
  disasm_objdump.py DISASM_LINES all-libraries    the C++ library, too
  disasm_objdump.py DISASM_LINES words            all 16-bit words, random 32-bit words, all CSRs, fences and rounding modes
  disasm_objdump.py DISASM_LINES many-words       more random words

DISASM_LINES is the program built from tests/support/disasm_lines.c. Symbol annotations and comments are stripped on both sides.
Exits 77 (skipped) where there is no cross objdump or library.
"""
import glob
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile

import objdump

OBJDUMP = "riscv64-linux-gnu-objdump"
MARCH = "rv64gc_zba_zbb_zbs"
LIBRARIES = ["ld-linux-riscv64-lp64d.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1"]
MORE_LIBRARIES = ["libstdc++.so.6", "libatomic.so.1", "libgomp.so.1"]
COMMENT = re.compile(r"\s*(<[^>]*>|#.*)$")
JUMP = re.compile(r"^((?:b(?:eq|ne|lt|ge|le|gt)[zu]*|jal|j) .*?)0x([0-9a-f]+)$") # objdump without symbols
# Instructions that objdump prints whatever the architecture string says, and privileged ones of old drafts. The machine has none.
FOREIGN = {"uret", "hret", "dret", "sfence.vm"}
# objdump takes the reserved C.ADDI16SP with immediate 0 for an instruction.
RESERVED = ("add sp,sp,0", ".2byte 0x6101")


def normalize(text):
    text = objdump.without_comments(text, COMMENT)
    return JUMP.sub(r"\1\2", text) if "0x" in text else text


def compare(driver, path, what):
    theirs = objdump.lines_of_objdump(OBJDUMP, path, normalize)
    n_lines = n_known = 0
    wrong = []
    for address, code in objdump.sections(path):
        for at, text in objdump.lines_of_driver(driver, address, code):
            n_lines += 1
            want = theirs.get(at)
            if (want, text) == RESERVED or want is not None and want.split(" ")[0] in FOREIGN and text.startswith("."):
                n_known += 1
            elif text != want:
                wrong.append(f"{what}: {at:x}: objdump says {want!r}, we say {text!r}")
    print(f"{what}: {n_lines} instructions, {len(wrong)} differ, {n_known} foreign")
    return wrong


def rows():
    """Every row of the tables with all operands 0 and with all operands 1."""
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/isa/rv/insn_*.def"))):
        with open(path, encoding="utf-8") as table:
            for match, mask in re.findall(r"^INSN\w*\(\w+,\s*\"[^\"]+\",\s*(0x\w+),\s*(0x\w{8}),", table.read(), re.M):
                yield int(match, 16)
                yield int(match, 16) | ~int(mask, 16) & 0xFFFFFFFF


def words(count):
    for word in range(0x10000):
        if word & 3 != 3:
            yield struct.pack("<H", word)
    full = [csr << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | 0x73
            for csr in range(4096) for rs1 in (0, 11) for funct3 in (1, 2, 3, 5, 6, 7) for rd in (0, 10)]
    full += [imm << 20 | rs1 << 15 | funct3 << 12 | 0x0F for imm in range(4096) for rs1 in (0, 3) for funct3 in (0, 1)]
    full += [op | rs2 << 20 | 2 << 15 | rm << 12 | 1 << 7
             for op in range(0x53, 1 << 32, 1 << 25) for rs2 in range(32) for rm in range(8)]
    full += [0x73 | imm << 20 for imm in range(4096)]
    full += rows()
    generator = random.Random(1)
    full += [generator.getrandbits(32) | 3 for _ in range(count)]
    # Most random words are illegal: put random operands into the major opcodes that have many instructions, too.
    for major in (0x03, 0x07, 0x0F, 0x13, 0x1B, 0x23, 0x27, 0x2F, 0x33, 0x3B, 0x43, 0x4F, 0x53, 0x63, 0x67, 0x6F, 0x73):
        full += [generator.getrandbits(25) << 7 | major for _ in range(count // 16)]
        full += [(generator.getrandbits(25) & 0x0C1FFFFF | generator.choice((0, 0x20, 0x30, 0x05, 0x10, 0x24, 0x34, 0x04)) << 18) << 7 & 0xFFFFFF80 | major
                 for _ in range(count // 16)]
    for word in full:
        if word & 0x1F != 0x1F: # longer encodings
            yield struct.pack("<I", word & 0xFFFFFFFF)


def compare_words(driver, count):
    with tempfile.TemporaryDirectory() as folder:
        def inside(name):
            return os.path.join(folder, name)
        with open(inside("words.bin"), "wb") as file:
            file.write(b"".join(words(count)))
        with open(inside("words.s"), "w", encoding="ascii") as file:
            file.write(f'.text\n.incbin "{inside("words.bin")}"\n')
        subprocess.run(["riscv64-linux-gnu-as", f"-march={MARCH}", "-o", inside("words.o"), inside("words.s")], check=True)
        # Without the mapping symbols that say "this is data".
        subprocess.run(["riscv64-linux-gnu-strip", "-s", inside("words.o")], check=True)
        return compare(driver, inside("words.o"), "words")


def main():
    driver, mode = sys.argv[1:]
    if not shutil.which(OBJDUMP):
        print(f"skipped: no {OBJDUMP}")
        return 77
    wrong = []
    if mode.endswith("words"):
        wrong = compare_words(driver, 600000 if mode == "many-words" else 40000)
    else:
        names = LIBRARIES + (MORE_LIBRARIES if mode == "all-libraries" else [])
        paths = [path for name in names for path in glob.glob(f"/usr/riscv64-linux-gnu/lib/{name}")]
        if not paths:
            print("skipped: no cross C library")
            return 77
        for path in paths:
            wrong += compare(driver, path, os.path.basename(path))
    for line in wrong[:50]:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
