// SPDX-License-Identifier: MIT
// How events count and when they overflow; see perf_event.h.
//
// A thread's event counts signals of the hart while the thread is on the hart, the switch away
// included. Supervisor mode has only the cycles of the modeled kernel and the signals of unit `os`.
// All other signals grow in user mode, because the kernel's instructions and accesses are not
// simulated.
#include "linux/perf/perf_event.h"

#include <stdlib.h>
#include <string.h>

// Slow-path accesses need no watch while an overflow is further away than this, because no access
// takes as many cycles.
static const uint64_t WATCH_CYCLES = UINT64_C(1) << 24;
// Computing the distance to an overflow costs a sync. The distance is computed again when an eighth
// of it is left, or else at the overflow.
static const uint64_t SHORT_SPAN_CYCLES = 4096;
// The longest distance reported. Sums with it do not overflow.
static const uint64_t FAR_CYCLES = UINT64_C(1) << 62;

// ---- Totals.

static uint64_t busy_cycles(const tl_hart *h) { return h->now - h->idle_cycles; }

// An event of a thread counts the time in which its hart ran code. An event of a hart counts all
// time.
static uint64_t clock_now(const tl_pev_event *e, const tl_hart *h) {
    if (e->thread)
        return busy_cycles(h);
    uint64_t now = e->perf->os->now;
    return !h->client && now > h->now ? now : h->now;
}

static bool is_kernel_row(uint32_t row) {
    return row == TL_S_HART_CYC_TRAP || row == TL_S_HART_CYC_SWITCH || row == TL_S_HART_CYCLE_S ||
           (row >= TL_S_OS_FIRST && row < TL_S_OS_END);
}

static uint64_t row_total(const tl_pev_event *e, const tl_hart *h, uint32_t row) {
    uint64_t user = 0, kernel = 0;
    switch (row) {
    case TL_S_HART_CYCLE: user = busy_cycles(h) - h->supervisor_cycles, kernel = h->supervisor_cycles; break;
    case TL_S_HART_CYCLE_U: user = busy_cycles(h) - h->supervisor_cycles; break;
    case TL_S_HART_CYCLE_S: kernel = h->supervisor_cycles; break;
    case TL_S_HART_IDLE_CYCLE: kernel = h->idle_cycles; break;
    case TL_S_HART_INSTRET:
    case TL_S_HART_INSTRET_U: user = h->instret; break;
    case TL_S_HART_CYCLE_M:
    case TL_S_HART_INSTRET_S:
    case TL_S_HART_INSTRET_M: break;
    case TL_S_HART_FLUSH_OTHER: kernel = e->perf->os->kernel_counts[h->id].flushes, user = h->tally[row] - kernel; break;
    default: *(is_kernel_row(row) ? &kernel : &user) = h->tally[row]; break;
    }
    return (e->modes & TL_PEV_USER ? user : 0) + (e->modes & TL_PEV_KERNEL ? kernel : 0);
}

static uint64_t signals_total(const tl_pev_event *e, tl_hart *h) {
    const tl_probe *probe = &e->perf->os->machine->probe;
    uint64_t total = 0;
    if (e->needs_sync)
        h->engine->sync(h);
    for (uint32_t i = 0; i < e->n_parts; i++) {
        const tl_sources *sources = &e->parts[i]->on[h->id];
        for (uint32_t s = 0; s < sources->n_cells; s++) {
            uint32_t row = sources->cells[s] - h->id * TL_S_N_CELLS;
            if (row < TL_S_N_CELLS)
                total += row_total(e, h, row);
            else if (e->modes & TL_PEV_USER)
                total += tl_probe_read(probe, sources->cells[s]);
        }
    }
    return total;
}

// The code that raises a page fault distinguishes faults of system calls from faults of the
// program.
static uint64_t faults_total(const tl_pev_event *e, const tl_hart *h) {
    const tl_kernel_counts *own = &e->perf->os->kernel_counts[h->id];
    uint64_t all, kernel;
    if (e->kind == TL_PEV_FAULTS)
        all = h->tally[TL_S_OS_PAGE_FAULT], kernel = own->minor_faults + own->major_faults;
    else if (e->kind == TL_PEV_MAJOR_FAULTS)
        all = h->tally[TL_S_OS_PAGE_FILE], kernel = own->major_faults;
    else
        all = h->tally[TL_S_OS_PAGE_ZERO] + h->tally[TL_S_OS_PAGE_COW] + h->tally[TL_S_OS_PAGE_MAP], kernel = own->minor_faults;
    return (e->modes & TL_PEV_USER ? all - kernel : 0) + (e->modes & TL_PEV_KERNEL ? kernel : 0);
}

static uint64_t total_of(const tl_pev_event *e, tl_hart *h) {
    switch (e->kind) {
    case TL_PEV_SIGNALS: return signals_total(e, h);
    case TL_PEV_CLOCK: return clock_now(e, h);
    case TL_PEV_FAULTS:
    case TL_PEV_MINOR_FAULTS:
    case TL_PEV_MAJOR_FAULTS: return faults_total(e, h);
    case TL_PEV_NOTHING: break;
    }
    return 0;
}

// ---- Counting.

static tl_hart *hart_of(const tl_pev_event *e) {
    if (e->has_ended)
        return NULL;
    return e->thread ? e->thread->hart : e->perf->os->machine->harts[e->cpu];
}

static uint64_t later(uint64_t from, uint64_t span) { return span > UINT64_MAX - from ? UINT64_MAX : from + span; }

static void aim(tl_pev_event *e) {
    e->span = e->left / (e->max_step > 0 ? e->max_step : 1);
    e->safe_until = later(busy_cycles(e->hart), e->span);
    e->safe_instret = later(e->hart->instret, e->span);
    e->is_watched = e->is_jumpy && !e->is_quiet && e->span <= WATCH_CYCLES;
}

static void advance(tl_pev_event *e) {
    uint64_t total = total_of(e, e->hart), steps = total - e->seen;
    // Clocks of harts differ a little. Time that one has seen may lie before another's.
    if ((int64_t)steps <= 0)
        return;
    e->seen = total;
    e->count += steps;
    if (e->period == 0)
        return;
    if (steps < e->left) {
        e->left -= steps;
    } else { // several at once, as within a system call, are one
        e->left = e->period - (steps - e->left) % e->period;
        e->is_due = true;
    }
    aim(e);
}

void tl_pev_settle(tl_pev_event *e) {
    if (!e->clock)
        return;
    uint64_t now = clock_now(e, e->clock);
    if (now > e->since) {
        e->enabled_cycles += now - e->since;
        e->running_cycles += e->hart ? now - e->since : 0;
        e->since = now;
    }
    if (e->hart)
        advance(e);
}

// Updates the needs of the hart's port from the events that wait on the hart.
static void set_needs(tl_pev *perf, tl_hart *h, bool has_changed) {
    tl_pmu_port *port = &perf->ports[h->id];
    bool needs = false;
    const tl_pev_event *lists[] = {h->client ? ((const tl_thread *)h->client)->perf_events : NULL, perf->on_hart[h->id]};
    for (size_t i = 0; i < TL_COUNT_OF(lists); i++)
        for (const tl_pev_event *e = lists[i]; e; e = e->next)
            needs |= e->hart == h && e->period != 0 && e->is_watched;
    if (port->needs_slow_watch == needs && !has_changed)
        return;
    port->needs_slow_watch = needs;
    perf->os->machine->pmu_host.changed(perf->os->machine->pmu_host.ctx, h->id);
}

// The event is where its thread is now: `at`, NULL: on no hart.
static void place(tl_pev_event *e, tl_hart *at) {
    tl_pev *perf = e->perf;
    bool counts = at && e->is_on && e->leader->is_on && !e->has_ended;
    tl_hart *clock = counts ? at : NULL, *old = e->hart;
    tl_hart *hart = clock && (e->cpu < 0 || (uint32_t)e->cpu == clock->id) ? clock : NULL;
    tl_pev_settle(e);
    if (clock != e->clock && clock)
        e->since = clock_now(e, clock);
    e->clock = clock;
    e->hart = hart;
    if (hart && hart != old)
        e->seen = total_of(e, hart);
    if (e->period != 0 && hart != old) {
        if (old)
            --perf->n_armed[old->id];
        if (hart) {
            ++perf->n_armed[hart->id];
            aim(e);
        }
        if (old)
            set_needs(perf, old, true);
        if (hart)
            set_needs(perf, hart, true);
    }
    tl_pev_update_page(e);
}

void tl_pev_set_on(tl_pev_event *e, bool is_on) {
    if (e->is_on == is_on || e->has_ended)
        return;
    e->is_on = is_on;
    place(e, hart_of(e));
    for (tl_pev_event *s = e->first_sibling; s; s = s->next_sibling)
        place(s, hart_of(s));
    if (!is_on)
        e->is_due = false;
}

static void reset_one(tl_pev_event *e) {
    tl_pev_settle(e);
    e->count = 0;
    tl_pev_update_page(e);
}

void tl_pev_reset(tl_pev_event *e) { reset_one(e); }

void tl_pev_arrive(tl_thread *t, tl_hart *h) {
    for (tl_pev_event *e = t->perf_events; e; e = e->next) {
        place(e, h);
        if (e->attr.context_switch)
            tl_pev_note_switch(e, t, false);
    }
}

void tl_pev_leave(tl_thread *t) {
    for (tl_pev_event *e = t->perf_events; e; e = e->next) {
        if (e->attr.context_switch)
            tl_pev_note_switch(e, t, true);
        place(e, NULL);
    }
}

void tl_pev_resume(tl_thread *t) {
    for (tl_pev_event *e = t->perf_events; e; e = e->next)
        if (e->ring && e->modes == TL_PEV_USER && e->hart)
            tl_pev_update_page(e);
}

// ---- Reading.

tl_pev_reading tl_pev_read(tl_pev_event *e) {
    uint64_t value = e->ended_count, enabled = e->ended_enabled_cycles, running = e->ended_running_cycles, n_lost = e->n_lost;
    tl_pev_settle(e);
    value += e->count;
    enabled += e->enabled_cycles;
    running += e->running_cycles;
    for (tl_pev_event *child = e->first_child; child; child = child->next_child) {
        tl_pev_settle(child);
        value += child->count;
        enabled += child->enabled_cycles;
        running += child->running_cycles;
        n_lost += child->n_lost;
    }
    const tl_os *os = e->perf->os;
    return (tl_pev_reading){.value = e->kind == TL_PEV_CLOCK ? tl_os_cycles_to_ns(os, value) : value,
                            .enabled_ns = tl_os_cycles_to_ns(os, enabled),
                            .running_ns = tl_os_cycles_to_ns(os, running),
                            .n_lost = n_lost};
}

static uint32_t n_siblings(const tl_pev_event *leader) {
    uint32_t n = 0;
    for (const tl_pev_event *s = leader->first_sibling; s; s = s->next_sibling)
        n++;
    return n;
}

size_t tl_pev_read_bytes(const tl_pev_event *e) {
    uint64_t format = e->attr.read_format;
    size_t n_times = (format & PERF_FORMAT_TOTAL_TIME_ENABLED ? 1u : 0u) + (format & PERF_FORMAT_TOTAL_TIME_RUNNING ? 1u : 0u);
    size_t n_entry = 1u + (format & PERF_FORMAT_ID ? 1u : 0u) + (format & PERF_FORMAT_LOST ? 1u : 0u);
    size_t n_entries = format & PERF_FORMAT_GROUP ? 1u + n_siblings(e->leader) : 1u;
    return sizeof(uint64_t) * (n_times + n_entry * n_entries + (format & PERF_FORMAT_GROUP ? 1u : 0u));
}

static uint64_t *format_entry(const tl_pev_event *e, const tl_pev_reading *reading, uint64_t format, uint64_t *to) {
    if (format & PERF_FORMAT_ID)
        *to++ = e->parent ? e->parent->id : e->id;
    if (format & PERF_FORMAT_LOST)
        *to++ = reading->n_lost;
    return to;
}

size_t tl_pev_format(tl_pev_event *e, uint64_t *to) {
    uint64_t format = e->attr.read_format, *start = to;
    bool is_group = format & PERF_FORMAT_GROUP;
    tl_pev_event *first = is_group ? e->leader : e;
    tl_pev_reading reading = tl_pev_read(first);
    if (is_group)
        *to++ = 1u + n_siblings(first);
    else
        *to++ = reading.value;
    if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
        *to++ = reading.enabled_ns;
    if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
        *to++ = reading.running_ns;
    if (is_group)
        *to++ = reading.value;
    to = format_entry(first, &reading, format, to);
    for (tl_pev_event *s = is_group ? first->first_sibling : NULL; s; s = s->next_sibling) {
        reading = tl_pev_read(s);
        *to++ = reading.value;
        to = format_entry(s, &reading, format, to);
    }
    return (size_t)(to - start) * sizeof *to;
}

// ---- Overflow.

static uint64_t safe_cycles(const tl_pev_event *e) {
    uint64_t now = busy_cycles(e->hart), left = e->safe_until > now ? e->safe_until - now : 0;
    if (e->is_retired) { // an instruction takes a cycle or more
        uint64_t done = e->hart->instret, insns = e->safe_instret > done ? e->safe_instret - done : 0;
        left = insns > left ? insns : left;
    }
    return left;
}

static bool waits_at(const tl_pev_event *e, const tl_hart *h) { return e->hart == h && e->period != 0; }

// Calls `look` for every event that waits on this hart.
typedef void look_fn(tl_pev_event *e, uint64_t *result);
static void for_each_waiting(tl_pev *perf, const tl_hart *h, look_fn *look, uint64_t *result) {
    tl_thread *t = h->client;
    for (tl_pev_event *e = t ? t->perf_events : NULL; e; e = e->next)
        if (waits_at(e, h))
            look(e, result);
    for (tl_pev_event *e = perf->on_hart[h->id]; e; e = e->next)
        if (waits_at(e, h))
            look(e, result);
}

static void bound(tl_pev_event *e, uint64_t *soonest) {
    if (e->is_quiet || (e->is_watched && e->is_slow))
        return;
    uint64_t left = safe_cycles(e);
    if (left == 0 || (e->span > SHORT_SPAN_CYCLES && left <= e->span / 8)) {
        tl_pev_settle(e);
        if (e->is_watched && e->is_slow)
            return;
        left = e->is_due ? 0 : safe_cycles(e);
    }
    if (e->is_jumpy && !e->is_watched) {
        left = left > WATCH_CYCLES ? left - WATCH_CYCLES : 0;
        e->is_watched = left == 0;
    }
    left = left < FAR_CYCLES ? left : FAR_CYCLES;
    *soonest = left < *soonest ? left : *soonest;
}

static uint64_t port_deadline(void *ctx, tl_hart *h) {
    tl_pev *perf = ctx;
    uint64_t soonest = UINT64_MAX;
    if (perf->n_armed[h->id] == 0)
        return soonest;
    for_each_waiting(perf, h, bound, &soonest);
    set_needs(perf, h, false);
    return soonest;
}

static void look(tl_pev_event *e, uint64_t *ret_is_due) {
    if (e->is_quiet || (e->is_watched && e->is_slow) || safe_cycles(e) == 0)
        tl_pev_settle(e);
    *ret_is_due |= e->is_due;
}

static void port_poll(void *ctx, tl_hart *h) {
    tl_pev *perf = ctx;
    uint64_t is_due = 0;
    if (perf->n_armed[h->id] == 0)
        return;
    for_each_waiting(perf, h, look, &is_due);
    if (is_due)
        tl_hart_set_irq(h, TL_IRQ_PERSONALITY, true);
}

bool tl_pev_is_due(tl_os *os, tl_hart *h) {
    uint64_t is_due = 0;
    if (os->perf->n_armed[h->id] == 0)
        return false;
    for_each_waiting(os->perf, h, look, &is_due);
    return is_due;
}

// A frequency event adapts its period to the duration of the last period.
static void adjust(tl_pev_event *e) {
    if (!e->attr.freq || e->kind == TL_PEV_CLOCK)
        return;
    uint64_t took = e->running_cycles - e->last_cycles, wanted = e->perf->os->clock_hz / e->attr.sample_freq;
    unsigned __int128 period = (unsigned __int128)e->period * (wanted > 0 ? wanted : 1) / (took > 0 ? took : 1);
    e->period = period >= INT64_MAX ? INT64_MAX : period > 0 ? (uint64_t)period : 1;
    e->period_said = e->period;
    e->left = e->period;
}

static void overflow(tl_pev_event *e, tl_thread *t) {
    e->is_due = false;
    e->band = POLL_IN;
    if (e->limit > 0 && --e->limit == 0) {
        e->band = POLL_HUP;
        tl_pev_set_on(e, false);
    }
    if (e->attr.sigtrap) {
        enum { TRAP_BY_PERF = 6 };
        tl_siginfo info = {.signo = SIGTRAP, .error = (int32_t)e->attr.type, .code = TRAP_BY_PERF};
        // sig_data and the event's type follow the address.
        memcpy(info.bytes + 8, &e->attr.sig_data, 8);
        memcpy(info.bytes + 16, &e->attr.type, 4);
        tl_signal_send_thread(t, SIGTRAP, &info);
    }
    tl_pev_sample(e, t);
    adjust(e);
    e->last_cycles = e->running_cycles;
    if (e->hart)
        aim(e);
    tl_pev_wake(e);
    tl_pev_update_page(e);
}

void tl_pev_overflow(tl_thread *t) {
    tl_pev *perf = t->os->perf;
    tl_hart *h = t->hart;
    tl_hart_set_irq(h, TL_IRQ_PERSONALITY, false);
    for (tl_pev_event *e = t->perf_events; e; e = e->next)
        if (e->is_due && waits_at(e, h))
            overflow(e, t);
    for (tl_pev_event *e = perf->on_hart[h->id]; e; e = e->next)
        if (e->is_due && waits_at(e, h))
            overflow(e, t);
    set_needs(perf, h, true);
}

// ---- The port: no registers, only the clock.

static void port_retired(void *ctx, tl_hart *h) { (void)ctx, (void)h; }
static void port_leave_mode(void *ctx, tl_hart *h, tl_priv to) { (void)ctx, (void)h, (void)to; }

bool tl_pev_make_ports(tl_pev *perf) {
    const tl_machine *machine = perf->os->machine;
    if (perf->has_ports)
        return true;
    for (uint32_t i = 0; i < machine->n_harts; i++)
        if (machine->harts[i]->n_pmus == TL_MAX_PMU_PORTS)
            return false;
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        tl_hart *h = machine->harts[i];
        perf->ports[i] = (tl_pmu_port){
            .ctx = perf, .retired = port_retired, .leave_mode = port_leave_mode, .deadline = port_deadline, .poll = port_poll};
        (void)tl_hart_hang_pmu(h, &perf->ports[i], false);
        h->irqs_enabled |= UINT64_C(1) << TL_IRQ_PERSONALITY;
    }
    perf->has_ports = true;
    return true;
}

static void remove_ports(tl_pev *perf) {
    const tl_machine *machine = perf->os->machine;
    for (uint32_t i = 0; perf->has_ports && i < machine->n_harts; i++) {
        tl_hart *h = machine->harts[i];
        tl_hart_drop_pmu(h, &perf->ports[i]);
        h->irqs_enabled &= ~(UINT64_C(1) << TL_IRQ_PERSONALITY);
        h->irqs_pending &= ~(UINT64_C(1) << TL_IRQ_PERSONALITY);
        machine->pmu_host.changed(machine->pmu_host.ctx, i);
    }
}

// ---- Life.

tl_pev *tl_pev_of(tl_os *os) {
    if (!os->perf && (os->perf = calloc(1, sizeof *os->perf))) {
        os->perf->os = os;
        os->perf->next_id = 1;
    }
    return os->perf;
}

void tl_pev_done(tl_os *os) {
    if (!os->perf)
        return;
    remove_ports(os->perf);
    tl_arena_done(&os->perf->arena);
    free(os->perf);
    os->perf = NULL;
}

static void take_sources(tl_pev_event *e, const tl_pev_choice *choice) {
    const tl_sources *sources;
    bool is_user = false;
    e->kind = choice->kind;
    e->n_parts = choice->n_parts;
    e->is_slow = e->is_retired = choice->n_parts > 0;
    for (uint32_t i = 0; i < choice->n_parts; i++) {
        e->parts[i] = choice->parts[i];
        sources = &choice->parts[i]->on[0];
        e->max_step += sources->max_step;
        e->needs_sync |= sources->needs_sync;
        e->is_jumpy |= sources->is_jumpy;
        e->is_slow &= sources->is_slow;
        e->is_retired &= sources->is_retired;
        for (uint32_t s = 0; s < sources->n_cells; s++)
            is_user |= sources->cells[s] >= TL_S_N_CELLS || !is_kernel_row(sources->cells[s]);
    }
    e->is_quiet = !is_user || !(e->modes & TL_PEV_USER);
    if (choice->kind == TL_PEV_CLOCK) {
        e->max_step = 1;
        e->is_jumpy = true;
        e->is_quiet = false;
    }
}

static uint64_t clock_period_ns(uint64_t ns) { return ns < TL_PEV_MIN_CLOCK_NS ? TL_PEV_MIN_CLOCK_NS : ns; }

void tl_pev_set_period(tl_pev_event *e, uint64_t wanted) {
    const tl_os *os = e->perf->os;
    tl_pev_settle(e);
    uint64_t period = wanted;
    if (e->kind == TL_PEV_CLOCK) {
        e->period_said = clock_period_ns(e->attr.freq ? UINT64_C(1000000000) / wanted : wanted);
        period = tl_os_ns_to_cycles(os, e->period_said);
    } else {
        if (e->attr.freq)
            period = os->clock_hz / wanted > 0 ? os->clock_hz / wanted : 1;
        e->period_said = period;
    }
    e->period = e->left = period > 0 ? period : 1;
    e->last_cycles = e->running_cycles;
    e->attr.sample_period = wanted;
    if (e->hart) {
        aim(e);
        set_needs(e->perf, e->hart, true);
    }
}

tl_pev_event *tl_pev_event_new(tl_pev *perf, const struct perf_event_attr *attr, const tl_pev_choice *choice) {
    tl_pev_event *e = NULL;
    if (perf->n_events < TL_PEV_MAX_EVENTS)
        e = calloc(1, sizeof *e + choice->n_parts * sizeof *e->parts);
    if (!e)
        return NULL;
    ++perf->n_events;
    e->perf = perf;
    e->attr = *attr;
    e->id = perf->next_id++;
    e->leader = e;
    e->cpu = -1;
    e->is_on = !attr->disabled;
    e->modes = (uint8_t)((attr->exclude_user ? 0 : TL_PEV_USER) | (attr->exclude_kernel ? 0 : TL_PEV_KERNEL));
    take_sources(e, choice);
    if (attr->sample_period)
        tl_pev_set_period(e, attr->sample_period);
    return e;
}

static tl_pev_event **list_of(const tl_pev_event *e) { return e->thread ? &e->thread->perf_events : &e->perf->on_hart[e->cpu]; }

void tl_pev_event_attach(tl_pev_event *e, tl_thread *thread, int32_t cpu, tl_pev_event *leader) {
    e->thread = thread;
    e->cpu = cpu;
    tl_pev_event **link = list_of(e);
    while (*link)
        link = &(*link)->next;
    *link = e;
    if (leader) {
        e->leader = leader;
        link = &leader->first_sibling;
        while (*link)
            link = &(*link)->next_sibling;
        *link = e;
    }
    place(e, hart_of(e));
}

// The event stops for good. Its count remains readable.
static void end(tl_pev_event *e) {
    if (e->has_ended)
        return;
    place(e, NULL);
    for (tl_pev_event **link = list_of(e); *link; link = &(*link)->next)
        if (*link == e) {
            *link = e->next;
            break;
        }
    e->next = NULL;
    e->has_ended = true;
    e->thread = NULL;
}

// Siblings of a leader that goes lead themselves from then on.
static void leave_group(tl_pev_event *e) {
    while (e->first_sibling) {
        tl_pev_event *s = e->first_sibling;
        e->first_sibling = s->next_sibling;
        s->next_sibling = NULL;
        s->leader = s;
        place(s, hart_of(s));
    }
    if (e->leader != e) {
        tl_pev_event **link = &e->leader->first_sibling;
        while (*link != e)
            link = &(*link)->next_sibling;
        *link = e->next_sibling;
        e->next_sibling = NULL;
        e->leader = e;
    }
}

static void free_event(tl_pev_event *e) {
    end(e);
    leave_group(e);
    tl_pev_ring_unref(e->ring);
    --e->perf->n_events;
    free(e);
}

void tl_pev_event_free(tl_pev_event *e) {
    while (e->first_child) {
        tl_pev_event *child = e->first_child;
        e->first_child = child->next_child;
        free_event(child);
    }
    for (tl_pev_event **link = &e->perf->opened; *link; link = &(*link)->next_opened)
        if (*link == e) {
            *link = e->next_opened;
            break;
        }
    free_event(e);
}

// Ends an inherited event. The parent event keeps its count.
static void merge(tl_pev_event *e) {
    tl_pev_event *parent = e->parent, **link = &parent->first_child;
    while (*link != e)
        link = &(*link)->next_child;
    *link = e->next_child;
    place(e, NULL);
    parent->ended_count += e->count;
    parent->ended_enabled_cycles += e->enabled_cycles;
    parent->ended_running_cycles += e->running_cycles;
    parent->n_lost += e->n_lost;
    free_event(e);
}

static void end_or_merge(tl_pev_event *e) {
    if (e->parent)
        merge(e);
    else
        end(e);
}

static void end_and_tell(tl_pev_event *e) {
    tl_pev_event *opened = tl_pev_opened(e);
    end_or_merge(e);
    if (opened->head)
        tl_poll_notify(opened->perf->os, opened->head, EPOLLHUP);
}

void tl_pev_thread_done(tl_thread *t) {
    while (t->perf_events)
        end_and_tell(t->perf_events);
}

void tl_pev_forget(tl_thread *t) {
    while (t->perf_events)
        end_or_merge(t->perf_events);
}

static tl_pev_event *copy(tl_pev_event *from, tl_thread *child, tl_pev_event *leader) {
    tl_pev_event *parent = tl_pev_opened(from);
    tl_pev_choice choice = {.kind = from->kind, .n_parts = from->n_parts};
    memcpy(choice.parts, from->parts, from->n_parts * sizeof *from->parts);
    tl_pev_event *e = tl_pev_event_new(from->perf, &from->attr, &choice);
    if (!e)
        return NULL;
    e->is_on = from->is_on;
    e->owner_tid = 0;
    e->parent = parent;
    tl_pev_event **link = &parent->first_child;
    while (*link)
        link = &(*link)->next_child;
    *link = e;
    tl_pev_event_attach(e, child, from->cpu, leader);
    return e;
}

static void drop_inherited(tl_thread *child) {
    while (child->perf_events)
        merge(child->perf_events);
}

bool tl_pev_inherit(tl_thread *child, const tl_thread *t, bool is_thread) {
    for (tl_pev_event *e = t->perf_events; e; e = e->next) {
        if (e->leader != e || !e->attr.inherit || (e->attr.inherit_thread && !is_thread))
            continue;
        tl_pev_event *leader = copy(e, child, NULL);
        bool is_whole = leader != NULL;
        for (tl_pev_event *s = e->first_sibling; is_whole && s; s = s->next_sibling)
            is_whole = !s->attr.inherit || copy(s, child, leader) != NULL;
        if (!is_whole) {
            drop_inherited(child);
            return false;
        }
    }
    return true;
}

void tl_pev_exec(tl_thread *t) {
    for (tl_pev_event *e = t->perf_events, *next; e; e = next) {
        next = e->next;
        if (e->attr.remove_on_exec)
            end_and_tell(e);
    }
    for (tl_pev_event *e = t->perf_events; e; e = e->next)
        if (e->attr.enable_on_exec) {
            e->attr.enable_on_exec = 0;
            tl_pev_set_on(e, true);
        }
}

void tl_pev_switch_own(tl_thread *t, bool is_on) {
    for (tl_pev_event *e = t->os->perf ? t->os->perf->opened : NULL; e; e = e->next_opened) {
        if (e->owner_tid != t->tid)
            continue;
        tl_pev_set_on(e, is_on);
        for (tl_pev_event *child = e->first_child; child; child = child->next_child)
            tl_pev_set_on(child, is_on);
    }
}
