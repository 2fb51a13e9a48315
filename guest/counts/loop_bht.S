# SPDX-License-Identifier: MIT
# Three times ten iterations, with two-bit counters that start weakly not taken (1).
#
# machine: tiny
# set: mem.row_hit=20 mem.row_miss=20 mem.row_conflict=20
# expect: hart0.insn_branch = 30 + 3
# expect: hart0.bp.cond = 33
# expect: hart0.branch_taken = 3 * 9 + 2
# Inner: the first is taken against the prediction (1 to 2), eight more are right (to 3), the exit is wrong (to 2); the
# other two times only the exit is wrong. Outer: taken, wrong (1 to 2); taken, right; not taken, wrong.
# expect: hart0.bp.cond_miss = (1 + 3) + 2
# expect: hart0.bp.cond_miss_taken = 1 + 1
# The BTB has four entries, chosen by address bits 2..1: inner (at 12) and outer (at 20) share one. Inner, mispredicted, enters; outer, mispredicted,
# enters; inner finds outer and must be redirected; outer finds inner; inner finds outer.
# expect: hart0.bp.btb_fill = 5
# expect: hart0.bp.redirect = 3
# expect: hart0.cyc_mispredict = 6 * 3
# expect: hart0.cyc_redirect = 3 * 1
# expect: hart0.instret = 1 + 3 * (1 + 10 * 2 + 2)
# Runs end with branches, taken or not, and each ends in one.
# expect: hart0.fetch_run = 33
# expect: hart0.l1i.access = 33
# expect: hart0.itlb.access = 33
# Groups of 4 bytes are instructions here.
# expect: hart0.l1i.read = 70
# expect: hart0.l1i.miss = 2                    lines of 16 bytes: the outer branch is in the second
# expect: hart0.cyc_fetch = 2 * (7 + 20)
# expect: hart0.cycle = 70 + 18 + 3 + 54
#
# Backward taken: wrong only where a loop ends. Without a table entry every taken branch that is predicted must be redirected once.
# machine: tiny
# set: bp.kind=btfn bp.btb_entries=32
# expect: hart0.bp.cond_miss = 3 + 1
# expect: hart0.bp.redirect = 2
#
# machine: tiny
# set: bp.kind=not_taken
# expect: hart0.bp.cond_miss = 29
# expect: hart0.bp.redirect = 0
    .include "counts.inc"
    BEGIN
    li t0, 3
1:  li t1, 10
2:  addi t1, t1, -1
    bnez t1, 2b # at 12
    addi t0, t0, -1
    bnez t0, 1b # at 20
    END
