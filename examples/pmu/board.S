# SPDX-License-Identifier: MIT
# Where a bare program begins: hart 0 takes a stack and calls main, which returns the exit status.
    .section .text.start, "ax"
    .globl _start
_start:
    csrr t0, mhartid
    bnez t0, park
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    la sp, stack_end
    la t0, trap_entry
    csrw mtvec, t0
    call main
    # The finisher at 0x100000 ends the run: 0x5555 is success, status << 16 | 0x3333 is failure.
    li t1, 0x100000
    li t2, 0x5555
    beqz a0, finish
    slli a0, a0, 16
    li t2, 0x3333
    or t2, t2, a0
finish:
    sw t2, 0(t1)
park:
    wfi
    j park

# Interrupts come here. The psABI says which registers a C function may change; these are saved.
    .balign 4
trap_entry:
    addi sp, sp, -128
    .set slot, 0
    .irp n, 1, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29, 30, 31
    sd x\n, slot(sp)
    .set slot, slot + 8
    .endr
    csrr a0, mcause
    csrr a1, mepc
    call on_trap
    .set slot, 0
    .irp n, 1, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29, 30, 31
    ld x\n, slot(sp)
    .set slot, slot + 8
    .endr
    addi sp, sp, 128
    mret

    .bss
    .balign 16
    .space 16384
stack_end:
