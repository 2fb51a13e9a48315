// SPDX-License-Identifier: MIT
// The table of tally suite: for each program a line for each cache, then the identity and what
// reading it took.
#include "report/readings.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "report/report.h"
#include "result/result.h"

static const char *const cache_columns[] = {"reads", "readmisses", "writes", "writemisses", "writebacks"};
enum { N_CACHE_COLUMNS = sizeof cache_columns / sizeof cache_columns[0] };

static const tl_reading_value *find(const tl_reading *reading, const char *unit, const char *event) {
    for (uint32_t i = 0; i < reading->n_values; i++)
        if (!strcmp(reading->values[i].unit, unit) && !strcmp(reading->values[i].event, event))
            return &reading->values[i];
    return NULL;
}

static void put_unit(const tl_reading *reading, const char *unit, FILE *stream) {
    fprintf(stream, "   %-10s", unit);
    for (int i = 0; i < N_CACHE_COLUMNS; i++) {
        char text[TL_NUMBER_BYTES];
        const tl_reading_value *value = find(reading, unit, cache_columns[i]);
        fprintf(stream, " %16s", value ? tl_format_grouped(value->value, text) : "-");
    }
    fputc('\n', stream);
}

static void put_end(const tl_reading *reading, FILE *stream) {
    if (reading->reason == TL_END_EXITED)
        fprintf(stream, ", then it exited with status %d", reading->status);
    else if (reading->reason != TL_END_MAX_INSNS && reading->reason != TL_END_NONE)
        fprintf(stream, ", then it was %s", tl_end_reason_name(reading->reason));
}

// The unit has its line already.
static bool is_repeat(const tl_reading *reading, uint32_t index) {
    for (uint32_t i = 0; i < index; i++)
        if (!strcmp(reading->values[i].unit, reading->values[index].unit))
            return true;
    return false;
}

static void put_text(const tl_reading *reading, FILE *stream) {
    const tl_reading_cost *cost = &reading->cost;
    char a[TL_NUMBER_BYTES], b[TL_NUMBER_BYTES];
    fprintf(stream, " %s on %s: %s instructions of the program", reading->program, reading->machine,
            tl_format_grouped(reading->instructions, a));
    put_end(reading, stream);
    if (reading->pmu_settings)
        fprintf(stream, "\n   %c%s with %s", tolower((unsigned char)*reading->pmu_settings_title), reading->pmu_settings_title + 1,
                reading->pmu_settings);
    fprintf(stream, "\n   %-10s", "");
    for (int i = 0; i < N_CACHE_COLUMNS; i++)
        fprintf(stream, " %16s", cache_columns[i]);
    fputc('\n', stream);
    for (uint32_t i = 0; i < reading->n_values; i++) {
        const char *unit = reading->values[i].unit;
        if (is_repeat(reading, i))
            continue;
        const tl_reading_value *cycles = find(reading, unit, "cycles"), *insns = find(reading, unit, "instructions");
        if (!cycles)
            put_unit(reading, unit, stream);
        else
            fprintf(stream, "   %-10s %16s cycles %16s instructions\n", unit, tl_format_grouped(cycles->value, a),
                    insns ? tl_format_grouped(insns->value, b) : "-");
    }
    bool holds = reading->l2_reads == reading->l1_misses;
    if (reading->has_identity)
        fprintf(stream, "   L2 reads %s %s L1I and L1D misses %s%s\n", tl_format_grouped(reading->l2_reads, a), holds ? "=" : "DIFFER FROM",
                tl_format_grouped(reading->l1_misses, b), holds ? "" : ": the caches do not hold the reader");
    fprintf(stream, "   largest difference from truth: %s; read by %s instructions in", tl_format_grouped(reading->largest_error, a),
            tl_format_grouped(cost->instructions, b));
    fprintf(stream, " %s cycles: %" PRIu64 " values of %" PRIu64 " managers\n\n", tl_format_grouped(cost->cycles, a), cost->values,
            cost->requests);
}

static void put_json(const tl_reading *reading, tl_json *json) {
    const tl_reading_cost *cost = &reading->cost;
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "reading");
    tl_json_string(json, "schema", "tally.suite/1");
    tl_json_string(json, "program", reading->program);
    tl_json_string(json, "digest", reading->digest);
    tl_json_string(json, "machine", reading->machine);
    tl_json_string(json, "hpc", reading->pmu_settings);
    tl_json_u64(json, "instructions", reading->instructions);
    tl_json_u64(json, "cycles", reading->cycles);
    tl_json_string(json, "end", tl_end_reason_name(reading->reason));
    tl_json_u64(json, "l2_reads", reading->l2_reads);
    tl_json_u64(json, "l1_misses", reading->l1_misses);
    if (reading->has_identity)
        tl_json_bool(json, "identity_holds", reading->l2_reads == reading->l1_misses);
    else
        tl_json_null(json, "identity_holds");
    tl_json_u64(json, "largest_error", reading->largest_error);
    tl_json_begin_object(json, "cost");
    tl_json_u64(json, "instructions", cost->instructions);
    tl_json_u64(json, "cycles", cost->cycles);
    tl_json_u64(json, "requests", cost->requests);
    tl_json_u64(json, "values", cost->values);
    tl_json_u64(json, "l1d_reads", cost->l1d_reads);
    tl_json_u64(json, "l1d_writes", cost->l1d_writes);
    tl_json_u64(json, "l1d_misses", cost->l1d_misses);
    tl_json_u64(json, "l1i_misses", cost->l1i_misses);
    tl_json_u64(json, "warm_instructions", cost->warm_instructions);
    tl_json_u64(json, "warm_cycles", cost->warm_cycles);
    tl_json_u64(json, "trap_cycles", cost->trap_cycles);
    tl_json_end_object(json);
    tl_json_begin_array(json, "values");
    for (uint32_t i = 0; i < reading->n_values; i++) {
        const tl_reading_value *value = &reading->values[i];
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "unit", value->unit);
        tl_json_string(json, "event", value->event);
        tl_json_u64(json, "manager", value->manager);
        tl_json_u64(json, "bit", value->bit);
        tl_json_u64(json, "value", value->value);
        tl_json_u64(json, "truth", value->truth);
        tl_json_u64(json, "program", value->program);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    tl_json_end_object(json);
}

static void put_csv(const tl_reading *reading, FILE *stream) {
    for (uint32_t i = 0; i < reading->n_values; i++) {
        const tl_reading_value *v = &reading->values[i];
        fprintf(stream, "%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", reading->program, v->unit, v->event, v->value, v->truth,
                v->program);
    }
}

tl_status tl_report_readings(const tl_reading *const *readings, uint32_t n, tl_readings_format format, FILE *stream, tl_error *err) {
    tl_json json;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    if (format == TL_READINGS_CSV)
        fputs("program,unit,event,value,truth,value_before_reader\n", stream);
    for (uint32_t i = 0; i < n; i++) {
        switch (format) {
        case TL_READINGS_TEXT: put_text(readings[i], stream); break;
        case TL_READINGS_JSON: put_json(readings[i], &json); break;
        case TL_READINGS_CSV: put_csv(readings[i], stream); break;
        }
    }
    tl_status status = tl_json_flush(&json, err);
    if (status == TL_OK && (fflush(stream) != 0 || ferror(stream)))
        status = tl_fail(err, TL_EIO, "the table could not be written in full");
    return status;
}
