// SPDX-License-Identifier: MIT
// Declarations that catalogue.c (names of the machine) and metrics.c (names made of formulas) share
// with each other only.
#ifndef TL_NAMES_CATALOGUE_PARTS_H
#define TL_NAMES_CATALOGUE_PARTS_H

#include "base/arena.h"
#include "base/nearest.h"
#include "names/metrics.h"

typedef struct tl_definitions { // a table of named formulas, compiled when first asked for
    const char *file_name;
    tl_named_formula *rows;
    uint32_t *lines; // of the file, for messages
    const tl_formula **compiled;
    bool *is_compiling; // to catch formulas that use themselves
    uint32_t n_rows;
} tl_definitions;

typedef struct tl_group {
    tl_metric_group face;
    tl_definitions metrics;
    const char *unit; // type that its formulas need; NULL: every machine has what they need
    struct tl_group *next_absent;
} tl_group;

struct tl_catalogue {
    tl_arena arena;
    uint32_t n_harts;
    tl_catalogue_constant *constants;
    uint32_t n_constants;
    const char *selecting_pmu;
    tl_catalogue_unit *units;
    uint32_t n_units;
    tl_catalogue_signal *signals; // by cell
    uint32_t n_cells;
    tl_definitions aliases;
    tl_group **groups;
    uint32_t n_groups;
    tl_group *absent; // groups whose unit this machine does not have
};

enum { TL_MODE_U = 1, TL_MODE_S = 2, TL_MODE_M = 4 }; // 0: all, and no question asked

// The formula of row `index`; modes other than 0 are compiled anew each time.
tl_status tl_definition_compile(tl_catalogue *catalogue, tl_definitions *table, uint32_t index, uint32_t modes,
                                const tl_formula **ret_formula, tl_error *err);
tl_status tl_catalogue_compile(tl_catalogue *catalogue, const char *text, uint32_t modes, const tl_formula **ret_formula, tl_error *err);
bool tl_definitions_find(const tl_definitions *table, const char *name, uint32_t *ret_index);
bool tl_catalogue_find_metric(const tl_catalogue *catalogue, const char *name, tl_group **ret_group, uint32_t *ret_index);

// Built-in aliases and groups, read into the catalogue.
tl_status tl_catalogue_load(tl_catalogue *catalogue, tl_error *err);

// Appends unless the name is there already.
tl_status tl_quantities_add(tl_quantities *list, const tl_quantity *quantity, tl_error *err);

#endif
