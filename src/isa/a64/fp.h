// SPDX-License-Identifier: MIT
// Floating point of A64 in integers. Results, rounding, NaNs, flushing and cumulative exceptions
// equal the manual's pseudocode (shared/functions/float) in every bit. FPCR and FPSR are
// arguments, so that vectors and scalars share it. Values are bits, in the low end of a word.
#ifndef TL_ISA_A64_FP_H
#define TL_ISA_A64_FP_H

#include <stdbool.h>
#include <stdint.h>

#include "isa/a64/arch.h"

typedef enum tl_a64_float { TL_A64_HALF, TL_A64_SINGLE, TL_A64_DOUBLE } tl_a64_float;

// FPCR.RMode, and two that only instructions choose.
typedef enum tl_a64_rounding { TL_A64_TIEEVEN, TL_A64_POSINF, TL_A64_NEGINF, TL_A64_ZERO_MODE, TL_A64_TIEAWAY, TL_A64_ODD } tl_a64_rounding;
static inline tl_a64_rounding tl_a64_rmode(uint32_t fpcr) { return (tl_a64_rounding)(fpcr >> TL_A64_RMODE_LSB & 3); }

uint64_t tl_a64_fadd(tl_a64_float f, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr);
uint64_t tl_a64_fsub(tl_a64_float f, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr);
uint64_t tl_a64_fmul(tl_a64_float f, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr);
// Infinity times 0 is 2.
uint64_t tl_a64_fmulx(tl_a64_float f, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr);
uint64_t tl_a64_fdiv(tl_a64_float f, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr);
uint64_t tl_a64_fma(tl_a64_float f, uint64_t addend, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr);
uint64_t tl_a64_fsqrt(tl_a64_float f, uint64_t a, uint32_t fpcr, uint32_t *fpsr);
uint64_t tl_a64_fneg(tl_a64_float f, uint64_t a);
uint64_t tl_a64_fabs(tl_a64_float f, uint64_t a);
// is_number: a quiet NaN loses against a number (FMAXNM, FMINNM).
uint64_t tl_a64_fmax(tl_a64_float f, uint64_t a, uint64_t b, bool is_number, uint32_t fpcr, uint32_t *fpsr);
uint64_t tl_a64_fmin(tl_a64_float f, uint64_t a, uint64_t b, bool is_number, uint32_t fpcr, uint32_t *fpsr);
// Returns 2 - a * b.
uint64_t tl_a64_frecps(tl_a64_float f, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr);
// Returns (3 - a * b) / 2.
uint64_t tl_a64_frsqrts(tl_a64_float f, uint64_t a, uint64_t b, uint32_t fpcr, uint32_t *fpsr);
uint64_t tl_a64_frecpe(tl_a64_float f, uint64_t a, uint32_t fpcr, uint32_t *fpsr);
uint64_t tl_a64_frsqrte(tl_a64_float f, uint64_t a, uint32_t fpcr, uint32_t *fpsr);
uint64_t tl_a64_frecpx(tl_a64_float f, uint64_t a, uint32_t fpcr, uint32_t *fpsr);
uint32_t tl_a64_urecpe(uint32_t a);
uint32_t tl_a64_ursqrte(uint32_t a);
// To an integral value of the same format; is_exact: an inexact one is an exception (FRINTX).
uint64_t tl_a64_frint(tl_a64_float f, uint64_t a, tl_a64_rounding rounding, bool is_exact, uint32_t fpcr, uint32_t *fpsr);
uint64_t tl_a64_fconvert(tl_a64_float to, tl_a64_float from, uint64_t a, tl_a64_rounding rounding, uint32_t fpcr, uint32_t *fpsr);
// a * 2^fraction_bits, saturated to `bits` bits.
uint64_t tl_a64_to_int(tl_a64_float f, uint64_t a, uint32_t fraction_bits, uint32_t bits, bool is_signed, tl_a64_rounding rounding,
                       uint32_t fpcr, uint32_t *fpsr);
// a * 2^-fraction_bits, a being sign- or zero-extended to 64 bits.
uint64_t tl_a64_from_int(tl_a64_float f, uint64_t a, uint32_t fraction_bits, bool is_signed, uint32_t fpcr, uint32_t *fpsr);
// N, Z, C, V of a comparison; is_signaling: every NaN is an exception (FCMPE).
uint32_t tl_a64_fcompare(tl_a64_float f, uint64_t a, uint64_t b, bool is_signaling, uint32_t fpcr, uint32_t *fpsr);

#endif
