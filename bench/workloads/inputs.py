#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the input files of the workloads: text that compresses like text, the same bytes on every machine.

  inputs.py FOLDER
"""
import os
import sys

SYLLABLES = "ta lo mi ren su ka pel or en du wi ba not ge fi ul mar sto che vin".split()
FILES = {"text-small.txt": 400_000, "text.txt": 4_000_000}


def numbers(state):
    """xorshift64: no library's generator, so no library's version decides the bytes."""
    while True:
        state ^= state << 13 & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 7
        state ^= state << 17 & 0xFFFFFFFFFFFFFFFF
        yield state >> 11


def text(n_bytes):
    random = numbers(88172645463325252)
    words = ["".join(SYLLABLES[next(random) % len(SYLLABLES)] for _ in range(1 + next(random) % 4)) for _ in range(3000)]
    out, size, sentence = [], 0, 0
    while size < n_bytes:
        pick = next(random)
        # The product of two draws favors the front of the list, roughly as word frequencies do.
        word = words[(pick % 3000) * (pick // 3000 % 3000) // 3000]
        sentence = (sentence + 1) % (5 + pick // 9_000_000 % 13)
        piece = (word.capitalize() if sentence == 1 else word) + (".\n" if sentence == 0 and pick & 1 << 40 else ". " if sentence == 0 else " ")
        out.append(piece)
        size += len(piece)
    return "".join(out)[:n_bytes]


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: inputs.py FOLDER")
    os.makedirs(sys.argv[1], exist_ok=True)
    for name, n_bytes in FILES.items():
        path = os.path.join(sys.argv[1], name)
        if not os.path.exists(path) or os.path.getsize(path) != n_bytes:
            with open(path, "w", encoding="ascii") as out:
                out.write(text(n_bytes))


if __name__ == "__main__":
    main()
