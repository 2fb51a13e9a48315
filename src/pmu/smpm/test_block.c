// SPDX-License-Identifier: MIT
// Blocks: layout against offsets of the specification, coherent copies against a racing writer
// (F-14), zeroing and birth (F-15), flags with every value.
#include "base/testing.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "pmu/smpm/block.h"
#include "pmu/smpm/test_tear.h"

enum { N = 70 }; // a bitmap of two words

static const tl_smpm_shape ctx_shape = {
    .kind = TL_SMPM_CTX,
    .vm = 3,
    .ctx = 9,
    .n = N,
    .parts = TL_SMPM_PART_BIT(TL_SMPM_LATE) | TL_SMPM_PART_BIT(TL_SMPM_BITMAP),
};

static void commit(uint64_t *words, tl_smpm_part part, uint32_t index, uint64_t units, uint64_t t_commit) {
    tl_smpm_block_begin(words);
    tl_smpm_block_add(words, part, index, units);
    tl_smpm_block_end(words, t_commit);
}

static void assert_value(tl_smpm_value value, uint64_t count, uint32_t flags) {
    assert_int_equal(value.count, count);
    assert_int_equal(value.flags, flags);
}

static void test_literal_block_has_the_layout_of_section_10(void **state) {
    (void)state;
    uint64_t words[8 + 2] = {0};
    const tl_smpm_shape shape = {.kind = TL_SMPM_VM, .vm = 0x01020304, .ctx = TL_SMPM_NO_CTX, .n = 2};
    assert_int_equal(tl_smpm_block_n_words(2, 0), 10);
    tl_smpm_block_format(words, &shape);
    tl_smpm_block_set_available(words, 0, true);
    tl_smpm_block_begin(words);
    tl_smpm_block_add(words, TL_SMPM_CTR, 1, 0x1122334455667788);
    tl_smpm_block_add_active(words, 7);
    tl_smpm_block_set_flags(words, TL_SMPM_LOSSY);
    tl_smpm_block_end(words, 0xabcd);
    const uint8_t expected[80] = {
        // Magic, version, kind, vm, ctx.
        'S',
        'M',
        'P',
        'M',
        1,
        0,
        1,
        0,
        4,
        3,
        2,
        1,
        0xff,
        0xff,
        0xff,
        0xff,
        // gen and t_commit.
        4,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0xcd,
        0xab,
        0,
        0,
        0,
        0,
        0,
        0,
        // t_active, n and flags.
        7,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        2,
        0,
        0,
        0,
        2,
        0,
        0,
        0,
        // late is 1, no parts, born at gen 1.
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0x88,
        0x77,
        0x66,
        0x55,
        0x44,
        0x33,
        0x22,
        0x11,
    };
    assert_memory_equal(words, expected, sizeof expected);
}

static void test_parts_follow_in_the_order_of_their_bits(void **state) {
    (void)state;
    uint32_t parts = tl_smpm_safe_parts(TL_SMPM_VM0);
    assert_int_equal(tl_smpm_block_part_at(N, parts, TL_SMPM_CTR), 8);
    assert_int_equal(tl_smpm_block_part_at(N, parts, TL_SMPM_LATE), 0);
    assert_int_equal(tl_smpm_block_part_at(N, parts, TL_SMPM_NOCTX), 8 + N);
    assert_int_equal(tl_smpm_block_part_at(N, parts, TL_SMPM_UNASSIGNED), 8 + 2 * N);
    assert_int_equal(tl_smpm_block_part_at(N, parts, TL_SMPM_SWITCH), 8 + 3 * N);
    assert_int_equal(tl_smpm_block_part_at(N, parts, TL_SMPM_RETIRED), 8 + 4 * N);
    assert_int_equal(tl_smpm_block_part_at(N, parts, TL_SMPM_BITMAP), 8 + 5 * N);
    assert_int_equal(tl_smpm_block_n_words(N, parts), 8 + 5 * N + 2);
    assert_int_equal(tl_smpm_block_n_words(64, parts), 8 + 5 * 64 + 1);
    uint64_t words[8 + 5 * N + 2] = {0};
    tl_smpm_block_format(words, &(tl_smpm_shape){.kind = TL_SMPM_VM0, .ctx = TL_SMPM_NO_CTX, .n = N, .parts = parts});
    tl_smpm_block_set_available(words, 69, true);
    for (tl_smpm_part part = TL_SMPM_NOCTX; part <= TL_SMPM_RETIRED; part++)
        commit(words, part, 69, 100u + (unsigned)part, 1);
    tl_smpm_block block;
    assert_int_equal(tl_smpm_block_decode(words, sizeof words / 8, &block, NULL), TL_OK);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_CTR, 69), 0, 0);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_LATE, 69), 0, TL_SMPM_UNAVAILABLE);
    for (tl_smpm_part part = TL_SMPM_NOCTX; part <= TL_SMPM_RETIRED; part++)
        assert_value(tl_smpm_block_value(&block, part, 69), 100u + (unsigned)part, 0);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_BITMAP, 0), 0, TL_SMPM_UNAVAILABLE);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_N_PARTS, 0), 0, TL_SMPM_UNAVAILABLE);
}

static void test_kinds_have_their_parts_only(void **state) {
    (void)state;
    const struct {
        tl_smpm_shape shape;
        tl_status status;
    } rows[] = {
        {{TL_SMPM_VM0, 0, TL_SMPM_NO_CTX, 1, 0x3e}, TL_OK},
        {{TL_SMPM_VM0, 0, TL_SMPM_NO_CTX, 1, 0x01}, TL_EINVAL}, // LATE
        {{TL_SMPM_VM0, 1, TL_SMPM_NO_CTX, 1, 0}, TL_EINVAL},
        {{TL_SMPM_VM0, 0, 0, 1, 0}, TL_EINVAL},
        {{TL_SMPM_VM, 1, TL_SMPM_NO_CTX, 1, 0x23}, TL_OK},
        {{TL_SMPM_VM, 1, TL_SMPM_NO_CTX, 1, 0x04}, TL_EINVAL}, // UNASSIGNED
        {{TL_SMPM_VM, 1, 2, 1, 0}, TL_EINVAL},
        {{TL_SMPM_CTX, 1, 0, 1, 0x21}, TL_OK},
        {{TL_SMPM_CTX, 1, TL_SMPM_NO_CTX, 1, 0x21}, TL_EINVAL},
        {{TL_SMPM_CTX, 1, 0, 1, 0x02}, TL_EINVAL},
        {{TL_SMPM_CTX, 1, 0, 0, 0}, TL_EINVAL},
        {{TL_SMPM_CTX, 1, 0, TL_SMPM_MAX_METRICS, 0}, TL_OK},
        {{TL_SMPM_CTX, 1, 0, TL_SMPM_MAX_METRICS + 1, 0}, TL_EINVAL},
        {{TL_SMPM_DEV, 0, TL_SMPM_NO_CTX, 504, 0}, TL_OK}, // K5: 504 values in 4 KiB
        {{TL_SMPM_DEV, 0, TL_SMPM_NO_CTX, 505, 0}, TL_EINVAL},
        {{TL_SMPM_DEV, 0, TL_SMPM_NO_CTX, 496, 0x20}, TL_OK},
        {{TL_SMPM_DEV, 0, TL_SMPM_NO_CTX, 497, 0x20}, TL_EINVAL},
        {{TL_SMPM_DEV, 1, TL_SMPM_NO_CTX, 1, 0}, TL_EINVAL},
        {{TL_SMPM_N_KINDS, 0, TL_SMPM_NO_CTX, 1, 0}, TL_EINVAL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_error err = {0};
        assert_int_equal(tl_smpm_shape_check(&rows[i].shape, &err), rows[i].status);
        assert_int_equal(err.text[0] != '\0', rows[i].status != TL_OK);
    }
}

static void test_metrics_are_unavailable_until_routed(void **state) {
    (void)state;
    uint64_t words[8 + 2 * N + 2] = {0};
    tl_smpm_block_format(words, &ctx_shape);
    tl_smpm_block_set_available(words, 65, true);
    commit(words, TL_SMPM_CTR, 65, 41, 1);
    commit(words, TL_SMPM_CTR, 64, 43, 2); // counted, but nobody may see it
    tl_smpm_block block;
    assert_int_equal(tl_smpm_block_decode(words, sizeof words / 8, &block, NULL), TL_OK);
    for (uint32_t i = 0; i < N + 2; i++)
        assert_value(tl_smpm_block_value(&block, TL_SMPM_CTR, i), i == 65 ? 41 : 0, i == 65 ? 0 : TL_SMPM_UNAVAILABLE);
    tl_smpm_block_set_available(words, 65, false);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_CTR, 65), 0, TL_SMPM_UNAVAILABLE);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_LATE, 65), 0, TL_SMPM_UNAVAILABLE);
}

static void test_block_without_bitmap_is_unavailable_as_a_whole(void **state) {
    (void)state;
    uint64_t words[8 + 2] = {0};
    tl_smpm_block block;
    tl_smpm_block_format(words, &(tl_smpm_shape){.kind = TL_SMPM_VM, .vm = 1, .ctx = TL_SMPM_NO_CTX, .n = 2});
    commit(words, TL_SMPM_CTR, 0, 5, 1);
    assert_int_equal(tl_smpm_block_decode(words, 10, &block, NULL), TL_OK);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_CTR, 0), 0, TL_SMPM_UNAVAILABLE);
    tl_smpm_block_set_available(words, 1, true);
    assert_int_equal(tl_smpm_block_decode(words, 10, &block, NULL), TL_OK);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_CTR, 0), 5, 0);
}

static void test_late_units_leave_ctr_alone(void **state) {
    (void)state;
    uint64_t words[8 + 2 * N + 2] = {0};
    tl_smpm_block block;
    tl_smpm_block_format(words, &ctx_shape);
    tl_smpm_block_set_available(words, 0, true);
    tl_smpm_block_set_available(words, 1, true);
    commit(words, TL_SMPM_CTR, 0, 100, 1);
    commit(words, TL_SMPM_LATE, 0, 7, 2);
    commit(words, TL_SMPM_LATE, 1, 11, 3);
    assert_int_equal(tl_smpm_block_decode(words, sizeof words / 8, &block, NULL), TL_OK);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_CTR, 0), 100, 0);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_CTR, 1), 0, 0);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_LATE, 0), 7, 0);
    assert_value(tl_smpm_block_value(&block, TL_SMPM_LATE, 1), 11, 0);
    assert_int_equal(block.late, 18);
    assert_int_equal(block.gen, 2 * 4); // the format and three commits
    assert_int_equal(block.t_commit, 3);
}

static void test_damaged_header_is_refused(void **state) {
    (void)state;
    uint64_t good[8 + 2 * N + 2] = {0}, bad[8 + 2 * N + 2], copy[8 + 2 * N + 2];
    tl_smpm_block block;
    tl_smpm_block_format(good, &ctx_shape);
    assert_int_equal(tl_smpm_block_decode(good, sizeof good / 8, &block, NULL), TL_OK);
    const struct {
        unsigned word;
        uint64_t flip;
    } rows[] = {
        {0, 1},          // magic
        {0, 3ull << 32}, // version 2
        {0, 1ull << 48}, // kind 3 with parts of a context
        {0, 4ull << 48}, // kind 6
        {2, 1},          // torn
        {5, 64},         // n of 6: has fewer words, but the next row has more
        {5, 128},        // n of 198
        {5, 1ull << 36}, // an unknown flag
        {7, 2},          // part NOCTX in a context
        {7, 1ull << 31}, // unknown part
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_error err = {0};
        memcpy(bad, good, sizeof good);
        bad[rows[i].word] ^= rows[i].flip;
        bool is_shorter = rows[i].word == 5 && rows[i].flip == 64;
        assert_int_equal(tl_smpm_block_decode(bad, sizeof bad / 8, &block, &err), is_shorter ? TL_OK : TL_EFORMAT);
        assert_int_equal(tl_smpm_block_copy(bad, sizeof bad / 8, 3, copy), is_shorter          ? TL_SMPM_COPIED
                                                                           : rows[i].word == 2 ? TL_SMPM_BUSY
                                                                                               : TL_SMPM_NO_BLOCK);
    }
    assert_int_equal(tl_smpm_block_decode(good, sizeof good / 8 - 1, &block, NULL), TL_EFORMAT);
    assert_int_equal(tl_smpm_block_decode(good, 7, &block, NULL), TL_EFORMAT);
    assert_int_equal(tl_smpm_block_copy(good, sizeof good / 8 - 1, 1, copy), TL_SMPM_NO_BLOCK);
    assert_int_equal(tl_smpm_block_copy(good, 7, 1, copy), TL_SMPM_NO_BLOCK);
    assert_int_equal(tl_smpm_block_copy(good, sizeof good / 8, 0, copy), TL_SMPM_BUSY);
}

static void test_differences_are_modular_and_keep_flags(void **state) {
    (void)state;
    uint64_t first[8 + 2 * N + 2] = {0}, last[8 + 2 * N + 2];
    tl_smpm_block_format(first, &ctx_shape);
    tl_smpm_block_set_available(first, 0, true);
    commit(first, TL_SMPM_CTR, 0, UINT64_MAX - 4, 1);
    memcpy(last, first, sizeof last);
    commit(last, TL_SMPM_CTR, 0, 12, 2);
    tl_smpm_block_set_flags(last, TL_SMPM_OVF);
    tl_smpm_block a, b;
    assert_int_equal(tl_smpm_block_decode(first, sizeof first / 8, &a, NULL), TL_OK);
    assert_int_equal(tl_smpm_block_decode(last, sizeof last / 8, &b, NULL), TL_OK);
    assert_value(tl_smpm_block_since(&a, &b, TL_SMPM_CTR, 0), 12, TL_SMPM_OVF);
    assert_value(tl_smpm_block_since(&a, &b, TL_SMPM_CTR, 1), 0, TL_SMPM_OVF | TL_SMPM_UNAVAILABLE);
    // The gen went back.
    assert_value(tl_smpm_block_since(&b, &a, TL_SMPM_CTR, 0), 0, TL_SMPM_OVF | TL_SMPM_UNAVAILABLE);
    tl_smpm_block other = b;
    other.shape.ctx = 8;
    assert_value(tl_smpm_block_since(&a, &other, TL_SMPM_CTR, 0), 0, TL_SMPM_OVF | TL_SMPM_UNAVAILABLE);
    other = b;
    other.shape.vm = 8;
    assert_value(tl_smpm_block_since(&a, &other, TL_SMPM_CTR, 0), 0, TL_SMPM_OVF | TL_SMPM_UNAVAILABLE);
    other = b;
    other.birth++;
    assert_value(tl_smpm_block_since(&a, &other, TL_SMPM_CTR, 0), 0, TL_SMPM_OVF | TL_SMPM_UNAVAILABLE);
    a.t_active = b.t_active + 1;
    assert_value(tl_smpm_block_since(&a, &b, TL_SMPM_CTR, 0), 0, TL_SMPM_OVF | TL_SMPM_UNAVAILABLE);
}

// F-15, L7.
static void test_erased_block_is_zero_and_its_id_is_reborn(void **state) {
    (void)state;
    uint64_t words[8 + 2 * N + 2] = {0}, copy[8 + 2 * N + 2];
    tl_smpm_block before, after;
    tl_smpm_block_format(words, &ctx_shape);
    tl_smpm_block_set_available(words, 0, true);
    commit(words, TL_SMPM_CTR, 0, 5, 1);
    assert_int_equal(tl_smpm_block_copy(words, sizeof words / 8, 1, copy), TL_SMPM_COPIED);
    assert_int_equal(tl_smpm_block_decode(copy, sizeof copy / 8, &before, NULL), TL_OK);
    tl_smpm_block_erase(words, sizeof words / 8);
    for (size_t i = 0; i < sizeof words / 8; i++)
        assert_int_equal(words[i], i == 2 ? 6 : 0);
    uint64_t none[8 + 2 * N + 2];
    assert_int_equal(tl_smpm_block_copy(words, sizeof words / 8, 1, none), TL_SMPM_NO_BLOCK);
    tl_smpm_block_format(words, &ctx_shape);
    tl_smpm_block_set_available(words, 0, true);
    commit(words, TL_SMPM_CTR, 0, 9, 3);
    assert_int_equal(tl_smpm_block_decode(words, sizeof words / 8, &after, NULL), TL_OK);
    assert_int_equal(after.gen, 10);
    assert_value(tl_smpm_block_value(&after, TL_SMPM_CTR, 0), 9, 0);
    assert_value(tl_smpm_block_since(&before, &after, TL_SMPM_CTR, 0), 0, TL_SMPM_UNAVAILABLE);
}

typedef struct race {
    uint64_t words[8 + 2 * N + 2];
    unsigned is_over;
} race;

static void *write_for_ever(void *argument) {
    race *r = argument;
    for (uint64_t round = 1; !__atomic_load_n(&r->is_over, __ATOMIC_RELAXED); round++) {
        tl_smpm_block_begin(r->words);
        for (uint32_t i = 0; i < N; i++)
            tl_smpm_block_add(r->words, TL_SMPM_CTR, i, 1);
        tl_smpm_block_end(r->words, round);
        if (round % 8 == 0)
            sched_yield(); // hosts of one core, too
    }
    return NULL;
}

// F-14. All counters of a commit are equal, and equal t_commit.
static void test_racing_reader_never_sees_half_a_commit(void **state) {
    (void)state;
    static race r;
    uint64_t copy[8 + 2 * N + 2], last = 0;
    tl_smpm_block_format(r.words, &ctx_shape);
    for (uint32_t i = 0; i < N; i++)
        tl_smpm_block_set_available(r.words, i, true);
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_for_ever, &r), 0);
    for (unsigned n_copies = 0; n_copies < 1000;) {
        if (tl_smpm_block_copy(r.words, sizeof r.words / 8, 1000, copy) != TL_SMPM_COPIED) {
            sched_yield();
            continue;
        }
        tl_smpm_block block;
        assert_int_equal(tl_smpm_block_decode(copy, sizeof copy / 8, &block, NULL), TL_OK);
        for (uint32_t i = 0; i < N; i++)
            assert_value(tl_smpm_block_value(&block, TL_SMPM_CTR, i), block.t_commit, 0);
        assert_true(block.t_commit >= last);
        assert_int_equal(block.gen, 2 * (block.t_commit + 1));
        last = block.t_commit;
        n_copies++;
    }
    __atomic_store_n(&r.is_over, 1, __ATOMIC_RELAXED);
    assert_int_equal(pthread_join(writer, NULL), 0);
}

static void test_commit_within_a_copy_makes_it_start_again(void **state) {
    (void)state;
    struct sigaction old, ours;
    uint64_t copy[8 + 2 * N + 2];
    const uint64_t *words = tear_begin(&ctx_shape);
    tear_arm(&old);
    // The only try was torn.
    assert_int_equal(tl_smpm_block_copy(words, sizeof copy / 8, 1, copy), TL_SMPM_BUSY);
    assert_int_equal(tear.n_faults, 1);
    tear_arm(&ours);
    assert_int_equal(tl_smpm_block_copy(words, sizeof copy / 8, 2, copy), TL_SMPM_COPIED);
    tl_smpm_block block;
    assert_int_equal(tl_smpm_block_decode(copy, sizeof copy / 8, &block, NULL), TL_OK);
    for (uint32_t i = 0; i < N; i++)
        assert_value(tl_smpm_block_value(&block, TL_SMPM_CTR, i), 2, 0);
    tear_done(&old);
}

static void test_directory_rows_are_where_the_layout_says(void **state) {
    (void)state;
    const tl_smpm_metric metrics[] = {
        {"hart.active", "cycles", 1, 4},
        {"a_name_of_a_metric_that_is_longer_than_its_field", "instructions", 32, 5},
    };
    uint64_t words[8 + 16];
    memset(words, 0xee, sizeof words);
    assert_int_equal(tl_smpm_list_n_words(2), 24);
    tl_smpm_list_format(words, metrics, 2);
    const uint8_t *bytes = (const uint8_t *)words;
    assert_memory_equal(bytes, "SMPL\1\0\0\0\2\0\0\0\0\0\0\0", 16);
    assert_string_equal((const char *)bytes + 64, "hart.active");
    assert_string_equal((const char *)bytes + 64 + 44, "cycles");
    assert_memory_equal(bytes + 64 + 56, "\1\0\0\0\4\0\0\0", 8);
    // The text has 43 bytes.
    assert_string_equal((const char *)bytes + 128, "a_name_of_a_metric_that_is_longer_than_its_");
    assert_string_equal((const char *)bytes + 128 + 44, "instruction");
    assert_memory_equal(bytes + 128 + 56, "\40\0\0\0\5\0\0\0", 8);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_literal_block_has_the_layout_of_section_10),
    cmocka_unit_test(test_parts_follow_in_the_order_of_their_bits),
    cmocka_unit_test(test_kinds_have_their_parts_only),
    cmocka_unit_test(test_metrics_are_unavailable_until_routed),
    cmocka_unit_test(test_block_without_bitmap_is_unavailable_as_a_whole),
    cmocka_unit_test(test_late_units_leave_ctr_alone),
    cmocka_unit_test(test_damaged_header_is_refused),
    cmocka_unit_test(test_differences_are_modular_and_keep_flags),
    cmocka_unit_test(test_erased_block_is_zero_and_its_id_is_reborn),
    cmocka_unit_test(test_racing_reader_never_sees_half_a_commit),
    cmocka_unit_test(test_commit_within_a_copy_makes_it_start_again),
    cmocka_unit_test(test_directory_rows_are_where_the_layout_says),
};

TL_TEST_MAIN(tests)
