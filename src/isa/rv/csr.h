// SPDX-License-Identifier: MIT
// Control and status registers as instructions reach them. A register is a row with a read and a
// write function. Its number gives the permission (privileged manual, sec. 2.1: bits 11:10 = 3
// read-only, bits 9:8 the lowest mode).
#ifndef TL_ISA_RV_CSR_H
#define TL_ISA_RV_CSR_H

#include "isa/rv/hart.h"

// Permission, value, and effects of reads and writes are separate. The last three functions presume
// permission. tl_csr_permits is asked before any effect. false: an illegal instruction, because
// there is no such register, or not for this mode, or not for this use with this operand.
bool tl_csr_permits(const tl_hart *h, uint32_t csr, tl_reg_use use, uint64_t operand);
uint64_t tl_csr_value(tl_hart *h, uint32_t csr);
void tl_csr_was_read(tl_hart *h, uint32_t csr);
void tl_csr_set(tl_hart *h, uint32_t csr, uint64_t value);
// Check, value and effects together, as CSRR and CSRW do. false: not permitted, and nothing
// happened.
bool tl_csr_read(tl_hart *h, uint32_t csr, uint64_t *ret_value);
bool tl_csr_write(tl_hart *h, uint32_t csr, uint64_t value);
// Returns the part of a value read that belongs to the register, not to a wire. Instructions that
// set and clear bits must not write an interrupt controller's level back (mip.SEIP, privileged
// manual sec. 3.1.9).
static inline uint64_t tl_csr_own(const tl_hart *h, uint32_t csr, uint64_t value) { return csr == 0x344 ? h->irqs_pending : value; }
enum { TL_CSR_SSTATUS = 0x100 };
// A register that is a word of the hart. Reads have no effect. Writes change the bits in the mask
// and nothing else. Other bits are 0.
typedef struct tl_csr_word {
    uint32_t offset_bytes; // in tl_rv_hart
    uint64_t mask;
} tl_csr_word;
// false: the register is none of these.
bool tl_csr_word_of(uint32_t csr, tl_csr_word *ret_word);
// tl_isa.pmus_changed: finds the PMU register of each number that the core does not have.
void tl_rv_route_csrs(tl_hart *h);
// Writes "fflags", or "0x7c0" for a number without a name; returns the length like snprintf. Some
// named registers are not implemented.
int tl_csr_name(uint32_t csr, char *buffer, size_t size);

#endif
