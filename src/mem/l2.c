// SPDX-License-Identifier: MIT
// The shared second level: slices dealt out by the low line-number bits, inclusive of every first-level cache, with a directory in its
// tags. What an eviction costs is time of the slice and of the channel, never of the requester.
#include "mem/l2.h"

static void count_probe(tl_memory *m, tl_l2_slice *slice, bool has_data) {
    slice->tally[TL_L2_PROBE_OUT] += 1;
    m->noc[TL_NOC_PROBE] += 1;
    m->noc[has_data ? TL_NOC_PROBE_ACK_DATA : TL_NOC_PROBE_ACK] += 1;
}

// `why`: TL_LINK_PROBE_*.
static void probe_data_cache(tl_memory *m, tl_l2_slice *slice, tl_l2_line *entry, uint32_t hart, uint64_t line, uint8_t keep,
                             enum tl_mem_signal why) {
    bool has_data = tl_l1d_probe(&m->harts[hart], line, keep);
    count_probe(m, slice, has_data);
    m->links[hart][why] += 1;
    m->links[hart][tl_l2_release_signal(has_data, entry->owner == hart, keep != TL_LINE_I)] += 1;
    if (has_data)
        tl_l2_take_data(slice, entry);
    if (keep == TL_LINE_I)
        entry->data_sharers &= (uint8_t) ~(1u << hart);
}

void tl_l2_share_owner(tl_memory *m, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, enum tl_mem_signal why) {
    probe_data_cache(m, slice, entry, entry->owner, line, TL_LINE_S, why);
    entry->owner = TL_NO_OWNER;
}

void tl_l2_probe_others(tl_memory *m, tl_l2_slice *slice, tl_l2_line *entry, uint32_t others, uint64_t line) {
    for (uint32_t left = others; left != 0; left &= left - 1)
        probe_data_cache(m, slice, entry, (uint32_t)__builtin_ctz(left), line, TL_LINE_I, TL_LINK_PROBE_STORE);
}

// Every copy in a first-level cache goes.
static void probe_all(tl_memory *m, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line) {
    for (uint32_t left = entry->data_sharers; left != 0; left &= left - 1)
        probe_data_cache(m, slice, entry, (uint32_t)__builtin_ctz(left), line, TL_LINE_I, TL_LINK_PROBE_TAKE);
    for (uint32_t left = entry->fetch_sharers; left != 0; left &= left - 1) {
        uint32_t hart = (uint32_t)__builtin_ctz(left);
        tl_l1i_probe(&m->harts[hart], line);
        count_probe(m, slice, false);
        m->links[hart][TL_LINK_PROBE_I] += 1;
    }
    entry->fetch_sharers = 0;
    entry->owner = TL_NO_OWNER;
}

void tl_l2_take_back(tl_memory *m, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line) {
    for (uint32_t left = entry->data_sharers | (uint32_t)entry->fetch_sharers << 8; left != 0; left &= left - 1)
        slice->tally[TL_L2_BACK_INVALIDATE] += 1;
    probe_all(m, slice, entry, line);
}

uint32_t tl_l2_fill_fixed(tl_memory *m, uint64_t line, uint64_t time, uint64_t *cycles) {
    return tl_l2_fill(m, &m->slices[0], line, time, true, cycles, true);
}

void tl_l2_prefetch_next(tl_memory *m, uint64_t line, uint64_t time) {
    uint64_t next = line + tl_line_bytes(m), unused = 0;
    if ((next & ~tl_page_mask(0)) == 0) // the next line may belong to anyone
        return;
    tl_l2_slice *slice = tl_l2_slice_of(m, next);
    if (tl_cache_find(&slice->cache, next) != TL_NO_WAY)
        return;
    slice->tally[TL_L2_PREFETCH] += 1;
    uint32_t way = tl_l2_fill(m, slice, next, time, false, &unused, false);
    m->l2_lines[slice->first_way + way].is_prefetched = true;
}

tl_l2_reply tl_l2_request(tl_memory *m, uint32_t hart, uint64_t line, tl_use use, bool is_prefetch, uint64_t time) {
    return tl_l2_ask(m, hart, m->links[hart], line, use, is_prefetch, time, false, false);
}

uint64_t tl_l2_upgrade(tl_memory *m, uint32_t hart, uint32_t l2_way, uint64_t line, uint64_t time) {
    tl_l2_slice *slice = tl_l2_slice_of(m, line);
    slice->tally[TL_L2_READ] += 1;
    slice->tally[TL_L2_READ_ST] += 1;
    slice->tally[TL_L2_READ_HART0 + hart] += 1;
    slice->tally[TL_L2_UPGRADE] += 1;
    m->noc[TL_NOC_REQUEST] += 1;
    tl_l2_line *entry = &m->l2_lines[l2_way];
    m->links[hart][TL_LINK_ACQUIRE_PERM] += 1;
    m->links[hart][TL_LINK_ACQUIRE_PERM_SHARED] += ((entry->data_sharers & ~(1u << hart)) | entry->fetch_sharers) != 0;
    uint64_t cycles = tl_server_occupy(&slice->server, time, m->config.mem.l2_busy_cycles);
    slice->tally[TL_L2_BUSY] += cycles;
    cycles += m->config.mem.upgrade_cycles;
    tl_cache_touch(&slice->cache, l2_way - slice->first_way);
    return cycles + tl_l2_take_others(m, slice, entry, hart, line, time);
}

// A device's access comes through a port of the slice: what is here is served here, what is not goes to memory and leaves nothing behind.
// A write takes every copy above, those of instruction caches included.
void tl_l2_dma(tl_memory *m, uint64_t line, tl_dma use, uint64_t time) {
    static const struct {
        enum tl_mem_signal all, part, hit, hit_shared, miss;
    } signals[] = {
        [TL_DMA_GET] = {TL_L2_DMA_READ, TL_L2_N_SIGNALS, TL_L2_DMA_READ_HIT, TL_L2_DMA_READ_HIT_SHARED, TL_L2_DMA_READMISS},
        [TL_DMA_PUT_FULL] = {TL_L2_DMA_WRITE, TL_L2_DMA_WRITE_FULL, TL_L2_DMA_WRITE_FULL_HIT, TL_L2_DMA_WRITE_FULL_HIT_SHARED,
                             TL_L2_DMA_WRITEMISS},
        [TL_DMA_PUT_PARTIAL] = {TL_L2_DMA_WRITE, TL_L2_DMA_WRITE_PARTIAL, TL_L2_DMA_WRITE_PARTIAL_HIT, TL_L2_DMA_WRITE_PARTIAL_HIT_SHARED,
                                TL_L2_DMA_WRITEMISS},
    };
    tl_l2_slice *slice = tl_l2_slice_of(m, line);
    bool is_write = use != TL_DMA_GET;
    slice->tally[signals[use].all] += 1;
    if (is_write)
        slice->tally[signals[use].part] += 1;
    time += tl_server_occupy(&slice->server, time, m->config.mem.l2_busy_cycles) + m->config.mem.l2_hit_cycles;
    uint32_t way = tl_cache_find(&slice->cache, line);
    if (way == TL_NO_WAY) {
        slice->tally[signals[use].miss] += 1;
        if (is_write)
            tl_dram_write(m, line, time);
        else
            tl_dram_read(m, line, time, false);
        return;
    }
    tl_l2_line *entry = &m->l2_lines[slice->first_way + way];
    tl_cache_touch(&slice->cache, way);
    slice->tally[signals[use].hit] += 1;
    slice->tally[signals[use].hit_shared] += (entry->data_sharers | entry->fetch_sharers) != 0;
    if (!is_write) {
        if (entry->owner != TL_NO_OWNER)
            tl_l2_share_owner(m, slice, entry, line, TL_LINK_PROBE_GET);
        return;
    }
    probe_all(m, slice, entry, line);
    entry->is_dirty = true;
}
