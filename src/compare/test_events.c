// SPDX-License-Identifier: MIT
// Events that can be compared: each has one name and is counted by two designs at least, or there
// would be nothing to compare.
#include <string.h>

#include "base/testing.h"
#include "compare/design.h"

static void test_every_event_is_found_by_its_name_and_counted_twice(void **state) {
    (void)state;
    for (uint32_t i = 0; i < tl_n_watchables; i++) {
        uint32_t n = 0;
        assert_ptr_equal(tl_watchable_find(tl_watchables[i].name), &tl_watchables[i]);
        assert_int_equal(strncmp(tl_watchables[i].sources, "l2.", 3) == 0, tl_watchables[i].is_of_level2);
        for (const tl_compare_design_type *const *design = tl_compare_designs; *design; design++)
            n += (*design)->counts(&tl_watchables[i]);
        assert_true(n >= 2);
    }
    assert_null(tl_watchable_find("l2"));
    assert_true(tl_n_watchables <= TL_COMPARE_MAX_EVENTS);
}

static void test_sixteen_are_watched_unless_others_are_named(void **state) {
    (void)state;
    static const char *const usual[] = {"cycle",
                                        "instret",
                                        "integer_load",
                                        "conditional_branch",
                                        "address_generation_interlock",
                                        "instruction_cache_busy",
                                        "data_cache_busy",
                                        "branch_direction_misprediction",
                                        "target_misprediction",
                                        "instruction_cache_miss",
                                        "data_cache_miss_or_mmio",
                                        "dtlb_miss",
                                        "l2_read",
                                        "l2_readmiss",
                                        "l2_write",
                                        "l2_writeback"};
    uint32_t n = 0;
    for (uint32_t i = 0; i < tl_n_watchables; i++)
        if (tl_watchables[i].is_default)
            assert_string_equal(tl_watchables[i].name, usual[n++]);
    assert_int_equal(n, 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_event_is_found_by_its_name_and_counted_twice),
        cmocka_unit_test(test_sixteen_are_watched_unless_others_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
