# SPDX-License-Identifier: MIT
# Ten rounds over five pages with a TLB of four entries and no second level: with LRU each look-up misses, each miss is a walk of
# three entries.
#
# The entries lie in sets 0, 4 and 8 to 10 of the L1D (see counts.inc), the data in sets 20 to 24, and warming up walked the same way: all
# entries are in the L1D. A step of the walk takes 2 cycles.
#
# machine: tiny
# expect: hart0.dtlb.access = 50
# expect: hart0.dtlb.miss = 50
# expect: hart0.dtlb.load_miss = 50
# expect: hart0.dtlb.evict = 50
# expect: hart0.l2tlb.access = 0
# expect: hart0.ptw.walk = 50
# expect: hart0.ptw.walk_d = 50
# expect: hart0.ptw.read = 150
# expect: hart0.ptw.write = 0                   accessed and dirty bits are set already
# expect: hart0.ptw.fault = 0
# expect: hart0.l1d.load = 50 + 150
# expect: hart0.l1d.walk = 150
# expect: hart0.l1d.walk_miss = 0
# expect: hart0.l1d.load_miss = 5               the data, once
# expect: hart0.cyc_dtlb = 150 * 2
# expect: hart0.ptw.cycle = 150 * 2
# expect: hart0.itlb.miss = 0
#
# Five entries hold five pages.
# machine: tiny
# set: dtlb.entries=5 dtlb.ways=5
# expect: hart0.dtlb.miss = 0
#
# A second level takes the misses: four cycles each, no walks.
# machine: tiny
# set: l2tlb.entries=16 l2tlb.ways=16
# expect: hart0.dtlb.miss = 50
# expect: hart0.l2tlb.access = 50
# expect: hart0.l2tlb.miss = 0
# expect: hart0.ptw.walk = 0
# expect: hart0.cyc_dtlb = 50 * 4
    .include "counts.inc"
    WARM_PAGES 5
    BEGIN
    li t2, 10
    lui t3, 1
    addi t3, t3, 16 # a page and a line
1:  lui t0, DATA_HI
    li t1, 5
2:  ld a0, 0x140(t0) # sets 20 .. 24
    add t0, t0, t3
    addi t1, t1, -1
    bnez t1, 2b
    addi t2, t2, -1
    bnez t2, 1b
    END
