// SPDX-License-Identifier: MIT
// Translation and protection of a RISC-V hart's accesses, kept in tl_hart.regime as its registers
// change.
#ifndef TL_ISA_RV_REGIME_H
#define TL_ISA_RV_REGIME_H

#include "isa/rv/hart.h"

// mstatus has changed. Tells the memory port if the change matters to accesses.
void tl_rv_status_changed(tl_hart *h, uint64_t old_mstatus);
// Software writes satp. Precondition: the hart has the mode.
void tl_rv_set_satp(tl_hart *h, uint64_t satp);

#endif
