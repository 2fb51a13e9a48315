// SPDX-License-Identifier: MIT
// Control and status registers as instructions reach them. A register is a row with a read and a
// write function; who may access it is in its number (privileged manual, sec. 2.1: bits 11:10 = 3
// read-only, bits 9:8 the lowest mode).
#ifndef TL_ISA_RV_CSR_H
#define TL_ISA_RV_CSR_H

#include "isa/rv/hart.h"

// Permission, value, and what reading and writing do, are apart. The last three presume permission.
// false: no such register, not for this mode, or not this use of it with this operand: an illegal
// instruction. Asked before anything is done.
bool tl_csr_permits(const tl_hart *h, uint32_t csr, tl_reg_use use, uint64_t operand);
uint64_t tl_csr_value(tl_hart *h, uint32_t csr);
void tl_csr_was_read(tl_hart *h, uint32_t csr);
void tl_csr_set(tl_hart *h, uint32_t csr, uint64_t value);
// All of it, as CSRR and CSRW do. false: not permitted, nothing happened.
bool tl_csr_read(tl_hart *h, uint32_t csr, uint64_t *ret_value);
bool tl_csr_write(tl_hart *h, uint32_t csr, uint64_t value);
// What of a value read belongs to the register, not to a wire: setting and clearing bits must not
// write an interrupt controller's level back (mip.SEIP, privileged manual sec. 3.1.9).
static inline uint64_t tl_csr_own(const tl_hart *h, uint32_t csr, uint64_t value) { return csr == 0x344 ? h->irqs_pending : value; }
// tl_isa.pmus_changed: finds the register of each number that is not the core's own.
void tl_rv_route_csrs(tl_hart *h);
// Writes "fflags", or "0x7c0" for a number nobody names; returns the length like snprintf. More
// names are known than implemented.
int tl_csr_name(uint32_t csr, char *buffer, size_t size);

#endif
