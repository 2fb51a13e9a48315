// SPDX-License-Identifier: MIT
// Portable events on the standard counters of a hart. tests/portable proves each class.
#include "pmu/rvhpm/rvhpm.h"
#include "session/portable.h"

static const char NO_UOPS[] = "No event tells uops of a detailed core.";

static const tl_portable_map maps[TL_N_PORTABLES] = {
    [TL_PORTABLE_ACTIVE_CYCLES] = {TL_PORTABLE_EXACT, "hart.cycle", NULL},
    [TL_PORTABLE_RETIRED_INSTRUCTIONS] = {TL_PORTABLE_EXACT, "hart.instret", NULL},
    [TL_PORTABLE_RETIRED_UOPS] = {TL_PORTABLE_IMPOSSIBLE, NULL, NO_UOPS},
    [TL_PORTABLE_CANCELLED_UOPS] = {TL_PORTABLE_IMPOSSIBLE, NULL, NO_UOPS},
    [TL_PORTABLE_RETIRED_LOADS] = {TL_PORTABLE_EXACT, "hart.insn_load + hart.insn_fp_load + hart.insn_lr + hart.insn_amo", NULL},
    [TL_PORTABLE_RETIRED_STORES] = {TL_PORTABLE_EXACT, "hart.insn_store + hart.insn_fp_store + hart.sc_success + hart.insn_amo", NULL},
    [TL_PORTABLE_RETIRED_BRANCHES] = {TL_PORTABLE_EXACT, "BRANCH_INSTRUCTIONS", NULL},
    [TL_PORTABLE_RETIRED_CONDITIONAL_BRANCHES] = {TL_PORTABLE_EXACT, "hart.insn_branch", NULL},
    [TL_PORTABLE_RETIRED_TAKEN_BRANCHES] = {TL_PORTABLE_EXACT, "hart.branch_taken", NULL},
    [TL_PORTABLE_RETIRED_DIRECT_JUMPS] = {TL_PORTABLE_EXACT, "hart.insn_jal", NULL},
    [TL_PORTABLE_RETIRED_INDIRECT_JUMPS] = {TL_PORTABLE_EXACT, "hart.insn_jalr", NULL},
    [TL_PORTABLE_RETIRED_RETURNS] = {TL_PORTABLE_EXACT, "hart.return", NULL},
    [TL_PORTABLE_MISPREDICTED_BRANCHES] = {TL_PORTABLE_EXACT, "BRANCH_MISSES", NULL},
    [TL_PORTABLE_MISPREDICTED_CONDITIONAL_BRANCHES] = {TL_PORTABLE_EXACT, "bp.cond_miss", NULL},
    [TL_PORTABLE_MISPREDICTED_INDIRECT_JUMPS] = {TL_PORTABLE_EXACT, "bp.target_miss", NULL},
    [TL_PORTABLE_STALLED_CYCLES] = {TL_PORTABLE_EXACT, "hart.cycle - hart.cyc_issue", NULL},
    [TL_PORTABLE_L1I_MISSES] = {TL_PORTABLE_EXACT, "l1i.miss", NULL},
    [TL_PORTABLE_L1D_LOAD_MISSES] = {TL_PORTABLE_EXACT, "l1d.load_miss - l1d.walk_miss", NULL},
    [TL_PORTABLE_RETIRED_L1D_LOAD_MISSES] = {TL_PORTABLE_SUPERSET, "l1d.load_miss - l1d.walk_miss", "Loads that a detailed core takes back count, too."},
    [TL_PORTABLE_L1D_WRITEBACKS] = {TL_PORTABLE_EXACT, "l1d.writeback", NULL},
    [TL_PORTABLE_ITLB_MISSES] = {TL_PORTABLE_EXACT, "itlb.miss", NULL},
    [TL_PORTABLE_DTLB_MISSES] = {TL_PORTABLE_EXACT, "dtlb.miss", NULL},
    [TL_PORTABLE_PAGE_WALKS] = {TL_PORTABLE_EXACT, "ptw.walk", NULL},
    [TL_PORTABLE_L2_REQUESTS] = {TL_PORTABLE_EXACT, "CACHE_REFERENCES", NULL},
    [TL_PORTABLE_L2_MISSES] = {TL_PORTABLE_EXACT, "CACHE_MISSES", NULL},
    [TL_PORTABLE_MEMORY_CLEARS] = {TL_PORTABLE_IMPOSSIBLE, NULL, "No event tells machine clears of a detailed core."},
};

const tl_portable_type tl_portable_rvhpm = {.pmu = &tl_pmu_rvhpm, .preset = "linux", .maps = maps};
