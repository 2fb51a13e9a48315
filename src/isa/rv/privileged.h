// SPDX-License-Identifier: MIT
// Traps, as the privileged manual (1.12) has them. They choose the mode that takes an exception or
// interrupt, fill its registers, and return. Whoever runs system software calls these between two
// calls of the front-end.
#ifndef TL_ISA_RV_PRIVILEGED_H
#define TL_ISA_RV_PRIVILEGED_H

#include "isa/rv/hart.h"

// Reset state of the privileged architecture: machine mode, everything off. Sets h->is_privileged.
void tl_privileged_reset(tl_hart *h);
// Takes the exception the front-end stopped with (h->trap_cause, h->trap_value, h->pc): counts it,
// and leaves h at the handler.
void tl_take_exception(tl_hart *h);
// The interrupt that must be taken now, by the priority of the manual; false: none.
bool tl_next_interrupt(const tl_hart *h, tl_irq *ret_irq);
void tl_take_interrupt(tl_hart *h, tl_irq irq);
// tl_isa.handler.
void tl_rv_handler(const tl_hart *h, tl_trap_handler *ret_handler);

#endif
