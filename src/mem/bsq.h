// SPDX-License-Identifier: MIT
// Detailed cores have this between their first-level caches and memory: lines on their way, streams
// of the prefetcher, the queue of the bus, write buffers. Accesses of such cores overlap, so a line
// in the tags may still be on its way. The L2 asks here at each request, because it knows the
// lines.
//
// The shape is that of the Pentium 4 in Intel 248966, chapters 1 and 6. A stream follows a page of
// 4 KiB, 256 bytes ahead. Transfers have the order of their requests.
#ifndef TL_MEM_BSQ_H
#define TL_MEM_BSQ_H

#include "mem/l2.h"

typedef struct tl_stream {
    uint64_t page, last; // the page, the line of the last request that counted
    uint64_t ahead;      // the next line to fetch, in the direction
    int64_t step_bytes;  // to the next line; 0: the direction is unknown
    uint64_t used_at;    // for the choice of the oldest
} tl_stream;

// Something that serves one request at a time, where requests overlap. A request from before the
// last one comes from a hart that is behind, and does not wait.
typedef struct tl_backlog {
    uint64_t asked, until;
} tl_backlog;

typedef struct tl_bsq {
    uint64_t *tally;      // TL_BSQ_*
    uint64_t *arrives_at; // [index of tl_l2.lines] cycle in which the line is there
    bool writes_through, fetches_adjacent;
    // Entries of the queue, as a ring: the cycle in which each is free. 0 entries: no limit.
    uint32_t n_entries, next_entry;
    uint64_t entry_until[TL_MAX_BUS_QUEUE], last_until; // last_until: of the youngest
    tl_backlog slices[TL_MAX_L2_SLICES], channels[TL_MAX_MEM_CHANNELS];
    uint32_t n_streams, stream_lines;
    tl_stream streams[TL_MAX_STREAMS];
    uint64_t n_followed; // requests, the clock of used_at
    // Lines whose stores are combined, for each data cache. TL_NO_LINE of model/hart.h: none.
    uint32_t n_write_buffers;
    uint32_t next_buffer[TL_L2_MAX_DATA_CACHES];
    uint64_t write_lines[TL_L2_MAX_DATA_CACHES][TL_MAX_WRITE_BUFFERS];
} tl_bsq;

// n_lines: elements of tl_l2.lines. false: no memory.
bool tl_bsq_init(tl_bsq *bsq, const tl_bsq_config *config, tl_arena *arena, uint64_t n_lines, uint64_t *tally);

// Returns the cycles until the slice has looked up the line of a request, without the hit itself.
uint64_t tl_bsq_occupy_slice(tl_l2 *l2, const tl_l2_slice *slice, uint64_t time);
// Reads a line from memory. Returns the cycles from `time` until it is here.
uint64_t tl_bsq_read(tl_l2 *l2, const tl_agent *agent, uint64_t line, uint64_t time, bool is_demand);
void tl_bsq_write(tl_l2 *l2, const tl_agent *agent, uint64_t line, uint64_t time);
// Returns whether a prefetch at this time finds a free entry of the queue. Counts it otherwise.
bool tl_bsq_may_prefetch(tl_bsq *bsq, uint64_t time);
// A request at `time` uses a line that is in the tags. Returns the cycles until it is here.
uint64_t tl_bsq_wait(tl_l2 *l2, uint32_t l2_way, uint64_t time);

// A request follows its stream. Returns the stream if it may fetch lines: from `ahead` on, in steps
// of step_bytes, until tl_bsq_ends. NULL: none.
tl_stream *tl_bsq_follow(tl_l2 *l2, uint64_t line, bool is_miss);
bool tl_bsq_ends(const tl_l2 *l2, const tl_stream *stream);

// A store of the client is written through. Returns whether a write buffer of its cache has the
// line. Otherwise the line takes the oldest buffer.
bool tl_bsq_combines(tl_bsq *bsq, const tl_l2_client *client, uint64_t line);

#endif
