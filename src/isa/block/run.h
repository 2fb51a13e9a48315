// SPDX-License-Identifier: MIT
// The loop that every front-end over blocks shares.
#ifndef TL_ISA_BLOCK_RUN_H
#define TL_ISA_BLOCK_RUN_H

#include "isa/block/block.h"

// Serves as tl_engine_type.run of every front-end over blocks.
tl_stop tl_blocks_run(tl_hart *h);
// Serves as tl_engine_type.hand_over of every front-end over blocks.
void tl_blocks_hand_over(tl_hart *h);
// Serves as tl_engine_type.overshoot_cycles of every front-end over blocks.
uint64_t tl_blocks_overshoot_cycles(const tl_hart *h);

#endif
