# SPDX-License-Identifier: MIT
# Walks a ring of 2049 lines on pages of their own, twice: each load waits for memory, and nothing else does.
    .option norvc
    .globl _start
_start:
    la      a1, ring
    li      a2, 2048
    li      a3, 4160                # a line and a page further
    mv      a0, a1
fill:
    add     a4, a0, a3
    sd      a4, 0(a0)
    mv      a0, a4
    addi    a2, a2, -1
    bnez    a2, fill
    sd      a1, 0(a0)
    li      a2, 4096
    mv      a0, a1
walk:
    ld      a0, 0(a0)
    addi    a2, a2, -1
    bnez    a2, walk
    li      a0, 0
    li      a7, 93
    ecall
    .bss
    .balign 4096
ring:
    .zero   2049 * 4160 + 4096
