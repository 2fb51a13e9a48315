// SPDX-License-Identifier: MIT
// Any bytes to the receiver of sealed records: as they are, and as damage to records that were
// sealed. A record that opens is a sealed one, unchanged, with a seq above all before. Any text as
// a key file.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sealed/key_file.h"
#include "sealed/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N = 3, RECORD_BYTES = 64 + 8 * (4 + 2 * N + 1) + 16, MAX_SEALED = 32, MAX_ACTIONS = 512, SLOTS = 4 };
enum { RAW, SEAL, OPEN, FLIP, CUT, PUT_IN_RING, POLL, N_ACTIONS };

static const uint8_t *at, *end;

static void require(bool is_so) {
    if (!is_so)
        abort();
}

static uint8_t take(void) { return at < end ? *at++ : 0; }

typedef struct line {
    tl_seal_key sealing, opening;
    uint64_t witness;
    uint8_t sealed[MAX_SEALED][RECORD_BYTES];
    unsigned n_sealed;
    tl_record_sender sender;
    tl_record_receiver receiver;
    uint8_t scratch[2][RECORD_BYTES], ring[SLOTS * RECORD_BYTES], copy[RECORD_BYTES];
    uint64_t told[SLOTS], values[N], late[N];
    uint8_t unavailable[N];
    tl_record_image image;
    tl_record_header header;
    uint64_t n_lost, last;
} line;

static void begin(line *l, const tl_crypto *crypto) {
    const uint8_t key[TL_KEY_BYTES] = {5}, mask[TL_NONCE_BYTES] = {6};
    memset(l, 0, sizeof *l);
    tl_seal_key_init(&l->sealing, key, mask, &l->witness);
    tl_seal_key_init(&l->opening, key, mask, NULL);
    l->sender = (tl_record_sender){crypto, &l->sealing, 7, 2, 9, false, l->scratch[0]};
    l->receiver =
        (tl_record_receiver){.crypto = crypto, .key = &l->opening, .device = 7, .vm = 2, .epoch = 9, .n = N, .scratch = l->scratch[1]};
    l->image = (tl_record_image){.values = l->values, .late = l->late, .unavailable = l->unavailable};
}

static void seal(line *l) {
    uint64_t values[N], late[N] = {0};
    uint8_t unavailable[N] = {0};
    if (l->n_sealed == MAX_SEALED)
        return;
    for (unsigned i = 0; i < N; i++)
        values[i] = 1000 * (l->n_sealed + 1) + i;
    const tl_record_image image = {.n = N, .values = values, .late = late, .unavailable = unavailable};
    require(tl_record_seal(&l->sender, &image, 1, l->sealed[l->n_sealed++]) == TL_OK);
}

static void check_good(line *l) {
    uint64_t seq = l->header.seq;
    require(seq > l->last && seq <= l->n_sealed && l->n_lost == seq - l->last - 1);
    for (unsigned i = 0; i < N; i++)
        require(l->values[i] == 1000 * seq + i && !l->unavailable[i]);
    l->last = seq;
}

// The file is in a block of exactly this size, so that a sanitizer sees reads past its end.
static void open_bytes(line *l, const uint8_t *bytes, size_t n_bytes) {
    uint8_t *exact = malloc(n_bytes ? n_bytes : 1);
    require(exact != NULL);
    memcpy(exact, bytes, n_bytes);
    memset(l->values, 0x5a, sizeof l->values);
    tl_record_class class = tl_record_open(&l->receiver, exact, n_bytes, 0, &l->header, &l->image, &l->n_lost);
    bool is_sealed = false;
    for (unsigned i = 0; i < l->n_sealed; i++)
        is_sealed = is_sealed || (n_bytes >= RECORD_BYTES && memcmp(exact, l->sealed[i], RECORD_BYTES) == 0);
    free(exact);
    require((class == TL_RECORD_GOOD || class == TL_RECORD_REPLAYED || class == TL_RECORD_REORDERED) == is_sealed);
    if (class == TL_RECORD_GOOD)
        check_good(l);
    else
        require(l->values[0] == UINT64_C(0x5a5a5a5a5a5a5a5a) && l->n_lost == 0);
}

static void act(line *l, tl_record_poller *poller) {
    uint8_t bytes[RECORD_BYTES] = {0};
    unsigned which = 0;
    uint8_t action = take() % N_ACTIONS;
    if (action >= OPEN && action <= PUT_IN_RING && l->n_sealed > 0) {
        which = take() % l->n_sealed;
        memcpy(bytes, l->sealed[which], sizeof bytes);
    }
    switch (action) {
    case RAW: {
        size_t n = take(), left = (size_t)(end - at);
        n = n < left ? n : left;
        open_bytes(l, at, n);
        at += n;
        break;
    }
    case SEAL: seal(l); break;
    case OPEN: open_bytes(l, bytes, sizeof bytes); break;
    case FLIP: {
        uint8_t byte = take(), bit = take();
        bytes[byte % sizeof bytes] ^= (uint8_t)(1 << bit % 8);
        open_bytes(l, bytes, sizeof bytes);
        break;
    }
    case CUT: open_bytes(l, bytes, take() % sizeof bytes); break;
    case PUT_IN_RING: {
        uint8_t slot = take(), byte = take(), flip = take();
        bytes[byte % sizeof bytes] ^= flip;
        memcpy(l->ring + slot % SLOTS * RECORD_BYTES, bytes, sizeof bytes);
        break;
    }
    case POLL:
        if (tl_record_poll(poller, 0, &l->header, &l->image, &l->n_lost))
            check_good(l);
        break;
    default: break;
    }
}

static void read_key_file(void) {
    tl_key_file file;
    tl_error err = {0};
    FILE *stream = at < end ? fmemopen((void *)(uintptr_t)at, (size_t)(end - at), "r") : NULL;
    if (!stream)
        return;
    tl_status status = tl_key_file_read(stream, "input", &file, &err);
    require(status == TL_OK ? file.n_values >= 1 && file.n_values <= TL_RECORD_MAX_VALUES : err.text[0] != '\0');
    fclose(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static line l;
    const tl_crypto *crypto;
    at = data;
    end = data + size;
    if (tl_crypto_get(&crypto, NULL) != TL_OK)
        return 0;
    if (take() == 'k') {
        read_key_file();
        return 0;
    }
    begin(&l, crypto);
    tl_record_poller poller = {{l.ring, SLOTS, RECORD_BYTES}, &l.receiver, l.told, l.copy};
    for (unsigned n = 0; at < end && n < MAX_ACTIONS; n++)
        act(&l, &poller);
    return 0;
}
