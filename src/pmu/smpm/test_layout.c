// SPDX-License-Identifier: MIT
// Layouts of chips: which counter blocks there are, where they send, how long that takes at worst,
// and what layouts made by hand may get wrong.
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "pmu/smpm/smpm.h"

static const tl_smpm_chip plain = {.n_partitions = 1, .n_harts = 2, .n_slices = 4, .n_mem_channels = 1};
static const tl_smpm_chip cloud4 = {.n_partitions = 4, .n_harts = 2, .n_slices = 2, .n_mem_channels = 1, .has_shared = true};

static tl_smpm_layout layout; // of each test, because it is large

static tl_smpm_config build(tl_smpm_profile profile, const tl_smpm_chip *chip) {
    tl_smpm_config config = tl_smpm_config_default(profile);
    tl_error err = {0};
    if (tl_smpm_layout_new(&config, chip, &layout, &err) != TL_OK || tl_smpm_layout_resolve(&config, &layout, &err) != TL_OK)
        fail_msg("%s", err.text);
    return config;
}

static void assert_unresolved(const tl_smpm_config *given, const char *text) {
    tl_smpm_config config = *given;
    tl_error err = {0};
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_EINVAL);
    assert_string_equal(err.text, text);
}

static const tl_smpm_ulc *ulc_of(const char *unit, uint32_t n) {
    for (uint32_t i = 0; i < layout.n_ulcs; i++)
        if (strcmp(layout.units[layout.ulcs[i].unit].name, unit) == 0 && n-- == 0)
            return &layout.ulcs[i];
    fail_msg("%s", unit);
    return NULL;
}

static void test_a_plain_machine_is_a_chip_of_one_partition(void **state) {
    (void)state;
    static const char *const units[] = {"hart0", "hart1", "l2.0", "l2.1", "l2.2", "l2.3", "mem0", "noc", "bus", "dma"};
    static const char *const types[] = {"hart", "l2", "mem", "noc", "bus", "dma"};
    (void)build(TL_SMPM_SAFE, &plain);
    assert_int_equal(layout.n_partitions, 1);
    assert_int_equal(layout.partitions[0].n_harts, 2);
    assert_int_equal(layout.n_units, TL_COUNT_OF(units));
    assert_int_equal(layout.n_ulcs, TL_COUNT_OF(units));
    assert_int_equal(layout.n_types, TL_COUNT_OF(types));
    assert_int_equal(layout.n_ccus, 1);
    assert_int_equal(layout.ccus[0].n_rows, 10 * 7);
    for (uint32_t i = 0; i < layout.n_types; i++)
        assert_string_equal(layout.types[i].name, types[i]);
    for (uint32_t i = 0; i < layout.n_ulcs; i++) {
        const tl_smpm_ulc *ulc = &layout.ulcs[i];
        assert_string_equal(layout.units[ulc->unit].name, units[i]);
        assert_int_equal(ulc->line, i);
        assert_int_equal(ulc->first_row, 6 * i);
        assert_int_equal(ulc->first_residue_row, 60 + i);
        assert_int_equal(ulc->route.target, TL_SMPM_TO_CURRENT);
        assert_int_equal(ulc->route.channel, 1);
        assert_int_equal(ulc->filter.kind, TL_SMPM_FILTER_ALL);
    }
}

static void test_a_chip_has_a_collection_unit_for_each_partition_and_one_for_shared_units(void **state) {
    (void)state;
    (void)build(TL_SMPM_SAFE, &cloud4);
    assert_int_equal(layout.n_types, 3 + 2 * 3);
    assert_int_equal(layout.n_ccus, 5);
    for (uint32_t p = 0; p < 4; p++) {
        assert_int_equal(layout.ccus[p].partition, p);
        assert_int_equal(layout.ccus[p].id, 0);
        assert_int_equal(layout.ccus[p].n_ulcs, 5);
        assert_int_equal(layout.ccus[p].n_rows, 35);
    }
    assert_int_equal(layout.ccus[4].partition, TL_SMPM_SHARED);
    assert_int_equal(layout.ccus[4].n_ulcs, 3 * (8 + 3));
    assert_int_equal(layout.ccus[4].n_rows, 33 * 7);
    assert_int_equal(layout.n_ulcs, 4 * 5 + 33);
    assert_string_equal(layout.units[ulc_of("p2.hart1", 0)->unit].name, "p2.hart1");
    assert_int_equal(ulc_of("p3.mem0", 0)->route.channel, 4);
    assert_int_equal(ulc_of("p1.l2.1", 0)->partition, 1);
}

static void test_a_shared_unit_has_filters_a_rest_a_switch_and_a_device_block(void **state) {
    (void)state;
    (void)build(TL_SMPM_SAFE, &cloud4);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(ulc_of("dma", i)->filter.kind, TL_SMPM_FILTER_FREE);
        assert_int_equal(ulc_of("dma", i)->route.target, TL_SMPM_TO_FIXED);
        assert_string_equal(layout.types[ulc_of("dma", i)->type].name, "dma.filtered");
    }
    assert_int_equal(ulc_of("dma", 8)->filter.kind, TL_SMPM_FILTER_REST);
    assert_int_equal(ulc_of("dma", 8)->route.target, TL_SMPM_TO_UNASSIGNED);
    assert_string_equal(layout.types[ulc_of("dma", 8)->type].name, "dma.filtered");
    assert_int_equal(ulc_of("dma", 9)->filter.kind, TL_SMPM_FILTER_MATCH);
    assert_int_equal(ulc_of("dma", 9)->filter.vm, TL_SMPM_ANY);
    assert_int_equal(ulc_of("dma", 9)->filter.ctx, TL_SMPM_CTX_SWITCH);
    assert_int_equal(ulc_of("dma", 9)->route.target, TL_SMPM_TO_SWITCH);
    assert_int_equal(ulc_of("dma", 10)->filter.kind, TL_SMPM_FILTER_ALL);
    assert_int_equal(ulc_of("dma", 10)->route.target, TL_SMPM_TO_UNASSIGNED);
    assert_string_equal(layout.types[ulc_of("dma", 10)->type].name, "dma.device");
    (void)build(TL_SMPM_LITERAL, &cloud4); // without fixed routing late values go to U
    assert_int_equal(ulc_of("dma", 0)->route.target, TL_SMPM_TO_UNASSIGNED);
}

static void test_switch_traffic_has_no_block_where_it_is_not_counted(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    config.count_switch = TL_SMPM_OFF;
    tl_error err;
    assert_int_equal(tl_smpm_layout_new(&config, &cloud4, &layout, &err), TL_OK);
    assert_int_equal(layout.ccus[4].n_ulcs, 3 * (8 + 2));
    for (uint32_t i = 0; i < layout.n_ulcs; i++)
        assert_int_not_equal(layout.ulcs[i].route.target, TL_SMPM_TO_SWITCH);
}

static void test_a_channel_for_each_hart_makes_caches_shared(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    tl_error err = {0};
    config.channels = TL_SMPM_PER_HART;
    config.rcb_shared_depth = 8192;
    assert_int_equal(tl_smpm_layout_new(&config, &plain, &layout, &err), TL_OK);
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_OK);
    assert_int_equal(layout.n_partitions, 2);
    assert_int_equal(layout.partitions[1].first_hart, 1);
    assert_int_equal(layout.partitions[1].n_harts, 1);
    assert_int_equal(layout.partitions[1].chip_partition, 0);
    assert_int_equal(ulc_of("hart1", 0)->partition, 1);
    assert_int_equal(ulc_of("hart1", 0)->route.channel, 2);
    assert_int_equal(ulc_of("l2.3", 0)->partition, TL_SMPM_SHARED);
    assert_int_equal(ulc_of("l2.3", 0)->filter.kind, TL_SMPM_FILTER_FREE);
    assert_int_equal(layout.n_types, 5);
    assert_int_equal(layout.n_ulcs, 2 + 5 * 11);
    assert_int_equal(layout.n_ccus, 2 + 2); // 55 shared blocks take two
    assert_int_equal(layout.ccus[3].id, 1);
}

static void test_harts_of_each_partition_of_a_chip_are_numbered_from_0(void **state) {
    (void)state;
    tl_smpm_chip chip = cloud4;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    tl_error err = {0};
    chip.has_shared = false;
    config.channels = TL_SMPM_PER_HART;
    assert_int_equal(tl_smpm_layout_new(&config, &chip, &layout, &err), TL_OK);
    assert_int_equal(layout.n_partitions, 8);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(layout.partitions[i].chip_partition, i / 2);
        assert_int_equal(layout.partitions[i].first_hart, i % 2);
        assert_int_equal(layout.partitions[i].channel, i + 1);
    }
}

static void test_channels_of_partitions_may_be_in_any_order(void **state) {
    (void)state;
    tl_smpm_chip chip = cloud4;
    const uint8_t channels[] = {3, 1, 4, 2};
    memcpy(chip.channel_of, channels, sizeof channels);
    (void)build(TL_SMPM_SAFE, &chip);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(layout.partitions[i].channel, channels[i]);
        assert_int_equal(layout.ulcs[layout.ccus[i].ulcs[0]].route.channel, channels[i]);
    }
}

static void test_counters_have_bits_from_below_and_pulses_from_above(void **state) {
    (void)state;
    const tl_smpm_config config = build(TL_SMPM_SAFE, &plain);
    const tl_smpm_unit_type *hart = &layout.types[0];
    assert_int_equal(hart->n_bits, 41);
    assert_int_equal(hart->n_multi, 4);
    for (uint32_t i = 0; i < config.ulc_ctrs; i++) {
        assert_int_equal(hart->ctrs[i].feed, i < 41 ? TL_SMPM_FEED_BIT : TL_SMPM_FEED_PULSE);
        assert_int_equal(hart->ctrs[i].input, i < 41 ? i : 44 - i);
    }
    assert_string_equal(tl_smpm_events[hart->bits[0]].name, "hart.cycle");
    assert_string_equal(tl_smpm_events[hart->multi[0]].name, "hart.l1d_load_miss");
    const tl_smpm_unit_type *l2 = &layout.types[1];
    assert_int_equal(l2->n_bits, 0);
    assert_int_equal(l2->n_multi, 4);
    assert_int_equal(l2->ctrs[0].feed, TL_SMPM_FEED_NONE);
    assert_int_equal(l2->ctrs[44].feed, TL_SMPM_FEED_PULSE);
    assert_string_equal(tl_smpm_events[l2->multi[0]].name, "l2.read");
}

static void test_inputs_and_counters_limit_what_a_unit_tells(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    tl_error err;
    config.mb_inputs = 0;
    assert_int_equal(tl_smpm_layout_new(&config, &plain, &layout, &err), TL_OK);
    assert_int_equal(layout.types[0].n_bits, 45);
    assert_int_equal(layout.types[0].n_multi, 0);
    config.ulc_ctrs = 44; // one less than there are signals
    assert_int_equal(tl_smpm_layout_new(&config, &plain, &layout, &err), TL_OK);
    assert_int_equal(layout.types[0].n_bits, 44);
    assert_int_equal(layout.types[0].ctrs[44].feed, TL_SMPM_FEED_NONE);
    config.mb_inputs = 16;
    config.ulc_ctrs = 20;
    assert_int_equal(tl_smpm_layout_new(&config, &plain, &layout, &err), TL_OK);
    assert_int_equal(layout.types[0].n_bits, 4);
    assert_int_equal(layout.types[0].n_multi, 16);
    assert_int_equal(layout.types[0].ctrs[4].input, 15);
    assert_int_equal(layout.types[2].n_multi, 6); // a memory channel has no more
}

static void test_fan_in_lets_units_of_a_type_share_rows(void **state) {
    (void)state;
    // Groups are hart0, hart1 | l2.0, l2.1, l2.2 | l2.3 | mem0 | noc | bus | dma.
    static const uint16_t groups[] = {0, 0, 1, 1, 1, 2, 3, 4, 5, 6};
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    tl_error err = {0};
    config.fanin = 3;
    assert_int_equal(tl_smpm_layout_new(&config, &plain, &layout, &err), TL_OK);
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_OK);
    for (uint32_t i = 0; i < TL_COUNT_OF(groups); i++) {
        assert_int_equal(layout.ulcs[i].first_row, 6 * groups[i]);
        assert_int_equal(layout.ulcs[i].first_residue_row, 6 * 7 + groups[i]);
    }
    assert_int_equal(layout.ccus[0].n_rows, 7 * 7);
    assert_int_equal(tl_smpm_layout_new(&config, &cloud4, &layout, &err), TL_OK);
    // Blocks of shared units never share, because their filters will differ.
    assert_int_equal(layout.ccus[4].n_rows, 33 * 7);
}

// Cycles counted by hand from the clock rules: 4 partitions and the shared source at channel 0, 6
// slots of the arbiter, 9 types of 49 values. Inputs feed 105 of them: 41 bits of harts, 4 pairs of
// pulses and residues of harts, slices and channels each, and twice those of shared units: 3 + 2,
// 2 + 4, 1 + 8.
static void test_bounds_count_the_worst_case_of_fixed_slots(void **state) {
    (void)state;
    const tl_smpm_config config = build(TL_SMPM_SAFE, &cloud4);
    const tl_smpm_bounds bounds = tl_smpm_layout_bounds(&config, &layout);
    assert_int_equal(bounds.n_metrics, 441);
    assert_int_equal(bounds.n_slots, 6);
    assert_int_equal(tl_smpm_n_fed(&config, &layout), 105);
    assert_int_equal(bounds.commit_vm, 2 * 105 * 6 + 6 + 8);
    assert_int_equal(bounds.commit_0, 3 * 105 * 6 + 6 + 8);
    // 8 filters of each unit, 3 rows with fed lanes: 3, 1, 1; 2, 2, 2; 1, 4, 4
    assert_int_equal(bounds.fixed, 8 * ((7 + 3 + 3 + 5 + 5 + 5 + 3 + 9 + 9) * 6 + 9 * 2));
    assert_int_equal(bounds.fixed, 2496);
    // A hart has 7 rows, other units have 2.
    assert_int_equal(bounds.drain[0], 4 + (64 + 20) * 2 + 1274 + 3 * 2496);
    assert_int_equal(bounds.drain[4], 4 + 2 * 2496 + 1274);
    assert_int_equal(bounds.drain_max, bounds.drain[0]);
    assert_int_equal(bounds.flush, 2 * 430 + 2 * bounds.drain[0]);
    assert_int_equal(bounds.shared_service, 3 * 100 + 4 + 3 * 2496 + 2 * 1274);
    assert_int_equal(config.shared_slot, bounds.shared_service);
}

static void test_without_shared_units_channel_0_is_the_slowest(void **state) {
    (void)state;
    tl_smpm_chip chip = cloud4;
    chip.has_shared = false;
    tl_smpm_config config = build(TL_SMPM_SAFE, &chip);
    const tl_smpm_bounds bounds = tl_smpm_layout_bounds(&config, &layout);
    assert_int_equal(bounds.n_metrics, 6 * 49);
    // 49 + 8 + 8, 6 + 8 + 6.
    assert_int_equal(bounds.drain[3], 4 + (64 + 2 * 7 + 6 * 2) * 4 + 3 * 85 * 6 + 6 + 8);
    assert_int_equal(bounds.shared_service, 0);
    assert_int_equal(config.shared_slot, 0);
}

static void test_epochs_that_overflow_a_collection_unit_are_refused(void **state) {
    (void)state;
    tl_smpm_config config = build(TL_SMPM_SAFE, &plain);
    const uint64_t rest = 511 + tl_smpm_layout_bounds(&config, &layout).drain[0];
    char text[300];
    config.ccu_bits = 16;
    snprintf(text, sizeof text,
             "smpm.tb_period = 65536: a counter of 16 bits that 1 unit feeds overflows; set it to at most %u, or raise smpm.ccu_bits",
             (unsigned)(65535 - rest));
    assert_unresolved(&config, text);
    tl_error err;
    config.tb_period = (uint32_t)(65535 - rest);
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_OK);
    config.tb_period++;
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_EINVAL);
    config.tb_period = 1024;
    config.ccu_thr = (uint32_t)(65535 - rest);
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_OK);
    config.ccu_thr++;
    snprintf(text, sizeof text, "smpm.ccu_thr = %u: a counter of 16 bits overflows before it is sent; set it to at most %u", config.ccu_thr,
             config.ccu_thr - 1);
    assert_unresolved(&config, text);
}

static void test_fan_in_tightens_the_bound_of_epochs(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    tl_error err;
    config.fanin = 4; // the slices
    assert_int_equal(tl_smpm_layout_new(&config, &plain, &layout, &err), TL_OK);
    const uint64_t rest = 4 * (511 + tl_smpm_layout_bounds(&config, &layout).drain[0]), most = (1 << 28) - 1;
    config.tb_period = (uint32_t)((most - rest) / 4);
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_OK);
    config.tb_period++;
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_EINVAL);
    assert_non_null(strstr(err.text, "that 4 units feed overflows"));
}

static void test_shared_buffers_hold_two_drains_in_safe(void **state) {
    (void)state;
    tl_smpm_config config = build(TL_SMPM_SAFE, &cloud4);
    config.rcb_shared_depth = 197;
    assert_unresolved(&config, "smpm.rcb_shared_depth = 197: two drains of the shared units take 198 records; set it to at least that");
    config.rcb_shared_depth = 198;
    tl_error err;
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_OK);
    config = build(TL_SMPM_LITERAL, &cloud4);
    config.rcb_shared_depth = 8;
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_OK);
}

static void test_a_slot_of_the_shared_flush_is_long_enough(void **state) {
    (void)state;
    tl_smpm_config config = build(TL_SMPM_SAFE, &cloud4);
    config.shared_slot = 10339;
    assert_unresolved(&config, "smpm.shared_slot = 10339: a trigger and a flush of the shared units take up to 10340 cycles; set it to at "
                               "least that, or to 0");
    config.shared_slot = 10340;
    config.tb_timeout = 1000;
    tl_error err;
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_EINVAL);
    config.tb_timeout = (uint32_t)(tl_smpm_layout_bounds(&config, &layout).flush + 5 * 10340);
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_OK);
    config.tb_timeout--;
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_EINVAL);
}

static void test_values_that_do_not_fit_the_latch_are_refused(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    tl_error err;
    config.mb_inputs = 11;
    // 9 types of 56 are 504.
    assert_int_equal(tl_smpm_layout_new(&config, &cloud4, &layout, &err), TL_OK);
    assert_int_equal(tl_smpm_layout_bounds(&config, &layout).n_metrics, 504);
    config.rcb_shared_depth = 8192;
    assert_int_equal(tl_smpm_layout_resolve(&config, &layout, &err), TL_OK);
    config.mb_inputs = 12;
    assert_int_equal(tl_smpm_layout_new(&config, &cloud4, &layout, &err), TL_OK);
    assert_unresolved(&config,
                      "smpm.ulc_ctrs = 45: 9 types of units have 513 values, and a latch holds 504; set it to at most 44, or lower "
                      "smpm.mb_inputs");
}

static void test_chips_that_do_not_fit_are_refused(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_config_default(TL_SMPM_SAFE);
    tl_smpm_chip chip = cloud4;
    tl_error err = {0};
    chip.n_harts = 3;
    config.channels = TL_SMPM_PER_HART;
    assert_int_equal(tl_smpm_layout_new(&config, &chip, &layout, &err), TL_EINVAL);
    assert_string_equal(err.text,
                        "smpm.channels = per_hart: the chip would need 12 channels; at most 8 are there, set it to per_partition");
    config.channels = TL_SMPM_PER_PARTITION;
    chip.n_partitions = 9;
    assert_int_equal(tl_smpm_layout_new(&config, &chip, &layout, &err), TL_EINVAL);
    assert_string_equal(err.text, "smpm.channels = per_partition: the chip would need 9 channels; at most 8 are there");
    chip.n_partitions = 0;
    assert_int_equal(tl_smpm_layout_new(&config, &chip, &layout, &err), TL_EINVAL);
    config.ccu_ulcs = 2;
    assert_int_equal(tl_smpm_layout_new(&config, &cloud4, &layout, &err), TL_EINVAL);
    assert_string_equal(err.text, "smpm.ccu_ulcs = 2: the chip needs more than 16 collection units; set it to 48, or lower smpm.filters");
}

static void test_wiring_made_by_hand_is_checked(void **state) {
    (void)state;
    tl_smpm_config config = build(TL_SMPM_SAFE, &cloud4);
    layout.ulcs[layout.ccus[1].ulcs[0]].partition = 2;
    assert_unresolved(&config, "counter block 5 belongs to another partition than its collection unit 1; move it to one of its own");
    config = build(TL_SMPM_SAFE, &cloud4);
    layout.ulcs[7].route.channel = 1;
    assert_unresolved(&config, "counter block 7 is routed to another channel than that of its partition; route it to channel 2");
    config = build(TL_SMPM_SAFE, &cloud4);
    layout.ulcs[6].first_row = layout.ulcs[7].first_row; // a hart and a slice
    assert_unresolved(&config, "counter blocks 6 and 7 share rows and differ in type or route; give each rows of its own");
    config = build(TL_SMPM_SAFE, &cloud4);
    // Two harts share a row, of which one is not for channel D.
    layout.ulcs[6].first_row = layout.ulcs[5].first_row;
    layout.ulcs[6].route.to_d = false;
    assert_unresolved(&config, "counter blocks 5 and 6 share rows and differ in type or route; give each rows of its own");
    config = build(TL_SMPM_SAFE, &cloud4);
    layout.partitions[2].channel = 1;
    assert_unresolved(&config, "channel 1 serves two partitions; give partition 2 one of its own");
    layout.partitions[2].channel = 5;
    assert_unresolved(&config, "partition 2 has channel 5; give it one of 1 to 4");
    config = build(TL_SMPM_SAFE, &cloud4);
    config.ccu_ulcs = 32;
    assert_unresolved(&config, "smpm.ccu_ulcs = 32: collection unit 4 serves 33 units; set it to at least that");
    config = build(TL_SMPM_SAFE, &cloud4);
    layout.ccus[0].n_rows = 513;
    assert_unresolved(&config, "collection unit 0 has 513 rows; a record can name 512, so lower smpm.ccu_ulcs");
}

static void test_two_filters_for_one_event_are_refused(void **state) {
    (void)state;
    const tl_smpm_config config = build(TL_SMPM_SAFE, &cloud4);
    const tl_smpm_filter filter = {.kind = TL_SMPM_FILTER_MATCH, .vm = 3, .ctx = 4, .engine = TL_SMPM_ANY};
    tl_smpm_config same = config;
    tl_error err;
    layout.ulcs[20].filter = filter; // of noc
    layout.ulcs[31].filter = filter; // of io: another unit
    layout.ulcs[21].filter = filter;
    layout.ulcs[21].filter.ctx = TL_SMPM_ANY; // less specific: takes what the first leaves
    assert_int_equal(tl_smpm_layout_resolve(&same, &layout, &err), TL_OK);
    layout.ulcs[21].filter.ctx = 4;
    assert_unresolved(&config, "counter blocks 20 and 21 of unit noc have the same filter and would count events twice; free one");
    layout.ulcs[21].filter.engine = 1;
    assert_int_equal(tl_smpm_layout_resolve(&same, &layout, &err), TL_OK);
}

static void test_names_of_events_begin_with_their_unit_and_numbers_are_dense(void **state) {
    (void)state;
    for (uint32_t kind = 0; kind < TL_SMPM_N_UNIT_KINDS; kind++) {
        uint32_t n[2] = {0, 0};
        for (uint32_t i = 0; i < tl_smpm_n_events; i++) {
            const tl_event *event = &tl_smpm_events[i];
            if (tl_smpm_event_kind(event) != kind)
                continue;
            const size_t length = strlen(tl_smpm_unit_names[kind]);
            assert_int_equal(strncmp(event->name, tl_smpm_unit_names[kind], length), 0);
            assert_int_equal(event->name[length], '.');
            if (tl_smpm_event_is_left_out(event)) {
                assert_int_equal(event->fidelity, TL_NOT_MODELED);
                continue;
            }
            assert_int_equal(event->selector & 0x7f, n[tl_smpm_event_is_multi(event)]++);
        }
        assert_true(n[0] <= TL_SMPM_MAX_CTRS && n[1] <= TL_SMPM_MAX_MULTI && n[0] + n[1] > 0);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_plain_machine_is_a_chip_of_one_partition),
    cmocka_unit_test(test_a_chip_has_a_collection_unit_for_each_partition_and_one_for_shared_units),
    cmocka_unit_test(test_a_shared_unit_has_filters_a_rest_a_switch_and_a_device_block),
    cmocka_unit_test(test_switch_traffic_has_no_block_where_it_is_not_counted),
    cmocka_unit_test(test_a_channel_for_each_hart_makes_caches_shared),
    cmocka_unit_test(test_harts_of_each_partition_of_a_chip_are_numbered_from_0),
    cmocka_unit_test(test_channels_of_partitions_may_be_in_any_order),
    cmocka_unit_test(test_counters_have_bits_from_below_and_pulses_from_above),
    cmocka_unit_test(test_inputs_and_counters_limit_what_a_unit_tells),
    cmocka_unit_test(test_fan_in_lets_units_of_a_type_share_rows),
    cmocka_unit_test(test_bounds_count_the_worst_case_of_fixed_slots),
    cmocka_unit_test(test_without_shared_units_channel_0_is_the_slowest),
    cmocka_unit_test(test_epochs_that_overflow_a_collection_unit_are_refused),
    cmocka_unit_test(test_fan_in_tightens_the_bound_of_epochs),
    cmocka_unit_test(test_shared_buffers_hold_two_drains_in_safe),
    cmocka_unit_test(test_a_slot_of_the_shared_flush_is_long_enough),
    cmocka_unit_test(test_values_that_do_not_fit_the_latch_are_refused),
    cmocka_unit_test(test_chips_that_do_not_fit_are_refused),
    cmocka_unit_test(test_wiring_made_by_hand_is_checked),
    cmocka_unit_test(test_two_filters_for_one_event_are_refused),
    cmocka_unit_test(test_names_of_events_begin_with_their_unit_and_numbers_are_dense),
};
TL_TEST_MAIN(tests)
