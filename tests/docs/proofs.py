#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each test and each file that docs/smpm.md, docs/monitor.md and docs/netburst.md name as a proof exists, that claims 1 to 20 of the first
have a row each, and that numbers A1 to A22 and L1 to L16 of the last have one.

  tests/docs/proofs.py TOP    TOP is the top of the checkout
"""
import os
import re
import sys

FOLDERS = ["", "src/pmu/smpm", "src/pmu/netburst", "tests/netburst", "tests/contract", "tests/cli", "tests/fuzz"]  # as the pages say
N_CLAIMS = 20
NUMBERS = [f"A{n}" for n in range(1, 23)] + [f"L{n}" for n in range(1, 17)]  # of docs/netburst.md


def text_of(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def files_of(top, name):
    """Paths of the file that the page calls `name`."""
    paths = [os.path.join(top, folder, name) for folder in FOLDERS]
    return [path for path in paths if os.path.isfile(path)]


def defines(text, name):
    """C defines a function; a Python runner has a case or a function of that name."""
    return re.search(rf"^\s*(?:static )?(?:void|bool|int) {name}\(|^def (?:test_|check_)?{name}\(", text, re.M) is not None


def faults_of_row(top, where, row):
    faults, text, seen = [], None, False
    for word in re.findall(r"`([^`]+)`", row):
        if re.fullmatch(r"[\w/]+\.(?:c|h|py)", word):
            paths = files_of(top, word)
            if not paths:
                faults.append(f"{where}: no file {word} in {', '.join(FOLDERS[1:])} or the checkout")
            text, seen = "\n".join(text_of(path) for path in paths), True
        elif re.fullmatch(r"(?:test_)?[a-z0-9]+(?:_[a-z0-9]+)+", word) and seen and text and not defines(text, word):
            faults.append(f"{where}: the file before `{word}` defines no test of that name")
    return faults


def claims_of(cell):
    return [int(number) for number in re.findall(r"\d+", cell)]


def faults_of_monitor(top):
    text = text_of(os.path.join(top, "docs", "monitor.md"))
    rows = re.findall(r"^\| *(.+?) *\|(.+)\|$", text[text.index("\n## Proof"):], re.M)
    return [fault for subject, rest in rows for fault in faults_of_row(top, f"row {subject}", rest)]


def numbers_of(cell):
    """A1, A3 to A5: each of them."""
    found = []
    for letter, first, last in re.findall(r"([AL])(\d+)(?: to [AL](\d+))?", cell):
        found += [f"{letter}{n}" for n in range(int(first), int(last or first) + 1)]
    return found


def faults_of_netburst(top):
    text = text_of(os.path.join(top, "docs", "netburst.md"))
    rows = re.findall(r"^\| *(.+?) *\|(.+)\|$", text[text.index("\n## 9. Proofs"):], re.M)
    missing = [number for number in NUMBERS if number not in sum((numbers_of(subject) for subject, _ in rows), [])]
    faults = [f"section 9: no row of {number}" for number in missing]
    return faults + [fault for subject, rest in rows for fault in faults_of_row(top, f"row {subject}", rest)]


def main():
    top = sys.argv[1]
    netburst = faults_of_netburst(top)
    for fault in netburst:
        print(f"docs/netburst.md: {fault}; correct the page or the test", file=sys.stderr)
    monitor = faults_of_monitor(top)
    for fault in monitor:
        print(f"docs/monitor.md: {fault}; correct the page or the test", file=sys.stderr)
    page = os.path.join(top, "docs", "smpm.md")
    text = text_of(page)
    rows = re.findall(r"^\| *(.+?) *\|(.+)\|$", text[text.index("\n## 6 Claims"):], re.M)
    claims = text[text.index("\n## 6 Claims"):text.index("\n## 7 Proofs")]
    found = sorted(n for cell, _ in re.findall(r"^\| *([\d, ]+?) *\|(.+)\|$", claims, re.M) for n in claims_of(cell))
    faults = [] if found == list(range(1, N_CLAIMS + 1)) else [f"section 6: rows of claims {found}; each of 1 to {N_CLAIMS} needs one"]
    for subject, rest in rows:
        faults += faults_of_row(top, f"row {subject}", rest)
    for fault in faults:
        print(f"docs/smpm.md: {fault}; correct the page or the test", file=sys.stderr)
    return 1 if faults or monitor or netburst else 0


if __name__ == "__main__":
    sys.exit(main())
