// SPDX-License-Identifier: MIT
// The account of a machine (account.h), that of the distributed counters part by part, and of chips
// of other sizes.
#include "session/cost_maker.h"

#include <stdlib.h>

#include "base/bits.h"
#include "machine/machine.h"
#include "pmu/dhpc/dhpc.h"
#include "readers/dhpc/on.h"
#include "session/account.h"
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

static tl_cost_design design_of(const char *name, const tl_account *account) {
    return (tl_cost_design){.name = name,
                            .state_bits = account->state_bits,
                            .wires = account->wires,
                            .n_csrs = account->n_csrs,
                            .address_bytes = account->address_bytes,
                            .n_at_once = account->n_at_once};
}

static void fill_designs(tl_cost_design *designs, const tl_account *distributed, uint32_t n_harts) {
    const uint32_t n = (uint32_t)distributed->n_counters;
    const tl_account in_core = tl_account_in_core(n, n_harts), on_bus = tl_account_on_bus(n);
    designs[TL_COST_DISTRIBUTED] = design_of("distributed", distributed);
    designs[TL_COST_IN_CORE] = design_of("in the core", &in_core);
    designs[TL_COST_ON_BUS] = design_of("on the bus", &on_bus);
}

// Managers that stand for units of some kind: what they count does not matter here.
static tl_status add_size(tl_cost *cost, const tl_dhpc_config *config, uint64_t n_csrs, uint32_t n_units, uint32_t n_counters,
                          tl_error *err) {
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
    const tl_account distributed = {
        .n_counters = c.n_counters, .n_at_once = c.n_counters, .state_bits = c.state_bits, .wires = c.wires, .n_csrs = n_csrs};
    fill_designs(size->designs, &distributed, cost->n_harts);
    free(managers);
    return TL_OK;
}

static tl_status add_sizes(tl_cost *cost, const tl_dhpc_config *config, uint64_t n_csrs, uint32_t n_units, uint32_t n_counters,
                           tl_error *err) {
    const size_t most = TL_COUNT_OF(unit_sizes) * TL_COUNT_OF(counter_sizes);
    tl_status status = TL_OK;
    cost->sizes = tl_arena_alloc(&cost->arena, most * sizeof *cost->sizes);
    if (!cost->sizes)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    if (n_units != 0)
        return add_size(cost, config, n_csrs, n_units, n_counters, err);
    for (size_t u = 0; u < TL_COUNT_OF(unit_sizes); u++)
        for (size_t c = 0; c < TL_COUNT_OF(counter_sizes) && status == TL_OK; c++)
            status = add_size(cost, config, n_csrs, unit_sizes[u], counter_sizes[c], err);
    return status;
}

static tl_status fill(tl_cost *cost, const tl_config *config, const tl_machine *machine, uint32_t n_units, uint32_t n_counters,
                      tl_error *err) {
    uint32_t n_managers;
    (void)tl_dhpc_managers(tl_dhpc_on(machine), &n_managers);
    const tl_dhpc_config *how = tl_dhpc_config_of(tl_dhpc_on(machine));
    if (n_managers == 0)
        return tl_fail(err, TL_EINVAL, "machine %s builds none of its counters: dhpc.*_events leave all of them out", config->name);
    tl_dhpc_cost c;
    tl_account u74;
    const tl_account distributed = tl_account_of_dhpc(machine, &c), block = tl_account_of_ccache(machine);
    tl_status status = tl_account_of_u74(machine, &u74, err);
    if (status != TL_OK)
        return status;
    cost->machine = tl_arena_strdup(&cost->arena, config->name);
    cost->n_harts = c.n_harts;
    cost->n_managers = c.n_managers;
    cost->n_counters = c.n_counters;
    cost->n_wired = c.n_wired;
    add_parts(cost, &c);
    fill_designs(cost->designs, &distributed, c.n_harts);
    // As the chips are: what does not fit has to take turns, or is another unit's.
    cost->designs[TL_COST_N_DESIGNS] = design_of("in the core, as the U74", &u74);
    cost->designs[TL_COST_N_DESIGNS + 1] = design_of("on the bus, as ccache", &block);
    cost->n_designs = TL_COST_N_DESIGNS + 2;
    status = tl_plan_pmu_settings(config, &cost->arena, &cost->hpc, err);
    if (status == TL_OK)
        status = add_sizes(cost, how, distributed.n_csrs, n_units, n_counters, err);
    return status == TL_OK && !cost->machine ? tl_fail(err, TL_ENOMEM, "the host has no memory left") : status;
}

tl_status tl_cost_new(const char *name, const char *const *overrides, uint32_t n_units, uint32_t n_counters, tl_cost **ret_cost,
                      tl_error *err) {
    tl_config config;
    tl_machine *machine = NULL;
    tl_status status = tl_plan_config(name, overrides, &config, err);
    if (status != TL_OK)
        return status;
    tl_account_complete(&config);
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
