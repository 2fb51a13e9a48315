#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Builds the bare AArch64 programs of programs.txt into OUT, NAME.elf each, skipping those that are newer than everything they are made from.
#
#   guest/bare/a64/build.sh OUT
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ne 1 ]; then echo "usage: $0 OUT" >&2; exit 2; fi
out=$1
mkdir -p "$out"
CROSS=${CROSS_A64:-aarch64-linux-gnu-}
if ! command -v "${CROSS}gcc" >/dev/null; then
    echo "guest/bare/a64/build.sh: no ${CROSS}gcc: install gcc-aarch64-linux-gnu (or set CROSS_A64) to build the bare programs." >&2
    exit 1
fi

# Without translation memory is Device memory, whose accesses must be aligned.
target="-march=armv8-a -mgeneral-regs-only -mstrict-align -mno-outline-atomics"
language="-std=gnu17 -ffreestanding -fno-pic -fno-pie -fno-tree-loop-distribute-patterns -O2 -g -Wall -Wextra -Werror"
link="-nostdlib -static -no-pie -Wl,--build-id=none -Wl,--no-warn-rwx-segments -T $here/a64.ld"
while IFS='|' read -r name sources rest; do
    name=$(echo "$name" | tr -d " ") sources=$(echo "$sources" | xargs)
    case $name in '' | '#'*) continue ;; esac
    program=$out/$name.elf
    if [ -e "$program" ] && [ -z "$(find "$here" "$here"/../check.* "$here"/../../xcm_work.h -newer "$program" -type f)" ]; then continue; fi
    paths=
    for source in $sources; do paths="$paths $here/$source"; done
    # shellcheck disable=SC2086
    "${CROSS}gcc" $target $language $link -I "$here" -o "$program.new" "$here/crt.S" "$here/a64.c" $paths
    mv "$program.new" "$program"
    echo "built bare a64 $name"
done <"$here/programs.txt"
