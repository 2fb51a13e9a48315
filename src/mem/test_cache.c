// SPDX-License-Identifier: MIT
// Tag arrays and replacement policies, by hand.
#include "base/testing.h"
#include "mem/cache.h"

typedef struct fixture {
    tl_arena arena;
    tl_cache cache;
    uint64_t stamps[64], clock;
} fixture;

static void start(fixture *f, uint32_t sets, uint32_t ways, tl_replacement policy) {
    *f = (fixture){.clock = 0};
    assert_true(tl_cache_init(&f->cache, &f->arena, sets, ways, 6, 6, policy, f->stamps, &f->clock, tl_replacement_seed(1, 0)));
}

static uint64_t line(uint64_t number) { return number * 64; }

// Brings the line in if it is not there, as its owner would; returns the way.
static uint32_t use(fixture *f, uint64_t address) {
    uint32_t way = tl_cache_find(&f->cache, address);
    if (way != TL_NO_WAY) {
        tl_cache_touch(&f->cache, way);
        return way;
    }
    way = tl_cache_choose(&f->cache, address);
    tl_cache_fill(&f->cache, way, address);
    return way;
}

static void test_empty_cache_holds_nothing(void **state) {
    (void)state;
    fixture f;
    start(&f, 4, 2, TL_REPLACE_LRU);
    for (uint64_t n = 0; n < 16; n++)
        assert_int_equal(tl_cache_find(&f.cache, line(n)), TL_NO_WAY);
    tl_arena_done(&f.arena);
}

static void test_line_number_selects_the_set(void **state) {
    (void)state;
    fixture f;
    start(&f, 4, 2, TL_REPLACE_LRU);
    assert_int_equal(use(&f, line(0)), 0);
    assert_int_equal(use(&f, line(1)), 2);
    assert_int_equal(use(&f, line(3)), 6);
    assert_int_equal(use(&f, line(4)), 1); // the other way of set 0
    assert_int_equal(tl_cache_find(&f.cache, line(0)), 0);
    assert_int_equal(tl_cache_find(&f.cache, line(5)), TL_NO_WAY);
    tl_arena_done(&f.arena);
}

static void test_invalid_ways_fill_first_lowest_first(void **state) {
    (void)state;
    for (tl_replacement policy = TL_REPLACE_LRU; policy <= TL_REPLACE_RANDOM; policy++) {
        fixture f;
        start(&f, 1, 4, policy);
        for (uint32_t n = 0; n < 4; n++)
            assert_int_equal(use(&f, line(n)), n);
        tl_cache_drop(&f.cache, 3);
        tl_cache_drop(&f.cache, 1);
        assert_int_equal(use(&f, line(7)), 1);
        assert_int_equal(use(&f, line(8)), 3);
        tl_arena_done(&f.arena);
    }
}

static void test_lru_replaces_the_line_used_longest_ago(void **state) {
    (void)state;
    fixture f;
    start(&f, 1, 3, TL_REPLACE_LRU); // any number of ways
    use(&f, line(0));
    use(&f, line(1));
    use(&f, line(2));
    use(&f, line(0));
    assert_int_equal(use(&f, line(3)), 1);
    assert_int_equal(use(&f, line(4)), 2);
    assert_int_equal(use(&f, line(5)), 0);
    tl_arena_done(&f.arena);
}

static void test_oldest_has_the_least_stamp_and_ties_go_left(void **state) {
    (void)state;
    uint64_t random = 1, stamps[64];
    for (int i = 0; i < 20000; i++) {
        uint32_t ways = 1 + (uint32_t)tl_replacement_victim(TL_REPLACE_RANDOM, stamps, 64, &random), least = 0;
        for (uint32_t way = 0; way < ways; way++) {
            uint32_t bits = tl_replacement_victim(TL_REPLACE_RANDOM, stamps, 54, &random);
            tl_replacement_victim(TL_REPLACE_RANDOM, stamps, 2, &random);
            // Stamps are near and far apart, many alike.
            stamps[way] = random & ((UINT64_C(1) << (bits + 1 > 51 ? 51 : bits + 1)) - 1);
            if (stamps[way] < stamps[least])
                least = way;
        }
        assert_int_equal(tl_replacement_victim(TL_REPLACE_LRU, stamps, ways, &random), least);
    }
}

#ifdef __SSE2__
// A host program may have set its unit to take numbers that are not normal for zero. The choice is
// the same, and leaves no exception.
static void test_oldest_does_not_depend_on_the_unit_of_the_host(void **state) {
    (void)state;
    enum { EXCEPTIONS = 0x3f, DENORMALS_ARE_ZEROS = 0x40 };
    // Stamps are small: their bits alone are no normal number.
    static const uint64_t stamps[8] = {7, 5, 6, 3, 4, 1, 2, 8};
    uint64_t random = 1;
    unsigned before = _mm_getcsr();
    _mm_setcsr((before & ~(unsigned)EXCEPTIONS) | DENORMALS_ARE_ZEROS);
    uint32_t with_zeros = tl_replacement_victim(TL_REPLACE_LRU, stamps, 8, &random);
    _mm_setcsr(before & ~(unsigned)(EXCEPTIONS | DENORMALS_ARE_ZEROS));
    uint32_t without = tl_replacement_victim(TL_REPLACE_LRU, stamps, 8, &random);
    unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(with_zeros, 5);
    assert_int_equal(without, 5);
    assert_int_equal(after & EXCEPTIONS, 0);
}
#endif

static void test_fifo_does_not_see_hits(void **state) {
    (void)state;
    fixture f;
    start(&f, 1, 3, TL_REPLACE_FIFO);
    use(&f, line(0));
    use(&f, line(1));
    use(&f, line(2));
    use(&f, line(0));
    assert_int_equal(use(&f, line(3)), 0);
    assert_int_equal(use(&f, line(4)), 1);
    tl_arena_done(&f.arena);
}

static void test_plru_follows_the_bits_away_from_what_was_used(void **state) {
    (void)state;
    fixture f;
    start(&f, 1, 4, TL_REPLACE_PLRU);
    for (uint64_t n = 0; n < 4; n++)
        use(&f, line(n));
    // Way 3 was used last, so the root points left. On the left way 1 was used last, so its node
    // points at way 0.
    assert_int_equal(tl_cache_choose(&f.cache, line(9)), 0);
    use(&f, line(0)); // root right; there way 3 was last
    assert_int_equal(tl_cache_choose(&f.cache, line(9)), 2);
    use(&f, line(2)); // root left; there way 0 was last
    assert_int_equal(tl_cache_choose(&f.cache, line(9)), 1);
    use(&f, line(0)); // lru would say 1, the tree says right, and there way 2 was last
    assert_int_equal(tl_cache_choose(&f.cache, line(9)), 3);
    tl_arena_done(&f.arena);
}

static void test_random_repeats_with_its_seed_and_reaches_every_way(void **state) {
    (void)state;
    uint64_t stamps[8] = {0}, a = tl_replacement_seed(7, 3), b = a, other = tl_replacement_seed(7, 4);
    uint32_t seen = 0, n_same = 0;
    for (int i = 0; i < 200; i++) {
        uint32_t way = tl_replacement_victim(TL_REPLACE_RANDOM, stamps, 8, &a);
        assert_in_range(way, 0, 7);
        assert_int_equal(way, tl_replacement_victim(TL_REPLACE_RANDOM, stamps, 8, &b));
        n_same += way == tl_replacement_victim(TL_REPLACE_RANDOM, stamps, 8, &other);
        seen |= 1u << way;
    }
    assert_int_equal(seen, 0xff);
    assert_in_range(n_same, 5, 60); // another unit draws other numbers
}

// splitmix64 from 0 and from 1234567, as published. xorshift64 with shifts 13, 7 and 17, computed
// with numbers of any size.
static void test_random_numbers_are_those_of_the_papers(void **state) {
    (void)state;
    assert_true(tl_replacement_seed(0, 0) == UINT64_C(0xe220a8397b1dcdaf));
    assert_true(tl_replacement_seed(0, 1) == UINT64_C(0x6e789e6aa1b965f4));
    assert_true(tl_replacement_seed(0, 2) == UINT64_C(0x06c45d188009454f));
    assert_true(tl_replacement_seed(1234567, 0) == UINT64_C(6457827717110365317));
    assert_true(tl_replacement_seed(1234567, 1) == UINT64_C(3203168211198807973));
    uint64_t random = UINT64_C(88172645463325252);
    static const uint64_t numbers[] = {UINT64_C(8748534153485358512), UINT64_C(3040900993826735515), UINT64_C(3453997556048239312)};
    for (size_t i = 0; i < TL_COUNT_OF(numbers); i++) {
        assert_int_equal(tl_replacement_victim(TL_REPLACE_RANDOM, NULL, 8, &random), (numbers[i] >> 32) % 8);
        assert_true(random == numbers[i]);
    }
}

static void test_one_way_is_its_own_victim(void **state) {
    (void)state;
    for (tl_replacement policy = TL_REPLACE_LRU; policy <= TL_REPLACE_RANDOM; policy++) {
        fixture f;
        start(&f, 2, 1, policy);
        use(&f, line(1));
        assert_int_equal(use(&f, line(3)), 1);
        assert_int_equal(tl_cache_find(&f.cache, line(1)), TL_NO_WAY);
        tl_arena_done(&f.arena);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_empty_cache_holds_nothing),
    cmocka_unit_test(test_line_number_selects_the_set),
    cmocka_unit_test(test_invalid_ways_fill_first_lowest_first),
    cmocka_unit_test(test_lru_replaces_the_line_used_longest_ago),
    cmocka_unit_test(test_oldest_has_the_least_stamp_and_ties_go_left),
#ifdef __SSE2__
    cmocka_unit_test(test_oldest_does_not_depend_on_the_unit_of_the_host),
#endif
    cmocka_unit_test(test_fifo_does_not_see_hits),
    cmocka_unit_test(test_plru_follows_the_bits_away_from_what_was_used),
    cmocka_unit_test(test_random_repeats_with_its_seed_and_reaches_every_way),
    cmocka_unit_test(test_random_numbers_are_those_of_the_papers),
    cmocka_unit_test(test_one_way_is_its_own_victim),
};

TL_TEST_MAIN(tests)
