// SPDX-License-Identifier: MIT
// Random stretches of code of which every instruction is known: where it stands, and through which
// register it reaches memory. Each access has a base register of its own. A test can thus make
// exactly this one fault, miss or cross a page.
#ifndef TL_TESTS_STRAIGHT_CODE_H
#define TL_TESTS_STRAIGHT_CODE_H

#include "random_code.h"

enum {
    MAX_STRAIGHT_INSNS = 96,
    MAX_STRAIGHT_BYTES = 4 * MAX_STRAIGHT_INSNS,
    FIRST_BASE = 18, // x18..x27, and x2 and x8, which compressed accesses reach
    N_BASES = 10,
    ROUNDS_REG = 31, // counts how often the stretch is to be run
};

typedef struct straight_insn {
    uint16_t offset;
    tl_decoded decoded;
    uint8_t size_bytes; // of an access, else 0
} straight_insn;

typedef struct straight_code {
    uint8_t bytes[MAX_STRAIGHT_BYTES];
    uint32_t n_bytes, n_insns, n_accesses;
    straight_insn insns[MAX_STRAIGHT_INSNS];
} straight_code;

static inline bool is_reserved(uint32_t reg) {
    return reg == 2 || reg == 8 || (reg >= FIRST_BASE && reg < FIRST_BASE + N_BASES) || reg == ROUNDS_REG;
}

static inline bool is_access_class(uint32_t cls) {
    return cls == TL_CLASS_LOAD || cls == TL_CLASS_STORE || cls == TL_CLASS_FP_LOAD || cls == TL_CLASS_FP_STORE || cls == TL_CLASS_AMO ||
           cls == TL_CLASS_LR || cls == TL_CLASS_SC;
}

static inline bool writes_integer(const tl_decoded *insn) {
    uint32_t cls = tl_insn_rows[insn->opc].cls;
    return cls != TL_CLASS_STORE && cls != TL_CLASS_FP_STORE && cls != TL_CLASS_BRANCH && cls != TL_CLASS_FP_LOAD;
}

static inline void straight_put(straight_code *code, uint32_t bits) {
    straight_insn *insn = &code->insns[code->n_insns++];
    *insn = (straight_insn){.offset = (uint16_t)code->n_bytes};
    tl_decode(bits, &insn->decoded);
    const tl_insn_row *row = &tl_insn_rows[insn->decoded.opc];
    insn->size_bytes = is_access_class(row->cls) ? row->size_bytes : 0;
    code->n_accesses += insn->size_bytes != 0;
    memcpy(code->bytes + code->n_bytes, &bits, insn->decoded.len);
    code->n_bytes += insn->decoded.len;
}

// A word that computes, or with `base` one that accesses memory through it, with a small offset.
static inline uint32_t straight_word(rng *r, uint32_t base) {
    static const uint16_t csrs[] = {0x001, 0x002, 0x003, 0xc00, 0xc02};
    for (;;) {
        uint32_t bits = random_word(r, csrs, TL_COUNT_OF(csrs), 1);
        tl_decoded insn;
        tl_decode(bits, &insn);
        const tl_insn_row *row = &tl_insn_rows[insn.opc];
        uint32_t cls = row->cls;
        bool is_control = cls == TL_CLASS_BRANCH || cls == TL_CLASS_JAL || cls == TL_CLASS_JALR || cls == TL_CLASS_SYSTEM;
        if (insn.opc == TL_OPC_ILLEGAL || is_control || is_access_class(cls) != (base != 0))
            continue;
        if ((cls == TL_CLASS_CSR || cls == TL_CLASS_FENCE_I || cls == TL_CLASS_FENCE) && below(r, 8) != 0)
            continue;
        if (cls == TL_CLASS_CSR)
            bits = (bits & ~(31u << 15 | 0x7000u)) | 0x2000; // csrr
        bool has_rounding = (row->mask & 0x7000) == 0 && ((bits & 0x7f) == 0x53 || (bits & 0x73) == 0x43);
        if (has_rounding && (bits >> 12 & 7) >= 5)
            bits |= 0x7000; // dynamic: 5 and 6 are reserved
        if (base != 0) {
            bits = (bits & ~(31u << 15)) | base << 15;
            if (cls == TL_CLASS_LOAD || cls == TL_CLASS_FP_LOAD)
                bits &= 0x07ffffff; // 0..127
            else if (cls == TL_CLASS_STORE || cls == TL_CLASS_FP_STORE)
                bits &= 0x07ffffff;
        }
        tl_decode(bits, &insn);
        if (writes_integer(&insn) && is_reserved(insn.rd))
            bits = (bits & ~(31u << 7)) | 10u << 7;
        tl_decode(bits, &insn);
        if (insn.opc != TL_OPC_ILLEGAL)
            return bits;
    }
}

static inline uint32_t straight_half(rng *r, uint32_t base) {
    for (;;) {
        uint32_t bits = random_compressed(r);
        tl_decoded insn;
        tl_decode(bits, &insn);
        uint32_t cls = tl_insn_rows[insn.opc].cls;
        bool is_control = cls == TL_CLASS_BRANCH || cls == TL_CLASS_JAL || cls == TL_CLASS_JALR || cls == TL_CLASS_SYSTEM;
        if (insn.opc == TL_OPC_ILLEGAL || is_control || is_access_class(cls) != (base != 0) || (base != 0 && insn.rs1 != base))
            continue;
        if (writes_integer(&insn) && is_reserved(insn.rd))
            continue;
        return bits;
    }
}

// About n instructions, run x31 times; then an ECALL. One branch in twenty skips the instruction
// behind it.
static inline void straight_fill(rng *r, straight_code *code, uint32_t n) {
    uint32_t bases = 0; // of words, used up
    bool has_half[2] = {false, false};
    *code = (straight_code){0};
    for (uint32_t i = 0; i < n; i++) {
        if (below(r, 20) == 0) {
            // The branch, bne or bge, goes over a word.
            uint32_t branch = 0x00000463 | below(r, 32) << 15 | below(r, 32) << 20 | (below(r, 2) ? 0x1000 : 0x5000);
            straight_put(code, branch);
            straight_put(code, straight_word(r, 0));
        } else if (below(r, 3) == 0 && bases < N_BASES) {
            straight_put(code, straight_word(r, FIRST_BASE + bases++));
        } else if (below(r, 8) == 0) {
            uint32_t which = below(r, 2);
            if (!has_half[which])
                straight_put(code, straight_half(r, which ? 8 : 2));
            has_half[which] = true;
        } else {
            straight_put(code, below(r, 3) == 0 ? straight_half(r, 0) : straight_word(r, 0));
        }
    }
    straight_put(code, 0xffff8f93); // addi x31, x31, -1
    int32_t back = -(int32_t)code->n_bytes;
    uint32_t i = (uint32_t)back;
    // The word is bnez x31 to the start.
    straight_put(code, 0x000f9063 | (i >> 12 & 1) << 31 | (i >> 5 & 63) << 25 | (i >> 1 & 15) << 8 | (i >> 11 & 1) << 7);
    straight_put(code, 0x00000073); // ecall
}

// The instruction at this offset, or NULL.
static inline const straight_insn *straight_at(const straight_code *code, uint64_t offset) {
    for (uint32_t i = 0; i < code->n_insns; i++)
        if (code->insns[i].offset == offset)
            return &code->insns[i];
    return NULL;
}

#endif
