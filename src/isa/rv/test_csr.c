// SPDX-License-Identifier: MIT
// Effects of writing registers of the privileged architecture, besides storing a value.
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"
#include "isa/rv/csr.h"
#include "isa/rv/privileged.h"

enum { MSTATUS = 0x300, MIDELEG = 0x303, MIE = 0x304, MIP = 0x344, SSTATUS = 0x100, SIE = 0x104, SIP = 0x144 };
enum { PMPCFG0 = 0x3a0, PMPADDR0 = 0x3b0, TOR = 1 << 3, NAPOT = 3 << 3, LOCKED = 0x80 };
static const uint64_t ALL = UINT64_MAX;

static void nothing_changed(tl_hart *h) { (void)h; }
static uint32_t n_told;
static void count_rights(tl_hart *h, const tl_regime *old) { (void)h, (void)old, n_told += 1; }
static const tl_mem_port port = {.protection_changed = nothing_changed, .rights_changed = count_rights};

static int setup(void **state) {
    tl_rv_hart *rv = calloc(1, sizeof *rv);
    if (!rv)
        return -1;
    rv->hart.isa = &tl_isa_rv64;
    rv->hart.port = &port;
    rv->hart.isa->init(&rv->hart);
    rv->hart.irqs_present |= UINT64_C(1) << TL_IRQ_LCOFI; // as with Sscofpmf
    rv->hart.is_privileged = true;
    rv->hart.priv = TL_PRIV_M;
    *state = rv;
    return 0;
}
static int teardown(void **state) {
    free(*state);
    return 0;
}

static void put(tl_hart *h, uint32_t csr, uint64_t value) { assert_true(tl_csr_write(h, csr, value)); }

// Sec. 3.7.1: the lock of an entry that is the top of a range locks the address below it, too.
static void test_a_locked_range_locks_the_address_below(void **state) {
    tl_hart *h = *state;
    for (uint32_t top = 0; top < 16; top++) {
        for (uint32_t kind = 0; kind < 2; kind++) {
            memset(tl_rv(h)->csr.pmpcfg, 0, sizeof tl_rv(h)->csr.pmpcfg);
            memset(tl_rv(h)->csr.pmpaddr, 0, sizeof tl_rv(h)->csr.pmpaddr);
            put(h, PMPCFG0 + top / 8 * 2, (uint64_t)(LOCKED | (kind == 0 ? TOR : NAPOT)) << 8 * (top % 8));
            for (uint32_t i = 0; i < 16; i++) {
                put(h, PMPADDR0 + i, 0x1000 * (i + 1));
                bool is_locked = i == top || (kind == 0 && i + 1 == top);
                assert_int_equal(tl_rv(h)->csr.pmpaddr[i], is_locked ? 0 : 0x1000 * (i + 1));
            }
        }
    }
}

// NA4 and W without R are reserved. Such a field keeps its value, and the other fields are written.
static void test_fields_of_pmpcfg_keep_what_they_had_for_what_does_not_exist(void **state) {
    tl_hart *h = *state;
    enum { R = 1, W = 2, X = 4, NA4 = 2 << 3 };
    const uint8_t *entry = &tl_rv(h)->csr.pmpcfg[0];
    put(h, PMPCFG0, TOR | R);
    assert_int_equal(*entry, TOR | R);
    put(h, PMPCFG0, NA4 | R | X);
    assert_int_equal(*entry, TOR | R | X);
    put(h, PMPCFG0, NAPOT | W);
    assert_int_equal(*entry, NAPOT | R | X);
    put(h, PMPCFG0, LOCKED | NA4 | R | W);
    assert_int_equal(*entry, LOCKED | NAPOT | R | W);
    put(h, PMPCFG0, 0);
    assert_int_equal(*entry, LOCKED | NAPOT | R | W);
}

// Sec. 3.1.6.3: SUM, MXR and MPRV with MPP change what accesses may do; memory is told at once, and
// of nothing else.
static void test_status_bits_of_memory_change_the_rights_of_accesses(void **state) {
    tl_hart *h = *state;
    const uint8_t users = TL_PAGE_VALID | TL_PAGE_READ | TL_PAGE_USER, code = TL_PAGE_VALID | TL_PAGE_EXECUTE;
    const tl_rights *loads = &h->regime.rights[TL_VIEW_S][TL_ACCESS_LOAD];
    n_told = 0;
    put(h, SSTATUS, 0);
    put(h, SSTATUS, TL_MSTATUS_SIE | TL_MSTATUS_FS);
    assert_int_equal(n_told, 0);
    assert_false(tl_is_permitted(loads, users));
    put(h, SSTATUS, TL_MSTATUS_SUM);
    assert_int_equal(n_told, 1);
    assert_true(tl_is_permitted(loads, users));
    assert_false(tl_is_permitted(loads, code));
    put(h, MSTATUS, TL_MSTATUS_MXR);
    assert_int_equal(n_told, 2);
    assert_false(tl_is_permitted(loads, users));
    assert_true(tl_is_permitted(loads, code));
    assert_int_equal(h->regime.data_view[TL_VIEW_M], TL_VIEW_M);
    put(h, MSTATUS, TL_MSTATUS_MPRV | UINT64_C(1) << 11); // MPP: S
    assert_int_equal(n_told, 3);
    assert_int_equal(h->regime.data_view[TL_VIEW_M], TL_VIEW_S);
    put(h, MSTATUS, TL_MSTATUS_MPRV);
    assert_int_equal(n_told, 4);
    assert_int_equal(h->regime.data_view[TL_VIEW_M], TL_VIEW_U);
    put(h, MSTATUS, 0);
}

static void test_supervisor_writes_two_pending_bits_if_they_are_delegated(void **state) {
    tl_hart *h = *state;
    const uint64_t ssi = UINT64_C(1) << TL_IRQ_SSI, lcofi = UINT64_C(1) << TL_IRQ_LCOFI;
    put(h, MIDELEG, 0);
    put(h, SIP, ALL);
    assert_int_equal(h->irqs_pending, 0);
    put(h, MIDELEG, ALL);
    put(h, SIP, ssi);
    assert_int_equal(h->irqs_pending, ssi);
    put(h, SIP, ALL);
    assert_int_equal(h->irqs_pending, ssi | lcofi);
    put(h, SIP, 0);
    assert_int_equal(h->irqs_pending, 0);
}

// The write may be what lets a pending interrupt through.
static void test_writes_that_may_let_an_interrupt_through_stop_the_hart(void **state) {
    tl_hart *h = *state;
    static const uint32_t status[] = {MSTATUS, SSTATUS}, enables[] = {MIE, SIE}, pendings[] = {MIP, SIP};
    const uint64_t ssi = UINT64_C(1) << TL_IRQ_SSI;
    put(h, MIDELEG, ALL);
    for (uint32_t i = 0; i < 2; i++) {
        h->irqs_pending = h->irqs_enabled = 0;
        h->horizon = h->fast_horizon = h->ahead_horizon = 1000;
        put(h, enables[i], ssi);
        put(h, status[i], TL_MSTATUS_SIE);
        assert_int_equal(h->horizon, 1000); // nothing is pending
        put(h, pendings[i], ssi);
        assert_int_equal(h->horizon, 0);
        h->horizon = h->fast_horizon = h->ahead_horizon = 1000;
        put(h, status[i], TL_MSTATUS_SIE);
        assert_int_equal(h->horizon, 0);
        assert_int_equal(h->fast_horizon, 0);
        assert_int_equal(h->ahead_horizon, 0);
        put(h, enables[i], 0);
        h->horizon = 1000;
        put(h, status[i], TL_MSTATUS_SIE);
        assert_int_equal(h->horizon, 1000); // it is not enabled
        put(h, enables[i], ssi);
        assert_int_equal(h->horizon, 0);
        h->horizon = 1000;
        put(h, MIDELEG, i == 0 ? 0 : ALL); // the global enable bit is another one now
        assert_int_equal(h->horizon, 0);
        put(h, MIDELEG, ALL);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
    CASE(test_a_locked_range_locks_the_address_below),
    CASE(test_fields_of_pmpcfg_keep_what_they_had_for_what_does_not_exist),
    CASE(test_supervisor_writes_two_pending_bits_if_they_are_delegated),
    CASE(test_writes_that_may_let_an_interrupt_through_stop_the_hart),
    CASE(test_status_bits_of_memory_change_the_rights_of_accesses),
};

TL_TEST_MAIN(tests)
