// SPDX-License-Identifier: MIT
// From names to cells: sources of events as pmu.h writes them, and paths of the probe. The machine
// has two harts, two slices and two links.
#include "base/bits.h"
#include "model/test_pmu_rig.h"

static pmu_rig rig;

static uint32_t hart_cell(uint32_t hart, enum tl_hart_cell cell) { return hart * TL_S_N_CELLS + (uint32_t)cell; }
static uint32_t slice_cell(uint32_t slice, uint32_t signal) { return RIG_HARTS * TL_S_N_CELLS + slice * RIG_L2_SIGNALS + signal; }

enum { SYNC = 1, SLOW = 2, JUMPY = 4, RETIRED = 8 };

static void test_sources_are_the_sums_they_spell(void **state) {
    (void)state;
    rig_init(&rig);
    const struct {
        const char *text;
        uint32_t n_cells, cells[4], max_step, flags; // as hart 1 sees it
    } rows[] = {
        {"hart.insn_load", 1, {hart_cell(1, TL_S_HART_INSN_LOAD)}, 1, SYNC | RETIRED},
        {"l1d.load_miss", 1, {hart_cell(1, TL_S_L1D_LOAD_MISS)}, 2, SLOW | JUMPY},
        {"l1d.load_miss + l1i.miss", 2, {hart_cell(1, TL_S_L1D_LOAD_MISS), hart_cell(1, TL_S_L1I_MISS)}, 4, SLOW | JUMPY},
        {"l1d.load_miss + hart.insn_load + hart.exception",
         3,
         {hart_cell(1, TL_S_L1D_LOAD_MISS), hart_cell(1, TL_S_HART_INSN_LOAD), hart_cell(1, TL_S_HART_EXCEPTION)},
         4,
         SYNC | JUMPY},
        {"hart.insn_load + hart.insn_store", 2, {hart_cell(1, TL_S_HART_INSN_LOAD), hart_cell(1, TL_S_HART_INSN_STORE)}, 2, SYNC | RETIRED},
        {"hart.cycle", 1, {hart_cell(1, TL_S_HART_CYCLE)}, 1, JUMPY}, // the host knows it without sync
        {"hart.instret", 1, {hart_cell(1, TL_S_HART_INSTRET)}, 1, RETIRED},
        {"hart.cycle_u", 1, {hart_cell(1, TL_S_HART_CYCLE_U)}, 1, SYNC | JUMPY},
        {"hart.instret_u", 1, {hart_cell(1, TL_S_HART_INSTRET_U)}, 1, SYNC},
        {"hart.idle_cycle", 1, {hart_cell(1, TL_S_HART_IDLE_CYCLE)}, 1, SYNC | SLOW | JUMPY},
        {"l1d.load", 1, {hart_cell(1, TL_S_L1D_LOAD)}, 2, SYNC | JUMPY},
        {"bp.target_miss", 1, {hart_cell(1, TL_S_BP_TARGET_MISS)}, 1, RETIRED},
        {"l2.writeback", 2, {slice_cell(0, 17), slice_cell(1, 17)}, 16, SLOW | JUMPY}, // over both slices
        {"l2.read_hart#", 2, {slice_cell(0, 1), slice_cell(1, 1)}, 16, SLOW | JUMPY},  // of the own hart
        {"l2.read_hart0", 2, {slice_cell(0, 0), slice_cell(1, 0)}, 16, SLOW | JUMPY},
        {"l2.writeback + hart.insn_load", 3, {slice_cell(0, 17), slice_cell(1, 17), hart_cell(1, TL_S_HART_INSN_LOAD)}, 17, SYNC | JUMPY},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_sources s;
        tl_error err = {0};
        if (tl_sources_resolve(rows[i].text, &rig.probe, 1, &rig.arena, &s, &err) != TL_OK)
            fail_msg("%s", err.text);
        uint32_t seen = (s.needs_sync ? SYNC : 0) | (s.is_slow ? SLOW : 0) | (s.is_jumpy ? JUMPY : 0) | (s.is_retired ? RETIRED : 0);
        if (s.n_cells != rows[i].n_cells || s.max_step != rows[i].max_step || seen != rows[i].flags)
            fail_msg("%s: %u slots, step %u, flags %u", rows[i].text, s.n_cells, s.max_step, seen);
        for (uint32_t k = 0; k < s.n_cells; k++)
            if (s.cells[k] != rows[i].cells[k])
                fail_msg("%s: slot %u is %u", rows[i].text, k, s.cells[k]);
    }
    rig_done(&rig);
}

static void test_steps_of_a_wide_core_are_as_many_times_larger(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t max_step;
    } rows[] = {{"hart.insn_load", 5}, {"l1d.load_miss", 10}, {"hart.load_bytes", 40}, {"hart.cycle", 1}, {"hart.cycle + hart.instret", 6}};
    rig_init(&rig);
    rig.probe.width = 5;
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_sources s;
        assert_int_equal(tl_sources_resolve(rows[i].text, &rig.probe, 1, &rig.arena, &s, NULL), TL_OK);
        assert_int_equal(s.max_step, rows[i].max_step);
    }
    rig_done(&rig);
}

static void test_what_is_not_written_like_sources_is_refused(void **state) {
    (void)state;
    rig_init(&rig);
    static const char *const malformed[] = {
        "cycle",
        ".cycle",
        "hart.",
        "hart cycle",
        "hart.cycle +",
        "hart.cycle+l1i.miss",
        "hart.cycle + .miss",
        "hart.cycle + l1i",
        "hart.cycle  + l1i.miss",
        "hart.cycle l1i.miss",
        "a_unit_with_a_name_of_32_letters.x",
        "hart.a_signal_with_a_name_of_48_letters_that_is_as_lo",
    };
    for (size_t i = 0; i < TL_COUNT_OF(malformed); i++) {
        tl_sources s;
        tl_error err = {0};
        tl_status status = tl_sources_resolve(malformed[i], &rig.probe, 0, &rig.arena, &s, &err);
        if (status != TL_EINVAL)
            fail_msg("'%s' is taken: %d %s", malformed[i], status, err.text);
    }
    static const struct {
        const char *text, *message;
    } absent[] = {
        {"hart.cycle + l1i.mist", "'hart.cycle + l1i.mist': this machine has no signal l1i.mist"},
        {"l3.read", "'l3.read': this machine has no signal l3.read"},
        {"l2.read_hart#_x", "'l2.read_hart#_x': this machine has no signal l2.read_hart1_x"},
        {"hart.a_signal_with_a_name_of_47_letters_is_too_short",
         "'hart.a_signal_with_a_name_of_47_letters_is_too_short': this machine has no signal "
         "hart.a_signal_with_a_name_of_47_letters_is_too_short"},
        {"a_unit_with_a_name_of_31_lettrs.x",
         "'a_unit_with_a_name_of_31_lettrs.x': this machine has no signal a_unit_with_a_name_of_31_lettrs.x"},
    };
    for (size_t i = 0; i < TL_COUNT_OF(absent); i++) {
        tl_sources s;
        tl_error err = {0};
        assert_int_equal(tl_sources_resolve(absent[i].text, &rig.probe, 1, &rig.arena, &s, &err), TL_ENOENT);
        assert_string_equal(err.text, absent[i].message);
    }
    rig_done(&rig);
}

static void test_probe_finds_paths_and_the_units_of_cells(void **state) {
    (void)state;
    rig_init(&rig);
    tl_cell cell = 0;
    assert_int_equal(tl_probe_resolve(&rig.probe, "hart1.l1d.load_miss", &cell), TL_OK);
    assert_int_equal(cell, hart_cell(1, TL_S_L1D_LOAD_MISS));
    assert_int_equal(tl_probe_resolve(&rig.probe, "hart0.cycle", &cell), TL_OK);
    assert_int_equal(cell, TL_S_HART_CYCLE);
    assert_int_equal(tl_probe_resolve(&rig.probe, "l2.1.writeback", &cell), TL_OK);
    assert_int_equal(cell, slice_cell(1, 17));
    rig.shown[cell] = 99;
    assert_int_equal(tl_probe_read(&rig.probe, cell), 99);
    static const char *const absent[] = {"hart1.l1d.load_mist", "hart1.l1d",          "hart2.cycle",         "cycle", "",
                                         "hart1.l1d.",          "hart1.l1.load_miss", "hart1.l1dd.load_miss"};
    for (size_t i = 0; i < TL_COUNT_OF(absent); i++)
        assert_int_equal(tl_probe_resolve(&rig.probe, absent[i], &cell), TL_ENOENT);
    for (uint32_t u = 0; u < rig.probe.n_units; u++) {
        const tl_unit *unit = &rig.probe.units[u];
        assert_ptr_equal(tl_probe_unit_of(&rig.probe, unit->first_cell), unit);
        assert_ptr_equal(tl_probe_unit_of(&rig.probe, unit->first_cell + unit->type->n_signals - 1), unit);
    }
    rig_done(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_sources_are_the_sums_they_spell),
    cmocka_unit_test(test_steps_of_a_wide_core_are_as_many_times_larger),
    cmocka_unit_test(test_what_is_not_written_like_sources_is_refused),
    cmocka_unit_test(test_probe_finds_paths_and_the_units_of_cells),
};

TL_TEST_MAIN(tests)
