// SPDX-License-Identifier: MIT
// Errors and their distribution over phases; see rows.h.
#include "compare/rows.h"

#include "compare/design.h"

enum { MAX_PHASES = 64 };

double tl_compare_error(uint64_t value, uint64_t truth) {
    if (truth == 0)
        return value == 0 ? 0 : 1;
    return value >= truth ? (double)(value - truth) / (double)truth : -((double)(truth - value) / (double)truth);
}

static double magnitude(double x) { return x < 0 ? -x : x; }

uint32_t tl_compare_errors(const tl_compare_setup *setup, const tl_watch_result *results, uint32_t n_results, double *ret_mean,
                           double *ret_largest) {
    double sum = 0, largest = 0;
    uint32_t n = 0, n_counted = 0;
    for (uint32_t i = 0; i < setup->n_events; i++) {
        n_counted += results[0].events[i].has_value;
        for (uint32_t k = 0; k < n_results; k++) {
            const tl_watched *event = &results[k].events[i];
            if (!event->has_value || event->truth == 0)
                continue;
            double error = magnitude(tl_compare_error(event->value, event->truth));
            sum += error;
            largest = error > largest ? error : largest;
            n++;
        }
    }
    *ret_mean = n > 0 ? sum / n : 0;
    *ret_largest = largest;
    return n_counted;
}

void tl_compare_fill_design(const tl_compare_setup *setup, const tl_comparison *c, uint32_t design, const tl_watch_result *results,
                            uint32_t n_results, tl_compare_design_row *ret_row) {
    const tl_compare_design_type *type = tl_compare_designs[design];
    const tl_watch_result *r = &results[0];
    tl_compare_design_row *row = ret_row;
    *row = (tl_compare_design_row){.size = sizeof *row, .design = design, .name = type->name, .title = type->title};
    row->events_asked = setup->n_events;
    for (uint32_t i = 0; i < setup->n_events; i++) {
        const tl_watched *event = &r->events[i];
        row->events_counted += event->has_value;
        row->events_always += event->has_value && event->time_counted >= 1;
        row->n_with_error += event->has_value && event->value != event->truth;
    }
    row->n_looks = r->n_looks;
    row->look_instructions_x1000 = r->n_looks ? r->by_reader.instructions * 1000 / r->n_looks : 0;
    row->look_cycles_x1000 = r->n_looks ? r->by_reader.cycles * 1000 / r->n_looks : 0;
    row->first_look_cycles = r->first_look_cycles;
    row->by_reader = r->by_reader;
    row->run_instructions = r->run_instructions;
    row->run_cycles = r->run_cycles;
    row->slowdown = (double)r->run_cycles / (double)c->facts.cycles - 1;
    row->values_watched = r->values_watched;
    row->values_read = r->values_read;
    row->selects_watched = r->selects_watched;
    (void)tl_compare_errors(setup, results, n_results, &row->mean_error, &row->largest_error);
}

// Between the two nearest of n sorted numbers, as most programs for statistics do it.
static double quantile(const double *sorted, uint32_t n, double part) {
    double at = part * (n - 1);
    uint32_t below = (uint32_t)at;
    return below + 1 < n ? sorted[below] + (at - below) * (sorted[below + 1] - sorted[below]) : sorted[n - 1];
}

static void distribute(tl_compare_value_row *row, const tl_watch_result *results, uint32_t n_results, uint32_t event) {
    double errors[MAX_PHASES];
    uint32_t n = 0;
    for (uint32_t k = 0; k < n_results && n < MAX_PHASES; k++) {
        const tl_watched *watched = &results[k].events[event];
        if (!watched->has_value)
            continue;
        double error = tl_compare_error(watched->value, watched->truth);
        uint32_t at = n++;
        for (; at > 0 && errors[at - 1] > error; at--)
            errors[at] = errors[at - 1];
        errors[at] = error;
        row->mean_absolute += magnitude(error);
    }
    row->n_phases = n;
    if (n == 0)
        return;
    row->mean_absolute /= n;
    row->least = errors[0];
    row->lower_quartile = quantile(errors, n, 0.25);
    row->median = quantile(errors, n, 0.5);
    row->upper_quartile = quantile(errors, n, 0.75);
    row->most = errors[n - 1];
}

void tl_compare_fill_values(const tl_compare_setup *setup, tl_comparison *c, uint32_t design_index, const tl_watch_result *results,
                            uint32_t n_results, const uint64_t *undisturbed) {
    for (uint32_t i = 0; i < setup->n_events; i++) {
        const tl_watched *event = &results[0].events[i];
        tl_compare_value_row *row = &c->values[i * setup->n_designs + design_index];
        *row = (tl_compare_value_row){.size = sizeof *row,
                                      .design = setup->designs[design_index],
                                      .event = setup->events[i]->name,
                                      .has_value = event->has_value,
                                      .reason = event->reason,
                                      .value = event->value,
                                      .truth = event->truth,
                                      .undisturbed = undisturbed[i],
                                      .time_counted = event->time_counted};
        row->error = event->has_value ? tl_compare_error(event->value, event->truth) : 0;
        distribute(row, results, n_results, i);
    }
}
