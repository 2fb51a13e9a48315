// SPDX-License-Identifier: MIT
#include "base/glob.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"

static void test_patterns_match_whole_names(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *pattern, *text;
        bool is_match;
    } rows[] = {
        {__LINE__, "*.load_miss", "hart0.l1d.load_miss", true},
        {__LINE__, "*.load_miss", "hart0.l1d.load_miss_x", false},
        {__LINE__, "hart0.*", "hart0.cycle", true},
        {__LINE__, "hart0.*", "hart0.l1d.load", true}, // a star crosses dots
        {__LINE__, "hart0.*", "hart10.cycle", false},
        {__LINE__, "hart?.l1[id].*", "hart3.l1i.miss", true},
        {__LINE__, "hart[!0].l1d.load", "hart0.l1d.load", false},
        {__LINE__, "hart[^0].l1d.load", "hart1.l1d.load", true},
        {__LINE__, "hart[2-4].cycle", "hart3.cycle", true},
        {__LINE__, "hart[2-4].cycle", "hart5.cycle", false},
        {__LINE__, "[]a]", "]", true},
        {__LINE__, "[a-]", "-", true},
        {__LINE__, "a[b", "a[b", true},
        {__LINE__, "a[b", "ab", false},
        {__LINE__, "", "", true},
        {__LINE__, "*", "", true},
        {__LINE__, "?", "", false},
        {__LINE__, "**a**", "bab", true},
        {__LINE__, "a*b*c", "a1b2b3c", true},
        {__LINE__, "a*b*c", "a1b2b3", false},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++)
        if (tl_glob_match(rows[i].pattern, rows[i].text) != rows[i].is_match)
            fail_msg("line %d: '%s' against '%s'", rows[i].line, rows[i].pattern, rows[i].text);
}

static void test_agrees_with_fnmatch_on_random_patterns(void **state) {
    (void)state;
    static const char in_patterns[] = "ab*?*[ab]", in_texts[] = "ab";
    unsigned seed = 7, n_matches = 0;
    for (int round = 0; round < 200000; round++) {
        char pattern[8] = "", text[8] = "";
        int n_pattern = rand_r(&seed) % 8, n_text = rand_r(&seed) % 8;
        for (int i = 0; i < n_pattern; i++)
            pattern[i] = in_patterns[rand_r(&seed) % 9];
        for (int i = 0; i < n_text; i++)
            text[i] = in_texts[rand_r(&seed) % 2];
        bool want = fnmatch(pattern, text, FNM_NOESCAPE) == 0;
        n_matches += want;
        if (tl_glob_match(pattern, text) != want)
            fail_msg("'%s' against '%s': fnmatch says %d", pattern, text, want);
    }
    assert_true(n_matches > 1000);
}

static void test_hostile_patterns_end_soon(void **state) {
    (void)state;
    static char pattern[20001], text[20001];
    for (int i = 0; i < 20000; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[19999] = 'b';
    memset(text, 'a', 20000);
    assert_false(tl_glob_match(pattern, text));
}

static void test_patterns_are_told_from_names(void **state) {
    (void)state;
    assert_true(tl_glob_is_pattern("*.miss"));
    assert_true(tl_glob_is_pattern("hart?"));
    assert_true(tl_glob_is_pattern("l1[id]"));
    assert_false(tl_glob_is_pattern("L1-dcache-load-misses"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_patterns_match_whole_names),
    cmocka_unit_test(test_agrees_with_fnmatch_on_random_patterns),
    cmocka_unit_test(test_hostile_patterns_end_soon),
    cmocka_unit_test(test_patterns_are_told_from_names),
};
TL_TEST_MAIN(tests)
