#!/bin/sh
# SPDX-License-Identifier: MIT
# Fetches what Debian 13 (trixie) has for riscv64: its stock kernel, busybox, and a root folder with
# a shell, the core utilities and Python. Or the same of Debian 12 (bookworm) for arm64. apt and dpkg of this host are asked with folders of their
# own: its package lists, its configuration and what is installed stay as they are.
#
#   guest/debian/fetch.sh [OUT]             default: $XDG_CACHE_HOME/tally/debian, usually ~/.cache/tally/debian
#   guest/debian/fetch.sh --arm64 [OUT]     without pfm, with programs written in Rust; default: ~/.cache/tally/debian-arm64
#   guest/debian/fetch.sh --bench [OUT]     only OUT/root, with Perl and GCC's compiler proper; default: ~/.cache/tally/debian-bench
#
#   OUT/Image            the kernel, as its package has it
#   OUT/initramfs.cpio   busybox, the kernel's virtio modules, and init.sh
#   OUT/root/            the root folder, for `tally stat --root`: the packages' files, unpacked; no package was configured
#   OUT/pfm/             libpfm4 and its headers, for a program that counts itself
#   OUT/versions         every package and its version
#   OUT/cache/           the packages; they are fetched once. Remove the folder to have newer ones
#
# MIRROR names another mirror, KEYRING another file of Debian's keys. The tools: tools/install-deps
# check system.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
arch=riscv64 suffix='' suite=trixie
case ${1-} in
--arm64) arch=arm64 suffix=-arm64 suite=bookworm; shift ;;
--bench) suffix=-bench; shift ;;
esac
if [ $# -gt 1 ]; then
    echo "usage: guest/debian/fetch.sh [--arm64 | --bench] [OUT]" >&2
    exit 2
fi
out=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/tally/debian$suffix}
# The mirror that this host's own packages come from: the first one that is not for security
# updates.
MIRROR=${MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | sed '/security/d;q')}
KEYRING=${KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
root="base-files dash bash coreutils sed grep gawk findutils python3"
case $suffix in
-arm64) root="$root busybox-static ripgrep fd-find" ;;
-bench) root="$root perl cpp-14" ;;
esac

fail() {
    echo "guest/debian/fetch.sh: $*" >&2
    exit 1
}
for tool in apt-get apt-cache dpkg-deb python3 xz flock; do
    command -v "$tool" >/dev/null || fail "$tool is missing; this works on Debian and its relatives"
done
[ -n "$MIRROR" ] || fail "this host's apt names no mirror; name one with MIRROR"
[ -e "$KEYRING" ] || fail "$KEYRING is missing; install debian-archive-keyring, or name the file with KEYRING"
mkdir -p "$out/cache"
out=$(cd "$out" && pwd)

exec 9>"$out/cache/.lock"
flock 9

stamp=$({ cat "$0" "$here/init.sh" "$here/../linux/pack"; echo "$MIRROR"; } | sha256sum | cut -c 1-16)
[ "$(cat "$out/.stamp" 2>/dev/null)" = "$stamp" ] && exit 0
rm -f "$out/.stamp"

# apt with nothing of this host in it: no installed packages, no sources, no configuration.
apt=$out/cache/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/empty"
: >"$apt/status"
echo "deb [arch=$arch signed-by=$KEYRING] $MIRROR $suite main" >"$apt/sources.list"
cat >"$apt/apt.conf" <<EOF
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt";
Dir::Cache::archives "$apt/archives";
Dir::Etc::main "$apt/empty/none";
Dir::Etc::parts "$apt/empty";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "$apt/empty";
Dir::Etc::preferences "$apt/empty/none";
Dir::Etc::preferencesparts "$apt/empty";
Dir::Etc::trusted "$apt/empty/none";
Dir::Etc::trustedparts "$apt/empty";
Dir::Log "$apt";
EOF
export APT_CONFIG="$apt/apt.conf" LC_ALL=C
started=$(date +%s)
apt-get -q update >"$apt/log" 2>&1 9>&- || { tail -n 5 "$apt/log" >&2; fail "$MIRROR has no lists of $suite for $arch, or is not reachable; all of it is in $apt/log"; }

fetch() { # NAME PACKAGE...: with all they depend on; their files are in cache/apt/NAME.list
    name=$1
    shift
    apt-get -q -s install "$@" >"$apt/$name.plan" 2>>"$apt/log" 9>&- ||
        { tail -n 5 "$apt/log" >&2; fail "$suite cannot install $* for $arch; see $apt/log"; }
    apt-get -q -y --download-only install "$@" >>"$apt/log" 2>&1 9>&- ||
        { tail -n 5 "$apt/log" >&2; fail "a package could not be fetched from $MIRROR; see $apt/log"; }
    sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) [^][]*\[\([a-z0-9]*\)\].*/\1_\2_\3.deb/p' "$apt/$name.plan" | sed 's/:/%3a/g' | sort >"$apt/$name.list"
}

unpack() { # FOLDER LIST
    while IFS= read -r file; do
        dpkg-deb -x "$apt/archives/$file" "$1" || fail "$apt/archives/$file could not be unpacked"
    done <"$2"
}

fetch_kernel() {
    # The kernel's package alone: what its dependencies would set up is initramfs-tools' and the boot
    # loader's.
    image=$(apt-cache depends "linux-image-$arch" 2>>"$apt/log" | sed -n 's/^ *Depends: \(linux-image-.*\)/\1/p' | head -n 1)
    [ -n "$image" ] || fail "$suite has no linux-image-$arch"
    mkdir -p "$apt/system"
    (cd "$apt/archives" && apt-get -q download "$image" busybox-static >>"$apt/log" 2>&1 9>&-) ||
        { tail -n 5 "$apt/log" >&2; fail "kernel or busybox could not be fetched from $MIRROR; see $apt/log"; }
    (cd "$apt/archives" && ls "${image}"_*.deb busybox-static_*.deb) | sort >"$apt/system.list"
    rm -rf "$apt/system"
    mkdir "$apt/system"
    unpack "$apt/system" "$apt/system.list"
    cp "$apt/system/boot/vmlinu"?-* "$out/Image"

    busybox=$apt/system/usr/bin/busybox
    [ -e "$busybox" ] || busybox=$apt/system/bin/busybox # before /bin was a link
    set -- /init="$here/init.sh" /bin/busybox="$busybox"
    for module in virtio virtio_ring virtio_mmio virtio_blk; do
        file=$(find "$apt/system" -name "$module.ko" -o -name "$module.ko.xz" | head -n 1)
        [ -n "$file" ] || continue # it is in the kernel
        case $file in *.xz) xz -dc "$file" ;; *) cat "$file" ;; esac >"$apt/$module.ko"
        set -- "$@" "/lib/$module.ko=$apt/$module.ko"
    done
    CROSS=none- "$here/../linux/pack" "$out/initramfs.cpio" "$@"
}

finish() { # LIST...
    (cd "$apt" && cat "$@") | sort -u | sed "s/_$arch\.deb\$//; s/_all\.deb\$//; s/%3a/:/; s/_/ /" >"$out/versions"
    rm -rf "$apt/system"
    echo "$stamp" >"$out/.stamp"
    echo "fetched $(wc -l <"$out/versions") packages of Debian $suite in $(($(date +%s) - started)) s: $out"
    exit 0
}
[ "$suffix" = -bench ] || fetch_kernel
# shellcheck disable=SC2086 # a list of words
fetch root $root
rm -rf "$out/root" "$out/root.new"
mkdir "$out/root.new"
# /bin, /sbin and /lib are links into /usr before anything is unpacked through them.
grep '^base-files_' "$apt/root.list" >"$apt/first.list"
unpack "$out/root.new" "$apt/first.list"
unpack "$out/root.new" "$apt/root.list"
for folder in bin sbin lib; do # of Debian 12, whose packages do not have these links
    [ -d "$out/root.new/$folder" ] && [ ! -L "$out/root.new/$folder" ] || continue
    mkdir -p "$out/root.new/usr/$folder"
    cp -a "$out/root.new/$folder/." "$out/root.new/usr/$folder/"
    rm -rf "${out:?}/root.new/$folder"
    ln -s "usr/$folder" "$out/root.new/$folder"
done
[ -e "$out/root.new/usr/bin/sh" ] || ln -s dash "$out/root.new/usr/bin/sh"
mv "$out/root.new" "$out/root"
case $suffix in
-arm64) finish system.list root.list ;;
-bench) finish root.list ;;
esac

(cd "$apt/archives" && apt-get -q download libpfm4 libpfm4-dev >>"$apt/log" 2>&1 9>&-) ||
    { tail -n 5 "$apt/log" >&2; fail "libpfm4 could not be fetched from $MIRROR; see $apt/log"; }
(cd "$apt/archives" && ls libpfm4_*.deb libpfm4-dev_*.deb) | sort >"$apt/pfm.list"
rm -rf "$out/pfm"
mkdir "$out/pfm"
unpack "$out/pfm" "$apt/pfm.list"

finish system.list root.list pfm.list
