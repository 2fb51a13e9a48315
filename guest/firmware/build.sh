#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Assembles the firmware of the Arm board into OUT: a64.elf, and its words as rows of src/board/arm_firmware.def. The rows are kept in the
# tree, because a build of the simulator needs no cross assembler. Builds programs that call the firmware, too.
#
#   guest/firmware/build.sh OUT             a64.elf, arm_firmware.def, psci.elf and psci_reset.elf in OUT
#   guest/firmware/build.sh --check OUT     and fails when the rows in the tree are others
set -eu

here=$(cd "$(dirname "$0")" && pwd)
check=
if [ "${1-}" = --check ]; then check=yes; shift; fi
if [ $# -ne 1 ]; then echo "usage: guest/firmware/build.sh [--check] OUT" >&2; exit 2; fi
out=$1
mkdir -p "$out"
CROSS=${CROSS_A64:-aarch64-linux-gnu-}
if ! command -v "${CROSS}gcc" >/dev/null; then
    echo "guest/firmware/build.sh: no ${CROSS}gcc: install gcc-aarch64-linux-gnu (or set CROSS_A64) to build the firmware." >&2
    exit 77
fi
"${CROSS}gcc" -nostdlib -static -no-pie -Wl,--build-id=none -Wl,--no-warn-rwx-segments -T "$here/a64.ld" -o "$out/a64.elf" "$here/a64.S"

# A word between vectors is padding.
rows=$out/arm_firmware.def
sed '/^WORD/,$d' "$here/../../src/board/arm_firmware.def" >"$rows"
"${CROSS}objdump" -d -z "$out/a64.elf" | sed -n 's/^ *8000\([0-9a-f]*\):\t\([0-9a-f]\{8\}\) *\t\(.*\)$/\1|\2|\3/p' |
    sed 's/ *\/\/.*//; s/ <[^>]*>//; s/\t/ /g; s/ *$//; s/|\.word.*/|data/; s/|udf.*/|data/' |
    awk -F'|' '$3 != "nop" { printf "WORD(0x%s, 0x%s, \"%s\")\n", $1, $2, $3 }' >>"$rows"

target="-march=armv8-a -mgeneral-regs-only -mstrict-align -mno-outline-atomics"
language="-std=gnu17 -ffreestanding -fno-pic -fno-pie -fno-tree-loop-distribute-patterns -O2 -g -Wall -Wextra -Werror"
link="-nostdlib -static -no-pie -Wl,--build-id=none -Wl,--no-warn-rwx-segments -T $here/psci.ld"
# shellcheck disable=SC2086
"${CROSS}gcc" $target $language $link -o "$out/psci.elf" "$here/psci.S" "$here/psci.c"
# shellcheck disable=SC2086
"${CROSS}gcc" $target $language $link -DRESET -o "$out/psci_reset.elf" "$here/psci.S" "$here/psci.c"

if [ "$check" ] && ! diff -u "$here/../../src/board/arm_firmware.def" "$rows"; then
    echo "guest/firmware/build.sh: src/board/arm_firmware.def is not what a64.S says; copy $rows there." >&2
    exit 1
fi
