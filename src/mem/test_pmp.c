// SPDX-License-Identifier: MIT
// Physical memory protection against a function that asks each byte of an access, entry by entry,
// as the privileged manual tells it. Registers are random and of every kind, overlapping and
// locked, in all modes. Slots must never answer what the function denies.
#include "isa/rv/hart.h"
#include "mem/test_rig.h"

static const uint64_t MIB = 1 << 20;

enum { R = 1, W = 2, X = 4, TOR = 1 << 3, NAPOT = 3 << 3, L = 0x80 };

// Sec. 3.7.1: the entry's range, told from its address as it reads with a grain of 4 KiB (G = 10).
static bool matches(const tl_hart *h, uint32_t i, uint64_t byte_paddr) {
    uint64_t y = byte_paddr / 4;
    uint32_t kind = tl_rv(h)->csr.pmpcfg[i] >> 3 & 3;
    // "matches any address y such that pmpaddr[i-1] <= y < pmpaddr[i]"; entry 0: zero is used for
    // the lower bound.
    if (kind == 1) {
        uint64_t lower = i == 0 ? 0 : tl_rv(h)->csr.pmpaddr[i - 1] / 1024 * 1024, upper = tl_rv(h)->csr.pmpaddr[i] / 1024 * 1024;
        return lower <= y && y < upper;
    }
    if (kind != 3)
        return false;
    // "bits pmpaddr[G-2:0] read as all ones"; yyy0 is 8 bytes, yy01 16, ...
    uint64_t address = tl_rv(h)->csr.pmpaddr[i] | 511, bytes = 8;
    for (uint64_t bit = 1; address & bit; bit *= 2)
        bytes *= 2;
    uint64_t base = address * 4 / bytes * bytes;
    return base <= byte_paddr && byte_paddr < base + bytes;
}

static bool manual(const tl_hart *h, tl_priv priv, uint64_t paddr, uint32_t n_bytes, uint8_t right) {
    // "The lowest-numbered PMP entry that matches any byte of an access determines ..."
    for (uint32_t i = 0; i < TL_N_PMP; i++) {
        uint32_t n = 0;
        for (uint32_t b = 0; b < n_bytes; b++)
            n += matches(h, i, paddr + b);
        if (n == 0)
            continue;
        // "... must match all bytes of an access, or the access fails, irrespective of the L, R, W,
        // and X bits".
        if (n < n_bytes)
            return false;
        if (priv == TL_PRIV_M && !(tl_rv(h)->csr.pmpcfg[i] & L))
            return true;
        return tl_rv(h)->csr.pmpcfg[i] & right;
    }
    return priv == TL_PRIV_M;
}

static uint64_t random_of(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}

static tl_hart *start(tl_rig *rig) {
    tl_config config;
    tl_config_default(&config);
    config.ram_bytes = 16 << 20;
    tl_rig_start(rig, &config);
    rig->harts[0]->is_privileged = true;
    return rig->harts[0];
}

static void set(tl_hart *h, uint32_t entry, uint8_t cfg, uint64_t address) {
    tl_rv(h)->csr.pmpcfg[entry] = cfg;
    tl_rv(h)->csr.pmpaddr[entry] = address;
    h->port->protection_changed(h);
}

static void test_random_registers_permit_what_the_manual_permits(void **state) {
    (void)state;
    static const uint8_t rights[] = {0, R, R | W, X, R | X, R | W | X};
    static const tl_priv privs[] = {TL_PRIV_U, TL_PRIV_S, TL_PRIV_M};
    tl_rig rig;
    tl_hart *h = start(&rig);
    uint64_t r = 88172645463325252u, n_permitted = 0, n_denied = 0;
    for (uint32_t round = 0; round < 3000; round++) {
        uint32_t entry = random_of(&r) % TL_N_PMP;
        uint8_t cfg = (uint8_t)(rights[random_of(&r) % 6] | (random_of(&r) % 4 == 0 ? 0 : random_of(&r) % 2 ? TOR : NAPOT));
        uint64_t ones = (UINT64_C(1) << random_of(&r) % 15) - 1, page = random_of(&r) % 64;
        uint64_t address = (tl_rig_paddr(page * 4096) / 4 & ~ones) | ones / 2 | (random_of(&r) & 511);
        if (random_of(&r) % 20 == 0)
            address = random_of(&r) % 2 ? (UINT64_C(1) << 54) - 1 : 0;
        set(h, entry, cfg | (random_of(&r) % 3 == 0 ? L : 0), address);
        if (round % 50 == 0)
            for (uint32_t i = 0; i < TL_N_PMP; i++)
                // The entry is off, but still the bottom of the next one's range.
                set(h, i, 0, tl_rv(h)->csr.pmpaddr[i]);
        for (uint32_t i = 0; i < 60; i++) {
            tl_priv priv = privs[random_of(&r) % 3];
            uint32_t size = 1u << random_of(&r) % 4, kind = (uint32_t)(random_of(&r) % 3);
            uint64_t paddr = tl_rig_paddr(random_of(&r) % 64 * 4096 + (random_of(&r) % 2 ? random_of(&r) % 4096 : 4096 - size));
            if (i % 3 != 0) // places that were open once
                paddr = tl_rig_paddr(random_of(&r) % 8 * 4096 * 5 % (64 * 4096));
            paddr &= ~(uint64_t)(size - 1);
            tl_rig_set_priv(h, priv);
            bool is_ok = kind == 0 ? tl_rig_load(h, paddr, size) : kind == 1 ? tl_rig_store(h, paddr, size, 1) : tl_rig_fetch(h, paddr);
            bool is_expected = manual(h, priv, paddr, size, kind == 0 ? R : kind == 1 ? W : X);
            static const uint64_t causes[] = {TL_CAUSE_LOAD_ACCESS, TL_CAUSE_STORE_ACCESS, TL_CAUSE_FETCH_ACCESS};
            if (is_ok != is_expected || (!is_ok && (h->trap_cause != causes[kind] || h->trap_value != paddr)))
                fail_msg("round %u: priv %d, kind %u at 0x%llx: %d, expected %d", round, priv, kind, (unsigned long long)paddr, is_ok,
                         is_expected);
            n_permitted += is_ok;
            n_denied += !is_ok;
        }
    }
    assert_true(n_permitted > 30000 && n_denied > 30000);
    tl_rig_stop(&rig);
}

static void test_without_a_match_only_machine_mode_passes(void **state) {
    (void)state;
    tl_rig rig;
    tl_hart *h = start(&rig);
    tl_rig_set_priv(h, TL_PRIV_M);
    assert_true(tl_rig_load(h, tl_rig_paddr(0), 8));
    tl_rig_set_priv(h, TL_PRIV_S);
    assert_false(tl_rig_load(h, tl_rig_paddr(0), 8));
    assert_int_equal(h->trap_cause, TL_CAUSE_LOAD_ACCESS);
    assert_false(tl_rig_fetch(h, tl_rig_paddr(0)));
    assert_int_equal(h->trap_cause, TL_CAUSE_FETCH_ACCESS);
    set(h, 3, NAPOT | R, (UINT64_C(1) << 54) - 1); // everything
    assert_true(tl_rig_load(h, tl_rig_paddr(0), 8));
    assert_false(tl_rig_store(h, tl_rig_paddr(0), 8, 1));
    assert_int_equal(h->trap_cause, TL_CAUSE_STORE_ACCESS);
    tl_rig_stop(&rig);
}

static void test_users_of_the_personality_know_no_protection(void **state) {
    (void)state;
    tl_rig rig;
    tl_hart *h = start(&rig);
    h->is_privileged = false;
    tl_rv(h)->csr.pmpcfg[0] = NAPOT | L;
    tl_rv(h)->csr.pmpaddr[0] = (UINT64_C(1) << 54) - 1;
    assert_true(tl_rig_store(h, tl_rig_paddr(0), 8, 1));
    tl_rig_stop(&rig);
}

static void test_crossing_access_needs_both_pages(void **state) {
    (void)state;
    tl_rig rig;
    tl_hart *h = start(&rig);
    tl_rig_set_priv(h, TL_PRIV_S);
    set(h, 0, NAPOT | R | W, tl_rig_paddr(0) / 4 | 511); // the first page
    assert_true(tl_rig_load(h, tl_rig_paddr(4088), 8));
    assert_false(tl_rig_load(h, tl_rig_paddr(4092), 8));
    assert_int_equal(h->trap_value, tl_rig_paddr(4096));
    set(h, 1, NAPOT | R, tl_rig_paddr(4096) / 4 | 511); // and the second, for reading
    assert_true(tl_rig_load(h, tl_rig_paddr(4092), 8));
    assert_false(tl_rig_store(h, tl_rig_paddr(4092), 8, UINT64_MAX));
    assert_int_equal(tl_rig_read_u64(rig.ram, tl_rig_paddr(4088)), 0); // not the half of it
    tl_rig_stop(&rig);
}

static void test_walks_are_reads_and_writes_of_the_supervisor(void **state) {
    (void)state;
    static const struct {
        uint8_t rights;
        uint64_t flags;
        char access;
        int cause;
        uint32_t n_reads;
    } rows[] = {
        // The leaf's table may be read and written, only read, neither.
        {R | W, TL_PTE_A | TL_PTE_D, 'l', -1, 3},
        {R | W, 0, 's', -1, 3},
        {R, TL_PTE_A | TL_PTE_D, 's', -1, 3},
        {R, 0, 'l', TL_CAUSE_LOAD_ACCESS, 3},
        {R, TL_PTE_A, 's', TL_CAUSE_STORE_ACCESS, 3},
        {R, 0, 'f', TL_CAUSE_FETCH_ACCESS, 3},
        {0, TL_PTE_A | TL_PTE_D, 'l', TL_CAUSE_LOAD_ACCESS, 2},
        {X, TL_PTE_A | TL_PTE_D, 's', TL_CAUSE_STORE_ACCESS, 2},
        {0, TL_PTE_A, 'f', TL_CAUSE_FETCH_ACCESS, 2},
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_rig rig;
        tl_hart *h = start(&rig);
        tl_rig_tables tables = tl_rig_tables_at(rig.ram, TL_RAM_BASE_PADDR);
        uint64_t pte_paddr = tl_rig_pte_paddr(&tables, 0x5000, 0);
        uint64_t pte = tl_rig_pte(tl_rig_paddr(4 * MIB), TL_PTE_V | TL_PTE_R | TL_PTE_W | TL_PTE_X | TL_PTE_U | rows[i].flags);
        tl_rig_write_u64(rig.ram, pte_paddr, pte);
        set(h, 0, (uint8_t)(NAPOT | rows[i].rights), (pte_paddr & ~UINT64_C(4095)) / 4 | 511);
        set(h, 1, NAPOT | R | W | X, (UINT64_C(1) << 54) - 1);
        tl_rv_set_satp(h, tl_rig_satp(&tables));
        bool is_ok = rows[i].access == 'l'   ? tl_rig_load(h, 0x5000, 8)
                     : rows[i].access == 's' ? tl_rig_store(h, 0x5000, 8, 1)
                                             : tl_rig_fetch(h, 0x5000);
        assert_int_equal(is_ok ? -1 : (int)h->trap_cause, rows[i].cause);
        assert_int_equal(h->tally[TL_S_PTW_READ], rows[i].n_reads);
        assert_int_equal(h->tally[TL_S_PTW_FAULT], 0); // that counts page faults
        if (!is_ok)
            assert_int_equal(tl_rig_read_u64(rig.ram, pte_paddr), pte);
        tl_rig_stop(&rig);
    }
}

static void test_borrowed_rights_are_checked_as_the_other_modes(void **state) {
    (void)state;
    tl_rig rig;
    tl_hart *h = start(&rig);
    tl_rig_set_priv(h, TL_PRIV_M);
    assert_true(tl_rig_load(h, tl_rig_paddr(0), 8));
    tl_rig_set_status(h, TL_MSTATUS_MPRV | tl_rig_mpp(TL_PRIV_S));
    assert_false(tl_rig_load(h, tl_rig_paddr(0), 8));
    assert_true(tl_rig_fetch(h, tl_rig_paddr(0)));
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_registers_permit_what_the_manual_permits),
    cmocka_unit_test(test_without_a_match_only_machine_mode_passes),
    cmocka_unit_test(test_users_of_the_personality_know_no_protection),
    cmocka_unit_test(test_crossing_access_needs_both_pages),
    cmocka_unit_test(test_walks_are_reads_and_writes_of_the_supervisor),
    cmocka_unit_test(test_borrowed_rights_are_checked_as_the_other_modes),
};

TL_TEST_MAIN(tests)
