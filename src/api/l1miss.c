// SPDX-License-Identifier: MIT
// The experiment on sampling, by the first design that runs it; figures of a run.
#include <tally/l1miss.h>

#include "api/fill.h"
#include "compare/sampled.h"
#include "report/l1miss.h"

static const struct {
    const char *name;
    uint32_t period;
} tiers[] = {{"quick", 104}, {"normal", 1000}, {"full", 100000}};
enum { N_TIERS = sizeof tiers / sizeof tiers[0], SAMPLES = 800 };

TL_API const char *tl_l1miss_tier_name(uint32_t tier) { return tier < N_TIERS ? tiers[tier].name : NULL; }

TL_API void tl_l1miss_options_init(tl_l1miss_options *ret_options, tl_l1miss_tier tier) {
    *ret_options = (tl_l1miss_options){.size = sizeof *ret_options,
                                       .skid = TL_L1MISS_CALIBRATED,
                                       .period = tiers[(uint32_t)tier < (uint32_t)N_TIERS ? tier : 0].period,
                                       .n_samples = SAMPLES};
}

TL_API tl_status tl_l1miss_measure(const tl_l1miss_options *options, tl_l1miss_run *ret_run, tl_error *err) {
    tl_l1miss_run found = {.size = sizeof found};
    if (!tl_sampled_types[0])
        return tl_fail(err, TL_EINVAL, "no PMU design of this build stores precise samples");
    const tl_status status = tl_sampled_types[0]->measure(options, &found, err);
    if (status == TL_OK)
        tl_api_fill(ret_run, &found, sizeof found);
    return status;
}

// ---- Figures.

TL_API uint64_t tl_l1miss_mode(const tl_l1miss_run *run) {
    uint32_t mode = 0;
    for (uint32_t i = 1; i < TL_L1MISS_DISTANCES; i++)
        mode = run->distances[i] > run->distances[mode] ? i : mode;
    return mode;
}

TL_API uint64_t tl_l1miss_least(const tl_l1miss_run *run) {
    uint32_t least = 0;
    while (least < TL_L1MISS_DISTANCES && run->distances[least] == 0)
        least++;
    return least;
}

TL_API uint64_t tl_l1miss_median(const tl_l1miss_run *run) {
    uint64_t n = 0;
    uint32_t i = 0;
    while (i < TL_L1MISS_DISTANCES && 2 * (n += run->distances[i]) < run->n_samples)
        i++;
    return i;
}

static double cycles_per_pass(uint64_t cycles, uint64_t passes) { return passes == 0 ? 0 : (double)cycles / (double)passes; }

TL_API double tl_l1miss_slowdown(const tl_l1miss_run *run) {
    const double base = cycles_per_pass(run->base_cycles, run->base_passes);
    return base == 0 ? 0 : cycles_per_pass(run->n_cycles, run->n_passes) / base;
}

TL_API double tl_l1miss_cycles_per_sample(const tl_l1miss_run *run) {
    const double base = cycles_per_pass(run->base_cycles, run->base_passes);
    return run->n_samples == 0 || base == 0 ? 0 : ((double)run->n_cycles - base * (double)run->n_passes) / (double)run->n_samples;
}

TL_API tl_status tl_l1miss_write(const tl_l1miss_run *runs, uint32_t n, tl_l1miss_format format, FILE *stream, tl_error *err) {
    return tl_report_l1miss(runs, n, format, stream, err);
}
