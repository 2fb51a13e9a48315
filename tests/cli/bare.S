// SPDX-License-Identifier: MIT
// A bare-metal program that prints a line and ends as WORD says. 0: it waits for ever. 1: it loops
// for ever. Other words are written to the board's finisher.
    .globl _start, main, loop
_start:
    csrr t0, mhartid
    bnez t0, wait
    call main
    li t1, WORD
    beqz t1, wait
    li t0, 1
    beq t1, t0, loop
    li t2, 0x100000
    sw t1, (t2)
wait:
    csrw mie, zero
    wfi
    j wait
loop:
    j loop

main:
    li t1, 0x10000000
    lla t2, hello
1:  lbu t0, (t2)
    beqz t0, 2f
    sb t0, (t1)
    addi t2, t2, 1
    j 1b
2:  ret

hello:
    .asciz "bare: hello\n"
