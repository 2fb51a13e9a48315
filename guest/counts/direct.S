# SPDX-License-Identifier: MIT
# A direct-mapped cache of 512 bytes. Two lines 512 bytes apart push each other out at every access; two neighbours do not.
#
# machine: tiny
# set: mem.row_hit=20 mem.row_miss=20 mem.row_conflict=20
# expect: hart0.l1d.load = 16 * 2 + 16 * 2
# expect: hart0.l1d.load_miss = 16 * 2 + 2
# expect: l2.read_ld = 34
# expect: hart0.cyc_load_miss = 34 * 7 + 4 * 20  four different lines, each cold in the L2 once
# expect: hart0.dtlb.miss = 0
#
# Two ways are enough for both.
# machine: tiny
# set: l1d.ways=2
# expect: hart0.l1d.load_miss = 2 + 2
    .include "counts.inc"
    WARM_PAGES 1
    BEGIN
    lui t0, DATA_HI
    li t1, 16
1:  ld a0, 0x140(t0) # set 20
    ld a0, 0x340(t0) # set 20
    addi t1, t1, -1
    bnez t1, 1b
    li t1, 16
2:  ld a0, 0x160(t0) # set 22
    ld a0, 0x170(t0) # set 23
    addi t1, t1, -1
    bnez t1, 2b
    END
