// SPDX-License-Identifier: MIT
// The tallies that are views of a hart's clock: front-ends keep time in h->now and h->instret and call this when somebody looks.
#include "model/core.h"

void tl_hart_sync_clock(tl_hart *h) {
    uint64_t cycle = h->now - h->idle_cycles;
    h->tally[TL_S_HART_CYCLE] = cycle;
    h->tally[TL_S_HART_CYCLE_S] = h->supervisor_cycles;
    h->tally[TL_S_HART_CYCLE_U] = cycle - h->supervisor_cycles;
    h->tally[TL_S_HART_IDLE_CYCLE] = h->idle_cycles;
    h->tally[TL_S_HART_INSTRET] = h->instret;
    h->tally[TL_S_HART_INSTRET_U] = h->instret;
}
