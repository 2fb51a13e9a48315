// SPDX-License-Identifier: MIT
// Sums worked out on paper from the manual's registers.
#include "base/testing.h"
#include "pmu/rvhpm/rvhpm.h"

static void test_the_u74_has_two_counters_of_40_bits(void **state) {
    (void)state;
    tl_rvhpm_cost cost = tl_rvhpm_cost_of(&tl_rvhpm_u74);
    assert_int_equal(cost.n_counters, 4);
    assert_int_equal(cost.counter_bits, 2 * 40 + 2 * 64);
    // Class 0 has 18 events, and there are three classes.
    assert_int_equal(cost.selector_bits, 2 * (18 + 2));
    assert_int_equal(cost.gate_bits, 4 + 2 * 5);
    assert_int_equal(cost.state_bits, 208 + 40 + 14);
    assert_int_equal(cost.wires, 35);
}

static void test_without_counters_only_the_clocks_are_left(void **state) {
    (void)state;
    tl_rvhpm_cost cost = tl_rvhpm_cost_of(&tl_rvhpm_none);
    assert_int_equal(cost.n_counters, 2);
    assert_int_equal(cost.state_bits, 128 + 2 + 2 * 3);
    assert_int_equal(cost.wires, 0);
}

static void test_linux_pays_for_width_and_overflow(void **state) {
    (void)state;
    tl_rvhpm_cost cost = tl_rvhpm_cost_of(&tl_rvhpm_linux);
    assert_int_equal(cost.counter_bits, 31 * 64);
    // 129 to 256 selectors, none included, take 8 bits.
    assert_int_equal(cost.selector_bits, 29 * (8 + 4) + 2 * 3);
    assert_int_equal(cost.gate_bits, 31 + 2 * 32);
}

static void test_selectors_need_a_bit_more_after_a_power_of_two(void **state) {
    (void)state;
    // Bits that tell 0 to 8 events and none apart.
    static const uint32_t n_bits[] = {0, 1, 2, 2, 3, 3, 3, 3, 4};
    static const tl_event events[8];
    for (uint32_t n = 0; n < 9; n++) {
        tl_rvhpm_preset preset = {.base = {.events = events, .n_events = n}, .n_counters = 1, .width_bits = 64};
        assert_int_equal(tl_rvhpm_cost_of(&preset).selector_bits, n_bits[n]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_u74_has_two_counters_of_40_bits),
        cmocka_unit_test(test_without_counters_only_the_clocks_are_left),
        cmocka_unit_test(test_linux_pays_for_width_and_overflow),
        cmocka_unit_test(test_selectors_need_a_bit_more_after_a_power_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
