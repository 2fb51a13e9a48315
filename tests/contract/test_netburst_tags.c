// SPDX-License-Identifier: MIT
// Tags of uops on a played core (played_netburst.h): random instructions of two threads are
// renamed, dispatched, retire or are taken back, while counters of tags are written at any time.
// One PMU is told all, and asked of each instruction that retires. The other one is told no more
// than it wants.
#include "played_netburst.h"

enum { RING = 32, MAX_FLIGHT_INSNS = 14, WIDTH = 3, N_PHASES = 12, CLOCKS_OF_PHASE = 300 };

typedef struct stream { // of a thread
    uint64_t retired, renamed;
    tl_uop_event insns[RING];
    bool is_dispatched[RING];
} stream;

static tl_uop_event random_insn(rng *r, uint64_t seq) {
    static const uint8_t classes[] = {TL_CLASS_ALU,   TL_CLASS_LOAD,     TL_CLASS_LOAD,   TL_CLASS_STORE,  TL_CLASS_FP_LOAD,
                                      TL_CLASS_STORE, TL_CLASS_FP_STORE, TL_CLASS_FP_ADD, TL_CLASS_BRANCH, TL_CLASS_JALR};
    tl_uop_event e = {.cls = classes[below(r, TL_COUNT_OF(classes))], .seq = seq, .n_uops = 1, .size_bytes = 8, .pc = 0x1000 + 4 * seq};
    const bool is_access = e.cls >= TL_CLASS_LOAD && e.cls <= TL_CLASS_FP_STORE;
    e.n_uops = e.cls == TL_CLASS_STORE || e.cls == TL_CLASS_FP_STORE ? 2 : 1;
    e.has_missed = is_access && e.n_uops == 1 && below(r, 3) == 0;
    e.has_missed_dtlb = is_access && below(r, 4) == 0;
    e.is_split = is_access && below(r, 4) == 0;
    e.is_mispredicted = !is_access && below(r, 3) == 0;
    e.is_taken = below(r, 2);
    e.is_return = e.cls == TL_CLASS_JALR && below(r, 2);
    return e;
}

static void add_event(step *s, const tl_uop_event *insn, tl_uop_step kind) {
    assert_true(s->n_events < MAX_EVENTS);
    s->events[s->n_events] = *insn;
    s->events[s->n_events++].step = (uint8_t)kind;
}

static void take_back_from(step *s, stream *st, uint64_t first) {
    while (st->renamed > first) {
        st->renamed -= 1;
        add_event(s, &st->insns[st->renamed % RING], TL_UOP_TAKE_BACK);
    }
}

// Returns whether an assist takes the place of an instruction.
static bool retire_some(rng *r, played *p, uint32_t thread, stream *st, step *s) {
    for (uint32_t left = below(r, WIDTH + 1); left > 0 && st->retired < st->renamed; left--) {
        tl_uop_event *insn = &st->insns[st->retired % RING];
        if (!st->is_dispatched[st->retired % RING])
            return false;
        insn->step = TL_UOP_RETIRE;
        const bool retires_first = retires(&p[0], thread, insn), retires_second = retires(&p[1], thread, insn);
        if (retires_first != retires_second)
            fail_msg("instruction %" PRIu64 " of thread %u: %d, told all %d", insn->seq, thread, retires_first, retires_second);
        if (!retires_first)
            return true;
        add_event(s, insn, TL_UOP_RETIRE);
        s->n_insns += 1;
        s->n_uops += insn->n_uops;
        st->retired += 1;
        for (uint32_t i = 0; i < 2; i++)
            p[i].retired[thread] = st->retired;
    }
    return false;
}

static void dispatch_some(rng *r, stream *st, step *s) {
    for (uint64_t seq = st->retired; seq < st->renamed; seq++) {
        tl_uop_event insn = st->insns[seq % RING];
        if (st->is_dispatched[seq % RING] || below(r, 3) != 0)
            continue;
        insn.vain = insn.cls == TL_CLASS_LOAD && below(r, 3) == 0 ? TL_UOP_NO_STORE : TL_UOP_EFFECTIVE;
        st->is_dispatched[seq % RING] = insn.vain == TL_UOP_EFFECTIVE;
        add_event(s, &insn, TL_UOP_DISPATCH);
        if (insn.n_uops == 2 && insn.vain == TL_UOP_EFFECTIVE) {
            insn.uop = 1;
            add_event(s, &insn, TL_UOP_DISPATCH);
        }
    }
}

static void rename_some(rng *r, stream *st, step *s) {
    for (uint32_t left = below(r, WIDTH + 1); left > 0 && st->renamed - st->retired < MAX_FLIGHT_INSNS; left--) {
        st->insns[st->renamed % RING] = random_insn(r, st->renamed);
        st->is_dispatched[st->renamed % RING] = false;
        add_event(s, &st->insns[st->renamed % RING], TL_UOP_RENAME);
        st->renamed += 1;
    }
}

// ---- What tags, counts and samples.

typedef struct written { // an MSR
    uint32_t msr;
    uint64_t value;
} written;

static uint64_t escr_value(rng *r, tl_netburst_event event, uint32_t mask, uint32_t tag) {
    const uint64_t owners = below(r, 3) != 0 ? 15 : below(r, 16);
    return (uint64_t)tl_netburst_event_rows[event].code << TL_ESCR_EVENT_LSB | (uint64_t)mask << TL_ESCR_MASK_LSB |
           (tag != 0 ? (uint64_t)tag << TL_ESCR_TAG_VALUE_LSB | TL_ESCR_TAG_ENABLE : 0) | owners;
}

static written random_escr(rng *r, tl_netburst_event event, uint32_t mask, uint32_t tag) {
    return (written){tl_netburst_escr_msr((tl_escr)(tl_netburst_event_rows[event].pair + below(r, 2))), escr_value(r, event, mask, tag)};
}

// has_dispatches: some tags come from dispatches. has_bogus: uops that were taken back are counted.
typedef struct kind {
    bool has_dispatches, has_bogus;
} kind;

// Mask bits of an event that counts by tags, or of all that retires.
static uint32_t random_mask(rng *r, tl_netburst_event event, bool has_bogus) {
    const uint32_t mask = 1 + below(r, 15), of_execution = 1 + below(r, 255);
    switch (event) {
    case TL_NB_EXECUTION_EVENT: return has_bogus ? of_execution : mask;
    case TL_NB_INSTR_RETIRED: return has_bogus ? mask : 1 + mask % 3;
    default: return has_bogus ? 1 + mask % 3 : 1;
    }
}

static written random_write(rng *r, kind of) {
    static const tl_netburst_event heard[] = {TL_NB_FRONT_END_EVENT, TL_NB_FRONT_END_EVENT, TL_NB_REPLAY_EVENT,
                                              TL_NB_INSTR_RETIRED,   TL_NB_UOPS_RETIRED,    TL_NB_EXECUTION_EVENT};
    enum { CRU = 3 << TL_CCCR_THREAD_LSB, OVF_PMI = TL_CCCR_OVF_PMI_T0 | TL_CCCR_OVF_PMI_T1 };
    const uint32_t counter = 12 + below(r, 6);
    switch (below(r, of.has_dispatches ? 9 : 7)) {
    case 0: return random_escr(r, TL_NB_UOP_TYPE, 2u << below(r, 2) | (below(r, 2) ? 2u : 0), 0);
    case 1: {
        const tl_netburst_event event = heard[below(r, TL_COUNT_OF(heard))];
        return random_escr(r, event, random_mask(r, event, of.has_bogus), 0);
    }
    case 2: return (written){TL_MSR_PEBS_ENABLE, TL_PEBS_MY_THREAD | TL_PEBS_OTHER_THREAD | (below(r, 2) ? TL_PEBS_UOP_TAG | 0x18405u : 0)};
    case 3: return (written){TL_MSR_PEBS_MATRIX_VERT, 1 + below(r, 31)};
    case 4: return (written){TL_MSR_COUNTER + counter, below(r, 2) ? TL_NETBURST_VALUE - below(r, 200) : 0};
    case 5:
    case 6: {
        const uint64_t select = (counter == 12 || counter == 13 || counter == 16) && below(r, 2) ? 4 : 5;
        return (written){TL_MSR_CCCR + counter, (below(r, 4) != 0 ? TL_CCCR_ENABLE : 0) | select << TL_CCCR_SELECT_LSB | CRU |
                                                    (counter >= 16 && below(r, 4) != 0 ? OVF_PMI : 0)};
    }
    case 7: return random_escr(r, TL_NB_SCALAR_DP_UOP, 1 << 15, below(r, 3));
    default: return random_escr(r, TL_NB_MOB_LOAD_REPLAY, 1 << 4 | 1 << 5, 0);
    }
}

// Both threads sample loads, stores or replays.
static void begin_sampling(rng *r, played *p) {
    const tl_netburst_event event = below(r, 4) != 0 ? TL_NB_FRONT_END_EVENT : TL_NB_REPLAY_EVENT;
    const uint64_t kinds = UINT64_C(1) + below(r, 3), left = below(r, 80), owners = below(r, 3) == 0 ? 1 + below(r, 15) : 15;
    const uint64_t enable = TL_PEBS_MY_THREAD | TL_PEBS_OTHER_THREAD | (event == TL_NB_REPLAY_EVENT ? TL_PEBS_UOP_TAG | 0x18405u : 0);
    for (uint32_t i = 0; i < 2; i++) {
        wrmsr(p[i].n, 0x3bc, 0x04000000 | kinds << 10 | owners); // uop_type
        wrmsr(p[i].n, 0x3cc, (uint64_t)tl_netburst_event_rows[event].code << TL_ESCR_EVENT_LSB | 0x20f);
        wrmsr(p[i].n, 0x3cd, (uint64_t)tl_netburst_event_rows[event].code << TL_ESCR_EVENT_LSB | 0x20f);
        wrmsr(p[i].n, TL_MSR_PEBS_MATRIX_VERT, 0x13);
        wrmsr(p[i].n, TL_MSR_PEBS_ENABLE, enable);
        for (uint32_t t = 0; t < N_THREADS; t++) {
            wrmsr(p[i].n, TL_MSR_COUNTER + 16 + t, TL_NETBURST_VALUE - left);
            wrmsr(p[i].n, TL_MSR_CCCR + 16 + t, 0x3b000 | (t == 0 ? TL_CCCR_OVF_PMI_T0 : TL_CCCR_OVF_PMI_T1));
        }
    }
}

static void stop_counters(played *p) {
    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t counter = 0; counter < TL_NETBURST_COUNTERS; counter++)
            wrmsr(p[i].n, TL_MSR_CCCR + counter, 0);
}

// The 64-bit area of a thread: room for all records, none of which interrupts.
static void lay_out_area(played *p, uint32_t thread, uint64_t period) {
    const uint64_t base = AREA_AT + 0x100 + thread * 0x1e00;
    const uint64_t words[] = {base, base, base + 0x1d00, UINT64_MAX, (UINT64_C(1) << 40) - period};
    memcpy(&p->area[thread * 0x80 + 0x20], words, sizeof words);
    assert_int_equal(tl_netburst_wrmsr(p->n, thread, TL_MSR_DS_AREA, AREA_AT + thread * 0x80), TL_OK);
}

// ---- The programs.

static void play_clock(rng *r, played *p, uint32_t thread, stream *st, kind of, bool may_write) {
    step s = {.clocks = 1, .priv = p[0].machine->harts[thread]->priv};
    bool is_assisted = false;
    if (st->retired == st->renamed && below(r, 4) == 0) {
        const written w = may_write ? random_write(r, of) : (written){TL_MSR_COUNTER + 16, 0};
        tl_uop_event alone = random_insn(r, st->renamed);
        alone.step = TL_UOP_ALONE;
        alone.n_uops = 1;
        alone.has_retired = true;
        alone.is_device = below(r, 2);
        s = (step){.n_events = 1,
                   .events = {alone},
                   .is_alone = true,
                   .clocks = CLOCKS_OF_ALONE,
                   .msr = w.msr,
                   .writes = may_write,
                   .value = w.value,
                   .priv = !p[0].tap     ? s.priv
                           : below(r, 2) ? TL_PRIV_U
                                         : TL_PRIV_M,
                   .halts = p[0].tap && below(r, 20) == 0};
    } else {
        if (below(r, 12) == 0 && st->renamed > st->retired)
            take_back_from(&s, st, st->retired + below(r, (uint32_t)(st->renamed - st->retired)));
        is_assisted = retire_some(r, p, thread, st, &s);
        if (is_assisted)
            take_back_from(&s, st, st->retired);
        dispatch_some(r, st, &s);
        if (!is_assisted)
            rename_some(r, st, &s);
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (is_assisted && p[i].tap)
            (void)p[i].tap->assist(p[i].tap, p[i].machine->harts[thread], thread);
        p[i].renamed[thread] = st->renamed;
        (void)play(&p[i], thread, &s);
    }
}

static void check_both(played *p, uint32_t program, uint32_t phase) {
    check_same(p[0].n, p[1].n, program, phase);
    for (uint32_t t = 0; t < N_THREADS; t++)
        assert_int_equal(tl_netburst_samples_of(p[0].n, t).n_stored, tl_netburst_samples_of(p[1].n, t).n_stored);
    assert_memory_equal(p[0].area, p[1].area, AREA_BYTES);
}

static uint64_t run_tags(played *p, uint32_t program) {
    static const uint32_t running[] = {1, 1, 1, BOTH_THREADS, 2};
    rng r = {program + 1};
    stream streams[N_THREADS] = {{0}, {0}};
    const kind of = {.has_dispatches = program % 5 == 0, .has_bogus = program % 3 == 0};
    tl_netburst_settings settings = tl_netburst_default_settings;
    settings.ds64 = true;
    settings.power_gate = program % 7 == 3;
    for (uint32_t i = 0; i < 2; i++) {
        begin_program_with(&p[i], i == 1, &settings);
        memset(p[i].area, 0, sizeof p[i].area);
        for (uint32_t t = 0; t < N_THREADS; t++) {
            p[i].retired[t] = p[i].renamed[t] = p[i].was_renamed[t] = 0;
            lay_out_area(&p[i], t, 60);
        }
        // Uops that were taken back leave as bogus only while some clocks are heard.
        if (of.has_bogus) {
            wrmsr(p[i].n, 0x3a2, 0x2600020f); // clocks that run
            wrmsr(p[i].n, TL_MSR_CCCR, 0x0003d000);
        }
    }
    if (program % 4 != 0)
        begin_sampling(&r, p);
    for (uint32_t phase = 0; phase < N_PHASES; phase++) {
        const uint32_t runs = running[below(&r, TL_COUNT_OF(running))], change = below(&r, 8);
        // Others are in flight when they begin again.
        if (program % 4 != 0 && change == 0 && !of.has_bogus)
            stop_counters(p);
        else if (program % 4 != 0 && change < 3)
            begin_sampling(&r, p);
        for (uint32_t k = phase == 0 && program % 4 == 0 ? 12 : below(&r, 3); k > 0; k--) {
            const written w = random_write(&r, of);
            for (uint32_t i = 0; i < 2; i++)
                wrmsr(p[i].n, w.msr, w.value);
        }
        const uint64_t of_first = p[0].machine->harts[0]->now, of_second = p[0].machine->harts[1]->now;
        // Before what the PMU has counted: all of it is one clock there.
        const bool is_past = change == 7;
        const uint64_t clock = (of_first < of_second) != is_past ? of_second : of_first;
        const uint64_t gap = below(&r, 20);
        for (uint32_t i = 0; i < 2; i++)
            begin_run(&p[i], runs, clock + gap, false);
        for (uint32_t k = 0; k < (is_past ? 40 : CLOCKS_OF_PHASE); k++) {
            const uint32_t thread = runs == 1 ? 0 : runs == 2 || p[0].machine->harts[1]->now < p[0].machine->harts[0]->now;
            // In the clock of a write uops of the other thread may lack tags (docs/netburst.md).
            play_clock(&r, p, thread, &streams[thread], of, runs != BOTH_THREADS);
        }
        for (uint32_t i = 0; i < 2; i++)
            run_or_stop(&p[i], runs, false);
        check_both(p, program, phase);
    }
    const uint64_t n_samples = tl_netburst_samples_of(p[0].n, 0).n_stored;
    for (uint32_t i = 0; i < 2; i++) {
        tl_netburst_feed_reset(p[i].feed);
        tl_arena_done(&p[i].arena);
    }
    return n_samples;
}

static void test_tags_that_nobody_told_of_are_those_of_rename(void **state) {
    (void)state;
    const char *asked = getenv("TALLY_NETBURST_TAGS");
    const uint32_t n = asked ? (uint32_t)atol(asked) : 400;
    uint64_t n_samples = 0;
    static played p[2];
    for (uint32_t i = 0; i < 2; i++)
        open_machine(&p[i]);
    for (uint32_t program = 0; program < n; program++)
        n_samples += run_tags(p, program);
    print_message("%" PRIu64 " samples, %" PRIu64 " unheard clocks, %" PRIu64 " passed\n", n_samples, p[0].n_unheard, p[0].n_passed);
    assert_true(n_samples > n && p[0].n_unheard > 100 * n && p[0].n_passed > 20 * n);
    assert_int_equal(p[1].n_unheard + p[1].n_passed, 0);
    for (uint32_t i = 0; i < 2; i++)
        tl_machine_free(p[i].machine);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_tags_that_nobody_told_of_are_those_of_rename),
};
TL_TEST_MAIN(tests)
