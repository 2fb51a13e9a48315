// SPDX-License-Identifier: MIT
// Assembles the memory system of a machine from its description, once; afterwards nothing here
// allocates.
#include "mem/memory.h"

#include "mem/cache_fixed.h"

#include <string.h>

static uint32_t sets_of(const tl_cache_config *cache) { return cache->size_bytes / cache->ways / cache->line_bytes; }

static uint32_t sectors_of(const tl_config *config) { return config->bsq.sectors > 1 ? config->bsq.sectors : 1; }

static tl_status check_cache(const char *name, const tl_cache_config *cache, uint32_t line_bytes, uint32_t slices, tl_error *err) {
    if (cache->line_bytes != line_bytes || !tl_is_pow2(line_bytes) || line_bytes < 16 || line_bytes > 128)
        return tl_fail(err, TL_EINVAL, "%s.line_bytes = %u: must be 16, 32, 64 or 128 and the same for l1i, l1d and l2", name,
                       cache->line_bytes);
    if (cache->ways < 1 || cache->ways > TL_MAX_WAYS || (cache->replacement == TL_REPLACE_PLRU && !tl_is_pow2(cache->ways)))
        return tl_fail(err, TL_EINVAL, "%s.ways = %u: must be 1 to %d, and a power of two for plru", name, cache->ways, TL_MAX_WAYS);
    uint64_t way_bytes = (uint64_t)cache->ways * line_bytes * slices;
    if (cache->size_bytes % way_bytes != 0 || !tl_is_pow2(cache->size_bytes / way_bytes))
        return tl_fail(err, TL_EINVAL, "%s.size_bytes = %u: size / (ways * line_bytes * slices) must be a power of two", name,
                       cache->size_bytes);
    if (cache->prefetch != TL_PREFETCH_NONE && sets_of(cache) < 2)
        return tl_fail(err, TL_EINVAL, "%s.prefetch = next_line: needs at least two sets, or it would replace the line just fetched", name);
    return TL_OK;
}

static tl_status check_tlb(const char *name, const tl_tlb_config *tlb, tl_error *err) {
    if (tlb->ways < 1 || tlb->ways > 1u << TL_WAY_BITS)
        return tl_fail(err, TL_EINVAL, "%s.ways = %u: must be 1 to %u", name, tlb->ways, 1u << TL_WAY_BITS);
    if (tlb->entries % tlb->ways != 0 || !tl_is_pow2(tlb->entries / tlb->ways))
        return tl_fail(err, TL_EINVAL, "%s.entries = %u: entries / ways must be a power of two", name, tlb->entries);
    if (tlb->replacement == TL_REPLACE_PLRU && !tl_is_pow2(tlb->ways))
        return tl_fail(err, TL_EINVAL, "%s.ways = %u: must be a power of two for plru", name, tlb->ways);
    return TL_OK;
}

// Checks the sizes of the arrays below. The description checks ranges that matter to people only.
static tl_status check(const tl_config *config, tl_error *err) {
    uint32_t line_bytes = config->l1d.line_bytes, slices = config->l2_slices;
    if (config->n_harts < 1 || config->n_harts > TL_MAX_HARTS)
        return tl_fail(err, TL_EINVAL, "harts = %u: must be 1 to %d", config->n_harts, TL_MAX_HARTS);
    if (!tl_is_pow2(slices) || slices > TL_MAX_L2_SLICES)
        return tl_fail(err, TL_EINVAL, "l2.slices = %u: must be a power of two, at most %d", slices, TL_MAX_L2_SLICES);
    if (!tl_is_pow2(config->mem_channels) || config->mem_channels > TL_MAX_MEM_CHANNELS)
        return tl_fail(err, TL_EINVAL, "mem.channels = %u: must be a power of two, at most %d", config->mem_channels, TL_MAX_MEM_CHANNELS);
    if (!tl_is_pow2(config->mem.mem_banks) || !tl_is_pow2(config->mem.mem_row_bytes) || config->mem.mem_row_bytes < line_bytes)
        return tl_fail(err, TL_EINVAL, "mem.banks = %u, mem.row_bytes = %u: must be powers of two, and a row at least a line",
                       config->mem.mem_banks, config->mem.mem_row_bytes);
    if (config->ram_bytes == 0 || config->ram_bytes % 4096 != 0)
        return tl_fail(err, TL_EINVAL, "ram_bytes = %llu: must be a multiple of 4096", (unsigned long long)config->ram_bytes);
    if (line_bytes != 0 && (TL_RAM_BASE_PADDR + config->ram_bytes) / line_bytes > TL_NO_TAG)
        return tl_fail(err, TL_EINVAL, "ram_bytes = %llu: must be below 62 GiB with lines of %u bytes",
                       (unsigned long long)config->ram_bytes, line_bytes);
    tl_status status = check_cache("l1i", &config->l1i, line_bytes, 1, err);
    if (status == TL_OK)
        status = check_cache("l1d", &config->l1d, line_bytes, 1, err);
    if (status == TL_OK)
        status = check_cache("l2", &config->l2, line_bytes, slices * sectors_of(config), err);
    bool is_prefetching = config->l1i.prefetch != TL_PREFETCH_NONE || config->l1d.prefetch != TL_PREFETCH_NONE;
    if (status == TL_OK && is_prefetching && sets_of(&config->l2) < 2)
        status = tl_fail(err, TL_EINVAL, "l2.size_bytes = %u: prefetchers need an l2 of at least two sets", config->l2.size_bytes);
    if (status == TL_OK)
        status = check_tlb("itlb", &config->itlb, err);
    if (status == TL_OK)
        status = check_tlb("dtlb", &config->dtlb, err);
    if (status == TL_OK && config->l2tlb.entries != 0)
        status = check_tlb("l2tlb", &config->l2tlb, err);
    if (status == TL_OK && config->walk_cache.entries != 0)
        status = check_tlb("walk_cache", &config->walk_cache, err);
    return status;
}

// Numbers of the random sequences.
enum { UNIT_L1I, UNIT_L1D, UNIT_ITLB, UNIT_DTLB, UNIT_L2TLB, UNITS_PER_HART, UNIT_L2 = 64, UNIT_WALK_CACHE = 128 };

static uint64_t seed_of(const tl_memory *m, uint32_t hart, uint32_t unit) {
    return tl_replacement_seed(m->config.seed, unit >= UNIT_L2 ? unit + hart : hart * UNITS_PER_HART + unit);
}

typedef struct l1_kind {
    const tl_l2_client_type *client;
    tl_l2_client_kind kind;
    tl_agent_kind agent;
    uint32_t unit;
} l1_kind;

static bool new_l1(tl_memory *m, tl_hart_mem *hm, tl_arena *arena, tl_l1 *l1, const tl_cache_config *config, const l1_kind *kind,
                   uint32_t first_stamp) {
    l1->hm = hm;
    l1->client.type = kind->client;
    l1->client.link = m->links[hm->h->id];
    l1->client.agent = (tl_agent){.kind = kind->agent, .id = hm->h->id, .context = &hm->h->context};
    tl_l2_add_client(&m->l2, &l1->client, kind->kind);
    l1->first_stamp = first_stamp;
    l1->lines = tl_arena_alloc(arena, (size_t)sets_of(config) * config->ways * sizeof *l1->lines);
    return l1->lines && tl_cache_init(&l1->cache, arena, sets_of(config), config->ways, m->line_log2, m->line_log2, config->replacement,
                                      hm->h->stamps + first_stamp, &hm->h->stamp, seed_of(m, hm->h->id, kind->unit));
}

// A further hart of a core: the arrays of the first one, requests and counts of its own. An invalid
// way is always looked for, because each hart counts invalid ways for itself.
static void share_l1(const tl_hart_mem *hm, tl_l1 *l1, tl_l1 *of_leader) {
    enum { MANY = 1 << 30 };
    of_leader->cache.n_invalid = MANY;
    *l1 = *of_leader;
    l1->cache.clock = &hm->h->stamp; // the core keeps stamps of its harts together
    l1->client.link = hm->memory->links[hm->h->id];
    l1->client.agent.id = hm->h->id;
    l1->client.agent.context = &hm->h->context;
}

static bool new_l1s(tl_memory *m, tl_hart_mem *hm, tl_arena *arena, uint32_t l1d_stamp, uint32_t l1i_stamp) {
    static const l1_kind data = {&tl_l1d_client, TL_L2_DATA_CACHE, TL_AGENT_HART_DATA, UNIT_L1D};
    static const l1_kind fetch = {&tl_l1i_client, TL_L2_INSTRUCTION_CACHE, TL_AGENT_HART_FETCH, UNIT_L1I};
    const uint32_t threads = tl_config_core_threads(&m->config);
    tl_hart_mem *leader = &m->harts[hm->h->id - hm->h->id % threads];
    hm->shares_l1 = threads > 1;
    if (leader == hm)
        return new_l1(m, hm, arena, &hm->l1d, &m->config.l1d, &data, l1d_stamp) &&
               new_l1(m, hm, arena, &hm->l1i, &m->config.l1i, &fetch, l1i_stamp);
    share_l1(hm, &hm->l1d, &leader->l1d);
    share_l1(hm, &hm->l1i, &leader->l1i);
    return true;
}

static bool new_first_tlb(tl_memory *m, tl_hart_mem *hm, tl_arena *arena, tl_first_tlb *tlb, const tl_tlb_config *config, uint32_t unit,
                          uint32_t first_stamp) {
    tlb->first_stamp = first_stamp;
    return tl_tlb_init(&tlb->tlb, arena, config->entries, config->ways, hm->h->isa->n_page_levels, config->replacement,
                       hm->h->stamps + first_stamp, &hm->h->stamp, seed_of(m, hm->h->id, unit));
}

static void share_dtlb(tl_hart_mem *hm, tl_hart_mem *leader) {
    hm->dtlb_partner = leader;
    leader->dtlb_partner = hm;
    tl_tlb_share(&hm->dtlb.tlb, &leader->dtlb.tlb);
}
_Static_assert(TL_MAX_THREADS == 2, "a DTLB has one partner");

// On the host a load waits for an earlier store if their addresses differ in whole pages of 4 KiB.
// Every access writes the stamp of its line, and then guest registers are read. The most used lines
// (objects, stacks) lie at the beginning and at the end of a page. Their stamps must not be such
// neighbors of the registers. At half a page of distance the stamps of the middle lines are there
// instead. nbody took 1.4 times as long with 64 and with 320 bytes of distance; the other 62
// distances were alike.
static uint64_t *new_stamps(tl_arena *arena, const tl_hart *h, uint32_t n_stamps) {
    const uintptr_t host_page = 4096;
    uint8_t *memory = tl_arena_alloc(arena, n_stamps * sizeof(uint64_t) + host_page);
    uintptr_t skipped = ((uintptr_t)h + h->isa->registers_offset + host_page / 2 - (uintptr_t)memory) & (host_page - 1);
    return memory ? (uint64_t *)(void *)(memory + (skipped & ~UINT64_C(63))) : NULL;
}

static bool new_hart_mem(tl_memory *m, tl_arena *arena, tl_hart_mem *hm, tl_hart *h) {
    const tl_config *config = &m->config;
    uint32_t l1d_ways = sets_of(&config->l1d) * config->l1d.ways, l1i_ways = sets_of(&config->l1i) * config->l1i.ways;
    // Stamps begin at 8, because a set of 8 then lies in one host line.
    uint32_t l1d_stamp = 8, l1i_stamp = l1d_stamp + l1d_ways, dtlb_stamp = l1i_stamp + l1i_ways;
    const uint32_t threads = tl_config_core_threads(config), thread = h->id % threads;
    const uint32_t n_tlb_stamps = config->dtlb.entries + config->itlb.entries, n_stamps = dtlb_stamp + threads * n_tlb_stamps;
    // Harts of a core have the stamps of their lines in common, and those of a shared DTLB.
    const uint32_t itlb_stamp = dtlb_stamp + thread * n_tlb_stamps + config->dtlb.entries;
    dtlb_stamp += config->core.shares_dtlb ? 0 : thread * n_tlb_stamps;
    hm->memory = m;
    hm->h = h;
    hm->contender.h = h;
    hm->walker = (tl_agent){.kind = TL_AGENT_WALKER, .id = h->id, .context = &h->context};
    hm->host_minus_paddr = (uintptr_t)m->ram - TL_RAM_BASE_PADDR;
    h->mem = hm;
    h->line_log2 = m->line_log2;
    h->line_mask = ~(tl_line_bytes(m) - 1);
    h->reservation_paddr = TL_NO_LINE;
    h->first_until = h->access_until = UINT64_MAX;
    h->stamps = thread == 0 ? new_stamps(arena, h, n_stamps) : m->harts[h->id - thread].h->stamps;
    if (!h->stamps || !new_l1s(m, hm, arena, l1d_stamp, l1i_stamp) ||
        !new_first_tlb(m, hm, arena, &hm->dtlb, &config->dtlb, UNIT_DTLB, dtlb_stamp) ||
        !new_first_tlb(m, hm, arena, &hm->itlb, &config->itlb, UNIT_ITLB, itlb_stamp))
        return false;
    if (config->core.shares_dtlb && thread > 0)
        share_dtlb(hm, &m->harts[h->id - thread]);
    if (config->l2tlb.entries != 0) {
        uint64_t *stamps = tl_arena_alloc(arena, config->l2tlb.entries * sizeof *stamps);
        if (!stamps || !tl_tlb_init(&hm->l2tlb, arena, config->l2tlb.entries, config->l2tlb.ways, h->isa->n_page_levels,
                                    config->l2tlb.replacement, stamps, &hm->l2tlb_clock, seed_of(m, h->id, UNIT_L2TLB)))
            return false;
    }
    hm->has_tags = config->asid_bits != 0;
    if (hm->has_tags) {
        tl_tlb_set_tagged(&hm->itlb.tlb);
        tl_tlb_set_tagged(&hm->dtlb.tlb);
        tl_tlb_set_tagged(&hm->l2tlb);
    }
    if (!tl_walk_cache_init(&hm->walk_cache, arena, &config->walk_cache, seed_of(m, h->id, UNIT_WALK_CACHE)))
        return false;
    m->is_fixed = tl_cache_is_fixed(&hm->l1d.cache) && tl_cache_is_fixed(&m->l2.slices[0].cache) && config->l2_slices == 1 &&
                  config->l1d.prefetch == TL_PREFETCH_NONE && config->l2.prefetch == TL_PREFETCH_NONE && !m->l2.bsq && !m->l2.filter;
    m->is_fixed_fetch = m->is_fixed && tl_cache_is_fixed(&hm->l1i.cache) && config->l1i.prefetch == TL_PREFETCH_NONE;
    m->is_alone = m->is_fixed_fetch && config->n_harts == 1 && config->mem_channels == 1;
    h->port = m->is_alone         ? &tl_memory_port_alone
              : m->is_fixed_fetch ? &tl_memory_port_fixed
              : m->is_fixed       ? &tl_memory_port_fixed_data
                                  : &tl_memory_port;
    tl_slots_init(hm);
    return true;
}

// Lines of the first level, one more for each cache while a line comes in, and one that the second
// level drops for it.
static size_t n_filter_entries(const tl_config *config) {
    const size_t n_lines = (size_t)sets_of(&config->l1i) * config->l1i.ways + (size_t)sets_of(&config->l1d) * config->l1d.ways;
    return config->l2_fill == TL_FILL_EVICT ? config->n_harts * (n_lines + 2) + 1 : 0;
}

// Harts whose turns are long ask out of order. The queues of a detailed machine are its own.
static bool add_calendar(const tl_config *config, tl_arena *arena, tl_server *server, uint32_t busy_cycles) {
    if (config->n_harts == 1 || config->core.kind == TL_CORE_OUT_OF_ORDER)
        return true;
    const uint64_t lead_cycles = (uint64_t)TL_TIMES_APART * config->interleave_cycles, queue_cycles = (uint64_t)TL_MAX_HARTS * busy_cycles;
    const uint32_t n_cycles = tl_server_calendar_cycles(lead_cycles + queue_cycles);
    uint64_t *calendar = tl_arena_alloc(arena, n_cycles / 8);
    tl_server_take_calendar(server, calendar, n_cycles);
    return calendar != NULL;
}

static bool new_l2(tl_memory *m, tl_arena *arena, uint64_t *const **next_tally) {
    const tl_config *config = &m->config;
    tl_l2 *l2 = &m->l2;
    const uint32_t sectors = sectors_of(config);
    uint32_t slice_sets = sets_of(&config->l2) / config->l2_slices / sectors, slice_ways = slice_sets * config->l2.ways;
    size_t n_ways = (size_t)slice_ways * config->l2_slices, n_lines = n_ways * sectors;
    l2->line_log2 = m->line_log2;
    l2->sector_log2 = tl_log2(sectors);
    l2->slice_shift = m->line_log2 + l2->sector_log2;
    l2->slice_mask = config->l2_slices - 1;
    l2->busy_cycles = config->mem.l2_busy_cycles;
    l2->hit_cycles = config->mem.l2_hit_cycles;
    l2->probe_cycles = config->mem.probe_cycles;
    l2->upgrade_cycles = config->mem.upgrade_cycles;
    l2->is_prefetching = config->l2.prefetch == TL_PREFETCH_NEXT_LINE;
    const size_t n_outside = n_filter_entries(config);
    uint64_t *stamps = tl_arena_alloc(arena, n_ways * sizeof *stamps);
    l2->lines = tl_arena_alloc(arena, (n_lines + n_outside) * sizeof *l2->lines);
    l2->contested_at = tl_arena_alloc(arena, (n_lines + n_outside) * sizeof *l2->contested_at);
    if (!stamps || !l2->lines || !l2->contested_at)
        return false;
    if (n_outside != 0) {
        l2->filter = &m->filter;
        if (!tl_snoop_filter_init(&m->filter, arena, (uint32_t)n_outside, (uint32_t)n_lines, m->line_log2))
            return false;
    }
    for (uint32_t i = 0; i < config->l2_slices; i++) {
        tl_l2_slice *slice = &l2->slices[i];
        slice->tally = *(*next_tally)++;
        slice->first_way = i * slice_ways;
        if (!tl_cache_init(&slice->cache, arena, slice_sets, config->l2.ways, l2->slice_shift, l2->slice_shift + tl_log2(config->l2_slices),
                           config->l2.replacement, stamps + slice->first_way, &l2->clock, seed_of(m, i, UNIT_L2)) ||
            !add_calendar(config, arena, &slice->server, l2->busy_cycles))
            return false;
    }
    l2->noc = *(*next_tally)++;
    return true;
}

static bool new_dram(tl_memory *m, tl_arena *arena, uint64_t *const **next_tally) {
    const tl_config *config = &m->config;
    tl_dram *dram = &m->l2.dram;
    *dram = (tl_dram){
        .line_log2 = m->line_log2,
        .channel_mask = config->mem_channels - 1,
        .bank_mask = config->mem.mem_banks - 1,
        .banks_log2 = tl_log2(config->mem.mem_banks),
        .row_shift = tl_log2(config->mem.mem_row_bytes) + tl_log2(config->mem_channels),
        .row_cycles = {config->mem.mem_row_hit_cycles, config->mem.mem_row_miss_cycles, config->mem.mem_row_conflict_cycles},
        .busy_cycles = config->mem.mem_busy_cycles,
    };
    for (uint32_t i = 0; i < config->mem_channels; i++) {
        tl_channel *channel = &dram->channels[i];
        channel->tally = *(*next_tally)++;
        channel->open_rows = tl_arena_alloc(arena, config->mem.mem_banks * sizeof *channel->open_rows);
        if (!channel->open_rows || !add_calendar(config, arena, &channel->server, dram->busy_cycles))
            return false;
    }
    return true;
}

static bool new_shared(tl_memory *m, tl_arena *arena, uint64_t *const *shared_tally) {
    if (!new_l2(m, arena, &shared_tally) || !new_dram(m, arena, &shared_tally))
        return false;
    m->bus = *shared_tally++;
    m->dma = *shared_tally++;
    for (uint32_t i = 0; i < m->n_harts; i++)
        m->links[i] = *shared_tally++;
    if (m->config.core.kind == TL_CORE_OUT_OF_ORDER) {
        const uint32_t n_lines = sets_of(&m->config.l2) * m->config.l2.ways;
        m->writes_through = m->config.bsq.l1d_write == TL_WRITE_THROUGH;
        m->l2.bsq = &m->bsq;
        if (!tl_bsq_init(&m->bsq, &m->config.bsq, arena, n_lines, *shared_tally++))
            return false;
    }
    m->l2.is_special = m->l2.bsq != NULL || m->l2.filter != NULL;
    m->fetched_pages = tl_arena_alloc(arena, m->ram_bytes / 4096 / 8 + 1);
    return m->fetched_pages != NULL;
}

tl_status tl_memory_new(const tl_config *config, tl_arena *arena, tl_hart *const *harts, uint8_t *ram, uint64_t *const *shared_tally,
                        tl_memory **ret_memory, tl_error *err) {
    tl_status status = check(config, err);
    if (status != TL_OK)
        return status;
    tl_memory *m = tl_arena_alloc(arena, sizeof *m);
    if (!m)
        return tl_fail(err, TL_ENOMEM, "no memory for the memory system");
    m->config = *config;
    m->ram = ram;
    m->ram_bytes = config->ram_bytes;
    m->n_harts = config->n_harts;
    m->line_log2 = tl_log2(config->l1d.line_bytes);
    bool is_ok = new_shared(m, arena, shared_tally);
    for (uint32_t i = 0; is_ok && i < m->n_harts; i++)
        is_ok = new_hart_mem(m, arena, &m->harts[i], harts[i]);
    if (!is_ok)
        return tl_fail(err, TL_ENOMEM, "no memory for the caches and TLBs of %u harts", m->n_harts);
    *ret_memory = m;
    return TL_OK;
}

void tl_memory_done(tl_memory *memory) { (void)memory; } // the arena owns everything

void tl_memory_code_changed(tl_memory *m, uint64_t page_paddr) {
    uint64_t page = page_paddr & tl_page_mask(0);
    for (uint32_t i = 0; i < m->n_harts; i++) {
        tl_hart_mem *hm = &m->harts[i];
        for (uint64_t line = page; line - page <= ~tl_page_mask(0); line += tl_line_bytes(m)) {
            uint32_t way = tl_cache_find(&hm->l1i.cache, line);
            if (way != TL_NO_WAY)
                tl_l1i_drop(hm, way);
        }
        hm->h->code_generation += 1;
    }
}

void tl_memory_switch_context(tl_hart *h, uint64_t context) {
    h->isa->set_context(h, context);
    h->port->context_changed(h);
}

// Random replacement begins anew, because its next choice tells how many there were.
static void restart_random(tl_memory *m) {
    const uint32_t threads = tl_config_core_threads(&m->config);
    for (uint32_t i = 0; i < m->n_harts; i++) {
        tl_hart_mem *hm = &m->harts[i];
        hm->l1i.cache.random = seed_of(m, i - i % threads, UNIT_L1I); // as share_l1 has it
        hm->l1d.cache.random = seed_of(m, i - i % threads, UNIT_L1D);
        hm->itlb.tlb.own_random = seed_of(m, i, UNIT_ITLB);
        hm->dtlb.tlb.own_random = seed_of(m, i, UNIT_DTLB);
        hm->l2tlb.own_random = seed_of(m, i, UNIT_L2TLB);
        hm->walk_cache.random = seed_of(m, i, UNIT_WALK_CACHE);
    }
    for (uint32_t i = 0; i < m->config.l2_slices; i++)
        m->l2.slices[i].cache.random = seed_of(m, i, UNIT_L2);
}

void tl_memory_flush(tl_memory *m, uint64_t now_cycles) {
    tl_l2_empty(&m->l2, &m->harts[0].l1d.client.agent, now_cycles);
    for (uint32_t i = 0; i < m->n_harts; i++)
        tl_tlbs_flush(&m->harts[i], 0, true);
    restart_random(m);
    for (uint32_t i = 0; i < m->config.mem_channels; i++)
        memset(m->l2.dram.channels[i].open_rows, 0, m->config.mem.mem_banks * sizeof *m->l2.dram.channels[i].open_rows);
}

uint64_t tl_memory_flush_cycles(const tl_config *config) {
    uint64_t n_lines = config->l2.size_bytes / config->l2.line_bytes;
    if (config->l2_fill == TL_FILL_EVICT) // data caches have lines that the second level lacks
        n_lines += (uint64_t)config->n_harts * (config->l1d.size_bytes / config->l1d.line_bytes);
    const uint64_t channels = config->mem_channels;
    return (n_lines + channels - 1) / channels * config->mem.mem_busy_cycles;
}

void tl_memory_set_bus(tl_memory *m, const tl_bus *bus) { m->devices = bus; }

static bool was_fetched(const tl_memory *m, uint64_t paddr) {
    uint64_t page = (paddr - TL_RAM_BASE_PADDR) >> TL_PAGE_BITS;
    return m->fetched_pages[page / 8] >> page % 8 & 1;
}

bool tl_memory_dma(tl_memory *m, const tl_agent *agent, uint64_t paddr, uint64_t size_bytes, bool is_write, uint64_t now_cycles) {
    uint64_t offset = paddr - TL_RAM_BASE_PADDR;
    if (offset > m->ram_bytes || size_bytes > m->ram_bytes - offset)
        return false;
    bool is_code = false;
    for (uint64_t line = paddr & ~(tl_line_bytes(m) - 1); size_bytes != 0 && line < paddr + size_bytes; line += tl_line_bytes(m)) {
        bool is_whole = paddr <= line && paddr + size_bytes >= line + tl_line_bytes(m);
        m->dma[is_write ? TL_DMA_WRITE : TL_DMA_READ] += 1;
        tl_l2_dma(&m->l2, agent, line, !is_write ? TL_DMA_GET : is_whole ? TL_DMA_PUT_FULL : TL_DMA_PUT_PARTIAL, now_cycles);
        is_code |= is_write && was_fetched(m, line);
    }
    if (is_write)
        tl_memory_break_reservations(m, paddr, size_bytes);
    // Each hart compares its decoded code of the page.
    for (uint32_t i = 0; is_code && i < m->n_harts; i++)
        m->harts[i].h->code_generation += 1;
    return true;
}

void tl_memory_break_reservations(tl_memory *m, uint64_t paddr, uint64_t size_bytes) {
    for (uint32_t i = 0; i < m->n_harts; i++) {
        tl_hart *h = m->harts[i].h;
        uint64_t line = h->reservation_paddr;
        if (line != TL_NO_LINE && line < paddr + size_bytes && paddr < line + tl_line_bytes(m))
            h->reservation_paddr = TL_NO_LINE;
    }
}

bool tl_memory_l2_line_at(const tl_memory *m, uint32_t slice, uint32_t way, tl_line_view *ret_line) {
    if (slice >= m->config.l2_slices || way >= tl_cache_n_ways(&m->l2.slices[slice].cache))
        return false;
    const tl_l2_slice *at = &m->l2.slices[slice];
    const bool is_valid = at->cache.tags[way] != TL_NO_TAG;
    // A tag of several lines is seen as its first line.
    const tl_l2_line *line = &m->l2.lines[(at->first_way + way) << m->l2.sector_log2];
    *ret_line = (tl_line_view){.paddr = is_valid ? tl_cache_line(&at->cache, way) : 0,
                               .state = !is_valid        ? 'I'
                                        : line->is_dirty ? 'D'
                                                         : 'C'};
    return true;
}

// An entry of the snoop filter stands for a line that the L2 lacks.
bool tl_memory_is_in_l2(const tl_memory *m, uint64_t paddr) {
    const uint64_t line = paddr & ~(uint64_t)(tl_line_bytes(m) - 1);
    const uint32_t found = tl_l2_find((tl_l2 *)(uintptr_t)&m->l2, line);
    return found != TL_NO_WAY && (!m->l2.filter || found < m->l2.filter->first);
}

char tl_memory_l1d_state(const tl_memory *m, uint32_t hart, uint64_t paddr) {
    const tl_l1 *l1 = &m->harts[hart].l1d;
    uint32_t way = tl_cache_find(&l1->cache, paddr & ~(tl_line_bytes(m) - 1));
    return way == TL_NO_WAY ? 'I' : tl_line_state_name(l1->lines[way].state);
}
