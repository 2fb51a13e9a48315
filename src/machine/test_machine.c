// SPDX-License-Identifier: MIT
// A machine tells its PMUs about the clocks of its harts. It checks the identities of its tallies.
#include <stdio.h>

#include "base/bits.h"
#include "machine/keys.h"
#include "machine/test_rig.h"

static uint64_t cycle_in(const tl_machine *machine, uint32_t hart, uint64_t now) {
    return machine->pmu_host.cycle_in(machine->pmu_host.ctx, hart, now);
}

static void test_a_clock_stands_still_while_its_hart_has_nothing_to_run(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(2);
    tl_hart *h = machine->harts[1];
    h->now = 300; // ran so far, and sleeps
    assert_int_equal(cycle_in(machine, 1, 100), 100);
    assert_int_equal(cycle_in(machine, 1, 300), 300);
    assert_int_equal(cycle_in(machine, 1, 10000), 300);
    tl_hart_idle_until(h, 500);
    assert_int_equal(cycle_in(machine, 1, 10000), 300);
    tl_hart_idle_until(h, 700); // the same stretch goes on
    h->client = machine;        // and ends: there is a thread
    assert_int_equal(cycle_in(machine, 1, 10000), 9600);
    h->now = 1000;
    const uint64_t want[][2] = {{299, 299}, {300, 300}, {301, 300},  {500, 300}, {699, 300},
                                {700, 300}, {701, 301}, {1000, 600}, {1001, 601}};
    for (size_t i = 0; i < TL_COUNT_OF(want); i++)
        assert_int_equal(cycle_in(machine, 1, want[i][0]), want[i][1]);
    tl_machine_free(machine);
}

// Three harts; the first, in space `context`, begins a turn.
static tl_turn turn_of(tl_machine *machine, uint64_t context, uint64_t shared_cycle) {
    const uint64_t clocks[] = {1000000, 1000500, 9000000};
    for (uint32_t i = 0; i < 3; i++) {
        machine->harts[i]->now = clocks[i];
        machine->harts[i]->context = 10 + i;
    }
    machine->harts[0]->context = context;
    machine->harts[0]->shared_cycle = shared_cycle;
    return tl_machine_next(machine, 7);
}

static void test_a_late_close_contact_makes_turns_short(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(3);
    // Cycles since then, and cycles ahead of the second hart.
    const uint64_t want[][2] = {{1, 1}, {8192, 1}, {11585, 1}, {11586, 2}, {65536, 64}, {262144, 1024}, {999999, 14901}, {0, 1}};
    for (size_t i = 0; i < TL_COUNT_OF(want); i++) {
        const tl_turn turn = turn_of(machine, 10, 1000000 - want[i][0]);
        assert_ptr_equal(turn.hart, machine->harts[0]);
        assert_int_equal(turn.first_until, 1000500);
        assert_int_equal(turn.access_until, 1000500 + want[i][1]);
        assert_int_equal(turn.end, 1000500 + 32 * 1000);
    }
    assert_int_equal(turn_of(machine, 10, 2000000).access_until, 1000501); // a contact ahead of it
    // Never: since cycle 0, and interleave_cycles at least.
    assert_int_equal(turn_of(machine, 10, 0).access_until, 1000500 + 14901);
    machine->harts[0]->now = 5000;
    assert_int_equal(tl_machine_next(machine, 7).access_until, 1000500 + 1000);
    tl_machine_free(machine);
}

static void test_harts_of_one_address_space_stay_together(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(3);
    assert_int_equal(turn_of(machine, 12, 0).access_until, 1000500 + 1000); // as the last hart
    assert_int_equal(turn_of(machine, 12, 0).end, 1000500 + 1000);
    assert_int_equal(tl_machine_next(machine, 3).end, 1000500 + 32000); // which does not run
    machine->harts[0]->is_privileged = true;
    assert_int_equal(turn_of(machine, 10, 0).end, 1000500 + 1000); // a kernel is in all spaces
    machine->harts[0]->is_privileged = false;
    machine->config.interleave_cycles = 1;
    assert_int_equal(turn_of(machine, 10, 0).end, 1000501);
    tl_machine_free(machine);
}

static void test_an_epoch_begins_with_a_turn(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(2);
    tl_hart *h = machine->harts[0];
    machine->harts[1]->now = 1000000;
    // The clock and the stamp as the turn begins, and what the epoch began with.
    const uint64_t want[][3] = {{999, 7, 0}, {1000, 8, 8}, {1999, 9, 8}, {2500, 10, 10}, {3499, 11, 10}, {3500, 12, 12}};
    for (size_t i = 0; i < TL_COUNT_OF(want); i++) {
        h->now = want[i][0];
        h->stamp = want[i][1];
        assert_ptr_equal(tl_machine_next(machine, 3).hart, h);
        assert_int_equal(h->epoch_stamp, want[i][2]);
    }
    assert_int_equal(machine->harts[1]->epoch_stamp, 0);
    tl_machine_free(machine);
}

static void test_a_hart_in_wfi_has_nothing_to_run(void **state) {
    (void)state;
    tl_machine *machine = tl_test_machine(2);
    tl_hart *h = machine->harts[0];
    h->is_privileged = true;
    h->now = 50;
    assert_int_equal(cycle_in(machine, 0, 80), 80);
    h->is_waiting = true;
    assert_int_equal(cycle_in(machine, 0, 80), 50);
    tl_machine_free(machine);
}

// A machine without such a PMU does not pay for the calls.
static void test_only_a_pmu_that_wants_notices_gets_them(void **state) {
    (void)state;
    for (uint64_t mode = 0; mode < 2; mode++) { // none, timed
        tl_config config = tl_test_config(2);
        tl_keys_set(&config, "hpc", mode);
        tl_machine *machine = tl_test_machine_of(&config);
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(machine->harts[i]->notice != NULL, mode);
            assert_ptr_equal(machine->harts[i]->notice_ctx, mode ? machine : NULL);
        }
        tl_machine_free(machine);
    }
}

static void note_context(void *ctx, tl_hart *h) { *(uint32_t *)ctx |= 1u << h->id; }

static void test_a_watcher_is_told_of_contexts_only(void **state) {
    (void)state;
    for (uint64_t mode = 0; mode < 2; mode++) { // without and with a PMU that wants notices
        tl_config config = tl_test_config(2);
        uint32_t told = 0;
        tl_keys_set(&config, "hpc", mode);
        tl_machine *machine = tl_test_machine_of(&config);
        tl_machine_watch_contexts(machine, note_context, &told);
        tl_hart_notice(machine->harts[1], TL_NOTICE_TRAP_ENTRY);
        assert_int_equal(told, 0);
        tl_hart_notice(machine->harts[1], TL_NOTICE_CONTEXT);
        assert_int_equal(told, 2);
        tl_machine_watch_contexts(machine, NULL, NULL);
        tl_hart_notice(machine->harts[0], TL_NOTICE_CONTEXT);
        assert_int_equal(told, 2);
        assert_int_equal(machine->harts[0]->notice != NULL, mode);
        tl_machine_free(machine);
    }
}

// All tallies begin at 0, where everything balances. A row sets a few to 1; the identity that it
// names is then the first one that does not hold.
static void test_broken_identities_of_a_hart_are_named(void **state) {
    (void)state;
    static const struct {
        const char *broken;
        bool is_out_of_order;
        uint32_t n_ones;
        enum tl_hart_cell ones[3];
    } rows[] = {
        {"cyc_issue equals instret on a scalar core, but 1 is not 0", false, 1, {TL_S_HART_CYC_ISSUE}},
        {"cyc_issue equals instret on a scalar core, but 0 is not 1", false, 1, {TL_S_HART_INSTRET}},
        {"the CPI stack sums to cycle, but 1 is not 0", true, 1, {TL_S_HART_CYC_ISSUE}},
        {"instructions by class sum to instret, but 0 is not 1", true, 1, {TL_S_HART_INSTRET}},
        {"instructions by class sum to instret, but 1 is not 0", false, 1, {TL_S_HART_INSN_SYSTEM}},
        {"the CPI stack sums to cycle, but 1 is not 0", false, 1, {TL_S_HART_CYC_MMIO}},
        {"cycles by privilege sum to cycle, but 1 is not 0", false, 1, {TL_S_HART_CYCLE_M}},
        {"instructions by privilege sum to instret, but 1 is not 0", false, 1, {TL_S_HART_INSTRET_U}},
        {"exceptions by cause sum to exception, but 1 is not 0", false, 1, {TL_S_HART_EXC_MISALIGNED}},
        {"bp.cond equals insn_branch, but 1 is not 0", false, 1, {TL_S_BP_COND}},
        {"bp.indirect + bp.return equals insn_jalr, but 1 is not 0", false, 1, {TL_S_BP_INDIRECT}},
        {"bp.indirect + bp.return equals insn_jalr, but 1 is not 0", false, 1, {TL_S_BP_RETURN}},
        {"bp.indirect_miss + bp.return_miss equals bp.target_miss, but 1 is not 0", false, 1, {TL_S_BP_RETURN_MISS}},
        {"dtlb.load_miss + dtlb.store_miss equals dtlb.miss, but 1 is not 0", false, 1, {TL_S_DTLB_STORE_MISS}},
        {"sc_success + sc_fail equals insn_sc, but 1 is not 0", false, 1, {TL_S_HART_SC_FAIL}},
        {"cyc_issue <= instret, but 1 is more than 0", true, 3, {TL_S_HART_CYC_ISSUE, TL_S_HART_CYCLE, TL_S_HART_CYCLE_U}},
        {"l1i.miss <= l1i.access, but 1 is more than 0", false, 1, {TL_S_L1I_MISS}},
        {"l1d.load_miss <= l1d.load, but 1 is more than 0", false, 1, {TL_S_L1D_LOAD_MISS}},
        {"l1d.store_miss <= l1d.store, but 1 is more than 0", false, 1, {TL_S_L1D_STORE_MISS}},
        {"itlb.miss <= itlb.access, but 1 is more than 0", false, 1, {TL_S_ITLB_MISS}},
        {"dtlb.miss <= dtlb.access, but 1 is more than 0", false, 2, {TL_S_DTLB_MISS, TL_S_DTLB_LOAD_MISS}},
        {"l2tlb.miss <= l2tlb.access, but 1 is more than 0", false, 1, {TL_S_L2TLB_MISS}},
        {"bp.cond_miss <= bp.cond, but 1 is more than 0", false, 1, {TL_S_BP_COND_MISS}},
        {"branch_taken <= insn_branch, but 1 is more than 0", false, 1, {TL_S_HART_BRANCH_TAKEN}},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_machine *machine = tl_test_machine(1);
        tl_error err = {0};
        assert_int_equal(tl_machine_check_identities(machine, &err), TL_OK);
        if (rows[i].is_out_of_order)
            machine->config.core.kind = TL_CORE_OUT_OF_ORDER;
        for (uint32_t k = 0; k < rows[i].n_ones; k++)
            machine->harts[0]->tally[rows[i].ones[k]] = 1;
        assert_int_not_equal(tl_machine_check_identities(machine, &err), TL_OK);
        char want[200];
        snprintf(want, sizeof want, "the counts of hart0 do not add up: %s; this is a defect of tally, please report it", rows[i].broken);
        assert_string_equal(err.text, want);
        tl_machine_free(machine);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_clock_stands_still_while_its_hart_has_nothing_to_run),
    cmocka_unit_test(test_a_late_close_contact_makes_turns_short),
    cmocka_unit_test(test_harts_of_one_address_space_stay_together),
    cmocka_unit_test(test_an_epoch_begins_with_a_turn),
    cmocka_unit_test(test_a_hart_in_wfi_has_nothing_to_run),
    cmocka_unit_test(test_only_a_pmu_that_wants_notices_gets_them),
    cmocka_unit_test(test_a_watcher_is_told_of_contexts_only),
    cmocka_unit_test(test_broken_identities_of_a_hart_are_named),
};

TL_TEST_MAIN(tests)
