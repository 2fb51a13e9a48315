// SPDX-License-Identifier: MIT
// Page walks: what they read, what they cost, what faults. Latencies: tl_rig_config().
#include "isa/rv/arch.h"
#include "mem/test_rig.h"

static const uint64_t MIB = 1 << 20;

static void test_cold_walk_costs_three_reads_of_memory(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_rig_start(&rig, &config);
    tl_hart *h = rig.harts[0];
    tl_rig_tables tables = tl_rig_tables_at(rig.ram, TL_RAM_BASE_PADDR);
    tl_rig_map(&tables, 0, tl_rig_paddr(4 * MIB), 0, TL_RIG_RW);
    tl_memory_switch_context(h, tl_rig_satp(&tables));
    tl_rig_write_u64(rig.ram, tl_rig_paddr(4 * MIB), 99);

    assert_true(h->port->load(h, 0, 8));
    assert_int_equal(h->mem_value, 99);
    // Each read: 1 (step) + 11 (L2) + memory. Tables at +0, +0x1000, +0x2000, data at +4 MiB are
    // all rows of bank 0: 200, then 400 each.
    assert_int_equal(h->tally[TL_S_PTW_CYCLE], 3 * (1 + 11) + 200 + 400 + 400);
    assert_int_equal(h->tally[TL_S_HART_CYC_DTLB], 1036);
    assert_int_equal(h->tally[TL_S_HART_CYC_LOAD_MISS], 11 + 400);
    assert_int_equal(h->now, 1036 + 411);
    assert_int_equal(h->tally[TL_S_PTW_WALK], 1);
    assert_int_equal(h->tally[TL_S_PTW_WALK_D], 1);
    assert_int_equal(h->tally[TL_S_PTW_READ], 3);
    assert_int_equal(h->tally[TL_S_PTW_WRITE], 0);
    assert_int_equal(h->tally[TL_S_L1D_WALK], 3);
    assert_int_equal(h->tally[TL_S_L1D_WALK_MISS], 3);
    // The front-end counts the look-up of the load.
    assert_int_equal(h->tally[TL_S_L1D_LOAD], 3);
    assert_int_equal(h->tally[TL_S_L1D_LOAD_MISS], 4);
    assert_int_equal(h->tally[TL_S_L1D_EVICT], 3); // all four lines meet in set 0

    assert_true(h->port->load(h, 8, 8)); // the same line: nothing more
    assert_int_equal(h->now, 1447);
    tl_rig_stop(&rig);
}

static void test_walk_of_a_large_page_stops_early(void **state) {
    (void)state;
    static const struct { uint32_t level, reads; } rows[] = {{0, 3}, {1, 2}, {2, 1}};
    for (int i = 0; i < 3; i++) {
        tl_rig rig;
        tl_config config = tl_rig_config();
        tl_rig_start(&rig, &config);
        tl_hart *h = rig.harts[0];
        tl_rig_tables tables = tl_rig_tables_at(rig.ram, TL_RAM_BASE_PADDR);
        tl_rig_map(&tables, UINT64_C(1) << 30, TL_RAM_BASE_PADDR, rows[i].level, TL_RIG_RX);
        tl_memory_switch_context(h, tl_rig_satp(&tables));
        assert_true(h->port->fetch(h, (UINT64_C(1) << 30) + 0x240));
        assert_int_equal(h->tally[TL_S_PTW_READ], rows[i].reads);
        assert_int_equal(h->tally[TL_S_PTW_WALK_I], 1);
        assert_int_equal(h->tally[TL_S_ITLB_MISS], 1);
        assert_int_equal(h->tally[TL_S_HART_CYC_ITLB], h->tally[TL_S_PTW_CYCLE]);
        assert_true(tl_fetch_slot_shows(tl_fetch_slot_of(h, (UINT64_C(1) << 30) + 0x240), (UINT64_C(1) << 30) + 0x240));
        assert_int_equal(tl_fetch_slot_paddr(tl_fetch_slot_of(h, (UINT64_C(1) << 30) + 0x240), 0x240), TL_RAM_BASE_PADDR + 0x240);
        tl_rig_stop(&rig);
    }
}

typedef struct fault_row {
    const char *what;
    uint32_t level;
    uint64_t paddr, flags;
    char access; // l(oad), s(tore), f(etch)
    int cause;   // -1: none
    uint32_t n_faults;
} fault_row;

static const uint64_t V = TL_PTE_V, R = TL_PTE_R, W = TL_PTE_W, X = TL_PTE_X, U = TL_PTE_U, A = TL_PTE_A, D = TL_PTE_D;

static void test_entries_fault_as_the_manual_says(void **state) {
    (void)state;
    const uint64_t data = tl_rig_paddr(4 * MIB);
    const fault_row rows[] = {
        {"good", 0, data, V | U | R | W | A | D, 'l', -1, 0},
        {"invalid, load", 0, data, U | R | W | A | D, 'l', TL_CAUSE_LOAD_PAGE, 1},
        {"invalid, store", 0, data, U | R | W | A | D, 's', TL_CAUSE_STORE_PAGE, 1},
        {"invalid, fetch", 0, data, U | R | X | A, 'f', TL_CAUSE_FETCH_PAGE, 1},
        {"store to a read-only page", 0, data, V | U | R | A | D, 's', TL_CAUSE_STORE_PAGE, 1},
        {"load from an execute-only page", 0, data, V | U | X | A, 'l', TL_CAUSE_LOAD_PAGE, 1},
        {"fetch from a data page", 0, data, V | U | R | W | A | D, 'f', TL_CAUSE_FETCH_PAGE, 1},
        {"write without read", 0, data, V | U | W | A | D, 'l', TL_CAUSE_LOAD_PAGE, 1},
        {"not a user page", 0, data, V | R | W | A | D, 'l', TL_CAUSE_LOAD_PAGE, 1},
        {"misaligned large page", 1, data + 4096, V | U | R | A, 'l', TL_CAUSE_LOAD_PAGE, 1},
        {"aligned large page", 1, data, V | U | R | A, 'l', -1, 0},
        {"misaligned giant page", 2, data, V | U | R | A, 'l', TL_CAUSE_LOAD_PAGE, 1},
        {"pointer in place of a leaf", 0, data, V, 'l', TL_CAUSE_LOAD_PAGE, 1},
        {"pointer with A", 1, data, V | A, 'l', TL_CAUSE_LOAD_PAGE, 1},
        {"pointer with U", 2, data, V | U, 'l', TL_CAUSE_LOAD_PAGE, 1},
        {"table outside RAM, load", 1, 0x1000, V, 'l', TL_CAUSE_LOAD_ACCESS, 0},
        {"table outside RAM, store", 1, 0x1000, V, 's', TL_CAUSE_STORE_ACCESS, 0},
        {"page outside RAM, fetch", 0, 0x1000, V | U | X | A, 'f', TL_CAUSE_FETCH_ACCESS, 0},
        {"reserved bit", 0, data, V | U | R | A | UINT64_C(1) << 63, 'l', TL_CAUSE_LOAD_PAGE, 1},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        const fault_row *row = &rows[i];
        tl_rig rig;
        tl_config config = tl_rig_config();
        tl_rig_start(&rig, &config);
        tl_hart *h = rig.harts[0];
        tl_rig_tables tables = tl_rig_tables_at(rig.ram, TL_RAM_BASE_PADDR);
        tl_rig_map(&tables, 0, row->paddr, row->level, row->flags);
        tl_memory_switch_context(h, tl_rig_satp(&tables));
        bool is_fetch = row->access == 'f';
        bool is_ok = is_fetch ? h->port->fetch(h, 0x48) : row->access == 's' ? h->port->store(h, 0x48, 8, 1) : h->port->load(h, 0x48, 8);
        if (is_ok != (row->cause < 0) || (!is_ok && (h->trap_cause != (uint64_t)row->cause || h->trap_value != 0x48)))
            fail_msg("%s: cause %d", row->what, is_ok ? -1 : (int)h->trap_cause);
        assert_int_equal(h->tally[TL_S_PTW_FAULT], row->n_faults);
        // An access that traps is counted here, since no instruction that retires counts it.
        assert_int_equal(h->tally[is_fetch ? TL_S_ITLB_ACCESS : TL_S_DTLB_ACCESS], row->cause >= 0);
        assert_int_equal(h->tally[is_fetch ? TL_S_ITLB_MISS : TL_S_DTLB_MISS], 1);
        tl_rig_stop(&rig);
    }
}

static void test_faulting_walk_leaves_no_entry(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_rig_start(&rig, &config);
    tl_hart *h = rig.harts[0];
    tl_rig_tables tables = tl_rig_tables_at(rig.ram, TL_RAM_BASE_PADDR);
    tl_rig_map(&tables, 0, tl_rig_paddr(4 * MIB), 0, V | U | R | A);
    tl_memory_switch_context(h, tl_rig_satp(&tables));
    assert_false(h->port->store(h, 0, 8, 1));
    tl_rig_map(&tables, 0, tl_rig_paddr(4 * MIB), 0, V | U | R | W | A | D);
    assert_true(h->port->store(h, 0, 8, 1)); // no flush needed
    assert_int_equal(h->tally[TL_S_PTW_WALK], 2);
    tl_rig_stop(&rig);
}

static void test_entry_without_permission_faults_without_a_walk(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_rig_start(&rig, &config);
    tl_hart *h = rig.harts[0];
    tl_rig_tables tables = tl_rig_tables_at(rig.ram, TL_RAM_BASE_PADDR);
    tl_rig_map(&tables, 0, tl_rig_paddr(4 * MIB), 0, V | U | R | A);
    tl_memory_switch_context(h, tl_rig_satp(&tables));
    assert_true(h->port->load(h, 0, 8));
    uint64_t before = h->now;
    assert_false(h->port->store(h, 0, 8, 1));
    assert_int_equal(h->trap_cause, TL_CAUSE_STORE_PAGE);
    assert_int_equal(h->now, before);
    assert_int_equal(h->tally[TL_S_PTW_WALK], 1);
    assert_int_equal(h->tally[TL_S_DTLB_MISS], 1);
    assert_int_equal(h->tally[TL_S_DTLB_ACCESS], 1);
    tl_rig_stop(&rig);
}

static void test_non_canonical_address_faults_without_a_walk(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_rig_start(&rig, &config);
    tl_hart *h = rig.harts[0];
    tl_rig_tables tables = tl_rig_tables_at(rig.ram, TL_RAM_BASE_PADDR);
    tl_memory_switch_context(h, tl_rig_satp(&tables));
    assert_false(h->port->load(h, UINT64_C(1) << 38, 8));
    assert_int_equal(h->trap_cause, TL_CAUSE_LOAD_PAGE);
    assert_int_equal(h->tally[TL_S_DTLB_ACCESS], 1);
    assert_int_equal(h->tally[TL_S_DTLB_MISS], 0);
    assert_false(h->port->load(h, UINT64_MAX << 38, 8)); // canonical, but not mapped
    assert_int_equal(h->tally[TL_S_DTLB_MISS], 1);
    tl_rig_stop(&rig);
}

static void test_untranslated_addresses_are_physical(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_rig_start(&rig, &config);
    tl_hart *h = rig.harts[0];
    assert_true(h->port->store(h, tl_rig_paddr(0x100), 8, 5));
    assert_int_equal(tl_rig_read_u64(rig.ram, tl_rig_paddr(0x100)), 5);
    assert_int_equal(h->now, 11 + 200);
    assert_false(h->port->load(h, TL_RAM_BASE_PADDR - 8, 8));
    assert_int_equal(h->trap_cause, TL_CAUSE_LOAD_ACCESS);
    assert_false(h->port->store(h, TL_RAM_BASE_PADDR + config.ram_bytes, 8, 1));
    assert_int_equal(h->trap_cause, TL_CAUSE_STORE_ACCESS);
    assert_false(h->port->fetch(h, 0));
    assert_int_equal(h->trap_cause, TL_CAUSE_FETCH_ACCESS);
    assert_int_equal(h->tally[TL_S_DTLB_MISS] + h->tally[TL_S_PTW_WALK], 0);
    tl_rig_stop(&rig);
}

static void test_translation_for_tools_disturbs_nothing(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_rig_start(&rig, &config);
    tl_hart *h = rig.harts[0];
    tl_rig_tables tables = tl_rig_tables_at(rig.ram, TL_RAM_BASE_PADDR);
    tl_rig_map(&tables, 0x3000, tl_rig_paddr(4 * MIB), 0, V | U | R);
    tl_rig_map(&tables, 2 * MIB, tl_rig_paddr(2 * MIB), 1, V | U | R);
    tl_memory_switch_context(h, tl_rig_satp(&tables));
    uint64_t paddr = 0;
    assert_true(tl_memory_translate(rig.memory, h, 0x3abc, &paddr));
    assert_int_equal(paddr, tl_rig_paddr(4 * MIB) + 0xabc);
    assert_true(tl_memory_translate(rig.memory, h, 3 * MIB + 5, &paddr));
    assert_int_equal(paddr, tl_rig_paddr(3 * MIB) + 5);
    assert_false(tl_memory_translate(rig.memory, h, 0x4000, &paddr));
    assert_false(tl_memory_translate(rig.memory, h, UINT64_C(1) << 40, &paddr));
    // A pointer where a leaf must stand.
    tl_rig_map(&tables, 0x5000, tl_rig_paddr(4 * MIB), 0, V);
    // A table below RAM.
    tl_rig_map(&tables, UINT64_C(5) << 30, TL_RAM_BASE_PADDR - 4096, 2, V);
    // A table behind RAM.
    tl_rig_map(&tables, UINT64_C(6) << 30, tl_rig_paddr(config.ram_bytes), 2, V);
    // A large page that is not aligned.
    tl_rig_map(&tables, 4 * MIB, tl_rig_paddr(4 * MIB) + 4096, 1, V | U | R);
    assert_false(tl_memory_translate(rig.memory, h, 0x5000, &paddr));
    assert_false(tl_memory_translate(rig.memory, h, UINT64_C(5) << 30, &paddr));
    assert_false(tl_memory_translate(rig.memory, h, UINT64_C(6) << 30, &paddr));
    assert_false(tl_memory_translate(rig.memory, h, 4 * MIB, &paddr));
    assert_int_equal(h->now, 0);
    assert_int_equal(tl_rig_read_u64(rig.ram, tl_rig_pte_paddr(&tables, 0x3000, 0)) & TL_PTE_A, 0);
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_cold_walk_costs_three_reads_of_memory),
    cmocka_unit_test(test_walk_of_a_large_page_stops_early),
    cmocka_unit_test(test_entries_fault_as_the_manual_says),
    cmocka_unit_test(test_faulting_walk_leaves_no_entry),
    cmocka_unit_test(test_entry_without_permission_faults_without_a_walk),
    cmocka_unit_test(test_non_canonical_address_faults_without_a_walk),
    cmocka_unit_test(test_untranslated_addresses_are_physical),
    cmocka_unit_test(test_translation_for_tools_disturbs_nothing),
};

TL_TEST_MAIN(tests)
