// SPDX-License-Identifier: MIT
// A memory channel has banks with one open row each, and a data path that moves one line at a time.
// Lines are dealt out to the channels by their low line-number bits. Within a channel, consecutive
// lines fill a row, and consecutive rows go to consecutive banks. Rows stay open. No refresh, no
// reordering: requests are served as they come. Times are when the channel is asked.
#ifndef TL_MEM_DRAM_H
#define TL_MEM_DRAM_H

#include "base/bits.h"
#include "mem/mem_signals.h"
#include "mem/server.h"
#include "model/agent.h"
#include "model/config.h"

typedef struct tl_channel {
    uint64_t *open_rows; // [bank]
    tl_server server;
    uint64_t *tally;
} tl_channel;

typedef struct tl_dram {
    uint32_t line_log2, channel_mask, bank_mask, banks_log2;
    uint32_t row_shift; // drops the bits within a row, and those of the channel
    // Of an open row; of a closed row in a bank without an open one; of any other.
    uint32_t row_cycles[3];
    uint32_t busy_cycles;
    tl_channel channels[TL_MAX_MEM_CHANNELS];
} tl_dram;

// Opens the row of `line` and returns the latency. open_rows holds the row plus one; 0: no row is
// open. The function has no branches, because the host cannot predict the state of a row.
_Static_assert(TL_MEM_ROW_MISS == TL_MEM_ROW_HIT + 1 && TL_MEM_ROW_CONFLICT == TL_MEM_ROW_HIT + 2, "as in tl_dram.row_cycles");
TL_ALWAYS_INLINE uint32_t tl_dram_open_row(const tl_dram *dram, tl_channel *channel, uint64_t line) {
    uint64_t row_number = line >> dram->row_shift;
    uint64_t *open = &channel->open_rows[row_number & dram->bank_mask];
    uint64_t row = (row_number >> dram->banks_log2) + 1, before = *open;
    uint32_t how = (uint32_t)(before != row) + (uint32_t)((before != row) & (before != 0));
    *open = row;
    channel->tally[TL_MEM_ROW_HIT + how] += 1;
    return dram->row_cycles[how];
}

// The channel's part in a read for `agent`, which nothing of the channel depends on yet. Returns
// the cycles waited.
TL_ALWAYS_INLINE uint64_t tl_channel_read(tl_channel *channel, const tl_agent *agent, uint64_t time, uint32_t busy_cycles) {
    (void)agent;
    channel->tally[TL_MEM_READ] += 1;
    return tl_server_occupy(&channel->server, time, busy_cycles);
}

// Of a memory with one channel and one hart, tl_dram_read and tl_dram_write below.
TL_ALWAYS_INLINE uint64_t tl_dram_read_alone(tl_dram *dram, uint64_t line, uint64_t time) {
    tl_channel *channel = &dram->channels[0];
    channel->tally[TL_MEM_READ] += 1;
    uint64_t wait = tl_server_occupy_alone(&channel->server, time, dram->busy_cycles);
    channel->tally[TL_MEM_BUSY] += wait;
    return wait + tl_dram_open_row(dram, channel, line);
}

TL_ALWAYS_INLINE void tl_dram_write_alone(tl_dram *dram, uint64_t line, uint64_t time) {
    tl_channel *channel = &dram->channels[0];
    channel->tally[TL_MEM_WRITE] += 1;
    tl_server_occupy_alone(&channel->server, time, dram->busy_cycles);
    tl_dram_open_row(dram, channel, line);
}

TL_ALWAYS_INLINE tl_channel *tl_dram_channel(tl_dram *dram, uint64_t line) {
    return &dram->channels[line >> dram->line_log2 & dram->channel_mask];
}

// Returns the cycles until the data arrives. The requester waits for them.
TL_ALWAYS_INLINE uint64_t tl_dram_read(tl_dram *dram, const tl_agent *agent, uint64_t line, uint64_t time) {
    tl_channel *channel = tl_dram_channel(dram, line);
    uint64_t wait = tl_channel_read(channel, agent, time, dram->busy_cycles);
    if (TL_UNLIKELY(wait != 0))
        channel->tally[TL_MEM_BUSY] += wait;
    return wait + tl_dram_open_row(dram, channel, line);
}

// Reads for a prefetcher or a device. No hart waits for the data.
TL_ALWAYS_INLINE uint64_t tl_dram_read_aside(tl_dram *dram, const tl_agent *agent, uint64_t line, uint64_t time) {
    tl_channel *channel = tl_dram_channel(dram, line);
    uint64_t wait = tl_channel_read(channel, agent, time, dram->busy_cycles);
    return wait + tl_dram_open_row(dram, channel, line);
}

TL_ALWAYS_INLINE void tl_dram_write(tl_dram *dram, const tl_agent *agent, uint64_t line, uint64_t time) {
    tl_channel *channel = tl_dram_channel(dram, line);
    (void)agent; // as in tl_channel_read
    channel->tally[TL_MEM_WRITE] += 1;
    tl_server_occupy(&channel->server, time, dram->busy_cycles);
    tl_dram_open_row(dram, channel, line);
}

#endif
