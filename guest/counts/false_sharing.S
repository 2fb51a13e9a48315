# SPDX-License-Identifier: MIT
# Two harts store in turns to different words of one line. Each finds the line modified in the other's L1D.
# Turn 0 is for warming up; then ten turns are counted.
#
# machine: rocket
# set: harts=2
# expect: hart0.l1d.store = 10 + 10             the shared line and the flag
# expect: hart1.l1d.store = 10 + 10
# expect: hart0.l1d.load = 0
# expect: hart1.l1d.load = 0
# expect: hart0.l1d.store_miss = 10             flags stay where they are
# expect: hart1.l1d.store_miss = 10
# expect: hart0.l1d.upgrade = 0                 the line is taken away, not shared
# expect: hart0.l1d.probe = 10
# expect: hart1.l1d.probe = 10
# expect: hart0.l1d.probe_data = 10
# expect: hart1.l1d.probe_data = 10
# expect: hart0.l1d.probe_invalidate = 10
# expect: hart1.l1d.probe_invalidate = 10
# expect: hart0.l1d.writeback = 10
# expect: l2.read_st = 20
# expect: l2.probe_out = 20
# expect: l2.write = 20
# expect: noc.probe_ack_data = 20
# expect: hart0.cyc_store_miss = 10 * (20 + 12)  the L2 and a probe
# expect: hart1.cyc_store_miss = 10 * (20 + 12)
# expect: mem.write = 0
#
    .include "counts.inc"
    .include "two_harts.inc"
    WARM_PAGES 1
    START_SECOND
    li s3, 0 # the number said last
    li s5, 1
    jal turn
    BEGIN
    li s5, 10
    jal turn
    END

turn:
    addi s4, s3, 1
    sd s4, 0(s0)
    SAY s1, s4
    AWAIT s2, s3
    mv s3, s4
    addi s5, s5, -1
    bnez s5, turn
    ret

second:
    li s3, 0
1:  addi s4, s3, 1
    AWAIT s1, s3
    sd s4, 8(s0)
    SAY s2, s4
    mv s3, s4
    j 1b
