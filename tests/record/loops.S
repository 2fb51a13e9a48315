# SPDX-License-Identifier: MIT
# A program whose counts by line were worked out on paper; run.py has them. Each load takes a line of its own.
    .globl _start
    .type _start, @function
_start:
    lla     s0, data
    li      s1, 100
.Louter:
    ld      t0, 0(s0)
    addi    s0, s0, 64
    jal     inner
    addi    s1, s1, -1
    bnez    s1, .Louter
    li      a0, 7
    li      a7, 93
    ecall
    .size _start, . - _start

    .type inner, @function
inner:
    li      t1, 10
.Lagain:
    addi    t1, t1, -1
    bnez    t1, .Lagain
    ret
    .size inner, . - inner

    .bss
    .balign 4096
data:
    .skip   8192
