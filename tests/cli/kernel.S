// SPDX-License-Identifier: MIT
// A kernel of a few instructions: the header of a RISC-V Linux Image, a line on the serial port, an
// answer to one line of input, the end that the first letter asks for. Letters: r restart, p a
// panic's failure status, w wait for ever, l loop for ever; all else: power off.
    .option norvc
    .globl _start
_start:
    j begin
    .word 0
    .dword 0x200000        // where in RAM
    .dword image_end - _start
    .dword 0               // flags
    .word 2                // version
    .word 0
    .dword 0
    .dword 0x5643534952    // "RISCV"
    .word 0x05435352       // "RSC\5"
    .word 0

    .equ UART, 0x10000000
begin:
    lla s1, hello
1:  lbu a0, (s1)
    beqz a0, 2f
    jal put
    addi s1, s1, 1
    j 1b
2:  jal get                // the firmware may have read away what came before it was ready: blanks are sent in front
    li t0, ' '
    beq a0, t0, 2b
    mv s0, a0
3:  jal put                // what was typed is echoed
    li t0, '\n'
    beq a0, t0, 4f
    li t0, '\r'
    beq a0, t0, 4f
    jal get
    j 3b
4:  li a7, 0x53525354      // SRST
    li a6, 0
    li a0, 0               // power off
    li a1, 0
    li t0, 'w'
    beq s0, t0, wait
    li t0, 'l'
    beq s0, t0, loop
    li t0, 'p'
    bne s0, t0, 5f
    li a1, 1               // system failure
5:  li t0, 'r'
    bne s0, t0, 6f
    li a0, 1               // cold reboot
6:  ecall
wait:
    csrw sie, zero
    wfi
    j wait
    .globl loop
loop:
    j loop

put:
    li t1, UART
1:  lbu t0, 5(t1)
    andi t0, t0, 0x20
    beqz t0, 1b
    sb a0, (t1)
    ret

get:
    li t1, UART
1:  lbu t0, 5(t1)
    andi t0, t0, 1
    beqz t0, 1b
    lbu a0, (t1)
    ret

hello:
    .asciz "kernel: hello\n"
    .balign 8
image_end:
