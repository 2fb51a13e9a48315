// SPDX-License-Identifier: MIT
// See snoop_filter.h: a hash table with chains.
#include "mem/snoop_filter.h"

#include <assert.h>

#include "mem/cache.h"

bool tl_snoop_filter_init(tl_snoop_filter *filter, tl_arena *arena, uint32_t n_entries, uint32_t first, uint32_t line_log2) {
    uint32_t n_heads = 1;
    while (n_heads < n_entries)
        n_heads *= 2;
    *filter = (tl_snoop_filter){.heads = tl_arena_alloc(arena, n_heads * sizeof *filter->heads),
                                .nexts = tl_arena_alloc(arena, n_entries * sizeof *filter->nexts),
                                .lines = tl_arena_alloc(arena, n_entries * sizeof *filter->lines),
                                .first = first,
                                .free = 1,
                                .n_entries = n_entries,
                                .mask = n_heads - 1,
                                .line_log2 = line_log2};
    if (!filter->heads || !filter->nexts || !filter->lines)
        return false;
    for (uint32_t i = 0; i + 1 < n_entries; i++)
        filter->nexts[i] = i + 2;
    return true;
}

static uint32_t *head_of(const tl_snoop_filter *filter, uint64_t line) {
    const uint64_t number = line >> filter->line_log2;
    return &filter->heads[(number ^ number >> 10) & filter->mask];
}

uint32_t tl_snoop_filter_find(const tl_snoop_filter *filter, uint64_t line) {
    uint32_t at = *head_of(filter, line);
    while (at != 0 && filter->lines[at - 1] != line)
        at = filter->nexts[at - 1];
    return at == 0 ? TL_NO_WAY : filter->first + at - 1;
}

uint32_t tl_snoop_filter_take(tl_snoop_filter *filter, uint64_t line) {
    uint32_t *head = head_of(filter, line);
    const uint32_t at = filter->free;
    assert(at != 0);
    filter->free = filter->nexts[at - 1];
    filter->lines[at - 1] = line;
    filter->nexts[at - 1] = *head;
    *head = at;
    return filter->first + at - 1;
}

void tl_snoop_filter_release(tl_snoop_filter *filter, uint32_t l2_way) {
    const uint32_t at = l2_way - filter->first + 1;
    uint32_t *link = head_of(filter, filter->lines[at - 1]);
    while (*link != at)
        link = &filter->nexts[*link - 1];
    *link = filter->nexts[at - 1];
    filter->nexts[at - 1] = filter->free;
    filter->free = at;
}

uint32_t tl_snoop_filter_first(const tl_snoop_filter *filter, uint32_t *bucket, uint64_t *ret_line) {
    for (; *bucket <= filter->mask; *bucket += 1) {
        const uint32_t at = filter->heads[*bucket];
        if (at == 0)
            continue;
        *ret_line = filter->lines[at - 1];
        return filter->first + at - 1;
    }
    return TL_NO_WAY;
}
