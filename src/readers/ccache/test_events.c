// SPDX-License-Identifier: MIT
// Events of the comparison that the block counts: this test lists the sums of the silicon's names.
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "pmu/ccache/ccache.h"
#include "readers/ccache/compare.h"

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
        n += tl_ccache_selector_of(&tl_watchables[i]) != 0;
    assert_int_equal(n, TL_COUNT_OF(rows));
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const tl_watchable *w = tl_watchable_find(rows[i].name);
        uint64_t selector = 0;
        assert_non_null(w);
        for (int k = 0; rows[i].parts[k]; k++)
            for (uint32_t e = 0; e < preset->n_events; e++)
                if (!strcmp(preset->events[e].name, rows[i].parts[k]))
                    selector |= preset->events[e].selector;
        assert_int_equal(tl_ccache_selector_of(w), selector);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_block_s_selectors_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
