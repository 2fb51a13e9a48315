// SPDX-License-Identifier: MIT
// An AArch64 hart: the state that an instruction can name, behind what every hart has
// (model/hart.h).
#ifndef TL_ISA_A64_HART_H
#define TL_ISA_A64_HART_H

#include "isa/a64/arch.h"
#include "model/hart.h"
#include "model/isa.h"

// Register number 31 is the zero register or the stack pointer; operands are decoded to one of
// these. A write of the zero register reaches the sink, which nothing reads.
enum { TL_A64_ZERO = 31, TL_A64_SP = 32, TL_A64_SINK = 33, TL_A64_N_X = 34 };

typedef union tl_a64_vector { // lanes of a SIMD register, lane 0 lowest
    uint8_t b[16];
    uint16_t h[8];
    uint32_t s[4];
    uint64_t d[2];
} tl_a64_vector;

typedef struct tl_a64_hart {
    tl_hart hart;
    uint64_t x[TL_A64_N_X];
    tl_a64_vector v[32];
    uint32_t nzcv; // TL_A64_N ..
    uint32_t fpcr, fpsr;
    uint64_t tpidr, tpidrro; // of EL0
} tl_a64_hart;

TL_ALWAYS_INLINE tl_a64_hart *tl_a64_of(tl_hart *h) { return (tl_a64_hart *)(void *)h; }
TL_ALWAYS_INLINE const tl_a64_hart *tl_a64_of_const(const tl_hart *h) { return (const tl_a64_hart *)(const void *)h; }
// The AArch64 hart that `h` is the beginning of, const as `h` is.
#define tl_a64(h) _Generic((h), const tl_hart * : tl_a64_of_const, default : tl_a64_of)(h)

extern const tl_isa tl_isa_a64;

#endif
