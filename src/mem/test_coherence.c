// SPDX-License-Identifier: MIT
// Several harts and one line, step by step. Untranslated addresses; latencies: tl_rig_config(), an
// L2 hit is 11, a probe 17, an upgrade 13.
#include "mem/test_rig.h"

typedef struct fixture {
    tl_rig rig;
    uint64_t *l2, *noc;
    uint64_t time; // grows from access to access, past anything that is busy
} fixture;

// A line. Its neighbors of the same L1 set are 0x100 apart, of the same L2 set 0x200.
static const uint64_t X = UINT64_C(0x80000000) + 0x400;

static void start(fixture *f, uint32_t n_harts) {
    f->time = 0;
    tl_config config = tl_rig_config();
    config.n_harts = n_harts;
    tl_rig_start(&f->rig, &config);
    f->l2 = f->rig.shared_tally[0];
    f->noc = f->rig.shared_tally[1];
}

// Returns the cycles it took beyond a hit.
static uint64_t load(fixture *f, uint32_t hart, uint64_t address) {
    tl_hart *h = f->rig.harts[hart];
    uint64_t before = h->now = f->time += 1000;
    if (!tl_read_hit(h, address, 8))
        assert_true(h->port->load(h, address, 8));
    return h->now - before;
}

static uint64_t store(fixture *f, uint32_t hart, uint64_t address) {
    tl_hart *h = f->rig.harts[hart];
    uint64_t before = h->now = f->time += 1000;
    if (!tl_write_hit(h, address, 8))
        assert_true(h->port->store(h, address, 8, 1));
    return h->now - before;
}

static void expect_states(fixture *f, const char *states, uint64_t address) {
    for (uint32_t hart = 0; states[hart]; hart++)
        if (tl_memory_l1d_state(f->rig.memory, hart, address) != states[hart])
            fail_msg("hart %u is in %c, not %c of %s", hart, tl_memory_l1d_state(f->rig.memory, hart, address), states[hart], states);
}

static uint64_t tally(fixture *f, uint32_t hart, enum tl_hart_cell slot) { return f->rig.harts[hart]->tally[slot]; }

static void test_first_reader_owns_the_line(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    assert_int_equal(load(&f, 0, X), 11 + 200);
    expect_states(&f, "EI", X);
    assert_int_equal(store(&f, 0, X), 0); // E to M costs nothing and tells nobody
    expect_states(&f, "MI", X);
    assert_int_equal(f.l2[TL_L2_READ], 1);
    assert_int_equal(tally(&f, 0, TL_S_L1D_STORE_MISS), 0);
    tl_rig_stop(&f.rig);
}

static void test_second_reader_shares_with_a_clean_owner(void **state) {
    (void)state;
    fixture f;
    start(&f, 3);
    load(&f, 0, X);
    // The directory cannot know that the owner did not write.
    assert_int_equal(load(&f, 1, X), 11 + 17);
    expect_states(&f, "SSI", X);
    assert_int_equal(tally(&f, 0, TL_S_L1D_PROBE), 1);
    assert_int_equal(tally(&f, 0, TL_S_L1D_PROBE_DATA), 0);
    assert_int_equal(load(&f, 2, X), 11); // nobody owns it now
    expect_states(&f, "SSS", X);
    assert_int_equal(f.l2[TL_L2_PROBE_OUT], 1);
    assert_int_equal(f.noc[TL_NOC_PROBE_ACK], 1);
    assert_int_equal(f.l2[TL_L2_WRITE], 0);
    tl_rig_stop(&f.rig);
}

static void test_reader_gets_the_data_of_a_writer(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    assert_int_equal(store(&f, 0, X), 11 + 200);
    expect_states(&f, "MI", X);
    assert_int_equal(load(&f, 1, X), 11 + 17);
    expect_states(&f, "SS", X);
    assert_int_equal(tally(&f, 0, TL_S_L1D_PROBE_DATA), 1);
    assert_int_equal(tally(&f, 0, TL_S_L1D_WRITEBACK), 1);
    assert_int_equal(tally(&f, 0, TL_S_L1D_PROBE_INVALIDATE), 0);
    assert_int_equal(f.l2[TL_L2_WRITE], 1);
    assert_int_equal(f.noc[TL_NOC_PROBE_ACK_DATA], 1);
    assert_null(tl_write_hit(f.rig.harts[0], X, 8)); // the writer's slot lost its write tag
    assert_null(tl_read_hit(f.rig.harts[0], X, 8));  // and its other tag: the line is contested
    tl_rig_stop(&f.rig);
}

static void test_an_access_of_a_line_that_others_use_waits(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    assert_int_equal(store(&f, 0, X), 11 + 200);
    tl_hart *h = f.rig.harts[1];
    h->now = 5000;
    h->first_until = 4999;
    uint64_t misses = tally(&f, 1, TL_S_L1D_LOAD_MISS), reads = f.l2[TL_L2_READ];
    assert_false(h->port->load(h, X, 8)); // a probe is needed
    assert_int_equal(h->trap_cause, TL_TRAP_NOT_YET);
    assert_int_equal(h->now, 5000);
    assert_int_equal(tally(&f, 1, TL_S_L1D_LOAD_MISS), misses);
    assert_int_equal(f.l2[TL_L2_READ], reads);
    expect_states(&f, "MI", X);
    h->first_until = 5000;
    assert_true(h->port->load(h, X, 8));
    expect_states(&f, "SS", X);
    assert_false(h->port->load(h, X, 8)); // it hits, and is ahead again
    h->first_until = UINT64_MAX;
    // A hart that may use it again unasked may be refused at any time.
    assert_null(h->port->reach_load(h, X, 7));
    assert_true(h->port->load(h, X, 8));
    assert_null(tl_read_hit(h, X, 8));
    h->now += 100000; // it was quiet for long enough
    assert_true(h->port->load(h, X, 8));
    assert_non_null(tl_read_hit(h, X, 8));
    tl_rig_stop(&f.rig);
}

static void test_writer_takes_the_line_from_all_readers(void **state) {
    (void)state;
    fixture f;
    start(&f, 4);
    for (uint32_t hart = 0; hart < 4; hart++)
        load(&f, hart, X);
    assert_int_equal(store(&f, 2, X), 13 + 17); // the probes go out together
    expect_states(&f, "IIMI", X);
    assert_int_equal(tally(&f, 2, TL_S_L1D_UPGRADE), 1);
    assert_int_equal(tally(&f, 2, TL_S_L1D_STORE_MISS), 1);
    assert_int_equal(tally(&f, 2, TL_S_HART_CYC_STORE_MISS), 30);
    for (uint32_t hart = 0; hart < 4; hart++) {
        assert_int_equal(tally(&f, hart, TL_S_L1D_PROBE_INVALIDATE), hart != 2);
        if (hart != 2)
            assert_null(tl_read_hit(f.rig.harts[hart], X, 8));
    }
    assert_int_equal(f.l2[TL_L2_UPGRADE], 1);
    assert_int_equal(f.l2[TL_L2_READ_ST], 1);
    assert_int_equal(f.noc[TL_NOC_RESPONSE_DATA], 4); // an upgrade brings no data
    tl_rig_stop(&f.rig);
}

static void test_lone_sharer_upgrades_without_probes(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    load(&f, 0, X);
    load(&f, 1, X);
    load(&f, 1, X + 0x100); // direct-mapped: hart 1 drops X, and the directory hears of it
    expect_states(&f, "SI", X);
    assert_int_equal(store(&f, 0, X), 13);
    expect_states(&f, "MI", X);
    tl_rig_stop(&f.rig);
}

static void test_writer_after_writer_moves_the_line(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    store(&f, 0, X);
    assert_int_equal(store(&f, 1, X), 11 + 17);
    expect_states(&f, "IM", X);
    assert_int_equal(tally(&f, 1, TL_S_L1D_UPGRADE), 0);
    assert_int_equal(tally(&f, 0, TL_S_L1D_PROBE_INVALIDATE), 1);
    assert_int_equal(tally(&f, 0, TL_S_L1D_WRITEBACK), 1);
    assert_int_equal(store(&f, 0, X), 28); // ping
    assert_int_equal(store(&f, 1, X), 28); // pong
    assert_int_equal(f.l2[TL_L2_READ_HART0], 2);
    assert_int_equal(f.l2[TL_L2_READ_HART1], 2);
    assert_int_equal(f.l2[TL_L2_READMISS_HART0], 1);
    tl_rig_stop(&f.rig);
}

static void test_fetch_gets_data_from_a_writer_but_stores_leave_instruction_caches_alone(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    tl_hart *a = f.rig.harts[0], *b = f.rig.harts[1];
    store(&f, 0, X);
    uint64_t before = a->now = f.time += 1000;
    assert_true(a->port->fetch(a, X)); // its own modified line
    assert_int_equal(a->now - before, 11 + 17);
    expect_states(&f, "SI", X);
    assert_int_equal(a->tally[TL_S_L1D_PROBE_DATA], 1);
    assert_int_equal(store(&f, 0, X), 13); // nobody else has it as data
    assert_true(tl_fetch_slot_shows(tl_fetch_slot_of(a, X), X));
    before = b->now = f.time += 1000;
    assert_true(b->port->fetch(b, X)); // another hart's modified line
    assert_int_equal(b->now - before, 11 + 17);
    expect_states(&f, "SI", X);
    assert_int_equal(f.l2[TL_L2_READ_I], 2);
    b->port->drop_code(b);
    assert_int_equal(b->tally[TL_S_L1I_INVALIDATE], 1);
    assert_int_equal(tl_fetch_slot_of(b, X)->key, TL_NO_KEY);
    tl_rig_stop(&f.rig);
}

static void test_reader_is_exclusive_beside_instruction_copies(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    assert_true(f.rig.harts[1]->port->fetch(f.rig.harts[1], X));
    load(&f, 0, X);
    expect_states(&f, "EI", X);
    tl_rig_stop(&f.rig);
}

static void test_eviction_from_the_l2_takes_every_copy(void **state) {
    (void)state;
    fixture f;
    start(&f, 3);
    store(&f, 0, X);
    // Hart 0 keeps S, and the L2 has the data.
    assert_true(f.rig.harts[1]->port->fetch(f.rig.harts[1], X));
    assert_int_equal(store(&f, 0, X), 13); // M again
    load(&f, 2, X + 0x280);                // other sets
    // The L2 has two ways: the second of the set.
    load(&f, 2, X + 0x200);
    assert_int_equal(tally(&f, 0, TL_S_L1D_PROBE_INVALIDATE), 0);
    load(&f, 2, X + 0x600); // a third line of the set: X is the victim
    expect_states(&f, "III", X);
    assert_int_equal(tally(&f, 0, TL_S_L1D_PROBE_INVALIDATE), 1);
    assert_int_equal(tally(&f, 0, TL_S_L1D_WRITEBACK), 2);
    assert_int_equal(tally(&f, 1, TL_S_L1I_INVALIDATE), 1);
    assert_int_equal(f.l2[TL_L2_BACK_INVALIDATE], 2);
    assert_int_equal(f.l2[TL_L2_EVICT_DIRTY], 1);
    assert_int_equal(f.l2[TL_L2_WRITEBACK], 1);
    assert_int_equal(f.rig.shared_tally[2][TL_MEM_WRITE], 1);
    assert_null(tl_read_hit(f.rig.harts[0], X, 8));
    assert_int_equal(tl_fetch_slot_of(f.rig.harts[1], X)->key, TL_NO_KEY);
    tl_rig_stop(&f.rig);
}

static void test_dirty_line_evicted_from_an_l1_stays_dirty_below(void **state) {
    (void)state;
    fixture f;
    start(&f, 1);
    store(&f, 0, X);
    load(&f, 0, X + 0x100); // same L1 set
    assert_int_equal(tally(&f, 0, TL_S_L1D_EVICT_DIRTY), 1);
    assert_int_equal(f.l2[TL_L2_WRITE], 1);
    assert_int_equal(f.l2[TL_L2_WRITEMISS], 0);
    assert_int_equal(f.noc[TL_NOC_RELEASE_DATA], 1);
    load(&f, 0, X); // back, clean here
    expect_states(&f, "E", X);
    load(&f, 0, X + 0x200);
    load(&f, 0, X + 0x400);
    assert_int_equal(f.l2[TL_L2_WRITEBACK], 1);
    tl_rig_stop(&f.rig);
}

// ---- the same in the words of TileLink ----

static void expect_link(fixture *f, uint32_t hart, enum tl_mem_signal signal, uint64_t want, int line) {
    uint64_t got = f->rig.shared_tally[5 + hart][signal];
    if (got != want)
        fail_msg("line %d: link%u.%s is %llu, not %llu", line, hart, tl_mem_unit_types[TL_MEM_UNIT_LINK].signals[signal].name,
                 (unsigned long long)got, (unsigned long long)want);
    f->rig.shared_tally[5 + hart][signal] = 0; // so that the rest can be expected to be 0
}
#define EXPECT(hart, signal, want) expect_link(&f, hart, TL_LINK_##signal, want, __LINE__)

static void expect_no_more(fixture *f, uint32_t n_harts) {
    for (uint32_t hart = 0; hart < n_harts; hart++)
        for (enum tl_mem_signal signal = 0; signal < TL_LINK_N_SIGNALS; signal++)
            expect_link(f, hart, signal, 0, __LINE__);
}

static void test_links_tell_requests_probes_and_releases_apart(void **state) {
    (void)state;
    fixture f;
    start(&f, 3);
    tl_hart *fetcher = f.rig.harts[2];
    load(&f, 0, X); // E
    EXPECT(0, ACQUIRE_NB_MISS, 1);
    expect_no_more(&f, 3);
    load(&f, 1, X); // the owner had not written
    EXPECT(1, ACQUIRE_NB_HIT, 1);
    EXPECT(1, ACQUIRE_NB_SHARED, 1);
    EXPECT(0, PROBE_LOAD, 1);
    EXPECT(0, RELEASE_TB, 1);
    expect_no_more(&f, 3);
    store(&f, 0, X); // both have it to read
    EXPECT(0, ACQUIRE_PERM, 1);
    EXPECT(0, ACQUIRE_PERM_SHARED, 1);
    EXPECT(1, PROBE_STORE, 1);
    EXPECT(1, RELEASE_BN, 1);
    expect_no_more(&f, 3);
    load(&f, 1, X); // the owner had written
    EXPECT(1, ACQUIRE_NB_HIT, 1);
    EXPECT(1, ACQUIRE_NB_SHARED, 1);
    EXPECT(0, PROBE_LOAD, 1);
    EXPECT(0, RELEASE_DATA_TB, 1);
    expect_no_more(&f, 3);
    load(&f, 1, X + 0x100); // direct-mapped: a line to read goes
    EXPECT(1, ACQUIRE_NB_MISS, 1);
    EXPECT(1, RELEASE_BN, 1);
    load(&f, 1, X + 0x200); // one that could have been written goes
    EXPECT(1, ACQUIRE_NB_MISS, 1);
    EXPECT(1, RELEASE_TN, 1);
    expect_no_more(&f, 3);
    store(&f, 0, X); // nobody else has it any more
    EXPECT(0, ACQUIRE_PERM, 1);
    expect_no_more(&f, 3);
    store(&f, 1, X); // from writer to writer; hart 1 drops X + 0x200
    EXPECT(1, ACQUIRE_NT_HIT, 1);
    EXPECT(1, ACQUIRE_NT_SHARED, 1);
    EXPECT(1, RELEASE_TN, 1);
    EXPECT(0, PROBE_STORE, 1);
    EXPECT(0, RELEASE_DATA_TN, 1);
    expect_no_more(&f, 3);
    fetcher->now = f.time += 1000;
    assert_true(fetcher->port->fetch(fetcher, X));
    EXPECT(2, GET_HIT, 1);
    EXPECT(2, GET_SHARED, 1);
    EXPECT(1, PROBE_GET, 1);
    EXPECT(1, RELEASE_DATA_TB, 1);
    expect_no_more(&f, 3);
    store(&f, 1, X); // an instruction cache has it, and keeps it
    EXPECT(1, ACQUIRE_PERM, 1);
    EXPECT(1, ACQUIRE_PERM_SHARED, 1);
    expect_no_more(&f, 3);
    load(&f, 0, X + 0x600); // the second level has two ways: X + 0x200 is the older one
    EXPECT(0, ACQUIRE_NB_MISS, 1);
    expect_no_more(&f, 3);
    load(&f, 0, X + 0xa00); // X goes, and every copy with it; hart 0 drops X + 0x600
    EXPECT(0, ACQUIRE_NB_MISS, 1);
    EXPECT(0, RELEASE_TN, 1);
    EXPECT(1, PROBE_TAKE, 1);
    EXPECT(1, RELEASE_DATA_TN, 1);
    EXPECT(2, PROBE_I, 1);
    expect_no_more(&f, 3);
    store(&f, 2, X);
    EXPECT(2, ACQUIRE_NT_MISS, 1);
    tl_rig_stop(&f.rig);
}

// ---- atomics across harts ----

static bool load_reserved(fixture *f, uint32_t hart, uint64_t address) {
    tl_hart *h = f->rig.harts[hart];
    return h->port->load_reserved(h, address, 8);
}

// Returns whether it stored.
static bool store_conditional(fixture *f, uint32_t hart, uint64_t address) {
    tl_hart *h = f->rig.harts[hart];
    assert_true(h->port->store_conditional(h, address, 8, 3));
    return h->mem_value == 0;
}

static void test_store_conditional_succeeds_once(void **state) {
    (void)state;
    fixture f;
    start(&f, 1);
    assert_false(store_conditional(&f, 0, X)); // nothing reserved
    assert_true(load_reserved(&f, 0, X));
    assert_true(store_conditional(&f, 0, X + 8)); // the same line
    assert_false(store_conditional(&f, 0, X));
    assert_true(load_reserved(&f, 0, X));
    assert_false(store_conditional(&f, 0, X + 64)); // another line
    assert_int_equal(tally(&f, 0, TL_S_HART_SC_SUCCESS), 1);
    assert_int_equal(tally(&f, 0, TL_S_HART_SC_FAIL), 3);
    // Only the store that happened looked up the cache.
    assert_int_equal(tally(&f, 0, TL_S_L1D_STORE), 1);
    assert_int_equal(tl_rig_read_u64(f.rig.ram, X + 8), 3);
    assert_int_equal(tl_rig_read_u64(f.rig.ram, X), 0);
    tl_rig_stop(&f.rig);
}

static void test_reservation_ends_when_another_hart_writes(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    load_reserved(&f, 0, X);
    load(&f, 1, X); // reading does not
    assert_true(store_conditional(&f, 0, X));
    load_reserved(&f, 0, X);
    store(&f, 1, X + 8);
    assert_false(store_conditional(&f, 0, X));
    load_reserved(&f, 0, X);
    store(&f, 0, X + 16); // its own stores do not
    assert_true(store_conditional(&f, 0, X));
    tl_rig_stop(&f.rig);
}

static void test_reservation_survives_eviction_but_not_a_silent_writer(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    load_reserved(&f, 0, X);
    load(&f, 0, X + 0x100); // direct-mapped: X leaves the L1D
    expect_states(&f, "II", X);
    assert_true(store_conditional(&f, 0, X));
    assert_int_equal(tally(&f, 0, TL_S_L1D_STORE_MISS), 1);
    load_reserved(&f, 0, X);
    load(&f, 0, X + 0x100);
    load(&f, 1, X); // exclusive: hart 1 may write without asking the L2
    expect_states(&f, "IE", X);
    assert_int_equal(store(&f, 1, X), 0);
    assert_false(store_conditional(&f, 0, X));
    tl_rig_stop(&f.rig);
}

static void test_one_of_two_contenders_wins(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    load_reserved(&f, 0, X);
    load_reserved(&f, 1, X);
    assert_true(store_conditional(&f, 1, X));
    assert_false(store_conditional(&f, 0, X));
    tl_rig_stop(&f.rig);
}

static void test_system_calls_break_reservations_they_write_through(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    load_reserved(&f, 0, X);
    tl_memory_break_reservations(f.rig.memory, X - 8, 8);
    tl_memory_break_reservations(f.rig.memory, X + 64, 8);
    assert_int_equal(f.rig.harts[0]->reservation_paddr, X);
    tl_memory_break_reservations(f.rig.memory, X - 8, 9);
    assert_false(store_conditional(&f, 0, X));
    tl_rig_stop(&f.rig);
}

static void test_swap_takes_the_line_like_a_store(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    store(&f, 1, X);
    tl_hart *h = f.rig.harts[0];
    uint64_t before = h->now = f.time += 1000;
    assert_true(h->port->amo(h, X, 8, TL_AMO_SWAP, 42));
    assert_int_equal(h->now - before, 28);
    expect_states(&f, "MI", X);
    assert_int_equal(h->mem_value, 1);
    assert_int_equal(h->tally[TL_S_L1D_AMO_MISS], 1);
    assert_int_equal(h->tally[TL_S_L1D_STORE_MISS], 1);
    assert_int_equal(h->tally[TL_S_L1D_LOAD_MISS], 0);
    assert_int_equal(h->tally[TL_S_HART_CYC_LOAD_MISS], 28); // the core waits for the old value
    tl_rig_stop(&f.rig);
}

// ---- two harts, one slice, time ----

static void test_requests_queue_at_a_busy_slice(void **state) {
    (void)state;
    fixture f;
    start(&f, 2);
    load(&f, 0, X);
    load(&f, 0, X + 64); // both are in the L2 now
    tl_hart *a = f.rig.harts[0], *b = f.rig.harts[1];
    a->port->load(a, X + 0x80, 8);
    a->now = b->now = 5000;
    // Takes the slice from 5000 to 5002. It is done a row miss or hit later.
    a->port->load(a, X + 0x180, 8);
    assert_true(b->port->load(b, X, 8));
    assert_int_equal(b->now, 5000 + 2 + 11 + 17);
    assert_int_equal(f.l2[TL_L2_BUSY], 2);
    tl_rig_stop(&f.rig);
}

// The slice is busy for 2 cycles with each request.
static void test_hart_that_lags_behind_waits_only_where_the_slice_is_busy(void **state) {
    (void)state;
    for (uint64_t lag = 1; lag <= 3; lag++) {
        fixture f;
        start(&f, 2);
        load(&f, 0, X);
        tl_hart *a = f.rig.harts[0], *b = f.rig.harts[1];
        a->now = 5000;
        b->now = 5000 - lag;
        a->port->load(a, X + 0x180, 8);
        assert_true(b->port->load(b, X, 8));
        const uint64_t wait = lag == 1 ? 3 : 0; // the cycle before 5000 alone is too short
        assert_int_equal(b->now, 5000 - lag + wait + 11 + 17);
        assert_int_equal(f.l2[TL_L2_BUSY], wait);
        tl_rig_stop(&f.rig);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_first_reader_owns_the_line),
    cmocka_unit_test(test_second_reader_shares_with_a_clean_owner),
    cmocka_unit_test(test_reader_gets_the_data_of_a_writer),
    cmocka_unit_test(test_an_access_of_a_line_that_others_use_waits),
    cmocka_unit_test(test_writer_takes_the_line_from_all_readers),
    cmocka_unit_test(test_lone_sharer_upgrades_without_probes),
    cmocka_unit_test(test_writer_after_writer_moves_the_line),
    cmocka_unit_test(test_fetch_gets_data_from_a_writer_but_stores_leave_instruction_caches_alone),
    cmocka_unit_test(test_reader_is_exclusive_beside_instruction_copies),
    cmocka_unit_test(test_eviction_from_the_l2_takes_every_copy),
    cmocka_unit_test(test_dirty_line_evicted_from_an_l1_stays_dirty_below),
    cmocka_unit_test(test_links_tell_requests_probes_and_releases_apart),
    cmocka_unit_test(test_store_conditional_succeeds_once),
    cmocka_unit_test(test_reservation_ends_when_another_hart_writes),
    cmocka_unit_test(test_reservation_survives_eviction_but_not_a_silent_writer),
    cmocka_unit_test(test_one_of_two_contenders_wins),
    cmocka_unit_test(test_system_calls_break_reservations_they_write_through),
    cmocka_unit_test(test_swap_takes_the_line_like_a_store),
    cmocka_unit_test(test_requests_queue_at_a_busy_slice),
    cmocka_unit_test(test_hart_that_lags_behind_waits_only_where_the_slice_is_busy),
};

TL_TEST_MAIN(tests)
