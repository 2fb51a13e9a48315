// SPDX-License-Identifier: MIT
// Counts of tenants, independent of the machine that yielded them. tally/tenants.h explains them.
#ifndef TL_RESULT_TENANTS_H
#define TL_RESULT_TENANTS_H

#include <tally/tenants.h>

#include "base/arena.h"
#include "model/probe.h"

typedef struct tl_tenants_row {
    tl_tenants_view view;
    tl_tenants_block block;         // with values
    tl_tenants_block_value *values; // [event]; NULL: this view has no block
    // cells: of one partition; of the device, those of all partitions, one after the other.
    uint64_t *cells;
    uint64_t *shared; // of the shared units
} tl_tenants_row;

struct tl_tenants_counts {
    tl_arena arena;
    const char *file, *machine, *engine;
    bool is_literal;
    uint64_t clock_hz;
    uint64_t begin_cycle, end_cycle; // of what was counted
    uint64_t n_interval;             // from 1; 0: since the beginning
    bool is_complete;                // the run has ended
    uint32_t n_partitions;
    tl_probe units;        // of a partition: paths, types and cells; its tally is NULL
    tl_probe shared_units; // "chip.noc" and so on, likewise
    tl_tenants_row *rows;
    uint32_t n_rows;
    const char *monitor;      // NULL: none
    tl_tenants_event *events; // that blocks hold
    uint32_t n_events;
    bool shows_all; // text shows events that are 0 or not counted, too
};

void tl_tenants_release(tl_tenants_counts *counts); // NULL is fine

enum { TL_N_TENANTS_COLUMNS = 11 };
extern const tl_tenants_column tl_tenants_columns[TL_N_TENANTS_COLUMNS];
uint64_t tl_tenants_column_value(const tl_tenants_counts *counts, uint32_t row, uint32_t column);
TL_MUST_CHECK tl_status tl_tenants_signal(const tl_tenants_counts *counts, uint32_t row, const char *path, uint64_t *ret_value,
                                          tl_error *err);
// Sum of a signal over all units of that type in an array of cells.
uint64_t tl_tenants_sum(const tl_probe *units, const uint64_t *cells, const char *unit, const char *signal);
static inline int64_t tl_tenants_error(const tl_tenants_block_value *value) {
    return value->flags & TL_TENANTS_UNAVAILABLE ? 0 : (int64_t)(value->count + value->remainder - value->truth);
}
enum { TL_N_TENANTS_FLAGS = 5 };
const char *tl_tenants_flag_name(uint32_t flag); // of one bit: "overflow"
// Returns "device", "vm", "context", "no context", "switching" or "idle".
const char *tl_tenants_kind_name(tl_tenants_view_kind kind);

#endif
