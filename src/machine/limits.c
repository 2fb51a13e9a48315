// SPDX-License-Identifier: MIT
// See limits.h. Everything here depends on the state of the machine only, but for the answers of
// wants_stop.
#include "machine/limits.h"

// Between two questions to wants_stop pass some milliseconds of the host. A bound on cycles ends at
// a fetch run: an instruction limit would be reached by stepping, which costs a tenth of the speed
// when it is as near as this.
enum { INSNS_PER_LOOK = 50000, CYCLES_PER_LOOK = 400000, ROUNDS_PER_LOOK = 64 };

static bool others_have_reached(const tl_machine *machine, uint32_t running, const tl_hart *h, uint64_t cycle) {
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        const tl_hart *other = machine->harts[i];
        if (other != h && (running >> i & 1) && other->now < cycle)
            return false;
    }
    return true;
}

void tl_run_begin(tl_run_limits *limits, uint64_t until_cycle, uint64_t until_instret) {
    limits->until_cycle = until_cycle;
    limits->until_instret = until_instret;
    limits->must_stop = false;
    limits->n_rounds = limits->n_seen = 0;
}

bool tl_run_must_stop(tl_run_limits *limits) {
    limits->must_stop = limits->must_stop || (limits->wants_stop && limits->wants_stop(limits->ctx));
    return limits->must_stop;
}

bool tl_run_notes_round(tl_run_limits *limits) {
    limits->n_rounds += 1;
    return limits->n_rounds % ROUNDS_PER_LOOK == 0 ? tl_run_must_stop(limits) : limits->must_stop;
}

bool tl_run_has_ended(tl_run_limits *limits, const tl_machine *machine, uint32_t running, const tl_hart *h) {
    uint64_t n_done = 0;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        n_done += machine->harts[i]->instret;
    limits->n_insns = n_done < limits->until_instret ? limits->until_instret - n_done : 0;
    return limits->n_insns == 0 || (h->now >= limits->until_cycle && others_have_reached(machine, running, h, limits->until_cycle));
}

bool tl_run_notes_insns(tl_run_limits *limits) {
    uint64_t n_done = limits->until_instret - limits->n_insns;
    if (n_done - limits->n_seen < INSNS_PER_LOOK)
        return false;
    limits->n_seen = n_done;
    return tl_run_must_stop(limits);
}

uint64_t tl_run_horizon(const tl_run_limits *limits, const tl_machine *machine, uint32_t running, const tl_hart *h) {
    uint64_t look = h->now + CYCLES_PER_LOOK, until = limits->until_cycle;
    return h->now < until || others_have_reached(machine, running, h, until) ? tl_lesser(until, look) : look;
}
