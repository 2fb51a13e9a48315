# SPDX-License-Identifier: MIT
# Three fences, five CSR reads, two CSR writes, two instruction fences: twelve instructions in one line.
#
# machine: rocket
# set: mem.row_hit=50 mem.row_miss=50 mem.row_conflict=50
# expect: hart0.insn_fence = 3
# expect: hart0.insn_csr = 7
# expect: hart0.insn_fence_i = 2
# expect: hart0.cyc_fence = 3 * 4
# expect: hart0.cyc_csr = 7 * 4
# expect: hart0.cyc_flush = 2 * 20
# expect: hart0.flush_csr = 2
# expect: hart0.flush_other = 2
# The fences and the first CSR access are one run; each CSR access and each FENCE.I ends one.
# expect: hart0.fetch_run = 9
# expect: hart0.l1i.access = 9
# The line is cold, and gone after the first FENCE.I. (What follows the second is no longer counted.)
# expect: hart0.l1i.miss = 1 + 1
# expect: hart0.cyc_fetch = 70 + 20
# The first FENCE.I drops the line of _start, too.
# expect: hart0.l1i.invalidate = 2 + 1
# expect: hart0.cycle = 12 + 12 + 28 + 40 + 90
    .include "counts.inc"
    BEGIN
    .rept 3
    fence
    .endr
    .rept 5
    csrr a0, fflags
    .endr
    .rept 2
    csrw fflags, zero
    .endr
    fence.i
    fence.i
    END
