// SPDX-License-Identifier: MIT
// The hardware that each design needs: rows of the account in session/account.h, as built and for
// the reach of the design that has most.
#include "compare/reach.h"

#include "compare/design.h"
#include "session/account.h"

static void add_state(tl_comparison *c, uint32_t design, const tl_account *account, bool is_as_built) {
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

// As many counters as the design that sets the reach has on the machine; 0: none does.
static tl_status find_reach(const tl_machine *machine, uint32_t *ret_n, tl_error *err) {
    tl_status status = TL_OK;
    *ret_n = 0;
    for (const tl_compare_design_type *const *design = tl_compare_designs; *design && status == TL_OK; design++) {
        const tl_account_type *type = tl_account_find((*design)->pmu);
        tl_account account = {0};
        if (!(*design)->sets_reach || !type)
            continue;
        status = type->of_machine(machine, &account, err);
        *ret_n = (uint32_t)account.n_counters;
    }
    return status;
}

static tl_status reach_of(const tl_machine *machine, uint32_t n, tl_comparison *c, tl_compare_design_row *row, tl_error *err) {
    const tl_compare_design_type *design = tl_compare_designs[row->design];
    const tl_account_type *type = tl_account_find(design->pmu);
    tl_account account = {0};
    if (!type)
        return TL_OK;
    tl_status status = type->of_machine(machine, &account, err);
    if (status != TL_OK)
        return status;
    row->is_accounted = true;
    row->events_at_once = (uint32_t)account.n_at_once;
    row->n_csrs = (uint32_t)account.n_csrs;
    row->csrs_per_event = account.csrs_per_event;
    row->address_bytes = account.address_bytes;
    row->address_bytes_per_event = account.address_bytes_per_event;
    add_state(c, row->design, &account, true);
    if (!design->sets_reach && type->of_counters && n > 0) {
        account = type->of_counters(n, machine->n_harts);
        add_state(c, row->design, &account, false);
    }
    return TL_OK;
}

tl_status tl_compare_reach(const tl_compare_setup *setup, tl_comparison *c, tl_error *err) {
    tl_machine *machine;
    uint32_t n;
    c->states = tl_arena_alloc(&c->arena, 2 * c->n_designs * sizeof *c->states);
    if (!c->states)
        return tl_no_memory(err);
    tl_status status = tl_machine_new(&setup->config, setup->engine, &machine, err);
    if (status != TL_OK)
        return status;
    status = find_reach(machine, &n, err);
    for (uint32_t i = 0; i < c->n_designs && status == TL_OK; i++)
        status = reach_of(machine, n, c, &c->designs[i], err);
    tl_machine_free(machine);
    return status;
}
