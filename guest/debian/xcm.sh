#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds xcm.ko (monitor/linux) against Debian's own headers of the arm64 kernel that fetch.sh has
# fetched, and an initial file system that can load it there. kbuild's host programs come from the
# same packages, for this host's architecture.
#
#   guest/debian/xcm.sh OUT LINUX
#
#   OUT        the folder of fetch.sh --arm64; gets xcm.ko and xcm.cpio
#   LINUX      the folder of guest/linux/build.sh --arm64: init, xcmctl and xcm_lab
#
# MIRROR and KEYRING are those of fetch.sh.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ne 2 ]; then
    echo "usage: guest/debian/xcm.sh OUT LINUX" >&2
    exit 2
fi
out=$(cd "$1" && pwd)
linux=$(cd "$2" && pwd)
CROSS=${CROSS_A64:-aarch64-linux-gnu-}
export CROSS
MIRROR=${MIRROR:-$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 2>/dev/null | sed '/security/d;q')}
KEYRING=${KEYRING:-/usr/share/keyrings/debian-archive-keyring.gpg}
fail() {
    echo "guest/debian/xcm.sh: $*" >&2
    exit 1
}
image=$(sed -n 's/^linux-image-\(.*\)_.*_arm64\.deb$/\1/p' "$out/cache/apt/system.list" 2>/dev/null) || true
version=$(sed -n 's/^linux-image-.*_\(.*\)_arm64\.deb$/\1/p' "$out/cache/apt/system.list" 2>/dev/null) || true
[ -n "$image" ] || fail "$out has no kernel; run guest/debian/fetch.sh --arm64 $out"
for program in init xcmctl xcm_lab; do
    [ -x "$linux/$program" ] || fail "$linux/$program is missing; run guest/linux/build.sh --arm64 $linux"
done
exec 9>"$out/cache/.lock"
flock 9

work=$out/cache/xcm
apt=$work/apt
host=$(dpkg --print-architecture)
if [ ! -e "$work/root/$image-$version" ]; then
    rm -rf "$work"
    mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/empty" "$work/root"
    : >"$apt/status"
    echo "deb [arch=arm64,$host signed-by=$KEYRING] $MIRROR bookworm main" >"$apt/sources.list"
    sed -e "s|$out/cache/apt|$apt|" -e "s|^APT::Architectures .*|APT::Architectures { \"arm64\"; \"$host\"; };|" "$out/cache/apt/apt.conf" >"$apt/apt.conf"
    export APT_CONFIG="$apt/apt.conf" LC_ALL=C
    apt-get -q update >"$apt/log" 2>&1 9>&- || fail "$MIRROR is not reachable; all of it is in $apt/log"
    headers=linux-headers-$image
    (cd "$apt/archives" && apt-get -q download "$headers:arm64=$version" "linux-headers-${image%-arm64}-common=$version" \
        "linux-kbuild-${image%%.0-*}:$host=$version" >>"$apt/log" 2>&1 9>&-) ||
        fail "the headers of version $version could not be fetched from $MIRROR: remove $out/cache if it has a newer kernel; all of it is in $apt/log"
    for file in "$apt"/archives/*.deb; do
        dpkg-deb -x "$file" "$work/root" || fail "$file could not be unpacked"
    done
    sed -i "s|/usr/src|$work/root/usr/src|" "$work/root/usr/src/$headers/Makefile"
    : >"$work/root/$image-$version"
fi

rm -rf "$work/monitor"
cp -R "$here/../../monitor" "$work/monitor"
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$work/root/usr/src/linux-headers-$image" ARCH=arm64 CROSS_COMPILE="$CROSS" W=1 C=2 \
    M="$work/monitor/linux" modules >"$work/log" 2>&1 9>&- || {
    tail -n 20 "$work/log" >&2
    fail "xcm.ko does not build; all of it is in $work/log"
}
if grep -E 'warning:|WARNING:' "$work/log" >&2; then fail "xcm.ko builds with warnings"; fi
cp "$work/monitor/linux/xcm.ko" "$out/"
"$here/../linux/pack" "$out/xcm.cpio" /init="$linux/init" /lib/xcm.ko="$out/xcm.ko" /bin/xcmctl="$linux/xcmctl" /bin/xcm_lab="$linux/xcm_lab"
echo "built xcm.ko for Debian's $image $version: $out"
