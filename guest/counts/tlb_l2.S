# SPDX-License-Identifier: MIT
# Ten rounds over 33 pages with 32 entries in the first level and 1024 in the second: every look-up misses the first, none the second.
#
# machine: rocket
# expect: hart0.dtlb.access = 330
# expect: hart0.dtlb.miss = 330
# expect: hart0.dtlb.evict = 330
# expect: hart0.l2tlb.access = 330
# expect: hart0.l2tlb.miss = 0
# expect: hart0.ptw.walk = 0
# expect: hart0.l1d.walk = 0
# expect: hart0.cyc_dtlb = 330 * 4
#
# machine: rocket
# set: dtlb.entries=64 dtlb.ways=64
# expect: hart0.dtlb.miss = 0
# expect: hart0.cyc_dtlb = 0
    .include "counts.inc"
    WARM_PAGES 33
    BEGIN
    li t2, 10
    lui t3, 1
1:  lui t0, DATA_HI
    li t1, 33
2:  ld a0, 0(t0)
    add t0, t0, t3
    addi t1, t1, -1
    bnez t1, 2b
    addi t2, t2, -1
    bnez t2, 1b
    END
