# SPDX-License-Identifier: MIT
# Memory with a single bank, so that only one row is open. A page is two rows of 2 KiB; its lines are read in order. The code was fetched before, on
# another page, so the rows are those of the data. Line 63 is cached from warming up.
#
# machine: rocket
# set: mem.banks=1
# expect: hart0.l1d.load_miss = 63
# expect: l2.read_i = 0
# expect: mem.read = 63
# expect: mem.row_conflict = 2                  line 0 and line 32
# expect: mem.row_hit = 61
# expect: mem.row_miss = 0
# expect: mem.busy = 0
# expect: hart0.cyc_load_miss = 63 * 20 + 2 * 90 + 61 * 50
    .include "counts.inc"
    WARM_PAGES 2
    lui s0, DATA_HI
    lui s1, DATA_HI + 1
    li s2, 2
again:
    mv t0, s0
    li t1, 64
1:  ld a0, 0(t0)
    addi t0, t0, 64
    addi t1, t1, -1
    bnez t1, 1b
    addi s2, s2, -1
    beqz s2, roi_end
    .globl roi_begin
roi_begin: # in the middle of code that has been fetched, up to its last line
    mv s0, s1
    j again
    .balign 64
    END
