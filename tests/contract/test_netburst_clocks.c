// SPDX-License-Identifier: MIT
// The NetBurst PMU on a played core: random clocks of two threads, and chosen ones.
#include "played_netburst.h"

// ---- Random programs.

static tl_uop_event random_event(rng *r) {
    static const uint8_t classes[] = {TL_CLASS_BRANCH, TL_CLASS_JAL, TL_CLASS_JALR};
    switch (below(r, 3)) {
    case 0:
        return (tl_uop_event){
            .step = TL_UOP_RETIRE, .cls = classes[below(r, 3)], .n_uops = 1, .is_taken = below(r, 2), .is_mispredicted = below(r, 2)};
    case 1: return (tl_uop_event){.step = TL_UOP_DISPATCH, .cls = TL_CLASS_FP_ADD, .size_bytes = below(r, 2) ? 8 : 4};
    default: return (tl_uop_event){.step = TL_UOP_TAKE_BACK, .cls = TL_CLASS_ALU, .n_uops = (uint8_t)(1 + below(r, 2))};
    }
}

static step random_step(rng *r, const step *before) {
    step s = {
        .is_store_full = before->is_store_full, .priv = before->priv, .clocks = 1, .msr = TL_MSR_COUNTER + below(r, TL_NETBURST_COUNTERS)};
    s.n_moved = below(r, MAX_MOVED + 1);
    for (uint32_t i = 0; i < s.n_moved; i++) {
        s.cells[i] = (uint8_t)below(r, N_SIGNALS);
        s.growths[i] = (uint8_t)(below(r, 9) == 0 ? 20 : 1 + below(r, 3));
        if (s.cells[i] == MEMORY_CLEAR && below(r, 16) != 0)
            s.cells[i] = 0;
    }
    s.is_alone = below(r, 100) == 0;
    if (s.is_alone) {
        s.n_events = 1;
        s.events[0] = (tl_uop_event){.step = TL_UOP_ALONE, .cls = TL_CLASS_ALU, .n_uops = 1, .has_retired = true};
        s.clocks = CLOCKS_OF_ALONE;
    } else {
        s.n_insns = below(r, 4);
        s.n_uops = s.n_insns + below(r, s.n_insns + 1);
        s.n_events = below(r, 6) == 0 ? 1 + below(r, RANDOM_EVENTS) : 0;
        for (uint32_t i = 0; i < s.n_events; i++)
            s.events[i] = random_event(r);
        s.clocks = below(r, 5) != 0 ? 1 : 1 + below(r, below(r, 10) == 0 ? 300 : 4);
    }
    if (below(r, 12) == 0)
        s.is_store_full = !s.is_store_full;
    if (below(r, 30) == 0)
        s.priv = s.priv == TL_PRIV_U ? TL_PRIV_M : TL_PRIV_U;
    s.halts = below(r, 40) == 0;
    if (s.halts)
        s.clocks += below(r, 60);
    return s;
}

// The thread whose next clock is the first one.
static uint32_t first_of(const played *p, uint32_t running) {
    tl_hart *const *harts = p->machine->harts;
    return running == 1 ? 0 : running == 2 || harts[1]->now < harts[0]->now;
}

static void run_random(rng *r, played *p, step *last, uint32_t running, uint32_t n_steps) {
    const uint64_t clock = tl_lesser(p[0].machine->harts[0]->now, p[0].machine->harts[1]->now) + below(r, 90);
    const bool has_idled = below(r, 2);
    for (uint32_t i = 0; i < 2; i++)
        begin_run(&p[i], running, clock, has_idled);
    for (uint32_t k = 0; k < n_steps; k++) {
        const uint32_t thread = first_of(&p[0], running);
        const step s = random_step(r, &last[thread]);
        assert_int_equal(play(&p[0], thread, &s), play(&p[1], thread, &s));
        last[thread] = s;
    }
    for (uint32_t i = 0; i < 2; i++)
        run_or_stop(&p[i], running, false);
}

static void run_program(played *p, uint32_t program) {
    enum { PHASES = 6 };
    rng r = {program + 1};
    step last[N_THREADS] = {{.priv = p[0].machine->harts[0]->priv}, {.priv = p[0].machine->harts[1]->priv}};
    for (uint32_t i = 0; i < 2; i++)
        begin_program(&p[i], i == 1);
    for (uint32_t phase = 0; phase < PHASES; phase++) {
        static const uint32_t running[] = {1, BOTH_THREADS, BOTH_THREADS, 2};
        for (uint32_t k = phase == 0 ? 8 : below(&r, 3); k > 0; k--) {
            rng same = r;
            write_random_counter(&same, p[0].n, true);
            write_random_counter(&r, p[1].n, true);
        }
        run_random(&r, p, last, running[below(&r, TL_COUNT_OF(running))], 400);
        check_same(p[0].n, p[1].n, program, phase);
        assert_int_equal(p[0].n_moments, p[1].n_moments);
        assert_memory_equal(p[0].moments, p[1].moments, p[0].n_moments * sizeof p[0].moments[0]);
        if (below(&r, 2))
            tl_netburst_feed_settle(p[0].feed);
    }
    for (uint32_t i = 0; i < 2; i++) {
        tl_netburst_feed_reset(p[i].feed);
        tl_arena_done(&p[i].arena);
    }
}

static void test_rows_of_random_clocks_count_as_clocks_do(void **state) {
    (void)state;
    const char *asked = getenv("TALLY_NETBURST_CLOCKS");
    const uint32_t n = asked ? (uint32_t)atol(asked) : 200;
    static played p[2];
    for (uint32_t i = 0; i < 2; i++)
        open_machine(&p[i]);
    for (uint32_t program = 0; program < n; program++)
        run_program(p, program);
    assert_true(p[0].n_taken > 20 * n);
    assert_int_equal(p[1].n_taken, 0);
    for (uint32_t i = 0; i < 2; i++)
        tl_machine_free(p[i].machine);
}

// ---- Chosen clocks. Thread 0 runs, and what it does is small enough to count by hand.

enum { INSNS = 2, UOPS = 2, MANY = 100, UOPS_RETIRED = 0x0200020c, BOGUS_UOPS = 0x0200040c, RUNNING = 0x2600020c };
enum { CCCR_CRU0 = 0x00039000, CCCR_CRU2 = 0x0003b000, CCCR_FSB = 0x0003d000 };

static void begin_both_with(played *p, const tl_netburst_settings *settings) {
    for (uint32_t i = 0; i < 2; i++) {
        open_machine(&p[i]);
        begin_program_with(&p[i], i == 1, settings);
    }
}

static void begin_both(played *p) { begin_both_with(p, &tl_netburst_default_settings); }

static void end_both(played *p) {
    check_same(p[0].n, p[1].n, 0, 0);
    assert_int_equal(p[0].n_moments, p[1].n_moments);
    assert_memory_equal(p[0].moments, p[1].moments, p[0].n_moments * sizeof p[0].moments[0]);
    for (uint32_t i = 0; i < 2; i++) {
        tl_netburst_feed_reset(p[i].feed);
        tl_arena_done(&p[i].arena);
        tl_machine_free(p[i].machine);
    }
}

static void write_both(played *p, uint32_t msr, uint64_t value) {
    for (uint32_t i = 0; i < 2; i++)
        wrmsr(p[i].n, msr, value);
}

static uint64_t read_both(played *p, uint32_t msr) {
    const uint64_t value = rdmsr(p[0].n, msr);
    assert_int_equal(rdmsr(p[1].n, msr), value);
    return value;
}

static void run_both(played *p) {
    for (uint32_t i = 0; i < 2; i++)
        begin_run(&p[i], 1, p[i].machine->harts[0]->now, false);
}

static void play_both(played *p, const step *s) {
    for (uint32_t i = 0; i < 2; i++)
        (void)play(&p[i], 0, s);
}

// Clocks of which the core tells no more than what has retired.
static void tick_uops(played *p, uint32_t n, uint32_t n_uops) {
    const step s = {.n_insns = INSNS, .n_uops = n_uops, .clocks = 1, .priv = TL_PRIV_M};
    for (uint32_t i = 0; i < n; i++)
        play_both(p, &s);
}
static void tick(played *p, uint32_t n) { tick_uops(p, n, UOPS); }

// Loads that are renamed and taken back in one clock: two uops each. The first one has a front-end
// tag.
static void take_back(played *p, uint32_t n_loads) {
    const tl_uop_event load = {.cls = TL_CLASS_LOAD, .n_uops = 2};
    step s = {.n_events = 2 * n_loads, .clocks = 1, .priv = TL_PRIV_M};
    for (uint32_t i = 0; i < n_loads; i++) {
        s.events[i] = s.events[n_loads + i] = load;
        s.events[i].step = TL_UOP_RENAME;
        s.events[n_loads + i].step = TL_UOP_TAKE_BACK;
        s.events[i].seq = s.events[n_loads + i].seq = i;
    }
    play_both(p, &s);
}

static void test_a_reset_forgets_uops_that_were_taken_back(void **state) {
    (void)state;
    static played p[2];
    begin_both(p);
    for (uint32_t round = 0; round < 2; round++) {
        write_both(p, 0x3b8, BOGUS_UOPS);
        write_both(p, TL_MSR_CCCR + 12, CCCR_CRU0);
        run_both(p);
        take_back(p, 2);
        if (round == 0) {
            take_back(p, 2);
            for (uint32_t i = 0; i < 2; i++) {
                tl_netburst_feed_reset(p[i].feed);
                tl_netburst_reset(p[i].n);
            }
        }
    }
    tick(p, 10);
    assert_int_equal(read_both(p, TL_MSR_COUNTER + 12), 4);
    end_both(p);
}

// Returns how many of 12 uops have not left after a gap. is_first: the thread has told nothing
// before.
static uint64_t left_after(uint32_t gap, bool is_first) {
    enum { LOADS = 6 };
    static played p[2];
    begin_both(p);
    write_both(p, 0x3bc, 0x0400040c); // uop_type, loads
    write_both(p, 0x3b8, UOPS_RETIRED);
    write_both(p, TL_MSR_CCCR + 12, CCCR_CRU0);
    for (uint32_t i = 0; i < 2; i++)
        p[i].machine->harts[0]->now += MANY;
    run_both(p);
    tick(p, is_first ? 0 : MANY);
    take_back(p, LOADS);
    tick(p, gap);
    write_both(p, 0x3b9, BOGUS_UOPS);
    write_both(p, TL_MSR_CCCR + 14, CCCR_CRU0);
    tick(p, MANY);
    const uint64_t left = read_both(p, TL_MSR_COUNTER + 14);
    end_both(p);
    return left;
}

// docs/netburst.md, 2.6: three leave in a clock, whether a detector hears of them or not.
static void test_uops_that_nobody_hears_of_leave_three_in_a_clock(void **state) {
    (void)state;
    for (uint32_t is_first = 0; is_first < 2; is_first++) {
        uint64_t before = left_after(0, is_first);
        assert_in_range(before, 12 - 2 * 3, 12);
        for (uint32_t gap = 1; gap < 6; gap++) {
            const uint64_t left = left_after(gap, is_first);
            assert_int_equal(left, before < 3 ? 0 : before - 3);
            before = left;
        }
        assert_int_equal(before, 0);
    }
}

// A counter of running clocks wraps, and interrupts with the next one. A counter of 15 uops in each
// clock interrupts as it wraps. Each clock of the thread retires as many instructions, so their
// number is known in each.
static void test_an_overflow_is_in_its_clock_with_the_instructions_before_it(void **state) {
    (void)state;
    enum { CLOCKS = 150 };
    for (uint32_t left = 60; left < 140; left++)
        for (uint32_t by_uops = 0; by_uops < 2; by_uops++) {
            static played p[2];
            const uint32_t counter = by_uops ? 12 : 0, by = by_uops ? TL_NETBURST_MAX_OUTPUT : 1;
            const uint64_t begin = by_uops ? TL_NETBURST_VALUE - left * by : TL_NETBURST_VALUE + 1 - left;
            begin_both(p);
            write_both(p, by_uops ? 0x3b8 : 0x3a2, by_uops ? UOPS_RETIRED : RUNNING);
            write_both(p, TL_MSR_COUNTER + counter, begin);
            write_both(p, TL_MSR_CCCR + counter, by_uops ? CCCR_CRU0 : CCCR_FSB | TL_CCCR_COMPARE);
            run_both(p);
            const tl_hart *h = p[0].machine->harts[0];
            const uint64_t clock = h->now, insns = h->instret;
            tick_uops(p, CLOCKS, by);
            assert_int_equal(read_both(p, TL_MSR_COUNTER + counter), (begin + CLOCKS * by) & TL_NETBURST_VALUE);
            assert_int_equal(p[0].n_moments, 1);
            assert_int_equal(p[0].moments[0].of[0].cycle, clock + left);
            assert_int_equal(p[0].moments[0].of[0].insns, insns + INSNS * (uint64_t)left);
            end_both(p);
        }
}

// Clocks in which the core tells nothing count, too. The gap ends at the last clock before the
// counter wraps, or near it.
static void test_rows_end_before_a_counter_wraps(void **state) {
    (void)state;
    enum { LEFT = 100 };
    for (uint32_t gap = LEFT - 4; gap < 2 * LEFT; gap += gap < LEFT + 4 ? 1 : 20) {
        static played p[2];
        begin_both(p);
        write_both(p, 0x3a3, RUNNING);
        write_both(p, TL_MSR_COUNTER + 2, TL_NETBURST_VALUE + 1 - LEFT);
        write_both(p, TL_MSR_CCCR + 2, CCCR_FSB | TL_CCCR_COMPARE);
        run_both(p);
        const uint64_t clock = p[0].machine->harts[0]->now;
        const step last = {.n_insns = INSNS, .n_uops = UOPS, .clocks = gap, .priv = TL_PRIV_M};
        play_both(p, &last);
        tick(p, 4);
        if (gap >= LEFT) // a counter that has wrapped interrupts with its next count
            assert_int_equal(read_both(p, TL_MSR_COUNTER + 2) > 0 ? p[0].moments[0].of[0].cycle : 0, clock + LEFT);
        assert_int_equal(read_both(p, TL_MSR_COUNTER + 2), (TL_NETBURST_VALUE + 1 - LEFT + gap + 4) & TL_NETBURST_VALUE);
        end_both(p);
    }
}

// It was full before a detector heard of it, and stays so.
static void test_a_full_store_buffer_is_known_when_a_detector_begins_to_hear_of_it(void **state) {
    (void)state;
    enum { CLOCKS = 10 };
    for (uint32_t is_full = 0; is_full < 2; is_full++) {
        static played p[2];
        begin_both(p);
        write_both(p, 0x3a2, RUNNING);
        write_both(p, TL_MSR_CCCR + 0, CCCR_FSB);
        run_both(p);
        tick(p, MANY / 2);
        const step s = {.n_insns = INSNS, .n_uops = UOPS, .clocks = 1, .priv = TL_PRIV_M, .is_store_full = is_full};
        play_both(p, &s);
        write_both(p, 0x3ca, 0x0200400c); // resource_stall, SBFULL
        write_both(p, TL_MSR_CCCR + 12, 0x00033000);
        for (uint32_t i = 0; i < 2; i++)
            p[i].machine->harts[0]->now += CLOCKS;
        assert_int_equal(read_both(p, TL_MSR_COUNTER + 12), is_full ? CLOCKS : 0);
        end_both(p);
    }
}

// An instruction that executes alone makes counter 16 wrap. Counter 12 runs behind it, and counts
// each clock.
static void test_a_cascade_begins_with_what_executes_alone(void **state) {
    (void)state;
    enum { CLOCKS = 5, EACH_CLOCK = TL_CCCR_COMPARE | TL_CCCR_COMPLEMENT | 15 << TL_CCCR_THRESHOLD_LSB };
    static played p[2];
    begin_both(p);
    write_both(p, TL_MSR_DS_AREA, 0x1000);
    write_both(p, 0x3bc, 0x0400040c); // uop_type, loads
    write_both(p, 0x3cc, 0x1000020c); // front_end_event, NBOGUS
    write_both(p, 0x3b8, UOPS_RETIRED);
    write_both(p, TL_MSR_PEBS_ENABLE, TL_PEBS_UOP_TAG | TL_PEBS_MY_THREAD);
    write_both(p, TL_MSR_COUNTER + 16, TL_NETBURST_VALUE);
    write_both(p, TL_MSR_CCCR + 16, CCCR_CRU2 | TL_CCCR_OVF_PMI_T0);
    write_both(p, TL_MSR_CCCR + 12, (CCCR_CRU0 & ~(uint64_t)TL_CCCR_ENABLE) | TL_CCCR_EXTENDED_CASCADE | EACH_CLOCK);
    run_both(p);
    tick(p, MANY / 2);
    const step load = {.n_events = 1,
                       .clocks = 1,
                       .priv = TL_PRIV_M,
                       .events = {{.step = TL_UOP_ALONE, .cls = TL_CLASS_LOAD, .n_uops = 1, .has_retired = true}}};
    play_both(p, &load);
    tick(p, CLOCKS);
    // The clock of the load itself is counted when counter 16 has wrapped already.
    assert_in_range(read_both(p, TL_MSR_COUNTER + 12), CLOCKS, CLOCKS + 1);
    const uint64_t before = read_both(p, TL_MSR_COUNTER + 12);
    tick(p, CLOCKS);
    for (uint32_t i = 0; i < 2; i++) // the default of netburst.assist_clocks
        assert_int_equal(p[i].tap->assist(p[i].tap, p[i].machine->harts[0], 0), 300);
    // Counter 16 has no flag any more, so the cascade ends.
    tick(p, 2 * CLOCKS);
    assert_in_range(read_both(p, TL_MSR_COUNTER + 12), before + CLOCKS - 1, before + CLOCKS);
    end_both(p);
}

// System software has the thread before it idles, and again when it has woken up.
static void test_time_outside_is_that_of_system_software_but_for_what_is_idle(void **state) {
    (void)state;
    enum { BEFORE = 30, IDLE = 50, BEHIND = 20 };
    static played p[2];
    const step s = {.n_insns = INSNS, .n_uops = UOPS, .clocks = 1, .priv = TL_PRIV_U};
    begin_both(p);
    write_both(p, 0x3a2, 0x26000208); // running clocks of system software
    write_both(p, 0x3a3, 0x26000204); // of user mode
    write_both(p, TL_MSR_CCCR + 0, CCCR_FSB);
    write_both(p, TL_MSR_CCCR + 2, CCCR_FSB);
    for (uint32_t i = 0; i < 2; i++)
        p[i].machine->harts[0]->priv = TL_PRIV_U;
    run_both(p);
    for (uint32_t i = 0; i < MANY; i++)
        play_both(p, &s);
    for (uint32_t i = 0; i < 2; i++) {
        tl_hart *h = p[i].machine->harts[0];
        run_or_stop(&p[i], 1, false);
        h->now += BEFORE;
        tl_hart_idle_until(h, h->now + IDLE);
        h->now += BEHIND;
        run_or_stop(&p[i], 1, true);
    }
    for (uint32_t i = 0; i < MANY; i++)
        play_both(p, &s);
    assert_int_equal(read_both(p, TL_MSR_COUNTER + 0), BEFORE + BEHIND);
    assert_int_equal(read_both(p, TL_MSR_COUNTER + 2), 2 * MANY);
    end_both(p);
}

// Mask bit FLUSH counts two for each clock that drops a line of the trace cache.
static void test_each_flush_of_the_trace_cache_counts_two(void **state) {
    (void)state;
    enum { FLUSHES = 3, TRACE_FLUSH = 4 };
    static played p[2];
    assert_string_equal(signals[TRACE_FLUSH], "core.trace_flush");
    begin_both(p);
    write_both(p, 0x3c4, UINT64_C(6) << TL_ESCR_EVENT_LSB | 1 << 4 << TL_ESCR_MASK_LSB | 15);
    write_both(p, TL_MSR_CCCR + 4, TL_CCCR_ENABLE | 1 << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB);
    run_both(p);
    const step flush = {.n_moved = 1, .cells = {TRACE_FLUSH}, .growths = {1}, .clocks = 1, .priv = TL_PRIV_M};
    for (uint32_t i = 0; i < FLUSHES; i++) {
        play_both(p, &flush);
        tick(p, 7);
    }
    assert_int_equal(read_both(p, TL_MSR_COUNTER + 4), 2 * FLUSHES);
    end_both(p);
}

// Worked value of section 17: bits 15 and 16 of MSR_PEBS_ENABLE tag mispredicted branches. The SDM
// excepts returns.
static void test_mispredicted_branches_are_tagged_but_for_returns(void **state) {
    (void)state;
    static played p[2];
    begin_both(p);
    write_both(p, TL_MSR_PEBS_MATRIX_VERT, 0x10);
    write_both(p, TL_MSR_PEBS_ENABLE, 0x01018000);
    write_both(p, 0x3cc, 0x1200020c); // replay_event, NBOGUS
    write_both(p, TL_MSR_CCCR + 12, CCCR_CRU2);
    run_both(p);
    for (uint32_t i = 0; i < 8; i++) {
        const tl_uop_event insn = {.step = TL_UOP_RETIRE,
                                   .cls = i & 1 ? TL_CLASS_JALR : TL_CLASS_BRANCH,
                                   .n_uops = 1,
                                   .seq = i,
                                   .is_taken = true,
                                   .is_mispredicted = i & 2,
                                   .is_return = (i & 5) == 5};
        const step s = {.n_events = 1, .events = {insn}, .clocks = 1, .priv = TL_PRIV_M};
        play_both(p, &s);
    }
    assert_int_equal(read_both(p, TL_MSR_COUNTER + 12), 3); // 2, 3 and 6; 7 is a return
    end_both(p);
}

// Thread 0 changes its privilege at the end of a clock, which is of the one before.
static void test_a_clock_that_changes_the_privilege_is_of_the_one_before(void **state) {
    (void)state;
    static const struct {
        uint32_t clocks;
        tl_priv priv;
    } parts[] = {{30, TL_PRIV_U}, {7, TL_PRIV_M}, {1, TL_PRIV_U}, {1, TL_PRIV_M}, {200, TL_PRIV_U}, {90, TL_PRIV_M}};
    static played p[2];
    uint64_t of_user = 0, of_system = 0;
    begin_both(p);
    write_both(p, 0x3a2, 0x26000208); // running clocks of system software
    write_both(p, 0x3a3, 0x26000204); // of user mode
    write_both(p, TL_MSR_CCCR + 0, CCCR_FSB);
    write_both(p, TL_MSR_CCCR + 2, CCCR_FSB);
    for (uint32_t i = 0; i < 2; i++)
        p[i].machine->harts[0]->priv = TL_PRIV_U;
    run_both(p);
    for (uint32_t k = 0; k < TL_COUNT_OF(parts); k++) {
        step s = {.n_insns = INSNS, .n_uops = UOPS, .clocks = 1, .priv = parts[k].priv};
        for (uint32_t i = 1; i < parts[k].clocks; i++)
            play_both(p, &s);
        s.priv = parts[k + 1 < TL_COUNT_OF(parts) ? k + 1 : k].priv;
        play_both(p, &s);
        *(parts[k].priv == TL_PRIV_U ? &of_user : &of_system) += parts[k].clocks;
    }
    assert_int_equal(read_both(p, TL_MSR_COUNTER + 0), of_system);
    assert_int_equal(read_both(p, TL_MSR_COUNTER + 2), of_user);
    end_both(p);
}

// The counter is read between, while the thread is with system software or idle.
static void test_reads_outside_lose_no_clock_of_many_stretches(void **state) {
    (void)state;
    enum { BEFORE = 30, IDLE = 50, BEHIND = 20, STRETCHES = 12 };
    static played p[2];
    begin_both(p);
    write_both(p, 0x3a2, 0x26000208); // running clocks of system software
    write_both(p, TL_MSR_CCCR + 0, CCCR_FSB);
    for (uint32_t i = 0; i < 2; i++)
        p[i].machine->harts[0]->priv = TL_PRIV_U;
    run_both(p);
    for (uint32_t i = 0; i < 2; i++)
        run_or_stop(&p[i], 1, false);
    for (uint32_t k = 1; k <= STRETCHES; k++) {
        for (uint32_t i = 0; i < 2; i++) {
            tl_hart *h = p[i].machine->harts[0];
            h->now += BEFORE;
            tl_hart_idle_until(h, h->now + IDLE);
            h->now += BEHIND;
        }
        assert_int_equal(read_both(p, TL_MSR_COUNTER + 0), k * (BEFORE + BEHIND));
    }
    end_both(p);
}

// NBX: counter 16 samples uops with a replay tag, counter 12 all instructions. Most of them have no
// tag.
static void test_a_counter_of_untagged_uops_counts_beside_one_of_tagged_ones(void **state) {
    (void)state;
    enum { LOADS = 40 };
    static played p[2];
    tl_netburst_settings settings = tl_netburst_default_settings;
    settings.nbx = 1;
    begin_both_with(p, &settings);
    write_both(p, TL_MSR_DS_AREA, 0x1000);
    write_both(p, TL_MSR_PEBS_MATRIX_VERT, 1);
    write_both(p, TL_MSR_PEBS_ENABLE, 0x03000001);
    write_both(p, TL_MSR_NBX_SAMPLE, 1 << 16 | 1 << 12);
    write_both(p, 0x3cc, 0x1200020c); // replay_event, NBOGUS
    write_both(p, 0x3b8, 0x0400060c); // instr_retired, NBOGUS
    write_both(p, TL_MSR_CCCR + 16, CCCR_CRU2 | TL_CCCR_OVF_PMI_T0);
    write_both(p, TL_MSR_CCCR + 12, CCCR_CRU0 | TL_CCCR_OVF_PMI_T0);
    run_both(p);
    for (uint32_t k = 0; k < LOADS; k++) {
        const tl_uop_event load = {.step = TL_UOP_RETIRE, .cls = TL_CLASS_LOAD, .n_uops = 1, .seq = k, .has_missed = k % 4 == 0};
        for (uint32_t i = 0; i < 2; i++)
            assert_true(p[i].tap->may_retire(p[i].tap, p[i].machine->harts[0], 0, &load));
    }
    assert_int_equal(read_both(p, TL_MSR_COUNTER + 16), LOADS / 4);
    assert_int_equal(read_both(p, TL_MSR_COUNTER + 12), LOADS);
    end_both(p);
}

// A11: FIRM tags while a counter runs that one of its two ESCRs can feed. It tags what its threads
// and privileges do, though its event belongs to no thread. Thread 0 is system software here.
static void test_a_detector_tags_while_a_counter_of_its_pair_runs(void **state) {
    (void)state;
    enum { ADDS = 20, CCCR_FIRM = 0x00033000, OF_BOTH = TL_ESCR_T0_USR | TL_ESCR_T0_OS };
    static const struct {
        uint32_t msr, flags, running; // the ESCR, and a counter; 0: none
        bool gates, tags;
    } rows[] = {
        {0x3a4, OF_BOTH, 0, true, false},        {0x3a5, OF_BOTH, 0, true, false},       {0x3a4, OF_BOTH, 8, true, true},
        {0x3a4, OF_BOTH, 11, true, true},        {0x3a5, OF_BOTH, 9, true, true},        {0x3a4, OF_BOTH, 2, true, false},
        {0x3a4, OF_BOTH, 0, false, true},        {0x3a5, OF_BOTH, 10, true, true},       {0x3a4, TL_ESCR_T0_OS, 8, true, true},
        {0x3a4, TL_ESCR_T0_USR, 8, true, false}, {0x3a4, TL_ESCR_T1_OS, 8, true, false},
    };
    for (uint32_t k = 0; k < TL_COUNT_OF(rows); k++) {
        static played p[2];
        tl_netburst_settings settings = tl_netburst_default_settings;
        settings.power_gate = rows[k].gates;
        begin_both_with(p, &settings);
        write_both(p, rows[k].msr, 0x1d000030 | rows[k].flags); // scalar_DP_uop, ALL, tag 0
        write_both(p, 0x3cc, 0x1800020c);                       // execution_event, NBOGUS0
        write_both(p, TL_MSR_CCCR + 12, CCCR_CRU2);
        if (rows[k].running != 0)
            write_both(p, TL_MSR_CCCR + rows[k].running, CCCR_FIRM);
        run_both(p);
        tick(p, 1);
        for (uint32_t i = 0; i < ADDS; i++) {
            const tl_uop_event add = {.cls = TL_CLASS_FP_ADD, .n_uops = 1, .seq = i, .size_bytes = 8};
            step s = {.n_events = 3, .events = {add, add, add}, .clocks = 1, .priv = TL_PRIV_M};
            s.events[0].step = TL_UOP_RENAME;
            s.events[1].step = TL_UOP_DISPATCH;
            s.events[2].step = TL_UOP_RETIRE;
            play_both(p, &s);
        }
        if (read_both(p, TL_MSR_COUNTER + 12) != (rows[k].tags ? ADDS : 0))
            fail_msg("row %u: %" PRIu64, k, read_both(p, TL_MSR_COUNTER + 12));
        end_both(p);
    }
}

// An instruction in three clocks. Clocks are rows if they have only events that are ignored.
static void pass_through(played *p, tl_uop_event uop) {
    static const tl_uop_step steps[] = {TL_UOP_RENAME, TL_UOP_DISPATCH, TL_UOP_RETIRE};
    for (uint32_t k = 0; k < TL_COUNT_OF(steps); k++) {
        uop.step = (uint8_t)steps[k];
        const step s = {.n_events = 1, .events = {uop}, .clocks = 1, .priv = TL_PRIV_M, .n_insns = k == 2, .n_uops = k == 2};
        for (uint32_t i = 0; i < 2 && k == 2; i++)
            assert_true(retires(&p[i], 0, &uop));
        play_both(p, &s);
    }
}

static void write_escr(played *p, tl_netburst_event event, uint32_t mask, uint32_t tag) {
    const tl_netburst_event_row *row = &tl_netburst_event_rows[event];
    write_both(p, tl_netburst_escr_msr(row->pair),
               (uint64_t)row->code << TL_ESCR_EVENT_LSB | (uint64_t)mask << TL_ESCR_MASK_LSB |
                   (tag != 0 ? tag << TL_ESCR_TAG_VALUE_LSB | TL_ESCR_TAG_ENABLE : 0) | TL_ESCR_T0_USR | TL_ESCR_T0_OS);
}

typedef enum tagging { TAGS_BY_TYPE, TAGS_BY_REPLAY, TAGS_BY_EXECUTION, N_TAGGINGS } tagging;

static void begin_tagging(played *p, tagging how) {
    static const struct {
        tl_netburst_event event;
        uint32_t mask, tag;
        tl_netburst_event counted;
    } rows[] = {{TL_NB_UOP_TYPE, 1 << 1, 0, TL_NB_FRONT_END_EVENT},
                {TL_NB_MOB_LOAD_REPLAY, 1 << 4, 0, TL_NB_REPLAY_EVENT},
                {TL_NB_SCALAR_DP_UOP, 1 << 15, 1, TL_NB_EXECUTION_EVENT}};
    write_escr(p, rows[how].event, rows[how].mask, rows[how].tag);
    write_escr(p, rows[how].counted, 1, 0);
    // An ESCR has power while a counter of its block runs, though it be connected to nothing.
    if (how != TAGS_BY_TYPE)
        write_both(p, TL_MSR_CCCR + (how == TAGS_BY_REPLAY ? 0 : 8), TL_CCCR_ENABLE | 7 << TL_CCCR_SELECT_LSB | 3 << TL_CCCR_THREAD_LSB);
    write_both(p, TL_MSR_DS_AREA, 0x1000);
    write_both(p, TL_MSR_PEBS_MATRIX_VERT, how == TAGS_BY_REPLAY);
    write_both(p, TL_MSR_PEBS_ENABLE, TL_PEBS_MY_THREAD | (how == TAGS_BY_REPLAY ? TL_PEBS_UOP_TAG | 1 << 9 : 0));
}

// A counter of tagged uops counts each of them, whatever the core need not tell. Only a type needs
// no dispatch, unless extended records have its time. A counter that samples counts at retirement,
// and needs none.
static void test_what_is_ignored_costs_no_tag(void **state) {
    (void)state;
    enum { UOPS_OF_EACH = 40 };
    for (tagging how = 0; how < N_TAGGINGS; how++)
        for (uint32_t kind = 0; kind < 4; kind++) {
            static played p[2];
            const bool samples = kind & 1, is_extended = kind & 2;
            tl_netburst_settings settings = tl_netburst_default_settings;
            settings.nbx = 1;
            const uint32_t counter = samples ? 16 : 12;
            const tl_uop_event uop = {.cls = how == TAGS_BY_EXECUTION ? TL_CLASS_FP_ADD : TL_CLASS_LOAD,
                                      .n_uops = 1,
                                      .size_bytes = 8,
                                      .vain = how == TAGS_BY_REPLAY ? TL_UOP_NO_STORE : TL_UOP_EFFECTIVE};
            begin_both_with(p, &settings);
            begin_tagging(p, how);
            write_both(p, TL_MSR_NBX_CONTROL, is_extended ? TL_NBX_EXTENDED : 0);
            write_both(p, TL_MSR_CCCR + counter, CCCR_CRU2 | (samples ? TL_CCCR_OVF_PMI_T0 : 0));
            run_both(p);
            tick(p, 2);
            const uint64_t before = p[0].n_taken + p[0].n_unheard;
            for (uint32_t i = 0; i < UOPS_OF_EACH; i++) {
                tl_uop_event now = uop;
                now.seq = i;
                pass_through(p, now);
            }
            // Rows end now and then, and the next clock is told.
            const bool needs_dispatches = how != TAGS_BY_TYPE || is_extended;
            const uint64_t rows = UOPS_OF_EACH * (needs_dispatches ? samples : samples ? 3 : 1);
            assert_in_range(p[0].n_taken + p[0].n_unheard - before, rows - rows / 10, rows);
            assert_int_equal(read_both(p, TL_MSR_COUNTER + counter), UOPS_OF_EACH);
            if (samples) { // somebody begins to hear of what retires
                write_both(p, 0x3b8, UOPS_RETIRED);
                write_both(p, TL_MSR_CCCR + 12, CCCR_CRU0);
                for (uint32_t i = 0; i < UOPS_OF_EACH; i++)
                    pass_through(p, uop);
                assert_int_equal(read_both(p, TL_MSR_COUNTER + 12), UOPS_OF_EACH);
                assert_int_equal(read_both(p, TL_MSR_COUNTER + counter), 2 * UOPS_OF_EACH);
            }
            end_both(p);
        }
}

// Loads of programs have the tag, and stores of system software. Thread 0 is a program whose clocks
// nobody hears, so only loads are of interest, until thread 1 begins and thread 0 changes its mode.
static void test_a_second_thread_ends_what_only_one_mode_needs(void **state) {
    (void)state;
    enum { STORES = 5 };
    static played p[2];
    begin_both(p);
    write_both(p, 0x3bc, 0x04000400 | TL_ESCR_T0_USR); // uop_type
    write_both(p, 0x3bd, 0x04000800 | TL_ESCR_T0_OS);
    write_both(p, 0x3cc, 0x1000020f); // front_end_event, NBOGUS
    write_both(p, TL_MSR_DS_AREA, AREA_AT);
    write_both(p, TL_MSR_PEBS_ENABLE, TL_PEBS_MY_THREAD);
    write_both(p, TL_MSR_CCCR + 16, CCCR_CRU2 | TL_CCCR_OVF_PMI_T0);
    for (uint32_t i = 0; i < 2; i++)
        p[i].machine->harts[0]->priv = TL_PRIV_U;
    run_both(p);
    const step of_program = {.n_insns = INSNS, .n_uops = UOPS, .clocks = 1, .priv = TL_PRIV_U};
    for (uint32_t i = 0; i < MANY; i++)
        play_both(p, &of_program);
    assert_true(p[0].n_unheard > MANY / 2);
    for (uint32_t i = 0; i < 2; i++)
        begin_run(&p[i], BOTH_THREADS, p[i].machine->harts[0]->now, false);
    const step trap = {.n_events = 1,
                       .events = {{.step = TL_UOP_ALONE, .cls = TL_CLASS_ALU, .n_uops = 1, .has_retired = true}},
                       .is_alone = true,
                       .msr = TL_MSR_COUNTER,
                       .clocks = CLOCKS_OF_ALONE,
                       .priv = TL_PRIV_M};
    play_both(p, &trap);
    for (uint32_t i = 0; i < STORES; i++)
        pass_through(p, (tl_uop_event){.cls = TL_CLASS_STORE, .n_uops = 1, .seq = i, .size_bytes = 8});
    assert_int_equal(read_both(p, TL_MSR_COUNTER + 16), STORES);
    end_both(p);
}

// Detectors select the trace cache while nobody hears clocks. A counter that begins later has none
// of what happened then.
static void test_a_counter_has_nothing_of_unheard_clocks(void **state) {
    (void)state;
    static const struct {
        tl_netburst_event event;
        uint32_t mask, cell, counter, cccr;
    } rows[] = {{TL_NB_TC_MISC, 1 << 4, 4, 4, 0x00033000}, {TL_NB_TC_DELIVER_MODE, 7, 2, 4, 0x00033000}};
    for (uint32_t k = 0; k < TL_COUNT_OF(rows); k++) {
        static played p[2];
        begin_both(p);
        write_escr(p, rows[k].event, rows[k].mask, 0);
        write_escr(p, TL_NB_UOP_TYPE, 1 << 1, 0);
        write_both(p, 0x3cc, 0x1000020f); // front_end_event, NBOGUS
        write_both(p, TL_MSR_DS_AREA, AREA_AT);
        write_both(p, TL_MSR_PEBS_ENABLE, TL_PEBS_MY_THREAD);
        write_both(p, TL_MSR_CCCR + 16, CCCR_CRU2 | TL_CCCR_OVF_PMI_T0);
        run_both(p);
        tick(p, 2);
        const step grows = {.n_moved = 1, .cells = {(uint8_t)rows[k].cell}, .growths = {1}, .clocks = 1, .priv = TL_PRIV_M};
        for (uint32_t i = 0; i < MANY; i++)
            play_both(p, &grows);
        assert_true(p[0].n_unheard > MANY / 2);
        write_both(p, TL_MSR_CCCR + rows[k].counter, rows[k].cccr);
        tick(p, MANY);
        assert_int_equal(read_both(p, TL_MSR_COUNTER + rows[k].counter), 0);
        play_both(p, &grows);
        tick(p, 2);
        assert_in_range(read_both(p, TL_MSR_COUNTER + rows[k].counter), 1, 2); // a flush weighs two
        end_both(p);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_a_counter_has_nothing_of_unheard_clocks),
    cmocka_unit_test(test_a_second_thread_ends_what_only_one_mode_needs),
    cmocka_unit_test(test_a_clock_that_changes_the_privilege_is_of_the_one_before),
    cmocka_unit_test(test_reads_outside_lose_no_clock_of_many_stretches),
    cmocka_unit_test(test_a_counter_of_untagged_uops_counts_beside_one_of_tagged_ones),
    cmocka_unit_test(test_a_detector_tags_while_a_counter_of_its_pair_runs),
    cmocka_unit_test(test_what_is_ignored_costs_no_tag),
    cmocka_unit_test(test_each_flush_of_the_trace_cache_counts_two),
    cmocka_unit_test(test_mispredicted_branches_are_tagged_but_for_returns),
    cmocka_unit_test(test_a_reset_forgets_uops_that_were_taken_back),
    cmocka_unit_test(test_uops_that_nobody_hears_of_leave_three_in_a_clock),
    cmocka_unit_test(test_an_overflow_is_in_its_clock_with_the_instructions_before_it),
    cmocka_unit_test(test_rows_end_before_a_counter_wraps),
    cmocka_unit_test(test_a_full_store_buffer_is_known_when_a_detector_begins_to_hear_of_it),
    cmocka_unit_test(test_a_cascade_begins_with_what_executes_alone),
    cmocka_unit_test(test_time_outside_is_that_of_system_software_but_for_what_is_idle),
    cmocka_unit_test(test_rows_of_random_clocks_count_as_clocks_do),
};
TL_TEST_MAIN(tests)
