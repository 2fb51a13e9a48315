// SPDX-License-Identifier: MIT
// A bare-metal program whose trap handler traps itself. CASE gives the reason. mtvec: 0 was never
// set, 1 points to no memory, 2 to no code, 3 to code that a locked PMP entry does not permit, 4 to
// code that traps. stvec points: 5 to a page that is not mapped, 6 to code that PMP does not permit
// to supervisor mode, 7 to a page without memory. In case 8 nothing is wrong: machine mode goes back
// 1500 times to an instruction that traps at stvec, then ends the run. In case 9 the handler in
// supervisor mode traps itself until a timer comes, whose handler lets machine mode have the next
// trap. This happens 400 times.
    .option norvc
    .option norelax
    .globl _start
_start:
    csrr t0, mhartid
    bnez t0, wait
#if CASE == 1
    li t0, 0x40000000
    csrw mtvec, t0
#elif CASE == 2
    lla t0, nothing
    csrw mtvec, t0
#elif CASE == 3
    lla t0, handler
    csrw mtvec, t0
    srli t0, t0, 2
    ori t0, t0, 511        // 4 KiB, naturally aligned
    csrw pmpaddr0, t0
    li t0, 0x99            // locked, NAPOT, read only
    csrw pmpcfg0, t0
#elif CASE == 4
    lla t0, traps
    csrw mtvec, t0
#elif CASE >= 5
    li t0, -1              // supervisor mode may do all, but for the page of the handler in case 6
    csrw pmpaddr1, t0
    li t0, 0x1f00
#if CASE == 8
    lla t1, counts
    csrw mtvec, t1
    li s0, 1500
#elif CASE == 9
    lla t1, rounds
    csrw mtvec, t1
    li s0, 400
    li s1, 0x2004000       // mtimecmp
    li s2, 0x200bff8       // mtime
    li t1, 1 << 7
    csrw mie, t1
    ld t1, (s2)
    addi t1, t1, 10
    sd t1, (s1)
#endif
#if CASE == 6
    lla t1, handler
    srli t1, t1, 2
    ori t1, t1, 511
    csrw pmpaddr0, t1
    ori t0, t0, 0x18
#endif
    csrw pmpcfg0, t0
#if CASE != 8
    li t0, 0xffff
    csrw medeleg, t0
#endif
#if CASE == 5 || CASE == 7
    lla t0, root           // Sv39: one page of 1 GiB, where this program lies
    li t1, 0x80000000 >> 2 | 0xcf
    sd t1, 16(t0)
    li t1, 0x40000000 >> 2 | 0xcf
    sd t1, 24(t0)          // the next GiB is where no memory is
    srli t0, t0, 12
    li t1, 8 << 60
    or t0, t0, t1
    csrw satp, t0
    sfence.vma
#if CASE == 5
    li t0, 0x1000
#else
    li t0, 0xc0001000
#endif
#elif CASE >= 8
    lla t0, supervisor
    csrw sepc, t0
#else
    lla t0, handler
#endif
    csrw stvec, t0
    li t0, 1 << 11
    csrs mstatus, t0
    lla t0, supervisor
    csrw mepc, t0
    mret
    .balign 4
supervisor:
#endif
    .word 0                // illegal
wait:
    wfi
    j wait

    .balign 4
counts:
    addi s0, s0, -1
    beqz s0, 1f
    mret
1:  li t0, 0x100000
    li t1, 0x5555
    sw t1, (t0)
    j wait

    .balign 4
rounds:
    csrr t0, mcause
    bltz t0, 2f
    addi s0, s0, -1
    beqz s0, 1b
    li t0, 0xffff
    csrw medeleg, t0
    ld t0, (s2)
    addi t0, t0, 10        // 1 us, less than 1000 traps
    sd t0, (s1)
    mret
2:  csrw medeleg, zero
    li t0, -1
    sd t0, (s1)
    mret

    .balign 4
traps:
    ecall
    .balign 4
nothing:
    .word 0, 0
    .balign 4096
handler:
    j handler
    .balign 4096
root:
    .zero 4096
