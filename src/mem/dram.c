// SPDX-License-Identifier: MIT
// A memory channel: banks with one open row each, and a data path that moves one line at a time. Lines are dealt out to the channels by
// their low line-number bits; within a channel, consecutive lines fill a row, consecutive rows go to consecutive banks. Rows stay
// open. No refresh, no reordering: requests are served as they come.
#include "mem/memory.h"

static const uint64_t NO_ROW = 0; // rows are kept plus one

// Opens the row of `line` and returns the latency of getting there.
static uint32_t open_row(tl_memory *m, tl_channel *channel, uint64_t line) {
    const tl_mem_config *config = &m->config.mem;
    uint64_t row_number = line >> m->line_log2 >> m->channels_log2 >> m->row_lines_log2;
    uint64_t *open = &channel->open_rows[row_number & (config->mem_banks - 1)];
    uint64_t row = (row_number >> m->banks_log2) + 1, before = *open;
    *open = row;
    if (before == row) {
        channel->tally[TL_MEM_ROW_HIT] += 1;
        return config->mem_row_hit_cycles;
    }
    if (before == NO_ROW) {
        channel->tally[TL_MEM_ROW_MISS] += 1;
        return config->mem_row_miss_cycles;
    }
    channel->tally[TL_MEM_ROW_CONFLICT] += 1;
    return config->mem_row_conflict_cycles;
}

static tl_channel *channel_of(tl_memory *m, uint64_t line) { return &m->channels[line >> m->line_log2 & (m->config.mem_channels - 1)]; }

uint64_t tl_dram_read(tl_memory *m, uint64_t line, uint64_t time, bool is_demand) {
    tl_channel *channel = channel_of(m, line);
    channel->tally[TL_MEM_READ] += 1;
    uint64_t wait = tl_server_occupy(&channel->server, time, m->config.mem.mem_busy_cycles);
    if (is_demand)
        channel->tally[TL_MEM_BUSY] += wait;
    return wait + open_row(m, channel, line);
}

void tl_dram_write(tl_memory *m, uint64_t line, uint64_t time) {
    tl_channel *channel = channel_of(m, line);
    channel->tally[TL_MEM_WRITE] += 1;
    tl_server_occupy(&channel->server, time, m->config.mem.mem_busy_cycles);
    open_row(m, channel, line);
}
