// SPDX-License-Identifier: MIT
// Snapshots of detailed machines of two harts. A machine that was saved, went on, and was put back
// continues as one that was never saved: registers, memory, clocks and every tally. Instructions
// and retired stores are in flight at most snapshots. Structures and programs are random, and both
// harts access the same data.
#include <stdlib.h>

#include "base/testing.h"
#include "machine/snapshot.h"
#include "random_core.h"
#include "same_state.h"

enum { N = 2, BOTH = 3, REGION = 8 << 20, N_STOPS = 40, DETOUR = 5 };

static tl_machine *open_machine(const tl_config *config) {
    tl_machine *machine = NULL;
    tl_error err;
    if (tl_machine_new(config, &tl_engine_ooo, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    return machine;
}

static void fill(tl_machine *machine, uint64_t seed) {
    rng r = {seed};
    for (uint32_t i = 0; i < N; i++) {
        fill_code(&r, machine->ram + i * REGION, CODE_BYTES, true);
        point(machine->harts[i], &r, (uint64_t)i * REGION, 0);
    }
    for (uint32_t i = 0; i < DATA_BYTES; i += 8) {
        const uint64_t value = next(&r);
        memcpy(machine->ram + DATA_OFFSET + i, &value, 8);
    }
}

// A piece of the run that depends on the machine's state and on `stop` alone.
static void run_piece(tl_machine *machine, uint64_t seed, uint64_t stop) {
    rng r = {(seed << 32 | stop) * UINT64_C(0x9e3779b97f4a7c15) + 1};
    for (uint32_t i = 0; i < N; i++) {
        tl_hart *h = machine->harts[i];
        h->insn_limit = h->instret + 1 + below(&r, below(&r, 2) ? 2000 : 20);
        h->horizon = below(&r, 2) ? UINT64_MAX : tl_machine_now_cycles(machine) + below(&r, 300);
    }
    uint64_t n_insns = UINT64_MAX;
    tl_hart *h;
    if (machine->engine->run_group(machine->harts, N, BOTH, BOTH, &n_insns, &h) == TL_STOP_TRAP)
        point(h, &r, (uint64_t)h->id * REGION, 0);
}

static uint64_t signal_of(tl_machine *machine, uint32_t hart, const char *name) {
    char path[64];
    tl_cell cell;
    snprintf(path, sizeof path, "hart%u.core.%s", hart, name);
    assert_int_equal(tl_probe_resolve(&machine->probe, path, &cell), TL_OK);
    return tl_probe_read(&machine->probe, cell);
}

// Stores that retired and are not in the data cache.
static uint64_t n_senior(tl_machine *machine) {
    uint64_t n = 0;
    tl_machine_sync(machine);
    for (uint32_t i = 0; i < N; i++)
        n += signal_of(machine, i, "retire_store") - signal_of(machine, i, "store_drain");
    return n;
}

static tl_snapshot *take(tl_machine *machine) {
    tl_snapshot *snapshot;
    tl_error err;
    if (tl_snapshot_take(machine, &snapshot, &err) != TL_OK)
        fail_msg("%s", err.text);
    return snapshot;
}

static void compare(tl_machine *a, tl_machine *b, uint64_t seed, uint64_t stop) {
    for (uint32_t i = 0; i < N; i++) {
        assert_same_state(a->harts[i], b->harts[i], seed, stop);
        assert_int_equal(a->harts[i]->now, b->harts[i]->now);
        assert_int_equal(a->harts[i]->reservation_paddr, b->harts[i]->reservation_paddr);
    }
    assert_same_tallies(a, b, seed, stop);
}

static void run_seed(uint64_t seed, uint64_t *n_with_stores) {
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    tl_config config;
    tl_config_default(&config);
    choose_structure(&r, &config);
    make_two_harts(&config, 1 + seed % 2);
    config.core.store_misses = 1; // retired stores wait
    config.mem.mem_row_miss_cycles = config.mem.mem_row_conflict_cycles = 300;
    tl_machine *a = open_machine(&config), *b = open_machine(&config);
    fill(a, seed);
    fill(b, seed);
    tl_snapshot *first = NULL;
    for (uint64_t stop = 0; stop < N_STOPS; stop++) {
        if (stop % 4 == 3) { // a detour, from which it comes back
            tl_snapshot *snapshot = take(b);
            *n_with_stores += n_senior(b) > 0;
            for (uint64_t k = 0; k < DETOUR; k++)
                run_piece(b, seed, 1000 + stop * DETOUR + k);
            tl_snapshot_restore(snapshot);
            if (first)
                tl_snapshot_free(snapshot);
            else
                first = snapshot;
        }
        run_piece(a, seed, stop);
        run_piece(b, seed, stop);
        compare(a, b, seed, stop);
    }
    tl_snapshot_restore(first); // and from far away
    for (uint64_t stop = 3; stop < N_STOPS; stop++)
        run_piece(b, seed, stop);
    compare(a, b, seed, N_STOPS);
    assert_memory_equal(a->ram, b->ram, config.ram_bytes);
    tl_error err;
    if (tl_machine_check_identities(b, &err) != TL_OK)
        fail_msg("seed %" PRIu64 ": %s", seed, err.text);
    tl_snapshot_free(first);
    tl_machine_free(a);
    tl_machine_free(b);
}

static void test_a_machine_continues_from_a_snapshot(void **state) {
    (void)state;
    uint64_t n_with_stores = 0;
    for (uint64_t seed = 1; seed < 9; seed++)
        run_seed(seed, &n_with_stores);
    if (n_with_stores < 10)
        fail_msg("%" PRIu64 " of 80 snapshots have retired stores that wait", n_with_stores);
}

static void test_other_machines_are_refused(void **state) {
    (void)state;
    tl_config config;
    tl_machine *machine;
    tl_snapshot *snapshot = NULL;
    tl_error err;
    tl_config_default(&config);
    assert_int_equal(tl_machine_new(&config, &tl_engine_interp, &machine, &err), TL_OK);
    assert_int_equal(tl_snapshot_take(machine, &snapshot, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "or engine step, and no second engine"));
    assert_null(snapshot);
    tl_machine_free(machine);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_machine_continues_from_a_snapshot),
    cmocka_unit_test(test_other_machines_are_refused),
};
TL_TEST_MAIN(tests)
