// SPDX-License-Identifier: MIT
// The second level's block of counters in a comparison: registers on the bus, where the snooper
// sees and reads them.
#include "readers/ccache/compare.h"

#include <stdio.h>

#include "pmu/ccache/snooper.h"
#include "readers/ccache/on.h"

enum { SNOOPER_CYCLES = 100000 };

static tl_status complete(tl_compare_setup *s, tl_error *err) {
    const tl_ccache_settings settings = tl_ccache_settings_of(&s->config);
    char text[64];
    tl_status status = TL_OK;
    if (settings.n_counters == 0) {
        snprintf(text, sizeof text, "l2.counters=%d", TL_CCACHE_ADDED_COUNTERS);
        status = tl_compare_add_setting(s, text, err);
    }
    if (status == TL_OK && settings.snooper_cycles == 0) {
        snprintf(text, sizeof text, "l2.snooper=%d", SNOOPER_CYCLES);
        status = tl_compare_add_setting(s, text, err);
    }
    return status;
}

static tl_status permit(tl_compare_setup *s, tl_error *err) {
    return tl_ccache_settings_of(&s->config).grant == TL_GRANTED ? TL_OK : tl_compare_add_setting(s, "os.ccache=granted", err);
}

static bool counts(const tl_watchable *event) { return tl_ccache_selector_of(event) != 0; }

static void take_overheard(const tl_machine *machine, tl_watch_result *result) {
    const tl_ccache *ccache = tl_ccache_on(machine);
    if (!ccache || !ccache->snooper)
        return;
    const tl_snooper_log *log = tl_snooper_log_of(ccache->snooper);
    result->values_watched += log->n_watched;
    result->values_read += log->n_read_new;
    result->selects_watched += log->n_configured;
}

static uint32_t write_access(tl_assembler *a, const tl_testbench *testbench, uint32_t method, uint32_t n) {
    (void)method;
    uint32_t most = tl_ccache_on(testbench->machine)->n_counters;
    n = n < most ? n : most;
    tl_asm_load_constant(a, TL_T0, TL_TESTBENCH_WINDOW_GRANTED + TL_CCACHE_COUNTER);
    for (uint32_t i = 0; i < n; i++) {
        if (i > 0 && i % TL_ACCESS_MAX_VALUES == 0)
            tl_access_store(a, TL_ACCESS_MAX_VALUES);
        tl_asm_ld(a, TL_ACCESS_FIRST_VALUE + i % TL_ACCESS_MAX_VALUES, TL_T0, 8 * (int32_t)i);
    }
    return n;
}

static const char *const methods[] = {"load", NULL};

const tl_compare_design_type tl_compare_ccache = {
    .name = "ccache",
    .title = "A block of counters on the bus",
    .meaning = "Counters beside the second level, which a process has mapped and reads with uncached loads.",
    .pmu = &tl_pmu_ccache,
    .complete = complete,
    .permit = permit,
    .counts = counts,
    .watch = &tl_ccache_watch,
    .n_grant_calls = 2,
    .write_grant = tl_ccache_write_grant,
    .trials = tl_ccache_trials,
    .n_trials = TL_CCACHE_TRIALS,
    .permit_trial = tl_ccache_permit_trial,
    .write_trial = tl_ccache_write_trial,
    .methods = methods,
    .write_access = write_access,
    .take_overheard = take_overheard,
};
