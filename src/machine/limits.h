// SPDX-License-Identifier: MIT
// Limits of a run of turns, as every run loop above the machine keeps them: cycles, instructions,
// and a request from outside to stop. A limit cuts a run anywhere and changes no count. `running`
// names the harts that take part in turns, as in tl_turns.
#ifndef TL_MACHINE_LIMITS_H
#define TL_MACHINE_LIMITS_H

#include "machine/machine.h"

typedef struct tl_run_limits {
    bool (*wants_stop)(void *ctx); // somebody outside wants the run to stop; NULL: nobody ever does
    void *ctx;
    uint64_t until_cycle;   // the run ends when every running hart has reached it; UINT64_MAX: none
    uint64_t until_instret; // sum over all harts, exact; UINT64_MAX: none
    uint64_t n_insns;       // may retire on all harts; set by tl_run_has_ended
    bool must_stop;         // the answer of wants_stop, once it was true in this run
    uint64_t n_rounds, n_seen;
} tl_run_limits;

// A run begins. wants_stop and ctx stay as they are.
void tl_run_begin(tl_run_limits *limits, uint64_t until_cycle, uint64_t until_instret);
// Asks wants_stop, unless the answer is known.
bool tl_run_must_stop(tl_run_limits *limits);
// Called in every round of the caller's loop. Asks wants_stop now and then: true when the run must
// stop.
bool tl_run_notes_round(tl_run_limits *limits);
// The limits are reached, h being the hart that would run next.
bool tl_run_has_ended(tl_run_limits *limits, const tl_machine *machine, uint32_t running, const tl_hart *h);
// Called after tl_run_has_ended. Asks wants_stop when many instructions have retired since: true
// when the run must stop.
bool tl_run_notes_insns(tl_run_limits *limits);
// h may run up to this cycle before somebody asks again. At until_cycle it may go on while another
// hart has not reached that.
uint64_t tl_run_horizon(const tl_run_limits *limits, const tl_machine *machine, uint32_t running, const tl_hart *h);

#endif
