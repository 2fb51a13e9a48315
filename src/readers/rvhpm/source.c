// SPDX-License-Identifier: MIT
// The counters of the harts as the source of a report: found and measured as OpenSBI does it,
// shared out as Linux does it (session/perf.h).
#include "readers/rvhpm/source.h"

#include "base/bits.h"
#include "isa/rv/arch.h"
#include "readers/rvhpm/on.h"

// Privileged ISA, hardware performance monitor.
enum {
    CSR_INHIBIT = 0x320,
    CSR_EVENT = 0x320,   // + n, n = 3..31
    CSR_COUNTER = 0xb00, // + n
    FIRST_COUNTER = 3,
};
#define FIXED_COUNTERS (1u << 0 | 1u << 2)
static const uint64_t EVENT_OF = UINT64_C(1) << 63; // Sscofpmf: set, no overflow interrupt comes

static uint64_t read_register(tl_pmu *pmu, tl_hart *h, uint32_t csr) {
    uint64_t value;
    return tl_port_read(&pmu->port, h, csr, &value) ? value : 0;
}

// As an instruction does it that has retired.
static void write_register(tl_pmu *pmu, tl_hart *h, uint32_t csr, uint64_t value) {
    if (tl_port_write(&pmu->port, h, csr, value))
        pmu->port.retired(pmu->port.ctx, h);
}

static void set_inhibited(tl_pmu *pmu, tl_hart *h, uint32_t counter, bool is_inhibited) {
    uint64_t bit = UINT64_C(1) << counter, old = read_register(pmu, h, CSR_INHIBIT);
    write_register(pmu, h, CSR_INHIBIT, is_inhibited ? old | bit : old & ~bit);
}

// A counter is there if it holds what is written to it, and as wide as what it holds of all ones.
// The fixed ones belong to the program, too, which may read them as cycle and instret: they are
// never written and never stop.
static uint32_t find(tl_pmu *pmu, tl_hart *h, uint64_t ret_masks[TL_PERF_COUNTERS]) {
    uint32_t present = FIXED_COUNTERS;
    ret_masks[0] = ret_masks[2] = UINT64_MAX;
    for (uint32_t n = FIRST_COUNTER; n < TL_PERF_COUNTERS; n++) {
        set_inhibited(pmu, h, n, true);
        write_register(pmu, h, CSR_EVENT + n, 0);
        write_register(pmu, h, CSR_COUNTER + n, 1);
        if (read_register(pmu, h, CSR_COUNTER + n) != 1)
            continue;
        present |= 1u << n;
        write_register(pmu, h, CSR_COUNTER + n, UINT64_MAX);
        ret_masks[n] = read_register(pmu, h, CSR_COUNTER + n);
        write_register(pmu, h, CSR_COUNTER + n, 0);
    }
    return present;
}

// With overflow interrupts Linux wants a programmable counter, from which it could sample.
static bool prefers_fixed(const tl_pmu_preset *preset) { return !preset->tree->has_sscofpmf; }

static void start(tl_pmu *pmu, tl_hart *h, uint32_t n, uint64_t selector) {
    if (n < FIRST_COUNTER)
        return;
    write_register(pmu, h, CSR_EVENT + n, selector | (pmu->preset->tree->has_sscofpmf ? EVENT_OF : 0));
    write_register(pmu, h, CSR_COUNTER + n, 0);
    set_inhibited(pmu, h, n, false);
}

static void stop(tl_pmu *pmu, tl_hart *h, uint32_t n) {
    if (n < FIRST_COUNTER)
        return;
    set_inhibited(pmu, h, n, true);
    write_register(pmu, h, CSR_EVENT + n, 0);
}

static uint64_t read_counter(tl_pmu *pmu, tl_hart *h, uint32_t n) { return read_register(pmu, h, CSR_COUNTER + n); }

// ---- Sampling, as Linux's driver for the SBI does it.

static bool has_interrupts(const tl_pmu_preset *preset) { return preset->tree->has_sscofpmf; }

static void start_from(tl_pmu *pmu, tl_hart *h, uint32_t n, uint64_t selector, uint64_t value) {
    write_register(pmu, h, CSR_EVENT + n, selector);
    write_register(pmu, h, CSR_COUNTER + n, value);
    set_inhibited(pmu, h, n, false);
}

static uint32_t overflowed(tl_pmu *pmu, tl_hart *h) {
    uint32_t bits = 0;
    for (uint32_t n = FIRST_COUNTER; n < TL_PERF_COUNTERS; n++)
        bits |= (uint32_t)(read_register(pmu, h, CSR_EVENT + n) >> 63) << n;
    tl_hart_set_irq(h, TL_IRQ_LCOFI, false); // sip.LCOFIP, which no software here clears
    return bits;
}

const tl_perf_driver tl_rvhpm_perf = {
    .pmu = &tl_pmu_rvhpm,
    .preset_key = "pmu",
    .fixed_counters = FIXED_COUNTERS,
    .find = find,
    .prefers_fixed = prefers_fixed,
    .start = start,
    .stop = stop,
    .read = read_counter,
    .has_interrupts = has_interrupts,
    .irq = TL_IRQ_LCOFI,
    .silent_counters = FIXED_COUNTERS,
    .start_from = start_from,
    .overflowed = overflowed,
};

static tl_status configure(const tl_run_options *options, const tl_pmu_preset *preset, tl_config *config, tl_error *err) {
    (void)options;
    return tl_perf_source_configure(&tl_rvhpm_perf, preset, config, err);
}

static tl_status resolve(const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue, tl_arena *arena,
                         tl_source **ret_source, tl_error *err) {
    return tl_perf_source_resolve(&tl_rvhpm_perf, options, config, catalogue, arena, ret_source, err);
}

const tl_source_type tl_source_rvhpm = {
    .pmu = &tl_pmu_rvhpm,
    .configure = configure,
    .resolve = resolve,
    TL_PERF_SOURCE_MEMBERS,
};
