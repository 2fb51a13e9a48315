// SPDX-License-Identifier: MIT
// Every event that a PMU design calls for has a row in its map (metrics/*.map), and each row is a
// formula over signals that exist on every machine, or says why it has none.
#include "names/catalogue.h"

#include "base/bits.h"
#include "base/test_docs.h"
#include "session/description.h"
#include "session/machine_names.h"

enum { MAX_ROWS = 200, N_CELLS = 5 };

typedef struct map_row {
    char *id, *name, *formula, *fidelity, *note;
} map_row;

typedef struct map {
    char *text;
    map_row rows[MAX_ROWS];
    uint32_t n_rows;
} map;

static char *trim(char *text) {
    text += strspn(text, " ");
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
        text[n - 1] = '\0';
    return text;
}

static void read_map(const char *name, map *ret_map) {
    tl_strbuf text = {0};
    read_tree_file(name, &text);
    *ret_map = (map){.text = tl_strbuf_take(&text)};
    char *rest = ret_map->text;
    for (char *line; (line = strsep(&rest, "\n"));) {
        char *cells[N_CELLS] = {"", "", "", "", ""};
        if (*line == '\0' || *line == '#')
            continue;
        for (uint32_t i = 0; i < N_CELLS && line; i++)
            cells[i] = trim(strsep(&line, "|"));
        assert_true(ret_map->n_rows < MAX_ROWS);
        ret_map->rows[ret_map->n_rows++] = (map_row){cells[0], cells[1], cells[2], cells[3], cells[4]};
    }
}

static const map_row *find_row(const map *of, const char *id) {
    for (uint32_t i = 0; i < of->n_rows; i++)
        if (strcmp(of->rows[i].id, id) == 0)
            return &of->rows[i];
    return NULL;
}

typedef struct range {
    const char *prefix;
    uint32_t first, last;
} range;

static void check_ids(const map *of, const range *ranges, size_t n_ranges) {
    uint32_t n = 0;
    for (size_t i = 0; i < n_ranges; i++)
        for (uint32_t bit = ranges[i].first; bit <= ranges[i].last; bit++, n++) {
            char id[32];
            snprintf(id, sizeof id, "%s%u", ranges[i].prefix, bit);
            if (!find_row(of, id))
                fail_msg("event %s has no row", id);
        }
    assert_int_equal(of->n_rows, n); // none twice, none too many
}

static void check_rows(const map *of, const char *machine) {
    tl_config config;
    tl_catalogue *catalogue = NULL;
    assert_int_equal(tl_description_open(machine, &config, NULL), TL_OK);
    assert_int_equal(tl_machine_names_new(&config, &catalogue, NULL), TL_OK);
    for (uint32_t i = 0; i < of->n_rows; i++) {
        const map_row *row = &of->rows[i];
        const tl_formula *formula;
        tl_error err = {0};
        bool is_exact = strcmp(row->fidelity, "exact") == 0, has_formula = is_exact || strcmp(row->fidelity, "approximate") == 0;
        if (!has_formula && strcmp(row->fidelity, "not-modeled") != 0 && strcmp(row->fidelity, "with-pmu") != 0)
            fail_msg("%s: '%s' is no fidelity", row->name, row->fidelity);
        if (!is_exact && !*row->note)
            fail_msg("%s: only exact rows may go without a note", row->name);
        if (has_formula != (*row->formula != '\0'))
            fail_msg("%s: a formula and '%s' do not go together", row->name, row->fidelity);
        if (has_formula && tl_catalogue_formula(catalogue, row->formula, &formula, &err) != TL_OK)
            fail_msg("%s on %s: %s", row->name, machine, err.text);
        if (*row->note && row->note[strlen(row->note) - 1] != '.')
            fail_msg("%s: a note ends with a full stop", row->name);
    }
    tl_catalogue_free(catalogue);
}

static const char *const map_files[] = {"metrics/dhpc.map", "metrics/u74.map"};

static void test_every_dhpc_event_is_covered(void **state) {
    (void)state;
    static const range ranges[] = {{"0.0.", 0, 31}, {"0.1.", 0, 34}, {"1.0.", 0, 14}, {"1.1.", 0, 7}, {"1.1.", 32, 39},
                                   {"2.0.", 0, 4},  {"3.0.", 0, 2},  {"4.0.", 0, 2},  {"5.0.", 0, 7}, {"7.0.", 0, 5}};
    map dhpc;
    read_map(map_files[0], &dhpc);
    check_ids(&dhpc, ranges, TL_COUNT_OF(ranges));
    free(dhpc.text);
}

static void test_every_u74_event_is_covered(void **state) {
    (void)state;
    static const range ranges[] = {{"0.", 8, 25}, {"1.", 8, 18}, {"2.", 8, 13}};
    map u74;
    read_map(map_files[1], &u74);
    check_ids(&u74, ranges, TL_COUNT_OF(ranges));
    free(u74.text);
}

static void test_rows_resolve_on_every_machine(void **state) {
    (void)state;
    for (size_t file = 0; file < TL_COUNT_OF(map_files); file++) {
        map of;
        read_map(map_files[file], &of);
        for (uint32_t i = 0; i < tl_description_n_builtins(); i++)
            check_rows(&of, tl_description_builtin(i).name);
        free(of.text);
    }
}

// The second page of a core is the U74's events in their own order.
static void test_twin_page_repeats_the_u74(void **state) {
    (void)state;
    map dhpc, u74;
    read_map(map_files[0], &dhpc);
    read_map(map_files[1], &u74);
    for (uint32_t i = 0; i < u74.n_rows; i++) {
        char id[32];
        snprintf(id, sizeof id, "0.1.%u", i);
        const map_row *twin = find_row(&dhpc, id);
        assert_non_null(twin);
        assert_string_equal(twin->formula, u74.rows[i].formula);
        assert_string_equal(twin->fidelity, u74.rows[i].fidelity);
    }
    free(dhpc.text);
    free(u74.text);
}

static void test_tables_in_the_docs_are_current(void **state) {
    (void)state;
    static const char *const marks[] = {"dhpc", "u74"};
    for (size_t file = 0; file < TL_COUNT_OF(map_files); file++) {
        map of;
        tl_strbuf table = {0};
        read_map(map_files[file], &of);
        tl_strbuf_add(&table, "| event | name | signals | fidelity | note |\n| --- | --- | --- | --- | --- |\n");
        for (uint32_t i = 0; i < of.n_rows; i++) {
            const map_row *row = &of.rows[i];
            const char *quote = *row->formula ? "`" : "";
            tl_strbuf_addf(&table, "| %s | %s | %s%s%s | %s | %s |\n", row->id, row->name, quote, row->formula, quote, row->fidelity,
                           row->note);
        }
        check_docs_table("docs/events.md", marks[file], tl_strbuf_text(&table));
        tl_strbuf_done(&table);
        free(of.text);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_dhpc_event_is_covered),    cmocka_unit_test(test_every_u74_event_is_covered),
    cmocka_unit_test(test_rows_resolve_on_every_machine),  cmocka_unit_test(test_twin_page_repeats_the_u74),
    cmocka_unit_test(test_tables_in_the_docs_are_current),
};
TL_TEST_MAIN(tests)
