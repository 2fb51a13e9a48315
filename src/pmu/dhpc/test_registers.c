// SPDX-License-Identifier: MIT
// The three registers, as software of all modes sees them, at their default timing unless said
// otherwise. Numbers are those of the specification's list of tests.
#include "isa/rv/arch.h"
#include "pmu/dhpc/test_rig.h"

static int setup(void **state) {
    rig *r = test_calloc(1, sizeof *r);
    rig_init(r, &tl_dhpc_defaults, 64, 2);
    *state = r;
    return 0;
}
static int teardown(void **state) {
    rig_done(*state);
    test_free(*state);
    return 0;
}

static void test_t01_reset_values(void **state) {
    rig *r = *state;
    for (r->hart = 0; r->hart < 2; r->hart++) {
        assert_int_equal(csrr(r, HPCC), 0x4);
        assert_int_equal(csrr(r, HPCM), 0);
        assert_int_equal(csrr(r, HPCR), 0);
        assert_int_equal(csrr(r, HPCC), TL_DHPC_EMPTY | TL_DHPC_READERROR);
    }
    r->hart = 0;
    rig_start(r, ID_FULL, 7);
    csrri(r, TL_REG_SET, HPCC, 0);
    tl_dhpc_reset(r->d);
    r->now += 100;
    assert_int_equal(csrr(r, HPCC), 0x4);
    assert_int_equal(csrr(r, HPCM), 0);
}

// Reset with data set, waiting or on their way: the next request behaves as the first one did.
static void test_reset_forgets_registers_data_and_requests(void **state) {
    (void)state;
    tl_dhpc_config config = tl_dhpc_defaults;
    config.fifo_depth = 4;
    config.t_resp = 20;
    for (uint32_t before = 0; before < 4; before++) {
        rig rig_, *r = &rig_;
        rig_init(r, &config, 64, 2);
        csrw(r, HPCM, 7);
        csrw(r, HPCC, go(ID_FULL) | TL_DHPC_USEREN);
        r->now = 200;
        if (before < 2) {
            for (uint32_t k = 0; k < 4; k++)
                csrr(r, HPCR);
            tl_dhpc_notice(r->d, 0, TL_DHPC_TRAP_ENTRY, r->now++);
            csrw(r, HPCC, go(ID_FULL) | TL_DHPC_USEREN); // for the counters that hpcm says
            r->now = 300;
            assert_int_equal(csrr(r, HPCC), go(ID_FULL) - TL_DHPC_TRIGGER + (TL_DHPC_USEREN | TL_DHPC_READERROR | TL_DHPC_INTERRUPTED));
            assert_int_equal(csrr(r, HPCM), 7);
            if (before == 1)
                csrw(r, HPCC, go(ID_OTHER)); // waits for room
        } else {
            uint64_t started = rig_start(r, ID_OTHER, 7);
            if (before == 2)
                // Neither the cancel nor its confirmation has arrived.
                csrri(r, TL_REG_CLEAR, HPCC, 1);
            else
                r->now = started + 10; // three data are under way
            csrr(r, HPCC);
        }
        uint64_t n_requests = tl_dhpc_stat(r->d, TL_DHPC_REQUESTS), n_stale = tl_dhpc_stat(r->d, TL_DHPC_STALE);
        tl_dhpc_reset(r->d);
        r->now += 1;
        assert_int_equal(csrr(r, HPCC), 0x4);
        assert_int_equal(csrr(r, HPCM), 0);
        csrw(r, HPCC, UINT64_C(0)); // requests nothing
        uint64_t started = r->now + 1;
        csrw(r, HPCM, 0);
        csrw(r, HPCC, go(ID_FULL)); // nothing selected: an empty completion, which is no datum
        assert_int_equal(csrr(r, HPCC) & TL_DHPC_TRIGGER, TL_DHPC_TRIGGER);
        r->now = started + 23;
        assert_int_equal(csrr(r, HPCC), go(ID_FULL) - TL_DHPC_TRIGGER + TL_DHPC_EMPTY);
        started = rig_start(r, ID_SPARSE, SPARSE);
        r->now = started + 23;
        assert_int_equal(csrr(r, HPCC) & (TL_DHPC_TRIGGER | TL_DHPC_EMPTY), TL_DHPC_TRIGGER);
        r->now = started + 25;
        assert_int_equal(csrr(r, HPCM), SPARSE);
        for (uint32_t k = 0; k < 3; k++)
            assert_int_equal(csrr(r, HPCR), stamp(started + 3 + k, WHICH_SPARSE + (k == 2 ? 3 : k)));
        assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_EMPTY);
        tl_dhpc_advance(r->d, r->now + 1000);
        assert_int_equal(tl_dhpc_stat(r->d, TL_DHPC_REQUESTS) - n_requests, 2);
        assert_int_equal(tl_dhpc_stat(r->d, TL_DHPC_STALE) - n_stale, 0);
        rig_done(r);
    }
}

static void test_reset_clears_the_latch_of_hpcr(void **state) {
    rig *r = *state;
    rig_start(r, ID_FULL, 1);
    r->now += 20;
    assert_true(csrr(r, HPCR) != 0);
    tl_dhpc_reset(r->d);
    assert_int_equal(csrr(r, HPCR), 0);
}

// The deepest FIFO holds the data of sixteen requests for 64 counters, in order; the seventeenth
// waits.
static void test_a_fifo_of_1024_fills(void **state) {
    (void)state;
    rig rig_, *r = &rig_;
    tl_dhpc_config config = tl_dhpc_defaults;
    config.fifo_depth = 1024;
    rig_init(r, &config, 64, 1);
    uint64_t started[17];
    started[0] = rig_start(r, ID_FULL, UINT64_MAX);
    for (uint32_t k = 1; k < 17; k++) {
        r->now += 100;
        assert_int_equal(csrr(r, HPCC) & TL_DHPC_TRIGGER, 0);
        started[k] = r->now;
        csrw(r, HPCC, go(ID_FULL)); // hpcm says which came: all
    }
    r->now += 100;
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_TRIGGER, TL_DHPC_TRIGGER);
    assert_int_equal(tl_dhpc_stat(r->d, TL_DHPC_REQUESTS), 16);
    for (uint32_t k = 0; k < 1024; k++)
        assert_int_equal(csrr(r, HPCR), stamp(started[k / 64] + LATENCY - 1 + k % 64, WHICH_FULL + k % 64));
    r->now += 100;
    assert_int_equal(csrr(r, HPCC) & 0xf, 0);
    assert_int_equal(tl_dhpc_stat(r->d, TL_DHPC_REQUESTS), 17);
    rig_done(r);
}

// hpcc by the table of its fields, for a client with no request: written anew here.
static uint64_t hpcc_after(uint64_t old, tl_reg_use op, uint64_t operand, tl_priv priv, bool *ret_is_illegal) {
    const uint64_t id_field = UINT64_C(0x1ffff) << 4;
    uint64_t wanted = op == TL_REG_WRITE ? operand : op == TL_REG_SET ? old | operand : old & ~operand, writable = 1 | id_field;
    *ret_is_illegal = priv == TL_PRIV_U && !(old & 1 << 21) && op != TL_REG_CLEAR && (operand & 1);
    if (*ret_is_illegal)
        return old;
    if (priv != TL_PRIV_U)
        writable |= 1 << 21;
    return (old & ~writable) | (wanted & writable);
}

static void test_t02_every_bit_of_hpcc_in_every_mode_with_every_instruction(void **state) {
    rig *r = *state;
    const tl_priv modes[] = {TL_PRIV_M, TL_PRIV_S, TL_PRIV_U};
    const uint64_t before[] = {0x4, UINT64_C(0x1ffff) << 4 | 0x4, 1 << 21 | 0x4, 1 << 21 | 0xaaaa << 4 | 0x4};
    uint32_t n = 0;
    for (size_t m = 0; m < 3; m++)
        for (size_t b = 0; b < 4; b++)
            for (int op = TL_REG_WRITE; op <= TL_REG_CLEAR; op++)
                for (uint32_t bit = 0; bit < 64 + 5; bit++) { // 64 and above: the immediate forms
                    bool is_immediate = bit >= 64, is_illegal;
                    uint64_t operand = UINT64_C(1) << (bit & 63);
                    r->priv = TL_PRIV_M;
                    csrri(r, TL_REG_CLEAR, HPCC, 1);
                    r->now += 20;
                    csrw(r, HPCM, 0);
                    csrw(r, HPCC, before[b] & ~UINT64_C(1));
                    assert_int_equal(csrr(r, HPCC), before[b]);
                    r->priv = modes[m];
                    uint64_t want = hpcc_after(before[b], (tl_reg_use)op, operand, modes[m], &is_illegal);
                    uint64_t old =
                        rig_execute(r, ACCESS(.csr = HPCC, .op = (tl_reg_use)op, .operand = operand, .is_immediate = is_immediate));
                    assert_int_equal(r->has_trapped, is_illegal);
                    if (!is_illegal)
                        assert_int_equal(old, before[b]);
                    // In the very next cycle a request is still under way.
                    assert_int_equal(csrr(r, HPCC), want);
                    n++;
                }
    assert_int_equal(n, 3 * 4 * 3 * 69);
}

static void test_t03_writes_of_hpcr_trap_and_do_not_pop(void **state) {
    rig *r = *state;
    uint64_t started = rig_start(r, ID_FULL, 1);
    r->now += 20;
    for (int mode = 0; mode < 4; mode++) {
        if (mode == 2)
            continue;
        r->priv = (tl_priv)mode;
        for (int op = TL_REG_WRITE; op <= TL_REG_CLEAR; op++) {
            rig_execute(r, ACCESS(.csr = HPCR, .op = (tl_reg_use)op, .operand = 0));
            assert_true(r->has_trapped);
            csrri(r, (tl_reg_use)op, HPCR, 3);
            assert_true(r->has_trapped);
        }
        csrri(r, TL_REG_WRITE, HPCR, 0); // CSRRWI writes even 0
        assert_true(r->has_trapped);
    }
    csrrw(r, 0x8e2, 1); // the upper halves are not there
    assert_true(r->has_trapped);
    csrr(r, 0xce1);
    assert_true(r->has_trapped);
    assert_int_equal(csrr(r, HPCC), go(ID_FULL) & ~TL_DHPC_TRIGGER);
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1, WHICH_FULL));
}

static void test_t04_what_does_not_read_does_not_pop(void **state) {
    rig *r = *state;
    uint64_t started = rig_start(r, ID_FULL, 7);
    r->now += 20;
    // The access is csrrw x0, hpcr, x0.
    rig_execute(r, ACCESS(.csr = HPCR, .op = TL_REG_WRITE, .is_rd_x0 = true, .is_rs1_x0 = true));
    assert_true(r->has_trapped);
    // The access is csrr x0, hpcr.
    rig_execute(r, ACCESS(.csr = HPCR, .op = TL_REG_SET, .is_rd_x0 = true, .is_rs1_x0 = true));
    assert_false(r->has_trapped);
    // The access csrrci rd, hpcr, 0 reads.
    assert_int_equal(csrri(r, TL_REG_CLEAR, HPCR, 0), stamp(started + LATENCY, WHICH_FULL + 1));
    assert_int_equal(csrri(r, TL_REG_SET, HPCR, 0), stamp(started + LATENCY + 1, WHICH_FULL + 2));
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_EMPTY, TL_DHPC_EMPTY);
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_READERROR, 0);
}

static void test_t05_a_read_of_nothing_sets_readerror_and_shows_the_latch(void **state) {
    rig *r = *state;
    uint64_t started = rig_start(r, ID_FULL, 3);
    r->now += 20;
    csrr(r, HPCR);
    uint64_t last = csrr(r, HPCR);
    assert_int_equal(last, stamp(started + LATENCY, WHICH_FULL + 1));
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_READERROR, 0);
    assert_int_equal(csrr(r, HPCR), last);
    assert_int_equal(csrr(r, HPCR), last);
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_READERROR, TL_DHPC_READERROR);
    rig_execute(r, ACCESS(.csr = HPCM, .op = TL_REG_SET, .is_rs1_x0 = true)); // reads only
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_READERROR, TL_DHPC_READERROR);
    csrrs(r, HPCM, 0); // writes: rs1 is not x0, its value is 0
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_READERROR, 0);
    assert_int_equal(csrr(r, HPCR), 0); // the latch, too
}

static void test_t06_a_start_clears_hpcm_and_each_datum_sets_its_bit(void **state) {
    rig *r = *state;
    uint64_t started = rig_start(r, ID_FULL, UINT64_C(0x8000000000000005));
    uint64_t want[] = {0, 0, 0, 1, 5, UINT64_C(0x8000000000000005)};
    for (size_t i = 0; i < TL_COUNT_OF(want); i++) {
        assert_int_equal(r->now, started + 1 + i);
        assert_int_equal(csrr(r, HPCM), want[i]);
    }
}

static void test_t07_a_write_of_hpcm_while_a_request_runs_does_nothing(void **state) {
    rig *r = *state;
    uint64_t started = rig_start(r, ID_FULL, 3);
    r->now = started + LATENCY; // the first datum is there
    tl_dhpc_notice(r->d, 0, TL_DHPC_TRAP_RETURN, r->now);
    csrw(r, HPCM, 0xff);
    r->now = started + LATENCY + 1;
    assert_int_equal(csrr(r, HPCM), 3);
    assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_INTERRUPTED);
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1, WHICH_FULL)); // was not flushed
    csrw(r, HPCM, 0xff);                                                       // now it is taken
    assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_EMPTY);
    assert_int_equal(csrr(r, HPCM), 0xff);
}

static void test_t08_trigger_clears_in_the_cycle_in_which_the_last_datum_can_be_read(void **state) {
    rig *r = *state;
    for (uint32_t n = 1; n <= 64; n++) {
        uint64_t started = rig_start(r, ID_FULL, n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1);
        r->now = started + LATENCY + n - 2;
        if (r->now > started)
            assert_int_equal(csrr(r, HPCC) & TL_DHPC_TRIGGER, TL_DHPC_TRIGGER);
        r->now = started + LATENCY + n - 1;
        assert_int_equal(csrr(r, HPCC) & (TL_DHPC_TRIGGER | TL_DHPC_EMPTY), 0);
        for (uint32_t k = 0; k < n; k++)
            assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1 + k, WHICH_FULL + k));
        assert_int_equal(csrr(r, HPCC) & (TL_DHPC_EMPTY | TL_DHPC_READERROR), TL_DHPC_EMPTY);
    }
}

// Cancels `after` cycles past the start; what came before stays, what comes later is dropped, and
// the next request is whole.
static void cancel_after(uint64_t after, uint32_t n_received) {
    rig rig_, *r = &rig_;
    rig_init(r, &tl_dhpc_defaults, 64, 2);
    uint64_t started = rig_start(r, ID_FULL, 0xf), want = (UINT64_C(1) << n_received) - 1;
    r->now = started + after;
    csrri(r, TL_REG_CLEAR, HPCC, 1);
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_TRIGGER, 0);
    assert_int_equal(csrr(r, HPCM), want);
    r->now += 50;
    assert_int_equal(csrr(r, HPCM), want); // nothing came later
    for (uint32_t k = 0; k < n_received; k++)
        assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1 + k, WHICH_FULL + k));
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_EMPTY, TL_DHPC_EMPTY);
    rig_done(r);

    // The next request at once: it leaves when the cancel is known to be over, and gets its own
    // data only.
    rig_init(r, &tl_dhpc_defaults, 64, 2);
    started = rig_start(r, ID_FULL, 0xf);
    r->now = started + after;
    uint64_t cancelled = r->now;
    csrri(r, TL_REG_CLEAR, HPCC, 1);
    csrw(r, HPCM, 0x30);
    uint64_t restarted = r->now;
    csrw(r, HPCC, go(ID_OTHER));
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_TRIGGER, TL_DHPC_TRIGGER);
    uint64_t leaves = restarted > cancelled + 2 ? restarted : cancelled + 2; // t_req + t_resp
    if (n_received + (after >= LATENCY) >= 4 && leaves > restarted)
        leaves = restarted; // the last beat came, and was dropped, before the confirmation
    r->now = restarted + 50;
    assert_int_equal(csrr(r, HPCM), 0x30);
    assert_int_equal(csrr(r, HPCR), stamp(leaves + LATENCY - 1, WHICH_OTHER + 4));
    assert_int_equal(csrr(r, HPCR), stamp(leaves + LATENCY, WHICH_OTHER + 5));
    assert_int_equal(csrr(r, HPCC) & (TL_DHPC_EMPTY | TL_DHPC_TRIGGER), TL_DHPC_EMPTY);
    rig_done(r);
}

static void test_t09_cancel_before_grant_during_data_and_in_the_last_beat(void **state) {
    (void)state;
    cancel_after(1, 0); // on its way to the port
    cancel_after(2, 0); // granted
    cancel_after(3, 0); // its first beat is produced
    cancel_after(4, 1); // data has come
    cancel_after(5, 2);
    cancel_after(6, 3); // the last beat is on its way
}

static void test_t09_a_request_that_waits_for_another_hart_can_be_cancelled(void **state) {
    rig *r = *state;
    uint64_t started = rig_start(r, ID_FULL, UINT64_MAX);
    r->hart = 1;
    r->now = started;
    rig_start(r, ID_FULL, 1); // granted only after 64 beats
    r->now += 5;
    csrri(r, TL_REG_CLEAR, HPCC, 1);
    r->now += 200;
    assert_int_equal(csrr(r, HPCC) & (TL_DHPC_TRIGGER | TL_DHPC_EMPTY), TL_DHPC_EMPTY);
    assert_int_equal(tl_dhpc_account(r->d, 1).n_grants, 0);
    r->hart = 0;
    assert_int_equal(csrr(r, HPCM), UINT64_MAX); // the other one is not disturbed
    started = r->now;
    r->hart = 1;
    started = rig_start(r, ID_FULL, 2);
    r->now += 20;
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1, WHICH_FULL + 1));
}

static void test_t10_nothing_selected_and_nobody_there_complete(void **state) {
    rig *r = *state;
    const struct {
        uint32_t id;
        uint64_t bitmap;
    } rows[] = {{ID_FULL, 0}, {ID_NOBODY, UINT64_MAX}, {ID_NOBODY, 0}, {ID_SPARSE, ~SPARSE}};
    csrw(r, HPCM, 1);
    csrw(r, HPCC, go(ID_FULL));
    r->now += 20;
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        csrri(r, TL_REG_CLEAR, HPCC, 1);
        uint64_t started = rig_start(r, rows[i].id, rows[i].bitmap);
        r->now = started + LATENCY - 1;
        assert_int_equal(csrr(r, HPCC) & TL_DHPC_TRIGGER, TL_DHPC_TRIGGER);
        assert_int_equal(csrr(r, HPCC) & (TL_DHPC_TRIGGER | TL_DHPC_EMPTY), TL_DHPC_EMPTY);
        assert_int_equal(csrr(r, HPCM), 0);
    }
    assert_int_equal(tl_dhpc_stat(r->d, TL_DHPC_EMPTY_COMPLETIONS), 4);
    // The FIFO is left alone.
    uint64_t started = rig_start(r, ID_FULL, 1);
    r->now += 20;
    csrw(r, HPCC, go(ID_NOBODY));
    r->now += 20;
    assert_int_equal(csrr(r, HPCC) & (TL_DHPC_TRIGGER | TL_DHPC_EMPTY), 0);
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1, WHICH_FULL));
}

static void test_t11_counters_that_are_not_built_are_skipped_and_all_ones_discovers(void **state) {
    rig *r = *state;
    uint64_t started = rig_start(r, ID_SPARSE, UINT64_MAX);
    r->now += 20;
    assert_int_equal(csrr(r, HPCM), SPARSE);
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1, WHICH_SPARSE));
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY, WHICH_SPARSE + 1));
    // Manager 2 takes no time either.
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY + 1, WHICH_SPARSE + 3));
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_EMPTY, TL_DHPC_EMPTY);
}

static void test_t12_data_come_in_ascending_order(void **state) {
    rig *r = *state;
    uint64_t random = 12;
    for (int i = 0; i < 1000; i++) {
        uint64_t bitmap = next_random(&random) & (i % 3 ? next_random(&random) : UINT64_MAX);
        uint64_t started = rig_start(r, ID_FULL, bitmap), beat = 0;
        if (i % 2) // at once or as they come: the same
            r->now += 100;
        for (uint32_t bit = 0; bit < 64; bit++) {
            if (!(bitmap >> bit & 1))
                continue;
            while (csrr(r, HPCC) & TL_DHPC_EMPTY)
                assert_true(r->now < started + 200);
            assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1 + beat, WHICH_FULL + bit));
            beat++;
        }
        r->now += 10;
        assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_EMPTY);
        assert_int_equal(csrr(r, HPCM), bitmap);
    }
}

static void test_t13_sixty_four_of_sixty_four_fit(void **state) {
    rig *r = *state;
    uint64_t started = rig_start(r, ID_FULL, UINT64_MAX);
    r->now += 1000;
    assert_int_equal(csrr(r, HPCC) & 0xf, 0);
    assert_int_equal(csrr(r, HPCM), UINT64_MAX);
    for (uint32_t k = 0; k < 64; k++)
        assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1 + k, WHICH_FULL + k));
    assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_EMPTY);
}

static void test_t14_a_request_without_room_waits_in_its_client_and_blocks_nobody(void **state) {
    rig *r = *state;
    rig_start(r, ID_FULL, UINT64_MAX);
    r->now += 100;
    // hpcm is all ones now; without writing it a second request asks for 64 more.
    csrw(r, HPCC, go(ID_OTHER));
    r->now += 1000;
    assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_TRIGGER);
    r->hart = 1;
    uint64_t started = rig_start(r, ID_OTHER, 1);
    r->now += LATENCY - 1;
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1, WHICH_OTHER)); // as if alone
    r->hart = 0;
    for (int k = 0; k < 63; k++)
        csrr(r, HPCR);
    r->now += 100;
    assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_TRIGGER); // 63 places are not 64
    uint64_t popped = r->now;
    assert_int_equal(csrr(r, HPCR) & 0xffff, WHICH_FULL + 63);
    r->now += 100;
    assert_int_equal(csrr(r, HPCC) & 0xf, 0);
    assert_int_equal(csrr(r, HPCM), 0xffff);
    // It left in the cycle of the pop.
    assert_int_equal(csrr(r, HPCR), stamp(popped + LATENCY - 1, WHICH_OTHER));
}

static void test_t14_two_requests_queue_up_in_order(void **state) {
    rig *r = *state;
    uint64_t first = rig_start(r, ID_FULL, 3);
    r->now += 20;
    uint64_t second = r->now;
    csrw(r, HPCC, go(ID_OTHER)); // hpcm holds 3: what was received
    r->now += 20;
    assert_int_equal(csrr(r, HPCR), stamp(first + LATENCY - 1, WHICH_FULL));
    assert_int_equal(csrr(r, HPCR), stamp(first + LATENCY, WHICH_FULL + 1));
    assert_int_equal(csrr(r, HPCR), stamp(second + LATENCY - 1, WHICH_OTHER));
    assert_int_equal(csrr(r, HPCR), stamp(second + LATENCY, WHICH_OTHER + 1));
    assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_EMPTY);
}

static void test_t15_writing_trigger_again_does_not_restart(void **state) {
    rig *r = *state;
    uint64_t started = rig_start(r, ID_FULL, 3);
    for (int k = 0; k < 4; k++) { // until the first datum is there
        if (k % 2)
            csrri(r, TL_REG_SET, HPCC, 1);
        else
            csrw(r, HPCC, go(ID_OTHER));
    }
    r->now += 20;
    assert_int_equal(csrr(r, HPCM), 3);
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1, WHICH_FULL));
    assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY, WHICH_FULL + 1));
    assert_int_equal(tl_dhpc_stat(r->d, TL_DHPC_REQUESTS), 1);
    csrri(r, TL_REG_CLEAR, HPCC, 1); // 0 while it is 0: nothing either
    assert_int_equal(tl_dhpc_stat(r->d, TL_DHPC_CANCELS), 0);
    assert_int_equal(csrr(r, HPCC), go(ID_FULL) - 1 + TL_DHPC_EMPTY);
}

static void test_t16_the_id_is_held_while_a_request_runs(void **state) {
    rig *r = *state;
    rig_start(r, ID_FULL, UINT64_MAX);
    csrw(r, HPCC, go(ID_OTHER) | TL_DHPC_USEREN);
    // The bit useren is not held.
    assert_int_equal(csrr(r, HPCC), go(ID_FULL) | TL_DHPC_USEREN | TL_DHPC_EMPTY);
    csrrs(r, HPCC, (uint64_t)0x1ffff << 4);
    assert_int_equal(csrr(r, HPCC) & ~UINT64_C(0xf), (go(ID_FULL) & ~UINT64_C(1)) | TL_DHPC_USEREN);
    csrw(r, HPCC, go(ID_OTHER) & ~UINT64_C(1)); // cancels, and then takes the id
    assert_int_equal(csrr(r, HPCC) & ~UINT64_C(0xf), go(ID_OTHER) & ~UINT64_C(1));
}

static uint64_t peek(rig *r, uint32_t csr) { // reads without side effects
    uint64_t value = csrr(r, csr);
    r->now -= 1;
    return value;
}

static void test_t17_useren_decides_by_the_operand(void **state) {
    rig *r = *state;
    const tl_priv modes[] = {TL_PRIV_M, TL_PRIV_S, TL_PRIV_U};
    uint32_t n_denied = 0;
    for (uint32_t running = 0; running < 2; running++)
        for (uint32_t useren = 0; useren < 2; useren++)
            for (size_t m = 0; m < 3; m++)
                for (uint32_t instruction = 0; instruction < 6; instruction++)
                    for (uint32_t bit = 0; bit < 2; bit++) {
                        r->priv = TL_PRIV_M;
                        csrw(r, HPCC, useren ? TL_DHPC_USEREN : 0);
                        r->now += 100;
                        csrw(r, HPCM, UINT64_MAX);
                        if (running)
                            csrrs(r, HPCC, go(ID_FULL));
                        tl_reg_use op = (tl_reg_use)(instruction % 3);
                        bool is_denied = modes[m] == TL_PRIV_U && !useren && bit && op != TL_REG_CLEAR;
                        uint64_t before[3] = {peek(r, HPCC), peek(r, HPCM), r->d->clients[0]->latch};
                        uint32_t fifo_n = r->d->clients[0]->fifo_n;
                        r->priv = modes[m];
                        rig_execute(r, ACCESS(.csr = HPCC, .op = op, .operand = 2 | bit, .is_immediate = instruction >= 3));
                        if (r->has_trapped != is_denied)
                            fail_msg("running %u, useren %u, mode %d, instruction %u, bit %u: trapped %d", running, useren, modes[m],
                                     instruction, bit, r->has_trapped);
                        r->now -= 1;
                        n_denied += is_denied;
                        if (is_denied) { // read in that cycle
                            assert_int_equal(peek(r, HPCC), before[0]);
                            assert_int_equal(peek(r, HPCM), before[1]);
                            assert_int_equal(r->d->clients[0]->latch, before[2]);
                            assert_int_equal(r->d->clients[0]->fifo_n, fifo_n);
                        }
                        r->now += 3;
                        assert_int_equal(csrr(r, HPCC) & TL_DHPC_USEREN, before[0] & TL_DHPC_USEREN & (m < 2 && op == 0 ? 0 : UINT64_MAX));
                    }
    assert_int_equal(n_denied, 2 * 4);
    assert_int_equal(tl_dhpc_stat(r->d, TL_DHPC_DENIALS), 8);
}

static void test_t17_user_mode_reads_useren_and_cannot_change_it(void **state) {
    rig *r = *state;
    csrw(r, HPCC, TL_DHPC_USEREN);
    r->priv = TL_PRIV_U;
    csrw(r, HPCC, go(ID_FULL));
    assert_false(r->has_trapped);
    assert_int_equal(csrr(r, HPCC), go(ID_FULL) | TL_DHPC_USEREN | TL_DHPC_EMPTY);
    csrrc(r, HPCC, TL_DHPC_USEREN);
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_USEREN, TL_DHPC_USEREN);
    r->priv = TL_PRIV_S;
    csrrc(r, HPCC, TL_DHPC_USEREN);
    r->priv = TL_PRIV_U;
    csrrs(r, HPCC, TL_DHPC_USEREN);
    assert_false(r->has_trapped);
    assert_int_equal(csrr(r, HPCC) & TL_DHPC_USEREN, 0);
}

static void test_t18_strict_user_shuts_the_registers(void **state) {
    (void)state;
    for (uint32_t access_bits = 32; access_bits <= 64; access_bits += 32) {
        rig rig_, *r = &rig_;
        tl_dhpc_config config = tl_dhpc_defaults;
        config.strict_user = true;
        rig_init(r, &config, access_bits, 2);
        uint64_t started = rig_start(r, ID_FULL, 1);
        r->now += 20;
        r->priv = TL_PRIV_U;
        const uint32_t shut[] = {HPCM, HPCR, HPCMH, HPCRH};
        uint32_t n_denied = 0;
        for (size_t i = 0; i < (access_bits == 32 ? 4 : 2); i++) {
            csrr(r, shut[i]);
            assert_true(r->has_trapped);
            n_denied += 1;
            if (shut[i] == HPCM || shut[i] == HPCMH) {
                csrw(r, shut[i], 0);
                assert_true(r->has_trapped);
                csrrc(r, shut[i], 0);
                assert_true(r->has_trapped);
                n_denied += 2;
            }
        }
        csrrc(r, HPCC, 1); // every write of hpcc
        assert_true(r->has_trapped);
        csrw(r, HPCC, 0);
        assert_true(r->has_trapped);
        assert_int_equal(csrr(r, HPCC), go(ID_FULL) & ~UINT64_C(1)); // reading it is permitted
        assert_false(r->has_trapped);
        assert_int_equal(tl_dhpc_stat(r->d, TL_DHPC_DENIALS), n_denied + 2);
        r->priv = TL_PRIV_M;
        // No instruction has read it.
        assert_int_equal(csrr(r, HPCR), stamp(started + LATENCY - 1, WHICH_FULL));
        csrrs(r, HPCC, TL_DHPC_USEREN);
        r->priv = TL_PRIV_U;
        csrw(r, HPCM, 1);
        assert_false(r->has_trapped);
        csrr(r, HPCR);
        assert_false(r->has_trapped);
        rig_done(r);
    }
}

static void test_only_managers_of_the_fabric_are_found(void **state) {
    (void)state;
    rig rig_, *r = &rig_;
    rig_init(r, &tl_dhpc_defaults, 64, 2);
    r->d->n_managers -= 1; // the last one lies behind the array now
    for (uint32_t hart = 0; hart < 2; hart++) {
        assert_int_equal(tl_dhpc_port_of(r->d->clients[hart], ID_OTHER), 2);
        assert_int_equal(tl_dhpc_port_of(r->d->clients[hart], ID_FABRIC), 3 + hart);
    }
    rig_done(r);
}

static void test_classes_can_be_hidden_from_user_mode(void **state) {
    (void)state;
    rig rig_, *r = &rig_;
    tl_dhpc_config config = tl_dhpc_defaults;
    config.user_class_mask = 1 << TL_DHPC_LLC;
    rig_init(r, &config, 64, 1);
    csrrs(r, HPCC, TL_DHPC_USEREN);
    for (int mode = TL_PRIV_U; mode <= TL_PRIV_S; mode++) {
        r->priv = (tl_priv)mode;
        rig_start(r, ID_FULL, 3);
        r->now += 20;
        assert_int_equal(csrr(r, HPCM), mode == TL_PRIV_U ? 0 : 3);
        csrr(r, HPCC);
        rig_start(r, ID_OTHER, 3);
        r->now += 20;
        assert_int_equal(csrr(r, HPCM), 3);
        r->priv = TL_PRIV_M;
        csrrs(r, HPCC, TL_DHPC_USEREN);
    }
    rig_done(r);
}

static void test_interrupted_is_set_by_the_policy_and_cleared_by_hpcm(void **state) {
    (void)state;
    const struct {
        tl_dhpc_ctxsw policy;
        uint32_t sets; // bit by tl_dhpc_notice_kind
    } rows[] = {{TL_DHPC_TRAP, 1 << TL_DHPC_TRAP_ENTRY | 1 << TL_DHPC_TRAP_RETURN | 1 << TL_DHPC_DEBUG},
                {TL_DHPC_SATP, 1 << TL_DHPC_SATP_WRITTEN},
                {TL_DHPC_ECALL, 1 << TL_DHPC_ECALL_TAKEN},
                {TL_DHPC_NEVER_SET, 0}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        rig rig_, *r = &rig_;
        tl_dhpc_config config = tl_dhpc_defaults;
        config.ctxsw_policy = rows[i].policy;
        rig_init(r, &config, 64, 2);
        for (int kind = TL_DHPC_TRAP_ENTRY; kind <= TL_DHPC_DEBUG; kind++) {
            csrw(r, HPCM, 0);
            assert_int_equal(csrr(r, HPCC), TL_DHPC_EMPTY);
            tl_dhpc_notice(r->d, 0, (tl_dhpc_notice_kind)kind, r->now);
            uint64_t want = rows[i].sets >> kind & 1 ? TL_DHPC_INTERRUPTED : 0;
            assert_int_equal(csrr(r, HPCC), TL_DHPC_EMPTY | want);
            csrrc(r, HPCC, TL_DHPC_INTERRUPTED); // not by writing it
            csrr(r, HPCR);
            assert_int_equal(csrr(r, HPCC) & TL_DHPC_INTERRUPTED, want); // sticky
            r->hart = 1;
            assert_int_equal(csrr(r, HPCC), TL_DHPC_EMPTY); // a matter of its own hart
            r->hart = 0;
        }
        rig_done(r);
    }
}

static void test_functional_mode_completes_within_the_write(void **state) {
    (void)state;
    rig rig_, *r = &rig_;
    rig_init(r, &tl_dhpc_functional, 64, 2);
    uint64_t started = rig_start(r, ID_SPARSE, 0x3);
    assert_int_equal(csrr(r, HPCC) & 0xf, 0);
    assert_int_equal(csrr(r, HPCM), 0x3);
    assert_int_equal(csrr(r, HPCR), stamp(started, WHICH_SPARSE));
    assert_int_equal(csrr(r, HPCR), stamp(started, WHICH_SPARSE + 1));
    rig_start(r, ID_NOBODY, 0x3);
    assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_EMPTY);
    assert_int_equal(csrr(r, HPCM), 0);
    rig_start(r, ID_FULL, UINT64_MAX); // full; the next waits for room
    csrw(r, HPCC, go(ID_OTHER));
    uint64_t popped = 0;
    for (int k = 0; k < 64; k++) {
        assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_TRIGGER);
        popped = r->now;
        csrr(r, HPCR);
    }
    assert_int_equal(csrr(r, HPCC) & 0xf, 0);
    assert_int_equal(csrr(r, HPCR), stamp(popped, WHICH_OTHER));
    rig_done(r);
}

static void test_snapshot_takes_all_values_in_the_cycle_of_acceptance(void **state) {
    (void)state;
    rig rig_, *r = &rig_;
    tl_dhpc_config config = tl_dhpc_defaults;
    config.sampling = TL_DHPC_SNAPSHOT;
    config.beat = 7;
    rig_init(r, &config, 64, 2);
    uint64_t started = rig_start(r, ID_FULL, 0xff);
    r->now += 200;
    for (uint32_t k = 0; k < 8; k++)
        assert_int_equal(csrr(r, HPCR), stamp(started + 2, WHICH_FULL + k)); // t_req + t_grant
    rig_done(r);
}

static void test_beats_are_apart_and_parameters_add_up(void **state) {
    (void)state;
    rig rig_, *r = &rig_;
    tl_dhpc_config config = tl_dhpc_defaults;
    config.t_req = 3, config.t_grant = 5, config.t_lookup = 7, config.t_resp = 11, config.beat = 13;
    rig_init(r, &config, 64, 2);
    uint64_t started = rig_start(r, ID_FULL, 7);
    for (uint64_t k = 0; k < 3; k++) {
        r->now = started + 26 + k * 13 - 1;
        assert_int_equal(csrr(r, HPCC) & TL_DHPC_EMPTY, TL_DHPC_EMPTY);
        assert_int_equal(csrr(r, HPCC) & TL_DHPC_EMPTY, 0);
        assert_int_equal(csrr(r, HPCR), stamp(started + 15 + k * 13, WHICH_FULL + (uint32_t)k));
    }
    rig_done(r);
}

// A counter that passes 2^32 while a request runs and between two.
static uint64_t passing(void *ctx, uint32_t which, uint32_t hart, uint64_t cycle) {
    (void)ctx, (void)hart;
    return UINT64_C(0xffffffff) - 104 + cycle + ((uint64_t)which << 40);
}

static void test_t40_rv32_halves(void **state) {
    (void)state;
    rig rig_, *r = &rig_;
    rig_init(r, &tl_dhpc_defaults, 32, 2);
    csrw(r, HPCM, 0x11);
    csrw(r, HPCMH, 0x80000001);
    assert_int_equal(csrr(r, HPCM), 0x11);
    assert_int_equal(csrr(r, HPCMH), 0x80000001);
    tl_dhpc_notice(r->d, 0, TL_DHPC_TRAP_RETURN, r->now);
    // A write of hpcmh has no side effects. The switch between the two writes stays visible.
    csrw(r, HPCMH, 0x80000000);
    assert_int_equal(csrr(r, HPCC), TL_DHPC_EMPTY | TL_DHPC_INTERRUPTED);
    csrw(r, HPCM, 0x11); // clears the upper half, too
    assert_int_equal(csrr(r, HPCMH), 0);
    assert_int_equal(csrr(r, HPCC), TL_DHPC_EMPTY);
    csrw(r, HPCMH, 0x80000000);
    uint64_t started = r->now;
    csrw(r, HPCC, go(ID_FULL) | UINT64_C(0xff) << 32); // more than the register is wide: not there
    csrw(r, HPCMH, 0xff);                              // ignored while it runs
    assert_int_equal(csrr(r, HPCM), 0);
    r->now += 20;
    assert_int_equal(csrr(r, HPCM), 0x11);
    assert_int_equal(csrr(r, HPCMH), 0x80000000);
    const uint32_t bits[] = {0, 4, 63};
    for (uint32_t k = 0; k < 3; k++) {
        uint64_t want = stamp(started + LATENCY - 1 + k, WHICH_FULL + bits[k]);
        assert_int_equal(csrr(r, HPCR), want & UINT32_MAX);
        assert_int_equal(csrr(r, HPCRH), want >> 32);
        assert_int_equal(csrr(r, HPCRH), want >> 32); // does not pop
    }
    assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_EMPTY);
    csrr(r, HPCRH); // nor does it set readerror
    assert_int_equal(csrr(r, HPCC) & 0xf, TL_DHPC_EMPTY);
    csrw(r, HPCRH, 0);
    assert_true(r->has_trapped);
    rig_done(r);
}

static void test_t40_a_value_that_passes_two_to_the_32nd_is_whole(void **state) {
    (void)state;
    rig rig_, *r = &rig_;
    rig_init(r, &tl_dhpc_defaults, 32, 1);
    r->d->total = passing;
    // Beats are in cycles 104 to 111; the first shows 2^32 - 1.
    uint64_t started = rig_start(r, ID_FULL, 0xff);
    assert_int_equal(started, 101);
    for (uint32_t k = 0; k < 8; k++) {
        while (csrr(r, HPCC) & TL_DHPC_EMPTY)
            continue;
        uint64_t low = csrr(r, HPCR), high = csrr(r, HPCRH);
        assert_int_equal(high << 32 | low, passing(NULL, k, 0, 104 + k));
    }
    assert_int_equal(passing(NULL, 0, 0, 104), UINT64_C(0xffffffff)); // it did pass there
    rig_done(r);
}

static void test_the_port_of_a_hart_does_the_same(void **state) {
    rig *r = *state;
    tl_hart *h = tl_arena_alloc(&r->arena, sizeof *h);
    assert_non_null(h);
    const tl_pmu_port *port = tl_dhpc_port(r->d, 1);
    uint64_t value;
    h->id = 1;
    h->now = 500;
    h->priv = TL_PRIV_U;
    tl_reg_at hpcc, hpcm, hpcr, none;
    assert_true(port->find(port->ctx, HPCC, &hpcc) && port->find(port->ctx, HPCM, &hpcm) && port->find(port->ctx, HPCR, &hpcr));
    static const uint32_t not_there[] = {HPCMH, HPCRH, 0xc00, 0};
    for (size_t i = 0; i < TL_COUNT_OF(not_there); i++)
        assert_false(port->find(port->ctx, not_there[i], &none));
    assert_false(port->permits(port->ctx, h, &hpcr, TL_REG_WRITE, 0));
    assert_true(port->permits(port->ctx, h, &hpcr, TL_REG_READ, 0));
    assert_true(port->permits(port->ctx, h, &hpcc, TL_REG_WRITE, 0));
    assert_false(port->permits(port->ctx, h, &hpcc, TL_REG_SET, 1));
    assert_true(port->permits(port->ctx, h, &hpcc, TL_REG_CLEAR, 1));
    assert_true(port->permits(port->ctx, h, &hpcm, TL_REG_SET, 1));
    h->priv = TL_PRIV_S;
    assert_true(port->permits(port->ctx, h, &hpcc, TL_REG_WRITE, 1));
    port->write(port->ctx, h, &hpcm, 3);
    assert_int_equal(port->deadline(port->ctx, h), UINT64_MAX);
    h->now = 501;
    port->write(port->ctx, h, &hpcc, go(ID_OTHER));
    // Its first beat comes after t_req, t_grant, t_lookup.
    assert_int_equal(port->deadline(port->ctx, h), LATENCY - 1);
    h->now = 504;
    assert_int_equal(port->deadline(port->ctx, h), 0);
    port->poll(port->ctx, h);
    assert_int_equal(port->deadline(port->ctx, h), 1);
    h->now = 505;
    port->poll(port->ctx, h);
    assert_int_equal(port->deadline(port->ctx, h), UINT64_MAX);
    h->now = 600;
    for (int n = 0; n < 2; n++) // the value alone takes nothing
        assert_int_equal(port->read(port->ctx, h, &hpcr), stamp(504, WHICH_OTHER));
    assert_true(tl_port_read(port, h, HPCC, &value));
    assert_false(value & TL_DHPC_EMPTY);
    assert_true(tl_port_read(port, h, HPCR, &value));
    assert_int_equal(value, stamp(504, WHICH_OTHER));
    assert_true(tl_port_read(port, h, HPCR, &value)); // the second of two
    assert_true(tl_port_read(port, h, HPCC, &value));
    assert_true(value & TL_DHPC_EMPTY);
    // A core's manager is its own hart's business, whoever asks.
    port->write(port->ctx, h, &hpcc, go(ID_FULL));
    assert_int_equal(port->deadline(port->ctx, h), UINT64_MAX);
    const tl_pmu_port *owner = tl_dhpc_port(r->d, 0);
    assert_int_equal(owner->deadline(owner->ctx, h), LATENCY - 1);
}

// Reads the value without side effects, unseen by the machine.
static bool look_at(tl_regfile *file, uint32_t addr, uint64_t *ret_value) {
    tl_reg_at at;
    if (!tl_regfile_find(file, addr, &at))
        return false;
    *ret_value = tl_regfile_value_at(file, &at);
    return true;
}

static void test_the_register_map_is_sound(void **state) {
    rig *r = *state;
    tl_error err;
    uint64_t value;
    assert_int_equal(tl_regmap_check(&tl_dhpc_regmap, &err), TL_OK);
    // This access comes without an instruction. It reads, and removes nothing.
    tl_regfile *file = &tl_dhpc_pmu(r->d, 0)->file;
    rig_start(r, ID_FULL, 1);
    r->now += 20;
    csrr(r, HPCC);
    assert_true(look_at(file, HPCR, &value));
    csrri(r, TL_REG_CLEAR, HPCC, 1); // nor after an instruction that reads and writes
    assert_true(look_at(file, HPCR, &value));
    assert_true(look_at(file, HPCC, &value));
    assert_int_equal(value & 0xf, 0);
}

static void test_configurations_that_cannot_be_built_are_named(void **state) {
    (void)state;
    const struct {
        tl_dhpc_config config;
        const char *what;
    } rows[] = {
#define WITH(field, value, text) {.config = tl_dhpc_defaults, .what = text}
        WITH(fifo_depth, 0, "dhpc.fifo_depth = 0: must be 1 to 1024"),
        WITH(t_req, 0, "dhpc.t_req = 0: must be 1 to 1000000 cycles"),
        WITH(beat, 0, "dhpc.beat = 0: must be 1 to 1000000 cycles"),
        WITH(hpcc, 0x7c0, "dhpc.hpcc = 0x7c0: must be a writable register of user level, such as 0x8e0"),
        WITH(hpcr, 0x8ff, "dhpc.hpcr = 0x8ff: must be a read-only register of user level, such as 0xce0"),
        WITH(hpcm, 0x8e0, "dhpc.hpcm = 0x8e0: hpcc has that number already"),
    };
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++) {
        tl_dhpc_config config = tl_dhpc_defaults;
        tl_error err = {0};
        switch (i) {
        case 0: config.fifo_depth = 0; break;
        case 1: config.t_req = 0; break;
        case 2: config.beat = 0; break;
        case 3: config.hpcc = 0x7c0; break;
        case 4: config.hpcr = 0x8ff; break;
        default: config.hpcm = 0x8e0; break;
        }
        assert_int_equal(tl_dhpc_config_check(&config, &err), TL_EINVAL);
        assert_string_equal(err.text, rows[i].what);
    }
}

// Both ends of every range, and one beyond.
static void test_ranges_of_the_configuration_end_where_they_should(void **state) {
    (void)state;
    static const struct {
        size_t at;
        uint32_t least, most;
    } rows[] = {{offsetof(tl_dhpc_config, fifo_depth), 1, 1024}, {offsetof(tl_dhpc_config, t_req), 1, 1000000},
                {offsetof(tl_dhpc_config, t_grant), 0, 1000000}, {offsetof(tl_dhpc_config, t_lookup), 0, 1000000},
                {offsetof(tl_dhpc_config, t_resp), 1, 1000000},  {offsetof(tl_dhpc_config, beat), 1, 1000000},
                {offsetof(tl_dhpc_config, hpcc), 0x800, 0x8ff},  {offsetof(tl_dhpc_config, hpcmh), 0x400, 0x4ff},
                {offsetof(tl_dhpc_config, hpcrh), 0xc00, 0xcff}};
    tl_error err;
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++)
        for (uint32_t k = 0; k < 4; k++) {
            tl_dhpc_config config = tl_dhpc_defaults;
            uint32_t value = k == 0 ? rows[i].least - 1 : k == 1 ? rows[i].least : k == 2 ? rows[i].most : rows[i].most + 1;
            memcpy((char *)&config + rows[i].at, &value, sizeof value);
            assert_int_equal(tl_dhpc_config_check(&config, &err), k == 1 || k == 2 ? TL_OK : TL_EINVAL);
        }
    tl_dhpc_config config = tl_dhpc_defaults;
    config.hpcc = 0x18e0; // more than twelve bits
    assert_int_equal(tl_dhpc_config_check(&config, &err), TL_EINVAL);
}

static tl_status build(rig *r, uint32_t access_bits, uint32_t n_harts, const tl_dhpc_manager *managers, uint32_t n_managers) {
    tl_error err;
    return tl_dhpc_new(&tl_dhpc_defaults, access_bits, n_harts, managers, n_managers, stamped, NULL, &r->arena, &r->d, &err);
}

static void test_managers_that_cannot_be_built_are_refused(void **state) {
    (void)state;
    rig rig_ = {0}, *r = &rig_;
    tl_dhpc_manager two[2] = {stamped_manager(0x1fffe, TL_DHPC_NO_HART, 1, 0), stamped_manager(0x1ffff, TL_DHPC_NO_HART, 1, 0)};
    assert_int_equal(build(r, 64, 2, two, 2), TL_OK);
    two[1].id = 0x1fffe; // twice
    assert_int_equal(build(r, 64, 2, two, 2), TL_EINVAL);
    two[1].id = 0x1fffd;
    assert_int_equal(build(r, 64, 2, two, 2), TL_EINVAL);
    two[1].id = 0x20000;
    assert_int_equal(build(r, 64, 2, two, 2), TL_EINVAL);
    two[1].id = 0x1ffff;
    for (uint32_t which = 0; which <= 9; which++)
        for (uint32_t hart = 0; hart <= 3; hart++) {
            two[1].hart = hart;
            two[1].counters[0] = (tl_dhpc_counter){TL_DHPC_FROM_CLIENT, which};
            assert_int_equal(build(r, 64, 2, two, 2), which < 3 && hart < 2 ? TL_OK : TL_EINVAL);
            two[1].counters[0] = (tl_dhpc_counter){TL_DHPC_FROM_FABRIC, which};
            assert_int_equal(build(r, 64, 2, two, 2), which < 8 ? TL_OK : TL_EINVAL);
        }
    two[1].implemented = 0; // what is not built cannot be wrong
    assert_int_equal(build(r, 64, 2, two, 2), TL_OK);
    static const struct {
        uint32_t access_bits, n_harts;
        tl_status want;
    } rows[] = {{64, 0, TL_EINVAL}, {64, 1, TL_OK},     {64, 64, TL_OK},    {64, 65, TL_EINVAL},
                {32, 1, TL_OK},     {16, 1, TL_EINVAL}, {128, 1, TL_EINVAL}};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++)
        assert_int_equal(build(r, rows[i].access_bits, rows[i].n_harts, two, 1), rows[i].want);
    rig_done(r);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
static const struct CMUnitTest tests[] = {
    CASE(test_t01_reset_values),
    CASE(test_reset_forgets_registers_data_and_requests),
    CASE(test_reset_clears_the_latch_of_hpcr),
    CASE(test_a_fifo_of_1024_fills),
    CASE(test_t02_every_bit_of_hpcc_in_every_mode_with_every_instruction),
    CASE(test_t03_writes_of_hpcr_trap_and_do_not_pop),
    CASE(test_t04_what_does_not_read_does_not_pop),
    CASE(test_t05_a_read_of_nothing_sets_readerror_and_shows_the_latch),
    CASE(test_t06_a_start_clears_hpcm_and_each_datum_sets_its_bit),
    CASE(test_t07_a_write_of_hpcm_while_a_request_runs_does_nothing),
    CASE(test_t08_trigger_clears_in_the_cycle_in_which_the_last_datum_can_be_read),
    CASE(test_t09_cancel_before_grant_during_data_and_in_the_last_beat),
    CASE(test_t09_a_request_that_waits_for_another_hart_can_be_cancelled),
    CASE(test_t10_nothing_selected_and_nobody_there_complete),
    CASE(test_t11_counters_that_are_not_built_are_skipped_and_all_ones_discovers),
    CASE(test_t12_data_come_in_ascending_order),
    CASE(test_t13_sixty_four_of_sixty_four_fit),
    CASE(test_t14_a_request_without_room_waits_in_its_client_and_blocks_nobody),
    CASE(test_t14_two_requests_queue_up_in_order),
    CASE(test_t15_writing_trigger_again_does_not_restart),
    CASE(test_t16_the_id_is_held_while_a_request_runs),
    CASE(test_t17_useren_decides_by_the_operand),
    CASE(test_t17_user_mode_reads_useren_and_cannot_change_it),
    CASE(test_t18_strict_user_shuts_the_registers),
    CASE(test_only_managers_of_the_fabric_are_found),
    CASE(test_classes_can_be_hidden_from_user_mode),
    CASE(test_interrupted_is_set_by_the_policy_and_cleared_by_hpcm),
    CASE(test_functional_mode_completes_within_the_write),
    CASE(test_snapshot_takes_all_values_in_the_cycle_of_acceptance),
    CASE(test_beats_are_apart_and_parameters_add_up),
    CASE(test_t40_rv32_halves),
    CASE(test_t40_a_value_that_passes_two_to_the_32nd_is_whole),
    CASE(test_the_port_of_a_hart_does_the_same),
    CASE(test_the_register_map_is_sound),
    CASE(test_configurations_that_cannot_be_built_are_named),
    CASE(test_ranges_of_the_configuration_end_where_they_should),
    CASE(test_managers_that_cannot_be_built_are_refused),
};

TL_TEST_MAIN(tests)
