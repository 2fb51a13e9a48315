# SPDX-License-Identifier: MIT
# Ten rounds over nine lines of one set of eight ways: with LRU each access takes away the line that is needed eight accesses
# later, so all miss. Ten rounds over eight lines of another set: only the first round misses.
#
# machine: rocket
# set: mem.row_hit=50 mem.row_miss=50 mem.row_conflict=50
# expect: hart0.l1d.load = 90 + 80
# expect: hart0.l1d.load_miss = 90 + 8
# expect: hart0.l1d.evict = 90 - 8              the set was empty: the first eight fills displace nothing
# expect: hart0.l1d.evict_dirty = 0
# expect: l2.read_ld = 98
# expect: l2.read_i = 2                         19 instructions are 76 bytes
# expect: l2.readmiss = 9 + 8 + 2               each line is cold once
# expect: hart0.dtlb.miss = 0
# expect: hart0.cyc_load_miss = 98 * 20 + 17 * 50
#
# First in, first out does the same here: order of use is order of filling.
# machine: rocket
# set: l1d.replacement=fifo
# expect: hart0.l1d.load_miss = 90 + 8
#
# Nine ways hold nine lines.
# machine: rocket
# set: l1d.ways=9 l1d.size=36KiB l2.size=1MiB
# expect: hart0.l1d.load_miss = 9 + 8
# expect: hart0.l1d.evict = 0
    .include "counts.inc"
    WARM_PAGES 9
    BEGIN
    lui t3, 1
    li t2, 10
1:  lui t0, DATA_HI
    li t1, 9
2:  ld a0, 5 * 64(t0) # set 5
    add t0, t0, t3
    addi t1, t1, -1
    bnez t1, 2b
    addi t2, t2, -1
    bnez t2, 1b
    li t2, 10
3:  lui t0, DATA_HI
    li t1, 8
4:  ld a0, 6 * 64(t0) # set 6
    add t0, t0, t3
    addi t1, t1, -1
    bnez t1, 4b
    addi t2, t2, -1
    bnez t2, 3b
    END
