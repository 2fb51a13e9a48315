// SPDX-License-Identifier: MIT
// Counts by instruction. Rows of every engine that books are those of the stepping one, on random
// code with traps, limits, breakpoints and several harts, and they sum up to the totals. A program
// whose rows were worked out on paper has those rows.
#include "attributions.h"
#include "lockstep.h"
#include "random_code.h"

enum { CODE_BYTES = 16 << 10, DATA_BYTES = 64 << 10, DATA_OFFSET = 1 << 20 };

static void point(tl_hart *h, rng *r) {
    tl_rv(h)->x[2] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 4 + (uint64_t)below(r, 500) * 16;
    tl_rv(h)->x[8] = TL_RAM_BASE_PADDR + DATA_OFFSET + DATA_BYTES / 2 + (uint64_t)below(r, 1000) * 8;
    tl_rv(h)->x[9] = tl_rv(h)->x[1] = TL_RAM_BASE_PADDR + 4096 + (uint64_t)below(r, CODE_BYTES - 8192);
    h->pc = TL_RAM_BASE_PADDR + 2 * (uint64_t)below(r, CODE_BYTES / 2 - 64);
}

static void one_turn(pair *p, rng *r) {
    const uint32_t all = (1u << p->fast->n_harts) - 1;
    tl_turn turns[2] = {tl_machine_next(p->fast, all), tl_machine_next(p->slow, all)};
    const uint64_t ahead = below(r, 3000), limit = below(r, 4) == 0 ? below(r, 500) : UINT64_MAX / 2;
    const uint64_t at = TL_RAM_BASE_PADDR + 2 * (uint64_t)below(r, CODE_BYTES / 2);
    const bool has_break = below(r, 50) == 0;
    tl_stop stops[2];
    for (uint32_t i = 0; i < 2; i++) {
        tl_hart *h = turns[i].hart;
        h->horizon = tl_lesser(turns[i].end, h->now + ahead);
        h->insn_limit = h->instret + limit;
        if (has_break)
            h->break_pc[0] = at;
        stops[i] = tl_turn_run(&turns[i]);
    }
    assert_int_equal(stops[0], stops[1]);
    tl_hart *a = p->fast->harts[0], *b = p->slow->harts[0];
    for (uint32_t i = 0; i < p->fast->n_harts; i++) {
        a = p->fast->harts[i];
        b = p->slow->harts[i];
        if (a->pc != b->pc)
            fail_msg("%s: hart %u is at %" PRIx64 " by %s, at %" PRIx64 " by step", p->where, i, a->pc, p->fast->engine->name, b->pc);
        if (stops[0] == TL_STOP_TRAP && a->run_vline == TL_NO_LINE && below(r, 2)) {
            rng again = *r;
            point(a, r);
            point(b, &again);
        }
        a->skip_break = b->skip_break = stops[0] == TL_STOP_BREAK;
    }
}

static void random_code(const tl_config *config, const fast_engine *engine, uint64_t seed) {
    static const uint16_t csrs[] = {0x001, 0x002, 0x003, 0xc00, 0xc02};
    pair p = pair_new(config, engine);
    rng r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    snprintf(p.where, sizeof p.where, "seed %" PRIu64, seed);
    tl_attribution *fast = attribute(p.fast), *slow = attribute(p.slow);
    fill_with(&r, p.fast->ram, CODE_BYTES, csrs, TL_COUNT_OF(csrs), 8);
    memcpy(p.slow->ram, p.fast->ram, CODE_BYTES);
    for (uint32_t i = 0; i < config->n_harts; i++) {
        rng again = r;
        point(p.fast->harts[i], &r);
        point(p.slow->harts[i], &again);
    }
    const uint32_t n_turns = lockstep_rounds(900);
    for (uint32_t n = 1; n <= n_turns; n++) {
        one_turn(&p, &r);
        if (n % (n_turns / 3) != 0)
            continue;
        pair_same_tallies(&p);
        same_rows(p.where, p.fast, fast, slow);
    }
    tl_attribution_free(fast);
    tl_attribution_free(slow);
    pair_free(&p);
}

static void with_engines(const tl_config *config, uint64_t first_seed, uint64_t n_seeds) {
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++)
        for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++)
            random_code(config, &fast_engines[e], seed);
}

static void test_rows_of_random_code_are_those_of_step(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    with_engines(&config, 1, 3);
}

static void test_rows_of_a_tiny_machine_are_those_of_step(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config_small(&config);
    config.ram_bytes = 16 << 20;
    with_engines(&config, 11, 3);
}

static void test_rows_of_four_harts_are_those_of_step(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.n_harts = 4;
    config.l2_slices = 2;
    with_engines(&config, 21, 3);
}

typedef struct expected_count {
    uint32_t offset; // of the instruction
    tl_cell cell;
    uint64_t n;
} expected_count;

// Ten rounds over ten lines. The loads alone miss, the use alone waits two cycles for its load, the
// branch is taken nine times. A run begins with the first instruction in each round, and with the
// EBREAK. The code is one line, which the first instruction misses once.
static void test_rows_of_a_loop_are_those_worked_out_on_paper(void **state) {
    (void)state;
    enum { LOAD = 0, USE = 4, COUNT = 12, BRANCH = 16, END = 20, ROUNDS = 10 };
    static const uint32_t loop[] = {
        0x00053283, // ld t0, 0(a0)
        0x00528333, // add t1, t0, t0: the use
        0x04050513, // addi a0, a0, 64
        0xfff58593, // addi a1, a1, -1
        0xfe0598e3, // bnez a1, loop
        0x00100073, // ebreak
    };
    static const expected_count expected[] = {
        {LOAD, TL_S_L1D_LOAD, ROUNDS},
        {LOAD, TL_S_L1D_LOAD_MISS, ROUNDS},
        {LOAD, TL_S_HART_LOAD_BYTES, 8 * ROUNDS},
        {LOAD, TL_S_HART_FETCH_RUN, ROUNDS},
        {LOAD, TL_S_L1I_ACCESS, ROUNDS},
        {LOAD, TL_S_L1I_MISS, 1},
        {LOAD, TL_S_HART_CYC_LOAD_USE, 0},
        {USE, TL_S_HART_CYC_LOAD_USE, 2 * ROUNDS},
        {USE, TL_S_HART_CYC_LOAD_MISS, 0},
        {USE, TL_S_L1D_LOAD, 0},
        {COUNT, TL_S_HART_CYC_ISSUE, ROUNDS},
        {BRANCH, TL_S_HART_BRANCH_TAKEN, ROUNDS - 1},
        {BRANCH, TL_S_BP_COND, ROUNDS},
        {BRANCH, TL_S_HART_FETCH_RUN, 0},
        {END, TL_S_HART_FETCH_RUN, 1},
        {END, TL_S_L1I_MISS, 0},
        {END, TL_S_HART_BRANCH_TAKEN, 0},
    };
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    config.pipeline.load_use_cycles = 3;
    fast_engine engines[TL_COUNT_OF(fast_engines) + 1] = {step_engine};
    memcpy(engines + 1, fast_engines, sizeof fast_engines);
    for (uint32_t e = 0; e < TL_COUNT_OF(engines); e++) {
        tl_machine *machine;
        tl_error err = {0};
        assert_int_equal(machine_with(&engines[e], &config, &machine, &err), TL_OK);
        tl_attribution *attribution = attribute(machine);
        tl_hart *h = machine->harts[0];
        memcpy(machine->ram, loop, sizeof loop);
        h->pc = TL_RAM_BASE_PADDR;
        tl_rv(h)->x[10] = TL_RAM_BASE_PADDR + DATA_OFFSET;
        tl_rv(h)->x[11] = ROUNDS;
        tl_turn turn = tl_machine_next(machine, 1);
        assert_int_equal(tl_turn_run(&turn), TL_STOP_TRAP);
        tl_machine_sync(machine);
        if (tl_attribution_check(attribution, &err) != TL_OK)
            fail_msg("%s", err.text);
        for (uint32_t i = 0; i < TL_COUNT_OF(expected); i++) {
            const expected_count *want = &expected[i];
            const tl_attribution_row *row = row_at(attribution, 0, TL_RAM_BASE_PADDR + want->offset);
            assert_non_null(row);
            assert_int_equal(row->n_executed, want->offset == END ? 0 : ROUNDS);
            if (count_of(row, want->cell) != want->n)
                fail_msg("%s, row %u: %" PRIu64, engines[e].name, i, count_of(row, want->cell));
        }
        tl_attribution_free(attribution);
        tl_machine_free(machine);
    }
}

// Many accesses move alike; the host books with and without its vectors.
static void test_misses_that_move_alike_are_booked_once(void **state) {
    (void)state;
    enum { ROUNDS = 5000 };
    static const uint32_t loop[] = {
        0x00053283, // ld t0, 0(a0)
        0x00063303, // ld t1, 0(a2)
        0x04050513, // addi a0, a0, 64
        0x04060613, // addi a2, a2, 64
        0xfff58593, // addi a1, a1, -1
        0xfe0596e3, // bnez a1, loop
        0x00100073, // ebreak
    };
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    for (uint32_t run = 0; run < 2 * TL_COUNT_OF(fast_engines); run++) {
        tl_machine *machine;
        tl_error err = {0};
        assert_int_equal(machine_with(&fast_engines[run / 2], &config, &machine, &err), TL_OK);
        tl_attribution *attribution = attribute(machine);
        if (run % 2 == 1)
            tl_attribution_use_plain_code(attribution);
        tl_hart *h = machine->harts[0];
        memcpy(machine->ram, loop, sizeof loop);
        h->pc = TL_RAM_BASE_PADDR;
        tl_rv(h)->x[10] = TL_RAM_BASE_PADDR + DATA_OFFSET;
        tl_rv(h)->x[11] = ROUNDS;
        tl_rv(h)->x[12] = TL_RAM_BASE_PADDR + 2 * DATA_OFFSET;
        tl_turn turn = tl_machine_next(machine, 1);
        assert_int_equal(tl_turn_run(&turn), TL_STOP_TRAP);
        tl_machine_sync(machine);
        if (tl_attribution_check(attribution, &err) != TL_OK)
            fail_msg("%s", err.text);
        for (uint32_t load = 0; load < 2; load++)
            assert_int_equal(count_of(row_at(attribution, 0, TL_RAM_BASE_PADDR + 4 * load), TL_S_L1D_LOAD_MISS), ROUNDS);
        tl_attribution_free(attribution);
        tl_machine_free(machine);
    }
}

// The last instruction of RAM reaches beyond it: its first line is looked up, the second one traps.
static void test_fetch_that_traps_in_its_second_line_is_booked_as_by_step(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    const uint64_t pc = TL_RAM_BASE_PADDR + config.ram_bytes - 2;
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++) {
        pair p = pair_new(&config, &fast_engines[e]);
        tl_machine *machines[] = {p.fast, p.slow};
        tl_attribution *attributions[2];
        for (uint32_t i = 0; i < 2; i++) {
            attributions[i] = attribute(machines[i]);
            machines[i]->ram[config.ram_bytes - 2] = 0x33;
            machines[i]->harts[0]->pc = pc;
            tl_turn turn = tl_machine_next(machines[i], 1);
            assert_int_equal(tl_turn_run(&turn), TL_STOP_TRAP);
        }
        pair_same_tallies(&p);
        const tl_attribution_row *a = row_at(attributions[0], 0, pc), *b = row_at(attributions[1], 0, pc);
        assert_non_null(a);
        assert_non_null(b);
        assert_int_equal(count_of(b, TL_S_L1I_READ), 1);
        same_counts(p.where, p.fast, a, b);
        for (uint32_t i = 0; i < 2; i++)
            tl_attribution_free(attributions[i]);
        pair_free(&p);
    }
}

// Counts between two runs belong to the instruction that stopped the first one, in its space.
static void test_counts_between_runs_belong_to_the_instruction_that_stopped(void **state) {
    (void)state;
    enum { N_SPACES = 300 };
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    for (uint32_t e = 0; e < TL_COUNT_OF(fast_engines); e++) {
        tl_machine *machine;
        tl_error err = {0};
        assert_int_equal(machine_with(&fast_engines[e], &config, &machine, &err), TL_OK);
        tl_attribution *attribution = attribute(machine);
        tl_hart *h = machine->harts[0];
        const uint32_t code[] = {0x00150513, 0x00100073}; // addi a0, a0, 1; ebreak
        memcpy(machine->ram, code, sizeof code);
        for (uint64_t space = 0; space < N_SPACES; space++) {
            h->pc = TL_RAM_BASE_PADDR;
            tl_turn turn = tl_machine_next(machine, 1);
            assert_int_equal(tl_turn_run(&turn), TL_STOP_TRAP);
            h->tally[TL_S_HART_CYC_TRAP] += space + 7;
            tl_machine_sync(machine);
            tl_attribution_set_space(attribution, 0, space + 1);
        }
        for (uint64_t space = 0; space < N_SPACES; space++) {
            assert_int_equal(row_at(attribution, space, TL_RAM_BASE_PADDR)->n_executed, 1);
            assert_int_equal(count_of(row_at(attribution, space, TL_RAM_BASE_PADDR + 4), TL_S_HART_CYC_TRAP), space + 7);
        }
        assert_int_equal(tl_attribution_check(attribution, &err), TL_OK);
        tl_attribution_free(attribution);
        tl_machine_free(machine);
    }
}

// A total that no row has, and an execution too many, are noticed.
static void test_check_tells_what_rows_lack(void **state) {
    (void)state;
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    tl_machine *machine;
    tl_error err = {0};
    assert_int_equal(tl_machine_new(&config, &tl_engine_step, &machine, &err), TL_OK);
    tl_hart *h = machine->harts[0];
    h->tally[TL_S_L1D_LOAD] = 5; // before it began
    tl_attribution *attribution = attribute(machine);
    assert_int_equal(tl_attribution_check(attribution, &err), TL_OK);
    tl_attribution_own(h, 0x1000);
    h->tally[TL_S_L1D_LOAD] += 1;
    assert_int_equal(tl_attribution_check(attribution, &err), TL_OK);
    assert_int_equal(count_of(row_at(attribution, 0, 0x1000), TL_S_L1D_LOAD), 1);
    tl_attribution_pour(h, 0x1000, TL_S_L1D_LOAD, 2);
    assert_int_equal(tl_attribution_check(attribution, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "hart0.l1d.load is 1, but its counts by instruction sum up to 3"));
    tl_attribution_pour(h, 0x1000, TL_S_L1D_LOAD, UINT64_MAX - 1);
    tl_attribution_execute(h, 0x1000, 1);
    assert_int_equal(tl_attribution_check(attribution, &err), TL_EINVAL);
    h->instret = 1;
    tl_machine_sync(machine);
    assert_int_equal(tl_attribution_check(attribution, &err), TL_OK);
    tl_attribution_free(attribution);
    tl_machine_free(machine);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows_of_a_loop_are_those_worked_out_on_paper),
    cmocka_unit_test(test_misses_that_move_alike_are_booked_once),
    cmocka_unit_test(test_fetch_that_traps_in_its_second_line_is_booked_as_by_step),
    cmocka_unit_test(test_counts_between_runs_belong_to_the_instruction_that_stopped),
    cmocka_unit_test(test_check_tells_what_rows_lack),
    cmocka_unit_test(test_rows_of_random_code_are_those_of_step),
    cmocka_unit_test(test_rows_of_a_tiny_machine_are_those_of_step),
    cmocka_unit_test(test_rows_of_four_harts_are_those_of_step),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
