// SPDX-License-Identifier: MIT
// Portable events on the distributed counters. tests/portable proves each class.
#include "pmu/dhpc/dhpc.h"
#include "session/portable.h"

static const char NO_UOPS[] = "No event tells uops of a detailed core.";

static const tl_portable_map maps[TL_N_PORTABLES] = {
    [TL_PORTABLE_ACTIVE_CYCLES] = {TL_PORTABLE_EXACT, "core.cycle", NULL},
    [TL_PORTABLE_RETIRED_INSTRUCTIONS] = {TL_PORTABLE_EXACT, "core.instret", NULL},
    [TL_PORTABLE_RETIRED_UOPS] = {TL_PORTABLE_IMPOSSIBLE, NULL, NO_UOPS},
    [TL_PORTABLE_CANCELLED_UOPS] = {TL_PORTABLE_IMPOSSIBLE, NULL, NO_UOPS},
    [TL_PORTABLE_RETIRED_LOADS] = {TL_PORTABLE_SUPERSET, "u74.integer_load + u74.fp_load + u74.atomic", "Store-conditionals are among the atomics."},
    [TL_PORTABLE_RETIRED_STORES] = {TL_PORTABLE_SUPERSET, "u74.integer_store + u74.fp_store + u74.atomic", "Load-reserved and failed store-conditionals are among the atomics."},
    [TL_PORTABLE_RETIRED_BRANCHES] = {TL_PORTABLE_EXACT, "u74.conditional_branch + u74.jal + u74.jalr", NULL},
    [TL_PORTABLE_RETIRED_CONDITIONAL_BRANCHES] = {TL_PORTABLE_EXACT, "core.br_cond", NULL},
    [TL_PORTABLE_RETIRED_TAKEN_BRANCHES] = {TL_PORTABLE_EXACT, "core.br_taken", NULL},
    [TL_PORTABLE_RETIRED_DIRECT_JUMPS] = {TL_PORTABLE_EXACT, "u74.jal", NULL},
    [TL_PORTABLE_RETIRED_INDIRECT_JUMPS] = {TL_PORTABLE_EXACT, "u74.jalr", NULL},
    [TL_PORTABLE_RETIRED_RETURNS] = {TL_PORTABLE_IMPOSSIBLE, NULL, "No counter tells returns from other indirect jumps."},
    [TL_PORTABLE_MISPREDICTED_BRANCHES] = {TL_PORTABLE_EXACT, "core.br_mispred + core.tgt_mispred", NULL},
    [TL_PORTABLE_MISPREDICTED_CONDITIONAL_BRANCHES] = {TL_PORTABLE_EXACT, "core.br_mispred", NULL},
    [TL_PORTABLE_MISPREDICTED_INDIRECT_JUMPS] = {TL_PORTABLE_EXACT, "core.tgt_mispred", NULL},
    [TL_PORTABLE_STALLED_CYCLES] = {TL_PORTABLE_EXACT, "core.cycle - stack.cyc_issue", NULL},
    [TL_PORTABLE_L1I_MISSES] = {TL_PORTABLE_EXACT, "core.l1i_readmiss", NULL},
    [TL_PORTABLE_L1D_LOAD_MISSES] = {TL_PORTABLE_SUPERSET, "core.l1d_readmiss", "Walks of page tables count, too."},
    [TL_PORTABLE_RETIRED_L1D_LOAD_MISSES] = {TL_PORTABLE_SUPERSET, "core.l1d_readmiss", "Walks of page tables count, too, and loads that a detailed core takes back."},
    [TL_PORTABLE_L1D_WRITEBACKS] = {TL_PORTABLE_EXACT, "core.l1d_writeback", NULL},
    [TL_PORTABLE_ITLB_MISSES] = {TL_PORTABLE_EXACT, "core.itlb_miss", NULL},
    [TL_PORTABLE_DTLB_MISSES] = {TL_PORTABLE_EXACT, "core.dtlb_miss", NULL},
    [TL_PORTABLE_PAGE_WALKS] = {TL_PORTABLE_EXACT, "core.ptw_walk", NULL},
    [TL_PORTABLE_L2_REQUESTS] = {TL_PORTABLE_EXACT, "llc.read", NULL},
    [TL_PORTABLE_L2_MISSES] = {TL_PORTABLE_EXACT, "llc.readmiss", NULL},
    [TL_PORTABLE_MEMORY_CLEARS] = {TL_PORTABLE_IMPOSSIBLE, NULL, "No event tells machine clears of a detailed core."},
};

const tl_portable_type tl_portable_dhpc = {.pmu = &tl_pmu_dhpc, .maps = maps};
