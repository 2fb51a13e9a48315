// SPDX-License-Identifier: MIT
// A JSON report as a result. The file may come from anywhere: every member is checked before it is
// used, and what is wrong is said with its line.
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "result/result.h"

typedef struct reader {
    const char *path;
    unsigned line;
    tl_result *result;
    uint32_t capacity;
    bool has_header, has_end;
} reader;

static tl_status wrong(const reader *r, tl_error *err, const char *what) {
    return tl_fail(err, TL_EFORMAT, "%s:%u: %s", r->path, r->line, what);
}

// Integers above 2^53 are strings in reports.
static bool read_u64(const json_t *value, uint64_t *ret_value) {
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *ret_value = (uint64_t)json_integer_value(value);
        return true;
    }
    if (!json_is_string(value))
        return false;
    const char *text = json_string_value(value);
    char *end;
    errno = 0;
    *ret_value = strtoull(text, &end, 10);
    return errno == 0 && *text >= '0' && *text <= '9' && !*end;
}

static const char *keep(reader *r, const json_t *value) {
    return tl_arena_strdup(&r->result->arena, json_is_string(value) ? json_string_value(value) : "");
}

static tl_status read_header(reader *r, const json_t *record, tl_error *err) {
    const char *schema = json_string_value(json_object_get(record, "schema"));
    if (!schema || strcmp(schema, "tally.stat/1") != 0)
        return wrong(r, err, "the schema is not tally.stat/1");
    static const char *const empty[] = {NULL};
    tl_header *header = tl_arena_alloc(&r->result->arena, sizeof *header);
    if (!header)
        return tl_no_memory(err);
    header->version = keep(r, json_object_get(record, "version"));
    header->machine = keep(r, json_object_get(record, "machine"));
    header->program = keep(r, json_object_get(record, "program"));
    header->digest = json_is_string(json_object_get(record, "digest")) ? keep(r, json_object_get(record, "digest")) : NULL;
    header->engine = "";
    header->pmu = json_is_string(json_object_get(record, "pmu")) ? keep(r, json_object_get(record, "pmu")) : NULL;
    header->kind = json_is_string(json_object_get(record, "kind")) ? keep(r, json_object_get(record, "kind")) : "user";
    header->summary = "";
    const json_t *roi = json_object_get(record, "roi");
    const json_t *start = json_object_get(roi, "start"), *stop = json_object_get(roi, "stop");
    header->roi_start = json_is_string(start) ? keep(r, start) : NULL;
    header->roi_stop = json_is_string(stop) ? keep(r, stop) : NULL;
    if ((json_is_string(start) && !header->roi_start) || (json_is_string(stop) && !header->roi_stop))
        return tl_no_memory(err);
    header->interval = "none";
    header->argv = header->env = empty;
    uint64_t n_harts;
    if (read_u64(json_object_get(record, "harts"), &n_harts) && n_harts <= UINT32_MAX)
        header->n_harts = (uint32_t)n_harts;
    const json_t *config = json_object_get(record, "config");
    size_t n_settings = json_object_size(config);
    tl_setting *settings = tl_arena_alloc(&r->result->arena, (n_settings + 1) * sizeof *settings);
    if (!settings || !header->version || !header->machine || !header->program || !header->kind)
        return tl_no_memory(err);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)config, key, value) {
        tl_setting *setting = &settings[header->n_settings++];
        *setting = (tl_setting){tl_arena_strdup(&r->result->arena, key), keep(r, value)};
        if (!setting->key || !setting->value)
            return tl_no_memory(err);
    }
    header->settings = settings;
    r->result->header = header;
    r->has_header = true;
    return TL_OK;
}

// A number, or null with a reason.
static tl_status read_value(reader *r, const json_t *value, const json_t *reason, tl_value *ret_value, tl_error *err) {
    tl_value found = {0};
    if (read_u64(value, &found.integer)) {
        found.kind = TL_VALUE_INTEGER;
        found.real = (double)found.integer;
    } else if (json_is_number(value)) {
        found.kind = TL_VALUE_REAL;
        found.real = json_number_value(value);
    } else if (json_is_null(value)) {
        found.kind = TL_VALUE_MISSING;
        found.reason = keep(r, reason);
        if (!found.reason)
            return tl_no_memory(err);
    } else {
        return wrong(r, err, "the value is not a number");
    }
    *ret_value = found;
    return TL_OK;
}

static tl_status read_pmu(reader *r, const json_t *record, tl_row *row, tl_error *err) {
    if (!read_u64(json_object_get(record, "enabled"), &row->pmu.enabled_ns) ||
        !read_u64(json_object_get(record, "running"), &row->pmu.running_ns))
        return wrong(r, err, "a count of a pmu needs the times enabled and running");
    row->is_pmu = true;
    return read_value(r, json_object_get(record, "truth"), NULL, &row->pmu.truth, err);
}

static tl_status read_row(reader *r, const json_t *record, bool is_metric, tl_error *err) {
    const json_t *name = json_object_get(record, is_metric ? "metric" : "event"), *scope = json_object_get(record, "scope");
    const json_t *value = json_object_get(record, "value");
    if (json_object_get(record, "interval")) // parts of the totals that follow
        return TL_OK;
    if (!json_is_string(name) || !json_is_string(scope) || !value)
        return wrong(r, err, "a count needs a name, a scope and a value");
    tl_result *result = r->result;
    if (result->n_rows == r->capacity) {
        uint32_t capacity = r->capacity ? 2 * r->capacity : 256;
        tl_row *rows = tl_arena_alloc(&result->arena, capacity * sizeof *rows);
        if (!rows)
            return tl_no_memory(err);
        if (result->n_rows > 0)
            memcpy(rows, result->rows, result->n_rows * sizeof *rows);
        result->rows = rows;
        r->capacity = capacity;
    }
    tl_row row = {.name = keep(r, name),
                  .scope = keep(r, scope),
                  .unit = keep(r, json_object_get(record, "unit")),
                  .group = keep(r, json_object_get(record, "group")),
                  .meaning = "",
                  .is_metric = is_metric};
    if (!row.name || !row.scope || !row.unit || !row.group)
        return tl_no_memory(err);
    if (json_is_string(json_object_get(record, "region")) && !(row.region = keep(r, json_object_get(record, "region"))))
        return tl_no_memory(err);
    tl_status status = read_value(r, value, json_object_get(record, "reason"), &row.value, err);
    if (status == TL_OK && json_object_get(record, "pmu"))
        status = read_pmu(r, record, &row, err);
    if (status != TL_OK)
        return status;
    result->rows[result->n_rows++] = row;
    return TL_OK;
}

static tl_status read_end(reader *r, const json_t *record, tl_error *err) {
    tl_result *result = r->result;
    const char *reason = json_string_value(json_object_get(record, "reason"));
    const json_t *status = json_object_get(record, "status"), *signal = json_object_get(record, "signal");
    result->reason = TL_END_FAILED;
    for (int i = TL_END_NONE; reason && i <= TL_END_QUIT; i++) {
        if (!strcmp(reason, tl_end_reason_name((tl_end_reason)i)))
            result->reason = (tl_end_reason)i;
    }
    result->status = (int)(json_integer_value(status) & INT32_MAX);
    result->signal = (int)(json_integer_value(signal) & 0xff);
    result->message = keep(r, json_object_get(record, "message"));
    if (!result->message)
        return tl_no_memory(err);
    if (!read_u64(json_object_get(record, "instructions"), &result->instructions) ||
        !read_u64(json_object_get(record, "cycles"), &result->cycles) || !read_u64(json_object_get(record, "sim_ns"), &result->sim_ns))
        return wrong(r, err, "the end needs instructions, cycles and sim_ns");
    r->has_end = true;
    return TL_OK;
}

static tl_status read_line(reader *r, const char *text, size_t n_bytes, tl_error *err) {
    json_error_t why;
    json_t *record = json_loadb(text, n_bytes, JSON_REJECT_DUPLICATES, &why);
    const char *type = json_string_value(json_object_get(record, "type"));
    tl_status status = TL_OK;
    if (!record)
        status = tl_fail(err, TL_EFORMAT, "%s:%u: not JSON: %s; write the report with tally stat --json", r->path, r->line, why.text);
    else if (!type)
        status = wrong(r, err, "not a record of a report; write it with tally stat --json");
    else if (!strcmp(type, "header"))
        status = r->has_header ? wrong(r, err, "a second header; compare one report at a time") : read_header(r, record, err);
    else if (!r->has_header && strcmp(type, "message") != 0)
        status = wrong(r, err, "the header is missing; write the report with tally stat --json");
    else if (!strcmp(type, "event") || !strcmp(type, "metric"))
        status = read_row(r, record, *type == 'm', err);
    else if (!strcmp(type, "end"))
        status = read_end(r, record, err);
    json_decref(record);
    return status; // other records are for people or come from later versions
}

tl_status tl_result_load(FILE *stream, const char *name, tl_result **ret_result, tl_error *err) {
    reader r = {.path = name};
    char *line = NULL;
    size_t capacity = 0;
    tl_status status = tl_result_new(NULL, &r.result, err);
    while (status == TL_OK) {
        errno = 0;
        ssize_t n_bytes = getline(&line, &capacity, stream);
        if (n_bytes < 0) {
            if (ferror(stream))
                status = tl_fail(err, TL_EIO, "%s: %s", name, strerror(errno));
            break;
        }
        r.line++;
        if (line[strspn(line, " \t\r\n")])
            status = read_line(&r, line, (size_t)n_bytes, err);
    }
    free(line);
    if (status == TL_OK && !r.has_header)
        status = tl_fail(err, TL_EFORMAT, "%s: not a report: it is empty", name);
    if (status == TL_OK && !r.has_end)
        status = tl_fail(err, TL_EFORMAT, "%s: the report is cut off: its end record is missing", name);
    if (status != TL_OK) {
        tl_result_release(r.result);
        return status;
    }
    *ret_result = r.result;
    return TL_OK;
}

tl_status tl_result_open(const char *path, tl_result **ret_result, tl_error *err) {
    if (!strcmp(path, "-"))
        return tl_result_load(stdin, "standard input", ret_result, err);
    FILE *stream = fopen(path, "re");
    if (!stream)
        return tl_fail(err,
                       errno == EACCES                       ? TL_EACCESS
                       : errno == ENOENT || errno == ENOTDIR ? TL_ENOENT
                                                             : TL_EIO,
                       "%s: %s", path, strerror(errno));
    tl_status status = tl_result_load(stream, path, ret_result, err);
    fclose(stream);
    return status;
}
