// SPDX-License-Identifier: MIT
// Confusion matrices as text and JSON, corrected and published forms side by side.
#include "report/trials.h"

#include <inttypes.h>

#include "base/json.h"

const char *const tl_trial_structures[TL_DEBUGGER_ALGORITHMS] = {"btb", "rsb", "itlb", "dtlb", "l2"};
static const char *const titles[TL_DEBUGGER_ALGORITHMS] = {"branch target buffer", "return stack", "instruction TLB", "data TLB", "L2"};
const char *const tl_trial_reasons[TL_DEBUGGER_REASONS] = {"window",      "not_retired",  "extra",      "exception", "class",
                                                           "speculation", "absent",       "conflict",   "cycles",    "dirty",
                                                           "walk",        "uncalibrated", "unpredicted"};

static uint64_t wrong_of(const tl_debugger_matrix *m) { return m->corrected[0][1] + m->corrected[1][0]; }
static uint64_t unknown_of(const tl_debugger_matrix *m) { return m->corrected[0][2] + m->corrected[1][2]; }
static uint64_t wrong_published(const tl_debugger_matrix *m) { return m->published[0][1] + m->published[1][0]; }

static void put_heading(const tl_debugger_trials *set, FILE *stream) {
    fprintf(stream, "Events of %s, %s%s: %" PRIu32 " questions each, %" PRIu64 " interrupts\n",
            set->has_all_events ? "the full set" : "the Cortex-A53", set->is_noisy ? "with noise" : "no noise",
            set->is_prefetching ? ", with prefetchers" : "", set->n_trials, set->n_interrupts);
    if (set->is_calibrated)
        fprintf(stream,
                "   calibration: residue %" PRIu64 " cycles, hits up to %" PRIu64 ", misses from %" PRIu64 ", threshold %" PRIu64 "\n",
                set->residue_cycles, set->most_hit_cycles, set->least_miss_cycles, set->threshold_cycles);
    else
        fputs("   calibration: none, because known hits and misses did not differ\n", stream);
}

void tl_trials_write_text(const tl_debugger_trials *set, FILE *stream) {
    put_heading(set, stream);
    fprintf(stream, "   %-20s %23s  %23s  %7s %7s   %s\n", "", "entry absent", "entry present", "wrong", "changed", "published form");
    fprintf(stream, "   %-20s %7s %7s %7s  %7s %7s %7s  %7s %7s   %s\n", "", "NO", "YES", "UNKNOWN", "NO", "YES", "UNKNOWN", "", "before",
            "wrong YES, wrong NO");
    for (uint32_t a = 0; a < TL_DEBUGGER_ALGORITHMS; a++) {
        const tl_debugger_matrix *m = &set->matrices[a];
        fprintf(stream, "   %-20s", titles[a]);
        for (uint32_t is_there = 0; is_there < 2; is_there++)
            fprintf(stream, " %7" PRIu64 " %7" PRIu64 " %7" PRIu64 "%s", m->corrected[is_there][0], m->corrected[is_there][1],
                    m->corrected[is_there][2], is_there ? "" : " ");
        fprintf(stream, "  %7" PRIu64 " %7" PRIu64 "   %7" PRIu64 " %7" PRIu64 "\n", wrong_of(m), m->n_changed, m->published[0][1],
                m->published[1][0]);
        if (unknown_of(m) == 0)
            continue;
        fprintf(stream, "   %-20s UNKNOWN because:", "");
        for (uint32_t bit = 0; bit < TL_DEBUGGER_REASONS; bit++)
            if (m->reasons[bit] > 0)
                fprintf(stream, " %s %" PRIu64, tl_trial_reasons[bit], m->reasons[bit]);
        fputc('\n', stream);
    }
}

static void put_row(tl_json *json, const char *key, const uint64_t *counts, bool has_unknown) {
    tl_json_begin_object(json, key);
    tl_json_u64(json, "no", counts[0]);
    tl_json_u64(json, "yes", counts[1]);
    if (has_unknown)
        tl_json_u64(json, "unknown", counts[2]);
    tl_json_end_object(json);
}

static void put_matrix(tl_json *json, uint32_t algorithm, const tl_debugger_matrix *m) {
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "structure", tl_trial_structures[algorithm]);
    tl_json_begin_object(json, "corrected");
    put_row(json, "absent", m->corrected[0], true);
    put_row(json, "present", m->corrected[1], true);
    tl_json_end_object(json);
    tl_json_begin_object(json, "published");
    put_row(json, "absent", m->published[0], false);
    put_row(json, "present", m->published[1], false);
    tl_json_end_object(json);
    tl_json_u64(json, "wrong", wrong_of(m));
    tl_json_u64(json, "unknown", unknown_of(m));
    tl_json_u64(json, "published_wrong", wrong_published(m));
    tl_json_u64(json, "changed", m->n_changed);
    tl_json_begin_object(json, "reasons");
    for (uint32_t bit = 0; bit < TL_DEBUGGER_REASONS; bit++)
        if (m->reasons[bit] > 0)
            tl_json_u64(json, tl_trial_reasons[bit], m->reasons[bit]);
    tl_json_end_object(json);
    tl_json_end_object(json);
}

void tl_trials_write_json(const tl_debugger_trials *set, FILE *stream) {
    tl_json json;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    tl_json_begin_object(&json, NULL);
    tl_json_string(&json, "type", "trials");
    tl_json_string(&json, "schema", "tally.xcm/1");
    tl_json_string(&json, "events", set->has_all_events ? "full" : "a53");
    tl_json_bool(&json, "noise", set->is_noisy);
    tl_json_bool(&json, "prefetch", set->is_prefetching);
    tl_json_u64(&json, "trials", set->n_trials);
    tl_json_u64(&json, "interrupts", set->n_interrupts);
    tl_json_u64(&json, "time_ns", set->time_ns);
    tl_json_u64(&json, "accesses", set->n_accesses);
    tl_json_u64(&json, "bus_errors", set->n_errors);
    tl_json_begin_object(&json, "calibration");
    tl_json_bool(&json, "done", set->is_calibrated);
    tl_json_u64(&json, "residue", set->residue_cycles);
    tl_json_u64(&json, "most_hit", set->most_hit_cycles);
    tl_json_u64(&json, "least_miss", set->least_miss_cycles);
    tl_json_u64(&json, "threshold", set->threshold_cycles);
    tl_json_end_object(&json);
    tl_json_begin_array(&json, "matrices");
    for (uint32_t a = 0; a < TL_DEBUGGER_ALGORITHMS; a++)
        put_matrix(&json, a, &set->matrices[a]);
    tl_json_end_array(&json);
    tl_json_end_object(&json);
}
