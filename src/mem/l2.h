// SPDX-License-Identifier: MIT
// The shared second level has slices, chosen by the low line-number bits. It is inclusive of every
// cache above, and its tags hold a directory. It probes the caches above as clients, and knows no
// hart. With l2.fill: evict it is not inclusive, and a snoop filter has the rest of the directory.
//
// A client finds its line (tl_l2_find). It asks for the line or for permission to write it. It
// reports that it drops the line. One request waits for the slice, looks up, reads memory or probes
// other clients, and answers. An eviction takes time of the slice and of the channel, never of the
// client. The fixed-geometry twin (l2_fixed.h) shares small steps, which are inlined from here.
#ifndef TL_MEM_L2_H
#define TL_MEM_L2_H

#include "mem/cache.h"
#include "mem/dram.h"
#include "mem/snoop_filter.h"
#include "model/hart.h"

// States in a client; in an instruction cache I or S. O: M that others read, where no level below
// has the line. From M on, a line has data for the levels below. O is negative as a signed number,
// so both questions take one comparison.
enum { TL_LINE_I, TL_LINE_S, TL_LINE_E, TL_LINE_M, TL_LINE_O = 0x81 };
static inline bool tl_line_may_write(uint8_t state) { return (int8_t)state >= TL_LINE_E; }
static inline char tl_line_state_name(uint8_t state) { return state == TL_LINE_O ? 'O' : "ISEM"[state]; }

typedef struct tl_l2 tl_l2;
typedef struct tl_l2_client tl_l2_client;

typedef struct tl_l2_client_type {
    // Takes the line to state `keep`, S or I, for another client, a device or an eviction. Returns
    // whether the client answers with data, which it has changed. A line on its way in is not here
    // yet. keep TL_LINE_O: S, but O where it has changed the line.
    bool (*probe)(tl_l2_client *client, uint64_t line, uint8_t keep);
    // The directory entry of the line has another index of tl_l2.lines. A line on its way in is not
    // here yet.
    void (*moved)(tl_l2_client *client, uint64_t line, uint32_t l2_way);
    // Returns whether the data cache used the line in its hart's epoch. If only_changed, returns
    // false for a line that it has not changed.
    bool (*used_lately)(const tl_l2_client *client, uint64_t line, bool only_changed);
    // A data cache had a close contact with a client of another hart, and this is one of the two:
    // contest.h.
    void (*note_sharing)(tl_l2_client *client, uint64_t time);
} tl_l2_client_type;

// A cache above. A store of one data cache takes the line from the others. Copies in instruction
// caches stay until the line leaves or a device writes it.
typedef enum tl_l2_client_kind { TL_L2_DATA_CACHE, TL_L2_INSTRUCTION_CACHE, TL_L2_N_CLIENT_KINDS } tl_l2_client_kind;
enum { TL_L2_MAX_DATA_CACHES = 16, TL_L2_MAX_CLIENTS = 24 }; // the former have the lower numbers
static const uint32_t TL_L2_DATA_CACHES = (1u << TL_L2_MAX_DATA_CACHES) - 1,
                      TL_L2_ALL_CLIENTS = (1u << TL_L2_MAX_CLIENTS) - 1; // in tl_l2_line.sharers

struct tl_l2_client { // the owner's; first member of its struct
    const tl_l2_client_type *type;
    tl_l2 *l2;
    uint64_t *link; // tallies of the connection: TL_LINK_*
    tl_agent agent; // owner of the cache. A walker may use the cache, too
    uint32_t bit;   // in tl_l2_line.sharers
};

// The directory. It is exact, because clients tell when they drop a line.
typedef union tl_l2_line {
    struct {
        uint32_t sharers : TL_L2_MAX_CLIENTS; // that hold the line, tl_l2_client.bit
        bool is_owned : 1;                    // the only data cache among them holds it in E or M
        bool is_dirty : 1, is_prefetched : 1;
        bool is_contested : 1; // contest.h: since tl_l2.contested_at of the way
        bool is_present : 1;   // where a tag covers several lines (sector_log2), or bsq is set
    };
    uint32_t word; // sharers are its low bits; TL_L2_WORD_*
} tl_l2_line;
static const uint32_t TL_L2_WORD_OWNED = 1u << TL_L2_MAX_CLIENTS, TL_L2_WORD_DIRTY = 1u << (TL_L2_MAX_CLIENTS + 1),
                      TL_L2_WORD_CONTESTED = 1u << (TL_L2_MAX_CLIENTS + 3);
_Static_assert(sizeof(tl_l2_line) == 4, "the host seldom has them at hand: guest/kernels/chase.c took 4 % longer with 8 bytes");

typedef struct tl_l2_slice {
    tl_cache cache;
    uint32_t first_way; // its way 0's index in tl_l2.lines
    tl_server server;
    uint64_t *tally;
} tl_l2_slice;

struct tl_l2 {
    uint32_t line_log2, slice_mask;
    uint32_t sector_log2;    // of the lines of a tag
    uint32_t slice_shift;    // drops the bits within the lines of a tag
    tl_snoop_filter *filter; // NULL: the second level is inclusive
    struct tl_bsq *bsq;      // bsq.h; NULL: the machine has no detailed core
    uint32_t busy_cycles, hit_cycles, probe_cycles, upgrade_cycles;
    bool is_prefetching; // the next line after a miss
    bool is_special;     // there is a bsq or a filter
    // Of all slices. The lines of a way are neighbors. The index of a line is its l2_way everywhere
    // else.
    tl_l2_line *lines;
    uint64_t *contested_at; // [as lines], valid where the line is contested
    uint64_t clock;
    uint64_t *noc; // tallies
    uint32_t n_clients[TL_L2_N_CLIENT_KINDS];
    tl_l2_client *clients[TL_L2_MAX_CLIENTS];
    tl_l2_slice slices[TL_MAX_L2_SLICES];
    tl_dram dram;
};

typedef struct tl_l2_reply {
    uint64_t cycles; // what the client waits
    uint32_t l2_way; // where the line is
    uint8_t state;   // what the client may keep
    bool is_contested;
} tl_l2_reply;

// Numbers the client, whose type, link and agent are set. It lives as long as the L2.
void tl_l2_add_client(tl_l2 *l2, tl_l2_client *client, tl_l2_client_kind kind);

// Returns the line's way, an index of tl_l2.lines, or TL_NO_WAY.
static inline uint32_t tl_l2_find(tl_l2 *l2, uint64_t line);

// Requests of a client for a line that it does not hold. `found` is the result of tl_l2_find.
// Request of an instruction cache.
tl_l2_reply tl_l2_get(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint32_t found, uint64_t time);
tl_l2_reply tl_l2_acquire_to_read(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint32_t found, uint64_t time);
tl_l2_reply tl_l2_acquire_to_write(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint32_t found, uint64_t time);
// A request of a client's prefetcher. The client does not wait.
tl_l2_reply tl_l2_prefetch_get(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint64_t time);
tl_l2_reply tl_l2_prefetch_to_read(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint64_t time);
// A data cache asks to write the line that it holds in S. Returns the cycles waited.
uint64_t tl_l2_acquire_permission(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint32_t l2_way, uint64_t time);
// A store of a data cache that writes through: other data caches lose the line, and the L2 has it
// afterwards. Returns the cycles until the L2 has taken the store. waits: until it has the line,
// too. Needs tl_l2.bsq.
uint64_t tl_l2_put(tl_l2_client *client, const tl_agent *agent, uint64_t line, uint32_t found, bool waits, uint64_t time);

// Every line goes, those above first, and memory gets what was changed.
void tl_l2_empty(tl_l2 *l2, const tl_agent *agent, uint64_t time);

// Cache maintenance of one line (model/hart.h): in all data caches and here, in this one data cache
// alone, or here alone in a way of a set of all slices. Lines of detailed cores stay as they are.
void tl_l2_maintain(tl_l2 *l2, const tl_agent *agent, uint64_t line, tl_maintenance what, uint64_t time);
void tl_l2_clean_client(tl_l2_client *client, uint64_t line, uint64_t time); // TL_CLEAN_L1
void tl_l2_maintain_way(tl_l2 *l2, const tl_agent *agent, uint32_t set, uint32_t way, tl_maintenance what, uint64_t time);

// With a snoop filter: a data cache evicted the line, which comes to the second level, and an
// instruction cache dropped it. A request or an eviction may give other lines another index.
void tl_l2_take_evicted(tl_l2_client *client, uint64_t line, uint32_t l2_way, bool has_data, uint64_t time);
void tl_l2_forget_fetch(tl_l2_client *client, uint32_t l2_way);

// A device reads the line, writes all of it, or writes part of it.
typedef enum tl_dma { TL_DMA_GET, TL_DMA_PUT_FULL, TL_DMA_PUT_PARTIAL } tl_dma;
void tl_l2_dma(tl_l2 *l2, const tl_agent *agent, uint64_t line, tl_dma use, uint64_t time);

// Rare steps.
// The owner keeps a copy.
void tl_l2_share_owner(tl_l2 *l2, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, enum tl_mem_signal why);
void tl_l2_take_from_owner(tl_l2_client *client, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, enum tl_mem_signal why,
                           uint64_t time); // for the sake of this client
// Copies of other data caches go.
void tl_l2_probe_others(tl_l2_client *client, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, uint64_t time);
// Every copy goes, because the L2 is inclusive.
void tl_l2_take_back(tl_l2 *l2, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line);

// Three requests in the order of the first rows of unit link. A request hits, hits with a copy in
// another client, or misses.
enum { TL_L2_N_REQUESTS = 3 };
#define IS_ROW(row, number) ((int)TL_LINK_##row == (int)(number))
_Static_assert(IS_ROW(ACQUIRE_NT_HIT, TL_LINK_GET_HIT + TL_L2_N_REQUESTS - 1), "hits");
_Static_assert(IS_ROW(GET_MISS, TL_LINK_GET_HIT + TL_L2_N_REQUESTS), "misses");
_Static_assert(IS_ROW(GET_SHARED, TL_LINK_GET_HIT + 2 * TL_L2_N_REQUESTS), "shared");
_Static_assert(IS_ROW(ACQUIRE_NB_MISS, TL_LINK_ACQUIRE_NB_HIT + TL_L2_N_REQUESTS), "in the same order");
_Static_assert(IS_ROW(ACQUIRE_NT_SHARED, TL_LINK_ACQUIRE_NT_HIT + 2 * TL_L2_N_REQUESTS), "in the same order");
#undef IS_ROW

TL_ALWAYS_INLINE tl_l2_slice *tl_l2_slice_of(tl_l2 *l2, uint64_t line) { return &l2->slices[line >> l2->slice_shift & l2->slice_mask]; }

// The way of a slice that holds this line of tl_l2.lines.
TL_ALWAYS_INLINE uint32_t tl_l2_cache_way(const tl_l2 *l2, const tl_l2_slice *slice, uint32_t l2_way) {
    return (l2_way >> l2->sector_log2) - slice->first_way;
}

static inline uint32_t tl_l2_find(tl_l2 *l2, uint64_t line) {
    const tl_l2_slice *slice = tl_l2_slice_of(l2, line);
    uint32_t way = tl_cache_find(&slice->cache, line);
    if (way == TL_NO_WAY)
        return TL_UNLIKELY(l2->filter != NULL) ? tl_snoop_filter_find(l2->filter, line) : TL_NO_WAY;
    way += slice->first_way;
    if (TL_LIKELY(l2->sector_log2 == 0))
        return way;
    way = way << l2->sector_log2 | (uint32_t)(line >> l2->line_log2 & ((1u << l2->sector_log2) - 1));
    return l2->lines[way].is_present ? way : TL_NO_WAY;
}

// Returns whether the second level lacks the line of this index.
static inline bool tl_l2_is_outside(const tl_l2 *l2, uint32_t l2_way) { return l2->filter != NULL && l2_way >= l2->filter->first; }

TL_ALWAYS_INLINE void tl_l2_add_sharer(tl_l2_line *entry, const tl_l2_client *client) { entry->word |= client->bit; }
TL_ALWAYS_INLINE void tl_l2_remove_sharer(tl_l2_line *entry, const tl_l2_client *client) { entry->word &= ~client->bit; }

// Returns the data caches other than this client that hold the line.
TL_ALWAYS_INLINE uint32_t tl_l2_others(const tl_l2_line *entry, const tl_l2_client *client) {
    return entry->word & TL_L2_DATA_CACHES & ~client->bit;
}

// Returns whether no data cache holds the line, and none used it lately.
TL_ALWAYS_INLINE bool tl_l2_is_free(const tl_l2_line *entry) {
    return (entry->word & (TL_L2_DATA_CACHES | TL_L2_WORD_OWNED | TL_L2_WORD_CONTESTED)) == 0;
}

// Returns whether other data caches use the line, or used it lately.
TL_ALWAYS_INLINE bool tl_l2_is_shared(const tl_l2_line *entry, const tl_l2_client *client) {
    return (tl_l2_others(entry, client) != 0) | entry->is_contested;
}

// Returns whether the line is still contested (contest.h), and forgets that it was.
static inline bool tl_l2_contest_lasts(const tl_l2 *l2, tl_l2_line *entry, uint64_t now) {
    if (entry->is_contested && now >= l2->contested_at[entry - l2->lines] + TL_QUIET_CYCLES)
        entry->is_contested = false;
    return entry->is_contested;
}

// Counts the events that all requests have in common; `kind`: TL_L2_READ_*.
TL_ALWAYS_INLINE void tl_l2_count_request(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, enum tl_mem_signal kind) {
    slice->tally[TL_L2_READ] += 1;
    slice->tally[kind] += 1;
    slice->tally[TL_L2_READ_HART0 + agent->id] += 1;
    l2->noc[TL_NOC_REQUEST] += 1;
}

// Returns the cycles until the slice has looked up the line of a request that a client waits for.
TL_ALWAYS_INLINE uint64_t tl_l2_wait(const tl_l2 *l2, tl_l2_slice *slice, uint64_t time) {
    uint64_t cycles = tl_server_occupy(&slice->server, time, l2->busy_cycles);
    if (TL_UNLIKELY(cycles != 0))
        slice->tally[TL_L2_BUSY] += cycles;
    return cycles + l2->hit_cycles;
}

// `hit`: TL_LINK_*_HIT. The copy belongs to another client, because a client asks only for lines
// that it lacks. The other client may be the hart's other cache.
TL_ALWAYS_INLINE void tl_l2_count_hit(uint64_t *link, const tl_l2_line *entry, enum tl_mem_signal hit) {
    link[hit] += 1;
    link[hit + 2 * TL_L2_N_REQUESTS] += entry->sharers != 0;
}

TL_ALWAYS_INLINE void tl_l2_count_miss(uint64_t *link, tl_l2_slice *slice, const tl_agent *agent, enum tl_mem_signal hit) {
    link[hit + TL_L2_N_REQUESTS] += 1;
    slice->tally[TL_L2_READMISS] += 1;
    slice->tally[TL_L2_READMISS_HART0 + agent->id] += 1;
}

// Returns whether the line has data for memory.
TL_ALWAYS_INLINE bool tl_l2_drop(tl_l2 *l2, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line) {
    if (TL_UNLIKELY(entry->sharers != 0)) // most lines left the caches above long ago
        tl_l2_take_back(l2, slice, entry, line);
    if (!entry->is_dirty) {
        slice->tally[TL_L2_EVICT_CLEAN] += 1;
        return false;
    }
    slice->tally[TL_L2_EVICT_DIRTY] += 1;
    slice->tally[TL_L2_WRITEBACK] += 1;
    return true;
}

TL_ALWAYS_INLINE void tl_l2_evict(tl_l2 *l2, tl_l2_slice *slice, const tl_agent *agent, uint32_t way, tl_l2_line *entry, uint64_t time) {
    uint64_t line = tl_cache_line(&slice->cache, way);
    if (tl_l2_drop(l2, slice, entry, line))
        tl_dram_write(&l2->dram, agent, line, time);
}

// Gives an instruction cache a copy of a line that is here. Returns the cycles of it.
TL_ALWAYS_INLINE uint32_t tl_l2_grant_fetch(tl_l2_client *client, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, uint64_t time) {
    bool is_owned = entry->is_owned;
    if (TL_UNLIKELY(is_owned))
        tl_l2_take_from_owner(client, slice, entry, line, TL_LINK_PROBE_GET, time);
    tl_l2_add_sharer(entry, client);
    return is_owned ? client->l2->probe_cycles : 0;
}

// Gives a data cache a copy. The cache owns the line if no other has it; *ret_state tells.
TL_ALWAYS_INLINE uint32_t tl_l2_grant_read(tl_l2_client *client, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, uint64_t time,
                                           uint8_t *ret_state) {
    bool is_owned = entry->is_owned;
    if (TL_UNLIKELY(is_owned))
        tl_l2_take_from_owner(client, slice, entry, line, TL_LINK_PROBE_LOAD, time);
    *ret_state = TL_LINE_S;
    if ((entry->sharers & TL_L2_DATA_CACHES) == 0) {
        *ret_state = TL_LINE_E;
        entry->is_owned = true;
    }
    tl_l2_add_sharer(entry, client);
    return is_owned ? client->l2->probe_cycles : 0;
}

// Lets a data cache write: every copy in another one goes.
TL_ALWAYS_INLINE uint32_t tl_l2_grant_write(tl_l2_client *client, tl_l2_slice *slice, tl_l2_line *entry, uint64_t line, uint64_t time) {
    bool has_others = tl_l2_others(entry, client) != 0;
    if (TL_UNLIKELY(has_others))
        tl_l2_probe_others(client, slice, entry, line, time);
    entry->is_owned = true;
    tl_l2_add_sharer(entry, client);
    return has_others ? client->l2->probe_cycles : 0;
}

// The signal of a data cache that gives up a right: with data or without, the whole line (N) or
// writing alone (B).
TL_ALWAYS_INLINE enum tl_mem_signal tl_l2_release_signal(bool has_data, bool is_trunk, bool keeps) {
    if (has_data)
        return keeps ? TL_LINK_RELEASE_DATA_TB : TL_LINK_RELEASE_DATA_TN;
    return !is_trunk ? TL_LINK_RELEASE_BN : keeps ? TL_LINK_RELEASE_TB : TL_LINK_RELEASE_TN;
}

TL_ALWAYS_INLINE void tl_l2_take_data(tl_l2_slice *slice, tl_l2_line *entry) {
    slice->tally[TL_L2_WRITE] += 1;
    entry->is_dirty = true;
}

// A data cache dropped a line that it had not changed.
TL_ALWAYS_INLINE void tl_l2_release(tl_l2_client *client, uint32_t l2_way) {
    tl_l2_line *entry = &client->l2->lines[l2_way];
    client->link[tl_l2_release_signal(false, (entry->word & TL_L2_WORD_OWNED) != 0, false)] += 1;
    // When another one holds the line, nobody owned it.
    entry->word &= ~(client->bit | TL_L2_WORD_OWNED);
}

// A data cache dropped a line that it owned and had changed. The geometry does the rest, a use of
// the line.
TL_ALWAYS_INLINE void tl_l2_take_release(tl_l2_client *client, tl_l2_slice *slice, uint32_t l2_way, uint64_t time) {
    tl_l2 *l2 = client->l2;
    tl_l2_line *entry = &l2->lines[l2_way];
    tl_l2_remove_sharer(entry, client);
    entry->is_owned = false;
    client->link[TL_LINK_RELEASE_DATA_TN] += 1;
    tl_l2_take_data(slice, entry);
    tl_server_occupy(&slice->server, time, l2->busy_cycles);
    l2->noc[TL_NOC_RELEASE_DATA] += 1;
}

static inline void tl_l2_release_data(tl_l2_client *client, uint64_t line, uint32_t l2_way, uint64_t time) {
    tl_l2_slice *slice = tl_l2_slice_of(client->l2, line);
    tl_l2_take_release(client, slice, l2_way, time);
    tl_cache_touch(&slice->cache, tl_l2_cache_way(client->l2, slice, l2_way));
}

// An instruction cache dropped the line.
TL_ALWAYS_INLINE void tl_l2_release_fetch(tl_l2_client *client, uint32_t l2_way) {
    tl_l2_remove_sharer(&client->l2->lines[l2_way], client);
}

#endif
