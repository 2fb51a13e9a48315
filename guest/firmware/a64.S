/* SPDX-License-Identifier: MIT
 * EL3 firmware of the Arm board. It gives all interrupts to Non-secure software, switches the
 * serial port on, enters the kernel at EL1 on hart 0, and answers PSCI 1.1 (Arm DEN 0022) by SMC. Other harts give up
 * their power until CPU_ON names them. EL2 is absent.
 *
 * At every reset every hart stands at _start at EL3 without translation: x0 is the device tree, x1 the
 * kernel. The code is position independent and uses no memory outside its image and `records`.
 * RAM holds zeros when the machine is switched on. A call keeps all registers but x0, as SMCCC 1.1 (Arm DEN 0028) has it. */
    .set GICD, 0x08000000
    .set GICC, 0x08010000
    .set POWER, 0x090b0000
    .set POWER_DIR, 0x400
    .set POWER_OFF, 1
    .set POWER_RESET, 2

    /* The power controller of the cores takes the number of a hart (src/board/arm_power.h). */
    .set CORES, 0x090c0000
    .set CORE_OFF, 0
    .set CORE_OFF_WAKE, 4
    .set CORE_ON, 8

    .set UART, 0x09000000
    .set UART_IBRD, 0x24        /* 115200 baud of 24 MHz */
    .set UART_FBRD, 0x28
    .set UART_LCR_H, 0x2c
    .set UART_CR, 0x30
    .set WORDS_OF_8_BITS_FIFO, 0x70
    .set UART_RX_TX_ON, 0x301

    .set GICD_TYPER, 4
    .set GICD_IGROUPR, 0x80
    .set GICC_PMR, 4
    .set BOTH_GROUPS, 3

    .set EC_SMC64, 0x17
    .set EL1H_MASKED, 0x3c5
    .set SCR, 0x431             /* NS, RW, RES1 bits 5:4 */
    .set SCTLR_EL1_RESET, 0x30d00800
    .set SMPEN, 1 << 6

    .set SUCCESS, 0
    .set NOT_SUPPORTED, -1
    .set INVALID_PARAMETERS, -2
    .set ALREADY_ON, -4
    .set ON_PENDING, -5
    .set INVALID_ADDRESS, -9

    /* A record of 128 bytes for each hart: state, entry and context of CPU_ON, and saved registers
     * below its end. */
    .set RECORD_LOG2, 7
    .set STATE, 0
    .set ENTRY, 8
    .set CONTEXT, 16
    .set MAX_HARTS, 8
    .set ABSENT, 0              /* the machine has just been switched on */
    .set OFF, 1
    .set PENDING, 2
    .set ON, 3
    .set CLAIMED, 4             /* CPU_ON is under way */
    .set SUSPENDED, 5
    .set POWER_DOWN, 16         /* bit of a power state */

    .text
    .global _start
_start:
    mov x20, x0
    mov x21, x1
    mrs x4, mpidr_el1
    and x22, x4, #0xff
    adr x23, records
    add x23, x23, x22, lsl #RECORD_LOG2
    add x4, x23, #1 << RECORD_LOG2
    mov sp, x4
    adr x4, vectors
    msr vbar_el3, x4
    mov x4, #SCR
    msr scr_el3, x4
    msr cptr_el3, xzr           /* floating point is not trapped */
    msr mdcr_el3, xzr           /* neither are debug and PMU */
    mrs x4, s3_1_c15_c2_1       /* CPUECTLR_EL1: the hart takes part in coherency */
    orr x4, x4, #SMPEN
    msr s3_1_c15_c2_1, x4
    isb
    mov x5, #GICD
    mov w6, #-1
    str w6, [x5, #GICD_IGROUPR] /* the interrupts of this hart */
    ldar w4, [x23]
    cbnz w4, warm
    cbnz x22, announce
    ldr w7, [x5, #GICD_TYPER]
    and w7, w7, #31
    add x8, x5, #GICD_IGROUPR
1:  cbz w7, 2f                  /* and those that harts share */
    str w6, [x8, #4]!
    sub w7, w7, #1
    b 1b
2:  mov w6, #BOTH_GROUPS
    str w6, [x5]
    mov x5, #UART
    mov w6, #13
    str w6, [x5, #UART_IBRD]
    mov w6, #1
    str w6, [x5, #UART_FBRD]
    mov w6, #WORDS_OF_8_BITS_FIFO
    str w6, [x5, #UART_LCR_H]
    mov w6, #UART_RX_TX_ON
    str w6, [x5, #UART_CR]
announce:
    mov w4, #OFF
    stlr w4, [x23]
    dsb sy
    sev
    cbnz x22, park

    /* Hart 0 goes on when all others have a record. */
    bl count_harts
    adr x5, records
3:  sub x4, x4, #1
    add x6, x5, x4, lsl #RECORD_LOG2
4:  ldar w7, [x6]
    cbnz w7, 5f
    wfe
    b 4b
5:  cbnz x4, 3b
    str x21, [x23, #ENTRY]
    str x20, [x23, #CONTEXT]
    mov w4, #PENDING
    stlr w4, [x23]

/* w4: the state. The hart got its power back. Or a debugger has reset it, and it is off from then on. */
warm:
    cmp w4, #SUSPENDED
    b.eq enter
    cmp w4, #ON
    b.ne park
    mov w4, #OFF
    stlr w4, [x23]

/* x22: this hart, x23: its record. It waits for CPU_ON without power, and enters what that names. CPU_ON withdraws the
 * request, and so does the hart itself where it still has power. */
park:
    mov x5, #CORES
    str w22, [x5, #CORE_OFF]
1:  ldar w4, [x23]
    cmp w4, #PENDING
    b.eq 2f
    wfe
    b 1b
2:  str w22, [x5, #CORE_ON]
enter:
    mov x5, #GICC
    mov w6, #0xff
    str w6, [x5, #GICC_PMR]     /* Non-secure software may set its own mask */
    mov w6, #BOTH_GROUPS
    str w6, [x5]
    ldr x4, [x23, #ENTRY]
    msr elr_el3, x4
    mov x4, #EL1H_MASKED
    msr spsr_el3, x4
    mov x4, #SCTLR_EL1_RESET & 0xffff
    movk x4, #SCTLR_EL1_RESET >> 16, lsl #16
    msr sctlr_el1, x4
    msr cpacr_el1, xzr
    msr cntkctl_el1, xzr
    msr cntp_ctl_el0, xzr
    msr cntv_ctl_el0, xzr
    tlbi alle1
    ic iallu
    dsb sy
    ldr x0, [x23, #CONTEXT]
    mov x1, xzr
    mov x2, xzr
    mov x3, xzr
    mov w4, #ON
    stlr w4, [x23]
    isb
    eret

/* Returns the number of harts, which the interrupt controller knows, in x4. */
count_harts:
    mov x4, #GICD
    ldr w4, [x4, #GICD_TYPER]
    ubfx w4, w4, #5, #3
    add w4, w4, #1
    ret

    .balign 2048
vectors:
    .rept 8
    b unexpected
    .balign 128
    .endr
    b lower_el
    .balign 128
    .rept 7
    b unexpected
    .balign 128
    .endr

/* No other exception is routed to EL3. */
unexpected:
    wfi
    b unexpected

/* A call. x4 to x9, x23 and x30 are free behind the stores; x0 to x3 are the arguments. */
lower_el:
    stp x4, x5, [sp, #-64]!
    stp x6, x7, [sp, #16]
    stp x8, x9, [sp, #32]
    stp x23, x30, [sp, #48]
    mrs x4, esr_el3
    lsr w4, w4, #26
    cmp w4, #EC_SMC64
    b.ne unexpected
    add x23, sp, #64 - (1 << RECORD_LOG2)
    tbnz w0, #30, 1f            /* a call of 32 bits has operands of 32 bits */
    mov w1, w1
    mov w2, w2
    mov w3, w3
1:  bl find
    cbz x5, 2f
    adr x6, _start
    add x5, x5, x6
    blr x5
    b 3f
2:  mov x0, #NOT_SUPPORTED
3:  ldp x23, x30, [sp, #48]
    ldp x8, x9, [sp, #32]
    ldp x6, x7, [sp, #16]
    ldp x4, x5, [sp], #64
    eret

/* The function that w0 names: x5 is its offset from _start; 0: there is none. */
find:
    adr x4, functions
1:  ldp w6, w5, [x4], #8
    cmp w6, w0
    b.eq 2f
    cbnz w6, 1b
    mov x5, xzr
2:  ret

psci_version:
    mov w0, #1
    movk w0, #1, lsl #16
    ret
smccc_version:
    mov w0, #1
    movk w0, #1, lsl #16
    ret
migrate_info_type: /* no Trusted OS is resident */
    mov x0, #2
    ret

/* x1: a function. */
psci_features:
smccc_arch_features:
    mov w0, w1
    mov x9, x30
    bl find
    mov x30, x9
    mov x0, #NOT_SUPPORTED
    cmp x5, #0
    csel x0, xzr, x0, ne
    ret

/* x1: the power state, of the hart alone. Standby is WFI. Without power the hart goes on at x2, with x3 in x0. */
cpu_suspend:
    mov x0, #INVALID_PARAMETERS
    lsr w4, w1, #POWER_DOWN + 1
    cbnz w4, 2f
    tbnz w1, #POWER_DOWN, 3f
    dsb sy
    wfi
1:  mov x0, #SUCCESS
2:  ret
3:  mov x0, #INVALID_ADDRESS
    tst x2, #3
    b.ne 2b
    str x30, [sp, #-16]!
    bl clean_l1d
    ldr x30, [sp], #16
    str x2, [x23, #ENTRY]
    str x3, [x23, #CONTEXT]
    mov w4, #SUSPENDED
    stlr w4, [x23]
    mov x5, #CORES
    mrs x6, mpidr_el1
    and x6, x6, #0xff
    str w6, [x5, #CORE_OFF_WAKE]
    dsb sy
    wfi
    str w6, [x5, #CORE_ON]      /* an interrupt came first */
    mov w4, #ON
    stlr w4, [x23]
    b 1b

/* Every line of the L1D leaves, by set and way. Keeps x1 to x3. */
clean_l1d:
    mrs x0, csselr_el1
    str x0, [sp, #-16]!
    msr csselr_el1, xzr
    isb
    mrs x4, ccsidr_el1
    ubfx x5, x4, #3, #10        /* the last way, */
    ubfx x6, x4, #13, #15       /* the last set, */
    and x4, x4, #7
    add x4, x4, #4              /* and where their numbers stand */
    clz w7, w5
1:  mov x8, x6
2:  lsl w9, w5, w7
    lsl w0, w8, w4
    orr w9, w9, w0
    dc cisw, x9
    subs x8, x8, #1
    b.pl 2b
    subs x5, x5, #1
    b.pl 1b
    dsb sy
    ldr x0, [sp], #16
    msr csselr_el1, x0
    ret

/* Finds the record of the hart that x1 names: x5. Else the call fails with INVALID_PARAMETERS. */
    .macro find_record
    mov x9, x30
    bl count_harts
    mov x30, x9
    mov x0, #INVALID_PARAMETERS
    cmp x1, x4
    b.hs 9f
    adr x5, records
    add x5, x5, x1, lsl #RECORD_LOG2
    .endm

/* x1: the hart, x2: where it begins, x3: its x0. */
cpu_on:
    find_record
    mov x0, #INVALID_ADDRESS
    tst x2, #3
    b.ne 9f
1:  ldaxr w4, [x5]
    mov x0, #ALREADY_ON
    cmp w4, #ON
    ccmp w4, #SUSPENDED, #4, ne
    b.eq 8f
    mov x0, #ON_PENDING
    cmp w4, #OFF
    b.ne 8f
    mov w6, #CLAIMED            /* the record is ours until it says PENDING */
    stxr w7, w6, [x5]
    cbnz w7, 1b
    str x2, [x5, #ENTRY]
    str x3, [x5, #CONTEXT]
    mov w6, #PENDING
    stlr w6, [x5]
    dsb sy
    mov x6, #CORES
    str w1, [x6, #CORE_ON]
    sev
    mov x0, #SUCCESS
    ret
8:  clrex
9:  ret

/* x1: the hart, x2: the level of affinity. */
affinity_info:
    find_record
    cbnz x2, 9f
    ldar w4, [x5]
    mov x0, #0
    cmp w4, #ON
    ccmp w4, #SUSPENDED, #4, ne
    b.eq 9f
    mov x0, #1
    cmp w4, #OFF
    b.eq 9f
    mov x0, #2
9:  ret

cpu_off:
    mov x5, #GICC
    str wzr, [x5]
    msr cntp_ctl_el0, xzr
    msr cntv_ctl_el0, xzr
    msr cntkctl_el1, xzr
    isb
    bl clean_l1d
    add sp, sp, #64
    mrs x22, mpidr_el1
    and x22, x22, #0xff
    mov w4, #OFF
    stlr w4, [x23]
    dsb sy
    sev
    b park

system_off:
    mov w6, #POWER_OFF
    b 1f
system_reset:
    mov w6, #POWER_RESET
1:  mov x5, #POWER
    str w6, [x5, #POWER_DIR]
    str w6, [x5, w6, uxtw #2]   /* bits 9:2 of the address select the line */
    b unexpected

    .balign 8
functions:
    .macro function number, name
    .word \number, \name - _start
    .endm
    function 0x80000000, smccc_version
    function 0x80000001, smccc_arch_features
    function 0x84000000, psci_version
    function 0x84000001, cpu_suspend
    function 0xc4000001, cpu_suspend
    function 0x84000002, cpu_off
    function 0x84000003, cpu_on
    function 0xc4000003, cpu_on
    function 0x84000004, affinity_info
    function 0xc4000004, affinity_info
    function 0x84000006, migrate_info_type
    function 0x84000008, system_off
    function 0x84000009, system_reset
    function 0x8400000a, psci_features
    .word 0, 0

    .bss
    .balign 128
records:
    .space MAX_HARTS << RECORD_LOG2
