#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Builds the guest programs listed in programs.txt into OUT, skipping those that are newer than
# everything they are made from. A program whose compiler is missing is left out with one sentence;
# without a RISC-V C compiler nothing is built.
#
#   guest/build.sh [--fetch] OUT [NAME...]  RISC-V programs (all of them, or those named); what must be fetched first from a
#                                           package mirror (rows tagged `fetch`) only with --fetch or by name
#   guest/build.sh --native OUT [NAME...]   the rows tagged `native`, for this machine: the real kernel as a second oracle
#   guest/build.sh --arm64 OUT [NAME...]    the rows tagged `native` or `arm64`, for AArch64
#
# TALLY_GUEST_CACHE=DIR keeps each built program in DIR, by a hash of its folders, flags and
# compiler; several work trees can share it. Debug information names the tree that built it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
native=no fetch=no arch=riscv64
case ${1:-} in
--native) native=yes; shift ;;
--arm64) arch=aarch64; shift ;;
--fetch) fetch=yes; shift ;;
esac
if [ $# -lt 1 ]; then echo "usage: $0 [--native | --arm64 | --fetch] OUT [NAME...]" >&2; exit 2; fi
out=$1
shift
mkdir -p "$out"
out=$(cd "$out" && pwd)
jobs=${JOBS:-2}

CROSS=${CROSS:-$arch-linux-gnu-}
if [ $native = yes ]; then CROSS=; fi
if ! command -v "${CROSS}gcc" >/dev/null; then
    echo "guest/build.sh: no ${CROSS}gcc: install gcc-$arch-linux-gnu (or set CROSS) to build the guest programs." >&2
    exit 1
fi

# One shell function per compiler kind: build_KIND NAME "SOURCES" "FLAGS" -> $out/NAME
c_flags="-O2 -g -Wall -Wextra -I $here/include -pthread"
case $native-$arch in
no-riscv64) march=-march=rv64gc go_arch=riscv64 ;;
no-aarch64) march=-march=armv8-a+crypto go_arch=arm64 ;;
*) march='' go_arch=amd64 ;;
esac
c_flags="$march $c_flags"
build_cc() { "${CROSS}gcc" -std=gnu17 $c_flags -static $3 -o "$out/$1.new" $2 -lm; }
build_cc_dyn() { "${CROSS}gcc" -std=gnu17 $c_flags -fPIE -pie $3 -o "$out/$1.new" $2 -lm; }
build_so() { "${CROSS}gcc" -std=gnu17 $c_flags -fPIC -shared $3 -o "$out/$1.new" $2; }
build_cxx() { "${CROSS}g++" -std=c++17 $c_flags -static $3 -o "$out/$1.new" $2; }
build_cxx_dyn() { "${CROSS}g++" -std=c++17 $c_flags -fPIE -pie $3 -o "$out/$1.new" $2; }
build_asm() { "${CROSS}gcc" $march -g -nostdlib -static -I "$here/include" $3 -o "$out/$1.new" $2; }
build_go() { CGO_ENABLED=0 GOOS=linux GOARCH=$go_arch GOFLAGS=-mod=mod GO111MODULE=off go build $3 -o "$out/$1.new" $2; }
build_rust() { CROSS=$CROSS "$here/lang/build-rust.sh" "$out/$1.new" $2 $3; }
clang=$(command -v clang-14 || echo clang)
build_clang() { # LLVM's code with the cross C library; lld 14 cannot link that library (linker relaxation)
    $clang --target=$arch-linux-gnu --sysroot=/usr/$arch-linux-gnu -std=gnu17 $c_flags $3 -c -o "$out/$1.o" $2 &&
        "${CROSS}gcc" -static -pthread -o "$out/$1.new" "$out/$1.o" -lm &&
        rm -f "$out/$1.o"
}
build_busybox() { CROSS=$CROSS "$here/shell/build.sh" "$out" && cp "$out/busybox" "$out/$1.new"; }
build_npm() { GUEST=linux-$go_arch "$here/foreign/fetch.sh" "$out" && cp "$out/esbuild" "$out/$1.new"; }
build_random() { # FLAGS are those of the generator
    python3 "$here/../tests/guest/random_isa.py" $3 >"$out/$1.S" &&
        "${CROSS}gcc" -march=rv64gc_zba_zbb_zbs -nostdlib -static -o "$out/$1.new" "$out/$1.S"
}
needs() {
    case $1 in
    cc | cc_dyn | asm | so | random | busybox) echo "${CROSS}gcc" ;;
    npm) echo npm ;;
    cxx | cxx_dyn) echo "${CROSS}g++" ;;
    go) echo go ;;
    rust) echo rustc ;;
    clang) echo "$clang" ;;
    *) echo "guest/programs.txt: $2: unknown compiler kind '$1'" >&2; exit 2 ;;
    esac
}

is_current() { # NAME SOURCES: the program exists and is newer than its sources, the shared headers and the recipe
    [ -e "$out/$1" ] || return 1
    [ -z "$(find $2 "$here/include" "$here/build.sh" -newer "$out/$1" -type f | head -n 1)" ] || return 1
    [ "$(cat "$out/.$1.recipe" 2>/dev/null)" = "$3" ]
}

hash_of() { # TOOL RECIPE FILES: whatever stands beside the files may be part of the program
    {
        "$1" "$(if [ "$1" = go ]; then echo version; else echo --version; fi)" 2>&1 | head -n 1
        echo "$2"
        shift 2
        for file in "$@" "$here/include/x" "$here/lang/x"; do if [ -d "${file%/*}" ]; then echo "${file%/*}"; fi; done |
            sort -u | xargs -I {} find {} -type f | LC_ALL=C sort | xargs sha256sum | sed "s| $here/| |"
        sha256sum <"$here/build.sh"
    } | sha256sum | cut -d ' ' -f 1
}

build_one() { # NAME SOURCES KIND FLAGS
    sources=
    for source in $2; do sources="$sources $here/$source"; done
    watched=$sources
    for source in $sources; do watched="$watched $(dirname "$source")/*.h $(dirname "$source")/*.def"; done
    watched=$(ls -d $watched 2>/dev/null)
    if [ "$3" = random ]; then sources=; watched="$here/../tests/guest/random_isa.py"; fi
    if is_current "$1" "$watched" "$CROSS $3 $4"; then return 0; fi
    tool=$(needs "$3" "$1")
    if ! command -v "$tool" >/dev/null; then
        echo "guest/build.sh: $1 left out: no $tool on this machine." >&2
        return 0
    fi
    if [ "$3" = rust ] && ! "$here/lang/build-rust.sh" --check; then
        echo "guest/build.sh: $1 left out." >&2
        return 0
    fi
    kept=
    case ${TALLY_GUEST_CACHE:+$3} in
    '' | busybox | npm) ;;
    *)
        mkdir -p "$TALLY_GUEST_CACHE"
        kept=$TALLY_GUEST_CACHE/$(hash_of "$tool" "$1 $2 $native $CROSS $3 $4" $watched)
        ;;
    esac
    if [ -n "$kept" ] && cp "$kept" "$out/$1.new" 2>/dev/null; then
        :
    elif ! "build_$3" "$1" "$sources" "$4"; then
        rm -f "$out/$1.new"
        echo "guest/build.sh: $1 did not compile." >&2
        return 1
    fi
    if [ -n "$kept" ] && ! [ -e "$kept" ]; then
        cp "$out/$1.new" "$kept.$$" && mv "$kept.$$" "$kept"
    fi
    echo "$CROSS $3 $4" >"$out/.$1.recipe"
    mv "$out/$1.new" "$out/$1"
    echo "built $1"
}

# A row that borrows another's program asks for that one.
wanted=" $* "
for name; do
    borrowed=$(awk -F '|' -v name="$name" '{ gsub(/ /, "", $1); gsub(/ /, "", $2) } $1 == name && $2 ~ /^=/ { print substr($2, 2) }' "$here/programs.txt")
    wanted="$wanted$borrowed "
done
n_running=0
failed=$out/.failed
rm -f "$failed"
while IFS='|' read -r name sources kind flags args input expect tags; do
    name=$(echo $name) sources=$(echo $sources) kind=$(echo $kind) flags=$(echo $flags)
    case $name in '' | '#'*) continue ;; esac
    case $sources in =*) continue ;; esac # another row's program with other arguments
    case $wanted in '  ') ;; *" $name "*) ;; *) continue ;; esac
    if [ $fetch = no ] && [ $# -eq 0 ]; then
        case $tags in *fetch*) continue ;; esac
    fi
    case $native-$arch-$tags in
    no-riscv64-*only-arm64*) continue ;;
    no-riscv64-* | yes-*native* | no-aarch64-*native* | no-aarch64-*arm64*) ;;
    *) continue ;;
    esac
    if [ "$flags" = - ]; then flags=; fi
    (build_one "$name" "$sources" "$kind" "$flags" || echo "$name" >>"$failed") </dev/null &
    n_running=$((n_running + 1))
    if [ $n_running -ge "$jobs" ]; then wait; n_running=0; fi
done <"$here/programs.txt"
wait
if [ -e "$failed" ]; then exit 1; fi
