# SPDX-License-Identifier: MIT
# A ring of 1024 pointers, one for each 16-byte line of four pages: twice the L2 of tiny. Each set of the L2 has four ways and sees
# eight lines of data in turn, so with LRU every load misses both levels.
#
# The L2 is inclusive, and hits in the L1I do not tell it that a line of code is in use. So the code of the loop, one line, grows
# old there and leaves with every fourth fill of its set, twice a pass of eight, and is taken from the L1I with it.
#
# machine: tiny
# set: mem.row_hit=20 mem.row_miss=20 mem.row_conflict=20
# expect: hart0.insn_load = 1024
# expect: hart0.l1d.load_miss = 1024
# expect: hart0.dtlb.miss = 0                   four pages, four entries
# Lines of code: that of the call, cold; the first of `pass`, lost since the last pass; the loop, lost twice during this one.
# expect: hart0.l1i.miss = 1 + 1 + 2
# expect: l2.read = 1024 + 4
# expect: l2.readmiss = 1024 + 4
# expect: mem.read = 1024 + 4
# expect: mem.write = 0
# All of them leave again before the pass ends, and so does the line before roi_begin, fetched on the way there. Lines of data have left the
# L1D long before they leave the L2.
# expect: l2.back_invalidate = 4 + 1
# expect: hart0.l1i.invalidate = 4 + 1
# expect: l2.evict_clean = 1024 + 4
# expect: hart0.cyc_load_miss = 1024 * (7 + 20)
# expect: hart0.cyc_fetch = 4 * (7 + 20)
    .include "counts.inc"
    .equ N, 1024
    lui t0, DATA_HI
    li t2, N - 1
1:  addi t1, t0, 16
    sd t1, 0(t0)
    mv t0, t1
    addi t2, t2, -1
    bnez t2, 1b
    lui t1, DATA_HI
    sd t1, 0(t0)
    jal pass
    jal pass
    BEGIN
    jal pass
    END

    .balign 16
pass:
    lui t0, DATA_HI
    li t1, N
    nop
    nop
2:  ld t0, 0(t0)
    addi t1, t1, -1
    bnez t1, 2b
    ret
