// SPDX-License-Identifier: MIT
// Requests that wait, and the calendar of a server; see server.h.
#include "mem/server.h"

#include <string.h>

enum { LEAST_CYCLES = 1 << 10, MOST_CYCLES = 1 << 18, WORD_CYCLES = 64 };

uint32_t tl_server_calendar_cycles(uint64_t lead_cycles) {
    uint32_t n = LEAST_CYCLES;
    while (n < MOST_CYCLES && n < 2 * lead_cycles)
        n *= 2;
    return n;
}

void tl_server_take_calendar(tl_server *server, uint64_t *calendar, uint32_t n_cycles) {
    *server = (tl_server){.until = UINT64_MAX, .calendar = calendar, .n_calendar_cycles = n_cycles};
}

static uint64_t *word_of(const tl_server *server, uint64_t cycle) {
    return &server->calendar[(cycle & (server->n_calendar_cycles - 1)) / WORD_CYCLES];
}

static uint64_t low_bits(uint64_t n) { return n < WORD_CYCLES ? (UINT64_C(1) << n) - 1 : UINT64_MAX; }

// Which of the 64 cycles from this one on are busy. Words that begin at the front or later have old
// bits.
static uint64_t busy_from(const tl_server *server, uint64_t cycle) {
    const uint32_t at = cycle % WORD_CYCLES;
    const uint64_t high = at == 0 ? 0 : *word_of(server, cycle + WORD_CYCLES) << (WORD_CYCLES - at);
    return (*word_of(server, cycle) >> at | high) & low_bits(server->front - cycle);
}

// Returns the first cycle of the first gap. A gap that holds the last busy cycle found is none.
static uint64_t find_gap(const tl_server *server, uint64_t cycle, uint32_t busy_cycles) {
    for (uint32_t n_free = 0; n_free < busy_cycles && cycle + n_free < server->front;) {
        const uint64_t busy = busy_from(server, cycle + n_free) & low_bits(busy_cycles - n_free);
        if (busy != 0) {
            cycle += n_free + WORD_CYCLES - (uint32_t)__builtin_clzll(busy);
            n_free = 0;
        } else {
            n_free += WORD_CYCLES;
        }
    }
    return cycle;
}

// Cycles up to the new front come into the ring, and as many old ones go.
static void advance(tl_server *server, uint64_t front) {
    const uint64_t first = tl_align_up(server->front, WORD_CYCLES);
    if (TL_UNLIKELY(front - server->front >= server->n_calendar_cycles))
        memset(server->calendar, 0, server->n_calendar_cycles / 8);
    else
        for (uint64_t cycle = first; cycle < front; cycle += WORD_CYCLES)
            *word_of(server, cycle) = 0;
    server->front = front;
}

static void set_busy(tl_server *server, uint64_t cycle, uint32_t n) {
    while (n > 0) {
        const uint32_t at = cycle % WORD_CYCLES, part = n < WORD_CYCLES - at ? n : WORD_CYCLES - at;
        *word_of(server, cycle) |= low_bits(part) << at;
        cycle += part;
        n -= part;
    }
}

// No gap begins before cycle `begin`.
static TL_NOINLINE uint64_t book(tl_server *server, uint64_t time, uint64_t begin, uint32_t busy_cycles) {
    if (begin < server->front)
        begin = find_gap(server, begin, busy_cycles);
    if (begin + busy_cycles > server->front)
        advance(server, begin + busy_cycles);
    set_busy(server, begin, busy_cycles);
    return begin - time;
}

// Most requests find a gap within a word of the ring.
static inline uint64_t book_in_word(tl_server *server, uint64_t time, uint32_t busy_cycles) {
    uint64_t *word = word_of(server, time);
    uint32_t at = time % WORD_CYCLES;
    const uint64_t front = server->front, word_time = time - at;
    // The oldest word has made room for the newest.
    if (time < front && front - time > server->n_calendar_cycles - WORD_CYCLES)
        return 0;
    if (busy_cycles - 1 >= WORD_CYCLES) // 0 is none
        return book(server, time, time, busy_cycles);
    const uint64_t bits = low_bits(busy_cycles);
    if (time < front) {
        for (uint64_t busy; at + busy_cycles <= WORD_CYCLES && (busy = *word & bits << at) != 0;)
            at = WORD_CYCLES - (uint32_t)__builtin_clzll(busy);
    }
    if (at + busy_cycles > WORD_CYCLES)
        return book(server, time, word_time + at, busy_cycles);
    if (word_time + at + busy_cycles > front)
        advance(server, word_time + at + busy_cycles);
    *word |= bits << at;
    return word_time + at - time;
}

uint64_t tl_server_queue(tl_server *server, uint64_t time, uint32_t busy_cycles) {
    if (server->calendar)
        return book_in_word(server, time, busy_cycles);
    const uint64_t wait = server->until - time;
    server->start = time + wait;
    server->until = server->start + busy_cycles;
    return wait;
}
