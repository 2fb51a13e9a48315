// SPDX-License-Identifier: MIT
// Bodies of Zba, Zbb and Zbs.
#ifndef TL_ISA_RV_EXEC_ZB_H
#define TL_ISA_RV_EXEC_ZB_H

#include "isa/rv/exec_i.h"

#define LOW32(value) ((uint64_t)(uint32_t)(value))
#define BIT(index) (UINT64_C(1) << ((index)&63))

BODY(add_uw, LOW32(RS1) + RS2)
BODY(sh1add, (RS1 << 1) + RS2)
BODY(sh2add, (RS1 << 2) + RS2)
BODY(sh3add, (RS1 << 3) + RS2)
BODY(sh1add_uw, (LOW32(RS1) << 1) + RS2)
BODY(sh2add_uw, (LOW32(RS1) << 2) + RS2)
BODY(sh3add_uw, (LOW32(RS1) << 3) + RS2)
BODY(slli_uw, LOW32(RS1) << op->imm)

TL_ALWAYS_INLINE uint64_t tl_rotate_right(uint64_t value, uint64_t by) { return value >> (by & 63) | value << (-by & 63); }
TL_ALWAYS_INLINE uint64_t tl_rotate_right_word(uint64_t value, uint64_t by) {
    const uint32_t word = (uint32_t)value;
    return SEXT32(word >> (by & 31) | word << (-by & 31));
}
// Not the compiler's: without a host instruction that is a call.
TL_ALWAYS_INLINE uint64_t tl_count_ones(uint64_t value) {
    value -= value >> 1 & UINT64_C(0x5555555555555555);
    value = (value & UINT64_C(0x3333333333333333)) + (value >> 2 & UINT64_C(0x3333333333333333));
    value = (value + (value >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (value * UINT64_C(0x0101010101010101)) >> 56;
}
// Each byte becomes 0xff unless it is 0.
TL_ALWAYS_INLINE uint64_t tl_or_combine(uint64_t value) {
    const uint64_t low7 = UINT64_C(0x7f7f7f7f7f7f7f7f);
    // Bit 7 of each byte that is not 0.
    const uint64_t top = (((value & low7) + low7) | value) & ~low7;
    return (top >> 7) * 0xff;
}

BODY(andn, RS1 & ~RS2)
BODY(orn, RS1 | ~RS2)
BODY(xnor, ~(RS1 ^ RS2))
BODY(max, (int64_t)RS1 > (int64_t)RS2 ? RS1 : RS2)
BODY(maxu, RS1 > RS2 ? RS1 : RS2)
BODY(min, (int64_t)RS1 < (int64_t)RS2 ? RS1 : RS2)
BODY(minu, RS1 < RS2 ? RS1 : RS2)
BODY(rol, tl_rotate_right(RS1, 0 - RS2))
BODY(ror, tl_rotate_right(RS1, RS2))
BODY(rolw, tl_rotate_right_word(RS1, 0 - RS2))
BODY(rorw, tl_rotate_right_word(RS1, RS2))
BODY(rori, tl_rotate_right(RS1, (uint64_t)op->imm))
BODY(roriw, tl_rotate_right_word(RS1, (uint64_t)op->imm))
BODY(clz, RS1 == 0 ? 64 : (uint64_t)__builtin_clzll(RS1))
BODY(ctz, RS1 == 0 ? 64 : (uint64_t)__builtin_ctzll(RS1))
BODY(cpop, tl_count_ones(RS1))
BODY(clzw, (uint32_t)RS1 == 0 ? 32 : (uint64_t)__builtin_clz((uint32_t)RS1))
BODY(ctzw, (uint32_t)RS1 == 0 ? 32 : (uint64_t)__builtin_ctz((uint32_t)RS1))
BODY(cpopw, tl_count_ones(LOW32(RS1)))
BODY(sext_b, (uint64_t)(int64_t)(int8_t)RS1)
BODY(sext_h, (uint64_t)(int64_t)(int16_t)RS1)
BODY(zext_h, (uint16_t)RS1)
BODY(orc_b, tl_or_combine(RS1))
BODY(rev8, __builtin_bswap64(RS1))

BODY(bclr, RS1 & ~BIT(RS2))
BODY(bext, RS1 >> (RS2 & 63) & 1)
BODY(binv, RS1 ^ BIT(RS2))
BODY(bset, RS1 | BIT(RS2))
BODY(bclri, RS1 & ~BIT(op->imm))
BODY(bexti, RS1 >> op->imm & 1)
BODY(binvi, RS1 ^ BIT(op->imm))
BODY(bseti, RS1 | BIT(op->imm))

#endif
