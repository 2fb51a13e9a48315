// SPDX-License-Identifier: MIT
// Hardware cost of the block: flip-flops of its registers, wires of its events and of its bus port.
#include "pmu/ccache/ccache.h"

// Sets are 0 to 4. Wires are read data, write data, address and control.
enum { VALUE_BITS = 64, SET_BITS = 3, PORT_WIRES = 64 + 64 + 40 };

tl_ccache_cost tl_ccache_cost_of(uint32_t n_counters, uint32_t n_clients) {
    const tl_pmu_preset *preset = tl_ccache_presets[0];
    uint64_t masks = 0, n_events = 0;
    for (uint32_t i = 0; i < preset->n_events; i++) {
        masks |= preset->events[i].fidelity == TL_NOT_MODELED ? 0 : preset->events[i].selector >> 8;
        n_events += preset->events[i].fidelity != TL_NOT_MODELED;
    }
    tl_ccache_cost cost = {.counter_bits = (uint64_t)n_counters * VALUE_BITS};
    cost.selector_bits = (uint64_t)n_counters * (SET_BITS + (uint64_t)__builtin_popcountll(masks)) + n_clients;
    cost.state_bits = cost.counter_bits + cost.selector_bits;
    cost.wires = n_counters > 0 ? n_events + PORT_WIRES : 0;
    return cost;
}
