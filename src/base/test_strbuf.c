// SPDX-License-Identifier: MIT
#include "base/strbuf.h"

#include <stdlib.h>
#include <string.h>

#include "base/testing.h"

static void test_zeroed_buffer_is_an_empty_string(void **state) {
    (void)state;
    tl_strbuf buf = {0};
    assert_string_equal(tl_strbuf_text(&buf), "");
    char *text = tl_strbuf_take(&buf);
    assert_string_equal(text, "");
    free(text);
    tl_strbuf_done(&buf);
}

static void test_appends_grow_the_text_in_order(void **state) {
    (void)state;
    tl_strbuf buf = {0};
    for (int i = 0; i < 1000; i++)
        tl_strbuf_addf(&buf, "%d,", i % 7);
    tl_strbuf_add(&buf, "end");
    tl_strbuf_add_char(&buf, '.');
    assert_int_equal(buf.n_bytes, 2004);
    assert_int_equal(strlen(tl_strbuf_text(&buf)), 2004);
    assert_string_equal(tl_strbuf_text(&buf) + 1998, "5,end.");
    tl_strbuf_done(&buf);
}

static void test_appending_nothing_keeps_the_text(void **state) {
    (void)state;
    tl_strbuf buf = {0};
    tl_strbuf_add_n(&buf, NULL, 0);
    tl_strbuf_add(&buf, "a");
    tl_strbuf_add_n(&buf, "", 0);
    tl_strbuf_addf(&buf, "%s", "");
    assert_string_equal(tl_strbuf_text(&buf), "a");
    tl_strbuf_done(&buf);
}

static void test_bytes_of_any_value_are_kept(void **state) {
    (void)state;
    tl_strbuf buf = {0};
    tl_strbuf_add_n(&buf, "a\0b", 3);
    assert_int_equal(buf.n_bytes, 3);
    assert_memory_equal(buf.text, "a\0b\0", 4);
    tl_strbuf_done(&buf);
}

static void test_failure_is_remembered_until_clear(void **state) {
    (void)state;
    tl_strbuf buf = {0};
    tl_strbuf_add(&buf, "kept");
    tl_strbuf_add_n(&buf, "x", SIZE_MAX); // more than any host has
    tl_strbuf_add(&buf, " not");
    assert_true(buf.has_failed);
    assert_string_equal(tl_strbuf_text(&buf), "kept");
    assert_null(tl_strbuf_take(&buf));
    tl_strbuf_add(&buf, "again");
    tl_strbuf_clear(&buf);
    tl_strbuf_add(&buf, "new");
    char *text = tl_strbuf_take(&buf);
    assert_string_equal(text, "new");
    free(text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_zeroed_buffer_is_an_empty_string),  cmocka_unit_test(test_appends_grow_the_text_in_order),
    cmocka_unit_test(test_appending_nothing_keeps_the_text),  cmocka_unit_test(test_bytes_of_any_value_are_kept),
    cmocka_unit_test(test_failure_is_remembered_until_clear),
};
TL_TEST_MAIN(tests)
