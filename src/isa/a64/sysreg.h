// SPDX-License-Identifier: MIT
// System registers as MRS and MSR reach them. A register is a row of sysreg.def. Its number is
// op0:op1:CRn:CRm:op2, 16 bits. Registers of PMUs have no row; a PMU of the hart answers for them.
#ifndef TL_ISA_A64_SYSREG_H
#define TL_ISA_A64_SYSREG_H

#include "isa/a64/hart.h"

#define TL_A64_SYSREG_NUMBER(op0, op1, crn, crm, op2) ((uint32_t)(op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))

// Permission, value and effect are separate; the last two presume permission. `bits` is the
// instruction. false: a trap is recorded, because the exception level has no such register or a
// control register traps the access.
bool tl_a64_sysreg_permits(tl_hart *h, uint32_t number, bool is_read, uint32_t bits);
uint64_t tl_a64_sysreg_value(tl_hart *h, uint32_t number); // with the effect of the read
void tl_a64_sysreg_set(tl_hart *h, uint32_t number, uint64_t value);

// Writes a stored register under the mask of its row.
void tl_a64_sysreg_store(tl_hart *h, uint32_t reg, uint64_t value);
void tl_a64_set_claim(tl_hart *h, uint8_t tags);

// Records that the instruction is UNDEFINED; false.
static inline bool tl_a64_undefined(tl_hart *h, uint32_t bits) { return tl_trap(h, TL_A64_CAUSE_UNDEFINED, bits); }
// Records that a control register traps `bits`, an instruction of the class system, to this level;
// false. Outside system software the instruction is UNDEFINED.
bool tl_a64_trap_system(tl_hart *h, uint32_t el, uint32_t bits);
// Whether the row exists, for tests and for who prints registers. NULL: no such row.
const char *tl_a64_sysreg_name(uint32_t number);

// Values that sysreg.def gives after reset, into a zeroed hart.
void tl_a64_sysregs_reset(tl_hart *h);
// tl_isa.pmus_changed.
void tl_a64_route_sysregs(tl_hart *h);

#endif
