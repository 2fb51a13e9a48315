// SPDX-License-Identifier: MIT
// Interconnect and managers. The lazy fabric must equal the naive one that steps every cycle.
// Waiting is bounded. Managers work side by side.
#include "isa/rv/arch.h"
#include "pmu/dhpc/naive.h"

// ---- lazy against naive ----

static uint32_t traffic_managers(tl_dhpc_manager managers[static 6], uint32_t n_harts) {
    managers[0] = stamped_manager(TL_DHPC_ID(TL_DHPC_CORE, 0, 0), 0, 0x1f, 0);
    for (uint32_t bit = 1; bit <= 3; bit++)
        managers[0].counters[bit] = (tl_dhpc_counter){TL_DHPC_FROM_CLIENT, bit - 1};
    managers[1] = stamped_manager(TL_DHPC_ID(TL_DHPC_CORE, n_harts - 1, 1), n_harts - 1, UINT64_C(0x8001000100010001), 0x100);
    managers[1].counters[16] = (tl_dhpc_counter){TL_DHPC_FROM_CLIENT, TL_DHPC_HPCR_READ};
    managers[2] = stamped_manager(ID_OTHER, TL_DHPC_NO_HART, UINT64_MAX, 0x200);
    managers[3] = (tl_dhpc_manager){.id = ID_FABRIC, .hart = TL_DHPC_NO_HART, .implemented = 0xff};
    for (uint32_t bit = 0; bit < 8; bit++)
        managers[3].counters[bit] = (tl_dhpc_counter){TL_DHPC_FROM_FABRIC, bit};
    managers[4] = (tl_dhpc_manager){.id = TL_DHPC_ID(TL_DHPC_DIRECTORY, 0, 0), .hart = TL_DHPC_NO_HART, .implemented = 2};
    managers[4].counters[1] = (tl_dhpc_counter){TL_DHPC_CONSTANT, 5};
    return 5;
}

static tl_dhpc_access random_access(uint64_t *random, const tl_dhpc_manager *managers, uint32_t n_managers) {
    uint64_t dice = next_random(random) >> 20;
    uint32_t m = (uint32_t)(next_random(random) >> 40) % (n_managers + 1);
    uint32_t id = m < n_managers ? managers[m].id : (uint32_t)(next_random(random) >> 40) & 0x1ffff;
    uint64_t useren = dice >> 30 & 3 ? TL_DHPC_USEREN : 0;
    tl_dhpc_access a = {.priv = (dice >> 24 & 3) == 0 ? TL_PRIV_U : (dice >> 24 & 1) ? TL_PRIV_M : TL_PRIV_S};
    switch (dice % 16) {
    case 0:
    case 1:
    case 2: // a request of few, of many, of all
        a.csr = HPCM;
        a.operand = next_random(random);
        a.operand &= dice >> 8 & 1 ? next_random(random) & next_random(random) & next_random(random) : UINT64_MAX;
        if ((dice >> 9 & 15) == 0)
            a.operand = UINT64_MAX;
        if (dice >> 13 & 1)
            a.operand &= 0xff;
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        a.csr = HPCC;
        a.operand = go(id) | useren;
        break;
    case 7: // cancel
        a = (tl_dhpc_access){.csr = HPCC, .op = TL_REG_CLEAR, .is_immediate = true, .operand = 1, .priv = a.priv};
        break;
    case 8:
    case 9:
    case 10: a = (tl_dhpc_access){.csr = HPCR, .op = TL_REG_SET, .is_rs1_x0 = true, .priv = a.priv}; break;
    case 11: a = (tl_dhpc_access){.csr = HPCC, .op = TL_REG_SET, .is_rs1_x0 = true, .priv = a.priv}; break;
    case 12: a = (tl_dhpc_access){.csr = HPCM, .op = TL_REG_SET, .is_rs1_x0 = true, .priv = a.priv}; break;
    default: { // anything
        const uint32_t csrs[] = {HPCC, HPCM, HPCR};
        a.csr = csrs[(dice >> 8) % 3];
        a.op = (tl_reg_use)((dice >> 12) % 3);
        a.is_immediate = dice >> 16 & 1;
        a.is_rd_x0 = dice >> 17 & 1;
        a.is_rs1_x0 = (dice >> 18 & 3) == 0;
        a.operand = a.is_immediate ? next_random(random) >> 50 & 31 : next_random(random) & (go(id) | TL_DHPC_USEREN);
        break;
    }
    }
    return a;
}

static tl_dhpc_config random_config(uint64_t *random, uint32_t round) {
    tl_dhpc_config config = tl_dhpc_defaults;
    uint64_t dice = next_random(random) >> 16;
    if (round % 4 != 0) {
        config.t_req = 1 + (uint32_t)(dice % 7);
        config.t_grant = (uint32_t)(dice >> 8) % 4;
        config.t_lookup = (uint32_t)(dice >> 12) % 4;
        config.t_resp = 1 + (uint32_t)(dice >> 16) % 9;
        config.beat = 1 + (uint32_t)(dice >> 20) % 5;
    }
    config.fifo_depth = dice >> 24 & 1 ? 64 : 8 + (uint32_t)(dice >> 25) % 57;
    config.sampling = dice >> 32 & 1 ? TL_DHPC_SNAPSHOT : TL_DHPC_LIVE;
    config.mode = (dice >> 33 & 15) == 0 ? TL_DHPC_FUNCTIONAL : TL_DHPC_TIMED;
    config.strict_user = dice >> 37 & 1;
    config.user_class_mask = dice >> 38 & 1 ? 0xff : 0x21;
    return config;
}

// Runs one fabric of each kind through equal accesses, harts of one cycle in any order. Returns the
// number of accesses.
static uint64_t run_both(uint32_t n_harts, uint32_t round, uint64_t n_cycles, uint64_t *random) {
    tl_dhpc_manager managers[6];
    uint32_t n_managers = traffic_managers(managers, n_harts);
    tl_dhpc_config config = random_config(random, round);
    tl_arena arena = {0};
    tl_dhpc *d;
    tl_error err;
    naive *n = test_calloc(1, sizeof *n);
    if (tl_dhpc_new(&config, 64, n_harts, managers, n_managers, stamped, NULL, &arena, &d, &err) != TL_OK)
        fail_msg("%s", err.text);
    naive_init(n, &config, n_harts, managers, n_managers);
    // There is one access in so many cycles.
    uint32_t idleness = 1 + (uint32_t)(next_random(random) >> 40) % 12;
    uint64_t n_accesses = 0;
    for (uint64_t cycle = 1; cycle <= n_cycles; cycle++) {
        naive_begin(n, cycle);
        uint32_t first = (uint32_t)(next_random(random) >> 40) % n_harts;
        for (uint32_t k = 0; k < n_harts; k++) {
            uint32_t h = (first + k) % n_harts;
            if ((next_random(random) >> 40) % idleness != 0)
                continue;
            n_accesses++;
            if ((next_random(random) >> 40) % 24 == 0) {
                naive_trap(n, h);
                tl_dhpc_notice(d, h, TL_DHPC_TRAP_ENTRY, cycle);
                continue;
            }
            tl_dhpc_access a = random_access(random, managers, n_managers);
            uint64_t want = 0, got = 0;
            bool want_ok = naive_access(n, h, &a, &want), got_ok = tl_dhpc_execute(d, h, cycle, &a, &got);
            if (want_ok != got_ok || (want_ok && want != got))
                fail_msg("%u harts, round %u, cycle %llu, hart %u: csr 0x%x, op %d, operand 0x%llx: %d 0x%llx instead of %d 0x%llx",
                         n_harts, round, (unsigned long long)cycle, h, a.csr, a.op, (unsigned long long)a.operand, got_ok,
                         (unsigned long long)got, want_ok, (unsigned long long)want);
        }
        naive_end(n);
    }
    tl_dhpc_advance(d, n_cycles);
    for (uint32_t s = 0; s < TL_DHPC_N_FABRIC_STATS; s++) {
        uint64_t unfinished = 0; // the naive one counts waits as they pass
        for (uint32_t h = 0; s == TL_DHPC_WAIT_CYCLES && h < n_harts; h++)
            unfinished += n->clients[h].is_queued ? n->clients[h].wait : 0;
        assert_int_equal(tl_dhpc_stat(d, s) + unfinished, n->stats[s]);
    }
    for (uint32_t h = 0; h < n_harts && config.mode == TL_DHPC_TIMED; h++) {
        tl_dhpc_hart_account account = tl_dhpc_account(d, h);
        assert_int_equal(account.n_grants, n->clients[h].n_granted);
        assert_int_equal(account.max_wait_cycles, n->clients[h].max_wait);
        assert_true(account.max_wait_cycles <= (n_harts - 1) * tl_dhpc_longest_service(&config));
    }
    tl_arena_done(&arena);
    test_free(n);
    return n_accesses;
}

static void test_lazy_fabric_equals_a_naive_one_on_random_traffic(void **state) {
    (void)state;
    uint64_t random = 0x123456789abcdef, n_accesses = 0;
    for (uint32_t n_harts = 1; n_harts <= 8; n_harts++) {
        uint64_t of_this = 0;
        for (uint32_t round = 0; round < 48; round++)
            of_this += run_both(n_harts, round, 4000, &random);
        n_accesses += of_this;
    }
    print_message("%llu accesses compared\n", (unsigned long long)n_accesses);
    assert_true(n_accesses >= 1000000);
}

// ---- samples in straight code ----

// Harts that stop at their port's deadline and sometimes execute register instructions. All harts
// share one time.
typedef struct clockwork {
    tl_arena arena;
    tl_dhpc *d;
    tl_pmu_host host;
    tl_hart *h;
    uint64_t now, n_samples;
    uint32_t told; // bit h: hart h asks for its deadline anew
} clockwork;

static const uint64_t LATE = UINT64_MAX;
static uint64_t sample_in_time(void *ctx, uint32_t which, uint32_t hart, uint64_t cycle) {
    clockwork *w = ctx;
    (void)hart;
    w->n_samples++;
    return cycle == w->now ? stamp(cycle, which) : LATE;
}
static void note_changed(void *ctx, uint32_t hart) { ((clockwork *)ctx)->told |= 1u << hart; }

static void open_clockwork(clockwork *w, const tl_dhpc_config *config, uint32_t n_harts, const tl_dhpc_manager *managers,
                           uint32_t n_managers) {
    tl_error err;
    *w = (clockwork){.host = {.ctx = w, .changed = note_changed}};
    if (tl_dhpc_new(config, 64, n_harts, managers, n_managers, sample_in_time, w, &w->arena, &w->d, &err) != TL_OK)
        fail_msg("%s", err.text);
    for (uint32_t h = 0; h < n_harts; h++)
        tl_dhpc_pmu(w->d, h)->host = &w->host;
    w->h = tl_arena_alloc(&w->arena, sizeof *w->h);
    assert_non_null(w->h);
    w->h->priv = TL_PRIV_M;
}
static uint64_t stop_of(clockwork *w, uint32_t hart) { // cycle of this hart's next stop
    const tl_pmu_port *port = tl_dhpc_port(w->d, hart);
    w->h->id = hart;
    w->h->now = w->now;
    uint64_t left = port->deadline(port->ctx, w->h);
    return left == UINT64_MAX ? UINT64_MAX : w->now + left;
}
static void stop(clockwork *w, uint32_t hart) {
    const tl_pmu_port *port = tl_dhpc_port(w->d, hart);
    w->h->id = hart;
    w->h->now = w->now;
    port->poll(port->ctx, w->h);
    w->told |= 1u << hart;
}

// Returns the number of samples.
static uint64_t run_to_deadlines(uint32_t n_harts, const tl_dhpc_config *config, uint64_t n_cycles, uint64_t *random) {
    tl_dhpc_manager managers[6];
    uint32_t n_managers = traffic_managers(managers, n_harts);
    clockwork w;
    open_clockwork(&w, config, n_harts, managers, n_managers);
    uint64_t stops[8], accesses[8];
    for (uint32_t h = 0; h < n_harts; h++) {
        stops[h] = UINT64_MAX;
        accesses[h] = 1 + (next_random(random) >> 40) % 50;
    }
    while (w.now < n_cycles) {
        w.now = UINT64_MAX;
        w.told = 0;
        for (uint32_t h = 0; h < n_harts; h++) {
            w.now = stops[h] < w.now ? stops[h] : w.now;
            w.now = accesses[h] < w.now ? accesses[h] : w.now;
        }
        for (uint32_t h = 0; h < n_harts; h++) {
            if (stops[h] == w.now)
                stop(&w, h);
            if (accesses[h] != w.now)
                continue;
            uint64_t old = 0, dice = next_random(random) >> 40;
            tl_dhpc_access a = random_access(random, managers, n_managers);
            (void)tl_dhpc_execute(w.d, h, w.now, &a, &old);
            // Data of cancelled requests reach no client and may be late.
            if (a.csr == HPCR && old == LATE)
                fail_msg("%u harts, cycle %llu, hart %u reads a late sample", n_harts, (unsigned long long)w.now, h);
            accesses[h] = w.now + 1 + (dice & 1 ? (dice >> 1) % 4 : (dice >> 1) % 200);
        }
        for (uint32_t h = 0; h < n_harts; h++)
            if (w.told >> h & 1) { // an instruction takes a cycle
                uint64_t next = stop_of(&w, h);
                stops[h] = next > w.now ? next : w.now + 1;
            }
    }
    tl_arena_done(&w.arena);
    return w.n_samples;
}

// The header promises: a hart that stops at its deadlines is sampled in the cycle of the beat or of
// the acceptance.
static void test_no_sample_is_late_in_straight_code(void **state) {
    (void)state;
    uint64_t random = 0xfedcba9876543, n_samples = 0;
    for (uint32_t n_harts = 1; n_harts <= 4; n_harts++)
        for (uint32_t round = 0; round < 60; round++) {
            tl_dhpc_config config = random_config(&random, round);
            config.mode = TL_DHPC_TIMED;
            n_samples += run_to_deadlines(n_harts, &config, 20000, &random);
        }
    print_message("%llu samples, each in its cycle\n", (unsigned long long)n_samples);
    assert_true(n_samples > 20000);
}

// TL_REG_SET of 0 only reads.
static uint64_t access_of(clockwork *w, uint32_t hart, uint32_t csr, tl_reg_use op, uint64_t operand) {
    const tl_dhpc_access a = {.csr = csr, .op = op, .operand = operand, .is_rs1_x0 = op == TL_REG_SET && operand == 0, .priv = TL_PRIV_M};
    uint64_t old = 0;
    assert_true(tl_dhpc_execute(w->d, hart, w->now, &a, &old));
    return old;
}

// Hart 1 asks for two counters of hart 0 while its FIFO of two is full: the request leaves with the
// second read.
static void test_a_request_that_room_lets_go_stops_the_hart_it_samples(void **state) {
    (void)state;
    tl_dhpc_manager managers[4];
    uint32_t n_managers = rig_managers(managers);
    tl_dhpc_config config = tl_dhpc_defaults;
    clockwork w;
    config.fifo_depth = 2;
    open_clockwork(&w, &config, 2, managers, n_managers);
    w.now = 100;
    access_of(&w, 1, HPCM, TL_REG_WRITE, 3);
    access_of(&w, 1, HPCC, TL_REG_WRITE, go(ID_OTHER));
    for (w.now = 103; w.now < 105; w.now++)
        stop(&w, 1); // both beats
    w.now = 110;
    assert_int_equal(access_of(&w, 1, HPCM, TL_REG_SET, 0), 3);
    access_of(&w, 1, HPCC, TL_REG_WRITE, go(ID_FULL));
    assert_int_equal(stop_of(&w, 0), UINT64_MAX);
    w.told = 0;
    w.now = 120;
    assert_int_equal(access_of(&w, 1, HPCR, TL_REG_SET, 0), stamp(103, WHICH_OTHER));
    assert_int_equal(w.told, 0);
    w.now = 130;
    assert_int_equal(access_of(&w, 1, HPCR, TL_REG_SET, 0), stamp(104, WHICH_OTHER + 1));
    assert_int_equal(w.told, 1); // hart 0
    w.now = 131;
    assert_int_equal(stop_of(&w, 0), 130 + config.t_req + config.t_grant + config.t_lookup);
    for (w.now = 133; w.now < 135; w.now++)
        stop(&w, 0);
    assert_int_equal(stop_of(&w, 0), UINT64_MAX);
    w.now = 200;
    assert_int_equal(access_of(&w, 1, HPCR, TL_REG_SET, 0), stamp(133, WHICH_FULL));
    assert_int_equal(access_of(&w, 1, HPCR, TL_REG_SET, 0), stamp(134, WHICH_FULL + 1));
    tl_arena_done(&w.arena);
}

// Each kind of wait by the specification's sums: a snapshot is of the acceptance, t_lookup counts
// for live samples only, and a request held back by a cancel leaves in the cycle of the
// confirmation.
static void test_deadlines_are_those_of_the_samples(void **state) {
    (void)state;
    tl_dhpc_manager managers[4];
    uint32_t n_managers = rig_managers(managers);
    tl_dhpc_config config = tl_dhpc_defaults;
    clockwork w;
    config.t_req = 3, config.t_grant = 5, config.t_lookup = 7, config.t_resp = 11, config.beat = 13;
    for (int sampling = TL_DHPC_LIVE; sampling <= TL_DHPC_SNAPSHOT; sampling++) {
        uint64_t to_sample = 3 + 5 + (sampling == TL_DHPC_LIVE ? 7 : 0);
        config.sampling = (tl_dhpc_sampling)sampling;
        open_clockwork(&w, &config, 2, managers, n_managers);
        w.now = 100;
        access_of(&w, 1, HPCM, TL_REG_WRITE, 3);
        access_of(&w, 1, HPCC, TL_REG_WRITE, go(ID_FULL));
        assert_int_equal(stop_of(&w, 0), 100 + to_sample); // on its way
        assert_int_equal(stop_of(&w, 1), UINT64_MAX);
        w.now = 105;
        stop(&w, 0);
        assert_int_equal(stop_of(&w, 0), 100 + to_sample); // granted
        w.now = 100 + to_sample;
        stop(&w, 0);
        assert_int_equal(stop_of(&w, 0), sampling == TL_DHPC_LIVE ? w.now + 13 : UINT64_MAX);
        w.now += 13;
        stop(&w, 0);
        assert_int_equal(stop_of(&w, 0), UINT64_MAX);
        w.now = 200;
        access_of(&w, 1, HPCM, TL_REG_WRITE, 3);
        access_of(&w, 1, HPCC, TL_REG_WRITE, go(ID_FULL));
        w.now = 202;
        access_of(&w, 1, HPCC, TL_REG_CLEAR, 1);
        access_of(&w, 1, HPCM, TL_REG_WRITE, 1);
        access_of(&w, 1, HPCC, TL_REG_WRITE, go(ID_FULL)); // leaves at 202 + 3 + 11
        uint64_t n_stops = 0, first = w.n_samples;
        for (uint64_t next = stop_of(&w, 0); next != UINT64_MAX && n_stops < 10; next = stop_of(&w, 0), n_stops++) {
            assert_true(next >= w.now && next <= 216 + to_sample);
            w.now = next > w.now ? next : w.now + 1;
            stop(&w, 0);
        }
        assert_int_equal(w.now, 216 + to_sample); // stopped there, and for few other cycles
        assert_int_equal(w.n_samples, first + 1);
        w.now = 300;
        assert_int_equal(access_of(&w, 1, HPCR, TL_REG_SET, 0), stamp(216 + to_sample, WHICH_FULL));
        tl_arena_done(&w.arena);
    }
}

// Hart 0 is a thousand cycles ahead: the samples for hart 1 stay to be taken until hart 1 comes to
// their cycles.
static void test_a_hart_that_is_ahead_takes_no_sample_for_one_behind(void **state) {
    (void)state;
    tl_dhpc_manager managers[4];
    uint32_t n_managers = rig_managers(managers);
    clockwork w;
    open_clockwork(&w, &tl_dhpc_defaults, 2, managers, n_managers);
    w.now = 4000;
    access_of(&w, 1, HPCM, TL_REG_WRITE, 3);
    access_of(&w, 1, HPCC, TL_REG_WRITE, go(ID_OTHER));
    w.now = 5000;
    access_of(&w, 0, HPCC, TL_REG_SET, 0);
    stop(&w, 0);
    assert_int_equal(w.n_samples, 0);
    for (w.now = 4003; w.now < 4005; w.now++) {
        assert_int_equal(stop_of(&w, 1), w.now);
        stop(&w, 1);
    }
    assert_int_equal(w.n_samples, 2);
    w.now = 4010;
    assert_int_equal(access_of(&w, 1, HPCR, TL_REG_SET, 0), stamp(4003, WHICH_OTHER));
    assert_int_equal(access_of(&w, 1, HPCR, TL_REG_SET, 0), stamp(4004, WHICH_OTHER + 1));
    tl_arena_done(&w.arena);
}

// ---- waiting ----

// Every hart repeats its request at once, for all 64 counters of one manager.
static void saturate(uint32_t n_harts, const tl_dhpc_config *config) {
    tl_dhpc_manager manager = stamped_manager(ID_OTHER, TL_DHPC_NO_HART, UINT64_MAX, 0);
    tl_arena arena = {0};
    tl_dhpc *d;
    tl_error err;
    if (tl_dhpc_new(config, 64, n_harts, &manager, 1, stamped, NULL, &arena, &d, &err) != TL_OK)
        fail_msg("%s", err.text);
    const tl_dhpc_access flush = {.csr = HPCM, .operand = UINT64_MAX, .is_rd_x0 = true, .priv = TL_PRIV_M};
    const tl_dhpc_access start = {.csr = HPCC, .operand = go(ID_OTHER), .is_rd_x0 = true, .priv = TL_PRIV_M};
    const tl_dhpc_access look = {.csr = HPCC, .op = TL_REG_SET, .is_rs1_x0 = true, .priv = TL_PRIV_M};
    uint32_t phase[8] = {0};
    for (uint64_t cycle = 1; cycle < 40000; cycle++)
        for (uint32_t h = 0; h < n_harts; h++) {
            uint64_t status = 0;
            switch (phase[h]) {
            case 0: tl_dhpc_execute(d, h, cycle, &flush, &status); break;
            case 1: tl_dhpc_execute(d, h, cycle, &start, &status); break;
            default: tl_dhpc_execute(d, h, cycle, &look, &status); break;
            }
            phase[h] = phase[h] < 2 ? phase[h] + 1 : status & TL_DHPC_TRIGGER ? 2 : 0;
        }
    uint64_t least = UINT64_MAX, most = 0, bound = (n_harts - 1) * tl_dhpc_longest_service(config), worst = 0;
    for (uint32_t h = 0; h < n_harts; h++) {
        tl_dhpc_hart_account account = tl_dhpc_account(d, h);
        least = account.n_grants < least ? account.n_grants : least;
        most = account.n_grants > most ? account.n_grants : most;
        worst = account.max_wait_cycles > worst ? account.max_wait_cycles : worst;
        assert_true(account.max_wait_cycles <= bound);
    }
    print_message("%u harts, beat %u: worst wait %llu of at most %llu cycles, %llu to %llu grants each\n", n_harts, config->beat,
                  (unsigned long long)worst, (unsigned long long)bound, (unsigned long long)least, (unsigned long long)most);
    assert_true(most - least <= 1);
    assert_true(most > 10);
    tl_arena_done(&arena);
}

static void test_t30_waits_are_bounded_and_grants_are_even(void **state) {
    (void)state;
    for (uint32_t n_harts = 1; n_harts <= 8; n_harts++) {
        tl_dhpc_config config = tl_dhpc_defaults;
        saturate(n_harts, &config);
        config.beat = 4;
        saturate(n_harts, &config);
    }
}

static void test_t30_the_bound_is_reached(void **state) {
    // All ask in one cycle. The last one waits for all others, each with the longest service.
    (void)state;
    rig rig_, *r = &rig_;
    rig_init(r, &tl_dhpc_defaults, 64, 8);
    for (r->hart = 0; r->hart < 8; r->hart++) {
        r->now = 100;
        rig_start(r, ID_FULL, UINT64_MAX);
    }
    tl_dhpc_advance(r->d, 10000);
    for (uint32_t h = 0; h < 8; h++) {
        assert_int_equal(tl_dhpc_account(r->d, h).max_wait_cycles, h * tl_dhpc_longest_service(&tl_dhpc_defaults));
        assert_int_equal(tl_dhpc_account(r->d, h).wait_cycles, h * tl_dhpc_longest_service(&tl_dhpc_defaults));
    }
    rig_done(r);
}

static void test_t31_two_managers_serve_two_harts_at_the_same_time(void **state) {
    (void)state;
    rig rig_, *r = &rig_;
    rig_init(r, &tl_dhpc_defaults, 64, 2);
    r->now = 100;
    uint64_t started = rig_start(r, ID_FULL, 0xffff);
    r->hart = 1;
    r->now = 100;
    assert_int_equal(rig_start(r, ID_OTHER, 0xffff), started);
    r->now = 200;
    for (uint32_t k = 0; k < 16; k++)
        assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1 + k, WHICH_OTHER + k));
    r->hart = 0;
    r->now = 200;
    for (uint32_t k = 0; k < 16; k++)
        assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1 + k, WHICH_FULL + k));
    rig_done(r);
}

static void test_round_robin_goes_on_after_the_last_one(void **state) {
    (void)state;
    rig rig_, *r = &rig_;
    rig_init(r, &tl_dhpc_defaults, 64, 4);
    const uint32_t order[] = {2, 3, 0, 1}; // 2 comes first; then all of them, and the turn is 3's
    uint64_t started[4];
    r->hart = 2;
    r->now = 99;
    started[2] = rig_start(r, ID_FULL, 3);
    for (uint32_t h = 0; h < 4; h++) {
        r->hart = h;
        r->now = 100;
        if (h != 2)
            started[h] = rig_start(r, ID_FULL, 3);
    }
    for (uint32_t i = 0; i < 4; i++) {
        r->hart = order[i];
        r->now = 200;
        // granted at 101, then each one service of 1 + 1 + 1 + 1 cycles later
        assert_int_equal(csrr(r, HPCR), stamp(101 + i * 4 + 2, WHICH_FULL));
    }
    (void)started;
    rig_done(r);
}

// ---- harts that are apart ----

static void test_a_hart_that_is_behind_sees_its_own_time(void **state) {
    (void)state;
    rig rig_, *r = &rig_;
    rig_init(r, &tl_dhpc_defaults, 64, 2);
    r->now = 5000;
    rig_start(r, ID_OTHER, 1); // hart 0 is far ahead, and served
    r->now = 5100;
    csrr(r, HPCR);
    r->hart = 1;
    r->now = 4000;
    uint64_t started = rig_start(r, ID_FULL, 1); // another manager: not delayed
    r->now = started + LATENCY - 1;
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_EMPTY, TL_DHPC_EMPTY);
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1, WHICH_FULL));
    r->now = 4100;
    // The request to the manager begins after the work it has already, at 5003.
    started = rig_start(r, ID_OTHER, 1);
    r->now = 4200;
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_TRIGGER, TL_DHPC_TRIGGER);
    csrri(r, TL_REG_CLEAR, HPCC, 1); // and it may give up
    r->now = 6000;
    assert_int_equal(csrr(r, HPCC) & (TL_DHPC_TRIGGER | TL_DHPC_EMPTY), TL_DHPC_EMPTY);
    started = rig_start(r, ID_OTHER, 2);
    r->now += 10;
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1, WHICH_OTHER + 1));
    rig_done(r);
}

static void test_harts_apart_lose_nothing_and_stay_within_the_bound(void **state) {
    // Turns take up to 500 cycles, as on a machine. Every request completes, with all its data.
    (void)state;
    uint64_t random = 77;
    for (uint32_t round = 0; round < 20; round++) {
        rig rig_, *r = &rig_;
        rig_init(r, &tl_dhpc_defaults, 64, 4);
        uint64_t now[4] = {100, 100, 100, 100}, bitmap[4] = {0}, started[4], n_done = 0;
        bool is_running[4] = {0};
        for (uint32_t turn = 0; turn < 2000; turn++) {
            uint32_t h = 0;
            for (uint32_t k = 1; k < 4; k++)
                h = now[k] < now[h] ? k : h;
            uint64_t until = now[h] + 500;
            for (r->hart = h; now[h] < until; now[h] = r->now + next_random(&random) % 20) {
                r->now = now[h];
                if (!is_running[h]) {
                    bitmap[h] = next_random(&random);
                    started[h] = rig_start(r, ID_FULL, bitmap[h]);
                    is_running[h] = true;
                } else if (!(csrr(r, HPCC) & TL_DHPC_TRIGGER)) {
                    assert_int_equal(csrr(r, HPCM), bitmap[h]);
                    uint64_t last = 0;
                    for (uint32_t bit = 0; bit < 64; bit++)
                        if (bitmap[h] >> bit & 1) {
                            uint64_t value = csrr(r, HPCR);
                            assert_int_equal(value & 0xffff, WHICH_FULL + bit);
                            assert_true(value >> 16 > started[h] && value >> 16 > last && value >> 16 < r->now);
                            last = value >> 16;
                        }
                    is_running[h] = false;
                    n_done++;
                }
                assert_true(!is_running[h] || r->now - started[h] < 500 + 64 + 4 * tl_dhpc_longest_service(&tl_dhpc_defaults));
            }
        }
        assert_true(n_done > 1000);
        rig_done(r);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_lazy_fabric_equals_a_naive_one_on_random_traffic),
    cmocka_unit_test(test_no_sample_is_late_in_straight_code),
    cmocka_unit_test(test_a_request_that_room_lets_go_stops_the_hart_it_samples),
    cmocka_unit_test(test_deadlines_are_those_of_the_samples),
    cmocka_unit_test(test_a_hart_that_is_ahead_takes_no_sample_for_one_behind),
    cmocka_unit_test(test_t30_waits_are_bounded_and_grants_are_even),
    cmocka_unit_test(test_t30_the_bound_is_reached),
    cmocka_unit_test(test_t31_two_managers_serve_two_harts_at_the_same_time),
    cmocka_unit_test(test_round_robin_goes_on_after_the_last_one),
    cmocka_unit_test(test_a_hart_that_is_behind_sees_its_own_time),
    cmocka_unit_test(test_harts_apart_lose_nothing_and_stay_within_the_bound),
};

TL_TEST_MAIN(tests)
