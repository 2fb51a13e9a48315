// SPDX-License-Identifier: MIT
// Opened records as text and JSON. No value is printed without its flags.
#include "report/records.h"

#include <inttypes.h>

static const struct {
    uint32_t flag;
    const char *name;
} flags[] = {
    {TL_RECORD_FLAG_OVERFLOW, "overflow"},
    {TL_RECORD_FLAG_LOSSY, "lossy"},
    {TL_RECORD_FLAG_UNAVAILABLE, "unavailable"},
    {TL_RECORD_FLAG_SATURATED, "saturated"},
};
enum { N_FLAGS = sizeof flags / sizeof flags[0] };

static void put_flags(uint32_t set, FILE *stream) {
    for (unsigned i = 0; i < N_FLAGS; i++)
        if (set & flags[i].flag)
            fprintf(stream, ", %s", flags[i].name);
}

void tl_report_record_text(const tl_record_entry *entry, uint64_t number, tl_report_record_value *value_of, const void *source,
                           FILE *stream) {
    if (entry->n_lost > 0)
        fprintf(stream, "%" PRIu64 " %s missing\n", entry->n_lost, entry->n_lost == 1 ? "record is" : "records are");
    if (!entry->is_good) {
        fprintf(stream, "record %" PRIu64 " at byte %" PRIu64 ": %s, %" PRIu64 " bytes\n", number, entry->offset_bytes, entry->verdict,
                entry->n_bytes);
        return;
    }
    fprintf(stream, "record %" PRIu64 " at byte %" PRIu64 ": good, seq %" PRIu64 ", VM %" PRIu32, number, entry->offset_bytes, entry->seq,
            entry->vm);
    if (entry->ctx != UINT32_MAX)
        fprintf(stream, " context %" PRIu32, entry->ctx);
    fprintf(stream, ", sent in cycle %" PRIu64 ", committed in %" PRIu64 ", active for %" PRIu64 ", generation %" PRIu64, entry->t_cycle,
            entry->t_commit, entry->t_active, entry->gen);
    put_flags(entry->flags, stream);
    fputc('\n', stream);
    for (uint32_t i = 0; i < entry->n_values; i++) {
        tl_record_value value = {.size = sizeof value};
        value_of(source, i, &value);
        if (value.flags & TL_RECORD_FLAG_UNAVAILABLE)
            fprintf(stream, "%6" PRIu32 "  %20s\n", i, "unavailable");
        else if (value.late)
            fprintf(stream, "%6" PRIu32 "  %20" PRIu64 "  and %" PRIu64 " late\n", i, value.count, value.late);
        else
            fprintf(stream, "%6" PRIu32 "  %20" PRIu64 "\n", i, value.count);
    }
}

void tl_report_records_summary_text(const tl_records_summary *summary, FILE *stream) {
    fprintf(stream, "%" PRIu64 " of %" PRIu64 " records are good, %" PRIu64 " missing\n", summary->n_good, summary->n_entries,
            summary->n_lost);
}

void tl_report_records_header_json(tl_json *json) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "header");
    tl_json_string(json, "schema", "tally.records/1");
    tl_json_end_object(json);
}

static void flags_json(uint32_t set, tl_json *json) {
    tl_json_begin_array(json, "flags");
    for (unsigned i = 0; i < N_FLAGS; i++)
        if (set & flags[i].flag)
            tl_json_string(json, NULL, flags[i].name);
    tl_json_end_array(json);
}

void tl_report_record_json(const tl_record_entry *entry, tl_report_record_value *value_of, const void *source, tl_json *json) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "record");
    tl_json_string(json, "verdict", entry->verdict);
    tl_json_u64(json, "offset_bytes", entry->offset_bytes);
    tl_json_u64(json, "bytes", entry->n_bytes);
    tl_json_u64(json, "missing_before", entry->n_lost);
    if (entry->is_good) {
        tl_json_u64(json, "seq", entry->seq);
        tl_json_u64(json, "epoch", entry->epoch);
        tl_json_u64(json, "vm", entry->vm);
        if (entry->ctx == UINT32_MAX)
            tl_json_null(json, "context");
        else
            tl_json_u64(json, "context", entry->ctx);
        tl_json_u64(json, "sent_cycle", entry->t_cycle);
        tl_json_u64(json, "commit_cycle", entry->t_commit);
        tl_json_u64(json, "active_cycles", entry->t_active);
        tl_json_u64(json, "generation", entry->gen);
        flags_json(entry->flags, json);
        tl_json_begin_array(json, "values");
        for (uint32_t i = 0; i < entry->n_values; i++) {
            tl_record_value value = {.size = sizeof value};
            value_of(source, i, &value);
            if (value.flags & TL_RECORD_FLAG_UNAVAILABLE) {
                tl_json_null(json, NULL);
                continue;
            }
            tl_json_begin_object(json, NULL);
            tl_json_u64(json, "count", value.count);
            tl_json_u64(json, "late", value.late);
            tl_json_end_object(json);
        }
        tl_json_end_array(json);
    }
    tl_json_end_object(json);
}

void tl_report_records_summary_json(const tl_records_summary *summary, tl_json *json) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "end");
    tl_json_u64(json, "records", summary->n_entries);
    tl_json_u64(json, "good", summary->n_good);
    tl_json_u64(json, "missing", summary->n_lost);
    tl_json_end_object(json);
}
