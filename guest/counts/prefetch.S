# SPDX-License-Identifier: MIT
# A page read line by line with a next-line prefetcher: each miss brings its neighbour, which then hits and asks for nothing. The last line,
# 63, is there from warming up.
#
# machine: rocket
# set: l1d.prefetch=next_line
# expect: hart0.l1d.load = 64
# expect: hart0.l1d.load_miss = 32              lines 0, 2, .. 62
# expect: hart0.l1d.prefetch = 31               lines 1, 3, .. 61
# expect: hart0.l1d.prefetch_hit = 31
# expect: l2.read_ld = 32 + 31
# expect: l2.prefetch_read = 31
#
# The prefetcher of the L2 works for the misses of the L1 caches, which all remain. Lines 1, 3, .. 61 are found in the L2, and so is the
# line of code at roi_begin: the miss of the line before it brought it.
# machine: rocket
# set: l2.prefetch=next_line
# expect: hart0.l1d.load_miss = 63
# expect: hart0.l1d.prefetch = 0
# expect: l2.prefetch_hit = 31 + 1
    .include "counts.inc"
    WARM_PAGES 1
    BEGIN
    lui t0, DATA_HI
    li t1, 64
1:  ld a0, 0(t0)
    addi t0, t0, 64
    addi t1, t1, -1
    bnez t1, 1b
    END
