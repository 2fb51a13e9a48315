# SPDX-License-Identifier: MIT
# A bare program that samples its loads precisely, with an area that cannot take them. FULL: it has room for two records; else it is not RAM.
    .macro  wrmsr msr, value
    li      t0, \msr
    csrw    0x5c0, t0
    li      t0, \value
    csrw    0x5c1, t0
    .endm
    .option norvc
    .globl _start
_start:
    csrr    t0, mhartid
    bnez    t0, wait
    li      t0, -1                  # the PMU writes as a supervisor does, which may reach all of RAM
    csrw    pmpaddr0, t0
    li      t0, 0x1f
    csrw    pmpcfg0, t0
    .ifdef FULL
    lla     t1, area
    .else
    li      t1, 0x2000
    .endif
    li      t0, 0x600               # IA32_DS_AREA
    csrw    0x5c0, t0
    csrw    0x5c1, t1
    lla     t2, area
    lla     t3, records
    sd      t3, 0x20(t2)            # base, index, maximum, threshold, reset
    sd      t3, 0x28(t2)
    addi    t4, t3, 288
    sd      t4, 0x30(t2)
    sd      t4, 0x38(t2)
    li      t4, 0xfffffffff6        # -10
    sd      t4, 0x40(t2)
    wrmsr   0x310, 0xfffffffff6     # MSR_IQ_COUNTER4
    wrmsr   0x3bc, 0x0400040c       # MSR_RAT_ESCR0: loads are tagged
    wrmsr   0x3cc, 0x1000020c       # MSR_CRU_ESCR2: front_end_event, NBOGUS
    wrmsr   0x3f1, 0x02000000       # MSR_PEBS_ENABLE
    wrmsr   0x370, 0x0403b000       # MSR_IQ_CCCR4
    li      s1, 105
again:
    ld      t5, 0(t3)
    addi    s1, s1, -1
    bnez    s1, again
    li      t1, 0x5555
    li      t2, 0x100000
    sw      t1, (t2)
wait:
    csrw    mie, zero
    wfi
    j       wait
    .balign 64
area:
    .zero   0x50
records:
    .zero   288
