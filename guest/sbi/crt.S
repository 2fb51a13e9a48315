# SPDX-License-Identifier: MIT
# Start, traps and changes of mode for payloads of firmware, in supervisor mode; the counterpart of ../bare/crt.S, whose contexts and
# outcomes it fills. Every hart owns a context, which sscratch and tp point to. run_in enters a mode; a trap ends it, unless trap_hook, a
# C function that looks at the outcome, says that the interrupted code goes on. Code that just returns comes to exit_stub, whose EBREAK
# ends it without a note. The hart that the firmware boots runs main; another one runs what sbi_hart_start gave it.
    .include "layout.inc"
    .set EID_HSM, 0x48534d
    .set EID_PMU, 0x504d55

    .macro EACH_X op
    .irp n, 1,2,3,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    \op x\n, CTX_X+8*\n(tp)
    .endr
    .endm
    .macro EACH_SAVED op, base
    \op ra, CTX_SAVED(\base)
    \op sp, CTX_SAVED+8(\base)
    \op gp, CTX_SAVED+16(\base)
    .set i, 0
    .irp reg, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    \op \reg, CTX_SAVED+32+8*i(\base)
    .set i, i+1
    .endr
    .endm

    .section .text.start, "ax"
    .globl _start
_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    li t0, N_HARTS
    bgeu a0, t0, stop_hart
    la tp, contexts
    li t0, CTX_BYTES
    mul t0, t0, a0
    add tp, tp, t0
    csrw sscratch, tp
    sd a0, CTX_BOOT_A0(tp)
    sd a1, CTX_BOOT_A1(tp)
    la sp, stacks
    addi t1, a0, 1
    slli t1, t1, STACK_LOG2
    add sp, sp, t1
    la t0, s_trap
    csrw stvec, t0
    csrw sie, zero
    csrw satp, zero
    sd zero, CTX_ARMED(tp)
    li t0, 0x6000               # FS
    csrs sstatus, t0
    fscsr zero
    ld t1, CTX_START(tp)
    bnez t1, 1f
    call prepare
    call main
    call finish_all
1:  jalr t1
stop_hart:
    li a7, EID_HSM
    li a6, 1
    ecall
1:  wfi
    j 1b

    .text
# outcome *run_in(mode, pc, a0, a1, ra, sp)
    .globl run_in
    .balign 4
run_in:
    csrr t0, sscratch
    EACH_SAVED sd, t0
    sd zero, CTX_TRAPPED(t0)
    li t1, 1
    sd t1, CTX_ARMED(t0)
    li t1, 1 << 8               # SPP
    csrc sstatus, t1
    slli t1, a0, 8
    csrs sstatus, t1
    csrw sepc, a1
    mv ra, a4
    mv sp, a5
    mv a0, a2
    mv a1, a3
    sret

    .globl exit_stub
    .balign 4
exit_stub:
    ebreak

    .globl s_trap
    .balign 4
s_trap:
    csrrw tp, sscratch, tp
    EACH_X sd
    csrr t0, sscratch
    sd t0, CTX_X+8*4(tp)
    csrw sscratch, tp
    csrr t0, scause
    sd t0, CTX_CAUSE(tp)
    csrr t1, sepc
    sd t1, CTX_EPC(tp)
    csrr t2, stval
    sd t2, CTX_TVAL(tp)
    csrr t2, sstatus
    sd t2, CTX_STATUS(tp)
    csrr t2, sip
    sd t2, CTX_IP(tp)
    li t2, 1
    sd t2, CTX_MODE(tp)
    ld gp, CTX_SAVED+16(tp)
    ld t2, CTX_ARMED(tp)
    beqz t2, trap_outside_run_in
    la t2, exit_stub            # EBREAK of exit_stub, also through an alias, is not a trap
    xor t2, t2, t1
    slli t2, t2, 34
    srli t2, t2, 34
    snez t2, t2
    xori t3, t0, 3
    snez t3, t3
    or t2, t2, t3
    sd t2, CTX_TRAPPED(tp)
    beqz t2, leave
    la t0, trap_hook
    ld t0, 0(t0)
    beqz t0, leave
    ld sp, CTX_SAVED+8(tp)      # below it is free
    mv a0, tp
    jalr t0
    beqz a0, leave
    ld t0, CTX_EPC(tp)
    csrw sepc, t0
    EACH_X ld
    ld tp, CTX_X+8*4(tp)
    sret
leave:
    sd zero, CTX_ARMED(tp)
    mv t0, tp
    EACH_SAVED ld, t0
    addi a0, t0, CTX_OUTCOME
    ret

trap_outside_run_in:
    la gp, __global_pointer$
    mv a0, tp
    call unexpected_s_trap

# counted(base, mask, code, a0, a1): starts counters with value 0, calls the code, stops them; nothing else. Between the two calls of the
# firmware COUNTED_INSNS instructions retire besides those of the code, which must not change a7 and what is saved by who is called.
# Gives the error of the start, or else of the stop.
    .option push
    .option norvc
    .globl counted
    .balign 64
counted:
    addi sp, sp, -64
    sd ra, 0(sp)
    sd s0, 8(sp)
    sd s1, 16(sp)
    sd s2, 24(sp)
    sd s3, 32(sp)
    sd s4, 40(sp)
    sd s5, 48(sp)
    mv s0, a0
    mv s1, a1
    mv s2, a2
    mv s3, a3
    mv s4, a4
    li a2, 1                    # set the initial value
    li a3, 0
    li a4, 0
    li a6, 3
    li a7, EID_PMU
    ecall
    mv s5, a0                   # 1
    mv a0, s3                   # 2
    mv a1, s4                   # 3
    jalr s2                     # 4
    mv a0, s0                   # 5
    mv a1, s1                   # 6
    li a2, 0                    # 7
    li a6, 4                    # 8
    ecall
    beqz s5, 1f
    mv a0, s5
1:  ld ra, 0(sp)
    ld s0, 8(sp)
    ld s1, 16(sp)
    ld s2, 24(sp)
    ld s3, 32(sp)
    ld s4, 40(sp)
    ld s5, 48(sp)
    addi sp, sp, 64
    ret
    .option pop

    .bss
    .balign 4096
    .globl stacks
stacks:
    .space N_HARTS << STACK_LOG2
    .globl lower_stacks
lower_stacks:
    .space N_HARTS << STACK_LOG2
