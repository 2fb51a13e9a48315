# SPDX-License-Identifier: MIT
"""Tables of guest programs and one run of a program: what the run.py of tests/bare, tests/guest and tests/sbi share."""
import subprocess
import sys
import tempfile


def read_programs(path, columns):
    """Yields one dict per row of the table; its `tags` are a set, where there is such a column."""
    with open(path, encoding="utf-8") as table:
        for number, line in enumerate(table, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) != len(columns):
                sys.exit(f"{path}:{number}: {len(cells)} columns, expected {len(columns)}")
            row = dict(zip(columns, cells))
            if "tags" in row:
                row["tags"] = set(row["tags"].split(","))
            yield row


def run(command, timeout_s):
    """Returns (status, console and diagnostics); a status is an int or 'timeout'. Consoles have lines as a terminal shows them."""
    with tempfile.TemporaryFile() as console:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=console, stderr=subprocess.STDOUT)
        try:
            status = child.wait(timeout_s)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            status = "timeout"
        console.seek(0)
        return status, console.read().decode("utf-8", "backslashreplace").replace("\r", "")
