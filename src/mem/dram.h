// SPDX-License-Identifier: MIT
// A memory channel: banks with one open row each, and a data path that moves one line at a time. Lines are dealt out to the channels by
// their low line-number bits; within a channel, consecutive lines fill a row, consecutive rows go to consecutive banks. Rows stay
// open. No refresh, no reordering: requests are served as they come. Times are when the channel is asked.
#ifndef TL_MEM_DRAM_H
#define TL_MEM_DRAM_H

#include "mem/memory.h"

// Opens the row of `line` and returns the latency of getting there. Rows are kept plus one; 0: none is open. No branches: what a row is
// found like, is anybody's guess.
_Static_assert(TL_MEM_ROW_MISS == TL_MEM_ROW_HIT + 1 && TL_MEM_ROW_CONFLICT == TL_MEM_ROW_HIT + 2, "as in tl_memory.row_cycles");
TL_ALWAYS_INLINE uint32_t tl_dram_open_row(tl_memory *m, tl_channel *channel, uint64_t line) {
    uint64_t row_number = line >> m->row_shift;
    uint64_t *open = &channel->open_rows[row_number & (m->config.mem.mem_banks - 1)];
    uint64_t row = (row_number >> m->banks_log2) + 1, before = *open;
    uint32_t how = (uint32_t)(before != row) + (uint32_t)((before != row) & (before != 0));
    *open = row;
    channel->tally[TL_MEM_ROW_HIT + how] += 1;
    return m->row_cycles[how];
}

TL_ALWAYS_INLINE tl_channel *tl_dram_channel(tl_memory *m, uint64_t line) {
    return &m->channels[line >> m->line_log2 & (m->config.mem_channels - 1)];
}

// Returns the cycles until the data is there.
TL_ALWAYS_INLINE uint64_t tl_dram_read(tl_memory *m, uint64_t line, uint64_t time, bool is_demand) {
    tl_channel *channel = tl_dram_channel(m, line);
    channel->tally[TL_MEM_READ] += 1;
    uint64_t wait = tl_server_occupy(&channel->server, time, m->config.mem.mem_busy_cycles);
    if (is_demand && TL_UNLIKELY(wait != 0))
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
