// SPDX-License-Identifier: MIT
// System instructions: maintenance of caches and TLBs, address translation, and the hints that
// wait.
#ifndef TL_ISA_A64_SYSOP_H
#define TL_ISA_A64_SYSOP_H

#include "isa/a64/hart.h"

// SYS: `bits` is the instruction, `operand` the value of its register. false: a trap is recorded.
bool tl_a64_sys(tl_hart *h, uint32_t bits, uint64_t operand);

// HINT with the number in bits 11:5. WFI and WFE may leave h->is_waiting set. false: a trap is
// recorded.
bool tl_a64_hint(tl_hart *h, uint32_t bits);
// Whether the hint does nothing at any level: NOP, YIELD, and numbers without a meaning.
bool tl_a64_is_nop(uint32_t bits);
// Whether the hint may wait, so that a fetch run ends with it.
bool tl_a64_is_wait(uint32_t bits);
// The hart gets an event: WFE does not wait, or goes on.
void tl_a64_get_event(tl_hart *h);

#endif
