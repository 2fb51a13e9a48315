// SPDX-License-Identifier: MIT
// Exceptions (D1.10 to D1.14): the level that takes one, SPSR, ELR, ESR and FAR, and the vector.
// The functions are those of tl_isa. The run loop of system software calls them between two calls
// of the engine.
#ifndef TL_ISA_A64_EXCEPTION_H
#define TL_ISA_A64_EXCEPTION_H

#include "isa/a64/hart.h"

// A Cold reset and a Warm reset of the core. The first Cold reset initializes the debug power
// domain, too.
void tl_a64_power_on(tl_hart *h);
void tl_a64_warm_reset(tl_hart *h);
void tl_a64_take_exception(tl_hart *h);
bool tl_a64_next_interrupt(const tl_hart *h, tl_irq *ret_irq);
void tl_a64_take_interrupt(tl_hart *h, tl_irq irq);
void tl_a64_handler(const tl_hart *h, tl_trap_handler *ret_handler);

// The syndrome of the exception that the engine stopped with (h->trap_cause, h->trap_value), as the
// level `el` that takes it sees it.
uint32_t tl_a64_syndrome_of(const tl_hart *h, uint32_t el);

// An exception in Debug state: leaves its syndrome and address, and returns the level that takes
// it. Without may_reach_el3, an exception of a lower level that EL3 would take is UNDEFINED
// instead.
uint32_t tl_a64_describe_trap(tl_hart *h, bool may_reach_el3);

#endif
