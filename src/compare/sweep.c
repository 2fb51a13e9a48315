// SPDX-License-Identifier: MIT
// Error against the number of events: the first two, four, eight ... events of an order that
// alternates core and second level, because the order must suit every design.
#include "compare/sweep.h"

#include <stdlib.h>

#include "base/bits.h"
#include "compare/design.h"
#include "compare/interval.h"
#include "compare/rows.h"

static const uint32_t counts[] = {2, 4, 8, 16, 32, 64};

uint32_t tl_compare_order_events(const tl_watchable *ret_order[TL_COMPARE_MAX_EVENTS]) {
    uint32_t n = 0, core = 0, level2 = 0;
    while (n < TL_COMPARE_MAX_EVENTS && (core < tl_n_watchables || level2 < tl_n_watchables)) {
        bool wants_level2 = n % 4 == 3;
        uint32_t *at = wants_level2 ? &level2 : &core;
        while (*at < tl_n_watchables && tl_watchables[*at].is_of_level2 != wants_level2)
            ++*at;
        if (*at == tl_n_watchables) { // none of these left
            at = wants_level2 ? &core : &level2;
            while (*at < tl_n_watchables && tl_watchables[*at].is_of_level2 == wants_level2)
                ++*at;
            if (*at == tl_n_watchables)
                break;
        }
        ret_order[n++] = &tl_watchables[(*at)++];
    }
    return n;
}

static tl_status fill_row(const tl_compare_setup *setup, uint32_t design, tl_compare_spread_row *row, uint64_t *ret_outgrown_by,
                          tl_error *err) {
    uint32_t n = tl_compare_designs[design]->n_turns ? setup->n_sweep_phases : 1;
    tl_watch_result *results = calloc(n, sizeof *results);
    if (!results)
        return tl_no_memory(err);
    tl_status status = TL_OK;
    *ret_outgrown_by = 0;
    for (uint32_t phase = 0; phase < n && status == TL_OK && *ret_outgrown_by == 0; phase++) {
        status = tl_watch_run(setup, design, phase, n, &results[phase], err);
        *ret_outgrown_by = results[phase].outgrown_by_cycles;
    }
    *row = (tl_compare_spread_row){
        .size = sizeof *row, .design = design, .n_events = setup->n_events, .interval_cycles = setup->interval_cycles};
    if (status == TL_OK && *ret_outgrown_by == 0)
        row->n_counted = tl_compare_errors(setup, results, n, &row->mean_error, &row->largest_error);
    free(results);
    return status;
}

tl_status tl_compare_spreads(const tl_compare_setup *setup, tl_comparison *c, tl_error *err) {
    tl_compare_setup some = *setup; // of its events, those of each row
    const tl_watchable *order[TL_COMPARE_MAX_EVENTS];
    uint32_t n_there = tl_compare_order_events(order), n_before = 0;
    some.max_insns = setup->sweep_insns;
    c->spreads = tl_arena_alloc(&c->arena, TL_COUNT_OF(counts) * setup->n_designs * sizeof *c->spreads);
    if (!c->spreads)
        return tl_no_memory(err);
    tl_status status = TL_OK;
    for (uint32_t k = 0; k < TL_COUNT_OF(counts) && n_before < n_there; k++) {
        some.n_events = counts[k] < n_there ? counts[k] : n_there;
        for (uint32_t i = 0; i < some.n_events; i++)
            some.events[i] = order[i];
        for (uint32_t d = 0; d < setup->n_designs && status == TL_OK; d++) {
            uint64_t outgrown_by = 0;
            status = fill_row(&some, setup->designs[d], &c->spreads[c->n_spreads + d], &outgrown_by, err);
            if (status != TL_OK || outgrown_by == 0)
                continue;
            // For this row and those with more events.
            some.interval_cycles = tl_compare_grown_interval(outgrown_by);
            // All designs of the row run again.
            d = UINT32_MAX;
        }
        c->n_spreads += setup->n_designs;
        n_before = some.n_events;
    }
    return status;
}
