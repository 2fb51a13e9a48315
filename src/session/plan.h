// SPDX-License-Identifier: MIT
// What a run is to show: the events and metrics asked for, resolved on its machine, and what a report's heading says. Made once
// before the run, shared by all its results, never changed after it was made but for what loading the program adds.
#ifndef TL_SESSION_PLAN_H
#define TL_SESSION_PLAN_H

#include <stdatomic.h>

#include <tally/run.h>

#include "session/catalogue.h"
#include "session/metrics.h"
#include "session/result.h"
#include "session/source.h"

typedef struct tl_plan_event {
    tl_quantity quantity;
    const char *group;  // the unit type a signal belongs to, "" for aliases
    const char *metric; // shown beside it, or NULL
    unsigned detail;    // tl_row.detail
} tl_plan_event;

typedef struct tl_plan {
    atomic_uint n_owners;
    tl_arena arena;
    tl_config config;
    tl_catalogue *catalogue;
    tl_header header;
    tl_plan_event *events;
    uint32_t n_events;
    tl_quantities metrics;
    uint32_t n_default_metrics; // the first metrics are shown at detail 0
    const char **hart_scopes;   // "hart0"...
    const tl_source_type *source_type;
    tl_source *source; // the PMU that is read instead of events and metrics; NULL: none
    bool per_hart, per_unit;
    const char *remark; // one sentence to tell before the run, or NULL
} tl_plan;

// Resolves machine, overrides, events and metrics of the options.
TL_MUST_CHECK tl_status tl_plan_new(const tl_run_options *options, tl_plan **ret_plan, tl_error *err);
tl_plan *tl_plan_share(tl_plan *plan); // one more owner; returns plan
void tl_plan_free(tl_plan *plan);      // one owner less; NULL is fine

// Distributed counters that are not as they come: "key = value, other.key = 4". NULL: there are none, or they are.
TL_MUST_CHECK tl_status tl_plan_unusual_hpc(const tl_config *config, tl_arena *arena, const char **ret_text, tl_error *err);
// Every key of a config with its value as a description spells it, in the order of tl_key_list.
TL_MUST_CHECK tl_status tl_plan_settings(const tl_config *config, tl_arena *arena, const tl_setting **ret_settings, tl_error *err);

// The files of a run, in the order of tl_header.images: what they are for and where they lie. Returns their number.
typedef struct tl_image_path {
    const char *role, *path;
} tl_image_path;
enum { TL_MAX_IMAGE_PATHS = 4 };
uint32_t tl_plan_images(const tl_run_options *options, tl_image_path ret_images[TL_MAX_IMAGE_PATHS]);

// A machine by name or file with overrides applied and checked. "l1d=32K,8,64" (and l1i, l2) sets a whole geometry.
TL_MUST_CHECK tl_status tl_plan_config(const char *machine, const char *const *overrides, tl_config *ret_config, tl_error *err);

// One sentence, in the arena, if an override such as "l1d=16KiB,4,32" changed the lines of caches that it does not name. NULL: it did not.
const char *tl_plan_lines_remark(const tl_run_options *options, tl_arena *arena);

// The rows of a result: every event and metric of the plan over `slots` (in the machine's slot order), in the result's arena.
TL_MUST_CHECK tl_status tl_plan_source_rows(const tl_plan *plan, const uint64_t *slots, const struct tl_reading *reading, tl_result *result,
                                            tl_error *err); // of plan->source
TL_MUST_CHECK tl_status tl_plan_evaluate(const tl_plan *plan, const uint64_t *slots, tl_result *result, tl_error *err);

#endif
