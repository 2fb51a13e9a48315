// SPDX-License-Identifier: MIT
// A sampled profile beside the truth. Both become shares of rows, and the error is the share of
// samples that name another row than the truth does: 1 - the sum of the lesser of both shares. The
// measure is that of TIP (MICRO 2021), which counts cycles by instruction.
//
// Samples of an exact profiler differ from the truth, too, because they are few. This "noise" is
// what a multinomial distribution with the shares of the truth is expected to show.
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "names/catalogue.h"
#include "report/csv.h"
#include "report/histogram.h"
#include "report/plain_text.h"
#include "report/profile.h"
#include "report/profile_rows.h"

enum { SAMPLES, TRUTH, N_COLUMNS };

// Published errors of whole profilers by instruction (TIP, MICRO 2021, abstract).
static const struct {
    const char *method;
    double percent;
} yardsticks[] = {{"software", 61.8}, {"last committing", 55.4}, {"dispatch tagging", 53.1}, {"next committing", 9.3}, {"TIP", 1.6}};

// A profile whose two events are samples and truth of one sampled event. Its names are those of the
// profile that it is made of.
typedef struct beside {
    tl_profile view;
    tl_profile_event events[N_COLUMNS];
    const tl_profile_sampled *sampled;
} beside;

typedef struct truth_report {
    const tl_profile_report_options *options;
    FILE *stream;
    tl_json json;
    bool has_line; // of CSV: the heading is written
} truth_report;

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left for the table"); }

static const tl_profile_calls own_counts = {.kind = TL_PROFILE_SELF};

static bool put_count(tl_profile *view, uint32_t thread, uint32_t event, uint64_t n) {
    if (n == 0)
        return true;
    tl_profile_count *count = TL_PROFILE_ADD(view, counts);
    if (!count)
        return false;
    *count = (tl_profile_count){thread, event, n};
    view->insns[view->n_insns - 1].n_counts++;
    view->events[event].total += n;
    return true;
}

// The truth of one instruction in the next of its threads.
static uint64_t truth_at(const tl_profile *p, const tl_profile_insn *insn, uint32_t *k, const tl_formula *truth, uint64_t *values) {
    const uint32_t end = insn->first_count + insn->n_counts, first = *k;
    for (; *k < end && p->counts[*k].thread == p->counts[first].thread; ++*k)
        values[p->counts[*k].event] = p->counts[*k].n;
    const tl_value value = tl_formula_eval(truth, values, TL_ALL_HARTS);
    for (uint32_t i = first; i < *k; i++)
        values[p->counts[i].event] = 0;
    return value.kind == TL_VALUE_INTEGER ? value.integer : 0;
}

static bool fill_counts(beside *b, const tl_profile *p, const tl_formula *truth, uint64_t *values) {
    const tl_profile_sample *sample = p->samples + b->sampled->first_sample, *end = sample + b->sampled->n_groups;
    for (uint32_t i = 0; i < p->n_insns; i++) {
        const tl_profile_insn *insn = &p->insns[i];
        tl_profile_insn *copy = TL_PROFILE_ADD(&b->view, insns);
        if (!copy)
            return false;
        *copy = *insn;
        copy->first_count = b->view.n_counts;
        copy->n_counts = 0;
        for (uint32_t k = insn->first_count; k < insn->first_count + insn->n_counts || (sample < end && sample->insn == i);) {
            const bool has_count = k < insn->first_count + insn->n_counts, has_sample = sample < end && sample->insn == i;
            const uint32_t counted = has_count ? p->counts[k].thread : UINT32_MAX, taken = has_sample ? sample->thread : UINT32_MAX;
            const uint32_t thread = counted < taken ? counted : taken;
            if (taken == thread && !put_count(&b->view, thread, SAMPLES, sample++->n))
                return false;
            if (counted == thread && !put_count(&b->view, thread, TRUTH, truth_at(p, insn, &k, truth, values)))
                return false;
        }
    }
    return true;
}

static tl_status beside_init(beside *b, const tl_profile *p, const tl_profile_sampled *sampled, tl_error *err) {
    tl_arena arena = {0};
    const tl_formula *truth;
    *b = (beside){.view = *p, .sampled = sampled};
    b->events[SAMPLES] = (tl_profile_event){.name = "samples", .unit = "", .meaning = "", .kind = TL_PROFILE_SIGNAL};
    b->events[TRUTH] = (tl_profile_event){.name = "truth", .unit = "", .meaning = "", .kind = TL_PROFILE_SIGNAL};
    b->view.events = b->events;
    b->view.n_events = N_COLUMNS;
    b->view.insns = NULL;
    b->view.counts = NULL;
    b->view.n_insns = b->view.n_counts = 0;
    if (!sampled->truth)
        return tl_fail(err, TL_EINVAL, "%.100s: no signal counts what this event does, so its samples have no truth beside them",
                       sampled->name);
    tl_status status = tl_profile_formula(p, sampled->truth, &arena, &truth, err);
    uint64_t *values = calloc((size_t)p->n_events + 1, sizeof *values);
    if (status == TL_OK && (!values || !fill_counts(b, p, truth, values)))
        status = no_memory(err);
    free(values);
    tl_arena_done(&arena);
    return status;
}

static void beside_done(beside *b) {
    free(b->view.insns);
    free(b->view.counts);
}

static double share(const tl_profile_rows *rows, const tl_profile_row *row, uint32_t column) {
    const double total = tl_profile_real(tl_profile_rows_total(rows, column));
    return total > 0 ? tl_profile_real(tl_profile_rows_value(rows, row, column)) / total : 0;
}

static double error_of(const tl_profile_rows *rows) {
    double both = 0;
    for (uint32_t i = 0; i < rows->n; i++)
        both += fmin(share(rows, &rows->rows[i], SAMPLES), share(rows, &rows->rows[i], TRUTH));
    return both < 1 ? 100 * (1 - both) : 0;
}

// Half the sum of mean deviations of the rows' binomial shares.
static double noise_of(const tl_profile_rows *rows) {
    const double n = tl_profile_real(tl_profile_rows_total(rows, SAMPLES)), pi = 3.14159265358979323846;
    double sum = 0;
    for (uint32_t i = 0; i < rows->n && n > 0; i++) {
        const double t = share(rows, &rows->rows[i], TRUTH);
        // A row with less than one expected sample has all of it wrong or too much.
        sum += n * t < 1 ? 2 * t * pow(1 - t, n) : sqrt(2 * t * (1 - t) / (pi * n));
    }
    return 100 * sum / 2;
}

typedef struct level {
    const char *title, *sort;
    double error, noise;
} level;

static tl_status measure(const beside *b, level *to, tl_error *err) {
    tl_profile_rows rows;
    const tl_status status = tl_profile_rows_init(&b->view, to->sort, "samples,truth", NULL, &own_counts, &rows, err);
    if (status != TL_OK)
        return status;
    to->error = error_of(&rows);
    to->noise = noise_of(&rows);
    tl_profile_rows_done(&rows);
    return TL_OK;
}

// ---- Distances.

typedef struct distances {
    const tl_profile_distance *of; // of the sampled event, in rising order
    uint32_t n;
    uint64_t n_samples, mode, n_at_mode, least, median;
} distances;

static distances distances_of(const tl_profile *p, uint32_t sampled) {
    distances d = {.of = p->distances};
    uint64_t n_before = 0;
    for (uint32_t left = p->n_distances; left > 0 && d.of->sampled < sampled; left--)
        d.of++;
    for (; d.of + d.n < p->distances + p->n_distances && d.of[d.n].sampled == sampled; d.n++) {
        d.n_samples += d.of[d.n].n;
        if (d.of[d.n].n > d.n_at_mode) {
            d.mode = d.of[d.n].distance;
            d.n_at_mode = d.of[d.n].n;
        }
    }
    d.least = d.n > 0 ? d.of[0].distance : 0;
    for (uint32_t i = 0; i < d.n && 2 * n_before < d.n_samples; i++) {
        d.median = d.of[i].distance;
        n_before += d.of[i].n;
    }
    return d;
}

// Bins have one width, a power of two: the least one that gives no more than so many lines.
static void put_text_distances(const distances *d, FILE *stream) {
    enum { LINES = 20 };
    tl_histogram_bin bins[LINES] = {{0}};
    uint64_t width = 1;
    if (d->n == 0)
        return;
    const uint64_t most = d->of[d->n - 1].distance;
    while (most / width - d->least / width >= LINES)
        width *= 2;
    const uint64_t first = d->least / width;
    for (uint32_t i = 0; i < LINES; i++)
        bins[i] = (tl_histogram_bin){(first + i) * width, (first + i + 1) * width - 1, 0};
    for (uint32_t i = 0; i < d->n; i++)
        bins[d->of[i].distance / width - first].n += d->of[i].n;
    fprintf(stream, "# instructions from the event to the sample: mode +%" PRIu64 ", %.1f %%; least +%" PRIu64 ", median +%" PRIu64 "\n",
            d->mode, 100 * (double)d->n_at_mode / (double)d->n_samples, d->least, d->median);
    tl_report_put_histogram(bins, LINES, d->n_samples, "#   ", 14, stream);
    if (most == TL_PROFILE_DISTANCES - 1)
        fprintf(stream, "#   +%d stands for all that are larger, too\n", TL_PROFILE_DISTANCES - 1);
}

static void put_json_distances(const distances *d, tl_json *json) {
    if (d->n == 0)
        return;
    tl_json_u64(json, "distance_mode", d->mode);
    tl_json_u64(json, "distance_least", d->least);
    tl_json_u64(json, "distance_median", d->median);
    tl_json_begin_array(json, "distances");
    for (uint32_t i = 0; i < d->n; i++) {
        tl_json_begin_object(json, NULL);
        tl_json_u64(json, "distance", d->of[i].distance);
        tl_json_u64(json, "samples", d->of[i].n);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
}

// ---- The quality of samples.

enum { MAX_BIASED = 5 };
typedef struct quality {
    uint64_t n_right; // samples at instructions that have the event
    double period;    // events for each sample
    uint32_t n_biased;
    struct biased {  // instructions whose shares are the most wrong, these first
        double bias; // in percent of all samples
        char text[TL_PROFILE_CELL_BYTES];
    } biased[MAX_BIASED];
    distances distances;
} quality;

static void count_right(const tl_profile *view, quality *q) {
    for (uint32_t i = 0; i < view->n_insns; i++) {
        uint64_t n[N_COLUMNS] = {0};
        for (uint32_t k = 0; k < view->insns[i].n_counts; k++) {
            const tl_profile_count *count = &view->counts[view->insns[i].first_count + k];
            n[count->event] += count->n;
        }
        q->n_right += n[TRUTH] > 0 ? n[SAMPLES] : 0;
    }
}

// Of equal ones the first stays.
static void note_bias(quality *q, const tl_profile_rows *rows, const tl_profile_row *row) {
    const double bias = 100 * (share(rows, row, SAMPLES) - share(rows, row, TRUTH));
    uint32_t at = q->n_biased;
    while (at > 0 && fabs(q->biased[at - 1].bias) < fabs(bias))
        at--;
    if (bias == 0 || at == MAX_BIASED)
        return;
    q->n_biased += q->n_biased < MAX_BIASED;
    memmove(&q->biased[at + 1], &q->biased[at], (q->n_biased - at - 1) * sizeof q->biased[0]);
    q->biased[at].bias = bias;
    tl_profile_rows_text(rows, row, 0, q->biased[at].text);
}

static tl_status judge(const beside *b, const tl_profile *p, quality *q, tl_error *err) {
    tl_profile_rows rows;
    const tl_status status = tl_profile_rows_init(&b->view, "insn", "samples,truth", NULL, &own_counts, &rows, err);
    if (status != TL_OK)
        return status;
    *q = (quality){.period = b->sampled->n_samples > 0 ? (double)b->events[TRUTH].total / (double)b->sampled->n_samples : 0,
                   .distances = distances_of(p, (uint32_t)(b->sampled - p->sampled))};
    count_right(&b->view, q);
    for (uint32_t i = 0; i < rows.n; i++)
        note_bias(q, &rows, &rows.rows[i]);
    tl_profile_rows_done(&rows);
    return TL_OK;
}

static double precision_of(const beside *b, const quality *q) {
    return b->sampled->n_samples > 0 ? 100.0 * (double)q->n_right / (double)b->sampled->n_samples : 0;
}

static void put_text_quality(const beside *b, const quality *q, FILE *stream) {
    char number[TL_NUMBER_BYTES];
    fprintf(stream, "# precision %.2f %%: samples at instructions that have the event; one sample for %.2f events; %s lost\n",
            precision_of(b, q), q->period, tl_format_grouped(b->sampled->n_lost, number));
    if (q->n_biased > 0)
        fputs("# the most biased instructions, in percent of all samples:\n", stream);
    for (uint32_t i = 0; i < q->n_biased; i++)
        fprintf(stream, "#   %+7.2f %%  %s\n", q->biased[i].bias, q->biased[i].text);
}

static bool is_shown(const tl_profile_rows *rows, const tl_profile_row *row, double percent_limit) {
    return percent_limit <= 0 || 100 * share(rows, row, TRUTH) >= percent_limit || 100 * share(rows, row, SAMPLES) >= percent_limit;
}

static void put_text_rows(const beside *b, const tl_profile_rows *rows, const truth_report *report, FILE *stream) {
    const tl_profile *p = rows->profile;
    const tl_profile_sampled *sampled = b->sampled;
    char text[TL_PROFILE_CELL_BYTES], number[3][TL_NUMBER_BYTES];
    const char *bold = report->options->has_color ? TL_STYLE_BOLD : "", *plain = report->options->has_color ? TL_STYLE_PLAIN : "";
    fprintf(stream, "# %s on %s: %s sampled by %s, %s after %s: %s samples of %s", tl_profile_setting_of(p, "program"),
            tl_profile_setting_of(p, "machine"), sampled->name, sampled->pmu, sampled->method,
            tl_format_grouped(sampled->period, number[0]), tl_format_grouped(sampled->n_samples, number[1]),
            tl_format_grouped(b->events[TRUTH].total, number[2]));
    if (sampled->n_lost > 0)
        fprintf(stream, ", %s lost", tl_format_grouped(sampled->n_lost, number[0]));
    fprintf(stream, "\n#\n%s#    truth   sampled  difference       samples", bold);
    for (uint32_t k = 0; k < rows->n_keys; k++)
        fprintf(stream, "  %s", tl_profile_key_name(rows->keys[k]));
    fprintf(stream, "%s\n", plain);
    for (uint32_t i = 0; i < rows->n; i++) {
        const tl_profile_row *row = &rows->rows[i];
        if (!is_shown(rows, row, report->options->percent_limit))
            continue;
        const double truth = 100 * share(rows, row, TRUTH), seen = 100 * share(rows, row, SAMPLES);
        fprintf(stream, "%8.2f %% %7.2f %% %+9.2f %% %13s", truth, seen, seen - truth,
                tl_profile_number(tl_profile_rows_value(rows, row, SAMPLES), number[0]));
        for (uint32_t k = 0; k < rows->n_keys; k++) {
            tl_profile_rows_text(rows, row, k, text);
            fprintf(stream, "  %s", text);
        }
        fputc('\n', stream);
    }
}

static void put_text_levels(const level *levels, uint32_t n, FILE *stream) {
    fputs("#\n# error: samples that name another row than the truth; noise: what samples of an exact profiler would show\n", stream);
    for (uint32_t i = 0; i < n; i++)
        fprintf(stream, "# error by %-12s %6.2f %%, noise %6.2f %%\n", levels[i].title, levels[i].error, levels[i].noise);
    fputs("# yardsticks by instruction, of cycles (TIP, MICRO 2021):", stream);
    for (size_t i = 0; i < sizeof yardsticks / sizeof yardsticks[0]; i++)
        fprintf(stream, "%s %s %.1f %%", i > 0 ? "," : "", yardsticks[i].method, yardsticks[i].percent);
    fputc('\n', stream);
}

static void put_csv_rows(const beside *b, const tl_profile_rows *rows, truth_report *report) {
    char text[TL_PROFILE_CELL_BYTES];
    if (!report->has_line) {
        fputs("event,pmu,period", report->stream);
        for (uint32_t k = 0; k < rows->n_keys; k++)
            fprintf(report->stream, ",%s", tl_profile_key_name(rows->keys[k]));
        fputs(",truth,samples,truth_share,sampled_share\n", report->stream);
    }
    report->has_line = true;
    for (uint32_t i = 0; i < rows->n; i++) {
        const tl_profile_row *row = &rows->rows[i];
        if (!is_shown(rows, row, report->options->percent_limit))
            continue;
        tl_csv_put_cell(report->stream, b->sampled->name);
        fputc(',', report->stream);
        tl_csv_put_cell(report->stream, b->sampled->pmu);
        fprintf(report->stream, ",%" PRIu64, b->sampled->period);
        for (uint32_t k = 0; k < rows->n_keys; k++) {
            tl_profile_rows_text(rows, row, k, text);
            fputc(',', report->stream);
            tl_csv_put_cell(report->stream, text);
        }
        fprintf(report->stream, ",%" PRIu64 ",%" PRIu64 ",%.6f,%.6f\n", tl_profile_rows_value(rows, row, TRUTH).integer,
                tl_profile_rows_value(rows, row, SAMPLES).integer, share(rows, row, TRUTH), share(rows, row, SAMPLES));
    }
}

static void put_json_rows(const beside *b, const tl_profile_rows *rows, const level *levels, uint32_t n_levels, const quality *q,
                          truth_report *report) {
    tl_json *json = &report->json;
    char text[TL_PROFILE_CELL_BYTES];
    tl_json_begin_object(json, NULL);
    tl_json_string(json, "type", "sampled");
    tl_json_string(json, "event", b->sampled->name);
    tl_json_string(json, "pmu", b->sampled->pmu);
    tl_json_string(json, "method", b->sampled->method);
    tl_json_u64(json, "period", b->sampled->period);
    tl_json_u64(json, "samples", b->sampled->n_samples);
    tl_json_u64(json, "lost", b->sampled->n_lost);
    tl_json_u64(json, "truth", b->events[TRUTH].total);
    for (uint32_t i = 0; i < n_levels; i++) {
        tl_json_begin_object(json, levels[i].title);
        tl_json_double(json, "error_percent", levels[i].error);
        tl_json_double(json, "noise_percent", levels[i].noise);
        tl_json_end_object(json);
    }
    tl_json_double(json, "precision_percent", precision_of(b, q));
    tl_json_double(json, "effective_period", q->period);
    tl_json_double(json, "most_biased_percent", q->biased[0].bias);
    tl_json_string(json, "most_biased", q->biased[0].text);
    tl_json_begin_array(json, "biased");
    for (uint32_t i = 0; i < q->n_biased; i++) {
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "instruction", q->biased[i].text);
        tl_json_double(json, "percent", q->biased[i].bias);
        tl_json_end_object(json);
    }
    tl_json_end_array(json);
    put_json_distances(&q->distances, json);
    tl_json_end_object(json);
    for (uint32_t i = 0; i < rows->n; i++) {
        const tl_profile_row *row = &rows->rows[i];
        if (!is_shown(rows, row, report->options->percent_limit))
            continue;
        tl_json_begin_object(json, NULL);
        tl_json_string(json, "type", "row");
        tl_json_string(json, "event", b->sampled->name);
        for (uint32_t k = 0; k < rows->n_keys; k++) {
            tl_profile_rows_text(rows, row, k, text);
            tl_json_string(json, tl_profile_key_name(rows->keys[k]), text);
        }
        tl_json_u64(json, "truth", tl_profile_rows_value(rows, row, TRUTH).integer);
        tl_json_u64(json, "samples", tl_profile_rows_value(rows, row, SAMPLES).integer);
        tl_json_end_object(json);
    }
}

static tl_status put_text(const beside *b, const tl_profile_rows *rows, const level *levels, uint32_t n_levels, const quality *q,
                          const truth_report *report, tl_error *err) {
    tl_plain_text plain;
    const tl_status status = tl_plain_text_begin(&plain, report->stream, err);
    if (status != TL_OK)
        return status;
    put_text_rows(b, rows, report, plain.stream);
    put_text_levels(levels, n_levels, plain.stream);
    put_text_quality(b, q, plain.stream);
    put_text_distances(&q->distances, plain.stream);
    return tl_plain_text_end(&plain, report->options->has_color, TL_OK, err);
}

static tl_status put_sampled(const tl_profile *p, const tl_profile_sampled *sampled, truth_report *report, tl_error *err) {
    level levels[] = {{"function", "dso,symbol", 0, 0}, {"line", "srcline", 0, 0}, {"instruction", "insn", 0, 0}};
    const uint32_t n_levels = sizeof levels / sizeof levels[0];
    tl_profile_rows rows = {0};
    quality q;
    beside b;
    tl_status status = beside_init(&b, p, sampled, err);
    for (uint32_t i = 0; i < n_levels && status == TL_OK; i++)
        status = measure(&b, &levels[i], err);
    if (status == TL_OK)
        status = judge(&b, p, &q, err);
    if (status == TL_OK)
        status = tl_profile_rows_init(&b.view, report->options->sort ? report->options->sort : "dso,symbol", "samples,truth", "truth",
                                      &own_counts, &rows, err);
    if (status == TL_OK && report->options->format == TL_PROFILE_JSON)
        put_json_rows(&b, &rows, levels, n_levels, &q, report);
    else if (status == TL_OK && report->options->format == TL_PROFILE_CSV)
        put_csv_rows(&b, &rows, report);
    else if (status == TL_OK)
        status = put_text(&b, &rows, levels, n_levels, &q, report, err);
    tl_profile_rows_done(&rows);
    beside_done(&b);
    return status;
}

static bool is_asked(const char *events, const char *name) {
    char word[256];
    while (events && tl_next_name(&events, word, sizeof word))
        if (strcmp(word, name) == 0)
            return true;
    return false;
}

// Every name that is asked for was sampled.
static tl_status check_names(const tl_profile *p, const char *events, tl_error *err) {
    char word[256];
    while (events && tl_next_name(&events, word, sizeof word)) {
        uint32_t i = 0;
        while (i < p->n_sampled && strcmp(p->sampled[i].name, word) != 0)
            i++;
        if (i == p->n_sampled)
            return tl_fail(err, TL_ENOENT, "%.100s: this event was not sampled; %.100s was", word, p->sampled[0].name);
    }
    return TL_OK;
}

tl_status tl_report_profile_truth(const tl_profile *profile, const tl_profile_report_options *options, FILE *stream, tl_error *err) {
    truth_report report = {.options = options, .stream = stream};
    if (profile->n_sampled == 0)
        return tl_fail(err, TL_EINVAL, "--against-truth: the profile has no samples; record it with tally record -P PMU -c PERIOD");
    if (options->with_children || options->callers || options->callees || options->order)
        return tl_fail(
            err, TL_EINVAL,
            "--against-truth: samples have no calls and no other columns; leave out --children, --callers, --callees and --order");
    tl_status status = check_names(profile, options->events, err);
    tl_json_init_file(&report.json, stream, TL_JSON_LINES);
    if (status == TL_OK && options->format == TL_PROFILE_JSON) {
        tl_json_begin_object(&report.json, NULL);
        tl_json_string(&report.json, "type", "header");
        tl_json_string(&report.json, "schema", "tally.profile-truth/1");
        tl_json_string(&report.json, "program", tl_profile_setting_of(profile, "program"));
        tl_json_string(&report.json, "machine", tl_profile_setting_of(profile, "machine"));
        tl_json_end_object(&report.json);
    }
    for (uint32_t i = 0; i < profile->n_sampled && status == TL_OK; i++) {
        if (options->events && !is_asked(options->events, profile->sampled[i].name))
            continue;
        if (i > 0 && options->format == TL_PROFILE_TEXT)
            fputc('\n', stream);
        status = put_sampled(profile, &profile->sampled[i], &report, err);
    }
    if (status == TL_OK && options->format == TL_PROFILE_JSON)
        status = tl_json_flush(&report.json, err);
    if (status == TL_OK && (fflush(stream) != 0 || ferror(stream)))
        status = tl_fail(err, TL_EIO, "the output: %s", strerror(errno));
    return status;
}
