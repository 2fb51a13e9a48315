// SPDX-License-Identifier: MIT
// IEEE 754-2008 binary32 and binary64 in integers: all five rounding modes of RISC-V, tininess
// after rounding, canonical NaNs. It is the reference of the host's arithmetic and computes what
// the host cannot (fp.h). Operands and results are bit patterns. Flags are added to *flags, in the
// layout of fflags.
#ifndef TL_ISA_RV_FP_SOFT_H
#define TL_ISA_RV_FP_SOFT_H

#include <stdbool.h>
#include <stdint.h>

enum { TL_FP_NX = 1, TL_FP_UF = 2, TL_FP_OF = 4, TL_FP_DZ = 8, TL_FP_NV = 16 };
typedef enum tl_rm { TL_RNE, TL_RTZ, TL_RDN, TL_RUP, TL_RMM, TL_RM_DYN = 7 } tl_rm;

typedef enum tl_fp_format { TL_FP_SINGLE, TL_FP_DOUBLE } tl_fp_format;
// The order is that of the rs2 field of FCVT.
typedef enum tl_fp_int { TL_FP_W, TL_FP_WU, TL_FP_L, TL_FP_LU } tl_fp_int;

uint64_t tl_soft_add(tl_fp_format format, uint64_t a, uint64_t b, tl_rm rm, uint8_t *flags);
uint64_t tl_soft_sub(tl_fp_format format, uint64_t a, uint64_t b, tl_rm rm, uint8_t *flags);
uint64_t tl_soft_mul(tl_fp_format format, uint64_t a, uint64_t b, tl_rm rm, uint8_t *flags);
// Returns a * b + c.
uint64_t tl_soft_fma(tl_fp_format format, uint64_t a, uint64_t b, uint64_t c, tl_rm rm, uint8_t *flags);
uint64_t tl_soft_div(tl_fp_format format, uint64_t a, uint64_t b, tl_rm rm, uint8_t *flags);
uint64_t tl_soft_sqrt(tl_fp_format format, uint64_t a, tl_rm rm, uint8_t *flags);
uint64_t tl_soft_convert(tl_fp_format to, tl_fp_format from, uint64_t a, tl_rm rm, uint8_t *flags);
// Words are sign-extended.
uint64_t tl_soft_to_int(tl_fp_int to, tl_fp_format from, uint64_t a, tl_rm rm, uint8_t *flags);
uint64_t tl_soft_from_int(tl_fp_format to, tl_fp_int from, uint64_t a, tl_rm rm, uint8_t *flags);
bool tl_soft_eq(tl_fp_format format, uint64_t a, uint64_t b, uint8_t *flags); // quiet
bool tl_soft_lt(tl_fp_format format, uint64_t a, uint64_t b, uint8_t *flags); // signaling
bool tl_soft_le(tl_fp_format format, uint64_t a, uint64_t b, uint8_t *flags); // signaling

#endif
