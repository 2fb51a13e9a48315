/* SPDX-License-Identifier: MIT
 * External debug: hart 0 finds the debug components of hart 1, halts it, inspects it, steps it and
 * lets it go. QEMU has no external debug, so expectations are those of the manual, DDI 0487, H2 to
 * H9, and of the Cortex-A53's, DDI 0500. Hart 1 runs at EL3. */
#include "a64.h"

#define ROM UINT64_C(0x0b000000)
#define DEBUG UINT64_C(0x0b110000)
#define CTI UINT64_C(0x0b120000)
#define DBG(offset) MMIO32(DEBUG + (offset))
#define XT(offset) MMIO32(CTI + (offset))

enum {
    EDESR = 0x20,
    EDECR = 0x24,
    EDWAR = 0x30,
    DTRRX = 0x80,
    EDITR = 0x84,
    EDSCR = 0x88,
    DTRTX = 0x8c,
    EDRCR = 0x90,
    EDECCR = 0x98,
    EDPCSR = 0xa0,
    EDPCSR_HIGH = 0xac,
    OSLAR = 0x300,
    EDPRCR = 0x310,
    EDPRSR = 0x314,
    BVR3 = 0x430,
    BCR3 = 0x438,
    WVR0 = 0x800,
    WCR0 = 0x808,
    CLAIMSET = 0xfa0,
    CLAIMCLR = 0xfa4,
    LAR = 0xfb0,
    LSR = 0xfb4,
    AUTHSTATUS = 0xfb8,
    CONTROL = 0,
    INTACK = 0x10,
    APPPULSE = 0x1c,
    OUTEN0 = 0xa0,
    OUTEN1 = 0xa4,
    TRIGOUT = 0x134,
    GATE = 0x140,
};
enum { ITE = 1 << 24, TXFULL = 1 << 29, RXFULL = 1 << 30, ERR = 1 << 6, HDE = 1 << 14, MA = 1 << 20 };
enum { EXTERNAL_ABORT = 0x96000010, KEY = 0xc5acce55 };

/* What hart 1 runs. x19 counts rounds, x20 is the address of `word`. */
void target(void);
void start_second(void (*code)(void));
extern u32 target_loop[], target_hlt[], target_undefined[];
volatile u64 word[16] __attribute__((aligned(64))), is_here;
__asm__("    .text\n"
        "    .balign 64\n"
        "target: mov x19, #0\n"
        "    ldr x20, =word\n"
        "    mov x21, #7\n"
        "    ldr x1, =is_here\n"
        "    str x21, [x1]\n"
        "target_loop:\n"
        "    add x19, x19, #1\n"
        "    str x19, [x20]\n"
        "    ldr x22, [x20, #8]\n"
        "    cbz x22, target_loop\n"
        "    mov x22, #0\n"
        "    str xzr, [x20, #8]\n"
        "target_hlt: hlt #5\n"
        "    b target_loop\n"
        "target_undefined: udf #0\n"
        "    .ltorg\n");

/* -- The debugger's side (sequences of H4.4). */
static void wait_ready(void) {
    while (!(DBG(EDSCR) & ITE))
        ;
}
static void execute(u32 insn) {
    wait_ready();
    DBG(EDITR) = insn;
    wait_ready();
}
static u64 get_x(u32 n) {
    execute(0xd5130400 | n); /* msr dbgdtr_el0, xn */
    while (!(DBG(EDSCR) & TXFULL))
        ;
    const u64 low = DBG(DTRTX);
    return (u64)DBG(DTRRX) << 32 | low;
}
static void set_x(u32 n, u64 value) {
    wait_ready();
    DBG(DTRTX) = (u32)(value >> 32);
    DBG(DTRRX) = (u32)value;
    execute(0xd5330400 | n); /* mrs xn, dbgdtr_el0 */
}
static u64 get_special(u32 mrs_x0) {
    const u64 x0 = get_x(0);
    execute(mrs_x0);
    const u64 value = get_x(0);
    set_x(0, x0);
    return value;
}
static void set_special(u32 msr_x0, u64 value) {
    const u64 x0 = get_x(0);
    set_x(0, value);
    execute(msr_x0);
    set_x(0, x0);
}
static u64 get_dlr(void) { return get_special(0xd53b4520); }
static void set_dlr(u64 pc) { set_special(0xd51b4520, pc); }
static u32 status(void) { return DBG(EDSCR) & 0x3f; }
static u32 wait_halted(void) {
    for (u32 i = 0; i < 10000; i++) {
        const u32 now = status();
        if (now != 2)
            return now;
    }
    return 0;
}
static u32 halt(void) {
    XT(APPPULSE) = 1;
    const u32 why = wait_halted();
    XT(INTACK) = 1;
    return why;
}
static void restart(void) { XT(APPPULSE) = 2; }

/* -- The checks. */
static outcome read_of(u64 address) { return run(EL3H, code_of(0xb9400001), address, 0); /* ldr w1, [x0] */ }
static u64 abort_of(u64 address) { return read_of(address).esr; }

static void test_discovery(void) {
    static const u32 cidr[] = {0x0d, 0x10, 0x05, 0xb1};
    for (u32 i = 0; i < 4; i++) {
        CHECK(MMIO32(ROM + 0xff0 + 4 * i), cidr[i]);
        CHECK(DBG(0xff0 + 4 * i), i == 1 ? 0x90 : cidr[i]);
        CHECK(XT(0xff0 + 4 * i), i == 1 ? 0x90 : cidr[i]);
    }
    CHECK(MMIO32(ROM + 0x10), 0x110003); /* the second core: debug, CTI, no trace */
    CHECK(MMIO32(ROM + 0x14), 0x120003);
    CHECK(MMIO32(ROM + 0x1c), 0x140002);
    CHECK(MMIO32(ROM + 0x20), 0);
    CHECK(mrs(mdrar_el1), ROM | 3);
    CHECK(DBG(0xfcc), 0x15);
    CHECK(XT(0xfcc), 0x14);
    CHECK(DBG(0xfa8), 0x80000001); /* affinity */
    CHECK(XT(0xfa8), 0x80000001);
    CHECK(DBG(0xfbc), 0x47706a15);
    CHECK(XT(0xfc8), 0x40800);
    CHECK(DBG(0xd00), 0x410fd034);
    CHECK(DBG(0xfe0) | (DBG(0xfe4) & 15) << 8, 0xd03); /* part */
    CHECK(XT(0xfe0) | (XT(0xfe4) & 15) << 8, 0x9a8);
    CHECK(MMIO32(ROM + 0xfe0) | (MMIO32(ROM + 0xfe4) & 15) << 8, 0x4a1);
    CHECK(DBG(0xd28) >> 12 & 15, 5); /* breakpoints, watchpoints, context breakpoints, less one */
    CHECK(DBG(0xd28) >> 20 & 15, 3);
    CHECK(DBG(0xd28) >> 28, 1);
    CHECK(DBG(AUTHSTATUS), 0xff);
    CHECK(abort_of(DEBUG + 2), 0x96000021);                                        /* misaligned, and memory is Device */
    CHECK(run(EL3H, code_of(0xf9400001), DEBUG + LSR - 4, 0).esr, EXTERNAL_ABORT); /* 64 bits */
}

static void test_locks(void) {
    CHECK(DBG(LSR), 3);
    CHECK(XT(LSR), 3);
    CHECK(DBG(EDPRSR), 0x2b); /* PU, SPD, SR, OSLK; the lock keeps the sticky ones */
    CHECK(DBG(EDPRSR), 0x2b);
    DBG(OSLAR) = 0; /* ignored */
    CHECK(DBG(EDPRSR) >> 5 & 1, 1);
    DBG(LAR) = KEY;
    XT(LAR) = KEY;
    CHECK(DBG(LSR), 1);
    CHECK(XT(LSR), 1);
    CHECK(DBG(EDPRSR), 0x2b);
    CHECK(DBG(EDPRSR), 0x21);
    CHECK(abort_of(DEBUG + EDSCR), EXTERNAL_ABORT);
    CHECK(abort_of(DEBUG + CLAIMCLR), EXTERNAL_ABORT);
    CHECK(abort_of(DEBUG + BVR3), EXTERNAL_ABORT);
    CHECK(DBG(EDECR), 0); /* the debug power domain has no OS lock */
    DBG(OSLAR) = 0;
    CHECK(DBG(EDPRSR), 1);
    CHECK(status(), 2);
    DBG(EDPRCR) = 9;
    CHECK(DBG(EDPRCR), 9);
    CHECK(DBG(CLAIMSET), 0xff);
    DBG(CLAIMSET) = 2;
    CHECK(DBG(CLAIMCLR), 2);
    DBG(CLAIMCLR) = 2;
    CHECK(DBG(CLAIMCLR), 0);
    CHECK(XT(GATE), 0xf);
    XT(CONTROL) = 1;
    XT(GATE) = 0xc;
    XT(OUTEN0) = 1;
    XT(OUTEN1) = 2;
    DBG(EDSCR) = HDE;
}

static bool is_in_loop(u64 pc) { return pc >= (u64)target_loop && pc < (u64)target_loop + 16; }

static void test_halt(void) {
    start_second(target);
    while (!is_here)
        ;
    CHECK(DBG(EDSCR) >> 25 & 1, 1); /* PipeAdv */
    CHECK(is_in_loop((u64)DBG(EDPCSR) | (u64)DBG(EDPCSR_HIGH) << 32), true);
    XT(APPPULSE) = 1;
    CHECK(wait_halted(), 0x13);
    CHECK(XT(TRIGOUT) & 1, 1); /* up until it is acknowledged */
    XT(INTACK) = 1;
    CHECK(XT(TRIGOUT) & 1, 0);
    CHECK(DBG(EDPRSR), 0x11);
    wait_ready();
    CHECK(DBG(EDSCR), 0x13 | 3 << 8 | 0xf << 10 | HDE | ITE); /* EL3, Secure */
    CHECK(DBG(EDPCSR), 0xffffffff);
    CHECK(is_in_loop(get_dlr()), true);
    CHECK(get_x(21), 7);
    CHECK(get_x(20), (u64)word);
    const u64 rounds = get_x(19);
    CHECK(word[0] == rounds || word[0] + 1 == rounds, true);
    for (volatile u32 i = 0; i < 1000; i++)
        ;
    CHECK(get_x(19), rounds);
    /* Snoops and broadcast maintenance act on a halted core; else this would hang, or read old data. */
    word[8] = 99;
    __asm__ volatile("dsb sy\n ic ialluis\n tlbi alle3is\n tlbi vmalle1is\n dsb sy\n isb" ::: "memory");
    const u64 x0 = get_x(0), x1 = get_x(1);
    set_x(0, (u64)&word[8]);
    execute(0xf8408401); /* ldr x1, [x0], #8 */
    CHECK(get_x(1), 99);
    set_x(1, 98);
    set_x(0, (u64)&word[8]);
    execute(0xf8008401); /* str x1, [x0], #8 */
    CHECK(word[8], 98);
    set_x(0, x0);
    set_x(1, x1);
    set_x(21, 0x123456789abcdef0);
    CHECK(get_x(21), 0x123456789abcdef0);
    CHECK(get_special(0xd53b4500) & 0x3ff, 0x3cd); /* DSPSR: EL3h, masked */
}

static void test_errors(void) {
    DBG(DTRTX) = 1;
    CHECK(DBG(EDSCR) & (TXFULL | RXFULL | ERR), 0);
    (void)DBG(DTRTX); /* nothing there: underrun */
    CHECK(DBG(EDSCR) & (1 << 26 | ERR), 1 << 26 | ERR);
    const u64 x21 = word[0];
    DBG(EDITR) = 0xd2800015; /* mov x21, #0 has no effect while ERR is set */
    CHECK(DBG(EDSCR) >> 28 & 1, 0);
    CHECK(word[0], x21);
    DBG(EDRCR) = 1 << 2;
    CHECK(DBG(EDSCR) & (1 << 26 | ERR), 0);
    CHECK(get_x(21), 0x123456789abcdef0);
    DBG(DTRRX) = 1;
    DBG(DTRRX) = 2; /* overrun */
    CHECK(DBG(EDSCR) & (1 << 27 | ERR | RXFULL), (u32)(1 << 27 | ERR | RXFULL));
    CHECK(DBG(DTRRX), 1);
    DBG(EDRCR) = 1 << 2;
    execute(0xd5330500 | 3); /* mrs x3, dbgdtrrx_el0 */
    CHECK(DBG(EDSCR) & RXFULL, 0);
    CHECK(get_x(3), 1);
    DBG(EDSCR) = HDE | MA;
    DBG(EDITR) = 0xd2800015;
    CHECK(DBG(EDSCR) & (1 << 28 | ERR), 1 << 28 | ERR); /* an instruction in Memory access mode */
    DBG(EDRCR) = 1 << 2;
    DBG(EDSCR) = HDE;
    CHECK(DBG(EDSCR) & (1 << 28 | ERR | MA), 0);
}

/* Instructions that Debug state does not have are UNDEFINED: an exception without a vector. */
static void test_exceptions(void) {
    static const u32 refused[] = {0xd4000001, 0xd4200000, 0xd503207f, 0x14000000, 0x8b010000,
                                  0xa9400400, 0xd69f03e0, 0xd4a00002, 0xd53b4200};
    const u64 dlr = get_dlr(), dspsr = get_special(0xd53b4500);
    for (u32 i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        check_context = refused[i];
        execute(refused[i]);
        CHECK(DBG(EDSCR) & ERR, ERR);
        DBG(EDRCR) = 1 << 2;
        CHECK(get_special(0xd53e5200), 0x02000000); /* ESR_EL3 */
        CHECK(status(), 0x13);
    }
    const u64 x0 = get_x(0);
    set_x(0, 0x40000000); /* nobody answers there */
    execute(0xb8404401);
    CHECK(DBG(EDSCR) & ERR, ERR);
    DBG(EDRCR) = 1 << 2;
    CHECK(get_x(0), 0x40000000);
    CHECK(get_special(0xd53e5200), EXTERNAL_ABORT);
    CHECK(get_special(0xd53e6000), 0x40000000); /* FAR_EL3 */
    set_x(0, x0);
    CHECK(get_dlr() != dlr, true); /* UNKNOWN, so the debugger writes it back */
    set_dlr(dlr);
    set_special(0xd51b4500, dspsr);
}

/* The level of Debug state: DRPS goes down, DCPS up. */
static void test_levels(void) {
    const u64 dlr = get_dlr(), dspsr = get_special(0xd53b4500);
    set_special(0xd51e4000, 0x3c5); /* SPSR_EL3: EL1h */
    set_special(0xd51e1100, 0x431); /* SCR_EL3: Non-secure */
    execute(0xd6bf03e0);
    CHECK(DBG(EDSCR) >> 8 & 3, 1);
    CHECK(DBG(EDSCR) >> 18 & 1, 1);
    execute(0xd53e1100); /* mrs x0, scr_el3 */
    CHECK(DBG(EDSCR) & ERR, ERR);
    CHECK(DBG(EDSCR) >> 8 & 3, 1);
    DBG(EDRCR) = 1 << 2;
    execute(0xd4a00003);
    CHECK(DBG(EDSCR) >> 8 & 3, 3);
    CHECK(DBG(EDSCR) & ERR, 0);
    execute(0xd4a00001); /* DCPS1 keeps a higher level */
    CHECK(DBG(EDSCR) >> 8 & 3, 3);
    set_special(0xd51e1100, 0x430);
    set_dlr(dlr);
    set_special(0xd51b4500, dspsr);
}

static void test_memory(void) {
    enum { N = 8 };
    const u64 x0 = get_x(0), x1 = get_x(1);
    static volatile u32 block[N] __attribute__((aligned(64)));
    set_x(0, (u64)block);
    wait_ready();
    DBG(EDSCR) = HDE | MA;
    for (u32 i = 0; i < N; i++) {
        while ((DBG(EDSCR) & (ITE | RXFULL)) != ITE)
            ;
        DBG(DTRRX) = 0x1000 + i;
    }
    wait_ready();
    DBG(EDSCR) = HDE;
    CHECK(DBG(EDSCR) & ERR, 0);
    CHECK(get_x(0), (u64)(block + N));
    for (u32 i = 0; i < N; i++)
        CHECK(block[i], 0x1000 + i);
    for (u32 i = 0; i < N; i++)
        block[i] = 0xabc0 + i;
    set_x(0, (u64)block);
    execute(0xd5130400); /* fills DBGDTRTX */
    DBG(EDSCR) = HDE | MA;
    (void)DBG(DTRTX);
    for (u32 i = 0; i < N - 1; i++) {
        while ((DBG(EDSCR) & (u32)(ITE | TXFULL)) != (u32)(ITE | TXFULL))
            ;
        CHECK(DBG(DTRTX), 0xabc0 + i);
    }
    wait_ready();
    DBG(EDSCR) = HDE;
    CHECK(DBG(DTRTX), 0xabc0 + N - 1);
    CHECK(DBG(EDSCR) & ERR, 0);
    CHECK(get_x(0), (u64)(block + N));
    set_x(0, x0);
    set_x(1, x1);
}

static void test_steps(void) {
    const u64 rounds = get_x(19);
    set_dlr((u64)target_loop);
    DBG(EDECR) = 4;
    for (u32 i = 0; i < 8; i++) {
        restart();
        CHECK(wait_halted(), 0x1b);
        CHECK(DBG(EDPRSR) >> 11 & 1, 1); /* it has restarted */
        CHECK(DBG(EDESR), 4);
        CHECK(get_dlr(), (u64)target_loop + (i + 1) % 4 * 4);
    }
    CHECK(get_x(19), rounds + 2);
    DBG(EDECR) = 0;
    DBG(EDESR) = 4;
    CHECK(DBG(EDESR), 0);
}

static void test_breakpoint(void) {
    DBG(BVR3) = (u32)(u64)(target_loop + 2);
    DBG(BVR3 + 4) = 0;
    DBG(BCR3) = 0x21e7; /* every level */
    CHECK(DBG(BVR3), (u32)(u64)(target_loop + 2));
    for (u32 i = 0; i < 3; i++) {
        const u64 rounds = get_x(19);
        set_dlr((u64)target_loop);
        restart();
        CHECK(wait_halted(), 0x07);
        CHECK(get_dlr(), (u64)(target_loop + 2));
        CHECK(get_x(19), rounds + 1);
    }
    const u64 rounds = get_x(19);
    restart(); /* the breakpoint is at DLR: nothing runs */
    CHECK(wait_halted(), 0x07);
    CHECK(get_x(19), rounds);
    DBG(BCR3) = 0x21e6;
    DBG(BVR3) = (u32)(u64)(target_loop + 1);
    DBG(BCR3) = 0x01e5; /* EL0 alone */
    restart();
    while (word[0] < rounds + 1000)
        ;
    CHECK(status(), 2);
    DBG(BCR3) = 0;
    CHECK(halt(), 0x13);
}

static void test_watchpoint(void) {
    enum { STORES = 2 << 3, LOADS = 1 << 3, EVERY_LEVEL = 3 << 1 | 1 << 13, LOW_HALF = 0x0f << 5, ON = 1 };
    DBG(WVR0) = (u32)(u64)&word[0];
    DBG(WVR0 + 4) = 0;
    DBG(WCR0) = STORES | EVERY_LEVEL | LOW_HALF | ON;
    restart();
    CHECK(wait_halted(), 0x2b);
    CHECK(get_dlr(), (u64)(target_loop + 1)); /* before the store */
    CHECK(DBG(EDWAR), (u32)(u64)&word[0]);
    const u64 rounds = get_x(19);
    CHECK(word[0], rounds - 1);
    DBG(WCR0) = 0;
    DBG(WVR0) = (u32)(u64)&word[1];
    DBG(WCR0) = LOADS | EVERY_LEVEL | 0x80 << 5 | ON; /* the last byte */
    restart();
    CHECK(wait_halted(), 0x2b);
    CHECK(get_dlr(), (u64)(target_loop + 2));
    CHECK(word[0], rounds);
    DBG(WCR0) = STORES | EVERY_LEVEL | 0x80 << 5 | ON;
    restart();
    while (word[0] < rounds + 1000)
        ;
    CHECK(status(), 2);
    DBG(WCR0) = 0;
    CHECK(halt(), 0x13);
}

static void test_hlt(void) {
    word[1] = 1;
    restart();
    CHECK(wait_halted(), 0x2f);
    CHECK(get_dlr(), (u64)target_hlt);
    set_dlr((u64)(target_hlt + 1));
    restart();
    const u64 rounds = word[0];
    while (word[0] < rounds + 100)
        ;
    CHECK(status(), 2);
}

/* Reset value of VBAR_EL3 is 0, where nothing is: Exception Catch halts before the first fetch. */
static void test_catch(void) {
    CHECK(halt(), 0x13);
    DBG(EDECCR) = 8; /* exceptions to EL3 */
    set_dlr((u64)target_undefined);
    set_special(0xd51ec000, 0x80000000); /* VBAR_EL3 */
    restart();
    CHECK(wait_halted(), 0x37);
    CHECK(get_dlr(), 0x80000200);
    CHECK(get_special(0xd53e4020), (u64)target_undefined); /* ELR_EL3 */
    DBG(EDECCR) = 0;
    DBG(EDECR) = 1; /* OS Unlock Catch */
    set_dlr((u64)target_loop);
    restart();
    DBG(OSLAR) = 1;
    CHECK(DBG(EDPRSR) & 0x30, 0x20);
    DBG(OSLAR) = 0;
    CHECK(wait_halted(), 0x23);
    CHECK(DBG(EDESR), 1);
    DBG(EDECR) = 0;
    restart();
    CHECK(DBG(EDESR), 0);
    const u64 rounds = word[0];
    while (word[0] < rounds + 100)
        ;
    CHECK(status(), 2);
}

int main(void) {
    test_discovery();
    test_locks();
    test_halt();
    test_errors();
    test_exceptions();
    test_levels();
    test_memory();
    test_steps();
    test_breakpoint();
    test_watchpoint();
    test_hlt();
    test_catch();
    return 0;
}
