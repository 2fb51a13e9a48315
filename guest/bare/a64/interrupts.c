/* SPDX-License-Identifier: MIT
 * The GICv2 and the generic timer: routing, masks, priorities, groups, and WFI. */
#include "a64.h"

enum { CTLR = 0, TYPER = 4, IGROUPR = 0x80, ISENABLER = 0x100, ICENABLER = 0x180, ISPENDR = 0x200, ICPENDR = 0x280, ISACTIVER = 0x300 };
enum { IPRIORITYR = 0x400, ITARGETSR = 0x800, ICFGR = 0xc00, SGIR = 0xf00, CPENDSGIR = 0xf10, SPENDSGIR = 0xf20 };
enum {
    C_CTLR = 0,
    PMR = 4,
    BPR = 8,
    IAR = 0xc,
    EOIR = 0x10,
    RPR = 0x14,
    HPPIR = 0x18,
    ABPR = 0x1c,
    AIAR = 0x20,
    AEOIR = 0x24,
    DIR = 0x1000
};
enum { NOP = 0xd503201f, TIMER_P = 30, TIMER_V = 27, TIMER_PS = 29 };
#define GICD(offset) MMIO32(GICD_BASE + (offset))
#define GICC(offset) MMIO32(GICC_BASE + (offset))

static void start_over(void) {
    GICD(CTLR) = GICC(C_CTLR) = 0;
    GICD(ICENABLER) = 0xffffffff;
    GICD(ICPENDR) = 0xffffffff;
    for (u32 i = 0; i < 16; i++)
        MMIO8(GICD_BASE + CPENDSGIR + i) = 0xff;
    for (u32 i = 0; i < 32; i++)
        MMIO8(GICD_BASE + IPRIORITYR + i) = 0xa0;
    GICD(IGROUPR) = 0;
    GICC(PMR) = 0xf0;
    GICC(BPR) = 3;
    GICC(ABPR) = 3;
    msr(cntp_ctl_el0, 0);
    msr(cntv_ctl_el0, 0);
    msr(scr_el3, 0x431);
}

static void test_registers(void) {
    start_over();
    show("typer", GICD(TYPER) & 0x4ff);
    show("enabled", GICD(ISENABLER));
    GICD(ISENABLER) = 1u << TIMER_P | 1u << TIMER_V;
    show("enabled", GICD(ISENABLER));
    GICD(ICENABLER) = 1u << TIMER_V;
    show("enabled", GICD(ICENABLER));
    show("sgi config", GICD(ICFGR));
    GICD(ICFGR + 8) = 0xffffffff;
    show("spi config", GICD(ICFGR + 8) & 0xaaaaaaaa);
    GICD(ICFGR + 8) = 0;
    GICD(IPRIORITYR + 32) = 0x40302010;
    show("priority", GICD(IPRIORITYR + 32));
    show("priority byte", MMIO8(GICD_BASE + IPRIORITYR + 34));
    GICD(ISPENDR + 4) = 6;
    show("pending", GICD(ISPENDR + 4));
    GICD(ICPENDR + 4) = 2;
    show("pending", GICD(ICPENDR + 4));
    GICD(ICPENDR + 4) = 4;
    GICC(PMR) = 0x80;
    show("pmr", GICC(PMR));
    show("running", GICC(RPR));
    show("iar", GICC(IAR));
    show("highest", GICC(HPPIR));
    for (u32 i = 0; i < 4; i++)
        show("id", GICD(0xff0 + 4 * i));
    show("revision", GICD(0xfe8));
}

/* Acknowledge, running priority, preemption, end: in Secure state, group 0. */
static void test_priorities(void) {
    start_over();
    GICD(CTLR) = 3;
    GICC(C_CTLR) = 7; /* both groups, AckCtl */
    MMIO8(GICD_BASE + IPRIORITYR + 1) = 0x80;
    MMIO8(GICD_BASE + IPRIORITYR + 2) = 0x40;
    MMIO8(GICD_BASE + IPRIORITYR + 3) = 0x40;
    GICD(ISENABLER) = 0xffff;
    GICD(SGIR) = 2 << 24 | 1; /* to this hart */
    CHECK(GICC(HPPIR), 1);
    CHECK(GICC(IAR), 1);
    CHECK(GICC(RPR), 0x80);
    GICD(SGIR) = 2 << 24 | 3;
    GICD(SGIR) = 2 << 24 | 2;
    CHECK(GICC(IAR), 2); /* the lower number of two equals */
    CHECK(GICC(RPR), 0x40);
    CHECK(GICC(IAR), 1023); /* 3 does not preempt 2 */
    CHECK(GICD(ISACTIVER), 6);
    GICC(EOIR) = 2;
    CHECK(GICC(RPR), 0x80);
    CHECK(GICC(IAR), 3);
    GICC(EOIR) = 3;
    GICC(EOIR) = 1;
    CHECK(GICC(RPR), 0xff);
    CHECK(GICD(ISACTIVER), 0);
    GICD(SGIR) = 2 << 24 | 1; /* masked by priority */
    GICC(PMR) = 0x80;
    CHECK(GICC(IAR), 1023);
    GICC(PMR) = 0x88;
    CHECK(GICC(IAR), 1);
    GICC(EOIR) = 1;
    GICD(IGROUPR) = 1 << 4; /* group 1 without AckCtl */
    GICC(C_CTLR) = 3;
    GICC(PMR) = 0xf0;
    GICD(SGIR) = 2 << 24 | 1 << 15 | 4;
    CHECK(GICC(HPPIR), 1022);
    CHECK(GICC(IAR), 1022);
    CHECK_BUT_QEMU(GICC(AIAR), 4); /* QEMU has no aliased registers but ABPR */
    GICC(AEOIR) = 4;
    GICC(C_CTLR) = 0x203; /* EOImodeS: drop, then deactivate */
    GICD(SGIR) = 2 << 24 | 1;
    CHECK(GICC(IAR), 1);
    GICC(EOIR) = 1;
    CHECK(GICC(RPR), 0xff);
    CHECK(GICD(ISACTIVER), 2);
    GICC(DIR) = 1;
    CHECK(GICD(ISACTIVER), 0);
}

/* Where an SGI of each group arrives. irq of SCR_EL3 is 1 << 1, fiq 1 << 2. */
static void test_routes(void) {
    static const struct {
        u64 scr, spsr;
        u32 is_fiq, el, vector; /* el 0: none comes */
    } routes[] = {
        {0, EL1H & ~0x80, 0, 1, 5}, {0, EL1H, 0, 0, 0},          {0, EL0T & ~0x80, 0, 1, 9},
        {0, EL0T, 0, 0, 0},         {0, EL1T & ~0x80, 0, 1, 1},  {2, EL1H, 0, 3, 9}, /* EL3 is above: no mask holds it */
        {2, EL0T, 0, 3, 9},         {2, EL3H, 0, 0, 0},          {2, EL3H & ~0x80, 0, 3, 5},
        {2, EL3T & ~0x80, 0, 3, 1}, {0, EL3H & ~0x80, 0, 0, 0}, /* EL1's, while at EL3 */
        {4, EL1H, 1, 3, 10},        {4, EL3H & ~0x40, 1, 3, 6},  {0, EL1H & ~0x40, 1, 1, 6},
        {0, EL1H, 1, 0, 0},         {0, EL0T & ~0x40, 1, 1, 10}, {4, EL1H, 0, 0, 0},
    };
    for (u32 i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        start_over();
        GICD(CTLR) = 3;
        GICC(C_CTLR) = 0xf; /* FIQEn */
        GICD(IGROUPR) = 1 << 6;
        GICD(ISENABLER) = 0xffff;
        GICD(SGIR) = 2 << 24 | (routes[i].is_fiq ? 5 : 1 << 15 | 6);
        const void *code = code_of(NOP);
        msr(scr_el3, 0x431 | routes[i].scr);
        const outcome o = run(routes[i].spsr, code, 0, 0);
        msr(scr_el3, 0x431);
        check_context = i + 1;
        CHECK(o.el, routes[i].el != 0 ? routes[i].el : (routes[i].spsr & 8 ? 3 : 1));
        if (routes[i].el != 0) {
            CHECK(o.vector, routes[i].vector);
            CHECK(o.elr, (u64)code);
            CHECK(o.spsr, routes[i].spsr);
        } else {
            CHECK(o.esr, 0xf2000777);
        }
        CHECK(GICC(IAR), routes[i].is_fiq ? 5 : 6);
        GICC(EOIR) = routes[i].is_fiq ? 5 : 6;
    }
}

/* Each timer raises its interrupt, ends WFI, and its condition stays until CVAL moves. */
static void test_timers(void) {
    const u64 frequency = mrs(cntfrq_el0);
    CHECK(frequency != 0, 1);
    CHECK(mrs(cntvct_el0) <= mrs(cntpct_el0), 1);
    for (u32 which = 0; which < 2; which++) {
        const u32 intid = which == 0 ? TIMER_P : TIMER_V;
        start_over();
        GICD(CTLR) = 3;
        GICC(C_CTLR) = 7;
        GICD(IGROUPR) = 0xffffffff;
        GICD(ISENABLER) = 1u << intid;
        check_context = which + 1;
        const u64 begin = mrs(cntpct_el0), compare = begin + frequency / 1000;
        if (which == 0) {
            msr(cntp_cval_el0, compare);
            msr(cntp_ctl_el0, 1);
        } else {
            msr(cntv_cval_el0, compare);
            msr(cntv_ctl_el0, 1);
        }
        const u64 control = which == 0 ? mrs(cntp_ctl_el0) : mrs(cntv_ctl_el0);
        const u32 highest = GICC(HPPIR);
        const int is_early = mrs(cntpct_el0) < compare; /* not always under QEMU on a busy host */
        CHECK(is_early ? control : 1, 1);
        CHECK(is_early ? highest : 1023, 1023);
        __asm__ volatile("wfi" ::: "memory"); /* ends with an interrupt that is masked */
        while (mrs(cntpct_el0) < compare)
            ;
        CHECK(mrs(cntpct_el0) >= compare, 1);
        CHECK(which == 0 ? mrs(cntp_ctl_el0) : mrs(cntv_ctl_el0), 5);
        CHECK(mrs(isr_el1), 0x80);
        CHECK(GICD(ISPENDR) >> intid & 1, 1);
        const outcome o = run(EL1H & ~UINT64_C(0x80), code_of(NOP), 0, 0);
        CHECK(o.el, 1);
        CHECK(o.vector, 5);
        CHECK(GICC(IAR), intid);
        if (which == 0)
            msr(cntp_cval_el0, UINT64_MAX);
        else
            msr(cntv_ctl_el0, 3); /* IMASK: the condition holds, the line falls */
        CHECK(which == 0 ? mrs(cntp_ctl_el0) : mrs(cntv_ctl_el0), which == 0 ? 1 : 7);
        GICC(EOIR) = intid;
        CHECK(GICC(IAR), 1023);
        CHECK(mrs(isr_el1), 0);
    }
    msr(cntp_ctl_el0, 0);
    msr(cntp_tval_el0, 0xffffffff); /* -1: CVAL is behind the counter */
    CHECK((int64_t)(mrs(cntp_cval_el0) - mrs(cntpct_el0)) < 0, 1);
    msr(cntp_tval_el0, 0x7fffffff);
    CHECK((int64_t)(mrs(cntp_cval_el0) - mrs(cntpct_el0)) > 0x70000000, 1);
    CHECK(mrs(cntp_tval_el0) > 0x70000000 && mrs(cntp_tval_el0) <= 0x7fffffff, 1);
}

/* Non-secure software at EL1: halves of priorities, group 1 alone. The loads and stores run at EL1. */
static u32 ns_read(u64 address) { return (u32)run(EL1H, code_of(0xb9400001), address, 0).x[1]; }       /* ldr w1, [x0] */
static void ns_write(u64 address, u32 value) { (void)run(EL1H, code_of(0xb9000001), address, value); } /* str w1, [x0] */
static void test_non_secure(void) {
    start_over();
    GICD(IGROUPR) = 1 << 7;
    GICD(CTLR) = 0;
    MMIO8(GICD_BASE + IPRIORITYR + 6) = 0x20;
    MMIO8(GICD_BASE + IPRIORITYR + 7) = 0xc0;
    show("ns priorities", ns_read(GICD_BASE + IPRIORITYR + 4));
    ns_write(GICD_BASE + IPRIORITYR + 4, 0x50505050);
    show("s priorities", GICD(IPRIORITYR + 4));
    ns_write(GICD_BASE + CTLR, 1);
    CHECK(GICD(CTLR), 2);
    CHECK(ns_read(GICD_BASE + CTLR), 1);
    CHECK(ns_read(GICD_BASE + IGROUPR), 0);
    ns_write(GICD_BASE + ISENABLER, 0xc0);
    CHECK(GICD(ISENABLER) & 0xc0, 0xc0);
    GICC(PMR) = 0xf0;
    CHECK(ns_read(GICC_BASE + PMR), 0xe0);
    ns_write(GICC_BASE + PMR, 0x80);
    CHECK(GICC(PMR), 0xc0);
    GICC(PMR) = 0x40;
    CHECK(ns_read(GICC_BASE + PMR), 0);
    ns_write(GICC_BASE + PMR, 0xf0);
    CHECK(GICC(PMR), 0x40);
    GICC(PMR) = 0xf0;
    ns_write(GICC_BASE + C_CTLR, 1);
    CHECK(GICC(C_CTLR), 2);
    GICD(SGIR) = 2 << 24 | 1 << 15 | 7;
    CHECK(ns_read(GICC_BASE + HPPIR), 7);
    CHECK(ns_read(GICC_BASE + IAR), 7);
    show("ns running", ns_read(GICC_BASE + RPR));
    ns_write(GICC_BASE + EOIR, 7);
    CHECK(ns_read(GICC_BASE + RPR), 0xff);
    ns_write(GICD_BASE + SGIR, 2 << 24 | 6); /* group 0: not for Non-secure software to send */
    CHECK_BUT_QEMU(GICC(HPPIR), 1023);       /* table 4-22 */
}

int main(void) {
    msr(sctlr_el1, 0x30d00980);
    test_registers();
    test_priorities();
    test_routes();
    test_timers();
    test_non_secure();
    return 0;
}
