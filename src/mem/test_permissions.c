// SPDX-License-Identifier: MIT
// Permissions of pages: every combination of the eight flags of a leaf, at two levels of Sv39 and
// of Sv48. Modes are all (MPRV included), with and without SUM and MXR. Accesses are loads, stores
// and fetches. The expectation is a function written from the privileged manual's steps. No flush
// comes between the accesses to one page, so TLBs and slots answer most of them.
#include "isa/rv/arch.h"
#include "mem/test_rig.h"

static const uint64_t MIB = 1 << 20;

typedef struct setting { // what the hart is in
    tl_priv priv, mpp;
    bool mprv, sum, mxr;
} setting;

typedef struct verdict { // what the manual says
    bool is_permitted, sets_a, sets_d;
} verdict;

// "Virtual Address Translation Process", steps 2 to 9, for a valid path to one leaf; sec. 3.1.6.3
// for MPRV, MXR and SUM. access: 'l', 's', 'f'.
static verdict manual(const setting *mode, uint8_t flags, char access) {
    const bool v = flags & 1, r = flags & 2, w = flags & 4, x = flags & 8, u = flags & 16, a = flags & 64, d = flags & 128;
    tl_priv priv = mode->mprv && mode->priv == TL_PRIV_M && access != 'f' ? mode->mpp : mode->priv;
    verdict no = {0};
    if (!v || (!r && w)) // step 3
        return no;
    // Step 4: no leaf. This is an error at the last level and with reserved bits; the table is data
    // here.
    if (!r && !x)
        return no;
    if (priv == TL_PRIV_U && !u) // step 5
        return no;
    // "Irrespective of SUM, the supervisor may not execute code on pages with U=1."
    if (priv == TL_PRIV_S && u && access == 'f')
        return no;
    if (priv == TL_PRIV_S && u && !mode->sum)
        return no;
    bool is_allowed = access == 'f' ? x : access == 's' ? w : r || (mode->mxr && x);
    if (!is_allowed)
        return no;
    // Step 7, in hardware.
    return (verdict){.is_permitted = true, .sets_a = !a, .sets_d = access == 's' && !d};
}

static bool is_untranslated(const setting *mode, char access) {
    return mode->priv == TL_PRIV_M && (access == 'f' || !mode->mprv || mode->mpp == TL_PRIV_M);
}

static uint64_t status_of(const setting *mode) {
    return tl_rig_mpp(mode->mpp) | (mode->mprv ? TL_MSTATUS_MPRV : 0) | (mode->sum ? TL_MSTATUS_SUM : 0) | (mode->mxr ? TL_MSTATUS_MXR : 0);
}

static bool perform(tl_hart *h, uint64_t vaddr, char access) {
    if (access == 'f')
        return tl_rig_fetch(h, vaddr);
    return access == 's' ? tl_rig_store(h, vaddr, 8, 7) : tl_rig_load(h, vaddr, 8);
}

static uint64_t cause_of(char access) {
    return access == 'f' ? TL_CAUSE_FETCH_PAGE : access == 's' ? TL_CAUSE_STORE_PAGE : TL_CAUSE_LOAD_PAGE;
}

static uint32_t some(uint64_t *state) { // a small pseudo-random number
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(*state >> 40);
}

enum { N_MODES = 72 };
static setting mode_of(uint32_t number) {
    static const tl_priv privs[] = {TL_PRIV_U, TL_PRIV_S, TL_PRIV_M};
    return (setting){
        .priv = privs[number % 3], .mpp = privs[number / 3 % 3], .mprv = number / 9 % 2, .sum = number / 18 % 2, .mxr = number / 36 % 2};
}

static void check_access(tl_rig *rig, const setting *mode, uint64_t pte_paddr, uint64_t vaddr, char access) {
    tl_hart *h = rig->harts[0];
    tl_rig_set_priv(h, mode->priv);
    tl_rig_set_status(h, status_of(mode));
    uint64_t before = tl_rig_read_u64(rig->ram, pte_paddr);
    bool is_ok = perform(h, vaddr, access);
    uint64_t after = tl_rig_read_u64(rig->ram, pte_paddr);
    if (is_untranslated(mode, access)) { // no such physical address
        uint64_t cause = access == 'f' ? TL_CAUSE_FETCH_ACCESS : access == 's' ? TL_CAUSE_STORE_ACCESS : TL_CAUSE_LOAD_ACCESS;
        if (is_ok || h->trap_cause != cause || after != before)
            fail_msg("untranslated access '%c': ok %d, cause %d", access, is_ok, (int)h->trap_cause);
        return;
    }
    verdict expected = manual(mode, (uint8_t)before, access);
    uint64_t expected_after = before | (expected.sets_a ? TL_PTE_A : 0) | (expected.sets_d ? (uint64_t)TL_PTE_D : 0);
    if (is_ok != expected.is_permitted || (!is_ok && (h->trap_cause != cause_of(access) || h->trap_value != vaddr)) ||
        after != expected_after)
        fail_msg("flags 0x%02x, '%c', priv %d, mprv %d, mpp %d, sum %d, mxr %d: ok %d, cause %d, entry 0x%llx, expected ok %d, 0x%llx",
                 (unsigned)(before & 255), access, mode->priv, mode->mprv, mode->mpp, mode->sum, mode->mxr, is_ok,
                 is_ok ? -1 : (int)h->trap_cause, (unsigned long long)after, expected.is_permitted, (unsigned long long)expected_after);
}

static void check_all(uint32_t n_levels, uint32_t level) {
    static const char accesses[] = {'l', 's', 'f'};
    const uint64_t vaddr = (n_levels == 4 ? UINT64_C(1) << 45 : 0) + (UINT64_C(5) << 30) + 0x6000, paddr = tl_rig_paddr(4 * MIB);
    tl_rig rig;
    tl_config config = tl_rig_config();
    tl_rig_start(&rig, &config);
    tl_hart *h = rig.harts[0];
    tl_rig_tables tables = tl_rig_tables_at(rig.ram, TL_RAM_BASE_PADDR);
    tables.n_levels = n_levels;
    uint64_t pte_paddr = tl_rig_pte_paddr(&tables, vaddr, level), state = n_levels * 8 + level;
    tl_memory_switch_context(h, tl_rig_satp(&tables));
    for (uint32_t flags = 0; flags < 256; flags++) {
        for (uint32_t which = 0; which < N_MODES; which++) { // every mode on a fresh page
            setting mode = mode_of(which);
            for (uint32_t i = 0; i < 3; i++) {
                tl_rig_write_u64(rig.ram, pte_paddr, tl_rig_pte(paddr, flags));
                h->port->flush_translation(h, vaddr, false);
                check_access(&rig, &mode, pte_paddr, vaddr, accesses[i]);
            }
        }
        tl_rig_write_u64(rig.ram, pte_paddr, tl_rig_pte(paddr, flags));
        h->port->flush_translation(h, 0, true);
        for (uint32_t i = 0; i < 300; i++) { // one after the other on the same one
            setting mode = mode_of(some(&state) % N_MODES);
            check_access(&rig, &mode, pte_paddr, vaddr, accesses[some(&state) % 3]);
        }
    }
    tl_error err;
    if (tl_memory_check_identities(rig.memory, &err) != TL_OK)
        fail_msg("%s", err.text);
    tl_rig_stop(&rig);
}

static void test_every_leaf_of_sv39_serves_whom_the_manual_says(void **state) {
    (void)state;
    check_all(3, 0);
    check_all(3, 1);
}

static void test_every_leaf_of_sv48_serves_whom_the_manual_says(void **state) {
    (void)state;
    check_all(4, 0);
    check_all(4, 1);
}

static void test_sv48_walks_four_levels_and_maps_pages_of_four_sizes(void **state) {
    (void)state;
    for (uint32_t level = 0; level < 4; level++) {
        tl_rig rig;
        tl_config config = tl_rig_config();
        tl_rig_start(&rig, &config);
        tl_hart *h = rig.harts[0];
        tl_rig_tables tables = tl_rig_tables_at(rig.ram, TL_RAM_BASE_PADDR);
        tables.n_levels = 4;
        // The offsets of giant pages lead into RAM.
        uint64_t vaddr = UINT64_C(0xffff800000000000) + TL_RAM_BASE_PADDR;
        tl_rig_map(&tables, vaddr, level < 2 ? TL_RAM_BASE_PADDR : level == 2 ? UINT64_C(2) << 30 : 0, level, TL_RIG_RW);
        tl_memory_switch_context(h, tl_rig_satp(&tables));
        assert_int_equal(h->context >> 60, 9);
        assert_true(h->port->store(h, vaddr + 0x248, 8, 9));
        assert_int_equal(tl_rig_read_u64(rig.ram, tl_rig_paddr(0x248)), 9);
        assert_int_equal(h->tally[TL_S_PTW_READ], 4 - level);
        assert_int_equal(tl_mem_of(h)->dtlb.tlb.pages[tl_tlb_find(&tl_mem_of(h)->dtlb.tlb, vaddr)].level, level);
        uint64_t paddr;
        assert_true(tl_memory_translate(rig.memory, h, vaddr + 5, &paddr));
        assert_int_equal(paddr, tl_rig_paddr(5));
        tl_rig_stop(&rig);
    }
}

static void test_canonical_addresses_are_those_of_the_mode(void **state) {
    (void)state;
    static const struct {
        uint32_t n_levels;
        uint64_t vaddr;
        bool is_canonical;
    } rows[] = {
        {3, (UINT64_C(1) << 38) - 8, true}, {3, UINT64_C(1) << 38, false},  {3, UINT64_MAX << 38, true},
        {3, (UINT64_MAX << 38) - 8, false}, {4, (UINT64_C(1) << 38), true}, {4, (UINT64_C(1) << 47) - 8, true},
        {4, UINT64_C(1) << 47, false},      {4, UINT64_MAX << 47, true},    {4, (UINT64_MAX << 47) - 8, false},
        {3, UINT64_C(1) << 63, false},      {4, UINT64_C(1) << 63, false},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_rig rig;
        tl_config config = tl_rig_config();
        tl_rig_start(&rig, &config);
        tl_hart *h = rig.harts[0];
        tl_rig_tables tables = tl_rig_tables_at(rig.ram, TL_RAM_BASE_PADDR);
        tables.n_levels = rows[i].n_levels;
        tl_memory_switch_context(h, tl_rig_satp(&tables));
        // Nothing is mapped. Only canonical addresses are looked for.
        assert_false(h->port->load(h, rows[i].vaddr, 8));
        assert_int_equal(h->trap_cause, TL_CAUSE_LOAD_PAGE);
        assert_int_equal(h->tally[TL_S_PTW_WALK], rows[i].is_canonical);
        tl_rig_stop(&rig);
    }
}

// ---- slots across changes of mode and status ----

// A page of users is at 0x1000, one of the supervisor at 0x2000, an execute-only one at 0x3000.
typedef struct kernel {
    tl_rig rig;
    tl_hart *h;
    tl_rig_tables tables;
} kernel;

static void start_kernel(kernel *k) {
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    tl_rig_start(&k->rig, &config);
    k->h = k->rig.harts[0];
    k->tables = tl_rig_tables_at(k->rig.ram, TL_RAM_BASE_PADDR);
    tl_rig_map(&k->tables, 0x1000, tl_rig_paddr(4 * MIB), 0, TL_RIG_RW);
    tl_rig_map(&k->tables, 0x2000, tl_rig_paddr(5 * MIB), 0, TL_RIG_RW & ~TL_PTE_U);
    tl_rig_map(&k->tables, 0x3000, tl_rig_paddr(6 * MIB), 0, (TL_RIG_RX & ~TL_PTE_U) & ~TL_PTE_R);
    tl_memory_switch_context(k->h, tl_rig_satp(&k->tables));
}

static void test_slots_stay_through_a_visit_to_the_kernel(void **state) {
    (void)state;
    kernel k;
    start_kernel(&k);
    assert_true(k.h->port->store(k.h, 0x1000, 8, 1));
    tl_rig_set_priv(k.h, TL_PRIV_S);
    assert_null(tl_read_hit(k.h, 0x1000, 8)); // the supervisor has slots of its own,
    assert_true(k.h->port->store(k.h, 0x2400, 8, 2));
    assert_non_null(tl_write_hit(k.h, 0x2400, 8));
    tl_rig_set_priv(k.h, TL_PRIV_M);
    assert_true(k.h->port->load(k.h, tl_rig_paddr(7 * MIB), 8));
    assert_non_null(tl_read_hit(k.h, tl_rig_paddr(7 * MIB), 8));
    tl_rig_set_priv(k.h, TL_PRIV_U); // and what the user had is still there
    assert_non_null(tl_write_hit(k.h, 0x1000, 8));
    assert_null(tl_read_hit(k.h, 0x2400, 8));
    tl_rig_set_priv(k.h, TL_PRIV_S);
    assert_non_null(tl_write_hit(k.h, 0x2400, 8));
    tl_rig_stop(&k.rig);
}

static void test_end_of_sum_hides_pages_of_users_and_nothing_else(void **state) {
    (void)state;
    kernel k;
    start_kernel(&k);
    tl_rig_set_priv(k.h, TL_PRIV_S);
    assert_true(k.h->port->load(k.h, 0x2400, 8));
    assert_false(k.h->port->load(k.h, 0x1000, 8));
    assert_int_equal(k.h->trap_cause, TL_CAUSE_LOAD_PAGE);
    tl_rig_set_status(k.h, TL_MSTATUS_SUM);
    assert_true(k.h->port->load(k.h, 0x1000, 8));
    assert_true(k.h->port->store(k.h, 0x1040, 8, 1));
    assert_non_null(tl_read_hit(k.h, 0x1000, 8));
    assert_non_null(tl_write_hit(k.h, 0x1040, 8));
    tl_rig_set_status(k.h, 0);
    assert_null(tl_read_hit(k.h, 0x1000, 8));
    assert_null(tl_write_hit(k.h, 0x1040, 8));
    assert_non_null(tl_read_hit(k.h, 0x2400, 8));
    tl_rig_stop(&k.rig);
}

static void test_end_of_mxr_hides_what_only_it_made_readable(void **state) {
    (void)state;
    kernel k;
    start_kernel(&k);
    tl_rig_set_priv(k.h, TL_PRIV_S);
    assert_true(k.h->port->load(k.h, 0x2400, 8));
    assert_false(k.h->port->load(k.h, 0x3800, 8));
    tl_rig_set_status(k.h, TL_MSTATUS_MXR);
    assert_true(k.h->port->load(k.h, 0x3800, 8));
    assert_non_null(tl_read_hit(k.h, 0x3800, 8));
    tl_rig_set_status(k.h, 0);
    assert_null(tl_read_hit(k.h, 0x3800, 8));
    assert_non_null(tl_read_hit(k.h, 0x2400, 8));
    tl_rig_stop(&k.rig);
}

static void test_mprv_borrows_rights_and_shows_nothing(void **state) {
    (void)state;
    kernel k;
    start_kernel(&k);
    tl_rig_write_u64(k.rig.ram, tl_rig_paddr(4 * MIB), 77);
    tl_rig_set_priv(k.h, TL_PRIV_M);
    assert_true(k.h->port->load(k.h, tl_rig_paddr(7 * MIB), 8));
    assert_true(k.h->port->fetch(k.h, tl_rig_paddr(7 * MIB)));
    assert_non_null(tl_read_hit(k.h, tl_rig_paddr(7 * MIB), 8));
    tl_rig_set_status(k.h, TL_MSTATUS_MPRV | tl_rig_mpp(TL_PRIV_U));
    assert_null(tl_read_hit(k.h, tl_rig_paddr(7 * MIB), 8));
    assert_true(k.h->port->load(k.h, 0x1000, 8));
    assert_int_equal(k.h->mem_value, 77);
    assert_null(tl_read_hit(k.h, 0x1000, 8));
    assert_false(k.h->port->load(k.h, 0x2000, 8)); // not the user's
    assert_int_equal(k.h->trap_cause, TL_CAUSE_LOAD_PAGE);
    assert_true(k.h->port->fetch(k.h, tl_rig_paddr(7 * MIB))); // fetches stay those of machine mode
    tl_rig_set_status(k.h, TL_MSTATUS_MPRV | tl_rig_mpp(TL_PRIV_S));
    assert_true(k.h->port->amo(k.h, 0x2000, 8, TL_AMO_ADD, 1));
    assert_false(k.h->port->amo(k.h, 0x1000, 8, TL_AMO_ADD, 1));
    tl_rig_set_status(k.h, TL_MSTATUS_MPRV | tl_rig_mpp(TL_PRIV_M));
    assert_true(k.h->port->load(k.h, tl_rig_paddr(7 * MIB), 8));
    assert_non_null(tl_read_hit(k.h, tl_rig_paddr(7 * MIB), 8)); // its own rights again
    tl_rig_stop(&k.rig);
}

static void test_new_root_takes_effect_with_the_flush(void **state) {
    (void)state;
    kernel k;
    start_kernel(&k);
    tl_rig_tables other = tl_rig_tables_at(k.rig.ram, tl_rig_paddr(MIB));
    tl_rig_map(&other, 0x1000, tl_rig_paddr(8 * MIB), 0, TL_RIG_RW);
    tl_rig_write_u64(k.rig.ram, tl_rig_paddr(4 * MIB), 4);
    tl_rig_write_u64(k.rig.ram, tl_rig_paddr(8 * MIB), 8);
    assert_true(tl_rig_load(k.h, 0x1000, 8));
    tl_rv_set_satp(k.h, tl_rig_satp(&other));
    assert_int_equal(k.h->tally[TL_S_DTLB_FLUSH], 0);
    assert_true(tl_rig_load(k.h, 0x1000, 8));
    assert_int_equal(k.h->mem_value, 4); // as the manual has it: SFENCE.VMA orders the two
    k.h->port->flush_translation(k.h, 0, true);
    assert_true(tl_rig_load(k.h, 0x1000, 8));
    assert_int_equal(k.h->mem_value, 8);
    tl_rig_stop(&k.rig);
}

static void test_new_mode_of_satp_starts_with_empty_tlbs(void **state) {
    (void)state;
    kernel k;
    start_kernel(&k);
    assert_true(k.h->port->load(k.h, 0x1000, 8));
    tl_rv_set_satp(k.h, 0);
    assert_null(tl_read_hit(k.h, 0x1000, 8));
    assert_int_equal(k.h->tally[TL_S_DTLB_FLUSH], 1);
    assert_true(k.h->port->load(k.h, tl_rig_paddr(7 * MIB), 8));
    assert_true(k.h->port->fetch(k.h, tl_rig_paddr(7 * MIB)));
    tl_rv_set_satp(k.h, tl_rig_satp(&k.tables));
    assert_null(tl_read_hit(k.h, tl_rig_paddr(7 * MIB), 8));
    assert_int_equal(tl_fetch_slot_of(k.h, tl_rig_paddr(7 * MIB))->key, TL_NO_KEY);
    tl_rig_tables four = tl_rig_tables_at(k.rig.ram, tl_rig_paddr(MIB));
    four.n_levels = 4;
    tl_rig_map(&four, 0x1000, tl_rig_paddr(8 * MIB), 0, TL_RIG_RW);
    tl_rig_write_u64(k.rig.ram, tl_rig_paddr(8 * MIB), 8);
    assert_true(k.h->port->load(k.h, 0x1000, 8));
    tl_rv_set_satp(k.h, tl_rig_satp(&four));
    assert_true(tl_rig_load(k.h, 0x1000, 8));
    assert_int_equal(k.h->mem_value, 8);
    tl_rig_stop(&k.rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_leaf_of_sv39_serves_whom_the_manual_says),
    cmocka_unit_test(test_every_leaf_of_sv48_serves_whom_the_manual_says),
    cmocka_unit_test(test_sv48_walks_four_levels_and_maps_pages_of_four_sizes),
    cmocka_unit_test(test_canonical_addresses_are_those_of_the_mode),
    cmocka_unit_test(test_slots_stay_through_a_visit_to_the_kernel),
    cmocka_unit_test(test_end_of_sum_hides_pages_of_users_and_nothing_else),
    cmocka_unit_test(test_end_of_mxr_hides_what_only_it_made_readable),
    cmocka_unit_test(test_mprv_borrows_rights_and_shows_nothing),
    cmocka_unit_test(test_new_root_takes_effect_with_the_flush),
    cmocka_unit_test(test_new_mode_of_satp_starts_with_empty_tlbs),
};

TL_TEST_MAIN(tests)
