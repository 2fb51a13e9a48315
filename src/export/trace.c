// SPDX-License-Identifier: MIT
// The course of a run as trace events in JSON, which Perfetto and chrome://tracing open. Process 0
// is the machine: a row for each hart says which thread it had, and intervals are its counters.
// Every thread has a row of its own, and visits of regions are asynchronous slices.
#include "base/json.h"
#include "export/formats.h"
#include "export/measures.h"
#include "export/stacks.h"

#include <stdlib.h>

enum { MACHINE_PID = 0 };

typedef struct tracer {
    const tl_profile *profile;
    const tl_export_measures *measures;
    tl_json json;
    double clock_hz;
} tracer;

static void begin_event(tracer *t, const char *phase, const char *name, int64_t pid, int64_t tid) {
    tl_json_begin_object(&t->json, NULL);
    tl_json_string(&t->json, "ph", phase);
    tl_json_string(&t->json, "name", name);
    tl_json_i64(&t->json, "pid", pid);
    tl_json_i64(&t->json, "tid", tid);
}

static void put_time(tracer *t, const char *key, uint64_t cycles) { tl_json_double(&t->json, key, (double)cycles * 1e6 / t->clock_hz); }

static void put_name(tracer *t, const char *kind, int64_t pid, int64_t tid, const char *name) {
    begin_event(t, "M", kind, pid, tid);
    tl_json_begin_object(&t->json, "args");
    tl_json_string(&t->json, "name", name);
    tl_json_end_object(&t->json);
    tl_json_end_object(&t->json);
}

static void put_names(tracer *t) {
    const tl_profile *p = t->profile;
    uint32_t n_harts = 0;
    char name[32];
    put_name(t, "process_name", MACHINE_PID, 0, "machine");
    for (uint32_t i = 0; i < p->n_stints; i++)
        n_harts = p->stints[i].hart >= n_harts ? p->stints[i].hart + 1 : n_harts;
    for (uint32_t i = 0; i < n_harts && i < 256; i++) {
        snprintf(name, sizeof name, "hart%u", i);
        put_name(t, "thread_name", MACHINE_PID, i, name);
    }
    for (uint32_t i = 0; i < p->n_processes; i++)
        if (p->processes[i].pid != MACHINE_PID)
            put_name(t, "process_name", p->processes[i].pid, p->processes[i].pid, p->processes[i].name);
    for (uint32_t i = 0; i < p->n_threads; i++)
        if (p->processes[p->threads[i].process].pid != MACHINE_PID)
            put_name(t, "thread_name", p->processes[p->threads[i].process].pid, p->threads[i].tid, p->threads[i].name);
}

static void put_slice(tracer *t, const char *category, const char *name, int64_t pid, int64_t tid, uint64_t begin, uint64_t end) {
    begin_event(t, "X", name, pid, tid);
    tl_json_string(&t->json, "cat", category);
    put_time(t, "ts", begin);
    put_time(t, "dur", end - begin);
    tl_json_end_object(&t->json);
}

static void put_stint(tracer *t, const tl_profile_stint *stint) {
    const tl_profile_thread *thread = &t->profile->threads[stint->thread];
    char text[96];
    put_slice(t, "hart", tl_export_thread_name(t->profile, stint->thread, text, sizeof text), MACHINE_PID, stint->hart, stint->begin_cycles,
              stint->end_cycles);
    snprintf(text, sizeof text, "on hart%u", stint->hart);
    put_slice(t, "thread", text, t->profile->processes[thread->process].pid, thread->tid, stint->begin_cycles, stint->end_cycles);
    if (stint->begin_cycles == 0)
        return;
    begin_event(t, "i", "context switch", MACHINE_PID, stint->hart);
    tl_json_string(&t->json, "cat", "hart");
    tl_json_string(&t->json, "s", "t");
    put_time(t, "ts", stint->begin_cycles);
    tl_json_end_object(&t->json);
}

static void put_counter(tracer *t, const char *name, uint64_t cycles, uint64_t n) {
    begin_event(t, "C", name, MACHINE_PID, 0);
    put_time(t, "ts", cycles);
    tl_json_begin_object(&t->json, "args");
    tl_json_u64(&t->json, "count", n);
    tl_json_end_object(&t->json);
    tl_json_end_object(&t->json);
}

static tl_status put_intervals(tracer *t, tl_error *err) {
    const tl_profile *p = t->profile;
    const uint32_t n = t->measures->n_items;
    uint64_t *weights = calloc((size_t)n + 1, sizeof *weights);
    if (!weights)
        return tl_export_no_memory(err);
    for (uint32_t i = 0; i < p->n_intervals; i++) {
        const tl_profile_interval *interval = &p->intervals[i];
        for (uint32_t m = 0; m < n; m++)
            weights[m] = 0;
        for (uint32_t k = interval->first_count; k < interval->first_count + interval->n_counts; k++)
            tl_export_weigh(t->measures, p->interval_counts[k].event, p->interval_counts[k].n, weights);
        for (uint32_t m = 0; m < n; m++)
            put_counter(t, t->measures->items[m].name, interval->begin_cycles, weights[m]);
    }
    for (uint32_t m = 0; m < n; m++) // the run is over
        put_counter(t, t->measures->items[m].name, p->intervals[p->n_intervals - 1].end_cycles, 0);
    free(weights);
    return TL_OK;
}

// Visits of several regions may overlap, which slices of one row must not.
static void put_visit(tracer *t, uint32_t number) {
    const tl_profile_visit *visit = &t->profile->visits[number];
    for (uint32_t is_end = 0; is_end < 2; is_end++) {
        begin_event(t, is_end ? "e" : "b", t->profile->regions[visit->region].name, MACHINE_PID, 0);
        tl_json_string(&t->json, "cat", "region");
        tl_json_u64(&t->json, "id", number);
        put_time(t, "ts", is_end ? visit->end_cycles : visit->begin_cycles);
        tl_json_end_object(&t->json);
    }
}

tl_status tl_export_trace(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    const double clock_hz = strtod(tl_profile_setting_of(profile, "clock_hz"), NULL);
    tracer t = {.profile = profile, .measures = measures, .clock_hz = clock_hz > 0 ? clock_hz : 1e9};
    if (profile->n_intervals == 0)
        return tl_fail(err, TL_EINVAL, "trace: the profile has no intervals; record it with tally record -I LENGTH");
    tl_json_init_file(&t.json, stream, TL_JSON_LINES);
    tl_json_begin_object(&t.json, NULL);
    tl_json_string(&t.json, "displayTimeUnit", "ns");
    tl_json_begin_object(&t.json, "otherData");
    tl_json_string(&t.json, "program", tl_profile_setting_of(profile, "program"));
    tl_json_string(&t.json, "machine", tl_profile_setting_of(profile, "machine"));
    tl_json_end_object(&t.json);
    tl_json_begin_array(&t.json, "traceEvents");
    put_names(&t);
    for (uint32_t i = 0; i < profile->n_stints; i++)
        put_stint(&t, &profile->stints[i]);
    for (uint32_t i = 0; i < profile->n_visits; i++)
        put_visit(&t, i);
    const tl_status status = put_intervals(&t, err);
    tl_json_end_array(&t.json);
    tl_json_end_object(&t.json);
    const tl_status flushed = tl_json_flush(&t.json, status == TL_OK ? err : NULL);
    return status != TL_OK ? status : flushed;
}
