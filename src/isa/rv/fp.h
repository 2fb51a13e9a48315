// SPDX-License-Identifier: MIT
// Floating point on the host's own unit: results, rounding and flags of IEEE 754-2008 binary32 and
// binary64 as RISC-V defines them. While a front-end runs, the host rounds as h->frm says and
// accrues exceptions in its own sticky flags. tl_fp_harvest moves the flags into h->fflags before a
// read. fp_soft.h does roundings that hosts lack (to nearest, ties to maximum magnitude).
#ifndef TL_ISA_RV_FP_H
#define TL_ISA_RV_FP_H

#include "isa/block/op.h"
#include "isa/rv/hart.h"

// Called before guest instructions run: host rounding = frm, flags clear.
void tl_fp_enter(tl_hart *h, tl_fp_saved *ret_saved);
// Called after them: adds flags to fflags, restores the host's environment.
void tl_fp_leave(tl_hart *h, const tl_fp_saved *saved);
void tl_fp_harvest(tl_hart *h); // between: moves host flags into h->fflags
// Called between them: the hart's frm becomes `frm` (0..7), and the host follows.
void tl_fp_set_rounding(tl_hart *h, uint8_t frm);

#endif
