#!/bin/sh
# SPDX-License-Identifier: MIT
# examples/pmu/build.sh PROGRAM [FLAG...]: builds PROGRAM.elf in the current folder, of PROGRAM.c and what bare programs share.
set -eu
here=$(dirname "$0")
program=$1
shift
"${CROSS:-riscv64-linux-gnu-}gcc" -O2 -g -Wall -march=rv64gc_zicsr -mabi=lp64d -mcmodel=medany -ffreestanding -nostdlib -static -no-pie \
    -Wl,--build-id=none -Wl,--no-warn-rwx-segments -T "$here/board.ld" "$@" \
    -o "$program.elf" "$here/board.S" "$here/$program.c" -lgcc
