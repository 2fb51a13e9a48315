// SPDX-License-Identifier: MIT
// Samples of a Pentium 4 in a recording. A precise event has counter 16 or 17 and a debug store
// area; with extension NBX, option assist, any counter. Every other event has a counter whose
// overflow interrupts its thread. Counters begin a
// period before their wrap, as Linux's driver has them. A handler costs no cycle.
//
// The area is memory of this reader, because the user-mode personality is a kernel outside the
// machine. A record is taken when its index is written, so no process that runs later gets it; a
// kernel would empty the area before it switches.
#include <stddef.h>
#include <string.h>

#include "isa/rv/arch.h"
#include "readers/netburst/source.h"

// As the 64-bit format has it: docs/netburst.md, section 4.
enum { N_RECORDS = 64, THRESHOLD_RECORDS = 48, BETWEEN_AREAS = 0x10000 };
static const uint64_t AREA_VADDR = UINT64_C(0xffffffd800000000); // of thread 0
typedef struct record {
    uint64_t flags, pc, registers[TL_NETBURST_RECORD_VALUES - 2];
} record;
typedef struct area {
    uint64_t branches[4], base, index, maximum, threshold, reset, reserved;
    uint8_t records[N_RECORDS * (sizeof(record) + TL_NBX_RECORD_BYTES)];
} area;
_Static_assert(offsetof(area, records) == 0x50 && sizeof(record) == 8 * TL_NETBURST_RECORD_VALUES, "the format has no gaps");

typedef struct sampler sampler;
typedef struct sampled_core {
    sampler *owner;
    tl_netburst *n;
    uint32_t first_hart;
    area areas[TL_NETBURST_THREADS];
    uint64_t n_lost[TL_NETBURST_COUNTERS]; // records that the area had no room for, as far as told
} sampled_core;

struct sampler {
    const netburst_source *source;
    tl_machine *machine;
    tl_sample_taker sampling;
    uint32_t n_threads; // of a core
    uint32_t n_cores;
    sampled_core *cores;
    uint64_t cccr[TL_NETBURST_COUNTERS]; // of the plan
};

// ---- The plan.

enum { OF_T0 = TL_ESCR_T0_USR | TL_ESCR_T0_OS, OF_T1 = TL_ESCR_T1_USR | TL_ESCR_T1_OS };

static uint32_t n_threads_of(const tl_config *config) { return config->core.threads > 1 ? 2 : 1; }

// A core has one generator, whose mask is that of all counters.
static tl_status check_periods(const netburst_source *source, tl_error *err) {
    const tl_netburst_request *first = NULL;
    for (uint32_t e = 0; e < source->n_requests; e++) {
        const tl_netburst_request *request = &source->requests[e];
        if (!request->is_precise && !request->assists)
            continue;
        if (first && first->vary_bits != request->vary_bits)
            return tl_fail(err, TL_EINVAL, "%s and %s: the periods of a core vary alike; write the same vary=N for both", first->name,
                           request->name);
        first = request;
    }
    return TL_OK;
}

tl_status netburst_sampling_allocate(netburst_source *source, const tl_netburst_settings *settings, const tl_config *config,
                                     tl_error *err) {
    tl_netburst_request requests[TL_NETBURST_MAX_REQUESTS];
    if (check_periods(source, err) != TL_OK)
        return TL_EINVAL;
    for (uint32_t e = 0; e < source->n_requests; e++) {
        const tl_netburst_request *request = &source->requests[e];
        const uint8_t owners = request->owners ? request->owners : OF_T0 | OF_T1;
        for (uint32_t thread = 0; thread < n_threads_of(config); thread++) {
            const uint8_t of_thread = thread == 0 ? OF_T0 : OF_T1;
            // An event of no thread has one counter, which interrupts its first thread.
            const bool is_whole =
                tl_netburst_event_rows[request->event].is_ti && !request->is_precise && !request->assists && (owners & of_thread);
            if (!(owners & of_thread))
                continue;
            if (source->n_sampled == TL_NETBURST_MAX_REQUESTS)
                return tl_fail(err, TL_EINVAL,
                               "-e: pmu netburst has %d counters, and an event takes one for each thread; name fewer events",
                               TL_NETBURST_MAX_REQUESTS);
            tl_netburst_request *of = &requests[source->n_sampled];
            *of = *request;
            if (!is_whole)
                (void)netburst_request_of_thread(request, thread, of);
            of->interrupts = true;
            source->sampled[source->n_sampled++] =
                (struct netburst_sampled){(uint8_t)e, (uint8_t)thread, request->is_precise || request->assists};
            if (is_whole)
                break;
        }
    }
    return tl_netburst_allocate(settings, OF_T0 | OF_T1, requests, source->n_sampled, &source->plan, err);
}

// Samples of the event are at instructions that have it.
static bool is_precise(const netburst_source *source, uint32_t event) {
    const tl_netburst_request *request = &source->requests[event];
    return request->is_precise ||
           (request->assists && tl_netburst_is_of_retirement(request->event) && !(request->filter & TL_CCCR_COMPARE));
}

const char *netburst_sampling_method(const tl_source *source_, uint32_t event) {
    static const char *const by_skid[] = {
        [TL_SKID_FIXED] = "interrupt (IEBS, fixed)",
        [TL_SKID_MECHANISTIC] = "interrupt (IEBS, mechanistic)",
        [TL_SKID_CALIBRATED] = "interrupt (IEBS, calibrated)",
    };
    const netburst_source *source = (const netburst_source *)source_;
    const tl_netburst_request *request = &source->requests[event];
    if (request->assists)
        return is_precise(source, event) ? "precise (NBX)" : "next instruction (NBX)";
    return request->is_precise ? "precise (PEBS)" : by_skid[source->skid];
}

// ---- Debug store areas.

// The first one of the thread.
static const struct netburst_sampled *assisted_of(const netburst_source *source, uint32_t thread) {
    for (uint32_t i = 0; i < source->n_sampled; i++)
        if (source->sampled[i].is_by_assist && source->sampled[i].thread == thread)
            return &source->sampled[i];
    return NULL;
}

static const struct netburst_sampled *sampled_by(const netburst_source *source, uint32_t counter) {
    uint32_t i = 0;
    while (source->plan.places[i].counter != counter)
        i++;
    return &source->sampled[i];
}

static bool is_extended(const netburst_source *source) {
    bool result = false;
    for (uint32_t e = 0; e < source->n_requests; e++)
        result |= source->requests[e].assists;
    return result;
}

static uint64_t record_bytes(const netburst_source *source) { return sizeof(record) + (is_extended(source) ? TL_NBX_RECORD_BYTES : 0u); }

static uint64_t area_vaddr(uint32_t thread) { return AREA_VADDR + (uint64_t)thread * BETWEEN_AREAS; }
static uint64_t records_vaddr(uint32_t thread) { return area_vaddr(thread) + offsetof(area, records); }

static uint64_t distance_of(const sampled_core *c, const tl_hart *h, uint32_t thread, uint32_t counter) {
    return h->instret - tl_netburst_overflow_insns(c->n, thread, counter);
}

// The last one.
static void take_record(const sampled_core *c, uint32_t thread) {
    const sampler *s = c->owner;
    enum { COUNTER = sizeof(record) + 25 }; // docs/netburst.md, 10.10
    const uint8_t *bytes = &c->areas[thread].records[c->areas[thread].index - records_vaddr(thread) - record_bytes(s->source)];
    const struct netburst_sampled *of = is_extended(s->source) ? sampled_by(s->source, bytes[COUNTER]) : assisted_of(s->source, thread);
    tl_hart *h = s->machine->harts[c->first_hart + thread];
    const uint32_t counter = s->source->plan.places[of - s->source->sampled].counter;
    record r;
    memcpy(&r, bytes, sizeof r);
    s->sampling.take(s->sampling.ctx, h, of->event, r.pc, is_precise(s->source, of->event) ? 0 : distance_of(c, h, thread, counter));
}

static bool transfer(void *ctx, uint32_t thread, uint64_t vaddr, void *bytes, uint32_t n_bytes, bool is_write) {
    sampled_core *c = ctx;
    const uint64_t at = vaddr - area_vaddr(thread);
    if (at >= sizeof(area) || n_bytes > sizeof(area) - at)
        return false;
    uint8_t *place = (uint8_t *)&c->areas[thread] + at;
    memcpy(is_write ? (void *)place : bytes, is_write ? bytes : (const void *)place, n_bytes);
    if (is_write && at == offsetof(area, index))
        take_record(c, thread);
    return true;
}

static void empty(sampled_core *c, uint32_t thread) { c->areas[thread].index = c->areas[thread].base; }

static void tell_losses(sampled_core *c) {
    const sampler *s = c->owner;
    for (uint32_t i = 0; i < s->source->n_sampled; i++) {
        const uint32_t counter = s->source->plan.places[i].counter;
        const uint64_t n_lost = tl_netburst_lost_by(c->n, counter);
        if (n_lost > c->n_lost[counter])
            s->sampling.lose(s->sampling.ctx, s->source->sampled[i].event, n_lost - c->n_lost[counter]);
        c->n_lost[counter] = n_lost;
    }
}

void netburst_sampling_tell_losses(void *sampler_) {
    sampler *s = sampler_;
    for (uint32_t i = 0; i < s->n_cores; i++)
        tell_losses(&s->cores[i]);
}

// ---- The run.

tl_status netburst_sampling_attach(tl_source *source, tl_machine *machine, const tl_sample_taker *sampling, tl_arena *of_outline,
                                   tl_arena *of_run, void **ret_sampler, tl_error *err) {
    const uint64_t most = TL_NETBURST_VALUE / 2; // a handler reads how far the counter went on
    sampler *s = tl_arena_alloc(of_run, sizeof *s);
    (void)of_outline;
    if (sampling->period > most)
        return tl_fail(err, TL_EINVAL, "-c %llu: a counter of pmu netburst is too narrow for this period; write at most %llu",
                       (unsigned long long)sampling->period, (unsigned long long)most);
    if (!s)
        return tl_no_memory(err);
    *s = (sampler){
        .source = (const netburst_source *)source, .machine = machine, .sampling = *sampling, .n_threads = n_threads_of(&machine->config)};
    s->n_cores = (machine->n_harts + s->n_threads - 1) / s->n_threads;
    s->cores = tl_arena_alloc(of_run, s->n_cores * sizeof *s->cores);
    if (!s->cores)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < s->n_cores; i++) {
        sampled_core *c = &s->cores[i];
        uint32_t thread;
        c->owner = s;
        c->first_hart = i * s->n_threads;
        c->n = tl_netburst_of(tl_machine_pmu_of(machine, &tl_pmu_netburst, c->first_hart), &thread);
        tl_netburst_set_store(c->n, &(tl_netburst_store){.ctx = c, .transfer = transfer});
    }
    *ret_sampler = s;
    return TL_OK;
}

// Every register that is written here exists.
static void write(sampled_core *c, uint32_t thread, uint32_t msr, uint64_t value) { (void)!tl_netburst_wrmsr(c->n, thread, msr, value); }

static uint64_t read(sampled_core *c, uint32_t msr) {
    uint64_t value = 0;
    (void)!tl_netburst_rdmsr(c->n, 0, msr, &value);
    return value;
}

// The counter wraps after `left` events.
static void preset(sampled_core *c, uint32_t counter, uint64_t left) {
    write(c, 0, TL_MSR_COUNTER + counter, (0 - left) & TL_NETBURST_VALUE);
}

// Registers of the extension that no plan has: the period, and how it varies.
static void begin_nbx(const sampler *s, sampled_core *c) {
    const netburst_source *source = s->source;
    const uint64_t seed = (uint32_t)s->machine->config.seed + c->first_hart + 1;
    for (uint32_t i = 0; i < source->n_sampled; i++) {
        const tl_netburst_request *request = &source->requests[source->sampled[i].event];
        if (request->assists)
            write(c, 0, TL_MSR_NBX_PRESET + source->plan.places[i].counter, (0 - s->sampling.period) & TL_NETBURST_VALUE);
        if (request->vary_bits)
            write(c, 0, TL_MSR_NBX_RANDOM, ((UINT64_C(1) << request->vary_bits) - 1) | seed << TL_NBX_SEED_LSB);
    }
}

static void begin_core(sampler *s, sampled_core *c, uint32_t n_threads) {
    const tl_netburst_plan *plan = &s->source->plan;
    for (uint32_t thread = 0; thread < n_threads; thread++) {
        const uint64_t first = records_vaddr(thread);
        if (!assisted_of(s->source, thread))
            continue;
        c->areas[thread] = (area){.base = first,
                                  .index = first,
                                  .maximum = first + N_RECORDS * record_bytes(s->source),
                                  .threshold = first + THRESHOLD_RECORDS * record_bytes(s->source),
                                  .reset = (0 - s->sampling.period) & TL_NETBURST_VALUE};
        write(c, thread, TL_MSR_DS_AREA, area_vaddr(thread));
    }
    begin_nbx(s, c);
    for (uint32_t i = 0; i < s->source->n_sampled; i++)
        preset(c, plan->places[i].counter, s->sampling.period);
    for (uint32_t i = 0; i < plan->n_writes; i++) {
        const tl_netburst_write *w = &plan->writes[i];
        write(c, 0, w->msr, w->value);
        if (w->msr >= TL_MSR_CCCR && w->msr < TL_MSR_CCCR + TL_NETBURST_COUNTERS)
            s->cccr[w->msr - TL_MSR_CCCR] = w->value;
    }
    for (uint32_t thread = 0; thread < n_threads; thread++) {
        s->machine->harts[c->first_hart + thread]->irqs_enabled |= UINT64_C(1) << TL_IRQ_LCOFI;
        tl_netburst_set_lvt(c->n, thread, 0);
    }
}

void netburst_sampling_begin(void *sampler_) {
    sampler *s = sampler_;
    for (uint32_t i = 0; i < s->n_cores; i++) {
        const uint32_t left = s->machine->n_harts - s->cores[i].first_hart;
        begin_core(s, &s->cores[i], left < s->n_threads ? left : s->n_threads);
    }
}

// A counter that stands at 0 interrupts with its next event.
static void serve(sampler *s, sampled_core *c, tl_hart *h, uint32_t i) {
    const uint32_t counter = s->source->plan.places[i].counter;
    const uint64_t late = read(c, TL_MSR_COUNTER + counter), period = s->sampling.period;
    if (!(read(c, TL_MSR_CCCR + counter) & TL_CCCR_OVF) || late == 0)
        return;
    s->sampling.take(s->sampling.ctx, h, s->source->sampled[i].event, h->pc, distance_of(c, h, h->id % s->n_threads, counter));
    if (late >= period)
        s->sampling.lose(s->sampling.ctx, s->source->sampled[i].event, late / period);
    preset(c, counter, period - late % period);
    write(c, 0, TL_MSR_CCCR + counter, s->cccr[counter]);
}

void netburst_sampling_interrupted(void *sampler_, tl_hart *h) {
    sampler *s = sampler_;
    sampled_core *c = &s->cores[h->id / s->n_threads];
    const uint32_t thread = h->id % s->n_threads;
    tl_hart_set_irq(h, TL_IRQ_LCOFI, false);
    for (uint32_t i = 0; i < s->source->n_sampled; i++) {
        if (s->source->sampled[i].thread != thread)
            continue;
        if (s->source->sampled[i].is_by_assist)
            empty(c, thread);
        else
            serve(s, c, h, i);
    }
    tl_netburst_set_lvt(c->n, thread, 0);
}
