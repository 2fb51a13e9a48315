// SPDX-License-Identifier: MIT
// A NetBurst PMU without a core, told of every sub-event of every event in every thread and class
// of privilege, each another number of times. A second reading of the rules, over the same numbers,
// says what a detector must count.
#ifndef TL_TESTS_NETBURST_FEED_H
#define TL_TESTS_NETBURST_FEED_H

#include <stdlib.h>

#include "base/bits.h"
#include "base/testing.h"
#include "pmu/netburst/catalogue.h"

typedef struct feed {
    tl_arena arena;
    tl_netburst *n;
    uint32_t n_threads;
    uint32_t n_interrupts;
} feed;

static void feed_interrupt(void *ctx, uint32_t thread, bool is_nmi) { ((feed *)ctx)->n_interrupts += 1 + 0 * thread * is_nmi; }

static void feed_begin(feed *f, uint32_t n_threads, uint32_t model, bool gates) {
    tl_netburst_settings settings = tl_netburst_default_settings;
    const tl_netburst_host host = {.ctx = f, .interrupt = feed_interrupt};
    tl_error err;
    *f = (feed){.n_threads = n_threads};
    settings.model = model;
    settings.power_gate = gates;
    if (tl_netburst_new(&settings, n_threads, &host, &f->arena, &f->n, &err) != TL_OK)
        fail_msg("%s", err.text);
}
static void feed_end(feed *f) { tl_arena_done(&f->arena); }

// ---- Requests of the bus and of its unit, as their masks lay them out.

static const uint16_t ioq_requests[] = {
    1 | 1 << 5 | 1 << 11 | 1 << 13,           // reads WB
    1 | 1 << 6 | 1 << 11 | 1 << 13,           // writes WB
    1 | 1 << 5 | 1 << 11 | 1 << 13 | 1 << 15, // prefetches WB
    1 | 1 << 5 | 1 << 7 | 1 << 13,            // reads UC
    3 | 1 << 6 | 1 << 8 | 1 << 14,            // writes WC, other processor, type 3
};
static const uint16_t bsq_requests[] = {
    3 << 2 | 1 << 7 | 1 << 9 | 6 << 11,     // reads of lines WB
    3 | 3 << 2 | 1 << 7 | 1 << 9 | 6 << 11, // write-backs
    3 << 2 | 1 << 7 | 6 << 11,              // prefetches
    1 << 2 | 1 << 9 | 1 << 10,              // reads of a chunk UC
};

static bool feed_is_ioq(tl_netburst_event e) { return e == TL_NB_IOQ_ALLOCATION || e == TL_NB_IOQ_ACTIVE_ENTRIES; }
static bool feed_is_bsq(tl_netburst_event e) { return e == TL_NB_BSQ_ALLOCATION || e == TL_NB_BSQ_ACTIVE_ENTRIES; }

static uint32_t feed_n_kinds(tl_netburst_event e) {
    return feed_is_ioq(e) ? TL_COUNT_OF(ioq_requests) : feed_is_bsq(e) ? TL_COUNT_OF(bsq_requests) : 16;
}
// 0: the event has no such sub-event.
static uint16_t feed_kind(tl_netburst_event e, uint32_t kind) {
    if (feed_is_ioq(e))
        return ioq_requests[kind];
    return feed_is_bsq(e) ? bsq_requests[kind] : (uint16_t)(tl_netburst_known_mask(e) & 1u << kind);
}
static uint32_t feed_times(tl_netburst_event e, uint32_t kind, uint32_t owner) {
    return 1 + ((uint32_t)e * 31 + kind * 17 + owner * 7) % 23;
}

// Each occurrence has a clock, and a clock without any is behind it. Returns the clocks.
static uint64_t feed_all(feed *f, tl_netburst_event only) {
    uint64_t n_clocks = 0;
    for (tl_netburst_event e = 1; e < TL_NB_N_EVENTS; e++) {
        if (only != TL_NB_NO_EVENT && e != only)
            continue;
        for (uint32_t kind = 0; kind < feed_n_kinds(e); kind++)
            for (uint32_t owner = f->n_threads == 1 ? 2 : 0; owner < 4 && feed_kind(e, kind) != 0; owner++)
                for (uint32_t i = 0; i < feed_times(e, kind, owner); i++) {
                    const tl_netburst_occurrence what = {(uint8_t)e, (uint8_t)(1u << owner), 1, feed_kind(e, kind)};
                    const tl_netburst_clock idle = {.n_clocks = 1, .active = (uint8_t)(1u << owner)};
                    tl_netburst_clock busy = idle;
                    busy.n_occurrences = 1;
                    busy.occurrences = &what;
                    tl_netburst_count(f->n, &busy);
                    tl_netburst_count(f->n, &idle);
                    n_clocks += 2;
                }
    }
    return n_clocks;
}

// ---- What a detector must count.

// Type, kind, memory type and agent must all match; without bit 15 prefetches do not count.
static bool feed_wants_ioq(uint16_t mask, uint16_t request) {
    const uint32_t both = mask & request;
    const bool is_type = (mask & 31) == 1 || (mask & 31) == (request & 31);
    return is_type && (both >> 5 & 3) && (both >> 7 & 31) && (both >> 13 & 3) && (!(request >> 15) || mask >> 15);
}
// Type, length, demand and memory type are compared by value. Other bits that the mask has must be
// there.
static bool feed_wants_bsq(uint16_t mask, uint16_t request) {
    for (uint32_t bit = 0; bit < 14; bit++) {
        const bool m = mask >> bit & 1, r = request >> bit & 1, by_value = bit < 4 || bit == 9 || bit > 10;
        if (bit != 4 && (by_value ? m != r : m && !r))
            return false;
    }
    return true;
}

static bool feed_wants(tl_netburst_event e, uint16_t mask, uint16_t what, uint32_t flags, uint32_t owner) {
    const bool is_user = owner == 0 || owner == 2, wants_user = flags & 5, wants_os = flags & 10;
    if (e == TL_NB_UOP_TYPE)
        return false;
    if (!(feed_is_ioq(e) ? feed_wants_ioq(mask, what) : feed_is_bsq(e) ? feed_wants_bsq(mask, what) : (mask & what) != 0))
        return false;
    if (tl_netburst_event_rows[e].is_ti)
        return is_user ? wants_user : wants_os;
    if (e == TL_NB_IOQ_ACTIVE_ENTRIES) // does not tell user and kernel apart
        return flags & (owner < 2 ? 3 : 12);
    return flags >> owner & 1;
}

static uint64_t feed_truth(const feed *f, tl_netburst_event e, uint16_t mask, uint32_t flags) {
    uint64_t n = 0;
    for (uint32_t kind = 0; kind < feed_n_kinds(e); kind++)
        for (uint32_t owner = f->n_threads == 1 ? 2 : 0; owner < 4; owner++)
            if (feed_kind(e, kind) != 0 && feed_wants(e, mask, feed_kind(e, kind), flags, owner))
                n += feed_times(e, kind, owner);
    return n;
}

#endif
