// SPDX-License-Identifier: MIT
// Counters of the shared second-level cache, in a window on the bus: registers (regs.c), events
// (events.c), behavior (ccache.c). A counter counts any events of one of four sets, summed. One
// filter for all counters omits chosen clients. The block has no interrupt. Software cannot stop
// several counters at once.
//
// A client sends accesses to the cache. Client 2 h is the data cache of hart h, 2 h + 1 the
// instruction cache. The client after the last hart's stands for all devices. Evictions belong to
// no client, and the filter never omits them.
#ifndef TL_PMU_CCACHE_CCACHE_H
#define TL_PMU_CCACHE_CCACHE_H

#include "model/pmu.h"

enum {
    TL_CCACHE_PADDR = 0x2010000, // address of the window on SiFive's boards
    TL_CCACHE_MAX_COUNTERS = 64,
    TL_CCACHE_WINDOW_BYTES = 0x4000,
    TL_CCACHE_CONFIG = 0,
    TL_CCACHE_SELECT = 0x2000, // + 8 i
    TL_CCACHE_FILTER = 0x2800,
    TL_CCACHE_COUNTER = 0x3000, // + 8 i
    TL_CCACHE_SETS = 4,
    TL_CCACHE_BITS = 20,      // most events of a set
    TL_CCACHE_NO_CLIENT = 64, // no filter applies
};
// Makes a selector. Events of a set are combined by OR.
#define TL_CCACHE_EVENT(set, bit) (UINT64_C(1) << ((bit) + 8) | (set))

typedef struct tl_ccache_part { // a total that an event counts
    tl_cell cell;
    uint8_t client;
} tl_ccache_part;

typedef struct tl_ccache_event { // on one machine
    const tl_ccache_part *parts;
    uint32_t n_parts; // 0: not modeled
} tl_ccache_event;

// The keys of a machine description: keys.def.
typedef struct tl_ccache_settings {
    uint32_t n_counters; // 0: no block
    // Period in which a hostile device on the bus reads the block; 0: no such device.
    uint32_t snooper_cycles;
    uint32_t grant; // tl_grant of /dev/ccache; never until_exec
} tl_ccache_settings;

typedef struct tl_ccache {
    tl_pmu pmu;
    struct tl_snooper *snooper; // NULL: none
    uint32_t n_counters, n_clients;
    uint64_t filter; // filter of the counts since `seen`
    tl_ccache_event events[TL_CCACHE_SETS + 1][TL_CCACHE_BITS];
    uint64_t selects[TL_CCACHE_MAX_COUNTERS]; // selectors of the counts since `seen`
    tl_counter counters[TL_CCACHE_MAX_COUNTERS];
} tl_ccache;

static inline tl_ccache *tl_ccache_of(const tl_regfile *file) { return (tl_ccache *)(uintptr_t)file; }

extern const tl_regmap tl_ccache_regmap;
extern const tl_pmu_preset *const tl_ccache_presets[];
extern const tl_pmu_type tl_pmu_ccache;

// Hardware cost of the block: cost.c.
typedef struct tl_ccache_cost {
    uint64_t counter_bits, selector_bits, state_bits; // selectors and the filter; the sum
    uint64_t wires;                                   // of events, and of one bus port
} tl_ccache_cost;
tl_ccache_cost tl_ccache_cost_of(uint32_t n_counters, uint32_t n_clients);

// Functions for the rows of regs.c: ccache.c.
uint64_t tl_ccache_geometry(const tl_ccache *p);
// Removes events that are not modeled; 0: no such set.
uint64_t tl_ccache_legal_select(const tl_ccache *p, uint64_t wanted);
// Bits of the filter that select a client.
uint64_t tl_ccache_clients(const tl_ccache *p);
uint64_t tl_ccache_counter(tl_ccache *p, uint32_t index);
void tl_ccache_set_counter(tl_ccache *p, uint32_t index, uint64_t value);
void tl_ccache_set_select(tl_ccache *p, uint32_t index, uint64_t select);
void tl_ccache_set_filter(tl_ccache *p, uint64_t filter);

#endif
