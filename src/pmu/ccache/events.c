// SPDX-License-Identifier: MIT
// Events of the counters: the four sets of SiFive's composable cache, with the names of Linux perf.
// Inner points to the harts, outer to memory. A cache has no permission for a line (N), may read it
// (B, branch) or may write it (T, trunk). Instruction caches and devices send get, data caches send
// acquire. The cache is inclusive, therefore an acquire for permission and a release always hit.
#include "base/bits.h"
#include "pmu/ccache/ccache.h"

static const char CITE[] = "Linux drivers/perf/sifive_ccache_pmu.c";

#define ROW(set, bit, title, ...) {.selector = TL_CCACHE_EVENT(set, bit), .name = title, .cite = CITE, __VA_ARGS__}
#define EXACT .fidelity = TL_EXACT
#define NEVER .fidelity = TL_NOT_MODELED

static const char FULL[] = "Writes of devices that cover a whole line; TileLink calls full every write without gaps.",
                  PARTIAL[] = "Writes of devices that cover part of a line; TileLink calls partial only those with gaps.",
                  NO_ATOMICS[] = "Data caches do atomics themselves, and nothing cacheable is reached past them.",
                  NO_HINTS[] = "No cache sends hints: a prefetch is an ordinary get or acquire.",
                  PERM_INSTEAD[] = "Who has a line to read and wants to write it acquires permission, not the block.",
                  BLOCK_INSTEAD[] = "Who has nothing of a line acquires the block.",
                  PROBED[] = "Answers to probes are among them.",
                  MODIFIED[] = "Only lines that may be written can be modified.",
                  NO_PROBES[] = "Nothing below the second level keeps copies, so nothing probes it.",
                  FOR_GOOD[] = "Memory gives every line with permission to write, and nobody there takes it back.",
                  PREFETCHED[] = "Requests that missed; lines that the second level prefetches by itself are not among them.";

static const tl_event events[] = {
    ROW(1, 0,  "inner_put_full_data",      .sources = "l2.dma_write_full", .fidelity = TL_APPROXIMATE, .note = FULL),
    ROW(1, 1,  "inner_put_partial_data",   .sources = "l2.dma_write_partial", .fidelity = TL_APPROXIMATE, .note = PARTIAL),
    ROW(1, 2,  "inner_atomic_data",        NEVER, .note = NO_ATOMICS),
    ROW(1, 3,  "inner_get",                .sources = "link.get_hit + link.get_miss + l2.dma_read", EXACT),
    ROW(1, 4,  "inner_prefetch_read",      NEVER, .note = NO_HINTS),
    ROW(1, 5,  "inner_prefetch_write",     NEVER, .note = NO_HINTS),
    ROW(1, 6,  "inner_acquire_block_ntob", .sources = "link.acquire_nb_hit + link.acquire_nb_miss", EXACT),
    ROW(1, 7,  "inner_acquire_block_ntot", .sources = "link.acquire_nt_hit + link.acquire_nt_miss", EXACT),
    ROW(1, 8,  "inner_acquire_block_btot", NEVER, .note = PERM_INSTEAD),
    ROW(1, 9,  "inner_acquire_perm_ntot",  NEVER, .note = BLOCK_INSTEAD),
    ROW(1, 10, "inner_acquire_perm_btot",  .sources = "link.acquire_perm", EXACT),
    ROW(1, 11, "inner_release_ttob",       .sources = "link.release_tb", EXACT, .note = PROBED),
    ROW(1, 12, "inner_release_tton",       .sources = "link.release_tn", EXACT, .note = PROBED),
    ROW(1, 13, "inner_release_bton",       .sources = "link.release_bn", EXACT, .note = PROBED),
    ROW(1, 14, "inner_release_data_ttob",  .sources = "link.release_data_tb", EXACT, .note = PROBED),
    ROW(1, 15, "inner_release_data_tton",  .sources = "link.release_data_tn", EXACT, .note = PROBED),
    ROW(1, 16, "inner_release_data_bton",  NEVER, .note = MODIFIED),
    ROW(1, 17, "outer_probe_block_tot",    NEVER, .note = NO_PROBES),
    ROW(1, 18, "outer_probe_block_tob",    NEVER, .note = NO_PROBES),
    ROW(1, 19, "outer_probe_block_ton",    NEVER, .note = NO_PROBES),
    ROW(2, 0,  "inner_put_full_data_hit",    .sources = "l2.dma_write_full_hit", .fidelity = TL_APPROXIMATE, .note = FULL),
    ROW(2, 1,  "inner_put_partial_data_hit", .sources = "l2.dma_write_partial_hit", .fidelity = TL_APPROXIMATE, .note = PARTIAL),
    ROW(2, 2,  "inner_atomic_data_hit",      NEVER, .note = NO_ATOMICS),
    ROW(2, 3,  "inner_get_hit",              .sources = "link.get_hit + l2.dma_read_hit", EXACT),
    ROW(2, 4,  "inner_prefetch_hit",         NEVER, .note = NO_HINTS),
    ROW(2, 5,  "inner_acquire_block_hit",    .sources = "link.acquire_nb_hit + link.acquire_nt_hit", EXACT),
    ROW(2, 6,  "inner_acquire_perm_hit",     .sources = "link.acquire_perm", EXACT),
    ROW(2, 7,  "inner_release_hit",          .sources = "link.release_tb + link.release_tn + link.release_bn", EXACT, .note = PROBED),
    ROW(2, 8,  "inner_release_data_hit",     .sources = "link.release_data_tb + link.release_data_tn", EXACT, .note = PROBED),
    ROW(2, 9,  "outer_probe_hit",            NEVER, .note = NO_PROBES),
    ROW(2, 10, "inner_put_full_data_hit_shared",    .sources = "l2.dma_write_full_hit_shared", .fidelity = TL_APPROXIMATE, .note = FULL),
    ROW(2, 11, "inner_put_partial_data_hit_shared", .sources = "l2.dma_write_partial_hit_shared", .fidelity = TL_APPROXIMATE, .note = PARTIAL),
    ROW(2, 12, "inner_atomic_data_hit_shared",      NEVER, .note = NO_ATOMICS),
    ROW(2, 13, "inner_get_hit_shared",              .sources = "link.get_shared + l2.dma_read_hit_shared", EXACT),
    ROW(2, 14, "inner_prefetch_hit_shared",         NEVER, .note = NO_HINTS),
    ROW(2, 15, "inner_acquire_block_hit_shared",    .sources = "link.acquire_nb_shared + link.acquire_nt_shared", EXACT),
    ROW(2, 16, "inner_acquire_perm_hit_shared",     .sources = "link.acquire_perm_shared", EXACT),
    ROW(2, 17, "outer_probe_hit_shared",            NEVER, .note = NO_PROBES),
    ROW(2, 18, "outer_probe_hit_dirty",             NEVER, .note = NO_PROBES),
    ROW(3, 0,  "outer_acquire_block_ntob_miss", .sources = "link.get_miss + link.acquire_nb_miss", EXACT, .note = PREFETCHED),
    ROW(3, 1,  "outer_acquire_block_ntot_miss", .sources = "link.acquire_nt_miss", EXACT),
    ROW(3, 2,  "outer_acquire_block_btot_miss", NEVER, .note = FOR_GOOD),
    ROW(3, 3,  "outer_acquire_perm_ntot_miss",  NEVER, .note = FOR_GOOD),
    ROW(3, 4,  "outer_acquire_perm_btot_miss",  NEVER, .note = FOR_GOOD),
    ROW(3, 5,  "outer_release_ttob_eviction",   NEVER, .note = "An eviction gives the line up altogether."),
    ROW(3, 6,  "outer_release_tton_eviction",   .sources = "l2.evict_clean", EXACT, .note = "Lines dropped unmodified; belongs to no client."),
    ROW(3, 7,  "outer_release_bton_eviction",   NEVER, .note = FOR_GOOD),
    ROW(3, 8,  "outer_release_data_ttob_not_applicable", NEVER, .note = "An eviction gives the line up altogether."),
    ROW(3, 9,  "outer_release_data_tton_dirty_eviction", .sources = "l2.writeback", EXACT, .note = "Modified lines sent to memory; belongs to no client."),
    ROW(3, 10, "outer_release_data_bton_not_applicable", NEVER, .note = MODIFIED),
    ROW(3, 11, "inner_probe_block_tot_code_miss_hits_other_harts", .sources = "link.probe_get", .fidelity = TL_APPROXIMATE,
        .note = "The owner keeps the line to read, not to write; probes of the hart's own data cache and for devices' reads are among them."),
    ROW(3, 12, "inner_probe_block_tob_load_miss_hits_other_harts", .sources = "link.probe_load", EXACT, .note = "By client of the cache that is probed."),
    ROW(3, 13, "inner_probe_block_ton_store_miss_hits_other_harts", .sources = "link.probe_store", EXACT,
        .note = "By client of the cache that is probed; probes of evictions and of devices' writes are not among them."),
    ROW(4, 0,  "inner_hint_hits_inflight_miss", NEVER, .note = NO_HINTS),
};

static const tl_pmu_preset sifive = {
    .name = "sifive",
    .title = "The event sets of SiFive's composable cache; key l2.counters says how many counters",
    .events = events,
    .n_events = TL_COUNT_OF(events),
    .selectors = "Bits 7:0 are the set, each bit from 8 up selects an event of it. The silicon adds 1 in a cycle in which any of them occurs, this "
                 "model their number.",
};
const tl_pmu_preset *const tl_ccache_presets[] = {&sifive, NULL};
