#!/bin/sh
# SPDX-License-Identifier: MIT
# Fetches esbuild from npm: a large, multi-threaded Go program that nobody here compiled. One
# version, two machines: the binary of GUEST (default linux-riscv64) is the guest, this machine's own binary the oracle.
#
#   guest/foreign/fetch.sh OUT
#
#   OUT/esbuild         @esbuild/$GUEST
#   OUT/host/esbuild    @esbuild/linux-x64 (or linux-arm64)
#
# What is already there is left alone; a filled OUT needs no network.
set -eu

version=0.25.9
if [ $# -ne 1 ]; then
    echo "usage: guest/foreign/fetch.sh OUT" >&2
    exit 2
fi
mkdir -p "$1/host" "$1/npm"
out=$(cd "$1" && pwd)
case $(uname -m) in
x86_64) host=linux-x64 ;;
aarch64) host=linux-arm64 ;;
*) host= ;;
esac

fetch() { # PACKAGE OUTPUT
    if [ -x "$2" ] && [ "$(cat "$out/npm/$1.version" 2>/dev/null)" = "$version" ]; then return 0; fi
    command -v npm >/dev/null || {
        echo "guest/foreign/fetch.sh: npm is missing: apt-get install npm" >&2
        exit 1
    }
    rm -rf "$out/npm/$1"
    mkdir -p "$out/npm/$1"
    archive=$(cd "$out/npm/$1" && npm pack --silent "@esbuild/$1@$version") || {
        echo "guest/foreign/fetch.sh: npm has no @esbuild/$1@$version; is the registry reachable?" >&2
        exit 1
    }
    tar -xzf "$out/npm/$1/$archive" -C "$out/npm/$1"
    cp "$out/npm/$1/package/bin/esbuild" "$2"
    chmod +x "$2"
    rm -rf "$out/npm/$1"
    echo "$version" >"$out/npm/$1.version"
}
fetch "${GUEST:-linux-riscv64}" "$out/esbuild"
if [ -n "$host" ]; then fetch "$host" "$out/host/esbuild"; fi
