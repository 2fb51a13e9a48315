#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds what a machine needs to boot Linux, from Debian's packages: a small kernel and perf from
# linux-source-6.1, our init, an initial file system. No source of Linux is kept here; kernel.config
# and kernel.ARCH.config are the whole difference.
#
#   guest/linux/build.sh [OUT]             default: $XDG_CACHE_HOME/tally/linux, usually ~/.cache/tally/linux
#   guest/linux/build.sh --arm64 [OUT]     the same for arm64; default: ~/.cache/tally/linux-arm64
#
#   OUT/Image, OUT/System.map, OUT/kernel.config   the kernel
#   OUT/perf                                       perf, static, for the guest
#   OUT/initramfs.cpio                             init, perf_events, perf, and on riscv smpm_reader: see pack; not compressed, so that no boot unpacks it
#   OUT/xcm.ko, OUT/xcmctl, OUT/xcm_lab            arm64: the cross-core monitor, its command, and its laboratory program; in the initial file system, too
#   OUT/cache/                                     the kernel and perf by the digest of all that they are made from: built once
#
# BUSYBOX=FILE puts that busybox into the initial file system, whose shell init then uses
# (guest/build.sh --fetch OUT busybox builds one). JOBS sets the number of compilers at a time (2).
# KERNEL_CONFIG=FILE adds lines to the kernel's configuration; lockdep.config and kasan.config are such files.
# The tools: tools/install-deps check system.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
script=$here/build.sh
arch=riscv suffix=
if [ "${1-}" = --arm64 ]; then arch=arm64 suffix=-arm64; shift; fi
if [ $# -gt 1 ]; then
    echo "usage: guest/linux/build.sh [--arm64] [OUT]" >&2
    exit 2
fi
out=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/tally/linux$suffix}
mkdir -p "$out/cache"
out=$(cd "$out" && pwd)
jobs=${JOBS:-2}
if [ $arch = riscv ]; then
    CROSS=${CROSS:-riscv64-linux-gnu-} target=-march=rv64gc others='[!r]'
else
    CROSS=${CROSS_A64:-aarch64-linux-gnu-} target=-march=armv8-a others='[!a]'
fi
export CROSS
archive=/usr/src/linux-source-6.1.tar.xz

fail() {
    echo "guest/linux/build.sh: $*" >&2
    exit 1
}
tools="${CROSS}gcc gcc make flex bison bc python3 xz"
if [ $arch = arm64 ]; then tools="$tools sparse"; fi
for tool in $tools; do
    command -v "$tool" >/dev/null || fail "$tool is missing; run tools/install-deps check system"
done
[ -z "${KERNEL_CONFIG-}" ] || [ -r "$KERNEL_CONFIG" ] || fail "KERNEL_CONFIG=$KERNEL_CONFIG cannot be read"
[ -e "$archive" ] || fail "$archive is missing; run tools/install-deps system"

# Two builds into one folder take turns.
exec 9>"$out/cache/.lock"
flock 9

# digest FUNCTION [FILE...]: the version of source and compiler, how the function of this script
# uses them, the bytes of the files
digest() {
    {
        dpkg-query -W -f='${Version}\n' linux-source-6.1 2>/dev/null || ls -l "$archive"
        "${CROSS}gcc" --version | head -n 1
        sed -n "/^$1() {/,/^}/p" "$script"
        shift
        for file; do cat "$file"; done
    } | sha256sum | cut -c 1-16
}

source=$out/cache/source
unpack() { # the part of the kernel's source that a build for one architecture reads
    stamp=$(digest unpack)-$arch
    [ "$(cat "$source/.unpacked" 2>/dev/null)" = "$stamp" ] && return 0
    rm -rf "$source"
    mkdir "$source"
    tar -xJf "$archive" -C "$source" --strip-components=1 --anchored --wildcards \
        --exclude="linux-source-6.1/arch/$others*/*.[chS]" --exclude='linux-source-6.1/*.dts*' \
        --exclude='linux-source-6.1/Documentation/*.[rst]*' --exclude='linux-source-6.1/tools/testing/*.[ch]' \
        --exclude='linux-source-6.1/drivers/gpu/*.[ch]' --exclude='linux-source-6.1/drivers/net/*/*.[ch]' \
        --exclude='linux-source-6.1/drivers/media/*.[ch]' --exclude='linux-source-6.1/drivers/infiniband/*.[ch]' \
        --exclude='linux-source-6.1/drivers/scsi/*.[ch]' --exclude='linux-source-6.1/drivers/staging/*.[ch]' \
        --exclude='linux-source-6.1/sound/*.[ch]' --exclude='linux-source-6.1/tools/perf/pmu-events/arch/*.json' ||
        fail "$archive could not be unpacked; is the disk full? about 500 MB are needed in $out"
    echo "$stamp" >"$source/.unpacked"
}

run() { # LOG COMMAND...: with what the host knows of it, so that two hosts build the same bytes
    log=$1
    shift
    env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL LC_ALL=C KBUILD_BUILD_TIMESTAMP='Mon Jan 1 00:00:00 UTC 2024' KBUILD_BUILD_USER=tally \
        KBUILD_BUILD_HOST=tally nice "$@" >>"$log" 2>&1 9>&- || {
        tail -n 20 "$log" >&2
        fail "a step failed: $*; all it said is in $log"
    }
}

report() { # NAME START FOLDER
    echo "built $1 in $(($(date +%s) - $2)) s: $3"
}

build_kernel() { # FOLDER
    work=$1.new
    started=$(date +%s)
    unpack
    rm -rf "$work"
    mkdir "$work"
    kmake() { run "$work/log" make -C "$source" O="$work" ARCH="$arch" CROSS_COMPILE="$CROSS" -j"$jobs" "$@"; }
    cat "$here/kernel.config" "$here/kernel.$arch.config" >"$work.config"
    kmake KCONFIG_ALLCONFIG="$work.config" allnoconfig
    grep '^CONFIG_' "$work.config" | sed 's/^\(.*\)=n$/# \1 is not set/' | while IFS= read -r line; do
        grep -qxF "$line" "$work/.config" || fail "kernel.config or kernel.$arch.config: $line: the kernel did not take it; a line it depends on is missing"
    done
    kmake Image
    rm -rf "$1"
    mkdir "$1"
    cp "$work/arch/$arch/boot/Image" "$work/System.map" "$1/"
    cp "$work/.config" "$1/kernel.config"
    rm -rf "$work" "$work.config"
    report kernel "$started" "$1"
}

build_perf() { # FOLDER
    work=$1.new
    started=$(date +%s)
    unpack
    rm -rf "$work"
    mkdir "$work"
    off=
    for name in JEVENTS LIBELF DWARF LIBBPF LIBPERL LIBPYTHON SLANG NEWT GTK2 LIBNUMA LIBAUDIT LIBCRYPTO ZLIB LZMA LIBZSTD LIBCAP LIBUNWIND \
        LIBDW_DWARF_UNWIND LIBBABELTRACE AUXTRACE SDT JVMTI DEMANGLE BACKTRACE LIBDEBUGINFOD; do
        off="$off NO_$name=1"
    done
    # shellcheck disable=SC2086 # a list of words
    run "$work/log" make -C "$source/tools/perf" O="$work" ARCH="$arch" CROSS_COMPILE="$CROSS" -j"$jobs" LDFLAGS=-static WERROR=0 $off "$work/perf"
    rm -rf "$1"
    mkdir "$1"
    "${CROSS}strip" -o "$1/perf" "$work/perf"
    rm -rf "$work"
    report perf "$started" "$1"
}

# The cross-core monitor: its module needs the prepared tree of the kernel, and no kernel. A change
# of monitor/ builds the module again, in seconds.
prepare_modules() { # FOLDER
    started=$(date +%s)
    unpack
    rm -rf "$1" "$1.new"
    mkdir "$1.new"
    cp "$out/kernel.config" "$1.new/.config"
    run "$1.log" make -C "$source" O="$1.new" ARCH="$arch" CROSS_COMPILE="$CROSS" -j"$jobs" modules_prepare
    mv "$1.new" "$1"
    report headers "$started" "$1"
}

build_module() { # FOLDER of headers
    started=$(date +%s)
    rm -rf "$out/cache/xcm"
    mkdir -p "$out/cache/xcm"
    cp -R "$here/../../monitor" "$out/cache/xcm/monitor"
    # W=1, and C=2 for sparse: the module builds without a warning. Symbols are resolved when it is
    # loaded.
    run "$out/cache/xcm/log" make -C "$source" O="$1" ARCH="$arch" CROSS_COMPILE="$CROSS" -j"$jobs" W=1 C=2 KBUILD_MODPOST_WARN=1 \
        M="$out/cache/xcm/monitor/linux" modules
    if grep 'warning:' "$out/cache/xcm/log" >&2; then fail "xcm.ko builds with warnings of the compiler or of sparse"; fi
    cp "$out/cache/xcm/monitor/linux/xcm.ko" "$out/"
    report xcm.ko "$started" "$out"
}

take() { # FOLDER: its files are what OUT shows
    for file in "$1"/*; do
        cmp -s "$file" "$out/${file##*/}" || cp -p "$file" "$out/"
    done
}
lines=$here
if [ -n "${KERNEL_CONFIG-}" ]; then
    lines=$out/cache/config
    mkdir -p "$lines"
    cp "$here/kernel.config" "$lines/"
    cat "$here/kernel.$arch.config" "$KERNEL_CONFIG" >"$lines/kernel.$arch.config"
fi
kernel=$out/cache/kernel-$(digest build_kernel "$lines/kernel.config" "$lines/kernel.$arch.config")
[ -d "$kernel" ] || (here=$lines; build_kernel "$kernel")
take "$kernel"
perf=$out/cache/perf-$(digest build_perf)
[ -d "$perf" ] || build_perf "$perf"
take "$perf"
programs="init perf_events"
[ $arch = arm64 ] || programs="$programs smpm_reader"

started=$(date +%s)
for program in $programs; do
    "${CROSS}gcc" -std=gnu17 "$target" -O2 -g -Wall -Wextra -static -o "$out/$program.new" "$here/$program.c"
    mv "$out/$program.new" "$out/$program"
done
set -- /init="$out/init"
if [ $arch = arm64 ]; then
    headers=$out/cache/headers-$(digest prepare_modules "$out/kernel.config")
    [ -d "$headers" ] || prepare_modules "$headers"
    build_module "$headers"
    monitor=$here/../../monitor
    for program in "xcmctl $monitor/client/xcmctl.c" "xcm_lab $here/xcm_lab.c"; do
        "${CROSS}gcc" -std=gnu17 -D_GNU_SOURCE "$target" -O2 -g -Wall -Wextra -static -I"$here/../.." -o "$out/${program%% *}" "${program#* }" \
            "$monitor/client/client.c" "$monitor/client/netlink.c" "$monitor/client/socket.c" "$monitor/client/module.c" "$monitor"/*.c
    done
    set -- "$@" /lib/xcm.ko="$out/xcm.ko" /bin/xcmctl="$out/xcmctl" /bin/xcm_lab="$out/xcm_lab"
fi
set -- "$@" /bin/perf_events="$out/perf_events" /bin/perf="$out/perf"
[ $arch = arm64 ] || set -- "$@" /bin/smpm_reader="$out/smpm_reader"
"$here/pack" "$out/initramfs.cpio" "$@" ${BUSYBOX:+/bin/busybox="$BUSYBOX"}
report initramfs "$started" "$out"
