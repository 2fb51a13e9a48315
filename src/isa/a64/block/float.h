// SPDX-License-Identifier: MIT
// Floating point of blocks on the host's own unit. The host rounds to nearest and flushes nothing,
// so FPCR must say so. Its sticky flag for inexact results is FPSR.IXC of these instructions; MRS,
// MSR and leaving the engine take it over. The body (isa/a64/fp.h) gives bits and flags of NaNs,
// infinities, and results so small that they may have underflowed. The
// host's flag is right for these, too: whether a result is exact does not rest on the kind of it.
#ifndef TL_ISA_A64_BLOCK_FLOAT_H
#define TL_ISA_A64_BLOCK_FLOAT_H

#include "isa/a64/exec.h"

#if TL_FP_HOST
#include <immintrin.h>

enum { TL_MXCSR_FLAGS = 0x3f, TL_MXCSR_QUIET = 0x1f80, TL_MXCSR_INEXACT = 1 << 5 };

static inline void tl_a64_fp_harvest(tl_hart *h) {
    const unsigned csr = _mm_getcsr();
    tl_a64(h)->fpsr |= csr & TL_MXCSR_INEXACT ? (uint32_t)TL_A64_IXC : 0;
    _mm_setcsr(csr & ~(unsigned)TL_MXCSR_FLAGS);
}
static inline void tl_a64_fp_enter(tl_hart *h, tl_fp_saved *ret_saved) {
    (void)h;
    *ret_saved = (tl_fp_saved){.opaque = {_mm_getcsr()}};
    _mm_setcsr(TL_MXCSR_QUIET);
}
static inline void tl_a64_fp_leave(tl_hart *h, const tl_fp_saved *saved) {
    tl_a64_fp_harvest(h);
    _mm_setcsr((unsigned)saved->opaque[0]);
}

TL_ALWAYS_INLINE bool tl_a64_host_rounds(const tl_hart *h) {
    return TL_LIKELY((tl_a64(h)->fpcr & (TL_A64_FZ | 3u << TL_A64_RMODE_LSB)) == 0);
}

TL_ALWAYS_INLINE double tl_a64_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
TL_ALWAYS_INLINE float tl_a64_float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
TL_ALWAYS_INLINE uint64_t tl_a64_double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
TL_ALWAYS_INLINE uint32_t tl_a64_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}
// Finite, and at least twice the least normal number.
TL_ALWAYS_INLINE bool tl_a64_is_plain_d(uint64_t bits) { return ((bits >> 52 & 0x7ff) - 2) < 0x7fd; }
TL_ALWAYS_INLINE bool tl_a64_is_plain_s(uint64_t bits) { return ((bits >> 23 & 0xff) - 2) < 0xfd; }

// Instructions that raise the host's flag are volatile, because a compiler may not move them to
// before the test of FPCR.
#define HOST_BINARY(name, instruction, type)                        \
    TL_ALWAYS_INLINE type tl_a64_host_##name(type a, type b) {      \
        __asm__ volatile(instruction " %1, %0" : "+x"(a) : "x"(b)); \
        return a;                                                   \
    }
HOST_BINARY(fadd_d, "addsd", double)
HOST_BINARY(fsub_d, "subsd", double)
HOST_BINARY(fmul_d, "mulsd", double)
HOST_BINARY(fdiv_d, "divsd", double)
HOST_BINARY(fadd_s, "addss", float)
HOST_BINARY(fsub_s, "subss", float)
HOST_BINARY(fmul_s, "mulss", float)
HOST_BINARY(fdiv_s, "divss", float)
#undef HOST_BINARY
TL_ALWAYS_INLINE double tl_a64_host_fma_d(double addend, double a, double b) {
    __asm__ volatile("vfmadd213sd %2, %1, %0" : "+x"(a) : "x"(b), "x"(addend));
    return a;
}
TL_ALWAYS_INLINE float tl_a64_host_fma_s(float addend, float a, float b) {
    __asm__ volatile("vfmadd213ss %2, %1, %0" : "+x"(a) : "x"(b), "x"(addend));
    return a;
}
#define HOST_UNARY(name, instruction, to, from, out)                    \
    TL_ALWAYS_INLINE to tl_a64_host_##name(from a) {                    \
        to result;                                                      \
        __asm__ volatile(instruction " %1, %0" : out(result) : "x"(a)); \
        return result;                                                  \
    }
HOST_UNARY(sqrt_d, "sqrtsd", double, double, "=x")
HOST_UNARY(sqrt_s, "sqrtss", float, float, "=x")
HOST_UNARY(to_s, "cvtsd2ss", float, double, "=x")
HOST_UNARY(to_int_d_x, "cvttsd2si", int64_t, double, "=r")
HOST_UNARY(to_int_d_w, "cvttsd2si", int32_t, double, "=r")
HOST_UNARY(to_int_s_x, "cvttss2si", int64_t, float, "=r")
HOST_UNARY(to_int_s_w, "cvttss2si", int32_t, float, "=r")
#undef HOST_UNARY
TL_ALWAYS_INLINE double tl_a64_host_from_d(int64_t a) {
    double result;
    __asm__ volatile("cvtsi2sdq %1, %0" : "=x"(result) : "r"(a));
    return result;
}
TL_ALWAYS_INLINE float tl_a64_host_from_s(int64_t a) {
    float result;
    __asm__ volatile("cvtsi2ssq %1, %0" : "=x"(result) : "r"(a));
    return result;
}

#else
static inline void tl_a64_fp_harvest(tl_hart *h) { (void)h; }
static inline void tl_a64_fp_enter(tl_hart *h, tl_fp_saved *ret_saved) { (void)h, (void)ret_saved; }
static inline void tl_a64_fp_leave(tl_hart *h, const tl_fp_saved *saved) { (void)h, (void)saved; }
#endif

#endif
