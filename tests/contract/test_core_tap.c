// SPDX-License-Identifier: MIT
// Cycle records of the detailed core against its signals, which are counted elsewhere: every event
// of random code is told once, in order, in cycles that follow one another without a gap. A core
// that stops after each cycle tells what a free one tells, and a tap changes no count.
// All of this holds for each of two hardware threads that come and go, too.
#include <inttypes.h>
#include <stdio.h>

#include "base/testing.h"
#include "isa/rv/hart.h"
#include "machine/machine.h"
#include "model/tap.h"
#include "random_threads.h"
#include "session/description.h"

enum { MAX_FLIGHT = 2048, MAX_LOG = 1 << 20 };

typedef struct flight { // what a follower of records knows of an instruction
    bool is_here, is_renamed;
    uint64_t fetched, renamed, dispatched[2], done[2]; // cycles; done: half cycles, 0: not yet
    uint32_t n_dispatches[2], n_uops;
} flight;

typedef enum executed { SINGLE, DOUBLE, FP_MOVE, FP_LOAD, OTHER, N_EXECUTED } executed;

typedef struct follower {
    tl_tap tap;
    uint32_t thread;
    uint64_t next_cycle, n_cycles, n_outside;
    uint64_t n_steps[TL_UOP_ALONE + 1], n_vain[TL_N_UOP_VAINS], n_replays, n_uops_retired, n_uops_back, n_alone_retired;
    uint64_t n_executed[N_EXECUTED];
    flight flights[MAX_FLIGHT]; // by sequence number
    uint64_t *log, n_log;       // of everything, for comparison; NULL: none
} follower;

static void log_word(follower *f, uint64_t word) {
    if (f->log && f->n_log < MAX_LOG)
        f->log[f->n_log] = word;
    f->n_log += 1;
}

static executed executed_of(const tl_uop_event *event) {
    switch ((tl_class)event->cls) {
    case TL_CLASS_FP_ADD:
    case TL_CLASS_FP_MUL:
    case TL_CLASS_FP_FMA:
    case TL_CLASS_FP_CONVERT:
    case TL_CLASS_FP_COMPARE:
    case TL_CLASS_FP_DIV:
    case TL_CLASS_FP_SQRT: return event->size_bytes == 8 ? DOUBLE : SINGLE;
    case TL_CLASS_FP_MOVE: return FP_MOVE;
    case TL_CLASS_FP_STORE: return event->uop == 0 ? FP_MOVE : OTHER; // the other uop has the data
    case TL_CLASS_FP_LOAD: return FP_LOAD;
    default: return OTHER;
    }
}

static void follow(follower *f, const tl_cycle_record *record, const tl_uop_event *event) {
    flight *of = &f->flights[event->seq % MAX_FLIGHT];
    f->n_steps[event->step] += 1;
    switch ((tl_uop_step)event->step) {
    case TL_UOP_FETCH:
        assert_false(of->is_here);
        assert_true(event->bits != 0);
        *of = (flight){.is_here = true, .fetched = record->cycle};
        break;
    case TL_UOP_RENAME:
        assert_true(of->is_here && !of->is_renamed && record->cycle > of->fetched);
        of->is_renamed = true;
        of->renamed = record->cycle;
        of->n_uops = event->n_uops;
        break;
    case TL_UOP_DISPATCH:
        assert_true(of->is_renamed && record->cycle > of->renamed && event->uop < of->n_uops && of->done[event->uop] == 0);
        assert_int_equal(event->is_replay, of->n_dispatches[event->uop] > 0);
        assert_true(record->cycle >= of->dispatched[event->uop]);
        of->dispatched[event->uop] = record->cycle;
        of->n_dispatches[event->uop] += 1;
        of->done[event->uop] = event->done_half_cycles;
        assert_int_equal(event->done_half_cycles == 0, event->vain != TL_UOP_EFFECTIVE);
        assert_true(event->done_half_cycles == 0 || event->done_half_cycles > 2 * record->cycle);
        f->n_vain[event->vain] += 1;
        f->n_executed[event->vain == TL_UOP_EFFECTIVE ? executed_of(event) : OTHER] += 1;
        f->n_replays += event->is_replay;
        break;
    case TL_UOP_RETIRE:
        assert_true(of->is_renamed);
        for (uint32_t i = 0; i < of->n_uops; i++)
            assert_true(of->done[i] != 0 && of->done[i] <= 2 * record->cycle);
        assert_int_equal(event->n_uops, of->n_uops);
        f->n_uops_retired += event->n_uops;
        of->is_here = of->is_renamed = false;
        break;
    case TL_UOP_TAKE_BACK:
        assert_true(of->is_here);
        assert_int_equal(event->n_uops, of->is_renamed ? of->n_uops : 0);
        f->n_uops_back += event->n_uops;
        of->is_here = of->is_renamed = false;
        break;
    case TL_UOP_ALONE: f->n_alone_retired += event->has_retired; break;
    }
    log_word(f, event->seq << 8 | event->step);
    log_word(f, event->pc);
    log_word(f, event->done_half_cycles);
    log_word(f, event->vaddr << 8 | event->vain);
}

static void take_record(tl_tap *tap, const tl_cycle_record *record) {
    follower *f = (follower *)(void *)tap;
    assert_int_equal(record->cycle, f->next_cycle);
    assert_int_equal(record->thread, f->thread);
    assert_int_equal(record->h->id, f->thread);
    f->next_cycle = record->cycle + record->n_cycles;
    f->n_cycles += record->n_cycles;
    f->n_outside += record->cause == TL_TAP_OUTSIDE ? record->n_cycles : 0;
    log_word(f, record->cycle);
    log_word(f, record->n_cycles << 32 | record->cause);
    for (uint32_t i = 0; i < record->n_events; i++)
        follow(f, record, &record->events[i]);
}

static uint64_t signal_of(const tl_machine *machine, const char *path) {
    tl_cell cell;
    if (tl_probe_resolve(&machine->probe, path, &cell) != TL_OK)
        fail_msg("no signal %s", path);
    return tl_probe_read(&machine->probe, cell);
}

static tl_machine *open_machine(const char *name, rng *r) {
    tl_config config;
    tl_machine *machine;
    tl_error err;
    if (tl_description_open(name, &config, &err) != TL_OK)
        fail_msg("%s", err.text);
    config.ram_bytes = 16 << 20;
    if (tl_machine_new(&config, &tl_engine_ooo, &machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    rng again = *r;
    fill_ram(&again, machine);
    return machine;
}

// Runs to n instructions; a trap goes on elsewhere, as a kernel would after some time. chop: stops
// after each cycle.
static void run_to(tl_machine *machine, uint64_t n, bool chop) {
    tl_hart *h = machine->harts[0];
    h->insn_limit = n;
    while (h->instret < n) {
        h->horizon = chop ? h->now + 1 : UINT64_MAX;
        if (h->engine->run(h) == TL_STOP_TRAP)
            leave_trap(h);
    }
}

static void attach_thread(const tl_machine *machine, uint32_t thread, follower *f) {
    tl_error err;
    *f = (follower){.tap = {.record = take_record}, .thread = thread, .next_cycle = machine->harts[thread]->now, .log = f->log};
    if (machine->engine->tap(machine->harts[thread], &f->tap, &err) != TL_OK)
        fail_msg("%s", err.text);
}

static void detach_thread(tl_machine *machine, uint32_t thread) {
    tl_error err;
    assert_int_equal(machine->engine->tap(machine->harts[thread], NULL, &err), TL_OK);
    tl_machine_sync(machine);
}

static void attach(const tl_machine *machine, follower *f) { attach_thread(machine, 0, f); }
static void detach(tl_machine *machine) { detach_thread(machine, 0); }

static follower one, other;
static uint64_t logs[2][MAX_LOG];

static uint64_t in_flight(const follower *f, bool is_renamed) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < MAX_FLIGHT; i++)
        n += is_renamed ? f->flights[i].n_uops * f->flights[i].is_renamed : f->flights[i].is_here;
    return n;
}

static void check_against_signals(const tl_machine *machine, const follower *f) {
    const struct {
        const char *path;
        uint64_t n;
    } rows[] = {
        {"core.fetch_insn", f->n_steps[TL_UOP_FETCH]},
        {"core.dispatch", f->n_steps[TL_UOP_DISPATCH]},
        {"core.replay", f->n_replays},
        {"core.execute_single", f->n_executed[SINGLE]},
        {"core.execute_double", f->n_executed[DOUBLE]},
        {"core.execute_fp_move", f->n_executed[FP_MOVE]},
        {"core.execute_fp_load", f->n_executed[FP_LOAD]},
        {"core.in_vain_source", f->n_vain[TL_UOP_NO_OPERAND]},
        {"core.in_vain_miss", f->n_vain[TL_UOP_NO_LINE]},
        {"core.in_vain_tlb", f->n_vain[TL_UOP_NO_TRANSLATION]},
        {"core.in_vain_split", f->n_vain[TL_UOP_SPLIT]},
        {"core.in_vain_store", f->n_vain[TL_UOP_NO_STORE]},
        {"core.retire_insn", f->n_steps[TL_UOP_RETIRE]},
        {"core.retire_uop", f->n_uops_retired},
        {"core.taken_back_insn", f->n_steps[TL_UOP_TAKE_BACK]},
        {"core.taken_back_uop", f->n_uops_back},
        {"core.rename_uop", f->n_uops_retired + f->n_uops_back + in_flight(f, true)},
        {"core.alone", f->n_alone_retired},
        {"core.alone_trap", f->n_steps[TL_UOP_ALONE] - f->n_alone_retired},
        {"cycle", f->n_cycles - machine->harts[f->thread]->idle_cycles},
    };
    for (uint32_t i = 0; i < TL_COUNT_OF(rows); i++) {
        char path[64];
        snprintf(path, sizeof path, "hart%u.%s", f->thread, rows[i].path);
        if (signal_of(machine, path) != rows[i].n)
            fail_msg("%s is %" PRIu64 ", records say %" PRIu64, path, signal_of(machine, path), rows[i].n);
    }
    assert_int_equal(f->n_steps[TL_UOP_FETCH], f->n_steps[TL_UOP_RETIRE] + f->n_steps[TL_UOP_TAKE_BACK] + in_flight(f, false));
    for (executed what = SINGLE; what < OTHER; what++)
        assert_true(f->n_executed[what] > 0);
    assert_true(f->n_outside > 0 && f->n_steps[TL_UOP_ALONE] > f->n_alone_retired);
}

static void test_records_tell_every_event_once(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        rng r = {seed * 77777};
        tl_machine *machine = open_machine(seed % 2 ? "netburst" : "ooo", &r);
        point(machine->harts[0], seed);
        attach(machine, &one);
        run_to(machine, 30000, false);
        detach(machine);
        check_against_signals(machine, &one);
        tl_machine_free(machine);
    }
}

static void test_skipped_cycles_are_told_as_if_each_had_passed(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        rng r = {seed * 55555};
        tl_machine *machines[2];
        follower *followers[2] = {&one, &other};
        for (int i = 0; i < 2; i++) {
            machines[i] = open_machine(seed % 2 ? "netburst" : "ooo", &r);
            point(machines[i]->harts[0], seed);
            followers[i]->log = logs[i];
            attach(machines[i], followers[i]);
            run_to(machines[i], 4000, i == 1);
            detach(machines[i]);
            tl_machine_free(machines[i]);
        }
        assert_true(one.n_log > 20000 && one.n_log < MAX_LOG);
        assert_int_equal(one.n_log, other.n_log);
        assert_memory_equal(logs[0], logs[1], one.n_log * sizeof logs[0][0]);
    }
    one.log = other.log = NULL;
}

// Also one that comes and goes while instructions are in flight.
static void test_a_tap_changes_no_count(void **state) {
    (void)state;
    rng r = {4711};
    tl_machine *with = open_machine("netburst", &r), *without = open_machine("netburst", &r);
    point(with->harts[0], 3);
    point(without->harts[0], 3);
    for (uint64_t n = 500; n <= 20000; n += 500) {
        if (n / 500 % 3 != 0)
            attach(with, &one);
        run_to(with, n, false);
        if (n / 500 % 3 != 0)
            detach(with);
        run_to(without, n, false);
    }
    tl_machine_sync(with);
    tl_machine_sync(without);
    assert_memory_equal(with->tally, without->tally, with->probe.n_cells * sizeof with->tally[0]);
    tl_machine_free(with);
    tl_machine_free(without);
}

// ---- Two threads of a core.

// Runs the threads of `running` for n instructions each. A thread that is done lets the other one
// run alone.
static void run_threads(tl_machine *machine, uint32_t running, uint64_t n, bool chop) {
    for (uint32_t i = 0; i < N_THREADS; i++) {
        if (running >> i & 1)
            tl_hart_idle_until(machine->harts[i], tl_machine_now_cycles(machine));
        machine->harts[i]->insn_limit = machine->harts[i]->instret + n;
    }
    while (running != 0) {
        uint64_t least = UINT64_MAX, n_insns = UINT64_MAX;
        for (uint32_t i = 0; i < N_THREADS; i++)
            least = running >> i & 1 ? tl_lesser(least, machine->harts[i]->now) : least;
        machine->harts[0]->horizon = machine->harts[1]->horizon = chop ? least + 1 : UINT64_MAX;
        tl_hart *h;
        switch (machine->engine->run_group(machine->harts, N_THREADS, running, running, &n_insns, &h)) {
        case TL_STOP_TRAP: leave_trap(h); break;
        case TL_STOP_LIMIT: running &= ~(1u << h->id); break;
        default: break;
        }
    }
}

// Both threads, then one while the other one waits, by turns.
static void run_phases(tl_machine *machine, uint64_t n, bool chop) {
    static const uint32_t running[] = {BOTH_THREADS, 1, BOTH_THREADS, 2};
    for (uint32_t phase = 0; phase < 8; phase++)
        run_threads(machine, running[phase % 4], n + phase, chop);
}

static void test_records_of_two_threads_tell_every_event_once(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        rng r = {seed * 33333};
        tl_machine *machine = open_machine("netburst", &r);
        point(machine->harts[0], seed);
        point(machine->harts[1], seed + 100);
        attach_thread(machine, 0, &one);
        attach_thread(machine, 1, &other);
        run_phases(machine, 3000, false);
        detach_thread(machine, 0);
        detach_thread(machine, 1);
        check_against_signals(machine, &one);
        check_against_signals(machine, &other);
        tl_machine_free(machine);
    }
}

static void test_skipped_cycles_of_two_threads_are_told(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++)
        for (uint32_t thread = 0; thread < N_THREADS; thread++) {
            rng r = {seed * 22222};
            follower *followers[2] = {&one, &other};
            for (int i = 0; i < 2; i++) {
                tl_machine *machine = open_machine("netburst", &r);
                point(machine->harts[0], seed);
                point(machine->harts[1], seed + 100);
                followers[i]->log = logs[i];
                attach_thread(machine, thread, followers[i]);
                run_phases(machine, 300, i == 1);
                detach_thread(machine, thread);
                tl_machine_free(machine);
            }
            assert_true(one.n_log > 5000 && one.n_log < MAX_LOG);
            assert_int_equal(one.n_log, other.n_log);
            assert_memory_equal(logs[0], logs[1], one.n_log * sizeof logs[0][0]);
        }
    one.log = other.log = NULL;
}

// One thread alone has a tap, both have, or none has.
static void test_taps_of_two_threads_change_no_count(void **state) {
    (void)state;
    rng r = {4712};
    follower *followers[N_THREADS] = {&one, &other};
    tl_machine *with = open_machine("netburst", &r), *without = open_machine("netburst", &r);
    for (uint32_t i = 0; i < N_THREADS; i++) {
        point(with->harts[i], 3 + i);
        point(without->harts[i], 3 + i);
    }
    for (uint32_t taps = 0; taps < 16; taps++) {
        for (uint32_t i = 0; i < N_THREADS; i++)
            if (taps >> i & 1)
                attach_thread(with, i, followers[i]);
        run_phases(with, 200, false);
        for (uint32_t i = 0; i < N_THREADS; i++)
            if (taps >> i & 1)
                detach_thread(with, i);
        run_phases(without, 200, false);
    }
    tl_machine_sync(with);
    tl_machine_sync(without);
    assert_memory_equal(with->tally, without->tally, with->probe.n_cells * sizeof with->tally[0]);
    tl_machine_free(with);
    tl_machine_free(without);
}

// ---- Clocks.

typedef struct listener {
    tl_clock_tap tap;
    bool logs;
    uint64_t *log, n_log;
} listener;

static void hear_word(listener *l, uint64_t word) {
    assert_true(l->n_log < MAX_LOG);
    l->log[l->n_log++] = word;
}

static void hear_clock(tl_clock_tap *tap, const tl_clock_record *record) {
    listener *l = (listener *)(void *)tap;
    for (uint32_t i = 0; i < record->n_events && l->logs; i++) {
        const tl_uop_event *event = &record->events[i];
        hear_word(l, record->cycle << 8 | event->step);
        hear_word(l, event->seq << 16 | (uint64_t)event->vain << 8 | (uint64_t)event->uop << 4 | event->is_replay);
        hear_word(l, event->done_half_cycles << 8 | event->n_uops);
        hear_word(l, event->pc);
    }
}

// A listener that takes rows, or that is told all clocks, and the value of a tally in each.
enum { MOST_ROWS = TL_CLOCK_ROWS, ASSIST_CYCLES = 30 };
typedef struct row_listener {
    tl_clock_tap tap; // first
    tl_clock_rows rows;
    tl_cell cell;
    uint32_t columns[1][TL_CLOCK_TOTALS], ignored; // ignored: as tap.ignored with rows
    uint64_t *log, n_log, n_taken, n_told, n_asked, n_assists;
    tl_uop_event shown[MAX_FLIGHT]; // to may_retire, by sequence number
} row_listener;

static row_listener *row_listener_of(tl_clock_tap *tap) { return (row_listener *)(void *)tap; }

static void hear_row_word(row_listener *l, uint64_t word) {
    assert_true(l->n_log < MAX_LOG);
    l->log[l->n_log++] = word;
}

static void end_rows(row_listener *l) {
    for (uint32_t row = 1; row <= l->rows.n; row++)
        hear_row_word(l, l->columns[0][row + 1]);
    l->n_taken += l->rows.n;
    l->rows.n = 0;
}

static void check_shown(const row_listener *l, const tl_uop_event *event) {
    const tl_uop_event *shown = &l->shown[event->seq % MAX_FLIGHT];
    assert_int_equal(shown->step, TL_UOP_RETIRE);
    assert_int_equal(shown->seq, event->seq);
    assert_int_equal(shown->pc, event->pc);
    assert_int_equal(shown->vaddr, event->vaddr);
    assert_int_equal(shown->n_uops, event->n_uops);
    assert_int_equal(shown->has_missed, event->has_missed);
    assert_int_equal(shown->is_mispredicted, event->is_mispredicted);
}

// Clocks are told for an event that matters, else because rows have no room or begin.
static void hear_row_clock(tl_clock_tap *tap, const tl_clock_record *record) {
    row_listener *l = row_listener_of(tap);
    tl_clock_cells *c = &l->rows.threads[0];
    const bool had_room = c->until > 0 && l->rows.n < MOST_ROWS && c->priv == record->h->priv;
    uint32_t steps = 0;
    end_rows(l);
    for (uint32_t i = 0; i < record->n_events; i++) {
        const tl_uop_event *event = &record->events[i];
        steps |= 1u << event->step;
        if (event->step == TL_UOP_RETIRE && l->tap.sampled[0].classes != 0)
            check_shown(l, event);
        if (l->ignored >> event->step & 1)
            continue;
        hear_row_word(l, record->cycle << 8 | event->step);
        hear_row_word(l, event->seq << 16 | event->n_uops);
    }
    hear_row_word(l, (uint32_t)l->rows.tally[l->cell]);
    l->n_told += 1;
    if (!l->tap.rows)
        return;
    assert_true((steps & ~l->ignored) != 0 || !had_room);
    l->rows.clock = record->cycle;
    c->n_filled = 1;
    c->priv = record->h->priv;
    c->until = UINT64_MAX;
}

static void end_rows_of_run(tl_clock_tap *tap, const tl_hart *h, uint32_t thread) {
    (void)h, (void)thread;
    end_rows(row_listener_of(tap));
    row_listener_of(tap)->rows.threads[0].until = 0;
}

static bool ask_row_listener(tl_clock_tap *tap, const tl_hart *h, uint32_t thread, const tl_uop_event *event) {
    row_listener *l = row_listener_of(tap);
    (void)h, (void)thread;
    l->shown[event->seq % MAX_FLIGHT] = *event;
    return ++l->n_asked % 100 != 0;
}

static uint32_t assist_row_listener(tl_clock_tap *tap, const tl_hart *h, uint32_t thread) {
    (void)h, (void)thread;
    row_listener_of(tap)->n_assists += 1;
    return ASSIST_CYCLES;
}

static void hear_alone(tl_clock_tap *tap, const tl_hart *h, uint32_t thread, uint64_t cycle) {
    (void)tap, (void)h, (void)thread, (void)cycle;
}
static void hear_run(tl_clock_tap *tap, const tl_hart *h, uint32_t thread) { (void)tap, (void)h, (void)thread; }

// Runs for some cycles at a time. always: all is told all the time; else in two of three times.
static void hear(uint64_t seed, bool always, uint64_t *log, listener *l) {
    rng r = {seed * 99991};
    tl_machine *machine = open_machine("netburst", &r);
    tl_hart *h = machine->harts[0];
    tl_error err;
    *l = (listener){.tap = {.clock = hear_clock, .alone = hear_alone, .resume = hear_run, .suspend = hear_run}, .log = log};
    point(h, seed);
    if (tl_machine_clock_tap(machine, 0, &l->tap, &err) != TL_OK)
        fail_msg("%s", err.text);
    h->insn_limit = UINT64_MAX;
    for (uint64_t k = 0; k < 1500; k++) {
        const uint64_t end = h->now + 20 + k % 37;
        l->logs = k % 3 != 0;
        l->tap.tells_all = always || l->logs;
        while (h->now < end) {
            h->horizon = end;
            if (h->engine->run(h) == TL_STOP_TRAP)
                leave_trap(h);
        }
    }
    assert_int_equal(tl_machine_clock_tap(machine, 0, NULL, &err), TL_OK);
    tl_machine_free(machine);
}

// Instructions in flight are told as they are: why a dispatch is in vain, which one is a replay.
static void test_a_tap_that_begins_to_tell_all_tells_it_right(void **state) {
    (void)state;
    uint64_t n_words = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        listener always, now_and_then;
        hear(seed, true, logs[0], &always);
        hear(seed, false, logs[1], &now_and_then);
        n_words += always.n_log;
        assert_int_equal(always.n_log, now_and_then.n_log);
        assert_memory_equal(logs[0], logs[1], always.n_log * sizeof logs[0][0]);
    }
    assert_true(n_words > 500000);
}

static void hear_rows(uint64_t seed, uint32_t ignored, bool takes_rows, bool has_tap, uint64_t *log, row_listener *l) {
    static int program;
    rng r = {seed * 88883};
    tl_machine *machine = open_machine("netburst", &r);
    tl_hart *h = machine->harts[0];
    tl_error err;
    *l = (row_listener){.tap = {.tells_all = true,
                                .sampled = {{.classes = UINT32_MAX}},
                                .ignored = takes_rows ? ignored : 0,
                                .clock = hear_row_clock,
                                .alone = hear_alone,
                                .resume = end_rows_of_run,
                                .suspend = end_rows_of_run,
                                .may_retire = ask_row_listener,
                                .assist = assist_row_listener},
                        .rows = {.most = MOST_ROWS, .tally = machine->probe.tally},
                        .ignored = ignored,
                        .log = log};
    h->client = &program; // so that it has work
    l->tap.rows = takes_rows ? &l->rows : NULL;
    l->rows.threads[0] = (tl_clock_cells){.n = 1, .cells = &l->cell, .columns = l->columns};
    assert_int_equal(tl_probe_resolve(&machine->probe, "hart0.core.dispatch", &l->cell), TL_OK);
    point(h, seed);
    if (has_tap)
        attach(machine, &one);
    if (tl_machine_clock_tap(machine, 0, &l->tap, &err) != TL_OK)
        fail_msg("%s", err.text);
    run_to(machine, 6000, false);
    end_rows(l);
    assert_int_equal(tl_machine_clock_tap(machine, 0, NULL, &err), TL_OK);
    if (has_tap)
        detach(machine);
    tl_machine_free(machine);
}

// While all is told, clocks without an event that matters are rows. Nothing else changes: neither
// events, nor tallies of any clock, nor samples. A retirement is told as it was shown.
static void test_clocks_whose_events_are_ignored_are_rows(void **state) {
    (void)state;
    static row_listener told, rows;
    static const uint32_t ignored[] = {0, 1 << TL_UOP_FETCH, 1 << TL_UOP_FETCH | 1 << TL_UOP_DISPATCH,
                                       1 << TL_UOP_FETCH | 1 << TL_UOP_DISPATCH | 1 << TL_UOP_RETIRE};
    uint64_t n_taken[TL_COUNT_OF(ignored)] = {0};
    for (uint32_t k = 0; k < TL_COUNT_OF(ignored); k++)
        for (uint32_t has_tap = 0; has_tap < 2; has_tap++) {
            hear_rows(has_tap + 1, ignored[k], false, has_tap, logs[0], &told);
            hear_rows(has_tap + 1, ignored[k], true, has_tap, logs[1], &rows);
            assert_int_equal(told.n_log, rows.n_log);
            assert_memory_equal(logs[0], logs[1], told.n_log * sizeof logs[0][0]);
            assert_int_equal(told.n_told, rows.n_told + rows.n_taken);
            assert_int_equal(told.n_assists, rows.n_assists);
            assert_true(told.n_taken == 0 && rows.n_taken > 1000 && rows.n_assists > 10);
            n_taken[k] += rows.n_taken;
        }
    for (uint32_t k = 1; k < TL_COUNT_OF(ignored); k++)
        assert_true(n_taken[k] > n_taken[k - 1]);
}

static void hear_unheard_clock(tl_clock_tap *tap, const tl_clock_record *record) {
    row_listener *l = row_listener_of(tap);
    if (record->cycle == 0) // it is not behind the one under way
        return;
    assert_true(record->n_events > 0);
    const uint8_t last = record->events[record->n_events - 1].step;
    assert_true(last == TL_UOP_ALONE || last == TL_UOP_TAKE_BACK);
    l->n_told += last == TL_UOP_ALONE;
}

static bool ask_of_loads(tl_clock_tap *tap, const tl_hart *h, uint32_t thread, const tl_uop_event *event) {
    assert_true(event->cls == TL_CLASS_LOAD || event->cls == TL_CLASS_FP_LOAD);
    return ask_row_listener(tap, h, thread, event);
}

// Runs 6000 instructions, with records for a tap of cycles or without. Returns loads that retired.
static uint64_t run_unheard(bool has_tap, uint64_t n_passed, row_listener *l, uint64_t *ret_now) {
    rng r = {88883};
    tl_machine *machine = open_machine("netburst", &r);
    tl_error err;
    tl_cell loads;
    *l = (row_listener){.tap = {.sampled = {{.classes = 1u << TL_CLASS_LOAD | 1u << TL_CLASS_FP_LOAD, .n_passed = n_passed}},
                                .clock = hear_unheard_clock,
                                .alone = hear_alone,
                                .resume = hear_run,
                                .suspend = hear_run,
                                .may_retire = ask_of_loads,
                                .assist = assist_row_listener,
                                .rows = &l->rows},
                        .rows = {.unheard = 1, .tally = machine->probe.tally}};
    assert_int_equal(tl_probe_resolve(&machine->probe, "hart0.core.retire_load", &loads), TL_OK);
    point(machine->harts[0], 1);
    if (has_tap)
        attach(machine, &one);
    if (tl_machine_clock_tap(machine, 0, &l->tap, &err) != TL_OK)
        fail_msg("%s", err.text);
    run_to(machine, 6000, false);
    *ret_now = machine->harts[0]->now;
    assert_true(*l->tap.retired[0] > 5000 && *l->tap.renamed[0] >= *l->tap.retired[0]);
    const uint64_t n_loads = machine->probe.tally[loads];
    assert_int_equal(tl_machine_clock_tap(machine, 0, NULL, &err), TL_OK);
    if (has_tap)
        detach(machine);
    tl_machine_free(machine);
    return n_loads;
}

// Nothing is told of them but what executes alone, what a run takes back, and the last number.
// may_retire is asked of sampled classes, of each instruction once more if it was captured.
static void test_of_unheard_clocks_only_the_last_number_is_told(void **state) {
    (void)state;
    enum { PASSED = 80 };
    static row_listener l;
    for (uint32_t has_tap = 0; has_tap < 2; has_tap++)
        for (uint64_t n_passed = 0; n_passed <= PASSED; n_passed += PASSED) {
            uint64_t now;
            const uint64_t n_loads = run_unheard(has_tap, n_passed, &l, &now);
            assert_true(n_loads > 500 && l.n_told > 10);
            assert_int_equal(l.n_asked, n_loads - n_passed + l.n_assists);
            assert_int_equal(l.n_assists, l.n_asked / 100);
            assert_int_equal(l.tap.sampled[0].n_passed, 0);
            assert_in_range(l.rows.clock, now - 2000, now);
            assert_int_equal(l.rows.threads[0].told, l.rows.clock);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_of_unheard_clocks_only_the_last_number_is_told),
    cmocka_unit_test(test_clocks_whose_events_are_ignored_are_rows),
    cmocka_unit_test(test_a_tap_that_begins_to_tell_all_tells_it_right),
    cmocka_unit_test(test_records_tell_every_event_once),
    cmocka_unit_test(test_skipped_cycles_are_told_as_if_each_had_passed),
    cmocka_unit_test(test_a_tap_changes_no_count),
    cmocka_unit_test(test_records_of_two_threads_tell_every_event_once),
    cmocka_unit_test(test_skipped_cycles_of_two_threads_are_told),
    cmocka_unit_test(test_taps_of_two_threads_change_no_count),
};
TL_TEST_MAIN(tests)
