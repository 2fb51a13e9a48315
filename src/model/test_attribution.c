// SPDX-License-Identifier: MIT
// Rows of an attribution without a machine: random accesses against plain sums, and whose a
// transfer's counts are. Machines are in tests/contract/test_attribution.c.
#include "model/attribution.h"

#include <stdlib.h>
#include <string.h>

#include "base/testing.h"

enum { N_HARTS = 2, N_OTHERS = 24, N_CELLS = N_HARTS * TL_S_N_CELLS + N_OTHERS, N_ROWS = 6 };

typedef struct rig {
    uint64_t tally[N_CELLS];
    tl_probe probe;
    tl_attribution *attribution;
    tl_hart *harts[N_HARTS];
} rig;

static void rig_new(rig *r) {
    tl_error err = {0};
    *r = (rig){0};
    r->probe = (tl_probe){.tally = r->tally, .n_cells = N_CELLS};
    assert_int_equal(tl_attribution_new(&r->probe, N_HARTS, &r->attribution, &err), TL_OK);
    for (uint32_t i = 0; i < N_HARTS; i++) {
        r->harts[i] = calloc(1, sizeof *r->harts[i]);
        assert_non_null(r->harts[i]);
        r->harts[i]->id = i;
        r->harts[i]->tally = r->tally + (size_t)i * TL_S_N_CELLS;
        r->harts[i]->attribution = r->attribution;
    }
}

static void rig_free(rig *r) {
    for (uint32_t i = 0; i < N_HARTS; i++)
        free(r->harts[i]);
    tl_attribution_free(r->attribution);
}

static uint64_t row_count(rig *r, uint64_t pc, tl_cell cell) {
    uint32_t n_rows;
    uint64_t n = 0;
    const tl_attribution_row *rows = tl_attribution_rows(r->attribution, &n_rows);
    for (uint32_t i = 0; i < n_rows; i++)
        for (uint32_t k = 0; k < rows[i].n_counts; k++)
            if (rows[i].pc == pc && rows[i].counts[k].cell == cell)
                n += rows[i].counts[k].n;
    return n;
}

static uint64_t random_of(uint64_t *state, uint64_t n) {
    *state = *state * UINT64_C(6364136223846793005) + 1;
    return (*state >> 33) % n;
}

// Accesses of a few kinds. Now and then one moves a cell that its kind does not, which the number
// that tells kinds apart leaves out, or moves less.
static void test_rows_of_random_accesses_are_their_sums(void **state) {
    (void)state;
    static const tl_cell cells[] = {TL_S_HART_CYC_LOAD_MISS, TL_S_HART_CYC_STORE_MISS, TL_S_L1D_LOAD_MISS,
                                    TL_S_L1D_STORE_MISS,     TL_S_L1D_EVICT_DIRTY,     TL_S_DTLB_LOAD_MISS,
                                    TL_S_L2TLB_ACCESS,       TL_S_PTW_CYCLE,           N_HARTS * TL_S_N_CELLS + 3};
    enum { N_USED = sizeof cells / sizeof cells[0], N_KINDS = 4 };
    static const uint8_t kinds[N_KINDS][N_USED] = {
        {30, 0, 1, 1, 0, 0, 0, 0, 1}, {30, 0, 1, 0, 1, 0, 0, 0, 2}, {0, 0, 0, 0, 0, 1, 1, 4, 0}, {0, 20, 0, 0, 0, 0, 0, 0, 1}};
    for (uint32_t is_plain = 0; is_plain < 2; is_plain++) {
        rig r;
        rig_new(&r);
        if (is_plain)
            tl_attribution_use_plain_code(r.attribution);
        static uint64_t expected[N_ROWS][N_CELLS];
        memset(expected, 0, sizeof expected);
        uint64_t seed = 11;
        for (uint32_t step = 0; step < 20000; step++) {
            const uint32_t row = (uint32_t)random_of(&seed, N_ROWS), hart = row % N_HARTS;
            const uint8_t *kind = kinds[random_of(&seed, N_KINDS)];
            const uint64_t odd = random_of(&seed, 40);
            tl_attribution_own_access(r.harts[hart], 0x1000 + 4 * row);
            for (uint32_t i = 0; i < N_USED; i++) {
                const tl_cell cell = i + 1 < N_USED ? hart * TL_S_N_CELLS + cells[i] : cells[i];
                const uint64_t n = odd == 39 ? 0 : (uint64_t)kind[i] + (odd == i);
                r.tally[cell] += n;
                expected[row][cell] += n;
            }
        }
        for (uint32_t row = 0; row < N_ROWS; row++)
            for (tl_cell cell = 0; cell < N_CELLS; cell++)
                assert_int_equal(row_count(&r, 0x1000 + 4 * row, cell), expected[row][cell]);
        tl_error err = {0};
        assert_int_equal(tl_attribution_check(r.attribution, &err), TL_OK);
        rig_free(&r);
    }
}

// The counts of a prediction are the transfer's, whoever counts next.
static void test_transfer_of_another_hart_is_settled_at_a_runs_end(void **state) {
    (void)state;
    rig r;
    rig_new(&r);
    r.harts[0]->pc = 0x1000;
    r.harts[1]->pc = 0x2000;
    tl_attribution_begin(r.harts[0]);
    tl_attribution_end(r.harts[0]);
    tl_attribution_begin(r.harts[1]);
    tl_attribution_own(r.harts[1], 0x2000);
    tl_attribution_transfer(r.harts[1], 0x2004);
    r.harts[1]->tally[TL_S_BP_COND_MISS] += 1;
    r.harts[1]->tally[TL_S_L1D_LOAD] += 10;
    tl_attribution_own_end(r.harts[0]); // the kernel counts for hart 0
    r.harts[0]->tally[TL_S_HART_EXCEPTION] += 100;
    tl_attribution_own(r.harts[1], 0x2008);
    r.harts[1]->tally[TL_S_L1D_LOAD] += 1000;
    const tl_cell second = TL_S_N_CELLS;
    assert_int_equal(row_count(&r, 0x2004, second + TL_S_BP_COND_MISS), 1);
    assert_int_equal(row_count(&r, 0x2000, second + TL_S_BP_COND_MISS), 0);
    assert_int_equal(row_count(&r, 0x2000, second + TL_S_L1D_LOAD), 10);
    assert_int_equal(row_count(&r, 0x1000, TL_S_HART_EXCEPTION), 100);
    assert_int_equal(row_count(&r, 0x2008, second + TL_S_L1D_LOAD), 1000);
    rig_free(&r);
}

static void space_changed(void *graph, uint32_t hart, uint64_t space) { (void)graph, (void)hart, (void)space; }

// As a detailed core: cycles that were counted ahead are taken back from their owner.
static void test_owner_before_comes_back_with_its_context(void **state) {
    (void)state;
    rig r;
    rig_new(&r);
    static uint8_t event_of[N_CELLS];
    uint64_t under_way = 0, first = 0, second = 0;
    memset(event_of, TL_NO_EVENT, sizeof event_of);
    event_of[TL_S_L1D_LOAD] = 0;
    tl_context_sink sink = {
        .event_of = event_of, .executed_event = TL_NO_EVENT, .counts = {&under_way, &under_way}, .space_changed = space_changed};
    tl_attribution_set_sink(r.attribution, &sink);
    uint64_t *n = &r.tally[TL_S_L1D_LOAD];
    tl_attribution_own_running(r.harts[0], 0x1000, &first);
    *n += 1;
    tl_attribution_own_running(r.harts[0], 0x1000, &second); // the same one, in another context
    *n += 10;
    tl_attribution_own_as_before(r.harts[0]);
    *n += 100;
    tl_attribution_own_in(r.attribution, &second);
    *n += 1000;
    tl_attribution_own(r.harts[0], 0x1000);
    *n += 10000;
    assert_int_equal(row_count(&r, 0x1000, TL_S_L1D_LOAD), 11111);
    assert_int_equal(first, 101);
    assert_int_equal(second, 1010);
    assert_int_equal(under_way, 10000);
    rig_free(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rows_of_random_accesses_are_their_sums),
    cmocka_unit_test(test_transfer_of_another_hart_is_settled_at_a_runs_end),
    cmocka_unit_test(test_owner_before_comes_back_with_its_context),
};

TL_TEST_MAIN(tests)
