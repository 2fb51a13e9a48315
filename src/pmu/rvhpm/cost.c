// SPDX-License-Identifier: MIT
// Hardware cost of one hart's counters: flip-flops and wires, register by register of the preset.
// The sums do not model a synthesis tool. `time` belongs to the platform and is not included.
#include "pmu/rvhpm/rvhpm.h"

// Fixed counters are mcycle and minstret. Mode bits are minh, sinh and uinh.
enum { CLASS_BITS = 8, FIXED_BITS = 64, N_FIXED = 2, MODE_BITS = 3 };

static uint32_t bits_to_count(uint64_t n) { // bits that distinguish n things
    uint32_t bits = 0;
    while ((UINT64_C(1) << bits) < n)
        bits++;
    return bits;
}

// A selector that names one event needs a number. Class-and-mask selectors need the class and the
// mask of the largest class.
static uint32_t selector_bits(const tl_rvhpm_preset *preset, uint32_t *ret_n_events) {
    uint64_t masks = 0, largest_class = 0;
    *ret_n_events = 0;
    for (uint32_t i = 0; i < preset->base.n_events; i++) {
        const tl_event *event = &preset->base.events[i];
        if (event->fidelity == TL_NOT_MODELED)
            continue;
        *ret_n_events += 1;
        masks |= event->selector >> CLASS_BITS;
        largest_class = (event->selector & 0xff) > largest_class ? event->selector & 0xff : largest_class;
    }
    if (preset->has_masks)
        return (uint32_t)__builtin_popcountll(masks) + bits_to_count(largest_class + 1);
    return bits_to_count((uint64_t)*ret_n_events + 1); // or no event
}

tl_rvhpm_cost tl_rvhpm_cost_of(const tl_rvhpm_preset *preset) {
    uint32_t n_events, n = preset->n_counters, selector = selector_bits(preset, &n_events);
    tl_rvhpm_cost cost = {.n_counters = n + N_FIXED};
    cost.counter_bits = (uint64_t)n * preset->width_bits + N_FIXED * FIXED_BITS;
    // The overflow bit counts, too.
    cost.selector_bits = (uint64_t)n * (selector + (preset->has_sscofpmf ? 1 + MODE_BITS : 0));
    cost.selector_bits += preset->has_smcntrpmf ? N_FIXED * MODE_BITS : 0;
    // Bits of mcountinhibit, then of mcounteren and scounteren, which have one for time, too.
    cost.gate_bits = n + N_FIXED + 2 * ((uint64_t)n + N_FIXED + 1);
    cost.state_bits = cost.counter_bits + cost.selector_bits + cost.gate_bits;
    cost.wires = n > 0 ? n_events : 0; // every event reaches the register file, counted or not
    return cost;
}
