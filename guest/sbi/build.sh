#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Builds the payloads of programs.txt into OUT, NAME.elf each, skipping those that are newer than
# everything they are made from. Checks, output and page tables are those of ../bare.
#
#   guest/sbi/build.sh OUT [NAME...]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
bare=$here/../bare
if [ $# -lt 1 ]; then echo "usage: $0 OUT [NAME...]" >&2; exit 2; fi
out=$1
shift
mkdir -p "$out"
out=$(cd "$out" && pwd)
CROSS=${CROSS:-riscv64-linux-gnu-}
if ! command -v "${CROSS}gcc" >/dev/null; then
    echo "guest/sbi/build.sh: no ${CROSS}gcc: install gcc-riscv64-linux-gnu (or set CROSS) to build the payloads." >&2
    exit 1
fi

target="-march=rv64imafdc_zicsr_zifencei -mabi=lp64d -mcmodel=medany"
language="-std=gnu17 -ffreestanding -fno-pic -fno-tree-loop-distribute-patterns -O2 -g -Wall -Wextra -DSUPERVISOR"
link="-nostdlib -static -no-pie -Wl,--build-id=none -Wl,--no-warn-rwx-segments"
wanted=" $* "
status=0
while IFS='|' read -r name sources flags rest; do
    name=$(echo $name) sources=$(echo $sources) flags=$(echo $flags)
    case $name in '' | '#'*) continue ;; esac
    case $wanted in '  ') ;; *" $name "*) ;; *) continue ;; esac
    if [ "$flags" = - ]; then flags=; fi
    paths="$here/crt.S $here/sbi.c $bare/bare.c"
    for source in $sources; do paths="$paths $here/$source"; done
    program=$out/$name.elf
    recipe="$CROSS $target $language $link $flags $sources"
    if [ -e "$program" ] && [ "$(cat "$out/.$name.recipe" 2>/dev/null)" = "$recipe" ] &&
        [ -z "$(find $paths "$here"/*.h "$bare"/*.h "$bare"/*.inc "$here/sbi.ld" -newer "$program")" ]; then
        continue
    fi
    if "${CROSS}gcc" $target $language $link -T "$here/sbi.ld" -I "$here" -I "$bare" -Wa,-I"$bare" $flags \
        -o "$program.new" $paths -lgcc; then
        echo "$recipe" >"$out/.$name.recipe"
        mv "$program.new" "$program"
        echo "built payload $name"
    else
        rm -f "$program.new"
        echo "guest/sbi/build.sh: $name did not compile." >&2
        status=1
    fi
done <"$here/programs.txt"
exit $status
