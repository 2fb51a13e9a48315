// SPDX-License-Identifier: MIT
// Which accesses wait for other harts: docs/model.md 1.5, access by access. A test says for each
// access where its hart stands in the order of clocks. A refused access leaves every tally alone.
// Each test runs on the small machine of test_rig.h, here with two slices. It runs, too, on one of
// the fixed geometry (cache_fixed.h) whose data caches are full.
#include "mem/test_rig.h"

enum { N_HARTS = 4, QUIET_CYCLES = 100000 };

typedef enum access_kind { LOAD, STORE, MISALIGNED_LOAD, MISALIGNED_STORE, SWAP, RESERVE, CONDITIONAL, FETCH } access_kind;

typedef struct fixture {
    tl_rig rig;
    uint64_t tally[TL_S_N_CELLS], l2[TL_MAX_L2_SLICES][TL_L2_N_SIGNALS];
} fixture;

// Lines of different sets. X is shared; each of the others belongs to one hart, or to none.
static const uint64_t X = UINT64_C(0x80000440), OWN = UINT64_C(0x80000480), ABSENT = UINT64_C(0x800004c0), CODE = UINT64_C(0x80000500);
// Far from cycle 0: a sum or difference with QUIET_CYCLES has no odd result there.
static const uint64_t START = 500000;

static void start(fixture *f, bool is_fixed) {
    tl_config config = tl_rig_config();
    config.l2_slices = 2;
    if (is_fixed) {
        tl_config_default(&config);
        config.ram_bytes = 16 << 20;
    }
    config.n_harts = N_HARTS;
    tl_rig_start(&f->rig, &config);
    assert_int_equal(f->rig.memory->is_fixed, is_fixed);
    // A load and store of the fixed geometry counts on a full cache.
    for (uint32_t hart = 0; hart < N_HARTS && is_fixed; hart++) {
        tl_hart *h = f->rig.harts[hart];
        for (uint64_t offset = 0; offset < config.l1d.size_bytes; offset += 64)
            assert_true(h->port->load(h, TL_RAM_BASE_PADDR + (UINT64_C(1) << 20) * (hart + 1) + offset, 8));
    }
    for (uint32_t hart = 0; hart < N_HARTS; hart++) {
        f->rig.harts[hart]->now = START;
        assert_int_equal(f->rig.harts[hart]->shared_cycle, 0);
    }
}

static bool is_done(tl_hart *h, access_kind kind, uint64_t address) {
    switch (kind) {
    case LOAD: return tl_read_hit(h, address, 8) || h->port->load(h, address, 8);
    case STORE: return tl_write_hit(h, address, 8) || h->port->store(h, address, 8, 1);
    case MISALIGNED_LOAD: return h->port->load(h, address + 3, 8);
    case MISALIGNED_STORE: return h->port->store(h, address + 3, 8, 1);
    case SWAP: return h->port->amo(h, address, 8, TL_AMO_SWAP, 1);
    case RESERVE: return h->port->load_reserved(h, address, 8);
    case CONDITIONAL: return h->port->store_conditional(h, address, 8, 1);
    case FETCH: return h->port->fetch(h, address);
    }
    return false;
}

static void remember(fixture *f, const tl_hart *h) {
    memcpy(f->tally, h->tally, sizeof f->tally);
    for (uint32_t k = 0; k < f->rig.config.l2_slices; k++)
        memcpy(f->l2[k], f->rig.shared_tally[k], sizeof f->l2[k]);
}

// An access at this cycle, with another hart further behind (is_ahead) or none.
static bool attempt(fixture *f, uint32_t hart, uint64_t now, bool is_ahead, access_kind kind, uint64_t address) {
    tl_hart *h = f->rig.harts[hart];
    h->now = now;
    h->first_until = is_ahead ? now - 1 : now;
    remember(f, h);
    if (is_done(h, kind, address))
        return true;
    assert_int_equal(h->trap_cause, TL_TRAP_NOT_YET);
    assert_int_equal(h->now, now);
    assert_memory_equal(f->tally, h->tally, sizeof f->tally);
    for (uint32_t k = 0; k < f->rig.config.l2_slices; k++)
        assert_memory_equal(f->l2[k], f->rig.shared_tally[k], sizeof f->l2[k]);
    return false;
}

static void expect(fixture *f, uint32_t hart, uint64_t now, bool is_ahead, access_kind kind, uint64_t address, bool wanted, int line) {
    if (attempt(f, hart, now, is_ahead, kind, address) != wanted)
        fail_msg("line %d: the access of hart %u at %llu was%s done", line, hart, (unsigned long long)now, wanted ? " not" : "");
}
#define DONE(hart, now, kind, address) expect(f, hart, now, false, kind, address, true, __LINE__)
#define DONE_AHEAD(hart, now, kind, address) expect(f, hart, now, true, kind, address, true, __LINE__)
#define REFUSED(hart, now, kind, address) expect(f, hart, now, true, kind, address, false, __LINE__)

static void on_both(void (*test)(fixture *f)) {
    for (int is_fixed = 0; is_fixed < 2; is_fixed++) {
        fixture f;
        start(&f, is_fixed != 0);
        test(&f);
        tl_rig_stop(&f.rig);
    }
}

static void expect_shared(fixture *f, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    const uint64_t wanted[N_HARTS] = {a, b, c, d};
    for (uint32_t hart = 0; hart < N_HARTS; hart++)
        if (f->rig.harts[hart]->shared_cycle != wanted[hart])
            fail_msg("hart %u shared at %llu, not %llu", hart, (unsigned long long)f->rig.harts[hart]->shared_cycle,
                     (unsigned long long)wanted[hart]);
}

static void probe_marks_who_asks_and_who_is_probed(fixture *f) {
    DONE(1, START, STORE, X);
    expect_shared(f, 0, 0, 0, 0); // nobody is probed
    DONE(0, START + 1000, LOAD, X);
    expect_shared(f, START + 1000, START + 1000, 0, 0);
    DONE(2, START + 2000, LOAD, X); // nobody owns it now: no probe
    expect_shared(f, START + 1000, START + 1000, 0, 0);
    DONE(2, START + 3000, STORE, X); // takes it from two
    expect_shared(f, START + 3000, START + 3000, START + 3000, 0);
    DONE(3, START + 4000, FETCH, X); // an instruction cache probes, too
    expect_shared(f, START + 3000, START + 3000, START + 4000, START + 4000);
    DONE(0, START + 5000, STORE, ABSENT);
    DONE(0, START + 6000, FETCH, ABSENT); // its own data cache
    expect_shared(f, START + 3000, START + 3000, START + 4000, START + 4000);
}
static void test_probe_marks_who_asks_and_who_is_probed(void **state) {
    (void)state;
    on_both(probe_marks_who_asks_and_who_is_probed);
}

static void begin_epoch(fixture *f, uint32_t hart) { f->rig.harts[hart]->epoch_stamp = f->rig.harts[hart]->stamp; }

// The probed hart used the line in an epoch before: the order of clocks was kept.
static void far_contact_marks_nobody(fixture *f) {
    DONE(1, START, STORE, X);
    begin_epoch(f, 1);
    DONE(1, START + 500, LOAD, OWN); // another line of its new epoch
    DONE(0, START + 1000, LOAD, X);
    expect_shared(f, 0, 0, 0, 0);
    DONE_AHEAD(0, START + 1001, LOAD, X);
    assert_non_null(tl_read_hit(f->rig.harts[0], X, 8));
    DONE_AHEAD(1, START + 1001, LOAD, X);
    DONE_AHEAD(1, START + 1002, LOAD, ABSENT); // does not wait for the second level
    begin_epoch(f, 0);
    begin_epoch(f, 1);
    DONE(2, START + 2000, STORE, X);
    expect_shared(f, 0, 0, 0, 0);
    DONE_AHEAD(2, START + 2001, STORE, X);
    begin_epoch(f, 2);
    DONE_AHEAD(2, START + 2002, LOAD, X); // a hit of a slot is a use
    DONE(3, START + 3000, FETCH, X);
    expect_shared(f, 0, 0, START + 3000, START + 3000);
    REFUSED(2, START + 3001, LOAD, X);
}
static void test_far_contact_marks_nobody(void **state) {
    (void)state;
    on_both(far_contact_marks_nobody);
}

// Two loads may change their places. A store and a load may not.
static void loads_of_a_line_that_nobody_changed_mark_nobody(fixture *f) {
    DONE(1, START, LOAD, X);
    DONE(0, START + 1000, LOAD, X);
    expect_shared(f, 0, 0, 0, 0);
    DONE_AHEAD(0, START + 1001, LOAD, X);
    DONE_AHEAD(1, START + 1001, LOAD, X);
    begin_epoch(f, 0);
    DONE(2, START + 2000, STORE, X); // hart 1 loaded it in its epoch
    expect_shared(f, START + 2000, START + 2000, START + 2000, 0);
    REFUSED(2, START + 2001, STORE, X);
}
static void test_loads_of_a_line_that_nobody_changed_mark_nobody(void **state) {
    (void)state;
    on_both(loads_of_a_line_that_nobody_changed_mark_nobody);
}

static void far_contact_keeps_a_contested_line_contested(fixture *f) {
    DONE(0, START, STORE, X);
    DONE(1, START + 5000, STORE, X);
    begin_epoch(f, 1);
    DONE(0, START + 60000, STORE, X);
    expect_shared(f, START + 5000, START + 5000, 0, 0);
    REFUSED(0, START + 60000 + QUIET_CYCLES - 1, STORE, X);
    begin_epoch(f, 0);
    DONE(1, START + 60000 + QUIET_CYCLES, STORE, X); // it was quiet, and the contact is far
    DONE_AHEAD(1, START + 60001 + QUIET_CYCLES, STORE, X);
}
static void test_far_contact_keeps_a_contested_line_contested(void **state) {
    (void)state;
    on_both(far_contact_keeps_a_contested_line_contested);
}

static void what_needs_a_probe_waits_whatever_it_is(fixture *f) {
    DONE(0, START, STORE, X);
    const access_kind kinds[] = {LOAD, STORE, MISALIGNED_LOAD, MISALIGNED_STORE, SWAP, RESERVE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        REFUSED(1, START + 1000, kinds[i], X);
        if (tl_memory_l1d_state(f->rig.memory, 0, X) != 'M' || tl_memory_l1d_state(f->rig.memory, 1, X) != 'I')
            fail_msg("kind %zu moved the line", i);
    }
    expect_shared(f, 0, 0, 0, 0);
    DONE_AHEAD(1, START + 1000, FETCH, X); // of harts that never shared a line, fetches do not wait
}
static void test_what_needs_a_probe_waits_whatever_it_is(void **state) {
    (void)state;
    on_both(what_needs_a_probe_waits_whatever_it_is);
}

static void who_never_shared_does_not_wait_for_lines_of_nobody(fixture *f) {
    const access_kind kinds[] = {LOAD, STORE, MISALIGNED_LOAD, MISALIGNED_STORE, SWAP, RESERVE, CONDITIONAL, FETCH};
    for (uint64_t now = 1000; now <= START; now += START - 1000)
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            DONE_AHEAD(1, now, kinds[i], UINT64_C(0x80008000) + 0x1000 * now / START + 64 * i);
    DONE(0, START, RESERVE, X);
    DONE_AHEAD(0, START + 1000, CONDITIONAL, X);
    assert_int_equal(f->rig.harts[0]->mem_value, 0);
    expect_shared(f, 0, 0, 0, 0);
}
static void test_who_never_shared_does_not_wait_for_lines_of_nobody(void **state) {
    (void)state;
    on_both(who_never_shared_does_not_wait_for_lines_of_nobody);
}

static void who_shared_lately_waits_for_the_second_level(fixture *f) {
    const uint64_t shared = START + 5000;
    DONE(0, START, STORE, OWN);
    DONE(0, START, FETCH, CODE);
    DONE(0, START + 1000, STORE, X);
    DONE(1, shared, LOAD, X);
    const access_kind kinds[] = {LOAD, STORE, MISALIGNED_LOAD, MISALIGNED_STORE, SWAP, RESERVE, FETCH};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        REFUSED(0, shared + 1, kinds[i], ABSENT); // hart 0 was probed
        REFUSED(1, shared + 1, kinds[i], ABSENT); // hart 1 asked
        REFUSED(0, shared + QUIET_CYCLES - 1, kinds[i], ABSENT);
        REFUSED(1, shared + QUIET_CYCLES - 1, kinds[i], ABSENT);
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i] != FETCH)
            DONE_AHEAD(0, shared + 2, kinds[i], OWN); // a hit of a line that nobody else used
    DONE_AHEAD(0, shared + 2, FETCH, CODE);
    DONE_AHEAD(2, shared + 1, LOAD, ABSENT + 0x1000); // hart 2 took no part
    DONE_AHEAD(2, shared + 1, FETCH, ABSENT + 0x1000);
    DONE(0, shared + 3, LOAD, ABSENT + 0x2000); // the hart furthest behind never waits
    DONE(0, shared + 3, MISALIGNED_LOAD, ABSENT + 0x3000);
    DONE(0, shared + 3, FETCH, ABSENT + 0x2000);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        DONE_AHEAD(i % 2, shared + QUIET_CYCLES, kinds[i], UINT64_C(0x80008000) + 64 * i);
}
static void test_who_shared_lately_waits_for_the_second_level(void **state) {
    (void)state;
    on_both(who_shared_lately_waits_for_the_second_level);
}

// Reading needs no probe: harts 0 and 1 have X to read. All wait because it is contested.
static void contested_line_is_asked_for_until_it_was_quiet(fixture *f) {
    const uint64_t contested = START + 5000;
    DONE(0, START, STORE, X);
    DONE(1, contested, LOAD, X);
    const access_kind reads[] = {LOAD, MISALIGNED_LOAD, RESERVE};
    for (uint64_t after = 1; after < QUIET_CYCLES; after += QUIET_CYCLES - 2)
        for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
            REFUSED(0, contested + after, reads[i], X);
            REFUSED(1, contested + after, reads[i], X);
            REFUSED(2, contested + after, reads[i], X);
        }
    for (uint32_t hart = 0; hart < 2; hart++) {
        tl_hart *h = f->rig.harts[hart];
        DONE(hart, contested + 2, LOAD, X);
        assert_null(tl_read_hit(h, X, 8)); // no slot shows it
        h->first_until = UINT64_MAX;
        // No other hart may use the line without a call either.
        assert_null(h->port->reach_load(h, X, 7));
    }
    DONE_AHEAD(2, contested + QUIET_CYCLES, LOAD, X);
    DONE_AHEAD(0, contested + QUIET_CYCLES, MISALIGNED_LOAD, X);
    DONE_AHEAD(1, contested + QUIET_CYCLES, RESERVE, X);
    DONE_AHEAD(1, contested + QUIET_CYCLES, LOAD, X);
    for (uint32_t hart = 0; hart < 3; hart++)
        assert_ptr_equal(tl_read_hit(f->rig.harts[hart], X, 8), f->rig.ram + (X - TL_RAM_BASE_PADDR));
    assert_non_null(f->rig.harts[0]->port->reach_load(f->rig.harts[0], X, 7));
}
static void test_contested_line_is_asked_for_until_it_was_quiet(void **state) {
    (void)state;
    on_both(contested_line_is_asked_for_until_it_was_quiet);
}

static void another_probe_makes_the_time_begin_anew(fixture *f) {
    DONE(0, START, STORE, X);
    DONE(1, START + 5000, LOAD, X);
    DONE(0, START + 60000, STORE, X);
    REFUSED(0, START + 60000 + QUIET_CYCLES - 1, STORE, X);
    REFUSED(0, START + 60000 + QUIET_CYCLES - 1, LOAD, X);
    DONE_AHEAD(0, START + 60000 + QUIET_CYCLES, STORE, X);
    assert_non_null(tl_write_hit(f->rig.harts[0], X, 8));
    DONE(1, START + 300000, LOAD, X);
    REFUSED(0, START + 300001, LOAD, X);
    assert_null(tl_read_hit(f->rig.harts[0], X, 8));
}
static void test_another_probe_makes_the_time_begin_anew(void **state) {
    (void)state;
    on_both(another_probe_makes_the_time_begin_anew);
}

// After the quiet time reading waits no more; to write, the other's copy must be probed.
static void permission_to_write_a_shared_line_waits_even_after_quiet(fixture *f) {
    const uint64_t quiet = START + 5000 + QUIET_CYCLES;
    DONE(0, START, STORE, X);
    DONE(1, START + 5000, LOAD, X);
    DONE_AHEAD(0, quiet, LOAD, X);
    DONE_AHEAD(0, quiet, MISALIGNED_LOAD, X);
    DONE_AHEAD(0, quiet, RESERVE, X);
    const access_kind writes[] = {STORE, MISALIGNED_STORE, SWAP, CONDITIONAL};
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
        REFUSED(0, quiet + 1, writes[i], X);
    assert_int_equal(tl_memory_l1d_state(f->rig.memory, 1, X), 'S');
    assert_int_equal(f->rig.harts[0]->reservation_paddr, X); // refusals lose nothing
    // No copy need be probed for one more reader.
    DONE_AHEAD(2, quiet + 1, MISALIGNED_LOAD, X);
    DONE(0, quiet + 2, CONDITIONAL, X);
    assert_int_equal(f->rig.harts[0]->mem_value, 0);
    assert_int_equal(tl_memory_l1d_state(f->rig.memory, 0, X), 'M');
    expect_shared(f, quiet + 2, quiet + 2, quiet + 2, 0);
}
static void test_permission_to_write_a_shared_line_waits_even_after_quiet(void **state) {
    (void)state;
    on_both(permission_to_write_a_shared_line_waits_even_after_quiet);
}

static void only_the_contested_line_is_contested(fixture *f) {
    DONE(0, START, STORE, X);
    DONE(0, START, STORE, OWN);
    DONE(1, START + 5000, STORE, X);
    DONE_AHEAD(0, START + 5001, LOAD, OWN);
    DONE_AHEAD(0, START + 5001, MISALIGNED_STORE, OWN);
    assert_non_null(tl_write_hit(f->rig.harts[0], OWN, 8));
    assert_null(tl_read_hit(f->rig.harts[1], X, 8));
    // The line is its own and modified. Hart 0 may have written it again before.
    REFUSED(1, START + 5001, STORE, X);
    REFUSED(1, START + 5001, MISALIGNED_STORE, X);
}
static void test_only_the_contested_line_is_contested(void **state) {
    (void)state;
    on_both(only_the_contested_line_is_contested);
}

static void access_that_had_to_translate_anew_does_not_wait(fixture *f) {
    tl_rig_tables tables = tl_rig_tables_at(f->rig.ram, UINT64_C(0x80100000));
    const uint64_t page = UINT64_C(0x40000000), at = page + (X & 4095), code = page + 4096;
    tl_rig_map(&tables, page, X & ~UINT64_C(4095), 0, TL_RIG_RW);
    tl_rig_map(&tables, code, UINT64_C(0x80005000), 0, TL_RIG_RX);
    DONE(0, START, STORE, X);
    tl_memory_switch_context(f->rig.harts[1], tl_rig_satp(&tables));
    DONE_AHEAD(1, START + 5000, LOAD, at); // the walk took time already
    REFUSED(1, START + 10000, LOAD, at);   // the DTLB has it now
    DONE(0, START + 20000, STORE, X);
    REFUSED(1, START + 30000, STORE, at);
    f->rig.harts[1]->port->flush_translation(f->rig.harts[1], 0, true);
    DONE_AHEAD(1, START + 30000, STORE, at);
    REFUSED(1, START + 31000, STORE, at);
    DONE_AHEAD(1, START + 32000, FETCH, code);
    REFUSED(1, START + 33000, FETCH, code + 64);
    DONE(1, START + 33000, FETCH, code + 64);
    DONE_AHEAD(1, START + 34000, FETCH, code + 64);
}
static void test_access_that_had_to_translate_anew_does_not_wait(void **state) {
    (void)state;
    on_both(access_that_had_to_translate_anew_does_not_wait);
}

// Every line of the second level at once, each with the time of its last probe.
static void test_all_lines_may_be_contested(void **state) {
    (void)state;
    for (int is_fixed = 0; is_fixed < 2; is_fixed++) {
        fixture f;
        start(&f, is_fixed != 0);
        uint64_t n_lines = f.rig.config.l2.size_bytes / 64, base = TL_RAM_BASE_PADDR + (UINT64_C(8) << 20), n_misses = 0;
        for (int round = 0; round < 2; round++) {
            for (uint64_t i = 0; i < n_lines; i++) {
                tl_hart *a = f.rig.harts[0], *b = f.rig.harts[1];
                a->now = b->now = START + 1000 * i;
                assert_true(is_done(a, STORE, base + 64 * i));
                assert_true(is_done(b, LOAD, base + 64 * i));
            }
            uint64_t sum = 0;
            for (uint32_t k = 0; k < f.rig.config.l2_slices; k++)
                sum += f.rig.shared_tally[k][TL_L2_READMISS];
            assert_true(round == 0 || sum == n_misses); // all are still there
            n_misses = sum;
        }
        tl_error err = {0};
        for (uint32_t hart = 0; hart < N_HARTS; hart++) // no front-end has counted the look-ups
            f.rig.harts[hart]->tally[TL_S_L1D_LOAD] = f.rig.harts[hart]->tally[TL_S_L1D_STORE] = UINT32_MAX;
        if (tl_memory_check_identities(f.rig.memory, &err) != TL_OK)
            fail_msg("%s", err.text);
        tl_rig_stop(&f.rig);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_probe_marks_who_asks_and_who_is_probed),
    cmocka_unit_test(test_far_contact_marks_nobody),
    cmocka_unit_test(test_loads_of_a_line_that_nobody_changed_mark_nobody),
    cmocka_unit_test(test_far_contact_keeps_a_contested_line_contested),
    cmocka_unit_test(test_what_needs_a_probe_waits_whatever_it_is),
    cmocka_unit_test(test_who_never_shared_does_not_wait_for_lines_of_nobody),
    cmocka_unit_test(test_who_shared_lately_waits_for_the_second_level),
    cmocka_unit_test(test_contested_line_is_asked_for_until_it_was_quiet),
    cmocka_unit_test(test_another_probe_makes_the_time_begin_anew),
    cmocka_unit_test(test_permission_to_write_a_shared_line_waits_even_after_quiet),
    cmocka_unit_test(test_only_the_contested_line_is_contested),
    cmocka_unit_test(test_access_that_had_to_translate_anew_does_not_wait),
    cmocka_unit_test(test_all_lines_may_be_contested),
};

TL_TEST_MAIN(tests)
