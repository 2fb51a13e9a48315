# SPDX-License-Identifier: MIT
# A loop of fifty iterations, called three times, under gshare with eight bits of history. All counters start weakly not taken.
#
# Iteration i of the first call sees history 2^(i-1) - 1 up to 255: nine counters, each wrong the first time, then right; the end
# is wrong. That leaves history ...110. The second call sees 254, 253, 251, 247, 239, 223, 191 (seven new counters, wrong), then 127 and 255, which the
# first call has trained; the end is wrong. The third finds everything trained; the end is wrong.
#
# machine: rocket
# expect: hart0.bp.cond = 150
# expect: hart0.branch_taken = 147
# expect: hart0.bp.cond_miss = (9 + 1) + (7 + 1) + 1
# expect: hart0.bp.cond_miss_taken = 9 + 7
# expect: hart0.cyc_mispredict = 19 * 3
# expect: hart0.bp.return = 3
# expect: hart0.bp.return_miss = 0
# expect: hart0.bp.direct = 3
# expect: hart0.bp.redirect = 3                 three calls, each seen for the first time
# expect: hart0.bp.btb_fill = 3 + 1
# expect: hart0.instret = 3 * (1 + 1 + 100 + 1)
#
# Without history one counter serves all: the first iteration is wrong once, each end is wrong.
# machine: rocket
# set: bp.kind=bht
# expect: hart0.bp.cond_miss = 1 + 3
    .include "counts.inc"
    BEGIN
    jal loop # BTB entries 0, 2 and 4
    jal loop
    jal loop
    END

    .balign 64
    .space 16
loop:
    li t1, 50
1:  addi t1, t1, -1
    bnez t1, 1b # at 24 from a line: BTB entry 12
    ret
