#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds busybox from Debian's source package, twice from one configuration: for riscv64 or what
# CROSS names, the guest, and for this machine, the oracle (qemu-user cannot execve a file of another
# machine, so it cannot run a shell).
#
#   guest/shell/build.sh OUT
#
#   OUT/busybox         riscv64, or as CROSS says, static
#   OUT/host/busybox    this machine, static
#
# The shell runs its own applets by executing /proc/self/exe, so pipelines need no other program.
# Sources come through apt-get source with lists of its own under OUT/busybox-build; nothing of the
# system's apt setup changes. What is already built is left alone; a filled OUT needs no network.
set -euo pipefail

if [ $# -ne 1 ]; then
    echo "usage: guest/shell/build.sh OUT" >&2
    exit 2
fi
mkdir -p "$1/host" "$1/busybox-build"
out=$(cd "$1" && pwd)
work=$out/busybox-build
cross=${CROSS:-riscv64-linux-gnu-}
if [ -x "$out/busybox" ] && [ -x "$out/host/busybox" ]; then exit 0; fi
for tool in "${cross}gcc" gcc make bzip2; do
    command -v "$tool" >/dev/null || {
        echo "guest/shell/build.sh: $tool is missing; run tools/install-deps check bench" >&2
        exit 1
    }
done

apt() {
    apt-get -qq -o Dir::Etc::SourceList="$work/apt/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$work/apt/lists" \
        -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User=root "$@"
}

fetch() { # the upstream archive; Debian's patches are about its own packaging
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
    local codename
    # shellcheck disable=SC1091
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    # shellcheck disable=SC2016 # the fields are for apt-get
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        sort -u | awk -v release="$codename" '$2 == release && $3 == "main" { print "deb-src", $1, $2, $3 }' >"$work/apt/sources.list"
    if [ ! -s "$work/apt/sources.list" ] || ! apt update || ! (cd "$work" && apt source --download-only busybox >/dev/null); then
        echo "guest/shell/build.sh: the source of busybox could not be fetched; is the package mirror reachable?" >&2
        exit 1
    fi
}

ls "$work"/busybox_*.orig.tar.bz2 >/dev/null 2>&1 || fetch
if [ ! -e "$work/source/.unpacked" ]; then
    rm -rf "$work/source"
    mkdir "$work/source"
    tar -xjf "$work"/busybox_*.orig.tar.bz2 -C "$work/source" --strip-components=1
    touch "$work/source/.unpacked"
fi

# set_config NAME VALUE: one line of .config
set_config() { sed -i "s|^# CONFIG_$1 is not set\$|CONFIG_$1=$2|; s|^CONFIG_$1=.*|CONFIG_$1=$2|" "$build/.config"; }

build_one() { # FOLDER CROSS_PREFIX OUTPUT
    build=$work/$1
    mkdir -p "$build"
    make -s -C "$work/source" O="$build" defconfig >/dev/null 2>&1
    set_config STATIC y
    set_config FEATURE_SH_STANDALONE y
    set_config FEATURE_PREFER_APPLETS y
    set_config TC n # needs headers that newer kernels have dropped
    yes '' | make -s -C "$build" oldconfig >/dev/null 2>&1 || true
    if ! make -s -C "$build" -j"${JOBS:-2}" CROSS_COMPILE="$2" SKIP_STRIP=y busybox >"$work/$1.log" 2>&1; then
        tail -n 20 "$work/$1.log" >&2
        echo "guest/shell/build.sh: busybox did not compile for $1; see $work/$1.log" >&2
        exit 1
    fi
    cp "$build/busybox" "$3"
}
build_one riscv64 "$cross" "$out/busybox"
build_one host "" "$out/host/busybox"
