// SPDX-License-Identifier: MIT
// Operations of floating point and SIMD that mostly need no call. hosted.def lists
// them. CALL(id) calls the body. Included by interp.c alone.
#ifndef TL_ISA_A64_BLOCK_HOST_OPS_H
#define TL_ISA_A64_BLOCK_HOST_OPS_H

#include "isa/a64/block/float.h"
#include "isa/block/thread.h"

#define HOST_OP(id) static void host_##id(tl_hart *h, const tl_op *op)
#define CALL(id)                                           \
    do {                                                   \
        (void)tl_a64_exec_full[TL_A64_OPC_##id](h, op, 0); \
        GO(op + 1);                                        \
    } while (0)
#define V(reg) tl_a64(h)->v[reg]
#define SCALAR(bits) set_scalar(h, op->rd, bits)
TL_ALWAYS_INLINE void set_scalar(tl_hart *h, uint8_t reg, uint64_t bits) { V(reg) = (tl_a64_vector){.d = {bits, 0}}; }

// ---- moves of bits ----

#define MOVE(id, value) \
    HOST_OP(id) {       \
        SCALAR(value);  \
        GO(op + 1);     \
    }
MOVE(fmov_s, V(op->rn).s[0])
MOVE(fmov_d, V(op->rn).d[0])
MOVE(fabs_s, V(op->rn).s[0] & ~(UINT32_C(1) << 31))
MOVE(fabs_d, V(op->rn).d[0] & ~(UINT64_C(1) << 63))
MOVE(fneg_s, V(op->rn).s[0] ^ UINT32_C(1) << 31)
MOVE(fneg_d, V(op->rn).d[0] ^ UINT64_C(1) << 63)
MOVE(fmov_s_w, (uint32_t)tl_a64(h)->x[op->rn])
MOVE(fmov_d_x, tl_a64(h)->x[op->rn])
MOVE(fcsel_s, tl_a64_holds(h, (uint32_t)op->imm) ? V(op->rn).s[0] : V(op->rm).s[0])
MOVE(fcsel_d, tl_a64_holds(h, (uint32_t)op->imm) ? V(op->rn).d[0] : V(op->rm).d[0])
#undef MOVE
HOST_OP(fmov_w_s) {
    tl_a64(h)->x[op->rd] = V(op->rn).s[0];
    GO(op + 1);
}
HOST_OP(fmov_x_d) {
    tl_a64(h)->x[op->rd] = V(op->rn).d[0];
    GO(op + 1);
}
#define BITWISE_OP(id, expression)                                               \
    HOST_OP(id) {                                                                \
        const bool is_whole = (uint32_t)op->imm >> 30 & 1;                       \
        const tl_a64_vector n = V(op->rn), m = V(op->rm);                        \
        uint64_t result[2];                                                      \
        for (uint32_t i = 0; i < 2; i++) {                                       \
            const uint64_t a = n.d[i], b = m.d[i];                               \
            result[i] = (expression);                                            \
        }                                                                        \
        V(op->rd) = (tl_a64_vector){.d = {result[0], is_whole ? result[1] : 0}}; \
        GO(op + 1);                                                              \
    }
BITWISE_OP(and_v, a &b)
BITWISE_OP(bic_v, a & ~b)
BITWISE_OP(orr_v, a | b)
BITWISE_OP(eor_v, a ^ b)
#undef BITWISE_OP

#if TL_FP_HOST
#define N_d tl_a64_double(V(op->rn).d[0])
#define M_d tl_a64_double(V(op->rm).d[0])
#define A_d tl_a64_double(V(op->ra).d[0])
#define N_s tl_a64_float_of(V(op->rn).s[0])
#define M_s tl_a64_float_of(V(op->rm).s[0])
#define A_s tl_a64_float_of(V(op->ra).s[0])
#define BITS_d tl_a64_double_bits
#define BITS_s tl_a64_float_bits

// ---- arithmetic. is_zero_exact: whether a result of 0 cannot have underflowed ----

#define ARITHMETIC(id, k, value, is_zero_exact)                                                             \
    HOST_OP(id) {                                                                                           \
        if (!tl_a64_host_rounds(h))                                                                         \
            CALL(id);                                                                                       \
        const uint64_t bits = BITS_##k(value);                                                              \
        if (TL_UNLIKELY(!tl_a64_is_plain_##k(bits)) && !(((bits & MAGNITUDE_##k) == 0) && (is_zero_exact))) \
            CALL(id);                                                                                       \
        SCALAR(bits);                                                                                       \
        GO(op + 1);                                                                                         \
    }
#define MAGNITUDE_d (UINT64_MAX >> 1)
#define MAGNITUDE_s (UINT32_MAX >> 1)
#define FP_OPS(k, raw)                                                                      \
    ARITHMETIC(fadd_##k, k, tl_a64_host_fadd_##k(N_##k, M_##k), true)                       \
    ARITHMETIC(fsub_##k, k, tl_a64_host_fsub_##k(N_##k, M_##k), true)                       \
    ARITHMETIC(fmul_##k, k, tl_a64_host_fmul_##k(N_##k, M_##k), N_##k == 0 || M_##k == 0)   \
    ARITHMETIC(fnmul_##k, k, -tl_a64_host_fmul_##k(N_##k, M_##k), N_##k == 0 || M_##k == 0) \
    ARITHMETIC(fdiv_##k, k, tl_a64_host_fdiv_##k(N_##k, M_##k), N_##k == 0)                 \
    ARITHMETIC(fsqrt_##k, k, tl_a64_host_sqrt_##k(N_##k), true)                             \
    HOST_OP(fcmp_##k) {                                                                     \
        if (!compare_##k(h, V(op->rn).raw[0], V(op->rm).raw[0]))                            \
            CALL(fcmp_##k);                                                                 \
        GO(op + 1);                                                                         \
    }                                                                                       \
    HOST_OP(fcmpe_##k) {                                                                    \
        if (!compare_##k(h, V(op->rn).raw[0], V(op->rm).raw[0]))                            \
            CALL(fcmpe_##k);                                                                \
        GO(op + 1);                                                                         \
    }                                                                                       \
    HOST_OP(fcmp_zero_##k) {                                                                \
        if (!compare_##k(h, V(op->rn).raw[0], 0))                                           \
            CALL(fcmp_zero_##k);                                                            \
        GO(op + 1);                                                                         \
    }                                                                                       \
    HOST_OP(fcmpe_zero_##k) {                                                               \
        if (!compare_##k(h, V(op->rn).raw[0], 0))                                           \
            CALL(fcmpe_zero_##k);                                                           \
        GO(op + 1);                                                                         \
    }
#define COMPARE_OF(k, of, raw_type)                                                    \
    TL_ALWAYS_INLINE bool compare_##k(tl_hart *h, raw_type a_bits, raw_type b_bits) {  \
        const __typeof__(of(a_bits)) a = of(a_bits), b = of(b_bits);                   \
        if (TL_UNLIKELY(__builtin_isunordered(a, b)) || (tl_a64(h)->fpcr & TL_A64_FZ)) \
            return false;                                                              \
        tl_a64(h)->nzcv = a == b ? TL_A64_Z | TL_A64_C : a < b ? TL_A64_N : TL_A64_C;  \
        return true;                                                                   \
    }
COMPARE_OF(d, tl_a64_double, uint64_t)
COMPARE_OF(s, tl_a64_float_of, uint32_t)
FP_OPS(d, d)
FP_OPS(s, s)
#define FUSED_MULTIPLY(id, k, addend, a)                                                                             \
    HOST_OP(id) {                                                                                                    \
        if (!__builtin_cpu_supports("fma") || !tl_a64_host_rounds(h))                                                \
            CALL(id);                                                                                                \
        const uint64_t bits = BITS_##k(tl_a64_host_fma_##k(addend, a, M_##k));                                       \
        if (TL_UNLIKELY(!tl_a64_is_plain_##k(bits)) && !((bits & MAGNITUDE_##k) == 0 && (N_##k == 0 || M_##k == 0))) \
            CALL(id);                                                                                                \
        SCALAR(bits);                                                                                                \
        GO(op + 1);                                                                                                  \
    }
#define FUSED_OPS(k)                              \
    FUSED_MULTIPLY(fmadd_##k, k, A_##k, N_##k)    \
    FUSED_MULTIPLY(fmsub_##k, k, A_##k, -N_##k)   \
    FUSED_MULTIPLY(fnmadd_##k, k, -A_##k, -N_##k) \
    FUSED_MULTIPLY(fnmsub_##k, k, -A_##k, N_##k)
FUSED_OPS(d)
FUSED_OPS(s)

// ---- conversions ----

HOST_OP(fcvt_d_s) {
    const uint32_t from = V(op->rn).s[0];
    if (!tl_a64_is_plain_s(from) && (from & MAGNITUDE_s) != 0)
        CALL(fcvt_d_s);
    SCALAR(tl_a64_double_bits((double)tl_a64_float_of(from)));
    GO(op + 1);
}
ARITHMETIC(fcvt_s_d, s, tl_a64_host_to_s(N_d), N_d == 0)
#define FROM_INTEGER(id, k, value)                     \
    HOST_OP(id) {                                      \
        const uint64_t from = tl_a64(h)->x[op->rn];    \
        if (!tl_a64_host_rounds(h))                    \
            CALL(id);                                  \
        SCALAR(BITS_##k(tl_a64_host_from_##k(value))); \
        GO(op + 1);                                    \
    }
FROM_INTEGER(scvtf_d_w, d, (int64_t)(int32_t)from)
FROM_INTEGER(scvtf_d_x, d, (int64_t)from)
FROM_INTEGER(ucvtf_d_w, d, (int64_t)(uint32_t)from)
FROM_INTEGER(scvtf_s_w, s, (int64_t)(int32_t)from)
FROM_INTEGER(scvtf_s_x, s, (int64_t)from)
FROM_INTEGER(ucvtf_s_w, s, (int64_t)(uint32_t)from)
// Out of range, the host gives the least number and raises no flag that is read.
#define TO_INTEGER(id, k, width, least)                                  \
    HOST_OP(id) {                                                        \
        if (tl_a64(h)->fpcr & TL_A64_FZ)                                 \
            CALL(id);                                                    \
        const int##width##_t value = tl_a64_host_to_int_##k(N_##k##_OF); \
        if (TL_UNLIKELY(value == (least)))                               \
            CALL(id);                                                    \
        tl_a64(h)->x[op->rd] = (uint##width##_t)value;                   \
        GO(op + 1);                                                      \
    }
#define N_d_x_OF N_d
#define N_d_w_OF N_d
#define N_s_x_OF N_s
#define N_s_w_OF N_s
TO_INTEGER(fcvtzs_x_d, d_x, 64, INT64_MIN)
TO_INTEGER(fcvtzs_w_d, d_w, 32, INT32_MIN)
TO_INTEGER(fcvtzs_x_s, s_x, 64, INT64_MIN)
TO_INTEGER(fcvtzs_w_s, s_w, 32, INT32_MIN)

// ---- vectors: lane by lane; one lane that is not plain, and the body does them all ----

#define LANES_OF(id, is_able, is_zero_exact, value_d, value_s)                                                        \
    HOST_OP(id) {                                                                                                     \
        const uint32_t raw = (uint32_t)op->imm;                                                                       \
        const bool is_whole = raw >> 30 & 1;                                                                          \
        const tl_a64_vector n = V(op->rn), m = V(op->rm & 31), d = V(op->rd);                                         \
        tl_a64_vector out = {.d = {0, 0}};                                                                            \
        (void)d;                                                                                                      \
        if (!tl_a64_host_rounds(h) || !(is_able))                                                                     \
            CALL(id);                                                                                                 \
        if (raw >> 22 & 1) {                                                                                          \
            for (uint32_t i = 0; i < 2; i++) {                                                                        \
                const double a = tl_a64_double(n.d[i]), b = tl_a64_double(m.d[ELEMENT_d]);                            \
                out.d[i] = tl_a64_double_bits(value_d);                                                               \
                if (TL_UNLIKELY(!tl_a64_is_plain_d(out.d[i])) && !((out.d[i] & MAGNITUDE_d) == 0 && (is_zero_exact))) \
                    CALL(id);                                                                                         \
            }                                                                                                         \
        } else {                                                                                                      \
            for (uint32_t i = 0; i < (is_whole ? 4u : 2u); i++) {                                                     \
                const float a = tl_a64_float_of(n.s[i]), b = tl_a64_float_of(m.s[ELEMENT_s]);                         \
                out.s[i] = tl_a64_float_bits(value_s);                                                                \
                if (TL_UNLIKELY(!tl_a64_is_plain_s(out.s[i])) && !((out.s[i] & MAGNITUDE_s) == 0 && (is_zero_exact))) \
                    CALL(id);                                                                                         \
            }                                                                                                         \
        }                                                                                                             \
        V(op->rd) = out;                                                                                              \
        GO(op + 1);                                                                                                   \
    }
#define LANE_BINARY(name, suffix, is_zero_exact) \
    LANES_OF(name##suffix, true, is_zero_exact, tl_a64_host_##name##_d(a, b), tl_a64_host_##name##_s(a, b))
#define LANE_FUSED(name, suffix, sign)                                                                                           \
    LANES_OF(name##suffix, __builtin_cpu_supports("fma"), a == 0 || b == 0, tl_a64_host_fma_d(tl_a64_double(d.d[i]), sign a, b), \
             tl_a64_host_fma_s(tl_a64_float_of(d.s[i]), sign a, b))
#define ELEMENT_d i
#define ELEMENT_s i
LANE_BINARY(fadd, _v, true)
LANE_BINARY(fsub, _v, true)
LANE_BINARY(fmul, _v, a == 0 || b == 0)
LANE_BINARY(fdiv, _v, a == 0)
LANE_FUSED(fmla, _v, )
LANE_FUSED(fmls, _v, -)
#undef ELEMENT_d
#undef ELEMENT_s
#define ELEMENT_d (raw >> 11 & 1)
#define ELEMENT_s ((raw >> 11 & 1) << 1 | (raw >> 21 & 1))
LANE_BINARY(fmul, _vx, a == 0 || b == 0)
LANE_FUSED(fmla, _vx, )
LANE_FUSED(fmls, _vx, -)

#endif

#endif
