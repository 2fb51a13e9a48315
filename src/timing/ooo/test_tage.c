// SPDX-License-Identifier: MIT
// TAGE against a reference that is written from the papers (tage.h) and keeps nothing folded: the
// whole history is an array, and every hash is computed from its definition. Then behaviors that
// the papers promise: loops, correlation, reach of the histories.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "model/flow.h"
#include "timing/ooo/tage.h"

enum { MAX_BITS = 1 << 20, MAX_QUEUE = 64 };

static tl_config config_of(uint32_t tables, uint32_t entries, uint32_t min_history, uint32_t max_history) {
    tl_config config;
    tl_config_default(&config);
    config.core.kind = TL_CORE_OUT_OF_ORDER;
    config.bp.kind = TL_BP_TAGE;
    config.bp.counters = 1024;
    config.bp.tables = tables;
    config.bp.table_entries = entries;
    config.bp.min_history = min_history;
    config.bp.max_history = max_history;
    tl_error err;
    if (tl_config_check(&config, &err) != TL_OK)
        fail_msg("%s", err.text);
    return config;
}

static tage *open_tage(const tl_config *config, tl_arena *arena) {
    *arena = (tl_arena){0};
    tage *t;
    tl_error err;
    assert_int_equal(tage_init(config, arena, &t, &err), TL_OK);
    return t;
}

// ---- The reference.

typedef struct ref_entry {
    int tag, counter, useful;
} ref_entry;

typedef struct ref_branch {
    int index[TL_MAX_TAGE_TABLES], tag[TL_MAX_TAGE_TABLES];
} ref_branch;

typedef struct reference {
    int n_tables, index_bits, tag_bits[TL_MAX_TAGE_TABLES], length[TL_MAX_TAGE_TABLES];
    ref_entry *tables[TL_MAX_TAGE_TABLES];
    int base[1 << 16], n_base, use_alternate;
    uint8_t *bits, *path; // oldest first
    int n_bits;
    uint64_t n_trained, random;
} reference;

static void ref_open(reference *ref, const tl_config *config, const tage *lengths_of) {
    memset(ref, 0, sizeof *ref);
    ref->n_tables = (int)config->bp.tables;
    ref->n_base = (int)config->bp.counters;
    ref->random = config->seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    ref->bits = calloc(MAX_BITS, 1);
    ref->path = calloc(MAX_BITS, 1);
    while (1u << ref->index_bits < config->bp.table_entries)
        ref->index_bits += 1;
    for (int i = 0; i < ref->n_base; i++)
        ref->base[i] = 1;
    for (int i = 0; i < ref->n_tables; i++) {
        ref->tag_bits[i] = (int)config->bp.tag_bits + i / 2;
        ref->length[i] = (int)tage_history_bits(lengths_of, (uint32_t)i);
        ref->tables[i] = calloc(config->bp.table_entries, sizeof(ref_entry));
        for (uint32_t k = 0; k < config->bp.table_entries; k++)
            ref->tables[i][k] = (ref_entry){0};
    }
}

static void ref_close(reference *ref) {
    for (int i = 0; i < ref->n_tables; i++)
        free(ref->tables[i]);
    free(ref->bits);
    free(ref->path);
}

static int ref_fold(const reference *ref, int length, int width) {
    int folded = 0;
    for (int age = 0; age < length && age < ref->n_bits; age++)
        if (ref->bits[ref->n_bits - 1 - age])
            folded ^= 1 << age % width;
    return folded;
}

static int ref_path(const reference *ref, int length) {
    int path = 0;
    for (int age = 0; age < length && age < 16 && age < ref->n_bits; age++)
        path |= ref->path[ref->n_bits - 1 - age] << age;
    return path;
}

static void ref_hash(const reference *ref, uint64_t pc, ref_branch *ret) {
    for (int i = 0; i < ref->n_tables; i++) {
        const int path = ref_path(ref, ref->length[i]), size = 1 << ref->index_bits;
        const uint64_t a = pc / 2;
        const uint64_t index = a ^ a >> (i + 2) ^ (uint64_t)ref_fold(ref, ref->length[i], ref->index_bits) ^ (uint64_t)path ^
                               (uint64_t)(path >> ref->index_bits / 2);
        ret->index[i] = (int)(index % (uint64_t)size);
        const uint64_t tag = a ^ (uint64_t)ref_fold(ref, ref->length[i], ref->tag_bits[i]) ^
                             2 * (uint64_t)ref_fold(ref, ref->length[i], ref->tag_bits[i] - 1);
        ret->tag[i] = (int)(tag % (1u << ref->tag_bits[i]));
    }
}

static ref_entry *ref_match(const reference *ref, const ref_branch *b, int below, int *ret_table) {
    for (int i = below - 1; i >= 0; i--)
        if (ref->tables[i][b->index[i]].tag == b->tag[i]) {
            *ret_table = i;
            return &ref->tables[i][b->index[i]];
        }
    *ret_table = -1;
    return NULL;
}

typedef struct ref_says {
    ref_entry *provider, *alternate;
    int table;
    bool provider_taken, alternate_taken, is_new, is_taken;
} ref_says;

static ref_says ref_read(const reference *ref, uint64_t pc, const ref_branch *b) {
    ref_says says = {0};
    int table;
    says.provider = ref_match(ref, b, ref->n_tables, &says.table);
    says.alternate = says.table >= 0 ? ref_match(ref, b, says.table, &table) : NULL;
    says.alternate_taken = says.alternate ? says.alternate->counter >= 0 : ref->base[pc / 2 % (uint64_t)ref->n_base] >= 2;
    says.is_taken = says.alternate_taken;
    if (!says.provider)
        return says;
    says.provider_taken = says.provider->counter >= 0;
    says.is_new = says.provider->useful == 0 && (says.provider->counter == 0 || says.provider->counter == -1);
    says.is_taken = says.is_new && ref->use_alternate >= 0 ? says.alternate_taken : says.provider_taken;
    return says;
}

static int saturate(int value, int least, int most) { return value < least ? least : value > most ? most : value; }

static void ref_allocate(reference *ref, const ref_branch *b, int first, bool is_taken) {
    int n_free = 0;
    for (int i = first; i < ref->n_tables; i++)
        n_free += ref->tables[i][b->index[i]].useful == 0;
    if (n_free == 0) {
        for (int i = first; i < ref->n_tables; i++)
            ref->tables[i][b->index[i]].useful -= 1;
        return;
    }
    ref->random ^= ref->random << 13;
    ref->random ^= ref->random >> 7;
    ref->random ^= ref->random << 17;
    uint64_t left = ref->random % ((UINT64_C(1) << n_free) - 1), weight = 1;
    // Tickets 0 .. 2^n - 2: the last one free has one, and the one before it the next two.
    int chosen = -1;
    for (int i = ref->n_tables - 1; i >= first && chosen < 0; i--) {
        if (ref->tables[i][b->index[i]].useful != 0)
            continue;
        if (left < weight)
            chosen = i;
        left -= weight;
        weight *= 2;
    }
    ref->tables[chosen][b->index[chosen]] = (ref_entry){.tag = b->tag[chosen], .counter = is_taken ? 0 : -1};
}

static void ref_train(reference *ref, uint64_t pc, const ref_branch *b, bool is_taken) {
    ref_says says = ref_read(ref, pc, b);
    int *base = &ref->base[pc / 2 % (uint64_t)ref->n_base];
    const int step = is_taken ? 1 : -1;
    if (says.is_taken != is_taken && says.table < ref->n_tables - 1 && !(says.is_new && says.provider_taken == is_taken))
        ref_allocate(ref, b, says.table + 1, is_taken);
    if (!says.provider) {
        *base = saturate(*base + step, 0, 3);
    } else {
        const bool trains_both = says.provider->useful == 0;
        if (says.provider_taken != says.alternate_taken) {
            if (says.is_new)
                ref->use_alternate = saturate(ref->use_alternate + (says.alternate_taken == is_taken ? 1 : -1), -8, 7);
            says.provider->useful = saturate(says.provider->useful + (says.provider_taken == is_taken ? 1 : -1), 0, 3);
        }
        says.provider->counter = saturate(says.provider->counter + step, -4, 3);
        if (trains_both && says.alternate)
            says.alternate->counter = saturate(says.alternate->counter + step, -4, 3);
        else if (trains_both)
            *base = saturate(*base + step, 0, 3);
    }
    ref->n_trained += 1;
    if (ref->n_trained % 262144 == 0)
        for (int i = 0; i < ref->n_tables; i++)
            for (int k = 0; k < 1 << ref->index_bits; k++)
                ref->tables[i][k].useful &= ref->n_trained / 262144 % 2 == 1 ? 1 : 2;
}

static void ref_push(reference *ref, uint64_t pc, bool bit) {
    ref->bits[ref->n_bits] = bit;
    ref->path[ref->n_bits] = pc / 2 % 2;
    ref->n_bits += 1;
}

// ---- Both on one stream, with branches in flight that are taken back at random.

static uint64_t next(uint64_t *random) {
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

typedef struct flight {
    uint64_t pc, mark;
    bool is_taken;
    ref_branch hashes;
} flight;

// Some branches repeat, some follow others, some are random.
static bool outcome_of(const reference *ref, uint64_t pc, uint64_t n, uint64_t *random) {
    switch (pc / 2 % 5) {
    case 0: return n % 7 != 0;
    case 1: return ref->n_bits > 3 && ref->bits[ref->n_bits - 3];
    case 2: return ref->n_bits > 11 && (ref->bits[ref->n_bits - 11] ^ ref->bits[ref->n_bits - 2]);
    case 3: return next(random) % 4 == 0;
    default: return true;
    }
}

static void compare_with_reference(const tl_config *config, uint64_t n_branches, uint64_t seed) {
    tl_arena arena;
    tage *t = open_tage(config, &arena);
    static reference ref;
    ref_open(&ref, config, t);
    static flight queue[MAX_QUEUE];
    uint64_t random = seed, first = 0, end = 0, n_misses = 0;
    while (first < n_branches) {
        const uint64_t what = next(&random) % 16;
        if (what < 9 && end - first < MAX_QUEUE && end < n_branches) {
            flight *f = &queue[end++ % MAX_QUEUE];
            f->mark = tage_mark(t);
            f->pc = 0x10000 + f->mark * 7 % 23 * 6; // a program that repeats
            assert_int_equal(f->mark, ref.n_bits);
            ref_hash(&ref, f->pc, &f->hashes);
            const bool is_taken = tage_predict(t, f->pc);
            if (is_taken != ref_read(&ref, f->pc, &f->hashes).is_taken)
                fail_msg("seed %" PRIu64 ", branch %" PRIu64 ": predicted %d", seed, end, is_taken);
            f->is_taken = outcome_of(&ref, f->pc, end, &random);
            n_misses += is_taken != f->is_taken;
            tage_push(t, f->pc, f->is_taken);
            ref_push(&ref, f->pc, f->is_taken);
            // The path goes back to a branch, with another outcome.
        } else if (what == 9 && end > first) {
            const uint64_t to = first + next(&random) % (end - first);
            flight *f = &queue[to % MAX_QUEUE];
            end = to + 1;
            ref.n_bits = (int)f->mark;
            tage_restore(t, f->mark);
            f->is_taken = !f->is_taken;
            tage_push(t, f->pc, f->is_taken);
            ref_push(&ref, f->pc, f->is_taken);
        } else if (end > first) {
            const flight *f = &queue[first++ % MAX_QUEUE];
            tage_train(t, f->pc, f->mark, f->is_taken);
            ref_train(&ref, f->pc, &f->hashes, f->is_taken);
        }
    }
    // There is much to learn, and something is learned.
    if (n_misses * 2 > n_branches || n_misses * 50 < n_branches)
        fail_msg("%" PRIu64 " of %" PRIu64 " mispredicted", n_misses, n_branches);
    ref_close(&ref);
    tl_arena_done(&arena);
}

static void test_every_prediction_is_that_of_the_reference(void **state) {
    (void)state;
    static const uint32_t rows[][4] = {{12, 4096, 4, 640}, {4, 64, 2, 60}, {1, 16, 1, 1}, {15, 16, 3, 1999}, {7, 256, 5, 130}};
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_config config = config_of(rows[i][0], rows[i][1], rows[i][2], rows[i][3]);
        config.bp.tag_bits = 4 + i;
        config.seed = i;
        compare_with_reference(&config, 40000, 100 + i);
    }
}

static void test_usefulness_is_reset_by_turns(void **state) {
    (void)state;
    tl_config config = config_of(3, 16, 2, 8); // small tables: allocations fail without the resets
    compare_with_reference(&config, 600000, 7);
}

// ---- Behaviors.

// Predicts, learns at once. Returns whether it was wrong.
static bool step(tage *t, uint64_t pc, bool is_taken) {
    const uint64_t mark = tage_mark(t);
    const bool predicted = tage_predict(t, pc);
    tage_push(t, pc, is_taken);
    tage_train(t, pc, mark, is_taken);
    return predicted != is_taken;
}

static uint64_t misses_of_loop(uint32_t n_iterations, uint32_t max_history) {
    const tl_config config = config_of(12, 1024, 4, max_history);
    tl_arena arena;
    tage *t = open_tage(&config, &arena);
    uint64_t n = 0;
    for (uint32_t loop = 0; loop < 1200; loop++)
        for (uint32_t i = 1; i <= n_iterations; i++)
            n += (uint64_t)(step(t, 0x1000, i < n_iterations) && loop >= 1000);
    tl_arena_done(&arena);
    return n;
}

// The history before the exit must hold the exit before it: n_iterations bits.
static void test_a_loop_within_the_longest_history_is_predicted_with_its_exit(void **state) {
    (void)state;
    assert_int_equal(misses_of_loop(3, 640), 0);
    assert_int_equal(misses_of_loop(50, 640), 0);
    assert_int_equal(misses_of_loop(257, 640), 0);
}

static void test_a_loop_beyond_it_misses_each_exit(void **state) {
    (void)state;
    const uint64_t n = misses_of_loop(257, 100);
    if (n < 200 || n > 220) // 200 exits, and little else
        fail_msg("%" PRIu64 " misses in 200 loops of 257 iterations with 100 bits of history", n);
}

// A branch repeats the one `distance` before it; those between are always taken.
static uint64_t misses_at_distance(uint32_t distance) {
    const tl_config config = config_of(8, 4096, 4, 100);
    tl_arena arena;
    tage *t = open_tage(&config, &arena);
    uint64_t n = 0, random = 5;
    for (uint32_t round = 0; round < 3000; round++) {
        const bool is_taken = next(&random) >> 7 & 1;
        step(t, 0x2000, is_taken);
        for (uint32_t i = 1; i < distance; i++)
            step(t, 0x3000 + 8 * i, true);
        n += (uint64_t)(step(t, 0x4000, is_taken) && round >= 1000);
    }
    tl_arena_done(&arena);
    return n;
}

static void test_a_correlated_branch_is_learned_within_reach_of_the_history(void **state) {
    (void)state;
    assert_true(misses_at_distance(1) <= 10); // 0.5 %: entries for new paths are still allocated
    assert_true(misses_at_distance(60) <= 10);
    const uint64_t n = misses_at_distance(101); // one beyond 100 bits: 2000 coin tosses
    if (n < 800 || n > 1200)
        fail_msg("%" PRIu64 " of 2000 mispredicted", n);
}

static void test_the_exclusive_or_of_two_branches_is_learned(void **state) {
    (void)state;
    const tl_config config = config_of(8, 1024, 4, 100);
    tl_arena arena;
    tage *t = open_tage(&config, &arena);
    uint64_t n = 0, random = 9;
    for (uint32_t round = 0; round < 3000; round++) {
        const bool a = next(&random) >> 7 & 1, b = next(&random) >> 7 & 1;
        step(t, 0x2000, a);
        step(t, 0x2010, b);
        n += (uint64_t)(step(t, 0x2020, a != b) && round >= 1000);
    }
    assert_true(n <= 10);
    tl_arena_done(&arena);
}

static void test_histories_are_geometric_and_storage_is_accounted(void **state) {
    (void)state;
    tl_config config = config_of(12, 4096, 4, 640); // machines/ooo.yaml
    config.bp.counters = 65536;
    tl_arena arena;
    tage *t = open_tage(&config, &arena);
    // 4 * 160^(i/11), rounded.
    static const uint32_t lengths[] = {4, 6, 10, 16, 25, 40, 64, 101, 160, 254, 403, 640};
    for (uint32_t i = 0; i < 12; i++)
        assert_int_equal(tage_history_bits(t, i), lengths[i]);
    // 4096 entries of 3 + 2 bits with tags of 9, 9, 10, 10 .. 14, 14 bits: 4096 * (60 + 138).
    // 65536 counters of 2 bits; 640 of history, 16 of the path, 4 and 19 of counters, 64 of draws.
    assert_int_equal(tage_storage_bits(t), 811008 + 131072 + 640 + 16 + 4 + 19 + 64);
    assert_true(tage_storage_bits(t) <= 8 * (128 << 10));
    tl_arena_done(&arena);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_prediction_is_that_of_the_reference),
    cmocka_unit_test(test_usefulness_is_reset_by_turns),
    cmocka_unit_test(test_a_loop_within_the_longest_history_is_predicted_with_its_exit),
    cmocka_unit_test(test_a_loop_beyond_it_misses_each_exit),
    cmocka_unit_test(test_a_correlated_branch_is_learned_within_reach_of_the_history),
    cmocka_unit_test(test_the_exclusive_or_of_two_branches_is_learned),
    cmocka_unit_test(test_histories_are_geometric_and_storage_is_accounted),
};
TL_TEST_MAIN(tests)
