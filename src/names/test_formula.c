// SPDX-License-Identifier: MIT
#include "names/formula.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"

// Names of a test machine: cells 0..3 hold a0, a1 (harts 0 and 1), and two shared cells s and big.
enum { A0, A1, S, BIG, N_SLOTS };
static const uint64_t values[N_SLOTS] = {7, 11, 13, UINT64_MAX};

static tl_status find(void *ctx, const char *name, tl_leaf *ret_leaf, tl_error *err) {
    static const tl_cell cells[] = {A0, A1, S, BIG};
    static const tl_owned_cell owned[] = {{A0, 0}, {A1, 1}};
    (*(uint32_t *)ctx)++;
    static const struct {
        const char *name;
        tl_leaf leaf;
    } names[] = {
        {"a", {.kind = TL_LEAF_SLOTS, .cells = cells, .n_cells = 2, .hart_cells = owned, .n_hart_cells = 2}},
        {"a-b:u", {.kind = TL_LEAF_SLOTS, .cells = cells, .n_cells = 1, .hart_cells = owned, .n_hart_cells = 1}},
        {"s", {.kind = TL_LEAF_SLOTS, .cells = cells + S, .n_cells = 1}},
        {"big", {.kind = TL_LEAF_SLOTS, .cells = cells + BIG, .n_cells = 1}},
        {"harts", {.kind = TL_LEAF_CONSTANT, .constant = 2, .hart_constant = 1}},
        {"ifs", {.kind = TL_LEAF_CONSTANT, .constant = 5, .hart_constant = 5}},
    };
    for (size_t i = 0; i < TL_COUNT_OF(names); i++)
        if (strcmp(names[i].name, name) == 0) {
            *ret_leaf = names[i].leaf;
            return TL_OK;
        }
    return tl_fail(err, TL_ENOENT, "unknown name '%s'", name);
}

static tl_status compile(const char *text, tl_arena *arena, const tl_formula **formula, tl_error *err) {
    uint32_t n_asked = 0;
    return tl_formula_compile(text, arena, find, &n_asked, formula, err);
}

static tl_value eval(int line, const char *text, int hart, tl_arena *arena) {
    const tl_formula *formula = NULL;
    tl_error err = {0};
    if (compile(text, arena, &formula, &err) != TL_OK)
        fail_msg("line %d: %s", line, err.text);
    return tl_formula_eval(formula, values, hart);
}

static void test_integers_are_exact(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *text;
        uint64_t value;
    } rows[] = {
        {__LINE__, "a", 18},
        {__LINE__, "a-b:u", 7},
        {__LINE__, "1 + 2 * 3", 7},
        {__LINE__, "(1 + 2) * 3", 9},
        {__LINE__, "10 - 3 - 2", 5},
        {__LINE__, "100 / 10 / 5", 2},
        {__LINE__, "7 // 2", 3},
        {__LINE__, "big", UINT64_MAX},
        {__LINE__, "big - 1", UINT64_MAX - 1},
        {__LINE__, "s - a + big - 1", UINT64_MAX - 6}, // negative on the way
        {__LINE__, "big * 1000 // 1000", UINT64_MAX},  // beyond 64 bits on the way
        {__LINE__, "-(-5)", 5},
        {__LINE__, "- -5", 5},
        {__LINE__, "2*a", 36},
        {__LINE__, "min(s, 4, a)", 4},
        {__LINE__, "max(s, 4, a)", 18},
        {__LINE__, "d_ratio(36, a)", 2},
        {__LINE__, "d_ratio(a, 0)", 0},
        {__LINE__, "3 < 4", 1},
        {__LINE__, "4 <= 3", 0},
        {__LINE__, "big > big - 1", 1},
        {__LINE__, "1 == 1.0", 1},
        {__LINE__, "1 != 2", 1},
        {__LINE__, "1 and 0 or 1", 1},
        {__LINE__, "0 and 1 / 0", 0}, // the right side is not evaluated
        {__LINE__, "1 or 1 / 0", 1},
        {__LINE__, "4 if a > 100 else 5 if a > 10 else 6", 5},
        {__LINE__, "ifs if ifs else 1", 5}, // keywords are whole words
        {__LINE__, "1e3", 1000},
        {__LINE__, "  a\t+ s ", 31},
    };
    tl_arena arena = {0};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_value value = eval(rows[i].line, rows[i].text, TL_ALL_HARTS, &arena);
        if (value.kind != TL_VALUE_INTEGER || value.integer != rows[i].value)
            fail_msg("line %d: '%s' is %" PRIu64 " or %g (%s)", rows[i].line, rows[i].text, value.integer, value.real,
                     value.reason ? value.reason : "");
    }
    tl_arena_done(&arena);
}

static void test_what_is_not_whole_is_real(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *text;
        double value;
    } rows[] = {
        {__LINE__, "1 / 2", 0.5},
        {__LINE__, "s - a", -5},
        {__LINE__, "0.5 * 3", 1.5},
        {__LINE__, "-7 // 2", -4},
        {__LINE__, "7 // -2", -4},
        {__LINE__, "7.5 // 2", 3},
        {__LINE__, "big + 1", 18446744073709551616.0},
        {__LINE__, "big * big * big", 6.277101735386681e57},
        {__LINE__, "100 * s / a", 1300.0 / 18},
        {__LINE__, "1.5e-3", 0.0015},
        {__LINE__, ".5", 0.5},
        {__LINE__, "min(0.5, 1)", 0.5},
    };
    tl_arena arena = {0};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_value value = eval(rows[i].line, rows[i].text, TL_ALL_HARTS, &arena);
        if (value.kind != TL_VALUE_REAL || fabs(value.real - rows[i].value) > fabs(rows[i].value) * 1e-15)
            fail_msg("line %d: '%s' is %.17g, kind %d", rows[i].line, rows[i].text, value.real, (int)value.kind);
    }
    tl_arena_done(&arena);
}

static void test_what_has_no_value_says_why(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *text;
        int hart;
        const char *reason;
    } rows[] = {
        {__LINE__, "1 / 0", TL_ALL_HARTS, "division by zero: 0 is 0"},
        {__LINE__, "1 + a / (s - 13) * 2", TL_ALL_HARTS, "division by zero: (s - 13) is 0"},
        {__LINE__, "a // 0", TL_ALL_HARTS, "division by zero: 0 is 0"},
        {__LINE__, "max(1, 1 / (a - a))", TL_ALL_HARTS, "division by zero: (a - a) is 0"},
        {__LINE__, "2 if 1 / 0 else 3", TL_ALL_HARTS, "division by zero: 0 is 0"},
        {__LINE__, "a + s", 0, "s belongs to all harts"},
        {__LINE__, "1e308 * 1e308", TL_ALL_HARTS, "the value is too large"},
    };
    tl_arena arena = {0};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_value value = eval(rows[i].line, rows[i].text, rows[i].hart, &arena);
        if (value.kind != TL_VALUE_MISSING || strcmp(value.reason, rows[i].reason) != 0)
            fail_msg("line %d: '%s' is %g (%s)", rows[i].line, rows[i].text, value.real, value.reason ? value.reason : "no reason");
    }
    tl_arena_done(&arena);
}

static void test_one_hart_counts_its_own(void **state) {
    (void)state;
    tl_arena arena = {0};
    assert_int_equal(eval(__LINE__, "a", 0, &arena).integer, 7);
    assert_int_equal(eval(__LINE__, "a", 1, &arena).integer, 11);
    assert_int_equal(eval(__LINE__, "a * harts", 1, &arena).integer, 11);
    assert_int_equal(eval(__LINE__, "a * harts", TL_ALL_HARTS, &arena).integer, 36);
    tl_arena_done(&arena);
}

static void test_mistakes_are_named_with_their_column(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *text;
        tl_status status;
        const char *sentence;
    } rows[] = {
        {__LINE__, "", TL_EFORMAT, "formula '': column 1: a value is missing at the end"},
        {__LINE__, "a +", TL_EFORMAT, "formula 'a +': column 4: a value is missing at the end"},
        {__LINE__, "a + * s", TL_EFORMAT, "formula 'a + * s': column 5: a value is missing here"},
        {__LINE__, "(a", TL_EFORMAT, "formula '(a': column 3: ')' is missing"},
        {__LINE__, "a)", TL_EFORMAT,
         "formula 'a)': column 2: nothing may follow here; an operator is missing, or a '-' needs blanks around it"},
        {__LINE__, "a s", TL_EFORMAT,
         "formula 'a s': column 3: nothing may follow here; an operator is missing, or a '-' needs blanks around it"},
        {__LINE__, "min(a)", TL_EFORMAT, "formula 'min(a)': column 7: a second value is missing"},
        {__LINE__, "d_ratio(1, 2, 3)", TL_EFORMAT, "formula 'd_ratio(1, 2, 3)': column 14: d_ratio takes two values"},
        {__LINE__, "min a", TL_EFORMAT, "formula 'min a': column 5: '(' is missing"},
        {__LINE__, "1 if a", TL_EFORMAT, "formula '1 if a': column 7: 'else' is missing"},
        {__LINE__, "1.2.3", TL_EFORMAT, "formula '1.2.3': column 1: not a number"},
        {__LINE__, "1 < 2 < 3", TL_EFORMAT,
         "formula '1 < 2 < 3': column 7: nothing may follow here; an operator is missing, or a '-' needs blanks around it"},
        {__LINE__, "nothing", TL_ENOENT, "unknown name 'nothing'"},
        {__LINE__, "a + nothing", TL_ENOENT, "formula 'a + nothing': column 5: unknown name 'nothing'"},
        {__LINE__, "a-s", TL_ENOENT, "unknown name 'a-s'"},
    };
    tl_arena arena = {0};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const tl_formula *formula = NULL;
        tl_error err = {0};
        tl_status status = compile(rows[i].text, &arena, &formula, &err);
        if (status != rows[i].status || formula || strcmp(err.text, rows[i].sentence) != 0)
            fail_msg("line %d: status %d, \"%s\"", rows[i].line, status, err.text);
    }
    tl_arena_done(&arena);
}

static void test_hostile_formulas_are_refused(void **state) {
    (void)state;
    tl_arena arena = {0};
    const tl_formula *formula;
    tl_error err;
    char text[4200];
    memset(text, '(', 4000);
    text[4000] = '\0';
    assert_int_equal(compile(text, &arena, &formula, &err), TL_EFORMAT);
    assert_non_null(strstr(err.text, "nested too deeply"));
    memset(text, '-', 4000); // many signs are one sign
    strcpy(text + 4000, "1");
    assert_int_equal(compile(text, &arena, &formula, &err), TL_OK);
    memset(text, '1', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_int_equal(compile(text, &arena, &formula, &err), TL_EFORMAT);
    tl_arena_done(&arena);
}

static tl_status find_double(void *ctx, const char *name, tl_leaf *ret_leaf, tl_error *err) {
    (void)name;
    (void)err;
    *ret_leaf = (tl_leaf){.kind = TL_LEAF_FORMULA, .formula = *(const tl_formula **)ctx};
    return TL_OK;
}

static void test_formulas_of_formulas_stay_small(void **state) {
    (void)state;
    tl_arena arena = {0};
    const tl_formula *formula;
    tl_error err;
    tl_status status = compile("a", &arena, &formula, &err);
    uint32_t n_levels = 0;
    for (; status == TL_OK && n_levels < 64; n_levels++)
        status = tl_formula_compile("x + x", &arena, find_double, &formula, &formula, &err);
    assert_int_equal(status, TL_EFORMAT);
    assert_string_equal(err.text, "formula 'x + x': too large with all that it is made of");
    assert_true(n_levels > 10);
    tl_arena_done(&arena);
}

static void test_plain_sums_name_their_cells(void **state) {
    (void)state;
    tl_arena arena = {0};
    const tl_formula *sum, *product;
    const tl_cell *cells = NULL;
    assert_int_equal(compile("s + (a)", &arena, &sum, NULL), TL_OK);
    assert_int_equal(tl_formula_cells(sum, &cells), 3);
    assert_int_equal(cells[0], S);
    assert_int_equal(cells[1], A0);
    assert_int_equal(cells[2], A1);
    assert_true(tl_formula_is_shared(sum));
    assert_int_equal(compile("2 * a", &arena, &product, NULL), TL_OK);
    assert_int_equal(tl_formula_cells(product, &cells), 0);
    assert_false(tl_formula_is_shared(product));
    tl_arena_done(&arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_integers_are_exact),
    cmocka_unit_test(test_what_is_not_whole_is_real),
    cmocka_unit_test(test_what_has_no_value_says_why),
    cmocka_unit_test(test_one_hart_counts_its_own),
    cmocka_unit_test(test_mistakes_are_named_with_their_column),
    cmocka_unit_test(test_hostile_formulas_are_refused),
    cmocka_unit_test(test_formulas_of_formulas_stay_small),
    cmocka_unit_test(test_plain_sums_name_their_cells),
};
TL_TEST_MAIN(tests)
