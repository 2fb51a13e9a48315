// SPDX-License-Identifier: MIT
// A NetBurst PMU without a machine, for its unit tests: registers, clocks, interrupts, and three
// pages of memory for debug store areas.
#ifndef TL_PMU_NETBURST_TEST_RIG_H
#define TL_PMU_NETBURST_TEST_RIG_H

#include <string.h>

#include "base/bits.h"
#include "base/testing.h"
#include "pmu/netburst/netburst.h"

enum { PAGE_AT = 0x10000, PAGE = 4096, MEMORY = 3 * PAGE, RECORD_32 = 40, RECORD_64 = 144 };

typedef struct rig {
    tl_arena arena;
    tl_netburst *n;
    tl_netburst_settings settings;
    uint32_t n_interrupts[TL_NETBURST_THREADS]; // an NMI is two
    uint8_t memory[MEMORY];
    uint32_t missing, read_only; // pages, bit by bit
    uint64_t least_written, most_written;
} rig;

static inline void rig_interrupt(void *ctx, uint32_t thread, bool is_nmi) { ((rig *)ctx)->n_interrupts[thread] += 1 + is_nmi; }

static inline bool rig_transfer(void *ctx, uint32_t thread, uint64_t vaddr, void *bytes, uint32_t n_bytes, bool is_write) {
    rig *r = ctx;
    assert_true(thread < TL_NETBURST_THREADS);
    assert_true(n_bytes > 0 && n_bytes <= RECORD_64 + TL_NBX_RECORD_BYTES);
    for (uint32_t i = 0; i < n_bytes; i++) {
        const uint64_t at = vaddr + i - PAGE_AT;
        if (at >= MEMORY || (r->missing >> at / PAGE & 1) || (is_write && (r->read_only >> at / PAGE & 1)))
            return false;
    }
    memcpy(is_write ? &r->memory[vaddr - PAGE_AT] : (uint8_t *)bytes, is_write ? (uint8_t *)bytes : &r->memory[vaddr - PAGE_AT], n_bytes);
    if (is_write) {
        r->least_written = tl_lesser(r->least_written, vaddr);
        r->most_written = vaddr + n_bytes > r->most_written ? vaddr + n_bytes : r->most_written;
    }
    return true;
}

// With the settings that it has.
static inline void rig_begin(rig *r, uint32_t n_threads) {
    const tl_netburst_host host = {.ctx = r, .interrupt = rig_interrupt, .transfer = rig_transfer};
    tl_error err;
    if (tl_netburst_new(&r->settings, n_threads, &host, &r->arena, &r->n, &err) != TL_OK)
        fail_msg("%s", err.text);
}
// The caller may change settings before rig_begin.
static inline void rig_init(rig *r) { *r = (rig){.settings = tl_netburst_default_settings, .least_written = UINT64_MAX}; }
static inline void rig_done(rig *r) { tl_arena_done(&r->arena); }

static inline void wrmsr_by(rig *r, uint32_t thread, uint32_t msr, uint64_t value) {
    assert_int_equal(tl_netburst_wrmsr(r->n, thread, msr, value), TL_OK);
}
static inline void wrmsr(rig *r, uint32_t msr, uint64_t value) { wrmsr_by(r, 0, msr, value); }
static inline uint64_t rdmsr(rig *r, uint32_t msr) {
    uint64_t value = 0;
    assert_int_equal(tl_netburst_rdmsr(r->n, 0, msr, &value), TL_OK);
    return value;
}
static inline uint64_t counter(rig *r, uint32_t i) { return rdmsr(r, TL_MSR_COUNTER + i); }

static inline void count(rig *r, uint64_t n_clocks, uint8_t active, const tl_netburst_occurrence *list, uint32_t n) {
    const tl_netburst_clock clock = {.n_clocks = n_clocks, .active = active, .occurrences = list, .n_occurrences = n};
    tl_netburst_count(r->n, &clock);
}

static inline uint64_t draw(uint64_t *state, uint64_t n) {
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*state >> 33) % n;
}

#endif
