// SPDX-License-Identifier: MIT
// A machine's state between two runs, kept in memory and put back in place. A machine goes on from
// there with the same clocks, counts and bytes, as often as one likes: a detailed core with all it
// has in flight, retired stores that have not drained, caches, TLBs, predictors, PMUs and RAM.
//
// It is the machine's state and nothing else's: a personality, a board and its devices, watches and
// taps have theirs. No tap is attached, and the machine has no second engine.
#ifndef TL_MACHINE_SNAPSHOT_H
#define TL_MACHINE_SNAPSHOT_H

#include "machine/machine.h"

typedef struct tl_snapshot tl_snapshot;

// TL_EINVAL: the machine has a second engine, or one that keeps state elsewhere. TL_ENOMEM: the
// host has no memory for the pages of RAM that are not zero.
TL_MUST_CHECK tl_status tl_snapshot_take(tl_machine *machine, tl_snapshot **ret_snapshot, tl_error *err);
// Precondition: the machine that was saved exists, and stands between two runs.
void tl_snapshot_restore(const tl_snapshot *snapshot);
void tl_snapshot_free(tl_snapshot *snapshot); // NULL is fine

#endif
