// SPDX-License-Identifier: MIT
// The rows. Each design maps names to its own selectors (src/readers/<design>/events.c).
#include "compare/events.h"

#include <string.h>

#include "base/bits.h"

#define HART(title, total, sentence, ...) {.name = title, .sources = total, .meaning = sentence, __VA_ARGS__}
#define LEVEL2(title, total, sentence, ...) {.name = title, .sources = total, .meaning = sentence, .is_of_level2 = true, __VA_ARGS__}
#define DEFAULT .is_default = true

const tl_watchable tl_watchables[] = {
    HART("cycle",                          "hart.cycle", "Cycles in which the hart was not idle.", DEFAULT),
    HART("instret",                        "hart.instret", "Instructions retired.", DEFAULT),
    HART("exception",                      "hart.exception", "Exceptions taken."),
    HART("integer_load",                   "hart.insn_load", "Integer loads retired.", DEFAULT),
    HART("integer_store",                  "hart.insn_store", "Integer stores retired."),
    HART("atomic",                         "hart.insn_amo + hart.insn_lr + hart.insn_sc", "Atomic accesses retired."),
    HART("system",                         "hart.insn_csr + hart.insn_system", "Accesses to control registers and other system instructions retired."),
    HART("integer_arithmetic",             "hart.insn_alu + hart.insn_bitmanip", "Integer arithmetic retired."),
    HART("conditional_branch",             "hart.insn_branch", "Conditional branches retired.", DEFAULT),
    HART("jal",                            "hart.insn_jal", "Direct jumps retired."),
    HART("jalr",                           "hart.insn_jalr", "Indirect jumps retired."),
    HART("integer_multiply",               "hart.insn_mul", "Integer multiplications retired."),
    HART("integer_divide",                 "hart.insn_div", "Integer divisions retired."),
    HART("fp_load",                        "hart.insn_fp_load", "Floating-point loads retired."),
    HART("fp_store",                       "hart.insn_fp_store", "Floating-point stores retired."),
    HART("fp_add",                         "hart.insn_fp_add", "Floating-point additions and subtractions retired."),
    HART("fp_multiply",                    "hart.insn_fp_mul", "Floating-point multiplications retired."),
    HART("fp_multiply_add",                "hart.insn_fp_fma", "Fused multiply-adds retired."),
    HART("fp_divide_sqrt",                 "hart.insn_fp_div + hart.insn_fp_sqrt", "Floating-point divisions and square roots retired."),
    HART("fp_other",                       "hart.insn_fp_convert + hart.insn_fp_compare + hart.insn_fp_move", "Other floating-point instructions retired."),
    HART("address_generation_interlock",   "hart.cyc_load_use", "Cycles waited for the result of a load that hit.", DEFAULT),
    HART("long_latency_interlock",         "hart.cyc_div", "Cycles waited for the integer divider."),
    HART("csr_read_interlock",             "hart.cyc_csr", "Cycles waited around accesses to control registers."),
    HART("instruction_cache_busy",         "hart.cyc_fetch + hart.cyc_itlb", "Cycles in which fetch waited for a miss.", DEFAULT),
    HART("data_cache_busy",                "hart.cyc_load_miss + hart.cyc_store_miss + hart.cyc_dtlb + hart.cyc_amo + hart.cyc_mmio", "Cycles waited for the data cache.", DEFAULT),
    HART("branch_direction_misprediction", "bp.cond_miss", "Conditional branches whose direction was predicted wrongly.", DEFAULT),
    HART("target_misprediction",           "bp.target_miss", "Jumps whose target was predicted wrongly.", DEFAULT),
    HART("flush_csr_write",                "hart.flush_csr", "Pipeline flushes by writes of control registers."),
    HART("flush_other",                    "hart.flush_other", "Pipeline flushes for other reasons: traps and fences."),
    HART("integer_multiply_interlock",     "hart.cyc_mul", "Cycles waited for the integer multiplier."),
    HART("fp_interlock",                   "hart.cyc_fp + hart.cyc_fp_div", "Cycles waited for floating-point results."),
    HART("instruction_cache_miss",         "l1i.miss", "Lines that the first-level instruction cache requested.", DEFAULT),
    HART("data_cache_miss_or_mmio",        "l1d.load_miss + l1d.store_miss + hart.unc_read + hart.unc_write", "Misses of the first-level data cache, and accesses to devices.", DEFAULT),
    HART("data_cache_writeback",           "l1d.writeback", "Lines that the first-level data cache sent down."),
    HART("itlb_miss",                      "itlb.miss", "Misses of the instruction TLB."),
    HART("dtlb_miss",                      "dtlb.miss", "Misses of the data TLB.", DEFAULT),
    HART("utlb_miss",                      "l2tlb.miss", "Misses of the second-level TLB."),
    LEVEL2("l2_read",        "l2.read", "Line requests to the second level.", DEFAULT),
    LEVEL2("l2_readmiss",    "l2.readmiss", "Lines that the second level fetched from memory.", DEFAULT),
    LEVEL2("l2_write",       "l2.write", "Lines with data that the second level received.", DEFAULT),
    LEVEL2("l2_writeback",   "l2.writeback", "Lines that the second level wrote to memory.", DEFAULT),
    LEVEL2("l2_read_i",      "l2.read_i", "Line requests of instruction caches."),
    LEVEL2("l2_read_ld",     "l2.read_ld", "Line requests for reading by data caches."),
    LEVEL2("l2_read_st",     "l2.read_st", "Line requests for writing."),
    LEVEL2("l2_evict_clean", "l2.evict_clean", "Unmodified lines that the second level dropped."),
};
const uint32_t tl_n_watchables = TL_COUNT_OF(tl_watchables);

const tl_watchable *tl_watchable_find(const char *name) {
    for (uint32_t i = 0; i < tl_n_watchables; i++)
        if (!strcmp(tl_watchables[i].name, name))
            return &tl_watchables[i];
    return NULL;
}

const tl_selector_row *tl_selector_find(const tl_selector_row *rows, uint32_t n, const tl_watchable *event) {
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(rows[i].event, event->name))
            return &rows[i];
    return NULL;
}
