// SPDX-License-Identifier: MIT
// Signals of each kind of unit for its ULC, the most useful first. A ULC of N counters and M inputs
// has the first M multi-bit signals and as many of the one-bit signals as counters are left. A
// signal of one bit grows by at most 1 in a cycle. A multi-bit input delivers up to mb_max in a
// cycle, and its counter counts pulses, each of which stands for mb_max units. Numbers are
// interface: a new signal gets the next free number.
//
// Unit `chip` stands for the units that the partitions of a chip share: chip.noc_busy is signal
// busy of the interconnect root.
//
// A machine adds a wait of n cycles at once. The tap of the unit presents it over the cycles that
// follow, so that no signal exceeds its step, and no unit is lost.
#include "base/bits.h"
#include "pmu/smpm/smpm.h"

#define BIT(kind, number, title, text) \
    {.selector = TL_SMPM_SELECTOR(TL_SMPM_UNIT_##kind, 0, number), .name = title, .cite = CITE, .sources = text, .fidelity = TL_EXACT}
#define MULTI(kind, number, title, text) \
    {.selector = TL_SMPM_SELECTOR(TL_SMPM_UNIT_##kind, 1, number), .name = title, .cite = CITE, .sources = text, .fidelity = TL_EXACT}
#define BYTES(kind, number, title, text) \
    {.selector = TL_SMPM_SELECTOR(TL_SMPM_UNIT_##kind, 1, number), .name = title, .cite = CITE, .sources = text, .fidelity = TL_EXACT, .note = BURST}
#define LEFT_OUT(kind, number, title, reason) \
    {.selector = TL_SMPM_LEFT_OUT(TL_SMPM_UNIT_##kind, number), .name = title, .cite = CITE, .fidelity = TL_NOT_MODELED, .note = reason}

static const char CITE[] = "docs/smpm.md, events", BURST[] = "The bytes of a burst are presented over the cycles that follow, mb_max in each.";

const char *const tl_smpm_unit_names[TL_SMPM_N_UNIT_KINDS] = {
    [TL_SMPM_UNIT_HART] = "hart", [TL_SMPM_UNIT_L2] = "l2",   [TL_SMPM_UNIT_MEM] = "mem",
    [TL_SMPM_UNIT_NOC] = "noc",   [TL_SMPM_UNIT_BUS] = "bus", [TL_SMPM_UNIT_DMA] = "dma",
    [TL_SMPM_UNIT_ROOT] = "noc",  [TL_SMPM_UNIT_IO] = "io",   [TL_SMPM_UNIT_ENGINE] = "dma",
};

const tl_event tl_smpm_events[] = {
    // A hart with its predictor, first-level caches and TLBs.
    BIT(HART,   0, "hart.cycle",                "hart.cycle"),
    BIT(HART,   1, "hart.idle_cycle",           "hart.idle_cycle"),
    BIT(HART,   2, "hart.instret",              "hart.instret"),
    BIT(HART,   3, "hart.cycle_u",              "hart.cycle_u"),
    BIT(HART,   4, "hart.instret_u",            "hart.instret_u"),
    BIT(HART,   5, "hart.insn_load",            "hart.insn_load"),
    BIT(HART,   6, "hart.insn_store",           "hart.insn_store"),
    BIT(HART,   7, "hart.insn_branch",          "hart.insn_branch"),
    BIT(HART,   8, "hart.branch_taken",         "hart.branch_taken"),
    BIT(HART,   9, "hart.bp_cond_miss",         "bp.cond_miss"),
    BIT(HART,  10, "hart.bp_target_miss",       "bp.target_miss"),
    BIT(HART,  11, "hart.insn_amo",             "hart.insn_amo"),
    BIT(HART,  12, "hart.insn_mul",             "hart.insn_mul"),
    BIT(HART,  13, "hart.insn_div",             "hart.insn_div"),
    BIT(HART,  14, "hart.cyc_issue",            "hart.cyc_issue"),
    BIT(HART,  15, "hart.cyc_load_use",         "hart.cyc_load_use"),
    BIT(HART,  16, "hart.cyc_mul",              "hart.cyc_mul"),
    BIT(HART,  17, "hart.cyc_div",              "hart.cyc_div"),
    BIT(HART,  18, "hart.cyc_fp",               "hart.cyc_fp"),
    BIT(HART,  19, "hart.cyc_fp_div",           "hart.cyc_fp_div"),
    BIT(HART,  20, "hart.cyc_csr",              "hart.cyc_csr"),
    BIT(HART,  21, "hart.cyc_fence",            "hart.cyc_fence"),
    BIT(HART,  22, "hart.cyc_flush",            "hart.cyc_flush"),
    BIT(HART,  23, "hart.cyc_amo",              "hart.cyc_amo"),
    BIT(HART,  24, "hart.cyc_misaligned",       "hart.cyc_misaligned"),
    BIT(HART,  25, "hart.cyc_fetch",            "hart.cyc_fetch"),
    BIT(HART,  26, "hart.cyc_itlb",             "hart.cyc_itlb"),
    BIT(HART,  27, "hart.cyc_load_miss",        "hart.cyc_load_miss"),
    BIT(HART,  28, "hart.cyc_store_miss",       "hart.cyc_store_miss"),
    BIT(HART,  29, "hart.cyc_dtlb",             "hart.cyc_dtlb"),
    BIT(HART,  30, "hart.cyc_mispredict",       "hart.cyc_mispredict"),
    BIT(HART,  31, "hart.cyc_target",           "hart.cyc_target"),
    BIT(HART,  32, "hart.cyc_redirect",         "hart.cyc_redirect"),
    BIT(HART,  33, "hart.cyc_trap",             "hart.cyc_trap"),
    BIT(HART,  34, "hart.cyc_switch",           "hart.cyc_switch"),
    BIT(HART,  35, "hart.cyc_mmio",             "hart.cyc_mmio"),
    BIT(HART,  36, "hart.exception",            "hart.exception"),
    BIT(HART,  37, "hart.interrupt",            "hart.interrupt"),
    BIT(HART,  38, "hart.ptw_cycle",            "ptw.cycle"),
    BIT(HART,  39, "hart.insn_fp_fma",          "hart.insn_fp_fma"),
    BIT(HART,  40, "hart.insn_fp_add",          "hart.insn_fp_add"),
    BIT(HART,  41, "hart.insn_fp_mul",          "hart.insn_fp_mul"),
    BIT(HART,  42, "hart.unc_read",             "hart.unc_read"),
    BIT(HART,  43, "hart.unc_write",            "hart.unc_write"),
    BIT(HART,  44, "hart.l1d_walk_miss",        "l1d.walk_miss"),
    MULTI(HART, 0, "hart.l1d_load_miss",        "l1d.load_miss"),
    MULTI(HART, 1, "hart.l1d_store_miss",       "l1d.store_miss"),
    MULTI(HART, 2, "hart.l1i_miss",             "l1i.miss"),
    MULTI(HART, 3, "hart.store_bytes",          "hart.store_bytes"),
    MULTI(HART, 4, "hart.load_bytes",           "hart.load_bytes"),
    MULTI(HART, 5, "hart.dtlb_miss",            "dtlb.miss"),
    MULTI(HART, 6, "hart.itlb_miss",            "itlb.miss"),
    MULTI(HART, 7, "hart.l2tlb_miss",           "l2tlb.miss"),
    MULTI(HART, 8, "hart.l1d_writeback",        "l1d.writeback"),
    MULTI(HART, 9, "hart.l1d_load",             "l1d.load"),
    MULTI(HART,10, "hart.l1d_store",            "l1d.store"),
    MULTI(HART,11, "hart.l1d_evict_dirty",      "l1d.evict_dirty"),
    MULTI(HART,12, "hart.l1d_probe",            "l1d.probe"),
    MULTI(HART,13, "hart.l1i_access",           "l1i.access"),
    MULTI(HART,14, "hart.ptw_walk",             "ptw.walk"),
    MULTI(HART,15, "hart.l1d_upgrade",          "l1d.upgrade"),
    LEFT_OUT(HART, 0, "hart.l1i_invalidate",   "One fence can drop 65,536 lines in a cycle; an input tells at most 32."),
    LEFT_OUT(HART, 1, "hart.itlb_flush",       "One fence can drop 512 entries in a cycle; an input tells at most 32."),
    LEFT_OUT(HART, 2, "hart.dtlb_flush",       "One fence can drop 512 entries in a cycle; an input tells at most 32."),
    LEFT_OUT(HART, 3, "hart.l2tlb_flush",      "One fence can drop 8,192 entries in a cycle; an input tells at most 32."),
    // A slice of the second level.
    MULTI(L2,   0, "l2.read",                   "l2.read"),
    MULTI(L2,   1, "l2.readmiss",               "l2.readmiss"),
    MULTI(L2,   2, "l2.write",                  "l2.write"),
    MULTI(L2,   3, "l2.writeback",              "l2.writeback"),
    MULTI(L2,   4, "l2.probe_out",              "l2.probe_out"),
    MULTI(L2,   5, "l2.evict_dirty",            "l2.evict_dirty"),
    MULTI(L2,   6, "l2.evict_clean",            "l2.evict_clean"),
    MULTI(L2,   7, "l2.upgrade",                "l2.upgrade"),
    MULTI(L2,   8, "l2.dma_read",               "l2.dma_read"),
    MULTI(L2,   9, "l2.dma_write",              "l2.dma_write"),
    MULTI(L2,  10, "l2.busy",                   "l2.busy"),
    MULTI(L2,  11, "l2.read_i",                 "l2.read_i"),
    MULTI(L2,  12, "l2.read_ld",                "l2.read_ld"),
    MULTI(L2,  13, "l2.read_st",                "l2.read_st"),
    MULTI(L2,  14, "l2.prefetch",               "l2.prefetch"),
    MULTI(L2,  15, "l2.back_invalidate",        "l2.back_invalidate"),
    // A memory channel.
    MULTI(MEM,  0, "mem.read",                  "mem.read"),
    MULTI(MEM,  1, "mem.write",                 "mem.write"),
    MULTI(MEM,  2, "mem.row_hit",               "mem.row_hit"),
    MULTI(MEM,  3, "mem.row_conflict",          "mem.row_conflict"),
    MULTI(MEM,  4, "mem.row_miss",              "mem.row_miss"),
    MULTI(MEM,  5, "mem.busy",                  "mem.busy"),
    // The interconnect.
    MULTI(NOC,  0, "noc.request",               "noc.request"),
    MULTI(NOC,  1, "noc.response_data",         "noc.response_data"),
    MULTI(NOC,  2, "noc.release_data",          "noc.release_data"),
    LEFT_OUT(NOC,  0, "noc.probe",             "A broadcast makes 128 probes in a cycle; an input tells at most 32."),
    LEFT_OUT(NOC,  1, "noc.probe_ack",         "A broadcast brings 128 answers in a cycle; an input tells at most 32."),
    LEFT_OUT(NOC,  2, "noc.probe_ack_data",    "A broadcast brings 128 answers in a cycle; an input tells at most 32."),
    // The path of uncached accesses.
    MULTI(BUS,  0, "bus.read",                  "bus.read"),
    MULTI(BUS,  1, "bus.write",                 "bus.write"),
    MULTI(BUS,  2, "bus.snooped_beat",          "bus.snooped_beat"),
    MULTI(BUS,  3, "bus.master_read",           "bus.master_read"),
    // Devices that master the bus.
    MULTI(DMA,  0, "dma.read",                  "dma.read"),
    MULTI(DMA,  1, "dma.write",                 "dma.write"),
    MULTI(DMA,  2, "dma.interrupt",             "dma.interrupt"),
    // The interconnect root of a chip.
    BIT(ROOT,   0, "noc.burst_in",              "chip.noc_burst_in"),
    BIT(ROOT,   1, "noc.burst_out",             "chip.noc_burst_out"),
    BIT(ROOT,   2, "noc.busy",                  "chip.noc_busy"),
    MULTI(ROOT, 0, "noc.blocked",               "chip.noc_blocked"),
    // The I/O bridge of a chip.
    BIT(IO,     0, "io.read",                   "chip.io_read"),
    BIT(IO,     1, "io.write",                  "chip.io_write"),
    BYTES(IO,   0, "io.bytes_in",               "chip.io_bytes_in"),
    BYTES(IO,   1, "io.bytes_out",              "chip.io_bytes_out"),
    // The DMA engine of a chip.
    BIT(ENGINE,  0, "dma.busy",                  "chip.dma_busy"),
    BYTES(ENGINE, 0, "dma.bytes_read",            "chip.dma_bytes_read"),
    BYTES(ENGINE, 1, "dma.bytes_written",         "chip.dma_bytes_written"),
    MULTI(ENGINE, 2, "dma.job_read",              "chip.dma_job_read"),
    MULTI(ENGINE, 3, "dma.job_write",             "chip.dma_job_write"),
    MULTI(ENGINE, 4, "dma.wait",                  "chip.dma_wait"),
};

const uint32_t tl_smpm_n_events = TL_COUNT_OF(tl_smpm_events);

#define SELECTORS "Nothing is selected; a number says kind of unit from bit 8 up, multi-bit input in bit 7, signal in bits 6:0."

static const tl_pmu_preset safe = {.name = "safe", .title = "Tenants kept apart", .events = tl_smpm_events, .n_events = TL_COUNT_OF(tl_smpm_events), .selectors = SELECTORS};
static const tl_pmu_preset literal = {.name = "literal", .title = "As the patent states it", .events = tl_smpm_events, .n_events = TL_COUNT_OF(tl_smpm_events), .selectors = SELECTORS};
const tl_pmu_preset *const tl_smpm_presets[] = {&safe, &literal, NULL};
