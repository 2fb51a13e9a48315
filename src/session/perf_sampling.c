// SPDX-License-Identifier: MIT
// Samples as Linux perf takes them: each event has a counter that starts a period before its wrap.
// Its overflow interrupts the hart, and the handler takes the address at which the program goes on.
// The next period begins at the overflow, so that a late handler shortens it. The handler costs no
// cycle, therefore the error of a sampled profile is the PMU's alone.
#include <string.h>

#include "session/perf.h"

typedef struct on_hart {
    tl_pmu *pmu;
    uint8_t *counters; // by event
    uint64_t masks[TL_PERF_COUNTERS];
} on_hart;

typedef struct sampler {
    const tl_perf_plan *plan;
    tl_machine *machine;
    tl_sample_taker sampling;
    on_hart harts[TL_MAX_HARTS];
} sampler;

static tl_status place(const sampler *s, on_hart *on, tl_hart *h, tl_error *err) {
    const tl_perf_plan *plan = s->plan;
    uint32_t left = plan->driver->find(on->pmu, h, on->masks) & ~plan->driver->silent_counters;
    for (uint32_t e = 0; e < plan->n_events; e++) {
        const tl_perf_event *event = &plan->events[e];
        const int counter = tl_perf_choose(plan, event, left);
        if (counter < 0)
            return tl_fail(err, TL_EINVAL,
                           "pmu %s has no counter left that interrupts for %s; sampled events take no turns, so name fewer of them",
                           plan->name, event->counted.name);
        // A handler reads how far the counter went on, so half of its range is for that.
        const uint64_t most = on->masks[counter] / 2;
        if (s->sampling.period > most)
            return tl_fail(err, TL_EINVAL, "-c %llu: a counter of pmu %s is too narrow for this period; write at most %llu",
                           (unsigned long long)s->sampling.period, plan->name, (unsigned long long)most);
        left &= ~(UINT32_C(1) << counter);
        on->counters[e] = (uint8_t)counter;
    }
    return TL_OK;
}

tl_status tl_perf_sampling_attach(tl_source *source, tl_machine *machine, const tl_sample_taker *sampling, tl_arena *of_outline,
                                  tl_arena *of_run, void **ret_sampler, tl_error *err) {
    tl_perf_plan *plan = tl_perf_source_plan(source);
    if (!plan->driver->has_interrupts(plan->preset))
        return tl_fail(err, TL_EINVAL, "pmu %s has no interrupt at overflow, so perf cannot sample with it; tally stat -P %s counts",
                       plan->name, plan->name);
    sampler *s = tl_arena_alloc(of_run, sizeof *s);
    if (!s)
        return tl_no_memory(err);
    *s = (sampler){.plan = plan, .machine = machine, .sampling = *sampling};
    tl_status status = tl_perf_bind(plan, &machine->probe, of_outline, err);
    for (uint32_t i = 0; i < machine->n_harts && status == TL_OK; i++) {
        on_hart *on = &s->harts[i];
        on->pmu = tl_machine_pmu_of(machine, plan->driver->pmu, i);
        on->counters = tl_arena_alloc(of_run, plan->n_events);
        status = on->counters ? place(s, on, machine->harts[i], err) : tl_no_memory(err);
    }
    *ret_sampler = s;
    return status;
}

// `left` events before its wrap.
static void start(const sampler *s, on_hart *on, tl_hart *h, uint32_t e, uint64_t left) {
    const tl_perf_event *event = &s->plan->events[e];
    s->plan->driver->start_from(on->pmu, h, on->counters[e], event->selector, (0 - left) & on->masks[on->counters[e]]);
}

const char *tl_perf_sampling_method(const tl_source *source, uint32_t event) {
    (void)source, (void)event;
    return "overflow interrupt";
}

void tl_perf_sampling_begin(void *sampler_) {
    sampler *s = sampler_;
    for (uint32_t i = 0; i < s->machine->n_harts; i++) {
        tl_hart *h = s->machine->harts[i];
        h->irqs_enabled |= UINT64_C(1) << s->plan->driver->irq;
        for (uint32_t e = 0; e < s->plan->n_events; e++)
            start(s, &s->harts[i], h, e, s->sampling.period);
    }
}

void tl_perf_sampling_interrupted(void *sampler_, tl_hart *h) {
    sampler *s = sampler_;
    on_hart *on = &s->harts[h->id];
    const uint32_t overflowed = s->plan->driver->overflowed(on->pmu, h);
    for (uint32_t e = 0; e < s->plan->n_events; e++) {
        if (!(overflowed >> on->counters[e] & 1))
            continue;
        const uint64_t period = s->sampling.period, late = s->plan->driver->read(on->pmu, h, on->counters[e]);
        s->sampling.take(s->sampling.ctx, h, e, h->pc, TL_UNKNOWN_DISTANCE);
        if (late >= period) // as after one event that counts many at once
            s->sampling.lose(s->sampling.ctx, e, late / period);
        s->plan->driver->stop(on->pmu, h, on->counters[e]);
        start(s, on, h, e, period - late % period);
    }
}
