/* SPDX-License-Identifier: MIT
 * Entry at EL3, vectors of EL1 and EL3, and run_at: it leaves EL3 by ERET and comes back with what
 * the next exception left behind. The vectors of EL1 record and come back by SMC #0x7777. */
    .set STACK_BYTES, 16384
    .set COME_BACK, 0x7777

    .section .text.start, "ax"
    .global _start
_start:
    mrs x1, mpidr_el1
    and x1, x1, #0xff
    cbnz x1, park
    ldr x2, =stack_end
    mov sp, x2
    ldr x2, =vectors_el3
    msr vbar_el3, x2
    ldr x2, =vectors_el1
    msr vbar_el1, x2
    isb
    bl prepare
    bl main
    b finish_all
park:               /* until start_second names code */
    ldr x2, =second_code
1:  ldar x3, [x2]
    cbnz x3, go
    wfe
    b 1b
go: ldr x2, =second_stack_end
    mov sp, x2
    blr x3
    b go

    .global start_second /* void start_second(void (*code)(void)) */
start_second:
    ldr x1, =second_code
    stlr x0, [x1]
    dsb sy
    sev
    ret
    .ltorg

/* outcome: see a64.h */
    .set OUT_EL, 0
    .set OUT_VECTOR, 8
    .set OUT_ESR, 16
    .set OUT_ELR, 24
    .set OUT_SPSR, 32
    .set OUT_FAR, 40
    .set OUT_X, 48

    .macro save_common el
    str x1, [x0, #OUT_X + 8]
    str x2, [x0, #OUT_X + 16]
    str x3, [x0, #OUT_X + 24]
    mov x1, #\el
    str x1, [x0, #OUT_EL]
    mrs x1, esr_el\el
    str x1, [x0, #OUT_ESR]
    mrs x1, elr_el\el
    str x1, [x0, #OUT_ELR]
    mrs x1, spsr_el\el
    str x1, [x0, #OUT_SPSR]
    mrs x1, far_el\el
    str x1, [x0, #OUT_FAR]
    .endm

    .macro vector el, number
    .balign 128
    msr tpidr_el\el, x0
    ldr x0, =outcome_el\el
    str x1, [x0, #OUT_X + 8]
    mov x1, #\number
    str x1, [x0, #OUT_VECTOR]
    ldr x1, [x0, #OUT_X + 8]
    b taken_el\el
    .endm
    .macro vectors el
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    vector \el, \number
    .endr
    .endm

    .text
    .balign 2048
    .global vectors_el1, vectors_el3
vectors_el1:
    vectors 1
    .balign 2048
vectors_el3:
    vectors 3
    .ltorg

taken_el1:
    save_common 1
    mrs x1, tpidr_el1
    str x1, [x0, #OUT_X]
    smc #COME_BACK

taken_el3:
    str x2, [x0, #OUT_X + 16]
    ldr x1, [x0, #OUT_VECTOR]
    cmp x1, #8
    b.ne other_el3
    mrs x1, esr_el3
    ldr w2, =0x5e000000 + COME_BACK
    cmp w1, w2
    b.eq come_back_el1
other_el3:
    ldr x2, =saved
    ldr x1, [x2, #104]
    cbz x1, unexpected_el3
    ldr x2, [x0, #OUT_X + 16]
    ldr x1, [x0, #OUT_X + 8]
    save_common 3
    mrs x1, tpidr_el3
    str x1, [x0, #OUT_X]
    b come_back
unexpected_el3: /* an exception of the program itself; its registers are not needed any more */
    mrs x0, esr_el3
    mrs x1, elr_el3
    ldr x2, =stack_end
    msr spsel, #1
    mov sp, x2
    b unexpected
come_back_el1: /* the record of EL1 is the news */
    ldr x0, =outcome_el3
    str xzr, [x0, #OUT_EL]
come_back:
    ldr x0, =saved
    str xzr, [x0, #104]
    ldp x19, x20, [x0]
    ldp x21, x22, [x0, #16]
    ldp x23, x24, [x0, #32]
    ldp x25, x26, [x0, #48]
    ldp x27, x28, [x0, #64]
    ldp x29, x30, [x0, #80]
    ldr x1, [x0, #96]
    msr spsel, #1
    mov sp, x1
    ret

/* void run_at(u64 spsr, u64 pc, u64 x0, u64 x1) */
    .global run_at
run_at:
    ldr x4, =saved
    stp x19, x20, [x4]
    stp x21, x22, [x4, #16]
    stp x23, x24, [x4, #32]
    stp x25, x26, [x4, #48]
    stp x27, x28, [x4, #64]
    stp x29, x30, [x4, #80]
    mov x5, sp
    str x5, [x4, #96]
    mov x5, #1 /* run_at waits for an exception */
    str x5, [x4, #104]
    msr spsr_el3, x0
    msr elr_el3, x1
    mov x0, x2
    mov x1, x3
    isb
    eret
    .ltorg

    .bss
    .balign 16
    .space STACK_BYTES
stack_end:
    .space STACK_BYTES
second_stack_end:
second_code:
    .space 16
saved:
    .space 128
    .global tohost
    .balign 8
tohost:
    .space 8
