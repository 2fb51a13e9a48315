# SPDX-License-Identifier: MIT
# One indirect jump with the targets A A B B A B A A: the BTB predicts the last one. Wrong: the first, and whenever it changes.
#
# machine: rocket
# expect: hart0.bp.indirect = 8
# expect: hart0.bp.indirect_miss = 1 + 4
# expect: hart0.bp.return = 8
# expect: hart0.bp.return_miss = 0
# expect: hart0.bp.target_miss = 5
# expect: hart0.cyc_target = 5 * 3
# expect: hart0.insn_jal = 8
# expect: hart0.insn_jalr = 16
# expect: hart0.bp.redirect = 8
# The calls fill 8 entries, the jump one with each misprediction.
# expect: hart0.bp.btb_fill = 8 + 5
    .include "counts.inc"
    la s0, a
    la s1, b
    BEGIN
    .irp target, s0, s0, s1, s1, s0, s1, s0, s0
    mv t2, \target
    jal jump # at 4 + 8 i: BTB entries 2, 6, 10, .. 30
    .endr
    END

    .balign 64
jump:
    jr t2 # BTB entry 0
a:  ret
b:  ret
