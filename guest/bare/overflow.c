/* SPDX-License-Identifier: MIT
 * Overflow interrupts of Sscofpmf, preset `linux`: LCOFI is taken right after the instruction that
 * wraps the counter. Counters filter M because the harness runs in M. */
#include "bare.h"

#define OF BIT(63)
#define MINH BIT(62)
#define SINH BIT(61)
#define UINH BIT(60)
enum { EVENT_CYCLES = 1, EVENT_INSTRUCTIONS = 2, EVENT_BRANCHES = 5, EVENT_L1D_READ_MISS = 0x10001, EVENT_DTLB_READ_MISS = 0x10019 };
enum { EVENT_LOADS = 0x10000d, EVENT_STORES = 0x10000e, EVENT_BRANCH_TAKEN = 0x100026, EVENT_ECALLS = 0x100033 };
#define LCOFI BIT(IRQ_LCOFI)
#define scountovf 0xda0

/* Sets up the kth event from now to overflow, for S or U, delegated or not. */
static void arm(u64 selector, u64 filters, u64 k) {
    csr_write(mcountinhibit, BIT(3));
    csr_write(mhpmcounter3, 0);
    csr_write(mhpmevent3, selector | filters);
    CHECK(csr_read(mhpmevent3), selector | filters);
    csr_write(mhpmcounter3, -k);
    csr_clear(mip, LCOFI);
    csr_write(mie, LCOFI);
    csr_clear(mstatus, MSTATUS_MIE | MSTATUS_MPIE | MSTATUS_SPIE);
    csr_set(mstatus, MSTATUS_SIE);
    csr_write(mcountinhibit, 0);
}
/* An event of a load happens in the cycle of its look-up. Out of order, older instructions may then
 * be on their way. */
static u64 epc_of_load(const outcome *o, u64 first, u64 behind) {
    return RETIRES > 1 && o->epc >= first && o->epc < behind ? o->epc : behind;
}
static void check_overflow(const outcome *o, u64 epc, u64 mode, bool is_delegated) {
    csr_write(mie, 0);
    CHECK(o->trapped, 1);
    CHECK(o->cause, CAUSE_IRQ(IRQ_LCOFI));
    CHECK(o->epc, epc);
    CHECK(o->tval, 0);
    CHECK(o->mode, is_delegated ? MODE_S : MODE_M);
    CHECK(o->ip >> IRQ_LCOFI & 1, 1);
    if (is_delegated)
        CHECK(o->status >> 8 & 1, mode);
    else
        CHECK(o->status >> 11 & 3, mode);
    CHECK(csr_read(mhpmevent3) >> 63, 1);
    CHECK(csr_read(scountovf), BIT(3));
    csr_clear(mip, LCOFI);
    CHECK(csr_read(mip) >> IRQ_LCOFI & 1, 0);
}

SNIPPET(nops, ".balign 64\n .option push\n .option norvc\n .globl nops_at\n nops_at: .rept 200\n nop\n .endr\n .option pop");
SNIPPET(
    loads,
    ".balign 64\n .option push\n .option norvc\n .globl loads_at\n loads_at: .rept 40\n nop\n ld t0, 0(a0)\n addi a1, a1, 1\n .endr\n .option pop");
SNIPPET(stores,
        ".balign 64\n .option push\n .option norvc\n .globl stores_at\n stores_at: .rept 40\n nop\n sd t0, 0(a0)\n .endr\n .option pop");
SNIPPET(
    strides,
    ".balign 64\n .option push\n .option norvc\n .globl strides_at\n strides_at: .rept 64\n ld t0, 0(a0)\n add a0, a0, a1\n .endr\n .option pop");
SNIPPET(
    loops,
    ".balign 64\n .option push\n .option norvc\n .globl loops_at\n loops_at: addi a1, a1, 1\n addi a0, a0, -1\n bnez a0, loops_at\n .option pop");
SNIPPET(
    jumps_round,
    ".balign 64\n .option push\n .option norvc\n .globl jumps_round_at\n jumps_round_at: .rept 50\n j 1f\n nop\n 1:\n .endr\n .option pop");
SNIPPET(forever, "1: addi a0, a0, 1\n j 1b");
extern char nops_at[], loads_at[], stores_at[], strides_at[], loops_at[], jumps_round_at[];
static u64 words[8] __attribute__((aligned(64)));

static void test_instructions(void) {
    static const u64 ks[] = {1, 2, 3, 4, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 199};
    for (u64 mode = MODE_U; mode <= MODE_S; mode++)
        for (u32 delegated = 0; delegated < 2; delegated++)
            for (u32 i = 0; i < sizeof ks / sizeof *ks; i++) {
                check_context = mode << 16 | delegated << 12 | ks[i];
                csr_write(mideleg, delegated ? LCOFI : 0);
                arm(EVENT_INSTRUCTIONS, MINH, ks[i]);
                outcome *o = run_at(mode, (u64)nops_at, 0, 0);
                check_overflow(o, (u64)nops_at + 4 * ks[i], mode, delegated);
                if (!delegated)
                    CHECK(csr_read(mhpmcounter3), 0); /* nothing of M counts */
            }
    check_context = 0;
}

static void test_loops(void) {
    for (u64 k = 1; k <= 3000; k = k * 3 + 1)
        for (u64 mode = MODE_U; mode <= MODE_S; mode++) {
            check_context = mode << 16 | k;
            csr_write(mideleg, LCOFI);
            arm(EVENT_INSTRUCTIONS, MINH, k);
            outcome *o = run_at(mode, (u64)loops_at, 1000000, 0);
            check_overflow(o, (u64)loops_at + k % 3 * 4, mode, true);
            CHECK(o->x[11], (k + 2) / 3);
            arm(EVENT_BRANCHES, MINH, k);
            o = run_at(mode, (u64)loops_at, 1000000, 0);
            check_overflow(o, (u64)loops_at, mode, true); /* the kth branch was taken */
            CHECK(o->x[11], k);
            CHECK(o->x[10], 1000000 - k);
            arm(EVENT_BRANCH_TAKEN, MINH, k);
            o = run_at(mode, (u64)loops_at, k + 1, 0); /* the last one is not */
            check_overflow(o, (u64)loops_at, mode, true);
            CHECK(o->x[11], k);
        }
    check_context = 0;
}

static void test_events_in_a_row(void) {
    csr_write(mideleg, LCOFI);
    for (u64 mode = MODE_U; mode <= MODE_S; mode++)
        for (u64 k = 1; k <= 40; k++) {
            check_context = mode << 16 | k;
            arm(EVENT_LOADS, MINH, k);
            outcome *o = run_at(mode, (u64)loads_at, (u64)words, 0);
            check_overflow(o, (u64)loads_at + 12 * (k - 1) + 8, mode, true);
            CHECK(o->x[11], k - 1); /* what follows the load has not happened */
            arm(EVENT_STORES, MINH, k);
            o = run_at(mode, (u64)stores_at, (u64)words, 0);
            check_overflow(o, (u64)stores_at + 8 * k, mode, true);
            arm(EVENT_BRANCHES, MINH, k);
            o = run_at(mode, (u64)jumps_round_at, 0, 0);
            check_overflow(o, (u64)jumps_round_at + 8 * k, mode, true);
        }
    check_context = 0;
}

/* Every load misses because its line is new. Then every load misses the TLB: a new page. */
static u64 fresh = RAM_BASE + 0x1000000;
static void test_misses(void) {
    csr_write(mideleg, LCOFI);
    for (u64 mode = MODE_U; mode <= MODE_S; mode++)
        for (u64 k = 1; k <= 60; k += 7) {
            check_context = mode << 16 | k;
            arm(EVENT_L1D_READ_MISS, MINH, k);
            outcome *o = run_at(mode, (u64)strides_at, fresh, 64);
            check_overflow(o, epc_of_load(o, (u64)strides_at, (u64)strides_at + 8 * (k - 1) + 4), mode, true);
            fresh += 0x10000;
        }
    u64 *root = standard_map();
    const u64 window = UINT64_C(0x200000000);
    for (u32 i = 0; i < 512; i++)
        map(root, 3, window + i * 4096, RAM_BASE + 0x2000000 + i * 4096, 0, PTE_RW);
    csr_write(satp, satp_of(root, SATP_SV39));
    alias = USER_ALIAS;
    for (u64 k = 1; k <= 60; k += 7) {
        check_context = 0x100 | k;
        sfence();
        words[0] = 0;
        run_at(MODE_S, (u64)strides_at, (u64)words, 0); /* code and harness are in the TLBs */
        arm(EVENT_DTLB_READ_MISS, MINH, k);
        outcome *o = run_at(MODE_S, (u64)strides_at, window, 4096);
        /* the trap handler's own misses come after the interrupt was raised */
        check_overflow(o, epc_of_load(o, (u64)strides_at, (u64)strides_at + 8 * (k - 1) + 4), MODE_S, true);
    }
    csr_write(satp, 0);
    alias = 0;
    sfence();
    check_context = 0;
}

static u64 cycles_of_nops(void) {
    csr_write(mcountinhibit, BIT(3));
    csr_write(mhpmevent3, EVENT_CYCLES | MINH | SINH);
    csr_write(mhpmcounter3, 0);
    csr_write(mcountinhibit, 0);
    run_at(MODE_U, (u64)nops_at, 0, 0);
    return csr_read(mhpmcounter3);
}

/* Cycles: a cached nop takes one, so in U the counter is exactly 0 at the trap. */
static void test_cycles(void) {
    csr_write(mideleg, LCOFI);
    cycles_of_nops();
    u64 all = cycles_of_nops(), latest = all < 250 ? 0 : 100; /* 201 instructions */
    for (u64 k = 20; k <= 150 && (RETIRES == 1 || k < all); k += 13) {
        check_context = k;
        arm(EVENT_CYCLES, MINH | SINH, k);
        outcome *o = run_at(MODE_U, (u64)nops_at, 0, 0);
        u64 epc = o->epc;
        check_overflow(o, epc, MODE_U, true);
        CHECK(epc >= (u64)nops_at + (RETIRES == 1 ? 4 : 0) && epc <= (u64)nops_at + 4 * RETIRES * k, 1);
        CHECK(csr_read(mhpmcounter3) <= latest, 1);
    }
    for (u64 k = 1000; k <= 1000000; k *= 10) {
        check_context = k;
        arm(EVENT_CYCLES, MINH | SINH, k);
        outcome *o = run(MODE_U, forever, 0, 0);
        check_overflow(o, o->epc, MODE_U, true);
        CHECK(csr_read(mhpmcounter3) <= 4 + latest, 1);
        CHECK(o->x[10] > k / 4, 1);
    }
    check_context = 0;
}

/* One interrupt for each arming */
static void test_sticky_flag(void) {
    csr_write(mideleg, LCOFI);
    arm(EVENT_INSTRUCTIONS, MINH, 10);
    outcome *o = run_at(MODE_U, (u64)nops_at, 0, 0);
    check_overflow(o, (u64)nops_at + 40, MODE_U, true);
    csr_write(mhpmcounter3, -10); /* OF is still set: it overflows in silence */
    csr_write(mie, LCOFI);
    o = run_at(MODE_U, (u64)nops_at, 0, 0);
    csr_write(mie, 0);
    CHECK(o->trapped, 0);
    CHECK(csr_read(mip) >> IRQ_LCOFI & 1, 0);
    CHECK(csr_read(mhpmcounter3), 191); /* 200 and the return, less 10 */
    CHECK(csr_read(mhpmevent3) >> 63, 1);
    csr_write(mhpmevent3, EVENT_INSTRUCTIONS | MINH); /* armed again */
    CHECK(csr_read(scountovf), 0);
    csr_write(mhpmcounter3, -5);
    csr_write(mie, LCOFI);
    o = run_at(MODE_U, (u64)nops_at, 0, 0);
    check_overflow(o, (u64)nops_at + 20, MODE_U, true);
    /* writes never overflow: neither a wrap by software nor setting OF by hand */
    csr_write(mcountinhibit, BIT(3));
    csr_write(mhpmevent3, EVENT_INSTRUCTIONS | MINH);
    csr_write(mhpmcounter3, -1);
    csr_write(mhpmcounter3, 0);
    CHECK(csr_read(scountovf), 0);
    csr_write(mhpmevent3, EVENT_INSTRUCTIONS | MINH | OF);
    CHECK(csr_read(scountovf), BIT(3));
    CHECK(csr_read(mip) >> IRQ_LCOFI & 1, 0);
    csr_write(mhpmevent3, 0);
    csr_write(mcountinhibit, 0);
}

/* An overflow stays pending until LCOFI is enabled. Two counters, two flags, one interrupt. */
SNIPPET(enables, "csrsi sstatus, 2\n .globl enables_next\n enables_next: nop\n nop");
SNIPPET(reads_scountovf, ".4byte 0xda002573");
SNIPPET(clears_sip, "li t0, 1 << 13\n csrc sip, t0\n csrr a0, sip");
extern char enables_next[];
static void test_pending(void) {
    csr_write(mideleg, LCOFI);
    arm(EVENT_INSTRUCTIONS, MINH, 50);
    csr_write(mcountinhibit, BIT(3) | BIT(4));
    csr_write(mhpmevent4, EVENT_INSTRUCTIONS | MINH);
    csr_write(mhpmcounter4, -90);
    csr_write(mcountinhibit, 0);
    csr_clear(mstatus, MSTATUS_SIE);
    outcome *o = run_at(MODE_S, (u64)nops_at, 0, 0);
    CHECK(o->trapped, 0);
    CHECK(csr_read(mip) >> IRQ_LCOFI & 1, 1);
    CHECK(csr_read(scountovf), BIT(3) | BIT(4));
    CHECK(csr_read(mhpmcounter3), 151);
    CHECK(csr_read(mhpmcounter4), 111);
    /* S sees the flags of the counters that it may read */
    csr_clear(mip, LCOFI);
    for (u64 enabled = 0; enabled < 4; enabled++) {
        csr_write(mcounteren, enabled << 3);
        o = run(MODE_S, reads_scountovf, 0, 0);
        CHECK(o->trapped, 0);
        CHECK(o->x[10], enabled << 3);
    }
    csr_write(mcounteren, 0);
    CHECK(run(MODE_U, reads_scountovf, 0, 0)->cause, CAUSE_ILLEGAL);
    csr_set(mip, LCOFI);
    o = run(MODE_S, enables, 0, 0);
    CHECK(o->cause, CAUSE_IRQ(IRQ_LCOFI));
    CHECK(o->epc, (u64)enables_next);
    CHECK(o->mode, MODE_S);
    csr_clear(mstatus, MSTATUS_SIE);
    o = run(MODE_S, clears_sip, 0, 0);
    CHECK(o->x[10] >> IRQ_LCOFI & 1, 0);
    CHECK(csr_read(mip) >> IRQ_LCOFI & 1, 0);
    csr_write(mie, 0);
    csr_write(mhpmevent3, 0);
    csr_write(mhpmevent4, 0);
}

int main(void) {
    csr_write(stvec, (u64)s_trap);
    csr_write(mcounteren, 0);
    test_instructions();
    test_loops();
    test_events_in_a_row();
    test_misses();
    test_cycles();
    test_sticky_flag();
    test_pending();
    return 0;
}
