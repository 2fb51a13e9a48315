// SPDX-License-Identifier: MIT
// How a RISC-V hart's accesses are translated and protected, kept in tl_hart.regime as its
// registers change.
#ifndef TL_ISA_RV_REGIME_H
#define TL_ISA_RV_REGIME_H

#include "isa/rv/hart.h"

// mstatus is not what it was; the memory port hears of it if that matters to accesses.
void tl_rv_status_changed(tl_hart *h, uint64_t old_mstatus);
// A write of satp by software. The mode must be one the hart has.
void tl_rv_set_satp(tl_hart *h, uint64_t satp);

#endif
