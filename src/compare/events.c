// SPDX-License-Identifier: MIT
// The rows: what the U74's selectors can say, with the twin of each among the distributed counters; then what is told of the second level,
// by its block on the bus and by the counters of its slices.
#include "compare/events.h"

#include <string.h>

#include "base/bits.h"
#include "pmu/ccache/ccache.h"
#include "pmu/dhpc/dhpc.h"

enum { CSR_CYCLE = 0xc00, CSR_INSTRET = 0xc02 };

#define FIXED(title, csr, bit, total, sentence) \
    {.name = title, .u74_counter = (csr), .dhpc = TL_DHPC_SELECTOR(TL_DHPC_CORE, 0, bit), .sources = total, .meaning = sentence, .is_default = true}
#define CORE(title, selector, twin, total, sentence, ...) \
    {.name = title, .u74 = (selector), .dhpc = TL_DHPC_SELECTOR(TL_DHPC_CORE, 1, twin), .sources = total, .meaning = sentence, __VA_ARGS__}
#define LEVEL2(title, selector, bit, total, sentence, ...) \
    {.name = title, .ccache = (selector), .dhpc = TL_DHPC_SELECTOR(TL_DHPC_LLC, 0, bit), .sources = total, .meaning = sentence, __VA_ARGS__}
#define SET(set, bits) ((uint64_t)(bits) << 8 | (set))
#define DEFAULT .is_default = true

const tl_watchable tl_watchables[] = {
    FIXED("cycle", CSR_CYCLE, 0, "hart.cycle", "Cycles in which the hart was not idle."),
    FIXED("instret", CSR_INSTRET, 1, "hart.instret", "Instructions retired."),
    CORE("exception",                       0x0000100, 0,  "hart.exception", "Exceptions taken."),
    CORE("integer_load",                    0x0000200, 1,  "hart.insn_load", "Integer loads retired.", DEFAULT),
    CORE("integer_store",                   0x0000400, 2,  "hart.insn_store", "Integer stores retired."),
    CORE("atomic",                          0x0000800, 3,  "hart.insn_amo + hart.insn_lr + hart.insn_sc", "Atomic accesses retired."),
    CORE("system",                          0x0001000, 4,  "hart.insn_csr + hart.insn_system", "Accesses to control registers and other system instructions retired."),
    CORE("integer_arithmetic",              0x0002000, 5,  "hart.insn_alu + hart.insn_bitmanip", "Integer arithmetic retired."),
    CORE("conditional_branch",              0x0004000, 6,  "hart.insn_branch", "Conditional branches retired.", DEFAULT),
    CORE("jal",                             0x0008000, 7,  "hart.insn_jal", "Direct jumps retired."),
    CORE("jalr",                            0x0010000, 8,  "hart.insn_jalr", "Indirect jumps retired."),
    CORE("integer_multiply",                0x0020000, 9,  "hart.insn_mul", "Integer multiplications retired."),
    CORE("integer_divide",                  0x0040000, 10, "hart.insn_div", "Integer divisions retired."),
    CORE("fp_load",                         0x0080000, 11, "hart.insn_fp_load", "Floating-point loads retired."),
    CORE("fp_store",                        0x0100000, 12, "hart.insn_fp_store", "Floating-point stores retired."),
    CORE("fp_add",                          0x0200000, 13, "hart.insn_fp_add", "Floating-point additions and subtractions retired."),
    CORE("fp_multiply",                     0x0400000, 14, "hart.insn_fp_mul", "Floating-point multiplications retired."),
    CORE("fp_multiply_add",                 0x0800000, 15, "hart.insn_fp_fma", "Fused multiply-adds retired."),
    CORE("fp_divide_sqrt",                  0x1000000, 16, "hart.insn_fp_div + hart.insn_fp_sqrt", "Floating-point divisions and square roots retired."),
    CORE("fp_other",                        0x2000000, 17, "hart.insn_fp_convert + hart.insn_fp_compare + hart.insn_fp_move", "Other floating-point instructions retired."),
    CORE("address_generation_interlock",    0x0000101, 18, "hart.cyc_load_use", "Cycles waited for the result of a load that hit.", DEFAULT),
    CORE("long_latency_interlock",          0x0000201, 19, "hart.cyc_div", "Cycles waited for the integer divider."),
    CORE("csr_read_interlock",              0x0000401, 20, "hart.cyc_csr", "Cycles waited around accesses to control registers."),
    CORE("instruction_cache_busy",          0x0000801, 21, "hart.cyc_fetch + hart.cyc_itlb", "Cycles in which fetch waited for a miss.", DEFAULT),
    CORE("data_cache_busy",                 0x0001001, 22, "hart.cyc_load_miss + hart.cyc_store_miss + hart.cyc_dtlb + hart.cyc_amo + hart.cyc_mmio", "Cycles waited for the data cache.", DEFAULT),
    CORE("branch_direction_misprediction",  0x0002001, 23, "bp.cond_miss", "Conditional branches whose direction was predicted wrongly.", DEFAULT),
    CORE("target_misprediction",            0x0004001, 24, "bp.target_miss", "Jumps whose target was predicted wrongly.", DEFAULT),
    CORE("flush_csr_write",                 0x0008001, 25, "hart.flush_csr", "Pipeline flushes by writes of control registers."),
    CORE("flush_other",                     0x0010001, 26, "hart.flush_other", "Pipeline flushes for other reasons: traps and fences."),
    CORE("integer_multiply_interlock",      0x0020001, 27, "hart.cyc_mul", "Cycles waited for the integer multiplier."),
    CORE("fp_interlock",                    0x0040001, 28, "hart.cyc_fp + hart.cyc_fp_div", "Cycles waited for floating-point results."),
    CORE("instruction_cache_miss",          0x0000102, 29, "l1i.miss", "Lines that the first-level instruction cache requested.", DEFAULT),
    CORE("data_cache_miss_or_mmio",         0x0000202, 30, "l1d.load_miss + l1d.store_miss + hart.unc_read + hart.unc_write", "Misses of the first-level data cache, and accesses to devices.", DEFAULT),
    CORE("data_cache_writeback",            0x0000402, 31, "l1d.writeback", "Lines that the first-level data cache sent down."),
    CORE("itlb_miss",                       0x0000802, 32, "itlb.miss", "Misses of the instruction TLB."),
    CORE("dtlb_miss",                       0x0001002, 33, "dtlb.miss", "Misses of the data TLB.", DEFAULT),
    CORE("utlb_miss",                       0x0002002, 34, "l2tlb.miss", "Misses of the second-level TLB."),
    // acquire block NtoB, NtoT, acquire perm BtoT and get; acquire block of both kinds to memory; release data TtoB and TtoN; dirty evictions
    LEVEL2("l2_read",      SET(1, 1 << 3 | 1 << 6 | 1 << 7 | 1 << 10), 0,  "l2.read", "Line requests to the second level.", DEFAULT),
    LEVEL2("l2_readmiss",  SET(3, 1 << 0 | 1 << 1),                    1,  "l2.readmiss", "Lines that the second level fetched from memory.", DEFAULT),
    LEVEL2("l2_write",     SET(1, 1 << 14 | 1 << 15),                  2,  "l2.write", "Lines with data that the second level received.", DEFAULT),
    LEVEL2("l2_writeback", SET(3, 1 << 9),                             4,  "l2.writeback", "Lines that the second level wrote to memory.", DEFAULT),
    LEVEL2("l2_read_i",    SET(1, 1 << 3),                             5,  "l2.read_i", "Line requests of instruction caches."),
    LEVEL2("l2_read_ld",   SET(1, 1 << 6),                             6,  "l2.read_ld", "Line requests for reading by data caches."),
    LEVEL2("l2_read_st",   SET(1, 1 << 7 | 1 << 10),                   7,  "l2.read_st", "Line requests for writing."),
    LEVEL2("l2_evict_clean", SET(3, 1 << 6),                           11, "l2.evict_clean", "Unmodified lines that the second level dropped."),
};
const uint32_t tl_n_watchables = TL_COUNT_OF(tl_watchables);

const tl_watchable *tl_watchable_find(const char *name) {
    for (uint32_t i = 0; i < tl_n_watchables; i++)
        if (!strcmp(tl_watchables[i].name, name))
            return &tl_watchables[i];
    return NULL;
}
