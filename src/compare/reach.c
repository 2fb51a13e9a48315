// SPDX-License-Identifier: MIT
// Registers are counted where they are found: every number of the CSR space is looked up in the design's register map.
#include "compare/reach.h"

#include "pmu/ccache/ccache.h"
#include "pmu/dhpc/dhpc.h"
#include "pmu/rvhpm/rvhpm.h"

enum { N_CSRS = 4096, MAX_STATES = 5 };

// Those that are there and not merely read as zero.
static uint32_t count_csrs(const tl_regfile *file) {
    uint32_t n = 0;
    for (uint32_t csr = 0; csr < N_CSRS; csr++) {
        tl_reg_at at;
        if (tl_regfile_find(file, csr, &at))
            n += !at.reg->presence || at.reg->presence(file, at.index, at.is_high) == TL_PRESENT;
    }
    return n;
}

static uint32_t bytes_per_event(const tl_regmap *map) { // every array has an element for each counter
    uint32_t n = 0;
    for (uint32_t i = 0; i < map->n_regs; i++)
        n += map->regs[i].count > 1 ? map->regs[i].stride : 0;
    return n;
}

static tl_status reach_core(tl_machine *machine, tl_compare_design_row *row, tl_error *err) {
    tl_arena arena = {0};
    tl_pmu *bare;
    const tl_rvhpm_preset *preset = (const tl_rvhpm_preset *)(const void *)machine->pmus[0]->preset;
    tl_status status = tl_pmu_new(&tl_pmu_rvhpm, &tl_rvhpm_none.base, 64, &machine->pmu_host, 0, &arena, &bare, err);
    if (status == TL_OK) {
        row->events_at_once = tl_rvhpm_cost_of(preset).n_counters;
        row->n_csrs = count_csrs(&machine->pmus[0]->file);
        row->csrs_per_event = (row->n_csrs - count_csrs(&bare->file)) / preset->n_counters;
    }
    tl_arena_done(&arena);
    return status;
}

static void reach_bus(const tl_machine *machine, tl_compare_design_row *row) {
    row->events_at_once = machine->config.l2_counters;
    row->address_bytes = machine->l2_counters->type->window_bytes;
    row->address_bytes_per_event = bytes_per_event(machine->l2_counters->type->regmap);
}

static tl_dhpc_cost cost_of_fabric(const tl_machine *machine) {
    uint32_t n_managers;
    const tl_dhpc_manager *managers = tl_dhpc_managers(machine->hpc, &n_managers);
    return tl_dhpc_cost_of(tl_dhpc_config_of(machine->hpc), machine->n_harts, managers, n_managers);
}

// Without the directory's numbers, which are wired and count nothing.
static uint32_t counters_of_fabric(const tl_machine *machine) { return (uint32_t)(cost_of_fabric(machine).manager_counters / 64); }

static void reach_fabric(const tl_machine *machine, tl_compare_design_row *row) {
    row->events_at_once = counters_of_fabric(machine);
    row->n_csrs = count_csrs(&tl_dhpc_pmu(machine->hpc, 0)->file);
}

static tl_compare_state_row *add_state(tl_comparison *c, tl_compare_design design, bool is_as_built) {
    tl_compare_state_row *row = &c->states[c->n_states++];
    *row = (tl_compare_state_row){.size = sizeof *row, .design = design, .is_as_built = is_as_built};
    return row;
}

// A design with as many counters as the distributed one has.
static void add_rival(tl_comparison *c, tl_compare_design design, const tl_dhpc_rival *rival, uint32_t n_counters) {
    tl_compare_state_row *row = add_state(c, design, false);
    row->n_counters = n_counters;
    row->state_bits = rival->state_bits;
    row->counter_bits = (uint64_t)n_counters * 64;
    row->wires = rival->wires;
    row->n_csrs = rival->n_csrs;
    row->address_bytes = rival->address_bytes;
}

// In-core sets stand once in each hart, and so do their registers' numbers, which are the same in all.
static void state_of_core(const tl_machine *machine, const tl_compare_design_row *of, tl_comparison *c) {
    const tl_rvhpm_cost cost = tl_rvhpm_cost_of((const tl_rvhpm_preset *)(const void *)machine->pmus[0]->preset);
    tl_compare_state_row *row = add_state(c, TL_COMPARE_U74, true);
    row->n_counters = machine->n_harts * cost.n_counters;
    row->state_bits = machine->n_harts * cost.state_bits;
    row->counter_bits = machine->n_harts * cost.counter_bits;
    row->wires = machine->n_harts * cost.wires;
    row->n_csrs = of->n_csrs;
    uint32_t reach = counters_of_fabric(machine);
    tl_dhpc_rival rival = tl_dhpc_rival_in_core(reach, machine->n_harts);
    add_rival(c, TL_COMPARE_U74, &rival, reach);
}

static void state_of_bus(const tl_machine *machine, const tl_compare_design_row *of, tl_comparison *c) {
    const tl_ccache_cost cost = tl_ccache_cost_of(machine->config.l2_counters, 2 * machine->n_harts + 1);
    tl_compare_state_row *row = add_state(c, TL_COMPARE_CCACHE, true);
    row->n_counters = machine->config.l2_counters;
    row->state_bits = cost.state_bits;
    row->counter_bits = cost.counter_bits;
    row->wires = cost.wires;
    row->address_bytes = of->address_bytes;
    uint32_t reach = counters_of_fabric(machine);
    tl_dhpc_rival rival = tl_dhpc_rival_on_bus(reach);
    add_rival(c, TL_COMPARE_CCACHE, &rival, reach);
}

static void state_of_fabric(const tl_machine *machine, const tl_compare_design_row *of, tl_comparison *c) {
    tl_dhpc_cost cost = cost_of_fabric(machine);
    tl_compare_state_row *row = add_state(c, TL_COMPARE_DHPC, true);
    row->n_counters = counters_of_fabric(machine);
    row->state_bits = cost.state_bits;
    row->counter_bits = cost.manager_counters;
    row->wires = cost.wires;
    row->n_csrs = of->n_csrs;
}

tl_status tl_compare_reach(const tl_compare_setup *setup, tl_comparison *c, tl_error *err) {
    tl_machine *machine;
    c->states = tl_arena_alloc(&c->arena, MAX_STATES * sizeof *c->states);
    if (!c->states)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    tl_status status = tl_machine_new(&setup->config, setup->core, &machine, err);
    if (status != TL_OK)
        return status;
    for (uint32_t i = 0; i < c->n_designs && status == TL_OK; i++) {
        tl_compare_design_row *row = &c->designs[i];
        switch (row->design) {
        case TL_COMPARE_U74:
            status = reach_core(machine, row, err);
            state_of_core(machine, row, c);
            break;
        case TL_COMPARE_CCACHE:
            reach_bus(machine, row);
            state_of_bus(machine, row, c);
            break;
        default:
            reach_fabric(machine, row);
            state_of_fabric(machine, row, c);
            break;
        }
    }
    tl_machine_free(machine);
    return status;
}
