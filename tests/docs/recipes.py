#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the gate of the recipes for CI as they stand: the shell lines of docs/tutorials/counts.yml and gitlab-ci.yml.

  tests/docs/recipes.py TALLY

A gate that holds must end with status 0, one that is crossed with another, in the shell that the service starts. Lines that install
packages and build are checked for their syntax.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TUTORIALS = os.path.join(TOP, "docs", "tutorials")
# The shell of a step or job: GitHub's as the file names it, GitLab's of the image.
RECIPES = {"counts.yml": ("bash", "-eo", "pipefail"), "gitlab-ci.yml": ("bash", "-eo", "pipefail")}


def main():
    tally = os.path.abspath(sys.argv[1])
    for recipe, shell in RECIPES.items():
        with open(os.path.join(TUTORIALS, recipe), encoding="utf-8") as file:
            lines = re.findall(r"^ +(?:- |run: )(?!name:|uses:)(.+)$", file.read(), re.M)
        gates = [line for line in lines if "gate.sh" in line]
        if len(gates) != 1 or not any("apt-get install" in line for line in lines) or not any("make -C /opt/tally" in line for line in lines):
            sys.exit(f"{recipe}: one gate, packages and a build are expected among {lines}")
        for line in lines:
            if subprocess.run([*shell, "-n", "-c", line], check=False).returncode != 0:
                sys.exit(f"{recipe}: the shell refuses {line}")
        for is_crossed in (False, True):
            with tempfile.TemporaryDirectory(prefix="tally-recipe-") as folder:
                os.mkdir(os.path.join(folder, "examples"))
                shutil.copy(os.path.join(TOP, "examples", "sum.c"), os.path.join(folder, "examples"))
                shutil.copy(os.path.join(TUTORIALS, "gate.sh"), folder)
                environment = {**os.environ, "GITHUB_STEP_SUMMARY": os.path.join(folder, "summary.md"), "COUNTS": "counts.json"}
                subprocess.run(["riscv64-linux-gnu-gcc", "-O2", "-static", "examples/sum.c", "-o", "bench-sum"], cwd=folder, check=True)
                subprocess.run([tally, "stat", "-j", "-o", "counts.json", "--", "./bench-sum"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
                if is_crossed:
                    with open(os.path.join(folder, "counts.json"), encoding="utf-8") as file:
                        records = [json.loads(line) for line in file]
                    for record in records:
                        if record.get("event") == "instructions":
                            record["value"] = record["value"] * 9 // 10
                    with open(os.path.join(folder, "counts.json"), "w", encoding="utf-8") as file:
                        file.writelines(json.dumps(record) + "\n" for record in records)
                done = subprocess.run([*shell, "-c", gates[0].replace("/opt/tally/build/tally", tally)], cwd=folder, env=environment,
                                      capture_output=True, text=True, check=False)
                if (done.returncode != 0) != is_crossed or "| gate |" not in done.stdout:
                    sys.exit(f"{recipe}: status {done.returncode} of a gate that {'is crossed' if is_crossed else 'holds'}\n{done.stdout}{done.stderr}")
    print(f"{len(RECIPES)} recipes hold")


if __name__ == "__main__":
    main()
