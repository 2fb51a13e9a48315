// SPDX-License-Identifier: MIT
// The detailed core against the stepping front-end on random system software: three privilege
// modes, traps, delegation, returns, interrupts, page tables, memory protection, overflows of
// counters. Registers, privileged state, counters of retired instructions, and memory with the bits
// of its page tables are equal at every look. Structures of the core are random. Clocks differ, so
// random code reads none, and no interrupt comes from a clock.
#include <inttypes.h>
#include <stdlib.h>

#include "base/testing.h"
#include "isa/rv/hart.h"
#include "random_structure.h"
#include "random_system.h"

enum { MAX_TRAPS = 200 }; // between two looks

// Random code leaves satp and the registers of protection alone, because such writes have no
// specified effect before SFENCE.VMA. Each new situation has them, behind a flush. Random code does
// not select events, because some count the clock.
static const uint16_t csrs[] = {
    0x001, 0x002, 0x003, 0x100, 0x104, 0x105, 0x106, 0x140, 0x141, 0x142, 0x143, 0x144, 0x300, 0x302, 0x303, 0x304, 0x305,
    0x306, 0x320, 0x340, 0x341, 0x342, 0x343, 0x344, 0xb02, 0xb03, 0xb04, 0xb05, 0xc02, 0xc03, 0xc04, 0xda0, 0xf14,
};

// Instructions, branches, loads, stores, taken branches, system calls: in the preset `linux`.
static const uint64_t retired_events[] = {2, 5, 0x10000d, 0x10000e, 0x100026, 0x100033};

typedef struct pair {
    tl_machine *detailed, *slow;
    uint64_t seed, look, n_traps, n_overflows[2];
} pair;

// Runs until so many instructions have retired and so many traps were taken. Returns how many were.
// Random horizons cut the run, which must change nothing.
static uint32_t run_until(tl_hart *h, uint64_t instret, uint32_t n_wanted, rng *pieces, uint64_t *n_overflows) {
    uint32_t n_traps = 0;
    while (n_traps <= MAX_TRAPS && (h->instret < instret || n_traps < n_wanted)) {
        tl_irq irq;
        if (take_due_interrupt(h, &irq)) {
            *n_overflows += irq == TL_IRQ_LCOFI;
            n_traps++;
            continue;
        }
        const uint64_t limit = h->instret < instret ? instret : h->instret + 1;
        n_traps += run_on_until(h, limit, below(pieces, 3) == 0 ? h->now + below(pieces, 300) : UINT64_MAX) == TL_STOP_TRAP;
    }
    return n_traps;
}

static bool is_in_code(const tl_hart *h) { return h->pc - TL_RAM_BASE_PADDR < CODE_BYTES; }

// Runs by step until so many instructions have retired, or MAX_TRAPS traps were taken, or up to the
// first instruction outside of the code. Returns the number of traps. Without FENCE.I a fetch may
// or may not see an older store, so no program executes data. The code is read-only.
static uint32_t run_within_code(tl_hart *h, uint64_t instret, uint64_t *n_overflows) {
    uint32_t n_traps = 0;
    while (h->instret < instret && n_traps < MAX_TRAPS && is_in_code(h)) {
        tl_irq irq;
        if (take_due_interrupt(h, &irq)) {
            *n_overflows += irq == TL_IRQ_LCOFI;
            n_traps++;
            continue;
        }
        n_traps += run_on(h, h->instret + 1) == TL_STOP_TRAP;
    }
    return n_traps;
}

#define SAME_OF(a_has, b_has, what)                                                                                                 \
    do {                                                                                                                            \
        if ((a_has)->what != (b_has)->what)                                                                                         \
            fail_msg("seed %" PRIu64 ", look %" PRIu64 ": " #what " is %" PRIx64 ", by step %" PRIx64 " (pc %" PRIx64 ")", p->seed, \
                     p->look, (uint64_t)(a_has)->what, (uint64_t)(b_has)->what, b->pc);                                             \
    } while (0)
#define SAME(what) SAME_OF(a, b, what)
#define SAME_RV(what) SAME_OF(tl_rv(a), tl_rv(b), what)

static uint64_t get64(const tl_machine *machine, uint64_t offset) {
    uint64_t value;
    memcpy(&value, machine->ram + offset, sizeof value);
    return value;
}

static void compare(const pair *p) {
    tl_hart *a = p->detailed->harts[0], *b = p->slow->harts[0];
    SAME(pc);
    SAME(priv);
    SAME(instret);
    SAME(reservation_paddr);
    SAME(irqs_pending);
    SAME(irqs_enabled);
    SAME(context);
    for (int i = 0; i < 32; i++)
        SAME_RV(x[i]);
    for (int i = 0; i < 32; i++)
        SAME_RV(f[i]);
    SAME_RV(fflags);
    SAME_RV(frm);
    SAME_RV(csr.mstatus);
    SAME_RV(csr.mepc);
    SAME_RV(csr.mcause);
    SAME_RV(csr.mtval);
    SAME_RV(csr.sepc);
    SAME_RV(csr.scause);
    SAME_RV(csr.stval);
    SAME_RV(csr.mideleg);
    SAME_RV(csr.medeleg);
    SAME_RV(csr.mtvec);
    SAME_RV(csr.stvec);
    SAME_RV(csr.mscratch);
    SAME_RV(csr.sscratch);
    for (uint32_t csr = 0xb02; csr < 0xb09; csr++)
        if (tl_csr_value(a, csr) != tl_csr_value(b, csr))
            fail_msg("seed %" PRIu64 ", look %" PRIu64 ": register %x is %" PRIx64 ", by step %" PRIx64 ", event %" PRIx64, p->seed,
                     p->look, csr, tl_csr_value(a, csr), tl_csr_value(b, csr), tl_csr_value(b, csr - 0xb00 + 0x320));
    for (uint64_t at = 0; at < TABLES_OFFSET + 0x20000; at += 8)
        if (memcmp(p->detailed->ram + at, p->slow->ram + at, 8) != 0)
            fail_msg("seed %" PRIu64 ", look %" PRIu64 ": memory at %" PRIx64 " is %" PRIx64 ", by step %" PRIx64, p->seed, p->look,
                     TL_RAM_BASE_PADDR + at, get64(p->detailed, at), get64(p->slow, at));
}

// Counts of retirement and of traps agree. Counts of the clock and of wrong paths do not.
static void compare_counts(const pair *p) {
    tl_machine_sync(p->detailed);
    tl_machine_sync(p->slow);
    for (uint32_t cell = TL_S_HART_INSTRET; cell <= TL_S_HART_STORE_BYTES; cell++)
        if (p->detailed->tally[cell] != p->slow->tally[cell])
            fail_msg("seed %" PRIu64 ": signal %u is %" PRIu64 ", by step %" PRIu64, p->seed, cell, p->detailed->tally[cell],
                     p->slow->tally[cell]);
    for (uint32_t cell = TL_S_HART_EXCEPTION; cell <= TL_S_HART_EXC_MISALIGNED; cell++)
        if (p->detailed->tally[cell] != p->slow->tally[cell])
            fail_msg("seed %" PRIu64 ": signal %u is %" PRIu64 ", by step %" PRIu64, p->seed, cell, p->detailed->tally[cell],
                     p->slow->tally[cell]);
    tl_error err;
    if (tl_machine_check_identities(p->detailed, &err) != TL_OK)
        fail_msg("seed %" PRIu64 ": %s", p->seed, err.text);
}

static tl_machine *machine_of(const tl_config *config, const tl_engine_type *engine) {
    tl_machine *machine;
    tl_error err;
    if (tl_machine_new(config, engine, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_privileged_reset(machine->harts[0]);
    return machine;
}

// Another situation, with counters that overflow soon, and TLBs that know nothing of the last one.
static void begin(tl_hart *h, rng *r) {
    scatter(h, r, false, CODE_IS_READ_ONLY);
    arm_counters(h, r, retired_events, TL_COUNT_OF(retired_events));
    h->port->flush_translation(h, 0, true);
}

// Adds the number of overflow interrupts. Returns the number of instructions.
static uint64_t run_seed(uint64_t seed, uint64_t n_looks, uint64_t *n_overflows) {
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1}, pieces = {seed};
    tl_config config, plain;
    tl_config_default(&config);
    choose_structure(&r, &config);
    plain = config;
    plain.core.kind = TL_CORE_IN_ORDER;
    plain.bp.kind = TL_BP_GSHARE;
    pair p = {.detailed = machine_of(&config, &tl_engine_ooo), .slow = machine_of(&plain, &tl_engine_step), .seed = seed};
    fill_system_with(p.slow, &r, csrs, TL_COUNT_OF(csrs));
    memcpy(p.detailed->ram, p.slow->ram, TABLES_OFFSET + 0x20000);
    tl_hart *a = p.detailed->harts[0], *b = p.slow->harts[0];
    for (; p.look < n_looks; p.look++) {
        if (p.look % 4 == 0 || !is_in_code(b)) {
            rng again = r;
            begin(a, &r);
            begin(b, &again);
        }
        const uint64_t more = 1 + below(&r, below(&r, 2) ? 20 : 700);
        const uint32_t traps_b = run_within_code(b, b->instret + more, &p.n_overflows[1]);
        const uint32_t traps_a = run_until(a, b->instret, traps_b, &pieces, &p.n_overflows[0]);
        if (traps_a != traps_b)
            fail_msg("seed %" PRIu64 ", look %" PRIu64 ": %u traps, %u by step", seed, p.look, traps_a, traps_b);
        compare(&p);
        p.n_traps += traps_a;
    }
    compare_counts(&p);
    assert_true(p.n_traps > n_looks / 4);
    assert_int_equal(p.n_overflows[0], p.n_overflows[1]);
    *n_overflows += p.n_overflows[0];
    const uint64_t n_insns = a->instret;
    tl_machine_free(p.detailed);
    tl_machine_free(p.slow);
    return n_insns;
}

static void test_random_system_software_agrees_on_random_structures(void **state) {
    (void)state;
    const char *first = getenv("TL_LOCKSTEP_SEED"), *looks = getenv("TL_LOCKSTEP_STOPS");
    const uint64_t from = first ? strtoull(first, NULL, 10) : 1, n_looks = looks ? strtoull(looks, NULL, 10) : 400;
    uint64_t n_overflows = 0, n_insns = 0;
    for (uint64_t seed = from; seed < from + 12 || n_insns < wanted_insns(); seed++)
        n_insns += run_seed(seed, n_looks, &n_overflows);
    assert_true(n_overflows > 12 * n_looks / 400);
    if (wanted_insns() != 0)
        print_message("%" PRIu64 " instructions\n", n_insns);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_system_software_agrees_on_random_structures),
};
TL_TEST_MAIN(tests)
