// SPDX-License-Identifier: MIT
// The monitor's ring beside a queue: what the writer took, the reader gets, in this order and with
// these bytes; only what did not fit is lost, and it is counted. A reader's wrong tail changes
// nothing.
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "monitor/internal.h"

enum { BYTES = 1024, MOST_WORDS = 24, MOST_WAITING = BYTES / XCM_RECORD_BYTES, AT_TAIL = 64, AT_DROPPED = 128 };

typedef struct item {
    uint64_t seq;
    uint32_t n_words;
} item;

typedef struct rig {
    xcm *monitor;
    uint8_t *ring;
    item waiting[MOST_WAITING];
    uint32_t n_waiting;
    uint64_t seq, head, tail, n_dropped; // as the queue counts them
} rig;

static void no_write(void *ctx, xcm_block block, uint32_t offset, uint32_t value) { (void)ctx, (void)block, (void)offset, (void)value; }
static uint32_t no_read(void *ctx, xcm_block block, uint32_t offset) { return (void)ctx, (void)block, (void)offset, 0; }
static uint64_t no_time(void *ctx) { return (void)ctx, 0; }
static void no_rest(void *ctx) { (void)ctx; }
static void no_notice(void *ctx, const uint8_t *packet, uint32_t n_bytes) { (void)ctx, (void)packet, (void)n_bytes; }
static const xcm_host host = {.rd32 = no_read, .wr32 = no_write, .now_ns = no_time, .relax = no_rest, .notify = no_notice};

static void set_up(rig *r) {
    memset(r, 0, sizeof *r);
    r->ring = aligned_alloc(64, XCM_RING_HEADER_BYTES + BYTES);
    r->monitor = calloc(1, xcm_bytes());
    assert_true(r->ring && r->monitor);
    memset(r->ring, 0xee, XCM_RING_HEADER_BYTES + BYTES);
    const xcm_config config = {.host = &host, .ring = r->ring, .ring_bytes = BYTES};
    assert_true(xcm_init(r->monitor, &config));
}
static void tear_down(rig *r) {
    free(r->monitor);
    free(r->ring);
}

static uint64_t word_of(uint64_t seq, uint32_t i) { return seq * UINT64_C(0x9e3779b97f4a7c15) + i; }

static void add(rig *r, uint32_t n_words) {
    uint64_t words[MOST_WORDS];
    for (uint32_t i = 0; i < n_words; i++)
        words[i] = word_of(r->seq, i);
    // A record is in one piece: it begins anew when it does not fit before the end.
    const uint64_t size = XCM_RECORD_BYTES + 8 * n_words, to_end = BYTES - r->head % BYTES;
    const uint64_t needed = size + (to_end < size ? to_end : 0);
    const bool fits = needed <= BYTES - (r->head - r->tail);
    assert_int_equal(xcm_ring_add(r->monitor, XCM_RECORD_TLB, 0, words, n_words), fits);
    if (fits) {
        r->waiting[r->n_waiting++] = (item){r->seq, n_words};
        r->head += needed;
    }
    r->n_dropped += !fits;
    r->seq += 1;
    assert_int_equal(xcm_get_bytes(r->ring + AT_DROPPED, 8), r->n_dropped);
}

static bool take(rig *r) {
    xcm_record record;
    uint8_t payload[8 * MOST_WORDS];
    const bool has_one = xcm_ring_take(r->ring, BYTES, &record, payload, sizeof payload);
    assert_int_equal(has_one, r->n_waiting > 0);
    if (!has_one)
        return false;
    const item first = r->waiting[0];
    memmove(r->waiting, r->waiting + 1, --r->n_waiting * sizeof(item));
    assert_int_equal(record.type, XCM_RECORD_TLB);
    assert_int_equal(record.seq, first.seq);
    assert_int_equal(record.size, XCM_RECORD_BYTES + 8 * first.n_words);
    for (uint32_t i = 0; i < first.n_words; i++)
        assert_int_equal(xcm_get_bytes(payload + 8 * i, 8), word_of(first.seq, i));
    r->tail = xcm_get_bytes(r->ring + AT_TAIL, 8);
    return true;
}

static void test_reader_gets_what_the_writer_took(void **state) {
    uint64_t seed = 7;
    rig r;
    (void)state;
    set_up(&r);
    for (uint32_t turn = 0; turn < 2000; turn++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        for (uint32_t i = 0; i < (seed >> 60); i++)
            add(&r, (uint32_t)(seed >> (8 + 3 * i)) % (MOST_WORDS + 1));
        for (uint32_t i = 0; i < (seed >> 56 & 15); i++)
            (void)take(&r);
    }
    while (take(&r))
        ;
    assert_true(r.n_dropped > 100 && r.n_dropped < r.seq / 2);
    tear_down(&r);
}

static void test_wrong_tails_are_ignored(void **state) {
    rig r;
    (void)state;
    set_up(&r);
    while (r.head < 4 * BYTES) {
        add(&r, 4);
        assert_true(take(&r));
    }
    const uint64_t wrong[] = {r.tail - BYTES, r.tail - 8, 0, r.head + 8, r.head + BYTES, UINT64_MAX, UINT64_C(1) << 63};
    for (uint32_t i = 0; i < TL_COUNT_OF(wrong); i++) {
        xcm_put_bytes(r.ring + AT_TAIL, 8, wrong[i]);
        add(&r, 4); // fits as if nothing had been written
        xcm_put_bytes(r.ring + AT_TAIL, 8, r.tail);
        assert_true(take(&r));
    }
    tear_down(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reader_gets_what_the_writer_took),
        cmocka_unit_test(test_wrong_tails_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
