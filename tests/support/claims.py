# SPDX-License-Identifier: MIT
"""Tests that are functions named as claims: what those of tests/cli and tests/hostile share. A line per test says how it went."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

CROSS = os.environ.get("CROSS", "riscv64-linux-gnu-") + "gcc"
CAUGHT = (AssertionError, subprocess.TimeoutExpired, OSError, ValueError, KeyError, IndexError)

tests = []


class Skip(Exception):
    """A test that cannot run here, with the reason."""


def test(function):
    tests.append(function)
    return function


def equal(got, want, what=""):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def contains(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"no {part!r} in {text!r}")


def read_options(parser):
    """Options of the command line, with those that all test programs have: --tally, an absolute path, and names of tests."""
    parser.add_argument("--tally", required=True, help="the program under test")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    options.tally = os.path.abspath(options.tally)
    unknown = set(options.names) - {function.__name__ for function in tests}
    if unknown:
        sys.exit(f"run.py: no such test: {' '.join(sorted(unknown))}")
    return options


@contextlib.contextmanager
def new_scratch(prefix):
    """A folder for the run that other users can look into."""
    scratch = tempfile.mkdtemp(prefix=prefix)
    os.chmod(scratch, 0o755)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def built_guest(scratch, source):
    """The RISC-V program of these tests; None: there is no cross compiler."""
    if not shutil.which(CROSS):
        return None
    path = os.path.join(scratch, "guest")
    subprocess.run([CROSS, "-O2", "-static", "-pthread", "-o", path, source], check=True)
    return path


def run_tests(names, why_not=lambda function: None):
    """All tests, or those named. `why_not` gives the reason why a test cannot run, or None. Returns the exit status."""
    n_of = {"ok": 0, "SKIP": 0, "FAIL": 0}
    for function in tests:
        if names and function.__name__ not in names:
            continue
        begin = time.monotonic()
        reason = why_not(function)
        verdict = "SKIP" if reason else "ok"
        try:
            if not reason:
                function()
        except Skip as why:
            verdict, reason = "SKIP", str(why)
        except CAUGHT as why:
            verdict, reason = "FAIL", f"{why}"[:3000]
            if not isinstance(why, AssertionError):
                reason += "\n" + traceback.format_exc(limit=-3)
        n_of[verdict] += 1
        print(f"{verdict:4} {function.__name__.replace('_', ' ')} ({time.monotonic() - begin:.1f} s){': ' if reason else ''}{reason or ''}", flush=True)
    print(f"{n_of['ok']} passed, {n_of['FAIL']} failed" + (f", {n_of['SKIP']} skipped" if n_of["SKIP"] else ""))
    return 1 if n_of["FAIL"] else 0
