// SPDX-License-Identifier: MIT
// Plan of a run: the machine, the PMU to read, and the outline of results with resolved events and
// metrics.
#ifndef TL_SESSION_PLAN_H
#define TL_SESSION_PLAN_H

#include <tally/run.h>

#include "machine/keys.h"
#include "result/outline.h"
#include "session/side_by_side.h"
#include "session/source.h"

typedef struct tl_plan {
    tl_config config;
    tl_outline *outline; // shared with the results; its arena holds what belongs to the plan
    const tl_source_type *source_type;
    tl_sides sides;     // several PMUs that are read side by side
    tl_source *source;  // the PMU that is read instead of events and metrics; NULL: none
    const char *remark; // one sentence to tell before the run, or NULL
} tl_plan;

// Resolves machine, overrides, events and metrics of the options.
TL_MUST_CHECK tl_status tl_plan_new(const tl_run_options *options, tl_plan **ret_plan, tl_error *err);
void tl_plan_free(tl_plan *plan); // NULL is fine

// Settings of a PMU that are not as it comes: "key = value, other.key = 4". The PMU is the first
// that has a title for them. NULL: the config has no such PMU, or all of its settings are as it
// comes.
TL_MUST_CHECK tl_status tl_plan_pmu_settings(const tl_config *config, tl_arena *arena, const char **ret_text, tl_error *err);
// Every key of a config with its value as a description spells it, in the order of tl_key_list.
TL_MUST_CHECK tl_status tl_plan_settings(const tl_config *config, const tl_key_list *list, tl_arena *arena, const tl_setting **ret_settings,
                                         tl_error *err);

// Files of a run of a machine with this instruction set, in the order of tl_header.images: role and
// path. Returns the number.
typedef struct tl_image_path {
    const char *role, *path;
} tl_image_path;
enum { TL_MAX_IMAGE_PATHS = 4 };
uint32_t tl_plan_images(const tl_run_options *options, tl_isa_number isa, tl_image_path ret_images[TL_MAX_IMAGE_PATHS]);

// A machine by name or file with overrides applied and checked. "l1d=32K,8,64" (and l1i, l2) sets a
// whole geometry.
TL_MUST_CHECK tl_status tl_plan_config(const char *machine, const char *const *overrides, tl_config *ret_config, tl_error *err);

// One sentence, in the arena, if an override such as "l1d=16KiB,4,32" changed the lines of caches
// that it does not name. NULL: it did not.
const char *tl_plan_lines_remark(const tl_run_options *options, tl_arena *arena);

#endif
