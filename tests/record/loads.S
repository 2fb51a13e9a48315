# SPDX-License-Identifier: MIT
# Three loads in a loop of 100 passes. Each takes a line that stores have brought in and driven out, and needs the load before.
    .option norvc
    .globl _start
_start:
    lla     a0, data
    mv      t1, a0
    li      t0, 640                 # the second half drives the first one out of the L1D
fill:
    addi    t2, t1, 64
    sd      t2, 0(t1)
    mv      t1, t2
    addi    t0, t0, -1
    bnez    t0, fill
    slli    t0, t0, 40              # 0; on a wrong path the loads find no page
    add     a0, a0, t0
    li      s1, 100
again:
    ld      a0, 0(a0)
    ld      a0, 0(a0)
    ld      a0, 0(a0)
    addi    s1, s1, -1
    bnez    s1, again
    li      a0, 0
    li      a7, 93
    ecall
    .bss
    .balign 4096
data:
    .zero   640 * 64
