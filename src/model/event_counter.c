// SPDX-License-Identifier: MIT
// Sums of events, and the distance to their overflow: event_counter.h.
#include "model/event_counter.h"

#include "base/bits.h"

// With an overflow further away than this, slow-path accesses need no watching, because none takes
// so many cycles.
static const uint64_t WATCH_CYCLES = UINT64_C(1) << 24;
// The distance to an overflow costs a sync. It is computed again when an eighth of the distance is
// left, or at the very end.
static const uint64_t SHORT_SPAN_CYCLES = 4096;
// The longest distance reported. Sums with it do not overflow.
static const uint64_t FAR_CYCLES = UINT64_C(1) << 62;

tl_status tl_totals_init(tl_totals *totals, const tl_pmu *pmu, tl_arena *arena, tl_sources ret_clock[static 2], tl_error *err) {
    static const char *const names[2] = {"hart.cycle", "hart.instret"};
    for (uint32_t i = 0; i < TL_COUNT_OF(names); i++) {
        tl_status status = tl_sources_resolve(names[i], pmu->host->probe, pmu->hart, arena, &ret_clock[i], err);
        if (status != TL_OK)
            return status;
    }
    *totals = (tl_totals){.host = pmu->host, .hart = pmu->hart, .cycle_cell = ret_clock[0].cells[0], .instret_cell = ret_clock[1].cells[0]};
    return TL_OK;
}

uint64_t tl_totals_cycle(const tl_totals *totals) { return totals->host->cycle(totals->host->ctx, totals->hart); }
static uint64_t instret_of(const tl_totals *totals) { return totals->host->instret(totals->host->ctx, totals->hart); }

void tl_event_counter_combine(tl_event_counter *c) {
    c->max_step = 0;
    c->needs_sync = c->is_jumpy = false;
    c->is_slow = c->is_retired = true;
    for (uint32_t i = 0; i < c->n_parts; i++) {
        c->max_step += c->parts[i]->max_step;
        c->needs_sync |= c->parts[i]->needs_sync;
        c->is_jumpy |= c->parts[i]->is_jumpy;
        c->is_slow &= c->parts[i]->is_slow;
        c->is_retired &= c->parts[i]->is_retired;
    }
}

uint64_t tl_event_counter_total(const tl_event_counter *c, tl_totals *totals) {
    const tl_pmu_host *host = totals->host;
    if (c->needs_sync && !totals->is_synced) {
        host->sync(host->ctx, totals->hart);
        totals->is_synced = true;
    }
    uint64_t total = 0;
    for (uint32_t i = 0; i < c->n_parts; i++)
        for (uint32_t s = 0; s < c->parts[i]->n_cells; s++) {
            tl_cell cell = c->parts[i]->cells[s];
            if (cell == totals->cycle_cell)
                total += tl_totals_cycle(totals);
            else if (cell == totals->instret_cell)
                total += instret_of(totals);
            else
                total += tl_probe_read(host->probe, cell);
        }
    return total >> c->divider_log2;
}

static uint64_t later(uint64_t from, uint64_t span) { return span > UINT64_MAX - from ? UINT64_MAX : from + span; }

void tl_event_counter_aim(tl_event_counter *c, const tl_totals *totals, uint64_t headroom) {
    if (c->divider_log2 != 0) { // the first step may come at once
        const uint64_t most = UINT64_MAX >> c->divider_log2;
        headroom = headroom == 0 ? 0 : ((headroom - 1 < most ? headroom - 1 : most) << c->divider_log2) | 1;
    }
    c->span = headroom / (c->max_step > 0 ? c->max_step : 1);
    c->safe_until = later(tl_totals_cycle(totals), c->span);
    c->safe_instret = later(instret_of(totals), c->span);
    c->is_watched = c->is_jumpy && c->span <= WATCH_CYCLES;
}

// Returns cycles without a possible overflow, without reading the total. An instruction takes at
// least one cycle, therefore totals that grow with instructions cannot overflow sooner.
static uint64_t safe_cycles(const tl_event_counter *c, const tl_totals *totals) {
    uint64_t now = tl_totals_cycle(totals), left = c->safe_until > now ? c->safe_until - now : 0;
    if (c->is_retired) {
        uint64_t done = instret_of(totals), insns = c->safe_instret > done ? c->safe_instret - done : 0;
        left = insns > left ? insns : left;
    }
    return left;
}

bool tl_event_counter_is_stale(const tl_event_counter *c, const tl_totals *totals) {
    uint64_t left = safe_cycles(c, totals);
    return left == 0 || (c->span > SHORT_SPAN_CYCLES && left <= c->span / 8);
}

uint64_t tl_event_counter_deadline(tl_event_counter *c, const tl_totals *totals) {
    uint64_t left = safe_cycles(c, totals);
    if (c->is_jumpy && !c->is_watched) {
        left = left > WATCH_CYCLES ? left - WATCH_CYCLES : 0;
        c->is_watched = left == 0;
    }
    return left < FAR_CYCLES ? left : FAR_CYCLES;
}

bool tl_event_counter_is_due(const tl_event_counter *c, const tl_totals *totals) {
    return tl_event_counter_is_quiet(c) || safe_cycles(c, totals) == 0;
}
