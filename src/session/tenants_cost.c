// SPDX-License-Identifier: MIT
// The cost of the monitor's hardware in a run (tenants.h).
#include <stdlib.h>

#include "session/account.h"
#include "session/cost_maker.h"
#include "session/tenants_state.h"

tl_status tl_tenants_cost_new(const tl_tenants *t, tl_cost **ret_cost, tl_error *err) {
    if (!t->options.wants_cost)
        return tl_fail(err, TL_EINVAL, "the run does not measure its cost; set wants_cost before it begins");
    tl_cost *cost = calloc(1, sizeof *cost);
    if (!cost)
        return tl_tenants_no_memory(err);
    const tl_account_page *page = tl_account_find(t->monitor_pmu)->page;
    cost->title = page->title;
    cost->holders = page->holders;
    cost->n_harts = t->config.n_partitions * t->parts[0].machine->n_harts;
    cost->machine = tl_arena_strdup(&cost->arena, t->config.name);
    tl_status status = cost->machine ? page->fill_run(t->monitor, cost, err) : tl_tenants_no_memory(err);
    if (status == TL_OK)
        *ret_cost = cost;
    else
        tl_cost_free(cost);
    return status;
}
