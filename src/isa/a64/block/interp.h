// SPDX-License-Identifier: MIT
// Engine `interp` of A64: threaded code over decoded fetch runs (isa/block/block.h).
#ifndef TL_ISA_A64_BLOCK_INTERP_H
#define TL_ISA_A64_BLOCK_INTERP_H

#include "model/engine.h"

extern const tl_engine_type tl_engine_a64_interp;

#endif
