// SPDX-License-Identifier: MIT
// A block of as many counters as it can have.
#include "compare/test_rig.h"

// Twenty values stay in registers; of 64 the first sixty make room for others.
static void test_a_wide_block_on_the_bus_is_read_to_its_end(void **state) {
    (void)state;
    static const char *const overrides[] = {"l2.counters=64", NULL};
    static const uint32_t n_counters[] = {1, 8, 64}, n_stores[] = {0, 0, 60};
    char path[64];
    test_write_program(150, path);
    tl_compare_options options = test_options(path);
    options.run.overrides = overrides;
    options.designs = "ccache";
    options.events = "l2_read,l2_readmiss,l2_write,l2_writeback,l2_read_i,l2_read_ld,l2_read_st,l2_evict_clean";
    tl_comparison *c = test_compare(&options);
    assert_int_equal(c->n_accesses, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(c->accesses[i].n_counters, n_counters[i]);
        assert_int_equal(c->accesses[i].uncached, n_counters[i]);
        assert_int_equal(c->accesses[i].l1d_accesses, n_stores[i]);
    }
    for (int i = 0; i < 8; i++) {
        assert_true(c->values[i].has_value);
        assert_int_equal(c->values[i].value, c->values[i].truth);
    }
    assert_int_equal(c->designs[0].events_at_once, 64);
    tl_comparison_release(c);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_wide_block_on_the_bus_is_read_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) == 0 ? 0 : 1;
}
