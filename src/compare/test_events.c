// SPDX-License-Identifier: MIT
// Every event that can be compared means the same in each design: the rows of the designs' own
// tables, found by selector, bear its name and count its sources; of the second level, what the
// silicon's names add up to is written down here.
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "compare/events.h"
#include "pmu/ccache/ccache.h"
#include "pmu/dhpc/dhpc.h"
#include "pmu/rvhpm/rvhpm.h"

static const tl_event *find(const tl_event *events, uint32_t n, uint64_t selector) {
    for (uint32_t i = 0; i < n; i++)
        if (events[i].selector == selector)
            return &events[i];
    fail_msg("no event has selector 0x%llx", (unsigned long long)selector);
    return NULL;
}

static void test_the_core_s_selectors_bear_the_same_names(void **state) {
    (void)state;
    uint32_t n = 0;
    for (uint32_t i = 0; i < tl_n_watchables; i++) {
        const tl_watchable *w = &tl_watchables[i];
        if (w->u74 == 0)
            continue;
        const tl_event *event = find(tl_rvhpm_u74.base.events, tl_rvhpm_u74.base.n_events, w->u74);
        assert_string_equal(w->name, event->name);
        assert_string_equal(w->sources, event->sources);
        n++;
    }
    assert_int_equal(n, 35); // all that the chip has
}

static void test_the_distributed_twins_bear_the_same_names(void **state) {
    (void)state;
    for (uint32_t i = 0; i < tl_n_watchables; i++) {
        const tl_watchable *w = &tl_watchables[i];
        const tl_event *event = find(tl_dhpc_events, tl_dhpc_n_events, w->dhpc);
        const char *part = w->u74 != 0 ? "u74." : w->ccache != 0 ? "llc." : "core.", *own = w->ccache != 0 ? w->name + 3 : w->name;
        if (strncmp(event->name, part, strlen(part)) != 0 || strcmp(event->name + strlen(part), own) != 0)
            fail_msg("%s is %s", w->name, event->name);
        assert_string_equal(w->sources, event->sources);
        assert_int_equal((w->u74 != 0) + (w->ccache != 0) + (w->u74_counter != 0), 1); // one other design counts it
        assert_ptr_equal(tl_watchable_find(w->name), w);
        for (uint32_t k = 0; k < i; k++)
            assert_true(tl_watchables[k].dhpc != w->dhpc);
    }
    assert_null(tl_watchable_find("l2"));
    assert_int_equal(tl_watchable_find("cycle")->u74_counter, 0xc00);
    assert_int_equal(tl_watchable_find("instret")->u74_counter, 0xc02);
}

static void test_the_block_s_selectors_add_up(void **state) {
    (void)state;
    static const struct {
        const char *name, *parts[5];
    } rows[] = {
        // A line is got by an instruction cache, or acquired by a data cache: to read, to write, or
        // to write what it may read.
        {"l2_read", {"inner_get", "inner_acquire_block_ntob", "inner_acquire_block_ntot", "inner_acquire_perm_btot"}},
        {"l2_readmiss", {"outer_acquire_block_ntob_miss", "outer_acquire_block_ntot_miss"}},
        {"l2_write", {"inner_release_data_ttob", "inner_release_data_tton"}},
        {"l2_writeback", {"outer_release_data_tton_dirty_eviction"}},
        {"l2_read_i", {"inner_get"}},
        {"l2_read_ld", {"inner_acquire_block_ntob"}},
        {"l2_read_st", {"inner_acquire_block_ntot", "inner_acquire_perm_btot"}},
        {"l2_evict_clean", {"outer_release_tton_eviction"}},
    };
    const tl_pmu_preset *preset = tl_ccache_presets[0];
    uint32_t n = 0;
    for (uint32_t i = 0; i < tl_n_watchables; i++)
        n += tl_watchables[i].ccache != 0;
    assert_int_equal(n, TL_COUNT_OF(rows));
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const tl_watchable *w = tl_watchable_find(rows[i].name);
        uint64_t selector = 0;
        assert_non_null(w);
        for (int k = 0; rows[i].parts[k]; k++)
            for (uint32_t e = 0; e < preset->n_events; e++)
                if (!strcmp(preset->events[e].name, rows[i].parts[k]))
                    selector |= preset->events[e].selector;
        assert_int_equal(w->ccache, selector);
    }
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
        cmocka_unit_test(test_the_core_s_selectors_bear_the_same_names),
        cmocka_unit_test(test_the_distributed_twins_bear_the_same_names),
        cmocka_unit_test(test_the_block_s_selectors_add_up),
        cmocka_unit_test(test_sixteen_are_watched_unless_others_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
