// SPDX-License-Identifier: MIT
// Rules of the counters one by one, over all counters, widths, modes and selectors. Sequences of
// accesses are in transcripts/.
#include "base/bits.h"
#include "isa/rv/arch.h"
#include "model/test_pmu_rig.h"
#include "pmu/rvhpm/rvhpm.h"

static pmu_rig rig;

static void start_with(const tl_rvhpm_preset *preset, uint32_t access_bits) {
    rig_done(&rig);
    rig_init(&rig);
    rig_attach(&rig, &tl_pmu_rvhpm, &preset->base, access_bits, 0);
}

static const tl_priv modes[] = {TL_PRIV_U, TL_PRIV_S, TL_PRIV_M};

// ---- registers ----

static void test_pairs_that_are_absent_are_read_only_zero(void **state) {
    (void)state;
    static const tl_rvhpm_preset *const presets[] = {&tl_rvhpm_linux, &tl_rvhpm_u74, &tl_rvhpm_none};
    static const uint32_t n_counters[] = {29, 2, 0};
    for (uint32_t i = 0; i < TL_COUNT_OF(presets); i++) {
        start_with(presets[i], 64);
        rig_write(&rig, 0x320, UINT64_MAX);
        assert_int_equal(rig_value(&rig, 0x320), 5 | ((UINT64_C(1) << n_counters[i]) - 1) << 3);
        for (uint32_t n = 3; n < 32; n++) {
            bool exists = n < 3 + n_counters[i];
            uint64_t selector = presets[i] == &tl_rvhpm_u74 ? 0x4000 : 5;
            assert_int_equal(rig_value(&rig, 0xb00 + n), 0);
            assert_int_equal(rig_value(&rig, 0x320 + n), 0);
            rig_write(&rig, 0xb00 + n, 0xabcdef);
            rig_write(&rig, 0x320 + n, selector);
            assert_int_equal(rig_value(&rig, 0xb00 + n), exists ? 0xabcdef : 0);
            assert_int_equal(rig_value(&rig, 0xc00 + n), exists ? 0xabcdef : 0);
            assert_int_equal(rig_value(&rig, 0x320 + n), exists ? selector : 0);
        }
        assert_false(rig_begin_write(&rig, 0xb01, 0)); // there is no mtime
        uint64_t value;
        assert_false(rig_read(&rig, 0xb01, &value));
        assert_int_equal(rig_read(&rig, 0xda0, &value), i == 0);
        assert_int_equal(rig_read(&rig, 0x321, &value), i == 0);
    }
}

static void test_reset_state_is_all_zero(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    for (uint32_t n = 0; n < 32; n++)
        if (n != 1) {
            rig_write(&rig, 0xb00 + n, 77);
            if (n >= 3)
                rig_write(&rig, 0x320 + n, 2 | TL_HPM_OF);
        }
    rig_write(&rig, 0x306, UINT64_MAX);
    rig_write(&rig, 0x106, UINT64_MAX);
    rig_write(&rig, 0x320, UINT64_MAX);
    rig_write(&rig, 0x321, UINT64_MAX);
    rig_advance(&rig, TL_S_HART_CYCLE, 1000);
    tl_pmu_rvhpm.reset(rig.pmu);
    for (uint32_t csr = 0; csr < 0xc00; csr++) {
        uint64_t value;
        if (rig_read(&rig, csr, &value))
            assert_int_equal(value, 0);
    }
    rig_advance(&rig, TL_S_HART_CYCLE, 3);
    assert_int_equal(rig_value(&rig, 0xb00), 3);
}

// Legal field values: every bit pattern of the flags, and bits of registers that do not exist.
static void test_flags_of_modes_that_do_not_exist_are_zero(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    for (uint64_t flags = 0; flags < 256; flags++) {
        rig_write(&rig, 0x330, flags << 56 | 2);
        assert_int_equal(rig_value(&rig, 0x330), (flags & 0xf0) << 56 | 2);
        rig_write(&rig, 0x321, flags << 56 | 2);
        assert_int_equal(rig_value(&rig, 0x321), (flags & 0x70) << 56);
        rig_write(&rig, 0x322, flags << 56 | 2);
        assert_int_equal(rig_value(&rig, 0x322), (flags & 0x70) << 56);
    }
    start_with(&tl_rvhpm_u74, 64);
    rig_write(&rig, 0x323, UINT64_C(0xff) << 56 | 0x4000);
    assert_int_equal(rig_value(&rig, 0x323), 0x4000);
}

// ---- gates ----

static void check_gates(uint32_t access_bits) {
    start_with(&tl_rvhpm_linux, access_bits);
    for (uint32_t n = 0; n < 32; n++)
        for (uint32_t combination = 0; combination < 8; combination++) {
            bool machine = combination & 1, supervisor = combination & 2, others = combination & 4;
            uint32_t bit = UINT32_C(1) << n, rest = others ? ~bit : 0;
            rig_set_mode(&rig, TL_PRIV_M);
            rig_write(&rig, 0x306, rest | (machine ? bit : 0));
            rig_write(&rig, 0x106, rest | (supervisor ? bit : 0));
            for (uint32_t m = 0; m < TL_COUNT_OF(modes); m++) {
                uint64_t value;
                bool want = modes[m] == TL_PRIV_M || (modes[m] == TL_PRIV_S ? machine : machine && supervisor);
                rig_set_mode(&rig, modes[m]);
                assert_int_equal(rig_read(&rig, 0xc00 + n, &value), want);
                assert_int_equal(rig_read(&rig, 0xc80 + n, &value), want && access_bits == 32);
            }
        }
}

static void test_each_shadow_is_gated_by_both_registers_in_every_mode(void **state) {
    (void)state;
    check_gates(64);
    check_gates(32);
}

static void test_what_the_personality_grants_is_user_mode_only(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    rig.user_counters = 0x80000005;
    uint64_t value;
    for (uint32_t n = 0; n < 32; n++) {
        rig.priv = TL_PRIV_U;
        assert_int_equal(rig_read(&rig, 0xc00 + n, &value), 0x80000005u >> n & 1);
        rig.priv = TL_PRIV_S;
        assert_false(rig_read(&rig, 0xc00 + n, &value));
    }
}

// ---- overflow ----

static void test_counters_wrap_and_interrupt_at_every_width(void **state) {
    (void)state;
    for (uint32_t width = 32; width <= 64; width++) {
        tl_rvhpm_preset preset = tl_rvhpm_linux;
        preset.width_bits = width;
        start_with(&preset, 64);
        uint64_t top = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
        rig_write(&rig, 0xb03, UINT64_MAX);
        assert_int_equal(rig_value(&rig, 0xb03), top);
        rig_write(&rig, 0x323, 2);
        assert_int_equal(rig.n_irqs, 0);
        rig_advance(&rig, TL_S_HART_INSTRET, 1);
        assert_int_equal(rig_value(&rig, 0xb03), 0);
        assert_int_equal(rig_value(&rig, 0x323), TL_HPM_OF | 2);
        assert_int_equal(rig_value(&rig, 0xda0), 8);
        assert_int_equal(rig.n_irqs, 1);
        rig_write(&rig, 0xb03, top - 1); // OF is set: wrapping again has no effect
        rig_advance(&rig, TL_S_HART_INSTRET, 5);
        assert_int_equal(rig_value(&rig, 0xb03), 3);
        assert_int_equal(rig.n_irqs, 1);
        rig_write(&rig, 0x323, 2); // armed
        rig_write(&rig, 0xb03, top - 1);
        for (uint32_t i = 0; i < 2; i++) { // an instruction takes a cycle
            assert_int_equal(rig.n_irqs, 1);
            rig_advance(&rig, TL_S_HART_CYCLE, 1);
            rig_advance(&rig, TL_S_HART_INSTRET, 1);
            rig_poll(&rig);
        }
        assert_int_equal(rig.n_irqs, 2);
    }
}

static void test_without_sscofpmf_nothing_overflows(void **state) {
    (void)state;
    start_with(&tl_rvhpm_u74, 64);
    rig_write(&rig, 0x323, 0x200);
    rig_write(&rig, 0xb03, UINT64_MAX);
    rig_advance(&rig, TL_S_HART_INSN_LOAD, 3);
    rig_poll(&rig);
    assert_int_equal(rig_value(&rig, 0xb03), 2);
    assert_int_equal(rig_value(&rig, 0x323), 0x200);
    assert_int_equal(rig.n_irqs, 0);
    assert_int_equal(rig_deadline(&rig), UINT64_MAX);
}

static void test_what_waits_decides_what_is_watched(void **state) {
    (void)state;
    static const struct {
        uint64_t selector;
        bool has_deadline, is_watched;
    } rows[] = {
        {1, true, true},        // cycles pass in slow paths, too
        {2, true, false},       // instructions do not
        {5, true, false},       // branches
        {0x10000, true, true},  // L1D reads: those of page walks
        {0x10001, false, true}, // misses
        {0x10019, false, true}, // TLB misses
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        start_with(&tl_rvhpm_linux, 64);
        assert_true(rig.pmu->port.is_quiet);
        rig_write(&rig, 0xb07, UINT64_C(0) - 1000);
        rig_write(&rig, 0x327, rows[i].selector);
        assert_false(rig.pmu->port.is_quiet);
        assert_int_equal(rig_deadline(&rig) != UINT64_MAX, rows[i].has_deadline);
        assert_int_equal(rig.pmu->port.needs_slow_watch, rows[i].is_watched);
        assert_false(rig.pmu->port.needs_modes);
        assert_true(rig.n_changes > 0);
        rig_write(&rig, 0xb07, 1); // far away: no watch for a long time
        assert_true(rig_deadline(&rig) > UINT64_C(1) << 50);
        // A sum with the clock does not overflow.
        assert_true(rig_deadline(&rig) <= UINT64_C(1) << 62);
        assert_false(rig.pmu->port.needs_slow_watch);
        rig_write(&rig, 0xb07, UINT64_C(0) - 1000);
        rig_write(&rig, 0x327, rows[i].selector | TL_HPM_OF); // no counter waits
        assert_int_equal(rig_deadline(&rig), UINT64_MAX);
        assert_false(rig.pmu->port.needs_slow_watch);
        assert_true(rig.pmu->port.is_quiet);
    }
}

// ---- halves ----

static void test_halves_of_a_running_counter_are_written_one_by_one(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 32);
    rig_write(&rig, 0x323, 2);
    rig_write(&rig, 0xb83, 4);
    rig_write(&rig, 0xb03, 0xfffffff0);
    rig_advance(&rig, TL_S_HART_INSTRET, 5);
    assert_true(rig_begin_write(&rig, 0xb83, 7));
    rig_advance(&rig, TL_S_HART_INSTRET, 1); // of the writing instruction: the write replaces it
    rig_retire(&rig);
    assert_int_equal(rig_value(&rig, 0xb03), 0xfffffff5);
    assert_int_equal(rig_value(&rig, 0xb83), 7);
    rig_advance(&rig, TL_S_HART_INSTRET, 16);
    assert_int_equal(rig_value(&rig, 0xb03), 5);
    assert_int_equal(rig_value(&rig, 0xb83), 8);
    assert_int_equal(rig_value(&rig, 0xc83), 8);
    rig_write(&rig, 0xb03, 9); // leaves the upper half
    assert_int_equal(rig_value(&rig, 0xb03), 9);
    assert_int_equal(rig_value(&rig, 0xb83), 8);
    rig_write(&rig, 0xb82, 3); // the fixed one
    rig_write(&rig, 0xb02, 0xffffffff);
    rig_advance(&rig, TL_S_HART_INSTRET, 2);
    assert_int_equal(rig_value(&rig, 0xb02), 1);
    assert_int_equal(rig_value(&rig, 0xb82), 4);
}

static void test_halves_of_event_registers_are_written_while_they_count(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 32);
    const uint32_t m = 1u << 30, of = 1u << 31; // of the upper half
    rig_write(&rig, 0x323, 0x100009);
    rig_advance(&rig, TL_S_HART_INSN_ALU, 10);
    assert_true(rig_begin_write(&rig, 0x723, m)); // stops in M, where it is
    rig_advance(&rig, TL_S_HART_INSN_ALU, 1);     // counted by the old rules
    rig_retire(&rig);
    rig_advance(&rig, TL_S_HART_INSN_ALU, 100);
    assert_int_equal(rig_value(&rig, 0xb03), 11);
    assert_int_equal(rig_value(&rig, 0x323), 0x100009);
    assert_int_equal(rig_value(&rig, 0x723), m);
    rig_write(&rig, 0x323, 2); // another event: flags stay
    assert_int_equal(rig_value(&rig, 0x723), m);
    rig_advance(&rig, TL_S_HART_INSTRET, 100);
    assert_int_equal(rig_value(&rig, 0xb03), 11);
    rig_write(&rig, 0x723, 0);
    rig_advance(&rig, TL_S_HART_INSTRET, 7);
    assert_int_equal(rig_value(&rig, 0xb03), 18);
    rig_write(&rig, 0xb83, 0xffffffff);
    rig_write(&rig, 0xb03, 0xffffffff);
    rig_advance(&rig, TL_S_HART_INSTRET, 1);
    assert_int_equal(rig_value(&rig, 0x723), of);
    assert_int_equal(rig_value(&rig, 0x323), 2);
    assert_int_equal(rig.n_irqs, 1);
    rig_write(&rig, 0x323, 2); // the lower half has no OF
    assert_int_equal(rig_value(&rig, 0x723), of);
    rig_write(&rig, 0x723, 0); // waits again
    rig_write(&rig, 0xb83, 0xffffffff);
    rig_write(&rig, 0xb03, 0xffffffff);
    rig_advance(&rig, TL_S_HART_INSTRET, 1);
    assert_int_equal(rig_value(&rig, 0x723), of);
    assert_int_equal(rig.n_irqs, 2);
}

static void test_halves_of_the_fixed_counters_configurations(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 32);
    static const struct {
        uint32_t config, counter;
        tl_cell cell;
    } rows[] = {{0x321, 0xb00, TL_S_HART_CYCLE}, {0x322, 0xb02, TL_S_HART_INSTRET}};
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        rig_write(&rig, rows[i].counter, 0);
        rig_write(&rig, rows[i].config + 0x400, 1u << 30); // MINH
        rig_advance(&rig, rows[i].cell, 50);
        assert_int_equal(rig_value(&rig, rows[i].counter), 0);
        rig_write(&rig, rows[i].config, UINT32_MAX); // nothing is there
        assert_int_equal(rig_value(&rig, rows[i].config), 0);
        assert_int_equal(rig_value(&rig, rows[i].config + 0x400), 1u << 30);
        rig_advance(&rig, rows[i].cell, 50);
        assert_int_equal(rig_value(&rig, rows[i].counter), 0);
        rig_write(&rig, rows[i].config + 0x400, 0);
        rig_advance(&rig, rows[i].cell, 3);
        assert_int_equal(rig_value(&rig, rows[i].counter), 3);
    }
}

// ---- reset between a write and its retirement ----

static void test_a_write_under_way_ends_at_a_reset(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    assert_true(rig_begin_write(&rig, 0x323, 2));
    tl_pmu_rvhpm.reset(rig.pmu);
    rig_retire(&rig);
    assert_int_equal(rig_value(&rig, 0x323), 0);
    rig_write(&rig, 0x324, 5); // what comes later is written
    assert_int_equal(rig_value(&rig, 0x324), 5);
    assert_true(rig_begin_write(&rig, 0xb00, 1000));
    tl_pmu_rvhpm.reset(rig.pmu);
    rig_advance(&rig, TL_S_HART_CYCLE, 10); // no write replaces these
    rig_retire(&rig);
    assert_int_equal(rig_value(&rig, 0xb00), 10);
}

// ---- stops, notices and watches of the hart ----

enum { WATCHED = 1 << 24 }; // slow paths are watched when so many cycles are left

static void test_slow_paths_are_watched_within_the_margin(void **state) {
    (void)state;
    const tl_pmu_port *port;
    start_with(&tl_rvhpm_linux, 64);
    port = &rig.pmu->port;
    rig_write(&rig, 0x323, 1);
    rig_write(&rig, 0xb03, UINT64_C(0) - WATCHED);
    assert_true(port->needs_slow_watch); // before anyone asks for a deadline
    rig_write(&rig, 0xb03, UINT64_C(0) - WATCHED - 1);
    assert_false(port->needs_slow_watch);
    rig_write(&rig, 0xb03, UINT64_C(0) - WATCHED - 1000);
    assert_false(port->needs_slow_watch);
    assert_int_equal(rig_deadline(&rig), 1000);
    assert_false(port->needs_slow_watch);
    rig_advance(&rig, TL_S_HART_CYCLE, 999);
    assert_int_equal(rig_deadline(&rig), 1);
    assert_false(port->needs_slow_watch);
    rig_advance(&rig, TL_S_HART_CYCLE, 1);
    uint32_t n_changes = rig.n_changes;
    assert_int_equal(rig_deadline(&rig), 0);
    assert_true(port->needs_slow_watch);
    assert_int_equal(rig.n_changes, n_changes + 1);
    rig_write(&rig, 0x324, 1); // another counter far from its overflow ends no watch
    rig_write(&rig, 0xb04, 1);
    assert_true(port->needs_slow_watch);
    assert_int_equal(rig_deadline(&rig), WATCHED);
    n_changes = rig.n_changes;
    assert_int_equal(rig_deadline(&rig), WATCHED);
    assert_int_equal(rig.n_changes, n_changes);
    rig_write(&rig, 0x324, 0);
    n_changes = rig.n_changes;
    rig_write(&rig, 0x323, 0); // no counter waits: the hart is notified
    assert_false(port->needs_slow_watch);
    assert_true(rig.n_changes > n_changes);
}

// A counter of slow paths was far from its overflow when it was looked at last, and is near it now.
static void test_slow_paths_are_watched_when_a_look_finds_them_near(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    const tl_pmu_port *port = &rig.pmu->port;
    rig_write(&rig, 0x323, 0x10001); // L1D read misses
    rig_write(&rig, 0xb03, UINT64_C(0) - 64 * (uint64_t)WATCHED);
    assert_true(rig_deadline(&rig) < UINT64_MAX);
    assert_false(port->needs_slow_watch);
    rig_advance(&rig, TL_S_HART_CYCLE, 64 * (uint64_t)WATCHED);
    rig_advance(&rig, TL_S_L1D_LOAD_MISS, 64 * (uint64_t)WATCHED - 1000);
    uint32_t n_changes = rig.n_changes;
    assert_int_equal(rig_deadline(&rig), UINT64_MAX);
    assert_true(port->needs_slow_watch);
    assert_int_equal(rig.n_changes, n_changes + 1);
}

static void test_a_mode_in_which_a_waiting_counter_counts_asks_anew(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    rig_write(&rig, 0xb03, UINT64_C(0) - 100);
    rig_write(&rig, 0x323, TL_HPM_MINH | 2);
    assert_int_equal(rig_deadline(&rig), UINT64_MAX);
    uint32_t n_changes = rig.n_changes;
    rig_set_mode(&rig, TL_PRIV_U);
    assert_true(rig.n_changes > n_changes);
    assert_int_equal(rig_deadline(&rig), 100);
    n_changes = rig.n_changes;
    rig_set_mode(&rig, TL_PRIV_S); // it counts there, too
    assert_int_equal(rig.n_changes, n_changes);
}

static void test_what_counts_instructions_is_as_far_as_they_are(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    rig_write(&rig, 0xb03, UINT64_C(0) - 1000);
    rig_write(&rig, 0x323, 2);
    assert_int_equal(rig_deadline(&rig), 1000);
    rig_advance(&rig, TL_S_HART_CYCLE, 900); // a long wait of one instruction
    rig_advance(&rig, TL_S_HART_INSTRET, 1);
    assert_int_equal(rig_deadline(&rig), 999);
}

static void test_asking_for_a_far_deadline_syncs_nothing(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    rig_write(&rig, 0xb03, UINT64_C(0) - 800000);
    rig_write(&rig, 0x323, 0x100026); // front-ends hold branches back
    uint32_t n_syncs = rig.n_syncs;
    for (uint32_t i = 0; i < 100; i++) {
        assert_int_equal(rig_deadline(&rig), 800000 - 1000 * i);
        rig_advance(&rig, TL_S_HART_CYCLE, 1000);
        rig_advance(&rig, TL_S_HART_INSTRET, 1000);
    }
    assert_int_equal(rig.n_syncs, n_syncs);
    // An eighth of the way is left, and no branch has come.
    rig_advance(&rig, TL_S_HART_CYCLE, 600000);
    rig_advance(&rig, TL_S_HART_INSTRET, 600000);
    assert_int_equal(rig_deadline(&rig), 800000);
    assert_int_equal(rig.n_syncs, n_syncs + 1);
}

// Bits 11:10 of a register's number are both 1 where it can only be read.
static void test_shadows_are_not_written_in_any_mode(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    for (size_t m = 0; m < TL_COUNT_OF(modes); m++) {
        rig_set_mode(&rig, modes[m]);
        for (uint32_t n = 0; n < 32; n++)
            assert_false(rig_begin_write(&rig, 0xc00 + n, 1));
    }
    assert_true(rig_begin_write(&rig, 0xb03, 1));
    assert_true(rig_begin_write(&rig, 0x323, 1));
    rig_retire(&rig);
}

static void test_the_register_map_is_sound(void **state) {
    (void)state;
    tl_error err;
    assert_int_equal(tl_regmap_check(&tl_rvhpm_regmap, &err), TL_OK);
}

// ---- modes ----

static void test_each_filter_counts_in_the_other_modes_only(void **state) {
    (void)state;
    // The order is that of `modes`.
    static const uint64_t filters[] = {TL_HPM_UINH, TL_HPM_SINH, TL_HPM_MINH};
    start_with(&tl_rvhpm_linux, 64);
    // There is one counter for each set of filters, and 11 steps in U, 13 in S, 17 in M.
    for (uint32_t set = 0; set < 8; set++) {
        uint64_t flags = (set & 1 ? filters[0] : 0) | (set & 2 ? filters[1] : 0) | (set & 4 ? filters[2] : 0);
        rig_write(&rig, 0x323 + set, flags | 0x100009);
    }
    rig_write(&rig, 0x321, TL_HPM_MINH | TL_HPM_SINH);
    rig_write(&rig, 0x322, TL_HPM_UINH);
    for (uint32_t round = 0; round < 10; round++)
        for (uint32_t m = 0; m < 3; m++) {
            static const uint32_t steps[] = {11, 13, 17};
            rig_set_mode(&rig, modes[m]);
            rig_advance(&rig, TL_S_HART_INSN_ALU, steps[m]);
            rig_advance(&rig, TL_S_HART_CYCLE, 2 * steps[m]);
            rig_advance(&rig, TL_S_HART_INSTRET, steps[m]);
        }
    for (uint32_t set = 0; set < 8; set++)
        assert_int_equal(rig_value(&rig, 0xb03 + set), 10 * ((set & 1 ? 0 : 11) + (set & 2 ? 0 : 13) + (set & 4 ? 0 : 17)));
    assert_int_equal(rig_value(&rig, 0xb00), 10 * 22);
    assert_int_equal(rig_value(&rig, 0xb02), 10 * 30);
    assert_true(rig.pmu->port.needs_modes);
}

static void test_changes_of_mode_cost_nothing_where_no_filter_cares(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    rig_write(&rig, 0x323, 0x100009);
    assert_false(rig.pmu->port.needs_modes);
    rig_write(&rig, 0x323, 0x100009 | TL_HPM_MINH); // what firmware always sets
    rig_set_mode(&rig, TL_PRIV_S);
    uint32_t n_syncs = rig.n_syncs;
    for (uint32_t i = 0; i < 100; i++) {
        rig_set_mode(&rig, TL_PRIV_U);
        rig_set_mode(&rig, TL_PRIV_S);
    }
    assert_int_equal(rig.n_syncs, n_syncs);
    rig_set_mode(&rig, TL_PRIV_M);
    assert_true(rig.n_syncs > n_syncs);
}

static void test_fixed_counters_are_read_without_a_sync(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    rig_write(&rig, 0x323, 1);
    rig_write(&rig, 0x324, 0x10001);
    uint32_t n_syncs = rig.n_syncs;
    rig_advance(&rig, TL_S_HART_CYCLE, 19);
    rig_advance(&rig, TL_S_HART_INSTRET, 7);
    rig_advance(&rig, TL_S_L1D_LOAD_MISS, 3);
    rig.time = 5;
    assert_int_equal(rig_value(&rig, 0xc00), 19);
    assert_int_equal(rig_value(&rig, 0xc01), 5);
    assert_int_equal(rig_value(&rig, 0xc02), 7);
    assert_int_equal(rig_value(&rig, 0xc03), 19);
    assert_int_equal(rig_value(&rig, 0xc04), 3);
    assert_int_equal(rig.n_syncs, n_syncs);
}

// ---- selectors ----

static bool is_known(const tl_pmu_preset *preset, uint64_t selector) {
    for (uint32_t i = 0; i < preset->n_events; i++)
        if (preset->events[i].selector == selector && preset->events[i].fidelity != TL_NOT_MODELED)
            return true;
    return false;
}

static void test_unknown_selectors_read_back_as_none(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    uint32_t n_known = 0;
    for (uint64_t selector = 1; selector < 0x102000; selector++) {
        rig_write(&rig, 0x323, selector);
        bool known = is_known(&tl_rvhpm_linux.base, selector);
        assert_int_equal(rig_value(&rig, 0x323), known ? selector : 0);
        n_known += known;
    }
    for (uint32_t bit = 21; bit < 56; bit++) { // no high bit is ignored
        rig_write(&rig, 0x323, UINT64_C(1) << bit | 1);
        assert_int_equal(rig_value(&rig, 0x323), 0);
    }
    uint32_t n_modeled = 0;
    for (uint32_t i = 0; i < tl_rvhpm_linux.base.n_events; i++)
        n_modeled += tl_rvhpm_linux.base.events[i].fidelity != TL_NOT_MODELED;
    assert_int_equal(n_known, n_modeled);
}

// Every event alone, over every signal: it counts its own sources and nothing else.
static void check_events(const tl_rvhpm_preset *preset) {
    for (uint32_t e = 0; e < preset->base.n_events; e++) {
        const tl_event *event = &preset->base.events[e];
        if (event->fidelity == TL_NOT_MODELED)
            continue;
        start_with(preset, 64);
        rig_write(&rig, 0x323, event->selector);
        uint64_t want = 0;
        for (uint32_t s = 0; s < rig.probe.n_cells; s++) {
            const tl_unit *unit = tl_probe_unit_of(&rig.probe, s);
            const char *signal = unit->type->signals[s - unit->first_cell].name;
            char term[80], generic[80];
            snprintf(term, sizeof term, "%s.%s", unit->type->name, signal);
            size_t n_signal = strlen(signal);
            snprintf(generic, sizeof generic, "%s.%s", unit->type->name, signal);
            generic[strlen(generic) - 1] = '#';
            bool is_mine = s < TL_S_N_CELLS || s >= RIG_HARTS * TL_S_N_CELLS;
            bool is_of_my_number = s < TL_S_N_CELLS || signal[n_signal - 1] == '0';
            for (const char *at = event->sources; at && is_mine; at = strstr(at, " + ") ? strstr(at, " + ") + 3 : NULL) {
                size_t n = strcspn(at, " ");
                bool is_named = (n == strlen(term) && memcmp(at, term, n) == 0) ||
                                (is_of_my_number && n == strlen(generic) && memcmp(at, generic, n) == 0);
                want += is_named ? s + 1 : 0;
            }
            rig_advance(&rig, s, s + 1);
        }
        assert_true(want > 0);
        if (rig_value(&rig, 0xb03) != want)
            fail_msg("%s: counted %llu, not %llu", event->name, (unsigned long long)rig_value(&rig, 0xb03), (unsigned long long)want);
    }
}

static void test_each_event_counts_its_sources_and_nothing_else(void **state) {
    (void)state;
    check_events(&tl_rvhpm_linux);
    check_events(&tl_rvhpm_u74);
}

static void test_masks_add_the_events_of_one_class(void **state) {
    (void)state;
    static const uint32_t last_bit[] = {25, 18, 13};
    uint64_t seed = 5;
    for (uint32_t class = 0; class < 3; class ++)
        for (uint32_t round = 0; round < 300; round++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            uint64_t bits = (seed >> 20) & ((UINT64_C(1) << (last_bit[class] + 1)) - 256), want = 0;
            if (round == 0)
                bits = (UINT64_C(1) << (last_bit[class] + 1)) - 256; // all of them
            start_with(&tl_rvhpm_u74, 64);
            rig_write(&rig, 0x324, bits | class);
            assert_int_equal(rig_value(&rig, 0x324), bits != 0 ? bits | class : 0);
            for (uint32_t s = 0; s < TL_S_N_CELLS; s++)
                rig_advance(&rig, s, s * 3 + 1);
            uint64_t together = rig_value(&rig, 0xb04);
            for (uint32_t bit = 8; bit <= last_bit[class]; bit++) {
                if (!(bits >> bit & 1))
                    continue;
                start_with(&tl_rvhpm_u74, 64);
                rig_write(&rig, 0x323, UINT64_C(1) << bit | class);
                assert_int_equal(rig_value(&rig, 0x323), UINT64_C(1) << bit | class);
                for (uint32_t s = 0; s < TL_S_N_CELLS; s++)
                    rig_advance(&rig, s, s * 3 + 1);
                want += rig_value(&rig, 0xb03);
            }
            assert_int_equal(together, want);
            start_with(&tl_rvhpm_u74, 64); // one bit too many, and it is none
            rig_write(&rig, 0x324, bits | UINT64_C(1) << (last_bit[class] + 1 + round % (55 - last_bit[class])) | class);
            assert_int_equal(rig_value(&rig, 0x324), 0);
        }
}

// An untouched counter never decreases, whatever else is written.
static void test_no_counter_loses_its_value_without_an_event(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 64);
    for (uint32_t n = 3; n < 32; n++) {
        rig_write(&rig, 0xb00 + n, 1000 * n);
        rig_write(&rig, 0x320 + n, n % 2 ? 0x10019 : 0x100009);
    }
    uint64_t seed = 3;
    for (uint32_t round = 0; round < 2000; round++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        uint32_t n = 3 + (uint32_t)(seed >> 33) % 4;
        switch (seed >> 40 & 7) {
        case 0: rig_write(&rig, 0xb00 + n, seed); break;
        case 1: rig_write(&rig, 0x320, seed >> 5 & 0x78); break;
        case 2: rig_write(&rig, 0x320 + n, seed >> 3 & 0xff); break;
        case 3: rig_set_mode(&rig, modes[seed % 3]); break;
        case 4: (void)rig_deadline(&rig); break;
        case 5: rig_write(&rig, 0x306, seed); break;
        default: rig_poll(&rig); break;
        }
        for (n = 7; n < 32; n++)
            assert_int_equal(rig_value(&rig, 0xb00 + n), 1000 * n);
    }
}

// An RV32 program reads 64 bits as high, low, and high again until both highs are equal.
static void test_high_low_high_reads_a_running_counter_right(void **state) {
    (void)state;
    start_with(&tl_rvhpm_linux, 32);
    rig_write(&rig, 0xb82, 6);
    rig_write(&rig, 0xb02, 0xffffffff - 20);
    uint64_t last = 0;
    for (uint32_t round = 0; round < 40; round++) {
        uint64_t high, low, again;
        do {
            high = rig_value(&rig, 0xc82);
            rig_advance(&rig, TL_S_HART_INSTRET, 1);
            low = rig_value(&rig, 0xc02);
            rig_advance(&rig, TL_S_HART_INSTRET, 1);
            again = rig_value(&rig, 0xc82);
        } while (high != again);
        uint64_t value = high << 32 | low;
        assert_true(value > last && value < (UINT64_C(6) << 32) + 0xffffffff + 200);
        last = value;
    }
    assert_int_equal(last >> 32, 7);
}

// Events in the device tree are selectable and count on the named counters. The tree lists no event
// that is not modeled.
static void test_rows_of_the_device_tree_hold(void **state) {
    (void)state;
    static const tl_rvhpm_preset *const presets[] = {&tl_rvhpm_linux, &tl_rvhpm_u74, &tl_rvhpm_none};
    for (uint32_t i = 0; i < TL_COUNT_OF(presets); i++) {
        const tl_pmu_tree *tree = presets[i]->base.tree;
        assert_int_equal(tree->has_sscofpmf, presets[i]->has_sscofpmf);
        assert_int_equal(tree->has_smcntrpmf, presets[i]->has_smcntrpmf);
        start_with(presets[i], 64);
        uint32_t exist = ((UINT32_C(1) << presets[i]->n_counters) - 1) << 3 | 5;
        for (uint32_t e = 0; e < tree->n_events; e++) {
            uint32_t n_ranges = 0;
            rig_write(&rig, 0x323, tree->events[e].selector);
            assert_int_equal(rig_value(&rig, 0x323), tree->events[e].selector);
            for (uint32_t k = 0; k < tree->n_counters; k++)
                n_ranges += tree->events[e].event >= tree->counters[k].first_event && tree->events[e].event <= tree->counters[k].last_event;
            assert_int_equal(n_ranges, 1);
            for (uint32_t other = 0; other < e; other++)
                assert_true(tree->events[other].event != tree->events[e].event);
        }
        // The events are none, cycles and instructions. Counter 0 has cycles, counter 2
        // instructions.
        for (uint32_t event = 0; event <= 2; event++) {
            static const uint32_t fixed[] = {0, 1, 4};
            uint32_t counters = 0;
            for (uint32_t k = 0; k < tree->n_counters; k++)
                if (event >= tree->counters[k].first_event && event <= tree->counters[k].last_event)
                    counters |= tree->counters[k].counters;
            assert_int_equal(counters & 7, fixed[event]);
        }
        for (uint32_t k = 0; k < tree->n_counters; k++) {
            assert_int_equal(tree->counters[k].counters & ~exist, 0);
            for (uint32_t event = tree->counters[k].first_event; event <= tree->counters[k].last_event; event++) {
                bool is_mapped = event <= 2; // these two have counters of their own
                for (uint32_t e = 0; e < tree->n_events; e++)
                    is_mapped |= tree->events[e].event == event;
                assert_true(is_mapped);
            }
        }
        // Every raw selector is in one row, but for those of standard events.
        for (uint32_t e = 0; e < presets[i]->base.n_events; e++) {
            uint64_t selector = presets[i]->base.events[e].selector;
            uint32_t n_rows = 0;
            for (uint32_t k = 0; k < tree->n_raw; k++)
                n_rows += (selector & tree->raw[k].mask) == tree->raw[k].match;
            assert_int_equal(n_rows, presets[i] == &tl_rvhpm_linux && selector < 0x100000 ? 0 : 1);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_pairs_that_are_absent_are_read_only_zero),
    cmocka_unit_test(test_reset_state_is_all_zero),
    cmocka_unit_test(test_flags_of_modes_that_do_not_exist_are_zero),
    cmocka_unit_test(test_each_shadow_is_gated_by_both_registers_in_every_mode),
    cmocka_unit_test(test_what_the_personality_grants_is_user_mode_only),
    cmocka_unit_test(test_counters_wrap_and_interrupt_at_every_width),
    cmocka_unit_test(test_without_sscofpmf_nothing_overflows),
    cmocka_unit_test(test_what_waits_decides_what_is_watched),
    cmocka_unit_test(test_halves_of_a_running_counter_are_written_one_by_one),
    cmocka_unit_test(test_halves_of_event_registers_are_written_while_they_count),
    cmocka_unit_test(test_halves_of_the_fixed_counters_configurations),
    cmocka_unit_test(test_a_write_under_way_ends_at_a_reset),
    cmocka_unit_test(test_slow_paths_are_watched_within_the_margin),
    cmocka_unit_test(test_slow_paths_are_watched_when_a_look_finds_them_near),
    cmocka_unit_test(test_a_mode_in_which_a_waiting_counter_counts_asks_anew),
    cmocka_unit_test(test_what_counts_instructions_is_as_far_as_they_are),
    cmocka_unit_test(test_asking_for_a_far_deadline_syncs_nothing),
    cmocka_unit_test(test_shadows_are_not_written_in_any_mode),
    cmocka_unit_test(test_the_register_map_is_sound),
    cmocka_unit_test(test_each_filter_counts_in_the_other_modes_only),
    cmocka_unit_test(test_changes_of_mode_cost_nothing_where_no_filter_cares),
    cmocka_unit_test(test_fixed_counters_are_read_without_a_sync),
    cmocka_unit_test(test_unknown_selectors_read_back_as_none),
    cmocka_unit_test(test_each_event_counts_its_sources_and_nothing_else),
    cmocka_unit_test(test_masks_add_the_events_of_one_class),
    cmocka_unit_test(test_no_counter_loses_its_value_without_an_event),
    cmocka_unit_test(test_high_low_high_reads_a_running_counter_right),
    cmocka_unit_test(test_rows_of_the_device_tree_hold),
};
TL_TEST_MAIN(tests)
