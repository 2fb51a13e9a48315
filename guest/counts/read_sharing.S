# SPDX-License-Identifier: MIT
# One hart has modified eight lines, the other reads them, the first stores to them again: eight probes with data, then eight upgrades.
# Turn 0 is for warming up and modifies the lines.
#
# machine: rocket
# set: harts=2
# expect: hart1.l1d.load = 8
# expect: hart1.l1d.load_miss = 8
# expect: hart0.l1d.probe = 8
# expect: hart0.l1d.probe_data = 8
# expect: hart0.l1d.writeback = 8
# expect: hart0.l1d.probe_invalidate = 0        it keeps them, shared
# expect: hart1.cyc_load_miss = 8 * (20 + 12)   the L2 and a probe
# expect: hart0.l1d.store = 8 + 1               the flag
# expect: hart0.l1d.store_miss = 8
# expect: hart0.l1d.upgrade = 8
# expect: hart0.cyc_store_miss = 8 * (16 + 12)  permission and a probe
# expect: hart1.l1d.probe = 8
# expect: hart1.l1d.probe_data = 0
# expect: hart1.l1d.probe_invalidate = 8
# expect: l2.upgrade = 8
# expect: l2.read_st = 8
# expect: l2.read_ld = 8
# expect: l2.write = 8
# expect: l2.probe_out = 16
# expect: noc.probe_ack = 8
# expect: noc.probe_ack_data = 8
    .include "counts.inc"
    .include "two_harts.inc"
    WARM_PAGES 1
    START_SECOND
    li s3, 0
    li s4, 1
    SAY s1, s4 # the second thread looks at the page, so that its TLB knows it
    AWAIT s2, s3
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    sd s4, \n * 64(s0)
    .endr
    BEGIN
    li s3, 1
    li s4, 2
    SAY s1, s4
    AWAIT s2, s3
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    sd s4, \n * 64(s0)
    .endr
    END

second:
    li s3, 0
    li s4, 1
    AWAIT s1, s3
    ld a0, 1024(s0)
    SAY s2, s4
    AWAIT s1, s4
    li s4, 2
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    ld a0, \n * 64(s0)
    .endr
    SAY s2, s4
    li a0, 0
    li a7, 93
    ecall
