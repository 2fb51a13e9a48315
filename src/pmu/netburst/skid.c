// SPDX-License-Identifier: MIT
// See skid.h. Two figures of the calibrated table are the paper's: 46.5 % of the samples are 69
// instructions late, and none less than 65. The others fill the figure that is not at hand. A deck
// has exactly the shares of the table, so a run of 200 interrupts has them, too.
#include "pmu/netburst/skid.h"

#include "base/bits.h"

enum { FIRST_DISTANCE = 65, MECHANISTIC_CLOCKS = 123 };
static const uint8_t cards[] = {16, 12, 18, 29, 93, 16, 8, 4, 4}; // of 200, from FIRST_DISTANCE on

void tl_skid_deck_init(tl_skid_deck *deck, uint64_t seed) {
    *deck = (tl_skid_deck){.random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1};
    uint32_t n = 0;
    for (uint32_t i = 0; i < TL_COUNT_OF(cards); i++)
        for (uint32_t k = 0; k < cards[i]; k++)
            deck->distances[n++] = (uint8_t)(FIRST_DISTANCE + i);
}

static uint64_t next_random(tl_skid_deck *deck) {
    uint64_t x = deck->random; // xorshift64
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return deck->random = x;
}

static uint32_t draw(tl_skid_deck *deck) {
    if (deck->n_left == 0)
        deck->n_left = TL_SKID_DECK;
    const uint32_t i = (uint32_t)(next_random(deck) % deck->n_left);
    const uint8_t drawn = deck->distances[i];
    deck->n_left -= 1;
    deck->distances[i] = deck->distances[deck->n_left]; // it stays, behind those that are left
    deck->distances[deck->n_left] = drawn;
    return drawn;
}

tl_moment tl_skid_arrival(const tl_netburst_settings *settings, tl_skid_deck *deck, tl_moment overflow) {
    const uint32_t ratio = settings->bus_ratio;
    switch ((tl_netburst_skid)settings->pmi_profile) {
    case TL_SKID_MECHANISTIC: return (tl_moment){overflow.cycle + MECHANISTIC_CLOCKS + ratio - overflow.cycle % ratio, UINT64_MAX};
    case TL_SKID_CALIBRATED: return (tl_moment){UINT64_MAX, overflow.insns + draw(deck)};
    default: return (tl_moment){overflow.cycle + settings->pmi_latency, UINT64_MAX};
    }
}
