// SPDX-License-Identifier: MIT
// Registers are counted where they are found: every number of the CSR space is looked up in the
// design's register map. State and wires come from the account beside each design
// (src/pmu/*/cost.c).
#include "session/account.h"

#include "pmu/ccache/ccache.h"
#include "pmu/rvhpm/rvhpm.h"
#include "readers/ccache/on.h"
#include "readers/dhpc/on.h"
#include "readers/rvhpm/on.h"

enum { N_CSRS = 4096, ACCESS_BITS = 64, VALUE_BITS = 64 };

void tl_account_complete(tl_config *config) {
    tl_keys_set(config, "pmu", TL_RVHPM_KEY_U74);
    if (tl_dhpc_settings_of(config).mode == TL_DHPC_KEY_NONE)
        tl_keys_set(config, "hpc", TL_DHPC_KEY_TIMED);
    if (tl_ccache_settings_of(config).n_counters == 0)
        tl_keys_set(config, "l2.counters", TL_ACCOUNT_BLOCK_COUNTERS);
}

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

// In-core sets stand once in each hart, and so do their registers' numbers, which are the same in
// all.
tl_status tl_account_of_u74(const tl_machine *machine, tl_account *ret_account, tl_error *err) {
    tl_arena arena = {0};
    tl_pmu *bare;
    const tl_rvhpm_preset *preset = (const tl_rvhpm_preset *)(const void *)tl_rvhpm_on(machine, 0)->preset;
    const tl_rvhpm_cost cost = tl_rvhpm_cost_of(preset);
    tl_account account = {
        .n_counters = (uint64_t)machine->n_harts * cost.n_counters,
        .n_at_once = cost.n_counters,
        .state_bits = machine->n_harts * cost.state_bits,
        .counter_bits = machine->n_harts * cost.counter_bits,
        .wires = machine->n_harts * cost.wires,
        .n_csrs = count_csrs(&tl_rvhpm_on(machine, 0)->file),
    };
    tl_status status = tl_pmu_new(&tl_pmu_rvhpm, &tl_rvhpm_none.base, ACCESS_BITS, &machine->pmu_host, 0, &arena, &bare, err);
    if (status == TL_OK) {
        account.csrs_per_event = ((uint32_t)account.n_csrs - count_csrs(&bare->file)) / preset->n_counters;
        *ret_account = account;
    }
    tl_arena_done(&arena);
    return status;
}

tl_account tl_account_of_ccache(const tl_machine *machine) {
    const uint32_t n_clients = 2 * machine->n_harts + 1, n_counters = tl_ccache_on(machine)->n_counters;
    const tl_ccache_cost cost = tl_ccache_cost_of(n_counters, n_clients);
    return (tl_account){
        .n_counters = n_counters,
        .n_at_once = n_counters,
        .state_bits = cost.state_bits,
        .counter_bits = cost.counter_bits,
        .wires = cost.wires,
        .address_bytes = tl_ccache_on(machine)->pmu.type->window_bytes,
        .address_bytes_per_event = bytes_per_event(tl_ccache_on(machine)->pmu.type->regmap),
    };
}

tl_account tl_account_of_dhpc(const tl_machine *machine, tl_dhpc_cost *ret_cost) {
    uint32_t n_managers;
    const tl_dhpc_manager *managers = tl_dhpc_managers(tl_dhpc_on(machine), &n_managers);
    const tl_dhpc_cost cost = tl_dhpc_cost_of(tl_dhpc_config_of(tl_dhpc_on(machine)), machine->n_harts, managers, n_managers);
    if (ret_cost)
        *ret_cost = cost;
    return (tl_account){
        .n_counters = cost.n_counters,
        .n_at_once = cost.n_counters,
        .state_bits = cost.state_bits,
        .counter_bits = cost.manager_counters,
        .wires = cost.wires,
        .n_csrs = count_csrs(&tl_dhpc_pmu(tl_dhpc_on(machine), 0)->file),
    };
}

static tl_account rival(const tl_dhpc_rival *r, uint32_t n_counters) {
    return (tl_account){
        .n_counters = n_counters,
        .n_at_once = n_counters,
        .state_bits = r->state_bits,
        .counter_bits = (uint64_t)n_counters * VALUE_BITS,
        .wires = r->wires,
        .n_csrs = r->n_csrs,
        .address_bytes = r->address_bytes,
    };
}

tl_account tl_account_in_core(uint32_t n_counters, uint32_t n_harts) {
    const tl_dhpc_rival r = tl_dhpc_rival_in_core(n_counters, n_harts);
    return rival(&r, n_counters);
}

tl_account tl_account_on_bus(uint32_t n_counters) {
    const tl_dhpc_rival r = tl_dhpc_rival_on_bus(n_counters);
    return rival(&r, n_counters);
}
