// SPDX-License-Identifier: MIT
// The hardware that each design of counters needs on one machine: the one account, of which tally
// describe and tally compare print parts. TL_COST_SENTENCE (session/cost.h) says what is in it. All
// harts are in it, but CSRs and counters at once are those of one hart.
#ifndef TL_SESSION_ACCOUNT_H
#define TL_SESSION_ACCOUNT_H

#include "base/status.h"
#include "machine/machine.h"
#include "pmu/dhpc/dhpc.h"

typedef struct tl_account {
    uint64_t n_counters, n_at_once; // of all harts; that count together whatever they are asked
    uint64_t state_bits, counter_bits, wires;
    uint64_t n_csrs, address_bytes; // found in the design's register map
    uint32_t csrs_per_event, address_bytes_per_event;
} tl_account;

// Gives a description what it lacks of u74, ccache and dhpc.
enum { TL_ACCOUNT_BLOCK_COUNTERS = 6 };
void tl_account_complete(tl_config *config);

// The machine must have the design. The U74's counters; the block on the bus; the distributed ones.
TL_MUST_CHECK tl_status tl_account_of_u74(const tl_machine *machine, tl_account *ret_account, tl_error *err);
tl_account tl_account_of_ccache(const tl_machine *machine);
tl_account tl_account_of_dhpc(const tl_machine *machine, tl_dhpc_cost *ret_cost); // ret_cost may be NULL
// Designs that would count as many events at once: in the core, on the bus.
tl_account tl_account_in_core(uint32_t n_counters, uint32_t n_harts);
tl_account tl_account_on_bus(uint32_t n_counters);

#endif
