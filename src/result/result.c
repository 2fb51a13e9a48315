// SPDX-License-Identifier: MIT
// Results as values: made, subtracted, compared.
#include "result/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "result/outline.h"

tl_status tl_result_new(tl_outline *outline, tl_result **ret_result, tl_error *err) {
    tl_result *result = calloc(1, sizeof *result);
    if (!result)
        return tl_no_memory(err);
    result->outline = tl_outline_share(outline);
    result->header = outline ? &outline->header : NULL;
    result->message = "";
    *ret_result = result;
    return TL_OK;
}

void tl_result_release(tl_result *result) {
    if (!result)
        return;
    tl_outline_free(result->outline);
    tl_arena_done(&result->arena);
    free(result);
}

const char *tl_end_reason_name(tl_end_reason reason) {
    static const char *const names[] = {
        [TL_END_NONE] = "running",
        [TL_END_EXITED] = "exited",
        [TL_END_KILLED] = "killed",
        [TL_END_DEADLOCK] = "deadlock",
        [TL_END_MAX_INSNS] = "max_insns",
        [TL_END_TIMEOUT] = "timeout",
        [TL_END_INTERRUPTED] = "interrupted",
        [TL_END_FAILED] = "failed",
        [TL_END_RESET] = "reset",
        [TL_END_STUCK] = "stuck",
        [TL_END_QUIT] = "quit",
    };
    return (size_t)reason < TL_COUNT_OF(names) ? names[reason] : "failed";
}

bool tl_row_error(const tl_row *row, double *ret_error) {
    const tl_value *truth = &row->pmu.truth;
    if (!row->is_pmu || row->value.kind == TL_VALUE_MISSING || truth->kind == TL_VALUE_MISSING)
        return false;
    if (truth->real == 0 && row->value.real != 0)
        return false;
    bool is_exact = row->value.kind == TL_VALUE_INTEGER && truth->kind == TL_VALUE_INTEGER && row->value.integer == truth->integer;
    *ret_error = is_exact || truth->real == 0 ? 0 : (row->value.real - truth->real) / truth->real;
    return true;
}

bool tl_row_is_of(const tl_row *row, const char *region) {
    return row->region && region ? !strcmp(row->region, region) : row->region == region;
}

const tl_row *tl_result_row_of(const tl_result *result, const char *region, bool is_metric, const char *name, const char *scope) {
    for (uint32_t i = 0; i < result->n_rows; i++) {
        const tl_row *row = &result->rows[i];
        if (row->is_metric == is_metric && !strcmp(row->name, name) && !strcmp(row->scope, scope ? scope : "machine") &&
            tl_row_is_of(row, region))
            return row;
    }
    return NULL;
}

const tl_row *tl_result_row(const tl_result *result, bool is_metric, const char *name, const char *scope) {
    for (uint32_t i = 0; i < result->n_rows; i++) {
        const tl_row *row = &result->rows[i];
        if (row->is_metric == is_metric && !strcmp(row->name, name) && !strcmp(row->scope, scope ? scope : "machine"))
            return row;
    }
    return NULL;
}

// The earlier total; regions that markers began since had none.
static uint64_t earlier_total(const tl_result *later, const tl_result *earlier, uint32_t index) {
    if (!later->is_by_region)
        return earlier->totals[index];
    uint32_t n = later->n_totals / later->n_regions;
    for (uint32_t i = 0; i < earlier->n_regions; i++) {
        if (earlier->regions[i].key == later->regions[index / n].key)
            return earlier->totals[(size_t)i * n + index % n];
    }
    return 0;
}

static bool copy_regions(tl_result *result, const tl_result *from) {
    result->is_by_region = from->is_by_region;
    if (from->n_regions == 0)
        return true;
    result->regions = tl_arena_alloc(&result->arena, from->n_regions * sizeof *result->regions);
    for (uint32_t i = 0; result->regions && i < from->n_regions; i++) {
        tl_result_region *to = &result->regions[result->n_regions++];
        *to = from->regions[i];
        to->name = tl_arena_strdup(&result->arena, to->name);
        to->start = to->stop = NULL; // of the whole run's result
        if (!to->name)
            return false;
    }
    return result->regions != NULL;
}

static bool subtract_parts(tl_result *result, const tl_result *later, const tl_result *earlier) {
    result->pmu_parts = tl_arena_alloc(&result->arena, (later->n_pmu_parts + 1) * sizeof *result->pmu_parts);
    for (uint32_t i = 0; result->pmu_parts && i < later->n_pmu_parts; i++) {
        tl_perf_part *part = &result->pmu_parts[i];
        *part = later->pmu_parts[i];
        for (uint32_t k = 0; k < earlier->n_pmu_parts; k++)
            if (earlier->pmu_parts[k].event == part->event && earlier->pmu_parts[k].context == part->context)
                part->count -= earlier->pmu_parts[k].count;
    }
    result->n_pmu_parts = later->n_pmu_parts;
    return result->pmu_parts != NULL;
}

tl_status tl_result_difference(const tl_result *later, const tl_result *earlier, tl_result **ret_result, tl_error *err) {
    bool is_by_region = later->is_by_region;
    if (!later->totals || later->outline != earlier->outline || is_by_region != earlier->is_by_region ||
        (!is_by_region && later->n_totals != earlier->n_totals))
        return tl_fail(err, TL_EINVAL, "the results to subtract come from different runs");
    for (uint32_t i = 0; i < later->n_totals; i++) {
        if (later->totals[i] < earlier_total(later, earlier, i))
            return tl_fail(err, TL_EINVAL, "the result to subtract is the later one");
    }
    tl_result *result;
    tl_status status = tl_result_new(later->outline, &result, err);
    if (status != TL_OK)
        return status;
    result->totals = tl_arena_alloc(&result->arena, (later->n_totals + 1) * sizeof *result->totals);
    if (!result->totals || !copy_regions(result, later)) {
        tl_result_release(result);
        return tl_no_memory(err);
    }
    result->n_totals = later->n_totals;
    for (uint32_t i = 0; i < later->n_totals; i++)
        result->totals[i] = later->totals[i] - earlier_total(later, earlier, i);
    result->pmu_counts = tl_arena_alloc(&result->arena, (later->n_pmu_counts + 1) * sizeof *result->pmu_counts);
    if (!result->pmu_counts) {
        tl_result_release(result);
        return tl_no_memory(err);
    }
    // The earlier result may be the one before the start, without counts.
    for (uint32_t i = 0; i < later->n_pmu_counts; i++) {
        const tl_perf_count none = {0}, *a = &later->pmu_counts[i], *b = i < earlier->n_pmu_counts ? &earlier->pmu_counts[i] : &none;
        result->pmu_counts[i] =
            (tl_perf_count){a->count - b->count, a->enabled_cycles - b->enabled_cycles, a->running_cycles - b->running_cycles};
    }
    result->n_pmu_counts = later->n_pmu_counts;
    if (!subtract_parts(result, later, earlier)) {
        tl_result_release(result);
        return tl_no_memory(err);
    }
    result->interval_kind = later->header->interval;
    result->begin_instructions = earlier->begin_instructions + earlier->instructions;
    result->begin_cycles = earlier->begin_cycles + earlier->cycles;
    result->begin_ns = earlier->begin_ns + earlier->sim_ns;
    result->instructions = later->instructions - earlier->instructions;
    result->cycles = later->cycles - earlier->cycles;
    result->sim_ns = later->sim_ns - earlier->sim_ns;
    result->host_ns = later->host_ns - earlier->host_ns;
    result->host_peak_bytes = later->host_peak_bytes;
    result->guest_peak_bytes = later->guest_peak_bytes;
    result->reason = later->reason;
    result->status = later->status;
    result->signal = later->signal;
    result->message = tl_arena_strdup(&result->arena, later->message);
    status = result->message ? tl_outline_rows(result->outline, result, err) : tl_no_memory(err);
    if (status != TL_OK) {
        tl_result_release(result);
        return status;
    }
    *ret_result = result;
    return TL_OK;
}

static bool same_value(tl_value a, tl_value b) {
    if (a.kind != b.kind)
        return false;
    if (a.kind == TL_VALUE_INTEGER)
        return a.integer == b.integer;
    return a.kind == TL_VALUE_MISSING || !memcmp(&a.real, &b.real, sizeof a.real);
}

static const char *show(tl_value value, char text[40]) {
    if (value.kind == TL_VALUE_INTEGER)
        snprintf(text, 40, "%llu", (unsigned long long)value.integer);
    else if (value.kind == TL_VALUE_REAL)
        snprintf(text, 40, "%.6g", value.real);
    else
        snprintf(text, 40, "no value");
    return text;
}

tl_status tl_result_compare(const tl_result *a, const tl_result *b, tl_error *err) {
    if (a->n_totals != b->n_totals || a->n_rows != b->n_rows)
        return tl_fail(err, TL_EINVAL, "the results show different things");
    for (uint32_t i = 0; i < a->n_rows; i++) {
        const tl_row *x = &a->rows[i], *y = &b->rows[i];
        char text[2][40];
        if (strcmp(x->name, y->name) || strcmp(x->scope, y->scope) || !tl_row_is_of(x, y->region))
            return tl_fail(err, TL_EINVAL, "the results show different things: %s and %s", x->name, y->name);
        if (!same_value(x->value, y->value))
            return tl_fail(err, TL_EINVAL, "%s of %s is %s in one and %s in the other", x->name, x->scope, show(x->value, text[0]),
                           show(y->value, text[1]));
    }
    for (uint32_t i = 0; a->totals && b->totals && i < a->n_totals; i++) { // also what is not shown
        if (a->totals[i] != b->totals[i])
            return tl_fail(err, TL_EINVAL, "%s is %llu in one and %llu in the other",
                           a->outline ? tl_catalogue_signal_at(a->outline->catalogue, i).path : "a signal",
                           (unsigned long long)a->totals[i], (unsigned long long)b->totals[i]);
    }
    if (a->instructions != b->instructions || a->cycles != b->cycles)
        return tl_fail(err, TL_EINVAL, "the runs took %llu and %llu cycles", (unsigned long long)a->cycles, (unsigned long long)b->cycles);
    if (a->reason != b->reason || a->status != b->status || a->signal != b->signal)
        return tl_fail(err, TL_EINVAL, "one ended with %s %d, the other with %s %d", tl_end_reason_name(a->reason),
                       a->reason == TL_END_KILLED ? a->signal : a->status, tl_end_reason_name(b->reason),
                       b->reason == TL_END_KILLED ? b->signal : b->status);
    return TL_OK;
}
