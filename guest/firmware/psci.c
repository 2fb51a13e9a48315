/* SPDX-License-Identifier: MIT
 *
 * Calls PSCI (Arm DEN 0022) from EL1 on two harts, by SMC to the firmware of the Arm board and by
 * HVC to QEMU's own, and prints what the calls return. Both consoles must be the same. It ends with
 * SYSTEM_OFF, or with SYSTEM_RESET after a failed check or where RESET is defined. */
#include "../bare/a64/a64.h"

enum { VERSION = 0x84000000u, CPU_OFF = 0x84000002u, MIGRATE_INFO_TYPE = 0x84000006u, SYSTEM_OFF = 0x84000008u };
enum { SYSTEM_RESET = 0x84000009u, FEATURES = 0x8400000au, SMCCC_VERSION = 0x80000000u, SMCCC_ARCH_FEATURES = 0x80000001u };
#define CPU_SUSPEND UINT64_C(0xc4000001)
#define CPU_ON UINT64_C(0xc4000003)
#define AFFINITY_INFO UINT64_C(0xc4000004)
#define CPU_ON_32 UINT64_C(0x84000003)
#define AFFINITY_INFO_32 UINT64_C(0x84000004)
enum { NOT_SUPPORTED = -1, INVALID_PARAMETERS = -2, ALREADY_ON = -4, ON_PENDING = -5, INVALID_ADDRESS = -9 };
enum { AFFINITY_ON = 0, AFFINITY_OFF = 1 };

u64 call(u64 function, u64 x1, u64 x2, u64 x3, u64 kept[14]);
u64 power_down(u64 function, u64 state);
void second_entry(void);
void second(u64 context);

static u64 kept[14];
static u64 psci(u64 function, u64 x1, u64 x2, u64 x3) {
    const u64 result = call(function, x1, x2, x3, kept);
    check_context = function;
    for (u64 i = 0; i < 14; i++)
        CHECK(kept[i], 0x1004 + i);
    check_context = 0;
    return result;
}

static void put(char c) { MMIO32(UART_BASE) = (u32)(uint8_t)c; }
void finish(u64 code) {
#ifdef RESET
    code = 1;
#endif
    psci(code == 0 ? SYSTEM_OFF : SYSTEM_RESET, 0, 0, 0);
    print("still there\n");
    for (;;)
        __asm__ volatile("wfi");
}
#include "../bare/check.inc"

static void show_value(const char *name, u64 value) {
    print(name);
    print(" ");
    print_hex(value);
    print("\n");
}

/* EDPRSR of a hart: PU, SPD, SR, OSLK. QEMU has no debug registers. */
#define EDPRSR(hart) MMIO32(0xb010314 + 0x100000 * (u64)(hart))
#define EDPRCR(hart) MMIO32(0xb010310 + 0x100000 * (u64)(hart))
#define EDLAR(hart) MMIO32(0xb010fb0 + 0x100000 * (u64)(hart))
#define OSLAR(hart) MMIO32(0xb010300 + 0x100000 * (u64)(hart))
enum { PU = 1, SPD = 2, SR = 8, OSLK = 32, CORENPDRQ = 1, CWRR = 2, COREPURQ = 8, KEY = 0xc5acce55 };

/* What hart 1 found. */
static volatile u64 found_context, found_level, found_mpidr, found_daif, found_control, is_done, may_go_off;

static volatile u64 wakes_first;

/* Hart 0 gives up its power, and hart 1 sends it an interrupt. */
static void wake_first(void) {
    while (EDPRSR(0) & PU)
        ;
    found_context = EDPRSR(0);
    MMIO32(GICD_BASE + 0xf00) = 1 << 16 | 1; /* SGI 1 to hart 0 */
}

void second(u64 context) {
    u64 ignored[14];
    if (wakes_first) {
        wake_first();
        wakes_first = 0;
        call(CPU_OFF, 0, 0, 0, ignored);
    }
    found_context = context;
    found_level = mrs(CurrentEL);
    found_mpidr = mrs(mpidr_el1) & 0xffffff;
    found_daif = mrs(daif);
    found_control = mrs(sctlr_el1) & 0x1005; /* I, C, M */
    dsb();
    is_done = 1;
    __asm__ volatile("dsb sy\n sev");
    while (!may_go_off)
        ;
    msr(sctlr_el1, mrs(sctlr_el1) | 0x1000);
    call(CPU_OFF, 0, 0, 0, ignored);
}

static void wait_until_off(void) {
    while (psci(AFFINITY_INFO, 1, 0, 0) != AFFINITY_OFF)
        ;
}

static void start_second(u64 function, u64 context) {
    is_done = may_go_off = 0;
    dsb();
    CHECK(psci(function, 1, (u64)second_entry, context), 0);
    const u64 again = psci(function, 1, (u64)second_entry, context);
    if (!is_qemu) /* QEMU 7.2 starts a hart later, and does not see that it is pending */
        CHECK(again == (u64)ALREADY_ON || again == (u64)ON_PENDING, 1);
    while (!is_done)
        ;
    CHECK(psci(AFFINITY_INFO, 1, 0, 0), AFFINITY_ON);
    CHECK(psci(CPU_ON, 1, (u64)second_entry, 0), (u64)ALREADY_ON);
    may_go_off = 1;
    dsb();
    show_value("context", found_context);
    show_value("level", found_level);
    show_value("mpidr", found_mpidr);
    show_value("daif", found_daif);
    show_value("control", found_control);
    wait_until_off();
}

static void test_description(void) {
    show_value("version", psci(VERSION, 0, 0, 0));
    show_value("migrate_info_type", psci(MIGRATE_INFO_TYPE, 0, 0, 0));
    show_value("unknown", psci(0x8400ff00, 0, 0, 0));
    show_value("unknown_64", psci(UINT64_C(0xc400ff00), 0, 0, 0));
    static const u64 functions[] = {VERSION, CPU_SUSPEND, CPU_OFF, CPU_ON, AFFINITY_INFO, SYSTEM_OFF, SYSTEM_RESET, FEATURES, 0x8400ff00};
    for (u32 i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        print_hex(functions[i]);
        show_value(" has features", psci(FEATURES, functions[i], 0, 0));
    }
    if (is_qemu) /* QEMU 7.2 has no calls of SMCCC beside those of PSCI */
        return;
    CHECK(psci(SMCCC_VERSION, 0, 0, 0), 0x10001);
    CHECK(psci(FEATURES, SMCCC_VERSION, 0, 0), 0);
    CHECK(psci(SMCCC_ARCH_FEATURES, SMCCC_VERSION, 0, 0), 0);
    CHECK(psci(SMCCC_ARCH_FEATURES, 0x80008000, 0, 0), (u64)NOT_SUPPORTED);
    CHECK(psci(FEATURES, 0, 0, 0), (u64)NOT_SUPPORTED);
}

static void test_harts(void) {
    CHECK(psci(AFFINITY_INFO, 0, 0, 0), AFFINITY_ON);
    CHECK(psci(AFFINITY_INFO, 1, 0, 0), AFFINITY_OFF);
    CHECK(psci(AFFINITY_INFO, 2, 0, 0), (u64)INVALID_PARAMETERS);
    CHECK(psci(AFFINITY_INFO, 0x101, 0, 0), (u64)INVALID_PARAMETERS);
    CHECK(psci(AFFINITY_INFO, UINT64_C(1) << 32, 0, 0), (u64)INVALID_PARAMETERS);
    CHECK(psci(CPU_ON, 0, (u64)second_entry, 0), (u64)ALREADY_ON);
    CHECK(psci(CPU_ON, 2, (u64)second_entry, 0), (u64)INVALID_PARAMETERS);
    if (!is_qemu) { /* QEMU 7.2 takes any level and any address, and 64 bits in calls of 32 */
        CHECK(psci(AFFINITY_INFO_32, UINT64_C(1) << 32 | 1, 0, 0), AFFINITY_OFF);
        CHECK(psci(AFFINITY_INFO, 0, 1, 0), (u64)INVALID_PARAMETERS);
        CHECK(psci(CPU_ON, 1, (u64)second_entry + 2, 0), (u64)INVALID_ADDRESS);
        CHECK(psci(AFFINITY_INFO, 1, 0, 0), AFFINITY_OFF);
    }
    start_second(CPU_ON, UINT64_C(0x123456789abcdef0));
    start_second(CPU_ON_32, is_qemu ? 0x9abcdef0 : UINT64_C(0x123456789abcdef0)); /* 32 bits of it */
}

/* The interrupt of the virtual timer ends a standby, masked as it is. */
static void test_standby(void) {
    MMIO32(GICD_BASE + 0x100) = 1u << 27;
    MMIO32(GICD_BASE) = 1;
    MMIO32(GICC_BASE + 4) = 0xf0;
    MMIO32(GICC_BASE) = 1;
    CHECK(MMIO32(GICC_BASE + 4) & 0x80, 0x80);
    msr(cntv_cval_el0, mrs(cntvct_el0) + 1000);
    msr(cntv_ctl_el0, 1);
    CHECK(psci(CPU_SUSPEND, 0, 0, 0), 0);
    CHECK(mrs(cntv_ctl_el0), 5);
    CHECK(MMIO32(GICC_BASE + 0xc), 27);
    msr(cntv_ctl_el0, 2);
    MMIO32(GICC_BASE + 0x10) = 27;
    CHECK(psci(CPU_SUSPEND, 1 << 24, 0, 0), (u64)INVALID_PARAMETERS); /* not of the hart alone */
}

/* Without power until an interrupt. QEMU 7.2 takes that for standby. */
static void test_power_down(void) {
    CHECK(psci(CPU_SUSPEND, 1 << 16, (u64)second_entry + 2, 0), (u64)INVALID_ADDRESS);
    wakes_first = 1;
    dsb();
    CHECK(psci(CPU_ON, 1, (u64)second_entry, 0), 0);
    MMIO32(GICD_BASE + 0x100) = 1 << 1;
    msr(cntv_cval_el0, mrs(cntvct_el0)); /* the timer loses power, too, and wakes nobody */
    msr(sctlr_el1, mrs(sctlr_el1) | 0x1000);
    CHECK(power_down(CPU_SUSPEND, 1 << 16), 0x5a5a5a5a12345678);
    CHECK(mrs(sctlr_el1) & 0x1000, 0);
    CHECK(mrs(CurrentEL), 4);
    CHECK(found_context, 0); /* EDPRSR without power */
    CHECK(MMIO32(GICC_BASE + 0xc), 1 << 10 | 1);
    MMIO32(GICC_BASE + 0x10) = 1 << 10 | 1;
    CHECK(EDPRSR(0) & (PU | SPD | SR), PU | SPD | SR);
    wait_until_off();
    while (EDPRSR(1) & PU)
        ;
    /* An interrupt that is pending comes first. */
    MMIO32(GICD_BASE + 0xf00) = 2 << 24 | 1;
    CHECK(power_down(CPU_SUSPEND, 1 << 16), UINT64_C(1) << 63);
    CHECK(MMIO32(GICC_BASE + 0xc), 1);
    MMIO32(GICC_BASE + 0x10) = 1;
    CHECK(psci(AFFINITY_INFO, 0, 0, 0), AFFINITY_ON);
}

static void start_silently(void) {
    is_done = may_go_off = 0;
    dsb();
    CHECK(psci(CPU_ON, 1, (u64)second_entry, 0), 0);
    while (!is_done)
        ;
}

/* EDPRCR keeps power, gives power, and resets. */
static void test_debugger(void) {
    EDLAR(1) = KEY;
    CHECK(EDPRSR(1), 0);
    EDPRCR(1) = CWRR; /* a hart without power is not reset */
    CHECK(EDPRSR(1), 0);
    EDPRCR(1) = COREPURQ;
    CHECK(EDPRCR(1), COREPURQ | CORENPDRQ); /* CORENPDRQ begins as COREPURQ */
    CHECK(EDPRSR(1), PU | SPD | SR | OSLK);
    CHECK(EDPRSR(1), PU | OSLK);
    CHECK(psci(AFFINITY_INFO, 1, 0, 0), AFFINITY_OFF); /* the firmware has it */
    start_silently();                                  /* and was off in appearance: */
    CHECK(EDPRSR(1), PU | SR | OSLK);                  /* a Warm reset ended that */
    may_go_off = 1;
    dsb();
    wait_until_off();
    OSLAR(1) = 0;
    EDPRCR(1) = COREPURQ;
    EDPRCR(1) = 0;
    while (EDPRSR(1) & PU)
        ;
    /* A reset by CWRR while it runs: the firmware takes it for off. A lock forbids it. */
    start_silently();
    CHECK(EDPRSR(1), PU | SPD | SR | OSLK);
    EDPRCR(1) = CWRR;
    CHECK(EDPRSR(1), PU | OSLK);
    CHECK(psci(AFFINITY_INFO, 1, 0, 0), AFFINITY_ON);
    OSLAR(1) = 0;
    EDPRCR(1) = CORENPDRQ | CWRR;
    wait_until_off();
    CHECK(EDPRSR(1), PU | SR);
    CHECK(EDPRCR(1), CORENPDRQ);
    EDPRCR(1) = 0;
    while (EDPRSR(1) & PU)
        ;
}

int main(void) {
    is_qemu = MMIO32(RAM_BASE + 0x1ff000) == 0x756d6571;
    if (is_qemu)
        MMIO32(UART_BASE + 0x30) = 0x301;
    test_description();
    test_harts();
    test_standby();
    if (!is_qemu) {
        test_power_down();
        test_debugger();
    }
    finish_all();
}
