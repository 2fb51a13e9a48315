// SPDX-License-Identifier: MIT
// The course of a recorded run; see recording_timeline.h.
#include "session/recording_timeline.h"

#include <stdlib.h>
#include <string.h>

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left for the intervals of a profile"); }

tl_status tl_recorded_timeline_begin(tl_recorded_timeline *timeline, tl_machine *machine, tl_code_map *map, const uint32_t *event_of_cell,
                                     uint32_t n_events, tl_error *err) {
    const uint32_t n_cells = machine->probe.n_cells;
    *timeline = (tl_recorded_timeline){.machine = machine,
                                       .map = map,
                                       .clock_hz = machine->config.clock_hz,
                                       .event_of_cell = malloc((n_cells + 1u) * sizeof *event_of_cell),
                                       .before = calloc(n_events + 1u, sizeof(uint64_t)),
                                       .now = calloc(n_events + 1u, sizeof(uint64_t)),
                                       .n_events = n_events};
    if (!timeline->event_of_cell || !timeline->before || !timeline->now)
        return no_memory(err);
    memcpy(timeline->event_of_cell, event_of_cell, n_cells * sizeof *event_of_cell);
    map->keeps_stints = true;
    return TL_OK;
}

static uint64_t ns_of(const tl_recorded_timeline *t, uint64_t cycles) {
    return (uint64_t)((unsigned __int128)cycles * 1000000000 / t->clock_hz);
}

void tl_recorded_timeline_step(tl_recorded_timeline *t, uint64_t now_cycles) {
    const uint64_t begin = t->n_intervals > 0 ? t->intervals[t->n_intervals - 1].end_cycles : 0;
    memset(t->now, 0, t->n_events * sizeof *t->now);
    for (uint32_t cell = 0; cell < t->machine->probe.n_cells; cell++)
        if (t->event_of_cell[cell] != TL_PROFILE_NONE)
            t->now[t->event_of_cell[cell]] += t->machine->tally[cell];
    tl_profile_interval *interval = tl_profile_grow((void **)&t->intervals, &t->n_intervals, sizeof *interval);
    t->lacks_memory |= !interval;
    if (!interval)
        return;
    *interval = (tl_profile_interval){.begin_cycles = begin,
                                      .end_cycles = now_cycles,
                                      .begin_ns = ns_of(t, begin),
                                      .end_ns = ns_of(t, now_cycles),
                                      .first_count = t->n_counts};
    for (uint32_t event = 0; event < t->n_events; event++) {
        if (t->now[event] == t->before[event])
            continue;
        tl_profile_tally *count = tl_profile_grow((void **)&t->counts, &t->n_counts, sizeof *count);
        t->lacks_memory |= !count;
        if (!count)
            return;
        *count = (tl_profile_tally){event, t->now[event] - t->before[event]};
        interval->n_counts++;
        t->before[event] = t->now[event];
    }
}

// The number in the timeline of a region of the session.
static uint32_t region_of(tl_recorded_timeline *t, uint32_t region, const char *name) {
    uint32_t i = 0;
    while (i < t->n_regions && t->region_numbers[i] != region)
        i++;
    if (i == t->n_regions) {
        uint32_t n_numbers = i, n_open = i;
        uint32_t *number = tl_profile_grow((void **)&t->region_numbers, &n_numbers, sizeof *number);
        uint32_t *open = tl_profile_grow((void **)&t->open_visits, &n_open, sizeof *open);
        if (!number || !open || !tl_profile_grow((void **)&t->regions, &t->n_regions, sizeof *t->regions))
            return TL_PROFILE_NONE;
        *number = region;
    }
    t->regions[i].name = name;
    return i;
}

void tl_recorded_timeline_visit(void *ctx, uint32_t region, const char *name, bool is_begin, uint64_t cycle) {
    tl_recorded_timeline *t = ctx;
    const uint32_t i = region_of(t, region, name);
    if (i != TL_PROFILE_NONE && is_begin) {
        tl_profile_visit *visit = tl_profile_grow((void **)&t->visits, &t->n_visits, sizeof *visit);
        if (visit) {
            *visit = (tl_profile_visit){i, cycle, cycle};
            t->open_visits[i] = t->n_visits;
            return;
        }
    } else if (i != TL_PROFILE_NONE) {
        if (t->open_visits[i] != 0)
            t->visits[t->open_visits[i] - 1].end_cycles = cycle;
        t->open_visits[i] = 0;
        return;
    }
    t->lacks_memory = true;
}

// The profile's threads are those of the code map.
static bool add_stints(const tl_recorded_timeline *t, tl_profile *p) {
    for (uint32_t i = 0; i < t->map->n_stints; i++) {
        tl_profile_stint *stint = TL_PROFILE_ADD(p, stints);
        if (!stint)
            return false;
        const tl_code_stint *from = &t->map->stints[i];
        *stint = (tl_profile_stint){from->thread, from->hart, from->begin_cycles, from->end_cycles};
    }
    return true;
}

tl_status tl_recorded_timeline_end(tl_recorded_timeline *t, uint64_t now_cycles, tl_profile *p, tl_error *err) {
    tl_recorded_timeline_step(t, now_cycles);
    for (uint32_t hart = 0; hart < t->machine->n_harts; hart++)
        tl_code_map_leave(t->map, hart, now_cycles);
    for (uint32_t i = 0; i < t->n_regions; i++)
        if (t->open_visits[i] != 0)
            t->visits[t->open_visits[i] - 1].end_cycles = now_cycles;
    for (uint32_t i = 0; i < t->n_regions; i++) {
        t->regions[i].name = tl_arena_strdup(&p->arena, t->regions[i].name);
        t->lacks_memory |= !t->regions[i].name;
    }
    if (t->lacks_memory || !add_stints(t, p))
        return no_memory(err);
    p->intervals = t->intervals;
    p->n_intervals = t->n_intervals;
    p->interval_counts = t->counts;
    p->n_interval_counts = t->n_counts;
    p->regions = t->regions;
    p->n_regions = t->n_regions;
    p->visits = t->visits;
    p->n_visits = t->n_visits;
    t->intervals = NULL;
    t->counts = NULL;
    t->regions = NULL;
    t->visits = NULL;
    return TL_OK;
}

void tl_recorded_timeline_done(tl_recorded_timeline *t) {
    free(t->event_of_cell);
    free(t->before);
    free(t->now);
    free(t->intervals);
    free(t->counts);
    free(t->regions);
    free(t->visits);
    free(t->region_numbers);
    free(t->open_visits);
}
