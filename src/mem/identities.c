// SPDX-License-Identifier: MIT
// Conservation identities between the tallies of a memory system at rest. Every request of one
// level reaches the next level. No part exceeds its whole. A broken identity is a bug of the model.
// The error names the identity.
#include "mem/memory.h"

#include <inttypes.h>

typedef struct sums { // sums over all harts and over all units of a kind
    const tl_memory *m;
    tl_error *err;
    tl_status status;
} sums;

static uint64_t harts(const sums *b, enum tl_hart_cell slot) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < b->m->n_harts; i++)
        sum += b->m->harts[i].h->tally[slot];
    return sum;
}

static uint64_t slices(const sums *b, enum tl_mem_signal signal) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < b->m->config.l2_slices; i++)
        sum += b->m->l2.slices[i].tally[signal];
    return sum;
}

static uint64_t channels(const sums *b, enum tl_mem_signal signal) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < b->m->config.mem_channels; i++)
        sum += b->m->l2.dram.channels[i].tally[signal];
    return sum;
}

static void equal(sums *b, const char *left_name, uint64_t left, const char *right_name, uint64_t right) {
    if (b->status == TL_OK && left != right)
        b->status =
            tl_fail(b->err, TL_EINVAL, "identity broken: %s is %" PRIu64 ", but %s is %" PRIu64, left_name, left, right_name, right);
}

static void at_most(sums *b, const char *part_name, uint64_t part, const char *whole_name, uint64_t whole) {
    if (b->status == TL_OK && part > whole)
        b->status = tl_fail(b->err, TL_EINVAL, "identity broken: %s is %" PRIu64 ", more than %s, which is %" PRIu64, part_name, part,
                            whole_name, whole);
}

#define PART(part, whole) at_most(b, #part, tally[TL_S_##part], #whole, tally[TL_S_##whole])

static uint64_t links(const sums *b, enum tl_mem_signal first, enum tl_mem_signal last) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < b->m->n_harts; i++)
        for (enum tl_mem_signal signal = first; signal <= last; signal++)
            sum += b->m->links[i][signal];
    return sum;
}

static void check_hart(sums *b, uint32_t hart) {
    const uint64_t *tally = b->m->harts[hart].h->tally;
    PART(L1I_MISS, L1I_ACCESS);
    PART(L1D_LOAD_MISS, L1D_LOAD);
    PART(L1D_STORE_MISS, L1D_STORE);
    PART(L1D_AMO_MISS, L1D_STORE_MISS);
    PART(L1D_UPGRADE, L1D_STORE_MISS);
    PART(L1D_WALK, L1D_LOAD);
    PART(L1D_WALK_MISS, L1D_WALK);
    PART(L1D_WALK_MISS, L1D_LOAD_MISS);
    PART(L1D_EVICT_DIRTY, L1D_EVICT);
    PART(L1D_PROBE_DATA, L1D_PROBE);
    PART(L1D_PROBE_INVALIDATE, L1D_PROBE);
    PART(L1D_PREFETCH_HIT, L1D_PREFETCH);
    PART(L1I_PREFETCH_HIT, L1I_PREFETCH);
    PART(ITLB_MISS, ITLB_ACCESS);
    PART(DTLB_MISS, DTLB_ACCESS);
    PART(L2TLB_MISS, L2TLB_ACCESS);
    PART(PTW_FAULT, PTW_WALK);
    PART(PTW_WRITE, PTW_WALK);
    PART(PTW_CACHE_HIT, PTW_WALK);
    PART(PTW_CACHE_EVICT, PTW_CACHE_FILL);
    uint64_t first_misses = tally[TL_S_ITLB_MISS] + tally[TL_S_DTLB_MISS];
    equal(b, "dtlb.load_miss + store_miss", tally[TL_S_DTLB_LOAD_MISS] + tally[TL_S_DTLB_STORE_MISS], "dtlb.miss", tally[TL_S_DTLB_MISS]);
    if (b->m->config.l2tlb.entries != 0) {
        equal(b, "itlb.miss + dtlb.miss", first_misses, "l2tlb.access", tally[TL_S_L2TLB_ACCESS]);
        equal(b, "l2tlb.miss", tally[TL_S_L2TLB_MISS], "ptw.walk", tally[TL_S_PTW_WALK]);
    } else {
        equal(b, "itlb.miss + dtlb.miss", first_misses, "ptw.walk", tally[TL_S_PTW_WALK]);
    }
    equal(b, "ptw.walk_i + walk_d", tally[TL_S_PTW_WALK_I] + tally[TL_S_PTW_WALK_D], "ptw.walk", tally[TL_S_PTW_WALK]);
    equal(b, "hart.cyc_mmio", tally[TL_S_HART_CYC_MMIO], "(hart.unc_read + unc_write) * mem.mmio",
          (tally[TL_S_HART_UNC_READ] + tally[TL_S_HART_UNC_WRITE]) * b->m->config.mem.mmio_cycles);
    equal(b, "l1d.walk", tally[TL_S_L1D_WALK], "ptw.read", tally[TL_S_PTW_READ]);
    equal(b, "l1d.writeback", tally[TL_S_L1D_WRITEBACK], "l1d.evict_dirty + probe_data",
          tally[TL_S_L1D_EVICT_DIRTY] + tally[TL_S_L1D_PROBE_DATA]);
}

static void check_slice(sums *b, uint32_t slice) {
    const uint64_t *tally = b->m->l2.slices[slice].tally;
    equal(b, "l2.read", tally[TL_L2_READ], "l2.read_i + read_ld + read_st + unc_read (I5)",
          tally[TL_L2_READ_I] + tally[TL_L2_READ_LD] + tally[TL_L2_READ_ST] + tally[TL_L2_UNC_READ]);
    uint64_t reads = 0, misses = 0;
    for (uint32_t i = 0; i < TL_MAX_HARTS; i++) {
        reads += tally[TL_L2_READ_HART0 + i];
        misses += tally[TL_L2_READMISS_HART0 + i];
    }
    equal(b, "the sum of l2.read_hart*", reads, "l2.read", tally[TL_L2_READ]);
    equal(b, "the sum of l2.readmiss_hart*", misses, "l2.readmiss", tally[TL_L2_READMISS]);
    if (!b->m->writes_through)
        equal(b, "l2.writemiss", tally[TL_L2_WRITEMISS], "zero (I3)", 0);
    equal(b, "l2.writeback", tally[TL_L2_WRITEBACK], "l2.evict_dirty + clean", tally[TL_L2_EVICT_DIRTY] + tally[TL_L2_CLEAN]);
    at_most(b, "l2.readmiss", tally[TL_L2_READMISS], "l2.read (I7)", tally[TL_L2_READ]);
    at_most(b, "l2.upgrade", tally[TL_L2_UPGRADE], "l2.read_st", tally[TL_L2_READ_ST]);
    at_most(b, "l2.back_invalidate", tally[TL_L2_BACK_INVALIDATE], "l2.probe_out", tally[TL_L2_PROBE_OUT]);
    equal(b, "l2.dma_read_hit + dma_readmiss", tally[TL_L2_DMA_READ_HIT] + tally[TL_L2_DMA_READMISS], "l2.dma_read", tally[TL_L2_DMA_READ]);
    equal(b, "l2.dma_write_full + dma_write_partial", tally[TL_L2_DMA_WRITE_FULL] + tally[TL_L2_DMA_WRITE_PARTIAL], "l2.dma_write",
          tally[TL_L2_DMA_WRITE]);
    equal(b, "l2.dma_write_full_hit + dma_write_partial_hit + dma_writemiss",
          tally[TL_L2_DMA_WRITE_FULL_HIT] + tally[TL_L2_DMA_WRITE_PARTIAL_HIT] + tally[TL_L2_DMA_WRITEMISS], "l2.dma_write",
          tally[TL_L2_DMA_WRITE]);
    at_most(b, "l2.prefetch_hit", tally[TL_L2_PREFETCH_HIT], "l2.prefetch", tally[TL_L2_PREFETCH]);
}

// Stores written through that the second level has seen one by one.
static uint64_t n_puts(const sums *b) {
    const uint64_t *tally = b->m->bsq.tally;
    return b->m->l2.bsq ? tally[TL_BSQ_STORE] - tally[TL_BSQ_STORE_COMBINED] : 0;
}

// Tallies of the links equal the tallies of the slices. Events of a PMU on links therefore agree
// with events of a slice.
static void check_links(sums *b) {
    equal(b, "link.get_hit + get_miss", links(b, TL_LINK_GET_HIT, TL_LINK_GET_HIT) + links(b, TL_LINK_GET_MISS, TL_LINK_GET_MISS),
          "l2.read_i", slices(b, TL_L2_READ_I));
    equal(b, "link.acquire_nb_hit + acquire_nb_miss",
          links(b, TL_LINK_ACQUIRE_NB_HIT, TL_LINK_ACQUIRE_NB_HIT) + links(b, TL_LINK_ACQUIRE_NB_MISS, TL_LINK_ACQUIRE_NB_MISS),
          "l2.read_ld", slices(b, TL_L2_READ_LD));
    equal(b, "link.acquire_nt_hit + acquire_nt_miss + acquire_perm",
          links(b, TL_LINK_ACQUIRE_NT_HIT, TL_LINK_ACQUIRE_NT_HIT) + links(b, TL_LINK_ACQUIRE_NT_MISS, TL_LINK_ACQUIRE_NT_MISS) +
              links(b, TL_LINK_ACQUIRE_PERM, TL_LINK_ACQUIRE_PERM),
          "l2.read_st", slices(b, TL_L2_READ_ST));
    equal(b, "link.acquire_perm", links(b, TL_LINK_ACQUIRE_PERM, TL_LINK_ACQUIRE_PERM), "l2.upgrade", slices(b, TL_L2_UPGRADE));
    equal(b, "link.get_miss + acquire_nb_miss + acquire_nt_miss", links(b, TL_LINK_GET_MISS, TL_LINK_ACQUIRE_NT_MISS), "l2.readmiss",
          slices(b, TL_L2_READMISS));
    equal(b, "link.release_data_tb + release_data_tn", links(b, TL_LINK_RELEASE_DATA_TB, TL_LINK_RELEASE_DATA_TN),
          "l2.write - unc_write - stores written through", slices(b, TL_L2_WRITE) - slices(b, TL_L2_UNC_WRITE) - n_puts(b));
    equal(b, "link.release_*", links(b, TL_LINK_RELEASE_TB, TL_LINK_RELEASE_DATA_TN), "l1d.evict + link.probe_* but probe_i",
          harts(b, TL_S_L1D_EVICT) + links(b, TL_LINK_PROBE_GET, TL_LINK_PROBE_TAKE));
    equal(b, "link.probe_*", links(b, TL_LINK_PROBE_GET, TL_LINK_PROBE_I), "l2.probe_out", slices(b, TL_L2_PROBE_OUT));
    at_most(b, "link.*_shared", links(b, TL_LINK_GET_SHARED, TL_LINK_ACQUIRE_NT_SHARED), "link.*_hit",
            links(b, TL_LINK_GET_HIT, TL_LINK_ACQUIRE_NT_HIT));
    at_most(b, "link.acquire_perm_shared", links(b, TL_LINK_ACQUIRE_PERM_SHARED, TL_LINK_ACQUIRE_PERM_SHARED), "link.acquire_perm",
            links(b, TL_LINK_ACQUIRE_PERM, TL_LINK_ACQUIRE_PERM));
}

static void check_sums(sums *b) {
    const uint64_t *noc = b->m->l2.noc;
    uint64_t l1_requests = harts(b, TL_S_L1I_MISS) + harts(b, TL_S_L1D_LOAD_MISS);
    if (!b->m->writes_through)
        l1_requests += harts(b, TL_S_L1D_STORE_MISS);
    uint64_t prefetches = harts(b, TL_S_L1I_PREFETCH) + harts(b, TL_S_L1D_PREFETCH);
    equal(b, "l2.read", slices(b, TL_L2_READ), "l1i.miss + l1d.load_miss + l1d.store_miss + prefetch + unc_read (I1)",
          l1_requests + prefetches + slices(b, TL_L2_UNC_READ));
    equal(b, "l2.prefetch_read", slices(b, TL_L2_PREFETCH_READ), "l1i.prefetch + l1d.prefetch", prefetches);
    equal(b, "l2.write", slices(b, TL_L2_WRITE), "l1d.writeback + unc_write + stores written through (I2)",
          harts(b, TL_S_L1D_WRITEBACK) + slices(b, TL_L2_UNC_WRITE) + n_puts(b));
    equal(b, "l2.upgrade", slices(b, TL_L2_UPGRADE), "l1d.upgrade", harts(b, TL_S_L1D_UPGRADE));
    equal(b, "l2.probe_out", slices(b, TL_L2_PROBE_OUT), "noc.probe", noc[TL_NOC_PROBE]);
    equal(b, "noc.probe_ack + probe_ack_data", noc[TL_NOC_PROBE_ACK] + noc[TL_NOC_PROBE_ACK_DATA], "noc.probe", noc[TL_NOC_PROBE]);
    equal(b, "noc.probe_ack_data", noc[TL_NOC_PROBE_ACK_DATA], "l1d.probe_data", harts(b, TL_S_L1D_PROBE_DATA));
    equal(b, "noc.release_data", noc[TL_NOC_RELEASE_DATA], "l1d.evict_dirty", harts(b, TL_S_L1D_EVICT_DIRTY));
    equal(b, "noc.request", noc[TL_NOC_REQUEST], "l2.read", slices(b, TL_L2_READ));
    equal(b, "noc.response_data + l2.upgrade", noc[TL_NOC_RESPONSE_DATA] + slices(b, TL_L2_UPGRADE), "noc.request", noc[TL_NOC_REQUEST]);
    uint64_t reads = channels(b, TL_MEM_READ), writes = channels(b, TL_MEM_WRITE);
    equal(b, "mem.read", reads, "l2.readmiss + writemiss + prefetch + dma_readmiss (I4)",
          slices(b, TL_L2_READMISS) + slices(b, TL_L2_WRITEMISS) + slices(b, TL_L2_PREFETCH) + slices(b, TL_L2_DMA_READMISS));
    equal(b, "mem.write", writes, "l2.writeback + dma_writemiss (I4)", slices(b, TL_L2_WRITEBACK) + slices(b, TL_L2_DMA_WRITEMISS));
    equal(b, "l2.dma_read", slices(b, TL_L2_DMA_READ), "dma.read", b->m->dma[TL_DMA_READ]);
    equal(b, "l2.dma_write", slices(b, TL_L2_DMA_WRITE), "dma.write", b->m->dma[TL_DMA_WRITE]);
    equal(b, "bus.read", b->m->bus[TL_BUS_READ], "hart.unc_read", harts(b, TL_S_HART_UNC_READ));
    equal(b, "bus.write", b->m->bus[TL_BUS_WRITE], "hart.unc_write", harts(b, TL_S_HART_UNC_WRITE));
    equal(b, "mem.row_hit + row_miss + row_conflict",
          channels(b, TL_MEM_ROW_HIT) + channels(b, TL_MEM_ROW_MISS) + channels(b, TL_MEM_ROW_CONFLICT), "mem.read + write",
          reads + writes);
}

// Lines of the second level that are present, and those that a prefetch brought and nobody used.
static void count_lines(const tl_memory *m, uint64_t *ret_present, uint64_t *ret_unused) {
    const uint64_t n_lines = m->config.l2.size_bytes >> m->line_log2;
    *ret_present = *ret_unused = 0;
    for (uint64_t i = 0; i < n_lines; i++) {
        *ret_present += m->l2.lines[i].is_present;
        *ret_unused += m->l2.lines[i].is_present && m->l2.lines[i].is_prefetched;
    }
}

static void check_bsq(sums *b) {
    const uint64_t *tally = b->m->bsq.tally;
    uint64_t n_present, n_unused;
    count_lines(b->m, &n_present, &n_unused);
    const uint64_t prefetches = slices(b, TL_L2_PREFETCH), own = tally[TL_BSQ_PREFETCH_STREAM] + tally[TL_BSQ_PREFETCH_ADJACENT];
    equal(b, "bsq.read", tally[TL_BSQ_READ], "mem.read - l2.dma_readmiss", channels(b, TL_MEM_READ) - slices(b, TL_L2_DMA_READMISS));
    equal(b, "bsq.writeback", tally[TL_BSQ_WRITEBACK], "l2.writeback", slices(b, TL_L2_WRITEBACK));
    equal(b, "bsq.line_miss + sector_miss", tally[TL_BSQ_LINE_MISS] + tally[TL_BSQ_SECTOR_MISS], "bsq.read", tally[TL_BSQ_READ]);
    equal(b, "bsq.line_miss + sector_miss - l2.evict_clean - evict_dirty",
          tally[TL_BSQ_LINE_MISS] + tally[TL_BSQ_SECTOR_MISS] - slices(b, TL_L2_EVICT_CLEAN) - slices(b, TL_L2_EVICT_DIRTY),
          "the lines in l2", n_present);
    equal(b, "l2.prefetch", prefetches, "l2.prefetch_hit + bsq.prefetch_unused + the unused lines in l2",
          slices(b, TL_L2_PREFETCH_HIT) + tally[TL_BSQ_PREFETCH_UNUSED] + n_unused);
    if (b->m->config.l2.prefetch == TL_PREFETCH_NONE)
        equal(b, "bsq.prefetch_stream + prefetch_adjacent", own, "l2.prefetch", prefetches);
    equal(b, "bsq.store_miss", tally[TL_BSQ_STORE_MISS], "l2.writemiss", slices(b, TL_L2_WRITEMISS));
    at_most(b, "bsq.read_demand", tally[TL_BSQ_READ_DEMAND], "bsq.read", tally[TL_BSQ_READ]);
    at_most(b, "bsq.store_combined + store_miss", tally[TL_BSQ_STORE_COMBINED] + tally[TL_BSQ_STORE_MISS], "bsq.store",
            tally[TL_BSQ_STORE]);
    at_most(b, "bsq.prefetch_late", tally[TL_BSQ_PREFETCH_LATE], "bsq.merge", tally[TL_BSQ_MERGE]);
    at_most(b, "bsq.queue_full", tally[TL_BSQ_QUEUE_FULL], "bsq.read + writeback", tally[TL_BSQ_READ] + tally[TL_BSQ_WRITEBACK]);
    if (b->m->writes_through)
        equal(b, "bsq.store - store_l1d", tally[TL_BSQ_STORE] - tally[TL_BSQ_STORE_L1D], "l1d.store_miss", harts(b, TL_S_L1D_STORE_MISS));
}

tl_status tl_memory_check_identities(const tl_memory *memory, tl_error *err) {
    sums b = {.m = memory, .err = err};
    for (uint32_t i = 0; i < memory->n_harts; i++)
        check_hart(&b, i);
    for (uint32_t i = 0; i < memory->config.l2_slices; i++)
        check_slice(&b, i);
    check_sums(&b);
    check_links(&b);
    if (memory->l2.bsq)
        check_bsq(&b);
    return b.status;
}
