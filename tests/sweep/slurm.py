#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tally sweep --slurm against a real Slurm: one node, started here and ended here.

The daemons live in namespaces of their own and in a temporary folder. The table must have the same bytes as that of a sweep
without Slurm; a sweep that was cut short must run its missing cells only; a cell that fails must be named.

  slurm.py --tally build/tally --guest build/guest/demo
"""
import argparse
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SKIP = 77
ADDRESS = "10.77.0.1"  # on lo: with loopback addresses alone, look-ups of names wait for seconds
CONFIG = """
ClusterName=tally
SlurmctldHost=node1({address})
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
MailProg=/bin/true
ReturnToService=2
SlurmdTimeout=300
MinJobAge=300
NodeName=node1 NodeAddr={address} CPUs=2 State=UNKNOWN
PartitionName=all Nodes=node1 Default=YES MaxTime=10 State=UP
"""
VARY = ["--vary", "l1d.size=8KiB,16KiB,32KiB", "--vary", "l1d.ways=2,4,3", "-e", "cycles,l1d.load_miss"]


def fail(text):
    sys.exit(f"slurm.py: {text}")


def inside(folder):
    """Starts the daemons in this namespace; returns them."""
    socket.sethostname("node1")  # of the UTS namespace; the controller looks for its own name
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", f"{ADDRESS}/24", "dev", "lo"], check=True)
    for name in ("state", "spool"):
        os.mkdir(f"{folder}/{name}")
    with open(f"{folder}/slurm.conf", "w", encoding="utf-8") as out:
        out.write(CONFIG.format(folder=folder, address=ADDRESS))
    with open(f"{folder}/munge.key", "wb") as out:
        out.write(os.urandom(1024))
    os.chmod(f"{folder}/munge.key", 0o400)
    os.environ["SLURM_CONF"] = f"{folder}/slurm.conf"
    log = open(f"{folder}/daemons.log", "wb")
    commands = [
        ["munged", "-F", "--force", f"--socket={folder}/munge.socket", f"--key-file={folder}/munge.key",
         f"--pid-file={folder}/munge.pid", f"--seed-file={folder}/munge.seed", f"--log-file={folder}/munge.log"],
        ["slurmctld", "-D", "-c"],
        ["slurmd", "-D", "-N", "node1"],
    ]
    daemons = []
    for command in commands:
        daemons.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))
        if command[0] == "munged":
            wait_for(lambda: os.path.exists(f"{folder}/munge.socket"), "munged's socket")
    wait_for(lambda: subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False).stdout.strip() == "idle",
             "an idle node", folder)
    return daemons


def wait_for(is_there, what, folder=None, seconds=60):
    until = time.monotonic() + seconds
    while not is_there():
        if time.monotonic() > until:
            for name in ("daemons.log", "slurmctld.log", "slurmd.log") if folder else ():
                if os.path.exists(f"{folder}/{name}"):
                    with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as log:
                        print(f"--- {name}\n" + "".join(log.readlines()[-15:]))
            fail(f"waited {seconds} s for {what}")
        time.sleep(0.1)


def sweep(tally, guest, *options, vary=None):
    command = [tally, "sweep", *options, *(vary or VARY), "--", guest]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def check(tally, guest, folder):
    here = sweep(tally, guest)
    cells = f"{folder}/it's cells"
    first = sweep(tally, guest, "--slurm", "--cells", cells)
    for name, run in (("here", here), ("slurm", first)):
        if run.returncode != 1:
            fail(f"{name}: exit status {run.returncode}, not 1\n{run.stdout}{run.stderr}")
    if here.stdout != first.stdout:
        fail(f"tables differ\n--- here\n{here.stdout}\n--- slurm\n{first.stdout}\n{first.stderr}")
    if here.stdout.count("failed:") != 3:
        fail(f"3 cells are no machines\n{here.stdout}")
    reports = sorted(name for name in os.listdir(cells) if name.endswith(".json"))
    if len(reports) != 6:
        fail(f"6 reports, not {reports}")

    # A missing cell, and one that was cut short, run again; the others do not.
    os.remove(f"{cells}/{reports[1]}")
    with open(f"{cells}/{reports[4]}", encoding="utf-8") as whole:
        text = whole.read()
    with open(f"{cells}/{reports[4]}", "w", encoding="utf-8") as part:
        part.write(text[:len(text) // 2])
    before = {name: os.stat(f"{cells}/{name}").st_mtime_ns for name in reports if name != reports[1]}
    again = sweep(tally, guest, "--slurm", "-j", "1", "--cells", cells)
    if again.stdout != here.stdout:
        fail(f"the table of the second call differs\n{again.stdout}{again.stderr}")
    ran = [name for name in reports if before.get(name) != os.stat(f"{cells}/{name}").st_mtime_ns]
    if ran != [reports[1], reports[4]]:
        fail(f"cells ran again: {ran}")
    if subprocess.run(["squeue", "-h"], capture_output=True, text=True, check=True).stdout.strip():
        fail("jobs are left in the queue")

    # Counts of a PMU.
    pmu = ["-P", "rvhpm:u74", "-e", "cycles,instructions,branches,branch-misses"]
    here, there = sweep(tally, guest, *pmu, vary=["--vary", "l1d.ways=2,8"]), sweep(tally, guest, *pmu, "--slurm", "--cells", cells, vary=["--vary", "l1d.ways=2,8"])
    if (here.returncode, here.stdout) != (there.returncode, there.stdout) or here.returncode != 0 or "truth" not in here.stdout:
        fail(f"tables of a PMU differ\n--- here\n{here.stdout}{here.stderr}\n--- slurm\n{there.stdout}{there.stderr}")

    # Slurm that is not there.
    path = os.environ["PATH"]
    os.environ["PATH"] = folder
    none = sweep(tally, guest, "--slurm", "--cells", f"{folder}/none")
    os.environ["PATH"] = path
    if none.returncode != 125 or "there is no sbatch here" not in none.stderr:
        fail(f"without sbatch: {none.returncode} {none.stderr}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tally", required=True)
    parser.add_argument("--guest", required=True)
    args = parser.parse_args()
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch", "ip", "unshare") if not shutil.which(name)]
    if missing or os.geteuid() != 0 or not os.path.isdir("/sys/fs/cgroup"):
        print(f"skipped: needs root, /sys/fs/cgroup and {', '.join(missing) or 'nothing else'}")
        return SKIP
    if "TALLY_SLURM_INSIDE" not in os.environ:
        if subprocess.run(["unshare", "--net", "--uts", "true"], capture_output=True, check=False).returncode != 0:
            print("skipped: no namespaces of network and host name")
            return SKIP
        environment = {**os.environ, "TALLY_SLURM_INSIDE": "1"}
        return subprocess.run(["unshare", "--net", "--uts", sys.executable, *sys.argv], env=environment, check=False).returncode
    folder = tempfile.mkdtemp(prefix="tally-slurm-")
    daemons = []
    try:
        daemons = inside(folder)
        check(os.path.abspath(args.tally), os.path.abspath(args.guest), folder)
    finally:
        for daemon in reversed(daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in daemons:
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
