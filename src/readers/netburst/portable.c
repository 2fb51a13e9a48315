// SPDX-License-Identifier: MIT
// Portable events on the counters of a Pentium 4. tests/portable proves each class.
#include "pmu/netburst/netburst.h"
#include "session/portable.h"

static const char NO_ATOMICS[] = "Atomics are never tagged.";

static const tl_portable_map maps[TL_N_PORTABLES] = {
    [TL_PORTABLE_ACTIVE_CYCLES] = {TL_PORTABLE_EXACT, "global_power_events:RUNNING", NULL},
    [TL_PORTABLE_RETIRED_INSTRUCTIONS] = {TL_PORTABLE_EXACT, "instr_retired:NBOGUSNTAG+NBOGUSTAG", NULL},
    [TL_PORTABLE_RETIRED_UOPS] = {TL_PORTABLE_EXACT, "uops_retired:NBOGUS", NULL},
    [TL_PORTABLE_CANCELLED_UOPS] = {TL_PORTABLE_EXACT, "uops_retired:BOGUS", NULL},
    [TL_PORTABLE_RETIRED_LOADS] = {TL_PORTABLE_SUBSET, "memory_loads", NO_ATOMICS},
    [TL_PORTABLE_RETIRED_STORES] = {TL_PORTABLE_SUBSET, "memory_stores", NO_ATOMICS},
    [TL_PORTABLE_RETIRED_BRANCHES] = {TL_PORTABLE_EXACT, "branch_retired:MMNP+MMNM+MMTP+MMTM", NULL},
    [TL_PORTABLE_RETIRED_CONDITIONAL_BRANCHES] = {TL_PORTABLE_EXACT, "retired_branch_type:CONDITIONAL", NULL},
    [TL_PORTABLE_RETIRED_TAKEN_BRANCHES] = {TL_PORTABLE_EXACT, "retired_branch_type:CONDITIONAL - branch_retired:MMNP+MMNM", NULL},
    [TL_PORTABLE_RETIRED_DIRECT_JUMPS] = {TL_PORTABLE_EXACT, "branch_retired:MMNP+MMNM+MMTP+MMTM - retired_branch_type:CONDITIONAL+INDIRECT", NULL},
    [TL_PORTABLE_RETIRED_INDIRECT_JUMPS] = {TL_PORTABLE_EXACT, "retired_branch_type:INDIRECT", NULL},
    [TL_PORTABLE_RETIRED_RETURNS] = {TL_PORTABLE_EXACT, "retired_branch_type:RETURN", NULL},
    [TL_PORTABLE_MISPREDICTED_BRANCHES] = {TL_PORTABLE_EXACT, "branch_retired:MMNM+MMTM", NULL},
    [TL_PORTABLE_MISPREDICTED_CONDITIONAL_BRANCHES] = {TL_PORTABLE_EXACT, "retired_mispred_branch_type:CONDITIONAL", NULL},
    [TL_PORTABLE_MISPREDICTED_INDIRECT_JUMPS] = {TL_PORTABLE_EXACT, "retired_mispred_branch_type:INDIRECT", NULL},
    [TL_PORTABLE_STALLED_CYCLES] = {TL_PORTABLE_SUPERSET, "global_power_events:RUNNING - instr_retired:NBOGUSNTAG+NBOGUSTAG:thr=0", "A clock in which both threads retire is subtracted once."},
    [TL_PORTABLE_L1I_MISSES] = {TL_PORTABLE_IMPOSSIBLE, NULL, "The trace cache is in its place; BPU_fetch_request:TCMISS counts its misses."},
    [TL_PORTABLE_L1D_LOAD_MISSES] = {TL_PORTABLE_IMPOSSIBLE, NULL, "Tags count loads that retire only."},
    [TL_PORTABLE_RETIRED_L1D_LOAD_MISSES] = {TL_PORTABLE_EXACT, "replay_event:l1_load_miss", NULL},
    [TL_PORTABLE_L1D_WRITEBACKS] = {TL_PORTABLE_IMPOSSIBLE, NULL, "The L1D writes through and writes no lines back."},
    [TL_PORTABLE_ITLB_MISSES] = {TL_PORTABLE_EXACT, "ITLB_reference:MISS", NULL},
    [TL_PORTABLE_DTLB_MISSES] = {TL_PORTABLE_EXACT, "page_walk_type:DTMISS", NULL},
    [TL_PORTABLE_PAGE_WALKS] = {TL_PORTABLE_EXACT, "page_walk_type:DTMISS+ITMISS", NULL},
    [TL_PORTABLE_L2_REQUESTS] = {TL_PORTABLE_EXACT, "BSQ_cache_reference:RD_2ndL_HITS+RD_2ndL_HITE+RD_2ndL_MISS", NULL},
    [TL_PORTABLE_L2_MISSES] = {TL_PORTABLE_EXACT, "BSQ_cache_reference:RD_2ndL_MISS", NULL},
    [TL_PORTABLE_MEMORY_CLEARS] = {TL_PORTABLE_EXACT, "machine_clear:MOCLEAR", NULL},
};

const tl_portable_type tl_portable_netburst = {.pmu = &tl_pmu_netburst, .maps = maps};
