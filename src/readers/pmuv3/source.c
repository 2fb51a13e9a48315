// SPDX-License-Identifier: MIT
// The performance monitors of AArch64 harts as the source of a report: programmed through their
// windows as a debugger does it, shared out as Linux does it (session/perf.h).
#include "readers/pmuv3/source.h"

#include "pmu/pmuv3/pmuv3.h"

// Offsets in the window: Arm ARM I5.3.
enum { PMEVCNTR = 0x000, PMCCNTR = 0x0f8, PMEVTYPER = 0x400, PMCCFILTR = 0x47c, PMCNTENSET = 0xc00, PMCNTENCLR = 0xc20 };
enum { PMINTENSET = 0xc40, PMINTENCLR = 0xc60, PMOVSCLR = 0xc80, PMCFGR = 0xe00, PMCR = 0xe04, CYCLES = 31, WORD = 4 };

static uint64_t load(tl_pmu *pmu, uint32_t offset) {
    uint64_t value;
    return tl_pmu_load(pmu, offset, WORD, &value) ? value : 0;
}
static void store(tl_pmu *pmu, uint32_t offset, uint64_t value) { (void)!tl_pmu_store(pmu, offset, WORD, value); }

static uint32_t find(tl_pmu *pmu, tl_hart *h, uint64_t ret_masks[TL_PERF_COUNTERS]) {
    const uint32_t n_events = (uint32_t)load(pmu, PMCFGR) & 0xff;
    (void)h;
    for (uint32_t n = 0; n < n_events && n < CYCLES; n++)
        ret_masks[n] = UINT32_MAX;
    ret_masks[CYCLES] = UINT64_MAX;
    store(pmu, TL_PMUV3_PMLAR, TL_PMUV3_KEY);
    store(pmu, PMCNTENCLR, UINT32_MAX);
    store(pmu, PMINTENCLR, UINT32_MAX);
    store(pmu, PMCR, TL_PMCR_E | TL_PMCR_P | TL_PMCR_C | TL_PMCR_LC);
    return ((UINT32_C(1) << n_events) - 1) | UINT32_C(1) << CYCLES;
}

// As Linux's driver does it for cycles.
static bool prefers_fixed(const tl_pmu_preset *preset) { return (void)preset, true; }

static void start(tl_pmu *pmu, tl_hart *h, uint32_t n, uint64_t selector) {
    (void)h;
    store(pmu, n == CYCLES ? PMCCFILTR : PMEVTYPER + 4 * n, n == CYCLES ? 0 : selector);
    if (n != CYCLES)
        store(pmu, PMEVCNTR + 8 * n, 0);
    store(pmu, PMCNTENSET, UINT64_C(1) << n);
}

static void stop(tl_pmu *pmu, tl_hart *h, uint32_t n) {
    (void)h;
    store(pmu, PMCNTENCLR, UINT64_C(1) << n);
}

static uint64_t read_counter(tl_pmu *pmu, tl_hart *h, uint32_t n) {
    (void)h;
    return n == CYCLES ? load(pmu, PMCCNTR + WORD) << 32 | load(pmu, PMCCNTR) : load(pmu, PMEVCNTR + 8 * n);
}

// ---- Sampling, as Linux's driver does it.

static bool has_interrupts(const tl_pmu_preset *preset) { return (void)preset, true; }

static void start_from(tl_pmu *pmu, tl_hart *h, uint32_t n, uint64_t selector, uint64_t value) {
    start(pmu, h, n, selector);
    store(pmu, n == CYCLES ? PMCCNTR : PMEVCNTR + 8 * n, value & UINT32_MAX);
    if (n == CYCLES)
        store(pmu, PMCCNTR + WORD, value >> 32);
    store(pmu, PMINTENSET, UINT64_C(1) << n);
}

static uint32_t overflowed(tl_pmu *pmu, tl_hart *h) {
    const uint64_t bits = load(pmu, PMOVSCLR);
    (void)h; // the line follows the flags
    store(pmu, PMOVSCLR, bits);
    return (uint32_t)bits;
}

const tl_perf_driver tl_pmuv3_perf = {
    .pmu = &tl_pmu_pmuv3,
    .preset_key = "armv8",
    .fixed_counters = UINT32_C(1) << CYCLES,
    .reads_in_turns = true,
    .find = find,
    .prefers_fixed = prefers_fixed,
    .start = start,
    .stop = stop,
    .read = read_counter,
    .has_interrupts = has_interrupts,
    .irq = TL_IRQ_PMU,
    .start_from = start_from,
    .overflowed = overflowed,
};

static tl_status configure(const tl_run_options *options, const tl_pmu_preset *preset, tl_config *config, tl_error *err) {
    (void)options;
    return tl_perf_source_configure(&tl_pmuv3_perf, preset, config, err);
}

static tl_status resolve(const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue, tl_arena *arena,
                         tl_source **ret_source, tl_error *err) {
    return tl_perf_source_resolve(&tl_pmuv3_perf, options, config, catalogue, arena, ret_source, err);
}

const tl_source_type tl_source_pmuv3 = {
    .pmu = &tl_pmu_pmuv3,
    .configure = configure,
    .resolve = resolve,
    TL_PERF_SOURCE_MEMBERS,
};
