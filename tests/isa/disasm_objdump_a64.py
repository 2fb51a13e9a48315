#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares our disassembly of A64 with objdump's, line by line.

  disasm_objdump_a64.py DISASM_LINES libraries    every executable section of the cross C and C++ libraries
  disasm_objdump_a64.py DISASM_LINES words        random words, and every row of the tables with random operands
  disasm_objdump_a64.py DISASM_LINES many-words   more of them

DISASM_LINES is the program built from tests/support/disasm_lines_a64.c. Symbol annotations and comments are stripped on both sides.
objdump knows all later architectures; a word is an instruction of Armv8.0-A if the assembler accepts objdump's text for
-march=armv8-a+crc+aes+sha2, SHA-512 aside. Of words that we decode, the assembler must make the same word from our text. System registers are compared
by the number where our table has no name. Left out: MSR and MRS with op0 = 0, which objdump prints as registers and which are unallocated;
LDAR with zeros in the fields of absent registers, which machines ignore; LDPSW that loads its base or one register twice, which is
unpredictable and which objdump refuses of LDPSW only. Exits 77 (skipped) where there is no cross objdump or library.
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

OBJDUMP = "aarch64-linux-gnu-objdump"
MARCH = "armv8-a+crc+aes+sha2"
LIBRARIES = ["ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libatomic.so.1"]
ROWS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/isa/a64/insn_*.def")
COMMENT = re.compile(r"\s*(<[^>]*>|//.*|;.*)$")
TARGET = re.compile(r"^((?:b|bl|b\.\w+|cbn?z|tbn?z|adrp?|ldr|ldrsw|prfm)\s.*?)0x([0-9a-f]+)$")  # objdump without symbols
SYSTEM = re.compile(r"^(mrs|msr) ")


def normalize(text):
    text = objdump.without_comments(text, COMMENT)
    found = TARGET.match(text)
    return found[1] + found[2] if found and "#" + "0x" + found[2] not in text else text


def compare_libraries(driver):
    wrong = []
    paths = [path for name in LIBRARIES for path in glob.glob(f"/usr/aarch64-linux-gnu/lib/{name}")]
    for path in paths:
        theirs = objdump.lines_of_objdump(OBJDUMP, path, normalize)
        n_lines = 0
        questions = []
        for address, code in objdump.sections(path):
            for at, text in objdump.lines_of_driver(driver, address, code):
                n_lines += 1
                if text != theirs.get(at) and not text.startswith("sys"):
                    questions.append((at, theirs.get(at, ""), text))
        with tempfile.TemporaryDirectory() as folder:
            made = assembled(folder, [for_assembler(want, at) for at, want, _ in questions]) if questions else []
        later = [text.startswith(".inst") and word is None for (_, _, text), word in zip(questions, made)]
        wrong += [f"{os.path.basename(path)}: {at:x}: objdump says {want!r}, we say {text!r}" for (at, want, text), ok in zip(questions, later) if not ok]
        print(f"{os.path.basename(path)}: {n_lines} instructions, {later.count(True)} of later architectures, {later.count(False)} differ")
    return wrong if paths else None


def words(count):
    generator = random.Random(1)
    rows = []
    for path in sorted(glob.glob(ROWS)):
        with open(path, encoding="utf-8") as table:
            rows += [(int(match, 16), int(mask, 16)) for match, mask in re.findall(r'^INSN\(\w+,\s*"[^"]+",\s*(0x\w+),\s*(0x\w{8}),', table.read(), re.M)]
    for match, mask in rows:
        yield match
        yield match | ~mask & 0xFFFFFFFF
        for _ in range(count // 500):
            yield match | generator.getrandbits(32) & ~mask
        for _ in range(count // 1000):  # neighbors: one fixed bit is another
            yield (match | generator.getrandbits(32) & ~mask) ^ 1 << generator.randrange(32)
    for group in range(16):
        for _ in range(count // 16):
            yield generator.getrandbits(32) & 0xE1FFFFFF | group << 25


def assembled(folder, texts):
    """For each text the word that the assembler makes of it at its place, or None where it refuses."""
    source, out = os.path.join(folder, "texts.s"), os.path.join(folder, "texts.o")
    accepted = [True] * len(texts)
    for _ in range(3):
        with open(source, "w", encoding="ascii") as file:
            file.write("\n".join(text if ok else ".inst 0" for text, ok in zip(texts, accepted)) + "\n")
        run = subprocess.run(["aarch64-linux-gnu-as", f"-march={MARCH}", "-o", out, source], capture_output=True, text=True)
        if run.returncode == 0:
            break
        for number in re.findall(r"texts\.s:(\d+): Error", run.stderr):
            accepted[int(number) - 1] = False
    flat = os.path.join(folder, "texts.bin")
    subprocess.run(["aarch64-linux-gnu-objcopy", "-O", "binary", "-j", ".text", out, flat], check=True)
    with open(flat, "rb") as file:
        image = file.read()
    return [struct.unpack_from("<I", image, 4 * i)[0] if ok else None for i, ok in enumerate(accepted)]


# Labels are text of an address; the assembler wants an expression relative to the place.
LABEL = re.compile(r"^((?:b|bl|b\.\w+|cbn?z|tbn?z|adrp?|ldr|ldrsw|prfm) (?:.*, )?)([0-9a-f]+)$")


def for_assembler(text, at):
    found = LABEL.match(text)
    if not found:
        return text.replace("b.nv ", "b.al ") if text.startswith("b.nv") else text
    return f"{found[1]}0x{found[2]}" if text.startswith("adrp") else f"{found[1]}. + ({int(found[2], 16)} - {at})"


def compare_words(driver, count):
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        def inside(name):
            return os.path.join(folder, name)
        all_words = list(words(count))
        with open(inside("words.bin"), "wb") as file:
            file.write(struct.pack(f"<{len(all_words)}I", *all_words))
        with open(inside("words.s"), "w", encoding="ascii") as file:
            file.write(f'.text\n.incbin "{inside("words.bin")}"\n')
        subprocess.run(["aarch64-linux-gnu-as", "-o", inside("words.o"), inside("words.s")], check=True)
        subprocess.run(["aarch64-linux-gnu-strip", "-s", inside("words.o")], check=True)
        theirs = objdump.lines_of_objdump(OBJDUMP, inside("words.o"), normalize)
        mine = dict(text for address, code in objdump.sections(inside("words.o")) for text in objdump.lines_of_driver(driver, address, code))
        n_same = n_undefined = n_later = n_system = n_odd = 0
        questions = []  # words that objdump names and we do not, or otherwise
        for i, word in enumerate(all_words):
            want, text = theirs[4 * i], mine[4 * i]
            if want == text:
                n_undefined += text.startswith((".inst", "udf"))
                n_same += 1
            elif re.search(r"\bs0_", want) and text.startswith(".inst") or text.startswith("ldar") and word & 0x1F7C00 != 0x1F7C00 \
                    or text.startswith("ldpsw") and want.startswith(".inst"):
                n_odd += 1
            elif SYSTEM.match(text) and re.search(r"\bs[0-3]_\d_c\d+_c\d+_\d\b", text) or text.startswith("sys"):
                n_system += 1  # the name belongs to a later architecture
            else:
                questions.append((word, 4 * i, want, text))
        for (word, at, want, text), made in zip(questions, assembled(folder, [for_assembler(want, at) for _, at, want, _ in questions])):
            if text.startswith(".inst") and (made is None or want.startswith("sha512")):
                n_later += 1
            else:
                wrong.append(f"{word:08x}: objdump says {want!r}, the assembler {made if made is None else hex(made)}, we say {text!r}")
        print(f"{len(all_words)} words: {n_same} the same, {n_undefined} of them undefined; {n_later} of later architectures, {n_system} "
              f"system operations by number, {n_odd} left out, {len(wrong)} differ")
    return wrong


def main():
    driver, mode = sys.argv[1:]
    if not shutil.which(OBJDUMP):
        print(f"skipped: no {OBJDUMP}; install binutils-aarch64-linux-gnu")
        return 77
    wrong = compare_libraries(driver) if mode == "libraries" else compare_words(driver, 60000 if mode == "many-words" else 8000)
    if wrong is None:
        print("skipped: no cross C library; install libc6-arm64-cross")
        return 77
    for line in wrong[:100]:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
