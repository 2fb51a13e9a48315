// SPDX-License-Identifier: MIT
// How observers reach tallies: a path such as "hart0.l1d.load_miss" is resolved once into a cell of
// the flat array. Reading is one load and costs the run loop nothing; call tl_machine_sync
// (machine/machine.h) before a batch of reads.
#ifndef TL_MODEL_PROBE_H
#define TL_MODEL_PROBE_H

#include "base/status.h"
#include "model/unit.h"

typedef uint32_t tl_cell;

typedef struct tl_probe {
    // In cell order: unit k owns cells units[k].first_cell .. +type->n_signals.
    const tl_unit *units;
    uint32_t n_units;
    // The flat array. An observer writes nothing but signals of an agent that it is itself.
    uint64_t *tally;
    uint32_t n_cells;
    // Times max_step is the most that events and bytes grow in a cycle; 0: once. Cycles, and all
    // signals of a unit `core`, grow by max_step at most.
    uint32_t width;
} tl_probe;

// TL_ENOENT when no unit or signal has that name. No wildcard.
TL_MUST_CHECK tl_status tl_probe_resolve(const tl_probe *probe, const char *path, tl_cell *ret_cell);
const tl_unit *tl_probe_unit_of(const tl_probe *probe, tl_cell cell);
static inline uint64_t tl_probe_read(const tl_probe *probe, tl_cell cell) { return probe->tally[cell]; }

#endif
