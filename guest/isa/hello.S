# SPDX-License-Identifier: MIT
#
# The smallest program: no C library, two system calls, every instruction in its long form. The first thing a new
# simulator should run.
    .option norvc
    .globl _start
_start:
    li a0, 1
    lla a1, text
    li a2, 6
    li a7, 64 # write
    ecall
    addi a0, a0, -6 # all six bytes: status 0
    li a7, 93 # exit
    ecall

    .section .rodata
text:
    .ascii "hello\n"
