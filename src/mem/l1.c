// SPDX-License-Identifier: MIT
// The first-level caches of a hart, for every machine. They do hits in any state, misses,
// permission to write, evictions and probes. They have a next-line prefetcher. The prefetcher
// follows demand misses and stalls no hart.
#include "mem/bsq.h"
#include "mem/l1_steps.h"

// ---- data

static void count_data_miss(uint64_t *tally, tl_use use) {
    if (tl_is_store(use)) {
        tally[TL_S_L1D_STORE_MISS] += 1;
        tally[TL_S_L1D_AMO_MISS] += use == TL_USE_AMO;
    } else {
        tally[TL_S_L1D_LOAD_MISS] += 1;
        tally[TL_S_L1D_WALK_MISS] += use == TL_USE_WALK_READ;
    }
}

static void evict_data(tl_hart_mem *hm, uint32_t way) {
    tl_l1 *l1 = &hm->l1d;
    uint32_t l2_way = l1->lines[way].l2_way;
    if (tl_l1d_evicts_data(hm, way))
        tl_l2_release_data(&l1->client, tl_cache_line(&l1->cache, way), l2_way, hm->h->now);
    else
        tl_l2_release(&l1->client, l2_way);
}

void tl_l1d_fill(tl_hart_mem *hm, uint64_t line, uint32_t way, tl_l2_reply reply, bool is_prefetch) {
    tl_l1_line *held = &hm->l1d.lines[way];
    if (TL_LIKELY(held->state != TL_LINE_I))
        evict_data(hm, way);
    tl_cache_fill(&hm->l1d.cache, way, line);
    held->state = reply.state;
    held->l2_way = reply.l2_way;
    held->is_prefetched = is_prefetch;
    held->is_contested = reply.is_contested;
}

// Returns whether the next line is here, or in another page, whose owner is unknown.
static bool has_next(const tl_l1 *l1, uint64_t next) {
    return (next & ~tl_page_mask(0)) == 0 || tl_cache_find(&l1->cache, next) != TL_NO_WAY;
}

static TL_NOINLINE void prefetch_next_data(tl_hart_mem *hm, uint64_t line) {
    tl_l1 *l1 = &hm->l1d;
    uint64_t next = line + tl_line_bytes(hm->memory);
    if (has_next(l1, next))
        return;
    hm->h->tally[TL_S_L1D_PREFETCH] += 1;
    tl_l2_reply reply = tl_l2_prefetch_to_read(&l1->client, &l1->client.agent, next, hm->h->now);
    tl_l1d_fill(hm, next, tl_cache_choose(&l1->cache, next), reply, true);
}

// Asks the L2 for a line of the program or of its walker. false: the access must wait.
static bool acquire(tl_hart_mem *hm, uint64_t line, tl_use use, tl_l2_reply *ret_reply) {
    tl_l2_client *client = &hm->l1d.client;
    tl_l2 *l2 = client->l2;
    bool is_store = tl_is_store(use), is_walk = tl_is_walk(use);
    uint32_t found = tl_l2_find(l2, line);
    if (!is_walk && tl_contest_refuses(&hm->contender, client, found == TL_NO_WAY ? NULL : &l2->lines[found], is_store))
        return false;
    const tl_agent *agent = is_walk ? &hm->walker : &client->agent;
    *ret_reply = is_store ? tl_l2_acquire_to_write(client, agent, line, found, hm->h->now)
                          : tl_l2_acquire_to_read(client, agent, line, found, hm->h->now);
    return true;
}

// With a snoop filter. The line leaves the way, whose tag the caller changes.
static void move_down(tl_hart_mem *hm, uint32_t way) {
    tl_l1 *l1 = &hm->l1d;
    const uint32_t l2_way = l1->lines[way].l2_way;
    const bool has_data = tl_l1d_evicts_data(hm, way);
    tl_l2_take_evicted(&l1->client, tl_cache_line(&l1->cache, way), l2_way, has_data, hm->h->now);
    l1->lines[way].state = TL_LINE_I;
}

// Likewise, for a new line. Returns the directory entry of that line, because the eviction may
// have moved it.
static TL_NOINLINE uint32_t evict_down(tl_hart_mem *hm, uint32_t way, uint64_t line) {
    if (hm->l1d.lines[way].state != TL_LINE_I)
        move_down(hm, way);
    return tl_l2_find(hm->l1d.client.l2, line);
}

void tl_l1d_evict(tl_hart_mem *hm, uint32_t way) {
    tl_l1 *l1 = &hm->l1d;
    if (l1->lines[way].state == TL_LINE_I)
        return;
    if (l1->client.l2->filter) {
        move_down(hm, way);
    } else {
        evict_data(hm, way);
        l1->lines[way].state = TL_LINE_I;
    }
    tl_cache_drop(&l1->cache, way);
}

// The victim is chosen early when no step in between can change the choice. The host then fetches
// the victim's directory entry while the L2 works. A request may leave the victim's set with an
// invalid way, and then the victim is chosen anew.
static uint32_t data_miss(tl_hart_mem *hm, uint64_t line, tl_use use, uint32_t stall_cell) {
    tl_l1 *l1 = &hm->l1d;
    tl_hart *h = hm->h;
    bool is_early = l1->cache.n_invalid == 0 && l1->cache.policy != TL_REPLACE_RANDOM;
    uint32_t way = TL_NO_WAY;
    if (TL_LIKELY(is_early)) {
        way = tl_cache_choose(&l1->cache, line);
        __builtin_prefetch(&l1->client.l2->lines[l1->lines[way].l2_way], 1);
    }
    tl_l2_reply reply;
    if (TL_UNLIKELY(!acquire(hm, line, use, &reply)))
        return TL_NO_WAY;
    count_data_miss(h->tally, use);
    tl_stall(h, stall_cell, reply.cycles);
    if (TL_UNLIKELY(!is_early || l1->cache.n_invalid != 0))
        way = tl_cache_choose(&l1->cache, line);
    if (TL_UNLIKELY(l1->client.l2->filter != NULL))
        reply.l2_way = evict_down(hm, way, line);
    tl_l1d_fill(hm, line, way, reply, false);
    if (tl_is_store(use))
        tl_l1d_take_reservations(hm, line);
    if (TL_UNLIKELY(hm->memory->config.l1d.prefetch == TL_PREFETCH_NEXT_LINE) && !tl_is_walk(use))
        prefetch_next_data(hm, line);
    return way;
}

// A store to a cache that writes through. A line that is not here stays so.
static TL_NOINLINE uint32_t store_through(tl_hart_mem *hm, uint64_t line, tl_use use, uint32_t stall_cell) {
    tl_l1 *l1 = &hm->l1d;
    tl_hart *h = hm->h;
    tl_l2 *l2 = l1->client.l2;
    const uint32_t way = tl_cache_find(&l1->cache, line), found = tl_l2_find(l2, line);
    if (!tl_is_walk(use) && tl_contest_refuses(&hm->contender, &l1->client, found == TL_NO_WAY ? NULL : &l2->lines[found], true))
        return TL_NO_WAY;
    if (way != TL_NO_WAY) {
        tl_cache_touch(&l1->cache, way);
        h->tally[TL_S_L1D_PREFETCH_HIT] += l1->lines[way].is_prefetched;
        l1->lines[way].is_prefetched = false;
        l2->bsq->tally[TL_BSQ_STORE_L1D] += 1;
    } else {
        count_data_miss(h->tally, use);
    }
    const tl_agent *agent = tl_is_walk(use) ? &hm->walker : &l1->client.agent;
    const bool waits = use == TL_USE_AMO && way == TL_NO_WAY;
    tl_stall(h, stall_cell, tl_l2_put(&l1->client, agent, line, found, waits, h->now));
    tl_l1d_take_reservations(hm, line);
    return TL_NO_COPY;
}

uint32_t tl_l1d_access(tl_hart_mem *hm, uint64_t line, tl_use use, uint32_t stall_cell) {
    tl_l1 *l1 = &hm->l1d;
    tl_hart *h = hm->h;
    if (TL_UNLIKELY(hm->memory->writes_through) && tl_is_store(use))
        return store_through(hm, line, use, stall_cell);
    uint32_t way = tl_cache_find(&l1->cache, line);
    if (way == TL_NO_WAY)
        return data_miss(hm, line, use, stall_cell);
    tl_l1_line *held = &l1->lines[way];
    tl_l2_line *entry = &l1->client.l2->lines[held->l2_way];
    bool needs_permission = tl_is_store(use) && !tl_line_may_write(held->state);
    if (needs_permission && !tl_is_walk(use) && tl_contest_refuses(&hm->contender, &l1->client, entry, true))
        return TL_NO_WAY;
    if (TL_UNLIKELY(held->is_contested) && !tl_is_walk(use) && tl_l1d_refuses_hit(hm, way))
        return TL_NO_WAY;
    tl_cache_touch(&l1->cache, way);
    h->tally[TL_S_L1D_PREFETCH_HIT] += held->is_prefetched;
    held->is_prefetched = false;
    if (!tl_is_store(use))
        return way;
    if (held->state == TL_LINE_M) {
        // No permission is asked for, so nobody else has told the other hart.
        if (TL_UNLIKELY(hm->shares_l1))
            tl_l1d_take_reservations(hm, line);
        return way;
    }
    if (needs_permission) {
        const tl_agent *agent = tl_is_walk(use) ? &hm->walker : &l1->client.agent;
        count_data_miss(h->tally, use);
        h->tally[TL_S_L1D_UPGRADE] += 1;
        tl_stall(h, stall_cell, tl_l2_acquire_permission(&l1->client, agent, line, held->l2_way, h->now));
        held->is_contested = entry->is_contested;
    }
    held->state = TL_LINE_M;
    tl_l1d_take_reservations(hm, line);
    return way;
}

bool tl_l1d_refuses_hit(tl_hart_mem *hm, uint32_t way) {
    tl_l1_line *held = &hm->l1d.lines[way];
    tl_l2 *l2 = hm->l1d.client.l2;
    held->is_contested = tl_l2_contest_lasts(l2, &l2->lines[held->l2_way], hm->h->now);
    return held->is_contested && tl_contest_refuses_hit(&hm->contender);
}

bool tl_l1d_would_refuse(tl_hart_mem *hm, uint64_t line, bool is_store) {
    const tl_l2_client *client = &hm->l1d.client;
    tl_l2 *l2 = client->l2;
    if (!tl_is_ahead(&hm->contender))
        return false;
    uint32_t way = tl_cache_find(&hm->l1d.cache, line);
    if (way != TL_NO_WAY) {
        const tl_l1_line *held = &hm->l1d.lines[way];
        bool needs_permission = is_store && !tl_line_may_write(held->state);
        return (needs_permission && tl_contest_refuses(&hm->contender, client, &l2->lines[held->l2_way], true)) ||
               (held->is_contested && tl_l1d_refuses_hit(hm, way));
    }
    uint32_t found = tl_l2_find(l2, line);
    return tl_contest_refuses(&hm->contender, client, found == TL_NO_WAY ? NULL : &l2->lines[found], is_store);
}

void tl_l1d_break_reservations(tl_hart_mem *hm, uint64_t line) {
    tl_memory *m = hm->memory;
    for (uint32_t left = m->reserving & ~(1u << hm->h->id); left != 0; left &= left - 1) {
        tl_hart *other = m->harts[__builtin_ctz(left)].h;
        if (other->reservation_paddr == line)
            other->reservation_paddr = TL_NO_LINE;
        if (other->reservation_paddr == TL_NO_LINE) // it may be one that has lapsed
            m->reserving &= ~(left & -left);
    }
}

static TL_NOINLINE uint8_t *access_shown(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr, tl_use use, uint32_t stall_cell) {
    uint64_t paddr = vaddr + page->paddr_minus_vaddr, line = paddr & hm->h->line_mask;
    uint32_t way = tl_l1d_access(hm, line, use, stall_cell);
    if (TL_UNLIKELY(way == TL_NO_WAY))
        return NULL;
    if (TL_LIKELY(way != TL_NO_COPY && !hm->l1d.lines[way].is_contested))
        tl_slot_show_line(hm, page, vaddr, way, hm->l1d.lines[way].state, false, false, false);
    return (uint8_t *)(hm->host_minus_paddr + paddr);
}

uint8_t *tl_l1d_load(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr) {
    return access_shown(hm, page, vaddr, TL_USE_LOAD, TL_S_HART_CYC_LOAD_MISS);
}

uint8_t *tl_l1d_store(tl_hart_mem *hm, const tl_page_slot *page, uint64_t vaddr) {
    return access_shown(hm, page, vaddr, TL_USE_STORE, TL_S_HART_CYC_STORE_MISS);
}

static bool probe_data(tl_l2_client *client, uint64_t line, uint8_t keep) {
    tl_l1 *l1 = (tl_l1 *)client;
    tl_hart_mem *hm = l1->hm;
    uint64_t *tally = hm->h->tally;
    uint32_t way = tl_cache_find(&l1->cache, line);
    if (way == TL_NO_WAY) // still on its way in, because the directory is exact
        return false;
    bool has_data = l1->lines[way].state >= TL_LINE_M;
    tally[TL_S_L1D_PROBE] += 1;
    tally[TL_S_L1D_PROBE_DATA] += has_data;
    tally[TL_S_L1D_WRITEBACK] += has_data;
    l1->lines[way].state = keep == TL_LINE_O && !has_data ? TL_LINE_S : keep;
    if (keep != TL_LINE_I) {
        l1->lines[way].is_contested = hm->memory->n_harts > 1; // the next use finds out
        if (l1->lines[way].is_contested)
            tl_slot_hide_data(hm, way);
        else
            tl_slot_protect_data(hm, way);
        return has_data;
    }
    tally[TL_S_L1D_PROBE_INVALIDATE] += 1;
    tl_slot_hide_data(hm, way);
    tl_cache_drop(&l1->cache, way);
    return has_data;
}

void tl_memory_flush_l1d(tl_hart *h) {
    tl_hart_mem *hm = tl_mem_of(h);
    for (uint32_t way = 0; way < tl_cache_n_ways(&hm->l1d.cache); way++)
        tl_l1d_evict(hm, way);
}

// Every hit stamps `uses`, whatever the policy. A fill may stamp nothing but `stamps`.
static bool used_lately(const tl_l2_client *client, uint64_t line, bool only_changed) {
    const tl_l1 *l1 = (const tl_l1 *)client;
    const uint32_t way = tl_cache_find(&l1->cache, line);
    if (way == TL_NO_WAY || (only_changed && l1->lines[way].state < TL_LINE_M))
        return false;
    const uint64_t since = l1->hm->h->epoch_stamp;
    return l1->cache.uses[way] > since || l1->cache.stamps[way] > since;
}

static void note_sharing(tl_l2_client *client, uint64_t time) { tl_hart_note_sharing(((tl_l1 *)client)->hm->h, time); }

static void moved(tl_l2_client *client, uint64_t line, uint32_t l2_way) {
    tl_l1 *l1 = (tl_l1 *)client;
    const uint32_t way = tl_cache_find(&l1->cache, line);
    if (way != TL_NO_WAY)
        l1->lines[way].l2_way = l2_way;
}

const tl_l2_client_type tl_l1d_client = {.probe = probe_data, .moved = moved, .used_lately = used_lately, .note_sharing = note_sharing};

// ---- instructions

static void hide_fetch(tl_hart_mem *hm, uint32_t way) {
    tl_slot_hide_fetch(hm, way);
    if (TL_UNLIKELY(hm->shares_l1))
        tl_slot_hide_fetch_of_core(hm, way);
}

static void release_fetch(tl_l1 *l1, uint32_t way) {
    const uint32_t l2_way = l1->lines[way].l2_way;
    if (TL_UNLIKELY(l1->client.l2->filter != NULL))
        tl_l2_forget_fetch(&l1->client, l2_way);
    else
        tl_l2_release_fetch(&l1->client, l2_way);
}

uint32_t tl_l1i_replace(tl_hart_mem *hm, uint64_t line, const tl_l2_reply *reply, bool is_prefetch) {
    tl_l1 *l1 = &hm->l1i;
    uint32_t way = tl_cache_choose(&l1->cache, line);
    const tl_l1_line *held = &l1->lines[way];
    if (held->state != TL_LINE_I) {
        hm->h->tally[TL_S_L1I_EVICT] += 1;
        hide_fetch(hm, way);
        release_fetch(l1, way);
    }
    tl_l1i_fill(hm, line, way, reply, is_prefetch);
    return way;
}

static TL_NOINLINE void prefetch_next_fetch(tl_hart_mem *hm, uint64_t line) {
    tl_l1 *l1 = &hm->l1i;
    uint64_t next = line + tl_line_bytes(hm->memory);
    if (has_next(l1, next))
        return;
    hm->h->tally[TL_S_L1I_PREFETCH] += 1;
    tl_l2_reply reply = tl_l2_prefetch_get(&l1->client, &l1->client.agent, next, hm->h->now);
    tl_l1i_replace(hm, next, &reply, true);
}

uint32_t tl_l1i_access(tl_hart_mem *hm, uint64_t line) {
    tl_l1 *l1 = &hm->l1i;
    tl_hart *h = hm->h;
    uint32_t way = tl_cache_find(&l1->cache, line);
    if (way != TL_NO_WAY) {
        tl_cache_touch(&l1->cache, way);
        h->tally[TL_S_L1I_PREFETCH_HIT] += l1->lines[way].is_prefetched;
        l1->lines[way].is_prefetched = false;
        return way;
    }
    h->tally[TL_S_L1I_MISS] += 1;
    tl_l2_reply reply = tl_l2_get(&l1->client, &l1->client.agent, line, tl_l2_find(l1->client.l2, line), h->now);
    tl_stall(h, TL_S_HART_CYC_FETCH, reply.cycles);
    way = tl_l1i_replace(hm, line, &reply, false);
    if (hm->memory->config.l1i.prefetch == TL_PREFETCH_NEXT_LINE)
        prefetch_next_fetch(hm, line);
    return way;
}

bool tl_l1i_would_refuse(const tl_hart_mem *hm, uint64_t line) {
    return tl_was_sharing(&hm->contender) && tl_is_ahead(&hm->contender) && tl_cache_find(&hm->l1i.cache, line) == TL_NO_WAY;
}

static void invalidate_fetch(tl_hart_mem *hm, uint32_t way) {
    hm->h->tally[TL_S_L1I_INVALIDATE] += 1;
    hide_fetch(hm, way);
    hm->l1i.lines[way].state = TL_LINE_I;
    tl_cache_drop(&hm->l1i.cache, way);
}

void tl_l1i_drop(tl_hart_mem *hm, uint32_t way) {
    release_fetch(&hm->l1i, way);
    invalidate_fetch(hm, way);
}

static bool probe_fetch(tl_l2_client *client, uint64_t line, uint8_t keep) {
    (void)keep; // instruction caches own no line, so a probe always takes the copy
    tl_l1 *l1 = (tl_l1 *)client;
    uint32_t way = tl_cache_find(&l1->cache, line);
    if (way != TL_NO_WAY) {
        invalidate_fetch(l1->hm, way);
        l1->hm->h->has_lost_fetch = true;
    }
    return false;
}

const tl_l2_client_type tl_l1i_client = {.probe = probe_fetch, .moved = moved, .note_sharing = note_sharing};
