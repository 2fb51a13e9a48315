// SPDX-License-Identifier: MIT
// tally/result.h: a result as its readers see it.
#include <tally/result.h>

#include "api/fill.h"
#include "result/result.h"

// The index-th row of a kind, or NULL.
static const tl_row *row_at(const tl_result *result, bool is_metric, uint32_t index) {
    for (uint32_t i = 0; i < result->n_rows; i++) {
        if (result->rows[i].is_metric == is_metric && index-- == 0)
            return &result->rows[i];
    }
    return NULL;
}

static uint32_t n_of(const tl_result *result, bool is_metric) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < result->n_rows; i++)
        n += result->rows[i].is_metric == is_metric;
    return n;
}

TL_API uint32_t tl_result_n_counts(const tl_result *result) { return n_of(result, false); }

TL_API void tl_result_count_at(const tl_result *result, uint32_t index, tl_count *ret_count) {
    static const tl_row none = {.name = "", .scope = "", .unit = "", .meaning = "", .value = {.reason = "no such count"}};
    const tl_row *row = row_at(result, false, index);
    row = row ? row : &none;
    bool has_value = row->value.kind != TL_VALUE_MISSING;
    tl_count count = {.event = row->name,
                      .scope = row->scope,
                      .unit = row->unit,
                      .meaning = row->meaning,
                      .has_value = has_value,
                      .is_whole = row->value.kind == TL_VALUE_INTEGER,
                      .value = row->value.kind == TL_VALUE_INTEGER ? row->value.integer : 0,
                      .real = has_value ? row->value.real : 0,
                      .reason = has_value ? NULL : row->value.reason,
                      .is_pmu = row->is_pmu,
                      .enabled_ns = row->pmu.enabled_ns,
                      .running_ns = row->pmu.running_ns,
                      .has_truth = row->is_pmu && row->pmu.truth.kind != TL_VALUE_MISSING};
    count.region = row->region;
    count.is_estimate = row->is_estimate;
    count.truth = count.has_truth ? row->pmu.truth.real : 0;
    count.has_error = tl_row_error(row, &count.error_vs_truth);
    tl_api_fill(ret_count, &count, sizeof count);
}

TL_API uint32_t tl_result_n_regions(const tl_result *result) { return result->n_regions; }

TL_API void tl_result_region_at(const tl_result *result, uint32_t index, tl_region_info *ret_region) {
    static const tl_result_region none = {.name = ""};
    const tl_result_region *region = index < result->n_regions ? &result->regions[index] : &none;
    const tl_region_info info = {.name = region->name, .start = region->start, .stop = region->stop, .n_visits = region->n_visits};
    tl_api_fill(ret_region, &info, sizeof info);
}

TL_API bool tl_result_sampling(const tl_result *result, tl_sampling_info *ret_info) {
    const tl_sampling *of = result->sampling;
    if (!of)
        return false;
    const tl_sampling_info info = {.n_windows = of->n_windows,
                                   .n_detailed = of->detailed,
                                   .has_cpi = of->n_windows > 0,
                                   .cpi = of->cpi,
                                   .has_half_width = of->has_interval,
                                   .cpi_half_width = of->cpi_half_width};
    tl_api_fill(ret_info, &info, sizeof info);
    return true;
}

TL_API uint32_t tl_result_n_metrics(const tl_result *result) { return n_of(result, true); }

TL_API void tl_result_metric_at(const tl_result *result, uint32_t index, tl_metric_value *ret_metric) {
    static const tl_row none = {.name = "", .scope = "", .unit = "", .group = "", .meaning = "", .value = {.reason = "no such metric"}};
    const tl_row *row = row_at(result, true, index);
    row = row ? row : &none;
    bool has_value = row->value.kind != TL_VALUE_MISSING;
    tl_metric_value metric = {.name = row->name,
                              .group = row->group,
                              .scope = row->scope,
                              .unit = row->unit,
                              .region = row->region,
                              .is_estimate = row->is_estimate,
                              .meaning = row->meaning,
                              .has_value = has_value,
                              .value = has_value ? row->value.real : 0,
                              .reason = has_value ? NULL : row->value.reason};
    tl_api_fill(ret_metric, &metric, sizeof metric);
}

TL_API uint32_t tl_result_n_notes(const tl_result *result) { return result->n_notes; }

TL_API const char *tl_result_note_at(const tl_result *result, uint32_t index) {
    return index < result->n_notes ? result->notes[index] : "";
}

TL_API tl_status tl_result_find(const tl_result *result, const char *event, const char *scope, uint64_t *ret_value) {
    const tl_row *row = tl_result_row(result, false, event, scope);
    if (!row || row->value.kind != TL_VALUE_INTEGER)
        return TL_ENOENT;
    *ret_value = row->value.integer;
    return TL_OK;
}

TL_API void tl_result_end(const tl_result *result, tl_end *ret_end) {
    tl_end end = {.reason = result->reason, .status = result->status, .signal = result->signal, .message = result->message};
    tl_api_fill(ret_end, &end, sizeof end);
}

TL_API void tl_result_times(const tl_result *result, tl_times *ret_times) {
    tl_times times = {.instructions = result->instructions,
                      .cycles = result->cycles,
                      .sim_ns = result->sim_ns,
                      .host_ns = result->host_ns,
                      .host_peak_bytes = result->host_peak_bytes,
                      .guest_peak_bytes = result->guest_peak_bytes};
    tl_api_fill(ret_times, &times, sizeof times);
}

TL_API tl_status tl_result_check(const tl_result *result, tl_error *err) {
    return result->broken ? tl_fail(err, TL_EINVAL, "%s", result->broken) : TL_OK;
}

TL_API tl_status tl_result_equal(const tl_result *a, const tl_result *b, tl_error *err) { return tl_result_compare(a, b, err); }

TL_API tl_status tl_result_subtract(const tl_result *later, const tl_result *earlier, tl_result **ret_result, tl_error *err) {
    return tl_result_difference(later, earlier, ret_result, err);
}

TL_API tl_status tl_result_read(const char *path, tl_result **ret_result, tl_error *err) { return tl_result_open(path, ret_result, err); }

TL_API void tl_result_free(tl_result *result) { tl_result_release(result); }
