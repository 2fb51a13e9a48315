# SPDX-License-Identifier: MIT
# Ten nested calls. The return-address stack keeps the youngest; the returns beyond it find nothing.
#
# machine: rocket
# expect: hart0.call = 10
# expect: hart0.return = 10
# expect: hart0.bp.ras_push = 10
# expect: hart0.bp.ras_pop = 10
# expect: hart0.bp.return_miss = 10 - 6
# expect: hart0.bp.target_miss = 4
# expect: hart0.cyc_target = 4 * 3
# expect: hart0.bp.direct = 10
# expect: hart0.bp.redirect = 10
# expect: hart0.cyc_redirect = 10
# expect: hart0.bp.btb_fill = 10                calls; returns never enter the BTB
# expect: hart0.insn_jal = 10
# expect: hart0.insn_jalr = 10
# expect: hart0.instret = 10 + 9 * 2 + 10       nine functions save and restore
#
# machine: tiny
# expect: hart0.bp.return_miss = 10 - 2
# expect: hart0.cyc_target = 8 * 3
#
# machine: rocket
# set: bp.ras_entries=0
# expect: hart0.bp.return_miss = 10
#
# machine: rocket
# set: bp.ras_entries=10
# expect: hart0.bp.return_miss = 0
    .include "counts.inc"
    BEGIN
    jal f1
    END
    .macro NEST name, next, reg
\name:
    mv \reg, ra
    jal \next
    mv ra, \reg
    ret
    .endm
    NEST f1, f2, s1
    NEST f2, f3, s2
    NEST f3, f4, s3
    NEST f4, f5, s4
    NEST f5, f6, s5
    NEST f6, f7, s6
    NEST f7, f8, s7
    NEST f8, f9, s8
    NEST f9, f10, s9
f10:
    ret
