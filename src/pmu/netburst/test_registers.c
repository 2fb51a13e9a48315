// SPDX-License-Identifier: MIT
// Registers of the NetBurst PMU: which there are, what they hold, what faults.
#include "pmu/netburst/test_rig.h"

static void open_rig(rig *r, tl_netburst_settings settings, uint32_t n_threads) {
    rig_init(r);
    r->settings = settings;
    rig_begin(r, n_threads);
}

static tl_netburst_settings model(uint32_t number) {
    tl_netburst_settings settings = tl_netburst_default_settings;
    settings.model = number;
    return settings;
}

static tl_netburst_settings model_with(uint32_t number, bool has_ssu_escr1) {
    tl_netburst_settings settings = model(number);
    settings.ssu_escr1 = has_ssu_escr1;
    return settings;
}

// Section 3 of the specification, address by address.
static bool is_documented(uint32_t msr, uint32_t number, bool has_ssu_escr1) {
    if ((msr >= 0x300 && msr <= 0x311) || (msr >= 0x360 && msr <= 0x371) || (msr >= 0x3f0 && msr <= 0x3f2))
        return true;
    if (msr == 0x3ba || msr == 0x3bb)
        return number <= 2;
    if (msr == 0x3bf)
        return has_ssu_escr1;
    return (msr >= 0x3a0 && msr <= 0x3c5) || (msr >= 0x3c8 && msr <= 0x3cd) || msr == 0x3e0 || msr == 0x3e1;
}

static void test_documented_addresses_answer_and_no_others(void **state) {
    (void)state;
    for (uint32_t number = 0; number <= 6; number++)
        for (uint32_t has = 0; has < 2; has++) {
            rig r;
            open_rig(&r, model_with(number, has), 2);
            for (uint32_t msr = 0x300; msr < 0x400; msr++) {
                uint64_t value = 77;
                const tl_status want = is_documented(msr, number, has) ? TL_OK : TL_EINVAL;
                assert_int_equal(tl_netburst_rdmsr(r.n, 1, msr, &value), want);
                assert_int_equal(value, want != TL_OK ? 77 : msr == 0x3f0 ? 0xfc00 : 0);
                assert_int_equal(tl_netburst_wrmsr(r.n, 0, msr, 0), want);
            }
            rig_done(&r);
        }
}

// A register, what it holds of each bit, and its reset value: tables 3.1, 3.2 and 3.5 of the
// specification. No write of one changes another. MSR_PEBS_ENABLE is as thread 0 wrote it.
static void test_each_register_has_a_value_of_its_own(void **state) {
    (void)state;
    enum { MAX_REGISTERS = 128 };
    struct {
        uint32_t msr;
        uint64_t wanted, reset;
    } rows[MAX_REGISTERS];
    uint32_t n = 0;
    rig r;
    open_rig(&r, model(2), 2);
    for (uint32_t msr = 0x300; msr < 0x400; msr++) {
        const bool is_counter = msr < 0x360, is_cccr = msr >= 0x360 && msr < 0x3a0, is_escr = msr >= 0x3a0 && msr < 0x3f0;
        if (!is_documented(msr, 2, false))
            continue;
        const uint64_t value = UINT64_C(0x1234560000) + msr * UINT64_C(0x10101);
        rows[n].msr = msr;
        rows[n].reset = msr == 0x3f0 ? 0xfc00 : 0;
        rows[n++].wanted = is_counter     ? value
                           : is_cccr      ? (uint64_t)(msr - 0x35f) << 20 & 0x01f00000
                           : is_escr      ? (uint32_t)value
                           : msr == 0x3f0 ? 0x1234
                           : msr == 0x3f1 ? 0x01000004
                                          : 0x12;
    }
    assert_int_equal(n, 18 + 18 + 45 + 3);
    for (uint32_t i = 0; i < n; i++)
        wrmsr(&r, rows[i].msr, rows[i].wanted);
    wrmsr(&r, 0x600, 0x5000);
    for (uint32_t i = 0; i < n; i++)
        if (rdmsr(&r, rows[i].msr) != rows[i].wanted)
            fail_msg("MSR %x has %llx, not %llx", rows[i].msr, (unsigned long long)rdmsr(&r, rows[i].msr),
                     (unsigned long long)rows[i].wanted);
    assert_int_equal(rdmsr(&r, 0x600), 0x5000);
    tl_netburst_reset(r.n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(rdmsr(&r, rows[i].msr), rows[i].reset);
    assert_int_equal(rdmsr(&r, 0x600), 0);
    assert_int_equal(rdmsr(&r, 0x1a0), 0x80);
    assert_int_equal(rdmsr(&r, 0x1d9), 0);
    rig_done(&r);
}

// Selects 0 and 3 of block IQ: a counter is connected to what the model has.
static void test_counters_reach_the_detectors_of_their_model(void **state) {
    (void)state;
    for (uint32_t number = 0; number <= 6; number++)
        for (uint32_t has = 0; has < 2; has++) {
            rig r;
            open_rig(&r, model_with(number, has), 2);
            assert_int_equal(tl_netburst_route(r.n, 12, 0), number <= 2 ? TL_IQ_ESCR0 : TL_N_ESCRS);
            assert_int_equal(tl_netburst_route(r.n, 17, 0), number <= 2 ? TL_IQ_ESCR1 : TL_N_ESCRS);
            assert_int_equal(tl_netburst_route(r.n, 16, 3), TL_SSU_ESCR0);
            assert_int_equal(tl_netburst_route(r.n, 14, 3), has ? TL_SSU_ESCR1 : TL_N_ESCRS);
            rig_done(&r);
        }
}

static uint64_t after(rig *r, uint32_t msr, uint64_t value) {
    uint64_t got = 0;
    assert_int_equal(tl_netburst_wrmsr(r->n, 0, msr, value), TL_OK);
    assert_int_equal(tl_netburst_rdmsr(r->n, 1, msr, &got), TL_OK);
    return got;
}

static void test_registers_hold_what_their_layout_has(void **state) {
    (void)state;
    static const uint32_t extended[] = {12, 15, 16, 17};
    rig r;
    open_rig(&r, model(2), 2);
    assert_int_equal(after(&r, 0x311, UINT64_MAX), UINT64_C(0xffffffffff));
    assert_int_equal(after(&r, 0x3a0, 0xffffffff), 0xffffffff);
    assert_int_equal(after(&r, 0x360, 0xffffffff), 0xcffff000);
    for (uint32_t i = 0; i < 18; i++) {
        bool has = false;
        for (uint32_t k = 0; k < 4; k++)
            has |= extended[k] == i;
        assert_int_equal(after(&r, 0x360 + i, 0xffffffff), has ? 0xcffff800 : 0xcffff000);
        assert_int_equal(after(&r, 0x360 + i, 0), 0);
    }
    assert_int_equal(after(&r, 0x3f2, UINT64_MAX), 0x13);
    assert_int_equal(after(&r, 0x1a0, UINT64_MAX), 0x80);
    assert_int_equal(after(&r, 0x1d9, UINT64_MAX), 0);
    rig_done(&r);
    open_rig(&r, model(1), 2);
    assert_int_equal(after(&r, 0x370, 0xffffffff), 0xcffff000);
    rig_done(&r);
}

static void test_reserved_bits_fault_and_leave_the_register(void **state) {
    (void)state;
    tl_netburst_settings settings = model(2);
    for (settings.strict = 0; settings.strict < 2; settings.strict++) {
        rig r;
        open_rig(&r, settings, 2);
        uint64_t value;
        assert_int_equal(after(&r, 0x3b8, 0x1234), 0x1234);
        assert_int_equal(tl_netburst_wrmsr(r.n, 0, 0x3b8, UINT64_C(1) << 32), TL_EINVAL);
        assert_int_equal(tl_netburst_wrmsr(r.n, 0, 0x3b8, UINT64_C(1) << 63), TL_EINVAL);
        assert_int_equal(tl_netburst_rdmsr(r.n, 0, 0x3b8, &value), TL_OK);
        assert_int_equal(value, 0x1234);
        for (uint32_t bit = 0; bit < 64; bit++) {
            const bool is_reserved = bit < 11 || bit == 28 || bit == 29;
            assert_int_equal(tl_netburst_wrmsr(r.n, 0, 0x370, UINT64_C(1) << bit),
                             bit >= 32 || (settings.strict && is_reserved) ? TL_EINVAL : TL_OK);
            assert_int_equal(tl_netburst_wrmsr(r.n, 0, 0x36d, UINT64_C(1) << bit),
                             bit >= 32 || (settings.strict && (is_reserved || bit == 11)) ? TL_EINVAL : TL_OK);
        }
        assert_int_equal(after(&r, 0x300, UINT64_MAX), UINT64_C(0xffffffffff));
        rig_done(&r);
    }
}

static void test_pebs_enable_names_threads_as_the_accessing_one_sees_them(void **state) {
    (void)state;
    rig r;
    open_rig(&r, model(2), 2);
    uint64_t mine = 0, others = 0;
    assert_int_equal(tl_netburst_wrmsr(r.n, 1, 0x3f1, 0x03000001), TL_OK);
    assert_int_equal(tl_netburst_rdmsr(r.n, 1, 0x3f1, &mine), TL_OK);
    assert_int_equal(tl_netburst_rdmsr(r.n, 0, 0x3f1, &others), TL_OK);
    assert_int_equal(mine, 0x03000001);
    assert_int_equal(others, 0x05000001);
    assert_int_equal(tl_netburst_wrmsr(r.n, 0, 0x600, 0x1000), TL_OK);
    assert_int_equal(tl_netburst_wrmsr(r.n, 1, 0x600, 0x2000), TL_OK);
    assert_int_equal(tl_netburst_rdmsr(r.n, 0, 0x600, &mine), TL_OK);
    assert_int_equal(tl_netburst_rdmsr(r.n, 1, 0x600, &others), TL_OK);
    assert_int_equal(mine, 0x1000);
    assert_int_equal(others, 0x2000);
    rig_done(&r);
}

static void test_rdpmc_reads_whole_counters_and_low_halves(void **state) {
    (void)state;
    rig r;
    open_rig(&r, model(2), 2);
    uint64_t value = 5;
    assert_int_equal(after(&r, 0x311, UINT64_C(0x123456789a)), UINT64_C(0x123456789a));
    assert_int_equal(tl_netburst_rdpmc(r.n, 1, 17, &value), TL_OK);
    assert_int_equal(value, UINT64_C(0x123456789a));
    assert_int_equal(tl_netburst_rdpmc(r.n, 1, UINT32_C(0x80000011), &value), TL_OK);
    assert_int_equal(value, 0x3456789a);
    assert_int_equal(tl_netburst_rdpmc(r.n, 1, 18, &value), TL_EINVAL);
    assert_int_equal(tl_netburst_rdpmc(r.n, 1, UINT32_C(0x80000012), &value), TL_EINVAL);
    assert_int_equal(value, 0x3456789a);
    rig_done(&r);
}

static void test_another_thread_than_there_is_faults(void **state) {
    (void)state;
    rig r;
    open_rig(&r, model(2), 1);
    uint64_t value;
    assert_int_equal(tl_netburst_rdmsr(r.n, 0, 0x300, &value), TL_OK);
    assert_int_equal(tl_netburst_rdmsr(r.n, 1, 0x300, &value), TL_EINVAL);
    assert_int_equal(tl_netburst_wrmsr(r.n, 1, 0x300, 0), TL_EINVAL);
    rig_done(&r);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_documented_addresses_answer_and_no_others),
    cmocka_unit_test(test_each_register_has_a_value_of_its_own),
    cmocka_unit_test(test_counters_reach_the_detectors_of_their_model),
    cmocka_unit_test(test_registers_hold_what_their_layout_has),
    cmocka_unit_test(test_reserved_bits_fault_and_leave_the_register),
    cmocka_unit_test(test_pebs_enable_names_threads_as_the_accessing_one_sees_them),
    cmocka_unit_test(test_rdpmc_reads_whole_counters_and_low_halves),
    cmocka_unit_test(test_another_thread_than_there_is_faults),
};
TL_TEST_MAIN(tests)
