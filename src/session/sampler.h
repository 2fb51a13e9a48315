// SPDX-License-Identifier: MIT
// Where host time goes: a timer of the thread's processor time interrupts it, a signal handler
// looks at what the front-end says it is at (tl_hart.host_phase) and at where the processor stood.
// Nothing is done, and no signal installed, unless somebody wants to know.
#ifndef TL_SESSION_SAMPLER_H
#define TL_SESSION_SAMPLER_H

#include <time.h>

#include <tally/run.h>

#include "machine/machine.h"

typedef struct tl_sampler {
    const tl_machine *machine; // NULL: not wanted
    tl_host_profile seen;      // host_ns apart
    timer_t timer;
    bool is_running;
} tl_sampler;

// Around the stretches that are looked at, in the same thread; without a timer, or when the thread
// blocks SIGPROF, there are no samples.
void tl_sampler_begin(tl_sampler *sampler);
void tl_sampler_end(tl_sampler *sampler);

#endif
