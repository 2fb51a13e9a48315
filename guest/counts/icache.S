# SPDX-License-Identifier: MIT
# Four passes through 2 KiB of straight-line code with a direct-mapped L1I of 1 KiB: each line pushes out the one 1 KiB before, so all 128
# lines miss in every pass. The L2 holds them all after the first.
#
# machine: tiny
# set: mem.row_hit=20 mem.row_miss=20 mem.row_conflict=20
# expect: hart0.instret = 4 * 512
# expect: hart0.l1i.read = 4 * 512
# expect: hart0.fetch_run = 4 * 128
# expect: hart0.l1i.access = 4 * 128
# expect: hart0.l1i.miss = 4 * 128
# expect: l2.read_i = 4 * 128
# expect: l2.readmiss = 128
# expect: hart0.cyc_fetch = 512 * 7 + 128 * 20
# expect: hart0.bp.cond_miss = 2                the first and the last
# expect: hart0.cycle = 2048 + 512 * 7 + 128 * 20 + 2 * 3
#
# With 2 KiB the second to fourth pass hit.
# machine: tiny
# set: l1i.size=2KiB
# expect: hart0.l1i.miss = 128
#
# The next line is fetched with each that misses.
# machine: tiny
# set: l1i.size=2KiB l1i.prefetch=next_line
# expect: hart0.l1i.miss = 64
# expect: hart0.l1i.prefetch = 64
# expect: hart0.l1i.prefetch_hit = 64
#
# Groups of eight bytes hold two instructions.
# machine: tiny
# set: pipeline.fetch_bytes=8
# expect: hart0.l1i.read = 4 * 256
    .include "counts.inc"
    li t0, 4
    BEGIN
    .rept 510
    nop
    .endr
    addi t0, t0, -1
    bnez t0, roi_begin
    END
