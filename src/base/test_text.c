// SPDX-License-Identifier: MIT
// Bounded text: appends, the end of the buffer, and cutting back.
#include <string.h>

#include "base/testing.h"
#include "base/text.h"

static void test_appends_follow_each_other(void **state) {
    (void)state;
    char buffer[16];
    tl_text text = {buffer, sizeof buffer, 0};
    tl_text_addf(&text, "%s", "add");
    tl_text_addf(&text, "\tx%u", 10u);
    assert_string_equal(buffer, "add\tx10");
    assert_int_equal(text.n_bytes, 7);
}

static void test_text_is_cut_at_the_end_and_counted_in_full(void **state) {
    (void)state;
    char buffer[6];
    memset(buffer, '#', sizeof buffer);
    tl_text text = {buffer, 5, 0};
    tl_text_addf(&text, "abc");
    tl_text_addf(&text, "defg");
    tl_text_addf(&text, "h");
    assert_memory_equal(buffer, "abcd\0#", 6);
    assert_int_equal(text.n_bytes, 8);
}

static void test_no_buffer_only_counts(void **state) {
    (void)state;
    tl_text text = {NULL, 0, 0};
    tl_text_addf(&text, "%d", 12345);
    tl_text_addf(&text, "6");
    assert_int_equal(text.n_bytes, 6);
    tl_text_cut(&text, 2);
    assert_int_equal(text.n_bytes, 2);
}

static void test_cut_text_ends_there_and_goes_on_there(void **state) {
    (void)state;
    char buffer[16];
    tl_text text = {buffer, sizeof buffer, 0};
    tl_text_addf(&text, "nop\t");
    tl_text_cut(&text, 3);
    assert_string_equal(buffer, "nop");
    tl_text_addf(&text, "!");
    assert_string_equal(buffer, "nop!");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_appends_follow_each_other),
    cmocka_unit_test(test_text_is_cut_at_the_end_and_counted_in_full),
    cmocka_unit_test(test_no_buffer_only_counts),
    cmocka_unit_test(test_cut_text_ends_there_and_goes_on_there),
};
TL_TEST_MAIN(tests)
