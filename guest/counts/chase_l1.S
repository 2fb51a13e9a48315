# SPDX-License-Identifier: MIT
# A ring of pointers that lies in the L1D, followed for a hundred loads in straight-line code: each load but the first waits for the one
# before, and a load takes two cycles.
#
# machine: rocket
# set: mem.row_hit=50 mem.row_miss=50 mem.row_conflict=50
# expect: hart0.insn_load = 100
# expect: hart0.l1d.load_miss = 0
# expect: hart0.cyc_load_use = 99               the first waits for nothing
# expect: hart0.instret = 1 + 100
# 404 bytes of code are lines 0 to 6: seven runs, each with one look-up, all cold.
# expect: hart0.fetch_run = 7
# expect: hart0.l1i.access = 7
# expect: hart0.l1i.miss = 7
# expect: hart0.cyc_fetch = 7 * 70
# expect: hart0.cycle = 101 + 99 + 7 * 70
#
# machine: rocket
# set: pipeline.load_use=5
# expect: hart0.cyc_load_use = 99 * 4
    .include "counts.inc"
    lui t0, DATA_HI
    addi t1, t0, 64
    .rept 15
    sd t1, 0(t0)
    mv t0, t1
    addi t1, t1, 64
    .endr
    lui t1, DATA_HI
    sd t1, 0(t0)
    BEGIN
    lui t0, DATA_HI
    .rept 100
    ld t0, 0(t0)
    .endr
    END
