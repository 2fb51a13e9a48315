// SPDX-License-Identifier: MIT
// The counters of a U74's core in a comparison: two of them are programmable, and a kernel shares
// them out.
#include "readers/rvhpm/compare.h"

#include "base/bits.h"
#include "readers/rvhpm/on.h"

static tl_status complete(tl_compare_setup *s, tl_error *err) {
    return tl_rvhpm_preset_of(&s->config) == &tl_rvhpm_u74 ? TL_OK : tl_compare_add_setting(s, "pmu=u74", err);
}

static bool counts(const tl_watchable *event) { return tl_rvhpm_selector_of(event) != 0 || tl_rvhpm_counter_of(event) != 0; }

static uint32_t n_turns(const tl_compare_setup *setup) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < setup->n_events; i++)
        n += tl_rvhpm_selector_of(setup->events[i]) != 0;
    return n;
}

static uint32_t write_access(tl_assembler *a, const tl_testbench *testbench, uint32_t method, uint32_t n) {
    // The CSRs of cycle, instret and the programmable counters.
    static const uint32_t counters[] = {0xc00, 0xc02, 0xc03, 0xc04};
    (void)testbench, (void)method;
    uint32_t most = TL_COUNT_OF(counters);
    for (uint32_t i = 0; i < n && i < most; i++)
        tl_asm_csrr(a, TL_ACCESS_FIRST_VALUE + i, counters[i]);
    return n < most ? n : most;
}

static const char *const methods[] = {"csrr", NULL};

const tl_compare_design_type tl_compare_rvhpm = {
    .name = "u74",
    .title = "Two counters in the core, shared out in turns",
    .meaning = "Two programmable counters of the core, beside cycles and instructions; a kernel shares them out among more events.",
    .pmu = &tl_pmu_rvhpm,
    .complete = complete,
    .counts = counts,
    .watch = &tl_rvhpm_watch,
    .n_grant_calls = 1,
    .write_grant = tl_rvhpm_write_grant,
    .trials = tl_rvhpm_trials,
    .n_trials = TL_RVHPM_TRIALS,
    .permit_trial = tl_rvhpm_permit_trial,
    .write_trial = tl_rvhpm_write_trial,
    .methods = methods,
    .write_access = write_access,
    .n_turns = n_turns,
};
