// SPDX-License-Identifier: MIT
// Vectors of the specification, computed by hand: multi-bit carries, full rate, a frame's bits, the
// edge of a window, two banks, reduction by unit type. Then the whole way of a value to its blocks.
#include "pmu/smpm/test_rig.h"

typedef struct seen {
    tl_smpm_frame frames[64];
    uint32_t n;
} seen;

static void see_frame(void *ctx, const tl_smpm_frame *frame) {
    seen *s = ctx;
    if (s->n < TL_COUNT_OF(s->frames))
        s->frames[s->n++] = *frame;
}

static void open_one(rig *r, seen *s, tl_smpm_config config, uint32_t n_units, bool is_reference) {
    r->config = config;
    rig_layout(r, 1, n_units);
    r->plan.is_reference = is_reference;
    r->plan.observer = (tl_smpm_observer){.ctx = s, .frame = see_frame};
    rig_open(r);
    MUST(tl_smpm_vm_new(r->model, 1, &err));
    MUST(tl_smpm_ctx_new(r->model, 1, 7, &err));
    MUST(tl_smpm_start(r->model, 0, 1, 7, &err));
}

//  ---- V1, V2

static void carry(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    (void)ulc;
    const uint8_t *values = r->user;
    ret_inputs->multi[0] = cycle < 6 ? values[cycle] : 0;
}

static void check_carry(const uint8_t values[static 6], uint32_t pulses, uint32_t residue) {
    for (int is_reference = 0; is_reference < 2; is_reference++) {
        rig r = {.inputs = carry};
        uint8_t copy[6];
        seen s = {0};
        memcpy(copy, values, sizeof copy);
        r.user = copy;
        tl_smpm_config c = rig_config(TL_SMPM_SAFE, 2, 9, 40, 1);
        c.mb_inputs = 1;
        open_one(&r, &s, c, 1, is_reference);
        tl_smpm_run(r.model, 10);
        MUST(tl_smpm_switch_to(r.model, 0, TL_SMPM_NO_VM, 0, &err));
        run_switch(r.model, 0, 5000);
        assert_int_equal(s.n, 1);
        assert_true(s.frames[0].is_final);
        assert_int_equal(s.frames[0].values[1], pulses);
        assert_int_equal(s.frames[0].residues[0], residue);
        assert_int_equal(word_of(r.model, 1, 7, TL_SMPM_CTR, 1), pulses);
        // K18: residues follow the counters.
        assert_int_equal(word_of(r.model, 1, 7, TL_SMPM_CTR, 2), residue);
        assert_int_equal(word_of(r.model, 1, TL_SMPM_NO_CTX, TL_SMPM_CTR, 2), residue);
        rig_close(&r);
    }
}

static void test_v1_carries_add_up_to_three_pulses(void **state) {
    (void)state;
    check_carry((uint8_t[6]){20, 20, 20, 4, 0, 32}, 3, 0);
}
static void test_v2_the_rest_of_the_carries_is_exported(void **state) {
    (void)state;
    check_carry((uint8_t[6]){31, 1, 31, 31, 0, 0}, 2, 30);
}

//  ---- V3

static void always(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    (void)r, (void)ulc, (void)cycle;
    ret_inputs->bits = 1;
}

static void check_full_rate(uint32_t period, uint32_t policy, uint32_t value, bool has_ovf) {
    for (int is_reference = 0; is_reference < 2; is_reference++) {
        rig r = {.inputs = always};
        seen s = {0};
        tl_smpm_config c = rig_config(TL_SMPM_LITERAL, 1, 9, period, 1);
        c.ovf_policy = policy;
        open_one(&r, &s, c, 1, is_reference);
        tl_smpm_run(r.model, 3 * period + 40);
        assert_int_equal(s.n, 3);
        assert_int_equal(s.frames[1].values[0], value);
        assert_int_equal(s.frames[1].has_ovf, has_ovf);
        rig_close(&r);
    }
}

static void test_v3_a_window_of_511_cycles_counts_511(void **state) {
    (void)state;
    check_full_rate(511, TL_SMPM_SATURATE, 511, false);
}
static void test_v3_f01_a_forced_window_of_512_cycles_saturates_or_wraps_with_ovf(void **state) {
    (void)state;
    check_full_rate(512, TL_SMPM_SATURATE, 511, true);
    check_full_rate(512, TL_SMPM_WRAP, 0, true);
}

//  ---- V4

static void five_zero_nine(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    (void)r, (void)ulc;
    ret_inputs->bits = (cycle < 5 ? 1u : 0) | (cycle < 9 ? 4u : 0);
}

static void check_wire(tl_smpm_profile profile, uint32_t lanes, const char *data, const char *mark) {
    rig r = {.inputs = five_zero_nine};
    seen s = {0};
    open_one(&r, &s, rig_config(profile, 3, 4, 19, lanes), 1, true);
    for (size_t i = 0; data[i]; i++) { // a digit of `data` shows all lanes of one cycle
        tl_smpm_run(r.model, 20 + i);
        tl_smpm_wire wire = tl_smpm_line_show(r.model, &r.model->ulcs[0], 19 + i);
        assert_int_equal("0123456789abcdef"[wire.data], data[i]);
        assert_int_equal(wire.mark, mark[i] == '1');
    }
    assert_int_equal(s.n, 1);
    assert_int_equal(s.frames[0].start, 19);
    assert_int_equal(s.frames[0].end, 19 + strlen(data) - 2);
    assert_int_equal(s.frames[0].values[0], 5);
    assert_int_equal(s.frames[0].values[1], 0);
    assert_int_equal(s.frames[0].values[2], 9);
    rig_close(&r);
}

// START, 5, 0, 9 least significant bit first, OVF, FINAL, parity where SAFE has it, END, idle.
static void test_v4_bits_of_a_frame(void **state) {
    (void)state;
    check_wire(TL_SMPM_LITERAL, 1, "01010000010010010", "10000000000000010");
    check_wire(TL_SMPM_SAFE, 1, "010100000100100010", "100000000000000010");
    check_wire(TL_SMPM_LITERAL, 4, "0509010", "1000010");
}

//  ---- V5

static void three_and_four(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    (void)r, (void)ulc;
    ret_inputs->bits = cycle == 3 || cycle == 4;
}

static void test_v5_the_event_of_a_snapshot_belongs_to_the_new_window(void **state) {
    (void)state;
    for (int is_reference = 0; is_reference < 2; is_reference++) {
        rig r = {.inputs = three_and_four};
        seen s = {0};
        tl_smpm_config c = rig_config(TL_SMPM_LITERAL, 1, 3, 4, 3);
        c.frame_flags = TL_SMPM_OFF;
        open_one(&r, &s, c, 1, is_reference);
        tl_smpm_run(r.model, 12);
        assert_int_equal(s.n, 2);
        assert_int_equal(s.frames[0].start, 4);
        assert_int_equal(s.frames[0].end, 6);
        assert_int_equal(s.frames[0].values[0], 1);
        assert_int_equal(s.frames[1].start, 8);
        assert_int_equal(s.frames[1].values[0], 1);
        rig_close(&r);
    }
}

//  ---- V6

// The second frame of an always active counter ends in cycle 93: START in 80, 12 data cycles.
static void check_bank(uint64_t pulse, uint64_t expected, bool is_reference) {
    rig r = {.inputs = always};
    seen s = {0};
    open_one(&r, &s, rig_config(TL_SMPM_SAFE, 1, 9, 40, 1), 1, is_reference);
    tl_smpm_run(r.model, pulse - r.model->lead_cycles);
    tl_smpm_trigger(r.model, 0);
    tl_smpm_run(r.model, 119);
    assert_int_equal(s.frames[1].end, 93);
    assert_int_equal(word_of(r.model, 1, 7, TL_SMPM_CTR, 0), expected);
    rig_close(&r);
}

static void test_v6_a_frame_that_ends_in_the_cycle_of_a_trigger_is_in_the_old_bank(void **state) {
    (void)state;
    for (int is_reference = 0; is_reference < 2; is_reference++) {
        check_bank(93, 80, is_reference);
        check_bank(92, 40, is_reference);
    }
}

//  ---- V7

static void powers(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    (void)r;
    static const uint32_t values[] = {1, 10, 100};
    ret_inputs->bits = cycle < values[ulc] ? 1u << 7 : 0;
}

static void test_v7_instances_of_a_type_add_up(void **state) {
    (void)state;
    for (int is_reference = 0; is_reference < 2; is_reference++) {
        rig r = {.inputs = powers};
        seen s = {0};
        open_one(&r, &s, rig_config(TL_SMPM_SAFE, 9, 9, 120, 1), 3, is_reference);
        tl_smpm_run(r.model, 110);
        MUST(tl_smpm_switch_to(r.model, 0, TL_SMPM_NO_VM, 0, &err));
        run_switch(r.model, 0, 10000);
        for (uint32_t i = 0; i < 9; i++) {
            uint64_t expected = i == 7 ? 111 : 0;
            assert_int_equal(word_of(r.model, 1, 7, TL_SMPM_CTR, i), expected);
            assert_int_equal(word_of(r.model, 1, TL_SMPM_NO_CTX, TL_SMPM_CTR, i), expected);
            assert_int_equal(r.model->accs[i] + vm0_word(r.model, TL_SMPM_CTR, i), expected);
        }
        tl_smpm_run(r.model, 60000); // channels 0 and D commit in cycle tb_period / 2
        assert_int_equal(vm0_word(r.model, TL_SMPM_CTR, 7), 111);
        assert_int_equal(device_word(r.model, 7), 111);
        assert_int_equal(vm0_word(r.model, TL_SMPM_UNASSIGNED, 7), 0);
        rig_close(&r);
    }
}

//  ---- stamps, by hand from the rules of the clock

typedef struct stamps {
    uint64_t record, begin, end;
} stamps;
static void see_record(void *ctx, uint64_t cycle, uint32_t channel, uint32_t source, const tl_smpm_record *record, tl_smpm_fate fate) {
    (void)source, (void)record, (void)fate;
    if (channel == 1 && ((stamps *)ctx)->record == 0)
        ((stamps *)ctx)->record = cycle;
}
static void see_commit(void *ctx, uint64_t begin_cycle, uint64_t end_cycle, uint32_t channel) {
    if (channel == 1 && ((stamps *)ctx)->begin == 0)
        *(stamps *)ctx = (stamps){.record = ((stamps *)ctx)->record, .begin = begin_cycle, .end = end_cycle};
}

// Swap in 93, row 0 in 94, noc_cycles = 4. Channel 1 has the slots t mod 3 == 1: 100 and 103.
static void test_cycles_of_a_drain_a_commit_and_a_switch(void **state) {
    (void)state;
    for (int is_reference = 0; is_reference < 2; is_reference++) {
        rig r = {.inputs = always};
        stamps seen_stamps = {0};
        r.config = rig_config(TL_SMPM_SAFE, 1, 9, 40, 1);
        rig_layout(&r, 1, 1);
        r.plan.is_reference = is_reference;
        r.plan.observer = (tl_smpm_observer){.ctx = &seen_stamps, .record = see_record, .commit = see_commit};
        rig_open(&r);
        MUST(tl_smpm_vm_new(r.model, 1, &err));
        MUST(tl_smpm_start(r.model, 0, 1, TL_SMPM_NO_CTX, &err));
        tl_smpm_run(r.model, 93 - r.model->lead_cycles);
        tl_smpm_trigger(r.model, 0);
        tl_smpm_run(r.model, 1000);
        assert_int_equal(seen_stamps.record, 98);
        assert_int_equal(seen_stamps.begin, 98);
        assert_int_equal(seen_stamps.end, 103);
        // No context ran.
        assert_int_equal(word_of(r.model, 1, TL_SMPM_NO_CTX, TL_SMPM_NOCTX, 0), 80);
        // Word 3 is t_commit.
        assert_int_equal(tl_smpm_words_of(r.model, tl_smpm_block_of(r.model, 1, TL_SMPM_NO_CTX))[3], 103);
        // Word 4 is t_active.
        assert_int_equal(tl_smpm_words_of(r.model, tl_smpm_block_of(r.model, 1, TL_SMPM_NO_CTX))[4], 103);
        MUST(tl_smpm_switch_to(r.model, 0, 1, TL_SMPM_NO_CTX, &err));
        run_switch(r.model, 0, 1000);
        tl_smpm_switched s;
        tl_smpm_switched_get(r.model, 0, &s);
        const uint64_t first[] = {1000, 1004, 1008, 1012}; // CS2 to CS5, four cycles apart
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(s.at[2 + i], first[i]);
        assert_int_equal(s.at[TL_SMPM_CS5B], 1016);
        assert_int_equal(s.at[6], 1020);
        assert_int_equal(s.at[9] - s.at[8], 40); // save_cycles + load_cycles
        for (uint32_t i = 9; i < 13; i++)
            assert_int_equal(s.at[i + 1] - s.at[i], 4);
        rig_close(&r);
    }
}

static void test_a_masked_counter_is_not_added(void **state) {
    (void)state;
    for (int is_reference = 0; is_reference < 2; is_reference++) {
        rig r = {.inputs = always};
        r.config = rig_config(TL_SMPM_SAFE, 2, 9, 60, 1);
        rig_layout(&r, 1, 1);
        r.layout.types[0].ctrs[1].input = 0;
        r.layout.ulcs[0].route.to_d = false;
        r.plan.is_reference = is_reference;
        rig_open(&r);
        MUST(tl_smpm_vm_new(r.model, 1, &err));
        MUST(tl_smpm_mask_set(r.model, 0, 1, &err));
        MUST(tl_smpm_start(r.model, 0, 1, TL_SMPM_NO_CTX, &err));
        tl_smpm_run(r.model, 30);
        MUST(tl_smpm_switch_to(r.model, 0, TL_SMPM_NO_VM, 0, &err));
        run_switch(r.model, 0, 1000);
        assert_int_equal(word_of(r.model, 1, TL_SMPM_NO_CTX, TL_SMPM_CTR, 0), 0);
        assert_int_equal(word_of(r.model, 1, TL_SMPM_NO_CTX, TL_SMPM_CTR, 1), 31);
        rig_close(&r);
    }
}

static void test_oob_2_no_mask_takes_a_counter_from_channel_d(void **state) {
    (void)state;
    rig r = {.inputs = always};
    r.config = rig_config(TL_SMPM_SAFE, 2, 9, 60, 1);
    rig_layout(&r, 1, 2);
    r.layout.types[0].ctrs[1].feed = TL_SMPM_FEED_NONE;
    r.layout.ulcs[1].route.to_d = false;
    rig_open(&r);
    tl_smpm_coverage before, after;
    tl_error why;
    tl_smpm_coverage_get(r.model, &before);
    assert_int_equal(before.bits[0], 1); // of two ULCs
    assert_int_equal(tl_smpm_mask_set(r.model, 0, 1, &why), TL_EINVAL);
    assert_string_equal(why.text, "mask of ULC 0: it would take counters from channel D, which must see all; leave them unmasked");
    assert_int_equal(tl_smpm_mask_set(r.model, 0, 3, &why), TL_EINVAL);
    MUST(tl_smpm_mask_set(r.model, 0, 2, &err)); // counter 1 counts nothing
    MUST(tl_smpm_mask_set(r.model, 1, 3, &err)); // it is not routed to D
    tl_smpm_coverage_get(r.model, &after);
    assert_memory_equal(&before, &after, sizeof before);
    rig_close(&r);
}

static void counts_its_number(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    (void)r;
    ret_inputs->bits = cycle < 100 + ulc ? UINT64_MAX : 0;
}

// 48 ULCs of 64 counters and 16 inputs: the most that keys allow.
static void test_a_ccu_has_as_many_rows_as_records_can_name(void **state) {
    (void)state;
    for (int is_reference = 0; is_reference < 2; is_reference++) {
        rig r = {.inputs = counts_its_number};
        r.config = rig_config(TL_SMPM_SAFE, 64, 10, 1000, 1);
        r.config.mb_inputs = 16;
        r.config.ccu_ulcs = TL_SMPM_MAX_CCU_ULCS;
        rig_layout(&r, 1, TL_SMPM_MAX_CCU_ULCS);
        assert_int_equal(r.layout.ccus[0].n_rows, 480);
        r.plan.is_reference = is_reference;
        rig_open(&r);
        MUST(tl_smpm_vm_new(r.model, 1, &err));
        MUST(tl_smpm_start(r.model, 0, 1, TL_SMPM_NO_CTX, &err));
        tl_smpm_run(r.model, 1500);
        MUST(tl_smpm_switch_to(r.model, 0, TL_SMPM_NO_VM, 0, &err));
        run_switch(r.model, 0, 10000);
        for (uint32_t i = 0; i < 48; i++) // all ULCs are of one type
            assert_int_equal(word_of(r.model, 1, TL_SMPM_NO_CTX, TL_SMPM_CTR, i), 48 * 100 + 47 * 48 / 2);
        rig_close(&r);
    }
}

static void test_a_ccu_of_more_rows_is_refused(void **state) {
    (void)state;
    rig r = {.inputs = always};
    tl_error err;
    r.config = rig_config(TL_SMPM_SAFE, 2, 9, 60, 1);
    rig_layout(&r, 1, 1);
    r.layout.ccus[0].n_rows = 513;
    r.plan.config = r.config;
    r.plan.layout = &r.layout;
    assert_int_equal(tl_smpm_new(&r.plan, &r.arena, &r.model, &err), TL_EINVAL);
    assert_string_equal(err.text, "CCU 0 of the monitor's layout has 513 rows and 1 ULCs: at most 512 and 1 to 48");
    rig_close(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_v1_carries_add_up_to_three_pulses),
    cmocka_unit_test(test_v2_the_rest_of_the_carries_is_exported),
    cmocka_unit_test(test_v3_a_window_of_511_cycles_counts_511),
    cmocka_unit_test(test_v3_f01_a_forced_window_of_512_cycles_saturates_or_wraps_with_ovf),
    cmocka_unit_test(test_v4_bits_of_a_frame),
    cmocka_unit_test(test_v5_the_event_of_a_snapshot_belongs_to_the_new_window),
    cmocka_unit_test(test_v6_a_frame_that_ends_in_the_cycle_of_a_trigger_is_in_the_old_bank),
    cmocka_unit_test(test_v7_instances_of_a_type_add_up),
    cmocka_unit_test(test_cycles_of_a_drain_a_commit_and_a_switch),
    cmocka_unit_test(test_a_masked_counter_is_not_added),
    cmocka_unit_test(test_oob_2_no_mask_takes_a_counter_from_channel_d),
    cmocka_unit_test(test_a_ccu_has_as_many_rows_as_records_can_name),
    cmocka_unit_test(test_a_ccu_of_more_rows_is_refused),
};
TL_TEST_MAIN(tests)
