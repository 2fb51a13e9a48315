// SPDX-License-Identifier: MIT
// The processed profile format of the Firefox Profiler (docs-developer/processed-profile-format.md
// of firefox-devtools/profiler), version 62: tables of columns that all threads share. A sample is
// a stack, its weight is the count of the first event, and its time is the sum of counts before it,
// as cycles of the machine. Intervals are counters, and visits of regions are markers.
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "export/formats.h"
#include "export/intern.h"
#include "export/stacks.h"

enum { FORMAT_VERSION = 62, GECKO_VERSION = 24, RESOURCE_IS_LIBRARY = 1, MARKER_IS_INTERVAL = 1 };

typedef struct func {
    uint32_t name, object, source; // texts, of the profile, of sources; or TL_PROFILE_NONE
    uint32_t line;
} func;

typedef struct frame {
    uint32_t func, line;
} frame;

typedef struct node {       // of the tree of stacks
    uint32_t frame, prefix; // or TL_PROFILE_NONE
} node;

typedef struct sample {
    uint32_t thread, node;
    uint64_t weight;
} sample;

typedef struct fox {
    const tl_profile *profile;
    const tl_export_measures *measures;
    tl_json json;
    tl_intern texts, sources, funcs_seen, frames_seen, nodes_seen;
    func *funcs;
    frame *frames;
    node *nodes;
    sample *samples;
    uint32_t n_funcs, n_frames, n_nodes, n_samples;
    double clock_hz;
} fox;

static double ms_of(const fox *f, uint64_t cycles) { return (double)cycles * 1e3 / f->clock_hz; }

#define ADD(f, member) tl_profile_grow((void **)&(f)->member, &(f)->n_##member, sizeof *(f)->member)

static uint32_t func_of(fox *f, const tl_export_frame *from) {
    bool is_new;
    const uint32_t name = tl_intern_text(&f->texts, from->name, NULL);
    const uint32_t source = from->path ? tl_intern_text(&f->sources, from->path, NULL) : TL_PROFILE_NONE;
    const uint32_t number = tl_intern_textf(&f->funcs_seen, &is_new, "%u %u %u %u", name, from->object, source, from->start_line);
    func *added = is_new ? ADD(f, funcs) : NULL;
    if (is_new && !added)
        return TL_PROFILE_NONE;
    if (added)
        *added = (func){name, from->object, source, from->start_line};
    return number;
}

static uint32_t node_of(fox *f, const tl_export_frame *from, uint32_t prefix) {
    bool is_new;
    const uint32_t owner = func_of(f, from);
    const uint32_t place = tl_intern_textf(&f->frames_seen, &is_new, "%u %u", owner, from->line);
    frame *line = is_new ? ADD(f, frames) : NULL;
    if (owner == TL_PROFILE_NONE || (is_new && !line))
        return TL_PROFILE_NONE;
    if (line)
        *line = (frame){owner, from->line};
    const uint32_t number = tl_intern_textf(&f->nodes_seen, &is_new, "%u %u", place, prefix);
    node *added = is_new ? ADD(f, nodes) : NULL;
    if (is_new && !added)
        return TL_PROFILE_NONE;
    if (added)
        *added = (node){place, prefix};
    return number;
}

static tl_status add_stack(void *ctx, const tl_export_stack *stack, tl_error *err) {
    fox *f = ctx;
    if (stack->weights[0] == 0)
        return TL_OK;
    uint32_t at = TL_PROFILE_NONE;
    for (uint32_t i = 0; i < stack->n_frames; i++)
        if ((at = node_of(f, &stack->frames[i], at)) == TL_PROFILE_NONE)
            return tl_export_no_memory(err);
    sample *added = ADD(f, samples);
    if (!added || f->nodes_seen.has_failed || f->frames_seen.has_failed || f->funcs_seen.has_failed || f->texts.has_failed)
        return tl_export_no_memory(err);
    *added = (sample){stack->thread, at, stack->weights[0]};
    return TL_OK;
}

// ---- Columns.

static void put_index(tl_json *json, uint32_t index) {
    if (index == TL_PROFILE_NONE)
        tl_json_null(json, NULL);
    else
        tl_json_u64(json, NULL, index);
}

static void put_same(tl_json *json, const char *key, uint32_t n, int64_t value) {
    tl_json_begin_array(json, key);
    for (uint32_t i = 0; i < n; i++)
        tl_json_i64(json, NULL, value);
    tl_json_end_array(json);
}

static void put_nulls(tl_json *json, const char *key, uint32_t n) {
    tl_json_begin_array(json, key);
    for (uint32_t i = 0; i < n; i++)
        tl_json_null(json, NULL);
    tl_json_end_array(json);
}

static void put_texts(tl_json *json, const char *key, const tl_intern *texts) {
    tl_json_begin_array(json, key);
    for (uint32_t i = 0; i < texts->n_texts; i++)
        tl_json_string(json, NULL, texts->texts[i]);
    tl_json_end_array(json);
}

#define COLUMN(json, key, n, put)      \
    tl_json_begin_array(json, key);    \
    for (uint32_t i = 0; i < (n); i++) \
        put;                           \
    tl_json_end_array(json)

static void put_frames(fox *f) {
    tl_json *json = &f->json;
    const uint32_t n = f->n_frames;
    tl_json_begin_object(json, "frameTable");
    put_same(json, "address", n, -1);
    put_same(json, "inlineDepth", n, 0);
    put_same(json, "category", n, 0);
    put_same(json, "subcategory", n, 0);
    COLUMN(json, "func", n, tl_json_u64(json, NULL, f->frames[i].func));
    put_nulls(json, "nativeSymbol", n);
    put_same(json, "innerWindowID", n, 0);
    COLUMN(json, "line", n, put_index(json, f->frames[i].line != 0 ? f->frames[i].line : TL_PROFILE_NONE));
    put_nulls(json, "column", n);
    tl_json_u64(json, "length", n);
    tl_json_end_object(json);
}

static void put_functions(fox *f) {
    tl_json *json = &f->json;
    const uint32_t n = f->n_funcs;
    tl_json_begin_object(json, "funcTable");
    COLUMN(json, "name", n, tl_json_u64(json, NULL, f->funcs[i].name));
    COLUMN(json, "isJS", n, tl_json_bool(json, NULL, false));
    COLUMN(json, "relevantForJS", n, tl_json_bool(json, NULL, false));
    COLUMN(json, "resource", n, tl_json_i64(json, NULL, f->funcs[i].object == TL_PROFILE_NONE ? -1 : (int64_t)f->funcs[i].object));
    COLUMN(json, "source", n, put_index(json, f->funcs[i].source));
    COLUMN(json, "lineNumber", n, put_index(json, f->funcs[i].line != 0 ? f->funcs[i].line : TL_PROFILE_NONE));
    put_nulls(json, "columnNumber", n);
    tl_json_u64(json, "length", n);
    tl_json_end_object(json);
}

// Objects of the profile are libraries and resources of the same numbers.
static void put_shared(fox *f, const uint32_t *object_names) {
    tl_json *json = &f->json;
    const uint32_t n_objects = f->profile->n_objects, n_sources = f->sources.n_texts;
    tl_json_begin_object(json, "shared");
    tl_json_begin_object(json, "stackTable");
    COLUMN(json, "frame", f->n_nodes, tl_json_u64(json, NULL, f->nodes[i].frame));
    COLUMN(json, "prefix", f->n_nodes, put_index(json, f->nodes[i].prefix));
    tl_json_u64(json, "length", f->n_nodes);
    tl_json_end_object(json);
    put_frames(f);
    put_functions(f);
    tl_json_begin_object(json, "resourceTable");
    COLUMN(json, "lib", n_objects, tl_json_u64(json, NULL, i));
    COLUMN(json, "name", n_objects, tl_json_u64(json, NULL, object_names[i]));
    put_nulls(json, "host", n_objects);
    put_same(json, "type", n_objects, RESOURCE_IS_LIBRARY);
    tl_json_u64(json, "length", n_objects);
    tl_json_end_object(json);
    tl_json_begin_object(json, "nativeSymbols");
    put_nulls(json, "libIndex", 0);
    put_nulls(json, "address", 0);
    put_nulls(json, "name", 0);
    put_nulls(json, "functionSize", 0);
    tl_json_u64(json, "length", 0);
    tl_json_end_object(json);
    tl_json_begin_object(json, "sources");
    put_nulls(json, "id", n_sources);
    COLUMN(json, "filename", n_sources, tl_json_u64(json, NULL, tl_intern_text(&f->texts, f->sources.texts[i], NULL)));
    put_same(json, "startLine", n_sources, 1);
    put_same(json, "startColumn", n_sources, 1);
    put_nulls(json, "sourceMapURL", n_sources);
    tl_json_u64(json, "length", n_sources);
    tl_json_end_object(json);
    put_texts(json, "stringArray", &f->texts); // the last, because others add to it
    tl_json_end_object(json);
}

// ---- The rest.

static void put_meta(fox *f) {
    tl_json *json = &f->json;
    static const char *const none[] = {"id", "name", "baseURL"};
    tl_json_begin_object(json, "meta");
    tl_json_u64(json, "version", GECKO_VERSION);
    tl_json_u64(json, "preprocessedProfileVersion", FORMAT_VERSION);
    tl_json_string(json, "product", tl_profile_setting_of(f->profile, "program"));
    tl_json_string(json, "importedFrom", "tally");
    tl_json_string(json, "oscpu", tl_profile_setting_of(f->profile, "machine"));
    tl_json_u64(json, "interval", 1);
    tl_json_u64(json, "startTime", 0);
    tl_json_u64(json, "processType", 0);
    tl_json_bool(json, "debug", false);
    tl_json_bool(json, "symbolicated", true);
    tl_json_bool(json, "usesOnlyOneStackType", true);
    tl_json_bool(json, "sourceCodeIsNotOnSearchfox", true);
    put_nulls(json, "pausedRanges", 0);
    tl_json_begin_object(json, "extensions");
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        put_nulls(json, none[i], 0);
    tl_json_u64(json, "length", 0);
    tl_json_end_object(json);
    tl_json_begin_array(json, "categories");
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "name", "Other");
    tl_json_string(json, "color", "grey");
    tl_json_begin_array(json, "subcategories");
    tl_json_string(json, NULL, "Other");
    tl_json_end_array(json);
    tl_json_end_object(json);
    tl_json_end_array(json);
    tl_json_begin_array(json, "markerSchema");
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "name", "Region");
    tl_json_begin_array(json, "display");
    tl_json_string(json, NULL, "marker-chart");
    tl_json_string(json, NULL, "marker-table");
    tl_json_string(json, NULL, "timeline-overview");
    tl_json_end_array(json);
    put_nulls(json, "fields", 0);
    tl_json_end_object(json);
    tl_json_end_array(json);
    tl_json_end_object(json);
}

static void put_libraries(fox *f) {
    tl_json *json = &f->json;
    tl_json_begin_array(json, "libs");
    for (uint32_t i = 0; i < f->profile->n_objects; i++) {
        const char *path = tl_export_object_path(f->profile, i), *name = tl_base_name(path);
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "name", name);
        tl_json_string(json, "path", path);
        tl_json_string(json, "debugName", name);
        tl_json_string(json, "debugPath", path);
        tl_json_string(json, "breakpadId", "");
        tl_json_string(json, "codeId", *f->profile->objects[i].build_id ? f->profile->objects[i].build_id : NULL);
        tl_json_null(json, "arch");
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
}

// Regions are marks on the first thread. region_names: numbers of texts.
static void put_markers(fox *f, bool has_visits, const uint32_t *region_names) {
    tl_json *json = &f->json;
    const uint32_t n = has_visits ? f->profile->n_visits : 0;
    const tl_profile_visit *visits = f->profile->visits;
    tl_json_begin_object(json, "markers");
    tl_json_begin_array(json, "data");
    for (uint32_t i = 0; i < n; i++) {
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "type", "Region");
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    COLUMN(json, "name", n, tl_json_u64(json, NULL, region_names[visits[i].region]));
    COLUMN(json, "startTime", n, tl_json_double(json, NULL, ms_of(f, visits[i].begin_cycles)));
    COLUMN(json, "endTime", n, tl_json_double(json, NULL, ms_of(f, visits[i].end_cycles)));
    put_same(json, "phase", n, MARKER_IS_INTERVAL);
    put_same(json, "category", n, 0);
    tl_json_u64(json, "length", n);
    tl_json_end_object(json);
}

static void put_samples(fox *f, uint32_t thread) {
    tl_json *json = &f->json;
    uint32_t n = 0;
    uint64_t before = 0;
    for (uint32_t i = 0; i < f->n_samples; i++)
        n += f->samples[i].thread == thread;
    tl_json_begin_object(json, "samples");
    tl_json_string(json, "weightType", "samples");
    tl_json_begin_array(json, "stack");
    for (uint32_t i = 0; i < f->n_samples; i++)
        if (f->samples[i].thread == thread)
            put_index(json, f->samples[i].node);
    tl_json_end_array(json);
    tl_json_begin_array(json, "weight");
    for (uint32_t i = 0; i < f->n_samples; i++)
        if (f->samples[i].thread == thread)
            tl_json_u64(json, NULL, f->samples[i].weight);
    tl_json_end_array(json);
    tl_json_begin_array(json, "timeDeltas");
    for (uint32_t i = 0; i < f->n_samples; i++)
        if (f->samples[i].thread == thread) {
            tl_json_double(json, NULL, ms_of(f, before));
            before = f->samples[i].weight;
        }
    tl_json_end_array(json);
    tl_json_u64(json, "length", n);
    tl_json_end_object(json);
}

static void put_threads(fox *f, const uint32_t *region_names) {
    const tl_profile *p = f->profile;
    tl_json *json = &f->json;
    char text[24];
    tl_json_begin_array(json, "threads");
    for (uint32_t i = 0; i < p->n_threads; i++) {
        const tl_profile_process *process = &p->processes[p->threads[i].process];
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "name", p->threads[i].name);
        tl_json_string(json, "processName", process->name);
        tl_json_string(json, "processType", "default");
        tl_json_bool(json, "isMainThread", p->threads[i].tid == process->pid);
        snprintf(text, sizeof text, "%ld", (long)process->pid);
        tl_json_string(json, "pid", text);
        snprintf(text, sizeof text, "%ld", (long)p->threads[i].tid);
        tl_json_string(json, "tid", text);
        tl_json_u64(json, "registerTime", 0);
        tl_json_null(json, "unregisterTime");
        tl_json_u64(json, "processStartupTime", 0);
        tl_json_null(json, "processShutdownTime");
        put_nulls(json, "pausedRanges", 0);
        tl_json_bool(json, "showMarkersInTimeline", i == 0 && p->n_visits > 0);
        put_samples(f, i);
        put_markers(f, i == 0, region_names);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
}

static uint64_t count_in(const fox *f, uint32_t interval, uint32_t measure, uint64_t *weights) {
    const tl_profile_interval *in = &f->profile->intervals[interval];
    memset(weights, 0, f->measures->n_items * sizeof *weights);
    for (uint32_t k = in->first_count; k < in->first_count + in->n_counts; k++)
        tl_export_weigh(f->measures, f->profile->interval_counts[k].event, f->profile->interval_counts[k].n, weights);
    return weights[measure];
}

// A count is that of the time since the one before, so it stands at the end of its interval.
static tl_status put_counters(fox *f, tl_error *err) {
    const tl_profile *p = f->profile;
    tl_json *json = &f->json;
    uint64_t *weights = calloc((size_t)f->measures->n_items + 1, sizeof *weights);
    char pid[24] = "0";
    if (!weights)
        return tl_export_no_memory(err);
    if (p->n_threads > 0)
        snprintf(pid, sizeof pid, "%ld", (long)p->processes[p->threads[0].process].pid);
    tl_json_begin_array(json, "counters");
    for (uint32_t m = 0; m < f->measures->n_items && p->n_intervals > 0; m++) {
        const uint32_t n = p->n_intervals;
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "name", f->measures->items[m].name);
        tl_json_string(json, "category", "tally");
        tl_json_string(json, "description", f->measures->items[m].meaning);
        tl_json_string(json, "pid", pid);
        tl_json_u64(json, "mainThreadIndex", 0);
        tl_json_begin_object(json, "display");
        tl_json_string(json, "graphType", "line-rate");
        tl_json_string(json, "color", "blue");
        tl_json_string(json, "unit", "");
        tl_json_string(json, "label", f->measures->items[m].name);
        tl_json_null(json, "markerSchemaLocation");
        tl_json_u64(json, "sortWeight", m);
        tl_json_end_object(json);
        tl_json_begin_object(json, "samples");
        COLUMN(json, "timeDeltas", n, tl_json_double(json, NULL, ms_of(f, (p->intervals[i].end_cycles - p->intervals[i].begin_cycles))));
        COLUMN(json, "count", n, tl_json_u64(json, NULL, count_in(f, i, m, weights)));
        put_same(json, "number", n, 0);
        tl_json_u64(json, "length", n);
        tl_json_end_object(json);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    free(weights);
    return TL_OK;
}

static tl_status write_all(fox *f, tl_error *err) {
    const tl_profile *p = f->profile;
    uint32_t *object_names = calloc((size_t)p->n_objects + 1, sizeof *object_names);
    uint32_t *region_names = calloc((size_t)p->n_regions + 1, sizeof *region_names);
    tl_status status = object_names && region_names ? TL_OK : tl_export_no_memory(err);
    for (uint32_t i = 0; i < p->n_objects && status == TL_OK; i++)
        object_names[i] = tl_intern_text(&f->texts, tl_base_name(p->objects[i].path), NULL);
    for (uint32_t i = 0; i < p->n_regions && status == TL_OK; i++)
        region_names[i] = tl_intern_text(&f->texts, p->regions[i].name, NULL);
    if (status == TL_OK) {
        tl_json_begin_object(&f->json, NULL);
        put_meta(f);
        put_libraries(f);
        put_nulls(&f->json, "pages", 0);
        put_nulls(&f->json, "profilerOverhead", 0);
        put_threads(f, region_names);
        status = put_counters(f, err);
        put_shared(f, object_names);
        tl_json_end_object(&f->json);
    }
    if (status == TL_OK && f->texts.has_failed)
        status = tl_export_no_memory(err);
    free(object_names);
    free(region_names);
    return status;
}

tl_status tl_export_firefox(const tl_profile *profile, const tl_export_measures *measures, FILE *stream, tl_error *err) {
    const double clock_hz = strtod(tl_profile_setting_of(profile, "clock_hz"), NULL);
    fox f = {.profile = profile, .measures = measures, .clock_hz = clock_hz > 0 ? clock_hz : 1e9};
    tl_json_init_file(&f.json, stream, TL_JSON_LINES);
    tl_status status = tl_export_each_stack(profile, measures, add_stack, &f, err);
    if (status == TL_OK)
        status = write_all(&f, err);
    tl_intern_done(&f.texts);
    tl_intern_done(&f.sources);
    tl_intern_done(&f.funcs_seen);
    tl_intern_done(&f.frames_seen);
    tl_intern_done(&f.nodes_seen);
    free(f.funcs);
    free(f.frames);
    free(f.nodes);
    free(f.samples);
    const tl_status flushed = tl_json_flush(&f.json, status == TL_OK ? err : NULL);
    return status != TL_OK ? status : flushed;
}
