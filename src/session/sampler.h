// SPDX-License-Identifier: MIT
// Samples of host time. A timer of the thread's processor time raises a signal. The handler reads
// the front-end's phase (tl_hart.host_phase) and the host's program counter. Without a request, no
// signal handler is installed.
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

// Begins and ends a sampled stretch, in one thread. Without a timer, or if the thread blocks
// SIGPROF, no samples exist.
void tl_sampler_begin(tl_sampler *sampler);
void tl_sampler_end(tl_sampler *sampler);

#endif
