# SPDX-License-Identifier: MIT
# C = A * B, 8 by 8 doubles. A row of a matrix is one 64-byte line, each matrix eight lines, all cold.
#
# machine: rocket
# set: mem.row_hit=50 mem.row_miss=50 mem.row_conflict=50
# expect: hart0.insn_fp_load = 2 * 8 * 8 * 8
# expect: hart0.insn_fp_store = 8 * 8
# expect: hart0.insn_fp_fma = 8 * 8 * 8
# expect: hart0.insn_fp_move = 8 * 8
# expect: hart0.insn_branch = 8 * 8 + 8
# expect: hart0.l1d.load = 1024
# expect: hart0.l1d.load_miss = 8 + 8
# expect: hart0.l1d.store = 64
# expect: hart0.l1d.store_miss = 8
# expect: hart0.l1d.evict = 0
# expect: hart0.dtlb.access = 1024 + 64
# A fused multiply-add issued at t is followed by two loads at t + 1 and t + 2. The next could issue at t + 3, but both the second load
# and the sum are ready at t + 4: one cycle, charged to the operand named first, the load. So 512 times.
# expect: hart0.cyc_load_use = 512
# The store of the sum comes right after the last of them and waits 3.
# expect: hart0.cyc_fp = 64 * 3
# expect: hart0.load_bytes = 1024 * 8
# expect: hart0.store_bytes = 64 * 8
# expect: hart0.cyc_load_miss = 16 * 70
# expect: hart0.cyc_store_miss = 8 * 70
# Per element: move, 24, store, two steps, counter, branch = 30 instructions; per row: 6 more; 2 before.
# expect: hart0.instret = 64 * 30 + 8 * 6 + 2
    .include "counts.inc"
    WARM_PAGES 1
    BEGIN
    lui s0, DATA_HI # row of A; the row of C is 1024 bytes on
    li s1, 8
1:  lui s2, DATA_HI # B is 512 bytes on
    addi s3, s0, 1024
    li s4, 8
2:  fmv.d.x fa0, zero
    .irp k, 0, 1, 2, 3, 4, 5, 6, 7
    fld ft0, \k * 8(s0)
    fld ft1, 512 + \k * 64(s2)
    fmadd.d fa0, ft0, ft1, fa0
    .endr
    fsd fa0, 0(s3)
    addi s3, s3, 8
    addi s2, s2, 8
    addi s4, s4, -1
    bnez s4, 2b
    addi s0, s0, 64
    addi s1, s1, -1
    bnez s1, 1b
    END
