// SPDX-License-Identifier: MIT
// See rows.h. Loops over all rows become vector instructions. One text serves both forms, as in
// lanes.c.
#include "pmu/netburst/rows.h"

#include "base/bits.h"

#define MOST TL_NETBURST_MAX_OUTPUT

TL_ALWAYS_INLINE bool growths_in(const uint32_t *restrict totals, uint8_t *restrict ret) {
    uint32_t growth[TL_CLOCK_ROWS], falls = 0;
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++)
        growth[r] = totals[r + 1] - totals[r];
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++)
        falls |= growth[r];
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++)
        ret[r] = (uint8_t)(growth[r] < MOST ? growth[r] : MOST);
    return falls <= INT32_MAX;
}

TL_ALWAYS_INLINE void add_in(uint8_t *restrict outputs, const uint8_t *restrict growths) {
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++) {
        const uint8_t sum = (uint8_t)(outputs[r] + growths[r]);
        outputs[r] = sum < MOST ? sum : MOST;
    }
}

TL_ALWAYS_INLINE void add_totals_in(uint32_t *restrict totals, const uint32_t *restrict cells, uint32_t factor) {
    for (uint32_t r = 0; r < TL_CLOCK_TOTALS; r++)
        totals[r] += cells[r] * factor;
}

TL_ALWAYS_INLINE uint32_t sum_in(const uint8_t *restrict outputs, uint8_t level) {
    uint8_t output[TL_CLOCK_ROWS];
    uint16_t sum = 0;
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++) {
        const uint8_t x = (uint8_t)(outputs[r] + level);
        output[r] = x < MOST ? x : MOST;
    }
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++)
        sum = (uint16_t)(sum + output[r]);
    return sum;
}

TL_ALWAYS_INLINE uint32_t passes_in(const uint8_t *restrict outputs, uint8_t level, uint8_t threshold, uint8_t flip,
                                    uint8_t *restrict ret) {
    uint8_t sum = 0;
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++) {
        const uint8_t x = (uint8_t)(outputs[r] + level), output = x < MOST ? x : MOST;
        ret[r] = (uint8_t)(((output > threshold ? 0xff : 0) ^ flip) & 1);
    }
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++)
        sum = (uint8_t)(sum + ret[r]);
    return sum;
}

#define FORM(name, attribute)                                                                                                           \
    attribute static bool growths_##name(const uint32_t *totals, uint8_t *ret) { return growths_in(totals, ret); }                      \
    attribute static void add_##name(uint8_t *outputs, const uint8_t *growths) { add_in(outputs, growths); }                            \
    attribute static void add_totals_##name(uint32_t *totals, const uint32_t *cells, uint32_t factor) {                                 \
        add_totals_in(totals, cells, factor);                                                                                           \
    }                                                                                                                                   \
    attribute static uint32_t sum_##name(const uint8_t *outputs, uint8_t level) { return sum_in(outputs, level); }                      \
    attribute static uint32_t passes_##name(const uint8_t *outputs, uint8_t level, uint8_t threshold, bool complements, uint8_t *ret) { \
        return passes_in(outputs, level, threshold, complements ? 0xff : 0, ret);                                                       \
    }                                                                                                                                   \
    static const tl_netburst_column_ops ops_##name = {growths_##name, add_##name, add_totals_##name, sum_##name, passes_##name};

FORM(portable, )
#ifdef __x86_64__
FORM(avx2, __attribute__((target("avx2"))))
#endif

const tl_netburst_column_ops *tl_netburst_column_ops_choose(bool is_portable) {
#ifdef __x86_64__
    if (!is_portable && __builtin_cpu_supports("avx2"))
        return &ops_avx2;
#endif
    (void)is_portable;
    return &ops_portable;
}
