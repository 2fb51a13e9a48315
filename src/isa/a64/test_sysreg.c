// SPDX-License-Identifier: MIT
// The table of system registers by the manual's rules for numbers: the levels that may name them
// (D12.1). Reads change nothing, and only the bits of a row are writable.
#include <stdlib.h>

#include "base/testing.h"
#include "isa/a64/pstate.h"
#include "isa/a64/sysreg.h"

static bool flush_nothing(tl_hart *h) { return (void)h, true; }
static void context_changed(tl_hart *h) { (void)flush_nothing(h); }
static void protection_changed(tl_hart *h) { (void)flush_nothing(h); }
static const tl_mem_port port = {.context_changed = context_changed, .protection_changed = protection_changed};

static tl_config config;
static uint64_t tally[TL_S_N_CELLS];

static tl_hart *powered_on(void) {
    tl_a64_hart *a = calloc(1, sizeof *a);
    assert_non_null(a);
    tl_config_default(&config);
    a->hart.config = &config;
    a->hart.tally = tally;
    a->hart.port = &port;
    a->hart.isa = &tl_isa_a64;
    tl_isa_a64.init(&a->hart);
    tl_isa_a64.power_on(&a->hart);
    return &a->hart;
}

enum { MRS = 0xd5300000, MSR = 0xd5100000, LOWEST = 0x8000, HIGHEST = 0xffff };

// op1 names the lowest level: 0, 1, 2 EL1, 3 EL0, 4 and 5 EL2, 6 EL3, 7 Secure EL1. EL2 is absent.
static uint32_t lowest_level(uint32_t number) {
    static const uint32_t levels[] = {1, 1, 1, 0, 3, 3, 3, 1};
    return levels[number >> 11 & 7];
}

static void test_no_level_below_that_of_the_number_has_access(void **state) {
    (void)state;
    tl_hart *h = powered_on();
    uint32_t n_present = 0;
    for (uint32_t number = LOWEST; number <= HIGHEST; number++)
        for (uint32_t el = 0; el < 4; el++) {
            if (el == TL_A64_EL2)
                continue;
            h->priv = el;
            const bool may_read = tl_a64_sysreg_permits(h, number, true, MRS | number << 5);
            const bool may_write = tl_a64_sysreg_permits(h, number, false, MSR | number << 5);
            if (!tl_a64_sysreg_name(number))
                assert_false(may_read || may_write);
            if (el < lowest_level(number))
                assert_false(may_read || may_write);
            n_present += may_read;
        }
    free(h);
    assert_true(n_present > 200);
}

static void test_registers_without_a_row_are_undefined(void **state) {
    (void)state;
    tl_hart *h = powered_on();
    const uint32_t number = TL_A64_SYSREG_NUMBER(3, 0, 15, 15, 7);
    assert_false(tl_a64_sysreg_permits(h, number, true, 0xd538ffe0));
    assert_int_equal(h->trap_cause, TL_A64_CAUSE_UNDEFINED);
    assert_int_equal(h->trap_value, 0xd538ffe0);
    free(h);
}

// Registers whose value is not what was written, or whose write acts on others.
static bool is_plain(uint32_t number) {
    static const char *const others[] = {
        "SPSel", "CNTP_TVAL_EL0", "CNTV_TVAL_EL0", "CNTPS_TVAL_EL1", "OSLAR_EL1",    "DBGCLAIMSET_EL1", "DBGCLAIMCLR_EL1", "NZCV",
        "DAIF",  "FPCR",          "FPSR",          "CNTP_CTL_EL0",   "CNTV_CTL_EL0", "CNTPS_CTL_EL1",   "CCSIDR_EL1",      "CSSELR_EL1"};
    for (size_t i = 0; i < TL_COUNT_OF(others); i++)
        if (strcmp(tl_a64_sysreg_name(number), others[i]) == 0)
            return false;
    return true;
}

static void test_only_the_same_bits_ever_change(void **state) {
    (void)state;
    tl_hart *h = powered_on();
    for (uint32_t number = LOWEST; number <= HIGHEST; number++) {
        if (!tl_a64_sysreg_name(number) || !is_plain(number) || !tl_a64_sysreg_permits(h, number, false, MSR | number << 5) ||
            !tl_a64_sysreg_permits(h, number, true, MRS | number << 5))
            continue;
        const uint64_t reset = tl_a64_sysreg_value(h, number);
        assert_true(tl_a64_sysreg_value(h, number) == reset);
        tl_a64_sysreg_set(h, number, UINT64_MAX);
        const uint64_t ones = tl_a64_sysreg_value(h, number);
        tl_a64_sysreg_set(h, number, 0);
        const uint64_t zeros = tl_a64_sysreg_value(h, number), writable = ones ^ zeros;
        tl_a64_sysreg_set(h, number, UINT64_C(0x5555555555555555));
        if (((tl_a64_sysreg_value(h, number) ^ UINT64_C(0x5555555555555555)) & writable) != 0 ||
            ((tl_a64_sysreg_value(h, number) ^ reset) & ~writable) != 0)
            fail_msg("%s", tl_a64_sysreg_name(number));
        tl_a64_sysreg_set(h, number, reset);
        assert_true(tl_a64_sysreg_value(h, number) == reset);
    }
    free(h);
}

// D1.6.4, D1.7: each level has a stack pointer, and SPSel chooses.
static void test_stack_pointers_are_of_levels(void **state) {
    (void)state;
    tl_hart *h = powered_on();
    tl_a64_hart *a = tl_a64(h);
    a->x[TL_A64_SP] = 0x33;
    tl_a64_set_sp(h, TL_A64_EL0, 0x10);
    tl_a64_set_sp(h, TL_A64_EL1, 0x11);
    tl_a64_select_sp(h, TL_A64_EL3, false);
    assert_int_equal(a->x[TL_A64_SP], 0x10);
    a->x[TL_A64_SP] = 0x20;
    tl_a64_select_sp(h, TL_A64_EL3, true);
    assert_int_equal(a->x[TL_A64_SP], 0x33);
    assert_int_equal(tl_a64_sp(h, TL_A64_EL0), 0x20);
    assert_int_equal(tl_a64_sp(h, TL_A64_EL1), 0x11);
    assert_int_equal(tl_a64_sp(h, TL_A64_EL3), 0x33);
    free(h);
}

// AArch32 is absent: a return to it is illegal (D1.11.4).
static void test_a_return_to_aarch32_is_illegal(void **state) {
    (void)state;
    tl_hart *h = powered_on();
    tl_a64_hart *a = tl_a64(h);
    a->sys.reg[TL_A64_R_SPSR_EL3] = 0x900003d0;
    a->sys.reg[TL_A64_R_ELR_EL3] = 0x1234;
    tl_a64_return(h);
    assert_true(a->sys.is_illegal && h->changes_priv);
    assert_int_equal(h->new_priv, TL_A64_EL3);
    assert_int_equal(h->pc, 0x1234);
    assert_int_equal(a->nzcv, 9);
    free(h);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_no_level_below_that_of_the_number_has_access),
    cmocka_unit_test(test_registers_without_a_row_are_undefined),
    cmocka_unit_test(test_only_the_same_bits_ever_change),
    cmocka_unit_test(test_stack_pointers_are_of_levels),
    cmocka_unit_test(test_a_return_to_aarch32_is_illegal),
};
TL_TEST_MAIN(tests)
