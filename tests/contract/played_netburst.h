// SPDX-License-Identifier: MIT
// A NetBurst PMU on a core that a test plays: clocks of two threads, told as a detailed core tells
// them, to a PMU that takes rows and to one that counts clock by clock. No program need bring a
// core into the state in question.
#ifndef TL_TESTS_PLAYED_NETBURST_H
#define TL_TESTS_PLAYED_NETBURST_H

#include <stdio.h>

#include "base/arena.h"
#include "base/testing.h"
#include "machine/machine.h"
#include "model/flow.h"
#include "pmu/netburst/feed.h"
#include "random_counters.h"
#include "random_threads.h"
#include "session/description.h"

// Signals of a thread that rows copy.
static const char *const signals[] = {
    "core.trace_lookup",       "core.trace_hit",       "core.trace_insn", "core.build_insn", "core.trace_flush",
    "core.load_split",         "core.store_split",     "core.load_alias", "itlb.access",     "itlb.miss",
    "core.store_address_wait", "core.store_data_wait", "ptw.walk_d",      "ptw.walk_i",      "core.memory_clear",
};
enum { N_SIGNALS = TL_COUNT_OF(signals), MEMORY_CLEAR = N_SIGNALS - 1, RETIRED_INSN = N_SIGNALS, RETIRED_UOP, N_CELLS, MAX_MOMENTS = 512 };
enum { AREA_AT = 0x1000, AREA_BYTES = 0x4000 }; // debug store areas, the only memory

typedef struct moment { // an overflow, and where each thread was
    uint32_t counter;
    tl_moment of[N_THREADS];
} moment;

typedef struct played {
    tl_machine *machine; // has harts, tallies and a description; nothing runs
    tl_pmu_host host;
    tl_arena arena;
    tl_netburst *n;
    tl_netburst_feed *feed;
    tl_clock_tap *tap; // NULL: detached
    tl_cell cells[N_THREADS][N_CELLS];
    uint64_t n_taken;   // rows that the core took itself
    uint64_t n_unheard; // clocks that it did not tell, because nobody hears them
    uint64_t n_passed;  // instructions of a sampled class that retired without a call
    // Numbers of instructions, as of now and as of the last clock, and whether that told all.
    uint64_t retired[N_THREADS], renamed[N_THREADS], was_renamed[N_THREADS];
    bool sees_all[N_THREADS];
    uint8_t area[AREA_BYTES];
    uint32_t n_moments;
    moment moments[MAX_MOMENTS];
} played;

// ---- What surrounds the PMU.

static inline uint64_t now_of(void *ctx, uint32_t hart) { return ((played *)ctx)->machine->harts[hart]->now; }
static inline uint64_t instret_of(void *ctx, uint32_t hart) { return ((played *)ctx)->machine->harts[hart]->instret; }
static inline void changed(void *ctx, uint32_t hart) { (void)ctx, (void)hart; }

static inline tl_status attach_tap(void *ctx, uint32_t hart, tl_clock_tap *tap, tl_error *err) {
    played *p = ctx;
    (void)err;
    p->tap = tap;
    if (!tap)
        return TL_OK;
    tap->retired[hart] = &p->retired[hart];
    tap->renamed[hart] = &p->was_renamed[hart];
    p->was_renamed[hart] = p->renamed[hart];
    p->sees_all[hart] = tap->tells_all;
    tap->resume(tap, p->machine->harts[hart], hart);
    return TL_OK;
}

static inline void catch_up(void *ctx, uint32_t thread) {
    if (((played *)ctx)->feed)
        tl_netburst_feed_catch_up(((played *)ctx)->feed, thread);
}

static inline void configured(void *ctx) {
    if (((played *)ctx)->feed)
        tl_netburst_feed_configured(((played *)ctx)->feed);
}

static inline void overflowed(void *ctx, uint32_t counter) {
    played *p = ctx;
    assert_true(p->n_moments < MAX_MOMENTS);
    moment *m = &p->moments[p->n_moments++];
    m->counter = counter;
    for (uint32_t i = 0; i < N_THREADS; i++)
        m->of[i] = tl_netburst_feed_moment(p->feed, i);
}

static inline bool transfer(void *ctx, uint32_t thread, uint64_t vaddr, void *bytes, uint32_t n_bytes, bool is_write) {
    played *p = ctx;
    (void)thread;
    if (vaddr < AREA_AT || vaddr + n_bytes > AREA_AT + AREA_BYTES)
        return false;
    memcpy(is_write ? &p->area[vaddr - AREA_AT] : bytes, is_write ? bytes : &p->area[vaddr - AREA_AT], n_bytes);
    return true;
}

static inline void open_machine(played *p) {
    tl_config config;
    tl_error err;
    if (tl_description_open("netburst", &config, &err) != TL_OK)
        fail_msg("%s", err.text);
    config.ram_bytes = 16 << 20;
    *p = (played){0};
    if (tl_machine_new(&config, &tl_engine_ooo, &p->machine, &err) != TL_OK)
        fail_msg("%s", err.text);
    for (uint32_t t = 0; t < N_THREADS; t++)
        for (uint32_t k = 0; k < N_CELLS; k++) {
            char path[64];
            snprintf(path, sizeof path, "hart%u.%s", t,
                     k == RETIRED_INSN  ? "core.retire_insn"
                     : k == RETIRED_UOP ? "core.retire_uop"
                                        : signals[k]);
            if (tl_probe_resolve(&p->machine->probe, path, &p->cells[t][k]) != TL_OK)
                fail_msg("no signal %s", path);
        }
    p->host = (tl_pmu_host){.ctx = p,
                            .probe = &p->machine->probe,
                            .config = &p->machine->config,
                            .n_harts = N_THREADS,
                            .instret = instret_of,
                            .now = now_of,
                            .clock_tap = attach_tap,
                            .changed = changed};
}

static inline void begin_program_with(played *p, bool is_eager, const tl_netburst_settings *settings) {
    const tl_netburst_host host = {
        .ctx = p, .catch_up = catch_up, .configured = configured, .overflowed = overflowed, .transfer = transfer};
    tl_error err;
    p->tap = NULL;
    p->feed = NULL;
    p->n_moments = 0;
    p->arena = (tl_arena){0};
    assert_int_equal(tl_netburst_new(settings, N_THREADS, &host, &p->arena, &p->n, &err), TL_OK);
    assert_int_equal(tl_netburst_feed_new(p->n, &p->host, 0, &p->arena, &p->feed, &err), TL_OK);
    p->n->is_eager = is_eager;
}

static inline void begin_program(played *p, bool is_eager) { begin_program_with(p, is_eager, &tl_netburst_default_settings); }

// ---- What a core does.

enum { MAX_MOVED = 4, MAX_EVENTS = 48, RANDOM_EVENTS = 3, CLOCKS_OF_ALONE = 40 };
enum { ALU_SEQ = TL_MAX_IN_FLIGHT - 1 }; // of instructions that no test has tagged
typedef struct step {                    // of a thread, in a clock
    uint32_t n_moved, n_events, n_insns, n_uops;
    uint8_t cells[MAX_MOVED], growths[MAX_MOVED];
    tl_uop_event events[MAX_EVENTS];
    bool is_store_full, is_alone, halts;
    tl_priv priv;    // behind it
    uint32_t clocks; // until the next one of the thread
    uint32_t msr;    // that an instruction alone reads, or writes
    bool writes;
    uint64_t value;
} step;

static inline void move(played *p, uint32_t thread, uint32_t k, uint64_t by) { p->machine->probe.tally[p->cells[thread][k]] += by; }

// The core tells it while it does not tell all.
static inline bool is_told(const tl_uop_event *event) {
    switch ((tl_uop_step)event->step) {
    case TL_UOP_RETIRE: return event->cls == TL_CLASS_BRANCH || event->cls == TL_CLASS_JAL || event->cls == TL_CLASS_JALR;
    case TL_UOP_TAKE_BACK: return event->n_uops > 0;
    default: return event->step == TL_UOP_ALONE;
    }
}

// The step tells of no instruction that retires, but says how many do. They have no tag.
static inline uint32_t add_untagged(const step *s, tl_uop_event *events) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_events; i++)
        n += s->events[i].step == TL_UOP_RETIRE;
    if (n > 0 || (s->n_events > 0 && s->events[0].step == TL_UOP_ALONE))
        return 0;
    assert_true(s->n_uops <= 2 * s->n_insns);
    for (; n < s->n_insns; n++)
        events[n] =
            (tl_uop_event){.step = TL_UOP_RETIRE, .cls = TL_CLASS_ALU, .n_uops = n < s->n_uops - s->n_insns ? 2 : 1, .seq = ALU_SEQ};
    return n;
}

static inline void tell(played *p, uint32_t thread, const step *s, uint64_t clock) {
    tl_hart *h = p->machine->harts[thread];
    tl_uop_event events[MAX_EVENTS];
    uint32_t steps = 0, n_events = 0;
    const bool saw_all = p->sees_all[thread];
    p->was_renamed[thread] = p->renamed[thread];
    p->sees_all[thread] = p->tap->tells_all;
    const bool is_alone = s->n_events > 0 && s->events[0].step == TL_UOP_ALONE;
    if (!is_alone && tl_clock_rows_pass(p->tap->rows, h, thread, clock, s->is_store_full)) {
        assert_false(p->n->is_eager);
        p->n_unheard += 1;
        return;
    }
    if (saw_all)
        n_events = add_untagged(s, events);
    steps |= n_events > 0 ? 1u << TL_UOP_RETIRE : 0;
    for (uint32_t i = 0; i < s->n_events; i++) {
        const bool is_late = s->events[i].step == TL_UOP_RENAME; // renames are found at the end
        if (!is_told(&s->events[i]) && !(is_late ? p->sees_all[thread] : saw_all))
            continue;
        events[n_events++] = s->events[i];
        steps |= 1u << s->events[i].step;
    }
    if (p->n->is_eager) // it hears of everything
        p->tap->ignored = 0;
    if (!is_alone && !(steps & ~p->tap->ignored) && tl_clock_rows_take(p->tap->rows, h, thread, clock, s->is_store_full)) {
        p->n_taken += 1;
        return;
    }
    p->tap->clock(p->tap,
                  &(tl_clock_record){
                      .h = h, .thread = thread, .cycle = clock, .is_store_full = s->is_store_full, .n_events = n_events, .events = events});
}

// false: an assist follows. The PMU that hears everything is asked of each instruction.
static inline bool retires(played *p, uint32_t thread, const tl_uop_event *uop) {
    if (!p->tap)
        return true;
    tl_clock_sampled *sampled = &p->tap->sampled[thread];
    const uint32_t classes = p->n->is_eager && p->n->sampling[thread].n > 0 ? UINT32_MAX : sampled->classes;
    if (!(classes >> uop->cls & 1))
        return true;
    if (sampled->n_passed == 0)
        return p->tap->may_retire(p->tap, p->machine->harts[thread], thread, uop);
    assert_false(p->n->is_eager);
    sampled->n_passed -= 1;
    p->n_passed += 1;
    return true;
}

// Returns what an instruction alone has read.
static uint64_t play(played *p, uint32_t thread, const step *s) {
    static int program;
    tl_hart *h = p->machine->harts[thread];
    const uint64_t clock = h->now;
    const bool is_heard = p->tap != NULL;
    uint64_t value = 0;
    if (s->is_alone) {
        if (is_heard)
            p->tap->alone(p->tap, h, thread, clock);
        if (s->writes)
            (void)!tl_netburst_wrmsr(p->n, thread, s->msr, s->value);
        else
            assert_int_equal(tl_netburst_rdmsr(p->n, thread, s->msr, &value), TL_OK);
        h->now += CLOCKS_OF_ALONE;
        h->instret += 1;
    }
    for (uint32_t i = 0; i < s->n_moved; i++)
        move(p, thread, s->cells[i], s->growths[i]);
    move(p, thread, RETIRED_INSN, s->n_insns);
    move(p, thread, RETIRED_UOP, s->n_uops);
    h->instret += s->n_insns;
    h->priv = s->priv;
    h->client = s->halts ? NULL : &program;
    if (is_heard && p->tap)
        tell(p, thread, s, clock);
    h->now = clock + s->clocks;
    return value;
}

static inline void run_or_stop(played *p, uint32_t running, bool runs) {
    for (uint32_t t = 0; t < N_THREADS; t++) {
        if (!(running >> t & 1) || !p->tap)
            continue;
        if (runs) {
            p->tap->resume(p->tap, p->machine->harts[t], t);
            p->sees_all[t] = p->tap->tells_all;
        } else {
            p->tap->suspend(p->tap, p->machine->harts[t], t);
        }
    }
}

// A thread that was not running idles, or a kernel has it, until the run begins.
static inline void begin_run(played *p, uint32_t running, uint64_t clock, bool has_idled) {
    static int program;
    for (uint32_t t = 0; t < N_THREADS; t++) {
        tl_hart *h = p->machine->harts[t];
        if (has_idled)
            tl_hart_idle_until(h, clock);
        else if (h->now < clock)
            h->now = clock;
        h->client = running >> t & 1 ? &program : NULL;
    }
    run_or_stop(p, running, true);
}

#endif
