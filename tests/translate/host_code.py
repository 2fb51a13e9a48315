# SPDX-License-Identifier: MIT
"""Host code as objdump reads it, for the checks of this folder."""
import os
import re
import shutil
import subprocess

RIP = re.compile(r"\[rip[+-]0x[0-9a-f]+\](.*?)\s*# 0x([0-9a-f]+).*$")


def is_there():
    return shutil.which("objdump") is not None


def disassemble(path, address):
    """[(address, length, text)] of a file of code that begins at this address. An operand relative to rip is [rip # 0xADDRESS]."""
    out = subprocess.run(
        ["objdump", "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", "-w", "-z", f"--adjust-vma={address:#x}", path],
        check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    found = []
    for line in out.splitlines():
        cells = line.split("\t", 2)
        if len(cells) < 2 or not cells[0].endswith(":"):
            continue
        text = " ".join(cells[2].split()) if len(cells) == 3 else "(bad)"
        text = text.removeprefix("rex ") # one that only says which byte of a register is meant
        found.append((int(cells[0].strip(" :"), 16), len(cells[1].split()), RIP.sub(r"[rip # 0x\2]\1", text)))
    return found
