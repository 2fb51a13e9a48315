#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares demangled names with those of binutils' c++filt, for every symbol of the files given: libraries of C++ and Rust, programs.

    demangle.py --lines LINES FILE...     LINES reads symbols and writes names, a line each; a second form with the word `name`

Blanks are not compared, since c++filt writes "> >" in most places and ">>" in some. At most one name in a thousand may differ: c++filt shows
an empty pack in a list of arguments, for example, and has no limit of length. Without c++filt or files there is nothing to compare (77).
"""
import argparse
import os
import shutil
import subprocess
import sys


def names_of(path):
    symbols = set()
    for words in (["nm", path], ["nm", "-D", path]):
        out = subprocess.run(words, capture_output=True, check=False).stdout.decode("utf-8", "replace")
        symbols |= {line.split()[-1].split("@")[0] for line in out.splitlines() if line.split()}
    return sorted(s for s in symbols if s.startswith(("_Z", "_R")))


def lines_of(words, symbols):
    out = subprocess.run(words, input="\n".join(symbols) + "\n", capture_output=True, check=True, encoding="utf-8", errors="replace").stdout
    return out.split("\n")[:len(symbols)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--lines", required=True)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    files = [path for path in options.files if os.path.exists(path)]
    if not shutil.which("c++filt") or not shutil.which("nm") or not files:
        print("demangle: no c++filt, no nm, or none of the files")
        return 77
    failed = False
    for path in files:
        symbols = names_of(path)
        for filt, form in ((["c++filt", "-i"], []), (["c++filt", "-i", "-p"], ["name"])):
            wanted, got = lines_of(filt, symbols), lines_of([options.lines, *form], symbols)
            other = [row for row in zip(symbols, wanted, got) if row[1].replace(" ", "") != row[2].replace(" ", "")]
            print(f"{path}: {len(symbols)} symbols, {len(other)} differ ({' '.join(filt)})")
            for row in other[:5]:
                print("  " + "\n    ".join(text[:300] for text in row))
            failed |= not symbols or len(other) * 1000 > len(symbols)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
