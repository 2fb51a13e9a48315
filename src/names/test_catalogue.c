// SPDX-License-Identifier: MIT
#include "names/catalogue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "session/description.h"
#include "session/machine_names.h"

static tl_catalogue *open_catalogue(const char *machine) {
    tl_config config;
    tl_catalogue *catalogue = NULL;
    tl_error err = {0};
    if (tl_description_open(machine, &config, &err) != TL_OK || tl_machine_names_new(&config, &catalogue, &err) != TL_OK)
        fail_msg("%s", err.text);
    return catalogue;
}

static tl_cell slot_of(const tl_catalogue *catalogue, const char *path) {
    for (tl_cell cell = 0; cell < tl_catalogue_n_cells(catalogue); cell++)
        if (strcmp(tl_catalogue_signal_at(catalogue, cell).path, path) == 0)
            return cell;
    fail_msg("no signal %s", path);
    return 0;
}

static void test_there_are_many_signals_each_with_a_sentence(void **state) {
    (void)state;
    tl_catalogue *catalogue = open_catalogue("rocket");
    assert_true(tl_catalogue_n_cells(catalogue) >= 120);
    for (tl_cell cell = 0; cell < tl_catalogue_n_cells(catalogue); cell++) {
        const tl_signal *signal = tl_catalogue_signal_at(catalogue, cell).signal;
        size_t n = strlen(signal->meaning);
        assert_true(n > 10 && signal->meaning[n - 1] == '.');
        assert_true(signal->max_step > 0);
    }
    tl_catalogue_free(catalogue);
}

// Every cell holds a power of two, so that a sum tells its parts; low cells only.
static uint64_t eval_one(tl_catalogue *catalogue, const char *name, int hart, const char *const *ones, uint32_t n_ones) {
    tl_quantities list = {0};
    tl_error err = {0};
    uint64_t *values = calloc(tl_catalogue_n_cells(catalogue), sizeof *values);
    assert_non_null(values);
    for (uint32_t i = 0; i < n_ones; i++)
        values[slot_of(catalogue, ones[i])] = UINT64_C(1) << i;
    if (tl_catalogue_events(catalogue, name, &list, &err) != TL_OK)
        fail_msg("%s", err.text);
    assert_int_equal(list.n_items, 1);
    tl_value value = tl_formula_eval(list.items[0].formula, values, hart);
    assert_int_equal(value.kind, TL_VALUE_INTEGER);
    tl_quantities_done(&list);
    free(values);
    return value.integer;
}

static void test_names_stand_for_the_right_totals(void **state) {
    (void)state;
    static const char *const ones[] = {"hart0.cycle",         "hart1.cycle",         "hart0.cycle_u",      "hart1.cycle_s",
                                       "hart0.l1d.load_miss", "hart1.l1d.load_miss", "l2.0.readmiss",      "l2.1.readmiss",
                                       "l2.0.readmiss_hart1", "hart1.insn_jalr",     "hart0.bp.cond_miss", "hart1.bp.target_miss",
                                       "hart0.cycle_m"};
    static const struct {
        int line;
        const char *name;
        int hart;
        uint64_t bits;
    } rows[] = {
        {__LINE__, "cycles", TL_ALL_HARTS, 0x3},         {__LINE__, "cycles", 1, 0x2},
        {__LINE__, "hart1.cycle", TL_ALL_HARTS, 0x2},    {__LINE__, "hart.cycle", TL_ALL_HARTS, 0x3},
        {__LINE__, "cycles:u", TL_ALL_HARTS, 0x4},       {__LINE__, "cycles:k", TL_ALL_HARTS, 0x8},
        {__LINE__, "cycles:uk", TL_ALL_HARTS, 0xc},      {__LINE__, "hart0.cycle:m", TL_ALL_HARTS, 0x1000},
        {__LINE__, "l1d.load_miss", TL_ALL_HARTS, 0x30}, {__LINE__, "L1-dcache-load-misses", 0, 0x10},
        {__LINE__, "cache-misses", TL_ALL_HARTS, 0xc0},  {__LINE__, "cache-misses", 1, 0x100},
        {__LINE__, "l2.1.readmiss", TL_ALL_HARTS, 0x80}, {__LINE__, "branches", TL_ALL_HARTS, 0x200},
        {__LINE__, "branches:u", TL_ALL_HARTS, 0x200},   {__LINE__, "branch-misses", TL_ALL_HARTS, 0xc00},
        {__LINE__, "PAPI_TOT_CYC", TL_ALL_HARTS, 0x3},   {__LINE__, "{cycles}", TL_ALL_HARTS, 0x3},
    };
    tl_catalogue *catalogue = open_catalogue("lowrisc2");
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        uint64_t bits = eval_one(catalogue, rows[i].name, rows[i].hart, ones, TL_COUNT_OF(ones));
        if (bits != rows[i].bits)
            fail_msg("line %d: %s is 0x%llx", rows[i].line, rows[i].name, (unsigned long long)bits);
    }
    tl_catalogue_free(catalogue);
}

static void test_times_are_nanoseconds_of_the_clock(void **state) {
    (void)state;
    // Their values are 1, 2, 4 and 8.
    static const char *const ones[] = {"hart0.idle_cycle", "hart1.idle_cycle", "hart0.cycle", "hart1.cycle"};
    // The clock has 50 MHz: a cycle is 20 ns.
    tl_catalogue *catalogue = open_catalogue("lowrisc2");
    assert_int_equal(eval_one(catalogue, "task-clock", TL_ALL_HARTS, ones, 4), 12 * 20);
    assert_int_equal(eval_one(catalogue, "task-clock", 1, ones, 4), 8 * 20);
    assert_int_equal(eval_one(catalogue, "duration_time", TL_ALL_HARTS, ones, 4), 15 * 10);
    assert_int_equal(eval_one(catalogue, "duration_time", 0, ones, 4), 5 * 20);
    tl_catalogue_free(catalogue);
}

static void join_names(const tl_quantities *list, tl_strbuf *out) {
    for (uint32_t i = 0; i < list->n_items; i++)
        tl_strbuf_addf(out, "%s%s", i ? " " : "", list->items[i].name);
}

static void test_lists_and_globs_keep_their_order(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *names, *found;
    } rows[] = {
        {__LINE__, "instructions,cycles", "instructions cycles"},
        {__LINE__, " cycles , instructions ,", "cycles instructions"},
        {__LINE__, "{cycles,instructions}", "cycles instructions"},
        {__LINE__, "cycles,cycles", "cycles"},
        {__LINE__, "*.load_miss", "l1d.load_miss dtlb.load_miss"}, // sums over the harts
        {__LINE__, "bp.c*", "bp.cond bp.cond_miss bp.cond_miss_taken"},
        {__LINE__, "branch-*", "branch-instructions branch-misses"},
        {__LINE__, "hart1.l1i.*i*", "hart1.l1i.miss hart1.l1i.evict hart1.l1i.invalidate hart1.l1i.prefetch_hit"},
        {__LINE__, "l2.[01].write*", "l2.0.write l2.0.writemiss l2.0.writeback l2.1.write l2.1.writemiss l2.1.writeback"},
        {__LINE__, "l2.write*", "l2.write l2.writemiss l2.writeback"},
        {__LINE__, "hart?.cycle", "hart0.cycle hart1.cycle"},
    };
    tl_catalogue *catalogue = open_catalogue("lowrisc2");
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_quantities list = {0};
        tl_strbuf found = {0};
        tl_error err = {0};
        if (tl_catalogue_events(catalogue, rows[i].names, &list, &err) != TL_OK)
            fail_msg("line %d: %s", rows[i].line, err.text);
        join_names(&list, &found);
        if (strcmp(tl_strbuf_text(&found), rows[i].found) != 0)
            fail_msg("line %d: %s", rows[i].line, tl_strbuf_text(&found));
        tl_quantities_done(&list);
        tl_strbuf_done(&found);
    }
    tl_catalogue_free(catalogue);
}

static void test_unknown_names_offer_the_nearest(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *names;
        tl_status status;
        const char *sentence;
    } rows[] = {
        {__LINE__, "cylces", TL_ENOENT, "unknown event 'cylces'; did you mean cycles?"},
        {__LINE__, "cycles,cache_miss", TL_ENOENT, "unknown event 'cache_miss'; did you mean cache-misses?"},
        {__LINE__, "l1d.loadmiss", TL_ENOENT, "unknown event 'l1d.loadmiss'; did you mean l1d.load_miss, l1d.load or l1d.amo_miss?"},
        {__LINE__, "hart7.cycle", TL_ENOENT, "unknown event 'hart7.cycle'; did you mean hart.cycle, hart0.cycle or hart1.cycle?"},
        {__LINE__, "x1234567890", TL_ENOENT, "unknown event 'x1234567890'; tally list shows them all"},
        {__LINE__, "r4200", TL_ENOENT, "'r4200' is a selector of a PMU; ask for it with -P rvhpm -e r4200"},
        {__LINE__, "cpu/cylces/u", TL_ENOENT, "unknown event 'cylces'; did you mean cycles?"},
        {__LINE__, "cpu/cycles/x", TL_EINVAL, "cycles:x: unknown modifier 'x'; there are :u (user), :k (supervisor) and :m (machine mode)"},
        {__LINE__, "l2/read/", TL_ENOENT, "l2/read/: the only PMU with events of that form is cpu; write cpu/read/"},
        {__LINE__, "cpu/event=1,umask=2/u,cycles", TL_EINVAL,
         "cpu/event=1,umask=2/u: a selector means something to one PMU only; write tally stat -P rvhpm -e rHEX, or a name of tally list events"},
        {__LINE__, "nothing.*", TL_ENOENT, "no event matches 'nothing.*'; tally list shows them all"},
        {__LINE__, "ipc", TL_ENOENT, "'ipc' is a metric, not an event; ask for it with -M ipc"},
        {__LINE__, "", TL_EINVAL, "no event is named; write some, such as cycles,instructions"},
        {__LINE__, ", ,", TL_EINVAL, "no event is named; write some, such as cycles,instructions"},
        {__LINE__, "cycles:x", TL_EINVAL, "cycles:x: unknown modifier 'x'; there are :u (user), :k (supervisor) and :m (machine mode)"},
        {__LINE__, "cycles:", TL_EINVAL, "cycles:: a modifier is missing after the colon"},
        {__LINE__, "page-faults:u", TL_EINVAL, "os.page_fault is not known per privilege mode; ask for it without :u, :k or :m"},
        {__LINE__, "L1-dcache-loads:k", TL_EINVAL,
         "l1d.load is caused by instructions, and none of them runs in that mode here; ask for it without :k or :m"},
    };
    tl_catalogue *catalogue = open_catalogue("lowrisc2");
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_quantities list = {0};
        tl_error err = {0};
        assert_int_equal(tl_catalogue_events(catalogue, "instructions", &list, NULL), TL_OK);
        tl_status status = tl_catalogue_events(catalogue, rows[i].names, &list, &err);
        if (status != rows[i].status || err.status != status || strcmp(err.text, rows[i].sentence) != 0)
            fail_msg("line %d: status %d, \"%s\"", rows[i].line, status, err.text);
        assert_int_equal(list.n_items, 1); // unchanged
        tl_quantities_done(&list);
    }
    tl_catalogue_free(catalogue);
}

static void test_every_alias_resolves_on_every_machine(void **state) {
    (void)state;
    static const char *const perf[] = {"cycles",
                                       "instructions",
                                       "branches",
                                       "branch-misses",
                                       "cache-references",
                                       "cache-misses",
                                       "L1-dcache-loads",
                                       "L1-dcache-load-misses",
                                       "L1-dcache-stores",
                                       "L1-dcache-store-misses",
                                       "L1-icache-loads",
                                       "L1-icache-load-misses",
                                       "LLC-loads",
                                       "LLC-load-misses",
                                       "LLC-stores",
                                       "LLC-store-misses",
                                       "dTLB-loads",
                                       "dTLB-load-misses",
                                       "dTLB-stores",
                                       "dTLB-store-misses",
                                       "iTLB-loads",
                                       "iTLB-load-misses",
                                       "stalled-cycles-frontend",
                                       "stalled-cycles-backend",
                                       "page-faults",
                                       "minor-faults",
                                       "major-faults",
                                       "context-switches",
                                       "cpu-migrations",
                                       "task-clock",
                                       "cpu-clock",
                                       "bus-cycles",
                                       "ref-cycles",
                                       "alignment-faults",
                                       "PAPI_TOT_CYC",
                                       "PAPI_TOT_INS",
                                       "PAPI_L1_DCM"};
    for (uint32_t m = 0; m < tl_description_n_builtins(); m++) {
        tl_catalogue *catalogue = open_catalogue(tl_description_builtin(m).name);
        tl_quantities list = {0};
        tl_error err = {0};
        for (uint32_t i = 0; i < tl_catalogue_n_aliases(catalogue); i++) {
            const tl_alias *alias = tl_catalogue_alias_at(catalogue, i);
            size_t n = strlen(alias->meaning);
            if (tl_catalogue_events(catalogue, alias->name, &list, &err) != TL_OK)
                fail_msg("%s", err.text);
            assert_true(n >= 7 && alias->meaning[n - 1] == '.');
        }
        assert_int_equal(list.n_items, tl_catalogue_n_aliases(catalogue));
        for (size_t i = 0; i < TL_COUNT_OF(perf); i++)
            if (tl_catalogue_events(catalogue, perf[i], &list, &err) != TL_OK)
                fail_msg("%s", err.text);
        // All of perf's names were there.
        assert_int_equal(list.n_items, tl_catalogue_n_aliases(catalogue));
        tl_quantities_done(&list);
        tl_catalogue_free(catalogue);
    }
}

static void test_events_of_one_slot_can_be_split_by_unit(void **state) {
    (void)state;
    tl_catalogue *catalogue = open_catalogue("u74");
    tl_quantities list = {0};
    const tl_cell *cells = NULL;
    assert_int_equal(tl_catalogue_events(catalogue, "branches,minor-faults,cache-misses,l2.write", &list, NULL), TL_OK);
    assert_int_equal(tl_formula_cells(list.items[0].formula, &cells), 3 * 4);
    assert_int_equal(cells[0], slot_of(catalogue, "hart0.insn_branch"));
    assert_int_equal(tl_formula_cells(list.items[1].formula, &cells), 0); // a difference
    assert_int_equal(tl_formula_cells(list.items[2].formula, &cells), 4);
    assert_false(tl_formula_is_shared(list.items[2].formula)); // slices tell the harts apart
    assert_true(tl_formula_is_shared(list.items[3].formula));
    tl_quantities_done(&list);
    tl_catalogue_free(catalogue);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_there_are_many_signals_each_with_a_sentence),
    cmocka_unit_test(test_names_stand_for_the_right_totals),
    cmocka_unit_test(test_times_are_nanoseconds_of_the_clock),
    cmocka_unit_test(test_lists_and_globs_keep_their_order),
    cmocka_unit_test(test_unknown_names_offer_the_nearest),
    cmocka_unit_test(test_every_alias_resolves_on_every_machine),
    cmocka_unit_test(test_events_of_one_slot_can_be_split_by_unit),
};
TL_TEST_MAIN(tests)
