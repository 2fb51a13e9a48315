// SPDX-License-Identifier: MIT
// Numbers that follow from the parameters, and the sentence for each rule that they can break.
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "pmu/smpm/smpm.h"

static tl_smpm_config with(tl_smpm_profile profile) { return tl_smpm_config_default(profile); }

static void assert_refused(const tl_smpm_config *config, const char *text) {
    tl_error err = {0};
    assert_int_equal(tl_smpm_config_check(config, &err), TL_EINVAL);
    assert_string_equal(err.text, text);
}

static void assert_accepted(const tl_smpm_config *config) {
    tl_error err = {0};
    if (tl_smpm_config_check(config, &err) != TL_OK)
        fail_msg("%s", err.text);
}

static void test_a_frame_of_45_counters_takes_409_cycles_and_410_with_parity(void **state) {
    (void)state;
    tl_smpm_config literal = with(TL_SMPM_LITERAL), safe = with(TL_SMPM_SAFE), bare = literal;
    bare.frame_flags = TL_SMPM_OFF;
    assert_int_equal(tl_smpm_payload_bits(&bare, false), 405);
    assert_int_equal(tl_smpm_frame_cycles(&bare, false), 407);
    assert_int_equal(tl_smpm_frame_cycles(&literal, false), 409);
    assert_int_equal(tl_smpm_frame_cycles(&safe, false), 410);
    assert_int_equal(literal.ulc_period - tl_smpm_frame_cycles(&literal, false), 102);
    assert_int_equal(safe.ulc_period - tl_smpm_frame_cycles(&safe, false), 101);
    assert_int_equal(bare.ulc_period - tl_smpm_frame_cycles(&bare, false), 104);
    // At most 56 counters of 9 bits fit a window on one wire.
    bare.ulc_ctrs = 56;
    assert_true(tl_smpm_frame_cycles(&bare, false) <= bare.ulc_period);
    bare.ulc_ctrs = 57;
    assert_true(tl_smpm_frame_cycles(&bare, false) > bare.ulc_period);
}

static void test_a_final_frame_carries_residues_only_under_export(void **state) {
    (void)state;
    tl_smpm_config literal = with(TL_SMPM_LITERAL), safe = with(TL_SMPM_SAFE);
    assert_int_equal(tl_smpm_frame_cycles(&literal, true), 409);
    assert_int_equal(tl_smpm_frame_cycles(&safe, true), 410 + 4 * 5);
    safe.mb_inputs = 16;
    assert_int_equal(tl_smpm_frame_cycles(&safe, true), 410 + 16 * 5);
    safe.mb_inputs = 0;
    assert_int_equal(tl_smpm_frame_cycles(&safe, true), 410);
    assert_int_equal(tl_smpm_residue_rows(&safe), 0);
    safe.mb_inputs = 9;
    assert_int_equal(tl_smpm_residue_rows(&safe), 2);
}

static void test_lanes_divide_the_payload_and_round_up(void **state) {
    (void)state;
    tl_smpm_config config = with(TL_SMPM_LITERAL);
    config.ulc_ctrs = 3;
    config.ulc_bits = 4;
    assert_int_equal(tl_smpm_frame_cycles(&config, false), 16); // V4 with OVF and FINAL
    config.frame_flags = TL_SMPM_OFF;
    assert_int_equal(tl_smpm_frame_cycles(&config, false), 14);
    config.ulc_lanes = 5;
    assert_int_equal(tl_smpm_frame_cycles(&config, false), 2 + 3);
    config.ulc_ctrs = 1; // V5
    config.ulc_bits = 3;
    config.ulc_lanes = 3;
    assert_int_equal(tl_smpm_frame_cycles(&config, false), 3);
}

static void test_scale_is_the_next_power_of_two(void **state) {
    (void)state;
    static const struct { uint32_t max, log2; } rows[] = {{1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {17, 5}, {31, 5}, {32, 5}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_smpm_config config = tl_smpm_default_settings;
        config.mb_max = rows[i].max;
        tl_smpm_config_resolve(&config);
        assert_int_equal(tl_smpm_scale_log2(&config), rows[i].log2);
        assert_int_equal(config.mb_acc_bits, rows[i].log2 + 1);
    }
}

static void test_rows_banks_and_drains_of_a_full_collection_unit(void **state) {
    (void)state;
    tl_smpm_config config = with(TL_SMPM_SAFE);
    const uint32_t n_slots = config.ccu_ulcs * config.ulc_ctrs, n_rows = config.ccu_ulcs * tl_smpm_ctr_rows(&config);
    assert_int_equal(n_slots, 2160);
    assert_int_equal(n_slots * config.ccu_bits, 60480);
    assert_int_equal(n_slots * config.ccu_bits * TL_SMPM_BANKS, 120960);
    assert_int_equal(tl_smpm_ctr_rows(&config), 6);
    assert_int_equal(n_rows, 288);
    assert_int_equal(n_rows * TL_SMPM_REC_CTRS, 2304);
    assert_int_equal(n_rows * TL_SMPM_REC_CTRS * config.ccu_bits * TL_SMPM_BANKS, 129024);
    assert_int_equal(TL_SMPM_REC_CTRS * TL_SMPM_REC_VALUE_BITS, 224);
    assert_int_equal(TL_SMPM_REC_HEADER_BITS + TL_SMPM_REC_CTRS * TL_SMPM_REC_VALUE_BITS, 256);
    assert_int_equal(n_rows * 32, 9216);                                // bytes of a drain
    assert_int_equal((uint64_t)n_rows * 1000 / config.ulc_period, 563); // 0.564 row updates a cycle
    assert_int_equal(config.ccu_ulcs * tl_smpm_residue_rows(&config), 48);
    assert_int_equal(n_rows + config.ccu_ulcs * tl_smpm_residue_rows(&config), 336);
    assert_int_equal(48 * TL_SMPM_REC_CTRS * config.ccu_bits * TL_SMPM_BANKS, 21504);
    assert_int_equal(tl_smpm_ccu_max(&config), 268435455);
    assert_int_equal(tl_smpm_ccu_max(&config) / config.ccu_ulcs, 5592405);
    assert_int_equal(tl_smpm_ulc_max(&config), 511);
    assert_int_equal(config.ccu_ulcs * config.ulc_ctrs * 64, 138240);
}

static void test_indices_count_types_then_residues(void **state) {
    (void)state;
    tl_smpm_config config = with(TL_SMPM_SAFE);
    assert_int_equal(tl_smpm_ctr_index(&config, 2, 7), 97);
    assert_int_equal(tl_smpm_n_metrics(&config, 4), 4 * 49);
    assert_int_equal(tl_smpm_residue_index(&config, 4, 3, 1), 180 + 13);
    config.residue_policy = TL_SMPM_DROP;
    assert_int_equal(tl_smpm_n_metrics(&config, 4), 180);
    assert_int_equal(TL_SMPM_LATCH_VALUES, 504);
}

static void test_profiles_differ_in_what_keeps_tenants_apart(void **state) {
    (void)state;
    const tl_smpm_config safe = with(TL_SMPM_SAFE), literal = with(TL_SMPM_LITERAL);
    assert_int_equal(safe.residue_policy, TL_SMPM_EXPORT);
    assert_int_equal(literal.residue_policy, TL_SMPM_DROP);
    assert_int_equal(safe.frame_flags, TL_SMPM_ON);
    assert_int_equal(literal.frame_flags, TL_SMPM_ON);
    assert_int_equal(safe.frame_parity, TL_SMPM_ON);
    assert_int_equal(literal.frame_parity, TL_SMPM_OFF);
    assert_int_equal(safe.zero_frames, TL_SMPM_OFF);
    assert_int_equal(literal.zero_frames, TL_SMPM_OFF);
    assert_int_equal(safe.arb, TL_SMPM_TDM);
    assert_int_equal(literal.arb, TL_SMPM_ROUND_ROBIN);
    assert_int_equal(safe.fixed_routing, TL_SMPM_ON);
    assert_int_equal(literal.fixed_routing, TL_SMPM_OFF);
    assert_int_equal(safe.skip_zeros, TL_SMPM_OFF);
    assert_int_equal(literal.skip_zeros, TL_SMPM_OFF);
    assert_int_equal(safe.gate_at_pause, TL_SMPM_ON);
    assert_int_equal(literal.gate_at_pause, TL_SMPM_OFF);
    assert_int_equal(safe.count_switch, TL_SMPM_ON);
    assert_int_equal(literal.count_switch, TL_SMPM_ON);
    assert_int_equal(safe.hv_reads_vm, TL_SMPM_ON);
    assert_int_equal(literal.hv_reads_vm, TL_SMPM_OFF);
    assert_int_equal(safe.vm_switch_flush, TL_SMPM_ON);
    assert_int_equal(literal.vm_switch_flush, TL_SMPM_OFF);
    assert_int_equal(safe.mb_acc_bits, 6);
    assert_accepted(&safe);
    assert_accepted(&literal);
}

static void test_a_choice_of_the_description_stands_in_both_profiles(void **state) {
    (void)state;
    for (uint32_t profile = TL_SMPM_SAFE; profile <= TL_SMPM_LITERAL; profile++) {
        tl_smpm_config config = tl_smpm_default_settings;
        config.profile = profile;
        config.residue_policy = TL_SMPM_DROP;
        config.frame_parity = TL_SMPM_OFF;
        config.arb = TL_SMPM_ROUND_ROBIN;
        config.skip_zeros = TL_SMPM_ON;
        tl_smpm_config_resolve(&config);
        assert_int_equal(config.residue_policy, TL_SMPM_DROP);
        assert_int_equal(config.frame_parity, TL_SMPM_OFF);
        assert_int_equal(config.arb, TL_SMPM_ROUND_ROBIN);
        assert_int_equal(config.skip_zeros, TL_SMPM_ON);
    }
}

// Fewest lanes for 45 counters, by width (with OVF, FINAL and parity).
static void test_lanes_that_suffice_depend_on_the_width(void **state) {
    (void)state;
    static const struct { uint32_t bits, n_lanes; } rows[] = {{6, 5}, {7, 3}, {8, 2}, {9, 1}, {10, 1}, {12, 1}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++)
        for (uint32_t lanes = 1; lanes <= 8; lanes++) {
            tl_smpm_config config = with(TL_SMPM_SAFE);
            tl_error err;
            config.ulc_bits = rows[i].bits;
            config.ulc_period = (1u << rows[i].bits) - 1;
            config.ulc_lanes = lanes;
            assert_int_equal(tl_smpm_config_check(&config, &err), lanes >= rows[i].n_lanes ? TL_OK : TL_EINVAL);
        }
}

static void test_a_window_that_overflows_a_counter_is_refused(void **state) {
    (void)state;
    tl_smpm_config config = with(TL_SMPM_SAFE);
    config.ulc_period = 512;
    assert_refused(&config,
                   "smpm.ulc_period = 512: a counter of 9 bits would overflow in a window that long; set it to at most 511, or raise "
                   "smpm.ulc_bits");
    config.ulc_bits = 10;
    assert_accepted(&config);
}

static void test_a_frame_longer_than_its_window_is_refused(void **state) {
    (void)state;
    tl_smpm_config config = with(TL_SMPM_SAFE);
    config.ulc_period = 411;
    assert_accepted(&config);
    config.ulc_period = 410;
    assert_refused(&config, "smpm.ulc_period = 410: a frame takes 410 cycles on 1 lane; set it to at least 411, or smpm.ulc_lanes to 2");
    config.ulc_bits = 5;
    config.ulc_period = 31;
    config.ulc_lanes = 2;
    assert_refused(&config,
                   "smpm.ulc_period = 31: a frame takes 116 cycles and does not fit on 8 lanes either; lower smpm.ulc_ctrs or raise "
                   "smpm.ulc_bits with it");
}

static void test_rules_among_inputs_are_refused_with_a_remedy(void **state) {
    (void)state;
    tl_smpm_config config = with(TL_SMPM_SAFE);
    config.mb_acc_bits = 5;
    assert_refused(&config, "smpm.mb_acc_bits = 5: an input of at most 32 in a cycle needs 6 bits; set it to 6, or to 0");
    config = with(TL_SMPM_SAFE);
    config.ulc_ctrs = 3;
    assert_refused(&config,
                   "smpm.mb_inputs = 4: each input takes a counter, and there are 3; set it to at most that, or raise smpm.ulc_ctrs");
    config = with(TL_SMPM_SAFE);
    config.fanin = 9;
    config.ccu_ulcs = 8;
    assert_refused(&config, "smpm.fanin = 9: a collection unit serves only 8 units; set it to at most that, or raise smpm.ccu_ulcs");
    config.fanin = 8;
    assert_accepted(&config);
}

static void test_ranges_of_keys_hold_for_configurations_made_by_hand(void **state) {
    (void)state;
    for (const tl_key *key = tl_smpm_keys; key->path; key++) {
        tl_smpm_config config = tl_smpm_default_settings;
        tl_error err = {0};
        if (key->max == UINT32_MAX)
            continue;
        tl_key_store(key, &config, key->max + 1);
        assert_int_equal(tl_smpm_config_check(&config, &err), TL_EINVAL);
        assert_int_equal(strncmp(err.text, key->path, strlen(key->path)), 0);
    }
}

// A machine without this design may hold any values, because nothing is built from them.
static void test_rules_hold_only_where_the_design_is_built(void **state) {
    (void)state;
    tl_smpm_config config = tl_smpm_default_settings;
    config.ulc_period = 512;
    assert_accepted(&config);
    config.profile = TL_SMPM_LITERAL;
    tl_error err;
    assert_int_equal(tl_smpm_config_check(&config, &err), TL_EINVAL);
}

static void test_every_value_has_one_key(void **state) {
    (void)state;
    bool is_used[sizeof(tl_smpm_config)] = {false};
    uint32_t n = 0;
    for (const tl_key *key = tl_smpm_keys; key->path; key++, n++) {
        assert_false(is_used[key->offset]);
        is_used[key->offset] = true;
        assert_ptr_equal(tl_smpm_key_of(&tl_smpm_default_settings,
                                        (const uint32_t *)(const void *)((const char *)&tl_smpm_default_settings + key->offset)),
                         key);
    }
    assert_int_equal(n * 4, sizeof(tl_smpm_config));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_frame_of_45_counters_takes_409_cycles_and_410_with_parity),
    cmocka_unit_test(test_a_final_frame_carries_residues_only_under_export),
    cmocka_unit_test(test_lanes_divide_the_payload_and_round_up),
    cmocka_unit_test(test_scale_is_the_next_power_of_two),
    cmocka_unit_test(test_rows_banks_and_drains_of_a_full_collection_unit),
    cmocka_unit_test(test_indices_count_types_then_residues),
    cmocka_unit_test(test_profiles_differ_in_what_keeps_tenants_apart),
    cmocka_unit_test(test_a_choice_of_the_description_stands_in_both_profiles),
    cmocka_unit_test(test_lanes_that_suffice_depend_on_the_width),
    cmocka_unit_test(test_a_window_that_overflows_a_counter_is_refused),
    cmocka_unit_test(test_a_frame_longer_than_its_window_is_refused),
    cmocka_unit_test(test_rules_among_inputs_are_refused_with_a_remedy),
    cmocka_unit_test(test_ranges_of_keys_hold_for_configurations_made_by_hand),
    cmocka_unit_test(test_rules_hold_only_where_the_design_is_built),
    cmocka_unit_test(test_every_value_has_one_key),
};
TL_TEST_MAIN(tests)
