// SPDX-License-Identifier: MIT
// A detailed core: out of order, with wrong paths. It runs the flow of a hart (model/flow.h) on the
// structure that tl_config.core describes, and charges the memory system of the hart through
// tl_mem_port. docs/detailed-core.md has the rules. Implementation: timing/ooo.
#ifndef TL_MODEL_CORE_H
#define TL_MODEL_CORE_H

#include "base/arena.h"
#include "model/flow.h"
#include "model/tap.h"

typedef struct tl_core tl_core;

// A tl_core is a hardware thread with what it has of its core. `leader` is that of h->core_leader,
// NULL for the leader itself. `n_entries` of the flow: a power of two that tl_core_new chooses, at
// most TL_MAX_IN_FLIGHT.
TL_MUST_CHECK tl_status tl_core_new(tl_hart *h, tl_flow *flow, tl_core *leader, tl_arena *arena, tl_core **ret_core, tl_error *err);
// As tl_engine_type.run_group, with cores[k] of hart k and an index for the hart. The harts have
// the state of retired instructions before and after.
tl_stop tl_core_run_group(tl_core *const *cores, uint32_t n_cores, uint32_t running, uint32_t group, uint64_t *n_insns,
                          uint32_t *ret_index);
// Folds what the core holds back into the tallies of the hart.
void tl_core_sync(tl_core *core);

// Between two runs, another engine takes the hart over. Instructions in flight are taken back.
// Retired stores go to the L1D, all in this cycle. h->bp has what the predictor shares with it:
// counters and BTB are one, history and return stack are copied.
void tl_core_hand_over(tl_core *core);
// The other engine has retired n_insns instructions and stands between two fetch runs. The
// predictor learns from h->bp, and TAGE from h->bp.log, which is empty then. The window is empty.
void tl_core_take_over(tl_core *core, uint64_t n_insns);

// Attaches a tap between two runs. NULL: detaches, after the cycles up to now were told. The tap is
// borrowed until then. Instructions in flight at the attachment are not told.
TL_MUST_CHECK tl_status tl_core_tap(tl_core *core, tl_tap *tap, tl_error *err);

// Attaches a tap for clocks, at any time, also within an instruction that executes alone. NULL:
// detaches. Instructions in flight are told, too.
TL_MUST_CHECK tl_status tl_core_clock_tap(tl_core *core, tl_clock_tap *tap, tl_error *err);

// Checks the conservation of instructions, uops and dispatches; the tallies must be synced.
// TL_EINVAL with the first broken identity.
TL_MUST_CHECK tl_status tl_core_check(const tl_core *core, tl_error *err);

// Units of detailed cores, in slot order after those of the memory system: one for each hart of a
// machine that has them. tl_hart.core_tally is the tally array. Returns the type, and the path in
// ret_path.
uint32_t tl_core_n_units(const tl_config *config);
const tl_unit_type *tl_core_unit_at(uint32_t index, char *ret_path, size_t size_bytes);

#endif
