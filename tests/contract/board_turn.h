// SPDX-License-Identifier: MIT
// A turn of the board's loop, for tests that hold a hart in their own hands.
#ifndef TALLY_TESTS_CONTRACT_BOARD_TURN_H
#define TALLY_TESTS_CONTRACT_BOARD_TURN_H

#include "machine/machine.h"
#include "model/isa.h"

// Takes an interrupt that is due, as the board does first in a turn.
static inline bool take_due_interrupt(tl_hart *h, tl_irq *ret_irq) {
    if ((h->run_vline != TL_NO_LINE && !h->is_interrupted) || !h->isa->next_interrupt(h, ret_irq))
        return false;
    h->isa->take_interrupt(h, *ret_irq);
    h->is_interrupted = false;
    return true;
}

// The hart then runs on until so many have retired, or stops before, or a trap has been taken.
static inline tl_stop run_on(tl_hart *h, uint64_t instret) {
    h->is_interrupted = h->is_waiting = false;
    h->horizon = UINT64_MAX;
    h->insn_limit = instret;
    tl_hart_limit_to_deadline(h, &h->insn_limit);
    tl_stop stop = h->engine->run(h);
    if (stop == TL_STOP_TRAP)
        h->isa->take_exception(h);
    (void)tl_hart_poll(h);
    return stop;
}

#endif
