// SPDX-License-Identifier: MIT
// The ring: records for a reader that maps it. The reader alone writes the tail.
#include "internal.h"

#include <string.h>

enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_HEADER_SIZE = 6,
    AT_BYTES = 8,
    AT_HEAD = 16,
    AT_TAIL = 64,
    AT_DROPPED = 128,
    AT_STATE = 136,
    AT_ROUND = 140
};
enum { ALIGNMENT = 8 };

static uint64_t load_acquire(const uint8_t *at) { return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE); }
static void store_release(uint8_t *at, uint64_t value) { __atomic_store_n((uint64_t *)(void *)at, value, __ATOMIC_RELEASE); }

void xcm_ring_init(xcm *m) {
    if (!m->config.ring)
        return;
    uint8_t *r = m->config.ring;
    memset(r, 0, XCM_RING_HEADER_BYTES);
    xcm_put_bytes(r + AT_MAGIC, 4, XCM_RING_MAGIC);
    xcm_put_bytes(r + AT_VERSION, 2, 1);
    xcm_put_bytes(r + AT_HEADER_SIZE, 2, XCM_RING_HEADER_BYTES);
    xcm_put_bytes(r + AT_BYTES, 8, m->config.ring_bytes);
    xcm_ring_note_state(m);
}

void xcm_ring_note_state(xcm *m) {
    if (!m->config.ring)
        return;
    m->config.ring[AT_STATE] = (uint8_t)m->state;
    xcm_put_bytes(m->config.ring + AT_ROUND, 4, m->round);
}

static void put_record(uint8_t *at, const xcm_record *record) {
    xcm_put_bytes(at, 4, record->size);
    xcm_put_bytes(at + 4, 2, record->type);
    xcm_put_bytes(at + 6, 2, record->flags);
    xcm_put_bytes(at + 8, 8, record->seq);
    xcm_put_bytes(at + 16, 8, record->time_ns);
    xcm_put_bytes(at + 24, 8, record->pc);
}

bool xcm_ring_add(xcm *m, xcm_record_type type, uint16_t flags, const uint64_t *words, uint32_t n_words) {
    uint8_t *r = m->config.ring;
    if (!r)
        return true;
    const uint64_t bytes = m->config.ring_bytes, head = m->ring_head;
    const uint64_t seen = load_acquire(r + AT_TAIL);
    // Nonsense of the reader is ignored.
    if (seen <= head && head - seen <= bytes && seen >= m->ring_tail)
        m->ring_tail = seen;
    const uint32_t size = XCM_RECORD_BYTES + 8 * n_words;
    const uint64_t offset = head & (bytes - 1), to_end = bytes - offset;
    const uint64_t pad = to_end < size ? to_end : 0;
    const uint64_t seq = m->ring_seq++;
    if (bytes - (head - m->ring_tail) < pad + size) {
        m->n_dropped += 1;
        xcm_put_bytes(r + AT_DROPPED, 8, m->n_dropped);
        return false;
    }
    uint8_t *data = r + XCM_RING_HEADER_BYTES;
    // A gap may be shorter than a record's head: size and type are all that a PAD has for sure.
    if (pad > 0) {
        memset(data + offset, 0, pad);
        xcm_put_bytes(data + offset, 4, pad);
        xcm_put_bytes(data + offset + 4, 2, XCM_RECORD_PAD);
    }
    const xcm_record record = {size, (uint16_t)type, (uint16_t)(flags | (m->ledger != 0 ? XCM_FLAG_PERTURBED : 0)), seq, m->now_ns, m->dlr};
    uint8_t *at = data + (pad > 0 ? 0 : offset);
    put_record(at, &record);
    for (uint32_t i = 0; i < n_words; i++)
        xcm_put_bytes(at + XCM_RECORD_BYTES + 8 * i, 8, words[i]);
    m->ring_head = head + pad + size;
    store_release(r + AT_HEAD, m->ring_head);
    return true;
}

// The reader's side. Nothing in the ring is believed, because the writer may be anybody.
bool xcm_ring_take(uint8_t *ring, uint64_t data_bytes, xcm_record *ret, uint8_t *to, uint32_t capacity) {
    const uint64_t bytes = data_bytes, head = load_acquire(ring + AT_HEAD);
    uint64_t tail = load_acquire(ring + AT_TAIL);
    if (bytes < ALIGNMENT || (bytes & (bytes - 1)) != 0 || tail % ALIGNMENT != 0 || head - tail > bytes)
        return false;
    while (tail < head) {
        const uint64_t offset = tail & (bytes - 1);
        const uint8_t *at = ring + XCM_RING_HEADER_BYTES + offset;
        const uint32_t size = (uint32_t)xcm_get_bytes(at, 4);
        const uint16_t type = (uint16_t)xcm_get_bytes(at + 4, 2);
        if (size < ALIGNMENT || size % ALIGNMENT != 0 || size > bytes - offset || size > head - tail)
            return false;
        tail += size;
        if (type == XCM_RECORD_PAD || size < XCM_RECORD_BYTES) {
            store_release(ring + AT_TAIL, tail);
            continue;
        }
        *ret = (xcm_record){
            size, type, (uint16_t)xcm_get_bytes(at + 6, 2), xcm_get_bytes(at + 8, 8), xcm_get_bytes(at + 16, 8), xcm_get_bytes(at + 24, 8)};
        const uint32_t n = size - XCM_RECORD_BYTES;
        memcpy(to, at + XCM_RECORD_BYTES, n < capacity ? n : capacity);
        store_release(ring + AT_TAIL, tail);
        return true;
    }
    return false;
}
