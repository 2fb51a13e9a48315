// SPDX-License-Identifier: MIT
// Software against the unit: the two published algorithms as printed, then with one defect after
// another repaired, and the reference reader under preemption. Programs are written instruction by
// instruction. Each call executes one of them, because a trap must be able to come between any two.
// D1 to D9 are the defects of docs/dhpc.md. D10 is an addition: software that reads `interrupted`
// first and hpcm afterwards can receive another thread's hpcm.
#include "isa/rv/arch.h"
#include "pmu/dhpc/test_rig.h"

enum { D1 = 1 << 1, D2 = 1 << 2, D3 = 1 << 3, D4 = 1 << 4, D5 = 1 << 5, D6 = 1 << 6, D10 = 1 << 10, REPAIRED = ~0, AS_PRINTED = 0 };
enum { PATIENCE = 2000 }; // reads of an empty FIFO that never fills

typedef struct thread {
    uint32_t line; // next line; 0: the beginning
    uint32_t id, process;
    uint64_t bitmap;
    // Results.
    uint64_t out[TL_DHPC_COUNTERS + 1], n, m;
    uint64_t first_cycle; // of the attempt that gave them
    bool is_done, hangs;
    uint64_t n_retries;
    // Registers of its program.
    uint64_t i, hpcnumber, s, n_looks;
} thread;

static void begin(thread *t, uint32_t id, uint64_t bitmap) {
    *t = (thread){.id = id, .bitmap = bitmap, .process = t->process, .n_retries = t->n_retries};
}

// Ends an instruction; the next call continues here.
#define STEP            \
    t->line = __LINE__; \
    return;             \
    case __LINE__:;

// Algorithm 1, or 2 with is_second. `repaired` lists the repaired defects.
static void published(thread *t, rig *r, bool is_second, int repaired) {
    switch (t->line) {
    case 0:
        do {
            t->first_cycle = r->now;
            if (is_second) {
                csrri(r, TL_REG_CLEAR, HPCC, 1); // D7: clears trigger only, unlike the text
                STEP
            }
            if (repaired & D3)
                csrw(r, HPCM, t->bitmap);
            else
                csrrs(r, HPCM, t->bitmap);
            STEP t->s = repaired & D1 ? go(t->id) : ((uint64_t)t->id << TL_DHPC_ID_LSB & TL_DHPC_TRIGGER);
            if (repaired & D2)
                csrw(r, HPCC, t->s);
            else
                csrrs(r, HPCC, t->s);
            STEP t->hpcnumber = (uint64_t)__builtin_popcountll(t->bitmap);
            t->n = 0;
            for (t->i = 0; repaired & D4 ? t->i < t->hpcnumber : t->i <= t->hpcnumber; t->i++) {
                t->n_looks = 0;
                do {
                    t->s = csrr(r, HPCC);
                    if (++t->n_looks == PATIENCE) {
                        t->hangs = t->is_done = true;
                        return;
                    }
                    STEP if ((repaired & D6) && (t->s & TL_DHPC_INTERRUPTED)) break;
                    if ((repaired & D5) && (t->s & (TL_DHPC_EMPTY | TL_DHPC_TRIGGER)) == TL_DHPC_EMPTY)
                        break;
                } while (t->s & TL_DHPC_EMPTY);
                if (t->s & TL_DHPC_EMPTY)
                    break;
                t->out[t->n++] = csrr(r, HPCR);
                STEP
            }
            t->s = is_second ? csrr(r, HPCC) : 0;
            t->n_retries += (t->s & TL_DHPC_INTERRUPTED) != 0;
            STEP
        } while (t->s & TL_DHPC_INTERRUPTED);
    }
    t->is_done = true;
}

// The reference reader of the library. Without D10 repaired: in the order of the specification's
// pseudo-code.
static void reference(thread *t, rig *r, int repaired) {
    switch (t->line) {
    case 0:
        for (;;) {
            t->first_cycle = r->now;
            csrri(r, TL_REG_CLEAR, HPCC, 1);
            STEP csrw(r, HPCM, t->bitmap);
            STEP csrw(r, HPCC, go(t->id)); // in user mode useren stays as it is
            STEP t->n = 0;
            for (;;) {
                t->s = csrr(r, HPCC);
                STEP if (t->s & TL_DHPC_INTERRUPTED) break;
                if (!(t->s & TL_DHPC_EMPTY)) {
                    t->out[t->n++ % TL_DHPC_COUNTERS] = csrr(r, HPCR);
                    STEP continue;
                }
                if (!(t->s & TL_DHPC_TRIGGER))
                    break;
            }
            if (repaired & D10) {
                t->m = csrr(r, HPCM);
                STEP
            }
            t->s = csrr(r, HPCC);
            STEP if (!(repaired & D10)) {
                t->m = csrr(r, HPCM);
                STEP
            }
            if (!(t->s & (TL_DHPC_INTERRUPTED | TL_DHPC_READERROR)))
                break;
            t->n_retries++;
        }
    }
    t->is_done = true;
}

static void finish_published(thread *t, rig *r, bool is_second, int repaired) {
    while (!t->is_done)
        published(t, r, is_second, repaired);
}

static void finish_reference(thread *t, rig *r) {
    while (!t->is_done)
        reference(t, r, REPAIRED);
}

// Managers whose ids differ in one bit each, and the one whose id is both.
#define ID_ONE TL_DHPC_ID(TL_DHPC_CORE, 0, 1)
#define ID_TWO TL_DHPC_ID(TL_DHPC_CORE, 0, 2)
#define ID_BOTH TL_DHPC_ID(TL_DHPC_CORE, 0, 3)
static const struct {
    uint32_t id;
    uint64_t implemented;
} built[] = {{ID_ONE, 0xffff}, {ID_TWO, 0xff0f}, {ID_BOTH, UINT64_MAX}};

static void rig_open(rig *r, tl_dhpc_ctxsw policy) {
    tl_dhpc_manager managers[3];
    tl_dhpc_config config = tl_dhpc_defaults;
    tl_error err;
    config.ctxsw_policy = policy;
    *r = (rig){.now = 100, .priv = TL_PRIV_M};
    for (uint32_t m = 0; m < 3; m++)
        managers[m] = stamped_manager(built[m].id, 0, built[m].implemented, built[m].id << 8);
    if (tl_dhpc_new(&config, 64, 1, managers, 3, stamped, NULL, &r->arena, &r->d, &err) != TL_OK)
        fail_msg("%s", err.text);
    csrw(r, HPCC, TL_DHPC_USEREN);
    r->priv = TL_PRIV_U;
}

static uint64_t implemented_by(uint32_t id) {
    for (size_t m = 0; m < TL_COUNT_OF(built); m++)
        if (built[m].id == id)
            return built[m].implemented;
    return 0;
}

// True if the thread holds exactly the requested data, taken since its last attempt began.
static bool is_right(const thread *t, uint64_t now) {
    uint64_t want = t->bitmap & implemented_by(t->id), last = t->first_cycle;
    if (t->hangs || t->m != want || t->n != (uint64_t)__builtin_popcountll(want))
        return false;
    for (uint64_t k = 0, bits = want; k < t->n; k++, bits &= bits - 1) {
        uint64_t cycle = t->out[k] >> 16;
        if ((t->out[k] & 0xffff) != (t->id << 8) + (uint32_t)__builtin_ctzll(bits) || cycle < last || cycle >= now)
            return false;
        last = cycle;
    }
    return true;
}

// ---- the printed forms ----

static void test_d1_id_and_trigger_starts_nothing(void **state) {
    (void)state;
    rig r;
    thread t = {0};
    rig_open(&r, TL_DHPC_TRAP);
    begin(&t, ID_ONE, 0x7);
    finish_published(&t, &r, false, AS_PRINTED);
    assert_true(t.hangs);
    assert_int_equal(t.n, 0);
    assert_int_equal(tl_dhpc_stat(r.d, TL_DHPC_REQUESTS), 0);
    rig_done(&r);
}

static void test_t20_literal_algorithm_1_hangs_after_the_last_datum(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= 16; n++) {
        rig r;
        thread t = {0};
        rig_open(&r, TL_DHPC_TRAP);
        begin(&t, ID_ONE, (UINT64_C(1) << n) - 1);
        finish_published(&t, &r, false, D1); // all else as printed
        assert_true(t.hangs);                // D4
        assert_int_equal(t.n, n);
        assert_int_equal(csrr(&r, HPCC) & 0xf, TL_DHPC_EMPTY); // trigger = 0 and empty = 1 for ever
        begin(&t, ID_ONE, (UINT64_C(1) << n) - 1);
        finish_published(&t, &r, false, D1 | D4);
        assert_false(t.hangs);
        t.m = csrr(&r, HPCM);
        assert_true(is_right(&t, r.now));
        rig_done(&r);
    }
}

static void test_d5_counting_bits_hangs_when_some_are_not_built(void **state) {
    (void)state;
    rig r;
    thread t = {0};
    rig_open(&r, TL_DHPC_TRAP);
    begin(&t, ID_TWO, 0xff);
    finish_published(&t, &r, false, D1 | D2 | D3 | D4);
    assert_true(t.hangs);
    assert_int_equal(t.n, 4);
    begin(&t, ID_TWO, 0xff);
    finish_published(&t, &r, false, D1 | D2 | D3 | D4 | D5);
    t.m = csrr(&r, HPCM);
    assert_true(is_right(&t, r.now));
    rig_done(&r);
}

static void test_t21_set_bits_reach_a_wrong_manager_and_a_union_of_counters(void **state) {
    (void)state;
    rig r;
    thread t = {0};
    rig_open(&r, TL_DHPC_TRAP);
    begin(&t, ID_ONE, 0x3);
    finish_published(&t, &r, false, D1 | D3 | D4);
    assert_false(t.hangs);
    begin(&t, ID_TWO, 0x3); // D2
    finish_published(&t, &r, false, D1 | D3 | D4);
    assert_false(t.hangs);
    assert_int_equal(t.out[0] & 0xffff, ID_BOTH << 8); // neither of the two
    assert_int_equal(t.out[1] & 0xffff, (ID_BOTH << 8) + 1);
    rig_done(&r);

    rig_open(&r, TL_DHPC_TRAP);
    begin(&t, ID_ONE, 0x5);
    finish_published(&t, &r, false, D1 | D2 | D4);
    assert_int_equal(t.out[1] & 0xffff, (ID_ONE << 8) + 2);
    begin(&t, ID_ONE, 0x18); // D3: receipts 0x5 still stand in hpcm
    finish_published(&t, &r, false, D1 | D2 | D4);
    assert_false(t.hangs);
    assert_int_equal(t.out[0] & 0xffff, ID_ONE << 8); // not counters 3 and 4
    assert_int_equal(t.out[1] & 0xffff, (ID_ONE << 8) + 2);
    assert_int_equal(csrr(&r, HPCC) & TL_DHPC_EMPTY, 0); // and two more that no thread reads
    assert_int_equal(csrr(&r, HPCM), 0x1d);
    rig_done(&r);
}

// A timer interrupt that switches to another thread, and the return.
static void enter(rig *r) { tl_dhpc_notice(r->d, 0, TL_DHPC_TRAP_ENTRY, r->now++); }
static void leave(rig *r) { tl_dhpc_notice(r->d, 0, TL_DHPC_TRAP_RETURN, r->now++); }

static void test_t22_literal_algorithm_2_hangs_when_another_thread_takes_its_data(void **state) {
    (void)state;
    for (int repaired = 0; repaired < 2; repaired++) {
        rig r;
        thread a = {0}, b = {0};
        const int but_d6 = D1 | D2 | D3 | D4, both = but_d6 | (repaired ? D6 : 0);
        rig_open(&r, TL_DHPC_TRAP);
        begin(&a, ID_ONE, 0xf);
        for (int k = 0; k < 4; k++) // cancel, hpcm, hpcc, one read
            published(&a, &r, true, both);
        enter(&r); // the other thread aborts the request, makes its own, and drains the FIFO
        leave(&r);
        begin(&b, ID_ONE, 0x1);
        finish_published(&b, &r, true, but_d6);
        assert_false(b.hangs);
        enter(&r);
        leave(&r);
        finish_published(&a, &r, true, both);
        // D6: the test of `interrupted` stands behind the loop that never ends.
        assert_int_equal(a.hangs, !repaired);
        if (repaired) {
            a.m = csrr(&r, HPCM);
            assert_true(is_right(&a, r.now));
            assert_int_equal(a.n_retries, 1);
        }
        rig_done(&r);
    }
}

static void test_d7_and_d9_writing_all_of_hpcc_revokes_the_user_s_access(void **state) {
    (void)state;
    rig r;
    rig_open(&r, TL_DHPC_TRAP);
    csrw(&r, HPCC, go(ID_ONE)); // a user cannot
    assert_int_equal(csrr(&r, HPCC) & TL_DHPC_USEREN, TL_DHPC_USEREN);
    r.priv = TL_PRIV_S;
    csrri(&r, TL_REG_CLEAR, HPCC, 1); // the right way to give up
    assert_int_equal(csrr(&r, HPCC) & TL_DHPC_USEREN, TL_DHPC_USEREN);
    csrw(&r, HPCC, 0); // D7
    assert_int_equal(csrr(&r, HPCC) & TL_DHPC_USEREN, 0);
    csrrs(&r, HPCC, TL_DHPC_USEREN);
    csrw(&r, HPCC, go(ID_ONE)); // D9
    assert_int_equal(csrr(&r, HPCC) & TL_DHPC_USEREN, 0);
    r.priv = TL_PRIV_U;
    csrw(&r, HPCC, go(ID_ONE));
    assert_true(r.has_trapped);
    rig_done(&r);
}

static void test_useren_changed_by_read_and_write_starts_a_request_nobody_asked_for(void **state) {
    (void)state;
    rig r;
    rig_open(&r, TL_DHPC_TRAP);
    r.priv = TL_PRIV_S;
    csrw(&r, HPCM, 1);
    csrrs(&r, HPCC, go(ID_ONE));
    uint64_t stale = csrr(&r, HPCC); // trigger = 1
    r.now += 10;                     // meanwhile the request completes
    csrw(&r, HPCC, stale | TL_DHPC_USEREN);
    assert_int_equal(tl_dhpc_stat(r.d, TL_DHPC_REQUESTS), 2);
    csrrs(&r, HPCC, TL_DHPC_USEREN); // as it should be done
    assert_int_equal(tl_dhpc_stat(r.d, TL_DHPC_REQUESTS), 2);
    rig_done(&r);
}

// ---- the reference reader under preemption ----

typedef struct tally_of_runs {
    uint64_t n_runs, n_wrong, n_retries, n_traps;
} tally_of_runs;

enum { THREADS = 3 }; // 0 and 1 share a process

// Threads that only read, with random traps: timer interrupts that switch threads, system calls
// that may switch, and interrupts whose handler uses the unit (handler_reads). `mean_gap` is the
// mean number of instructions between two traps.
static tally_of_runs preempt(tl_dhpc_ctxsw policy, uint64_t n_runs, uint32_t mean_gap, bool handler_reads, int repaired, uint64_t seed) {
    rig r;
    thread threads[THREADS] = {{.process = 0}, {.process = 0}, {.process = 1}};
    uint32_t current = 0;
    uint64_t random = seed;
    tally_of_runs tally = {0};
    rig_open(&r, policy);
    for (uint32_t k = 0; k < THREADS; k++)
        begin(&threads[k], ID_ONE, 1);
    while (tally.n_runs < n_runs) {
        thread *t = &threads[current];
        if (t->is_done || t->line == 0) {
            uint64_t dice = next_random(&random) >> 20;
            begin(t, built[dice % 3].id, (dice & 0x100 ? next_random(&random) & 0xffff : UINT64_C(1) << (dice >> 12 & 15)) | 1);
        }
        reference(t, &r, repaired);
        // Now and then the guest does something slow, and the request may complete.
        r.now += next_random(&random) >> 60 == 0 ? next_random(&random) >> 58 : 0;
        if (t->is_done) {
            tally.n_runs++;
            tally.n_wrong += !is_right(t, r.now);
        }
        if ((next_random(&random) >> 20) % mean_gap != 0)
            continue;
        uint64_t dice = next_random(&random) >> 20;
        bool is_call = dice % 4 == 0, switches = dice >> 4 & 3;
        tally.n_traps++;
        if (is_call)
            tl_dhpc_notice(r.d, 0, TL_DHPC_ECALL_TAKEN, r.now);
        enter(&r);
        r.priv = TL_PRIV_S;
        r.now += dice >> 8 & 63;
        if (handler_reads && (dice >> 16 & 1)) {
            thread handler = {0};
            begin(&handler, built[dice >> 18 & 1].id, (dice >> 20 & 0xff) | 1);
            csrrs(&r, HPCC, TL_DHPC_USEREN);
            finish_reference(&handler, &r);
            assert_true(is_right(&handler, r.now)); // no trap interrupts the handler
            csrrs(&r, HPCC, TL_DHPC_USEREN);        // CSRRW cleared useren (D9)
        }
        if (switches) {
            uint32_t next = (uint32_t)(dice >> 32) % THREADS;
            if (threads[next].process != threads[current].process)
                tl_dhpc_notice(r.d, 0, TL_DHPC_SATP_WRITTEN, r.now);
            current = next;
        }
        r.priv = TL_PRIV_U;
        leave(&r);
    }
    for (uint32_t k = 0; k < THREADS; k++)
        tally.n_retries += threads[k].n_retries;
    rig_done(&r);
    return tally;
}

static void report(const char *what, const tally_of_runs *tally) {
    print_message("%-44s %llu reads, %llu traps: wrong %llu (%.3f %%), retries %llu (%.2f %%)\n", what, (unsigned long long)tally->n_runs,
                  (unsigned long long)tally->n_traps, (unsigned long long)tally->n_wrong,
                  100.0 * (double)tally->n_wrong / (double)tally->n_runs, (unsigned long long)tally->n_retries,
                  100.0 * (double)tally->n_retries / (double)tally->n_runs);
}

static void test_t23_reference_reader_is_never_wrong_with_policy_trap(void **state) {
    (void)state;
    const uint32_t gaps[] = {10, 20, 100, 1000};
    for (size_t g = 0; g < TL_COUNT_OF(gaps); g++) {
        char what[64];
        tally_of_runs tally = preempt(TL_DHPC_TRAP, 100000, gaps[g], false, REPAIRED, 1 + g);
        snprintf(what, sizeof what, "policy trap, a trap in %u instructions", gaps[g]);
        report(what, &tally);
        assert_int_equal(tally.n_runs, 100000);
        assert_int_equal(tally.n_wrong, 0);
        assert_true(tally.n_retries > 0); // preemption did happen
    }
}

static void test_t23_the_other_policies_are_wrong_as_often_as_measured(void **state) {
    (void)state;
    const struct {
        tl_dhpc_ctxsw policy;
        const char *what;
    } rows[] = {{TL_DHPC_SATP, "policy satp"}, {TL_DHPC_ECALL, "policy ecall"}, {TL_DHPC_NEVER_SET, "policy never"}};
    const uint32_t gaps[] = {20, 100, 1000};
    for (size_t i = 0; i < TL_COUNT_OF(rows); i++)
        for (size_t g = 0; g < TL_COUNT_OF(gaps); g++) {
            char what[64];
            tally_of_runs tally = preempt(rows[i].policy, 100000, gaps[g], false, REPAIRED, 11 + g);
            snprintf(what, sizeof what, "%s, a trap in %u instructions", rows[i].what, gaps[g]);
            report(what, &tally);
            assert_true(tally.n_wrong > 0);
        }
}

static void test_t24_a_handler_that_uses_the_unit_does_not_hide_the_interruption(void **state) {
    (void)state;
    tally_of_runs tally = preempt(TL_DHPC_TRAP, 100000, 20, true, REPAIRED, 24);
    report("policy trap, handlers read, too", &tally);
    assert_int_equal(tally.n_wrong, 0);
    tally = preempt(TL_DHPC_NEVER_SET, 100000, 20, true, REPAIRED, 24);
    report("policy never, handlers read, too", &tally);
    assert_true(tally.n_wrong > 0);
}

static void test_d10_hpcm_read_after_the_check_can_be_another_s(void **state) {
    (void)state;
    tally_of_runs tally = preempt(TL_DHPC_TRAP, 100000, 20, false, REPAIRED & ~D10, 3);
    report("policy trap, hpcm read after the check", &tally);
    assert_true(tally.n_wrong > 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_d1_id_and_trigger_starts_nothing),
    cmocka_unit_test(test_t20_literal_algorithm_1_hangs_after_the_last_datum),
    cmocka_unit_test(test_d5_counting_bits_hangs_when_some_are_not_built),
    cmocka_unit_test(test_t21_set_bits_reach_a_wrong_manager_and_a_union_of_counters),
    cmocka_unit_test(test_t22_literal_algorithm_2_hangs_when_another_thread_takes_its_data),
    cmocka_unit_test(test_d7_and_d9_writing_all_of_hpcc_revokes_the_user_s_access),
    cmocka_unit_test(test_useren_changed_by_read_and_write_starts_a_request_nobody_asked_for),
    cmocka_unit_test(test_t23_reference_reader_is_never_wrong_with_policy_trap),
    cmocka_unit_test(test_t23_the_other_policies_are_wrong_as_often_as_measured),
    cmocka_unit_test(test_t24_a_handler_that_uses_the_unit_does_not_hide_the_interruption),
    cmocka_unit_test(test_d10_hpcm_read_after_the_check_can_be_another_s),
};

TL_TEST_MAIN(tests)
