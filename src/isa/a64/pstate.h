// SPDX-License-Identifier: MIT
// PSTATE and the stack pointers of exception levels (D1.6, D1.7).
#ifndef TL_ISA_A64_PSTATE_H
#define TL_ISA_A64_PSTATE_H

#include "isa/a64/hart.h"

// SP_ELx of a level, in use or not.
uint64_t tl_a64_sp(const tl_hart *h, uint32_t el);
void tl_a64_set_sp(tl_hart *h, uint32_t el, uint64_t value);
// Makes SP_EL0, or with has_own_sp the stack pointer of the level `el`, the one that instructions
// name.
void tl_a64_select_sp(tl_hart *h, uint32_t el, bool has_own_sp);

// Interrupts that are unmasked now are taken before the next fetch run.
void tl_a64_set_daif(tl_hart *h, uint32_t daif);

// PSTATE as an exception stores it in SPSR_ELx.
uint64_t tl_a64_pstate(const tl_hart *h);

// Writes PSTATE from SPSR_ELx or DSPSR_EL0, all but the level. Returns the level that it names, or
// h->priv with PSTATE.IL set. h->pc loses the tag of that level.
uint32_t tl_a64_set_pstate(tl_hart *h, uint64_t spsr);

// Records that the use of floating point or SIMD is trapped to sys.fp_trap_el; false.
bool tl_a64_trap_fp(tl_hart *h);

// ERET: writes PSTATE from SPSR_ELx, and the level changes when the instruction has been counted.
// h->pc becomes ELR_ELx.
void tl_a64_return(tl_hart *h);

#endif
