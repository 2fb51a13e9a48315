// SPDX-License-Identifier: MIT
// Rows from totals, as often as wanted. Formulas give rows of events and metrics; counts beside the
// truth give rows of a PMU's events.
#include "result/outline.h"

#include <stdlib.h>
#include <string.h>

tl_status tl_outline_new(tl_outline **ret_outline, tl_error *err) {
    tl_outline *outline = calloc(1, sizeof *outline);
    if (!outline)
        return tl_no_memory(err);
    atomic_init(&outline->n_owners, 1);
    *ret_outline = outline;
    return TL_OK;
}

tl_outline *tl_outline_share(tl_outline *outline) {
    if (outline)
        atomic_fetch_add_explicit(&outline->n_owners, 1, memory_order_relaxed);
    return outline;
}

void tl_outline_free(tl_outline *outline) {
    if (!outline || atomic_fetch_sub_explicit(&outline->n_owners, 1, memory_order_acq_rel) != 1)
        return;
    tl_quantities_done(&outline->metrics);
    tl_catalogue_free(outline->catalogue);
    tl_arena_done(&outline->arena);
    free(outline);
}

// ---- Events and metrics

static tl_value integer(uint64_t value) { return (tl_value){.kind = TL_VALUE_INTEGER, .integer = value, .real = (double)value}; }

static tl_row row_of(const tl_quantity *quantity, const char *scope, tl_value value) {
    return (tl_row){.name = quantity->name,
                    .scope = scope,
                    .unit = quantity->unit ? quantity->unit : "",
                    .meaning = quantity->meaning,
                    .group = quantity->group ? quantity->group : "",
                    .is_metric = quantity->is_metric,
                    .value = value};
}

// Returns the number of rows that `quantity` makes, and writes them to `rows` unless it is NULL.
static uint32_t add_rows(const tl_outline *outline, const tl_quantity *quantity, const uint64_t *totals, tl_row *rows) {
    uint32_t n = 0;
    if (rows)
        rows[n] = row_of(quantity, "machine", tl_formula_eval(quantity->formula, totals, TL_ALL_HARTS));
    n++;
    bool by_hart = outline->per_hart && !tl_formula_is_shared(quantity->formula);
    for (uint32_t hart = 0; by_hart && hart < outline->header.n_harts; hart++, n++) {
        if (rows)
            rows[n] = row_of(quantity, outline->hart_scopes[hart], tl_formula_eval(quantity->formula, totals, (int)hart));
    }
    const tl_cell *cells;
    uint32_t n_cells = outline->per_unit && !quantity->is_metric ? tl_formula_cells(quantity->formula, &cells) : 0;
    for (uint32_t unit = 0; n_cells > 0 && unit < tl_catalogue_n_units(outline->catalogue); unit++) {
        tl_catalogue_unit of = tl_catalogue_unit_at(outline->catalogue, unit);
        uint64_t sum = 0;
        uint32_t n_found = 0;
        for (uint32_t i = 0; i < n_cells; i++) {
            if (cells[i] >= of.first_cell && cells[i] - of.first_cell < of.type->n_signals) {
                sum += totals[cells[i]];
                n_found++;
            }
        }
        // The scope "hart0" is there already.
        bool is_repeat = by_hart && of.hart >= 0 && !strcmp(of.path, outline->hart_scopes[of.hart]);
        if (n_found == 0 || is_repeat)
            continue;
        if (rows)
            rows[n] = row_of(quantity, of.path, integer(sum));
        n++;
    }
    return n;
}

static void mark(const tl_quantity *quantity, const bool *is_estimated, tl_row *rows, uint32_t n_rows) {
    const bool is_estimate = is_estimated && tl_formula_uses(quantity->formula, is_estimated);
    for (uint32_t i = 0; i < n_rows; i++)
        rows[i].is_estimate = is_estimate;
}

static void evaluate(const tl_outline *outline, const uint64_t *totals, const bool *is_estimated, tl_row *rows) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < outline->n_events; i++) {
        uint32_t first = n;
        n += add_rows(outline, &outline->events[i].quantity, totals, rows + n);
        mark(&outline->events[i].quantity, is_estimated, rows + first, n - first);
        for (uint32_t k = first; k < n; k++) {
            rows[k].group = outline->events[i].group;
            rows[k].metric = outline->events[i].metric;
            rows[k].detail = outline->events[i].detail;
        }
    }
    for (uint32_t i = 0; i < outline->metrics.n_items; i++) {
        uint32_t first = n;
        n += add_rows(outline, &outline->metrics.items[i], totals, rows + n);
        mark(&outline->metrics.items[i], is_estimated, rows + first, n - first);
        for (uint32_t k = first; k < n; k++)
            rows[k].detail = i < outline->n_default_metrics ? 0 : 1;
    }
}

static tl_status make_rows(const tl_outline *outline, tl_result *result, tl_error *err) {
    const uint64_t *totals = result->totals;
    uint32_t n_rows = 0, n_parts = result->is_by_region ? result->n_regions : 1;
    for (uint32_t i = 0; i < outline->n_events; i++)
        n_rows += add_rows(outline, &outline->events[i].quantity, totals, NULL);
    for (uint32_t i = 0; i < outline->metrics.n_items; i++)
        n_rows += add_rows(outline, &outline->metrics.items[i], totals, NULL);
    result->rows = tl_arena_alloc(&result->arena, ((size_t)n_rows * n_parts + 1) * sizeof *result->rows);
    if (!result->rows)
        return tl_no_memory(err);
    for (uint32_t k = 0; k < n_parts; k++) {
        tl_row *rows = result->rows + (size_t)n_rows * k;
        evaluate(outline, totals + (size_t)(result->n_totals / (n_parts ? n_parts : 1)) * k, result->is_estimated, rows);
        if (!result->is_by_region)
            continue;
        result->regions[k].first_row = n_rows * k;
        result->regions[k].n_rows = n_rows;
        for (uint32_t i = 0; i < n_rows; i++)
            rows[i].region = result->regions[k].name;
    }
    result->n_rows = n_rows * n_parts;
    return TL_OK;
}

// ---- Events of a PMU

// hart: TL_ALL_HARTS, or the number of one.
static tl_value truth_of(const tl_outline *outline, const tl_counted *event, const uint64_t *totals, int hart) {
    uint64_t sum = 0;
    if (event->no_truth)
        return (tl_value){.reason = event->no_truth};
    if (event->truth)
        return tl_formula_eval(event->truth, totals, hart);
    for (uint32_t k = 0; k < outline->header.n_harts; k++) {
        for (uint32_t i = 0; (hart == TL_ALL_HARTS || hart == (int)k) && i < event->n_cells[k]; i++)
            sum += totals[event->cells[k][i]];
    }
    return integer(sum);
}

static uint64_t ns_of(const tl_outline *outline, uint64_t cycles) {
    return (uint64_t)((unsigned __int128)cycles * 1000000000 / outline->header.clock_hz);
}

// The sum over these harts. Scaling the sum once, not each hart, is what perf does.
static tl_row counted_row(const tl_outline *outline, uint32_t e, const tl_result *result, int hart, const char *scope) {
    const tl_counted *event = outline->counted[e];
    tl_perf_count sum = {0};
    for (uint32_t k = 0; k < outline->header.n_harts; k++) {
        const tl_perf_count *one = &result->pmu_counts[k * outline->n_counted + e];
        if (hart != TL_ALL_HARTS && hart != (int)k)
            continue;
        sum.count += one->count;
        sum.enabled_cycles += one->enabled_cycles;
        sum.running_cycles += one->running_cycles;
    }
    tl_row row = {.name = event->name, .scope = scope, .unit = event->unit, .meaning = event->meaning, .group = "", .is_pmu = true};
    row.pmu = (tl_row_pmu){.enabled_ns = ns_of(outline, sum.enabled_cycles),
                           .running_ns = ns_of(outline, sum.running_cycles),
                           .truth = truth_of(outline, event, result->totals, hart)};
    if (sum.running_cycles > 0)
        row.value = integer((uint64_t)((unsigned __int128)sum.count * sum.enabled_cycles / sum.running_cycles));
    else if (sum.enabled_cycles > 0)
        row.value = (tl_value){.reason = "never on a counter: the time was too short for its turn"};
    else
        row.value = integer(0);
    return row;
}

// false: no memory.
static bool part_row(const tl_outline *outline, const tl_perf_part *part, tl_result *result, tl_row *ret_row) {
    const tl_counted *event = outline->counted[part->event];
    const char *scope =
        part->context == UINT64_MAX ? "contexts+" : tl_arena_printf(&result->arena, "context%llu", (unsigned long long)part->context);
    *ret_row = (tl_row){.name = event->name, .scope = scope, .unit = event->unit, .meaning = event->meaning, .group = "", .is_pmu = true};
    ret_row->value = integer(part->count);
    ret_row->pmu = (tl_row_pmu){.truth = {.reason = "no signal counts a context"}};
    return scope != NULL;
}

static tl_status make_counted_rows(const tl_outline *outline, tl_result *result, tl_error *err) {
    uint32_t n_harts = outline->header.n_harts, n = 0;
    const uint32_t n_rows = outline->n_counted * (outline->per_hart ? 1 + n_harts : 1) + result->n_pmu_parts;
    result->rows = tl_arena_alloc(&result->arena, n_rows * sizeof *result->rows);
    if (!result->rows)
        return tl_no_memory(err);
    for (uint32_t e = 0; e < outline->n_counted; e++) {
        result->rows[n++] = counted_row(outline, e, result, TL_ALL_HARTS, "machine");
        for (uint32_t hart = 0; outline->per_hart && hart < n_harts; hart++)
            result->rows[n++] = counted_row(outline, e, result, (int)hart, outline->hart_scopes[hart]);
        for (uint32_t i = 0; i < result->n_pmu_parts; i++)
            if (result->pmu_parts[i].event == e && !part_row(outline, &result->pmu_parts[i], result, &result->rows[n++]))
                return tl_no_memory(err);
    }
    result->n_rows = n;
    return TL_OK;
}

static tl_status copy_unread_rows(const tl_outline *outline, tl_result *result, tl_error *err) {
    result->rows = tl_arena_alloc(&result->arena, (outline->n_unread + 1) * sizeof *result->rows);
    if (!result->rows)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < outline->n_unread; i++)
        result->rows[i] = outline->unread[i];
    result->n_rows = outline->n_unread;
    return TL_OK;
}

tl_status tl_outline_rows(const tl_outline *outline, tl_result *result, tl_error *err) {
    if (!outline->header.pmu)
        return make_rows(outline, result, err);
    return outline->n_counted > 0 ? make_counted_rows(outline, result, err) : copy_unread_rows(outline, result, err);
}
