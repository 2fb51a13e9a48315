// SPDX-License-Identifier: MIT
// A small x86-64 emitter: one named function for each instruction that the templates use. Raw
// opcodes stand in this file only. They are written as in the AMD64 Architecture Programmer's
// Manual, volume 3. Escape bytes come in front (0x0faf), and so do mandatory prefixes (0xf20f58).
//
// A name says the operation, its width and its operands, destination first:
//   _rr  two registers            _rm  a register, then memory       _mr  memory, then a register
//   _ri  a register, a constant   _mi  memory, a constant            _ra  a register, an address
//   _r   one register             _m   memory                        _ai  an address, a constant
// A load is always _rm and a store always _mr, so their names leave that out.
// An operation has 64 bits unless its name says 32, 16 or 8, or a parameter `is_wide` says so.
//
// Example: takes 100 off the word at rbx + 8 unless it is smaller, and returns.
//
//   x86 e = {.at = room};
//   x86_load(&e, RAX, at_base(RBX, 8));         // 48 8b 43 08         mov rax, [rbx + 8]
//   x86_cmp_ri(&e, RAX, 100);                   // 48 83 f8 64         cmp rax, 100
//   uint8_t *is_small = x86_jcc(&e, CC_B);      // 0f 82 08 00 00 00   jb, patched below
//   x86_sub_ri(&e, RAX, 100);                   // 48 83 e8 64         sub rax, 100
//   x86_store(&e, at_base(RBX, 8), RAX);        // 48 89 43 08         mov [rbx + 8], rax
//   x86_patch(is_small, e.at);
//   x86_ret(&e);                                // c3                  ret
//
// Writes go through one mapping of the code memory. Addresses are those of the executable mapping.
#ifndef TL_ISA_RV_TRANSLATE_X86_H
#define TL_ISA_RV_TRANSLATE_X86_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bits.h"

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };
enum { XMM0 = 0, XMM1 = 1, XMM6 = 6, XMM7 = 7 };
// Conditions of jcc, setcc and cmovcc.
enum { CC_O = 0, CC_B = 2, CC_AE = 3, CC_E = 4, CC_NE = 5, CC_A = 7, CC_P = 10, CC_NP = 11, CC_L = 12, CC_GE = 13 };
// Operations of x86_op_*.
enum { X_ADD = 0, X_OR = 1, X_ADC = 2, X_SBB = 3, X_AND = 4, X_SUB = 5, X_XOR = 6, X_CMP = 7 };
// Operations of x86_shift_*.
enum { X_SHL = 4, X_SHR = 5, X_SAR = 7 };
// Operations of x86_fp_op_rm.
enum { X_FP_MUL = 0x59, X_FP_ADD = 0x58, X_FP_SUB = 0x5c, X_FP_DIV = 0x5e };
// Operations of x86_fma_rm.
enum { X_FMADD = 0xa9, X_FMSUB = 0xab, X_FNMADD = 0xad, X_FNMSUB = 0xaf };

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

static inline bool fits_s8(int64_t value) { return value == (int8_t)value; }

static inline bool fits_s32(int64_t value) { return value == (int32_t)value; }

// ---- encodings: for the functions below only ----

static inline void x86_byte(x86 *e, unsigned value) { *e->at++ = (uint8_t)value; }

static inline void x86_u32(x86 *e, uint32_t value) {
    memcpy(e->at, &value, 4);
    e->at += 4;
}

static inline void x86_u64(x86 *e, uint64_t value) {
    memcpy(e->at, &value, 8);
    e->at += 8;
}

// Writes one byte when it holds the value, else four.
static inline void x86_short_imm(x86 *e, int32_t imm) {
    if (fits_s8(imm))
        x86_byte(e, (uint8_t)imm);
    else
        x86_u32(e, (uint32_t)imm);
}

// Prefix, REX, opcode. `is_byte` forces a REX, with which registers 4..7 mean their low bytes.
static inline void x86_encode_head(x86 *e, bool is_wide, uint32_t opcode, int reg, int index, int rm, bool is_byte) {
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

// ModRM of two registers.
static inline void x86_encode_pair(x86 *e, int reg, int rm) { x86_byte(e, 0xc0 | (unsigned)(reg & 7) << 3 | (unsigned)(rm & 7)); }

// ModRM, SIB and displacement of a register and memory.
static inline void x86_encode_mem(x86 *e, int reg, x86_mem m) {
    // With rbp and r13, no displacement means another operand.
    bool is_none = m.disp == 0 && (m.base & 7) != RBP;
    bool is_short = fits_s8(m.disp);
    unsigned mod = is_none ? 0 : is_short ? 0x40 : 0x80;
    if (m.index >= 0 || (m.base & 7) == RSP) {
        x86_byte(e, mod | (unsigned)(reg & 7) << 3 | 4);
        x86_byte(e, (unsigned)m.scale << 6 | (unsigned)((m.index < 0 ? 4 : m.index) & 7) << 3 | (unsigned)(m.base & 7));
    } else {
        x86_byte(e, mod | (unsigned)(reg & 7) << 3 | (unsigned)(m.base & 7));
    }
    if (is_none)
        return;
    if (is_short)
        x86_byte(e, (uint8_t)m.disp);
    else
        x86_u32(e, (uint32_t)m.disp);
}

// Whole instructions. `reg` may be a digit that belongs to the opcode.
static inline void x86_encode_rr(x86 *e, bool is_wide, uint32_t opcode, int reg, int rm) {
    x86_encode_head(e, is_wide, opcode, reg, 0, rm, false);
    x86_encode_pair(e, reg, rm);
}

static inline bool x86_needs_rex8(int reg) { return reg >= RSP && reg <= RDI; }

static inline void x86_encode_rr8(x86 *e, uint32_t opcode, int reg, int rm) {
    x86_encode_head(e, false, opcode, reg, 0, rm, x86_needs_rex8(reg) || x86_needs_rex8(rm));
    x86_encode_pair(e, reg, rm);
}

static inline void x86_encode_rm(x86 *e, bool is_wide, uint32_t opcode, int reg, x86_mem m) {
    x86_encode_head(e, is_wide, opcode, reg, m.index < 0 ? 0 : m.index, m.base, false);
    x86_encode_mem(e, reg, m);
}

static inline void x86_encode_rm8(x86 *e, uint32_t opcode, int reg, x86_mem m) {
    x86_encode_head(e, false, opcode, reg, m.index < 0 ? 0 : m.index, m.base, x86_needs_rex8(reg));
    x86_encode_mem(e, reg, m);
}

// An operand relative to the instruction that follows, n_imm bytes behind the displacement.
static inline void x86_encode_address(x86 *e, int reg, const void *target, unsigned n_imm) {
    x86_byte(e, (unsigned)(reg & 7) << 3 | 5);
    intptr_t next = (intptr_t)e->at + 4 + (intptr_t)n_imm + e->exec_minus_write;
    x86_u32(e, (uint32_t)((intptr_t)target - next));
}

static inline uint32_t x86_scalar(bool is_double) { return is_double ? 0xf20f00 : 0xf30f00; }

// ---- moves ----

static inline void x86_load(x86 *e, int to, x86_mem m) { x86_encode_rm(e, true, 0x8b, to, m); }
static inline void x86_load32(x86 *e, int to, x86_mem m) { x86_encode_rm(e, false, 0x8b, to, m); }
// The value is sign-extended to 64 bits.
static inline void x86_load_s32(x86 *e, int to, x86_mem m) { x86_encode_rm(e, true, 0x63, to, m); }
static inline void x86_load_s16(x86 *e, int to, x86_mem m) { x86_encode_rm(e, true, 0x0fbf, to, m); }
static inline void x86_load_s8(x86 *e, int to, x86_mem m) { x86_encode_rm(e, true, 0x0fbe, to, m); }
// The value is zero-extended.
static inline void x86_load_u16(x86 *e, int to, x86_mem m) { x86_encode_rm(e, false, 0x0fb7, to, m); }
static inline void x86_load_u8(x86 *e, int to, x86_mem m) { x86_encode_rm(e, false, 0x0fb6, to, m); }
static inline void x86_store(x86 *e, x86_mem m, int from) { x86_encode_rm(e, true, 0x89, from, m); }
static inline void x86_store32(x86 *e, x86_mem m, int from) { x86_encode_rm(e, false, 0x89, from, m); }
static inline void x86_store16(x86 *e, x86_mem m, int from) { x86_encode_rm(e, false, 0x6689, from, m); }
static inline void x86_store8(x86 *e, x86_mem m, int from) { x86_encode_rm8(e, 0x88, from, m); }

static inline void x86_store_i(x86 *e, x86_mem m, int32_t imm) { // 64 bits, sign-extended
    x86_encode_rm(e, true, 0xc7, 0, m);
    x86_u32(e, (uint32_t)imm);
}

static inline void x86_lea(x86 *e, int to, x86_mem m) { x86_encode_rm(e, true, 0x8d, to, m); }
static inline void x86_lea32(x86 *e, int to, x86_mem m) { x86_encode_rm(e, false, 0x8d, to, m); }

static inline void x86_mov_rr(x86 *e, int to, int from) { // nothing when both are one
    if (to != from)
        x86_encode_rr(e, true, 0x8b, to, from);
}

// A mov clears the upper half.
static inline void x86_zext32_rr(x86 *e, int to, int from) { x86_encode_rr(e, false, 0x8b, to, from); }
static inline void x86_zext16_rr(x86 *e, int to, int from) { x86_encode_rr(e, false, 0x0fb7, to, from); }
static inline void x86_sext32_rr(x86 *e, int to, int from) { x86_encode_rr(e, true, 0x63, to, from); }
static inline void x86_sext16_rr(x86 *e, int to, int from) { x86_encode_rr(e, true, 0x0fbf, to, from); }
static inline void x86_sext8_rr(x86 *e, int to, int from) { x86_encode_rr(e, true, 0x0fbe, to, from); }

static inline void x86_zext8_rr(x86 *e, int to, int from) {
    x86_encode_head(e, false, 0x0fb6, to, 0, from, x86_needs_rex8(from));
    x86_encode_pair(e, to, from);
}

// Takes the shortest form that holds the value.
static inline void x86_mov_ri(x86 *e, int reg, uint64_t value) {
    if (value <= UINT32_MAX) {
        x86_encode_head(e, false, 0xb8 + (unsigned)(reg & 7), 0, 0, reg, false);
        x86_u32(e, (uint32_t)value);
    } else if (fits_s32((int64_t)value)) {
        x86_encode_rr(e, true, 0xc7, 0, reg);
        x86_u32(e, (uint32_t)value);
    } else {
        x86_encode_head(e, true, 0xb8 + (unsigned)(reg & 7), 0, 0, reg, false);
        x86_u64(e, value);
    }
}

static inline void x86_cmov_rr(x86 *e, int cc, int to, int from) { x86_encode_rr(e, true, 0x0f40 | (unsigned)cc, to, from); }
static inline void x86_cmov32_rr(x86 *e, int cc, int to, int from) { x86_encode_rr(e, false, 0x0f40 | (unsigned)cc, to, from); }
// Sets the low byte.
static inline void x86_set_r(x86 *e, int cc, int to) { x86_encode_rr8(e, 0x0f90 | (unsigned)cc, 0, to); }
static inline void x86_push_r(x86 *e, int reg) { x86_encode_head(e, false, 0x50 + (unsigned)(reg & 7), 0, 0, reg, false); }
static inline void x86_pop_r(x86 *e, int reg) { x86_encode_head(e, false, 0x58 + (unsigned)(reg & 7), 0, 0, reg, false); }

// ---- the eight classic operations ----

// For templates that choose: op is X_ADD .. X_CMP.
static inline void x86_op_rr(x86 *e, bool is_wide, int op, int reg, int rm) { x86_encode_rr(e, is_wide, 0x03 + 8 * (unsigned)op, reg, rm); }

static inline void x86_op_rm(x86 *e, bool is_wide, int op, int reg, x86_mem m) {
    x86_encode_rm(e, is_wide, 0x03 + 8 * (unsigned)op, reg, m);
}

static inline void x86_op_mr(x86 *e, bool is_wide, int op, x86_mem m, int reg) {
    x86_encode_rm(e, is_wide, 0x01 + 8 * (unsigned)op, reg, m);
}

static inline void x86_op_ri(x86 *e, bool is_wide, int op, int reg, int32_t imm) {
    x86_encode_rr(e, is_wide, fits_s8(imm) ? 0x83 : 0x81, op, reg);
    x86_short_imm(e, imm);
}

static inline void x86_op_mi(x86 *e, bool is_wide, int op, x86_mem m, int32_t imm) {
    x86_encode_rm(e, is_wide, fits_s8(imm) ? 0x83 : 0x81, op, m);
    x86_short_imm(e, imm);
}

// For templates that know: x86_add_rr, x86_add_rm, x86_add_ri, x86_add_mi, x86_add32_rr and so on.
#define X86_OPERATION(name, op, is_wide)                                                                      \
    static inline void x86_##name##_rr(x86 *e, int reg, int rm) { x86_op_rr(e, is_wide, op, reg, rm); }       \
    static inline void x86_##name##_rm(x86 *e, int reg, x86_mem m) { x86_op_rm(e, is_wide, op, reg, m); }     \
    static inline void x86_##name##_ri(x86 *e, int reg, int32_t imm) { x86_op_ri(e, is_wide, op, reg, imm); } \
    static inline void x86_##name##_mi(x86 *e, x86_mem m, int32_t imm) { x86_op_mi(e, is_wide, op, m, imm); }
X86_OPERATION(add, X_ADD, true)
X86_OPERATION(add32, X_ADD, false)
X86_OPERATION(or, X_OR, true)
X86_OPERATION(or32, X_OR, false)
X86_OPERATION(adc, X_ADC, true)
X86_OPERATION(adc32, X_ADC, false)
X86_OPERATION(sbb, X_SBB, true)
X86_OPERATION(sbb32, X_SBB, false)
X86_OPERATION(and, X_AND, true)
X86_OPERATION(and32, X_AND, false)
X86_OPERATION(sub, X_SUB, true)
X86_OPERATION(sub32, X_SUB, false)
X86_OPERATION(xor, X_XOR, true)
X86_OPERATION(xor32, X_XOR, false)
X86_OPERATION(cmp, X_CMP, true)
X86_OPERATION(cmp32, X_CMP, false)

static inline void x86_cmp8_mi(x86 *e, x86_mem m, int8_t imm) {
    x86_encode_rm(e, false, 0x80, X_CMP, m);
    x86_byte(e, (uint8_t)imm);
}

static inline void x86_and8_rr(x86 *e, int reg, int rm) { x86_encode_rr8(e, 0x22, reg, rm); }
static inline void x86_test8_rr(x86 *e, int reg, int rm) { x86_encode_rr8(e, 0x84, reg, rm); }
static inline void x86_test_rr(x86 *e, bool is_wide, int reg, int rm) { x86_encode_rr(e, is_wide, 0x85, reg, rm); }
// Clears all 64 bits. Spends the flags.
static inline void x86_zero_r(x86 *e, int reg) { x86_xor32_rr(e, reg, reg); }

// ---- shifts, bits, products ----

// For templates that choose: op is X_SHL, X_SHR or X_SAR.
static inline void x86_shift_ri(x86 *e, bool is_wide, int op, int reg, unsigned count) {
    x86_encode_rr(e, is_wide, count == 1 ? 0xd1 : 0xc1, op, reg);
    if (count != 1)
        x86_byte(e, count);
}

static inline void x86_shift_by_cl(x86 *e, bool is_wide, int op, int reg) { x86_encode_rr(e, is_wide, 0xd3, op, reg); }
static inline void x86_shl32_ri(x86 *e, int reg, unsigned count) { x86_shift_ri(e, false, X_SHL, reg, count); }
static inline void x86_shr_ri(x86 *e, int reg, unsigned count) { x86_shift_ri(e, true, X_SHR, reg, count); }
static inline void x86_shr32_ri(x86 *e, int reg, unsigned count) { x86_shift_ri(e, false, X_SHR, reg, count); }

static inline void x86_btr_ri(x86 *e, int reg, unsigned bit) { // clears it
    x86_encode_rr(e, true, 0x0fba, 6, reg);
    x86_byte(e, bit);
}

static inline void x86_btc_ri(x86 *e, int reg, unsigned bit) { // inverts it
    x86_encode_rr(e, true, 0x0fba, 7, reg);
    x86_byte(e, bit);
}

// One byte shorter than the addition or subtraction of 1. The carry flag stays.
static inline void x86_inc_r(x86 *e, int reg) { x86_encode_rr(e, true, 0xff, 0, reg); }
static inline void x86_dec_r(x86 *e, int reg) { x86_encode_rr(e, true, 0xff, 1, reg); }
static inline void x86_inc_m(x86 *e, x86_mem m) { x86_encode_rm(e, true, 0xff, 0, m); }
static inline void x86_not_r(x86 *e, int reg) { x86_encode_rr(e, true, 0xf7, 2, reg); }
static inline void x86_imul_rr(x86 *e, bool is_wide, int to, int from) { x86_encode_rr(e, is_wide, 0x0faf, to, from); }
static inline void x86_imul_rm(x86 *e, bool is_wide, int to, x86_mem m) { x86_encode_rm(e, is_wide, 0x0faf, to, m); }
// rdx:rax = rax * reg.
static inline void x86_mul_high_r(x86 *e, bool is_signed, int reg) { x86_encode_rr(e, true, 0xf7, is_signed ? 5 : 4, reg); }
// rax = rdx:rax / reg, rdx = the rest.
static inline void x86_div_r(x86 *e, bool is_wide, bool is_signed, int reg) { x86_encode_rr(e, is_wide, 0xf7, is_signed ? 7 : 6, reg); }
// Fills rdx with the sign of rax: cqo, cdq.
static inline void x86_sign_of_rax(x86 *e, bool is_wide) { x86_encode_head(e, is_wide, 0x99, 0, 0, 0, false); }

// ---- jumps and calls ----

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

// Both addresses are in the written mapping.
static inline void x86_patch(uint8_t *displacement, const uint8_t *target) {
    int32_t distance = (int32_t)(target - (displacement + 4));
    memcpy(displacement, &distance, 4);
}

// Jumps over less than 128 bytes; returns the place of the displacement for x86_patch_short.
static inline uint8_t *x86_jcc_short(x86 *e, int cc) {
    x86_byte(e, 0x70 | (unsigned)cc);
    x86_byte(e, 0);
    return e->at - 1;
}

static inline void x86_patch_short(uint8_t *displacement, const uint8_t *target) {
    assert(fits_s8(target - (displacement + 1)));
    *displacement = (uint8_t)(target - (displacement + 1));
}

static inline void x86_jmp_to(x86 *e, const uint8_t *target) { x86_patch(x86_jmp(e), target); }

static inline void x86_call_to(x86 *e, const uint8_t *target) {
    x86_byte(e, 0xe8);
    x86_u32(e, 0);
    x86_patch(e->at - 4, target);
}

static inline void x86_jmp_r(x86 *e, int reg) { x86_encode_rr(e, false, 0xff, 4, reg); }
static inline void x86_jmp_m(x86 *e, x86_mem m) { x86_encode_rm(e, false, 0xff, 4, m); }
static inline void x86_call_r(x86 *e, int reg) { x86_encode_rr(e, false, 0xff, 2, reg); }
static inline void x86_call_m(x86 *e, x86_mem m) { x86_encode_rm(e, false, 0xff, 2, m); }
static inline void x86_ret(x86 *e) { x86_byte(e, 0xc3); }

static inline void x86_call_c(x86 *e, uintptr_t function) { // clobbers rax
    x86_mov_ri(e, RAX, function);
    x86_call_r(e, RAX);
}

// ---- scalar floating point and vectors ----

static inline void x86_fp_load(x86 *e, bool is_double, int to, x86_mem m) { x86_encode_rm(e, false, x86_scalar(is_double) | 0x10, to, m); }
static inline void x86_fp_store(x86 *e, bool is_double, x86_mem m, int from) {
    x86_encode_rm(e, false, x86_scalar(is_double) | 0x11, from, m);
}

// op is X_FP_ADD .. X_FP_DIV.
static inline void x86_fp_op_rm(x86 *e, bool is_double, int op, int reg, x86_mem m) {
    x86_encode_rm(e, false, x86_scalar(is_double) | (unsigned)op, reg, m);
}

static inline void x86_fp_sqrt_rr(x86 *e, bool is_double, int to, int from) {
    x86_encode_rr(e, false, x86_scalar(is_double) | 0x51, to, from);
}

// Equality is quiet (ucomis), order is not (comis).
static inline void x86_ucomis_rr(x86 *e, bool is_double, int reg, int rm) {
    x86_encode_rr(e, false, is_double ? 0x660f2e : 0x0f2e, reg, rm);
}

static inline void x86_ucomis_rm(x86 *e, bool is_double, int reg, x86_mem m) {
    x86_encode_rm(e, false, is_double ? 0x660f2e : 0x0f2e, reg, m);
}

static inline void x86_comis_rm(x86 *e, bool is_double, int reg, x86_mem m) {
    x86_encode_rm(e, false, is_double ? 0x660f2f : 0x0f2f, reg, m);
}

// Conversions. is_wide: the integer has 64 bits.
static inline void x86_fp_from_int_rr(x86 *e, bool is_double, bool is_wide, int to, int from) {
    x86_encode_rr(e, is_wide, x86_scalar(is_double) | 0x2a, to, from);
}

static inline void x86_fp_to_int_rm(x86 *e, bool is_double, bool is_wide, bool truncates, int to, x86_mem m) {
    x86_encode_rm(e, is_wide, x86_scalar(is_double) | (truncates ? 0x2cu : 0x2du), to, m);
}

// Converts to the other precision.
static inline void x86_fp_convert_rm(x86 *e, bool from_double, int to, x86_mem m) {
    x86_encode_rm(e, false, x86_scalar(from_double) | 0x5a, to, m);
}

// to = with * to + m for X_FMADD; the others change signs (vfmadd213 and its like). Needs FMA3.
static inline void x86_fma_rm(x86 *e, bool is_double, int op, int to, int with, x86_mem m) {
    unsigned rex = (unsigned)(to >> 3 & 1) << 7 | (unsigned)(m.index >= 0 && (m.index & 8)) << 6 | (unsigned)(m.base >> 3 & 1) << 5;
    x86_byte(e, 0xc4);
    x86_byte(e, (0xe0 ^ rex) | 2);                                           // inverted, map 0f38
    x86_byte(e, (unsigned)is_double << 7 | (unsigned)(~with & 15) << 3 | 1); // prefix 66
    x86_byte(e, (unsigned)op);
    x86_encode_mem(e, to, m);
}

static inline void x86_xorps_rr(x86 *e, int reg, int rm) { x86_encode_rr(e, false, 0x0f57, reg, rm); }
// Moves a vector's low 32 bits.
static inline void x86_movd_rr(x86 *e, int to, int from) { x86_encode_rr(e, false, 0x660f7e, from, to); }
static inline void x86_movq_load(x86 *e, int to, x86_mem m) { x86_encode_rm(e, false, 0xf30f7e, to, m); }
static inline void x86_movq_store(x86 *e, x86_mem m, int from) { x86_encode_rm(e, false, 0x660fd6, from, m); }
static inline void x86_movaps_load(x86 *e, int to, x86_mem m) { x86_encode_rm(e, false, 0x0f28, to, m); }
static inline void x86_movaps_store(x86 *e, x86_mem m, int from) { x86_encode_rm(e, false, 0x0f29, from, m); }
static inline void x86_paddd_rm(x86 *e, int reg, x86_mem m) { x86_encode_rm(e, false, 0x660ffe, reg, m); }

// ---- absolute addresses, relative to the following instruction; x86_reaches must hold ----

static inline bool x86_reaches(const x86 *e, const void *target) {
    intptr_t from = (intptr_t)e->at + e->exec_minus_write;
    return fits_s32(((intptr_t)target - from) * 2); // with room for the instruction itself
}

static inline void x86_paddq_ra(x86 *e, int reg, const void *target) {
    x86_encode_head(e, false, 0x660fd4, reg, 0, 0, false);
    x86_encode_address(e, reg, target, 0);
}

static inline void x86_inc_a(x86 *e, const void *target) {
    x86_encode_head(e, true, 0xff, 0, 0, 0, false);
    x86_encode_address(e, 0, target, 0);
}

#endif
