/* SPDX-License-Identifier: MIT
 * Entry of the program that calls PSCI, and the call itself. */
    .section .text.start, "ax"
    .global _start
_start:
    ldr x1, =stack_end
    mov sp, x1
    bl main
    b .

    .global second_entry        /* x0: the context of CPU_ON */
second_entry:
    ldr x1, =second_stack_end
    mov sp, x1
    bl second
    b .
    .ltorg

    .text
    /* u64 power_down(u64 function, u64 state): CPU_SUSPEND, whose entry is `resumed`. Returns x0 of that entry, or
     * the answer with bit 63 inverted, if the call returns. */
    .global power_down
power_down:
    stp x29, x30, [sp, #-96]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    ldr x4, =suspended_sp
    mov x5, sp
    str x5, [x4]
    adr x2, resumed
    ldr x3, =0x5a5a5a5a12345678
    smc #0
    eor x0, x0, #0x8000000000000000
    b 1f
resumed:
    ldr x4, =suspended_sp
    ldr x4, [x4]
    mov sp, x4
1:  ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #96
    ret
    .ltorg

    .global call /* u64 call(u64 function, u64 x1, u64 x2, u64 x3, u64 kept[14]) */
call:
    stp x29, x30, [sp, #-32]!
    str x4, [sp, #16]
    .irp n, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17
    mov x\n, #0x1000 + \n
    .endr
    mov x4, #0x1004
    ldr x29, =is_qemu
    ldrb w29, [x29]
    cbnz w29, 1f
    smc #0
    b 2f
1:  hvc #0
2:  ldr x29, [sp, #16]
    stp x4, x5, [x29]
    stp x6, x7, [x29, #16]
    stp x8, x9, [x29, #32]
    stp x10, x11, [x29, #48]
    stp x12, x13, [x29, #64]
    stp x14, x15, [x29, #80]
    stp x16, x17, [x29, #96]
    ldp x29, x30, [sp], #32
    ret
    .ltorg

    .bss
    .balign 16
suspended_sp:
    .space 16
    .space 16384
stack_end:
    .space 16384
second_stack_end:
