// SPDX-License-Identifier: MIT
// Facts of instruction words for engines, kept by the word. Finding them searches rows and reads
// the text of formats, which takes two thousand host instructions. The words of a program are few.
#ifndef TL_ISA_A64_WORDS_H
#define TL_ISA_A64_WORDS_H

#include "base/arena.h"
#include "isa/a64/insn.h"

// Allocated by an engine when it is attached to the hart. NULL: no memory.
tl_a64_words *tl_a64_words_new(tl_arena *arena);

// The instruction, valid until the next call. is_fp: it uses registers of floating point or SIMD.
const tl_block_insn *tl_a64_word(tl_a64_words *words, uint32_t bits);

#endif
