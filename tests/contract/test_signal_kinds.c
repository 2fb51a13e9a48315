// SPDX-License-Identifier: MIT
// Facts of model/hart_signals.h hold for every front-end on random code. A total that is not held
// back is right without a sync, at any stop. A total that grows only in slow paths stands still
// while nothing but hits happens. No total outgrows its step per cycle.
#include <stdio.h>

#include "base/testing.h"
#include "engines.h"
#include "isa/rv/hart.h"
#include "machine/machine.h"
#include "random_code.h"

enum { CODE_BYTES = 32 << 10, DATA_OFFSET = 1 << 20, DATA_BYTES = 64 << 10, N_STOPS = 3000 };

enum { N_ENGINES = 1 + TL_COUNT_OF(fast_engines) };
static const fast_engine *engine_at(uint32_t i) { return i == 0 ? &step_engine : &fast_engines[i - 1]; }

static tl_machine *new_machine(const fast_engine *engine, rng *r) {
    static const uint16_t csrs[] = {0x001, 0x003, 0xc00, 0xc02};
    tl_config config;
    tl_machine *machine;
    tl_error err = {0};
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.l1d.size_bytes = config.l1i.size_bytes = 4 << 10;
    assert_int_equal(machine_with(engine, &config, &machine, &err), TL_OK);
    fill_with(r, machine->ram, CODE_BYTES, csrs, TL_COUNT_OF(csrs), 8);
    return machine;
}

static void point(tl_hart *h, rng *r) {
    tl_rv(h)->x[2] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 4 + (uint64_t)below(r, 1000) * 16;
    tl_rv(h)->x[8] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 2 + (uint64_t)below(r, 1000) * 8;
    tl_rv(h)->x[1] = tl_rv(h)->x[9] = TL_RAM_BASE_PADDR + 4096 + (uint64_t)below(r, CODE_BYTES - 8192);
    h->pc = TL_RAM_BASE_PADDR + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64);
}

static const char *name_of(uint32_t slot, char *buffer, size_t size) {
    for (uint32_t u = 0; u < TL_N_HART_UNITS; u++)
        if (slot - tl_hart_units[u].first_cell < tl_hart_units[u].type.n_signals)
            snprintf(buffer, size, "%s.%s", tl_hart_units[u].type.name,
                     tl_hart_units[u].type.signals[slot - tl_hart_units[u].first_cell].name);
    return buffer;
}

static uint32_t max_step_of(uint32_t slot) {
    for (uint32_t u = 0; u < TL_N_HART_UNITS; u++)
        if (slot - tl_hart_units[u].first_cell < tl_hart_units[u].type.n_signals)
            return tl_hart_units[u].type.signals[slot - tl_hart_units[u].first_cell].max_step;
    return 0;
}

static void test_totals_that_are_not_held_back_are_right_at_once(void **state) {
    (void)state;
    for (uint32_t c = 0; c < N_ENGINES; c++) {
        rng r = {77 + c};
        tl_machine *machine = new_machine(engine_at(c), &r);
        tl_hart *h = machine->harts[0];
        uint64_t before[TL_S_N_CELLS], n_cycles, n_held = 0;
        char name[64];
        point(h, &r);
        for (uint32_t stop = 0; stop < N_STOPS; stop++) {
            tl_machine_sync(machine);
            memcpy(before, h->tally, sizeof before);
            n_cycles = h->now;
            h->horizon = h->now + 1 + below(&r, 2000);
            h->insn_limit = below(&r, 3) == 0 ? h->instret + 1 + below(&r, 300) : UINT64_MAX;
            tl_stop why = h->engine->run(h);
            n_cycles = h->now - n_cycles;
            uint64_t shown[TL_S_N_CELLS];
            memcpy(shown, h->tally, sizeof shown);
            tl_machine_sync(machine);
            for (uint32_t slot = 0; slot < TL_S_N_CELLS; slot++) {
                tl_signal_kind kind = tl_hart_signal_kind((enum tl_hart_cell)slot);
                if ((kind == TL_SIGNAL_SLOW || kind == TL_SIGNAL_FAST) && shown[slot] != h->tally[slot])
                    fail_msg("%s: %s is held back", engine_at(c)->name, name_of(slot, name, sizeof name));
                n_held += shown[slot] != h->tally[slot];
                // Counts of a trap that retires nothing took no cycle here, because the test has no
                // handler.
                uint64_t grown = h->tally[slot] - before[slot], most = max_step_of(slot) * (n_cycles + (why == TL_STOP_TRAP));
                if (grown > most)
                    fail_msg("%s: %s grew by %llu in %llu cycles", engine_at(c)->name, name_of(slot, name, sizeof name),
                             (unsigned long long)grown, (unsigned long long)n_cycles);
            }
            if (why == TL_STOP_TRAP)
                point(h, &r);
        }
        assert_true(n_held > 0);
        tl_machine_free(machine);
    }
}

static uint32_t n_slow;
static const tl_mem_port *real_port;
static bool counted_load(tl_hart *h, uint64_t vaddr, uint32_t size) { return n_slow++, real_port->load(h, vaddr, size); }
static bool counted_store(tl_hart *h, uint64_t vaddr, uint32_t size, uint64_t value) {
    return n_slow++, real_port->store(h, vaddr, size, value);
}
static uint8_t *counted_reach_load(tl_hart *h, uint64_t vaddr, uint64_t last_byte) {
    return n_slow++, real_port->reach_load(h, vaddr, last_byte);
}
static uint8_t *counted_reach_store(tl_hart *h, uint64_t vaddr, uint64_t last_byte) {
    return n_slow++, real_port->reach_store(h, vaddr, last_byte);
}
static bool counted_amo(tl_hart *h, uint64_t vaddr, uint32_t size, tl_amo amo, uint64_t operand) {
    return n_slow++, real_port->amo(h, vaddr, size, amo, operand);
}
static bool counted_lr(tl_hart *h, uint64_t vaddr, uint32_t size) { return n_slow++, real_port->load_reserved(h, vaddr, size); }
static bool counted_sc(tl_hart *h, uint64_t vaddr, uint32_t size, uint64_t value) {
    return n_slow++, real_port->store_conditional(h, vaddr, size, value);
}
static bool counted_fetch(tl_hart *h, uint64_t vaddr) { return n_slow++, real_port->fetch(h, vaddr); }
static void counted_fence_i(tl_hart *h) { n_slow++, real_port->drop_code(h); }

static void test_slow_signals_stand_still_where_everything_hits(void **state) {
    (void)state;
    for (uint32_t c = 0; c < N_ENGINES; c++) {
        rng r = {5 + c};
        tl_machine *machine = new_machine(engine_at(c), &r);
        tl_hart *h = machine->harts[0];
        uint64_t before[TL_S_N_CELLS];
        uint32_t n_quiet = 0;
        char name[64];
        point(h, &r);
        real_port = h->port;
        tl_mem_port port = *real_port;
        port.reach_load = counted_reach_load;
        port.reach_store = counted_reach_store;
        port.load = counted_load;
        port.store = counted_store;
        port.amo = counted_amo;
        port.load_reserved = counted_lr;
        port.store_conditional = counted_sc;
        port.fetch = counted_fetch;
        port.drop_code = counted_fence_i;
        h->port = &port;
        for (uint32_t stop = 0; stop < 4 * N_STOPS; stop++) {
            memcpy(before, h->tally, sizeof before);
            n_slow = 0;
            h->insn_limit = h->instret + 1 + below(&r, 40);
            tl_stop why = h->engine->run(h);
            if (why == TL_STOP_TRAP)
                point(h, &r);
            if (n_slow > 0 || why == TL_STOP_TRAP)
                continue;
            n_quiet += 1;
            for (uint32_t slot = 0; slot < TL_S_N_CELLS; slot++)
                if (tl_hart_signal_kind((enum tl_hart_cell)slot) == TL_SIGNAL_SLOW && before[slot] != h->tally[slot])
                    fail_msg("%s: %s grows where nothing is slow", engine_at(c)->name, name_of(slot, name, sizeof name));
        }
        assert_true(n_quiet > N_STOPS / 10);
        h->port = real_port;
        tl_machine_free(machine);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_totals_that_are_not_held_back_are_right_at_once),
    cmocka_unit_test(test_slow_signals_stand_still_where_everything_hits),
};
TL_TEST_MAIN(tests)
