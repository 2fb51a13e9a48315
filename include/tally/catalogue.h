// SPDX-License-Identifier: MIT
// Names of machines, signals, events, metrics and keys, with one sentence each.
#ifndef TALLY_CATALOGUE_H
#define TALLY_CATALOGUE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <tally/error.h>

TL_BEGIN_DECLS

typedef enum tl_list_kind {
    TL_LIST_MACHINES,
    TL_LIST_SIGNALS, // signals of one machine's units
    TL_LIST_EVENTS,  // aliases of signals, named by perf and by Tally
    TL_LIST_METRICS, // formulas over signals and events
    TL_LIST_PMUS,    // designs of performance-monitoring units, a row for each preset
    TL_LIST_GROUPS,  // of metrics
    TL_LIST_KEYS,    // of machine descriptions, with the value that this machine has
    TL_N_LIST_KINDS
} tl_list_kind;

typedef struct tl_list_row {
    uint32_t size;          // set by the caller to sizeof(tl_list_row)
    const char *name;       // "l1d.load_miss", "cache-misses", "ipc", "rocket"
    const char *group;      // the unit or the metric group it belongs to
    const char *unit;       // "events", "cycles", "bytes", "%"; "" for machines
    const char *definition; // a formula, the paths of its instances, or the shape of the machine
    const char *meaning;    // one sentence
} tl_list_row;

typedef struct tl_list tl_list;

// `glob` (* ? [...]) selects names. NULL selects all. tl_run_options explains `machine` and
// `overrides`. TL_ENOENT: no name matches; the error suggests the nearest names.
TL_MUST_CHECK TL_API tl_status tl_list_new(tl_list_kind kind, const char *glob, const char *machine, const char *const *overrides,
                                           tl_list **ret_list, tl_error *err);
// Events of one PMU. `pmu` is "NAME" (first preset) or "NAME:PRESET".
TL_MUST_CHECK TL_API tl_status tl_list_pmu_events(const char *pmu, const char *glob, tl_list **ret_list, tl_error *err);
// Portable events, which tl_run_options.events takes with every PMU that has a map of them. `pmu`
// NULL: a meaning and the classes of all designs. Otherwise the events that this PMU counts for
// each, and its class. TL_EINVAL: the PMU has no map.
TL_MUST_CHECK TL_API tl_status tl_list_portable_events(const char *pmu, const char *glob, tl_list **ret_list, tl_error *err);
TL_API uint32_t tl_list_n_rows(const tl_list *list);
// Precondition: index < tl_list_n_rows. The list owns the text.
TL_API void tl_list_row_at(const tl_list *list, uint32_t index, tl_list_row *ret_row);
TL_API void tl_list_free(tl_list *list); // NULL is fine

typedef enum tl_list_format {
    TL_LIST_TEXT,         // names and sentences
    TL_LIST_TEXT_VERBOSE, // definitions, too
    TL_LIST_JSON,         // one object a line, schema "tally.list/1"
    TL_LIST_MARKDOWN,     // a table
} tl_list_format;

// TL_EIO: the stream cannot be written.
TL_MUST_CHECK TL_API tl_status tl_list_write(const tl_list *list, tl_list_format format, FILE *stream, tl_error *err);

// One PMU design, apart from its events.
typedef struct tl_pmu_design {
    uint32_t size;     // set by the caller to sizeof(tl_pmu_design)
    const char *name;  // name for tl_describe_pmu
    const char *title; // "Distributed hardware performance counters"
    // The key os.<grant> with value "granted" lets programs use the design. "": no grant is needed
    // or possible.
    const char *grant;
    const char *grant_meaning; // one sentence, or ""
    bool has_cost;             // tl_describe_cost accepts the design
    bool is_read_at_end;       // tl_run_read_pmu accepts the design
} tl_pmu_design;

// Text lives as long as the program. An index out of range gives a row of zeroes with empty text.
TL_API uint32_t tl_pmu_n_designs(void);
TL_API void tl_pmu_design_at(uint32_t index, tl_pmu_design *ret_design);

typedef enum tl_describe_format {
    TL_DESCRIBE_TEXT,     // machines: a description that reads back to the same machine
    TL_DESCRIBE_MARKDOWN, // a page of documentation
    TL_DESCRIBE_JSON,     // one object, schema "tally.describe/1"
    TL_DESCRIBE_SVG,      // curves of a cost; TL_EINVAL: there are none
} tl_describe_format;

// Writes one machine: every key with a value. tl_run_options explains `machine` and `overrides`.
TL_MUST_CHECK TL_API tl_status tl_describe_machine(const char *machine, const char *const *overrides, tl_describe_format format,
                                                   FILE *stream, tl_error *err);
// Writes one PMU design: presets, registers field by field, events with fidelity. "NAME:PRESET"
// limits the events to that preset.
TL_MUST_CHECK TL_API tl_status tl_describe_pmu(const char *name, tl_describe_format format, FILE *stream, tl_error *err);
// Writes the hardware cost of a design on a machine: state bits and wires of each part, beside
// designs of equal reach. tl_pmu_design.has_cost marks the designs that qualify. A machine without
// the design receives one first. The page then covers chips of n_units units (1 to 1024) with
// n_counters counters each (1 to 64). 0 and 0 select a range of sizes. TL_ENOENT: no design is
// called `pmu`. TL_EINVAL: the design has no such page.
TL_MUST_CHECK TL_API tl_status tl_describe_cost(const char *pmu, const char *machine, const char *const *overrides, unsigned n_units,
                                                unsigned n_counters, tl_describe_format format, FILE *stream, tl_error *err);

TL_END_DECLS

#endif
