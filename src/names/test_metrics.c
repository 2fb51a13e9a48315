// SPDX-License-Identifier: MIT
#include "names/metrics.h"

#include <dirent.h>
#include <math.h>

#include "base/bits.h"
#include "base/test_docs.h"
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

static void test_every_metric_resolves_on_every_machine(void **state) {
    (void)state;
    for (uint32_t m = 0; m < tl_description_n_builtins(); m++) {
        tl_catalogue *catalogue = open_catalogue(tl_description_builtin(m).name);
        for (uint32_t i = 0; i < tl_catalogue_n_groups(catalogue); i++) {
            const tl_metric_group *group = tl_catalogue_group_at(catalogue, i);
            tl_quantities metrics = {0}, events = {0};
            tl_error err = {0};
            if (tl_catalogue_metrics(catalogue, group->name, &metrics, &err) != TL_OK)
                fail_msg("%s", err.text);
            if (*group->eventset && tl_catalogue_events(catalogue, group->eventset, &events, &err) != TL_OK)
                fail_msg("%s: %s", group->name, err.text);
            assert_int_equal(metrics.n_items, group->n_metrics);
            for (uint32_t k = 0; k < metrics.n_items; k++) {
                const tl_quantity *metric = &metrics.items[k];
                assert_true(metric->is_metric);
                assert_string_equal(metric->group, group->name);
                assert_true(metric->meaning[strlen(metric->meaning) - 1] == '.');
            }
            assert_true(group->title[strlen(group->title) - 1] == '.');
            assert_true(strlen(group->text) > 100);
            tl_quantities_done(&metrics);
            tl_quantities_done(&events);
        }
        tl_catalogue_free(catalogue);
    }
}

static void test_groups_a_user_expects_are_there_ipc_first(void **state) {
    (void)state;
    static const char *const groups[] = {"ipc",    "cpi_stack", "cycle_shares", "topdown", "mpki",      "miss_rates",
                                         "branch", "mix",       "memory",       "tlb",     "coherence", "os"};
    tl_catalogue *catalogue = open_catalogue("rocket");
    assert_string_equal(tl_catalogue_group_at(catalogue, 0)->name, "ipc");
    for (size_t i = 0; i < TL_COUNT_OF(groups); i++)
        if (!tl_catalogue_group(catalogue, groups[i]))
            fail_msg("no group %s", groups[i]);
    tl_catalogue_free(catalogue);
}

static void test_files_of_the_tree_are_all_carried(void **state) {
    (void)state;
    const char *root = getenv("TALLY_SOURCE_ROOT");
    if (!root)
        skip();
    char path[4096];
    snprintf(path, sizeof path, "%s/metrics", root);
    DIR *folder = opendir(path);
    assert_non_null(folder);
    tl_catalogue *catalogue = open_catalogue("ooo");
    uint32_t n_files = 0;
    for (const struct dirent *file; (file = readdir(folder));) {
        char name[300];
        snprintf(name, sizeof name, "%s", file->d_name);
        char *dot = strrchr(name, '.');
        if (!dot || strcmp(dot, ".txt") != 0)
            continue;
        *dot = '\0';
        if (strcmp(name, "aliases") == 0)
            continue;
        n_files++;
        if (!tl_catalogue_group(catalogue, name))
            fail_msg("metrics/%s is in no list; add it to src/names/meson.build", file->d_name);
    }
    closedir(folder);
    assert_int_equal(n_files, tl_catalogue_n_groups(catalogue));
    tl_catalogue_free(catalogue);
}

// Totals that obey the identities of the model: causes sum to cycle, classes to instret.
static uint64_t *new_totals(const tl_catalogue *catalogue) {
    static const uint32_t primes[] = {3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    uint64_t *values = calloc(tl_catalogue_n_cells(catalogue), sizeof *values);
    assert_non_null(values);
    for (tl_cell cell = 0; cell < tl_catalogue_n_cells(catalogue); cell++)
        values[cell] = 1000 + primes[cell % TL_COUNT_OF(primes)] * cell;
    for (uint32_t u = 0; u < tl_catalogue_n_units(catalogue); u++) {
        tl_catalogue_unit unit = tl_catalogue_unit_at(catalogue, u);
        if (strcmp(unit.type->name, "hart") != 0)
            continue;
        uint64_t *hart = values + unit.first_cell;
        hart[TL_S_HART_CYCLE] = hart[TL_S_HART_INSTRET] = 0;
        for (uint32_t s = TL_S_HART_CYC_ISSUE; s <= TL_S_HART_CYC_MMIO; s++)
            hart[TL_S_HART_CYCLE] += hart[s];
        for (uint32_t s = TL_S_HART_INSN_ALU; s <= TL_S_HART_INSN_SYSTEM; s++)
            hart[TL_S_HART_INSTRET] += hart[s];
    }
    return values;
}

static double sum_of(tl_catalogue *catalogue, const char *names, const uint64_t *values, int hart) {
    tl_quantities list = {0};
    tl_error err = {0};
    double sum = 0;
    if (tl_catalogue_metrics(catalogue, names, &list, &err) != TL_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < list.n_items; i++) {
        tl_value value = tl_formula_eval(list.items[i].formula, values, hart);
        if (value.kind == TL_VALUE_MISSING)
            fail_msg("%s: %s", list.items[i].name, value.reason);
        sum += value.real;
    }
    tl_quantities_done(&list);
    return sum;
}

static void assert_near(double a, double b) {
    if (fabs(a - b) > 1e-9 * fabs(b))
        fail_msg("%.17g and %.17g", a, b);
}

static void test_stacks_add_up(void **state) {
    (void)state;
    for (uint32_t m = 0; m < tl_description_n_builtins(); m++) {
        tl_catalogue *catalogue = open_catalogue(tl_description_builtin(m).name);
        uint64_t *values = new_totals(catalogue);
        for (int hart = TL_ALL_HARTS; hart < 1; hart++) {
            assert_near(sum_of(catalogue, "cpi_stack", values, hart), sum_of(catalogue, "cpi,", values, hart));
            assert_near(sum_of(catalogue, "cycle_shares", values, hart), 100);
            assert_near(sum_of(catalogue, "topdown", values, hart), 100);
            assert_near(sum_of(catalogue, "fetch_latency,fetch_redirect", values, hart), sum_of(catalogue, "frontend_bound", values, hart));
            assert_near(sum_of(catalogue, "memory_bound,core_bound", values, hart), sum_of(catalogue, "backend_bound", values, hart));
            assert_near(sum_of(catalogue, "branch_mispredicts,target_mispredicts", values, hart),
                        sum_of(catalogue, "bad_speculation", values, hart));
            assert_near(sum_of(catalogue, "mix_*", values, hart), 100);
        }
        free(values);
        tl_catalogue_free(catalogue);
    }
}

static void test_values_are_what_their_names_say(void **state) {
    (void)state;
    static const struct {
        const char *path;
        uint64_t value;
    } totals[] = {{"hart0.instret", 2000}, {"hart0.cycle", 5000},       {"hart0.l1i.miss", 20}, {"hart0.l1i.access", 80},
                  {"hart0.l1d.load", 400}, {"hart0.l1d.load_miss", 40}, {"l2.0.read", 50},      {"l2.0.readmiss", 10},
                  {"mem0.read", 10},       {"mem0.row_hit", 6},         {"mem0.row_miss", 1},   {"mem0.row_conflict", 3}};
    static const struct {
        const char *name;
        double value;
    } metrics[] = {{"ipc*", 0.4},        {"cpi,", 2.5},  {"l1i_mpki", 10},     {"l1i_miss_rate", 25},   {"l1d_load_miss_rate", 10},
                   {"l2_miss_rate", 20}, {"l2_mpki", 5}, {"row_hit_rate", 60}, {"mem_read_bytes", 640}, {"mem_bandwidth", 0.128}};
    tl_catalogue *catalogue = open_catalogue("rocket"); // 1 GHz, 64-byte lines
    uint64_t *values = calloc(tl_catalogue_n_cells(catalogue), sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < TL_COUNT_OF(totals); i++)
        for (tl_cell cell = 0; cell < tl_catalogue_n_cells(catalogue); cell++)
            if (strcmp(tl_catalogue_signal_at(catalogue, cell).path, totals[i].path) == 0)
                values[cell] = totals[i].value;
    for (size_t i = 0; i < TL_COUNT_OF(metrics); i++)
        assert_near(sum_of(catalogue, metrics[i].name, values, TL_ALL_HARTS), metrics[i].value);

    tl_quantities list = {0};
    assert_int_equal(tl_catalogue_metrics(catalogue, "return_miss_rate,mem_bandwidth", &list, NULL), TL_OK);
    tl_value value = tl_formula_eval(list.items[0].formula, values, TL_ALL_HARTS);
    assert_int_equal(value.kind, TL_VALUE_MISSING);
    assert_string_equal(value.reason, "division by zero: bp.return is 0");
    value = tl_formula_eval(list.items[1].formula, values, 0);
    assert_int_equal(value.kind, TL_VALUE_MISSING);
    assert_string_equal(value.reason, "mem.read belongs to all harts");
    tl_quantities_done(&list);
    free(values);
    tl_catalogue_free(catalogue);
}

static tl_status add_text(tl_catalogue *catalogue, const char *text, tl_error *err) {
    return tl_catalogue_add_group(catalogue, "mine", text, strlen(text), "mine.txt", err);
}

// 1000 cycles of four rename slots, on a core with one hart.
static void test_groups_of_a_detailed_core_divide_its_slots_and_its_work(void **state) {
    (void)state;
    static const struct {
        const char *path;
        uint64_t value;
    } totals[] = {{"core.run_cycle", 1000},     {"core.retire_uop", 1000},     {"core.taken_back_uop", 400},   {"core.slot_resolve", 600},
                  {"core.slot_fetch", 200},     {"core.slot_alone", 40},       {"core.slot_full", 1480},       {"core.slot_parted", 40},
                  {"core.slot_other", 240},     {"core.in_vain_split", 100},   {"core.fetch_insn", 2000},      {"core.rename_uop", 1600},
                  {"core.dispatch", 2500},      {"core.dispatch_first", 1250}, {"core.taken_back_insn", 900},  {"core.replay", 500},
                  {"core.in_vain_source", 300}, {"core.in_vain_miss", 150},    {"core.in_vain_tlb", 75},       {"core.in_vain_store", 50},
                  {"core.miss_cycles", 700},    {"core.miss_any", 200},        {"core.taken_back_first", 250}, {"core.load_miss", 40},
                  {"core.load_miss_wrong", 3},  {"core.load_lookup", 80},      {"core.load_lookup_wrong", 8},  {"core.rob_uops", 90000},
                  {"core.loads_held", 30000},   {"core.stores_held", 9000},    {"core.stall_rob", 130},        {"core.stall_loads", 20}};
    static const struct {
        const char *name;
        double value;
    } metrics[] = {{"slots_retired", 25},
                   {"slots_wrong_path", 10},
                   {"slots_resolve", 15},
                   {"slots_fetch", 5},
                   {"slots_alone", 1},
                   {"slots_full", 37},
                   {"slots_parted", 1},
                   {"slots_other", 6},
                   {"slots", 100},
                   {"stall_rob", 13},
                   {"stall_loads", 2},
                   {"wrong_path_insns", 45},
                   {"wrong_path_uops", 25},
                   {"wrong_path_dispatched", 20},
                   {"wrong_path_load_misses", 7.5},
                   {"wrong_path_look_ups", 10},
                   {"replayed", 20},
                   {"replay_operand", 12},
                   {"replay_miss", 6},
                   {"replay_tlb", 3},
                   {"replay_split", 4},
                   {"replay_store", 2},
                   {"mlp", 3.5},
                   {"rob_occupancy", 90},
                   {"load_occupancy", 30},
                   {"store_occupancy", 9},
                   {"uops_per_cycle", 1},
                   {"dispatch_per_cycle", 2.5}};
    tl_catalogue *catalogue = open_catalogue("ooo");
    uint64_t *values = calloc(tl_catalogue_n_cells(catalogue), sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < TL_COUNT_OF(totals); i++)
        for (tl_cell cell = 0; cell < tl_catalogue_n_cells(catalogue); cell++)
            if (strcmp(tl_catalogue_signal_at(catalogue, cell).event, totals[i].path) == 0)
                values[cell] = totals[i].value;
    for (size_t i = 0; i < TL_COUNT_OF(metrics); i++)
        assert_near(sum_of(catalogue, metrics[i].name, values, TL_ALL_HARTS), metrics[i].value);
    assert_true(tl_catalogue_n_cells(catalogue) >= 120);
    tl_quantities list = {0};
    assert_int_equal(tl_catalogue_metrics(catalogue, "--topdown", &list, NULL), TL_OK);
    assert_int_equal(list.n_items, 5 + 6 + 8 + 5);
    tl_quantities_done(&list);
    free(values);
    tl_catalogue_free(catalogue);
}

static void test_a_group_of_a_unit_is_there_where_the_unit_is(void **state) {
    (void)state;
    tl_catalogue *catalogue = open_catalogue("rocket");
    tl_quantities list = {0};
    tl_error err = {0};
    assert_null(tl_catalogue_group(catalogue, "slots"));
    assert_int_equal(tl_catalogue_metrics(catalogue, "--topdown", &list, NULL), TL_OK);
    assert_int_equal(list.n_items, 5);
    for (size_t i = 0; i < 2; i++) {
        const char *const names[] = {"mlp", "parallelism"};
        char sentence[200];
        snprintf(sentence, sizeof sentence, "'%s' needs a unit core, which this machine does not have; choose a machine that has one",
                 names[i]);
        assert_int_equal(tl_catalogue_metrics(catalogue, names[i], &list, &err), TL_ENOENT);
        assert_string_equal(err.text, sentence);
    }
    const char *text = "UNIT core\nSHORT x.\nMETRICS\nmine | | core.redo | A.\nLONG\nx\n";
    assert_int_equal(add_text(catalogue, text, &err), TL_ENOENT);
    assert_string_equal(err.text, "mine.txt: its metrics need a unit core, which this machine does not have");
    tl_quantities_done(&list);
    tl_catalogue_free(catalogue);
}

// A rate is told from one that counts other look-ups in, because every total is another number.
static void test_rates_of_misses_count_their_own_kind(void **state) {
    (void)state;
    static const struct {
        const char *rate, *misses, *look_ups;
        double factor;
    } rows[] = {
        {"branch_miss_rate", "branch-misses", "branches", 100},
        {"l1i_mpki", "L1-icache-load-misses", "instructions", 1000},
        {"l1i_miss_rate", "L1-icache-load-misses", "L1-icache-loads", 100},
        {"l1d_load_miss_rate", "L1-dcache-load-misses", "L1-dcache-loads", 100},
        {"l1d_store_miss_rate", "L1-dcache-store-misses", "L1-dcache-stores", 100},
        {"l2_miss_rate", "cache-misses", "cache-references", 100},
        {"l2_miss_rate", "LLC-load-misses", "LLC-loads", 100},
        {"itlb_miss_rate", "iTLB-load-misses", "iTLB-loads", 100},
        {"dtlb_load_miss_rate", "dTLB-load-misses", "dTLB-loads", 100},
        {"dtlb_store_miss_rate", "dTLB-store-misses", "dTLB-stores", 100},
    };
    tl_catalogue *catalogue = open_catalogue("rocket");
    uint64_t *values = new_totals(catalogue);
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_quantities events = {0};
        assert_int_equal(tl_catalogue_events(catalogue, rows[i].misses, &events, NULL), TL_OK);
        assert_int_equal(tl_catalogue_events(catalogue, rows[i].look_ups, &events, NULL), TL_OK);
        double misses = tl_formula_eval(events.items[0].formula, values, TL_ALL_HARTS).real;
        double look_ups = tl_formula_eval(events.items[1].formula, values, TL_ALL_HARTS).real;
        assert_near(sum_of(catalogue, rows[i].rate, values, TL_ALL_HARTS), rows[i].factor * misses / look_ups);
        tl_quantities_done(&events);
    }
    free(values);
    tl_catalogue_free(catalogue);
}

static void test_unknown_metrics_offer_the_nearest(void **state) {
    (void)state;
    static const struct {
        const char *names;
        tl_status status;
        const char *sentence;
    } rows[] = {
        {"cpi_stac", TL_ENOENT, "unknown metric 'cpi_stac'; did you mean cpi_stack?"},
        {"l1d_mpk", TL_ENOENT, "unknown metric 'l1d_mpk'; did you mean l1d_mpki or l1i_mpki?"},
        {"qqq", TL_ENOENT, "unknown metric 'qqq'; tally list metrics shows them all"},
        {"cycles", TL_ENOENT, "'cycles' is an event, not a metric; ask for it with -e"},
        {"l1d.load", TL_ENOENT, "'l1d.load' is a signal, not a metric; ask for it with -e"},
        {"nothing*", TL_ENOENT, "unknown metric 'nothing*'; tally list metrics shows them all"},
        {",", TL_EINVAL, "no metric is named; write some, such as ipc,mpki"},
    };
    tl_catalogue *catalogue = open_catalogue("rocket");
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_quantities list = {0};
        tl_error err = {0};
        assert_int_equal(tl_catalogue_metrics(catalogue, rows[i].names, &list, &err), rows[i].status);
        assert_string_equal(err.text, rows[i].sentence);
        assert_int_equal(list.n_items, 0);
        tl_quantities_done(&list);
    }
    tl_catalogue_free(catalogue);
}

static void test_users_add_groups_of_their_own(void **state) {
    (void)state;
    tl_catalogue *catalogue = open_catalogue("rocket");
    tl_error err = {0};
    const char *text = "# a comment\nSHORT  Mine.\n\nEVENTSET\ncycles, instructions\nl1d.load\n\nMETRICS\n# another\n"
                       "twice | x | 2 * once | Twice.\nonce | x | hart.cycle | Once.\n\nLONG\n\nA text.\n\n  Of two parts.\n\n";
    if (add_text(catalogue, text, &err) != TL_OK)
        fail_msg("%s", err.text);
    const tl_metric_group *group = tl_catalogue_group(catalogue, "mine");
    assert_non_null(group);
    assert_string_equal(group->title, "Mine.");
    assert_string_equal(group->eventset, "cycles, instructions,l1d.load");
    assert_string_equal(group->text, "A text.\n\n  Of two parts.");
    assert_int_equal(group->n_metrics, 2);
    uint64_t *values = new_totals(catalogue);
    assert_near(sum_of(catalogue, "twice", values, TL_ALL_HARTS), 2 * sum_of(catalogue, "once", values, TL_ALL_HARTS));
    free(values);
    assert_int_equal(add_text(catalogue, text, &err), TL_EINVAL);
    assert_string_equal(err.text, "mine.txt: there is a group 'mine' already; choose another name");
    tl_catalogue_free(catalogue);
}

static void test_mistakes_in_groups_are_named_with_their_line(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *text, *sentence;
    } rows[] = {
        {__LINE__, "", "mine.txt: SHORT is missing; docs/metrics.md shows the parts of a group"},
        {__LINE__, "SHORT x.\nLONG\nx\n", "mine.txt: METRICS is missing; docs/metrics.md shows the parts of a group"},
        {__LINE__, "SHORT x.\nMETRICS\na | | 1 | A.\n", "mine.txt: LONG is missing; docs/metrics.md shows the parts of a group"},
        {__LINE__, "hello\n", "mine.txt:1: expected one of UNIT, SHORT, EVENTSET, METRICS and LONG"},
        {__LINE__, "UNIT two words\nSHORT x.\n", "mine.txt:1: UNIT is one word"},
        {__LINE__, "UNIT l2\nSHORT x.\nUNIT l2\n", "mine.txt:3: a second UNIT"},
        {__LINE__, "SHORT x.\nmore\n", "mine.txt:2: SHORT is one line"},
        {__LINE__, "SHORT x.\n\nSHORT y.\n", "mine.txt:3: a second SHORT"},
        {__LINE__, "SHORT x.\nMETRICS a | | 1 | A.\n", "mine.txt:2: METRICS stands alone; its rows follow below"},
        {__LINE__, "SHORT x.\nMETRICS\na | | 1 | A.\nLONG text\n", "mine.txt:4: LONG stands alone; its text follows below"},
        {__LINE__, "SHORT x.\nMETRICS\na | 1 | A.\n", "mine.txt:3: 3 cells; write name | unit | formula | meaning"},
        {__LINE__, "SHORT x.\nMETRICS\na b | | 1 | A.\n", "mine.txt:3: 'a b' is not a name; use letters, digits, underscore and dash"},
        {__LINE__, "SHORT x.\nMETRICS\na | | | A.\n", "mine.txt:3: a has no formula"},
        {__LINE__, "SHORT x.\nMETRICS\na | | 1 | \n", "mine.txt:3: a has no meaning"},
        {__LINE__, "SHORT x.\nMETRICS\na | | 1 | A.\n\na | | 2 | B.\n", "mine.txt:5: a is already on line 3"},
        {__LINE__, "SHORT x.\nMETRICS\nipc | | 1 | A.\nLONG\nx\n", "mine.txt:3: ipc is already a metric of group ipc"},
        {__LINE__, "SHORT x.\nMETRICS\ncycles | | 1 | A.\nLONG\nx\n", "mine.txt:3: cycles is already an event"},
        {__LINE__, "SHORT x.\nMETRICS\na | | 1 + | A.\nLONG\nx\n", "mine.txt:3: a: formula '1 +': column 4: a value is missing at the end"},
        {__LINE__, "SHORT x.\nMETRICS\na | | cylces | A.\nLONG\nx\n", "mine.txt:3: a: unknown name 'cylces'; did you mean cycles?"},
        {__LINE__, "SHORT x.\nMETRICS\na | | b | A.\nb | | a | B.\nLONG\nx\n", "mine.txt:3: a: mine.txt:4: b: a is made of itself"},
    };
    tl_catalogue *catalogue = open_catalogue("rocket");
    uint32_t n_before = tl_catalogue_n_groups(catalogue);
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_error err = {0};
        tl_status status = add_text(catalogue, rows[i].text, &err);
        if (status != TL_EFORMAT || strcmp(err.text, rows[i].sentence) != 0)
            fail_msg("line %d: status %d, \"%s\"", rows[i].line, status, err.text);
        assert_int_equal(tl_catalogue_n_groups(catalogue), n_before);
    }
    tl_catalogue_free(catalogue);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_metric_resolves_on_every_machine),
    cmocka_unit_test(test_groups_a_user_expects_are_there_ipc_first),
    cmocka_unit_test(test_files_of_the_tree_are_all_carried),
    cmocka_unit_test(test_stacks_add_up),
    cmocka_unit_test(test_values_are_what_their_names_say),
    cmocka_unit_test(test_groups_of_a_detailed_core_divide_its_slots_and_its_work),
    cmocka_unit_test(test_a_group_of_a_unit_is_there_where_the_unit_is),
    cmocka_unit_test(test_rates_of_misses_count_their_own_kind),
    cmocka_unit_test(test_unknown_metrics_offer_the_nearest),
    cmocka_unit_test(test_users_add_groups_of_their_own),
    cmocka_unit_test(test_mistakes_in_groups_are_named_with_their_line),
};
TL_TEST_MAIN(tests)
