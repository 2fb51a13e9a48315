// SPDX-License-Identifier: MIT
// Sampling by assists. A precise counter counts uops one by one, in the order of retirement. A
// counter that has overflowed is armed: the next instruction that matches does not retire. An
// assist stores the registers in the debug store area, and the instruction begins again. Of a
// Pentium 4, counters 16 and 17 sample precisely. With NBX all do. Counters of other events are
// imprecise: an armed one takes the next instruction.
#include <string.h>

#include "pmu/netburst/state.h"

// Offsets in the management area, and sizes, of the 32-bit and of the 64-bit format.
enum { BASE_32 = 0x10, BASE_64 = 0x20, RESET_32 = 0x20, RESET_64 = 0x40, N_POINTERS = 4 };
enum { VALUES_32 = 10 };

static bool is_tag_event(uint8_t event) {
    return event == TL_NB_FRONT_END_EVENT || event == TL_NB_EXECUTION_EVENT || event == TL_NB_REPLAY_EVENT;
}

bool tl_netburst_is_of_retirement(uint8_t event) {
    return is_tag_event(event) || event == TL_NB_INSTR_RETIRED || event == TL_NB_UOPS_RETIRED || event == TL_NB_BRANCH_RETIRED ||
           event == TL_NB_MISPRED_BRANCH_RETIRED || event == TL_NB_INSTR_COMPLETED;
}

static bool is_chosen(const tl_netburst *n, uint32_t counter) { return n->settings.nbx && *n->sample >> counter & 1; }

static bool may_sample(const tl_netburst *n, uint32_t counter, uint32_t thread) {
    const uint64_t wanted = TL_CCCR_ENABLE | (thread == 0 ? TL_CCCR_OVF_PMI_T0 : TL_CCCR_OVF_PMI_T1);
    return thread < n->n_threads && (n->cccr[counter] & wanted) == wanted && n->threads[thread]->ds_area != 0 &&
           (*n->pebs_enable & (thread == 0 ? TL_PEBS_MY_THREAD : TL_PEBS_OTHER_THREAD));
}

// SDM: the conditions of precise sampling. A counter that compares is no precise one.
uint32_t tl_netburst_sampled_thread(const tl_netburst *n, uint32_t counter, const tl_used_escr *escr, bool *ret_is_precise) {
    const bool compares = n->cccr[counter] & TL_CCCR_COMPARE;
    *ret_is_precise = !compares && (is_chosen(n, counter) ? tl_netburst_is_of_retirement(escr->event) : is_tag_event(escr->event));
    if (is_chosen(n, counter)) {
        for (uint32_t thread = 0; thread < TL_NETBURST_THREADS && escr->event != TL_NB_NO_EVENT; thread++)
            if (may_sample(n, counter, thread))
                return thread;
        return TL_NETBURST_THREADS;
    }
    const uint32_t thread = counter - TL_NETBURST_PEBS_T0;
    return counter >= TL_NETBURST_PEBS_T0 && *ret_is_precise && may_sample(n, counter, thread) ? thread : TL_NETBURST_THREADS;
}

static uint32_t n_matching(const tl_netburst *n, const tl_sampler *s, const tl_netburst_occurrence *uops, uint32_t n_uops, uint8_t active) {
    uint32_t matching = 0;
    for (uint32_t i = 0; i < n_uops && (s->by_active >> active & 1); i++)
        matching += uops[i].event == s->escr.event && tl_netburst_matches(n, &s->escr, &uops[i], active, 0);
    return matching;
}

static bool captures(const tl_netburst *n, const tl_netburst_thread *t, const tl_sampler *s, uint32_t matching) {
    return (n->cccr[s->counter] & TL_CCCR_OVF) && (s->is_precise ? matching > 0 : !t->is_restarted);
}

static void count_retired(tl_netburst *n, const tl_sampler *s, uint32_t matching) {
    const uint64_t sum = n->counter[s->counter] + matching;
    n->counter[s->counter] = sum & TL_NETBURST_VALUE;
    if (sum > TL_NETBURST_VALUE || (n->cccr[s->counter] & TL_CCCR_FORCE_OVF)) {
        n->cccr[s->counter] |= TL_CCCR_OVF;
        n->is_stale = true; // an extended cascade may begin in the next clock
    }
}

static void count_all(tl_netburst *n, const tl_sampling *sampling, const uint32_t *matching) {
    for (uint32_t i = 0; i < sampling->n; i++)
        if (matching[i] > 0)
            count_retired(n, &sampling->samplers[i], matching[i]);
}

// Events of an instruction for each sampler. skips_armed: a counter that would capture it if it
// could does not count it.
static void match_all(const tl_netburst *n, const tl_sampling *sampling, const tl_netburst_occurrence *uops, uint32_t n_uops,
                      uint8_t active, bool skips_armed, uint32_t *ret_matching) {
    for (uint32_t i = 0; i < sampling->n; i++) {
        const tl_sampler *s = &sampling->samplers[i];
        const bool counts = s->is_precise && !(skips_armed && (n->cccr[s->counter] & TL_CCCR_OVF));
        ret_matching[i] = counts ? n_matching(n, s, uops, n_uops, active) : 0;
    }
}

bool tl_netburst_retires(tl_netburst *n, uint32_t thread, const tl_netburst_occurrence *uops, uint32_t n_uops, uint8_t active) {
    const tl_sampling *sampling = &n->sampling[thread];
    tl_netburst_thread *t = n->threads[thread];
    uint32_t matching[TL_NETBURST_COUNTERS], captured = 0;
    match_all(n, sampling, uops, n_uops, active, false, matching);
    for (uint32_t i = 0; i < sampling->n; i++)
        captured |= captures(n, t, &sampling->samplers[i], matching[i]) ? UINT32_C(1) << sampling->samplers[i].counter : 0;
    if (captured != 0) {
        t->captured = captured;
        return false;
    }
    t->is_restarted = false;
    count_all(n, sampling, matching);
    return true;
}

uint64_t tl_netburst_sampling_room(const tl_netburst *n, uint32_t thread, const tl_netburst_occurrence *what, uint8_t active) {
    const tl_sampling *sampling = &n->sampling[thread];
    uint64_t room = UINT64_MAX;
    for (uint32_t i = 0; i < sampling->n; i++) {
        const uint32_t counter = sampling->samplers[i].counter;
        if (n_matching(n, &sampling->samplers[i], what, 1, active) == 0)
            continue;
        if (n->cccr[counter] & (TL_CCCR_OVF | TL_CCCR_FORCE_OVF))
            return 0;
        room = TL_NETBURST_VALUE - n->counter[counter] < room ? TL_NETBURST_VALUE - n->counter[counter] : room;
    }
    return room;
}

void tl_netburst_sample_alike(tl_netburst *n, uint32_t thread, const tl_netburst_occurrence *what, uint8_t active, uint64_t times) {
    const tl_sampling *sampling = &n->sampling[thread];
    for (uint32_t i = 0; i < sampling->n && times > 0; i++)
        n->counter[sampling->samplers[i].counter] += times * n_matching(n, &sampling->samplers[i], what, 1, active);
}

void tl_netburst_passes(tl_netburst *n, uint32_t thread) { n->threads[thread]->is_restarted = false; }

void tl_netburst_has_retired(tl_netburst *n, uint32_t thread, const tl_netburst_occurrence *uops, uint32_t n_uops, uint8_t active) {
    uint32_t matching[TL_NETBURST_COUNTERS];
    match_all(n, &n->sampling[thread], uops, n_uops, active, true, matching);
    n->threads[thread]->is_restarted = false;
    count_all(n, &n->sampling[thread], matching);
}

// ---- The debug store area.

typedef struct area {
    uint64_t pointers[N_POINTERS]; // base, index, maximum, threshold
    uint64_t reset;
} area;
enum { INDEX = 1, MAXIMUM, THRESHOLD };

static uint32_t pointer_bytes(const tl_netburst *n) { return n->settings.ds64 ? 8 : 4; }

// Addresses of the 32-bit format wrap around at 4 GiB. No field and no record does.
static bool transfer(const tl_netburst *n, uint32_t thread, uint64_t vaddr, void *bytes, uint32_t n_bytes, bool is_write) {
    if (!n->settings.ds64)
        vaddr &= UINT32_MAX;
    if (vaddr + n_bytes - 1 > (n->settings.ds64 ? UINT64_MAX : UINT32_MAX) || vaddr + n_bytes - 1 < vaddr)
        return false;
    if (n->store.transfer)
        return n->store.transfer(n->store.ctx, thread, vaddr, bytes, n_bytes, is_write);
    return n->host.transfer && n->host.transfer(n->host.ctx, thread, vaddr, bytes, n_bytes, is_write);
}

void tl_netburst_set_store(tl_netburst *n, const tl_netburst_store *store) { n->store = *store; }

static bool read_area(const tl_netburst *n, uint32_t thread, area *ret_area) {
    const uint64_t vaddr = n->threads[thread]->ds_area;
    const uint32_t size = pointer_bytes(n);
    *ret_area = (area){.reset = 0};
    for (uint32_t i = 0; i < N_POINTERS; i++)
        if (!transfer(n, thread, vaddr + (n->settings.ds64 ? BASE_64 : BASE_32) + i * size, &ret_area->pointers[i], size, false))
            return false;
    return transfer(n, thread, vaddr + (n->settings.ds64 ? RESET_64 : RESET_32), &ret_area->reset, sizeof ret_area->reset, false);
}

static bool is_extended(const tl_netburst *n) { return n->settings.nbx && (*n->control & TL_NBX_EXTENDED); }

static uint32_t record_bytes(const tl_netburst *n) {
    const uint32_t registers = n->settings.ds64 ? TL_NETBURST_RECORD_VALUES * 8 : VALUES_32 * 4;
    return registers + (is_extended(n) ? TL_NBX_RECORD_BYTES : 0u);
}

const tl_sampler *tl_netburst_sampler_of(const tl_netburst *n, uint32_t thread, uint32_t counter) {
    const tl_sampling *s = &n->sampling[thread];
    for (uint32_t i = 0; i < s->n; i++)
        if (s->samplers[i].counter == counter)
            return &s->samplers[i];
    return NULL;
}

// docs/netburst.md, 10.10.
static void extend(const tl_netburst *n, uint32_t thread, uint32_t counter, uint8_t bytes[TL_NBX_RECORD_BYTES]) {
    const tl_netburst_thread *t = n->threads[thread];
    const tl_nbx_access *a = &t->access;
    const tl_sampler *s = tl_netburst_sampler_of(n, thread, counter);
    const uint8_t flags = a->flags | (!s || s->is_precise ? TL_NBX_IS_PRECISE : 0);
    const uint64_t words[TL_NBX_RECORD_BYTES / 8] = {
        a->clock,   a->n_retired,
        t->context, thread | counter << 8 | (uint32_t)a->level << 16 | (uint32_t)flags << 24 | (uint64_t)a->tags << 32,
        a->vaddr,   a->paddr,
        a->latency, (n->counter[counter] - n->began[counter]) & TL_NETBURST_VALUE,
    };
    memcpy(bytes, words, sizeof words);
}

static bool write_record(const tl_netburst *n, uint32_t thread, uint32_t counter, area *a, const uint64_t *values) {
    const uint32_t size = pointer_bytes(n), n_values = n->settings.ds64 ? TL_NETBURST_RECORD_VALUES : VALUES_32;
    uint8_t record[TL_NETBURST_RECORD_VALUES * 8 + TL_NBX_RECORD_BYTES];
    for (uint32_t i = 0; i < n_values; i++)
        memcpy(record + i * size, &values[i], size); // both are little-endian
    extend(n, thread, counter, record + n_values * size);
    if (!transfer(n, thread, a->pointers[INDEX], record, record_bytes(n), true))
        return false;
    uint64_t index = a->pointers[INDEX] + record_bytes(n);
    if (!transfer(n, thread, n->threads[thread]->ds_area + (n->settings.ds64 ? BASE_64 : BASE_32) + INDEX * size, &index, size, true))
        return false;
    a->pointers[INDEX] = index;
    return true;
}

static bool has_room(const tl_netburst *n, const area *a) {
    return a->pointers[INDEX] <= a->pointers[MAXIMUM] && a->pointers[MAXIMUM] - a->pointers[INDEX] >= record_bytes(n);
}

static void begin_period(tl_netburst *n, uint32_t counter, uint64_t value) {
    n->counter[counter] = n->began[counter] = tl_nbx_vary(n, value & TL_NETBURST_VALUE);
}

// The reset value is in the area, so a fault leaves the counter as it wrapped: at 0. The sample is
// dropped, the program goes on, and the next overflow is 2^40 events away. Software that makes the
// area resident writes the counter again. Counters of NBX_SAMPLE have a preset of their own.
static void sample(tl_netburst *n, uint32_t thread, uint32_t counter, area *a, bool has_area, const uint64_t *values) {
    tl_netburst_samples_stored *samples = &n->threads[thread]->samples;
    n->cccr[counter] &= ~TL_CCCR_OVF;
    if (has_area && !has_room(n, a)) {
        samples->n_lost += 1;
        n->n_lost[counter] += 1;
    } else if (has_area && write_record(n, thread, counter, a, values)) {
        samples->n_stored += 1;
    } else {
        samples->n_faults += 1;
    }
    if (is_chosen(n, counter))
        begin_period(n, counter, n->preset[counter]);
    else if (has_area)
        begin_period(n, counter, a->reset);
}

void tl_netburst_note_access(tl_netburst *n, uint32_t thread, const tl_nbx_access *access) { n->threads[thread]->access = *access; }

void tl_netburst_assist(tl_netburst *n, uint32_t thread, const uint64_t values[TL_NETBURST_RECORD_VALUES]) {
    tl_netburst_thread *t = n->threads[thread];
    area a;
    tl_netburst_settle(n);
    const bool has_area = read_area(n, thread, &a);
    uint32_t left = t->captured != 0 ? t->captured : UINT32_C(1) << (TL_NETBURST_PEBS_T0 + thread);
    n->is_stale = true; // an extended cascade may end
    for (; left != 0; left &= left - 1)
        sample(n, thread, (uint32_t)__builtin_ctz(left), &a, has_area, values);
    t->captured = 0;
    t->is_restarted = true;
    t->access = (tl_nbx_access){.clock = 0};
    if (!has_area)
        return;
    t->ds_latch = a.pointers[INDEX] >= a.pointers[THRESHOLD];
    tl_netburst_update_lines(n);
}

void tl_netburst_look_at_area(tl_netburst *n, uint32_t thread) {
    area a;
    tl_netburst_thread *t = n->threads[thread];
    if (t->ds_latch && read_area(n, thread, &a))
        t->ds_latch = a.pointers[INDEX] >= a.pointers[THRESHOLD];
}

uint64_t tl_netburst_lost_by(const tl_netburst *n, uint32_t counter) { return n->n_lost[counter]; }

tl_netburst_samples_stored tl_netburst_samples_of(const tl_netburst *n, uint32_t thread) { return n->threads[thread]->samples; }
