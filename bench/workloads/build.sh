#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds what bench/run.py measures, from Debian's own source packages and guest/kernels/.
#
#   bench/workloads/build.sh OUT [PROGRAM...]
#
# With names of programs, only these are built, for RISC-V alone, and no plugin.
#
#   OUT/riscv64/PROGRAM    riscv64-linux-gnu-gcc -O2 -static
#   OUT/arm64/PROGRAM      aarch64-linux-gnu-gcc -O2 -static, where it is installed
#   OUT/native/PROGRAM     gcc -O2 for this machine, for cachegrind
#   OUT/plugin/            QEMU's cache and instruction-count plugins
#   OUT/input/             the files the programs read
#
# Sources come through apt-get source with lists of its own under OUT, so nothing of the system's apt setup changes. What is
# already built is left alone; a filled OUT needs no network.
set -euo pipefail

if [ $# -eq 0 ]; then
    echo "usage: bench/workloads/build.sh OUT [PROGRAM...]" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
shift
wanted=("$@")
src=$out/src
mkdir -p "$src" "$out/riscv64" "$out/arm64" "$out/native" "$out/plugin"

cross_cc=${CROSS:-riscv64-linux-gnu-}gcc
arm64_cc=aarch64-linux-gnu-gcc
targets="riscv64 native"
if command -v $arm64_cc >/dev/null; then targets="$targets arm64"; fi
if [ ${#wanted[@]} -gt 0 ]; then targets=riscv64; fi
for tool in "$cross_cc" gcc python3; do
    command -v "$tool" >/dev/null || {
        echo "build.sh: $tool is missing; run tools/install-deps check bench" >&2
        exit 1
    }
done

# --- apt-get source, with everything it writes under $out/apt

apt() {
    apt-get -qq -o Dir::Etc::SourceList="$out/apt/sources.list" -o Dir::Etc::SourceParts=- \
        -o Dir::State::Lists="$out/apt/lists" -o Dir::Cache="$out/apt/cache" -o APT::Sandbox::User=root "$@"
}

use_apt() {
    [ -e "$out/apt/ready" ] && return
    command -v dpkg-source >/dev/null || {
        echo "build.sh: dpkg-source is missing; run tools/install-deps bench" >&2
        exit 1
    }
    mkdir -p "$out/apt/lists/partial" "$out/apt/cache/archives/partial"
    local codename
    # shellcheck disable=SC1091
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # The archive this machine already uses, asked for sources instead of packages. The release itself is enough.
    # shellcheck disable=SC2016 # the fields are for apt-get
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        sort -u | awk -v release="$codename" '$2 == release && $3 == "main" { print "deb-src", $1, $2, $3 }' \
        >"$out/apt/sources.list"
    if [ ! -s "$out/apt/sources.list" ]; then
        echo "build.sh: apt knows no Debian $codename archive to take sources from; check its sources and run apt-get update" >&2
        exit 1
    fi
    apt update || {
        echo "build.sh: the source lists could not be fetched; is the package mirror reachable?" >&2
        exit 1
    }
    touch "$out/apt/ready"
}

# Unpacks a source package, Debian's patches applied, into $src/PACKAGE.
unpack() {
    [ -e "$src/$1/.unpacked" ] && return
    use_apt
    echo "fetching the source of $1"
    rm -rf "${src:?}/$1" "$src/$1.tmp"
    mkdir -p "$src/$1.tmp"
    (cd "$src/$1.tmp" && apt source "$1" >/dev/null) || {
        echo "build.sh: apt-get source $1 failed" >&2
        exit 1
    }
    mv "$src/$1.tmp"/*/ "$src/$1"
    rm -rf "$src/$1.tmp"
    touch "$src/$1/.unpacked"
}

# compile PROGRAM SOURCE... [-- FLAG...]: all builds, when one is missing or older than a source.
compile() {
    local program=$1 target compiler static sources=()
    shift
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        sources+=("$1")
        shift
    done
    [ $# -eq 0 ] || shift
    for target in $targets; do
        if [ -e "$out/$target/$program" ] && [ -z "$(find "${sources[@]}" -newer "$out/$target/$program")" ]; then continue; fi
        compiler=gcc static=
        if [ "$target" = riscv64 ]; then compiler=$cross_cc static=-static; fi
        if [ "$target" = arm64 ]; then compiler=$arm64_cc static=-static; fi
        echo "building $program for $target"
        # shellcheck disable=SC2086 # static may be empty
        "$compiler" -std=gnu17 -O2 -g -w $static "${sources[@]}" "$@" -lm -o "$out/$target/$program.new"
        mv "$out/$target/$program.new" "$out/$target/$program"
    done
}

# Whether there is nothing to do for a program.
have() {
    local target
    if [ ${#wanted[@]} -gt 0 ] && [[ " ${wanted[*]} " != *" $1 "* ]]; then return 0; fi
    for target in $targets; do [ -e "$out/$target/$1" ] || return 1; done
}

# --- the programs

if ! have bzip2; then
    unpack bzip2
    (cd "$src/bzip2" && compile bzip2 bzip2.c blocksort.c huffman.c crctable.c randtable.c compress.c decompress.c bzlib.c \
        -- -D_FILE_OFFSET_BITS=64)
fi

if ! have minigzip; then
    unpack zlib
    (cd "$src/zlib" && compile minigzip test/minigzip.c adler32.c compress.c crc32.c deflate.c gzclose.c gzlib.c gzread.c gzwrite.c \
        infback.c inffast.c inflate.c inftrees.c trees.c uncompr.c zutil.c -- -I. -DHAVE_UNISTD_H -DHAVE_STDARG_H)
fi

if ! have lua; then
    unpack lua5.4
    (
        cd "$src/lua5.4/src"
        # Debian's build writes this header: where loadable modules would be.
        echo '#define DEB_HOST_MULTIARCH "lua"' >lua5.4-deb-multiarch.h
        sources=()
        for file in l*.c; do
            case $file in luac.c | ltests.c) ;; *) sources+=("$file") ;; esac
        done
        compile lua "${sources[@]}" -- -I. -DLUA_USE_POSIX
    )
fi

if ! have speedtest1; then
    unpack sqlite3
    (
        cd "$src/sqlite3"
        [ -f test/speedtest1.c ] || {
            echo "build.sh: test/speedtest1.c is not in the sqlite3 source package" >&2
            exit 1
        }
        if [ ! -f amalgamation/sqlite3.c ]; then
            command -v tclsh >/dev/null || {
                echo "build.sh: tclsh is missing; run tools/install-deps bench" >&2
                exit 1
            }
            echo "building the sqlite3 amalgamation"
            mkdir -p amalgamation
            cd amalgamation
            { ../configure --disable-tcl --disable-shared && make sqlite3.c; } >log 2>&1 || {
                tail -n 20 log >&2
                echo "build.sh: sqlite3.c could not be made" >&2
                exit 1
            }
            cd ..
        fi
        compile speedtest1 test/speedtest1.c amalgamation/sqlite3.c -- -Iamalgamation -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION
    )
fi

if [ ${#wanted[@]} -gt 0 ]; then
    for program in "${wanted[@]}"; do
        [ -e "$out/riscv64/$program" ] || {
            echo "build.sh: $program: only bzip2, minigzip, lua and speedtest1 are built by name" >&2
            exit 2
        }
    done
    python3 "$here/inputs.py" "$out/input"
    exit
fi

for kernel in matrix chase sort sieve automaton nbody strings straight mergesort huffman picture; do
    if have $kernel && [ -n "$(find "$top"/guest/kernels/*.h -newer "$out/native/$kernel")" ]; then rm "$out"/*/$kernel; fi
    compile $kernel "$top/guest/kernels/$kernel.c"
done
compile hello "$here/hello.c"
compile copies "$here/copies.c"

# --- QEMU's plugins: two files and one header of its source package

if [ ! -e "$out/plugin/libcache.so" ] || [ ! -e "$out/plugin/libinsn.so" ]; then
    if [ ! -e "$src/qemu/.unpacked" ]; then
        use_apt
        echo "fetching the source of qemu"
        mkdir -p "$src/qemu.tmp" "$src/qemu"
        (
            cd "$src/qemu.tmp"
            apt source --download-only qemu >/dev/null
            tar -xJf qemu_*.orig.tar.xz --strip-components=1 -C "$src/qemu" --wildcards '*/contrib/plugins/cache.c' \
                '*/tests/plugin/insn.c' '*/include/qemu/qemu-plugin.h'
        ) || {
            echo "build.sh: apt-get source qemu failed" >&2
            exit 1
        }
        rm -rf "$src/qemu.tmp"
        touch "$src/qemu/.unpacked"
    fi
    echo "building the QEMU plugins"
    for plugin in contrib/plugins/cache tests/plugin/insn; do
        # shellcheck disable=SC2046 # pkg-config's answer is a list
        gcc -O2 -w -fPIC -shared -I"$src/qemu/include/qemu" $(pkg-config --cflags glib-2.0) "$src/qemu/$plugin.c" \
            $(pkg-config --libs glib-2.0) -o "$out/plugin/lib$(basename $plugin).so"
    done
fi

python3 "$here/inputs.py" "$out/input"
