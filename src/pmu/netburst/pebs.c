// SPDX-License-Identifier: MIT
// Precise sampling. Counters 16 and 17 count tagged uops one by one, in the order of retirement. A
// counter that has overflowed is armed: the next uop that matches does not retire. An assist stores
// the registers in the debug store area, and the instruction begins again.
#include <string.h>

#include "pmu/netburst/state.h"

// Offsets in the management area, and sizes, of the 32-bit and of the 64-bit format.
enum { BASE_32 = 0x10, BASE_64 = 0x20, RESET_32 = 0x20, RESET_64 = 0x40, N_POINTERS = 4 };
enum { VALUES_32 = 10 };

static bool is_precise_event(uint8_t event) {
    return event == TL_NB_FRONT_END_EVENT || event == TL_NB_EXECUTION_EVENT || event == TL_NB_REPLAY_EVENT;
}

// SDM: the conditions of precise sampling. A counter that compares is no sampling one.
bool tl_netburst_samples(const tl_netburst *n, uint32_t counter, const tl_used_escr *escr) {
    if (counter < TL_NETBURST_PEBS_T0 || counter - TL_NETBURST_PEBS_T0 >= n->n_threads)
        return false;
    const uint32_t thread = counter - TL_NETBURST_PEBS_T0;
    const uint64_t cccr = n->cccr[counter], wanted = TL_CCCR_ENABLE | (thread == 0 ? TL_CCCR_OVF_PMI_T0 : TL_CCCR_OVF_PMI_T1);
    return (cccr & wanted) == wanted && !(cccr & TL_CCCR_COMPARE) && is_precise_event(escr->event) &&
           (*n->pebs_enable & (thread == 0 ? TL_PEBS_MY_THREAD : TL_PEBS_OTHER_THREAD)) && n->threads[thread]->ds_area != 0;
}

bool tl_netburst_retires(tl_netburst *n, uint32_t thread, const tl_netburst_occurrence *uops, uint32_t n_uops, uint8_t active) {
    const tl_sampling *s = &n->sampling[thread];
    const uint32_t counter = TL_NETBURST_PEBS_T0 + thread;
    uint32_t n_matching = 0;
    if (!s->is_on)
        return true;
    for (uint32_t i = 0; i < n_uops; i++)
        n_matching += uops[i].event == s->escr.event && tl_netburst_matches(n, &s->escr, &uops[i], active);
    if (n_matching == 0 || !tl_netburst_is_mode(n, s->thread_mode, active))
        return true;
    if (n->cccr[counter] & TL_CCCR_OVF)
        return false;
    const uint64_t sum = n->counter[counter] + n_matching;
    n->counter[counter] = sum & TL_NETBURST_VALUE;
    if (sum > TL_NETBURST_VALUE || (n->cccr[counter] & TL_CCCR_FORCE_OVF)) {
        n->cccr[counter] |= TL_CCCR_OVF;
        n->is_stale = true; // an extended cascade may begin in the next clock
    }
    return true;
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

static bool write_record(const tl_netburst *n, uint32_t thread, area *a, const uint64_t *values) {
    const uint32_t size = pointer_bytes(n), n_values = n->settings.ds64 ? TL_NETBURST_RECORD_VALUES : VALUES_32;
    uint8_t record[TL_NETBURST_RECORD_VALUES * 8];
    for (uint32_t i = 0; i < n_values; i++)
        memcpy(record + i * size, &values[i], size); // both are little-endian
    if (!transfer(n, thread, a->pointers[INDEX], record, n_values * size, true))
        return false;
    uint64_t index = a->pointers[INDEX] + n_values * size;
    if (!transfer(n, thread, n->threads[thread]->ds_area + (n->settings.ds64 ? BASE_64 : BASE_32) + INDEX * size, &index, size, true))
        return false;
    a->pointers[INDEX] = index;
    return true;
}

static bool has_room(const tl_netburst *n, const area *a) {
    const uint64_t bytes = n->settings.ds64 ? TL_NETBURST_RECORD_VALUES * 8 : VALUES_32 * 4;
    return a->pointers[INDEX] <= a->pointers[MAXIMUM] && a->pointers[MAXIMUM] - a->pointers[INDEX] >= bytes;
}

void tl_netburst_assist(tl_netburst *n, uint32_t thread, const uint64_t values[TL_NETBURST_RECORD_VALUES]) {
    tl_netburst_thread *t = n->threads[thread];
    const uint32_t counter = TL_NETBURST_PEBS_T0 + thread;
    area a;
    n->cccr[counter] &= ~TL_CCCR_OVF;
    n->is_stale = true; // an extended cascade may end
    // The reset value is in the area, so a fault leaves the counter as it wrapped: at 0. The sample
    // is dropped, the program goes on, and the next overflow is 2^40 events away. Software that
    // makes the area resident writes the counter again.
    if (!read_area(n, thread, &a)) {
        t->samples.n_faults += 1;
        return;
    }
    if (!has_room(n, &a))
        t->samples.n_lost += 1;
    else if (write_record(n, thread, &a, values))
        t->samples.n_stored += 1;
    else
        t->samples.n_faults += 1;
    n->counter[counter] = a.reset & TL_NETBURST_VALUE;
    t->ds_latch = a.pointers[INDEX] >= a.pointers[THRESHOLD];
    tl_netburst_update_lines(n);
}

void tl_netburst_look_at_area(tl_netburst *n, uint32_t thread) {
    area a;
    tl_netburst_thread *t = n->threads[thread];
    if (t->ds_latch && read_area(n, thread, &a))
        t->ds_latch = a.pointers[INDEX] >= a.pointers[THRESHOLD];
}

tl_netburst_samples_stored tl_netburst_samples_of(const tl_netburst *n, uint32_t thread) { return n->threads[thread]->samples; }
