# SPDX-License-Identifier: MIT
# A ring of 256 pointers, one for each 16-byte line of a page: eight times the L1D of tiny, half its L2. Direct-mapped, so a
# line is gone long before it is needed again; every load misses the L1D and hits the L2.
#
# machine: tiny
# set: mem.row_hit=20 mem.row_miss=20 mem.row_conflict=20
# expect: hart0.insn_load = 256
# expect: hart0.l1d.load = 256
# expect: hart0.l1d.load_miss = 256
# expect: hart0.l1d.evict = 256
# expect: hart0.l1d.evict_dirty = 0             the pass before the counted one has written back what building the ring had modified
# expect: hart0.dtlb.miss = 0
# expect: l2.read_ld = 256
# expect: l2.read_i = 1                         the call stands in a line of its own; `pass` has been fetched before
# expect: l2.readmiss = 1
# expect: l2.writeback = 0
# expect: hart0.cyc_load_miss = 256 * 7
# expect: hart0.cyc_fetch = 7 + 20
# expect: hart0.cyc_load_use = 0                the result is needed three instructions later
    .include "counts.inc"
    .equ N, 256
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
