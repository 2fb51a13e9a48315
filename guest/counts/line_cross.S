# SPDX-License-Identifier: MIT
# Misaligned accesses within a line, across lines and across pages. Warm are only the last lines of both pages.
#
#   ld at 60      lines 0 and 1, both cold            two look-ups, two misses
#   ld at 1       line 0                              one look-up, hit
#   ld at 4092    line 63 of page 0, line 0 of page 1 two look-ups, one miss, two translations
#   lh at 3       line 0                              one look-up, hit
#   ld at 8       line 0, aligned                     one look-up, hit
#   sd at 124     lines 1 and 2                       two look-ups, one miss; line 1, alone here, becomes M silently
#
# machine: rocket
# set: mem.row_hit=50 mem.row_miss=50 mem.row_conflict=50
# expect: hart0.insn_load = 5
# expect: hart0.insn_store = 1
# expect: hart0.l1d.load = 2 + 1 + 2 + 1 + 1
# expect: hart0.l1d.load_miss = 2 + 1
# expect: hart0.l1d.store = 2
# expect: hart0.l1d.store_miss = 1
# expect: hart0.l1d.upgrade = 0
# expect: hart0.dtlb.access = 7 + 2
# expect: hart0.dtlb.miss = 0
# expect: hart0.misaligned_load = 4
# expect: hart0.misaligned_store = 1
# expect: hart0.line_cross = 3
# expect: hart0.cyc_misaligned = 5 * 4
# expect: hart0.cyc_load_miss = 3 * 70
# expect: hart0.cyc_store_miss = 70
# expect: hart0.load_bytes = 4 * 8 + 2
# expect: hart0.store_bytes = 8
# expect: hart0.cycle = 6 + 20 + 4 * 70 + 70    six instructions, one line of code
    .include "counts.inc"
    WARM_PAGES 2
    lui s0, DATA_HI
    li s1, 4092
    add s1, s1, s0
    BEGIN
    ld a0, 60(s0)
    ld a1, 1(s0)
    ld a2, 0(s1)
    lh a3, 3(s0)
    ld a4, 8(s0)
    sd zero, 124(s0)
    END
