// SPDX-License-Identifier: MIT
// The page of one design: its own account part by part, beside the other designs of the account
// (account.h), and of chips of other sizes.
#include "session/cost_maker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "machine/machine.h"
#include "session/account.h"
#include "session/plan.h"
#include "session/pmus.h"

static const uint32_t unit_sizes[] = {1, 2, 4, 8, 16, 32, 64}, counter_sizes[] = {4, 16, 64};

void tl_cost_add_part(tl_cost *cost, const char *name, bool is_wires, uint64_t each, uint64_t n, uint64_t sum) {
    assert(cost->n_parts < TL_COST_MAX_PARTS);
    cost->parts[cost->n_parts++] = (tl_cost_part){.name = name, .each = each, .n = n, .sum = sum, .is_wires = is_wires};
}

static tl_cost_design design_of(const char *name, const tl_account_type *type, const tl_account *account) {
    return (tl_cost_design){.name = name,
                            .has_window = type->pmu->window_bytes != 0,
                            .state_bits = account->state_bits,
                            .wires = account->wires,
                            .n_csrs = account->n_csrs,
                            .address_bytes = account->address_bytes,
                            .n_at_once = account->n_at_once};
}

// The design itself, then each of the others that tells what it would need to count as much.
// Returns how many there are.
static uint32_t fill_kinds(const tl_account_type *own, const tl_account *account, uint32_t n_harts, tl_cost_design *designs) {
    uint32_t n = 0;
    designs[n++] = design_of(own->kind, own, account);
    for (const tl_account_type *const *type = tl_account_types; *type; type++) {
        if (*type == own || !(*type)->of_counters)
            continue;
        const tl_account other = (*type)->of_counters((uint32_t)account->n_counters, n_harts);
        designs[n++] = design_of((*type)->kind, *type, &other);
    }
    return n;
}

// Two rows at most of each design.
static tl_cost_design *new_designs(tl_cost *cost) {
    size_t n = 0;
    while (tl_account_types[n])
        n++;
    return tl_arena_alloc(&cost->arena, 2 * n * sizeof(tl_cost_design));
}

static tl_status fill_designs(tl_cost *cost, const tl_account_type *own, const tl_machine *machine, tl_error *err) {
    tl_account account;
    cost->designs = new_designs(cost);
    if (!cost->designs)
        return tl_no_memory(err);
    tl_status status = own->of_machine(machine, &account, err);
    if (status != TL_OK)
        return status;
    cost->n_designs = cost->n_kinds = fill_kinds(own, &account, machine->n_harts, cost->designs);
    // As the chips are: what does not fit has to take turns, or is another unit's.
    for (const tl_account_type *const *type = tl_account_types; *type && status == TL_OK; type++) {
        if (*type == own || !(*type)->as_built)
            continue;
        status = (*type)->of_machine(machine, &account, err);
        if (status == TL_OK)
            cost->designs[cost->n_designs++] = design_of((*type)->as_built, *type, &account);
    }
    return status;
}

static tl_status add_size(tl_cost *cost, const tl_account_type *own, const tl_machine *machine, uint32_t n_units, uint32_t n_counters,
                          tl_error *err) {
    tl_cost_size *size = &cost->sizes[cost->n_sizes++];
    tl_account account;
    *size = (tl_cost_size){.n_units = n_units, .n_counters = n_counters, .designs = new_designs(cost)};
    if (!size->designs)
        return tl_no_memory(err);
    tl_status status = own->page->of_units(machine, n_units, n_counters, &account, err);
    if (status == TL_OK)
        (void)fill_kinds(own, &account, machine->n_harts, size->designs);
    return status;
}

static tl_status add_sizes(tl_cost *cost, const tl_account_type *own, const tl_machine *machine, uint32_t n_units, uint32_t n_counters,
                           tl_error *err) {
    const size_t most = TL_COUNT_OF(unit_sizes) * TL_COUNT_OF(counter_sizes);
    tl_status status = TL_OK;
    cost->sizes = tl_arena_alloc(&cost->arena, most * sizeof *cost->sizes);
    if (!cost->sizes)
        return tl_no_memory(err);
    if (n_units != 0)
        return add_size(cost, own, machine, n_units, n_counters, err);
    for (size_t u = 0; u < TL_COUNT_OF(unit_sizes); u++)
        for (size_t c = 0; c < TL_COUNT_OF(counter_sizes) && status == TL_OK; c++)
            status = add_size(cost, own, machine, unit_sizes[u], counter_sizes[c], err);
    return status;
}

static tl_status fill(tl_cost *cost, const tl_account_type *own, const tl_config *config, const tl_machine *machine, uint32_t n_units,
                      uint32_t n_counters, tl_error *err) {
    cost->title = own->page->title;
    cost->holders = own->page->holders;
    cost->n_harts = machine->n_harts;
    cost->machine = tl_arena_strdup(&cost->arena, config->name);
    if (!cost->machine)
        return tl_no_memory(err);
    tl_status status = own->page->fill(machine, cost, err);
    if (status == TL_OK)
        status = fill_designs(cost, own, machine, err);
    if (status == TL_OK)
        status = tl_plan_pmu_settings(config, &cost->arena, &cost->hpc, err);
    return status == TL_OK ? add_sizes(cost, own, machine, n_units, n_counters, err) : status;
}

static tl_status no_page(const char *pmu, tl_error *err) {
    char names[200] = "";
    size_t used = 0;
    for (const tl_account_type *const *type = tl_account_types; *type && used < sizeof names; type++)
        if ((*type)->page)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", (*type)->pmu->name);
    return tl_fail(err, TL_EINVAL, "pmu %s has no page of its cost%s%s", pmu, used ? "; there is one of " : "", names);
}

static tl_status find_page(const char *pmu, const tl_account_type **ret_type, tl_error *err) {
    const tl_pmu_type *type;
    const tl_pmu_preset *preset;
    tl_status status = tl_pmus_find(pmu, &type, &preset, err);
    if (status != TL_OK)
        return status;
    if (preset)
        return tl_fail(err, TL_EINVAL, "%s: the cost is of a design as the machine has it; write %s", pmu, type->name);
    *ret_type = tl_account_find(type);
    return *ret_type && (*ret_type)->page ? TL_OK : no_page(pmu, err);
}

tl_status tl_cost_new(const char *pmu, const char *name, const char *const *overrides, uint32_t n_units, uint32_t n_counters,
                      tl_cost **ret_cost, tl_error *err) {
    tl_config config;
    tl_machine *machine = NULL;
    const tl_account_type *own = NULL;
    tl_status status = find_page(pmu, &own, err);
    if (status == TL_OK)
        status = tl_plan_config(name, overrides, &config, err);
    if (status != TL_OK)
        return status;
    tl_account_complete(&config);
    tl_cost *cost = calloc(1, sizeof *cost);
    if (!cost)
        return tl_no_memory(err);
    status = tl_machine_new(&config, &tl_engine_step, &machine, err);
    if (status == TL_OK)
        status = fill(cost, own, &config, machine, n_units, n_counters, err);
    tl_machine_free(machine);
    if (status == TL_OK)
        *ret_cost = cost;
    else
        tl_cost_free(cost);
    return status;
}

void tl_cost_free(tl_cost *cost) {
    if (!cost)
        return;
    tl_arena_done(&cost->arena);
    free(cost);
}
