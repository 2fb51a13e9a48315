// SPDX-License-Identifier: MIT
// See lanes.h. Loops over all lanes become vector instructions. One text serves both forms: the
// compiler makes it once for every host and once for AVX2.
#include "pmu/netburst/lanes.h"

#include <string.h>

#include "base/bits.h"

#define MOST TL_NETBURST_MAX_OUTPUT

// false: a field that the plan has not.
TL_ALWAYS_INLINE bool add_occurrences(const tl_netburst_lanes *l, const tl_netburst_clock *clock, uint8_t x[restrict TL_NB_LANES]) {
    for (uint32_t k = 0; k < clock->n_occurrences; k++) {
        const tl_netburst_occurrence *what = &clock->occurrences[k];
        const uint8_t weight = (uint8_t)(what->weight < MOST ? what->weight : MOST);
        if (TL_UNLIKELY(what->owner >= TL_NB_STATES))
            return false;
        const uint8_t *restrict by = what->owner != 0 ? l->owned[what->owner] : l->shared[clock->active];
        uint32_t bits = what->mask;
        if (bits == 0)
            continue;
        const uint8_t *restrict hit = l->hit[what->event][__builtin_ctz(bits)];
        uint8_t several[TL_NB_LANES];
        bits &= bits - 1;
        if (TL_UNLIKELY(bits != 0)) {
            memcpy(several, hit, sizeof several);
            for (; bits != 0; bits &= bits - 1)
                for (uint32_t i = 0; i < TL_NB_LANES; i++)
                    several[i] |= l->hit[what->event][__builtin_ctz(bits)][i];
            hit = several;
        }
        for (uint32_t i = 0; i < TL_NB_LANES; i++) {
            const uint8_t sum = (uint8_t)(x[i] + (hit[i] & by[i] & weight));
            x[i] = sum < MOST ? sum : MOST;
        }
    }
    return true;
}

TL_ALWAYS_INLINE bool count(tl_netburst_lanes *restrict l, const tl_netburst_clock *restrict clock) {
    uint8_t x[TL_NB_LANES] = {0}, y[TL_NB_LANES], first[TL_NB_LANES], next[TL_NB_LANES], stops = 0;
    const uint8_t *times = l->times[clock->active], *unowned = l->unowned[clock->active];
    const uint16_t more = (uint16_t)(clock->n_clocks - 1);
    if (clock->n_occurrences > 0 && !add_occurrences(l, clock, x))
        return false;
    for (uint32_t i = 0; i < TL_NB_LANES; i++) {
        const uint8_t output = x[i] & unowned[i], compares = l->compares[i];
        y[i] = (uint8_t)((output > l->threshold[i] ? 0xff : 0) ^ l->complements[i]);
        const uint8_t rises = (uint8_t)(y[i] & ~(l->was[i] & l->edges[i]));
        first[i] = (uint8_t)(((compares & rises & 1) | (~compares & output)) & times[i]);
    }
    for (uint32_t i = 0; i < TL_NB_LANES; i++)
        stops |= first[i] & l->critical[i];
    if (TL_UNLIKELY(stops != 0))
        return false;
    // Only edges differ in the clocks behind the first one.
    for (uint32_t i = 0; i < TL_NB_LANES; i++)
        next[i] = (uint8_t)(first[i] & ~(l->compares[i] & l->edges[i]));
    for (uint32_t i = 0; i < TL_NB_LANES; i++)
        l->was[i] = y[i] & l->compares[i];
    if (more == 0) {
        for (uint32_t i = 0; i < TL_NB_LANES; i++)
            l->sums[i] = (uint16_t)(l->sums[i] + first[i]);
        memcpy(l->step, first, sizeof first);
    } else {
        for (uint32_t i = 0; i < TL_NB_LANES; i++)
            l->sums[i] = (uint16_t)(l->sums[i] + first[i] + next[i] * more);
        memcpy(l->step, next, sizeof next);
    }
    l->n_clocks -= (uint32_t)clock->n_clocks;
    return true;
}

static bool count_portable(tl_netburst_lanes *l, const tl_netburst_clock *clock) { return count(l, clock); }
#ifdef __x86_64__
__attribute__((target("avx2"))) static bool count_avx2(tl_netburst_lanes *l, const tl_netburst_clock *clock) { return count(l, clock); }
#endif

void tl_netburst_lanes_choose(tl_netburst_lanes *lanes, bool is_portable) {
    lanes->count = count_portable;
#ifdef __x86_64__
    if (!is_portable && __builtin_cpu_supports("avx2"))
        lanes->count = count_avx2;
#else
    (void)is_portable;
#endif
}
