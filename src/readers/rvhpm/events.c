// SPDX-License-Identifier: MIT
// Events of the comparison that the counters of a U74's core can count: selectors of mhpmevent, and
// the counters that count one event only.
#include "readers/rvhpm/compare.h"

#include "base/bits.h"

static const tl_selector_row selectors[] = {
    {"exception",                      0x0000100},
    {"integer_load",                   0x0000200},
    {"integer_store",                  0x0000400},
    {"atomic",                         0x0000800},
    {"system",                         0x0001000},
    {"integer_arithmetic",             0x0002000},
    {"conditional_branch",             0x0004000},
    {"jal",                            0x0008000},
    {"jalr",                           0x0010000},
    {"integer_multiply",               0x0020000},
    {"integer_divide",                 0x0040000},
    {"fp_load",                        0x0080000},
    {"fp_store",                       0x0100000},
    {"fp_add",                         0x0200000},
    {"fp_multiply",                    0x0400000},
    {"fp_multiply_add",                0x0800000},
    {"fp_divide_sqrt",                 0x1000000},
    {"fp_other",                       0x2000000},
    {"address_generation_interlock",   0x0000101},
    {"long_latency_interlock",         0x0000201},
    {"csr_read_interlock",             0x0000401},
    {"instruction_cache_busy",         0x0000801},
    {"data_cache_busy",                0x0001001},
    {"branch_direction_misprediction", 0x0002001},
    {"target_misprediction",           0x0004001},
    {"flush_csr_write",                0x0008001},
    {"flush_other",                    0x0010001},
    {"integer_multiply_interlock",     0x0020001},
    {"fp_interlock",                   0x0040001},
    {"instruction_cache_miss",         0x0000102},
    {"data_cache_miss_or_mmio",        0x0000202},
    {"data_cache_writeback",           0x0000402},
    {"itlb_miss",                      0x0000802},
    {"dtlb_miss",                      0x0001002},
    {"utlb_miss",                      0x0002002},
};
static const tl_selector_row counters[] = {
    {"cycle",   0xc00},
    {"instret", 0xc02},
};

uint64_t tl_rvhpm_selector_of(const tl_watchable *event) {
    const tl_selector_row *row = tl_selector_find(selectors, TL_COUNT_OF(selectors), event);
    return row ? row->selector : 0;
}

uint32_t tl_rvhpm_counter_of(const tl_watchable *event) {
    const tl_selector_row *row = tl_selector_find(counters, TL_COUNT_OF(counters), event);
    return row ? (uint32_t)row->selector : 0;
}
