# SPDX-License-Identifier: MIT
# Two passes over one page, a load for each 64-byte line. The last line is there from warming up, 63 are not; the cache
# holds all of the page (64 sets), so the second pass hits everywhere.
#
# machine: rocket
# set: mem.row_hit=50 mem.row_miss=50 mem.row_conflict=50    every line from memory takes 20 + 50
# expect: hart0.l1d.load = 2 * 64
# expect: hart0.l1d.load_miss = 63
# expect: hart0.l1d.store = 0
# expect: hart0.l1d.evict = 0                   no set ever has two lines
# expect: hart0.dtlb.access = 2 * 64
# expect: hart0.dtlb.miss = 0
# expect: hart0.ptw.walk = 0
# expect: l2.read_ld = 63
# expect: l2.read_i = 1                         twelve instructions are 48 bytes: one line
# expect: l2.readmiss = 63 + 1
# expect: mem.read = 63 + 1
# expect: hart0.instret = 2 * (2 + 64 * 4)
# expect: hart0.load_bytes = 128 * 8
# expect: hart0.branch_taken = 2 * 63
# Global history: eight taken branches until it is all ones and no longer changes. The first loop meets histories 0, 1, 3, .. 127,
# 255 at untrained counters (9 misses) and its end (1). The second begins with 254 and meets 254, 253, 251, .. 127, 255. Its branch is
# 24 bytes on, so its counters are the first's where two histories differ by 10 ^ 22 = 28; none do. 9 misses and its end again.
# expect: hart0.bp.cond_miss = 10 + 10
# expect: hart0.bp.redirect = 0                 both branches enter the BTB with their first misprediction
# expect: hart0.cyc_load_miss = 63 * 70
# expect: hart0.cyc_fetch = 70
# expect: hart0.cyc_mispredict = 20 * 3
# expect: hart0.cyc_load_use = 0
# expect: hart0.cycle = 516 + 63 * 70 + 70 + 60
    .include "counts.inc"
    WARM_PAGES 1
    BEGIN
    lui t0, DATA_HI
    li t1, 64
1:  ld a0, 0(t0)
    addi t0, t0, 64
    addi t1, t1, -1
    bnez t1, 1b # at 20
    lui t0, DATA_HI
    li t1, 64
2:  ld a0, 0(t0)
    addi t0, t0, 64
    addi t1, t1, -1
    bnez t1, 2b # at 44
    END
