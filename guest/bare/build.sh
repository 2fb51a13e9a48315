#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Builds the bare programs of programs.txt into OUT, NAME.elf each, skipping those that are newer
# than everything they are made from.
#
#   guest/bare/build.sh OUT [NAME...]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ]; then echo "usage: $0 OUT [NAME...]" >&2; exit 2; fi
out=$1
shift
mkdir -p "$out"
out=$(cd "$out" && pwd)
CROSS=${CROSS:-riscv64-linux-gnu-}
if ! command -v "${CROSS}gcc" >/dev/null; then
    echo "guest/bare/build.sh: no ${CROSS}gcc: install gcc-riscv64-linux-gnu (or set CROSS) to build the bare programs." >&2
    exit 1
fi

target="-march=rv64imafdc_zicsr_zifencei -mabi=lp64d -mcmodel=medany"
language="-std=gnu17 -ffreestanding -fno-pic -fno-tree-loop-distribute-patterns -O2 -g -Wall -Wextra"
link="-nostdlib -static -no-pie -Wl,--build-id=none -Wl,--no-warn-rwx-segments -T $here/bare.ld"
wanted=" $* "
status=0
while IFS='|' read -r name sources flags rest; do
    name=$(echo $name) sources=$(echo $sources) flags=$(echo $flags)
    case $name in '' | '#'*) continue ;; esac
    case $wanted in '  ') ;; *" $name "*) ;; *) continue ;; esac
    if [ "$flags" = - ]; then flags=; fi
    paths=
    for source in $sources; do paths="$paths $here/$source"; done
    program=$out/$name.elf
    recipe="$CROSS $target $language $link $flags $sources"
    if [ -e "$program" ] && [ "$(cat "$out/.$name.recipe" 2>/dev/null)" = "$recipe" ] &&
        [ -z "$(find $paths "$here"/*.h "$here"/*.inc "$here"/../include/tally/*.h "$here/crt.S" "$here/bare.c" "$here/bare.ld" -newer "$program")" ]; then
        continue
    fi
    if "${CROSS}gcc" $target $language $link -I "$here" -I "$here/../include" $flags -o "$program.new" "$here/crt.S" "$here/bare.c" $paths -lgcc; then
        echo "$recipe" >"$out/.$name.recipe"
        mv "$program.new" "$program"
        echo "built bare $name"
    else
        rm -f "$program.new"
        echo "guest/bare/build.sh: $name did not compile." >&2
        status=1
    fi
done <"$here/programs.txt"
exit $status
