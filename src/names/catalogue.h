// SPDX-License-Identifier: MIT
// Every name that a user may ask for on one machine, with its meaning: signals, perf and PAPI
// aliases, metrics.
//
// An event is, in this order: an alias ("cycles", metrics/aliases.txt), an exact signal path
// ("hart0.l1d.load_miss"), or a signal of a unit type, summed over its instances ("l1d.load_miss").
// A glob yields one event for each alias and each sum that matches ("*.load_miss", "l2.*"), or,
// when none does, for each path ("hart0.*"). Suffixes :u :k :m ask for privilege modes where they
// are known. A metric is a group of metrics/*.txt or a name from one ("cpi_stack", "ipc"), or a
// glob over metrics.
//
// The catalogue owns everything that it returns.
#ifndef TL_NAMES_CATALOGUE_H
#define TL_NAMES_CATALOGUE_H

#include "base/status.h"
#include "base/strbuf.h"
#include "model/unit.h"
#include "names/formula.h"

typedef struct tl_catalogue tl_catalogue;

typedef struct tl_catalogue_constant {
    const char *name; // "l2.line", which formulas call machine.l2.line; outlives the catalogue
    uint64_t value;
} tl_catalogue_constant;

// The machine whose names the catalogue holds. The catalogue copies it; it reads type, path and
// first_cell of a unit.
typedef struct tl_catalogue_of {
    const tl_unit *units;
    uint32_t n_units, n_cells, n_harts;
    const tl_catalogue_constant *constants;
    uint32_t n_constants;
    const char *selecting_pmu; // a PMU that takes selectors, for messages; outlives the catalogue
} tl_catalogue_of;
TL_MUST_CHECK tl_status tl_catalogue_new(const tl_catalogue_of *of, tl_catalogue **ret_catalogue, tl_error *err);
void tl_catalogue_free(tl_catalogue *catalogue); // NULL is fine

// -- what there is
typedef struct tl_catalogue_signal {
    const char *path;  // "hart0.l1d.load_miss"
    const char *event; // "l1d.load_miss": the sum over all instances
    const tl_unit_type *type;
    const tl_signal *signal;
    int hart; // -1: a shared unit
} tl_catalogue_signal;
uint32_t tl_catalogue_n_cells(const tl_catalogue *catalogue);
tl_catalogue_signal tl_catalogue_signal_at(const tl_catalogue *catalogue, tl_cell cell);

uint32_t tl_catalogue_n_constants(const tl_catalogue *catalogue);
tl_catalogue_constant tl_catalogue_constant_at(const tl_catalogue *catalogue, uint32_t index);

typedef struct tl_catalogue_unit {
    const char *path; // "hart0.l1d"
    const tl_unit_type *type;
    tl_cell first_cell;
    int hart;
} tl_catalogue_unit;
uint32_t tl_catalogue_n_units(const tl_catalogue *catalogue);
tl_catalogue_unit tl_catalogue_unit_at(const tl_catalogue *catalogue, uint32_t index);

typedef struct tl_named_formula {
    // `unit` is "" for plain events; else "cycles", "bytes", "ns", "%" and others.
    const char *name, *unit, *formula, *meaning;
} tl_named_formula;
typedef tl_named_formula tl_alias;
uint32_t tl_catalogue_n_aliases(const tl_catalogue *catalogue);
const tl_alias *tl_catalogue_alias_at(const tl_catalogue *catalogue, uint32_t index);

const char *tl_measure_unit(tl_measure measure); // "", "cycles", "bytes"

// -- what a user asked for
typedef struct tl_quantity {
    const char *name;    // as asked, or the path a glob found
    const char *unit;    // "", "cycles", "bytes", "ns", "%", "per instruction", ...
    const char *meaning; // one sentence
    const char *group;   // metrics: the group it came from; events: NULL
    bool is_metric;      // derived by a formula; else truth
    const tl_formula *formula;
} tl_quantity;

typedef struct tl_quantities { // a zeroed one is empty
    tl_quantity *items;
    uint32_t n_items, capacity;
} tl_quantities;
void tl_quantities_done(tl_quantities *list); // frees the array; NULL items are fine

// Appends the quantities of a comma-separated list, in order, each name once. A failure leaves
// `list` unchanged. TL_ENOENT offers the nearest names.
TL_MUST_CHECK tl_status tl_catalogue_events(tl_catalogue *catalogue, const char *names, tl_quantities *list, tl_error *err);
TL_MUST_CHECK tl_status tl_catalogue_metrics(tl_catalogue *catalogue, const char *names, tl_quantities *list, tl_error *err);
// The next item of a comma-separated list, without blanks and braces around it; NULL at the end.
const char *tl_next_name(const char **rest, char *ret_name, size_t size_bytes);
// Any formula over this machine's names, for gates such as "cycles / instructions".
TL_MUST_CHECK tl_status tl_catalogue_formula(tl_catalogue *catalogue, const char *text, const tl_formula **ret_formula, tl_error *err);

#endif
