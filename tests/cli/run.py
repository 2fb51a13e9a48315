#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line from outside: exit statuses, messages, formats, determinism.

  run.py --tally build/tally [--library BUILD] [NAME...]

Each test is one function named as a claim; a line per test says how it went. Tests that run RISC-V programs build one small
program with the cross compiler and are skipped, with a sentence, when there is none. Standard library only. The exit status is 1
when a test failed.
"""
import argparse
import csv
import fcntl
import io
import json
import os
import platform
import pty
import re
import resource
import select
import shlex
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import xml.etree.ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from claims import CROSS, Skip, built_guest, contains, equal, new_scratch, read_options, run_tests, test, tests  # noqa: E402
from schemas import violations  # noqa: E402

CLEAN = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}
for kept in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH"):
    if kept in os.environ:
        CLEAN[kept] = os.environ[kept]

options = None
scratch = None


def guest(function):
    """A test that needs the RISC-V program."""
    function.needs_guest = True
    return test(function)


def run(*words, stdin=b"", env=None, cwd=None, timeout=120, tally=None):
    """Runs tally; returns (status, stdout, stderr) with text outputs."""
    given = {"input": stdin} if stdin else {"stdin": subprocess.DEVNULL}
    done = subprocess.run([tally or options.tally, *words], capture_output=True, env=CLEAN if env is None else env, cwd=cwd, timeout=timeout,
                          **given)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def stat(*words, **more):
    return run("stat", *words, **more)


def program(*deed):
    return ["--", options.guest, *[str(word) for word in deed]]


def report(*words, **more):
    """The records of tally stat -j, and the exit status."""
    path = os.path.join(scratch, "report.json")
    status, _, stderr = stat("-j", "-o", path, *words, **more)
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines], status, stderr


def counts(records, scope="machine", interval=None):
    return {r["event"]: int(r["value"]) for r in records
            if r["type"] == "event" and r["scope"] == scope and r.get("interval") == interval and isinstance(r["value"], (int, str))}


def text_of(*path):
    """A file of the tree."""
    with open(os.path.join(ROOT, *path), encoding="utf-8") as text:
        return text.read()


def fails(words, status, *parts, **more):
    """tally WORDS ends with that status and one sentence that has all parts; nothing on standard output."""
    got, out, err = run(*words, **more)
    contains(err, *parts)
    equal(got, status, " ".join(words))
    equal(out, "", "standard output")
    if not err.startswith("tally: ") or not err.endswith("\n") or "\n" in err[:-1]:
        raise AssertionError(f"not one sentence: {err!r}")


# -- usage errors: status 2, before anything runs


@test
def unknown_words_get_the_nearest_name():
    fails(["stats"], 2, "stats", "tally stat")
    fails(["frobnicate"], 2, "frobnicate")
    fails(["stat", "--evnt", "cycles", "--", "x"], 2, "--evnt", "--event")
    fails(["stat", "--no-such-thing=1", "--", "x"], 2, "--no-such-thing")
    fails(["stat", "-Z", "--", "x"], 2, "-Z")
    fails(["list", "--jsn"], 2, "--jsn", "--json")
    fails(["help", "sta"], 2, "sta", "stat")
    fails(["stat", "-e", "cycels", "--", "x"], 2, "cycels", "cycles")
    fails(["stat", "-e", "l1d.lod_miss", "--", "x"], 2, "l1d.lod_miss", "load_miss")
    fails(["stat", "-M", "icp", "--", "x"], 2, "icp", "ipc")
    fails(["stat", "--machine", "rockte", "--", "x"], 2, "rockte", "rocket")
    fails(["stat", "--set", "l1d.wyas=4", "--", "x"], 2, "l1d.wyas", "l1d.ways")
    fails(["stat", "--set", "foo.bar=4", "--", "x"], 2, "foo.bar", "tally list keys")
    fails(["stat", "--set", "dcache.ways=4", "--", "x"], 2, "dcache.ways", "l1d.ways", "l2.ways?")
    fails(["stat", "--set", "size=4", "--", "x"], 2, "l1i.size, l1d.size, l2.size?")
    fails(["stat", "--machine", written(os.path.join(scratch, "unknown.yaml"), "name: x\nfoo: 1\n"), "--", "x"], 2, ":2: foo", "tally list keys")
    fails(["list", "signals", "l1d.lod*"], 2, "l1d.lod*")
    fails(["list", "machines", "u7"], 2, "u7")
    fails(["list", "zzzzzzzzzz"], 2, "zzzzzzzzzz", "no event, metric, signal, machine, pmu, group or key")
    fails(["list", "l1d.lod_miss"], 2, "l1d.lod_miss", "load_miss")


@test
def what_perf_calls_otherwise_is_answered():
    fails(["stat", "-e", "r4200", "--", "x"], 2, "r4200", "-P rvhpm -e r4200")
    fails(["stat", "-e", "cpu/event=0x42,umask=1/,cycles", "--", "x"], 2, "cpu/event=0x42,umask=1/", "-P rvhpm")
    fails(["stat", "-e", "arm/cycles/", "--", "x"], 2, "arm/cycles/", "cpu/cycles/")
    fails(["stat", "-e", "cpu/cycels/", "--", "x"], 2, "cycels", "cycles")
    for word, remedy in (("--per-thread", "--per-hart"), ("--per-socket", "--per-hart"), ("--pid=3", "tally stat -- PROGRAM"), ("-p", "tally stat"),
                         ("-C", "--per-hart"), ("--delay", "--roi")):
        fails(["stat", word, "--", "x"], 2, word.split("=", maxsplit=1)[0] + ": ", remedy)
    fails(["list", "--per-thread"], 2, "unknown option --per-thread")
    for words in (["stat", "--jobs", "2"], ["boot", "--jobs=2"], ["record", "--jobs"]):
        fails(words, 2, "--jobs: the harts of a run take turns on one processor of the host", "tally sweep -j N")


@guest
def what_perf_calls_otherwise_is_taken():
    names = {r["event"]: r["value"] for r in report("-e", "cpu/cycles/,{cpu/cycles/u,instructions},cpu/l1d.load/,cycles,cycles:u,l1d.load",
                                                    *program("spin", 1000))[0] if r["type"] == "event"}
    equal(list(names), ["cpu/cycles/", "cpu/cycles/u", "instructions", "cpu/l1d.load/", "cycles", "cycles:u", "l1d.load"])
    equal((names["cpu/cycles/"], names["cpu/cycles/u"], names["cpu/l1d.load/"]), (names["cycles"], names["cycles:u"], names["l1d.load"]))
    ours = [r["metric"] for r in report("-M", "topdown", *program("exit"))[0] if r["type"] == "metric"]
    for words in (["-M", "TopdownL1"], ["--topdown"]):
        equal([r["metric"] for r in report(*words, *program("exit"))[0] if r["type"] == "metric"], ours, str(words))
    contains([r["metric"] for r in report("-M", "TopdownL2", *program("exit"))[0] if r["type"] == "metric"], "memory_bound")


@guest
def groups_of_events_are_on_counters_together():
    def shares(events):
        records, status, err = report("-P", "rvhpm:u74", "-e", events, *program("spin", 20000000))
        equal(status, 0, err)
        return {r["event"]: r["running"] / r["enabled"] for r in records if r["type"] == "event"}
    equal(shares("{cycles,instructions}"), {"cycles": 1, "instructions": 1})
    together = shares("{branches,branch-misses},{L1-icache-load-misses,iTLB-load-misses}")
    equal(together["branches"], together["branch-misses"])
    equal(together["L1-icache-load-misses"], together["iTLB-load-misses"])
    if not 0.9 < together["branches"] + together["iTLB-load-misses"] < 1.1:
        raise AssertionError(f"two groups of two on two counters do not take turns: {together}")
    equal(list(shares("cpu/cycles/,cpu/event=0x4200/")), ["cycles", "r4200"])
    for events in ("{cycles", "cycles}", "{a{b}", "{}", "cpu/cycles", "xyz/cycles/"):
        status, _, err = stat("-P", "rvhpm", "-e", events, *program("exit"))
        equal(status, 2, events)
        contains(err, "write ")
    status, _, err = stat("-P", "rvhpm:u74", "-e", "{branches,branch-misses,L1-icache-load-misses}", *program("exit"))
    equal(status, 2)
    contains(err, "group of branches", "braces")


@guest
def a_grant_is_refused_in_the_user_s_words():
    for words, said in ((["--grant", "ccache"], "tally: --grant ccache: this machine has no counters of the second level; set l2.counters=6"),
                        (["--grant", "hpc"], "tally: --grant hpc: this machine has no distributed counters; set hpc=timed"),
                        (["--set", "os.hpc=until_exec"], "tally: os.hpc = until_exec: this machine has no distributed counters; set hpc=timed")):
        equal(stat(*words, *program("exit")), (2, "", said + "\n"))
    fails(["stat", "--grant", "abacus", *program("exit")], 2, "--grant abacus: there is no such device; there are ccache and hpc")
    fails(["stat", "--grant", "ccache,hcp", *program("exit")], 2, "--grant hcp: there is no such device; did you mean hpc?")
    equal(stat("-q", "-n", "--grant", "ccache,hpc", "--set", "l2.counters=6", "--set", "hpc=timed", *program("exit"))[0], 0)
    equal(stat("-q", "-n", "-P", "dhpc", "--grant", "hpc", *program("exit"))[0], 0)


@guest
def an_illegal_instruction_names_its_extension():
    source, binary = os.path.join(scratch, "vector.S"), os.path.join(scratch, "vector")
    for word, extension in ((0x0d0572d7, "vector (V)"), (0x6805c573, "hypervisor (H)"), (0x04c5f553, "half-precision (Zfh)"), (0xffffffff, None)):
        written(source, f".globl _start\n_start: .4byte {word}\n")
        subprocess.run([CROSS, "-nostdlib", "-static", "-o", binary, source], check=True)
        status, _, err = stat("--", binary)
        equal(status, 128 + signal.SIGILL)
        contains(err, f"illegal instruction 0x{word:x}", f"an instruction of the {extension} extension; this machine" if extension else "(_start).\n")


@guest
def a_terminal_sees_how_far_long_work_is():
    def at_terminal(*words, until):
        master, slave = pty.openpty()
        child = subprocess.Popen([options.tally, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave, env=dict(CLEAN, TERM="xterm"))
        os.close(slave)
        text, deadline = "", time.monotonic() + 60
        while until not in text and time.monotonic() < deadline and select.select([master], [], [], 60)[0]:
            try:
                text += os.read(master, 65536).decode()
            except OSError:
                break
        child.kill()
        child.wait(60)
        os.close(master)
        return text
    contains(at_terminal("compare", "--insns", "2G", *program("spin", 10**12), until="the program"), "\r\x1b[K tally: ", " s, the program")
    kernel = os.path.join(os.path.dirname(os.path.abspath(options.tally)), "guest", "kernel_sort")
    if os.path.exists(kernel):
        bench = os.path.join(scratch, "bench", "riscv64")
        os.makedirs(bench)
        shutil.copy(kernel, os.path.join(bench, "sort"))
        contains(at_terminal("suite", "dhpc", "sort", "--bench", os.path.dirname(bench), "--insns", "10G", until="of 1"), " s, sort, program 1 of 1")
    equal(at_terminal("compare", "--no-progress", "--insns", "30M", "--no-sweeps", "--phases", "1", *program("spin", 10**12), until="never"), "")


@test
def bad_values_are_named_with_a_remedy():
    for words in (["-I", "x"], ["-I", "0"], ["-I", "1Mms"], ["-I", "10 ms"], ["-r", "0"], ["-r", "many"], ["--timeout", "-1"],
                  ["--timeout", "0"], ["--timeout", "1x"], ["--max-insns", "0"], ["--max-insns", "1.5"], ["--harts", "two"],
                  ["--seed", "-1"], ["--engine", "fast"], ["--code-cache", "191KiB"], ["--code-cache", "2G"], ["--code-cache", "big"], ["--code-cache", "0"], ["--translate-after", "-1"], ["--translate-after", "5G"], ["--repeat-part", ""], ["--set", "ways"], ["--set", "=4"], ["--env", "=x"],
                  ["--env", "NOT_SET_ANYWHERE"], ["--roi", ""], ["--roi", ":b"], ["--roi", "a:"], ["--roi", "a:b:c"],
                  ["-e", ""], ["-M", ""], ["-x", ""], ["-o", ""], ["--machine", ""]):
        fails(["stat", *words, "--", "x"], 2, words[0].lstrip("-") if len(words[0]) > 2 else words[0])
    fails(["stat", "-e"], 2, "-e", "needs a value")
    fails(["stat", "--event"], 2, "--event", "needs a value")
    fails(["stat", "--per-hart=3", "--", "x"], 2, "--per-hart", "no value")
    fails(["stat", "--append", "--", "x"], 2, "--append", "--output")
    fails(["stat", "-r", "2", "-I", "1M", "--", "x"], 2, "-r", "-I")
    for words in (["--csv", "-j"], ["-j", "--csv"], ["--csv", "-x,"], ["--perf-compat", "--csv"]):
        fails(["stat", *words, "--", "x"], 2, "--csv", "give one")


@test
def impossible_machines_are_refused():
    for words in (["--harts", "0"], ["--harts", "1000"], ["--D1", "33K,8,64"], ["--D1", "x,8,64"], ["--D1", "32K,8,64,1"],
                  ["--L2", "0,8,64"], ["--I1", "32K,3,64"], ["--set", "l1d.ways=0"], ["--set", "l1d.replacement=best"],
                  ["--set", "clock=0"]):
        status, out, err = stat(*words, "--", "x")
        equal((status, out), (2, ""), f"{words}: {err}")
        contains(err, "tally: ")
    path = os.path.join(scratch, "bad.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write("name: bad\nl1d:\n  ways: three\n")
    fails(["stat", "--machine", path, "--", "x"], 2, "bad.yaml:3", "three")
    fails(["stat", "--machine", os.path.join(scratch, "missing.yaml"), "--", "x"], 2, "missing.yaml")


@test
def missing_words_are_asked_for():
    fails(["stat"], 2, "no program")
    fails(["stat", "--"], 2, "no program")
    fails(["stat", "--", ""], 2, "empty")
    fails(["diff"], 2, "two reports")
    fails(["diff", "a"], 2, "two reports")
    fails(["diff", "a", "b", "c"], 2, "two reports")
    fails(["list", "signals", "a", "b"], 2, "b")
    fails(["stat", "--root", "/no/such/folder", "--", "/bin/true"], 2, "--root", "/no/such/folder")
    fails(["stat", "--sysroot", "/no/such/folder", "--", "/bin/true"], 2, "--sysroot", "/no/such/folder")


# -- help


@test
def help_is_complete_and_fits():
    status, overview, err = run()
    equal((status, err), (0, ""))
    equal(run("--help"), (0, overview, ""))
    equal(run("help"), (0, overview, ""))
    for verb in ("stat", "list", "diff", "help", "version"):
        contains(overview, f"tally {verb} ")
        status, text, err = run(verb, "--help")
        equal((status, err), (0, ""))
        equal(run("help", verb), (0, text, ""))
        equal(run(verb, "-h"), (0, text, ""))
        for line in text.splitlines():
            if len(line) > 110 or line != line.rstrip():
                raise AssertionError(f"help of {verb}: {line!r}")
    _, text, _ = run("help", "stat")
    contains(text, "-e, --event LIST", "-I, --interval LENGTH", "--roi START[..STOP]", "--markers", "--roi-required", "123", "--timeout", "124", "125", "126", "127", "128+N")


@test
def version_is_one_line():
    status, out, _ = run("version")
    equal(status, 0)
    if not re.fullmatch(r"tally \d+\.\d+\.\d+\n", out):
        raise AssertionError(out)
    equal(run("--version"), (0, out, ""))


@test
def man_page_formats():
    status, text, _ = run("help", "man")
    equal(status, 0)
    contains(text, ".TH TALLY 1", ".SH EXIT STATUS", "\\-\\-max\\-insns")
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=text.encode(), capture_output=True, timeout=60)
        equal((done.returncode, done.stderr), (0, b""))


@test
def completion_completes():
    status, text, _ = run("help", "completion")
    equal(status, 0)
    if not shutil.which("bash"):
        raise Skip("no bash")
    path = os.path.join(scratch, "completion.bash")
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    def complete(*words):
        script = f'. {path}; COMP_WORDS=({" ".join(words)}); COMP_CWORD={len(words) - 1}; _tally; printf "%s\\n" "${{COMPREPLY[@]}}"'
        env = dict(CLEAN, PATH=os.path.dirname(options.tally) + ":" + CLEAN["PATH"])
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=env, timeout=60)
        equal(done.stderr, "")
        return done.stdout.split()
    equal(complete("tally", "st"), ["stat"])
    equal(complete("tally", "stat", "--max"), ["--max-insns"])
    equal(complete("tally", "stat", "--engine", "s"), ["step"])
    equal(complete("tally", "stat", "--machine", "rock"), ["rocket"])
    equal(complete("tally", "list", "mach"), ["machines"])
    contains(complete("tally", "stat", "-e", "cyc"), "cycles")
    contains(complete("tally", "stat", "-e", "cycles,instr"), "cycles,instructions") # behind a comma
    contains(complete("tally", "stat", "-M", "ip"), "ipc")
    equal(complete("tally", "stat", "--", "--max"), [])
    equal(complete("tally", "compare", "--pmu", "d"), ["dhpc"]) # not those of tally list pmus
    equal(complete("tally", "compare", "--pmu", "u74,cc"), ["u74,ccache"])
    equal(complete("tally", "compare", "-e", "cycle,l2_readm"), ["cycle,l2_readmiss"])
    contains(complete("tally", "stat", "--pmu", "rvh"), "rvhpm:u74")
    equal(complete("tally", "stat", "--set", "l1d.wa"), ["l1d.ways="])
    contains(complete("tally", "boot", "--set", "l2tlb"), "l2tlb.ways=")
    contains(complete("tally", "stat", "-M", "ipc,topd"), "ipc,topdown", "ipc,topdown2")  # groups
    contains(complete("tally", "diff", "-e", "cyc"), "cycles")
    equal(complete("tally", "list", "gro"), ["groups"])
    equal(complete("tally", "stat", "--grant", "cc"), ["ccache"])
    equal(complete("tally", "stat", "--grant", "ccache,"), ["ccache,ccache", "ccache,hpc"])
    contains(complete("tally", "help", "compl"), "completion", "completion-zsh", "completion-fish")
    equal(complete("tally", "compare", "--", "--max"), [])


CHECKED_COMPLETIONS = (("tally stat --max", "--max-insns"), ("tally stat --engine s", "step"), ("tally stat --set l1d.wa", "l1d.ways="),
                       ("tally stat -M topdown", "topdown2"), ("tally stat -e cycles,instr", "instructions"), ("tally list gro", "groups"),
                       ("tally compare --pmu u74,cc", "ccache"), ("tally ver", "version"), ("tally describe mach", "machine"),
                       ("tally stat --grant ccache,h", "hpc"), ("tally suite d", "dhpc"))


@test
def completion_of_fish_completes():
    status, text, _ = run("help", "completion-fish")
    equal(status, 0)
    if not shutil.which("fish"):
        raise Skip("no fish")
    path = written(os.path.join(scratch, "tally.fish"), text)
    env = dict(CLEAN, PATH=os.path.dirname(options.tally) + ":" + CLEAN["PATH"], HOME=scratch)
    for typed, wanted in CHECKED_COMPLETIONS:
        done = subprocess.run(["fish", "-N", "-c", f"source {path}; complete -C '{typed}'"], capture_output=True, text=True, env=env, timeout=60)
        equal(done.stderr, "", typed)
        words = [line.split("\t")[0].split(",")[-1] for line in done.stdout.splitlines()]
        contains(words, wanted)


@test
def completion_of_zsh_completes():
    status, text, _ = run("help", "completion-zsh")
    equal(status, 0)
    if not shutil.which("zsh"):
        raise Skip("no zsh")
    folder = tempfile.mkdtemp(dir=scratch)
    written(os.path.join(folder, "_tally"), text)
    env = dict(CLEAN, PATH=os.path.dirname(options.tally) + ":" + CLEAN["PATH"], HOME=folder, TERM="dumb", LC_ALL="C")
    equal(subprocess.run(["zsh", "-n", os.path.join(folder, "_tally")], capture_output=True, env=env, timeout=60).stderr, b"")
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    child = subprocess.Popen(["zsh", "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, env=env, cwd=folder, start_new_session=True)
    os.close(slave)
    def answer(keys, until):
        os.write(master, keys.encode())
        seen, deadline = "", time.monotonic() + 60
        while until not in seen:
            if time.monotonic() > deadline or not select.select([master], [], [], 60)[0]:
                raise AssertionError(f"{keys!r}: no {until!r} in {seen!r}")
            seen += os.read(master, 65536).decode("utf-8", "replace")
        return seen
    try:
        answer(f"PS1=; unsetopt zle_bracketed_paste; fpath=({folder} $fpath); autoload -Uz compinit; compinit -D -u; setopt no_list_beep; echo re''ady\n", "ready")
        for typed, wanted in CHECKED_COMPLETIONS:
            answer(f"{typed}\t", wanted)
            answer("\x15echo e''nd\n", "end")  # the line is dropped
    finally:
        child.kill()
        child.wait(60)
        os.close(master)


@test
def pages_beside_the_program_are_its_own():
    if not options.library or not os.path.exists(os.path.join(options.library, "tally.1")):
        raise Skip("no compiler for the build host")
    for topic, name in (("man", "tally.1"), ("completion", "tally.bash"), ("completion-zsh", "_tally"), ("completion-fish", "tally.fish")):
        equal(run("help", topic)[1], text_of(os.path.join(options.library, name)), name)


@test
def cross_builds_install_the_pages():
    if not options.library or not shutil.which("meson") or not shutil.which("pkg-config") or not shutil.which("gcc"):
        raise Skip("no meson, pkg-config or gcc")
    build, cross = os.path.join(scratch, "cross"), os.path.join(scratch, "cross.ini")
    written(cross, "[binaries]\nc = 'gcc'\nar = 'ar'\npkgconfig = 'pkg-config'\n[properties]\nneeds_exe_wrapper = true\n"  # nothing made may run
            "[host_machine]\nsystem = 'linux'\ncpu_family = 'x86_64'\ncpu = 'x86_64'\nendian = 'little'\n")
    done = subprocess.run(["meson", "setup", build, ROOT, "--cross-file", cross, "-Dtests=disabled", "--prefix=/usr"], capture_output=True, text=True,
                          env=CLEAN, timeout=300)
    equal(done.returncode, 0, done.stdout[-2000:])
    done = subprocess.run(["meson", "introspect", build, "--installed"], capture_output=True, text=True, env=CLEAN, timeout=60)
    installed = json.loads(done.stdout).values()
    contains(installed, "/usr/share/man/man1/tally.1", "/usr/share/bash-completion/completions/tally.bash", "/usr/share/zsh/site-functions/_tally",
             "/usr/share/fish/vendor_completions.d/tally.fish")
    subprocess.run(["ninja", "-C", build, "tally.1", "_tally"], check=True, capture_output=True, env=CLEAN, timeout=300)
    equal(text_of(os.path.join(build, "tally.1")), run("help", "man")[1])


def schema_of(name):
    with open(os.path.join(ROOT, "docs", "schema", name), encoding="utf-8") as text:
        return json.load(text)


def follows(name, text, at_least=1):
    schema = schema_of(name)
    lines = text.splitlines()
    if len(lines) < at_least:
        raise AssertionError(f"{name}: {len(lines)} lines")
    for line in lines:
        wrong = violations(schema, schema, json.loads(line))
        if wrong:
            raise AssertionError(f"{name}: {wrong}: {line[:300]}")
    return lines


@test
def every_format_follows_its_schema():
    for kind in ("signals", "events", "metrics", "machines", "groups", "keys", "pmus"):
        follows("list-1.json", run("list", kind, "-j")[1], 3)
    follows("list-1.json", run("list", "events", "-P", "rvhpm:u74", "-j")[1], 10)
    for words in (["machine"], ["machine", "lowrisc2"], ["pmu"], ["pmu", "rvhpm:u74"], ["pmu", "dhpc", "--cost"], ["pmu", "dhpc", "--cost", "--units", "4x8"]):
        follows("describe-1.json", run("describe", *words, "--format", "json")[1])
    before = write_report("schema-before.json", sample(cycles=1000, misses=0, huge=str(2**60)))
    after = write_report("schema-after.json", sample(cycles=1010, misses=1, huge=str(2**60 + 1), fresh=3))
    for words in ([], ["--all"], ["--fail-on", "cycles>+0"], ["-e", "cycles"]):
        follows("diff-1.json", run("diff", before, after, "-j", *words)[1], 3)
    for text in ('{"schema":"tally.list/1"}', '{"schema":"tally.list/2","type":"key","name":"x","group":"","unit":"","definition":"","meaning":"x"}'):
        try:
            follows("list-1.json", text)
        except AssertionError:
            continue
        raise AssertionError(f"{text} follows")


@guest
def the_host_s_profile_follows_its_schema():
    path = os.path.join(scratch, "profile-schema.json")
    equal(stat("-n", "-q", "--host-profile", path, *program("spin", 10**6))[0], 0)
    follows("host-1.json", text_of(path))


@test
def commands_in_the_documentation_parse():
    n_commands = 0
    for page in ("README.md", "docs/stat.md", "docs/boot.md", "docs/userlands.md", "docs/machines.md", "docs/dhpc.md", "docs/compare.md", "docs/sweep.md",
                 "guest/linux/README.md"):
        with open(os.path.join(ROOT, page), encoding="utf-8") as text:
            lines = [line.strip() for line in text.read().replace("\\\n", " ").split("\n") if line.startswith("    ")]
        for line in lines:
            is_command = re.match(r"(\$ )?(build/)?tally (stat|boot|list|describe|diff|compare|sweep|suite) ", line) and "OPTION" not in line
            words = shlex.split(line.lstrip("$ "), comments=True) if is_command else []
            if not words:
                continue
            words = words[1:words.index("--")] if "--" in words else words[1:]
            status, _, err = run(*words, "--help")
            equal((status, err), (0, ""), f"{page}: {line}")
            n_commands += 1
    if n_commands < 14:
        raise AssertionError(f"only {n_commands} commands found")


@guest
def the_readme_shows_what_is_printed():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as text:
        shown = text.read().split("tally stat -- build/guest/demo", 1)[1].split("\n\nCounts go", 1)[0]
    _, _, printed = stat(*program("spin", 100000))
    def rows(report):
        return re.findall(r"^ +[\d,]+ +([\w-]+)", report[report.index(" Counts of") :], re.MULTILINE)
    equal(rows(shown), rows(printed))


# -- lists


@test
def lists_have_a_sentence_for_every_name():
    for kind in ("signals", "events", "metrics", "machines", "groups", "keys", "pmus"):
        status, out, err = run("list", kind, "-j")
        equal((status, err), (0, ""), kind)
        rows = [json.loads(line) for line in out.splitlines()]
        names = [row["name"] for row in rows]
        if kind != "metrics":
            equal(len(set(names)), len(names), f"duplicates in {kind}")
        for row in rows:
            equal(set(row), {"schema", "type", "name", "group", "unit", "definition", "meaning"} | ({"events"} if kind == "pmus" else set()))
            equal((row["schema"], row["type"] + "s"), ("tally.list/1", kind))
            if not row["meaning"].endswith(".") and kind != "pmus":
                raise AssertionError(f"{row['name']}: {row['meaning']!r}")
        for form in ([], ["-v"], ["--md"]):
            status, text, err = run("list", kind, *form)
            equal((status, err), (0, ""))
            contains(text, *names)
    signals = [json.loads(line)["name"] for line in run("list", "signals", "-j")[1].splitlines()]
    if len(signals) < 120:
        raise AssertionError(f"{len(signals)} signals")


@test
def lists_take_a_pattern_and_a_machine():
    status, out, _ = run("list", "signals", "l1d.*miss", "-j")
    names = [json.loads(line)["name"] for line in out.splitlines()]
    equal(status, 0)
    contains(names, "l1d.load_miss", "l1d.store_miss")
    if any(not name.startswith("l1d.") or not name.endswith("miss") for name in names):
        raise AssertionError(names)
    status, out, _ = run("list", "cycles")
    equal(status, 0)
    contains(out, "cycles")
    _, one, _ = run("list", "signals", "-j", "--harts", "1")
    _, two, _ = run("list", "signals", "-j", "--harts", "2")
    contains(two, "hart1.")
    if "hart1." in one:
        raise AssertionError("one hart has a second")


def without_openat2():
    """Answers openat2 with EPERM in the process to come, as some containers do."""
    import ctypes  # pylint: disable=import-outside-toplevel
    rules = b"".join(struct.pack("=HBBI", *rule) for rule in ((0x20, 0, 0, 0), (0x15, 0, 1, 437), (0x06, 0, 0, 0x50001), (0x06, 0, 0, 0x7fff0000)))
    buffer = ctypes.create_string_buffer(rules, len(rules))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(rules) // 8, ctypes.addressof(buffer)))
    libc = ctypes.CDLL(None)
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.prctl(22, 2, ctypes.byref(program)) != 0:
        os._exit(99)


@guest
def confinement_needs_no_new_kernel():
    root = tempfile.mkdtemp(dir=scratch)
    shutil.copy(options.guest, os.path.join(root, "guest"))
    for words in (["--root", root, "--", "/guest", "words"], ["--", options.guest, "words"]):
        new = report(*words)[0]
        path = os.path.join(scratch, "old-kernel.json")
        done = subprocess.run([options.tally, "stat", "-j", "-o", path, *words], capture_output=True, env=CLEAN, preexec_fn=without_openat2, timeout=60)
        if done.returncode == 99:
            raise Skip("no filters of system calls")
        equal(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as lines:
            equal([json.loads(line) for line in lines], new)


# -- programs that do not run


@test
def what_cannot_run_has_its_status():
    def file(name, content, mode=0o755):
        path = os.path.join(scratch, name)
        with open(path, "wb") as out:
            out.write(content)
        os.chmod(path, mode)
        return path
    fails(["stat", "--", "no-such-program-anywhere"], 127, "no-such-program-anywhere", "PATH")
    fails(["stat", "--", "/no/such/file"], 127, "/no/such/file")
    fails(["stat", "--", file("text", b"hello\n")], 126, "text")
    fails(["stat", "--", file("empty", b"")], 126, "empty")
    fails(["stat", "--", file("short", b"\x7fELF")], 126, "short")
    fails(["stat", "--", scratch], 126, scratch, "folder")
    fails(["stat", "--", file("plain", b"hello\n", 0o644)], 126, "plain", "chmod +x")
    fails(["stat", "--root", scratch, "--", os.path.join(scratch, "text")], 127, "--root")
    fails(["stat", "--", sys.executable], 126, "RISC-V")
    if os.geteuid() != 0:
        fails(["stat", "--", file("locked", b"hello\n", 0)], 126, "locked")
    with open(file("here", b"x"), "rb"):
        fails(["stat", "--", "here"], 127, "./here", cwd=scratch)


@guest
def damaged_programs_are_refused():
    with open(options.guest, "rb") as source:
        whole = source.read()
    def variant(name, content, mode=0o755):
        path = os.path.join(scratch, name)
        with open(path, "wb") as out:
            out.write(content)
        os.chmod(path, mode)
        return path
    fails(["stat", "--", variant("noexec", whole, 0o644)], 126, "noexec")
    fails(["stat", "--", variant("cut", whole[:100])], 126, "cut")
    fails(["stat", "--", variant("cut2", whole[:len(whole) // 2])], 126, "cut2")
    fails(["stat", "--", variant("rv32", whole[:4] + b"\x01" + whole[5:])], 126, "rv32")
    fails(["stat", "--", variant("big", whole[:5] + b"\x02" + whole[6:])], 126, "big")
    fails(["stat", "--", variant("arm", whole[:18] + b"\x28\x00" + whole[20:])], 126, "arm")
    fails(["stat", "--", variant("object", whole[:16] + b"\x01\x00" + whole[18:])], 126, "object")


# -- exit statuses of programs


@guest
def the_program_s_status_is_ours():
    for status in (0, 1, 2, 3, 7, 42, 64, 77, 99, 100, 123, 124, 125, 126, 127, 128, 129, 130, 137, 143, 200, 254, 255):
        equal(stat("-q", "-n", *program("exit", status))[0], status)


@guest
def death_by_signal_is_128_and_its_number():
    harmless = {signal.SIGCHLD, signal.SIGURG, signal.SIGWINCH, signal.SIGCONT}
    stopping = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
    for number in list(range(1, 32)) + [34, 64]:
        if number in stopping:
            continue
        status, _, err = stat(*program("signal", number))
        equal(status, 99 if number in harmless else 128 + number, f"signal {number}")
        contains(err, "instructions")  # the counts are there
        if number not in harmless:
            contains(err, f"signal {number}")


@guest
def a_crash_says_where():
    status, _, err = stat(*program("crash", "0x10"))
    equal(status, 128 + signal.SIGSEGV)
    contains(err, "SIGSEGV", "0x10", "instructions")
    records, status, err = report(*program("crash", "0x10"))
    equal(status, 139)
    contains(err, "killed by SIGSEGV", "signal 11", "0x10")
    equal((records[-1]["reason"], records[-1]["signal"], records[-1]["status"]), ("killed", 11, None))


@guest
def limits_have_their_statuses():
    status, _, err = stat("--timeout", "500ms", *program("spin", 10**12))
    equal(status, 124)
    contains(err, "--timeout", "instructions")
    records, status, _ = report("--max-insns", "123457", *program("spin", 10**12))
    equal(status, 0)
    equal((records[-1]["reason"], records[-1]["instructions"]), ("max_insns", 123457))
    equal(counts(records)["instructions"], 123457)
    status, _, err = stat(*program("wait"))
    equal(status, 125)
    equal(err.count("eadlock"), 1, err)
    contains(err, "every thread sleeps", "instructions")
    _, status, err = report(*program("wait"))
    equal(status, 125)
    contains(err, "deadlock", "every thread sleeps")


@guest
def a_program_waiting_for_input_can_be_timed_out():
    read_end, write_end = os.pipe()
    try:
        begin = time.monotonic()
        done = subprocess.run([options.tally, "stat", "--timeout", "300ms", *program("copy")], stdin=read_end, capture_output=True, env=CLEAN,
                              timeout=60)
        equal(done.returncode, 124, done.stderr)
        if time.monotonic() - begin > 20:
            raise AssertionError("late")
    finally:
        os.close(read_end)
        os.close(write_end)


@guest
def interrupts_stop_with_the_counts():
    def interrupt(number, *deed, stdin=subprocess.DEVNULL):
        child = subprocess.Popen([options.tally, "stat", *program(*deed)], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=CLEAN)
        equal(child.stdout.read(6), b"ready\n")
        child.send_signal(number)
        _, err = child.communicate(timeout=60)
        equal(child.returncode, 128 + number)
        contains(err.decode(), "Interrupted", "instructions")
    interrupt(signal.SIGINT, "hang")
    interrupt(signal.SIGTERM, "hang")
    interrupt(signal.SIGQUIT, "hang")
    read_end, write_end = os.pipe()  # also while the program waits for input
    os.write(write_end, b"ready\n")
    interrupt(signal.SIGINT, "copy", stdin=read_end)
    os.close(read_end)
    os.close(write_end)


# -- the program's world


@guest
def input_and_output_are_the_program_s_own():
    data = os.urandom(200000)
    done = subprocess.run([options.tally, "stat", *program("copy")], input=data, capture_output=True, env=CLEAN, timeout=120)
    equal(done.returncode, 0)
    equal(done.stdout == data, True, "output")
    contains(done.stderr.decode(), "copied\n", "instructions")


@guest
def nothing_of_the_host_reaches_the_program():
    _, out, _ = stat("-q", *program("words", "--per-hart", "-x"), env=dict(CLEAN, SECRET="x"))
    equal(out.splitlines(), ["0=./guest", "1=words", "2=--per-hart", "3=-x"])
    _, out, _ = stat("-q", "--env", "A=1", "--env", "SECRET", "--env", "B=", "--argv0", "/other/name", *program("words"),
                     env=dict(CLEAN, SECRET="x"))
    equal(out.splitlines(), ["0=/other/name", "1=words", "A=1", "SECRET=x", "B="])


@guest
def options_stop_at_the_program():
    link = os.path.join(scratch, "bin")
    os.makedirs(link, exist_ok=True)
    shutil.copy(options.guest, os.path.join(link, "my-guest"))
    env = dict(CLEAN, PATH=link + ":" + CLEAN["PATH"])
    status, out, _ = stat("-q", "my-guest", "words", "-j", "--help", env=env)
    equal((status, out.splitlines()), (0, ["0=my-guest", "1=words", "2=-j", "3=--help"]))


def seen_at_a_terminal(*words):
    """What tally writes to a terminal, until it ends; and its status."""
    master, slave = pty.openpty()
    child = subprocess.Popen([options.tally, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave, env=dict(CLEAN, TERM="xterm"))
    os.close(slave)
    text = b""
    while True:
        try:
            ready, _, _ = select.select([master], [], [], 60)
            piece = os.read(master, 65536) if ready else b""
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(master)
    return text.decode(), child.wait(60)


@guest
def a_terminal_sees_progress_that_goes_away():
    loop = bare(LOOP)
    for words in (["stat", *program("spin", 10**12)], ["stat", "--bare", loop], ["boot", "--bios", loop]):
        text, status = seen_at_a_terminal(words[0], "--timeout", "3", *words[1:])
        equal(status, 124, text)
        contains(text, "million instructions", "\r\x1b[K")
        lines = text.split("\x1b[K")
        if not any("a second" in line for line in lines[:-1]):
            raise AssertionError(f"{words[0]}: no progress: {text!r}")
        if "a second" in lines[-1]:
            raise AssertionError(f"{words[0]}: the progress line stays: {lines[-1]!r}")
    equal("\x1b" in seen_at_a_terminal("boot", "--timeout", "3", "--no-progress", "--bios", loop)[0], False, "unasked progress")
    _, _, err = stat("--timeout", "3", *program("spin", 10**12))
    if "\x1b" in err or "\r" in err:
        raise AssertionError("progress on something that is no terminal")


@guest
def unsupported_calls_are_named_once():
    records, status, err = report(*program("unsupported"))
    equal(status, 0)
    contains(err, "4000")
    equal(sum("4000" in record.get("text", "") for record in records), 1, "notes")


# -- what is counted


@guest
def every_record_follows_the_schema():
    with open(os.path.join(ROOT, "docs", "schema", "stat-1.json"), encoding="utf-8") as text:
        schema = json.load(text)
    for words in (["--per-hart", "--per-unit", "--machine", "lowrisc2", "-I", "100k", "--host-info"], ["--roi", "roi_work"], []):
        records, status, err = report(*words, *program("spin", 100000))
        equal(status, 0, err)
        for record in records:
            wrong = violations(schema, schema, record)
            if wrong:
                raise AssertionError(f"{wrong}: {record}")
        equal((records[0]["type"], records[-1]["type"]), ("header", "end"))
        equal(records[-1]["identities"], "hold")


@guest
def intervals_sum_to_the_total():
    for words in (["-I", "100k"], ["-I", "70kc"], ["-I", "100us"], ["-I", "100k", "--machine", "lowrisc2"]):
        for deed in (["spin", "200000"], ["threads", "50000"]):
            records, status, err = report(*words, *program(*deed))
            equal(status, 0, err)
            total = counts(records)
            n = records[-1]["intervals"]
            if n < 3:
                raise AssertionError(f"{words}: {n} intervals")
            parts = [counts(records, interval=i + 1) for i in range(n)]
            for event, value in total.items():
                equal(sum(part[event] for part in parts), value, f"{words} {deed} {event}")
            marks = [r for r in records if r["type"] == "interval"]
            equal(len(marks), n)
            for before, after in zip(marks, marks[1:]):
                equal(before["end"], after["begin"])
            if "100k" in words:
                equal([mark["end"]["instructions"] for mark in marks[:-1]], [100000 * (i + 1) for i in range(n - 1)])


@guest
def watching_does_not_change_the_counts():
    for machine in ("rocket", "lowrisc2"):
        for deed in (["spin", "100000"], ["threads", "30000"]):
            plain = counts(report("--machine", machine, *program(*deed))[0])
            for words in (["-I", "50k"], ["-I", "10us"], ["-e", "cycles"], ["--per-unit"]):
                watched = counts(report("--machine", machine, *words, *program(*deed))[0])
                for event, value in watched.items():
                    equal(value, plain[event], f"{machine} {deed} {words} {event}")


@guest
def harts_and_units_sum_to_the_machine():
    records, status, err = report("--machine", "lowrisc2", "--per-hart", "--per-unit", *program("threads", 50000))
    equal(status, 0, err)
    total = counts(records)
    harts = [counts(records, scope=f"hart{i}") for i in range(2)]
    for event in ("cycles", "instructions", "hart.insn_alu"):
        equal(sum(hart[event] for hart in harts), total[event], event)
        if any(hart[event] == 0 for hart in harts):
            raise AssertionError(f"{event}: one hart did nothing")
    slices = [counts(records, scope=f"l2.{i}") for i in range(2)]
    shared = [event for event in slices[0] if event.startswith("l2.")]
    if not shared:
        raise AssertionError("no counts of L2 slices")
    for event in shared:
        equal(sum(part[event] for part in slices), total[event], event)


@guest
def events_are_printed_as_asked():
    records, status, _ = report("-e", "instructions,hart0.l1d.load_miss", "-e", "l1d.*", *program("exit"))
    equal(status, 0)
    names = [r["event"] for r in records if r["type"] == "event"]
    equal(names[:2], ["instructions", "hart0.l1d.load_miss"])
    if len(names) < 10 or any(".l1d." not in name and not name.startswith("l1d.") for name in names[2:]):
        raise AssertionError(names)
    equal([r for r in records if r["type"] == "metric"], [])
    records, status, _ = report("-M", "ipc", *program("exit"))
    equal(status, 0)
    contains([r["metric"] for r in records if r["type"] == "metric"], "ipc")
    equal([r for r in records if r["type"] == "event"], [])


@guest
def a_region_counts_only_itself():
    # roi_work: mv, 3 a round, then what the compiler put around it, the same each time
    records, status, err = report("--roi", "roi_work", "-e", "instructions", *program("roi"))
    equal(status, 0, err)
    equal(records[-1]["roi_visits"], 6)
    whole = counts(records)["instructions"]
    extra, rest = divmod(whole - 3 * (10 + 20 + 30 + 3000), 6)
    equal(rest, 0)
    if not 1 <= extra <= 6:
        raise AssertionError(f"{extra} instructions around the loop")
    records, status, err = report("--roi", "roi_begin:roi_end", "-e", "instructions", *program("roi"))
    equal((status, records[-1]["roi_visits"]), (0, 3), err)
    whole = counts(records)["instructions"]
    between, rest = divmod(whole - 3 * (10 + 20 + 30) - 3 * extra, 3)
    equal(rest, 0)
    if not 1 <= between <= 12:
        raise AssertionError(f"{between} instructions between the borders")
    deep = report("--roi", "roi_recursive", "-e", "instructions", *program("recurse", 5))[0]
    equal(deep[-1]["roi_visits"], 1, "a recursion is one visit")
    if counts(deep)["instructions"] < 6 * 30:
        raise AssertionError("the recursion was left early")
    fails(["stat", "--roi", "roi_wrok", *program("roi")], 2, "roi_wrok", "roi_work")
    records, status, _ = report("--roi", "roi_recursive", *program("roi"))
    equal((status, records[-1]["roi_visits"], counts(records)["instructions"]), (0, 0, 0), "never reached")


def built_cxx(*flags):
    """A C++ program with a library that it needs and one that it loads; with -static it has neither."""
    cxx = CROSS.replace("gcc", "g++")
    if not shutil.which(cxx):
        raise Skip(f"no {cxx}")
    path = os.path.join(scratch, "cxx" + "".join(flags))
    if not os.path.exists(path):
        folder = os.path.join(scratch, "cxxlib")
        os.makedirs(folder, exist_ok=True)
        source = os.path.join(HERE, "regions.cc")
        for name in ("needed", "late"):
            subprocess.run([cxx, "-O1", "-fPIC", "-shared", f"-DTL_{name.upper()}", "-o", f"{folder}/lib{name}.so", source], check=True)
        link = ["-DTL_NEEDED"] if flags else [f"-L{folder}", "-Wl,--no-as-needed", "-lneeded", f"-Wl,-rpath,{folder}"]
        subprocess.run([cxx, "-O1", "-DTL_MAIN", *flags, "-o", path, source, *link], check=True)
    return ["--", path]


def regions(records):
    """For each region: visits and instructions."""
    visits = {r["region"]: r["visits"] for r in records if r["type"] == "region"}
    insns = {r["region"]: r["value"] for r in records if r.get("event") == "instructions" and r["scope"] == "machine" and "interval" not in r}
    return {name: (n, insns[name]) for name, n in visits.items()}


@guest
def names_of_c_plus_plus_are_regions():
    static, dynamic = built_cxx("-static"), built_cxx()
    for words in (static, dynamic):
        for name, visits in (("ns::f(int)", 3), ("ns::f( int )", 3), ("_ZN2ns1fEi", 3), ("ns::f(double)", 1), ("ns::S<int>::go", 2),
                             ("shared_inc", 4), ("shared_inc(int, int)", 4), ("shared_i", 4), ("ns::S<int>::go(int)..shared_inc", 2)):
            records, status, err = report("--roi", name, "-e", "instructions", *words)
            equal((status, records[-1]["roi_visits"]), (0, visits), f"{name}: {err}")
        equal("'ns::f' is not one function: " in stat("--roi", "ns::f", *words)[2], True)
    fails(["stat", "--roi", "ns::f", *static], 2, "ns::f(int)", "ns::f(double)", "write one of them")
    fails(["stat", "--roi", "ns::ff", *static], 2, "no function 'ns::ff' in cxx-static; did you mean ns::f")
    status, out, err = stat("--roi", "shared_ink", *dynamic)
    equal((status, out), (0, "done\n"), err)
    contains(err, "no function 'shared_ink' in cxx and its ", "did you mean shared_inc", "loaded later", "shared_ink was never reached")
    fails(["stat", "--roi", "ns::f(int):main", *static], 2, "two dots", "START..STOP")
    for bad in ("a..", "..b", "a..b..c", "a:b..c:d", "a::b:c"):
        equal(stat("--roi", bad, *static)[0], 2, bad)
    stripped = os.path.join(scratch, "stripped")
    subprocess.run([CROSS.replace("gcc", "strip"), "-o", stripped, options.guest], check=True)
    fails(["stat", "--roi", "main", "--", stripped], 2, "stripped has no symbol table, so no function 'main'", "0x...")
    head = report("--roi", "0x10", "-e", "instructions", "--", stripped, "exit")[0]
    equal((head[0]["roi"], head[-1]["roi_visits"]), ({"start": "0x10", "stop": None}, 0))


@guest
def functions_of_libraries_are_regions():
    words = built_cxx()
    for name, visits in (("needed(int)", 5), ("late_one", 6), ("late::two", 1), ("late_one..late::two", 1), ("dlopen", 1), ("puts", 1)):
        for engine in ("step", "interp", "translate"):
            records, status, err = report("--engine", engine, "--roi", name, "-e", "instructions", *words)
            equal((status, records[-1]["roi_visits"]), (0, visits), f"{name}: {err}")
    # A program that loads nothing later is not even begun for a name that nothing has.
    plain = os.path.join(scratch, "plain")
    subprocess.run([CROSS, "-O1", "-pthread", "-o", plain, os.path.join(HERE, "guest.c")], check=True)
    fails(["stat", "--roi", "roi_wrok", "--", plain, "words"], 2, "no function 'roi_wrok' in plain and its 2 libraries; did you mean roi_work")
    equal(report("--roi", "roi_wor", "--", plain, "roi")[0][-1]["roi_visits"], 6, "a beginning, when all libraries are there")


@guest
def each_region_has_a_report():
    words = ["-e", "instructions", "--roi", "roi_work", "--roi", "roi_begin..roi_end", "--roi", "roi_recursive", *program("roi")]
    records, status, err = report(*words)
    equal((status, err), (0, "tally: roi_recursive was never reached\n"))
    got = regions(records)
    equal({name: visits for name, (visits, _) in got.items()}, {"roi_work": 6, "roi_begin..roi_end": 3, "roi_recursive": 0})
    for name in ("roi_work", "roi_begin..roi_end"):
        alone = report("-e", "instructions", "--roi", name, *program("roi"))[0]
        equal((counts(alone)["instructions"], alone[0]["roi"]["start"]), (got[name][1], name.split("..")[0]))
    with open(os.path.join(HERE, "..", "..", "docs", "schema", "stat-1.json"), encoding="utf-8") as text:
        schema = json.load(text)
    for record in records:
        equal(list(violations(schema, schema, record) or []), [], record)
    contains(stat(*words)[2], " Inside roi_work, 6 visits:\n", " From roi_begin..roi_end, 3 visits:\n", " Inside roi_recursive, 0 visits:\n")
    path = os.path.join(scratch, "regions.csv")
    stat("--csv", "-q", "-o", path, *words)
    with open(path, encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    equal({row["region"]: int(row["value"]) for row in rows}, {name: insns for name, (_, insns) in got.items()})
    contains(stat("-x,", "-q", *words)[2], "# region roi_work\n", "# region roi_begin..roi_end\n")
    parts = report("-I", "500", "-e", "instructions", "--roi", "roi_work", "--roi", "main", *program("roi"))[0]
    for name in ("roi_work", "main"):
        of = [r for r in parts if r.get("region") == name and r["type"] == "event"]
        equal(sum(r["value"] for r in of if "interval" in r), sum(r["value"] for r in of if "interval" not in r), name)
    contains(stat("-r", "2", *words)[2], "2 runs, all counts identical")
    paths = [os.path.join(scratch, name) for name in ("regions-a.json", "regions-b.json")]
    for path in paths:
        stat("-j", "-q", "-o", path, *words)
    equal(run("diff", *paths, "--fail-on", "instructions>+0")[0], 0, "like is compared with like")
    contains(run("diff", *paths, "--all")[1], " instructions in roi_work\n", " instructions in roi_begin..roi_end\n", " 3 of 3 rows equal.")
    stat("-j", "-q", "-o", paths[1], "-e", "instructions", "--roi", "roi_begin..roi_end", *program("roi"))
    status, out, err = run("diff", *paths, "--all", "--fail-on", "instructions>+0")
    equal((status, err), (0, ""))
    contains(out, " Only the first report has the region roi_work.\n", "         =  instructions in roi_begin..roi_end\n")
    follows("diff-1.json", run("diff", *paths, "-j", "--all")[1], 5)
    fails(["stat", "-P", "rvhpm", "--roi", "roi_work", "--roi", "main", *program("roi")], 2, "one region only")
    fails(["stat", *[w for i in range(65) for w in ("--roi", f"f{i}")], *program("roi")], 2, "at most 64")


@guest
def a_region_that_is_required_has_a_status():
    equal(stat("--roi", "roi_recursive", "--roi-required", *program("roi"))[0], 123)
    contains(stat("--roi", "roi_recursive", "--roi-required", "-q", *program("roi"))[2], "tally: roi_recursive was never reached\n")
    equal(stat("--roi", "roi_recursive", "-q", "-o", "/dev/null", *program("roi"))[::2], (0, ""), "a warning only")
    equal(stat("--roi", "roi_work", "--roi-required", *program("roi"))[0], 0)
    equal(stat("--roi", "roi_work", "--roi", "roi_recursive", "--roi-required", *program("roi"))[0], 123)
    equal(stat("--roi", "roi_recursive", "--roi-required", *program("exit", 7))[0], 123, "whatever the program says")
    equal(stat("--roi", "roi_recursive", "--roi-required", *program("signal", 9))[0], 137, "but not how it died")
    equal(stat("--markers", "--roi-required", *program("exit"))[0], 123)
    fails(["stat", "--roi-required", *program("exit")], 2, "--roi-required goes with --roi or --markers")


@guest
def markers_count_between_themselves_on_every_engine():
    path, unmarked = os.path.join(scratch, "markers"), os.path.join(scratch, "unmarked")
    source = os.path.join(HERE, "markers.c")
    include = os.path.join(HERE, "..", "..", "guest", "include")
    subprocess.run([CROSS, "-O2", "-static", f"-I{include}", "-o", path, source], check=True)
    plain = report("-e", "cycles,instructions", "--", path)[0][-1]
    seen = []
    for engine in ("step", "interp", "translate"):
        records, status, err = report("--engine", engine, "--markers", "-e", "instructions,cycles,l1i.*", "--", path)
        equal((status, err), (0, ""))
        seen.append([r for r in records if r["type"] in ("region", "event")])
        equal(seen[0], seen[-1], engine)
        # A call is 3 instructions a round, and 3 around it. Markers are in no region but those that others make.
        equal(regions(records), {"outer": (3, 3 * (33 + 2 + 18)), "region 2": (3, 3 * (1 + 18 + 1 + 12)), 'odd "name"?': (3, 0),
                                 "region 63": (1, 1)}, engine)
        equal((records[-1]["instructions"], records[-1]["cycles"]), (plain["instructions"], plain["cycles"]), "markers change nothing")
    subprocess.run([CROSS, "-O2", "-static", "-DTALLY_NO_ROI", f"-I{include}", "-o", unmarked, source], check=True)
    contains(report("--markers", "--", unmarked)[2], "the program marked no region")
    if shutil.which("qemu-riscv64"):
        equal(subprocess.run(["qemu-riscv64", path], capture_output=True, check=True).stdout, b"done\n", "QEMU")
    # A detailed core takes over behind the first start marker, exactly.
    late = report("-m", "ooo", "--fast-forward", "marker", "-e", "instructions", "--", path)[0]
    forwarded = late[-1]["instructions"] - counts(late)["instructions"]
    for limit, visits in ((forwarded, ["outer"]), (forwarded - 1, [])):
        seen = report("--markers", "--max-insns", str(limit), "-e", "instructions", "--", path)[0]
        equal([r["region"] for r in seen if r["type"] == "region" and r["visits"]], visits, f"the first {limit}")
    both = regions(report("--markers", "--roi", "work", "-e", "instructions", "--", path)[0])
    equal((both["work"][0], both["outer"][0]), (13, 3))


@guest
def a_report_that_cannot_be_written_is_named():
    for words in (["-o", "/no/such/folder/report"], ["-o", scratch], ["-o", "/dev/full"]):
        status, _, err = stat(*words, *program("exit"))
        equal(status, 125)
        contains(err, "tally: --output " + words[1] + ": ")


@guest
def a_missing_library_has_a_remedy():
    path = os.path.join(scratch, "libneeded.so")
    needs = os.path.join(scratch, "needs")
    empty = os.path.join(scratch, "empty.c")
    with open(empty, "w", encoding="utf-8") as out:
        out.write("int main(void) { return 0; }\n")
    done = subprocess.run([CROSS, "-shared", "-fPIC", "-o", path, empty, "-Wl,-soname,libneeded.so"], capture_output=True)
    if done.returncode:
        raise Skip("the cross compiler makes no shared library")
    subprocess.run([CROSS, "-o", needs, empty, "-Wl,--no-as-needed", path], check=True)
    equal(stat("-q", "-n", "--env", "LD_LIBRARY_PATH=" + scratch, "--", needs)[0], 0)
    os.remove(path)
    status, _, err = stat("--", needs)
    equal(status, 127)
    contains(err, "libneeded.so", "--sysroot", "LD_LIBRARY_PATH", "instructions")


def shell_caller(*flags):
    path = os.path.join(scratch, "shell" + "".join(flags))
    if not os.path.exists(path):
        subprocess.run([CROSS, *flags, "-o", path, os.path.join(HERE, "shell.c")], check=True)
    return path


def arm64_program():
    path = os.path.join(scratch, "arm64")
    gcc = shutil.which("aarch64-linux-gnu-gcc")
    if not gcc:
        raise Skip("no aarch64-linux-gnu-gcc; run tools/install-deps check")
    if not os.path.exists(path):
        source = written(os.path.join(scratch, "arm64.c"), '#include <stdio.h>\nint main(int n, char **v) { puts(v[n - 1]); return 7; }\n')
        subprocess.run([gcc, "-static", "-O1", "-o", path, source], check=True)
    return path


@guest
def the_program_chooses_the_machine_and_a_wrong_machine_is_named_with_the_remedy():
    path = arm64_program()
    status, out, err = stat("--", path, "last word")
    equal((status, out), (7, "last word\n"), err)
    contains(err, "on a53 (1 hart)", "(interp)")
    contains(stat(*program("exit"))[2], "on rocket (1 hart)")
    script = written(os.path.join(scratch, "arm64.script"), f"#!{path} one\n")
    os.chmod(script, 0o755)
    status, out, err = stat("--", script)
    equal((status, os.path.basename(out)), (7, "arm64.script\n"), err)
    contains(err, "on a53 (1 hart)")
    fails(["stat", "--machine", "rocket", "--", path], 126, "AArch64 program, but machine rocket executes RISC-V programs", "--machine a53")
    fails(["stat", "--machine", "a53x4", *program("exit")], 126, "RISC-V program, but machine a53x4 executes AArch64 programs", "--machine rocket")
    fails(["stat", "--engine", "translate", "--", path], 2, "machine a53 executes AArch64 instructions", "--engine interp")
    contains(stat("--engine", "step", "--", path)[2], "on a53 (1 hart)", "(step)")
    fails(["stat", "-P", "rvhpm", "--", path], 2, "machine a53 executes AArch64", "leave the pmu away")
    fails(["stat", "--machine", "a53", "--set", "core.kind=out_of_order", "--", path], 2, "isa = aarch64", "core.kind: in_order")
    with open(path, "rb") as file:
        image = bytearray(file.read())
    image[18] = 40
    other = os.path.join(scratch, "arm32")
    with open(other, "wb") as file:
        file.write(image)
    os.chmod(other, 0o755)
    fails(["stat", "--", other], 126, "32-bit Arm (AArch32) program", "aarch64-linux-gnu-gcc")


# What is wrong with an AArch64 program: bytes that differ in the file of a sound one, the exit status, what the sentence says.
BAD_ARM64_PROGRAMS = (
    ("wrong magic", {3: b"G"}, 126, ("not an ELF program", "aarch64-linux-gnu-gcc")),
    ("ILP32", {4: b"\1"}, 126, ("32-bit program", "64-bit RISC-V and AArch64")),
    ("big-endian", {5: b"\2"}, 126, ("big-endian ELF file", "little-endian")),
    ("relocatable", {16: b"\1\0"}, 126, ("relocatable object file", "link it")),
    ("core dump", {16: b"\4\0"}, 126, ("core dump",)),
    ("AArch32", {18: b"\x28\0"}, 126, ("32-bit Arm (AArch32) program", "aarch64-linux-gnu-gcc")),
    ("another machine", {18: b"\x3e\0"}, 126, ("x86-64 program", "aarch64-linux-gnu-gcc")),
)
# Instructions of extensions that a Cortex-A53 has not.
ABSENT_ON_A53 = (
    (0x04a00000, "the Scalable Vector Extension (SVE)"),
    (0x25d8e3e0, "the Scalable Vector Extension (SVE)"),
    (0xdac10020, "pointer authentication (PAuth)"),
    (0xd65f0bff, "pointer authentication (PAuth)"),
    (0xf8e10062, "the large-system atomics (LSE)"),
)
# What a kernel does behind its greeting; the exit status, what the sentence says.
BAD_ARM64_KERNELS = (
    ("SVE", (0x04a00000,), 125, ("stuck", "VBAR_EL1", "no handler")),
    ("PAuth", (0xdac10020,), 125, ("stuck", "VBAR_EL1", "no handler")),
    ("return to AArch32", (0xd2800200, 0xd5184000, 0xd69f03e0), 125, ("stuck", "VBAR_EL1")),
    ("panic", (0x52800120, 0x72b08000, 0xd4000003), 1, ("asked for a restart",)),  # PSCI SYSTEM_RESET
    ("idle by WFI", (0xd503207f, 0x17ffffff), 125, ("stuck", "every hart waits")),
    ("idle by WFE", (0xd503205f, 0x17ffffff), 125, ("stuck", "every hart waits")),
    ("endless loop", (0x14000000,), 124, ("timeout",)),
)


@guest
def what_is_no_program_of_aarch64_is_refused_with_the_remedy():
    with open(arm64_program(), "rb") as file:
        sound = file.read()
    for name, changes, want, words in BAD_ARM64_PROGRAMS:
        image = bytearray(sound)
        for at, changed in changes.items():
            image[at:at + len(changed)] = changed
        path = os.path.join(scratch, "bad-arm64")
        with open(path, "wb") as file:
            file.write(image)
        os.chmod(path, 0o755)
        status, out, err = stat("--", path)
        equal((status, out, err.count("\n")), (want, "", 1), f"{name}: {err}")
        contains(err, path, *words)
        if want == 126:
            status, out, err = run("boot", "--machine", "a53", "--kernel", path)
            equal((status, out, err.count("\n")), (126, "", 1), f"{name} as a kernel: {err}")


@guest
def an_absent_extension_of_aarch64_is_named():
    gcc = shutil.which("aarch64-linux-gnu-gcc")
    if not gcc:
        raise Skip("no aarch64-linux-gnu-gcc; run tools/install-deps check")
    for word, name in ABSENT_ON_A53:
        path = os.path.join(scratch, f"arm64-{word:x}")
        source = written(path + ".c", f'int main(void) {{ __asm__ volatile(".word {word:#x}"); return 0; }}\n')
        subprocess.run([gcc, "-static", "-o", path, source], check=True)
        status, _, err = stat("-o", os.devnull, "--", path)
        equal(status, 128 + signal.SIGILL, err)
        contains(err, f"illegal instruction {word:#x}", name, "-march=armv8-a")
    # PACIASP and AUTIASP are hints where they are absent, so such a program runs.
    path = os.path.join(scratch, "arm64-hints")
    source = written(path + ".c", "#include <stdio.h>\nint main(void) { puts(\"protected\"); return 3; }\n")
    subprocess.run([gcc, "-static", "-mbranch-protection=standard", "-o", path, source], check=True)
    equal(stat("-o", os.devnull, "--", path), (3, "protected\n", ""))


@guest
def a_program_of_another_machine_is_told_once_with_the_remedy():
    if platform.machine() == "riscv64" or not os.path.exists("/bin/sh"):
        raise Skip("the host has no /bin/sh for another machine")
    path = shell_caller("-static")
    status, out, err = stat("-o", os.devnull, "--", path, "echo hi", "echo hi")
    equal((status, out), (0, "32512\n32512\n"), err)
    equal(err, "tally: the program executed /bin/sh, which is not a RISC-V program; it was told ENOEXEC; give it a folder of RISC-V "
               "programs with --root DIR (docs/userlands.md)\n")
    equal(stat("-q", "-o", os.devnull, "--", path, "echo hi")[2], "", "--quiet")

    root = os.path.join(scratch, "foreign")
    os.makedirs(os.path.join(root, "bin"), exist_ok=True)
    shutil.copy(path, os.path.join(root, "shell"))
    status, out, err = stat("-o", os.devnull, "--root", root, "--", "/shell", "echo hi")
    equal((status, out, err), (0, "32512\n", ""), "there is no shell at all, and programs look for what is not there")
    shutil.copy("/bin/sh", os.path.join(root, "bin", "sh"))
    status, out, err = stat("-o", os.devnull, "--root", root, "--", "/shell", "echo hi", "echo hi")
    equal((status, out), (0, "32512\n32512\n"), err)
    contains(err, "/bin/sh, which is not a RISC-V program", "into the folder of --root")
    equal(err.count("\n"), 1, err)
    with open(os.path.join(root, "bin", "sh"), "wb") as file:
        file.write(b"neither a script nor a program\n")
    equal(stat("-o", os.devnull, "--root", root, "--", "/shell", "echo hi")[1:], ("32512\n", ""), "text files are for shells to try")
    with open(path, "rb") as whole, open(os.path.join(root, "bin", "sh"), "wb") as file:
        file.write(whole.read(64))
    equal(stat("-o", os.devnull, "--root", root, "--", "/shell", "echo hi")[1:], ("32512\n", ""), "a damaged RISC-V program is not foreign")
    empty = os.path.join(scratch, "nothing.c")
    with open(empty, "w", encoding="utf-8") as out:
        out.write("int main(void) { return 0; }\n")
    subprocess.run([CROSS, "-static", "-o", os.path.join(root, "bin", "sh"), empty], check=True)
    equal(stat("-o", os.devnull, "--root", root, "--", "/shell", "echo hi")[1:], ("0\n", ""), "a RISC-V shell is not foreign")


@guest
def what_a_root_lacks_is_not_taken_from_outside_in_silence():
    path = shell_caller()
    root, sysroot = os.path.join(scratch, "bare-root"), "/usr/riscv64-linux-gnu"
    loader = "/lib/ld-linux-riscv64-lp64d.so.1"
    os.makedirs(os.path.join(root, "usr", "bin"), exist_ok=True)
    os.makedirs(os.path.join(root, "lib"), exist_ok=True)
    shutil.copy(path, os.path.join(root, "usr", "bin", "caller"))
    status, _, err = stat("-o", os.devnull, "--root", root, "--", "/usr/bin/caller")
    equal(status, 0, err)
    said = f"is not under --root {root}: it came from {sysroot}; put a RISC-V userland into the folder (docs/userlands.md), or say --sysroot {sysroot}\n"
    equal(err, f"tally: {loader} " + said, "once, for the loader")
    equal(stat("-o", os.devnull, "--sysroot", sysroot, "--root", root, "--", "/usr/bin/caller"), (0, "", ""), "who names the sysroot knows")
    shutil.copy(sysroot + loader, root + "/lib/")
    equal(stat("-o", os.devnull, "--root", root, "--", "/usr/bin/caller"), (0, "", "tally: /lib/libc.so.6 " + said), "once, for the library")
    shutil.copy(sysroot + "/lib/libc.so.6", root + "/lib/")
    equal(stat("-o", os.devnull, "--root", root, "--", "/usr/bin/caller"), (0, "", ""), "all of it is there")
    equal(stat("-o", os.devnull, "--root", root, "--", "caller"), (0, "", ""), "a name without a slash is looked up below the folder")
    os.symlink("/usr/bin/caller", os.path.join(root, "usr", "bin", "linked"))
    equal(stat("-o", os.devnull, "--root", root, "--", "linked"), (0, "", ""), "so is a link, whose target is below the folder, too")
    fails(["stat", "--root", root, "--", "tr"], 127, "tr: not found below --root", root)
    equal(stat("-o", os.devnull, "--", path)[2], "", "without --root the sysroot is where libraries are")


@guest
def repeated_runs_are_identical_and_say_so():
    status, out, err = stat("-r", "3", *program("words"))
    equal(status, 0)
    equal(out.count("1=words"), 3)
    contains(err, "3 runs, all counts identical")
    path = os.path.join(scratch, "input")
    with open(path, "w", encoding="utf-8") as text:
        text.write("some input\n")
    with open(path, "rb") as source:
        done = subprocess.run([options.tally, "stat", "-r", "2", *program("copy")], stdin=source, capture_output=True, env=CLEAN, timeout=60)
    equal((done.returncode, done.stdout), (0, b"some input\n" * 2), done.stderr)
    # An input that only one run could read is refused before anything runs.
    fails(["stat", "-r", "2", *program("copy")], 2, "-r 2", "pipe", "< FILE", "< /dev/null", stdin=b"gone after the first run\n")
    ours, theirs = socket.socketpair()
    done = subprocess.run([options.tally, "stat", "-r", "2", *program("copy")], stdin=theirs.fileno(), capture_output=True, env=CLEAN, timeout=60)
    equal((done.returncode, done.stdout), (2, b""))
    contains(done.stderr.decode(), "-r 2", "socket")
    ours.close()
    theirs.close()
    equal(stat(*program("copy"), stdin=b"one run\n")[:2], (0, "one run\n"))
    equal(stat("-r", "2", "-q", *program("exit", 9))[0], 9)


@guest
def runs_that_differ_name_what_they_read():
    path = os.path.join(scratch, "grows")
    with open(path, "w", encoding="utf-8") as text:
        text.write("some input\n")
    status, _, err = stat("-r", "2", *program("append", path))
    equal(status, 125, err)
    contains(err, "run 2 differs from run 1", f"it read {path} of this host", "--root DIR")
    # Nothing is named that was not read, or that lies inside of --root.
    folder = os.path.join(scratch, "differs")
    os.makedirs(folder, exist_ok=True)
    shutil.copy(path, os.path.join(folder, "grows"))
    shutil.copy(options.guest, os.path.join(folder, "guest"))
    status, _, err = stat("-r", "2", "--root", folder, "--", "/guest", "append", "/grows")
    equal(status, 125, err)
    contains(err, "run 2 differs from run 1")
    equal("it read" in err, False, err)


@guest
def engines_agree():
    for machine in ("rocket", "tiny", "lowrisc2"):
        slow = report("--machine", machine, "--per-unit", "--engine", "step", *program("threads", 3000))[0]
        for engine in ("interp", "translate") if platform.machine() == "x86_64" else ("interp",):
            fast = report("--machine", machine, "--per-unit", "--engine", engine, *program("threads", 3000))[0]
            equal(slow, fast)
        equal(slow, report("--machine", machine, "--per-unit", "--translate-after", "0", *program("threads", 3000))[0])
        equal(slow, report("--machine", machine, "--per-unit", "--code-cache", "192KiB", *program("threads", 3000))[0])


# -- formats


@guest
def csv_is_strict():
    path = os.path.join(scratch, "out.csv")
    equal(stat("--csv", "-o", path, "--per-hart", "-I", "100k", *program("spin", 100000))[0], 0)
    with open(path, encoding="utf-8", newline="") as text:
        rows = list(csv.reader(text, strict=True))
    equal(rows[0], ["interval", "end_ns", "scope", "name", "value", "unit", "kind", "reason"])
    equal({len(row) for row in rows}, {8})
    totals = {(row[2], row[3]): row[4] for row in rows[1:] if not row[0]}
    json_counts = counts(report("--per-hart", *program("spin", 100000))[0])
    for event, value in json_counts.items():
        equal(totals["machine", event], str(value), event)


@guest
def perf_scripts_read_our_lines():
    # The order perf 6.1 writes: value,unit,event,[variance],run time,percent,metric,metric unit
    def lines(*words):
        status, _, err = stat(*words, "-e", "instructions,branches,branch-misses", *program("spin", 100000))
        equal(status, 0)
        return [line.split(",") for line in err.splitlines()]
    for words in (["-x,"], ["-x", ","], ["--perf-compat"]):
        rows = lines(*words)
        equal([row[2] for row in rows], ["instructions", "branches", "branch-misses"])
        for row in rows:
            equal(len(row), 7)
            int(row[0]), int(row[3])
            equal(row[4], "100.00")
    rows = lines("-x,", "-r", "2")
    equal([(len(row), row[2], row[3]) for row in rows], [(8, name, "0.00%") for name in ("instructions", "branches", "branch-misses")])
    rows = lines("-x,", "-A")
    equal([row[0] for row in rows if len(row) == 8], ["CPU0"] * 3)
    rows = lines("-x,", "-I", "1")
    float(rows[0][0])
    equal(rows[0][3], "instructions")
    _, _, err = stat("-x", ";", "-e", "instructions", *program("exit"))
    equal(len(err.split(";")), 7)
    _, _, err = stat("--perf-compat", "-j", "-e", "instructions", *program("exit"))
    record = json.loads(err)
    keys = ["counter-value", "unit", "event", "event-runtime", "pcnt-running", "metric-value", "metric-unit"]
    equal(list(record), keys)
    equal((record["metric-value"], record["metric-unit"]), (0, "insn per cycle"))  # cycles were not asked for


@guest
def perf_s_own_metrics_appear_by_themselves():
    events = ("task-clock,cycles,instructions,cycles:u,instructions:u,branch-instructions,branch-misses,L1-dcache-loads,L1-dcache-load-misses,"
              "cache-references,cache-misses,stalled-cycles-frontend,page-faults,syscalls")
    _, _, err = stat("-x,", "-j", "-e", events, *program("spin", 100000))
    rows = {row["event"]: row for row in map(json.loads, err.splitlines())}
    count = {name: float(row["counter-value"]) for name, row in rows.items()}
    ns = count["task-clock"] * 1e6
    wanted = {"task-clock": (1.0, "CPUs utilized"), "cycles": (count["cycles"] / ns, "GHz"),
              "instructions": (count["instructions"] / count["cycles"], "insn per cycle"),
              "instructions:u": (count["instructions:u"] / count["cycles:u"], "insn per cycle"),
              "branch-misses": (100 * count["branch-misses"] / count["branch-instructions"], "of all branches"),
              "L1-dcache-load-misses": (100 * count["L1-dcache-load-misses"] / count["L1-dcache-loads"], "of all L1-dcache accesses"),
              "cache-misses": (100 * count["cache-misses"] / count["cache-references"], "of all cache refs"),
              "stalled-cycles-frontend": (100 * count["stalled-cycles-frontend"] / count["cycles"], "frontend cycles idle"),
              "branch-instructions": (1e3 * count["branch-instructions"] / ns, "M/sec"),
              "page-faults": (1e6 * count["page-faults"] / ns, "K/sec")}
    for name, (value, unit) in wanted.items():
        equal(rows[name]["metric-unit"], unit, name)
        if abs(rows[name]["metric-value"] - value) > 1e-5 * abs(value) + 1e-6:
            raise AssertionError(f"{name}: {rows[name]} is not {value}")
    for row in rows.values():
        contains(list(row), "metric-value", "metric-unit")
    _, _, err = stat("-x,", "-e", "cycles,instructions,branches,branch-misses", *program("spin", 100000))
    lines = [line.split(",") for line in err.splitlines()]
    equal([line[6] for line in lines], ["", "insn per cycle", "", "of all branches"])
    equal(lines[1][5], f"{int(lines[1][0]) / int(lines[0][0]):.2f}")
    equal(lines[3][5], f"{100 * int(lines[3][0]) / int(lines[2][0]):.2f}")
    if shutil.which("perf"):  # perf itself, where the host lets it count its software events
        soft = "task-clock,page-faults,context-switches"
        done = subprocess.run(["perf", "stat", "-j", "-e", soft, "true"], capture_output=True, text=True, timeout=60)
        theirs = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
        if done.returncode == 0 and len(theirs) == 3 and "metric-unit" in theirs[0]:
            ours = [json.loads(line) for line in stat("-x,", "-j", "-e", soft, *program("exit"))[2].splitlines()]
            equal([list(row) for row in ours], [list(row) for row in theirs])
            equal([row["event"] for row in ours], [row["event"] for row in theirs])
            equal([row["metric-unit"].lstrip("KMG") for row in ours], [row["metric-unit"].lstrip("KMG") for row in theirs])


@guest
def the_rate_beside_misses_counts_their_own_kind():
    look_ups = {"branch-misses": "branches", "L1-icache-load-misses": "instructions", "L1-dcache-load-misses": "L1-dcache-loads",
                "L1-dcache-store-misses": "L1-dcache-stores", "cache-misses": "cache-references", "dTLB-load-misses": "dTLB-loads"}
    records, status, _ = report(*program("pages"))
    equal(status, 0)
    n = counts(records)
    rates = dict(re.findall(r"^ +[\d,]+ +(\S+) +# +([\d.]+) (?:%|per 1000 insn)", stat(*program("pages"))[2], re.M))
    for event, look_up in look_ups.items():
        rate, per = rates[event], 1000 if look_up == "instructions" else 100
        equal(rate, f"{per * n[event] / n[look_up]:.{len(rate.partition('.')[2])}f}", event)
        equal(len(rate.strip("0.")) >= 3, True, rate)
    equal(n["dTLB-load-misses"] <= n["dTLB-loads"], True)
    equal(n["dTLB-store-misses"] <= n["dTLB-stores"], True)


@guest
def reports_go_where_they_are_sent():
    path = os.path.join(scratch, "report.txt")
    status, out, err = stat("-o", path, *program())
    equal((status, out, err), (0, "hello\n", ""))
    with open(path, encoding="utf-8") as text:
        once = text.read()
    contains(once, "instructions")
    equal(stat("-o", path, "--append", *program())[0], 0)
    with open(path, encoding="utf-8") as text:
        equal(text.read().count("Counts of"), 2)
    fails(["stat", "-o", "/no/such/folder/report", *program()], 125, "/no/such/folder/report")
    status, out, err = stat("-o", "/dev/full", *program())
    equal((status, out), (125, "hello\n"))
    contains(err, "could not be written")
    status, out, err = stat("-q", "-n", *program())
    equal((status, out, err), (0, "hello\n", ""))


def written(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)
    return path


@guest
def nothing_that_stood_there_is_lost():
    folder = tempfile.mkdtemp(dir=scratch)
    kept = {name: written(os.path.join(folder, name), f"old {name}\n") for name in ("report", "profile", "plot", "program")}
    def is_untouched(why):
        for name, path in kept.items():
            equal(text_of(path), f"old {name}\n", why)
        equal(sorted(os.listdir(folder)), sorted(kept), why)
    stat_files = ["-o", kept["report"], "--host-profile", kept["profile"]]
    compare_files = ["-o", kept["report"], "--plot", kept["plot"], "--program-output", kept["program"]]
    text = written(os.path.join(scratch, "no-program"), "x\n")
    for verb, files in (("stat", stat_files), ("compare", compare_files)):
        for words, status in ((["--no-such-option", "--", options.guest], 2), (["--", "/no/such/program"], 127), (["--", text], 126),
                              (["-e", "no_such_event", "--", options.guest], 2), (["--set", "l1d.ways=3", "--", options.guest], 2)):
            equal(run(verb, *files, *words)[0], status, f"{verb} {words}")
            is_untouched(f"{verb} {words}")
    equal(run("stat", *stat_files, "-I", "1M", "--", text)[0], 126)
    is_untouched("intervals of what is no program")
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):  # a comparison under way
        child = subprocess.Popen([options.tally, "compare", *compare_files, "--insns", "2G", *program("spin", 10**12)], stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=CLEAN)
        while not any(".tally-" in name for name in os.listdir(folder)):
            time.sleep(0.01)
        child.send_signal(number)
        equal(child.wait(60), -number)
        for name in os.listdir(folder):
            if number == signal.SIGKILL and ".tally-" in name:  # what nobody could remove
                os.remove(os.path.join(folder, name))
        is_untouched(f"signal {number}")
    child = subprocess.Popen([options.tally, "stat", *stat_files, *program("hang")], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, env=CLEAN)
    equal(child.stdout.read(6), b"ready\n")
    child.kill()
    child.communicate(timeout=60)
    for name in os.listdir(folder):
        if ".tally-" in name:
            os.remove(os.path.join(folder, name))
    is_untouched("SIGKILL")


@guest
def a_full_disk_is_an_error_and_keeps_the_old_report():
    folder = tempfile.mkdtemp(dir=scratch)
    path = written(os.path.join(folder, "report"), "old\n")
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    def limited(*words):
        words = [words[0], "--engine", "interp", *words[1:]]  # made code is in a file, too
        done = subprocess.run([options.tally, *words], capture_output=True, env=CLEAN, timeout=120, preexec_fn=small_files)
        return done.returncode, done.stderr.decode()
    for words in (["stat", "-j", "-o", path], ["stat", "-j", "--append", "-o", path], ["compare", "-P", "dhpc", "-e", "cycle", "--no-sweeps", "-o", path],
                  ["compare", "-P", "dhpc", "-e", "cycle", "--phases", "1", "--plot", path]):
        status, err = limited(*words, *program("exit"))
        equal(status, 125, f"{words}: {err}")
        contains(err, "tally: --", path, "File too large")
        equal(text_of(path), "old\n", str(words))
        equal(os.listdir(folder), ["report"], str(words))
    alone = os.path.join(folder, "second-name")  # a file with two names is copied into
    os.link(path, alone)
    status, err = limited("stat", "-j", "-o", path, *program("exit"))
    equal((status, text_of(path)), (125, "old\n"), err)
    equal(stat("-o", path, *program("exit"))[0], 0)
    equal(text_of(path), text_of(alone))
    contains(text_of(alone), "instructions")
    os.remove(alone)
    for words in (["compare", "-P", "dhpc", "-e", "cycle", "--no-sweeps", "-o"], ["compare", "-P", "dhpc", "-e", "cycle", "--phases", "1", "--plot"], ["stat", "-o"], ["stat", "--host-profile"]):
        status, _, err = run(*words, "/dev/full", *program("exit"))
        equal(status, 125, err)
        contains(err, "tally: --", "/dev/full")
    written(path, "old\n")  # one of two files fails: the other one stays
    equal(run("compare", "-P", "dhpc", "-e", "cycle", "--phases", "1", "-o", path, "--plot", "/dev/full", *program("exit"))[0], 125)
    equal(text_of(path), "old\n")
    if os.geteuid() == 0 and shutil.which("unshare"):
        script = ('mount -t tmpfs -o size=4k tmpfs "$1" || exit 99; echo old > "$1/report"; "$2" stat -j -o "$1/report" -- "$3" exit; status=$?; '
                  '"$2" stat -j --append -o "$1/report" -- "$3" exit && exit 98; ln "$1/report" "$1/second"; '  # copied into the place
                  '"$2" stat -j -o "$1/report" -- "$3" exit && exit 97; rm "$1/second"; cat "$1/report"; ls "$1"; exit $status')
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", folder, options.tally, options.guest], capture_output=True, text=True,
                              env=CLEAN, timeout=120)
        if done.returncode != 99:
            equal((done.returncode, done.stdout), (125, "old\nreport\n"), done.stderr)
            contains(done.stderr, "No space left on device")


@guest
def a_report_takes_its_place_as_the_old_one_stood():
    folder = tempfile.mkdtemp(dir=scratch)
    path = written(os.path.join(folder, "report"), "old\n")
    os.chmod(path, 0o640)
    link = os.path.join(folder, "link")
    os.symlink("report", link)
    equal(stat("-o", link, *program("exit"))[0], 0)
    equal((os.readlink(link), os.stat(path).st_mode & 0o7777), ("report", 0o640))
    contains(text_of(path), "instructions")
    os.symlink("made", os.path.join(folder, "ahead"))
    equal(stat("-o", os.path.join(folder, "ahead"), *program("exit"))[0], 0)
    contains(text_of(os.path.join(folder, "made")), "instructions")
    before = os.umask(0o027)
    try:
        equal(stat("-o", os.path.join(folder, "new"), *program("exit"))[0], 0)
    finally:
        os.umask(before)
    equal(os.stat(os.path.join(folder, "new")).st_mode & 0o7777, 0o640)
    equal(sorted(os.listdir(folder)), ["ahead", "link", "made", "new", "report"])
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):  # shared with the program, as the shell has it
        out = os.path.join(folder, "out")
        with open(out, "w", encoding="utf-8") as stream:
            equal(subprocess.run([options.tally, "stat", "-o", name, *program()], stdout=stream, stderr=subprocess.DEVNULL, env=CLEAN).returncode, 0)
        contains(text_of(out), "hello\n", "instructions")
    fifo = os.path.join(folder, "fifo")
    os.mkfifo(fifo)
    child = subprocess.Popen([options.tally, "stat", "-o", fifo, *program("exit")], stderr=subprocess.DEVNULL, env=CLEAN)
    contains(text_of(fifo), "instructions")
    equal(child.wait(60), 0)


@guest
def intervals_show_line_by_line():
    path = written(os.path.join(scratch, "intervals.json"), "old\n")
    child = subprocess.Popen([options.tally, "stat", "-j", "-I", "50M", "-o", path, *program("spin", 10**12)], stderr=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, env=CLEAN)
    try:
        deadline = time.monotonic() + 60
        while text_of(path).count('"type":"interval"') < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        for _ in range(30):
            for _ in range(4):  # a write may be under way, for less time than lies between two intervals
                text = text_of(path)
                if text.endswith("\n"):
                    break
                time.sleep(0.005)
            equal(text[-1], "\n", "a line in part")
            time.sleep(0.01)
        if child.poll() is not None or '"type":"end"' in text:
            raise AssertionError("the run has ended")
    finally:
        child.kill()
        child.wait(60)
    records = [json.loads(line) for line in text_of(path).splitlines()]
    if sum(record["type"] == "interval" for record in records) < 5:
        raise AssertionError("no intervals while the program runs")
    equal(stat("-j", "-I", "1M", "-o", path, "--append", "--max-insns", "3M", *program("spin", 10**12))[0], 0)  # behind what is there
    both = [json.loads(line)["type"] for line in text_of(path).splitlines()]
    equal((both[: len(records)], both.count("header"), both[-1]), ([record["type"] for record in records], 2, "end"))


@guest
def machine_output_never_mixes():
    jq = shutil.which("jq")
    if not jq:
        raise Skip("no jq")
    folder = tempfile.mkdtemp(dir=scratch)
    def capture(*words, both=False, more=()):
        err = os.path.join(folder, "err")
        with open(err, "w", encoding="utf-8") as stream:
            done = subprocess.run([options.tally, "stat", *words], stdin=subprocess.DEVNULL, stdout=stream if both else subprocess.DEVNULL, stderr=stream,
                                  env=CLEAN, cwd=folder, timeout=120, **dict(more))
        text = text_of(err)
        os.remove(err)
        return done.returncode, text
    def types(text):
        done = subprocess.run([jq, "-r", ".type"], input=text, capture_output=True, text=True, timeout=60)
        equal((done.returncode, done.stderr), (0, ""), text)
        return done.stdout.split()
    short = ["-e", "cycles"]
    equal(types(capture("-j", *short, *program("exit"))[1]), ["header", "event", "end"])
    # one that writes to standard error
    status, text = capture("-j", *short, *program("copy"))
    lines = text.splitlines()
    equal((status, lines[0], len(lines)), (0, "copied", 2), text)
    contains(lines[1], "tally: ", "the report is in ./", "-o", "--log-fd")
    name = re.search(r"in (\./tally-[0-9-]+\.json)", text)[1]
    equal(types(text_of(os.path.join(folder, name))), ["header", "event", "end"])
    equal(os.listdir(folder), [name[2:]])
    os.remove(os.path.join(folder, name))
    for words, suffix in ((["--csv"], "csv"), (["-x,"], "csv"), (["-x,", "-j"], "json")):
        _, text = capture(*words, *short, *program("copy"))
        name = re.search(rf"in (\./tally-[0-9-]+\.{suffix});", text)[1]
        contains(text_of(os.path.join(folder, name)), "cycles")
        os.remove(os.path.join(folder, name))
    status, text = capture("-j", *short, *program(), both=True)  # standard output is the same file
    contains(text, "hello\ntally: ", "the report is in ")
    shutil.rmtree(folder)
    os.mkdir(folder)
    # one that is timed out: our sentence is a record
    status, text = capture("-j", *short, "--timeout", "300ms", *program("spin", 10**12))
    equal((status, types(text)), (124, ["header", "message", "event", "end"]))
    contains(json.loads(text.splitlines()[1])["text"], "--timeout")
    status, text = capture("--csv", *short, "--timeout", "300ms", *program("spin", 10**12))
    rows = list(csv.reader(io.StringIO(text), strict=True))
    equal((status, [len(row) for row in rows], rows[1][3]), (124, [8, 8, 8], "message"))
    status, text = capture("-x,", *short, "--timeout", "300ms", *program("spin", 10**12))
    equal((status, [line[:9] for line in text.splitlines() if line[0] == "#"]), (124, ["# tally: "]))
    status, text = capture("-x,", "-j", *short, "--timeout", "300ms", *program("spin", 10**12))
    equal((status, [sorted(json.loads(line))[0] for line in text.splitlines()]), (124, ["message", "counter-value"]))
    # errors, too
    status, text = capture("-j", "-e", "cycels", *program("exit"))
    equal((status, types(text)), (2, ["message"]))
    status, text = capture("-j", "--", "/no/such/program")
    equal((status, types(text)), (127, ["message"]))
    # a descriptor of its own
    def with_descriptor(*words):
        read_end, write_end = os.pipe()
        status, text = capture("--log-fd", str(write_end), *words, more=[("pass_fds", [write_end])])
        os.close(write_end)
        with os.fdopen(read_end, encoding="utf-8") as stream:
            return status, text, stream.read()
    status, text, log = with_descriptor("-j", *short, *program("copy"))
    equal((status, text, types(log)), (0, "copied\n", ["header", "event", "end"]))
    status, text, log = with_descriptor("-j", *short, "--timeout", "300ms", *program("spin", 10**12))
    equal((status, types(log)), (124, ["header", "message", "event", "end"]))
    contains(text, "tally: ", "did not end in time")
    status, text, log = with_descriptor(*program("copy"))  # a table, too
    equal((status, text), (0, "copied\n"))
    contains(log, "instructions")
    fails(["stat", "--log-fd", "77", "--", "x"], 2, "--log-fd 77", "77>FILE")
    fails(["stat", "--log-fd", "x", "--", "x"], 2, "--log-fd x")
    fails(["stat", "--log-fd", "3", "-o", "f", "--", "x"], 2, "--output and --log-fd")
    with open(os.devnull, encoding="utf-8") as closed:
        done = subprocess.run([options.tally, "stat", "--log-fd", str(closed.fileno()), *program("exit")], capture_output=True, env=CLEAN,
                              pass_fds=[closed.fileno()], timeout=60)
    equal(done.returncode, 2, done.stderr)
    # a terminal shows everything
    master, slave = pty.openpty()
    child = subprocess.Popen([options.tally, "stat", "-j", *short, *program("copy")], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave,
                             env=CLEAN, cwd=folder)
    os.close(slave)
    shown = b""
    try:
        while True:
            shown += os.read(master, 65536)
    except OSError:  # the terminal's last writer has ended
        pass
    child.wait(60)
    contains(shown.decode(), "copied", '"header"')
    os.close(master)
    equal(os.listdir(folder), [])
    # a report with sentences can be compared
    records, _, _ = report("--timeout", "300ms", *program("spin", 10**12))
    contains([record["type"] for record in records], "message")
    path = written(os.path.join(scratch, "with-message.json"), '{"type":"message","text":"early"}\n' + "".join(json.dumps(r) + "\n" for r in records))
    equal(run("diff", path, path)[0], 0)


# -- determinism


@guest
def reports_are_the_same_everywhere():
    def take(env, cwd, words, user=None):
        command = [options.tally, "stat", "-j", "--per-unit", *words]
        if user:
            command = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *command]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, cwd=cwd,
                              timeout=120)
        equal(done.returncode, 0, done.stderr)
        return done.stderr
    folder = tempfile.mkdtemp(prefix="a-folder-with-a-rather-long-name-")
    try:
        os.chmod(folder, 0o755)
        copy = os.path.join(folder, "guest")
        shutil.copy(options.guest, copy)
        deeds = (["threads", "3000"], ["words"])
        for deed in deeds:
            first = take(CLEAN, scratch, ["--machine", "lowrisc2", "--", options.guest, *deed])
            for _ in range(2):
                equal(take(CLEAN, scratch, ["--machine", "lowrisc2", "--", options.guest, *deed]) == first, True, "again")
            equal(take(CLEAN, folder, ["--machine", "lowrisc2", "--", "./guest", *deed]) == first, True, "another folder")
            equal(take({}, "/", ["--machine", "lowrisc2", "--", copy, *deed]) == first, True, "no environment")
            loud = dict(CLEAN, LC_ALL="de_DE.UTF-8", LANG="fr_FR.UTF-8", TZ="Asia/Tokyo", HOME="/nowhere", TERM="xterm", X="y" * 10000)
            equal(take(loud, scratch, ["--machine", "lowrisc2", "--", options.guest, *deed]) == first, True, "another locale")
            if os.geteuid() == 0 and shutil.which("setpriv") and is_open_to_all(options.tally):
                equal(take(CLEAN, folder, ["--machine", "lowrisc2", "--", copy, *deed], user=65534) == first, True, "another user")
            if shutil.which("setarch"):
                done = subprocess.run(["setarch", "-R", options.tally, "stat", "-j", "--per-unit", "--machine", "lowrisc2", "--",
                                       options.guest, *deed], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                      env=CLEAN, timeout=120)
                if done.returncode == 0:
                    equal(done.stderr == first, True, "no address randomization")
    finally:
        shutil.rmtree(folder)


def is_open_to_all(path):
    path = os.path.abspath(path)
    while True:
        if not os.stat(path).st_mode & 0o001:
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


@guest
def the_seed_is_part_of_the_request():
    one = report("--seed", "1", "--set", "l1d.replacement=random", *program("words"))[0]
    two = report("--seed", "2", "--set", "l1d.replacement=random", *program("words"))[0]
    equal((one[0]["seed"], two[0]["seed"]), (1, 2))


@guest
def what_differs_from_the_machine_file_is_named():
    words = ["-e", "cycles", "--D1", "16KiB,4,64", "--set", "l2.size=512KiB", "--harts", "2", *program("exit")]
    records, _, err = report(*words)
    equal(records[0]["changed"], {"harts": "2", "l1d.size": "16KiB", "l1d.ways": "4"}, "l2.size has that value anyway")
    contains(stat(*words)[2], "\n changed: harts=2, l1d.size=16KiB, l1d.ways=4\n")
    equal(report("--machine", "u74", *program("exit"))[0][0]["changed"], {}, "a machine is no change")
    equal("changed" in stat(*program("exit"))[2], False)
    many = stat("-e", "cycles", "--D1", "16KiB,4,32", "--I1", "16KiB,4,32", "--L2", "64KiB,4,32", *program("exit"))[2]
    contains(many, " changed: l1i.size=16KiB, l1i.ways=4, l1i.line=32, l1d.size=16KiB, l1d.ways=4, l1d.line=32,\n"
             "          l2.size=64KiB, l2.ways=4, l2.line=32\n")
    equal(many.count("tally: "), 0, many)


@guest
def caches_share_one_size_of_lines():
    records, _, err = report("--D1", "16KiB,4,32", *program("exit"))
    sentence = "l1d=16KiB,4,32: l1i and l2 now have lines of 32 bytes, too, because all caches of a machine have lines of one size"
    equal(err, f"tally: {sentence}\n")
    equal([r["text"] for r in records if r["type"] == "note"], [sentence])
    contains(stat("--D1", "16KiB,4,32", "--I1", "16KiB,4,32", *program("exit"))[2], "l2 now has lines of 32 bytes")
    contains(stat("--D1", "16KiB,4,32", "--I1", "16KiB", *program("exit"))[2], "l1i and l2 now have lines")
    equal(stat("--D1", "16KiB,4,32", "--set", "l1i.line=32", "--set", "l2.line=32", *program("exit"))[2].count("tally: "), 0)
    equal(stat("--D1", "16KiB,4,64", *program("exit"))[2].count("tally: "), 0, "nothing changed")
    equal(stat("--D1", "16KiB,4,32", "--D1", "16KiB,4,64", *program("exit"))[0], 0, "the last one counts")
    fails(["stat", "--D1", "16KiB,4,32", "--I1", "8KiB,4,64", *program("exit")], 2, "l1d=16KiB,4,32", "l1i=8KiB,4,64", "the lines differ")
    fails(["stat", "--set", "l1d.line=32", *program("exit")], 2, "l1d.line = 32", "l1i and l2 have lines of 64 bytes", "set l1i.line=32")


@guest
def geometry_options_do_what_they_say():
    records = report("--D1", "4K,2,64", "--I1", "8KiB,4,64", "--L2", "64K,4,64", "--harts", "2", *program("exit"))[0]
    config = records[0]["config"]
    equal((config["l1d.size"], config["l1d.ways"], config["l1i.size"], config["l2.size"]), ("4KiB", "2", "8KiB", "64KiB"))
    equal(records[0]["harts"], 2)


# -- diff


def write_report(name, records):
    path = os.path.join(scratch, name)
    with open(path, "w", encoding="utf-8") as out:
        for record in records:
            out.write(json.dumps(record) + "\n")
    return path


def sample(**values):
    header = {"type": "header", "schema": "tally.stat/1", "version": "0", "program": "p", "machine": "m", "config": {}}
    rows = [{"type": "event", "event": name, "value": value, "unit": "", "kind": "truth", "scope": "machine"} for name, value in values.items()]
    rows.append({"type": "metric", "metric": "ipc", "value": 0.5, "unit": "", "kind": "derived", "scope": "machine", "group": "g"})
    end = {"type": "end", "reason": "exited", "status": 0, "signal": None, "message": "", "instructions": 1, "cycles": 2, "sim_ns": 3}
    return [header, *rows, end]


@test
def gates_fail_exactly_when_crossed():
    before = write_report("before.json", sample(cycles=1000, misses=0, huge=str(2**60)))
    after = write_report("after.json", sample(cycles=1010, misses=1, huge=str(2**60 + 1)))
    cases = [
        ("cycles>+1%", 0), ("cycles>=+1%", 1), ("cycles>+0.9%", 1), ("cycles>+9", 1), ("cycles>+10", 0), ("cycles>1010", 0),
        ("cycles>1009", 1), ("cycles<1011", 1), ("cycles<+10", 0), ("cycles < +11", 1), ("misses>+0%", 1), ("misses>+50%", 1),
        ("misses>+1", 0), ("huge>+0", 1), ("huge>+1", 0), ("ipc<-1%", 0), ("ipc<0.6", 1), ("*>+100%", 1), ("machine:cycles>+5%", 0),
        ("c*>+0", 1), ("huge>=+0%", 1),
    ]
    for gate, status in cases:
        equal(run("diff", before, after, "--fail-on", gate)[0], status, gate)
    equal(run("diff", before, after, "--fail-on", "cycles>+5%", "--fail-on", "misses>+0")[0], 1)
    equal(run("diff", before, before, "--fail-on", "*>+0")[0], 0)


@test
def a_counted_thing_is_one_line_of_a_difference():
    before = write_report("before.json", sample(cycles=1000, instructions=500, **{"ref-cycles": 1000, "hart.cycle": 1000, "bus-cycles": 7, "PAPI_TOT_CYC": 999}))
    after = write_report("after.json", sample(cycles=1010, instructions=500, **{"ref-cycles": 1010, "hart.cycle": 1010, "bus-cycles": 1000, "PAPI_TOT_CYC": 1010}))
    def names(*words):
        return re.findall(r"(\S+)$", re.search(r"(?s)change  name\n(.*?)\n\n", run("diff", before, after, *words)[1])[1], re.MULTILINE)
    equal(names(), ["cycles", "bus-cycles", "PAPI_TOT_CYC"])  # the last two have other numbers, whatever their names stand for
    equal(names("--all"), ["cycles", "instructions", "bus-cycles", "PAPI_TOT_CYC", "ipc"])
    contains(run("diff", before, after)[1], " 2 of 5 rows equal.")
    equal(names("-e", "instructions,hart.cycle"), ["instructions", "hart.cycle"])
    equal(names("-e", "*cycle*"), ["cycles", "bus-cycles"])
    equal(names("-e", "ipc", "-e", "cycles"), ["cycles", "ipc"])
    contains(run("diff", before, after, "--fail-on", "hart.cycle>+0")[1], "hart.cycle  <== hart.cycle>+0")
    fails(["diff", before, after, "-e", "cycels"], 2, "cycels", "cycles")
    rows = [json.loads(line) for line in run("diff", before, after, "-j")[1].splitlines()]
    equal({row["event"]: row["same_as"] for row in rows if row["type"] == "event"},
          {"cycles": None, "ref-cycles": "cycles", "hart.cycle": "cycles", "bus-cycles": None, "PAPI_TOT_CYC": None})
    equal([row["event"] for row in map(json.loads, run("diff", before, after, "-j", "-e", "instructions")[1].splitlines()) if row["type"] == "event"],
          ["instructions"])


@test
def diff_refuses_what_it_cannot_read():
    good = write_report("good.json", sample(cycles=1))
    def text(name, content):
        path = os.path.join(scratch, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(content)
        return path
    lines = [json.dumps(record) for record in sample(cycles=1)]
    fails(["diff", good, "/no/such/report"], 125, "/no/such/report")
    fails(["diff", text("empty.json", ""), good], 125, "empty.json")
    fails(["diff", text("plain.json", "cycles 1000\n"), good], 125, "plain.json:1", "--json")
    fails(["diff", good, text("cut.json", "\n".join(lines[:-1]) + "\n")], 125, "cut.json", "cut off")
    fails(["diff", good, text("half.json", "\n".join(lines)[:-20])], 125, "half.json:4")
    fails(["diff", good, text("schema.json", '{"type":"header","schema":"tally.stat/9"}\n')], 125, "schema.json:1", "tally.stat/1")
    fails(["diff", good, text("value.json", lines[0] + '\n{"type":"event","event":"x","scope":"machine","value":[]}\n')], 125, "value.json:2")
    for gate in ("cycles", "cycles>", "cycles>x", ">1", "cycles>5%", "cycles>+1%%", "cycles>1e", "cycles>>1"):
        fails(["diff", good, good, "--fail-on", gate], 2, gate.split(">", maxsplit=1)[0])
    fails(["diff", good, good, "--fail-on", "cycels>+1%"], 2, "cycels", "cycles")
    fails(["diff", good, good, "--json", "--md"], 2, "--md")


@test
def diff_formats_agree():
    before = write_report("before.json", sample(cycles=1000, same=5))
    after = write_report("after.json", sample(cycles=900, same=5))
    status, out, err = run("diff", before, after, "-j", "--all", "--fail-on", "cycles<-5%")
    equal((status, err), (1, ""))
    records = [json.loads(line) for line in out.splitlines()]
    equal([record["type"] for record in records], ["header", "event", "event", "metric", "end"])
    equal((records[1]["before"], records[1]["after"], records[1]["change_percent"], records[1]["failed_gate"]), (1000, 900, -10, "cycles<-5%"))
    equal((records[4]["equal"], records[4]["failed"]), (2, 1))
    _, out, _ = run("diff", before, after)
    contains(out, "1,000", "900", "-10.00 %", "cycles")
    if "same" in out:
        raise AssertionError("equal rows are shown")
    contains(run("diff", before, after, "--all")[1], "same")
    contains(run("diff", before, after, "--md")[1], "| `cycles` | 1,000 | 900 | -10.00 % |")


@guest
def a_gate_over_real_runs_has_no_noise():
    paths = [os.path.join(scratch, name) for name in ("one.json", "two.json", "three.json")]
    for path, words in zip(paths, ([], [], ["--D1", "4K,2,64"])):
        equal(stat("-j", "-o", path, *words, *program("words"))[0], 0)
    equal(run("diff", paths[0], paths[1], "--fail-on", "*>+0", "--fail-on", "*<+0")[0], 0)
    status, out, _ = run("diff", paths[0], paths[2], "--fail-on", "cycles>+0.1%")
    equal(status, 1)
    contains(out, "l1d.size", "<== cycles>+0.1%")


# -- the library, installed


@guest
def the_example_builds_against_the_installed_library():
    if not options.library:
        raise Skip("no build folder given")
    if not shutil.which("meson") or not shutil.which("pkg-config"):
        raise Skip("no meson or pkg-config")
    where = tempfile.mkdtemp(dir=scratch)
    done = subprocess.run(["meson", "install", "-C", options.library, "--no-rebuild", "--quiet", "--destdir", where], capture_output=True,
                          text=True, timeout=300)
    equal(done.returncode, 0, done.stderr + done.stdout)
    found = [folder for folder, _, names in os.walk(where) if "tally.pc" in names]
    equal(len(found), 1)
    env = dict(os.environ, PKG_CONFIG_PATH=found[0], PKG_CONFIG_SYSROOT_DIR=where)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "tally"], capture_output=True, text=True, env=env, timeout=60)
    equal(flags.returncode, 0, flags.stderr)
    binary = os.path.join(scratch, "count")
    compiler = os.environ.get("CC", "cc")
    done = subprocess.run([*compiler.split(), "-std=c17", "-Wall", "-Wextra", "-Werror", "-o", binary, os.path.join(ROOT, "examples", "count.c"),
                           *flags.stdout.split()], capture_output=True, text=True, timeout=120)
    equal(done.returncode, 0, done.stderr)
    library = os.path.dirname(found[0])
    done = subprocess.run([binary, options.guest], capture_output=True, text=True, env=dict(CLEAN, LD_LIBRARY_PATH=library), timeout=60)
    equal(done.returncode, 0, done.stderr)
    match = re.search(r"(\d+) instructions, (\d+) cycles", done.stdout)
    if not match:
        raise AssertionError(done.stdout)
    known = counts(report(*program())[0])
    equal((int(match[1]), int(match[2])), (known["instructions"], known["cycles"]))
    # Programs that mark regions find the header with the same flags.
    markers, include = os.path.join(scratch, "markers-installed"), [word for word in flags.stdout.split() if word.startswith("-I")]
    done = subprocess.run([CROSS, "-O2", "-static", *include, "-o", markers, os.path.join(HERE, "markers.c")], capture_output=True, text=True, timeout=120)
    equal(done.returncode, 0, done.stderr)
    equal(regions(report("--markers", "-e", "instructions", "--", markers)[0])["outer"][0], 3)


# -- PMUs


@test
def a_machine_is_described_from_the_pipeline_outward():
    order = ["pipeline", "core", "bp", "l1i", "l1d", "l2", "itlb", "dtlb", "l2tlb", "tlb", "walk_cache", "mem"]
    for name in ("rocket", "lowrisc2", "u74", "tiny", "netburst", "ooo", "cloud4", "a53", "a53x4"):
        text = run("describe", "machine", name)[1]
        equal(re.findall(r"^(\w+):", text, re.MULTILINE)[:3], ["name", "summary", "isa"], name)
        sections = re.findall(r"^(\w+):$", text, re.MULTILINE)
        equal(sections[:len(order)], order, name)
        keys = [row["key"] for row in json.loads(run("describe", "machine", name, "--format", "json")[1])["keys"]]
        starts = [key.split(".")[0] for key in keys if "." in key]
        equal(list(dict.fromkeys(starts)), sections, name + ", JSON")


@test
def keys_of_a_detailed_core_are_told_where_there_is_one():
    rocket, ooo = (run("describe", "machine", name)[1] for name in ("rocket", "ooo"))
    equal(re.search(r"^core:\n((?:  .*\n)*)", rocket, re.MULTILINE)[1], "  kind: in_order\n")
    contains(ooo, "  rob: 192\n", "  kind: tage\n", "  max_history: 640\n")
    contains(run("describe", "machine", "--set", "core.rob=64")[1], "core:\n  kind: in_order\n  rob: 64\n")
    fails(["stat", "-m", "rocket", "-M", "mlp", "--", "true"], 2, "'mlp' needs a unit core, which this machine does not have")


@guest
def a_detailed_core_tells_slots_wrong_paths_and_replays():
    text = os.path.join(scratch, "detailed.txt")
    equal(stat("-m", "netburst", "-o", text, *program("spin", 1000))[0], 0)
    with open(text, encoding="utf-8") as told:
        told = told.read()
    contains(told, " Top-down: retiring", " Level 2: ", " Rename slots: ", " Wrong paths: insns ", " Replay: replayed ", " In flight: mlp ")
    records = report("-m", "netburst", "-M", "slots,topdown2,topdown", "-e", "core.*", *program("spin", 1000))[0]
    values = {r["metric"]: r["value"] for r in records if r["type"] == "metric"}
    slots = sum(value for name, value in values.items() if name.startswith("slots_"))
    if not 99.9 < slots < 100.1:  # but for uops in flight
        raise AssertionError(f"slots sum to {slots}")
    count = counts(records)
    equal(count["core.rename_uop"] + sum(count["core.slot_" + why] for why in ("fetch", "resolve", "alone", "full", "parted")),
          3 * count["core.run_cycle"])
    signals = [line.split()[0] for line in run("list", "signals", "-m", "netburst")[1].splitlines() if line.startswith("  ")]
    if sum(name.split(".")[0] in ("core", "bsq") for name in signals) < 120:
        raise AssertionError(signals)
    # Beside a core in order, only what both have is compared; keys of the one are no differences.
    for name in ("rocket", "ooo"):
        equal(stat("-m", name, "-j", "-o", os.path.join(scratch, name + ".json"), *program("spin", 1000))[0], 0)
    status, out, err = run("diff", os.path.join(scratch, "rocket.json"), os.path.join(scratch, "ooo.json"))
    equal(err, "")
    contains(out, "core.kind: in_order -> out_of_order", "cycles", "ipc")
    equal("core.rob:" in out, False, out)
    # Two detailed cores share their keys and their signals, and a gate holds between them.
    equal(stat("-m", "netburst", "-j", "-o", os.path.join(scratch, "netburst.json"), *program("spin", 1000))[0], 0)
    both = [os.path.join(scratch, name + ".json") for name in ("ooo", "netburst")]
    status, out, err = run("diff", "-a", *both)
    equal((status, err), (0, ""))
    contains(out, "core.rob: 192 -> 126", "core.rename_uop", "core.in_vain", "bsq.read", "slots_full")
    equal(run("diff", *both, "--fail-on", "instructions>+0%")[0], 0)
    equal(run("diff", *both, "--fail-on", "core.replay>+1%")[0], 1)
    one, other = ({r["metric"]: r["value"] for r in report("-m", name, "-M", "ipc,slots,stalls,wrong_path,replay,parallelism,topdown", *program("spin", 1000))[0]
                   if r["type"] == "metric"} for name in ("ooo", "netburst"))
    equal(list(one), list(other))


@guest
def detailed_cores_refuse_what_cannot_be():
    rows = (
        # Impossible structures.
        ("ooo", "core.rob=2", "must be at least core.rename = 4 and core.retire = 4"),
        ("netburst", "core.rob=5", "must be at least 6, because core.threads = 2 and each has a half"),
        ("netburst", "core.memory_queue=1", "must be at least 2, because core.threads = 2 and each has a half"),
        *(("ooo", f"core.{kind}_ports=0", "must be between 1 and 255")
          for kind in ("alu", "shift", "branch", "mul", "fp", "move", "load", "store", "data")),
        ("ooo", "core.alu_ports=256", "must be between 1 and 255"),
        ("ooo", "core.fast_ports=16", "must be part of core.alu_ports = 15"),
        ("ooo", "core.rename=0", "must be between 2 and 16"),
        ("ooo", "core.trace=100", "must be 0, or core.trace_ways * core.trace_line = 48 times a power of two"),
        ("ooo", "core.replay=5", "core.replay_miss is 0, and either both are 0 or none is"),
        ("ooo", "core.alias_bits=5", "must be 0, or 12 and more"),
        ("ooo", "core.kind=vliw", "must be in_order or out_of_order"),
        ("ooo", "bp.kind=perceptron", "must be bht, gshare, btfn, not_taken or tage"),
        ("ooo", "bp.max_history=5", "must be at least"),
        ("ooo", "dtlb.shared=1", "needs core.threads: 2", "set dtlb.shared: 0"),
        # More threads than there can be.
        ("ooo", "core.threads=3", "must be between 1 and 2"),
        ("netburst", "harts=9", "must be between 1 and 8"),
        # Keys of the other kind of core.
        ("ooo", "isa=aarch64", "choose core.kind: in_order"),
        ("a53", "core.kind=out_of_order", "choose core.kind: in_order"),
        ("rocket", "bp.kind=tage", "choose bht or gshare for a core in order"),
        ("rocket", "l2.streams=8", "needs core.kind: out_of_order, as machines netburst and ooo have"),
        ("rocket", "core.rob=64", "machine rocket has an in-order core", "such as ooo"),
    )
    for machine, setting, *parts in rows:
        key, value = setting.split("=")
        fails(["stat", "-m", machine, "--set", setting, *program("spin", 10)], 2, key, value, *parts)
    path = os.path.join(scratch, "narrow.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write("name: narrow\nbase: netburst\ncore:\n  rob: 2\n")
    fails(["stat", "-m", path, *program("spin", 10)], 2, "narrow.yaml:4: core.rob = 2: must be at least core.rename = 3 and core.retire = 3")


@guest
def features_of_in_order_cores_are_refused_on_detailed_ones():
    tenants = os.path.join(scratch, "detailed-tenants.yaml")
    with open(tenants, "w", encoding="utf-8") as out:
        out.write(f"machine: ooo\nvms:\n  - name: a\n    contexts:\n      - name: c\n        program: {options.guest}\n")
    for machine in ("ooo", "netburst"):
        for engine in ("translate", "interp", "step"):
            fails(["stat", "-m", machine, "--engine", engine, *program("spin", 10)], 2, f"machine {machine} has a detailed core", "leave --engine away")
        fails(["compare", "-m", machine, *program("spin", 10)], 2, f"machine {machine} has a detailed core", "core.kind: in_order")
        fails(["stat", "-m", machine, "--sample", "1000/1M", "-P", "rvhpm", *program("spin", 10)], 2, "leave -P away")
    fails(["tenants", tenants], 2, "machine ooo has a detailed core", "core.kind: in_order")


@guest
def threads_take_turns_on_the_hardware_threads_there_are():
    expected = run("stat", "-o", os.devnull, *program("threads", 300))[:2]
    for words in (["-m", "ooo"], ["-m", "netburst"], ["-m", "ooo", "--harts", "2", "--set", "core.threads=2"]):
        equal(run("stat", "-o", os.devnull, *words, *program("threads", 300))[:2], expected, " ".join(words))


class Kanata:
    """A log of format 0004, read by its definition: lines of commands, one stage of a lane at a time."""

    def __init__(self, path):
        self.uops, self.ended, cycle = {}, [], None
        with open(path, encoding="utf-8") as lines:
            equal(lines.readline(), "Kanata\t0004\n")
            for line in lines:
                command, *words = line.rstrip("\n").split("\t")
                if command == "C=":
                    equal(cycle, None, line)
                    cycle = int(words[0])
                elif command == "C":
                    if int(words[0]) <= 0:
                        raise AssertionError(line)
                    cycle += int(words[0])
                elif command == "I":
                    equal(int(words[0]), len(self.uops), line)
                    self.uops[int(words[0])] = {"insn": int(words[1]), "stages": [], "label": "", "vain": [], "end": None, "open": None}
                else:
                    self.of_uop(self.uops[int(words[0])], command, words, cycle, line)

    def of_uop(self, uop, command, words, cycle, line):
        if uop["end"]:
            raise AssertionError("behind its end: " + line)
        if command == "L" and words[1] == "0":
            uop["label"] += words[2]
        elif command == "L":
            uop["vain"].append(words[2].strip()[-1])
        elif command == "S":
            equal((uop["open"], words[1]), (None, "0"), line)
            uop["open"] = words[2]
            uop["stages"].append((words[2], cycle))
        elif command == "E":
            equal(uop["open"], words[2], line)
            uop["open"] = None
        elif command == "R":
            equal(uop["open"], None, line)
            uop["end"] = (cycle, words[2] == "0")
            self.ended.append(uop)
        else:
            raise AssertionError("unknown command: " + line)

    def names(self, uop):
        return [name for name, _ in uop["stages"]]


def record_pipeline(name, *words, deed=("spin", 300)):
    path = os.path.join(scratch, name)
    status, out, err = run("record", "--pipeline", "-o", path, *words, *program(*deed))
    equal(status, 0, err)
    return path, err


def pipeline_counts(log):
    """What a log says of the signals of unit core."""
    alone = [uop for uop in log.ended if log.names(uop) == ["Al"]]
    others = [uop for uop in log.ended if log.names(uop) != ["Al"]]
    retired, back = ([uop for uop in others if uop["end"][1] == which] for which in (True, False))
    rounds = [[name for name in log.names(uop) if name in ("Rp", "Ex")] for uop in others]
    return {"fetch_insn": len({uop["insn"] for uop in others}), "retire_insn": len({uop["insn"] for uop in retired}),
            "taken_back_insn": len({uop["insn"] for uop in back}), "retire_uop": len(retired),
            "taken_back_uop": sum("Rn" in log.names(uop) for uop in back), "rename_uop": sum("Rn" in log.names(uop) for uop in others),
            "dispatch": sum(len(names) for names in rounds), "replay": sum(max(0, len(names) - 1) for names in rounds),
            "in_vain": sum(names.count("Rp") for names in rounds), "in_vain_source": sum(uop["vain"].count("o") for uop in others),
            "in_vain_miss": sum(uop["vain"].count("m") for uop in others), "in_vain_tlb": sum(uop["vain"].count("t") for uop in others),
            "in_vain_store": sum(uop["vain"].count("s") for uop in others), "in_vain_split": sum(uop["vain"].count("x") for uop in others), "alone": sum(uop["end"][1] for uop in alone),
            "alone_trap": sum(not uop["end"][1] for uop in alone)}


@guest
def a_pipeline_is_recorded_uop_by_uop():
    for machine in ("netburst", "ooo"):
        path, err = record_pipeline("trace.kanata", "-m", machine, "--limit", "100M")
        log = Kanata(path)
        contains(err, f"{path} has {len(log.uops)} uops of ")
        equal([uop for uop in log.uops.values() if not uop["end"]], [])
        signals = counts(report("-m", machine, "-e", "core.*", *program("spin", 300))[0])
        for name, value in pipeline_counts(log).items():
            equal(value, signals["core." + name], f"{machine}: {name}")
        if machine == "netburst" and not signals["core.replay"]:
            raise AssertionError("nothing was replayed")
        for uop in log.ended:
            names, cycles = log.names(uop), [cycle for _, cycle in uop["stages"]]
            if not re.fullmatch(r"Al|F( Rn( Rp)*( Ex( Cm)?)?)?", " ".join(names)):
                raise AssertionError(names)
            if "Al" not in names and (cycles[:2] != sorted(set(cycles[:2])) or cycles != sorted(cycles)):
                raise AssertionError(uop)
            if uop["end"][1] and "Al" not in names and "Cm" not in names:
                raise AssertionError(uop)
        retired = [uop["insn"] for uop in log.ended if uop["end"][1]]
        equal(retired, sorted(retired), "order of retirement")
        # The text says the same in the same order.
        text, _ = record_pipeline("trace.txt", "-m", machine, "--limit", "100M", "--format", "text")
        with open(text, encoding="utf-8") as lines:
            rows = [line.split(None, 9) for line in lines if not line.startswith("#")]
        equal(len(rows), len(log.ended))
        for row, uop in zip(rows, log.ended):
            at = dict(uop["stages"])
            if row[5] in ("alone", "trap"):
                equal((int(row[0]), int(row[4])), (at["Al"], uop["end"][0]), str(row))
                continue
            for column, stage in ((0, "F"), (1, "Rn"), (2, "Ex"), (3, "Cm")):
                equal(row[column], str(at.get(stage, "-")), f"{stage} of {row}")
            equal((int(row[4]), row[5] == "retire"), uop["end"], str(row))
            equal(row[7] == "-", "Rp" not in at, str(row))
            equal(uop["label"].split(":")[0], row[8])


@guest
def a_record_of_the_pipeline_is_bounded_and_may_be_of_one_region():
    path, err = record_pipeline("few.kanata", "--limit", "100")
    equal(len({uop["insn"] for uop in Kanata(path).uops.values()}), 100)
    contains(err, "the trace ends after 100 instructions; --limit N allows more, and --roi FUNCTION picks what to trace")
    path, err = record_pipeline("roi.kanata", "--roi", "main")
    whole, _ = record_pipeline("whole.kanata", "--limit", "100M")
    part, all_of_it = Kanata(path), Kanata(whole)
    if not 0 < len(part.uops) < len(all_of_it.uops):
        raise AssertionError(f"{len(part.uops)} of {len(all_of_it.uops)} uops")
    labels = {uop["label"] for uop in all_of_it.uops.values()}
    equal([uop["label"] for uop in part.uops.values() if uop["label"] not in labels], [])
    path, _ = record_pipeline("late.kanata", "--fast-forward", "5k", "--limit", "100M")
    signals = counts(report("-m", "ooo", "--fast-forward", "5k", "-e", "core.*", *program("spin", 300))[0])
    for signal, value in pipeline_counts(Kanata(path)).items():
        equal(value, signals["core." + signal], signal)
    contains(record_pipeline("none.kanata", "--roi", "abort")[1], "abort was never reached", "none.kanata has 0 uops")
    equal(len(Kanata(os.path.join(scratch, "none.kanata")).uops), 0)


def sampled(*words, deed=("spin", 200000), machine="ooo"):
    records = report("-m", machine, *words, *program(*deed))[0]
    return records, next((r for r in records if r["type"] == "sampling"), None)


def kinds_of(records):
    return {r["event"]: (r["kind"], r["value"]) for r in records if r["type"] == "event" and r["scope"] == "machine"}


@guest
def a_fast_forward_counts_what_comes_behind_it():
    whole = kinds_of(sampled()[0])
    for machine in ("ooo", "netburst"):
        insns = counts(sampled(machine=machine)[0])["instructions"]
        records = sampled("--fast-forward", "100k", machine=machine)[0]
        equal(counts(records)["instructions"], insns - 100000)
        equal(next(r["identities"] for r in records if r["type"] == "end"), "hold")
        text = stat("-m", machine, "--fast-forward", "100k", *program("spin", 200000))
        contains(text[2], "Counted behind 100,000 instructions that the fast engine executed.")
    # From a function on: the in-order machine counts as much between it and the end.
    inside = kinds_of(sampled("--fast-forward", "main")[0])
    before = whole["instructions"][1] - inside["instructions"][1]
    equal(counts(sampled("--fast-forward", str(before))[0])["instructions"], inside["instructions"][1])
    equal(counts(sampled("--fast-forward", str(before))[0])["cycles"], inside["cycles"][1])
    if not 0 < before < whole["instructions"][1]:
        raise AssertionError(before)
    # Never reached: everything was forwarded.
    records = sampled("--fast-forward", "marker")[0]
    equal(counts(records)["instructions"], 0)


@guest
def a_sampled_run_counts_instructions_and_estimates_time():
    exact = ("instructions", "branches", "syscalls", "page-faults", "hart.insn_load", "hart.load_bytes", "bp.return")
    for machine in ("ooo", "netburst"):
        # Page faults are rare and long, so no window need see one: the start is left out, and a long loop follows.
        deed = ("spin", 1000000)
        whole = kinds_of(sampled("--fast-forward", "50k", machine=machine, deed=deed)[0])
        records, sampling = sampled("--fast-forward", "50k", "--sample", "500/5k/1000", machine=machine, deed=deed)
        parts = kinds_of(records)
        for name in exact:
            equal(parts[name], whole[name], name)
        equal(parts["cycles"][0], "estimate")
        equal(next(r["kind"] for r in records if r.get("metric") == "ipc"), "estimate")
        equal(next(r["identities"] for r in records if r["type"] == "end"), "hold")
        equal((sampling["window"], sampling["stretch"], sampling["warm_up"]), (500, 5000, 1000))
        insns = sampling["instructions"]
        equal(insns, whole["instructions"][1])
        equal(sampling["windows"], (insns - 2500 - 1500) // 6500 + 1)
        equal(sampling["detailed"], 1500 * sampling["windows"] + (1000 if (insns - 2500) % 6500 >= 1000 and (insns - 2500) % 6500 < 1500 else 0))
        equal(parts["core.forward_insn"][0], "truth")
        # The estimate is the mean, and the truth is not far.
        if abs(parts["cycles"][1] / insns - sampling["cpi"]) > 1e-3:
            raise AssertionError(f"{parts['cycles']} cycles, CPI {sampling['cpi']}")
        truth = whole["cycles"][1] / insns
        if abs(sampling["cpi"] - truth) > max(3 * sampling["half_width"], 0.03 * truth):
            raise AssertionError(f"{machine}: CPI {truth}, estimated {sampling['cpi']} +- {sampling['half_width']}")
    text = stat("-m", "ooo", "--sample", "500/5k", *program("spin", 200000))[2]
    contains(text, "windows of 500 instructions in detail, each behind 2,000 to warm up, and 5,000 between them", "with 95 % confidence")
    contains(re.sub(" +", " ", text), " ~")
    csv = stat("-m", "ooo", "--csv", "--sample", "500/5k", *program("spin", 200000))[2]
    contains(csv, "run,sampling.cpi,", ",,estimate,", "machine,instructions,")
    few = stat("-m", "ooo", "--sample", "500/100G", *program("spin", 1000))[2]
    contains(few, "No window was complete, so nothing is estimated: take shorter stretches.")
    # Both together; all again gives the same.
    equal(sampled("--fast-forward", "50k", "--sample", "500/5k"), sampled("--fast-forward", "50k", "--sample", "500/5k"))


@guest
def the_pentium_4_counts_first_touches_and_kernel_time():
    # Programs that touch pages for the first time execute alone; a program that sleeps is woken up by its kernel.
    branches = "branch_retired:MMNP+MMNM+MMTP+MMTM,global_power_events:RUNNING"
    for deed in (["pages"], ["sleep", 0], ["sleep", 1]):
        for events in (branches + ",memory_loads", branches + ",memory_stores"):
            errors = {r["event"]: (r["value"], r["truth"]) for r in report("-m", "netburst", "-P", "netburst", "-e", events, *program(*deed))[0]
                      if r.get("kind") == "pmu" and r["scope"] == "machine"}
            equal(len(errors), 3, errors)
            equal({name: value for name, (value, truth) in errors.items() if value != truth or not int(truth)}, {}, " ".join(map(str, deed)))


@guest
def the_pentium_4_counts_odd_numbers_of_harts():
    for harts in ("1", "3"):
        records = report("-m", "netburst", "--set", f"harts={harts}", "-P", "netburst", *program("threads", 100))[0]
        values = [(r["event"], r["value"], r["truth"]) for r in records if r.get("kind") == "pmu" and r["scope"] == "machine"]
        equal(len(values), 5, values)
        equal([row for row in values if row[1] != row[2]], [], harts)


@test
def suite_l1miss_names_the_load_that_misses():
    picture = os.path.join(scratch, "l1miss.svg")
    # docs/netburst.md holds the text.
    status, again, err = run("suite", "l1miss", "quick", "pebs", "iebs", "b", "flat", "--svg", picture, "-j")
    equal(status, 0, err)
    with open(picture, encoding="utf-8") as text:
        contains(text.read(), "800 of 800 at the load that misses", "mode +69 with 46.5 %")
    xml.etree.ElementTree.parse(picture)
    schema = json.loads(text_of("docs", "schema", "l1miss-1.json"))
    rows = [json.loads(line) for line in again.splitlines()]
    equal([violations(schema, schema, row) for row in rows], [None, None])
    equal([(row["method"], row["at_load"], row["mode"], row["interrupts"]) for row in rows], [("precise", 800, 0, 16), ("interrupt", 0, 69, 800)])
    equal((rows[0]["exact"], rows[0]["in_step"], {cell["samples"] for cell in rows[0]["cells"]}, len(rows[0]["cells"])), (800, 800, {100}, 8))
    fails(["suite", "l1miss", "huge"], 2, "huge: write a tier, quick, normal or full")
    fails(["suite", "--csv", "l1miss"], 2, "suite l1miss has no CSV")
    fails(["suite", "--insns", "9", "l1miss"], 2, "suite l1miss takes samples")
    fails(["suite", "--machine", "rocket", "l1miss"], 2, "machine rocket has no detailed core")
    fails(["suite", "--svg", picture, "hpc"], 2, "--svg draws what suites l1miss and xcm found")


@guest
def a_seed_decides_random_replacement_of_detailed_cores():
    for machine in ("ooo", "netburst"):
        random = ["-m", machine, "--set", "l1d.replacement=random", "--D1", "1024,4,64", "-e", "cycles,instructions,l1d.load_miss"]
        first, again, other = (counts(report(*random, "--seed", seed, *program("spin", 3000))[0]) for seed in ("7", "7", "8"))
        equal(first, again, machine)
        equal(first["instructions"], other["instructions"], machine)
        if first["l1d.load_miss"] == other["l1d.load_miss"] and first["cycles"] == other["cycles"]:
            raise AssertionError(f"{machine}: the seed decides nothing: {first}")


@test
def forwarding_that_cannot_be_is_refused():
    for option in (("--fast-forward", "1M"), ("--sample", "1000/1M")):
        fails(["stat", *option, "--", "true"], 2, f"{option[0]}: machine rocket has an in-order core", "such as ooo")
        for more, remedy in ((("--roi", "main"), "leave regions of interest away"), (("-I", "1M"), "leave -I away"), (("--markers",), "leave regions")):
            fails(["stat", "-m", "ooo", *option, *more, "--", "true"], 2, remedy)
    fails(["stat", "-m", "ooo", "--fast-forward", "0", "--", "true"], 2, "--fast-forward 0: write a number of instructions from 1")
    for text in ("5T", "1Mx", "12main"):
        fails(["stat", "-m", "ooo", "--fast-forward", text, "--", "true"], 2, f"--fast-forward {text}: write a number such as 1000000, 500k or 2G")
    for text in ("1000", "0/5", "5/0", "a/b", "1/2/3/4", "", "1//2"):
        fails(["stat", "-m", "ooo", "--sample", text, "--", "true"], 2, "as in 1000/1M/2000")


@guest
def records_that_cannot_be_are_refused():
    trace = os.path.join(scratch, "refused")
    fails(["record", "--pipeline", "-o", trace, "--with-sources", *program()], 2, "--with-sources are of a profile")
    fails(["record", "--pipeline", *program()], 2, "-o FILE is needed")
    fails(["record", "--pipeline", "-o", trace], 2, "no program to run; write tally record")
    fails(["record", "--pipeline", "-o", trace, "-m", "rocket", *program()], 2, "machine rocket has an in-order core", "such as ooo")
    fails(["record", "--pipeline", "-o", trace, "--format", "vcd", *program()], 2, "--format vcd: the formats are kanata and text")
    fails(["record", "--pipeline", "-o", trace, "--limit", "0", *program()], 2, "--limit 0: write a number")
    fails(["record", "--pipeline", "-o", trace, "--roi", "main", "--roi", "exit", *program()], 2, "the pipeline is recorded of one region")
    fails(["record", "--pipeline", "-o", "/no/such/folder/t", *program()], 125, "/no/such/folder/t: ", "; name a file in a folder that exists")
    fails(["record", "--pipeline", "-o", scratch, *program()], 125, f"--output {scratch}: Is a directory; name a file")
    equal(os.path.exists(trace), False)
    equal(run("record", "--pipeline", "-q", "-o", trace, *program("exit", 3))[0], 3)


@test
def pmus_are_listed_and_described():
    status, out, err = run("list", "pmus", "-j")
    equal(status, 0, err)
    listed = {row["name"]: row["events"] for row in map(json.loads, out.splitlines())}
    equal({"rvhpm:linux", "rvhpm:u74", "rvhpm:none"} <= set(listed), True, listed)
    for name, events in listed.items(): # as many of each fidelity as the PMU's own list says
        meanings = [json.loads(line)["meaning"] for line in run("list", "events", "-P", name, "-j")[1].splitlines()]
        counted = {kind: sum(re.match(rf"Selector 0x\w+, {kind.replace('_', ' ')}\.", text) is not None for text in meanings) for kind in events}
        equal((counted, sum(events.values())), (events, len(meanings)), name)
        row = next(line for line in run("list", "pmus")[1].splitlines() if line.split()[0] == name)
        equal([int(word) for word in row.split()[1:4]], [events["exact"], events["approximate"], events["not_modeled"]], name)
    status, out, _ = run("list", "events", "-P", "rvhpm:u74", "-j")
    equal(status, 0)
    rows = [json.loads(line) for line in out.splitlines()]
    if not rows or any(row["group"] != "rvhpm:u74" or "Selector 0x" not in row["meaning"] for row in rows):
        raise AssertionError(rows)
    status, out, _ = run("describe", "pmu", "rvhpm", "--format", "json")
    equal(status, 0)
    page = json.loads(out)
    equal((page["schema"], page["type"], page["name"], page["space"]), ("tally.describe/1", "pmu", "rvhpm", "CSR"))
    registers = {register["name"]: register for register in page["registers"]}
    # Privileged ISA: addresses, and the fields of mhpmevent as Sscofpmf has them
    for name, address, count in (("mcountinhibit", "0x320", 1), ("mhpmevent#", "0x323", 29), ("mcycle", "0xb00", 1), ("minstret", "0xb02", 1),
                                 ("mhpmcounter#", "0xb03", 29), ("cycle", "0xc00", 1), ("hpmcounter#", "0xc03", 29), ("scountovf", "0xda0", 1)):
        equal((registers[name]["address"], registers[name]["count"]), (address, count), name)
    equal({field["name"]: field["lsb"] for field in registers["mhpmevent#"]["fields"] if field["width"] == 1},
          {"OF": 63, "MINH": 62, "SINH": 61, "UINH": 60, "VSINH": 59, "VUINH": 58})
    for register in page["registers"]:
        equal(sum(field["width"] for field in register["fields"]), register["width"], register["name"])
    for preset in page["presets"]:
        for event in preset["events"]:
            if event["fidelity"] != "exact" and not event["note"] or event["fidelity"] == "not modeled" and event["sources"]:
                raise AssertionError(event)
    for words in (["pmu"], ["pmu", "rvhpm:u74"], ["pmu", "rvhpm", "--format", "md"], ["machine", "u74"]):
        status, out, err = run("describe", *words)
        equal((status, err), (0, ""), " ".join(words))
        contains(out, "u74")
    path = os.path.join(scratch, "mine.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(run("describe", "machine", "u74", "--harts", "2", "--D1", "16K,4,64")[1])
    equal(run("describe", "machine", path)[1], open(path, encoding="utf-8").read(), "a description reads back")
    fails(["describe"], 2, "describe what")
    fails(["describe", "pmus"], 2, "pmus")
    fails(["describe", "pmu", "rvhmp"], 2, "rvhmp", "rvhpm")
    fails(["describe", "pmu", "rvhpm:u47"], 2, "u47", "u74")
    fails(["describe", "pmu", "rvhpm", "u74"], 2, "one word too many")
    fails(["describe", "machine", "rockte"], 2, "rockte", "rocket")
    fails(["describe", "machine", "--format", "xml"], 2, "--format", "xml")
    fails(["list", "pmus", "-P", "rvhpm"], 2, "-P", "events")
    fails(["list", "events", "-P", "nothing"], 2, "nothing")


@guest
def a_pmu_with_counters_enough_reports_the_truth():
    asked = "cycles,instructions,branches,branch-misses,L1-dcache-load-misses,L1-icache-load-misses,iTLB-load-misses,dTLB-load-misses"
    records, status, err = report("-P", "rvhpm:linux", "-e", asked, *program())
    equal(status, 0, err)
    equal(records[0]["pmu"], "rvhpm:linux")
    truth = counts(report("-e", asked, *program())[0])
    events = [record for record in records if record["type"] == "event"]
    equal({event["event"]: event["value"] for event in events}, truth)
    for event in events:
        equal((event["kind"], event["truth"], event["error_vs_truth"]), ("pmu", truth[event["event"]], 0), event["event"])
        equal((event["pmu"], event["running"]), ("rvhpm:linux", event["enabled"]))
    for engine in ("step", "interp"):
        again = report("-P", "rvhpm:linux", "--engine", engine, "-e", asked, *program())[0]
        equal([record for record in again if record["type"] == "event"], events, engine)
    equal(counts(report(*program())[0])["cycles"], truth["cycles"], "a PMU that is read costs nothing")


@guest
def a_pmu_with_too_few_counters_multiplexes():
    words = ["-P", "rvhpm:u74", "-e", "instructions,branches,branch-misses,r102,r202", "--", options.guest, "spin", 30000000]
    records, status, err = report(*map(str, words))
    equal(status, 0, err)
    events = {record["event"]: record for record in records if record["type"] == "event"}
    enabled = {event["enabled"] for event in events.values()}
    equal(len(enabled), 1)
    for name, event in events.items():
        share = event["running"] / event["enabled"]
        if not 0 < share < 1:
            raise AssertionError(event)
        if event["truth"]:
            equal(round(event["error_vs_truth"], 9), round((event["value"] - event["truth"]) / event["truth"], 9), name)
    if abs(events["instructions"]["error_vs_truth"]) > 0.05:  # a steady program is well estimated
        raise AssertionError(events["instructions"])
    got, _, err = stat("-r", "2", *map(str, words))
    equal(got, 0, err)
    contains(err, "as perf has them from pmu rvhpm:u74", "on a counter", "2 runs, all counts identical")
    lines = stat("-x", ",", *map(str, words))[2].splitlines()
    equal([line.split(",")[2] for line in lines], list(events))
    # a run shorter than a turn: what was not first was never on a counter
    records = report("-P", "rvhpm:u74", "-e", "branches,branch-misses,r102", "--max-insns", "1000", *program())[0]
    last = [record for record in records if record["type"] == "event"][-1]
    equal((last["value"], last["running"], last["error_vs_truth"]), (None, 0, None))
    contains(last["reason"], "never on a counter")


@guest
def what_a_pmu_cannot_do_is_refused():
    prog = program()
    fails(["stat", "-P", "nothing", *prog], 2, "nothing", "rvhpm")
    fails(["stat", "-P", "rvhpm:u47", *prog], 2, "u47", "u74")
    fails(["stat", "-P", "", *prog], 2, "-P")
    fails(["stat", "-P", "rvhpm:u74", "-e", "cache-references", *prog], 2, "cache-references", "tally list events -P rvhpm:u74")
    fails(["stat", "-P", "rvhpm:u74", "-e", "cycels", *prog], 2, "cycels", "cycles")
    fails(["stat", "-P", "rvhpm:u74", "-e", "cycles:u", *prog], 2, "modifiers")
    fails(["stat", "-P", "rvhpm:u74", "-e", "r203", *prog], 2, "r203")
    fails(["stat", "-P", "rvhpm:u74", "-M", "ipc", *prog], 2, "metrics")
    fails(["stat", "-P", "rvhpm:none", "-e", "branches", *prog], 2, "branches")
    fails(["stat", "-P", "rvhpm", "--bare", bare(PASS)], 2, "belongs to the guest")
    fails(["boot", "-P", "rvhpm", "--kernel", "x"], 2, "-P")


# -- the distributed counters, read by software


def bench_folder():
    """A bench with one program, as bench/workloads/build.sh would leave it."""
    folder = os.path.join(scratch, "bench", "riscv64")
    if not os.path.exists(folder):
        os.makedirs(folder)
        subprocess.run([CROSS, "-O2", "-static", "-o", os.path.join(folder, "sort"), os.path.join(ROOT, "guest", "kernels", "sort.c")], check=True)
    return os.path.dirname(folder)


def suite(*words):
    status, out, err = run("suite", "dhpc", "--bench", bench_folder(), "--insns", "300k", *words, "sort")
    equal((status, err), (0, ""), " ".join(words))
    return out


def one_reading(*words):
    reading = json.loads(suite("-j", *words))
    return reading, {(v["unit"], v["event"]): v for v in reading["values"]}


SUITE_SIGNALS = {"l1i": {"reads": "read", "readmisses": "miss"},
                 "l1d": {"reads": "load", "readmisses": "load_miss", "writes": "store", "writemisses": "store_miss", "writebacks": "writeback"},
                 "l2": {"reads": "read", "readmisses": "readmiss", "writes": "write", "writemisses": "writemiss", "writebacks": "writeback"}}


@guest
def the_suite_reads_what_the_machine_counts():
    reading, values = one_reading()
    equal((reading["schema"], reading["program"], reading["machine"]), ("tally.suite/1", "sort", "lowrisc2"))
    equal((reading["instructions"], reading["identity_holds"], reading["largest_error"]), (300000, True, 0))
    equal(sorted({v["unit"] for v in values.values()}),
          ["hart0", "hart0.l1d", "hart0.l1i", "hart1", "hart1.l1d", "hart1.l1i", "l2.0", "l2.1"])
    # What the reader found in hpcr is what the machine had counted in the cycle of the sample: every counter, to the last digit.
    for value in values.values():
        equal(value["value"], value["truth"], str(value))
    # And where the program was stopped, the suite's machine is that of tally stat.
    records, status, err = report("--machine", "lowrisc2", "--per-unit", "--per-hart", "--max-insns", "300k", "--",
                                  os.path.join(bench_folder(), "riscv64", "sort"), "1000000")
    equal(status, 0, err)
    n_compared = 0
    for (unit, event), value in values.items():
        kind = "l2" if unit.startswith("l2") else unit[6:]
        if event in SUITE_SIGNALS.get(kind, {}):
            equal(value["program"], counts(records, unit)[f"{kind}.{SUITE_SIGNALS[kind][event]}"], f"{unit} {event}")
            n_compared += 1
    equal(n_compared, 2 * 2 + 2 * 5 + 2 * 5)


@guest
def a_report_reads_the_distributed_counters_at_the_end():
    for machine, deed in (("rocket", ("spin", 1000)), ("lowrisc2", ("threads", 3)), ("tiny", ("spin", 1000))):
        words = ["-m", machine, *program(*deed)]
        records, status, err = report("-P", "dhpc", *words)
        equal(status, 0, err)
        equal(records[0]["pmu"], "dhpc:timed")
        harts = records[0]["harts"]
        events = [record for record in records if record["type"] == "event"]
        found = {(event["scope"], event["event"]): event["value"] for event in events}
        equal(len(found), len(events))
        for event in events:
            equal((event["value"], event["error_vs_truth"], event["running"]), (event["truth"], 0, event["enabled"]), str(event))
        equal({scope for scope, _ in found if scope.startswith("hart")}, {f"hart{hart}" for hart in range(harts)})
        # What the other harts counted is the program's alone, to the last digit; hart 0 has the reader's besides.
        plain = report("-m", machine, "--set", "hpc=timed", "--per-hart", "--per-unit", *program(*deed))[0]
        end, end_plain = records[-1], plain[-1]
        equal((end["instructions"], end["cycles"], end["identities"]), (end_plain["instructions"], end_plain["cycles"], "hold"))
        for hart in range(harts):
            l1d = counts(plain, f"hart{hart}.l1d")
            for name, signal in (("core.l1d_read", "l1d.load"), ("core.l1d_readmiss", "l1d.load_miss"), ("core.l1d_write", "l1d.store")):
                more = found[f"hart{hart}", name] - l1d[signal]
                if more < 0 or (hart > 0 and more != 0):
                    raise AssertionError(f"{machine} hart{hart} {name}: {more} more than the program's")
    asked = ["-P", "dhpc:timed", "-e", "core.instret,llc.read*,mem.read,fabric.requests"]
    text = stat(*asked, *program("spin", 10))[2]
    contains(text, "as a reader on hart 0 found them in pmu dhpc:timed", "mem.read", "The reader's own ")
    records = report(*asked, *program("spin", 10))[0]
    fabric = [record for record in records if record.get("event") == "fabric.requests"]
    equal([(record["scope"], record["truth"], record["error_vs_truth"]) for record in fabric], [("dhpc", None, None)])
    for engine in ("step", "interp"):
        again = report("--engine", engine, *asked, *program("spin", 10))[0]
        equal([record for record in again if record["type"] == "event"], [record for record in records if record["type"] == "event"], engine)
    contains(stat("-r", "2", *asked, *program("spin", 10))[2], "2 runs, all counts identical")
    # A FIFO that is too small for all of a unit's counters takes more requests.
    small = report("-P", "dhpc", "-e", "core.*", "--set", "dhpc.fifo_depth=4", *program("spin", 10))[0]
    equal({r["error_vs_truth"] for r in small if r["type"] == "event" and r["truth"] is not None}, {0})


@guest
def the_host_reads_counters_of_every_design():
    whole = ["--set", "smpm.mb_inputs=16", "--set", "smpm.ulc_ctrs=64", "--set", "smpm.ulc_lanes=2"]
    for pmu, names in (("dhpc:functional", "core.cycle,core.instret,u74.*,llc.read,mem.read"), ("ccache", "inner_get,inner_acquire_*,outer_*"),
                       ("smpm:safe", "hart.cycle,hart.instret,hart.insn_*,hart.bp_*")):
        rows = [r for r in report("-P", pmu, "-e", names, *whole, *program("spin", 10))[0] if r["type"] == "event"]
        if len(rows) < 4 or not any(r["value"] for r in rows):
            raise AssertionError(f"{pmu}: {rows}")
        # a pulse of the hierarchical counters stands for 32
        equal([r for r in rows if not 0 <= r["truth"] - r["value"] <= (31 if pmu.startswith("smpm") else 0)], [])
    for pmu, words, *parts in (("ccache", ["-e", "inner_gte"], "inner_gte", "inner_get"), ("ccache", ["-e", "outer_probe_hit"], "not modeled"),
                               ("ccache", ["--grant", "ccache", "--set", "l2.counters=6"], "os.ccache"), ("smpm", ["-I", "1ms"], "-I"),
                               ("smpm", ["-e", "hart.l1d_upgrade"], "hart.l1d_upgrade", "smpm.mb_inputs"), ("smpm", ["-e", ","], "empty")):
        fails(["stat", "-P", pmu, *words, *program()], 2, *parts)


@guest
def designs_that_count_side_by_side_count_what_each_counts_alone():
    """One run of three designs against three runs of one. Counting costs the program nothing."""
    def counted(pmus, events):
        records, status, stderr = report("-m", "netburst", "--max-insns", "60000", "--per-hart", "-P", pmus, "-e", events, *program("spin", 3000))
        equal(status, 0, stderr)
        return {(r["scope"], r["event"]): (r["value"], r["truth"], r["enabled"], r["running"]) for r in records if r["type"] == "event"}
    events = "active_cycles,retired_loads,dtlb_misses"
    rows, alone = counted("rvhpm:linux,netburst,dhpc:functional", f"{events},retired_uops,memory_clears,netburst/uops_retired:BOGUS/,rvhpm/hart.insn_jal/"), {}
    for name, pmu, others in (("rvhpm", "rvhpm:linux", ",hart.insn_jal"), ("netburst", "netburst", ",retired_uops,memory_clears,uops_retired:BOGUS"), ("dhpc", "dhpc:functional", "")):
        alone |= {(scope, f"{name}/{event}/"): value for (scope, event), value in counted(pmu, events + others).items()}
    equal(rows, alone)
    names = list(dict.fromkeys(event for scope, event in rows if scope == "machine"))
    equal(names[:3] + [name for name in names if "uops" in name],
          ["rvhpm/active_cycles/", "netburst/active_cycles/", "dhpc/active_cycles/", "netburst/retired_uops/", "netburst/uops_retired:BOGUS/"])
    for pmus, parts in (("netburst,netburst", ["name it once"]), ("dhpc,netburst", ["pmu dhpc is read once, at the end"]), (",", ["an empty list"]),
                        ("netburst,rvhpm:foo", ["has no preset foo"])):
        fails(["stat", "-m", "netburst", "-P", pmus, *program()], 2, *parts)
    for events, part in (("uops_retired:NBOGUS", "as rvhpm/EVENT/"), ("cancelled_uops", "none of these designs counts it"), ("netburst/uops_retired:NBOGUS/", "as rvhpm/EVENT/")):
        fails(["stat", "-m", "netburst", "-P", "rvhpm:linux,dhpc:functional", "-e", events, *program()], 2, part)
    fails(["record", "-m", "netburst", "-P", "netburst,rvhpm:linux", "-c", "9", *program()], 2, "one design samples at a time")


@guest
def a_core_of_one_thread_has_the_detectors_of_the_pentium_4():
    events = "global_power_events:RUNNING,branch_retired:MMNP+MMNM+MMTP+MMTM,replay_event:l1_load_miss"
    records, status, stderr = report("-m", "ooo", "-P", "netburst", "-e", events, *program("spin", 1000))
    equal(status, 0, stderr)
    rows = [r for r in records if r["type"] == "event"]
    equal([(r["event"], r["error_vs_truth"], r["value"] > 0) for r in rows], [(event, 0, True) for event in events.split(",")])


@guest
def portable_events_are_sums_of_a_design_s_own():
    own = "hart.insn_load,hart.insn_fp_load,hart.insn_lr,hart.insn_amo"
    rows = {r["event"]: r for r in report("-P", "rvhpm:linux", "-e", f"retired_loads,{own},stalled_cycles,hart.cycle,hart.cyc_issue",
                                          *program("spin", 1000))[0] if r["type"] == "event"}
    equal(list(rows), [*own.split(","), "hart.cycle", "hart.cyc_issue", "retired_loads", "stalled_cycles"])
    equal(rows["retired_loads"]["value"], sum(rows[name]["value"] for name in own.split(",")))
    equal(rows["stalled_cycles"]["value"], rows["hart.cycle"]["value"] - rows["hart.cyc_issue"]["value"])
    equal({r["error_vs_truth"] for r in rows.values()}, {0})
    # read at the end, by instructions of the machine
    rows = {r["event"]: r for r in report("-P", "dhpc", "-e", "retired_branches,retired_loads,u74.j*", *program("spin", 10))[0] if r["type"] == "event"}
    equal(sorted(rows), ["retired_branches", "retired_loads", "u74.jal", "u74.jalr"])
    equal(rows["retired_branches"]["error_vs_truth"], 0)
    equal(rows["retired_loads"]["truth"], None)
    for pmu, name, *parts in (("ccache", "retired_loads", "second level only"), ("rvhpm:u74", "retired_loads", "-P rvhpm:linux"),
                              ("rvhpm:linux", "retired_uops", "uops"), ("rvhpm:linux", "retired_laods", "retired_laods")):
        fails(["stat", "-P", pmu, "-e", name, *program()], 2, *parts)
    fails(["list", "--portable"], 2, "tally list events --portable")
    contains(run("list", "events", "--portable", "retired_returns")[1], "Exact: rvhpm", "Impossible: ccache, dhpc, smpm.")
    contains(run("list", "events", "--portable", "-P", "dhpc", "stalled_cycles")[1], "Exact: core.cycle - stack.cyc_issue.")


@guest
def what_the_distributed_counters_cannot_do_is_refused():
    for words, *parts in ((["-e", "core.cylce"], "core.cylce", "core.cycle"), (["-e", "core.cycle:u"], "modifiers", "stack.cycle_u"),
                          (["-e", "{core.cycle}"], "no groups"), (["-e", "core.x*"], "core.x*", "tally list events -P dhpc"), (["-e", ","], "empty"),
                          (["-I", "1ms"], "-I"), (["--roi", "main"], "--roi"), (["-M", "ipc"], "metrics"),
                          (["--set", "hpc=functional"], "-P dhpc:timed"), (["--set", "dhpc.core_events=1", "-e", "core.instret"], "core.instret", "rocket")):
        fails(["stat", "-P", "dhpc", *words, *program()], 2, *parts)
    fails(["stat", "-P", "dhpc:functional", "-I", "1ms", *program()], 2, "-I")
    fails(["stat", "-P", "dhpc:functional", "-e", "core.cylce", *program()], 2, "core.cylce", "core.cycle")
    for machine in ("rocket", "lowrisc2", "u74", "tiny"):
        contains(run("list", "events", "-P", "dhpc", "-m", machine)[1], "core.cycle", "llc.read", "mem.read", "directory.cores")


@guest
def every_line_of_the_suite_follows_its_schema():
    with open(os.path.join(ROOT, "docs", "schema", "suite-1.json"), encoding="utf-8") as text:
        schema = json.load(text)
    for words in ([], ["-m", "u74", "--set", "hpc=timed"], ["--set", "dhpc.core_events=7"]):
        for line in suite("-j", *words).splitlines():
            wrong = violations(schema, schema, json.loads(line))
            if wrong:
                raise AssertionError(f"{wrong}: {line}")


@guest
def the_suite_s_reader_disturbs_only_what_it_says():
    reading, values = one_reading()
    cost = reading["cost"]
    equal((cost["values"], cost["requests"]), (34, 4))
    # Registers only: no load; a store for each value, and two for hpcm and hpcc of each request, after its last value is read.
    equal((cost["l1d_reads"], cost["l1d_writes"], cost["l1d_misses"], cost["l1i_misses"]), (0, 34 + 2 * 4, 0, 0))
    equal(values["hart0.l1d", "reads"]["value"], values["hart0.l1d", "reads"]["program"])
    # Into machine mode and back: pipeline.trap; then MRET issues in a cycle and drains like a CSR access (pipeline.csr).
    equal(cost["trap_cycles"], 5 + 1 + 4)
    if not 34 * 5 < cost["instructions"] < 34 * 10:
        raise AssertionError(f"{cost['instructions']} instructions for 34 values")
    equal({e: v["value"] for (u, e), v in values.items() if u == "hart1"}, {"cycles": 0, "instructions": 0})


@guest
def reads_of_l2_are_misses_of_l1():
    for words in ([], ["--machine", "u74", "--set", "hpc=timed"], ["--machine", "tiny", "--set", "hpc=timed"], ["--harts", "4", "--set", "l2.slices=4"]):
        reading, values = one_reading(*words)
        reads = sum(v["value"] for (u, e), v in values.items() if u.startswith("l2") and e == "reads")
        misses = sum(v["value"] for (u, e), v in values.items() if u.startswith("hart") and e in ("readmisses", "writemisses", "prefetches"))
        uncached = sum(v["value"] for (u, e), v in values.items() if e == "uncached reads")
        equal((reads, True), (misses + uncached, reading["identity_holds"]), " ".join(words))
        equal(reading["largest_error"], 0, " ".join(words))


@guest
def the_suite_says_the_same_in_every_format_and_engine():
    _, values = one_reading()
    equal(len({suite("-j", "--engine", engine) for engine in ("step", "interp", "translate" if platform.machine() == "x86_64" else "interp")}), 1)
    rows = list(csv.DictReader(io.StringIO(suite("--csv"))))
    equal([(r["unit"], r["event"], int(r["value"]), int(r["truth"]), int(r["value_before_reader"])) for r in rows],
          [(u, e, v["value"], v["truth"], v["program"]) for (u, e), v in values.items()])
    text = suite()
    contains(text, "sort on lowrisc2: 300,000 instructions", "largest difference from truth: 0;", "L2 reads ", " = L1I and L1D misses ")
    contains(text, *[f"{v['value']:,}" for (u, e), v in values.items() if e in ("cycles", "instructions", "reads", "readmisses")])


@guest
def the_fabric_is_built_as_its_keys_say():
    usual, values = one_reading()
    equal(usual["hpc"], None)
    for words, changed in (
            (["dhpc.t_req=11"], 4 * 10), (["dhpc.t_grant=11"], 4 * 10), (["dhpc.t_lookup=11"], 4 * 10), (["dhpc.t_resp=11"], 4 * 10),
            (["dhpc.beat=100"], (34 - 4) * 90), (["dhpc.sampling=snapshot"], None), (["dhpc.ctxsw_policy=never"], 0), (["dhpc.fifo_depth=11"], 0),
            (["dhpc.csr_base=0x810", "dhpc.csr_read_base=0xcd0"], 0), (["dhpc.strict_user=on"], 0), (["dhpc.user_classes=1"], 0)):
        reading, _ = one_reading(*[word for setting in words for word in ("--set", setting)])
        equal((reading["largest_error"], reading["identity_holds"]), (0, True), " ".join(words))
        equal(reading["hpc"].count(" = "), len(words), str(reading["hpc"]))
        more = reading["cost"]["cycles"] - usual["cost"]["cycles"]
        if changed == 0:
            equal(more, 0, " ".join(words))
        elif changed is not None and more < changed // 2:
            raise AssertionError(f"{words}: {more} cycles more, about {changed} expected")
    # Counters that are left out are not there; what is built keeps its bit.
    _, fewer = one_reading("--set", "dhpc.core_events=0xe", "--set", "dhpc.slice_events=1")
    equal({key for key in fewer if key[0] in ("hart1", "hart1.l1i", "hart1.l1d")}, {("hart1", "instructions"), ("hart1.l1i", "reads"), ("hart1.l1i", "readmisses")})
    equal({key for key in fewer if key[0] == "l2.0"}, {("l2.0", "reads")})
    text = stat("--set", "hpc=timed", "--set", "dhpc.beat=7", "--set", "dhpc.strict_user=on", *program("spin", 10))[2]
    contains(text, " Distributed counters with dhpc.beat = 7, dhpc.strict_user = on.")
    text = stat("--set", "dhpc.beat=7", *program("spin", 10))[2]
    if "Distributed" in text:
        raise AssertionError("a machine without distributed counters has none to speak of")


@test
def keys_of_the_fabric_have_ranges():
    for setting, says in (("dhpc.t_req=0", "between 1 and"), ("dhpc.t_resp=0", "between 1 and"), ("dhpc.beat=0", "between 1 and"),
                          ("dhpc.fifo_depth=0", "between 1 and 1024"), ("dhpc.fifo_depth=1025", "between 1 and 1024"),
                          ("dhpc.ctxsw_policy=traps", "trap"), ("dhpc.sampling=alive", "live"), ("dhpc.strict_user=1", "off"),
                          ("dhpc.csr_base=0x700", "2048"), ("dhpc.csr_read_base=0xc00", "3264"), ("dhpc.user_classes=256", "255"),
                          ("os.hpc=grant", "granted"), ("dhpc.baet=2", "dhpc.beat")):
        fails(["describe", "machine", "--set", setting], 2, setting.split("=", maxsplit=1)[0], says)


@test
def the_cost_is_the_sum_of_its_parts():
    cost = json.loads(run("describe", "pmu", "dhpc", "--cost", "-m", "lowrisc2", "--format", "json")[1])
    for unit, total in (("bits", "state_bits"), ("wires", "wires")):
        equal(sum(part["sum"] for part in cost["parts"] if part["unit"] == unit), cost["designs"][0][total], unit)
    equal((cost["machine"], cost["harts"], cost["designs"][0]["csrs"], cost["designs"][0]["at_once"]), ("lowrisc2", 2, 3, cost["counters"]))
    equal(len(cost["sizes"]), 21)
    one = json.loads(run("describe", "pmu", "dhpc", "--cost", "--units", "8x32", "--format", "json")[1])["sizes"]
    equal([(size["units"], size["counters"]) for size in one], [(8, 32)])
    # One more hart is one more client (and a bit for each arbiter and manager to tell two harts apart); a deeper FIFO is 64 bits for each place.
    client = sum(part["each"] for part in cost["parts"] if part["part"].startswith("client"))
    single = json.loads(run("describe", "pmu", "dhpc", "--cost", "--units", "8x32", "--harts", "2", "--format", "json")[1])["sizes"]
    equal(single[0]["designs"][0]["state_bits"] - one[0]["designs"][0]["state_bits"], client + 2 * 8)
    contains(run("describe", "pmu", "dhpc", "--cost", "--set", "dhpc.sampling=snapshot")[1], "with dhpc.sampling = snapshot", "managers: snapshots")
    contains(run("describe", "pmu", "dhpc", "--cost", "--format", "md")[1], "| client: FIFO | 4,096 |", "| distributed |")
    fails(["describe", "pmu", "rvhpm", "--cost"], 2, "--cost", "pmu dhpc")
    fails(["describe", "machine", "--cost"], 2, "--cost", "pmu dhpc")
    fails(["describe", "pmu", "dhpc", "--units", "8x32"], 2, "--units", "--cost")
    fails(["describe", "pmu", "dhpc", "-m", "u74"], 2, "--machine", "--cost")
    for size in ("8", "8x", "x8", "0x4", "8x65", "1025x1", "axb"):
        fails(["describe", "pmu", "dhpc", "--cost", "--units", size], 2, "--units", size, "8x32")


@guest
def a_suite_that_cannot_run_says_what_to_do():
    there = ["suite", "dhpc", "--bench", bench_folder(), "--insns", "100k"]
    fails([*there, "-m", "rocket", "sort"], 2, "rocket", "--set hpc=timed")
    fails([*there, "--set", "hpc=functional", "sort"], 2, "hpc=timed")
    fails([*there, "--set", "hpcc=1", "sort"], 2, "hpcc")
    fails([*there, "--set", "dhpc.fifo_depth=4", "sort"], 2, "dhpc.fifo_depth = 4")
    # At once, and not behind 10^9 instructions on a detailed core.
    fails(["suite", "dhpc", "--bench", bench_folder(), "-m", "ooo", "sort"], 2, "sort: machine ooo", "--set hpc=timed")


@test
def suites_and_their_programs_are_named():
    fails(["suite"], 2, "tally suite", "dhpc")
    fails(["suite", "dhcp"], 2, "dhcp", "dhpc")
    fails(["suite", "dhpc", "sotr"], 2, "sotr", "sort")
    fails(["suite", "dhpc", "--insns", "0"], 2, "--insns 0", "10G")
    fails(["suite", "dhpc", "--insns", "11G"], 2, "--insns 11G", "10G")
    fails(["suite", "dhpc", "-j", "--csv"], 2, "--csv", "--json")
    fails(["suite", "dhpc", "--bench", "/nonexistent", "bzip2"], 127, "bzip2", "bench/workloads/build.sh")


# -- three designs of counters, compared


def compare(*words):
    """Records of tally compare -j, by type."""
    status, out, err = run("compare", "-j", *words, timeout=600)
    equal((status, err), (0, ""), " ".join(words))
    records = {}
    for line in out.splitlines():
        record = json.loads(line)
        records.setdefault(record["type"], []).append(record)
    return records


SPIN = ("--no-sweeps", "--phases", "2", "--interval", "5k")


@guest
def comparisons_follow_the_schema():
    plot = os.path.join(scratch, "compare.svg")
    with open(os.path.join(ROOT, "docs", "schema", "compare-1.json"), encoding="utf-8") as text:
        schema = json.load(text)
    for words in (SPIN, ("--pmu", "dhpc", "--events", "5", *SPIN), ("--insns", "50k", "--phases", "1", "--interval", "5k", "--plot", plot)):
        for records in compare(*words, *program("spin", 100000)).values():
            for record in records:
                wrong = violations(schema, schema, record)
                if wrong:
                    raise AssertionError(f"{wrong}: {record}")
    picture = xml.etree.ElementTree.parse(plot).getroot() # of the last, which has sweeps
    equal(len(picture.findall(".//{http://www.w3.org/2000/svg}polyline")), 3 + 3)


@guest
def designs_that_do_not_share_counters_are_exact():
    records = compare(*SPIN, *program("spin", 100000))
    designs = {row["design"]: row for row in records["design"]}
    equal(list(designs), ["u74", "ccache", "dhpc"])
    n_shared = 0
    for row in records["event"]:
        if row["value"] is None:
            equal((row["truth"], row["error"], bool(row["reason"])), (None, None, True), str(row))
        elif row["time_counted"] == 1:
            equal((row["value"], row["error"]), (row["truth"], 0), str(row))
        else:
            equal(row["design"], "u74")
            n_shared += 1
            if not row["least"] <= row["lower_quartile"] <= row["median"] <= row["upper_quartile"] <= row["most"]:
                raise AssertionError(row)
    for name, row in designs.items():
        equal(row["events_counted"], sum(r["design"] == name and r["value"] is not None for r in records["event"]), name)
        equal(row["n_with_error"], sum(r["design"] == name and r["value"] != r["truth"] for r in records["event"]), name)
    equal(designs["u74"]["events_counted"] - designs["u74"]["events_always"], n_shared)
    # The bus shows all that passes there, and nothing of the others.
    equal([designs[name]["values_watched"] + designs[name]["values_read"] > 0 for name in designs], [False, True, False])
    # The undisturbed run is that of tally stat, on the same machine.
    run_alone = records["run"][0]
    settings = [word for setting in run_alone["added"].split(", ") for word in ("--set", setting)]
    alone, status, err = report("--machine", "lowrisc2", *settings, "--per-unit", *program("spin", 100000))
    equal(status, 0, err)
    events = {row["event"]: row["undisturbed"] for row in records["event"]}
    equal((run_alone["instructions"], events["l2_read"], events["l2_writeback"]),
          (counts(alone)["instructions"], counts(alone)["l2.read"], counts(alone)["l2.writeback"]))


@guest
def describe_and_compare_have_one_account_of_the_hardware():
    said = re.search(r'TL_COST_SENTENCE "(.*)"', text_of("src", "result", "cost.h")).group(1)
    for words in ([], ["--machine", "u74"], ["--machine", "rocket", "--set", "harts=4", "--set", "l2.counters=9", "--set", "dhpc.fifo_depth=16"]):
        machine = words or ["--machine", "lowrisc2"]
        cost = json.loads(run("describe", "pmu", "dhpc", "--cost", *machine, "--format", "json")[1])
        accounts = {row["design"]: row for row in cost["designs"]}
        records = compare(*SPIN, "--phases", "1", *words, *program("spin", 100000))
        at_once = {row["design"]: row["events_at_once"] for row in records["design"]}
        equal((at_once["dhpc"], accounts["distributed"]["at_once"]), (cost["counters"], cost["counters"]))
        names = {("u74", True): "in the core, as the U74", ("u74", False): "in the core", ("ccache", True): "on the bus, as ccache",
                 ("ccache", False): "on the bus", ("dhpc", True): "distributed"}
        equal(len(records["state"]), len(names))
        for row in records["state"]:
            account = accounts[names[row["design"], row["is_as_built"]]]
            equal((row["state_bits"], row["wires"], row["n_csrs"], row["address_bytes"]),
                  (account["state_bits"], account["wires"], account["csrs"], account["address_bytes"]), f"{words} {row}")
            if row["is_as_built"]:
                equal(at_once[row["design"]], account["at_once"])
        equal(cost["account"], said)
        contains(run("describe", "pmu", "dhpc", "--cost", *machine)[1], said)
    contains(run("compare", *SPIN, *program("spin", 100000))[1], said)
    contains(text_of("docs", "compare.md"), said)


@guest
def a_comparison_reads_any_fabric_or_says_why_not():
    words = ("--no-sweeps", "--phases", "1", "--pmu", "dhpc")
    for settings in (["dhpc.csr_base=2288"], ["dhpc.csr_read_base=3300"], ["dhpc.beat=6"], ["dhpc.fifo_depth=4"], ["dhpc.fifo_depth=16"],
                     ["dhpc.sampling=snapshot", "dhpc.t_lookup=300"], ["dhpc.t_req=500", "dhpc.t_resp=700"], ["dhpc.t_req=1400"]):
        options = [word for setting in settings for word in ("--set", setting)]
        records = compare(*words, "--interval", "5k", *options, *program("spin", 100000))
        equal((records["design"][0]["n_with_error"], records["design"][0]["events_counted"]), (0, 16), str(settings))
        outcomes = {(row["mode"], row["grant"]): row["outcome"] for row in records["privilege"]}
        equal([outcomes["M", "useren=0"], outcomes["U", "useren=0"], outcomes["U", "useren=1"]], ["value", "illegal instruction", "value"], str(settings))
        facts = records["run"][0]
        is_slow = any("t_req" in setting for setting in settings)
        equal((facts["wanted_interval_cycles"], facts["outgrown_by_design"]), (5000, "dhpc" if is_slow else ""), str(settings))
        equal(facts["interval_cycles"] > 2 * facts["outgrown_by_cycles"] - 1, True, str(settings))
    contains(run("compare", *words, "--interval", "5k", "--set", "dhpc.t_req=1400", *program("spin", 100000))[1],
             "Looks every 5,000 cycles were wanted; they are further apart because one of dhpc took ")
    for setting in ("dhpc.user_classes=0", "dhpc.user_classes=1", "dhpc.t_req=1000000"):
        key, value = setting.split("=")
        fails(["compare", *words, "--set", setting, *program("spin", 100000)], 2, f"{key} = {value}")


@guest
def a_comparison_repeats_to_the_last_byte():
    runs = [run("compare", *SPIN, *form, *words, *program("spin", 100000))
            for form in ([], ["-j"], ["--csv"]) for words in ([], ["--engine", "step"])]
    for status, _, err in runs:
        equal((status, err), (0, ""))
    for once, again in zip(runs[::2], runs[1::2]):
        equal(once[1], again[1])


@guest
def the_program_of_a_comparison_is_silent():
    said = os.path.join(scratch, "said")
    status, out, err = run("compare", *SPIN, "--program-output", said, *program("words", "here"))
    equal((status, err), (0, ""))
    if "1=words" in out:
        raise AssertionError("the program's output is in the report")
    with open(said, encoding="utf-8") as text:
        lines = text.read().splitlines()
    n_runs = lines.count("1=words")
    equal(lines, ["0=./guest", "1=words", "2=here"] * n_runs if n_runs else ["the program said nothing"])


@guest
def a_comparison_goes_where_it_is_sent():
    report = os.path.join(scratch, "compare.csv")
    words = ["compare", "--phases", "1", "--interval", "5k", "--events", "3"]
    equal(run(*words, "--no-sweeps", "--csv", "-o", report, *program("spin", 30000)), (0, "", ""))
    _, out, _ = run(*words, "--no-sweeps", "--csv", *program("spin", 30000))
    with open(report, encoding="utf-8") as text:
        equal(text.read(), out)
    rows = list(csv.DictReader(io.StringIO(out)))
    equal([row["value"] for row in rows if (row["section"], row["quantity"]) == ("run", "program")], ["guest"])
    fails([*words, "-o", "/nonexistent/x", "--", options.guest], 125, "--output", "/nonexistent/x")
    fails([*words, "--plot", "/nonexistent/x", "--", options.guest], 125, "--plot", "/nonexistent/x")


@test
def what_cannot_be_compared_is_refused():
    fails(["compare"], 2, "tally compare --")
    fails(["compare", "before.json", "after.json"], 127, "before.json")
    fails(["compare", "--", "no-such-program-anywhere"], 127, "no-such-program-anywhere", "PATH")
    fails(["compare", "--", "/no/such/file"], 127, "/no/such/file")
    fails(["compare", "--", sys.executable], 126, "RISC-V")
    for words, parts in ((["--phases", "0"], ["--phases 0", "1"]), (["--events", "0"], ["--events 0"]), (["--events", "9999"], ["9999", " 1 to "]),
                         (["-I", "10ms"], ["-I 10ms", "100k"]), (["-I", "0"], ["-I 0"]), (["--insns", "0"], ["--insns 0"]),
                         (["--pmu", ""], ["--pmu"]), (["-e", ""], ["-e"]), (["-e", "cycle", "--events", "2"], ["--events"]),
                         (["-j", "--csv"], ["--csv", "--json"]), (["--plot", "x.svg", "--no-sweeps"], ["--plot", "--no-sweeps"]),
                         (["--pmu", "u47"], ["u47", "u74"]), (["-e", "l2_raed"], ["l2_raed", "l2_read"]), (["--pmu", "u74,u74"], ["u74", "twice"]),
                         (["--machine", "rockte"], ["rockte", "rocket"]), (["--set", "hpcc=1"], ["hpcc", "hpc"]), (["--plto", "x"], ["--plto", "--plot"])):
        fails(["compare", *words, "--", __file__], 2, *parts)


@test
def events_to_compare_are_listed():
    status, out, err = run("compare", "--list-events")
    equal((status, err), (0, ""))
    contains(out, "branch_direction_misprediction", "l2_writeback")
    contains(re.findall(r"^(\w+) .* \* [A-Z]", out, re.MULTILINE), "cycle", "instret", "l2_read")
    fails(["compare", "--list-events", "x"], 2, "x", "--list-events")


# -- systems: bare-metal programs, firmware and kernels


def built(name, source, *flags, raw=False):
    """A program of this folder for the board; its path."""
    path = os.path.join(scratch, name)
    if not os.path.exists(path):
        subprocess.run([CROSS, "-nostdlib", "-static", "-Wl,--build-id=none", *flags, "-o", path, os.path.join(HERE, source)], check=True)
        if raw:
            subprocess.run([CROSS[:-3] + "objcopy", "-O", "binary", path], check=True)
    return path


def bare(word):
    return built(f"bare-{word:x}", "bare.S", "-Wl,-n,-Ttext=0x80000000", f"-DWORD={word:#x}")


FIRMWARE = "/usr/lib/riscv64-linux-gnu/opensbi/generic/fw_jump.elf"


def kernel():
    if not os.path.exists(FIRMWARE):
        raise Skip("no firmware: install opensbi")
    return built("kernel.img", "kernel.S", "-Wl,-Ttext=0x80200000", raw=True)


PASS, FAIL, RESET, STUCK, LOOP = 0x5555, 0x3333, 0x7777, 0, 1


@guest
def bare_programs_end_as_they_say():
    for word, status in ((PASS, 0), (7 << 16 | FAIL, 7), (255 << 16 | FAIL, 255), (300 << 16 | FAIL, 255)):
        got, out, err = stat("--bare", "-q", "-e", "cycles", bare(word))
        equal((got, out), (status, "bare: hello\n"), err)
    equal(report("--bare", bare(300 << 16 | FAIL))[0][-1]["status"], 300)
    got, out, err = stat("--bare", "-j", "-o", "/dev/null", bare(RESET))
    equal((got, out), (1, "bare: hello\n"), err)
    contains(err, "asked for a restart")
    got, _, err = stat("--bare", bare(STUCK))
    equal(got, 125, err)
    contains(err, "Stuck: every hart waits")
    got, _, err = stat("--bare", "-q", "-e", "cycles", bare(STUCK))
    equal(got, 125, err)
    contains(err, "is stuck: every hart waits")
    got, _, err = stat("--bare", "--timeout", "1", bare(LOOP))
    equal(got, 124, err)
    records, status, _ = report("--bare", "--max-insns", "1000", bare(LOOP))
    equal((status, counts(records)["instructions"]), (0, 1000))
    with subprocess.Popen([options.tally, "stat", "--bare", bare(LOOP)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=CLEAN) as child:
        child.stdout.readline()  # it runs
        child.send_signal(signal.SIGTERM)
        _, err = child.communicate(timeout=60)
        equal(child.returncode, 128 + signal.SIGTERM, err)


@guest
def a_handler_that_traps_itself_is_named_with_the_reason():
    reasons = (("mtvec = 0x0 (mcause 1)", "no handler, the register was not set"),
               ("mtvec = 0x40000000 (mcause 1)", "no handler, the register points to no memory"),
               ("(mcause 2)", "what lies there is no instruction"),
               ("(mcause 1)", "(PMP) does not permit to execute the handler"),
               ("(mcause 11)", "the first instruction of the handler traps"),
               ("stvec = 0x1000 (scause 12)", "the page table has no page there"),
               ("stvec = 0x800", "(scause 1)", "(PMP) does not permit to execute the handler"),
               ("stvec = 0xc0001000 (scause 1)", "the page there is no memory"))
    path = built("handlers-8", "handlers.S", "-Wl,-n,-Ttext=0x80000000", "-DCASE=8")
    equal(stat("--bare", "-o", os.devnull, "--timeout", "20", path), (0, "", ""), "what machine mode mends in the end is not stuck")
    path = built("handlers-9", "handlers.S", "-Wl,-n,-Ttext=0x80000000", "-DCASE=9")
    for engine in ("step", "interp", "translate"):
        equal(stat("--bare", "-o", os.devnull, "--timeout", "20", "--engine", engine, path), (0, "", ""), f"{engine}: what a timer mends is not stuck")
    for case, parts in enumerate(reasons):
        path = built(f"handlers-{case}", "handlers.S", "-Wl,-n,-Ttext=0x80000000", f"-DCASE={case}")
        for harts in ("1", "2"):
            got, out, err = stat("--bare", "-q", "-e", "cycles", "--harts", harts, "--timeout", "20", path)
            equal((got, out), (125, ""), err)
            contains(err, f"handlers-{case} is stuck: hart0 traps at its own trap handler, ", *parts)


@guest
def a_bare_program_has_a_disk():
    path = built("disk.elf", "disk.S", "-Wl,-n,-Ttext=0x80000000,--no-warn-rwx-segments")
    image = os.path.join(scratch, "disk.img")
    def write_image():
        with open(image, "wb") as out:
            out.write(b"sector zero\n".ljust(512, b"\0") + bytes(512))
    write_image()
    got, out, err = stat("--bare", "-q", "-e", "cycles", "--disk", image, path)
    equal((got, out), (0, "sector zero\n"), err)
    with open(image, "rb") as file:
        equal(file.read(12), b"sector zero\n", "the file stays as it is")
    got, out, err = stat("--bare", "-q", "-e", "cycles", "--disk", image, "--disk-writable", path)
    equal((got, out), (0, "sector zero\n"), err)
    with open(image, "rb") as file:
        equal(file.read(12), b"SECTOR ZERO\n", "what the program wrote")
    write_image()
    equal([image["role"] for image in report("--bare", "--disk", image, path)[0][0]["images"]], ["program", "disk"])
    got, out, err = stat("--bare", "-q", "-e", "cycles", "--set", "board.virtio=1", "--disk", image, path)
    equal((got, out), (1, ""), "a transport of the other version: " + err)
    got, out, err = stat("--bare", "-q", "-e", "cycles", path)
    equal((got, out), (2, ""), "no disk: " + err)
    fails(["stat", "--bare", "--disk", os.path.join(scratch, "none.img"), path], 127, "none.img", "no such disk image")
    fails(["stat", "--bare", "--disk-writable", path], 2, "--disk-writable", "--disk FILE")
    fails(["stat", "--disk", image, options.guest], 2, "--disk", "bare-metal")


def htif(case):
    return built(f"htif-{case}", "htif.c", "-O1", "-ffreestanding", "-mcmodel=medany", "-fno-pic", "-no-pie", f"-DCASE={case}",
                 "-Wl,-n,-Ttext=0x80000000,-e,_start,--no-warn-rwx-segments,--section-start=.text.start=0x80100000")


@guest
def bare_programs_speak_to_their_host_through_tohost():
    for words in ([], ["--engine", "step"], ["--harts", "2"]):
        got, out, err = stat("--bare", "-o", os.devnull, "--set", "ram=16MiB", *words, htif(0))
        equal((got, out, err), (7, "a block: hello\nlock:", ""), "write, time and exit of a request block")
    got, out, err = stat("--bare", "-o", os.devnull, "--timeout", "60", htif(1), stdin=b"echo me q")
    equal((got, out, err), (0, "echo me ", ""), "the console")
    got, out, err = stat("--bare", "-o", os.devnull, "--timeout", "60", htif(2))
    equal((got, out), (0, ""), err)
    lines = err.splitlines()
    equal(len(lines), 8, "no more is said than eight times: " + err)
    contains(lines[0], "tally: the program asked through tohost for system call 63, which is not answered", "write (64)", "ENOSYS")
    contains(lines[1], "tally: the program wrote 0x200000000000006 to tohost: device 2, command 0 is not known")
    contains(lines[2], "device 1, command 5 is not known")
    contains(lines[3], "no request block of 64 bytes lies there")
    contains(lines[4], "wrote 0x1000 to tohost: no request block")
    contains(lines[5], "system call 1000")
    got, out, err = stat("--bare", "-o", os.devnull, "--timeout", "60", htif(3))
    equal((got, out), (0, ""), err)
    contains(err, "has no symbol fromhost")
    equal(err.count("\n"), 1, err)
    equal(report("--bare", htif(4))[0][-1]["status"], 5, "exit_group")
    records, status, _ = report("--bare", "--engine", "step", htif(5))
    equal(status, 1, "a handler's word")
    for engine in ("interp", "translate"):
        equal(counts(report("--bare", "--engine", engine, htif(5))[0]), counts(records), f"{engine}: the host looks after each trap")


@guest
def firmware_boots_without_a_kernel():
    elf = built("alone.elf", "bare.S", "-Wl,-n,-Ttext=0x80000000", f"-DWORD={PASS:#x}")
    raw = built("alone.img", "bare.S", "-Wl,-n,-Ttext=0x80000000", f"-DWORD={PASS:#x}", raw=True)
    for bios in (elf, raw):
        got, out, err = run("boot", "--bios", bios)
        equal((got, out), (0, "bare: hello\n"), err)
        got, out, err = run("boot", "--bios", bios, "--stat", "-e", "instructions")
        equal((got, out), (0, "bare: hello\n"), err)
        contains(err, f"Counts of '{os.path.basename(bios)}'")
    info = built("info.elf", "info.S", "-Wl,-n,-Ttext=0x80000000")
    equal(run("boot", "-q", "--bios", info)[0], 1, "no next stage")
    equal(run("boot", "-q", "--bios", info, "--kernel", kernel())[0], 3, "the kernel is the next stage, 2 MiB behind the start of RAM")
    path = os.path.join(scratch, "alone.json")
    got, _, err = run("boot", "--bios", elf, "-j", "-o", path, "--roi", "main", "-e", "instructions")
    equal(got, 0, err)
    with open(path, encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    equal([image["role"] for image in records[0]["images"]], ["bios"])
    equal(records[0]["program"], "alone.elf")
    equal(counts(records), {"instructions": 66})
    contains(fails_with(2, "boot", "--bios", raw, "--roi", "main"), "alone.img has no symbols")
    contains(fails_with(2, "boot", "--bios", elf, "--roi", "nothing"), "nothing")
    fails(["boot"], 2, "--kernel", "--bios")
    fails(["boot", "--bios", elf, "--append", "quiet"], 2, "--append", "--kernel")
    fails(["boot", "--bios", elf, "--initrd", elf], 2, "--initrd", "--kernel")
    fails(["boot", "--bios", os.path.join(scratch, "none.elf")], 127, "firmware", "none.elf")


@guest
def bare_programs_are_counted_like_others():
    names = ("cycles", "instructions", "l1d.load", "hart.instret_m")
    path = bare(PASS)
    records, status, err = report("--bare", "-e", ",".join(names), path)
    equal(status, 0, err)
    head = records[0]
    equal((head["kind"], head["program"], head["argv"], head["append"]), ("bare", "bare-5555", ["bare-5555"], None))
    equal([image["role"] for image in head["images"]], ["program"])
    equal(head["images"][0]["digest"], head["digest"])
    first = counts(records)
    equal(first["hart.instret_m"], first["instructions"], "all in machine mode")
    equal(first["l1d.load"], 13, "one load for each byte of the line")
    for engine in ("step", "interp"):
        equal(counts(report("--bare", "--engine", engine, "-e", ",".join(names), path)[0]), first, engine)
    got, _, err = stat("--bare", "-r", "3", path)
    equal(got, 0, err)
    contains(err, "3 runs, all counts identical")
    # main: 3 to begin, 5 for each of 12 characters, 3 to end
    equal(counts(report("--bare", "--roi", "main", "-e", "instructions", path)[0]), {"instructions": 66})
    contains(fails_with(2, "stat", "--bare", "--roi", "nothing", path), "nothing")
    equal(counts(report("--bare", "--harts", "3", "-e", "instructions", "-A", bare(STUCK))[0], "hart2"), {"instructions": 4}, "csrr, bnez, csrw, wfi")


def fails_with(status, *words):
    got, _, err = run(*words)
    equal(got, status, err)
    return err


def marked(name, *flags, raw=False):
    """A program of the board with markers."""
    return built(name, "marked.c", "-O1", "-fno-toplevel-reorder", "-ffreestanding", "-mcmodel=medany", "-fno-pic", "-no-pie",
                 f"-I{os.path.join(ROOT, 'guest', 'include')}",
                 "-Wl,-n,--no-warn-rwx-segments", *flags, raw=raw)


def markers_agree_on_every_engine(command, *words):
    """A run of marked.c: three visits of a region, with another in it, and of an empty one."""
    def got(*more):
        path = os.path.join(scratch, "marked.json")
        status, _, err = run(command, *more, "-j", "-o", path, "-e", "instructions,cycles,l1i.*", *words)
        equal(status, 0, err)
        with open(path, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]
    unmarked = got()
    equal([r for r in unmarked if r["type"] == "region"], [], "without --markers")
    first = None
    for engine in ("step", "interp", "translate"):
        records = got("--markers", "--engine", engine)
        # A call is 3 instructions a round, and 3 around it; a marker counts in the region around it.
        equal(regions(records), {"outer": (3, 3 * (33 + 1 + 18 + 1 + 12)), "region 2": (3, 3 * 18), "region 63": (3, 0)}, engine)
        seen = [r for r in records if r["type"] in ("region", "event")]
        first = first or seen
        equal(seen, first, engine)
        equal((records[-1]["instructions"], records[-1]["cycles"]), (unmarked[-1]["instructions"], unmarked[-1]["cycles"]), "markers change nothing")


@guest
def bare_programs_and_kernels_mark_regions():
    bare_metal = marked("marked.elf", "-Wl,-Ttext=0x80000000,-e,_start")
    for words in (["stat", "--bare"], ["stat", "--bare", "--harts", "3"]):
        markers_agree_on_every_engine(*words, bare_metal)
    markers_agree_on_every_engine("boot", "--bios", bare_metal)
    equal(run("stat", "--bare", "--markers", "--roi-required", "-o", os.devnull, bare_metal)[0], 0)
    equal(run("stat", "--bare", "--markers", "--roi-required", "-o", os.devnull, bare(PASS))[0], 123, "no marker")
    if not os.path.exists(FIRMWARE):
        raise Skip("no firmware: install opensbi")
    image = marked("marked.img", "-DKERNEL", "-Wl,-Ttext=0x80200000,-e,_start", raw=True)
    markers_agree_on_every_engine("boot", "-q", "--kernel", image)
    contains(run("boot", "--stat", "--markers", "-e", "instructions", "--kernel", image)[2], " Inside outer, 3 visits:\n")


@guest
def what_is_no_bare_program_is_refused():
    text = os.path.join(scratch, "text.elf")
    with open(text, "w", encoding="utf-8") as out:
        out.write("hello\n")
    fails(["stat", "--bare", os.path.join(scratch, "none.elf")], 127, "none.elf")
    fails(["stat", "--bare", text], 126, "text.elf", "not an ELF file")
    fails(["stat", "--bare", scratch], 126, scratch, "not a regular file")
    fails(["stat", "--bare", options.guest], 126, "guest", "not in RAM", "without --bare")
    fails(["stat", "--bare", sys.executable], 126, "RISC-V")
    fails(["stat", "--bare", bare(PASS), "word"], 2, "word", "no arguments")
    fails(["stat", "--bare", "--env", "A=1", bare(PASS)], 2, "--env", "--bare")
    fails(["stat", "--bare", "--harts", "1000", bare(PASS)], 2, "harts", "1000")
    fails(["stat", "--bare", "-e", "cycels", os.path.join(scratch, "none.elf")], 2, "cycels", "cycles")


@guest
def kernels_boot_and_are_answered():
    image = kernel()
    for letter, status in (("q", 0), ("r", 1), ("w", 125)):
        got, out, err = run("boot", "--kernel", image, stdin=f"    {letter}\n".encode())
        equal(got, status, err)
        contains(out, "OpenSBI", f"kernel: hello\n{letter}\n")
        contains(err, "simulated", "instructions", "on this host", "million instructions per second")
        equal(err.count("\n"), 1 if status == 0 else 2, err)
    contains(err, "stuck", "every hart waits")
    got, _, err = run("boot", "--kernel", image, "--timeout", "1", stdin=b"    l\n")
    equal(got, 124, err)
    got, out, err = run("boot", "--kernel", image, "--quiet", stdin=b"    q\n")
    equal((got, err), (0, ""))


@guest
def reports_of_boots_name_every_image():
    image, path = kernel(), os.path.join(scratch, "boot.json")
    for name in ("initrd", "disk"):
        with open(os.path.join(scratch, name), "wb") as out:
            out.write(name[0].encode() * 4096)
    words = ["boot", "--kernel", image, "--initrd", os.path.join(scratch, "initrd"), "--disk", os.path.join(scratch, "disk"), "--append",
             "quiet x=y", "-j", "-o", path]
    texts = []
    for _ in range(2):
        got, _, err = run(*words, stdin=b"    q\n")
        equal(got, 0, err)
        with open(path, encoding="utf-8") as lines:
            texts.append(lines.read())
    equal(texts[0], texts[1], "two boots with equal input")
    head = json.loads(texts[0].split("\n", 1)[0])
    equal((head["kind"], head["program"], head["append"]), ("boot", "kernel.img", "quiet x=y"))
    equal([(one["role"], one["name"]) for one in head["images"]],
          [("kernel", "kernel.img"), ("bios", "fw_jump.elf"), ("initrd", "initrd"), ("disk", "disk")])
    if any(not re.fullmatch("xxh64:[0-9a-f]{16}", one["digest"]) for one in head["images"]):
        raise AssertionError(head["images"])
    got, _, err = run("boot", "--kernel", image, "--stat", "--harts", "2", "--machine", "u74", stdin=b"    q\n")
    equal(got, 0, err)
    contains(err, "Counts of 'kernel.img' on u74 (2 harts)", "With kernel kernel.img, bios fw_jump.elf", "instructions")


@guest
def what_cannot_boot_is_refused():
    image = kernel()

    def file(name, data):
        path = os.path.join(scratch, name)
        with open(path, "wb") as out:
            out.write(data)
        return path

    none, junk, empty = os.path.join(scratch, "none"), file("junk", b"hello\n" * 100), file("empty", b"")
    fails(["boot"], 2, "--kernel")
    fails(["boot", image], 2, "one word too many")
    fails(["boot", "--kernel", ""], 2, "--kernel")
    fails(["boot", "--kernel", image, "--disk-writable"], 2, "--disk-writable", "--disk FILE")
    fails(["boot", "--kernel", image, "--harts", "0"], 2, "harts")
    fails(["boot", "--kernel", image, "--machine", "rockte"], 2, "rockte", "rocket")
    fails(["boot", "--kernel", image, "-e", "cycels"], 2, "cycels", "cycles")
    fails(["boot", "--kernel", image, "--roi", "start_kernel"], 2, "start_kernel", "kernel.img has no symbol table", "ELF", "0x...")
    fails(["boot", "--kernel", image, "--env", "A=1"], 2, "--env")
    fails(["boot", "--kernel", none], 127, "kernel", none)
    fails(["boot", "--kernel", image, "--bios", none], 127, "firmware", none)
    fails(["boot", "--kernel", image, "--initrd", none], 127, none)
    fails(["boot", "--kernel", image, "--disk", none], 127, none)
    fails(["boot", "--kernel", junk], 126, "kernel", junk, "Image")
    fails(["boot", "--kernel", empty], 126, "kernel", empty, "empty")
    fails(["boot", "--kernel", scratch], 126, "kernel", "regular file")
    fails(["boot", "--kernel", file("Image.gz", b"\x1f\x8b" + b"x" * 100)], 126, "Image.gz", "gunzip")
    fails(["boot", "--kernel", options.guest], 126, "kernel", "RAM")
    fails(["boot", "--kernel", image, "--bios", options.guest], 126, "firmware", "RAM")
    fails(["boot", "--kernel", image, "--initrd", empty], 126, "empty")
    fails(["boot", "--kernel", image, "--set", "ram=16MiB"], 2, "RAM", "16 MiB")
    fails(["boot", "--kernel", image, "--initrd", file("large", bytes(1 << 26)), "--set", "ram=64MiB"], 126, "large", "more with ram")
    fails(["boot", "--kernel", image, "--bios", file("bios", bytes(3 << 20))], 126, "kernel.img", "bios", "overlap", "0x80300000")
    fails(["boot", "--kernel", sys.executable], 126, "kernel", "RISC-V")
    fails(["boot", "--kernel", image, "--disk", empty], 126, empty, "truncate")
    fails(["boot", "--kernel", image, "--disk", scratch], 126, scratch, "disk image")
    if os.geteuid() != 0:
        os.chmod(junk, 0)
        fails(["boot", "--kernel", junk], 126, "kernel", junk)


def image_of_arm64(name, words, flags=0, text_offset=0, magic=b"ARM\x64"):
    """A Linux Image of arm64 whose code is these words."""
    code = b"".join(word.to_bytes(4, "little") for word in words)
    header = (0x14000010).to_bytes(4, "little") + bytes(4)  # b to the code
    header += b"".join(value.to_bytes(8, "little") for value in (text_offset, 64 + len(code), flags, 0, 0, 0)) + magic + bytes(4)
    path = os.path.join(scratch, name)
    with open(path, "wb") as out:
        out.write(header + code)
    return path


def psci_of_arm64(name, function, **header):
    return image_of_arm64(name, (0x52800000 | (function & 0xffff) << 5, 0x72a00000 | function >> 16 << 5, 0xd4000003), **header)  # movz, movk, smc #0


@guest
def kernels_of_aarch64_boot_with_the_firmware_of_the_board():
    off, restart = psci_of_arm64("off", 0x84000008), psci_of_arm64("restart", 0x84000009)
    for harts in ("1", "4"):
        got, out, err = run("boot", "--machine", "a53", "--harts", harts, "--kernel", off)
        equal((got, out, err.count("\n")), (0, "", 1), err)
    equal(run("boot", "--machine", "a53", "--kernel", psci_of_arm64("old", 0x84000008, text_offset=0x80000))[0], 0, "another offset")
    got, out, err = run("boot", "--machine", "a53", "--kernel", restart)
    equal((got, out), (1, ""), err)
    contains(err, "asked for a restart")
    got, _, err = run("boot", "--machine", "a53x4", "--kernel", image_of_arm64("waits", (0xd503207f, 0x17ffffff)))  # wfi
    equal(got, 125, err)
    contains(err, "stuck", "every hart waits")
    got, _, err = run("boot", "--machine", "a53", "--kernel", image_of_arm64("spins", (0x14000000,)), "--timeout", "1")
    equal(got, 124, err)
    # The exit status for the finisher: movz w1, status; movk; movz x0, 0x10, lsl 16; str w1, [x0]
    status = image_of_arm64("status", (0x52800001 | 0x3333 << 5, 0x72a00001 | 7 << 5, 0xd2a00200, 0xb9000001))
    equal(run("boot", "--machine", "a53", "--kernel", status)[0], 7)
    path = os.path.join(scratch, "boot-arm64.json")
    got, _, err = run("boot", "--machine", "a53", "--kernel", off, "-j", "-o", path)
    equal(got, 0, err)
    with open(path, encoding="utf-8") as lines:
        equal([one["role"] for one in json.loads(lines.readline())["images"]], ["kernel"], "the firmware is no file")


@guest
def a_kernel_of_aarch64_that_fails_keeps_its_console_and_gives_the_status():
    greeting = "up\n"
    greet = [0xd2a12001]  # movz x1, #0x900, lsl #16: the serial port
    for letter in greeting:
        greet += [0x52800000 | ord(letter) << 5, 0x39000020]  # movz w0, letter; strb w0, [x1]
    for name, words, want, said in BAD_ARM64_KERNELS:
        kernel_image = image_of_arm64("fails", [*greet, *words])
        for machine in ("a53", "a53x4"):
            status, out, err = run("boot", "--machine", machine, "--kernel", kernel_image, "--timeout", "1" if want == 124 else "60")
            equal((status, out), (want, greeting), f"{name} on {machine}: {err}")
            contains(err, *said)


@guest
def what_is_no_kernel_of_aarch64_is_refused():
    off = psci_of_arm64("off", 0x84000008)
    refused = ["boot", "--machine", "a53", "--kernel"]
    fails([*refused, psci_of_arm64("junk", 0x84000008, magic=b"junk")], 126, "junk", "AArch64", "arch/arm64/boot/Image")
    fails([*refused, psci_of_arm64("rv", 0x84000008, magic=b"RSC\x05")], 126, "rv", "RV64", "a53", "AArch64", "another machine")
    fails(["boot", "--machine", "rocket", "--kernel", off], 126, "off", "AArch64", "rocket", "RV64", "another machine")
    fails([*refused, psci_of_arm64("big", 0x84000008, flags=1)], 126, "big-endian", "CPU_BIG_ENDIAN")
    fails([*refused, psci_of_arm64("pages", 0x84000008, flags=4)], 126, "16 KiB", "ARM64_4K_PAGES")
    fails([*refused, written(os.path.join(scratch, "zImage"), "\0" * 0x24 + "\x18\x28o\x01" + "\0" * 64)], 126, "zImage", "32-bit Arm", "arm64")
    fails([*refused, written(os.path.join(scratch, "vmlinuz.efi"), "MZ\0\0zimg" + "\0" * 64)], 126, "compressed for EFI", "Image")
    fails([*refused, written(os.path.join(scratch, "Image.gz"), "\x1f\x0b" + "\0" * 64)], 126, "arch/arm64/boot/Image")
    fails([*refused, off, "--initrd", os.path.join(scratch, "none")], 127, "none")
    fails([*refused, off, "--bios", os.path.join(scratch, "none")], 127, "firmware", "none")
    fails([*refused, off, "--harts", "9"], 2, "harts")
    fails([*refused, psci_of_arm64("far", 0x84000008, text_offset=1 << 33)], 126, "do not fit", "more with ram")


def at_terminal(keys, wanted, end=None, words=()):
    """tally boot with a terminal of its own: (status, output). `keys` are typed once `wanted` has appeared."""
    def own_the_terminal():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    with subprocess.Popen([options.tally, "boot", "--kernel", kernel(), *words], stdin=slave, stdout=slave, stderr=slave, env=CLEAN,
                          start_new_session=True, preexec_fn=own_the_terminal) as child:
        text, is_typed, was_raw = b"", False, False
        while child.poll() is None or select.select([master], [], [], 0)[0]:
            if select.select([master], [], [], 0.1)[0]:
                text += os.read(master, 65536)
            if not is_typed and wanted in text:
                was_raw = not termios.tcgetattr(slave)[3] & termios.ICANON
                os.write(master, keys)
                is_typed = True
                if end:
                    child.send_signal(end)
        equal((is_typed, was_raw), (True, True), text)
    equal(termios.tcgetattr(slave), before, "the terminal is as it was")
    os.close(master)
    os.close(slave)
    return child.returncode, text.decode("utf-8", "replace").replace("\r", "")


@guest
def the_terminal_is_the_serial_port_and_is_given_back():
    ready = b"kernel: hello"
    status, text = at_terminal(b"q\n", ready)
    equal(status, 0, text)
    contains(text, "Ctrl-A x ends the run", "kernel: hello\nq\n", "million instructions per second")
    status, text = at_terminal(b"a\x01hb\x01\x01c\x01x", ready)
    equal(status, 0, text)
    contains(text, "send Ctrl-A to the guest")
    equal(re.sub("(?s)Ctrl-A x .*guest\n|\n", "", text[text.index("hello\n") + 6:text.index("tally: 0.")]), "ab\x01c", text)
    status, text = at_terminal(b"\x03\x1aq\n", ready)  # Ctrl-C and Ctrl-Z are the guest's
    equal(status, 0, text)
    contains(text, "\x03\x1aq\n")
    status, text = at_terminal(b"\x01x", ready, words=["-e", "instructions"])
    equal(status, 0, text)
    contains(text, "Ended at the console")
    for end in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        status, text = at_terminal(b"", ready, end)
        equal(status, 128 + end, text)
    status, text = at_terminal(b"", ready, signal.SIGABRT)
    equal(status, -signal.SIGABRT, text)
    status, text = at_terminal(b"l\n", ready, words=["--timeout", "2"])
    equal(status, 124, text)
    status, text = at_terminal(b"l\n\x01x", ready)
    equal(status, 0, text)


# -- what profilers of the host are told


@guest
def the_host_s_time_is_told_apart_and_the_counts_stay():
    path = os.path.join(scratch, "profile.json")
    plain, profiled = (report(*words, "--max-insns", "30M", *program("spin", 10**9))[0] for words in ([], ["--host-profile", path]))
    equal(profiled, plain)
    for engine, share, insns, what in (("step", "stepping", 4 * 10**6, "in instructions stepped one by one"),
                                       ("interp", "models", 3 * 10**7, "in the interpreter and its models")):
        status, _, said = stat("-n", "--engine", engine, "--host-profile", path, "--max-insns", str(insns), *program("spin", 10**9))
        equal(status, 0)
        with open(path, encoding="utf-8") as text:
            profile = json.load(text)
        if profile["samples"] > 20:
            sentence = next(line for line in profile["advice"] if what in line)
            equal(re.fullmatch(rf"(\d+) % of the host's time was spent {what}: leave --engine out, because .*", sentence) is not None, True, sentence)
            equal(abs(int(sentence.split()[0]) - 100 * profile["shares"][share]) < 1, True, sentence)
            equal([line for line in said.splitlines() if "of the host's time" in line], [f"tally: {line}" for line in profile["advice"]])
        equal((profile["schema"], profile["instructions"]), ("tally.host/1", insns))
        equal(sorted(profile["shares"]), ["interpreted", "models", "stepping", "system", "translated", "translation"])
        if profile["samples"] > 0 and abs(sum(profile["shares"].values()) - 1) > 0.001:
            raise AssertionError(f"shares do not add up: {profile}")
        if profile["samples"] > 20 and profile["shares"][share] < 0.5:
            raise AssertionError(f"{engine}: {profile}")
    equal(stat("-n", "-r", "2", "--host-profile", path, "--max-insns", "1k", *program("spin", 10**9))[0], 0)
    with open(path, encoding="utf-8") as text:
        profile = json.load(text)
    equal((profile["instructions"], profile["advice"]), (2000, []), "the sum of both runs, too short for advice")
    for words in (["-q"], ["-j"]):
        equal("of the host's time" in stat("--engine", "step", *words, "--host-profile", path, "--max-insns", "3M", *program("spin", 10**9))[2], False)
    fails(["stat", "--host-profile", scratch, *program("exit", 0)], 125, "--host-profile", scratch)
    fails(["stat", "--host-profile", "", *program("exit", 0)], 2, "--host-profile", "empty")


def jit_records(data):
    """(id, bytes) of each record of a jitdump behind its header, which is checked, as perf's jitdump-specification.txt has them."""
    magic, version, at, machine, _, pid, _, flags = struct.unpack_from("=6I2Q", data)
    equal((magic, version, at, machine, flags), (0x4A695444, 1, 40, 62, 0), "header")
    before = 0
    while at < len(data):
        kind, n_bytes, stamp = struct.unpack_from("=2IQ", data, at)
        if n_bytes < 16 or at + n_bytes > len(data) or stamp < before:
            raise AssertionError(f"record at {at}: kind {kind}, {n_bytes} bytes, time {stamp} after {before}")
        yield kind, data[at + 16:at + n_bytes], pid
        at, before = at + n_bytes, stamp


def code_of_jitdump(data):
    """(address, size, name, guest addresses by host address) of all code, in order."""
    pieces, lines = [], None
    for kind, record, pid in jit_records(data):
        if pieces and pieces[-1] is None:
            raise AssertionError("a record behind the last")
        if kind == 2:
            address, n, at = *struct.unpack_from("=2Q", record), 16
            lines = {"of": address, "pcs": []}
            for _ in range(n):
                host, pc, _ = struct.unpack_from("=QII", record, at)
                end = record.index(b"\0", at + 16)
                equal(record[at + 16:end], b"guest")
                lines["pcs"].append((host, pc))
                at = end + 1
            equal((len(record) - at < 8, record[at:].strip(b"\0")), (True, b""), "padding")
        elif kind == 0:
            load_pid, tid, vma, address, size, index = struct.unpack_from("=2I4Q", record)
            end = record.index(b"\0", 40)
            equal((load_pid, tid, vma, index, len(record) - end - 1), (pid, pid, address, len(pieces), size), "load record")
            if lines:
                equal(lines["of"], address, "lines belong to the code that follows")
            pieces.append((address, size, record[40:end].decode(), lines["pcs"] if lines else [], record[end + 1:]))
            lines = None
        else:
            equal((kind, len(record)), (3, 0), "kind of record")
            pieces.append(None)
    equal(pieces[-1:], [None], "the last record closes")
    return pieces[:-1]


@guest
def perf_learns_the_names_of_translated_code():
    if platform.machine() != "x86_64":
        raise Skip("no translator on this host")
    folder = os.path.join(scratch, "jit")
    os.makedirs(folder)
    child = subprocess.Popen([options.tally, "stat", "-n", "-q", "--perf", "jitdump", "--translate-after", "0", *program("roi")], cwd=folder, env=CLEAN)
    equal(child.wait(120), 0)
    with open(os.path.join(folder, f"jit-{child.pid}.dump"), "rb") as dump:
        pieces = code_of_jitdump(dump.read())
    names = [piece[2] for piece in pieces]
    contains(names, "tally:enter-and-leave", "guest:_start", "guest:main", "guest:roi_work")
    nm = subprocess.run([CROSS[:-3] + "nm", options.guest], capture_output=True, text=True, check=True).stdout
    functions = {line.split()[2]: int(line.split()[0], 16) for line in nm.splitlines() if line.split()[-2] in "tTW"}
    end = 0
    for address, size, name, lines, code in sorted(pieces):
        if address < end:
            raise AssertionError(f"{name} lies in the piece before")
        end = address + size
        equal(len(code), size)
        hosts = [host for host, _ in lines]
        if hosts != sorted(hosts) or any(not address <= host < end for host in hosts):
            raise AssertionError(f"lines of {name}: {lines}")
        function, plus, within = name.removeprefix("guest:").partition("+")
        if lines and function in functions:
            equal(lines[0][1], functions[function] + (int(within, 16) if plus else 0), name)

    child = subprocess.Popen([options.tally, "stat", "-n", "-q", "--perf", "map", "--translate-after", "0", *program("roi")], cwd=folder, env=CLEAN)
    equal(child.wait(120), 0)
    path = f"/tmp/perf-{child.pid}.map"
    try:
        with open(path, encoding="utf-8") as lines:
            mapped = [line.rstrip("\n").split(" ", 2) for line in lines]
    finally:
        os.unlink(path)
    equal([name for *_, name in mapped], names, "map and jitdump")  # sizes depend on where the host put things
    places = sorted((int(address, 16), int(size, 16)) for address, size, _ in mapped)
    equal([address + size > after for (address, size), (after, _) in zip(places, places[1:])], [False] * (len(places) - 1), "pieces lie apart")

    fails(["stat", "--perf", "mab", *program("exit", 0)], 2, "--perf mab", "map", "jitdump")
    fails(["stat", "--perf", "map", "-r", "2", *program("exit", 0)], 2, "--perf", "-r 2")
    fails(["stat", "--perf", "map", "--engine", "interp", *program("exit", 0)], 2, "interp", "--engine translate")


@guest
def a_repeated_part_leaves_counts_as_they_are():
    fails(["stat", "--repeat-part", "stamps", *program("exit", 0)], 2, "stamps", "line-use")
    fails(["stat", "--repeat-part", "line-use", "--engine", "interp", *program("exit", 0)], 2, "interp", "--engine translate")
    if platform.machine() != "x86_64":
        raise Skip("no translator on this host")
    expected = report("--translate-after", "0", *program("roi"))[:2]
    for part in ("data-lookup", "line-use", "page-use", "fetch-lookup", "fetch-use", "prediction", "hit-path"):
        equal(report("--translate-after", "0", "--repeat-part", part, *program("roi"))[:2], expected, part)

    def code_bytes(*words):  # depends a little on where the host put things
        child = subprocess.Popen([options.tally, "stat", "-n", "-q", "--perf", "map", "--translate-after", "0", *words, *program("roi")], env=CLEAN)
        equal(child.wait(120), 0)
        path = f"/tmp/perf-{child.pid}.map"
        try:
            with open(path, encoding="utf-8") as lines:
                return sum(int(line.split(" ", 2)[1], 16) for line in lines)
        finally:
            os.unlink(path)
    once, twice = code_bytes(), code_bytes("--repeat-part", "hit-path")
    equal(twice > once * 1.1, True, f"{once} bytes of code, {twice} with hit paths twice")


@guest
def perf_takes_the_jitdump():
    if platform.machine() != "x86_64" or not shutil.which("perf"):
        raise Skip("no perf on this host")
    folder = os.path.join(scratch, "inject")
    os.makedirs(folder)
    where = {"cwd": folder, "env": {**CLEAN, "HOME": folder}, "capture_output": True, "text": True, "timeout": 120}
    recorded = subprocess.run(["perf", "record", "-k", "mono", "-e", "cpu-clock:u", "-o", "data", options.tally, "stat", "-n", "-q", "--perf", "jitdump",
                               "--max-insns", "100M", *program("spin", 10**9)], **where)
    if recorded.returncode != 0:
        raise Skip("perf may not record here: " + (recorded.stderr.strip().splitlines() or ["no reason given"])[-1])
    injected = subprocess.run(["perf", "inject", "--jit", "-i", "data", "-o", "injected"], **where)
    equal(injected.returncode, 0, injected.stderr)
    listing = subprocess.run(["perf", "report", "-i", "injected", "--stdio", "--sort", "sym"], **where).stdout
    contains(listing, "guest:")


# -- several tenants on one chip


def tenants(text, *words, status=0):
    """Writes a tenants file into the scratch folder and runs it; the records of -j, or the sentence of a failure."""
    path, report_path = os.path.join(scratch, "tenants.yaml"), os.path.join(scratch, "tenants.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if os.path.exists(report_path):
        os.remove(report_path)
    found, out, err = run("tenants", "-j", "-o", report_path, *words, path)
    equal(found, status, err)
    if status:
        equal((out, os.path.exists(report_path)), ("", False), "nothing half-built runs")
        return err
    with open(report_path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def context(*deed, **keys):
    """One context that runs the program of these tests, as YAML in one line."""
    words = json.dumps([str(word) for word in deed])
    more = "".join(f", {key}: {json.dumps(value)}" for key, value in ({"stdout": "none"} | keys).items())
    return f"{{program: {options.guest}, args: {words}{more}}}"


def vm(*contexts, **keys):
    more = "".join(f"    {key}: {value}\n" for key, value in keys.items())
    return "  - contexts: [" + ", ".join(contexts) + "]\n" + more


def views(records, kind, interval=None):
    return [r for r in records if r["type"] == "view" and r["view"] == kind and r.get("interval") == interval]


def signals(view):
    return {name: int(value) for name, value in view["signals"].items()}


def summed(*all_signals):
    total = {}
    for one in all_signals:
        for name, value in one.items():
            total[name] = total.get(name, 0) + value
    return {name: value for name, value in total.items() if value}


@guest
def a_lone_context_counts_as_tally_stat_does():
    records = tenants("vms:\n" + vm(context("spin", 100000), partition=2))
    found = {name.removeprefix("p2."): value for name, value in signals(views(records, "context")[0]).items() if not name.startswith("chip.")}
    stated, _, err = report("--machine", "cloud4", "--per-unit", *program("spin", 100000))
    contains(err, "this runs on one of the 4 partitions of cloud4")
    wanted = {f"{r['scope']}.{r['event'].split('.')[-1]}": int(r["value"]) for r in stated
              if r["type"] == "event" and r["scope"] != "machine" and "." in r["event"] and int(r["value"])}  # no aliases
    # Only a chip has shared units, and its harts wait for them.
    waits = found["hart0.cyc_trap"] - wanted["hart0.cyc_trap"]
    if waits <= 0:
        raise AssertionError(f"no wait for the DMA engine: {waits}")
    for name in ("hart0.cycle", "hart0.cycle_s", "hart0.cyc_trap", "hart1.idle_cycle"):
        wanted[name] += waits
    equal({n: (found.get(n), wanted.get(n)) for n in found.keys() | wanted.keys() if found.get(n) != wanted.get(n)}, {})


@guest
def tenants_counts_add_up_signal_by_signal():
    records = tenants("vms:\n" + vm(context("spin", 50000, quantum=20000), context("threads", 2, name="two", quantum=30000), name="a") +
                      vm(context("pages", 40), context("exit", 3, name="b"), partition=1, quantum=40000) +
                      vm(context("spin", 3000), name="c", partition=1, quantum=10000))
    parts, device = {}, signals(views(records, "device")[0])
    for kind in ("context", "no context", "switching"):
        for view in views(records, kind):
            parts[view["vm"]] = summed(parts.get(view["vm"], {}), signals(view))
    for view in views(records, "vm"):
        equal(parts[view["vm"]], signals(view), view["name"])
    idle = [signals(view) for view in views(records, "idle")]
    equal(summed(*parts.values(), *idle), device)
    equal(len(idle), 4)
    for view in views(records, "switching"):
        equal(sum(value for name, value in signals(view).items() if name.endswith(".instret")), 0, "no instruction retires in a switch")
    cycles = {p: sum(int(v["active_cycles"]) for kind in ("context", "no context", "switching", "idle") for v in views(records, kind)
                     if v["partition"] == p) for p in range(4)}
    equal(set(cycles.values()), {int(views(records, "device")[0]["active_cycles"])}, "every cycle of a partition is somebody's")
    equal([v["status"] for v in views(records, "context") if v["name"] == "b"], [3])


def idles_throughout(view):
    idle = sum(value for name, value in signals(view).items() if name.endswith(".idle_cycle"))
    equal(idle, 2 * int(view["active_cycles"]), f"both harts of partition {view['partition']} idle")


@guest
def time_without_a_context_is_nobody_s():
    records = tenants("vms:\n" + vm(context("sleep", 1, name="s"), context("exit", 0)) + vm(context("spin", 100000), partition=2), "-I", "300000kc")
    lost = views(records, "no context")[0]
    if int(lost["active_cycles"]) < 10**6 or sum(int(v["active_cycles"]) for v in views(records, "context")[:2]) > 10**6:
        raise AssertionError(f"{lost['active_cycles']} cycles without a context")
    equal(int(lost["counts"]["instructions"]), 0)
    for interval in (None, 1, 2, 3):
        for view in views(records, "idle", interval):
            idles_throughout(view)


@guest
def switching_is_charged_apart():
    records = tenants("vms:\n" + vm(context("spin", 50000, quantum=20000), context("spin", 50000, name="b", quantum=20000)))
    found, n_switches = views(records, "switching")[0], int(views(records, "vm")[0]["switches"])
    # Each takes os.switch, but for those after the end of a context, of which no thread is left.
    equal(int(found["active_cycles"]), 1000 * (n_switches - 1))
    equal(signals(found)["p0.hart0.cyc_switch"], 1000 * (n_switches - 1))


@guest
def each_context_obeys_the_identities_of_the_machine():
    for view in views(tenants("vms:\n" + vm(context("spin", 50000, quantum=20000), context("pages", 30, name="p", quantum=20000))), "context"):
        found = signals(view)
        of = lambda name: sum(found.get(f"p0.hart{hart}.{name}", 0) for hart in range(2))  # noqa: E731
        stack = sum(value for name, value in found.items() if re.match(r"p0\.hart\d\.cyc_", name))
        equal(stack, of("cycle"), "the CPI stack")
        equal(sum(value for name, value in found.items() if re.match(r"p0\.hart\d\.insn_(?!compressed)", name)), of("instret"), "instructions by class")
        equal(of("cycle") + of("idle_cycle"), 2 * int(view["active_cycles"]), "each hart runs or idles while the context has it")


@guest
def a_context_s_instructions_do_not_depend_on_its_turns():
    alone = tenants("vms:\n" + vm(context("spin", 50000)))
    turns = tenants("vms:\n" + vm(context("spin", 50000, quantum=10000), context("spin", 70000, name="other", quantum=15000)))
    name = "p0.hart0.instret_u"
    equal(signals(views(turns, "context")[0])[name], signals(views(alone, "context")[0])[name])
    more = int(views(turns, "context")[0]["switches"])
    if more < 8:
        raise AssertionError(f"only {more} switches")


@guest
def a_safe_neighbor_shows_nowhere():
    busy = [context("copy", stdin=options.guest, stdout=os.path.join(scratch, "copied")), context("exit", 0), context("spin", 200000)]
    for profile in ("SAFE", "LITERAL"):
        seen = set()
        for neighbor in busy:
            text = f"profile: {profile}\nvms:\n" + vm(context("copy", stdin=options.guest, stdout=os.path.join(scratch, "mine"))) + vm(neighbor)
            mine = [v for v in views(tenants(text, "--set", "chip.slot=40"), "context") if v["vm"] == 1]
            seen.add(json.dumps(mine))
        equal((profile, len(seen) == 1), (profile, profile == "SAFE"))


@guest
def contexts_that_take_turns_do_their_work():
    copies = [os.path.join(scratch, f"copy{i}") for i in range(4)]
    of = lambda i: context("copy", stdin=options.guest, stdout=copies[i], name=f"c{i}", quantum=30000)  # noqa: E731
    for profile in ("SAFE", "LITERAL"):
        for path in copies:
            if os.path.exists(path):
                os.remove(path)
        tenants(f"profile: {profile}\nvms:\n" + vm(of(0), of(1)) + vm(of(2), partition=1, quantum=50000) + vm(of(3), partition=1, quantum=20000))
        with open(options.guest, "rb") as original:
            wanted = original.read()
        for path in copies:
            with open(path, "rb") as copy:
                equal(copy.read() == wanted, True, path)


@guest
def posted_writes_arrive_late_after_a_switch():
    text = "max_cycles: 6M\nvms:\n" + vm(context("hang", quantum=20000), context("spin", 10**9, name="other", quantum=20000))
    for setup, is_late in ((0, False), (40000, True)):
        first, second = views(tenants(text, "--set", f"chip.setup={setup}"), "context")
        n_bytes = signals(first)["chip.dma.bytes_written"]
        equal((setup, int(first["late_bytes"]), int(second["late_bytes"])), (setup, n_bytes if is_late else 0, 0))


@guest
def intervals_of_tenants_sum_to_the_whole():
    records = tenants("vms:\n" + vm(context("spin", 100000, quantum=20000), context("pages", 50, name="p", quantum=20000)), "-I", "100kc")
    n = max(r.get("interval", 0) for r in records)
    if n < 4:
        raise AssertionError(f"{n} intervals")
    for kind in ("device", "vm", "context", "switching", "idle"):
        whole = views(records, kind)
        for i, view in enumerate(whole):
            equal(summed(*[signals(views(records, kind, k + 1)[i]) for k in range(n)]), signals(view), kind)
    spans = [r for r in records if r["type"] in ("interval", "run")]
    equal([s["begin_cycle"] for s in spans[1:n]], [s["end_cycle"] for s in spans[:n - 1]])
    equal([s["end_cycle"] for s in spans[:3]], [100000, 200000, 300000])


@guest
def every_line_of_tenants_follows_its_schema():
    with open(os.path.join(ROOT, "docs", "schema", "tenants-1.json"), encoding="utf-8") as text:
        schema = json.load(text)
    for words in ([], ["-I", "50kc"], ["--monitor", "smpm", "-I", "200kc"], ["--monitor", "smpm", "--cost"]):
        for record in tenants("vms:\n" + vm(context("spin", 20000), context("crash", 16, name="x")) + vm(context("wait", name="w")), *words):
            wrong = violations(schema, schema, record)
            if wrong:
                raise AssertionError(f"{wrong}: {record}")


def block_truth(name, units):
    """Sum of an event's signal over the units of a view, from the paths of its signals; None: a shared unit's."""
    kind, event = name.split(".", 1)
    if kind not in ("hart", "l2", "mem"):
        return None
    part, _, rest = event.partition("_")
    pattern = {"hart": rf"hart\d+\.{event}", "l2": rf"l2\.\d+\.{event}", "mem": rf"mem\d+\.{event}"}[kind]
    if kind == "hart" and part in ("bp", "ptw", "l1d", "l1i", "dtlb", "itlb", "l2tlb"):
        pattern = rf"hart\d+\.{part}\.{rest}"
    return sum(value for path, value in units.items() if re.fullmatch(rf"p\d\.{pattern}", path))


def check_blocks(records, profile):
    """Every count of every block against the sum of the machine's signals of that view. Returns how many are not 0."""
    n = 0
    own = {("context", v["vm"], v["context"]): signals(v) for v in views(records, "context")}
    for number in {v["vm"] for v in views(records, "vm")}:
        mine = [signals(v) for kind in ("context", "no context") for v in views(records, kind) if v["vm"] == number]
        own["vm", number, None] = summed(*mine)
    own["device", None, None] = summed(*(units for (kind, *_), units in own.items() if kind == "vm"))
    blocks = [r for r in records if r["type"] == "block" and "interval" not in r]
    equal(sorted(str((b["view"], b.get("vm"), b.get("context"))) for b in blocks), sorted(map(str, own)), "a block for each view")
    for block in blocks:
        for name, value in block["events"].items():
            if "unavailable" in value["flags"]:
                is_unknown = profile == "LITERAL" and ".filtered." in name  # in blocks of tenants
                has_run = sum(own[block["view"], block.get("vm"), block.get("context")].values()) > 0
                equal((is_unknown or not has_run, "block" in value), (True, False), f"{name} of {block['view']} {block.get('vm')}")
                continue
            truth = block_truth(name, own[block["view"], block.get("vm"), block.get("context")])
            found = [int(value[key]) for key in ("block", "remainder", "truth", "error")]
            wanted = found[2] if truth is None else truth
            equal((name, found[0] + found[1], found[2], found[3], value["flags"]), (name, wanted, wanted, 0, []), f"{block['view']} {block.get('vm')}")
            if profile == "SAFE" and truth is not None:
                equal(found[1], 0, "all remainders arrive")
            n += found[0] != 0
    return n


def near(found, wanted, what):
    if abs(found - wanted) > 1e-6 * max(1, abs(wanted)):
        raise AssertionError(f"{what}: {found}, not {wanted}")


@guest
def the_cost_of_a_run_is_its_activity_times_weights():
    weights = {"clocked": 0.2, "toggles": 1, "wire": 2, "array": 0.3, "records": 2, "memory": 10, "host": 100}
    text = "vms:\n" + vm(context("spin", 50000, quantum=20000), context("spin", 50000, name="b", quantum=20000)) + vm(context("spin", 90000), partition=1)
    for profile in ("SAFE", "LITERAL"):
        records = tenants(f"profile: {profile}\n" + text, "--monitor", "smpm", "--cost")
        cost, ways = records[-1], ["SMPM", "FLAT64", "FLAT64-SR", "FLAT48", "CLASS44", "HYB12", "POLL"]
        facts = {key: int(value) for key, value in cost["measured"][0].items() if key != "row"}
        for name in ("activity", "energy", "shares"):
            equal([row["row"] for row in cost[name]], ways, name)
        for raw, energy in zip(cost["activity"], cost["energy"]):
            for part, weight in weights.items():
                near(energy[part], weight * raw["gated" if part == "clocked" else part], f"{raw['row']}: {part}")
            near(energy["sum"], sum(energy[part] for part in weights), f"{raw['row']}: the sum of the row")
        whole = {row["row"]: row["sum"] for row in cost["energy"]}
        for row in cost["shares"]:
            near(row["of an event"], whole[row["row"]] / facts["events"], row["row"])
            near(row["SMPM to it"], whole["SMPM"] / whole[row["row"]], row["row"])
        # What the other columns of the report say: each context that lost its harts, and each partition that fell idle.
        equal(facts["switches"], sum(int(view["switches"]) for view in views(records, "vm")) + 2)
        equal(facts["bits moved"], int(cost["activity"][0]["records"]) + int(cost["activity"][0]["memory"]))
        near(cost["activity"][-1]["gated"], 64 * facts["events"], "POLL clocks one register of 64 bits for each event")
        delivered = cost["activity"][-1]["host"] / 8
        near(cost["activity"][1]["gated"], 64 * (facts["events"] + delivered), "FLAT64 clocks its snapshot, too")
        near(cost["activity"][1]["memory"], 192 * delivered, "FLAT64 adds to three blocks")
        more = cost["remark"].split(". ")[0]
        equal([way for way in ways[1:] if re.search(rf"\b{way}(,|$)", more)], [way for way in ways[1:] if whole["SMPM"] > whole[way]], "the remark")
        near(cost["point"]["events_per_million"], 1e6 * facts["events"] / facts["cycles"] / cost["counters"], "the point")
        near(cost["point"]["energy"], whole["SMPM"] * 1000 / facts["cycles"] / cost["units"], "the point")


@guest
def the_cost_of_a_run_has_text_a_page_and_a_picture():
    path, out_path = os.path.join(scratch, "tenants.yaml"), os.path.join(scratch, "cost.out")
    with open(path, "w", encoding="utf-8") as file:
        file.write("monitor: smpm\nvms:\n" + vm(context("spin", 20000)))
    for words, wanted, unwanted in (([], ["machine's own counts", "Energy of the run", "hierarchy wins from"], []),
                                    (["--format", "md"], ["# Hierarchical counters of cloud4", "| SMPM |"], ["machine's own counts"]),
                                    (["--format", "svg"], ["<svg ", ">this run<", ">HYB12<"], ["machine's own counts"])):
        found, _, err = run("tenants", "--cost", *words, "-o", out_path, path)
        equal(found, 0, err)
        with open(out_path, encoding="utf-8") as file:
            text = file.read()
        for word in wanted:
            contains(text, word)
        equal([word for word in unwanted if word in text], [])
    fails(["tenants", "--format", "svg", path], 2, "--format goes with --cost")
    fails(["tenants", "--cost", "--csv", path], 2, "--cost has no CSV")
    fails(["tenants", "--cost", "-j", "--format", "svg", path], 2, "two formats")
    fails(["tenants", "--cost", "--monitor", "none", path], 2, "the cost is that of a monitor", "--monitor")


def example_of_tenants(name):
    folder = os.path.join(os.path.dirname(os.path.abspath(options.tally)), "guest")
    text = text_of("examples", name).replace("../build/guest", folder)
    for part in ("bench/out", "bench/workloads"):
        text = re.sub(rf"(\.\./)?{part}/", os.path.join(ROOT, part, ""), text)
    return text, [path for path in re.findall(r"program: (\S+)", text) if not os.path.exists(path)]


@guest
def blocks_of_the_example_hold_the_truth():
    text, missing = example_of_tenants("tenants-kernels.yaml")
    if missing:
        raise Skip(f"{missing[0]} is not built: no Go")
    for profile in ("SAFE", "LITERAL"):
        records = tenants(text.replace("profile: SAFE", f"profile: {profile}\nmax_cycles: 4M"))
        equal((records[0]["profile"], records[0]["monitor"]), (profile, "smpm"))
        if check_blocks(records, profile) < 300:
            raise AssertionError("most counts are 0")
        for view in views(records, "vm"):
            few, some, many = (int(view.get(f"switch_{which}_cycles", 0)) for which in ("min", "median", "max"))
            if int(view["switches"]) > 1 and not 1000 < few <= some <= many:
                raise AssertionError(f"switches of {view['name']} took {few}, {some}, {many} cycles")


@guest
def the_example_runs_well_known_programs_and_finds_the_truth():
    text, missing = example_of_tenants("tenants.yaml")
    if missing:
        equal(all("/bench/out/" in path or path.endswith("lang_go") for path in missing), True, str(missing))
        raise Skip(f"{missing[0]} is not built: make examples does that")
    records = tenants(text.replace("profile: SAFE", "profile: SAFE\nmax_cycles: 30M"))
    equal(sorted(view["name"] for view in views(records, "context")), ["bzip2", "chase", "go", "lua", "pipes", "reader", "sqlite", "strings"])
    for view in views(records, "context"):
        equal((view["name"], int(view["counts"]["instructions"]) > 10**5), (view["name"], True))
    if check_blocks(records, "SAFE") < 300:
        raise AssertionError("most counts are 0")


@guest
def intervals_of_blocks_sum_to_the_whole():
    text = "monitor: smpm\nvms:\n" + vm(context("spin", 300000, quantum=50000), context("pages", 50, name="p", quantum=50000))
    records = tenants(text, "-I", "300kc")
    whole = {(b["view"], b.get("context")): b for b in records if b["type"] == "block" and "interval" not in b}
    for key, block in whole.items():
        parts = [b for b in records if b["type"] == "block" and "interval" in b and (b["view"], b.get("context")) == key]
        if len(parts) < 3:
            raise AssertionError(f"{len(parts)} intervals")
        for name, value in block["events"].items():
            shown = [part["events"][name] for part in parts]
            if not any(v["flags"] for v in shown):  # one that was being written at an end shows no number
                equal(sum(int(v["block"]) for v in shown), int(value["block"]), name)
    equal(check_blocks(records, "SAFE") > 50, True)
    # What is read on the way changes nothing.
    whole = [r for r in records if "interval" not in r and r["type"] != "header"]
    for with_intervals, without in zip(whole, tenants(text)[1:], strict=True):
        equal(with_intervals, without)


@guest
def a_monitor_is_named_or_refused():
    text = "vms:\n" + vm(context("spin", 2000))
    contains(tenants("monitor: dhpc\n" + text, status=2), "tenants.yaml:1: monitor = dhpc: must be none or smpm")
    contains(tenants(text, "--monitor", "x", status=2), "monitor = x: must be none or smpm")
    contains(tenants(text, "--monitor", "smpm", "--set", "smpm.channels=per_hart", status=2), "smpm.channels = per_hart", "set it to per_partition")
    equal([r for r in tenants("monitor: smpm\n" + text, "--monitor", "none")[1:]], tenants(text)[1:])
    path = os.path.join(scratch, "tenants.yaml")
    rows = list(csv.DictReader(io.StringIO(run("tenants", "--csv", "--monitor", "smpm", "-o", "/dev/stdout", path)[1])))
    equal([(row["hart.instret"] == row["instructions"], row["hart.instret error"]) for row in rows if row["view"] in ("device", "vm", "context")],
          [(True, "0")] * 3)
    equal({row["hart.instret"] for row in rows if row["view"] not in ("device", "vm", "context")}, {""})


@guest
def designs_attached_together_change_no_value_of_each_other():
    every = ["--set", "hpc=timed", "--set", "smpm.profile=safe", "--set", "l2.counters=6"]
    for design, own, least in (("rvhpm", [], 3), ("dhpc", ["--set", "hpc=timed"], 10)):
        alone, beside = ([r for r in report("-P", design, *more, *program("pages", 100))[0] if r["type"] == "event"] for more in (own, every))
        equal(alone, beside)
        if len(alone) < least or any(r["error_vs_truth"] for r in alone):
            raise AssertionError(f"{design}: {alone}")
    text = "monitor: smpm\nvms:\n" + vm(context("spin", 50000, quantum=20000), context("pages", 50, name="p", quantum=20000)) + vm(context("pages", 20))
    alone, beside = tenants(text), tenants(text, "--set", "hpc=timed", "--set", "l2.counters=6")
    equal([r for r in alone if r["type"] == "block"], [r for r in beside if r["type"] == "block"])
    equal(check_blocks(beside, "SAFE") > 100, True)


@guest
def each_mistake_of_tenants_has_a_sentence_with_file_line_key_and_remedy():
    one, other = vm(context("exit", 0)), vm(context("exit", 0, name="b"), partition=0)

    def machine(*lines):
        path = tempfile.mkstemp(dir=scratch, suffix=".yaml")[1]
        written(path, "name: m\nbase: cloud4\n" + "".join(f"{line}\n" for line in lines))
        return f"machine: {path}\nmonitor: smpm\nvms:\n" + one

    has_crypto = "no cryptography" not in run("open-records", "--key", "/nonexistent", "x")[2]
    for text, words, status, *parts in (
            # partitions that the machine does not have, or cannot have
            ("vms:\n" + vm(context("exit", 0), partition=4), [], 2, "tenants.yaml:2: vms[0].partition = 4: cloud4 has partitions 0 to 3"),
            ("vms:\n" + vm(context("exit", 0), partition=99), [], 2, "tenants.yaml:2: vms[0].partition = 99: cloud4 has partitions 0 to 3"),
            ("machine: rocket\nvms:\n" + vm(context("exit", 0), partition=1), [], 2, "tenants.yaml:3: vms[0].partition = 1: rocket has one partition, 0; choose"),
            (machine("partitions: 9"), [], 2, "tenants.yaml:1: ", ".yaml:3: partitions = 9: must be between 1 and 7"),
            (machine("harts: 0"), [], 2, "tenants.yaml:1: ", ".yaml:3: harts = 0: must be between 1 and 8"),
            ("vms:\n" + one, ["--set", "partitions=0"], 2, "partitions = 0: must be between 1 and 7"),
            # windows, epochs and thresholds of the monitor
            (machine("smpm:", "  ulc_period: 600"), [], 2, "tenants.yaml:1: ", ".yaml:4: smpm.ulc_period = 600: a counter of 9 bits would overflow", "set it to at most 511"),
            (machine("smpm:", "  ulc_period: 400"), [], 2, ".yaml:4: smpm.ulc_period = 400: a frame takes 410 cycles on 1 lane; set it to at least 411"),
            (machine("smpm:", "  ulc_ctrs: 64"), [], 2, ".yaml:4: with the smpm.ulc_period of cloud4, smpm.ulc_period = 511: a frame takes"),
            (machine("smpm:", "  tb_period: 400M"), [], 2, ".yaml:4: smpm.tb_period = 400000000: a counter of 28 bits", "overflows; set it to at most"),
            (machine("smpm:", "  ccu_thr: 268435455"), [], 2, ".yaml:4: smpm.ccu_thr = 268435455: a counter of 28 bits overflows before it is sent; set it"),
            (machine("smpm:", "  shared_slot: 5"), [], 2, ".yaml:4: smpm.shared_slot = 5: a trigger and a flush", "set it to at least that, or to 0"),
            (machine("smpm:", "  tb_timeout: 5"), [], 2, ".yaml:4: smpm.tb_timeout = 5: a flush takes up to", "set it to at least that, or to 0"),
            (machine("smpm:", "  filters: 33"), [], 2, ".yaml:4: smpm.filters = 33: must be between 0 and 32"),
            ("vms:\n" + one, ["--monitor", "smpm", "--set", "smpm.ulc_period=600"], 2, "tally: smpm.ulc_period = 600: a counter of 9 bits"),
            # tenants that nobody knows, and names that two have
            ("monitor: abacus\nvms:\n" + one, [], 2, "tenants.yaml:1: monitor = abacus: must be none or smpm"),
            ("vms:\n" + vm(context("exit", 0, client="admin")), [], 2, "tenants.yaml:2: vms[0].contexts[0].client = admin: must be context, system, hypervisor or none"),
            ("vms:\n" + vm(context("exit", 0), context("exit", 0)), [], 2, "tenants.yaml:2: vms[0].contexts[1].name = ", "another context of this VM has that name"),
            ("vms:\n" + vm(context("exit", 0), name="a") + vm(context("exit", 0), name="a"), [], 2, "tenants.yaml:4: vms[1].name = a: the VM on line 2 has that name"),
            ("vms:\n" + one * 33, [], 2, "tenants.yaml:1: vms: has 33, but a chip has at most 32"),
            # two VMs on one partition need quanta
            ("vms:\n" + one + other, [], 2, "tenants.yaml:2: vms[0].quantum: is missing, but vm2 (line 3) is on partition 0, too; give both a quantum"),
            ("vms:\n" + vm(context("exit", 0), quantum=5000) + other, [], 2, "tenants.yaml:4: vms[1].quantum: is missing, but vm1 (line 2)"),
            ("vms:\n" + vm(context("exit", 0), quantum=10), [], 2, "tenants.yaml:3: vms[0].quantum = 10: must be between 1000 and"),
            ("vms:\n" + one + board(program="x", harts=1) + "    partition: 0\n", [], 2, "tenants.yaml:3: vms[1].partition = 0: a board has its partition alone"),
            # programs that do not start
            ("vms:\n  - contexts: [{program: ./none}]\n", [], 127, "tenants.yaml:2: ", "none: no such file; check the path"),
            ("vms:\n  - contexts: [{program: /etc/passwd}]\n", [], 126, "tenants.yaml:2: /etc/passwd: not marked executable; chmod +x it"),
            ("vms:\n  - contexts: [{program: /tmp}]\n", [], 126, "tenants.yaml:2: /tmp: not a program but a folder"),
            ("vms:\n  - contexts: [{program: /bin/true}]\n", [], 2, "tenants.yaml:2: /bin/true: ", "tally runs 64-bit RISC-V and AArch64 programs"),
            ("machine: a53\nvms:\n" + one, [], 2, "tenants.yaml:3: ", "RISC-V program, but machine a53 executes AArch64 programs; choose"),
            ("machine: ooo\nvms:\n" + one, [], 2, "machine ooo has a detailed core"),
            ("vms:\n" + vm(context("exit", 0, stdin="none.txt")), [], 127, "tenants.yaml:2: stdin of guest: ", "none.txt: No such file or directory"),
            ("vms:\n" + vm(context("exit", 0, stdout="/nonexistent/out")), [], 127, "tenants.yaml:2: stdout of guest: /nonexistent/out: No such file"),
            ("vms:\n" + vm(context("exit", 0), root="/nonexistent"), [], 127, "tenants.yaml:2: --root /nonexistent: No such file"),
            # what only a monitor gives a meaning
            ("vms:\n" + vm(context("exit", 0), confidential="on"), [], 2, "tenants.yaml:3: vms[0].confidential = on: hides the VM from readers of a monitor", "name one with monitor:"),
            ("vms:\n" + vm(context("exit", 0, client="context")), [], 2, "tenants.yaml:2: vms[0].contexts[0].client: names a reader of a monitor", "name one with monitor:"),
            ("vms:\n" + one, ["--records", scratch], 2, "the run has no monitor that seals records; name one with monitor: in the file"),
            ("monitor: smpm\nvms:\n" + one, ["--records", scratch], 2, "no VM of ", "tenants.yaml is confidential; give one confidential: on"),
            # confidential VMs need cryptography
            ("monitor: smpm\nvms:\n" + vm(context("exit", 0), confidential="on"), [], *((0,) if has_crypto else (2, "tenants.yaml:4: vms[0].confidential = on: this build",
                                                                                           "install libssl-dev and configure with -Dcrypto=enabled"))),
    ):
        answer = tenants(text, *words, status=status)
        contains(answer if status else "", *parts)
        if status and (answer.count("\n"), answer.startswith("tally: ")) != (1, True):
            raise AssertionError(f"not one sentence: {answer!r}")


@guest
def records_of_a_run_open_with_tally_and_with_openssl():
    if "no cryptography" in run("open-records", "--key", "/nonexistent", "x")[2]:
        raise Skip("this build has no cryptography")
    folder = os.path.join(scratch, "records")
    text = "monitor: smpm\nvms:\n" + vm(context("spin", 200000), context("spin", 300000, name="b"), confidential="on") + vm(context("exit", 0))
    contains(tenants(text, "--records", folder, status=126), "vm1.key: cannot write sealed records there", "name a folder that exists")
    os.makedirs(folder)
    counts = tenants(text, "--records", folder, "--set", "smpm.record_cycles=100000")
    plain = tenants(text)
    for with_it, without in zip([r for r in counts if r["type"] == "block"], [r for r in plain if r["type"] == "block"]):
        equal(with_it["events"], without["events"], "records change no count")
    equal(sorted(os.listdir(folder)), ["vm1.key", "vm1.records"])
    key, path = (os.path.join(folder, name) for name in ("vm1.key", "vm1.records"))
    equal([os.stat(name).st_mode & 0o777 for name in (key, path)], [0o600, 0o600])
    found, out, err = run("open-records", "-j", "--key", key, path)
    equal((found, err), (0, ""))
    records = [json.loads(line) for line in out.splitlines()][1:-1]
    equal([r["seq"] for r in records], list(range(1, len(records) + 1)))
    equal([int(r["sent_cycle"]) for r in records], [100000 * (i + 1) for i in range(len(records))], "a fixed cadence")
    equal([r["context"] for r in records[:6]], [None, 0, 1] * 2, "blocks take turns")
    for block in (r for r in counts if r["type"] == "block" and r.get("vm") == 1):
        last = [r for r in records if r["context"] == block.get("context") and "unavailable" not in r["flags"]][-1]
        values = {int(value["count"]) for value in last["values"] if value is not None}
        for event in ("hart.cycle", "hart.idle_cycle"):
            equal(int(block["events"][event]["block"]) in values, True, f"{event} of {block.get('context')}")
    # the independent side: AES-256-CTR from counter 2, as NIST SP 800-38D says
    fields = dict(line.split(": ") for line in text_of(key).splitlines())
    with open(path, "rb") as stream:
        sealed = stream.read()
    size = len(sealed) // len(records)
    for i in (0, len(records) - 1):
        record = sealed[i * size:(i + 1) * size]
        n, seq = struct.unpack_from("<I", record, 20)[0], struct.unpack_from("<Q", record, 24)[0]
        nonce = (int(fields["iv"], 16) ^ seq).to_bytes(12, "big")
        opened = subprocess.run(["openssl", "enc", "-d", "-aes-256-ctr", "-K", fields["key"], "-iv", nonce.hex() + "00000002"], input=record[64:-16],
                                stdout=subprocess.PIPE, check=True).stdout
        words = struct.unpack(f"<{len(opened) // 8}Q", opened)
        equal(words[2], int(records[i]["commit_cycle"]))
        equal([word for word, value in zip(words[4:4 + n], records[i]["values"]) if value is not None],
              [int(value["count"]) for value in records[i]["values"] if value is not None])


@guest
def a_mistake_in_one_context_loses_no_output_of_another():
    kept, new = (os.path.join(scratch, name) for name in ("kept.txt", "new.txt"))
    written(kept, "precious\n" * 10)
    both = [context("exit", 0, stdout="kept.txt"), context("exit", 0, name="n", stdout="new.txt")]
    tenants("vms:\n" + vm(*both, "{program: ./none}"), status=127)
    equal((text_of(kept), os.path.exists(new)), ("precious\n" * 10, False))
    tenants("vms:\n" + vm(*both))
    equal((text_of(kept), text_of(new)), ("", ""))


@guest
def tenants_say_the_same_in_every_engine_and_every_time():
    text = "vms:\n" + vm(context("spin", 50000, quantum=20000), context("threads", 2, name="t", quantum=20000)) + vm(context("pages", 20))
    engines = ("step", "interp", "translate" if platform.machine() == "x86_64" else "interp", "interp")
    for monitor in ("none", "smpm"):
        equal(len({json.dumps(tenants(text, "--engine", engine, "--monitor", monitor)[1:]) for engine in engines}), 1)


@guest
def ends_of_contexts_are_told():
    found = views(tenants("vms:\n" + vm(context("crash", 16), context("exit", 7, name="e")) + vm(context("wait", name="w"))), "context")
    equal([(v["end"], v["status"], v["signal"]) for v in found], [("killed", 0, 11), ("exited", 7, 0), ("deadlock", 0, 0)])
    contains(found[0]["message"], "killed by SIGSEGV: load from 0x10")
    contains(found[2]["message"], "deadlock: every thread sleeps and nothing can wake one")
    path = os.path.join(scratch, "tenants.yaml")
    status, out, err = run("tenants", path)
    equal((status, out), (0, ""))
    contains(err, "device", "vm 1 vm1", "ctx 1.1 e", "ctx 1.0 guest: killed by SIGSEGV", "ctx 1.1 e: exited with status 7", "ctx 2.0 w: deadlock")
    rows = list(csv.DictReader(io.StringIO(run("tenants", "--csv", "-o", "/dev/stdout", path)[1])))
    records = tenants(open(path, encoding="utf-8").read())
    equal([int(r["instructions"]) for r in rows], [int(v["counts"]["instructions"]) for v in records if v["type"] == "view"])


@guest
def a_run_of_tenants_ends_at_its_limit():
    records = tenants("max_cycles: 300k\nvms:\n" + vm(context("spin", 10**9)))
    span = [r for r in records if r["type"] == "run"][0]
    equal((span["end_cycle"], span["complete"], views(records, "context")[0]["end"]), (300000, True, None))


def board(**keys):
    return "  - board: {" + ", ".join(f"{key}: {json.dumps(value)}" for key, value in keys.items()) + "}\n"


@guest
def boards_of_partitions_end_as_they_say():
    records = tenants("vms:\n" + board(program=bare(PASS), console="out.txt") + board(program=bare(7 << 16 | FAIL), console="none") +
                      board(program=bare(STUCK), console="none") + board(program=bare(RESET), console="none"))
    found = [view for view in views(records, "context") if view["context"] == 0]
    equal([(v["name"], v["program"], v["end"], v["status"]) for v in found],
          [("board", "space 0x0", "exited", 0), ("board", "space 0x0", "exited", 7), ("board", "space 0x0", "deadlock", 0), ("board", "space 0x0", "exited", 1)])
    contains(found[2]["message"], "every hart waits for an interrupt (WFI)")
    contains(found[3]["message"], "the guest asked for a restart")
    with open(os.path.join(scratch, "out.txt"), encoding="utf-8") as text:
        equal(text.read(), "bare: hello\n")
    stated, _, _ = report("--bare", "--machine", "cloud4", "--harts", "1", "--per-unit", bare(PASS))
    wanted = {r["event"].split(".")[-1]: int(r["value"]) for r in stated if r["type"] == "event" and r["scope"] == "hart0" and r["event"].startswith("hart.")}
    mine = {name.split(".")[-1]: value for name, value in signals(found[0]).items() if name.startswith("p0.hart0.") and name.count(".") == 2}
    equal({name: mine.get(name, 0) for name in ("cycle", "instret", "cyc_mmio", "insn_store")}, {name: wanted[name] for name in ("cycle", "instret", "cyc_mmio", "insn_store")})


@guest
def consoles_of_boards_say_whose_they_are():
    text = "vms:\n" + board(program=bare(PASS)) + "  - name: other\n" + board(program=bare(PASS)).replace("  - ", "    ")
    tenants(text)
    status, out, err = run("tenants", "-o", os.devnull, os.path.join(scratch, "tenants.yaml"))
    equal((status, sorted(out.splitlines()), err), (0, ["[other] bare: hello", "[vm1] bare: hello"], ""))


@guest
def a_board_boots_firmware_and_a_kernel():
    records = tenants("monitor: smpm\nmax_cycles: 20M\nvms:\n" + board(kernel=kernel(), ram="64MiB", console="one.txt") +
                      board(kernel=kernel(), console="two.txt"))
    for name in ("one.txt", "two.txt"):  # the kernel waits for input that never comes
        with open(os.path.join(scratch, name), encoding="utf-8") as text:
            contains(text.read(), "OpenSBI v", "kernel: hello")
    equal([(view["end"], int(view["counts"]["instructions"]) > 10**6) for view in views(records, "context") if view["context"] == 0], [(None, True)] * 2)
    for record in records:
        if record["type"] == "block":
            equal({name for name, value in record["events"].items() if int(value.get("error", 0)) != 0}, set())


@guest
def wrong_boards_are_refused_before_anything_runs():
    for keys, status, parts in (
            ({"kernel": "/nonexistent/Image"}, 127, ["tenants.yaml:2: kernel /nonexistent/Image: No such file"]),
            ({"kernel": "/bin/true"}, 2, ["tenants.yaml:2: kernel /bin/true: ", "tally runs 64-bit RISC-V"]),
            ({"kernel": kernel(), "initrd": "/nonexistent"}, 127, ["tenants.yaml:2: initial RAM disk /nonexistent: No such file"]),
            ({"firmware": "/etc/passwd", "kernel": "/etc/passwd"}, 2, ["tenants.yaml:2: kernel /etc/passwd: is neither"]),
            ({"program": "/etc/passwd"}, 2, ["tenants.yaml:2: ", "not an ELF file"]),
            ({"kernel": kernel(), "ram": "32MiB"}, 2, ["tenants.yaml:2: the machine has 32 MiB of RAM; booting a kernel takes 64 MiB or more"]),
            ({"program": bare(PASS), "ram": "4MiB"}, 2, ["tenants.yaml:2: vms[0].board.ram = 4MiB: must be whole MiB, 16MiB or more"]),
            ({"program": bare(PASS), "console": "/nonexistent/out"}, 127, ["tenants.yaml:2: console of vm1: /nonexistent/out: No such file"]),
            ({"program": bare(PASS), "harts": 3}, 2, ["tenants.yaml:2: vms[0].board.harts = 3: a partition of cloud4 has 2"])):
        contains(tenants("vms:\n" + board(**keys), status=status), *parts)


class Chip:
    """tally tenants --oob on a file, in the background."""

    def __init__(self, text, *words):
        self.folder = tempfile.mkdtemp(dir=scratch)
        self.socket, self.key, self.report = (os.path.join(self.folder, name) for name in ("chip.sock", "key", "report.json"))
        path = os.path.join(self.folder, "tenants.yaml")
        for name, content in ((path, text), (self.key, "0123456789abcdef" * 4)):
            with open(name, "w", encoding="utf-8") as file:
                file.write(content)
        self.run = subprocess.Popen([options.tally, "tenants", "-j", "-o", self.report, "--oob", self.socket, "--key", self.key, *words, path],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=CLEAN)
        for _ in range(2000):
            if os.path.exists(self.socket) or self.run.poll() is not None:
                break
            time.sleep(0.01)

    def oob(self, *words, with_key=False):
        status, out, err = run("oob", "-j", *(["--key", self.key] if with_key else []), self.socket, *words)
        equal(status, 0, err)
        return [json.loads(line) for line in out.splitlines()]

    def wait(self, condition):
        for _ in range(3000):
            answer = self.oob("state")[0]
            if condition(answer):
                return
            time.sleep(0.02)
        raise AssertionError(f"the chip stays in {answer}")

    def end(self, status=0):
        self.run.send_signal(signal.SIGINT)
        err = self.run.communicate(timeout=100)[1]
        equal((self.run.returncode, err, os.path.exists(self.socket)), (status, "", False))
        with open(self.report, encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]


@guest
def a_mailbox_answers_while_harts_run_and_stand():
    chip = Chip("monitor: smpm\nvms:\n" + vm(context("spin", 10**6, quantum=50000), context("pages", 50, name="p", quantum=50000)), "--oob-hold")
    try:
        equal(os.stat(chip.socket).st_mode & 0o777, 0o600)
        named = {row["metric"]: row["name"] for row in chip.oob("id", "state", "latch", "idle", "read") if row["command"] == "read"}
        equal((named[0], all(re.fullmatch(r"[a-z][a-z0-9_.]+", name) for name in named.values())), ("hart.cycle", True))
        contains(run("oob", chip.socket, "latch", "read=0")[1], "metric   0  hart.cycle ")
        # A client that goes within a message leaves nothing behind.
        for message in (b"", b"\1\0\0", b"\1\0\0\0\2\0\0\x80"):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(chip.socket)
                client.sendall(message)
        fails(["oob", chip.socket, "read"], 125, "read: stale; nothing is latched")
        fails(["oob", chip.socket, "latch=1"], 125, "latch=1: denied; this needs --key FILE")
        chip.wait(lambda state: state["partitions"] == 0)  # all programs have ended; the harts stand
        equal(chip.oob("state")[0]["driver"], False)
        device, = [row["count"] for row in chip.oob("latch", "read=0") if row["command"] == "read"]
        counts = [chip.oob(latch, "read=0", with_key=True)[1]["count"] for latch in ("latch=1", "latch=1.0", "latch=1.1")]
        idle = chip.oob("idle")[0]
        equal(0 < idle["idle_cycles"] < idle["cycles"], True)
        fails(["oob", "-k", chip.key, chip.socket, "config=1:0"], 125, "config=1:0: denied")
        equal(chip.oob("config=0:0", "end", with_key=True)[1]["command"], "end")
        fails(["oob", "-k", chip.key, chip.socket, "latch=7"], 125, "latch=7: bad argument")
    finally:
        records = chip.end()
    blocks = {(b["view"], b.get("context")): int(b["events"]["hart.cycle"]["block"]) for b in records if b["type"] == "block"}
    equal((device, *counts), (blocks["device", None], blocks["vm", None], blocks["context", 0], blocks["context", 1]))


@guest
def wrong_out_of_band_clients_get_a_sentence():
    text = "monitor: smpm\nvms:\n" + vm(context("spin", 10**9))
    chip = Chip(text)
    try:
        wrong = os.path.join(chip.folder, "wrong")
        for content, said in (("12", "wrong: the key of the operator is 64 hexadecimal digits"), ("x" * 64, "is 64 hexadecimal digits"),
                              ("0" * 66, "is 64 hexadecimal digits"), ("0" * 64, "--key: the chip refuses this key")):
            with open(wrong, "w", encoding="utf-8") as file:
                file.write(content)
            fails(["oob", "-k", wrong, chip.socket, "id"], 125, said)
        fails(["oob", "-k", "/nonexistent", chip.socket, "id"], 125, "/nonexistent: No such file")
        for words, said in ((["latch=x"], "latch=x: write latch, latch=VM or latch=VM.CONTEXT"), (["read=-1"], "read=-1: write read"),
                            (["config=1"], "config=1: write config=KEY:VALUE"), (["id=1"], "id=1: this command takes no value"),
                            (["halt"], "halt: no such command; commands are id, state")):
            fails(["oob", chip.socket, *words], 2, said)
        fails(["tenants", "--oob", chip.socket, os.path.join(chip.folder, "tenants.yaml")], 126, "chip.sock: exists already; remove it")
    finally:
        chip.end(status=130)  # the run was cut, and its counts are whole
    fails(["oob", chip.socket, "id"], 127, "no run listens there; start one with tally tenants --oob")
    fails(["oob"], 2, "no socket; write tally oob SOCKET COMMAND")
    fails(["oob", chip.socket], 2, "no command")
    fails(["oob", "/" + "x" * 120, "id"], 2, "the path of a socket has at most 107 characters")
    fails(["tenants", "--oob-hold", "a.yaml"], 2, "--oob-hold needs --oob SOCKET")
    fails(["tenants", "--key", "k", "a.yaml"], 2, "--key needs --oob SOCKET")
    contains(tenants("vms:\n" + vm(context("exit", 0)), "--oob", chip.socket, status=2), "the run has no monitor with a mailbox; name one with monitor:")
    contains(tenants(text, "--oob", "/" + "x" * 120, status=2), "the path of a socket has at most 107 characters")
    # What a run that was killed left behind is replaced.
    killed = Chip(text)
    killed.run.kill()
    killed.run.communicate()
    equal(os.path.exists(killed.socket), True)
    again = subprocess.Popen([options.tally, "tenants", "-o", os.devnull, "--oob", killed.socket, os.path.join(killed.folder, "tenants.yaml")], env=CLEAN)
    for _ in range(1000):
        if run("oob", killed.socket, "id")[0] == 0:
            break
        time.sleep(0.01)
    again.send_signal(signal.SIGINT)
    equal((again.wait(timeout=100), os.path.exists(killed.socket)), (130, False))


@guest
def blocks_are_printed_in_columns_by_view():
    path = os.path.join(scratch, "tenants.yaml")
    records = tenants("monitor: smpm\nvms:\n" + vm(context("spin", 50000, quantum=20000), context("pages", 20, name="p", quantum=20000), name="a") +
                      vm(context("spin", 70000, name="s"), name="b"))
    truth = {(b["view"], b.get("vm"), b.get("context")): b["events"] for b in records if b["type"] == "block"}
    views_of = [[("device", None, None), ("vm", 1, None), ("vm", 2, None)], [("context", 1, 0), ("context", 1, 1)], [("context", 2, 0)]]
    for words in ([], ["--all"]):
        status, out, err = run("tenants", *words, path)
        equal((status, out), (0, ""))
        tables = err.split("# Blocks of monitor smpm")[1].split("\nevent ")[1:]
        equal(len(tables), 3)
        for table, keys in zip(tables, views_of, strict=True):
            rows = [line.split() for line in table.splitlines()[1:] if line and line[0] != "#" and "." in line.split()[0]]
            shown = {row[0]: [cell.replace(",", "") for cell in row[1:]] for row in rows}
            for name in truth[keys[0]] | truth[keys[-1]]:
                values = [truth[key].get(name, {}) for key in keys]
                cells = [[str(int(v["block"]) + int(v["remainder"])), str(v["truth"])] if "block" in v else ["-", "-"] for v in values]
                is_shown = words or any(cell not in ("0", "-") for pair in cells for cell in pair)
                equal(shown.get(name), sum(cells, []) + ["0"] if is_shown else None, name)


@test
def wrong_tenants_files_are_refused_before_anything_runs():
    here = "/bin/true"
    lone = f"{{program: {here}}}"
    for text, status, parts in (
            ("vms: []\n", 2, ["tenants.yaml:1: vms: is missing or empty"]),
            ("vms:\n" + vm(lone, partition=4), 2, ["tenants.yaml:2: vms[0].partition = 4: cloud4 has partitions 0 to 3"]),
            ("machine: rocket\nvms:\n" + vm(lone, partition=1), 2, ["rocket has one partition, 0; choose a machine with partitions"]),
            ("vms:\n" + vm(lone, partition=1) + vm(lone, partition=1), 2, ["vms[0].quantum: is missing", "vm2 (line 4)"]),
            ("vms:\n" + vm(f"{{program: {here}, client: root}}"), 2,
             ["tenants.yaml:2: vms[0].contexts[0].client = root: must be context, system, hypervisor or none"]),
            ("vms:\n" + vm(lone, confidential="maybe"), 2, ["vms[0].confidential = maybe: must be off or on"]),
            ("vms:\n" + vm(lone, contexts_read_vm=1), 2, ["vms[0].contexts_read_vm = 1: must be off or on"]),
            ("machine: cluod4\nvms:\n" + vm(lone), 127, ["tenants.yaml:1: unknown machine 'cluod4'; did you mean cloud4?"]),
            ("vms:\n" + vm("{program: /nonexistent/prog}"), 127, ["tenants.yaml:2: /nonexistent/prog: no such file; check the path"]),
            ("vms:\n" + vm(lone), 2, ["tenants.yaml:2: /bin/true: "]),
            ("vms:\n" + vm("{program: /etc/passwd}"), 126, ["tenants.yaml:2: /etc/passwd: not marked executable"]),
            ("vms:\n" + vm(f"{{program: {here}, stdin: /nonexistent}}"), 127, ["tenants.yaml:2: stdin of true: /nonexistent: No such file"])):
        contains(tenants(text, status=status), *parts)
    contains(tenants("vms:\n" + vm(lone), "--set", "partitions=8", status=2), "partitions = 8: must be between 1 and 7")
    fails(["tenants"], 2, "no tenants file", "tally tenants FILE.yaml")
    fails(["tenants", "/nonexistent.yaml"], 127, "/nonexistent.yaml: cannot open this tenants file")
    fails(["tenants", "a.yaml", "b"], 2, "b: one word too many")
    fails(["tenants", "-j", "--csv", "a.yaml"], 2, "--csv", "--json")
    fails(["tenants", "-I", "1M", "a.yaml"], 2, "-I of tenants is in time or cycles")


def main():
    global options, scratch
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", help="the build folder, for the installed library")
    parser.add_argument("--list", action="store_true", help="print the names of the tests")
    options = read_options(parser)
    if options.library:
        options.library = os.path.abspath(options.library)
    if options.list:
        print("\n".join(function.__name__ for function in tests))
        return 0
    with new_scratch("cli-") as scratch:
        options.guest = built_guest(scratch, os.path.join(HERE, "guest.c"))
        return run_tests(options.names, lambda function: None if options.guest or not getattr(function, "needs_guest", False)
                         else f"no {CROSS} to build the RISC-V program with")


if __name__ == "__main__":
    sys.exit(main())
