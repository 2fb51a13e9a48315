#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the commands of the documentation and compares what they print with what the page says they print.

  tests/docs/commands.py [--exact] [--write] BUILD PAGE...    BUILD holds tally and guest/; a PAGE is a Markdown file

--write puts what was printed into the pages, except where a line `...` stands.

A command is an indented line that begins with `$ `, with its continuations. The indented lines below it are its output: standard
output and standard error as a terminal shows them. A line `...` stands for any number of lines. Lines with `on this host` are
left out on both sides, because they tell the host's time. A command without output must end with status 0.

Words are compared, and where numbers stand; with --exact the numbers, too. They belong to the compiler and C library that built the
guest programs, which a security update of the distribution changes.

A comment on the line before a block says what is special about it:

  <!-- status 3 -->                     the exit status is 3
  <!-- needs FILE, else COMMAND -->     without FILE, which no fresh checkout has, COMMAND runs instead and must end with 0
  <!-- checked by TEST -->              tools/check-linux has a test of that name, which runs it

Commands run in a scratch folder that looks like the top of the checkout; `tally` is in PATH, and `demo` and `prog` are guest/demo.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT_S = 300
COMMENT = re.compile(r"<!-- (status (?P<status>\d+)|needs (?P<needs>\S+), else (?P<fallback>.+)|checked by (?P<test>\S+)) -->$")


class Command:
    def __init__(self, place, text):
        self.place, self.text = place, text
        self.status, self.needs, self.fallback, self.test = 0, None, None, None
        self.output = []
        self.first_line = self.n_lines = 0  # of the output, in the page


def read_commands(page):
    result, block, notes = [], None, {}
    with open(page, encoding="utf-8") as text:
        lines = text.read().split("\n")
    is_continued = False
    for number, line in enumerate(lines, 1):
        comment = COMMENT.match(line)
        if comment:
            notes = {k: v for k, v in comment.groupdict().items() if v}
        elif line.startswith("<!-- ") and re.match(r"<!-- (status|needs|checked)\b", line):
            sys.exit(f"{page}:{number}: a comment that tests/docs/commands.py cannot read; it explains the three forms")
        elif line.startswith("    $ "):
            block = Command(f"{os.path.relpath(page, TOP)}:{number}", line[6:])
            block.status = int(notes.get("status", 0))
            block.needs, block.fallback, block.test = notes.get("needs"), notes.get("fallback"), notes.get("test")
            result.append(block)
            block.first_line = number
            is_continued = line.endswith("\\")
        elif is_continued:
            block.text += "\n" + line
            block.first_line = number
            is_continued = line.endswith("\\")
        elif line.startswith("    ") or not line.strip():
            if block:
                block.output.append(line[4:])
                if line.strip():
                    block.n_lines = len(block.output)
        else:
            block, notes = None, {}
    return result


def without_numbers(line):
    return re.sub(r"\s+", " ", re.sub(r"[-+]?\d[\d,.]*", "#", line)).strip()


def comparable(lines, is_exact):
    kept = [line.rstrip() if is_exact or line.strip() == "..." else without_numbers(line) for line in lines if "on this host" not in line]
    while kept and not kept[0]:
        kept.pop(0)
    while kept and not kept[-1]:
        kept.pop()
    return kept


def agrees(wanted, found):
    """Whether `found` has the wanted lines, where `...` stands for any number of them."""
    pattern = "".join("(?:[^\\n]*\\n)*" if line.strip() == "..." else re.escape(line) + "\\n" for line in wanted)
    return re.fullmatch(pattern, "".join(line + "\n" for line in found)) is not None


def run(text, folder, build):
    env = {**os.environ, "PATH": build + os.pathsep + os.environ["PATH"], "LC_ALL": "C.UTF-8"}
    process = subprocess.run(["bash", "-c", text], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S)
    return process.returncode, process.stdout.decode("utf-8", "replace").split("\n")


def make_scratch(folder, build):
    for name in os.listdir(TOP):
        if not name.startswith((".", "build")):
            os.symlink(os.path.join(TOP, name), os.path.join(folder, name))
    os.symlink(build, os.path.join(folder, "build"))
    for name in ("demo", "prog"):
        shutil.copy2(os.path.join(build, "guest", "demo"), os.path.join(folder, name))


def write(page, commands, folder, build):
    with open(page, encoding="utf-8") as text:
        lines = text.read().split("\n")
    printed_by = {}
    for command in commands:
        has_needs = not command.needs or os.path.exists(os.path.join(TOP, os.path.expanduser(command.needs)))
        if not command.test and has_needs:
            status, printed = run(command.text, folder, build)
            if status == command.status and command.n_lines and "..." not in (line.strip() for line in command.output):
                printed_by[command] = [line.rstrip() for line in printed]
    for command, printed in reversed(printed_by.items()):
        while printed and not printed[-1]:
            printed.pop()
        lines[command.first_line : command.first_line + command.n_lines] = ["    " + line if line else "" for line in printed]
    with open(page, "w", encoding="utf-8") as text:
        text.write("\n".join(lines))


def problem_of(command, folder, build, is_exact):
    if command.test:
        listed = subprocess.run([os.path.join(TOP, "tools", "check-linux"), "--list"], capture_output=True, text=True, check=True).stdout
        return None if re.search(rf"^\s*{re.escape(command.test)}\b", listed, re.M) else f"tools/check-linux has no test {command.test}"
    text, is_whole = command.text, True
    if command.needs and not os.path.exists(os.path.join(TOP, os.path.expanduser(command.needs))):
        text, is_whole = command.fallback, False
    try:
        status, found = run(text, folder, build)
    except subprocess.TimeoutExpired:
        return f"`{text}` has not ended after {LIMIT_S} s"
    wanted, found = comparable(command.output, is_exact), comparable(found, is_exact)
    if status != (command.status if is_whole else 0):
        return f"`{text}` ended with status {status}:\n" + "\n".join(found[-20:])
    if is_whole and wanted and not agrees(wanted, found):
        return f"`{text}` prints something else:\n" + "\n".join(difflib.unified_diff(wanted, found, "page", "printed", lineterm=""))
    return None


def main():
    does_write, is_exact = "--write" in sys.argv, "--exact" in sys.argv
    arguments = [a for a in sys.argv[1:] if a not in ("--write", "--exact")]
    if len(arguments) < 2:
        sys.exit("usage: tests/docs/commands.py [--exact] [--write] BUILD PAGE...")
    build, pages = os.path.abspath(arguments[0]), arguments[1:]
    n_failed = n_run = 0
    with tempfile.TemporaryDirectory() as folder:
        make_scratch(folder, build)
        for page in pages:
            if does_write:
                write(page, read_commands(page), folder, build)
            for command in read_commands(page):
                n_run += 1
                problem = problem_of(command, folder, build, is_exact)
                if problem:
                    n_failed += 1
                    print(f"{command.place}: {problem}")
    print(f"{n_run - n_failed} commands hold, {n_failed} do not")
    return 1 if n_failed or not n_run else 0


if __name__ == "__main__":
    sys.exit(main())
