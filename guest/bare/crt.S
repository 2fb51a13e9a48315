# SPDX-License-Identifier: MIT
# Start, traps and changes of mode for bare programs. Every hart owns a context (bare.h, struct context), which mscratch points to
# and, while a lower mode runs, sscratch, too. run_in enters a mode; the first trap that is taken, in M or in S, ends it: everything known at
# its entry is noted in the context and run_in returns. Code that just returns comes to exit_stub, whose ECALL ends it without a note.
# Hart 0 runs main; the others wait in WFI until hart_start releases them.
    .include "layout.inc"

    .section .text.start, "ax"
    .globl _start
_start:
    .option push
    .option norelax
    la gp, __global_pointer$
    .option pop
    csrr s0, mhartid
    li t0, N_HARTS
    bgeu s0, t0, park_forever
    mv s1, a0
    mv s2, a1
    la tp, contexts
    li t0, CTX_BYTES
    mul t0, t0, s0
    add tp, tp, t0
    csrw mscratch, tp
    sd s1, CTX_BOOT_A0(tp)
    sd s2, CTX_BOOT_A1(tp)
    la sp, stacks
    addi t1, s0, 1
    slli t1, t1, STACK_LOG2
    add sp, sp, t1
    la t0, m_trap
    csrw mtvec, t0
    li t0, -1                   # the last entry of the PMP opens everything to S and U
    csrw pmpaddr15, t0
    li t0, 0x1f
    slli t0, t0, 56
    csrw pmpcfg2, t0
    csrw mie, zero
    csrw medeleg, zero
    csrw mideleg, zero
    csrw satp, zero
    li t0, 0x6000               # FS
    csrs mstatus, t0
    fscsr zero
    bnez s0, wait_for_start
    call prepare
    call main
    call finish_all
park_forever:
    csrw mie, zero
1:  wfi
    j 1b

wait_for_start:                 # msip ends WFI without a trap: MIE is clear
    li t0, 8
    csrw mie, t0
1:  wfi
    ld t1, CTX_START(tp)
    beqz t1, 1b
    csrw mie, zero
    li t0, CLINT                # takes the software interrupt away again
    slli t2, s0, 2
    add t0, t0, t2
    sw zero, 0(t0)
    fence
    mv a0, s0
    jalr t1
    j park_forever

    .text
# outcome *run_in(mode, pc, a0, a1, ra, sp)
    .globl run_in
    .balign 4
run_in:
    csrr t0, mscratch
    sd ra, CTX_SAVED(t0)
    sd sp, CTX_SAVED+8(t0)
    sd gp, CTX_SAVED+16(t0)
    sd tp, CTX_SAVED+24(t0)
    .set i, 0
    .irp reg, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    sd \reg, CTX_SAVED+32+8*i(t0)
    .set i, i+1
    .endr
    sd zero, CTX_TRAPPED(t0)
    li t1, 1
    sd t1, CTX_ARMED(t0)
    li t1, -1
    sd t1, CTX_SLOT(t0)
    csrw sscratch, t0
    li t1, 3 << 11
    csrc mstatus, t1
    slli t1, a0, 11
    csrs mstatus, t1
    csrw mepc, a1
    mv ra, a4
    mv sp, a5
    mv a0, a2
    mv a1, a3
    mret

    .globl exit_stub
    .balign 4
exit_stub:
    ecall

    .macro SAVE_X ctx
    .irp n, 1,2,3,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    sd x\n, CTX_X+8*\n(\ctx)
    .endr
    .endm

    .globl m_trap
    .balign 4
m_trap:
    csrrw tp, mscratch, tp
    sd t0, CTX_T0(tp)
    sd t1, CTX_T1(tp)
    csrr t0, mepc
    la t1, s_exit_ecall
    beq t0, t1, m_back_from_s
    la t1, s_exit_illegal
    beq t0, t1, m_back_from_s
    ld t0, CTX_T0(tp)
    ld t1, CTX_T1(tp)
    SAVE_X tp
    csrr t0, mscratch
    sd t0, CTX_X+8*4(tp)
    csrr t0, mcause
    sd t0, CTX_CAUSE(tp)
    csrr t1, mepc
    sd t1, CTX_EPC(tp)
    csrr t2, mtval
    sd t2, CTX_TVAL(tp)
    csrr t2, mstatus
    sd t2, CTX_STATUS(tp)
    csrr t2, mip
    sd t2, CTX_IP(tp)
    li t2, 3
    sd t2, CTX_MODE(tp)
    ld t2, CTX_ARMED(tp)
    beqz t2, trap_outside_run_in
    call note_exit
    j m_back
m_back_from_s:
    ld t0, CTX_S_SLOT(tp)
    sd t0, CTX_SLOT(tp)
m_back:
    sd zero, CTX_ARMED(tp)
    csrw mscratch, tp
    mv t0, tp
    ld ra, CTX_SAVED(t0)
    ld sp, CTX_SAVED+8(t0)
    ld gp, CTX_SAVED+16(t0)
    ld tp, CTX_SAVED+24(t0)
    .set i, 0
    .irp reg, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
    ld \reg, CTX_SAVED+32+8*i(t0)
    .set i, i+1
    .endr
    addi a0, t0, CTX_OUTCOME
    ret

trap_outside_run_in:
    li t0, 1 << 17              # MPRV
    csrc mstatus, t0
    csrw mscratch, tp
    la sp, stacks + (1 << STACK_LOG2)
    mv a0, tp
    call unexpected_trap

    .globl s_trap
    .balign 4
s_trap:
    csrrw tp, sscratch, tp
    SAVE_X tp
    csrr t0, sscratch
    sd t0, CTX_X+8*4(tp)
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
    ld t2, CTX_SLOT(tp)         # M's vectors will overwrite it
    sd t2, CTX_S_SLOT(tp)
    call note_exit
    csrw sscratch, tp
    li t1, 9
    ld t0, CTX_CAUSE(tp)        # ECALL is delegated to us: go by way of an illegal instruction
    beq t0, t1, s_exit_illegal
    .balign 4
    .globl s_exit_ecall
s_exit_ecall:
    ecall
    .balign 4
    .globl s_exit_illegal
s_exit_illegal:
    csrr t0, mscratch
    j s_exit_illegal

# t0 cause, t1 epc: ECALL of exit_stub, also through an alias, is not a trap
note_exit:
    la t2, exit_stub
    xor t2, t2, t1
    slli t2, t2, 34
    srli t2, t2, 34
    snez t2, t2
    addi t3, t0, -8
    sltiu t3, t3, 4
    xori t3, t3, 1
    or t2, t2, t3
    sd t2, CTX_TRAPPED(tp)
    ret

# Vector tables: the slot through which a trap came is noted, then the trap goes on as above.
    .macro VECTORS name, csr, to
    .balign 256
    .globl \name
\name:
    .set slot, 0
    .rept 16
    .option push
    .option norvc
    j \name\()_stubs + slot * 28
    .option pop
    .set slot, slot + 1
    .endr
    .balign 4
\name\()_stubs:
    .set slot, 0
    .rept 16
    .option push
    .option norvc
    csrrw tp, \csr, tp
    sd t0, CTX_T0(tp)
    li t0, slot
    sd t0, CTX_SLOT(tp)
    ld t0, CTX_T0(tp)
    csrrw tp, \csr, tp
    j \to
    .option pop
    .set slot, slot + 1
    .endr
    .endm
    VECTORS m_vectors, mscratch, m_trap
    VECTORS s_vectors, sscratch, s_trap

    .bss
    .balign 4096
    .globl stacks
stacks:
    .space N_HARTS << STACK_LOG2
    .globl lower_stacks
lower_stacks:
    .space N_HARTS << STACK_LOG2
