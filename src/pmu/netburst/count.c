// SPDX-License-Identifier: MIT
// The rule of each clock: detectors, filters, counters, overflow, interrupts, cascades. Clocks that
// are equal are counted in one step up to the first clock that changes what runs.
#include <string.h>

#include "pmu/netburst/catalogue.h"
#include "pmu/netburst/state.h"

#define BIT(i) (UINT32_C(1) << (i))

// ---- Routing.

static const uint8_t first_counter[TL_N_BLOCKS + 1] = {0, 4, 8, 12, TL_NETBURST_COUNTERS};

static tl_netburst_block block_of(uint32_t counter) {
    tl_netburst_block block = TL_BLOCK_BPU;
    while (counter >= first_counter[block + 1])
        block = (tl_netburst_block)(block + 1);
    return block;
}

// Counters of a block: two of parity 0, two of parity 1; of the last block, then one of each.
static uint32_t parity_of(uint32_t counter) {
    const uint32_t k = counter - first_counter[block_of(counter)];
    return k < 4 ? k / 2 : k - 4;
}

static const struct {
    uint8_t block, parity, select;
} routes[TL_N_ESCRS] = {
#define ESCR(id, msr, in_block, of_parity, number) {TL_BLOCK_##in_block, of_parity, number},
#include "pmu/netburst/escrs.def"
#undef ESCR
};

bool tl_netburst_has_escr(const tl_netburst *n, tl_escr escr) {
    if (escr == TL_IQ_ESCR0 || escr == TL_IQ_ESCR1)
        return n->settings.model <= 2;
    return escr != TL_SSU_ESCR1 || n->settings.ssu_escr1;
}

tl_escr tl_netburst_route(const tl_netburst *n, uint32_t counter, uint32_t select) {
    const tl_netburst_block block = block_of(counter);
    for (tl_escr escr = 0; escr < TL_N_ESCRS; escr++)
        if (routes[escr].block == block && routes[escr].parity == parity_of(counter) && routes[escr].select == select)
            return tl_netburst_has_escr(n, escr) ? escr : TL_N_ESCRS;
    return TL_N_ESCRS;
}

// ---- What runs.

enum { NO_SOURCE = TL_NETBURST_COUNTERS };
static const uint8_t cascade_source[TL_NETBURST_COUNTERS] = {2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13, 14, 15};
static const uint8_t extended_source[TL_NETBURST_COUNTERS] = {
    NO_SOURCE, NO_SOURCE, NO_SOURCE, NO_SOURCE, NO_SOURCE, NO_SOURCE, NO_SOURCE, NO_SOURCE, NO_SOURCE,
    NO_SOURCE, NO_SOURCE, NO_SOURCE, 16,        NO_SOURCE, NO_SOURCE, 17,        17,        16,
};

static bool has_overflowed(const tl_netburst *n, uint32_t source) { return source != NO_SOURCE && (n->cccr[source] & TL_CCCR_OVF); }

static tl_run_cause run_cause(const tl_netburst *n, uint32_t i) {
    const uint64_t cccr = n->cccr[i];
    if ((cccr & TL_CCCR_ENABLE) && !(i == 1 && n->errata[TL_ERRATUM_CCCR1_ENABLE_BROKEN]))
        return TL_RUNS_ENABLED;
    const bool runs = ((cccr & TL_CCCR_CASCADE) && has_overflowed(n, cascade_source[i])) ||
                      ((cccr & TL_CCCR_EXTENDED_CASCADE) && has_overflowed(n, extended_source[i]));
    return runs ? TL_RUNS_CASCADED : TL_STOPPED;
}

static uint32_t select_of(uint64_t cccr) { return (uint32_t)(cccr >> TL_CCCR_SELECT_LSB) & 7; }
static uint32_t thread_mode_of(uint64_t cccr) { return (uint32_t)(cccr >> TL_CCCR_THREAD_LSB) & 3; }
enum { MODE_NONE, MODE_SINGLE, MODE_BOTH, MODE_ANY };

tl_escr tl_netburst_escr_of(const tl_netburst *n, uint32_t counter) { return tl_netburst_route(n, counter, select_of(n->cccr[counter])); }

tl_netburst_event tl_netburst_event_of(const tl_netburst *n, tl_escr escr) {
    const uint64_t code = n->escr[escr] >> TL_ESCR_EVENT_LSB;
    const tl_escr pair = (tl_escr)(escr & ~1u);
    for (uint32_t e = 1; e < TL_NB_N_EVENTS; e++) {
        const tl_netburst_event_row *row = &tl_netburst_event_rows[e];
        if (row->pair == pair && row->code == code && (row->escrs >> (escr & 1) & 1) && (row->models >> n->settings.model & 1))
            return (tl_netburst_event)e;
    }
    return TL_NB_NO_EVENT;
}

// As the counter sees it.
static tl_used_escr used_of(const tl_netburst *n, tl_escr escr, uint32_t counter) {
    tl_used_escr used = {.escr = (uint8_t)escr, .contexts = tl_nbx_contexts_of(n, counter)};
    if (escr == TL_N_ESCRS)
        return used;
    used.event = (uint8_t)tl_netburst_event_of(n, escr);
    used.is_ti = tl_netburst_event_rows[used.event].is_ti;
    used.is_held = used.event == TL_NB_BSQ_ACTIVE_ENTRIES && n->errata[TL_ERRATUM_BSQ_ACTIVE_ALTERNATE];
    used.is_doubtful = used.event == TL_NB_BSQ_CACHE_REFERENCE && n->errata[TL_ERRATUM_BSQ_REF_FACTOR2];
    used.mask = (uint16_t)(n->escr[escr] >> TL_ESCR_MASK_LSB);
    used.threads = tl_nbx_threads_of(n, escr) & tl_nbx_all_threads(n);
    tl_netburst_tabulate(n, &used);
    return used;
}

// Index in used_escrs. The ESCR is TL_N_ESCRS for a counter that is connected to nothing.
static uint32_t use_escr(tl_netburst *n, const tl_used_escr *wanted) {
    for (uint32_t i = 0; i < n->n_used_escrs; i++)
        if (n->used_escrs[i].escr == wanted->escr && n->used_escrs[i].contexts == wanted->contexts)
            return i;
    tl_used_escr *used = &n->used_escrs[n->n_used_escrs];
    *used = *wanted;
    if (used->event != TL_NB_NO_EVENT && used->threads != 0)
        n->listeners[used->event] |= BIT(n->n_used_escrs);
    n->has_doubts |= used->is_held || used->is_doubtful;
    return n->n_used_escrs++;
}

// Without power the detector and the counter do nothing at all: SDM, power management.
static bool is_gated(const tl_netburst *n, tl_escr escr) {
    if (!n->settings.power_gate)
        return false;
    return escr == TL_N_ESCRS || n->escr[escr] >> TL_ESCR_EVENT_LSB == 0;
}

bool tl_netburst_counts_while(const tl_netburst *n, uint32_t counter, uint64_t active) {
    if (thread_mode_of(n->cccr[counter]) == MODE_ANY && n->settings.any_needs_active && active == 0)
        return false;
    if (tl_nbx_has_filter(n, counter) && (active & tl_nbx_contexts_of(n, counter)) == 0)
        return false;
    return tl_nbx_is_in_range(n, counter, active);
}

// Bit i: the counter counts while `active` of the clock is i.
static uint16_t times_of(const tl_netburst *n, uint32_t counter) {
    uint16_t times = 0;
    for (uint32_t active = 0; active < 16; active++)
        times |= (uint16_t)(tl_netburst_counts_while(n, counter, tl_nbx_of_flags(active)) << active);
    return times;
}

// false: the counter has no power, or its mode is none that one thread can have.
static bool use_counter(tl_netburst *n, uint32_t i) {
    const uint64_t cccr = n->cccr[i];
    const tl_escr escr = tl_netburst_escr_of(n, i);
    if (is_gated(n, escr) || (n->n_threads == 1 && thread_mode_of(cccr) != MODE_ANY))
        return false;
    const tl_used_escr used = used_of(n, escr, i);
    bool is_precise = false;
    const uint32_t thread = tl_netburst_sampled_thread(n, i, &used, &is_precise);
    if (thread < TL_NETBURST_THREADS) {
        tl_sampling *s = &n->sampling[thread];
        s->samplers[s->n++] = (tl_sampler){.counter = (uint8_t)i, .is_precise = is_precise, .by_active = times_of(n, i), .escr = used};
        if (is_precise)
            return false;
    }
    n->used_counters[n->n_used_counters++] = (tl_used_counter){.counter = (uint8_t)i,
                                                               .used = (uint8_t)use_escr(n, &used),
                                                               .samples = thread < TL_NETBURST_THREADS,
                                                               .threshold = (uint8_t)(cccr >> TL_CCCR_THRESHOLD_LSB & 15),
                                                               .by_active = times_of(n, i),
                                                               .compares = cccr & TL_CCCR_COMPARE,
                                                               .complements = cccr & TL_CCCR_COMPLEMENT,
                                                               .is_edge = cccr & TL_CCCR_EDGE,
                                                               .forces_overflow = cccr & TL_CCCR_FORCE_OVF};
    return true;
}

// ---- Lanes: the same as masks over all counters.

static void plan_counter(tl_netburst_lanes *l, const tl_used_counter *c, const tl_used_escr *escr) {
    const uint32_t i = c->counter;
    for (uint32_t bits = escr->mask; bits != 0 && escr->event != TL_NB_NO_EVENT; bits &= bits - 1) {
        l->hit[escr->event][__builtin_ctz(bits)][i] = 0xff;
        l->is_used[escr->event] = true;
    }
    for (uint32_t state = 0; state < TL_NB_STATES; state++) {
        const bool by_owner = escr->by_owner >> state & 1, by_active = escr->by_active >> state & 1;
        l->owned[state][i] = escr->is_ti || by_owner ? 0xff : 0;
        l->shared[state][i] = by_active ? 0xff : 0;
        l->unowned[state][i] = !escr->is_ti || by_active ? 0xff : 0;
        l->times[state][i] = c->by_active >> state & 1 ? 0xff : 0;
    }
    l->threshold[i] = c->threshold;
    l->complements[i] = c->complements ? 0xff : 0;
    l->compares[i] = c->compares ? 0xff : 0;
    l->edges[i] = c->is_edge ? 0xff : 0;
}

static void plan(tl_netburst *n) {
    tl_netburst_lanes *l = &n->lanes;
    for (uint32_t e = 0; e < TL_NB_N_EVENTS; e++)
        if (l->is_used[e]) {
            memset(l->hit[e], 0, sizeof l->hit[e]);
            l->is_used[e] = false;
        }
    memset(l->times, 0, sizeof l->times); // so that a lane without a counter counts nothing
    n->takes_rows = !n->has_doubts;
    n->has_edges = false;
    for (uint32_t k = 0; k < n->n_used_counters; k++) {
        const tl_used_escr *escr = &n->used_escrs[n->used_counters[k].used];
        n->takes_rows &= !escr->has_fields;
        n->has_edges |= n->used_counters[k].is_edge;
        plan_counter(l, &n->used_counters[k], escr);
    }
    l->is_plain = n->takes_rows && n->n_used_counters > 0;
}

// Clocks in which the counter only adds. 0: its next count may do more.
static uint64_t clocks_of_adding(const tl_netburst *n, const tl_used_counter *c) {
    if (c->forces_overflow || (n->wrapped >> c->counter & 1))
        return 0;
    return (TL_NETBURST_VALUE - n->counter[c->counter]) / (c->compares ? 1 : TL_NETBURST_MAX_OUTPUT);
}

static void open_lanes(tl_netburst *n) {
    tl_netburst_lanes *l = &n->lanes;
    uint64_t n_clocks = UINT16_MAX / TL_NETBURST_MAX_OUTPUT;
    memset(l->critical, 0, sizeof l->critical);
    memset(l->was, 0, sizeof l->was);
    memset(l->step, 0, sizeof l->step);
    memset(l->sums, 0, sizeof l->sums);
    for (uint32_t k = 0; k < n->n_used_counters; k++) {
        const tl_used_counter *c = &n->used_counters[k];
        const uint64_t of_adding = clocks_of_adding(n, c);
        l->was[c->counter] = n->filtered >> c->counter & 1 ? 0xff : 0;
        l->step[c->counter] = n->last_step[c->counter];
        if (of_adding == 0)
            l->critical[c->counter] = 0xff;
        else
            n_clocks = of_adding < n_clocks ? of_adding : n_clocks;
    }
    l->n_clocks = (uint32_t)n_clocks;
    l->is_open = true;
}

void tl_netburst_settle(tl_netburst *n) {
    tl_netburst_lanes *l = &n->lanes;
    if (!l->is_open)
        return;
    l->is_open = false;
    l->n_clocks = 0;
    for (uint32_t k = 0; k < n->n_used_counters; k++) {
        const tl_used_counter *c = &n->used_counters[k];
        const uint32_t i = c->counter;
        n->counter[i] += l->sums[i];
        n->last_step[i] = l->step[i];
        n->filtered = (n->filtered & ~BIT(i)) | (l->was[i] != 0 ? BIT(i) : 0);
    }
}

void tl_netburst_configure(tl_netburst *n) {
    uint32_t filtering = 0;
    tl_netburst_settle(n);
    n->is_stale = n->is_running = n->has_doubts = false;
    n->n_used_escrs = n->n_used_counters = 0;
    n->sampling[0].n = n->sampling[1].n = 0;
    for (uint32_t e = 0; e < TL_NB_N_EVENTS; e++)
        n->listeners[e] = 0;
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++) {
        n->run_cause[i] = (uint8_t)run_cause(n, i);
        n->is_running |= n->run_cause[i] != TL_STOPPED;
        if (n->run_cause[i] == TL_STOPPED)
            continue;
        if (use_counter(n, i) && (n->cccr[i] & TL_CCCR_COMPARE))
            filtering |= BIT(i);
    }
    n->filtered &= filtering;
    plan(n);
    if (n->host.configured)
        n->host.configured(n->host.ctx);
}

bool tl_netburst_is_running(const tl_netburst *n) { return n->is_running; }

// Also for an ESCR that only tags.
bool tl_netburst_has_power(const tl_netburst *n, tl_escr escr) {
    if (!n->settings.power_gate)
        return true;
    const tl_escr pair = (tl_escr)(escr & ~1u);
    for (uint32_t i = first_counter[routes[pair].block]; i < first_counter[routes[pair].block + 1]; i++)
        if (n->run_cause[i] != TL_STOPPED)
            return true;
    return false;
}

// ---- Interrupts.

// A counter that has interrupted, and whose every count interrupts or nearly so.
static bool is_livelocked(const tl_netburst *n, uint64_t wanted) {
    enum { NEAR = 8 };
    if (!n->errata[TL_ERRATUM_FORCE_OVF_LIVELOCK])
        return false;
    for (uint32_t i = 0; i < TL_NETBURST_COUNTERS; i++) {
        const bool is_near = (n->cccr[i] & TL_CCCR_FORCE_OVF) || n->counter[i] > TL_NETBURST_VALUE - NEAR;
        if ((n->interrupted >> i & 1) && n->run_cause[i] != TL_STOPPED && (n->cccr[i] & wanted) && is_near)
            return true;
    }
    return false;
}

void tl_netburst_update_lines(tl_netburst *n) {
    for (uint32_t t = 0; t < n->n_threads && t < TL_NETBURST_THREADS; t++) {
        tl_netburst_thread *thread = n->threads[t];
        const uint64_t wanted = t == 0 ? TL_CCCR_OVF_PMI_T0 : TL_CCCR_OVF_PMI_T1;
        thread->is_livelocked = is_livelocked(n, wanted);
        thread->line = thread->ds_latch || thread->is_livelocked;
        for (uint32_t left = n->raised; left != 0; left &= left - 1)
            thread->line |= (n->cccr[__builtin_ctz(left)] & wanted) != 0;
        if (!thread->line || (thread->lvt & TL_LVT_MASKED))
            continue;
        thread->lvt |= TL_LVT_MASKED;
        if (n->host.interrupt)
            n->host.interrupt(n->host.ctx, t, (thread->lvt & 7 << TL_LVT_MODE_LSB) == TL_LVT_NMI);
    }
}

static void raise(tl_netburst *n, uint32_t i) {
    n->wrapped &= ~BIT(i);
    if (n->run_cause[i] == TL_RUNS_CASCADED && n->errata[TL_ERRATUM_CASCADE_NO_PMI])
        return;
    n->raised |= BIT(i);
    if (n->host.overflowed)
        n->host.overflowed(n->host.ctx, i);
    tl_netburst_update_lines(n);
    n->interrupted |= BIT(i);
}

static void flag_overflow(tl_netburst *n, uint32_t i) {
    const bool has_flag = n->cccr[i] & TL_CCCR_OVF;
    if (!n->errata[TL_ERRATUM_UNFLAGGED_OVERFLOW])
        n->cccr[i] |= TL_CCCR_OVF;
    n->is_stale |= !has_flag; // a cascade may begin in the next clock
}

// ---- A clock.

// ---- Errata that part even and odd clocks.

enum { BSQ_MISSES = 0xf << 8 }; // of BSQ_cache_reference

// The output of an even clock stays in the odd one behind it.
static bool is_held(const tl_netburst *n, const tl_used_escr *escr) { return escr->is_held && n->n_clocks % 2 == 1; }

static uint32_t weight_of(const tl_netburst *n, const tl_used_escr *escr, const tl_netburst_occurrence *what) {
    if (!escr->is_doubtful)
        return what->weight;
    return what->mask & BSQ_MISSES ? what->weight * (uint32_t)(n->n_clocks % 2) : what->weight * 2u;
}

// Equal clocks differ.
static bool is_parted(const tl_netburst *n, const tl_netburst_clock *clock) {
    bool is_busy = clock->n_occurrences != 0;
    if (!n->has_doubts)
        return false;
    for (uint32_t i = 0; i < n->n_used_escrs; i++)
        is_busy |= n->used_escrs[i].is_held && n->used_escrs[i].output != 0;
    return is_busy;
}

static void clear_outputs(tl_netburst *n) {
    for (uint32_t i = 0; i < n->n_used_escrs; i++)
        if (!is_held(n, &n->used_escrs[i]))
            n->used_escrs[i].output = 0;
}

static void detect(tl_netburst *n, const tl_netburst_clock *clock) {
    const bool has_doubts = n->has_doubts;
    clear_outputs(n);
    for (uint32_t k = 0; k < clock->n_occurrences; k++) {
        const tl_netburst_occurrence *what = &clock->occurrences[k];
        for (uint32_t left = n->listeners[what->event]; left != 0; left &= left - 1) {
            tl_used_escr *escr = &n->used_escrs[__builtin_ctz(left)];
            if (!tl_netburst_matches(n, escr, what, clock->active, clock->others) || (has_doubts && is_held(n, escr)))
                continue;
            const uint32_t output = escr->output + (has_doubts ? weight_of(n, escr, what) : what->weight);
            escr->output = output > TL_NETBURST_MAX_OUTPUT ? TL_NETBURST_MAX_OUTPUT : (uint16_t)output;
        }
    }
}

typedef struct increment { // of a counter, in equal clocks
    uint32_t first, next;  // in the first clock, in each of the others
    bool is_filtered;
} increment;

// counts: the active threads are those that the counter asks for.
static increment increment_of(const tl_netburst *n, const tl_used_counter *c, bool counts) {
    const uint32_t x = n->used_escrs[c->used].output;
    if (!c->compares)
        return (increment){counts ? x : 0, counts ? x : 0, false};
    const bool y = c->complements ? x <= c->threshold : x > c->threshold;
    const bool was = n->filtered >> c->counter & 1;
    if (!c->is_edge)
        return (increment){y && counts, y && counts, y};
    return (increment){y && !was && counts, 0, y};
}

// Clocks up to the first one that sets or raises something, itself included.
static uint64_t clocks_until_change(const tl_netburst *n, const tl_used_counter *c, uint32_t d) {
    if (d == 0)
        return UINT64_MAX;
    if (c->forces_overflow || (n->wrapped >> c->counter & 1))
        return 1;
    return (TL_NETBURST_VALUE - n->counter[c->counter]) / d + 1;
}

static void add(tl_netburst *n, const tl_used_counter *c, uint32_t d, uint64_t n_clocks) {
    const uint32_t i = c->counter;
    n->last_step[i] = (uint8_t)d;
    if (d == 0)
        return;
    const uint64_t sum = n->counter[i] + d * n_clocks;
    n->counter[i] = sum & TL_NETBURST_VALUE;
    if (c->samples && (sum > TL_NETBURST_VALUE || c->forces_overflow)) {
        n->cccr[i] |= TL_CCCR_OVF; // it is armed
        n->is_stale = true;
        if (n->host.overflowed)
            n->host.overflowed(n->host.ctx, i);
    } else if (sum > TL_NETBURST_VALUE) {
        flag_overflow(n, i);
        if (n->counter[i] > 0 || c->forces_overflow)
            raise(n, i);
        else
            n->wrapped |= BIT(i);
    } else if (c->forces_overflow) {
        flag_overflow(n, i);
        raise(n, i);
    } else if (n->wrapped >> i & 1) {
        raise(n, i);
    }
}

static bool is_its_time(const tl_netburst *n, const tl_used_counter *c, const tl_netburst_clock *clock) {
    if (TL_UNLIKELY(clock->others != 0))
        return tl_netburst_counts_while(n, c->counter, tl_nbx_of_flags(clock->active) | clock->others);
    return c->by_active >> clock->active & 1;
}

static void step_counter(tl_netburst *n, const tl_used_counter *c, const increment *by, uint64_t n_clocks) {
    n->filtered = (n->filtered & ~BIT(c->counter)) | (uint32_t)by->is_filtered << c->counter;
    add(n, c, by->first, n_clocks);
}

// Most clocks stand alone.
static void count_one(tl_netburst *n, const tl_netburst_clock *clock) {
    n->n_clocks += 1;
    for (uint32_t k = 0; k < n->n_used_counters; k++) {
        const tl_used_counter *c = &n->used_counters[k];
        const bool counts = is_its_time(n, c, clock);
        if (c->compares) {
            const increment by = increment_of(n, c, counts);
            step_counter(n, c, &by, 1);
        } else { // no filter remembers it
            add(n, c, counts ? n->used_escrs[c->used].output : 0, 1);
        }
    }
}

// Counts up to `left` equal clocks. Returns how many.
static uint64_t count_equal(tl_netburst *n, const tl_netburst_clock *clock, uint64_t left) {
    increment increments[TL_NETBURST_COUNTERS];
    uint64_t step = left;
    for (uint32_t k = 0; k < n->n_used_counters; k++) {
        const tl_used_counter *c = &n->used_counters[k];
        increments[k] = increment_of(n, c, is_its_time(n, c, clock));
        const uint64_t until = increments[k].first != increments[k].next ? 1 : clocks_until_change(n, c, increments[k].first);
        step = until < step ? until : step;
    }
    n->n_clocks += step;
    for (uint32_t k = 0; k < n->n_used_counters; k++)
        step_counter(n, &n->used_counters[k], &increments[k], step);
    return step;
}

// false: nothing was counted.
static bool count_in_lanes(tl_netburst *n, const tl_netburst_clock *clock) {
    tl_netburst_lanes *l = &n->lanes;
    if (TL_UNLIKELY(!l->is_plain || n->is_stale || clock->others != 0))
        return false;
    if (TL_UNLIKELY(clock->n_clocks > l->n_clocks)) {
        tl_netburst_settle(n);
        open_lanes(n);
    }
    if (!tl_netburst_lanes_count(l, clock))
        return false;
    n->n_clocks += clock->n_clocks;
    return true;
}

void tl_netburst_count(tl_netburst *n, const tl_netburst_clock *clock) {
    if (TL_LIKELY(count_in_lanes(n, clock)))
        return;
    tl_netburst_settle(n);
    for (uint64_t left = clock->n_clocks; left > 0;) {
        if (n->is_stale)
            tl_netburst_configure(n);
        if (n->n_used_counters == 0) {
            n->n_clocks += left;
            return;
        }
        detect(n, clock);
        if (left == 1 || is_parted(n, clock)) {
            count_one(n, clock);
            left -= 1;
        } else {
            left -= count_equal(n, clock, left);
        }
    }
    if (n->is_stale)
        tl_netburst_configure(n);
}

// ---- Rows.

uint64_t tl_netburst_room_of_rows(tl_netburst *n) {
    uint64_t n_clocks = UINT64_MAX;
    if (!n->takes_rows || n->is_stale || n->is_eager)
        return 0;
    tl_netburst_settle(n);
    for (uint32_t k = 0; k < n->n_used_counters; k++)
        n_clocks = tl_lesser(n_clocks, clocks_of_adding(n, &n->used_counters[k]));
    return n_clocks;
}

// Returns what the counter adds.
static uint64_t compare_rows(tl_netburst *n, const tl_used_counter *c, const tl_netburst_rows *rows, bool counts) {
    const uint32_t bit = BIT(c->counter);
    const bool is_idle = (rows->level[c->used] > c->threshold) != c->complements;
    uint8_t passes[TL_CLOCK_ROWS];
    uint64_t sum = n->columns->passes(rows->output[c->used], rows->level[c->used], c->threshold, c->complements, passes);
    sum -= is_idle ? TL_CLOCK_ROWS - rows->n : 0;
    const uint32_t last = rows->ends_idle ? is_idle : passes[rows->n - 1];
    uint32_t step = last;
    if (c->is_edge) {
        uint32_t was = n->filtered & bit ? 1 : 0;
        sum = 0;
        for (uint32_t r = 0; r < rows->n; r++) {
            step = passes[r] & ~was;
            sum += step;
            was = passes[r];
        }
        step = rows->ends_repeated ? 0 : step;
    } else {
        sum += is_idle ? rows->n_idle : 0;
    }
    n->filtered = (n->filtered & ~bit) | (last != 0 ? bit : 0);
    n->last_step[c->counter] = counts ? (uint8_t)step : 0;
    return counts ? sum : 0;
}

static uint64_t sum_rows(tl_netburst *n, const tl_used_counter *c, const tl_netburst_rows *rows, bool counts) {
    const uint32_t level = rows->level[c->used], last = (rows->ends_idle ? 0u : rows->output[c->used][rows->n - 1]) + level;
    n->last_step[c->counter] = counts ? (uint8_t)(last < TL_NETBURST_MAX_OUTPUT ? last : TL_NETBURST_MAX_OUTPUT) : 0;
    return counts ? n->columns->sum(rows->output[c->used], (uint8_t)level) + level * (rows->n_idle + rows->n - TL_CLOCK_ROWS) : 0;
}

void tl_netburst_count_rows(tl_netburst *n, const tl_netburst_rows *rows) {
    for (uint32_t k = 0; k < n->n_used_counters; k++) {
        const tl_used_counter *c = &n->used_counters[k];
        const bool counts = c->by_active >> rows->active & 1;
        n->counter[c->counter] += c->compares ? compare_rows(n, c, rows, counts) : sum_rows(n, c, rows, counts);
    }
    n->n_clocks += rows->n + rows->n_idle;
}

// ---- Clocks in which no thread tells anything.

// Mask bits of levels, and of uops that were taken back before and drain.
static uint32_t quiet_mask(tl_netburst_event event) {
    switch (event) {
    case TL_NB_GLOBAL_POWER_EVENTS:
    case TL_NB_MACHINE_CLEAR: return 1;
    case TL_NB_FRONT_END_EVENT:
    case TL_NB_REPLAY_EVENT:
    case TL_NB_UOPS_RETIRED:
    case TL_NB_INSTR_COMPLETED: return 2;
    case TL_NB_INSTR_RETIRED: return 12;
    case TL_NB_RESOURCE_STALL: return 1 << 5;
    case TL_NB_EXECUTION_EVENT: return 0xf0;
    default: return 0;
    }
}

// The most that a counter adds in such a clock. Three uops of each thread drain.
static uint32_t most_in_quiet(const tl_netburst *n, const tl_used_counter *c) {
    const tl_used_escr *escr = &n->used_escrs[c->used];
    const bool detects = (escr->mask & quiet_mask((tl_netburst_event)escr->event)) != 0;
    if (c->compares)
        return detects || c->complements;
    return detects ? 6 : 0;
}

uint64_t tl_netburst_quiet_clocks(tl_netburst *n) {
    uint64_t clocks = UINT64_MAX;
    tl_netburst_settle(n);
    for (uint32_t k = 0; k < n->n_used_counters; k++) {
        const tl_used_counter *c = &n->used_counters[k];
        const uint32_t most = most_in_quiet(n, c);
        if (most == 0 || !(n->cccr[c->counter] & (TL_CCCR_OVF_PMI_T0 | TL_CCCR_OVF_PMI_T1)))
            continue;
        const bool is_next = c->forces_overflow || (n->wrapped >> c->counter & 1);
        const uint64_t left = is_next ? 0 : (TL_NETBURST_VALUE - n->counter[c->counter]) / most;
        clocks = left < clocks ? left : clocks;
    }
    return clocks;
}
