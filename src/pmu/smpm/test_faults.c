// SPDX-License-Identifier: MIT
// Failure modes F-01 to F-12 and F-20 to F-23 that the trial of test_conservation.c does not show.
#include <stdio.h>

#include "pmu/smpm/test_trial.h"

//  ---- one partition of one unit, told what goes wrong and when

typedef struct setting {
    rig r;
    tl_smpm_fault kind;
    uint32_t index, answer;
    uint64_t from, until; // cycles
    uint64_t n_asked, only;
    tl_smpm_frame frames[1024];
    uint32_t n_frames, n_fates[4];
} setting;

static uint32_t fault_of(void *ctx, tl_smpm_fault kind, uint32_t index, uint64_t cycle) {
    setting *s = ctx;
    if (kind != s->kind || index != s->index || cycle < s->from || cycle >= s->until)
        return 0;
    return s->only == 0 || ++s->n_asked == s->only ? s->answer : 0;
}
static void see_frame(void *ctx, const tl_smpm_frame *frame) {
    setting *s = ctx;
    if (s->n_frames < TL_COUNT_OF(s->frames))
        s->frames[s->n_frames++] = *frame;
}
static void see_record(void *ctx, uint64_t cycle, uint32_t channel, uint32_t source, const tl_smpm_record *record, tl_smpm_fate fate) {
    setting *s = ctx;
    (void)cycle, (void)channel, (void)source, (void)record;
    s->n_fates[fate]++;
}
static void always(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    (void)r, (void)ulc, (void)cycle;
    ret_inputs->bits = UINT64_MAX;
}

static tl_smpm *open_setting(setting *s, tl_smpm_config config, uint32_t n_partitions, uint32_t n_units, bool is_reference) {
    s->r.config = config;
    if (!s->r.inputs)
        s->r.inputs = always;
    rig_layout(&s->r, n_partitions, n_units);
    s->r.plan.is_reference = is_reference;
    s->r.plan.observer = (tl_smpm_observer){.ctx = s, .frame = see_frame, .record = see_record};
    if (s->until) {
        s->r.plan.test.ctx = s;
        s->r.plan.test.fault = fault_of;
    }
    rig_open(&s->r);
    for (uint32_t p = 0; p < n_partitions; p++) {
        MUST(tl_smpm_vm_new(s->r.model, 1 + p, &err));
        for (uint32_t ctx = 0; ctx < 2; ctx++)
            MUST(tl_smpm_ctx_new(s->r.model, 1 + p, ctx, &err));
        MUST(tl_smpm_start(s->r.model, p, 1 + p, 0, &err));
    }
    return s->r.model;
}
static uint64_t ctr_of(const tl_smpm *m, uint32_t vm, uint32_t ctx) { return word_of(m, vm, ctx, TL_SMPM_CTR, 0); }

static void test_f02_a_long_epoch_saturates_with_ovf_and_thr_prevents_it(void **state) {
    (void)state;
    for (uint32_t thr = 0; thr <= 900; thr += 900)
        for (int is_reference = 0; is_reference < 2; is_reference++) {
            setting s = {0};
            tl_smpm_config c = rig_config(TL_SMPM_SAFE, 1, 6, 50, 1);
            c.ccu_bits = 10;
            c.ccu_thr = thr;
            tl_smpm *m = open_setting(&s, c, 1, 1, is_reference);
            tl_smpm_run(m, 3000);
            MUST(tl_smpm_switch_to(m, 0, 1, 1, &err));
            run_switch(m, 0, 10000);
            uint64_t first = s.frames[0].start, last = 0;
            for (uint32_t i = 0; i < s.n_frames && s.frames[i].start <= 3100; i++)
                last = s.frames[i].is_final ? s.frames[i].start : last;
            assert_int_equal(first, 50);
            assert_int_equal(ctr_of(m, 1, 0), thr ? last : 1023);
            assert_int_equal(flags_of(m, 1, 0), thr ? 0 : TL_SMPM_OVF | TL_SMPM_SATURATED);
            assert_int_equal(flags_of(m, 1, 1), 0);
            rig_close(&s.r);
        }
}

// Without observers the fast model adds a drain as one lump. Each signal is active in each cycle.
// 8000 cycles therefore exceed 12 bits; 3000 do not, and leave the flags alone.
static void test_f02_a_drain_in_one_lump_carries_ovf_to_each_block(void **state) {
    (void)state;
    enum { PERIOD = 8000, MOST = 4095 };
    for (uint32_t is_long = 0; is_long < 2; is_long++) {
        uint64_t seen_counts[2][4];
        uint32_t seen_flags[2][4];
        for (uint32_t is_reference = 0; is_reference < 2; is_reference++) {
            setting s = {.r.inputs = always};
            uint32_t n_lumps = 0;
            s.r.config = rig_config(TL_SMPM_SAFE, 8, 9, 100, 1);
            s.r.config.ccu_bits = 12;
            s.r.config.tb_period = is_long ? PERIOD : 3000;
            rig_layout(&s.r, 2, 1);
            s.r.plan.is_reference = is_reference;
            rig_open(&s.r);
            tl_smpm *m = s.r.model;
            start_two_vms(m);
            for (uint32_t i = 0; i < 4 * PERIOD; i++) {
                tl_smpm_run(m, i + 1);
                n_lumps += m->core->lump_due != TL_SMPM_NEVER;
            }
            assert_int_equal(n_lumps > 0, !is_reference); // the path in question ran
            const uint64_t counts[4] = {word_of(m, 1, 1, TL_SMPM_CTR, 0), word_of(m, 2, TL_SMPM_NO_CTX, TL_SMPM_CTR, 7),
                                        vm0_word(m, TL_SMPM_CTR, 0), device_word(m, 3)};
            const uint32_t flags[4] = {flags_of(m, 1, 1), flags_of(m, 2, TL_SMPM_NO_CTX), flags_of(m, 1, 2), 0};
            memcpy(seen_counts[is_reference], counts, sizeof counts);
            memcpy(seen_flags[is_reference], flags, sizeof flags);
            rig_close(&s.r);
        }
        assert_memory_equal(seen_counts[0], seen_counts[1], sizeof seen_counts[0]);
        assert_memory_equal(seen_flags[0], seen_flags[1], sizeof seen_flags[0]);
        assert_int_equal(seen_flags[0][0], is_long ? TL_SMPM_OVF | TL_SMPM_SATURATED : 0);
        assert_int_equal(seen_flags[0][1], seen_flags[0][0]);
        assert_int_equal(seen_flags[0][2], 0); // it never ran
        assert_true(is_long ? seen_counts[0][0] == 3 * MOST : seen_counts[0][0] % 100 == 0 && seen_counts[0][0] > 20000);
    }
}

static void test_f03_a_window_shorter_than_a_frame_is_refused(void **state) {
    (void)state;
    setting s = {0};
    tl_error err;
    s.r.config = rig_config(TL_SMPM_SAFE, 4, 9, 40, 1);
    rig_layout(&s.r, 1, 1);
    s.r.plan.config = s.r.config;
    s.r.plan.layout = &s.r.layout;
    assert_int_equal(tl_smpm_new(&s.r.plan, &s.r.arena, &s.r.model, &err), TL_EINVAL);
    assert_string_equal(err.text, "ulc_period = 40: must be at least the 41 cycles of a frame");
    rig_close(&s.r);
}

static void test_f04_the_next_pulse_carries_what_a_lost_one_left(void **state) {
    (void)state;
    for (int is_lost = 0; is_lost < 2; is_lost++) {
        setting s = {.kind = TL_SMPM_LOSE_EXT, .index = 0, .answer = 1, .from = 1, .until = is_lost ? 1500 : 2};
        tl_smpm_config c = rig_config(TL_SMPM_SAFE, 1, 6, 50, 1);
        c.tb_period = 1024;
        tl_smpm *m = open_setting(&s, c, 1, 1, true);
        tl_smpm_run(m, 1300);
        assert_int_equal(ctr_of(m, 1, 0), is_lost ? 0 : 1000);
        tl_smpm_run(m, 2300); // frames START every 50 cycles and END 10 later
        assert_int_equal(ctr_of(m, 1, 0), 2000);
        assert_int_equal(flags_of(m, 1, 0), 0);
        rig_close(&s.r);
    }
}

//  ---- F-05

static void test_f05_a_mute_ccu_makes_the_block_lossy_and_the_next_context_clean(void **state) {
    (void)state;
    setting s = {.kind = TL_SMPM_MUTE_CCU, .index = 0, .answer = 1, .from = 900, .until = 7000};
    tl_smpm_config c = rig_config(TL_SMPM_SAFE, 1, 6, 50, 1);
    c.tb_period = 2000;
    c.tb_timeout = 1500;
    tl_smpm *m = open_setting(&s, c, 2, 1, true);
    tl_smpm_run(m, 1000);
    MUST(tl_smpm_switch_to(m, 0, 1, 1, &err));
    run_switch(m, 0, 20000);
    tl_smpm_switched sw;
    tl_smpm_switched_get(m, 0, &sw);
    assert_int_equal(sw.step, TL_SMPM_IDLE);
    assert_int_equal(sw.missing, 1);
    assert_in_range(sw.at[7] - sw.at[5], 3000, 3100); // two timeouts
    assert_int_equal(flags_of(m, 1, 0), TL_SMPM_LOSSY);
    assert_int_equal(ctr_of(m, 1, 0), 0);
    tl_smpm_run(m, 20000);
    MUST(tl_smpm_switch_to(m, 0, 1, 0, &err));
    uint64_t asked = tl_smpm_now(m);
    run_switch(m, 0, 20000);
    uint64_t last = 0;
    for (uint32_t i = 0; i < s.n_frames; i++)
        last = s.frames[i].is_final && s.frames[i].ulc == 0 && s.frames[i].start > asked ? s.frames[i].start : last;
    // Counts every cycle of its own, none of its predecessor.
    assert_int_equal(ctr_of(m, 1, 1), last - (sw.at[12] + 1));
    assert_int_equal(flags_of(m, 1, 1), 0);
    rig_close(&s.r);
}

// The network takes longer than two timeouts, so records of the outgoing context arrive in the
// next.
static uint64_t late_units(uint32_t mutations, uint64_t *ret_stale) {
    setting s = {0};
    tl_smpm_config c = rig_config(TL_SMPM_SAFE, 1, 6, 50, 1);
    c.noc_cycles = 3000;
    c.tb_timeout = 500;
    s.r.plan.test.mutations = mutations;
    tl_smpm *m = open_setting(&s, c, 1, 1, true);
    tl_smpm_run(m, 1000);
    MUST(tl_smpm_switch_to(m, 0, 1, 1, &err));
    run_switch(m, 0, 20000);
    uint64_t began = tl_smpm_now(m);
    tl_smpm_counters counters;
    tl_smpm_run(m, began + 6000);
    tl_smpm_counters_get(m, &counters);
    *ret_stale = counters.stale;
    uint64_t units = m->accs[m->acc_first[1]] + ctr_of(m, 1, 1);
    rig_close(&s.r);
    return units;
}

static void test_f05_records_older_than_the_last_accepted_flush_are_dropped(void **state) {
    (void)state;
    uint64_t stale;
    assert_int_equal(late_units(0, &stale), 0);
    // A row and EMPTY take that long for three channels at least.
    assert_in_range(stale, 6, 20);
    assert_int_equal(late_units(1u << TL_SMPM_M_STALE, &stale), 1011); // the mutation is noticed
    assert_int_equal(stale, 0);
}

//  ---- F-06

static void test_f06_safe_drops_a_record_with_any_one_bit_flipped(void **state) {
    (void)state;
    for (uint32_t bit = 1; bit <= 256; bit++) {
        setting s = {.kind = TL_SMPM_FLIP_RECORD, .index = 1, .answer = bit, .from = 1, .until = UINT64_MAX, .only = 1};
        tl_smpm_config c = rig_config(TL_SMPM_SAFE, 9, 6, 60, 1);
        c.tb_period = 1024;
        tl_smpm *m = open_setting(&s, c, 1, 1, true);
        tl_smpm_run(m, 2600);
        tl_smpm_counters counters;
        tl_smpm_counters_get(m, &counters);
        assert_int_equal(counters.bad_records, 1);
        assert_int_equal(s.n_fates[TL_SMPM_BROKEN], 1);
        assert_int_equal(flags_of(m, 1, 0), TL_SMPM_LOSSY);
        assert_int_equal(ctr_of(m, 1, 0), 1020); // the first row 0 is lost as a whole: 960 of 1980
        rig_close(&s.r);
    }
}

static void test_f06_literal_counts_a_record_without_a_route_as_unassigned(void **state) {
    (void)state;
    // Bit 3 + 7 of ccu_id names no such CCU. Bit 11 + 8 of the row names no such row.
    for (uint32_t channel = 0; channel < 2; channel++) {
        for (uint32_t bit = 11; bit <= 20; bit += 9) {
            setting s = {.kind = TL_SMPM_FLIP_RECORD, .index = channel, .answer = bit, .from = 1, .until = UINT64_MAX, .only = 1};
            tl_smpm_config c = rig_config(TL_SMPM_LITERAL, 1, 6, 50, 1);
            c.tb_period = 1024;
            tl_smpm *m = open_setting(&s, c, 2, 1, true);
            tl_smpm_run(m, 6000);
            tl_smpm_counters counters;
            tl_smpm_counters_get(m, &counters);
            assert_int_equal(counters.misroutes, 1);
            assert_int_equal(counters.foreign, 0);
            rig_close(&s.r);
        }
    }
}

//  ---- F-08

static void test_f08_full_fifos_hold_drains_back_and_lose_nothing(void **state) {
    (void)state;
    for (tl_smpm_profile profile = TL_SMPM_SAFE; profile <= TL_SMPM_LITERAL; profile++) {
        trial *t = calloc(1, sizeof *t);
        t->n_partitions = 3;
        t->n_units = 2;
        t->is_each_cycle_checked = true;
        t->r.config.rcb_depth = 1;
        trial_open(t, profile, 21, 0);
        trial_run(t, 60);
        print_fails(t);
        assert_int_equal(n_fails(t), 0);
        rig_close(&t->r);
        free(t);
    }
}

//  ---- F-10

static void test_f10_a_context_cannot_be_freed_before_its_commit(void **state) {
    (void)state;
    setting s = {0};
    tl_smpm *m = open_setting(&s, rig_config(TL_SMPM_SAFE, 1, 6, 50, 1), 1, 1, true);
    tl_smpm_run(m, 500);
    MUST(tl_smpm_switch_to(m, 0, 1, 1, &err));
    tl_smpm_switched sw = {.step = TL_SMPM_CS2};
    for (; sw.step != 6; tl_smpm_switched_get(m, 0, &sw))
        tl_smpm_run(m, tl_smpm_now(m) + 1);
    tl_error why;
    assert_int_equal(tl_smpm_ctx_free(m, 1, 0, &why), TL_EINVAL);
    assert_int_equal(tl_smpm_vm_free(m, 1, &why), TL_EINVAL);
    run_switch(m, 0, 10000);
    assert_int_equal(ctr_of(m, 1, 0), 511); // a frame begins in cycle 500 and takes 11 cycles
    uint64_t gen = tl_smpm_words_of(m, tl_smpm_block_of(m, 1, 0))[2];
    uint32_t block = tl_smpm_block_of(m, 1, 0);
    MUST(tl_smpm_ctx_free(m, 1, 0, &err));
    assert_int_equal(tl_smpm_block_of(m, 1, 0), TL_SMPM_NO_BLOCK_ID);
    for (uint32_t i = 0; i < m->n_block_words; i++) // F-15: erased, and gen goes on
        assert_true(i == 2 ? tl_smpm_words_of(m, block)[i] > gen : tl_smpm_words_of(m, block)[i] == 0);
    rig_close(&s.r);
}

static void test_retired_keeps_what_destroyed_vms_counted(void **state) {
    (void)state;
    setting s = {0};
    tl_smpm *m = open_setting(&s, rig_config(TL_SMPM_SAFE, 1, 6, 50, 1), 1, 1, true);
    tl_smpm_run(m, 500);
    MUST(tl_smpm_switch_to(m, 0, TL_SMPM_NO_VM, 0, &err));
    run_switch(m, 0, 10000);
    tl_smpm_run(m, 60000);
    uint64_t all = vm0_word(m, TL_SMPM_CTR, 0);
    MUST(tl_smpm_vm_free(m, 1, &err));
    assert_int_equal(all, 511);
    assert_int_equal(vm0_word(m, TL_SMPM_RETIRED, 0), 511);
    assert_int_equal(vm0_word(m, TL_SMPM_CTR, 0), 511);
    rig_close(&s.r);
}

//  ---- F-11, F-12

// Frame START in cycle 50, six data bits, OVF, FINAL, parity, END in 60. Each bit of it is flipped
// once.
static void test_f11_a_broken_frame_is_dropped_whole(void **state) {
    (void)state;
    for (uint64_t cycle = 50; cycle <= 60; cycle++)
        for (uint32_t bit = 1; bit <= 2; bit++) { // data wire, mark
            setting s = {.kind = TL_SMPM_FLIP_WIRE, .index = 0, .answer = bit, .from = cycle, .until = cycle + 1};
            tl_smpm_config c = rig_config(TL_SMPM_SAFE, 1, 6, 50, 1);
            c.tb_period = 1024;
            tl_smpm *m = open_setting(&s, c, 1, 1, true);
            tl_smpm_run(m, 1300);
            tl_smpm_counters counters;
            tl_smpm_counters_get(m, &counters);
            assert_in_range(counters.bad_frames, 1, 2);
            assert_int_equal(flags_of(m, 1, 0), TL_SMPM_LOSSY);
            uint64_t value = ctr_of(m, 1, 0);
            if (value != 950 && value != 900)
                fail_msg("cycle %llu, bit %u: %llu is neither 19 nor 18 of 20 windows", (unsigned long long)cycle, bit,
                         (unsigned long long)value);
            rig_close(&s.r);
        }
}

static void test_f12_a_frame_ends_before_the_final_one_begins(void **state) {
    (void)state;
    for (int is_reference = 0; is_reference < 2; is_reference++)
        for (uint64_t asked = 48; asked < 62; asked++) {
            setting s = {0};
            tl_smpm *m = open_setting(&s, rig_config(TL_SMPM_SAFE, 1, 6, 50, 1), 1, 1, is_reference);
            tl_smpm_run(m, asked);
            MUST(tl_smpm_switch_to(m, 0, 1, 1, &err));
            tl_smpm_run(m, 90);
            // The frame is in 50..60.
            uint64_t fall = asked + 1, final = fall <= 50 ? fall : fall <= 60 ? 61 : fall;
            uint32_t n = fall <= 50 ? 1 : 2;
            assert_int_equal(s.n_frames, n);
            assert_true(s.frames[n - 1].is_final);
            assert_int_equal(s.frames[n - 1].start, final);
            assert_int_equal(s.frames[n - 1].values[0], n == 1 ? final : final - 50);
            rig_close(&s.r);
        }
}

//  ---- F-20, F-21

// The shared unit's events belong to vm 100, ctx 40.
static void tagged(rig *r, uint32_t ulc, uint64_t cycle, tl_smpm_inputs *ret_inputs) {
    trial *t = r->user;
    if (t->r.layout.ulcs[ulc].partition != TL_SMPM_SHARED || cycle < 3000 || cycle >= 5000)
        return;
    if (t->r.layout.ulcs[ulc].filter.kind == TL_SMPM_FILTER_ALL ||
        tl_smpm_filter_of(r->model, t->r.layout.ulcs[ulc].unit, 100, 40, 0) == ulc)
        ret_inputs->bits = 1;
}

static void check_late(tl_smpm_profile profile, bool has_filter) {
    trial *t = calloc(1, sizeof *t);
    t->n_partitions = 1;
    t->n_units = 1;
    t->n_shared = 2;
    trial_open(t, profile, 5, 0);
    t->r.inputs = tagged;
    tl_smpm *m = t->r.model;
    if (!has_filter) {
        tl_smpm_filter filter = {.kind = TL_SMPM_FILTER_FREE};
        tl_smpm_route route = {.target = TL_SMPM_TO_FIXED, .channel = 1, .to_d = true};
        MUST(tl_smpm_filter_set(m, 1, &filter, &route, &err));
    }
    tl_smpm_run(m, 10);
    MUST(tl_smpm_switch_to(m, 0, 100, 41, &err)); // away from context 40 before its traffic comes
    run_switch(m, 0, 100000);
    m->plan.host.ctx = &t->r;
    uint64_t index = tl_smpm_ctr_index(&t->r.config, 1, 0);
    uint64_t begun = tl_smpm_now(m);
    assert_true(begun < 3000 || profile == TL_SMPM_SAFE);
    tl_smpm_run(m, begun + 60000);
    uint64_t total = vm0_word(m, TL_SMPM_CTR, (uint32_t)index);
    uint64_t ctr = word_of(m, 100, 40, TL_SMPM_CTR, (uint32_t)index), late = word_of(m, 100, 40, TL_SMPM_LATE, (uint32_t)index);
    assert_int_equal(total, 2000);
    assert_int_equal(ctr + late, profile == TL_SMPM_SAFE ? 2000 : 0);
    assert_int_equal(vm0_word(m, TL_SMPM_UNASSIGNED, (uint32_t)index), profile == TL_SMPM_SAFE ? 0 : 2000);
    assert_int_equal(word_of(m, 100, 41, TL_SMPM_CTR, (uint32_t)index), 0);
    if (profile == TL_SMPM_SAFE)
        assert_true(late > 0);
    rig_close(&t->r);
    free(t);
}

static void test_f20_late_traffic_reaches_its_own_context(void **state) {
    (void)state;
    check_late(TL_SMPM_SAFE, true);
    check_late(TL_SMPM_LITERAL, true);
}

static void test_f21_without_a_filter_a_context_reads_unavailable_and_the_rest_counts(void **state) {
    (void)state;
    trial *t = calloc(1, sizeof *t);
    t->n_partitions = 1;
    t->n_units = 1;
    t->n_shared = 1; // of vm 100, ctx 40 alone
    trial_open(t, TL_SMPM_SAFE, 5, 0);
    tl_smpm *m = t->r.model;
    uint32_t shared = t->r.layout.ulcs[t->r.layout.n_ulcs - 2].unit, rest = t->r.layout.n_ulcs - 3;
    assert_int_equal(tl_smpm_filter_of(m, shared, 100, 40, 3), rest - 1);
    assert_int_equal(tl_smpm_filter_of(m, shared, 100, 41, 3), rest);
    assert_int_equal(tl_smpm_filter_of(m, shared, 100, TL_SMPM_CTX_SWITCH, 3), rest + 1);
    tl_smpm_block view;
    uint32_t n_words, index = tl_smpm_ctr_index(&t->r.config, 1, 0);
    const uint64_t *words = tl_smpm_block_words(m, tl_smpm_block_of(m, 100, 41), &n_words);
    MUST(tl_smpm_block_decode(words, n_words, &view, &err));
    assert_true(tl_smpm_block_value(&view, TL_SMPM_CTR, index).flags & TL_SMPM_UNAVAILABLE);
    words = tl_smpm_block_words(m, tl_smpm_block_of(m, 100, 40), &n_words);
    MUST(tl_smpm_block_decode(words, n_words, &view, &err));
    assert_int_equal(tl_smpm_block_value(&view, TL_SMPM_CTR, index).flags, 0);
    // K20: it would count twice.
    tl_smpm_filter filter = {.kind = TL_SMPM_FILTER_MATCH, .vm = 100, .ctx = 40, .engine = 3};
    tl_smpm_route route = {.target = TL_SMPM_TO_FIXED, .channel = 1, .to_d = true};
    tl_error why;
    MUST(tl_smpm_filter_set(m, rest, &(tl_smpm_filter){.kind = TL_SMPM_FILTER_FREE}, &route, &err));
    tl_smpm_run(m, 3 * t->r.config.tb_period);
    assert_int_equal(tl_smpm_filter_set(m, rest, &filter, &route, &why), TL_EINVAL);
    rig_close(&t->r);
    free(t);
}

// A flush for one partition folds all other rows back. The mark of a dropped frame stays with them.
static void test_f01_a_flush_for_one_partition_keeps_lossy_for_the_others(void **state) {
    (void)state;
    trial *t = calloc(1, sizeof *t);
    setting s = {.kind = TL_SMPM_FLIP_WIRE, .answer = 1};
    t->n_partitions = 2;
    t->n_units = 1;
    t->n_shared = TRIAL_TENANTS + 1; // all tenants of partition 0, one of partition 1
    t->has_no_provenance = true;
    trial_open(t, TL_SMPM_SAFE, 5, 0);
    tl_smpm *m = t->r.model;
    tl_smpm_counters counters;
    m->plan.test = (tl_smpm_test){.ctx = &s, .fault = fault_of};
    s.index = t->r.layout.n_ulcs - 1; // of the shared CCU
    const uint64_t period = t->r.config.tb_period;
    // The cycle lies between two pulses of the shared units.
    uint64_t slot = 2 * t->r.config.shared_slot;
    while (slot % period < 1000 || slot % period > period - 3000)
        slot += 2 * t->r.config.shared_slot;
    s.from = (slot - 320) / t->r.config.ulc_period * t->r.config.ulc_period + t->r.config.ulc_period / 2;
    s.until = s.from + 1; // within a frame
    tl_smpm_run(m, slot - 200);
    tl_smpm_counters_get(m, &counters);
    assert_int_equal(counters.bad_frames, 1);
    const uint32_t theirs = tenant_of(1, 0, 0);
    MUST(tl_smpm_switch_to(m, 0, vm_id(0), ctx_id(1), &err));
    run_switch(m, 0, 20000);
    assert_true(tl_smpm_now(m) / period == slot / period); // no pulse came between
    assert_true(flags_of(m, vm_id(0), ctx_id(0)) & TL_SMPM_LOSSY);
    assert_false(flags_of(m, vm_id(theirs), ctx_id(theirs)) & TL_SMPM_LOSSY);
    tl_smpm_counters_get(m, &counters);
    assert_int_equal(counters.lossy_epochs, 1);
    tl_smpm_run(m, tl_smpm_now(m) + period + 4000);
    assert_true(flags_of(m, vm_id(theirs), ctx_id(theirs)) & TL_SMPM_LOSSY);
    assert_true(flags_of(m, vm_id(theirs), TL_SMPM_NO_CTX) & TL_SMPM_LOSSY);
    tl_smpm_counters_get(m, &counters);
    assert_int_equal(counters.lossy_epochs, 2);
    rig_close(&t->r);
    free(t);
}

//  ---- F-22

static void test_f22_a_slow_manager_is_exact_in_safe_and_flagged_in_literal(void **state) {
    (void)state;
    for (tl_smpm_profile profile = TL_SMPM_SAFE; profile <= TL_SMPM_LITERAL; profile++) {
        setting s = {.kind = TL_SMPM_STALL_MANAGER, .index = 0, .answer = 1, .from = 1002, .until = 1300};
        tl_smpm *m = open_setting(&s, rig_config(profile, 1, 6, 63, 1), 1, 1, true);
        tl_smpm_run(m, 1000);
        MUST(tl_smpm_switch_to(m, 0, 1, 1, &err));
        run_switch(m, 0, 10000);
        if (profile == TL_SMPM_SAFE)
            assert_int_equal(ctr_of(m, 1, 0), 1001);
        else
            assert_int_equal(ctr_of(m, 1, 0), 15 * 63 + 63); // the last window holds its maximum
        assert_int_equal(flags_of(m, 1, 0), profile == TL_SMPM_SAFE ? 0 : TL_SMPM_OVF | TL_SMPM_SATURATED);
        rig_close(&s.r);
    }
}

//  ---- F-23

static void test_f23_a_restored_checkpoint_continues_identically(void **state) {
    (void)state;
    for (tl_smpm_profile profile = TL_SMPM_SAFE; profile <= TL_SMPM_LITERAL; profile++)
        for (int is_reference = 0; is_reference < 2; is_reference++) {
            // The cycle falls into frames, drains, commits and every step.
            for (uint64_t at = 990; at < 1600; at += 7) {
                setting a = {.r.inputs = NULL}, b = {.r.inputs = NULL};
                tl_smpm_config c = rig_config(profile, 9, 6, 63, 1);
                c.tb_period = 1024;
                setting *both[] = {&a, &b};
                for (uint32_t i = 0; i < 2; i++) {
                    tl_smpm *m = open_setting(both[i], c, 2, 2, is_reference);
                    if (i == 1) {
                        size_t n_bytes;
                        const void *state_of_a = tl_smpm_state(a.r.model, &n_bytes);
                        memcpy(tl_smpm_state(m, &n_bytes), state_of_a, n_bytes);
                        break;
                    }
                    tl_smpm_run(m, tl_lesser(at, 1000));
                    if (at >= 1000)
                        MUST(tl_smpm_switch_to(m, 0, 1, 1, &err));
                    tl_smpm_run(m, at);
                }
                tl_smpm_run(a.r.model, 5000);
                tl_smpm_run(b.r.model, 5000);
                size_t n_bytes;
                const void *state_of_a = tl_smpm_state(a.r.model, &n_bytes), *state_of_b = tl_smpm_state(b.r.model, &n_bytes);
                assert_memory_equal(state_of_a, state_of_b, n_bytes);
                rig_close(&a.r);
                rig_close(&b.r);
            }
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_f02_a_long_epoch_saturates_with_ovf_and_thr_prevents_it),
    cmocka_unit_test(test_f02_a_drain_in_one_lump_carries_ovf_to_each_block),
    cmocka_unit_test(test_f03_a_window_shorter_than_a_frame_is_refused),
    cmocka_unit_test(test_f04_the_next_pulse_carries_what_a_lost_one_left),
    cmocka_unit_test(test_f05_a_mute_ccu_makes_the_block_lossy_and_the_next_context_clean),
    cmocka_unit_test(test_f05_records_older_than_the_last_accepted_flush_are_dropped),
    cmocka_unit_test(test_f06_safe_drops_a_record_with_any_one_bit_flipped),
    cmocka_unit_test(test_f06_literal_counts_a_record_without_a_route_as_unassigned),
    cmocka_unit_test(test_f08_full_fifos_hold_drains_back_and_lose_nothing),
    cmocka_unit_test(test_f10_a_context_cannot_be_freed_before_its_commit),
    cmocka_unit_test(test_retired_keeps_what_destroyed_vms_counted),
    cmocka_unit_test(test_f11_a_broken_frame_is_dropped_whole),
    cmocka_unit_test(test_f12_a_frame_ends_before_the_final_one_begins),
    cmocka_unit_test(test_f20_late_traffic_reaches_its_own_context),
    cmocka_unit_test(test_f01_a_flush_for_one_partition_keeps_lossy_for_the_others),
    cmocka_unit_test(test_f21_without_a_filter_a_context_reads_unavailable_and_the_rest_counts),
    cmocka_unit_test(test_f22_a_slow_manager_is_exact_in_safe_and_flagged_in_literal),
    cmocka_unit_test(test_f23_a_restored_checkpoint_continues_identically),
};
TL_TEST_MAIN(tests)
