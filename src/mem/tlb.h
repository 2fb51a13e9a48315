// SPDX-License-Identifier: MIT
// A translation look-aside buffer: fully associative or set-associative, pages of every level side
// by side. At most one entry matches an address: a fill first removes what it overlaps. Knows
// nothing of walks, permissions or slots.
//
// Entries of other address spaces (tl_page.world, asid) sleep: no address matches them, so look-ups
// compare no tags. A change of the address space puts entries to sleep and wakes others.
#ifndef TL_MEM_TLB_H
#define TL_MEM_TLB_H

#include "base/arena.h"
#include "base/bits.h"
#include "mem/replacement.h"
#include "model/isa.h"

enum {
    TL_TLB_HINTS = 128,
    TL_TLB_FILTER = 1024,
    TL_TLB_EIGHTS = 8,       // so many eights of entries remember their oldest
    TL_PAGE_LINE_WORDS = 16, // bits for the lines of a page; the owner's, who also clears them
};
static const uint32_t TL_NO_ENTRY = UINT32_MAX;

// The oldest of eight neighboring entries, as found last. It stays the oldest while its stamp is
// the entry's, because stamps only grow.
typedef struct tl_tlb_oldest {
    uint64_t stamp;
    uint32_t entry;
} tl_tlb_oldest;

typedef struct tl_tlb {
    uint64_t *vaddrs; // of the pages; that of an invalid or sleeping entry never matches
    uint64_t *masks;  // the address bits that name the page
    tl_page *pages;
    // The owner's: lines of the page that it may have to forget with the entry.
    uint64_t (*lines)[TL_PAGE_LINE_WORDS];
    uint64_t *stamps, *uses, *clock; // as in tl_cache
    uint64_t *random, own_random;
    // Of the other hart of the core, which has the same entries; NULL: none. A valid entry is valid
    // in one of the two.
    struct tl_tlb *partner;
    uint32_t entries, ways, set_mask, n_levels;
    uint32_t n_invalid; // entries that hold no page
    uint32_t n_large;   // awake entries of a level above 0
    tl_replacement policy;
    uint32_t hints[TL_TLB_HINTS]; // by page number: where it was found last
    // Awake entries of level 0 by page number, so that most misses need no search.
    uint16_t n_hashed[TL_TLB_FILTER];
    tl_tlb_oldest oldest[TL_TLB_EIGHTS];
    // Of `oldest`, in a fully associative TLB whose policy is an order of stamps; otherwise 0.
    uint32_t n_eights;
} tl_tlb;

bool tl_tlb_init(tl_tlb *tlb, tl_arena *arena, uint32_t entries, uint32_t ways, uint32_t n_levels, tl_replacement policy, uint64_t *uses,
                 uint64_t *clock, uint64_t random);
// Both are empty and alike, with the same `uses`. Their entries are the same from now on: a page
// that one of them fills may take the place of the other's, but neither finds pages of the other.
void tl_tlb_share(tl_tlb *tlb, tl_tlb *partner);

// Entries may sleep. Call it before any fill.
// Sleeping entries have stamps, which the functions for plain TLBs below do not expect.
static inline void tl_tlb_set_tagged(tl_tlb *tlb) { tlb->n_eights = 0; }
// No page has this address, so nothing masked equals it.
static const uint64_t TL_TLB_NEVER = 1;

static inline bool tl_tlb_matches(const tl_tlb *tlb, uint32_t entry, uint64_t vaddr) {
    return (vaddr & tlb->masks[entry]) == tlb->vaddrs[entry];
}
static inline bool tl_tlb_is_valid(const tl_tlb *tlb, uint32_t entry) { return tlb->pages[entry].flags != 0; }
static inline bool tl_tlb_is_awake(const tl_tlb *tlb, uint32_t entry) { return tlb->vaddrs[entry] != TL_TLB_NEVER; }

uint32_t tl_tlb_search(const tl_tlb *tlb, uint64_t vaddr);

// The entry that translates vaddr, or TL_NO_ENTRY. Does not count as a use.
static inline uint32_t tl_tlb_find(tl_tlb *tlb, uint64_t vaddr) {
    uint32_t *hint = &tlb->hints[vaddr >> TL_PAGE_BITS & (TL_TLB_HINTS - 1)];
    if (TL_LIKELY(tl_tlb_matches(tlb, *hint, vaddr)))
        return *hint;
    if (tlb->n_hashed[vaddr >> TL_PAGE_BITS & (TL_TLB_FILTER - 1)] == 0 && tlb->n_large == 0)
        return TL_NO_ENTRY;
    uint32_t entry = tl_tlb_search(tlb, vaddr);
    if (entry != TL_NO_ENTRY)
        *hint = entry;
    return entry;
}

// Returns the entry of a small page in a set of four, or TL_NO_ENTRY. Most second-level TLBs have
// sets of four. The function has no branches, because the host cannot predict the entry.
TL_ALWAYS_INLINE uint32_t tl_tlb_find_in_four(const tl_tlb *tlb, uint64_t vpage) {
    uint32_t first = ((uint32_t)(vpage >> TL_PAGE_BITS) & tlb->set_mask) * 4;
    const uint64_t *vaddrs = tlb->vaddrs + first;
#ifdef __SSE2__
    const __m128i *pairs = (const __m128i *)(const void *)vaddrs, wanted = _mm_set1_epi64x((int64_t)vpage);
    __m128i low = _mm_cmpeq_epi32(_mm_loadu_si128(pairs), wanted), high = _mm_cmpeq_epi32(_mm_loadu_si128(pairs + 1), wanted);
    // Both halves of a key must match.
    uint32_t halves = (uint32_t)_mm_movemask_epi8(_mm_packs_epi32(low, high)), hits = halves & halves >> 2 & 0x1111;
    return hits == 0 ? TL_NO_ENTRY : first + (uint32_t)__builtin_ctz(hits) / 4;
#else
    for (uint32_t way = 0; way < 4; way++)
        if (vaddrs[way] == vpage)
            return first + way;
    return TL_NO_ENTRY;
#endif
}

static inline void tl_tlb_touch(tl_tlb *tlb, uint32_t entry) { // a use
    tlb->uses[entry] = ++*tlb->clock;
}

// All entries hold small pages, in a TLB of which the two functions below know the oldest.
static inline bool tl_tlb_is_plain(const tl_tlb *tlb) { return (tlb->n_invalid | tlb->n_large) == 0 && tlb->n_eights != 0; }

TL_ALWAYS_INLINE void tl_tlb_find_oldest(tl_tlb *tlb, uint32_t eight) {
    uint32_t entry = eight * 8 + tl_replacement_oldest(tlb->stamps + eight * 8, 8);
    tlb->oldest[eight] = (tl_tlb_oldest){.stamp = tlb->stamps[entry], .entry = entry};
}

// The victim that tl_replacement_victim would name.
TL_ALWAYS_INLINE uint32_t tl_tlb_oldest_of_all(tl_tlb *tlb) {
    uint64_t least = UINT64_MAX;
    uint32_t eight = 0;
    do {
        const tl_tlb_oldest *oldest = &tlb->oldest[eight];
        if (TL_UNLIKELY(tlb->stamps[oldest->entry] != oldest->stamp))
            tl_tlb_find_oldest(tlb, eight);
        least = tl_lesser(least, oldest->stamp << TL_WAY_BITS | oldest->entry);
    } while (++eight < tlb->n_eights);
    return (uint32_t)least & ((1u << TL_WAY_BITS) - 1);
}

// A small page takes the place of another: tl_tlb_drop and tl_tlb_fill in one.
TL_ALWAYS_INLINE void tl_tlb_replace_small(tl_tlb *tlb, uint32_t entry, const tl_page *page) {
    uint64_t vaddr = page->vaddr;
    tlb->n_hashed[tlb->vaddrs[entry] >> TL_PAGE_BITS & (TL_TLB_FILTER - 1)] -= 1;
    tlb->n_hashed[vaddr >> TL_PAGE_BITS & (TL_TLB_FILTER - 1)] += 1;
    tlb->hints[vaddr >> TL_PAGE_BITS & (TL_TLB_HINTS - 1)] = entry;
    tlb->vaddrs[entry] = vaddr;
    tlb->pages[entry] = *page;
    tlb->stamps[entry] = ++*tlb->clock;
    tl_tlb_find_oldest(tlb, entry / 8);
}

void tl_tlb_drop(tl_tlb *tlb, uint32_t entry);
void tl_tlb_sleep(tl_tlb *tlb, uint32_t entry); // that is awake
void tl_tlb_wake(tl_tlb *tlb, uint32_t entry);  // that sleeps
// An awake entry that overlaps the page, or TL_NO_ENTRY: to be dropped before the page is filled.
uint32_t tl_tlb_overlap(const tl_tlb *tlb, const tl_page *page);
// The entry the page would take: the first invalid one of its set, else the policy's victim. The
// victim may be the partner's.
uint32_t tl_tlb_choose(tl_tlb *tlb, const tl_page *page);
void tl_tlb_fill(tl_tlb *tlb, uint32_t entry, const tl_page *page); // the entry must be invalid

#endif
