#!/bin/sh
# SPDX-License-Identifier: MIT
# Linux's own driver for the Pentium 4 on our PMU: takes it from Debian's source of the kernel, compiles it unmodified against kernel.h, and
# runs TEST with the result.
#
#   linux.sh TEST WORK-FOLDER CC...
set -eu

here=$(cd "$(dirname "$0")" && pwd)
test=$1
work=$2
shift 2
archive=${TALLY_LINUX_SOURCE:-/usr/src/linux-source-6.1.tar.xz}
if [ ! -e "$archive" ]; then
    echo "skipped: $archive is not there; tools/install-deps system installs it"
    exit 77
fi
top=linux-source-6.1/arch/x86
rm -rf "$work"
mkdir -p "$work/include/linux" "$work/include/asm"
tar -xf "$archive" -C "$work" --occurrence=1 "$top/events/intel/p4.c" "$top/include/asm/perf_event_p4.h" "$top/include/asm/msr-index.h"
mv "$work/$top/include/asm/perf_event_p4.h" "$work/$top/include/asm/msr-index.h" "$work/include/asm"
for name in linux/perf_event.h linux/cpu.h linux/bitops.h asm/hardirq.h asm/apic.h; do
    echo '#include "kernel.h"' >"$work/include/$name"
done
echo '#include "kernel.h"' >"$work/$top/events/perf_event.h"
printf '%s\n' '#define BIT(n) (1ul << (n))' '#define BIT_ULL(n) (1ull << (n))' >"$work/include/linux/bits.h"
"$@" -shared -fPIC -O1 -w -I"$here" -I"$work/include" -o "$work/p4.so" "$here/driver.c" "$work/$top/events/intel/p4.c"
exec "$test" "$work/p4.so"
