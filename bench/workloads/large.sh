#!/bin/sh
# SPDX-License-Identifier: MIT
# Fetches and builds what bench/large.py measures: large programs that others wrote.
#
#   bench/workloads/large.sh OUT
#
#   OUT/debian/root         Debian's Python, Perl, GCC's compiler proper, and core utilities for riscv64
#   OUT/debian/root/work    gofmt of this host's Go, esbuild of npm, and what all of them read
#
# What is already there is left alone; a filled OUT needs no network.
set -eu

if [ $# -ne 1 ]; then
    echo "usage: bench/workloads/large.sh OUT" >&2
    exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$out/debian/root/work
three=0.160.0
cross=${CROSS:-riscv64-linux-gnu-}gcc
for tool in go npm "$cross"; do
    command -v "$tool" >/dev/null || {
        echo "bench/workloads/large.sh: $tool is missing; run tools/install-deps check bench" >&2
        exit 1
    }
done

"$top/guest/debian/fetch.sh" --bench "$out/debian"
mkdir -p "$work"
cp "$here/large/work.py" "$here/large/work.pl" "$work"
[ -e "$work/picture.i" ] || "$cross" -E -I"$top/guest/kernels" "$top/guest/kernels/picture.c" -o "$work/picture.i"

go_root=$(go env GOROOT)
if [ ! -e "$work/gofmt" ]; then
    (cd "$go_root/src/cmd/gofmt" && GOOS=linux GOARCH=riscv64 CGO_ENABLED=0 GOFLAGS=-mod=mod go build -o "$work/gofmt" .)
fi
if [ ! -e "$work/go" ]; then
    rm -rf "$work/go.new"
    cp -RL "$go_root/src/net/http" "$work/go.new"
    mv "$work/go.new" "$work/go"
fi

"$top/guest/foreign/fetch.sh" "$out/npm"
cp "$out/npm/esbuild" "$work"
if [ ! -e "$work/three" ]; then
    rm -rf "$work/package"
    archive=$(cd "$work" && npm pack --silent "three@$three") || {
        echo "bench/workloads/large.sh: npm has no three@$three; is the registry reachable?" >&2
        exit 1
    }
    tar -xzf "$work/$archive" -C "$work"
    rm "$work/$archive"
    mv "$work/package" "$work/three"
fi
