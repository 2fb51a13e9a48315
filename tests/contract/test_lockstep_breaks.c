// SPDX-License-Identifier: MIT
// Breakpoints in system software, run freely to them. They are at every instruction that random
// code of three privilege modes reaches. Such places are behind returns from traps, at trap
// handlers, behind branches, at targets of indirect jumps, at beginnings of lines and pages. Every
// front-end must stop there with what the stepping one has, and go on to the same end.
#include "lockstep.h"
#include "random_system.h"

enum { MAX_TRACE = 160, MAX_STOPS = 600 };

typedef struct place { // an instruction that was come by, and how
    uint64_t pc;
    enum { BEHIND_NOTHING, BEHIND_RETURN, BEHIND_TRAP, BEHIND_JUMP, N_WAYS } way;
} place;

// Counts of what all engines reached together.
static uint32_t n_breaks[N_WAYS], n_line_starts, n_page_starts;

// Runs as the board does, up to `instret` or a breakpoint.
static tl_stop run_until(tl_hart *h, uint64_t instret, uint32_t *n_traps) {
    while (h->instret < instret) {
        tl_irq irq;
        if (take_due_interrupt(h, &irq)) {
            *n_traps += 1;
            // The engine decides how far a run goes. Only a trap or the limit ends this loop.
            if (*n_traps > MAX_STOPS)
                break;
        }
        tl_stop stop = run_on(h, instret);
        *n_traps += stop == TL_STOP_TRAP;
        if (stop == TL_STOP_BREAK)
            return stop;
        if (*n_traps > MAX_STOPS) // a trap whose handler traps, for ever
            break;
    }
    return TL_STOP_LIMIT;
}

static void begin(const pair *p, rng at, bool has_counters) {
    tl_machine *const machines[] = {p->fast, p->slow};
    for (int i = 0; i < 2; i++) {
        rng again = at;
        tl_hart *h = machines[i]->harts[0];
        h->skip_break = h->is_interrupted = h->is_waiting = false;
        scatter(h, &again, has_counters, CODE_IS_READ_ONLY);
        if (below(&again, 2)) // a little before a page
            h->pc = TL_RAM_BASE_PADDR + 4096 * (1 + (uint64_t)below(&again, CODE_BYTES / 4096 - 1)) - 2 * (uint64_t)below(&again, 6);
    }
}

static void put_returns(const pair *p, rng *r) { // more than random code has
    static const uint32_t returns[] = {0x30200073, 0x10200073};
    for (uint32_t i = 0; i < CODE_BYTES / 128; i++)
        pair_put(p, TL_RAM_BASE_PADDR + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 2), &returns[below(r, 2)], 4);
}

// Both go on from where they stand to the next stop.
static tl_stop go(const pair *p, uint64_t instret) {
    tl_hart *fast = p->fast->harts[0], *slow = p->slow->harts[0];
    uint32_t n_traps = 0, n_traps_fast = 0;
    tl_stop stop = run_until(slow, instret, &n_traps), stop_fast = run_until(fast, instret, &n_traps_fast);
    if (stop != stop_fast || n_traps != n_traps_fast)
        fail_msg("%s: stop %d at %" PRIx64 " after %u traps by %s, %d at %" PRIx64 " after %u by step", p->where, stop_fast, fast->pc,
                 n_traps_fast, fast->engine->name, stop, slow->pc, n_traps);
    // A line may be looked up once more where code is stepped for a counter or for FS.
    pair_same(p, false);
    assert_int_equal(fast->run_vline, slow->run_vline);
    return stop;
}

// Lists the places that this situation leads to, one instruction at a time, each place once.
static uint32_t trace(const pair *p, place places[MAX_TRACE]) {
    const tl_hart *slow = p->slow->harts[0];
    uint32_t n = 0;
    uint64_t expected = TL_NO_LINE;
    uint32_t priv = slow->priv;
    for (uint32_t i = 0; i < MAX_TRACE; i++) {
        uint64_t pc = slow->pc;
        bool is_new = true;
        for (uint32_t k = 0; k < n; k++)
            is_new &= places[k].pc != pc;
        place at = {.pc = pc, .way = BEHIND_NOTHING};
        if (expected != TL_NO_LINE && pc != expected && pc != expected + 2)
            at.way = BEHIND_JUMP;
        if (slow->priv != priv)
            at.way = slow->priv < priv ? BEHIND_RETURN : BEHIND_TRAP;
        if (is_new)
            places[n++] = at;
        expected = pc + 2;
        priv = slow->priv;
        (void)go(p, slow->instret + 1);
    }
    return n;
}

static void break_everywhere(pair *p, rng *r, uint64_t seed) {
    tl_hart *fast = p->fast->harts[0], *slow = p->slow->harts[0];
    bool has_counters = slow->n_pmus > 0 && below(r, 2);
    rng at = {next(r)};
    place places[MAX_TRACE];
    begin(p, at, has_counters);
    snprintf(p->where, sizeof p->where, "seed %" PRIu64 ", traced", seed);
    uint32_t n = trace(p, places);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(p->where, sizeof p->where, "seed %" PRIu64 ", breakpoint %u at %" PRIx64, seed, i, places[i].pc);
        begin(p, at, has_counters);
        if (below(r, 2)) { // warm, or with blocks made for this breakpoint
            (void)go(p, slow->instret + MAX_TRACE);
            begin(p, at, has_counters);
        }
        fast->break_pc[0] = slow->break_pc[0] = places[i].pc;
        fast->break_pc[1] = slow->break_pc[1] = below(r, 4) ? TL_NO_LINE : places[below(r, n)].pc;
        uint64_t end = slow->instret + MAX_TRACE;
        for (uint32_t k = 0; k < 20 && go(p, end) == TL_STOP_BREAK; k++) {
            assert_true(slow->pc == slow->break_pc[0] || slow->pc == slow->break_pc[1]);
            if (slow->pc == places[i].pc) {
                n_breaks[places[i].way]++;
                n_line_starts += (slow->pc & 63) == 0;
                n_page_starts += (slow->pc & 4095) == 0;
            }
            fast->skip_break = slow->skip_break = below(r, 8) != 0; // else it is met again at once
        }
        fast->skip_break = slow->skip_break = false;
        fast->break_pc[0] = slow->break_pc[0] = fast->break_pc[1] = slow->break_pc[1] = TL_NO_LINE;
        (void)go(p, end + 50);
    }
}

static void run_all(const tl_config *config, uint64_t first_seed, uint32_t n_seeds) {
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
        for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++) {
            pair p = pair_new(config, &fast_engines[e]);
            rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
            fill_system(p.fast, &r);
            memcpy(p.slow->ram, p.fast->ram, TABLES_OFFSET + 0x20000);
            put_returns(&p, &r);
            tl_privileged_reset(p.fast->harts[0]);
            tl_privileged_reset(p.slow->harts[0]);
            for (uint32_t i = 0; i < 4; i++)
                break_everywhere(&p, &r, seed);
            assert_memory_equal(p.fast->ram, p.slow->ram, TABLES_OFFSET + 0x20000);
            pair_free(&p);
        }
}

static void test_breakpoints_everywhere_agree(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    run_all(&config, 1, lockstep_rounds(12));
}

static void test_breakpoints_everywhere_agree_on_a_small_machine(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config_small(&config);
    config.code_cache_bytes = TL_MIN_CODE_CACHE_BYTES;
    run_all(&config, 100, lockstep_rounds(12));
}

static void test_every_kind_of_place_was_reached(void **state) {
    (void)state;
    if (getenv("TL_LOCKSTEP_STOPS"))
        printf("breaks: %u in line, %u behind returns, %u behind traps, %u behind jumps, %u at lines, %u at pages\n", n_breaks[0],
               n_breaks[1], n_breaks[2], n_breaks[3], n_line_starts, n_page_starts);
    for (uint32_t way = 0; way < N_WAYS; way++)
        assert_true(n_breaks[way] > 20);
    assert_true(n_line_starts > 100 && n_page_starts > 20);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_breakpoints_everywhere_agree),
    cmocka_unit_test(test_breakpoints_everywhere_agree_on_a_small_machine),
    cmocka_unit_test(test_every_kind_of_place_was_reached),
};
TL_TEST_MAIN(tests)
