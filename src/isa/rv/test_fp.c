// SPDX-License-Identifier: MIT
#include <fenv.h>
#include <stdlib.h>

#include "base/testing.h"
#include "isa/rv/fp.h"
#include "isa/rv/fp_soft.h"
#include "isa/rv/insn.h"

static const uint64_t ONE = UINT64_C(0x3ff0000000000000), THREE = UINT64_C(0x4008000000000000), TINY = UINT64_C(0x0000000000000001);
static const uint64_t HUGE_ = UINT64_C(0x7fefffffffffffff), INF = UINT64_C(0x7ff0000000000000), NAN_ = UINT64_C(0x7ff8000000000000);
static const uint64_t SIGNALING = UINT64_C(0x7ff0000000000001), MINUS = UINT64_C(0x8000000000000000);

static int setup(void **state) {
    *state = calloc(1, sizeof(tl_rv_hart));
    return *state != NULL ? 0 : -1;
}
static int teardown(void **state) {
    free(*state);
    return 0;
}

static bool run(tl_hart *h, uint32_t bits) {
    tl_decoded insn;
    tl_op op = {0};
    tl_decode(bits, &insn);
    tl_op_from_decoded(&insn, &op);
    return tl_exec_full[insn.opc](h, &op, 0);
}
// Each computes fa2 = fa0 op fa1.
enum { FADD = 0x02b57653, FDIV = 0x1ab57653, FMUL = 0x12b57653, FADD_RMM = 0x02b54653, FDIV_RTZ = 0x1ab51653 };

static void test_host_environment_is_given_back(void **state) {
    tl_hart *h = *state;
    tl_fp_saved saved;
    fesetround(FE_UPWARD);
    feclearexcept(FE_ALL_EXCEPT);
    feraiseexcept(FE_OVERFLOW);
    tl_rv(h)->frm = TL_RTZ;
    tl_rv(h)->f[10] = ONE;
    tl_rv(h)->f[11] = THREE;
    tl_fp_enter(h, &saved);
    assert_true(run(h, FDIV));
    tl_fp_leave(h, &saved);
    assert_int_equal(fegetround(), FE_UPWARD);
    assert_int_equal(fetestexcept(FE_ALL_EXCEPT), FE_OVERFLOW);
    assert_int_equal(tl_rv(h)->fflags, TL_FP_NX); // and the host's overflow is not the guest's
    fesetround(FE_TONEAREST);
    feclearexcept(FE_ALL_EXCEPT);
}

static void test_each_flag_reaches_fflags(void **state) {
    tl_hart *h = *state;
    const struct {
        int line;
        uint32_t bits;
        uint64_t a, b, want;
        uint8_t flags;
    } rows[] = {
        {__LINE__, FDIV, ONE, THREE, UINT64_C(0x3fd5555555555555), TL_FP_NX},
        {__LINE__, FDIV, ONE, 0, INF, TL_FP_DZ},
        {__LINE__, FDIV, 0, 0, NAN_, TL_FP_NV},
        {__LINE__, FADD, INF, INF | MINUS, NAN_, TL_FP_NV},
        {__LINE__, FADD, SIGNALING, ONE, NAN_, TL_FP_NV},
        {__LINE__, FADD, NAN_ | MINUS | 5, ONE, NAN_, 0}, // the payload is lost
        {__LINE__, FMUL, HUGE_, HUGE_, INF, TL_FP_OF | TL_FP_NX},
        {__LINE__, FMUL, TINY, TINY, 0, TL_FP_UF | TL_FP_NX},
        {__LINE__, FADD, TINY, TINY, 2, 0}, // exact and tiny: no underflow
        {__LINE__, FADD, ONE, ONE, UINT64_C(0x4000000000000000), 0},
    };
    for (int frm = TL_RNE; frm <= TL_RMM; frm += TL_RMM) { // the host's arithmetic, then integers
        for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
            tl_fp_saved saved;
            tl_rv(h)->frm = (uint8_t)frm;
            tl_rv(h)->fflags = 0;
            tl_rv(h)->f[10] = rows[i].a;
            tl_rv(h)->f[11] = rows[i].b;
            tl_fp_enter(h, &saved);
            assert_true(run(h, rows[i].bits));
            tl_fp_leave(h, &saved);
            if (tl_rv(h)->f[12] != rows[i].want || tl_rv(h)->fflags != rows[i].flags)
                fail_msg("line %d: %llx, flags %02x", rows[i].line, (unsigned long long)tl_rv(h)->f[12], tl_rv(h)->fflags);
        }
    }
}

static void test_cleared_flags_do_not_come_back(void **state) {
    tl_hart *h = *state;
    tl_fp_saved saved;
    tl_rv(h)->f[10] = ONE;
    tl_rv(h)->f[11] = THREE;
    tl_fp_enter(h, &saved);
    assert_true(run(h, FDIV));
    assert_true(run(h, 0x00102573)); // frflags a0, while the host still holds the flag
    assert_int_equal(tl_rv(h)->x[10], TL_FP_NX);
    assert_true(run(h, 0x00101073)); // fsflags zero
    assert_true(run(h, 0x00102573));
    assert_int_equal(tl_rv(h)->x[10], 0);
    assert_true(run(h, FDIV));
    tl_fp_harvest(h);
    assert_int_equal(tl_rv(h)->fflags, TL_FP_NX);
    tl_rv(h)->fflags = 0;
    tl_fp_leave(h, &saved);
    assert_int_equal(tl_rv(h)->fflags, 0);
}

static void test_rounding_follows_frm_at_once(void **state) {
    tl_hart *h = *state;
    tl_fp_saved saved;
    static const uint64_t third[8] = {UINT64_C(0x3fd5555555555555), UINT64_C(0x3fd5555555555555), UINT64_C(0x3fd5555555555555),
                                      UINT64_C(0x3fd5555555555556), UINT64_C(0x3fd5555555555555)};
    tl_rv(h)->f[10] = ONE;
    tl_rv(h)->f[11] = THREE;
    tl_fp_enter(h, &saved);
    for (uint64_t frm = 0; frm <= TL_RMM; frm++) {
        tl_rv(h)->x[10] = frm;
        assert_true(run(h, 0x00251073)); // fsrm a0
        assert_true(run(h, FDIV));
        assert_int_equal(tl_rv(h)->f[12], third[frm]);
        assert_true(run(h, FDIV_RTZ)); // a static mode is not frm's
        assert_int_equal(tl_rv(h)->f[12], third[TL_RTZ]);
    }
    tl_fp_leave(h, &saved);
}

static void test_ties_go_away_from_zero_in_rmm(void **state) {
    tl_hart *h = *state;
    tl_fp_saved saved;
    const uint64_t half_ulp = UINT64_C(0x3ca0000000000000); // 2^-53
    tl_fp_enter(h, &saved);
    tl_rv(h)->f[10] = ONE;
    tl_rv(h)->f[11] = half_ulp;
    assert_true(run(h, FADD)); // nearest even: down
    assert_int_equal(tl_rv(h)->f[12], ONE);
    assert_true(run(h, FADD_RMM));
    assert_int_equal(tl_rv(h)->f[12], ONE + 1);
    tl_rv(h)->f[10] |= MINUS;
    tl_rv(h)->f[11] |= MINUS;
    assert_true(run(h, FADD_RMM));
    assert_int_equal(tl_rv(h)->f[12], (ONE + 1) | MINUS);
    tl_fp_leave(h, &saved);
}

static void test_tininess_is_detected_after_rounding(void **state) {
    (void)state;
    const uint64_t smallest_normal = UINT64_C(0x0010000000000000);
    uint8_t flags = 0;
    // (1 - 2^-53) * 2^-1022 has 53 bits: below the smallest normal with any exponent range.
    uint64_t result = tl_soft_mul(TL_FP_DOUBLE, UINT64_C(0x3fefffffffffffff), smallest_normal, TL_RNE, &flags);
    assert_int_equal(result, smallest_normal);
    assert_int_equal(flags, TL_FP_NX | TL_FP_UF);
    // (1 - 2^-103) * 2^-1022 rounds to 2^-1022 with any exponent range.
    flags = 0;
    result = tl_soft_fma(TL_FP_DOUBLE, ONE + 1, smallest_normal - 2, TINY, TL_RNE, &flags);
    assert_int_equal(result, smallest_normal);
    assert_int_equal(flags, TL_FP_NX);
}

static void test_unboxed_singles_are_the_canonical_nan(void **state) {
    tl_hart *h = *state;
    tl_fp_saved saved;
    tl_fp_enter(h, &saved);
    tl_rv(h)->f[10] = UINT64_C(0xfffffffe3f800000); // 1.0f with one bit of the box missing
    tl_rv(h)->f[11] = UINT64_C(0xffffffff3f800000);
    assert_true(run(h, 0x00b57653)); // fadd.s fa2,fa0,fa1
    assert_int_equal(tl_rv(h)->f[12], UINT64_C(0xffffffff7fc00000));
    assert_true(run(h, 0x20b50653)); // fsgnj.s
    assert_int_equal(tl_rv(h)->f[12], UINT64_C(0xffffffff7fc00000));
    assert_true(run(h, 0x28b50653)); // fmin.s
    assert_int_equal(tl_rv(h)->f[12], UINT64_C(0xffffffff3f800000));
    assert_true(run(h, 0xe0051553)); // fclass.s a0,fa0: quiet NaN
    assert_int_equal(tl_rv(h)->x[10], 1 << 9);
    tl_fp_harvest(h);
    assert_int_equal(tl_rv(h)->fflags, 0);
    assert_true(run(h, 0xa0b51553)); // flt.s a0,fa0,fa1 signals for any NaN
    tl_fp_harvest(h);
    assert_int_equal(tl_rv(h)->fflags, TL_FP_NV);
    assert_int_equal(tl_rv(h)->x[10], 0);
    assert_true(run(h, 0xe0050553)); // fmv.x.w moves bits, box or not
    assert_int_equal(tl_rv(h)->x[10], 0x3f800000);
    tl_fp_leave(h, &saved);
}

// Source: unprivileged manual, F, table of domains of conversions.
static void test_conversions_to_integers_saturate(void **state) {
    (void)state;
    const uint64_t two63 = UINT64_C(0x43e0000000000000), two31 = UINT64_C(0x41e0000000000000), half = UINT64_C(0x3fe0000000000000);
    const uint64_t min64 = UINT64_C(1) << 63;
    const struct {
        int line;
        tl_fp_int to;
        tl_rm rm;
        uint64_t a, want;
        uint8_t flags;
    } rows[] = {
        {__LINE__, TL_FP_W, TL_RTZ, two31, INT32_MAX, TL_FP_NV},
        {__LINE__, TL_FP_W, TL_RTZ, two31 | MINUS, UINT64_C(0xffffffff80000000), 0},
        {__LINE__, TL_FP_W, TL_RTZ, INF | MINUS, UINT64_C(0xffffffff80000000), TL_FP_NV},
        {__LINE__, TL_FP_W, TL_RTZ, NAN_ | MINUS, INT32_MAX, TL_FP_NV},
        {__LINE__, TL_FP_WU, TL_RTZ, NAN_, UINT64_MAX, TL_FP_NV},
        {__LINE__, TL_FP_WU, TL_RTZ, two31, UINT64_C(0xffffffff80000000), 0}, // sign-extended
        {__LINE__, TL_FP_WU, TL_RTZ, half | MINUS, 0, TL_FP_NX},
        {__LINE__, TL_FP_WU, TL_RDN, half | MINUS, 0, TL_FP_NV},
        {__LINE__, TL_FP_WU, TL_RNE, ONE | MINUS, 0, TL_FP_NV},
        {__LINE__, TL_FP_WU, TL_RNE, MINUS, 0, 0},
        {__LINE__, TL_FP_L, TL_RTZ, two63, INT64_MAX, TL_FP_NV},
        {__LINE__, TL_FP_L, TL_RTZ, two63 | MINUS, min64, 0},
        {__LINE__, TL_FP_L, TL_RMM, half, 1, TL_FP_NX},
        {__LINE__, TL_FP_L, TL_RNE, half, 0, TL_FP_NX},
        {__LINE__, TL_FP_L, TL_RMM, half | MINUS, UINT64_MAX, TL_FP_NX},
        {__LINE__, TL_FP_LU, TL_RTZ, two63, min64, 0},
        {__LINE__, TL_FP_LU, TL_RTZ, INF, UINT64_MAX, TL_FP_NV},
        {__LINE__, TL_FP_LU, TL_RTZ, INF | MINUS, 0, TL_FP_NV},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        uint8_t flags = 0;
        const uint64_t got = tl_soft_to_int(rows[i].to, TL_FP_DOUBLE, rows[i].a, rows[i].rm, &flags);
        if (got != rows[i].want || flags != rows[i].flags)
            fail_msg("line %d: %llx, flags %02x", rows[i].line, (unsigned long long)got, flags);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
    CASE(test_host_environment_is_given_back),        CASE(test_each_flag_reaches_fflags),
    CASE(test_cleared_flags_do_not_come_back),        CASE(test_rounding_follows_frm_at_once),
    CASE(test_ties_go_away_from_zero_in_rmm),         CASE(test_tininess_is_detected_after_rounding),
    CASE(test_unboxed_singles_are_the_canonical_nan), CASE(test_conversions_to_integers_saturate),
};
TL_TEST_MAIN(tests)
