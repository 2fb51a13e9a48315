// SPDX-License-Identifier: MIT
// Events put on counters as Linux does it, whatever the design: perf.h.
#include "session/perf.h"

#include <string.h>

#include "base/bits.h"

enum { NOT_ON = -1 };

typedef struct on_hart {
    tl_hart *hart;
    tl_pmu *pmu;
    uint32_t present;                // bit n: counter n exists
    uint64_t mask[TL_PERF_COUNTERS]; // of its bits
    uint64_t last_now;               // up to when the times below are right
    uint32_t first;                  // the group at the front of the list
    bool has_all;                    // every event is on a counter
    int8_t *counter;                 // by event: where it is, or NOT_ON
    uint64_t *previous;              // by event: its counter's value when it was read last
} on_hart;

struct tl_perf {
    const tl_perf_plan *plan;
    tl_machine *machine;
    on_hart harts[TL_MAX_HARTS];
    tl_perf_count *counts; // n_events for each hart
    int8_t *chosen;        // by event: scratch of schedule_in
    bool is_enabled;
    uint64_t next_turn;
};

int tl_perf_choose(const tl_perf_plan *plan, const tl_perf_event *event, uint32_t counters) {
    const tl_perf_driver *driver = plan->driver;
    uint32_t left = event->counters & counters;
    uint32_t fixed = left & driver->fixed_counters, programmable = event->has_selector ? left & ~driver->fixed_counters : 0;
    bool wants_fixed = driver->prefers_fixed(plan->preset);
    uint32_t best = (wants_fixed && fixed) || !programmable ? fixed : programmable;
    return best ? __builtin_ctz(best) : NOT_ON;
}

// Counters for all events of a group besides those of `used`. Returns those used then, or 0: it
// does not fit.
static uint32_t choose_all(const tl_perf *perf, const on_hart *h, uint32_t group, uint32_t used, int8_t *ret_counters) {
    for (uint32_t e = 0; e < perf->plan->n_events; e++) {
        if (perf->plan->events[e].group != group)
            continue;
        int counter = tl_perf_choose(perf->plan, &perf->plan->events[e], h->present & ~used);
        if (counter == NOT_ON)
            return 0;
        used |= 1u << counter;
        ret_counters[e] = (int8_t)counter;
    }
    return used;
}

// A group that does not fit on the empty counters would never count.
static tl_status check_groups(const tl_perf *perf, const on_hart *h, tl_error *err) {
    const tl_perf_plan *plan = perf->plan;
    for (uint32_t group = 0; group < plan->n_groups; group++) {
        if (choose_all(perf, h, group, 0, perf->chosen) != 0)
            continue;
        uint32_t e = 0;
        while (plan->events[e].group != group)
            e++;
        return tl_fail(err, TL_EINVAL,
                       "pmu %s has not enough counters for the group of %s at once; leave out the braces, and events take turns",
                       plan->name, plan->events[e].counted.name);
    }
    return TL_OK;
}

tl_status tl_perf_new(const tl_perf_plan *plan, tl_machine *machine, tl_arena *arena, tl_perf **ret_perf, tl_error *err) {
    tl_perf *perf = tl_arena_alloc(arena, sizeof *perf);
    tl_perf_count *counts = tl_arena_alloc(arena, plan->n_events * machine->n_harts * sizeof *counts);
    int8_t *chosen = tl_arena_alloc(arena, plan->n_events);
    if (!perf || !counts || !chosen)
        return tl_no_memory(err);
    *perf = (tl_perf){.plan = plan, .machine = machine, .counts = counts, .chosen = chosen, .next_turn = UINT64_MAX};
    for (uint32_t i = 0; i < machine->n_harts; i++) {
        on_hart *h = &perf->harts[i];
        *h = (on_hart){.hart = machine->harts[i],
                       .pmu = tl_machine_pmu_of(machine, plan->driver->pmu, i),
                       .counter = tl_arena_alloc(arena, plan->n_events),
                       .previous = tl_arena_alloc(arena, plan->n_events * sizeof(uint64_t))};
        if (!h->counter || !h->previous)
            return tl_no_memory(err);
        memset(h->counter, NOT_ON, plan->n_events);
        h->present = plan->driver->find(h->pmu, h->hart, h->mask);
        for (uint32_t e = 0; e < plan->n_events; e++) {
            if (!(plan->events[e].counters & h->present))
                return tl_fail(err, TL_EINVAL, "pmu %s has no counter for %s", plan->name, plan->events[e].counted.name);
        }
        tl_status status = check_groups(perf, h, err);
        if (status != TL_OK)
            return status;
    }
    *ret_perf = perf;
    return TL_OK;
}

static void put_on(tl_perf *perf, on_hart *h, uint32_t e, int counter) {
    const tl_perf_driver *driver = perf->plan->driver;
    const tl_perf_event *event = &perf->plan->events[e];
    uint32_t n = (uint32_t)counter;
    h->counter[e] = (int8_t)counter;
    driver->start(h->pmu, h->hart, n, event->selector);
    h->previous[e] = driver->read(h->pmu, h->hart, n);
}

// Takes groups from the front of the list until the first that does not fit. Linux does so with
// flexible groups.
static void schedule_in(tl_perf *perf, on_hart *h) {
    uint32_t used = 0, n_groups = perf->plan->n_groups;
    h->has_all = true;
    for (uint32_t i = 0; i < n_groups; i++) {
        uint32_t group = (h->first + i) % n_groups, more = choose_all(perf, h, group, used, perf->chosen);
        if (more == 0) {
            h->has_all = false;
            break;
        }
        used = more;
        for (uint32_t e = 0; e < perf->plan->n_events; e++)
            if (perf->plan->events[e].group == group)
                put_on(perf, h, e, perf->chosen[e]);
    }
    h->last_now = h->hart->now;
}

static void read_hart(tl_perf *perf, on_hart *h) {
    tl_perf_count *counts = perf->counts + h->hart->id * perf->plan->n_events;
    uint64_t passed = h->hart->now - h->last_now;
    h->last_now = h->hart->now;
    for (uint32_t e = 0; e < perf->plan->n_events; e++) {
        counts[e].enabled_cycles += passed;
        if (h->counter[e] == NOT_ON)
            continue;
        uint32_t n = (uint32_t)h->counter[e];
        uint64_t value = perf->plan->driver->read(h->pmu, h->hart, n);
        counts[e].running_cycles += passed;
        counts[e].count += (value - h->previous[e]) & h->mask[n];
        h->previous[e] = value;
    }
}

static void schedule_out(tl_perf *perf, on_hart *h) {
    read_hart(perf, h);
    for (uint32_t e = 0; e < perf->plan->n_events; e++) {
        if (h->counter[e] != NOT_ON)
            perf->plan->driver->stop(h->pmu, h->hart, (uint32_t)h->counter[e]);
        h->counter[e] = NOT_ON;
    }
}

static void plan_turn(tl_perf *perf) {
    uint64_t now = 0;
    bool has_all = true;
    for (uint32_t i = 0; i < perf->machine->n_harts; i++) {
        const on_hart *h = &perf->harts[i];
        now = h->hart->now > now ? h->hart->now : now;
        has_all = has_all && h->has_all;
    }
    uint64_t turn_cycles = (uint64_t)((unsigned __int128)TL_PERF_TURN_NS * perf->plan->clock_hz / 1000000000);
    perf->next_turn = has_all && !perf->plan->driver->reads_in_turns ? UINT64_MAX : now + (turn_cycles ? turn_cycles : 1);
}

void tl_perf_enable(tl_perf *perf) {
    if (perf->is_enabled)
        return;
    perf->is_enabled = true;
    for (uint32_t i = 0; i < perf->machine->n_harts; i++)
        schedule_in(perf, &perf->harts[i]);
    plan_turn(perf);
}

void tl_perf_disable(tl_perf *perf) {
    if (!perf->is_enabled)
        return;
    perf->is_enabled = false;
    perf->next_turn = UINT64_MAX;
    for (uint32_t i = 0; i < perf->machine->n_harts; i++)
        schedule_out(perf, &perf->harts[i]);
}

void tl_perf_turn(tl_perf *perf) {
    uint64_t last = perf->next_turn;
    for (uint32_t i = 0; i < perf->machine->n_harts; i++) {
        on_hart *h = &perf->harts[i];
        schedule_out(perf, h);
        if (!h->has_all)
            h->first = (h->first + 1) % perf->plan->n_groups;
        schedule_in(perf, h);
    }
    plan_turn(perf);
    uint64_t turn_cycles = (uint64_t)((unsigned __int128)TL_PERF_TURN_NS * perf->plan->clock_hz / 1000000000);
    if (perf->next_turn != UINT64_MAX && last + turn_cycles < perf->next_turn && last + turn_cycles > perf->harts[0].last_now)
        perf->next_turn = last + turn_cycles; // a timer does not drift
}

uint64_t tl_perf_next_turn(const tl_perf *perf) { return perf->next_turn; }

const tl_perf_count *tl_perf_read(tl_perf *perf) {
    for (uint32_t i = 0; perf->is_enabled && i < perf->machine->n_harts; i++)
        read_hart(perf, &perf->harts[i]);
    return perf->counts;
}
