// SPDX-License-Identifier: MIT
#include "base/nearest.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"

static const char *const names[] = {"cycles",   "instructions",  "branches",       "branch-misses", "cache-references", "cache-misses",
                                    "l1d.load", "l1d.load_miss", "l1d.store_miss", "l1i.miss",      "page-faults",      "task-clock"};

static void check_line(int line, const char *wanted, const char *expected) {
    tl_nearest nearest;
    char text[256];
    tl_nearest_init(&nearest, wanted);
    for (size_t i = 0; i < TL_COUNT_OF(names); i++)
        tl_nearest_offer(&nearest, names[i]);
    if (strcmp(tl_nearest_text(&nearest, text, sizeof text), expected) != 0)
        fail_msg("line %d: '%s' gave '%s'", line, wanted, text);
}

static void test_close_names_are_offered_closest_first(void **state) {
    (void)state;
    check_line(__LINE__, "cylces", "; did you mean cycles?"); // a swap is one edit
    check_line(__LINE__, "branchmisses", "; did you mean branch-misses or branches?");
    check_line(__LINE__, "CYCLES", "; did you mean cycles?");
    check_line(__LINE__, "l1d.store-miss", "; did you mean l1d.store_miss or l1d.load_miss?");
    check_line(__LINE__, "page_fault", "; did you mean page-faults?");
    check_line(__LINE__, "instruction", "; did you mean instructions?");
}

static void test_far_names_are_not_offered(void **state) {
    (void)state;
    check_line(__LINE__, "xyzzy", "");
    check_line(__LINE__, "", "");
    check_line(__LINE__, "c", "");
    check_line(__LINE__, "l1xyz.miss", ""); // "l1i.miss" has the same leaf, and another unit
    check_line(__LINE__, "l1.miss", "; did you mean l1i.miss?");
}

static void test_a_name_is_offered_once_and_cut_text_is_safe(void **state) {
    (void)state;
    tl_nearest nearest;
    char text[20], very_long[500];
    memset(very_long, 'a', sizeof very_long - 1);
    very_long[sizeof very_long - 1] = '\0';
    tl_nearest_init(&nearest, "cycle");
    tl_nearest_offer(&nearest, "cycles");
    tl_nearest_offer(&nearest, "cycles");
    tl_nearest_offer(&nearest, very_long);
    assert_int_equal(nearest.n_found, 1);
    assert_string_equal(tl_nearest_text(&nearest, text, sizeof text), "; did you mean cycl");
    tl_nearest_init(&nearest, very_long);
    tl_nearest_offer(&nearest, very_long);
    assert_int_equal(nearest.n_found, 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_close_names_are_offered_closest_first),
    cmocka_unit_test(test_far_names_are_not_offered),
    cmocka_unit_test(test_a_name_is_offered_once_and_cut_text_is_safe),
};
TL_TEST_MAIN(tests)
