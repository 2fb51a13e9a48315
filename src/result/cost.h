// SPDX-License-Identifier: MIT
// Hardware cost of a PMU design, part by part, beside other designs of equal reach: a value for
// reports.
#ifndef TL_RESULT_COST_H
#define TL_RESULT_COST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

#define TL_COST_SENTENCE "Counted are the bits that registers, FIFOs and control store, and the wires of events, links and ports."

typedef struct tl_cost_part { // of the design on this machine
    const char *name;
    uint64_t each, n, sum; // bits or wires of one, how many there are, all of them
    bool is_wires;
} tl_cost_part;

// All counters of a chip, reached by all of its harts.
typedef struct tl_cost_design {
    const char *name;
    bool has_window; // registers are reached by addresses, else by CSRs
    uint64_t state_bits, wires;
    uint64_t n_csrs;        // of each hart
    uint64_t address_bytes; // of the bus
    uint64_t n_at_once;     // events counted without loss
} tl_cost_design;

typedef struct tl_cost_size { // a chip of so many units with so many counters each
    uint32_t n_units, n_counters;
    tl_cost_design *designs; // n_kinds of tl_cost
} tl_cost_size;

enum { TL_COST_MAX_PARTS = 16, TL_COST_MAX_TABLES = 8, TL_COST_MAX_COLUMNS = 8 };

// A table of a design's page beside storage: activity, energy, ratios.
typedef struct tl_cost_table {
    const char *name;  // one word: "energy"
    const char *title; // one sentence
    const char *corner, *columns[TL_COST_MAX_COLUMNS];
    uint32_t n_columns, n_rows, n_decimals;
    const char *const *rows; // their names
    const double *values;    // n_columns of each row; negative: never
    const double *x;         // of each row, where the table is a curve; NULL: it is none
    const char *y_label;     // of a curve
    // A measured point of the first column beside the curve; NULL: there is none.
    const char *mark;
    double mark_x, mark_y;
} tl_cost_table;

typedef struct tl_cost {
    tl_arena arena;
    const char *title, *holders; // as in tl_account_page
    const char *machine, *hpc;   // hpc: tl_header.pmu_settings
    // One sentence about what is not in the account, or NULL.
    const char *remark;
    // n_wired: numbers that software reads and that count nothing.
    uint32_t n_harts, n_holders, n_counters, n_wired;
    tl_cost_part parts[TL_COST_MAX_PARTS];
    uint32_t n_parts;
    // The machine's own reach. The first n_kinds are the design itself and those that would count
    // as much; then come other designs as their chips have them.
    tl_cost_design *designs;
    uint32_t n_kinds, n_designs;
    tl_cost_size *sizes;
    uint32_t n_sizes;
    tl_cost_table tables[TL_COST_MAX_TABLES];
    uint32_t n_tables;
} tl_cost;

#endif
