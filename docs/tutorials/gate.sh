#!/bin/sh
# SPDX-License-Identifier: MIT
# The gate of regression-gate.md: builds a program, counts it and compares with the report that the
# repository keeps. TALLY names the program tally. Status 1: a gate was crossed.
set -eu
riscv64-linux-gnu-gcc -O2 -static "${SOURCE:-examples/sum.c}" -o bench-sum
"${TALLY:-tally}" stat -j -o new.json -- ./bench-sum
"${TALLY:-tally}" diff --md --fail-on 'instructions>+0.5%' --fail-on 'l1d.load_miss>+1%' "${COUNTS:-counts.json}" new.json
