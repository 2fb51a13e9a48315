// SPDX-License-Identifier: MIT
// A small x86-64 emitter: just the forms that the templates use, one function for each shape of operands. Opcodes are given as
// in the AMD64 Architecture Programmer's Manual, volume 3, with escape bytes in front (0x0faf) and mandatory prefixes as in 0xf20f58.
// Writes go through one mapping of the code memory, addresses are those of the other, executable one.
#ifndef TL_ISA_RV_TRANSLATE_X86_H
#define TL_ISA_RV_TRANSLATE_X86_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
enum { CC_O = 0, CC_B = 2, CC_AE = 3, CC_E = 4, CC_NE = 5, CC_A = 7, CC_P = 10, CC_NP = 11, CC_L = 12, CC_GE = 13 }; // jcc, setcc, cmovcc
enum { X_ADD = 0, X_OR = 1, X_ADC = 2, X_SBB = 3, X_AND = 4, X_SUB = 5, X_XOR = 6, X_CMP = 7 }; // op r, r/m is 0x03 + 8 * this
enum { X_SHL = 4, X_SHR = 5, X_SAR = 7 };

typedef struct x86 {
    uint8_t *at; // where the next byte is written
    intptr_t exec_minus_write;
} x86;

typedef struct x86_mem {
    int base, index; // index -1: none; the scale of an index is 1 << scale
    int scale;
    int32_t disp;
} x86_mem;

static inline x86_mem at_base(int base, int64_t disp) { return (x86_mem){.base = base, .index = -1, .disp = (int32_t)disp}; }

static inline x86_mem at_index(int base, int index, int scale, int64_t disp) {
    return (x86_mem){.base = base, .index = index, .scale = scale, .disp = (int32_t)disp};
}

static inline void x86_byte(x86 *e, unsigned value) { *e->at++ = (uint8_t)value; }

static inline void x86_u32(x86 *e, uint32_t value) {
    memcpy(e->at, &value, 4);
    e->at += 4;
}

static inline void x86_u64(x86 *e, uint64_t value) {
    memcpy(e->at, &value, 8);
    e->at += 8;
}

static inline bool fits_s8(int64_t value) { return value == (int8_t)value; }

static inline bool fits_s32(int64_t value) { return value == (int32_t)value; }

// Prefix, REX, opcode. `is_byte` forces a REX so that registers 4..7 mean their low bytes.
static inline void x86_head(x86 *e, bool is_wide, uint32_t opcode, int reg, int index, int rm, bool is_byte) {
    if (opcode > 0xffff || opcode >> 8 == 0x66) {
        if (opcode > 0xffff) {
            x86_byte(e, opcode >> 16);
            opcode &= 0xffff;
        } else {
            x86_byte(e, 0x66);
            opcode &= 0xff;
        }
    }
    unsigned rex = (unsigned)is_wide << 3 | (unsigned)(reg >> 3 & 1) << 2 | (unsigned)(index >> 3 & 1) << 1 | (unsigned)(rm >> 3 & 1);
    if (rex || is_byte)
        x86_byte(e, 0x40 | rex);
    if (opcode > 0xff)
        x86_byte(e, opcode >> 8);
    x86_byte(e, opcode & 0xff);
}

static inline void x86_rr_byte(x86 *e, bool is_wide, uint32_t opcode, int reg, int rm, bool is_byte) {
    x86_head(e, is_wide, opcode, reg, 0, rm, is_byte);
    x86_byte(e, 0xc0 | (unsigned)(reg & 7) << 3 | (unsigned)(rm & 7));
}

static inline void x86_rr(x86 *e, bool is_wide, uint32_t opcode, int reg, int rm) { x86_rr_byte(e, is_wide, opcode, reg, rm, false); }

static inline void x86_rm_byte(x86 *e, bool is_wide, uint32_t opcode, int reg, x86_mem m, bool is_byte) {
    x86_head(e, is_wide, opcode, reg, m.index < 0 ? 0 : m.index, m.base, is_byte);
    bool is_short = fits_s8(m.disp);
    unsigned mod = is_short ? 0x40 : 0x80;
    if (m.index >= 0 || (m.base & 7) == RSP) {
        x86_byte(e, mod | (unsigned)(reg & 7) << 3 | 4);
        x86_byte(e, (unsigned)m.scale << 6 | (unsigned)((m.index < 0 ? 4 : m.index) & 7) << 3 | (unsigned)(m.base & 7));
    } else {
        x86_byte(e, mod | (unsigned)(reg & 7) << 3 | (unsigned)(m.base & 7));
    }
    if (is_short)
        x86_byte(e, (uint8_t)m.disp);
    else
        x86_u32(e, (uint32_t)m.disp);
}

static inline void x86_rm(x86 *e, bool is_wide, uint32_t opcode, int reg, x86_mem m) { x86_rm_byte(e, is_wide, opcode, reg, m, false); }

// op r, r and op r, imm32 of the eight classic operations.
static inline void x86_op_rr(x86 *e, bool is_wide, int op, int reg, int rm) { x86_rr(e, is_wide, 0x03 + 8 * (unsigned)op, reg, rm); }

static inline void x86_op_ri(x86 *e, bool is_wide, int op, int reg, int32_t imm) {
    x86_rr(e, is_wide, fits_s8(imm) ? 0x83 : 0x81, op, reg);
    if (fits_s8(imm))
        x86_byte(e, (uint8_t)imm);
    else
        x86_u32(e, (uint32_t)imm);
}

static inline void x86_op_mi(x86 *e, bool is_wide, int op, x86_mem m, int32_t imm) {
    x86_rm(e, is_wide, fits_s8(imm) ? 0x83 : 0x81, op, m);
    if (fits_s8(imm))
        x86_byte(e, (uint8_t)imm);
    else
        x86_u32(e, (uint32_t)imm);
}

static inline void x86_shift_i(x86 *e, bool is_wide, int op, int reg, unsigned count) {
    x86_rr(e, is_wide, 0xc1, op, reg);
    x86_byte(e, count);
}

static inline void x86_mov_ri(x86 *e, int reg, uint64_t value) {
    if (value <= UINT32_MAX) {
        x86_head(e, false, 0xb8 + (unsigned)(reg & 7), 0, 0, reg, false);
        x86_u32(e, (uint32_t)value);
    } else if (fits_s32((int64_t)value)) {
        x86_rr(e, true, 0xc7, 0, reg);
        x86_u32(e, (uint32_t)value);
    } else {
        x86_head(e, true, 0xb8 + (unsigned)(reg & 7), 0, 0, reg, false);
        x86_u64(e, value);
    }
}

static inline void x86_mov_rr(x86 *e, int to, int from) {
    if (to != from)
        x86_rr(e, true, 0x8b, to, from);
}

static inline void x86_set(x86 *e, int cc, int reg) { // the low byte of reg
    x86_head(e, false, 0x0f90 | (unsigned)cc, 0, 0, reg, true);
    x86_byte(e, 0xc0 | (unsigned)(reg & 7));
}

// Jumps with a 32-bit displacement; each returns the place of the displacement for x86_patch.
static inline uint8_t *x86_jcc(x86 *e, int cc) {
    x86_byte(e, 0x0f);
    x86_byte(e, 0x80 | (unsigned)cc);
    x86_u32(e, 0);
    return e->at - 4;
}

static inline uint8_t *x86_jmp(x86 *e) {
    x86_byte(e, 0xe9);
    x86_u32(e, 0);
    return e->at - 4;
}

static inline void x86_patch(uint8_t *displacement, const uint8_t *target) { // both in the written mapping
    int32_t distance = (int32_t)(target - (displacement + 4));
    memcpy(displacement, &distance, 4);
}

static inline void x86_jmp_to(x86 *e, const uint8_t *target) { x86_patch(x86_jmp(e), target); }

// Absolute addresses, relative to the instruction that follows: only where x86_reaches says so.
static inline bool x86_reaches(const x86 *e, const void *target) {
    intptr_t from = (intptr_t)e->at + e->exec_minus_write;
    return fits_s32(((intptr_t)target - from) * 2); // with room for the instruction itself
}

static inline void x86_ra(x86 *e, bool is_wide, uint32_t opcode, int reg, const void *target) { // op reg, [address]
    x86_head(e, is_wide, opcode, reg, 0, 0, false);
    x86_byte(e, (unsigned)(reg & 7) << 3 | 5);
    intptr_t next = (intptr_t)e->at + 4 + e->exec_minus_write;
    x86_u32(e, (uint32_t)((intptr_t)target - next));
}

static inline void x86_op_ai(x86 *e, int op, const void *target, int8_t imm) {
    x86_head(e, true, 0x83, 0, 0, 0, false);
    x86_byte(e, (unsigned)op << 3 | 5);
    intptr_t next = (intptr_t)e->at + 5 + e->exec_minus_write;
    x86_u32(e, (uint32_t)((intptr_t)target - next));
    x86_byte(e, (uint8_t)imm);
}

static inline void x86_call_to(x86 *e, const uint8_t *target) {
    x86_byte(e, 0xe8);
    x86_u32(e, 0);
    x86_patch(e->at - 4, target);
}

static inline void x86_call_c(x86 *e, uintptr_t function) { // clobbers rax
    x86_mov_ri(e, RAX, function);
    x86_rr(e, false, 0xff, 2, RAX);
}

static inline void x86_push(x86 *e, int reg) { x86_head(e, false, 0x50 + (unsigned)(reg & 7), 0, 0, reg, false); }

static inline void x86_pop(x86 *e, int reg) { x86_head(e, false, 0x58 + (unsigned)(reg & 7), 0, 0, reg, false); }

#endif
