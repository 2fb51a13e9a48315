# SPDX-License-Identifier: MIT
# A kernel with two address spaces, as RAM + 2 MiB holds it: 100 turns of a loop of two instructions in the first one, 300 in the
# second one, 50 in the first one again, then SBI shutdown. Both map RAM to its own addresses by a gigapage.
    .option norvc
    .globl _start
_start:
    la      t0, first
    la      t1, second
    li      t2, 0x200000cf          # 0x80000000 >> 2 | V R W X A D
    sd      t2, 16(t0)
    sd      t2, 16(t1)
    li      t3, 8
    slli    t3, t3, 60
    srli    t0, t0, 12
    srli    t1, t1, 12
    or      s0, t0, t3
    or      s1, t1, t3
    csrw    satp, s0
    sfence.vma
    li      a0, 100
    jal     loop
    csrw    satp, s1
    sfence.vma
    li      a0, 300
    jal     loop
    csrw    satp, s0
    sfence.vma
    li      a0, 50
    jal     loop
    li      a7, 0x53525354          # system reset
    li      a6, 0
    li      a0, 0
    li      a1, 0
    ecall
    j       .
    .globl loop
loop:
    addi    a0, a0, -1
    bnez    a0, loop
    ret
    .balign 4096
first:
    .zero   4096
second:
    .zero   4096
