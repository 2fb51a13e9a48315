// SPDX-License-Identifier: MIT
// Random code that does something: most instructions are legal, accesses go to data, jumps stay
// near, pointers survive.
#ifndef TL_TESTS_RANDOM_CODE_H
#define TL_TESTS_RANDOM_CODE_H

#include <stdlib.h>
#include <string.h>

#include "isa/rv/insn.h"

typedef struct rng {
    uint64_t state;
} rng;

static inline uint64_t next(rng *r) {
    r->state ^= r->state << 13;
    r->state ^= r->state >> 7;
    r->state ^= r->state << 17;
    return r->state * UINT64_C(0x2545f4914f6cdd1d);
}

// Instructions that a test of random programs executes at least; 0: its first programs.
static inline uint64_t wanted_insns(void) {
    const char *text = getenv("TL_LOCKSTEP_INSNS");
    return text ? strtoull(text, NULL, 10) : 0;
}

static inline uint32_t below(rng *r, uint32_t n) { return (uint32_t)((next(r) >> 32) * n >> 32); }

// Registers that random code must not write: pointers into the data (x2, x8) and into the code
// (x9).
static inline bool is_pointer(uint32_t reg) { return reg == 2 || reg == 8 || reg == 9; }

// CSR accesses go to `csrs`; one in `rarity` of the instructions that drain the pipeline is kept.
static inline uint32_t random_word(rng *r, const uint16_t *csrs, uint32_t n_csrs, uint32_t rarity) {
    uint32_t opc = 1 + below(r, TL_N_OPCS - 1);
    const tl_insn_row *row = &tl_insn_rows[opc];
    uint32_t bits = row->match | ((uint32_t)next(r) & ~row->mask);
    uint32_t rd = bits >> 7 & 31;
    bool is_access = false;
    switch (row->cls) {
    case TL_CLASS_BRANCH: { // forward or backward a little
        int32_t imm = (int32_t)below(r, 400) * 2 - 300;
        uint32_t i = (uint32_t)imm;
        return (bits & 0x01fff07f) | (i >> 12 & 1) << 31 | (i >> 5 & 63) << 25 | (i >> 1 & 15) << 8 | (i >> 11 & 1) << 7;
    }
    case TL_CLASS_JAL: {
        uint32_t i = (uint32_t)((int32_t)below(r, 2000) * 2 - 2000);
        if (is_pointer(rd))
            rd = 1;
        return 0x6f | rd << 7 | (i >> 20 & 1) << 31 | (i >> 1 & 0x3ff) << 21 | (i >> 11 & 1) << 20 | (i >> 12 & 0xff) << 12;
    }
    case TL_CLASS_JALR: bits = (bits & ~(31u << 15)) | (below(r, 4) == 0 ? 1u : 9u) << 15; break;
    case TL_CLASS_CSR:
        bits = (bits & 0xfffff) | (uint32_t)csrs[below(r, n_csrs)] << 20;
        if (below(r, 3) != 0)
            bits &= ~(31u << 15); // reads
        break;
    case TL_CLASS_SYSTEM:
    case TL_CLASS_FENCE_I:
        if (below(r, rarity) != 0)
            return 0x13; // fewer of these
        break;
    case TL_CLASS_LOAD:
    case TL_CLASS_STORE:
    case TL_CLASS_FP_LOAD:
    case TL_CLASS_FP_STORE:
    case TL_CLASS_AMO:
    case TL_CLASS_LR:
    case TL_CLASS_SC: is_access = true; break;
    default: break;
    }
    if (is_access)
        bits = (bits & ~(31u << 15)) | (below(r, 2) ? 2u : 8u) << 15;
    if (is_access && below(r, 4) != 0 && (row->cls == TL_CLASS_LOAD || row->cls == TL_CLASS_FP_LOAD))
        bits &= ~(7u << 20); // mostly aligned
    bool is_store = row->cls == TL_CLASS_STORE || row->cls == TL_CLASS_FP_STORE;
    if (is_pointer(rd) && !is_store && row->cls != TL_CLASS_FP_LOAD)
        bits = (bits & ~(31u << 7)) | 10u << 7;
    return bits;
}

static inline uint32_t random_compressed(rng *r) {
    for (;;) {
        uint32_t bits = (uint32_t)next(r) & 0xffff;
        if ((bits & 3) == 3)
            continue;
        tl_decoded insn;
        tl_decode(bits, &insn);
        if (insn.opc == TL_OPC_ILLEGAL && below(r, 50) != 0)
            continue;
        uint32_t cls = tl_insn_rows[insn.opc].cls;
        bool is_store = insn.opc != TL_OPC_ILLEGAL && (cls == TL_CLASS_STORE || cls == TL_CLASS_FP_STORE);
        if (is_store && insn.rs1 != 2 && insn.rs1 != 8)
            continue; // not into the code: what runs after that without FENCE.I is not specified
        if (is_pointer(insn.rd) && !is_store)
            continue;
        return bits;
    }
}

static inline void fill_with(rng *r, uint8_t *code, uint32_t n_bytes, const uint16_t *csrs, uint32_t n_csrs, uint32_t rarity) {
    uint32_t at = 0;
    while (at + 4 <= n_bytes) {
        if (below(r, 3) == 0) {
            uint32_t bits = random_compressed(r);
            memcpy(code + at, &bits, 2);
            at += 2;
        } else {
            uint32_t bits = random_word(r, csrs, n_csrs, rarity);
            memcpy(code + at, &bits, 4);
            at += 4;
        }
    }
    memset(code + at, 0, n_bytes - at);
}

#endif
