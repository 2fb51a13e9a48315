// SPDX-License-Identifier: MIT
// Portable events on the hierarchical counters. tests/portable proves each class.
#include "pmu/smpm/smpm.h"
#include "session/portable.h"

static const char NO_UOPS[] = "No event tells uops of a detailed core.",
                  NO_JUMPS[] = "No signal of the units tells jumps.",
                  PULSES[] = "A unit keeps what is no whole pulse.";

static const tl_portable_map maps[TL_N_PORTABLES] = {
    [TL_PORTABLE_ACTIVE_CYCLES] = {TL_PORTABLE_EXACT, "hart.cycle", NULL},
    [TL_PORTABLE_RETIRED_INSTRUCTIONS] = {TL_PORTABLE_SUBSET, "hart.instret", "A unit tells one in a cycle, so a core that retires more in most cycles is ahead of it at the end."},
    [TL_PORTABLE_RETIRED_UOPS] = {TL_PORTABLE_IMPOSSIBLE, NULL, NO_UOPS},
    [TL_PORTABLE_CANCELLED_UOPS] = {TL_PORTABLE_IMPOSSIBLE, NULL, NO_UOPS},
    [TL_PORTABLE_RETIRED_LOADS] = {TL_PORTABLE_SUBSET, "hart.insn_load + hart.insn_amo", "Floating-point loads and load-reserved do not count."},
    [TL_PORTABLE_RETIRED_STORES] = {TL_PORTABLE_SUBSET, "hart.insn_store + hart.insn_amo", "Floating-point stores and store-conditionals do not count."},
    [TL_PORTABLE_RETIRED_BRANCHES] = {TL_PORTABLE_SUBSET, "hart.insn_branch", "Jumps do not count."},
    [TL_PORTABLE_RETIRED_CONDITIONAL_BRANCHES] = {TL_PORTABLE_EXACT, "hart.insn_branch", NULL},
    [TL_PORTABLE_RETIRED_TAKEN_BRANCHES] = {TL_PORTABLE_EXACT, "hart.branch_taken", NULL},
    [TL_PORTABLE_RETIRED_DIRECT_JUMPS] = {TL_PORTABLE_IMPOSSIBLE, NULL, NO_JUMPS},
    [TL_PORTABLE_RETIRED_INDIRECT_JUMPS] = {TL_PORTABLE_IMPOSSIBLE, NULL, NO_JUMPS},
    [TL_PORTABLE_RETIRED_RETURNS] = {TL_PORTABLE_IMPOSSIBLE, NULL, NO_JUMPS},
    [TL_PORTABLE_MISPREDICTED_BRANCHES] = {TL_PORTABLE_EXACT, "hart.bp_cond_miss + hart.bp_target_miss", NULL},
    [TL_PORTABLE_MISPREDICTED_CONDITIONAL_BRANCHES] = {TL_PORTABLE_EXACT, "hart.bp_cond_miss", NULL},
    [TL_PORTABLE_MISPREDICTED_INDIRECT_JUMPS] = {TL_PORTABLE_EXACT, "hart.bp_target_miss", NULL},
    [TL_PORTABLE_STALLED_CYCLES] = {TL_PORTABLE_EXACT, "hart.cycle - hart.cyc_issue", NULL},
    [TL_PORTABLE_L1I_MISSES] = {TL_PORTABLE_SUBSET, "hart.l1i_miss", PULSES},
    [TL_PORTABLE_L1D_LOAD_MISSES] = {TL_PORTABLE_SUBSET, "hart.l1d_load_miss - hart.l1d_walk_miss", PULSES},
    [TL_PORTABLE_RETIRED_L1D_LOAD_MISSES] = {TL_PORTABLE_ESTIMATE, "hart.l1d_load_miss - hart.l1d_walk_miss", "Loads that a detailed core takes back count, too, and a unit keeps what is no whole pulse."},
    [TL_PORTABLE_L1D_WRITEBACKS] = {TL_PORTABLE_SUBSET, "hart.l1d_writeback", PULSES},
    [TL_PORTABLE_ITLB_MISSES] = {TL_PORTABLE_SUBSET, "hart.itlb_miss", PULSES},
    [TL_PORTABLE_DTLB_MISSES] = {TL_PORTABLE_SUBSET, "hart.dtlb_miss", PULSES},
    [TL_PORTABLE_PAGE_WALKS] = {TL_PORTABLE_SUBSET, "hart.ptw_walk", PULSES},
    [TL_PORTABLE_L2_REQUESTS] = {TL_PORTABLE_SUBSET, "l2.read", PULSES},
    [TL_PORTABLE_L2_MISSES] = {TL_PORTABLE_SUBSET, "l2.readmiss", PULSES},
    [TL_PORTABLE_MEMORY_CLEARS] = {TL_PORTABLE_IMPOSSIBLE, NULL, "No event tells machine clears of a detailed core."},
};

const tl_portable_type tl_portable_smpm = {.pmu = &tl_pmu_smpm, .maps = maps};
