// SPDX-License-Identifier: MIT
// The harts' counters in the account. Each hart has a set, and all sets share register numbers.
// State and wires: src/pmu/rvhpm/cost.c.
#include "session/account.h"
#include "readers/rvhpm/on.h"

extern const tl_account_type tl_account_rvhpm;
enum { ACCESS_BITS = 64, VALUE_BITS = 64 };

static void complete(tl_config *config) { tl_keys_set(config, "pmu", TL_RVHPM_KEY_U74); }

static tl_status of_machine(const tl_machine *machine, tl_account *ret_account, tl_error *err) {
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
        .n_csrs = tl_account_csrs(&tl_rvhpm_on(machine, 0)->file),
    };
    tl_status status = tl_pmu_new(&tl_pmu_rvhpm, &tl_rvhpm_none.base, ACCESS_BITS, &machine->pmu_host, 0, &arena, &bare, err);
    if (status == TL_OK) {
        account.csrs_per_event = ((uint32_t)account.n_csrs - tl_account_csrs(&bare->file)) / preset->n_counters;
        *ret_account = account;
    }
    tl_arena_done(&arena);
    return status;
}

// Every hart reaches every event: a counter and a selector of 64 bits and a wire for each.
static tl_account of_counters(uint32_t n_counters, uint32_t n_harts) {
    return (tl_account){
        .n_counters = n_counters,
        .n_at_once = n_counters,
        .state_bits = (uint64_t)n_counters * n_harts * 2 * VALUE_BITS,
        .counter_bits = (uint64_t)n_counters * VALUE_BITS,
        .wires = (uint64_t)n_counters * n_harts,
        .n_csrs = (uint64_t)n_counters * 2,
    };
}

const tl_account_type tl_account_rvhpm = {
    .pmu = &tl_pmu_rvhpm,
    .complete = complete,
    .of_machine = of_machine,
    .of_counters = of_counters,
    .kind = "in the core",
    .as_built = "in the core, as the U74",
};
