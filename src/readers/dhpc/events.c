// SPDX-License-Identifier: MIT
// Events of the comparison among the distributed counters: page and bit of a core, or of each
// slice.
#include "readers/dhpc/compare.h"

#include "base/bits.h"
#include "pmu/dhpc/dhpc.h"

#define CORE(page, bit) TL_DHPC_SELECTOR(TL_DHPC_CORE, page, bit)
#define SLICE(bit) TL_DHPC_SELECTOR(TL_DHPC_LLC, 0, bit)

static const tl_selector_row selectors[] = {
    {"cycle",                          CORE(0, 0)},
    {"instret",                        CORE(0, 1)},
    {"exception",                      CORE(1, 0)},
    {"integer_load",                   CORE(1, 1)},
    {"integer_store",                  CORE(1, 2)},
    {"atomic",                         CORE(1, 3)},
    {"system",                         CORE(1, 4)},
    {"integer_arithmetic",             CORE(1, 5)},
    {"conditional_branch",             CORE(1, 6)},
    {"jal",                            CORE(1, 7)},
    {"jalr",                           CORE(1, 8)},
    {"integer_multiply",               CORE(1, 9)},
    {"integer_divide",                 CORE(1, 10)},
    {"fp_load",                        CORE(1, 11)},
    {"fp_store",                       CORE(1, 12)},
    {"fp_add",                         CORE(1, 13)},
    {"fp_multiply",                    CORE(1, 14)},
    {"fp_multiply_add",                CORE(1, 15)},
    {"fp_divide_sqrt",                 CORE(1, 16)},
    {"fp_other",                       CORE(1, 17)},
    {"address_generation_interlock",   CORE(1, 18)},
    {"long_latency_interlock",         CORE(1, 19)},
    {"csr_read_interlock",             CORE(1, 20)},
    {"instruction_cache_busy",         CORE(1, 21)},
    {"data_cache_busy",                CORE(1, 22)},
    {"branch_direction_misprediction", CORE(1, 23)},
    {"target_misprediction",           CORE(1, 24)},
    {"flush_csr_write",                CORE(1, 25)},
    {"flush_other",                    CORE(1, 26)},
    {"integer_multiply_interlock",     CORE(1, 27)},
    {"fp_interlock",                   CORE(1, 28)},
    {"instruction_cache_miss",         CORE(1, 29)},
    {"data_cache_miss_or_mmio",        CORE(1, 30)},
    {"data_cache_writeback",           CORE(1, 31)},
    {"itlb_miss",                      CORE(1, 32)},
    {"dtlb_miss",                      CORE(1, 33)},
    {"utlb_miss",                      CORE(1, 34)},
    {"l2_read",                        SLICE(0)},
    {"l2_readmiss",                    SLICE(1)},
    {"l2_write",                       SLICE(2)},
    {"l2_writeback",                   SLICE(4)},
    {"l2_read_i",                      SLICE(5)},
    {"l2_read_ld",                     SLICE(6)},
    {"l2_read_st",                     SLICE(7)},
    {"l2_evict_clean",                 SLICE(11)},
};

bool tl_dhpc_selector_of(const tl_watchable *event, uint64_t *ret_selector) {
    const tl_selector_row *row = tl_selector_find(selectors, TL_COUNT_OF(selectors), event);
    if (row)
        *ret_selector = row->selector;
    return row != NULL;
}
