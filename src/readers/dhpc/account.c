// SPDX-License-Identifier: MIT
// The distributed counters in the account: as a whole, part by part, and on chips of other sizes.
// State and wires: src/pmu/dhpc/cost.c.
#include <stdlib.h>

#include "readers/dhpc/on.h"
#include "session/account.h"
#include "session/cost_maker.h"

extern const tl_account_type tl_account_dhpc;
enum { VALUE_BITS = 64 };

static void complete(tl_config *config) {
    if (tl_dhpc_settings_of(config).mode == TL_DHPC_KEY_NONE)
        tl_keys_set(config, "hpc", TL_DHPC_KEY_TIMED);
}

static tl_dhpc_cost cost_on(const tl_machine *machine) {
    uint32_t n_managers;
    const tl_dhpc_manager *managers = tl_dhpc_managers(tl_dhpc_on(machine), &n_managers);
    return tl_dhpc_cost_of(tl_dhpc_config_of(tl_dhpc_on(machine)), machine->n_harts, managers, n_managers);
}

static tl_account account_of(const tl_machine *machine, const tl_dhpc_cost *cost) {
    return (tl_account){
        .n_counters = cost->n_counters,
        .n_at_once = cost->n_counters,
        .state_bits = cost->state_bits,
        .counter_bits = cost->manager_counters,
        .wires = cost->wires,
        .n_csrs = tl_account_csrs(&tl_dhpc_pmu(tl_dhpc_on(machine), 0)->file),
    };
}

static tl_status of_machine(const tl_machine *machine, tl_account *ret_account, tl_error *err) {
    const tl_dhpc_cost cost = cost_on(machine);
    (void)err;
    *ret_account = account_of(machine, &cost);
    return TL_OK;
}

static void add_parts(tl_cost *cost, const tl_dhpc_cost *c) {
    const uint64_t harts = c->n_harts, managers = c->n_managers;
    tl_cost_add_part(cost, "client: FIFO", false, c->client_fifo, harts, harts * c->client_fifo);
    tl_cost_add_part(cost, "client: registers", false, c->client_registers, harts, harts * c->client_registers);
    tl_cost_add_part(cost, "client: control", false, c->client_control, harts, harts * c->client_control);
    tl_cost_add_part(cost, "managers: counters", false, VALUE_BITS, c->manager_counters / VALUE_BITS, c->manager_counters);
    tl_cost_add_part(cost, "managers: snapshots", false, VALUE_BITS, c->manager_snapshot / VALUE_BITS, c->manager_snapshot);
    tl_cost_add_part(cost, "managers: control", false, c->manager_control / managers, managers, c->manager_control);
    tl_cost_add_part(cost, "interconnect: arbiters", false, c->arbiters / managers, managers, c->arbiters);
    tl_cost_add_part(cost, "links of harts: request", true, c->request_wires, harts, harts * c->request_wires);
    tl_cost_add_part(cost, "links of harts: data", true, c->data_wires, harts, harts * c->data_wires);
    const uint64_t of_managers = c->wires - harts * (c->request_wires + c->data_wires);
    tl_cost_add_part(cost, "links of managers: both ways", true, of_managers / managers, managers, of_managers);
}

static tl_status fill(const tl_machine *machine, tl_cost *cost, tl_error *err) {
    const tl_dhpc_cost c = cost_on(machine);
    if (c.n_managers == 0)
        return tl_fail(err, TL_EINVAL, "machine %s builds none of its counters: dhpc.*_events leave all of them out", machine->config.name);
    cost->n_holders = c.n_managers;
    cost->n_counters = c.n_counters;
    cost->n_wired = c.n_wired;
    add_parts(cost, &c);
    if (c.n_wired == 0)
        return TL_OK;
    cost->remark = tl_arena_printf(&cost->arena, "The %u numbers of the directory are wired, and not in it.", c.n_wired);
    return cost->remark ? TL_OK : tl_no_memory(err);
}

// Managers that stand for units of some kind: what they count does not matter here.
static tl_status of_units(const tl_machine *machine, uint32_t n_units, uint32_t n_counters, tl_account *ret_account, tl_error *err) {
    tl_dhpc_manager *managers = calloc(n_units, sizeof *managers);
    if (!managers)
        return tl_no_memory(err);
    for (uint32_t i = 0; i < n_units; i++)
        managers[i] = (tl_dhpc_manager){.id = TL_DHPC_ID(TL_DHPC_LLC, i & 127, i >> 7),
                                        .hart = TL_DHPC_NO_HART,
                                        .implemented = n_counters == 64 ? UINT64_MAX : (UINT64_C(1) << n_counters) - 1};
    const tl_dhpc_cost cost = tl_dhpc_cost_of(tl_dhpc_config_of(tl_dhpc_on(machine)), machine->n_harts, managers, n_units);
    free(managers);
    *ret_account = account_of(machine, &cost);
    return TL_OK;
}

static const tl_account_page page = {
    .title = "Distributed counters",
    .holders = "managers",
    .fill = fill,
    .of_units = of_units,
};

const tl_account_type tl_account_dhpc = {
    .pmu = &tl_pmu_dhpc,
    .complete = complete,
    .of_machine = of_machine,
    .kind = "distributed",
    .page = &page,
};
