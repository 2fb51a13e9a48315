// SPDX-License-Identifier: MIT
// The block of the second level as the source of a report: a debugger on the bus programs a counter
// for each event and reads it.
#include "readers/ccache/on.h"
#include "session/listed.h"

enum { REGISTER_BYTES = 8 };
static const char default_events[] = "inner_get,inner_acquire_block_ntob,inner_acquire_block_ntot,inner_acquire_perm_btot";

static tl_status configure(const tl_run_options *options, const tl_pmu_preset *preset, tl_config *config, tl_error *err) {
    (void)options, (void)preset;
    if (tl_ccache_settings_of(config).grant != TL_DENIED)
        return tl_fail(err, TL_EINVAL, "-P ccache writes counters that os.ccache lets the program have; leave out one of them");
    tl_keys_set(config, "l2.counters", TL_CCACHE_MAX_COUNTERS);
    return TL_OK;
}

static bool is_of_hart(const tl_event *event) { return (void)event, false; }

static tl_status start(tl_machine *machine, const tl_listed *listed, tl_error *err) {
    if (listed->n_events > TL_CCACHE_MAX_COUNTERS)
        return tl_fail(err, TL_EINVAL, "-e: pmu ccache has %d counters; name fewer events", TL_CCACHE_MAX_COUNTERS);
    for (uint32_t i = 0; i < listed->n_events; i++)
        (void)!tl_pmu_store(&tl_ccache_on(machine)->pmu, TL_CCACHE_SELECT + REGISTER_BYTES * i, REGISTER_BYTES,
                            listed->events[i]->selector);
    return TL_OK;
}

static uint64_t value(tl_machine *machine, const tl_listed *listed, uint32_t event, uint32_t hart) {
    uint64_t count = 0;
    (void)listed, (void)hart;
    (void)!tl_pmu_load(&tl_ccache_on(machine)->pmu, TL_CCACHE_COUNTER + REGISTER_BYTES * event, REGISTER_BYTES, &count);
    return count;
}

static const tl_listed_hooks hooks = {.is_of_hart = is_of_hart, .start = start, .value = value};

static tl_status resolve(const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue, tl_arena *arena,
                         tl_source **ret_source, tl_error *err) {
    (void)config, (void)catalogue;
    return tl_listed_resolve(&hooks, &tl_pmu_ccache, tl_ccache_presets[0], default_events, options, arena, ret_source, err);
}

const tl_source_type tl_source_ccache = {
    .pmu = &tl_pmu_ccache,
    .configure = configure,
    .resolve = resolve,
    TL_LISTED_READER,
};
