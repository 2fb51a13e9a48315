// SPDX-License-Identifier: MIT
// The distributed counters as the source of a report where a request takes no time: the host is a
// client in the place of hart 0, once the program has ended.
#include "readers/dhpc/functional.h"

#include "isa/rv/arch.h"
#include "readers/dhpc/on.h"
#include "session/listed.h"

static const char default_events[] = "core.cycle,core.instret,core.l1i_readmiss,core.l1d_readmiss,llc.read,llc.readmiss,mem.read";

static tl_status configure(const tl_run_options *options, const tl_pmu_preset *preset, tl_config *config, tl_error *err) {
    (void)preset;
    if (options->interval != TL_INTERVAL_NONE || options->roi_start)
        return tl_fail(err, TL_EINVAL, "-P dhpc reads the counters once, when the program has ended; it does not go with -I or --roi");
    tl_keys_set(config, "hpc", TL_DHPC_KEY_FUNCTIONAL);
    return TL_OK;
}

static bool is_of_hart(const tl_event *event) { return tl_dhpc_class_of((uint32_t)(event->selector >> 6)) == TL_DHPC_CORE; }

static bool is_of(const tl_dhpc_manager *manager, const tl_event *event, uint32_t hart) {
    const uint32_t kind = TL_DHPC_ID(tl_dhpc_class_of(manager->id), 0, tl_dhpc_extend_of(manager->id));
    return kind == event->selector >> 6 && manager->implemented >> (event->selector & 63) & 1 &&
           (!is_of_hart(event) || manager->hart == hart);
}

static tl_status start(tl_machine *machine, const tl_listed *listed, tl_error *err) {
    uint32_t n;
    const tl_dhpc_manager *managers = tl_dhpc_managers(tl_dhpc_on(machine), &n);
    for (uint32_t e = 0; e < listed->n_events; e++) {
        bool is_built = false;
        for (uint32_t i = 0; i < n; i++)
            is_built |= is_of(&managers[i], listed->events[e], 0);
        if (!is_built)
            return tl_fail(err, TL_EINVAL, "machine %s has no counter %s: it has no unit that counts %s, or dhpc.* leaves it out",
                           machine->config.name, listed->events[e]->name, listed->events[e]->sources);
    }
    return TL_OK;
}

static uint64_t access_register(tl_dhpc *dhpc, uint64_t cycle, uint32_t csr, bool is_write, uint64_t operand) {
    uint64_t old = 0;
    const tl_dhpc_access access = {.csr = csr,
                                   .op = is_write ? TL_REG_WRITE : TL_REG_SET,
                                   .is_rd_x0 = is_write,
                                   .is_rs1_x0 = !is_write,
                                   .operand = operand,
                                   .priv = TL_PRIV_M};
    (void)!tl_dhpc_execute(dhpc, 0, cycle, &access, &old);
    return old;
}

static uint64_t value(tl_machine *machine, const tl_listed *listed, uint32_t event, uint32_t hart) {
    tl_dhpc *dhpc = tl_dhpc_on(machine);
    const tl_dhpc_config *config = tl_dhpc_config_of(dhpc);
    const uint64_t cycle = machine->harts[0]->now;
    uint64_t sum = 0;
    uint32_t n;
    const tl_dhpc_manager *managers = tl_dhpc_managers(dhpc, &n);
    for (uint32_t i = 0; i < n; i++) {
        if (!is_of(&managers[i], listed->events[event], hart))
            continue;
        access_register(dhpc, cycle, config->hpcm, true, UINT64_C(1) << (listed->events[event]->selector & 63));
        access_register(dhpc, cycle, config->hpcc, true, (uint64_t)managers[i].id << TL_DHPC_ID_LSB | TL_DHPC_TRIGGER);
        sum += access_register(dhpc, cycle, config->hpcr, false, 0);
    }
    return sum;
}

static const tl_listed_hooks hooks = {.is_of_hart = is_of_hart, .start = start, .value = value};

static tl_status resolve(const tl_run_options *options, const tl_config *config, tl_catalogue *catalogue, tl_arena *arena,
                         tl_source **ret_source, tl_error *err) {
    (void)config, (void)catalogue;
    return tl_listed_resolve(&hooks, &tl_pmu_dhpc, tl_pmu_find_preset(&tl_pmu_dhpc, "functional"), default_events, options, arena,
                             ret_source, err);
}

const tl_source_type tl_source_dhpc_functional = {
    .pmu = &tl_pmu_dhpc,
    .configure = configure,
    .resolve = resolve,
    TL_LISTED_READER,
};
