// SPDX-License-Identifier: MIT
// Many clocks at once, in columns: a row is a clock that was told, or the clocks between two of
// these. A detector adds columns, a counter compares one. No counter overflows in them, and levels
// stay what they are.
#ifndef TL_PMU_NETBURST_ROWS_H
#define TL_PMU_NETBURST_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "model/tap.h"
#include "pmu/netburst/netburst.h"

typedef struct tl_netburst_rows {
    uint32_t n;
    uint64_t n_idle;    // clocks beside one for each row, in which only levels are
    bool ends_idle;     // with such a clock, or a row of them
    bool ends_repeated; // with several of them
    uint8_t active;     // as in tl_netburst_clock
    // Of used ESCRs: what occurs in a row, 0 behind the last one, and what occurs in all clocks.
    uint8_t output[TL_NETBURST_COUNTERS][TL_CLOCK_ROWS], level[TL_NETBURST_COUNTERS];
} tl_netburst_rows;

// Of all rows, whether they are filled or not.
typedef struct tl_netburst_column_ops {
    // Totals before row 0 and at the end of each row. Returns the growth in each row, at most
    // TL_NETBURST_MAX_OUTPUT. false: a total has fallen.
    bool (*growths)(const uint32_t totals[TL_CLOCK_TOTALS], uint8_t ret[TL_CLOCK_ROWS]);
    void (*add)(uint8_t outputs[TL_CLOCK_ROWS], const uint8_t growths[TL_CLOCK_ROWS]);
    void (*add_totals)(uint32_t totals[TL_CLOCK_TOTALS], const uint32_t cells[TL_CLOCK_TOTALS], uint32_t factor);
    // Returns the sum of the outputs.
    uint32_t (*sum)(const uint8_t outputs[TL_CLOCK_ROWS], uint8_t level);
    // ret_passes: 1 in rows whose output is over the threshold, or is not. Returns how many.
    uint32_t (*passes)(const uint8_t outputs[TL_CLOCK_ROWS], uint8_t level, uint8_t threshold, bool complements,
                       uint8_t ret_passes[TL_CLOCK_ROWS]);
} tl_netburst_column_ops;

// The portable ones, or the best ones of this host.
const tl_netburst_column_ops *tl_netburst_column_ops_choose(bool is_portable);

#endif
