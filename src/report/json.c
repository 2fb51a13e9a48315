// SPDX-License-Identifier: MIT
// NDJSON, schema tally.stat/1 (docs/schema/stat-1.json): a header, then events, metrics and notes,
// last an end record. Nothing in it depends on the host, unless asked, so that equal runs give
// equal bytes.
#include "report/report.h"

static void string_or_null(tl_json *json, const char *key, const char *value) {
    if (value)
        tl_json_string(json, key, value);
    else
        tl_json_null(json, key);
}

static void strings(tl_json *json, const char *key, const char *const *list) {
    tl_json_begin_array(json, key);
    for (; *list; list++)
        tl_json_string(json, NULL, *list);
    tl_json_end_array(json);
}

static void begin(tl_reporter *reporter, const tl_result *result) {
    const tl_header *header = result->header;
    tl_json *json = &reporter->json;
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "header");
    tl_json_string(json, "schema", "tally.stat/1");
    tl_json_string(json, "version", header->version);
    tl_json_string(json, "kind", header->kind);
    tl_json_string(json, "program", header->program);
    string_or_null(json, "digest", header->digest);
    tl_json_begin_array(json, "images");
    for (uint32_t i = 0; i < header->n_images; i++) {
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "role", header->images[i].role);
        tl_json_string(json, "name", header->images[i].name);
        string_or_null(json, "digest", header->images[i].digest);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    string_or_null(json, "append", header->append);
    strings(json, "argv", header->argv);
    strings(json, "env", header->env);
    string_or_null(json, "pmu", header->pmu);
    tl_json_string(json, "machine", header->machine);
    tl_json_string(json, "summary", header->summary);
    tl_json_u64(json, "harts", header->n_harts);
    tl_json_u64(json, "clock_hz", header->clock_hz);
    tl_json_u64(json, "seed", header->seed);
    tl_json_begin_object(json, "interval");
    tl_json_string(json, "kind", header->interval);
    tl_json_u64(json, "length", header->interval_length);
    tl_json_end_object(json);
    tl_json_begin_object(json, "roi");
    string_or_null(json, "start", header->roi_start);
    string_or_null(json, "stop", header->roi_stop);
    tl_json_end_object(json);
    if (header->max_insns)
        tl_json_u64(json, "max_insns", header->max_insns);
    else
        tl_json_null(json, "max_insns");
    tl_json_begin_object(json, "config");
    for (uint32_t i = 0; i < header->n_settings; i++)
        tl_json_string(json, header->settings[i].key, header->settings[i].value);
    tl_json_end_object(json);
    tl_json_begin_object(json, "changed");
    for (uint32_t i = 0; i < header->n_changed; i++)
        tl_json_string(json, header->changed[i].key, header->changed[i].value);
    tl_json_end_object(json);
    tl_json_end_object(json);
}

static void value(tl_json *json, const char *key, const tl_value *of) {
    switch (of->kind) {
    case TL_VALUE_INTEGER: tl_json_u64(json, key, of->integer); break;
    case TL_VALUE_REAL: tl_json_double(json, key, of->real); break;
    case TL_VALUE_MISSING: tl_json_null(json, key); break;
    }
}

static void pmu(tl_json *json, const tl_header *header, const tl_row *row) {
    double error;
    tl_json_string(json, "pmu", header->pmu);
    tl_json_u64(json, "enabled", row->pmu.enabled_ns);
    tl_json_u64(json, "running", row->pmu.running_ns);
    value(json, "truth", &row->pmu.truth);
    if (tl_row_error(row, &error))
        tl_json_double(json, "error_vs_truth", error);
    else
        tl_json_null(json, "error_vs_truth");
}

static void rows(tl_reporter *reporter, const tl_result *result, bool is_interval) {
    tl_json *json = &reporter->json;
    for (uint32_t i = 0; i < result->n_rows && !reporter->options.only_times; i++) {
        const tl_row *row = &result->rows[i];
        const char *type = row->is_metric ? "metric" : "event";
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "type", type);
        if (is_interval)
            tl_json_u64(json, "interval", reporter->n_intervals);
        if (row->region)
            tl_json_string(json, "region", row->region);
        tl_json_string(json, type, row->name);
        value(json, "value", &row->value);
        tl_json_string(json, "unit", row->unit);
        tl_json_string(json, "kind", tl_report_kind(row));
        tl_json_string(json, "scope", row->scope);
        if (row->is_pmu)
            pmu(json, result->header, row);
        if (row->is_metric)
            tl_json_string(json, "group", row->group);
        if (row->value.kind == TL_VALUE_MISSING)
            tl_json_string(json, "reason", row->value.reason);
        tl_json_end_object(json);
    }
}

static void times(tl_json *json, const char *key, uint64_t instructions, uint64_t cycles, uint64_t sim_ns) {
    tl_json_begin_object(json, key);
    tl_json_u64(json, "instructions", instructions);
    tl_json_u64(json, "cycles", cycles);
    tl_json_u64(json, "sim_ns", sim_ns);
    tl_json_end_object(json);
}

static void interval(tl_reporter *reporter, const tl_result *result) {
    tl_json *json = &reporter->json;
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "interval");
    tl_json_u64(json, "interval", reporter->n_intervals);
    times(json, "begin", result->begin_instructions, result->begin_cycles, result->begin_ns);
    times(json, "end", result->begin_instructions + result->instructions, result->begin_cycles + result->cycles,
          result->begin_ns + result->sim_ns);
    tl_json_end_object(json);
    rows(reporter, result, true);
}

static void sampling(tl_json *json, const tl_sampling *of) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "sampling");
    tl_json_u64(json, "window", of->window);
    tl_json_u64(json, "stretch", of->stretch);
    tl_json_u64(json, "warm_up", of->warm_up);
    tl_json_u64(json, "windows", of->n_windows);
    tl_json_u64(json, "instructions", of->instructions);
    tl_json_u64(json, "detailed", of->detailed);
    if (of->n_windows > 0)
        tl_json_double(json, "cpi", of->cpi);
    else
        tl_json_null(json, "cpi");
    tl_json_double(json, "confidence", 0.95);
    if (of->has_interval)
        tl_json_double(json, "half_width", of->cpi_half_width);
    else
        tl_json_null(json, "half_width");
    tl_json_end_object(json);
}

static void end(tl_reporter *reporter, const tl_result *result) {
    tl_json *json = &reporter->json;
    if (result->sampling)
        sampling(json, result->sampling);
    for (uint32_t i = 0; result->is_by_region && i < result->n_regions; i++) {
        const tl_result_region *region = &result->regions[i];
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "type", "region");
        tl_json_string(json, "region", region->name);
        string_or_null(json, "start", region->start);
        string_or_null(json, "stop", region->stop);
        tl_json_u64(json, "visits", region->n_visits);
        tl_json_end_object(json);
    }
    rows(reporter, result, false);
    for (uint32_t i = 0; i < result->n_notes; i++) {
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "type", "note");
        tl_json_string(json, "text", result->notes[i]);
        tl_json_end_object(json);
    }
    if (result->pmu_remark) {
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "type", "note");
        tl_json_string(json, "text", result->pmu_remark);
        tl_json_end_object(json);
    }
    if (reporter->options.with_host) {
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "type", "host");
        tl_json_string(json, "engine", result->header->engine);
        tl_json_u64(json, "host_ns", result->host_ns);
        tl_json_u64(json, "peak_bytes", result->host_peak_bytes);
        tl_json_end_object(json);
    }
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "end");
    tl_json_string(json, "reason", tl_end_reason_name(result->reason));
    if (result->reason == TL_END_EXITED)
        tl_json_i64(json, "status", result->status);
    else
        tl_json_null(json, "status");
    if (result->reason == TL_END_KILLED || result->reason == TL_END_INTERRUPTED)
        tl_json_i64(json, "signal", result->signal);
    else
        tl_json_null(json, "signal");
    tl_json_string(json, "message", result->message);
    tl_json_u64(json, "instructions", result->instructions);
    tl_json_u64(json, "cycles", result->cycles);
    tl_json_u64(json, "sim_ns", result->sim_ns);
    tl_json_u64(json, "guest_peak_bytes", result->guest_peak_bytes);
    tl_json_u64(json, "roi_visits", result->n_roi_visits);
    tl_json_u64(json, "intervals", reporter->n_intervals);
    tl_json_string(json, "identities", result->broken ? result->broken : result->is_checked ? "hold" : "unchecked");
    tl_json_end_object(json);
}

static void message(tl_reporter *reporter, const char *sentence) {
    tl_json *json = &reporter->json;
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "message");
    tl_json_string(json, "text", sentence);
    tl_json_end_object(json);
}

const tl_report_type tl_report_json = {.begin = begin, .interval = interval, .end = end, .message = message};
