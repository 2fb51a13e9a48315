// SPDX-License-Identifier: MIT
// Counters as differences of totals: at every width the value is that of a register of so many
// bits, and a wrap is noticed once.
#include "model/counter.h"

#include "base/testing.h"

static void test_counter_wraps_at_its_width(void **state) {
    (void)state;
    for (uint8_t width = 1; width <= 64; width++) {
        tl_counter c = {.width_bits = width};
        uint64_t top = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
        tl_counter_set(&c, UINT64_MAX, 100);
        assert_int_equal(c.value, top);
        assert_int_equal(tl_counter_headroom(&c), 1);
        assert_false(tl_counter_fold(&c, 100));
        assert_true(tl_counter_fold(&c, 101));
        assert_int_equal(c.value, 0);
        assert_int_equal(tl_counter_headroom(&c), width == 64 ? UINT64_MAX : top + 1);
        assert_false(tl_counter_fold(&c, 101));
        if (width < 64) {
            assert_false(tl_counter_fold(&c, 101 + top));
            assert_int_equal(c.value, top);
            assert_true(tl_counter_fold(&c, 101 + top + 3 * (top + 1))); // three times round
            assert_int_equal(c.value, top);
        }
    }
}

static void test_totals_may_wrap_themselves(void **state) {
    (void)state;
    tl_counter c = {.width_bits = 40};
    tl_counter_set(&c, 7, UINT64_MAX - 2);
    assert_false(tl_counter_fold(&c, 8));
    assert_int_equal(c.value, 7 + 11);
}

static void test_skipped_steps_are_not_counted(void **state) {
    (void)state;
    tl_counter c = {.width_bits = 64};
    tl_counter_set(&c, 1, 10);
    tl_counter_skip(&c, 1000);
    assert_false(tl_counter_fold(&c, 1013));
    assert_int_equal(c.value, 14);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_counter_wraps_at_its_width),
    cmocka_unit_test(test_totals_may_wrap_themselves),
    cmocka_unit_test(test_skipped_steps_are_not_counted),
};
TL_TEST_MAIN(tests)
