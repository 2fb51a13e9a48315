#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether `tally tenants --jobs N` prints the same bytes for every N, in random runs: programs, signals, timers, pipes and threads on four partitions,
which write to one stream, take turns in contexts and VMs, and end at intervals and limits.

  check_tenants_jobs.py TALLY GUESTS RUNS [SEED]

TALLY is the command line tool, GUESTS the folder of guest programs. Each run is done with --jobs 1, and then with more: under a process that keeps the
processors of the host busy, on one processor, with low priority, or while the process is stopped and continued at random times.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

PROGRAMS = {
    "kernel_automaton": ["3"], "kernel_chase": ["1"], "kernel_huffman": ["1"], "kernel_matrix": ["12"], "kernel_mergesort": ["1"],
    "kernel_nbody": ["1"], "kernel_picture": ["1"], "kernel_sieve": ["1"], "kernel_sort": ["1"], "kernel_strings": ["1"],
    "lang_cxx": [], "lang_go": [], "process_family": [], "process_pipes": [], "process_wait": [], "process_reaping": [], "signals_threads": [],
    "signals_timers": [], "signals_delivery": [], "threads_futex": [], "threads_sync": [], "threads_basic": [], "events_time": [], "perf_counts": [],
    "isa_hello": [], "crash_null": [], "bad_deadlock_pause": [], "exit_with_0": [],
}


def tenants_file(rng, guests):
    lines = ["machine: cloud4", f"profile: {rng.choice(['SAFE', 'LITERAL'])}", "monitor: none", f"max_cycles: {rng.choice([1, 3, 8, 20]) * 1000000}"]
    if rng.random() < 0.5:
        lines.append(f"interval: {rng.randrange(50000, 2000000)}")
    lines.append("vms:")
    for partition in range(4):
        n_vms = rng.choice([1, 1, 1, 2])
        for _ in range(n_vms):
            names = rng.sample(sorted(PROGRAMS), rng.choice([1, 1, 2, 3]))
            quantum = f", quantum: {rng.randrange(100000, 1000000)}" if n_vms > 1 else ""
            lines.append(f"  - {{partition: {partition}{quantum}, contexts: [")
            for name in names:
                arguments = ", ".join(f'"{word}"' for word in PROGRAMS[name])
                own = f", quantum: {rng.randrange(20000, 500000)}" if len(names) > 1 else ""
                lines.append(f"      {{program: {guests}/{name}, args: [{arguments}], stdout: inherit, stderr: inherit{own}}},")
            lines.append("    ]}")
    return "\n".join(lines) + "\n"


def run(command, folder, rng=None, disturbs=False):
    """The bytes that it prints, and how it ends."""
    with open(os.path.join(folder, "out"), "w+b") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        while disturbs and process.poll() is None:
            time.sleep(rng.random() / 50)
            process.send_signal(signal.SIGSTOP)
            time.sleep(rng.random() / 100)
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGWINCH)
        try:
            status = process.wait(timeout=300)
        except subprocess.TimeoutExpired:
            process.kill()
            status = process.wait()
        out.seek(0)
        return out.read(), status


def main():
    tally, guests, n_runs = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    n_failed = n_outputs = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(n_runs):
            rng = random.Random(f"{seed} {number}")
            path = os.path.join(folder, "run.yaml")
            with open(path, "w", encoding="ascii") as file:
                file.write(tenants_file(rng, guests))
            expected = run([tally, "tenants", "--json", path], folder)
            n_outputs += expected[1] == 0
            how = rng.choice(["plainly", "busy", "taskset", "nice", "stopped"])
            prefix = {"taskset": ["taskset", "-c", "0"], "nice": ["nice", "-n", "19"]}.get(how, [])
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if how == "busy" else None
            for n_jobs in (2, rng.choice([3, 4, 7])):
                got = run([*prefix, tally, "tenants", "--json", "--jobs", str(n_jobs), path], folder, rng, how == "stopped")
                if got != expected:
                    n_failed += 1
                    kept = os.path.join(tempfile.gettempdir(), f"tenants_jobs_{seed}_{number}")
                    for name, data in (("yaml", open(path, "rb").read()), ("expected", expected[0]), ("got", got[0])):
                        with open(f"{kept}.{name}", "wb") as file:
                            file.write(data)
                    print(f"run {number} of seed {seed}, {how}: --jobs {n_jobs} ends with {got[1]}, not {expected[1]}, or prints other bytes; see {kept}.*")
            if busy:
                busy.kill()
                busy.wait()
    print(f"{n_runs} runs, {n_outputs} of them ended well, {n_failed} differ")
    sys.exit(n_failed != 0 or n_outputs != n_runs)


if __name__ == "__main__":
    main()
