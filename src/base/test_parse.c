// SPDX-License-Identifier: MIT
#include "base/parse.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"

static void test_numbers_are_read_with_their_units(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *text;
        tl_scale scale;
        uint64_t value;
    } rows[] = {
        {__LINE__, "0", TL_SCALE_COUNT, 0},
        {__LINE__, "007", TL_SCALE_COUNT, 7},
        {__LINE__, "0x10", TL_SCALE_COUNT, 16},
        {__LINE__, "0XfF", TL_SCALE_BYTES, 255},
        {__LINE__, "1_000_000", TL_SCALE_COUNT, 1000000},
        {__LINE__, "3k", TL_SCALE_COUNT, 3000},
        {__LINE__, "3K", TL_SCALE_COUNT, 3000},
        {__LINE__, "2m", TL_SCALE_COUNT, 2000000},
        {__LINE__, "2M", TL_SCALE_COUNT, 2000000},
        {__LINE__, "64Ki", TL_SCALE_COUNT, 65536},
        {__LINE__, "1.5G", TL_SCALE_COUNT, 1500000000},
        {__LINE__, "32KiB", TL_SCALE_BYTES, 32768},
        {__LINE__, "32k", TL_SCALE_BYTES, 32768},
        {__LINE__, "4GiB", TL_SCALE_BYTES, UINT64_C(4) << 30},
        {__LINE__, "0.5MiB", TL_SCALE_BYTES, 524288},
        {__LINE__, "48B", TL_SCALE_BYTES, 48},
        {__LINE__, "1GHz", TL_SCALE_HZ, 1000000000},
        {__LINE__, "1.0625MHz", TL_SCALE_HZ, 1062500},
        {__LINE__, "10ms", TL_SCALE_NS, 10000000},
        {__LINE__, "1.5us", TL_SCALE_NS, 1500},
        {__LINE__, "2min", TL_SCALE_NS, UINT64_C(120000000000)},
        {__LINE__, "18446744073709551615", TL_SCALE_COUNT, UINT64_MAX},
        {__LINE__, "0xffffffffffffffff", TL_SCALE_COUNT, UINT64_MAX},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_error err = {0};
        uint64_t value = 1234;
        if (tl_parse_u64(rows[i].text, rows[i].scale, &value, &err) != TL_OK || value != rows[i].value)
            fail_msg("line %d: '%s' gave %" PRIu64 " %s", rows[i].line, rows[i].text, value, err.text);
    }
}

static void test_what_is_no_number_is_refused_with_a_remedy(void **state) {
    (void)state;
    static const struct {
        int line;
        const char *text;
        tl_scale scale;
        const char *sentence;
    } rows[] = {
        {__LINE__, "", TL_SCALE_COUNT, "a number is missing; write one such as 64, 10M or 64Ki"},
        {__LINE__, "many", TL_SCALE_COUNT, "'many' is not a number; write one such as 64, 10M or 64Ki"},
        {__LINE__, "-1", TL_SCALE_COUNT, "'-1' is not a number; write one such as 64, 10M or 64Ki"},
        {__LINE__, "+1", TL_SCALE_COUNT, "'+1' is not a number; write one such as 64, 10M or 64Ki"},
        {__LINE__, " 1", TL_SCALE_COUNT, "' 1' is not a number; write one such as 64, 10M or 64Ki"},
        {__LINE__, "1 ", TL_SCALE_COUNT, "'1 ' has the unknown unit ' '; write a number such as 64, 10M or 64Ki"},
        {__LINE__, "1.", TL_SCALE_COUNT, "'1.' is not a number; write one such as 64, 10M or 64Ki"},
        {__LINE__, ".5k", TL_SCALE_COUNT, "'.5k' is not a number; write one such as 64, 10M or 64Ki"},
        {__LINE__, "1.5", TL_SCALE_COUNT, "'1.5' is not a whole number"},
        {__LINE__, "1__0", TL_SCALE_COUNT, "'1__0' has the unknown unit '__0'; write a number such as 64, 10M or 64Ki"},
        {__LINE__, "0x", TL_SCALE_BYTES, "'0x' is not a number; write one such as 32768, 32KiB or 4GiB"},
        {__LINE__, "0x1g", TL_SCALE_BYTES, "'0x1g' is not a number; write one such as 32768, 32KiB or 4GiB"},
        {__LINE__, "32KB", TL_SCALE_BYTES, "'32KB' is ambiguous; write KiB, which is a power of 1024"},
        {__LINE__, "1GB", TL_SCALE_BYTES, "'1GB' is ambiguous; write GiB, which is a power of 1024"},
        {__LINE__, "5mHz", TL_SCALE_HZ, "'5mHz' has the unknown unit 'mHz'; write a number such as 1GHz or 800MHz"},
        {__LINE__, "5h", TL_SCALE_NS, "'5h' has the unknown unit 'h'; write a number such as 10ms or 2s"},
        {__LINE__, "18446744073709551616", TL_SCALE_COUNT, "'18446744073709551616' does not fit into 64 bits"},
        {__LINE__, "17179869184GiB", TL_SCALE_BYTES, "'17179869184GiB' does not fit into 64 bits"},
        {__LINE__, "0x10000000000000000", TL_SCALE_COUNT, "'0x10000000000000000' does not fit into 64 bits"},
        {__LINE__, "0.0000000000000000001T", TL_SCALE_COUNT, "'0.0000000000000000001T' has too many digits after the point"},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_error err = {0};
        uint64_t value = 1234;
        tl_status status = tl_parse_u64(rows[i].text, rows[i].scale, &value, &err);
        if (status != TL_EINVAL || err.status != TL_EINVAL || value != 1234 || strcmp(err.text, rows[i].sentence) != 0)
            fail_msg("line %d: '%s' gave status %d, %" PRIu64 ", \"%s\"", rows[i].line, rows[i].text, status, value, err.text);
    }
}

static void test_doubles_are_decimal_and_complete(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0.5", 0.5}, {"-2", -2}, {"+1e3", 1000}, {".25", .25}, {"3.", 3}, {"1.5E-2", 0.015}};
    static const char *const bad[] = {"", "-", ".", "e5", "1e", "1e+", "0x1p3", "nan", "inf", " 1", "1 ", "1,5", "1e999", "1.2.3"};
    for (size_t i = 0; i < TL_COUNT_OF(good); i++) {
        double value = 99;
        assert_int_equal(tl_parse_double(good[i].text, &value, NULL), TL_OK);
        assert_true(value == good[i].value);
    }
    for (size_t i = 0; i < TL_COUNT_OF(bad); i++) {
        double value = 99;
        if (tl_parse_double(bad[i], &value, NULL) != TL_EINVAL || value != 99)
            fail_msg("'%s' was taken for %g", bad[i], value);
    }
}

static void test_ratios_may_be_percentages(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } rows[] = {{"+1%", 0.01}, {"-3 %", -0.03}, {"0.01", 0.01}, {"0%", 0}};
    double value;
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        assert_int_equal(tl_parse_ratio(rows[i].text, &value, NULL), TL_OK);
        assert_true(value == rows[i].value);
    }
    tl_error err;
    assert_int_equal(tl_parse_ratio("%", &value, &err), TL_EINVAL);
    assert_string_equal(err.text, "'%' is not a ratio; write one such as 1% or 0.01");
}

static void test_formatted_numbers_read_back(void **state) {
    (void)state;
    static const struct {
        uint64_t value;
        tl_scale scale;
        const char *text;
    } rows[] = {
        {32768, TL_SCALE_BYTES, "32KiB"},
        {1536, TL_SCALE_BYTES, "1536"},
        {UINT64_C(4) << 30, TL_SCALE_BYTES, "4GiB"},
        {0, TL_SCALE_BYTES, "0"},
        {1000000000, TL_SCALE_HZ, "1GHz"},
        {1, TL_SCALE_HZ, "1Hz"},
        {1000000, TL_SCALE_COUNT, "1000000"},
        {1500000, TL_SCALE_NS, "1500us"},
        {UINT64_MAX, TL_SCALE_COUNT, "18446744073709551615"},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        char text[32];
        uint64_t value;
        tl_format_u64(rows[i].value, rows[i].scale, text);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(tl_parse_u64(text, rows[i].scale, &value, NULL), TL_OK);
        assert_true(value == rows[i].value);
    }
}

static void test_formatted_doubles_are_short_and_exact(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0.1, "0.1"},       {1.0 / 3, "0.3333333333333333"}, {1e300, "1e+300"}, {-0.0, "-0"}, {9007199254740993.0, "9007199254740992"},
        {5e-324, "5e-324"}, {-(double)INFINITY, "-inf"}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        char text[32];
        tl_format_double(rows[i].value, text);
        assert_string_equal(text, rows[i].text);
    }
}

// Only where such a locale is installed; elsewhere it repeats what is known.
static void test_point_stays_a_point_in_every_locale(void **state) {
    (void)state;
    static const char *const locales[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "ps_AF.UTF-8", "C.UTF-8"};
    for (size_t i = 0; i < TL_COUNT_OF(locales); i++) {
        if (!setlocale(LC_ALL, locales[i]))
            continue;
        char text[32];
        double value = 0;
        tl_format_double(2.5, text);
        tl_status status = tl_parse_double("2.5", &value, NULL);
        setlocale(LC_ALL, "C");
        assert_string_equal(text, "2.5");
        assert_int_equal(status, TL_OK);
        assert_true(value == 2.5);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_numbers_are_read_with_their_units),   cmocka_unit_test(test_what_is_no_number_is_refused_with_a_remedy),
    cmocka_unit_test(test_doubles_are_decimal_and_complete),    cmocka_unit_test(test_ratios_may_be_percentages),
    cmocka_unit_test(test_formatted_numbers_read_back),         cmocka_unit_test(test_formatted_doubles_are_short_and_exact),
    cmocka_unit_test(test_point_stays_a_point_in_every_locale),
};
TL_TEST_MAIN(tests)
