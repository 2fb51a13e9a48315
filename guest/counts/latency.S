# SPDX-License-Identifier: MIT
# Chains in which each instruction needs the result of the one before, so that each waits latency - 1 cycles; nothing waits
# between chains, since they use different registers.
#
# machine: rocket
# expect: hart0.insn_mul = 20
# expect: hart0.cyc_mul = 19 * 3
# expect: hart0.insn_div = 10 + 5
# expect: hart0.cyc_div = 10 * 33 + 5 * 17      the divider blocks issue; one cycle of each is its issue
# Additions 9 waits of 3, multiplications 9 of 3, fused 9 of 3. Then single instructions with one that needs the result
# at once: conversion 2, comparison 2, move 1.
# expect: hart0.insn_fp_add = 10
# expect: hart0.insn_fp_mul = 10
# expect: hart0.insn_fp_fma = 10
# expect: hart0.cyc_fp = 3 * 27 + 2 + 2 + 1
# expect: hart0.insn_fp_div = 2
# expect: hart0.insn_fp_sqrt = 1
# expect: hart0.cyc_fp_div = 2 * 32 + 19
# Load of eight bytes 1, of one byte 2, floating-point 1; with one instruction in between 0, 1 and 0.
# expect: hart0.cyc_load_use = (1 + 2 + 1) + (0 + 1 + 0)
# expect: hart0.insn_fp_convert = 1
# expect: hart0.insn_fp_compare = 1
# expect: hart0.insn_fp_move = 1 + 1 + 1
# expect: hart0.instret = 20 + 15 + 30 + 6 + 3 + 6 + 9
#
# machine: tiny
# expect: hart0.cyc_mul = 19 * 2
# expect: hart0.cyc_div = 10 * 16 + 5 * 8
# expect: hart0.cyc_load_use = (1 + 1 + 1) + 0  narrow loads take two cycles here
    .include "counts.inc"
    lui s0, DATA_HI
    sd zero, 0(s0)
    li s1, 3
    BEGIN
    .rept 20
    mul a0, a0, a0
    .endr
    .rept 10
    div a1, a1, s1
    .endr
    .rept 5
    divw a2, a2, s1
    .endr
    .rept 10
    fadd.d fa0, fa0, fa0
    .endr
    .rept 10
    fmul.d fa1, fa1, fa1
    .endr
    .rept 10
    fmadd.d fa2, fa2, fa2, fa2
    .endr
    fcvt.d.l fa3, s1
    fmv.d fa4, fa3 # needs fa3
    feq.d a3, fa5, fa5
    mv a4, a3 # needs a3
    fmv.x.d a5, fa5
    mv a6, a5 # needs a5
    fdiv.d ft0, fa5, fa5
    fdiv.d ft0, ft0, fa5
    fsqrt.s ft1, fa6
    ld t0, 0(s0)
    mv t1, t0
    lb t0, 0(s0)
    mv t1, t0
    fld ft2, 0(s0)
    fmv.d ft3, ft2
    ld t0, 0(s0)
    nop
    mv t1, t0
    lb t0, 0(s0)
    nop
    mv t1, t0
    fld ft2, 0(s0)
    nop
    fsd ft2, 0(s0)
    END
