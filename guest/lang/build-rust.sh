#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Compiles a Rust program for Linux of riscv64, or of aarch64 if CROSS says so, with Debian's own
# packages. Debian 12 has neither standard library for amd64, but it has the sources, so this builds
# one first (core, alloc, std; about 40 s, kept beside the output for the next time).
#
#   lang/build-rust.sh OUTPUT SOURCE [static|dynamic]
#   lang/build-rust.sh --check           says what is missing and exits 1, or exits 0
set -eu

packages="rustc rust-src librust-libc-dev librust-hashbrown-dev librust-cfg-if-dev librust-rustc-demangle-dev"
rustc=${RUSTC:-/usr/bin/rustc}
crates=/usr/share/cargo/registry
version=$("$rustc" --version 2>/dev/null | cut -d ' ' -f 2) || version=
library=/usr/src/rustc-$version/library
missing() {
    echo "lang/build-rust.sh: no $1: apt-get install --no-install-recommends $packages" >&2
    exit 1
}
find_crate() { # newest source folder of a packaged crate
    ls -d "$crates/$1"* 2>/dev/null | sort -V | tail -n 1
}
[ -n "$version" ] || missing "$rustc"
[ -d "$library" ] || missing "$library"
for crate in libc-0.2 hashbrown-0.12 cfg-if-1 rustc-demangle-0.1; do
    [ -n "$(find_crate $crate)" ] || missing "$crates/$crate*"
done
if [ "${1:-}" = --check ]; then exit 0; fi

output=$1 source=$2 linkage=${3:-static}
std=$(dirname "$output")/.rust-$version
CROSS=${CROSS:-riscv64-linux-gnu-}
case $CROSS in
aarch64-*) target=aarch64-unknown-linux-gnu arch=aarch64 ;;
*) target=riscv64gc-unknown-linux-gnu arch=riscv64 ;;
esac
export RUSTC_BOOTSTRAP=1 STD_ENV_ARCH=$arch

# library NAME EDITION SOURCE [FLAG...]: one library crate of the standard library
library_crate() {
    name=$1 edition=$2 crate_source=$3
    shift 3
    "$rustc" --target "$target" --edition "$edition" -O -C panic=unwind --crate-type rlib --cap-lints allow \
        --crate-name "$name" --out-dir "$std.new" -L "$std.new" "$@" "$crate_source"
}
feature() { echo "feature=\"$1\""; }

build_std() {
    rm -rf "$std.new"
    mkdir -p "$std.new"
    library_crate core 2021 "$library/core/src/lib.rs"
    # Integer helpers come from libgcc, memory functions from libc: nothing to build in.
    echo '#![feature(compiler_builtins)] #![compiler_builtins] #![no_std]' >"$std.new/builtins.rs"
    library_crate compiler_builtins 2021 "$std.new/builtins.rs"
    echo '#![feature(no_core)] #![no_core] extern crate core; pub use core::*;' >"$std.new/workspace_core.rs"
    library_crate rustc_std_workspace_core 2018 "$std.new/workspace_core.rs"
    library_crate alloc 2021 "$library/alloc/src/lib.rs"
    in_std="--cfg $(feature rustc-dep-of-std)"
    # what libc's build script finds out about this compiler
    libc_cfgs=
    for cfg in priv_mod_use union const_size_of align core_cvoid packedN cfg_target_vendor int128 const_extern_fn ptr_addr_of \
        underscore_const_names const_extern_fn_unstable; do
        libc_cfgs="$libc_cfgs --cfg libc_$cfg"
    done
    library_crate libc 2015 "$(find_crate libc-0.2)/src/lib.rs" $in_std --cfg "$(feature align)" $libc_cfgs
    library_crate cfg_if 2018 "$(find_crate cfg-if-1)/src/lib.rs" $in_std
    library_crate rustc_demangle 2015 "$(find_crate rustc-demangle-0.1)/src/lib.rs" $in_std
    library_crate hashbrown 2021 "$(find_crate hashbrown-0.12)/src/lib.rs" $in_std --cfg "$(feature nightly)" --cfg "$(feature rustc-internal-api)"
    externs=
    for crate in core alloc libc cfg_if; do externs="$externs --extern $crate=$std.new/lib$crate.rlib"; done
    library_crate std_detect 2018 "$library/stdarch/crates/std_detect/src/lib.rs" $in_std --cfg "$(feature std_detect_file_io)" $externs
    library_crate unwind 2021 "$library/unwind/src/lib.rs" $externs
    library_crate panic_abort 2021 "$library/panic_abort/src/lib.rs" -C panic=abort $externs
    externs="$externs --extern unwind=$std.new/libunwind.rlib"
    library_crate panic_unwind 2021 "$library/panic_unwind/src/lib.rs" $externs
    for crate in hashbrown rustc_demangle std_detect panic_unwind panic_abort; do
        externs="$externs --extern $crate=$std.new/lib$crate.rlib"
    done
    library_crate std 2021 "$library/std/src/lib.rs" --cfg "$(feature panic_unwind)" --cfg "$(feature panic-unwind)" --cfg backtrace_in_libstd $externs
    mv "$std.new" "$std"
}

exec 9>"$std.lock"
flock 9 # two programs at once build the library once
[ -d "$std" ] || build_std
static=+
if [ "$linkage" = dynamic ]; then static=-; fi
"$rustc" --target "$target" --edition 2021 -O -L "$std" -C linker="${CROSS}gcc" \
    -C target-feature=${static}crt-static -o "$output" "$source"
