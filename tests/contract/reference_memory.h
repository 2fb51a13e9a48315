// SPDX-License-Identifier: MIT
// The memory system once more, written to be read. Each access is walked through docs/model.md
// section 5 from the top, one rule after the other. Tables hold ways in explicit order of use, and
// pseudo-LRU keeps its tree bits. There is no directory: a request looks into every L1. There is no
// slot and no stamp. RAM is the reference's own. It shares nothing with the real one but the
// configuration, the names of the tallies and the bits of page-table entries.
#ifndef TL_TESTS_REFERENCE_MEMORY_H
#define TL_TESTS_REFERENCE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mem/mem_signals.h"
#include "model/hart.h"

enum { REF_I, REF_S, REF_E, REF_M, REF_O }; // O: M that others read, with l2.fill: evict
enum { REF_MAX_WAYS = 64, REF_MAX_BANKS = 64, REF_LEVELS = 4, REF_CYCLES = 1 << 17 };
typedef enum ref_use { REF_FETCH, REF_LOAD, REF_STORE, REF_AMO, REF_WALK, REF_WALK_UPDATE } ref_use;

// ---- tables: caches and TLBs ----

typedef struct ref_page {
    uint64_t vaddr, paddr;
    uint32_t level;
    uint8_t flags;
} ref_page;

typedef struct ref_way {
    bool is_valid;
    uint64_t line; // caches
    ref_page page; // TLBs
    int state;     // L1: REF_*
    bool is_dirty; // L2
    bool is_prefetched;
} ref_way;

typedef struct ref_set {
    ref_way ways[REF_MAX_WAYS];
    // Numbers of ways, first the one used longest ago (fifo: filled longest ago).
    uint32_t order[REF_MAX_WAYS];
    bool points_right[REF_MAX_WAYS]; // plru: node 1 is the root, children of n are 2n and 2n + 1
} ref_set;

typedef struct ref_table {
    uint32_t n_sets, n_ways;
    tl_replacement policy;
    uint64_t random;
    ref_set *sets;
} ref_table;

static uint64_t ref_seed(uint64_t machine_seed, uint64_t unit) {
    uint64_t z = machine_seed + (unit + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    z = z ^ (z >> 31);
    return z == 0 ? 1 : z;
}

static void ref_table_init(ref_table *t, uint32_t n_sets, uint32_t n_ways, tl_replacement policy, uint64_t random) {
    *t = (ref_table){.n_sets = n_sets, .n_ways = n_ways, .policy = policy, .random = random, .sets = calloc(n_sets, sizeof *t->sets)};
    if (!t->sets)
        abort();
    for (uint32_t s = 0; s < n_sets; s++)
        for (uint32_t w = 0; w < n_ways; w++)
            t->sets[s].order[w] = w;
}

static void ref_move_to_end(const ref_table *t, ref_set *set, uint32_t way) {
    uint32_t at = 0;
    while (set->order[at] != way)
        at++;
    for (; at + 1 < t->n_ways; at++)
        set->order[at] = set->order[at + 1];
    set->order[at] = way;
}

static void ref_point_away(const ref_table *t, ref_set *set, uint32_t way) {
    uint32_t node = 1, first = 0, n = t->n_ways;
    while (n > 1) {
        n /= 2;
        bool is_right = way >= first + n;
        set->points_right[node] = !is_right;
        if (is_right)
            first += n;
        node = 2 * node + is_right;
    }
}

static void ref_note_use(const ref_table *t, ref_set *set, uint32_t way) {
    if (t->policy == TL_REPLACE_LRU)
        ref_move_to_end(t, set, way);
    if (t->policy == TL_REPLACE_PLRU)
        ref_point_away(t, set, way);
}

static void ref_note_fill(const ref_table *t, ref_set *set, uint32_t way) {
    ref_move_to_end(t, set, way);
    if (t->policy == TL_REPLACE_PLRU)
        ref_point_away(t, set, way);
}

static uint32_t ref_victim(ref_table *t, ref_set *set) {
    for (uint32_t w = 0; w < t->n_ways; w++)
        if (!set->ways[w].is_valid)
            return w;
    if (t->policy == TL_REPLACE_RANDOM) {
        t->random ^= t->random << 13;
        t->random ^= t->random >> 7;
        t->random ^= t->random << 17;
        return (uint32_t)((t->random >> 32) % t->n_ways);
    }
    if (t->policy == TL_REPLACE_PLRU) {
        uint32_t node = 1, first = 0;
        for (uint32_t n = t->n_ways / 2; n >= 1; n /= 2) {
            bool is_right = set->points_right[node];
            first += is_right ? n : 0;
            node = 2 * node + is_right;
        }
        return first;
    }
    return set->order[0];
}

// ---- the machine ----

typedef struct ref_server {
    uint64_t start, until; // of the last request
    // Of several harts: [c % REF_CYCLES] is c + 1 where cycle c is busy. NULL: one hart.
    uint64_t *busy;
    uint64_t front, reach; // no cycle from `front` on is busy; how far back requests are served
} ref_server;

static void ref_server_init(ref_server *server, const tl_config *config, uint64_t busy) {
    if (config->n_harts == 1)
        return;
    uint64_t n = 1024;
    while (n < 2 * (32 * (uint64_t)config->interleave_cycles + 8 * busy) && n < 1 << 18)
        n *= 2;
    server->reach = n - 64;
    server->busy = calloc(REF_CYCLES, sizeof *server->busy);
    if (!server->busy)
        abort();
}

typedef struct ref_hart {
    uint64_t now, satp, reservation;
    uint32_t priv;      // 0 user, 1 supervisor, 3 machine
    uint64_t status;    // mstatus
    bool is_privileged; // there is physical memory protection:
    uint8_t pmpcfg[16];
    uint64_t pmpaddr[16];
    uint64_t cause, value; // of the last trap
    uint64_t result;       // of the last load, AMO, LR, SC
    uint64_t tally[TL_S_N_CELLS];
    ref_table l1i, l1d, itlb, dtlb, l2tlb;
} ref_hart;

// A device has bytes that remember. One cell counts its reads, so that an access made twice is
// seen.
enum { REF_DEVICE_PADDR = 0x10000000, REF_DEVICE_BYTES = 2048, REF_DEVICE_COUNTER = 64 };
typedef struct ref_device {
    uint8_t bytes[REF_DEVICE_BYTES];
    uint64_t n_reads;
} ref_device;

// No device answers at other places, and there nothing wider than four bytes.
static bool ref_device_has(uint64_t paddr, uint32_t size) {
    uint64_t offset = paddr - REF_DEVICE_PADDR;
    return offset < REF_DEVICE_BYTES && !(offset >= REF_DEVICE_BYTES / 2 && size == 8);
}

static bool ref_device_read(ref_device *device, uint64_t paddr, uint32_t size, uint64_t *ret_value) {
    if (!ref_device_has(paddr, size))
        return false;
    uint64_t offset = paddr - REF_DEVICE_PADDR;
    *ret_value = 0;
    if (offset == REF_DEVICE_COUNTER)
        *ret_value = size == 8 ? ++device->n_reads : ++device->n_reads & ((UINT64_C(1) << 8 * size) - 1);
    else
        memcpy(ret_value, device->bytes + offset, size);
    return true;
}

static bool ref_device_write(ref_device *device, uint64_t paddr, uint32_t size, uint64_t value) {
    if (!ref_device_has(paddr, size))
        return false;
    memcpy(device->bytes + (paddr - REF_DEVICE_PADDR), &value, size);
    return true;
}

typedef struct ref_memory {
    tl_config c;
    ref_device *device; // NULL: there is none
    uint8_t *ram;
    // The modeled machine owns ram and does every access after the reference, which writes nothing.
    bool is_observer;
    ref_hart harts[TL_MAX_HARTS];
    ref_table l2[TL_MAX_L2_SLICES];
    ref_server slice_server[TL_MAX_L2_SLICES], channel_server[TL_MAX_MEM_CHANNELS];
    uint64_t l2_tally[TL_MAX_L2_SLICES][TL_L2_N_SIGNALS], mem_tally[TL_MAX_MEM_CHANNELS][TL_MEM_N_SIGNALS], noc[TL_NOC_N_SIGNALS];
    uint64_t bus[TL_BUS_N_SIGNALS], dma[TL_DMA_N_SIGNALS], links[TL_MAX_HARTS][TL_LINK_N_SIGNALS];
    struct {
        bool is_open;
        uint64_t row;
    } banks[TL_MAX_MEM_CHANNELS][REF_MAX_BANKS];
} ref_memory;

// foreign_ram NULL: a RAM of its own.
static void ref_init(ref_memory *m, const tl_config *config, uint8_t *foreign_ram) {
    memset(m, 0, sizeof *m);
    m->c = *config;
    m->is_observer = foreign_ram != NULL;
    m->ram = foreign_ram ? foreign_ram : calloc(1, config->ram_bytes);
    if (!m->ram)
        abort();
    const tl_cache_config *i = &config->l1i, *d = &config->l1d, *l2 = &config->l2;
    for (uint32_t k = 0; k < config->n_harts; k++) {
        ref_hart *h = &m->harts[k];
        h->reservation = TL_NO_LINE;
        ref_table_init(&h->l1i, i->size_bytes / i->line_bytes / i->ways, i->ways, i->replacement, ref_seed(config->seed, k * 5 + 0));
        ref_table_init(&h->l1d, d->size_bytes / d->line_bytes / d->ways, d->ways, d->replacement, ref_seed(config->seed, k * 5 + 1));
        const tl_tlb_config *it = &config->itlb, *dt = &config->dtlb, *st = &config->l2tlb;
        ref_table_init(&h->itlb, it->entries / it->ways, it->ways, it->replacement, ref_seed(config->seed, k * 5 + 2));
        ref_table_init(&h->dtlb, dt->entries / dt->ways, dt->ways, dt->replacement, ref_seed(config->seed, k * 5 + 3));
        if (st->entries != 0)
            ref_table_init(&h->l2tlb, st->entries / st->ways, st->ways, st->replacement, ref_seed(config->seed, k * 5 + 4));
    }
    uint32_t slice_sets = l2->size_bytes / l2->line_bytes / l2->ways / config->l2_slices;
    for (uint32_t s = 0; s < config->l2_slices; s++)
        ref_table_init(&m->l2[s], slice_sets, l2->ways, l2->replacement, ref_seed(config->seed, 64 + s));
    for (uint32_t s = 0; s < config->l2_slices; s++)
        ref_server_init(&m->slice_server[s], config, config->mem.l2_busy_cycles);
    for (uint32_t c = 0; c < config->mem_channels; c++)
        ref_server_init(&m->channel_server[c], config, config->mem.mem_busy_cycles);
}

static void ref_done(ref_memory *m) {
    for (uint32_t k = 0; k < m->c.n_harts; k++) {
        ref_hart *h = &m->harts[k];
        free(h->l1i.sets);
        free(h->l1d.sets);
        free(h->itlb.sets);
        free(h->dtlb.sets);
        free(h->l2tlb.sets);
    }
    for (uint32_t s = 0; s < m->c.l2_slices; s++) {
        free(m->l2[s].sets);
        free(m->slice_server[s].busy);
    }
    for (uint32_t c = 0; c < m->c.mem_channels; c++)
        free(m->channel_server[c].busy);
    if (!m->is_observer)
        free(m->ram);
}

static uint64_t ref_line_bytes(const ref_memory *m) { return m->c.l1d.line_bytes; }
static uint64_t ref_line_of(const ref_memory *m, uint64_t address) { return address / ref_line_bytes(m) * ref_line_bytes(m); }
static bool ref_is_ram(const ref_memory *m, uint64_t paddr) {
    return paddr >= TL_RAM_BASE_PADDR && paddr < TL_RAM_BASE_PADDR + m->c.ram_bytes;
}
static bool ref_is_write(ref_use use) { return use == REF_STORE || use == REF_AMO || use == REF_WALK_UPDATE; }

static void ref_stall(ref_hart *h, enum tl_hart_cell cause, uint64_t cycles) {
    h->now += cycles;
    h->tally[cause] += cycles;
}

static ref_set *ref_cache_set(const ref_memory *m, ref_table *t, uint64_t line, uint64_t lines_per_set_step) {
    return &t->sets[line / ref_line_bytes(m) / lines_per_set_step % t->n_sets];
}

static ref_way *ref_find_line(const ref_table *t, ref_set *set, uint64_t line) {
    for (uint32_t w = 0; w < t->n_ways; w++)
        if (set->ways[w].is_valid && set->ways[w].line == line)
            return &set->ways[w];
    return NULL;
}

static ref_way *ref_in_l1(const ref_memory *m, ref_table *t, uint64_t line) { return ref_find_line(t, ref_cache_set(m, t, line, 1), line); }

// ---- DRAM ----

static uint64_t ref_serve(ref_server *server, uint64_t time, uint64_t busy) {
    if (server->busy) {
        uint64_t first = time, n_free = 0;
        if (server->front > time + server->reach)
            return 0;
        while (n_free < busy) {
            bool is_busy = server->busy[(first + n_free) % REF_CYCLES] == first + n_free + 1;
            first = is_busy ? first + n_free + 1 : first;
            n_free = is_busy ? 0 : n_free + 1;
        }
        for (uint64_t i = 0; i < busy; i++)
            server->busy[(first + i) % REF_CYCLES] = first + i + 1;
        if (server->front < first + busy)
            server->front = first + busy;
        return first - time;
    }
    bool must_wait = time >= server->start && time < server->until;
    uint64_t begin = must_wait ? server->until : time;
    server->start = begin;
    server->until = begin + busy;
    return begin - time;
}

static uint64_t ref_dram(ref_memory *m, uint64_t line, bool is_write, bool is_awaited, uint64_t time) {
    const tl_mem_config *c = &m->c.mem;
    uint64_t number = line / ref_line_bytes(m), channel = number % m->c.mem_channels;
    uint64_t row_of_channel = number / m->c.mem_channels / (c->mem_row_bytes / ref_line_bytes(m));
    uint64_t bank = row_of_channel % c->mem_banks, row = row_of_channel / c->mem_banks;
    uint64_t *tally = m->mem_tally[channel];
    tally[is_write ? TL_MEM_WRITE : TL_MEM_READ]++;
    uint64_t cycles = ref_serve(&m->channel_server[channel], time, c->mem_busy_cycles);
    if (is_awaited)
        tally[TL_MEM_BUSY] += cycles;
    if (!m->banks[channel][bank].is_open) {
        tally[TL_MEM_ROW_MISS]++;
        cycles += c->mem_row_miss_cycles;
    } else if (m->banks[channel][bank].row == row) {
        tally[TL_MEM_ROW_HIT]++;
        cycles += c->mem_row_hit_cycles;
    } else {
        tally[TL_MEM_ROW_CONFLICT]++;
        cycles += c->mem_row_conflict_cycles;
    }
    m->banks[channel][bank].is_open = true;
    m->banks[channel][bank].row = row;
    return cycles;
}

// ---- L2 and coherence ----

static uint64_t ref_slice(const ref_memory *m, uint64_t line) { return line / ref_line_bytes(m) % m->c.l2_slices; }
static ref_set *ref_l2_set(ref_memory *m, uint64_t line) { return ref_cache_set(m, &m->l2[ref_slice(m, line)], line, m->c.l2_slices); }
static ref_way *ref_in_l2(ref_memory *m, uint64_t line) { return ref_find_line(&m->l2[ref_slice(m, line)], ref_l2_set(m, line), line); }

static bool ref_has_data(int state) { return state == REF_M || state == REF_O; }

// Hart k's data cache says that it has less of a line than before. Letters of the rows tell of
// which part.
static void ref_release(ref_memory *m, uint32_t k, int from, bool keeps) {
    uint64_t *link = m->links[k];
    if (ref_has_data(from) && keeps)
        link[TL_LINK_RELEASE_DATA_TB]++;
    else if (ref_has_data(from))
        link[TL_LINK_RELEASE_DATA_TN]++;
    else if (from == REF_E && keeps)
        link[TL_LINK_RELEASE_TB]++;
    else if (from == REF_E)
        link[TL_LINK_RELEASE_TN]++;
    else
        link[TL_LINK_RELEASE_BN]++;
}

// A probe of hart k's data cache, which holds the line. why: a row TL_LINK_PROBE_*.
static void ref_probe(ref_memory *m, uint32_t k, uint64_t line, bool is_invalidating, enum tl_mem_signal why) {
    ref_hart *h = &m->harts[k];
    ref_way *way = ref_in_l1(m, &h->l1d, line);
    uint64_t *l2 = m->l2_tally[ref_slice(m, line)];
    m->links[k][why]++;
    ref_release(m, k, way->state, !is_invalidating);
    l2[TL_L2_PROBE_OUT]++;
    m->noc[TL_NOC_PROBE]++;
    h->tally[TL_S_L1D_PROBE]++;
    bool has_data = ref_has_data(way->state);
    way->state = REF_S;
    if (has_data) {
        m->noc[TL_NOC_PROBE_ACK_DATA]++;
        h->tally[TL_S_L1D_PROBE_DATA]++;
        h->tally[TL_S_L1D_WRITEBACK]++;
        l2[TL_L2_WRITE]++;
        if (ref_in_l2(m, line))
            ref_in_l2(m, line)->is_dirty = true;
        else
            way->state = REF_O; // nobody below takes the data
    } else {
        m->noc[TL_NOC_PROBE_ACK]++;
    }
    if (is_invalidating) {
        h->tally[TL_S_L1D_PROBE_INVALIDATE]++;
        way->is_valid = false;
    }
}

static uint64_t ref_take_every_copy(ref_memory *m, uint64_t line) { // returns how many there were
    uint64_t n_copies = 0;
    for (uint32_t k = 0; k < m->c.n_harts; k++) {
        ref_hart *h = &m->harts[k];
        if (ref_in_l1(m, &h->l1d, line)) {
            n_copies++;
            ref_probe(m, k, line, true, TL_LINK_PROBE_TAKE);
        }
        ref_way *copy = ref_in_l1(m, &h->l1i, line);
        if (copy) {
            n_copies++;
            m->links[k][TL_LINK_PROBE_I]++;
            m->l2_tally[ref_slice(m, line)][TL_L2_PROBE_OUT]++;
            m->noc[TL_NOC_PROBE]++;
            m->noc[TL_NOC_PROBE_ACK]++;
            h->tally[TL_S_L1I_INVALIDATE]++;
            copy->is_valid = false;
        }
    }
    return n_copies;
}

static void ref_evict_from_l2(ref_memory *m, ref_way *victim, uint64_t time) {
    uint64_t line = victim->line, *l2 = m->l2_tally[ref_slice(m, line)];
    if (m->c.l2_fill == TL_FILL_MISS)
        l2[TL_L2_BACK_INVALIDATE] += ref_take_every_copy(m, line);
    if (victim->is_dirty) {
        l2[TL_L2_EVICT_DIRTY]++;
        l2[TL_L2_WRITEBACK]++;
        ref_dram(m, line, true, false, time);
    } else {
        l2[TL_L2_EVICT_CLEAN]++;
    }
    victim->is_valid = false;
}

static void ref_put_into_l2(ref_memory *m, uint64_t line, bool is_dirty, bool is_prefetched, uint64_t time) {
    ref_table *t = &m->l2[ref_slice(m, line)];
    ref_set *set = ref_l2_set(m, line);
    uint32_t w = ref_victim(t, set);
    if (set->ways[w].is_valid)
        ref_evict_from_l2(m, &set->ways[w], time);
    set->ways[w] = (ref_way){.is_valid = true, .line = line, .is_dirty = is_dirty, .is_prefetched = is_prefetched};
    ref_note_fill(t, set, w);
}

static uint64_t ref_fill_l2(ref_memory *m, uint64_t line, bool is_awaited, bool is_prefetched, uint64_t time) {
    uint64_t cycles = ref_dram(m, line, false, is_awaited, time);
    ref_put_into_l2(m, line, false, is_prefetched, time);
    return cycles;
}

static void ref_use_l2(ref_memory *m, uint64_t line) {
    ref_set *set = ref_l2_set(m, line);
    ref_note_use(&m->l2[ref_slice(m, line)], set, (uint32_t)(ref_in_l2(m, line) - set->ways));
}

static void ref_count_request(ref_memory *m, uint32_t k, uint64_t line, ref_use use) {
    uint64_t *l2 = m->l2_tally[ref_slice(m, line)];
    l2[TL_L2_READ]++;
    l2[use == REF_FETCH ? TL_L2_READ_I : ref_is_write(use) ? TL_L2_READ_ST : TL_L2_READ_LD]++;
    l2[TL_L2_READ_HART0 + k]++;
    m->noc[TL_NOC_REQUEST]++;
}

static bool ref_invalidate_others(ref_memory *m, uint32_t k, uint64_t line) {
    bool is_probed = false;
    for (uint32_t j = 0; j < m->c.n_harts; j++) {
        if (j != k && ref_in_l1(m, &m->harts[j].l1d, line)) {
            ref_probe(m, j, line, true, TL_LINK_PROBE_STORE);
            is_probed = true;
        }
    }
    return is_probed;
}

// Some first-level cache but this one of hart k holds the line.
static bool ref_is_held_elsewhere(const ref_memory *m, uint32_t k, bool is_fetch, uint64_t line) {
    bool is_held = false;
    for (uint32_t j = 0; j < m->c.n_harts; j++) {
        ref_hart *h = (ref_hart *)(uintptr_t)&m->harts[j];
        is_held |= !(j == k && !is_fetch) && ref_in_l1(m, &h->l1d, line);
        is_held |= !(j == k && is_fetch) && ref_in_l1(m, &h->l1i, line);
    }
    return is_held;
}

// A fill request of hart k. Returns the cycles it takes; *state is what a data cache may keep the
// line in.
static uint64_t ref_request(ref_memory *m, uint32_t k, uint64_t line, ref_use use, bool is_prefetch, uint64_t time, int *state) {
    uint64_t slice = ref_slice(m, line), *l2 = m->l2_tally[slice];
    ref_count_request(m, k, line, use);
    m->noc[TL_NOC_RESPONSE_DATA]++;
    uint64_t cycles = ref_serve(&m->slice_server[slice], time, m->c.mem.l2_busy_cycles);
    if (is_prefetch)
        l2[TL_L2_PREFETCH_READ]++;
    else
        l2[TL_L2_BUSY] += cycles;
    cycles += m->c.mem.l2_hit_cycles;
    const uint64_t asked = time + cycles;

    const bool is_inclusive = m->c.l2_fill == TL_FILL_MISS;
    bool is_hit = ref_in_l2(m, line) != NULL, is_snooped = false;
    // A data cache may have what no level below has.
    for (uint32_t j = 0; j < m->c.n_harts && !is_hit; j++)
        is_snooped |= ref_in_l1(m, &m->harts[j].l1d, line) != NULL;
    uint64_t *link = m->links[k];
    if (is_hit || is_snooped) {
        bool is_shared = ref_is_held_elsewhere(m, k, use == REF_FETCH, line);
        if (is_hit)
            ref_use_l2(m, line);
        link[use == REF_FETCH ? TL_LINK_GET_HIT : ref_is_write(use) ? TL_LINK_ACQUIRE_NT_HIT : TL_LINK_ACQUIRE_NB_HIT]++;
        link[use == REF_FETCH    ? TL_LINK_GET_SHARED
             : ref_is_write(use) ? TL_LINK_ACQUIRE_NT_SHARED
                                 : TL_LINK_ACQUIRE_NB_SHARED] += is_shared;
    } else {
        link[use == REF_FETCH ? TL_LINK_GET_MISS : ref_is_write(use) ? TL_LINK_ACQUIRE_NT_MISS : TL_LINK_ACQUIRE_NB_MISS]++;
        l2[TL_L2_READMISS]++;
        l2[TL_L2_READMISS_HART0 + k]++;
        if (is_inclusive)
            cycles += ref_fill_l2(m, line, !is_prefetch, false, time + cycles);
        else
            cycles += ref_dram(m, line, false, true, time + cycles);
    }
    if (!is_inclusive && !is_hit && use == REF_FETCH)
        ref_put_into_l2(m, line, false, false, asked);
    ref_way *way = ref_in_l2(m, line);
    if (way && way->is_prefetched) {
        l2[TL_L2_PREFETCH_HIT]++;
        way->is_prefetched = false;
    }

    bool is_probed = is_snooped; // once, however many
    if (ref_is_write(use)) {
        is_probed |= ref_invalidate_others(m, k, line);
        *state = REF_M;
    } else {
        bool is_shared = false;
        for (uint32_t j = 0; j < m->c.n_harts; j++) {
            ref_way *copy = ref_in_l1(m, &m->harts[j].l1d, line);
            if (!copy)
                continue;
            is_shared = true;
            if (copy->state == REF_E || copy->state == REF_M) {
                ref_probe(m, j, line, false, use == REF_FETCH ? TL_LINK_PROBE_GET : TL_LINK_PROBE_LOAD);
                is_probed = true;
            }
        }
        *state = is_shared ? REF_S : REF_E;
    }
    if (is_probed)
        cycles += m->c.mem.probe_cycles;

    uint64_t next = line + ref_line_bytes(m);
    if (!is_hit && !is_prefetch && m->c.l2.prefetch == TL_PREFETCH_NEXT_LINE && next % 4096 != 0 && !ref_in_l2(m, next)) {
        m->l2_tally[ref_slice(m, next)][TL_L2_PREFETCH]++;
        ref_fill_l2(m, next, false, true, time + cycles);
    }
    return cycles;
}

static uint64_t ref_upgrade(ref_memory *m, uint32_t k, uint64_t line, uint64_t time) {
    uint64_t slice = ref_slice(m, line), *l2 = m->l2_tally[slice];
    ref_count_request(m, k, line, REF_STORE);
    l2[TL_L2_UPGRADE]++;
    m->links[k][TL_LINK_ACQUIRE_PERM]++;
    m->links[k][TL_LINK_ACQUIRE_PERM_SHARED] += ref_is_held_elsewhere(m, k, false, line);
    uint64_t cycles = ref_serve(&m->slice_server[slice], time, m->c.mem.l2_busy_cycles);
    l2[TL_L2_BUSY] += cycles;
    if (ref_in_l2(m, line))
        ref_use_l2(m, line);
    cycles += m->c.mem.upgrade_cycles;
    if (ref_invalidate_others(m, k, line))
        cycles += m->c.mem.probe_cycles;
    return cycles;
}

// A device reads or writes these bytes of RAM.
static inline void ref_dma(ref_memory *m, uint64_t paddr, uint64_t bytes, bool is_write, uint64_t now) {
    for (uint64_t line = ref_line_of(m, paddr); bytes != 0 && line < paddr + bytes; line += ref_line_bytes(m)) {
        uint64_t slice = ref_slice(m, line), *l2 = m->l2_tally[slice];
        m->dma[is_write ? TL_DMA_WRITE : TL_DMA_READ]++;
        l2[is_write ? TL_L2_DMA_WRITE : TL_L2_DMA_READ]++;
        uint64_t time = now + ref_serve(&m->slice_server[slice], now, m->c.mem.l2_busy_cycles) + m->c.mem.l2_hit_cycles;
        bool is_full = line >= paddr && line + ref_line_bytes(m) <= paddr + bytes;
        if (is_write)
            l2[is_full ? TL_L2_DMA_WRITE_FULL : TL_L2_DMA_WRITE_PARTIAL]++;
        bool is_snooped = false;
        for (uint32_t k = 0; k < m->c.n_harts && !is_write; k++)
            is_snooped |= ref_in_l1(m, &m->harts[k].l1d, line) != NULL;
        if (!ref_in_l2(m, line) && is_write)
            ref_take_every_copy(m, line);
        if (ref_in_l2(m, line) || is_snooped) {
            bool is_held = ref_is_held_elsewhere(m, TL_MAX_HARTS, false, line);
            l2[!is_write ? TL_L2_DMA_READ_HIT : is_full ? TL_L2_DMA_WRITE_FULL_HIT : TL_L2_DMA_WRITE_PARTIAL_HIT]++;
            l2[!is_write ? TL_L2_DMA_READ_HIT_SHARED
               : is_full ? TL_L2_DMA_WRITE_FULL_HIT_SHARED
                         : TL_L2_DMA_WRITE_PARTIAL_HIT_SHARED] += is_held;
            if (ref_in_l2(m, line))
                ref_use_l2(m, line);
            if (is_write) {
                ref_take_every_copy(m, line);
                ref_in_l2(m, line)->is_dirty = true;
            } else {
                for (uint32_t k = 0; k < m->c.n_harts; k++) {
                    ref_way *copy = ref_in_l1(m, &m->harts[k].l1d, line);
                    if (copy && (copy->state == REF_E || copy->state == REF_M))
                        ref_probe(m, k, line, false, TL_LINK_PROBE_GET);
                }
            }
        } else {
            l2[is_write ? TL_L2_DMA_WRITEMISS : TL_L2_DMA_READMISS]++;
            ref_dram(m, line, is_write, false, time);
        }
        for (uint32_t k = 0; k < m->c.n_harts && is_write; k++)
            if (m->harts[k].reservation == line)
                m->harts[k].reservation = TL_NO_LINE;
    }
}

// ---- L1 ----

static void ref_evict_data(ref_memory *m, uint32_t k, ref_way *way) {
    ref_hart *h = &m->harts[k];
    h->tally[TL_S_L1D_EVICT]++;
    ref_release(m, k, way->state, false);
    bool has_data = ref_has_data(way->state), comes_down = m->c.l2_fill == TL_FILL_EVICT && !ref_in_l2(m, way->line);
    if (has_data) {
        h->tally[TL_S_L1D_EVICT_DIRTY]++;
        h->tally[TL_S_L1D_WRITEBACK]++;
        m->noc[TL_NOC_RELEASE_DATA]++;
        uint64_t slice = ref_slice(m, way->line);
        m->l2_tally[slice][TL_L2_WRITE]++;
        if (ref_in_l2(m, way->line)) {
            ref_in_l2(m, way->line)->is_dirty = true;
            ref_use_l2(m, way->line);
        } else if (!comes_down) {
            m->l2_tally[slice][TL_L2_WRITEMISS]++;
        }
    }
    if (has_data || comes_down)
        ref_serve(&m->slice_server[ref_slice(m, way->line)], h->now, m->c.mem.l2_busy_cycles);
    if (comes_down) {
        m->l2_tally[ref_slice(m, way->line)][TL_L2_EVICT_FILL]++;
        ref_put_into_l2(m, way->line, has_data, false, h->now);
    }
    way->is_valid = false;
}

static void ref_insert_data(ref_memory *m, uint32_t k, uint64_t line, int state, bool is_prefetched) {
    ref_hart *h = &m->harts[k];
    ref_set *set = ref_cache_set(m, &h->l1d, line, 1);
    uint32_t w = ref_victim(&h->l1d, set);
    ref_way *way = &set->ways[w];
    if (way->is_valid)
        ref_evict_data(m, k, way);
    *way = (ref_way){.is_valid = true, .line = line, .state = state, .is_prefetched = is_prefetched};
    ref_note_fill(&h->l1d, set, w);
}

static void ref_insert_fetch(ref_memory *m, uint32_t k, uint64_t line, bool is_prefetched) {
    ref_hart *h = &m->harts[k];
    ref_set *set = ref_cache_set(m, &h->l1i, line, 1);
    uint32_t w = ref_victim(&h->l1i, set);
    if (set->ways[w].is_valid)
        h->tally[TL_S_L1I_EVICT]++;
    set->ways[w] = (ref_way){.is_valid = true, .line = line, .state = REF_S, .is_prefetched = is_prefetched};
    ref_note_fill(&h->l1i, set, w);
}

static void ref_lose_reservations(ref_memory *m, uint32_t k, uint64_t line) {
    for (uint32_t j = 0; j < m->c.n_harts; j++)
        if (j != k && m->harts[j].reservation == line)
            m->harts[j].reservation = TL_NO_LINE;
}

static void ref_data_line(ref_memory *m, uint32_t k, uint64_t line, ref_use use, enum tl_hart_cell cause) {
    ref_hart *h = &m->harts[k];
    ref_set *set = ref_cache_set(m, &h->l1d, line, 1);
    ref_way *way = ref_find_line(&h->l1d, set, line);
    bool is_write = ref_is_write(use), is_walk = use == REF_WALK || use == REF_WALK_UPDATE;

    h->tally[is_write ? TL_S_L1D_STORE : TL_S_L1D_LOAD]++;
    if (use == REF_AMO)
        h->tally[TL_S_L1D_LOAD]++;
    if (use == REF_WALK)
        h->tally[TL_S_L1D_WALK]++;

    bool is_miss = !way, is_upgrade = way && is_write && (way->state == REF_S || way->state == REF_O);
    if (is_miss || is_upgrade) {
        h->tally[is_write ? TL_S_L1D_STORE_MISS : TL_S_L1D_LOAD_MISS]++;
        h->tally[TL_S_L1D_AMO_MISS] += use == REF_AMO;
        h->tally[TL_S_L1D_WALK_MISS] += use == REF_WALK;
        h->tally[TL_S_L1D_UPGRADE] += is_upgrade;
    }
    if (way) {
        ref_note_use(&h->l1d, set, (uint32_t)(way - set->ways));
        h->tally[TL_S_L1D_PREFETCH_HIT] += way->is_prefetched;
        way->is_prefetched = false;
        if (is_upgrade)
            ref_stall(h, cause, ref_upgrade(m, k, line, h->now));
        if (is_write)
            way->state = REF_M;
    } else {
        int state;
        ref_stall(h, cause, ref_request(m, k, line, use, false, h->now, &state));
        ref_insert_data(m, k, line, state, false);
    }
    if (is_write)
        ref_lose_reservations(m, k, line);

    uint64_t next = line + ref_line_bytes(m);
    if (is_miss && !is_walk && m->c.l1d.prefetch == TL_PREFETCH_NEXT_LINE && next % 4096 != 0 && !ref_in_l1(m, &h->l1d, next)) {
        int state;
        h->tally[TL_S_L1D_PREFETCH]++;
        ref_request(m, k, next, REF_LOAD, true, h->now, &state);
        ref_insert_data(m, k, next, state, true);
    }
}

static void ref_fetch_line(ref_memory *m, uint32_t k, uint64_t line) {
    ref_hart *h = &m->harts[k];
    ref_set *set = ref_cache_set(m, &h->l1i, line, 1);
    ref_way *way = ref_find_line(&h->l1i, set, line);
    int unused;
    h->tally[TL_S_L1I_ACCESS]++;
    if (way) {
        ref_note_use(&h->l1i, set, (uint32_t)(way - set->ways));
        h->tally[TL_S_L1I_PREFETCH_HIT] += way->is_prefetched;
        way->is_prefetched = false;
        return;
    }
    h->tally[TL_S_L1I_MISS]++;
    ref_stall(h, TL_S_HART_CYC_FETCH, ref_request(m, k, line, REF_FETCH, false, h->now, &unused));
    ref_insert_fetch(m, k, line, false);
    uint64_t next = line + ref_line_bytes(m);
    if (m->c.l1i.prefetch == TL_PREFETCH_NEXT_LINE && next % 4096 != 0 && !ref_in_l1(m, &h->l1i, next)) {
        h->tally[TL_S_L1I_PREFETCH]++;
        ref_request(m, k, next, REF_FETCH, true, h->now, &unused);
        ref_insert_fetch(m, k, next, true);
    }
}

// ---- cache maintenance ----

static void ref_write_clean(ref_memory *m, uint64_t line, uint64_t time) {
    m->l2_tally[ref_slice(m, line)][TL_L2_CLEAN]++;
    m->l2_tally[ref_slice(m, line)][TL_L2_WRITEBACK]++;
    ref_dram(m, line, true, false, time);
}

// Hart k's data cache hands over what it changed, and keeps the line. Returns whether it had any.
static bool ref_clean_copy(ref_memory *m, uint32_t k, uint64_t line) {
    ref_way *copy = ref_in_l1(m, &m->harts[k].l1d, line);
    const bool is_owner = copy->state == REF_E || copy->state == REF_M, has_data = ref_has_data(copy->state);
    ref_probe(m, k, line, false, TL_LINK_PROBE_GET);
    copy->state = is_owner ? REF_E : REF_S;
    return has_data;
}

// The owner, or else every copy, if one of them may have data that no level below has.
static bool ref_clean_copies(ref_memory *m, uint64_t line) {
    bool has_owner = false, has_data = false;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t j = 0; j < m->c.n_harts; j++) {
            ref_way *copy = ref_in_l1(m, &m->harts[j].l1d, line);
            if (!copy)
                continue;
            if (pass == 0)
                has_owner |= copy->state == REF_E || copy->state == REF_M;
            else if (has_owner || m->c.l2_fill == TL_FILL_EVICT)
                has_data |= ref_clean_copy(m, j, line);
        }
    return has_data;
}

static void ref_data_comes_down(ref_memory *m, uint64_t line, uint64_t time) {
    if (ref_in_l2(m, line)) {
        ref_in_l2(m, line)->is_dirty = true;
        return;
    }
    m->l2_tally[ref_slice(m, line)][TL_L2_EVICT_FILL]++;
    ref_put_into_l2(m, line, true, false, time);
}

static inline void ref_maintain_line(ref_memory *m, uint64_t line, tl_maintenance what, uint64_t time) {
    if (!ref_in_l2(m, line) && !ref_is_held_elsewhere(m, TL_MAX_HARTS, false, line))
        return;
    ref_serve(&m->slice_server[ref_slice(m, line)], time, m->c.mem.l2_busy_cycles);
    if (what == TL_CLEAN_DROP) {
        bool has_data = false;
        for (uint32_t j = 0; j < m->c.n_harts; j++) {
            const ref_way *copy = ref_in_l1(m, &m->harts[j].l1d, line);
            has_data |= copy && ref_has_data(copy->state);
            if (copy)
                ref_probe(m, j, line, true, TL_LINK_PROBE_TAKE);
        }
        if (ref_in_l2(m, line))
            ref_evict_from_l2(m, ref_in_l2(m, line), time);
        else if (has_data)
            ref_write_clean(m, line, time);
        return;
    }
    const bool has_data = ref_clean_copies(m, line);
    ref_way *below = ref_in_l2(m, line);
    if (what == TL_CLEAN_L1 && has_data)
        ref_data_comes_down(m, line, time);
    if (what == TL_CLEAN && (has_data || (below && below->is_dirty)))
        ref_write_clean(m, line, time);
    if (what == TL_CLEAN && below)
        below->is_dirty = false;
}

static inline void ref_maintain_way(ref_memory *m, uint32_t k, uint32_t level, uint32_t set, uint32_t w, tl_maintenance what) {
    ref_hart *h = &m->harts[k];
    const uint32_t slice = level == 2 ? set % m->c.l2_slices : 0;
    ref_table *t = level == 2 ? &m->l2[slice] : &h->l1d;
    if (level > 2 || w >= t->n_ways)
        return;
    ref_way *way = &t->sets[set / (level == 2 ? m->c.l2_slices : 1) % t->n_sets].ways[w];
    if (!way->is_valid)
        return;
    if (level == 1 && what == TL_CLEAN_DROP)
        ref_evict_data(m, k, way);
    if (level == 1 && what != TL_CLEAN_DROP && ref_has_data(way->state)) {
        ref_serve(&m->slice_server[ref_slice(m, way->line)], h->now, m->c.mem.l2_busy_cycles);
        (void)ref_clean_copy(m, k, way->line);
        ref_data_comes_down(m, way->line, h->now);
    }
    if (level == 1)
        return;
    ref_serve(&m->slice_server[slice], h->now, m->c.mem.l2_busy_cycles);
    if (what == TL_CLEAN_DROP) {
        ref_evict_from_l2(m, way, h->now);
    } else if (way->is_dirty) {
        ref_write_clean(m, way->line, h->now);
        way->is_dirty = false;
    }
}

// ---- translation ----

static uint64_t ref_page_bytes(uint32_t level) { return UINT64_C(4096) << (9 * level); }
static bool ref_covers(const ref_way *way, uint64_t vaddr) {
    return way->is_valid && vaddr - way->page.vaddr < ref_page_bytes(way->page.level);
}

static ref_set *ref_tlb_set(ref_table *t, uint64_t vaddr, uint32_t level) { return &t->sets[vaddr / ref_page_bytes(level) % t->n_sets]; }

static ref_way *ref_find_page(ref_table *t, uint64_t vaddr) {
    for (uint32_t level = 0; level < REF_LEVELS; level++) {
        ref_set *set = ref_tlb_set(t, vaddr, level);
        for (uint32_t w = 0; w < t->n_ways; w++)
            if (set->ways[w].page.level == level && ref_covers(&set->ways[w], vaddr))
                return &set->ways[w];
    }
    return NULL;
}

static void ref_use_page(ref_table *t, ref_way *way) {
    ref_set *set = ref_tlb_set(t, way->page.vaddr, way->page.level);
    ref_note_use(t, set, (uint32_t)(way - set->ways));
}

static void ref_insert_page(ref_table *t, const ref_page *page, uint64_t *evictions) {
    uint64_t end = page->vaddr + ref_page_bytes(page->level); // what overlaps goes first
    for (uint32_t s = 0; s < t->n_sets; s++)
        for (uint32_t w = 0; w < t->n_ways; w++) {
            ref_way *other = &t->sets[s].ways[w];
            uint64_t other_end = other->page.vaddr + ref_page_bytes(other->page.level);
            if (other->is_valid && other->page.vaddr < end && page->vaddr < other_end)
                other->is_valid = false;
        }
    ref_set *set = ref_tlb_set(t, page->vaddr, page->level);
    uint32_t w = ref_victim(t, set);
    *evictions += set->ways[w].is_valid;
    set->ways[w] = (ref_way){.is_valid = true, .page = *page};
    ref_note_fill(t, set, w);
}

typedef enum ref_access { REF_READS, REF_WRITES, REF_EXECUTES } ref_access;
typedef enum ref_outcome { REF_OK, REF_PAGE_FAULT, REF_ACCESS_FAULT, REF_DEVICE } ref_outcome;

// Mode whose rights count. With MPRV (bit 17) loads and stores of machine mode have those of the
// mode in MPP (bits 12, 11).
static uint32_t ref_rights(const ref_hart *h, ref_access access) {
    return access != REF_EXECUTES && h->priv == 3 && (h->status >> 17 & 1) ? h->status >> 11 & 3 : h->priv;
}

// Privileged manual: SUM is bit 18 of mstatus, MXR bit 19.
static bool ref_permits(uint8_t flags, ref_access access, uint32_t priv, uint64_t status) {
    bool is_readable = flags & 2, is_writable = flags & 4, is_executable = flags & 8, is_user_page = flags & 16;
    bool sum = status >> 18 & 1, mxr = status >> 19 & 1;
    if (priv == 0 && !is_user_page)
        return false;
    if (priv == 1 && is_user_page && (access == REF_EXECUTES || !sum))
        return false;
    switch (access) {
    case REF_READS: return is_readable || (mxr && is_executable);
    case REF_WRITES: return is_writable;
    case REF_EXECUTES: return is_executable;
    }
    return false;
}

// Privileged manual, sec. 3.7, with a grain of 4 KiB: bits of addresses that do not count read as
// the manual says.
static bool ref_pmp_matches(const ref_hart *h, uint32_t i, uint64_t paddr) {
    uint64_t word = paddr >> 2;
    switch (h->pmpcfg[i] >> 3 & 3) {
    case 1: {
        uint64_t bottom = i == 0 ? 0 : h->pmpaddr[i - 1] >> 10 << 10, top = h->pmpaddr[i] >> 10 << 10;
        return word >= bottom && word < top;
    }
    case 3: {
        uint64_t address = h->pmpaddr[i] | 0x1ff, bits = 0;
        while (address >> bits & 1)
            bits++;
        return bits + 1 >= 64 || word >> (bits + 1) == address >> (bits + 1);
    }
    default: return false;
    }
}

static bool ref_pmp_permits(const ref_hart *h, ref_access access, uint32_t priv, uint64_t paddr, uint32_t n_bytes) {
    if (!h->is_privileged)
        return true;
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t n_matching = 0;
        for (uint32_t b = 0; b < n_bytes; b++)
            n_matching += ref_pmp_matches(h, i, paddr + b);
        if (n_matching == 0)
            continue;
        if (n_matching != n_bytes)
            return false;
        if (priv == 3 && !(h->pmpcfg[i] & 0x80))
            return true;
        return h->pmpcfg[i] >> (access == REF_READS ? 0 : access == REF_WRITES ? 1 : 2) & 1;
    }
    return priv == 3;
}

// The outcome of an access at its physical address.
static ref_outcome ref_arrive(const ref_memory *m, const ref_hart *h, ref_access access, uint64_t paddr, uint32_t n_bytes) {
    if (!ref_pmp_permits(h, access, ref_rights(h, access), paddr, n_bytes))
        return REF_ACCESS_FAULT;
    if (ref_is_ram(m, paddr))
        return REF_OK;
    return m->device && access != REF_EXECUTES ? REF_DEVICE : REF_ACCESS_FAULT;
}

static bool ref_lacks_dirty(uint8_t flags, ref_access access) { return access == REF_WRITES && !(flags & 128); }

static ref_outcome ref_walk(ref_memory *m, uint32_t k, uint64_t vaddr, ref_access access, ref_page *page) {
    ref_hart *h = &m->harts[k];
    enum tl_hart_cell cause = access == REF_EXECUTES ? TL_S_HART_CYC_ITLB : TL_S_HART_CYC_DTLB;
    uint64_t table = (h->satp & 0xfffffffffff) * 4096;
    for (int level = h->satp >> 60 == 9 ? 3 : 2; level >= 0; level--) {
        uint64_t address = table + vaddr / ref_page_bytes((uint32_t)level) % 512 * 8, pte;
        if (!ref_is_ram(m, address) || !ref_pmp_permits(h, REF_READS, 1, address, 8))
            return REF_ACCESS_FAULT;
        h->tally[TL_S_PTW_READ]++;
        ref_stall(h, cause, m->c.mem.walk_step_cycles);
        ref_data_line(m, k, ref_line_of(m, address), REF_WALK, cause);
        memcpy(&pte, m->ram + (address - TL_RAM_BASE_PADDR), 8);
        bool is_valid = pte & 1, is_readable = pte & 2, is_writable = pte & 4, is_executable = pte & 8;
        table = (pte >> 10 & 0xfffffffffff) * 4096;
        if (!is_valid || (is_writable && !is_readable) || pte >> 54 != 0)
            return REF_PAGE_FAULT;
        if (!is_readable && !is_executable) {
            if (pte & (16 | 64 | 128))
                return REF_PAGE_FAULT;
            continue;
        }
        if (table % ref_page_bytes((uint32_t)level) != 0 || !ref_permits((uint8_t)pte, access, ref_rights(h, access), h->status))
            return REF_PAGE_FAULT;
        uint64_t updated = pte | 64 | (access == REF_WRITES ? 128 : 0);
        if (updated != pte) {
            if (!ref_pmp_permits(h, REF_WRITES, 1, address, 8))
                return REF_ACCESS_FAULT;
            h->tally[TL_S_PTW_WRITE]++;
            ref_data_line(m, k, ref_line_of(m, address), REF_WALK_UPDATE, cause);
            if (!m->is_observer)
                memcpy(m->ram + (address - TL_RAM_BASE_PADDR), &updated, 8);
        }
        uint64_t bytes = ref_page_bytes((uint32_t)level);
        *page = (ref_page){.vaddr = vaddr / bytes * bytes, .paddr = table, .level = (uint32_t)level, .flags = (uint8_t)updated};
        return REF_OK;
    }
    return REF_PAGE_FAULT;
}

static ref_outcome ref_count_walk(ref_memory *m, uint32_t k, uint64_t vaddr, ref_access access, ref_page *page) {
    ref_hart *h = &m->harts[k];
    uint64_t start = h->now;
    h->tally[TL_S_PTW_WALK]++;
    h->tally[access == REF_EXECUTES ? TL_S_PTW_WALK_I : TL_S_PTW_WALK_D]++;
    ref_outcome outcome = ref_walk(m, k, vaddr, access, page);
    h->tally[TL_S_PTW_FAULT] += outcome == REF_PAGE_FAULT;
    h->tally[TL_S_PTW_CYCLE] += h->now - start;
    return outcome;
}

static ref_outcome ref_look_up_page(ref_memory *m, uint32_t k, uint64_t vaddr, uint32_t n_bytes, ref_access access, uint64_t *paddr) {
    ref_hart *h = &m->harts[k];
    bool is_fetch = access == REF_EXECUTES;
    uint32_t priv = ref_rights(h, access);
    h->tally[is_fetch ? TL_S_ITLB_ACCESS : TL_S_DTLB_ACCESS]++;
    *paddr = vaddr;
    if (h->satp >> 60 == 0 || priv == 3)
        return ref_arrive(m, h, access, vaddr, n_bytes);

    ref_table *first = is_fetch ? &h->itlb : &h->dtlb;
    ref_way *way = ref_find_page(first, vaddr);
    if (way && ref_permits(way->page.flags, access, priv, h->status) && ref_lacks_dirty(way->page.flags, access))
        way = NULL; // a miss
    if (way) {
        ref_use_page(first, way);
    } else {
        uint32_t bits = h->satp >> 60 == 9 ? 48 : 39;
        uint64_t top = vaddr >> (bits - 1);
        if (top != 0 && top != (UINT64_C(1) << (65 - bits)) - 1)
            return REF_PAGE_FAULT;
        h->tally[is_fetch ? TL_S_ITLB_MISS : TL_S_DTLB_MISS]++;
        if (!is_fetch)
            h->tally[access == REF_WRITES ? TL_S_DTLB_STORE_MISS : TL_S_DTLB_LOAD_MISS]++;
        ref_page page;
        ref_way *second = NULL;
        if (m->c.l2tlb.entries != 0) {
            h->tally[TL_S_L2TLB_ACCESS]++;
            second = ref_find_page(&h->l2tlb, vaddr);
            if (second && ref_permits(second->page.flags, access, priv, h->status) && ref_lacks_dirty(second->page.flags, access))
                second = NULL;
        }
        if (second) {
            ref_use_page(&h->l2tlb, second);
            ref_stall(h, is_fetch ? TL_S_HART_CYC_ITLB : TL_S_HART_CYC_DTLB, m->c.mem.l2tlb_hit_cycles);
            page = second->page;
        } else {
            ref_outcome outcome;
            h->tally[TL_S_L2TLB_MISS] += m->c.l2tlb.entries != 0;
            outcome = ref_count_walk(m, k, vaddr, access, &page);
            if (outcome != REF_OK)
                return outcome;
            if (m->c.l2tlb.entries != 0)
                ref_insert_page(&h->l2tlb, &page, &h->tally[TL_S_L2TLB_EVICT]);
        }
        ref_insert_page(first, &page, &h->tally[is_fetch ? TL_S_ITLB_EVICT : TL_S_DTLB_EVICT]);
        way = ref_find_page(first, vaddr);
    }
    if (!ref_permits(way->page.flags, access, priv, h->status))
        return REF_PAGE_FAULT;
    *paddr = way->page.paddr + (vaddr - way->page.vaddr);
    return ref_arrive(m, h, access, *paddr, n_bytes);
}

// ---- what a hart asks for; false: trapped ----

static bool ref_trap(ref_hart *h, uint64_t vaddr, uint64_t cause) {
    h->cause = cause;
    h->value = vaddr;
    return false;
}

// is_device NULL: only RAM will do.
static bool ref_translate(ref_memory *m, uint32_t k, uint64_t vaddr, uint32_t n_bytes, ref_access access, uint64_t *paddr,
                          bool *is_device) {
    ref_outcome outcome = ref_look_up_page(m, k, vaddr, n_bytes, access, paddr);
    if (is_device)
        *is_device = outcome == REF_DEVICE;
    if (outcome == REF_OK || (outcome == REF_DEVICE && is_device))
        return true;
    bool is_page = outcome == REF_PAGE_FAULT;
    return ref_trap(&m->harts[k], vaddr,
                    access == REF_READS    ? (is_page ? 13 : 5)
                    : access == REF_WRITES ? (is_page ? 15 : 7)
                                           : (is_page ? 12 : 1));
}

static uint64_t ref_bytes_at(const ref_memory *m, uint64_t paddr, uint32_t n) {
    uint64_t value = 0;
    for (uint32_t i = 0; i < n; i++)
        value |= (uint64_t)m->ram[paddr - TL_RAM_BASE_PADDR + i] << (8 * i);
    return value;
}

static void ref_set_bytes(ref_memory *m, uint64_t paddr, uint32_t n, uint64_t value) {
    for (uint32_t i = 0; i < n && !m->is_observer; i++)
        m->ram[paddr - TL_RAM_BASE_PADDR + i] = (uint8_t)(value >> (8 * i));
}

static bool ref_data_of_device(ref_memory *m, ref_hart *h, uint64_t vaddr, uint64_t paddr, uint32_t size, bool is_store, uint64_t value) {
    uint64_t read = 0;
    if (is_store ? !ref_device_write(m->device, paddr, size, value) : !ref_device_read(m->device, paddr, size, &read))
        return ref_trap(h, vaddr, is_store ? 7 : 5);
    h->tally[is_store ? TL_S_HART_UNC_WRITE : TL_S_HART_UNC_READ]++;
    m->bus[is_store ? TL_BUS_WRITE : TL_BUS_READ]++;
    ref_stall(h, TL_S_HART_CYC_MMIO, m->c.mem.mmio_cycles);
    if (!is_store)
        h->result = read;
    return true;
}

// A load or store of any alignment.
static bool ref_data(ref_memory *m, uint32_t k, uint64_t vaddr, uint32_t size, ref_use use, uint64_t value) {
    ref_hart *h = &m->harts[k];
    bool is_store = use == REF_STORE, is_misaligned = vaddr % size != 0;
    ref_access access = is_store ? REF_WRITES : REF_READS;
    uint64_t line_end = ref_line_of(m, vaddr) + ref_line_bytes(m), paddr, paddr2 = 0;
    uint32_t n_first = vaddr + size > line_end ? (uint32_t)(line_end - vaddr) : size, n_second = size - n_first;
    enum tl_hart_cell cause = is_store ? TL_S_HART_CYC_STORE_MISS : TL_S_HART_CYC_LOAD_MISS;

    bool is_device, is_device2 = false;
    if (!ref_translate(m, k, vaddr, n_first, access, &paddr, &is_device))
        return false;
    if (is_device && is_misaligned)
        return ref_trap(h, vaddr, is_store ? 6 : 4);
    if (is_device)
        return ref_data_of_device(m, h, vaddr, paddr, size, is_store, value);
    if (n_second != 0 && !ref_translate(m, k, line_end, n_second, access, &paddr2, &is_device2))
        return false;
    if (is_device2)
        return ref_trap(h, vaddr, is_store ? 6 : 4);
    if (is_misaligned) {
        h->tally[is_store ? TL_S_HART_MISALIGNED_STORE : TL_S_HART_MISALIGNED_LOAD]++;
        ref_stall(h, TL_S_HART_CYC_MISALIGNED, m->c.pipeline.misaligned_cycles);
    }
    ref_data_line(m, k, ref_line_of(m, paddr), use, cause);
    if (n_second != 0) {
        h->tally[TL_S_HART_LINE_CROSS]++;
        ref_data_line(m, k, ref_line_of(m, paddr2), use, cause);
    }
    if (is_store) {
        ref_set_bytes(m, paddr, n_first, value);
        if (n_second != 0)
            ref_set_bytes(m, paddr2, n_second, value >> (8 * n_first));
    } else {
        h->result = ref_bytes_at(m, paddr, n_first);
        if (n_second != 0)
            h->result |= ref_bytes_at(m, paddr2, n_second) << (8 * n_first);
    }
    return true;
}

static bool ref_amo(ref_memory *m, uint32_t k, uint64_t vaddr, uint32_t size, tl_amo amo, uint64_t operand) {
    ref_hart *h = &m->harts[k];
    uint64_t paddr;
    if (vaddr % size != 0)
        return ref_trap(h, vaddr, 6);
    if (!ref_translate(m, k, vaddr, size, REF_WRITES, &paddr, NULL))
        return false;
    ref_data_line(m, k, ref_line_of(m, paddr), REF_AMO, TL_S_HART_CYC_LOAD_MISS);
    uint64_t old = ref_bytes_at(m, paddr, size), new = operand;
    uint64_t u_old = size == 4 ? (uint32_t)old : old, u_new = size == 4 ? (uint32_t)operand : operand;
    int64_t s_old = size == 4 ? (int32_t)old : (int64_t)old, s_new = size == 4 ? (int32_t)operand : (int64_t)operand;
    switch (amo) {
    case TL_AMO_SWAP: break;
    case TL_AMO_ADD: new = old + operand; break;
    case TL_AMO_XOR: new = old ^ operand; break;
    case TL_AMO_AND: new = old &operand; break;
    case TL_AMO_OR: new = old | operand; break;
    case TL_AMO_MIN: new = s_old < s_new ? old : operand; break;
    case TL_AMO_MAX: new = s_old > s_new ? old : operand; break;
    case TL_AMO_MINU: new = u_old < u_new ? old : operand; break;
    case TL_AMO_MAXU: new = u_old > u_new ? old : operand; break;
    }
    ref_set_bytes(m, paddr, size, new);
    h->result = old;
    return true;
}

static bool ref_load_reserved(ref_memory *m, uint32_t k, uint64_t vaddr, uint32_t size) {
    ref_hart *h = &m->harts[k];
    uint64_t paddr;
    if (vaddr % size != 0)
        return ref_trap(h, vaddr, 4);
    if (!ref_translate(m, k, vaddr, size, REF_READS, &paddr, NULL))
        return false;
    ref_data_line(m, k, ref_line_of(m, paddr), REF_LOAD, TL_S_HART_CYC_LOAD_MISS);
    h->reservation = ref_line_of(m, paddr);
    h->result = ref_bytes_at(m, paddr, size);
    return true;
}

static bool ref_store_conditional(ref_memory *m, uint32_t k, uint64_t vaddr, uint32_t size, uint64_t value) {
    ref_hart *h = &m->harts[k];
    uint64_t paddr;
    if (vaddr % size != 0)
        return ref_trap(h, vaddr, 6);
    if (!ref_translate(m, k, vaddr, size, REF_WRITES, &paddr, NULL))
        return false;
    bool is_reserved = h->reservation == ref_line_of(m, paddr);
    h->reservation = TL_NO_LINE;
    h->result = !is_reserved;
    h->tally[is_reserved ? TL_S_HART_SC_SUCCESS : TL_S_HART_SC_FAIL]++;
    if (is_reserved) {
        ref_data_line(m, k, ref_line_of(m, paddr), REF_STORE, TL_S_HART_CYC_STORE_MISS);
        ref_set_bytes(m, paddr, size, value);
    }
    return true;
}

static bool ref_fetch(ref_memory *m, uint32_t k, uint64_t vaddr) {
    uint64_t paddr;
    if (!ref_translate(m, k, vaddr, 1, REF_EXECUTES, &paddr, NULL))
        return false;
    ref_fetch_line(m, k, ref_line_of(m, paddr));
    return true;
}

static void ref_drop_fetch_lines(ref_memory *m, uint32_t k, uint64_t from_paddr, uint64_t bytes) {
    ref_hart *h = &m->harts[k];
    for (uint32_t s = 0; s < h->l1i.n_sets; s++)
        for (uint32_t w = 0; w < h->l1i.n_ways; w++) {
            ref_way *way = &h->l1i.sets[s].ways[w];
            if (way->is_valid && way->line - from_paddr < bytes) {
                h->tally[TL_S_L1I_INVALIDATE]++;
                way->is_valid = false;
            }
        }
}

static void ref_flush_table(ref_table *t, uint64_t vaddr, bool is_all, uint64_t *flushes) {
    for (uint32_t s = 0; s < t->n_sets && t->sets; s++)
        for (uint32_t w = 0; w < t->n_ways; w++) {
            ref_way *way = &t->sets[s].ways[w];
            if (way->is_valid && (is_all || ref_covers(way, vaddr))) {
                way->is_valid = false;
                *flushes += 1;
            }
        }
}

static void ref_flush_tlb(ref_memory *m, uint32_t k, uint64_t vaddr, bool is_all) {
    ref_hart *h = &m->harts[k];
    ref_flush_table(&h->itlb, vaddr, is_all, &h->tally[TL_S_ITLB_FLUSH]);
    ref_flush_table(&h->dtlb, vaddr, is_all, &h->tally[TL_S_DTLB_FLUSH]);
    ref_flush_table(&h->l2tlb, vaddr, is_all, &h->tally[TL_S_L2TLB_FLUSH]);
}

// Software writes the register: a new mode starts with empty TLBs.
static inline void ref_write_satp(ref_memory *m, uint32_t k, uint64_t satp) {
    if (m->harts[k].satp >> 60 != satp >> 60)
        ref_flush_tlb(m, k, 0, true);
    m->harts[k].satp = satp;
}

#endif
