// SPDX-License-Identifier: MIT
// The hardware that each design needs: rows of the account in session/account.h, as built and for
// the reach of the distributed counters.
#include "compare/reach.h"

#include "session/account.h"

enum { MAX_STATES = 5 };

static void add_state(tl_comparison *c, tl_compare_design design, const tl_account *account, bool is_as_built) {
    c->states[c->n_states++] = (tl_compare_state_row){.size = sizeof *c->states,
                                                      .design = design,
                                                      .n_counters = (uint32_t)account->n_counters,
                                                      .state_bits = account->state_bits,
                                                      .counter_bits = account->counter_bits,
                                                      .wires = account->wires,
                                                      .n_csrs = account->n_csrs,
                                                      .address_bytes = account->address_bytes,
                                                      .is_as_built = is_as_built};
}

// As it stands; then, of the others, one with as many counters as the distributed design has.
static tl_status reach_of(const tl_machine *machine, tl_comparison *c, tl_compare_design_row *row, tl_error *err) {
    const tl_account fabric = tl_account_of_dhpc(machine, NULL);
    const uint32_t n = (uint32_t)fabric.n_counters;
    tl_account account = fabric, rival = {0};
    tl_status status = TL_OK;
    if (row->design == TL_COMPARE_U74) {
        status = tl_account_of_u74(machine, &account, err);
        rival = tl_account_in_core(n, machine->n_harts);
    } else if (row->design == TL_COMPARE_CCACHE) {
        account = tl_account_of_ccache(machine);
        rival = tl_account_on_bus(n);
    }
    if (status != TL_OK)
        return status;
    row->events_at_once = (uint32_t)account.n_at_once;
    row->n_csrs = (uint32_t)account.n_csrs;
    row->csrs_per_event = account.csrs_per_event;
    row->address_bytes = account.address_bytes;
    row->address_bytes_per_event = account.address_bytes_per_event;
    add_state(c, row->design, &account, true);
    if (row->design != TL_COMPARE_DHPC)
        add_state(c, row->design, &rival, false);
    return TL_OK;
}

tl_status tl_compare_reach(const tl_compare_setup *setup, tl_comparison *c, tl_error *err) {
    tl_machine *machine;
    c->states = tl_arena_alloc(&c->arena, MAX_STATES * sizeof *c->states);
    if (!c->states)
        return tl_fail(err, TL_ENOMEM, "the host has no memory left");
    tl_status status = tl_machine_new(&setup->config, setup->core, &machine, err);
    if (status != TL_OK)
        return status;
    for (uint32_t i = 0; i < c->n_designs && status == TL_OK; i++)
        status = reach_of(machine, c, &c->designs[i], err);
    tl_machine_free(machine);
    return status;
}
