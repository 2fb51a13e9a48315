# SPDX-License-Identifier: MIT
"""Sections of docs/bench.md that scripts other than bench/run.py write, each between two marks."""
import os

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "bench.md")


def record(script, text):
    begin, end = f"<!-- begin of what {script} writes -->", f"<!-- end of what {script} writes -->"
    with open(PATH, encoding="utf-8") as lines:
        old = lines.read()
    block = f"{begin}\n{text}\n{end}\n"
    if begin in old:
        new = old[:old.index(begin)] + block + old[old.index(end) + len(end) + 1:]
    else:
        new = old.rstrip("\n") + "\n\n" + block
    with open(PATH, "w", encoding="utf-8") as out:
        out.write(new)


def kept(text):
    """All such sections of a page, one after the other."""
    begin, end = text.find("<!-- begin of what "), text.rfind(" writes -->")
    return text[begin:end + len(" writes -->")] if 0 <= begin < end else ""
