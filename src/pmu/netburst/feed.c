// SPDX-License-Identifier: MIT
// See feed.h. A clock is a list of occurrences. Levels, such as a thread that runs, are added when
// it is counted, and hold in the clocks after it in which no thread tells anything.
#include "pmu/netburst/feed.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"
#include "isa/rv/arch.h"
#include "model/flow.h"
#include "model/isa.h"
#include "pmu/netburst/catalogue.h"
#include "pmu/netburst/rows.h"

enum { MAX_OCCURRENCES = 1024, ROOM_OF_A_RECORD = 512, MAX_SEGMENTS = 8, N_TAGS = 64, DRAINED_UOPS = 3 };

// Tags of a uop: front end, replay, and the four of execution.
enum { TAG_FRONT = 1 << 0, TAG_REPLAY = 1 << 1, TAG_EXEC_LSB = 2 };

enum { KIND_OF_LOADS = 2, KIND_OF_STORES = 4 }; // in the mask of uop_type

enum { MAX_CELLS = 16, MAX_WATCHED_CELLS = 128 };
typedef struct source { // of a thread
    tl_cell more[MAX_CELLS], less[MAX_CELLS];
    uint32_t n_more, n_less;
    uint8_t at[2 * MAX_CELLS]; // more, then less: their numbers in the watch
    uint64_t last;
    bool is_watched;
    uint8_t event, bit;
    uint32_t escrs; // of rows: used ESCRs that select it
} source;

// Cells of the sources that a detector selects, as they were in the last clock that was told.
typedef struct watch {
    uint32_t n;
    tl_cell cells[MAX_WATCHED_CELLS];
    uint64_t last[MAX_WATCHED_CELLS];
    uint64_t feeds[MAX_WATCHED_CELLS]; // sources, bit by bit: `watched`, then those of WATCH_...
    uint64_t moved;                    // sources that some cell feeds which has moved
    bool is_known;                     // `last` holds what the cells had in that clock
    uint8_t insns, uops;               // cells of what retires
    uint8_t clears;                    // cell of machine clears; MAX_WATCHED_CELLS: none
} watch;
#define WATCH_DELIVERS (UINT64_C(1) << 61)
#define WATCH_BUILDS (UINT64_C(1) << 62)
#define WATCH_FLUSHES (UINT64_C(1) << 63)
enum { MAX_WATCHED = 61 };

typedef struct segment { // the thread has this owner in clocks before `until`
    uint64_t until;
    uint8_t owner;
} segment;

enum { MODE_DELIVERS, MODE_BUILDS, MODE_IDLE, N_MODES }; // of fetch
enum { WEIGHT_OF_FLUSH = 2 };

typedef struct feed_thread {
    const tl_hart *h; // NULL: it has told nothing
    uint8_t bit_usr, bit_os;
    segment segments[MAX_SEGMENTS]; // in order of time; then `owner`
    uint32_t n_segments;
    uint8_t owner;        // 0: the thread is halted
    uint8_t run_owner;    // of what it executes
    uint64_t idle_cycles; // of the hart, when it last told
    uint64_t suspended;   // clock up to which it ran, or is known not to have run; NEVER: it runs
    uint64_t clear_until; // a machine clear goes on until this clock
    uint64_t alone;       // clock of an instruction that executes alone, or NEVER
    source *sources;      // of all masks that signals feed
    source **watched;     // those among them that a detector selects
    uint32_t n_watched;
    watch watch;
    // Retired without those that execute alone, and how many there were at the last clock told.
    uint64_t n_insns, n_uops;
    bool tells_all; // the clock under way, by its events; else by these two
    // Instructions from the trace cache, and to build traces; lines that it drops.
    source delivers, builds, flushes;
    uint8_t mode; // of fetch in the clock under way: MODE_*
    // Kinds that had a front-end tag when uops below `told_from` were renamed, by owner. RENAME
    // told of all others; NEVER: there are none.
    uint8_t front_kinds[1 << 4];
    uint64_t told_from;
    uint64_t untagged; // uops below were in flight when the feed attached
    uint8_t tags[TL_MAX_IN_FLIGHT][2];
    uint64_t n_granted; // while its clocks are unheard: what n_passed began at
    // NBX: of the first dispatch of uop 0, and when its result was there.
    uint64_t dispatched[TL_MAX_IN_FLIGHT], done_half_cycles[TL_MAX_IN_FLIGHT];
    // NBX: tag by the page-table root or by the process, and its first clock; NEVER: the PMU knows
    // it.
    uint64_t context, context_from;
    uint64_t process; // under the user-mode personality; 0: there is none
    // Uops taken back that were not told as bogus yet, by their tags; instructions by their
    // front-end tag.
    uint32_t bogus_uops[N_TAGS], bogus_insns[2], n_bogus;
    tl_clock_cells *cells;             // its part of rows
    uint64_t drained;                  // bogus uops of clocks before this one have left
    source insns, uops;                // retired
    uint32_t power_escrs, stall_escrs; // of rows: used ESCRs that select these levels
} feed_thread;

struct tl_netburst_feed {
    tl_clock_tap tap; // first
    tl_netburst *n;
    const tl_pmu_host *host;
    uint32_t first_hart, n_sources;
    bool is_attached, is_attaching;
    uint32_t accessing; // thread of the access under way
    uint64_t next;      // the first clock that was not counted
    bool has_clock;     // a clock under way, with these occurrences: row.clock
    bool is_counting, follows_contexts;
    // Kinds by owner, now: 2 loads, 4 stores have a front-end tag.
    uint8_t front_kinds[1 << 4];
    // Some is on each uop that a sampler of the thread counts; 0: unknown.
    uint8_t needed_tags[TL_NETBURST_THREADS];
    uint64_t epoch; // while counting: the clock before the first one that `n` has counted
    uint32_t n_occurrences;
    tl_netburst_occurrence occurrences[MAX_OCCURRENCES];
    feed_thread threads[TL_NETBURST_THREADS];
    // While rows are open, all clocks before the one under way are in them, and `next` is behind.
    tl_clock_rows row;
    bool hears_bogus;
    uint32_t planned; // owners that sources have their ESCRs for; UNPLANNED: none
    // Of rows: used ESCRs that select a pair of modes.
    uint32_t mode_escrs[N_MODES * N_MODES];
    uint8_t row_of[MAX_OCCURRENCES];
    tl_netburst_rows rows;
};
#define UNPLANNED UINT32_MAX
#define NEVER UINT64_MAX

static tl_netburst_feed *feed_of(tl_clock_tap *tap) { return (tl_netburst_feed *)(void *)tap; }

// ---- Classes.

static bool is_load(tl_class cls) { return cls == TL_CLASS_LOAD || cls == TL_CLASS_FP_LOAD; }
static bool is_store(tl_class cls) { return cls == TL_CLASS_STORE || cls == TL_CLASS_FP_STORE; }
static bool is_control(tl_class cls) { return cls == TL_CLASS_BRANCH || cls == TL_CLASS_JAL || cls == TL_CLASS_JALR; }

static uint8_t front_tag(uint8_t kinds, tl_class cls) {
    const uint32_t kind = is_load(cls) ? KIND_OF_LOADS : is_store(cls) ? KIND_OF_STORES : 0;
    return kinds & kind ? TAG_FRONT : 0;
}

// A replay may tag them.
static bool is_replayed(tl_class cls) { return is_load(cls) || is_store(cls) || is_control(cls); }

// ---- Occurrences.

static bool is_heard(const tl_netburst_feed *f, tl_netburst_event event) { return f->n->listeners[event] != 0; }

static void add(tl_netburst_feed *f, tl_netburst_event event, uint8_t owner, uint64_t weight, uint32_t mask) {
    if (weight == 0 || !is_heard(f, event))
        return;
    assert(f->n_occurrences < MAX_OCCURRENCES);
    f->row_of[f->n_occurrences] = (uint8_t)f->row.n;
    f->occurrences[f->n_occurrences++] = (tl_netburst_occurrence){
        .event = (uint8_t)event, .owner = owner, .weight = (uint16_t)(weight < UINT16_MAX ? weight : UINT16_MAX), .mask = (uint16_t)mask};
}

// Occurrences of a uop that retires, or is reported as bogus.
static void add_uop(tl_netburst_feed *f, uint8_t owner, uint32_t tags, bool is_bogus) {
    add(f, TL_NB_UOPS_RETIRED, owner, 1, 1u << is_bogus);
    if (tags & TAG_FRONT)
        add(f, TL_NB_FRONT_END_EVENT, owner, 1, 1u << is_bogus);
    if (tags & TAG_REPLAY)
        add(f, TL_NB_REPLAY_EVENT, owner, 1, 1u << is_bogus);
    if (tags >> TAG_EXEC_LSB)
        add(f, TL_NB_EXECUTION_EVENT, owner, 1, tags >> TAG_EXEC_LSB << (is_bogus ? 4 : 0));
}

static void add_insn(tl_netburst_feed *f, uint8_t owner, bool is_tagged, bool is_bogus) {
    add(f, TL_NB_INSTR_RETIRED, owner, 1, (is_tagged ? 2u : 1u) << (is_bogus ? 2 : 0));
    add(f, TL_NB_INSTR_COMPLETED, owner, 1, 1u << is_bogus);
}

// ---- Clocks.

TL_ALWAYS_INLINE uint8_t owner_at(const feed_thread *t, uint64_t clock) {
    for (uint32_t i = 0; i < t->n_segments; i++)
        if (clock < t->segments[i].until)
            return t->segments[i].owner;
    return t->owner;
}

static uint8_t active_now(const tl_netburst_feed *f) {
    const uint64_t clock = f->has_clock ? f->row.clock : f->next;
    uint8_t active = 0;
    for (uint32_t i = 0; i < f->n->n_threads; i++)
        active |= owner_at(&f->threads[i], clock);
    return active;
}

// The clock after `clock` in which the levels of a thread may differ.
static uint64_t next_level(const feed_thread *t, uint64_t clock) {
    uint64_t next = t->clear_until > clock ? t->clear_until : NEVER;
    if (t->context_from > clock)
        next = tl_lesser(next, t->context_from);
    for (uint32_t i = 0; i < t->n_segments; i++)
        if (t->segments[i].until > clock)
            next = tl_lesser(next, t->segments[i].until);
    return next;
}

static void forget_segments(feed_thread *t, uint64_t clock) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n_segments; i++)
        if (t->segments[i].until > clock)
            t->segments[n++] = t->segments[i];
    t->n_segments = n;
}

static void add_segment(feed_thread *t, uint64_t until, uint8_t owner) {
    if (t->n_segments == MAX_SEGMENTS) // all of one length of time: the last one grows
        t->n_segments -= 1;
    t->segments[t->n_segments++] = (segment){until, owner};
}

// Bogus uops with these tags leave. Returns how many instructions with their front-end tag do.
static uint32_t take_bogus(feed_thread *t, uint32_t tags, uint32_t n_uops) {
    uint32_t *insns = &t->bogus_insns[tags & TAG_FRONT];
    const uint32_t n_insns = (uint32_t)tl_lesser(n_uops, *insns);
    t->bogus_uops[tags] -= n_uops;
    t->n_bogus -= n_uops;
    *insns -= n_insns;
    return n_insns;
}

// A few bogus uops leave in each clock, as through the retirement.
static void drain(tl_netburst_feed *f, feed_thread *t) {
    for (uint32_t room = DRAINED_UOPS, tags = 0; tags < N_TAGS && room > 0;) {
        if (t->bogus_uops[tags] == 0) {
            tags += 1;
            continue;
        }
        room -= 1;
        add_uop(f, t->run_owner, tags, true);
        if (take_bogus(t, tags, 1) > 0)
            add_insn(f, t->run_owner, tags & TAG_FRONT, true);
    }
}

// `drain` for all clocks before this one, while no detector selects bogus uops.
static void drain_unheard(feed_thread *t, uint64_t until) {
    uint64_t room = (until - t->drained) * DRAINED_UOPS;
    t->drained = until;
    for (uint32_t tags = 0; t->n_bogus > 0 && tags < N_TAGS && room > 0; tags++) {
        const uint32_t n = (uint32_t)tl_lesser(room, t->bogus_uops[tags]);
        (void)take_bogus(t, tags, n);
        room -= n;
    }
}

// Pairs of modes of the two threads, each the number of a mask bit; both idle: none.
static const uint8_t mode_bits[N_MODES][N_MODES] = {{0, 1, 2}, {3, 4, 5}, {6, 7, 0xff}};
static void add_modes(tl_netburst_feed *f) {
    const uint8_t first = f->threads[0].mode, second = f->n->n_threads > 1 ? f->threads[1].mode : (uint8_t)MODE_IDLE;
    if (mode_bits[first][second] != 0xff)
        add(f, TL_NB_TC_DELIVER_MODE, 0, 1, 1u << mode_bits[first][second]);
    f->threads[0].mode = f->threads[1].mode = MODE_IDLE;
}

static void add_levels(tl_netburst_feed *f, uint32_t index, uint64_t clock, uint8_t *active) {
    feed_thread *t = &f->threads[index];
    const uint8_t owner = owner_at(t, clock);
    *active |= owner;
    if (owner != 0)
        add(f, TL_NB_GLOBAL_POWER_EVENTS, owner, 1, 1);
    if (t->cells->is_store_full)
        add(f, TL_NB_RESOURCE_STALL, owner, 1, 1 << 5);
    if (clock < t->clear_until)
        add(f, TL_NB_MACHINE_CLEAR, owner, 1, 1);
    if (t->n_bogus > 0)
        drain(f, t);
}

static void tell_context(tl_netburst_feed *f, uint32_t thread) {
    tl_netburst_set_context(f->n, thread, f->threads[thread].context);
    f->threads[thread].context_from = NEVER;
}

// The hart's page-table root, or its process, is in effect from this clock on.
static void note_context(tl_netburst_feed *f, uint32_t thread, uint64_t clock) {
    feed_thread *t = &f->threads[thread];
    const uint64_t tag = t->process != 0 ? t->process : t->h->context;
    if (tag == t->context)
        return;
    if (t->context_from != NEVER)
        tell_context(f, thread);
    t->context = tag;
    t->context_from = clock;
}

// Counts n_clocks equal clocks from `clock` on, with what happened in them.
static void count(tl_netburst_feed *f, uint64_t clock, uint64_t n_clocks) {
    tl_netburst_clock record = {.n_clocks = n_clocks, .occurrences = f->occurrences};
    for (uint32_t i = 0; i < f->n->n_threads; i++) {
        if (TL_UNLIKELY(f->threads[i].context_from <= clock))
            tell_context(f, i);
        add_levels(f, i, clock, &record.active);
    }
    add_modes(f);
    record.n_occurrences = f->n_occurrences;
    f->is_counting = true;
    f->epoch = clock - 1 - f->n->n_clocks;
    tl_netburst_count(f->n, &record);
    f->is_counting = false;
    f->n_occurrences = 0;
    f->next = clock + n_clocks;
}

static void count_until(tl_netburst_feed *f, uint64_t end) {
    if (f->has_clock && f->row.clock < end) {
        f->has_clock = false;
        count(f, f->row.clock, 1);
    }
    while (f->next < end) {
        uint64_t until = end;
        for (uint32_t i = 0; i < f->n->n_threads; i++) {
            until = tl_lesser(until, next_level(&f->threads[i], f->next));
            if (f->threads[i].n_bogus > 0)
                until = f->next + 1;
        }
        count(f, f->next, until - f->next);
    }
}

// ---- Totals.

static uint64_t total_now(const tl_netburst_feed *f, const source *s) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < s->n_more; i++)
        total += f->host->probe->tally[s->more[i]];
    for (uint32_t i = 0; i < s->n_less; i++)
        total -= f->host->probe->tally[s->less[i]];
    return total;
}

static uint64_t total_of(const watch *w, const source *s) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < s->n_more; i++)
        total += w->last[s->at[i]];
    for (uint32_t i = 0; i < s->n_less; i++)
        total -= w->last[s->at[s->n_more + i]];
    return total;
}

// Returns the growth of the source since the last call.
static uint64_t growth_of(const watch *w, source *s) {
    const uint64_t total = total_of(w, s), grown = total - s->last;
    if (grown > INT64_MAX) // what is subtracted came a clock before
        return 0;
    s->last = total;
    return grown;
}

static void set_cell(watch *w, uint32_t i, uint64_t value) {
    if (TL_LIKELY(value == w->last[i]))
        return;
    w->last[i] = value;
    w->moved |= w->feeds[i];
}

static void look_at_cells(const tl_netburst_feed *f, watch *w) {
    const uint64_t *tally = f->host->probe->tally;
    for (uint32_t i = 0; i < w->n; i++)
        set_cell(w, i, tally[w->cells[i]]);
    w->is_known = true;
}

// Growth of a source that may have moved.
static uint64_t take_growth(watch *w, source *s, uint64_t mark) {
    if (!(w->moved & mark))
        return 0;
    w->moved &= ~mark;
    return growth_of(w, s);
}

static uint8_t take_mode(feed_thread *t) {
    const uint64_t delivered = take_growth(&t->watch, &t->delivers, WATCH_DELIVERS);
    const uint64_t built = take_growth(&t->watch, &t->builds, WATCH_BUILDS);
    return delivered > 0 ? MODE_DELIVERS : built > 0 ? MODE_BUILDS : MODE_IDLE;
}

// Of cells as the watch has them.
static void add_totals(tl_netburst_feed *f, feed_thread *t, uint8_t owner) {
    watch *w = &t->watch;
    for (uint64_t left = w->moved & (WATCH_DELIVERS - 1); left != 0; left &= left - 1) {
        source *s = t->watched[__builtin_ctzll(left)];
        const uint64_t grown = growth_of(w, s);
        if (grown == 0)
            continue;
        add(f, (tl_netburst_event)s->event, owner, grown, 1u << s->bit);
        if (s->event == TL_NB_MACHINE_CLEAR)
            t->clear_until = f->row.clock + f->host->config->core.clear_cycles;
    }
    w->moved &= ~(WATCH_DELIVERS - 1);
    t->mode = take_mode(t);
    if (take_growth(w, &t->flushes, WATCH_FLUSHES) > 0)
        add(f, TL_NB_TC_MISC, owner, WEIGHT_OF_FLUSH, 1u << t->flushes.bit);
}

// No detector hears of tags while not all is told.
static void add_retired(tl_netburst_feed *f, feed_thread *t, uint8_t owner) {
    const watch *w = &t->watch;
    const uint64_t insns = w->last[w->insns] - t->n_insns, uops = w->last[w->uops] - t->n_uops;
    t->n_insns += insns;
    t->n_uops += uops;
    if (insns == 0 || t->tells_all)
        return;
    add(f, TL_NB_UOPS_RETIRED, owner, uops, 1);
    add(f, TL_NB_INSTR_RETIRED, owner, insns, 1);
    add(f, TL_NB_INSTR_COMPLETED, owner, insns, 1);
}

// ---- Unheard clocks. No counter but precise ones runs, which count what retires, and one thread
// runs. The core tells nothing of its clocks, which count as equal ones.

static tl_netburst_occurrence front_end_event(uint8_t owner) { return (tl_netburst_occurrence){TL_NB_FRONT_END_EVENT, owner, 1, 1}; }

// Counts instructions that retired without a call.
static void take_passed(tl_netburst_feed *f, uint32_t thread) {
    feed_thread *t = &f->threads[thread];
    tl_clock_sampled *sampled = &f->tap.sampled[thread];
    const tl_netburst_occurrence what = front_end_event(t->run_owner);
    tl_netburst_sample_alike(f->n, thread, &what, active_now(f) | t->run_owner, t->n_granted - sampled->n_passed);
    t->n_granted = sampled->n_passed = 0;
}

// Instructions of these classes may have a tag that a sampler counts.
static uint32_t sampled_classes(const tl_netburst_feed *f, uint32_t thread) {
    const feed_thread *t = &f->threads[thread];
    const uint8_t needed = f->needed_tags[thread];
    uint8_t kinds = 0;
    uint32_t classes = 0;
    if (f->n->sampling[thread].n == 0)
        return 0;
    if (needed == 0 || needed >> TAG_EXEC_LSB || f->n->threads[thread]->is_restarted)
        return UINT32_MAX;
    for (uint32_t owner = 0; owner < TL_COUNT_OF(t->front_kinds); owner++)
        if (f->row.unheard == 0 || owner == t->run_owner)
            kinds |= t->front_kinds[owner];
    if (f->tap.tells_all) // of kinds that were chosen meanwhile
        kinds = KIND_OF_LOADS | KIND_OF_STORES;
    for (tl_class cls = 0; cls < TL_N_CLASSES; cls++)
        if ((needed & front_tag(kinds, cls)) || ((needed & TAG_REPLAY) && is_replayed(cls)))
            classes |= 1u << cls;
    return classes;
}

static void choose_sampled(tl_netburst_feed *f, uint32_t thread) {
    assert(f->threads[thread].n_granted == 0);
    f->tap.sampled[thread].classes = sampled_classes(f, thread);
}

// The thread that runs alone, or all threads: no clock is unheard.
static uint32_t unheard_thread(const tl_netburst_feed *f) {
    uint32_t found = f->n->n_threads;
    if (!f->has_clock || f->n->n_used_counters != 0 || f->n->is_stale || f->n->is_eager || f->follows_contexts || f->tap.tells_all)
        return f->n->n_threads;
    for (uint32_t i = 0; i < f->n->n_threads; i++) {
        const feed_thread *t = &f->threads[i];
        if (next_level(t, f->row.clock) != NEVER || t->context_from != NEVER || t->watch.clears != MAX_WATCHED_CELLS)
            return f->n->n_threads;
        if (t->owner == 0)
            continue;
        const bool has_untagged = f->tap.retired[i] && *f->tap.retired[i] < t->untagged;
        const bool is_known = f->n->sampling[i].n == 0 || f->needed_tags[i] != 0;
        if (found != f->n->n_threads || t->owner != t->run_owner || has_untagged || !is_known)
            return f->n->n_threads;
        found = i;
    }
    return found;
}

// As many instructions with the front-end tag retire without a call as overflow no counter. No
// other instruction has a sampled class.
static void grant(tl_netburst_feed *f, uint32_t thread) {
    feed_thread *t = &f->threads[thread];
    const tl_netburst_occurrence what = front_end_event(t->run_owner);
    if (f->needed_tags[thread] != TAG_FRONT || f->n->threads[thread]->is_restarted)
        return;
    t->n_granted = tl_netburst_sampling_room(f->n, thread, &what, active_now(f) | t->run_owner);
    f->tap.sampled[thread].n_passed = t->n_granted;
}

static bool opens_unheard(tl_netburst_feed *f) {
    const uint32_t thread = unheard_thread(f);
    if (thread == f->n->n_threads)
        return false;
    f->row.unheard = 1u << thread;
    choose_sampled(f, thread);
    for (uint32_t i = 0; i < f->n->n_threads; i++)
        f->threads[i].drained = f->row.clock;
    grant(f, thread);
    return true;
}

// Nobody hears what sources have grown by.
static void forget_growth(const tl_netburst_feed *f, feed_thread *t) {
    watch *w = &t->watch;
    look_at_cells(f, w);
    w->moved = 0;
    for (uint32_t k = 0; k < t->n_watched; k++)
        t->watched[k]->last = total_of(w, t->watched[k]);
    t->delivers.last = total_of(w, &t->delivers);
    t->builds.last = total_of(w, &t->builds);
    t->flushes.last = total_of(w, &t->flushes);
    t->n_insns = w->last[w->insns];
    t->n_uops = w->last[w->uops];
}

static TL_NOINLINE void end_unheard(tl_netburst_feed *f) {
    const uint32_t thread = (uint32_t)__builtin_ctz(f->row.unheard);
    f->row.unheard = 0;
    take_passed(f, thread);
    choose_sampled(f, thread);
    for (uint32_t i = 0; i < f->n->n_threads; i++) {
        drain_unheard(&f->threads[i], f->row.clock);
        f->threads[i].mode = MODE_IDLE;
    }
    forget_growth(f, &f->threads[thread]);
    f->n->n_clocks += f->row.clock - f->next;
    f->next = f->row.clock;
    f->n_occurrences = 0;
}

// ---- Rows.

// Used ESCRs that count it.
static uint32_t escrs_of(const tl_netburst_feed *f, const tl_netburst_occurrence *what) {
    uint32_t escrs = 0;
    for (uint32_t left = f->n->listeners[what->event]; left != 0; left &= left - 1)
        if (tl_netburst_matches(f->n, &f->n->used_escrs[__builtin_ctz(left)], what, f->rows.active, 0))
            escrs |= left & -left;
    return escrs;
}

static uint32_t escrs_of_mask(const tl_netburst_feed *f, tl_netburst_event event, uint8_t owner, uint32_t mask) {
    return escrs_of(f, &(tl_netburst_occurrence){.event = (uint8_t)event, .owner = owner, .weight = 1, .mask = (uint16_t)mask});
}

static void plan_source(const tl_netburst_feed *f, source *s, uint8_t owner) {
    s->escrs = s->is_watched ? escrs_of_mask(f, (tl_netburst_event)s->event, owner, 1u << s->bit) : 0;
}

static void plan_modes(tl_netburst_feed *f) {
    for (uint32_t pair = 0; pair < N_MODES * N_MODES; pair++) {
        const uint8_t bit = mode_bits[pair / N_MODES][pair % N_MODES];
        f->mode_escrs[pair] = bit == 0xff ? 0 : escrs_of_mask(f, TL_NB_TC_DELIVER_MODE, 0, 1u << bit);
    }
}

// Which ESCRs count what a thread does while it and the other one have these owners.
static void plan_rows(tl_netburst_feed *f) {
    uint32_t owners = f->rows.active;
    for (uint32_t i = 0; i < f->n->n_threads; i++)
        owners = owners << 4 | f->threads[i].run_owner;
    if (owners == f->planned)
        return;
    f->planned = owners;
    plan_modes(f);
    for (uint32_t i = 0; i < f->n->n_threads; i++) {
        feed_thread *t = &f->threads[i];
        for (uint32_t k = 0; k < t->n_watched; k++)
            plan_source(f, t->watched[k], t->run_owner);
        plan_source(f, &t->flushes, t->run_owner);
        // A level is of the thread's owner, which is in `active`.
        t->power_escrs = escrs_of_mask(f, TL_NB_GLOBAL_POWER_EVENTS, t->owner, 1);
        t->stall_escrs = escrs_of_mask(f, TL_NB_RESOURCE_STALL, t->owner, 1 << 5);
        t->uops.escrs = t->insns.escrs = 0;
        if (f->tap.tells_all)
            continue;
        t->uops.escrs = escrs_of_mask(f, TL_NB_UOPS_RETIRED, t->run_owner, 1);
        t->insns.escrs = escrs_of_mask(f, TL_NB_INSTR_RETIRED, t->run_owner, 1) | escrs_of_mask(f, TL_NB_INSTR_COMPLETED, t->run_owner, 1);
    }
}

static void add_level(tl_netburst_feed *f, uint32_t escrs) {
    for (uint32_t left = escrs; left != 0; left &= left - 1)
        f->rows.level[__builtin_ctz(left)] += 1;
}

static void begin_columns(feed_thread *t) {
    const watch *w = &t->watch;
    t->insns.last = w->last[w->insns];
    t->uops.last = w->last[w->uops];
    for (uint32_t i = 0; i < w->n; i++)
        t->cells->columns[i][0] = t->cells->columns[i][1] = (uint32_t)w->last[i];
    t->cells->cells = w->cells;
    t->cells->n = w->n;
    t->cells->n_filled = 0;
}

// Rows begin with the clock under way, and what was told of it stays among the occurrences. Nothing
// that holds for many clocks may change soon.
static void open_rows(tl_netburst_feed *f) {
    tl_netburst *n = f->n;
    tl_netburst_rows *rows = &f->rows;
    uint8_t active = 0;
    if (!f->has_clock || f->follows_contexts || opens_unheard(f))
        return;
    for (uint32_t i = 0; i < n->n_threads; i++) {
        feed_thread *t = &f->threads[i];
        if (next_level(t, f->row.clock) != NEVER || t->context_from != NEVER || (f->hears_bogus && t->n_bogus > 0))
            return;
        active |= t->owner;
    }
    const uint64_t room = tl_netburst_room_of_rows(n);
    if (room < TL_CLOCK_ROWS)
        return;
    f->row.is_open = true;
    f->row.n = 0;
    f->row.n_idle = 0;
    f->row.n_behind = 0;
    f->row.until = room < NEVER - f->row.clock ? f->row.clock + room : NEVER;
    f->row.keeps_idle = n->has_edges;
    f->row.most = n->has_edges ? TL_CLOCK_ROWS - 1 : TL_CLOCK_ROWS;
    rows->active = active;
    memset(f->row_of, 0, f->n_occurrences);
    memset(rows->output, 0, n->n_used_escrs * sizeof rows->output[0]);
    memset(rows->level, 0, n->n_used_escrs);
    plan_rows(f);
    for (uint32_t i = 0; i < n->n_threads; i++) {
        feed_thread *t = &f->threads[i];
        t->drained = f->row.clock;
        t->cells->may_tell = t->owner != 0 && t->owner == t->run_owner && t->watch.is_known && t->tells_all == f->tap.tells_all;
        t->cells->until = t->cells->may_tell && t->watch.clears == MAX_WATCHED_CELLS ? f->row.until : 0;
        t->cells->tells_stores = is_heard(f, TL_NB_RESOURCE_STALL);
        if (t->h)
            t->cells->priv = t->h->priv;
        begin_columns(t);
        if (t->owner != 0)
            add_level(f, t->power_escrs);
        if (t->cells->is_store_full)
            add_level(f, t->stall_escrs);
    }
}

// Occurrences go to their rows. Those of the clock under way stay.
static void fold_occurrences(tl_netburst_feed *f) {
    uint32_t n = 0, escrs = 0;
    tl_netburst_occurrence last = {0}; // has these ESCRs
    for (uint32_t k = 0; k < f->n_occurrences; k++) {
        const tl_netburst_occurrence what = f->occurrences[k];
        const uint32_t row = f->row_of[k];
        if (row == f->row.n) {
            f->occurrences[n++] = what;
            continue;
        }
        if (what.event != last.event || what.owner != last.owner || what.mask != last.mask)
            escrs = escrs_of(f, &what);
        last = what;
        for (uint32_t left = escrs; left != 0; left &= left - 1) {
            uint8_t *output = &f->rows.output[__builtin_ctz(left)][row];
            const uint32_t sum = *output + what.weight;
            *output = (uint8_t)(sum < TL_NETBURST_MAX_OUTPUT ? sum : TL_NETBURST_MAX_OUTPUT);
        }
    }
    f->n_occurrences = n;
}

// The totals fall now and then, because what is subtracted came a clock before.
static void add_growths_one_by_one(const uint32_t totals[TL_CLOCK_TOTALS], uint32_t most, uint32_t n, uint8_t ret[TL_CLOCK_ROWS],
                                   uint32_t *ret_most) {
    memset(ret, 0, TL_CLOCK_ROWS);
    for (uint32_t r = 0; r < n; r++) {
        const uint32_t grown = totals[r + 1] - most;
        if (grown > INT32_MAX)
            continue;
        ret[r] = (uint8_t)(grown < TL_NETBURST_MAX_OUTPUT ? grown : TL_NETBURST_MAX_OUTPUT);
        most = totals[r + 1];
    }
    *ret_most = most;
}

// No cell of the source has grown in any row. Cells never fall.
static bool is_still(const tl_netburst_feed *f, const feed_thread *t, const source *s) {
    for (uint32_t i = 0; i < s->n_more + s->n_less; i++) {
        const uint32_t *column = t->cells->columns[s->at[i]];
        if (column[f->row.n] != column[0])
            return false;
    }
    return total_of(&t->watch, s) == s->last;
}

// The growth of the source in each row, which is taken.
static void take_growths(const tl_netburst_feed *f, feed_thread *t, source *s, uint8_t ret[TL_CLOCK_ROWS]) {
    const tl_netburst_column_ops *ops = f->n->columns;
    const uint32_t n = f->row.n, *totals = t->cells->columns[s->at[0]];
    const uint64_t before = total_of(&t->watch, s);
    uint32_t sums[TL_CLOCK_TOTALS], most;
    if (s->n_more + s->n_less > 1) {
        memset(sums, 0, sizeof sums);
        for (uint32_t i = 0; i < s->n_more + s->n_less; i++)
            ops->add_totals(sums, t->cells->columns[s->at[i]], i < s->n_more ? 1 : UINT32_MAX);
        totals = sums;
    }
    if (n < TL_CLOCK_ROWS) {
        if (totals != sums)
            memcpy(sums, totals, sizeof sums);
        for (uint32_t r = n + 1; r <= TL_CLOCK_ROWS; r++)
            sums[r] = sums[n];
        totals = sums;
    }
    if (TL_LIKELY(before == s->last && ops->growths(totals, ret))) {
        s->last += (uint32_t)(totals[n] - totals[0]);
        return;
    }
    const uint32_t first = totals[0] + (uint32_t)(s->last - before);
    add_growths_one_by_one(totals, first, n, ret, &most);
    s->last += (uint32_t)(most - first);
}

static void add_column(tl_netburst_feed *f, uint32_t escrs, const uint8_t column[TL_CLOCK_ROWS]) {
    for (uint32_t left = escrs; left != 0; left &= left - 1)
        f->n->columns->add(f->rows.output[__builtin_ctz(left)], column);
}

static void add_source(tl_netburst_feed *f, feed_thread *t, source *s) {
    uint8_t growths[TL_CLOCK_ROWS];
    if (is_still(f, t, s))
        return;
    take_growths(f, t, s, growths);
    add_column(f, s->escrs, growths);
}

static void add_flushes(tl_netburst_feed *f, feed_thread *t) {
    uint8_t growths[TL_CLOCK_ROWS];
    if (is_still(f, t, &t->flushes))
        return;
    take_growths(f, t, &t->flushes, growths);
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++)
        growths[r] = growths[r] > 0 ? WEIGHT_OF_FLUSH : 0;
    add_column(f, t->flushes.escrs, growths);
}

static void find_modes(const tl_netburst_feed *f, feed_thread *t, uint8_t ret[TL_CLOCK_ROWS]) {
    uint8_t delivered[TL_CLOCK_ROWS], built[TL_CLOCK_ROWS];
    take_growths(f, t, &t->delivers, delivered);
    take_growths(f, t, &t->builds, built);
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++) // MODE_DELIVERS, MODE_BUILDS, MODE_IDLE
        ret[r] = (uint8_t)((delivered[r] == 0) + ((delivered[r] | built[r]) == 0));
}

static void add_modes_of_rows(tl_netburst_feed *f, const uint8_t modes[TL_NETBURST_THREADS][TL_CLOCK_ROWS]) {
    uint8_t pairs[TL_CLOCK_ROWS], is_pair[TL_CLOCK_ROWS];
    if (!is_heard(f, TL_NB_TC_DELIVER_MODE))
        return;
    for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++)
        pairs[r] = (uint8_t)(modes[0][r] * N_MODES + modes[1][r]);
    for (uint8_t pair = 0; pair < N_MODES * N_MODES; pair++) {
        if (f->mode_escrs[pair] == 0)
            continue;
        for (uint32_t r = 0; r < TL_CLOCK_ROWS; r++)
            is_pair[r] = pairs[r] == pair;
        add_column(f, f->mode_escrs[pair], is_pair);
    }
}

// Rows of the thread go to the outputs, and what the sources had becomes that of the last row.
static void add_rows_of(tl_netburst_feed *f, feed_thread *t, uint8_t ret_modes[TL_CLOCK_ROWS]) {
    watch *w = &t->watch;
    const uint32_t n = f->row.n;
    for (uint32_t k = 0; k < t->n_watched; k++)
        add_source(f, t, t->watched[k]);
    if (t->delivers.is_watched)
        find_modes(f, t, ret_modes);
    if (t->flushes.is_watched)
        add_flushes(f, t);
    if (t->uops.escrs != 0)
        add_source(f, t, &t->uops);
    if (t->insns.escrs != 0)
        add_source(f, t, &t->insns);
    for (uint32_t i = 0; i < w->n; i++)
        w->last[i] += (uint32_t)(t->cells->columns[i][n] - t->cells->columns[i][0]);
    t->n_insns = w->last[w->insns];
    t->n_uops = w->last[w->uops];
}

static void tell_of_last_row(tl_netburst_feed *f, feed_thread *t) {
    watch *w = &t->watch;
    const uint32_t n = f->row.n;
    for (uint32_t i = 0; i < w->n; i++)
        set_cell(w, i, w->last[i] + (uint32_t)(t->cells->columns[i][n + 1] - t->cells->columns[i][n]));
    add_totals(f, t, t->run_owner);
    add_retired(f, t, t->run_owner);
}

// All rows are counted. The clock under way has what was told of it, as if there were none.
static void close_rows(tl_netburst_feed *f) {
    uint8_t modes[TL_NETBURST_THREADS][TL_CLOCK_ROWS];
    const uint32_t n = f->row.n;
    if (f->row.unheard != 0)
        end_unheard(f);
    if (!f->row.is_open)
        return;
    f->row.is_open = false;
    f->next = f->row.clock;
    memset(modes, MODE_IDLE, sizeof modes);
    for (uint32_t i = 0; i < f->n->n_threads; i++) {
        feed_thread *t = &f->threads[i];
        t->cells->until = 0;
        drain_unheard(t, f->row.clock);
        if (n == 0)
            continue;
        if (t->cells->n_filled > 0) {
            tl_clock_cells_fill(t->cells, n);
            add_rows_of(f, t, modes[i]);
        }
        if (t->mode != MODE_IDLE) // it told the first row before there were any
            modes[i][0] = t->mode;
        t->mode = MODE_IDLE;
    }
    fold_occurrences(f);
    if (n > 0) {
        add_modes_of_rows(f, modes);
        f->rows.n = n;
        f->rows.n_idle = f->row.n_idle;
        f->rows.ends_idle = f->row.n_behind > 0;
        f->rows.ends_repeated = f->row.n_behind > 1;
        tl_netburst_count_rows(f->n, &f->rows);
    }
    for (uint32_t i = 0; i < f->n->n_threads; i++)
        if (f->threads[i].cells->n_filled > n)
            tell_of_last_row(f, &f->threads[i]);
}

// The clock under way is over, and this one begins. false: it is no row.
static bool next_row(tl_netburst_feed *f, uint64_t clock) {
    if (TL_UNLIKELY(!tl_clock_rows_have_room(&f->row, clock) || f->n_occurrences + ROOM_OF_A_RECORD > MAX_OCCURRENCES)) {
        close_rows(f);
        open_rows(f);
        if (!f->row.is_open || !tl_clock_rows_have_room(&f->row, clock))
            return false;
    }
    tl_clock_rows_begin(&f->row, clock);
    return true;
}

// Enters the clock of the record. false: it cannot be a row.
static bool enter_row(tl_netburst_feed *f, const feed_thread *t, const tl_clock_record *record) {
    const tl_clock_cells *c = t->cells;
    if (!c->may_tell || (c->tells_stores && record->is_store_full != c->is_store_full))
        return false;
    if (TL_UNLIKELY(record->cycle <= f->row.clock))
        return record->cycle == f->row.clock && !(f->row.told >> record->thread & 1);
    return next_row(f, record->cycle);
}

// ---- Tags.

static bool tags_owner(const tl_netburst *n, tl_escr escr, uint8_t owner) {
    return n->escr[escr] & owner && tl_netburst_has_power(n, escr);
}

static uint8_t front_kinds(const tl_netburst *n, uint8_t owner) {
    uint32_t kinds = 0;
    for (tl_escr escr = TL_RAT_ESCR0; escr <= TL_RAT_ESCR1; escr++)
        if (n->escr[escr] >> TL_ESCR_EVENT_LSB == tl_netburst_event_rows[TL_NB_UOP_TYPE].code && tags_owner(n, escr, owner))
            kinds |= (uint32_t)(n->escr[escr] >> TL_ESCR_MASK_LSB) & (KIND_OF_LOADS | KIND_OF_STORES);
    return (uint8_t)kinds;
}

// The event of FIRM for this uop, and its mask bit.
static tl_netburst_event firm_event(const tl_uop_event *uop, uint32_t *ret_mask) {
    *ret_mask = 1u << 15;
    switch ((tl_class)uop->cls) {
    case TL_CLASS_FP_ADD:
    case TL_CLASS_FP_MUL:
    case TL_CLASS_FP_FMA:
    case TL_CLASS_FP_CONVERT:
    case TL_CLASS_FP_COMPARE:
    case TL_CLASS_FP_DIV:
    case TL_CLASS_FP_SQRT: return uop->size_bytes == 8 ? TL_NB_SCALAR_DP_UOP : TL_NB_SCALAR_SP_UOP;
    case TL_CLASS_FP_MOVE:
    case TL_CLASS_FP_STORE:
        *ret_mask = 1 << 3;
        return uop->uop == 0 || uop->cls == TL_CLASS_FP_MOVE ? TL_NB_X87_SIMD_MOVES_UOP : TL_NB_NO_EVENT;
    case TL_CLASS_FP_LOAD: *ret_mask = 1 << 4; return TL_NB_X87_SIMD_MOVES_UOP;
    default: return TL_NB_NO_EVENT;
    }
}

static uint32_t execution_tags(const tl_netburst *n, tl_netburst_event event, uint32_t mask, uint8_t owner) {
    uint32_t tags = 0;
    for (tl_escr escr = TL_FIRM_ESCR0; escr <= TL_FIRM_ESCR1; escr++)
        if ((n->escr[escr] & TL_ESCR_TAG_ENABLE) && n->escr[escr] >> TL_ESCR_EVENT_LSB == tl_netburst_event_rows[event].code &&
            (n->escr[escr] >> TL_ESCR_MASK_LSB & mask) && tags_owner(n, escr, owner))
            tags |= (uint32_t)(n->escr[escr] >> TL_ESCR_TAG_VALUE_LSB) & 15;
    return tags << TAG_EXEC_LSB;
}

// Causes and kinds of MSR_PEBS_ENABLE and MSR_PEBS_MATRIX_VERT.
enum { CAUSE_FIRST_LEVEL = 1 << 0, CAUSE_DTLB = 1 << 2, CAUSE_MOB = 1 << 9, CAUSE_SPLIT = 1 << 10, CAUSE_BRANCH = 3 << 15 };
enum { KIND_LOAD = 1 << 0, KIND_STORE = 1 << 1, KIND_BRANCH = 1 << 4 };

// Some ESCR of the pair has the event with this mask, for this owner: it lets the cause tag.
static bool has_detector(const tl_netburst *n, tl_netburst_event event, uint32_t mask, uint8_t owner) {
    const tl_netburst_event_row *row = &tl_netburst_event_rows[event];
    for (uint32_t k = 0; k < 2; k++) {
        const tl_escr escr = (tl_escr)(row->pair + k);
        if (n->escr[escr] >> TL_ESCR_EVENT_LSB == row->code && (n->escr[escr] >> TL_ESCR_MASK_LSB & mask) && tags_owner(n, escr, owner))
            return true;
    }
    return false;
}

static uint32_t replay_tag(const tl_netburst *n, uint32_t cause, uint32_t kind, uint8_t owner) {
    const uint64_t enable = *n->pebs_enable;
    if (!(enable & TL_PEBS_UOP_TAG) || !(enable & cause) || !(*n->matrix & kind))
        return 0;
    if (cause == CAUSE_MOB && !has_detector(n, TL_NB_MOB_LOAD_REPLAY, 1 << 4 | 1 << 5, owner))
        return 0;
    if (cause == CAUSE_SPLIT && !has_detector(n, kind == KIND_LOAD ? TL_NB_LOAD_PORT_REPLAY : TL_NB_STORE_PORT_REPLAY, 1 << 1, owner))
        return 0;
    return TAG_REPLAY;
}

typedef struct uop_tags {
    uint8_t of[2];
} uop_tags;

static uint8_t *tags_of(feed_thread *t, uint64_t seq) { return t->tags[seq % TL_MAX_IN_FLIGHT]; }

// ---- Uops.

// Mask bits of retired_branch_type, and of retired_mispred_branch_type, whose CALL is indirect.
enum { TYPE_UNCONDITIONAL = 1, TYPE_CONDITIONAL = 2, TYPE_CALL = 4, TYPE_RETURN = 8, TYPE_INDIRECT = 16 };
static uint32_t branch_type(const tl_uop_event *uop, bool is_direct_call) {
    if (uop->cls == TL_CLASS_BRANCH)
        return TYPE_CONDITIONAL;
    const bool is_indirect = uop->cls == TL_CLASS_JALR;
    return (is_indirect ? TYPE_INDIRECT : TYPE_UNCONDITIONAL) | (uop->is_return ? TYPE_RETURN : 0u) |
           (uop->is_call && (is_indirect || is_direct_call) ? TYPE_CALL : 0u);
}

// The bit of branch_retired.
static uint16_t branch_outcome(const tl_uop_event *uop) {
    const bool is_taken = uop->is_taken || uop->cls != TL_CLASS_BRANCH;
    return (uint16_t)((uop->is_mispredicted ? 2u : 1u) << (is_taken ? 2 : 0));
}

static void branch_retires(tl_netburst_feed *f, const tl_uop_event *uop, uint8_t owner) {
    add(f, TL_NB_BRANCH_RETIRED, owner, 1, branch_outcome(uop));
    add(f, TL_NB_RETIRED_BRANCH_TYPE, owner, 1, branch_type(uop, true));
    if (!uop->is_mispredicted)
        return;
    add(f, TL_NB_MISPRED_BRANCH_RETIRED, owner, 1, 1);
    add(f, TL_NB_RETIRED_MISPRED_BRANCH_TYPE, owner, 1, branch_type(uop, false));
}

// Counters that sample see these occurrences of an instruction.
enum { MAX_OF_INSN = 2 * 4 + 4 };

static uint32_t occurrences_of(uint8_t owner, const tl_uop_event *event, const uint8_t *tags, uint32_t n_uops,
                               tl_netburst_occurrence *ret) {
    uint32_t n = 0;
    for (uint32_t k = 0; k < n_uops; k++) {
        ret[n++] = (tl_netburst_occurrence){TL_NB_UOPS_RETIRED, owner, 1, 1};
        if (tags[k] & TAG_FRONT)
            ret[n++] = (tl_netburst_occurrence){TL_NB_FRONT_END_EVENT, owner, 1, 1};
        if (tags[k] & TAG_REPLAY)
            ret[n++] = (tl_netburst_occurrence){TL_NB_REPLAY_EVENT, owner, 1, 1};
        if (tags[k] >> TAG_EXEC_LSB)
            ret[n++] = (tl_netburst_occurrence){TL_NB_EXECUTION_EVENT, owner, 1, (uint16_t)(tags[k] >> TAG_EXEC_LSB)};
    }
    ret[n++] = (tl_netburst_occurrence){TL_NB_INSTR_RETIRED, owner, 1, tags[0] & TAG_FRONT ? 2 : 1};
    ret[n++] = (tl_netburst_occurrence){TL_NB_INSTR_COMPLETED, owner, 1, 1};
    if (!is_control((tl_class)event->cls))
        return n;
    ret[n++] = (tl_netburst_occurrence){TL_NB_BRANCH_RETIRED, owner, 1, branch_outcome(event)};
    if (event->is_mispredicted)
        ret[n++] = (tl_netburst_occurrence){TL_NB_MISPRED_BRANCH_RETIRED, owner, 1, 1};
    return n;
}

// Tags of replays that are told at the end: missed lines, missed translations and crossed lines, of
// which an access may have all, and mispredictions. Returns are never tagged (SDM).
static uop_tags tags_at_end(tl_netburst_feed *f, feed_thread *t, const tl_uop_event *uop, uint8_t owner) {
    uop_tags tags = {{0, 0}};
    const uint32_t kind = is_store((tl_class)uop->cls) ? KIND_STORE : KIND_LOAD;
    if (f->tap.tells_all)
        memcpy(tags.of, tags_of(t, uop->seq), sizeof tags.of);
    if (uop->seq < t->told_from && uop->seq >= t->untagged)
        tags.of[0] |= front_tag(t->front_kinds[owner], (tl_class)uop->cls);
    if (uop->has_missed)
        tags.of[0] |= (uint8_t)replay_tag(f->n, CAUSE_FIRST_LEVEL, KIND_LOAD, owner);
    if (uop->has_missed_dtlb)
        tags.of[0] |= (uint8_t)replay_tag(f->n, CAUSE_DTLB, kind, owner);
    if (uop->is_split)
        tags.of[0] |= (uint8_t)replay_tag(f->n, CAUSE_SPLIT, kind, owner);
    if (uop->step == TL_UOP_RETIRE && uop->is_mispredicted && is_control((tl_class)uop->cls) && !uop->is_return)
        tags.of[0] |= (uint8_t)replay_tag(f->n, CAUSE_BRANCH, KIND_BRANCH, owner);
    return tags;
}

static void retires(tl_netburst_feed *f, feed_thread *t, const tl_uop_event *uop, uint8_t owner) {
    if (f->n->n_used_escrs == 0) // nobody hears of it
        return;
    if (is_control((tl_class)uop->cls))
        branch_retires(f, uop, owner);
    if (!t->tells_all)
        return;
    const uop_tags tags = tags_at_end(f, t, uop, owner);
    for (uint32_t k = 0; k < uop->n_uops; k++)
        add_uop(f, owner, tags.of[k], false);
    add_insn(f, owner, tags.of[0] & TAG_FRONT, false);
}

// One uop. Accesses of devices and locked ones have no tag (SDM). No assist can capture it.
static void retires_alone(tl_netburst_feed *f, uint32_t thread, const tl_uop_event *uop, uint8_t owner) {
    const uint8_t tags = uop->is_device ? 0 : front_tag(f->front_kinds[owner], (tl_class)uop->cls);
    if (f->n->sampling[thread].n > 0) {
        tl_netburst_occurrence uops[MAX_OF_INSN];
        const uint32_t n = occurrences_of(owner, uop, &tags, 1, uops);
        tl_netburst_has_retired(f->n, thread, uops, n, active_now(f) | owner);
    }
    if (is_control((tl_class)uop->cls))
        branch_retires(f, uop, owner);
    add_uop(f, owner, tags, false);
    add_insn(f, owner, tags & TAG_FRONT, false);
}

// An erratum counts conditional branches that a clear of the pipeline takes back.
static void overcount(tl_netburst_feed *f, const tl_uop_event *uop, uint8_t owner) {
    if (uop->cls != TL_CLASS_BRANCH || uop->n_uops == 0 || !f->n->errata[TL_ERRATUM_BRANCH_TYPE_OVERCOUNT])
        return;
    add(f, TL_NB_RETIRED_BRANCH_TYPE, owner, 1, TYPE_CONDITIONAL);
    if (uop->is_mispredicted)
        add(f, TL_NB_RETIRED_MISPRED_BRANCH_TYPE, owner, 1, TYPE_CONDITIONAL);
}

static void taken_back(tl_netburst_feed *f, feed_thread *t, const tl_uop_event *uop, uint8_t owner) {
    const uop_tags tags = tags_at_end(f, t, uop, owner);
    overcount(f, uop, owner);
    if (f->row.is_open)
        drain_unheard(t, f->row.clock);
    for (uint32_t k = 0; k < uop->n_uops; k++)
        t->bogus_uops[tags.of[k]] += 1;
    t->n_bogus += uop->n_uops;
    if (uop->n_uops > 0)
        t->bogus_insns[tags.of[0] & TAG_FRONT] += 1;
    // Another instruction gets the number.
    t->untagged = tl_lesser(t->untagged, uop->seq);
    if (f->tap.tells_all)
        t->told_from = tl_lesser(t->told_from, uop->seq);
}

static void note_time(const tl_netburst_feed *f, feed_thread *t, const tl_uop_event *uop) {
    if (!uop->is_replay)
        t->dispatched[uop->seq % TL_MAX_IN_FLIGHT] = f->row.clock;
    t->done_half_cycles[uop->seq % TL_MAX_IN_FLIGHT] = uop->done_half_cycles;
}

static void dispatches(tl_netburst_feed *f, feed_thread *t, const tl_uop_event *uop, uint8_t owner) {
    uint8_t *tags = &tags_of(t, uop->seq)[uop->uop];
    uint32_t mask;
    if (TL_UNLIKELY(*f->n->control & TL_NBX_EXTENDED) && uop->uop == 0)
        note_time(f, t, uop);
    if (uop->vain != TL_UOP_EFFECTIVE) {
        if (uop->vain == TL_UOP_NO_STORE)
            *tags |= (uint8_t)replay_tag(f->n, CAUSE_MOB, KIND_LOAD, owner);
        return;
    }
    const tl_netburst_event event = firm_event(uop, &mask);
    if (event != TL_NB_NO_EVENT)
        *tags |= (uint8_t)execution_tags(f->n, event, mask, owner);
}

static void take_uop(tl_netburst_feed *f, feed_thread *t, const tl_uop_event *uop, uint8_t owner) {
    switch ((tl_uop_step)uop->step) {
    case TL_UOP_RENAME:
        tags_of(t, uop->seq)[0] = front_tag(f->front_kinds[owner], (tl_class)uop->cls);
        tags_of(t, uop->seq)[1] = 0;
        break;
    case TL_UOP_DISPATCH: dispatches(f, t, uop, owner); break;
    case TL_UOP_RETIRE: retires(f, t, uop, owner); break;
    case TL_UOP_TAKE_BACK: taken_back(f, t, uop, owner); break;
    case TL_UOP_ALONE:
        if (uop->has_retired)
            retires_alone(f, (uint32_t)(t - f->threads), uop, owner);
        break;
    case TL_UOP_FETCH: break;
    }
}

// ---- The tap.

static uint8_t class_of(const feed_thread *t, tl_priv priv) { return priv == TL_PRIV_U ? t->bit_usr : t->bit_os; }

static bool has_other_owner(const feed_thread *t) { return class_of(t, t->h->priv) != t->run_owner || !tl_hart_has_work(t->h); }

// The state of a hart that has just told something, or that does not run.
static void look_at(feed_thread *t, uint64_t clock) {
    const tl_hart *h = t->h;
    const uint8_t owner = t->run_owner;
    t->run_owner = class_of(t, h->priv);
    t->owner = tl_hart_has_work(h) ? t->run_owner : 0;
    if (t->n_segments == 0 && t->owner == owner)
        return;
    forget_segments(t, clock);
    if (t->n_segments > 0 || t->owner != owner)
        add_segment(t, h->now > clock ? h->now : clock + 1, owner);
}

static void open_clock(tl_netburst_feed *f, uint64_t clock) {
    if (clock < f->next)
        clock = f->next; // a run that began in the past of the other thread
    if (f->has_clock && clock <= f->row.clock) {
        if (f->n_occurrences + ROOM_OF_A_RECORD <= MAX_OCCURRENCES)
            return;
        clock = f->row.clock + 1;
    }
    count_until(f, clock);
    f->has_clock = true;
    f->row.clock = clock;
    f->row.told = 0;
}

// Rows take what the thread has told of the clock under way.
static bool takes_it(const tl_netburst_feed *f, const feed_thread *t) {
    return f->row.is_open && !f->n->is_stale && !(f->hears_bogus && t->n_bogus > 0);
}

static bool has_cleared(const tl_netburst_feed *f, const feed_thread *t) {
    const uint32_t i = t->watch.clears, n = f->row.n;
    return i < MAX_WATCHED_CELLS && t->cells->columns[i][n + 1] != t->cells->columns[i][n];
}

static void take_totals(tl_netburst_feed *f, feed_thread *t, uint8_t owner) {
    if (TL_LIKELY(takes_it(f, t))) {
        tl_clock_cells_fill(t->cells, f->row.n);
        tl_clock_cells_copy(t->cells, f->row.n, f->row.tally);
        if (TL_UNLIKELY(has_cleared(f, t)))
            close_rows(f);
        return;
    }
    close_rows(f);
    look_at_cells(f, &t->watch);
    add_totals(f, t, owner);
    add_retired(f, t, owner);
}

static void tell_clock(tl_clock_tap *tap, const tl_clock_record *record) {
    tl_netburst_feed *f = feed_of(tap);
    feed_thread *t = &f->threads[record->thread];
    const uint8_t owner = t->run_owner;
    t->alone = t->suspended = NEVER;
    if (!f->row.is_open || !enter_row(f, t, record)) {
        close_rows(f);
        open_clock(f, record->cycle);
    }
    t->cells->is_store_full = record->is_store_full;
    for (uint32_t i = 0; i < record->n_events; i++)
        if (!(tap->ignored >> record->events[i].step & 1))
            take_uop(f, t, &record->events[i], owner);
    take_totals(f, t, owner);
    t->tells_all = f->tap.tells_all;
    f->row.told |= 1u << record->thread;
    if (!f->row.is_open || has_other_owner(t)) {
        close_rows(f);
        look_at(t, record->cycle);
    }
    if (TL_UNLIKELY(f->follows_contexts))
        note_context(f, record->thread, t->h->now > f->row.clock ? t->h->now : f->row.clock + 1);
    t->cells->told = f->row.clock;
    t->cells->insns_before = t->cells->insns_after;
    t->cells->insns_after = t->h->instret;
    if (!f->row.is_open)
        open_rows(f);
}

// The instruction as an extended record shows it.
static void note_access(const tl_netburst_feed *f, uint32_t thread, const tl_hart *h, const tl_uop_event *event, uint32_t tags) {
    enum { FIRST_LEVEL = 1, BEYOND = 2 };
    const feed_thread *t = &f->threads[thread];
    const uint64_t dispatched = 2 * t->dispatched[event->seq % TL_MAX_IN_FLIGHT], done = t->done_half_cycles[event->seq % TL_MAX_IN_FLIGHT];
    tl_nbx_access a = {.clock = h->now, .n_retired = h->instret, .tags = (uint8_t)tags};
    if (done > dispatched) {
        a.latency = (uint32_t)((done - dispatched + 1) / 2);
        a.flags |= TL_NBX_HAS_LATENCY;
    }
    const tl_class cls = (tl_class)event->cls;
    if (is_load(cls) || is_store(cls)) {
        a.flags |= TL_NBX_HAS_DATA;
        a.vaddr = event->vaddr;
        a.level = is_load(cls) ? (event->has_missed ? BEYOND : FIRST_LEVEL) : 0;
        if (f->host->locate && f->host->locate(f->host->ctx, f->first_hart + thread, event->vaddr, &a.paddr))
            a.flags |= TL_NBX_HAS_PHYSICAL;
    }
    tl_netburst_note_access(f->n, thread, &a);
}

static bool tell_may_retire(tl_clock_tap *tap, const tl_hart *h, uint32_t thread, const tl_uop_event *event) {
    tl_netburst_feed *f = feed_of(tap);
    feed_thread *t = &f->threads[thread];
    tl_netburst_occurrence uops[MAX_OF_INSN];
    const bool was_restarted = f->n->threads[thread]->is_restarted;
    if (t->n_granted > 0)
        take_passed(f, thread);
    const uop_tags tags = tags_at_end(f, t, event, t->run_owner);
    const uint32_t all_tags = tags.of[0] | (event->n_uops > 1 ? tags.of[1] : 0u);
    bool retires = true;
    if (TL_LIKELY(f->needed_tags[thread] != 0 && !(f->needed_tags[thread] & all_tags))) {
        tl_netburst_passes(f->n, thread);
    } else {
        const uint32_t n = occurrences_of(t->run_owner, event, tags.of, event->n_uops, uops);
        retires = tl_netburst_retires(f->n, thread, uops, n, active_now(f) | t->run_owner);
    }
    if (TL_UNLIKELY(f->n->is_stale)) // from the clock after those told
        close_rows(f);
    if (was_restarted)
        choose_sampled(f, thread);
    if (!retires)
        note_access(f, thread, h, event, all_tags);
    else if (f->row.unheard != 0)
        grant(f, thread);
    return retires;
}

// RISC-V has no flags. Numbers of registers in the order of the record: a0 a1 a2 a3 a4 a5 s0 sp,
// a6 a7 t0 to t5.
static uint32_t tell_assist(tl_clock_tap *tap, const tl_hart *h, uint32_t thread) {
    static const uint8_t order[TL_NETBURST_RECORD_VALUES - 2] = {10, 11, 12, 13, 14, 15, 8, 2, 16, 17, 5, 6, 7, 28, 29, 30};
    tl_netburst_feed *f = feed_of(tap);
    const uint64_t *x = (const uint64_t *)(const void *)((const uint8_t *)h + h->isa->registers_offset);
    uint64_t values[TL_NETBURST_RECORD_VALUES] = {0, h->pc};
    for (uint32_t i = 0; i < TL_COUNT_OF(order); i++)
        values[2 + i] = x[order[i]];
    close_rows(f);
    tl_netburst_assist(f->n, thread, values);
    choose_sampled(f, thread);
    return f->n->settings.assist_clocks;
}

static void tell_alone(tl_clock_tap *tap, const tl_hart *h, uint32_t thread, uint64_t cycle) {
    tl_netburst_feed *f = feed_of(tap);
    (void)h;
    f->threads[thread].alone = cycle;
}

// A hart has not run since it was suspended. System software had it, then nothing, then system
// software again, which woke it up.
static void note_outside(const tl_netburst_feed *f, feed_thread *t) {
    const tl_hart *h = t->h;
    if (t->suspended != NEVER && h->now > t->suspended) {
        const bool has_idled = h->idle_end > t->suspended;
        const uint64_t idle_begin = has_idled && h->idle_begin > t->suspended ? h->idle_begin : t->suspended;
        const uint64_t last_idle = has_idled ? h->idle_end - idle_begin : 0, idle = h->idle_cycles - t->idle_cycles;
        forget_segments(t, f->next);
        if (idle_begin > t->suspended + (idle - last_idle))
            add_segment(t, idle_begin - (idle - last_idle), t->bit_os);
        if (has_idled)
            add_segment(t, h->idle_end, 0);
        if (h->now > h->idle_end || !has_idled)
            add_segment(t, h->now, t->bit_os);
        t->suspended = h->now;
    }
    t->idle_cycles = h->idle_cycles;
    t->owner = tl_hart_has_work(h) ? class_of(t, h->priv) : 0;
}

static void tell_resume(tl_clock_tap *tap, const tl_hart *h, uint32_t thread) {
    tl_netburst_feed *f = feed_of(tap);
    feed_thread *t = &f->threads[thread];
    close_rows(f);
    t->watch.is_known = false; // it may have grown by any number
    t->h = h;
    t->tells_all = f->tap.tells_all; // the core looks when it resumes, and after each clock
    for (uint32_t i = 0; i < f->n->n_threads; i++)
        if (f->threads[i].h && f->threads[i].suspended != NEVER)
            note_outside(f, &f->threads[i]);
    if (f->follows_contexts)
        note_context(f, thread, h->now);
    t->cells->insns_after = h->instret;
    t->run_owner = class_of(t, h->priv);
    t->owner = tl_hart_has_work(h) ? t->run_owner : 0;
    t->suspended = f->is_attaching ? h->now : NEVER; // while attaching, nobody knows that it runs
}

static void tell_suspend(tl_clock_tap *tap, const tl_hart *h, uint32_t thread) {
    feed_thread *t = &feed_of(tap)->threads[thread];
    close_rows(feed_of(tap));
    t->suspended = h->now;
    t->idle_cycles = h->idle_cycles;
    add_segment(t, h->now, t->owner);
}

// ---- For the PMU.

static void begin_source(const tl_netburst_feed *f, source *s, bool is_wanted, bool is_new) {
    if (is_wanted && (is_new || !s->is_watched))
        s->last = total_now(f, s);
    s->is_watched = is_wanted;
}

// Returns the cell's number in the watch.
static uint8_t watch_cell(watch *w, tl_cell cell, uint64_t mark) {
    uint32_t i = 0;
    while (i < w->n && w->cells[i] != cell)
        i++;
    assert(i < MAX_WATCHED_CELLS);
    if (i == w->n) {
        w->cells[w->n++] = cell;
        w->last[i] = w->feeds[i] = 0;
    }
    w->feeds[i] |= mark;
    return (uint8_t)i;
}

static void watch_source(watch *w, source *s, uint64_t mark) {
    for (uint32_t k = 0; s->is_watched && k < s->n_more + s->n_less; k++)
        s->at[k] = watch_cell(w, k < s->n_more ? s->more[k] : s->less[k - s->n_more], mark);
    if (s->is_watched && s->event == TL_NB_MACHINE_CLEAR)
        w->clears = s->at[0];
}

// Cells are as if they had moved, but for those that are 0.
static void begin_watch(feed_thread *t) {
    watch *w = &t->watch;
    w->n = 0;
    w->moved = 0;
    w->is_known = false;
    w->clears = MAX_WATCHED_CELLS;
    for (uint32_t i = 0; i < t->n_watched; i++)
        watch_source(w, t->watched[i], UINT64_C(1) << i);
    watch_source(w, &t->delivers, WATCH_DELIVERS);
    watch_source(w, &t->builds, WATCH_BUILDS);
    watch_source(w, &t->flushes, WATCH_FLUSHES);
    w->insns = t->insns.at[0] = watch_cell(w, t->insns.more[0], 0);
    w->uops = t->uops.at[0] = watch_cell(w, t->uops.more[0], 0);
}

static void begin_sources(tl_netburst_feed *f, bool is_new) {
    uint16_t wanted[TL_NB_N_EVENTS] = {0}; // bits of masks
    for (uint32_t e = 1; e < TL_NB_N_EVENTS; e++)
        for (uint32_t k = 0; k < 2; k++) {
            const uint64_t escr = f->n->escr[tl_netburst_event_rows[e].pair + k];
            if (escr >> TL_ESCR_EVENT_LSB == tl_netburst_event_rows[e].code)
                wanted[e] |= (uint16_t)(escr >> TL_ESCR_MASK_LSB);
        }
    for (uint32_t i = 0; i < f->n->n_threads; i++) {
        feed_thread *t = &f->threads[i];
        t->n_watched = 0;
        for (uint32_t k = 0; k < f->n_sources; k++) {
            begin_source(f, &t->sources[k], wanted[t->sources[k].event] >> t->sources[k].bit & 1, is_new);
            if (t->sources[k].is_watched)
                t->watched[t->n_watched++] = &t->sources[k];
        }
        begin_source(f, &t->delivers, wanted[TL_NB_TC_DELIVER_MODE] != 0, is_new);
        begin_source(f, &t->builds, wanted[TL_NB_TC_DELIVER_MODE] != 0, is_new);
        begin_source(f, &t->flushes, wanted[TL_NB_TC_MISC] >> t->flushes.bit & 1, is_new);
        begin_watch(t);
    }
}

// A dispatch gives a tag, or its time is noted.
static bool needs_dispatches(const tl_netburst *n) {
    bool needs = (*n->control & TL_NBX_EXTENDED) || ((*n->pebs_enable & TL_PEBS_UOP_TAG) && (*n->pebs_enable & CAUSE_MOB));
    for (tl_escr escr = TL_FIRM_ESCR0; escr <= TL_FIRM_ESCR1; escr++)
        needs |= (n->escr[escr] & TL_ESCR_TAG_ENABLE) != 0;
    return needs;
}

// A replay or a type of uop may give a tag.
static bool gives_tags(const tl_netburst *n) {
    bool gives = *n->pebs_enable & TL_PEBS_UOP_TAG;
    for (tl_escr escr = TL_RAT_ESCR0; escr <= TL_RAT_ESCR1; escr++)
        gives |= n->escr[escr] >> TL_ESCR_EVENT_LSB == tl_netburst_event_rows[TL_NB_UOP_TYPE].code;
    return gives;
}

static uint8_t tags_of_event(uint8_t event) {
    switch ((tl_netburst_event)event) {
    case TL_NB_FRONT_END_EVENT: return TAG_FRONT;
    case TL_NB_REPLAY_EVENT: return TAG_REPLAY;
    case TL_NB_EXECUTION_EVENT: return 15 << TAG_EXEC_LSB;
    default: return 0;
    }
}

static bool is_sampler(const tl_netburst *n, uint32_t counter) {
    return tl_netburst_sampler_of(n, 0, counter) || tl_netburst_sampler_of(n, 1, counter);
}

// A counter that does not sample counts by tags, or will when one before it overflows.
static bool hears_tags(const tl_netburst *n) {
    bool hears = false;
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++) {
        const tl_escr escr = tl_netburst_escr_of(n, i);
        const bool may_run = n->cccr[i] & (TL_CCCR_ENABLE | TL_CCCR_CASCADE | TL_CCCR_EXTENDED_CASCADE);
        if (!may_run || escr == TL_N_ESCRS || is_sampler(n, i))
            continue;
        const tl_netburst_event event = tl_netburst_event_of(n, escr);
        hears |= tags_of_event((uint8_t)event) != 0 || event == TL_NB_INSTR_RETIRED;
    }
    return hears;
}

// Steps of which take_uop makes nothing. Samplers see what retires before it does.
static uint32_t ignored_steps(const tl_netburst *n) {
    return 1u << TL_UOP_FETCH | (uint32_t)!needs_dispatches(n) << TL_UOP_DISPATCH | (uint32_t)(n->n_used_escrs == 0) << TL_UOP_RETIRE;
}

static bool has_in_flight(const tl_netburst_feed *f, uint32_t thread) {
    return f->is_attached && f->tap.renamed[thread] && *f->tap.renamed[thread] > *f->tap.retired[thread];
}

// Uops whose rename is not told have the tags of that time. Returns whether others need to be told,
// because uops of other tags are in flight.
static bool sets_front_kinds(tl_netburst_feed *f) {
    bool needs = false;
    for (uint32_t i = 0; i < f->n->n_threads && !f->tap.tells_all; i++) {
        uint8_t *kinds = f->threads[i].front_kinds;
        if (!has_in_flight(f, i))
            memcpy(kinds, f->front_kinds, sizeof f->front_kinds);
        needs |= memcmp(kinds, f->front_kinds, sizeof f->front_kinds) != 0;
    }
    return needs;
}

static void tell_all(tl_netburst_feed *f) {
    if (f->tap.tells_all)
        return;
    f->tap.tells_all = true;
    for (uint32_t i = 0; i < f->n->n_threads; i++) {
        feed_thread *t = &f->threads[i];
        t->told_from = f->is_attached && f->tap.renamed[i] ? *f->tap.renamed[i] : 0;
        memset(t->tags, 0, sizeof t->tags);
    }
}

// Tags that dispatches give are told, and those that counters count. Samplers need nothing told of
// the others. Once all is told, it is until the feed detaches, so that no tag is lost.
static void choose_what_is_told(tl_netburst_feed *f) {
    const tl_netburst *n = f->n;
    f->follows_contexts = *n->control & TL_NBX_BY_ROOT;
    f->tap.ignored = ignored_steps(n);
    for (uint32_t owner = 1; owner < TL_COUNT_OF(f->front_kinds); owner++)
        f->front_kinds[owner] = front_kinds(n, (uint8_t)owner);
    for (uint32_t i = 0; i < n->n_threads; i++) {
        const tl_sampling *sampling = &n->sampling[i];
        bool is_known = sampling->n > 0;
        f->needed_tags[i] = 0;
        for (uint32_t k = 0; k < sampling->n; k++) {
            const uint8_t tags = tags_of_event(sampling->samplers[k].escr.event);
            is_known &= sampling->samplers[k].is_precise && tags != 0;
            f->needed_tags[i] |= tags;
        }
        if (!is_known)
            f->needed_tags[i] = 0;
    }
    const bool differs = sets_front_kinds(f);
    if (differs || needs_dispatches(n) || (gives_tags(n) && (hears_tags(n) || n->is_eager)))
        tell_all(f);
    for (uint32_t i = 0; i < n->n_threads; i++)
        choose_sampled(f, i);
}

static void attach(tl_netburst_feed *f) {
    f->is_attached = f->is_attaching = true;
    f->row.tally = f->host->probe->tally;
    f->next = f->host->now(f->host->ctx, f->first_hart + f->accessing);
    f->has_clock = false;
    f->n_occurrences = 0;
    for (uint32_t i = 0; i < f->n->n_threads; i++) {
        feed_thread *t = &f->threads[i];
        t->n_segments = 0;
        t->owner = 0;
        t->alone = t->context_from = NEVER;
        t->context = f->n->threads[i]->context;
        t->cells->is_store_full = false;
        t->clear_until = 0;
        t->suspended = NEVER;
        t->tells_all = f->tap.tells_all;
        t->n_insns = total_now(f, &t->insns);
        t->n_uops = total_now(f, &t->uops);
        memset(t->tags, 0, sizeof t->tags);
        if (f->host->clock_tap(f->host->ctx, f->first_hart + i, &f->tap, NULL) != TL_OK)
            f->is_attached = false; // the host has no memory: nothing is counted
        t->untagged = f->tap.renamed[i] ? *f->tap.renamed[i] : 0;
    }
    f->is_attaching = false;
}

static void detach(tl_netburst_feed *f) {
    for (uint32_t i = 0; i < f->n->n_threads; i++)
        (void)!f->host->clock_tap(f->host->ctx, f->first_hart + i, NULL, NULL);
    f->is_attached = false;
}

static bool hears_bogus(const tl_netburst *n) {
    static const struct {
        uint8_t event;
        uint16_t mask;
    } bits[] = {{TL_NB_UOPS_RETIRED, 2},       {TL_NB_FRONT_END_EVENT, 2}, {TL_NB_REPLAY_EVENT, 2},
                {TL_NB_EXECUTION_EVENT, 0xf0}, {TL_NB_INSTR_RETIRED, 12},  {TL_NB_INSTR_COMPLETED, 2}};
    for (uint32_t i = 0; i < n->n_used_escrs; i++)
        for (uint32_t k = 0; k < TL_COUNT_OF(bits); k++)
            if (n->used_escrs[i].event == bits[k].event && (n->used_escrs[i].mask & bits[k].mask))
                return true;
    return false;
}

void tl_netburst_feed_settle(tl_netburst_feed *f) { close_rows(f); }

void tl_netburst_feed_configured(tl_netburst_feed *f) {
    const bool runs = tl_netburst_is_running(f->n), is_new = runs && !f->is_attached;
    assert(f->row.unheard == 0);
    if (!f->is_attached) {
        f->tap.tells_all = false;
        for (uint32_t i = 0; i < f->n->n_threads; i++)
            f->threads[i].told_from = NEVER;
    }
    choose_what_is_told(f);
    f->planned = UNPLANNED;
    f->hears_bogus = hears_bogus(f->n);
    if (is_new)
        attach(f);
    else if (!runs && f->is_attached)
        detach(f);
    if (runs)
        begin_sources(f, is_new);
}

void tl_netburst_feed_catch_up(tl_netburst_feed *f, uint32_t thread) {
    f->accessing = thread;
    if (!f->is_attached)
        return;
    close_rows(f);
    const uint64_t alone = f->threads[thread].alone;
    for (uint32_t i = 0; i < f->n->n_threads; i++)
        if (f->threads[i].h && f->threads[i].suspended != NEVER)
            note_outside(f, &f->threads[i]);
    count_until(f, alone != NEVER ? alone : f->host->now(f->host->ctx, f->first_hart + thread));
}

uint64_t tl_netburst_feed_next(const tl_netburst_feed *f) { return f->next; }

tl_moment tl_netburst_feed_moment(const tl_netburst_feed *f, uint32_t thread) {
    const feed_thread *t = &f->threads[thread];
    const uint64_t now = f->host->now(f->host->ctx, f->first_hart + thread);
    if (!f->is_counting)
        return (tl_moment){now, f->host->instret(f->host->ctx, f->first_hart + thread)};
    const uint64_t clock = f->epoch + f->n->n_clocks;
    return (tl_moment){clock, clock <= t->cells->told ? t->cells->insns_before : t->cells->insns_after};
}

void tl_netburst_feed_run_process(tl_netburst_feed *f, uint32_t thread, uint64_t process) { f->threads[thread].process = process; }

void tl_netburst_feed_reset(tl_netburst_feed *f) {
    close_rows(f);
    if (f->is_attached)
        detach(f);
    for (uint32_t i = 0; i < TL_NETBURST_THREADS; i++) {
        feed_thread *t = &f->threads[i];
        t->n_bogus = t->bogus_insns[0] = t->bogus_insns[1] = 0;
        t->process = 0;
        for (uint32_t k = 0; k < N_TAGS; k++)
            t->bogus_uops[k] = 0;
    }
}

// Signals of unit core are those of the hart itself: "hart1.core.redo". # is the hart's number.
static tl_status resolve_one(const char *name, const tl_probe *probe, uint32_t hart, tl_arena *arena, tl_sources *ret_sources,
                             tl_error *err) {
    const char *number = strchr(name, '#');
    const bool is_core = strncmp(name, "core.", 5) == 0;
    if (!number && !is_core)
        return tl_sources_resolve(name, probe, hart, arena, ret_sources, err);
    const char *path = is_core ? tl_arena_printf(arena, "hart%u.%s", hart, name)
                               : tl_arena_printf(arena, "%.*s%u%s", (int)(number - name), name, hart, number + 1);
    ret_sources->cells = tl_arena_alloc(arena, sizeof(tl_cell));
    ret_sources->n_cells = 1;
    if (!path || !ret_sources->cells)
        return tl_fail(err, TL_ENOMEM, "no memory for pmu netburst");
    return tl_probe_resolve(probe, path, ret_sources->cells);
}

// "a + b - c".
static tl_status resolve(const char *text, const tl_probe *probe, uint32_t hart, tl_arena *arena, source *ret_source, tl_error *err) {
    char *words = tl_arena_strdup(arena, text), *rest = NULL;
    bool is_less = false;
    if (!words)
        return tl_fail(err, TL_ENOMEM, "no memory for pmu netburst");
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        tl_sources found = {0};
        if (!strcmp(word, "+") || !strcmp(word, "-")) {
            is_less = *word == '-';
            continue;
        }
        const tl_status status = resolve_one(word, probe, hart, arena, &found, err);
        if (status != TL_OK)
            return status;
        for (uint32_t i = 0; i < found.n_cells; i++) {
            uint32_t *n = is_less ? &ret_source->n_less : &ret_source->n_more;
            assert(*n < MAX_CELLS);
            (is_less ? ret_source->less : ret_source->more)[(*n)++] = found.cells[i];
        }
    }
    return TL_OK;
}

// Levels are known from the records themselves.
static bool is_source(const tl_netburst_mask *mask) {
    return mask->sources && *mask->sources && mask->event != TL_NB_GLOBAL_POWER_EVENTS && mask->event != TL_NB_RESOURCE_STALL;
}

static tl_status init_thread(tl_netburst_feed *f, uint32_t index, tl_arena *arena, tl_error *err) {
    feed_thread *t = &f->threads[index];
    const tl_probe *probe = f->host->probe;
    const uint32_t hart = f->first_hart + index;
    t->bit_usr = index == 0 ? TL_ESCR_T0_USR : TL_ESCR_T1_USR;
    t->bit_os = index == 0 ? TL_ESCR_T0_OS : TL_ESCR_T1_OS;
    t->alone = t->context_from = NEVER;
    t->mode = MODE_IDLE;
    t->sources = tl_arena_alloc(arena, tl_netburst_n_masks * sizeof *t->sources);
    t->watched = tl_arena_alloc(arena, tl_netburst_n_masks * sizeof *t->watched);
    t->cells = &f->row.threads[index];
    t->cells->columns = tl_arena_alloc(arena, MAX_WATCHED_CELLS * sizeof *t->cells->columns);
    if (!t->sources || !t->watched || !t->cells->columns)
        return tl_fail(err, TL_ENOMEM, "no memory for pmu netburst");
    tl_status status = resolve("core.trace_insn", probe, hart, arena, &t->delivers, err);
    if (status == TL_OK)
        status = resolve("core.build_insn", probe, hart, arena, &t->builds, err);
    if (status == TL_OK)
        status = resolve("core.trace_flush", probe, hart, arena, &t->flushes, err);
    if (status == TL_OK)
        status = resolve("core.retire_insn", probe, hart, arena, &t->insns, err);
    if (status == TL_OK)
        status = resolve("core.retire_uop", probe, hart, arena, &t->uops, err);
    t->insns.is_watched = t->uops.is_watched = true;
    t->flushes.event = TL_NB_TC_MISC;
    t->flushes.bit = 4;
    f->n_sources = 0;
    for (uint32_t k = 0; k < tl_netburst_n_masks && status == TL_OK; k++) {
        if (!is_source(&tl_netburst_masks[k]))
            continue;
        assert(f->n_sources < MAX_WATCHED);
        source *s = &t->sources[f->n_sources++];
        s->event = tl_netburst_masks[k].event;
        s->bit = tl_netburst_masks[k].bit;
        status = resolve(tl_netburst_masks[k].sources, probe, hart, arena, s, err);
    }
    return status;
}

tl_status tl_netburst_feed_new(tl_netburst *n, const tl_pmu_host *host, uint32_t first_hart, tl_arena *arena, tl_netburst_feed **ret_feed,
                               tl_error *err) {
    tl_netburst_feed *f = tl_arena_alloc(arena, sizeof *f);
    if (!f)
        return tl_fail(err, TL_ENOMEM, "no memory for pmu netburst");
    f->tap = (tl_clock_tap){.clock = tell_clock,
                            .alone = tell_alone,
                            .resume = tell_resume,
                            .suspend = tell_suspend,
                            .may_retire = tell_may_retire,
                            .assist = tell_assist,
                            .rows = &f->row};
    f->n = n;
    f->host = host;
    f->first_hart = first_hart;
    f->threads[1].mode = MODE_IDLE;
    *ret_feed = f;
    for (uint32_t i = 0; i < n->n_threads; i++) {
        const tl_status status = init_thread(f, i, arena, err);
        if (status != TL_OK)
            return status;
    }
    return TL_OK;
}
