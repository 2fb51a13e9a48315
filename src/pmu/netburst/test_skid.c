// SPDX-License-Identifier: MIT
// When an interrupt arrives, by each of the three profiles: the rules of docs/netburst.md, 5.1 and
// 5.2, once more.
#include "base/bits.h"
#include "base/testing.h"
#include "pmu/netburst/skid.h"

static const tl_moment overflow = {1000, 500};

static tl_netburst_settings profile(tl_netburst_skid skid) {
    tl_netburst_settings settings = tl_netburst_default_settings;
    settings.pmi_profile = skid;
    settings.pmi_latency = 138;
    settings.bus_ratio = 15;
    return settings;
}

static void test_a_fixed_interrupt_comes_after_its_latency(void **state) {
    (void)state;
    const tl_netburst_settings settings = profile(TL_SKID_FIXED);
    const tl_moment arrival = tl_skid_arrival(&settings, NULL, overflow);
    assert_int_equal(arrival.cycle, 1138);
    assert_int_equal(arrival.insns, UINT64_MAX);
}

static void test_a_mechanistic_interrupt_comes_at_the_next_edge_of_the_bus_clock(void **state) {
    (void)state;
    tl_netburst_settings settings = profile(TL_SKID_MECHANISTIC);
    for (settings.bus_ratio = 1; settings.bus_ratio <= 24; settings.bus_ratio++)
        for (uint64_t cycle = 1000; cycle < 1050; cycle++) {
            const tl_moment arrival = tl_skid_arrival(&settings, NULL, (tl_moment){cycle, 7});
            uint64_t edge = cycle + 1; // of the bus, behind the overflow
            while (edge % settings.bus_ratio != 0)
                edge++;
            assert_int_equal(arrival.cycle, edge + 123);
            assert_int_equal(arrival.insns, UINT64_MAX);
        }
}

// Two whole decks, in another order each.
static void test_calibrated_interrupts_have_the_shares_of_the_table(void **state) {
    (void)state;
    static const uint32_t half_percents[] = {16, 12, 18, 29, 93, 16, 8, 4, 4}; // from 65 on
    const tl_netburst_settings settings = profile(TL_SKID_CALIBRATED);
    tl_skid_deck deck, same, other;
    tl_skid_deck_init(&deck, 1);
    tl_skid_deck_init(&same, 1);
    tl_skid_deck_init(&other, 2);
    uint64_t first[TL_SKID_DECK];
    uint32_t n_equal = 0, n_of_other_seed = 0;
    for (uint32_t round = 0; round < 2; round++) {
        uint32_t drawn[TL_COUNT_OF(half_percents)] = {0};
        for (uint32_t i = 0; i < TL_SKID_DECK; i++) {
            const tl_moment arrival = tl_skid_arrival(&settings, &deck, overflow);
            assert_int_equal(arrival.cycle, UINT64_MAX);
            assert_int_equal(arrival.insns, tl_skid_arrival(&settings, &same, overflow).insns);
            n_of_other_seed += arrival.insns == tl_skid_arrival(&settings, &other, overflow).insns;
            assert_in_range(arrival.insns, overflow.insns + 65, overflow.insns + 73);
            drawn[arrival.insns - overflow.insns - 65] += 1;
            n_equal += round == 1 && first[i] == arrival.insns;
            first[i] = arrival.insns;
        }
        for (uint32_t i = 0; i < TL_COUNT_OF(half_percents); i++)
            assert_int_equal(drawn[i], half_percents[i]);
    }
    // A shuffle leaves about the sum of the squared shares where it was: 27 %.
    assert_in_range(n_equal, 20, 100);
    assert_in_range(n_of_other_seed, 40, 200);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_fixed_interrupt_comes_after_its_latency),
    cmocka_unit_test(test_a_mechanistic_interrupt_comes_at_the_next_edge_of_the_bus_clock),
    cmocka_unit_test(test_calibrated_interrupts_have_the_shares_of_the_table),
};
TL_TEST_MAIN(tests)
