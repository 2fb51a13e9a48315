// SPDX-License-Identifier: MIT
// Threaded code: a block as a row of functions that call one another. The interp front-end runs
// nothing else; the translating one runs blocks so until they are translated.
#ifndef TL_ISA_RV_BLOCK_THREADED_H
#define TL_ISA_RV_BLOCK_THREADED_H

#include "isa/rv/block/block.h"

void tl_threaded_prepare(tl_blocks *store, tl_block *block); // makes a block executable for threaded code
// Runs from `block`, which has been entered, until something says stop.
void tl_threaded_run(tl_blocks *store, tl_block *block);
void tl_threaded_resume(tl_blocks *store); // the same from the run that waits

#endif
