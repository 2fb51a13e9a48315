// SPDX-License-Identifier: MIT
// Guest code as bytes of RAM. Decoding, entering and folding of blocks share these functions.
#ifndef TL_ISA_BLOCK_CODE_H
#define TL_ISA_BLOCK_CODE_H

#include "isa/block/row.h"

// Returns how many fetch groups the bytes from .. end-1 touch.
static inline uint32_t tl_fetch_groups(const tl_hart *h, uint64_t from, uint64_t end) {
    uint64_t group = h->config->pipeline.fetch_bytes;
    return from == end ? 0 : (uint32_t)((end - 1) / group - from / group + 1);
}

static inline const uint8_t *tl_code_at(const tl_hart *h, uint64_t paddr) { return h->ram + (paddr - TL_RAM_BASE_PADDR); }

static inline uint32_t tl_code_half(const uint8_t *at) { return (uint32_t)at[0] | (uint32_t)at[1] << 8; }

// The instruction at pc, the last halfword of its line, reaches into the next line.
static inline bool tl_code_straddles(const tl_hart *h, uint64_t pc, uint64_t pline) {
    uint64_t offset = pc & ~h->line_mask;
    return offset == ~h->line_mask - 1 && (tl_code_half(tl_code_at(h, pline + offset)) & 3) == 3;
}

// The instruction at `at` of n bytes; the upper half is 0 when the instruction is short or cut off.
static inline uint32_t tl_code_bits(const tl_block_isa *isa, const uint8_t *bytes, uint32_t at, uint32_t n) {
    uint32_t low = tl_code_half(bytes + at);
    return ((low & 3) == 3 || !isa->has_short_insns) && at + 4 <= n ? low | tl_code_half(bytes + at + 2) << 16 : low;
}

#endif
