// SPDX-License-Identifier: MIT
// The distributed counters as the source of a report: which of their events were asked for, and the rows of what the reader found when the
// program had ended.
#ifndef TL_SESSION_HPC_H
#define TL_SESSION_HPC_H

#include <tally/run.h>

#include "machine/machine.h"
#include "session/reader.h"
#include "session/result.h"

typedef struct tl_hpc_plan {
    const char *name; // "dhpc:timed"
    bool *is_named;   // by index of tl_dhpc_events: a machine without it is an error
    tl_reader_choice to_read;
} tl_hpc_plan;

// Gives the machine the counters if it has none. TL_ENOENT: no such event; TL_EINVAL: what else was asked for cannot be had of them.
TL_MUST_CHECK tl_status tl_hpc_resolve(const tl_run_options *options, tl_config *config, tl_arena *arena, tl_hpc_plan **ret_plan,
                                       tl_error *err);
// What was asked for by name is there.
TL_MUST_CHECK tl_status tl_hpc_check(const tl_hpc_plan *plan, const tl_machine *machine, tl_error *err);
// reading NULL: nothing has been read yet, or cannot be.
TL_MUST_CHECK tl_status tl_hpc_rows(const tl_hpc_plan *plan, const tl_reading *reading, tl_result *result, tl_error *err);

#endif
