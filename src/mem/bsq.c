// SPDX-License-Identifier: MIT
// See bsq.h.
#include "mem/bsq.h"

#include <string.h>

enum { PAGE_BYTES = 4096 }; // of streams: the smallest page

bool tl_bsq_init(tl_bsq *bsq, const tl_bsq_config *config, tl_arena *arena, uint64_t n_lines, uint64_t *tally) {
    *bsq = (tl_bsq){
        .tally = tally,
        .arrives_at = tl_arena_alloc(arena, n_lines * sizeof *bsq->arrives_at),
        .writes_through = config->l1d_write == TL_WRITE_THROUGH,
        .fetches_adjacent = config->adjacent != 0,
        .n_entries = config->queue_entries,
        .n_streams = config->streams,
        .stream_lines = config->stream_lines,
        .n_write_buffers = config->write_buffers,
    };
    memset(bsq->write_lines, 0xff, sizeof bsq->write_lines);
    for (uint32_t i = 0; i < TL_MAX_STREAMS; i++)
        bsq->streams[i].page = UINT64_MAX;
    return bsq->arrives_at != NULL;
}

// ---- The queue: transfers are done in the order in which they entered.

static uint64_t entry_wait(const tl_bsq *bsq, uint64_t time) {
    if (bsq->n_entries == 0)
        return 0;
    const uint64_t until = bsq->entry_until[bsq->next_entry];
    return until > time ? until - time : 0;
}

// Returns the cycles that the transaction waits for an entry.
static uint64_t enter(tl_bsq *bsq, uint64_t time) {
    const uint64_t wait = entry_wait(bsq, time);
    bsq->tally[TL_BSQ_QUEUE_FULL] += wait != 0;
    bsq->tally[TL_BSQ_QUEUE_WAIT] += wait;
    return wait;
}

// The transaction entered at `time` and could end at `until`. Returns the cycle in which it does.
static uint64_t leave(tl_bsq *bsq, uint64_t time, uint64_t until) {
    if (bsq->n_entries != 0) {
        if (bsq->last_until > until) {
            bsq->tally[TL_BSQ_ORDER_WAIT] += bsq->last_until - until;
            until = bsq->last_until;
        }
        bsq->last_until = until;
        bsq->entry_until[bsq->next_entry] = until;
        bsq->next_entry = bsq->next_entry + 1 == bsq->n_entries ? 0 : bsq->next_entry + 1;
    }
    bsq->tally[TL_BSQ_QUEUE_CYCLES] += until - time;
    return until;
}

// Returns the cycles waited.
static uint64_t occupy(tl_backlog *backlog, uint64_t time, uint32_t busy_cycles) {
    const uint64_t wait = time >= backlog->asked && backlog->until > time ? backlog->until - time : 0;
    const uint64_t until = time + wait + busy_cycles;
    backlog->asked = time;
    backlog->until = until > backlog->until ? until : backlog->until;
    return wait;
}

uint64_t tl_bsq_occupy_slice(tl_l2 *l2, const tl_l2_slice *slice, uint64_t time) {
    const uint64_t wait = occupy(&l2->bsq->slices[slice - l2->slices], time, l2->busy_cycles);
    slice->tally[TL_L2_BUSY] += wait;
    return wait;
}

// Returns the cycles until the channel of the line is free. tl_channel knows of one request that
// waits.
static uint64_t occupy_channel(tl_l2 *l2, uint64_t line, uint64_t time) {
    tl_dram *dram = &l2->dram;
    return occupy(&l2->bsq->channels[tl_dram_channel(dram, line) - dram->channels], time, dram->busy_cycles);
}

uint64_t tl_bsq_read(tl_l2 *l2, const tl_agent *agent, uint64_t line, uint64_t time, bool is_demand) {
    tl_bsq *bsq = l2->bsq;
    const uint64_t entered = time + enter(bsq, time);
    const uint64_t wait = occupy_channel(l2, line, entered);
    if (is_demand)
        tl_dram_channel(&l2->dram, line)->tally[TL_MEM_BUSY] += wait;
    const uint64_t cycles = wait + tl_dram_read_aside(&l2->dram, agent, line, entered + wait);
    bsq->tally[TL_BSQ_READ] += 1;
    bsq->tally[TL_BSQ_READ_DEMAND] += is_demand;
    return leave(bsq, entered, entered + cycles) - time;
}

void tl_bsq_write(tl_l2 *l2, const tl_agent *agent, uint64_t line, uint64_t time) {
    tl_bsq *bsq = l2->bsq;
    const uint64_t entered = time + enter(bsq, time);
    bsq->tally[TL_BSQ_WRITEBACK] += 1;
    const uint64_t wait = occupy_channel(l2, line, entered);
    tl_dram_write(&l2->dram, agent, line, entered + wait);
    (void)leave(bsq, entered, entered + wait + l2->dram.busy_cycles);
}

bool tl_bsq_may_prefetch(tl_bsq *bsq, uint64_t time) {
    if (entry_wait(bsq, time) == 0)
        return true;
    bsq->tally[TL_BSQ_PREFETCH_DROP] += 1;
    return false;
}

uint64_t tl_bsq_wait(tl_l2 *l2, uint32_t l2_way, uint64_t time) {
    tl_bsq *bsq = l2->bsq;
    const uint64_t at = bsq->arrives_at[l2_way];
    if (TL_LIKELY(at <= time))
        return 0;
    bsq->tally[TL_BSQ_MERGE] += 1;
    bsq->tally[TL_BSQ_MERGE_CYCLES] += at - time;
    bsq->tally[TL_BSQ_PREFETCH_LATE] += l2->lines[l2_way].is_prefetched;
    return at - time;
}

// ---- Streams.

static tl_stream *stream_of(tl_bsq *bsq, uint64_t page) {
    for (uint32_t i = 0; i < bsq->n_streams; i++)
        if (bsq->streams[i].page == page)
            return &bsq->streams[i];
    return NULL;
}

static void start_stream(tl_bsq *bsq, uint64_t page, uint64_t line) {
    tl_stream *oldest = &bsq->streams[0];
    for (uint32_t i = 1; i < bsq->n_streams; i++)
        if (bsq->streams[i].used_at < oldest->used_at)
            oldest = &bsq->streams[i];
    *oldest = (tl_stream){.page = page, .last = line, .used_at = ++bsq->n_followed};
    bsq->tally[TL_BSQ_STREAM_START] += 1;
}

// A miss starts a stream, a second one gives it its direction. A miss on the other side turns it.
tl_stream *tl_bsq_follow(tl_l2 *l2, uint64_t line, bool is_miss) {
    tl_bsq *bsq = l2->bsq;
    if (bsq->n_streams == 0)
        return NULL;
    const uint64_t page = line / PAGE_BYTES;
    tl_stream *stream = stream_of(bsq, page);
    if (!stream) {
        if (is_miss)
            start_stream(bsq, page, line);
        return NULL;
    }
    if (line == stream->last)
        return NULL;
    const int64_t line_bytes = (int64_t)1 << l2->line_log2, step = line > stream->last ? line_bytes : -line_bytes;
    if (step != stream->step_bytes) {
        if (!is_miss)
            return NULL;
        bsq->tally[TL_BSQ_STREAM_TURN] += 1;
        stream->step_bytes = step;
        stream->ahead = line + (uint64_t)step;
    }
    // Requests may have overtaken the stream.
    if ((int64_t)(stream->ahead - line) * step <= 0)
        stream->ahead = line + (uint64_t)step;
    stream->last = line;
    stream->used_at = ++bsq->n_followed;
    return stream;
}

bool tl_bsq_ends(const tl_l2 *l2, const tl_stream *stream) {
    const int64_t distance = (int64_t)(stream->ahead - stream->last) / stream->step_bytes;
    return stream->ahead / PAGE_BYTES != stream->page || distance > (int64_t)l2->bsq->stream_lines;
}

// ---- Write buffers.

bool tl_bsq_combines(tl_bsq *bsq, const tl_l2_client *client, uint64_t line) {
    const uint32_t number = (uint32_t)__builtin_ctz(client->bit);
    uint64_t *lines = bsq->write_lines[number];
    if (bsq->n_write_buffers == 0)
        return false;
    for (uint32_t i = 0; i < bsq->n_write_buffers; i++)
        if (lines[i] == line)
            return true;
    uint32_t *next = &bsq->next_buffer[number];
    lines[*next] = line;
    *next = *next + 1 == bsq->n_write_buffers ? 0 : *next + 1;
    return false;
}
