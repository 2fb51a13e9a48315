// SPDX-License-Identifier: MIT
// The experiment as text, with the table of the paper and a histogram, and as JSON. Figures of the
// paper stand beside those that were measured.
#include "report/l1miss.h"

#include <inttypes.h>

#include "base/bits.h"
#include "base/json.h"
#include "report/histogram.h"

static const char *const methods[] = {"count", "precise", "interrupt"};
static const char *const skids[] = {"fixed", "mechanistic", "calibrated"};

double tl_l1miss_share(uint64_t part, uint64_t whole) { return whole == 0 ? 0 : 100 * (double)part / (double)whole; }

void tl_l1miss_title(const tl_l1miss_run *run, char ret_title[96]) {
    static const char *const titles[] = {"counted", "precise samples", "samples by interrupts"};
    const bool is_interrupt = run->method == TL_L1MISS_INTERRUPT;
    snprintf(ret_title, 96, "%s%s%s, variant %c, %s%s", titles[run->method], is_interrupt ? ", " : "", is_interrupt ? skids[run->skid] : "",
             run->is_chained ? 'B' : 'A', run->is_nested ? "loop in a loop" : "one loop", run->is_lockstep ? ", in lock-step" : "");
}

// Misses between two samples.
static uint32_t true_period(const tl_l1miss_run *run) {
    return run->method == TL_L1MISS_PRECISE && !run->is_lockstep ? run->period + 1 : run->period;
}

// ---- Text.

static void put_histogram(const tl_l1miss_run *run, FILE *stream) {
    tl_histogram_bin bins[TL_L1MISS_DISTANCES];
    for (uint32_t i = 0; i < TL_L1MISS_DISTANCES; i++)
        bins[i] = (tl_histogram_bin){i, i, run->distances[i]};
    fputs("   distance  samples\n", stream);
    tl_report_put_histogram(bins, TL_L1MISS_DISTANCES, run->n_samples, "        ", 4, stream);
    if (run->n_elsewhere > 0)
        fprintf(stream, "   elsewhere %7" PRIu64 "  %5.1f %%\n", run->n_elsewhere, tl_l1miss_share(run->n_elsewhere, run->n_samples));
}

// The paper's table.
static void put_cells(const tl_l1miss_run *run, FILE *stream) {
    fputs("   samples  a0 before the load\n", stream);
    for (uint32_t j = 0; j < TL_L1MISS_CELLS; j++)
        if (run->in_cell[j] > 0)
            fprintf(stream, "   %7" PRIu64 "  0x%08" PRIx64 "\n", run->in_cell[j], run->cells[j]);
    if (run->in_none > 0)
        fprintf(stream, "   %7" PRIu64 "  another value\n", run->in_none);
}

static void put_cost(const tl_l1miss_run *run, FILE *stream) {
    if (run->base_passes > 0)
        fprintf(stream, "   time x %.4f; a sample costs %.0f cycles\n", tl_l1miss_slowdown(run), tl_l1miss_cycles_per_sample(run));
}

static void put_samples(const tl_l1miss_run *run, FILE *stream) {
    const bool is_precise = run->method == TL_L1MISS_PRECISE;
    const uint64_t mode = tl_l1miss_mode(run);
    fprintf(stream, "   one of %" PRIu32 " misses; %" PRIu64 " samples, %" PRIu64 " interrupts, %" PRIu64 " lost, %" PRIu64 " faults\n",
            true_period(run), run->n_samples, run->n_interrupts, run->n_lost, run->n_faults);
    fprintf(stream, "   %" PRIu64 " of %" PRIu64 " at the load that misses, 0x%08" PRIx64 " (paper: %s)\n", run->distances[0],
            run->n_samples, run->first_pc, is_precise ? "800 of 800" : "none");
    if (!is_precise && run->n_samples > 0)
        fprintf(stream, "   mode +%" PRIu64 ", %.1f %% (paper: +69, 46.5 %%); least +%" PRIu64 " (paper: +65), median +%" PRIu64 "\n", mode,
                tl_l1miss_share(run->distances[mode], run->n_samples), tl_l1miss_least(run), tl_l1miss_median(run));
    if (is_precise) {
        fprintf(stream, "   %" PRIu64 " with all registers as before the load (paper: all)\n", run->n_exact);
        put_cells(run, stream);
    }
    put_histogram(run, stream);
    put_cost(run, stream);
}

static void put_text(const tl_l1miss_run *run, FILE *stream) {
    char title[96];
    tl_l1miss_title(run, title);
    fprintf(stream, "%c%s: %" PRIu64 " passes\n", title[0] & ~0x20, title + 1, run->n_passes);
    if (run->method == TL_L1MISS_COUNT)
        fprintf(stream, "   %" PRIu64 " misses by the counter, %" PRIu64 " by the machine; %" PRIu64 " cycles\n", run->n_counted,
                run->n_true, run->n_cycles);
    else
        put_samples(run, stream);
}

// ---- JSON.

static void put_hex(tl_json *json, const char *key, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "0x%08" PRIx64, value);
    tl_json_string(json, key, text);
}

static void put_lists(tl_json *json, const tl_l1miss_run *run) {
    tl_json_begin_array(json, "distances");
    for (uint32_t i = 0; i < TL_L1MISS_DISTANCES; i++) {
        if (run->distances[i] == 0)
            continue;
        tl_json_begin_object(json, NULL);
        tl_json_u64(json, "distance", i);
        tl_json_u64(json, "samples", run->distances[i]);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    tl_json_u64(json, "elsewhere", run->n_elsewhere);
    tl_json_begin_array(json, "cells");
    for (uint32_t j = 0; j < TL_L1MISS_CELLS && run->method == TL_L1MISS_PRECISE; j++) {
        tl_json_begin_object(json, NULL);
        put_hex(json, "a0", run->cells[j]);
        tl_json_u64(json, "samples", run->in_cell[j]);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    tl_json_u64(json, "other_cells", run->in_none);
}

static void put_json(const tl_l1miss_run *run, FILE *stream) {
    tl_json json;
    const bool has_samples = run->method != TL_L1MISS_COUNT;
    tl_json_init_file(&json, stream, TL_JSON_LINES);
    tl_json_begin_object(&json, NULL);
    tl_json_string(&json, "type", "run");
    tl_json_string(&json, "schema", "tally.l1miss/1");
    tl_json_string(&json, "method", methods[run->method]);
    tl_json_string(&json, "skid", run->method == TL_L1MISS_INTERRUPT ? skids[run->skid] : NULL);
    tl_json_string(&json, "variant", run->is_chained ? "B" : "A");
    tl_json_bool(&json, "nested", run->is_nested);
    tl_json_bool(&json, "lockstep", run->is_lockstep);
    tl_json_u64(&json, "passes", run->n_passes);
    tl_json_u64(&json, "cycles", run->n_cycles);
    tl_json_u64(&json, "instructions", run->n_instructions);
    tl_json_u64(&json, "true", run->n_true);
    if (!has_samples) {
        tl_json_u64(&json, "counted", run->n_counted);
    } else {
        tl_json_u64(&json, "period", true_period(run));
        tl_json_u64(&json, "samples", run->n_samples);
        tl_json_u64(&json, "interrupts", run->n_interrupts);
        tl_json_u64(&json, "lost", run->n_lost);
        tl_json_u64(&json, "faults", run->n_faults);
        put_hex(&json, "pc", run->first_pc);
        tl_json_u64(&json, "at_load", run->distances[0]);
        if (run->method == TL_L1MISS_PRECISE) {
            tl_json_u64(&json, "exact", run->n_exact);
            tl_json_u64(&json, "in_step", run->n_in_step);
        }
        tl_json_u64(&json, "mode", tl_l1miss_mode(run));
        tl_json_double(&json, "mode_percent", tl_l1miss_share(run->distances[tl_l1miss_mode(run)], run->n_samples));
        tl_json_u64(&json, "least", tl_l1miss_least(run));
        tl_json_u64(&json, "median", tl_l1miss_median(run));
        put_lists(&json, run);
    }
    if (has_samples && run->base_passes > 0) {
        tl_json_double(&json, "slowdown", tl_l1miss_slowdown(run));
        tl_json_double(&json, "cycles_per_sample", tl_l1miss_cycles_per_sample(run));
    }
    tl_json_end_object(&json);
}

tl_status tl_report_l1miss(const tl_l1miss_run *runs, uint32_t n, tl_l1miss_format format, FILE *stream, tl_error *err) {
    if (format == TL_L1MISS_SVG)
        tl_l1miss_write_svg(runs, n, stream);
    for (uint32_t i = 0; i < n && format != TL_L1MISS_SVG; i++)
        if (format == TL_L1MISS_JSON)
            put_json(&runs[i], stream);
        else
            put_text(&runs[i], stream);
    return fflush(stream) == 0 && !ferror(stream) ? TL_OK : tl_fail(err, TL_EIO, "the report cannot be written");
}
