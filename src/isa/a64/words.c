// SPDX-License-Identifier: MIT
// A direct-mapped table of instruction words: words.h.
#include "isa/a64/words.h"

enum { INDEX_BITS = 11 };

typedef struct word {
    bool is_known;
    uint32_t bits;
    tl_block_insn insn;
} word;

struct tl_a64_words {
    word by_index[1 << INDEX_BITS];
};

tl_a64_words *tl_a64_words_new(tl_arena *arena) { return tl_arena_alloc(arena, sizeof(tl_a64_words)); }

static void find_out(uint32_t bits, word *ret_word) {
    tl_a64_decoded decoded;
    tl_a64_decode(bits, &decoded);
    tl_block_insn *insn = &ret_word->insn;
    *insn = (tl_block_insn){
        .opc = decoded.opc,
        .len = 4,
        .ends_run = tl_a64_ends_run(&decoded),
        .is_fp = tl_a64_is_fp(&decoded),
        .is_private = tl_a64_is_private(&decoded),
    };
    tl_a64_pipe(&decoded, &insn->pipe);
    insn->n_counts = tl_a64_static_counts(&decoded, insn->counts);
    tl_a64_op_from_decoded(&decoded, &insn->op);
    ret_word->bits = bits;
    ret_word->is_known = true;
}

const tl_block_insn *tl_a64_word(tl_a64_words *words, uint32_t bits) {
    word *at = &words->by_index[bits * UINT32_C(0x9e3779b1) >> (32 - INDEX_BITS)];
    if (TL_UNLIKELY(at->bits != bits || !at->is_known))
        find_out(bits, at);
    return &at->insn;
}
