// SPDX-License-Identifier: MIT
// Events of the comparison among the distributed counters: the rows of the design's own table,
// found by selector, bear their names and count their sources.
#include <string.h>

#include "base/testing.h"
#include "compare/test_rig.h"
#include "pmu/dhpc/dhpc.h"
#include "readers/dhpc/compare.h"

static void test_the_distributed_twins_bear_the_same_names(void **state) {
    (void)state;
    uint64_t selectors[TL_COMPARE_MAX_EVENTS] = {0};
    for (uint32_t i = 0; i < tl_n_watchables; i++) {
        const tl_watchable *w = &tl_watchables[i];
        assert_true(tl_dhpc_selector_of(w, &selectors[i])); // all of them
        const tl_event *event = test_event_by_selector(tl_dhpc_events, tl_dhpc_n_events, selectors[i]);
        const char *dot = strchr(event->name, '.');
        assert_string_equal(dot + 1, w->is_of_level2 ? w->name + strlen("l2_") : w->name);
        assert_int_equal(!strncmp(event->name, "llc.", 4), w->is_of_level2);
        assert_int_equal(tl_dhpc_class_of((uint32_t)(selectors[i] >> 6)) == TL_DHPC_LLC, w->is_of_level2);
        assert_string_equal(w->sources, event->sources);
        for (uint32_t k = 0; k < i; k++)
            assert_true(selectors[k] != selectors[i]);
    }
}

// Page 0 of a core counts events of every core, page 1 events of the U74's selectors.
static void test_pages_of_a_core_bear_their_events(void **state) {
    (void)state;
    for (uint32_t i = 0; i < tl_n_watchables; i++) {
        uint64_t selector = 0;
        const tl_watchable *w = &tl_watchables[i];
        assert_true(tl_dhpc_selector_of(w, &selector));
        const char *part = w->is_of_level2 ? "llc." : !strcmp(w->name, "cycle") || !strcmp(w->name, "instret") ? "core." : "u74.";
        assert_int_equal(strncmp(test_event_by_selector(tl_dhpc_events, tl_dhpc_n_events, selector)->name, part, strlen(part)), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_distributed_twins_bear_the_same_names),
        cmocka_unit_test(test_pages_of_a_core_bear_their_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
