// SPDX-License-Identifier: MIT
// Events of the comparison that the core counts: the rows of the chip's own table, found by
// selector, bear their names and count their sources.
#include "base/testing.h"
#include "compare/test_rig.h"
#include "pmu/rvhpm/rvhpm.h"
#include "readers/rvhpm/compare.h"

static void test_the_core_s_selectors_bear_the_same_names(void **state) {
    (void)state;
    uint32_t n = 0;
    for (uint32_t i = 0; i < tl_n_watchables; i++) {
        const tl_watchable *w = &tl_watchables[i];
        uint64_t selector = tl_rvhpm_selector_of(w);
        if (selector == 0)
            continue;
        const tl_event *event = test_event_by_selector(tl_rvhpm_u74.base.events, tl_rvhpm_u74.base.n_events, selector);
        assert_string_equal(w->name, event->name);
        assert_string_equal(w->sources, event->sources);
        n++;
    }
    assert_int_equal(n, 35); // all that the chip has
}

static void test_two_counters_count_one_event_only(void **state) {
    (void)state;
    uint32_t n = 0;
    for (uint32_t i = 0; i < tl_n_watchables; i++) {
        n += tl_rvhpm_counter_of(&tl_watchables[i]) != 0;
        assert_true(tl_rvhpm_counter_of(&tl_watchables[i]) == 0 || tl_rvhpm_selector_of(&tl_watchables[i]) == 0);
    }
    assert_int_equal(n, 2);
    assert_int_equal(tl_rvhpm_counter_of(tl_watchable_find("cycle")), 0xc00);
    assert_int_equal(tl_rvhpm_counter_of(tl_watchable_find("instret")), 0xc02);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_core_s_selectors_bear_the_same_names),
        cmocka_unit_test(test_two_counters_count_one_event_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
