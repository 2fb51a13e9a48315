// SPDX-License-Identifier: MIT
// Events of the Cortex-A53, as sums of signals of the machine. A number without a row counts
// nothing; PMCEID0_EL0 and PMCEID1_EL0 tell which common events have one. Preset `full` adds common
// events that this core lacks.
#include "base/bits.h"
#include "pmu/pmuv3/pmuv3.h"

static const char COMMON[] = "Arm ARM D5.10, common events", A53[] = "Cortex-A53 manual, chapter 12, events";

#define SAME(number, title, text) {.selector = (number), .name = title, .cite = (number) < 0x40 ? COMMON : A53, .sources = text, .fidelity = TL_EXACT}
#define SAID(number, title, text, sentence) \
    {.selector = (number), .name = title, .cite = (number) < 0x40 ? COMMON : A53, .sources = text, .fidelity = TL_EXACT, .note = sentence}
#define NEAR(number, title, text, sentence) \
    {.selector = (number), .name = title, .cite = (number) < 0x40 ? COMMON : A53, .sources = text, .fidelity = TL_APPROXIMATE, .note = sentence}
#define NONE(number, title, sentence) \
    {.selector = (number), .name = title, .cite = (number) < 0x40 ? COMMON : A53, .fidelity = TL_NOT_MODELED, .note = sentence}

#define BEFORE_RETURNS                                                                                                                     \
    SAME(0x00, "SW_INCR", ""),                                                                                                             \
    SAME(0x01, "L1I_CACHE_REFILL", "l1i.miss"),                                                                                            \
    SAME(0x02, "L1I_TLB_REFILL", "itlb.miss"),                                                                                             \
    NEAR(0x03, "L1D_CACHE_REFILL", "l1d.load_miss + l1d.store_miss", "Requests for write permission of lines that are present count, too."), \
    NEAR(0x04, "L1D_CACHE", "l1d.load + l1d.store", "Reads of page tables count, too, and an access that crosses a line counts twice."),   \
    SAME(0x05, "L1D_TLB_REFILL", "dtlb.miss"),                                                                                             \
    SAME(0x06, "LD_RETIRED", "hart.insn_load + hart.insn_fp_load + hart.insn_lr"),                                                         \
    SAID(0x07, "ST_RETIRED", "hart.insn_store + hart.insn_fp_store + hart.insn_sc", "A store-exclusive counts whether it stores or not."), \
    SAME(0x08, "INST_RETIRED", "hart.instret"),                                                                                            \
    SAID(0x09, "EXC_TAKEN", "hart.exception + hart.interrupt", "An exception belongs to the level that it leaves."),                       \
    SAID(0x0a, "EXC_RETURN", "", "A return belongs to the level that it leaves."),                                                         \
    SAME(0x0b, "CID_WRITE_RETIRED", ""),                                                                                                   \
    NEAR(0x0c, "PC_WRITE_RETIRED", "hart.branch_taken + hart.insn_jal + hart.insn_jalr", "Returns from exceptions do not count."),         \
    SAME(0x0d, "BR_IMMED_RETIRED", "hart.insn_branch + hart.insn_jal")
#define BEFORE_SPECULATION                                                                                                                 \
    SAME(0x0f, "UNALIGNED_LDST_RETIRED", "hart.misaligned_load + hart.misaligned_store"),                                                  \
    NEAR(0x10, "BR_MIS_PRED", "bp.cond_miss + bp.target_miss", "A direct branch whose target decode has to supply does not count."),       \
    SAME(0x11, "CPU_CYCLES", "hart.cycle"),                                                                                                \
    SAID(0x12, "BR_PRED", "bp.cond + bp.direct + bp.indirect + bp.return", "No branch is executed on a wrong path."),                      \
    NEAR(0x13, "MEM_ACCESS", "l1d.load + l1d.store + hart.unc_read + hart.unc_write", "Reads of page tables count, too, and an access that crosses a line counts twice."), \
    NEAR(0x14, "L1I_CACHE", "l1i.access", "One look-up serves all instructions of a line that are executed one after the other."),         \
    SAME(0x15, "L1D_CACHE_WB", "l1d.writeback"),                                                                                           \
    NEAR(0x16, "L2D_CACHE", "l2.read_hart#", "Lines that the first level writes back do not count."),                                      \
    SAME(0x17, "L2D_CACHE_REFILL", "l2.readmiss_hart#"),                                                                                   \
    NEAR(0x18, "L2D_CACHE_WB", "l2.writeback", "Lines written back on behalf of other harts count, too."),                                 \
    NEAR(0x19, "BUS_ACCESS", "l2.readmiss_hart# + l2.writeback", "One for each line, where the bus takes several beats; lines written back on behalf of other harts count, too."), \
    SAID(0x1a, "MEMORY_ERROR", "", "Memory has no errors, and the count stays 0.")
#define AFTER_SPECULATION                                                                                                                  \
    NEAR(0x1d, "BUS_CYCLES", "hart.cycle", "The bus has the clock of the core."),                                                          \
    SAME(0x1e, "CHAIN", ""),                                                                                                               \
    NEAR(0x60, "BUS_ACCESS_LD", "l2.readmiss_hart#", "One for each line, where the bus takes several beats."),                             \
    NEAR(0x61, "BUS_ACCESS_ST", "l2.writeback", "One for each line, where the bus takes several beats; lines written back on behalf of other harts count, too."), \
    SAME(0x7a, "BR_INDIRECT_SPEC", "bp.indirect + bp.return"),                                                                             \
    NEAR(0x86, "EXC_IRQ", "hart.interrupt", "FIQ and SError count, too."),                                                                 \
    NONE(0x87, "EXC_FIQ", "Signals do not tell kinds of interrupts apart."),                                                               \
    NEAR(0xc0, "EXT_MEM_REQ", "l2.readmiss_hart#", "Requests that write memory do not count."),                                            \
    NEAR(0xc1, "EXT_MEM_REQ_NC", "hart.unc_read + hart.unc_write", "Accesses of devices; Normal memory is always cached."),                \
    NEAR(0xc2, "PREFETCH_LINEFILL", "l1d.prefetch + l1i.prefetch", "Fills of the instruction cache count, too."),                          \
    NONE(0xc3, "IC_THROTTLE", "The instruction cache is not throttled."),                                                                  \
    NONE(0xc4, "READ_ALLOC_ENTER", "Stores always allocate."),                                                                             \
    NONE(0xc5, "READ_ALLOC", "Stores always allocate."),                                                                                   \
    NONE(0xc6, "PRE_DECODE_ERROR", "There is no pre-decoder."),                                                                            \
    NEAR(0xc7, "STALL_SB_FULL", "hart.cyc_store_miss", "Cycles that stores waited for their line; there is no store buffer."),             \
    NONE(0xc8, "EXT_SNOOP", "Signals do not tell lines from another core's cache apart."),                                                 \
    SAME(0xc9, "BR_COND", "bp.cond"),                                                                                                      \
    SAME(0xca, "BR_INDIRECT_MISPRED", "bp.target_miss"),                                                                                   \
    NEAR(0xcb, "BR_INDIRECT_ADDR_MISPRED", "bp.target_miss", "A branch without any prediction counts, too."),                              \
    SAME(0xcc, "BR_COND_MISPRED", "bp.cond_miss"),                                                                                         \
    SAID(0xd0, "L1I_CACHE_ERR", "", "Caches have no errors, and the count stays 0."),                                                      \
    SAID(0xd1, "L1D_CACHE_ERR", "", "Caches have no errors, and the count stays 0."),                                                      \
    SAID(0xd2, "TLB_ERR", "", "TLBs have no errors, and the count stays 0."),                                                              \
    NEAR(0xe0, "OTHER_IQ_DEP_STALL", "hart.cyc_mispredict + hart.cyc_target + hart.cyc_redirect + hart.cyc_flush + hart.cyc_trap", "Cycles lost to refilling the pipeline; there is no instruction queue."), \
    NEAR(0xe1, "IC_DEP_STALL", "hart.cyc_fetch", "Cycles that fetch waited for the instruction cache; there is no instruction queue."),    \
    NEAR(0xe2, "IUTLB_DEP_STALL", "hart.cyc_itlb", "Cycles that fetch waited for a translation; there is no instruction queue."),          \
    NONE(0xe3, "DECODE_DEP_STALL", "There is no pre-decoder."),                                                                            \
    NEAR(0xe4, "OTHER_INTERLOCK_STALL", "hart.cyc_mul + hart.cyc_div + hart.cyc_csr", "Waits of a single-issue pipeline."),                \
    NEAR(0xe5, "AGU_DEP_STALL", "hart.cyc_load_use", "Waits for the result of a load that hit, used as an address or not."),               \
    NEAR(0xe6, "SIMD_DEP_STALL", "hart.cyc_fp + hart.cyc_fp_div", "Waits of a single-issue pipeline."),                                    \
    NEAR(0xe7, "LD_DEP_STALL", "hart.cyc_load_miss", "Waits for translations do not count."),                                              \
    NEAR(0xe8, "ST_DEP_STALL", "hart.cyc_store_miss", "Waits for translations do not count.")

static const tl_event a53_events[] = {BEFORE_RETURNS, BEFORE_SPECULATION, AFTER_SPECULATION};
static const tl_event full_events[] = {
    BEFORE_RETURNS, SAME(0x0e, "BR_RETURN_RETIRED", "hart.return"), BEFORE_SPECULATION,
    SAID(0x1b, "INST_SPEC", "hart.instret", "No instruction is executed on a wrong path."),
    AFTER_SPECULATION,
};

// ---- perf's names, as Linux's driver of this core maps them (drivers/perf and arch/arm64 of 6.1)

#define EVENT_COUNTERS 0x3fu
static const tl_pmu_tree_event tree_events[] = {
    {.event = 1, .selector = 0x11},       {.event = 2, .selector = 0x08},       {.event = 3, .selector = 0x04},       {.event = 4, .selector = 0x03},
    {.event = 5, .selector = 0x0c},       {.event = 6, .selector = 0x10},       {.event = 7, .selector = 0x1d},
    {.event = 0x10000, .selector = 0x04}, {.event = 0x10001, .selector = 0x03}, {.event = 0x10005, .selector = 0xc2},
    {.event = 0x10008, .selector = 0x14}, {.event = 0x10009, .selector = 0x01}, {.event = 0x10019, .selector = 0x05}, {.event = 0x10021, .selector = 0x02},
    {.event = 0x10028, .selector = 0x12}, {.event = 0x10029, .selector = 0x10}, {.event = 0x10030, .selector = 0x60}, {.event = 0x10032, .selector = 0x61},
};
static const tl_pmu_tree_counters tree_counters[] = {
    {1, 1, EVENT_COUNTERS | TL_PMUV3_CYCLE_BIT}, {2, 7, EVENT_COUNTERS}, {0x10000, 0x10001, EVENT_COUNTERS}, {0x10005, 0x10005, EVENT_COUNTERS},
    {0x10008, 0x10009, EVENT_COUNTERS}, {0x10019, 0x10019, EVENT_COUNTERS}, {0x10021, 0x10021, EVENT_COUNTERS}, {0x10028, 0x10029, EVENT_COUNTERS},
    {0x10030, 0x10030, EVENT_COUNTERS}, {0x10032, 0x10032, EVENT_COUNTERS},
};
static const tl_pmu_tree_raw tree_raw[] = {{.match = 0, .mask = ~UINT64_C(0x3ff), .counters = EVENT_COUNTERS}};
static const tl_pmu_tree tree = {
    .events = tree_events, .n_events = TL_COUNT_OF(tree_events),
    .counters = tree_counters, .n_counters = TL_COUNT_OF(tree_counters),
    .raw = tree_raw, .n_raw = TL_COUNT_OF(tree_raw),
};

#define SELECTORS "The number of the event, 10 bits, as in PMEVTYPERn_EL0.evtCount."
const tl_pmu_preset tl_pmuv3_a53 = {
    .name = "a53", .title = "Six counters of 32 bits and a cycle counter, with the events of the Cortex-A53",
    .events = a53_events, .n_events = TL_COUNT_OF(a53_events), .selectors = SELECTORS, .tree = &tree,
};
const tl_pmu_preset tl_pmuv3_full = {
    .name = "full", .title = "The same counters, with common events beside those of the Cortex-A53",
    .events = full_events, .n_events = TL_COUNT_OF(full_events), .selectors = SELECTORS, .tree = &tree,
};
const tl_pmu_preset *const tl_pmuv3_presets[] = {&tl_pmuv3_a53, &tl_pmuv3_full, NULL};
