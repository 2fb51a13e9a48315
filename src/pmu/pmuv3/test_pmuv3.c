// SPDX-License-Identifier: MIT
// Rules of PMUv3 one by one: rights, identification, locks of the window. How counters count is in
// test_naive.c.
#include "base/bits.h"
#include "isa/a64/arch.h"
#include "model/test_pmu_rig.h"
#include "pmu/pmuv3/pmuv3.h"

static pmu_rig rig;

static void start(const tl_pmu_preset *preset) {
    rig_done(&rig);
    rig_init(&rig);
    rig_attach(&rig, &tl_pmu_pmuv3, preset, 64, 1);
}

static void test_reset_values_are_those_of_the_core(void **state) {
    (void)state;
    start(&tl_pmuv3_a53);
    assert_int_equal(rig_value(&rig, 0xdce0), 0x41033000); // PMCR_EL0: IMP, IDCODE, N = 6
    assert_int_equal(rig_value(&rig, 0xdce6), 0x67ffbfff); // PMCEID0_EL0, Cortex-A53 manual
    assert_int_equal(rig_value(&rig, 0xdce7), 0);
    start(&tl_pmuv3_full);
    assert_int_equal(rig_value(&rig, 0xdce6), 0x6fffffff); // with BR_RETURN_RETIRED and INST_SPEC
}

// Rows of D12.4: what EL0 needs, E EN, S SW, C CR, R ER; '-': the register has no such access, 'u':
// EL0 always may.
static const struct {
    uint32_t first, last;
    const char *read, *write;
} rights[] = {
    {0xdce0, 0xdce3, "E", "E"}, // PMCR, PMCNTENSET, PMCNTENCLR, PMOVSCLR
    {0xdce4, 0xdce4, "-", "ES"}, {0xdce5, 0xdce5, "ER", "ER"}, {0xdce6, 0xdce7, "E", "-"}, {0xdce8, 0xdce8, "EC", "E"},
    {0xdce9, 0xdce9, "E", "E"},  {0xdcea, 0xdcea, "ER", "E"},  {0xdcf0, 0xdcf0, "u", "-"}, {0xdcf3, 0xdcf3, "E", "E"},
    {0xc4f1, 0xc4f2, "-", "-"},  {0xdf40, 0xdf45, "ER", "E"},  {0xdf60, 0xdf65, "E", "E"}, {0xdf7f, 0xdf7f, "E", "E"},
};

static void check_right(uint32_t number, tl_reg_use use, const char *needed, uint32_t user) {
    static const char letters[] = "ESCR"; // bits of PMUSERENR_EL0
    const tl_pmu_port *port = &rig.pmu->port;
    tl_reg_at at;
    bool is_granted = *needed == 'u';
    for (uint32_t bit = 0; bit < 4; bit++)
        is_granted |= (user >> bit & 1) && strchr(needed, letters[bit]) != NULL;
    assert_true(port->find(port->ctx, number, &at));
    if (port->permits(port->ctx, rig_hart(&rig), &at, use, 0) != is_granted)
        fail_msg("0x%x, use %d, PMUSERENR %u: EL0 %s it", number, use, user, is_granted ? "is denied" : "gets");
    if (!is_granted)
        assert_int_equal(port->traps(port->ctx, rig_hart(&rig), &at, use), *needed != '-');
}

static void test_rights_of_el0_follow_pmuserenr(void **state) {
    (void)state;
    start(&tl_pmuv3_a53);
    uint32_t n_numbers = 0;
    for (uint32_t user = 0; user < 16; user++) {
        rig.priv = TL_A64_EL1;
        rig_write(&rig, 0xdcf0, user);
        rig.priv = TL_A64_EL0;
        for (uint32_t i = 0; i < TL_COUNT_OF(rights); i++)
            for (uint32_t number = rights[i].first; number <= rights[i].last; number++, n_numbers++) {
                check_right(number, TL_REG_READ, rights[i].read, user);
                check_right(number, TL_REG_WRITE, rights[i].write, user);
            }
    }
    uint32_t n_found = 0;
    for (uint32_t number = 0; number < 0x10000; number++) {
        tl_reg_at at;
        n_found += rig.pmu->port.find(rig.pmu->port.ctx, number, &at);
    }
    assert_int_equal(n_numbers, 16 * n_found);
}

static void test_el1_reads_and_writes_what_the_register_has(void **state) {
    (void)state;
    start(&tl_pmuv3_a53);
    rig.priv = TL_A64_EL1;
    for (uint32_t i = 0; i < TL_COUNT_OF(rights); i++)
        for (uint32_t number = rights[i].first; number <= rights[i].last; number++) {
            uint64_t value;
            const bool is_write_only = number == 0xdce4, is_read_only = number == 0xdce6 || number == 0xdce7;
            assert_int_equal(rig_read(&rig, number, &value), !is_write_only);
            assert_int_equal(rig_begin_write(&rig, number, 0), !is_read_only);
            rig_retire(&rig);
        }
}

// ---- the window

static bool load(uint32_t offset, uint64_t *ret_value) { return tl_pmu_load(rig.pmu, offset, 4, ret_value); }
static uint64_t loaded(uint32_t offset) {
    uint64_t value = 0;
    assert_true(load(offset, &value));
    return value;
}
static void stores(uint32_t offset, uint64_t value) { assert_true(tl_pmu_store(rig.pmu, offset, 4, value)); }

static void test_the_window_identifies_itself(void **state) {
    static const struct {
        uint32_t offset;
        uint64_t value;
    } rows[] = {
        {0xe00, 0x1ff06}, {0xfa8, 0x80000001}, {0xfac, 0},    {0xfb4, 3},          {0xfb8, 0xcc},       {0xfbc, 0x47702a16}, {0xfcc, 0x16},
        {0xfd0, 0x04},    {0xfd4, 0},          {0xfe0, 0xd3}, {0xfe4, 0xb9},       {0xfe8, 0x4b},       {0xfec, 0},          {0xff0, 0x0d},
        {0xff4, 0x90},    {0xff8, 0x05},       {0xffc, 0xb1}, {0xe20, 0x67ffbfff}, {0xe04, 0x41033000},
    };
    (void)state;
    start(&tl_pmuv3_a53);
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++)
        if (loaded(rows[i].offset) != rows[i].value)
            fail_msg("0x%x reads 0x%llx", rows[i].offset, (unsigned long long)loaded(rows[i].offset));
}

static void test_the_software_lock_hides_writes_and_no_reads(void **state) {
    (void)state;
    start(&tl_pmuv3_a53);
    stores(0xe04, 1);
    stores(0xc00, 0x3f);
    assert_int_equal(loaded(0xe04), 0x41033000);
    assert_int_equal(loaded(0xc00), 0);
    stores(0xfb0, 0xc5acce55);
    assert_int_equal(loaded(0xfb4), 1);
    stores(0xe04, 1);
    stores(0xc00, 0x8000003f);
    assert_int_equal(loaded(0xe04), 0x41033001);
    assert_int_equal(rig_value(&rig, 0xdce1), 0x8000003f);
    stores(0xfb0, 0);
    assert_int_equal(loaded(0xfb4), 3);
    stores(0xc20, 0x3f);
    assert_int_equal(loaded(0xc00), 0x8000003f);
    rig_write(&rig, 0xdce2, 0x3f); // the lock is that of the window alone
    assert_int_equal(loaded(0xc00), 0x80000000);
}

static void test_locks_of_the_hart_refuse_its_registers(void **state) {
    static const uint32_t states[] = {TL_PMU_OS_LOCKED, TL_PMU_DOUBLE_LOCKED, TL_PMU_OFF, TL_PMU_OUTSIDE_DENIED};
    (void)state;
    start(&tl_pmuv3_a53);
    for (uint32_t i = 0; i < TL_COUNT_OF(states); i++)
        for (uint32_t offset = 0; offset < 0x1000; offset += 4) {
            uint64_t value;
            rig.state = states[i];
            assert_int_equal(load(offset, &value), offset >= 0xf00);
            assert_int_equal(tl_pmu_store(rig.pmu, offset, 4, 0), offset >= 0xf00);
            rig.state = TL_PMU_SECURE | TL_PMU_HALTED; // neither is a lock
            assert_true(load(offset, &value));
        }
}

// EDPRSR.SPMAD notes refusals whose only reason is EPMAD.
static void test_a_refusal_by_epmad_alone_is_noted(void **state) {
    static const uint32_t others[] = {TL_PMU_OS_LOCKED, TL_PMU_DOUBLE_LOCKED, TL_PMU_OFF};
    uint64_t value;
    (void)state;
    start(&tl_pmuv3_a53);
    for (uint32_t i = 0; i < TL_COUNT_OF(others); i++) {
        rig.state = others[i] | TL_PMU_OUTSIDE_DENIED;
        assert_false(load(0xe04, &value));
        rig.state = others[i];
        assert_false(load(0xe04, &value));
    }
    rig.state = TL_PMU_OUTSIDE_DENIED;
    assert_true(load(0xfb4, &value));
    assert_false(tl_pmu_load(rig.pmu, 0xf8, 8, &value));
    assert_int_equal(rig.n_refused, 0);
    assert_false(load(0xe04, &value));
    assert_int_equal(rig.n_refused, 1);
    assert_false(tl_pmu_store(rig.pmu, 0xe04, 4, 0)); // the software lock is no reason
    assert_int_equal(rig.n_refused, 2);
}

static void test_pmauthstatus_follows_the_inputs(void **state) {
    (void)state;
    start(&tl_pmuv3_a53);
    assert_int_equal(loaded(0xfb8), 0xcc);
    rig.state = TL_PMU_MAY_PROHIBIT;
    assert_int_equal(loaded(0xfb8), 0x8c);
    rig.state = TL_PMU_MAY_PROHIBIT | TL_PMU_CLOSED;
    assert_int_equal(loaded(0xfb8), 0x88);
}

static void test_the_window_takes_words_only(void **state) {
    uint64_t value;
    (void)state;
    start(&tl_pmuv3_a53);
    assert_false(tl_pmu_load(rig.pmu, 0xf8, 8, &value));
    assert_false(tl_pmu_load(rig.pmu, 0xe05, 4, &value));
    assert_false(tl_pmu_load(rig.pmu, 0xe04, 2, &value));
    assert_false(tl_pmu_store(rig.pmu, 0x1000, 4, 0));
}

static void test_the_cycle_counter_has_two_halves(void **state) {
    (void)state;
    start(&tl_pmuv3_a53);
    stores(0xfb0, 0xc5acce55);
    stores(0xfc, 0x12345678);
    stores(0xf8, 0x9abcdef0);
    assert_true(rig_value(&rig, 0xdce8) == UINT64_C(0x123456789abcdef0));
    rig_write(&rig, 0xdce8, UINT64_C(0xfedcba9876543210));
    assert_int_equal(loaded(0xf8), 0x76543210);
    assert_int_equal(loaded(0xfc), 0xfedcba98);
}

static void test_an_unknown_event_reads_back_and_counts_nothing(void **state) {
    (void)state;
    start(&tl_pmuv3_a53);
    rig_write(&rig, 0xdf60, 0x1b); // INST_SPEC, which the core lacks
    assert_int_equal(rig_value(&rig, 0xdf60), 0x1b);
    rig_write(&rig, 0xdce1, 1);
    rig_write(&rig, 0xdce0, 1);
    rig_advance(&rig, TL_S_N_CELLS + TL_S_HART_INSTRET, 5);
    assert_int_equal(rig_value(&rig, 0xdf40), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_reset_values_are_those_of_the_core),
    cmocka_unit_test(test_rights_of_el0_follow_pmuserenr),
    cmocka_unit_test(test_el1_reads_and_writes_what_the_register_has),
    cmocka_unit_test(test_the_window_identifies_itself),
    cmocka_unit_test(test_the_software_lock_hides_writes_and_no_reads),
    cmocka_unit_test(test_locks_of_the_hart_refuse_its_registers),
    cmocka_unit_test(test_a_refusal_by_epmad_alone_is_noted),
    cmocka_unit_test(test_pmauthstatus_follows_the_inputs),
    cmocka_unit_test(test_the_window_takes_words_only),
    cmocka_unit_test(test_the_cycle_counter_has_two_halves),
    cmocka_unit_test(test_an_unknown_event_reads_back_and_counts_nothing),
};
TL_TEST_MAIN(tests)
