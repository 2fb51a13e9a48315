// SPDX-License-Identifier: MIT
#include <string.h>

#include "base/testing.h"
#include "loader/symbol_map.h"

static tl_symbol_map read(const char *text) {
    tl_symbol_map map;
    assert_true(tl_symbol_map_read((const uint8_t *)text, strlen(text), &map));
    return map;
}

static bool is_named(const tl_map_symbol *symbol, const char *name) {
    return symbol && symbol->n_name == strlen(name) && memcmp(symbol->name, name, symbol->n_name) == 0;
}

static void test_an_address_belongs_to_the_symbol_before_it(void **state) {
    (void)state;
    tl_symbol_map map =
        read("ffffffff80001000 T second\nffffffff80000000 t first\nffffffff80002000 D data\nffffffff80003000 t m_init\t[mod]\n");
    assert_int_equal(map.n, 3);
    assert_null(tl_symbol_map_at(&map, UINT64_C(0xffffffff7fffffff)));
    assert_true(is_named(tl_symbol_map_at(&map, UINT64_C(0xffffffff80000000)), "first"));
    assert_true(is_named(tl_symbol_map_at(&map, UINT64_C(0xffffffff80000fff)), "first"));
    assert_true(is_named(tl_symbol_map_at(&map, UINT64_C(0xffffffff80002fff)), "second"));
    assert_true(is_named(tl_symbol_map_at(&map, UINT64_MAX), "m_init"));
    tl_symbol_map_done(&map);
}

static void test_of_several_symbols_a_global_one_names_an_address(void **state) {
    (void)state;
    tl_symbol_map map = read("10 t local\n10 T global\n10 W weak\n20 w only\n");
    assert_int_equal(map.n, 2);
    assert_true(is_named(tl_symbol_map_at(&map, 0x10), "global"));
    assert_true(is_named(tl_symbol_map_at(&map, 0x20), "only"));
    tl_symbol_map_done(&map);
}

static void test_lines_of_another_form_are_skipped(void **state) {
    (void)state;
    static const char *const texts[] = {"",
                                        "\n\n",
                                        "10",
                                        "10 T",
                                        "10 T ",
                                        "T name",
                                        "10  T name",
                                        "10 Tname",
                                        "xyz T a",
                                        "10 T\tname",
                                        " 10 T a",
                                        "10 D data",
                                        "11112222333344445 T a"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        tl_symbol_map map = read(texts[i]);
        assert_int_equal(map.n, 0);
        assert_null(tl_symbol_map_at(&map, 0));
        tl_symbol_map_done(&map);
    }
    tl_symbol_map map = read("noise\n10 T last"); // without the end of its line
    assert_true(is_named(tl_symbol_map_at(&map, 0x10), "last"));
    tl_symbol_map_done(&map);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_an_address_belongs_to_the_symbol_before_it),
    cmocka_unit_test(test_of_several_symbols_a_global_one_names_an_address),
    cmocka_unit_test(test_lines_of_another_form_are_skipped),
};

TL_TEST_MAIN(tests)
