// SPDX-License-Identifier: MIT
// Fast-forward and sampling on machines with a detailed core. Stretches of the fast engine, which
// keeps caches, TLBs and predictors warm, stand between windows of the detailed core.
// docs/detailed-core.md, section 8, has the rules.
#ifndef TL_SESSION_FORWARD_H
#define TL_SESSION_FORWARD_H

#include <tally/run.h>

#include "base/arena.h"
#include "machine/machine.h"
#include "result/result.h"
#include "session/guest.h"
#include "session/region.h"

typedef struct tl_forward tl_forward;

// NULL in *ret_forward: the options ask for neither. TL_EINVAL: the options contradict each other,
// or the machine has no detailed core. Gives the machine its forwarder.
TL_MUST_CHECK tl_status tl_forward_new(const tl_run_options *options, tl_machine *machine, tl_arena *arena, tl_forward **ret_forward,
                                       tl_error *err);
// The program was loaded: the fast engine begins.
TL_MUST_CHECK tl_status tl_forward_begin(tl_forward *forward, const tl_guest *guest, tl_error *err);
// As tl_regions_resolve, for the place of the fast-forward.
TL_MUST_CHECK tl_status tl_forward_resolve(tl_forward *forward, const tl_guest *guest, tl_error *err);
// The sum of all harts' instret at which the phase ends; UINT64_MAX: none.
uint64_t tl_forward_until(const tl_forward *forward);
const tl_breaks *tl_forward_breaks(const tl_forward *forward); // NULL: none
// A run has returned. `hart` stands at a breakpoint; NULL: none does.
TL_MUST_CHECK tl_status tl_forward_turn(tl_forward *forward, const tl_guest *guest, const tl_hart *hart,
                                        void (*note)(void *ctx, const char *sentence), void *ctx, tl_error *err);
// The program has ended: the detailed core has the harts again, so that its identities are checked.
void tl_forward_end(tl_forward *forward);

// Turns totals of the machine, which was synced, into those of the result: from the take-over on,
// and extrapolated if sampled. Fills result->forwarded, sampling, is_estimated; with sampling,
// result->cycles, too.
TL_MUST_CHECK tl_status tl_forward_totals(const tl_forward *forward, uint64_t *totals, tl_result *result, tl_error *err);

#endif
