/* SPDX-License-Identifier: MIT
 * A program at EL0 of hart 1 under translation, for the cross-core monitor: rounds of work with a
 * probe point between them. Each round leaves branch target buffer, return stack, TLBs and caches in
 * a random state. Hart 0 waits for the result and compares it with its own. Without a monitor it
 * runs the same.
 *
 * With `noise`, hart 0 disturbs hart 1 in the meantime: it interrupts it, drops pages from all TLBs
 * and all code from both L1I, and reads lines of its own so that L2 loses others. */
#include "a64.h"

#define TABLES (RAM_BASE + 0x400000)
#define HEAP (RAM_BASE + 0x2000000) /* 16 MiB of blocks */
#define HEAP_BYTES UINT64_C(0x1000000)
enum { TABLE = 3, PAGE = 3, BLOCK = 1, AF = 1 << 10, USER = 1 << 6, RO = 1 << 7, ISH = 3 << 8, NG = 1 << 11, DEVICE = 1 << 2 };
enum { M = 1, C = 1 << 2, I = 1 << 12, SCTLR = 0x30d00980 };
static const u64 PXN = UINT64_C(1) << 53, UXN = UINT64_C(1) << 54;
#define XCM_WORK_HEAP HEAP
#define XCM_WORK_WALK_BYTES (HEAP_BYTES / 2)
extern char _data[], _end[];
void start_second(void (*code)(void));

/* Set by a test before the start. */
volatile u64 n_rounds = 3, noise = 0;
volatile u64 n_interrupts; /* that EL1 of hart 1 has taken */
volatile u64 total, is_done;
volatile outcome last;

/* -- What EL0 runs. */
#include "../../xcm_work.h"
void user_main(u64 rounds, u64 seed);

__attribute__((noinline)) void user_main(u64 rounds, u64 seed) {
    u64 sum = 0;
    for (u64 round = 0; round < rounds; round++) {
        (void)scatter(&seed);
        probe_point(round);
        sum = sum * 7 + work(round + 1);
    }
    register u64 x0 __asm__("x0") = sum;
    __asm__ volatile("svc #1" ::"r"(x0));
    __builtin_unreachable();
}

/* -- The space of EL0: the program where it is, and the heap. */
static u64 *new_table(u64 *next) {
    u64 *table = (u64 *)*next;
    *next += 4096;
    for (u32 i = 0; i < 512; i++)
        table[i] = 0;
    return table;
}
static u64 *entry_of(u64 *root, u64 vaddr, u32 level, u64 *next) {
    u64 *table = root;
    for (u32 at = 0;; at++) {
        u64 *entry = &table[vaddr >> (39 - 9 * at) & 511];
        if (at == level)
            return entry;
        if (*entry == 0)
            *entry = (u64)new_table(next) | TABLE;
        table = (u64 *)(*entry & UINT64_C(0xfffffffff000));
    }
}
static u64 make_space(void) {
    u64 next = TABLES, *root = new_table(&next);
    for (u64 at = RAM_BASE; at < RAM_BASE + 0x200000; at += 0x1000)
        *entry_of(root, at, 3, &next) = at | AF | ISH | PAGE | USER | NG | (at < (u64)_data ? RO : UXN | PXN);
    for (u64 at = HEAP; at < HEAP + 0x100000; at += 0x1000)
        *entry_of(root, at, 3, &next) = at | AF | ISH | PAGE | USER | UXN | PXN | NG;
    for (u64 at = HEAP + 0x200000; at < HEAP + HEAP_BYTES; at += 0x200000)
        *entry_of(root, at, 2, &next) = at | AF | ISH | BLOCK | USER | UXN | PXN | NG;
    *entry_of(root, GICC_BASE, 3, &next) = GICC_BASE | AF | PAGE | UXN | PXN | DEVICE;
    return (u64)root;
}

/* -- Noise. Interrupts of hart 1 are Non-secure (group 1) and go to EL1. Other exceptions go to the
 * vectors of all programs. */
enum { SGI = 1, GICD_CTLR = 0, IGROUPR = 0x80, ISENABLER = 0x100, SGIR = 0xf00, GICC_CTLR = 0, PMR = 4 };
enum { BOTH_GROUPS = 3, TO_HART_1 = 2 << 16, IS_GROUP_1 = 1 << 15, EVERY_PRIORITY = 0xff };
extern char noisy_vectors[];
__asm__("    .text\n"
        "    .balign 2048\n"
        "noisy_vectors:\n"
        "    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8\n"
        "    .balign 128\n"
        "    b vectors_el1 + 128 * \\number\n"
        "    .endr\n"
        "    .balign 128\n"
        "    stp x0, x1, [sp, #-16]!\n"
        "    stp x2, x3, [sp, #-16]!\n"
        "    mov x0, #0x8010000\n"
        "    ldr w1, [x0, #0xc]\n"
        "    ldr x2, =n_interrupts\n"
        "    ldr x3, [x2]\n"
        "    add x3, x3, #1\n"
        "    str x3, [x2]\n"
        "    str w1, [x0, #0x10]\n"
        "    ldp x2, x3, [sp], #16\n"
        "    ldp x0, x1, [sp], #16\n"
        "    eret\n"
        "    .irp number, 10, 11, 12, 13, 14, 15\n"
        "    .balign 128\n"
        "    b vectors_el1 + 128 * \\number\n"
        "    .endr\n"
        "    .ltorg\n");

static void let_in_interrupts(void) { /* on hart 1 */
    MMIO32(GICD_BASE + IGROUPR) = 1u << SGI;
    MMIO32(GICD_BASE + ISENABLER) = 1u << SGI;
    MMIO32(GICC_BASE + PMR) = EVERY_PRIORITY;
    MMIO32(GICC_BASE + GICC_CTLR) = BOTH_GROUPS;
    msr(vbar_el1, noisy_vectors);
    msr(sp_el1, RAM_BASE + 0x190000);
}

static void disturb(u64 *seed) { /* on hart 0 */
    const u64 page = HEAP + 4096 * (next_random(seed) % N_PAGES), line = next_random(seed) % (HEAP_BYTES / 2) / 64 * 64;
    switch (next_random(seed) % 256) {
    case 0: __asm__ volatile("dsb sy\n tlbi vaae1is, %0\n dsb sy\n isb" ::"r"(page >> 12)); break;
    case 1: __asm__ volatile("ic ialluis\n dsb sy\n isb"); break;
    default: MMIO32(GICD_BASE + SGIR) = TO_HART_1 | IS_GROUP_1 | SGI; (void)*(volatile u64 *)(HEAP + HEAP_BYTES + line);
    }
    for (volatile u64 n = next_random(seed) % noise; n > 0; n--)
        ;
}

static u64 space;
static void second(void) {
    msr(scr_el3, 0x431);
    msr(cptr_el3, 0);
    msr(mdcr_el3, 0);
    msr(cpacr_el1, 3 << 20);
    extern char vectors_el3[], vectors_el1[];
    msr(vbar_el3, vectors_el3);
    msr(vbar_el1, vectors_el1);
    msr(mair_el1, 0xff); /* 0: write-back, 1: device */
    msr(ttbr0_el1, space);
    msr(tcr_el1, 16 | UINT64_C(2) << 32 | 1 << 23 | 3 << 12 | 1 << 10 | 1 << 8);
    dsb();
    tlbi_all();
    msr(sctlr_el1, SCTLR | M | C | I);
    msr(sp_el0, RAM_BASE + 0x180000);
    if (noise)
        let_in_interrupts();
    const outcome o = run(0x3c0 & ~0x3c0, (const void *)user_main, n_rounds, 88172645463325252);
    total = o.x[0];
    last.esr = o.esr;
    dsb();
    is_done = 1;
    for (;;)
        __asm__ volatile("wfi");
}

static u64 expected_total(void) {
    u64 sum = 0;
    for (u64 round = 0; round < n_rounds; round++)
        sum = sum * 7 + work(round + 1);
    return sum;
}

int main(void);
int main(void) {
    space = make_space();
    dsb();
    u64 seed = 1442695040888963407;
    MMIO32(GICD_BASE + GICD_CTLR) = BOTH_GROUPS;
    start_second(second);
    while (!is_done) {
        if (noise)
            disturb(&seed);
        for (volatile u32 i = 0; i < 100; i++)
            ;
    }
    CHECK(last.esr, 0x56000001);
    CHECK(total, expected_total());
    show("total", total);
    return 0;
}
