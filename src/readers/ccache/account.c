// SPDX-License-Identifier: MIT
// The block of counters on the bus in the account. State and wires: src/pmu/ccache/cost.c.
#include "session/account.h"
#include "readers/ccache/on.h"

extern const tl_account_type tl_account_ccache;
// Wires are read data, write data, address and control.
enum { VALUE_BITS = 64, VALUE_BYTES = 8, PORT_WIRES = 64 + 64 + 40 };

static void complete(tl_config *config) {
    if (tl_ccache_settings_of(config).n_counters == 0)
        tl_keys_set(config, "l2.counters", TL_CCACHE_ADDED_COUNTERS);
}

static tl_status of_machine(const tl_machine *machine, tl_account *ret_account, tl_error *err) {
    const uint32_t n_clients = 2 * machine->n_harts + 1, n_counters = tl_ccache_on(machine)->n_counters;
    const tl_ccache_cost cost = tl_ccache_cost_of(n_counters, n_clients);
    (void)err;
    *ret_account = (tl_account){
        .n_counters = n_counters,
        .n_at_once = n_counters,
        .state_bits = cost.state_bits,
        .counter_bits = cost.counter_bits,
        .wires = cost.wires,
        .address_bytes = tl_ccache_on(machine)->pmu.type->window_bytes,
        .address_bytes_per_event = tl_account_bytes_per_event(tl_ccache_on(machine)->pmu.type->regmap),
    };
    return TL_OK;
}

// Each counter counts one event: its wire comes to the block.
static tl_account of_counters(uint32_t n_counters, uint32_t n_harts) {
    (void)n_harts;
    return (tl_account){
        .n_counters = n_counters,
        .n_at_once = n_counters,
        .state_bits = (uint64_t)n_counters * VALUE_BITS,
        .counter_bits = (uint64_t)n_counters * VALUE_BITS,
        .wires = n_counters + PORT_WIRES,
        .address_bytes = (uint64_t)n_counters * VALUE_BYTES,
    };
}

const tl_account_type tl_account_ccache = {
    .pmu = &tl_pmu_ccache,
    .complete = complete,
    .of_machine = of_machine,
    .of_counters = of_counters,
    .kind = "on the bus",
    .as_built = "on the bus, as ccache",
};
