#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a program can do to Tally: keep it busy, make it wait, make it grow, look where it lies.

  run.py --tally build/tally [NAME...]

Each test is one function named as a claim; a line per test says how it went. The programs are built with the cross compiler; without
one nothing is tested, and a sentence says so. Standard library only. The exit status is 1 when a test failed.
"""
import argparse
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "support"))
from claims import CROSS, built_guest, contains, equal, new_scratch, read_options, run_tests, test  # noqa: E402

options = None
scratch = None


def stat(*words, cwd=None, stdin=b"", timeout=300):
    """Runs tally stat; returns (status, stdout, stderr)."""
    done = subprocess.run([options.tally, "stat", *words], input=stdin, capture_output=True, cwd=cwd, timeout=timeout)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def deed(*words, flags=(), want=0):
    """The program does this and ends so; returns what tally said. No deed takes a minute, unless it never ends."""
    status, _, stderr = stat("-o", "/dev/null", "--timeout", "60", *flags, "--", options.guest, *words)
    equal(status, want, f"{' '.join(words)}: {stderr.strip()}")
    return stderr


def records(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


# -- time


@test
def timers_beyond_all_time_never_expire():
    deed("huge_timers")
    deed("huge_timers", flags=("--set", "clock=1MHz"))


@test
def waits_beyond_all_time_end_by_a_signal_only():
    deed("huge_waits")


@test
def cpu_timers_expire_when_their_time_has_come():
    for engine in ("step", "interp", "translate"):
        deed("exact_timers", flags=("--engine", engine))
        deed("shared_timers", flags=("--engine", engine, "--harts", "4"))
    deed("shared_timers", flags=("--harts", "4", "--set", "os.slice=2000"))


@test
def a_cpu_timer_does_not_hide_that_everybody_sleeps():
    for kind in ("prof", "virtual", "thread", "process"):
        contains(deed("asleep", kind, want=125), "deadlock")


@test
def the_clock_does_not_wrap():
    contains(deed("long_sleeps", want=125), "deadlock", "waits for time to pass")


# -- stopping


def stopped(how, how_to_stop, engine):
    """Starts a program that would go on for ever, stops it; the report must be whole and say why it ended."""
    path = os.path.join(scratch, "stopped.json")
    if os.path.exists(path):
        os.unlink(path)
    out, program_out = os.pipe()
    program_in, into = os.pipe()
    words = [options.tally, "stat", "-j", "-o", path, "--engine", engine, "--harts", "2", "--set", "ram=256MiB"]
    words += ["--timeout", "1s"] if how_to_stop is None else []
    tally = subprocess.Popen([*words, "--", options.guest, "busy", how], stdin=program_in, stdout=program_out, stderr=subprocess.PIPE)
    os.close(program_out)
    os.close(program_in)
    try:
        if how_to_stop is not None:
            equal(os.read(out, 6), b"ready\n", how)
            time.sleep(0.1)
            tally.send_signal(how_to_stop)
        _, stderr = tally.communicate(timeout=120)
    finally:
        tally.kill()
        os.close(out)
        os.close(into)
    want = 124 if how_to_stop is None else 128 + how_to_stop
    equal(tally.returncode, want, f"{how}, {engine}: {stderr.decode()}")
    rows = {r["event"]: r["value"] for r in records(path) if r["type"] == "event" and r["scope"] == "machine"}
    if how_to_stop is not None and int(rows["instructions"]) <= 0:
        raise AssertionError(f"{how}: no instructions")
    end = [r for r in records(path) if r["type"] == "end"]
    equal(len(end), 1, "records of the end")


BUSY = ("calls", "faults", "traps", "zeros", "random", "populate", "ticks", "sleeps", "forks", "input", "output", "sum")


@test
def whatever_a_program_does_it_can_be_timed_out():
    for how in BUSY:
        stopped(how, None, "translate")


@test
def whatever_a_program_does_a_signal_stops_it():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
        for i, how in enumerate(BUSY):
            stopped(how, number, ("step", "interp", "translate")[i % 3])


@test
def a_signal_that_comes_twice_at_once_loses_no_counts():
    path = os.path.join(scratch, "twice.json")
    with subprocess.Popen([options.tally, "stat", "-j", "-o", path, "--", options.guest, "busy", "sum"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tally:
        equal(tally.stdout.readline(), b"ready\n")
        while tally.poll() is None:
            tally.send_signal(signal.SIGINT)
            time.sleep(0.0002)
        equal(tally.wait(timeout=120), 130)
    equal(sum(r["type"] == "end" for r in records(path)), 1, "records of the end")


# -- many of something


@test
def many_areas_and_locks_take_no_time_to_speak_of():
    deed("many_areas")
    deed("many_locks")


# -- named pipes of the host


def fifo():
    path = os.path.join(scratch, "fifo")
    if not os.path.exists(path):
        os.mkfifo(path)
    return path


@test
def a_named_pipe_opens_at_once_if_asked():
    deed("fifo", "nonblock", fifo())


@test
def a_signal_ends_the_wait_for_a_named_pipe():
    deed("fifo", "signal", fifo())


def wait_until_asleep(pid):
    """The process waits for something: a busy host may not have let it come so far."""
    n_asleep, until = 0, time.monotonic() + 60
    while n_asleep < 5 and time.monotonic() < until:
        time.sleep(0.02)
        with open(f"/proc/{pid}/stat", encoding="utf-8") as text:
            n_asleep = n_asleep + 1 if text.read().rsplit(")", 1)[1].split()[0] == "S" else 0


def through_a_pipe(how, delay_s):
    """The program reads the pipe; a writer comes later. Returns its output and the counts."""
    path, report = fifo(), os.path.join(scratch, "pipe.json")
    with subprocess.Popen([options.tally, "stat", "-j", "-o", report, "--timeout", "60", "--", options.guest, "fifo", how, path],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as tally:
        equal(tally.stdout.readline(), b"ready\n")
        time.sleep(delay_s)
        wait_until_asleep(tally.pid)
        with open(path, "wb", buffering=0) as writer:
            equal(tally.stdout.readline(), b"open\n", "before anything was written")
            time.sleep(delay_s)
            wait_until_asleep(tally.pid)
            writer.write(b"from outside\n")
        out = tally.stdout.read()
        equal(tally.wait(), 0, how)
    return out, {r["event"]: r["value"] for r in records(report) if r["type"] == "event" and r["scope"] == "machine"}


@test
def a_named_pipe_is_waited_for_while_simulated_time_stands_still():
    out, counts = through_a_pipe("read", 0)
    equal(out, b"from outside\n")
    out, later = through_a_pipe("read", 1.2)
    equal(out, b"from outside\n")
    equal(counts["cycles"], later["cycles"], "cycles")
    out, _ = through_a_pipe("threads", 0.1)
    equal(out, b"from outside\n")


@test
def a_program_waits_for_who_reads_its_named_pipe():
    with subprocess.Popen([options.tally, "stat", "-o", "/dev/null", "--timeout", "60", "--", options.guest, "fifo", "write", fifo()],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as tally:
        equal(tally.stdout.readline(), b"ready\n")
        time.sleep(0.1)
        with open(fifo(), "rb", buffering=0) as reader:
            select.select([reader], [], [], 60)
            equal(reader.read(100), b"from the program\n")
        equal(tally.wait(), 0)


@test
def a_wait_for_a_named_pipe_can_be_stopped():
    for how in ("read", "write", "threads"):
        status, out, _ = stat("-o", "/dev/null", "--timeout", "300ms", "--", options.guest, "fifo", how, fifo(), timeout=60)
        equal((status, out), (124, "ready\n"), how)


# -- growing


# The address sanitizer keeps what was freed, 256 MiB of it as a rule. With 1 MiB of it, and its shadow, the bound of the test holds as it stands.
FEW_FREED = "quarantine_size_mb=1:thread_local_quarantine_size_kb=16:malloc_context_size=0"


def grown(what, ram_mib=64):
    """How much memory of the host tally needed at most, in MiB, for a program that makes as many of something as it is let."""
    env = dict(os.environ, ASAN_OPTIONS=":".join(part for part in (os.environ.get("ASAN_OPTIONS"), FEW_FREED) if part))
    words = [options.tally, "stat", "-o", "/dev/null", "--timeout", "600", "--set", f"ram={ram_mib}MiB", "--", options.guest, "grow", what]
    def few_descriptors():  # of the host
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=os.path.dirname(options.guest), env=env,
                          preexec_fn=few_descriptors if what == "descriptors" else None) as tally:
        _, stderr = tally.communicate()
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        equal(tally.returncode, 0, f"{what}: {stderr.decode()}")
    return usage.ru_maxrss / 1024


GROWING = ("cycles", "letters", "locks", "zombies", "areas", "watches", "pipes", "tables", "texts", "signals", "timers", "files", "descriptors")


@test
def no_program_grows_tally_beyond_the_machine_s_ram():
    for what, ram_mib in [*((kind, 64) for kind in GROWING), ("names", 16)]:
        # The largest of all children is what the host tells, so each has a parent of its own.
        done = subprocess.run([sys.executable, __file__, "--tally", options.tally, "--guest", options.guest, "--grow", what, str(ram_mib)],
                              capture_output=True, check=False)
        equal(done.returncode, 0, f"{what}: {done.stderr.decode()}")
        most = 24 + ram_mib + ram_mib / 4
        if float(done.stdout) > most:
            raise AssertionError(f"{what}: {float(done.stdout):.0f} MiB, at most {most:.0f} expected")


@test
def sockets_that_can_still_be_received_are_kept():
    deed("passed")


# -- where the program lies


def laid_out(folder, name):
    """A program in bin/, its library in lib/ beside, and a folder to start in. Returns the program and that folder."""
    tools = os.path.join(scratch, "where")
    if not os.path.exists(tools):
        os.makedirs(tools + "/bin")
        os.makedirs(tools + "/lib")
        with open(tools + "/lies.c", "w", encoding="utf-8") as source:
            source.write("int in_library(void);\nint in_library(void) { return 42; }\n")
        subprocess.run([CROSS, "-O2", "-shared", "-fPIC", "-o", tools + "/lib/liblies.so", tools + "/lies.c"], check=True)
        subprocess.run([CROSS, "-O2", "-pthread", "-o", tools + "/bin/where", os.path.join(HERE, "where.c"), "-L" + tools + "/lib", "-llies",
                        "-Wl,-rpath,$ORIGIN/../lib"], check=True)
    top = os.path.join(scratch, folder)
    shutil.copytree(tools, top, dirs_exist_ok=True)
    start = os.path.join(top, name)
    os.makedirs(start + "/folder", exist_ok=True)
    with open(start + "/data", "w", encoding="utf-8") as data:
        data.write("data\n")
    for link, target in (("link", "../data"), ("absolute", "/etc/hosts")):
        if not os.path.lexists(f"{start}/folder/{link}"):
            os.symlink(target, f"{start}/folder/{link}")
    return os.path.join(top, "bin", "where"), start


PLACES = (("a", "x"), ("a folder of quite another name, as long as it may be" + "e" * 100, "start"), ("b/c/d/e/f/g/h/i/j/k", "y"))


@test
def counts_do_not_depend_on_the_folder():
    reports, texts = set(), set()
    for folder, name in PLACES:
        where, start = laid_out(folder, name)
        for how, cwd in ((where, start), (os.path.relpath(where, start), start), ("./where", os.path.dirname(where))):
            path = os.path.join(scratch, "where.json")
            status, _, stderr = stat("-j", "-o", path, "--", how, "stack", cwd=cwd)
            equal((status, stderr), (0, ""), how)
            with open(path, encoding="utf-8") as lines:
                reports.add(lines.read())
            if cwd == start:
                status, out, stderr = stat("-o", "/dev/null", "--", how, "look", cwd=cwd)
                equal((status, stderr), (0, ""), how)
                texts.add(out)
                if scratch in out:
                    raise AssertionError(f"the folder shows: {out}")
    equal(len(reports), 1, "different reports")
    equal(len(texts), 1, "different texts: " + "\n----\n".join(sorted(texts)))
    text = texts.pop()
    contains(text, "/proc/self/exe /tally/2/1/p/where\n", "realpath /proc/self/exe /tally/2/1/p/where\n", "name ./where\n",
             "getcwd /tally/8/7/6/5/4/3/2/1/cwd\n", "/tally/2/1/lib/liblies.so\n", "realpath ../.. /tally/8/7/6/5/4/3/2\n")


@test
def what_programs_make_of_their_paths_is_right():
    for folder, name in PLACES:
        where, start = laid_out(folder, name)
        status, _, stderr = stat("-o", "/dev/null", "--", where, "use", cwd=start)
        equal((status, stderr), (0, ""), folder)


@test
def the_host_s_paths_are_shown_if_asked():
    where, start = laid_out(*PLACES[0])
    status, out, stderr = stat("-o", "/dev/null", "--host-paths", "--", where, "look", cwd=start)
    equal((status, stderr), (0, ""))
    contains(out, f"/proc/self/exe {where}\n", f"getcwd {start}\n", f"realpath .. {os.path.dirname(start)}\n")
    equal("/tally/" in out, False, "fixed names")


@test
def scripts_are_found_wherever_they_lie():
    where, start = laid_out(*PLACES[0])
    script = os.path.join(start, "script")
    with open(script, "w", encoding="utf-8") as text:
        text.write("#!../bin/where use\n")
    os.chmod(script, 0o755)
    for name, flags in ((script, ()), ("./script", ()), (script, ("--host-paths",))):
        status, _, stderr = stat("-o", "/dev/null", *flags, "--", name, cwd=start)
        equal((status, stderr), (0, "") if not flags else (status, stderr), name)
    with open(script, "w", encoding="utf-8") as text:
        text.write(f"#!{options.guest} copy\nthe script itself\n")
    for name, flags, seen in ((script, (), "/tally/2/1/p/script"), ("./script", (), "./script"), (script, ("--host-paths",), script)):
        status, out, stderr = stat("-o", "/dev/null", *flags, "--", name, cwd=start)
        equal((status, out), (0, f"{seen}\n#!{options.guest} copy\nthe script itself\n"), stderr)


def main():
    global options, scratch
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--guest", help=argparse.SUPPRESS)
    parser.add_argument("--grow", nargs=2, help=argparse.SUPPRESS)
    options = read_options(parser)
    if options.grow:
        scratch = tempfile.gettempdir()
        print(grown(options.grow[0], int(options.grow[1])))
        return 0
    with new_scratch("hostile-") as scratch:
        options.guest = built_guest(scratch, os.path.join(HERE, "guest.c"))
        if not options.guest:
            print(f"no {CROSS} to build the RISC-V programs with")
            return 77
        return run_tests(options.names)


if __name__ == "__main__":
    sys.exit(main())
