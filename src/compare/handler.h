// SPDX-License-Identifier: MIT
// The frame of a trap handler of ours, as it is assembled for firmware and kernel. The scratch
// register holds the address of the handler's data; register i is saved there at 8 * i.
#ifndef TL_COMPARE_HANDLER_H
#define TL_COMPARE_HANDLER_H

#include "isa/rv/assemble.h"
#include "model/hart.h"

// `mode` is TL_PRIV_M or TL_PRIV_S. Registers t0 to `last` are saved, and restored; sp points to
// the data between.
void tl_handler_enter(tl_assembler *a, tl_priv mode, uint32_t last);
// Moves the return address behind the ECALL. Changes t0.
void tl_handler_skip_call(tl_assembler *a, tl_priv mode);
void tl_handler_leave(tl_assembler *a, tl_priv mode, uint32_t last);

#endif
