// SPDX-License-Identifier: MIT
// Records as bytes: sealing, opening, and what is wrong with the ones that do not open.
#include "sealed/record.h"

#include <string.h>

#include "sealed/bytes.h"
#include "sealed/hash.h"

enum { STALE_INTERVALS = 4, INNER_WORDS = 4, WINDOW = 64 };

const char *const tl_record_class_names[TL_RECORD_N_CLASSES] = {
    [TL_RECORD_GOOD] = "good",       [TL_RECORD_SHORT] = "short",         [TL_RECORD_MALFORMED] = "malformed",
    [TL_RECORD_FOREIGN] = "foreign", [TL_RECORD_OLD_EPOCH] = "old_epoch", [TL_RECORD_NEXT_EPOCH] = "next_epoch",
    [TL_RECORD_FORGED] = "forged",   [TL_RECORD_REPLAYED] = "replayed",   [TL_RECORD_REORDERED] = "reordered",
};

uint32_t tl_record_payload_bytes(uint32_t n, bool is_literal) { return is_literal ? 8 * n : 8 * (INNER_WORDS + 2 * n + (n + 63) / 64); }

static void write_header(const tl_record_header *header, uint8_t ret_bytes[TL_RECORD_HEADER_BYTES]) {
    memset(ret_bytes, 0, TL_RECORD_HEADER_BYTES);
    tl_put_u32(ret_bytes, TL_RECORD_MAGIC);
    tl_put_u16(ret_bytes + 4, TL_RECORD_VERSION);
    tl_put_u16(ret_bytes + 6, header->flags);
    tl_put_u32(ret_bytes + 8, header->epoch);
    tl_put_u32(ret_bytes + 12, header->vm);
    tl_put_u32(ret_bytes + 16, header->ctx);
    tl_put_u32(ret_bytes + 20, header->n);
    tl_put_u64(ret_bytes + TL_RECORD_SEQ_AT, header->seq);
    tl_put_u64(ret_bytes + 32, header->gen);
    tl_put_u64(ret_bytes + 40, header->t_cycle);
    tl_put_u64(ret_bytes + 48, header->device);
    tl_put_u32(ret_bytes + 56, header->payload_bytes);
}

bool tl_record_read_header(const uint8_t *bytes, size_t n_bytes, tl_record_header *ret_header) {
    if (n_bytes < TL_RECORD_HEADER_BYTES || tl_get_u32(bytes) != TL_RECORD_MAGIC || tl_get_u16(bytes + 4) != TL_RECORD_VERSION)
        return false;
    *ret_header = (tl_record_header){
        .flags = tl_get_u16(bytes + 6),
        .epoch = tl_get_u32(bytes + 8),
        .vm = tl_get_u32(bytes + 12),
        .ctx = tl_get_u32(bytes + 16),
        .n = tl_get_u32(bytes + 20),
        .seq = tl_get_u64(bytes + TL_RECORD_SEQ_AT),
        .gen = tl_get_u64(bytes + 32),
        .t_cycle = tl_get_u64(bytes + 40),
        .device = tl_get_u64(bytes + 48),
        .payload_bytes = tl_get_u32(bytes + 56),
    };
    return true;
}

//  ---- sender

static void write_payload(const tl_record_image *image, bool is_literal, uint8_t *ret_bytes) {
    uint8_t *at = ret_bytes;
    if (!is_literal) {
        tl_put_u64(at, image->gen);
        tl_put_u64(at + 8, image->ctx | (uint64_t)image->flags << 32);
        tl_put_u64(at + 16, image->t_commit);
        tl_put_u64(at + 24, image->t_active);
        at += 8 * INNER_WORDS;
    }
    for (uint32_t i = 0; i < image->n; i++, at += 8)
        tl_put_u64(at, image->values[i]);
    if (is_literal)
        return;
    for (uint32_t i = 0; i < image->n; i++, at += 8)
        tl_put_u64(at, image->late[i]);
    memset(at, 0, 8 * (size_t)((image->n + 63) / 64));
    for (uint32_t i = 0; i < image->n; i++)
        at[i / 8] = (uint8_t)(at[i / 8] | (image->unavailable[i] != 0) << i % 8);
}

tl_status tl_record_seal(tl_record_sender *sender, const tl_record_image *image, uint64_t t_cycle, uint8_t *ret_record) {
    bool is_literal = sender->is_literal;
    uint32_t n_payload = tl_record_payload_bytes(image->n, is_literal);
    uint8_t header[TL_RECORD_HEADER_BYTES];
    write_header(
        &(tl_record_header){
            .flags = is_literal ? (uint16_t)(image->flags & 0xff) : TL_RECORD_INNER,
            .epoch = sender->epoch,
            .vm = sender->vm,
            .ctx = is_literal ? image->ctx : TL_RECORD_NO_CTX,
            .n = image->n,
            .gen = is_literal ? image->gen : 0,
            .t_cycle = t_cycle,
            .device = sender->device,
            .payload_bytes = n_payload,
        },
        header);
    write_payload(image, is_literal, sender->scratch);
    tl_status status = sender->crypto->seal(sender->key, header, sizeof header, TL_RECORD_SEQ_AT, sender->scratch, n_payload,
                                            ret_record + sizeof header, ret_record + sizeof header + n_payload);
    tl_wipe(sender->scratch, n_payload);
    if (status == TL_OK)
        memcpy(ret_record, header, sizeof header);
    else
        memset(ret_record, 0, sizeof header + n_payload + TL_TAG_BYTES);
    return status;
}

//  ---- receiver

static void read_payload(const uint8_t *bytes, const tl_record_header *header, bool is_literal, tl_record_image *image) {
    const uint8_t *at = bytes;
    uint32_t n = header->n;
    image->n = n;
    image->is_literal = is_literal;
    image->gen = header->gen;
    image->ctx = header->ctx;
    image->flags = header->flags;
    image->t_commit = image->t_active = 0;
    if (!is_literal) {
        image->gen = tl_get_u64(at);
        image->ctx = tl_get_u32(at + 8);
        image->flags = tl_get_u32(at + 12);
        image->t_commit = tl_get_u64(at + 16);
        image->t_active = tl_get_u64(at + 24);
        at += 8 * INNER_WORDS;
    }
    const uint8_t *late = at + 8 * (size_t)n, *bitmap = late + 8 * (size_t)n;
    bool has_none = image->flags & TL_RECORD_UNAVAILABLE;
    for (uint32_t i = 0; i < n; i++) {
        bool is_unavailable = has_none || (!is_literal && bitmap[i / 8] >> i % 8 & 1);
        image->unavailable[i] = is_unavailable;
        image->values[i] = is_unavailable ? 0 : tl_get_u64(at + 8 * (size_t)i);
        image->late[i] = is_unavailable || is_literal ? 0 : tl_get_u64(late + 8 * (size_t)i);
    }
}

// The envelope, before the key is used.
static tl_record_class class_of(const tl_record_receiver *receiver, const uint8_t *bytes, size_t n_bytes, const tl_record_header *header) {
    uint32_t n_payload = tl_record_payload_bytes(receiver->n, receiver->is_literal);
    bool is_inner = header->flags & TL_RECORD_INNER;
    if (header->n != receiver->n || header->payload_bytes != n_payload || is_inner == receiver->is_literal || tl_get_u32(bytes + 60) != 0)
        return TL_RECORD_MALFORMED;
    if (n_bytes < tl_record_bytes(receiver->n, receiver->is_literal))
        return TL_RECORD_SHORT;
    if (header->vm != receiver->vm || header->device != receiver->device)
        return TL_RECORD_FOREIGN;
    if (header->epoch != receiver->epoch)
        return header->epoch < receiver->epoch ? TL_RECORD_OLD_EPOCH : TL_RECORD_NEXT_EPOCH;
    return TL_RECORD_GOOD;
}

static tl_record_class open_one(tl_record_receiver *receiver, const uint8_t *bytes, size_t n_bytes, tl_record_header *ret_header,
                                tl_record_image *image, uint64_t *ret_n_lost) {
    if (n_bytes < TL_RECORD_HEADER_BYTES)
        return TL_RECORD_SHORT;
    tl_record_header header;
    if (!tl_record_read_header(bytes, n_bytes, &header))
        return TL_RECORD_MALFORMED;
    *ret_header = header;
    tl_record_class class = class_of(receiver, bytes, n_bytes, &header);
    if (class != TL_RECORD_GOOD)
        return class;
    const uint8_t *cipher = bytes + TL_RECORD_HEADER_BYTES;
    if (receiver->crypto->open(receiver->key, header.seq, bytes, TL_RECORD_HEADER_BYTES, cipher, header.payload_bytes,
                               cipher + header.payload_bytes, receiver->scratch) != TL_OK)
        return TL_RECORD_FORGED;
    // The tag was first, so that a changed seq is a forgery and no replay.
    if (header.seq <= receiver->last_seq) {
        uint64_t age = receiver->last_seq - header.seq;
        tl_wipe(receiver->scratch, header.payload_bytes);
        if (age >= WINDOW || receiver->window >> age & 1)
            return TL_RECORD_REPLAYED;
        receiver->window |= UINT64_C(1) << age;
        return TL_RECORD_REORDERED;
    }
    uint64_t step = header.seq - receiver->last_seq;
    receiver->window = step < WINDOW ? receiver->window << step | 1 : 1;
    receiver->last_seq = header.seq;
    *ret_n_lost = step - 1;
    read_payload(receiver->scratch, &header, receiver->is_literal, image);
    tl_wipe(receiver->scratch, header.payload_bytes);
    return TL_RECORD_GOOD;
}

static void count(tl_record_receiver *receiver, tl_record_class class, uint64_t n_lost, uint64_t now_cycles) {
    receiver->n_of_class[class]++;
    receiver->n_lost += n_lost;
    if (class == TL_RECORD_GOOD)
        receiver->last_arrival = now_cycles;
}

tl_record_class tl_record_open(tl_record_receiver *receiver, const uint8_t *bytes, size_t n_bytes, uint64_t now_cycles,
                               tl_record_header *ret_header, tl_record_image *image, uint64_t *ret_n_lost) {
    *ret_n_lost = 0;
    *ret_header = (tl_record_header){0};
    tl_record_class class = open_one(receiver, bytes, n_bytes, ret_header, image, ret_n_lost);
    count(receiver, class, *ret_n_lost, now_cycles);
    return class;
}

bool tl_record_is_stale(const tl_record_receiver *receiver, uint64_t now_cycles) {
    uint64_t interval = receiver->interval_cycles;
    return interval > 0 && now_cycles > receiver->last_arrival && (now_cycles - receiver->last_arrival) / interval >= STALE_INTERVALS;
}

//  ---- ring

// The slot holds nothing that says a record was sent: zeros, or the record of one round before.
static bool is_waiting(const tl_record_ring *ring, const uint8_t *slot, uint32_t index, uint64_t last_seq) {
    static const uint8_t zeros[TL_RECORD_HEADER_BYTES];
    tl_record_header header;
    if (memcmp(slot, zeros, sizeof zeros) == 0)
        return true;
    return tl_record_read_header(slot, ring->slot_bytes, &header) && header.seq <= last_seq && header.seq % ring->n_slots == index &&
           last_seq - header.seq < ring->n_slots;
}

static bool claims_more_than(const uint8_t *slot, uint32_t n_bytes, uint64_t seq, tl_record_header *ret_header) {
    return tl_record_read_header(slot, n_bytes, ret_header) && ret_header->seq > seq;
}

// Opens poller->copy, which was slot `index`.
static bool take(tl_record_poller *poller, uint32_t index, uint64_t now_cycles, tl_record_header *ret_header, tl_record_image *image,
                 uint64_t *ret_n_lost) {
    tl_record_class class = open_one(poller->receiver, poller->copy, poller->ring.slot_bytes, ret_header, image, ret_n_lost);
    if (class == TL_RECORD_GOOD) {
        count(poller->receiver, class, *ret_n_lost, now_cycles);
        return true;
    }
    tl_sha256 hash;
    uint8_t digest[TL_SHA256_BYTES];
    tl_sha256_init(&hash);
    tl_sha256_add(&hash, poller->copy, poller->ring.slot_bytes);
    tl_sha256_end(&hash, digest);
    if (poller->told[index] != tl_get_u64(digest))
        count(poller->receiver, class, 0, now_cycles);
    poller->told[index] = tl_get_u64(digest);
    return false;
}

bool tl_record_poll(tl_record_poller *poller, uint64_t now_cycles, tl_record_header *ret_header, tl_record_image *image,
                    uint64_t *ret_n_lost) {
    const tl_record_ring *ring = &poller->ring;
    uint64_t floor = poller->receiver->last_seq;
    tl_record_header header;
    *ret_n_lost = 0;
    for (uint32_t i = 0; i < ring->n_slots; i++) { // what is no new record at all
        memcpy(poller->copy, tl_record_ring_slot(ring, i), ring->slot_bytes);
        if (!is_waiting(ring, poller->copy, i, floor) && !claims_more_than(poller->copy, ring->slot_bytes, floor, &header))
            (void)take(poller, i, now_cycles, ret_header, image, ret_n_lost);
    }
    for (uint32_t n_tries = 0; n_tries < ring->n_slots; n_tries++) {
        uint32_t best = ring->n_slots;
        uint64_t lowest = 0;
        for (uint32_t i = 0; i < ring->n_slots; i++) {
            if (!claims_more_than(tl_record_ring_slot(ring, i), ring->slot_bytes, floor, &header) ||
                (best < ring->n_slots && header.seq >= lowest))
                continue;
            best = i;
            lowest = header.seq;
        }
        if (best == ring->n_slots)
            return false;
        memcpy(poller->copy, tl_record_ring_slot(ring, best), ring->slot_bytes);
        if (take(poller, best, now_cycles, ret_header, image, ret_n_lost))
            return true;
        floor = lowest;
    }
    return false;
}
