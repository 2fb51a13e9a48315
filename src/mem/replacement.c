// SPDX-License-Identifier: MIT
// Victims by stamps. A binary tree of pseudo-LRU bits needs no bits of its own. A node's bit points
// away from the half that was used last. The half whose youngest stamp is older is that half. Ways
// that were never used count as oldest, and ties go left.
#include "mem/replacement.h"

static uint32_t oldest(const uint64_t *stamps, uint32_t ways) {
    if (ways == 32) // the common first-level TLB, unrolled
        return tl_replacement_oldest(stamps, 32);
    if (ways % 8 == 0)
        return tl_replacement_oldest(stamps, ways);
    uint64_t least = UINT64_MAX;
    for (uint32_t way = 0; way < ways; way++)
        least = tl_lesser(least, tl_replacement_key(stamps, way));
    return (uint32_t)least & ((1u << TL_WAY_BITS) - 1);
}

static uint64_t youngest_stamp(const uint64_t *stamps, uint32_t ways) {
    uint64_t most = 0;
    for (uint32_t way = 0; way < ways; way++)
        most = stamps[way] > most ? stamps[way] : most;
    return most;
}

static uint32_t tree_plru(const uint64_t *stamps, uint32_t ways) {
    uint32_t first = 0;
    while (ways > 1) {
        ways /= 2;
        if (youngest_stamp(stamps + first, ways) > youngest_stamp(stamps + first + ways, ways))
            first += ways;
    }
    return first;
}

static uint32_t drawn(uint64_t *random, uint32_t ways) { // xorshift64 (Marsaglia 2003)
    uint64_t x = *random;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    *random = x;
    return (uint32_t)((x >> 32) % ways);
}

// The generator is splitmix64 (Steele et al. 2014).
uint64_t tl_replacement_seed(uint64_t machine_seed, uint32_t unit_index) {
    uint64_t z = machine_seed + (unit_index + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    z ^= z >> 31;
    return z != 0 ? z : 1; // xorshift never leaves 0
}

uint32_t tl_replacement_victim(tl_replacement policy, const uint64_t *stamps, uint32_t ways, uint64_t *random) {
    switch (policy) {
    case TL_REPLACE_LRU:
    case TL_REPLACE_FIFO: return oldest(stamps, ways);
    case TL_REPLACE_PLRU: return tree_plru(stamps, ways);
    case TL_REPLACE_RANDOM: return drawn(random, ways);
    }
    return 0;
}
