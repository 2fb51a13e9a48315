// SPDX-License-Identifier: MIT
// The time from an overflow to its interrupt: fixed, or up to an edge of the bus clock, or drawn so
// that samples of the experiment of B. Sprunt's paper fall where the silicon's fell.
#ifndef TL_PMU_NETBURST_SKID_H
#define TL_PMU_NETBURST_SKID_H

#include "pmu/netburst/netburst.h"

enum { TL_SKID_DECK = 200 }; // shares of the table are multiples of half a percent

typedef struct tl_skid_deck { // of distances in instructions, drawn without putting back
    uint64_t random;          // never 0
    uint32_t n_left;
    uint8_t distances[TL_SKID_DECK];
} tl_skid_deck;

// When something happened, or is to happen. NEVER (UINT64_MAX): not by this clock.
typedef struct tl_moment {
    uint64_t cycle, insns; // of the hart; insns: retired by then
} tl_moment;

void tl_skid_deck_init(tl_skid_deck *deck, uint64_t seed);
// Returns when an overflow interrupts that has happened then.
tl_moment tl_skid_arrival(const tl_netburst_settings *settings, tl_skid_deck *deck, tl_moment overflow);

#endif
