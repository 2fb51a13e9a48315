// SPDX-License-Identifier: MIT
// The first-level caches of a hart, behind its slots: clients of the L2.
#ifndef TL_MEM_L1_H
#define TL_MEM_L1_H

#include "mem/contest.h"

typedef struct tl_hart_mem tl_hart_mem; // memory.h
struct tl_page_slot;

typedef enum tl_use { // the kind of an access, for counts
    TL_USE_LOAD,
    TL_USE_STORE,
    TL_USE_AMO,
    TL_USE_WALK_READ,
    TL_USE_WALK_WRITE
} tl_use;
static inline bool tl_is_store(tl_use use) { return use == TL_USE_STORE || use == TL_USE_AMO || use == TL_USE_WALK_WRITE; }
static inline bool tl_is_walk(tl_use use) { return use == TL_USE_WALK_READ || use == TL_USE_WALK_WRITE; }

typedef struct tl_l1_line { // a way, without its tag
    uint32_t l2_way;        // of the line in the L2; constant, because the L2 is inclusive
    uint16_t slot;          // shows the line if its line_stamp names the way
    uint8_t state;          // TL_LINE_*
    bool is_prefetched : 1; // filled by the prefetcher and not used since
    bool is_contested : 1;  // contest.h
} tl_l1_line;

typedef struct tl_l1 { // slots are those of its hart (data slots or fetch slots)
    tl_l2_client client;
    tl_cache cache;
    tl_l1_line *lines;    // [way]
    uint32_t first_stamp; // slots stamp cell first_stamp + way of h->stamps; never 0, the sink
    tl_hart_mem *hm;
} tl_l1;

extern const tl_l2_client_type tl_l1d_client, tl_l1i_client;

// Result of tl_l1d_access: the store was written through, and no slot may show its line.
static const uint32_t TL_NO_COPY = UINT32_MAX - 1;

// Returns the way; store-type uses leave the line in M. TL_NO_COPY: written through. TL_NO_WAY: the
// access is refused (contest.h), and nothing has happened. Page walks are never refused.
uint32_t tl_l1d_access(tl_hart_mem *hm, uint64_t line, tl_use use, uint32_t stall_cell);
// Returns whether an access of the program would be refused.
bool tl_l1d_would_refuse(tl_hart_mem *hm, uint64_t line, bool is_store);
// A load or a store within one line that `page` permits. The use of the page is counted already.
// The line is in a data slot afterwards. Returns the host address; NULL: refused, as above.
uint8_t *tl_l1d_load(tl_hart_mem *hm, const struct tl_page_slot *page, uint64_t vaddr);
uint8_t *tl_l1d_store(tl_hart_mem *hm, const struct tl_page_slot *page, uint64_t vaddr);

// Maintenance by the hart's own software: the line leaves as if evicted. An empty way stays so.
void tl_l1d_evict(tl_hart_mem *hm, uint32_t way);

// Returns the way. The caller asks tl_l1i_would_refuse first.
uint32_t tl_l1i_access(tl_hart_mem *hm, uint64_t line);
// Chooses a way for a line that the L2 has answered, and fills it. Returns the way.
uint32_t tl_l1i_replace(tl_hart_mem *hm, uint64_t line, const tl_l2_reply *reply, bool is_prefetch);
bool tl_l1i_would_refuse(const tl_hart_mem *hm, uint64_t line);
void tl_l1i_drop(tl_hart_mem *hm, uint32_t way); // invalidated by its own hart

// Twins of tl_l1d_load and tl_l1d_store with constant geometry, for memories with
// tl_memory.is_fixed.
uint8_t *tl_l1d_load_fixed(tl_hart_mem *hm, const struct tl_page_slot *page, uint64_t vaddr);
uint8_t *tl_l1d_store_fixed(tl_hart_mem *hm, const struct tl_page_slot *page, uint64_t vaddr);
// Likewise, with tl_memory.is_alone. Never NULL. They leave tl_contender as it is.
uint8_t *tl_l1d_load_alone(tl_hart_mem *hm, const struct tl_page_slot *page, uint64_t vaddr);
uint8_t *tl_l1d_store_alone(tl_hart_mem *hm, const struct tl_page_slot *page, uint64_t vaddr);

// Steps that both share. The line of a reply goes into this way, whose line is evicted.
void tl_l1d_fill(tl_hart_mem *hm, uint64_t line, uint32_t way, tl_l2_reply reply, bool is_prefetch);
bool tl_l1d_refuses_hit(tl_hart_mem *hm, uint32_t way); // of a line that was contested
// A store got permission, so other harts lose reservations of the line (model/hart.h).
void tl_l1d_break_reservations(tl_hart_mem *hm, uint64_t line);

#endif
