// SPDX-License-Identifier: MIT
// Control and status registers as instructions reach them. A register is a row with a read and a write function; who may access it is in
// its number (privileged manual, sec. 2.1: bits 11:10 = 3 read-only, bits 9:8 the lowest mode).
#ifndef TL_ISA_RV_CSR_H
#define TL_ISA_RV_CSR_H

#include "isa/rv/hart.h"

// false: no such register, or not for this mode, or not writable. Nothing happened then.
bool tl_csr_read(tl_hart *h, uint32_t csr, uint64_t *ret_value);
bool tl_csr_write(tl_hart *h, uint32_t csr, uint64_t value);
// What of a value read belongs to the register, not to a wire: setting and clearing bits must not write an interrupt controller's level back
// (mip.SEIP, privileged manual sec. 3.1.9).
static inline uint64_t tl_csr_own(const tl_hart *h, uint32_t csr, uint64_t value) { return csr == 0x344 ? h->irqs_pending : value; }
bool tl_csr_may_write(const tl_hart *h, uint32_t csr); // without doing it
// Whether this instruction may, given its operand: asked after tl_csr_may_write, before anything is read.
bool tl_csr_permits(const tl_hart *h, uint32_t csr, tl_csr_op op, uint64_t operand);
// Writes "fflags", or "0x7c0" for a number nobody names; returns the length like snprintf. More names are known than implemented.
int tl_csr_name(uint32_t csr, char *buffer, size_t size);

#endif
