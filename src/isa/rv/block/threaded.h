// SPDX-License-Identifier: MIT
// Threaded code: a block as a row of functions that call one another. tl_engine_interp runs only
// threaded code. tl_engine_translate runs a block as threaded code until the block is translated.
#ifndef TL_ISA_RV_BLOCK_THREADED_H
#define TL_ISA_RV_BLOCK_THREADED_H

#include "isa/block/block.h"

// Makes a block executable for threaded code.
void tl_threaded_prepare(tl_blocks *store, tl_block *block);
// Runs from `block`, which has been entered, until a tl_block* function says stop.
void tl_threaded_run(tl_blocks *store, tl_block *block);
void tl_threaded_resume(tl_blocks *store); // runs from the run that waits

#endif
