// SPDX-License-Identifier: MIT
// A counter of turns. turns.py links it into a copy of tally with -Wl,--wrap=tl_blocks_run. It counts
// the instructions of a hart before another one runs, and its requests to the L2 meanwhile. At the
// end of the process it writes one line to the file that TURNS_OUT names.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "mem/memory.h"
#include "model/engine.h"

tl_stop __real_tl_blocks_run(tl_hart *h);
tl_stop __wrap_tl_blocks_run(tl_hart *h);

typedef struct counts {
    uint64_t n_turns, n_insns, n_cycles, n_requests;
    uint64_t n_private_turns, private_cycles; // of turns without a request
} counts;

static counts all;
static const tl_hart *running;
static uint64_t turn_insns, turn_cycles, turn_requests;

static uint64_t requests(const tl_hart *h) {
    const tl_l2 *l2 = &((const tl_hart_mem *)h->mem)->memory->l2;
    uint64_t n = 0;
    for (uint32_t i = 0; i <= l2->slice_mask; i++)
        n += l2->slices[i].tally[TL_L2_READ];
    return n;
}

static void end_turn(void) {
    if (turn_insns == 0)
        return;
    all.n_turns += 1;
    all.n_insns += turn_insns;
    all.n_cycles += turn_cycles;
    all.n_requests += turn_requests;
    all.n_private_turns += turn_requests == 0;
    all.private_cycles += turn_requests == 0 ? turn_cycles : 0;
    turn_insns = turn_cycles = turn_requests = 0;
}

static void print(void) {
    const char *path = getenv("TURNS_OUT");
    FILE *out = path ? fopen(path, "w") : NULL;
    if (!out)
        return;
    end_turn();
    fprintf(out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", all.n_turns, all.n_insns, all.n_cycles,
            all.n_requests, all.n_private_turns, all.private_cycles);
    fclose(out);
}

tl_stop __wrap_tl_blocks_run(tl_hart *h) {
    if (!running)
        (void)atexit(print);
    if (running != h)
        end_turn();
    running = h;
    const uint64_t insns = h->instret, cycles = h->now, asked = requests(h);
    const tl_stop stop = __real_tl_blocks_run(h);
    turn_insns += h->instret - insns;
    turn_cycles += h->now - cycles;
    turn_requests += requests(h) - asked;
    return stop;
}
