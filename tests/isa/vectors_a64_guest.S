// SPDX-License-Identifier: MIT
// Executes cases of vectors_a64.c on an AArch64 machine: reads a case from standard input, loads all
// registers, runs its program, writes all registers and memory to standard output, until the input
// ends. Needs no libc. Linked to 0x80000000, writable and executable; vectors_a64.h has the layout.
        .section .program, "awx", %progbits
        .globl _start
_start: b       main

        .org    0x100
program: .space 66 * 4

        .org    0x400
end_a:  msr     tpidr_el0, x0
        ldr     x0, =out
        b       save
end_b:  msr     tpidr_el0, x0
        ldr     x0, =out
        stp     x1, x2, [x0, #16 + 8]
        mov     x1, #1
        str     x1, [x0]
        ldp     x1, x2, [x0, #16 + 8]
save:   stp     x1, x2, [x0, #16 + 8]
        mrs     x1, tpidr_el0
        str     x1, [x0, #16]
        stp     x3, x4, [x0, #16 + 24]
        stp     x5, x6, [x0, #16 + 40]
        stp     x7, x8, [x0, #16 + 56]
        stp     x9, x10, [x0, #16 + 72]
        stp     x11, x12, [x0, #16 + 88]
        stp     x13, x14, [x0, #16 + 104]
        stp     x15, x16, [x0, #16 + 120]
        stp     x17, x18, [x0, #16 + 136]
        stp     x19, x20, [x0, #16 + 152]
        stp     x21, x22, [x0, #16 + 168]
        stp     x23, x24, [x0, #16 + 184]
        stp     x25, x26, [x0, #16 + 200]
        stp     x27, x28, [x0, #16 + 216]
        stp     x29, x30, [x0, #16 + 232]
        mov     x1, sp
        mrs     x2, nzcv
        stp     x1, x2, [x0, #264]
        mrs     x1, fpcr
        mrs     x2, fpsr
        stp     x1, x2, [x0, #280]
        add     x1, x0, #304
        st1     {v0.2d-v3.2d}, [x1], #64
        st1     {v4.2d-v7.2d}, [x1], #64
        st1     {v8.2d-v11.2d}, [x1], #64
        st1     {v12.2d-v15.2d}, [x1], #64
        st1     {v16.2d-v19.2d}, [x1], #64
        st1     {v20.2d-v23.2d}, [x1], #64
        st1     {v24.2d-v27.2d}, [x1], #64
        st1     {v28.2d-v31.2d}, [x1], #64
finish: ldr     x9, =data // x1 is at the end of v
        mov     x10, #512
1:      ldr     x11, [x9], #8
        str     x11, [x1], #8
        subs    x10, x10, #8
        b.ne    1b
        ldr     x1, =out
        mov     x2, #1328
        mov     x0, #1
        mov     x8, #64 // write
2:      svc     #0
        cmp     x0, #0
        b.le    leave
        add     x1, x1, x0
        subs    x2, x2, x0
        mov     x0, #1
        b.ne    2b
        b       next

// x0: number of the signal.
handler: ldr    x1, =out
        mov     x2, #2
        stp     x2, x0, [x1]
        add     x1, x1, #816
        b       finish

main:   ldr     x0, =signal_stack
        mov     x1, #0
        mov     x8, #132 // sigaltstack
        svc     #0
        ldr     x20, =signals
3:      ldrb    w0, [x20], #1
        cbz     w0, next
        ldr     x1, =action
        mov     x2, #0
        mov     x3, #8
        mov     x8, #134 // rt_sigaction
        svc     #0
        b       3b

next:   msr     fpcr, xzr
        ldr     x20, =in
        mov     x21, #1568
4:      mov     x0, #0
        mov     x1, x20
        mov     x2, x21
        mov     x8, #63 // read
        svc     #0
        cmp     x0, #0
        b.le    leave
        add     x20, x20, x0
        subs    x21, x21, x0
        b.ne    4b
        ldr     x0, =out
        stp     xzr, xzr, [x0]
        ldr     x0, =in
        ldr     x1, [x0], #8
        cbz     x1, load // the program stays
        ldr     x2, =program
5:      ldr     w3, [x0], #4
        str     w3, [x2], #4
        subs    x1, x1, #1
        b.ne    5b
        mov     w5, #0x14000000 // B
        ldr     x3, =end_a
        sub     x4, x3, x2
        lsr     x4, x4, #2
        orr     w4, w4, w5
        str     w4, [x2], #4
        ldr     x3, =end_b
        sub     x4, x3, x2
        lsr     x4, x4, #2
        orr     w4, w4, w5
        str     w4, [x2], #4
        ldr     x2, =program
        mov     x1, #8
6:      dc      cvau, x2
        ic      ivau, x2
        add     x2, x2, #64
        subs    x1, x1, #1
        b.ne    6b
        dsb     ish
        isb
load:   ldr     x9, =data
        ldr     x0, =in
        add     x1, x0, #1056
        mov     x10, #512
7:      ldr     x11, [x1], #8
        str     x11, [x9], #8
        subs    x10, x10, #8
        b.ne    7b
        clrex
        add     x1, x0, #544
        ld1     {v0.2d-v3.2d}, [x1], #64
        ld1     {v4.2d-v7.2d}, [x1], #64
        ld1     {v8.2d-v11.2d}, [x1], #64
        ld1     {v12.2d-v15.2d}, [x1], #64
        ld1     {v16.2d-v19.2d}, [x1], #64
        ld1     {v20.2d-v23.2d}, [x1], #64
        ld1     {v24.2d-v27.2d}, [x1], #64
        ld1     {v28.2d-v31.2d}, [x1], #64
        add     x0, x0, #264
        ldp     x1, x2, [x0, #248]
        mov     sp, x1
        msr     nzcv, x2
        ldp     x1, x2, [x0, #264]
        msr     fpcr, x1
        msr     fpsr, x2
        ldp     x1, x2, [x0, #8]
        ldp     x3, x4, [x0, #24]
        ldp     x5, x6, [x0, #40]
        ldp     x7, x8, [x0, #56]
        ldp     x9, x10, [x0, #72]
        ldp     x11, x12, [x0, #88]
        ldp     x13, x14, [x0, #104]
        ldp     x15, x16, [x0, #120]
        ldp     x17, x18, [x0, #136]
        ldp     x19, x20, [x0, #152]
        ldp     x21, x22, [x0, #168]
        ldp     x23, x24, [x0, #184]
        ldp     x25, x26, [x0, #200]
        ldp     x27, x28, [x0, #216]
        ldp     x29, x30, [x0, #232]
        ldr     x0, [x0]
        b       program

leave:  mov     x0, #0
        mov     x8, #93 // exit
        svc     #0

        .ltorg
        .balign 8
action: .quad   handler, 0x48000004, 0, 0 // on its stack, not blocked meanwhile, with siginfo
signal_stack: .quad alternate, 0, 65536
signals: .byte  4, 5, 7, 11, 0
        .balign 16
alternate: .space 65536

        .org    0x20000
        .space  0x400
data:   .space  512
        .space  0x200
in:     .space  1568 + 32
out:    .space  1328 + 16
