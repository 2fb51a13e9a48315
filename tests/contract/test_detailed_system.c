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
#include "same_state.h"

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

enum { MOST_HARTS = 2 };

typedef struct goal { // what a hart is to reach, and how far it is
    uint64_t instret;
    uint32_t n_wanted, n_traps;
} goal;

typedef struct pair {
    tl_machine *detailed, *slow;
    goal goals[MOST_HARTS];
    uint64_t seed, look, n_traps, n_overflows[2];
} pair;

static bool is_there(const pair *p, uint32_t hart) {
    const goal *g = &p->goals[hart];
    return g->n_traps > MAX_TRAPS || (p->detailed->harts[hart]->instret >= g->instret && g->n_traps >= g->n_wanted);
}

// An interrupt is taken, or the hart is ready to run for a piece. Random horizons cut runs, which
// must change nothing.
static bool make_ready(pair *p, uint32_t hart, rng *pieces) {
    tl_hart *h = p->detailed->harts[hart];
    const goal *g = &p->goals[hart];
    tl_irq irq;
    if (take_due_interrupt(h, &irq)) {
        p->n_overflows[0] += irq == TL_IRQ_LCOFI;
        p->goals[hart].n_traps++;
        return false;
    }
    h->is_interrupted = h->is_waiting = false;
    h->horizon = below(pieces, 3) == 0 ? h->now + below(pieces, 300) : UINT64_MAX;
    h->insn_limit = h->instret < g->instret ? g->instret : h->instret + 1;
    tl_hart_limit_to_deadline(h, &h->insn_limit);
    return true;
}

// The harts of the detailed machine run until each one has retired so many instructions and has
// taken so many traps. One that is there halts, and its thread leaves the core to the other one.
static void run_until_there(pair *p, rng *pieces) {
    for (;;) {
        uint32_t running = 0;
        bool is_ready = true;
        for (uint32_t i = 0; i < p->detailed->n_harts; i++)
            running |= (uint32_t)!is_there(p, i) << i;
        if (running == 0)
            return;
        for (uint32_t i = 0; i < p->detailed->n_harts; i++)
            if (running >> i & 1)
                is_ready &= make_ready(p, i, pieces);
        if (!is_ready)
            continue;
        uint64_t n_insns = UINT64_MAX;
        tl_hart *h;
        if (p->detailed->engine->run_group(p->detailed->harts, p->detailed->n_harts, running, running, &n_insns, &h) == TL_STOP_TRAP) {
            tl_take_exception(h);
            p->goals[h->id].n_traps++;
        }
        for (uint32_t i = 0; i < p->detailed->n_harts; i++)
            (void)tl_hart_poll(p->detailed->harts[i]);
    }
}

static bool is_in_code(const tl_hart *h) { return h->pc - region_of(h) < CODE_BYTES; }

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

static uint64_t get64(const tl_machine *machine, uint64_t offset) {
    uint64_t value;
    memcpy(&value, machine->ram + offset, sizeof value);
    return value;
}

static void compare(const pair *p, uint32_t hart) {
    tl_hart *a = p->detailed->harts[hart], *b = p->slow->harts[hart];
    assert_same_state(a, b, p->seed, p->look);
    assert_int_equal(a->reservation_paddr, b->reservation_paddr);
    for (uint32_t csr = 0xb02; csr < 0xb09; csr++)
        if (tl_csr_value(a, csr) != tl_csr_value(b, csr))
            fail_msg("seed %" PRIu64 ", look %" PRIu64 ": register %x is %" PRIx64 ", by step %" PRIx64 ", event %" PRIx64, p->seed,
                     p->look, csr, tl_csr_value(a, csr), tl_csr_value(b, csr), tl_csr_value(b, csr - 0xb00 + 0x320));
    const uint64_t region = (uint64_t)hart * REGION_BYTES;
    for (uint64_t at = region; at < region + SYSTEM_BYTES; at += 8)
        if (memcmp(p->detailed->ram + at, p->slow->ram + at, 8) != 0)
            fail_msg("seed %" PRIu64 ", look %" PRIu64 ": memory at %" PRIx64 " is %" PRIx64 ", by step %" PRIx64, p->seed, p->look,
                     TL_RAM_BASE_PADDR + at, get64(p->detailed, at), get64(p->slow, at));
}

static void compare_range(const pair *p, uint32_t hart, uint32_t first, uint32_t last) {
    const uint64_t *a = p->detailed->harts[hart]->tally, *b = p->slow->harts[hart]->tally;
    for (uint32_t cell = first; cell <= last; cell++)
        if (a[cell] != b[cell])
            fail_msg("seed %" PRIu64 ", hart%u: signal %u is %" PRIu64 ", by step %" PRIu64, p->seed, hart, cell, a[cell], b[cell]);
}

// Counts of retirement and of traps agree. Counts of the clock and of wrong paths do not.
static void compare_counts(const pair *p) {
    tl_machine_sync(p->detailed);
    tl_machine_sync(p->slow);
    for (uint32_t i = 0; i < p->detailed->n_harts; i++) {
        compare_range(p, i, TL_S_HART_INSTRET, TL_S_HART_STORE_BYTES);
        compare_range(p, i, TL_S_HART_EXCEPTION, TL_S_HART_EXC_MISALIGNED);
    }
    tl_error err;
    if (tl_machine_check_identities(p->detailed, &err) != TL_OK)
        fail_msg("seed %" PRIu64 ": %s", p->seed, err.text);
}

static tl_machine *machine_of(const tl_config *config, const tl_engine_type *engine) {
    tl_machine *machine;
    tl_error err;
    if (tl_machine_new(config, engine, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < machine->n_harts; i++)
        tl_privileged_reset(machine->harts[i]);
    return machine;
}

// Another situation, with counters that overflow soon, and TLBs that know nothing of the last one.
static void begin(tl_hart *h, rng *r) {
    scatter(h, r, false, CODE_IS_READ_ONLY);
    arm_counters(h, r, retired_events, TL_COUNT_OF(retired_events));
    h->port->flush_translation(h, 0, true);
}

// Two harts: threads of one core, or two cores.
static void choose_config(rng *r, tl_config *config, uint32_t n_harts) {
    tl_config_default(config);
    choose_structure(r, config);
    config->ram_bytes = n_harts * REGION_BYTES < 16 << 20 ? 16 << 20 : n_harts * REGION_BYTES;
    if (n_harts == 2)
        make_two_harts(config, 1 + (below(r, 4) != 0));
}

// One look at a hart: step goes ahead and says where the detailed machine is to go.
static void set_goal(pair *p, uint32_t hart, rng *r) {
    tl_hart *a = p->detailed->harts[hart], *b = p->slow->harts[hart];
    if (p->look % 4 == 0 || !is_in_code(b)) {
        rng again = *r;
        begin(a, r);
        begin(b, &again);
    }
    const uint64_t more = 1 + below(r, below(r, 2) ? 20 : 700);
    const uint32_t n_traps = run_within_code(b, b->instret + more, &p->n_overflows[1]);
    p->goals[hart] = (goal){.instret = b->instret, .n_wanted = n_traps};
    p->n_traps += n_traps;
}

// Adds the number of overflow interrupts. Returns the number of instructions.
static uint64_t run_seed(uint64_t seed, uint32_t n_harts, uint64_t n_looks, uint64_t *n_overflows) {
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1}, pieces = {seed};
    tl_config config, plain;
    choose_config(&r, &config, n_harts);
    plain = config;
    make_in_order(&plain);
    pair p = {.detailed = machine_of(&config, &tl_engine_ooo), .slow = machine_of(&plain, &tl_engine_step), .seed = seed};
    for (uint32_t i = 0; i < n_harts; i++)
        fill_system_with(p.slow, (uint64_t)i * REGION_BYTES, &r, csrs, TL_COUNT_OF(csrs));
    memcpy(p.detailed->ram, p.slow->ram, n_harts * REGION_BYTES);
    for (; p.look < n_looks; p.look++) {
        for (uint32_t i = 0; i < n_harts; i++)
            set_goal(&p, i, &r);
        run_until_there(&p, &pieces);
        for (uint32_t i = 0; i < n_harts; i++) {
            if (p.goals[i].n_traps != p.goals[i].n_wanted)
                fail_msg("seed %" PRIu64 ", look %" PRIu64 ", hart%u: %u traps, %u by step", seed, p.look, i, p.goals[i].n_traps,
                         p.goals[i].n_wanted);
            compare(&p, i);
        }
    }
    compare_counts(&p);
    assert_true(p.n_traps > n_looks / 4);
    assert_int_equal(p.n_overflows[0], p.n_overflows[1]);
    *n_overflows += p.n_overflows[0];
    uint64_t n_insns = 0;
    for (uint32_t i = 0; i < n_harts; i++)
        n_insns += p.detailed->harts[i]->instret;
    tl_machine_free(p.detailed);
    tl_machine_free(p.slow);
    return n_insns;
}

static void run_seeds(uint32_t n_harts) {
    const char *first = getenv("TL_LOCKSTEP_SEED"), *looks = getenv("TL_LOCKSTEP_STOPS");
    const uint64_t from = first ? strtoull(first, NULL, 10) : 1, n_looks = looks ? strtoull(looks, NULL, 10) : 400 / n_harts;
    uint64_t n_overflows = 0, n_insns = 0;
    for (uint64_t seed = from; seed < from + 12 || n_insns < wanted_insns(); seed++)
        n_insns += run_seed(seed, n_harts, n_looks, &n_overflows);
    assert_true(n_overflows > 12 * n_looks / 400);
    if (wanted_insns() != 0)
        print_message("%" PRIu64 " instructions\n", n_insns);
}

static void test_random_system_software_agrees_on_random_structures(void **state) {
    (void)state;
    run_seeds(1);
}

static void test_random_system_software_agrees_on_two_harts(void **state) {
    (void)state;
    run_seeds(2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_system_software_agrees_on_random_structures),
    cmocka_unit_test(test_random_system_software_agrees_on_two_harts),
};
TL_TEST_MAIN(tests)
