// SPDX-License-Identifier: MIT
// Records: V8 and V9 of the specification, no nonce twice (F-16), every attack classified (F-17),
// silence (F-18), and the ring.
#include "base/testing.h"

#include <stdlib.h>
#include <string.h>

#include "sealed/bytes.h"
#include "sealed/hash.h"
#include "sealed/record.h"

enum { N = 3, RECORD_BYTES = 64 + 8 * (4 + 2 * N + 1) + 16, SLOTS = 8 };

static const tl_crypto *crypto;

typedef struct line { // one sender and one receiver, with keys of the same bytes
    tl_seal_key sealing, opening;
    uint64_t witness;
    uint8_t sender_scratch[256], receiver_scratch[256];
    tl_record_sender sender;
    tl_record_receiver receiver;
    uint64_t values[N], late[N];
    uint8_t unavailable[N];
    tl_record_image image;
    uint64_t sent_values[N], sent_late[N];
    uint8_t sent_unavailable[N];
    tl_record_header header;
    uint64_t n_lost;
} line;

static void connect_as(line *l, uint32_t vm, uint32_t epoch, uint8_t seed) {
    uint8_t key[32], mask[12];
    memset(l, 0, sizeof *l);
    for (unsigned i = 0; i < 32; i++)
        key[i] = (uint8_t)(i + seed);
    for (unsigned i = 0; i < 12; i++)
        mask[i] = (uint8_t)(0xa0 + i);
    tl_seal_key_init(&l->sealing, key, mask, &l->witness);
    tl_seal_key_init(&l->opening, key, mask, NULL);
    l->sender = (tl_record_sender){crypto, &l->sealing, 0x1122334455667788, vm, epoch, false, l->sender_scratch};
    l->receiver = (tl_record_receiver){
        .crypto = crypto,
        .key = &l->opening,
        .device = 0x1122334455667788,
        .vm = vm,
        .epoch = epoch,
        .n = N,
        .interval_cycles = 1000,
        .scratch = l->receiver_scratch,
    };
    l->image = (tl_record_image){.values = l->values, .late = l->late, .unavailable = l->unavailable};
}

static tl_status send(line *l, uint64_t first, uint8_t ret_record[RECORD_BYTES]) {
    for (unsigned i = 0; i < N; i++) {
        l->sent_values[i] = first + i;
        l->sent_late[i] = 2 * first + i;
        l->sent_unavailable[i] = i == 1;
    }
    const tl_record_image image = {.gen = 2 * first,
                                   .t_commit = 3 * first,
                                   .t_active = 5 * first,
                                   .ctx = 6,
                                   .flags = 2,
                                   .n = N,
                                   .values = l->sent_values,
                                   .late = l->sent_late,
                                   .unavailable = l->sent_unavailable};
    return tl_record_seal(&l->sender, &image, 1000 * first, ret_record);
}

static tl_record_class receive(line *l, const uint8_t *record, size_t n_bytes) {
    return tl_record_open(&l->receiver, record, n_bytes, 0, &l->header, &l->image, &l->n_lost);
}

static void assert_image(const line *l, uint64_t first) {
    const tl_record_image *image = &l->image;
    assert_int_equal(image->gen, 2 * first);
    assert_int_equal(image->t_commit, 3 * first);
    assert_int_equal(image->t_active, 5 * first);
    assert_int_equal(image->ctx, 6);
    assert_int_equal(image->flags, 2);
    assert_int_equal(image->n, N);
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(image->unavailable[i], i == 1);
        assert_int_equal(image->values[i], i == 1 ? 0 : first + i);
        assert_int_equal(image->late[i], i == 1 ? 0 : 2 * first + i);
    }
}

static void from_hex(const char *hex, uint8_t *ret_bytes) {
    for (; *hex; hex += 2, ret_bytes++) {
        const char digits[3] = {hex[0], hex[1], '\0'};
        *ret_bytes = (uint8_t)strtoul(digits, NULL, 16);
    }
}

// V8 runs inside of tl_crypto_get; the provider is refused if it fails.
// Test cases 13 and 14 of the GCM specification. Sealing refuses a key of zeros, so these are
// opened.
static void test_v8_opens_published_texts(void **state) {
    (void)state;
    static const uint8_t zeros[TL_KEY_BYTES];
    tl_seal_key key;
    uint8_t cipher[16], tag[16], empty_tag[16], plain[16] = {1};
    tl_seal_key_init(&key, zeros, zeros, NULL);
    from_hex("cea7403d4d606b6e074ec5d3baf39d18", cipher);
    from_hex("d0d1c8a799996bf0265b98b5d48ab919", tag);
    from_hex("530f8afbc74536b9a963b4f1c4cb738b", empty_tag);
    assert_int_equal(crypto->open(&key, 0, NULL, 0, cipher, sizeof cipher, tag, plain), TL_OK);
    assert_memory_equal(plain, zeros, sizeof plain);
    assert_int_equal(crypto->open(&key, 0, NULL, 0, cipher, 0, empty_tag, plain), TL_OK);
    tag[15] ^= 1;
    assert_int_equal(crypto->open(&key, 0, NULL, 0, cipher, sizeof cipher, tag, plain), TL_EACCESS);
    tl_seal_key_done(&key);
}

static void test_v9_is_the_literal_form(void **state) {
    (void)state;
    line l;
    connect_as(&l, 2, 7, 0);
    uint8_t record[64 + 16 + 16], expected[64 + 16 + 16];
    from_hex("504d5231010000000700000002000000ffffffff020000000100000000000000040000000000000040420f00000000008877665544332211"
             "1000000000000000"
             "aa9fc367d0ef1d99c6d7dd8535db67a7"
             "c808bf69c8a85140fc085063fd4c3b65",
             expected);
    uint64_t values[2] = {511, 32};
    const tl_record_image image = {.gen = 4, .ctx = TL_RECORD_NO_CTX, .n = 2, .values = values};
    l.sender.is_literal = l.receiver.is_literal = true;
    l.receiver.n = 2;
    assert_int_equal(tl_record_bytes(2, true), sizeof expected);
    assert_int_equal(tl_record_seal(&l.sender, &image, 1000000, record), TL_OK);
    assert_memory_equal(record, expected, sizeof expected);
    assert_int_equal(receive(&l, expected, sizeof expected), TL_RECORD_GOOD);
    assert_int_equal(l.image.gen, 4);
    assert_int_equal(l.image.ctx, TL_RECORD_NO_CTX);
    assert_int_equal(l.image.values[0], 511);
    assert_int_equal(l.image.values[1], 32);
    assert_true(l.image.is_literal);
    assert_true(l.image.t_commit == 0 && l.image.t_active == 0);
    uint8_t nonce[12], v9_nonce[12];
    tl_seal_nonce(l.opening.iv_mask, 1, nonce);
    from_hex("a0a1a2a3a4a5a6a7a8a9aaaa", v9_nonce);
    assert_memory_equal(nonce, v9_nonce, 12);
}

static void test_header_of_the_inner_form_tells_no_activity(void **state) {
    (void)state;
    line l;
    connect_as(&l, 2, 7, 1);
    uint8_t record[RECORD_BYTES];
    assert_int_equal(tl_record_bytes(N, false), RECORD_BYTES);
    assert_int_equal(send(&l, 10, record), TL_OK);
    const struct {
        uint32_t at, n;
        uint64_t value;
    } fields[] = {{0, 4, 0x31524d50},
                  {4, 2, 1},
                  {6, 2, 0x8000},
                  {8, 4, 7},
                  {12, 4, 2},
                  {16, 4, UINT32_MAX},
                  {20, 4, N},
                  {24, 8, 1},
                  {32, 8, 0},
                  {40, 8, 10000},
                  {48, 8, 0x1122334455667788},
                  {56, 4, 8 * (4 + 2 * N + 1)},
                  {60, 4, 0}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        uint64_t value = 0;
        memcpy(&value, record + fields[i].at, fields[i].n);
        assert_int_equal(value, fields[i].value);
    }
    assert_int_equal(receive(&l, record, sizeof record), TL_RECORD_GOOD);
    assert_image(&l, 10);
}

static void test_all_bytes_of_seq_count(void **state) {
    (void)state;
    line l;
    connect_as(&l, 2, 7, 1);
    uint8_t record[RECORD_BYTES];
    l.sealing.limit = UINT64_MAX;
    l.sealing.seq = l.witness = 0x0102030405060707;
    assert_int_equal(send(&l, 10, record), TL_OK);
    assert_int_equal(tl_get_u64(record + 24), 0x0102030405060708);
    for (unsigned i = 0; i < 8; i++) {
        record[24 + i]++;
        assert_int_equal(receive(&l, record, sizeof record), TL_RECORD_FORGED);
        record[24 + i]--;
    }
    assert_int_equal(receive(&l, record, sizeof record), TL_RECORD_GOOD);
    assert_int_equal(l.n_lost, 0x0102030405060707);
    uint8_t nonce[12], zeros[12] = {0};
    tl_seal_nonce(zeros, 0x0102030405060708, nonce);
    assert_memory_equal(nonce, "\0\0\0\0\1\2\3\4\5\6\7\10", 12);
}

static void test_sizes_follow_the_number_of_values(void **state) {
    (void)state;
    const uint32_t rows[][2] = {{1, 4 + 2 + 1},    {63, 4 + 126 + 1},  {64, 4 + 128 + 1},
                                {65, 4 + 130 + 2}, {128, 4 + 256 + 2}, {129, 4 + 258 + 3}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(tl_record_payload_bytes(rows[i][0], false), 8 * rows[i][1]);
        assert_int_equal(tl_record_bytes(rows[i][0], false), 64 + 8 * rows[i][1] + 16);
        assert_int_equal(tl_record_bytes(rows[i][0], true), 64 + 8 * rows[i][0] + 16);
    }
}

static void test_block_flag_makes_all_values_unavailable(void **state) {
    (void)state;
    line l;
    connect_as(&l, 2, 7, 1);
    uint64_t values[N] = {1, 2, 3}, late[N] = {4, 5, 6};
    uint8_t unavailable[N] = {0}, record[RECORD_BYTES];
    const tl_record_image image = {.flags = TL_RECORD_UNAVAILABLE, .n = N, .values = values, .late = late, .unavailable = unavailable};
    assert_int_equal(tl_record_seal(&l.sender, &image, 1, record), TL_OK);
    assert_int_equal(receive(&l, record, sizeof record), TL_RECORD_GOOD);
    for (unsigned i = 0; i < N; i++)
        assert_true(l.image.unavailable[i] && l.image.values[i] == 0 && l.image.late[i] == 0);
}

// F-17. Every single bit of a record matters.
static void test_every_flipped_bit_is_found(void **state) {
    (void)state;
    line l;
    connect_as(&l, 2, 7, 1);
    uint8_t record[RECORD_BYTES];
    assert_int_equal(send(&l, 10, record), TL_OK);
    for (unsigned bit = 0; bit < 8 * RECORD_BYTES; bit++) {
        record[bit / 8] ^= (uint8_t)(1 << bit % 8);
        memset(l.values, 0x5a, sizeof l.values);
        tl_record_class class = receive(&l, record, sizeof record);
        unsigned at = bit / 8;
        tl_record_class expected = TL_RECORD_FORGED;
        if (at < 6 || at == 7 || (at >= 20 && at < 24) || (at >= 56 && at < 64))
            expected = at == 7 && bit % 8 != 7 ? TL_RECORD_FORGED : TL_RECORD_MALFORMED;
        else if ((at >= 12 && at < 16) || (at >= 48 && at < 56))
            expected = TL_RECORD_FOREIGN;
        else if (at >= 8 && at < 12)
            // Epoch 7 is 111 in binary.
            expected = bit % 32 < 3 && at == 8 ? TL_RECORD_OLD_EPOCH : TL_RECORD_NEXT_EPOCH;
        assert_int_equal(class, expected);
        for (unsigned i = 0; i < N; i++)
            assert_int_equal(l.values[i], 0x5a5a5a5a5a5a5a5a);
        record[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(receive(&l, record, sizeof record), TL_RECORD_GOOD);
    assert_image(&l, 10);
}

static void test_every_truncation_is_short(void **state) {
    (void)state;
    line l;
    connect_as(&l, 2, 7, 1);
    uint8_t record[RECORD_BYTES];
    assert_int_equal(send(&l, 10, record), TL_OK);
    for (size_t n = 0; n < RECORD_BYTES; n++) {
        uint8_t *part = malloc(n ? n : 1); // a sanitizer sees reads past its end
        assert_non_null(part);
        memcpy(part, record, n);
        assert_int_equal(receive(&l, part, n), TL_RECORD_SHORT);
        free(part);
    }
    assert_int_equal(l.receiver.n_of_class[TL_RECORD_SHORT], RECORD_BYTES);
}

static void test_replay_reorder_and_drop_are_told_apart(void **state) {
    (void)state;
    line l;
    connect_as(&l, 2, 7, 1);
    uint8_t records[101][RECORD_BYTES];
    for (unsigned i = 1; i <= 100; i++)
        assert_int_equal(send(&l, i, records[i]), TL_OK);
    const struct {
        unsigned seq;
        tl_record_class class;
        uint64_t n_lost;
    } rows[] = {
        {1, TL_RECORD_GOOD, 0},      {2, TL_RECORD_GOOD, 0},       {2, TL_RECORD_REPLAYED, 0},   {1, TL_RECORD_REPLAYED, 0},
        {5, TL_RECORD_GOOD, 2},      {4, TL_RECORD_REORDERED, 0},  {4, TL_RECORD_REPLAYED, 0},   {3, TL_RECORD_REORDERED, 0},
        {5, TL_RECORD_REPLAYED, 0},  {68, TL_RECORD_GOOD, 62},     {5, TL_RECORD_REPLAYED, 0},   {6, TL_RECORD_REORDERED, 0},
        {69, TL_RECORD_GOOD, 0},     {6, TL_RECORD_REPLAYED, 0},   {7, TL_RECORD_REORDERED, 0},  {100, TL_RECORD_GOOD, 30},
        {36, TL_RECORD_REPLAYED, 0}, {37, TL_RECORD_REORDERED, 0}, {100, TL_RECORD_REPLAYED, 0}, {68, TL_RECORD_REPLAYED, 0},
    };
    uint64_t n_lost = 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(receive(&l, records[rows[i].seq], RECORD_BYTES), rows[i].class);
        assert_int_equal(l.n_lost, rows[i].n_lost);
        if (rows[i].class == TL_RECORD_GOOD)
            assert_image(&l, rows[i].seq);
        n_lost += rows[i].n_lost;
    }
    assert_int_equal(l.receiver.n_lost, n_lost);
    assert_int_equal(l.receiver.n_of_class[TL_RECORD_GOOD], 6);
}

// Older than the window of 64: a gap that is reached again counts as a replay.
static void test_step_beyond_the_window_forgets_it(void **state) {
    (void)state;
    line l;
    connect_as(&l, 2, 7, 1);
    uint8_t records[201][RECORD_BYTES];
    for (unsigned i = 1; i <= 200; i++)
        assert_int_equal(send(&l, i, records[i]), TL_OK);
    assert_int_equal(receive(&l, records[130], RECORD_BYTES), TL_RECORD_GOOD);
    assert_int_equal(receive(&l, records[194], RECORD_BYTES), TL_RECORD_GOOD); // 64 further
    assert_int_equal(receive(&l, records[130], RECORD_BYTES), TL_RECORD_REPLAYED);
    assert_int_equal(receive(&l, records[131], RECORD_BYTES), TL_RECORD_REORDERED);
    assert_int_equal(receive(&l, records[193], RECORD_BYTES), TL_RECORD_REORDERED);
}

static void test_records_of_others_do_not_open(void **state) {
    (void)state;
    line mine, other, later;
    connect_as(&mine, 2, 7, 1);
    connect_as(&other, 3, 7, 2);
    connect_as(&later, 2, 8, 3);
    uint8_t record[RECORD_BYTES];
    assert_int_equal(send(&other, 10, record), TL_OK);
    assert_int_equal(receive(&mine, record, sizeof record), TL_RECORD_FOREIGN);
    tl_put_u32(record + 12, 2); // a host that relabels it
    assert_int_equal(receive(&mine, record, sizeof record), TL_RECORD_FORGED);
    assert_int_equal(send(&mine, 10, record), TL_OK);
    assert_int_equal(receive(&later, record, sizeof record), TL_RECORD_OLD_EPOCH);
    tl_put_u32(record + 8, 8);
    assert_int_equal(receive(&later, record, sizeof record), TL_RECORD_FORGED);
    assert_int_equal(send(&later, 10, record), TL_OK);
    assert_int_equal(receive(&mine, record, sizeof record), TL_RECORD_NEXT_EPOCH);
    mine.receiver.device++;
    assert_int_equal(send(&mine, 11, record), TL_OK);
    assert_int_equal(receive(&mine, record, sizeof record), TL_RECORD_FOREIGN);
}

// F-16: every way to use a nonce twice ends the key.
static void test_counter_that_went_back_is_refused(void **state) {
    (void)state;
    line l;
    uint8_t record[RECORD_BYTES], zeros[RECORD_BYTES] = {0};
    connect_as(&l, 2, 7, 1);
    assert_int_equal(send(&l, 1, record), TL_OK);
    tl_seal_key checkpoint = l.sealing;
    assert_int_equal(send(&l, 2, record), TL_OK);
    l.sealing = checkpoint; // restored at its own address
    assert_int_equal(send(&l, 3, record), TL_EACCESS);
    assert_memory_equal(record, zeros, sizeof zeros);
    assert_int_equal(send(&l, 4, record), TL_EACCESS);

    connect_as(&l, 2, 7, 1);
    l.sealing.seq = 0;
    assert_int_equal(send(&l, 1, record), TL_OK);
    l.sealing.seq = 0; // reset
    assert_int_equal(send(&l, 1, record), TL_EACCESS);
}

static void test_second_sender_on_a_key_is_refused(void **state) {
    (void)state;
    line l;
    uint8_t record[RECORD_BYTES];
    connect_as(&l, 2, 7, 1);
    tl_seal_key copy = l.sealing;
    l.sender.key = &copy;
    assert_int_equal(send(&l, 1, record), TL_EACCESS);
    connect_as(&l, 2, 7, 1);
    l.sender.key = &l.opening; // no witness: it only opens
    assert_int_equal(send(&l, 1, record), TL_EACCESS);
}

static void test_limit_closes_the_key(void **state) {
    (void)state;
    line l;
    uint8_t record[RECORD_BYTES];
    connect_as(&l, 2, 7, 1);
    assert_int_equal(l.sealing.limit, 1 << 24);
    l.sealing.limit = 3;
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(send(&l, i, record), TL_OK);
    assert_int_equal(tl_get_u64(record + 24), 3);
    assert_int_equal(send(&l, 3, record), TL_EACCESS);
    l.sealing.limit = 100; // too late: it is erased
    assert_int_equal(send(&l, 3, record), TL_EACCESS);
    connect_as(&l, 2, 7, 1);
    l.sealing.limit = UINT64_MAX;
    l.sealing.seq = l.witness = UINT64_MAX; // it would wrap
    assert_int_equal(send(&l, 3, record), TL_EACCESS);
}

static void test_key_of_zeros_is_refused(void **state) {
    (void)state;
    line l;
    uint8_t record[RECORD_BYTES], zeros[32] = {0};
    connect_as(&l, 2, 7, 1);
    tl_seal_key_init(&l.sealing, zeros, l.opening.iv_mask, &l.witness);
    assert_int_equal(send(&l, 1, record), TL_EACCESS);
}

// Wraps the provider: all pairs of key and nonce of the run go into one set.
enum { MAX_PAIRS = 20000 };
static uint8_t pairs[MAX_PAIRS][TL_KEY_BYTES + TL_NONCE_BYTES];
static unsigned n_pairs;

static tl_status watched_seal(tl_seal_key *key, uint8_t *aad, size_t n_aad, size_t seq_at, const uint8_t *plain, size_t n_plain,
                              uint8_t *ret_cipher, uint8_t ret_tag[TL_TAG_BYTES]) {
    uint8_t bytes[TL_KEY_BYTES];
    memcpy(bytes, key->key, sizeof bytes);
    tl_status status = crypto->seal(key, aad, n_aad, seq_at, plain, n_plain, ret_cipher, ret_tag);
    if (status == TL_OK) {
        assert_true(n_pairs < MAX_PAIRS);
        memcpy(pairs[n_pairs], bytes, sizeof bytes);
        tl_seal_nonce(key->iv_mask, tl_get_u64(aad + seq_at), pairs[n_pairs++] + TL_KEY_BYTES);
    }
    return status;
}

static int by_bytes(const void *a, const void *b) { return memcmp(a, b, TL_KEY_BYTES + TL_NONCE_BYTES); }

// Resets, copies, restored checkpoints and limits in any order, over three keys.
static void test_no_pair_of_key_and_nonce_occurs_twice(void **state) {
    (void)state;
    static line lines[3];
    tl_crypto watched = *crypto;
    watched.seal = watched_seal;
    uint64_t random = 88172645463325252;
    uint8_t epoch = 0, record[RECORD_BYTES];
    unsigned n_refused = 0;
    n_pairs = 0;
    tl_seal_key checkpoint[3];
    for (unsigned i = 0; i < 3; i++) {
        epoch++;
        connect_as(&lines[i], i, epoch, epoch);
        lines[i].sender.crypto = &watched;
        checkpoint[i] = lines[i].sealing;
    }
    for (unsigned n = 0; n < 15000; n++) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        line *l = &lines[random % 3];
        switch (random >> 20 & 63) {
        case 0: checkpoint[l - lines] = l->sealing; break;
        case 1: l->sealing = checkpoint[l - lines]; break;
        case 2: l->sealing.seq = random >> 40 & 15; break;
        case 3: {
            tl_seal_key copy = l->sealing;
            l->sender.key = &copy;
            n_refused += send(l, n, record) != TL_OK;
            l->sender.key = &l->sealing;
            break;
        }
        default: break;
        }
        if (send(l, n, record) == TL_OK)
            continue;
        n_refused++;
        if (epoch == 255)
            continue;
        epoch++;
        connect_as(l, (uint32_t)(l - lines), epoch, epoch); // a new session has a new key
        l->sender.crypto = &watched;
        checkpoint[l - lines] = l->sealing;
    }
    assert_true(n_refused > 200 && n_pairs > 3000);
    qsort(pairs, n_pairs, sizeof pairs[0], by_bytes);
    for (unsigned i = 1; i < n_pairs; i++)
        assert_int_not_equal(by_bytes(pairs[i - 1], pairs[i]), 0);
}

// F-18.
static void test_silence_of_four_intervals_is_stale(void **state) {
    (void)state;
    line l;
    uint8_t record[RECORD_BYTES];
    connect_as(&l, 2, 7, 1);
    assert_false(tl_record_is_stale(&l.receiver, 3999));
    assert_true(tl_record_is_stale(&l.receiver, 4000));
    assert_int_equal(send(&l, 1, record), TL_OK);
    assert_int_equal(tl_record_open(&l.receiver, record, sizeof record, 5000, &l.header, &l.image, &l.n_lost), TL_RECORD_GOOD);
    assert_false(tl_record_is_stale(&l.receiver, 8999));
    assert_true(tl_record_is_stale(&l.receiver, 9000));
    assert_int_equal(tl_record_open(&l.receiver, record, sizeof record, 9500, &l.header, &l.image, &l.n_lost), TL_RECORD_REPLAYED);
    assert_true(tl_record_is_stale(&l.receiver, 9500));  // a replay is no sign of life
    assert_false(tl_record_is_stale(&l.receiver, 4000)); // clock behind the arrival
    l.receiver.interval_cycles = 0;
    assert_false(tl_record_is_stale(&l.receiver, UINT64_MAX));
}

typedef struct ring_rig {
    line l;
    uint8_t slots[SLOTS * RECORD_BYTES], copy[RECORD_BYTES];
    uint64_t told[SLOTS];
    tl_record_poller poller;
} ring_rig;

static void ring_init(ring_rig *r) {
    memset(r, 0, sizeof *r);
    connect_as(&r->l, 2, 7, 1);
    r->poller = (tl_record_poller){{r->slots, SLOTS, RECORD_BYTES}, &r->l.receiver, r->told, r->copy};
}

static void ring_send(ring_rig *r, uint64_t seq) {
    uint8_t record[RECORD_BYTES];
    assert_int_equal(send(&r->l, seq, record), TL_OK);
    assert_int_equal(tl_get_u64(record + 24), seq);
    memcpy(tl_record_ring_slot(&r->poller.ring, seq), record, sizeof record);
}

static bool poll_one(ring_rig *r) { return tl_record_poll(&r->poller, 0, &r->l.header, &r->l.image, &r->l.n_lost); }

static void test_ring_delivers_in_order_over_many_rounds(void **state) {
    (void)state;
    ring_rig r;
    ring_init(&r);
    assert_false(poll_one(&r));
    for (uint64_t seq = 1; seq <= 50; seq++) {
        ring_send(&r, seq);
        if (seq % 3 != 0)
            continue;
        for (uint64_t got = seq - 2; got <= seq; got++) {
            assert_true(poll_one(&r));
            assert_int_equal(r.l.header.seq, got);
            assert_int_equal(r.l.n_lost, 0);
            assert_image(&r.l, got);
        }
        assert_false(poll_one(&r));
    }
    for (unsigned class = TL_RECORD_GOOD + 1; class < TL_RECORD_N_CLASSES; class ++)
        assert_int_equal(r.l.receiver.n_of_class[class], 0);
}

static void test_ring_that_was_overrun_counts_what_is_lost(void **state) {
    (void)state;
    ring_rig r;
    ring_init(&r);
    for (uint64_t seq = 1; seq <= 20; seq++)
        ring_send(&r, seq); // 13 to 20 are left
    uint64_t n_good = 0;
    while (poll_one(&r))
        n_good++;
    assert_int_equal(r.l.receiver.last_seq, 20);
    assert_int_equal(n_good + r.l.receiver.n_lost, 20);
    assert_int_equal(n_good, SLOTS);
}

static void test_damaged_slot_is_counted_once_and_passed(void **state) {
    (void)state;
    ring_rig r;
    ring_init(&r);
    for (uint64_t seq = 1; seq <= 3; seq++)
        ring_send(&r, seq);
    tl_record_ring_slot(&r.poller.ring, 1)[70] ^= 1;
    assert_true(poll_one(&r));
    assert_int_equal(r.l.header.seq, 2);
    assert_int_equal(r.l.n_lost, 1);
    assert_true(poll_one(&r));
    for (unsigned i = 0; i < 5; i++)
        assert_false(poll_one(&r));
    assert_int_equal(r.l.receiver.n_of_class[TL_RECORD_FORGED], 1);
    // Replays 3 as 4.
    memcpy(tl_record_ring_slot(&r.poller.ring, 4), tl_record_ring_slot(&r.poller.ring, 3), RECORD_BYTES);
    for (unsigned i = 0; i < 5; i++)
        assert_false(poll_one(&r));
    assert_int_equal(r.l.receiver.n_of_class[TL_RECORD_REPLAYED], 1);
    ring_send(&r, 4);
    assert_true(poll_one(&r));
    assert_int_equal(r.l.header.seq, 4);
    assert_int_equal(r.l.receiver.n_lost, 1);
}

static void test_half_written_slot_opens_later(void **state) {
    (void)state;
    ring_rig r;
    uint8_t record[RECORD_BYTES];
    ring_init(&r);
    assert_int_equal(send(&r.l, 1, record), TL_OK);
    memcpy(tl_record_ring_slot(&r.poller.ring, 1), record, RECORD_BYTES / 2);
    assert_false(poll_one(&r));
    memcpy(tl_record_ring_slot(&r.poller.ring, 1), record, RECORD_BYTES);
    assert_true(poll_one(&r));
    assert_image(&r.l, 1);
}

static int get_provider(void **state) {
    (void)state;
    tl_error err;
    return tl_crypto_get(&crypto, &err) == TL_OK ? 0 : -1;
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_v8_opens_published_texts),
    cmocka_unit_test(test_v9_is_the_literal_form),
    cmocka_unit_test(test_header_of_the_inner_form_tells_no_activity),
    cmocka_unit_test(test_all_bytes_of_seq_count),
    cmocka_unit_test(test_sizes_follow_the_number_of_values),
    cmocka_unit_test(test_block_flag_makes_all_values_unavailable),
    cmocka_unit_test(test_every_flipped_bit_is_found),
    cmocka_unit_test(test_every_truncation_is_short),
    cmocka_unit_test(test_replay_reorder_and_drop_are_told_apart),
    cmocka_unit_test(test_step_beyond_the_window_forgets_it),
    cmocka_unit_test(test_records_of_others_do_not_open),
    cmocka_unit_test(test_counter_that_went_back_is_refused),
    cmocka_unit_test(test_second_sender_on_a_key_is_refused),
    cmocka_unit_test(test_limit_closes_the_key),
    cmocka_unit_test(test_key_of_zeros_is_refused),
    cmocka_unit_test(test_no_pair_of_key_and_nonce_occurs_twice),
    cmocka_unit_test(test_silence_of_four_intervals_is_stale),
    cmocka_unit_test(test_ring_delivers_in_order_over_many_rounds),
    cmocka_unit_test(test_ring_that_was_overrun_counts_what_is_lost),
    cmocka_unit_test(test_damaged_slot_is_counted_once_and_passed),
    cmocka_unit_test(test_half_written_slot_opens_later),
};

int main(void) { return cmocka_run_group_tests(tests, get_provider, NULL) == 0 ? 0 : 1; }
