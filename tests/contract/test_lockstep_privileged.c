// SPDX-License-Identifier: MIT
// Every fast front-end against the stepping one on random system software. It has three privilege
// modes, traps and their returns, delegation, interrupts, page tables, memory protection. Counters
// overflow while the code runs. Registers, clock, privileged state and all tallies must be equal
// whenever equally many instructions have retired. The ways there differ. Code is read-only, or
// changes itself: then up to the first instruction that is not specified.
#include <inttypes.h>
#include <stdio.h>

#include "base/testing.h"
#include "engines.h"
#include "isa/rv/hart.h"
#include "lockstep.h"
#include "random_system.h"
#include "same_state.h"
#include "specified.h"

enum { MAX_TRAPS = 200 }; // between two comparisons

// Runs until so many instructions have retired, or MAX_TRAPS traps were taken: returns how many.
static uint32_t run_until(tl_hart *h, uint64_t instret, uint64_t *n_overflows) {
    uint32_t n_traps = 0;
    while (h->instret < instret && n_traps < MAX_TRAPS) {
        tl_irq irq;
        if (take_due_interrupt(h, &irq)) {
            *n_overflows += irq == TL_IRQ_LCOFI;
            n_traps++;
            // The engine decides how far a run goes. Only a trap or the limit ends this loop.
            continue;
        }
        n_traps += run_on(h, instret) == TL_STOP_TRAP;
    }
    return n_traps;
}

static void compare(tl_machine *fast, tl_machine *slow, uint64_t seed, uint64_t look) {
    assert_same_state(fast->harts[0], slow->harts[0], seed, look);
    assert_int_equal(fast->harts[0]->now, slow->harts[0]->now);
    assert_same_tallies(fast, slow, seed, look);
}

static tl_machine *machine_of(const fast_engine *engine, const tl_config *config) {
    tl_machine *machine;
    tl_error err = {0};
    if (machine_with(engine, config, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_privileged_reset(machine->harts[0]);
    return machine;
}

static void run_pair(const fast_engine *engine, const tl_config *config, uint64_t seed, uint64_t n_looks) {
    tl_machine *fast = machine_of(engine, config), *slow = machine_of(&step_engine, config);
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    fill_system(fast, &r);
    memcpy(slow->ram, fast->ram, TABLES_OFFSET + 0x20000);
    tl_hart *a = fast->harts[0], *b = slow->harts[0];
    bool has_counters = a->n_pmus > 0;
    uint64_t n_traps = 0, n_overflows[2] = {0, 0};
    for (uint64_t look = 0; look < n_looks; look++) {
        if (look % 4 == 0) {
            rng again = r;
            scatter(a, &r, has_counters, CODE_IS_READ_ONLY);
            scatter(b, &again, has_counters, CODE_IS_READ_ONLY);
        }
        uint64_t more = 1 + below(&r, below(&r, 2) ? 20 : 700);
        uint32_t traps_a = run_until(a, a->instret + more, &n_overflows[0]), traps_b = run_until(b, b->instret + more, &n_overflows[1]);
        n_traps += traps_a;
        compare(fast, slow, seed, look);
        if (traps_a != traps_b)
            fail_msg("look %" PRIu64 ": %u traps by fast, %u by step", look, traps_a, traps_b);
    }
    assert_memory_equal(fast->ram, slow->ram, TABLES_OFFSET + 0x20000);
    assert_true(n_traps > n_looks / 4);
    assert_int_equal(n_overflows[0], n_overflows[1]);
    if (getenv("TL_LOCKSTEP_STOPS"))
        printf("seed %" PRIu64 ": %" PRIu64 " traps, %" PRIu64 " overflow interrupts\n", seed, n_traps, n_overflows[0]);
    assert_true(n_overflows[0] > n_looks / 400);
    tl_machine_free(fast);
    tl_machine_free(slow);
}

// Runs both machines on code that may be written, until the outcome is not specified. Returns the
// number of looks before that.
static uint64_t run_pair_that_changes_code(const fast_engine *engine, const tl_config *config, uint64_t seed, uint64_t n_looks) {
    tl_machine *fast = machine_of(engine, config), *slow = machine_of(&watched_engine, config);
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    fill_system(fast, &r);
    add_code_stores(fast->ram, &r);
    memcpy(slow->ram, fast->ram, TABLES_OFFSET + 0x20000);
    assert_true(watch_start(slow, config->ram_bytes));
    tl_hart *a = fast->harts[0], *b = slow->harts[0];
    bool has_counters = a->n_pmus > 0;
    uint64_t n_overflows = 0, look = 0;
    for (; look < n_looks; look++) {
        if (look % 4 == 0) {
            rng again = r;
            scatter(a, &r, has_counters, CODE_IS_WRITABLE);
            gather(a, &r);
            scatter(b, &again, has_counters, CODE_IS_WRITABLE);
            gather(b, &again);
        }
        uint64_t more = 1 + below(&r, below(&r, 2) ? 20 : 700);
        uint32_t traps_b = run_until(b, b->instret + more, &n_overflows);
        if (watch.n_specified != UINT64_MAX)
            break;
        uint32_t traps_a = run_until(a, a->instret + more, &n_overflows);
        compare(fast, slow, seed, look);
        if (traps_a != traps_b)
            fail_msg("seed %" PRIu64 ", look %" PRIu64 ": %u traps by fast, %u by step", seed, look, traps_a, traps_b);
        assert_memory_equal(fast->ram, slow->ram, CODE_BYTES);
    }
    watch_end();
    tl_machine_free(fast);
    tl_machine_free(slow);
    return look;
}

static uint64_t n_looks(void) {
    const char *text = getenv("TL_LOCKSTEP_STOPS");
    return text ? strtoull(text, NULL, 10) : 4000;
}

static void run_all(const tl_config *config, uint64_t first_seed, uint64_t last_seed) {
    for (uint64_t seed = first_seed; seed <= last_seed; seed++) {
        for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
            run_pair(&fast_engines[e], config, seed, n_looks());
    }
}

static void test_random_system_software_agrees(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    run_all(&config, 1, 3);
}

static void test_random_system_software_agrees_on_a_tiny_machine(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.l1i = (tl_cache_config){.size_bytes = 512, .ways = 1, .line_bytes = 16};
    config.l1d = (tl_cache_config){.size_bytes = 512, .ways = 2, .line_bytes = 16, .replacement = TL_REPLACE_FIFO};
    config.l2 = (tl_cache_config){.size_bytes = 4096, .ways = 4, .line_bytes = 16, .replacement = TL_REPLACE_RANDOM};
    config.itlb = config.dtlb = (tl_tlb_config){.entries = 4, .ways = 4, .replacement = TL_REPLACE_PLRU};
    config.pipeline.fetch_bytes = 8;
    config.pipeline.mul_cycles = 9;
    run_all(&config, 11, 12);
}

static void test_random_system_software_that_changes_its_code_agrees(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    uint64_t n = 0, n_seeds = n_looks() / 40;
    for (uint64_t seed = 1; seed <= n_seeds; seed++) {
        if (seed == n_seeds / 2)
            config_small(&config);
        for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
            n += run_pair_that_changes_code(&fast_engines[e], &config, seed, 40);
    }
    print_message("%" PRIu64 " looks at %" PRIu64 " programs\n", n, n_seeds);
    assert_true(n > n_seeds * TL_COUNT_OF(fast_engines) * 10);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_system_software_agrees),
    cmocka_unit_test(test_random_system_software_agrees_on_a_tiny_machine),
    cmocka_unit_test(test_random_system_software_that_changes_its_code_agrees),
};
TL_TEST_MAIN(tests)
