// SPDX-License-Identifier: MIT
// The default machine: a single in-order hart with Rocket-like latencies (Asanovic et al., "The Rocket Chip Generator",
// UCB/EECS-2016-17, gives the five-stage shape; latencies follow the public RTL's pipeline depths, rounded to whole cycles).
#include "model/config.h"

#include <string.h>

void tl_config_default(tl_config *ret_config) {
    *ret_config = (tl_config){
        .name = "rocket",
        .summary = "One 5-stage in-order hart, 32 KiB L1 caches, 512 KiB L2.",
        .n_harts = 1,
        .clock_hz = 1000000000,
        .ram_bytes = UINT64_C(4) << 30,
        .seed = 1,
        .interleave_cycles = 1000,
        .pipeline = {.load_use_cycles = 2, .load_use_narrow_cycles = 3, .fp_load_use_cycles = 2, .mul_cycles = 4, .div_cycles = 34,
                     .div_word_cycles = 18, .fp_add_cycles = 4, .fp_mul_cycles = 4, .fp_fma_cycles = 4, .fp_convert_cycles = 3,
                     .fp_compare_cycles = 3, .fp_move_cycles = 2, .fp_div_single_cycles = 20, .fp_div_double_cycles = 33,
                     .fp_sqrt_single_cycles = 20, .fp_sqrt_double_cycles = 33, .csr_cycles = 4, .fence_cycles = 4, .fence_i_cycles = 20,
                     .amo_cycles = 3, .misaligned_cycles = 4, .mispredict_cycles = 3, .redirect_cycles = 1, .trap_cycles = 5, .fetch_bytes = 4},
        .bp = {.kind = TL_BP_GSHARE, .counters = 512, .history_bits = 8, .btb_entries = 32, .ras_entries = 6},
        .l1i = {.size_bytes = 32 << 10, .ways = 8, .line_bytes = 64, .replacement = TL_REPLACE_LRU},
        .l1d = {.size_bytes = 32 << 10, .ways = 8, .line_bytes = 64, .replacement = TL_REPLACE_LRU},
        .l2 = {.size_bytes = 512 << 10, .ways = 8, .line_bytes = 64, .replacement = TL_REPLACE_LRU},
        .l2_slices = 1,
        .itlb = {.entries = 32, .ways = 32, .replacement = TL_REPLACE_LRU},
        .dtlb = {.entries = 32, .ways = 32, .replacement = TL_REPLACE_LRU},
        .l2tlb = {.entries = 1024, .ways = 4, .replacement = TL_REPLACE_LRU},
        .mem_channels = 1,
        .mem = {.l2_hit_cycles = 20, .l2_busy_cycles = 4, .probe_cycles = 12, .upgrade_cycles = 16, .l2tlb_hit_cycles = 4, .walk_step_cycles = 1,
                .mem_row_hit_cycles = 50, .mem_row_miss_cycles = 70, .mem_row_conflict_cycles = 90, .mem_busy_cycles = 10, .mem_banks = 8,
                .mem_row_bytes = 2048},
        .os = {.slice_cycles = 1000000, .syscall_cycles = 200, .page_fault_cycles = 800, .switch_cycles = 1000, .signal_cycles = 600},
    };
}
