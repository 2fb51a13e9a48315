// SPDX-License-Identifier: MIT
// Round numbers; see interval.h.
#include "compare/interval.h"

static const uint32_t steps[] = {1, 2, 5, 10};

// The greatest power of ten that is at most n, which is at least 1.
static uint64_t power_below(uint64_t n) {
    uint64_t power = 1;
    while (power <= n / 10)
        power *= 10;
    return power;
}

static uint64_t round_down(uint64_t n) {
    uint64_t power = power_below(n), digit = n / power;
    return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

static uint64_t round_up(uint64_t n) {
    uint64_t power = power_below(n);
    uint32_t i = 0;
    while (power * steps[i] < n)
        i++;
    return power * steps[i];
}

uint64_t tl_compare_choose_interval(uint64_t program_cycles) {
    uint64_t wanted = round_down(program_cycles / TL_COMPARE_WANTED_LOOKS + 1);
    return wanted < TL_COMPARE_LEAST_INTERVAL   ? TL_COMPARE_LEAST_INTERVAL
           : wanted > TL_COMPARE_LONGEST_CHOSEN ? TL_COMPARE_LONGEST_CHOSEN
                                                : wanted;
}

bool tl_compare_is_outgrown(uint64_t interval_cycles, uint64_t look_cycles) { return look_cycles > interval_cycles / 2; }

uint64_t tl_compare_grown_interval(uint64_t look_cycles) { return round_up(2 * look_cycles); }
