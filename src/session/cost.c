// SPDX-License-Identifier: MIT
// The account of pmu/dhpc (src/pmu/dhpc/cost.c) for a machine and for chips of other sizes, beside its rivals.
#include "session/cost.h"

#include <stdlib.h>

#include "base/bits.h"
#include "machine/machine.h"
#include "pmu/dhpc/dhpc.h"
#include "session/plan.h"

static const uint32_t unit_sizes[] = {1, 2, 4, 8, 16, 32, 64}, counter_sizes[] = {4, 16, 64};

static void add_part(tl_cost *cost, const char *name, bool is_wires, uint64_t each, uint64_t n, uint64_t sum) {
    cost->parts[cost->n_parts++] = (tl_cost_part){.name = name, .each = each, .n = n, .sum = sum, .is_wires = is_wires};
}

static void add_parts(tl_cost *cost, const tl_dhpc_cost *c) {
    uint64_t harts = c->n_harts, managers = c->n_managers;
    add_part(cost, "client: FIFO", false, c->client_fifo, harts, harts * c->client_fifo);
    add_part(cost, "client: registers", false, c->client_registers, harts, harts * c->client_registers);
    add_part(cost, "client: control", false, c->client_control, harts, harts * c->client_control);
    add_part(cost, "managers: counters", false, 64, c->manager_counters / 64, c->manager_counters);
    add_part(cost, "managers: snapshots", false, 64, c->manager_snapshot / 64, c->manager_snapshot);
    add_part(cost, "managers: control", false, c->manager_control / managers, managers, c->manager_control);
    add_part(cost, "interconnect: arbiters", false, c->arbiters / managers, managers, c->arbiters);
    add_part(cost, "links of harts: request", true, c->request_wires, harts, harts * c->request_wires);
    add_part(cost, "links of harts: data", true, c->data_wires, harts, harts * c->data_wires);
    uint64_t of_managers = c->wires - harts * (c->request_wires + c->data_wires);
    add_part(cost, "links of managers: both ways", true, of_managers / managers, managers, of_managers);
}

static tl_cost_design distributed(const tl_dhpc_cost *c) {
    return (tl_cost_design){
        .name = "distributed", .state_bits = c->state_bits, .wires = c->wires, .n_csrs = TL_DHPC_N_CSRS, .n_at_once = c->n_counters};
}

static tl_cost_design rival(const char *name, const tl_dhpc_rival *r, uint64_t n_at_once) {
    return (tl_cost_design){.name = name,
                            .state_bits = r->state_bits,
                            .wires = r->wires,
                            .n_csrs = r->n_csrs,
                            .address_bytes = r->address_bytes,
                            .n_at_once = n_at_once};
}

static void fill_designs(tl_cost_design *designs, const tl_dhpc_cost *c) {
    tl_dhpc_rival in_core = tl_dhpc_rival_in_core(c->n_counters, c->n_harts), on_bus = tl_dhpc_rival_on_bus(c->n_counters);
    designs[TL_COST_DISTRIBUTED] = distributed(c);
    designs[TL_COST_IN_CORE] = rival("in the core", &in_core, c->n_counters);
    designs[TL_COST_ON_BUS] = rival("on the bus", &on_bus, c->n_counters);
}

// Managers that stand for units of some kind: what they count does not matter here.
static tl_status add_size(tl_cost *cost, const tl_dhpc_config *config, uint32_t n_units, uint32_t n_counters, tl_error *err) {
    tl_dhpc_manager *managers = calloc(n_units, sizeof *managers);
    if (!managers)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    for (uint32_t i = 0; i < n_units; i++)
        managers[i] = (tl_dhpc_manager){.id = TL_DHPC_ID(TL_DHPC_LLC, i & 127, i >> 7),
                                        .hart = TL_DHPC_NO_HART,
                                        .implemented = n_counters == 64 ? UINT64_MAX : (UINT64_C(1) << n_counters) - 1};
    tl_dhpc_cost c = tl_dhpc_cost_of(config, cost->n_harts, managers, n_units);
    tl_cost_size *size = &cost->sizes[cost->n_sizes++];
    *size = (tl_cost_size){.n_units = n_units, .n_counters = n_counters};
    fill_designs(size->designs, &c);
    free(managers);
    return TL_OK;
}

static tl_status add_sizes(tl_cost *cost, const tl_dhpc_config *config, uint32_t n_units, uint32_t n_counters, tl_error *err) {
    const size_t most = TL_COUNT_OF(unit_sizes) * TL_COUNT_OF(counter_sizes);
    tl_status status = TL_OK;
    cost->sizes = tl_arena_alloc(&cost->arena, most * sizeof *cost->sizes);
    if (!cost->sizes)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    if (n_units != 0)
        return add_size(cost, config, n_units, n_counters, err);
    for (size_t u = 0; u < TL_COUNT_OF(unit_sizes); u++)
        for (size_t c = 0; c < TL_COUNT_OF(counter_sizes) && status == TL_OK; c++)
            status = add_size(cost, config, unit_sizes[u], counter_sizes[c], err);
    return status;
}

static tl_status fill(tl_cost *cost, const tl_config *config, const tl_machine *machine, uint32_t n_units, uint32_t n_counters,
                      tl_error *err) {
    uint32_t n_managers;
    const tl_dhpc_manager *managers = tl_dhpc_managers(machine->hpc, &n_managers);
    const tl_dhpc_config *how = tl_dhpc_config_of(machine->hpc);
    if (n_managers == 0)
        return tl_fail(err, TL_EINVAL, "machine %s builds none of its counters: dhpc.*_events leave all of them out", config->name);
    tl_dhpc_cost c = tl_dhpc_cost_of(how, machine->n_harts, managers, n_managers);
    cost->machine = tl_arena_strdup(&cost->arena, config->name);
    cost->n_harts = c.n_harts;
    cost->n_managers = c.n_managers;
    cost->n_counters = c.n_counters;
    add_parts(cost, &c);
    fill_designs(cost->designs, &c);
    // As the chips are: what does not fit has to take turns, or is another unit's.
    tl_dhpc_rival u74 = tl_dhpc_rival_u74(c.n_harts), block = tl_dhpc_rival_ccache(config->l2_counters ? config->l2_counters : 64);
    cost->designs[TL_COST_N_DESIGNS] = rival("in the core, as the U74", &u74, TL_DHPC_U74_COUNTERS);
    cost->designs[TL_COST_N_DESIGNS + 1] = rival("on the bus, as ccache", &block, config->l2_counters ? config->l2_counters : 64);
    cost->n_designs = TL_COST_N_DESIGNS + 2;
    tl_status status = tl_plan_unusual_hpc(config, &cost->arena, &cost->hpc, err);
    if (status == TL_OK)
        status = add_sizes(cost, how, n_units, n_counters, err);
    return status == TL_OK && !cost->machine ? tl_fail(err, TL_ENOMEM, "the host has no memory left") : status;
}

tl_status tl_cost_new(const char *name, const char *const *overrides, uint32_t n_units, uint32_t n_counters, tl_cost **ret_cost,
                      tl_error *err) {
    tl_config config;
    tl_machine *machine = NULL;
    tl_status status = tl_plan_config(name, overrides, &config, err);
    if (status != TL_OK)
        return status;
    config.hpc = config.hpc == TL_HPC_NONE ? TL_HPC_TIMED : config.hpc;
    tl_cost *cost = calloc(1, sizeof *cost);
    if (!cost)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    status = tl_machine_new(&config, &tl_core_step, &machine, err);
    if (status == TL_OK)
        status = fill(cost, &config, machine, n_units, n_counters, err);
    tl_machine_free(machine);
    if (status == TL_OK)
        *ret_cost = cost;
    else
        tl_cost_free(cost);
    return status;
}

void tl_cost_free(tl_cost *cost) {
    if (!cost)
        return;
    tl_arena_done(&cost->arena);
    free(cost);
}
