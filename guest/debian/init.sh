#!/bin/busybox sh
# shellcheck shell=dash
# SPDX-License-Identifier: MIT
# Init of the initial file system that fetch.sh makes: file systems, modules, then what the kernel's command line says after `tally.run=`,
# in quotes, run by busybox's shell, and power off; without that, an interactive shell.
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox --install -s /bin
export PATH=/bin
for module in virtio virtio_ring virtio_mmio virtio_blk; do
    [ -e /lib/$module.ko ] && insmod /lib/$module.ko
done
run=$(sed -n 's/.*tally\.run="\([^"]*\)".*/\1/p' /proc/cmdline)
if [ -n "$run" ]; then
    sh -c "$run"
    echo "init: exit status $?"
else
    sh
fi
poweroff -f
