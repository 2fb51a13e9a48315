# SPDX-License-Identifier: MIT
# Eight AMOs on one cold line, five LR/SC pairs on another, two SC without a reservation.
#
# machine: rocket
# set: mem.row_hit=50 mem.row_miss=50 mem.row_conflict=50
# expect: hart0.insn_amo = 8
# expect: hart0.insn_lr = 5
# expect: hart0.insn_sc = 5 + 2
# expect: hart0.sc_success = 5
# expect: hart0.sc_fail = 2
# An AMO looks up as a load and as a store, and misses as a store. A failing SC does not look up.
# expect: hart0.l1d.load = 8 + 5
# expect: hart0.l1d.store = 8 + 5
# expect: hart0.l1d.store_miss = 1
# expect: hart0.l1d.amo_miss = 1
# expect: hart0.l1d.load_miss = 1               the first LR; the line comes in state E, and the SC needs no permission
# expect: hart0.l1d.upgrade = 0
# A failing SC translates.
# expect: hart0.dtlb.access = 8 + 5 + 7
# expect: hart0.cyc_amo = (8 + 5 + 7) * 3
# expect: hart0.cyc_load_miss = 2 * 70          AMOs wait as loads do
# expect: hart0.cyc_store_miss = 0
# expect: hart0.load_bytes = 13 * 8
# expect: hart0.store_bytes = 8 * 8             without SC
    .include "counts.inc"
    WARM_PAGES 1
    lui s0, DATA_HI
    addi s1, s0, 64
    li s2, 1
    BEGIN
    .rept 8
    amoadd.d a0, s2, (s0)
    .endr
    .rept 5
    lr.d a1, (s1)
    sc.d a2, s2, (s1)
    .endr
    sc.d a2, s2, (s1)
    sc.d a2, s2, (s0)
    END
