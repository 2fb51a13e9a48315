// SPDX-License-Identifier: MIT
// Events of the counters, by preset. Each event is a sum of signals of the machine. A selector
// without a row reads back as 0.
//
// linux: the selector of a standard event is its SBI event_idx, so that firmware needs no
// translation; every other signal of the hart has a raw selector 0x100000 + (unit << 8) + number.
// Numbers are interface: a new signal gets the next free number of its unit. u74: classes and masks
// as in the silicon; the same rows as metrics/u74.map, which a test compares.
#include "base/bits.h"
#include "pmu/rvhpm/rvhpm.h"

static const char SBI_HW[] = "SBI 2.0, PMU extension, event type 0", SBI_CACHE[] = "SBI 2.0, PMU extension, event type 1",
                  RAW_CITE[] = "Tally, docs/ref/signals.md", U74[] = "SiFive U74 event encodings, as in Linux tools/perf riscv/sifive/u74";

#define RAW(number, signal) {.selector = 0x100000 | (number), .name = signal, .cite = RAW_CITE, .sources = signal, .fidelity = TL_EXACT}
#define HW(code, title, ...) {.selector = (code), .name = title, .cite = SBI_HW, __VA_ARGS__}
#define CACHE(code, title, ...) {.selector = 0x10000 | (code), .name = title, .cite = SBI_CACHE, __VA_ARGS__}

static const tl_event linux_events[] = {
    HW(1,  "CPU_CYCLES",              .sources = "hart.cycle", .fidelity = TL_EXACT),
    HW(2,  "INSTRUCTIONS",            .sources = "hart.instret", .fidelity = TL_EXACT),
    HW(3,  "CACHE_REFERENCES",        .sources = "l2.read_hart#", .fidelity = TL_APPROXIMATE, .note = "Line requests of this hart to the last level: fetches, prefetches and requests for write permission included."),
    HW(4,  "CACHE_MISSES",            .sources = "l2.readmiss_hart#", .fidelity = TL_EXACT),
    HW(5,  "BRANCH_INSTRUCTIONS",     .sources = "hart.insn_branch + hart.insn_jal + hart.insn_jalr", .fidelity = TL_EXACT),
    HW(6,  "BRANCH_MISSES",           .sources = "bp.cond_miss + bp.target_miss", .fidelity = TL_EXACT),
    HW(7,  "BUS_CYCLES",              .fidelity = TL_NOT_MODELED, .note = "The bus has no clock of its own."),
    HW(8,  "STALLED_CYCLES_FRONTEND", .sources = "hart.cyc_fetch + hart.cyc_itlb + hart.cyc_mispredict + hart.cyc_target + hart.cyc_redirect + hart.cyc_flush + hart.cyc_trap", .fidelity = TL_EXACT),
    HW(9,  "STALLED_CYCLES_BACKEND",  .sources = "hart.cyc_load_use + hart.cyc_mul + hart.cyc_div + hart.cyc_fp + hart.cyc_fp_div + hart.cyc_csr + hart.cyc_fence + hart.cyc_amo + hart.cyc_misaligned + hart.cyc_load_miss + hart.cyc_store_miss + hart.cyc_dtlb + hart.cyc_mmio", .fidelity = TL_EXACT),
    HW(10, "REF_CPU_CYCLES",          .sources = "hart.cycle", .fidelity = TL_EXACT),
    CACHE(0x00, "L1D_READ_ACCESS",    .sources = "l1d.load", .fidelity = TL_APPROXIMATE, .note = "Look-ups: reads of page tables and both halves of line-crossing loads included."),
    CACHE(0x01, "L1D_READ_MISS",      .sources = "l1d.load_miss", .fidelity = TL_EXACT),
    CACHE(0x02, "L1D_WRITE_ACCESS",   .sources = "l1d.store", .fidelity = TL_APPROXIMATE, .note = "Look-ups: updates of page tables and both halves of line-crossing stores included."),
    CACHE(0x03, "L1D_WRITE_MISS",     .sources = "l1d.store_miss", .fidelity = TL_EXACT),
    CACHE(0x05, "L1D_PREFETCH_MISS",  .sources = "l1d.prefetch", .fidelity = TL_EXACT),
    CACHE(0x08, "L1I_READ_ACCESS",    .sources = "l1i.access", .fidelity = TL_EXACT),
    CACHE(0x09, "L1I_READ_MISS",      .sources = "l1i.miss", .fidelity = TL_EXACT),
    CACHE(0x0d, "L1I_PREFETCH_MISS",  .sources = "l1i.prefetch", .fidelity = TL_EXACT),
    CACHE(0x10, "LL_READ_ACCESS",     .sources = "l2.read_hart#", .fidelity = TL_APPROXIMATE, .note = "Line requests of this hart for whatever reason: those of stores and prefetches are reads here, too."),
    CACHE(0x11, "LL_READ_MISS",       .sources = "l2.readmiss_hart#", .fidelity = TL_APPROXIMATE, .note = "Line requests of this hart for whatever reason: those of stores and prefetches are reads here, too."),
    CACHE(0x12, "LL_WRITE_ACCESS",    .fidelity = TL_NOT_MODELED, .note = "Lines written to the last level are not told apart by hart; l2.write counts them for all."),
    CACHE(0x18, "DTLB_READ_ACCESS",   .fidelity = TL_NOT_MODELED, .note = "Look-ups are not told apart by loads and stores; raw event dtlb.access counts them together."),
    CACHE(0x19, "DTLB_READ_MISS",     .sources = "dtlb.load_miss", .fidelity = TL_EXACT),
    CACHE(0x1a, "DTLB_WRITE_ACCESS",  .fidelity = TL_NOT_MODELED, .note = "Look-ups are not told apart by loads and stores; raw event dtlb.access counts them together."),
    CACHE(0x1b, "DTLB_WRITE_MISS",    .sources = "dtlb.store_miss", .fidelity = TL_EXACT),
    CACHE(0x20, "ITLB_READ_ACCESS",   .sources = "itlb.access", .fidelity = TL_EXACT),
    CACHE(0x21, "ITLB_READ_MISS",     .sources = "itlb.miss", .fidelity = TL_EXACT),
    CACHE(0x28, "BPU_READ_ACCESS",    .sources = "bp.cond + bp.direct + bp.indirect + bp.return", .fidelity = TL_EXACT),
    CACHE(0x29, "BPU_READ_MISS",      .sources = "bp.cond_miss + bp.target_miss", .fidelity = TL_EXACT),
    RAW(0x000, "hart.cycle"),
    RAW(0x001, "hart.cycle_u"),
    RAW(0x002, "hart.cycle_s"),
    RAW(0x003, "hart.cycle_m"),
    RAW(0x004, "hart.idle_cycle"),
    RAW(0x005, "hart.instret"),
    RAW(0x006, "hart.instret_u"),
    RAW(0x007, "hart.instret_s"),
    RAW(0x008, "hart.instret_m"),
    RAW(0x009, "hart.insn_alu"),
    RAW(0x00a, "hart.insn_bitmanip"),
    RAW(0x00b, "hart.insn_mul"),
    RAW(0x00c, "hart.insn_div"),
    RAW(0x00d, "hart.insn_load"),
    RAW(0x00e, "hart.insn_store"),
    RAW(0x00f, "hart.insn_fp_load"),
    RAW(0x010, "hart.insn_fp_store"),
    RAW(0x011, "hart.insn_branch"),
    RAW(0x012, "hart.insn_jal"),
    RAW(0x013, "hart.insn_jalr"),
    RAW(0x014, "hart.insn_amo"),
    RAW(0x015, "hart.insn_lr"),
    RAW(0x016, "hart.insn_sc"),
    RAW(0x017, "hart.insn_fp_add"),
    RAW(0x018, "hart.insn_fp_mul"),
    RAW(0x019, "hart.insn_fp_fma"),
    RAW(0x01a, "hart.insn_fp_div"),
    RAW(0x01b, "hart.insn_fp_sqrt"),
    RAW(0x01c, "hart.insn_fp_convert"),
    RAW(0x01d, "hart.insn_fp_compare"),
    RAW(0x01e, "hart.insn_fp_move"),
    RAW(0x01f, "hart.insn_csr"),
    RAW(0x020, "hart.insn_fence"),
    RAW(0x021, "hart.insn_fence_i"),
    RAW(0x022, "hart.insn_system"),
    RAW(0x023, "hart.insn_compressed"),
    RAW(0x024, "hart.call"),
    RAW(0x025, "hart.return"),
    RAW(0x026, "hart.branch_taken"),
    RAW(0x027, "hart.load_bytes"),
    RAW(0x028, "hart.store_bytes"),
    RAW(0x029, "hart.misaligned_load"),
    RAW(0x02a, "hart.misaligned_store"),
    RAW(0x02b, "hart.line_cross"),
    RAW(0x02c, "hart.sc_success"),
    RAW(0x02d, "hart.sc_fail"),
    RAW(0x02e, "hart.unc_read"),
    RAW(0x02f, "hart.unc_write"),
    RAW(0x030, "hart.fetch_run"),
    RAW(0x031, "hart.exception"),
    RAW(0x032, "hart.interrupt"),
    RAW(0x033, "hart.exc_ecall"),
    RAW(0x034, "hart.exc_illegal"),
    RAW(0x035, "hart.exc_breakpoint"),
    RAW(0x036, "hart.exc_fetch_fault"),
    RAW(0x037, "hart.exc_load_fault"),
    RAW(0x038, "hart.exc_store_fault"),
    RAW(0x039, "hart.exc_misaligned"),
    RAW(0x03a, "hart.cyc_issue"),
    RAW(0x03b, "hart.cyc_load_use"),
    RAW(0x03c, "hart.cyc_mul"),
    RAW(0x03d, "hart.cyc_div"),
    RAW(0x03e, "hart.cyc_fp"),
    RAW(0x03f, "hart.cyc_fp_div"),
    RAW(0x040, "hart.cyc_csr"),
    RAW(0x041, "hart.cyc_fence"),
    RAW(0x042, "hart.cyc_flush"),
    RAW(0x043, "hart.cyc_amo"),
    RAW(0x044, "hart.cyc_misaligned"),
    RAW(0x045, "hart.cyc_fetch"),
    RAW(0x046, "hart.cyc_itlb"),
    RAW(0x047, "hart.cyc_load_miss"),
    RAW(0x048, "hart.cyc_store_miss"),
    RAW(0x049, "hart.cyc_dtlb"),
    RAW(0x04a, "hart.cyc_mispredict"),
    RAW(0x04b, "hart.cyc_target"),
    RAW(0x04c, "hart.cyc_redirect"),
    RAW(0x04d, "hart.cyc_trap"),
    RAW(0x04e, "hart.cyc_switch"),
    RAW(0x04f, "hart.cyc_mmio"),
    RAW(0x050, "hart.flush_csr"),
    RAW(0x051, "hart.flush_other"),
    RAW(0x100, "bp.cond"),
    RAW(0x101, "bp.cond_miss"),
    RAW(0x102, "bp.cond_miss_taken"),
    RAW(0x103, "bp.direct"),
    RAW(0x104, "bp.indirect"),
    RAW(0x105, "bp.indirect_miss"),
    RAW(0x106, "bp.return"),
    RAW(0x107, "bp.return_miss"),
    RAW(0x108, "bp.target_miss"),
    RAW(0x109, "bp.redirect"),
    RAW(0x10a, "bp.btb_fill"),
    RAW(0x10b, "bp.ras_push"),
    RAW(0x10c, "bp.ras_pop"),
    RAW(0x200, "l1i.read"),
    RAW(0x201, "l1i.access"),
    RAW(0x202, "l1i.miss"),
    RAW(0x203, "l1i.evict"),
    RAW(0x204, "l1i.invalidate"),
    RAW(0x205, "l1i.prefetch"),
    RAW(0x206, "l1i.prefetch_hit"),
    RAW(0x300, "l1d.load"),
    RAW(0x301, "l1d.load_miss"),
    RAW(0x302, "l1d.store"),
    RAW(0x303, "l1d.store_miss"),
    RAW(0x304, "l1d.amo_miss"),
    RAW(0x305, "l1d.upgrade"),
    RAW(0x306, "l1d.walk"),
    RAW(0x307, "l1d.walk_miss"),
    RAW(0x308, "l1d.writeback"),
    RAW(0x309, "l1d.evict"),
    RAW(0x30a, "l1d.evict_dirty"),
    RAW(0x30b, "l1d.probe"),
    RAW(0x30c, "l1d.probe_data"),
    RAW(0x30d, "l1d.probe_invalidate"),
    RAW(0x30e, "l1d.prefetch"),
    RAW(0x30f, "l1d.prefetch_hit"),
    RAW(0x400, "itlb.access"),
    RAW(0x401, "itlb.miss"),
    RAW(0x402, "itlb.evict"),
    RAW(0x403, "itlb.flush"),
    RAW(0x500, "dtlb.access"),
    RAW(0x501, "dtlb.miss"),
    RAW(0x502, "dtlb.load_miss"),
    RAW(0x503, "dtlb.store_miss"),
    RAW(0x504, "dtlb.evict"),
    RAW(0x505, "dtlb.flush"),
    RAW(0x600, "l2tlb.access"),
    RAW(0x601, "l2tlb.miss"),
    RAW(0x602, "l2tlb.evict"),
    RAW(0x603, "l2tlb.flush"),
    RAW(0x700, "ptw.walk"),
    RAW(0x701, "ptw.walk_i"),
    RAW(0x702, "ptw.walk_d"),
    RAW(0x703, "ptw.read"),
    RAW(0x704, "ptw.write"),
    RAW(0x705, "ptw.fault"),
    RAW(0x706, "ptw.cycle"),
    RAW(0x707, "ptw.cache_hit"),
    RAW(0x708, "ptw.cache_fill"),
    RAW(0x709, "ptw.cache_evict"),
    RAW(0x70a, "ptw.cache_flush"),
};

static const tl_event u74_events[] = {
    {.selector = 0x0000100, .name = "exception", .cite = U74, .sources = "hart.exception", .fidelity = TL_EXACT},
    {.selector = 0x0000200, .name = "integer_load", .cite = U74, .sources = "hart.insn_load", .fidelity = TL_EXACT},
    {.selector = 0x0000400, .name = "integer_store", .cite = U74, .sources = "hart.insn_store", .fidelity = TL_EXACT},
    {.selector = 0x0000800, .name = "atomic", .cite = U74, .sources = "hart.insn_amo + hart.insn_lr + hart.insn_sc", .fidelity = TL_EXACT},
    {.selector = 0x0001000, .name = "system", .cite = U74, .sources = "hart.insn_csr + hart.insn_system", .fidelity = TL_EXACT,
     .note = "An ECALL or EBREAK traps and does not retire."},
    {.selector = 0x0002000, .name = "integer_arithmetic", .cite = U74, .sources = "hart.insn_alu + hart.insn_bitmanip", .fidelity = TL_EXACT},
    {.selector = 0x0004000, .name = "conditional_branch", .cite = U74, .sources = "hart.insn_branch", .fidelity = TL_EXACT},
    {.selector = 0x0008000, .name = "jal", .cite = U74, .sources = "hart.insn_jal", .fidelity = TL_EXACT},
    {.selector = 0x0010000, .name = "jalr", .cite = U74, .sources = "hart.insn_jalr", .fidelity = TL_EXACT},
    {.selector = 0x0020000, .name = "integer_multiply", .cite = U74, .sources = "hart.insn_mul", .fidelity = TL_EXACT},
    {.selector = 0x0040000, .name = "integer_divide", .cite = U74, .sources = "hart.insn_div", .fidelity = TL_EXACT},
    {.selector = 0x0080000, .name = "fp_load", .cite = U74, .sources = "hart.insn_fp_load", .fidelity = TL_EXACT},
    {.selector = 0x0100000, .name = "fp_store", .cite = U74, .sources = "hart.insn_fp_store", .fidelity = TL_EXACT},
    {.selector = 0x0200000, .name = "fp_add", .cite = U74, .sources = "hart.insn_fp_add", .fidelity = TL_EXACT},
    {.selector = 0x0400000, .name = "fp_multiply", .cite = U74, .sources = "hart.insn_fp_mul", .fidelity = TL_EXACT},
    {.selector = 0x0800000, .name = "fp_multiply_add", .cite = U74, .sources = "hart.insn_fp_fma", .fidelity = TL_EXACT},
    {.selector = 0x1000000, .name = "fp_divide_sqrt", .cite = U74, .sources = "hart.insn_fp_div + hart.insn_fp_sqrt", .fidelity = TL_EXACT},
    {.selector = 0x2000000, .name = "fp_other", .cite = U74, .sources = "hart.insn_fp_convert + hart.insn_fp_compare + hart.insn_fp_move", .fidelity = TL_EXACT},
    {.selector = 0x0000101, .name = "address_generation_interlock", .cite = U74, .sources = "hart.cyc_load_use", .fidelity = TL_APPROXIMATE,
     .note = "Waits of a single-issue pipeline for any result of a load that hit, used as an address or not."},
    {.selector = 0x0000201, .name = "long_latency_interlock", .cite = U74, .sources = "hart.cyc_div", .fidelity = TL_APPROXIMATE,
     .note = "Waits for the integer divider; a load that misses stalls the pipeline at once and counts as data_cache_busy."},
    {.selector = 0x0000401, .name = "csr_read_interlock", .cite = U74, .sources = "hart.cyc_csr", .fidelity = TL_APPROXIMATE,
     .note = "The drain around every CSR access, whether its result is used at once or not."},
    {.selector = 0x0000801, .name = "instruction_cache_busy", .cite = U74, .sources = "hart.cyc_fetch + hart.cyc_itlb", .fidelity = TL_APPROXIMATE,
     .note = "Cycles fetch waited for a miss or a translation; there is no ITIM."},
    {.selector = 0x0001001, .name = "data_cache_busy", .cite = U74, .sources = "hart.cyc_load_miss + hart.cyc_store_miss + hart.cyc_dtlb + hart.cyc_amo + hart.cyc_mmio", .fidelity = TL_APPROXIMATE,
     .note = "Cycles the pipeline waited for the data cache; a store buffer is not modeled, there is no DTIM."},
    {.selector = 0x0002001, .name = "branch_direction_misprediction", .cite = U74, .sources = "bp.cond_miss", .fidelity = TL_EXACT},
    {.selector = 0x0004001, .name = "target_misprediction", .cite = U74, .sources = "bp.target_miss", .fidelity = TL_APPROXIMATE,
     .note = "Direct targets that the BTB did not know are redirected by decode and are not counted (bp.redirect)."},
    {.selector = 0x0008001, .name = "flush_csr_write", .cite = U74, .sources = "hart.flush_csr", .fidelity = TL_EXACT},
    {.selector = 0x0010001, .name = "flush_other", .cite = U74, .sources = "hart.flush_other", .fidelity = TL_EXACT},
    {.selector = 0x0020001, .name = "integer_multiply_interlock", .cite = U74, .sources = "hart.cyc_mul", .fidelity = TL_EXACT},
    {.selector = 0x0040001, .name = "fp_interlock", .cite = U74, .sources = "hart.cyc_fp + hart.cyc_fp_div", .fidelity = TL_EXACT},
    {.selector = 0x0000102, .name = "instruction_cache_miss", .cite = U74, .sources = "l1i.miss", .fidelity = TL_EXACT},
    {.selector = 0x0000202, .name = "data_cache_miss_or_mmio", .cite = U74, .sources = "l1d.load_miss + l1d.store_miss + hart.unc_read + hart.unc_write", .fidelity = TL_EXACT},
    {.selector = 0x0000402, .name = "data_cache_writeback", .cite = U74, .sources = "l1d.writeback", .fidelity = TL_EXACT},
    {.selector = 0x0000802, .name = "itlb_miss", .cite = U74, .sources = "itlb.miss", .fidelity = TL_EXACT},
    {.selector = 0x0001002, .name = "dtlb_miss", .cite = U74, .sources = "dtlb.miss", .fidelity = TL_EXACT},
    {.selector = 0x0002002, .name = "utlb_miss", .cite = U74, .sources = "l2tlb.miss", .fidelity = TL_EXACT,
     .note = "Always 0 on a machine without a second-level TLB."},
};

// ---- rows of the device tree ----

#define LINUX_COUNTERS_MASK 0xfffffff8u // 3 .. 31
#define U74_COUNTERS_MASK 0x18u

#define SAME(idx) {.event = (idx), .selector = (idx)}
static const tl_pmu_tree_event linux_tree_events[] = {
    SAME(1), SAME(2), SAME(3), SAME(4), SAME(5), SAME(6), SAME(8), SAME(9), SAME(10),
    SAME(0x10000), SAME(0x10001), SAME(0x10002), SAME(0x10003), SAME(0x10005), SAME(0x10008), SAME(0x10009), SAME(0x1000d),
    SAME(0x10010), SAME(0x10011), SAME(0x10019), SAME(0x1001b), SAME(0x10020), SAME(0x10021), SAME(0x10028), SAME(0x10029),
};
static const tl_pmu_tree_counters linux_tree_counters[] = {
    {1, 1, LINUX_COUNTERS_MASK | 1}, {2, 2, LINUX_COUNTERS_MASK | 4}, {3, 6, LINUX_COUNTERS_MASK}, {8, 10, LINUX_COUNTERS_MASK},
    {0x10000, 0x10003, LINUX_COUNTERS_MASK}, {0x10005, 0x10005, LINUX_COUNTERS_MASK}, {0x10008, 0x10009, LINUX_COUNTERS_MASK},
    {0x1000d, 0x1000d, LINUX_COUNTERS_MASK}, {0x10010, 0x10011, LINUX_COUNTERS_MASK}, {0x10019, 0x10019, LINUX_COUNTERS_MASK},
    {0x1001b, 0x1001b, LINUX_COUNTERS_MASK}, {0x10020, 0x10021, LINUX_COUNTERS_MASK}, {0x10028, 0x10029, LINUX_COUNTERS_MASK},
};
static const tl_pmu_tree_raw linux_tree_raw[] = {
    {.match = 0x100000, .mask = ~UINT64_C(0xfff), .counters = LINUX_COUNTERS_MASK},
};
static const tl_pmu_tree linux_tree = {
    .has_sscofpmf = true, .has_smcntrpmf = true,
    .events = linux_tree_events, .n_events = TL_COUNT_OF(linux_tree_events),
    .counters = linux_tree_counters, .n_counters = TL_COUNT_OF(linux_tree_counters),
    .raw = linux_tree_raw, .n_raw = TL_COUNT_OF(linux_tree_raw),
};

// Only exact matches appear. The published tree of this core maps more events, and less exactly
// (busy cycles for cache references, for one).
static const tl_pmu_tree_event u74_tree_events[] = {
    {.event = 5, .selector = 0x1c000},      // branches: conditional, JAL, JALR
    {.event = 6, .selector = 0x6001},       // both mispredictions
    {.event = 0x10009, .selector = 0x0102}, // L1I read misses
    {.event = 0x10021, .selector = 0x0802}, // ITLB read misses
};
static const tl_pmu_tree_counters u74_tree_counters[] = {
    {1, 1, 1}, {2, 2, 4}, {5, 6, U74_COUNTERS_MASK}, {0x10009, 0x10009, U74_COUNTERS_MASK}, {0x10021, 0x10021, U74_COUNTERS_MASK},
};
static const tl_pmu_tree_raw u74_tree_raw[] = {
    {.match = 0, .mask = ~UINT64_C(0x3ffff00), .counters = U74_COUNTERS_MASK},
    {.match = 1, .mask = ~UINT64_C(0x007ff00), .counters = U74_COUNTERS_MASK},
    {.match = 2, .mask = ~UINT64_C(0x0003f00), .counters = U74_COUNTERS_MASK},
};
static const tl_pmu_tree u74_tree = {
    .events = u74_tree_events, .n_events = TL_COUNT_OF(u74_tree_events),
    .counters = u74_tree_counters, .n_counters = TL_COUNT_OF(u74_tree_counters),
    .raw = u74_tree_raw, .n_raw = TL_COUNT_OF(u74_tree_raw),
};

static const tl_pmu_tree_counters fixed_tree_counters[] = {{1, 1, 1}, {2, 2, 4}};
static const tl_pmu_tree none_tree = {.counters = fixed_tree_counters, .n_counters = TL_COUNT_OF(fixed_tree_counters)};

const tl_rvhpm_preset tl_rvhpm_linux = {
    .base = {.name = "linux", .title = "29 counters of 64 bits with overflow interrupt and mode filters: all that Linux perf can use",
             .events = linux_events, .n_events = TL_COUNT_OF(linux_events), .tree = &linux_tree,
             .selectors = "A standard event is selected by its SBI event_idx, any other signal by 0x100000 + (unit << 8) + number."},
    .n_counters = 29, .width_bits = 64, .has_sscofpmf = true, .has_smcntrpmf = true,
};
const tl_rvhpm_preset tl_rvhpm_u74 = {
    .base = {.name = "u74", .title = "2 counters of 40 bits with the event selectors of the SiFive U74, no overflow interrupt",
             .events = u74_events, .n_events = TL_COUNT_OF(u74_events), .tree = &u74_tree,
             .selectors = "Bits 7:0 are the class, each bit from 8 up selects an event of it. The silicon adds 1 in a cycle in which any of them "
                          "occurs, this model their number: exact for class 0, whose events exclude each other, else approximate when several are selected."},
    .n_counters = 2, .width_bits = 40, .has_masks = true,
};
const tl_rvhpm_preset tl_rvhpm_none = {
    .base = {.name = "none", .title = "mcycle, minstret and time only; every programmable counter is read-only zero", .tree = &none_tree,
             .selectors = "No event can be selected."},
    .width_bits = 64,
};
const tl_pmu_preset *const tl_rvhpm_presets[] = {&tl_rvhpm_linux.base, &tl_rvhpm_u74.base, &tl_rvhpm_none.base, NULL};
