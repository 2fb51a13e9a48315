// SPDX-License-Identifier: MIT
// The lines that first-level caches hold and a second level that is not inclusive lacks: the
// duplicate tags of a snoop control unit. Each has a directory entry in tl_l2.lines behind those of
// the ways, so a line has one entry wherever it is. There are entries for all lines that the first
// level can hold.
#ifndef TL_MEM_SNOOP_FILTER_H
#define TL_MEM_SNOOP_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct tl_snoop_filter {
    uint32_t *heads; // [hash] number of the first entry + 1; 0: none
    uint32_t *nexts; // [entry] likewise, of its chain or of the free entries
    uint64_t *lines; // [entry]
    uint32_t first;  // index of entry 0 in tl_l2.lines
    uint32_t free;   // as heads
    uint32_t n_entries, mask, line_log2;
} tl_snoop_filter;

bool tl_snoop_filter_init(tl_snoop_filter *filter, tl_arena *arena, uint32_t n_entries, uint32_t first, uint32_t line_log2);
// Return an index of tl_l2.lines. find: TL_NO_WAY if the line is not here.
uint32_t tl_snoop_filter_find(const tl_snoop_filter *filter, uint64_t line);
uint32_t tl_snoop_filter_take(tl_snoop_filter *filter, uint64_t line);
void tl_snoop_filter_release(tl_snoop_filter *filter, uint32_t l2_way);
// The first line that is here, in no order of addresses; TL_NO_WAY: none. The search goes on from
// *bucket, which begins at 0.
uint32_t tl_snoop_filter_first(const tl_snoop_filter *filter, uint32_t *bucket, uint64_t *ret_line);

#endif
