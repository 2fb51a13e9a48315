# SPDX-License-Identifier: MIT
# Stores to 64 lines in turn with an L1D of 32 lines, direct-mapped. After two passes of warming up each line displaces a modified one.
#
# machine: tiny
# set: mem.row_hit=20 mem.row_miss=20 mem.row_conflict=20
# expect: hart0.l1d.store = 64
# expect: hart0.l1d.store_miss = 64
# expect: hart0.l1d.upgrade = 0
# expect: hart0.l1d.evict = 64
# expect: hart0.l1d.evict_dirty = 64
# expect: hart0.l1d.writeback = 64
# expect: l2.read_st = 64
# expect: l2.write = 64
# expect: l2.writemiss = 0
# expect: l2.writeback = 0                      1 KiB stays in the L2
# expect: noc.release_data = 64
# expect: mem.write = 0
# expect: hart0.cyc_store_miss = 64 * 7
# expect: l2.busy = 0                           write-backs are over before the next request
    .include "counts.inc"
    jal pass
    jal pass
    BEGIN
    jal pass
    END

    .balign 16
pass:
    lui t0, DATA_HI
    li t1, 64
    nop
    nop
1:  sd t1, 0(t0)
    addi t0, t0, 16
    addi t1, t1, -1
    bnez t1, 1b
    ret
