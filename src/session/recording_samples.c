// SPDX-License-Identifier: MIT
// Samples of a PMU in a recording; see recording_samples.h.
#include "session/recording_samples.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/strbuf.h"
#include "model/attribution.h"
#include "profile/columns.h"
#include "session/source.h"

static tl_status no_memory(tl_error *err) { return tl_fail(err, TL_ENOMEM, "the host has no memory left for samples of a profile"); }

static bool widen(tl_recorded_samples *s, uint32_t row) {
    if (row < s->room)
        return true;
    const size_t n_events = s->source->n_counted;
    uint32_t room = s->room == 0 ? 1024 : 2 * s->room;
    while (room <= row)
        room *= 2;
    uint64_t *larger = realloc(s->counts, room * n_events * sizeof *larger);
    if (!larger)
        return false;
    memset(larger + s->room * n_events, 0, (room - s->room) * n_events * sizeof *larger);
    s->counts = larger;
    s->room = room;
    return true;
}

static void take(void *ctx, tl_hart *h, uint32_t event, uint64_t pc, uint64_t distance) {
    tl_recorded_samples *s = ctx;
    if (tl_attribution_is_outside(s->attribution))
        return;
    const uint32_t row = tl_attribution_row_at(h, pc);
    if (row == UINT32_MAX || !widen(s, row)) {
        s->lacks_memory = true;
        return;
    }
    s->counts[(size_t)row * s->source->n_counted + event]++;
    if (distance != TL_UNKNOWN_DISTANCE)
        s->distances[(size_t)event * TL_PROFILE_DISTANCES + tl_lesser(distance, TL_PROFILE_DISTANCES - 1)]++;
    s->n_rows = row >= s->n_rows ? row + 1 : s->n_rows;
}

static void lose(void *ctx, uint32_t event, uint64_t n) {
    tl_recorded_samples *s = ctx;
    if (!tl_attribution_is_outside(s->attribution))
        s->lost[event] += n;
}

tl_status tl_recorded_samples_begin(tl_session *session, const tl_attribution *attribution, uint64_t period, tl_recorded_samples *samples,
                                    tl_error *err) {
    const tl_sample_taker sampling = {.period = period, .take = take, .lose = lose, .ctx = samples};
    samples->period = period;
    samples->attribution = attribution;
    const tl_status status = tl_session_sample(session, &sampling, &samples->source, err);
    if (status != TL_OK)
        return status;
    samples->lost = calloc((size_t)samples->source->n_counted + 1, sizeof *samples->lost);
    samples->distances = calloc((size_t)samples->source->n_counted * TL_PROFILE_DISTANCES + 1, sizeof *samples->distances);
    return samples->lost && samples->distances ? TL_OK : no_memory(err);
}

void tl_recorded_samples_done(tl_recorded_samples *samples) {
    free(samples->lost);
    free(samples->distances);
    free(samples->counts);
}

// Adds names of the cells' events to the sum, each once: cells of several units are one event.
// false: the profile lacks one of them, as a clock of one mode.
static bool add_signals(const tl_cell *cells, uint32_t n, const tl_outline *outline, const tl_profile *p, bool *is_in, tl_strbuf *sum) {
    for (uint32_t i = 0; i < n; i++) {
        const char *event = tl_catalogue_signal_at(outline->catalogue, cells[i]).event;
        const uint32_t number = tl_profile_find_event(p, event);
        if (number == TL_PROFILE_NONE)
            return false;
        if (!is_in[number])
            tl_strbuf_addf(sum, "%s%s", *tl_strbuf_text(sum) ? " + " : "", event);
        is_in[number] = true;
    }
    return true;
}

// The sum of the signals that the event counts on all harts, as a formula over names of the
// profile. Events with a name of their own are that name. NULL: there is none.
static tl_status truth_of(const tl_counted *counted, const tl_outline *outline, tl_profile *p, const char **ret_text, tl_error *err) {
    *ret_text = NULL;
    if (counted->no_truth)
        return TL_OK;
    if (counted->truth_text) {
        const tl_formula *formula;
        tl_arena arena = {0};
        tl_error unknown; // a signal that no instruction has
        const tl_status status = tl_profile_formula(p, counted->truth_text, &arena, &formula, &unknown);
        tl_arena_done(&arena);
        if (status != TL_OK)
            return TL_OK;
        *ret_text = tl_arena_strdup(&p->arena, counted->truth_text);
        return *ret_text ? TL_OK : no_memory(err);
    }
    if (tl_profile_find_event(p, counted->name) != TL_PROFILE_NONE && counted->truth) {
        *ret_text = tl_arena_strdup(&p->arena, counted->name);
        return *ret_text ? TL_OK : no_memory(err);
    }
    tl_strbuf sum = {0};
    bool *is_in = calloc((size_t)p->n_events + 1, sizeof *is_in);
    bool is_known = is_in != NULL;
    if (is_known && counted->truth) {
        const tl_cell *cells;
        const uint32_t n = tl_formula_cells(counted->truth, &cells);
        is_known = add_signals(cells, n, outline, p, is_in, &sum);
    }
    // A signal of a shared unit may have a name for each hart.
    for (uint32_t hart = 0; is_known && !counted->truth && counted->cells && hart < outline->header.n_harts; hart++)
        is_known = add_signals(counted->cells[hart], counted->n_cells[hart], outline, p, is_in, &sum);
    tl_status status = is_in && !sum.has_failed ? TL_OK : no_memory(err);
    if (status == TL_OK && is_known && *tl_strbuf_text(&sum)) {
        *ret_text = tl_arena_strdup(&p->arena, tl_strbuf_text(&sum));
        status = *ret_text ? TL_OK : no_memory(err);
    }
    free(is_in);
    tl_strbuf_done(&sum);
    return status;
}

static int by_insn(const void *a, const void *b) {
    const tl_profile_sample *x = a, *y = b;
    if (x->insn != y->insn)
        return x->insn < y->insn ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

// Rows of one instruction and thread become one, because a thread has several spaces.
static bool add_samples(const tl_recorded_samples *s, uint32_t event, tl_profile *p, const uint32_t *insn_of_row,
                        const uint32_t *thread_of_row) {
    tl_profile_sampled *sampled = &p->sampled[p->n_sampled - 1];
    const uint32_t first = p->n_samples;
    for (uint32_t row = 0; row < s->n_rows; row++) {
        const uint64_t n = s->counts[(size_t)row * s->source->n_counted + event];
        tl_profile_sample *sample = n != 0 ? TL_PROFILE_ADD(p, samples) : NULL;
        if (n != 0 && !sample)
            return false;
        if (sample)
            *sample = (tl_profile_sample){.insn = insn_of_row[row], .thread = thread_of_row[row], .n = n};
        sampled->n_samples += n;
    }
    if (p->n_samples == first)
        return true;
    qsort(p->samples + first, p->n_samples - first, sizeof *p->samples, by_insn);
    uint32_t last = first;
    for (uint32_t i = first + 1; i < p->n_samples; i++) {
        if (by_insn(&p->samples[last], &p->samples[i]) == 0)
            p->samples[last].n += p->samples[i].n;
        else
            p->samples[++last] = p->samples[i];
    }
    sampled->first_sample = first;
    sampled->n_groups = last + 1 - first;
    return true;
}

static bool add_distances(const tl_recorded_samples *s, uint32_t event, tl_profile *p) {
    const uint64_t *distances = s->distances + (size_t)event * TL_PROFILE_DISTANCES;
    for (uint32_t i = 0; i < TL_PROFILE_DISTANCES; i++) {
        tl_profile_distance *distance = distances[i] != 0 ? TL_PROFILE_ADD(p, distances) : NULL;
        if (distances[i] != 0 && !distance)
            return false;
        if (distance)
            *distance = (tl_profile_distance){.sampled = p->n_sampled - 1, .distance = i, .n = distances[i]};
    }
    return true;
}

tl_status tl_recorded_samples_end(const tl_recorded_samples *samples, const tl_outline *outline, tl_profile *p, const uint32_t *insn_of_row,
                                  const uint32_t *thread_of_row, tl_error *err) {
    if (samples->lacks_memory)
        return no_memory(err);
    for (uint32_t e = 0; e < samples->source->n_counted; e++) {
        const tl_counted *counted = samples->source->counted[e];
        tl_profile_sampled *sampled = TL_PROFILE_ADD(p, sampled);
        if (!sampled)
            return no_memory(err);
        *sampled = (tl_profile_sampled){.name = tl_arena_strdup(&p->arena, counted->name),
                                        .pmu = tl_arena_strdup(&p->arena, samples->source->name),
                                        .method = tl_arena_strdup(&p->arena, samples->source->type->sampling_method(samples->source, e)),
                                        .period = samples->period,
                                        .n_lost = samples->lost[e]};
        tl_status status =
            sampled->name && sampled->pmu && sampled->method ? truth_of(counted, outline, p, &sampled->truth, err) : no_memory(err);
        if (status != TL_OK)
            return status;
        if (!add_samples(samples, e, p, insn_of_row, thread_of_row) || !add_distances(samples, e, p))
            return no_memory(err);
    }
    return TL_OK;
}
