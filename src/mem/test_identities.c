// SPDX-License-Identifier: MIT
// Every identity of identities.c is found broken, and is named with its numbers. All tallies begin
// at 0, where everything balances. A row sets a few to 1, so that the named identity is the first
// one that does not hold.
#include <stdio.h>

#include "mem/test_rig.h"

// The order from SLICE on is that of tl_rig.shared_tally.
typedef enum unit_kind { NONE, HART, SLICE, NOC, CHANNEL, BUS, DMA, LINK, BSQ } unit_kind;

typedef struct row {
    const char *broken; // the message behind "identity broken: "
    struct {
        unit_kind unit;
        uint32_t signal;
    } ones[10]; // up to NONE
} row;

#define H(signal) \
    { HART, TL_S_##signal }
#define S(signal) \
    { SLICE, TL_L2_##signal }
#define ROW(text, ...)        \
    {                         \
        text, { __VA_ARGS__ } \
    }
// A request of the second level as slice and network count it.
#define REQUEST \
    S(READ), S(READ_HART0), {NOC, TL_NOC_REQUEST}, { NOC, TL_NOC_RESPONSE_DATA }

static const row rows[] = {
    ROW("L1I_MISS is 1, more than L1I_ACCESS, which is 0", H(L1I_MISS)),
    ROW("L1D_LOAD_MISS is 1, more than L1D_LOAD, which is 0", H(L1D_LOAD_MISS)),
    ROW("L1D_STORE_MISS is 1, more than L1D_STORE, which is 0", H(L1D_STORE_MISS)),
    ROW("L1D_AMO_MISS is 1, more than L1D_STORE_MISS, which is 0", H(L1D_AMO_MISS)),
    ROW("L1D_UPGRADE is 1, more than L1D_STORE_MISS, which is 0", H(L1D_UPGRADE)),
    ROW("L1D_WALK is 1, more than L1D_LOAD, which is 0", H(L1D_WALK)),
    ROW("L1D_WALK_MISS is 1, more than L1D_WALK, which is 0", H(L1D_WALK_MISS)),
    ROW("L1D_WALK_MISS is 1, more than L1D_LOAD_MISS, which is 0", H(L1D_WALK_MISS), H(L1D_WALK), H(L1D_LOAD)),
    ROW("L1D_EVICT_DIRTY is 1, more than L1D_EVICT, which is 0", H(L1D_EVICT_DIRTY)),
    ROW("L1D_PROBE_DATA is 1, more than L1D_PROBE, which is 0", H(L1D_PROBE_DATA)),
    ROW("L1D_PROBE_INVALIDATE is 1, more than L1D_PROBE, which is 0", H(L1D_PROBE_INVALIDATE)),
    ROW("L1D_PREFETCH_HIT is 1, more than L1D_PREFETCH, which is 0", H(L1D_PREFETCH_HIT)),
    ROW("L1I_PREFETCH_HIT is 1, more than L1I_PREFETCH, which is 0", H(L1I_PREFETCH_HIT)),
    ROW("ITLB_MISS is 1, more than ITLB_ACCESS, which is 0", H(ITLB_MISS)),
    ROW("DTLB_MISS is 1, more than DTLB_ACCESS, which is 0", H(DTLB_MISS)),
    ROW("L2TLB_MISS is 1, more than L2TLB_ACCESS, which is 0", H(L2TLB_MISS)),
    ROW("PTW_FAULT is 1, more than PTW_WALK, which is 0", H(PTW_FAULT)),
    ROW("PTW_WRITE is 1, more than PTW_WALK, which is 0", H(PTW_WRITE)),
    ROW("PTW_CACHE_HIT is 1, more than PTW_WALK, which is 0", H(PTW_CACHE_HIT)),
    ROW("PTW_CACHE_EVICT is 1, more than PTW_CACHE_FILL, which is 0", H(PTW_CACHE_EVICT)),
    ROW("dtlb.load_miss + store_miss is 1, but dtlb.miss is 0", H(DTLB_LOAD_MISS)),
    ROW("dtlb.load_miss + store_miss is 1, but dtlb.miss is 0", H(DTLB_STORE_MISS)),
    ROW("itlb.miss + dtlb.miss is 0, but l2tlb.access is 1", H(L2TLB_ACCESS)),
    ROW("itlb.miss + dtlb.miss is 1, but l2tlb.access is 0", H(ITLB_MISS), H(ITLB_ACCESS)),
    ROW("itlb.miss + dtlb.miss is 1, but l2tlb.access is 0", H(DTLB_MISS), H(DTLB_ACCESS), H(DTLB_LOAD_MISS)),
    ROW("l2tlb.miss is 0, but ptw.walk is 1", H(PTW_WALK)),
    ROW("ptw.walk_i + walk_d is 1, but ptw.walk is 0", H(PTW_WALK_I)),
    ROW("ptw.walk_i + walk_d is 1, but ptw.walk is 0", H(PTW_WALK_D)),
    ROW("hart.cyc_mmio is 1, but (hart.unc_read + unc_write) * mem.mmio is 0", H(HART_CYC_MMIO)),
    ROW("hart.cyc_mmio is 0, but (hart.unc_read + unc_write) * mem.mmio is 37", H(HART_UNC_READ)),
    ROW("hart.cyc_mmio is 0, but (hart.unc_read + unc_write) * mem.mmio is 37", H(HART_UNC_WRITE)),
    ROW("l1d.walk is 0, but ptw.read is 1", H(PTW_READ)),
    ROW("l1d.writeback is 1, but l1d.evict_dirty + probe_data is 0", H(L1D_WRITEBACK)),
    ROW("l1d.writeback is 0, but l1d.evict_dirty + probe_data is 1", H(L1D_EVICT_DIRTY), H(L1D_EVICT)),
    ROW("l1d.writeback is 0, but l1d.evict_dirty + probe_data is 1", H(L1D_PROBE_DATA), H(L1D_PROBE)),

    ROW("l2.read is 1, but l2.read_i + read_ld + read_st + unc_read (I5) is 0", S(READ)),
    ROW("l2.read is 0, but l2.read_i + read_ld + read_st + unc_read (I5) is 1", S(READ_I)),
    ROW("l2.read is 0, but l2.read_i + read_ld + read_st + unc_read (I5) is 1", S(READ_LD)),
    ROW("l2.read is 0, but l2.read_i + read_ld + read_st + unc_read (I5) is 1", S(READ_ST)),
    ROW("l2.read is 0, but l2.read_i + read_ld + read_st + unc_read (I5) is 1", S(UNC_READ)),
    ROW("the sum of l2.read_hart* is 1, but l2.read is 0", S(READ_HART0)),
    ROW("the sum of l2.read_hart* is 1, but l2.read is 0", S(READ_HART0 + TL_MAX_HARTS - 1)),
    ROW("the sum of l2.read_hart* is 0, but l2.read is 1", S(READ), S(READ_I)),
    ROW("the sum of l2.readmiss_hart* is 1, but l2.readmiss is 0", S(READMISS_HART0)),
    ROW("the sum of l2.readmiss_hart* is 1, but l2.readmiss is 0", S(READMISS_HART0 + TL_MAX_HARTS - 1)),
    ROW("l2.writemiss is 1, but zero (I3) is 0", S(WRITEMISS)),
    ROW("l2.writeback is 1, but l2.evict_dirty + clean is 0", S(WRITEBACK)),
    ROW("l2.writeback is 0, but l2.evict_dirty + clean is 1", S(EVICT_DIRTY)),
    ROW("l2.writeback is 0, but l2.evict_dirty + clean is 1", S(CLEAN)),
    ROW("l2.readmiss is 1, more than l2.read (I7), which is 0", S(READMISS), S(READMISS_HART0)),
    ROW("l2.upgrade is 1, more than l2.read_st, which is 0", S(UPGRADE)),
    ROW("l2.back_invalidate is 1, more than l2.probe_out, which is 0", S(BACK_INVALIDATE)),
    ROW("l2.dma_read_hit + dma_readmiss is 0, but l2.dma_read is 1", S(DMA_READ)),
    ROW("l2.dma_read_hit + dma_readmiss is 1, but l2.dma_read is 0", S(DMA_READ_HIT)),
    ROW("l2.dma_read_hit + dma_readmiss is 1, but l2.dma_read is 0", S(DMA_READMISS)),
    ROW("l2.dma_write_full + dma_write_partial is 1, but l2.dma_write is 0", S(DMA_WRITE_FULL)),
    ROW("l2.dma_write_full + dma_write_partial is 1, but l2.dma_write is 0", S(DMA_WRITE_PARTIAL)),
    ROW("l2.dma_write_full + dma_write_partial is 0, but l2.dma_write is 1", S(DMA_WRITE)),
    ROW("l2.dma_write_full_hit + dma_write_partial_hit + dma_writemiss is 1, but l2.dma_write is 0", S(DMA_WRITE_FULL_HIT)),
    ROW("l2.dma_write_full_hit + dma_write_partial_hit + dma_writemiss is 1, but l2.dma_write is 0", S(DMA_WRITE_PARTIAL_HIT)),
    ROW("l2.dma_write_full_hit + dma_write_partial_hit + dma_writemiss is 1, but l2.dma_write is 0", S(DMA_WRITEMISS)),
    ROW("l2.dma_write_full_hit + dma_write_partial_hit + dma_writemiss is 0, but l2.dma_write is 1", S(DMA_WRITE), S(DMA_WRITE_FULL)),
    ROW("l2.prefetch_hit is 1, more than l2.prefetch, which is 0", S(PREFETCH_HIT)),

    ROW("l2.read is 0, but l1i.miss + l1d.load_miss + l1d.store_miss + prefetch + unc_read (I1) is 1", H(L1I_MISS), H(L1I_ACCESS)),
    ROW("l2.read is 0, but l1i.miss + l1d.load_miss + l1d.store_miss + prefetch + unc_read (I1) is 1", H(L1D_LOAD_MISS), H(L1D_LOAD)),
    ROW("l2.read is 0, but l1i.miss + l1d.load_miss + l1d.store_miss + prefetch + unc_read (I1) is 1", H(L1D_STORE_MISS), H(L1D_STORE)),
    ROW("l2.read is 0, but l1i.miss + l1d.load_miss + l1d.store_miss + prefetch + unc_read (I1) is 1", H(L1I_PREFETCH)),
    ROW("l2.read is 0, but l1i.miss + l1d.load_miss + l1d.store_miss + prefetch + unc_read (I1) is 1", H(L1D_PREFETCH)),
    ROW("l2.read is 1, but l1i.miss + l1d.load_miss + l1d.store_miss + prefetch + unc_read (I1) is 0", S(READ), S(READ_I), S(READ_HART0)),
    ROW("l2.prefetch_read is 1, but l1i.prefetch + l1d.prefetch is 0", S(PREFETCH_READ)),
    ROW("l2.prefetch_read is 0, but l1i.prefetch + l1d.prefetch is 1", S(READ_I), H(L1I_PREFETCH), REQUEST),
    ROW("l2.prefetch_read is 0, but l1i.prefetch + l1d.prefetch is 1", S(READ_LD), H(L1D_PREFETCH), REQUEST),
    ROW("l2.write is 1, but l1d.writeback + unc_write + stores written through (I2) is 0", S(WRITE)),
    ROW("l2.write is 0, but l1d.writeback + unc_write + stores written through (I2) is 1", S(UNC_WRITE)),
    ROW("l2.write is 0, but l1d.writeback + unc_write + stores written through (I2) is 1", H(L1D_WRITEBACK), H(L1D_EVICT),
        H(L1D_EVICT_DIRTY)),
    ROW("l2.upgrade is 0, but l1d.upgrade is 1", H(L1D_UPGRADE), H(L1D_STORE_MISS), H(L1D_STORE), S(READ_ST), REQUEST),
    ROW("l2.probe_out is 1, but noc.probe is 0", S(PROBE_OUT)),
    ROW("l2.probe_out is 0, but noc.probe is 1", {NOC, TL_NOC_PROBE}),
    ROW("noc.probe_ack + probe_ack_data is 1, but noc.probe is 0", {NOC, TL_NOC_PROBE_ACK}),
    ROW("noc.probe_ack + probe_ack_data is 1, but noc.probe is 0", {NOC, TL_NOC_PROBE_ACK_DATA}),
    ROW("noc.probe_ack_data is 1, but l1d.probe_data is 0", S(PROBE_OUT), {NOC, TL_NOC_PROBE}, {NOC, TL_NOC_PROBE_ACK_DATA}),
    ROW("noc.release_data is 1, but l1d.evict_dirty is 0", {NOC, TL_NOC_RELEASE_DATA}),
    ROW("noc.request is 1, but l2.read is 0", {NOC, TL_NOC_REQUEST}),
    // The others balance (I1) and (I5).
    ROW("noc.request is 0, but l2.read is 1", S(READ), S(UNC_READ), S(READ_HART0)),
    ROW("noc.response_data + l2.upgrade is 1, but noc.request is 0", {NOC, TL_NOC_RESPONSE_DATA}),
    ROW("mem.read is 1, but l2.readmiss + writemiss + prefetch + dma_readmiss (I4) is 0", {CHANNEL, TL_MEM_READ}),
    ROW("mem.read is 0, but l2.readmiss + writemiss + prefetch + dma_readmiss (I4) is 1", S(PREFETCH)),
    ROW("mem.read is 0, but l2.readmiss + writemiss + prefetch + dma_readmiss (I4) is 1", S(DMA_READMISS), S(DMA_READ)),
    ROW("mem.read is 0, but l2.readmiss + writemiss + prefetch + dma_readmiss (I4) is 1", S(READMISS), S(READMISS_HART0), S(UNC_READ),
        REQUEST),
    ROW("mem.write is 1, but l2.writeback + dma_writemiss (I4) is 0", {CHANNEL, TL_MEM_WRITE}),
    ROW("mem.write is 0, but l2.writeback + dma_writemiss (I4) is 1", S(WRITEBACK), S(EVICT_DIRTY)),
    ROW("mem.write is 0, but l2.writeback + dma_writemiss (I4) is 1", S(DMA_WRITEMISS), S(DMA_WRITE), S(DMA_WRITE_FULL)),
    ROW("l2.dma_read is 0, but dma.read is 1", {DMA, TL_DMA_READ}),
    ROW("l2.dma_read is 1, but dma.read is 0", S(DMA_READ), S(DMA_READ_HIT)),
    ROW("l2.dma_write is 0, but dma.write is 1", {DMA, TL_DMA_WRITE}),
    ROW("bus.read is 1, but hart.unc_read is 0", {BUS, TL_BUS_READ}),
    ROW("bus.write is 1, but hart.unc_write is 0", {BUS, TL_BUS_WRITE}),
    ROW("mem.row_hit + row_miss + row_conflict is 1, but mem.read + write is 0", {CHANNEL, TL_MEM_ROW_HIT}),
    ROW("mem.row_hit + row_miss + row_conflict is 1, but mem.read + write is 0", {CHANNEL, TL_MEM_ROW_MISS}),
    ROW("mem.row_hit + row_miss + row_conflict is 1, but mem.read + write is 0", {CHANNEL, TL_MEM_ROW_CONFLICT}),
    ROW("mem.row_hit + row_miss + row_conflict is 0, but mem.read + write is 1", {CHANNEL, TL_MEM_READ}, S(PREFETCH)),
    ROW("mem.row_hit + row_miss + row_conflict is 0, but mem.read + write is 1", {CHANNEL, TL_MEM_WRITE}, S(WRITEBACK), S(EVICT_DIRTY)),

    ROW("link.get_hit + get_miss is 1, but l2.read_i is 0", {LINK, TL_LINK_GET_HIT}),
    ROW("link.get_hit + get_miss is 1, but l2.read_i is 0", {LINK, TL_LINK_GET_MISS}),
    ROW("link.acquire_nb_hit + acquire_nb_miss is 1, but l2.read_ld is 0", {LINK, TL_LINK_ACQUIRE_NB_HIT}),
    ROW("link.acquire_nb_hit + acquire_nb_miss is 1, but l2.read_ld is 0", {LINK, TL_LINK_ACQUIRE_NB_MISS}),
    ROW("link.acquire_nt_hit + acquire_nt_miss + acquire_perm is 1, but l2.read_st is 0", {LINK, TL_LINK_ACQUIRE_NT_HIT}),
    ROW("link.acquire_nt_hit + acquire_nt_miss + acquire_perm is 1, but l2.read_st is 0", {LINK, TL_LINK_ACQUIRE_NT_MISS}),
    ROW("link.acquire_nt_hit + acquire_nt_miss + acquire_perm is 1, but l2.read_st is 0", {LINK, TL_LINK_ACQUIRE_PERM}),
    ROW("link.acquire_perm is 1, but l2.upgrade is 0", {LINK, TL_LINK_ACQUIRE_PERM}, S(READ_ST), H(L1D_STORE), H(L1D_STORE_MISS), REQUEST),
    ROW("link.get_miss + acquire_nb_miss + acquire_nt_miss is 1, but l2.readmiss is 0", {LINK, TL_LINK_GET_MISS}, S(READ_I), H(L1I_MISS),
        H(L1I_ACCESS), REQUEST),
    ROW("link.get_miss + acquire_nb_miss + acquire_nt_miss is 1, but l2.readmiss is 0", {LINK, TL_LINK_ACQUIRE_NT_MISS}, S(READ_ST),
        H(L1D_STORE_MISS), H(L1D_STORE), REQUEST),
    ROW("link.release_data_tb + release_data_tn is 1, but l2.write - unc_write - stores written through is 0",
        {LINK, TL_LINK_RELEASE_DATA_TB}),
    ROW("link.release_data_tb + release_data_tn is 1, but l2.write - unc_write - stores written through is 0",
        {LINK, TL_LINK_RELEASE_DATA_TN}),
    ROW("link.release_* is 1, but l1d.evict + link.probe_* but probe_i is 0", {LINK, TL_LINK_RELEASE_TB}),
    ROW("link.release_* is 1, but l1d.evict + link.probe_* but probe_i is 0", {LINK, TL_LINK_RELEASE_TN}),
    ROW("link.release_* is 1, but l1d.evict + link.probe_* but probe_i is 0", {LINK, TL_LINK_RELEASE_BN}),
    ROW("link.release_* is 0, but l1d.evict + link.probe_* but probe_i is 1", H(L1D_EVICT)),
    ROW("link.release_* is 0, but l1d.evict + link.probe_* but probe_i is 1", {LINK, TL_LINK_PROBE_GET}),
    ROW("link.release_* is 0, but l1d.evict + link.probe_* but probe_i is 1", {LINK, TL_LINK_PROBE_TAKE}),
    ROW("link.probe_* is 1, but l2.probe_out is 0", {LINK, TL_LINK_PROBE_I}),
    ROW("link.probe_* is 1, but l2.probe_out is 0", {LINK, TL_LINK_PROBE_LOAD}, {LINK, TL_LINK_RELEASE_TB}),
    ROW("link.*_shared is 1, more than link.*_hit, which is 0", {LINK, TL_LINK_GET_SHARED}),
    ROW("link.*_shared is 1, more than link.*_hit, which is 0", {LINK, TL_LINK_ACQUIRE_NT_SHARED}),
    ROW("link.acquire_perm_shared is 1, more than link.acquire_perm, which is 0", {LINK, TL_LINK_ACQUIRE_PERM_SHARED}),
};

// Of a machine whose detailed core writes through. A line that was read is evicted again.
#define B(signal) \
    { BSQ, TL_BSQ_##signal }
#define LINE_READ {CHANNEL, TL_MEM_READ}, {CHANNEL, TL_MEM_ROW_HIT}, B(READ), B(LINE_MISS), S(EVICT_CLEAN)

static const row detailed_rows[] = {
    ROW("l2.write is 0, but l1d.writeback + unc_write + stores written through (I2) is 1", B(STORE)),
    ROW("mem.read is 0, but l2.readmiss + writemiss + prefetch + dma_readmiss (I4) is 1", S(WRITEMISS)),
    ROW("bsq.read is 1, but mem.read - l2.dma_readmiss is 0", B(READ)),
    ROW("bsq.writeback is 1, but l2.writeback is 0", B(WRITEBACK)),
    ROW("bsq.line_miss + sector_miss is 1, but bsq.read is 0", B(LINE_MISS)),
    ROW("bsq.line_miss + sector_miss is 1, but bsq.read is 0", B(SECTOR_MISS)),
    ROW("bsq.line_miss + sector_miss - l2.evict_clean - evict_dirty is 1, but the lines in l2 is 0", {CHANNEL, TL_MEM_READ},
        {CHANNEL, TL_MEM_ROW_HIT}, B(READ), B(LINE_MISS), S(PREFETCH)),
    ROW("l2.prefetch is 1, but l2.prefetch_hit + bsq.prefetch_unused + the unused lines in l2 is 0", LINE_READ, S(PREFETCH)),
    ROW("l2.prefetch is 0, but l2.prefetch_hit + bsq.prefetch_unused + the unused lines in l2 is 1", B(PREFETCH_UNUSED)),
    ROW("bsq.prefetch_stream + prefetch_adjacent is 0, but l2.prefetch is 1", LINE_READ, S(PREFETCH), S(PREFETCH_HIT)),
    ROW("bsq.prefetch_stream + prefetch_adjacent is 1, but l2.prefetch is 0", B(PREFETCH_STREAM)),
    ROW("bsq.prefetch_stream + prefetch_adjacent is 1, but l2.prefetch is 0", B(PREFETCH_ADJACENT)),
    ROW("bsq.store_miss is 1, but l2.writemiss is 0", B(STORE_MISS)),
    ROW("bsq.read_demand is 1, more than bsq.read, which is 0", B(READ_DEMAND)),
    ROW("bsq.store_combined + store_miss is 2, more than bsq.store, which is 1", LINE_READ, S(WRITEMISS), B(STORE_MISS), B(STORE),
        B(STORE_COMBINED)),
    ROW("bsq.prefetch_late is 1, more than bsq.merge, which is 0", B(PREFETCH_LATE)),
    ROW("bsq.queue_full is 1, more than bsq.read + writeback, which is 0", B(QUEUE_FULL)),
    ROW("bsq.store - store_l1d is 1, but l1d.store_miss is 0", B(STORE), S(WRITE)),
    ROW("bsq.store - store_l1d is 0, but l1d.store_miss is 1", H(L1D_STORE_MISS), H(L1D_STORE)),
};

static tl_config config_with(uint32_t l2tlb_entries) {
    tl_config config = tl_rig_config();
    config.n_harts = 2;
    config.l2_slices = 1;
    config.mem.mmio_cycles = 37;
    if (l2tlb_entries == 0)
        config.l2tlb = (tl_tlb_config){0};
    return config;
}

static void expect_broken(tl_rig *rig, const char *broken) {
    tl_error err = {TL_OK, ""};
    assert_int_equal(tl_memory_check_identities(rig->memory, &err), TL_EINVAL);
    char wanted[256];
    (void)snprintf(wanted, sizeof wanted, "identity broken: %s", broken);
    assert_string_equal(err.text, wanted);
}

static void break_each(const tl_config *config, uint32_t hart, const row *first, size_t n) {
    for (const row *r = first; r < first + n; r++) {
        tl_rig rig;
        tl_rig_start(&rig, config);
        tl_error err;
        assert_int_equal(tl_memory_check_identities(rig.memory, &err), TL_OK);
        for (size_t k = 0; k < TL_COUNT_OF(r->ones) && r->ones[k].unit != NONE; k++) {
            unit_kind unit = r->ones[k].unit;
            uint32_t shared = unit == BSQ ? rig.n_shared - 1 : unit == LINK ? LINK - SLICE + hart : (uint32_t)unit - SLICE;
            uint64_t *tally = unit == HART ? rig.harts[hart]->tally : rig.shared_tally[shared];
            tally[r->ones[k].signal] = 1;
        }
        expect_broken(&rig, r->broken);
        tl_rig_stop(&rig);
    }
}

static void test_every_broken_identity_is_named_with_its_numbers(void **state) {
    (void)state;
    tl_config config = config_with(8);
    for (uint32_t hart = 0; hart < 2; hart++) // each hart and each link is asked
        break_each(&config, hart, rows, TL_COUNT_OF(rows));
    config.core.kind = TL_CORE_OUT_OF_ORDER;
    config.bsq.l1d_write = TL_WRITE_THROUGH;
    break_each(&config, 0, detailed_rows, TL_COUNT_OF(detailed_rows));
}

static void test_without_a_second_level_each_miss_walks(void **state) {
    (void)state;
    tl_rig rig;
    tl_config config = config_with(0);
    tl_rig_start(&rig, &config);
    rig.harts[1]->tally[TL_S_PTW_WALK] = 1;
    expect_broken(&rig, "itlb.miss + dtlb.miss is 0, but ptw.walk is 1");
    rig.harts[1]->tally[TL_S_PTW_WALK_D] = rig.harts[1]->tally[TL_S_DTLB_ACCESS] = 1;
    rig.harts[1]->tally[TL_S_DTLB_MISS] = rig.harts[1]->tally[TL_S_DTLB_STORE_MISS] = 1;
    tl_error err;
    assert_int_equal(tl_memory_check_identities(rig.memory, &err), TL_OK);
    tl_rig_stop(&rig);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_every_broken_identity_is_named_with_its_numbers),
    cmocka_unit_test(test_without_a_second_level_each_miss_walks),
};

TL_TEST_MAIN(tests)
