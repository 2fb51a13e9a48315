// SPDX-License-Identifier: MIT
// The external debug registers of a core: 4 KiB of memory that other cores reach (H8, H9). The rows
// of debug_external.def say where a register stands and in which states of the core it answers.
#ifndef TL_ISA_A64_DEBUG_EXTERNAL_H
#define TL_ISA_A64_DEBUG_EXTERNAL_H

#include "isa/a64/hart.h"

// An access of 32 bits in the cycle `now` of who accesses. false: an error response.
bool tl_a64_debug_read(tl_hart *h, uint64_t offset, uint64_t now, uint32_t *ret_value);
bool tl_a64_debug_write(tl_hart *h, uint64_t offset, uint64_t now, uint32_t value);

#endif
