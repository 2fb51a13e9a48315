// SPDX-License-Identifier: MIT
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"

static void test_lines_are_compact_and_end_each_top_level_value(void **state) {
    (void)state;
    tl_strbuf out = {0};
    tl_json json;
    tl_json_init_strbuf(&json, &out, TL_JSON_LINES);
    tl_json_begin_object(&json, NULL);
    tl_json_string(&json, "type", "event");
    tl_json_u64(&json, "value", 7);
    tl_json_begin_array(&json, "harts");
    tl_json_i64(&json, NULL, -11);
    tl_json_bool(&json, NULL, true);
    tl_json_null(&json, NULL);
    tl_json_begin_object(&json, NULL);
    tl_json_end_object(&json);
    tl_json_end_array(&json);
    tl_json_double(&json, "ratio", 0.25);
    tl_json_end_object(&json);
    tl_json_begin_array(&json, NULL);
    tl_json_end_array(&json);
    tl_json_u64(&json, NULL, 13);
    assert_int_equal(tl_json_flush(&json, NULL), TL_OK);
    assert_string_equal(tl_strbuf_text(&out), "{\"type\":\"event\",\"value\":7,\"harts\":[-11,true,null,{}],\"ratio\":0.25}\n[]\n13\n");
    tl_strbuf_done(&out);
}

static void test_pretty_indents_members(void **state) {
    (void)state;
    tl_strbuf out = {0};
    tl_json json;
    tl_json_init_strbuf(&json, &out, TL_JSON_PRETTY);
    tl_json_begin_object(&json, NULL);
    tl_json_u64(&json, "a", 1);
    tl_json_begin_array(&json, "b");
    tl_json_u64(&json, NULL, 2);
    tl_json_end_array(&json);
    tl_json_begin_object(&json, "c");
    tl_json_end_object(&json);
    tl_json_end_object(&json);
    assert_string_equal(tl_strbuf_text(&out), "{\n  \"a\": 1,\n  \"b\": [\n    2\n  ],\n  \"c\": {}\n}\n");
    tl_strbuf_done(&out);
}

static void test_integers_are_exact_strings_above_two_to_the_53(void **state) {
    (void)state;
    tl_strbuf out = {0};
    tl_json json;
    tl_json_init_strbuf(&json, &out, TL_JSON_LINES);
    tl_json_begin_array(&json, NULL);
    tl_json_u64(&json, NULL, UINT64_C(9007199254740992));
    tl_json_u64(&json, NULL, UINT64_C(9007199254740993));
    tl_json_u64(&json, NULL, UINT64_MAX);
    tl_json_i64(&json, NULL, INT64_C(-9007199254740992));
    tl_json_i64(&json, NULL, INT64_MIN);
    tl_json_end_array(&json);
    assert_string_equal(tl_strbuf_text(&out), "[9007199254740992,\"9007199254740993\",\"18446744073709551615\",-9007199254740992,"
                                              "\"-9223372036854775808\"]\n");
    tl_strbuf_done(&out);
}

static void test_doubles_without_a_number_are_null(void **state) {
    (void)state;
    tl_strbuf out = {0};
    tl_json json;
    tl_json_init_strbuf(&json, &out, TL_JSON_LINES);
    tl_json_begin_array(&json, NULL);
    tl_json_double(&json, NULL, (double)NAN);
    tl_json_double(&json, NULL, (double)INFINITY);
    tl_json_double(&json, NULL, 1e21);
    tl_json_double(&json, NULL, -1.5e-7);
    tl_json_string(&json, NULL, NULL);
    tl_json_end_array(&json);
    assert_string_equal(tl_strbuf_text(&out), "[null,null,1e+21,-1.5e-07,null]\n");
    tl_strbuf_done(&out);
}

static void test_strings_are_always_valid_json(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *bytes;
        size_t n_bytes;
        const char *json;
    } rows[] = {
        {__LINE__, "", 0, "\"\""},
        {__LINE__, "a\"b\\c/", 6, "\"a\\\"b\\\\c/\""},
        {__LINE__, "\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
        {__LINE__, "\0\x01\x1f\x7f", 4, "\"\\u0000\\u0001\\u001f\\u007f\""},
        {__LINE__, "bfnrt", 5, "\"bfnrt\""},
        {__LINE__, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {__LINE__, "\xc2\x85", 2, "\"\\u0085\""},                              // a control character of two bytes
        {__LINE__, "\xe2\x80\xa8", 3, "\"\\u2028\""},                          // a line end for JavaScript
        {__LINE__, "x\xff", 2, "\"x\\ufffd\""},                                // never a first byte
        {__LINE__, "\x80y", 2, "\"\\ufffdy\""},                                // a continuation alone
        {__LINE__, "\xc0\xaf", 2, "\"\\ufffd\\ufffd\""},                       // overlong
        {__LINE__, "\xe0\x80\xaf", 3, "\"\\ufffd\\ufffd\\ufffd\""},            // overlong
        {__LINE__, "\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\""},            // a surrogate
        {__LINE__, "\xf4\x90\x80\x80", 4, "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, // above the last character
        {__LINE__, "\xe2\x82", 2, "\"\\ufffd\\ufffd\""},                       // cut off
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_strbuf out = {0};
        tl_json json;
        tl_json_init_strbuf(&json, &out, TL_JSON_LINES);
        tl_json_string_n(&json, NULL, rows[i].bytes, rows[i].n_bytes);
        size_t n = strlen(rows[i].json);
        if (out.n_bytes != n + 1 || memcmp(out.text, rows[i].json, n) != 0)
            fail_msg("line %d: %s instead of %s", rows[i].line, tl_strbuf_text(&out), rows[i].json);
        tl_strbuf_done(&out);
    }
}

static void test_keys_are_escaped_too(void **state) {
    (void)state;
    tl_strbuf out = {0};
    tl_json json;
    tl_json_init_strbuf(&json, &out, TL_JSON_LINES);
    tl_json_begin_object(&json, NULL);
    tl_json_u64(&json, "a\"\n", 1);
    tl_json_end_object(&json);
    assert_string_equal(tl_strbuf_text(&out), "{\"a\\\"\\n\":1}\n");
    tl_strbuf_done(&out);
}

static void test_a_full_disk_is_reported(void **state) {
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    tl_json json;
    tl_error err = {0};
    tl_json_init_file(&json, full, TL_JSON_LINES);
    tl_json_u64(&json, NULL, 1);
    assert_int_equal(tl_json_flush(&json, &err), TL_EIO);
    assert_non_null(strstr(err.text, "could not be written"));
    fclose(full);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lines_are_compact_and_end_each_top_level_value),
    cmocka_unit_test(test_pretty_indents_members),
    cmocka_unit_test(test_integers_are_exact_strings_above_two_to_the_53),
    cmocka_unit_test(test_doubles_without_a_number_are_null),
    cmocka_unit_test(test_strings_are_always_valid_json),
    cmocka_unit_test(test_keys_are_escaped_too),
    cmocka_unit_test(test_a_full_disk_is_reported),
};
TL_TEST_MAIN(tests)
