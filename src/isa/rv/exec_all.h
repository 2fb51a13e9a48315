// SPDX-License-Identifier: MIT
// All bodies, in the form that TL_EXEC_FAST asks for (exec.h); their shorthands end here.
#ifndef TL_ISA_RV_EXEC_ALL_H
#define TL_ISA_RV_EXEC_ALL_H

#include "isa/rv/exec_a.h"
#include "isa/rv/exec_d.h"
#include "isa/rv/exec_f.h"
#include "isa/rv/exec_i.h"
#include "isa/rv/exec_m.h"
#include "isa/rv/exec_zb.h"
#include "isa/rv/exec_zicsr.h"

#undef RD
#undef RS1
#undef RS2
#undef IMM
#undef SEXT32
#undef LOW32
#undef BIT
#undef BODY

#endif
