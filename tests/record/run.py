#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Profiles from outside: tally record, report, annotate and diff.

  run.py --tally build/tally [--guests BUILD/guest] [NAME...]

Sums of a profile are compared with tally stat, executions of each instruction with QEMU's log, counts of a program by line with numbers worked
out on paper. SQLite's own reader opens the files. The exit status is 1 when a test failed.
"""
import argparse
import collections
import csv
import io
import json
import math
import os
import re
import shutil
import sqlite3
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
from claims import CROSS, Skip, contains, equal, new_scratch, read_options, run_tests, test  # noqa: E402

CLEAN = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LD_LIBRARY_PATH") if name in os.environ}
GUESTS = ["demo", "kernel_nbody", "lang_dynamic", "process_family", "process_exec", "threads_sync", "signals_delivery", "memory_code",
          "arm64/kernel_sort", "arm64/process_exec"]
CROSS_A64 = os.environ.get("CROSS_A64", "aarch64-linux-gnu-") + "gcc"
options = scratch = None


def tally(*words, env=None, cwd=None):
    done = subprocess.run([options.tally, *words], stdin=subprocess.DEVNULL, capture_output=True, env=env or CLEAN, cwd=cwd, timeout=300)
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def fails(words, status, *parts):
    got, _, stderr = tally(*words)
    equal(got, status, f"{words}: {stderr}")
    contains(stderr, *parts)
    equal(stderr.count("\n"), 1, f"lines of {stderr!r}")


def guest(name):
    path = os.path.join(options.guests, name)
    if not os.path.exists(path):
        raise Skip(f"there is no guest program {name}")
    return path


def file(name):
    return os.path.join(scratch, name)


def record(name, *words):
    path = file(name)
    status, _, stderr = tally("record", "-q", "-o", path, *words)
    return path, status, stderr


def rows(path, sql, *values):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        return database.execute(sql, values).fetchall()


def table(path, *words):
    status, stdout, stderr = tally("report", "--csv", *words, path)
    equal(status, 0, stderr)
    return list(csv.DictReader(io.StringIO(stdout)))


def needs_compiler():
    if not shutil.which(CROSS):
        raise Skip(f"there is no {CROSS}")


def built(name, *words, to=None):
    """The program of NAME.S, without a library."""
    needs_compiler()
    path = file(to or name)
    if not os.path.exists(path):
        subprocess.run([CROSS, "-nostdlib", "-static", "-march=rv64g", "-mno-relax", *words, "-o", path, os.path.join(HERE, name + ".S")], check=True)
    return path


def linked_at(address):
    return f"-Wl,--no-warn-rwx-segments,-N,-Ttext={address},--build-id=none"


def assembled():
    """The program of loops.S, with lines."""
    return built("loops", "-g")


@test
def sums_are_the_counts_of_stat():
    for name in GUESTS:
        path, status, _ = record("sums.profile", "--", guest(name))
        report = file("sums.json")
        equal(tally("stat", "-e", "*.*", "-j", "-o", report, "--", guest(name))[0], status, name)
        with open(report, encoding="utf-8") as lines:
            events = [json.loads(line) for line in lines]
        truth = {e["event"]: int(e["value"]) for e in events if e["type"] == "event" and e["scope"] == "machine"}
        totals = dict(rows(path, "SELECT name, total FROM event WHERE kind = 'signal'"))
        sums = dict(rows(path, "SELECT name, sum(n) FROM count JOIN event ON event.id = event GROUP BY name"))
        if len(totals) < 200 or not set(totals) <= set(truth):
            raise AssertionError(f"{name}: {len(totals)} signals, unknown to stat: {sorted(set(totals) - set(truth))}")
        for signal, total in totals.items():
            equal(total, truth[signal], f"{name}: total of {signal}")
            equal(sums.get(signal, 0), total, f"{name}: sum of {signal}")
        clocks = {f"hart.{clock}{mode}" for clock in ("cycle", "instret") for mode in ("_u", "_s", "_m")} | {"hart.idle_cycle"}
        equal({signal for signal in set(truth) - set(totals) if not signal.startswith("hart0")} - clocks, set(), f"{name}: signals that the profile lacks")


@test
def every_engine_writes_the_same_bytes():
    for name, *words in (("process_exec",), ("threads_sync",), ("memory_code",), ("process_exec", "-g"), ("signals_delivery", "-g")):
        files = []
        for engine in ("translate", "interp", "step"):
            path, _, _ = record(f"{engine}.profile", *words, "--engine", engine, "--", guest(name))
            with open(path, "rb") as stream:
                files.append(stream.read())
        if files[0] != files[1] or files[0] != files[2]:
            raise AssertionError(f"{name} {words}: profiles of engines differ")


def executed_by_qemu(log):
    """Addresses of instructions in their order, from a log of -singlestep -d exec,nochain."""
    with open(log, encoding="ascii", errors="replace") as lines:
        matches = (re.match(r"Trace \d+: \S+ \[[0-9a-f]+/([0-9a-f]+)/", line) for line in lines)
        return [int(match[1], 16) for match in matches if match]


@test
def instructions_were_executed_as_often_as_qemu_says():
    if not shutil.which("qemu-riscv64"):
        raise Skip("there is no qemu-riscv64")
    for program in (assembled(), guest("isa_hello")):
        log = file("qemu.log")
        qemu = ["qemu-riscv64", "-singlestep", "-d", "exec,nochain", "-D", log, program]
        expected_status = subprocess.run(qemu, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=CLEAN).returncode
        path, status, _ = record("qemu.profile", "--", program)
        equal(status, expected_status, program)
        executed = collections.Counter(executed_by_qemu(log))
        booked = dict(rows(path, "SELECT address, sum(n) FROM count JOIN instruction ON instruction.id = instruction "
                                 "JOIN event ON event.id = event WHERE event.name = 'hart.instret' GROUP BY address"))
        if len(booked) < 5:
            raise AssertionError(f"{program}: {len(booked)} instructions")
        # An instruction that traps is in QEMU's log, and does not retire: system calls do.
        with_calls = {address: n for address, n in executed.items() if booked.get(address) != n}
        texts = dict(rows(path, "SELECT address, disassembly FROM instruction"))
        for address, n in with_calls.items():
            if texts.get(address) != "ecall" or booked.get(address, 0) > n:
                raise AssertionError(f"{program}: {address:#x} {texts.get(address)}: {booked.get(address)} executions, QEMU {n}")
        equal(set(booked) - set(executed), set(), program)


@test
def counts_by_line_are_those_worked_out_on_paper():
    path, status, _ = record("loops.profile", "--with-sources", "--", assembled())
    equal(status, 7)
    by_line = {int(row["srcline"].split(":")[1]): row for row in table(path, "-s", "srcline", "-e", "instructions,l1d.load,l1d.load_miss,hart.insn_branch,hart.load_bytes")
               if row["srcline"].startswith("loops.S:")}
    expected = {  # line: executed, loads, branches
        6: (2, 0, 0),  # lla is two instructions
        7: (1, 0, 0),
        9: (100, 100, 0),
        10: (100, 0, 0),
        11: (100, 0, 0),
        12: (100, 0, 0),
        13: (100, 0, 100),
        14: (1, 0, 0),
        15: (1, 0, 0),
        21: (100, 0, 0),
        23: (1000, 0, 0),
        24: (1000, 0, 1000),
        25: (100, 0, 0),
    }
    for line, (executed, loads, branches) in expected.items():
        row = by_line[line]
        equal((int(row["instructions"]), int(row["hart.insn_branch"]), int(row["hart.load_bytes"])), (executed, branches, 8 * loads), f"line {line}")
    # Every load begins a line that nothing fetched before. Walks of the page table are look-ups, too.
    if int(by_line[9]["l1d.load"]) < 100 or int(by_line[9]["l1d.load_miss"]) < 100:
        raise AssertionError(f"line 9: {by_line[9]}")
    functions = {row["symbol"]: int(row["instructions"]) for row in table(path, "-s", "symbol", "-e", "instructions")}
    equal(functions, {"_start": 2 + 1 + 5 * 100 + 2, "inner": 2200})
    mpki = table(path, "-s", "symbol", "-e", "cycles,instructions,cycles / instructions", "--order", "cycles / instructions")
    ratios = [float(row["cycles / instructions"]) for row in mpki]
    equal(ratios, sorted(ratios, reverse=True))
    for row, ratio in zip(mpki, ratios):
        if abs(int(row["cycles"]) / int(row["instructions"]) - ratio) > 1e-2 * ratio:
            raise AssertionError(row)


@test
def reports_agree_with_sqlite():
    path, _, _ = record("demo.profile", "--", guest("demo"))
    wanted = dict(rows(path, "SELECT function.name, sum(n) FROM count JOIN instruction ON instruction.id = count.instruction JOIN function "
                             "ON function.id = instruction.function JOIN event ON event.id = event WHERE event.name = 'l1d.load_miss' GROUP BY function.name"))
    found = collections.Counter()
    for row in table(path, "-s", "symbol", "-e", "l1d.load_miss"):
        found[row["symbol"]] += int(row["l1d.load_miss"])
    equal({name: n for name, n in found.items() if n}, wanted)
    status, stdout, _ = tally("report", "-j", "-s", "dso", "-e", "cycles,ipc", path)
    header, row = (json.loads(line) for line in stdout.splitlines())
    equal((status, header["schema"], row["counts"]["cycles"]), (0, "tally.profile-report/1", header["totals"]["cycles"]))
    # A formula sorts, shown or not.
    shown = table(path, "-s", "symbol", "-e", "cycles,cpi", "--order", "cpi")
    ratios = [float(row["cpi"]) for row in shown if row["cpi"]]
    equal((len(ratios) > 10, ratios), (True, sorted(ratios, reverse=True)), "in the order of cpi")
    equal([(row["symbol"], row["cycles"]) for row in table(path, "-s", "symbol", "-e", "cycles", "--order", "cycles/instructions")],
          [(row["symbol"], row["cycles"]) for row in shown], "by a formula that is no column")
    limited = table(path, "-s", "symbol", "-e", "cycles", "--percent-limit", "5")
    total = header["totals"]["cycles"]
    equal(len(limited), sum(20 * int(row["cycles"]) >= total for row in table(path, "-s", "symbol", "-e", "cycles")))


@test
def annotated_source_has_text_counts_and_targets():
    path, _, _ = record("loops.profile", "--with-sources", "--", assembled())
    status, stdout, stderr = tally("annotate", "-i", path, "-e", "instructions,l1d.load_miss", "inner")
    equal((status, stderr), (0, ""))
    contains(stdout, "# inner of ", "2,200 instructions", "loops.S:23      addi    t1, t1, -1", "issue 100%")
    if not re.search(r"^> +1,000 +\| +[0-9a-f]+: bnez t1,[0-9a-f]+ ", stdout, re.M):
        raise AssertionError(stdout)
    target = re.search(r"bnez t1,([0-9a-f]+)", stdout)[1]
    equal(re.findall(r"\|([0-9a-f]+):$", stdout, re.M), [target], "labels")
    status, stdout, _ = tally("annotate", "-i", path, "-e", "instructions", "loops.S")
    contains(stdout, "  1,000 |   23      addi    t1, t1, -1")
    status, stdout, _ = tally("annotate", "-i", path, "--color", "always", "inner")
    contains(stdout, "\033[1;31m")
    fails(["annotate", "-i", path, "iner"], 2, "no function and no source file", "did you mean inner")
    fails(["annotate", "-i", path, "inne"], 2, "no function and no source file", "did you mean inner")


INLINED = """
static inline __attribute__((always_inline)) int add_up(const int *of, int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += of[i];
    return sum;
}
int numbers[100];
int main(int argc, char **argv) {
    (void)argv;
    numbers[argc] = 3;
    return add_up(numbers, 100);
}
"""


@test
def inlined_calls_stand_with_their_lines():
    needs_compiler()
    source, program = file("inlined.c"), file("inlined")
    with open(source, "w", encoding="utf-8") as stream:
        stream.write(INLINED)
    subprocess.run([CROSS, "-g", "-O1", "-static", "-o", program, source], check=True)
    path, _, _ = record("inlined.profile", "--with-sources", "--", program)
    # Of the hundred passes of the loop, at its lines 4 and 5; the call is at line 12.
    found = rows(path, "SELECT inlined.name, inlined.line, function.name, sum(n) FROM count JOIN instruction ON instruction.id = instruction JOIN inlined ON inlined.id = inlined "
                       "JOIN function ON function.id = function JOIN event ON event.id = event WHERE event.name = 'hart.instret' GROUP BY 1, 2, 3")
    equal([row[:3] for row in found], [("add_up", 12, "main")])
    if not 300 <= found[0][3] <= 1000:
        raise AssertionError(f"{found[0][3]} instructions of a hundred passes")
    status, stdout, _ = tally("annotate", "-i", path, "-e", "instructions", "main")
    contains(stdout, "sum += of[i];  # inlined: add_up")
    fails(["report", "-e", "cycls / 2", path], 2, "cycls", "did you mean cycles")


@test
def instructions_of_arm64_read_as_objdump_has_them():
    objdump = CROSS_A64.replace("gcc", "objdump")
    if not shutil.which(objdump):
        raise Skip(f"there is no {objdump}")
    program = guest("arm64/count_arm64")
    path, _, _ = record("arm64.profile", "--", program)
    listing = subprocess.run([objdump, "-d", program], capture_output=True, text=True, check=True).stdout
    texts = {int(address, 16): " ".join(re.sub(r" *(//.*|<.*>.*)$", "", text).split()) for address, text in
             re.findall(r"^ +([0-9a-f]+):\t[0-9a-f]{8} \t(.*)$", listing, re.M)}
    ours = rows(path, "SELECT address, disassembly, target FROM instruction JOIN object ON object.id = object WHERE object.kind = 'program'")
    if len(ours) < 100:
        raise AssertionError(f"{len(ours)} instructions")
    n_targets = 0
    for address, text, target in ours:
        equal(re.sub(r" *//.*$", "", text), texts[address], f"{address:#x}")
        direct = re.match(r"(?:b|bl|b\.\w+|cbn?z|tbn?z) (?:.*, )?([0-9a-f]+)$", texts[address])
        equal(target, int(direct[1], 16) if direct else None, texts[address])
        n_targets += direct is not None
    if n_targets < 10:
        raise AssertionError(f"{n_targets} direct transfers")


@test
def processes_and_threads_have_their_own_counts():
    path, _, _ = record("family.profile", "--", guest("process_exec"))
    names = [row["process"].split()[1] for row in table(path, "-s", "process", "-e", "instructions")]
    if len(names) < 2:
        raise AssertionError(names)
    # Loading the program is before its first instruction.
    equal(rows(path, "SELECT address, event.name, n FROM count JOIN instruction ON instruction.id = instruction JOIN event ON event.id = event "
                     "JOIN object ON object.id = object WHERE object.kind = 'none' ORDER BY event.name"), [(0, "hart.flush_other", 1), (0, "os.exec", 1)])


def generated(root):
    """Address, function and kind of the object of each instruction that memory_code generates."""
    path, status, stderr = record("jit.profile", "--root", root, "--", "/memory_code")
    equal((status, stderr), (0, ""))
    return rows(path, "SELECT instruction.address, function.name, object.kind FROM instruction JOIN object ON object.id = instruction.object "
                      "LEFT JOIN function ON function.id = function WHERE object.kind IN ('anonymous', 'jit') ORDER BY instruction.address")


@test
def mappings_have_offsets_of_their_files_alone():
    """Code without a file is at its addresses in memory; of a file, the offset of a mapping is that of readelf's segment."""
    path, status, stderr = record("code.profile", "--", guest("memory_code"))
    equal((status, stderr), (0, ""))
    anonymous = rows(path, "SELECT start, finish, offset, bias FROM mapping JOIN object ON object.id = object WHERE kind = 'anonymous'")
    equal([(offset, bias) for _, _, offset, bias in anonymous], [(0, 0)] * len(anonymous))
    executed = rows(path, "SELECT DISTINCT address FROM instruction JOIN object ON object.id = object WHERE kind = 'anonymous'")
    outside = [hex(address) for address, in executed if not any(start <= address < finish for start, finish, _, _ in anonymous)]
    equal((len(anonymous) > 1, len(executed) > 1, outside), (True, True, []))
    page, places = 4095, set()
    for line in subprocess.run([CROSS.replace("gcc", "readelf"), "-lW", guest("memory_code")], check=True, capture_output=True, text=True).stdout.splitlines():
        words = line.split()
        if words[:1] == ["LOAD"]:
            places.add((int(words[2], 16) & ~page) - (int(words[1], 16) & ~page))
    of_file = rows(path, "SELECT start - offset, offset FROM mapping JOIN object ON object.id = object WHERE kind = 'program'")
    equal({distance for distance, _ in of_file} <= places, True, f"{of_file} {places}")
    equal(any(offset > 0 for _, offset in of_file), True, str(of_file))


@test
def generated_code_is_named_by_a_jitdump_file():
    needs_compiler()
    root = file("jit-root")
    os.makedirs(root)
    subprocess.run([CROSS, "-O1", "-static", "-o", os.path.join(root, "jit"), os.path.join(HERE, "jit.c")], check=True)
    path, status, stderr = record("jit.profile", "--root", root, "--", "/jit", "/jit-1000.dump")
    equal((status, stderr), (0, ""))
    names = rows(path, "SELECT function.name, source.path, instruction.line, disassembly FROM instruction JOIN object ON object.id = instruction.object "
                       "LEFT JOIN function ON function.id = function LEFT JOIN source ON source.id = instruction.source "
                       "WHERE object.kind = 'jit' ORDER BY instruction.address")
    calc = "/src/calc.lang"
    equal(names, [("doubled twice", calc, 7, "add a0,a0,a0"), ("doubled twice", calc, 8, "add a0,a0,a0"), ("doubled twice", calc, 8, "ret"),
                  (None, None, 0, "add a0,a0,3"), (None, None, 0, "add a0,a0,3"), (None, None, 0, "ret"),
                  ("plus six", calc, 17, "add a0,a0,3"), ("plus six", calc, 18, "add a0,a0,3"), ("plus six", calc, 18, "ret")])
    contains(tally("report", "-s", "srcline", path)[1], "calc.lang:18")
    # A file of another name is no jitdump, and a damaged one names what stands before the damage.
    path, _, _ = record("jit.profile", "--root", root, "--", "/jit", "/code.dump")
    equal(rows(path, "SELECT count(*) FROM object WHERE kind = 'jit'"), [(0,)])


@test
def generated_code_is_named_by_the_map_that_the_guest_left():
    root = file("root")
    os.makedirs(os.path.join(root, "tmp"))
    shutil.copy(guest("memory_code"), root)
    found = generated(root)
    equal({(name, kind) for _, name, kind in found}, {(None, "anonymous")})
    first, second, third = (row[0] for row in found[:3])
    path = os.path.join(root, "tmp", "perf-1000.map")

    def named(lines):
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(lines)
        return {address: name for address, name, _ in generated(root) if name}

    # The first line wins. An area ends before its size, and a line that says no more than that is none.
    equal(named(f"{second:x} {third - second:x} hot loop\n{second:x} 4 late\n{third:x} 0 empty\n{third:x} 4\nnoise\n{first:x} 2 start"),
          {first: "start", second: "hot loop"})
    equal(named(f"{first:x} ffffffffffffffff all\n"), {row[0]: "all" for row in found})
    equal(named("0 1 before\nffffffffffffffff ffffffffffffffff behind\n"), {})
    equal(set(named("0 ffffffffffffffff first\n" + "0 ffffffffffffffff next\n" * 300000).values()), {"first"})
    # A name of any length ends its line, and is cut.
    long = named(f"{first:x} 2 {'n' * 100000}\n{second:x} 4 next\n")
    equal((set(long[first]), 4000 < len(long[first]) < 4200, long[second]), ({"n"}, True, "next"))
    os.remove(path)
    os.mkfifo(path)  # nobody writes to it
    equal(generated(root), found)
    os.remove(path)
    secret = file("secret.map")  # the guest's link does not lead out of its root folder
    with open(secret, "w", encoding="utf-8") as stream:
        stream.write("0 ffffffffffffffff secret\n")
    os.symlink(secret, path)
    equal(generated(root), found)


@test
def names_of_a_foreign_profile_do_not_steer_the_terminal():
    path, _, _ = record("names.profile", "--", assembled())
    with sqlite3.connect(path) as database:
        database.execute("UPDATE function SET name = 'a' || char(27) || ']0;title' || char(7) || 'b'")
    for words in (("report", path), ("report", "--color", "always", path), ("annotate", "-i", path, "inner"), ("diff", "-s", "symbol", path, file("other"))):
        if words[0] == "diff":
            record("other", "-m", "tiny", "--", assembled())
        status, stdout, stderr = tally(*words)
        equal((status, stderr), (0, ""))
        equal("\033]" in stdout or "\a" in stdout, False, repr(stdout))
        contains(stdout, "a?]0;title?b")


@test
def two_profiles_are_compared_by_name():
    before, _, _ = record("before.profile", "--", guest("demo"))
    after, _, _ = record("after.profile", "--D1", "8K,2,64", "--", guest("demo"))
    status, stdout, stderr = tally("diff", "-e", "l1d.load_miss", "-s", "symbol", before, after)
    equal((status, stderr), (0, ""))
    totals = [rows(path, "SELECT total FROM event WHERE name = 'l1d.load_miss'")[0][0] for path in (before, after)]
    last = [line for line in stdout.splitlines() if line.endswith("  total")][0].replace(",", "").split()
    equal([int(last[0]), int(last[1])], totals)
    equal(tally("diff", before, before)[1].count("\n"), 5)
    fails(["diff", "--fail-on", "cycles>+1%", before, after], 2, "are for reports of tally stat")


@test
def files_that_are_no_profiles_are_refused():
    path, _, _ = record("good.profile", "--", assembled())
    with open(path, "rb") as stream:
        good = stream.read()
    for name, content, part in (("text", b"hello\n" * 200, "this is no profile"), ("cut", good[: len(good) // 2], "damaged"), ("empty", b"", "this is no profile")):
        with open(file(name), "wb") as stream:
            stream.write(content)
        fails(["report", file(name)], 125, f"{file(name)}: ", part)
    for change in ("event SET place = 'x'", "thread SET tid = NULL", "count SET n = n + 1", "function SET object = 99", "instruction SET line = 1.5"):
        with open(file("changed"), "wb") as stream:
            stream.write(good)
        try:
            with sqlite3.connect(file("changed")) as database:
                database.execute("UPDATE " + change)
        except sqlite3.IntegrityError:
            continue  # the schema itself refuses it
        fails(["report", file("changed")], 125, "damaged in its table " + change.split()[0])
    with sqlite3.connect(file("foreign")) as database:
        database.execute("CREATE TABLE notes (text)")
    fails(["report", file("foreign")], 125, "this is no profile")
    fails(["report", file("none")], 125, "there is no such file")
    fails(["report", "-s", "color", path], 2, "the keys are dso, symbol")
    fails(["report", "-e", "cycels", path], 2, "no event of this name", "cycles")
    fails(["report", "--order", "ipx", path], 2, "ipx: the profile has no event of this name")
    fails(["record", "-o", file("x"), "-e", "hart0.l1d.load_miss", "--", assembled()], 2, "no counts of this event by instruction")


CALLS = {  # by caller and callee, worked out on paper from calls.c
    ("main", "left"): 3, ("left", "leaf"): 30, ("main", "right"): 1, ("right", "leaf"): 25, ("main", "fib"): 1, ("fib", "fib"): 464,
    ("main", "is_even"): 1, ("is_even", "is_odd"): 5, ("is_odd", "is_even"): 4, ("handler", "leaf"): 4, ("main", "try"): 5,
    ("try", "jump_out"): 5, ("jump_out", "jump_out"): 30, ("try", "leaf"): 5}
OURS = {"main", "left", "right", "leaf", "fib", "is_even", "is_odd", "handler", "jump_out", "try"}


def compiled_calls(compiler):
    if not shutil.which(compiler):
        raise Skip(f"there is no {compiler}")
    path = file("calls-" + compiler)
    if not os.path.exists(path):
        subprocess.run([compiler, "-O0", "-g", "-static", "-o", path, os.path.join(HERE, "calls.c")], check=True)
    return path


def calls_of(path):
    """Calls of a profile by caller and callee. A recursive call enters a context that has its caller's name for a parent or is around it.

    On arm64 __wrap_main of the C library jumps to main. A jump to what nobody has called is no tail call, so its context keeps the first name.
    """
    found = collections.Counter()
    for caller, callee, n in rows(path, "SELECT f.name, g.name, c.n_calls FROM context c JOIN context p ON p.id = c.parent "
                                        "JOIN function f ON f.id = p.function JOIN function g ON g.id = c.function"):
        found[caller.replace("__wrap_main", "main"), callee.replace("__wrap_main", "main")] += n
    return found


def entries_of(calls):
    found = collections.Counter()
    for (_, callee), n in calls.items():
        found[callee] += n
    return {name: n for name, n in found.items() if name in OURS}


@test
def calls_are_those_worked_out_on_paper():
    for compiler in (CROSS, CROSS_A64):
        check_calls(*record("calls.profile", "-g", "--", compiled_calls(compiler)))


def check_calls(path, status, stderr):
    equal((status, stderr), (0, ""))
    calls = calls_of(path)
    equal({edge: calls[edge] for edge in CALLS}, CALLS)
    equal(sum(n for (caller, callee), n in calls.items() if callee == "handler"), 4)
    equal(entries_of(calls)["leaf"], 30 + 25 + 4 + 5)
    # A context was called by an instruction of its parent's function.
    called = rows(path, "SELECT instruction.function = parent.function, disassembly FROM context JOIN context parent ON parent.id = context.parent "
                        "LEFT JOIN instruction ON instruction.id = context.call_site JOIN function ON function.id = context.function "
                        "WHERE function.name IN ('leaf', 'twice') AND context.n_calls > 0")
    if not called or any(is_own != 1 for is_own, _ in called):
        raise AssertionError(f"call sites {called}")
    # A function is entered as often as its first instruction is executed.
    executed = dict(rows(path, "SELECT f.name, sum(n) FROM count JOIN instruction i ON i.id = instruction JOIN event e ON e.id = event "
                               "JOIN function f ON f.id = i.function WHERE e.name = 'hart.instret' AND i.address = f.address GROUP BY f.name"))
    equal(entries_of(calls), {name: n for name, n in executed.items() if name in OURS})


@test
def calls_are_those_of_callgrind():
    if not shutil.which("valgrind"):
        raise Skip("there is no valgrind")
    out = file("callgrind.out")
    done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=" + out, "--compress-strings=no", compiled_calls("gcc")],
                          capture_output=True, env=CLEAN, timeout=300)
    equal(done.returncode, 0, done.stderr.decode("utf-8", "replace"))
    native, caller, callee = collections.Counter(), None, None
    with open(out, encoding="utf-8") as lines:
        for line in lines:
            word, _, rest = line.strip().partition("=")
            name = re.sub(r"'\d+$", "", rest)  # the depth of a recursion
            if word == "fn":
                caller = name
            elif word == "cfn":
                callee = name
            elif word == "calls":
                native[caller, callee] += int(rest.split()[0])
    path, _, _ = record("calls.profile", "-g", "--", compiled_calls(CROSS))
    calls = calls_of(path)
    both = {edge: n for edge, n in native.items() if edge[0] in OURS and edge[1] in OURS}
    equal({edge: n for edge, n in calls.items() if edge[0] in OURS and edge[1] in OURS}, both)
    equal(len(both) >= len(CALLS), True, both)


@test
def contexts_sum_up_to_the_totals():
    events = "cycles,instructions,l1d.load_miss,hart.cyc_load_use,branch-misses"
    for name in GUESTS:
        path, _, stderr = record("contexts.profile", "-g", "-e", events, "--", guest(name))
        kept = dict(rows(path, "SELECT e.name, sum(n) FROM context_count JOIN event e ON e.id = event GROUP BY e.name"))
        totals = dict(rows(path, "SELECT name, total FROM event WHERE kind = 'signal'"))
        for signal in ("hart.cycle", "hart.instret", "l1d.load_miss", "hart.cyc_load_use"):
            equal(kept.get(signal, 0), totals[signal], f"{name}: {signal}: {stderr}")
        equal({signal for signal in kept if kept[signal] != totals[signal]}, set(), name)
        # A thread has as much by context as by instruction.
        by_thread = "SELECT {}, sum(n) FROM {} JOIN event e ON e.id = event WHERE e.name = 'hart.cycle' GROUP BY 1"
        equal(rows(path, by_thread.format("x.thread", "context_count JOIN context x ON x.id = context")), rows(path, by_thread.format("thread", "count")), name)
        without, _, _ = record("plain.profile", "-e", events, "--", guest(name))
        equal(rows(without, "SELECT * FROM count"), rows(path, "SELECT * FROM count"), f"{name}: counts with and without -g")
        equal(rows(without, "SELECT count(*) FROM context"), [(0,)], name)


@test
def a_report_has_counts_with_callees():
    path, _, _ = record("calls.profile", "-g", "-e", "instructions,l1d.load", "--", compiled_calls(CROSS))
    contexts = rows(path, "SELECT context.id, parent, function.name FROM context JOIN function ON function.id = function ORDER BY context.id")
    own = dict(rows(path, "SELECT context, n FROM context_count JOIN event e ON e.id = event WHERE e.name = 'hart.instret'"))
    total, own_of, parent_of, name_of = collections.Counter(), collections.Counter(), {}, {}
    for number, parent, name in contexts:
        parent_of[number], name_of[number] = parent, name
    for number, _, name in contexts:
        own_of[name] += own.get(number, 0)
        path_of, at = set(), number
        while at is not None:
            path_of.add(name_of[at])
            at = parent_of[at]
        for caller in path_of:
            total[caller] += own.get(number, 0)
    found = {row["symbol"]: row for row in table(path, "--children", "-s", "symbol", "-e", "instructions")}
    for name in OURS | {"_start"}:
        equal((int(found[name]["instructions"]), int(found[name]["self"])), (total[name], own_of[name]), name)
    # One row of a recursive function is no more than the whole.
    equal(int(found["fib"]["instructions"]), int(found["fib"]["self"]), "fib calls nobody else")
    equal(int(found["_start"]["instructions"]), rows(path, "SELECT total FROM event WHERE name = 'hart.instret'")[0][0])
    status, stdout, _ = tally("report", "-j", "--children", "-s", "symbol", path)
    row = next(r for r in map(json.loads, stdout.splitlines()) if r.get("symbol") == "main")
    equal((status, row["counts"]["instructions"], row["self"]["instructions"]), (0, total["main"], own_of["main"]))
    contains(tally("report", "--children", path)[1], "#  share ", " self ")
    fails(["report", "--children", "-e", "branch-misses", path], 2, "was not counted by call")
    fails(["report", "--children", "-s", "insn", path], 2, "calls are of functions")
    plain, _, _ = record("plain.profile", "--", assembled())
    fails(["report", "--children", plain], 2, "no call graph", "tally record -g")


@test
def callers_and_callees_have_the_calls_worked_out_on_paper():
    path, _, _ = record("calls.profile", "-g", "-e", "instructions,l1d.load", "--", compiled_calls(CROSS))
    for option, place in (("--callers", 1), ("--callees", 0)):
        for name in OURS:
            edges = {edge[1 - place]: n for edge, n in CALLS.items() if edge[place] == name}
            if not edges:
                continue
            found = {row["symbol"]: int(row["calls"]) for row in table(path, option, name, "-s", "symbol", "-e", "instructions")}
            equal({other: found.get(other) for other in edges}, edges, f"{option} {name}")
    # All of leaf is of its callers. A call of fib within fib is a part of the outer one.
    symbols = {row["symbol"]: row for row in table(path, "--children", "-s", "symbol", "-e", "instructions")}
    callers = table(path, "--callers", "leaf", "-s", "symbol", "-e", "instructions")
    equal(sum(int(row["instructions"]) for row in callers), int(symbols["leaf"]["instructions"]))
    by_name = {row["symbol"]: row for row in table(path, "--callers", "fib", "-s", "symbol", "-e", "instructions")}
    equal(int(by_name["main"]["instructions"]), int(symbols["fib"]["instructions"]))
    equal(int(by_name["main"]["self"]) + int(by_name["fib"]["self"]), int(symbols["fib"]["self"]))
    equal(int(by_name["fib"]["instructions"]) < int(by_name["main"]["instructions"]), True)
    contains(tally("report", "--callees", "main", path)[1], "# callees of main in ", "#  share  calls ")
    status, stdout, _ = tally("report", "-j", "--callers", "leaf", "-s", "symbol", path)
    equal((status, {row["symbol"]: row["calls"] for row in map(json.loads, stdout.splitlines()) if row["type"] == "row"}["left"]), (0, 30))
    fails(["report", "--callers", "leafs", path], 2, "no function of the profile", "did you mean leaf")
    fails(["report", "--callers", "leaf", "--children", path], 2, "three tables")
    fails(["report", "--callees", "leaf", "-s", "srcline", path], 2, "with --callees the keys are")


@test
def a_call_graph_is_refused_where_there_is_none():
    fails(["record", "-g", "--pipeline", "-o", file("x"), "--", assembled()], 2, "-e, -g and --with-sources are of a profile")


# Instructions of each calling context of tasks.S. An ECALL does not retire.
TASKS = {
    "_start": 11 + 3 + 2, "_start main": 13, "_start main spin": (2 * 10 + 1) + (2 * 20 + 1) + (2 * 70 + 1), "_start main switch": 2 * 9,
    "_start main handler": 2 * 6, "_start main handler service": 2 * 11,
    "task_b": 6, "task_b spin": (2 * 30 + 1) + (2 * 40 + 1), "task_b switch": 2 * 9,
    "task_c": 4, "task_c spin": (2 * 50 + 1) + (2 * 60 + 1), "task_c handler": 2 * 6, "task_c handler service": 2 * 11,
}


def paths_of(path, event):
    """Counts of an event by path of function names."""
    found = collections.Counter()
    for names, n in rows(path, "WITH RECURSIVE way (context, names) AS (SELECT context.id, function.name FROM context JOIN function ON function.id = function "
                               "WHERE parent IS NULL UNION ALL SELECT context.id, names || ' ' || function.name FROM way JOIN context ON context.parent = way.context "
                               "JOIN function ON function.id = function) SELECT names, n FROM way JOIN context_count ON context_count.context = way.context "
                               "JOIN event ON event.id = event WHERE event.name = ?", event):
        found[names] += n
    return dict(found)


# Instructions of each calling context of tails.S.
TAILS = {"_start": 2 * (5 * 2000 + 1) + 1 + 3, "_start first": 2000 * (2 + 3) + 2000 * 2, "_start last": 3 + 2000 * 3, "_start pick": 9}


@test
def jumps_to_what_was_called_meanwhile_are_tail_calls():
    for words in (("--engine", "translate"), ("--engine", "interp"), ("--engine", "step"), ("-m", "ooo")):
        path, status, stderr = record("tails.profile", "-g", *words, "--", built("tails"))
        equal((status, stderr), (0, ""))
        equal(paths_of(path, "hart.instret"), TAILS, str(words))
        calls = dict(rows(path, "SELECT function.name, sum(n_calls) FROM context JOIN function ON function.id = function GROUP BY 1"))
        equal(calls, {"_start": 1, "first": 4000, "last": 1 + 2000, "pick": 1}, str(words))


@test
def a_place_that_several_jumps_reach_has_one_label():
    path, _, _ = record("tails.profile", "--", built("tails"))
    status, stdout, stderr = tally("annotate", "-i", path, "-e", "instructions", "pick")
    equal((status, stderr), (0, ""))
    lines = stdout.splitlines()
    targets = [int(target, 16) for target in re.findall(r": b\S+ \S*?([0-9a-f]+) ", stdout)]
    equal(len(targets), 4, stdout)
    equal(len(set(targets)), 3, "two lead to one place")
    labels = [int(line[line.index("|") + 1:-1], 16) for line in lines if re.search(r"\|[0-9a-f]+:$", line)]
    equal(labels, sorted(set(targets)), stdout)


def tasks():
    """The bare program of tasks.S."""
    return built("tasks", "-march=rv64g_zicsr", linked_at("0x80000000"), to="tasks.elf")


@test
def calls_of_a_bare_programs_tasks_are_those_worked_out_on_paper():
    elf, files = tasks(), []
    for engine in ("translate", "interp", "step"):
        path, status, stderr = record("tasks.profile", "-g", "--engine", engine, "--bare", "--", elf)
        equal((status, stderr), (0, ""))
        equal(paths_of(path, "hart.instret"), TASKS, engine)
        calls = dict(rows(path, "SELECT function.name, sum(n_calls) FROM context JOIN function ON function.id = function GROUP BY 1"))
        equal(calls, {"_start": 1, "main": 1, "spin": 7, "switch": 4, "handler": 4, "service": 4, "task_b": 1, "task_c": 1}, engine)
        with open(path, "rb") as stream:
            files.append(stream.read())
    equal(files[0] == files[1] == files[2], True, "profiles of three engines are the same bytes")


BY_ADDRESS = ("SELECT address, sum(n) FROM count JOIN instruction ON instruction.id = instruction JOIN event ON event.id = event WHERE event.name = ? "
              "GROUP BY address")


@test
def detailed_cores_book_what_their_instructions_did():
    for machine, *words in (("ooo",), ("netburst",), ("ooo", "--set", "core.threads=2", "--harts", "2")):
        for program in (assembled(), guest("process_exec")):
            path, status, stderr = record("detailed.profile", "-m", machine, *words, "--", program)
            rocket, expected, _ = record("rocket.profile", "--", program)
            equal((status, stderr), (expected, ""), f"{machine} {words}")
            # Retired instructions, and what they are, are those of any core.
            for event in ("hart.instret", "hart.insn_load", "hart.insn_branch", "hart.load_bytes"):
                equal(dict(rows(path, BY_ADDRESS, event)), dict(rows(rocket, BY_ADDRESS, event)), f"{machine} {words} {program}: {event}")
        report = file("detailed.json")
        tally("stat", "-m", machine, *words, "-e", "*.*", "-j", "-o", report, "--", guest("process_exec"))
        with open(report, encoding="utf-8") as lines:
            truth = {e["event"]: int(e["value"]) for e in map(json.loads, lines) if e["type"] == "event" and e["scope"] == "machine"}
        totals = rows(path, "SELECT name, total FROM event WHERE kind = 'signal'")
        equal([(name, total, truth[name]) for name, total in totals if total != truth[name]], [], f"{machine} {words}: totals")
        equal(any(name.startswith("core.") and total > 0 for name, total in totals), True)


@test
def cycles_of_a_detailed_core_belong_to_the_head_of_its_buffer():
    program = built("chase")
    path, _, stderr = record("chase.profile", "-m", "ooo", "--", program)
    equal(stderr, "")
    walk = rows(path, "SELECT instruction.id, disassembly FROM instruction JOIN function ON function.id = function WHERE function.name = 'walk' ORDER BY instruction.address")
    load = walk[0][0]
    equal(walk[0][1], "ld a0,0(a0)")

    def count_of(insn, event):
        return rows(path, "SELECT ifnull(sum(n), 0) FROM count JOIN event ON event.id = event WHERE instruction = ? AND event.name = ?", insn, event)[0][0]

    cycles = {text: count_of(insn, "hart.cycle") for insn, text in walk[:3]}
    equal(count_of(load, "hart.cyc_load_miss") + count_of(load, "hart.cyc_dtlb") > 0.9 * sum(cycles.values()), True, f"the load waits: {cycles}")
    equal([count_of(insn, "l1d.load_miss") for insn, _ in walk[:3]], [count_of(load, "l1d.load_miss"), 0, 0])
    equal(4096 <= count_of(load, "l1d.load_miss") < 4700, True, "every load of the walk misses, and some twice")
    # The walk and the load of the ring's address miss the DTLB and the L1D.
    values = {}
    for event in ("dtlb_load_miss", "dtlb_store_miss", "dtlb_all_miss", "l1_load_miss"):
        status, stdout, stderr = tally("stat", "-j", "-m", "netburst", "-P", "netburst", "-e", f"replay_event:{event}", "--", program)
        counted, = [row for row in map(json.loads, (stdout + stderr).splitlines()) if row["type"] == "event"]
        equal((status, counted["error_vs_truth"]), (0, 0), event)
        values[event] = counted["value"]
    # Each store touches its page first, so it faults and then executes alone, without a tag.
    equal(values, {"dtlb_load_miss": 4097, "dtlb_store_miss": 0, "dtlb_all_miss": 4097, "l1_load_miss": 4097})
    # The store's page fault empties the core, and what comes after it waits in vain.
    flushes = rows(path, "SELECT disassembly, n FROM count JOIN instruction ON instruction.id = instruction JOIN event ON event.id = event "
                         "WHERE event.name = 'hart.cyc_flush' ORDER BY n DESC")
    equal((flushes[0][0], sum(n for text, n in flushes[1:]) < flushes[0][1] / 5), ("sd a4,0(a0)", True), f"{flushes}")
    # Stores drain long after they retired, and their misses are still theirs.
    misses = rows(path, "SELECT disassembly, n FROM count JOIN instruction ON instruction.id = instruction JOIN event ON event.id = event "
                        "WHERE event.name = 'l1d.store_miss' ORDER BY n DESC")
    equal(misses[0][0].startswith("sd a4,0(a0)") and misses[0][1] > 1900, True, f"{misses}")
    equal({text.split()[0] for text, _ in misses} <= {"sd"}, True, f"{misses}")


# netburst as one thread of one core, for programs that every hart executes.
ALONE = ("netburst", "--set", "core.threads=1", "--set", "dtlb.shared=0", "--harts", "1")


@test
def calls_of_detailed_cores_are_those_worked_out_on_paper():
    for machine in (("ooo",), ("netburst",), ("ooo", "--set", "core.threads=2", "--harts", "2")):
        check_calls(*record("calls.profile", "-g", "-m", *machine, "--", compiled_calls(CROSS)))
    elf = tasks()
    for machine in (("ooo",), ALONE):
        path, status, stderr = record("tasks.profile", "-g", "-m", *machine, "--bare", "--", elf)
        equal((status, stderr), (0, ""))
        # The machine stops behind the store that ends it. The fast core has executed the jump behind it, too.
        equal(paths_of(path, "hart.instret"), {**TASKS, "_start": TASKS["_start"] - 1}, str(machine))


def by_function(path, event, of_contexts):
    """Counts of an event by function: of its instructions, or of its contexts."""
    place = "context_count x JOIN context c ON c.id = x.context JOIN function f ON f.id = c.function" if of_contexts else \
            "count x JOIN instruction i ON i.id = x.instruction JOIN function f ON f.id = i.function"
    found = collections.Counter()
    for name, n in rows(path, f"SELECT f.name, x.n FROM {place} JOIN event e ON e.id = x.event WHERE e.name = ?", event):
        found[name] += n
    return found


@test
def contexts_of_a_detailed_core_are_those_of_the_fast_one():
    committed = ["cycles", "instructions", "hart.insn_load", "bp.cond_miss", "bp.target_miss", "l1d.store_miss", "core.retire_load", "core.retire_uop"]
    wrong = {"core.load_miss": "core.load_miss_wrong", "core.load_lookup": "core.load_lookup_wrong"}
    events = ",".join(committed + [*wrong, *wrong.values()])
    for program, *machine in (("process_exec", "ooo"), ("signals_delivery", "netburst"), ("threads_sync", "ooo", "--set", "core.threads=2", "--harts", "2")):
        path, status, stderr = record("detailed.profile", "-g", "-m", *machine, "-e", events, "--", guest(program))
        equal((status, stderr), (0, ""), program)
        if program != "threads_sync":  # whose threads wait for one another
            rocket, _, _ = record("rocket.profile", "-g", "-e", "instructions", "--", guest(program))
            equal(paths_of(path, "hart.instret"), paths_of(rocket, "hart.instret"), f"{program} {machine}")
            equal(calls_of(path), calls_of(rocket), f"{program} {machine}")
        # Functions whose instructions are in contexts of their name alone. A jump to what nobody has called leaves a function in the context of another.
        own, of_contexts = by_function(path, "hart.instret", False), by_function(path, "hart.instret", True)
        functions = [name for name in own if own[name] == of_contexts[name]]
        equal(len(functions) > 50, True, str(len(functions)))
        for event in ["hart.cycle" if e == "cycles" else "hart.instret" if e == "instructions" else e for e in committed]:
            own, of_contexts = by_function(path, event, False), by_function(path, event, True)
            equal({name: (own[name], of_contexts[name]) for name in functions if own[name] != of_contexts[name]}, {}, f"{program} {machine}: {event}")
        # Only wrong paths are in other functions' contexts.
        for event, taken_back in wrong.items():
            moved = {}
            for name, of in ((event, event), (taken_back, taken_back)):
                own, of_contexts = by_function(path, of, False), by_function(path, of, True)
                moved[name] = {function: of_contexts[function] - own[function] for function in functions}
            equal(moved[event], moved[taken_back], f"{program} {machine}: {event}")
            equal(any(moved[event].values()), True, f"{program} {machine}: {event}")


@test
def counts_of_a_wrong_path_are_in_the_context_of_its_branch():
    program = built("wrong")
    for machine in (("ooo",), ("netburst",), ("ooo", "--set", "core.threads=2", "--harts", "2")):
        path, status, stderr = record("wrong.profile", "-g", "-m", *machine, "-e", "instructions,l1d.load_miss,core.load_miss_wrong,core.taken_back_insn", "--", program)
        equal((status, stderr), (0, ""))
        equal(paths_of(path, "hart.instret"), {"_start": 12, "_start f": 6, "_start f leaf": 2, "_start g": 4}, str(machine))
        # A branch of f, and the return of g.
        equal(paths_of(path, "core.load_miss_wrong"), {"_start f": 2, "_start g": 1}, str(machine))
        misses, taken_back = paths_of(path, "l1d.load_miss"), paths_of(path, "core.taken_back_insn")
        equal((misses["_start f"], misses["_start f leaf"], taken_back["_start f"], taken_back["_start g"]), (2, 1, 3, 1), str(machine))
        equal((by_function(path, "l1d.load_miss", False)["victim"], by_function(path, "core.taken_back_insn", False)["victim"]), (2, 2), str(machine))


@test
def every_count_of_a_detailed_core_has_a_context():
    many = "cycles,instructions,core.*"
    for words in (("-m", "ooo", "--", guest("process_exec")), ("-m", "netburst", "--", guest("signals_threads")), ("-m", "netburst", "--roi", "malloc", "--", guest("process_exec")),
                  ("-m", *ALONE, "-I", "100kc", "--", guest("signals_delivery")), ("-m", "ooo", "--max-insns", "30000", "--", guest("kernel_sort"))):
        files = []
        for _ in range(2):
            path, _, stderr = record("many.profile", "-g", "-e", many, *words)
            equal("defect" in stderr, False, f"{words}: {stderr}")
            with open(path, "rb") as stream:
                files.append(stream.read())
        equal(files[0] == files[1], True, f"{words}: two runs write the same bytes")
        kept = dict(rows(path, "SELECT e.name, sum(n) FROM context_count JOIN event e ON e.id = event GROUP BY e.name"))
        totals = {name: n for name, n in rows(path, "SELECT name, total FROM event WHERE kind = 'signal'") if n > 0 and (name.startswith("core.") or name == "hart.cycle")}
        equal({name: (n, kept.get(name)) for name, n in totals.items() if kept.get(name) != n}, {}, str(words))
        equal(len(totals) > 60, True, str(len(totals)))


@test
def a_guest_kernels_address_spaces_are_processes():
    if not shutil.which(CROSS) or not os.path.exists("/usr/lib/riscv64-linux-gnu/opensbi/generic/fw_jump.elf"):
        raise Skip(f"there is no {CROSS}, or no OpenSBI")
    elf, image, symbols = built("spaces", linked_at("0x80200000"), to="spaces.elf"), file("spaces.stripped"), file("spaces.map")
    subprocess.run([CROSS.replace("gcc", "strip"), "-o", image, elf], check=True)
    with open(symbols, "wb") as out:
        subprocess.run([CROSS.replace("gcc", "nm"), elf], check=True, stdout=out)

    def looped(path):
        return rows(path, "SELECT process.name, sum(n) FROM count JOIN instruction ON instruction.id = instruction JOIN function ON function.id = function "
                          "JOIN thread ON thread.id = thread JOIN process ON process.id = thread.process JOIN event ON event.id = event "
                          "WHERE event.name = 'hart.instret' AND function.name = 'loop' GROUP BY process.id")

    for words in (("--kernel", elf), ("--kernel", image, "--vmlinux", elf), ("--kernel", image, "--kallsyms", symbols), ("--kernel", elf, "-I", "1ms")):
        path, status, stderr = record("spaces.profile", *words)
        equal((status, stderr), (0, ""), str(words))
        (first, n_first), (second, n_second) = looped(path)
        equal((n_first, n_second), (2 * 150 + 2, 2 * 300 + 1), f"{words}: instructions of loop in {first} and {second}")
        equal(int(second[1:], 16) - int(first[1:], 16), 4096, "page tables")
        texts = rows(path, "SELECT disassembly FROM instruction JOIN function ON function.id = function WHERE function.name = 'loop' ORDER BY instruction.address")
        equal([text.split()[0] for text, in texts], ["add", "bnez", "ret"], str(words))
    # Recording changes no count.
    report = file("spaces.json")
    status, _, stderr = tally("boot", "--kernel", elf, "-e", "*.*", "-j", "-o", report)
    equal(status, 0, stderr)
    with open(report, encoding="utf-8") as lines:
        truth = {e["event"]: int(e["value"]) for e in map(json.loads, lines) if e["type"] == "event" and e["scope"] == "machine"}
    equal({name: (total, truth[name]) for name, total in rows(path, "SELECT name, total FROM event WHERE kind = 'signal'") if truth[name] != total}, {})
    equal(rows(path, "SELECT count(*) >= 4 FROM stint"), [(1,)])
    path, status, stderr = record("spaces.profile", "-g", "--kernel", elf)
    equal((status, stderr), (0, ""))
    equal(paths_of(path, "hart.instret")["_start loop"], (2 * 150 + 2) + (2 * 300 + 1), "the path of loop, in both spaces")
    detailed, status, stderr = record("detailed.profile", "-g", "-m", "ooo", "--kernel", elf)
    equal((status, stderr), (0, ""))
    # The firmware's last function stops the machine, and the fast core has executed a few instructions more of it.
    fast, slow = paths_of(path, "hart.instret"), paths_of(detailed, "hart.instret")
    equal(len({names for names in set(fast) | set(slow) if fast.get(names) != slow.get(names)}) <= 1, True, "contexts of firmware and kernel")
    equal(calls_of(detailed), calls_of(path))
    # Code at the physical addresses of an ELF file that was linked for others has its functions.
    high, low = built("spaces", linked_at("0xffffffff80200000"), to="high.elf"), file("low.elf")
    subprocess.run([CROSS.replace("gcc", "objcopy"), "--change-section-lma", "*-0xffffffff00000000", high, low], check=True)
    path, status, stderr = record("low.profile", "--kernel", elf, "--vmlinux", low)
    equal((status, stderr), (0, ""))
    equal([n for _, n in looped(path)], [2 * 150 + 2, 2 * 300 + 1])
    fails(["record", "--kernel", elf, "--vmlinux", file("absent"), "-o", file("x")], 2, "absent", "No such file")
    fails(["record", "--vmlinux", elf, "-o", file("x"), "--", assembled()], 2, "--vmlinux is of a kernel")


@test
def intervals_and_stints_are_the_whole_run():
    for name, *words in (("threads_sync", "--harts", "2"), ("process_exec",)):
        exact, _, _ = record("exact.profile", *words, "--", guest(name))
        path, _, _ = record("course.profile", *words, "-I", "100kc", "--", guest(name))
        equal(rows(path, EXACT) == rows(exact, EXACT), True, f"{name}: counts by instruction")
        equal(rows(path, "SELECT name, total, sum(n) FROM event LEFT JOIN interval_count ON event = event.id WHERE kind = 'signal' GROUP BY event.id "
                         "HAVING total <> ifnull(sum(n), 0)"), [], f"{name}: intervals sum up")
        intervals = rows(path, "SELECT begin_cycles, end_cycles FROM interval ORDER BY id")
        equal((intervals[0][0], [a[1] for a in intervals[:-1]]), (0, [b[0] for b in intervals[1:]]), "intervals follow each other")
        if any(not (n + 1) * 100000 <= end < (n + 1) * 100000 + 20000 for n, (_, end) in enumerate(intervals[:-1])):
            raise AssertionError(f"{name}: ends of intervals {intervals}")
        slow, _, _ = record("slow.profile", *words, "--set", "clock=250MHz", "-I", "100kc", "--", guest(name))
        equal(rows(slow, "SELECT count(*) FROM interval WHERE end_ns <> end_cycles * 4 OR begin_ns <> begin_cycles * 4"), [(0,)], f"{name}: a cycle is 4 ns")
        # A hart has one thread at a time, and is busy as long as it has one.
        stints = rows(path, "SELECT hart, begin_cycles, end_cycles FROM stint ORDER BY hart, begin_cycles")
        equal([b for a, b in zip(stints, stints[1:]) if a[0] == b[0] and b[1] < a[2]], [], "stints do not overlap")
        busy = sum(end - begin for _, begin, end in stints)
        cycles = rows(path, "SELECT total FROM event WHERE name = 'hart.cycle'")[0][0]
        if not 0.98 * cycles <= busy <= 1.02 * cycles:
            raise AssertionError(f"{name}: harts had threads for {busy} cycles, and were busy for {cycles}")
        equal({thread for thread, in rows(path, "SELECT DISTINCT thread FROM stint")} <= {thread for thread, in rows(path, "SELECT id FROM thread")}, True)
        status, stdout, _ = tally("stat", "-j", "-e", "hart.instret", "-I", "100kc", *words, "--", guest(name))
        equal(status, 0, stdout)


MARKED = """
#include <tally/roi.h>
#include <string.h>
static char bytes[70000];
__attribute__((noinline)) int sum(int n) { int all = 0; for (int i = 0; i < n; i++) all += bytes[64 * i % sizeof bytes]; return all; }
int main(void) {
    volatile int all = sum(1000);
    for (int i = 0; i < 3; i++) {
        TALLY_ROI_START(1);
        all += sum(100);
        memset(bytes, i, 5000);
        TALLY_ROI_STOP(1);
        all += sum(10);
    }
    return all & 0;
}
"""


@test
def the_profile_of_a_region_sums_up_to_its_counts_by_stat():
    needs_compiler()
    with open(file("marked.c"), "w", encoding="ascii") as out:
        out.write(MARKED)
    subprocess.run([CROSS, "-O1", "-static", "-I", os.path.join(ROOT, "guest", "include"), "-o", file("marked"), file("marked.c")], check=True)
    every = [("--engine", engine) for engine in ("translate", "interp", "step")]
    for program, region, engines in ((guest("demo"), ("--roi", "memcpy"), every[:1]), (file("marked"), ("--markers",), every), (file("marked"), ("--roi", "sum"), every),
                                     (guest("threads_sync"), ("--harts", "2", "--roi", "malloc"), every[:1]), (guest("arm64/process_exec"), ("--roi", "main"), every[1:]),
                                     (file("marked"), ("-m", "ooo", "--roi", "sum"), [()]), (guest("process_exec"), ("--roi", "main"), every[:1])):
        report, files = file("region.json"), []
        equal(tally("stat", "-e", "*.*", "-j", "-o", report, *region, "--", program)[0], 0, str(region))
        with open(report, encoding="utf-8") as lines:
            truth = {e["event"]: int(e["value"]) for e in map(json.loads, lines) if e["type"] == "event" and e["scope"] == "machine"}
        for engine in engines:
            path, status, stderr = record("region.profile", "-g", *engine, *region, "--", program)
            equal((status, stderr), (0, ""), f"{program} {region}")
            totals = dict(rows(path, "SELECT name, total FROM event WHERE kind = 'signal'"))
            equal({name: (n, truth[name]) for name, n in totals.items() if n != truth[name]}, {}, f"{program} {region} {engine}: totals")
            sums = dict(rows(path, "SELECT name, sum(n) FROM count JOIN event ON event.id = event GROUP BY name"))
            equal({name: (n, sums.get(name, 0)) for name, n in totals.items() if n != sums.get(name, 0)}, {}, f"{program} {region} {engine}: sums")
            with open(path, "rb") as stream:
                files.append(stream.read())
        equal(all(f == files[0] for f in files), True, f"{program} {region}: profiles of three engines are the same bytes")
    path, _, _ = record("region.profile", "-g", "--roi", "sum", "--", file("marked"))
    equal(rows(path, "SELECT value FROM run WHERE name = 'region'"), [("sum",)])
    contains(tally("report", path)[1], "marked on rocket, region sum:")
    # Samples outside of the region do not count: each has a period of the region's cycles, but for its borders.
    sampled, _, _ = record("region.profile", "-P", "rvhpm:linux", "-c", "1009", "--roi", "memcpy", "--", guest("demo"))
    n, total = rows(sampled, "SELECT sum(sample_count.n), (SELECT total FROM event WHERE name = 'hart.cycle') FROM sample_count")[0]
    if abs(n * 1009 - total) > total / 10:
        raise AssertionError(f"{n} samples of {total} cycles")
    path, _, _ = record("region.profile", "-g", "--roi", "sum", "--", file("marked"))
    # Callers outside of the region are known, and have no counts.
    callers = dict(rows(path, "SELECT parent.name, sum(context.n_calls) FROM context JOIN function f ON f.id = context.function JOIN context up ON up.id = context.parent "
                              "JOIN function parent ON parent.id = up.function WHERE f.name = 'sum' GROUP BY 1"))
    equal(set(callers), {"main"})
    equal({names.split()[0] for names in paths_of(path, "hart.instret")}, {"_start"}, "roots of what the region has")
    fails(["record", "-q", "-o", file("x"), "--roi", "nowhere", "--", assembled()], 2, "nowhere")
    path, status, stderr = record("none.profile", "--roi", "abort", "--", file("marked"))
    contains(stderr, "the program visited no region, so there is nothing to record")


@test
def regions_are_marks_on_the_course_of_a_run():
    path, _, stderr = record("region.profile", "-I", "1ms", "--roi", "inner", "--", assembled())
    equal(rows(path, "SELECT count(*) FROM visit WHERE end_cycles - begin_cycles < 10"), [(0,)], "a visit has the 22 instructions of inner at least")
    n_visits, name = rows(path, "SELECT count(*), region.name FROM visit JOIN region ON region.id = region")[0]
    equal(name, "inner", stderr)
    equal(n_visits, rows(path, "SELECT max(n) FROM count JOIN instruction ON instruction.id = instruction JOIN function ON function.id = function "
                               "JOIN event ON event.id = event WHERE event.name = 'hart.instret' AND function.name = 'inner' AND instruction.address = function.address")[0][0])
    visits = rows(path, "SELECT begin_cycles, end_cycles FROM visit ORDER BY id")
    equal(all(a[1] <= b[0] for a, b in zip(visits, visits[1:])), True, "visits follow each other")
    last_cycle = rows(path, "SELECT max(end_cycles) FROM interval")[0][0]
    equal(visits[-1][1] < last_cycle, True, f"the last visit {visits[-1]} ended before the run, at {last_cycle}")
    # What the end of the run cuts off ends there.
    cut = file("cut.profile")
    status, _, stderr = tally("record", "-q", "-o", cut, "--max-insns", "100000", "-I", "10kc", "--roi", "main", "--", guest("kernel_sort"))
    equal(status, 0, stderr)
    last_cycle = rows(cut, "SELECT max(end_cycles) FROM interval")[0][0]
    equal(rows(cut, "SELECT end_cycles FROM visit"), [(last_cycle,)])
    equal(rows(cut, "SELECT max(end_cycles) FROM stint"), [(last_cycle,)])
    fails(["record", "-o", file("x"), "-I", "1ms", "--roi", "nowhere", "--", assembled()], 2, "nowhere")
    fails(["record", "-o", file("x"), "-m", "ooo", "-I", "1ms", "--pipeline", "--", assembled()], 2, "-I is of a profile")


SAMPLED = ("-P", "rvhpm:linux", "-c", "997")
DISTANCES = "SELECT distance, n FROM sample_distance"
OF_INSNS = "SELECT address, sum(sample_count.n) FROM sample_count JOIN instruction ON instruction.id = instruction GROUP BY address"


@test
def samples_are_those_of_a_recount_over_qemus_log():
    """A counter of instructions interrupts behind every period-th one, and the next one is sampled."""
    if not shutil.which("qemu-riscv64"):
        raise Skip("there is no qemu-riscv64")
    for program, period in ((assembled(), 7), (assembled(), 2), (assembled(), 1), (guest("isa_hello"), 3)):
        log = file("qemu.log")
        subprocess.run(["qemu-riscv64", "-singlestep", "-d", "exec,nochain", "-D", log, program], stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, env=CLEAN)
        path, _, stderr = record("recount.profile", "-P", "rvhpm:linux", "-c", str(period), "-e", "instructions", "--", program)
        texts = dict(rows(path, "SELECT address, disassembly FROM instruction"))
        expected, n_retired = collections.Counter(), 0
        pcs = executed_by_qemu(log)
        for at, pc in enumerate(pcs):
            if texts[pc] == "ecall":
                continue  # it traps
            n_retired += 1
            if n_retired % period == 0 and at + 1 < len(pcs):
                expected[pcs[at + 1]] += 1
        equal(dict(rows(path, OF_INSNS)), dict(expected), f"{program}: {stderr}")
        total, samples, lost = rows(path, "SELECT total, n_samples, n_lost FROM sampled, event WHERE event.name = 'hart.instret'")[0]
        equal((samples, lost, total), (sum(expected.values()), 0, n_retired), program)
        if samples < (2 if program != assembled() else 20):
            raise AssertionError(f"{program}: only {samples} samples")


EXACT = ("SELECT object.path, address, tid, event.name, n FROM count JOIN instruction ON instruction.id = instruction JOIN object ON object.id = object "
         "JOIN thread ON thread.id = thread JOIN event ON event.id = event ORDER BY 1, 2, 3, 4")


@test
def exact_counts_do_not_notice_that_a_pmu_samples():
    for name, *words in (("process_exec",), ("threads_sync", "--harts", "2"), ("signals_delivery", "-g")):
        exact, _, _ = record("exact.profile", *words, "--", guest(name))
        sampled, _, _ = record("sampled.profile", *words, *SAMPLED, "-e", "cycles,instructions,L1-dcache-load-misses", "--", guest(name))
        equal(rows(sampled, EXACT) == rows(exact, EXACT), True, f"{name} {words}: exact counts differ")
        equal(len(rows(sampled, "SELECT * FROM sampled")), 3, name)
        for event, n_samples, n_lost, total in rows(sampled, "SELECT sampled.name, n_samples, n_lost, sum(event.total) FROM sampled, event WHERE event.name = "
                                                             "CASE sampled.name WHEN 'cycles' THEN 'hart.cycle' WHEN 'instructions' THEN 'hart.instret' "
                                                             "ELSE 'l1d.load_miss' END GROUP BY sampled.id"):
            # Each hart may end within a period, and one overflow comes too late for a sample.
            if not 0 <= total // 997 - n_samples - n_lost <= 4:
                raise AssertionError(f"{name}: {n_samples} samples and {n_lost} lost of {total} {event}")
        truncated, _, _ = record("again.profile", *words, *SAMPLED, "-e", "cycles,instructions,L1-dcache-load-misses", "--engine", "step", "--", guest(name))
        with open(sampled, "rb") as a, open(truncated, "rb") as b:
            equal(a.read() == b.read(), True, f"{name} {words}: engines sample differently")


@test
def the_error_of_samples_is_what_sql_says():
    path, _, _ = record("truth.profile", "-P", "rvhpm:linux", "-c", "97", "-e", "cycles,branch-misses", "--", guest("process_exec"))
    status, stdout, stderr = tally("report", "--against-truth", "-j", "-s", "insn", path)
    equal(status, 0, stderr)
    lines = [json.loads(line) for line in stdout.splitlines()]
    equal([line["schema"] for line in lines if line["type"] == "header"], ["tally.profile-truth/1"])
    formulas = {"cycles": ("hart.cycle",), "branch-misses": ("bp.cond_miss", "bp.target_miss")}
    for number, (event, signals) in enumerate(formulas.items()):
        summary = next(line for line in lines if line["type"] == "sampled" and line["event"] == event)
        marks = ", ".join("?" for _ in signals)
        for level, key in (("instruction", "instruction.id"), ("function", "ifnull(function, -1)")):
            truth = dict(rows(path, f"SELECT {key}, sum(n) FROM count JOIN instruction ON instruction.id = instruction JOIN event ON event.id = event "
                                    f"WHERE event.name IN ({marks}) GROUP BY 1", *signals))
            samples = dict(rows(path, f"SELECT {key}, sum(n) FROM sample_count JOIN instruction ON instruction.id = instruction WHERE sampled = ? GROUP BY 1", number))
            n, total = sum(samples.values()), sum(truth.values())
            equal((summary["samples"], summary["truth"]), (n, total), event)
            error = 100 * (1 - sum(min(samples.get(k, 0) / n, truth.get(k, 0) / total) for k in set(samples) | set(truth)))
            noise = 100 * sum(2 * t * (1 - t) ** n if n * t < 1 else math.sqrt(2 * t * (1 - t) / (math.pi * n)) for t in (k / total for k in truth.values())) / 2
            if abs(noise - summary[level]["noise_percent"]) > 0.001:
                raise AssertionError(f"{event}: noise by {level} is {summary[level]['noise_percent']}, by its formula {noise}")
            if abs(error - summary[level]["error_percent"]) > 0.001:
                raise AssertionError(f"{event}: error by {level} is {summary[level]['error_percent']}, SQL says {error}")
        got = {line["insn"]: line["samples"] for line in lines if line["type"] == "row" and line["event"] == event}
        equal(sum(got.values()), n, event)
    _, text, _ = tally("report", "--against-truth", "--percent-limit", "5", path)
    contains(text, "# process_exec on rocket: cycles sampled by rvhpm:linux, overflow interrupt after 97: ", "# error by function", "# error by instruction",
             "TIP, MICRO 2021", "software 61.8 %", "next committing 9.3 %")
    status, csv_text, _ = tally("report", "--against-truth", "--csv", "-e", "cycles", path)
    table_of = list(csv.DictReader(io.StringIO(csv_text)))
    equal((status, {row["event"] for row in table_of}, sum(int(row["samples"]) for row in table_of)), (0, {"cycles"}, lines[1]["samples"]))
    truths = [int(row["truth"]) for row in table_of]
    equal(truths, sorted(truths, reverse=True), "rows are in the order of the truth")
    # Each event has a counter of its own.
    several, _, _ = record("several.profile", "-P", "rvhpm:linux", "-c", "97", "-e", "r5,r6", "--", guest("process_exec"))
    for n_samples, n_lost, formula in rows(several, "SELECT n_samples, n_lost, truth FROM sampled"):
        names = formula.split(" + ")
        total, = rows(several, f"SELECT sum(total) FROM event WHERE name IN ({', '.join('?' for _ in names)})", *names)[0]
        if not 0 <= total // 97 - n_samples - n_lost <= 4:
            raise AssertionError(f"{formula}: {n_samples} samples and {n_lost} lost of {total}")
    # A signal of every hart is one event of the truth.
    harts, _, _ = record("harts.profile", "--harts", "2", "-P", "rvhpm:linux", "-c", "997", "-e", "r5", "--", guest("threads_sync"))
    equal(rows(harts, "SELECT truth FROM sampled"), [("hart.insn_branch + hart.insn_jal + hart.insn_jalr",)])
    # So is one of several slices. Signals of a shared unit that have a name for each hart are summed up.
    slices, _, _ = record("slices.profile", "--harts", "2", "--set", "l2.slices=2", "-P", "rvhpm:linux", "-c", "97", "-e", "r4", "--", guest("threads_sync"))
    equal(rows(slices, "SELECT truth FROM sampled"), [("l2.readmiss_hart0 + l2.readmiss_hart1",)])
    for n_samples, n_lost, total in rows(slices, "SELECT n_samples, n_lost, (SELECT sum(total) FROM event WHERE name LIKE 'l2.readmiss\\_hart_' ESCAPE '\\') FROM sampled"):
        if not 0 <= total // 97 - n_samples - n_lost <= 4:
            raise AssertionError(f"{n_samples} samples and {n_lost} lost of {total} misses")
    fails(["report", "--against-truth", "-e", "instructions", path], 2, "this event was not sampled; cycles was")
    fails(["report", "--against-truth", "--children", path], 2, "leave out --children")
    plain, _, _ = record("plain.profile", "--", assembled())
    fails(["report", "--against-truth", plain], 2, "no samples", "tally record -P PMU -c PERIOD")


@test
def an_arm_pmu_samples_too():
    path, _, _ = record("arm.profile", "-P", "armv8:a53", "-c", "997", "-e", "cycles,INST_RETIRED", "--", guest("arm64/kernel_sort"))
    exact, _, _ = record("exact.profile", "--", guest("arm64/kernel_sort"))
    equal(rows(path, EXACT) == rows(exact, EXACT), True)
    status, stdout, stderr = tally("report", "--against-truth", "-j", "-s", "symbol", path)
    equal(status, 0, stderr)
    summary = {line["event"]: line for line in map(json.loads, stdout.splitlines()) if line["type"] == "sampled"}
    for event in ("cycles", "INST_RETIRED"):
        of = summary[event]
        if not 0 <= of["truth"] // 997 - of["samples"] - of["lost"] <= 2 or of["function"]["error_percent"] > 1:
            raise AssertionError(f"{event}: {of}")


NETBURST = ("-m", "netburst", "-P", "netburst")


def retirements(path):
    """Addresses of retired instructions by cycle, from a trace of the pipeline. Those that execute alone count in their first cycle."""
    address, began, by_cycle, cycle = {}, {}, {}, 0
    with open(path, encoding="ascii") as lines:
        for kind, *words in (line.rstrip("\n").split("\t") for line in lines):
            if kind in ("C=", "C"):
                cycle = int(words[0]) + (cycle if kind == "C" else 0)
            elif kind == "L" and words[1] == "0":
                address[words[0]] = int(words[2].split(":")[0], 16)
            elif kind == "S" and words[2] == "Al":
                began[words[0]] = cycle
            elif kind == "R" and words[2] == "0":
                by_cycle.setdefault(began.get(words[0], cycle), []).append(address[words[0]])
    return dict(sorted(by_cycle.items()))


def interrupts_over(by_cycle, period, latency):
    """Samples and losses of a counter that interrupts `latency` cycles after its first event behind a wrap, and how far behind it samples are."""
    value, due, samples, distances, n_lost, n_retired, raised = -period, None, collections.Counter(), collections.Counter(), 0, 0, 0
    for cycle, retired in by_cycle.items():
        if due is not None and cycle >= due:
            samples[retired[0]] += 1
            distances[n_retired - raised] += 1
            n_lost += value // period
            value, due = value % period - period, None
        value += len(retired)
        if due is None and value > 0:
            due, raised = cycle + latency, n_retired
        n_retired += len(retired)
    return samples, distances, n_lost


@test
def samples_by_interrupts_are_those_of_a_recount_over_the_pipeline():
    trace = file("loops.kanata")
    equal(tally("record", "-q", "-m", "netburst", "--pipeline", "-o", trace, "--", assembled())[0], 7)
    by_cycle = retirements(trace)
    for period, latency in ((97, 138), (61, 20), (300, 250), (2, 30), (1, 30)):
        path, _, stderr = record("recount.profile", *NETBURST, "-c", str(period), "-e", "instr_retired:NBOGUSNTAG",
                                 "--set", f"netburst.pmi_latency={latency}", "--", assembled())
        samples, distances, n_lost = interrupts_over(by_cycle, period, latency)
        equal(dict(rows(path, OF_INSNS)), dict(samples), f"{period} {latency}: {stderr}")
        equal(rows(path, "SELECT n_samples, n_lost, method FROM sampled"), [(sum(samples.values()), n_lost, "interrupt (IEBS, fixed)")], f"{period} {latency}")
        equal(dict(rows(path, DISTANCES)), dict(distances), f"{period} {latency}")


@test
def precise_samples_are_those_of_paper():
    """Loads 1, 2, 3, .. of a loop of three: the one behind the overflow is sampled. It counts again when it begins again, unless it missed."""
    program = built("loads", "-g")
    path, _, _ = record("truth.profile", "-m", "netburst", "--", program)
    loads = [address for address, in rows(path, "SELECT address FROM instruction WHERE disassembly LIKE 'ld %' ORDER BY 1")]
    equal(len(loads), 3)
    misses = dict(rows(path, "SELECT address, sum(n) FROM count JOIN instruction ON instruction.id = instruction JOIN event ON event.id = event "
                             "WHERE event.name = 'core.load_miss' GROUP BY 1"))
    equal({load: misses[load] for load in loads}, {load: 100 for load in loads}, "every load misses")
    for event, comes_again, total in (("memory_loads", True, 300), ("replay_event:l1_load_miss", False, 300)):
        for modifier, period in (("p", 2), ("pp", 3), ("ppp", 4), ("precise", 7)):
            path, _, stderr = record("paper.profile", *NETBURST, "-c", str(period), "-e", f"{event}:{modifier}", "--", program)
            apart = period if comes_again else period + 1
            expected = collections.Counter(loads[number % 3] for number in range(period, total, apart))
            equal(dict(rows(path, OF_INSNS)), dict(expected), f"{event}:{modifier} {period}: {stderr}")
            equal(rows(path, "SELECT name, pmu, method, period, n_lost FROM sampled"),
                  [(f"{event}:{modifier}", "netburst:pentium4", "precise (PEBS)", period, 0)])
            equal(rows(path, DISTANCES), [(0, sum(expected.values()))])


# Of 200 interrupts of profile calibrated: docs/netburst.md, 5.2.
CARDS = dict(zip(range(65, 74), (16, 12, 18, 29, 93, 16, 8, 4, 4)))


@test
def the_distance_of_samples_is_that_of_their_profile():
    path, _, _ = record("cards.profile", *NETBURST, "-c", "31", "-e", "memory_loads", "--set", "netburst.pmi_profile=calibrated", "--max-insns", "300000", "--", guest("demo"))
    distances = dict(rows(path, DISTANCES))
    whole_decks, n_samples = sum(distances.values()) // 200, rows(path, "SELECT n_samples FROM sampled")[0][0]
    equal((set(distances) <= set(CARDS), sum(distances.values()), whole_decks > 4), (True, n_samples, True), distances)
    for distance, cards in CARDS.items():
        if not whole_decks * cards <= distances[distance] <= (whole_decks + 1) * cards:
            raise AssertionError(f"{distance}: {distances}")
    status, text, stderr = tally("report", "--against-truth", path)
    equal(status, 0, stderr)
    mode = 100 * distances[69] / n_samples
    contains(text, f"# instructions from the event to the sample: mode +69, {mode:.1f} %; least +65, median +69\n",
             f"#   {'+69':14}  {distances[69]:7}  {mode:5.1f} %  {40 * '#'}\n")
    status, stdout, stderr = tally("report", "--against-truth", "-j", path)
    equal(status, 0, stderr)
    sampled = next(row for row in map(json.loads, stdout.splitlines()) if row["type"] == "sampled")
    equal([(row["distance"], row["samples"]) for row in sampled["distances"]], sorted(distances.items()))
    equal((sampled["distance_mode"], sampled["distance_least"], sampled["distance_median"]), (69, 65, 69))
    biases = [abs(row["percent"]) for row in sampled["biased"]]
    equal((len(biases), biases, sampled["biased"][0]["instruction"]), (5, sorted(biases, reverse=True), sampled["most_biased"]))


@test
def interrupts_cost_nothing_and_precise_samples_what_the_hardware_takes():
    exact, _, _ = record("exact.profile", "-m", "netburst", "--", guest("process_exec"))
    by_interrupt, _, _ = record("interrupts.profile", *NETBURST, "-c", "499", "-e", "global_power_events:RUNNING,memory_loads", "--", guest("process_exec"))
    equal(rows(by_interrupt, EXACT) == rows(exact, EXACT), True, "exact counts differ")
    precise, _, _ = record("precise.profile", *NETBURST, "-c", "499", "-e", "memory_loads:pp", "--", guest("process_exec"))
    for event in ("hart.instret", "hart.insn_load", "hart.insn_branch", "hart.call"):
        of_event = EXACT.replace("ORDER", f"WHERE event.name = '{event}' ORDER")
        equal(rows(precise, of_event), rows(exact, of_event), event)
    n_samples, n_lost, total = rows(precise, "SELECT n_samples, n_lost, total FROM sampled, event WHERE event.name = 'hart.insn_load'")[0]
    if n_lost != 0 or not 0 <= total // 499 - n_samples <= 3:
        raise AssertionError(f"{n_samples} samples, {n_lost} lost of {total}")
    cycles = [rows(path, "SELECT total FROM event WHERE name = 'hart.cycle'")[0][0] for path in (exact, precise)]
    if cycles[1] - cycles[0] < 200 * n_samples:
        raise AssertionError(f"an assist takes 300 cycles: {cycles}, {n_samples} samples")


@test
def each_method_has_its_error():
    """Runs of their own, because the assist of a precise sample stops the pipeline where an interrupt of the same moment finds it."""
    loads, misses = (("hart.insn_load", 1), ("hart.insn_fp_load", 1), ("hart.unc_read", -1)), (("core.load_miss", 1), ("core.load_miss_wrong", -1))
    program = ("--max-insns", "300000", "--", guest("demo"))
    error, noise, text = error_of(loads, "-c", "47", "-e", "memory_loads:pp", *program)
    contains(text, "memory_loads:pp sampled by netburst:pentium4, precise (PEBS) after 47:", "next committing 9.3 %")
    late, _, text = error_of(loads, "-c", "47", "-e", "memory_loads", *program)
    contains(text, "memory_loads sampled by netburst:pentium4, interrupt (IEBS, fixed) after 47:")
    if not error < 2 * noise < late:
        raise AssertionError(f"precise samples have an error of {error} (noise {noise}), interrupts {late}")
    error_of(misses, "-c", "7", "-e", "replay_event:l1_load_miss:pp", *program)


def error_of(signals, *words):
    """Error and noise by instruction, which are what SQL says, and the report."""
    path, _, stderr = record("method.profile", *NETBURST, *words)
    status, stdout, _ = tally("report", "--against-truth", "-j", "-s", "insn", path)
    equal(status, 0, stderr)
    summary = next(line for line in map(json.loads, stdout.splitlines()) if line["type"] == "sampled")
    truth = collections.Counter()
    for signal, sign in signals:
        for insn, n in rows(path, "SELECT instruction, sum(n) FROM count JOIN event ON event.id = event WHERE name = ? GROUP BY 1", signal):
            truth[insn] += sign * n
    samples = dict(rows(path, "SELECT instruction, sum(n) FROM sample_count GROUP BY 1"))
    n, total = sum(samples.values()), sum(truth.values())
    error = 100 * (1 - sum(min(samples.get(insn, 0) / n, truth[insn] / total) for insn in truth))
    equal((summary["samples"], summary["truth"]), (n, total))
    if abs(error - summary["instruction"]["error_percent"]) > 0.001:
        raise AssertionError(f"error is {summary['instruction']['error_percent']}, SQL says {error}")
    return error, summary["instruction"]["noise_percent"], tally("report", "--against-truth", path)[1]


NBX = (*NETBURST, "--set", "netburst.nbx=on")
INSNS = "instr_retired:NBOGUSNTAG+NBOGUSTAG"


@test
def each_context_has_the_counts_of_its_process():
    """Banks and filters of extension NBX, against the exact profile, which knows the process of each instruction."""
    program = guest("process_family")
    path, _, _ = record("families.profile", "-m", "netburst", "--", program)
    truth = dict(rows(path, "SELECT pid, sum(n) FROM count JOIN event ON event.id = event JOIN thread ON thread.id = thread JOIN process ON process.id = process WHERE event.name = 'hart.instret' GROUP BY 1"))
    if not 2 < len(truth) < 30:
        raise AssertionError(f"{len(truth)} processes")
    contexts, whole = counts_of_contexts(f"{INSNS}:banks", program)
    equal(contexts[f"{INSNS}:banks"], truth)
    equal(whole[f"{INSNS}:banks"], (sum(truth.values()), sum(truth.values())))
    contexts, whole = counts_of_contexts(f"retired_branches,{INSNS}:banks", program)  # beside a portable name
    equal(contexts, {f"{INSNS}:banks": truth})
    equal(sorted(whole), sorted([f"{INSNS}:banks", "retired_branches"]))
    pid = sorted(truth)[1]
    _, whole = counts_of_contexts(f"{INSNS},{INSNS}:ctx={pid},{INSNS}:ctx={pid + 1}", program)
    equal([value for value, _ in whole.values()], [sum(truth.values()), truth[pid], truth[pid + 1]])
    contexts, whole = counts_of_contexts(f"{INSNS}:banks:k", program)
    equal((contexts, whole[f"{INSNS}:banks:k"][0]), ({}, 0))
    # With several designs, rows of contexts stand below the event of the one that has banks.
    name = f"netburst/{INSNS}:banks/"
    contexts, whole = counts_of_contexts(f"{name},retired_branches", program, "-P", "netburst,rvhpm:linux")
    equal(contexts, {name: truth})
    equal(whole[name], (sum(truth.values()), sum(truth.values())))
    equal(sorted(whole), sorted([name, "netburst/retired_branches/", "rvhpm/retired_branches/"]))
    equal(whole["netburst/retired_branches/"], whole["rvhpm/retired_branches/"])


def counts_of_contexts(events, program, *designs):
    """Counts by event and context, and of each event the count of the machine with its truth."""
    status, _, stderr = tally("stat", "-j", "-o", file("contexts.json"), *NBX, *designs, "-e", events, "--", program)
    equal(status, 0, stderr)
    contexts, whole = {}, {}
    with open(file("contexts.json"), encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["type"] != "event":
                continue
            if row["scope"] == "machine":
                whole[row["event"]] = row["value"], row["truth"]
            elif row["scope"].startswith("context"):
                contexts.setdefault(row["event"], {})[int(row["scope"].removeprefix("context"))] = row["value"]
    return contexts, whole


@test
def any_counter_samples_with_periods_that_vary():
    path, _, _ = record("any.profile", *NBX, "-c", "61", "-e", "branch_retired:MMNM+MMTM:assist:vary=3,uops_retired:NBOGUS:assist:vary=3,page_walk_type:DTMISS:assist:t0:vary=3", "--", guest("process_family"))
    status, stdout, stderr = tally("report", "--against-truth", "-j", "-s", "insn", "-e", "branch_retired:MMNM+MMTM:assist:vary=3,uops_retired:NBOGUS:assist:vary=3", path)
    equal(status, 0, stderr)
    first, second = (row for row in map(json.loads, stdout.splitlines()) if row["type"] == "sampled")
    equal((first["method"], second["method"]), ("precise (NBX)", "precise (NBX)"))
    signals = {row["event"]: ("bp.cond_miss", "bp.target_miss") if row is first else ("core.retire_uop", "core.alone") for row in (first, second)}
    for number, row in enumerate((first, second)):
        marks = ", ".join("?" for _ in signals[row["event"]])
        right, = rows(path, f"SELECT ifnull(sum(n), 0) FROM sample_count WHERE sampled = ? AND instruction IN (SELECT instruction FROM count JOIN event ON event.id = event WHERE event.name IN ({marks}) AND n > 0)", number, *signals[row["event"]])
        equal((row["precision_percent"], right[0]), (100, row["samples"]))
        if not row["samples"] or abs(row["effective_period"] - row["truth"] / row["samples"]) > 0.001 or not row["truth"] / 70 < row["samples"] + row["lost"] < row["truth"] / 50:
            raise AssertionError(row)
    again, _, _ = record("again.profile", *NBX, "-c", "61", "-e", "branch_retired:MMNM+MMTM:assist:vary=3,uops_retired:NBOGUS:assist:vary=3,page_walk_type:DTMISS:assist:t0:vary=3", "--", guest("process_family"))
    with open(path, "rb") as one, open(again, "rb") as other:
        equal(one.read() == other.read(), True)


@test
def counts_have_the_truth_beside_them():
    # The truth is of signals of the machine; times are those of the whole run, for each event alike.
    events = ("branch_retired:MMTP+MMTM", "instr_retired:NBOGUSNTAG+NBOGUSTAG", "uops_retired:BOGUS")
    status, _, stderr = tally("stat", *NETBURST, "-j", "-o", file("truth.json"), "-e", ",".join(events), "--", guest("process_family"))
    equal(status, 0, stderr)
    with open(file("truth.json"), encoding="utf-8") as lines:
        found = [row for row in map(json.loads, lines) if row["type"] == "event"]
    equal([row["event"] for row in found], list(events))
    for row in found:
        # Uops that are taken back last are not all reported when a program ends.
        late = 2 * 126 if row["event"] == "uops_retired:BOGUS" else 0
        if row["truth"] is None or not row["value"] <= row["truth"] <= row["value"] + late or row["value"] < 100:
            raise AssertionError(f"{row}")
    equal({(row["enabled"], row["running"]) for row in found}, {(found[0]["enabled"], found[0]["enabled"])})


@test
def what_the_extension_cannot_do_is_said():
    program = assembled()
    for words, *parts in ((("stat", *NETBURST, "-e", "memory_loads:pp"), "'memory_loads:pp': pp samples, and tally stat counts; use tally record"),
                          (("stat", *NETBURST, "-e", "uops_retired:NBOGUS:ctx=5"), "ctx is of extension NBX, which this machine lacks; add --set netburst.nbx=on"),
                          (("stat", *NBX, "-e", "uops_retired:NBOGUS:usr=4"), "the mask names thread 2, and a core of machine netburst has 2"),
                          (("stat", *NBX, "-e", "uops_retired:NBOGUS:os=4"), "the mask names thread 2, and a core of machine netburst has 2"),
                          (("stat", *NBX, "-e", "uops_retired:NBOGUS:with=4"), "the mask names thread 2, and a core of machine netburst has 2"),
                          (("stat", *NBX, "-e", "uops_retired:NBOGUS:without=8"), "the mask names thread 3, and a core of machine netburst has 2"),
                          (("stat", *NETBURST, "-e", "b2b_cycles:BIT2"), "b2b_cycles:BIT2 is not modeled: No manual says when it counts."),
                          (("stat", *NETBURST, "-e", "packed_SP_retired"), "packed_SP_retired is not modeled: The harts have no vector instructions."),
                          (("stat", *NBX, "-e", "uops_retired:NBOGUS:assist"), "use tally record -P netburst -c PERIOD"),
                          (("record", "-c", "99", *NBX, "-e", "uops_retired:NBOGUS:banks"), "banks count by context, and tally record samples"),
                          (("record", "-c", "99", *NBX, "-e", "memory_loads:pp:vary=1,uops_retired:NBOGUS:assist"), "the periods of a core vary alike"),
                          (("record", "-c", "99", *NBX, "-e", "memory_loads:vary=1"), "periods vary with samples by assists: add pp or assist"),
                          (("record", "-c", "99", *NBX, "-e", "memory_loads:pp:assist"), "write assist (any counter) or pp (counters 16 and 17), not both")):
        fails([*words, "-o", file("x"), "--", program], 2, *parts)


@test
def samples_of_two_threads_of_a_core_belong_to_their_threads():
    path, _, _ = record("threads.profile", *NETBURST, "-c", "499", "-e", "memory_loads:pp,global_power_events:RUNNING", "--", guest("threads_sync"))
    for number, (event, signals) in enumerate((("memory_loads:pp", ("hart.insn_load", "hart.insn_fp_load")), ("global_power_events:RUNNING", ("hart.cycle",)))):
        marks = ", ".join("?" for _ in signals)
        truth = dict(rows(path, f"SELECT thread, sum(n) FROM count JOIN event ON event.id = event WHERE name IN ({marks}) GROUP BY 1", *signals))
        samples = dict(rows(path, "SELECT thread, sum(n) FROM sample_count WHERE sampled = ? GROUP BY 1", number))
        busy = [thread for thread in truth if truth[thread] > 20 * 499]
        if len(busy) < 2:
            raise AssertionError(f"{event}: {truth}")
        for thread in busy:
            share, seen = truth[thread] / sum(truth.values()), samples.get(thread, 0) / sum(samples.values())
            if abs(share - seen) > 0.05:
                raise AssertionError(f"{event}: thread {thread} has {share} of the truth, {seen} of the samples")


@test
def what_cannot_be_sampled_together_is_said():
    program = assembled()
    for events, *parts in (("instr_retired:NBOGUSNTAG:pp", "precise samples come from front_end_event, execution_event and replay_event alone"),
                           ("memory_loads:pp,replay_event:l1_load_miss:pp", "memory_loads:pp and replay_event:l1_load_miss:pp need the same detector or counter"),
                           ("memory_loads:pp:thr=1", "precise samples go with no threshold"), ("memory_loads,memory_stores", "front-end tag"),
                           (",".join(["global_power_events:RUNNING"] * 5), "of block"), ("replay_event:NBOGUS:pp", "replay_event:l1_load_miss"), ("nonsense", "no event 'nonsense'")):
        fails(["record", *NETBURST, "-c", "1000", "-e", events, "-o", file("x"), "--", program], 2, *parts)
    fails(["record", *NETBURST, "-c", str(2**39), "-o", file("x"), "--", program], 2, "too narrow for this period; write at most 549755813887")


@test
def bounds_of_active_threads_part_the_clocks():
    """Each clock of thread 0 has the other thread active or idle. Modes of the CCCR are bounds, too."""
    clocks = "global_power_events:RUNNING:t0"

    def counted(*events, nbx=True):
        status, _, stderr = tally("stat", "-j", "-o", file("bounds.json"), *NETBURST, *(("--set", "netburst.nbx=on") if nbx else ()), "-e", ",".join(events), "--", guest("threads_basic"))
        equal(status, 0, stderr)
        with open(file("bounds.json"), encoding="utf-8") as lines:
            found = {row["event"]: row["value"] for row in map(json.loads, lines) if row["type"] == "event" and row["scope"] == "machine"}
        return [found[event] for event in events]
    every, beside, alone = counted(clocks, clocks + ":with=2", clocks + ":without=2")
    if not 0 < beside < every or beside + alone != every:
        raise AssertionError(f"{every} clocks, {beside} beside the other thread, {alone} alone")
    equal(counted(clocks + ":active=1..2", clocks + ":active=2", clocks + ":active=1..1"), [every, beside, alone])
    equal(counted(clocks + ":active=both", clocks + ":active=single", nbx=False), [beside, alone])


@test
def lost_samples_are_those_of_their_event():
    """The interrupt that asks for an empty area comes late, so both events lose samples. A period ends with a sample or a loss."""
    events = ("uops_retired:NBOGUS:assist", "branch_retired:MMNP+MMNM+MMTP+MMTM:assist")
    path, _, _ = record("both.profile", *NBX, "-c", "61", "--set", "netburst.pmi_latency=100000", "-e", ",".join(events), "--", guest("process_family"))
    signals = {"uops_retired": ("core.retire_uop", "core.alone"), "branch_retired": ("hart.insn_branch", "hart.insn_jal", "hart.insn_jalr")}
    for name, n_samples, n_lost in rows(path, "SELECT name, n_samples, n_lost FROM sampled"):
        names = signals[name.split(":")[0]]
        total, = rows(path, f"SELECT sum(total) FROM event WHERE name IN ({', '.join('?' for _ in names)})", *names)[0]
        if n_lost < 20 or not total // 61 - 70 <= n_samples + n_lost <= total // 61:
            raise AssertionError(f"{name}: {n_samples} samples, {n_lost} lost of {total} events")


@test
def a_lost_precise_sample_is_said_at_the_end():
    on = ("--set", "pentium4=on", "--set", "netburst.ds64=on")
    for word, verb in (("fault", "stat"), ("full", "stat"), ("full", "record")):
        program = built("lost", "-g", "-Wl,-n,-Ttext=0x80000000,--build-id=none,--no-warn-rwx-segments", *(["-Wa,--defsym,FULL=1"] if word == "full" else []), to=f"lost.{word}")
        words = ["-o", file("lost.profile")] if verb == "record" else []
        status, _, stderr = tally(verb, *words, "-m", "netburst", *on, "--bare", "--", program)
        equal(status, 0, stderr)
        equal(stderr.count("precise samples are lost"), 1, stderr)
        contains(stderr, "8 of 10 precise samples are lost: 8 found their debug store area full, and 0 found it not" if word == "full"
                 else "1 of 1 precise samples are lost: 0 found their debug store area full, and 1 found it not")


@test
def counts_of_what_was_taken_back_belong_to_their_instructions():
    path, _, _ = record("back.profile", "-m", "netburst", "--", guest("process_exec"))
    kinds = {"core.load_lookup_wrong": r"f?l[bhwdr]", "core.load_miss_wrong": r"f?l[bhwdr]", "core.taken_back_load": r"f?l[bhwdr]",
             "core.resolve_cond": r"b", "core.resolve_indirect": r"j|ret", "core.resolve_return": r"jr t0|ret"}
    for event, kind in kinds.items():
        found = rows(path, "SELECT disassembly, sum(n) FROM count JOIN instruction ON instruction.id = instruction JOIN event ON event.id = event "
                           "WHERE event.name = ? GROUP BY 1", event)
        equal([text for text, _ in found if not re.match(kind, text)], [], event)
        equal(sum(n for _, n in found) > 0, True, event)


@test
def only_a_pmu_that_interrupts_samples():
    program = assembled()
    for pmu, machine, reason in (("rvhpm:u74", "rocket", "no interrupt at overflow"), ("dhpc", "rocket", "nothing samples with pmu dhpc"),
                                 ("smpm", "rocket", "nothing samples with pmu smpm"), ("netburst", "rocket", "no detailed core"), ("ccache", "rocket", "nothing samples with pmu ccache"), ("armv8", "rocket", "written for AArch64"),
                                 ("nonsense", "rocket", "nonsense")):
        fails(["record", "-m", machine, "-P", pmu, "-c", "1000", "-o", file("x"), "--", program], 2, reason)
    fails(["record", *SAMPLED, "-e", "retired_loads", "-o", file("x"), "--", program], 2, "portable events")
    fails(["record", "-P", "rvhpm:linux", "-o", file("x"), "--", program], 2, "-c PERIOD is needed")
    fails(["record", "-c", "100", "-o", file("x"), "--", program], 2, "name a PMU that samples with -P")
    fails(["record", *SAMPLED, "--bare", "-o", file("x"), "--", program], 2, "-P samples Linux programs only", "use perf in the guest")
    fails(["record", *SAMPLED, "--pipeline", "-o", file("x"), "--", program], 2, "-P samples for a profile")
    fails(["record", *SAMPLED, "-e", "nonsense", "-o", file("x"), "--", program], 2, "nonsense")
    fails(["record", "-P", "armv8:a53", "-c", "3000000000", "-e", "INST_RETIRED", "-o", file("x"), "--", guest("arm64/kernel_sort")], 2,
          "too narrow for this period; write at most 2147483647")
    many = ",".join(["L1D_CACHE", "INST_RETIRED", "LD_RETIRED", "ST_RETIRED", "L1D_CACHE_REFILL", "L1I_CACHE_REFILL", "L1D_TLB_REFILL"])
    fails(["record", "-P", "armv8:a53", "-c", "1000", "-e", many, "-o", file("x"), "--", guest("arm64/kernel_sort")], 2, "no counter left that interrupts")


@test
def memory_follows_the_code_and_not_the_length_of_a_run():
    for words in ([], ["-g"]):
        kib = []
        for length in ("1", "12"):
            process = subprocess.Popen([options.tally, "record", "-q", *words, "-o", file("length.profile"), "--", guest("kernel_strings"), length],
                                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            equal(process.returncode, 0, f"{words} {length}")
            kib.append(usage.ru_maxrss)
        if kib[1] > 1.15 * kib[0]:
            raise AssertionError(f"{words}: a run 12 times longer takes {kib[1]} KiB, the short one {kib[0]}")


@test
def a_full_disk_loses_the_profile_and_nothing_else():
    status, _, stderr = tally("record", "-q", "-o", "/dev/full", "--", assembled())
    equal(status, 7, stderr)
    contains(stderr, "/dev/full", "No space left on device")
    equal(stderr.count("\n"), 1)


@test
def a_profile_says_what_was_recorded():
    path, _, _ = record("run.profile", "-m", "tiny", "--", assembled(), "a", "b c")
    run = dict(rows(path, "SELECT name, value FROM run"))
    equal((run["machine"], run["program"], run["status"], json.loads(run["argv"])[1:]), ("tiny", "loops", "7", ["a", "b c"]))
    equal(rows(path, "PRAGMA application_id"), [(0x54616C79,)])
    equal(rows(path, "PRAGMA integrity_check"), [("ok",)])
    status, _, _ = tally("record", "-q", "--", assembled(), cwd=scratch)
    equal((status, os.path.exists(file("tally.profile"))), (7, True))
    status, stdout, _ = tally("report", cwd=scratch)
    contains(stdout, "# loops on rocket: ", "inner")


def main():
    global options, scratch
    parser = argparse.ArgumentParser()
    parser.add_argument("--guests", default="")
    options = read_options(parser)
    with new_scratch("record-") as scratch:
        return run_tests(options.names)


if __name__ == "__main__":
    sys.exit(main())
