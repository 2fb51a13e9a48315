// SPDX-License-Identifier: MIT
// tl_memory_flush leaves nothing but the bytes in RAM. The expected counts are those of a set
// of lines kept here: which were used, and which of them were written.
#include "mem/test_rig.h"

enum { N_HARTS = 2, N_LINES = 16, LINE_BYTES = 64 }; // as many lines as the L2 holds

typedef struct fixture {
    tl_rig rig;
    uint64_t *l2, *channel;
    uint64_t time;
    bool is_used[N_LINES], is_written[N_LINES];
} fixture;

static uint64_t address_of(uint32_t line) { return tl_rig_paddr(0x4000 + line * (uint64_t)LINE_BYTES); }

typedef struct variant {
    tl_l2_fill l2_fill;
    tl_replacement replacement;
} variant;

static const variant variants[] = {
    {TL_FILL_MISS, TL_REPLACE_LRU}, {TL_FILL_MISS, TL_REPLACE_RANDOM}, {TL_FILL_EVICT, TL_REPLACE_LRU}, {TL_FILL_EVICT, TL_REPLACE_RANDOM}};

static void start(fixture *f, const variant *of) {
    tl_config config = tl_rig_config();
    *f = (fixture){.time = 0};
    config.n_harts = N_HARTS;
    config.l2_fill = of->l2_fill;
    config.l1i.ways = config.l1d.ways = 2;
    config.l1i.replacement = config.l1d.replacement = config.l2.replacement = of->replacement;
    config.itlb.replacement = config.dtlb.replacement = config.l2tlb.replacement = of->replacement;
    tl_rig_start(&f->rig, &config);
    f->l2 = f->rig.shared_tally[0];
    f->channel = f->rig.shared_tally[2];
}

static uint32_t n_of(const bool *set) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_LINES; i++)
        n += set[i];
    return n;
}

static void use(fixture *f, uint32_t hart, uint32_t line, bool is_store) {
    tl_hart *h = f->rig.harts[hart];
    h->now = f->time += 1000;
    assert_true(is_store ? tl_rig_store(h, address_of(line), 8, line + 1) : tl_rig_load(h, address_of(line), 8));
    f->is_used[line] = true;
    f->is_written[line] |= is_store;
}

static void flush(fixture *f) { tl_memory_flush(f->rig.memory, f->time += 1000); }

static void expect_identities(const fixture *f) {
    tl_error err;
    if (tl_memory_check_identities(f->rig.memory, &err) != TL_OK)
        fail_msg("%s", err.text);
}

static void expect_nothing_left(const variant *of) {
    uint64_t random = 5;
    for (uint32_t round = 0; round < 50; round++) {
        fixture f;
        start(&f, of);
        for (uint32_t i = 0; i < 1 + round; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            use(&f, random >> 60 & 1, random >> 40 & (N_LINES - 1), random >> 33 & 1);
        }
        for (uint32_t i = 0; i < round % 4; i++)
            assert_true(tl_rig_fetch(f.rig.harts[i % N_HARTS], address_of(i)));
        flush(&f);
        assert_int_equal(f.channel[TL_MEM_WRITE], n_of(f.is_written));
        assert_int_equal(f.l2[TL_L2_EVICT_DIRTY], n_of(f.is_written));
        for (uint32_t line = 0; line < N_LINES; line++)
            for (uint32_t hart = 0; hart < N_HARTS; hart++)
                assert_int_equal(tl_memory_l1d_state(f.rig.memory, hart, address_of(line)), 'I');
        expect_identities(&f);
        const uint64_t n_writes = f.channel[TL_MEM_WRITE], n_clean = f.l2[TL_L2_EVICT_CLEAN];
        flush(&f); // nothing is left
        assert_true(f.channel[TL_MEM_WRITE] == n_writes && f.l2[TL_L2_EVICT_CLEAN] == n_clean);
        tl_rig_stop(&f.rig);
    }
}

static void test_changed_lines_reach_memory_and_others_go(void **state) {
    (void)state;
    for (size_t i = 0; i < TL_COUNT_OF(variants); i++)
        expect_nothing_left(&variants[i]);
}

// Two different pasts, one future: each later access takes as long, and counts as much.
static void expect_no_past(const variant *of) {
    uint64_t times[2][20 * N_LINES], counts[2][4];
    for (uint32_t past = 0; past < 2; past++) {
        fixture f;
        uint32_t n = 0;
        start(&f, of);
        for (uint32_t i = 0; past == 1 && i < 41; i++)
            use(&f, i % N_HARTS, i * 7 % N_LINES, i % 3 == 0);
        if (past == 1)
            assert_true(tl_rig_fetch(f.rig.harts[0], address_of(2)));
        f.time = 100000;
        flush(&f);
        const uint64_t before[4] = {f.l2[TL_L2_READMISS], f.channel[TL_MEM_ROW_HIT], f.channel[TL_MEM_ROW_MISS],
                                    f.channel[TL_MEM_ROW_CONFLICT]};
        f.time = 200000;
        uint64_t random = 7;
        for (uint32_t i = 0; i < 20 * N_LINES; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            const uint32_t hart = random >> 60 & 1;
            tl_hart *h = f.rig.harts[hart];
            use(&f, hart, random >> 40 & (N_LINES - 1), random >> 33 & 1);
            times[past][n++] = h->now - f.time;
        }
        assert_true(tl_rig_fetch(f.rig.harts[0], address_of(2)));
        const uint64_t after[4] = {f.l2[TL_L2_READMISS], f.channel[TL_MEM_ROW_HIT], f.channel[TL_MEM_ROW_MISS],
                                   f.channel[TL_MEM_ROW_CONFLICT]};
        for (uint32_t i = 0; i < 4; i++)
            counts[past][i] = after[i] - before[i];
        expect_identities(&f);
        tl_rig_stop(&f.rig);
    }
    assert_memory_equal(times[0], times[1], sizeof times[0]);
    assert_memory_equal(counts[0], counts[1], sizeof counts[0]);
    assert_int_equal(times[0][0], 11 + 200); // the L2 has no line, the bank no row
}

static void test_the_past_does_not_show_in_time_or_counts(void **state) {
    (void)state;
    for (size_t i = 0; i < TL_COUNT_OF(variants); i++)
        expect_no_past(&variants[i]);
}

// 16 lines of 7 cycles on one channel. Two data caches of 4 lines may have 8 more.
static void test_channels_are_free_after_the_time_of_a_flush(void **state) {
    (void)state;
    fixture f;
    start(&f, &variants[2]);
    assert_true(tl_memory_flush_cycles(&f.rig.config) == (16 + 8) * 7);
    tl_rig_stop(&f.rig);
    start(&f, &variants[0]);
    assert_true(tl_memory_flush_cycles(&f.rig.config) == 16 * 7);
    for (uint32_t line = 0; line < N_LINES; line++)
        use(&f, 0, line, true);
    flush(&f);
    const uint64_t begin = f.time;
    tl_hart *h = f.rig.harts[1];
    f.time = begin + 16 * 7 - 1000;
    use(&f, 1, 3, false);
    assert_int_equal(h->now - f.time, 11 + 200); // rows are closed, and nobody waits
    tl_rig_stop(&f.rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_changed_lines_reach_memory_and_others_go),
    cmocka_unit_test(test_the_past_does_not_show_in_time_or_counts),
    cmocka_unit_test(test_channels_are_free_after_the_time_of_a_flush),
};
TL_TEST_MAIN(tests)
