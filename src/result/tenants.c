// SPDX-License-Identifier: MIT
// Columns of tenants' tables as sums of signals; see tenants.h.
#include "result/tenants.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define COLUMN(column, sentence) \
    { .size = sizeof(tl_tenants_column), .name = column, .meaning = sentence }
const tl_tenants_column tl_tenants_columns[TL_N_TENANTS_COLUMNS] = {
    COLUMN("instructions", "Counts retired instructions of all harts."),
    COLUMN("cycles", "Counts cycles in which a hart had something to run, added up over harts."),
    COLUMN("idle", "Counts cycles in which a hart had nothing to run, added up over harts."),
    COLUMN("branch_misses", "Counts conditional branches whose direction was predicted wrongly."),
    COLUMN("l1i_misses", "Counts misses of first-level instruction caches."),
    COLUMN("l1d_misses", "Counts loads and stores that missed the first-level data cache."),
    COLUMN("l2_misses", "Counts requests for lines that the second level did not hold."),
    COLUMN("dram_lines", "Counts lines read from memory or written to it."),
    COLUMN("dma_read_bytes", "Counts bytes that the DMA engine brought in."),
    COLUMN("dma_written_bytes", "Counts bytes that the DMA engine took out."),
    COLUMN("noc_blocked", "Counts cycles in which a burst waited for the interconnect root."),
};

typedef struct source {
    uint32_t column;
    const char *unit, *signal; // unit type of a partition; "noc", "io", "dma" with is_shared
    bool is_shared;
} source;
static const source sources[] = {
    {0, "hart", "instret", false}, {1, "hart", "cycle", false},    {2, "hart", "idle_cycle", false}, {3, "bp", "cond_miss", false},
    {4, "l1i", "miss", false},     {5, "l1d", "load_miss", false}, {5, "l1d", "store_miss", false},  {6, "l2", "readmiss", false},
    {7, "mem", "read", false},     {7, "mem", "write", false},     {8, "dma", "bytes_read", true},   {9, "dma", "bytes_written", true},
    {10, "noc", "blocked", true},
};

void tl_tenants_release(tl_tenants_counts *counts) {
    if (!counts)
        return;
    tl_arena_done(&counts->arena);
    free(counts);
}

uint64_t tl_tenants_sum(const tl_probe *units, const uint64_t *cells, const char *unit, const char *signal) {
    uint64_t sum = 0;
    for (uint32_t u = 0; u < units->n_units; u++) {
        const tl_unit_type *type = units->units[u].type;
        for (uint32_t s = 0; s < type->n_signals && strcmp(type->name, unit) == 0; s++)
            if (strcmp(type->signals[s].name, signal) == 0)
                sum += cells[units->units[u].first_cell + s];
    }
    return sum;
}

uint64_t tl_tenants_column_value(const tl_tenants_counts *counts, uint32_t row, uint32_t column) {
    const tl_tenants_row *r = &counts->rows[row];
    uint32_t n_parts = r->view.kind == TL_TENANTS_DEVICE ? counts->n_partitions : 1;
    uint64_t sum = 0;
    for (size_t i = 0; i < TL_COUNT_OF(sources); i++) {
        const source *s = &sources[i];
        if (s->column != column)
            continue;
        if (s->is_shared)
            sum += tl_tenants_sum(&counts->shared_units, r->shared, s->unit, s->signal);
        for (uint32_t p = 0; p < n_parts && !s->is_shared; p++)
            sum += tl_tenants_sum(&counts->units, r->cells + (size_t)p * counts->units.n_cells, s->unit, s->signal);
    }
    return sum;
}

static tl_status unknown(const char *path, tl_error *err) {
    return tl_fail(err, TL_ENOENT, "%.80s: no signal of this view; tally tenants --json names them", path);
}

tl_status tl_tenants_signal(const tl_tenants_counts *counts, uint32_t row, const char *path, uint64_t *ret_value, tl_error *err) {
    const tl_tenants_row *r = &counts->rows[row];
    const char *rest = path;
    uint32_t partition = 0;
    tl_cell cell;
    if (strncmp(path, "chip.", 5) == 0) {
        if (tl_probe_resolve(&counts->shared_units, path, &cell) != TL_OK)
            return unknown(path, err);
        *ret_value = r->shared[cell];
        return TL_OK;
    }
    if (r->view.kind == TL_TENANTS_DEVICE) {
        char *end = NULL;
        unsigned long number = path[0] == 'p' ? strtoul(path + 1, &end, 10) : 0;
        if (!end || end == path + 1 || *end != '.' || number >= counts->n_partitions)
            return tl_fail(err, TL_ENOENT, "%.80s: signals of the device begin with a partition, p0. to p%u., or with chip.", path,
                           counts->n_partitions - 1);
        partition = (uint32_t)number;
        rest = end + 1;
    }
    if (tl_probe_resolve(&counts->units, rest, &cell) != TL_OK)
        return unknown(path, err);
    *ret_value = r->cells[(size_t)partition * counts->units.n_cells + cell];
    return TL_OK;
}

const char *tl_tenants_kind_name(tl_tenants_view_kind kind) {
    static const char *const names[] = {"device", "vm", "context", "no context", "switching", "idle"};
    return (size_t)kind < TL_COUNT_OF(names) ? names[kind] : "?";
}

const char *tl_tenants_flag_name(uint32_t flag) {
    switch (flag) {
    case TL_TENANTS_OVERFLOW: return "overflow";
    case TL_TENANTS_LOSSY: return "lossy";
    case TL_TENANTS_UNAVAILABLE: return "unavailable";
    case TL_TENANTS_SATURATED: return "saturated";
    case TL_TENANTS_BUSY: return "busy";
    default: return "?";
    }
}
