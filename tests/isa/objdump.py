# SPDX-License-Identifier: MIT
"""Code of ELF files, what objdump says of it, and what our disassemblers say."""
import os
import struct
import subprocess


def sections(path):
    """(address, bytes) of each executable section of a 64-bit little-endian ELF file."""
    with open(path, "rb") as file:
        image = file.read()
    shoff, = struct.unpack_from("<Q", image, 0x28)
    shentsize, shnum = struct.unpack_from("<HH", image, 0x3A)
    for i in range(shnum):
        kind, flags, address, offset, size = struct.unpack_from("<IQQQQ", image, shoff + i * shentsize + 4)
        if kind == 1 and flags & 4:
            yield address, image[offset:offset + size]


def without_comments(text, comment):
    """`comment` matches one at the end of a line; there may be several. White space becomes one space."""
    previous = None
    while previous != text:
        previous, text = text, comment.sub("", text)
    return " ".join(text.split())


def lines_of_objdump(tool, path, normalize):
    """Address: normalized text."""
    out = subprocess.run([tool, "-d", "-z", path], check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout
    lines = {}
    for line in out.splitlines():
        cells = line.split("\t", 2)  # "   1060:", "0002a517          ", "auipc\ta0,0x2a"
        if len(cells) == 3:
            lines[int(cells[0].strip(" :"), 16)] = normalize(cells[2])
    return lines


def lines_of_driver(driver, address, code):
    """(address, text) of each instruction."""
    out = subprocess.run([driver, f"{address:x}"], input=code, check=True, capture_output=True).stdout.decode()
    for line in out.splitlines():
        at, text = line.split("\t", 1)
        yield int(at, 16), text.replace("\t", " ")
