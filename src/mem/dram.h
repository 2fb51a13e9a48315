// SPDX-License-Identifier: MIT
// A memory channel: banks with one open row each, and a data path that moves one line at a time. Lines are dealt out to the channels by
// their low line-number bits; within a channel, consecutive lines fill a row, consecutive rows go to consecutive banks. Rows stay
// open. No refresh, no reordering: requests are served as they come. Times are when the channel is asked.
#ifndef TL_MEM_DRAM_H
#define TL_MEM_DRAM_H

#include "mem/memory.h"

// Opens the row of `line` and returns the latency of getting there. Rows are kept plus one; 0: none is open.
TL_ALWAYS_INLINE uint32_t tl_dram_open_row(tl_memory *m, tl_channel *channel, uint64_t line) {
    const tl_mem_config *config = &m->config.mem;
    uint64_t row_number = line >> (m->line_log2 + m->channels_log2 + m->row_lines_log2);
    uint64_t *open = &channel->open_rows[row_number & (config->mem_banks - 1)];
    uint64_t row = (row_number >> m->banks_log2) + 1, before = *open;
    bool is_hit = before == row, is_miss = before == 0; // no branches: which it is, is anybody's guess
    *open = row;
    channel->tally[TL_MEM_ROW_HIT] += is_hit;
    channel->tally[TL_MEM_ROW_MISS] += is_miss;
    channel->tally[TL_MEM_ROW_CONFLICT] += !is_hit & !is_miss;
    uint32_t cycles = is_miss ? config->mem_row_miss_cycles : config->mem_row_conflict_cycles;
    return is_hit ? config->mem_row_hit_cycles : cycles;
}

TL_ALWAYS_INLINE tl_channel *tl_dram_channel(tl_memory *m, uint64_t line) {
    return &m->channels[line >> m->line_log2 & (m->config.mem_channels - 1)];
}

// Returns the cycles until the data is there.
TL_ALWAYS_INLINE uint64_t tl_dram_read(tl_memory *m, uint64_t line, uint64_t time, bool is_demand) {
    tl_channel *channel = tl_dram_channel(m, line);
    channel->tally[TL_MEM_READ] += 1;
    uint64_t wait = tl_server_occupy(&channel->server, time, m->config.mem.mem_busy_cycles);
    if (is_demand)
        channel->tally[TL_MEM_BUSY] += wait;
    return wait + tl_dram_open_row(m, channel, line);
}

TL_ALWAYS_INLINE void tl_dram_write(tl_memory *m, uint64_t line, uint64_t time) {
    tl_channel *channel = tl_dram_channel(m, line);
    channel->tally[TL_MEM_WRITE] += 1;
    tl_server_occupy(&channel->server, time, m->config.mem.mem_busy_cycles);
    tl_dram_open_row(m, channel, line);
}

#endif
