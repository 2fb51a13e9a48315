#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the guest programs under a simulator and says which ones misbehave.

  run.py --tool 'build/tally stat -o /dev/null --' --guests OUT [--tag quick] [NAME...]

Every program runs in a fresh empty directory with its arguments and input from guest/programs.txt. Its exit status is
compared with the row's expectation and, where the row says oracle=qemu, status and standard output are compared with a
run of the same binary under qemu-riscv64; oracle=host does the same with the program built for this machine. With
--every, status and standard output of each row must equal those under the oracle: another machine of the same simulator.
Rows tagged counts or in-order are excepted as guest/programs.txt says.
A death by signal N and the exit status 128 + N count as the same thing, since a tool reports the first as the second.
One line per failure, then a count; the exit status is 1 when anything failed, and 77 (skipped, to meson) when nothing
could be run. Standard library only.
"""
import argparse
import difflib
import hashlib
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from programs import read_programs  # noqa: E402

GUEST_DEPTH = 10  # folders above a program, and its own
ORACLE = "qemu-riscv64 -cpu rv64,zba=true,zbb=true,zbs=true -L /usr/riscv64-linux-gnu"
TIMEOUTS_S = {"quick": 60, "slow": 600}
COLUMNS = ("name", "sources", "kind", "flags", "args", "stdin", "expect", "tags")


def expected_status(word):
    if word.startswith("SIG"):
        return 128 + getattr(signal, word)
    return None if word == "any" else int(word)


def describe_files(folder):
    """One line for each file below: name and hash, in order."""
    lines = []
    for parent, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            with open(path, "rb") as file:
                lines.append(f"{os.path.relpath(path, folder)} {hashlib.sha256(file.read()).hexdigest()}\n")
    return "".join(sorted(lines)).encode()


def become_plain():
    """Signals as a login shell leaves them: whoever started the tests may ignore or block some (nohup does), and programs inherit that."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):  # the C library's own
            pass
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def run(prefix, program, row, guests, timeout_s, keep_stderr):
    """Returns (status, stdout, stderr); a status is an int or 'timeout'."""
    args = [] if row["args"] == "-" else shlex.split(row["args"].format(guest=os.path.join(ROOT, "guest"), out=guests))
    stdin = os.devnull if row["stdin"] == "-" else os.path.join(ROOT, "guest", row["stdin"])
    scratch = tempfile.mkdtemp(prefix="guest-")
    # As deep as /tally/8/7/6/5/4/3/2/1/cwd, the folder's name on the simulator: esbuild writes paths relative to it.
    depth = len([part for part in os.path.realpath(scratch).split(os.sep) if part])
    folder = os.path.join(scratch, *map(str, range(GUEST_DEPTH - depth, 0, -1)))
    os.makedirs(folder, exist_ok=True)
    env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "LC_ALL": "C"}
    for name in ("HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS"):
        if name in os.environ:
            env[name] = os.environ[name]
    try:
        with open(stdin, "rb") as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            child = subprocess.Popen(prefix + [program] + args, stdin=source, stdout=out, stderr=err, cwd=folder, env=env,
                                     start_new_session=True, preexec_fn=become_plain)
            try:
                status = child.wait(timeout_s)
            except subprocess.TimeoutExpired:
                status = "timeout"
            try:  # whatever the program left behind in its own session
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()
            out.seek(0)
            err.seek(0)
            stdout, stderr = out.read(), err.read() if keep_stderr else b""
            if "files" in row["tags"]:
                stdout += describe_files(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if isinstance(status, int) and status < 0:
        status = 128 - status
    return status, stdout, stderr


def first_difference(got, want):
    got_lines, want_lines = (text.decode("utf-8", "backslashreplace").splitlines() for text in (got, want))
    for number, (a, b) in enumerate(zip(got_lines, want_lines), 1):
        if a != b:
            return f"line {number}: got {a[:100]!r}, want {b[:100]!r}"
    return f"got {len(got_lines)} lines, want {len(want_lines)}"


def without_numbers(said):
    """Sums of counts are hexadecimal."""
    return re.sub(rb"-?(\b[0-9a-f]*[0-9][0-9a-f]*\b|[0-9]+)", b"#", said)


def judge(row, tool, oracle, guests, options):
    """Returns None or one sentence saying what is wrong."""
    timeout_s = options.timeout or TIMEOUTS_S["slow" if "slow" in row["tags"] else "quick"]
    program = os.path.join(guests, row["program"])
    status, stdout, stderr = run(tool, program, row, guests, timeout_s, True)
    last_words = (stderr.decode("utf-8", "backslashreplace").strip().splitlines() or [""])[-1]
    if options.verbose:
        sys.stdout.write(stdout.decode("utf-8", "backslashreplace") + stderr.decode("utf-8", "backslashreplace"))
    want = expected_status(row["expect"])
    if status == "timeout":
        return f"no end after {timeout_s} s; stdout so far {len(stdout)} bytes; {last_words}"
    if want is not None and status != want:
        return f"status {status}, expected {want} ({row['expect']}); {last_words}"
    if options.every:
        pass
    elif "oracle=host" in row["tags"]:
        oracle, program = [], os.path.join(guests, "host", row["program"])
        if not os.path.exists(program):
            return None
    elif "oracle=qemu" not in row["tags"] or "noqemu" in row["tags"]:
        return None
    for _ in range(3):  # an oracle lives in host time: on a busy machine it may miss its own deadlines
        oracle_status, oracle_stdout, _ = run(oracle, program, row, guests, timeout_s, False)
        if want is None or oracle_status == want:
            break
    if status != oracle_status:
        return f"status {status}, the oracle's is {oracle_status}; {last_words}"
    if options.every and "counts" in row["tags"]:
        stdout, oracle_stdout = without_numbers(stdout), without_numbers(oracle_stdout)
    if stdout != oracle_stdout:
        if options.diff:
            lines = [text.decode("utf-8", "backslashreplace").splitlines() for text in (oracle_stdout, stdout)]
            print("\n".join(difflib.unified_diff(lines[0], lines[1], "oracle", "tool", lineterm="", n=1)))
        return "output differs from the oracle's: " + first_difference(stdout, oracle_stdout)
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tool", default=ORACLE, help="command prefix under test; empty to run the programs natively")
    parser.add_argument("--oracle", default=ORACLE, help="command prefix of the oracle")
    parser.add_argument("--every", action="store_true", help="compare every row with the oracle, whatever its tags say")
    parser.add_argument("--guests", required=True, help="where guest/build.sh put the programs")
    parser.add_argument("--programs", default=os.path.join(ROOT, "guest", "programs.txt"))
    parser.add_argument("--tag", action="append", default=[], help="only rows with this tag (may be repeated)")
    parser.add_argument("--skip-tag", action="append", default=[], help="no rows with this tag (may be repeated)")
    parser.add_argument("--timeout", type=float, help="seconds for each program, instead of 60 (quick) or 600 (slow)")
    parser.add_argument("--list", action="store_true", help="print the names that would run")
    parser.add_argument("--diff", action="store_true", help="show how the output differs from the oracle's")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the output of each program")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()

    tool, oracle = shlex.split(options.tool), shlex.split(options.oracle)
    guests = os.path.abspath(options.guests)
    for command in (tool, oracle):
        if command and os.sep in command[0]:
            command[0] = os.path.abspath(command[0])  # programs run in a scratch directory
    rows = list(read_programs(options.programs, COLUMNS))
    for row in rows:  # the file to run, which several rows may share (sources `=NAME`)
        row["program"] = row["sources"][1:] if row["sources"].startswith("=") else row["name"]
    unknown = set(options.names) - {row["name"] for row in rows}
    if unknown:
        sys.exit(f"run.py: not in {options.programs}: {' '.join(sorted(unknown))}")
    tool_is_qemu = bool(tool) and os.path.basename(tool[0]).startswith("qemu-")
    have_oracle = bool(shutil.which(oracle[0])) if oracle else False
    if options.every and not have_oracle:
        parser.error(f"--every: the oracle {options.oracle!r} is no command that runs; name one with --oracle")

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # some programs are meant to crash
    passed = failed = skipped = 0
    for row in rows:
        if row["kind"] == "so" or (options.names and row["name"] not in options.names):
            continue  # a shared library is built for its users, not run
        if not set(options.tag) <= row["tags"] or set(options.skip_tag) & row["tags"]:
            continue
        if options.list:
            print(row["name"])
            continue
        reason = None
        if tool_is_qemu and "noqemu" in row["tags"]:
            reason = "qemu cannot run it"
        elif options.every and "in-order" in row["tags"]:
            reason = "it checks where events of an in-order core fall"
        elif not tool and "native" not in row["tags"]:
            continue
        elif not os.path.exists(os.path.join(guests, row["program"])):
            reason = "not built"
        if reason:
            skipped += 1
            print(f"SKIP {row['name']}: {reason}")
            continue
        if not tool or not have_oracle or ("noqemu-arm64" in row["tags"] and "aarch64" in oracle[0]):
            row["tags"].discard("oracle=qemu")
        wrong = judge(row, tool, oracle, guests, options)
        if wrong:
            failed += 1
            print(f"FAIL {row['name']}: {wrong}", flush=True)
        else:
            passed += 1
    if options.list:
        return 0
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    if failed:
        return 1
    return 0 if passed else 77


if __name__ == "__main__":
    sys.exit(main())
