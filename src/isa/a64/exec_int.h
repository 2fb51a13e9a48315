// SPDX-License-Identifier: MIT
// Bodies of data processing in general registers: insn_imm.def, insn_reg.def, conditional branches.
#ifndef TL_ISA_A64_EXEC_INT_H
#define TL_ISA_A64_EXEC_INT_H

#include "isa/a64/exec.h"

__extension__ typedef unsigned __int128 tl_a64_uint128;
__extension__ typedef __int128 tl_a64_int128;

#define IMM ((T)(uint32_t)op->imm)
#define FLAGS tl_a64(h)->nzcv
#define SET(value)       \
    {                    \
        RD = (T)(value); \
        return true;     \
    }

// A logical immediate of 64 bits from its operand (insn.c): ones, copied to all elements, rotated.
TL_ALWAYS_INLINE uint64_t tl_a64_pattern(uint32_t operand) {
    static const uint64_t copies[7] = {
        0, ~UINT64_C(0) / 3, ~UINT64_C(0) / 15, ~UINT64_C(0) / 255, ~UINT64_C(0) / 65535, UINT64_C(0x100000001), 1};
    const uint64_t ones = (~UINT64_C(0) >> (63 - (operand & 63))) * copies[operand >> 12];
    const uint32_t rotation = operand >> 6 & 63;
    return ones >> rotation | ones << (-rotation & 63);
}

// a + b + carry with the flags of the sum (manual: AddWithCarry).
#define ADD_WITH_CARRY(sum, a_value, b_value, carry_value)                                                                   \
    const T a = (a_value), b = (b_value), partial = (T)(a + b), sum = (T)(partial + (T)(carry_value));                       \
    FLAGS = (uint32_t)(sum >> (BITS - 1)) << 3 | (uint32_t)(sum == 0) << 2 | (uint32_t)(partial < a || sum < partial) << 1 | \
            (uint32_t)(((a ^ sum) & (b ^ sum)) >> (BITS - 1))
// Flags of a + b, of a - b, and of a result of logic. On x86-64 the instruction of the host makes
// them. LAHF puts SF, ZF and CF into bits 15, 14 and 8, and SETO puts OF into bit 0. A product
// brings them together. Computing each flag takes twice as many instructions.
#if defined(__x86_64__)
#define HOST_SUM(instruction, sum, a, b, flip)                                                          \
    T sum = (a);                                                                                        \
    uint32_t host_flags;                                                                                \
    __asm__(instruction " %2, %0\n\tlahf\n\tseto %%al" : "+r"(sum), "=&a"(host_flags) : "r"(b) : "cc"); \
    FLAGS = ((host_flags & 0xc101) * 0x1021 >> 12 & 15) ^ (flip)
#define SUBTRACT(sum, a_value, b_value)   \
    const T a = (a_value), b = (b_value); \
    HOST_SUM("sub", sum, a, b, 1u << 1)
#define ADD(sum, a_value, b_value)        \
    const T a = (a_value), b = (b_value); \
    HOST_SUM("add", sum, a, b, 0)
#define LOGIC_FLAGS(value)                                                     \
    {                                                                          \
        uint32_t host_flags;                                                   \
        __asm__("test %1, %1\n\tlahf" : "=a"(host_flags) : "r"(value) : "cc"); \
        FLAGS = host_flags >> 12 & 12;                                         \
    }
#else
// a - b with the flags of the sum a + ~b + 1.
#define SUBTRACT(sum, a_value, b_value)                                                                \
    const T a = (a_value), b = (b_value), sum = (T)(a - b);                                            \
    FLAGS = (uint32_t)(sum >> (BITS - 1)) << 3 | (uint32_t)(sum == 0) << 2 | (uint32_t)(a >= b) << 1 | \
            (uint32_t)(((a ^ b) & (a ^ sum)) >> (BITS - 1))
#define ADD(sum, a_value, b_value)                                                                      \
    const T a = (a_value), b = (b_value), sum = (T)(a + b);                                             \
    FLAGS = (uint32_t)(sum >> (BITS - 1)) << 3 | (uint32_t)(sum == 0) << 2 | (uint32_t)(sum < a) << 1 | \
            (uint32_t)(((a ^ sum) & (b ^ sum)) >> (BITS - 1))
#define LOGIC_FLAGS(value) FLAGS = (uint32_t)((value) >> (BITS - 1)) << 3 | (uint32_t)((value) == 0) << 2
#endif

// -- Immediates.
EXEC(adr) {
    RD = pc + (uint64_t)(int64_t)op->imm;
    return true;
}
EXEC(adrp) {
    RD = (pc & ~UINT64_C(0xfff)) + ((uint64_t)(int64_t)op->imm << 12);
    return true;
}
EXEC_WX(add_imm, SET(RN + IMM))
EXEC_WX(sub_imm, SET(RN - IMM))
EXEC_WX(adds_imm, {
    ADD(sum, RN, IMM);
    SET(sum)
})
EXEC_WX(subs_imm, {
    SUBTRACT(sum, RN, IMM);
    SET(sum)
})
#define MASK ((T)(BITS == 64 ? tl_a64_pattern((uint32_t)op->imm) : (uint32_t)op->imm))
EXEC_WX(and_imm, SET(RN &MASK))
EXEC_WX(orr_imm, SET(RN | MASK))
EXEC_WX(eor_imm, SET(RN ^ MASK))
EXEC_WX(ands_imm, {
    const T value = RN & MASK;
    LOGIC_FLAGS(value);
    SET(value)
})
#undef MASK
#define MOVED ((T)((uint64_t)((uint32_t)op->imm & 0xffff) << (op->imm >> 16 << 4)))
EXEC_WX(movn, SET(~MOVED))
EXEC_WX(movz, SET(MOVED))
EXEC_WX(movk, SET((RD & ~((uint64_t)0xffff << (op->imm >> 16 << 4))) | MOVED))
#undef MOVED

// A field moves to the top of the word and down to its place (tl_a64_op_from_decoded).
EXEC_WX(ubfm, SET((T)(RN << op->rm) >> op->ra))
EXEC_WX(sbfm, SET((S)(T)(RN << op->rm) >> op->ra))
EXEC_WX(bfm, {
    const T field = (T)((T) ~(T)0 << op->rm) >> op->ra;
    SET(((T)RD & ~field) | ((T)(RN << op->rm) >> op->ra))
})
EXEC_WX(extr, {
    const uint32_t lsb = (uint32_t)op->imm;
    SET(lsb == 0 ? RM : RM >> lsb | RN << (BITS - lsb))
})

// -- Registers.
#define ROTATED(value, n) ((T)((n) == 0 ? (value) : (value) >> (n) | (value) << (BITS - (n))))
#define SHIFT                                           \
    const uint32_t amount = (uint32_t)op->imm & 63;     \
    T shifted = RM;                                     \
    switch (op->imm >> 6) {                             \
    case 0: shifted = (T)(shifted << amount); break;    \
    case 1: shifted = (T)(shifted >> amount); break;    \
    case 2: shifted = (T)((S)shifted >> amount); break; \
    default: shifted = ROTATED(shifted, amount); break; \
    }
#define LOGIC(name, expression) EXEC_WX(name, {SHIFT SET(expression)})
#define LOGIC_S(name, expression)     \
    EXEC_WX(name, {                   \
        SHIFT                         \
        const T value = (expression); \
        LOGIC_FLAGS(value);           \
        SET(value)                    \
    })
LOGIC(and, RN &shifted)
LOGIC(bic, RN & ~shifted)
LOGIC(orr, RN | shifted)
LOGIC(orn, RN | ~shifted)
LOGIC(eor, RN ^ shifted)
LOGIC(eon, RN ^ ~shifted)
LOGIC_S(ands, RN &shifted)
LOGIC_S(bics, RN & ~shifted)
LOGIC(add, RN + shifted)
LOGIC(sub, RN - shifted)
EXEC_WX(adds, {
    SHIFT
    ADD(sum, RN, shifted);
    SET(sum)
})
EXEC_WX(subs, {
    SHIFT
    SUBTRACT(sum, RN, shifted);
    SET(sum)
})

// Manual: ExtendReg.
TL_ALWAYS_INLINE uint64_t tl_a64_extend(uint64_t value, uint32_t option, uint32_t amount) {
    switch (option) {
    case 0: value = (uint8_t)value; break;
    case 1: value = (uint16_t)value; break;
    case 2: value = (uint32_t)value; break;
    case 4: value = (uint64_t)(int8_t)value; break;
    case 5: value = (uint64_t)(int16_t)value; break;
    case 6: value = (uint64_t)(int32_t)value; break;
    default: break;
    }
    return value << amount;
}
#define EXTENDED ((T)tl_a64_extend(tl_a64(h)->x[op->rm], (uint32_t)op->imm >> 3, (uint32_t)op->imm & 7))
EXEC_WX(add_ext, SET(RN + EXTENDED))
EXEC_WX(sub_ext, SET(RN - EXTENDED))
EXEC_WX(adds_ext, {
    ADD(sum, RN, EXTENDED);
    SET(sum)
})
EXEC_WX(subs_ext, {
    SUBTRACT(sum, RN, EXTENDED);
    SET(sum)
})
#undef EXTENDED
#define CARRY (FLAGS >> 1 & 1)
EXEC_WX(adc, SET(RN + RM + CARRY))
EXEC_WX(sbc, SET(RN + (T)~RM + CARRY))
EXEC_WX(adcs, {
    const uint32_t carry = CARRY;
    ADD_WITH_CARRY(sum, RN, RM, carry);
    SET(sum)
})
EXEC_WX(sbcs, {
    const uint32_t carry = CARRY;
    ADD_WITH_CARRY(sum, RN, (T)~RM, carry);
    SET(sum)
})
#undef CARRY

#define COMPARE(name, SUM, second)                      \
    EXEC_WX(name, {                                     \
        if (!tl_a64_holds(h, (uint32_t)op->imm >> 4)) { \
            FLAGS = (uint32_t)op->imm & 15;             \
            return true;                                \
        }                                               \
        SUM(sum, RN, (T)(second));                      \
        (void)sum;                                      \
        return true;                                    \
    })
COMPARE(ccmn, ADD, RM)
COMPARE(ccmp, SUBTRACT, RM)
COMPARE(ccmn_imm, ADD, op->rm)
COMPARE(ccmp_imm, SUBTRACT, op->rm)
#undef COMPARE
EXEC_WX(csel, SET(tl_a64_holds(h, (uint32_t)op->imm) ? RN : RM))
EXEC_WX(csinc, SET(tl_a64_holds(h, (uint32_t)op->imm) ? RN : RM + 1))
EXEC_WX(csinv, SET(tl_a64_holds(h, (uint32_t)op->imm) ? RN : ~RM))
EXEC_WX(csneg, SET(tl_a64_holds(h, (uint32_t)op->imm) ? RN : 0 - RM))

EXEC_WX(madd, SET(RA + RN * RM))
EXEC_WX(msub, SET(RA - RN * RM))
#define LONG(name, expression)              \
    EXEC(name) {                            \
        TL_A64_TYPES(uint64_t, int64_t, 64) \
        SET(expression)                     \
    }
// The least number by -1 wraps.
LONG(smaddl, RA + (uint64_t)((int64_t)(int32_t)RN * (int32_t)RM))
LONG(smsubl, RA - (uint64_t)((int64_t)(int32_t)RN * (int32_t)RM))
LONG(umaddl, RA + (uint64_t)(uint32_t)RN * (uint32_t)RM)
LONG(umsubl, RA - (uint64_t)(uint32_t)RN * (uint32_t)RM)
LONG(smulh, (tl_a64_int128)(int64_t)RN *(int64_t)RM >> 64)
LONG(umulh, (tl_a64_uint128)RN *RM >> 64)
EXEC_WX(udiv, SET(RM == 0 ? 0 : RN / RM))
EXEC_WX(sdiv, SET(RM == 0 ? 0 : RM == (T) ~(T)0 ? 0 - RN : (T)((S)RN / (S)RM)))
EXEC_WX(lslv, SET(RN << (RM % BITS)))
EXEC_WX(lsrv, SET(RN >> (RM % BITS)))
EXEC_WX(asrv, SET((S)RN >> (RM % BITS)))
EXEC_WX(rorv, SET(ROTATED(RN, RM % BITS)))

// Bits of the polynomial are reflected, as those of the data.
static inline uint32_t tl_a64_crc32(uint32_t crc, uint64_t data, uint32_t size_bytes, uint32_t polynomial) {
    for (uint32_t i = 0; i < size_bytes; i++) {
        crc ^= (uint8_t)(data >> 8 * i);
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return crc;
}
#define CRC(name, size_bytes, polynomial) LONG(name, tl_a64_crc32((uint32_t)RN, RM, size_bytes, polynomial))
CRC(crc32b, 1, 0xedb88320)
CRC(crc32h, 2, 0xedb88320)
CRC(crc32w, 4, 0xedb88320)
CRC(crc32x, 8, 0xedb88320)
CRC(crc32cb, 1, 0x82f63b78)
CRC(crc32ch, 2, 0x82f63b78)
CRC(crc32cw, 4, 0x82f63b78)
CRC(crc32cx, 8, 0x82f63b78)
#undef CRC

static inline uint64_t tl_a64_swap16(uint64_t v) {
    return (v >> 8 & UINT64_C(0x00ff00ff00ff00ff)) | (v & UINT64_C(0x00ff00ff00ff00ff)) << 8;
}
static inline uint64_t tl_a64_reverse_bits(uint64_t v) {
    v = (v >> 1 & UINT64_C(0x5555555555555555)) | (v & UINT64_C(0x5555555555555555)) << 1;
    v = (v >> 2 & UINT64_C(0x3333333333333333)) | (v & UINT64_C(0x3333333333333333)) << 2;
    v = (v >> 4 & UINT64_C(0x0f0f0f0f0f0f0f0f)) | (v & UINT64_C(0x0f0f0f0f0f0f0f0f)) << 4;
    return __builtin_bswap64(v);
}
static inline uint32_t tl_a64_leading_zeros(uint64_t v, uint32_t bits) {
    return v == 0 ? bits : (uint32_t)__builtin_clzll(v) - (64 - bits);
}
// Bits below the sign that equal it.
EXEC_WX(rbit, SET(tl_a64_reverse_bits(RN) >> (64 - BITS)))
EXEC_WX(rev16, SET(tl_a64_swap16(RN)))
EXEC_WX(clz, SET(tl_a64_leading_zeros(RN, BITS)))
EXEC_WX(cls, SET(tl_a64_leading_zeros((T)(RN ^ (T)((S)RN >> 1)), BITS) - 1))
EXEC_WX(rev, SET(BITS == 64 ? __builtin_bswap64(RN) : __builtin_bswap32((uint32_t)RN)))
LONG(rev32, __builtin_bswap64(RN) >> 32 | __builtin_bswap64(RN) << 32)

// -- Conditional branches. The condition and the bit number stand in fields.
TAKEN(b_cond) { return tl_a64_holds(h, op->rd & 15); }
TAKEN(cbz_w) { return (uint32_t)RD == 0; }
TAKEN(cbz_x) { return RD == 0; }
TAKEN(cbnz_w) { return (uint32_t)RD != 0; }
TAKEN(cbnz_x) { return RD != 0; }
TAKEN(tbz) { return !(RD >> op->rm & 1); }
TAKEN(tbnz) { return RD >> op->rm & 1; }

#undef IMM
#undef SHIFT
#undef SUBTRACT
#undef ADD
#undef LOGIC
#undef LOGIC_S
#undef LONG

#endif
