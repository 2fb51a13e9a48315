// SPDX-License-Identifier: MIT
// Random structures of detailed cores: reorder buffers of a few uops, one port for everything,
// replay loops, predictors that are always wrong.
#ifndef TL_TESTS_RANDOM_STRUCTURE_H
#define TL_TESTS_RANDOM_STRUCTURE_H

#include "machine/machine.h"
#include "random_code.h"

// Lines, sectors, streams, queues of any size, also those of one entry.
static inline void choose_memory(rng *r, tl_config *config) {
    tl_core_config *c = &config->core;
    const bool writes_through = below(r, 2);
    config->bsq = (tl_bsq_config){.l1d_write = writes_through ? TL_WRITE_THROUGH : TL_WRITE_BACK,
                                  .write_buffers = writes_through ? below(r, 8) : 0,
                                  .sectors = 1u << below(r, 3),
                                  .streams = below(r, 2) ? 1 + below(r, 8) : 0,
                                  .stream_lines = 1 + below(r, 16),
                                  .queue_entries = below(r, 2) ? 1 + below(r, 12) : 0};
    config->bsq.adjacent = config->bsq.sectors > 1 && below(r, 2);
    config->l2.size_bytes = 32768u << below(r, 5);
    config->l2.replacement = below(r, 3) ? TL_REPLACE_LRU : TL_REPLACE_RANDOM;
    c->trace_ways = 1 + below(r, 8);
    c->trace_line_uops = 2 + below(r, 8);
    c->trace_uops = below(r, 2) ? (c->trace_ways * c->trace_line_uops) << below(r, 8) : 0;
    c->trace_line_cycles = 1 + below(r, 3);
    c->trace_branches = 1 + below(r, 4);
    c->build_width = 1 + below(r, 4);
}

static inline void make_in_order(tl_config *config) {
    tl_config plain;
    tl_config_default(&plain);
    config->core.kind = TL_CORE_IN_ORDER;
    config->core.shares_dtlb = 0;
    config->bp.kind = TL_BP_GSHARE;
    config->bsq = plain.bsq;
}

static inline void choose_structure(rng *r, tl_config *config) {
    tl_core_config *c = &config->core;
    const uint32_t rename = 2 + below(r, 5), retire = 2 + below(r, 5), most = rename > retire ? rename : retire;
    const uint32_t replay = below(r, 2) ? 1 + below(r, 20) : 0;
    const uint32_t clear_cycles = below(r, 30), split_cycles = below(r, 20), alias_bits = below(r, 2) ? 12 + below(r, 6) : 0;
    *c = (tl_core_config){.kind = TL_CORE_OUT_OF_ORDER,
                          .threads = 1,
                          .clear_cycles = clear_cycles,
                          .split_cycles = split_cycles,
                          .alias_bits = alias_bits,
                          .fetch_width = 1 + below(r, 8),
                          .fetch_taken = 1 + below(r, 3),
                          .rename_width = rename,
                          .issue_width = 1 + below(r, 8),
                          .retire_width = retire,
                          .front_cycles = 1 + below(r, 25),
                          .rob_uops = most + below(r, below(r, 2) ? 8 : 400),
                          .load_buffers = 1 + below(r, 60),
                          .store_buffers = 1 + below(r, 60),
                          .memory_queue = 1 + below(r, 30),
                          .general_queue = 1 + below(r, 60),
                          .alu_half_cycles = 1 + below(r, 4),
                          .shift_cycles = 1 + below(r, 4),
                          .forward_cycles = 1 + below(r, 6),
                          .replay_miss_cycles = replay,
                          .replay_cycles = replay ? 1 + below(r, 20) : 0,
                          .misses = 1 + below(r, 8),
                          .store_misses = 1 + below(r, 8),
                          .alu_ports = 3,
                          .fast_ports = below(r, 4),
                          .shift_ports = 1 + below(r, 255),
                          .branch_ports = 1 + below(r, 255),
                          .mul_ports = 1 + below(r, 255),
                          .fp_ports = 1 + below(r, 255),
                          .move_ports = 1 + below(r, 255),
                          .load_ports = 1 + below(r, 255),
                          .store_ports = 1 + below(r, 255),
                          .data_ports = 1 + below(r, 255)};
    config->bp.kind = (tl_bp_kind)below(r, 5);
    config->bp.counters = 16u << below(r, 6);
    config->bp.history_bits = below(r, 5);
    config->bp.tables = 1 + below(r, TL_MAX_TAGE_TABLES);
    config->bp.table_entries = 16u << below(r, 7);
    config->bp.max_history = 20 + below(r, 1900);
    config->bp.ras_entries = below(r, 8);
    config->l1d = (tl_cache_config){.size_bytes = 1024u << below(r, 5), .ways = 2, .line_bytes = 64};
    config->ram_bytes = 16 << 20;
    choose_memory(r, config);
}

// Threads of one core, or a core each. Each has room for itself.
static inline void make_two_harts(tl_config *config, uint32_t threads) {
    tl_core_config *c = &config->core;
    config->n_harts = 2;
    c->threads = threads;
    c->shares_dtlb = threads > 1 && c->clear_cycles % 2 != 0;
    c->rob_uops = c->rob_uops * 2 > TL_MAX_ROB ? TL_MAX_ROB : c->rob_uops * 2;
    c->load_buffers += 1;
    c->store_buffers += 1;
    c->memory_queue += 1;
    c->general_queue += 1;
}

#endif
